"""A release gate: is the predictor within a distance from calibration, beyond it, or is it too early to tell?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from calibrant.errors import InputError
from calibrant.inference.arguments import RandomState
from calibrant.inference.bounds import PopulationBounds, population_bounds
from calibrant.inputs import Column

Verdict = Literal["within", "beyond", "undecided"]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What is proved about the population's lower distance from calibration.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        Proved at most, proved more, or neither.
    max_distance, confidence : float
        What was asked.
    bounds : PopulationBounds
        What it rests on.
    rows_needed : int or None
        About how many rows would decide, if what is seen so far is how it is; None where that is decided already, or
        where no number would.
    """

    verdict: Verdict
    max_distance: float
    confidence: float
    bounds: PopulationBounds
    rows_needed: int | None

    def summary(self) -> str:
        """One sentence."""
        low, high = self.bounds.lower_distance
        where = f"the population's lower distance from calibration is between {low:.4f} and {high:.4f}"
        said = {
            "within": f"within {self.max_distance:g}",
            "beyond": f"beyond {self.max_distance:g}",
            "undecided": f"undecided about {self.max_distance:g}",
        }[self.verdict]
        more = ""
        if self.verdict == "undecided":
            more = (
                f"; about {self.rows_needed:,} rows are needed"
                if self.rows_needed
                else "; it may be right at the limit"
            )
        return f"{said}: with confidence {self.confidence:g}, {where} ({self.bounds.n_rows:,} rows){more}"


def calibration_gate(
    y_true: Column,
    y_prob: Column,
    *,
    max_distance: float,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> GateDecision:
    """Decide whether the population's lower distance from calibration is within a limit, with proof.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    max_distance : float
        The limit, in (0, 1).
    confidence : float, default 0.95
        Probability that what is said is true, at any number of rows.
    random_state : int, numpy.random.Generator or None
        As for `population_bounds`.

    Returns
    -------
    GateDecision
        With ``verdict``, the bounds, and about how many rows would decide.

    Raises
    ------
    InputError
        If a column or option cannot be used.

    Notes
    -----
    It speaks of the lower distance, which is what predictions and outcomes alone can prove; any features can only put
    the true distance above it.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_gate
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> calibration_gate(np.ones(20_000), y_prob, max_distance=0.1, random_state=0).verdict
    'beyond'
    """
    for name, value in (("max_distance", max_distance), ("confidence", confidence)):
        if isinstance(value, bool) or not 0.0 < value < 1.0:
            raise InputError(name, f"is {value!r:.40}; it must lie strictly between 0 and 1")
    bounds = population_bounds(y_true, y_prob, level=1.0 - confidence, random_state=random_state)
    low, high = bounds.lower_distance
    verdict: Verdict = "within" if high <= max_distance else "beyond" if low > max_distance else "undecided"
    needed = None
    if verdict == "undecided":
        # Margins shrink with the square root of the rows, around a value in between.
        middle = 0.5 * (low + high)
        margin = high - middle
        if abs(max_distance - middle) > 1e-3 * margin:
            needed = math.ceil(bounds.n_rows * (margin / abs(max_distance - middle)) ** 2)
    return GateDecision(verdict, float(max_distance), float(confidence), bounds, needed)
