"""What the averaged map says of the predictions: what it gains on new rows, and which way they err."""

from __future__ import annotations

__all__ = ["RecalibrationGain", "ScoreGain"]

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.door.special import betaincinv, entr, expit
from calibrant.door.values import Result
from calibrant.recalibration.curves.averaged import MANY_ROWS, AveragedCurve, LogitCells

Direction = Literal["too high", "too low", "too confident", "not confident enough", "uneven"]

_DRAWS, _SEED = 400, 0  # curves of the posterior; a constant seed, so that equal rows have equal gains
_TINY = 1e-300  # whose logarithm is finite
_SMALL = 0.01  # of the score
_POINTS = 120  # quantiles of the rows at which the direction is read
_LITTLE = 0.1  # of an error: as much may be of the other side, and smaller ones change no side
_SAME = 1e-12  # an error is rounding below
_LIKELY = 0.5  # of the curves err, at least, where a direction is stated
_ERRORS = 2.0  # standard errors by which halves may gain less than the interval says
_SINGLE = 1e-6  # from a whole number, at most, is the number of rows of a cell where each row is one
_FAR, _SEEN, _SHARE = 0.01, 5.0, 0.1  # extreme predictions; misses that must be seen there if so many rows are


@dataclass(frozen=True, slots=True, repr=False)
class ScoreGain(Result):
    """How much lower a proper score is expected to be on new rows like these.

    Attributes
    ----------
    before : float
        Expected score of the predictions as they are.
    value : float
        How much lower that of the map is expected to be; negative where it is higher.
    interval : Interval
        Holds the map's gain with posterior probability 1 - level.
    possible : Interval
        The same of the gain of the true curve, which no map of the prediction exceeds. Among the smallest or the
        largest predictions fewer than five outcomes may have missed. Then the rows admit a largest rate of misses there
        (Clopper and Pearson). The log score's upper end is at least what that rate would cost.
    relative_interval : Interval
        The same of the map's gain as a share of the score before, each under one curve of the posterior: at most 1.

    See Also
    --------
    RecalibrationGain
    """

    before: float
    value: float
    interval: Interval
    possible: Interval
    relative_interval: Interval

    @property
    def relative(self) -> float:
        """The gain as a share of the score before."""
        return self.value / max(self.before, _TINY)

    @property
    def possible_share(self) -> float:
        """The upper end of what the true curve gains, as a share of the score before."""
        return min(1.0, self.possible.high / max(self.before, _TINY))

    def summary(self) -> str:
        """Say how much lower it is, in per cent of the score before."""
        low, high = (_percent(each) for each in self.relative_interval)
        return f"by {_percent(self.relative)}, likely {low} to {high}"


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationGain(Result):
    """What the averaged map gains on new rows like these, as far as these rows tell.

    Attributes
    ----------
    log_loss, brier_loss : ScoreGain
        Of both proper scores. Predictions of exactly 0 and 1 are read as the map reads them.
    level : float
        The intervals hold with posterior probability 1 - level.
    doubt : str or None
        Where the intervals are not to be trusted, and why; None where nothing is known against them.

    See Also
    --------
    ScoreGain, choose_recalibrator
    """

    log_loss: ScoreGain
    brier_loss: ScoreGain
    level: float
    doubt: str | None = None

    @property
    def proved(self) -> bool:
        """Whether the posterior interval of the gain in log score lies above 0."""
        return self.log_loss.interval.low > 0.0

    @property
    def matters(self) -> bool:
        """Whether at least a hundredth of the log loss is gained for sure, and nothing is known against it."""
        return self.log_loss.relative_interval.low >= _SMALL and self.doubt is None

    @property
    def possible_is_small(self) -> bool:
        """Whether no map gains more than a hundredth of the log loss, as far as these rows tell."""
        return self.log_loss.possible_share <= _SMALL

    def summary(self) -> str:
        """Say what it is worth."""
        verb = "should" if self.proved else "may"
        small = " That is a small gain." if self.proved and self.log_loss.relative < _SMALL else ""
        doubt = "" if self.doubt is None else f" {self.doubt}"
        return f"On new rows like these the score (log loss) {verb} improve {self.log_loss.summary()}.{small}{doubt}"


