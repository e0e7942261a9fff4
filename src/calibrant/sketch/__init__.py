"""The sketch: rows of any number as cells that add up, and what is proved of them."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
