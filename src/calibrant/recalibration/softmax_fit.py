"""The likeliest softmax maps of log probabilities, with a penalty: Newton's method with conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.softmax import curved, errors, softmax_and_loss, spreads
from calibrant.threads import one_thread

Stop = Callable[[], bool]

_STEPS, _INNER = 100, 400
_NEAR = 1e-15  # what a fit may lose, in nats per row, for each number that is fitted
_FLAT = 1e-9  # of the largest eigenvalue: directions that the preconditioner takes for flat


class OutOfTime(Exception):  # noqa: N818
    """The time that a caller allowed is over before a fit is done."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxProblem:
    """Minimise the log loss of softmax(x W + b) plus half of sum of ridge * ([W; b] - identity)^2."""

    x: FloatArray  # (n, K): log probabilities
    # label, mass: (n,), class of each row, and its share of the weight
    label: IntArray
    mass: FloatArray
    ridge: FloatArray  # (K + 1, K): penalties of the entries, the shifts last; infinite where an entry is not free

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Entries that are fitted."""
        return np.isfinite(self.ridge)

    @property
    def diagonal(self) -> bool:
        """Whether each class has a factor and a shift alone."""
        k = self.x.shape[1]
        return not self.free[:k][~np.eye(k, dtype=bool)].any()

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the scores under the softmax, for entries of shape (K + 1, K)."""
        k = self.x.shape[1]
        if self.diagonal:
            return np.asarray(self.x * weights[:k].diagonal() + weights[k])
        total = self.x @ weights[:k]
        total += weights[k]
        return np.asarray(total)

    def back(self, each: FloatArray) -> FloatArray:
        """Derivative by the entries of what has this derivative by the scores."""
        k = self.x.shape[1]
        gradient = np.zeros((k + 1, k))
        if self.diagonal:
            gradient[np.arange(k), np.arange(k)] = np.einsum("ik,ik->k", self.x, each)
        else:
            np.matmul(self.x.T, each, out=gradient[:k])
        gradient[k] = each.sum(axis=0)
        return gradient


def fit_softmax(
    softmax: SoftmaxProblem, start: FloatArray | None = None, stop: Stop | None = None, near: float | None = None
) -> FloatArray:
    """Entries of shape (K + 1, K) of the one minimum: the matrix, then the shifts.

    Newton steps, each found by conjugate gradients, until next to nothing can be gained, or `near` per row; OutOfTime
    if `stop` says so first. One thread: sums must not depend on the number of processors, and products
    this small gain nothing by more.
    """
    with one_thread():
        return _fit(softmax, start, stop, _NEAR * float(softmax.free.sum()) if near is None else near)


def _fit(softmax: SoftmaxProblem, start: FloatArray | None, stop: Stop | None, near: float) -> FloatArray:
    k = softmax.x.shape[1]
    identity = np.eye(k + 1, k)
    free = softmax.free
    ridge = np.where(free, softmax.ridge, 0.0)
    weights = identity.copy() if start is None else np.where(free, start, identity)

    def value(at: FloatArray) -> tuple[float, FloatArray]:
        probability = softmax.scores(at)
        loss = softmax_and_loss(probability, softmax.label, softmax.mass)
        return loss + 0.5 * float((ridge * (at - identity) ** 2).sum()), probability

    loss, probability = value(weights)
    error = np.empty_like(probability)
    for _ in range(_STEPS):
        if stop is not None and stop():
            raise OutOfTime
        errors(probability, softmax.label, softmax.mass, error)
        gradient = np.where(free, softmax.back(error) + ridge * (weights - identity), 0.0)
        step = _newton_step(softmax, ridge, probability, gradient, near, stop)
        gain = -float((gradient * step).sum())  # twice what the quadratic model promises
        if gain <= 2.0 * near:
            break
        size = 1.0
        while True:
            tried = weights + size * step
            after, new = value(tried)
            if after <= loss - 1e-4 * size * gain + 1e-16 * abs(loss):
                break
            size *= 0.5
            if size < 1e-8:
                return weights
        weights, loss, probability = tried, after, new
    return weights


