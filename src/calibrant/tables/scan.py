"""One pass over the many rows of a relation: DuckDB reads, and its record batches are added up as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.sketch.groups import Groups, check_sums
from calibrant.sketch.keys import refuse_far
from calibrant.sketch.scan import Counted, Numbering, Weighed, most_segments
from calibrant.tables.duckdb import plain, quoted, refuse_nested

BATCH = 122_880
"""Rows of a batch, DuckDB's own number: the columns of more leave a processor's cache before they are added up."""
MOST_BYTES = 64_000_000
"""Memory of the sums that are kept at once; of sums of weights or rates, whose cells are larger, twice as much."""
MOST_SCANS = 16
"""Scans that together take about the time of a GROUP BY."""
MANY_CELLS = 4096
"""Cells of a segment from which on a scan is quicker than a GROUP BY."""
_ROLES = ("y_true", "y_prob", "sample_weight")


@dataclass(slots=True)
class Scanned:
    """Sums of the rows of some segments, all of them unless `more`.

    Attributes
    ----------
    sums : Counted or Weighed
        The sums.
    faults : ndarray of shape (7,)
        Bad rows by their faults.
    keys : pyarrow.Table
        Of each segment.
    more : bool
        Whether there are segments that are not among them.
    """

    sums: Counted | Weighed
    faults: npt.NDArray[np.int64]
    keys: Any
    more: bool

    @property
    def n_bad(self) -> int:
        """Bad rows."""
        return int(self.faults.sum())

    @property
    def bad_rows(self) -> Any:
        """Bad rows as `refuse_bad_rows` takes them."""
        import narwhals as nw
        import pyarrow

        codes = np.flatnonzero(self.faults)
        return nw.from_native(pyarrow.table({"_cell": -codes, "count": self.faults[codes]}), eager_only=True)

    def groups(self, first: int = 0, last: int | None = None) -> Groups | None:
        """Cells of these segments, all by default; None where no row is good."""
        import narwhals as nw

        segment, index, cells = self.sums.cells(first, max(1, len(self.keys)) if last is None else last)
        if not index.size:
            return None
        check_sums(cells, self.sums.heaviest)
        keys = self.keys.take(segment) if self.keys.num_columns else _without_columns(index.size)
        return Groups(index, cells, nw.from_native(keys, eager_only=True), self.n_bad)

    def each(self) -> Iterator[Groups]:
        """Cells of one segment after the other."""
        for at in range(len(self.keys)):
            groups = self.groups(at, at + 1)
            if groups is not None:
                yield groups


def scan(
    relation: Any,
    numbers: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    option: str = "by",
    numbering: Numbering | None = None,
) -> Scanned | None:
    """Add up rows by cell within segments; `numbers` are DOUBLE expressions by argument.

    Those of segments that `numbering` has no place for are left out. None where keys are such as Arrow does not
    number, or where there are too many; the scan stops at the first of these.
    """
    import pyarrow

    refuse_nested(relation, by, option)
    columns = [f"{numbers[argument]} AS {argument}" for argument in _ROLES if argument in numbers]
    columns += [f"{quoted(name)} AS _s{at}" for at, name in enumerate(by)]
    rows = relation.project(", ".join(columns))
    weighted = "sample_weight" in numbers
    for rates in (weighted, True):
        numbering = Numbering() if numbering is None else numbering
        n_segments = most_segments(resolution, (1 + rates) * MOST_BYTES, weighted=rates) if by else 1
        numbering.most = n_segments
        sums: Counted | Weighed = (Weighed if rates else Counted)(n_segments, resolution)
        faults = np.zeros(7, np.int64)
        try:
            added = _add_batches(rows, len(numbers), bool(by), numbering, sums, faults)
        except pyarrow.ArrowNotImplementedError:
            return None
        if added is None:
            return None
        if added:
            keys = plain(numbering.keys(len(by)), option)
            import narwhals as nw

            refuse_far(nw.from_native(keys, eager_only=True), option)
            return Scanned(sums, faults, keys, numbering.more)
    raise AssertionError


def _add_batches(
    rows: Any, n_numbers: int, several: bool, numbering: Numbering, sums: Counted | Weighed, faults: Any
) -> bool | None:
    """Whether all rows were added; not where an outcome is a rate and `sums` have no place for it; None as `scan`."""
    none, of_one = np.empty(0), np.empty(0, np.int32)
    with rows.to_arrow_reader(BATCH) as reader:
        for batch in reader:
            y, v, *weight = (_numbers(batch.column(at)) for at in range(n_numbers))
            of = numbering.numbers(batch.columns[n_numbers:]) if several else of_one
            if of is None:
                return None
            if not sums.add(y, v, weight[0] if weight else none, of, faults):
                return False
    return True


def _numbers(column: Any) -> npt.NDArray[np.float64]:
    """Doubles of Arrow as an array, NaN for null."""
    import pyarrow.compute as pc

    column = pc.fill_null(column, np.nan) if column.null_count else column
    values: npt.NDArray[np.float64] = column.to_numpy()
    return values


def _without_columns(n: int) -> Any:
    import pyarrow

    return pyarrow.table({"_": pyarrow.nulls(n)}).select([])
