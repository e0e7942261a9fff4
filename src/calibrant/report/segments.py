"""Pairs of features as tables of colours; and every class by its signed error, with pairs that are mistaken."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from calibrant.findings import word_catalogue as say
from calibrant.findings.classes import ClassFindings, ConfusionTable, Question
from calibrant.report.style import COLOURS, STYLE, as_svg, drawn

if TYPE_CHECKING:
    from calibrant.segments.results import FoundSegments


MOST_PAIRS = 3
_MOST_VALUES = 12  # of a feature; of more, those with the strongest evidence
_FAINTEST, _STRONGEST = 0.06, 0.5  # of a colour, under text that must be read


def pairs_to_draw(segments: FoundSegments) -> list[tuple[int, int]]:
    """The pairs of features of told segments, or else that with the strongest evidence."""
    strongest: dict[tuple[int, int], float] = {}
    for fixed, pvalue in zip(segments.made_of, segments.tested[:, 2].tolist(), strict=True):
        if len(fixed) == 2:
            pair = fixed[0][0], fixed[1][0]
            strongest[pair] = min(pvalue, strongest.get(pair, 2.0))
    by_evidence = sorted(strongest, key=lambda pair: (strongest[pair], pair))
    clear = [pair for pair in by_evidence if strongest[pair] <= segments.level]
    return (clear or by_evidence[:1])[:MOST_PAIRS]


def pair_names(segments: FoundSegments, pair: tuple[int, int]) -> tuple[str, str]:
    """The features that make the rows and the columns of a table."""
    names, sizes = list(segments.features), [len(labels) for labels in segments.features.values()]
    down, across = pair if sizes[pair[0]] >= sizes[pair[1]] else pair[::-1]
    return names[down], names[across]


def values_drawn(segments: FoundSegments, pair: tuple[int, int]) -> str:
    """Which values of the features are drawn, where they have too many; else nothing."""
    names, lines = list(segments.features), []
    for at, name in enumerate(pair_names(segments, pair)):
        labels = segments.features[name]
        cells = _cells(segments, *(names.index(each) for each in pair_names(segments, pair)))
        n_drawn = len(_clearest(labels, cells, at))
        if n_drawn < len(labels):
            lines.append(f"{n_drawn} of {len(labels):,} values of {name}")
    return say.STRONGEST.format(values=" and ".join(lines)) if lines else ""


def _draw_cell(
    ax: Axes, centre: tuple[float, float], off: float, largest: float, width: float, *, proved: bool
) -> None:
    """Draw the signed error of a cell so many inches wide, stronger the larger it is, framed where it is proved."""
    x, y = centre
    strength = _FAINTEST + (_STRONGEST - _FAINTEST) * abs(off) / largest
    colour = COLOURS["low" if off > 0.0 else "high"]
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, facecolor=colour, alpha=strength, lw=0))
    if proved:
        corner = x - 0.46, y - 0.44
        ax.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=COLOURS["ink"], lw=1.8, zorder=3))
    ax.text(
        x,
        y,
        _signed(off, largest),
        ha="center",
        va="center",
        fontsize=min(10.0, max(5.5, 14.0 * width)),
        color=COLOURS["ink" if proved else "muted"],
        fontweight="bold" if proved else "normal",
    )


def pair_svg(segments: FoundSegments, pair: tuple[int, int], width: float) -> str:
    """One pair as an SVG element so many inches wide: signed errors, colour by size, proved ones framed."""
    names = list(segments.features)
    down, across = (names.index(name) for name in pair_names(segments, pair))
    cells = _cells(segments, down, across)
    rows, columns = (
        _in_order(_clearest(segments.features[names[i]], cells, at), names[i]) for at, i in enumerate((down, across))
    )
    largest = max((abs(off) for off, _ in cells.values()), default=0.0) or 1.0
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(width, 0.9 + 0.34 * len(rows)), layout="constrained")
        ax = fig.add_subplot()
        for (row, column), (off, pvalue) in cells.items():
            labels = segments.features[names[down]][row], segments.features[names[across]][column]
            if labels[0] not in rows or labels[1] not in columns:
                continue
            y, x = rows.index(labels[0]), columns.index(labels[1])
            _draw_cell(ax, (x, y), off, largest, width / len(columns), proved=pvalue <= segments.level)
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xticks(range(len(columns)), [_short(label, names[across]) for label in columns])
        ax.set_yticks(range(len(rows)), [_short(label, names[down]) for label in rows])
        slanted = sum(len(_short(label, names[across])) for label in columns) > 8.0 * width
        ax.tick_params(length=0, labelcolor=COLOURS["ink"], labelsize=9.0)
        ax.tick_params(axis="x", labelrotation=90.0 if slanted else 0.0)
        ax.set_xlabel(names[across])
        ax.set_ylabel(names[down])
        ax.spines[:].set_visible(True)
        ax.grid(False)
        return as_svg(fig)


def _cells(segments: FoundSegments, down: int, across: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Row and column of each tested segment of the pair, its mean of outcome less prediction and its p-value."""
    cells = {}
    for fixed, (_, off, pvalue) in zip(segments.made_of, segments.tested.tolist(), strict=True):
        values = dict(fixed)
        if set(values) == {down, across}:
            cells[values[down], values[across]] = off, pvalue
    return cells


