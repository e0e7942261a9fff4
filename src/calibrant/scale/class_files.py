"""Class probabilities in a file: a column for each class, named or guessed by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import FileError
from calibrant.scale import files as reader
from calibrant.scale.columns import USUAL_NAMES, asked_columns, choose_columns, listed, present, refuse_twins
from calibrant.scale.engine import connect

_NUMBERED = re.compile(r"(?P<stem>.*?)_?(?P<number>\d+)")
_STEMS = {"p", "prob", "probs", "proba", "probability", "y_prob", "y_score", "score", "class"}


@dataclass(frozen=True, slots=True, eq=False)
class ClassColumns:
    """Class probabilities read from a file.

    Attributes
    ----------
    y_true : ndarray of shape (n,)
        Labels as they stand in the file.
    y_prob : ndarray of shape (n, K)
        Class probabilities, not yet checked.
    sample_weight : ndarray of shape (n,) or None
        Weights.
    classes : tuple of int
        Label of each column: the numbers in their names, or 0 to K - 1 where they are named without.
    names : dict
        Argument -> column name; `y_prob` lists all.
    guessed : tuple of str
        Arguments whose columns were guessed.
    """

    y_true: npt.NDArray[np.float64]
    y_prob: npt.NDArray[np.float64]
    sample_weight: npt.NDArray[np.float64] | None
    classes: tuple[int, ...]
    names: dict[str, str]
    guessed: tuple[str, ...]


def class_columns(path: str, y_prob: str | None) -> list[str] | None:
    """Return the columns of class probabilities; None where there is one column of predictions.

    `y_prob` may list names with commas, or hold a pattern such as ``p*``; without it, columns whose names are a usual
    stem and consecutive numbers are taken (p0 ... p9), unless a column has a usual name of single predictions.

    Raises
    ------
    FileError
        If the file cannot be read, a pattern fits fewer than two columns, or it is not known which columns are meant:
        names that the reader does not tell apart, two of one number, or two stems with several columns.
    """
    files = reader.input_files(path)
    kind = reader._kind(path)
    connection = connect()
    with reader._explained(path, kind, files):
        held, twins = reader._names_held(connection, files, kind)
    columns = _asked(y_prob, held)
    for name in columns or ():
        refuse_twins(name, twins, "y_prob")
    if columns is not None and (y_prob is None or "," not in y_prob):
        _refuse_one_number(columns)
    return columns


def _asked(y_prob: str | None, held: Sequence[str]) -> list[str] | None:
    if y_prob is None:
        usual = USUAL_NAMES["y_prob"]
        return None if any(name.lower() in usual for name in held) else _numbered(held)
    if y_prob in held:
        return None
    if "," in y_prob:
        names = [present(name.strip(), held, "y_prob") for name in y_prob.split(",")]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise FileError("--y-prob", f"lists {twice[0]!r} twice; each class has a column of its own")
        return names
    if not any(mark in y_prob for mark in "*?["):
        return None
    found = [name for name in held if fnmatchcase(name, y_prob)]
    if len(found) < 2:
        raise FileError("--y-prob", f"the pattern {y_prob!r} fits {len(found)} columns; there are {listed(held)}")
    return sorted(found, key=_in_order)


def read_classes_file(
    path: str,
    columns: Sequence[str],
    *,
    y_true: str | None = None,
    sample_weight: str | None = None,
    unweighted: bool = False,
) -> ClassColumns:
    """Read labels and the given columns of class probabilities; weights as `read_file` does.

    Raises
    ------
    FileError
        If the file or a column cannot be read.
    """
    files = reader.input_files(path)
    kind = reader._kind(path)
    connection = connect()
    with reader._explained(path, kind, files):
        held, twins = reader._names_held(connection, files, kind)
    asked = asked_columns(y_true, columns[0], sample_weight, unweighted)
    chosen, guessed = choose_columns(asked, [name for name in held if name not in columns[1:]], twins)
    arguments = {f"y_prob_{i}": name for i, name in enumerate(columns)}
    names = {**{argument: name for argument, name in chosen.items() if argument != "y_prob"}, **arguments}
    with reader._explained(path, kind, files):
        arrays: dict[str, Any] = reader._fetch(reader._rows(connection, files, kind, names), names, kind, len(files))
    table = np.column_stack([arrays[argument] for argument in arguments])
    shown = {**chosen, "y_prob": f"{columns[0]} ... {columns[-1]}"}
    numbers = [_number(name) for name in columns]
    found = [number for number in numbers if number is not None]
    classes = tuple(found) if len(set(found)) == len(columns) else tuple(range(len(columns)))
    return ClassColumns(arrays["y_true"], table, arrays.get("sample_weight"), classes, shown, guessed)


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
        raise FileError("--y-prob", f"could be several of {every}; name those of one predictor")
    return families[0]


def _without_a_gap(names: Sequence[str]) -> bool:
    numbers = sorted({_number(name) or 0 for name in names})
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _refuse_one_number(names: Sequence[str]) -> None:
    """Raise if two columns, in order, have the number of one class."""
    for name, other in pairwise(names):
        if _number(name) is not None and _number(name) == _number(other):
            said = f"{name!r} and {other!r} have one number, and could be one class"
            raise FileError("--y-prob", f"{said}; list the columns to use, of {listed(names)}")


def _number(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return None if found is None else int(found["number"])


def _in_order(name: str) -> tuple[bool, int, str]:
    number = _number(name)
    return number is None, -1 if number is None else number, name
