"""The test that an audit runs: is the miscalibration more than chance? And do outcomes of a row vary together?"""

from __future__ import annotations

__all__ = ["Evidence"]

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.rows import INDEPENDENT, Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, plain
from calibrant.findings.word_catalogue import CELLS_MIX_WEIGHTS, NO_TRIALS
from calibrant.inference.bounds.draws import AnyDraws, Draws
from calibrant.inference.bounds.population import PopulationBounds, bounds_from_sample
from calibrant.inference.testing.calibration import (
    CalibrationTestResult,
    calibration_test_on_rows,
    calibration_test_on_sample,
    calibration_test_on_weighted_cells,
)
from calibrant.inference.testing.result import TestResult

_TITLE = "Calibration test"
# Redraws where fewer leave open on which side of the level the p-value lies: the same for every seed.
_MANY, _SEED = 9_999, 0
_CERTAIN = 6.0  # standard errors of a share of the redraws


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

    See Also
    --------
    Audit, audit
    """

    title: str
    result: TestResult | None
    not_run: str | None = None

    def summary(self) -> str:
        """Its sentence, or why it was not run; of its premise what is more than independence, which stands above."""
        if self.result is None:
            return f"not run: {self.not_run}"
        line = self.result.summary()
        premise = self.result.premise if isinstance(self.result, CalibrationTestResult) else INDEPENDENT
        _, _, more = premise.partition(", and ")
        of_rows = "rows are " if more.startswith(("many", "sampled")) else ""
        return f"{line} (taken as given: {of_rows}{more})" if more else line

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain words and numbers."""
        if self.result is None:
            return {"not_run": self.not_run}
        r = self.result
        values = {
            "statistic": r.statistic,
            "pvalue": r.pvalue,
            "reject": bool(r.reject),
            "level": r.level,
            "method": r.method,
        }
        return values | (_more(r) if isinstance(r, CalibrationTestResult) else {})


def _more(test: CalibrationTestResult) -> dict[str, Any]:
    return {
        "components": plain(test.components),
        "leading": test.leading,
        "region": plain(test.region),
        "pooling": test.pooling,
        "premise": test.premise,
        "impossible": None if test.impossible is None else plain(test.impossible.to_dict()),
    }


def evidence(
    sample: Sample,
    rows: Rows | None,
    weighted: bool,
    level: float,
    n_resamples: int,
    seed: int,
    misplaced: float = 0.0,
    max_weight: float | None = None,
    *,
    outcome_free: bool = False,
) -> dict[str, Evidence]:
    """Run the calibration test; cells of a sketch are drawn from their means, which the result accounts for.

    With `rows`, weighted rows are drawn one by one, and rows in groups by group: a sample does not know them. For sums
    of weighted rows in cells the test has bounds instead; rounding may have `misplaced` a share of these rows.
    """
    why_not = None if sample.binary else NO_TRIALS
    if why_not is None and n_resamples == 0:
        why_not = "no resamples were asked for"
    if why_not is None and rows is None and weighted and not outcome_free:
        why_not = CELLS_MIX_WEIGHTS
    if why_not is not None:
        return {"calibration_test": Evidence(_TITLE, None, why_not)}
    if rows is not None and (weighted or rows.group is not None):
        run = partial(_certain_of_the_side, partial(calibration_test_on_rows, rows), level, n_resamples, seed)
    elif not weighted:
        run = partial(_certain_of_the_side, partial(calibration_test_on_sample, sample), level, n_resamples, seed)
    else:
        run = partial(calibration_test_on_weighted_cells, sample, level, misplaced, max_weight)
    return {"calibration_test": where_it_applies(_TITLE, run)}


def _certain_of_the_side(
    run: Callable[[float, int, int], CalibrationTestResult], level: float, n_resamples: int, seed: int
) -> CalibrationTestResult:
    """Run a test, and again with more redraws where these leave open on which side of the level its p-value lies.

    The second run is by a constant seed, so that the seed decides nothing. Who asks for fewer redraws than the default
    gets these. The standard error is that of a share of the redraws, were the p-value the level; by redraws that also
    tell which statistics are alike it is 1.1 times that in the median of 51 borderline samples, and 1.9 at most.
    """
    first = run(level, n_resamples, seed)
    noise = math.sqrt(max(first.pvalue * (1.0 - first.pvalue), level * (1.0 - level)) / n_resamples)
    drawn = first.redrawn_pvalue < 1.0
    if not drawn or not N_RESAMPLES <= n_resamples < _MANY or abs(first.pvalue - level) > _CERTAIN * noise:
        return first
    return run(level, _MANY, _SEED)


def units_drawn(sample: Sample, rows: Rows | None, draws: AnyDraws | None, weighted: bool) -> AnyDraws | None:
    """Units that are drawn from the population; None where nothing is known of it.

    Rows of weights, trials or groups need `draws`, which the most that one can weigh makes of them; trials of one row
    need not be independent there.
    """
    if not sample.binary or (draws is None and (weighted or (rows is not None and not rows.plain))):
        return None
    return Draws.of_sample(sample) if draws is None else draws


def bounds_of_rows(
    sample: Sample,
    units: AnyDraws | None,
    level: float,
    smooth_error: float,
    distance: Bracket,
    values: Mapping[str, float],
    n_rows: int | None = None,
) -> PopulationBounds | None:
    """Bounds for the population, from the sample's error, distance and other measures.

    None where `units` are; those of cells that hold several predictions are made later.
    """
    if units is None or sample.cell_width.max() > 0.0:
        return None
    bounds = bounds_from_sample(sample, smooth_error, distance, level, units, values)
    return bounds if n_rows is None else replace(bounds, n_rows=n_rows)


def where_it_applies(title: str, run: Callable[[], TestResult]) -> Evidence:
    """Run a test; where it says that it does not apply, that is the finding."""
    try:
        return Evidence(title, run())
    except InputError as does_not_apply:
        return Evidence(title, None, str(does_not_apply))


_SEED_OF_ORDER = 0  # of the order of rows with one prediction
_FEWEST_PAIRS = 20
_PLAINLY = 4.0  # standard errors: 6 of 134,400 samples without it had as many, calibrated and miscalibrated


def varies_together(rows: Rows | None) -> bool:
    """Whether trials of a row are plainly no independent outcomes of one chance.

    Rows next to one another in their predictions are paired. Given the events of both, those of one are hypergeometric
    if both have one chance, large or small: their squared error over its variance then is 1 on average.
    """
    if rows is None or rows.trials is None or rows.group is not None:
        return False
    order = np.lexsort((rows.y_true, rows.count, rows.y_prob))  # so that none that they come in shows
    apart = np.random.default_rng(_SEED_OF_ORDER).random(order.size)
    order = order[np.lexsort((apart, rows.y_prob[order]))][: order.size // 2 * 2]
    events, trials = (each[order].astype(np.float64) for each in (rows.y_true, rows.count))
    both, of = events[::2] + events[1::2], trials[::2] + trials[1::2]
    share = trials[::2] / of
    variance = share * (1.0 - share) * both * (of - both) / np.maximum(of - 1.0, 1.0)
    may_vary = variance > 0.0
    if np.count_nonzero(may_vary) < _FEWEST_PAIRS:
        return False
    squares = (events[::2] - share * both)[may_vary] ** 2 / variance[may_vary]
    return bool(squares.mean() - 1.0 > _PLAINLY * squares.std(ddof=1) / np.sqrt(squares.size))
