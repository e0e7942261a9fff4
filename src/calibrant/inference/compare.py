"""Two predictors of the same outcomes: which is nearer to calibrated, and could the difference be chance?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.errors import InputError
from calibrant.inference.arguments import IntArray, RandomState, check_level, read_binary
from calibrant.inference.bounds import Interval, Moments
from calibrant.inference.resampling import check_resamples, resampled
from calibrant.inference.result import TestResult
from calibrant.inputs import Column, FloatArray
from calibrant.kernels import pairs
from calibrant.measures.parameters import one_of
from calibrant.measures.smooth import largest_correlation
from calibrant.sample import Sample

_SHARE = 0.5  # of the error found that a resample's supremum is tied to; less is wider, more is less honest near 0
_SURE = 0.99  # of the lower end that the share is measured from
_BINS = 15
_LOGS = (0.0, 700.0)

Norm = Callable[[FloatArray], float]
"""Takes a value for each row, about a residual over the number of rows."""


@dataclass(frozen=True)
class ComparisonResult(TestResult):
    """The outcome of `compare_calibration`.

    Attributes
    ----------
    statistic : float
        Error of the first predictor less that of the second; negative where the first is the better calibrated.
    pvalue, reject, level, method
        As in `TestResult`, of "the two errors are equal".
    interval : tuple of float
        Holds the population's difference with probability 1 - level.
    value_a, value_b : float
        The two errors on these rows.
    guaranteed : bool
        Whether interval and p-value hold at any number of rows, or in large samples.
    """

    interval: Interval
    value_a: float
    value_b: float
    guaranteed: bool

    def summary(self) -> str:
        """One sentence.

        Examples
        --------
        >>> words = "smooth calibration error"
        >>> result = ComparisonResult(-0.06, 0.001, True, 0.05, words, (-0.08, -0.04), 0.02, 0.08, False)
        >>> result.summary()[:76]
        'the first is better calibrated: smooth calibration error 0.0200 against 0.08'
        """
        better = "first" if self.statistic < 0.0 else "second"
        said = f"the {better} is better calibrated" if self.reject else "neither is proved better calibrated"
        low, high = self.interval
        return (
            f"{said}: {self.method} {self.value_a:.4f} against {self.value_b:.4f}, a difference between {low:.4f} and "
            f"{high:.4f} with {100.0 * (1.0 - self.level):.4g}% confidence (p = {self.pvalue:.2g})"
        )


def compare_calibration(
    y_true: Column,
    y_prob_a: Column,
    y_prob_b: Column,
    *,
    measure: str = "smooth_calibration_error",
    level: float = 0.05,
    n_resamples: int = 999,
    random_state: RandomState = None,
) -> ComparisonResult:
    """Say which of two predictors is better calibrated on the population, from the same rows.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob_a, y_prob_b : column of shape (n,)
        The two predictors' probabilities for the same rows.
    measure : {"smooth_calibration_error", "kernel_calibration_error", "expected_calibration_error", \
"lower_calibration_distance"}
        What is compared; the kernel is Laplace's of bandwidth 1, the binned error has 15 bins of equal width.
    level : float, default 0.05
        Largest probability that the interval misses the population's difference.
    n_resamples : int, default 999
        Resamples; none are drawn for the lower distance.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, whatever the number of threads and the order of the rows.

    Returns
    -------
    ComparisonResult
        The difference, its interval, and a p-value for "no difference".

    Raises
    ------
    InputError
        If a column or option cannot be used, or there are too few resamples for the level.

    Notes
    -----
    An error is biased upwards near 0, and a plain bootstrap misses the truth there. The first three measures are norms
    N of the residuals r, so a resample h of their noise (rows weighted by normal multipliers, the same ones for both)
    bounds the noise of N(r) between N(r) - N(r - h) and N(r/2 + h) - N_low/2, with N_low a 99% lower bound; the
    interval takes the unfavourable ends of both. It is asymptotic, and errs towards caution: measured coverage in
    docs/tests.md. For the lower distance the margins of `population_bounds` are added up: valid at any n, and wider.
    Cost: six passes a resample.

    References
    ----------
    T-Cal, Section 6 (comparison of predictors is its first open direction). Fang and Santos, Inference on directionally
    differentiable functions, Review of Economic Studies 86, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import compare_calibration
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> result = compare_calibration(rng.random(2000) < y_prob, y_prob, y_prob**2, random_state=0)
    >>> result.reject, result.statistic < 0
    (True, True)
    """
    one_of(measure, (*_NORMS, "lower_calibration_distance"), "measure")
    level = check_level(level)
    label, first = _read(y_true, y_prob_a, "y_prob_a")
    _, second = _read(y_true, y_prob_b, "y_prob_b")
    order = np.lexsort((label, second, first))
    y = label[order].astype(np.float64)
    both = (first[order], second[order])
    words = measure.replace("_", " ")
    if measure == "lower_calibration_distance":
        return _by_margins(y, both, level, words)
    check_resamples(n_resamples, level, tails=2)
    residual = tuple((y - v) / y.size for v in both)
    norm = tuple(_NORMS[measure](v) for v in both)
    value = tuple(n(r) for n, r in zip(norm, residual, strict=True))

    def noise(rng: np.random.Generator) -> tuple[tuple[float, float, float], ...]:
        multiplier = rng.standard_normal(y.size)
        multiplier -= multiplier.mean()
        return tuple(_ends(n, r, multiplier * r) for n, r in zip(norm, residual, strict=True))

    drawn = resampled(noise, y.size, n_resamples, random_state)  # resample, predictor, (size, plus, minus)
    size, plus, minus = drawn[..., 0], drawn[..., 1], drawn[..., 2]
    low = np.maximum(0.0, np.array(value) - np.quantile(size, _SURE, axis=0))
    most, least = plus - _SHARE * low, np.array(value) - minus
    above, below = np.sort(most[:, 0] - least[:, 1]), np.sort(least[:, 0] - most[:, 1])
    difference = value[0] - value[1]
    rank = math.floor(0.5 * level * (n_resamples + 1) + 1e-9)  # from the end
    tails = (above >= difference).sum(), (below <= difference).sum()
    pvalue = min(1.0, 2.0 * (1.0 + float(min(tails))) / (1.0 + n_resamples))
    interval = (float(difference - above[-rank]), float(difference - below[rank - 1]))
    return ComparisonResult(difference, pvalue, pvalue <= level, level, words, interval, value[0], value[1], False)


def _read(y_true: Column, y_prob: Column, name: str) -> tuple[IntArray, FloatArray]:
    try:
        return read_binary(y_true, y_prob)
    except InputError as problem:
        if problem.argument != "y_prob":
            raise
        raise InputError(name, str(problem).partition(": ")[2], row=problem.row) from None


def _ends(norm: Norm, residual: FloatArray, noise: FloatArray) -> tuple[float, float, float]:
    return norm(noise), norm(_SHARE * residual + noise), norm(residual - noise)


def _by_margins(y: FloatArray, both: tuple[FloatArray, ...], level: float, words: str) -> ComparisonResult:
    """Distances whose margins hold at any number of rows; four moments and four sides."""
    samples = [Sample.from_columns(y, v) for v in both]
    moments = [Moments.of(sample) for sample in samples]
    brackets = [m.sample_distance(sample) for m, sample in zip(moments, samples, strict=True)]
    value_a, value_b = (high for _, high in brackets)

    def margin(log: float) -> float:
        return sum(m.distance_margin(log) + high - low for m, (low, high) in zip(moments, brackets, strict=True))

    difference, around = value_a - value_b, margin(math.log(8.0 / level))
    few, many = _LOGS
    while many - few > 1e-9:  # the largest log whose margin leaves 0 out
        middle = 0.5 * (few + many)
        few, many = (middle, many) if margin(middle) < abs(difference) else (few, middle)
    pvalue = min(1.0, 8.0 * math.exp(-few))
    interval = (max(-1.0, difference - around), min(1.0, difference + around))
    return ComparisonResult(
        difference, pvalue, abs(difference) > around, level, words, interval, value_a, value_b, guaranteed=True
    )


def _smooth(v: FloatArray) -> Norm:
    distinct, at = np.unique(v, return_inverse=True)
    return lambda x: largest_correlation(distinct, _sums(at, x, distinct.size))


def _kernel(v: FloatArray) -> Norm:
    distinct, at = np.unique(v, return_inverse=True)
    return lambda x: math.sqrt(max(0.0, pairs.laplace(distinct, _sums(at, x, distinct.size), 1.0)))


def _binned(v: FloatArray) -> Norm:
    # Bins as `expected_calibration_error` has them: closed on the right, the first also on the left.
    at = np.maximum(np.searchsorted(np.linspace(0.0, 1.0, _BINS + 1), v, side="left") - 1, 0)
    return lambda x: float(np.abs(_sums(at, x, _BINS)).sum())


def _sums(at: IntArray, x: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(at, x, size), dtype=np.float64)


_NORMS: dict[str, Callable[[FloatArray], Norm]] = {
    "smooth_calibration_error": _smooth,
    "kernel_calibration_error": _kernel,
    "expected_calibration_error": _binned,
}
