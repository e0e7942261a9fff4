"""Costs of predictions: decisions by threshold, and the panel that medicine and risk expect."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
