"""Results of `find_segments`, each told once: one carries the evidence, the others what it leaves unexplained."""

from __future__ import annotations

__all__ = ["FoundSegment", "FoundSegments"]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from calibrant.door.coding import pooled
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval, as_points, at_most, confidence, in_points, in_short
from calibrant.door.values import Result, counted, known_rows
from calibrant.inference.testing.result import TestResult
from calibrant.measures.logistic import fit_logistic, inner_expit, log_odds
from calibrant.segments import catalogue as say
from calibrant.segments.candidates import FeatureLots, SegmentCandidates

_HIDDEN = 1.5  # times the mean error: the error of a part of the predictions that it hides


@dataclass(frozen=True, slots=True, repr=False)
class FoundSegment(Result):
    """One of the segments that `find_segments` lists.

    Attributes
    ----------
    conditions : tuple of str
        What holds in its rows, such as ``("country = jp", "age > 60")``; of all rows none.
    n_rows : int
        Single outcomes in it.
    base_rate, mean_prediction : float
        Weighted means of outcomes and predictions.
    bias : float
        Mean of outcome minus prediction: the size of the error.
    bias_interval : Interval
        Holds the mean over its rows of the outcome's probability minus the prediction. In all tested segments at once
        with probability 1 - level, at any number of rows. Of rows in groups nearly so, where groups are many.
    direction : str
        "too low" or "too high": predictions, where the evidence is strongest.
    where : tuple of float
        Smallest and largest prediction there; of the whole segment unless a part of it is stronger evidence.
    where_bias, where_share : float
        Mean of outcome minus prediction there, and the share of the segment's weight that lies there.
    pvalue : float
        Adjusted for all tested segments, of the hypothesis that every row of the segment has its predicted probability.
    marginal_pvalue : float
        Adjusted for all tested segments (Holm), of the weaker hypothesis that predictions are right on average in it.
    detectable : float
        Means of outcome minus prediction from here on, in either direction, are beyond noise in this segment.
    n_groups : int or None
        Groups with rows in it, where rows of one group may depend on one another; else None.
    n_unknown : int
        Rows besides, whose outcome at a horizon is not known; `n_groups` has their groups.

    See Also
    --------
    find_segments, Segment
    """

    conditions: tuple[str, ...]
    n_rows: int
    base_rate: float
    mean_prediction: float
    bias: float
    bias_interval: Interval
    direction: str
    where: tuple[float, float]
    where_bias: float
    where_share: float
    pvalue: float
    marginal_pvalue: float
    detectable: float
    n_groups: int | None = None
    n_unknown: int = 0

    @property
    def name(self) -> str:
        """Its conditions in a row."""
        return " and ".join(self.conditions) or "all rows"

    @property
    def in_part(self) -> bool:
        """Whether its error is that of a part of its predictions, which its mean error hides."""
        other = (self.bias > 0.0) != (self.direction == "too low")
        return other or self.where_share * abs(self.where_bias) > _HIDDEN * abs(self.bias)

    @property
    def off(self) -> float:
        """Size of the average error of its rows: of all, or of the part that errs."""
        return max(abs(self.bias), self.where_share * abs(self.where_bias))

    @property
    def words(self) -> str:
        """Size and direction of the error, and its place: "too high by 12 points where device = tablet"."""
        there = f"where {self.name}" if self.conditions else "over all rows"
        if not self.in_part:
            return f"{self.direction} by {in_points(in_short(abs(self.bias)))} {there}"
        low, high = self.where
        return (
            f"{self.direction} by {in_points(in_short(abs(self.where_bias)))} between {low:.3g} and {high:.3g} {there}"
        )

    def summary(self) -> str:
        """Say where, how far off in which direction, and how sure that is."""
        off = abs(self.bias)
        side = "too low" if self.bias > 0.0 else "too high"
        ends = sorted(abs(end) if side == self._side(end) else -abs(end) for end in self.bias_interval)
        shown, least, most = in_points(in_short(off)), *(as_points(in_short(end)) for end in ends)
        if not self.in_part:
            error = f"predictions are {side} by {shown} on average ({least} to {most})"
        else:
            low, high = self.where
            size = in_points(in_short(abs(self.where_bias)))
            error = say.IN_PART.format(low=low, high=high, way=self.direction, size=size, side=side, shown=shown)
        groups = "" if self.n_groups is None else f" of {counted(self.n_groups, 'group')}"
        return f"{self.name}: {error}, {known_rows(self.n_rows, self.n_unknown)}{groups}, p = {self.pvalue:.2g}"

    @staticmethod
    def _side(end: float) -> str:
        return "too low" if end > 0.0 else "too high"


