"""Several models on one Axes, in the reader's own style, in a journal's column; text stays text."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import calibrant

Y, P = calibrant.synthetic.temperature_family(1_000, 0.5, random_state=0)
DISPLAY = calibrant.ReliabilityDisplay


def column():
    figure = Figure(figsize=(3.3, 3.0), layout="constrained")
    ax = figure.subplots()
    DISPLAY.from_predictions(Y, P, ax=ax, name="before")
    DISPLAY.from_predictions(Y, P**1.3, ax=ax, name="after")
    return figure, ax


def test_two_models_are_told_apart_by_colour_and_dashes_and_the_axes_hold_both():
    figure, ax = column()
    one, other = (line for line in ax.lines if line.get_label() in ("before", "after"))
    usual = [to_hex(color) for color in mpl.rcParams["axes.prop_cycle"].by_key()["color"][:2]]
    assert [to_hex(each.get_color()) for each in (one, other)] == usual
    assert one.get_linestyle() != other.get_linestyle()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
    assert sum(line.get_gid() == "calibrant diagonal" for line in ax.lines) == 1
    for p in (P, P**1.3):
        alone = DISPLAY.from_predictions(Y, p, name="x").ax_
        assert ax.get_xlim()[0] <= alone.get_xlim()[0]
        assert ax.get_xlim()[1] >= alone.get_xlim()[1]
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["#112233", "#445566"]), "lines.linewidth": 3.0}):
        _, ax = column()
    assert [to_hex(line.get_color()) for line in ax.lines if line.get_label() in ("before", "after")] == [
        "#112233",
        "#445566",
    ]
    assert ax.lines[-1].get_linewidth() == 3.0
    figure.draw_without_rendering()
    box, inside = figure.axes[0].get_tightbbox(), figure.bbox  # with all letters
    assert min(box.x0 - inside.x0, box.y0 - inside.y0, inside.x1 - box.x1, inside.y1 - box.y1) > -1.0


def test_text_is_text_in_svg_and_pdf(tmp_path):
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "pdf.compression": 0}):
        figure, _ = column()
        figure.savefig(tmp_path / "two.svg")
        figure.savefig(tmp_path / "two.pdf")
    svg = (tmp_path / "two.svg").read_text()
    assert all(f">{word}<" in svg for word in ("before", "after", "prediction", "observed rate"))
    assert b"/FontFile2" in (tmp_path / "two.pdf").read_bytes()  # a font with its letters, not outlines


@pytest.mark.parametrize("rows", [(Y, P), (Y[:200], np.round(P[:200], 1))])
def test_an_audit_is_drawn_likewise_and_a_colour_is_kept(rows):
    audit = calibrant.audit(*rows, n_resamples=0)
    ax = audit.plot(name="model", color="tab:green")
    (line,) = (line for line in ax.lines if line.get_label() == "model")
    assert line.get_color() == "tab:green"
    assert (line.get_marker() == "None") == (audit.reliability.kind == "curve")
