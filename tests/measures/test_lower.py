"""Lower distance and its certificate, against the definition, the literature and independent solvers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from calibrant import InputError, expected_calibration_error, smooth_calibration_error
from calibrant.door.sample import Sample
from calibrant.measures import lower
from calibrant.measures.lower import (
    audited_certificate,
    lower_calibration_certificate,
    lower_calibration_distance,
    lower_certificate_from_sample,
    lower_distance_from_rows,
    lower_distance_from_sample,
    pooled_by_cells,
    pooled_rows,
)
from calibrant.measures.lower_check import (
    Coupling,
    Masses,
    Potentials,
    check_coupling,
    check_potentials,
    cost_of_carrying,
    cost_of_coupling,
    second_order,
)
from tests import exact
from tests.oracles import lower as oracle
from tests.strategies import examples, samples


def proven(y_true, y_prob, weight=None, tol=1e-9):
    """Certificate with both ends proved again, and held against its neighbours among the measures."""
    certificate = lower_calibration_certificate(y_true, y_prob, sample_weight=weight, tol=tol)
    upper = check_coupling(certificate.coupling, y_true, y_prob, sample_weight=weight)
    lower = check_potentials(certificate.potentials, y_true, y_prob, sample_weight=weight)
    assert upper == pytest.approx(certificate.upper, abs=1e-12)
    assert lower == pytest.approx(certificate.lower, abs=1e-12)
    assert 0.0 <= certificate.lower <= certificate.upper
    assert certificate.converged
    assert certificate.width <= tol
    smooth = smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert smooth <= 2 * certificate.upper + 1e-12
    assert certificate.lower <= 2 * smooth + 1e-14
    level_sets = expected_calibration_error(y_true, y_prob, sample_weight=weight, strategy="exact")
    assert certificate.upper <= level_sets + 1e-12
    return certificate


@pytest.mark.slow
@examples(3000)
@given(samples())
def test_bracket_is_narrow_and_proven(sample):
    y_true, y_prob, weight = sample
    proven(y_true, y_prob, weight)


@examples(150)
@given(samples(max_rows=12))
def test_equals_the_definition(sample):
    y_true, y_prob, weight = sample
    value = lower_calibration_distance(y_true, y_prob, sample_weight=weight)
    assert type(value) is float
    off = abs(value - oracle.lower_calibration_distance(*sample))
    if off > 1.1e-9:  # the oracle's own program is solved to 2e-9: the proof in rational arithmetic decides
        proof = lower_calibration_certificate(y_true, y_prob, sample_weight=weight).potentials
        proved = exact.potentials(proof.nodes, proof.r0, proof.r1, y_true, y_prob, weight)
        assert value - float(proved) <= 1.1e-9
        assert off <= 3e-9


@pytest.mark.parametrize("n", [5, 50, 400])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_lies_within_the_lemma_of_the_program_on_a_grid(n, power):
    rng = np.random.default_rng(n)
    y_prob = rng.random(n)
    y_true = (rng.random(n) < y_prob**power) * 1.0
    u = np.union1d(y_prob, np.linspace(0, 1, 501))
    zeros, ones = (np.bincount(np.searchsorted(u, y_prob), y_true == label, u.size) / n for label in (0, 1))
    step = sparse.diags_array([-np.ones(u.size - 1), np.ones(u.size - 1)], offsets=[0, 1], shape=(u.size - 1, u.size))
    rises = sparse.block_diag([step, step])
    calibrated = sparse.hstack([sparse.diags_array(1 - u), sparse.diags_array(u)])
    gaps = np.tile(np.diff(u), 4)
    solution = linprog(
        -np.concatenate([zeros, ones]),
        A_ub=sparse.vstack([rises, -rises, calibrated]),
        b_ub=np.concatenate([gaps, np.zeros(u.size)]),
        bounds=(None, None),
        method="highs",
    )
    certificate = proven(y_true, y_prob)
    on_grid = -solution.fun
    assert on_grid - np.diff(u).max() ** 2 / 2 - 1e-7 <= certificate.upper
    assert certificate.lower <= on_grid + 1e-7


@pytest.mark.parametrize("b", [0.01, 0.1, 0.25, 0.5])
def test_smooth_error_can_be_nearly_twice_the_distance(b):
    certificate = proven(np.array([0.0, 1.0]), np.array([1.0, 1.0 - b]), np.array([b, 1.0 - b]))
    assert certificate.upper == pytest.approx(b**2, abs=1.1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.2, 0.5])
def test_family_of_lemma_4_5(alpha):
    """Predictions 1/2 - alpha and 1/2 + alpha, each with the other's rate: the paper moves 2 alpha^2 too little."""
    y_prob, y_true = np.array([0.5 - alpha, 0.5 + alpha]), np.array([0.5 + alpha, 0.5 - alpha])
    certificate = proven(y_true, y_prob, np.ones(2))
    assert certificate.upper == pytest.approx(4 * alpha**2 / (1 + 2 * alpha), abs=1.1e-9)


