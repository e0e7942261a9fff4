"""Which recalibration, if any: a cross-fitted comparison, by distance and by proper scores, with intervals."""

from __future__ import annotations

__all__ = ["RecalibrationChoice", "RecalibrationScore", "choose_recalibrator"]

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_number, one_of, seeded
from calibrant.door.classes import MulticlassSample
from calibrant.door.columns import Column, Labels, Table
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows as SingleRows
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.measures.lower import lower_distance_from_sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.judging import (
    Rows,
    mean_with_interval,
    order_kept,
    says_certain,
    smooth_half_width,
)
from calibrant.recalibration.methods import METHODS, Method, make_recalibrator
from calibrant.recalibration.multiclass import MulticlassRecalibrator
from calibrant.recalibration.temperature import TemperatureScaling

FloatArray = npt.NDArray[np.float64]
Criterion = Literal["brier", "log", "distance"]

BINARY_METHODS = tuple(name for name, kind in METHODS.items() if not issubclass(kind, MulticlassRecalibrator))
CLASS_METHODS: tuple[Method, ...] = ("temperature", "vector", "dirichlet")
_DISTANCE_TOLERANCE = 1e-5
_SURER = 10.0  # what is said about information is said at a tenth of the level: it overturns the advice


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationScore(Result):
    """How predictions did, recalibrated by maps that had not seen their outcomes.

    Attributes
    ----------
    method : str
        Name of the method; ``"unchanged"`` for the predictions as they are.
    lower_calibration_distance : float
        Lower distance from calibration, at most 1e-5 too high; with classes, that of the top label.
    smooth_calibration_error : float
        Smooth calibration error.
    smooth_error_interval : Interval
        Holds that of the population.
    brier : float
        Mean Brier score (with classes the sum over them).
    brier_interval : Interval
        Holds that of the population.
    log : float
        Mean log score; infinite, as its interval is, where a prediction of 0 or 1 was wrong.
    log_interval : Interval
        Holds that of the population.
    brier_gain_interval : Interval
        Holds how much lower the Brier score is than that of the predictions as they are, row by row.

    See Also
    --------
    RecalibrationChoice, choose_recalibrator
    """

    method: str
    lower_calibration_distance: float
    smooth_calibration_error: float
    smooth_error_interval: Interval
    brier: float
    brier_interval: Interval
    log: float
    log_interval: Interval
    brier_gain_interval: Interval

    def summary(self) -> str:
        """Say how it did."""
        return (
            f"{self.method}: distance {self.lower_calibration_distance:.3g}, Brier score {self.brier:.4g} "
            f"({self.brier_interval.summary()}), log score {self.log:.4g}"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecalibrationChoice(Result):
    """The comparison of all methods, and the one to use.

    Attributes
    ----------
    scores : tuple of RecalibrationScore
        ``"unchanged"`` first, then the methods in the order given.
    best : str
        The method with the best criterion, of those that may be chosen.
    chosen : str
        The first method, in the order given, that is not worse than the best beyond what chance explains.
        ``"constant"`` where none is better, beyond chance, than the mean outcome (the frequencies of classes) for all.
    recalibrator : Recalibrator, MulticlassRecalibrator or None
        The chosen method fitted to all rows; None if the predictions are best left unchanged, or carry no information.
    criterion : str
        What was compared.
    level : float
        Intervals cover with probability 1 - level.
    certain : tuple of str
        Methods that may not be chosen, because they return exactly 0 or 1, where one wrong label makes the log score
        infinite.
    rank_correlation : float or None
        Of the predictions with the outcomes; None for classes.
    direction : {"right", "wrong", "none"}
        Whether more events are proved where predictions are higher, or fewer, or neither.
    order_kept : bool
        Whether the chosen map leaves no two of these predictions in the opposite order.

    See Also
    --------
    choose_recalibrator, RecalibrationScore
    """

    scores: tuple[RecalibrationScore, ...]
    best: str
    chosen: str
    recalibrator: Recalibrator | MulticlassRecalibrator | None
    criterion: str
    level: float
    certain: tuple[str, ...] = ()
    rank_correlation: float | None = None
    direction: Literal["right", "wrong", "none"] = "none"
    order_kept: bool = True

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a method by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def summary(self) -> str:
        """Return, in a few sentences, what to do."""
        said = [self._what_to_do()]
        if self.direction == "wrong":
            turned = (
                f"vents are fewer where predictions are higher (rank correlation {self.rank_correlation:.2f}). Check "
                "that labels or columns are not swapped."
            )
            if self.recalibrator is None:
                said.append(f"E{turned}")
            else:
                said.insert(0, f"The predictions point the wrong way: e{turned}")
        if self.chosen == "unchanged" and not np.isfinite(self["unchanged"].log):
            said.append("Some predictions of exactly 0 or 1 were wrong, so that their log score is infinite.")
        better = self._better_but_certain()
        if better:
            names = " and ".join(name.replace("_", " ") for name in better)
            said.append(
                f"Ruled out in spite of a better {_words(self.criterion)}: {names}, which can return exactly 0 or 1, "
                "where one wrong outcome makes the log score infinite."
            )
        return " ".join(said)

    def _what_to_do(self) -> str:
        before, after = self["unchanged"], self[self.chosen]
        if self.chosen == "unchanged":
            which = "no recalibration that stays off 0 and 1" if self._better_but_certain() else "no recalibration"
            return (
                f"Leave the predictions unchanged: {which} improves the {_words(self.criterion)} beyond "
                f"chance (distance {before.lower_calibration_distance:.3g}, Brier score {before.brier:.4g})."
            )
        if self.recalibrator is None:
            return (
                "These rows do not show that the predictions carry information about the outcome: no recalibration is "
                f"better, beyond chance, than one answer for all (Brier score {after.brier:.4g}, the predictions' own "
                f"{before.brier:.4g}). Use how often it happens in place of them, or collect more rows."
            )
        far, near = before.lower_calibration_distance, after.lower_calibration_distance
        verb = "cuts" if near < far else "moves"
        text = (
            f"{self.recalibrator.summary()} It {verb} the distance from {far:.3g} to {near:.3g} "
            f"and takes the Brier score from {before.brier:.4g} to {after.brier:.4g}"
        )
        if self.best != self.chosen:
            text += f"; {self.best.replace('_', ' ')} is no better beyond chance"
        if not self.order_kept and self.direction != "wrong":
            text += ". It changes the order of some predictions"
        return f"{text}."

    def _better_but_certain(self) -> list[str]:
        held = _scored(self[self.chosen], self.criterion)
        return [name for name in self.certain if _scored(self[name], self.criterion) < held]


def choose_recalibrator(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    pos_label: Any = None,
    methods: Sequence[Method | Recalibrator | MulticlassRecalibrator] | None = None,
    cv: int = 5,
    criterion: Criterion = "brier",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> RecalibrationChoice:
    """Compare recalibrations on rows they were not fitted to, and choose the simplest that is as good as any.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1; labels, where y_prob has a column a class.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns that of the positive class is recalibrated, and maps take it
        alone.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    pos_label : label, optional
        The positive class, as for `audit`.
    methods : sequence of names or recalibrators, optional
        Simplest first; by default all that map one probability, or temperature, vector and Dirichlet scaling of
        classes. Recalibrators are named by their class.
    cv : int, default 5
        Number of parts the rows are split into, with both outcomes in each; a part is recalibrated by the map fitted to
        the others.
    criterion : {"brier", "log", "distance"}
        What decides. A proper score also counts what recalibration loses in discrimination; the distance does not.
    level : float, default 0.05
        Intervals cover with probability 1 - level, asymptotically.
    n_resamples : int, default 999
        Redrawn samples behind the interval of the smooth error.
    random_state : int, Generator or None
        Seed of the split and of the redrawn samples; None is a fresh one.

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
    residuals, on 2,048 cells of predictions. That interval is conservative, and its lower end is 0 where nothing is
    proved. All intervals are for the maps that were fitted, as if they were given. Maps that return exactly 0 or 1 for
    any prediction are compared, but never chosen. Where a change is due, it must beat the mean outcome for all, or
    more events must be proved where predictions are higher, each at a tenth of the level: else the predictions are said
    to carry no information that these rows show. Cost: cv + 1 sorts and fits a method.

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

    See Also
    --------
    RecalibratedClassifier
    """
    return _choose_on(
        Rows.of(y_true, y_prob, sample_weight, pos_label), methods, cv, criterion, level, n_resamples, random_state
    )


def choose_on_rows(
    rows: SingleRows | MulticlassSample, *, n_resamples: int, random_state: RandomState
) -> RecalibrationChoice:
    """`choose_recalibrator` of rows that were read already, with its usual methods."""
    return _choose_on(Rows.read(rows), None, 5, "brier", 0.05, n_resamples, random_state)


def _choose_on(
    rows: Rows,
    methods: Sequence[Any] | None,
    cv: int,
    criterion: Criterion,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> RecalibrationChoice:
    one_of(criterion, get_args(Criterion), "criterion")
    n_resamples = check_number(n_resamples)
    level = check_level(level)
    kind = MulticlassRecalibrator if rows.classes else Recalibrator
    if methods is None:
        methods = CLASS_METHODS if rows.classes else BINARY_METHODS
    names, recalibrators = _read_methods(methods, kind)
    rng, seed = seeded(random_state)
    # scikit-learn's seeds have 32 bits.
    splits = rows.splits(cv, int(rng.integers(2**32)) if seed is None else seed % 2**32)
    mass = rows.mass
    compared = "brier" if criterion == "distance" else criterion
    unchanged = rows.losses(rows.prediction)["brier"]
    losses: dict[str, FloatArray] = {}

    def judge(name: str, crossed: FloatArray) -> RecalibrationScore:
        loss = rows.losses(crossed)
        losses[name] = loss[compared]
        outcome, prediction = rows.question(crossed)
        sample = Sample.of_arrays(outcome, prediction, rows.weight)
        smooth = smooth_error_from_sample(sample)
        half = smooth_half_width(outcome, prediction, mass, level, n_resamples, rng)
        return RecalibrationScore(
            name,
            lower_distance_from_sample(sample, tol=_DISTANCE_TOLERANCE),
            smooth,
            Interval(max(smooth - half, 0.0), min(smooth + half, 1.0)),
            *mean_with_interval(loss["brier"], mass, level),
            *mean_with_interval(loss["log"], mass, level),
            mean_with_interval(unchanged - loss["brier"], mass, level)[1],
        )

    judged = [judge("unchanged", rows.prediction)]
    certain = []
    for name, recalibrator in zip(names, recalibrators, strict=True):
        crossed = rows.crossed(recalibrator, splits)
        judged.append(judge(name, crossed))
        # Fitted to all rows last, so that each is the map that would be used.
        rows.fitted(recalibrator)
        if says_certain(recalibrator, rows.prediction) or _holds_certainty(crossed, rows.classes):
            certain.append(name)
    fitted = dict(zip(names, recalibrators, strict=True))
    best, chosen = _choose([each for each in judged if each.method not in certain], losses, mass, criterion, level)

    correlation, z = (None, np.inf) if rows.classes else rows.association()
    sure = float(-ndtri(level / _SURER / 2.0))
    direction: Literal["right", "wrong", "none"] = "none"
    if not rows.classes and abs(z) > sure:
        direction = "right" if z > 0.0 else "wrong"
    kept = True
    if chosen != "unchanged":
        constant = rows.constant(splits)
        gain = rows.losses(constant)[compared] - losses[chosen]
        proved = np.isfinite(gain).all() and mean_with_interval(gain, mass, level / _SURER)[1].low > 0.0
        if not proved and direction != "right":
            judged.append(judge("constant", constant))
            chosen = "constant"
        elif not rows.classes:
            kept, turned = order_kept(fitted[chosen], rows.prediction)
            direction = "wrong" if turned and not kept else direction
    return RecalibrationChoice(
        tuple(judged), best, chosen, fitted.get(chosen), criterion, float(level), tuple(certain), correlation,
        direction, kept,
    )  # fmt: skip


def _holds_certainty(crossed: FloatArray, classes: bool) -> bool:
    return bool(crossed.min() <= 0.0 or (not classes and crossed.max() >= 1.0))


def _read_methods(methods: Sequence[Any], kind: type) -> tuple[list[str], list[Any]]:
    if isinstance(methods, str) or len(methods) == 0:
        raise InputError("methods", f"is {methods!r:.40}; a sequence of names or recalibrators is needed")
    names, recalibrators = [], []
    for method in methods:
        recalibrator = make_recalibrator(method, "methods")
        if not isinstance(recalibrator, (kind, TemperatureScaling)):
            what = (
                "class probabilities, not one probability" if kind is Recalibrator else "one probability, not classes"
            )
            raise InputError("methods", f"holds {method!r:.60}, which maps {what}")
        names.append(method if isinstance(method, str) else type(recalibrator).__name__)
        recalibrators.append(recalibrator)
    if len(set(names)) < len(names) or "unchanged" in names:
        raise InputError("methods", "holds a name twice; fit recalibrators of one class one by one")
    return names, recalibrators


def _choose(
    judged: list[RecalibrationScore],
    losses: dict[str, FloatArray],
    mass: FloatArray,
    criterion: Criterion,
    level: float,
) -> tuple[str, str]:
    """Best method, and the first that is not worse beyond chance."""
    values = [_scored(score, criterion) for score in judged]
    best = judged[int(np.argmin(values))]
    for score in judged:
        if score is best:
            break
        if criterion == "distance":
            # The half-width of one smooth error, which is at most twice the distance it is an error of.
            farther = score.lower_calibration_distance - best.lower_calibration_distance
            if farther <= (score.smooth_error_interval.high - score.smooth_calibration_error) / 2.0:
                return best.method, score.method
        elif np.isfinite(_scored(score, criterion)):
            worse = mean_with_interval(losses[score.method] - losses[best.method], mass, level)[1]
            if worse.low <= 0.0:
                return best.method, score.method
    return best.method, best.method


def _scored(score: RecalibrationScore, criterion: str) -> float:
    value: float = getattr(score, "lower_calibration_distance" if criterion == "distance" else criterion)
    return value


def _words(criterion: str) -> str:
    return {"brier": "Brier score", "log": "log score", "distance": "distance"}[criterion]
