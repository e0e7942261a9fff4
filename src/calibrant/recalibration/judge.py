"""The judge of recalibrations: rows, the folds they are predicted across, losses, intervals, information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import TimeLimit, whole_from
from calibrant.door.classes import ClassTable, MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, IntArray, check_weights, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.labels import event_outcomes
from calibrant.door.rows import Rows, dimensions, read_groups
from calibrant.door.sample import Sample
from calibrant.door.special import ndtri
from calibrant.kernels.sums import dot
from calibrant.recalibration.curves.base import Curve
from calibrant.resampling.folds import Split, cross_fitted, folds

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Outcomes or labels, predictions of shape (n,) or (n, K), weights, and each row's group."""

    outcome: npt.NDArray[Any]
    prediction: FloatArray
    weight: FloatArray | None
    classes: bool
    group: IntArray | None = None

    @classmethod
    def of(cls, y_true: Any, y_prob: Any, sample_weight: Column | None, pos_label: Any, groups: Any) -> Judge:
        """Read one column or a table; of two columns, that of the positive class."""
        judge = cls._of(y_true, y_prob, sample_weight, pos_label)
        return judge if groups is None else replace(judge, group=read_groups(groups, judge.outcome.size))

    @classmethod
    def _of(cls, y_true: Any, y_prob: Any, sample_weight: Column | None, pos_label: Any) -> Judge:
        if dimensions(y_prob) == 2:
            return cls.read(multiclass_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label))
        outcome, prediction, weight = read_columns(event_outcomes(y_true, pos_label), y_prob, sample_weight)
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
        group = np.arange(mass.size) if self.group is None else self.group
        share = np.asarray(np.bincount(group, mass), np.float64)
        effective = share / dot(share, share)
        capped = np.divide(np.minimum(effective, 1.0), share, out=np.zeros_like(share), where=share > 0.0)
        return mass * capped[group]

    def log_ratio(self, before: FloatArray, after: FloatArray) -> float:
        """Log likelihood ratio of two predictions, by the log scores of rows; NaN if both are infinite."""
        powers = self.powers
        mask = powers > 0.0
        with np.errstate(invalid="ignore"):
            return float((powers[mask] * (before[mask] - after[mask])).sum())

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
