"""The line through log-odds: what weights and groups make of its variance, by leaving each unit out."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant import InputError
from calibrant.decisions import cases as of_cases
from calibrant.decisions.cases import Cases, weight_shift
from calibrant.decisions.flexible import _stretched
from calibrant.decisions.line import (
    Estimate,
    GroupLine,
    LogitLine,
    _solved,
    group_line,
    in_the_large,
    intercept_and_slope,
    interval,
    observed_expected,
    robust_scales,
)
from calibrant.door.ends import Interval
from calibrant.door.rows import Rows


def cases(n, seed, groups, weighted):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.05, 0.95, n)
    v[:2] = 0.0, 1.0  # which the line leaves out
    y = (rng.random(n) < v).astype(float)
    w = rng.uniform(0.3, 3.0, n) if weighted else None
    unit = None if groups is None else np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    return Cases.read(y, v, w, None, unit)


def by_leaving_out(held, point, free, alone=()):
    """Sum of the squared moves of the fit when a unit is left out, over the variance that the curvature says."""
    v, w = held.v, np.ones(held.v.size) if held.w is None else held.w
    unit = np.arange(v.size) if held.unit is None else held.unit
    bends, scores = [], []
    for u in np.unique(unit):
        bend, score = np.zeros((2, 2)), np.zeros(2)
        for i in np.flatnonzero((unit == u) & (v > 0.0) & (v < 1.0)):
            x = np.array([1.0, logit(v[i])])
            chance = expit(point[0] + point[1] * x[1])
            bend += w[i] * chance * (1.0 - chance) * np.outer(x, x)
            score += w[i] * (held.y[i] - chance) * x
        bends.append(bend[np.ix_(free, free)])
        scores.append(score[list(free)])
    whole = sum(bends)
    rest = [whole if u in alone else whole - bend for u, bend in enumerate(bends)]  # no fit is left without these
    moved = np.array([np.linalg.solve(each, score) for each, score in zip(rest, scores, strict=True)])
    return (moved**2).sum(axis=0) / np.diag(np.linalg.inv(whole))


def as_expected(held, point, free):
    """The same of outcomes drawn at the line's chances, events being heavier by the shift."""
    inside = (held.v > 0.0) & (held.v < 1.0)
    x, w = logit(held.v[inside]), held.w[inside]
    chance = expit(point[0] + point[1] * x)
    heavy = expit(point[0] + point[1] * x + weight_shift(held))
    spread = w**2 * (heavy * (1.0 - chance) ** 2 + (1.0 - heavy) * chance**2)
    design = np.stack([np.ones(x.size), x], axis=1)[:, free]
    inverse = np.linalg.inv(design.T @ (design * (w * chance * (1.0 - chance))[:, None]))
    return np.diag(inverse @ (design.T * spread) @ design @ inverse) / np.diag(inverse)


@pytest.mark.parametrize(("groups", "weighted"), [(None, True), (12, False), (12, True)])
def test_robust_variances_are_those_of_leaving_each_unit_out(groups, weighted):
    held = cases(60, 1, groups, weighted)
    line = LogitLine.of(held)
    scales = robust_scales(held, line)
    for point, free in (((0.1, 1.0), (0,)), ((0.2, 0.8), (0, 1)), ((-0.5, 1.4), (1,))):
        moved = by_leaving_out(held, point, free)
        if groups is None:  # rows may be lighter by chance than what is expected
            moved = np.maximum(moved, as_expected(held, point, free))
        assert scales(point, free)[list(free)] == pytest.approx(moved, rel=1e-9)


def test_a_unit_without_which_there_is_no_fit_moves_it_by_no_less_than_its_weight_says():
    rng = np.random.default_rng(4)
    v = np.append(np.full(40, 0.3), [0.05, 0.95, 0.5])  # the slope rests on the last group alone
    unit = np.append(np.arange(40), [40, 40, 40])
    held = Cases.read((rng.random(43) < v).astype(float), v, None, None, unit)
    size = np.bincount(unit)
    kish = (size**2).sum() / size.sum()
    scales = robust_scales(held, LogitLine.of(held))((0.0, 1.0), (0, 1))
    assert np.isfinite(scales).all()
    assert (scales >= kish * (1.0 - 1e-12)).all()
    assert scales == pytest.approx(np.maximum(by_leaving_out(held, (0.0, 1.0), (0, 1), alone=(40,)), kish), rel=1e-9)
    heavy = np.append(np.ones(20), 1e9)  # a row that outweighs all others decides the intercept by itself
    one = Cases.read((rng.random(21) < 0.5).astype(float), np.full(21, 0.4), heavy)
    scale = robust_scales(one, LogitLine.of(one))((np.log(1.5) + 1e-6, 1.0), (0,))[0]
    assert scale >= (heavy**2).sum() / heavy.sum() * 0.999


