"""The calibration belt: the degree and its distribution as givitiR has them, ends by brute force, what is refused."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import NonlinearConstraint, minimize
from scipy.special import expit
from scipy.stats import chi2

from calibrant import InputError
from calibrant.decisions import belt, calibration_belt
from calibrant.decisions.belt import CalibrationBelt, quantile, survival
from calibrant.decisions.cases import Cases
from calibrant.decisions.line import LogitLine
from tests.strategies import examples

# 1 - givitiStatCdf(t, m, "external", .95) of R's givitiR 1.3 at t = 3, 8, 14, 20, 30.
GIVITIR = {
    1: [0.2231301601, 0.0183156389, 0.0009118820, 0.0000453999, 0.0000003059],
    2: [1.0, 0.3473850330, 0.0295825791, 0.0019748978, 0.0000180336],
    3: [1.0, 0.9991773207, 0.3278657652, 0.0381913770, 0.0005657416],
    4: [1.0, 1.0, 0.9466390576, 0.3104111028, 0.0099377955],
}


def drawn(n, seed, power=1.0):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**power).astype(float), v


def minus_log_likelihood(theta, odds, y):
    z = np.polynomial.polynomial.polyval(odds, theta)
    return float((np.logaddexp(0, z) - y * z).sum())


def slope_of(theta, odds, y):
    z = np.polynomial.polynomial.polyval(odds, theta)
    return (1 / (1 + np.exp(-z)) - y) @ odds[:, None] ** np.arange(theta.size)


@pytest.mark.parametrize("degree", GIVITIR)
def test_the_distribution_is_givitir_s(degree):
    found = [survival(t, degree) for t in (3, 8, 14, 20, 30)]
    assert found == pytest.approx(GIVITIR[degree], abs=6e-11)
    for level in (0.5, 0.05, 1e-6):
        assert survival(quantile(level, degree), degree) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_the_distribution_by_drawing_it(degree):
    rng = np.random.default_rng(degree)
    high = rng.chisquare(1, 2_000_000)
    high = high[high > 3.841458820694124]
    drawn = rng.chisquare(2, high.size // 3) + sum(
        high[k * (high.size // 3) :][: high.size // 3] for k in range(degree - 1)
    )
    for t in (10.0, 15.0, 22.0):
        share = (drawn > t).mean()
        assert survival(t, degree) == pytest.approx(share, abs=5 * np.sqrt(share / drawn.size) + 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("bend", "degree"), [(0.0, 1), (0.9, 2)])
def test_curve_and_ends_by_brute_force(bend, degree):
    rng = np.random.default_rng(3)
    odds = rng.normal(0.0, 1.2, 300)
    y = (rng.random(300) < 1 / (1 + np.exp(-(0.3 + 0.8 * odds + bend * odds**2)))).astype(float)
    v = 1 / (1 + np.exp(-odds))
    found = calibration_belt(y, v)
    assert found.degree == degree
    fits = [
        minimize(minus_log_likelihood, np.zeros(k + 1), (odds, y), jac=slope_of, tol=1e-10)
        for k in range(1, degree + 2)
    ]
    gains = [2 * (a.fun - b.fun) for a, b in pairwise(fits)]
    assert all(gain > 3.8415 for gain in gains[:-1])
    assert gains[-1] <= 3.8415
    best = fits[degree - 1]
    assert found.coefficients == pytest.approx(best.x, abs=1e-4)
    statistic = 2 * (minus_log_likelihood(np.array([0.0, 1.0]), odds, y) - best.fun)
    assert found.statistic == pytest.approx(statistic, abs=1e-5)
    assert found.pvalue == pytest.approx(survival(statistic, degree), rel=1e-4)
    allowed = quantile(0.05, degree)
    within = NonlinearConstraint(
        lambda theta: 2 * (minus_log_likelihood(theta, odds, y) - best.fun),
        -1.0,
        allowed,
        jac=lambda t: 2 * slope_of(t, odds, y),
    )
    for i in (0, 15, 30, 45, 60):
        height = np.log(found.prediction[i] / (1 - found.prediction[i])) ** np.arange(degree + 1)
        for sign, end in ((-1, found.observed_lower[i]), (1, found.observed_upper[i])):
            tried = minimize(
                lambda t, h=height, s=sign: -s * float(t @ h),
                best.x,
                jac=lambda _t, h=height, s=sign: -s * h,
                constraints=[within],
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert end == pytest.approx(1 / (1 + np.exp(-float(tried.x @ height))), abs=1e-4)


@pytest.mark.parametrize(("seed", "n", "shape"), [(1, 50, (0.2, 0.2)), (17, 200, (2, 30)), (14, 20, (5, 5))])
def test_ends_of_few_rows_with_far_log_odds_by_brute_force(seed, n, shape):
    rng = np.random.default_rng(seed)
    v = rng.beta(*shape, n).clip(1e-12, 1 - 1e-12)
    odds = np.log(v / (1 - v))
    y = (rng.random(n) < 1 / (1 + np.exp(-0.5 * odds))).astype(float)
    found = calibration_belt(y, v, level=0.001)
    degree, size = found.degree, np.abs(odds).max() ** np.arange(found.degree + 1)
    best = minimize(minus_log_likelihood, np.zeros(degree + 1), (odds / size[1], y), tol=1e-10)
    allowed = best.fun + 0.5 * quantile(0.001, degree)
    room = {"type": "ineq", "fun": lambda t: allowed - minus_log_likelihood(t, odds / size[1], y)}
    for i in range(0, 61, 6):
        height = np.log(found.prediction[i] / (1 - found.prediction[i])) ** np.arange(degree + 1) / size
        for sign, end in ((-1, found.observed_lower[i]), (1, found.observed_upper[i])):
            tried = minimize(
                lambda t, h=height, s=sign: -s * float(t @ h),
                best.x,
                constraints=[room],
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert end == pytest.approx(1 / (1 + np.exp(-float(tried.x @ height))), abs=1e-5)


@pytest.mark.parametrize(
    ("n", "shape", "bends"),
    [
        (600, (1.0, 1.0), (0.0, 0.8, 0.3)),
        (20_000, (1.0, 1.0), (0.0, 0.8, 0.05)),
        (20_000, (0.5, 40.0), (0.3, 1.0)),
        (20_000, (0.2, 0.2), (0.0, 0.5)),
        (20_000, (4.0, 0.7), (0.2, 0.9, 0.0, 0.05)),  # degree 4, few rows and log-odds to 28: a belt to 0.9
        (20_000, (1.0, 1.0), (0.0, 30.0)),
        (5_000, (1.0, 1.0), (2.0, 100.0)),
    ],
)
def test_ends_of_many_rows_are_those_of_all_their_predictions(n, shape, bends, monkeypatch):
    rng = np.random.default_rng(5)
    v = rng.beta(*shape, n).clip(1e-12, 1 - 1e-12)
    odds = np.log(v / (1 - v))
    y = (rng.random(v.size) < expit(np.polynomial.polynomial.polyval(odds, bends))).astype(float)
    found = calibration_belt(y, v)
    monkeypatch.setattr("calibrant.decisions.belt._RANGES", v.size)
    whole = calibration_belt(y, v)
    assert found.degree == whole.degree
    assert found.statistic == pytest.approx(whole.statistic, abs=1e-8)
    assert found.observed == pytest.approx(whole.observed, abs=1e-10)
    width = whole.observed_upper - whole.observed_lower
    for ends in ("observed_lower", "observed_upper"):
        assert (abs(getattr(found, ends) - getattr(whole, ends)) <= 1e-3 * width + 1e-9).all()


@pytest.mark.parametrize("others", [0, 600])
def test_the_belt_of_nearly_certain_events_is_that_of_the_others_turned_over(others):
    """Sums over 2 * 10**7 trials whose chances are 1e-6 from 1 must not round away what a belt may lose."""
    rng = np.random.default_rng(5)
    odds = np.concatenate([rng.normal(13.0, 1.0, 600), rng.normal(0.0, 2.0, others)])
    trials = np.concatenate([np.full(600, 30_000.0), np.full(others, 5.0)])
    chance = expit(-odds)
    share = rng.binomial(trials.astype(int), chance) / trials
    low = calibration_belt(share, chance, trials=trials)
    high = calibration_belt(1.0 - share, expit(odds), trials=trials)
    assert low.degree == high.degree
    # Where 1 - p is far from 0, p has few digits of it.
    np.testing.assert_allclose(high.observed_upper, 1.0 - low.observed_lower[::-1], rtol=0, atol=2e-6)
    np.testing.assert_allclose(high.observed_lower, 1.0 - low.observed_upper[::-1], rtol=0, atol=2e-6)
    assert (high.observed_lower > 0.0).all()
    assert (high.observed_upper < 1.0).all()
    assert (high.observed_lower <= high.observed).all()
    assert (high.observed <= high.observed_upper).all()


@pytest.mark.slow
@pytest.mark.parametrize("slope", [15.0, 60.0, 300.0])
def test_the_belt_of_a_steep_curve_holds_the_curve(slope):
    """A tenth of the rows' range decides: there the points must be dense."""
    rng = np.random.default_rng(0)
    odds = rng.uniform(-5.0, 5.0, 200_000)
    y = (rng.random(odds.size) < expit(slope * odds)).astype(float)
    found = calibration_belt(y, expit(odds))
    inner = (found.observed > 1e-3) & (found.observed < 1.0 - 1e-3)
    assert (found.observed_upper - found.observed_lower)[inner].max(initial=0.0) < 0.5
    assert (found.observed_lower <= found.observed).all()
    assert (found.observed <= found.observed_upper).all()


