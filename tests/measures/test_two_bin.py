"""Averaged two-bin and cutoff errors: by definition, their inequalities without rounding, and who tells the truth."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant import InputError, averaged_two_bin_calibration_error, cutoff_calibration_error, smooth_calibration_error
from calibrant.measures import lower_calibration_distance, squared_averaged_two_bin_error
from tests import exact
from tests.oracles import two_bin as oracle
from tests.oracles.cutoff import largest_sum
from tests.strategies import examples, samples

PLACES = [Fraction(k, 4) for k in range(5)]
KINDS = list(product(PLACES, (0, 1)))
SMALL = [rows for n in range(1, 5) for rows in combinations_with_replacement(KINDS, n)]


def shares(rows):
    """Rows (v, y) with what each weighs."""
    return [(v, y, Fraction(1, len(rows))) for v, y in rows]


def columns(rows):
    return np.array([y for _, y in rows], float), np.array([float(v) for v, _ in rows])


@pytest.mark.slow
@examples(80)
@given(sample=samples(max_rows=16), norm=st.sampled_from(["l1", "l2"]), debiased=st.booleans())
def test_they_are_their_definitions(sample, norm, debiased):
    y_true, y_prob, weight = sample
    value = averaged_two_bin_calibration_error(y_true, y_prob, sample_weight=weight, norm=norm)
    assert value == pytest.approx(oracle.averaged_two_bin_calibration_error(*sample, norm), abs=1e-12)
    if debiased and (np.ones_like(y_prob) if weight is None else weight).astype(bool).sum() < 2:
        with pytest.raises(InputError, match="debiased: needs at least two rows that carry weight"):
            squared_averaged_two_bin_error(y_true, y_prob, sample_weight=weight, debiased=True)
        return
    squared = squared_averaged_two_bin_error(y_true, y_prob, sample_weight=weight, debiased=debiased)
    assert squared == pytest.approx(oracle.squared_averaged_two_bin_error(*sample, debiased), abs=1e-12)


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 3.0, 2.0, 2.0, 0.5]])
def test_the_squared_error_of_tied_rows_is_its_definition(debiased, weight):
    sample = np.array([1, 0, 1, 0, 1, 0.0]), np.array([0.2, 0.2, 0.2, 0.6, 0.9, 0.9]), weight
    weight = None if weight is None else np.array(weight)
    found = squared_averaged_two_bin_error(*sample[:2], sample_weight=weight, debiased=debiased)
    assert found == pytest.approx(oracle.squared_averaged_two_bin_error(*sample[:2], weight, debiased), abs=1e-12)


def test_two_rows_that_carry_weight_are_enough_and_one_is_not():
    found = squared_averaged_two_bin_error([1, 0, 1], [0.2, 0.6, 0.9], sample_weight=[1, 1, 0], debiased=True)
    assert found == pytest.approx(squared_averaged_two_bin_error([1, 0], [0.2, 0.6], debiased=True), abs=1e-15)
    with pytest.raises(InputError, match="debiased: needs at least two rows that carry weight; there is 1"):
        squared_averaged_two_bin_error([1, 0, 1], [0.2, 0.6, 0.9], sample_weight=[0, 1, 0], debiased=True)


def weighting(rows):
    """Signs of A and B between cuts, and the weighting of predictions that they make, at all cuts."""
    cuts = sorted({Fraction(0), Fraction(1), *(v for v, _, _ in rows)})
    a, b = [], []
    for _, high in pairwise(cuts):
        below = sum(w * (y - v) for v, y, w in rows if v < high)
        a.append(-1 if below < 0 else 1)
        b.append(-1 if sum(w * (y - v) for v, y, w in rows) - below < 0 else 1)
    gaps = [high - low for low, high in pairwise(cuts)]
    return cuts, [
        sum(gap * s for gap, s in zip(gaps[k:], a[k:], strict=True))
        + sum(gap * s for gap, s in zip(gaps[:k], b[:k], strict=True))
        for k in range(len(cuts))
    ]


@pytest.mark.slow
def test_every_small_sample_keeps_the_inequalities_without_rounding():
    """All 1,000 samples of one to four rows with predictions in quarters."""
    assert len(SMALL) == 1000
    for rows in SMALL:
        weighed = shares(rows)
        l1, _ = oracle.integrals(weighed)
        smooth = exact.smooth_calibration_error([y for _, y in rows], [v for v, _ in rows])
        cutoff = largest_sum(weighed)
        assert l1 / 2 <= smooth <= Fraction(3, 2) * min(l1, cutoff)
        assert l1 <= 2 * cutoff
        # The proofs' own weighting: |w| <= 1, steps of at most twice the gaps, and its mean is the error.
        cuts, w = weighting(weighed)
        height = dict(zip(cuts, w, strict=True))
        assert sum(m * (y - v) * height[v] for v, y, m in weighed) == l1
        assert all(abs(x) <= 1 for x in w)
        for (u, x), (v, z) in pairwise(zip(cuts, w, strict=True)):
            slope = (z - x) / (v - u)
            assert abs(slope) <= 2
            # Slopes of (1 - u) w and u w are linear between cuts, so largest there: a third of both are potentials.
            assert all(abs(-h + (1 - t) * slope) <= 3 and abs(h + t * slope) <= 3 for t, h in ((u, x), (v, z)))


@pytest.mark.slow
def test_small_samples_are_within_a_factor_of_three_of_the_distance():
    """Proofs of the distance's bracket are read in rational numbers: all samples of up to three rows but mirrors."""
    for rows in SMALL[:285]:
        if tuple(sorted((1 - v, 1 - y) for v, y in rows)) < rows:
            continue
        y_true, y_prob = columns(rows)
        found = calibrant.lower_calibration_certificate(y_true, y_prob)
        c, p = found.coupling, found.potentials
        l1, _ = oracle.integrals(shares(rows))
        assert exact.potentials(p.nodes, p.r0, p.r1, y_true, y_prob) <= l1
        assert l1 <= 3 * exact.coupling(zip(c.u, c.v, c.y, c.mass, strict=True), y_true, y_prob)


