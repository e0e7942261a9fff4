"""Where segments by name and found segments are the same ones, and one rule calls them off and the other does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.coding import condition, equalities

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.segments.found_results import FoundSegments


def disagreement(audit: Audit) -> str | None:
    """On which segments the two disagree, and why they may; None where they do not."""
    if audit.found_segments is None:
        return None
    proved = _proved(audit.found_segments, audit.segmented_by)
    apart = [
        (equalities(audit.segmented_by, each.key), bool(each.reject))
        for each in audit.segments
        if each.reject is not None and proved.get(_conditions(audit.segmented_by, each.key), each.reject) != each.reject
    ]
    if not apart:
        return None
    (first, by_name), more = apart[0], len(apart) - 1
    others = f" (and {more:,} more)" if more else ""
    one, other = ("by name", "in the search") if by_name else ("in the search", "by name")
    few, level = f"{100.0 * audit.level:g}%", f"{audit.level:g}"
    return (
        f"{first}{others} is off by more than noise {one} and not {other}, for each has its own test and rule: by name "
        f"at most {few} of the segments called off are expected to be false alarms; in the search the chance "
        f"that any calibrated one is called off is at most {level}."
    )


def _proved(found: FoundSegments, by: tuple[str, ...]) -> dict[frozenset[str], bool]:
    """Of the tested segments that fix just these columns, whether they are off."""
    names, labels = list(found.features), list(found.features.values())
    wanted = {at for at, name in enumerate(names) if name in by}
    off = np.asarray(found.tested[:, 2] <= found.level)
    return {
        frozenset(labels[feature][value] for feature, value in made_of): bool(off[at])
        for at, made_of in enumerate(found.made_of)
        if {feature for feature, _ in made_of} == wanted and len(wanted) == len(by)
    }


def _conditions(by: tuple[str, ...], key: tuple[object, ...]) -> frozenset[str]:
    return frozenset(condition(name, value) for name, value in zip(by, key, strict=True))
