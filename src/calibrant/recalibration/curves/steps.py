"""Curves with steps or pieces: isotonic, histogram and scaling-binning, nearest calibrated, and Venn-Abers' ranges."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import one_of, positive_integer
from calibrant.door.columns import FloatArray
from calibrant.door.ends import at_most
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.isotonic import isotonic, with_one_more
from calibrant.measures.interval import partition_from_sample
from calibrant.recalibration.curves.base import Curve, Levels, check_ends_agree, register_map
from calibrant.recalibration.curves.formulas import PlattCurve
from calibrant.recalibration.kinds import check

Strategy = Literal["quantile", "ceil", "uniform"]


@register_map("isotonic", "isotonic regression", order=70)
class IsotonicCurve(Curve):
    """Best increasing map of the predictions, straight between its steps."""

    estimator_name = "IsotonicScaling"

    def _check_fitted(self) -> None:
        size = self.knots_.size
        check(self.values_.size == size, "values_", "must be as many as there are knots")
        check(self.values_[1:] >= self.values_[:-1], "values_", "must not decrease")
        check(self.n_steps_ <= size <= 2 * self.n_steps_, "knots_", "must be one or two a step")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        fitted, first = isotonic(levels.rate, levels.weight)
        last = np.append(first[1:], fitted.size) - 1
        at = np.unique(np.concatenate([first, last]))
        self.knots_, self.values_ = levels.prediction[at], np.clip(fitted[at], 0.0, 1.0)
        self.n_steps_ = int(first.size)

    def _map(self, prediction: FloatArray) -> FloatArray:
        if self.knots_.size == 1:
            return np.full_like(prediction, self.values_[0])
        # Not numpy.interp: its slopes overflow between knots that are the least doubles apart.
        inside = np.clip(prediction, self.knots_[0], self.knots_[-1])
        at = np.minimum(np.searchsorted(self.knots_, inside, side="right") - 1, self.knots_.size - 2)
        share = (inside - self.knots_[at]) / (self.knots_[at + 1] - self.knots_[at])
        low, high = self.values_[at], self.values_[at + 1]
        # In this form a step stays one value, to the last bit, and so does the end of the last one.
        return np.asarray(np.where(share < 1.0, np.minimum(low + share * (high - low), high), high))

    def _in_words(self) -> str:
        return (
            f"Isotonic scaling is an increasing map of {_many(self.n_steps_, 'step')}, from {self.values_[0]:.3g} at "
            f"{self.knots_[0]:.3g} to {self.values_[-1]:.3g} at {self.knots_[-1]:.3g}."
        )


class _Values(Curve):
    """A value for each interval of predictions."""

    edges_: FloatArray
    values_: FloatArray

    def _check_fitted(self) -> None:
        check_ends_agree(self.edges_, self.values_)
        super()._check_fitted()

    def _range(self) -> tuple[float, float]:
        return float(self.values_.min()), float(self.values_.max())

    def _map(self, prediction: FloatArray) -> FloatArray:
        return np.asarray(self.values_[np.searchsorted(self.edges_, prediction)])


class _Bins(_Values):
    """Intervals whose number and kind the user chooses."""

    def __init__(self, n_bins: int = 15, strategy: Strategy = "quantile") -> None:
        self.n_bins = n_bins
        self.strategy = strategy

    def _check_parameters(self) -> None:
        check_bins(self.n_bins, self.strategy)

    def _check_fitted(self) -> None:
        check(self.values_.size <= self.n_bins, "values_", f"must be at most {self.n_bins}, one per bin")
        super()._check_fitted()


@register_map("histogram", "histogram binning", order=60)
class HistogramBinningCurve(_Bins):
    """Mean outcome of the bin that a prediction falls in."""

    estimator_name = "HistogramBinning"

    def _fit(self, sample: Sample) -> None:
        self.edges_ = bin_edges(sample.prediction, sample.weight, sample.count, self.n_bins, self.strategy)
        self.values_ = bin_means(self.edges_, sample.prediction, sample.weight, sample.weighted_outcome)

    def _in_words(self) -> str:
        return (
            f"Histogram binning returns one of {_many(self.values_.size, 'value')}, from {self.values_.min():.3g} to "
            f"{self.values_.max():.3g}: the mean outcomes of {_many(self.values_.size, 'bin')}."
        )


@register_map("scaling_binning", "scaling-binning", order=50)
class ScalingBinningCurve(_Bins):
    """Scaling-binning: a smooth map is fitted, then its mean in each of a few bins is returned."""

    estimator_name = "ScalingBinning"

    def _new_scaling(self) -> Curve:
        return PlattCurve()

    def _fit(self, sample: Sample) -> None:
        self.scaling_ = self._new_scaling()
        self.scaling_._fit(sample)
        scaled, weight, count = self.scaling_._map(sample.prediction), sample.weight, sample.count
        if (scaled[1:] < scaled[:-1]).any():  # a map that is not increasing
            order = np.argsort(scaled)
            scaled, weight, count = scaled[order], weight[order], count[order]
        self.edges_ = bin_edges(scaled, weight, count, self.n_bins, self.strategy)
        self.values_ = bin_means(self.edges_, scaled, weight, weight * scaled)

    def _map(self, prediction: FloatArray) -> FloatArray:
        return super()._map(self.scaling_._map(prediction))

    def _in_words(self) -> str:
        return f"{self.scaling_._in_words()[:-1]}; then {_many(self.values_.size, 'bin')} return their means."


@register_map("nearest", "the nearest calibrated predictor", order=80)
class NearestCurve(_Values):
    """Nearest calibrated post-processing: intervals of predictions that pay for their width in calibration."""

    estimator_name = "NearestCalibrated"

    def _check_fitted(self) -> None:
        check(0.0 <= self.interval_error_ <= 1.0, "interval_error_", "must lie in [0, 1]")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        partition = partition_from_sample(sample)
        self.interval_error_ = partition.value
        self.edges_ = between(partition.last[:-1], partition.first[1:])
        self.values_ = bin_means(self.edges_, sample.prediction, sample.weight, sample.weighted_outcome)

    def _in_words(self) -> str:
        return (
            f"The nearest calibrated map pools predictions into {_many(self.values_.size, 'interval')} and moves them "
            f"by {at_most(self.interval_error_, 3)} on average at most."
        )


def check_bins(n_bins: int, strategy: Strategy) -> None:
    """Raise unless rows can be cut so."""
    positive_integer(n_bins, "n_bins")
    one_of(strategy, get_args(Strategy), "strategy")


def bin_edges(
    prediction: FloatArray, weight: FloatArray, count: FloatArray, n_bins: int, strategy: Strategy
) -> FloatArray:
    """Inner edges of bins of sorted predictions."""
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    unweighted = weight.strides == (0,) or _in_proportion(weight, count)
    if strategy == "ceil" and not unweighted:
        raise InputError("sample_weight", "was given, but strategy='ceil' counts rows; use strategy='quantile'")
    rows = count if unweighted else weight
    below = np.arange(1.0, weight.size + 1.0) if weight.strides == (0,) else np.cumsum(rows)
    total = below[-1]
    if unweighted:
        # The last row of each part, where the rows of equal predictions stand in one block.
        n = int(total)
        parts = min(n_bins, n)
        size = -(-n // parts)
        k = np.arange(1, parts)
        target = np.arange(size, n, size) if strategy == "ceil" else k * (n // parts) + np.minimum(k, n % parts)
        last = np.searchsorted(below, target)
        if strategy == "ceil":  # where ties reach into the next part, their value is the edge
            following = np.minimum(last + 1, prediction.size - 1)
            halfway = between(prediction[last], prediction[following])
            edges = np.unique(np.where(below[last] > target, prediction[last], halfway))
            return edges[edges < 1.0]
    else:
        last = np.searchsorted(below * (1.0 + 1e-12), np.arange(1, n_bins) / n_bins * total)
    last = np.unique(last)
    last = last[last < prediction.size - 1]
    return np.unique(between(prediction[last], prediction[last + 1]))


def _in_proportion(weight: FloatArray, count: FloatArray) -> bool:
    """Whether all rows weigh the same, but for rounding: a factor of all weights changes no bin."""
    return bool(np.allclose(weight * count.sum(), count * weight.sum(), rtol=1e-12, atol=0.0))


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Halfway between neighbours, never as high as the upper one."""
    middle = low + (high - low) / 2.0
    return np.where(middle < high, middle, low)


