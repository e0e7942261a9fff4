"""A penalised cubic spline of the outcome on the prediction, of fixed degrees of freedom (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import eigh

from calibrant.door.columns import FloatArray, IntArray

FREEDOM = 5.0
"""Effective degrees of freedom: about those of lowess through two thirds of the rows."""
_KNOTS = 20  # inside the range, evenly: close ones, as of predictions in clusters, would leave no digits
_HALVINGS = 80


def spline_rows(x: FloatArray, mass: FloatArray, at: IntArray) -> Iterator[FloatArray]:
    """What the mean outcome at each prediction contributes to the spline at some of them, one place after the other.

    The least of the weighted squared error plus a multiple of the integral of the squared second derivative, which is
    set so that the spline has `FREEDOM` degrees of freedom, or where predictions are fewer than eight, half as many as
    a line and they have together.
    """
    if x.size == 1:
        yield np.ones(1)
        return
    scaled = (x - x[0]) / (x[-1] - x[0])
    inside = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
    knots = np.concatenate([np.zeros(4), inside, np.ones(4)])
    basis = np.asarray(BSpline.design_matrix(scaled, knots, 3).todense())
    square = basis.T @ (mass[:, None] * basis)
    bends = _penalty(knots)
    # Their sum is definite: what does not bend is a line, and two predictions tell lines apart, unless one weighs
    # next to nothing.
    both = square + np.trace(square) / np.trace(bends) * bends
    kept, directions = eigh(square, both + 1e-15 * np.trace(both) * np.eye(len(both)))
    kept = np.clip(kept, 0.0, 1.0)

    def shares(multiple: float) -> FloatArray:
        denominator = kept + multiple * (1.0 - kept)
        return np.asarray(np.divide(1.0, denominator, out=np.zeros_like(kept), where=denominator > 0.0))

    wanted = min(FREEDOM, 0.5 * (x.size + 2))
    low, high = -18.0, 40.0  # below, nothing but rounding is left of what bends
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        free = float((kept * shares(float(np.exp(middle)))).sum())
        low, high = (middle, high) if free > wanted else (low, middle)
    inverse = directions * shares(float(np.exp(0.5 * (low + high))))[None, :]
    basis_of_rows = np.ascontiguousarray((basis * mass[:, None]).T)
    for left in basis[at] @ (inverse @ directions.T):
        yield np.asarray(left @ basis_of_rows)


def _penalty(knots: FloatArray) -> FloatArray:
    """Integrals of the products of second derivatives, by two points an interval: of squares of lines it is exact."""
    ends = np.unique(knots)
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    at = np.concatenate([middle - half / np.sqrt(3.0), middle + half / np.sqrt(3.0)])
    second = BSpline(knots, np.eye(knots.size - 4), 3)(at, nu=2)
    return np.asarray(second.T @ (np.tile(half, 2)[:, None] * second))
