"""The door: what a user passes is read, checked and pooled here, once."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
