"""Is it real? Tests, error rates and bounds for miscalibration seen in a finite sample."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