def test_single_rows_have_the_variance_of_the_likelihood():
    held = cases(60, 2, None, False)
    assert robust_scales(held, LogitLine.of(held))((0.0, 1.0), (0, 1)) is None


def test_ends_are_where_the_profile_has_risen_by_what_is_allowed_times_the_scale():
    from scipy.optimize import minimize_scalar

    held = cases(80, 5, None, True)
    line = LogitLine.of(held)
    scales = robust_scales(held, line)
    intercept, slope = intercept_and_slope(line, 3.84, scales)
    assert [line.derivatives((intercept.value, slope.value))[1]] == [pytest.approx([0.0, 0.0], abs=1e-6)]
    lowest = line.derivatives((intercept.value, slope.value))[0]
    for k, each in enumerate((intercept, slope)):
        allowed = 3.84 * by_leaving_out(held, (intercept.value, slope.value), (0, 1))[k]
        for end in (each.interval.low, each.interval.high):

            def of(other, k=k, end=end):
                return line.derivatives((end, other) if k == 0 else (other, end))[0]

            assert 2.0 * (minimize_scalar(of).fun - lowest) == pytest.approx(allowed, rel=1e-4)
    only = in_the_large(line, 3.84, scales)
    point = (only.value, 1.0)
    assert line.derivatives(point)[1][0] == pytest.approx(0.0, abs=1e-6)
    for end in (only.interval.low, only.interval.high):
        risen = 2.0 * (line.derivatives((end, 1.0))[0] - line.derivatives(point)[0])
        assert risen == pytest.approx(3.84 * by_leaving_out(held, point, (0,))[0], rel=1e-6)


def test_the_longer_tail_of_noise_is_edgeworths():
    """To the first order the quantile of a sum with skewness g is z + g (z^2 - 1) / 6; its studentized one twice that.

    With the noise's own variance taken from the outcomes it is z + g (2 z^2 + 1) / 6, on the side against the skew.
    """
    skew = np.array([0.3, -0.6, 0.0])
    below, above = _stretched(2.0, skew)
    longer = (2.0 * 2.0**2 + 1.0) / 6.0 * np.abs(skew)
    assert below == pytest.approx([2.0 + longer[0], 2.0, 2.0])
    assert above == pytest.approx([2.0, 2.0 + longer[1], 2.0])
    rng = np.random.default_rng(0)
    n, p = 60, 0.1  # the studentized mean of rare events, whose skewness is (1 - 2p) / sqrt(n p (1 - p))
    share = rng.binomial(n, p, 200_000) / n
    t = (share - p) / np.sqrt(np.maximum(share * (1.0 - share), 1e-9) / n)
    g = (1.0 - 2.0 * p) / np.sqrt(n * p * (1.0 - p))
    z = 1.2816
    exact = -np.quantile(t, 0.1)
    plain, corrected = z, _stretched(z, np.array([g]))[0][0]
    assert abs(corrected - exact) < abs(plain - exact)


def test_more_trials_than_can_be_held_as_rows_are_refused(monkeypatch):
    monkeypatch.setattr(of_cases, "_MOST_TRIALS", 5)
    shares, v = np.array([0.5, 1.0]), np.array([0.2, 0.7])
    assert of_cases._spread(shares, v, np.ones(2), None, np.array([4.0, 1.0]))[0].tolist() == [1, 1, 0, 0, 1]
    with pytest.raises(InputError, match="trials: are 6 in all"):
        of_cases._spread(shares, v, np.ones(2), None, np.array([4.0, 2.0]))


@pytest.mark.parametrize("smallest", [5e-324, 1e-310, 1e-200])
def test_events_over_next_to_none_expected_have_an_interval_without_a_warning(smallest):
    """The ratio of the smallest predictions is infinite; what it expects of each row is not, and 0 among them is 0."""
    rng = np.random.default_rng(0)
    v = rng.integers(0, 9, 60) * smallest
    y = (rng.random(60) < 0.45).astype(float)
    held = Cases.read(y, v, None, None, rng.integers(0, 19, 60))
    line = LogitLine.of(held)
    found = observed_expected(held, line, 3.0, in_the_large(line, 3.0, robust_scales(held, line)))
    assert found.interval.low <= found.interval.high
    assert not np.isnan(found.interval.low)


