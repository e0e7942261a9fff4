"""Certificates hold in exact rational arithmetic, not only up to rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from calibrant import (
    calibration_distance,
    smooth_calibration_error,
    smooth_calibration_witness,
    upper_calibration_distance,
)
from calibrant.measures import check_predictor
from calibrant.measures.lower import lower_calibration_certificate
from calibrant.measures.lower_check import Coupling, Potentials, check_coupling, check_potentials
from tests import exact
from tests.strategies import examples, samples


def nearly_calibrated(seed):
    """Event rates within 1e-15 to 0.1 of the predictions; ties, crowds, ends; weights over up to 24 orders."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 31))
    crowd = 0.3 + rng.random(n) * 10.0 ** rng.uniform(-12, -1)
    y_prob = [rng.random(n), np.round(rng.random(n), 1), crowd, rng.random(n) * 10.0 ** rng.uniform(-8, 0)][seed % 4]
    y_prob = 1.0 - y_prob if seed % 3 == 0 else y_prob
    off = 10.0 ** rng.uniform(-15, -1, n if seed % 2 else 1) * rng.normal(size=n)
    orders = (3, 6, 12)[seed % 3]
    return np.clip(y_prob + off, 0.0, 1.0), y_prob, 10.0 ** rng.uniform(-orders, orders, n)


def check_smooth(y_true, y_prob, weight):
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    truth = exact.smooth_calibration_error(y_true, y_prob, weight)
    assert Fraction(witness.value) <= truth <= Fraction(witness.upper)
    assert witness.value <= smooth_calibration_error(y_true, y_prob, sample_weight=weight) <= witness.upper
    assert witness.upper - witness.value < 1.1e-14
    steps = zip(witness.knots, witness.knots[1:], witness.heights, witness.heights[1:], strict=False)
    for v, w, x, y in steps:
        assert abs(Fraction(y) - Fraction(x)) <= Fraction(w) - Fraction(v) + Fraction(2) ** -52


def check_lower(y_true, y_prob, weight):
    certificate = lower_calibration_certificate(y_true, y_prob, sample_weight=weight)
    c, p = certificate.coupling, certificate.potentials
    assert certificate.converged
    upper = exact.coupling(zip(c.u, c.v, c.y, c.mass, strict=True), y_true, y_prob, weight)
    lower = exact.potentials(p.nodes, p.r0, p.r1, y_true, y_prob, weight)
    assert Fraction(certificate.lower) <= max(0, lower)
    assert upper <= Fraction(certificate.upper)
    assert check_coupling(c, y_true, y_prob, sample_weight=weight) == certificate.upper
    assert check_potentials(p, y_true, y_prob, sample_weight=weight) == certificate.lower


@examples(25)
@given(samples(max_rows=8))
def test_both_brackets_hold(sample):
    check_smooth(*sample)
    check_lower(*sample)


@pytest.mark.parametrize("seed", range(12))  # every kind of data by every range of weights
def test_nearly_calibrated_event_rates(seed):
    y_true, y_prob, weight = nearly_calibrated(seed)
    check_lower(y_true, y_prob, weight)
    check_smooth(y_true[:8], y_prob[:8], weight[:8])


@pytest.mark.parametrize("rows", [1, 3])
def test_potentials_of_one_distinct_prediction_prove_the_lower_end(rows):
    certificate = lower_calibration_certificate([1, 0, 0][:rows], [0.3] * rows)
    potentials = certificate.potentials
    proved = exact.potentials(potentials.nodes, potentials.r0, potentials.r1, [1, 0, 0][:rows], [0.3] * rows)
    assert certificate.lower <= proved
    assert certificate.lower == pytest.approx(0.7 if rows == 1 else 1 / 3 - 0.3, abs=1e-9)


@pytest.mark.slow
def test_a_million_equal_gaps_round_the_same_way():
    """Each gap took its own rounding off the queue's heaviest mass, always the same one."""
    n = 1_000_000
    y_prob = 0.1 + np.arange(n) * 1e-13
    witness = smooth_calibration_witness(np.zeros(n), y_prob)
    truth = math.fsum(y_prob) / n
    assert witness.value < truth < witness.upper < witness.value + 1.1e-14
    assert witness.value <= smooth_calibration_error(np.zeros(n), y_prob) <= witness.upper


