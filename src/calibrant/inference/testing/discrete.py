"""Predictions that take few values, and rating systems: an exact binomial test of each value or grade."""

from __future__ import annotations

__all__ = ["DiscreteResult", "GradeTestResult", "discrete_calibration_test", "grade_test"]

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from calibrant.door.arguments import check_level, one_of
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import NO_VALUE, InputError
from calibrant.door.rows import Rows, events_of, not_taken, read_trials, require_single_outcomes
from calibrant.door.special import betainc, betainccinv, betaincinv
from calibrant.door.values import counted
from calibrant.inference.testing.result import LEAST, TestResult, impossible_rows, register_test
from calibrant.kernels.poisson_binomial import log_two_sided

Correction = Literal["holm", "bonferroni"]


@dataclass(frozen=True, repr=False)
class DiscreteResult(TestResult):
    """The outcome of `discrete_calibration_test`; one entry per distinct prediction, in increasing order.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`; the statistic is the smallest of ``pvalues``.
    predictions : tuple of float
        The distinct predictions.
    counts, ones : tuple of int
        Rows with that prediction, and how many of them have outcome 1.
    pvalues : tuple of float
        Exact two-sided binomial p-values.
    adjusted_pvalues : tuple of float
        The same, corrected for their number.
    miscalibrated : tuple of float
        Predictions rejected at ``level``; the probability that any of them is calibrated is at most ``level``.

    See Also
    --------
    discrete_calibration_test
    """

    predictions: tuple[float, ...]
    counts: tuple[int, ...]
    ones: tuple[int, ...]
    pvalues: tuple[float, ...]
    adjusted_pvalues: tuple[float, ...]
    miscalibrated: tuple[float, ...]

    def _table(self) -> Any:
        """One row a value of the predictions."""
        return {
            "prediction": self.predictions,
            "count": self.counts,
            "ones": self.ones,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
            "reject": [value in self.miscalibrated for value in self.predictions],
        }


@register_test(
    proof="each value that it names has another event rate than predicted.",
    limits="pool neighbours: it has no power for many values with few rows each.",
    promise="exact binomial, Holm",
    source="T-Cal, Appendix B.4.",
    order=130,
    null="exact",
    admits=("trials",),
)
def discrete_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    level: float = 0.05,
    correction: Correction = "holm",
) -> DiscreteResult:
    """Test whether each value that the predictions take is the event's true rate there, exactly.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, each 0 or 1; with ``trials`` the share of events among them.
    y_prob : array-like of shape (n,)
        Predicted probabilities, with few distinct values: after histogram or scaling-binning, or a forecaster's tenths.
    trials : array-like of shape (n,), optional
        Independent outcomes behind each row, whole numbers from 1.
    sample_weight, groups : optional
        Refused: numbers of events are binomial only if each outcome counts once, by itself.
    level : float, default 0.05
        Largest probability of rejecting any calibrated value.
    correction : {"holm", "bonferroni"}
        How the p-values are corrected for the number of values. Both give the same decision about the predictions as a
        whole; Holm's names at least as many miscalibrated values.

    Returns
    -------
    DiscreteResult
        With ``statistic``, ``pvalue``, ``reject``, ``level``, ``method``, and the test of each value.

    Raises
    ------
    InputError
        If the columns cannot be used, or the values are so many, with so few rows each, that no outcome could reject
        (then use `tcal_test`).

    See Also
    --------
    tcal_test, two_sample_calibration_test

    Notes
    -----
    The number of ones among N rows that predict v is Binomial(N, v) if v is calibrated. Its two-sided p-value adds up
    all counts no more likely than the observed one. The predictions as a whole are tested by t min p over t values.
    Nothing is resampled or asymptotic. If a prediction of 0 or 1 is contradicted the p-value is 0. It is reported, like
    any that underflows, as 2.2e-308, and ``impossible`` names the row. Cost: O(n log n) plus the binomial tests.

    References
    ----------
    T-Cal, Appendix B.4. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).

    Examples
    --------
    >>> from calibrant import discrete_calibration_test
    >>> y_prob = [0.2] * 50 + [0.8] * 50
    >>> y_true = [1] * 10 + [0] * 40 + [1] * 25 + [0] * 25
    >>> result = discrete_calibration_test(y_true, y_prob)
    >>> result.miscalibrated
    (0.8,)
    >>> result.summary()
    'miscalibrated: exact binomial test of each of 2 values (holm) rejects calibration at level 0.05 (p = 4.2e-06)'
    """
    why = "numbers of events are binomial only if each outcome counts once, by itself; use calibration_test"
    not_taken(why, sample_weight=sample_weight, groups=groups)
    rows = Rows.of(y_true, y_prob, None, trials)
    level = check_level(level)
    one_of(correction, get_args(Correction), "correction")
    sample = rows.sample
    v = sample.prediction
    t = v.size
    counts, ones = sample.count.astype(np.int64), sample.ones.astype(np.int64)
    # Either correction rejects something only if the smallest p-value does, times the number of values.
    if t * least_pvalues(counts, v).min() > level:
        raise InputError(
            "y_prob",
            f"holds {counted(t, 'distinct prediction')}, none with rows enough to be rejected at "
            f"level {level:g} / {t:,}. Use tcal_test, which pools near predictions",
        )
    pvalues = np.clip(two_sided_pvalues(ones, counts, v), LEAST, 1.0)
    if correction == "bonferroni":
        adjusted = np.minimum(t * pvalues, 1.0)
    else:
        order = np.argsort(pvalues, kind="stable")
        adjusted = np.empty(t)
        adjusted[order] = np.minimum(np.maximum.accumulate((t - np.arange(t)) * pvalues[order]), 1.0)
    pvalue = float(adjusted.min())
    return DiscreteResult(
        statistic=float(pvalues.min()),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=f"exact binomial test of each of {t} values ({correction})",
        predictions=tuple(v.tolist()),
        counts=tuple(counts.tolist()),
        ones=tuple(ones.tolist()),
        pvalues=tuple(pvalues.tolist()),
        adjusted_pvalues=tuple(adjusted.tolist()),
        miscalibrated=tuple(v[adjusted <= level].tolist()),
        impossible=impossible_rows(rows),
        premise=rows.premise,
    )