def _newton_step(
    softmax: SoftmaxProblem,
    ridge: FloatArray,
    probability: FloatArray,
    gradient: FloatArray,
    near: float,
    stop: Stop | None,
) -> FloatArray:
    """Conjugate gradients for (Hessian) step = -gradient, as exactly as the gradient is small."""
    free = softmax.free
    precondition = _preconditioner(softmax, ridge, probability)

    def hessian(direction: FloatArray) -> FloatArray:
        moved = softmax.scores(direction)
        curved(probability, softmax.mass, moved)
        return np.where(free, softmax.back(moved) + ridge * direction, 0.0)

    step, residual = np.zeros_like(gradient), -gradient
    towards = precondition(residual)
    direction = towards.copy()
    size = float((residual * towards).sum())
    tolerance = size * min(0.1, math.sqrt(size)) ** 2
    for _ in range(_INNER):
        if size <= max(tolerance, 0.1 * near):
            break
        if stop is not None and stop():
            raise OutOfTime
        bent = hessian(direction)
        along = size / float((direction * bent).sum())
        step += along * direction
        residual = residual - along * bent
        towards = precondition(residual)
        before, size = size, float((residual * towards).sum())
        direction = towards + (size / before) * direction
    return step


def _preconditioner(
    softmax: SoftmaxProblem, ridge: FloatArray, probability: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """A cheap inverse of nearly the Hessian: that of each class's factor and shift, and the rest by its diagonal."""
    k = softmax.x.shape[1]
    free = softmax.free
    spread = np.empty_like(probability)
    spreads(probability, softmax.mass, spread)
    at = np.arange(k)
    cross = np.einsum("ik,ik->k", spread, softmax.x)
    shifts = spread.sum(axis=0) + ridge[k]
    if softmax.diagonal:
        factors = np.einsum("ik,ik,ik->k", spread, softmax.x, softmax.x) + ridge[at, at]
        rest = np.ones((k + 1, k))
    else:
        rest = np.ones((k + 1, k))
        rest[:k] = (softmax.x**2).T @ spread + ridge[:k]
        factors = rest[at, at].copy()
    own = free[at, at]
    cross, factors = np.where(own, cross, 0.0), np.where(own, factors, 1.0)
    determinant = np.maximum(factors * shifts - cross**2, _FLAT * factors * shifts)

    def inverse(of: FloatArray) -> FloatArray:
        solution = np.where(free, of / rest, 0.0)
        solution[at, at] = (shifts * of[at, at] - cross * of[k]) / determinant
        solution[k] = (factors * of[k] - cross * of[at, at]) / determinant
        return solution

    return inverse


def spread_between(softmax: SoftmaxProblem, weights: FloatArray) -> float:
    """Mean square of what the entries off the diagonal would be, from a fit without them; 0 where nothing shows it.

    By moments: the derivative of the loss by such an entry has the variance v of chance, its information h over the
    rows, and h^2 times its mean square beside that. The class's own factor and shift, which were fitted, are projected
    out of h.
    """
    k = softmax.x.shape[1]
    probability = softmax.scores(weights)
    softmax_and_loss(probability, softmax.label, softmax.mass)
    error, spread = np.empty_like(probability), np.empty_like(probability)
    errors(probability, softmax.label, softmax.mass, error)
    spreads(probability, softmax.mass, spread)
    at, x = np.arange(k), softmax.x
    with one_thread():
        slope, mean, square = x.T @ error, x.T @ spread, (x**2).T @ spread
        cross = x.T @ (spread * x)
    total, own, own_square = spread.sum(axis=0), mean[at, at], square[at, at]
    determinant = np.maximum(own_square * total - own**2, _FLAT * own_square * total)
    projection = np.zeros((k, k))
    regular = determinant > 0.0
    top = total * cross**2 - 2.0 * own * cross * mean + own_square * mean**2
    np.divide(top, determinant, out=projection, where=np.broadcast_to(regular, (k, k)))
    information = np.maximum(square - projection, 0.0)
    information[at, at], slope[at, at] = 0.0, 0.0
    chance = information * float((softmax.mass**2).sum())
    known = float((information**2).sum())
    return max(0.0, float((slope**2 - chance).sum()) / known) if known > 0.0 else 0.0
