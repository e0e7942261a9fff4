"""Parts of the rows: by named columns."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
