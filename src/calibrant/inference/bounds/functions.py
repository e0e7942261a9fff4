"""Functions that a sample teaches: each a member of the class whose supremum a measure is."""

from __future__ import annotations

import math

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Function
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import witness_from_sample

_GRID = np.linspace(0.0, 1.0, 1025)


def smooth_function(sample: Sample) -> Function:
    """(y - v) w(v) for the sample's witness w."""
    witness = witness_from_sample(sample)
    return lambda y, v: (y - v) * witness(v)


def lower_function(sample: Sample) -> Function:
    """r_y(v) for potentials, near to the sample's best, that are feasible at every u in [0, 1].

    The sample may stand for many more rows than it has lines, so how near is near enough cannot be told from these.
    """
    potentials = lower_certificate_from_sample(sample, tol=1e-5).potentials
    at = np.union1d(potentials.nodes, _GRID)
    r0, r1 = (_extended(potentials.nodes, heights, at) for heights in (potentials.r0, potentials.r1))
    r0, r1 = np.clip(r0, -at, at), np.clip(r1, at - 1.0, 1.0 - at)
    # Linear between these knots, (1 - u) r0 + u r1 is a quadratic there: its maximum is at a knot or within a piece.
    broken = max(0.0, _largest(at, r0, r1))

    def function(y: FloatArray, v: FloatArray) -> FloatArray:
        zero, one = (np.interp(v, at, r) - broken for r in (r0, r1))
        return (1.0 - y) * np.maximum(zero, -v) + y * np.maximum(one, v - 1.0)

    return function


def _extended(nodes: FloatArray, heights: FloatArray, at: FloatArray) -> FloatArray:
    """The lowest 1-Lipschitz function that is at least these heights at the nodes, elsewhere."""
    known = np.full(at.size, -np.inf)
    known[np.searchsorted(at, nodes)] = heights
    up = np.maximum.accumulate(known + at) - at
    down = np.maximum.accumulate((known - at)[::-1])[::-1] + at
    return np.maximum(up, down)


def _largest(at: FloatArray, r0: FloatArray, r1: FloatArray) -> float:
    """Largest (1 - u) r0 + u r1 on [0, 1], the potentials linear between knots."""
    ends = (1.0 - at) * r0 + at * r1
    width = np.diff(at)
    rise = np.diff(r1 - r0) / width  # half of the second derivative
    slope = np.diff(ends) / width - rise * width  # at the left end of a piece
    within = np.where(rise < 0.0, np.clip(-slope / (2.0 * np.where(rise < 0.0, rise, -1.0)), 0.0, width), 0.0)
    return float(max(ends.max(), (ends[:-1] + (slope + rise * within) * within).max()))


def binned_function(sample: Sample) -> Function:
    """(y - v) times the sign of the sample's mean residual, in each of the default bins of equal width."""
    edges = np.linspace(0.0, 1.0, 16)
    sign = np.sign(np.bincount(_bins(sample.prediction, edges), sample.residual(), 15))
    return lambda y, v: (y - v) * sign[_bins(v, edges)]


def _bins(v: FloatArray, edges: FloatArray) -> IntArray:
    """Bins (lower, upper], the first with 0."""
    return np.asarray(np.maximum(np.searchsorted(edges, v, side="left") - 1, 0))


def kernel_function(sample: Sample) -> Function:
    """(y - v) w(v) for w of norm 1 in the Laplace kernel's space: the sample's own, linear between knots."""
    knots = np.linspace(0.0, 1.0, 257)
    w = np.exp(-np.abs(knots[:, None] - sample.prediction)) @ sample.residual()
    rise, step = np.diff(w), knots[1]
    # Norm of exp(-|u - v|) on [0, 1]: half of w(0)^2 + w(1)^2 and of the integral of w^2 + w'^2.
    inside = float((w[:-1] * w[:-1] + w[:-1] * w[1:] + w[1:] * w[1:]).sum()) * step / 3.0 + float(rise @ rise) / step
    norm = math.sqrt(0.5 * (w[0] ** 2 + w[-1] ** 2 + inside))
    w = w / (norm * (1.0 + 1e-12)) if norm > 0.0 else w
    return lambda y, v: (y - v) * np.interp(v, knots, w)
