"""The segment whose error is that of all rows: the headline names it, and not the predictions that it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.door.coding import condition, equalities
from calibrant.findings.examples import examples
from calibrant.findings.parts_off import found_off, named_off

if TYPE_CHECKING:
    from calibrant.findings.answer import Direction
    from calibrant.findings.found import Audit
    from calibrant.segments.found_results import FoundSegment
    from calibrant.segments.named import Segment

_MOST_ROWS = 0.5  # of all, in a part of them
_MOST_ERROR = 0.5  # of all rows, in it
_LEFT = 0.2  # of the error of all rows, at most, elsewhere, or what chance explains
_NOISE = 2.0  # standard deviations of it


@dataclass(frozen=True, slots=True)
class Blamed:
    """A segment, the columns that make it, and what is predicted and happens in it and elsewhere."""

    name: str
    features: tuple[str, ...]
    predicted: float
    happened: float
    predicted_elsewhere: float
    happened_elsewhere: float


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment that is off by more than is too small to matter, by name or found."""

    name: str
    fixed: Mapping[str, str]
    of: Segment | FoundSegment

    @property
    def low(self) -> bool:
        """Whether its predictions are too low on average."""
        return self.of.base_rate > self.of.mean_prediction

    def apart_from(self, other: _Part) -> bool:
        """Whether the two have no row in common, as one column shows."""
        return any(self.fixed.get(feature, label) != label for feature, label in other.fixed.items())

    def errs_as(self, other: _Part) -> bool:
        """Whether it errs in the direction of the other, also where the evidence is strongest."""
        return self.low == other.low == (self.of.direction == "too low")


def blamed(audit: Audit, direction: Direction | None) -> Blamed | None:
    """The segment whose error is that of all rows; None where no single one is to blame.

    Segments by name come first, for they were asked about. None is blamed where another segment, or a range of
    predictions, is proved to err in a way that it does not explain. How much weight a segment has is not kept, so that
    none is blamed where weights differ.
    """
    if direction not in ("too high", "too low") or audit.weighted:
        return None
    low = direction == "too low"
    if any((each.happened > each.predicted) != low for each in examples(audit)):
        return None
    named, found = _named(audit), _found(audit)
    alone = (part for part in (*named[:1], *found[:1]) if not _others_err(part, [*named, *found]))
    sides = (_sides(audit, part) for part in alone)
    return next((each for each in sides if each is not None), None)


def _named(audit: Audit) -> list[_Part]:
    by = audit.segmented_by
    return [
        _Part(
            equalities(by, each.key),
            {name: condition(name, value) for name, value in zip(by, each.key, strict=True)},
            each,
        )
        for each in audit.segments
        if named_off(audit, each)
    ]


def _found(audit: Audit) -> list[_Part]:
    """With the columns that each fixes, and by what label."""
    made_of = {} if audit.found_segments is None else audit.found_segments.features
    return [
        _Part(
            each.name,
            {name: label for name, labels in made_of.items() for label in labels if label in each.conditions},
            each,
        )
        for each in found_off(audit)
    ]


def _others_err(part: _Part, parts: list[_Part]) -> bool:
    """Whether other segments are off and the part does not explain it: of other rows, or in the other direction."""
    others = (each for each in parts if each.fixed != part.fixed)
    return any(each.apart_from(part) or not each.errs_as(part) for each in others)


def _sides(audit: Audit, part: _Part) -> Blamed | None:
    """The part and the rest, if the error of all rows is the part's and the rest has none, or one within noise."""
    n_rows, predicted, happened = part.of.n_rows, part.of.mean_prediction, part.of.base_rate
    rest = audit.n_rows - n_rows
    if n_rows > _MOST_ROWS * audit.n_rows:
        return None
    whole = audit.n_rows * (audit.base_rate - audit.mean_prediction)
    inside = n_rows * (happened - predicted)
    says = (audit.n_rows * audit.mean_prediction - n_rows * predicted) / rest
    happens = (audit.n_rows * audit.base_rate - n_rows * happened) / rest
    left = abs(happens - says)
    if inside * whole <= 0.0 or abs(inside) < _MOST_ERROR * abs(whole) or left > audit.max_distance:
        return None
    by_chance = left * rest <= _NOISE * math.sqrt(_variance(audit, rest, says))
    if not by_chance and left * rest > _LEFT * abs(whole):
        return None
    return Blamed(part.name, tuple(part.fixed), predicted, happened, says, happens)


def _variance(audit: Audit, rest: int, says: float) -> float:
    """Of the number of events among the rest, were it calibrated, at most: by its mean, and by all predictions."""
    table = audit.reliability
    spread = float((table.mass * table.prediction * (1.0 - table.prediction)).sum())
    return max(min(rest * says * (1.0 - says), audit.n_rows * spread), 0.0)
