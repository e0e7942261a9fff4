"""Pictures of decisions: looked up in `report/` by name, and only when asked for."""

from __future__ import annotations

from typing import Any

from calibrant.lazily import above


def drawing(module: str, name: str) -> Any:
    """A function of a module of `report/`, which reads results and computes nothing."""
    return getattr(above(f"report.{module}"), name)
