"""The one decision that every sentence of an audit follows from: is it real, does it matter, what to do."""

from __future__ import annotations

__all__ = ["Answer"]

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.door.values import Result
from calibrant.findings.blamed import blamed
from calibrant.findings.examples import Example, examples, told
from calibrant.findings.parts_off import parts_off
from calibrant.inference.gate import asked

if TYPE_CHECKING:
    from calibrant.findings.advice import Advice
    from calibrant.findings.found import Audit
    from calibrant.inference.gate import GateResult
    from calibrant.inference.result import TestResult

State = Literal["no evidence", "too few rows", "too small to matter", "worth correcting", "not tested"]
Direction = Literal["too high", "too low", "too confident", "not confident enough", "uneven"]
Action = Literal[
    "leave unchanged",
    "collect more rows",
    "recalibrate",
    "predict the base rate",
    "check the labels",
    "look closer",
    "look at the parts",
    "none",
]

USUAL_LIMIT, _PART = 0.02, 0.1
_ONE_SIDED = 0.15  # of all that predictions must move, at most, the other way
_EXPLAINED = 0.8  # of it, at least, by one change of side
_SIMPLE = ("temperature", "platt")  # methods of one and of two numbers
_NONE = 1e-12  # rates below are rounding


def default_limit(base_rate: float, mean_prediction: float) -> float:
    """The `max_distance` that is taken where none is given: 0.02, or a tenth of the rarer outcome's rate if less.

    Two percentage points are what people read off a diagram; of an event of one in a thousand they would hide any
    error at all, so there the limit is a tenth of the risk itself, in two digits, as it is printed (docs/answer.md).
    Of the observed and the predicted rate the larger is taken.
    """
    rarer, _ = _rarer(base_rate, mean_prediction)
    return min(USUAL_LIMIT, float(f"{_PART * rarer:.2g}")) if rarer > _NONE else USUAL_LIMIT


def loose_limit(base_rate: float, mean_prediction: float, limit: float) -> str | None:
    """Where a constant prediction of 0 or 1 would be within a limit, that sentence, with the default."""
    rarer = min(base_rate, 1.0 - base_rate)
    if rarer > limit:
        return None
    usual = default_limit(base_rate, mean_prediction)
    told = f"By default an audit takes {asked(usual)}, {default_in_words(base_rate, mean_prediction)}."
    return (
        f"The limit {limit:g} is loose: the rarer outcome has a rate of {rarer:.2g}, so that predicting "
        f"{0 if base_rate < 0.5 else 1} everywhere would be within it.{f' {told}' if usual < USUAL_LIMIT else ''}"
    )


def default_in_words(base_rate: float, mean_prediction: float) -> str:
    """What the default is a tenth of, where it is less than 0.02."""
    return f"a tenth of the rarer outcome's {_rarer(base_rate, mean_prediction)[1]} rate"


def _rarer(base_rate: float, mean_prediction: float) -> tuple[float, str]:
    seen, predicted = (min(rate, 1.0 - rate) for rate in (base_rate, mean_prediction))
    return (seen, "observed") if seen >= predicted else (predicted, "predicted")


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Result):
    """The answer of an audit.

    Attributes
    ----------
    state : str
        With K classes that of the most probable one, unless single classes show more.
    direction : str or None
        "too high", "too low", "too confident" (too high where predictions are high and too low where they are low),
        "not confident enough" (the reverse) or "uneven" (no shift and no slope of the log-odds repairs half of it);
        None where calibration is not rejected.
    size : float
        Lower distance from calibration of these rows, in probability units: the smallest average change of the
        predictions that would make them calibrated. Where it is known within a bracket, the upper end.
    interval : Interval or None
        Ends for the population, each of which holds with probability 1 - level, as in `calibration_gate`. Its lower end
        is 0 if calibration is not rejected. None if no bound is known, as for weights without `max_weight`.
    pvalue : float or None
        Of `calibration_test`; None where it was not run.
    action : str
        "recalibrate", "leave unchanged", "collect more rows", "predict the base rate", "check the labels" (events are
        fewer where predictions are higher), "look closer" (no recalibration helps), "look at the parts" (segments or
        periods are miscalibrated, and all rows together are not) or "none" (nothing is advised).
    headline : str
        Direction and reality, in a sentence or two.
    details : tuple of str
        How far, and what to do.
    sentence : str
        All of it: headline and details.
    max_distance : float
        The limit that was compared with.
    examples : tuple of Example
        The ranges of predictions named in the headline: one or two, or none, as where it names a segment.

    See Also
    --------
    Audit, audit, calibration_gate
    """

    state: State
    direction: Direction | None
    size: float
    interval: Interval | None
    pvalue: float | None
    action: Action
    headline: str
    details: tuple[str, ...]
    max_distance: float
    examples: tuple[Example, ...] = ()

    @property
    def sentence(self) -> str:
        """Headline and details."""
        return " ".join((self.headline, *self.details))

    def summary(self) -> str:
        """Return the sentence."""
        return self.sentence


