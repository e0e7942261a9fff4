"""The result of `choose_recalibrator` in words: the map to use and what it gains, or why there is none."""

from __future__ import annotations

__all__ = ["RecalibrationChoice"]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from calibrant.door.ends import as_points, in_points, in_short
from calibrant.door.values import Result, counted, record
from calibrant.recalibration.gain import RecalibrationGain

if TYPE_CHECKING:
    from calibrant.recalibration.averaged import AveragedScaling
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.compare import RecalibrationScore
    from calibrant.recalibration.multiclass import MulticlassRecalibrator

FEWEST = 10
"""Events, and rows without the event, below which no map is advised."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecalibrationChoice(Result):
    """Whether to recalibrate, by which map, and what it gains.

    Attributes
    ----------
    chosen : str
        "averaged" where `AveragedScaling` is advised, and "averaged_classes" where `AveragedClassScaling` is.
        "unchanged" where none is. "constant" where the predictions are not proved to carry information: then one rate
        for all rows does as well.
    recalibrator : Recalibrator, MulticlassRecalibrator or None
        The map, fitted to all rows; None if the predictions should stay unchanged, or carry no information.
    level : float
        Level of the test; intervals hold with probability 1 - level.
    gain : RecalibrationGain or None
        Of the averaged map, advised or not; None of classes, and below ten events or ten rows without it.
    n_events, n_others : float or None
        Events and rows without the event, or how many they are worth where they weigh differently or belong together
        and that is less. None of classes.
    direction : {"right", "wrong", "none"}
        Whether more events are proved where predictions are higher, or fewer, or neither.
    rank_correlation : float or None
        Of the predictions with the outcomes; None of classes.
    pvalue : float or None
        Of `calibration_test` of the unchanged predictions; None of classes.
    reject : bool or None
        Whether the predictions are proved miscalibrated; None of classes.
    averaged : AveragedScaling or None
        The averaged map of these rows, advised or not; None of classes.
    scores : tuple of RecalibrationScore
        Of classes: the cross-fitted scores, "unchanged" first, then the averaged map's.
    noise : float or None
        Of classes: standard error of how often the most probable one is right. No map knows the rate better, so that a
        smaller distance on held-out parts of the same rows promises nothing.
    skipped : mapping of str to str
        Of classes: the map if it was not fitted, with the reason.

    See Also
    --------
    choose_recalibrator, RecalibrationGain
    """

    chosen: str
    recalibrator: Recalibrator | MulticlassRecalibrator | None
    level: float
    gain: RecalibrationGain | None = None
    n_events: float | None = None
    n_others: float | None = None
    direction: Literal["right", "wrong", "none"] = "none"
    rank_correlation: float | None = None
    pvalue: float | None = None
    reject: bool | None = None
    averaged: AveragedScaling | None = None
    scores: tuple[RecalibrationScore, ...] = ()
    noise: float | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a map of classes by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def _table(self) -> Any:
        """One row a map that was compared, of classes; else one of what is chosen, and its gain."""
        if self.scores:
            return [{**record(score), "chosen": score.method == self.chosen} for score in self.scores]
        maps = ("recalibrator", "averaged")
        return [{name: value for name, value in record(self).items() if name not in maps}]

    def summary(self) -> str:
        """Return, in a few sentences, what to do."""
        sentences = self._of_classes() if self.n_events is None else self._of_one()
        if self.skipped:
            left_out = "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in self.skipped.items())
            sentences.append(f"Not compared: {left_out}.")
        return " ".join(sentences)

    def _of_one(self) -> list[str]:
        """Of one probability."""
        if self.direction == "wrong":
            return [
                f"Events are fewer where predictions are higher (rank correlation {self.rank_correlation:.2f}). Check "
                "that labels or columns are not swapped."
            ]
        if self.chosen == "constant":
            return [NO_INFORMATION]
        if self.recalibrator is not None and self.gain is not None:
            return [self.recalibrator.summary(), self.gain.summary()]
        if self.gain is None and (self.reject or self.pvalue is None):
            return [too_few(self.n_events or 0.0, self.n_others or 0.0)]
        if not self.reject or self.gain is None:
            p = "" if self.pvalue is None else f" (p = {self.pvalue:.2g})"
            return [f"Leave the predictions unchanged: they are not proved miscalibrated{p}."]
        return [f"{NOT_PROVED} {self.gain.summary()}"]

    def _of_classes(self) -> list[str]:
        if self.chosen == "constant":
            return [NO_INFORMATION]
        before, after = self["unchanged"], self[self.chosen]
        if self.recalibrator is None:
            now = f"distance {before.lower_calibration_distance:.3g}, Brier score {before.brier:.4g}"
            return [f"Leave the predictions unchanged: recalibrated ones are not likelier beyond chance ({now})."]
        falls = falls_to(before, after, self.noise or 0.0)
        cuts = "" if falls is None else f"cuts the distance from {falls} and "
        moves = f"takes the Brier score from {before.brier:.4g} to {after.brier:.4g}"
        return [f"{self.recalibrator.summary()} It {cuts}{moves}."]


NOT_PROVED = "No gain of a recalibration is proved."
NO_INFORMATION = (
    "These rows do not show that the predictions carry information about the outcome. Use how often it happens in "
    "place of them, or collect more rows."
)


def too_few(events: float, others: float) -> str:
    """That no map is advised on so few events, or rows without the event."""
    number, what = (events, "event") if events < others else (others, "row")
    which = "" if events < others else " without the event"
    return f"No recalibration is advised on {counted(int(number), what)}{which}: these are fewer than {FEWEST}."


def falls_to(before: RecalibrationScore, after: RecalibrationScore, noise: float) -> str | None:
    """From which distance to which a recalibration takes the predictions, in words; None where that is no fall.

    It is not told below the noise of the rate: in held-out parts of the same rows errors of it cancel, elsewhere not.
    """
    far, near = before.lower_calibration_distance, after.lower_calibration_distance
    if max(near, noise) >= far:
        return None
    to = in_points(in_short(near)) if near >= noise else f"less than {in_points(in_short(noise))}"
    return f"{as_points(in_short(far))} to {to}"
