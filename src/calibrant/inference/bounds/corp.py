"""Regions around the isotonic reliability curve: where a calibrated one would be, and where the truth can be."""

from __future__ import annotations

__all__ = ["CorpRegions", "corp_regions"]

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.door.rows import OUTCOME_FREE, Rows, not_taken
from calibrant.door.sample import Sample
from calibrant.door.special import betaincinv
from calibrant.door.values import Result
from calibrant.kernels.isotonic import isotonic
from calibrant.resampling.redraw import Redraws, resampled

_GROUPS = 160  # ends of the intervals that bound the truth; pairs of them grow with the square


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CorpRegions(Result):
    """The isotonic reliability curve with its two regions, at up to 320 predictions.

    Attributes
    ----------
    prediction : ndarray of shape (g,)
        Where the rest is given, in increasing order.
    recalibrated : ndarray of shape (g,)
        Isotonic estimate of the event's frequency there.
    consistency_lower, consistency_upper : ndarray of shape (g,)
        If the predictions were calibrated, the estimate would lie between these at each point with probability 1 -
        level.
    confidence_lower, confidence_upper : ndarray of shape (g,)
        If the true frequency does not decrease, it lies between these at all points with probability 1 - level.
    level : float
        Of both regions.

    See Also
    --------
    corp_regions, CorpDecomposition
    """

    prediction: FloatArray
    recalibrated: FloatArray
    consistency_lower: FloatArray
    consistency_upper: FloatArray
    confidence_lower: FloatArray
    confidence_upper: FloatArray
    level: float

    def summary(self) -> str:
        """Say whether the truth can be calibrated."""
        out = (self.prediction < self.confidence_lower) | (self.confidence_upper < self.prediction)
        claim = (
            f"miscalibrated: at {int(out.sum()):,} of {out.size:,} predictions the true frequency is another"
            if out.any()
            else f"no miscalibration found at {out.size:,} predictions"
        )
        return f"{claim} ({confidence(self.level)} confidence, if the frequency does not decrease)"


