"""Components of the calibration test: moments of each statistic by enumeration, and each bound against its formula."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.testing import components, tcal
from calibrant.inference.testing.classical import chi_squared_tail
from calibrant.inference.testing.components import (
    COX,
    GROUPS,
    Components,
    UncertainLots,
    chernoff,
    log_tail,
    lots_of_rows,
    lots_of_sample,
    pooling,
    sum_bound,
)
from calibrant.inference.testing.result import LEAST


def lots(v, count=1.0, ones=0.0, weight=1.0, group=None):
    v = np.asarray(v, float)
    count, ones, weight = (np.broadcast_to(np.asarray(each, float), v.shape) for each in (count, ones, weight))
    return UncertainLots(v, count, ones, weight, int(count.sum()), None, 0.0, group)


def of_gamma(parts, at):
    """Mean, variance and skewness of the statistic that is like this gamma variable."""
    shape, stretch, shift = parts.shape[at], parts.stretch[at], parts.shift[at]
    return (shape - shift) / stretch, shape / stretch**2, 2.0 / math.sqrt(shape)


@pytest.mark.parametrize("weight", [1.0, np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 2.0])])
def test_statistics_have_the_moments_of_their_gamma_variable(weight):
    units = lots([0.1, 0.25, 0.4, 0.45, 0.6, 0.7, 0.85], weight=weight)
    parts = Components.of(units)
    outcomes = np.array(list(product([0.0, 1.0], repeat=7)))
    chance = np.prod(np.where(outcomes == 1.0, units.prediction, 1.0 - units.prediction), axis=1)
    found = np.array([parts.statistics(replace(units, ones=each), 0, np.uint64(0))[0] for each in outcomes])
    for at, (name, _) in enumerate(parts.names):
        mean = chance @ found[:, at]
        moved = found[:, at] - mean
        variance = chance @ moved**2
        gamma = of_gamma(parts, at)
        assert gamma[0] == pytest.approx(mean, abs=1e-9)
        if name == GROUPS:
            assert gamma[1] == pytest.approx(variance)
            assert gamma[2] == pytest.approx(max(0.1, chance @ moved**3 / variance**1.5), rel=1e-6)
        else:
            assert gamma[1] == pytest.approx(max(variance, 0.1 * mean))


def test_statistics_of_groups_have_the_moments_of_random_signs(monkeypatch):
    """All signs of five groups, each once: sums of products of different groups have mean 0."""
    y, v = np.array([1.0, 0, 1, 1, 0, 0, 1, 0]), np.linspace(0.15, 0.85, 8)
    units = lots_of_rows(Rows.of(y, v, None, None, [0, 1, 2, 3, 4, 0, 1, 2]))
    signs = np.array(list(product([1.0, -1.0], repeat=5)))
    monkeypatch.setattr(components, "random_signs", lambda _rng, shape: signs[: shape[0]].copy())
    parts, found = components.signed_statistics(units, 31, np.uint64(0))
    assert found.mean(axis=0) == pytest.approx(0.0, abs=1e-9)
    for at in range(len(parts.names)):
        mean, variance, _ = of_gamma(parts, at)
        square = parts.shape[at] / parts.stretch[at]
        assert mean == pytest.approx(0.0, abs=1e-9)
        assert variance == pytest.approx(max(found[:, at].var(), 1e-3 * square**2))


def test_the_tail_where_a_gamma_variable_underflows_is_continued():
    parts = Components.of(lots(np.linspace(0.1, 0.9, 30)))
    at = next(k for k, (name, _) in enumerate(parts.names) if name == COX)
    statistics = np.zeros((3, len(parts.names)))
    statistics[:, at] = [1200.0, 1300.0, 3000.0]
    shape, x = parts.shape[at], statistics[:, at] * parts.stretch[at]
    logs = parts.logs(statistics)[:, at]
    expected = [-y + (shape - 1.0) * math.log(y) - math.lgamma(shape) + math.log1p((shape - 1.0) / y) for y in x]
    assert logs == pytest.approx(expected, abs=1e-3)


def test_the_tail_shares_the_error_over_both_signs_of_sixteen_mixtures_and_the_waves():
    rng = np.random.default_rng(0)
    v = np.sort(rng.uniform(0.05, 0.95, 60))
    for seed in range(5):
        ones = (np.random.default_rng(seed).random(60) < v**1.5).astype(float)
        units = lots(v, ones=ones)
        parts = Components.of(units)
        constant = 1.0 / math.sqrt(units.variance.sum())
        turns = math.pi * np.arange(16) / 16
        tried = [(1 / 32, math.cos(a) * constant + math.sin(a) * parts.slope) for a in turns]
        waves = parts.wave[parts.block]
        tried += [(0.5 / (k * (k + 1)), waves[:, k]) for k in range(1, waves.shape[1])]
        scores = [(share, float(along @ units.excess)) for share, along in tried]
        best = min(-0.5 * z * z - math.log(0.5 * share) for share, z in scores)

        def normal(lots, along):
            z = float(along @ lots.excess)
            assert z >= 0.0
            return -0.5 * z * z

        assert log_tail(units, parts, normal) == pytest.approx(min(0.0, best))


@pytest.mark.parametrize(("v", "n", "ones"), [(0.2, 50, 20), (0.2, 50, 50), (0.7, 30, 29), (0.01, 1000, 30)])
def test_chernoffs_bound_of_one_prediction_is_its_divergence(v, n, ones):
    rate = ones / n
    divergence = rate * math.log(rate / v) + ((1.0 - rate) * math.log((1.0 - rate) / (1.0 - v)) if rate < 1.0 else 0.0)
    for weight in (1.0, 3.0):
        assert chernoff(lots([v], n, ones, weight), np.ones(1)) == pytest.approx(-n * divergence, rel=1e-6)
    assert chernoff(lots([v], n, ones), -np.ones(1)) == 0.0  # what is below its mean is no evidence


@pytest.mark.parametrize("seed", range(4))
def test_chernoffs_bound_is_the_least_over_all_exponents(seed):
    rng = np.random.default_rng(seed)
    v, n, w, along = rng.uniform(0.05, 0.95, 6), rng.integers(1, 9, 6), rng.uniform(0.5, 2.0, 6), rng.normal(size=6)
    ones = np.round(np.where(along > 0.0, v + 0.6 * (1.0 - v), 0.5 * v) * n)
    units = lots(v, n, ones, w)

    def log_moment(t):
        a = t * along * w
        return (n * np.log(1.0 - v + v * np.exp(a)) - a * ones).sum()

    least = minimize_scalar(log_moment, bounds=(0.0, 30.0), method="bounded", options={"xatol": 1e-10}).fun
    assert chernoff(units, along) == pytest.approx(min(0.0, least), rel=1e-6)


def test_a_bound_of_groups_is_the_least_over_its_exponents():
    rng = np.random.default_rng(1)
    group, v = np.repeat(np.arange(40), 3), rng.uniform(0.1, 0.4, 120)
    ones, along = (rng.random(120) < 0.7).astype(float), rng.uniform(-0.2, 1.0, 120)
    units = lots(v, 1.0, ones, group=group)
    sums = np.bincount(group, along * (ones - v))
    least = np.bincount(group, np.where(along > 0.0, along * v, -along * (1.0 - v))).max()
    z = sums / least
    tried = [(-math.log(1.0 - x) - x) * (z @ z) - x * z.sum() for x in 0.9 / 2.0 ** np.arange(12)]
    assert min(tried) + math.log(12) < -1.0
    assert sum_bound(units, along) == pytest.approx(min(tried) + math.log(12), rel=1e-9)
    assert sum_bound(units, -along) == 0.0


def test_predictions_of_a_cell_vary_by_a_quarter_of_its_squared_width():
    v, count = np.array([0.2, 0.6]), np.array([30.0, 40.0])
    width = np.array([0.02, 0.0])
    sample = Sample(v, count, count / 2.0, count, count / 2.0, count, width, True)
    assert lots_of_sample(sample).pooling == pooling(v, count, np.array([30.0 * 0.01**2, 0.0])) > 0.0
    exact = replace(sample, cell_width=np.zeros(2))
    assert lots_of_sample(exact).pooling == 0.0


@pytest.mark.parametrize(("classes", "null_error"), [(2, 0.0), (2, 0.1), (3, 0.05), (3, 0.0)])
def test_the_theorems_p_values_are_chebyshevs(classes, null_error):
    """Of a variance of at most K^2 (2 M / n^2 + 5 delta^2 / n): M cells that are shared, or all that can be."""
    n, scales = 1000, (2, 8, 64)
    rows = SimpleNamespace(label=np.zeros(n), n_classes=classes, shared_cells=lambda k: [2.0, 7.0, 40.0][:k])
    statistics = np.array([0.02, 0.3, 0.5])
    found = tcal._theorem_pvalues(rows, scales, statistics, null_error)
    for p, m, shared, each in zip(found, scales, (2, 7, 40), statistics, strict=True):
        cells = shared if null_error == 0.0 else min(m ** (classes - 1), 500)
        variance = classes**2 * (2.0 * cells / n**2 + 5.0 * null_error**2 / n)
        far = max(each - null_error**2, 0.0)
        assert p == pytest.approx(min(1.0, variance / far**2))


def test_rows_that_are_all_certain_are_no_lots():
    for groups in (None, [0, 1]):
        found = lots_of_rows(Rows.of([0, 1], [0.0, 1.0], None, None, groups))
        assert (found.prediction.size, found.n_rows, found.pooling) == (0, 2, 0.0)
        assert (found.group is None) == (groups is None)


def test_a_sum_without_degrees_is_sure_to_be_0():
    assert [chi_squared_tail(x, 0) for x in (0.0, 0.1, math.inf)] == [1.0, LEAST, LEAST]
    assert chi_squared_tail(3.0, 2) == pytest.approx(math.exp(-1.5))
