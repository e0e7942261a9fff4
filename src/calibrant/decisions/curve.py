"""Decision curve: the worth of acting on the predictions at every threshold, of a better cut, and a picture of both."""

from __future__ import annotations

__all__ = ["DecisionBand", "DecisionCurve", "decision_curve"]

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant.decisions import catalogue as say
from calibrant.decisions.cases import Cases, drawing
from calibrant.decisions.murphy import Cost, MurphyDiagram, murphy_from_sample
from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples
from calibrant.door.columns import Column, FloatArray, IntArray, as_numbers
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted, plain
from calibrant.kernels.sums import dot
from calibrant.measures.corp import CorpDecomposition
from calibrant.measures.decision_loss import Cuts
from calibrant.resampling.redraw import resampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionCurve(Result):
    """Worth of acting on the predictions at thresholds, per row; made by `decision_curve`.

    (1 - t) times any of the net benefits, and regret, are linear in t between neighbours of the default thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Increasing, in [0, 1): those asked for, or every one at which anything bends or jumps, and 0.
    net_benefit : ndarray of shape (k,)
        Events acted on less t / (1 - t) times the others acted on, as shares of all rows, acting where v >= t.
    net_benefit_after : ndarray of shape (k,)
        Its limit from above, where predictions equal to the threshold no longer act.
    best_net_benefit : ndarray of shape (k,)
        Of the best cut at this threshold; never below 0, `net_benefit` and `treat_all`.
    best_cuts : ndarray of shape (k,)
        The prediction from which on acting is best; infinite where it is best to act on none.
    treat_all : ndarray of shape (k,)
        Net benefit of acting on every row; that of acting on none is 0.
    regret, regret_after : ndarray of shape (k,)
        (1 - t) (best_net_benefit - net_benefit), and its limit from above. In payoff per row: acting on an event is
        worth 1 - t, and leaving another row alone t.
    base_rate : float
        Share of events.
    n_rows : int
        Rows.

    See Also
    --------
    decision_curve, DecisionBand
    """

    thresholds: FloatArray
    net_benefit: FloatArray
    net_benefit_after: FloatArray
    best_net_benefit: FloatArray
    best_cuts: FloatArray
    treat_all: FloatArray
    regret: FloatArray
    regret_after: FloatArray
    base_rate: float
    n_rows: int
    _cuts: Cuts = field(repr=False)
    _cases: Cases = field(repr=False)

    def summary(self) -> str:
        """Say where most is lost, or of a single threshold what acting there is worth."""
        if self.thresholds.size == 1:
            return self._sentence(0)
        worst = int(np.argmax(np.maximum(self.regret, self.regret_after)))
        most = max(self.regret[worst], self.regret_after[worst])
        where = f"{counted(self.thresholds.size, 'threshold')} in [0, 1)"
        if most == 0.0:
            return say.NOTHING_LOST.format(where=where)
        threshold, rows = self.thresholds[worst], counted(self.n_rows, "row")
        of_rows = {"rows": rows, "base_rate": self.base_rate}
        return say.MOST_LOST.format(most=most, threshold=threshold, where=where, **of_rows)

    def _sentence(self, k: int) -> str:
        cut, lost = self.best_cuts[k], self.regret[k]
        where = "act on none" if cut == np.inf else f"act from {cut:.6g} on"
        loss = "no cut is better" if lost == 0.0 else say.LOST.format(lost=lost, where=where)
        worth = {"own": self.net_benefit[k], "best": self.best_net_benefit[k], "of_all": self.treat_all[k]}
        return say.AT_THRESHOLD.format(threshold=self.thresholds[k], loss=loss, **worth)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dicts, lists, numbers and words, as JSON has them."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self) if not each.name.startswith("_")}

    def at(self, *thresholds: float) -> DecisionCurve:
        """Return the curve at these thresholds in [0, 1) alone, exactly, in increasing order.

        Parameters
        ----------
        *thresholds : float
            One or more: rows with predictions from there on are acted on.

        Raises
        ------
        InputError
            If one is not in [0, 1), or there is none.
        """
        return _curve(self._cuts, self._cases, _read_thresholds(thresholds))

    def band(
        self, *, level: float = 0.05, n_resamples: int = N_RESAMPLES, random_state: RandomState = None
    ) -> DecisionBand:
        """Return a band that holds the population's net benefit at all its thresholds together.

        Parameters
        ----------
        level : float, default 0.05
            Probability that it misses the population's net benefit anywhere.
        n_resamples : int, default 999
            Resamples of rows (of groups, where there are any).
        random_state : int, numpy.random.Generator or None
            The same number gives the same band.

        Returns
        -------
        DecisionBand
            At these thresholds, or where there are more at 256 of them, evenly by rank (with weights or groups 64).

        Raises
        ------
        InputError
            If an option cannot be used, or there are too few resamples for the level. If there are fewer than 10 events
            or 10 other rows (of groups: groups with one).

        Notes
        -----
        Bootstrap-t: in each resample the deviation at each threshold is divided by the resample's own standard error.
        Two events and two other rows are added to its square. The largest deviation above and below gives a factor for
        each side. It is valid in large samples; docs/decisions.md has its coverage measured, rare events too. Cost: per
        resample a draw for each threshold; with weights or groups, for each row at each.
        """
        return band_of(self._cases, self.thresholds, level, n_resamples, random_state)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band: DecisionBand | None = None,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Axes:
        """Draw net benefit by threshold on a matplotlib Axes, a new one by default, and return it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            What to draw on.
        band : DecisionBand, optional
            Drawn below the curve.
        name, label, color
            As one of several models, without the best cut: as for `ReliabilityDisplay.from_predictions`.
        """
        draw = drawing("diagram", "draw_decision_curve")
        return cast("Axes", draw(self, ax, band, name=name, label=label, color=color))