def corp_regions(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> CorpRegions:
    """Return the consistency and the confidence region of the isotonic reliability curve.

    Parameters
    ----------
    y_true, y_prob
        As for `smooth_calibration_test`.
    sample_weight, trials, outcome_free_weights
        As for `smooth_calibration_test`; weights that may tell outcomes in a way that is not known are refused.
    groups : optional
        Refused: the confidence region needs binomial numbers of events.
    level : float, default 0.05
        Probability outside; pointwise for the consistency region, of any point for the confidence region.
    n_resamples : int, default 999
        Redrawn sets of outcomes behind the consistency region.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    CorpRegions
        Both regions and the curve.

    Raises
    ------
    InputError
        If a column or option cannot be used, or there are too few resamples for the level.

    See Also
    --------
    corp_decomposition, ReliabilityDisplay

    Notes
    -----
    Consistency: outcomes are redrawn with the predictions as probabilities, and the isotonic fit repeated. Confidence:
    up to 160 groups of predictions, and every interval between their ends. Each has exact binomial bounds
    (Clopper-Pearson) at the level over twice the number of intervals. If the event rate does not decrease, no row of an
    interval has a higher one than its right end. So the interval's lower bound holds from there on. Its upper bound
    holds up to its left end. It is valid at any number of rows. Weights that say nothing of outcomes change the curve
    and the consistency region, not these bounds. Of rows that were sampled by outcome both regions are those of the
    file, turned into the population's chances (docs/weights.md). Cost: a sort, then an isotonic fit per resample, and
    some 25,000 binomial bounds.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, Stable reliability diagrams for probabilistic classifiers, PNAS 2021.
    T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke and J. Ziegel, Honest calibration assessment for binary outcome
    predictions, Biometrika 110, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import corp_regions
    >>> y_prob = np.linspace(0, 1, 2000)
    >>> y_true = np.random.default_rng(0).random(2000) < y_prob
    >>> found = corp_regions(y_true, y_prob, random_state=0)
    >>> bool(((found.confidence_lower <= found.prediction) & (found.prediction <= found.confidence_upper)).all())
    True
    """
    why = "the region of the truth rests on binomial numbers of events, which dependent outcomes do not have"
    not_taken(f"{why}; calibration_test takes groups", groups=groups)
    rows = Rows.of(y_true, y_prob, sample_weight, trials, None, outcome_free_weights)
    return corp_regions_on_rows(rows, level=level, n_resamples=n_resamples, random_state=random_state)


def corp_regions_on_rows(rows: Rows, *, level: float, n_resamples: int, random_state: RandomState) -> CorpRegions:
    """`corp_regions` of rows that were read already."""
    if rows.jointly:
        problem = "may tell outcomes, and the region of the truth rests on binomial numbers of events"
        raise InputError("sample_weight", problem, allowed=OUTCOME_FREE)
    if rows.fractions is not None:
        in_file = corp_regions_on_rows(rows.tested, level=level, n_resamples=n_resamples, random_state=random_state)
        turned = {each.name: getattr(in_file, each.name) for each in fields(in_file)}
        level = turned.pop("level")
        return CorpRegions(
            **{name: rows.fractions.chance_in_population(each) for name, each in turned.items()}, level=level
        )
    rows = rows.tested
    sample, level = rows.sample, check_level(level)
    check_resamples(n_resamples, level, share=0.5)
    v, mass = sample.prediction, sample.weight
    starts = _group_starts(sample.count)
    ends = np.append(starts[1:], v.size) - 1
    at = np.unique(np.concatenate([starts, ends]))  # indices of distinct predictions
    redraws = Redraws.of(rows)
    first = redraws.first

    def refit(rng: np.random.Generator) -> FloatArray:
        rate = v + np.add.reduceat(redraws.again(rng), first) / mass
        return np.asarray(isotonic(rate, mass)[0][at])

    curves = np.sort(resampled(refit, v.size, n_resamples, random_state), axis=0)
    rank = int(np.floor(0.5 * level * (n_resamples + 1) + 1e-9))
    fitted = np.clip(isotonic(sample.weighted_outcome / mass, mass)[0], 0.0, 1.0)
    lower, upper = _confidence(sample, starts, level)
    place = np.searchsorted(ends, at)  # the group that each point is in
    ended = np.where(ends[place] == at, place, place - 1)  # the last group that has ended there
    begun = np.where(starts[place] == at, place, place + 1)
    return CorpRegions(
        prediction=v[at],
        recalibrated=fitted[at],
        consistency_lower=np.clip(curves[rank - 1], 0.0, 1.0),
        consistency_upper=np.clip(curves[-rank], 0.0, 1.0),
        confidence_lower=np.concatenate([[0.0], lower])[ended + 1],
        confidence_upper=np.concatenate([upper, [1.0]])[begun],
        level=level,
    )


def _group_starts(count: FloatArray) -> np.ndarray:
    """Return the first of each group: predictions share one if their middle rows are in the same 160th of the rows.

    A prediction of more than two 160ths is a group by itself, wherever it lies.
    """
    if count.size <= _GROUPS:
        return np.arange(count.size)
    middle = count.cumsum() - 0.5 * count
    part = np.floor(_GROUPS * middle / count.sum())
    return np.flatnonzero(np.diff(part, prepend=-1.0))


def _confidence(sample: Sample, starts: np.ndarray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower bound from the end of each group on, and upper bound up to the beginning of each group."""
    rows = np.concatenate([[0.0], np.add.reduceat(sample.count, starts).cumsum()])
    ones = np.concatenate([[0.0], np.add.reduceat(sample.ones, starts).cumsum()])
    first, last = np.triu_indices(starts.size)
    n, k = rows[last + 1] - rows[first], ones[last + 1] - ones[first]
    tail = level / (2.0 * first.size)
    low = np.where(k > 0.0, betaincinv(np.maximum(k, 0.5), n - k + 1.0, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 0.5), 1.0 - tail), 1.0)
    lower, upper = np.zeros(starts.size), np.ones(starts.size)
    np.maximum.at(lower, last, low)
    np.minimum.at(upper, first, high)
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
