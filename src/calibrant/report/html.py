"""Audits as self-contained HTML documents."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from functools import cache, partial, singledispatch
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from calibrant.decisions.murphy import acting_from, threshold_in_words
from calibrant.door.ends import as_points, at_least, confidence, in_points, in_short, outwards
from calibrant.findings import word_catalogue as say
from calibrant.findings.action_catalogue import code, what_to_do
from calibrant.findings.catalogue import sentences
from calibrant.findings.classes import ClassFindings, Question
from calibrant.findings.comparison import Comparison, uses_seed
from calibrant.findings.decision import blamed, has_draws
from calibrant.findings.results import Audit
from calibrant.inference.bounds.gate import asked, most_in_short
from calibrant.measures.registry import measures
from calibrant.recalibration.curves.base import title_of
from calibrant.report.diagram import MOST_EVIDENCE, curves_svg, decision_svg, diagram, drift_svg, triptych_svgs
from calibrant.report.frame import beyond, place
from calibrant.report.segments import (
    errors_svg,
    found_svg,
    pair_names,
    pair_svg,
    pairs_svg,
    pairs_to_draw,
    values_drawn,
)
from calibrant.report.style import COLOURS
from calibrant.report.text import beside_the_answer, facts, reality, shown_first, some_periods

if TYPE_CHECKING:
    from calibrant.findings.results import Audit
    from calibrant.segments.results import FoundSegments


_STYLED = re.compile(r'(?P<before><[^<>]*?) style="(?P<style>[^"]*)"(?P<after>[^<>]*>)')  # text holds no < of its own
_IMPORTANT = re.compile(r"(?=;|$)")


@singledispatch
def document(finding: Any) -> str:
    """Return a finding's document; everything that comes from data is escaped, and nothing is loaded from elsewhere."""
    raise TypeError(f"{type(finding).__name__} is no finding")


@document.register
def _(audit: Audit) -> str:
    return _sealed(_environment().get_template("audit.html.jinja").render(_context(audit)))


@document.register
def _(comparison: Comparison) -> str:
    environment = _environment()
    column = environment.get_template("column.html.jinja")
    most = max(bars(audit)[0].most for audit in comparison.audits)  # one scale for all
    pages = [
        Markup(_renamed(column.render(_context(audit, most, alone=False)), f"-{i}"))
        for i, audit in enumerate(comparison.audits)
    ]
    picture = _coloured(_renamed(curves_svg(comparison), "-all"), "The reliability curves of all")
    template = environment.get_template("comparison.html.jinja")
    return _sealed(template.render(comparison=comparison, pages=pages, picture=picture, premises=comparison.premises))


def _sealed(page: str) -> str:
    """The page with every style in its style sheet, and the digests of that and of its script in its policy.

    So a browser runs this script alone, and nothing else in the page.
    """
    rules: dict[str, str] = {}

    def classed(tag: re.Match[str]) -> str:
        name = rules.setdefault(tag["style"], f"style-{len(rules)}")
        rest = f"{tag['before']}{tag['after']}"
        if 'class="' in rest:
            return rest.replace('class="', f'class="{name} ', 1)
        return f'{tag["before"]} class="{name}"{tag["after"]}'

    page = _STYLED.sub(classed, page)
    # As strong as where they stood: no rule above goes before them.
    listed = "".join(f".{name} {{ {_IMPORTANT.sub(' !important', rule)} }}\n" for rule, name in rules.items())
    page = page.replace("</style>", f"{listed}</style>", 1)
    for element in ("style", "script"):
        inside = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        page = page.replace(f"sha256-of-{element}", f"sha256-{digest}", 1)
    return page


