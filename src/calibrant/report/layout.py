"""Lines and tables of plain text, no wider than a page: words are kept whole where they fit, and nothing is cut off."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

_GAP = 2  # spaces after every column
_CONTROL = dict.fromkeys((7, 8, 11, 12, 13))  # bell, backspace and the like move a terminal's cursor


class Table:
    """Rows of texts under one another; the columns that are named `right` end at their right side."""

    def __init__(self, head: Sequence[str] = (), *, right: Sequence[int] = ()) -> None:
        self._head = [tuple(head)] if head else []
        self._rows: list[tuple[str, ...]] = []
        self._right = set(right)

    def add_row(self, *cells: str) -> None:
        """Add a row below the others."""
        self._rows.append(cells)

    def lines(self, width: int) -> list[str]:
        """The table in lines; where it is wider than `width`, its widest columns are wrapped."""
        columns = zip(*self._head, *self._rows, strict=True)
        natural = [max(max(map(_cells, cell.split("\n"))) for cell in column) + _GAP for column in columns]
        narrow = zip(natural, _narrowed(natural, width), strict=True)
        widths = [max(min(1, most - _GAP), each - _GAP) for most, each in narrow]
        cells = [
            [wrapped(cell, max(1, each)) for cell, each in zip(row, widths, strict=True)]
            for row in (*self._head, *self._rows)
        ]
        for column in cells[0] if self._head else ():  # a head stands right above its column
            column[:0] = [""] * (max(map(len, cells[0])) - len(column))
        return [self._line(line, widths) for row in cells for line in zip_longest(*row, fillvalue="")]

    def _line(self, parts: Sequence[str], widths: Sequence[int]) -> str:
        line = ""
        for k, (part, width) in enumerate(zip(parts, widths, strict=True)):
            pad = " " * (width - _cells(part))
            line += (pad + part if k in self._right else part + pad) + " " * _GAP
        return line.rstrip()


class Page:
    """Lines that are printed one after another."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines: list[str] = []

    def print(self, text: str | Table = "") -> None:
        """Add a text, wrapped, or a table; without either an empty line."""
        self._lines += wrapped(text, self.width) if isinstance(text, str) else text.lines(self.width)

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many columns; only a word that is wider than a line is broken."""
    return [line for each in text.translate(_CONTROL).expandtabs().split("\n") for line in _wrapped(each, width)]


def _wrapped(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in re.findall(r"\s*\S+\s*", text):
        if _cells(line) + _cells(word.rstrip()) <= width:
            line += word
            continue
        lines += [line] if line else []
        line = word
        while _cells(line.rstrip()) > width:
            most = next(k for k in range(len(line), 0, -1) if k == 1 or _cells(line[:k]) <= width)
            lines.append(line[:most])
            line = line[most:]
    return [each.rstrip() for each in (*lines, line)]


def _narrowed(widths: Sequence[int], most: int) -> list[int]:
    """Widths that add up to no more than `most`: the widest are taken down to the next, and so on."""
    widths = list(widths)
    while (excess := sum(widths) - most) > 0:
        widest = max(widths)
        step = widest - max((each for each in widths if each < widest), default=0)
        columns = [k for k, each in enumerate(widths) if each == widest]
        for left, k in zip(range(len(columns), 0, -1), columns, strict=True):
            by = min(step, round(excess / left))
            widths[k] -= by
            excess -= by
    return widths


def _cells(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(letter) for letter in text)


def _cells_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
