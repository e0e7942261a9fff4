"""Views of findings: the terminal page, the HTML page, JSON, plots and displays. They compute nothing."""

from calibrant.lazily import offer

__all__, __getattr__, __dir__ = offer(__name__)
