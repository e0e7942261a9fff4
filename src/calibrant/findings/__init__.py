"""Findings: one call, every answer; what is shown of them is in report/."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
