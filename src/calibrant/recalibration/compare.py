"""Recalibrations side by side, each on rows that it was not fitted to: a table, where somebody asks for one."""

from __future__ import annotations

__all__ = ["RecalibrationComparison", "RecalibrationScore", "compare_recalibrators"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calibrant.door.arguments import TimeLimit, check_level
from calibrant.door.columns import Column, FloatArray, Labels, Table
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import FloatOrNull, ReadOnly, Result
from calibrant.lazily import optional
from calibrant.measures.lower import lower_distance_from_sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.recalibration.curves.base import Curve, curves, maps
from calibrant.recalibration.curves.formulas import TemperatureCurve
from calibrant.recalibration.judge import Judge, mean_with_interval, says_certain
from calibrant.recalibration.softmax_fit import OutOfTime
from calibrant.resampling.folds import Split
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
        self._losses: dict[str, dict[str, FloatArray]] = {}
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
                crossed = fits[name].result() if fits else fit(recalibrator)
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
        self._losses[name] = loss
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
        return self._mean(constant - self._losses[method]["brier"])[0] > 0.0

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