@dataclass(frozen=True, repr=False)
class FoundSegments(TestResult):
    """The outcome of `find_segments`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`. The statistic is the largest evidence of any segment; the p-value is that of calibration
        in all of them. Rows predicted exactly 0 or 1 are no part of it.
    segments : tuple of FoundSegment
        Segments that are off by more than noise, the one with the strongest evidence first; segments that earlier ones
        explain are left out. At most 20.
    strongest : FoundSegment
        The segment with the strongest evidence, even if that is noise.
    n_tested, n_beyond : int
        Segments that were formed, and how many are off by more than noise, explained ones among them.
    multicalibration_error : float
        The weighted sum of outcome minus prediction, in absolute value. It is divided by the weight of all rows
        predicted strictly between 0 and 1. This is its largest value over the tested segments and ranges of predictions
        in them.
    detectable : float
        For calibrated predictions the multicalibration error is below this with probability about 1 - level.
    features : mapping of str to tuple of str
        The features, and the values that each was divided into.
    left_out : mapping of str to str
        Columns that could not be used as features, and why, if no features were named.
    max_depth, n_resamples, n_excluded : int
        Most features that a segment combines, redraws, and bad rows that were left out.
    summed : bool
        Whether rows were too many to be read, so that their sums by cell of predictions were tested, without redraws.
    n_groups : int or None
        Groups, where rows of one group may depend on one another and groups were given; else None.
    n_few_groups : int
        Combinations that are not among the tested segments, because events, or non-events, are to be expected in the
        equal of fewer than 30 groups. 0 where that is so of all rows.
    few_known : tuple of str
        Combinations that are not among them, because of too few of their rows the outcome at a horizon is known.
    weightless : tuple of str
        Combinations that are not among them, because their rows have no weight, and how many rows they have.
    n_by_bound : int
        Tested segments in which they were seen in fewer groups. Random signs say nothing there. Only a proved bound can
        name them, which takes larger errors.
    tested : ndarray of shape (n_tested, 3)
        Of all tested segments: single outcomes, mean of outcome less prediction, and adjusted p-value.
    made_of : tuple of tuple
        Of all tested segments: pairs of a feature and its value, by their numbers in `features`.

    See Also
    --------
    find_segments, Segment
    """

    _parts = "segments"
    _columns = (
        "conditions", "n_rows", "base_rate", "mean_prediction", "bias", "bias_interval_low", "bias_interval_high",
        "direction", "where_low", "where_high", "where_bias", "where_share", "pvalue", "marginal_pvalue", "detectable",
        "n_groups", "n_unknown",
    )  # fmt: skip
    segments: tuple[FoundSegment, ...]
    strongest: FoundSegment
    n_tested: int
    n_beyond: int
    multicalibration_error: float
    detectable: float
    features: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str]
    max_depth: int
    n_resamples: int
    n_excluded: int = 0
    summed: bool = False
    n_groups: int | None = None
    n_few_groups: int = 0
    n_by_bound: int = 0
    few_known: tuple[str, ...] = ()
    weightless: tuple[str, ...] = ()
    tested: FloatArray = field(default_factory=lambda: np.empty((0, 3)), compare=False, repr=False)
    made_of: tuple[tuple[tuple[int, int], ...], ...] = field(default=(), compare=False, repr=False)

    @property
    def searched(self) -> str:
        """The kind of segments, such as "combinations of up to 2 features", and whether the table was only summed."""
        most = min(self.max_depth, len(self.features))
        scope = "values of one feature" if most == 1 else f"combinations of up to {most} features"
        rare = pooled(self.features)
        scope += say.RARE.format(values=", ".join(rare)) if rare else ""
        if self.summed:
            return scope + say.SUMMED
        few = []
        if self.n_few_groups:
            few.append(f"{counted(self.n_few_groups, 'combination')} more {say.be(self.n_few_groups)} not tested")
        if self.n_by_bound:
            few.append(say.BY_BOUND.format(n=self.n_by_bound, be=say.be(self.n_by_bound)))
        scope += say.FEW_GROUPS.format(few=" and ".join(few)) if few else ""
        scope += f"; {say.few_known_in_words(self.few_known)}" if self.few_known else ""
        return f"{scope}; {say.weightless_in_words(self.weightless)}" if self.weightless else scope

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, all but `tested` and `made_of`."""
        return {name: value for name, value in TestResult.to_dict(self).items() if name not in ("tested", "made_of")}

    def summary(self) -> str:
        """A line for each segment that is off; or the smallest error that would have been seen.

        Examples
        --------
        >>> import numpy as np, pyarrow
        >>> from calibrant.segments import find_segments
        >>> rng = np.random.default_rng(0)
        >>> p, device = rng.random(2_000), rng.choice(["phone", "tablet"], 2_000)
        >>> y = rng.random(2_000) < np.where(device == "tablet", p**2, p)
        >>> table = pyarrow.table({"y": y, "p": p, "device": device})
        >>> find_segments(table, y_true="y", y_prob="p", random_state=0).segments[0].name
        'device = tablet'
        """
        tested = f"{counted(self.n_tested, 'segment')} ({self.searched})"
        if self.n_tested == 1:
            return f"{say.ALONE.format(searched=self.searched, p=self.pvalue)}{say.SURE}.{self._certain()}"
        if not self.segments:
            usual = f"{confidence(self.level)} of calibrated tables stay below {at_most(self.detectable, 2)}"
            none = say.NONE_OFF.format(tested=tested, name=self.strongest.name, p=self.strongest.pvalue)
            error = f"{self.multicalibration_error:.2g} ({usual})"
            return f"{none} Multicalibration error {error}{say.SURE}.{self._certain()}"
        off = say.OFF.format(n=self.n_beyond, tested=tested, be=say.be(self.n_beyond))
        n_listed = len(self.segments)
        few = say.explaining(n_listed, self.n_beyond) + (say.WITH_ALL_ROWS if n_listed > 1 else "")
        if not any(each.conditions for each in self.segments):
            off, few = say.NONE_DIFFERS.format(tested=tested), ""
        lines = [f"{off}{few}{say.SURE}:"]
        return "\n".join([*lines, *(f"- {each.summary()}" for each in self.segments)]) + self._certain()

    def _certain(self) -> str:
        """Rows that were predicted 0 or 1 and came out otherwise, which no test of chance can weigh."""
        return "" if self.impossible is None else f" Not among the segments: {self.impossible.summary()}"


# Segments that are told one by one.
MOST = 20
_CLIP = 1e-40
_HALF = 0.5  # an outcome, as predicted, at either end of a segment: its line stays finite where outcomes are all alike


class Scored(Protocol):
    """Evidence of segments, with what is beyond noise, and the evidence that other predictions would leave."""

    @property
    def score(self) -> FloatArray:
        """Evidence of each segment."""

    @property
    def critical(self) -> float:
        """Scores above it are beyond noise."""

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""


def explained_once(units: FeatureLots, candidates: SegmentCandidates, search: Scored, beyond: IntArray) -> list[int]:
    """Numbers of the segments that explain all of those `beyond` noise, the one with the most evidence first.

    The strongest segment is taken; its predictions are corrected by the line in their log-odds that fits it best;
    the evidence of the others is found again with the corrected predictions; and so on, until no segment's evidence
    exceeds what noise alone reaches, or `MOST` are taken.
    """
    explanations: list[int] = []
    prediction = units.prediction
    score, left = search.score[beyond], beyond
    while left.size and len(explanations) < MOST:
        best = int(np.argmax(score))
        if not score[best] > search.critical:
            break
        explanations.append(int(left[best]))
        left = np.delete(left, best)
        prediction = _corrected(units, candidates, prediction, explanations[-1])
        score = search.scored(prediction, left)
    return explanations


def _corrected(units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, segment: int) -> FloatArray:
    """Predictions with those of a segment on its best line in their log-odds."""
    first, last = candidates.ends[segment]
    rows = candidates.order[first:last]
    v, count = prediction[rows], units.count[rows]
    corrected = prediction.copy()
    corrected[rows] = Line.through(v, units.ones[rows] / count, units.weight[rows] * count)(v)
    return corrected


@dataclass(frozen=True, slots=True)
class Line:
    """A map of probabilities that is a line in their log-odds."""

    start: float
    slope: float

    def __call__(self, prediction: FloatArray) -> FloatArray:
        """Corrected predictions."""
        return inner_expit(self.start + self.slope * log_odds(prediction, _CLIP))

    @classmethod
    def through(cls, prediction: FloatArray, rate: FloatArray, mass: FloatArray) -> Line:
        """The line that fits event rates best."""
        z = log_odds(prediction, _CLIP)
        ends = np.array([z.argmin(), z.argmax()])
        score = np.concatenate([z, z[ends]])
        rate = np.concatenate([rate, prediction[ends]])
        mass = np.concatenate([mass, np.full(2, _HALF)])
        order = np.argsort(score, kind="stable")
        features = np.stack([np.ones(score.size), score])[:, order]
        start, slope = fit_logistic(features, rate[order], mass[order] / mass.sum(), np.array([0.0, 1.0]))
        return cls(float(start), float(slope))
