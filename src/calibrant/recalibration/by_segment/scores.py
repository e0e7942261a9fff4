"""How repairs by segment did on rows that they were not fitted to, and what a repair changes, in words."""

from __future__ import annotations

__all__ = ["RepairScore", "SegmentCorrection"]

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.door.values import Result, counted
from calibrant.recalibration.judge import Rows, mean_with_interval
from calibrant.recalibration.kinds import check, flag, number, optional, text


@dataclass(frozen=True, slots=True, repr=False)
class RepairScore(Result):
    """Scores of the predictions, repaired by a fit that had not seen their outcomes.

    Attributes
    ----------
    method : str
        "unchanged", "global", "segments" or "boosting".
    brier, log : float
        Mean Brier and log score. Predictions of 0 and 1 are read 1e-12 away from them.
    simpler : str or None
        The simpler method that it was compared with; None for "unchanged" and "global".
    gain_interval : Interval or None
        Holds how much lower the log score is than that of the simpler method, row by row.
    kept : bool
        Whether it was preferred to the simpler one.

    See Also
    --------
    SegmentRecalibrator
    """

    method: str
    brier: float
    log: float
    simpler: str | None = None
    gain_interval: Interval | None = None
    kept: bool = False

    def summary(self) -> str:
        """Say how it did."""
        scores = f"{self.method}: log score {self.log:.4g}, Brier score {self.brier:.4g}"
        if self.simpler is None or self.gain_interval is None:
            return f"{scores}."
        proved = "better" if self.kept else "not better"
        return f"{scores}; {proved} than {self.simpler} beyond chance ({self.gain_interval.summary()} lower log score)."


@dataclass(frozen=True, slots=True, repr=False)
class SegmentCorrection(Result):
    """What a repair adds to the log-odds of the rows of one segment.

    Attributes
    ----------
    condition : str
        Which rows.
    feature_names : tuple of str or int
        The features that it is a condition on, by name, or by place where columns have no names.
    n_rows : int
        Rows of the fit that it holds for.
    log_odds_change : float
        What is added to their log-odds, besides the shift of all rows and other corrections that hold for them.
    net_change : float or None
        What is added to them in all, on average over those rows; None where the repair was saved without it.

    See Also
    --------
    SegmentRecalibrator
    """

    condition: str
    feature_names: tuple[str | int, ...]
    n_rows: int
    log_odds_change: float
    net_change: float | None = None

    @property
    def change(self) -> float:
        """The net change, or where it is not known the correction alone."""
        return self.log_odds_change if self.net_change is None else self.net_change

    def summary(self) -> str:
        """Say what is changed where."""
        return f"{self.change:+.2f} where {self.condition} ({counted(self.n_rows, 'row')})"


def compared(
    rows: Rows, crossed: Mapping[str, FloatArray], first: str, level: float
) -> tuple[str, tuple[RepairScore, ...]]:
    """The method to use, and the scores of all.

    Starting from `first`, which was chosen of "unchanged" and "global" before, each richer method in turn is kept only
    if its log score is lower than that of what was kept so far, beyond chance: the lower end of the interval of the
    mean difference is above zero.
    """
    losses = {method: rows.losses(prediction) for method, prediction in crossed.items()}
    mass, chosen, found = rows.mass, first, []
    for method, loss in losses.items():
        mean = {name: mean_with_interval(each, mass, level, rows.group)[0] for name, each in loss.items()}
        score = RepairScore(method, mean["brier"], mean["log"], kept=method == first)
        if method not in ("unchanged", "global"):
            gain = mean_with_interval(losses[chosen]["log"] - loss["log"], mass, level, rows.group)[1]
            score = replace(score, simpler=chosen, gain_interval=gain, kept=gain.low > 0.0)
            chosen = method if score.kept else chosen
        found.append(score)
    return chosen, tuple(found)


def read_score(value: Any, name: str) -> RepairScore:
    """A score from JSON's own types."""
    check(type(value) is list and len(value) == 6, name, "must be a method with its scores")
    method, brier, log, simpler, gain, kept = value
    if gain is not None:
        check(type(gain) is list and len(gain) == 2, name, "must have both ends of an interval")
        gain = Interval(number(gain[0], name), number(gain[1], name))
    told = optional(text)(simpler, name)
    check(0.0 <= number(brier, name) <= 1.0 and number(log, name) >= 0.0, name, "must have scores that there can be")
    return RepairScore(text(method, name), number(brier, name), number(log, name), told, gain, flag(kept, name))
