"""Confidence bounds on the population's smooth error and lower distance, at any sample size (docs/bounds.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.errors import InputError
from calibrant.inference.arguments import RandomState, check_level, generator, read_binary
from calibrant.inputs import Column
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.lower_check import Potentials, value_of_potentials
from calibrant.measures.smooth import largest_correlation, smooth_error_from_sample, witness_from_sample
from calibrant.sample import Sample

_DRAWS = 32  # sets of random signs; their own error is bounded as well


@dataclass(frozen=True, slots=True)
class PopulationBounds:
    """Intervals that hold with a stated probability, together and at any number of rows.

    Attributes
    ----------
    smooth_error : tuple of float
        Lower and upper bound on the population's smooth calibration error.
    lower_distance : tuple of float
        Lower and upper bound on the population's lower distance from calibration.
    level : float
        Probability with which any of the four bounds may fail.
    n_rows : int
        Rows that they rest on.
    """

    smooth_error: tuple[float, float]
    lower_distance: tuple[float, float]
    level: float
    n_rows: int


def population_bounds(
    y_true: Column, y_prob: Column, *, level: float = 0.05, random_state: RandomState = None
) -> PopulationBounds:
    """Bound how far from calibrated the predictor is on the population that the rows were drawn from.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    level : float, default 0.05
        Probability with which any of the bounds may fail.
    random_state : int, numpy.random.Generator or None
        Seeds the split into halves and the random signs.

    Returns
    -------
    PopulationBounds
        Finite-sample intervals for the smooth error and the lower distance.

    Raises
    ------
    InputError
        If a column or the level cannot be used, or there are fewer than four rows.

    Notes
    -----
    Below: a witness, and potentials, are found on one half of the rows and held against the other, where Hoeffding's
    inequality applies; any witness and any feasible potentials bound the population's value from below. Above: the
    sample's value, twice the empirical Rademacher average of the class that it is a supremum over, which the same
    solver computes exactly for random signs, and McDiarmid's inequality. All constants are explicit in docs/bounds.md.
    Cost: some 100 passes over the sorted rows.

    References
    ----------
    Bartlett and Mendelson, Rademacher and Gaussian complexities, JMLR 3, 2002, Theorem 8.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import population_bounds
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> bounds = population_bounds(np.ones(20_000), y_prob, random_state=0)
    >>> bool(bounds.lower_distance[0] < 0.5 < bounds.lower_distance[1])
    True
    """
    label, prediction = read_binary(y_true, y_prob)
    level = check_level(level)
    n = label.size
    if n < 4:
        raise InputError("y_prob", f"has {n} rows; bounds need at least four")
    # Sorted by prediction and outcome first, so that the order of the rows cannot matter.
    order = np.lexsort((label, prediction))
    outcome, prediction = label[order].astype(np.float64), prediction[order]
    rng = generator(random_state)
    # One share of the level each for two lower bounds; three each for the upper ones.
    log = math.log(8.0 / level)
    found, held = np.array_split(rng.permutation(n), 2)
    smooth_below, distance_below = _below(outcome, prediction, found, held, log)
    step = math.sqrt(2.0 * log / n)
    slack = 3.0 * step + 2.0 * step / math.sqrt(_DRAWS)
    smooth_average, distance_average = _rademacher(outcome, prediction, rng)
    sample = Sample.from_columns(outcome, prediction)
    smooth_above = smooth_error_from_sample(sample) + 2.0 * smooth_average + slack
    distance = lower_certificate_from_sample(sample, tol=min(1e-4, 0.1 / math.sqrt(n))).upper
    distance_above = distance + 2.0 * distance_average + slack
    # The smooth error is at most twice the lower distance (Theorem 7.3), so its lower bound gives another one.
    distance_below = max(distance_below, smooth_below / 2.0)
    return PopulationBounds(
        (smooth_below, min(1.0, smooth_above)), (distance_below, min(1.0, distance_above)), level, n
    )


def _below(
    outcome: FloatArray, prediction: FloatArray, found: IntArray, held: IntArray, log: float
) -> tuple[float, float]:
    """Values on the second half of the witness and the potentials of the first, less Hoeffding's margin."""
    first = Sample.from_columns(outcome[found], prediction[found])
    second = Sample.from_columns(outcome[held], prediction[held])
    witness = witness_from_sample(first)
    earned = witness(second.prediction) * second.residual()
    smooth = float(earned.sum()) - math.sqrt(2.0 * log / held.size)  # values within [-1, 1]
    potentials = lower_certificate_from_sample(first, tol=1e-4).potentials
    distance = value_of_potentials(potentials, second) - _range(potentials) * math.sqrt(0.5 * log / held.size)
    return max(0.0, smooth), max(0.0, distance)


def _range(potentials: Potentials) -> float:
    """How far apart two values of the potentials can be, anywhere in [0, 1]."""
    highest, lowest = -math.inf, math.inf
    for r in (potentials.r0, potentials.r1):
        known = ~np.isneginf(r)
        if known.any():
            nodes, heights = potentials.nodes[known], r[known]
            valleys = 0.5 * (heights[1:] + heights[:-1] - np.diff(nodes))
            ends = [float((heights - nodes).max()), float((heights - (1.0 - nodes)).max())]
            highest = max(highest, float(heights.max()))
            lowest = min(lowest, *ends, *(valleys.min(keepdims=True) if valleys.size else ()))
        else:
            lowest = min(lowest, -2.0)  # an outcome that was never seen counts as that low
    return highest - lowest


def _rademacher(outcome: FloatArray, prediction: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Empirical Rademacher averages of the two classes, over sets of random signs.

    Smooth error: (y - v) w(v) for 1-Lipschitz w into [-1, 1]. Distance: r_y(v) for any two such functions, which
    contains the feasible potentials; a supremum for each outcome.
    """
    distinct, at = np.unique(prediction, return_inverse=True)
    n, m = prediction.size, distinct.size
    smooth = distance = 0.0
    for _ in range(_DRAWS):
        sign = rng.choice([-1.0, 1.0], n) / n
        smooth += largest_correlation(distinct, _sums(at, sign * (outcome - prediction), m))
        for label in (0.0, 1.0):
            distance += largest_correlation(distinct, _sums(at, sign * (outcome == label), m))
    return smooth / _DRAWS, distance / _DRAWS


def _sums(at: IntArray, values: FloatArray, m: int) -> FloatArray:
    return np.bincount(at, values, m).astype(np.float64)
