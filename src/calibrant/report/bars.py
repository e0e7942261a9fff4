"""The headline of an audit as bars on one scale: these rows, the population, and after recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from calibrant.door.ends import confidence
from calibrant.door.outwards import in_short
from calibrant.findings.answer_words import METHODS, most_in_short
from calibrant.findings.blamed import blamed

if TYPE_CHECKING:
    from calibrant.findings.found import Audit

_LEAST = 0.8  # percent of the scale
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: from `left` percent of the scale, `width` percent long; the scale ends at `most`."""

    name: str
    words: str
    kind: str
    left: float
    width: float
    most: float
    limit: float  # percent of the scale up to which an error is too small to matter

    @property
    def end(self) -> str:
        """End of the scale, in words."""
        return f"{self.most:g}"


def bars(audit: Audit, at_least: float = 0.0) -> list[Bar]:
    """The lower distance of these rows; the population's; that of the chosen recalibration.

    The scale ends at `at_least` or beyond, and holds the limit of what is too small to matter.
    """
    found, (low, high) = audit.answer, audit.ties.lower_distance_bracket
    limit, sure = found.max_distance, confidence(audit.level)
    shown = [("These rows", in_short(found.size), "certified", low, high)]
    if found.interval is not None:
        least, largest = in_short(found.interval.low, ROUND_FLOOR), most_in_short(found.interval, found.max_distance)
        between = f"{least} to {largest}" if found.interval.low > 0.0 else f"at most {largest}"
        each = "each end with " if found.interval.low > 0.0 else ""
        shown.append((f"Population, {each}{sure} confidence", between, "population", *found.interval))
    best = next((score for score in audit.advice.scores if score.method == audit.advice.chosen), None)
    if best is not None and best.method != "unchanged" and blamed(audit, found.direction) is None:
        name = f"After {METHODS.get(best.method, best.method)}, on rows it was not fitted to"
        left, noise = best.lower_calibration_distance, min(audit.advice.noise or 0.0, found.size)
        words, begins = (in_short(left), left) if left >= noise else (f"below {in_short(noise)}", 0.0)
        shown.append((name, words, "after", begins, max(left, noise)))
    farthest = max(at_least, limit, *(end for *_, end in shown))
    most = next(scale for scale in _SCALES if scale >= min(1.0, farthest))
    at = round(100.0 * min(limit, most) / most, 3)
    return [Bar(name, words, kind, *_placed(start, end, most), most, at) for name, words, kind, start, end in shown]


def _placed(start: float, end: float, most: float) -> tuple[float, float]:
    """Left end and width in percent; what is too narrow to be seen is drawn as a mark."""
    width = max(100.0 * (end - start) / most, _LEAST)
    return round(min(100.0 * start / most, 100.0 - width), 3), round(width, 3)
