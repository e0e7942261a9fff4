"""Which columns of a table are probabilities of classes: listed, by a pattern, or guessed by their numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from calibrant.door.errors import InputError
from calibrant.door.lists import in_list
from calibrant.scale.columns import USUAL_NAMES, listed, present, refuse_twins

_NUMBERED = re.compile(r"(?P<stem>.*?)_?(?P<number>\d+)")
_STEMS = {"p", "prob", "probs", "proba", "probability", "y_prob", "y_score", "score", "class"}


def choose_classes(y_prob: str | None, held: Sequence[str], twins: Mapping[str, list[str]]) -> list[str] | None:
    """Return the columns of class probabilities; None where there is one column of predictions.

    `y_prob` may list names with commas, or hold a pattern such as ``p*``; without it, columns whose names are a usual
    stem and consecutive numbers are taken (p0 ... p9), unless a column has a usual name of single predictions.

    Raises
    ------
    InputError
        If a pattern fits fewer than two columns, or it is not known which columns are meant: names that the reader does
        not tell apart, two of one number, or two stems with several columns.
    """
    columns = _asked(y_prob, held)
    for name in columns or ():
        refuse_twins(name, twins, "y_prob")
    if columns is not None and (y_prob is None or "," not in y_prob):
        _refuse_one_number(columns)
    return columns


def numbers_of(columns: Sequence[str]) -> tuple[int, ...]:
    """Label of each column: the numbers in their names, or 0 to K - 1 where one has none or shares it."""
    found = [number for number in map(_number, columns) if number is not None]
    return tuple(found) if len(set(found)) == len(columns) else tuple(range(len(columns)))


def _asked(y_prob: str | None, held: Sequence[str]) -> list[str] | None:
    if y_prob is None:
        usual = USUAL_NAMES["y_prob"]
        return None if any(name.lower() in usual for name in held) else _numbered(held)
    if y_prob in held:
        return None
    if "," in y_prob:
        names = [present(name.strip(), held, "y_prob") for name in in_list(y_prob)]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError("y_prob", f"lists {twice[0]!r} twice; each class has a column of its own")
        return names
    if not any(mark in y_prob for mark in "*?["):
        return None
    found = [name for name in held if fnmatchcase(name, y_prob)]
    if len(found) < 2:
        raise InputError("y_prob", f"the pattern {y_prob!r} fits {len(found)} columns; there are {listed(held)}")
    return sorted(found, key=_in_order)


def _numbered(held: Sequence[str]) -> list[str] | None:
    """Columns p0, p1, ... from 0 or 1 upwards without a gap, if one stem alone has several."""
    stems: dict[str, list[str]] = {}
    for name in held:
        found = _NUMBERED.fullmatch(name)
        if found is not None and found["stem"].lower() in _STEMS:
            stems.setdefault(found["stem"].lower(), []).append(name)
    several = [sorted(names, key=_in_order) for names in stems.values() if len(names) > 1]
    families = [names for names in several if _without_a_gap(names)]
    if not families:
        return None
    if len(several) > 1:
        every = listed([name for names in several for name in names])
        raise InputError("y_prob", f"could be several of {every}; name those of one predictor")
    return families[0]


def _without_a_gap(names: Sequence[str]) -> bool:
    numbers = sorted({_number(name) or 0 for name in names})
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _refuse_one_number(names: Sequence[str]) -> None:
    """Raise if two columns, in order, have the number of one class."""
    for name, other in pairwise(names):
        if _number(name) is not None and _number(name) == _number(other):
            said = f"{name!r} and {other!r} have one number, and could be one class"
            raise InputError("y_prob", f"{said}; list the columns to use, of {listed(names)}")


def _number(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return None if found is None else int(found["number"])


def _in_order(name: str) -> tuple[bool, int, str]:
    number = _number(name)
    return number is None, -1 if number is None else number, name
