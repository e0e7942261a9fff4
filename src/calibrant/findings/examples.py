"""Where predictions err, as examples: what was predicted there, and what happened."""

from __future__ import annotations

__all__ = ["Example"]

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.values import Result
from calibrant.inference.calibration import CalibrationTestResult

if TYPE_CHECKING:
    from calibrant.findings.found import Audit

_CLEAR, _SURE = 3.0, 4.0  # standard errors
_MOST = 0.9  # of the rows
_SIDES = {"too low": (True, False), "too high": (False, True)}


@dataclass(frozen=True, slots=True, repr=False)
class Example(Result):
    """A range of predictions, or a single one, that the headline of an answer names.

    Attributes
    ----------
    low, high : float
        First and last prediction of it.
    predicted, happened : float
        Weighted means of its predictions and of its outcomes.
    share : float
        Its share of the weight.
    errors : float
        How many standard errors lie between the two means.

    See Also
    --------
    Answer, Region
    """

    low: float
    high: float
    predicted: float
    happened: float
    share: float
    errors: float

    def summary(self) -> str:
        """Say what was predicted, and what happened."""
        return f"From {self.low:.3g} to {self.high:.3g}: {self.predicted:.3g} predicted, {self.happened:.3g} happened."


def told(direction: str | None, seen: tuple[Example, ...]) -> tuple[Example, ...]:
    """Those that the headline tells: the clearest of its direction; of two-sided faults the clearest of either side.

    Of faults that are nearly all of one side, the other is told as well where it is clear beyond doubt.
    """
    if not seen or direction is None:
        return ()
    if direction in ("too high", "too low"):
        same, other = ([each for each in seen if (each.happened > each.predicted) == low] for low in _SIDES[direction])
        return (*same[:1], *(each for each in other[:1] if same and each.errors >= _SURE))
    first = seen[0]
    others = [each for each in seen if (each.happened < each.predicted) != (first.happened < first.predicted)]
    return (first, *others[:1])


def examples(audit: Audit) -> tuple[Example, ...]:
    """Where it errs by more than noise, the clearest first.

    Of few distinct predictions each is looked at by itself; else the stretches of the smooth error's witness, and the
    one that the test points at.
    """
    table, test = audit.reliability, audit.tests["calibration_test"].result
    if table.kind == "levels" and not audit.rates:
        found = _of_levels(audit)
    else:
        found = [
            Example(
                region.low, region.high, region.mean_prediction, region.mean_prediction + region.mean_error,
                region.weight_share, abs(region.mean_error) / (region.standard_error or 1e-300),
            )
            for region in audit.regions
            if region.exceeds_noise
        ]  # fmt: skip
    region = test.region if isinstance(test, CalibrationTestResult) else None
    if region is not None and not (found and (table.kind == "levels" or audit.n_groups is not None)):
        # Where the test points at: it saw what the witness's stretches may miss.
        p, n, share = region.mean_prediction, float(region.n_rows), region.n_rows / audit.n_rows
        if audit.weighted:
            share = float(table.mass[(table.prediction >= region.low) & (table.prediction <= region.high)].sum())
            n *= audit.effective_rows / audit.n_rows
        errors = abs(region.event_rate - p) * math.sqrt(n / max(p * (1.0 - p), 1e-300))
        found.append(Example(region.low, region.high, p, region.event_rate, share, errors))
    return tuple(sorted(found, key=lambda each: -each.errors))


def _of_levels(audit: Audit) -> list[Example]:
    table = audit.reliability
    chance = table.prediction * (1.0 - table.prediction)
    spread = np.sqrt(chance / np.maximum(table.count, 1.0)) if table.deviation is None else table.deviation
    away = np.abs(table.outcome - table.prediction)
    errors = np.where(away > 0.0, away / np.maximum(spread, 1e-300), 0.0)
    errors[~((table.prediction > 0.0) & (table.prediction < 1.0))] = 0.0  # told by the test as impossible rows
    shown = np.flatnonzero(errors >= _CLEAR)
    found = [
        Example(
            float(table.prediction[i]), float(table.prediction[i]), float(table.prediction[i]),
            float(table.outcome[i]), float(table.mass[i]), float(errors[i]),
        )
        for i in shown
    ]  # fmt: skip
    same = max(float(table.mass[side * (table.outcome - table.prediction) > 0.0].sum()) for side in (1.0, -1.0))
    if len(found) > 1 and same > _MOST:
        # All err one way, of which no single prediction is an example.
        clearest = max(each.errors for each in found)
        low, high = table.prediction[[0, -1]].tolist()
        found.insert(0, Example(low, high, audit.mean_prediction, audit.base_rate, 1.0, clearest))
    return found
