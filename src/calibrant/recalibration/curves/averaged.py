"""One map for every size of sample: an average of smooth maps, each shrunk to the identity (docs/recalibration.md).

The corrected log-odds are x + B(x) c, x the log-odds of the prediction. A member of the average says which columns of
B may differ from 0, and how far: its coefficients have independent normal priors. Each member is fitted by its
posterior mode and weighed by its evidence, both by Laplace's method. Nothing is drawn, and no rows are held out.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import flag
from calibrant.door.columns import FloatArray
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.special import expit
from calibrant.kernels.isotonic import isotonic
from calibrant.measures.logistic import inner_expit
from calibrant.recalibration.curves.base import Curve, Levels, register_map
from calibrant.recalibration.kinds import check
from calibrant.threads import one_thread

_CELLS = 600  # of equal weight, into which neighbouring predictions are pooled
_KNOTS, _MORE_KNOTS = 12, 24
MANY_ROWS = 20_000  # from which on there are more knots, and halves check each other
_LEAST_SPREAD = 0.05  # of log-odds: of nearly equal ones no slope is told
_POINTS = 400  # at which the fitted map is kept, evenly; the cells' own are added
_STEPS, _HALVINGS, _ENOUGH = 40, 14, 1e-7
_ROUNDING = 1e-13  # of a log posterior, relative: a gain that is smaller cannot be seen
_ALONE, _SHARE, _TIMES, _MOST = 20.0, 0.01, 10.0, 12  # of a value that stands out: rows, their share, medians; how many
_SAME = 1e-9  # of log-odds, and relative: what is nearer to such a value is that value
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(21)  # of a standard normal
_SHARES = _SHARES / _SHARES.sum()
_NO_WEIGHT = 1e-9  # of a member that is left out of the mean of probabilities
# No fit is farther: at the mode the prior's term is at most what all rows lose at 0, 750 each, so that a coefficient is
# at most 5 (1500 n)^(1/2), and there are 50 columns of at most 1,500 each; n is at most 2^53.
_FARTHEST = 1e16
_CLIP = 1e-12  # how near to 0 and 1 predictions are read where none was certain
_CERTAIN = 1e-3  # and, at least, where some were


class Scales(NamedTuple):
    """Standard deviations of a member's coefficients; 0 where it has none."""

    offset: float = 0.0
    line: float = 0.0
    temperature: float = 0.0
    bend: float = 0.0
    spline: float = 0.0
    bumps: float = 0.0
    values: float = 0.0


_TERMS = 4  # of the first four one column each
_THREE = (0.15, 0.5, 1.5)
_FOUR = (0.1, 0.3, 1.0, 3.0)
MEMBERS: dict[str, tuple[float, tuple[Scales, ...]]] = {
    "identity": (0.30, (Scales(),)),
    "offset": (0.20, tuple(Scales(a) for a in _THREE)),
    "temperature": (0.15, tuple(Scales(temperature=t) for t in _THREE)),
    "line": (0.13, tuple(Scales(a, b) for a in _THREE for b in _THREE)),
    "bend": (0.04, tuple(Scales(a, b, bend=c) for a in (0.15, 1.0) for b in (0.5, 1.5, 5.0) for c in (0.5, 1.5, 5.0))),
    "spline": (0.08, tuple(Scales(a, b, spline=s) for a in _THREE for b in (0.15, 0.5) for s in _FOUR)),
    "bend and spline": (
        0.02,
        tuple(
            Scales(a, b, bend=c, spline=s)
            for a in (0.15, 1.0)
            for b in (0.5, 1.5)
            for c in (1.5, 5.0)
            for s in (0.1, 0.3, 1.0)
        ),
    ),
    "bumps": (0.08, tuple(Scales(a, b, bumps=s) for a in (0.15, 0.5) for b in (0.15, 0.5) for s in _FOUR)),
    "values": (0.05, tuple(Scales(a, b, values=u) for a in _THREE for b in _THREE for u in (0.3, 1.0, 3.0))),
    "spline and values": (
        0.03,
        tuple(
            Scales(a, b, spline=s, values=u)
            for a in (0.15, 0.5)
            for b in (0.15, 0.5)
            for s in (0.1, 0.3, 1.0)
            for u in (0.3, 1.0, 3.0)
        ),
    ),
}
"""Members by name: the prior weight, shared evenly by its scales. The last two are for values that stand out."""


