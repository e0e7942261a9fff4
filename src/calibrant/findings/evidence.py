"""Tests that an audit runs: is the miscalibration more than chance?"""

from __future__ import annotations

__all__ = ["Evidence"]

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.findings.words import NO_TRIALS
from calibrant.inference.bounds import PopulationBounds, bounds_from_sample
from calibrant.inference.discrete import discrete_calibration_test_on_rows
from calibrant.inference.result import TestResult
from calibrant.inference.tcal import TCalPlan, tcal_test_on_rows

_MOST_ROWS = 300_000
_WORK = 2e8  # rows times resamples, half a second; more resamples tell smaller p-values
_FEWEST, _MOST = 3_000, 50_000
_FEW_VALUES = 50


@dataclass(frozen=True, slots=True, repr=False)
class Evidence(Result):
    """One test of the sample.

    Attributes
    ----------
    title : str
        Its name in words.
    result : TestResult or None
        None where it was not run.
    not_run : str or None
        Why there is no result.
    """

    title: str
    result: TestResult | None
    not_run: str | None = None

    def summary(self) -> str:
        """What it says, or why it was not run."""
        return self.result.summary() if self.result is not None else f"not run: {self.not_run}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain words and numbers."""
        if self.result is None:
            return {"not_run": self.not_run}
        r = self.result
        return {
            "statistic": r.statistic,
            "pvalue": r.pvalue,
            "reject": bool(r.reject),
            "level": r.level,
            "method": r.method,
        }


def evidence(sample: Sample, weighted: bool, level: float, resample: bool, seed: int) -> dict[str, Evidence]:
    """Run adaptive T-Cal, and the exact discrete test where predictions take few values."""
    why_not = no_single_rows(sample, weighted)
    rows = None
    if why_not is None and (sample.n_rows <= _MOST_ROWS or sample.n_distinct <= _FEW_VALUES):
        rows = Rows.of_sample(sample)
    if rows is None or sample.n_rows > _MOST_ROWS or not resample:
        reason = why_not or ("no resamples were asked for" if not resample else f"above {_MOST_ROWS:,} rows")
        found = {"tcal_test": Evidence("Adaptive T-Cal", None, reason)}
    else:
        resamples = int(min(max(_WORK / sample.n_rows, _FEWEST), _MOST))
        run = partial(tcal_test_on_rows, rows, TCalPlan(level, resamples), seed)
        found = {"tcal_test": where_it_applies("Adaptive T-Cal", run)}
    if rows is not None and sample.n_distinct <= _FEW_VALUES:
        exact = partial(discrete_calibration_test_on_rows, rows, level=level)
        found["discrete_calibration_test"] = where_it_applies("Exact discrete test", exact)
    return {name: _unordered(each) for name, each in found.items()}


def _unordered(found: Evidence) -> Evidence:
    """The same without the number of a row: a sample does not know in which order its rows came."""
    result = found.result
    if result is None or result.impossible is None:
        return found
    return replace(found, result=replace(result, impossible=replace(result.impossible, row=None)))


def population(
    sample: Sample, weighted: bool, level: float, smooth_error: float, distance: Bracket
) -> PopulationBounds | None:
    """Bounds for the population, from the sample's error and distance; None where rows cannot be told apart."""
    if no_single_rows(sample, weighted):
        return None
    return bounds_from_sample(sample, smooth_error, distance, level)


def weights_differ(sample: Sample) -> bool:
    """Whether rows count for more or less than one another."""
    each = sample.weight / sample.count
    same_within = np.allclose(sample.squared_weight, sample.weight * each, rtol=1e-12, atol=0.0)
    return not (same_within and np.allclose(each, each[0], rtol=1e-12, atol=0.0))


def no_single_rows(sample: Sample, weighted: bool) -> str | None:
    """Why rows cannot be told apart; None where they can."""
    if not sample.binary:
        return NO_TRIALS
    if weighted:
        return "tests need unweighted outcomes of 0 or 1"
    return "the rows were pooled into cells" if sample.cell_width.max() > 0.0 else None


def where_it_applies(title: str, run: Callable[[], TestResult]) -> Evidence:
    """Run a test; where it says that it does not apply, that is the finding."""
    try:
        return Evidence(title, run())
    except InputError as does_not_apply:
        return Evidence(title, None, str(does_not_apply))
