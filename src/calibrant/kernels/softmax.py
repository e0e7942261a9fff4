"""Passes over rows of class scores that temperature and softmax fits make again and again."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(nogil=True, cache=True)
def inverse_temperature_slope(
    score: FloatArray, label: IntArray, mass: FloatArray, inverse: float
) -> tuple[float, float]:
    """First and second derivative of the mean log loss of softmax(inverse * score); the largest score of a row is 0."""
    first, lost, second = 0.0, 0.0, 0.0
    for i in range(label.size):
        total, moment, square = 0.0, 0.0, 0.0
        for k in range(score.shape[1]):
            s = score[i, k]
            e = math.exp(inverse * s)
            total += e
            moment += e * s
            square += e * s * s
        mean = moment / total
        # Compensated: at the root the derivative is a small difference of large sums.
        term = mass[i] * (mean - score[i, label[i]]) - lost
        after = first + term
        lost = (after - first) - term
        first = after
        second += mass[i] * (square / total - mean * mean)
    return first, second


@njit(nogil=True, cache=True)
def softmax_and_loss(score: FloatArray, label: IntArray, mass: FloatArray) -> float:
    """Mean log loss; the scores become probabilities where they stand."""
    loss, lost = 0.0, 0.0
    for i in range(label.size):
        row = score[i]
        top = row[0]
        for k in range(1, row.size):
            top = max(top, row[k])
        happened = row[label[i]] - top
        total = 0.0
        for k in range(row.size):
            row[k] = math.exp(row[k] - top)
            total += row[k]
        for k in range(row.size):
            row[k] /= total
        term = mass[i] * (math.log(total) - happened) - lost
        after = loss + term
        lost = (after - loss) - term
        loss = after
    return loss


@njit(nogil=True, cache=True)
def bent_loss(
    score: FloatArray, label: IntArray, rows: FloatArray, factor: float, bend: float
) -> tuple[float, float, float, float, float, float]:
    """Log loss of softmax(factor * score - bend * log(1 - score)), summed, and its derivatives by factor and bend.

    Scores are logarithms of probabilities; the derivatives are both first and the second: twice by the factor, by both,
    twice by the bend.
    """
    loss, by_factor, by_bend, twice_factor, by_both, twice_bend = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n_classes = score.shape[1]
    bent, moved = np.empty(n_classes), np.empty(n_classes)
    for i in range(label.size):
        top = -np.inf
        for k in range(n_classes):
            bent[k] = -math.log1p(-min(score[i, k], 0.0))
            moved[k] = factor * score[i, k] + bend * bent[k]
            top = max(top, moved[k])
        total, x, b, xx, xb, bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(n_classes):
            e, s, c = math.exp(moved[k] - top), score[i, k], bent[k]
            total += e
            x += e * s
            b += e * c
            xx += e * s * s
            xb += e * s * c
            bb += e * c * c
        x, b = x / total, b / total
        y = label[i]
        loss += rows[i] * (math.log(total) + top - moved[y])
        by_factor += rows[i] * (x - score[i, y])
        by_bend += rows[i] * (b - bent[y])
        twice_factor += rows[i] * (xx / total - x * x)
        by_both += rows[i] * (xb / total - x * b)
        twice_bend += rows[i] * (bb / total - b * b)
    return loss, by_factor, by_bend, twice_factor, by_both, twice_bend


@njit(nogil=True, cache=True)
def errors(probability: FloatArray, label: IntArray, mass: FloatArray, out: FloatArray) -> None:
    """Derivative of each row's loss by its scores, mass * (probability - what happened)."""
    for i in range(label.size):
        for k in range(probability.shape[1]):
            out[i, k] = mass[i] * probability[i, k]
        out[i, label[i]] -= mass[i]


@njit(nogil=True, cache=True)
def curved(probability: FloatArray, mass: FloatArray, moved: FloatArray) -> None:
    """Second derivative of each row's loss along a change of its scores, which it replaces."""
    for i in range(mass.size):
        mean = 0.0
        for k in range(probability.shape[1]):
            mean += probability[i, k] * moved[i, k]
        for k in range(probability.shape[1]):
            moved[i, k] = mass[i] * probability[i, k] * (moved[i, k] - mean)


@njit(nogil=True, cache=True)
def spreads(probability: FloatArray, mass: FloatArray, out: FloatArray) -> None:
    """mass * p (1 - p)."""
    for i in range(mass.size):
        for k in range(probability.shape[1]):
            out[i, k] = mass[i] * probability[i, k] * (1.0 - probability[i, k])
