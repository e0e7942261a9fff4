"""Fits of few numbers end at their one optimum: the constraints that hold there, and searches that gain no more."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from calibrant.recalibration import TemperatureScaling, VectorScaling, softmax_fit
from calibrant.recalibration.curves import scaling
from calibrant.recalibration.softmax_fit import SoftmaxProblem, fit_softmax, spread_between

N = 200
T = np.linspace(-1.0, 1.0, N)
OTHER = np.random.default_rng(0).normal(size=N)
MASS = np.full(N, 1.0 / N)
CANDIDATES = [[], [0], [1], [0, 1]]


@pytest.mark.parametrize(
    ("slopes", "active"),
    [((-1.0, -0.5), []), ((1.0, -0.5), [0]), ((-1.0, 0.5), [1]), ((1.0, 0.5), [0, 1]), ((-0.3, -0.3), [])],
)
def test_terms_are_those_of_the_constrained_optimum(slopes, active):
    """There no coefficient is negative, and of those at 0 the loss would rise."""
    units = np.vstack([T, OTHER])
    rate = expit(slopes @ units + 0.2)
    base = float(logit(MASS @ rate))
    found, theta = scaling._best_terms(CANDIDATES, units, rate, MASS, base, np.array([0.0, 0.0, base]))
    assert found == active
    slope = np.append(units, np.ones((1, N)), axis=0) @ (MASS * (expit(theta[:2] @ units + theta[2]) - rate))
    free = [*active, 2]
    assert slope[free] == pytest.approx(np.zeros(len(free)), abs=1e-8)
    assert (theta[:2] >= 0.0).all()
    assert (slope[:2] >= -1e-9).all()
    if len(active) == 2:
        assert theta == pytest.approx([*slopes, 0.2], abs=1e-5)


@pytest.mark.parametrize("roughly", [1, 10**6])
def test_what_pooled_neighbours_say_first_changes_no_fit(monkeypatch, roughly):
    monkeypatch.setattr(scaling, "_ROUGHLY", 64 * roughly)
    v = np.linspace(0.02, 0.98, 600)
    rows = np.vstack([np.log(v), -np.log1p(-v)])
    found = scaling._least_loss(rows, expit(1.3 * rows[0] + 0.7 * rows[1] - 0.1), np.full(600, 1.0 / 600))
    assert found == pytest.approx((1.3, 0.7, -0.1), abs=1e-4)


def test_a_softmax_fit_ends_where_no_step_is_downhill(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), 30)
    problem = SoftmaxProblem(np.log(table), rng.integers(0, 3, 30), np.full(30, 1 / 30), np.full((4, 3), 0.1))
    start = np.eye(4, 3)
    monkeypatch.setattr(softmax_fit, "_newton_step", lambda _problem, _ridge, _p, gradient, *_: -1e3 * gradient)
    monkeypatch.setattr(softmax_fit, "errors", ascending(softmax_fit.errors))
    asked = []
    scores = SoftmaxProblem.scores
    monkeypatch.setattr(SoftmaxProblem, "scores", lambda self, at: asked.append(1) or scores(self, at))
    assert np.array_equal(fit_softmax(problem, start), start)
    assert 20 < len(asked) < 60  # halved until it is a hundred-millionth, once


def ascending(errors):
    """Derivatives of the wrong sign: what they promise to gain is lost."""

    def turned(probability, label, mass, error):
        errors(probability, label, mass, error)
        error *= -1.0

    return turned


def test_the_score_of_a_temperature_is_minus_the_brier_score():
    v, y, weight = np.array([0.2, 0.6, 0.9]), np.array([1, 0, 1]), np.array([1.0, 2.0, 1.0])
    one = TemperatureScaling().fit(v, y)
    after = one.predict(v)
    assert one.score(v, y) == pytest.approx(-((after - y) ** 2).mean())
    assert one.score(v, y, weight) == pytest.approx(-np.average((after - y) ** 2, weights=weight))
    table = np.column_stack([1.0 - v, v])
    assert 0.0 < after.min() < after.max() < 1.0
    of_classes = TemperatureScaling().fit(table, y)
    assert of_classes.score(table, y) == pytest.approx(-2.0 * ((of_classes.predict(table)[:, 1] - y) ** 2).mean())


def test_the_score_of_a_map_of_classes_is_minus_the_brier_score():
    rng = np.random.default_rng(0)
    table, label, weight = rng.dirichlet(np.ones(3), 30), np.arange(30) % 3, rng.random(30) + 0.1
    fitted = VectorScaling().fit(table, label)
    error = ((fitted.predict(table) - np.eye(3)[label]) ** 2).sum(axis=1)
    assert fitted.score(table, label) == pytest.approx(-error.mean())
    assert fitted.score(table, label, weight) == pytest.approx(-np.average(error, weights=weight))


def test_the_spread_of_entries_is_that_of_slopes_beyond_chance():
    """Of class j by the score of i: its information is what a class's own factor and shift leave of x_i, by weights."""
    rng = np.random.default_rng(0)
    k, n = 4, 60
    x, label, mass = np.log(rng.dirichlet(np.ones(k), n)), rng.integers(0, k, n), rng.dirichlet(np.ones(n))
    problem = SoftmaxProblem(x, label, mass, np.full((k + 1, k), 0.1))
    weights = np.eye(k + 1, k)
    p = softmax(x, axis=1)
    squares, known = 0.0, 0.0
    for j in range(k):
        weight = mass * p[:, j] * (1.0 - p[:, j])
        own = np.column_stack([x[:, j], np.ones(n)])
        for i in set(range(k)) - {j}:
            root = np.sqrt(weight)
            left = root * x[:, i] - (root[:, None] * own) @ np.linalg.lstsq(root[:, None] * own, root * x[:, i])[0]
            information = left @ left
            slope = (mass * (p[:, j] - (label == j)) * x[:, i]).sum()
            squares += slope**2 - information * (mass**2).sum()
            known += information**2
    assert spread_between(problem, weights) == pytest.approx(max(0.0, squares / known))
    assert squares > 0.0
