"""The segment whose error is that of all rows: the headline names it, and not the predictions that it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.door.coding import equalities
from calibrant.findings.parts_off import found_off, named_off

if TYPE_CHECKING:
    from calibrant.findings.answer import Direction
    from calibrant.findings.found import Audit
    from calibrant.segments.found_results import FoundSegment
    from calibrant.segments.named import Segment

_MOST_ROWS = 0.5  # of all, in a part of them
_MOST_ERROR = 0.5  # of all rows, in it
_LEFT = 0.2  # of the error of all rows, at most, elsewhere
_NOISE = 2.0  # or so many standard deviations of chance


@dataclass(frozen=True, slots=True)
class Blamed:
    """A segment, the columns that make it, and what is predicted and happens in it and elsewhere."""

    name: str
    features: tuple[str, ...]
    predicted: float
    happened: float
    predicted_elsewhere: float
    happened_elsewhere: float


def blamed(audit: Audit, direction: Direction | None) -> Blamed | None:
    """The segment without which all other rows are right on average; None where no single one is to blame.

    Segments by name come first, for they were asked about. How much weight a segment has is not kept, so that none is
    blamed where weights differ.
    """
    if direction not in ("too high", "too low") or audit.weighted:
        return None
    parts: list[tuple[str, tuple[str, ...], Segment | FoundSegment]] = []
    for segment in [each for each in audit.segments if named_off(audit, each)][:1]:
        parts.append((equalities(audit.segmented_by, segment.key), audit.segmented_by, segment))
    for found in found_off(audit)[:1]:
        parts.append((found.name, _features(audit, found), found))
    sides = (_sides(audit, name, features, each) for name, features, each in parts)
    return next((each for each in sides if each is not None), None)


def _features(audit: Audit, segment: FoundSegment) -> tuple[str, ...]:
    """The columns that a found segment fixes."""
    made_of = {} if audit.found_segments is None else audit.found_segments.features
    return tuple(name for name, labels in made_of.items() if set(labels) & set(segment.conditions))


def _sides(audit: Audit, name: str, features: tuple[str, ...], part_of: Segment | FoundSegment) -> Blamed | None:
    """The part and the rest, if the error of all rows is the part's and the rest has none, or one within noise."""
    n_rows, predicted, happened = part_of.n_rows, part_of.mean_prediction, part_of.base_rate
    rest = audit.n_rows - n_rows
    if n_rows > _MOST_ROWS * audit.n_rows:
        return None
    whole = audit.n_rows * (audit.base_rate - audit.mean_prediction)
    part = n_rows * (happened - predicted)
    says = (audit.n_rows * audit.mean_prediction - n_rows * predicted) / rest
    happens = (audit.n_rows * audit.base_rate - n_rows * happened) / rest
    chance = _NOISE * math.sqrt(rest * max(says * (1.0 - says), 0.0))
    alone = part * whole > 0.0 and abs(part) >= _MOST_ERROR * abs(whole)
    if not alone or abs(whole - part) > max(_LEFT * abs(whole), chance):
        return None
    return Blamed(name, features, predicted, happened, says, happens)
