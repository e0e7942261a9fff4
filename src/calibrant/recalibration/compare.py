"""Recalibrations judged on rows that they were not fitted to: folds, losses, intervals, and a table side by side."""

from __future__ import annotations

__all__ = ["RecalibrationComparison", "RecalibrationScore", "compare_recalibrators"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import TimeLimit, check_level, whole_from
from calibrant.door.classes import ClassTable, MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, IntArray, Labels, Table, check_weights, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.labels import event_outcomes
from calibrant.door.rows import Rows, dimensions, read_groups
from calibrant.door.sample import Sample
from calibrant.door.special import ndtri
from calibrant.door.values import FloatOrNull, ReadOnly, Result
from calibrant.kernels.sums import dot
from calibrant.lazily import optional
from calibrant.measures.lower import lower_distance_from_sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.recalibration.curves.base import Curve, curves, maps
from calibrant.recalibration.curves.scaling import TemperatureCurve
from calibrant.recalibration.softmax_fit import OutOfTime
from calibrant.resampling.folds import Split, cross_fitted, folds
from calibrant.threads import Beside, beside

if TYPE_CHECKING:
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.methods import Method
    from calibrant.recalibration.multiclass import MulticlassRecalibrator

_MANY, _FINE, _COARSE = 20_000, 1e-5, 3e-5  # tolerance of distances, up to so many rows and above: 1% of their noise
THREADS = 2  # that fit maps, then measure distances
_SEED = 0  # of the folds: rows are put in order first, so that equal rows have equal tables


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationScore(Result):
    """Scores of the predictions, recalibrated by maps that had not seen their outcomes.

    Attributes
    ----------
    method : str
        Name of the method; ``"unchanged"`` for the predictions as they are.
    lower_calibration_distance : float
        Lower distance from calibration, at most 1e-5 too high (3e-5 of more than 20,000 rows); with classes, that of
        the top label.
    smooth_calibration_error : float
        Smooth calibration error.
    brier : float
        Mean Brier score (with classes the sum over them).
    brier_interval : Interval
        Holds that of the population.
    log : float
        Mean log score; infinite, in JSON null, as its interval is, where a prediction of 0 or 1 was wrong.
    log_interval : Interval
        Holds that of the population.
    brier_gain_interval : Interval
        Holds how much lower the Brier score is than that of the unchanged predictions, row by row.
    certain : bool
        Whether the method can return exactly 0 or 1, where one wrong outcome makes the log score infinite.

    See Also
    --------
    RecalibrationComparison, compare_recalibrators
    """

    method: str
    lower_calibration_distance: float
    smooth_calibration_error: float
    brier: float
    brier_interval: Interval
    log: FloatOrNull
    log_interval: Interval
    brier_gain_interval: Interval
    certain: bool = False

    def summary(self) -> str:
        """Say how it did."""
        certain = "; it can return exactly 0 or 1" if self.certain else ""
        return (
            f"{self.method}: distance {self.lower_calibration_distance:.3g}, Brier score {self.brier:.4g} "
            f"({self.brier_interval.summary()}), log score {self.log:.4g}{certain}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationComparison(Result):
    """Every method's scores on rows that it was not fitted to.

    Attributes
    ----------
    scores : tuple of RecalibrationScore
        ``"unchanged"`` first, then the methods in the order given.
    level : float
        Intervals cover with probability 1 - level.
    skipped : mapping of str to str
        Methods that were not compared, with the reason.

    See Also
    --------
    compare_recalibrators, RecalibrationScore
    """

    _parts = "scores"
    scores: tuple[RecalibrationScore, ...]
    level: float
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a method by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def summary(self) -> str:
        """Return a line for each method."""
        lines = [score.summary() for score in self.scores]
        return "\n".join([*lines, *(f"{name}: not compared, {why}" for name, why in self.skipped.items())])


@optional("compare_recalibrators", "sklearn")
def compare_recalibrators(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    groups: Any = None,
    pos_label: Any = None,
    methods: Sequence[Method | Recalibrator | MulticlassRecalibrator] | None = None,
    cv: int = 5,
    level: float = 0.05,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> RecalibrationComparison:
    """Score recalibrations on rows that they were not fitted to, side by side.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1; labels, if y_prob has a column per class.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns that of the positive class alone is recalibrated.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    groups : column of shape (n,), optional
        Rows of one group (a patient, a day) are never on both sides of a split. Intervals take groups as independent of
        one another.
    pos_label : label, optional
        The positive class, as for `audit`.
    methods : sequence of names or recalibrators, optional
        By default all that map one probability, or all that map class probabilities. Recalibrators
        are named by their class.
    cv : int, default 5
        Number of parts the rows are split into, with both outcomes in each; a part is recalibrated by the map fitted to
        the others. The rows alone decide the parts, in any order.
    level : float, default 0.05
        Intervals cover with probability 1 - level, asymptotically.
    time_limit : float, optional
        Seconds after which no further method is begun, and a fit of classes is stopped; ``.skipped`` names the methods
        left out. With it the result depends on the machine.
    progress : callable, optional
        Called with the name of each method in turn.

    Returns
    -------
    RecalibrationComparison
        With ``.scores``, one of each method.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, outcomes are rates, or an outcome has fewer rows than parts.

    See Also
    --------
    choose_recalibrator, AveragedScaling

    Notes
    -----
    Intervals of the scores are normal, from the rows' own spread; weights count through Kish's effective rows. They
    take the fitted maps as given. Nothing is chosen: the best of many scores is best by chance as well. Cost: cv sorts
    and fits per method.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import compare_recalibrators
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(4000)
    >>> y_true = rng.random(4000) < y_prob + 0.1 * np.sin(2 * np.pi * y_prob)
    >>> table = compare_recalibrators(y_true, y_prob, methods=["temperature", "platt", "averaged"])
    >>> min(table.scores, key=lambda score: score.log).method
    'averaged'
    """
    judge = Judge.of(y_true, y_prob, sample_weight, pos_label, groups)
    with beside(THREADS) as threads:
        return compared(judge, methods, cv, check_level(level), TimeLimit(time_limit), progress, threads).result


def compared(
    judge: Judge,
    methods: Sequence[Any] | None,
    cv: int,
    level: float,
    clock: TimeLimit,
    progress: Callable[[str], None] | None,
    threads: Beside,
) -> Compared:
    """`compare_recalibrators` of rows that were read already, with every map and the losses of the rows."""
    recalibrators = _read_methods(methods, judge.classes)
    judge = judge.in_order()
    comparison = Compared(judge, level, threads, judge.splits(cv, _SEED), judge.losses(judge.prediction))
    return comparison.run(recalibrators, clock, progress)


class Compared:
    """Methods side by side: losses of rows as mapped by fits that have not seen their outcomes.

    Attributes
    ----------
    result : RecalibrationComparison
        The table.
    fitted : dict of str to recalibrator
        Each method fitted to all rows.
    ratio : dict of str to float
        Log likelihood ratio of each method to the predictions unchanged.
    """

    result: RecalibrationComparison

    def __init__(
        self, judge: Judge, level: float, threads: Beside, splits: list[Split], unchanged: dict[str, FloatArray]
    ) -> None:
        self._judge, self._level, self._threads, self._splits = judge, level, threads, splits
        self._unchanged, self._mass = unchanged, judge.mass
        self._brier: dict[str, FloatArray] = {}
        self.fitted: dict[str, Any] = {}
        self.ratio: dict[str, float] = {}

    def run(self, maps: dict[str, Any], clock: TimeLimit, progress: Callable[[str], None] | None) -> Compared:
        """Fit the maps across the folds and to all rows, and score them."""
        judge = self._judge
        others = None if judge.classes else [judge.pooled(train) for train, _ in self._splits]
        whole = None if judge.classes else judge.pooled()

        def fit(recalibrator: Any) -> FloatArray:
            """Rows as mapped by fits to others; fitted to all rows last, so that it is the map that would be used."""
            if clock.up:
                raise OutOfTime
            crossed = judge.crossed(recalibrator, self._splits, clock, others)
            if whole is None:
                judge.fitted(recalibrator, clock=clock)
            else:
                recalibrator.fit_sample(whole)
            return crossed

        # Maps of one probability are fitted beside one another; tables of classes are too large.
        fits = {} if judge.classes else {name: self._threads.submit(fit, each) for name, each in maps.items()}
        scores, skipped = [self._score("unchanged", judge.prediction)], {}
        for name, recalibrator in maps.items():
            if progress is not None:
                progress(name)
            try:
                crossed = fits.pop(name).result() if name in fits else fit(recalibrator)
            except OutOfTime:
                skipped[name] = "the time was up"
                continue
            certain = says_certain(recalibrator, judge.prediction) or crossed.min() <= 0.0
            scores.append(self._score(name, crossed, bool(certain)))
            self.fitted[name] = recalibrator
        self.result = RecalibrationComparison(tuple(score() for score in scores), self._level, ReadOnly(skipped))
        return self

    def _score(self, name: str, crossed: FloatArray, certain: bool = False) -> Callable[[], RecalibrationScore]:
        """Score a method; its distance is measured beside what comes next, and waited for when the score is read."""
        loss, judge = self._judge.losses(crossed), self._judge
        self._brier[name] = loss["brier"]
        self.ratio[name] = judge.log_ratio(self._unchanged["log"], loss["log"])
        outcome, prediction = judge.question(crossed)
        sample = Sample.of_arrays(outcome, prediction, judge.weight)
        smooth = smooth_error_from_sample(sample)
        tol = _FINE if self._mass.size <= _MANY else _COARSE
        distance = self._threads.submit(lower_distance_from_sample, sample, tol=tol)
        means = *self._mean(loss["brier"]), *self._mean(loss["log"])
        gain = self._mean(self._unchanged["brier"] - loss["brier"])[1]
        return lambda: RecalibrationScore(name, distance.result(), smooth, *means, gain, certain)

    def _mean(self, values: FloatArray) -> tuple[float, Interval]:
        """Mean over the rows, with its interval."""
        return mean_with_interval(values, self._mass, self._level, self._judge.group)

    def beats_constant(self, method: str) -> bool:
        """Whether a method's Brier score is better than that of the mean outcome of the other folds."""
        constant = self._judge.losses(self._judge.constant(self._splits))["brier"]
        return self._mean(constant - self._brier[method])[0] > 0.0

    def constant(self) -> RecalibrationScore:
        """The score of the mean outcome of the other folds."""
        return self._score("constant", self._judge.constant(self._splits))()


def _read_methods(methods: Sequence[Any] | None, classes: bool) -> dict[str, Any]:
    from calibrant.recalibration.methods import make_recalibrator  # scikit-learn takes a second to load

    if methods is None:
        methods = [name for name, each in maps().items() if each.classes] if classes else list(curves())
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


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Outcomes or labels, predictions of shape (n,) or (n, K), weights, and each row's group."""

    outcome: npt.NDArray[Any]
    prediction: FloatArray
    weight: FloatArray | None
    classes: bool
    group: IntArray | None = None

    @classmethod
    def of(
        cls, y_true: Labels | Table, y_prob: Column | Table, sample_weight: Column | None, pos_label: Any, groups: Any
    ) -> Judge:
        """Read one column or a table; of two columns, that of the positive class."""
        judge = cls._of(y_true, y_prob, sample_weight, pos_label)
        return judge if groups is None else replace(judge, group=read_groups(groups, judge.outcome.size))

    @classmethod
    def _of(cls, y_true: Labels | Table, y_prob: Column | Table, sample_weight: Column | None, pos_label: Any) -> Judge:
        if dimensions(y_prob) == 2:
            return cls.read(multiclass_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label))
        outcome, prediction, weight = read_columns(
            event_outcomes(y_true, pos_label), cast(Column, y_prob), sample_weight
        )
        rate = (outcome != 0.0) & (outcome != 1.0)
        if rate.any():
            row = int(np.argmax(rate))
            raise InputError("y_true", f"row {row} is {outcome[row]:.6g}; each outcome must be 0 or 1 here", row=row)
        return cls(outcome, prediction, weight, classes=False)

    @classmethod
    def read(cls, rows: Rows | MulticlassSample) -> Judge:
        """Rows that were read already; of two classes, those of the positive one."""
        group = None if rows.group is None else np.unique(rows.group, return_inverse=True)[1].astype(np.int64)
        if isinstance(rows, Rows):
            outcome = rows.y_true.astype(np.float64)
            return cls(outcome, rows.y_prob, rows.weight, classes=False, group=group)
        if rows.n_classes > 2:
            return cls(rows.y_true, rows.y_prob, rows.sample_weight, classes=True, group=group)
        event = rows.event()
        return cls(event.y_true, event.y_prob, event.sample_weight, classes=False, group=group)

    def in_order(self) -> Judge:
        """The same rows in an order that they alone decide: by prediction, outcome, group and weight."""
        columns = self.prediction.T[::-1] if self.classes else [self.prediction]
        keys = [each for each in (self.weight, self.group) if each is not None]
        order = np.lexsort([*keys, self.outcome, *columns])
        return self.part(order)

    def part(self, at: Any) -> Judge:
        """Some of the rows."""
        weight, group = (None if each is None else each[at] for each in (self.weight, self.group))
        return Judge(self.outcome[at], self.prediction[at], weight, self.classes, group)

    @property
    def mass(self) -> FloatArray:
        """Share of the weight of each row."""
        n = self.outcome.size
        return np.full(n, 1.0 / n) if self.weight is None else np.asarray(self.weight / self.weight.sum())

    @property
    def noise_of_rate(self) -> float:
        """Standard error of the mean outcome (of classes, of the most probable one's): groups are drawn as wholes."""
        outcome, _ = self.question(self.prediction)
        mass = self.mass
        return spread_of_sum(mass * (outcome - dot(mass, outcome)), self.group)

    @property
    def powers(self) -> FloatArray:
        """Count of each row in a likelihood ratio: its weight, by Kish's number of rows, and at most 1.

        Rows of one group count once together at most. So the ratio of a map that has not seen these outcomes has mean 1
        at most under calibration: docs/recalibration.md.
        """
        mass = self.mass
        share = mass if self.group is None else np.asarray(np.bincount(self.group, mass), np.float64)
        capped = np.minimum(share / dot(share, share), 1.0)
        capped = np.divide(capped, share, out=np.zeros_like(share), where=share > 0.0)
        return mass * (capped if self.group is None else capped[self.group])

    def log_ratio(self, loss: FloatArray, loss_after: FloatArray) -> float:
        """Log likelihood ratio of two predictions, by the log scores of rows; NaN if both are infinite."""
        powers = self.powers
        mask = powers > 0.0
        with np.errstate(invalid="ignore"):
            return float((powers[mask] * (loss[mask] - loss_after[mask])).sum())

    def losses(self, prediction: FloatArray) -> dict[str, FloatArray]:
        """Brier and log score of each row."""
        if not self.classes:
            happened = self.outcome == 1.0
            with np.errstate(divide="ignore"):
                log = -np.log(np.where(happened, prediction, 1.0)) - np.log1p(-np.where(happened, 0.0, prediction))
            return {"brier": (prediction - self.outcome) ** 2, "log": log}
        right = np.take_along_axis(prediction, self.outcome[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return {"brier": (prediction**2).sum(axis=1) - 2.0 * right + 1.0, "log": -np.log(right)}

    def question(self, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Outcomes and probabilities whose distance is judged: of classes, whether the most probable one was right."""
        if not self.classes:
            return self.outcome, prediction
        top = MulticlassSample(
            self.outcome, ClassTable(prediction), None, tuple(range(prediction.shape[1]))
        ).top_label()
        return top.y_true, top.y_prob

    def splits(self, cv: int, seed: int) -> list[Split]:
        """Rows to fit to and rows to predict, cv times, dealt at random."""
        parts = whole_from(cv, "cv", 2)
        counts = np.bincount(self.outcome.astype(np.int64), minlength=2)
        if not self.classes and counts.min() < parts:
            problem = f"has {counts[1]:,} ones and {counts[0]:,} zeros; cv={parts} needs as many of each"
            raise InputError("y_true", problem)
        if self.outcome.size < parts:
            raise InputError("y_true", f"has {self.outcome.size:,} rows; cv={parts} needs as many")
        # A class with fewer rows than parts is missing from some of them, which the fits of classes allow for.
        pairs = folds(self.outcome, parts, groups=self.group, seed=seed)
        if self.group is not None and not self.classes and any(np.ptp(self.outcome[train]) == 0 for train, _ in pairs):
            raise InputError("groups", f"leave only one outcome for one of the {parts} fits; lower cv")
        return pairs

    def crossed(
        self, recalibrator: Any, splits: list[Split], clock: TimeLimit, training: Sequence[Sample] | None
    ) -> FloatArray:
        """Every row as mapped by a fit that has not seen its outcome; OutOfTime where the time is up first.

        `training` are the rows that each split fits to, pooled once for all maps of one probability; None for classes.
        """
        samples = None if training is None else iter(training)

        def map_others(train: IntArray, test: IntArray) -> FloatArray:
            if samples is None:
                return mapped(self.fitted(recalibrator, train, clock), self.prediction[test])
            return mapped(recalibrator.fit_sample(next(samples)), self.prediction[test])

        return cross_fitted(map_others, splits)

    def pooled(self, rows: Any = slice(None)) -> Sample:
        """These rows of one probability, pooled; they were read already."""
        weight = None if self.weight is None else self.weight[rows]
        if weight is not None:
            check_weights(weight)  # of a part of the rows it may be zero throughout
        return Sample.of_arrays(self.outcome[rows], self.prediction[rows], weight)

    def fitted(self, recalibrator: Any, rows: Any = slice(None), clock: TimeLimit | None = None) -> Any:
        """Fit a map to these rows; they were read already."""
        if not self.classes:
            return recalibrator.fit_sample(self.pooled(rows))
        weight = None if self.weight is None else self.weight[rows]
        if weight is not None:
            check_weights(weight)
        classes = tuple(range(self.prediction.shape[1]))
        part = MulticlassSample(self.outcome[rows], ClassTable(self.prediction[rows]), weight, classes)
        if clock is None or isinstance(recalibrator, Curve):  # temperature scaling takes no time
            return recalibrator.fit_classes(part)
        return recalibrator.fit_classes(part, lambda: clock.up)

    def constant(self, splits: list[Split]) -> FloatArray:
        """Every row as predicted by the mean outcome, or the frequencies of the classes, of the other folds."""
        happened = np.eye(self.prediction.shape[1])[self.outcome] if self.classes else self.outcome

        def mean(train: IntArray, test: IntArray) -> FloatArray:
            weight = None if self.weight is None else self.weight[train]
            weighs = weight is None or bool(weight.sum() > 0.0)
            rate = np.average(happened[train], axis=0, weights=weight if weighs else None)
            return np.broadcast_to(rate, (test.size, *rate.shape))

        return cross_fitted(mean, splits)


def mapped(recalibrator: Any, prediction: FloatArray) -> FloatArray:
    """Predictions of shape (n,), or (n, K), that were read already, as a fitted map has them."""
    probability: FloatArray = (recalibrator._map_classes if prediction.ndim == 2 else recalibrator._map)(prediction)
    return probability


def spread_of_sum(parts: FloatArray, group: IntArray | None) -> float:
    """Standard error of a sum of independent parts of mean 0, or of parts that depend on one another within groups."""
    each = parts if group is None else np.asarray(np.bincount(group, parts), np.float64)
    return float(np.sqrt(dot(each, each)))


def mean_with_interval(
    values: FloatArray, mass: FloatArray, level: float, group: IntArray | None = None
) -> tuple[float, Interval]:
    """Weighted mean with its normal interval; infinite throughout where a value with weight is."""
    mask = mass > 0.0
    values, mass, group = values[mask], mass[mask], None if group is None else group[mask]
    if not np.isfinite(values).all():
        return np.inf, Interval(np.inf, np.inf)
    mean = dot(mass, values)
    half = float(-ndtri(level / 2.0)) * spread_of_sum(mass * (values - mean), group)
    return mean, Interval(mean - half, mean + half)


def says_certain(recalibrator: Any, prediction: FloatArray) -> bool:
    """Whether a fitted map returns exactly 0 or 1: for these rows, or for any prediction that may yet come."""
    probability = mapped(recalibrator, prediction)
    if isinstance(recalibrator, Curve) and prediction.ndim == 1:
        low, high = recalibrator._range()
        return bool(min(low, probability.min()) <= 0.0 or max(high, probability.max()) >= 1.0)
    return bool(probability.min() <= 0.0 or mapped(recalibrator, np.eye(prediction.shape[1])).min() <= 0.0)
