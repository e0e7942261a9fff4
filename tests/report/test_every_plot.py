"""Every plot: on axes of one's own, in one's own style, several models on one, in a journal's column, text as text."""

import itertools
import re
from functools import cache

import matplotlib as mpl
import matplotlib.style
import matplotlib.text
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import calibrant
from calibrant.report import DistanceChainDisplay
from calibrant.report.style import COLOURS, STYLE, colour

Y, P = calibrant.synthetic.temperature_family(600, 0.5, random_state=0)
MODELS = {"before": P, "after": P**1.3}


@cache
def of(kind, name):
    """A result of one of two models."""
    p = MODELS[name]
    if kind == "display":
        return calibrant.ReliabilityDisplay.from_predictions(Y, p)
    if kind == "levels":
        return calibrant.ReliabilityDisplay.from_predictions(Y, np.round(p, 1))
    if kind == "audit":
        return calibrant.audit(Y, p, n_resamples=0)
    if kind == "chain":
        return DistanceChainDisplay.from_predictions(Y, p)
    if kind == "panel":
        return calibrant.clinical_calibration(Y, p, random_state=0, n_resamples=99)
    if kind == "belt":
        return calibrant.decisions.calibration_belt(Y, p)
    if kind == "curve":
        found = calibrant.decision_curve(Y, p)
        return found, found.band(n_resamples=99, random_state=0)
    return calibrant.decisions.murphy_diagram(Y, p)


def with_band(which, ax, **look):
    curve, band = of("curve", which)
    return curve.plot(ax, band=band, **look)


PLOTS = {
    "audit": lambda which, ax, **look: of("audit", which).plot(ax, **look),
    "reliability": lambda which, ax, **look: of("display", which).plot(ax, **look).ax_,
    "levels": lambda which, ax, **look: of("levels", which).plot(ax, **look).ax_,
    "counts": lambda which, ax, **look: of("display", which).plot_counts(ax, **look),
    "counts of levels": lambda which, ax, **look: of("levels", which).plot_counts(ax, **look),
    "witness": lambda which, ax, **look: of("display", which).plot_witness(ax, **look),
    "chain": lambda which, ax, **look: of("chain", which).plot(ax, **look).ax_,
    "panel": lambda which, ax, **look: of("panel", which).plot(ax, **look),
    "belt": lambda which, ax, **look: of("belt", which).plot(ax, **look),
    "decision curve": lambda which, ax, **look: of("curve", which)[0].plot(ax, **look),
    "decision curve with its band": with_band,
    "Murphy": lambda which, ax, **look: of("murphy", which).plot(ax, **look),
}
every = pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)


def column(draw, *looks):
    """A journal's column with a plot of one model, or of two."""
    figure = Figure(figsize=(3.3, 3.0), layout="constrained")
    ax = figure.subplots()
    for name, look in zip(MODELS, looks, strict=False):
        assert draw(name, ax, **look) is ax
    return figure, ax


def legend(ax):
    return [] if ax.get_legend() is None else [text.get_text() for text in ax.get_legend().get_texts()]


def texts(figure):
    """All letters of a figure: what they say, and where."""
    figure.draw_without_rendering()
    shown = (each for each in figure.findobj(mpl.text.Text) if each.get_visible() and each.get_text().strip())
    found = {each.get_text(): each.get_window_extent() for each in shown}
    for ax in figure.axes:  # of labels of ticks only those within the axes are drawn
        for axis in (ax.xaxis, ax.yaxis):
            drawn = {tick.label1.get_text() for tick in axis._update_ticks() if tick.label1.get_visible()}
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                for label in (tick.label1, tick.label2):
                    if label.get_text() not in drawn and found.get(label.get_text()) is not None:
                        del found[label.get_text()]
    return found


