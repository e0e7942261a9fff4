"""Which recalibration, if any: a cross-fitted comparison, by distance and by proper scores, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, xlog1py, xlogy
from sklearn.model_selection import KFold, StratifiedKFold

from calibrant.errors import InputError
from calibrant.inputs import Column, read_columns
from calibrant.kernels.sums import dot
from calibrant.measures.labels import event_outcomes
from calibrant.measures.lower import lower_distance_from_sample
from calibrant.measures.multiclass import MulticlassSample, multiclass_sample
from calibrant.measures.parameters import one_of, positive_integer
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.classifier import METHODS, make_recalibrator
from calibrant.recalibration.multiclass import MulticlassRecalibrator, TemperatureScaling
from calibrant.sample import Sample

FloatArray = npt.NDArray[np.float64]
Criterion = Literal["brier", "log", "distance"]

BINARY_METHODS = tuple(name for name, kind in METHODS.items() if not issubclass(kind, MulticlassRecalibrator))
CLASS_METHODS = ("temperature", "vector", "dirichlet")
_CELLS = 2048  # of the predictions, when labels are redrawn for an interval
_DISTANCE_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class RecalibrationScore:
    """How predictions did, recalibrated by maps that had not seen their outcomes.

    Attributes
    ----------
    method : str
        Name of the method; ``"unchanged"`` for the predictions as they are.
    distance : float
        Lower distance from calibration, at most 1e-5 too high; with classes, that of the top label.
    smooth_error, smooth_error_lower, smooth_error_upper : float
        Smooth calibration error, and a confidence interval for that of the population.
    brier, brier_lower, brier_upper : float
        Mean Brier score (with classes the sum over them), with a confidence interval.
    log, log_lower, log_upper : float
        Mean log score, with a confidence interval; infinite where a prediction of 0 or 1 was wrong.
    brier_gain_lower, brier_gain_upper : float
        Confidence interval for how much lower the Brier score is than that of the predictions as they are, row by row.
    """

    method: str
    distance: float
    smooth_error: float
    smooth_error_lower: float
    smooth_error_upper: float
    brier: float
    brier_lower: float
    brier_upper: float
    log: float
    log_lower: float
    log_upper: float
    brier_gain_lower: float
    brier_gain_upper: float


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationChoice:
    """The comparison of all methods, and the one to use.

    Attributes
    ----------
    scores : tuple of RecalibrationScore
        ``"unchanged"`` first, then the methods in the order given.
    best : str
        The method with the best criterion.
    chosen : str
        The first method, in the order given, that is not worse than the best beyond what chance explains.
    recalibrator : Recalibrator, MulticlassRecalibrator or None
        The chosen method fitted to all rows; None if the predictions are best left unchanged.
    criterion : str
        What was compared.
    level : float
        Intervals cover with probability 1 - level.
    """

    scores: tuple[RecalibrationScore, ...]
    best: str
    chosen: str
    recalibrator: Recalibrator | MulticlassRecalibrator | None
    criterion: str
    level: float

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a method by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def summary(self) -> str:
        """Return, in a sentence or two, what to do."""
        before, after = self["unchanged"], self[self.chosen]
        if self.recalibrator is None:
            return (
                f"Leave the predictions unchanged: no recalibration improves the {_words(self.criterion)} beyond "
                f"chance (distance {before.distance:.3g}, Brier score {before.brier:.4g})."
            )
        verb = "cuts" if after.distance < before.distance else "moves"
        text = (
            f"{self.recalibrator.describe()} It {verb} the distance from {before.distance:.3g} to {after.distance:.3g} "
            f"and takes the Brier score from {before.brier:.4g} to {after.brier:.4g}"
        )
        if self.best != self.chosen:
            return f"{text}; {self.best.replace('_', ' ')} is no better beyond chance."
        return f"{text}."


def choose_recalibrator(
    y_true: Column,
    y_prob: Any,
    *,
    sample_weight: Column | None = None,
    pos_label: Any = None,
    methods: Sequence[Any] | None = None,
    cv: int = 5,
    criterion: Criterion = "brier",
    level: float = 0.05,
    n_resamples: int = 200,
    random_state: int | None = 0,
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
    n_resamples : int, default 200
        Redrawn samples behind the interval of the smooth error.
    random_state : int or None, default 0
        Seed of the split and of the redrawn samples.

    Returns
    -------
    RecalibrationChoice
        With ``.summary()``, what to do in words, and ``.recalibrator``, fitted to all rows.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, outcomes are rates, or a class has fewer rows than parts.

    Notes
    -----
    Intervals of the scores are normal, from the rows' own spread (weights count through Kish's effective rows);
    differences are taken row by row. The smooth error of the population lies within D of the sample's, where D is the
    largest difference that a bounded Lipschitz weighting can make between the two; D's quantile is found by redrawing
    residuals, on 2,048 cells of predictions. That interval is conservative, and its lower end is 0 where nothing is
    proved. All intervals are for the maps that were fitted, as if they were given. Cost: cv sorts and fits a method.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import choose_recalibrator
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(4000)
    >>> odds = (y_prob / (1 - y_prob)) ** 0.5
    >>> y_true = rng.random(4000) < odds / (1 + odds)
    >>> choice = choose_recalibrator(y_true, y_prob, methods=["temperature", "platt", "isotonic"])
    >>> choice.chosen
    'temperature'
    """
    one_of(criterion, ("brier", "log", "distance"), "criterion")
    positive_integer(n_resamples, "n_resamples")
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise InputError("level", f"is {level!r:.40}; it must lie strictly between 0 and 1")
    rows = _Rows.of(y_true, y_prob, sample_weight, pos_label)
    kind = MulticlassRecalibrator if rows.classes else Recalibrator
    if methods is None:
        methods = CLASS_METHODS if rows.classes else BINARY_METHODS
    names, recalibrators = _read_methods(methods, kind)
    splits = _splits(rows, cv, random_state)
    rng = np.random.default_rng(random_state)
    n, weight = rows.outcome.size, rows.weight
    mass = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()

    judged = []
    unchanged = rows.losses(rows.prediction)["brier"]
    losses = {}
    for name, recalibrator in zip(["unchanged", *names], [None, *recalibrators], strict=True):
        crossed = rows.prediction if recalibrator is None else _cross_fit(recalibrator, rows, splits)
        loss = rows.losses(crossed)
        losses[name] = loss["brier" if criterion == "distance" else criterion]
        outcome, prediction = rows.question(crossed)
        sample = Sample.from_columns(outcome, prediction, weight)
        smooth = smooth_error_from_sample(sample)
        half = _smooth_half_width(outcome, prediction, mass, level, n_resamples, rng)
        judged.append(
            RecalibrationScore(
                name,
                lower_distance_from_sample(sample, tol=_DISTANCE_TOLERANCE),
                smooth,
                max(smooth - half, 0.0),
                min(smooth + half, 1.0),
                *_mean(loss["brier"], mass, level),
                *_mean(loss["log"], mass, level),
                *_mean(unchanged - loss["brier"], mass, level)[1:],
            )
        )
    best, chosen = _choose(judged, losses, mass, criterion, level)
    fitted = None
    if chosen != "unchanged":
        fitted = recalibrators[names.index(chosen)].fit(rows.prediction, rows.outcome, weight)
    return RecalibrationChoice(tuple(judged), best, chosen, fitted, criterion, float(level))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Outcomes or labels, predictions of shape (n,) or (n, K), and weights."""

    outcome: npt.NDArray[Any]
    prediction: FloatArray
    weight: FloatArray | None
    classes: bool

    @classmethod
    def of(cls, y_true: Column, y_prob: Any, sample_weight: Column | None, pos_label: Any) -> _Rows:
        if _is_table(y_prob):
            found = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
            if found.n_classes > 2:
                return cls(found.y_true, found.y_prob, found.sample_weight, classes=True)
            event = found.event()
            return cls(event.y_true, event.y_prob, event.sample_weight, classes=False)
        outcome, prediction, weight = read_columns(event_outcomes(y_true, pos_label), y_prob, sample_weight)
        rate = (outcome != 0.0) & (outcome != 1.0)
        if rate.any():
            row = int(np.argmax(rate))
            raise InputError("y_true", f"row {row} is {outcome[row]:.6g}; each outcome must be 0 or 1 here", row=row)
        return cls(outcome, prediction, weight, classes=False)

    def losses(self, prediction: FloatArray) -> dict[str, FloatArray]:
        """Brier and log score of each row."""
        if not self.classes:
            log = np.asarray(-xlogy(self.outcome, prediction) - xlog1py(1.0 - self.outcome, -prediction))
            return {"brier": (prediction - self.outcome) ** 2, "log": log}
        right = np.take_along_axis(prediction, self.outcome[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return {"brier": (prediction**2).sum(axis=1) - 2.0 * right + 1.0, "log": -np.log(right)}

    def question(self, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Outcomes and probabilities whose distance is judged: of classes, whether the most probable one was right."""
        if not self.classes:
            return self.outcome, prediction
        top = MulticlassSample(self.outcome, prediction, None, tuple(range(prediction.shape[1]))).top_label()
        return top.y_true, top.y_prob


