"""Confidence bounds on what acting on the predictions loses in the population (docs/decisions.md)."""

from __future__ import annotations

__all__ = ["RegretBounds", "regret_bounds"]

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import check_level, check_threshold, fraction
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval, confidence, rounded_down, rounded_up
from calibrant.door.premises import Premises
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, Function, Weighing, premises_of_draws, read_draws
from calibrant.inference.bounds.gate import VERDICTS, Verdict, asked, fewest_rows, verdict_of
from calibrant.inference.bounds.one_event import lower_end, psi
from calibrant.inference.bounds.tally import Proof, needs
from calibrant.kernels.regret import penalised_gains, running
from calibrant.kernels.regret_units import most_allowed, reached
from calibrant.measures.decision_loss import Cuts, Threshold, mixed, mixture, regret_corners

Cells = tuple[FloatArray, FloatArray]
_BETS = 3
"""Fixed beforehand, each half of the one before: from hundreds to 100,000s of rows one of them is near the best."""

_STEPS = 20  # to a twentieth of the rows there are it is told how many are needed: it is an estimate


@dataclass(frozen=True, slots=True, repr=False)
class RegretBounds(Proof):
    """Loss by acting on the predictions in the population; each end holds with probability 1 - level by itself.

    Attributes
    ----------
    regret_interval : Interval
        Of the regret at `threshold`, or of the largest regret at any threshold.
    decision_loss_interval : Interval
        Of the monotone decision loss, over all decisions with payoffs in [0, 1].
    threshold : float or None
        The threshold that was asked about; None for the worst one.
    max_regret : float or None
        The limit that was asked about; None if there was none.
    verdict : "within", "beyond", "undecided" or None
        Whether the regret is at most `max_regret`, wrong with probability at most `level`; None without it.
    level : float
        Probability with which any one of the ends may fail.
    n_rows : int
        Rows that they rest on.
    rows_needed : int or None
        About how many such rows would decide; None if it is decided already, was not asked, or no number would.
    n_groups, groups_needed : int or None
        Groups that they rest on, where whole groups are drawn, and about how many would decide; else None.
    n_unknown : int
        Rows beside these whose outcome is not known at the horizon. `rows_needed` counts such rows, too.
    premises : Premises
        What they take as given.

    See Also
    --------
    regret_bounds, PopulationBounds
    """

    regret_interval: Interval
    decision_loss_interval: Interval
    threshold: float | None
    max_regret: float | None
    verdict: Verdict | None
    level: float
    n_rows: int
    rows_needed: int | None = None
    n_groups: int | None = None
    groups_needed: int | None = None
    n_unknown: int = 0
    premises: Premises = field(default=None, compare=False)  # type: ignore[assignment]  # rows alone, where not given

    def __post_init__(self) -> None:
        """Take rows as independent and alike where nothing else is said."""
        if self.premises is None:
            premises = Premises(self.level, max_regret=self.max_regret, threshold=self.threshold)
            object.__setattr__(self, "premises", premises)

    @property
    def sentence(self) -> str:
        """Say what is lost at most, and at least where that is proved."""
        where = "At any threshold" if self.threshold is None else f"At the threshold {self.threshold:g}"
        most = rounded_up(self.regret_interval.high)
        low, some = self.regret_interval.low, "" if self.threshold is not None else "at some threshold "
        least = f" and {some}at least {rounded_down(low)}" if low > 0.0 else ""
        if self.verdict is not None and self.max_regret is not None:
            limit = f"limit {asked(self.max_regret)} on the regret"
            where = f"{VERDICTS[self.verdict]} ({limit}): {where[0].lower()}{where[1:]}"
        more = needs(self.tally) if self.verdict == "undecided" else ""
        return (
            f"{where}, acting on these predictions loses at most {most}{least} per row against the best cut, "
            f"with {confidence(self.level)} confidence ({self.tally.summary()}){more}."
        )