def _clearest(labels: Sequence[str], errors: dict[tuple[int, int], tuple[float, float]], axis: int) -> list[str]:
    """Values that are drawn: of many those of the cells with the strongest evidence, `axis` their rows or columns."""
    if len(labels) <= _MOST_VALUES:
        return list(labels)
    strongest = sorted(errors, key=lambda place: (errors[place][1], -abs(errors[place][0])))
    shown = list(dict.fromkeys(place[axis] for place in strongest))[:_MOST_VALUES]
    return [labels[i] for i in sorted(shown)]


def _in_order(labels: Sequence[str], name: str) -> list[str]:
    """Categories in their natural order where they have one, before the rest of them and what is missing."""
    single = [label for label in labels if label.startswith(f"{name} = ")]
    order = natural_order([label.removeprefix(f"{name} = ") for label in single])
    if order is not None:
        single = [single[i] for i in order]
    return [*single, *(label for label in labels if label not in single)]


def _signed(off: float, largest: float) -> str:
    """An error with its sign, in digits that tell the largest; a cell has no room for the zero before the point."""
    digits = max(3, int(np.ceil(-np.log10(largest))) + 1)
    return f"{off:+.{digits}f}".replace("0.", ".", 1)


def _short(label: str, name: str) -> str:
    """A condition beside its feature's name."""
    if label.startswith(f"{name} = "):
        text = label.removeprefix(f"{name} = ")
    elif f" < {name} <= " in label:
        text = label.replace(f" < {name} <= ", " to ")
    else:
        text = label.removeprefix(f"{name} ").removeprefix("is ").removeprefix("in ")
        text = text.removeprefix("from ") if " to " in text else text
    return text if len(text) <= 24 else f"{text[:22]}..."


_SURE = 6.0  # tens of odds from which on a dot is as strong as can be
_MOST_NAMED = 9
_FEW_LABELS = 4


def found_svg(segments: FoundSegments, width: float) -> str:
    """Size against error, with evidence as colour, as an SVG element so many inches wide."""
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(width, 3.4), layout="constrained")
        ax = fig.add_subplot()
        rows, off, pvalue = segments.tested.T
        beyond = pvalue <= segments.level
        ax.axhline(0.0, color=COLOURS["muted"], lw=1)
        ax.scatter(rows[~beyond], off[~beyond], 9, color=COLOURS["bars"], lw=0, label="may be noise")
        for side, label, here in (("low", "too low", off > 0.0), ("high", "too high", off <= 0.0)):
            dots = beyond & here
            if dots.any():
                strength = 0.35 + 0.65 * np.minimum(-np.log10(pvalue[dots]), _SURE) / _SURE
                ax.scatter(rows[dots], off[dots], 22, color=COLOURS[side], lw=0, alpha=strength, label=label)
        for number, each in enumerate(segments.segments[:_MOST_NAMED], 1):
            ax.annotate(str(number), (each.n_rows, each.bias), (5, 3), textcoords="offset points", fontweight="bold")
        ax.set_xscale("log")
        steps = (1.0, 2.0, 5.0) if rows.max() < 50.0 * rows.min() else (1.0,)  # a label or two in any case
        near = rows.max() < 10.0 * rows.min()  # of fewer than ten times as many a LogLocator makes too many labels
        ax.xaxis.set_major_locator(MaxNLocator(_FEW_LABELS) if near else LogLocator(subs=steps))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("known rows" if any(each.n_unknown for each in segments.segments) else "rows")
        ax.set_ylabel("outcome less prediction")
        ax.legend(frameon=False, loc="best")
        return as_svg(fig)


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
    texts = [value.strip().lower() for value in values]
    for keys_of in (_numbers, _steps, _parts, _ranges):
        keys = keys_of(texts)
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
    return _year_first(numbers, dotted="." in values[0])


def _year_first(dates: list[Key], *, dotted: bool) -> list[Key] | None:
    """Numbers of dates that end with the year, from the year on; None where day and month cannot be told apart."""
    if len(dates[0]) == 2:
        return [(year, part) for part, year in dates]
    if len(dates[0]) > 3:
        return None
    firsts, seconds, _ = (max(column) for column in zip(*dates, strict=True))
    if firsts > 12.0 or dotted:
        return [(year, month, day) for day, month, year in dates]
    return [(year, month, day) for month, day, year in dates] if seconds > 12.0 else None


