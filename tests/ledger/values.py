"""Any value in JSON's types, no bit lost: floats in hexadecimal, long columns by digest and every 16th number."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

LONG = 16
"""Longer columns are their length, their digest, and every 16th number."""
SKIPPED = {"schema"}
"""Parts that say how a result is laid out, not what it is."""
UNCALLED = {"plot", "plot_counts", "plot_witness", "plot_triptych", "to_html", "save", "to_parquet", "to_json"}
"""Methods that draw or write, and have no number."""
_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+|-?inf|nan")
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(e-?\d+)?|-?\.\d+")

Plain = Any  # what JSON holds


def digest(data: bytes) -> str:
    """A short name of bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def _column(values: np.ndarray) -> Plain:
    """Numbers, words or truth values in a row; a table has its shape beside them."""
    flat = values.ravel()
    shape = {"shape": list(values.shape)} if values.ndim != 1 else {}
    parts = [plain(each) for each in flat.tolist()]
    if flat.size <= LONG:
        return {**shape, "all": parts} if shape else parts
    whole = digest(json.dumps(parts).encode())
    step = 16 * max(1, flat.size // 4096)  # of a very long one fewer
    return {**shape, "n": flat.size, "sha256": whole, f"every {step}th": parts[::step]}


def condensed(parts: list[Plain]) -> Plain:
    """A list; of very many parts, unless they are lines, the length, the digest, and every 16th."""
    if len(parts) <= 4 * LONG or all(isinstance(each, str) for each in parts):
        return parts
    return {"n": len(parts), "sha256": digest(json.dumps(parts).encode()), "every 16th": parts[::16]}


def plain(value: Any, call: Call | None = None, depth: int = 0) -> Plain:
    """A value in JSON's types: of an object its public fields, its words, and what its methods give."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.split("\n") if "\n" in value else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value).hex()
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": digest(value)}
    if isinstance(value, np.ndarray):
        return _column(value)
    if isinstance(value, BaseException):
        return {"error": type(value).__name__, "argument": getattr(value, "argument", None), "words": str(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(part, call, depth + 1) for name, part in value.items() if name not in SKIPPED}
    if ours(value):
        return _object(value, call, depth)
    if isinstance(value, tuple | list):
        if len(value) > LONG and all(isinstance(each, Real) for each in value):
            return _column(np.array(value))
        return condensed([plain(part, call, depth + 1) for part in value])
    return f"<{type(value).__name__}>"


@dataclass(frozen=True)
class Call:
    """How methods of what a call gave are called: with the same rows; those of its parts too where it goes deep."""

    of: Callable[[Any, str], Plain]
    deep: bool = False


class NotPreparedError(Exception):
    """An argument that is not prepared."""


def ours(value: Any) -> bool:
    """Whether a value is an object of the package."""
    return type(value).__module__.partition(".")[0] == "calibrant"


def public_names(owner: type) -> dict[str, Any]:
    """Public methods and properties that the package gives a class."""
    found: dict[str, Any] = {}
    for each in reversed(owner.__mro__):
        if each.__module__.partition(".")[0] == "calibrant":
            found |= {name: what for name, what in vars(each).items() if not name.startswith("_")}
    kinds = (property, classmethod, staticmethod)
    return {name: what for name, what in found.items() if isinstance(what, kinds) or inspect.isfunction(what)}


def _fields(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
    else:
        names = [*getattr(value, "_fields", ()), *getattr(value, "__dict__", ())]
    return {name: getattr(value, name) for name in names if not name.startswith("_") and name not in SKIPPED}


def _object(value: Any, call: Call | None, depth: int) -> Plain:
    within = call if call is not None and call.deep else None
    held = {name: plain(part, within, depth + 1) for name, part in _fields(value).items()}
    if depth and within is None:
        return held  # the words of parts are entered once, by the plain rows
    for name, what in sorted(public_names(type(value)).items()):
        if name in UNCALLED or isinstance(what, classmethod | staticmethod) or name in held:
            continue
        if isinstance(what, property):
            held[name] = attempted(partial(getattr, value, name), within, depth + 1)
        elif call is not None and not (depth and (takes(what) or name.startswith("to_"))):
            try:
                given = call.of(value, name)
            except NotPreparedError:
                continue
            held[f"{name}()"] = digested(given) if name.startswith("to_") else given
    return held


def takes(method: Callable[..., Any]) -> bool:
    """Whether a method needs arguments."""
    return any(each.default is each.empty for each in list(inspect.signature(method).parameters.values())[1:])


def digested(found: Plain) -> Plain:
    """The digest of what JSON holds."""
    return {"sha256": digest(json.dumps(found).encode())}


def attempted(function: Callable[[], Any], call: Call | None = None, depth: int = 0) -> Plain:
    """What a call gives, its error included."""
    try:
        value = function()
        value = list(value) if isinstance(value, Iterator) else value
    except NotPreparedError:
        raise
    except Exception as error:
        value = error
    return plain(value, call, depth)


def flat(value: Plain, at: str = "") -> dict[str, Plain]:
    """Every leaf by its path."""
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = ((str(i), each) for i, each in enumerate(value))
    else:
        return {at: value}
    return {path: leaf for name, each in parts for path, leaf in flat(each, f"{at}/{name}").items()}


def alike(one: Plain, other: Plain, *, words: bool = True) -> bool:
    """Whether two leaves are the same but for the last bits of a number, as another processor rounds them.

    Numbers in words do not count; without ``words`` no words do, of which some are those of libraries.
    """
    if not (isinstance(one, str) and isinstance(other, str)):
        return bool(one == other)
    if _FLOAT.fullmatch(one) and _FLOAT.fullmatch(other):
        return one == other or math.isclose(float.fromhex(one), float.fromhex(other), rel_tol=1e-9, abs_tol=1e-12)
    return not words or _NUMBER.sub("#", one) == _NUMBER.sub("#", other)
