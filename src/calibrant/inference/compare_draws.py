"""What `compare_calibration` draws: halves of the rows, and outcomes of which the truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.inference.dependent import DependentOutcomes
from calibrant.kernels.sums import dot
from calibrant.resampling.redraw import resampled

Evaluate = Callable[..., float]
_LEAST_DRAWS = 39  # of each state, where so many are asked for at all: fewer hardly have a tail


def draws_of_a_state(n_resamples: int, states: int) -> int:
    """How many of the resamples each of the states has."""
    return min(n_resamples, max(_LEAST_DRAWS, -(-n_resamples // states)))


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Outcomes redrawn with these chances.

    Attributes
    ----------
    chance : ndarray of shape (n,)
        Predictions that are calibrated there.
    noise : ndarray of shape (resamples,)
        Their own errors, which are chance alone.
    missed : ndarray of shape (resamples, predictors)
        How much larger each predictor's error is than its true one.
    """

    chance: FloatArray
    noise: FloatArray
    missed: FloatArray

    def of(self, pair: tuple[int, int]) -> State:
        """What it says of two of the predictors."""
        return replace(self, missed=self.missed[:, list(pair)])

    def far(self, error: float, level: float) -> float:
        """How far the calibrated predictions' error, as observed, is beyond what chance explains."""
        return max(0.0, error - float(np.quantile(self.noise, 1.0 - level)))


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Rows with one prediction or more, in an order that does not depend on the one they came in."""

    y: FloatArray
    predictions: list[FloatArray]
    weight: FloatArray | None
    trials: FloatArray | None
    group: IntArray | None = None

    @classmethod
    def of(cls, rows: Rows, others: list[FloatArray]) -> Draws:
        """Rows, and other predictions for the same."""
        count, weight = rows.count, rows.weight
        y, mass = rows.y_true / count, None if weight is None else weight * count
        if mass is None and rows.trials is not None:
            mass = count
        columns = [*others[::-1], rows.y_prob]
        keys = [np.zeros(y.size) if mass is None else mass, y, *columns]
        order = np.lexsort(keys if rows.group is None else [rows.group, *keys])
        predictions = [column[order] for column in columns[::-1]]
        trials = None if rows.trials is None else rows.trials[order]
        group = None if rows.group is None else rows.group[order]
        return cls(y[order], predictions, None if mass is None else mass[order], trials, group)

    @property
    def surprises(self) -> float:
        """Rows' worth of events, or of non-events, whichever is less; of groups, groups' worth."""
        mass = np.ones(self.y.size) if self.weight is None else self.weight
        if self.group is None:
            return min(dot(mass, each) ** 2 / max(dot(mass * mass, each), 1e-300) for each in (self.y, 1.0 - self.y))
        held = [np.bincount(self.group, mass * each) for each in (self.y, 1.0 - self.y)]
        return min(float(each.sum()) ** 2 / max(dot(each, each), 1e-300) for each in held)

    def halved(self, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """The first half's errors less the second's, (resample, predictor)."""
        n = self.y.size
        units = n if self.group is None else int(self.group.max()) + 1

        def apart(source: np.random.Generator) -> list[float]:
            half = np.zeros(units, dtype=bool)
            half[source.permutation(units)[: units // 2]] = True
            half = half if self.group is None else half[self.group]
            return [self._error(evaluate, v, half) - self._error(evaluate, v, ~half) for v in self.predictions]

        return resampled(apart, n, n_resamples, rng)

    def _error(self, evaluate: Evaluate, v: FloatArray, half: np.ndarray) -> float:
        return evaluate(self.y[half], v[half], None if self.weight is None else self.weight[half])

    def states(self, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> list[State]:
        """Outcomes redrawn as if each prediction were calibrated in its turn; all predictions are judged by them."""
        return [self._state(chance, evaluate, n_resamples, rng) for chance in self.predictions]

    def between(
        self, pair: tuple[int, int], evaluate: Evaluate, n_resamples: int, rng: np.random.Generator
    ) -> tuple[Draws, State]:
        """Two of the predictions alone, and outcomes redrawn as if the mean of both were calibrated."""
        two = replace(self, predictions=[self.predictions[k] for k in pair])
        return two, two._state(np.mean(two.predictions, axis=0), evaluate, n_resamples, rng)

    def _state(self, chance: FloatArray, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> State:
        trials = None if self.trials is None else self.trials.astype(np.int64)
        asked = [*self.predictions, chance]
        dependent = None if self.group is None else DependentOutcomes.like(self.y, chance, trials, self.group)

        def again(source: np.random.Generator) -> list[float]:
            if dependent is not None:
                y = dependent.drawn(source)
            elif trials is None:
                y = (source.random(chance.size) < chance).astype(np.float64)
            else:
                y = source.binomial(trials, chance) / trials
            found = [evaluate(y, v, self.weight) for v in asked[:-1]]
            own = [k for k, v in enumerate(asked[:-1]) if v is chance]
            return [*found, found[own[0]] if own else evaluate(y, chance, self.weight)]

        errors = resampled(again, chance.size, n_resamples, rng)
        try:
            truth = np.array([evaluate(chance, v, self.weight) for v in self.predictions])
        except InputError:  # a function that takes no event rates: what is calibrated has no error, the rest no bias
            truth = errors[:, :-1].mean(axis=0) * [v is not chance for v in self.predictions]
        return State(chance, errors[:, -1], errors[:, :-1] - truth)
