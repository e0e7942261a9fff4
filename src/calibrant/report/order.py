"""The order in which a reader looks for categories: numbers by size, dates in time, steps of a scale from the first."""

from __future__ import annotations

import re
from collections.abc import Sequence

Key = tuple[float, ...]

_SCALES = (
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    (
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
    ),
    ("false", "true"),
    ("no", "yes"),
    ("none", "very low", "low", "medium", "high", "very high"),
    ("tiny", "small", "medium", "large", "huge"),
    ("xxs", "xs", "s", "m", "l", "xl", "xxl"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
)
_SHORTENED = 2  # of the scales: their words may be cut short, as in "Thu", "Thurs" and "Sept."
_LEAST_LETTERS = 3
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|\u2013|to)\s*({_NUMBER})")
_BEYOND = re.compile(rf"(<=?|\u2264|under|>=?|\u2265|over)\s*({_NUMBER})|({_NUMBER})\s*(\+)")
_SUFFIX = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


def natural_order(values: Sequence[str]) -> list[int] | None:
    """Places of the values in their natural order; None where they have none that can be told from their text."""
    said = [value.strip().lower() for value in values]
    for keys_of in (_numbers, _steps, _parts, _ranges):
        keys = keys_of(said)
        if keys is not None and len(set(keys)) == len(keys):
            return sorted(range(len(keys)), key=keys.__getitem__)
    return None


def _numbers(values: list[str]) -> list[Key] | None:
    return [(float(each),) for each in values] if all(re.fullmatch(_NUMBER, each) for each in values) else None


def _steps(values: list[str]) -> list[Key] | None:
    """Places on one of the scales that have all of these words."""
    for at, scale in enumerate(_SCALES):
        steps: dict[str, Key] = {word: (float(place),) for place, word in enumerate(scale)}
        if at < _SHORTENED:
            shorter = range(_LEAST_LETTERS, max(map(len, scale)))
            steps |= {word[:n]: step for word, step in steps.items() for n in shorter}
        words = [each.removesuffix(".") for each in values]
        if all(each in steps for each in words):
            return [steps[each] for each in words]
    return None


def _parts(values: list[str]) -> list[Key] | None:
    """Whole numbers within words that are the same in all values: dates, times, quarters, "week 3", "2nd"."""
    values = [_SUFFIX.sub("", each) for each in values]
    if len({re.sub(r"\d+", "0", each) for each in values}) != 1:
        return None
    texts = [re.findall(r"\d+", each) for each in values]
    numbers = [tuple(float(each) for each in text) for text in texts]
    years_last = all(len(text) > 1 and len(text[-1]) == 4 and len(text[0]) < 4 for text in texts)
    if not numbers[0] or not years_last:
        return numbers if numbers[0] else None
    if len(numbers[0]) == 2:
        return [(year, part) for part, year in numbers]
    if len(numbers[0]) > 3:
        return None
    firsts, seconds, _ = (max(column) for column in zip(*numbers, strict=True))
    if firsts > 12.0 or "." in values[0]:
        return [(year, month, day) for day, month, year in numbers]
    return [(year, month, day) for month, day, year in numbers] if seconds > 12.0 else None


def _ranges(values: list[str]) -> list[Key] | None:
    """Ranges of numbers, and what lies below or beyond them: "<18", "18-24", "65+"."""
    keys: list[Key] = []
    for value in values:
        if found := _RANGE.fullmatch(value):
            keys.append((float(found[1]), 0.0))
        elif found := _BEYOND.fullmatch(value):
            below = (found[1] or "+")[0] in "<\u2264u"
            keys.append((float(found[2] or found[3]), -1.0 if below else 1.0))
        elif re.fullmatch(_NUMBER, value):
            keys.append((float(value), 0.0))
        else:
            return None
    return keys
