"""The order of periods in time: as they sort, or, for texts, as their numbers and dates say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from calibrant.door.errors import InputError

_WHOLE = re.compile(r"([+-]?\d+)(\.0*)?")
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(19|20|21)\d\d")
# Words before a number that count forwards, and no sign that could be a minus: "t-1" comes after "t-2". Any other text,
# and any behind the number, may turn the order round: "lag 1", "9 days ago".
_UNIT = "(years?|fy|quarters?|q|months?|m|weeks?|wk|w|days?|d|hours?|h|minutes?|min|periods?|epochs?|rounds?|batch)"
_BEFORE = re.compile(rf"\s*{_UNIT}[\s_.#]*", re.IGNORECASE)
_BEFORE_YEAR = re.compile(rf"\s*({_UNIT}[\s_.]*)?", re.IGNORECASE)
_BETWEEN = re.compile(rf"([-/.:_T]|,?\s*)({_UNIT}[\s_]?)?", re.IGNORECASE)


def in_order(keys: Sequence[Any]) -> list[Any]:
    """Distinct periods in the order of time.

    Numbers and dates sort as they are. Texts do if all are whole numbers, ISO dates or times, one unit of time with one
    number behind it ("day 9"), or numbers from a year downwards in one pattern ("2026-W9").

    Raises
    ------
    InputError
        If the order is not known, or two texts are the same period.
    """
    if len(keys) < 2:
        return list(keys)
    if not any(isinstance(key, str | bytes) for key in keys):
        try:
            return sorted(keys)
        except TypeError:
            raise _unknown([str(key) for key in keys]) from None
    if not all(isinstance(key, str) for key in keys):
        raise _unknown([str(key) for key in keys])
    ranks = _whole_numbers(keys) or _iso(keys) or _numbers_in_a_pattern(keys)
    if ranks is None:
        raise _unknown(sorted(keys))
    ordered = sorted(zip(ranks, keys, strict=True))
    for (rank, key), (after, other) in pairwise(ordered):
        if rank == after:
            raise InputError("by", f"holds {key!r:.40} and {other!r:.40}, two ways to write one period; use one")
    return [key for _, key in ordered]


def _whole_numbers(texts: Sequence[str]) -> list[Any] | None:
    found = [_WHOLE.fullmatch(text.strip()) for text in texts]
    return None if None in found else [int(match[1]) for match in found if match]


def _iso(texts: Sequence[str]) -> list[Any] | None:
    try:
        times = [datetime.fromisoformat(text.strip()) for text in texts]
    except ValueError:
        return None
    zones = {time.tzinfo is not None for time in times}
    return times if len(zones) == 1 else None


def _numbers_in_a_pattern(texts: Sequence[str]) -> list[Any] | None:
    numbers = [_NUMBER.findall(text) for text in texts]
    between = _NUMBER.split(texts[0])
    if any(_NUMBER.split(text) != between for text in texts):
        return None
    first, *inner, last = between  # two distinct texts of one pattern hold a number
    if last.strip():
        return None
    if not inner:
        return [int(only) for (only,) in numbers] if _BEFORE.fullmatch(first) else None
    if not all(_YEAR.fullmatch(found[0]) for found in numbers):
        return None
    if not _BEFORE_YEAR.fullmatch(first) or not all(_BETWEEN.fullmatch(piece) for piece in inner):
        return None
    # "2026.5" may be May or the middle of the year; an offset from UTC at the end is no part of the order.
    fraction = between == ["", ".", ""] and len({len(found[1]) for found in numbers}) > 1
    offset = ":" in inner and "-" in inner[inner.index(":") :]
    return None if fraction or offset else [tuple(map(int, found)) for found in numbers]


def _unknown(texts: Sequence[str]) -> InputError:
    strangest = sorted(texts, key=lambda text: _WHOLE.fullmatch(text.strip()) is not None)
    shown = ", ".join(f"{text!r:.40}" for text in strangest[:3])
    return InputError("by", f"the order in time of {shown} is not known; use dates such as '2026-01-31', or numbers")
