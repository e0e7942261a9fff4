"""The choice of a recalibration, or none: cross-fitted, by distance and by proper scores, with intervals."""

from __future__ import annotations

__all__ = ["choose_recalibrator"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_number, one_of, seeded
from calibrant.door.classes import MulticlassSample
from calibrant.door.columns import Column, Labels, Table
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly
from calibrant.inference.testing.calibration import calibration_test_on_rows
from calibrant.inference.testing.result import TestResult, impossible_rows
from calibrant.measures.clock import TimeLimit
from calibrant.measures.lower import lower_distance_from_sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.recalibration.choice import RecalibrationChoice, RecalibrationScore, scored
from calibrant.recalibration.curves.base import Curve
from calibrant.recalibration.curves.registry import candidates, maps
from calibrant.recalibration.curves.temperature import TemperatureCurve
from calibrant.recalibration.judge import (
    Judge,
    mean_with_interval,
    order_kept,
    says_certain,
    smooth_half_width,
)
from calibrant.recalibration.softmax_fit import OutOfTime
from calibrant.resampling.folds import Split
from calibrant.resampling.redraw import check_groups
from calibrant.resampling.threads import Beside, beside

if TYPE_CHECKING:
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.methods import Method
    from calibrant.recalibration.multiclass import MulticlassRecalibrator


FloatArray = npt.NDArray[np.float64]
Criterion = Literal["brier", "log", "distance"]
Direction = Literal["right", "wrong", "none"]

_MANY, _FINE, _COARSE = 20_000, 1e-5, 3e-5  # tolerance of distances, up to so many rows and above: 1% of their noise
_THREADS = 2  # that fit maps, then measure distances
_ROUNDED = 0.01  # share of rows predicted 0 or 1, and wrong, that may be rounded predictions
_MOST_WORK = 5e8  # rows times the square of the classes, above which an audit leaves Dirichlet scaling out
_SURER = 10.0  # what is said about information is said at a tenth of the level: it overturns the advice


def choose_recalibrator(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    groups: Any = None,
    pos_label: Any = None,
    methods: Sequence[Method | Recalibrator | MulticlassRecalibrator] | None = None,
    cv: int = 5,
    criterion: Criterion = "brier",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> RecalibrationChoice:
    """Compare recalibrations on rows that they were not fitted to, and choose one, or none.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1; labels, if y_prob has a column per class.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns that of the positive class alone is recalibrated.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    groups : column of shape (n,), optional
        Rows of one group (a patient, a day) are never on both sides of a split, and intervals are those of groups that
        do not depend on one another.
    pos_label : label, optional
        The positive class, as for `audit`.
    methods : sequence of names or recalibrators, optional
        Simplest first; by default all that map one probability, or temperature, vector and Dirichlet scaling of
        classes. Recalibrators are named by their class.
    cv : int, default 5
        Number of parts the rows are split into, with both outcomes in each; a part is recalibrated by the map fitted to
        the others.
    criterion : {"brier", "log", "distance"}
        The score to compare by. A proper score also counts what recalibration loses in discrimination; the distance
        does not.
    level : float, default 0.05
        Intervals cover with probability 1 - level, asymptotically.
    n_resamples : int, default 999
        Redrawn samples behind the interval of the smooth error.
    random_state : int, Generator or None
        Seed of the split and of the redrawn samples; None is a fresh one.
    time_limit : float, optional
        Seconds after which no further method is begun, and a fit of classes is stopped; ``.skipped`` names the methods
        left out. With it the result depends on the machine.
    progress : callable, optional
        Called with the name of each method in turn.

    Returns
    -------
    RecalibrationChoice
        With ``.summary()``, what to do in words, and ``.recalibrator``, fitted to all rows.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, outcomes are rates, or a class has fewer rows than parts.

    See Also
    --------
    RecalibratedClassifier, audit

    Notes
    -----
    Intervals of the scores are normal, from the rows' own spread (weights count through Kish's effective rows);
    differences are taken row by row. The smooth error of the population lies within D of the sample's, where D is the
    largest difference that a bounded Lipschitz weighting can make between the two; D's quantile is found by redrawing
    residuals, on 2,048 cells of predictions. That interval is conservative, and its lower end is 0 if nothing is
    proved. All intervals are for the maps that were fitted, as if they were given. Maps that return exactly 0 or 1 for
    any prediction are compared, but never chosen. If a change is due, a map must beat the mean outcome for all, or more
    events must be proved where predictions are higher, each at a tenth of the level; otherwise the result says that
    these rows do not show that the predictions carry information. Cost: cv + 1 sorts and fits per method.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import choose_recalibrator
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(4000)
    >>> odds = (y_prob / (1 - y_prob)) ** 0.5
    >>> y_true = rng.random(4000) < odds / (1 + odds)
    >>> choice = choose_recalibrator(y_true, y_prob, methods=["temperature", "platt", "isotonic"], random_state=0)
    >>> choice.chosen
    'temperature'
    """
    rows = Judge.of(y_true, y_prob, sample_weight, pos_label, groups)
    clock = TimeLimit(time_limit)
    with beside(_THREADS) as threads:
        choice = _choose(rows, methods, cv, criterion, level, n_resamples, random_state, clock, progress, threads)
    winner = choice.recalibrator
    return replace(choice, recalibrator=winner.as_estimator()) if isinstance(winner, Curve) else choice


def choose_on_rows(
    rows: Rows | MulticlassSample,
    test: TestResult | None,
    *,
    level: float,
    n_resamples: int,
    random_state: RandomState,
    progress: Callable[[str], None] | None = None,
) -> RecalibrationChoice:
    """`choose_recalibrator` of rows that were read already, with its usual methods, but none that takes minutes.

    `test` is that of the predictions, on these rows or on more from which they were drawn; None for classes. The
    recalibrator may be a curve.
    """
    judge = Judge.read(rows)
    methods: Sequence[Any] | None = None
    skipped = {}
    if judge.classes:
        n, k = judge.prediction.shape
        if n * k * k > _MOST_WORK:
            methods = [name for name, each in maps().items() if each.classes and name != "dirichlet"]
            skipped["dirichlet"] = f"takes minutes with {k:,} classes"
    clock = TimeLimit(None)
    with beside(_THREADS) as threads:
        choice = _choose(judge, methods, 5, "brier", level, n_resamples, random_state, clock, progress, threads, test)
    return replace(choice, skipped=ReadOnly({**skipped, **choice.skipped}))


def _choose(
    judge: Judge,
    methods: Sequence[Any] | None,
    cv: int,
    criterion: Criterion,
    level: float,
    n_resamples: int,
    random_state: RandomState,
    clock: TimeLimit,
    progress: Callable[[str], None] | None,
    threads: Beside,
    test: TestResult | None = None,
) -> RecalibrationChoice:
    one_of(criterion, get_args(Criterion), "criterion")
    n_resamples = check_number(n_resamples)
    level = check_level(level)
    recalibrators: dict[str, Any]
    if methods is None and not judge.classes:
        recalibrators = {name: each.kind() for name, each in candidates().items()}
    else:
        recalibrators = _read_methods(methods, judge.classes)
    rng, seed = seeded(random_state)
    # scikit-learn's seeds have 32 bits.
    splits = judge.splits(cv, int(rng.integers(2**32)) if seed is None else seed % 2**32)
    seed_of_test = int(rng.integers(2**31))
    rows = None if judge.classes else judge.single()
    if rows is not None:
        check_groups(rows)
        test = calibration_test_on_rows(rows, level, N_RESAMPLES, seed_of_test) if test is None else test
    comparison = _Comparison(
        judge, judge.mass, judge.losses(judge.prediction), criterion, level, n_resamples, rng, threads
    )
    scores, certain, skipped = _scores(comparison, recalibrators, splits, clock, progress)
    fitted = {name: each for name, each in recalibrators.items() if name not in skipped}
    allowed = [each for each in scores if each.method not in certain]
    best, choice = _pick(comparison, allowed, fitted, test, rows)
    choice, order, correlation, direction = _with_order(comparison, choice, fitted, splits, scores)
    return RecalibrationChoice(
        tuple(scores), best, choice, fitted.get(choice), criterion, float(level), tuple(certain), correlation,
        direction, order, None if test is None else test.pvalue, ReadOnly(skipped), judge.noise_of_rate,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """Methods side by side: losses of rows as mapped by fits that have not seen their outcomes."""

    judge: Judge
    mass: FloatArray
    unchanged: dict[str, FloatArray]
    criterion: Criterion
    level: float
    n_resamples: int
    rng: np.random.Generator
    threads: Beside
    losses: dict[str, FloatArray] = field(default_factory=dict)
    ratio: dict[str, float] = field(default_factory=dict)
    """Log likelihood ratio of each method to the predictions unchanged."""

    @property
    def loss(self) -> str:
        """Name of the loss that rows are compared by."""
        return "brier" if self.criterion == "distance" else self.criterion

    @property
    def likelier(self) -> set[str]:
        """Methods whose likelihood ratio is 1 / level or more, on rows that the map was not fitted to."""
        return {name for name, each in self.ratio.items() if each >= -np.log(self.level)}

    def mean(self, values: FloatArray, level: float | None = None) -> tuple[float, Interval]:
        """Mean over the rows, with its interval."""
        return mean_with_interval(values, self.mass, self.level if level is None else level, self.judge.group)

    def score(self, name: str, crossed: FloatArray) -> Callable[[], RecalibrationScore]:
        """Score a method; its distance is measured beside what comes next, and waited for when the score is read."""
        loss, judge = self.judge.losses(crossed), self.judge
        self.losses[name] = loss[self.loss]
        self.ratio[name] = judge.log_ratio(self.unchanged["log"], loss["log"])
        outcome, prediction = judge.question(crossed)
        sample = Sample.of_arrays(outcome, prediction, judge.weight)
        smooth = smooth_error_from_sample(sample)
        tol = _FINE if self.mass.size <= _MANY else _COARSE
        distance = self.threads.submit(lower_distance_from_sample, sample, tol=tol)
        half = smooth_half_width(outcome, prediction, self.mass, self.level, self.n_resamples, self.rng, judge.group)
        numbers = (
            smooth,
            Interval(max(smooth - half, 0.0), min(smooth + half, 1.0)),
            *self.mean(loss["brier"]),
            *self.mean(loss["log"]),
            self.mean(self.unchanged["brier"] - loss["brier"])[1],
        )
        return lambda: RecalibrationScore(name, distance.result(), *numbers)

    def simplest(self, scores: list[RecalibrationScore], simple: set[str]) -> tuple[str, str]:
        """Best method, and the one to use: a simple one, unless a richer is better beyond chance."""
        base = min((score for score in scores if score.method in simple), key=lambda score: score.log)
        if base.method not in self.likelier:
            base = scores[0]
        richer = [score for score in scores if score.method not in simple]
        best = min((*richer, base), key=lambda score: scored(score, self.criterion))
        if not self._worse(base, best):
            return best.method, base.method
        return self.first_as_good(richer)

    def first_as_good(self, scores: list[RecalibrationScore]) -> tuple[str, str]:
        """Best method, and the first that is not worse beyond chance."""
        best = min(scores, key=lambda score: scored(score, self.criterion))
        first = next(score for score in scores if not self._worse(score, best))
        return best.method, first.method

    def _worse(self, score: RecalibrationScore, best: RecalibrationScore) -> bool:
        """Whether it is worse than the best beyond chance."""
        if score is best:
            return False
        if self.criterion == "distance":
            # The half-width of one smooth error, which is at most twice the distance it is an error of.
            farther = score.lower_calibration_distance - best.lower_calibration_distance
            return farther > (score.smooth_error_interval.high - score.smooth_calibration_error) / 2.0
        if not np.isfinite(scored(score, self.criterion)):
            return True
        return self.mean(self.losses[score.method] - self.losses[best.method])[1].low > 0.0


def _scores(
    comparison: _Comparison,
    maps: dict[str, Any],
    splits: list[Split],
    clock: TimeLimit,
    progress: Callable[[str], None] | None,
) -> tuple[list[RecalibrationScore], list[str], dict[str, str]]:
    """Fit the maps across the folds and to all rows: scores, the names of those that say certain, and those skipped."""
    judge, threads = comparison.judge, comparison.threads
    others = None if judge.classes else [judge.pooled(train) for train, _ in splits]
    whole = None if judge.classes else judge.pooled()

    def fit(recalibrator: Any) -> FloatArray:
        """Rows as mapped by fits to others; fitted to all rows last, so that it is the map that would be used."""
        if clock.up:
            raise OutOfTime
        crossed = judge.crossed(recalibrator, splits, clock, others)
        if whole is None:
            judge.fitted(recalibrator, clock=clock)
        else:
            recalibrator.fit_sample(whole)
        return crossed

    # Maps of one probability are fitted beside one another and what is judged; tables of classes are too large.
    fits = {} if judge.classes else {name: threads.submit(fit, each) for name, each in maps.items()}
    scores = [comparison.score("unchanged", judge.prediction)]
    certain, skipped = [], {}
    for name, recalibrator in maps.items():
        if progress is not None:
            progress(name)
        try:
            crossed = fits[name].result() if fits else fit(recalibrator)
        except OutOfTime:
            skipped[name] = "the time was up"
            continue
        scores.append(comparison.score(name, crossed))
        if says_certain(recalibrator, judge.prediction) or _holds_certainty(crossed, judge.classes):
            certain.append(name)
    return [score() for score in scores], certain, skipped


def _pick(
    comparison: _Comparison,
    scores: list[RecalibrationScore],
    fitted: dict[str, Any],
    test: TestResult | None,
    rows: Rows | None,
) -> tuple[str, str]:
    """Best method, and the one to use if the mapped predictions carry information."""
    if test is None or rows is None:
        better = [scores[0], *(each for each in scores[1:] if each.method in comparison.likelier)]
        return comparison.first_as_good(better[1:] or better)
    kinds = tuple(each.kind for each in candidates().values() if each.simple)
    simple = {"unchanged", *(name for name, each in fitted.items() if isinstance(each, kinds))}
    best, choice = comparison.simplest(scores, simple)
    impossible = impossible_rows(rows)
    many = impossible is not None and impossible.n_rows > _ROUNDED * rows.y_prob.size
    return best, choice if test.reject or many else "unchanged"


def _with_order(
    comparison: _Comparison, choice: str, fitted: dict[str, Any], splits: list[Split], scores: list[RecalibrationScore]
) -> tuple[str, bool, float | None, Direction]:
    """The choice after all, whether it keeps the order, and correlation and direction of the predictions."""
    correlation, direction, rising = _association(comparison)
    if choice != "unchanged" and not _worth_keeping(comparison, choice, splits, rising, scores):
        choice = "constant"
    if comparison.judge.classes or choice in ("unchanged", "constant"):
        return choice, True, correlation, direction
    order, turned = order_kept(fitted[choice], comparison.judge.prediction)
    if turned and not order and rising:  # a few far rows turn it, against what most of them say
        return "unchanged", True, correlation, direction
    return choice, order, correlation, "wrong" if turned and not order else direction


def _association(comparison: _Comparison) -> tuple[float | None, Direction, bool]:
    """Correlation of predictions and outcomes, its sure direction, and whether it is positive at the usual level."""
    if comparison.judge.classes:
        return None, "none", False
    correlation, z = comparison.judge.association()
    direction: Direction = "none"
    if abs(z) > float(-ndtri(comparison.level / _SURER / 2.0)):
        direction = "right" if z > 0.0 else "wrong"
    return correlation, direction, z > float(-ndtri(comparison.level / 2.0))


def _worth_keeping(
    comparison: _Comparison, choice: str, splits: list[Split], rising: bool, scores: list[RecalibrationScore]
) -> bool:
    """Whether mapped predictions carry information; where that is not shown, the constant joins the scores."""
    judge = comparison.judge
    constant = judge.constant(splits)
    gain = judge.losses(constant)[comparison.loss] - comparison.losses[choice]
    mean, interval = comparison.mean(gain, comparison.level / _SURER)
    proved = np.isfinite(gain).all() and interval.low > 0.0
    # To throw predictions away takes more than to keep them: for that a usual level, of classes a mean, is enough.
    if proved or rising or (judge.classes and mean > 0.0):
        return True
    scores.append(comparison.score("constant", constant)())
    return False


def _holds_certainty(crossed: FloatArray, classes: bool) -> bool:
    return bool(crossed.min() <= 0.0 or (not classes and crossed.max() >= 1.0))


def _read_methods(methods: Sequence[Any] | None, classes: bool) -> dict[str, Any]:
    from calibrant.recalibration.methods import make_recalibrator  # scikit-learn takes a second to load

    if methods is None:
        methods = [name for name, each in maps().items() if each.classes]
    if isinstance(methods, str) or len(methods) == 0:
        raise InputError("methods", f"is {methods!r:.40}; a sequence of names or recalibrators is needed")
    names, recalibrators = [], []
    for method in methods:
        recalibrator = make_recalibrator(method, "methods")
        if not isinstance(recalibrator, TemperatureCurve) and isinstance(recalibrator, Curve) == classes:
            what = "one probability, not classes" if classes else "class probabilities, not one probability"
            raise InputError("methods", f"holds {method!r:.60}, which maps {what}")
        names.append(method if isinstance(method, str) else type(recalibrator).__name__)
        recalibrators.append(recalibrator)
    if len(set(names)) < len(names) or "unchanged" in names:
        raise InputError("methods", "holds a name twice; fit recalibrators of one class one by one")
    return dict(zip(names, recalibrators, strict=True))
