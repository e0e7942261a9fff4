"""How decisions are drawn: looked up, in `report/`, by name and only when asked."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def drawing(module: str, name: str) -> Any:
    """A function of a module of `report/`, which reads results and computes nothing."""
    return getattr(import_module(f"calibrant.report.{module}"), name)
