"""Calibration over time: evidence by period, what changed since a reference, monitoring without end."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