_RARE = 1e-200  # below it scipy's binomial overflows, and a single event is all that can be told
_EQUAL = 1.0 + 1e-7  # two counts whose chances differ by less are equally likely, as scipy.stats.binomtest has it


def two_sided_pvalues(ones: IntArray, count: IntArray, chance: FloatArray) -> FloatArray:
    """Chance of all counts no more likely than the one seen, for each value; as `scipy.stats.binomtest` has them.

    Two tails: that of the count itself, and on the other side of the mean the counts as unlikely, found by bisection.
    """
    from scipy.stats import binom

    rare = chance <= _RARE
    p = np.where(rare, 0.5, chance)
    mean = count * p
    likely = binom.pmf(ones, count, p) * _EQUAL
    under = ones < mean
    # From the mean outwards the chance falls; `near` is too likely (or the mean's side), `far` is rare enough.
    near = np.where(under, np.ceil(mean) - 1, np.floor(mean) + 1).astype(np.int64)
    far = np.where(under, count + 1, -1)
    while (open_ := np.abs(far - near) > 1).any():
        middle = (near + far) // 2
        enough = binom.pmf(middle, count, p) <= likely
        far = np.where(open_ & enough, middle, far)
        near = np.where(open_ & ~enough, middle, near)
    below, above = np.where(under, ones, far), np.where(under, far, ones)
    both = binom.cdf(below, count, p) + binom.sf(above - 1, count, p)
    pvalue = np.where(ones == mean, 1.0, np.minimum(both, 1.0))
    few = np.choose(np.minimum(ones, 2), (np.ones_like(chance), count * chance, np.zeros_like(chance)))
    return np.where(rare, few, pvalue)


def least_pvalues(count: IntArray, chance: FloatArray) -> FloatArray:
    """Return the smallest two-sided p-value that any outcome gives, for each value; 0 where one is impossible.

    It is that of all ones or of none, whichever is the less likely; where both are as likely each has both tails.
    """
    rarest = np.where(chance <= 0.5, count, 0)
    pvalue = two_sided_pvalues(rarest, count, chance)
    return np.where((chance == 0.0) | (chance == 1.0), 0.0, pvalue)


_MOST = 100
"""Distinct ratings that are taken for grades unless grades are named: of raw PDs each would be tested by itself."""

_MOST_TILT = 50.0  # times the largest weight

Alternative = Literal["greater", "less", "two-sided"]