def decision_curve(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    thresholds: Sequence[float] | FloatArray | None = None,
    trials: Column | None = None,
    groups: Any = None,
) -> DecisionCurve:
    """Return what acting on the predictions is worth at every threshold, and what the best cut would be worth.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    thresholds : sequence of float, optional
        Probabilities in [0, 1) at which it is worth acting; by default every one at which anything bends or jumps.
    trials : column of shape (n,), optional
        Number of trials of each row; `y_true` is their share of events: it counts as so many rows.
    groups : column of shape (n,), optional
        Which group a row belongs to; `band` draws groups, as rows within one need not be independent.

    Returns
    -------
    DecisionCurve
        Net benefits and regret, exact at every threshold by ``.at(t)``; ``.band()``, ``.plot()``.

    Raises
    ------
    InputError
        If a column or a threshold cannot be used; the message names it and what is allowed.

    See Also
    --------
    murphy_diagram, regret_bounds, monotone_decision_loss, clinical_calibration

    Notes
    -----
    Acting at probability t or above means that a needless action costs t / (1 - t) of a missed event. Acting where v >=
    t has net benefit mean(y [v >= t]) - t / (1 - t) mean((1 - y) [v >= t]). The best cut at each threshold is where the
    isotonic reliability curve passes it: for all thresholds together the hull of the ROC curve. Cost: a sort, then
    O(m), with m distinct predictions.

    References
    ----------
    Vickers and Elkin, Decision curve analysis: a novel method for evaluating prediction models, Medical Decision Making
    26, 2006. Provost and Fawcett, Robust classification for imprecise environments, Machine Learning 42, 2001 (hull).

    Examples
    --------
    >>> from calibrant import decision_curve
    >>> curve = decision_curve([0, 0, 1, 1], [0.2, 0.4, 0.4, 0.6])
    >>> found = curve.at(0.5)
    >>> found.net_benefit.tolist(), found.best_net_benefit.tolist(), found.best_cuts.tolist(), found.regret.tolist()
    ([0.25], [0.25], [0.4], [0.0])
    >>> curve.at(0.35, 0.45).regret.round(6).tolist()
    [0.0, 0.025]
    """
    cases = Cases.read(y_true, y_prob, sample_weight, trials, groups)
    cuts = Cuts.of(cases.sample)
    at = breakpoints(cuts) if thresholds is None else _read_thresholds(thresholds)
    return _curve(cuts, cases, at)


def breakpoints(cuts: Cuts) -> FloatArray:
    """Thresholds in [0, 1) at which anything bends or jumps, and 0."""
    bends = np.unique(np.append(0.0, cuts.rate))
    where = np.searchsorted(cuts.prediction, bends)
    new = np.append(cuts.prediction, np.inf)[where] != bends
    at = np.insert(cuts.prediction, where[new], bends[new])
    return at[: np.searchsorted(at, 1.0)]


