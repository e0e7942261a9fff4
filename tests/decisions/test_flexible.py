"""The flexible curve's parts: where it is fitted, the noise of rows, and what intervals are read from its band."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.decisions import flexible
from calibrant.decisions.cases import Cases
from calibrant.decisions.flexible import Reach, _between, _binomials, _expected, _quantile, fitted_places, smoothed


def drawn(n=80, decimals=2):
    rng = np.random.default_rng(0)
    v = np.round(rng.random(n), decimals)
    return (rng.random(n) < v**1.5).astype(float), v


@pytest.fixture
def band(monkeypatch):
    """A band half a point to either side, and errors of which 0.02 may be noise."""

    def reach(_cases, fit, *_):
        return Reach(fit.fitted - 0.005, fit.fitted + 0.01, 0.03, 0.02)

    monkeypatch.setattr(flexible, "reach", reach)


@pytest.mark.usefixtures("band")
@pytest.mark.parametrize("spline", [False, True])
def test_places_and_values_are_those_of_the_smoothed_curve_without_rows_of_no_weight(spline):
    y, v = drawn()
    w = np.arange(80) % 5 / 4.0
    held = Cases.read(y, v, w)
    places, values = fitted_places(held, spline)
    whole = smoothed(held, 0.05, 39, 0, spline=spline)
    assert places.tolist() == whole.prediction.tolist()
    assert values == pytest.approx(whole.fitted)
    kept, kept_values = fitted_places(Cases.read(y[w > 0], v[w > 0], w[w > 0]), spline)
    assert kept.tolist() == places.tolist()
    if spline:  # lowess counts rows, however much they weigh
        assert kept_values == pytest.approx(values)
    assert not np.allclose(values, fitted_places(held, not spline)[1])


@pytest.mark.parametrize("known", [[0.3], [0.1, 0.3, 0.8]])
def test_columns_between_known_places_are_interpolated_and_ends_kept(known):
    columns = np.random.default_rng(0).random((4, len(known)))
    at = np.array([0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0])
    expected = [np.interp(at, known, row) for row in columns]
    assert _between(columns, np.array(known), at) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_quantile_is_that_of_rows_or_the_least_value_with_its_share_of_the_weight(share):
    values, weight = np.array([0.3, 0.1, 0.4, 0.2]), np.array([1.0, 3.0, 2.0, 4.0])
    assert _quantile(values, share, weight, True) == np.quantile(np.repeat(values, weight.astype(int)), share)
    at_most = [weight[values <= each].sum() / weight.sum() for each in values]
    least = min(each for each, below in zip(values, at_most, strict=True) if below >= share)
    assert _quantile(values, share, weight, False) == least


@pytest.mark.parametrize(("level", "n"), [(0.05, 39), (0.2, 9), (0.05, 99)])
def test_the_band_of_single_rows_is_the_largest_noise_in_units_of_its_spread(level, n, monkeypatch):
    """The rank of the quantile counts the rows themselves as one draw more."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(n, 3)) * [0.1, 0.2, 0.4]
    monkeypatch.setattr(flexible, "resampled", lambda *_: noise)
    x = np.array([0.1, 0.4, 0.9])
    y, v = np.tile([0.0, 1.0, 0.0], 3), np.repeat(x, 3)
    fit = flexible.Fit(
        x, np.arange(3), x + 0.05, np.arange(3), np.eye(3), np.array([0.3, 0.1, 0.2]), np.full(3, 1 / 3), x
    )
    found = flexible.reach(Cases.read(y, v), fit, level, n, 0)
    spread = np.sqrt((noise**2).mean(axis=0) + fit.one_row**2)
    place = round((1.0 - level) * (n + 1)) - 1  # whole numbers
    half = np.sort((np.abs(noise) / spread).max(axis=1))[place] * spread
    assert found.upper - fit.fitted == pytest.approx(half)
    assert fit.fitted - found.lower == pytest.approx(half)
    assert found.off == found.calibrated == pytest.approx(np.sort(np.abs(noise).mean(axis=1))[place])


