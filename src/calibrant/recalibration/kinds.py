"""Kinds of fitted values: made from JSON's own types, and held to their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError

Kind = Callable[[Any, str], Any]
"""Makes a fitted value from JSON's own types, or raises an InputError under the name of the value."""


def check(holds: Any, name: str, law: str) -> None:
    """Raise unless a fitted value keeps its law."""
    if not np.all(holds):
        raise InputError(name, law)


def number(value: Any, name: str) -> float:
    """A finite number in double precision."""
    check(type(value) is float and math.isfinite(value), name, "must be a finite number")
    return float(value)


def check_size(values: Any, name: str, largest: float) -> None:
    """Raise where a fitted value is farther from zero than a fit gives."""
    check(np.abs(values) <= largest, name, f"must lie between {-largest:.4g} and {largest:.4g}, as every fit does")


def within(largest: float) -> Kind:
    """A finite number no farther from zero."""

    def read(value: Any, name: str) -> float:
        result = number(value, name)
        check_size(result, name, largest)
        return result

    return read


def count(value: Any, name: str) -> int:
    """A whole number above zero."""
    check(type(value) is int and value > 0, name, "must be a whole number above zero")
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    check(type(value) is bool, name, "must be true or false")
    return bool(value)


def column(value: Any, name: str) -> FloatArray:
    """An array of finite numbers."""
    check(type(value) is list, name, "must be a list of numbers")
    return np.array([number(each, name) for each in value], dtype=np.float64)


def shares(value: Any, name: str) -> FloatArray:
    """An array of numbers in [0, 1]."""
    numbers = column(value, name)
    check((numbers >= 0.0) & (numbers <= 1.0), name, "must lie in [0, 1]")
    return numbers


def increasing(value: Any, name: str) -> FloatArray:
    """An array of numbers in [0, 1], each above the one before."""
    numbers = shares(value, name)
    check(numbers[1:] > numbers[:-1], name, "must increase")
    return numbers


def shares_by_name(value: Any, name: str) -> dict[str, float]:
    """Numbers in [0, 1] that add up to 1, each under a name."""
    check(type(value) is dict and all(type(each) is str for each in value), name, "must be numbers by name")
    numbers = dict(zip(value, shares(list(value.values()), name).tolist(), strict=True))
    check(abs(sum(numbers.values()) - 1.0) < 1e-9, name, "must add up to 1")
    return numbers


def square(value: Any, name: str) -> FloatArray:
    """A matrix with as many rows as columns."""
    check(type(value) is list and len(value) > 0, name, "must be a matrix")
    rows = [column(each, name) for each in value]
    check([row.size == len(rows) for row in rows], name, "must have as many rows as columns")
    return np.stack(rows)


def ends(value: Any, name: str) -> tuple[float, float]:
    """Two predictions, the first not above the second."""
    numbers = shares(value, name)
    check(numbers.size == 2 and numbers[0] <= numbers[-1], name, "must be two predictions in their order")
    return float(numbers[0]), float(numbers[1])


def labels(value: Any, name: str) -> npt.NDArray[Any]:
    """Labels of two classes or more, each once."""
    known = type(value) is list and all(
        isinstance(each, str | int) or (type(each) is float and math.isfinite(each)) for each in value
    )
    check(known, name, "must be text, numbers or truth values")
    check(len(set(value)) == len(value) >= 2, name, "must be two labels or more, each once")
    return np.array(value)


def text(value: Any, name: str) -> str:
    """Text, which may be empty."""
    check(type(value) is str, name, "must be text")
    return str(value)


def each(kind: Kind) -> Kind:
    """Any number of the kind, one after another."""

    def read(value: Any, name: str) -> tuple[Any, ...]:
        check(type(value) is list, name, "must be a list")
        return tuple(kind(one, name) for one in value)

    return read


def optional(kind: Kind) -> Kind:
    """The kind, or None."""
    return lambda value, name: None if value is None else kind(value, name)
