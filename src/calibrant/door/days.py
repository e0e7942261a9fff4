"""Days as whole numbers in their order, which every engine can compute, and what spans of them are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray

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


def days_after(numbers: FloatArray) -> FloatArray:
    """The days that follow.

    >>> import numpy as np
    >>> days_after(np.array([day_number(2024, 2, 29)])) == day_number(2024, 3, 1)
    array([ True])
    """
    return numbers_of(np.array([_shown(each) for each in numbers], "datetime64[D]") + 1)


def days_singly(name: Any, days: FloatArray) -> list[str]:
    """Name the parts of a column of few days.

    >>> import numpy as np
    >>> days_singly("day", np.array([day_number(2024, 2, 29)]))
    ['day = 2024-02-29']
    """
    return [f"{name} = {_shown(day)}" for day in days]


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
    starts = [_month(first) if month else _shown(first) for (_, first), month in zip(pairs, months, strict=True)]
    ends = [
        _month(first - first % _MONTH - 1) if month else _shown(top)
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


def _shown(number: float) -> str:
    return f"{_month(int(number))}-{int(number) % _MONTH + 1:02d}"
