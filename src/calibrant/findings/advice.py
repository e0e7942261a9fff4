"""What to do: recalibrations compared on rows that they were not fitted to."""

from __future__ import annotations

__all__ = ["Advice"]

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.classes import MulticlassSample
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.findings.evidence import no_single_rows

if TYPE_CHECKING:
    from calibrant.recalibration.choose import RecalibrationScore

_MOST_VALUES = 200_000
"""Probabilities above which recalibrations are not compared unasked: it would take longer than all the rest."""
_RESAMPLES = 50
"""For intervals of smooth errors, which only a table shows; an audit must not take long."""
_TOO_MANY = f"above {_MOST_VALUES:,} probabilities choose_recalibrator does it"


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Result):
    """The comparison of recalibrations.

    Attributes
    ----------
    words : str
        What to do, in a sentence or two; why nothing can be said, where there are no scores.
    chosen : str or None
        Name of the method; "unchanged" where none is better; None where nothing was compared.
    scores : tuple of RecalibrationScore
        Cross-fitted scores, "unchanged" first; empty where nothing was compared.

    See Also
    --------
    choose_recalibrator, RecalibrationChoice
    """

    words: str
    chosen: str | None
    scores: tuple[RecalibrationScore, ...]

    def summary(self) -> str:
        """Say what to do."""
        return self.words


def advice(rows: Rows | MulticlassSample, seed: int) -> Advice:
    """Compare recalibrations of single, unweighted rows that were read already."""
    y_prob = rows.y_prob
    if y_prob.size > _MOST_VALUES:
        return not_compared(_TOO_MANY)
    from calibrant.recalibration.choose import choose_on_rows  # scikit-learn takes a second to load

    # The order of the rows must not matter: the folds are dealt at random.
    order = np.lexsort((rows.y_true, *(y_prob.T[::-1] if y_prob.ndim == 2 else (y_prob,))))
    try:
        choice = choose_on_rows(rows.take(order), n_resamples=_RESAMPLES, random_state=seed)
    except InputError as too_few:
        return not_compared(str(too_few))
    return Advice(choice.summary(), choice.chosen, choice.scores)


def advice_on_sample(sample: Sample, weighted: bool, seed: int) -> Advice:
    """Compare recalibrations where the sample's rows can be told apart and are not too many."""
    why_not = no_single_rows(sample, weighted)
    if why_not is None and sample.n_rows > _MOST_VALUES:
        why_not = _TOO_MANY
    return not_compared(why_not) if why_not else advice(Rows.of_sample(sample), seed)


def not_compared(why: str) -> Advice:
    """Return advice that says why there is none."""
    return Advice(f"Recalibrations were not compared: {why}.", None, ())


def to_dict(given: Advice) -> dict[str, Any]:
    """Return it as plain words and numbers."""
    scores = [
        {
            "method": score.method,
            "lower_calibration_distance": score.lower_calibration_distance,
            "smooth_calibration_error": score.smooth_calibration_error,
            "brier": score.brier,
            "log": score.log if np.isfinite(score.log) else None,
        }
        for score in given.scores
    ]
    return {"words": given.words, "chosen": given.chosen, "scores": scores}