@dataclass(frozen=True, slots=True, eq=False)
class LogitCells:
    """Neighbouring log-odds pooled: mean log-odds, effective rows and effective events of each.

    Where rows were sampled by outcome, all log-odds in the file are larger than in the population by `shift`. Of
    `values` that many rows share, where others are hardly shared, each is a cell of its own.
    """

    x: FloatArray
    rows: FloatArray
    events: FloatArray
    shift: float = 0.0
    values: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def mass(self) -> FloatArray:
        """Share of each in the population."""
        weight = self.rows if self.shift == 0.0 else self.rows + self.events * float(np.expm1(-self.shift))
        return np.asarray(weight / weight.sum())

    @classmethod
    def of(cls, x: FloatArray, rows: FloatArray, rate: FloatArray, shift: float = 0.0) -> LogitCells:
        """Pool increasing log-odds to cells of about equal weight."""
        place = np.cumsum(rows)
        place -= rows / 2.0
        place /= rows.sum()
        place *= _CELLS
        cell = np.minimum(place, _CELLS - 1, out=place).astype(np.int64)
        del place
        alone = _stand_out(rows)
        starts = np.flatnonzero(np.r_[True, (cell[1:] != cell[:-1]) | alone[1:] | alone[:-1]])
        total = np.add.reduceat(rows, starts)
        means = np.add.reduceat(rows * x, starts) / total
        return cls(means, total, np.add.reduceat(rows * rate, starts), shift, x[alone])

    def mean(self, values: FloatArray) -> float:
        """Mean over the rows."""
        return float((self.rows * values).sum() / self.rows.sum())

    def deviation(self, values: FloatArray) -> float:
        """Standard deviation over the rows, no less than what a slope can be told from."""
        return max(float(np.sqrt(self.mean((values - self.mean(values)) ** 2))), _LEAST_SPREAD)


def _stand_out(rows: FloatArray) -> npt.NDArray[np.bool_]:
    """Which values stand out: those that many rows share, where others are hardly shared; the heaviest of them."""
    least = np.sort(rows)[-_MOST:][0]
    return np.asarray(rows >= max(_ALONE, _SHARE * rows.sum(), _TIMES * float(np.median(rows)), least))


def _same(x: FloatArray, values: FloatArray) -> npt.NDArray[np.bool_]:
    """Which log-odds are which of the values, shape (x.size, values.size)."""
    return np.asarray(np.abs(x[:, None] - values) <= _SAME * (1.0 + np.abs(values)))


class Spline:
    """Natural cubic splines through given values at the knots."""

    def __init__(self, knots: FloatArray, values: FloatArray) -> None:
        self.knots, self.values = knots, values
        gap = np.diff(knots)
        bent = np.zeros((knots.size, knots.size))
        inner = np.arange(1, knots.size - 1)
        bent[inner, inner - 1], bent[inner, inner], bent[inner, inner + 1] = gap[:-1], 2 * (gap[:-1] + gap[1:]), gap[1:]
        bent[0, 0] = bent[-1, -1] = 1.0
        slopes = np.diff(values, axis=0) / gap[:, None]
        self.second = np.linalg.solve(bent, np.pad(6.0 * np.diff(slopes, axis=0), ((1, 1), (0, 0))))

    def inside(self, x: FloatArray) -> FloatArray:
        """Values at x, those beyond a last knot as at it."""
        k, z = self.knots, np.clip(x, self.knots[0], self.knots[-1])
        i = np.clip(np.searchsorted(k, z, side="right") - 1, 0, k.size - 2)
        gap = (k[i + 1] - k[i])[:, None]
        right = (z - k[i])[:, None] / gap
        left = 1.0 - right
        bends = (left**3 - left) * self.second[i] + (right**3 - right) * self.second[i + 1]
        return np.asarray(left * self.values[i] + right * self.values[i + 1] + bends * gap**2 / 6.0)

    def onwards(self, x: FloatArray) -> FloatArray:
        """Values at x, beyond a last knot as a line."""
        k, v, gap = self.knots, self.values, np.diff(self.knots)
        first = (v[1] - v[0]) / gap[0] - gap[0] * self.second[1] / 6.0
        last = (v[-1] - v[-2]) / gap[-1] + gap[-1] * self.second[-2] / 6.0
        below, above = np.minimum(x - k[0], 0.0)[:, None], np.maximum(x - k[-1], 0.0)[:, None]
        return np.asarray(self.inside(x) + below * first + above * last)


