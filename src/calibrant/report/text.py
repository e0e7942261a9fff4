"""The audit as one page of plain text, and the reliability diagram in letters: 16 lines of at most 60 columns."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.ends import at_least, confidence, outwards
from calibrant.door.values import counted, known_rows
from calibrant.findings import word_catalogue as say
from calibrant.findings.action_catalogue import code, what_to_do
from calibrant.findings.catalogue import sentences, standing
from calibrant.findings.decision import has_draws, rejected
from calibrant.findings.results import Audit
from calibrant.inference.bounds.gate import proved_by
from calibrant.report.frame import heights, limits, place, probability

if TYPE_CHECKING:
    from calibrant.drift.periods import Period
    from calibrant.findings.advice import Advice
    from calibrant.findings.classes import ClassFindings, Question
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.reliability import Axis, Reliability
    from calibrant.segments.by_column import Segment


_WIDTH = 80
_SHOWN = 20  # segments or periods
_MOST_CLASSES = 20


def page(
    finding: Audit | Comparison, width: int = _WIDTH, marks: Marks | None = None, *, everything: bool = True
) -> str:
    """Return a finding's page, so many columns wide, without colours; with a picture where there are marks for it.

    Without `everything` the measures, the tests, the ranges and the inequalities are left out.
    """
    console = Page(width)
    picture_lines = [] if marks is None else picture(finding, width, marks)
    if isinstance(finding, Audit):
        _of_audit(finding, console, picture_lines, everything=everything)
    else:
        _of_comparison(finding, console, picture_lines)
    return console.text()


def short(finding: Audit | Comparison) -> str:
    """Return the answer in about ten lines: what `print` shows."""
    if isinstance(finding, Audit):
        lines = [finding.sentences[0], *finding.answer.details, standing(finding), facts(finding)]
    else:
        lines = [finding.sentence]
        lines += [f"{name}: {a.sentences[0]}" for name, a in zip(finding.names, finding.audits, strict=True)]
    return "\n".join(line for each in lines for line in textwrap.wrap(each, _WIDTH, break_on_hyphens=False))


def _of_audit(audit: Audit, console: Page, pictures: Sequence[str], *, everything: bool) -> None:
    title = f"Calibration of {audit.title}" if audit.title else "Calibration"
    _say(console, title)
    console.print("=" * min(console.width, len(title)))
    console.print()
    first = [audit.sentences[0], *audit.answer.details, standing(audit)]
    for each in first:
        _say(console, each)
    _draw(console, pictures)
    console.print()
    _say(console, facts(audit))
    for each in audit.sentences[len(first) :]:
        _say(console, each)

    if everything:
        _numbers(audit, console)
    if everything or code(audit.answer, audit) is not None:
        _what_to_do(audit, console, everything=everything)
    if audit.cost_of_acting is not None and audit.answer.state == "worth correcting" and everything:
        _heading(console, "What acting costs")
        _say(console, audit.cost_of_acting.summary())
    _parts(audit, console)
    _premises(console, audit.premises.beside("independence", "perhaps_sampled", "trials_vary", *audit.hints))
    if everything:
        _agreement(audit, console)
    else:
        _foot(console, say.ALL_SHOWS)
    if audit.seed is not None and has_draws(audit):  # else no seed is taken
        _foot(console, say.repeats(audit.seed))


def _numbers(audit: Audit, console: Page) -> None:
    """Measures, ranges and tests."""
    _heading(console, "Measures")
    table = Table(right=[0])
    for measure in audit.measures.values():
        means = measure.not_computed or measure.sentence
        table.add_row(measure.shown, f"{measure.title}{_settings(measure.parameters)}. {means}")
    console.print(table)

    _heading(console, say.WHERE_IT_ERRS)
    if not audit.regions:
        console.print(say.NO_REGION)
    for region in audit.regions:
        _say(console, f"- {region.summary()}", indent="  ")

    _heading(console, "Is it real?")
    for line in (f"{test.title}: {beside_the_answer(test.summary(), audit)}" for test in audit.tests.values()):
        _say(console, f"- {line}", indent="  ")
    if audit.group_line is not None:
        _say(console, f"- Level and slope: {audit.group_line.both}", indent="  ")
    for line in reality(audit):
        _say(console, f"- {line}", indent="  ")


def _what_to_do(audit: Audit, console: Page, *, everything: bool) -> None:
    """The advice and its code; where the first lines have said what to do, the code alone."""
    _heading(console, "What to do" if everything else "How to do it")
    if everything:
        _say(console, what_to_do(audit.answer, audit))
    if audit.advice.scores and everything:
        console.print(_methods(audit.advice))
    _code(console, audit)


def _code(console: Page, audit: Audit) -> None:
    """The lines of Python that do what is advised."""
    lines = code(audit.answer, audit)
    if lines:
        console.print()
        console.verbatim(f"    {line}" for line in lines.splitlines())


def _parts(audit: Audit, console: Page) -> None:
    """Segments, periods and classes."""
    if audit.segments:
        _heading(console, f"Segments by {', '.join(audit.segmented_by)}")
        _say(console, say.segments_sorted(audit.level, chance=audit.segments_tested))
        if audit.segments_tested:
            _say(console, say.segment_intervals(audit.level))
        for segment in audit.segments[:_SHOWN]:
            _say(console, f"- {_segment(segment, chance=audit.segments_tested)}", indent="  ")
    if audit.found_segments is not None:
        _heading(console, f"Segments found in {', '.join(audit.found_segments.features)}")
        for line in audit.found_segments.summary().splitlines():
            _say(console, line, indent="  ")
    if audit.periods:
        _heading(console, "Drift")
        _say(console, say.periods_in_words(audit.periods))
        if len(audit.periods) > _SHOWN:
            every = -(-len(audit.periods) // _SHOWN)
            console.print(say.SOME_PERIODS.format(n=len(audit.periods), every=every))
        console.print(_periods(audit.periods))

    if audit.classes is not None:
        _heading(console, f"All {audit.classes.n_classes} classes")
        for test in audit.classes.tests.values():
            _say(console, f"- {test.title}: {test.summary()}", indent="  ")
        console.print(_questions(audit.classes))
        left = len(audit.classes.questions) - len(shown_first(audit.classes))
        if left > 0:
            console.print(say.MORE_CLASSES.format(classes=counted(left, "class is", "classes are")))
        for pair in audit.classes.confusions[: _MOST_CLASSES // 4]:
            _say(console, f"- {pair.summary()} (q = {pair.qvalue:.2g})", indent="  ")


def _agreement(audit: Audit, console: Page) -> None:
    """The inequalities between the measures."""
    n_hold, n = sum(inequality.holds for inequality in audit.ties.inequalities), len(audit.ties.inequalities)
    _heading(console, say.AGREEMENT)
    _say(console, say.INEQUALITIES.format(n_hold=n_hold, n=n))
    for inequality in audit.violations:
        values = f"{say.number(inequality.left_value)} <= {say.number(inequality.right_value)}"
        _say(console, f"FAILS  {values}  {inequality.words}", indent=" " * 7)


def _of_comparison(comparison: Comparison, console: Page, pictures: Sequence[str]) -> None:
    from calibrant.findings.comparison import uses_seed

    for line in (comparison.headline, *comparison.details):
        _say(console, line)
    _draw(console, pictures)
    console.print()
    table = Table(("", *comparison.names), right=range(1, 1 + len(comparison.names)))
    for row in comparison.facts():
        table.add_row(*row)
    console.print(table)
    for name, audit in zip(comparison.names, comparison.audits, strict=True):
        _heading(console, name)
        for line in sentences(audit, alone=False):
            _say(console, line)
        _code(console, audit)
    _premises(console, comparison.premises)
    if comparison.seed is not None and uses_seed(comparison):
        _foot(console, say.repeats(comparison.seed))


def _segment(segment: Segment, chance: bool) -> str:
    distance = say.proved(*segment.lower_distance_bracket)[0]
    if not chance or segment.bias_interval is None:
        name, rows = say.segment_name(segment), known_rows(segment.n_rows, segment.n_unknown)
        why_not = f"; {say.NOT_TESTED}" if chance else ""
        return f"{name}: distance {distance}, {rows}; outcome minus prediction {segment.bias:+.4f}{why_not}"
    rows = known_rows(segment.n_rows, segment.n_unknown)
    where = f", {say.segment_in_words(segment)}" if segment.reject else ""
    least, most = outwards(*segment.bias_interval, signed=True)
    return (
        f"{say.segment_name(segment)}: distance {distance}, {rows}, q = {segment.qvalue:.2g}"
        f"{where}; outcome minus prediction {segment.bias:+.4f} [{least}, {most}]"
    )


def some_periods(periods: Sequence[Period]) -> list[Period]:
    """Some twenty of many, the last of every few, and the first with enough evidence."""
    step = max(1, -(-len(periods) // _SHOWN))
    alarm = next((i for i, period in enumerate(periods) if period.reading.reject), None)
    return [periods[i] for i in sorted({*range(step - 1, len(periods), step), *(() if alarm is None else (alarm,))})]


def _periods(periods: Sequence[Period]) -> Table:
    table = Table(("period", "rows", "rate", "predicted", "evidence so far"), right=range(1, 5))
    for period in some_periods(periods):
        mark = ", enough" if say.enough(period.reading) else ""
        rates = map(say.percent, (period.base_rate, period.mean_prediction))
        evidence = at_least(period.reading.evalue, 3)
        table.add_row(str(period.period), say.whole(period.n_rows), *rates, f"{evidence}{mark}")
    return table


def _methods(advice: Advice) -> Table:
    table = Table(("cross-fitted", "distance", "Brier", "log"), right=range(1, 4))
    for score in advice.scores:
        mark = " <- chosen" if score.method == advice.chosen else ""
        name = score.method.replace("_", " ") + mark
        table.add_row(name, say.number(score.lower_calibration_distance), f"{score.brier:.4f}", f"{score.log:.4f}")
    return table


def shown_first(classes: ClassFindings) -> list[Question]:
    """The questions of the top labels, then all of few classes; of many those with the smallest p-values."""
    top = list(classes.questions[: -classes.n_classes])
    if classes.n_classes <= _MOST_CLASSES:
        return [*top, *classes.class_wise]
    return [*top, *sorted(classes.class_wise, key=lambda each: each.pvalue)[:_MOST_CLASSES]]


def _questions(classes: ClassFindings) -> Table:
    table = Table(("question", "distance", "smooth", "rate", "predicted", "p", "q"), right=range(1, 7))
    for each in shown_first(classes):
        q = "" if each.qvalue is None else f"{each.qvalue:.2g}"
        table.add_row(
            each.name,
            say.number(each.lower_calibration_distance),
            say.number(each.smooth_calibration_error),
            say.rate(each.rate),
            say.rate(each.mean_prediction),
            f"{each.pvalue:.2g}",
            q,
        )
    return table


def beside_the_answer(tested: str, audit: Audit) -> str:
    """Drop a test's first word where only a few rounded 0s and 1s bear it: they decide nothing."""
    test = audit.tests["calibration_test"].result
    return tested if test is None or rejected(test, audit.gate) else tested.removeprefix("miscalibrated: ")


