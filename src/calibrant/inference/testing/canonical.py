"""A test of canonical calibration of K classes, exact at any sample size: labels are drawn again."""

from __future__ import annotations

__all__ = ["canonical_kernel_test"]

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column
from calibrant.inference.testing.registry import register_test
from calibrant.inference.testing.result import TestResult
from calibrant.kernels.canonical import draw_labels, paired_sum
from calibrant.measures.kernel import paired
from calibrant.resampling.redraw import pvalue_among, resampled, running_shares


@register_test(
    proof="the vectors of class probabilities are miscalibrated.",
    limits="have much power with many classes.",
    source="D. Widmann et al., 2019; T-Cal, Section 2.",
    order=60,
    admits=(),
    of_classes=True,
)
def canonical_kernel_test(
    y_true: Column,
    y_prob: Column,
    *,
    bandwidth: float = 1.0,
    block_size: int = 16,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> TestResult:
    """Test whether whole vectors of class probabilities are the frequencies of the classes, by their kernel error.

    Parameters
    ----------
    y_true : column of shape (n,), or (n, K) one-hot
        Labels, as `multiclass_sample` takes them.
    y_prob : table of shape (n, K)
        Class probabilities, rows adding up to 1.
    bandwidth : float, default 1.0
        As for `squared_canonical_kernel_error`.
    block_size : int, default 16
        As for `squared_canonical_kernel_error`; larger blocks have more power.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of labels.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    TestResult
        The statistic is `squared_canonical_kernel_error`.

    Raises
    ------
    InputError
        If a table or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    squared_canonical_kernel_error, tcal_test

    Notes
    -----
    Labels redrawn from the rows' own probabilities have the distribution of the null hypothesis, so the p-value is
    exact at any n. The pairs of rows are drawn once and kept. Cost: O(n K block_size), then O(n block_size) per
    resample.

    References
    ----------
    D. Widmann, F. Lindsten and D. Zachariah, Calibration tests in multi-class classification: a unifying framework,
    NeurIPS 2019. T-Cal, Section 2 (full calibration).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import canonical_kernel_test
    >>> table = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    >>> canonical_kernel_test(np.zeros(500, int), table, random_state=0).reject
    True
    """
    return canonical_kernel_test_on_classes(
        multiclass_sample(y_true, y_prob),
        bandwidth=bandwidth,
        block_size=block_size,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def canonical_kernel_test_on_classes(
    sample: MulticlassSample,
    *,
    bandwidth: float = 1.0,
    block_size: int = 16,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> TestResult:
    """`canonical_kernel_test` of classes that were read already."""
    level = check_level(level)
    check_resamples(n_resamples, level)
    rng = generator(random_state)
    label, table, pairs = paired(sample, bandwidth, block_size, rng)
    cumulative = running_shares(table)

    def redrawn(source: np.random.Generator) -> float:
        other = np.empty_like(label)
        draw_labels(cumulative, source.random(label.size), other)
        return paired_sum(other, table, *pairs)

    observed = paired_sum(label, table, *pairs)
    draws = resampled(redrawn, pairs[0].size, n_resamples, rng)
    pvalue = pvalue_among(observed, draws)
    method = f"canonical kernel test ({n_resamples:,} resamples)"
    return TestResult(observed / pairs[0].size, pvalue, pvalue <= level, level, method)
