"""What a notebook shows: the answer and the picture, without scripts, whatever the theme, two cells in one document."""

import re
from functools import cache
from html import escape

import numpy as np
import pytest

from calibrant import audit
from calibrant.findings.comparison import compare
from calibrant.report.style import COLOURS

RNG = np.random.default_rng(2)
V = RNG.random(400)
Y = (RNG.random(400) < V**1.7).astype(float)


@cache
def audits():
    return tuple(audit(Y, each, random_state=0, n_resamples=39) for each in (V, V**2))


def compared():
    return compare(("<b>one", "two"), audits(), ((Y, V), (Y, V**2)), seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("found", [lambda: audits()[0], lambda: audits()[1], compared], ids=["one", "two", "both"])
def test_a_cell_is_small_and_needs_nothing_from_elsewhere(found):
    shown = found()._repr_html_()
    assert len(shown) < 120_000
    assert "<script" not in shown
    assert "<style" not in shown
    assert "<b>" not in shown
    assert not re.search(r"(?:src|href)=\"(?!#)", shown)
    assert not [name for name, colour in COLOURS.items() if colour in shown]
    assert "currentColor" in shown


@pytest.mark.slow
def test_the_answer_is_in_the_cell_and_ids_of_two_cells_differ():
    cells = [found._repr_html_() for found in audits()]
    for found, cell in zip(audits(), cells, strict=True):
        assert all(escape(line, quote=False) in cell for line in (found.answer.headline, *found.answer.details))
    named = [set(re.findall(r'\bid="([^"]+)"', cell)) for cell in cells]
    assert named[0].isdisjoint(named[1])
    for names, cell in zip(named, cells, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", cell)) <= names
