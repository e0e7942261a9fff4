"""Recalibration: scikit-learn estimators that turn predicted probabilities into better calibrated ones."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