def _ranges(values: list[str]) -> list[Key] | None:
    """Ranges of numbers, and what lies below or beyond them: "<18", "18-24", "65+"."""
    keys: list[Key] = []
    for value in values:
        if match := _RANGE.fullmatch(value):
            keys.append((float(match[1]), 0.0))
        elif match := _BEYOND.fullmatch(value):
            below = (match[1] or "+")[0] in "<\u2264u"
            keys.append((float(match[2] or match[3]), -1.0 if below else 1.0))
        elif re.fullmatch(_NUMBER, value):
            keys.append((float(value), 0.0))
        else:
            return None
    return keys


_NAMED = 40  # classes up to which each is named below the picture
_LONGEST = 14  # letters of a name
_LEAST, _MOST = 1.0, 20.0  # powers of ten of a pair's p-value: the smallest that is drawn, and the largest square


def errors_svg(classes: ClassFindings, width: float) -> str:
    """Seen less predicted rate of every class, in rising order, as an SVG element."""
    return drawn(lambda: _errors(classes, width))


def pairs_svg(confusions: ConfusionTable, width: float) -> str:
    """Evidence of each pair of predicted and actual class as a square, as an SVG element."""
    return drawn(lambda: _pairs(confusions, width))


def _errors(classes: ClassFindings, width: float) -> Figure:
    fig = Figure(figsize=(width, 3.0), layout="constrained")
    ax = fig.add_subplot()
    ordered = sorted(classes.class_wise, key=lambda each: each.rate - each.mean_prediction)
    names = {each.name for each in classes.found}
    thick = float(np.clip(300.0 / len(ordered), 0.6, 5.0))
    ax.axhline(0.0, color=COLOURS["muted"], lw=1)
    for colour in ("bars", "curve", "high", "low"):
        at = [i for i, each in enumerate(ordered) if _colour(each, names) == colour]
        _sticks(ax, at, [ordered[i] for i in at], COLOURS[colour], thick)
    if len(ordered) <= _NAMED:
        _name(ax, "x", [each.name.removeprefix("class ") for each in ordered])
    else:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(ordered):,} classes, by seen less predicted")
    ax.set_ylabel("seen less predicted")
    ax.margins(x=0.01)
    return fig


def _colour(each: Question, names: Collection[str]) -> str:
    if each.name not in names:
        return "bars"
    return {"too high": "high", "too low": "low"}.get(each.direction or "", "curve")


def _sticks(ax: Axes, places: list[int], questions: list[Question], colour: str, thick: float) -> None:
    """Intervals as one line with gaps, however many there are, and the errors themselves as dots."""
    if not places:
        return
    have = [
        (i, each.bias_interval) for i, each in zip(places, questions, strict=True) if each.bias_interval is not None
    ]
    if have:
        x, y = np.array([(i, end) for i, interval in have for end in (*interval, np.nan)]).T
        ax.plot(x, y, color=colour, lw=thick, alpha=0.75, solid_capstyle="butt")
    middle = [each.rate - each.mean_prediction for each in questions]
    ax.plot(places, middle, ls="", marker="o", ms=min(4.0, thick + 0.6), color=COLOURS["ink"], mew=0)


def _pairs(confusions: ConfusionTable, width: float) -> Figure:
    m = len(confusions.names)
    fig = Figure(figsize=(width, width), layout="constrained")
    ax = fig.add_subplot()
    side = 50.0 * width / max(m, 4)  # points that one class has room for
    for colour, more in (("high", False), ("low", True)):
        predicted, true = np.nonzero(confusions.evidence >= _LEAST if more else confusions.evidence <= -_LEAST)
        share = np.sqrt(np.minimum(np.abs(confusions.evidence[predicted, true]), _MOST) / _MOST)
        ax.scatter(true, predicted, (0.95 * side * share) ** 2, color=COLOURS[colour], marker="s", lw=0)
    ax.plot([-0.5, m - 0.5], [-0.5, m - 0.5], color=COLOURS["muted"], lw=0.8, dashes=(4, 3), zorder=0)
    ax.set_xlim(-0.5, m - 0.5)
    ax.set_ylim(m - 0.5, -0.5)
    _name(ax, "x", list(confusions.names), m)
    _name(ax, "y", list(confusions.names), m)
    ax.set_xlabel("was")
    ax.set_ylabel("was called")
    return fig


def _name(ax: Axes, axis: str, names: Sequence[str], m: int | None = None) -> None:
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    size = float(np.clip(260.0 / max(m or len(names), 1), 5.0, 10.0))
    turned = 90 if axis == "x" else 0
    at = range(len(names))
    if axis == "x":
        ax.set_xticks(at, short, fontsize=size, rotation=turned)
    else:
        ax.set_yticks(at, short, fontsize=size)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)  # a class may be called $5
