"""The audit as one self-contained HTML document."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from calibrant.report.plots import COLOURS, svg
from calibrant.report.text import facts
from calibrant.report.words import number, percent, proved, whole

if TYPE_CHECKING:
    from calibrant.report.audit import Audit


def document(audit: Audit) -> str:
    """Return the document; whatever comes from data is escaped, and nothing is loaded from elsewhere."""
    from calibrant import __version__

    environment = Environment(
        loader=PackageLoader("calibrant.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, whole=whole)
    return environment.get_template("page.html.jinja").render(
        audit=audit,
        facts=facts(audit),
        distance=proved(audit.distance.lower, audit.distance.upper)[0],
        diagram=_diagram(audit),
        infinity=math.inf,
        version=__version__,
    )


def _diagram(audit: Audit) -> Markup:
    """The figure with colours that follow the page, scaled to the width it is given."""
    text = svg(audit)
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    text = text.replace("#000000", "var(--ink)")
    # matplotlib's text has no colour of its own where it is black, and its size is in points.
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', "", text, count=1)
    label = "Reliability diagram: observed rate against prediction, with a histogram of the predictions below"
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))
