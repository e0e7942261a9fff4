"""Fitted recalibrators as text and as files: JSON under a checksum, whose every value is held to what a fit can be."""

from __future__ import annotations

__all__ = ["from_json", "load"]

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant.door.errors import FileError, InputError
from calibrant.door.writing import write_whole

VERSION = 1
"""Of the layout: it goes up where an older release could not read, or would misread, what is written."""

_LAYOUT = "calibrant.recalibrator"
_KNOWN: dict[str, type[Stored]] = {}

FloatArray = npt.NDArray[np.float64]
Kind = Callable[[Any, str], Any]
"""Makes a fitted value from JSON's own types, or raises an InputError under the name of the value."""


class Stored(BaseEstimator):  # type: ignore[misc]
    """A fitted estimator that becomes text or a file, and is made from it again to the last bit.

    A class says in `_fitted` of what kind its fitted values are, and holds them to their laws in `_check_fitted`.
    """

    _fitted: ClassVar[Mapping[str, Kind]]

    def __init_subclass__(cls, **options: Any) -> None:
        """Classes that say what they store can be read again by their name."""
        super().__init_subclass__(**options)
        if "_fitted" in cls.__dict__:
            _KNOWN[cls.__name__] = cls

    def to_json(self) -> str:
        """Return the fitted map as JSON text, which `calibrant.recalibration.from_json` reads.

        Raises
        ------
        InputError
            If it is a class of your own, or holds labels or values that JSON has no exact form for.
        """
        check_is_fitted(self)
        content = _content(self, fitted=True)
        _read(content, fitted=True)  # what could not be read again is not written
        return _sealed({"layout": _LAYOUT, "version": VERSION, **content})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted map to a file, whole or not at all; `calibrant.recalibration.load` reads it.

        Raises
        ------
        InputError
            As `to_json`; FileError if the file cannot be written.
        """
        write_whole(path, self.to_json())

    def _check_parameters(self) -> None:
        """Raise unless the parameters can be used."""

    def _check_fitted(self) -> None:
        """Raise unless the fitted values are such as a fit has."""


def from_json(text: str) -> Any:
    """Make a fitted recalibrator again from what its `to_json` returned: it predicts the same to the last bit.

    Nothing in the text is run, and it is refused unless it is, byte for byte, what a recalibrator wrote.

    Parameters
    ----------
    text : str
        What `to_json` returned.

    Returns
    -------
    recalibrator
        Of the class that wrote it, fitted.

    Raises
    ------
    InputError
        If the text is damaged, cut, changed or laid out anew, of a newer version or an unknown class, or holds values
        that no fit has.

    Notes
    -----
    Cost: linear in the length of the text.

    Examples
    --------
    >>> from calibrant.recalibration import PlattScaling, from_json
    >>> platt = PlattScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> from_json(platt.to_json()).slope_ == platt.slope_
    True

    See Also
    --------
    load
    """
    if not isinstance(text, str):
        raise InputError("text", f"is a {type(text).__name__}; the text of to_json is needed")
    return _from_text(text, InputError, "text", "")


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted recalibrator from the file that its `save` wrote: it predicts the same to the last bit.

    Parameters
    ----------
    path : str or path
        What `save` was given.

    Returns
    -------
    recalibrator
        Of the class that wrote it, fitted.

    Raises
    ------
    FileError
        If the file cannot be read, or its text is refused as `from_json` refuses it.

    Notes
    -----
    Cost: linear in the length of the file.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from calibrant.recalibration import PlattScaling, load
    >>> platt = PlattScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     platt.save(os.path.join(folder, "platt.json"))
    ...     again = load(os.path.join(folder, "platt.json"))
    >>> again.predict([0.1, 0.9]).round(6).tolist()
    [0.333333, 0.666667]

    See Also
    --------
    from_json
    """
    try:
        target = Path(path)
    except TypeError:
        raise InputError("path", f"is {path!r:.40}; a file's path is needed") from None
    try:
        if target.exists() and not target.is_file():
            raise FileError("path", f"{str(path)!r} is not a plain file; name one that save wrote")
        data = target.read_bytes()
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        said = getattr(problem, "strerror", None) or problem
        raise FileError("path", f"{str(path)!r} cannot be read: {said}") from None
    return _from_text(data.decode("ascii", "replace"), FileError, "path", f"{str(path)!r} ")


def _from_text(text: str, fail: type[InputError], argument: str, whose: str) -> Any:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise fail(argument, f"{whose}is not a saved recalibrator, or cut short: it is not JSON") from None
    if not isinstance(content, dict) or content.pop("layout", None) != _LAYOUT:
        raise fail(argument, f"{whose}is not a saved recalibrator")
    version = content.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise fail(argument, f"{whose}has layout {version!r:.20}; this release of calibrant reads {VERSION}")
    content.pop("checksum", None)
    try:
        if _sealed({"layout": _LAYOUT, "version": version, **content}) != text:
            raise fail(
                argument, f"{whose}was damaged, changed or laid out anew since it was saved: its checksum differs"
            )
        return _read(content, fitted=True)
    except RecursionError:
        raise fail(argument, f"{whose}is not a saved recalibrator: it is nested too deeply") from None
    except InputError as problem:
        if problem.argument == argument:
            raise
        said = f"{problem.argument} {problem.problem}" + (f"; {problem.allowed}" if problem.allowed else "")
        raise fail(argument, f"{whose}holds what no fitted recalibrator does: {said}") from None


