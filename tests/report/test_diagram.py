"""The diagram: two curves, weight that follows the rows, sides told apart without colour, the headline's examples."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant import audit, corp_decomposition
from calibrant.report.diagram import (
    _BESIDE,
    _LETTER,
    MOST_EVIDENCE,
    STYLE,
    _drift_figure,
    _ticks,
    diagram,
    draw_curves,
    draw_density,
    draw_diagram,
    draw_named,
    legend,
)
from calibrant.report.frame import limits
from calibrant.report.style import Look


def sample(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.beta(0.8, 2.0, n)
    return (rng.random(n) < v**1.5).astype(float), v


@pytest.mark.slow
def test_the_dotted_line_is_the_corp_curve():
    y, v = sample()
    table, corp = audit(y, v, random_state=0, n_resamples=39).reliability, corp_decomposition(y, v)
    after = np.searchsorted(corp.prediction, table.prediction).clip(0, corp.prediction.size - 1)
    before = np.maximum(after - 1, 0)
    assert (table.isotonic <= corp.recalibrated[after] + 1e-12).all()
    assert (table.isotonic >= corp.recalibrated[before] - 1e-12).all()
    assert (np.diff(table.isotonic) >= 0.0).all()
    five = np.round(v * 5) / 5
    levels = audit(y, five, random_state=0, n_resamples=39).reliability
    assert levels.kind == "levels"
    assert levels.isotonic == pytest.approx(corp_decomposition(y, five).recalibrated)


@pytest.mark.slow
def test_the_headline_is_marked_and_lines_are_told_apart_in_grey():
    y, v = sample()
    found = audit(y, v, random_state=0, n_resamples=39)
    ax = found.plot()
    handles, labels = ax.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    assert {"calibrated", "95% band", "isotonic", "estimated rate", "headline"} <= set(named)
    assert len({named[each].get_linestyle() for each in ("isotonic", "estimated rate")}) == 2
    (ring,) = [line for line in ax.lines if line.get_label() == "headline"]
    first = found.answer.examples[0]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (first.predicted, first.estimate)
    assert "headline" not in draw_diagram(found).get_legend_handles_labels()[1]


@pytest.mark.slow
def test_single_rows_far_away_do_not_stretch_the_axes_and_no_line_crosses_a_gap():
    rng = np.random.default_rng(1)
    v = np.append(rng.beta(0.5, 80.0, 4000), [0.6, 0.9])
    y = (rng.random(v.size) < v).astype(float)
    found, without = (audit(y[:n], v[:n], random_state=0, n_resamples=39) for n in (4002, 4000))
    low, high = limits(found)
    assert low <= 0.0 < high < 0.1
    assert found.plot().get_ylim()[1] < 1.2 * without.plot().get_ylim()[1]
    apart = np.where(rng.random(800) < 0.5, rng.uniform(0.1, 0.3, 800), rng.uniform(0.7, 0.9, 800))
    ax = audit((rng.random(800) < apart) * 1.0, apart, random_state=0, n_resamples=39).plot()
    (line,) = [each for each in ax.lines if each.get_label() == "estimated rate"]
    x, y = line.get_xdata(), line.get_ydata()
    assert np.isnan(y[(x > 0.31) & (x < 0.69)]).all()
    assert np.isfinite(y[(x > 0.11) & (x < 0.29)]).all()


@pytest.mark.slow
def test_the_cursor_is_told_where_the_axis_lies_in_the_picture():
    picture, (left, right), ends = diagram(audit(*sample(300), random_state=0, n_resamples=39))
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', picture)
    spine = picture.partition('<g id="axes_1">')[2].partition('<path d="')[2].partition('"')[0]  # the background
    across = [float(x) for x, _ in re.findall(r"[ML] ([\d.]+) ([\d.]+)", spine)]
    assert (left, right) == pytest.approx((min(across) / float(width), max(across) / float(width)), abs=1e-4)
    assert ends == (0.0, 1.0)


def test_one_prediction_with_nearly_all_weight_has_a_bar():
    v = np.r_[0.5, np.linspace(0.01, 0.99, 40)]
    found = audit(np.ones(41), v, sample_weight=np.r_[1e4, np.ones(40)], n_resamples=0)
    assert found.reliability.prediction.size == 1
    ax = Figure().subplots()
    draw_density(found, ax)
    (bar,) = ax.patches
    assert bar.get_height() == found.reliability.count[0] > 0


@pytest.mark.parametrize("width", [1.0, 3.0, 9.0])
def test_a_legend_has_as_many_columns_as_there_is_room_for(width):
    figure = Figure(figsize=(width, 3.0))
    ax = figure.add_subplot()
    for name in ("calibrated", "isotonic", "estimated rate"):
        ax.plot([0, 1], [0, 1], label=name)
    legend(ax)
    drawn = ax.get_legend()
    assert drawn._ncols == 1 or drawn.get_window_extent().width <= ax.bbox.width
    if drawn._ncols < 3:
        more = ax.legend(ncols=drawn._ncols + 1, fontsize="small", handlelength=1.4, columnspacing=0.9, frameon=False)
        assert more.get_window_extent().width > 0.9 * ax.bbox.width


@pytest.mark.parametrize("low", range(1, 10))
@pytest.mark.parametrize("high", range(1, 10))
def test_an_axis_of_log_odds_has_three_to_six_ticks_inside_it(low, high):
    ends = 10.0**-low, 1.0 - 10.0**-high
    ticks = _ticks(*ends)
    assert 3 <= len(ticks) <= 6
    assert ticks == sorted(set(ticks))
    assert ends[0] <= ticks[0] < ticks[-1] <= ends[1]
    assert {0.1, 0.5, 0.9} <= set(ticks)


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.01, 0.99), [0.01, 0.1, 0.5, 0.9, 0.99]),
        ((1e-4, 0.99), [1e-4, 0.01, 0.1, 0.5, 0.9, 0.99]),  # six, of every second power of ten
        ((1e-3, 0.999), [0.01, 0.1, 0.5, 0.9, 0.99]),  # all seven would be too many
        ((0.15, 0.85), [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),  # of one power of ten its parts as well
        ((0.06, 0.5), [0.1, 0.2, 0.3, 0.4, 0.5]),
        ((0.01, 0.1), [0.01, 0.02, 0.05, 0.1]),
        ((0.01, 0.5), [0.01, 0.1, 0.5]),
    ],
)
def test_ticks_are_as_many_powers_of_ten_as_there_is_room_for(ends, ticks):
    assert _ticks(*ends) == pytest.approx(ticks)


def periods(*names, level=0.05):
    reading = SimpleNamespace(evalue=2.0)
    rates = {"reading": reading, "base_rate": 0.3, "mean_prediction": 0.2}
    return SimpleNamespace(level=level, periods=[SimpleNamespace(period=name, **rates) for name in names])


def test_the_line_of_the_drift_is_the_evidence_that_rejects():
    evidence, line = _drift_figure(periods("a", "b", level=0.04), 6.0).axes[1].lines
    assert evidence.get_ydata() == pytest.approx([2.0, 2.0])
    assert line.get_ydata() == pytest.approx([25.0, 25.0])


@pytest.mark.parametrize("names", [("a", "long names"), ("a", "long names", "b"), ("long names", "a", "b", "c", "d")])
def test_periods_are_named_where_the_longest_name_has_room(names):
    needed = STYLE["font.size"] * (_LETTER * 10 + 1) * (len(names) - 1) / 72.0
    for part, shown in ((1.01, 1), (0.99, 2)):
        labels = _drift_figure(periods(*names), _BESIDE + part * needed).axes[1].get_xticklabels()
        assert [label.get_text() for label in labels] == list(names[::shown])


def test_evidence_beyond_a_million_millions_is_drawn_there():
    shown = periods("a", "b", "c")
    for each, evalue in zip(shown.periods, (0.0, 5.0, 1e30), strict=True):
        each.reading = SimpleNamespace(evalue=evalue)
    assert _drift_figure(shown, 6.0).axes[1].lines[0].get_ydata() == pytest.approx([1e-12, 5.0, 1e12])
    assert MOST_EVIDENCE == 1e12  # as the page's words have it


def drawable(kind="levels", band=True, v=(0.3, 0.5, 0.7), axis="linear", base_rate=0.4, count=None):
    """What a diagram is drawn of, with outcomes that are a tenth above predictions."""
    v = np.array(v)
    n = np.full(v.size, 10.0) if count is None else np.array(count, float)
    ends = (v + 0.05, v + 0.15) if band else (None, None)
    table = {"kind": kind, "axis": axis, "prediction": v, "outcome": v + 0.1, "isotonic": v + 0.08, "count": n}
    table |= {"mass": n / n.sum(), "band_lower": ends[0], "band_upper": ends[1]}
    return SimpleNamespace(
        reliability=SimpleNamespace(**table), base_rate=base_rate, level=0.05, witness=SimpleNamespace(value=0.0123)
    )


@pytest.mark.parametrize("kind", ["curve", "levels"])
@pytest.mark.parametrize("band", [False, True])
@pytest.mark.parametrize("v", [(0.5,), (0.3, 0.5, 0.7)])
def test_a_diagram_names_what_it_draws(kind, band, v):
    ax = draw_diagram(drawable(kind, band, v))
    drawn = {each.get_label() for each in (*ax.lines, *ax.collections) if not each.get_label().startswith("_")}
    named = {"calibrated", "estimated rate", *(["95% band"] if band else [])}
    assert drawn == {*named, *(["isotonic"] if kind == "curve" or len(v) > 1 else [])}
    estimated = "lines" if kind == "curve" else "collections"
    assert [each.get_label() for each in getattr(ax, estimated)].count("estimated rate") == 1


@pytest.mark.parametrize(
    ("axis", "base_rate", "shown"), [("linear", 0.02, 1), ("log-odds", 0.4, 1), ("log-odds", 0.02, 0)]
)
def test_the_base_rate_is_marked_at_the_right_side_where_the_axis_has_it(axis, base_rate, shown):
    ax = draw_diagram(drawable(axis=axis, base_rate=base_rate))
    assert [each.xy[1] for each in ax.texts if each.get_text() == "base rate"] == [base_rate] * shown
    marks = [line for line in ax.lines if set(line.get_ydata()) == {base_rate}]
    assert [line.get_xdata()[1] for line in marks] == pytest.approx([ax.get_xlim()[1]] * shown)


@pytest.mark.parametrize("kind", ["curve", "levels"])
@pytest.mark.parametrize("band", [False, True])
def test_one_of_several_models_has_a_line_or_points_and_its_band(kind, band):
    ax = draw_named(drawable(kind, band), None, Look("mine"))
    (model,) = [line for line in ax.lines if line.get_gid() == "calibrant model"]
    assert (model.get_linestyle() == "None") == (kind == "levels")
    assert model.get_label() == "mine (smooth error 0.012)"
    shades = [each for each in ax.collections if each.get_paths() and each.get_paths()[0].vertices.size]
    assert len(shades) == band
    if band:  # between the points of a curve, at each of other points
        assert (type(shades[0]).__name__ == "LineCollection") == (kind == "levels")


@pytest.mark.parametrize(("most", "log"), [(300, False), (301, True), (4000, True)])
def test_counts_are_drawn_by_powers_of_ten_where_the_largest_is_over_thirty_times_the_middle_one(most, log):
    ax = Figure().subplots()
    draw_density(drawable(count=(10, most, 10)), ax)
    assert (ax.get_yscale(), ax.get_ylabel()) == (("log", "rows (log)") if log else ("linear", "rows"))
    assert [bar.get_height() for bar in ax.patches] == [10, most, 10]
    assert [bar.get_x() + bar.get_width() / 2.0 for bar in ax.patches] == pytest.approx([0.3, 0.5, 0.7])
    assert ax.get_ylim()[0] == (0.7 if log else 0.0)
    assert most < ax.get_ylim()[1] <= 2 * most


@pytest.mark.parametrize(("points", "bars"), [(2, 1), (7, 1), (8, 2), (100, 25), (200, 50), (400, 50)])
def test_a_curve_has_a_bar_for_four_of_its_points_and_fifty_at_most(points, bars):
    ax = Figure().subplots()
    draw_density(drawable("curve", v=np.linspace(0.1, 0.8, points)), ax)
    assert len(ax.patches) == bars
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(10 * points)


@pytest.mark.parametrize("axes", [("linear", "linear"), ("log-odds", "log-odds"), ("linear", "log-odds")])
def test_curves_of_several_stand_on_the_axis_that_all_have_by_lines_or_points(axes):
    audits = [drawable(kind, axis=axis) for kind, axis in zip(("curve", "levels"), axes, strict=True)]
    names = ("x" * 40, "a name of several words that is long")
    ax = draw_curves(SimpleNamespace(audits=audits, names=names), Figure().subplots())
    assert ax.get_xscale() == ("logit" if axes == ("log-odds", "log-odds") else "linear")
    assert [each.get_label() for each in ax.lines if not each.get_label().startswith("_")] == ["calibrated", "x" * 22]
    assert [each.get_label() for each in ax.collections] == ["a name of several..."]
