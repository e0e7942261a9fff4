"""Cases that were drawn independently: what rows, weights, trials and groups are worth, by their definitions."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, t

from calibrant import InputError, Interval
from calibrant.decisions import clinical, curve
from calibrant.decisions.cases import Cases, weight_shift
from calibrant.decisions.clinical import _error, _few_groups, _freedom, _newcombe, _reaching, _sizes, c_statistic
from calibrant.decisions.curve import _evenly, band_of
from calibrant.decisions.line import Estimate

Y = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
V = np.array([0.1, 0.4, 0.7, 0.2, 0.6, 0.3])
W = np.array([1.0, 3.0, 2.0, 1.0, 1.0, 4.0])
GROUP = np.array([0, 0, 1, 1, 2, 2])
KINDS = {"rows": (None, None), "weights": (W, None), "groups": (None, GROUP), "both": (W, GROUP)}


def kish(x):
    return x.sum() ** 2 / (x**2).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_worth_as_many_equal_ones_as_have_the_same_variance(kind):
    w, group = KINDS[kind]
    held = Cases.read(Y, V, w, None, group)
    mass, of = np.ones(6) if w is None else w, np.arange(6) if group is None else group
    rows, events, others = (kish(np.bincount(of, mass * each)) for each in (np.ones(6), Y, 1.0 - Y))
    assert held.effective_units == pytest.approx(rows)
    assert held.effective_outcomes == pytest.approx((events, others))
    least = min((rows, "rows"), (events, "events"), (others, "non-events"))
    assert held.worth == (pytest.approx(least[0]), least[1])
    assert held.n_units == of.max() + 1
    assert held.plain == (kind == "rows")
    assert held.weight == pytest.approx(mass / mass.sum())
    for level in (0.05, 0.3):
        normal, student = norm.ppf(1.0 - level / 2.0), t.ppf(1.0 - level / 2.0, max(least[0] - 1.0, 1.0))
        assert held.normal_quantile(level) == pytest.approx(normal if kind == "rows" else student)


def test_trials_are_rows_of_their_own_weight_and_group():
    trials, shares = np.array([2.0, 3.0]), np.array([0.5, 1.0])
    held = Cases.read(shares, [0.6, 0.2], [2.0, 1.0], trials, ["a", "b"])
    assert held.w.tolist() == [4.0, 3.0]
    single = held.single()
    assert (single.y.tolist(), single.v.tolist()) == ([1.0, 1.0, 1.0, 0.0, 1.0], [0.2, 0.2, 0.2, 0.6, 0.6])
    assert (single.w.tolist(), single.unit.tolist()) == ([1.0, 1.0, 1.0, 2.0, 2.0], [1, 1, 1, 0, 0])
    equal = Cases.read(shares, [0.6, 0.2], None, trials).single()
    assert (equal.w, equal.unit, equal.trials) == (None, None, None)
    assert equal.y.size == 5
    assert Cases.read(Y, V, W).single().w.tolist() == W[np.argsort(V)].tolist()


def test_a_column_is_copied():
    y, v, w = Y.copy(), V.copy(), W.copy()
    held = Cases.read(y, v, w)
    y[:], v[:], w[:] = 0.5, 0.5, 9.0
    assert (held.y.tolist(), held.v.tolist(), held.w.tolist()) == (Y.tolist(), V.tolist(), W.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_a_standard_error_is_that_of_a_sum_over_units(kind):
    w, group = KINDS[kind]
    held, of = Cases.read(Y, V, w, None, group), np.arange(6) if group is None else group
    sums = np.bincount(of, W - 2.0)
    assert _error(held, W - 2.0) == pytest.approx(math.sqrt(sums.size / (sums.size - 1) * (sums**2).sum()))
    assert _error(Cases.read([1], [0.3]), np.array([0.5])) == pytest.approx(0.5)  # of one draw nothing is subtracted


def concordance(y, v, level):
    """DeLong's by pairs of rows, with the degrees of freedom of Brunner and Munzel."""
    events, others = v[y == 1], v[y == 0]
    pairs = (events[:, None] > others) + 0.5 * (events[:, None] == others)
    area = pairs.mean()
    parts = [((pairs.mean(axis=axis) - area) ** 2).sum() / pairs.shape[1 - axis] ** 2 for axis in (1, 0)]
    free = sum(parts) ** 2 / sum(part**2 / (k - 1.0) for part, k in zip(parts, pairs.shape, strict=True))
    error = math.sqrt(y.size / (y.size - 1.0) * sum(parts))
    half = t.ppf(1.0 - level / 2.0, free) * error / (area * (1.0 - area))
    return area, expit(math.log(area / (1.0 - area)) + half * np.array([-1.0, 1.0]))


