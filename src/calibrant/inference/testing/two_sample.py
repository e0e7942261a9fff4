"""Calibration as a question about two samples: predictions where the event happened, and where it should have."""

from __future__ import annotations

__all__ = ["TwoSampleResult", "two_sample_calibration_test"]

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import RandomState, check_level, check_number, generator, one_of, positive
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, dimensions
from calibrant.inference.testing.result import TestResult, impossible_rows, register_test
from calibrant.inference.testing.tcal import OrderedRows, class_rows, event_rows
from calibrant.kernels.tcal import BITS
from calibrant.kernels.two_sample import crossed_statistics, permuted_statistics
from calibrant.resampling.redraw import pvalues_among, running_shares
from calibrant.threads import in_blocks

TwoSampleTest = Literal["multiscale_permutation", "permutation", "chi_squared"]


@dataclass(frozen=True, repr=False)
class TwoSampleResult(TestResult):
    """The outcome of `two_sample_calibration_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible
        As in `TestResult`; the statistic is the two-sample statistic with the smallest p-value.
    two_sample_pvalues : tuple of float
        One for each class, over its scales; 1 where a sample is too small to compare.
    mean_pvalues, product_pvalues : tuple of float
        Chebyshev's bounds for the means of y - z and of z (y - z), one for each class.
    class_scales : tuple of tuple of int
        Bins per unit, for each class.
    n_resamples : int
        Permutations, or redrawn labels with cross-fitting, behind each two-sample p-value.

    See Also
    --------
    two_sample_calibration_test
    """

    two_sample_pvalues: tuple[float, ...]
    mean_pvalues: tuple[float, ...]
    product_pvalues: tuple[float, ...]
    class_scales: tuple[tuple[int, ...], ...]
    n_resamples: int


@register_test(
    proof="the predictions are miscalibrated.",
    limits="have the power of tcal_test: half of the rows stand in for the labels.",
    promise="level exact",
    source="T-Cal, Algorithm 3, Theorem 12, Appendix C.4.",
    order=140,
    admits=(),
)
def two_sample_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    test: TwoSampleTest = "multiscale_permutation",
    smoothness: float | None = None,
    cross_fit: bool = False,
    level: float = 0.05,
    n_resamples: int = 3000,
    random_state: RandomState = None,
) -> TwoSampleResult:
    """Test whether predictions where an event happened look like predictions where it was drawn from them.

    Parameters
    ----------
    y_true : array-like of shape (n,), or (n, K) one-hot
        Outcomes, each 0 or 1; with K classes, labels 0 to K - 1 or one-hot rows.
    y_prob : array-like of shape (n,) or (n, K)
        Predicted probabilities of the event, or of each class.
    test : {"multiscale_permutation", "permutation", "chi_squared"}
        How two samples are compared: a U-statistic at 2, 4, ..., 2^B bins per unit. The same at the number of bins that
        `smoothness` fixes; or the unnormalised chi-squared statistic there. All take critical values by permutation.
    smoothness : float, optional
        Hölder smoothness s; needed by all but the multi-scale test, which must not have it.
    cross_fit : bool, default False
        Let the halves swap roles and average both statistics (U-statistics only). Critical values then come from
        labels redrawn from the predictions, the generated labels held.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 3000
        Permutations for each class. 999 could not reject: a p-value is multiplied by 3 K and by the number of scales.
        That takes 1,600 and more even at a hundred rows.
    random_state : int, numpy.random.Generator or None
        Seeds the halves, the generated labels and the permutations; the result does not depend on the order of rows or
        the number of threads.

    Returns
    -------
    TwoSampleResult
        With ``statistic``, ``pvalue``, ``reject``, ``level``, ``method``, and the parts of Algorithm 3.

    Raises
    ------
    InputError
        If the columns cannot be used, no class has two samples large enough, or there are too few resamples to reject.

    See Also
    --------
    tcal_test

    Notes
    -----
    Rows are halved at random. Where class k happened in the first half, the predictions form one sample. Where it is
    drawn from the prediction in the second half, the other. Both have one law if the predictions are calibrated. The
    rest of the alternatives shows in the means of y - z or z (y - z), which Chebyshev's inequality tests. Each of the 3
    K tests has level / (3 K).

    Half the rows stand in for the labels, so this has less power than `tcal_test`; it is here for the theory and for
    comparison. The paper leaves a constant of the chi-squared critical value open, so permutations are used. Cost: O(n
    log n) and O(n B) per resample.

    References
    ----------
    T-Cal, Algorithm 3, Theorem 12, Corollary 13, Appendices B.2 and C.4. I. Kim, S. Balakrishnan and L. Wasserman,
    "Minimax optimality of permutation tests", Annals of Statistics 50 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import two_sample_calibration_test
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(1000)
    >>> y_true = rng.random(1000) < y_prob
    >>> two_sample_calibration_test(y_true, y_prob, random_state=0).reject
    False
    >>> two_sample_calibration_test(y_true, 1 - y_prob, random_state=0).reject
    True
    """
    rows = Rows.of(y_true, y_prob) if dimensions(y_prob) == 1 else multiclass_sample(y_true, y_prob)
    result = _two_sample(*_in_one_order(rows), test, smoothness, cross_fit, level, n_resamples, random_state)
    return replace(result, impossible=impossible_rows(rows)) if isinstance(rows, Rows) else result