def reality(audit: Audit) -> list[str]:
    """Sentences of the bounds and the band."""
    sentences = [say.sentence(proved_by(audit.gate, alone=True))] if audit.gate else []
    if audit.reliability.no_band is not None and not audit.rates:
        sentences.append(f"There is no band: {audit.reliability.no_band}.")
    return sentences


def facts(audit: Audit) -> str:
    """Facts about the rows, in a sentence."""
    unknown = 0 if audit.followed is None else audit.followed.n_unknown
    rows = known_rows(audit.n_rows, unknown) if unknown else counted(audit.n_rows, say.unit(trials=audit.trials))
    # How many rows weights are worth is a matter of chance, which needs the trials behind event rates.
    equal = audit.rates or not audit.weighted
    worth = "" if equal else f" (as good as {say.whole(audit.effective_rows)} equal rows)"
    weights = f", weighted{worth}" if audit.weighted else ""
    if audit.sampling_fractions is not None:
        without, events = audit.sampling_fractions
        kept = say.SAMPLED.format(without=without, events=events)
        seen = "" if audit.fractions_given else ", as the weights say"
        weights = f", sampled by outcome{worth}: {kept}{seen}"
    top, means = "", f"base rate {say.rate(audit.base_rate)}, mean prediction {say.rate(audit.mean_prediction)}"
    if audit.classes is not None:
        classes = counted(audit.classes.n_classes, "class", "classes")
        top = say.OF_TOP_LABEL.format(classes=classes)
        means = say.TOP_RATES.format(right=say.rate(audit.base_rate), mean=say.rate(audit.mean_prediction))
    values = counted(audit.n_distinct, "distinct prediction")
    if audit.n_cells is not None:
        values = f"pooled into {counted(audit.n_cells, 'cell')} of predictions"
    were = "was" if audit.n_excluded == 1 else "were"
    left_out = f" {counted(audit.n_excluded, 'bad row')} {were} left out." if audit.n_excluded else ""
    unweighted = " Weights were left out (unweighted)." if audit.unweighted else ""
    return f"{top}{rows}{_in_groups(audit)}, {values}{weights}; {means}.{left_out}{unweighted}"


