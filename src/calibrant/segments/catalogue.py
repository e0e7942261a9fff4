"""All sentences on segments: what a search found, what is proved of them, and why some are not looked at."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.door.columns import NO_WEIGHT_THERE

# A search.
NOT_FITTED = "predictions were not fitted to them"
SURE = "; predictions must not have been fitted to these rows"
RARE = "; too rare or many to be looked at one by one: {values}"
SUMMED = "; rows were too many to be read, and were summed by cells of predictions"
BY_BOUND = "{n:,} {be} tested by a bound alone, which sees large errors only"
FEW_GROUPS = "; {few}: too few groups hold events, or non-events, there"
ALONE = "No segment ({searched}) is large enough to be looked at by itself; of all rows together p = {p:.2g}"
NONE_OFF = "Of {tested} none is proved off, allowing for all of them; the strongest sign is at {name} (p = {p:.2g})."
NONE_DIFFERS = "Of {tested} none differs from the rest beyond chance"
OFF = "{n:,} of {tested} {be} off by more than noise"
WITH_ALL_ROWS = ", each told with the error of all its rows"
IN_PART = "predictions from {low:.3g} to {high:.3g} are {way} by {size}, those of all its rows {side} by {shown}"

# Proved bounds.
PART_OFF = "off in a part of their range, on average {mean}"
UNTESTED = "{verdict}, and none can be tested: {why}"
NOT_WITHIN = "{n:,} {be} off by more than noise and not proved within"
LARGEST = "; the largest mean error that is proved is {least}, {name}"
NO_ERROR_PROVED = "{none}. At least half of these segments are so small that no error could have been proved."
NONE_BELOW = (
    "{none}. At least half of these segments are so small that an error below about {size} could not have been proved."
)

# Why trials, weights or groups are refused: sums by cell do not tell single rows.
TRIALS_COUNT_ONCE = "with trials every outcome counts once"
EVENT_RATES = "holds event rates; segments are found by events, so each must be 0 or 1"
SUMS_MIX_WEIGHTS = "may tell outcomes, and rows of so large a table are summed by cell, which does not say how"
_SUMMED = "cannot be searched by in a table of so many rows"
SUMS_HIDE_WEIGHTS = f"{_SUMMED}: sums by cell do not tell what single rows weigh"
SUMS_MIX_GROUPS = f"{_SUMMED}: they are summed by cell, which does not tell groups apart"

# Why a column makes no segments.
MISSING = "is missing in every row"
OUTCOME = "is the outcome itself, row by row; errors are to be explained without"
COPY = "holds the values of {argument}, row by row; errors are to be explained without"
OTHER_TYPE = "holds {type}; numbers, texts or truth values are needed"
CONSTANT = "has the same value in every row ({value})"
TOO_MANY_VALUES = "holds {n:,} different values, none of them in {rows:,} rows: group them into fewer, or leave it out"
NO_COLUMNS = "are missing: no column except outcomes and predictions can be used. {why}"

_NAMED = 3


def few_known_in_words(names: Sequence[str]) -> str:
    """Name segments with too few known outcomes, of several the first."""
    return f"too few outcomes are known to look at {_first(names)}"


def weightless_in_words(names: Sequence[str]) -> str:
    """Say in which segments no row has weight, of several the first."""
    return f"segments not looked at: {_first(names)}; {NO_WEIGHT_THERE}"


def explaining(n_listed: int, n_beyond: int) -> str:
    """Say that so many segments explain the others, where there are any."""
    return f"; {n_listed} of them explain{'s' * (n_listed == 1)} the others" if n_beyond > n_listed else ""


def be(number: int) -> str:
    """The verb of so many things."""
    return "is" if number == 1 else "are"


def _first(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
