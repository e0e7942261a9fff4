"""The lower distance by the nearly-linear-time paper's road: a box-simplex game, and rounding (docs/lower.md).

Each piece of the sample (a cell of predictions and an outcome) spreads over targets u of a grid, x in a simplex each;
breaking calibration at a target costs its amount, y in [-1, 1] a target:

    min over x  max over y   sum of mass * x * (|u - v| + y_u (outcome - u)).

Extragradient steps with the area-convex regulariser  entropy(x) + sum x |outcome - u| y_u**2  take O(log(1/tol) / tol)
steps. The average plan, rounded, is a coupling of the whole sample; the average y gives potentials.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import lower_lift as lift
from calibrant.kernels.types import FloatArray
from calibrant.measures.lower_check import Potentials, label_masses, value_of_potentials
from calibrant.measures.lower_solve import LowerProblem

SMALLEST = 0.002
"""The least tol: a step costs about 64 / tol**2 operations, and there are some 10 / tol of them."""

_ALTERNATIONS = 3  # of x and y towards the proximal point; the next step goes on from there
_STEPS = 40.0  # times log(number of targets) / tol: where to give up


class FirstOrderProblem:
    """Best coupling and best potentials found, in the form of `LowerProblem`.

    Attributes
    ----------
    upper, lower : float
        The bracket they prove.
    v, p, q : ndarray of shape (m,)
        Distinct predictions and the masses of outcomes 0 and 1.
    u, calibrated : ndarray
        Targets and calibrated masses of the coupling.
    potentials : Potentials
        What proves `lower`.
    steps : int
        Extragradient steps taken.
    """

    def __init__(self, sample: Sample, tol: float) -> None:
        if not tol >= SMALLEST:
            raise InputError("tol", f"is {tol}; method='first-order' needs at least {SMALLEST}")
        self.v = sample.prediction
        self.p, self.q = label_masses(sample)
        self._sample, self._tol = sample, tol
        start = LowerProblem(self.v, self.p, self.q)  # every prediction moved to its outcomes' mean
        self.u, self.calibrated = start.u, start.calibrated
        self.upper, self.lower, self.steps = start.upper, start.lower, 0
        self.potentials = Potentials(self.v, start.r[:, 0], start.r[:, 1])
        self._targets = np.linspace(0.0, 1.0, math.ceil(4.0 / tol) + 1)
        self._enough = tol * (1.0 - 1e-9)  # the proofs round away from each other
        if self.upper - self.lower > self._enough:
            self._play()

    def _play(self) -> None:
        mass, v, outcome = _pieces(self.v, self.p, self.q, self._tol / 8.0)
        cost = np.abs(v[:, None] - self._targets)
        push = outcome[:, None] - self._targets  # what a unit of mass adds to the residual at a target
        spread = np.abs(push)
        game = (mass, push, spread)
        sum_x, sum_y = np.zeros_like(cost), np.zeros_like(self._targets)  # gradients so far
        plan, price = np.zeros_like(cost), np.zeros_like(self._targets)  # and points
        y = np.zeros_like(self._targets)
        most = math.ceil(_STEPS * math.log(self._targets.size) / self._tol)
        for step in range(1, most + 1):
            x, y = _proximal(sum_x, sum_y, y, *game)
            _, here = _proximal(sum_x + cost + push * y, sum_y - mass @ (x * push), y, *game)
            x, here = _proximal(sum_x + cost + push * y, sum_y - mass @ (x * push), here, *game)
            sum_x += cost + push * here
            sum_y -= mass @ (x * push)
            plan += x
            price += here
            self.steps = step
            if step == most or step % max(8, step // 8) == 0:
                self._round(mass[:, None] * plan / step, outcome, price / step)
                if self.upper - self.lower <= self._enough:
                    return

    def _round(self, plan: FloatArray, outcome: FloatArray, price: FloatArray) -> None:
        """A true coupling from the plan, and true potentials from the prices, if they are the best so far.

        The coupling is the monotone one of the whole sample with what the targets hold, so its marginals are exact,
        which is what Lemma 20 is for.
        """
        calibrated = calibrated_masses(plan, outcome, self._targets)
        whole = np.array([0, self.v.size])
        upper = lift.lift_coupling(self.v, self.p, self.q, self._targets, calibrated, whole, np.empty(1))
        if upper < self.upper:
            self.upper, self.u, self.calibrated = upper, self._targets, calibrated
        heights = [_cheapest(self._targets, price * (label - self._targets), self.v) for label in (0.0, 1.0)]
        found = [np.where(m > 0.0, r, -np.inf) for m, r in zip((self.p, self.q), heights, strict=True)]
        potentials = Potentials(self.v, *found)
        lower = value_of_potentials(potentials, self._sample)
        if lower > self.lower:
            self.lower, self.potentials = lower, potentials


def calibrated_masses(plan: FloatArray, outcome: FloatArray, u: FloatArray) -> FloatArray:
    """Most calibrated mass within what a plan of shape (pieces, targets) brings to each target (Lemma 22).

    The outcome that a target has too much of gives up its surplus. Moving that to 0 or 1, where it is calibrated,
    costs at most the target's residual, the absolute sum of mass * (outcome - u).
    """
    zeros, ones = plan[outcome == 0.0].sum(axis=0), plan[outcome == 1.0].sum(axis=0)
    inside = (u > 0.0) & (u < 1.0)
    calibrated: FloatArray = np.zeros_like(u)
    calibrated[inside] = np.minimum(zeros[inside] / (1.0 - u[inside]), ones[inside] / u[inside])
    return calibrated


def _pieces(v: FloatArray, p: FloatArray, q: FloatArray, width: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, mean prediction and outcome of what falls into each cell of a grid."""
    cell = np.floor(v / width).astype(np.int64)
    found = []
    for label, mass in ((0.0, p), (1.0, q)):
        total = np.bincount(cell, mass)
        held = total > 0.0
        centre = np.bincount(cell, mass * v)[held] / total[held]
        found.append((total[held], centre, np.full(centre.size, label)))
    mass, centre, outcome = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return mass, centre, outcome


def _proximal(
    sum_x: FloatArray, sum_y: FloatArray, y: FloatArray, mass: FloatArray, push: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimise <sum_x, x> + <sum_y, y> + regulariser by turns in x and y, starting from y."""
    x = push
    for _ in range(_ALTERNATIONS):
        x = -(sum_x + spread * y**2)
        x -= x.max(axis=1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=1, keepdims=True)
        y = np.clip(-0.5 * sum_y / np.maximum(mass @ (x * spread), 1e-300), -1.0, 1.0)
    return x, y


def _cheapest(u: FloatArray, price: FloatArray, v: FloatArray) -> FloatArray:
    """Min over targets of |u - v| + price, for increasing u: the best from below and the best from above."""
    below = np.append(np.inf, np.minimum.accumulate(price - u))
    above = np.append(np.minimum.accumulate((price + u)[::-1])[::-1], np.inf)
    at = np.searchsorted(u, v)
    return np.minimum(below[at] + v, above[at] - v)
