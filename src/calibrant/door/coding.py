"""Columns in cells: numbers cut at quantiles, categories by frequency, days in their order, missing by itself."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.values import counted

Kind = Literal["number", "category"]
Values = FloatArray | npt.NDArray[np.object_] | npt.NDArray[np.datetime64]
"""Numbers, NaN where a value is missing; categories, None where one is missing; or days, NaT where one is missing."""

_DIGITS = 17  # that tell any two doubles apart
_LONGEST = 60  # letters of a category
_MISSING = "(missing)"
_READ_OTHERWISE = re.compile(r"""^['"]|^\(missing\)$| and |, | = """)
"""Texts that look like a quotation, like no value, or like the next condition."""
MOST_CATEGORIES = 1_000
"""Categories of a column that are told apart, at most."""


@dataclass(frozen=True, slots=True)
class Coding:
    """Numbers from 0 for the values of a column."""

    kind: Kind  # what it holds
    # of numbers, where they are cut: the code is how many of these are smaller. Of categories those that have a code of
    # their own, in order; any other value has the next.
    known: tuple[Any, ...]
    missing: int  # the code of a row that has none

    def codes(self, values: Values) -> IntArray:
        """Code of each value."""
        if self.kind == "number":
            numbers = np.asarray(values, np.float64)
            return np.where(np.isnan(numbers), self.missing, np.searchsorted(np.array(self.known, np.float64), numbers))
        code = {value: at for at, value in enumerate(self.known)} | {None: self.missing}
        return np.array([code.get(each, len(self.known)) for each in values.tolist()], np.int64)


def ranks_of_cuts(n: int, n_bins: int) -> IntArray:
    """Ranks, from 0, of the numbers at which so many are cut into ranges."""
    return np.asarray(-(-n * np.arange(1, n_bins) // n_bins) - 1)


def tops_of_ranges(values: FloatArray, n_bins: int) -> FloatArray:
    """Largest number of each range but the last, of numbers in order; ranges hold about as many, ties together."""
    tops = np.unique(values[ranks_of_cuts(values.size, n_bins)])
    return np.asarray(tops[tops < values[-1]])


def cut_behind(tops: FloatArray, after: FloatArray, *, middle: bool = False) -> FloatArray:
    """Numbers of few digits from each of `tops` on, below those that follow there, `after`.

    They are near either, or near the middle, where more numbers are to come.
    """
    pairs = zip(tops.tolist(), after.tolist(), strict=True)
    return np.array([_shortest(low, high, ((low + high) / 2.0,) if middle else (low, high)) for low, high in pairs])


def _shortest(low: float, high: float, near: tuple[float, ...]) -> float:
    """The number of fewest digits from `low` on, below `high`, that one of some numbers is rounded to."""
    for digits in range(1, _DIGITS):
        for end in near:
            short = float(f"{end:.{digits}g}")
            if low <= short < high:
                return short
    return low


def singly(name: Any, values: FloatArray) -> list[str]:
    """Name the parts of a column of few numbers."""
    return [f"{name} = {_shown(each)}" for each in values]


def ranges(name: Any, cuts: FloatArray) -> list[str]:
    """Name the parts of a column of numbers that is cut at one number or more."""
    shown = [_shown(cut) for cut in cuts]
    between = [f"{low} < {name} <= {high}" for low, high in pairwise(shown)]
    return [f"{name} <= {shown[0]}", *between, f"{name} > {shown[-1]}"]


def _shown(value: Any) -> str:
    """The number in six digits, or in as many as tell it from its neighbours."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def by_frequency(values: Sequence[Any], counts: IntArray) -> list[int]:
    """Places of the values, the most frequent first."""
    return sorted(range(len(values)), key=lambda i: (-counts[i], str(values[i])))


def categories(name: Any, values: Sequence[Any]) -> list[str]:
    """Name the parts of a column of categories, each by its own name."""
    words = [word(value) for value in values]
    times = Counter(words)
    return [
        f"{name} = {each if times[each] == 1 else word(value, math.inf)}"
        for value, each in zip(values, words, strict=True)
    ]


def others(name: Any, rest: int) -> str:
    """Name values that are put together."""
    return f"{name} in {counted(rest, 'other value')}"


def pooled(features: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the features and labels of values that were put together, as `others` calls them."""
    return [
        label
        for name, labels in features.items()
        for label in labels
        if re.fullmatch(r"[\d,]+ other values?", label.removeprefix(f"{name} in "))
    ]


def key_in_words(key: Sequence[Any]) -> str:
    """Values of several columns."""
    return ", ".join(word(value, math.inf) for value in key)


def equalities(names: Sequence[str], key: Sequence[Any]) -> str:
    """Return the value of each column."""
    return ", ".join(f"{name} = {word(value, math.inf)}" for name, value in zip(names, key, strict=True))


def condition(name: Any, value: Any) -> str:
    """Return the name by `singly` and `categories` of a value, or of a missing one."""
    if value is None:
        return f"{name} is missing"
    number = isinstance(value, Real) and not isinstance(value, bool)
    return f"{name} = {_shown(value) if number else word(value)}"


def word(value: Any, longest: float = _LONGEST) -> str:
    """A value as it is read in a sentence, in quotes where it could be read as another, or as several conditions.

    >>> word("x"), word(" x"), word("a and b"), word(None), word("(missing)"), word(True)
    ('x', "' x'", "'a and b'", '(missing)', "'(missing)'", 'true')
    """
    if value is None:
        return _MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    shown = text if len(text) <= longest else f"{text[: _LONGEST - 3]}..."
    plain = shown and shown == shown.strip() and shown.isprintable() and not _READ_OTHERWISE.search(shown)
    return shown if plain else repr(shown)


def cell_of(codes: Sequence[IntArray], sizes: Sequence[int], n: int) -> IntArray:
    """Number of each row's combination of values, of `n` rows and columns of so many values."""
    cell = np.zeros(n, np.int64)
    for code, size in zip(codes, sizes, strict=True):
        cell *= size
        cell += code
    return cell


_MONTH, _YEAR = 31, 372  # numbers that a month and a year take; not all are days


def day_number(year: Any, month: Any, day: Any) -> Any:
    """The number of a day, of numbers, arrays or an engine's columns."""
    return year * _YEAR + (month - 1) * _MONTH + (day - 1)


def numbers_of(days: npt.NDArray[Any]) -> FloatArray:
    """Days of NumPy as such numbers, NaN where there is none.

    >>> import numpy as np
    >>> numbers_of(np.array(["2024-02-29", "2024-03-01", "NaT"], "datetime64[D]"))
    array([752987., 752990.,     nan])
    """
    mask = ~np.isnat(days)
    year, month = days[mask].astype("datetime64[Y]"), days[mask].astype("datetime64[M]")
    numbers = np.full(days.shape, np.nan)
    numbers[mask] = day_number(
        year.astype(np.int64) + 1970, (month - year).astype(np.int64) + 1, (days[mask] - month).astype(np.int64) + 1
    )
    return numbers


def days_after(values: FloatArray) -> FloatArray:
    """The days that follow.

    >>> import numpy as np
    >>> days_after(np.array([day_number(2024, 2, 29)])) == day_number(2024, 3, 1)
    array([ True])
    """
    return numbers_of(np.array([_shown_day(each) for each in values], "datetime64[D]") + 1)


def days_singly(name: Any, days: FloatArray) -> list[str]:
    """Name the parts of a column of few days.

    >>> import numpy as np
    >>> days_singly("day", np.array([day_number(2024, 2, 29)]))
    ['day = 2024-02-29']
    """
    return [f"{name} = {_shown_day(day)}" for day in days]


def spans(name: Any, tops: FloatArray, after: FloatArray) -> list[str]:
    """Name the parts of a column of days that end with `tops`; `after` are the days that follow there.

    Where a month begins between the two, the month is named.

    >>> import numpy as np
    >>> tops, after = ([day_number(2024, *each) for each in pair] for pair in ([(3, 9), (8, 1)], [(3, 10), (9, 1)]))
    >>> spans("day", np.array(tops), np.array(after))
    ['day before 2024-03-10', 'day from 2024-03-10 to 2024-08', 'day from 2024-09 on']
    """
    pairs = list(zip(map(int, tops), map(int, after), strict=True))
    months = [first - first % _MONTH > top for top, first in pairs]
    starts = [_month(first) if month else _shown_day(first) for (_, first), month in zip(pairs, months, strict=True)]
    ends = [
        _month(first - first % _MONTH - 1) if month else _shown_day(top)
        for (top, first), month in zip(pairs, months, strict=True)
    ]
    between = [
        f"{name} {'in' if start == end else 'from'} {start}{'' if start == end else f' to {end}'}"
        for start, end in zip(starts, ends[1:], strict=False)
    ]
    return [f"{name} before {starts[0]}", *between, f"{name} from {starts[-1]} on"]


def _month(number: int) -> str:
    year, rest = divmod(number, _YEAR)
    return f"{year:04d}-{rest // _MONTH + 1:02d}"


def _shown_day(day: float) -> str:
    return f"{_month(int(day))}-{int(day) % _MONTH + 1:02d}"
