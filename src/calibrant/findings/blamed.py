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
    """A segment, and what is predicted and happens in it and elsewhere."""

    name: str
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
    parts: list[tuple[str, Segment | FoundSegment]] = []
    for segment in [each for each in audit.segments if named_off(audit, each)][:1]:
        parts.append((equalities(audit.segmented_by, segment.key), segment))
    for found in found_off(audit)[:1]:
        parts.append((found.name, found))
    sides = (_sides(audit, name, each.n_rows, each.mean_prediction, each.base_rate) for name, each in parts)
    return next((each for each in sides if each is not None), None)


def _sides(audit: Audit, name: str, n_rows: int, predicted: float, happened: float) -> Blamed | None:
    """The part and the rest, if the error of all rows is the part's and the rest has none, or one within noise."""
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
    return Blamed(name, predicted, happened, says, happens)
