"""The average of smooth maps that are shrunk to the identity, as an estimator: of one probability, and of classes."""

from __future__ import annotations

__all__ = ["AveragedClassScaling", "AveragedScaling"]

import re
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from calibrant.door.arguments import RandomState, check_level, generator, positive_integer
from calibrant.door.classes import MulticlassSample
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.special import expit, logit, ndtri
from calibrant.kernels.softmax import bent_loss, softmax_and_loss
from calibrant.measures.logistic import inner_expit
from calibrant.recalibration.base import Recalibrator, as_column, read_predictions
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.curves.base import register_map
from calibrant.recalibration.kinds import (
    Kind,
    check,
    check_size,
    column,
    labels,
    number,
    optional,
    shares_by_name,
    square,
)
from calibrant.recalibration.multiclass import MulticlassRecalibrator, inner_softmax, log_probabilities, masses
from calibrant.recalibration.softmax_fit import SoftmaxProblem, Stop, fit_softmax
from calibrant.threads import one_thread


class AveragedScaling(AveragedCurve, Recalibrator):
    """Average of smooth maps, each shrunk to the identity and weighed by how well it explains the rows.

    Parameters
    ----------
    monotone : bool, default True
        Whether the corrected probabilities keep the order of the predictions.

    Attributes
    ----------
    weights_ : dict of str to float
        Share of each kind of map in the average: identity, offset, temperature, line, bend, spline, bend and spline,
        bumps.
    log_odds_, corrected_ : ndarray of shape (m,)
        The fitted map: log-odds of predictions and of corrected probabilities, linear between; beyond the last the
        correction is constant.
    spread_ : ndarray of shape (m,)
        Root mean square distance of the posterior's log-odds from the corrected ones.
    clip_ : ndarray of shape (2,)
        Predictions nearer than this to 0, and to 1, are read as being this far from it.

    See Also
    --------
    PlattScaling, IsotonicScaling, choose_recalibrator

    Notes
    -----
    Bayesian model averaging with Laplace's approximation, and the posterior mean of the probability. The same rows in
    any order give the same map, without a seed or held-out rows. docs/recalibration.md has priors and proofs. With few
    rows it is near the identity, with many it follows any smooth curve. Weighted rows count as Kish's effective number.
    Cost: a sort, then a tenth of a second.

    References
    ----------
    J. Hoeting, D. Madigan, A. Raftery and C. Volinsky, "Bayesian model averaging: a tutorial", Statistical Science 14,
    1999.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import AveragedScaling
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> averaged = AveragedScaling().fit(y_prob, rng.random(2000) < y_prob**2)
    >>> averaged.predict([0.2, 0.5, 0.8]).round(2).tolist()
    [0.05, 0.23, 0.64]
    """

    _fitted: ClassVar[dict[str, Kind]] = {
        "clip_": column,
        "log_odds_": column,
        "corrected_": column,
        "spread_": column,
        "weights_": shares_by_name,
    }

    def fit(
        self,
        y_prob: Column,
        y_true: Column,
        sample_weight: Column | None = None,
        *,
        trials: Column | None = None,
        groups: Any = None,
        sampling_fractions: Any = None,
    ) -> Self:
        """Fit the map to predictions and outcomes; rows count as what they are worth, in any order.

        Weighted rows count as Kish's effective number of them. Rows of `trials` count as that many outcomes, and
        `y_true` is the share of events among them. Rows of `groups` count as their number over the design effect. Rows
        that were kept by outcome count as one each: with `sampling_fractions`, or with weights of two values that undo
        them.

        Raises
        ------
        InputError
            If a column cannot be used; in groups, outcomes that are rates need trials.
        """
        outcome, prediction, weight = read_columns(y_true, as_column(y_prob), sample_weight)
        self._check_parameters()
        if trials is None and groups is None and sampling_fractions is None and not np.isin(outcome, (0.0, 1.0)).all():
            order = np.lexsort((outcome, prediction) if weight is None else (weight, outcome, prediction))
            weight = None if weight is None else weight[order]
            return self.fit_sample(Sample.of_arrays(outcome[order], prediction[order], weight))
        return self.fit_rows(
            Rows.of(outcome, prediction, weight, trials, groups, sampling_fractions=sampling_fractions)
        )

    def interval(self, y_prob: Column, *, level: float = 0.05) -> FloatArray:
        """Return ends of shape (n, 2) between which the probabilities lie with posterior probability 1 - level, each.

        The posterior of the log-odds is taken as normal, as the fit takes it.

        Raises
        ------
        InputError
            If predictions or the level cannot be used.
        """
        check_is_fitted(self)
        x = self.log_odds(read_predictions(y_prob))
        z = np.clip(x, self.log_odds_[0], self.log_odds_[-1])
        middle = np.interp(z, self.log_odds_, self.corrected_) + (x - z)
        half = -ndtri(0.5 * check_level(level)) * np.interp(z, self.log_odds_, self.spread_)
        return inner_expit(np.stack([middle - half, middle + half], axis=1))

    def to_sql(self, column: str) -> str:
        """Return the fitted map as an expression of SQL in a column of predictions, of up to some 200,000 characters.

        Nested CASE, LN and EXP, which every engine has. Missing values stay missing; numbers outside [0, 1], which
        `predict` refuses, get the value of the nearer end.

        Parameters
        ----------
        column : str
            The column, or an expression, as it is written in SQL.

        Raises
        ------
        InputError
            If the column is no text.

        Examples
        --------
        >>> import sqlite3
        >>> from calibrant.recalibration import AveragedScaling
        >>> averaged = AveragedScaling().fit([0.1, 0.2, 0.8, 0.9] * 30, [0, 1, 1, 1] * 30)
        >>> corrected = sqlite3.connect(":memory:").execute(f"SELECT {averaged.to_sql('0.3')}").fetchone()[0]
        >>> bool(abs(corrected - averaged.predict([0.3])[0]) < 1e-12)
        True
        """
        check_is_fitted(self)
        if not isinstance(column, str) or not column.strip():
            raise InputError("column", f"is {column!r:.40}", allowed="it is the name of a column, as SQL writes it")
        x, corrected, (low, high) = self.log_odds_, self.corrected_, self.clip_
        certain = logit(self._map(np.array([0.0, 1.0])))
        slope = np.r_[1.0, np.diff(corrected) / np.diff(x), 1.0]
        at = np.r_[0, np.arange(x.size)]
        level = corrected[at] - slope * x[at]
        column = column if re.fullmatch(r'[\w.]+|"[^"]+"|`[^`]+`', column) else f"({column})"
        odds = f"LN({column} / (1e0 - {column}))"
        lines = [f"{a:.17e} + {b:.17e} * {odds}" for a, b in zip(level.tolist(), slope.tolist(), strict=True)]
        leaves = [f"{certain[0]:.17e}", *lines, f"{certain[1]:.17e}"]
        last = float(np.nextafter(1.0 - high, 2.0))
        ends = np.minimum(np.maximum.accumulate(np.r_[low, expit(x), last]), last).tolist()
        # From one half on what is missing to 1 is compared, which has more digits.
        gaps = np.maximum(np.minimum.accumulate(np.r_[1.0 - low, expit(-x), 1.0 - last]), 1.0 - last).tolist()

        def tree(first: int, last: int) -> str:
            if first == last:
                return leaves[first]
            middle = (first + last) // 2
            below, above = tree(first, middle), tree(middle + 1, last)
            end, gap = ends[middle], gaps[middle]
            less = f"{column} < {end:.17e}" if end < 0.5 else f"1e0 - {column} > {gap:.17e}"
            return f"CASE WHEN {less} THEN {below} ELSE {above} END"

        return f"1e0 / (1e0 + EXP(-(0e0 * {column} + {tree(0, len(leaves) - 1)})))"

    def draws(self, y_prob: Column, n_draws: int = 400, random_state: RandomState = None) -> FloatArray:
        """Return probabilities of shape (n_draws, n): curves drawn from the averaged posterior, monotone or not.

        Raises
        ------
        InputError
            If an argument cannot be used, or the map was read from a file, which keeps no members.
        """
        check_is_fitted(self)
        if not hasattr(self, "members_"):
            raise InputError("draws", "needs the fit itself; a map read from text or a file keeps mean and spread")
        rng, n_draws = generator(random_state), positive_integer(n_draws, "n_draws")
        return np.asarray(expit(self.curves(self.log_odds(read_predictions(y_prob)), n_draws, rng)))


