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
    STYLE,
    _drift_figure,
    _ticks,
    diagram,
    draw_density,
    draw_diagram,
    legend,
)
from calibrant.report.frame import limits


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