def _in_groups(audit: Audit) -> str:
    if audit.n_groups is None and "groups" in audit.columns:
        return f", each with its own {audit.columns['groups']}"
    if audit.n_groups is None:
        return ""
    name = audit.columns.get("groups")
    known = "," if audit.followed is not None and audit.followed.n_unknown else ""
    return f"{known} in {counted(audit.n_groups, 'group')}{'' if name is None else f' ({name})'}"


def _settings(parameters: Mapping[str, Any]) -> str:
    assigned = ", ".join(f"{name} {value}" for name, value in parameters.items())
    return f" ({assigned})" if assigned else ""


def _heading(console: Page, words: str) -> None:
    console.print()
    console.print(words)
    console.print("-" * len(words))


def _premises(console: Page, sentences: Sequence[str]) -> None:
    _heading(console, "Taken as given")
    for line in sentences:
        _say(console, f"- {line}", indent="  ")


def _draw(console: Page, pictures: Sequence[str]) -> None:
    if pictures:
        console.print()
    for line in pictures:
        console.print(line)


def _foot(console: Page, words: str) -> None:
    console.print()
    _say(console, words)


def _say(console: Page, text: str, indent: str = "") -> None:
    for line in textwrap.wrap(text, console.width, subsequent_indent=indent, break_on_hyphens=False):
        console.print(line)


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

    def verbatim(self, lines: Iterable[str]) -> None:
        """Add lines as they are: code that is broken is none."""
        self._lines += lines

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
    return sum(_cells_of(letter) for letter in text)


def _cells_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


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
        self, columns: int, axis: Axis, across: tuple[float, float], up: tuple[float, float], labels: Sequence[str]
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
        labels = [say.rate(each) for each in (top, middle, bottom)]
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