def regret_bounds(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    sampling_fractions: Any = None,
    max_weight: float | None = None,
    threshold: float | None = None,
    max_regret: float | None = None,
    level: float = 0.05,
) -> RegretBounds:
    """Bound what acting on the predictions loses in the population that the rows were drawn from.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows; with trials shares of events.
    y_prob, sample_weight, trials, groups, max_weight
        As for `calibration_gate`.
    sampling_fractions : mapping, optional
        Share of rows that were kept of each outcome, one by one, such as ``{0: 0.1, 1: 1.0}``: bounds are of the
        population that they were kept from. Without weights and trials.
    threshold : float, optional
        Strictly between 0 and 1: rows with predictions from here on are acted on. Without it the bound holds for all
        thresholds.
    max_regret : float, optional
        Between 0 and 1: decide whether the population's regret is within it.
    level : float, default 0.05
        Probability with which each of the four ends may fail.

    Returns
    -------
    RegretBounds
        Both ends of the regret and of the decision loss, valid at any number of rows.

    Raises
    ------
    InputError
        If a column or an option cannot be used. If rows can weigh differently and `max_weight` is not given, or is less
        than the weight of a row.

    See Also
    --------
    decision_curve, monotone_decision_loss, population_bounds, calibration_gate

    Notes
    -----
    Regret is a supremum of means of what one cut gains over another, never above 1. One of them is the population's
    best, for any sample, so only one mean needs a bound. For a bet x fixed beforehand the population's regret is at
    most (1 - exp(-(x m + L / n))) / x. Here m is the sample's regret with (-ln(1 - x) / x - 1) times the gain's square
    added row by row. exp(-L) is the probability of failure. The least of three bets is taken. m is the exact supremum
    over all thresholds and cuts. With weights, trials or groups the square is that of a unit's weight times what its
    gain falls short of the bound. Above 1,500 distinct predictions the bound allows for cuts within ranges of them. The
    decision loss is then at most twice the largest regret. For the lower end cuts learned from some of the rows are
    tried on the others, as in `population_bounds`. "Within" rests on the upper end alone and "beyond" on the lower one,
    so each has the whole level. Cost: a sort, then 12 passes of O(m log m); with weights, trials or groups O(min(m,
    1500)^2).

    References
    ----------
    Fan, Grama and Liu, Exponential inequalities for martingales with applications, Electronic Journal of Probability
    20, 2015. Vickers and Elkin, Decision curve analysis, Medical Decision Making 26, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import regret_bounds
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(10_000)
    >>> found = regret_bounds(rng.random(10_000) < y_prob, y_prob, max_regret=0.01)
    >>> found.verdict
    'within'
    """
    level, threshold = check_level(level), None if threshold is None else check_threshold(threshold)
    if max_regret is not None:
        max_regret = fraction(max_regret, "max_regret")
    weighing = Weighing(sample_weight, trials, max_weight, sampling_fractions)
    sample, draws = read_draws(y_true, y_prob, weighing, groups)

    def with_premises(bounds: RegretBounds) -> RegretBounds:
        return replace(bounds, premises=premises_of_draws(bounds.premises, sample, draws, weighing))

    if max_weight is None and sampling_fractions is None:
        return with_premises(regret_bounds_from_sample(sample, level, threshold, max_regret))
    upper = regret_upper_end(draws, level, threshold)
    high = upper, min(1.0, 2.0 * (upper if threshold is None else regret_upper_end(draws, level, None)))
    bounds = _bounds(draws, level, (np.empty(0), np.empty(0)), high, threshold, max_regret, sample.n_rows)
    cuts = Cuts.of(sample)
    at, above = cuts.regret(cuts.prediction if threshold is None else np.array([threshold]))
    regret = float((np.maximum(at, above) if threshold is None else at).max())
    bounds = replace(with_premises(bounds), n_groups=draws.n_groups)
    return _needing(bounds, regret, lambda times: regret_upper_end(draws, level, threshold, times))


