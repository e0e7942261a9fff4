"""The one decision that every sentence of an audit follows from: is it real, does it matter, what to do."""

from __future__ import annotations

__all__ = ["Answer"]

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from calibrant.door.ends import Interval, confidence
from calibrant.door.outwards import at_least, at_most, outwards
from calibrant.door.values import Result, counted
from calibrant.findings.words import number, percent, rate, sentence, whole
from calibrant.inference.gate import rounded_rows

if TYPE_CHECKING:
    from calibrant.findings.advice import Advice
    from calibrant.findings.found import Audit
    from calibrant.findings.regions import Region
    from calibrant.inference.gate import GateResult
    from calibrant.inference.result import TestResult

State = Literal["no evidence", "too few rows", "too small to matter", "worth correcting", "not tested"]
Direction = Literal["too high", "too low", "too confident", "not confident enough", "uneven"]
Action = Literal["leave unchanged", "collect more rows", "recalibrate", "predict the base rate", "look closer", "none"]

_LIMIT, _PART = 0.02, 0.1
_BACKWARDS = (
    "The predictions point the wrong way: events are fewer where predictions are higher. Check that labels or columns "
    "are not swapped."
)
_SIMPLE = ("temperature", "platt")  # methods of one and of two numbers
_NONE = 1e-12  # rates below are rounding


