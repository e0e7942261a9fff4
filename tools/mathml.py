"""The book's formulas as MathML, written when the book is built: a reader's browser draws them, and loads nothing."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def style(tag: str, latex: str) -> str:
    """On a narrow screen a wide formula scrolls by itself, and the page does not."""
    if tag == "div":
        return ' style="overflow-x: auto; overflow-y: hidden"'
    wide = "display: inline-block; max-width: 100%; overflow-x: auto; overflow-y: hidden; vertical-align: bottom"
    return f' style="{wide}"' if len(latex) > 40 else ""


def drawn(found: re.Match[str]) -> str:
    """One formula; LaTeX that the converter does not know ends the build."""
    tag, opened, latex = found.groups()
    mathml = convert(html.unescape(latex).strip(), display="block" if opened == "[" else "inline")
    mathml = re.sub(r"\\([{}])", r"\1", mathml)  # the converter leaves braces after \\big as they are written
    unknown = re.search(r"\\[A-Za-z]+", mathml)
    if unknown:
        raise ValueError(f"{unknown[0]} is not known to the converter, in the formula {latex}")
    return f'<{tag} class="formula"{style(tag, latex)}>{mathml}</{tag}>'


def on_page_content(content: str, /, **_rest: Any) -> str:
    """Called by MkDocs for every page."""
    return FORMULA.sub(drawn, content)
