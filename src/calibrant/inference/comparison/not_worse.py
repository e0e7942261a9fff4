"""Not worse than before: is one predictor's smooth error above another's by no more than is allowed?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from calibrant.door.arguments import N_RESAMPLES
from calibrant.door.ends import Interval, as_points, confidence, in_points, outwards
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.inference.bounds.draws import Draws
from calibrant.inference.bounds.gate import Verdict, asked, verdict_of
from calibrant.inference.bounds.one_event import Spread, lower_end, smooth_function
from calibrant.inference.bounds.tally import Tally, rows_to_decide
from calibrant.inference.comparison.compare import compare_calibration_on_rows, compare_items_on_rows
from calibrant.measures.smooth import smooth_error_from_sample

MOST_RESAMPLED = 200_000
"""Rows of either side above which nothing is resampled: there the proved ends are near enough."""
_RESAMPLES = 199  # each takes the error of about four times the rows, and a gate must not take minutes
_SEED = 0  # the same files get the same verdict
_LEAST_ROWS = 8  # that can be halved

Way = Literal["paired", "items", "two samples", "proved"]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """One predictor: its sample, how far pooling can have moved its smooth error, and its single rows if at hand."""

    sample: Sample
    moved: float = 0.0
    rows: Rows | None = None

    def interval(self, level: float) -> Interval:
        """Ends of the population's smooth error, each wrong with probability at most `level` at any number of rows."""
        draws = Draws.of_sample(self.sample)
        low = lower_end(draws, smooth_function, level)
        error = smooth_error_from_sample(self.sample) + self.moved
        return Interval(low, max(low, Spread.of(draws).upper_end(error, level)))


@dataclass(frozen=True, slots=True, repr=False)
class NotWorse(Result):
    """Whether the smooth calibration error is above the baseline's by no more than is allowed.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        Not worse than is allowed, worse, or neither is shown.
    baseline : str
        What it is compared with.
    max_worse : float
        How much worse is allowed.
    difference : Interval
        Of the population's error less the baseline's; each end alone holds with probability 1 - level.
    level : float
        The answer is wrong with this probability at most: in large samples, or where `way` is "proved" in all. The
        lower end, which decides "beyond", takes this divided by the number of the gate's checks.
    n_rows, n_rows_baseline : int
        Rows of either.
    rows_needed : int or None
        About how many rows would decide, were the difference what it is now; None where decided, or where none would.
    way : {"paired", "items", "two samples", "proved"}
        Of the same rows; of the same items, with outcomes of either's own; of different rows; or from the ends that are
        proved of either error.
    default_limit : bool
        Whether `max_worse` is the default for these rows, and was not given.
    same : bool
        Whether both hold the very same outcomes and predictions, so that a predictor is beside itself.
    """

    verdict: Verdict
    baseline: str
    max_worse: float
    difference: Interval
    level: float
    n_rows: int
    n_rows_baseline: int
    rows_needed: int | None
    way: Way
    default_limit: bool = False
    same: bool = False

    @property
    def proved(self) -> str:
        """The end of the difference that decides, or both, in points."""
        return f"{self._ends(' and ', 'between ')} points"

    def _ends(self, to: str, prefix: str = "") -> str:
        low, high = (f"{Decimal(end).scaleb(2):+f}" for end in outwards(*self.difference, signed=True))
        both = f"{prefix}{low}{to}{high}"
        return {"within": f"at most {high}", "beyond": f"at least {low}", "undecided": both}[self.verdict]

    def summary(self) -> str:
        """One sentence."""
        verdicts = {"within": "not worse than", "beyond": "worse than", "undecided": "undecided whether worse than"}
        asymptotic = "" if self.way == "proved" else " in large samples"
        limit = f"{in_points(asked(self.max_worse))}{' (the default for these rows)' if self.default_limit else ''}"
        rows = {
            "paired": f"the same {counted(self.n_rows, 'row')}",
            "items": f"the same {counted(self.n_rows, 'item')}, outcomes of either's own",
            "two samples": f"{counted(self.n_rows, 'row')} against {self.n_rows_baseline:,} others",
            "proved": f"{counted(self.n_rows, 'row')} against {self.n_rows_baseline:,}",
        }[self.way]
        return (
            f"{verdicts[self.verdict]} {self.baseline} by more than {limit}: with {confidence(self.level)} "
            f"confidence{asymptotic}, the population's smooth calibration error minus that of {self.baseline} is "
            f"{self.proved} ({rows}){self._needs()}{self.itself}"
        )

    def cell(self) -> str:
        """Say in a table's cell what is proved: the difference, the limit, how it holds, and rows that would decide."""
        default = ", the default for these rows" if self.default_limit else ""
        asymptotic = "" if self.way == "proved" else "; in large samples"
        holds = f"limit {as_points(asked(self.max_worse))}{default}{asymptotic}"
        return f"{self._ends(' to ')} points ({holds}){self._needs()}{self.itself}"

    @property
    def itself(self) -> str:
        """That a predictor is beside itself, as the end of a sentence, where it is."""
        return "; both hold the very same outcomes and predictions: a predictor beside itself" if self.same else ""

    def _needs(self) -> str:
        if self.verdict != "undecided":
            return ""
        if self.rows_needed is None:
            return "; it may be right at the limit, where no number of rows decides"
        both = "" if self.way in ("paired", "items") else " on both sides"
        return f"; {rows_to_decide(Tally(self.n_rows, self.rows_needed), both)}"


