"""Populations near to calibration told from those far from it, with a gap between near and far."""

from __future__ import annotations

__all__ = ["TolerantResult", "tolerant_calibration_test"]

import math
from dataclasses import dataclass
from typing import Literal

from calibrant.door.arguments import check_level
from calibrant.door.columns import Column
from calibrant.door.ends import Interval, outwards
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.values import Result, counted
from calibrant.inference.bounds.gate import Ends, Verdict, asked, where
from calibrant.inference.bounds.population import SHIFTED, most_upper_distance
from calibrant.inference.bounds.tally import Tally, needs

Distance = Literal["lower", "true"]


@dataclass(frozen=True, slots=True, repr=False)
class TolerantResult(Result):
    """The outcome of `tolerant_calibration_test`.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        What is proved: the population's distance is below `reject_above`, or above `accept_below`, or neither.
    statistic : float
        Lower distance from calibration of the sample.
    lower_distance : Interval
        Of the population; each end alone holds with probability 1 - level.
    accept_below, reject_above : float
        What was asked.
    level : float
        Largest probability of a wrong answer.
    n_rows : int
        Rows that it rests on.
    rows_needed : int or None
        About how many rows would decide, with the same distance and Brier score; None if it is decided already.
    distance : {"lower", "true"}
        Which distance the verdict is about.

    See Also
    --------
    tolerant_calibration_test, calibration_gate
    """

    verdict: Verdict
    statistic: float
    lower_distance: Interval
    accept_below: float
    reject_above: float
    level: float
    n_rows: int
    rows_needed: int | None
    distance: Distance = "lower"

    def summary(self) -> str:
        """One sentence."""
        low, high = asked(self.accept_below), asked(self.reject_above)
        said = {
            "within": f"within {high}",
            "beyond": f"beyond {low}",
            "undecided": f"undecided between {low} and {high}",
        }[self.verdict]
        more = needs(Tally(self.n_rows, self.rows_needed)) if self.verdict == "undecided" else ""
        proved = where(self.verdict, self.lower_distance, self.level)
        if self.distance == "true" and self.verdict == "within":
            most = self.lower_distance.low, most_upper_distance(self.lower_distance.high)
            proved += f", and its true distance at most {outwards(*most)[1]}"
        elif self.distance == "true" and self.verdict == "beyond":
            proved += ", and its true distance no less"
        return f"{said}: {proved} ({self.statistic:.4f} on these {counted(self.n_rows, 'row')}){more}"


def tolerant_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    accept_below: float,
    reject_above: float,
    level: float = 0.05,
    distance: Distance = "lower",
) -> TolerantResult:
    """Tell populations near to calibration from those far from it, unless the rows are too few.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    accept_below : float
        From 0. If the population's distance is at most this, the answer is "beyond" with probability at most
        `level`.
    reject_above : float
        More than `accept_below`. If the population's distance is at least this, the answer is "within" with
        probability at most `level`.
    level : float, default 0.05
        Largest probability of a wrong answer, at any number of rows. The paper has 1/3 and repeats the test for less;
        here a smaller level costs a logarithm in the rows.
    distance : {"lower", "true"}, default "lower"
        Which distance the limits are of. The true distance D, for whatever features the rows have, lies between the
        lower distance d and d + 1.468 sqrt(d (1 - d)): `reject_above` must be more than that at d = `accept_below`.

    Returns
    -------
    TolerantResult
        With ``verdict``, the distance, the population's bounds, and about how many rows would decide.

    Raises
    ------
    InputError
        If a column or option cannot be used.

    See Also
    --------
    calibration_gate, population_bounds

    Notes
    -----
    Any gap between the two distances is possible, as in Theorem 4; Theorem 3, on the smooth error, needs a factor of 4.
    If both answers are safe the nearer one is given. Constants are in docs/bounds.md. Of true distances, predictions and
    outcomes alone never tell t from sqrt(t) / 2, by any test (docs/hardness.md); here a gap of about 1.468 sqrt(t) is
    enough, with rows as for the lower distance. Cost: a sort, then that of
    `lower_calibration_distance`.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 4 and
    Theorems 3 and 4. Computational and Statistical Hardness of Calibration Distance, 2026, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant_papers.tolerant import tolerant_calibration_test
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> tolerant_calibration_test(np.ones(20_000), y_prob, accept_below=0.05, reject_above=0.1).verdict
    'beyond'
    """
    return tolerant_calibration_test_on_rows(
        Rows.of(y_true, y_prob),
        accept_below=accept_below,
        reject_above=reject_above,
        level=level,
        distance=distance,
    )


def tolerant_calibration_test_on_rows(
    rows: Rows, *, accept_below: float, reject_above: float, level: float, distance: Distance = "lower"
) -> TolerantResult:
    """`tolerant_calibration_test` of rows that were read already."""
    check_tolerances(accept_below, reject_above)
    if accept_below >= reject_above:
        raise InputError(
            "reject_above", f"is {asked(reject_above)}; it must be more than accept_below, {asked(accept_below)}"
        )
    within = float(reject_above)
    if distance not in ("lower", "true"):
        raise InputError("distance", f"is {distance!r:.40}; it must be 'lower' or 'true'")
    if distance == "true":
        least = most_upper_distance(accept_below)
        if reject_above <= least:
            need = f"it must be more than {asked(least)}, the most that the true distance is at accept_below"
            raise InputError("reject_above", f"is {asked(reject_above)}; {need}")
        within = least_lower_distance(reject_above)
    ends = Ends.of(rows.sample, check_level(level))
    proved = ends.proved
    accepts, rejects = within - proved.high, proved.low - accept_below
    verdict: Verdict = "within" if accepts >= rejects else "beyond"
    needed = None
    if max(accepts, rejects) <= 0.0:
        verdict = "undecided"
        needed = ends.rows_for(within=within, beyond=accept_below)
    return TolerantResult(
        verdict,
        ends.found.upper,
        proved,
        float(accept_below),
        float(reject_above),
        ends.level,
        rows.sample.n_rows,
        needed,
        distance,
    )


def least_lower_distance(true: float) -> float:
    """The lower distance below which the true one is below this: the d at which d + sqrt(C d (1 - d)) is `true`."""
    c = 8.0 * SHIFTED
    b = 2.0 * true + c
    root = math.sqrt(b * b - 4.0 * (1.0 + c) * true * true)
    return 2.0 * true * true / (b + root) * (1.0 - 1e-12)  # rounded down


def check_tolerances(accept_below: float, reject_above: float) -> None:
    """Refuse distances that lie outside [0, 1)."""
    for name, value in (("accept_below", accept_below), ("reject_above", reject_above)):
        if isinstance(value, bool) or not 0.0 <= value < 1.0:
            raise InputError(name, f"is {value!r:.40}; it must lie in [0, 1)")
