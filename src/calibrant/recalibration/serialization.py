"""A fitted recalibrator as JSON under a checksum: each kind of value is held to what a fit can be."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant.door.errors import InputError
from calibrant.door.output import write_whole
from calibrant.recalibration.kinds import Kind

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
    arguments = content["parameters"]
    if isinstance(arguments, dict):
        arguments = {name: value for name, value in arguments.items() if name not in kind._gone}
    parameters = _named(arguments, kind().get_params(deep=False), "parameters")
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


def _named(values: Any, kinds: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(values, dict) or values.keys() != kinds.keys():
        raise InputError(what, f"are others than {', '.join(kinds) or 'none'}")
    return values


def stored(value: Any, _name: str) -> JsonEstimator:
    """Another fitted estimator."""
    return read_content(value, fitted=True)