def _sealed(content: dict[str, Any]) -> str:
    """The one way to write it, with the SHA-256 of all the rest at the end."""
    seal = hashlib.sha256(_written(content).encode()).hexdigest()
    return _written({**content, "checksum": f"sha256:{seal}"})


def _written(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=True)  # NaN is refused by name, where it stands


def _content(estimator: Stored, *, fitted: bool) -> dict[str, Any]:
    kind = type(estimator)
    if _KNOWN.get(kind.__name__) is not kind:
        raise InputError("recalibrator", f"is a {kind.__name__}; only recalibrators of calibrant itself are saved")
    parameters = estimator.get_params(deep=False)
    found: dict[str, Any] = {
        "class": kind.__name__,
        "parameters": {name: _plain(value, name, fitted=False) for name, value in parameters.items()},
    }
    if fitted:
        found["fitted"] = {name: _plain(getattr(estimator, name), name, fitted=True) for name in kind._fitted}
    return found


def _plain(value: Any, name: str, *, fitted: bool) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Stored):
        return _content(value, fitted=fitted)
    if isinstance(value, list | tuple):
        return [_plain(each, name, fitted=fitted) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(name, f"holds a {type(value).__name__}, which JSON cannot; text and numbers are saved")


def _read(content: Any, *, fitted: bool) -> Stored:
    """An estimator from its content, all of which is checked."""
    keys = {"class", "parameters", *(["fitted"] if fitted else [])}
    if not isinstance(content, dict) or content.keys() != keys:
        raise InputError("content", f"is not that of a recalibrator: it needs {', '.join(sorted(keys))}")
    import_module("calibrant.recalibration.methods")  # of which each class is known by its name once it is imported
    kind = _KNOWN.get(content["class"]) if isinstance(content["class"], str) else None
    if kind is None:
        raise InputError("class", f"is {content['class']!r:.40}", allowed=f"it must be one of {', '.join(_KNOWN)}")
    parameters = _named(content["parameters"], kind().get_params(deep=False), "parameters")
    found = kind(**{
        name: _read(value, fitted=False) if isinstance(value, dict) else value for name, value in parameters.items()
    })  # fmt: skip
    found._check_parameters()
    if fitted:
        for name, value in _named(content["fitted"], kind._fitted, "fitted").items():
            setattr(found, name, kind._fitted[name](value, name))
        found._check_fitted()
    return found


def _named(values: Any, names: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(values, dict) or values.keys() != names.keys():
        raise InputError(what, f"are others than {', '.join(names) or 'none'}")
    return values


def check(holds: Any, name: str, law: str) -> None:
    """Raise unless a fitted value keeps its law."""
    if not np.all(holds):
        raise InputError(name, law)


def number(value: Any, name: str) -> float:
    """A finite number in double precision."""
    check(type(value) is float and math.isfinite(value), name, "must be a finite number")
    return float(value)


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
    found = column(value, name)
    check((found >= 0.0) & (found <= 1.0), name, "must lie in [0, 1]")
    return found


def increasing(value: Any, name: str) -> FloatArray:
    """An array of numbers in [0, 1], each above the one before."""
    found = shares(value, name)
    check(found[1:] > found[:-1], name, "must increase")
    return found


def square(value: Any, name: str) -> FloatArray:
    """A matrix with as many rows as columns."""
    check(type(value) is list and len(value) > 0, name, "must be a matrix")
    rows = [column(each, name) for each in value]
    check([row.size == len(rows) for row in rows], name, "must have as many rows as columns")
    return np.stack(rows)


def ends(value: Any, name: str) -> tuple[float, float]:
    """Two predictions, the first not above the second."""
    found = shares(value, name)
    check(found.size == 2 and found[0] <= found[-1], name, "must be two predictions in their order")
    return float(found[0]), float(found[1])


def labels(value: Any, name: str) -> npt.NDArray[Any]:
    """Labels of two classes or more, each once."""
    known = type(value) is list and all(
        isinstance(each, str | int) or (type(each) is float and math.isfinite(each)) for each in value
    )
    check(known, name, "must be text, numbers or truth values")
    check(len(set(value)) == len(value) >= 2, name, "must be two labels or more, each once")
    return np.array(value)


def stored(value: Any, _name: str) -> Stored:
    """Another fitted estimator."""
    return _read(value, fitted=True)


def optional(kind: Kind) -> Kind:
    """The kind, or None."""
    return lambda value, name: None if value is None else kind(value, name)