@given(st.data())
@examples(500)
def test_two_points_a_range_have_its_first_four_moments(data):
    """Ranges of one prediction, of neighbours one ulp apart, of one heavy prediction and others; of any masses."""
    place = st.one_of(st.floats(-30, 30), st.integers(-5, 5).map(float))
    places = data.draw(st.lists(place, min_size=10, max_size=60))
    places += [np.nextafter(place, np.inf) for place in places if data.draw(st.booleans())]
    odds = np.unique(places)
    ranges = data.draw(st.integers(2, 12))
    assume(odds.size > 4 * ranges)
    size = st.one_of(st.integers(1, 9).map(float), st.floats(1e-3, 1e6))
    mass = np.array(data.draw(st.lists(size, min_size=odds.size, max_size=odds.size)))
    rate = np.arange(odds.size) % 3 / 2.0
    found = belt._points(LogitLine(np.stack([np.ones(odds.size), odds]), rate, mass), ranges)
    points, masses = found.odds, found.mass
    assert points.size <= 2 * ranges + 2
    assert found.rate @ masses == pytest.approx(rate @ mass, rel=1e-12)
    assert (masses >= 0.0).all()
    assert points.min() >= odds[0] - 1e-12
    assert points.max() <= odds[-1] + 1e-12
    for power in range(4):
        size = (mass * (1.0 + abs(odds)) ** power).sum()
        assert (masses * points**power).sum() == pytest.approx((mass * odds**power).sum(), abs=1e-12 * size)


