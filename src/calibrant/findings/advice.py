"""What to do: the averaged map where a change is due, and what it gains; of classes a map judged on other rows."""

from __future__ import annotations

__all__ = ["Advice"]

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.arguments import TimeLimit
from calibrant.door.classes import MulticlassSample, drawn_rows
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.findings import word_catalogue as say
from calibrant.findings.decision import State, decide, rejected, stakes
from calibrant.findings.word_catalogue import NO_TRIALS
from calibrant.lazily import MissingLibraryError, optional
from calibrant.recalibration.curves.averaged import AveragedCurve, sampled_by_outcome
from calibrant.recalibration.gain import RecalibrationGain

if TYPE_CHECKING:
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.testing.result import TestResult
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.compare import RecalibrationScore
    from calibrant.recalibration.curves.base import Curve
    from calibrant.recalibration.multiclass import MulticlassRecalibrator

# Recalibrations of larger tables of classes are compared on rows with about so many probabilities.
_MOST_VALUES = 2_000_000
# Why nothing is advised, by the state of the answer.
NOT_DUE: dict[str, str] = {
    "no evidence": "calibration is not rejected",
    "too few rows": "calibration is not rejected",
    "too small to matter": say.DISTANCE_SMALL,
    "not tested": "calibration was not tested",
}


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Result):
    """What to do about all rows together.

    Attributes
    ----------
    words : str
        What to do, in a sentence or two; or why nothing is advised.
    chosen : str or None
        "averaged" where the averaged map is advised; of classes the name of a map. "unchanged" where none is advised.
        "constant" where predictions are not proved to carry information. None where nothing was fitted.
    scores : tuple of RecalibrationScore
        Of classes: cross-fitted scores, "unchanged" first.
    fitted_map : object or None
        The advised map, fitted to these rows: what the audit itself computes with.
    backwards : bool
        Whether fewer events are proved where predictions are higher.
    gain : RecalibrationGain or None
        What the averaged map gains on new rows, advised or not. None of classes, below ten events or ten rows without
        it, and where nothing was tested.
    n_compared : int or None
        Of classes: rows that recalibrations were compared on.
    noise : float or None
        Of classes: standard error of how often the most probable one is right in these rows; less than this no
        recalibration promises.
    arguments : str
        What the map is fitted with, as `fit` takes it.

    See Also
    --------
    choose_recalibrator, RecalibrationChoice
    """

    words: str
    chosen: str | None
    scores: tuple[RecalibrationScore, ...] = ()
    fitted_map: Curve | MulticlassRecalibrator | None = None
    backwards: bool = False
    gain: RecalibrationGain | None = None
    n_compared: int | None = None
    noise: float | None = None
    arguments: str = "y_prob, y_true"

    def summary(self) -> str:
        """Say what to do."""
        return self.words

    @property
    def recalibrator(self) -> Recalibrator | MulticlassRecalibrator | None:
        """The advised map as a scikit-learn estimator, fitted; None where none is advised."""
        return self.fitted_map if self.fitted_map is None else self.fitted_map.as_estimator()

    @property
    def code(self) -> str | None:
        """Lines of Python that fit the advised recalibration and use it; None where none is advised."""
        if self.fitted_map is None:
            return None
        return lines_of_fit(self.fitted_map.estimator_name, self.arguments)

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a map of classes by its name; KeyError where it was not compared."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)


def lines_of_fit(kind: str, arguments: str) -> str:
    """Lines of Python that fit a map of this kind to columns, and use it."""
    names = [each.partition("=")[0] for each in arguments.split(", ")]
    names = [each for each in names if each in ("y_prob", "y_true", "sample_weight", "trials", "groups")]
    return (
        f"from calibrant.recalibration import {kind}\n"
        f"# {', '.join(names[:-1])} and {names[-1]} are of rows kept for this\n"
        f"recalibrate = {kind}().fit({arguments})\n"
        "better = recalibrate.predict(new_y_prob)"
    )


