"""Where predictions err, as examples: what was predicted there, and what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calibrant.findings.found import Audit

_CLEAR = 3.0  # standard errors


@dataclass(frozen=True, slots=True)
class Example:
    """A stretch of predictions, or a single one, with the means of predictions and outcomes there."""

    low: float
    high: float
    predicted: float
    happened: float
    share: float
    errors: float  # how many standard errors lie between the two


def examples(audit: Audit) -> tuple[Example, ...]:
    """Where it errs by more than noise, the clearest first; the clearest place alone if none is clear by itself.

    Of few distinct predictions each is looked at by itself; else the stretches of the smooth error's witness.
    """
    table = audit.reliability
    if table.kind == "levels" and not audit.rates:
        found = _of_levels(audit)
    else:
        found = [
            Example(
                region.low, region.high, region.mean_prediction, region.mean_prediction + region.mean_error,
                region.weight_share, abs(region.mean_error) / (region.standard_error or 1e-300),
            )
            for region in audit.regions
            if region.exceeds_noise or not any(each.exceeds_noise for each in audit.regions)
        ]  # fmt: skip
    return tuple(sorted(found, key=lambda each: -each.errors))


def _of_levels(audit: Audit) -> list[Example]:
    table = audit.reliability
    chance = table.prediction * (1.0 - table.prediction)
    spread = np.sqrt(chance / np.maximum(table.count, 1.0))
    away = np.abs(table.outcome - table.prediction)
    errors = np.where(away > 0.0, away / np.maximum(spread, 1e-300), 0.0)
    errors[~((table.prediction > 0.0) & (table.prediction < 1.0))] = 0.0  # told by the test as impossible rows
    shown = np.flatnonzero(errors >= _CLEAR)
    if not shown.size:
        shown = np.flatnonzero(errors == errors.max())[:1] if errors.max() > 0.0 else shown
    return [
        Example(
            float(table.prediction[i]), float(table.prediction[i]), float(table.prediction[i]),
            float(table.outcome[i]), float(table.mass[i]), float(errors[i]),
        )
        for i in shown
    ]  # fmt: skip
