"""Where rows come from when they are not in memory: sketches, frames, engines and files, and how they drift."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