def test_the_shift_of_weights_is_what_their_squares_add_to_the_log_odds():
    y, w = np.array([0.0, 1.0, 1.0, 0.0, 0.0]), np.array([1.0, 3.0, 2.0, 1.5, 1.0])
    held = Cases(y, np.full(5, 0.3), w, None, None)
    shares = [(mass * y).sum() / mass.sum() for mass in (w**2, w)]
    assert weight_shift(held) == pytest.approx(logit(shares[0]) - logit(shares[1]), abs=1e-9)
    assert weight_shift(Cases(y, np.full(5, 0.3), None, None, None)) == 0.0


@pytest.mark.parametrize(
    ("bend", "slope", "step"),
    [
        ([[4.0, 1.0], [1.0, 2.0]], [3.0, -1.0], [1.0, -1.0]),
        ([[4.0]], [3.0], [0.75]),
        ([[1.0, 1.0], [1.0, 1.0]], [3.0, -1.0], [3e6, -1e6]),  # no curvature one way: along the slope, far
        ([[0.0, 0.0], [0.0, 0.0]], [3.0, -1.0], [3e6, -1e6]),
        ([[0.0]], [-2.0], [-1e100]),
    ],
)
def test_newton_s_step_solves_for_the_slope_and_follows_it_where_nothing_bends(bend, slope, step):
    assert _solved(np.array(bend), np.array(slope)) == pytest.approx(step)


@pytest.mark.parametrize(
    ("value", "slope", "end"),
    [
        (lambda t: 2.0 * t * t, lambda t: 4.0 * t, 1.0),
        (lambda t: math.cosh(t) - 1.0, math.sinh, math.acosh(3.0)),
        (abs, lambda t: math.copysign(1.0, t), 2.0),  # a step of Newton's goes beyond the bracket
        (lambda t: 2.0 - 2.0 * math.exp(-t * t), lambda t: 4.0 * t * math.exp(-t * t), math.inf),  # never above 2
    ],
)
@pytest.mark.parametrize("start", [0.0, 0.3])
def test_ends_lie_where_twice_the_profile_is_what_is_allowed_above_its_lowest(value, slope, end, start):
    def profile(t):
        return 5.0 + value(t), slope(t), 0.0

    assert interval(profile, 5.0, start, 4.0, 50.0) == pytest.approx((-end, end), rel=1e-9)
    beyond = interval(profile, 5.0, start, 4.0, 0.9)
    assert beyond == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("v", "y", "apart"),
    [
        ((0.2, 0.3, 0.6), (0, 0, 1), 1.0),
        ((0.2, 0.6, 0.6), (0, 0, 1), 1.0),  # one prediction has both outcomes
        ((0.2, 0.3, 0.6), (1, 0, 0), -1.0),
        ((0.2, 0.2, 0.6), (1, 0, 0), -1.0),
        ((0.2, 0.3, 0.6), (0, 1, 0), 0.0),
        ((0.2, 0.3, 0.6), (0, 0, 0), math.nan),
        ((0.2, 0.3, 0.6), (1, 1, 1), math.nan),
        ((0.4, 0.4), (0, 1), math.nan),
    ],
)
def test_a_cut_tells_events_from_others(v, y, apart):
    assert LogitLine.of(Cases.read(y, v)).separated() == pytest.approx(apart, nan_ok=True)


def test_without_predictions_between_0_and_1_there_is_no_line():
    assert LogitLine.of(Cases.read([0, 1, 1], [0.0, 1.0, 0.0])) is None
    assert LogitLine.of(Cases.read([0, 1, 1], [0.0, 1.0, 0.3], [1.0, 1.0, 0.0])) is None
    assert LogitLine.of(Cases.read([0, 1, 1], [0.0, 1.0, 0.3])).odds == pytest.approx([logit(0.3)])


@pytest.mark.parametrize(("groups", "weighted"), [(None, True), (12, False), (12, True)])
def test_where_all_is_decided_variances_are_what_weights_say(groups, weighted):
    """Sixty log-odds away no row is left that bends the likelihood."""
    held = cases(60, 1, groups, weighted)
    inside = (held.v > 0.0) & (held.v < 1.0)
    w = inside * (np.ones(60) if held.w is None else held.w)
    size = w if held.unit is None else np.bincount(held.unit, w)
    scales = robust_scales(held, LogitLine.of(held))
    assert scales((60.0, 1.0), (0, 1)) == pytest.approx(np.full(2, (size**2).sum() / size.sum()))