@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_c_statistic_s_ends_are_delong_s_on_the_log_odds(seed, level):
    rng = np.random.default_rng(seed)
    v = np.round(rng.random(40), 1)
    y = (rng.random(40) < v).astype(float)
    area, ends = concordance(y, v, level)
    found = c_statistic(Cases.read(y, v), level)
    assert found.value == pytest.approx(area)
    assert tuple(found.interval) == pytest.approx(tuple(ends))
    moved = np.where(y == 1, 2.0, -1.0) * v
    squares, sizes = [((moved * each) ** 2).sum() for each in (y, 1 - y)], [y.sum(), (1 - y).sum()]
    assert _freedom(Cases.read(y, v), moved) == pytest.approx(
        sum(squares) ** 2 / sum(s**2 / (n - 1.0) for s, n in zip(squares, sizes, strict=True))
    )


@pytest.mark.parametrize(("m", "n"), [(10.0, 20.0), (3.0, 50.0)])
@pytest.mark.parametrize("area", [0.0, 0.3, 1.0])
def test_newcombe_s_ends_are_where_hanley_and_mcneil_s_error_reaches_the_area(area, m, n):
    low, high = _newcombe(area, m, n, 1.96)

    def error(c):
        first, second = c / (2.0 - c), 2.0 * c * c / (1.0 + c)  # Hanley and McNeil's Q1 and Q2
        many = (m + n) / 2.0 - 1.0  # Newcombe's method 5 has this in place of m - 1 and of n - 1
        return math.sqrt((c * (1.0 - c) + many * (first - c * c) + many * (second - c * c)) / (m * n))

    for end in (low, high):
        if 0.0 < end < 1.0:
            assert abs(end - area) == pytest.approx(1.96 * error(end), rel=1e-6)
    assert (low == 0.0) == (area == 0.0)
    assert (high == 1.0) == (area == 1.0)
    assert low <= area <= high


@pytest.mark.parametrize("separated", [0.0, 1.0])
def test_where_all_pairs_or_none_are_in_order_the_ends_are_newcombe_s(separated):
    v = np.linspace(0.1, 0.9, 12)
    y = ((v > 0.6) == bool(separated)).astype(float)
    found = c_statistic(Cases.read(y, v), 0.1)
    assert found.value == separated
    assert tuple(found.interval) == pytest.approx(tuple(_newcombe(separated, y.sum(), 12.0 - y.sum(), norm.ppf(0.95))))
    alone = c_statistic(Cases.read(np.ones(5), v[:5]), 0.05)
    assert math.isnan(alone.value)
    assert tuple(alone.interval) == (0.0, 1.0)


def test_events_and_others_count_as_parts_of_the_effective_draws():
    held = Cases.read(Y, V, W)
    assert _sizes(held, 0.25, 0.75) == pytest.approx((max(1.0, 0.25 * kish(W)), 0.75 * kish(W)))
    assert _sizes(Cases.read(Y, V), 0.5, 0.1) == pytest.approx((3.0, 1.0))


@pytest.mark.parametrize(
    ("value", "ends"), [(0.5, (0.2, 0.6)), (0.1, (0.1, 0.6)), (0.9, (0.2, 0.9)), (math.nan, (0.2, 0.6))]
)
def test_an_interval_reaches_to_a_value_where_there_is_one(value, ends):
    assert tuple(_reaching(Estimate(0.4, Interval(0.2, 0.6)), value).interval) == ends


def alike(n_groups):
    """Groups of one event and one other row each."""
    return Cases.read(
        np.tile([0.0, 1.0], n_groups), np.tile([0.3, 0.6], n_groups), None, None, np.arange(2 * n_groups) // 2
    )


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (Cases.read(Y, V), None),
        (alike(30), None),
        (alike(29), "Events come from too few groups (as good as 29 equal ones; 30 are needed)"),
        (alike(6), "Events come from too few groups (as good as 6 equal ones; 30 are needed)"),
        (alike(5), InputError),
        (Cases.read(np.tile([0.0, 1.0], 29), np.full(58, 0.4), np.append(np.ones(57), 1.001)), InputError),
        (Cases.read(np.tile([0.0, 1.0], 31), np.full(62, 0.4), np.append(np.ones(61), 1.001)), None),
    ],
)
def test_a_panel_needs_30_draws_and_a_line_six_groups(held, said):
    if said is InputError:
        argument = "sample_weight" if held.unit is None else "groups"
        allowed = (
            "more rows, or weights that differ less" if held.unit is None else "level and slope need 6, the curve 30"
        )
        with pytest.raises(InputError, match=f"{argument}: .*; {allowed}"):
            _few_groups(held)
    else:
        assert _few_groups(held) == said


def test_weights_that_go_with_no_outcome_have_no_shift():
    assert weight_shift(Cases.read(Y, V)) == 0.0
    assert weight_shift(Cases.read(np.ones(6), V, W)) == 0.0
    assert weight_shift(Cases.read(np.zeros(6), V, W)) == 0.0
    heavy = Cases.read(Y, V, np.where(Y == 1.0, 1.0, 5.0))
    mass = (heavy.weight, heavy.weight**2)
    assert weight_shift(heavy) < -1.0
    shares = [(each * Y).sum() / each.sum() for each in mass]
    assert shares[1] < shares[0]