def regret_bounds_from_sample(
    sample: Sample, level: float, threshold: float | None = None, max_regret: float | None = None
) -> RegretBounds:
    """`regret_bounds` of unweighted rows with outcomes 0 or 1, which may have been pooled into cells."""
    n = float(sample.count.sum())
    v = np.concatenate([[0.0], sample.prediction, [1.0]])
    events, others = (np.concatenate([[0.0], part, [0.0]]) / n for part in (sample.ones, sample.count - sample.ones))

    def upper_end(penalised: Callable[[float], float], times: float = 1.0) -> float:
        rows = n * times
        log = math.log(_BETS / level) / rows
        bets = [min(0.5, 10.0 * rows ** (-1.0 / 3.0)) / 2.0**j for j in range(_BETS)]
        return float(min(1.0, *(-math.expm1(-(x * max(0.0, penalised(psi(x) / x)) + log)) / x for x in bets)))

    def everywhere(share: float) -> FloatArray:
        return _penalised(v, events, others, share) + _pooled(sample, share, None)

    def loss(share: float) -> float:
        return 2.0 * mixed(mixture(np.repeat(v, 2), everywhere(2.0 * share)))

    def regret(share: float) -> float:
        if threshold is None:
            return float(everywhere(share).max())
        return _at(threshold, v, events, others, share) + _pooled(sample, share, threshold)

    draws = replace(Draws.of_sample(sample), moved=None)  # the functions below know what cells hold themselves
    several = sample.cell_width > 0.0
    cells, high = (sample.prediction[several], sample.cell_width[several]), (upper_end(regret), upper_end(loss))
    bounds = _bounds(draws, level, cells, high, threshold, max_regret, int(n))
    return _needing(bounds, regret(0.0), lambda times: upper_end(regret, times))


def _needing(bounds: RegretBounds, regret: float, upper_end: Callable[[float], float]) -> RegretBounds:
    """The bounds with about how many rows would decide, by the upper end for `times` as many; as far below as above.

    `regret` is the regret of these rows.
    """
    limit = bounds.max_regret
    if limit is None or bounds.verdict != "undecided":
        return bounds

    def decides(steps: int) -> bool:
        high = upper_end(steps / _STEPS)
        return high < limit or 2.0 * regret - high > limit

    steps = fewest_rows(decides, _STEPS)
    if steps is None:
        return bounds
    groups = None if bounds.n_groups is None else math.ceil(bounds.n_groups * steps / _STEPS)
    return replace(bounds, rows_needed=math.ceil(bounds.n_rows * steps / _STEPS), groups_needed=groups)


def _pooled(sample: Sample, share: float, threshold: float | None) -> float:
    """The most that the mean of gain + share * gain^2 of the rows themselves can exceed that of their cells by.

    A cut or a threshold within a cell gains from its events alone, or from its others alone; a threshold there is at
    most the cell's width from where it was tried.
    """
    width = sample.cell_width
    if not width.any():
        return 0.0
    low, high = np.maximum(sample.prediction - width, 0.0), np.minimum(sample.prediction + width, 1.0)
    ones, zeros = sample.ones / sample.n_rows, (sample.count - sample.ones) / sample.n_rows
    within = np.where(width > 0.0, (1.0 + share) * np.maximum((1.0 - low) * ones, high * zeros), 0.0)
    most = float(within.max())
    if threshold is None:
        return 2.0 * most + (1.0 + 2.0 * share) * float(width.max())
    return most + float(within[(low <= threshold) & (threshold <= high)].max(initial=0.0))


def _bounds(
    draws: Draws,
    level: float,
    cells: Cells,
    high: tuple[float, float],
    threshold: float | None,
    limit: float | None,
    n_rows: int,
) -> RegretBounds:
    """Bounds from the upper ends of regret and decision loss, and lower ends that are learned from draws and bet on.

    `cells` are predictions and widths of cells with several predictions.
    """
    low = lower_end(draws, partial(_best_cut, threshold=threshold, cells=cells), level)
    low_loss = lower_end(draws, partial(_task, cells=cells), level)
    regret, loss = Interval(low, max(low, high[0])), Interval(low_loss, max(low_loss, high[1]))
    verdict = None if limit is None else verdict_of(regret, limit)
    return RegretBounds(regret, loss, threshold, limit, verdict, level, n_rows)