def not_worse(
    now: Predictor,
    before: Predictor,
    *,
    baseline: str,
    max_worse: float,
    level: float,
    shares: int,
    default_limit: bool = False,
    same_items: bool = False,
) -> NotWorse:
    """Compare two predictors: by a test of the same rows, or of different ones, or by the ends that are proved.

    "Beyond" takes one of so many `shares` of the level, at least two. Rows are the same where outcomes of both kinds
    occur and follow each other alike. With `same_items` rows are of the same items, one after the other.
    """
    way: Way
    two_sided = 2.0 * level / shares
    if now.rows is None or before.rows is None or not _can_be_resampled(now.rows, before.rows, two_sided):
        way, centre = "proved", None
        own, other = now.interval(0.5 * level / shares), before.interval(0.5 * level / shares)
        ends = Interval(own.low - other.high, own.high - other.low)
    else:
        way = "paired" if same_rows(now.rows, before.rows) else "items" if same_items else "two samples"
        how: Any = {
            "measure": "smooth_calibration_error",
            "level": two_sided,
            "n_resamples": _resamples(two_sided),
            "random_state": _SEED,
        }
        if way == "items":
            comparison = compare_items_on_rows([now.rows, before.rows], **how)[0, 1]
        else:
            comparison = compare_calibration_on_rows(now.rows, before.rows, paired=way == "paired", **how)
        moved, centre = now.moved + before.moved, comparison.statistic
        ends = Interval(comparison.interval.low - moved, comparison.interval.high + moved)
    verdict = verdict_of(ends, max_worse)
    n = now.sample.n_rows
    needed = _needed(ends, centre, max_worse, n) if verdict == "undecided" else None
    return NotWorse(
        verdict, baseline, float(max_worse), ends, float(level), n, before.sample.n_rows, needed, way, default_limit
    )  # fmt: skip


def same_rows(a: Rows, b: Rows) -> bool:
    """Whether outcomes of both kinds occur and follow each other alike."""
    alike = a.y_true.size == b.y_true.size and bool((a.y_true == b.y_true).all())
    return alike and 0.0 < float(a.y_true.mean()) < 1.0  # outcomes that are all equal tell no rows apart


def _resamples(level: float) -> int:
    return max(_RESAMPLES, math.ceil(2.0 / level))


def _can_be_resampled(a: Rows, b: Rows, level: float) -> bool:
    sizes = a.y_prob.size, b.y_prob.size
    return min(sizes) >= _LEAST_ROWS and max(sizes) <= MOST_RESAMPLED and _resamples(level) <= N_RESAMPLES


def _needed(interval: Interval, centre: float | None, limit: float, n: int) -> int | None:
    """Rows with which the end beside the limit would reach it, as far from the middle as their root makes it."""
    middle = 0.5 * (interval.low + interval.high) if centre is None else centre
    reach = interval.high - middle if middle < limit else middle - interval.low
    gap = abs(limit - middle)
    times = (reach / gap) ** 2 if gap > 0.0 else np.inf
    return max(n + 1, math.ceil(n * times)) if times < 1e9 else None
