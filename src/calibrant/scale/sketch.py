"""The calibration sketch: rows of any number as at most 131,073 cells that add up, with a bound on what is lost."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InputError
from calibrant.inputs import Column, read_columns
from calibrant.kernels import sketching
from calibrant.sample import Sample
from calibrant.scale.bounds import Moments, error_bound, moments

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MEASURED = (
    *("count", "ones", "fractional", "weight", "weighted_outcome", "squared_weight"),
    *("offset", "outcome_offset", "low", "high"),
)
"""Columns of a cell, as they are added up and stored."""


class CalibrationSketch:
    """A small weighted sample that stands for any number of rows, with a proved bound for what that costs.

    Parameters
    ----------
    resolution : int, default 65536
        Cells of equal width that predictions are pooled into; a power of two up to 2**24. Grid points themselves are
        cells of their own, so there are up to ``2 * resolution + 1``.

    Notes
    -----
    A cell holds sums (rows, ones, weight, weighted outcomes, squared weights, offsets from the grid point, by outcome)
    and its smallest and largest prediction. Sketches add: ``a + b`` is the sketch of the rows of both, counts exactly
    and sums up to rounding. Where every cell holds one distinct prediction the sketch is the sample itself and the
    bound is zero up to rounding. Counts are exact up to 2**53 rows.

    Examples
    --------
    >>> from calibrant.scale.sketch import CalibrationSketch
    >>> monday = CalibrationSketch().update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> tuesday = CalibrationSketch().update([1, 1], [0.7000001, 0.3])
    >>> both = monday + tuesday
    >>> both.n_rows, both.n_cells
    (6, 5)
    >>> both.error_bound("smooth_calibration_error") < 1e-7
    True
    """

    __slots__ = ("_table", "resolution")

    def __init__(self, resolution: int = 65536) -> None:
        whole = isinstance(resolution, int | np.integer) and not isinstance(resolution, bool)
        if not whole or not 2 <= resolution <= 2**24 or resolution & (resolution - 1):
            raise InputError("resolution", f"is {resolution!r:.40}; it must be a power of two from 2 to 2**24")
        self.resolution = int(resolution)
        self._table = sketching.new_table(self.resolution)

    def update(self, y_true: Column, y_prob: Column, sample_weight: Column | None = None) -> CalibrationSketch:
        """Add rows, in constant memory, and return the sketch itself.

        Raises
        ------
        InputError
            Naming the argument, the first bad row and what is allowed; nothing is added then.
        """
        outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
        sketching.add_rows(outcome, prediction, np.ones(1) if weight is None else weight, self.resolution, self._table)
        return self

    def __add__(self, other: CalibrationSketch) -> CalibrationSketch:
        """The sketch of the rows of both; neither changes."""
        if not isinstance(other, CalibrationSketch):
            return NotImplemented
        return CalibrationSketch.merge([self, other])

    @classmethod
    def merge(cls, sketches: Iterable[CalibrationSketch]) -> CalibrationSketch:
        """Return the sketch of the rows of all, in one table; faster than adding one by one.

        Raises
        ------
        InputError
            If there is none or resolutions differ.
        """
        merged: CalibrationSketch | None = None
        for sketch in sketches:
            merged = cls(sketch.resolution) if merged is None else merged
            if sketch.resolution != merged.resolution:
                raise InputError(
                    "resolution", f"is {merged.resolution} in one sketch and {sketch.resolution} in another"
                )
            sketching.add_table(sketch._table, merged._table)
        if merged is None:
            raise InputError("sketches", "are empty; at least one is needed")
        return merged

    @classmethod
    def from_cells(cls, index: IntArray, cells: FloatArray, resolution: int) -> CalibrationSketch:
        """Build from cells of shape (m, 10) and their numbers; equal numbers are added."""
        sketch = cls(resolution)
        sketching.add_cells(index, cells, sketch._table)
        return sketch

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        y_prob: str,
        sample_weight: str | None = None,
        resolution: int = 65536,
        exclude_bad: bool = False,
    ) -> CalibrationSketch:
        """Aggregate a table by one GROUP BY in its own engine; see `calibrant.scale.frames.sketch_frame`."""
        from calibrant.scale.frames import sketch_frame

        return sketch_frame(
            frame,
            y_true=y_true,
            y_prob=y_prob,
            sample_weight=sample_weight,
            resolution=resolution,
            exclude_bad=exclude_bad,
        )

    def cells(self) -> tuple[IntArray, FloatArray]:
        """Numbers of the cells that hold rows, in order, and their sums, shape (m, 10), named in `MEASURED`."""
        index = np.flatnonzero(self._table[:, sketching.COUNT])
        return index, self._table[index]

    @property
    def n_rows(self) -> int:
        """Rows that were added."""
        return int(self._table[:, sketching.COUNT].sum())

    @property
    def n_cells(self) -> int:
        """Cells that hold rows."""
        return int(np.count_nonzero(self._table[:, sketching.COUNT]))

    @property
    def sample(self) -> Sample:
        """The sketch as a sample, one row a cell at its mean prediction: every measure runs on it."""
        return sample_from_cells(*self.cells(), self.resolution)

    def points(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (y_true, y_prob, sample_weight), a row for each cell that has weight."""
        sample = self.sample
        held = sample.weight > 0.0
        weight = sample.weight[held]
        rate = np.clip(sample.weighted_outcome[held] / weight, 0.0, 1.0)
        return rate, sample.prediction[held], weight

    def moments(self) -> Moments:
        """What the cells say of the rows within them."""
        return moments_from_cells(*self.cells(), self.resolution)

    def error_bound(self, measure: str, **parameters: Any) -> float:
        """Return at least |measure on the sketch - measure on the rows|, proved from the cells' own moments.

        Raises
        ------
        InputError
            If the measure is unknown or no bound is proved for it.
        """
        self.require_rows()
        return error_bound(measure, self.sample, self.moments(), **parameters)

    def error_bounds(self) -> dict[str, float | None]:
        """Return the bound of every measure, None where none is proved."""
        from calibrant.measures.registry import measures

        self.require_rows()
        sample, cells = self.sample, self.moments()
        bounds: dict[str, float | None] = {}
        for name in measures():
            try:
                bounds[name] = error_bound(name, sample, cells)
            except InputError:
                bounds[name] = None
        return bounds

    @property
    def displacement(self) -> float:
        """At least the mean distance of the rows' predictions from those of `points`."""
        return float(self.moments().displacement.sum())

    def require_rows(self) -> None:
        """Raise if there is nothing to measure."""
        if not self._table[:, sketching.WEIGHT].any():
            raise InputError("sketch", "has no rows with weight; update it first")

    def to_bytes(self) -> bytes:
        """Return Arrow IPC bytes, with the version of their layout."""
        from calibrant.scale.storage import to_bytes

        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> CalibrationSketch:
        """Read what `to_bytes` wrote; raise InputError for anything else."""
        from calibrant.scale.storage import from_bytes

        return from_bytes(data)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, whole or not at all: an old file stays until the new one is complete."""
        from calibrant.scale.storage import to_parquet

        to_parquet(self, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> CalibrationSketch:
        """Read what `to_parquet` wrote; raise FileError for anything else."""
        from calibrant.scale.storage import from_parquet

        return from_parquet(path)

    def __repr__(self) -> str:
        """Rows and cells in a line."""
        return f"CalibrationSketch(resolution={self.resolution}): {self.n_rows:,} rows in {self.n_cells:,} cells"


def _mean(index: IntArray, cells: FloatArray, offset: FloatArray, weight: FloatArray, resolution: int) -> FloatArray:
    """Mean prediction of the rows that `offset` and `weight` sum up; the cell's lowest where there is no weight."""
    low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
    held = weight > 0.0
    mean = (index // 2 + offset / np.where(held, weight, 1.0)) / resolution
    return np.where(held, np.clip(mean, low, high), low)  # a mean leaves its range by rounding only


def sample_from_cells(index: IntArray, cells: FloatArray, resolution: int) -> Sample:
    """Return the sample with a row a cell, at its mean prediction."""
    count, ones, fractional, weight, outcome, squared, offset, _, low, high = cells.T.copy()
    return Sample(
        _mean(index, cells, offset, weight, resolution),
        count,
        ones,
        weight,
        outcome,
        squared,
        high - low,
        binary=not fractional.any(),
    )


def moments_from_cells(index: IntArray, cells: FloatArray, resolution: int) -> Moments:
    """Moments of cells, for the bounds."""
    _, _, _, weight, outcome, _, offset, outcome_offset, low, high = cells.T.copy()
    rest, rest_offset = np.maximum(weight - outcome, 0.0), np.maximum(offset - outcome_offset, 0.0)
    return moments(
        low,
        high,
        _mean(index, cells, offset, weight, resolution),
        (outcome, _mean(index, cells, outcome_offset, outcome, resolution)),
        float(weight.sum()),
        (rest, _mean(index, cells, rest_offset, rest, resolution)),
    )