def _is_table(y_prob: Any) -> bool:
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return len(shape) == 2
    return isinstance(y_prob, list | tuple) and len(y_prob) > 0 and np.ndim(y_prob[0]) == 1


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


def _splits(rows: _Rows, cv: int, random_state: int | None) -> list[Any]:
    positive_integer(cv, "cv")
    if cv < 2:
        raise InputError("cv", f"is {cv}; two parts or more are needed")
    counts = np.bincount(rows.outcome.astype(np.int64), minlength=2)
    if not rows.classes and counts.min() < cv:
        problem = f"has {counts[1]:,} ones and {counts[0]:,} zeros; cv={cv} needs as many of each"
        raise InputError("y_true", problem)
    if rows.outcome.size < cv:
        raise InputError("y_true", f"has {rows.outcome.size:,} rows; cv={cv} needs as many")
    # A class with fewer rows than parts is missing from some of them, which the fits of classes allow for.
    folds = StratifiedKFold if counts[counts > 0].min() >= cv else KFold
    return list(folds(cv, shuffle=True, random_state=random_state).split(rows.outcome, rows.outcome))


def _cross_fit(recalibrator: Any, rows: _Rows, splits: list[Any]) -> FloatArray:
    crossed = np.empty_like(rows.prediction)
    for train, test in splits:
        weight = None if rows.weight is None else rows.weight[train]
        recalibrator.fit(rows.prediction[train], rows.outcome[train], weight)
        crossed[test] = recalibrator.predict(rows.prediction[test])
    return crossed


