"""Whether parts of the rows, which an audit was asked about, are worth correcting where all rows together are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.segments.found_results import FoundSegment
    from calibrant.segments.named import Segment


def parts_off(audit: Audit) -> tuple[str, ...]:
    """Which kinds of parts are proved miscalibrated; named segments by more than is too small to matter.

    Of named segments the share of false discoveries, of found ones the chance of any, and of periods the chance of
    ever being told without reason is at most the audit's level. Classes are not among them: they decide the state.
    """
    found = []
    if any(named_off(audit, each) for each in audit.segments) or found_off(audit):
        found.append("segments")
    if any(period.reading.reject for period in audit.periods):
        found.append("periods")
    return tuple(found)


def named_off(audit: Audit, segment: Segment) -> bool:
    """Whether a named segment is off by more than noise, and by more than is too small to matter."""
    return bool(segment.reject) and segment.lower_distance_bracket.upper > audit.max_distance


def found_off(audit: Audit) -> list[FoundSegment]:
    """The found segments that are off by more than is too small to matter, in their mean or for the part that errs.

    Not all rows together: what they come to, the test and the gate say.
    """
    searched = () if audit.found_segments is None else audit.found_segments.segments
    return [each for each in searched if each.conditions and each.off > audit.max_distance]