# Of the upper ends one Newton step goes to where the likelihood is flat, and its own scale has no end there.
FLAT = np.array([
    *(0.001052, 0.001408, 0.005036, 0.01086, 0.01732, 0.02349, 0.0538, 0.07567, 0.102, 0.1075, 0.1132, 0.1168, 0.1273),
    *(0.1539, 0.1901, 0.1986, 0.2013, 0.2067, 0.2314, 0.2317, 0.2342, 0.2441, 0.2511, 0.3096, 0.3356, 0.4194, 0.5688),
])  # fmt: skip
EVENTS = np.isin(np.arange(FLAT.size), [9, 14, 16, 19, 20, 23]).astype(float)


@pytest.mark.slow
def test_ends_that_are_found_at_once_are_those_that_are_found_one_after_another(monkeypatch):
    touching = belt._touching

    def in_turn_alone(lost, limit, height, start):
        return touching(lost, limit, height, start) if len(height) == 1 else [None] * len(height)

    rng = np.random.default_rng(0)
    cases = [(EVENTS, FLAT)]
    for _ in range(40):
        v = rng.beta(*rng.uniform(0.2, 4.0, 2), int(rng.integers(40, 400))).clip(1e-9, 1 - 1e-9)
        cases.append(((rng.random(v.size) < v ** rng.uniform(0.5, 2.0)).astype(float), v))
    compared = 0
    for y, v in cases:
        try:
            at_once = calibration_belt(y, v)
        except InputError:  # no curve fits best
            continue
        with monkeypatch.context() as patch:
            patch.setattr(belt, "_touching", in_turn_alone)
            in_turn = calibration_belt(y, v)
        for end in ("observed_lower", "observed_upper"):
            assert getattr(at_once, end) == pytest.approx(getattr(in_turn, end), abs=1e-8)
        compared += 1
    assert compared > 30


