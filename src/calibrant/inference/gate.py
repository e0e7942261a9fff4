"""Decisions with proof: is the population within a distance from calibration, beyond it, or is it too early to tell?"""

from __future__ import annotations

__all__ = ["CalibrationGate", "TolerantResult", "calibration_gate", "tolerant_calibration_test"]

import math
from dataclasses import dataclass
from typing import Literal

from calibrant.door.arguments import check_level, fraction
from calibrant.door.columns import Column
from calibrant.door.ends import Interval, confidence
from calibrant.door.errors import InputError
from calibrant.door.outwards import outwards
from calibrant.door.rows import Rows
from calibrant.door.values import Result
from calibrant.inference.bounds import Moments

_MOST_ROWS = 10**15  # more than that is said to be no number of rows


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationGate(Result):
    """What is proved about the population's lower distance from calibration.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        Proved at most, proved more, or neither.
    max_distance : float
        The limit that was asked about.
    lower_distance : Interval
        Holds the population's with probability 1 - level, at any number of rows.
    level : float
        Probability that what is said is wrong, at most.
    n_rows : int
        Rows that it rests on.
    rows_needed : int or None
        About how many rows would decide, were the distance and the Brier score what they are now; None where that is
        decided already, or where no number would.
    """

    verdict: Literal["within", "beyond", "undecided"]
    max_distance: float
    lower_distance: Interval
    level: float
    n_rows: int
    rows_needed: int | None

    def summary(self) -> str:
        """One sentence."""
        low, high = outwards(*self.lower_distance)
        where = f"the population's lower distance from calibration is between {low} and {high}"
        said = {
            "within": f"within {_asked(self.max_distance)}",
            "beyond": f"beyond {_asked(self.max_distance)}",
            "undecided": f"undecided about {_asked(self.max_distance)}",
        }[self.verdict]
        more = _needs(self.rows_needed) if self.verdict == "undecided" else ""
        return f"{said}: with {confidence(self.level)} confidence, {where} ({self.n_rows:,} rows){more}"


def calibration_gate(y_true: Column, y_prob: Column, *, max_distance: float, level: float = 0.05) -> CalibrationGate:
    """Decide whether the population's lower distance from calibration is within a limit, with proof.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    max_distance : float
        The limit, in (0, 1).
    level : float, default 0.05
        Probability that what is said is wrong, at most, at any number of rows.

    Returns
    -------
    CalibrationGate
        With ``verdict``, the bounds, and about how many rows would decide.

    Raises
    ------
    InputError
        If a column or option cannot be used.

    See Also
    --------
    population_bounds, tolerant_calibration_test, CalibrationMonitor

    Notes
    -----
    It speaks of the lower distance, which is what predictions and outcomes alone can prove; any features can only put
    the true distance above it. The margin is that of `population_bounds`, for this one quantity (docs/bounds.md).
    Cost: a sort, then that of `lower_calibration_distance`.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_gate
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> calibration_gate(np.ones(20_000), y_prob, max_distance=0.1).verdict
    'beyond'
    """
    return calibration_gate_on_rows(Rows.of(y_true, y_prob), max_distance=max_distance, level=level)


def calibration_gate_on_rows(rows: Rows, *, max_distance: float, level: float) -> CalibrationGate:
    """`calibration_gate` of rows that were read already."""
    level = check_gate(max_distance, level)
    sample = rows.sample
    moments = Moments.of(sample)
    low, high = moments.sample_distance(sample)
    log = math.log(4.0 / level)  # two moments, two sides
    margin = moments.distance_margin(log)
    proved = Interval(max(0.0, low - margin), min(1.0, high + margin))
    verdict: Literal["within", "beyond", "undecided"] = "undecided"
    needed = None
    if proved.high <= max_distance:
        verdict = "within"
    elif proved.low > max_distance:
        verdict = "beyond"
    else:
        needed = _rows_for(moments, log, max(max_distance - high, low - max_distance))
    return CalibrationGate(verdict, float(max_distance), proved, level, sample.n_rows, needed)


