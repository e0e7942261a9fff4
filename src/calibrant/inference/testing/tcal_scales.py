"""The scales at which T-Cal looks, and which rows share a cell at each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.kernels.tcal import BITS
from calibrant.resampling.redraw import running_shares


def dyadic_scales(n: int, n_classes: int = 2) -> tuple[int, ...]:
    """Bins per unit, 2, 4, ..., 2^B with B = ceil(2 / (K - 1) log2(n / sqrt(log n))), of the adaptive test."""
    b = math.ceil(2.0 / (n_classes - 1) * math.log2(n / math.sqrt(math.log(n))))
    return tuple(2**k for k in range(1, max(b, 1) + 1))


def smooth_scale(n: int, n_classes: int, smoothness: float) -> int:
    """Bins per unit, floor(n^(2 / (4 s + K - 1))), of the test for Hölder smoothness s.

    Raises InputError if that is a single bin, which would test the mean alone.
    """
    exponent = (4.0 * smoothness + n_classes - 1.0) / 2.0
    m = int(float(n) ** (1.0 / exponent))
    if (m + 1) ** exponent <= n * (1.0 + 1e-12):  # the power above was rounded down past a whole number
        m += 1
    if m < 2:
        least = f"; at least {math.ceil(2.0**exponent):,} rows" if exponent < 50 else ""
        raise InputError(
            "smoothness",
            f"is {smoothness:g}, for which {n:,} rows leave a single bin: too few to test{least}. "
            "Lower the smoothness, or leave it out for the adaptive test",
        )
    return m


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRows:
    """Rows in an order in which every cell of every scale is contiguous; fields as `kernels.tcal` takes them."""

    component: FloatArray  # (n, J): predictions: the one of the event, or one for each class
    threshold: IntArray  # (n, J): running sums of the predictions as whole numbers of 53 bits
    label: IntArray  # (n,): the component whose label is 1; -1 where there is none
    gap: IntArray  # (n,): coarsest scale (from 1) that parts the row from the next one; 0 after the last
    n_classes: int  # k, which is 2 for predictions of one event
    n_distinct: int  # number of different predictions

    def shared_cells(self, n_scales: int) -> list[int]:
        """Number of cells that hold two or more rows, a scale each."""
        counts = []
        for scale in range(1, n_scales + 1):
            ends = np.flatnonzero(self.gap <= scale)
            counts.append(int((np.diff(ends, prepend=-1) >= 2).sum()))
        return counts


def interval_cells(z: FloatArray, m: int) -> IntArray:
    """Return the one of m bins [0, 1/m), ..., [1 - 1/m, 1] that each prediction is in."""
    return np.asarray(np.minimum(np.floor(z * m), m - 1.0).astype(np.int64))


def event_rows(label: IntArray, prediction: FloatArray, scales: tuple[int, ...]) -> OrderedRows:
    """Order rows of one event: m bins [0, 1/m), ..., [1 - 1/m, 1] a scale."""
    order = np.lexsort((label, prediction))
    z = prediction[order]
    cells = [interval_cells(z, m) for m in scales]
    return OrderedRows(
        component=np.ascontiguousarray(z[:, None]),
        threshold=np.ceil(z * 2.0**BITS).astype(np.int64)[:, None],
        label=label[order] - 1,
        gap=_gaps(cells),
        n_classes=2,
        n_distinct=1 + int((z[1:] != z[:-1]).sum()),
    )


def class_rows(label: IntArray, y_prob: FloatArray, scales: tuple[int, ...]) -> OrderedRows:
    """Order rows of K classes: the m^(K-1) equal-volume cells of the simplex a scale."""
    names = [np.unique(simplex_cells(y_prob, m), axis=0, return_inverse=True)[1].reshape(-1) for m in scales]
    order = np.lexsort((label, *y_prob.T[::-1], *names[::-1]))
    z = np.ascontiguousarray(y_prob[order])
    threshold = np.ceil(running_shares(z) * 2.0**BITS).astype(np.int64)
    # The last class takes what rounding left; so does a class after which all are impossible.
    last = z.shape[1] - 1 - np.argmax(z[:, ::-1] > 0.0, axis=1)
    threshold[np.arange(z.shape[1]) >= last[:, None]] = 2**BITS
    return OrderedRows(
        component=z,
        threshold=threshold,
        label=label[order],
        gap=_gaps([name[order] for name in names]),
        n_classes=z.shape[1],
        n_distinct=1 + int((z[1:] != z[:-1]).any(axis=1).sum()),
    )


def _gaps(cells: list[IntArray]) -> IntArray:
    """Coarsest scale that parts each row from the next, for nested cells from coarse to fine."""
    gap = np.full(cells[0].size, len(cells) + 1, dtype=np.int64)
    for scale in range(len(cells), 0, -1):
        cell = cells[scale - 1]
        gap[:-1][cell[1:] != cell[:-1]] = scale
    gap[-1] = 0
    return gap


def simplex_cells(y_prob: FloatArray, m: int) -> IntArray:
    """Name the cell of each row among the m^(K-1) of equal volume.

    Parameters
    ----------
    y_prob : ndarray of shape (n, K)
        Class probabilities, each row adding up to 1.
    m : int
        Cells per unit along an edge.

    Returns
    -------
    ndarray of shape (n, 2 (K - 1))
        Whole parts of the running sums, then the classes in order of their fractional parts. Two rows share a cell if
        and only if these agree. A row on a boundary goes to the cell above it, and below it where there is none above.

    Notes
    -----
    O(n K log K), for any m.

    References
    ----------
    D. Lee, X. Huang, H. Hassani and E. Dobriban, "T-Cal: An Optimal Test for the Calibration of Predictive Models",
    JMLR 24 (2023), Appendix B.3.
    """
    running = np.minimum(np.cumsum(y_prob[:, :-1], axis=1), np.nextafter(1.0, 0.0))
    scaled = running * m
    whole = np.minimum(np.floor(scaled), m - 1.0)  # the product may round up to m
    # Ties are in the order of classes, which is the order that cells inside the simplex have.
    order = np.argsort(scaled - whole, axis=1, kind="stable")
    return np.concatenate([whole.astype(np.int64), order.astype(np.int64)], axis=1)
