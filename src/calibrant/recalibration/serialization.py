"""A fitted recalibrator as JSON under a checksum: each kind of value is held to what a fit can be."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant.door.errors import InputError
from calibrant.door.output import write_whole

VERSION = 1
"""Of the layout: it goes up where an older release could not read, or would misread, what is written."""

LAYOUT = "calibrant.recalibrator"
_KNOWN: dict[str, type[JsonEstimator]] = {}


class JsonEstimator(BaseEstimator):  # type: ignore[misc]
    """A fitted estimator that becomes text or a file, and is made from it again to the last bit.

    A class says in `_fitted` of what kind its fitted values are, and holds them to their laws in `_check_fitted`. In
    `_gone` are parameters that it had once: files that have them are read without.
    """

    _fitted: ClassVar[Mapping[str, Kind]]
    _gone: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        """Classes that say what they store can be read again by their name."""
        super().__init_subclass__(**options)
        if "_fitted" in cls.__dict__:
            _KNOWN[cls.__name__] = cls

    def to_json(self) -> str:
        """Return the fitted map as JSON text, which `calibrant.recalibration.from_json` reads.

        Raises InputError if it is a class of your own, or holds labels or values that JSON has no exact form for.
        """
        check_is_fitted(self)
        content = _content(self, fitted=True)
        read_content(content, fitted=True)  # what could not be read again is not written
        return sealed({"layout": LAYOUT, "version": VERSION, **content})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted map to a file, whole or not at all; `calibrant.recalibration.load` reads it.

        Raises InputError as `to_json`; FileError if the file cannot be written.
        """
        write_whole(path, self.to_json())

    def _check_parameters(self) -> None:
        """Raise unless the parameters can be used."""

    def _check_fitted(self) -> None:
        """Raise unless the fitted values are such as a fit has."""


def sealed(content: dict[str, Any]) -> str:
    """The one way to write it, with the SHA-256 of all the rest at the end."""
    seal = hashlib.sha256(_written(content).encode()).hexdigest()
    return _written({**content, "checksum": f"sha256:{seal}"})


def _written(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=True)  # NaN is refused by name, where it stands


def _content(estimator: JsonEstimator, *, fitted: bool) -> dict[str, Any]:
    kind = type(estimator)
    if _KNOWN.get(kind.__name__) is not kind:
        raise InputError("recalibrator", f"is a {kind.__name__}; only recalibrators of calibrant itself are saved")
    parameters = estimator.get_params(deep=False)
    content: dict[str, Any] = {
        "class": kind.__name__,
        "parameters": {name: _plain(value, name, fitted=False) for name, value in parameters.items()},
    }
    if fitted:
        content["fitted"] = {name: _plain(getattr(estimator, name), name, fitted=True) for name in kind._fitted}
    return content


def _plain(value: Any, name: str, *, fitted: bool) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, JsonEstimator):
        return _content(value, fitted=fitted)
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [_plain(each, name, fitted=fitted) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each, name, fitted=fitted) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(name, f"holds a {type(value).__name__}, which JSON cannot; text and numbers are saved")


def read_content(content: Any, *, fitted: bool) -> JsonEstimator:
    """An estimator from its content; all of it is checked."""
    keys = {"class", "parameters", *(["fitted"] if fitted else [])}
    if not isinstance(content, dict) or content.keys() != keys:
        raise InputError("content", f"is not that of a recalibrator: it needs {', '.join(sorted(keys))}")
    kind = _KNOWN.get(content["class"]) if isinstance(content["class"], str) else None
    if kind is None:
        raise InputError("class", f"is {content['class']!r:.40}", allowed=f"it must be one of {', '.join(_KNOWN)}")
    given = content["parameters"]
    if isinstance(given, dict):
        given = {name: value for name, value in given.items() if name not in kind._gone}
    parameters = _named(given, kind().get_params(deep=False), "parameters")
    made = {
        name: read_content(each, fitted=False) if isinstance(each, dict) else each for name, each in parameters.items()
    }
    estimator = kind(**made)
    estimator._check_parameters()
    if fitted:
        for name, value in _named(content["fitted"], kind._fitted, "fitted").items():
            setattr(estimator, name, kind._fitted[name](value, name))
        estimator._check_fitted()
    return estimator


def _named(values: Any, names: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(values, dict) or values.keys() != names.keys():
        raise InputError(what, f"are others than {', '.join(names) or 'none'}")
    return values


def stored(value: Any, _name: str) -> JsonEstimator:
    """Another fitted estimator."""
    return read_content(value, fitted=True)


FloatArray = npt.NDArray[np.float64]
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
        found = number(value, name)
        check_size(found, name, largest)
        return found

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