@dataclass(frozen=True, repr=False)
class GradeTestResult(TestResult):
    """The outcome of `grade_test`; one entry per grade, by rising mean prediction.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible
        As in `TestResult`; the statistic is the smallest of ``pvalues``, and ``pvalue`` the smallest of
        ``adjusted_pvalues``.
    grades : tuple of str
        What each grade is called; its prediction where grades were not given.
    counts, events : tuple of int
        Obligors (trials) in the grade, and defaults (events) among them.
    expected, event_rates : tuple of float
        Mean prediction and rate of events, both weighted.
    pvalues : tuple of float
        Exact binomial p-values.
    jeffreys_pvalues : tuple of float
        Posterior probability, under Jeffreys' prior, that the rating is not wrong in this direction: with "greater",
        that the true rate is at most the rating.
    adjusted_pvalues : tuple of float
        The exact p-values corrected for the number of grades (Holm).
    rejected : tuple of str
        Grades whose rating is rejected; the probability that any of them is right is at most ``level``.

    See Also
    --------
    grade_test, DiscreteResult
    """

    grades: tuple[str, ...]
    counts: tuple[int, ...]
    events: tuple[int, ...]
    expected: tuple[float, ...]
    event_rates: tuple[float, ...]
    pvalues: tuple[float, ...]
    jeffreys_pvalues: tuple[float, ...]
    adjusted_pvalues: tuple[float, ...]
    rejected: tuple[str, ...]

    @property
    def mean_errors(self) -> tuple[float, ...]:
        """Rate of events minus mean prediction, by grade: positive where risk is understated."""
        return tuple(rate - v for rate, v in zip(self.event_rates, self.expected, strict=True))

    @property
    def directions(self) -> tuple[str, ...]:
        """Whether the rating of each grade is "too low", "too high" or "as rated" in these rows."""
        return tuple("too low" if each > 0.0 else "too high" if each < 0.0 else "as rated" for each in self.mean_errors)

    def summary(self) -> str:
        """Say which grades are rejected, in which direction and how far."""
        clauses = [
            f"{name} is {direction}: {100.0 * expected:.2g}% rated, {100.0 * (expected + error):.2g}% happened"
            for name, direction, expected, error in zip(
                self.grades, self.directions, self.expected, self.mean_errors, strict=True
            )
            if name in self.rejected
        ]
        return f"{super().summary()}{''.join(f'; {each}' for each in clauses)}"

    def _table(self) -> Any:
        """One row a grade."""
        return {
            "grade": self.grades,
            "count": self.counts,
            "events": self.events,
            "expected": self.expected,
            "event_rates": self.event_rates,
            "direction": self.directions,
            "pvalue": self.pvalues,
            "jeffreys_pvalue": self.jeffreys_pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
            "reject": [grade in self.rejected for grade in self.grades],
        }


