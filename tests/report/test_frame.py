"""What part of the axis a picture shows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant import audit, corp_decomposition
from calibrant.findings.regions import Region
from calibrant.report.diagram import _draw_examples, figure
from calibrant.report.frame import beyond, heights, limits, near_an_end, place, probability


def audited(low, high, n=300):
    rng = np.random.default_rng(0)
    v = rng.uniform(low, high, n)
    return audit((rng.random(n) < v).astype(float), v, n_resamples=0, random_state=0)


def test_the_curve_fits_its_axes_and_these_fill_the_picture():
    rng = np.random.default_rng(0)
    v = rng.beta(1.2, 58.0, 4_000)
    found = audit((rng.random(4_000) < 1.6 * v).astype(float), v, n_resamples=0, random_state=0)
    fig = figure(found)
    fig.draw_without_rendering()
    ax, below = fig.axes[:2]
    table = found.reliability
    shown = table.prediction <= ax.get_xlim()[1]
    assert np.nanmax(table.outcome[shown]) <= ax.get_ylim()[1]
    assert ax.get_position().height > 2.0 * below.get_position().height
    assert ax.get_position().y0 - below.get_position().y1 < 0.05


def test_at_the_ends_of_log_odds_both_curves_are_means_of_what_lies_beyond():
    rng = np.random.default_rng(0)
    v = expit(rng.normal(0.0, 12.0, 3_000))
    y = (rng.random(3_000) < expit(0.3 * logit(v.clip(1e-12, 1.0 - 1e-12)))).astype(float)
    table, corp = audit(y, v, n_resamples=0, random_state=0).reliability, corp_decomposition(y, v)
    assert table.axis == "log-odds"
    last = table.prediction[-1]
    beyond_it = np.interp(v[v >= last], corp.prediction, corp.recalibrated)
    assert beyond_it.size > 300
    assert abs(table.isotonic[-1] - beyond_it.mean()) < 0.01


def test_predictions_that_are_spread_have_the_whole_axis_and_narrow_ones_their_part():
    wide, narrow = audited(0.2, 0.8), audited(0.01, 0.03)
    assert limits(wide) == (0.0, 1.0)
    assert beyond(wide) == 0.0
    low, high = limits(narrow)
    assert 0.0 <= low < 0.0105 < 0.0295 < high < 0.1
    assert beyond(narrow) <= 0.02


class Recorded:
    """Axes that remember what is drawn."""

    def __init__(self):
        self.drawn = []

    def plot(self, x, y, **look):
        self.drawn.append((list(x), list(y), look.get("label"), look.get("lw")))


def test_an_example_has_a_ring_and_where_it_is_a_range_a_bar_within_the_axis():
    fields = dict.fromkeys(Region.__dataclass_fields__, 0.5)
    alone, ranged = (Region(**{**fields, "low": low, "high": 0.5}) for low in (0.5, 0.1))
    ax = Recorded()
    _draw_examples([alone, ranged], ax, -0.1, (0.2, 0.9))
    assert [(x, y) for x, y, *_ in ax.drawn] == [([0.5], [0.5]), ([0.5], [0.5]), ([0.2, 0.5], [-0.1, -0.1])]
    assert [label for _, _, label, _ in ax.drawn] == ["headline", None, None]


@pytest.mark.parametrize("value", [1e-9, 3e-5, 1e-4, 0.0123, 0.5, 0.98765, 1.0 - 1e-4, 1.0 - 3e-5, 1.0 - 1e-9])
def test_a_probability_is_told_as_a_number_or_by_its_distance_from_an_end(value):
    said = near_an_end(value)
    tail = min(value, 1.0 - value)
    if tail < 0.8e-4:
        told = float(said.removeprefix("1-"))
        assert said.startswith("1-") == (value > 0.5)
        assert told == pytest.approx(tail, rel=0.5)
    else:
        assert float(said) == pytest.approx(value, rel=5e-4)


def test_heights_in_log_odds_have_equal_margins_in_log_odds():
    rng = np.random.default_rng(0)
    v = np.tile([0.1, 0.5], 100)
    table = audit((rng.random(v.size) < v).astype(float), v, n_resamples=0, random_state=0).reliability
    table = replace(table, axis="log-odds")
    low, high = 1e-6, 0.99
    bottom, top = logit(heights(table, low, high, [low, high]))
    pad = 0.06 * (logit(high) - logit(low)) + 0.1
    assert (bottom, top) == pytest.approx((logit(low) - pad, logit(high) + pad))


def test_places_of_log_odds_are_log_odds_and_back():
    values = [0.0, 1e-12, 0.3, 0.5, 1.0]
    assert place(values, "linear").tolist() == values
    assert place(values, "log-odds") == pytest.approx([-np.inf, *logit(values[1:4]), np.inf])
    places = np.array([-3.0, 0.0, 0.5])
    assert probability(places, "linear").tolist() == places.tolist()
    assert probability(places, "log-odds") == pytest.approx(expit(places))


def table_of(*v, axis="linear", mass=None, outcome=None):
    v = np.array(v)
    mass = np.full(v.size, 1.0 / v.size) if mass is None else np.array(mass)
    outcome = v if outcome is None else np.array(outcome)
    none = {"band_lower": None, "band_upper": None}
    return SimpleNamespace(axis=axis, prediction=v, outcome=outcome, isotonic=v, mass=mass, **none)


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.0, 0.5, (-0.012 * 0.5, 0.5 + 0.03 * 0.5)),
        (0.2, 0.7, (0.2 - 0.03 * 0.5, 0.7 + 0.03 * 0.5)),
        (0.5, 1.0, (0.5 - 0.03 * 0.5, 1.0 + 0.012 * 0.5)),
    ],
)
def test_heights_end_beside_what_they_hold_and_right_beside_0_and_1(low, high, ends):
    assert heights(table_of(0.5), low, high, []) == pytest.approx(ends)
    assert heights(table_of(0.5), low, high, [(low + high) / 2.0]) == pytest.approx(ends)


def test_limits_of_log_odds_leave_room_on_both_sides_and_end_below_1():
    odds = np.array([-3.0, 1.0])
    pad = 0.03 * 4.0 + 0.05
    assert logit(limits(SimpleNamespace(reliability=table_of(*expit(odds), axis="log-odds")))) == pytest.approx(
        [-3.0 - pad, 1.0 + pad]
    )
    assert limits(SimpleNamespace(reliability=table_of(0.5, 1.0 - 1e-16, axis="log-odds")))[1] < 1.0


@pytest.mark.parametrize(("share", "told"), [(0.0, 0.0), (1e-10, 0.0), (1e-8, 1e-8), (0.01, 0.01)])
def test_a_share_of_the_weight_beyond_the_axis_is_told_where_it_is_none_of_rounding(monkeypatch, share, told):
    monkeypatch.setattr("calibrant.report.frame.limits", lambda _: (0.0, 0.5))
    audit = SimpleNamespace(reliability=table_of(0.1, 0.5, 0.6, mass=[0.3, 0.7 - share, share]))
    assert beyond(audit) == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.99e-4, "9.9e-05"),
        (0.81e-4, "8.1e-05"),
        (0.79e-4, "8e-5"),
        (1.0 - 0.81e-4, "0.9999"),
        (1.0 - 0.79e-4, "1-8e-5"),
    ],
)
def test_powers_of_ten_are_told_of_what_rounds_to_less_than_a_ten_thousandth(value, said):
    assert near_an_end(value) == said