@pytest.mark.parametrize(("n", "most", "kept"), [(5, 10, 5), (10, 10, 10), (1000, 10, 10), (1, 10, 1), (3, 2, 2)])
def test_of_many_points_some_are_kept_evenly_with_both_ends(n, most, kept):
    places = _evenly(n, most)
    assert (places.size, places[0], places[-1]) == (kept, 0, n - 1)
    assert np.ptp(np.diff(places)) <= 1 if kept > 2 else True


def enough(kind, events=10, others=10):
    """So many events and others; of groups each its own, and each three rows."""
    y = np.repeat([1.0, 0.0], [events, others])
    n = y.size
    if kind == "groups":
        return Cases.read(np.repeat(y, 3), np.full(3 * n, 0.4), None, None, np.repeat(np.arange(n), 3))
    return Cases.read(y, np.full(n, 0.4), None if kind == "rows" else 1.0 + np.arange(n) % 2)


@pytest.mark.parametrize("level", [0.1, 0.05])
@pytest.mark.parametrize("kind", ["rows", "weights", "groups"])
def test_a_band_has_the_level_that_was_asked_for_and_the_redraws_that_it_needs(kind, level, monkeypatch):
    least = round(2.0 / level) - 1  # half of the level for each end
    units = []
    real = curve._band_of_worths
    monkeypatch.setattr(curve, "_band_of_worths", lambda *given: units.append(given[2]) or real(*given))
    held = enough(kind)
    found = band_of(held, np.array([0.2, 0.3]), level, least, 0)
    assert (found.level, found.n_resamples) == (level, least)
    with pytest.raises(InputError, match=f"n_resamples: is {least - 1}"):
        band_of(held, np.array([0.2, 0.3]), level, least - 1, 0)
    share = held.by_unit(held.weight)
    assert units == [pytest.approx((share**3).sum() / (share**2).sum())]  # 1 / 20 where all weigh the same
    assert (kind == "weights") == (abs(units[0] - 0.05) > 1e-9)


@pytest.mark.parametrize(
    ("kind", "events", "others", "said"),
    [
        ("rows", 9, 10, "y_true: has 9 events; a band is drawn from 10 or more"),
        ("rows", 10, 9, "y_true: has 9 rows without the event; a"),
        ("weights", 9, 10, "y_true: has 9 events; a"),
        ("weights", 10, 9, "y_true: has 9 rows without the event; a"),
        ("groups", 9, 10, "y_true: has 9 groups with events; a"),
        ("groups", 10, 9, "y_true: has 9 groups with rows without the event; a"),
    ],
)
def test_a_band_needs_ten_of_each_outcome(kind, events, others, said):
    with pytest.raises(InputError, match=said):
        band_of(enough(kind, events, others), np.array([0.3]), 0.05, 39, 0)


@pytest.mark.parametrize("kind", ["weights", "groups", "both"])
def test_the_variance_of_a_net_benefit_is_that_of_a_ratio_of_sums_over_units(kind):
    w, group = KINDS[kind]
    held, at = Cases.read(Y, V, w, None, group), np.array([0.0, 0.25, 0.5])
    (worth, variance), (worths, variances) = curve._of_units(held, at, 400, 0)
    mass, of = np.ones(6) if w is None else w, np.arange(6) if group is None else group
    for k, price in enumerate(at):
        gain, size = np.bincount(of, mass * (Y - price) * (price <= V)), np.bincount(of, mass)
        assert worth[k] == pytest.approx(gain.sum() / size.sum())
        assert variance[k] == pytest.approx(((gain - worth[k] * size) ** 2).sum() / size.sum() ** 2)
    assert worths.shape == variances.shape == (400, 3)
    assert worths.std(axis=0) == pytest.approx(np.sqrt(variance), rel=0.35)


def test_an_end_of_the_c_statistic_is_at_a_weighted_row_no_nearer_than_outcomes_as_predicted_would_have_it(monkeypatch):
    rng = np.random.default_rng(0)
    v = rng.random(60)
    y, w = (rng.random(60) < v).astype(float), rng.uniform(0.5, 2.0, 60)
    widths = []
    for moments in (None, (0.0, 0.0), (0.01, 0.0)):
        monkeypatch.setattr(clinical, "_expected_moments", lambda *_, given=moments: given)
        widths.append(c_statistic(Cases.read(y, v, w), 0.05).interval.width)
    assert widths[0] == widths[1] < widths[2]


@pytest.mark.parametrize("weight", [None, 0.1, 7.0, 1e99])
@pytest.mark.parametrize("n", [6, 29, 30, 49, 98, 103])
def test_equal_draws_are_worth_exactly_their_number(n, weight):
    """Six equal groups are not refused as fewer than six, nor 29 told as 28."""
    w = None if weight is None else np.full(2 * n, weight)
    held = Cases.read(np.tile([0.0, 1.0], n), np.full(2 * n, 0.4), w, None, np.arange(2 * n) // 2)
    assert (held.effective_units, *held.effective_outcomes) == (n, n, n)
