"""Products over pairs of rows of one group, which cancel the noise that squares of sums add up."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def pair_sums(
    group: IntArray, weight: FloatArray, residual: FloatArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Sums over pairs of rows of a group: of the two weights' product, and of that times both residuals.

    Each row meets the running sums of those before it, so nothing is subtracted and nothing cancels.
    """
    weights, moments = np.zeros(n_groups), np.zeros(n_groups)
    pairs, products = np.zeros(n_groups), np.zeros(n_groups)
    for i in range(group.size):
        g = group[i]
        moment = weight[i] * residual[i]
        pairs[g] += weight[i] * weights[g]
        products[g] += moment * moments[g]
        weights[g] += weight[i]
        moments[g] += moment
    return pairs, products