_MIXED = 50  # classes, above which none is mixed with the others
_WHOLE = 450  # coefficients, above which the Hessian is replaced by its blocks
_NEAR = 1e-9  # what a fit may lose, in nats of all rows
_STEPS, _HALVINGS = 50, 20
_CLIP, _CERTAIN = 1e-12, 1e-3  # what 0 is read as, at most, where no prediction was 0, and where some were
# At a mode half the squared coefficient over its variance, 2.5^2 at most, is at most what all rows lose unmoved,
# 750 each, and there are at most 2^53 rows. Less the mean of a column an entry is at most twice as large.
_FARTHEST = 2e10


class Shared(NamedTuple):
    """Standard deviations of the factor and the bend that all classes share; 0 where there is none."""

    factor: float = 0.0
    bend: float = 0.0


class Own(NamedTuple):
    """Standard deviations of a class's own shift and factor, and of its part in another; 0 where there is none."""

    shift: float = 0.0
    factor: float = 0.0
    mixing: float = 0.0


_THREE = (0.1, 0.3, 1.0)
SHARED: dict[str, tuple[float, tuple[Shared, ...]]] = {
    "identity": (0.4, (Shared(),)),
    "temperature": (0.4, tuple(Shared(t) for t in _THREE)),
    "bend": (0.2, tuple(Shared(t, u) for t in (0.3, 1.0) for u in (0.3, 1.0))),
}
"""Members of the first average by name: the prior weight, shared evenly by its scales."""

