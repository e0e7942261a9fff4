"""What tells one of several models from the others, and the ends of axes that they share."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from calibrant import InputError
from calibrant.report.style import ALONE, COLOURS, STYLE, Look, _mixed, as_svg, colour, models, reference, with_earlier


def axes():
    return Figure().subplots()


@pytest.mark.parametrize(
    ("look", "number", "words"),
    [
        (Look("mine"), "area 0.7", "mine (area 0.7)"),
        (Look("mine"), "", "mine"),
        (Look(label="as it is"), "area 0.7", "as it is"),
        (Look(color="#123456"), "area 0.7", None),
    ],
)
def test_a_number_stands_behind_a_name_and_a_legend_where_anything_is_called(look, number, words):
    ax = axes()
    line = look.line(ax, [0, 1], [0, 1], number)
    look.finish(ax)
    assert (ax.get_legend() is None) == (words is None)
    if words is not None:
        assert line.get_label() == words
        reference(ax, (0, 1), (0, 1), "all")
        look.finish(ax)
        assert [each.get_text() for each in ax.get_legend().get_texts()] == [words, "all"]
    assert bool(look)
    assert not ALONE


def test_a_name_that_would_have_no_effect_is_refused():
    with pytest.raises(InputError, match=r"^label: .* give one of the two"):
        Look("a", "b")


@pytest.mark.parametrize("points", [False, True])
def test_five_models_are_told_apart_by_their_dashes_or_their_marks(points):
    ax = axes()
    lines = [Look(f"{k}").line(ax, [0, 1], [0, 1], points=points) for k in range(6)]
    drawn = [(str(line.get_linestyle()), line.get_marker(), str(line._unscaled_dash_pattern)) for line in lines]
    assert len(set(drawn[:5])) == 5
    assert drawn[5] == drawn[0]
    assert {line.get_linestyle() == "None" for line in lines} == {points}
    assert {line.get_marker() == "None" for line in lines} == {not points}


def test_a_reference_of_the_same_label_gives_way_to_the_later_one():
    ax = axes()
    for label, y in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        reference(ax, (0, 1), (y, y), label)
    assert sorted((line.get_label(), line.get_ydata()[0]) for line in ax.lines) == [("a", 3.0), ("b", 2.0)]
    assert models(ax) == 0


def test_ends_hold_the_models_that_are_there_and_nothing_but_them():
    ax = axes()
    ax.set(xlim=(-1.0, 2.0), ylim=(-3.0, 0.5))
    assert with_earlier(ax, (0.0, 1.0), (0.0, 1.0)) == ((0.0, 1.0), (0.0, 1.0))
    Look("one").line(ax, [0, 1], [0, 1])
    ax.set(xlim=(-1.0, 2.0), ylim=(-3.0, 0.5))
    assert with_earlier(ax, (0.0, 1.0), (0.0, 1.0)) == ((-1.0, 2.0), (-3.0, 1.0))
    assert with_earlier(ax, (-2.0, 3.0), (-4.0, 5.0)) == ((-2.0, 3.0), (-4.0, 5.0))


def test_colours_of_a_page_are_its_own_and_elsewhere_those_of_the_style():
    with mpl.rc_context(STYLE):
        assert [colour(name) for name in COLOURS] == list(COLOURS.values())
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["#112233", "#445566"]), "axes.facecolor": "#ffffff"}):
        named = {"curve": "#112233", "high": "#445566", "low": "#112233"}  # of two colours the third is the first again
        assert {name: colour(name) for name in named} == named
        assert colour("band") == _mixed("#112233", "#ffffff", 0.25)


@pytest.mark.parametrize(("share", "mixed"), [(0.0, 255), (0.2, 204), (0.6, 102), (1.0, 0)])
def test_a_mixed_colour_has_so_much_of_the_first(share, mixed):
    assert _mixed("#000000", "#ffffff", share) == to_hex(np.full(3, mixed / 255.0))


def test_a_picture_has_no_sheet_no_date_and_no_places_finer_than_a_hundredth_and_its_words_stay():
    figure = Figure(figsize=(2.0, 2.0))
    figure.text(0.12345, 0.5, "0.123456")
    text = as_svg(figure)
    assert text.startswith("<svg stroke-linejoin=")
    assert text.endswith("</svg>")
    assert "<style" not in text
    assert "<dc:date" not in text
    assert ">0.123456<" in text
    tags = re.findall(r"<[^>]*>", text)
    assert re.search(r"\d\.\d\d\b", "".join(tags))
    assert [tag for tag in tags if re.search(r"\d\.\d{3}", tag)] == []
