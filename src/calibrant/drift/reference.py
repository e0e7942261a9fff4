"""Periods of a table beside some of them: has the meaning of predictions changed since?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.door.errors import InputError
from calibrant.drift.unchanged import Counts, ReferenceReading, Since
from calibrant.kernels import sketching
from calibrant.sketch.groups import Groups
from calibrant.sketch.sample import sample_from_cells

FINE = 2**16
"""Cells of the comparison: finer than the monitor's, for what changes within a cell is no evidence."""

_DAY = re.compile(r"-?\d{4,}-\d\d-\d\d")


def readings_since(names: Sequence[Any], groups: Groups, reference: Any, level: float) -> dict[int, ReferenceReading]:
    """Number of each period after the reference -> evidence of change since; `groups` are all rows in fine cells.

    Raises
    ------
    InputError
        If the reference is none of the periods, or the last.
    """
    base = _places(reference, names)
    number_of = {name: number for number, name in enumerate(names)}
    of = np.array([number_of[key] for key in groups.keys["_s0"].to_list()])
    counts = [_counts(groups.index[of == number], groups.cells[of == number]) for number in range(len(names))]
    title = " to ".join(dict.fromkeys(str(names[number]) for number in (base[0], base[-1])))
    since = Since(title, [counts[number] for number in base], level, FINE)
    return {number: since.update(counts[number]) for number in range(base[-1] + 1, len(names))}


def _counts(index: np.ndarray[Any, np.dtype[np.int64]], cells: np.ndarray[Any, np.dtype[np.float64]]) -> Counts:
    order = np.argsort(index)
    index, cells = index[order], cells[order]
    rows, ones = cells[:, sketching.COUNT], cells[:, sketching.ONES]
    mean = sample_from_cells(index, cells, FINE).prediction
    return Counts(index, rows, ones, mean, cells[:, sketching.LOW], cells[:, sketching.HIGH])


def _places(reference: Any, names: Sequence[Any]) -> list[int]:
    """Numbers of the reference periods, by their values or as texts; "A..B" is A, B and all between them."""
    references = reference if isinstance(reference, list | tuple) else [reference]
    places = [at for each in references for at in _from_to(each, names)]
    distinct = set(places)
    if len(distinct) < len(places):
        raise _no_reference(reference, names, " names a period twice")
    if not distinct or max(distinct) == len(names) - 1:
        why = " holds the last period, after which there is nothing to compare" if distinct else ""
        raise _no_reference(reference, names, why)
    return sorted(distinct)


def _from_to(reference: Any, names: Sequence[Any]) -> range:
    begin = end = _periods(reference, names)
    if not begin and isinstance(reference, str):
        begin, end = (_periods(each, names) for each in reference.partition("..")[::2])
    if not begin or not end:
        raise _no_reference(reference, names, " names a period that is not there")
    if begin.start >= end.stop:
        raise _no_reference(reference, names, " begins after its end")
    return range(begin.start, end.stop)


def _periods(reference: Any, names: Sequence[Any]) -> range:
    """The period of that name, or of times of day all that lie on the day that is named; none is an empty range."""
    text = str(reference)
    places = [at for at, name in enumerate(names) if name == reference or str(name) == text][:1]
    if not places and _DAY.fullmatch(text):
        places = [at for at, name in enumerate(names) if str(name).startswith((f"{text} ", f"{text}T"))]
    return range(places[0], places[-1] + 1) if places else range(0)


def _no_reference(reference: Any, names: Sequence[Any], why: str) -> InputError:
    periods = ", ".join(map(repr, map(str, names[:5]))) + (", ..." if len(names) > 5 else "")
    allowed = f"name periods before the last, or A..B for all from A to B, of {periods}"
    shown = ",".join(map(str, reference)) if isinstance(reference, list | tuple) else reference
    return InputError("reference", f"is {shown!r:.60}" + (f", which{why}" if why else ""), allowed=allowed)