def _read_thresholds(thresholds: Sequence[float] | FloatArray) -> FloatArray:
    at = as_numbers(np.asarray(thresholds), "thresholds")
    if at.size == 0:
        raise InputError(
            "thresholds", "is empty", allowed="at least one is needed, or None for every bend of the curve"
        )
    bad = ~((at >= 0.0) & (at < 1.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("thresholds", f"number {row} is {at[row]:g}", row=row, allowed="each must lie in [0, 1)")
    return np.unique(at + 0.0)


def _curve(cuts: Cuts, cases: Cases, t: FloatArray) -> DecisionCurve:
    rate = float(cuts.events[-1])
    best, now, after = cuts.best_at(t), cuts.now(t), cuts.after(t)
    value, value_after = cuts.worth(t, now), cuts.worth(t, after)
    every = cuts.worth(t, np.zeros(t.size, np.int64))
    return DecisionCurve(
        thresholds=t,
        net_benefit=value,
        net_benefit_after=value_after,
        # They differ by rounding only; nothing is gained by acting on none.
        best_net_benefit=np.maximum.reduce([cuts.worth(t, best), value, value_after, every, np.zeros(t.size)]),
        best_cuts=np.append(cuts.prediction, np.inf)[best],
        treat_all=every,
        regret=cuts.lost(t, now, best),
        regret_after=cuts.lost(t, after, best),
        base_rate=rate,
        n_rows=int(cases.v.size),
        _cuts=cuts,
        _cases=cases,
    )


_MOST, _MOST_OF_UNITS = 256, 64  # thresholds; fewer where each resample is a pass over all units
_POINTS = 400  # of a picture: thresholds, and points of each curve
_LEAST = 10  # of each outcome: with five events in 1,000 rows the band missed 12% at nominal 5%
_EVENTS, _OTHERS = ("event", "events"), ("row without the event", "rows without the event")
_UNSEEN = 2.0  # events and other rows that are added to the variance, as if seen: where none acts it is not 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionBand(Result):
    """A band that holds the population's net benefit at all its thresholds with probability 1 - level.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Where it is given, increasing.
    net_benefit, net_benefit_lower, net_benefit_upper : ndarray of shape (k,)
        Net benefit of acting on the predictions, and the band's ends.
    level : float
        Probability that it misses anywhere.
    n_resamples : int
        Resamples behind it.

    See Also
    --------
    DecisionCurve, decision_curve
    """

    thresholds: FloatArray
    net_benefit: FloatArray
    net_benefit_lower: FloatArray
    net_benefit_upper: FloatArray
    level: float
    n_resamples: int

    def summary(self) -> str:
        """Say where acting on the predictions is worth something, for sure."""
        above, sure = self.net_benefit_lower > 0.0, confidence(self.level)
        where = counted(self.thresholds.size, "threshold")
        if not above.any():
            return say.NOWHERE_ABOVE.format(where=where, sure=sure)
        low, high = self.thresholds[above][[0, -1]]
        return say.ABOVE.format(n=int(above.sum()), where=where, low=low, high=high, sure=sure)


def band_of(
    cases: Cases, thresholds: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> DecisionBand:
    """The band at these thresholds, or at some of them, evenly by rank."""
    cases = cases.single()
    if cases.plain:
        return band_of_sample(cases.sample, thresholds, level, n_resamples, random_state)
    level = _checked(level, n_resamples)
    for share, kind in ((cases.y, _EVENTS), (1.0 - cases.y, _OTHERS)):
        units = int(np.count_nonzero(cases.by_unit(cases.weight * share)))
        _check_enough(units, kind if cases.unit is None else [f"{each} with {kind[1]}" for each in ("group", "groups")])
    shares = cases.by_unit(cases.weight)
    unit = float((shares**3).sum() / (shares**2).sum())  # 1 / n where all weigh the same
    t = _some(thresholds, _MOST_OF_UNITS)
    return _band_of_worths(*_of_units(cases, t, n_resamples, random_state), unit, t, level, n_resamples)


def band_of_sample(
    sample: Sample, thresholds: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> DecisionBand:
    """The same of single outcomes, each counted once and drawn by itself."""
    level = _checked(level, n_resamples)
    _check_enough(int(sample.ones.sum()), _EVENTS)
    _check_enough(int((sample.count - sample.ones).sum()), _OTHERS)
    t = _some(thresholds, _MOST)
    return _band_of_worths(*_of_rows(sample, t, n_resamples, random_state), 1.0 / sample.n_rows, t, level, n_resamples)


def _checked(level: float, n_resamples: int) -> float:
    level = check_level(level)
    check_resamples(n_resamples, level, share=0.5)
    return level


def _check_enough(units: int, nouns: Sequence[str]) -> None:
    """Refuse rows among which a resample finds too few of these."""
    if units < _LEAST:
        raise InputError("y_true", f"has {counted(units, *nouns)}", allowed=f"a band is drawn from {_LEAST} or more")


def _some(t: FloatArray, most: int) -> FloatArray:
    return t[_evenly(t.size, most)]


def _evenly(n: int, most: int = _POINTS) -> IntArray:
    """Numbers of at most so many of n points, evenly, both ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _band_of_worths(
    observed: Worths, redrawn: Worths, unit: float, t: FloatArray, level: float, n_resamples: int
) -> DecisionBand:
    """The band, from what the rows give and what resamples do; `unit` is the share that a row has."""
    unseen = _UNSEEN * ((1.0 - t) ** 2 + t * t) * unit * unit
    (worth, variance), (worths, variances) = observed, redrawn
    z = (worths - worth) / np.sqrt(variances + unseen)
    farthest = np.sort(np.column_stack([z.max(axis=1), -z.min(axis=1)]), axis=0)
    above, below = farthest[int(np.ceil((1.0 - 0.5 * level) * (n_resamples + 1) - 1e-9)) - 1]
    error = np.sqrt(variance + unseen)
    lower, upper = worth - above * error, worth + below * error
    price = 1.0 - t
    return DecisionBand(t, worth / price, lower / price, upper / price, level, int(n_resamples))


# Net benefit times 1 - t at each threshold, and its variance: of shape (k,), of resamples (n_resamples, k).
Worths = tuple[FloatArray, FloatArray]


def _acting(mass: FloatArray) -> FloatArray:
    """Sum a mass over the rows that act at each threshold; a cell is the number of thresholds at which a row acts."""
    return np.asarray(mass[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:])


def _of_rows(sample: Sample, t: FloatArray, n_resamples: int, random_state: RandomState) -> tuple[Worths, Worths]:
    """Rows drawn with replacement, counted in cells: multinomial, so that a resample costs no pass over the rows."""
    n = sample.n_rows
    cell = np.searchsorted(t, sample.prediction, side="right")
    counts = [np.bincount(cell, part, t.size + 1) for part in (sample.count - sample.ones, sample.ones)]
    chance = np.stack(counts, axis=1).ravel() / n

    def worths(share: FloatArray) -> Worths:
        events, others = _acting(share[..., 1::2]), _acting(share[..., ::2])
        worth = (1.0 - t) * events - t * others
        return worth, np.maximum((1.0 - t) ** 2 * events + t * t * others - worth * worth, 0.0) / n

    draws = resampled(lambda rng: rng.multinomial(n, chance), t.size, n_resamples, random_state)
    return worths(chance), worths(draws / n)


def _of_units(cases: Cases, t: FloatArray, n_resamples: int, random_state: RandomState) -> tuple[Worths, Worths]:
    """Rows of other weights, or groups, drawn with replacement."""
    weight = cases.by_unit(cases.weight)
    worths = np.stack([cases.by_unit(cases.weight * (cases.y - at) * (cases.v >= at)) for at in t], axis=1)
    squares, crossed, n = worths**2, worths * weight[:, None], cases.n_units

    def of(times: FloatArray) -> Worths:
        whole = max(dot(times, weight), 1e-300)
        worth, square, cross = (np.einsum("u,uk->k", times, each) for each in (worths, squares, crossed))
        worth = worth / whole
        spread = square - 2.0 * worth * cross + worth * worth * dot(times, weight**2)
        return worth, np.maximum(spread, 0.0) / whole**2

    def again(rng: np.random.Generator) -> Worths:
        return of(np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64))

    draws = resampled(again, t.size, n_resamples, random_state)
    return of(np.ones(n)), (draws[:, 0], draws[:, 1])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Acting(Result):
    """Decision curve, its band, and the Murphy diagram, at no more thresholds than a picture needs."""

    # (k,): increasing, in [0, 1): where the curve bends or jumps, at most 400 of them evenly by rank, and the one of
    # the cost
    thresholds: FloatArray
    # net_benefit, net_benefit_after, best_net_benefit, treat_all: (k,), as in `DecisionCurve`, exact at these
    # thresholds
    net_benefit: FloatArray
    net_benefit_after: FloatArray
    best_net_benefit: FloatArray
    treat_all: FloatArray
    at: int  # which of the thresholds is that of the cost
    base_rate: float  # share of events
    band: DecisionBand | None  # for the population's net benefit, where it can be drawn
    no_band: str | None  # why there is none
    murphy: MurphyDiagram  # elementary scores by threshold, ROC and reliability curve, each thinned in the same way

    @property
    def threshold(self) -> float:
        """That of the cost."""
        return float(self.thresholds[self.at])

    def summary(self) -> str:
        """Say what acting is worth at the threshold of the cost."""
        worth = (self.net_benefit, self.best_net_benefit, self.treat_all)
        own, best, every = (float(each[self.at]) for each in worth)
        return (
            f"At the threshold {self.threshold:.4g} the net benefit is {own:.4g}; of the best cut {best:.4g}, of "
            f"acting on all {every:.4g}, on none 0."
        )


def acting_from_sample(
    sample: Sample,
    cost: Cost,
    n_resamples: int,
    random_state: RandomState,
    *,
    single: bool = True,
    corp: CorpDecomposition | None = None,
    cuts: Cuts | None = None,
) -> Acting:
    """Decision curve, band and Murphy diagram of a sample; the cost's threshold is one of the curve's.

    Outcomes that are not `single` are trials of common rows, or rows of common groups; `corp` and `cuts` are the
    sample's if known.
    """
    cuts = Cuts.of(sample) if cuts is None else cuts
    t = np.union1d(_some(breakpoints(cuts), _POINTS), cost.threshold)
    best, now, after = cuts.best_at(t), cuts.now(t), cuts.after(t)
    band: DecisionBand | None = None
    no_band: str | None = say.NOT_INDEPENDENT
    if single:
        band, no_band = _band(sample, t, cost.level, n_resamples, random_state)
    return Acting(
        thresholds=t,
        net_benefit=cuts.worth(t, now),
        net_benefit_after=cuts.worth(t, after),
        best_net_benefit=np.maximum(cuts.worth(t, best), 0.0),
        treat_all=cuts.worth(t, np.zeros(t.size, np.int64)),
        at=int(np.searchsorted(t, cost.threshold)),
        base_rate=float(cuts.events[-1]),
        band=band,
        no_band=no_band,
        murphy=_thinned_diagram(murphy_from_sample(sample, corp, cuts, _evenly)),
    )


def _band(
    sample: Sample, t: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> tuple[DecisionBand | None, str | None]:
    """The band, or why there is none."""
    if n_resamples == 0:
        return None, "no resamples were asked for"
    if not sample.binary:
        return None, say.NO_TRIALS
    if not np.array_equal(sample.weight, sample.count):
        return None, say.WEIGHTS_DIFFER
    if sample.cell_width.any():
        return None, "rows were pooled into cells"
    try:
        return band_of_sample(sample, t, level, n_resamples, random_state), None
    except InputError as problem:
        return None, say.TOO_FEW.format(problem=problem.problem, allowed=problem.allowed)


def _thinned_diagram(diagram: MurphyDiagram) -> MurphyDiagram:
    """The diagram with some points of the ROC curve (the hull's first) and of the isotonic one."""
    hull = diagram.on_hull[_evenly(diagram.on_hull.size)]
    points = np.union1d(_evenly(diagram.true_positive_rate.size), hull)
    corp = diagram.corp
    some = _evenly(corp.prediction.size)
    return replace(
        diagram,
        false_positive_rate=diagram.false_positive_rate[points],
        true_positive_rate=diagram.true_positive_rate[points],
        on_hull=np.searchsorted(points, hull),
        corp=CorpDecomposition(
            corp.mean_score,
            corp.miscalibration,
            corp.discrimination,
            corp.uncertainty,
            corp.prediction[some],
            corp.recalibrated[some],
            corp.mass[some],
        ),
    )
