"""Checks of measures' own parameters: each message names the argument, its value and what is allowed."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from calibrant.errors import InputError


def one_of(value: object, allowed: Collection[str], name: str) -> None:
    """Raise unless value is one of the allowed words."""
    if value not in allowed:
        raise InputError(name, f"is {value!r:.40}; it must be one of {', '.join(map(repr, allowed))}")


def positive(value: float, name: str) -> None:
    """Raise unless value is a positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < np.inf:
        raise InputError(name, f"is {value!r:.40}; it must be a positive, finite number")


def positive_integer(value: int, name: str) -> None:
    """Raise unless value is a whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(name, f"is {value!r:.40}; it must be a whole number above zero")