def _best_cut(lesson: Sample, threshold: float | None, cells: Cells) -> Function:
    """Return the gain of these rows' best cut at the threshold, or at the one where they lose most."""
    cuts = Cuts.of(lesson)
    if threshold is not None:
        return _gains(cuts, (Threshold(1.0, threshold, 0.0, after=False),), cells)
    at, above = cuts.regret(cuts.prediction)
    worst = int(np.argmax(np.maximum(at, above)))
    after = bool(above[worst] > at[worst])
    return _gains(cuts, (Threshold(1.0, float(cuts.prediction[worst]), 0.0, after),), cells)


def _task(lesson: Sample, cells: Cells) -> Function:
    """Return the gain of the best cuts in the task in which these rows lose most."""
    cuts = Cuts.of(lesson)
    gain = _gains(cuts, mixture(*regret_corners(cuts)), cells)
    return lambda y, v: 2.0 * gain(y, v)


def _gains(cuts: Cuts, task: tuple[Threshold, ...], cells: Cells) -> Function:
    """Mean gain over a task's thresholds of acting from the best cuts on, by outcome and prediction.

    Of a cell that a threshold or a cut may divide it is the least that its rows can gain.
    """
    middle, width = cells
    ends = np.append(cuts.prediction, np.inf)
    best = ends[cuts.best_at(np.array([each.t for each in task]))].tolist()

    def gain(y: FloatArray, v: FloatArray) -> FloatArray:
        total = np.zeros(v.shape)
        for each, cut in zip(task, best, strict=True):
            acted = v > each.t if each.after else v >= each.t
            value = (y - each.t) * ((v >= cut).astype(np.float64) - acted)
            divided = (np.abs(middle - each.t) <= width) | (np.abs(middle - cut) <= width)
            total += each.share * np.where(np.isin(v, middle[divided]), -np.abs(y - each.t), value)
        return total

    return gain


def _penalised(v: FloatArray, events: FloatArray, others: FloatArray, share: float) -> FloatArray:
    """Most that any cut gains with `share` of the gain's square, at each prediction and just above it, in turn."""
    lower_at, lower_above = penalised_gains(v, events, others, share)
    # Seen from the other end, events and non-events change places, and so do both sides of a threshold.
    higher_above, higher_at = penalised_gains(
        np.ascontiguousarray(1.0 - v[::-1]),
        np.ascontiguousarray(others[::-1]),
        np.ascontiguousarray(events[::-1]),
        share,
    )
    at, above = np.maximum(lower_at, higher_at[::-1]), np.maximum(lower_above, higher_above[::-1])
    return np.column_stack([at, above]).ravel()


def _at(t: float, v: FloatArray, events: FloatArray, others: FloatArray, share: float) -> float:
    """The same at one threshold."""
    now = int(np.searchsorted(v, t))
    ones, zeros = running(events), running(others)
    ones, zeros = ones[now] - ones, zeros[now] - zeros  # of the rows that a cut acts on in addition; below 0: in less
    square = share * (np.abs(ones) * (1.0 - t) ** 2 + np.abs(zeros) * t * t)
    return float(((1.0 - t) * ones - t * zeros + square).max())