class Basis:
    """Columns of the correction: constant, slope, temperature, bend, a spline's, bumps', single values'.

    They are constant beyond the rows.
    """

    def __init__(self, cells: LogitCells, n_knots: int) -> None:
        x = cells.x
        self.ends, self.values = (float(x[0]), float(x[-1])), cells.values
        self.centre, self.spread = cells.mean(x), cells.deviation(x)
        self.spread_of_bend = cells.deviation(_bend(x))
        knots = _knots(cells, n_knots, 1e-6 * self.spread)
        self.spline = self.bumps = None
        if knots.size >= 4:
            walk = np.asarray(
                np.linalg.pinv(np.diff(np.eye(knots.size), 2, axis=0)), np.float64
            )  # what second differences add up to
            size = np.sqrt(cells.mean((Spline(knots, walk).inside(x) ** 2).sum(axis=1)))
            self.spline, self.bumps = Spline(knots, walk / size), Spline(knots, np.eye(knots.size))

    def deviations(self, scales: Scales) -> FloatArray | None:
        """Prior standard deviation of each column's coefficient; None where there are no columns, or too few knots."""
        if scales.values and not self.values.size:
            return None
        values = np.full(self.values.size, scales.values)
        if self.spline is None or self.bumps is None:
            return None if scales.spline or scales.bumps else np.concatenate([scales[:_TERMS], values])
        n = self.bumps.knots.size
        return np.concatenate([scales[:_TERMS], np.full(n - 2, scales.spline), np.full(n, scales.bumps), values])

    def __call__(self, x: FloatArray) -> FloatArray:
        """The columns at log-odds x, shape (x.size, columns)."""
        z = np.clip(x, *self.ends)
        terms = (np.ones(z.size), (z - self.centre) / self.spread, z / self.spread, _bend(z) / self.spread_of_bend)
        columns = [np.stack(terms, axis=1)]
        if self.spline is not None and self.bumps is not None:
            columns += [self.spline.onwards(z), self.bumps.inside(z)]
        return np.concatenate([*columns, _same(z, self.values)], axis=1)


def _bend(x: FloatArray) -> FloatArray:
    return np.asarray(np.sign(x) * np.log1p(np.abs(x)))


def _knots(cells: LogitCells, number: int, apart: float) -> FloatArray:
    """Quantiles by the standard deviation of outcomes, so that certain predictions do not take all of them."""
    share = np.cumsum(cells.rows * np.sqrt(expit(cells.x) * expit(-cells.x)))
    if share[-1] <= 0.0:
        return np.empty(0)
    knots = np.unique(np.interp((np.arange(number) + 0.5) / number * share[-1], share, cells.x))
    return np.asarray(knots[np.r_[True, np.diff(knots) > apart]])


class Member(NamedTuple):
    """A fitted member: its name, weight in the average, coefficients, a root of their posterior covariance, and the
    logarithm of its weight up to a constant."""

    name: str
    weight: float
    coefficients: FloatArray
    root: FloatArray
    log_weight: float


def fitted_members(cells: LogitCells, basis: Basis) -> tuple[list[Member], float]:
    """Every member at its posterior mode, weighed by prior and evidence, and the log evidence of all."""
    columns = basis(cells.x)
    fits: list[tuple[str, float, FloatArray, FloatArray]] = []
    for name, (prior, grid) in MEMBERS.items():
        start = np.zeros(columns.shape[1])
        for scales in grid:
            deviation = basis.deviations(scales)
            if deviation is not None:
                start, evidence, root = _mode(columns, cells, deviation, start)
                fits.append((name, evidence + float(np.log(prior / len(grid))), start, root))
    log_weight = np.array([each[1] for each in fits])
    weight = np.exp(log_weight - log_weight.max())
    evidence = float(log_weight.max() + np.log(weight.sum()))
    weight /= weight.sum()
    return [Member(n, float(w), c, r, e) for (n, e, c, r), w in zip(fits, weight, strict=True)], evidence


