"""CORP: the isotonic reliability curve, and the exact split of a score that it gives."""

from __future__ import annotations

__all__ = ["CorpDecomposition", "corp_decomposition"]

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import one_of
from calibrant.door.columns import Column, FloatArray
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.kernels.isotonic import isotonic
from calibrant.kernels.sums import dot

Score = Literal["brier", "log"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CorpDecomposition(Result):
    """A mean score, and what it is made of: mean_score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    mean_score : float
        Mean Brier or log score; lower is better. Infinite for the log score if a prediction of 0 or 1 was wrong.
    miscalibration : float
        What recalibrating by the best increasing map would save, at least 0.
    discrimination : float
        What the recalibrated predictions save over the base rate, at least 0.
    uncertainty : float
        The score of the base rate.
    prediction : ndarray of shape (m,)
        Distinct predictions that carry weight, increasing.
    recalibrated : ndarray of shape (m,)
        The isotonic reliability curve there.
    mass : ndarray of shape (m,)
        Share of the weight.

    See Also
    --------
    corp_decomposition, CorpRegions
    """

    mean_score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    prediction: FloatArray
    recalibrated: FloatArray
    mass: FloatArray

    def summary(self) -> str:
        """Say what the score is made of."""
        return (
            f"Mean score {self.mean_score:.6g}: miscalibration costs {self.miscalibration:.6g}, discrimination gains "
            f"{self.discrimination:.6g}, and the base rate alone scores {self.uncertainty:.6g}."
        )


def corp_decomposition(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, score: Score = "brier"
) -> CorpDecomposition:
    """Split a score into what miscalibration costs, what discrimination gains, and the uncertainty of the outcomes.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1]: the score of a rate is that of its share of ones and zeros.
    y_prob, sample_weight
        As for `smooth_calibration_error`.
    score : {"brier", "log"}
        Squared error, or minus the logarithm of the probability given to what happened.

    Returns
    -------
    CorpDecomposition
        mean_score equals miscalibration - discrimination + uncertainty, to 1e-12 where it is finite.

    Raises
    ------
    InputError
        If a column or `score` cannot be used; the message names it and what is allowed.

    See Also
    --------
    corp_regions, squared_calibration_error

    Notes
    -----
    The parts are differences of the mean scores of the predictions, of their isotonic recalibration and of the base
    rate. There are no bins and nothing to tune. In a small sample the isotonic map follows noise, so that
    miscalibration is above zero for calibrated predictions too. Cost: a sort, then O(m).

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, "Stable reliability diagrams for probabilistic classifiers", PNAS 2021.

    Examples
    --------
    >>> from calibrant import corp_decomposition
    >>> parts = corp_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8])
    >>> [round(x, 3) for x in (parts.mean_score, parts.miscalibration, parts.discrimination, parts.uncertainty)]
    [0.2, 0.075, 0.125, 0.25]
    >>> parts.recalibrated.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    one_of(score, get_args(Score), "score")
    return corp_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), score)


def corp_from_sample(sample: Sample, score: Score = "brier") -> CorpDecomposition:
    """`corp_decomposition` of a sample."""
    weight, prediction, events = sample.weight, sample.prediction, sample.weighted_outcome
    mask = sample.mass() > 0.0  # a weight may be too small to have a share
    if not mask.all():
        weight, prediction, events = weight[mask], prediction[mask], events[mask]
    rate = np.clip(events / weight, 0.0, 1.0)
    mass = weight / weight.sum()
    fitted, steps = isotonic(rate, weight)
    predicted = dot(mass, _score(rate, prediction, score))
    recalibrated = _entropy(np.add.reduceat(mass * rate, steps), np.add.reduceat(mass * (1.0 - rate), steps), score)
    known = _entropy((mass * rate).sum(keepdims=True), (mass * (1.0 - rate)).sum(keepdims=True), score)
    return CorpDecomposition(
        mean_score=predicted,
        miscalibration=max(predicted - recalibrated, 0.0),  # below zero by rounding only
        discrimination=max(known - recalibrated, 0.0),
        uncertainty=known,
        prediction=prediction,
        recalibrated=np.clip(fitted, 0.0, 1.0),
        mass=mass,
    )


def _score(rate: FloatArray, prediction: FloatArray, score: Score) -> FloatArray:
    """Mean score of ones and zeros in proportion to the rate."""
    if score == "brier":
        return rate * (1.0 - prediction) ** 2 + (1.0 - rate) * prediction**2
    from calibrant.door.special import xlog1py, xlogy

    return np.asarray(-xlogy(rate, prediction) - xlog1py(1.0 - rate, -prediction))


def _entropy(ones: FloatArray, zeros: FloatArray, score: Score) -> float:
    """Score of predicting the mean outcome in each group, from the masses of its ones and of its zeros.

    Not from the mean: one that is rounded to 1 would make the few zeros beside it infinitely surprising.
    """
    total = ones + zeros
    if score == "brier":
        return float((ones / total * zeros).sum())
    from calibrant.door.special import xlogy

    return float(-(xlogy(ones, ones / total) + xlogy(zeros, zeros / total)).sum())


def auc_from_sample(sample: Sample) -> float | None:
    """Probability that a row with the event has a higher prediction than one without; ties count half.

    None where there is one outcome only. O(n), once sorted.
    """
    events = sample.weighted_outcome
    none = sample.weight - events
    both = float(events.sum()) * float(none.sum())
    if not both > 0.0:
        return None
    below = none.cumsum() - 0.5 * none
    return min(1.0, max(0.0, dot(events, below) / both))
