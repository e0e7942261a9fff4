"""Formats of files: a class each, and the list of them."""
