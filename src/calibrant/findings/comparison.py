"""Two audits side by side, and whether the difference is more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import seeded
from calibrant.door.columns import IntArray
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.findings.answer_words import most_points, points
from calibrant.findings.found import Audit
from calibrant.findings.views import Finding
from calibrant.findings.words import number
from calibrant.inference.compare import ComparisonResult, compare_calibration

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
_MOST_ROWS = 1_000_000
_RESAMPLES = 199  # each evaluates the measure on four times the rows, and a page must not take minutes


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Finding):
    """Audits of two predictors.

    Attributes
    ----------
    names : tuple of str
        What the two are called.
    audits : tuple of Audit
        Their audits.
    result : ComparisonResult or None
        The paired comparison of their smooth errors; None where the rows are not the same.
    not_compared : str or None
        Why there is no result.
    seed : int or None
        Gives both audits and the comparison again; None where they do not share one.
    """

    names: tuple[str, str]
    audits: tuple[Audit, Audit]
    result: ComparisonResult | None
    not_compared: str | None
    seed: int | None = None

    @property
    def sentence(self) -> str:
        """Which is better calibrated, in a sentence or two."""
        first, second = self.names
        if self.result is None:
            return f"The two were not compared row by row: {self.not_compared}."
        said, low, high = self.result, *self.result.interval
        sure = f"{confidence(said.level)} confidence"
        one, other = points(said.value_a), points(said.value_b)
        if not said.reject:
            return (
                f"Neither of {first} and {second} is proved better calibrated: smooth errors {one} and {other} "
                f"percentage points; in the population the first less the second is between "
                f"{points(low, ROUND_FLOOR)} and {points(high, ROUND_CEILING)} ({sure})."
            )
        better, worse = (first, second) if said.statistic < 0.0 else (second, first)
        less, more = (one, other) if said.statistic < 0.0 else (other, one)
        near, far = sorted((abs(low), abs(high)))
        least, most = points(near, ROUND_FLOOR), points(far, ROUND_CEILING)
        return (
            f"{better} is better calibrated than {worse}: smooth errors {less} and {more} percentage points. This is "
            f"not chance (p = {said.pvalue:.2g}): in the population they differ by {least} to {most} ({sure})."
        )

    def facts(self) -> list[tuple[str, str, str]]:
        """The rows of the table that sets the two side by side: what, of the first, of the second."""
        answers = [audit.answer for audit in self.audits]
        rows = [
            ("what it comes to", *(found.state for found in answers)),
            ("direction", *(found.direction or "-" for found in answers)),
            ("distance, percentage points", *(points(found.size) for found in answers)),
            (
                "in the population, at most",
                *("-" if x.interval is None else most_points(x.interval, x.max_distance) for x in answers),
            ),
            ("what to do", *(found.action for found in answers)),
            ("area under the ROC curve", *("-" if a.auc is None else f"{a.auc:.3f}" for a in self.audits)),
            ("rows", *(f"{a.n_rows:,}" for a in self.audits)),
        ]
        return [(what, first, second) for what, first, second in rows]

    def measures(self) -> list[tuple[str, str, str]]:
        """The same of every measure."""
        rows = []
        for name, measure in self.audits[0].measures.items():
            values = (measure.value, self.audits[1].measures[name].value)
            rows.append((measure.title.lower(), *("-" if value is None else number(value) for value in values)))
        return [(what, first, second) for what, first, second in rows]


def _same(one: IntArray | None, other: IntArray | None) -> bool:
    return one is other is None or (one is not None and other is not None and np.array_equal(one, other))


def compare(
    names: tuple[str, str],
    audits: tuple[Audit, Audit],
    rows: tuple[Rows | None, Rows | None],
    *,
    groups: tuple[IntArray | None, IntArray | None] = (None, None),
    level: float = 0.05,
    seed: int | None = None,
) -> Comparison:
    """Set two audits side by side; where both are of the same rows, in the same groups, test the difference."""
    seed = seeded(seed)[1]
    result, why_not = None, None
    if any(audit.classes is not None for audit in audits):
        why_not = "compare_calibration takes one probability a row, and these are probabilities of classes"
    elif rows[0] is None or rows[1] is None:
        why_not = "that takes single, unweighted rows with outcomes 0 or 1"
    elif any(audit.n_excluded for audit in audits):
        why_not = "bad rows were left out, so those that are left may not be the same"
    elif rows[0][0].size != rows[1][0].size or (rows[0][0] != rows[1][0]).any():
        why_not = (
            "their outcomes differ, so they are not of the same rows in the same order; compare_calibration takes "
            "different rows with y_true_b"
        )
    elif not _same(*groups):
        why_not = "their groups differ, so they are not of the same rows in the same order"
    elif rows[0][0].size > _MOST_ROWS:
        why_not = f"above {_MOST_ROWS:,} rows compare_calibration does it"
    else:
        try:
            (y_true, one), other = rows[0], rows[1][1]
            result = compare_calibration(
                y_true, one, other, groups=groups[0], level=level, n_resamples=_RESAMPLES, random_state=seed
            )
        except InputError as problem:
            why_not = str(problem)
    shared = seed if all(audit.seed == seed for audit in audits) else None
    return Comparison(names, audits, result, why_not, shared)
