"""Tables of rows under named columns: files, datasets, frames and engines, read or summed."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
