"""Compiled loops over float64 arrays: no validation, no objects, no input or output.

Every kernel is compiled on its first call and cached on disk (`compiled.py`); nothing here is imported by
``import calibrant``.
"""