@pytest.mark.parametrize("kind", ["ulps", "near", "ends", "weights", "alternating", "calibrated", "tiny"])
def test_hard_samples_of_ten_thousand_rows(kind):
    n = 10_000
    rng = np.random.default_rng(7)
    y_prob, weight = rng.random(n), None
    y_true = (rng.random(n) < y_prob) * 1.0
    if kind == "ulps":
        y_prob, y_true = 0.3 + 2.0**-54 * np.arange(n), (rng.random(n) < 0.35) * 1.0
    elif kind == "near":
        y_prob, y_true = 0.3 + 1e-9 * rng.random(n), (rng.random(n) < 0.35) * 1.0
    elif kind == "ends":
        y_prob = np.round(rng.random(n))
        y_true = (rng.random(n) < 0.9 * y_prob + 0.05) * 1.0
    elif kind == "weights":
        weight = 10.0 ** rng.uniform(-6, 6, n)
    elif kind == "alternating":
        y_prob, y_true = np.linspace(0, 1, n), np.arange(n) % 2.0
    elif kind == "tiny":
        y_prob = y_prob * 1e-6
        y_true = (rng.random(n) < 0.5e-6) * 1.0
    proven(y_true, y_prob, weight)


def test_calibrated_sample_is_at_distance_nothing():
    y_prob = np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], 4)
    y_true = np.array([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1.0])
    certificate = proven(y_true, y_prob)
    assert certificate.upper < 1e-15


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_goes_to_its_end(label):
    y_prob = np.array([0.1, 0.4, 0.9])
    certificate = proven(np.full(3, label), y_prob)
    assert certificate.upper == pytest.approx(np.abs(y_prob - label).mean(), abs=1e-9)


