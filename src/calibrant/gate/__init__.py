"""Decisions on limits: the gate of a table, its checks, and the gate that may be watched."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