@pytest.mark.slow
def test_it_holds_the_diagonal_of_calibrated_rows_and_leaves_it_otherwise():
    right = calibration_belt(*drawn(3000, 0))
    assert not right.reject
    assert (right.observed_lower <= right.prediction).all()
    assert (right.prediction <= right.observed_upper).all()
    assert "nowhere does it leave the diagonal" in right.summary()
    wrong = calibration_belt(*drawn(3000, 0, power=1.7))
    assert wrong.reject
    assert "too high from" in wrong.summary()
    for found in (right, wrong):
        assert (found.observed_lower <= found.observed).all()
        assert (found.observed <= found.observed_upper).all()
        assert (np.diff(found.prediction) >= 0).all()
    assert (calibration_belt(*drawn(3000, 0), level=0.2).observed_upper <= right.observed_upper).all()


@pytest.mark.slow
def test_trials_are_rows_pooling_changes_nothing_and_it_is_drawn():
    y, v = drawn(2000, 1, power=1.4)
    v = np.round(v, 1)
    values = np.unique(v[(v > 0) & (v < 1)])
    shares = np.array([y[v == x].mean() for x in values])
    pooled = calibration_belt(shares, values, trials=np.array([(v == x).sum() for x in values]))
    held = (v > 0) & (v < 1)
    single = calibration_belt(y[held], v[held])
    for name in ("observed", "observed_lower", "observed_upper", "coefficients"):
        np.testing.assert_allclose(getattr(pooled, name), getattr(single, name), atol=1e-7)
    assert calibration_belt(y, v).rows_left_out == np.count_nonzero(~held)
    whole = calibration_belt(*drawn(3000, 2, power=1.4))
    with mpl.rc_context({"backend": "agg"}):
        assert [each.get_label() for each in whole.plot().get_lines()] == ["ideal", f"degree {whole.degree}"]


# One event lies 2e-9 below one other row; all else is parted by 2e-4, so that the slope is some 1e5.
_ODDS = [-2.0] * 3 + [-1e-4] * 3 + [-1e-9, 1e-9] + [1e-4] * 3 + [2.0] * 3
NEARLY = [0] * 6 + [1, 0] + [1] * 6, expit(_ODDS)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 1, 1], [0.5, 0.5, 0.5]), "y_prob: has fewer than two distinct values"),
        (([0, 1], [0.0, 1.0]), "y_prob: has fewer than two distinct values"),
        (([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]), "y_true: is separated by a cut"),
        (([0, 0, 0], [0.1, 0.2, 0.3]), "y_true: is separated by a cut"),
        (([0.5, 0, 1], [0.1, 0.2, 0.3]), "y_true: row 0 is 0.5"),
        (NEARLY, "y_true: is nearly separated by a cut"),
    ],
)
def test_what_is_refused(columns, message):
    with pytest.raises(InputError, match=message):
        calibration_belt(*columns)


