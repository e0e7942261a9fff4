"""Redrawn outcomes and folds, for every room above."""