def _mean(values: FloatArray, mass: FloatArray, level: float) -> tuple[float, float, float]:
    """Weighted mean with its normal interval; infinite throughout where a value with weight is."""
    held = mass > 0.0
    values, mass = values[held], mass[held]
    if not np.isfinite(values).all():
        return np.inf, np.inf, np.inf
    mean = dot(mass, values)
    half = float(-ndtri(level / 2.0) * np.sqrt(dot(mass**2, (values - mean) ** 2)))
    return mean, mean - half, mean + half


def _smooth_half_width(
    outcome: FloatArray,
    prediction: FloatArray,
    mass: FloatArray,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> float:
    """Quantile of the largest difference that a weighting can make between redrawn samples and this one."""
    cell = np.minimum((prediction * _CELLS).astype(np.int64), _CELLS - 1)
    # A redrawn cell's residual is normal, with the variance of the sum of its rows' residuals.
    residual = mass * (outcome - prediction)
    used, place = np.unique(cell, return_inverse=True)
    size = used.size
    centre = (used + 0.5) / _CELLS
    spread = np.sqrt(np.bincount(place, residual**2, size))
    total = float((mass**2).sum())
    held = np.bincount(place, residual, size)
    found = np.empty(n_resamples)
    one = np.ones(size)
    for b in range(n_resamples):
        noise = spread * rng.standard_normal(size)
        noise -= held * (np.sqrt(total) * rng.standard_normal())
        # A sample whose residuals are the noise: the solver reads nothing else.
        drawn = Sample(centre, one, one, one, centre + size * noise, one, 0.0 * one, binary=False)
        found[b] = smooth_error_from_sample(drawn)
    return float(np.quantile(found, 1.0 - level, method="higher"))


def _choose(
    judged: list[RecalibrationScore],
    losses: dict[str, FloatArray],
    mass: FloatArray,
    criterion: Criterion,
    level: float,
) -> tuple[str, str]:
    """Best method, and the first that is not worse beyond chance."""
    values = [getattr(score, criterion) for score in judged]
    best = judged[int(np.argmin(values))]
    for score in judged:
        if score is best:
            break
        if criterion == "distance":
            # The half-width of one smooth error, which is at most twice the distance it is an error of.
            if score.distance - best.distance <= (score.smooth_error_upper - score.smooth_error) / 2.0:
                return best.method, score.method
        elif np.isfinite(getattr(score, criterion)):
            _, low, _ = _mean(losses[score.method] - losses[best.method], mass, level)
            if low <= 0.0:
                return best.method, score.method
    return best.method, best.method


def _words(criterion: str) -> str:
    return {"brier": "Brier score", "log": "log score", "distance": "distance"}[criterion]
