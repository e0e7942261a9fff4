"""The list of maps, which the choice, the words of a page, the estimators' names and the docs all read.

A map of one probability registers its curve, in a module of this folder, and an estimator of `calibrant.recalibration`
is that curve with scikit-learn's conventions; a map of classes registers its estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from calibrant.door.registry import Registry
from calibrant.recalibration.curves.base import Curve

_CURVES = __name__.rpartition(".")[0]
_ROOM = _CURVES.rpartition(".")[0]


@dataclass(frozen=True)
class Map:
    """One registered map."""

    # name, title: its name as a method, and in words
    name: str
    title: str
    kind: type[Any]  # the curve, or the estimator of a map of classes
    order: int  # its place, from the fewest numbers fitted to the most
    classes: bool  # whether it maps vectors of class probabilities; temperature scaling maps one probability as well

    @property
    def estimator(self) -> type[Any]:
        """Its estimator, which scikit-learn's users fit."""
        return getattr(import_module(_ROOM), self.kind.estimator_name) if issubclass(self.kind, Curve) else self.kind


K = TypeVar("K", bound=type[Any])
_MAPS: Registry[Map] = Registry("map", _ROOM)


def register_map(name: str, title: str, *, order: int, classes: bool = False) -> Callable[[K], K]:
    """Enter the decorated curve, or estimator of classes, in the list of maps, and return it unchanged."""

    def enter(kind: K) -> K:
        _MAPS.enter(Map(name, title, kind, order, classes), kind.__module__, title=title)
        return kind

    return enter


def maps() -> Mapping[str, Map]:
    """All registered maps by name; it loads scikit-learn."""
    return _MAPS.entries(_CURVES, _ROOM)


def curves() -> Mapping[str, Map]:
    """The maps of one probability by name; it loads no scikit-learn."""
    return {name: each for name, each in _MAPS.entries(_CURVES).items() if issubclass(each.kind, Curve)}


def title_of(name: str) -> str:
    """A choice in words; maps of classes are known once their module is loaded, and others keep their names."""
    if name == "constant":
        return "one answer for all rows"
    entry = _MAPS.entries(_CURVES).get(name)
    return name if entry is None else entry.title