def bin_means(edges: FloatArray, prediction: FloatArray, weight: FloatArray, weighted: FloatArray) -> FloatArray:
    """Weighted mean in each bin of sorted predictions; the middle of a bin without weight."""
    cuts = np.concatenate([[0], np.searchsorted(prediction, edges, side="right")])
    mask = np.diff(np.append(cuts, prediction.size)) > 0
    mass, total = np.zeros(cuts.size), np.zeros(cuts.size)
    mass[mask] = np.add.reduceat(weight, cuts[mask])
    total[mask] = np.add.reduceat(weighted, cuts[mask])
    bounds = np.concatenate([[0.0], edges, [1.0]])
    middle = (bounds[:-1] + bounds[1:]) / 2.0
    return np.clip(np.where(mass > 0.0, total / np.where(mass > 0.0, mass, 1.0), middle), 0.0, 1.0)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@register_map("venn_abers", "Venn-Abers prediction", order=75)
class VennAbersCurve(Curve):
    """Isotonic fits with one more row, whose outcome is 0, then 1: a range that narrows with the rows."""

    estimator_name = "VennAbers"

    def _check_fitted(self) -> None:
        size = 2 * self.knots_.size + 1
        check(self.knots_.size > 0, "knots_", "must not be empty")
        for name in ("low_", "high_"):
            values = getattr(self, name)
            check(values.size == size, name, "must be two for each knot and one more")
            check(values[1:] >= values[:-1], name, "must not decrease")
        check(self.low_ < 1.0, "low_", "must be below 1")
        check(self.high_ > 0.0, "high_", "must be above 0")
        check(self.low_ <= self.high_, "low_", "must not exceed high_")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        weight = levels.mass * levels.effective_rows  # a new row weighs as much as a row does on average
        self.knots_ = levels.prediction
        low, high = (np.maximum.accumulate(with_one_more(levels.rate, weight, outcome)) for outcome in (0.0, 1.0))
        self.low_ = np.clip(low, 0.0, 1.0 - 2.0**-53)
        self.high_ = np.clip(np.maximum(low, high), 2.0**-53, 1.0)  # in order also where sums are rounded

    def ends(self, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The two fits at each prediction: at a knot, or between two, before the first or after the last."""
        index = np.searchsorted(self.knots_, prediction)
        met = (index < self.knots_.size) & (self.knots_[np.minimum(index, self.knots_.size - 1)] == prediction)
        place = 2 * index + met
        return self.low_[place], self.high_[place]

    def _map(self, prediction: FloatArray) -> FloatArray:
        low, high = self.ends(prediction)
        return np.asarray(high / (1.0 - low + high))

    def _range(self) -> tuple[float, float]:
        merged = self.high_ / (1.0 - self.low_ + self.high_)
        return float(merged.min()), float(merged.max())

    def _in_words(self) -> str:
        widest = float((self.high_ - self.low_).max())
        return f"Venn-Abers prediction gives a range for each prediction, at most {widest:.3g} wide."
