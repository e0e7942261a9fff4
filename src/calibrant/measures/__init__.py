"""How far: one file per family, one function per measure, what proves it beside it."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
