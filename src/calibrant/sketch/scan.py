"""Rows added up by segment and cell as a reader gives them, batch after batch: none is kept, and order is no matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.kernels import counting, sketching
from calibrant.sketch.cells import MEASURED, without_signs

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_MANY_COMBINATIONS = 2**22


class Numbering:
    """Numbers of the combinations of a few keys, in the order in which they are first met.

    Attributes
    ----------
    first, most : int
        So many numbers from this one on have a place now; a row of another combination has -1.
    n_scans : int
        In how many scans all combinations are to have had a place.
    """

    def __init__(self, n_scans: int = 1) -> None:
        self.first, self.most, self.n_scans = 0, 0, n_scans
        self._seen: list[Any] = []
        self._number: dict[tuple[int, ...], int] = {}

    @property
    def more(self) -> bool:
        """Whether there are combinations after those that have a place now."""
        return len(self._number) > self.first + self.most

    def go_on(self) -> None:
        """Give the next combinations a place."""
        self.first += self.most

    def numbers(self, columns: Sequence[Any]) -> npt.NDArray[np.int32] | None:
        """Number of each row, counted from `first`, by its keys as Arrow; None where there are too many."""
        import pyarrow
        import pyarrow.compute as pc

        of, places, n = None, [], 1
        for at, column in enumerate(columns):
            if pyarrow.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            coded = column.dictionary_encode(null_encoding="encode")
            values = without_signs(coded.dictionary)
            if len(self._seen) <= at:
                self._seen.append(values.slice(0, 0))
            unseen = pc.is_null(pc.index_in(values, value_set=self._seen[at]))
            new = values.filter(unseen).unique()
            if len(new):
                self._seen[at] = pyarrow.concat_arrays([self._seen[at], new])
            places.append(pc.index_in(values, value_set=self._seen[at]).to_numpy())
            local = coded.indices.to_numpy()
            of = local if of is None else of.astype(np.int64) * len(values) + local
            n *= len(values)
            if n > _MANY_COMBINATIONS:
                return None
        present = np.zeros(n, bool)
        present[of] = True
        there = np.flatnonzero(present)
        number = np.full(n, -1, np.int32)
        local_of = np.unravel_index(there, [len(each) for each in places])
        combinations = zip(*(place[each].tolist() for place, each in zip(places, local_of, strict=True)), strict=True)
        for at, combination in zip(there.tolist(), combinations, strict=True):
            placed = self._number.setdefault(combination, len(self._number)) - self.first
            number[at] = placed if 0 <= placed < self.most else -1
        if self.first == 0 and len(self._number) > self.n_scans * self.most:  # after one scan all are known
            return None
        return number[of]

    def keys(self, n_columns: int) -> Any:
        """The combinations that have a place now, a row each, as Arrow."""
        import pyarrow

        numbered = list(self._number)[self.first : self.first + self.most]
        columns = {
            f"_s{at}": self._seen[at].take(pyarrow.array([each[at] for each in numbered], pyarrow.int64()))
            if self._seen
            else pyarrow.nulls(0)
            for at in range(n_columns)
        }
        return pyarrow.table(columns)


class Counted:
    """Sums of rows of weight one with outcomes 0 or 1."""

    bytes_of_a_cell = counting.BYTES_OF_A_CELL
    heaviest = None

    def __init__(self, n_segments: int, resolution: int) -> None:
        self._tables, self._resolution = counting.new_tables(n_segments, resolution), resolution

    def add(
        self, y: FloatArray, v: FloatArray, _w: FloatArray, segment: npt.NDArray[np.int32], faults: IntArray
    ) -> bool:
        """Add rows, and count bad ones; False where an outcome is a rate, which has no place here."""
        return counting.count_rows(y, v, v.view(np.uint64), segment, self._resolution, *self._tables, faults) < 0

    def cells(self, first: int, last: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Segment, number and sums of the cells of these segments that hold rows, in order."""
        size = 2 * self._resolution + 1
        packed, wide = (
            table[first * size * n : last * size * n] for n, table in zip((4, 6), self._tables, strict=True)
        )
        n = counting.count_cells(packed)
        segment, index, sums = np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, 4))
        ends = np.empty((n, 2), np.uint64)
        counting.read_cells(packed, wide, self._resolution, segment, index, sums, ends)
        count, ones, offset, outcome_offset = sums.T
        low, high = ends.view(np.float64).T
        columns = (count, ones, np.zeros(n), count, ones, count, offset, outcome_offset, low, high)
        return segment + first, index, np.column_stack(columns)


class Weighed:
    """Sums of rows with weights, or with event rates."""

    bytes_of_a_cell = 8 * sketching.COLUMNS

    def __init__(self, n_segments: int, resolution: int) -> None:
        self._table, self._resolution = np.zeros((n_segments * (2 * resolution + 1), sketching.COLUMNS)), resolution
        self._heaviest, self._weighted = np.zeros(1), False

    @property
    def heaviest(self) -> float | None:
        """The largest weight, if rows have weights."""
        return float(self._heaviest[0]) if self._weighted else None

    def add(
        self, y: FloatArray, v: FloatArray, w: FloatArray, segment: npt.NDArray[np.int32], faults: IntArray
    ) -> bool:
        """Add rows, and count bad ones."""
        self._weighted |= w.size > 0
        sketching.add_good_rows(y, v, w, segment, self._resolution, self._table, faults, self._heaviest)
        return True

    def cells(self, first: int, last: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Segment, number and sums of the cells of these segments that hold rows, in order."""
        size = 2 * self._resolution + 1
        place = np.arange(first * size, last * size)
        of, number = np.divmod(place, size)
        at = of * size + number // 2 + np.where(number % 2, 0, self._resolution)
        full = self._table[at, sketching.COUNT] > 0.0
        return of[full], number[full], np.ascontiguousarray(self._table[at[full], : len(MEASURED)])


def most_segments(resolution: int, most_bytes: int, *, weighted: bool) -> int:
    """Segments whose sums take at most so many bytes, if all rows of each lie between grid points."""
    return max(1, most_bytes // (resolution * (Weighed if weighted else Counted).bytes_of_a_cell))