def grade_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    grades: Any = None,
    trials: Column | None = None,
    alternative: Alternative = "greater",
    level: float = 0.05,
) -> GradeTestResult:
    """Test whether events in each grade of a rating system are as frequent as rated, and name the wrong grades.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1; with trials shares of events.
    y_prob : column of shape (n,)
        Rated probabilities (PD), in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights that say nothing of outcomes at a given rating, such as exposures; with trials of each.
    grades : column of shape (n,), optional
        Names of the grades; without it each distinct prediction is a grade, at most 100 of them.
    trials : column of shape (n,), optional
        Number of trials (obligors) of each row; `y_true` is their share of events.
    alternative : {"greater", "less", "two-sided"}
        The direction: more events than rated (risk understated, the supervisor's question), fewer, or either.
    level : float, default 0.05
        Largest probability of rejecting any grade that is rated right.

    Returns
    -------
    GradeTestResult
        Exact and Jeffreys p-values by grade, corrected for their number, and the grades that are rejected.

    Raises
    ------
    InputError
        If a column or option cannot be used, or a share of events times its trials is no whole number. If grades are
        not named and there are more than 100 distinct predictions, as raw PDs have. If events have one weight and all
        others another, as of rows sampled by outcome.

    See Also
    --------
    discrete_calibration_test, clinical_calibration, calibration_test

    Notes
    -----
    Defaults are assumed to be independent given the ratings. Common shocks, which do happen within one year's
    portfolio, make true levels larger. Two-sided p-values are twice the smaller tail. If ratings differ within a grade
    the number of events is not binomial. The binomial with their mean has a tail no smaller from one event beyond the
    mean on (Hoeffding 1956, Theorem 4). Nearer to the mean the p-value is 1. Jeffreys' p-value is the one that the
    European Central Bank's validation reports ask for. In a grade whose weights differ the p-value is Chernoff's bound
    of the weighted sum of events, which holds at any number of rows. Jeffreys' is then by effective numbers (Kish), and
    approximate. Cost: a sort, then two tails per grade.

    References
    ----------
    W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of Mathematical
    Statistics 27, 1956. European Central Bank, Instructions for reporting the validation results of internal models,
    2019 (Jeffreys test). S. Holm, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> from calibrant.inference import grade_test
    >>> found = grade_test([0.01, 0.06], [0.01, 0.03], grades=["A", "B"], trials=[1000, 500])
    >>> found.rejected, round(found.jeffreys_pvalues[0], 2)
    (('B',), 0.48)
    """
    level = check_level(level)
    one_of(alternative, get_args(Alternative), "alternative")
    y, v, weight = read_columns(y_true, y_prob, sample_weight)
    if trials is None:
        require_single_outcomes(y)
    count = np.ones(v.size) if trials is None else read_trials(trials, v.size)
    names, place = _names(v, grades)
    events = events_of(y, count)
    w = np.ones(v.size) if weight is None else weight
    _refuse_by_outcome(w, events, count)
    n = np.bincount(place, count).astype(np.float64)
    k = np.bincount(place, events).astype(np.float64)
    total = np.bincount(place, count * w)
    if (total <= 0.0).any():
        name = names[int(np.argmin(total))]
        raise InputError("sample_weight", f"is 0 in all rows of grade {name!r}", allowed="some weight in each grade")
    mean, observed = np.bincount(place, count * w * v) / total, np.bincount(place, w * events) / total
    mixed = np.bincount(place, count * (v - mean[place]) ** 2) > 1e-24 * n
    uneven = np.array([np.ptp(w[place == i]) > 0.0 for i in range(len(names))])
    effective = np.where(uneven, total**2 / np.bincount(place, count * w**2), n)
    tails = _tails(k, n, mean, mixed, alternative)
    for i in np.flatnonzero(uneven).tolist():
        inside = place == i
        tails[i] = _weighted_tail(events[inside], count[inside], v[inside], w[inside], alternative)
    order = np.argsort(mean, kind="stable")
    names, pvalues = [names[i] for i in order], np.clip(tails[order], LEAST, 1.0)
    n, k, mean, observed, effective = n[order], k[order], mean[order], observed[order], effective[order]
    rank = np.argsort(pvalues, kind="stable")
    adjusted = np.empty(n.size)
    adjusted[rank] = np.minimum(np.maximum.accumulate((n.size - np.arange(n.size)) * pvalues[rank]), 1.0)
    pvalue = float(adjusted.min())
    return GradeTestResult(
        statistic=float(pvalues.min()),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=f"exact binomial test of {counted(n.size, 'grade')} ({alternative}, Holm)",
        grades=tuple(names),
        counts=tuple(n.astype(np.int64).tolist()),
        events=tuple(k.astype(np.int64).tolist()),
        expected=tuple(mean.tolist()),
        event_rates=tuple(observed.tolist()),
        pvalues=tuple(pvalues.tolist()),
        jeffreys_pvalues=tuple(_jeffreys(observed * effective, effective, mean, alternative).tolist()),
        adjusted_pvalues=tuple(adjusted.tolist()),
        rejected=tuple(name for name, p in zip(names, adjusted, strict=True) if p <= level),
    )


def _refuse_by_outcome(w: FloatArray, events: FloatArray, count: FloatArray) -> None:
    """Weights that have one value for each outcome tell outcomes."""
    with_event, without = w[events > 0], w[events < count]
    if with_event.size and without.size and np.ptp(w) > 0.0 and np.ptp(with_event) == np.ptp(without) == 0.0:
        raise InputError(
            "sample_weight",
            "has one value for events and another for all others, as of rows sampled by outcome",
            allowed="weights that say nothing of outcomes, such as exposures; calibration_test takes sampled rows",
        )


def _weighted_tail(
    events: FloatArray, count: FloatArray, v: FloatArray, w: FloatArray, alternative: Alternative
) -> float:
    """Chernoff's bound of the probability of as large a weighted sum of events, or as small a one."""

    from scipy.optimize import minimize_scalar

    def bound(sign: float) -> float:
        def log_bound(t: float) -> float:
            tilt = t * w
            grows = np.logaddexp(np.log1p(-v), np.log(v) + sign * tilt)
            return float((count * grows).sum() - sign * (tilt * events).sum())

        with np.errstate(divide="ignore"):
            minimum = minimize_scalar(log_bound, bounds=(0.0, _MOST_TILT / w.max()), method="bounded")
        return float(np.exp(min(0.0, minimum.fun)))

    if alternative != "two-sided":
        return bound(1.0 if alternative == "greater" else -1.0)
    return min(1.0, 2.0 * min(bound(1.0), bound(-1.0)))