@pytest.mark.parametrize("seed", [756, 819, 2193])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_at_every_order_of_magnitude(seed, label):
    """Predictions next to 0 and 1, at distances of up to 320 orders of magnitude."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    tiny = 10.0 ** rng.uniform(-320, 0, n)
    y_prob = np.where(rng.random(n) < 0.5, tiny, 1.0 - tiny)
    certificate = proven(np.full(n, label), y_prob)
    assert certificate.width <= 1e-13
    assert certificate.upper == pytest.approx(np.abs(y_prob - label).mean(), abs=1e-14)


def test_a_wider_tolerance_is_kept():
    rng = np.random.default_rng(0)
    y_prob = rng.random(5000)
    y_true = (rng.random(5000) < y_prob**1.5) * 1.0
    sharp = proven(y_true, y_prob)
    rough = proven(y_true, y_prob, tol=1e-3)
    assert rough.lower <= sharp.upper
    assert rough.upper >= sharp.lower


@pytest.mark.slow
@examples(300)
@given(samples(), st.floats(0.5, 60.0))
def test_pooling_by_cells_keeps_every_sum_and_says_how_far_rows_moved(rows, cells):
    y_true, y_prob, weight = rows
    w = np.ones_like(y_prob) if weight is None else weight
    pooled, moved = pooled_by_cells(Sample.from_columns(*rows), cells)
    cell = np.floor(y_prob * cells)
    held = [cell == each for each in np.unique(cell)]
    means = np.array([np.average(y_prob[h], weights=w[h] / w[h].max()) if w[h].sum() > 0 else np.nan for h in held])
    known = ~np.isnan(means)
    assert pooled.prediction[known] == pytest.approx(means[known], abs=1e-12)
    assert pooled.count.tolist() == [h.sum() for h in held]
    assert pooled.ones.tolist() == [(y_true[h] == 1).sum() for h in held]
    for name, column in (("weight", w), ("weighted_outcome", w * y_true), ("squared_weight", w * w)):
        assert getattr(pooled, name) == pytest.approx([column[h].sum() for h in held], rel=1e-9)
    far = sum((w[h] * np.abs(y_prob[h] - m)).sum() for h, m in zip(held, means, strict=True) if not np.isnan(m))
    assert moved == pytest.approx(far / w.sum(), rel=2e-9, abs=1e-15)  # rounded up
    assert moved >= far / w.sum() * (1.0 - 1e-12) - 1e-15  # the means here are rounded as well
    v, p, q, moved_rows = pooled_rows(y_true.astype(float), y_prob, weight, cells)
    assert v == pytest.approx(means[known], abs=1e-12)
    total = [w[h].sum() / w.sum() for h, k in zip(held, known, strict=True) if k]
    assert p + q == pytest.approx(total, rel=1e-9)
    ones = [(w * y_true)[h].sum() / w.sum() for h, k in zip(held, known, strict=True) if k]
    assert q == pytest.approx(ones, rel=1e-9, abs=1e-15)
    assert moved_rows == pytest.approx(moved, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize("kind", ["calibrated", "cubed", "weights", "rates", "at the ends of cells"])
def test_a_coarse_tolerance_holds_where_rows_are_pooled(kind):
    tol, rng = 1e-2, np.random.default_rng(4)
    y_prob, weight = rng.random(1500), None
    if kind == "weights":
        weight = 10.0 ** rng.uniform(-3, 0, 1500)
    if kind == "at the ends of cells":
        y_prob = np.clip((np.floor(y_prob / 0.016) + rng.integers(0, 2, 1500) * 0.98) * 0.016 + 1e-7 * y_prob, 0, 1)
    y_true = (rng.random(1500) < (y_prob**3 if kind == "cubed" else y_prob)) * 1.0
    if kind == "rates":
        y_true = np.clip(y_prob + rng.normal(size=1500) / 5, 0.0, 1.0)
    sample = Sample.from_columns(y_true, y_prob, weight)
    certificate = lower_calibration_certificate(y_true, y_prob, sample_weight=weight)
    value = lower_distance_from_sample(sample, tol=tol)
    of_rows = lower_distance_from_rows(y_true, y_prob, weight, tol=tol)
    for found in (value, of_rows):
        assert certificate.lower - 1e-12 <= found <= certificate.upper + tol
    assert (value == lower_certificate_from_sample(sample, tol=tol, rough=True).upper) == ("ends" in kind)


@examples(300)
@given(samples(), st.floats(-5.0, -0.5))
def test_a_rough_search_is_as_near_as_asked_for(rows, digits):
    y_true, y_prob, weight = rows
    certificate = proven(y_true, y_prob, weight)
    value = lower_distance_from_sample(Sample.from_columns(*rows), tol=10.0**digits)
    assert certificate.lower - 1e-12 <= value <= certificate.upper + 10.0**digits


@pytest.mark.parametrize("few", [300, 299])
@pytest.mark.parametrize("apart", [1e-9, 1e-3])
def test_of_few_rows_a_certificate_is_as_fine_as_can_be_and_of_many_as_an_audit_needs(monkeypatch, few, apart):
    """Pairs of predictions that are close are pooled where rows are many; what is proved is so of the rows."""
    v = np.sort(np.concatenate([np.linspace(0.01, 0.9, 150), np.linspace(0.01, 0.9, 150) + apart]))
    y = (np.random.default_rng(1).random(300) < v**2).astype(float)
    monkeypatch.setattr(lower, "FEW", few)
    found = audited_certificate(Sample.from_columns(y, v))
    sharp = proven(y, v)
    assert found.width <= (1e-9 if few == 300 else 5e-5)
    assert found.lower <= sharp.upper
    assert found.upper >= sharp.lower
    assert found.potentials.nodes.size == (150 if few < 300 and apart < 1e-6 else 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calibrated", "far off", "weights"])
def test_what_was_found_for_means_is_proved_for_many_rows(kind):
    rng = np.random.default_rng(5)
    y_prob = rng.beta(0.8, 2.0, 60_000)
    y_true = (rng.random(60_000) < (y_prob**2 if kind == "far off" else y_prob)) * 1.0
    weight = rng.random(60_000) if kind == "weights" else None
    sample = Sample.from_columns(y_true, y_prob, weight)
    found = audited_certificate(sample)
    assert found.potentials.nodes.size < 30_000
    assert found.converged
    assert found.width <= 5e-5
    assert check_coupling(found.coupling, y_true, y_prob, sample_weight=weight) == found.upper
    assert check_potentials(found.potentials, y_true, y_prob, sample_weight=weight) == found.lower
    distance = lower_distance_from_sample(sample, tol=1e-5)
    assert found.lower <= distance <= found.upper + 1e-5


@pytest.mark.slow
def test_a_tolerance_beyond_double_precision_returns_what_was_reached():
    rng = np.random.default_rng(0)
    y_prob = rng.random(30_000)
    y_true = (rng.random(30_000) < y_prob) * 1.0
    certificate = lower_calibration_certificate(y_true, y_prob, tol=1e-300)
    assert certificate.converged == (certificate.width == 0.0)
    assert certificate.width < 1e-11


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan")])
def test_tolerance_must_be_positive(tol):
    with pytest.raises(InputError, match="tol: is"):
        lower_calibration_distance([0, 1], [0.2, 0.7], tol=tol)


@examples(300)
@given(sample=samples(max_rows=15), seed=st.integers(0, 2**31))
def test_checks_prove_bounds_whatever_they_are_given(sample, seed):
    y_true, y_prob, weight = sample
    certificate = proven(y_true, y_prob, weight)
    rng = np.random.default_rng(seed)
    size = certificate.coupling.u.size
    noise = 10.0 ** rng.uniform(-6, 0)
    coupling = Coupling(
        np.clip(certificate.coupling.u + noise * rng.normal(size=size), 0, 1),
        certificate.coupling.v,
        certificate.coupling.y,
        certificate.coupling.mass * np.exp(noise * rng.normal(size=size)),
    )
    assert check_coupling(coupling, y_true, y_prob, sample_weight=weight) >= certificate.lower - 1e-12
    nodes = certificate.potentials.nodes
    potentials = Potentials(
        nodes,
        certificate.potentials.r0 + noise * rng.normal(size=nodes.size),
        certificate.potentials.r1 + noise * rng.normal(size=nodes.size),
    )
    assert check_potentials(potentials, y_true, y_prob, sample_weight=weight) <= certificate.upper + 1e-12


def test_checks_see_through_false_certificates():
    y_true, y_prob = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.2, 0.7, 0.9, 0.4])
    stay = Coupling(y_prob, y_prob, y_true, np.full(4, 0.25))
    assert stay.cost == 0.0
    assert check_coupling(stay, y_true, y_prob) == pytest.approx(np.abs(y_true - y_prob).mean())
    elsewhere = Coupling(y_true, np.array([0.0, 1.0, 1.0, 0.0]), y_true, np.full(4, 0.25))
    assert check_coupling(elsewhere, y_true, y_prob) >= 1.0
    assert check_coupling(Coupling(y_true, y_prob, y_true, -np.full(4, 0.25)), y_true, y_prob) == np.inf
    high = Potentials(np.array([0.0, 1.0]), np.ones(2), np.ones(2))
    assert check_potentials(high, y_true, y_prob) == 0.0


def test_tall_potentials_pay_for_rounding_by_the_square_of_the_tallest():
    """All events at 1/2 are 1/2 away; 25 units of the square of the height can be lost, and 28 are charged."""
    charged, tallest = 28.0 * 2.0**-53, 1024.0
    potentials = Potentials(np.array([0.5]), np.array([1.5 - tallest]), np.array([0.5]))
    lost = 0.5 - check_potentials(potentials, np.ones(3), np.full(3, 0.5))
    assert lost == pytest.approx(charged * tallest**2, rel=1e-4)


@pytest.mark.parametrize("bits", [43, 52, 53])
def test_of_what_was_summed_the_square_of_a_unit_for_each_number_is_charged(bits):
    assert second_order(2**bits) == 4.0 ** (bits - 53)


def test_samples_merge():
    rng = np.random.default_rng(3)
    y_prob = rng.random(40)
    y_true = (rng.random(40) < 0.5) * 1.0
    merged = Sample.from_columns(y_true[:20], y_prob[:20]).merge(Sample.from_columns(y_true[20:], y_prob[20:]))
    np.testing.assert_array_equal(merged.prediction, Sample.from_columns(y_true, y_prob).prediction)


@examples(300)
@given(samples(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_a_coupling_of_which_no_piece_is_kept_proves_the_same_to_the_last_bit(sample, places, seed):
    y_true, y_prob, weight = sample
    masses = Masses.of(Sample.from_columns(y_true, y_prob, weight))
    rng = np.random.default_rng(seed)
    calibrated = rng.exponential(size=len(places)) * rng.integers(0, 2, len(places))
    ends = lower._at_ends(masses, np.sort(places), calibrated)
    pieces = lower._coupling(masses, *ends)
    assert cost_of_carrying(*ends, masses) == cost_of_coupling(pieces, masses)


@pytest.mark.parametrize("seed", range(50))
def test_the_kernels_coupling_costs_what_two_earth_movers_charge(seed):
    from scipy.stats import wasserstein_distance

    from calibrant.kernels.lower import calibrated_scale, coupling_cost

    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    u = np.concatenate([[0.0], np.sort(rng.random(k - 2)), [1.0]])
    p, q, lam = rng.random((3, k))
    scale, rest0, rest1 = calibrated_scale(u, lam, p.sum(), q.sum())
    target0, target1 = scale * (1 - u) * lam, scale * u * lam
    target0[0] += rest0
    target1[-1] += rest1
    moved = sum(mass.sum() * wasserstein_distance(u, u, mass, target) for mass, target in ((p, target0), (q, target1)))
    assert coupling_cost(u, p, q, lam) == pytest.approx(moved, abs=1e-12)


@pytest.mark.parametrize("r0", [np.array([0.08]), np.array([0.08, np.nan])[:1], np.zeros((2, 1)), np.zeros(3)])
def test_heights_are_as_many_as_nodes(r0):
    potentials = Potentials(np.array([0.4, 0.6]), r0, np.array([-0.12, 0.08]))
    with pytest.raises(InputError, match="columns of shapes"):
        check_potentials(potentials, [0, 1], [0.4, 0.6])


def test_no_nodes_prove_nothing_and_no_pieces_all():
    nothing = np.empty(0)
    assert check_potentials(Potentials(nothing, nothing, nothing), [0, 1], [0.4, 0.6]) == 0.0
    assert check_coupling(Coupling(nothing, nothing, nothing, nothing), [0, 1], [0.4, 0.6]) >= 1.0
    with pytest.raises(InputError, match="coupling"):
        check_coupling(Coupling(np.ones(2), np.ones(1), np.ones(2), np.ones(2)), [0, 1], [0.4, 0.6])


def test_whole_numbers_prove_what_they_are_as_doubles():
    whole = Coupling(np.array([0, 1]), np.array([0.4, 0.6]), np.array([0, 1]), np.array([0.5, 0.5]))
    assert check_coupling(whole, [0, 1], [0.4, 0.6]) == pytest.approx(0.4, abs=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_single_precision_proves_no_less_than_its_cost(seed):
    rng = np.random.default_rng(seed)
    v = rng.random(50).astype(np.float32)
    y = (rng.random(50) < v).astype(np.float32)
    mass = rng.random(50)
    mass /= mass.sum()
    u = np.full(50, y.mean(), np.float32)
    proved = check_coupling(Coupling(u, v, y, mass), y, v.astype(float), sample_weight=mass)
    rows = [
        (Fraction(float(m)), Fraction(float(a)), Fraction(float(b)), int(c))
        for m, a, b, c in zip(mass, u, v, y, strict=True)
    ]
    exact_cost = sum(m * abs(a - b) for m, a, b, _ in rows) + abs(sum(m * (c - a) for m, a, _, c in rows))
    assert Fraction(proved) >= exact_cost