@dataclass(frozen=True, slots=True, repr=False)
class TolerantResult(Result):
    """The outcome of `tolerant_calibration_test`.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        What is safe to say: the population's lower distance is below `reject_above`, or above `accept_below`, or
        neither.
    statistic : float
        Lower distance from calibration of the sample.
    margin : float
        On either side alone, the population's is no farther from it, but with probability `level`.
    accept_below, reject_above : float
        What was asked.
    level : float
        Probability of a wrong answer, at most.
    n_rows : int
        Rows that it rests on.
    rows_needed : int or None
        About how many rows would decide, were the distance and the Brier score what they are now; None where that is
        decided already.
    """

    verdict: Literal["within", "beyond", "undecided"]
    statistic: float
    margin: float
    accept_below: float
    reject_above: float
    level: float
    n_rows: int
    rows_needed: int | None

    def summary(self) -> str:
        """One sentence."""
        low, high = _asked(self.accept_below), _asked(self.reject_above)
        said = {
            "within": f"within {high}",
            "beyond": f"beyond {low}",
            "undecided": f"undecided between {low} and {high}",
        }[self.verdict]
        more = _needs(self.rows_needed) if self.verdict == "undecided" else ""
        shown = f"{self.statistic:.4f}"
        margin = outwards(0.0, self.margin + abs(float(shown) - self.statistic))[1]
        return (
            f"{said}: lower distance {shown} of {self.n_rows:,} rows, at most {margin} "
            f"from the population's on either side, except with probability {_asked(self.level)}{more}"
        )


def tolerant_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    accept_below: float,
    reject_above: float,
    level: float = 0.05,
) -> TolerantResult:
    """Tell populations near to calibration from those far from it, or say that the rows are too few to.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    accept_below : float
        From 0. Of a population whose lower distance is at most this, "beyond" is said with probability at most `level`.
    reject_above : float
        More than `accept_below`. Of a population whose lower distance is at least this, "within" is said with
        probability at most `level`.
    level : float, default 0.05
        Probability of a wrong answer, at most, at any number of rows. The paper has 1/3 and repeats the test for less;
        here less costs a logarithm in the margin.

    Returns
    -------
    TolerantResult
        With ``verdict``, the distance, its margin, and about how many rows would decide.

    Raises
    ------
    InputError
        If a column or option cannot be used.

    See Also
    --------
    calibration_gate, population_bounds

    Notes
    -----
    Any gap between the two distances will do, as in Theorem 4; Theorem 3, on the smooth error, needs a factor of 4.
    Where both answers are safe the nearer one is given. Constants in docs/bounds.md.
    Cost: a sort, then that of `lower_calibration_distance`.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 4 and
    Theorems 3 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import tolerant_calibration_test
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> tolerant_calibration_test(np.ones(20_000), y_prob, accept_below=0.05, reject_above=0.1).verdict
    'beyond'
    """
    return tolerant_calibration_test_on_rows(
        Rows.of(y_true, y_prob),
        accept_below=accept_below,
        reject_above=reject_above,
        level=level,
    )


def tolerant_calibration_test_on_rows(
    rows: Rows, *, accept_below: float, reject_above: float, level: float
) -> TolerantResult:
    """`tolerant_calibration_test` of rows that were read already."""
    for name, value in (("accept_below", accept_below), ("reject_above", reject_above)):
        if isinstance(value, bool) or not 0.0 <= value < 1.0:
            raise InputError(name, f"is {value!r:.40}; it must lie in [0, 1)")
    if accept_below >= reject_above:
        raise InputError(
            "reject_above", f"is {_asked(reject_above)}; it must be more than accept_below, {_asked(accept_below)}"
        )
    level = check_level(level)
    sample = rows.sample
    moments = Moments.of(sample)
    low, high = moments.sample_distance(sample)
    log = math.log(3.0 / level)  # two moments, and the one side that could mislead
    margin = moments.distance_margin(log)
    accepts, rejects = reject_above - (high + margin), (low - margin) - accept_below
    verdict: Literal["within", "beyond", "undecided"] = "within" if accepts >= rejects else "beyond"
    needed = None
    if max(accepts, rejects) <= 0.0:
        verdict = "undecided"
        needed = _rows_for(moments, log, max(reject_above - high, low - accept_below))
    return TolerantResult(
        verdict,
        high,
        margin + (high - low),  # the sample's own distance is known up to its bracket
        float(accept_below),
        float(reject_above),
        level,
        sample.n_rows,
        needed,
    )


def check_gate(max_distance: float, level: float) -> float:
    """Return the level; refuse a limit that is not strictly between 0 and 1, or a level that is none."""
    fraction(max_distance, "max_distance")
    return check_level(level)


def _rows_for(moments: Moments, log: float, margin: float) -> int | None:
    """Fewest rows whose margin is smaller than this, with these moments."""
    few, many = moments.n, moments.n
    while moments.distance_margin(log, many) >= margin:
        many *= 2
        if many > _MOST_ROWS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if moments.distance_margin(log, middle) >= margin else (few, middle)
    return many


def _asked(value: float) -> str:
    """In few digits where these are the very number, else in all of them: what is said is what was proved."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _needs(rows: int | None) -> str:
    if not rows:
        return "; it may be right at the limit"
    step = 10 ** max(0, len(str(rows)) - 2)  # two digits: it is an estimate
    return f"; about {math.ceil(rows / step) * step:,} rows are needed"
