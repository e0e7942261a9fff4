"""Pairs of classes mistaken for one another more, or less, often than predicted: every pair, with few false ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.classes import MulticlassSample
from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing.class_wise import benjamini_yekutieli
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.classes import add_rows

_ROUNDING = 1e-11  # relative, more than that of the incomplete beta function


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Rows by the class that is most probable, and by the class they are of.

    Attributes
    ----------
    rows : ndarray of shape (K,)
        Rows whose most probable class it is; rows predicted with certainty are left out.
    observed, expected : ndarray of shape (K, K)
        Of those, rows that are of each class, and the sum of their probabilities of it. Rows of a class that was called
        impossible are not counted.
    unit : float
        What each probability was rounded to a multiple of, for sums that do not depend on the order of the rows.
    """

    rows: IntArray
    observed: IntArray
    expected: FloatArray
    unit: float


def pair_counts(sample: MulticlassSample) -> PairCounts:
    """Count pairs of predicted and actual class, in one pass over the table."""
    k = sample.n_classes
    bits = 62 - sample.y_true.size.bit_length()
    expected = np.zeros((k, k), np.int64)
    rows, observed = np.zeros(k, np.int64), np.zeros((k, k), np.int64)
    for part, block in sample.table.blocks():
        top = block.argmax(axis=1)
        label = sample.y_true[part]
        at = np.arange(top.size)
        used = block[at, top] < 1.0
        mask = used & (block[at, label] > 0.0)
        np.add.at(observed, (top[mask], label[mask]), 1)
        rows += np.bincount(top[used], minlength=k)
        add_rows(block[used], top[used], 2.0**bits, expected)
    return PairCounts(rows, observed, np.ldexp(expected.astype(np.float64), -bits), 2.0**-bits)


def pair_pvalues(counts: PairCounts) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pairs with any evidence, shape (pairs, 2), their p-values, and these adjusted for the number of all pairs.

    Rows of one predicted class with unequal chances have tails no larger than as many rows with their mean chance, from
    one event beyond the mean on (Hoeffding 1956, Theorem 4): there twice the binomial tail is a p-value, and nearer to
    the mean it is 1. Adjusted by Benjamini and Yekutieli's procedure, which holds under any dependence.
    """
    from scipy.special import betainc

    prediction, was = np.nonzero(np.abs(counts.observed - counts.expected) >= 1.0)
    n = counts.rows[prediction].astype(np.float64)
    x, mean = counts.observed[prediction, was].astype(np.float64), counts.expected[prediction, was]
    more = x > mean
    # Means rounded against us.
    off = n * counts.unit + _ROUNDING * mean
    chance = np.clip(np.where(more, mean + off, mean - off) / n, 0.0, 1.0)
    above = betainc(np.maximum(x, 1.0), n - x + 1.0, chance)
    below = betainc(np.maximum(n - x, 1.0), x + 1.0, 1.0 - chance)
    pvalue = np.clip(2.0 * np.where(more, above, below) * (1.0 + _ROUNDING), LEAST, 1.0)
    pairs = int((counts.rows > 0).sum()) * counts.rows.size
    return np.stack([prediction, was], axis=1), pvalue, benjamini_yekutieli(pvalue, pairs)


def most_involved(k: int, pairs: IntArray, pvalues: FloatArray, most: int) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Classes with the most evidence in their pairs, in their order, and minus the logarithm (base 10) of each pair."""
    evidence = -np.log10(pvalues)
    each = np.bincount(pairs[:, 0], evidence, k) + np.bincount(pairs[:, 1], evidence, k)
    shown = np.sort(np.argsort(-each, kind="stable")[:most])
    place = np.full(k, -1)
    place[shown] = np.arange(shown.size)
    table = np.zeros((shown.size, shown.size))
    mask = (place[pairs] >= 0).all(axis=1)
    table[place[pairs[mask, 0]], place[pairs[mask, 1]]] = evidence[mask]
    return shown, table