def unread(figure):
    """What lies outside the figure, or on other letters."""
    found, inside = texts(figure), figure.bbox
    outside = [
        text
        for text, box in found.items()
        if min(box.x0 - inside.x0, box.y0 - inside.y0, inside.x1 - box.x1, inside.y1 - box.y1) < -1.0
    ]
    return outside + [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(found.items(), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1.0 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1.0
    ]


@pytest.mark.slow
@every
def test_one_model_or_two_fit_a_journals_column_and_no_letters_lie_on_others(draw):
    for looks in ([{}], [{"name": "before"}, {"name": "after"}]):
        figure, _ = column(draw, *looks)
        assert unread(figure) == []


@every
def test_two_models_are_told_apart_by_colour_and_dashes_in_the_readers_style(draw):
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["#112233", "#445566"]), "font.size": 7.0}):
        _, ax = column(draw, {"name": "before"}, {"name": "after"})
        _, alone = column(draw, {"name": "before"})
    one, other = (line for line in ax.lines if line.get_gid() == "calibrant model")
    assert [to_hex(each.get_color()) for each in (one, other)] == ["#112233", "#445566"]
    assert (one.get_linestyle(), one.get_marker()) != (other.get_linestyle(), other.get_marker())
    named = [text for text in legend(ax) if not text.startswith("act on")]
    assert [re.match("before|after", text)[0] for text in named] == ["before", "after"]
    assert ax.xaxis.label.get_size() == 7.0
    for ends in ("get_xlim", "get_ylim"):  # what is drawn first is not cut off
        assert getattr(ax, ends)()[0] <= getattr(alone, ends)()[0]
        assert getattr(ax, ends)()[1] >= getattr(alone, ends)()[1]
    references = [line.get_gid() for line in ax.lines if str(line.get_gid()).startswith("calibrant reference")]
    assert len(references) == len(set(references))


@every
def test_a_label_stands_in_the_legend_as_it_is_and_a_colour_is_kept(draw):
    _, ax = column(draw, {"label": "as it is", "color": "tab:green"}, {"color": "#123456"})
    assert [text for text in legend(ax) if not text.startswith("act on")] == ["as it is"]
    colours = [line.get_color() for line in ax.lines if line.get_gid() == "calibrant model"]
    assert colours == ["tab:green", "#123456"]
    with pytest.raises(calibrant.InputError, match="give one of the two"):
        column(draw, {"name": "a", "label": "b"})


@pytest.mark.slow
@every
def test_text_is_text_in_svg_and_pdf(draw, tmp_path):
    ax = draw("before", None)  # on a figure of ours: whatever matplotlib is set to
    words = {line for text in (ax.get_xlabel(), ax.get_ylabel(), *legend(ax)) for line in text.splitlines()}
    ax.figure.savefig(tmp_path / "one.svg")
    svg = (tmp_path / "one.svg").read_text()
    assert all(f">{word}<" in svg for word in words)
    with mpl.rc_context({"pdf.compression": 0}):
        ax.figure.savefig(tmp_path / "one.pdf")
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in pdf  # a font with its letters (type 42)
    assert b"/Subtype /Type3" not in pdf


@every
def test_letters_and_lines_can_be_told_from_the_ground_in_a_dark_style(draw):
    with mpl.style.context("dark_background"):
        figure, ax = column(draw, {})
        ground = np.mean(to_rgb(ax.get_facecolor()))
        figure.draw_without_rendering()
        for text in figure.findobj(mpl.text.Text):
            if text.get_text():
                assert abs(np.mean(to_rgb(text.get_color())) - ground) > 0.25, text
        for line in ax.lines:
            assert abs(np.mean(to_rgb(line.get_color())) - ground) > 0.15, line.get_label()


@pytest.mark.slow
def test_a_triptych_of_two_models_stands_on_axes_of_ones_own(tmp_path):
    figure = Figure(figsize=(3.3, 8.0), layout="constrained")
    axes = figure.subplots(3, 1)
    for name in MODELS:
        assert of("murphy", name).plot_triptych(axes, name=name) is figure
    assert unread(figure) == []
    assert [[re.match("before|after", text)[0] for text in legend(ax)] for ax in axes] == [["before", "after"]] * 3
    alone = of("murphy", "before").plot_triptych()
    alone.savefig(tmp_path / "three.svg")
    assert all(f">{ax.get_title()}<" in (tmp_path / "three.svg").read_text() for ax in alone.axes)
    assert unread(alone) == []


def test_pages_have_colours_of_their_own():
    with mpl.rc_context(STYLE | {"axes.prop_cycle": mpl.cycler(color=["k", "k", "k"])}):
        assert {name: colour(name) for name in COLOURS} == COLOURS


def test_panels_of_one_of_several_models_have_no_numbers_in_their_titles():
    found = of("murphy", "before")
    named, alone = ([ax.get_title() for ax in found.plot_triptych(name=name).axes] for name in ("before", None))
    assert named == [each.partition(":")[0] for each in alone] != alone
