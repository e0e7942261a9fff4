"""The reliability diagram in letters, for terminals: at most 16 lines of at most 60 columns."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.ends import confidence
from calibrant.findings.comparison import Comparison
from calibrant.findings.results import Audit
from calibrant.report.frame import heavy, heights, limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from calibrant.findings.reliability import Reliability

_ROWS = 10
_WIDEST, _NARROWEST = 60, 30
_FEW = 0.5  # on the scale of `heavy`: where rows are fewer the curve's mark is a lighter one


@dataclass(frozen=True, slots=True)
class Marks:
    """Characters to draw with."""

    many: str
    few: str
    band: str
    diagonal: str
    example: str
    side: str
    foot: str
    corner: str


UNICODE = Marks("●", "○", "░", "·", "◎", "│", "─", "└")
ASCII = Marks("#", "o", ":", ".", "@", "|", "-", "+")


def picture(finding: Audit | Comparison, width: int, marks: Marks) -> list[str]:
    """Return a finding's picture, no wider than `width`; no lines where that is too narrow to show anything."""
    return _of_one(finding, width, marks) if isinstance(finding, Audit) else _of_several(finding, width, marks)


def _of_one(audit: Audit, width: int, marks: Marks) -> list[str]:
    examples, table = audit.answer.examples, audit.reliability
    low, high = limits(audit, examples)
    grid = Grid.of(width, (low, high), heights(table, low, high, [each.happened for each in examples]))
    if grid is None:
        return []
    legend = [f"{marks.many} observed"]
    if table.band_lower is not None and table.band_upper is not None:
        grid.between(table, marks.band)
        legend.append(f"{marks.band} if calibrated ({confidence(audit.level)})")
    grid.diagonal(marks.diagonal)
    legend.append(f"{marks.diagonal} as predicted")
    weight = heavy(table) if table.kind == "curve" else np.ones(table.prediction.size)
    if grid.curve(table, lambda i: marks.many if weight[i] >= _FEW else marks.few, marks.few):
        legend.insert(1, f"{marks.few} few rows")
    for each in examples:
        grid.put(each.predicted, each.happened, marks.example)
    if examples:
        legend.append(f"{marks.example} headline")
    return grid.lines(marks, legend)


def _of_several(comparison: Comparison, width: int, marks: Marks) -> list[str]:
    ends = [limits(audit) for audit in comparison.audits]
    low, high = min(each[0] for each in ends), max(each[1] for each in ends)
    tall = [heights(audit.reliability, low, high, []) for audit in comparison.audits]
    grid = Grid.of(width, (low, high), (min(each[0] for each in tall), max(each[1] for each in tall)))
    if grid is None:
        return []
    grid.diagonal(marks.diagonal)
    legend = []
    for k, (audit, name) in enumerate(zip(comparison.audits, comparison.names, strict=True)):
        letter = chr(ord("a") + k)
        grid.curve(audit.reliability, lambda _, letter=letter: letter, several="*")  # type: ignore[misc]
        legend.append(f"{letter} {textwrap.shorten(name, 24, placeholder='..')}")
    return grid.lines(marks, [*legend, "* several", f"{marks.diagonal} as predicted"])