EACH = ("no class of its own", "shifts", "vector", "matrix")
"""Members of the second average, all equally likely."""


def own_scales(k: int) -> dict[str, tuple[Own, ...]]:
    """Scales of the members of the second average of k classes, by name; each shares a member's weight evenly."""
    entry, part = (2.0 * k) ** -0.5, (2.0 * k * (k - 1.0)) ** -0.5
    own = {
        "no class of its own": (Own(),),
        "shifts": tuple(Own(b) for b in (0.3, 1.0)),
        "vector": tuple(Own(b, max(0.1, entry / 2.0)) for b in (0.3, 1.0)),
    }
    if k <= _MIXED:
        own["matrix"] = tuple(Own(f * entry, f * entry, f * part) for f in (0.5, 1.5, 5.0))
    return own


@register_map("averaged_classes", "the averaged map of classes", order=120, classes=True)
class AveragedClassScaling(MulticlassRecalibrator):
    """Average of maps of class probabilities, each shrunk to the identity and weighed by how well it explains the rows.

    Attributes
    ----------
    factor_, bend_ : float
        The logarithm of each probability, x, becomes factor * x - bend * log(1 - x); rows are then divided by their
        sum again.
    scale_, shift_ : ndarray of shape (K,)
        Of each class, by which the result is multiplied, and what is added.
    mixing_ : ndarray of shape (K, K) or None
        What the other classes add, entry (i, j) being the part of class i in class j, with zeros on the diagonal. None
        above 50 classes.
    weights_ : dict of str to float
        Share of each kind of map: identity, temperature and bend add up to 1/2, and so do those of the classes' own.
    clip_ : float
        Probabilities below it are read as it.
    classes_ : ndarray of shape (K,)
        Labels, in the order of the columns.

    See Also
    --------
    AveragedScaling, TemperatureScaling, VectorScaling, DirichletScaling

    Notes
    -----
    Bayesian model averaging with Laplace's approximation: the same map for the same rows in any order, without a seed
    or held-out rows. Weighted rows count as Kish's effective number. Cost: about 15 fits of a softmax
    map: 2,000 rows of 1,000 classes in seconds.

    References
    ----------
    J. Hoeting, D. Madigan, A. Raftery and C. Volinsky, "Bayesian model averaging: a tutorial", Statistical Science 14,
    1999. E. Berta, D. Holzmüller, M. Jordan and F. Bach, "Structured matrix scaling for multi-class calibration",
    AISTATS 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import AveragedClassScaling
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet([1, 1, 1], 2000)
    >>> label = (rng.random(2000)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    >>> too_sure = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    >>> averaged = AveragedClassScaling().fit(too_sure, label)
    >>> bool(abs(averaged.predict(too_sure) - truth).mean() < 0.01 < abs(too_sure - truth).mean())
    True
    """

    _fitted: ClassVar[dict[str, Kind]] = {
        "factor_": number,
        "bend_": number,
        "scale_": column,
        "shift_": column,
        "mixing_": optional(square),
        "clip_": number,
        "weights_": shares_by_name,
        "classes_": labels,
    }

    def _check_fitted(self) -> None:
        k = self.classes_.size
        check(self.scale_.size == self.shift_.size == k, "shift_", "must be as many as there are labels")
        for name in ("factor_", "bend_", "scale_", "shift_"):
            check_size(getattr(self, name), name, _FARTHEST)
        if self.mixing_ is not None:
            check(len(self.mixing_) == k, "mixing_", "must have a row for each label")
            check_size(self.mixing_, "mixing_", _FARTHEST)
            check(np.diag(self.mixing_) == 0.0, "mixing_", "must have zeros on the diagonal")
        check(0.0 < self.clip_ <= _CERTAIN, "clip_", f"must be above 0 and at most {_CERTAIN:g}")
        check(set(self.weights_) <= {*SHARED, *EACH}, "weights_", f"must be of {', '.join([*SHARED, *EACH])}")

    def _fit_classes(self, sample: MulticlassSample, stop: Stop | None) -> None:
        mass, order = masses(sample), _order(sample)
        order = order[mass[order] > 0.0]
        mass = mass[order]
        label, table = sample.y_true[order].astype(np.int64), np.asarray(sample.y_prob, np.float64)[order]
        n = 1.0 / float((mass**2).sum())
        self.clip_ = _clip(table, mass * n)
        score = log_probabilities(table, self.clip_)
        with one_thread():  # more threads would round otherwise
            shared = _averaged(shared_members(score, label, mass * n))
            self.factor_, self.bend_ = 1.0 + float(shared.at[0]), float(shared.at[1])
            own = _averaged(own_members(self._first(score), label, mass, n, stop))
        k = table.shape[1]
        self.scale_, self.shift_ = np.diag(own.at[:k]).copy(), own.at[k]
        self.mixing_ = own.at[:k] - np.diag(self.scale_) if k <= _MIXED else None
        self.weights_ = {name: 0.5 * w for name, w in (shared.weights | own.weights).items()}

    def _first(self, score: FloatArray) -> FloatArray:
        """Logarithms of probabilities as the first average has them."""
        moved = self.factor_ * score - self.bend_ * np.log1p(-np.minimum(score, 0.0))
        return np.asarray(moved - logsumexp(moved, axis=1, keepdims=True))

    def _map_classes(self, table: FloatArray) -> FloatArray:
        first = self._first(log_probabilities(np.asarray(table, np.float64), self.clip_))
        moved = first * self.scale_ + self.shift_
        return inner_softmax(moved if self.mixing_ is None else moved + first @ self.mixing_)

    def _in_words(self) -> str:
        first, second = (max(names, key=lambda name: self.weights_.get(name, 0.0)) for names in (SHARED, EACH))
        return (
            f"An average of maps of {self.classes_.size} classes shrunk to the identity; the largest share is "
            f"{_WORDS[first]} for all alike, and {_WORDS[second]} for each."
        )