@cache
def _environment() -> Environment:
    """Made once, as to read the templates takes longer than to fill them."""
    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=lambda name: name is not None and name.endswith(".jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own: tuple[Any, ...] = asked, at_least, confidence, has_draws, uses_seed, say.number, say.enough, say.percent
    own += say.rate, say.repeats, say.whole, say.segment_name, say.segment_in_words, say.segments_sorted
    environment.filters.update(
        {each.__name__: each for each in own},
        in_points=lambda share: in_points(asked(share)),
        about=lambda share: in_points(in_short(share)),
        capitalised=lambda text: f"{text[:1].upper()}{text[1:]}",
        unbroken=_unbroken,
        proved=lambda ends: say.proved(*ends)[0],
        outwards_signed=lambda ends: outwards(*ends, signed=True),
    )
    return environment


def _context(audit: Audit, most: float = 0.0, *, alone: bool = True) -> dict[str, Any]:
    from calibrant import __version__

    known = measures()
    return {
        "audit": audit,
        "premises": audit.premises.beside("independence", "perhaps_sampled", "trials_vary", *audit.hints),
        "sentences": sentences(audit, alone=alone),
        "facts": facts(audit),
        "reality": reality(audit),
        "beside_the_answer": beside_the_answer,
        "true_distance": say.proved(audit.distance.lower, audit.distance.upper)[1],
        "what_to_do": what_to_do(audit.answer, audit),
        "code": code(audit.answer, audit),
        "bars": bars(audit, most),
        "diagram": _diagram(audit),
        "definitions": {name: (known[name].definition, known[name].source) for name in audit.measures},
        "acting": _acting(audit),
        "drift_words": say.periods_in_words(audit.periods) if audit.periods else "",
        "drift_pictures": _drift(audit) if audit.periods else {},
        "drift_beyond": any(period.reading.evalue > MOST_EVIDENCE for period in audit.periods),
        "drift_periods": some_periods(audit.periods),
        "class_questions": _class_questions(audit.classes) if audit.classes is not None else {},
        "class_pictures": _class_pictures(audit.classes) if audit.classes is not None else {},
        "found_pictures": {} if audit.found_segments is None else _found(audit.found_segments),
        "found_pairs": [] if audit.found_segments is None else _pairs(audit.found_segments),
        "infinity": math.inf,
        "version": __version__,
    }


def _diagram(audit: Audit) -> dict[str, Any]:
    """The figure, where its axis of predictions lies in it, and the numbers that the cursor tells."""
    table = audit.reliability
    columns = {
        "prediction": table.prediction,
        "outcome": table.outcome,
        "isotonic": table.isotonic,
        "lower": table.band_lower,
        "upper": table.band_upper,
    }
    picture, (left, right), (low, high) = diagram(audit)
    examples = audit.answer.examples
    first = examples[0].predicted if examples else audit.mean_prediction  # where the slider stands at first
    begin = min(max(float(place([first], table.axis)[0]), low), high)
    return {
        "picture": _coloured(picture, say.DIAGRAM),
        "left": round(left, 5),
        "right": round(right, 5),
        "low": low,
        "high": high,
        "start": round(1000.0 * (begin - low) / (high - low)),
        "beyond": beyond(audit),
        "table": {
            name: [None if math.isnan(x) else float(f"{x:.9g}") for x in column]
            for name, column in columns.items()
            if column is not None
        },
    }


def _acting(audit: Audit) -> dict[str, Any] | None:
    """What acting is worth at the threshold of the cost, and the pictures."""
    acting = audit.acting
    if acting is None:
        return None
    at = acting.at
    cut = audit.cost_of_acting.best_cut if audit.cost_of_acting is not None else math.inf
    return {
        "threshold": threshold_in_words(acting.threshold, 4),
        "worths": [
            ("acting on the predictions", acting.net_benefit[at]),
            (f"the best cut: {acting_from(cut)}", acting.best_net_benefit[at]),
            ("acting on every row", acting.treat_all[at]),
            ("acting on none", 0.0),
        ],
        "picture": _coloured(_renamed(decision_svg(acting), "-acting"), say.DECISION_CURVE),
        "triptych": [
            (title, _coloured(_renamed(picture, f"-triptych{i}"), title))
            for i, (title, picture) in enumerate(triptych_svgs(acting))
        ],
    }


def _drift(audit: Audit) -> dict[str, Markup]:
    """Rates and evidence by period."""
    return _of_each_width(partial(drift_svg, audit), "", "Rates and evidence by period")


def _class_questions(classes: ClassFindings) -> dict[str, list[Question]]:
    """The questions of the top labels and the plainest classes, and the other classes in the order of their columns."""
    shown = shown_first(classes)
    names = {each.name for each in shown}
    return {"first": shown, "rest": [each for each in classes.class_wise if each.name not in names]}


def _class_pictures(classes: ClassFindings) -> dict[str, dict[str, Markup]]:
    """Errors of all classes, and pairs that err."""
    table, pairs = classes.confusion_table, dict[str, Markup]()
    if table is not None and classes.confusions:
        draw = lambda inches: pairs_svg(table, min(inches, 6.0))  # noqa: E731
        pairs = _of_each_width(draw, "-pairs", "Pairs of classes that err")
    return {"errors": _of_each_width(partial(errors_svg, classes), "-errors", say.CLASS_ERRORS), "pairs": pairs}


def _found(segments: FoundSegments) -> dict[str, Markup]:
    """All tested segments."""
    return _of_each_width(partial(found_svg, segments), "-found", say.SEGMENT_ERRORS)


def _pairs(segments: FoundSegments) -> list[dict[str, Any]]:
    """Pairs of features as tables of colours."""
    pictures = []
    for at, pair in enumerate(pairs_to_draw(segments)):
        down, across = pair_names(segments, pair)
        label = say.PAIR_ERRORS.format(down=down, across=across)
        pages = _of_each_width(partial(pair_svg, segments, pair), f"-pair-{at}", label)
        pictures.append({"down": down, "across": across, "drawn": values_drawn(segments, pair), "pages": pages})
    return pictures


def _of_each_width(draw: Callable[[float], str], ending: str, label: str) -> dict[str, Markup]:
    """A picture once for each width of page, in inches; the page shows the one that it has room for."""
    widths = {"wide-page": 9.0, "narrow-page": 3.8}
    return {page: _coloured(_renamed(draw(width), f"{ending}-{page}"), label) for page, width in widths.items()}


def _coloured(text: str, label: str) -> Markup:
    """The figure with colours that follow the page, scaled to the width it is given."""
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    text = text.replace("#000000", "var(--ink)")
    # matplotlib's text has no colour of its own where it is black, and its size is in points.
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', "", text, count=1)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def _unbroken(text: str) -> Markup:
    """A sentence whose p-values and options are not broken at the end of a line."""
    return Markup(
        re.sub(r"p (?:=|&lt;) [\d.e-]*\d|--[a-z][a-z-]*", r'<span class="whole">\g<0></span>', str(escape(text)))
    )


def _renamed(page: str, ending: str) -> str:
    """The page with ids of its own, so that two fit in one document."""
    page = re.sub(r'\bid="([^"]+)"', rf'id="\1{ending}"', page)
    page = re.sub(r"url\(#([^)]+)\)", rf"url(#\1{ending})", page)
    return re.sub(r'href="#([^"]+)"', rf'href="#\1{ending}"', page)


_LEAST = 0.8  # percent of the scale
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: from `left` percent of the scale, `width` percent long; the scale ends at `most`."""

    name: str
    words: str
    kind: str
    left: float
    width: float
    most: float
    limit: float  # percent of the scale up to which an error is too small to matter

    @property
    def end(self) -> str:
        """End of the scale, in words."""
        return f"{100.0 * self.most:g}"


def bars(audit: Audit, at_least: float = 0.0) -> list[Bar]:
    """The lower distance of these rows; the population's; that of the chosen recalibration.

    The scale ends at `at_least` or beyond, and holds the limit of what is too small to matter.
    """
    answer, (low, high) = audit.answer, audit.ties.lower_distance_bracket
    limit, sure = answer.max_distance, confidence(audit.level)
    shown = [("These rows", as_points(in_short(answer.size)), "certified", low, high)]
    if answer.interval is not None:
        least, largest = in_short(answer.interval.low, ROUND_FLOOR), most_in_short(answer.interval, answer.max_distance)
        least, largest = as_points(least), as_points(largest)
        between = f"{least} to {largest}" if answer.interval.low > 0.0 else f"at most {largest}"
        each = "each end with " if answer.interval.low > 0.0 else ""
        shown.append((f"Population, {each}{sure} confidence", between, "population", *answer.interval))
    best = next((score for score in audit.advice.scores if score.method == audit.advice.chosen), None)
    if best is not None and best.method != "unchanged" and blamed(audit, answer.direction) is None:
        name = say.AFTER.format(title=title_of(best.method))
        left, noise = best.lower_calibration_distance, min(audit.advice.noise or 0.0, answer.size)
        below = f"below {as_points(in_short(noise))}"
        words, begins = (as_points(in_short(left)), left) if left >= noise else (below, 0.0)
        shown.append((name, words, "after", begins, max(left, noise)))
    farthest = max(at_least, limit, *(end for *_, end in shown))
    most = next(scale for scale in _SCALES if scale >= min(1.0, farthest))
    at = round(100.0 * min(limit, most) / most, 3)
    return [Bar(name, words, kind, *_placed(start, end, most), most, at) for name, words, kind, start, end in shown]


def _placed(start: float, end: float, most: float) -> tuple[float, float]:
    """Left end and width in percent; what is too narrow to be seen is drawn as a mark."""
    width = max(100.0 * (end - start) / most, _LEAST)
    return round(min(100.0 * start / most, 100.0 - width), 3), round(width, 3)
