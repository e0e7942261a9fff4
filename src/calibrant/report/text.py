"""The audit as one page of plain text."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from calibrant.door.ends import at_least, outwards
from calibrant.door.values import counted
from calibrant.findings.actions import code, what_to_do
from calibrant.findings.catalogue import sentences, standing
from calibrant.findings.comparison import Comparison
from calibrant.findings.decision import rejected
from calibrant.findings.results import Audit
from calibrant.findings.words import (
    NO_REGION,
    enough,
    number,
    percent,
    periods_in_words,
    rate,
    repeats,
    segment_in_words,
    segment_intervals,
    segment_name,
    segments_sorted,
    sentence,
    unit,
    whole,
)
from calibrant.inference.bounds.gate import proved_by
from calibrant.report.letters import Marks, picture

if TYPE_CHECKING:
    from calibrant.drift.periods import Period
    from calibrant.findings.advice import Advice
    from calibrant.findings.classes import ClassFindings, Question
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
    if everything or code(audit) is not None:
        _what_to_do(audit, console, everything=everything)
    if audit.cost_of_acting is not None and audit.answer.state == "worth correcting" and everything:
        _heading(console, "What acting costs")
        _say(console, audit.cost_of_acting.summary())
    _parts(audit, console)
    _premises(console, audit.premises.beside("independence", "perhaps_sampled"))
    if everything:
        _agreement(audit, console)
    else:
        _foot(console, "--all shows the measures, the tests, the ranges that err, and what they prove of one another.")
    if audit.seed is not None and audit.n_resamples:  # without resamples no seed is taken
        _foot(console, repeats(audit.seed))


def _numbers(audit: Audit, console: Page) -> None:
    """Measures, ranges and tests."""
    _heading(console, "Measures")
    table = Table(right=[0])
    for measure in audit.measures.values():
        means = measure.not_computed or measure.sentence
        table.add_row(measure.shown, f"{measure.title}{_settings(measure.parameters)}. {means}")
    console.print(table)

    _heading(console, "Where it errs (by the averaged map)")
    if not audit.regions:
        console.print(NO_REGION)
    for region in audit.regions:
        _say(console, f"- {region.summary()}", indent="  ")

    _heading(console, "Is it real?")
    for line in (f"{test.title}: {beside_the_answer(test.summary(), audit)}" for test in audit.tests.values()):
        _say(console, f"- {line}", indent="  ")
    for line in reality(audit):
        _say(console, f"- {line}", indent="  ")


def _what_to_do(audit: Audit, console: Page, *, everything: bool) -> None:
    """The advice and its code; where the first lines have said what to do, the code alone."""
    _heading(console, "What to do" if everything else "How to do it")
    if everything:
        _say(console, what_to_do(audit))
    if audit.advice.scores and everything:
        console.print(_methods(audit.advice))
    lines = code(audit)
    if lines:
        console.print()
        console.verbatim(f"    {line}" for line in lines.splitlines())


def _parts(audit: Audit, console: Page) -> None:
    """Segments, periods and classes."""
    if audit.segments:
        _heading(console, f"Segments by {', '.join(audit.segmented_by)}")
        _say(console, segments_sorted(audit.level, chance=audit.segments_tested))
        if audit.segments_tested:
            _say(console, segment_intervals(audit.level))
        for segment in audit.segments[:_SHOWN]:
            _say(console, f"- {_segment(segment, chance=audit.segments_tested)}", indent="  ")
    if audit.found_segments is not None:
        _heading(console, f"Segments found in {', '.join(audit.found_segments.features)}")
        for said in audit.found_segments.summary().splitlines():
            _say(console, said, indent="  ")
    if audit.periods:
        _heading(console, "Drift")
        _say(console, periods_in_words(audit.periods))
        if len(audit.periods) > _SHOWN:
            every = -(-len(audit.periods) // _SHOWN)
            console.print(
                f"Of {len(audit.periods):,} periods one in {every} is shown, and the first with enough evidence."
            )
        console.print(_periods(audit.periods))

    if audit.classes is not None:
        _heading(console, f"All {audit.classes.n_classes} classes")
        for test in audit.classes.tests.values():
            _say(console, f"- {test.title}: {test.summary()}", indent="  ")
        console.print(_questions(audit.classes))
        left = len(audit.classes.questions) - len(shown_first(audit.classes))
        if left > 0:
            console.print(
                f"{counted(left, 'class is', 'classes are')} not shown here; the HTML page and the JSON have all."
            )
        for pair in audit.classes.confusions[: _MOST_CLASSES // 4]:
            _say(console, f"- {pair.summary()} (q = {pair.qvalue:.2g})", indent="  ")


def _agreement(audit: Audit, console: Page) -> None:
    """The inequalities between the measures."""
    n_hold, n = sum(inequality.holds for inequality in audit.ties.inequalities), len(audit.ties.inequalities)
    _heading(console, "Do the numbers agree with one another?")
    _say(console, f"{n_hold} of {n} inequalities between the measures, each a theorem, hold here.")
    for inequality in audit.violations:
        values = f"{number(inequality.left_value)} <= {number(inequality.right_value)}"
        _say(console, f"FAILS  {values}  {inequality.words}", indent=" " * 7)


def _of_comparison(comparison: Comparison, console: Page, pictures: Sequence[str]) -> None:
    for said in (comparison.headline, *comparison.details):
        _say(console, said)
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
    _premises(console, comparison.premises)
    if comparison.seed is not None:
        _foot(console, repeats(comparison.seed))


def _segment(segment: Segment, chance: bool) -> str:
    low, high = outwards(*segment.lower_distance_bracket)
    if not chance or segment.bias_interval is None:
        name, rows = segment_name(segment), counted(segment.n_rows, "row")
        return f"{name}: distance {low} to {high}, {rows}; outcome minus prediction {segment.bias:+.4f}"
    where = f", {segment_in_words(segment)}" if segment.reject else ""
    least, most = outwards(*segment.bias_interval, signed=True)
    return (
        f"{segment_name(segment)}: distance {low} to {high}, {counted(segment.n_rows, 'row')}, q = {segment.qvalue:.2g}"
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
        mark = ", enough" if enough(period.reading) else ""
        rate, mean = percent(period.base_rate), percent(period.mean_prediction)
        table.add_row(
            str(period.period), whole(period.n_rows), rate, mean, f"{at_least(period.reading.evalue, 3)}{mark}"
        )
    return table


def _methods(advice: Advice) -> Table:
    table = Table(("cross-fitted", "distance", "Brier", "log"), right=range(1, 4))
    for score in advice.scores:
        mark = " <- chosen" if score.method == advice.chosen else ""
        name = score.method.replace("_", " ") + mark
        table.add_row(name, number(score.lower_calibration_distance), f"{score.brier:.4f}", f"{score.log:.4f}")
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
            number(each.lower_calibration_distance),
            number(each.smooth_calibration_error),
            rate(each.rate),
            rate(each.mean_prediction),
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
    sentences = [sentence(proved_by(audit.gate, alone=True))] if audit.gate else []
    if audit.reliability.no_band is not None and not audit.rates:
        sentences.append(f"There is no band: {audit.reliability.no_band}.")
    return sentences


def facts(audit: Audit) -> str:
    """Facts about the rows, in a sentence."""
    rows = counted(audit.n_rows, unit(audit))
    weights = ""
    if audit.weighted:
        # How many rows weights are worth is a matter of chance, which needs the trials behind event rates.
        worth = "" if audit.rates else f" (as good as {whole(audit.effective_rows)} equal rows)"
        weights = f", weighted{worth}"
        if audit.sampling_fractions is not None:
            without, events = audit.sampling_fractions
            kept = f"{without:.3g} of rows without the event were kept, {events:.3g} of those with it"
            seen = "" if audit.fractions_given else ", as the weights say"
            weights = f", sampled by outcome{worth}: {kept}{seen}"
    top, means = "", f"base rate {rate(audit.base_rate)}, mean prediction {rate(audit.mean_prediction)}"
    if audit.classes is not None:
        classes = counted(audit.classes.n_classes, "class", "classes")
        top = f"{classes}; but for the section on classes, all is about each row's most probable one. "
        means = f"it is right in {rate(audit.base_rate)}, and predicted with {rate(audit.mean_prediction)} on average"
    values = counted(audit.n_distinct, "distinct prediction")
    if audit.n_cells is not None:
        values = f"pooled into {counted(audit.n_cells, 'cell')} of predictions"
    were = "was" if audit.n_excluded == 1 else "were"
    left_out = f" {counted(audit.n_excluded, 'bad row')} {were} left out." if audit.n_excluded else ""
    return f"{top}{rows}{_in_groups(audit)}, {values}{weights}; {means}.{left_out}"


def _in_groups(audit: Audit) -> str:
    if audit.n_groups is None and "groups" in audit.columns:
        return f", each with its own {audit.columns['groups']}"
    if audit.n_groups is None:
        return ""
    name = audit.columns.get("groups")
    return f" in {counted(audit.n_groups, 'group')}{'' if name is None else f' ({name})'}"


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
    if text.isascii():
        return len(text)
    return sum(_cells_of(letter) for letter in text)


def _cells_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
