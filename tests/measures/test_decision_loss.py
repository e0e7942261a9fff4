"""Decision loss: by its definition without rounding, its inequalities, and what they are sharp at."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given

from calibrant import CalibrationSketch, corp_decomposition, cutoff_calibration_error, smooth_calibration_error
from calibrant.door.sample import Sample
from calibrant.measures import monotone_decision_loss
from calibrant.measures.decision_loss import Cuts
from tests.oracles import decision_loss as oracle
from tests.oracles.cutoff import largest_sum
from tests.strategies import examples, samples

PLACES = [Fraction(k, 4) for k in range(5)]
KINDS = list(product(PLACES, (0, 1)))
SMALL = [rows for n in range(1, 4) for rows in combinations_with_replacement(KINDS, n)][::3]


def columns(rows):
    return np.array([y for _, y in rows], float), np.array([float(v) for v, _ in rows])


def weighed(rows):
    return [(v, Fraction(y), Fraction(1, len(rows))) for v, y in rows]


def test_small_samples_without_rounding():
    for rows in SMALL:
        exact = oracle.loss(weighed(rows))
        assert monotone_decision_loss(*columns(rows)) == pytest.approx(float(exact), abs=1e-15)
        assert exact <= 2 * largest_sum(weighed(rows))
        assert (
            smooth_calibration_error(*columns(rows)) ** 2 <= corp_decomposition(*columns(rows)).miscalibration + 1e-15
        )
        assert corp_decomposition(*columns(rows)).miscalibration <= exact + Fraction(1, 10**15)


def best_of_all_tasks(rows):
    """The loss of every task that is a mixture of two thresholds in eighths, of mean 1/2 and mass 2."""
    points = [(Fraction(k, 8), after) for k in range(9) for after in (False, True)]
    regret = {point: oracle.regret(weighed(rows), *point) for point in points}
    best = 2 * max((regret[p] for p in points if p[0] == Fraction(1, 2)), default=Fraction(0))
    for a, b in product(points, points):
        if a[0] < Fraction(1, 2) < b[0]:
            share = (Fraction(1, 2) - a[0]) / (b[0] - a[0])
            best = max(best, 2 * ((1 - share) * regret[a] + share * regret[b]))
    return best


def test_no_mixture_of_thresholds_costs_more():
    for rows in SMALL[::3]:
        assert best_of_all_tasks(rows) <= oracle.loss(weighed(rows))


@examples(60)
@given(sample=samples(max_rows=14))
def test_regret_is_its_definition_on_both_sides(sample):
    y_true, y_prob, weight = sample
    rows = oracle.shares(*sample)
    cuts = Cuts.of(Sample.from_columns(y_true, y_prob, weight))
    t = np.unique(np.concatenate([y_prob, np.clip(cuts.rate, 0.0, 1.0), [0.0, 0.3, 1.0]]))
    at, after = cuts.regret(t)
    assert at == pytest.approx([oracle.regret(rows, x) for x in t], abs=1e-14)
    assert after == pytest.approx([oracle.regret(rows, x, True) for x in t], abs=1e-14)


@examples(100)
@given(sample=samples())
def test_inequalities_of_hard_samples(sample):
    y_true, y_prob, weight = sample
    loss, cutoff, smooth = (
        each(y_true, y_prob, sample_weight=weight)
        for each in (monotone_decision_loss, cutoff_calibration_error, smooth_calibration_error)
    )
    spent = corp_decomposition(y_true, y_prob, sample_weight=weight).miscalibration
    assert smooth**2 <= spent + 1e-12
    assert spent <= loss + 1e-12
    assert loss <= 2 * cutoff + 1e-12


def test_the_worst_is_one_and_twice_the_cutoff_error_is_attained():
    assert monotone_decision_loss([1.0], [0.0]) == 1.0
    y_true, y_prob = [1.0, 0.0], [0.0, 1.0]  # both ends are wrong
    assert monotone_decision_loss(y_true, y_prob) == 2 * cutoff_calibration_error(y_true, y_prob) == 1.0


@pytest.mark.parametrize("seed", range(8))
def test_a_sketch_is_within_its_bound(seed):
    rng = np.random.default_rng(seed)
    y_prob = np.round(rng.random(300), 3)
    y_true = (rng.random(300) < y_prob**2).astype(float)
    sketch = CalibrationSketch(2 ** (3 + seed % 4)).update(y_true, y_prob)
    on_cells = monotone_decision_loss(*sketch.points()[:2], sample_weight=sketch.points()[2])
    bound = sketch.error_bound("monotone_decision_loss")
    assert abs(on_cells - monotone_decision_loss(y_true, y_prob)) <= bound