_WORDS = {
    "identity": "the identity",
    "temperature": "one factor of log probabilities",
    "bend": "a bent line in log probabilities",
    "no class of its own": "no change",
    "shifts": "a shift",
    "vector": "a factor and a shift",
    "matrix": "a mixture with the others",
}


class Fitted(NamedTuple):
    """A member at its posterior mode, with the logarithm of its prior weight and evidence."""

    name: str
    at: FloatArray
    log_weight: float


class Average(NamedTuple):
    """The mean of the modes, and the shares of the members by name."""

    at: FloatArray
    weights: dict[str, float]


def _averaged(members: list[Fitted]) -> Average:
    log_weight = np.array([each.log_weight for each in members])
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    shares: dict[str, float] = {}
    for each, share in zip(members, weight.tolist(), strict=True):
        shares[each.name] = min(1.0, shares.get(each.name, 0.0) + share)
    return Average(np.asarray(sum(w * each.at for each, w in zip(members, weight, strict=True))), shares)


def shared_members(score: FloatArray, label: IntArray, rows: FloatArray) -> list[Fitted]:
    """Members of the first average: x + t x + u bend(x) of log probabilities x, as the pair (t, u)."""
    at, members = _Likelihood.of(score, label, rows, np.zeros(2)), []
    for name, (prior, grid) in SHARED.items():
        for scales in grid:
            at, evidence = _shared_mode(score, label, rows, np.array(scales), at)
            members.append(Fitted(name, at.place, evidence + float(np.log(prior / len(grid)))))
    return members