@examples(40)
@given(sample=samples())
def test_the_inequalities_hold_for_hard_samples(sample):
    y_true, y_prob, weight = sample
    l1, cutoff, smooth, lower = (
        each(y_true, y_prob, sample_weight=weight)
        for each in (
            averaged_two_bin_calibration_error,
            cutoff_calibration_error,
            smooth_calibration_error,
            lower_calibration_distance,
        )
    )
    assert lower - 2e-9 <= l1 <= 3 * lower + 1e-12
    assert l1 / 2 - 1e-12 <= smooth <= 1.5 * min(l1, cutoff) + 1e-12
    assert l1 <= 2 * cutoff + 1e-12
    l2 = averaged_two_bin_calibration_error(y_true, y_prob, sample_weight=weight, norm="l2")
    assert l1**2 / 2 - 1e-12 <= l2**2 <= cutoff * l1 + 1e-12


def test_no_constant_can_be_improved():
    def of(rows):
        v, y, mass = zip(*rows, strict=True)
        return (
            each(y, v, sample_weight=mass)
            for each in (
                averaged_two_bin_calibration_error,
                cutoff_calibration_error,
                smooth_calibration_error,
                lower_calibration_distance,
            )
        )

    l1, cutoff, smooth, lower = of([(0.5, 1, 1.0)])  # bias
    assert l1 == pytest.approx(lower, abs=1e-12)
    l1, cutoff, smooth, lower = of([(0.0, 1, 1.0), (1.0, 0, 1.0)])  # a dipole
    assert (l1, cutoff, smooth) == (1.0, 0.5, 0.5)
    e = 1e-3  # calibrated at e, but events predicted 0
    l1, cutoff, smooth, lower = of([(0.0, 1, e), (e, 0, 1.0 - e)])
    assert lower <= e**2 + 1e-12
    assert l1 == pytest.approx(e**2 * (3.0 - 2.0 * e), rel=1e-9)
    l1, cutoff, smooth, lower = of([(0.0, 1, 1.0), (0.5, 0, 2.0), (1.0 - e, 1, 1.0 / e)])  # residuals +, -, +
    assert smooth / l1 > 1.498
    assert smooth / cutoff > 1.498
    l1, cutoff, smooth, lower = of([(0.5 - e, 1, 1.0), (0.5 + e, 0, 1.0)])  # nearly nothing, but for cutoffs
    assert cutoff > 0.24
    assert lower < 2e-3


def expectation(report, chance, measure):
    """Exact mean of a measure over all outcomes."""
    total = Fraction(0)
    for outcome in product((0, 1), repeat=len(chance)):
        weight = Fraction(1)
        for y, p in zip(outcome, chance, strict=True):
            weight *= p if y else 1 - p
        total += weight * measure([(v, y, Fraction(1, len(chance))) for v, y in zip(report, outcome, strict=True)])
    return total


def test_nobody_gains_by_another_report_on_the_squared_error_and_somebody_does_on_the_others():
    chance = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    means = {
        report: expectation(report, chance, lambda rows: oracle.integrals(rows)[1])
        for report in product(PLACES, repeat=3)
    }
    noise = sum(p * (1 - p) for p in chance) / 9
    for report, mean in means.items():
        rows = [(v, p, Fraction(1, 3)) for v, p in zip(report, chance, strict=True)]
        assert mean == noise + oracle.integrals(rows)[1]
        calibrated = oracle.integrals(rows)[1] == 0  # the truth, or a mean of it
        assert mean == means[chance] if calibrated else mean > means[chance]
    half = (Fraction(1, 2),) * 3
    for measure in (lambda rows: oracle.integrals(rows)[0], largest_sum):
        assert expectation(half, chance, measure) < expectation(chance, chance, measure)


def test_two_rows_are_a_pair():
    found = squared_averaged_two_bin_error([0, 1], [0.3, 0.6], debiased=True)
    assert found == pytest.approx(
        oracle.squared_averaged_two_bin_error(np.array([0, 1]), np.array([0.3, 0.6]), None, True)
    )
    assert found != 0.0


def test_debiased_it_is_right_on_average_and_not_truthful():
    rng = np.random.default_rng(0)
    v = np.round(rng.random(40), 1)
    found = np.array([squared_averaged_two_bin_error(rng.random(40) < v, v, debiased=True) for _ in range(400)])
    assert abs(found.mean()) < 3 * found.std() / 20
    chance = np.full(4, 0.5)
    scattered = np.array([0.4, 0.6, 0.4, 0.6])
    means = [
        np.mean([squared_averaged_two_bin_error(y, v, debiased=True) for y in product((0, 1), repeat=4)])
        for v in (chance, scattered)
    ]
    assert means[0] == pytest.approx(0.0, abs=1e-12)
    assert means[1] < -1e-4


def test_what_is_refused():
    with pytest.raises(InputError, match="norm: is 'max'"):
        averaged_two_bin_calibration_error([0, 1], [0.2, 0.8], norm="max")
    with pytest.raises(InputError, match="debiased: is 'yes'"):
        squared_averaged_two_bin_error([0, 1], [0.2, 0.8], debiased="yes")
