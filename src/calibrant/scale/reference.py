"""Periods of a table beside some of them: have predictions come to mean something else since?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.errors import InputError
from calibrant.inference.unchanged import Counts, Since
from calibrant.kernels import sketching
from calibrant.scale.groups import Groups
from calibrant.scale.pooled import sample_from_cells

if TYPE_CHECKING:
    from calibrant.scale.drift import Period

FINE = 2**16
"""Cells of the comparison: finer than the monitor's, for what changes within a cell is no evidence."""


def beside_reference(
    periods: Sequence[Period], groups: Groups, reference: Any, level: float, *, grouped: bool = False
) -> list[Period]:
    """The periods, those after the reference with what has changed since; `groups` are their rows in fine cells.

    Raises
    ------
    InputError
        If the reference is none of the periods, or the last, or rows belong to groups.
    """
    if grouped:
        raise InputError("reference", "cannot be combined with groups: it compares single, independent rows")
    names = [period.period for period in periods]
    base = _places(reference, names)
    place = {name: at for at, name in enumerate(names)}
    of = np.array([place[key] for key in groups.keys["_s0"].to_list()])
    counts = [_counts(groups.index[of == at], groups.cells[of == at]) for at in range(len(names))]
    said = " to ".join(dict.fromkeys(str(names[at]) for at in (base[0], base[-1])))
    since = Since(said, [counts[at] for at in base], level, FINE)
    after = range(base[-1] + 1, len(names))
    found = {at: since.update(counts[at]) for at in after}
    return [replace(period, since_reference=found.get(at)) for at, period in enumerate(periods)]


def _counts(index: np.ndarray[Any, np.dtype[np.int64]], cells: np.ndarray[Any, np.dtype[np.float64]]) -> Counts:
    order = np.argsort(index)
    index, cells = index[order], cells[order]
    rows, ones = cells[:, sketching.COUNT], cells[:, sketching.ONES]
    mean = sample_from_cells(index, cells, FINE).prediction
    return Counts(index, rows, ones, mean, cells[:, sketching.LOW], cells[:, sketching.HIGH])


def _places(reference: Any, names: Sequence[Any]) -> list[int]:
    """Where the reference periods are, by their values or as they are written."""
    wanted = reference if isinstance(reference, list | tuple) else [reference]
    found = [
        next((at for at, name in enumerate(names) if name == each or str(name) == str(each)), -1) for each in wanted
    ]
    if not found or min(found) < 0 or max(found) == len(names) - 1:
        held = ", ".join(map(repr, map(str, names[:5]))) + (", ..." if len(names) > 5 else "")
        raise InputError("reference", f"is {reference!r:.60}", allowed=f"name periods before the last, of {held}")
    return sorted(set(found))
