"""Columns of a user's as cases that were drawn independently, rows or groups; and weights of cases not seen.

Cases would have those weights if outcomes came as often as a curve says: the heaviest may not have been seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from calibrant.decisions import catalogue as say
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.rows import events_of, read_groups, read_trials
from calibrant.door.sample import Sample
from calibrant.door.special import expit, ndtri, stdtrit
from calibrant.door.values import counted
from calibrant.door.weights import SamplingFractions
from calibrant.kernels.sums import dot
from calibrant.lazily import above

_MOST_TRIALS = 100_000_000


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows in the order given."""

    # y, v: (n,), share of events, and prediction
    y: FloatArray
    v: FloatArray
    w: FloatArray | None  # (n,): weight, times the number of trials; None where every row counts once
    trials: FloatArray | None  # (n,): number of trials
    unit: IntArray | None  # (n,): number of the row's group; None where every row is drawn by itself

    @classmethod
    def read(
        cls,
        y_true: Column,
        y_prob: Column,
        sample_weight: Column | None = None,
        trials: Column | None = None,
        groups: Any = None,
    ) -> Cases:
        """Read a user's columns, once. InputError as the door does, and if trials or groups cannot be used."""
        y, v, w = read_columns(y_true, y_prob, sample_weight)
        y, v, w = y + 0.0, v + 0.0, None if w is None else w + 0.0  # copies, since a curve keeps them
        number = None if trials is None else read_trials(trials, v.size) + 0.0
        if number is not None:
            w = number if w is None else w * number
        return cls(y, v, w, number, None if groups is None else read_groups(groups, v.size))

    def single(self) -> Cases:
        """Trials as rows of their own, in an order that contents decide, so that sums do not depend on the one given.

        Raises InputError if events are no whole number of a row's trials, or there are too many trials to be held.
        """
        y, v, w, unit = self.y, self.v, self.w, self.unit
        if self.trials is not None:
            y, v, w, unit = _spread(self.y, self.v, np.ones(self.v.size) if w is None else w, unit, self.trials)
            w = None if (w == w[0]).all() else w
        order = np.lexsort([each for each in (unit, w, y, v) if each is not None])
        return Cases(y[order], v[order], None if w is None else w[order], None, None if unit is None else unit[order])

    @cached_property
    def sample(self) -> Sample:
        """The rows pooled by prediction."""
        return Sample.of_arrays(self.y, self.v, self.w)

    @cached_property
    def weight(self) -> FloatArray:
        """Share of the weight of each row."""
        w = np.ones(self.v.size) if self.w is None else self.w
        return np.asarray(w / w.sum())

    @property
    def n_units(self) -> int:
        """Draws: rows, or groups."""
        return self.v.size if self.unit is None else int(self.unit.max()) + 1

    @property
    def effective_units(self) -> float:
        """Number of draws of equal weight with the same variance (Kish)."""
        return self._effective(np.ones(self.v.size))

    @cached_property
    def effective_outcomes(self) -> tuple[float, float]:
        """The same of draws with events, counted by their events, and of draws with other rows."""
        return self._effective(self.y), self._effective(1.0 - self.y)

    def _effective(self, share: FloatArray) -> float:
        """Kish's number of draws that these shares of rows come from; of equal draws exactly their number."""
        sums = self.by_unit(share if self.w is None else self.w / self.w.max() * share)
        return float(sums.sum()) ** 2 / max(float((sums**2).sum()), 1e-300)

    @property
    def worth(self) -> tuple[float, Literal["rows", "events", "non-events"]]:
        """Fewest equal draws that rows, events or non-events are worth, and which of them."""
        events, others = self.effective_outcomes
        names: tuple[Literal["rows", "events", "non-events"], ...] = ("rows", "events", "non-events")
        return min(zip((self.effective_units, events, others), names, strict=True))

    def normal_quantile(self, level: float) -> float:
        """Quantile of both tails together; of weights or groups Student's, its degrees the draws in effect less one."""
        if self.plain:
            return float(ndtri(1.0 - 0.5 * level))
        return float(stdtrit(max(self.worth[0] - 1.0, 1.0), 1.0 - 0.5 * level))

    @property
    def plain(self) -> bool:
        """Whether these are single outcomes, each counted once and drawn by itself."""
        return self.w is None and self.unit is None and bool(((self.y == 0.0) | (self.y == 1.0)).all())

    def by_unit(self, rows: FloatArray) -> FloatArray:
        """Sums over the rows of each unit."""
        return rows if self.unit is None else np.bincount(self.unit, rows, self.n_units).astype(np.float64)