def advice_on_sample(
    sample: Sample,
    rows: Rows | None,
    test: TestResult | None,
    gate: GateResult | None,
    level: float,
    curve: AveragedCurve,
) -> Advice:
    """Advise on rows that were tested; `rows` are the same one by one where they differ in more than outcomes.

    `curve` is the averaged map of them. What it gains is known where no change is due, too: a distance that is proved
    small reassures only where no map could gain much.
    """
    if not sample.binary:
        return not_advised(NO_TRIALS)
    real = rejected(test, gate)
    if test is None and not real:
        return not_advised(NOT_DUE["not tested"])
    if np.isin(sample.prediction, (0.0, 1.0)).all():
        return not_advised(say.PROBABILITIES)
    if not _of_two_outcomes(sample):
        return not_advised(say.TWO_OUTCOMES)
    from calibrant.recalibration.choose import choose_on_sample

    choice = choose_on_sample(sample if rows is None else rows.sample, rows, real, level, curve=curve)
    gain = choice.gain
    state = decide(test, gate, cost=stakes(gain))
    if state in NOT_DUE:
        return not_advised(NOT_DUE[state], gain)
    return Advice(
        choice.summary(),
        choice.chosen,
        fitted_map=choice.recalibrator,
        backwards=choice.direction == "wrong",
        gain=gain,
        arguments=_arguments(rows),
    )


def may_gain(sample: Sample) -> bool:
    """Whether a map is fitted to such rows at all: to probabilities of either outcome."""
    return _of_two_outcomes(sample) and not np.isin(sample.prediction, (0.0, 1.0)).all()


def _of_two_outcomes(sample: Sample) -> bool:
    return float(sample.ones.sum()) not in (0.0, sample.n_rows)


def _arguments(rows: Rows | None) -> str:
    """Arguments of `fit` that these rows need."""
    arguments = ["y_prob", "y_true"]
    if rows is not None:
        fractions = rows.fractions if sampled_by_outcome(rows) else None
        arguments += ["sample_weight"] * (rows.weight is not None and fractions is None)
        arguments += ["trials=trials"] * (rows.trials is not None)
        arguments += ["groups=groups"] * (rows.group is not None)
        if fractions is not None:
            arguments.append(f"sampling_fractions={{0: {fractions.without!r}, 1: {fractions.events!r}}}")
    return ", ".join(arguments)


def advice_on_classes(sample: MulticlassSample, state: State, level: float, tell: Callable[[str], None]) -> Advice:
    """Compare recalibrations of classes where a change is due: of all rows, or of some of very many."""
    if state in NOT_DUE:
        return not_advised(NOT_DUE[state])
    from calibrant.recalibration.choose import choose_on_classes

    some = drawn_rows(sample, _MOST_VALUES, 0)
    n = some.y_true.size
    try:
        with optional("the map of classes", "sklearn"):
            choice = choose_on_classes(some, level, TimeLimit(None), tell)
    except InputError as too_few:
        return not_advised(str(too_few))
    except MissingLibraryError as missing:
        return not_advised(str(missing))
    drawn = "" if n == sample.y_true.size else f" Compared on {counted(n, 'row')} drawn from {sample.y_true.size:,}."
    return Advice(
        choice.summary() + drawn,
        choice.chosen,
        choice.scores,
        choice.recalibrator,
        n_compared=n,
        noise=choice.noise,
        arguments="y_prob, y_true" if some.sample_weight is None else "y_prob, y_true, sample_weight",
    )


def not_advised(why: str, gain: RecalibrationGain | None = None) -> Advice:
    """Return advice that says why there is none."""
    return Advice(f"No recalibration is advised: {why}.", None, gain=gain)


def to_dict(advice: Advice) -> dict[str, Any]:
    """Return it as plain words and numbers."""
    scores = [
        {
            "method": score.method,
            "lower_calibration_distance": score.lower_calibration_distance,
            "smooth_calibration_error": score.smooth_calibration_error,
            "brier": score.brier,
            "log": score.log if np.isfinite(score.log) else None,
        }
        for score in advice.scores
    ]
    gain = None if advice.gain is None else asdict(advice.gain)
    return {"words": advice.words, "chosen": advice.chosen, "scores": scores, "gain": gain}
