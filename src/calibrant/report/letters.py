"""The reliability diagram in letters, for terminals: at most 16 lines of at most 60 columns."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.ends import confidence
from calibrant.findings.comparison import Comparison
from calibrant.findings.results import Audit
from calibrant.findings.words import rate
from calibrant.report.frame import heights, limits, place, probability

if TYPE_CHECKING:
    from calibrant.findings.reliability import Axis, Reliability

_ROWS = 10
_WIDEST, _NARROWEST = 60, 30


@dataclass(frozen=True, slots=True)
class Marks:
    """Characters to draw with."""

    curve: str
    band: str
    diagonal: str
    example: str
    side: str
    foot: str
    corner: str


UNICODE = Marks("●", "░", "·", "◎", "│", "─", "└")
ASCII = Marks("#", ":", ".", "@", "|", "-", "+")


def picture(finding: Audit | Comparison, width: int, marks: Marks) -> list[str]:
    """Return a finding's picture, no wider than `width`; no lines where that is too narrow to show anything."""
    return _of_one(finding, width, marks) if isinstance(finding, Audit) else _of_several(finding, width, marks)


def _of_one(audit: Audit, width: int, marks: Marks) -> list[str]:
    examples, table = audit.answer.examples, audit.reliability
    low, high = limits(audit)
    grid = Grid.of(width, table.axis, (low, high), heights(table, low, high, [each.estimate for each in examples]))
    if grid is None:
        return []
    legend = [f"{marks.curve} estimated rate"]
    if table.band_lower is not None and table.band_upper is not None:
        grid.between(table, marks.band)
        legend.append(f"{marks.band} {confidence(audit.level)} band")
    grid.diagonal(marks.diagonal)
    legend.append(f"{marks.diagonal} as predicted")
    grid.curve(table, marks.curve)
    for each in examples:
        grid.put(each.predicted, each.estimate, marks.example)
    if examples:
        legend.append(f"{marks.example} headline")
    return grid.lines(marks, legend)


def _of_several(comparison: Comparison, width: int, marks: Marks) -> list[str]:
    ends = [limits(audit) for audit in comparison.audits]
    low, high = min(each[0] for each in ends), max(each[1] for each in ends)
    tall = [heights(audit.reliability, low, high, []) for audit in comparison.audits]
    tables = [audit.reliability for audit in comparison.audits]
    axis = tables[0].axis if all(each.axis == tables[0].axis for each in tables) else "linear"
    grid = Grid.of(width, axis, (low, high), (min(each[0] for each in tall), max(each[1] for each in tall)))
    if grid is None:
        return []
    grid.diagonal(marks.diagonal)
    legend = []
    for k, (audit, name) in enumerate(zip(comparison.audits, comparison.names, strict=True)):
        letter = chr(ord("a") + k)
        grid.curve(audit.reliability, letter, several="*")
        legend.append(f"{letter} {textwrap.shorten(name, 24, placeholder='..')}")
    return grid.lines(marks, [*legend, "* several", f"{marks.diagonal} as predicted"])


class Grid:
    """Letters in rows and columns, over a range of predictions and one of outcomes."""

    def __init__(
        self, columns: int, axis: Axis, across: tuple[float, float], up: tuple[float, float], labels: list[str]
    ) -> None:
        self.axis, self.ends, self.labels = axis, across, labels
        self.across, self.up = (place(each, axis) for each in (across, up))
        self.columns = columns
        self.cells = [[" "] * columns for _ in range(_ROWS)]
        self.centres = self.across[0] + (np.arange(columns) + 0.5) * np.diff(self.across) / columns

    @classmethod
    def of(cls, width: int, axis: Axis, across: tuple[float, float], up: tuple[float, float]) -> Grid | None:
        """Return a grid that is `width` wide with its labels; None where that is too narrow."""
        bottom, top = max(0.0, up[0]), min(1.0, up[1])
        labels = _labels(bottom, top, axis)
        width = min(width, _WIDEST)
        return None if width < _NARROWEST else cls(width - len(labels[0]) - 1, axis, across, (bottom, top), labels)

    def row(self, outcome: float) -> int:
        """Row of an outcome, from the top; outside the grid where it is not shown."""
        if not np.isfinite(outcome):
            return -1
        at = float(np.clip(place([outcome], self.axis)[0], -1e3, 1e3))
        share = (at - self.up[0]) / max(self.up[1] - self.up[0], 1e-300)
        return _ROWS - 1 if share == 0.0 else _ROWS - int(np.ceil(share * _ROWS - 1e-9))

    def column(self, prediction: float) -> int:
        """Column of a prediction."""
        at = float(np.clip(place([prediction], self.axis)[0], -1e3, 1e3))
        share = (at - self.across[0]) / (self.across[1] - self.across[0])
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
        for centre in probability(self.centres, self.axis).tolist():
            self.put(centre, centre, mark)

    def curve(self, table: Reliability, mark: str, several: str | None = None) -> None:
        """Draw the curve's rates."""
        at = probability(self.centres, self.axis)
        for column, i in self._points(table):
            self.put(float(at[column]), float(table.outcome[i]), mark, several)

    def _points(self, table: Reliability) -> list[tuple[int, int]]:
        """Columns, and the point of the table that each of them shows."""
        if table.kind != "curve":
            places = [(self.column(float(v)), i) for i, v in enumerate(table.prediction)]
            return [(column, i) for column, i in places if column >= 0]
        at = place(table.prediction, self.axis)
        half = 0.5 * (self.across[1] - self.across[0]) / self.columns
        inside = np.flatnonzero((self.centres >= at[0] - half) & (self.centres <= at[-1] + half))
        return [(int(c), int(np.abs(at - self.centres[c]).argmin())) for c in inside]

    def lines(self, marks: Marks, legend: list[str]) -> list[str]:
        """The picture with its axes and its legend."""
        margin = len(self.labels[0])
        beside = {0: self.labels[0], _ROWS // 2: self.labels[1], _ROWS - 1: self.labels[2]}
        drawn = ["observed rate"]
        for k, row in enumerate(self.cells):
            drawn.append((f"{beside.get(k, ''):>{margin}}{marks.side}" + "".join(row)).rstrip())
        drawn.append(" " * margin + marks.corner + marks.foot * self.columns)
        low, _, high = _labels(*self.ends, self.axis)[::-1]
        low, high = low.strip(), high.strip()
        room = self.columns - len(low) - len(high)
        between = " prediction ".center(room) if room >= 12 else " " * max(room, 1)
        drawn.append(f"{' ' * (margin + 1)}{low}{between}{high}")
        return drawn + _in_lines(legend, margin + 1 + self.columns)


def _labels(bottom: float, top: float, axis: Axis) -> list[str]:
    """The upper end, the middle and the lower end, as wide as one another."""
    if axis == "log-odds":
        middle = float(probability(place([bottom, top], axis).mean(), axis))
        labels = [rate(each) for each in (top, middle, bottom)]
        return [f"{each:>{max(map(len, labels))}}" for each in labels]
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
