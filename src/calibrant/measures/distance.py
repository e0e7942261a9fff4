"""True and upper distance from calibration: certified brackets, exact where possible, with the nearest predictor."""

from __future__ import annotations

__all__ = ["calibration_distance", "check_predictor", "upper_calibration_distance"]

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant.door.columns import Column, as_numbers, read_columns
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock
from calibrant.measures.distance_columns import partition_by_columns
from calibrant.measures.distance_exact import exact_partition
from calibrant.measures.distance_lattice import LatticeProblem
from calibrant.measures.distance_proof import (
    Domain,
    cost_of_partition,
    domain_of_predictions,
    domain_of_rows,
    part_means,
    rounding_of_program,
)
from calibrant.measures.distance_rounding import rounded_partition
from calibrant.measures.lower import LowerCertificate, lower_certificate_from_sample

EXACT = 1e-9
"""Width under which a bracket counts as closed, in probability units."""


def _bracket(domain: Domain, relaxation: LowerCertificate, clock: Clock) -> Bracket:
    """Bracket the true distance of a domain."""
    mass, v, y = domain.mass, domain.v, domain.y
    labels = rounded_partition(mass, v, y, relaxation)
    _, upper = cost_of_partition(domain, labels)
    lower = relaxation.lower
    if upper - lower > EXACT and not clock.up:
        n = v.size
        if np.ptp(mass) <= 1e-12 / n and bool(((y == 0.0) | (y == 1.0)).all()):
            lattice = LatticeProblem(v, y, relaxation, labels)
            lattice.solve(clock)
            labels = lattice.labels
            uneven = 2.0 * float(np.abs(mass - 1.0 / n).sum())  # the search takes masses for equal
            lower = max(lower, (lattice.credit + lattice.proven) / n - lattice.rounding - uneven)
        elif (exact := exact_partition(mass, v, y, clock)) is not None:
            labels = exact
            lower = max(lower, cost_of_partition(domain, labels)[0] - rounding_of_program(n))
        elif not clock.up:
            labels, proven = partition_by_columns(mass, v, y, labels, clock)
            lower = max(lower, proven)
    # The predictor's own levels: parts whose means round to one number are one part.
    predictor = part_means(domain, labels)
    _, upper = cost_of_partition(domain, _levels(predictor))
    return Bracket(lower, upper, exact=upper - lower <= EXACT, predictor=predictor, certificate=relaxation)


def _levels(predictor: FloatArray) -> IntArray:
    return np.unique(predictor, return_inverse=True)[1].astype(np.int64)


def calibration_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, time_limit: float | None = None
) -> Bracket:
    """Return a bracket of the distance to the nearest calibrated predictor, which may treat every row differently.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or the conditional probabilities of outcome 1, in [0, 1]: one per element of the domain.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Masses of the elements, up to a factor.
    time_limit : float, optional
        Seconds after which the search ends with the bracket reached. The lower distance and a first predictor, which it
        starts from, are always computed (1 s at 10**5 rows). Without a limit it goes on until the distance is exact or
        ten million states have been visited.

    Returns
    -------
    Bracket
        `lower` <= distance <= `upper`, whether it is exact, and the nearest calibrated predictor found, which need not
        give equal values to equal predictions.

    Raises
    ------
    InputError
        If a column or `time_limit` cannot be used; the message names it and its first bad row.

    See Also
    --------
    upper_calibration_distance, lower_calibration_distance, check_predictor

    Notes
    -----
    min over calibrated predictors g of E|f - g|, or over partitions of the elements of the cost of moving each part to
    its mean outcome (Fact 1). For unweighted outcomes of 0 or 1 the search is exact, in seconds at n = 2,000 to 10,000,
    longer if many partitions are equally good (docs/benchmarks-distances.md); in general the problem is NP-hard
    (Theorem 2). Rows with equal predictions are separate elements, unlike in `upper_calibration_distance`. Cost: a
    search, exponential in the worst case, which `time_limit` ends.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 4.1.
    Computational and Statistical Hardness of Calibration Distance, 2026, Theorem 1.

    Examples
    --------
    >>> from calibrant import calibration_distance
    >>> bracket = calibration_distance([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> bracket.exact, round(bracket.upper, 6), bracket.predictor.tolist()
    (True, 0.15, [0.0, 0.5, 1.0, 0.5])
    """
    clock = Clock(time_limit)
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    relaxation = lower_certificate_from_sample(Sample.from_columns(outcome, prediction, weight), tol=1e-11)
    if weight is None:
        return _bracket(domain_of_rows(np.ones_like(prediction), prediction, outcome), relaxation, clock)
    carries = weight / weight.sum() > 0.0  # what has no mass cannot cost anything: it stays where it is
    domain = domain_of_rows(weight[carries], prediction[carries], outcome[carries])
    return _with_all_rows(_bracket(domain, relaxation, clock), carries, prediction)