_CELLS = 1500
"""Up to so many distinct predictions all thresholds and cuts are tried; more are put together, which is paid for."""
_LARGEST = 0.36  # bets up to here have psi(x) / x < 1/4, on which the proof rests
_UNIT_BETS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines by rising prediction, with their shares of all weight."""

    v: FloatArray  # (n,): prediction
    new: npt.NDArray[np.bool_]  # whether the line's prediction is another one than that of the line before
    # (5, n): w, w y, w s, w s y and w s y^2, with w the share of the weight and s the weight of the line's unit over
    # the most that one can have
    sums: FloatArray
    scale: float  # the most that a unit can weigh, over the sum of all weights

    @classmethod
    def of(cls, draws: Draws) -> Lines:
        """Take them from the units, one of each."""
        total = float(draws.w.sum())
        weight = draws.sums(draws.w) / draws.most
        w, s, y = draws.w / total, weight if draws.unit is None else weight[draws.unit], draws.y
        new = np.append(True, draws.v[1:] > draws.v[:-1])
        return cls(draws.v, new, np.stack([w, w * y, w * s, w * s * y, w * s * y * y]), draws.most / total)

    def mirrored(self) -> Lines:
        """Seen from the other end: 1 - y, 1 - v."""
        w, wy, s, sy, syy = self.sums[:, ::-1]
        new = np.append(True, self.new[:0:-1])  # 1 - v of two predictions may be one and the same number
        return Lines(1.0 - self.v[::-1], new, np.stack([w, w - wy, s, s - sy, s - 2.0 * sy + syy]), self.scale)


def regret_upper_end(draws: Draws, level: float, threshold: float | None, times: float = 1.0) -> float:
    """Return an end, below the population's regret, largest or at a threshold, with probability up to `level`.

    With `times` it is what so many times these units would say, for an estimate of how many are needed.
    """
    lines = Lines.of(draws)
    square = float(lines.sums[2].sum())
    first = min(_LARGEST, 10.0 * (draws.n_units * times) ** (-1.0 / 3.0))
    bets = sorted({_LARGEST, *(first / 2.0**j for j in range(_UNIT_BETS - 1))})
    end = 1.0
    for bet in bets:
        log = math.log(_UNIT_BETS / level) * lines.scale / (bet * times)
        share = psi(bet) / bet
        if threshold is None:
            end = min(end, _everywhere(lines, share, square, log, end))
        else:
            end = min(end, _at_units(lines, threshold, share, square, log))
    return end


def _at_units(lines: Lines, t: float, share: float, square: float, log: float) -> float:
    """The most that any cut allows at one threshold."""
    best = 0.0
    for view, at, side in ((lines, t, "left"), (lines.mirrored(), 1.0 - t, "right")):
        # Rows at the threshold act: they are beyond it seen from below, and before it seen from above.
        ends = int(np.searchsorted(lines.v, t))
        ends = ends if side == "left" else lines.v.size - ends
        part = np.stack([running(np.ascontiguousarray(column[:ends])) for column in view.sums])
        w, wy, s, sy, syy = part[:, -1:] - part
        cross, gained = sy - at * s, wy - at * w + share * (syy - 2.0 * at * sy + at * at * s) + log
        for k in [*np.flatnonzero(view.new[:ends]), ends]:  # cuts fall between distinct predictions
            if best * (1.0 + 2.0 * share * cross[k]) - share * best * best * square < gained[k]:
                best = max(best, reached(float(gained[k]), float(cross[k]), square, share))
    return best


def _everywhere(lines: Lines, share: float, square: float, log: float, enough: float) -> float:
    """The most that any cut at any threshold allows."""
    best = 0.0
    for view in (lines, lines.mirrored()):
        low, high, several, cells = _cells(view)
        sums = np.stack([running(column) for column in cells])
        n = low.size
        part = (1.0 - low) * (cells[1] + share * cells[3])  # events alone can add to it
        places, many = np.arange(n), np.flatnonzero(several)
        t = np.concatenate([low, high, [1.0], low[many], high[many]])
        ends = np.concatenate([places, places + 1, [n], many, many])
        of_threshold = np.concatenate([np.zeros(2 * n + 1), part[many], part[many]])
        begins, of_cut = np.append(np.arange(n + 1), many + 1), np.append(np.zeros(n + 1), part[many])
        order = np.argsort(begins, kind="stable")
        beyond = of_threshold, of_cut[order]
        allowed = most_allowed(t, ends, begins[order], beyond, sums, share, square, log, enough)
        best = float(np.maximum(best, allowed))  # NaN stays
        if best >= enough:
            break
    return best


def _cells(lines: Lines) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_], FloatArray]:
    """Lowest and highest prediction of stretches of about equal weight, whether they have several, what they hold."""
    new = np.flatnonzero(lines.new)
    v, sums = lines.v[new], np.add.reduceat(lines.sums, new, axis=1)
    if v.size > _CELLS:
        place = np.floor(_CELLS * (sums[0].cumsum() - 0.5 * sums[0])).astype(np.int64)
        start = np.flatnonzero(np.append(True, place[1:] > place[:-1]))
        end = np.append(start[1:], v.size)
        return v[start], v[end - 1], end - start > 1, np.ascontiguousarray(np.add.reduceat(sums, start, axis=1))
    return v, v, np.zeros(v.size, np.bool_), np.ascontiguousarray(sums)
