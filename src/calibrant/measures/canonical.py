"""Canonical calibration of K classes: is each whole vector of probabilities the frequencies of the classes there?"""

from __future__ import annotations

__all__ = ["squared_canonical_kernel_error"]

import numpy as np

from calibrant.door.arguments import generator, positive, positive_integer
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.kernels.canonical import pair_weights, paired_sum
from calibrant.kernels.types import FloatArray, IntArray


def squared_canonical_kernel_error(
    y_true: Column,
    y_prob: Column,
    *,
    bandwidth: float = 1.0,
    block_size: int = 2,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Estimate, without bias, the squared kernel error of whole vectors of class probabilities.

    Parameters
    ----------
    y_true : column of shape (n,), or (n, K) one-hot
        Labels, as `multiclass_sample` takes them.
    y_prob : table of shape (n, K)
        Class probabilities, rows adding up to 1.
    bandwidth : float, default 1.0
        Of the kernel exp(-|p - q| / bandwidth), |.| the Euclidean distance, times the identity matrix.
    block_size : int, default 2
        Rows are put at random into blocks of this many, and pairs are formed within blocks: 2 costs O(n K), n all
        pairs. The last block may be smaller.
    random_state : int, numpy.random.Generator or None
        Seed of the blocks; the order of the rows matters only for that.

    Returns
    -------
    float
        Mean over pairs of (e_y - p) . (e_y' - p') exp(-|p - p'| / bandwidth); near 0, and as often below as above,
        for canonically calibrated predictions. A squared probability.

    Raises
    ------
    InputError
        If a table or parameter cannot be used, or there is one row only.

    See Also
    --------
    canonical_kernel_test, kernel_calibration_error

    Notes
    -----
    Twice the squared error of the first class where K = 2, up to the bandwidth. Cost: O(n K block_size).

    References
    ----------
    D. Widmann, F. Lindsten and D. Zachariah, Calibration tests in multi-class classification: a unifying framework,
    NeurIPS 2019, Table 1 (quadratic and linear estimators).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import squared_canonical_kernel_error
    >>> table = np.random.default_rng(0).dirichlet(np.ones(3), 3000)
    >>> right = (np.random.default_rng(1).random(3000)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    >>> wrong = np.zeros(3000, int)
    >>> calibrated, off = (squared_canonical_kernel_error(y, table, random_state=0) for y in (right, wrong))
    >>> abs(calibrated) < 0.02 < off
    True
    """
    label, table, pairs = paired(multiclass_sample(y_true, y_prob), bandwidth, block_size, generator(random_state))
    return paired_sum(label, table, *pairs) / pairs[0].size


def paired(
    sample: MulticlassSample, bandwidth: float, block_size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, tuple[IntArray, IntArray, FloatArray, FloatArray]]:
    """Labels and probabilities in the order of their blocks, and the pairs within blocks with what each needs."""
    positive(bandwidth, "bandwidth")
    positive_integer(block_size, "block_size")
    if block_size < 2:
        raise InputError("block_size", f"is {block_size}; pairs need at least two rows per block")
    n = sample.y_true.size
    if n < 2:
        raise InputError("y_prob", "has one row; pairs need at least two")
    # Sorted first, so that only the dealing decides which rows meet.
    order = np.lexsort((sample.y_true, *sample.y_prob.T[::-1]))[rng.permutation(n)]
    ends = np.append(np.arange(block_size, n, block_size), n).astype(np.int64)
    table = np.ascontiguousarray(sample.y_prob[order])
    return sample.y_true[order], table, pair_weights(table, ends, float(bandwidth))