def _mode(
    columns: FloatArray, cells: LogitCells, deviation: FloatArray, start: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Posterior mode by Newton's method, log evidence by Laplace's, and a root of the inverse of the Hessian."""
    free = deviation > 0.0
    used, precision, c, base = columns[:, free], deviation[free] ** -2.0, start[free], cells.x + cells.shift

    def log_posterior(c: FloatArray) -> tuple[float, FloatArray]:
        h = base + used @ c
        softplus = np.maximum(h, 0.0) + np.log1p(np.exp(-np.abs(h)))
        fit = float((cells.events * h - cells.rows * softplus).sum() - 0.5 * (precision * c * c).sum())
        return fit, h

    def derivatives(c: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, rest = _both_expits(h)
        spread = (cells.rows * mean * rest)[:, None]
        gradient = used.T @ (cells.events - cells.rows * mean) - precision * c
        return (used * spread).T @ used + np.diag(precision), gradient

    best, h = log_posterior(c)
    for _ in range(_STEPS if free.any() else 0):
        curvature, gradient = derivatives(c, h)
        step = np.linalg.solve(curvature, gradient)
        last = float(gradient @ step) < 2.0 * max(_ENOUGH, _ROUNDING * abs(best))
        for _ in range(_HALVINGS):
            reached, moved = log_posterior(c + step)
            if last or reached >= best:  # what the last step gains may be less than rounding: it is taken whole
                break
            step /= 2.0
        else:
            break
        c, h, best = c + step, moved, reached
        if last:
            break
    coefficients, root = np.zeros(free.size), np.zeros((free.size, int(free.sum())))
    coefficients[free] = c
    if not free.any():
        return coefficients, best, root
    factor = np.linalg.cholesky(derivatives(c, h)[0])
    root[free] = np.linalg.inv(factor).T
    evidence = best + 0.5 * float(np.log(precision).sum()) - float(np.log(np.diag(factor)).sum())
    return coefficients, evidence, root


@register_map("averaged", "the averaged map", order=90)
class AveragedCurve(Curve):
    """Average of smooth maps, each shrunk to the identity, weighed by how well they explain the rows."""

    estimator_name = "AveragedScaling"

    def __init__(self, monotone: bool = True) -> None:
        self.monotone = monotone

    def _check_parameters(self) -> None:
        flag(self.monotone, "monotone")

    def _check_fitted(self) -> None:
        size = self.log_odds_.size
        check(self.clip_.size == 2, "clip_", "must be two distances, from 0 and from 1")
        check((self.clip_ > 0.0) & (self.clip_ <= 1.0), "clip_", "must be two distances, from 0 and from 1")
        for name in ("log_odds_", "corrected_", "spread_"):
            check(np.abs(getattr(self, name)) <= _FARTHEST, name, f"must lie within {_FARTHEST:g} of 0")
        check(size > 0, "log_odds_", "must not be empty")
        check(bool((np.diff(self.log_odds_) > 0.0).all()), "log_odds_", "must increase")
        check(self.corrected_.size == self.spread_.size == size, "corrected_", "must be one for each log-odds")
        check(self.spread_ >= 0.0, "spread_", "must not be negative")
        check(not self.monotone or bool((np.diff(self.corrected_) >= 0.0).all()), "corrected_", "must not fall")
        check(set(self.weights_) <= set(MEMBERS), "weights_", f"must be of {', '.join(MEMBERS)}")
        super()._check_fitted()

    def fit_rows(self, rows: Rows) -> Self:
        """Fit the map to single rows, with their weights, trials and groups; the order of the rows does not show."""
        if rows.fractions is not None and sampled_by_outcome(rows):
            self._check_parameters()
            self._fit(unweighted(rows).sample, shift=float(np.log(rows.fractions.events / rows.fractions.without)))
            return self
        self.fit_sample(rows.sample)
        if rows.group is not None:
            effect = self._design_effect(rows)
            if effect > 1.0:
                self._fit(rows.sample, effect)
        return self

    def _design_effect(self, rows: Rows) -> float:
        """Variance of the sum of what groups lack from the map, over that of as many independent rows."""
        assert rows.group is not None
        weight = np.ones(rows.y_prob.size) if rows.weight is None else rows.weight
        order = np.lexsort((rows.y_true, rows.count, weight, rows.y_prob, rows.group))
        group, count, weight = rows.group[order], rows.count[order], weight[order]
        mean = self._map(rows.y_prob[order])
        total = np.bincount(group, weight * (rows.y_true[order] - count * mean))
        return float((total**2).sum() / (weight**2 * count * mean * (1.0 - mean)).sum())

    def _fit(self, sample: Sample, design_effect: float = 1.0, shift: float = 0.0) -> None:
        levels = Levels.from_sample(sample)
        n = max(1.0, levels.effective_rows / design_effect)
        rows = levels.mass * n
        self.clip_ = _clip(levels.prediction, rows)
        cells = LogitCells.of(self.log_odds(levels.prediction), rows, levels.rate, shift)
        self.fit_cells(cells, Basis(cells, _MORE_KNOTS if n >= MANY_ROWS else _KNOTS))

    def fit_cells(self, cells: LogitCells, basis: Basis) -> None:
        """Fit the map to cells, by given columns."""
        with one_thread():  # more threads would round otherwise
            members, self.log_evidence_ = fitted_members(cells, basis)
        self.members_, self.basis_, self.cells_ = members, basis, cells
        self.weights_ = {name: min(1.0, float(sum(m.weight for m in members if m.name == name))) for name in MEMBERS}
        grid = np.unique(np.r_[np.linspace(*basis.ends, _POINTS), cells.x, _beside(basis)])
        weight, corrections, variance = self._posterior(grid)
        # Of one outcome alone the likelihood is flat, and the normal at its mode far wider than the posterior.
        known = min(float(cells.events.sum()), float((cells.rows - cells.events).sum())) >= 1.0
        deviation = np.sqrt(variance) if known else np.zeros_like(variance)
        self.log_odds_, self.corrected_ = grid, _log_odds_of_mean(weight, grid + corrections, deviation)
        if self.monotone:
            light = 1e-6 * cells.rows.sum()  # of points between the cells
            rows_at = light + np.bincount(np.searchsorted(grid, cells.x), cells.rows, grid.size)
            self.corrected_ = isotonic(self.corrected_, rows_at)[0]
        self.spread_ = np.sqrt(weight @ (variance + (grid + corrections - self.corrected_) ** 2))

    def moments(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the posterior corrections at log-odds x, monotone or not."""
        weight, corrections, variance = self._posterior(x)
        mean = weight @ corrections
        return mean, np.sqrt(weight @ (variance + (corrections - mean) ** 2))

    def _posterior(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights of the members, and by member mean and variance of the correction at log-odds x."""
        weight = np.array([each.weight for each in self.members_])
        with one_thread():
            columns = self.basis_(x)
            corrections = np.stack([columns @ each.coefficients for each in self.members_])
            variance = np.stack([((columns @ each.root) ** 2).sum(axis=1) for each in self.members_])
        return weight, corrections, variance

    def free(self) -> AveragedCurve:
        """The same posterior of the members alone that bend anywhere; where none does, of all but the identity."""
        names = {name for name, (_, grid) in MEMBERS.items() if grid[0].spline or grid[0].bumps}
        some = [each for each in self.members_ if each.name in names] or self.members_[1:]
        log_weight = np.array([each.log_weight for each in some])
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        other = copy(self)
        other.members_ = [each._replace(weight=float(w)) for each, w in zip(some, weight, strict=True)]
        return other

    def curves(self, x: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Log-odds of curves that are drawn from the averaged posterior at log-odds x, shape (n_draws, x.size)."""
        which = rng.choice(len(self.members_), n_draws, p=[each.weight for each in self.members_])
        coefficients = np.empty((n_draws, self.members_[0].coefficients.size))
        for k in np.unique(which).tolist():
            member, of_it = self.members_[k], which == k
            normal = rng.standard_normal((int(of_it.sum()), member.root.shape[1]))
            coefficients[of_it] = member.coefficients + normal @ member.root.T
        with one_thread():
            return np.asarray(x + coefficients @ self.basis_(x).T)

    def stand_out(self, prediction: FloatArray) -> npt.NDArray[np.bool_]:
        """Which predictions stand out among the rows of the fit: these may have a correction of their own."""
        return np.asarray(_same(self.log_odds(prediction), self.basis_.values).any(axis=1))

    def log_odds(self, prediction: FloatArray) -> FloatArray:
        """Log-odds of predictions as the map reads them, at least clip_ away from 0 and 1."""
        low, high = self.clip_
        without = 1.0 - prediction
        left = np.where(without < high, 1.0 - high, np.maximum(prediction, low))
        right = np.where(prediction < low, 1.0 - low, np.maximum(without, high))
        del without
        np.log(left, out=left)
        np.log(right, out=right)
        return np.asarray(np.subtract(left, right, out=left))

    def _map(self, prediction: FloatArray) -> FloatArray:
        x = self.log_odds(prediction)
        z = np.clip(x, self.log_odds_[0], self.log_odds_[-1])
        return inner_expit(np.interp(z, self.log_odds_, self.corrected_) + (x - z))

    def _range(self) -> tuple[float, float]:
        ends = expit(self.log_odds_)
        values = self._map(np.r_[0.0, ends, 1.0])
        return float(values.min()), float(values.max())

    def _in_words(self) -> str:
        name, weight = max(self.weights_.items(), key=lambda each: each[1])
        return f"An average of smooth maps shrunk to the identity; the largest share, {weight:.0%}, is {_WORDS[name]}."


def _beside(basis: Basis) -> FloatArray:
    """Log-odds that are each value's, and the next that are not, within the ends: there the map may jump."""
    near = _SAME * (1.0 + np.abs(basis.values))
    at = np.concatenate([basis.values + side * near for side in (-2.0, -0.5, 0.5, 2.0)])
    return at[(at > basis.ends[0]) & (at < basis.ends[1])]


def _log_odds_of_mean(weight: FloatArray, middle: FloatArray, deviation: FloatArray) -> FloatArray:
    """Log-odds of the mean probability, where a member's log-odds are normal: shape (members, points) to (points,)."""
    some = weight > _NO_WEIGHT
    weight, middle, deviation = weight[some], middle[some], deviation[some]
    event, without = np.zeros(middle.shape[1]), np.zeros(middle.shape[1])
    for node, share in zip(_NODES.tolist(), _SHARES.tolist(), strict=True):
        chance, rest = _both_expits(middle + node * deviation)
        event += share * (weight @ chance)
        without += share * (weight @ rest)
    least = np.nextafter(0.0, 1.0)
    return np.asarray(np.log(np.maximum(event, least)) - np.log(np.maximum(without, least)))


def _both_expits(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """expit(x) and expit(-x), each to its last bits, by one exponential, which NumPy takes by vectors."""
    less = np.exp(-np.abs(x))
    more = 1.0 / (1.0 + less)
    less *= more
    event = x > 0.0
    return np.where(event, more, less), np.where(event, less, more)


_WORDS = {
    "identity": "the identity",
    "offset": "one shift of the log-odds",
    "temperature": "one factor of the log-odds",
    "line": "a line in the log-odds",
    "bend": "a bent line in the log-odds",
    "spline": "a smooth curve in the log-odds",
    "bend and spline": "a bent line and a smooth curve in the log-odds",
    "bumps": "local bumps in the log-odds",
    "values": "a line in the log-odds, but for single predictions",
    "spline and values": "a smooth curve in the log-odds, but for single predictions",
}


def sampled_by_outcome(rows: Rows) -> bool:
    """Whether weights undo fractions of single rows that were kept by outcome, and nothing else."""
    return rows.fractions is not None and rows.group is None and rows.trials is None and not rows.outcome_free


def unweighted(rows: Rows) -> Rows:
    """The same rows as they are in the file, but for those without weight."""
    present = rows if rows.weight is None else rows.take(np.flatnonzero(rows.weight > 0.0))
    return replace(present, weight=None, fractions=None)


def _clip(prediction: FloatArray, rows: FloatArray) -> FloatArray:
    """Distance from 0 and 1 at which predictions are read: the least of those not certain, or as certain ones allow."""

    def nearest(distance: FloatArray) -> float:
        certain = float(rows[distance == 0.0].sum())
        least = float(distance.min(initial=1.0, where=distance > 0.0))
        return min(least, min(1.0 / (2.0 + certain), _CERTAIN) if certain else _CLIP)

    return np.array([nearest(prediction), nearest(1.0 - prediction)])