def default_limit(base_rate: float, mean_prediction: float) -> float:
    """The `max_distance` that is taken where none is given: 0.02, or a tenth of the rarer outcome's rate if less.

    Two percentage points are what people read off a diagram; of an event of one in a thousand they would hide any
    error at all, so there the limit is a tenth of the risk itself (docs/answer.md). Where one outcome was never seen,
    its predicted rate is taken.
    """
    rarer = max(min(rate, 1.0 - rate) for rate in (base_rate, mean_prediction))
    return min(_LIMIT, _PART * rarer) if rarer > _NONE else _LIMIT


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Result):
    """What an audit comes to.

    Attributes
    ----------
    state : str
        "worth correcting": calibration is rejected, and the error is not proved to be within `max_distance`. "too small
        to matter": rejected, and proved to be within it. "no evidence": not rejected, and proved to be within it. "too
        few rows": not rejected, and not proved to be within it. "not tested": nothing can be said about chance.
    direction : str or None
        "too high", "too low", "too confident" (too high where predictions are high and too low where they are low),
        "not confident enough" (the reverse) or "uneven" (no shift and no slope of the log-odds repairs half of it);
        None where calibration is not rejected.
    size : float
        Lower distance from calibration of these rows, in probability units: the smallest average change of the
        predictions that would make them calibrated. Where it is known within a bracket, the upper end.
    interval : Interval or None
        Ends of the population's, each of which holds with probability 1 - level; as `calibration_gate` has them. Its
        lower end is 0 where calibration is not rejected. None where no bound is known, as for weights.
    pvalue : float or None
        Of `calibration_test`; None where it was not run.
    action : str
        "recalibrate", "leave unchanged", "collect more rows", "predict the base rate", "look closer" (miscalibrated,
        and no recalibration helps) or "none" (nothing is advised).
    headline : str
        Direction and reality, in a sentence or two.
    details : tuple of str
        How far, and what to do.
    sentence : str
        All of it: headline and details.
    max_distance : float
        The limit that was compared with.

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

    @property
    def sentence(self) -> str:
        """Headline and details."""
        return " ".join((self.headline, *self.details))

    def summary(self) -> str:
        """Return the sentence."""
        return self.sentence


def decide(test: TestResult | None, gate: GateResult | None) -> State:
    """Read the test and the gate together: the table of cases is in docs/answer.md.

    Parameters
    ----------
    test : TestResult or None
        None where it was not run.
    gate : GateResult or None
        At the limit of what is too small to matter; None where no bound of the population is known.
    """
    if test is None:
        return "not tested"
    small = gate is not None and gate.verdict == "within"
    if test.reject or test.impossible is not None:
        return "too small to matter" if small else "worth correcting"
    # Without any bound, no number of rows would be enough to prove it small.
    return "no evidence" if small or gate is None else "too few rows"


def answer(audit: Audit) -> Answer:
    """Put together what the audit found."""
    test, gate = audit.tests["calibration_test"].result, audit.gate
    state = decide(test, gate)
    real = state in ("worth correcting", "too small to matter")
    interval = None if gate is None else gate.lower_distance
    if interval is not None and not real:
        interval = Interval(0.0, interval.high)  # what the test does not prove is not claimed by a bound
    direction = _direction(audit.regions, audit.advice) if real and test is not None and test.reject else None
    action = _action(state, audit.advice)
    headline = " ".join((*_what(audit, state, direction), _real(audit, state, test)))
    backwards = (_BACKWARDS,) if audit.advice.backwards else ()
    details = (*backwards, _how_far(audit, state, interval), *_do(audit, action))
    value = audit.measures["lower_calibration_distance"].value
    return Answer(
        state=state,
        direction=direction,
        size=audit.ties.lower_distance_bracket.upper if value is None else value,
        interval=interval,
        pvalue=None if test is None else test.pvalue,
        action=action,
        headline=headline,
        details=details,
        max_distance=audit.max_distance,
    )


def _direction(regions: tuple[Region, ...], advice: Advice) -> Direction:
    """From the stretches that are beyond noise, in the order of their predictions; from all if none is by itself."""
    if advice.chosen not in (None, "unchanged", "constant", *_SIMPLE):
        left = min(advice[name].lower_calibration_distance for name in _SIMPLE)
        if left > 0.5 * advice["unchanged"].lower_calibration_distance:
            return "uneven"
    clear = [region for region in regions if region.exceeds_noise] or list(regions)
    signs = [region.direction for region in sorted(clear, key=lambda region: region.low)]
    runs = [sign for i, sign in enumerate(signs) if i == 0 or sign != signs[i - 1]]
    if runs == ["high"]:
        return "too high"
    if runs == ["low"]:
        return "too low"
    if runs == ["low", "high"]:
        return "too confident"
    return "not confident enough" if runs == ["high", "low"] else "uneven"


def _action(state: State, advice: Advice) -> Action:
    if state == "not tested":
        return "none"
    if state == "too few rows":
        return "collect more rows"
    if state != "worth correcting":
        return "leave unchanged"
    if advice.chosen is None:
        return "none"
    if advice.chosen == "constant":
        return "predict the base rate"
    return "look closer" if advice.chosen == "unchanged" else "recalibrate"


def _what(audit: Audit, state: State, direction: Direction | None) -> list[str]:
    """In which direction it errs, with the clearest example."""
    if direction is None:
        return []
    said = {
        "too high": "Too high",
        "too low": "Too low",
        "too confident": "Too confident",
        "not confident enough": "Not confident enough",
        "uneven": "Unevenly miscalibrated",
    }[direction]
    if not audit.regions:
        return ["Miscalibrated, though no range of predictions stands out."]
    worst = max(audit.regions, key=_clearness)
    predicted, happened = rate(worst.mean_prediction), rate(worst.mean_prediction + worst.mean_error)
    little = ", but by little" if state == "too small to matter" else ""
    if direction in ("too high", "too low"):
        where = "" if worst.weight_share > 0.9 else f" where it says {_about(worst)}"
        return [f"{said}{little}{where}: {predicted} predicted on average, and {happened} happened."]
    return [f"{said}{little}: where it says about {predicted}, {happened} happened."]


def _clearness(region: Region) -> tuple[bool, float]:
    """Beyond noise first, then by standard errors."""
    return bool(region.exceeds_noise), abs(region.mean_error) / (region.standard_error or 1e-300)


def _about(region: Region) -> str:
    low, high = rate(region.low), rate(region.high)
    return low if low == high else f"{low} to {high}"


def _real(audit: Audit, state: State, test: TestResult | None) -> str:
    """Whether it is more than chance."""
    if test is None:
        return f"Off by {_size(audit)} on average; whether that is real was not tested."
    p = "p < 1e-15" if test.pvalue < 1e-15 else f"p = {test.pvalue:.2g}"
    if state == "no evidence":
        return f"No sign of miscalibration ({p})."
    if state == "too few rows":
        return f"No sign of miscalibration ({p}), but too few rows to be sure."
    real = f"This is real ({p})" if test.reject else f"This is real: {_impossible(test)}"
    return f"{real}, and too small to matter." if state == "too small to matter" else f"{real}."


def _how_far(audit: Audit, state: State, interval: Interval | None) -> str:
    """How far on these rows, and in the population."""
    if state == "not tested":
        return sentence(_why_not(audit))
    sure, limit = confidence(audit.level), f"{audit.max_distance:.3g}"
    if interval is None:
        return f"The predictions are off by {_size(audit)} on average on these rows."
    low, high = outwards(*interval)
    if state in ("no evidence", "too small to matter"):
        who = "They" if state == "too small to matter" else "The predictions"
        return f"{who} are off by at most {high} on average, with {sure} confidence (the limit is {limit})."
    if state == "worth correcting":
        population = f", and at most {high} in the population ({sure} confidence)"
        if float(low) > 0.0:
            population = f"; in the population at least {low} and at most {high} (each with {sure} confidence)"
        return f"The predictions are off by {_size(audit)} on average on these rows{population}."
    rows, needed = counted(audit.n_rows, "row"), audit.gate.rows_needed if audit.gate is not None else None
    more = f"; about {whole(rounded_rows(needed))} rows like these would" if needed else ""
    return (
        f"{rows} cannot rule out that they are off by more than {limit} on average (it is at most {high}, with {sure} "
        f"confidence){more}."
    )


def _do(audit: Audit, action: Action) -> list[str]:
    if action == "leave unchanged":
        return ["Leave the predictions unchanged."]
    if action == "collect more rows":
        return ["Leave the predictions unchanged; collect more rows to be sure."]
    if action == "look closer":
        return ["No recalibration of the predictions alone helps beyond chance: look at where it errs."]
    if action == "predict the base rate":
        return ["The rows do not show that the predictions carry information: the base rate does as well."]
    if action == "none":
        return []
    advice = audit.advice
    before, after = advice["unchanged"], advice[advice.chosen or ""]
    far, near = before.lower_calibration_distance, after.lower_calibration_distance
    name = method_in_words(advice.chosen or "")
    if near < far:
        return [f"{name} removes {percent(1.0 - near / far)} of the error, on rows it was not fitted to."]
    return [f"{name} improves the log score, on rows it was not fitted to."]


def _size(audit: Audit) -> str:
    value = audit.measures["lower_calibration_distance"].value
    if value is not None:
        return number(value)
    low, high = audit.ties.lower_distance_bracket
    return number(high) if at_least(low, 3) == at_most(high, 3) else " to ".join(outwards(low, high))


def _why_not(audit: Audit) -> str:
    return audit.tests["calibration_test"].not_run or "no test was run"


def _impossible(test: TestResult) -> str:
    return test.impossible.summary() if test.impossible is not None else ""


def method_in_words(method: str) -> str:
    """A recalibration's name, to begin a sentence."""
    named = {"temperature": "Temperature scaling", "platt": "Platt scaling", "beta": "Beta scaling"}
    named |= {
        "polynomial": "Polynomial scaling",
        "scaling_binning": "Scaling-binning",
        "histogram": "Histogram binning",
    }
    named |= {"isotonic": "Isotonic regression", "nearest": "The nearest calibrated predictor"}
    named |= {"vector": "Vector scaling", "dirichlet": "Dirichlet scaling"}
    return named.get(method, method)