class _Likelihood(NamedTuple):
    """Of factor and bend: the place, the log loss of all rows, its derivatives and second derivatives."""

    place: FloatArray
    loss: float
    slope: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, score: FloatArray, label: IntArray, rows: FloatArray, place: FloatArray) -> _Likelihood:
        loss, t, u, tt, tu, uu = bent_loss(score, label, rows, 1.0 + place[0], place[1])
        return cls(place, loss, np.array([t, u]), np.array([[tt, tu], [tu, uu]]))


def _shared_mode(
    score: FloatArray, label: IntArray, rows: FloatArray, deviation: FloatArray, point: _Likelihood
) -> tuple[_Likelihood, float]:
    """Posterior mode by Newton's method, and log evidence by Laplace's."""
    free = deviation > 0.0
    precision = deviation[free] ** -2.0
    if (point.place[~free] != 0.0).any():
        point = _Likelihood.of(score, label, rows, np.where(free, point.place, 0.0))

    def log_posterior(point: _Likelihood) -> float:
        return -point.loss - 0.5 * float(precision @ point.place[free] ** 2)

    def curvature(point: _Likelihood) -> FloatArray:
        return point.curvature[np.ix_(free, free)] + np.diag(precision)

    for _ in range(_STEPS if free.any() else 0):
        step, slope = np.zeros(2), point.slope[free] + precision * point.place[free]
        step[free] = -np.linalg.solve(curvature(point), slope)
        if -float(slope @ step[free]) <= 2.0 * _NEAR:
            break
        for _ in range(_HALVINGS):
            reached = _Likelihood.of(score, label, rows, point.place + step)
            if log_posterior(reached) >= log_posterior(point):
                break
            step /= 2.0
        else:
            break
        point = reached
    return point, log_posterior(point) + 0.5 * float(np.log(precision).sum() - np.linalg.slogdet(curvature(point))[1])


def own_members(
    score: FloatArray, label: IntArray, mass: FloatArray, n: float, stop: Stop | None = None
) -> list[Fitted]:
    """Members of the second average: entries of shape (K + 1, K) of softmax(x W + b), the shifts last."""
    k = score.shape[1]
    start = None
    members: list[Fitted] = []
    for name, grid in own_scales(k).items():
        x = score - score.mean(axis=1, keepdims=True) if name == "matrix" else score
        for scales in grid:
            problem = SoftmaxProblem(x, label, mass, precisions(scales, k) / n)
            evidence, start = own_mode(problem, n, start, stop)
            at = start if x is score else of_uncentred(start)
            members.append(Fitted(name, at, evidence - float(np.log(len(EACH) * len(grid)))))
    return members