@pytest.mark.slow
def test_weights_of_a_crowd_of_ties_are_summed_with_compensation():
    n = 1_000_000
    y_prob, y_true, weight = np.full(n, 0.3), np.zeros(n), np.full(n, 0.1)
    weight[0] = 1e6
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    assert witness.value <= 0.3 <= witness.upper
    y_true[0] = 1.0
    truth = Fraction(10) ** 6 / (Fraction(10) ** 6 + (n - 1) * Fraction(0.1)) - Fraction(0.3)
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    assert Fraction(witness.value) <= truth <= Fraction(witness.upper)
    assert witness.upper - witness.value < 1.1e-14


@pytest.mark.parametrize("seed", range(4))
def test_a_finer_tolerance_never_gives_a_wider_bracket(seed):
    y_true, y_prob, weight = nearly_calibrated(seed)
    width = math.inf
    for tol in (1e-2, 1e-6, 1e-9, 1e-11, 1e-12, 1e-13):
        certificate = lower_calibration_certificate(y_true, y_prob, sample_weight=weight, tol=tol)
        assert certificate.width <= width
        assert certificate.width <= tol or tol < 1e-12
        width = certificate.width


@pytest.mark.parametrize("seed", range(10))
def test_checks_are_proofs_of_anything(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    y_prob, y_true, weight = rng.random(n), rng.integers(0, 2, n) * 1.0, 10.0 ** rng.uniform(-6, 6, n)
    pieces = Coupling(np.round(rng.random(n), 1), y_prob, y_true, weight / weight.sum())
    proved = check_coupling(pieces, y_true, y_prob, sample_weight=weight)
    rows = zip(pieces.u, pieces.v, pieces.y, pieces.mass, strict=True)
    assert exact.coupling(rows, y_true, y_prob, weight) <= Fraction(proved)
    any_heights = Potentials(np.sort(y_prob), rng.normal(size=n), 0.1 * rng.normal(size=n))
    proved = check_potentials(any_heights, y_true, y_prob, sample_weight=weight)
    r = any_heights
    assert Fraction(proved) <= max(0, exact.potentials(r.nodes, r.r0, r.r1, y_true, y_prob, weight))


def test_a_tolerance_that_was_missed_is_said(monkeypatch):
    from calibrant import lower_calibration_distance
    from calibrant.measures import lower_solve

    monkeypatch.setattr(lower_solve, "_STAGES", ())
    y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    with pytest.warns(RuntimeWarning, match="not within tol=1e-09"):
        found = lower_calibration_distance(y_true, y_prob)
    assert found <= 2 * smooth_calibration_error(y_true, y_prob) + 1e-14
    assert found >= lower_calibration_certificate(y_true, y_prob).lower


def check_distances(y_true, y_prob, weight):
    """Both brackets; the predictor's levels prove the upper end, and their cost is no less than the lower end."""
    for function in (calibration_distance, upper_calibration_distance):
        bracket = function(y_true, y_prob, sample_weight=weight)
        attained = exact.cost_of_levels(bracket.predictor, y_true, y_prob, weight)
        assert Fraction(bracket.lower) <= attained <= Fraction(bracket.upper)
        assert Fraction(bracket.upper) - attained < Fraction(1e-14)
        proved = check_predictor(bracket.predictor, y_true, y_prob, sample_weight=weight)
        assert attained <= Fraction(proved) < attained + Fraction(1e-14)
        assert bracket.exact == (bracket.width <= 1e-9)
        yield bracket


@pytest.mark.parametrize("seed", range(12))
def test_brackets_of_small_domains_hold_the_true_distance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    y_prob = np.round(rng.random(n), 1) if seed % 2 else rng.random(n)
    y_true = rng.integers(0, 2, n) * 1.0 if seed % 3 else rng.random(n)
    weight = 10.0 ** rng.uniform(-6, 6, n) if seed % 4 else None  # without: the path for outcomes, else the subsets
    true, _ = check_distances(y_true, y_prob, weight)
    assert true.exact
    assert Fraction(true.lower) <= exact.calibration_distance(y_true, y_prob, weight) <= Fraction(true.upper)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["outcomes", "weights", "rates", "weighted ties"])
def test_brackets_of_300_rows(kind):
    rng = np.random.default_rng(7)
    n = 300
    y_prob = np.round(rng.random(n), 1) if kind == "weighted ties" else rng.random(n)
    y_true = np.clip(y_prob + 1e-6 * rng.normal(size=n), 0, 1) if kind == "rates" else (rng.random(n) < y_prob) * 1.0
    weight = 10.0 ** rng.uniform(-6, 6, n) if "weight" in kind else None
    true, upper = check_distances(y_true, y_prob, weight)
    assert true.lower <= upper.upper
    assert true.exact or kind != "outcomes"