@pytest.mark.parametrize("statistic", [-1e-12, 0.0, 0.3, 0.9, 4.0])
def test_of_one_degree_the_distribution_is_chi_square_s_with_two(statistic):
    assert survival(statistic, 1) == pytest.approx(min(1.0, chi2.sf(max(statistic, 0.0), 2)), rel=1e-12)


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        ((0.0, 0.1, 0.2), (0.3, 0.4, 0.9), "confidence nowhere does it leave the diagonal (7 rows)."),
        ((0.2, 0.3, 0.4), (0.6, 0.7, 0.9), "confidence predictions are too low from 0.1 to 0.25 (7 rows)."),
        ((0.0, 0.1, 0.2), (0.3, 0.2, 0.4), "confidence predictions are too high from 0.25 to 0.5 (7 rows)."),
        ((0.2, 0.1, 0.6), (0.6, 0.7, 0.9), "predictions are too low from 0.1 to 0.1 and from 0.5 to 0.5 (7 rows)."),
        ((0.2, 0.1, 0.2), (0.6, 0.7, 0.4), "too low from 0.1 to 0.1 and too high from 0.5 to 0.5 (7 rows)."),
    ],
)
def test_it_says_where_the_belt_leaves_the_diagonal(lower, upper, said):
    at, lower, upper = (np.array(each) for each in ((0.1, 0.25, 0.5), lower, upper))
    belt = CalibrationBelt(1, np.array([0.0, 1.0]), 0.0, 1.0, False, at, at, lower, upper, 0.05, 7, 0, 0)
    assert belt.summary().endswith(said)
    assert ("too low" in belt.summary()) == bool((lower > at).any())


def test_it_says_which_rows_it_does_not_look_at_and_that_it_rejects_where_no_place_does():
    y, v = drawn(500, 1)
    found = calibration_belt(np.append(y, [0.0, 0.0, 1.0]), np.append(v, [1.0, 0.0, 1.0]))
    assert (found.rows_left_out, found.rows_contradicted) == (3, 1)
    assert found.summary().endswith(
        "(500 rows). 3 predictions of exactly 0 or 1 left out of the curve, 1 of them contradicted by the outcome."
    )
    assert "left out" not in calibration_belt(y, v).summary()
    at = np.array([0.1, 0.9])
    belt = CalibrationBelt(2, np.zeros(3), 9.0, 0.01, True, at, at, at - 0.1, at + 0.1, 0.05, 7, 0, 0)
    assert belt.summary().endswith("predictions are not calibrated, though no place alone shows it (7 rows).")


@pytest.mark.parametrize("begun", [(0.0, 0.0), (0.0, 8.0), (-6.0, 3.0)])
def test_the_fit_ends_where_the_likelihood_is_level_wherever_it_began(begun):
    """From far away whole steps go too far, and are halved."""
    y, v = drawn(200, 0)
    line = LogitLine.of(Cases.read(y, v))
    whole = belt._PolynomialLikelihood.of(line, belt._Powers.of(line.odds, line.mass)).up_to(1)
    theta, low, _ = belt._fit(whole, np.array(begun))
    features = whole.features
    odds = theta @ features
    assert features @ (line.mass * (expit(odds) - line.rate)) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert low == pytest.approx(line.mass @ (np.logaddexp(0.0, odds) - line.rate * odds))


@pytest.mark.parametrize(("n", "kept"), [(512, True), (513, False)])
def test_up_to_512_predictions_stand_for_themselves(n, kept):
    v = np.linspace(0.1, 0.9, n)
    line = LogitLine.of(Cases.read((np.arange(n) % 2).astype(float), v))
    points = belt._points(line, belt._RANGES)
    assert (points is line) == kept
    assert kept or points.mass.size <= 2 * 128


def test_places_are_as_many_even_in_log_odds_as_even_in_rank():
    _, v = drawn(101, 3)
    odds = np.sort(np.log(v / (1.0 - v)))
    line = LogitLine.of(Cases.read(np.arange(101) % 2 + 0.0, v))
    ranked = np.quantile(odds, (np.arange(30) + 0.5) / 30, method="hazen")  # interpolates between the rows' mid-ranks
    even = odds[0] + (odds[-1] - odds[0]) * np.arange(31) / 30
    assert belt._grid(line) == pytest.approx(np.sort(np.append(even, ranked)), abs=1e-12)
