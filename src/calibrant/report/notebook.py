"""A finding's first screen for a notebook: one element without scripts, at home on light pages and on dark ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from markupsafe import escape

from calibrant.findings.catalogue import standing
from calibrant.findings.comparison import Comparison
from calibrant.findings.results import Audit
from calibrant.report.diagram import curves_svg, svg
from calibrant.report.style import COLOURS
from calibrant.report.text import facts

# A notebook's theme is not told to its cells, so these are seen on white and on black; letters take the page's colour.
_ON_ANY_PAGE: Mapping[str, str] = {
    "ink": "currentColor",
    "muted": "#868e96",
    "hairline": "rgba(134,142,150,.4)",
    "band": "rgba(134,142,150,.35)",
    "curve": "#2296c7",
    "high": "#dd6b20",
    "low": "#4f7fe8",
    "bars": "#8fa3b8",
}
_SIZE = (4.3, 4.3)


def cell(finding: Audit | Comparison) -> str:
    """Return the first screen as HTML: sentences, and the picture beside them."""
    if isinstance(finding, Audit):
        first, rest = finding.sentences[0], [*finding.answer.details, standing(finding)]
        last, picture, label = facts(finding), svg(finding, _SIZE), "Reliability diagram"
    else:
        first = finding.headline
        rest = [
            *finding.details,
            *(f"{name}: {each.sentences[0]}" for name, each in zip(finding.names, finding.audits, strict=True)),
        ]
        last, picture, label = "", curves_svg(finding), "The reliability curves"
    more = "".join(f'<p style="margin:.4em 0">{escape(line)}</p>' for line in rest)
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:0 1.5em;align-items:flex-start;max-width:60em">'
        '<div style="flex:1 1 20em;min-width:0">'
        f'<p style="margin:.4em 0;font-size:1.15em;font-weight:600">{escape(first)}</p>{more}'
        f'<p style="margin:.4em 0;opacity:.75">{escape(last)}</p></div>'
        f'<div style="flex:0 1 24em;min-width:0">{_on_any_page(picture, label)}</div></div>'
    )


def _on_any_page(picture: str, label: str) -> str:
    """The figure in these colours, as wide as it may be, with ids of its own: cells share one document."""
    for name, colour in COLOURS.items():
        picture = picture.replace(colour, _ON_ANY_PAGE[name])
    picture = picture.replace("#000000", "currentColor")
    picture = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'width="100%" fill="currentColor"', picture, count=1)
    ending = hashlib.sha256(picture.encode()).hexdigest()[:8]
    picture = re.sub(r'\bid="([^"]+)"', rf'id="\1-{ending}"', picture)
    picture = re.sub(r"url\(#([^)]+)\)", rf"url(#\1-{ending})", picture)
    picture = re.sub(r'href="#([^"]+)"', rf'href="#\1-{ending}"', picture)
    return picture.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