def test_rows_of_a_cell_are_drawn_at_the_chance_that_has_their_mean_variance():
    """Of each row the larger of the variances at the curve and at the prediction; the chance is on the curve's side."""
    x, curve = np.array([0.1, 0.2, 0.6, 0.7, 0.5]), np.array([0.2, 0.1, 0.7, 0.9, 0.5])
    count, cell = np.array([1.0, 3.0, 2.0, 2.0, 4.0]), np.array([0, 0, 1, 1, 2])
    fit = SimpleNamespace(x=x, curve=curve, cell=cell, mass=np.zeros(3), shares=np.eye(3))
    drawn_at = []

    def binomial(n, p):
        drawn_at.append((n.tolist(), p))
        return n * p + 1.0

    draw = _binomials(SimpleNamespace(sample=SimpleNamespace(count=count)), fit)
    found = draw(SimpleNamespace(binomial=binomial))
    ((rows, chance),) = drawn_at
    assert rows == [4, 4, 4]
    variance = np.maximum(curve * (1 - curve), x * (1 - x))
    expected = [np.average(variance[cell == k], weights=count[cell == k]) for k in range(3)]
    assert chance * (1.0 - chance) == pytest.approx(expected)
    assert (chance < 0.5).tolist() == [True, False, False]
    assert chance[2] == 0.5
    assert found == pytest.approx(np.full(3, 0.25))  # one event more of four rows


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_the_expected_variance_is_that_of_outcomes_of_which_events_are_heavier(shift):
    rng = np.random.default_rng(2)
    chance, weight, cell = rng.random(7), rng.random(7), np.arange(7) % 3
    shares = rng.random((2, 3))
    odds = np.exp(shift) * chance / (1.0 - chance)
    heavy = odds / (1.0 + odds)
    own = heavy * (1.0 - chance) ** 2 + (1.0 - heavy) * chance**2
    expected = [sum((shares[a, cell[i]] * weight[i]) ** 2 * own[i] for i in range(7)) for a in range(2)]
    fit = SimpleNamespace(shares=shares, mass=np.zeros(3))
    assert _expected(chance, shift, weight, cell, fit) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("off", "calibrated", "low", "high"),
    [
        (0.03, 0.0, -0.03, 0.03),
        (0.03, 1.0, None, 0.03),  # no larger than of calibrated predictions: it may be none
        (2.0, 0.0, None, None),
        (np.inf, 0.0, None, None),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_read_off_the_band_and_lie_between_none_and_one(off, calibrated, low, high, weighted, monkeypatch):
    monkeypatch.setattr(
        flexible, "reach", lambda _, fit, *_rest: Reach(fit.fitted - 0.1, fit.fitted + 1.5, off, calibrated)
    )
    y, v = drawn()
    w = 0.5 + np.arange(80) % 3 if weighted else None
    found = smoothed(Cases.read(y, v, w), 0.05, 39, 0)
    ici = found.ici.value
    curve = np.interp(v, found.prediction, found.fitted)
    assert ici == pytest.approx(np.average(np.abs(curve - v), weights=w))
    assert found.ici.interval.low == pytest.approx(0.0 if low is None else ici + low)
    assert found.ici.interval.high == pytest.approx(1.0 if high is None else ici + high)
    lower, upper = (np.interp(v, found.prediction, np.clip(found.fitted + end, -1.0, 2.0)) for end in (-0.1, 1.5))
    least, most = np.maximum(np.maximum(lower - v, v - upper), 0.0), np.minimum(np.maximum(v - lower, upper - v), 1.0)
    assert found.emax.interval.low == pytest.approx(least.max())
    assert found.emax.interval.high == pytest.approx(most.max())
    if not weighted:
        for each, share in ((found.e50, 0.5), (found.e90, 0.9)):
            assert each.value == pytest.approx(np.quantile(np.abs(curve - v), share))
            assert tuple(each.interval) == pytest.approx((np.quantile(least, share), np.quantile(most, share)))


def test_a_curve_without_noise_says_that_all_is_possible():
    y, v = drawn()
    found = smoothed(Cases.read(y, v), 0.05, 39, 0).without_noise()
    assert ((found.lower == 0.0) & (found.upper == 1.0)).all()
    assert {tuple(each.interval) for each in (found.ici, found.e50, found.e90, found.emax)} == {(0.0, 1.0)}


@pytest.mark.parametrize("kind", ["rows", "weights", "groups"])
def test_the_noise_of_weights_and_groups_is_that_of_whole_units(kind, monkeypatch):
    monkeypatch.setattr(flexible, "_of_units", lambda *_: "units")
    monkeypatch.setattr(flexible, "resampled", lambda *_: np.ones((39, 1)))
    y, v = drawn()
    w, unit = np.arange(80) % 3 + 1.0 if kind == "weights" else None, np.arange(80) // 2 if kind == "groups" else None
    x = np.unique(v)
    cell, one = np.zeros(x.size, int), np.ones(1)
    fit = flexible.Fit(x, np.zeros(1, int), x[:1], cell, one[:, None], one, one, x[:1])
    found = flexible.reach(Cases.read(y, v, w, None, unit), fit, 0.05, 39, 0)
    assert (found == "units") == (kind != "rows")


def test_the_band_is_asked_for_at_the_level_and_with_the_draws_that_were_given(monkeypatch):
    asked = []
    real = flexible.reach
    monkeypatch.setattr(flexible, "reach", lambda *given: asked.append(given[2:]) or real(*given))
    smoothed(Cases.read(*drawn(20)), 0.1, 39, 7)
    assert asked == [(0.1, 39, 7)]