def _spread(
    y: FloatArray, v: FloatArray, w: FloatArray, unit: IntArray | None, trials: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray | None]:
    """A row for each trial."""
    events = events_of(y, trials)
    if trials.sum() > _MOST_TRIALS:
        raise InputError(
            "trials", f"are {trials.sum():.3g} in all", allowed=f"at most {_MOST_TRIALS:,} are held as rows"
        )
    times = np.column_stack([events, trials - events]).ravel().astype(np.int64)
    of = np.repeat(np.repeat(np.arange(v.size), 2), times)
    return (np.repeat(np.tile([1.0, 0.0], v.size), times), v[of], (w / trials)[of], None if unit is None else unit[of])


def certain_rows(left_out: int, contradicted: int, line: str) -> str:
    """Say how many predictions of exactly 0 or 1 a line, or a curve, leaves out, and how many of them are wrong."""
    wrong = say.CONTRADICTED.format(n=contradicted) if contradicted else ""
    return say.CERTAIN.format(predictions=counted(left_out, "prediction"), line=line, wrong=wrong)


def drawing(module: str, name: str) -> Any:
    """A function of a module of `report/`, which reads results and computes nothing."""
    return getattr(above(f"report.{module}"), name)


def expected_weights(cases: Cases, chance: FloatArray, shift: float, power: int) -> tuple[FloatArray, FloatArray]:
    """Expected power of the weight of each row without the event, and with it, of these chances in the population.

    Two values of weights, one for each outcome, undo a sampling by outcome, which is drawn again. Of others events are
    heavier by the shift of log-odds.
    """
    weight: FloatArray = np.ones(cases.v.size) if cases.w is None else cases.w
    fractions = SamplingFractions.of_weights(cases.y, weight)
    if fractions is None:
        chance, heaviest = heavier(chance, shift), weight**power
        return (1.0 - chance) * heaviest, chance * heaviest
    chance, scale = fractions.chance_in_file(chance), weight[0] / fractions.weight_of(cases.y[:1])[0]
    other, event = ((scale * each) ** power for each in fractions.weights)
    return (1.0 - chance) * other, chance * event


def heavier(chance: FloatArray, shift: float) -> FloatArray:
    """Chances with log-odds that are higher by the shift, what is certain apart."""
    heavy = chance.copy()
    inside = (chance > 0.0) & (chance < 1.0)
    heavy[inside] = expit(np.log(chance[inside]) - np.log1p(-chance[inside]) + shift)
    return heavy


def weight_shift(cases: Cases) -> float:
    """By how much the log-odds of squared weights are above those of weights: 0 if weights do not go with outcomes."""
    inside = (cases.v > 0.0) & (cases.v < 1.0)
    v, y, w = cases.v[inside], cases.y[inside], cases.weight[inside]
    if cases.w is None or not 0.0 < dot(w, y) < float(w.sum()):
        return 0.0
    from scipy.optimize import brentq  # which few need, and takes a while to load

    odds = np.log(v) - np.log1p(-v)
    far = float(np.abs(odds).max()) + 40.0

    def level(mass: FloatArray) -> float:
        events = dot(mass, y)
        lacks: Callable[[float], float] = lambda a: dot(mass, expit(odds + a)) - events  # noqa: E731
        return -far if lacks(-far) >= 0.0 else far if lacks(far) <= 0.0 else float(brentq(lacks, -far, far))

    return level(w * w) - level(w)