def gain_of(curve: AveragedCurve, level: float) -> RecalibrationGain:
    """The gain of a curve that was fitted here, by curves drawn from its posterior at its cells.

    A drawn curve says at which rate the event happens in each cell. The mean over the cells of a score under that rate
    is the expected score, of the predictions, of the map and of the drawn curve itself.
    """
    cells = curve.cells_
    mass = cells.mass
    moved = np.interp(cells.x, curve.log_odds_, curve.corrected_)
    drawn = curve.curves(cells.x, _DRAWS, np.random.default_rng(_SEED))
    rate, rest = expit(drawn), expit(-drawn)
    ends = np.array([level / 2.0, 1.0 - level / 2.0])

    def expected(if_not: FloatArray, if_event: FloatArray) -> FloatArray:
        """Expected score of one prediction for each cell, by the scores that both outcomes have there."""
        return np.asarray(mass @ if_not + rate @ (mass * (if_event - if_not)))

    def of_score(scores: list[FloatArray], least: FloatArray) -> ScoreGain:
        before, after = scores
        gain, possible = before - after, before - least
        return ScoreGain(
            float(before.mean()),
            float(gain.mean()),
            Interval(*np.quantile(gain, ends).tolist()),
            Interval(*np.quantile(possible, ends).tolist()),
            Interval(*np.quantile(gain / np.maximum(before, _TINY), ends).tolist()),
        )

    least = -(rate * np.log(np.maximum(rate, _TINY)) + rest * np.log(np.maximum(rest, _TINY))) @ mass
    log = of_score([expected(np.logaddexp(0.0, x), np.logaddexp(0.0, -x)) for x in (cells.x, moved)], least)
    most = max(log.possible.high, possible_at_ends(cells, level))
    log = replace(log, possible=Interval(log.possible.low, most))
    least = (rate * rest) @ mass
    brier = of_score([expected(expit(x) ** 2, expit(-x) ** 2) for x in (cells.x, moved)], least)
    doubt = _doubt(cells.x, cells.rows, cells.events)
    between = gain_between_halves(curve) if doubt is None and log.interval.low > 0.0 else None
    if between is not None and between[0] + _ERRORS * between[1] < log.interval.low:
        doubt = "Do not trust this range: the map of one half of the rows gains less on the other."
    return RecalibrationGain(log, brier, level, doubt)


def possible_at_ends(cells: LogitCells, level: float) -> float:
    """Largest gain in log score of one rate for all predictions beyond a cut, where hardly any outcome missed.

    Of such rows a smooth curve knows what its prior says. In its place stands, for each cut with fewer than `_SEEN`
    misses among the n rows beyond it, the exact upper end of their rate, which holds with probability 1 - level / 2: if
    u is the rate there, the predictions lose m (-u log u - (1-u) log(1-u)) less than they should, m being the mass.
    """
    largest = 0.0
    for x, misses, rows, mass in (
        (cells.x, cells.events, cells.rows, cells.mass),
        (-cells.x[::-1], (cells.rows - cells.events)[::-1], cells.rows[::-1], cells.mass[::-1]),
    ):
        seen, number, share = (np.maximum(np.cumsum(each), 0.0) for each in (misses, rows, mass))
        few = (seen < _SEEN) & (number > seen)
        seen, number, share = seen[few], number[few], share[few]
        if not few.any():
            continue
        rate = betaincinv(seen + 1.0, number - seen, 1.0 - level / 2.0)
        miss, hit, predicted = (
            np.cumsum(mass * each)[few] for each in (np.logaddexp(0.0, -x), np.logaddexp(0.0, x), expit(x))
        )
        gained = rate * miss + (1.0 - rate) * hit - share * (entr(rate) + entr(1.0 - rate))
        largest = max(largest, float(gained[rate * share > predicted].max(initial=0.0)))
    return largest