def in_groups(n_groups, size, v=None):
    rng = np.random.default_rng(0)
    n = n_groups * size
    v = rng.uniform(0.2, 0.8, n) if v is None else np.full(n, v)
    return (rng.random(n) < v).astype(float), v, np.repeat(np.arange(n_groups), size)


@pytest.mark.parametrize(
    ("n_groups", "size", "v", "there"),
    [
        (20, 10, None, True),
        (5, 40, None, False),  # fewer than six
        (200, 2, None, False),  # enough for signs
        (20, 10, 1.0, False),  # no log-odds
    ],
)
def test_groups_that_are_few_but_not_too_few_have_a_line(n_groups, size, v, there):
    y, v, group = in_groups(n_groups, size, v)
    found = group_line(Rows.of(y, v, groups=group), 0.05)
    assert (found is not None) == there
    if there:
        held = Cases.read(y, v, None, None, group)
        assert (found.worth, found.what, found.level) == (*held.worth, 0.05)
        line, scales = LogitLine.of(held.single()), robust_scales(held.single(), LogitLine.of(held))
        allowed = held.normal_quantile(0.025) ** 2  # half of the level each
        assert found.calibration_slope == intercept_and_slope(line, allowed, scales)[1]
        assert 0.4 < found.calibration_slope.value < 1.6
    assert group_line(Rows.of(y, v), 0.05) is None
    assert group_line(None, 0.05) is None


def test_a_row_of_trials_counts_in_a_group_s_line_as_so_many_rows_of_its_weight():
    y, v, group = in_groups(20, 4)
    trials, w = np.tile([1.0, 3.0], 40), np.tile([1.0, 1.0, 0.5, 0.5], 20)
    for weight in (None, w):
        whole = group_line(Rows.of(y, v, weight, trials, group), 0.05)
        times = trials.astype(int)
        each = None if weight is None else np.repeat(weight, times)
        apart = group_line(Rows.of(*(np.repeat(x, times) for x in (y, v)), each, None, np.repeat(group, times)), 0.05)
        assert whole.worth == pytest.approx(apart.worth)
        assert whole.calibration_slope.value == pytest.approx(apart.calibration_slope.value)
        assert tuple(whole.observed_expected.interval) == pytest.approx(tuple(apart.observed_expected.interval))


def test_a_group_s_line_says_its_level_in_events_or_in_right_rows():
    line = GroupLine(Estimate(0.68, Interval(0.584, 0.786)), Estimate(0.6, Interval(0.42, 0.78)), 19.7, "events", 0.05)
    assert line.level_in_words(False) == "for every 100 events predicted 68 happened, likely 58 to 79"
    assert line.level_in_words(True) == "for every 100 right rows predicted 68 were right, likely 58 to 79"
    assert (line.of_what(False), line.of_what(True)) == ("events", "right rows")
    assert Estimate(0.123456, Interval(0.0123456, math.inf)).summary() == "0.1235 (0.01235 to inf)"


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize(
    ("v", "side"), [((0.1, 0.2, 0.3, 0.4), 1.0), ((0.6, 0.7, 0.8, 0.9), -1.0), ((0.2, 0.3, 0.6, 0.7), 0.0)]
)
def test_a_cut_leaves_the_slope_open_on_one_side_and_the_intercept_unless_log_odds_of_0_can_be_the_cut(v, side, rising):
    """Events above a cut below 1/2: as the slope rises to infinity so does the intercept, and above 1/2 it falls."""
    y = np.array([0.0, 0.0, 1.0, 1.0])
    line = LogitLine.of(Cases.read(y if rising else 1.0 - y, v))
    intercept, slope = intercept_and_slope(line, 3.84, lambda *_: None)
    way = 1.0 if rising else -1.0
    assert slope.value == way * math.inf
    assert [math.isinf(end) for end in slope.interval] == [not rising, rising]
    if side:
        assert intercept.value == way * side * math.inf
        assert [math.isinf(end) for end in intercept.interval] == [way * side < 0.0, way * side > 0.0]
    else:
        assert math.isnan(intercept.value)
        assert tuple(intercept.interval) == (-math.inf, math.inf)


def test_of_one_outcome_or_one_prediction_neither_slope_nor_intercept_is_known():
    for y, v in (((1, 1, 1), (0.2, 0.3, 0.6)), ((0, 0, 0), (0.2, 0.3, 0.6)), ((0, 1, 1), (0.3, 0.3, 0.3))):
        for found in intercept_and_slope(LogitLine.of(Cases.read(y, v)), 3.84, lambda *_: None):
            assert math.isnan(found.value)
            assert tuple(found.interval) == (-math.inf, math.inf)