def _two_sample(
    label: IntArray,
    prediction: FloatArray,
    test: TwoSampleTest,
    smoothness: float | None,
    cross_fit: bool,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> TwoSampleResult:
    one_of(test, get_args(TwoSampleTest), "test")
    level = check_level(level)
    check_number(n_resamples)
    if (smoothness is None) != (test == "multiscale_permutation"):
        raise InputError("smoothness", "is for test='permutation' and 'chi_squared', which need it, and for no other")
    if smoothness is not None:
        positive(smoothness, "smoothness")
    if cross_fit and test == "chi_squared":
        raise InputError("cross_fit", "averages U-statistics; use test='permutation' or 'multiscale_permutation'")
    rng = generator(random_state)
    n = label.size
    table = prediction if prediction.ndim == 2 else np.column_stack([1.0 - prediction, prediction])
    n_classes = table.shape[1]

    half = np.zeros(n, dtype=np.int64)
    half[rng.permutation(n)[n // 2 :]] = 1
    labels = (rng.random(n)[:, None] >= running_shares(table)[:, :-1]).sum(axis=1)
    statistics, pvalues, means, products, scales = [], [], [], [], []
    for k in range(n_classes):
        residual = (label == k) - table[:, k]
        means.append(_chebyshev(residual))
        products.append(_chebyshev(table[:, k] * residual))
        sides = _Sides((label == k).astype(np.int64), (labels == k).astype(np.int64), half, table[:, k])
        seed = rng.integers(2**64, dtype=np.uint64)
        comparison = _compare(sides, prediction, smoothness, test, cross_fit, int(n_resamples), seed)
        scales.append(comparison.scales)
        statistics.append(comparison.statistic)
        pvalues.append(comparison.pvalue)
    if not any(scales):
        raise InputError("y_prob", f"has too few rows ({n:,}): no class leaves two samples that fill two bins")
    parts = 3 * n_classes
    least = math.ceil(max(map(len, scales)) * parts / level) - 1
    if n_resamples < least:
        raise InputError(
            "n_resamples",
            f"is {n_resamples:,}; with {parts} tests and {max(map(len, scales))} scales, a p-value can only reach "
            f"level {level:g} with at least {least:,} resamples",
        )
    pvalue = min(1.0, parts * min(pvalues + means + products))
    return TwoSampleResult(
        statistic=statistics[int(np.argmin(pvalues))],
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=f"two-sample reduction ({test.replace('_', ' ')}{', cross-fitted' if cross_fit else ''})",
        two_sample_pvalues=tuple(pvalues),
        mean_pvalues=tuple(means),
        product_pvalues=tuple(products),
        class_scales=tuple(scales),
        n_resamples=int(n_resamples),
    )


@dataclass(frozen=True)
class _Sides:
    """For one class and each row: whether it happened, whether it was drawn, the half, and its probability."""

    happened: IntArray
    drawn: IntArray
    half: IntArray
    probability: FloatArray

    def take(self, rows: npt.NDArray[np.intp]) -> _Sides:
        return _Sides(self.happened[rows], self.drawn[rows], self.half[rows], self.probability[rows])


@dataclass(frozen=True)
class _Found:
    statistic: float
    pvalue: float
    scales: tuple[int, ...]


def _in_one_order(rows: Rows | MulticlassSample) -> tuple[IntArray, FloatArray]:
    """Labels and predictions sorted, so that the order in which rows came cannot matter."""
    keys = rows.y_prob.T[::-1] if rows.y_prob.ndim == 2 else (rows.y_prob,)
    order = np.lexsort((rows.y_true, *keys))
    return rows.y_true[order], np.ascontiguousarray(rows.y_prob)[order]


def _chebyshev(values: FloatArray) -> float:
    """Bound for a mean of terms with mean 0 and variance at most 1, were the predictions calibrated."""
    evidence = values.size * float(values.mean()) ** 2
    return 1.0 if evidence <= 1.0 else 1.0 / evidence


def _compare(
    sides: _Sides,
    prediction: FloatArray,
    smoothness: float | None,
    test: str,
    cross_fit: bool,
    n_resamples: int,
    seed: np.uint64,
) -> _Found:
    """Compare one class's two samples; the bins depend on nothing that resampling changes."""
    if cross_fit:
        index = np.arange(sides.half.size)
        smaller = min(int(sides.drawn[sides.half == side].sum()) for side in (0, 1))
    else:
        index = np.flatnonzero(np.where(sides.half == 0, sides.happened, sides.drawn))
        in_w = int(sides.half[index].sum())
        smaller = min(in_w, index.size - in_w)
    dimension = prediction.shape[1] - 1 if prediction.ndim == 2 else 1
    scales = _scales(smaller, dimension, smoothness)
    if not scales:
        return _Found(0.0, 1.0, ())
    rows, order = _ordered(prediction[index], scales)
    sides = sides.take(index[order])
    out = np.empty((1 + n_resamples, len(scales)))
    if cross_fit:
        threshold = np.zeros((order.size, 2), dtype=np.int64)
        threshold[:, 1] = np.ceil(sides.probability * 2.0**BITS)

        def fill(first: int, last: int) -> None:
            crossed_statistics(
                sides.happened, sides.drawn, sides.half, threshold, rows.gap, seed, first, out[first:last]
            )
    else:

        def fill(first: int, last: int) -> None:
            permuted_statistics(1 - sides.half, rows.gap, test != "chi_squared", seed, first, out[first:last])

    in_blocks(fill, 1 + n_resamples, work=order.size * n_resamples)
    pvalues = pvalues_among(out[0], out[1:])
    best = int(np.argmin(pvalues))
    return _Found(float(out[0, best]), min(1.0, len(scales) * float(pvalues[best])), scales)


def _scales(smaller: int, dimension: int, smoothness: float | None) -> tuple[int, ...]:
    """Bins per unit, by the rows of the smaller sample; none where these are too few."""
    if smaller < 3:  # log log 2 is negative
        return ()
    if smoothness is not None:
        m = int(float(smaller) ** (2.0 / (4.0 * smoothness + dimension)))
        return (m,) if m >= 2 else ()
    b = math.ceil(2.0 / dimension * math.log2(smaller / math.log(math.log(smaller))))
    return tuple(2**k for k in range(1, b + 1))


def _ordered(prediction: FloatArray, scales: tuple[int, ...]) -> tuple[OrderedRows, npt.NDArray[np.intp]]:
    """Rows with the cells together, and the order in which that puts them."""
    index = np.arange(prediction.shape[0])
    if prediction.ndim == 2:
        rows = class_rows(index, prediction, scales)
        return rows, rows.label
    rows = event_rows(index + 1, prediction, scales)
    return rows, rows.label