def gain_between_halves(curve: AveragedCurve) -> tuple[float, float] | None:
    """Mean gain in log score of maps of one half of the rows on the other, and its standard error over the rows.

    None where rows are few or not single ones. Each cell is halved, by draws with a constant seed: halves of rows that
    are drawn independently are independent.
    """
    cells = curve.cells_
    rows, events = np.rint(cells.rows), np.rint(cells.events)
    single = max(np.abs(rows - cells.rows).max(), np.abs(events - cells.events).max()) < _SINGLE
    if not single or cells.shift != 0.0 or rows.sum() < MANY_ROWS:
        return None
    odd = rows % 2
    first = (rows + odd * (np.cumsum(odd) % 2)) // 2
    drawn = (each.astype(np.int64) for each in (events, rows - events, first))
    happened = np.random.default_rng(_SEED).hypergeometric(*drawn).astype(np.float64)
    halves = (first, happened), (rows - first, events - happened)
    total = squares = 0.0
    for (n, e), (others, of_others) in (halves, halves[::-1]):
        half, seen = AveragedCurve(curve.monotone), n > 0
        half.clip_ = curve.clip_
        half.fit_cells(LogitCells(cells.x[seen], n[seen], e[seen]), curve.basis_)
        moved = np.interp(cells.x, half.log_odds_, half.corrected_)
        for sign, count in ((-1.0, of_others), (1.0, others - of_others)):
            gained = np.logaddexp(0.0, sign * cells.x) - np.logaddexp(0.0, sign * moved)
            total, squares = total + float(count @ gained), squares + float(count @ gained**2)
    number = float(rows.sum())
    mean = total / number
    return mean, float(np.sqrt(max(squares / number - mean**2, 0.0) / number))


def _doubt(x: FloatArray, rows: FloatArray, events: FloatArray) -> str | None:
    """Whether many rows are predicted so near to 0 or 1 that hardly any outcome missed there."""
    far = float(np.log((1.0 - _FAR) / _FAR))
    sides = ((x < -far, events, f"below {_FAR:.0%}"), (x > far, rows - events, f"above {1.0 - _FAR:.0%}"))
    for mask, misses, name in sides:
        if rows[mask].sum() >= _SHARE * rows.sum() and misses[mask].sum() < _SEEN:
            return f"Do not trust this range: predictions {name} were wrong in fewer than {_SEEN:.0f} rows."
    return None


def _percent(share: float) -> str:
    """A share with one decimal where it is small."""
    shown = f"{100.0 * share:.1f}%" if abs(share) < 0.0995 else f"{100.0 * share:.0f}%"
    return "0.0%" if shown == "-0.0%" else shown


def direction_of(curve: AveragedCurve, level: float) -> Direction | None:
    """Which way predictions err, where at least 1 - level of the curves drawn from the posterior that err err so.

    None where fewer do, or where fewer than half of the curves err: whether predictions err at all is for a test. So of
    predictions that err, a direction is wrong with posterior probability `level` at most, at any number of rows. A
    curve is read at quantiles of the rows. It is too high, or too low, if less than a tenth of its error is of the
    other side. Else its changes of side decide, among places whose error is at least a tenth of the largest.
    """
    cells = curve.cells_
    share = np.cumsum(cells.mass) - 0.5 * cells.mass
    at = cells.x[np.minimum(np.searchsorted(share, (np.arange(_POINTS) + 0.5) / _POINTS), share.size - 1)]
    error = expit(curve.curves(at, _DRAWS, np.random.default_rng(_SEED))) - expit(at)
    size = np.abs(error)
    total = size.sum(axis=1)
    above = np.maximum(error, 0.0).sum(axis=1) / np.maximum(total, _TINY)
    drawn, place = np.nonzero(size >= _LITTLE * size.max(axis=1, keepdims=True))
    low = error[drawn, place] > 0.0
    turned = (low[1:] != low[:-1]) & (drawn[1:] == drawn[:-1])
    turns = np.bincount(drawn[1:][turned], minlength=_DRAWS)
    low_first = low[np.searchsorted(drawn, np.arange(_DRAWS))]
    one_sided = (np.minimum(above, 1.0 - above) < _LITTLE) | (turns == 0)
    ways: dict[Direction, npt.NDArray[np.bool_]] = {
        "too low": one_sided & (above > 0.5),
        "too high": one_sided & (above <= 0.5),
        "too confident": ~one_sided & (turns == 1) & low_first,
        "not confident enough": ~one_sided & (turns == 1) & ~low_first,
        "uneven": ~one_sided & (turns > 1),
    }
    errs = total > _SAME
    if errs.mean() < _LIKELY:
        return None
    return next((way for way, those in ways.items() if those[errs].mean() >= 1.0 - level), None)


def mean_direction(error: FloatArray, level: float) -> Direction | None:
    """The side of mean errors of drawn curves, one each, on which at least 1 - level / 2 of those that err are."""
    errs = np.abs(error) > _SAME
    if errs.mean() < _LIKELY:
        return None
    low = float((error[errs] > 0.0).mean())
    return "too low" if low >= 1.0 - level / 2.0 else "too high" if low <= level / 2.0 else None