def of_uncentred(at: FloatArray) -> FloatArray:
    """Entries that give the same probabilities from scores as these do from scores less their mean."""
    moved = at - np.eye(*at.shape)
    moved[:-1] -= moved[:-1].mean(axis=0)
    return np.asarray(np.eye(*at.shape) + moved)


def precisions(scales: Own, k: int) -> FloatArray:
    """One over the prior variances of the entries; infinite where an entry is not free."""
    shift, factor, mixing = (each**-2.0 if each > 0.0 else np.inf for each in scales)
    of = np.full((k + 1, k), mixing)
    of[np.arange(k), np.arange(k)], of[k] = factor, shift
    return of


def own_mode(
    softmax: SoftmaxProblem, n: float, start: FloatArray | None = None, stop: Stop | None = None
) -> tuple[float, FloatArray]:
    """Log evidence by Laplace's method and the posterior mode, of n rows."""
    k, free = softmax.x.shape[1], softmax.free
    identity = np.eye(k + 1, k)
    at = fit_softmax(softmax, start, stop, _NEAR / n) if free.any() else identity
    probability = softmax.scores(at)
    loss = softmax_and_loss(probability, softmax.label, softmax.mass)
    precision = softmax.ridge[free] * n
    log_posterior = -n * loss - 0.5 * float((precision * (at - identity)[free] ** 2).sum())
    determinant = _log_determinant(softmax, probability, n) if free.any() else 0.0
    return log_posterior + 0.5 * (float(np.log(precision).sum()) - determinant), at


def _log_determinant(softmax: SoftmaxProblem, probability: FloatArray, n: float) -> float:
    """Of the Hessian over the free entries; of many, of its blocks of one class each, which is no less (Fischer)."""
    free, alone, x = softmax.free, softmax.diagonal, softmax.x
    rows, k = (softmax.mass * n)[:, None], probability.shape[1]
    used = np.array([free[0, 0], True]) if alone else np.ones(k + 1, bool)
    whole, ones = int(free.sum()) <= _WHOLE, np.ones((rows.size, 1))
    weight = rows * probability * (1.0 if whole else 1.0 - probability)
    blocks = []
    for j in range(k):
        own = np.concatenate([x[:, j : j + 1] if alone else x, ones], axis=1)[:, used]
        ridge = softmax.ridge[[j, k], j][used] if alone else softmax.ridge[:, j]
        blocks.append(own.T @ (weight[:, j : j + 1] * own) + np.diag(n * ridge))
    if not whole:
        return float(sum(np.linalg.slogdet(each)[1] for each in blocks))
    own = x[:, :, None] if alone else np.broadcast_to(x[:, None, :], (rows.size, k, k))
    columns = np.concatenate([own, np.ones((rows.size, k, 1))], axis=2)[:, :, used]
    spread = ((np.sqrt(rows) * probability)[:, :, None] * columns).reshape(rows.size, -1)
    return float(np.linalg.slogdet(block_diag(*blocks) - spread.T @ spread)[1])


def _order(sample: MulticlassSample) -> IntArray:
    """An order of the rows that they alone decide."""
    table = np.ascontiguousarray(sample.y_prob, np.float64)
    keys = [sample.y_true] if sample.sample_weight is None else [sample.sample_weight, sample.y_true]
    first = np.lexsort(keys)
    whole = table[first].view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]
    return np.asarray(first[np.argsort(whole, kind="stable")])


def _clip(table: FloatArray, rows: FloatArray) -> float:
    """What 0 is read as: the least of the other probabilities, or less by how many were 0."""
    least = float(table[table > 0.0].min())
    zeros = float(rows @ (table == 0.0).sum(axis=1))
    return min(least, min(1.0 / (2.0 + zeros), _CERTAIN) if zeros else _CLIP)
