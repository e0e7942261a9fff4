"""Scores of recalibrations on rows that they were not fitted to, and the one to use, in words."""

from __future__ import annotations

__all__ = ["RecalibrationChoice", "RecalibrationScore"]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant.door.ends import Interval
from calibrant.door.outwards import in_short
from calibrant.door.values import FloatOrNull, Result

if TYPE_CHECKING:
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.multiclass import MulticlassRecalibrator


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
    smooth_error_interval : Interval
        Holds that of the population.
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
    log: FloatOrNull
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
        ``"unchanged"`` if `calibration_test` does not reject. If it does, the better of temperature and Platt scaling
        by log score, if its likelihood ratio against the unchanged predictions is at least 1 / level on rows it was not
        fitted to, unless a richer method is better beyond chance: then the first of those that is as good as the best.
        With classes, among the methods whose likelihood ratio is as large, the first that is not worse than the best of
        them beyond chance. ``"constant"`` if that one is not better, beyond chance, than the mean outcome (the
        frequencies of classes) for all, and it is not proved either that events are more where predictions are higher
        (of classes: nor better on average). Where this is proved, a map that falls is not chosen.
    recalibrator : Recalibrator, MulticlassRecalibrator or None
        The chosen method fitted to all rows; None if the predictions should stay unchanged, or carry no information.
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
    pvalue : float or None
        Of `calibration_test` of the unchanged predictions; None for classes.
    noise : float
        Standard error of the outcomes' mean in these rows (of classes, of how often the most probable one is right).
        No map knows the rate better, so that a smaller distance on held-out parts of the same rows promises nothing.
    skipped : mapping of str to str
        Methods that were not compared, with the reason.

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
    pvalue: float | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    noise: float = 0.0

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a method by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def summary(self) -> str:
        """Return, in a few sentences, what to do."""
        sentences = [self._what_to_do()]
        if self.direction == "wrong":
            turned = (
                f"vents are fewer where predictions are higher (rank correlation {self.rank_correlation:.2f}). Check "
                "that labels or columns are not swapped."
            )
            if self.recalibrator is None:
                sentences.append(f"E{turned}")
            else:
                sentences.insert(0, f"The predictions point the wrong way: e{turned}")
        if self.chosen == "unchanged" and not np.isfinite(self["unchanged"].log):
            sentences.append("Some predictions of exactly 0 or 1 were wrong, so that their log score is infinite.")
        better = self._better_but_certain()
        if better:
            names = " and ".join(name.replace("_", " ") for name in better)
            sentences.append(
                f"Ruled out in spite of a better {_words(self.criterion)}: {names}, which can return exactly 0 or 1, "
                "where one wrong outcome makes the log score infinite."
            )
        if self.skipped:
            left_out = "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in self.skipped.items())
            sentences.append(f"Not compared: {left_out}.")
        return " ".join(sentences)

    def _what_to_do(self) -> str:
        before, after = self["unchanged"], self[self.chosen]
        if self.chosen == "unchanged":
            now = f"distance {before.lower_calibration_distance:.3g}, Brier score {before.brier:.4g}"
            if self.pvalue is not None and self.pvalue > self.level:
                real = f"they are not proved miscalibrated (p = {self.pvalue:.2g}; {now})"
                return f"Leave the predictions unchanged: {real}."
            which = "no recalibration that stays off 0 and 1" if self._better_but_certain() else "no recalibration"
            return (
                f"Leave the predictions unchanged: {which} improves the {_words(self.criterion)} beyond chance ({now})."
            )
        if self.recalibrator is None:
            return (
                "These rows do not show that the predictions carry information about the outcome: the recalibration "
                "that would be advised is not better, beyond chance, than one answer for all (Brier score "
                f"{after.brier:.4g}, the predictions' own {before.brier:.4g}). Use how often it happens in place of "
                "them, or collect more rows."
            )
        falls = falls_to(before, after, self.noise)
        cuts = "" if falls is None else f"cuts the distance from {falls} and "
        text = (
            f"{self.recalibrator.summary()} It {cuts}takes the Brier score from {before.brier:.4g} to {after.brier:.4g}"
        )
        if self.best != self.chosen:
            text += f"; {self.best.replace('_', ' ')} is no better beyond chance"
        if not self.order_kept and self.direction != "wrong":
            text += ". It changes the order of some predictions"
        return f"{text}."

    def _better_but_certain(self) -> list[str]:
        score = scored(self[self.chosen], self.criterion)
        return [name for name in self.certain if scored(self[name], self.criterion) < score]


def falls_to(before: RecalibrationScore, after: RecalibrationScore, noise: float) -> str | None:
    """From which distance to which a recalibration takes the predictions, in words; None where that is no fall.

    It is not told below the noise of the rate: in held-out parts of the same rows errors of it cancel, elsewhere not.
    """
    far, near = before.lower_calibration_distance, after.lower_calibration_distance
    if max(near, noise) >= far:
        return None
    to = in_short(near) if near >= noise else f"below {in_short(noise)} (what is left may be chance)"
    return f"{in_short(far)} to {to}"


def scored(score: RecalibrationScore, criterion: str) -> float:
    """The number that a criterion compares; less is better."""
    value: float = getattr(score, "lower_calibration_distance" if criterion == "distance" else criterion)
    return value


def _words(criterion: str) -> str:
    return {"brier": "Brier score", "log": "log score", "distance": "distance"}[criterion]