def _names(v: FloatArray, grades: Any) -> tuple[list[str], np.ndarray]:
    """Return the names of grades, and each row's."""
    if grades is None:
        values, place = np.unique(v, return_inverse=True)
        if values.size > _MOST:
            raise InputError(
                "grades",
                f"is needed: y_prob has {values.size:,} distinct values, too many for grades",
                allowed=f"each row's grade; without it at most {_MOST} distinct ratings (raw PDs: calibration_test)",
            )
        return [repr(float(value)) for value in values], place
    column = np.asarray(grades)
    if column.ndim != 1 or column.size != v.size:
        raise InputError("grades", f"has shape {column.shape}; one name for each of {v.size:,} rows is needed")
    missing = np.array([each is None or each != each for each in column.tolist()])
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError("grades", NO_VALUE.format(row), row=row)
    names, place = np.unique(column.astype(str), return_inverse=True)
    return [str(name) for name in names], place


def _tails(k: FloatArray, n: FloatArray, mean: FloatArray, mixed: np.ndarray, alternative: Alternative) -> FloatArray:
    from scipy.stats import binom

    above, below = binom.sf(k - 1.0, n, mean), binom.cdf(k, n, mean)
    above = np.where(mixed & (k < n * mean + 1.0), 1.0, above)
    below = np.where(mixed & (k > n * mean - 1.0), 1.0, below)
    if alternative == "greater":
        return np.asarray(above)
    return np.asarray(below if alternative == "less" else np.minimum(1.0, 2.0 * np.minimum(above, below)))


def _jeffreys(k: FloatArray, n: FloatArray, mean: FloatArray, alternative: Alternative) -> FloatArray:
    low = betainc(k + 0.5, n - k + 0.5, mean)  # that the true rate is at most the rating
    if alternative == "greater":
        return np.asarray(low)
    return np.asarray(1.0 - low if alternative == "less" else 2.0 * np.minimum(low, 1.0 - low))


def two_sided_log_pvalues(
    count: FloatArray, chance: tuple[FloatArray, FloatArray], start: IntArray, ones: FloatArray
) -> FloatArray:
    """Logarithms of two-sided p-values, by group of cells, of the hypothesis that each row has its stated chance.

    Parameters
    ----------
    count : ndarray of shape (m,)
        Rows of each cell.
    chance : two ndarrays of shape (m,)
        Between them lies the mean of the cell's stated chances; equal where all its rows have that chance.
    start : ndarray of shape (groups,)
        First cell of each group; a group's cells follow one another.
    ones : ndarray of shape (groups,)
        Events of each group.
    """
    low, high = (np.clip(end, 0.0, 1.0) for end in chance)
    ends = np.append(start, count.size).astype(np.int64)
    logs: FloatArray = log_two_sided(count, low, high, ends, np.rint(ones).astype(np.int64))
    return logs


def mean_chance_interval(ones: FloatArray, count: FloatArray, miss: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the mean chance of independent rows; each fails with probability at most `miss`, below 1/4.

    Clopper and Pearson's, which hold for unequal chances as well (Hoeffding 1956) except where a single event, or
    a single non-event, was seen: there the bound is the expected number itself. Derived in docs/poisson-binomial.md.
    """
    rest = count - ones
    low = np.where(ones > 1.0, betaincinv(np.maximum(ones, 1.0), rest + 1.0, miss), ones * miss / count)
    high = np.where(rest > 1.0, betainccinv(ones + 1.0, np.maximum(rest, 1.0), miss), 1.0 - rest * miss / count)
    return low, high


def mean_chance_pvalues(ones: FloatArray, count: FloatArray, mean: FloatArray) -> FloatArray:
    """Two-sided p-values of "the mean of the rows' chances is this", for any single chances.

    Twice the smaller tail of a binomial number, where it bounds the tail of unequal chances (Hoeffding 1956, Theorem 4:
    from a whole event beyond the mean on); of a single event, or non-event, the expected number bounds it.
    """
    from scipy.stats import binom

    def tail(k: FloatArray, p: FloatArray) -> FloatArray:
        expected = count * p
        single = np.where(k == 1.0, np.minimum(expected, 1.0), 1.0)
        return np.where(k >= expected + 1.0, binom.sf(k - 1.0, count, np.clip(p, 0.0, 1.0)), single)

    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(tail(ones, mean), tail(count - ones, 1.0 - mean))))