def _with_all_rows(bracket: Bracket, carries: NDArray[np.bool_], prediction: FloatArray) -> Bracket:
    predictor = prediction.copy()
    predictor[carries] = bracket.predictor
    return replace(bracket, predictor=predictor)


def upper_distance_from_sample(sample: Sample, *, time_limit: float | None = None) -> Bracket:
    """Bracket of a sample's upper distance; its predictor has one value per distinct prediction."""
    clock = Clock(time_limit)
    relaxation = lower_certificate_from_sample(sample, tol=1e-11)
    carries, domain = domain_of_predictions(sample)
    return _with_all_rows(_bracket(domain, relaxation, clock), carries, sample.prediction)


def upper_calibration_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, time_limit: float | None = None
) -> Bracket:
    """Return a bracket of the distance to the nearest calibrated predictor that is a function of the predictions.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    time_limit : float, optional
        As for `calibration_distance`.

    Returns
    -------
    Bracket
        `lower` <= distance <= `upper`, whether it is exact, and the best post-processed predictions found, one per row:
        equal predictions have equal values.

    Raises
    ------
    InputError
        If a column or `time_limit` cannot be used; the message names it and its first bad row.

    See Also
    --------
    calibration_distance, lower_calibration_distance, check_predictor

    Notes
    -----
    min over functions k of one prediction, with k(f) calibrated, of E|f - k(f)|: the true distance of the domain whose
    elements are the distinct predictions with their mean outcomes. At least the true distance and at most the
    interval calibration error.
    Cost: a search, exponential in the worst case, which `time_limit` ends.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 5.2.

    Examples
    --------
    >>> from calibrant import upper_calibration_distance
    >>> bracket = upper_calibration_distance([0, 1, 1, 0], [0.4, 0.4, 0.6, 0.6])
    >>> bracket.exact, round(bracket.upper, 6), bracket.predictor.tolist()
    (True, 0.1, [0.5, 0.5, 0.5, 0.5])
    """
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    sample = Sample.from_columns(outcome, prediction, weight)
    bracket = upper_distance_from_sample(sample, time_limit=time_limit)
    assert bracket.predictor is not None
    return replace(bracket, predictor=bracket.predictor[np.searchsorted(sample.prediction, prediction)])


def check_predictor(predictor: Column, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Upper bound of the true distance from calibration that a predictor proves; any predictor proves one.

    Parameters
    ----------
    predictor : column of shape (n,)
        Any predictions, one per row.
    y_true, y_prob, sample_weight
        The domain it speaks of, as for `calibration_distance`.

    Returns
    -------
    float
        Distance from `y_prob` to the predictor that gives the rows of each level of `predictor` their mean outcome,
        rounded up by more than the arithmetic can have erred; a calibrated predictor is its own. If equal predictions
        have equal values, it bounds the upper distance as well.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    calibration_distance, upper_calibration_distance

    Notes
    -----
    Cost: a sort, then one pass.

    References
    ----------
    Computational and Statistical Hardness of Calibration Distance, 2026, Fact 1.

    Examples
    --------
    >>> from calibrant.measures import check_predictor
    >>> round(check_predictor([0.0, 0.5, 1.0, 0.5], [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 12)
    0.15
    """
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    level = as_numbers(predictor, "predictor")
    if level.shape != prediction.shape:
        raise InputError("predictor", f"has shape {level.shape} but y_prob has {prediction.shape}; they must match")
    domain = domain_of_rows(np.ones_like(prediction) if weight is None else weight, prediction, outcome)
    return cost_of_partition(domain, _levels(level))[1]
