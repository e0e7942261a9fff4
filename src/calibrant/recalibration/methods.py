"""Recalibrators by their names."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import clone

from calibrant.door.errors import InputError
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.curves.base import maps
from calibrant.recalibration.multiclass import MulticlassRecalibrator

Method = Literal[
    "offset",
    "temperature",
    "platt",
    "beta",
    "polynomial",
    "scaling_binning",
    "histogram",
    "isotonic",
    "venn_abers",
    "nearest",
    "averaged",
    "vector",
    "dirichlet",
    "averaged_classes",
]


def make_recalibrator(method: Any, argument: str = "method") -> Any:
    """Return a new, unfitted recalibrator from its name, or a copy of one."""
    if isinstance(method, str):
        known = maps()
        if method not in known:
            raise InputError(argument, f"is {method!r:.40}; it must be one of {', '.join(known)}, or a recalibrator")
        return known[method].estimator()
    if not isinstance(method, Recalibrator | MulticlassRecalibrator):
        raise InputError(argument, f"is {method!r:.60}; it must be a recalibrator or the name of one")
    return clone(method)