class Grid:
    """Letters in rows and columns, over a range of predictions and one of outcomes."""

    def __init__(self, columns: int, across: tuple[float, float], up: tuple[float, float], labels: list[str]) -> None:
        self.across, self.up, self.labels = across, up, labels
        self.columns = columns
        self.cells = [[" "] * columns for _ in range(_ROWS)]
        self.centres = across[0] + (np.arange(columns) + 0.5) * (across[1] - across[0]) / columns

    @classmethod
    def of(cls, width: int, across: tuple[float, float], up: tuple[float, float]) -> Grid | None:
        """Return a grid that is `width` wide with its labels; None where that is too narrow."""
        bottom, top = max(0.0, up[0]), min(1.0, up[1])
        labels = _labels(bottom, top)
        width = min(width, _WIDEST)
        return None if width < _NARROWEST else cls(width - len(labels[0]) - 1, across, (bottom, top), labels)

    def row(self, outcome: float) -> int:
        """Row of an outcome, from the top; outside the grid where it is not shown."""
        if not np.isfinite(outcome):
            return -1
        share = (outcome - self.up[0]) / max(self.up[1] - self.up[0], 1e-300)
        return _ROWS - 1 if share == 0.0 else _ROWS - int(np.ceil(share * _ROWS - 1e-9))

    def column(self, prediction: float) -> int:
        """Column of a prediction."""
        share = (prediction - self.across[0]) / (self.across[1] - self.across[0])
        return min(self.columns - 1, int(share * self.columns)) if 0.0 <= share <= 1.0 else -1

    def put(self, prediction: float, outcome: float, mark: str, several: str | None = None) -> None:
        """Draw a mark; on another letter's place `several` stands for both."""
        row, column = self.row(outcome), self.column(prediction)
        if 0 <= row < _ROWS and column >= 0:
            both = several is not None and self.cells[row][column].isalpha()
            self.cells[row][column] = several if both and several is not None else mark

    def between(self, table: Reliability, mark: str) -> None:
        """Draw the band: wherever it covers the middle of a cell, and at each of few predictions at least one cell."""
        if table.band_lower is None or table.band_upper is None:
            return
        for column, i in self._points(table):
            first, last = self.row(table.band_upper[i]), self.row(table.band_lower[i])
            if first >= 0 or last >= 0:
                for row in range(max(first, 0), min(last, _ROWS - 1) + 1):
                    self.cells[row][column] = mark

    def diagonal(self, mark: str) -> None:
        """Draw where outcomes would be as predicted."""
        for centre in self.centres:
            self.put(float(centre), float(centre), mark)

    def curve(self, table: Reliability, mark: Callable[[int], str], few: str = "", several: str | None = None) -> bool:
        """Draw the observed rates, and return whether the mark for few rows was used."""
        used = False
        for column, i in self._points(table):
            letter = mark(i)
            used |= letter == few and np.isfinite(table.outcome[i])
            self.put(float(self.centres[column]), float(table.outcome[i]), letter, several)
        return bool(used)

    def _points(self, table: Reliability) -> list[tuple[int, int]]:
        """Columns, and the point of the table that each of them shows."""
        if table.kind != "curve":
            places = [(self.column(float(v)), i) for i, v in enumerate(table.prediction)]
            return [(column, i) for column, i in places if column >= 0]
        step = float(table.prediction[1] - table.prediction[0])
        near = np.rint((self.centres - table.prediction[0]) / step).astype(int)
        half = 0.5 * (self.across[1] - self.across[0]) / self.columns
        inside = (self.centres >= table.prediction[0] - half) & (self.centres <= table.prediction[-1] + half)
        return [(int(c), int(np.clip(near[c], 0, table.prediction.size - 1))) for c in np.flatnonzero(inside)]

    def lines(self, marks: Marks, legend: list[str]) -> list[str]:
        """The picture with its axes and its legend."""
        margin = len(self.labels[0])
        beside = {0: self.labels[0], _ROWS // 2: self.labels[1], _ROWS - 1: self.labels[2]}
        drawn = ["observed rate"]
        for k, row in enumerate(self.cells):
            drawn.append((f"{beside.get(k, ''):>{margin}}{marks.side}" + "".join(row)).rstrip())
        drawn.append(" " * margin + marks.corner + marks.foot * self.columns)
        low, _, high = _labels(*self.across)[::-1]
        between = " prediction ".center(max(12, self.columns - len(low.strip()) - len(high.strip())))
        drawn.append(f"{' ' * (margin + 1)}{low.strip()}{between}{high.strip()}".rstrip())
        return drawn + _in_lines(legend, margin + 1 + self.columns)


def _labels(bottom: float, top: float) -> list[str]:
    """The upper end, the middle and the lower end, as wide as one another."""
    digits = 1 - int(np.floor(np.log10(top - bottom)))
    labels = [f"{value:.{digits}f}" for value in (top, 0.5 * (top + bottom), bottom)]
    return [f"{each:>{max(map(len, labels))}}" for each in labels]


def _in_lines(parts: list[str], width: int) -> list[str]:
    """The parts of a legend, as many to a line as fit; none is broken."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}   {part}" if lines[-1] else part
        if len(longer) > width and lines[-1]:
            lines.append(part[:width])
        else:
            lines[-1] = longer[:width]
    return lines
