"""Written by tools/public_names.py."""

__all__ = []
