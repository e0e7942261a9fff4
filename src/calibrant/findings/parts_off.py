"""Whether parts of the rows, which an audit was asked about, are worth correcting where all rows together are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.segments.named import Segment


def parts_off(audit: Audit) -> tuple[str, ...]:
    """Which kinds of parts are proved miscalibrated; named segments by more than is too small to matter.

    Of named segments the share of false discoveries, of found ones the chance of any, and of periods the chance of
    ever being told without reason is at most the audit's level. Classes are not among them: they decide the state.
    """
    found, limit = [], audit.max_distance
    searched = () if audit.found_segments is None else audit.found_segments.segments
    named = any(named_off(each, limit) for each in audit.segments)
    cancel = [(each.bias > 0.0) != (each.direction == "too low") for each in searched]
    if named or any(off or abs(each.bias) > limit for off, each in zip(cancel, searched, strict=True)):
        found.append("segments")
    if any(period.reading.reject for period in audit.periods):
        found.append("periods")
    return tuple(found)


def named_off(segment: Segment, limit: float) -> bool:
    """Whether a named segment is off by more than noise, and by more than is too small to matter."""
    return bool(segment.reject) and segment.lower_distance_bracket.upper > limit
