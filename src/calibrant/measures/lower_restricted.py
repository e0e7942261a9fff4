"""The lower distance when calibrated predictions may take given values only."""

from __future__ import annotations

__all__ = ["restricted_lower_distance"]

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import lower_lift as lift
from calibrant.measures.lower_check import label_masses

_UNIT = 2.0**14  # that the solver is given of a mass, and of a length, of 1: its tolerances are no shares of them
_LEAST = 1e-10  # tolerance that it takes
_GAP = 1e-9  # that is promised between the cost and what is proved from below


def restricted_lower_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, values: npt.ArrayLike
) -> float:
    """Smallest average change that makes the predictions calibrated, if afterwards they may take given values only.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    values : array-like of shape (m,)
        The values that calibrated predictions may take, in [0, 1]; 0 and 1 must be among them, so that there are
        calibrated predictions at all.

    Returns
    -------
    float
        The minimum of E|u - v| over joint distributions of (u, v, y). Their (v, y) is the sample. Their u is among
        `values` and calibrated: E[y | u] = u. Attained by a coupling, so never below the exact minimum except by
        rounding; above it by at most 1e-9, which is proved each time.

    Raises
    ------
    InputError
        If a column or `values` cannot be used; the message names it and its first bad row.
    ArithmeticError
        If the solver finds no answer that is proved to 1e-9.

    See Also
    --------
    lower_calibration_distance, lower_calibration_certificate

    Notes
    -----
    At least the lower distance, and above it by at most the largest distance of a number in [0, 1] from `values` (Lemma
    17). It tests a finer grid, or gives the cost of a coarser one, such as predictions rounded to tenths. Cost: a
    sparse linear program of 4 n + 5 m unknowns on a path, 2 s for 2,000 distinct predictions and 100 values.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 7 (U-LDTC) and
    Lemmas 17 and 18.

    Examples
    --------
    >>> from calibrant.measures import restricted_lower_distance
    >>> y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> [round(restricted_lower_distance(y_true, y_prob, values=u), 6) for u in ([0, 1], [0, 0.5, 1])]
    [0.25, 0.15]
    """
    allowed = np.asarray(values, np.float64)
    if allowed.ndim != 1 or not ((allowed >= 0.0) & (allowed <= 1.0)).all():
        raise InputError("values", "must be numbers in [0, 1], in one dimension")
    allowed = np.unique(allowed)
    if allowed.size < 2 or allowed[0] != 0.0 or allowed[-1] != 1.0:
        raise InputError("values", "must hold 0 and 1: without them there may be no calibrated predictions")
    sample = Sample.from_columns(y_true, y_prob, sample_weight)
    v, (p, q) = sample.prediction, label_masses(sample)
    calibrated, least = _calibrated_masses(v, p, q, allowed)
    whole = np.array([0, v.size])
    cost = float(lift.lift_coupling(v, p, q, allowed, calibrated, whole, np.empty(1)))
    if cost - least > _GAP:
        raise ArithmeticError(f"the distance is proved to lie between {least:.3g} and {cost:.3g}, and no closer")
    return cost


def _calibrated_masses(v: FloatArray, p: FloatArray, q: FloatArray, allowed: FloatArray) -> tuple[FloatArray, float]:
    """Masses at the allowed values, a share u of each with outcome 1, that the sample is carried to most cheaply.

    And a cost that none is below. Either outcome is carried along the line: what flows over each gap of neighbouring
    places is its own unknown, to the right and to the left, and costs the gap.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    places = np.union1d(v, allowed)
    n = places.size
    gap, at = np.diff(places), np.searchsorted(places, allowed)
    node = np.arange(n - 1)
    # What leaves a place to the right less what comes from the left.
    flow = coo_array((np.repeat([1.0, -1.0], n - 1), (np.append(node, node + 1), np.append(node, node))), (n, n - 1))
    nothing = coo_array((n, 2 * (n - 1)))
    both = hstack([flow, -flow])
    incidence = [
        coo_array((share, (at, np.arange(allowed.size))), (n, allowed.size)) for share in (1.0 - allowed, allowed)
    ]
    masses = [np.asarray(np.bincount(np.searchsorted(places, v), mass, n), dtype=np.float64) for mass in (p, q)]
    solved = linprog(
        np.concatenate([_UNIT * gap, _UNIT * gap, _UNIT * gap, _UNIT * gap, np.zeros(allowed.size)]),
        A_eq=vstack([hstack([both, nothing, incidence[0]]), hstack([nothing, both, incidence[1]])]).tocsr(),
        b_eq=_UNIT * np.concatenate(masses),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _LEAST, "dual_feasibility_tolerance": _LEAST},
    )
    if solved.status != 0:  # all at 0 and 1 is calibrated, so that there is an answer
        raise ArithmeticError(f"the solver found no answer: {solved.message}")
    calibrated = np.asarray(np.maximum(solved.x[-allowed.size :], 0.0))
    heights = np.asarray(solved.eqlin.marginals, dtype=np.float64) / _UNIT
    return calibrated, _proved(places, at, masses[0], masses[1], heights[:n], heights[n:])


def _proved(places: FloatArray, at: IntArray, p: FloatArray, q: FloatArray, r0: FloatArray, r1: FloatArray) -> float:
    """Return the lower bound that any heights of the places prove, lowered until nothing allowed may earn more."""
    r0, r1 = (_gentle(places, each) for each in (r0, r1))
    value = places[at]
    over = ((1.0 - value) * r0[at] + value * r1[at]).max()
    return float(p @ r0 + q @ r1 - max(over, 0.0) * (p.sum() + q.sum()))


def _gentle(places: FloatArray, r: FloatArray) -> FloatArray:
    """The largest function below r that changes by at most the distance."""
    r = np.minimum.accumulate(r - places) + places
    return np.asarray(np.minimum.accumulate((r + places)[::-1])[::-1] - places)
