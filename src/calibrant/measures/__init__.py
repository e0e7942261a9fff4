"""Measures of distance from calibration: one file per family, one function per measure, its proof beside it."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