def decide(test: TestResult | None, gate: GateResult | None, classes: State | None = None) -> State:
    """Read the test and the gate together: the table of cases is in docs/answer.md.

    Parameters
    ----------
    test : TestResult or None
        None where it was not run.
    gate : GateResult or None
        At the limit of what is too small to matter; None where no bound of the population is known.
    classes : str or None
        Of K classes what they come to one by one; None where none is found.
    """
    if test is None:
        return "not tested"
    top = _decide(test, gate)
    if classes == "worth correcting" or (classes is not None and top == "no evidence"):
        return classes
    return top


def _decide(test: TestResult, gate: GateResult | None) -> State:
    small = gate is not None and gate.verdict == "within"
    if rejected(test, gate):
        return "too small to matter" if small else "worth correcting"
    # Without any bound nothing rules an error out: less information never gives the more reassuring answer.
    return "no evidence" if small else "too few rows"


def rejected(test: TestResult, gate: GateResult | None) -> bool:
    """Whether calibration is rejected: by the test, or by outcomes that were predicted to be impossible.

    A few of those may be predictions rounded to 0 or 1: they count where an error is proved of the population.
    """
    return test.reject or (test.impossible is not None and (gate is None or gate.lower_distance.low > 0.0))


def answer(audit: Audit) -> Answer:
    """Put together what the audit found."""
    from calibrant.findings.answer_words import details, headline, says_where

    test, gate = audit.tests["calibration_test"].result, audit.gate
    state = decide(test, gate, None if audit.classes is None else audit.classes.state)
    real = test is not None and rejected(test, gate)
    interval = None if gate is None else gate.lower_distance
    if interval is not None and not real and test is not None:
        interval = Interval(0.0, interval.high)  # what the test does not prove is not claimed by a bound
    seen = examples(audit) if real and test is not None and test.reject else ()
    direction = _direction(seen, audit) if seen else None
    value = audit.measures["lower_calibration_distance"].value
    found = Answer(
        state=state,
        direction=direction,
        size=audit.ties.lower_distance_bracket.upper if value is None else value,
        interval=interval,
        pvalue=None if test is None else test.pvalue,
        action=_action(state, audit.advice, parts_off(audit)),
        headline="",
        details=(),
        max_distance=audit.max_distance,
    )
    if says_where(found, test) and blamed(audit, direction) is None:
        found = replace(found, examples=told(direction, seen))
    return replace(found, headline=headline(found, audit), details=details(found, audit))


def _direction(seen: tuple[Example, ...], audit: Audit) -> Direction:
    """From how the advised recalibration moves the predictions; without one from where they err by more than noise."""
    advice = audit.advice
    single = audit.classes is None
    if single and advice.chosen not in (None, "unchanged", "constant", *_SIMPLE):
        left = min(advice[name].lower_calibration_distance for name in _SIMPLE)
        if left > 0.5 * advice["unchanged"].lower_calibration_distance:
            return "uneven"
    if advice.fitted_map is not None and single:
        held = audit.reliability.mass > 0.0
        at, mass = audit.reliability.prediction[held], audit.reliability.mass[held]
        return _of_moves(mass * (advice.fitted_map._map(at) - at))
    ordered = sorted(seen, key=lambda each: each.low)
    return _of_moves(np.array([each.share * (each.happened - each.predicted) for each in ordered]))


def _of_moves(moved: FloatArray) -> Direction:
    """What is wrong with predictions that must move by this much, in their order."""
    up, down = moved[moved > 0.0].sum(), -moved[moved < 0.0].sum()
    if min(up, down) <= _ONE_SIDED * (up + down):
        return "too low" if up >= down else "too high"
    # Of the ways to split the predictions into a low and a high part the one that explains most.
    below = np.concatenate([[0.0], np.cumsum(moved)])
    lows_up = float((2.0 * below - below[-1]).max())  # low ones must rise and high ones fall
    lows_down = float((below[-1] - 2.0 * below).max())
    if max(lows_up, lows_down) < _EXPLAINED * (up + down):
        return "uneven"
    return "too confident" if lows_up >= lows_down else "not confident enough"


def _action(state: State, advice: Advice, parts: tuple[str, ...]) -> Action:
    if state == "not tested":
        return "none"
    if state != "worth correcting" and parts:
        return "look at the parts"
    if state == "too few rows":
        return "collect more rows"
    if state != "worth correcting":
        return "leave unchanged"
    if advice.backwards:
        return "check the labels"
    if advice.chosen is None:
        return "none"
    if advice.chosen == "constant":
        return "predict the base rate"
    return "look closer" if advice.chosen == "unchanged" else "recalibrate"
