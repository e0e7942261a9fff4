"""Logistic fits whose coefficients are known, by either method; and log-odds at the ends of what a double holds."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.measures import logistic
from calibrant.measures.logistic import _newton, fit_logistic, inner_expit, log_odds, pooled_neighbours

ONES = np.ones(4)
PLACES = np.array([0.0, 1.0, 2.0, 3.0])
LINE = np.stack([ONES, PLACES])
MASS = np.array([0.4, 0.3, 0.2, 0.1])


def newton(rate, start=(0.0, 0.0), features=LINE, mass=MASS):
    return _newton(features, np.array(rate), mass, np.array(start), 1e-12)


@pytest.mark.parametrize("theta", [(0.0, 0.0), (-2.0, 1.5), (3.0, -4.0)])
@pytest.mark.parametrize("start", [(0.0, 0.0), (20.0, -30.0)])
def test_a_line_of_log_odds_is_found_from_wherever_the_search_starts(theta, start):
    rate = expit(theta[0] + theta[1] * PLACES)
    assert fit_logistic(LINE, rate, MASS, np.array(start)) == pytest.approx(theta, abs=1e-9)
    theta, gradient, hessian = newton(rate)
    q = MASS * expit(theta @ LINE) * (1.0 - expit(theta @ LINE))
    assert gradient == pytest.approx([0.0, 0.0], abs=1e-12)
    assert hessian == pytest.approx((LINE * q) @ LINE.T)


@pytest.mark.parametrize(
    ("rate", "start", "features"),
    [
        ((0.0, 0.0, 1.0, 1.0), (0.0, 0.0), LINE),  # separable: steps that never end
        ((0.2, 0.3, 0.4, 0.5), (0.0, 0.0), np.stack([ONES, ONES])),  # one coefficient too many
        ((0.2, 0.3, 0.4, 0.5), (60.0, 0.0), LINE),  # too far away for full steps
        ((0.2, 0.3, 0.4, 0.5), (np.nan, 0.0), LINE),
    ],
)
def test_newton_s_method_says_where_it_is_in_doubt(rate, start, features):
    assert newton(rate, start, features) is None


@pytest.mark.parametrize(("most", "pooled"), [(3, 1), (4, 0)])
def test_many_rows_are_pooled_for_a_rough_fit_that_changes_no_answer(monkeypatch, most, pooled):
    calls = []
    monkeypatch.setattr(logistic, "MANY", most)
    monkeypatch.setattr(logistic, "pooled_neighbours", lambda *a: calls.append(a) or pooled_neighbours(*a, 2))
    rate = expit(0.3 - 0.7 * PLACES)
    assert fit_logistic(LINE, rate, MASS, np.zeros(2)) == pytest.approx([0.3, -0.7], abs=1e-9)
    assert len(calls) == pooled


@pytest.mark.parametrize(("maximum", "sizes"), [(4, [4]), (3, [2, 2]), (2, [2, 2]), (1, [4])])
def test_neighbours_are_pooled_to_no_more_than_so_many_means(maximum, sizes):
    features, rate, mass = pooled_neighbours(LINE, PLACES / 3.0, MASS, maximum)
    each = np.repeat(np.arange(len(sizes)), sizes) if maximum < 4 else np.arange(4)
    total = np.bincount(each, MASS)
    assert mass == pytest.approx(total)
    assert rate == pytest.approx(np.bincount(each, MASS * PLACES / 3.0) / total)
    assert features[1] == pytest.approx(np.bincount(each, MASS * PLACES) / total)


def test_no_finite_log_odds_mean_certainty():
    ends = inner_expit(np.array([-1e4, -1.0, 0.0, 40.0, 1e4]))
    assert ends[1:3] == pytest.approx(expit([-1.0, 0.0]))
    assert ends[0] == np.finfo(float).tiny
    assert ends[3] == ends[4] == np.nextafter(1.0, 0.0)


@pytest.mark.parametrize("clip", [1e-3, 1e-12])
def test_log_odds_are_those_of_predictions_no_closer_to_the_ends(clip):
    v = np.array([0.0, clip / 2.0, 0.3, 0.5, 1.0])
    assert log_odds(v, clip) == pytest.approx([logit(clip), logit(clip), logit(0.3), 0.0, -logit(clip)])


def test_log_odds_of_certainty_are_those_of_the_smallest_clip():
    assert log_odds(np.array([1.0]), 1e-300) == pytest.approx([300.0 * np.log(10.0)])
