"""Outcomes drawn again together with their weights."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, calibration_test, find_segments
from calibrant.door.rows import Rows
from calibrant.door.weights import LEAST_EFFECTIVE
from calibrant.inference import calibration_tests
from calibrant.resampling.joint import JointRows, mean_weight
from tests.strategies import examples


def telling(rng, n, share=0.2):
    """Calibrated rows that were kept with a propensity of outcome, prediction and noise, which the weight undoes."""
    v = 1.0 / (1.0 + np.exp(-rng.uniform(-4.0, 1.0, 6 * n)))
    y = (rng.random(v.size) < v).astype(int)
    keep = np.where(y == 1, 0.9, share) * np.exp(-0.5 * np.abs(rng.standard_normal(v.size))) * (0.5 + 0.5 * v)
    kept = np.flatnonzero(rng.random(v.size) < keep)[:n]
    return y[kept], v[kept], 1.0 / keep[kept]


@examples(40)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_chance_in_the_file_makes_the_mean_excess_vanish(seed, by_outcome):
    rng = np.random.default_rng(seed)
    y, v, w = telling(rng, 200)
    w = np.where(y == 1, 1.0, 5.0) if by_outcome else w
    joint = JointRows.of(Rows.of(y, v, w))
    v, q, (without, events) = joint.prediction, joint.chance, joint.mean
    assert q * events * (1.0 - v) == pytest.approx((1.0 - q) * without * v)
    assert joint.excess == pytest.approx(joint.weight * (joint.outcome - v))
    mean = joint.mean[joint.outcome, np.arange(v.size)]
    assert joint.excess == pytest.approx(joint.total * joint.weight / mean * (joint.outcome - q))
    if by_outcome:
        assert joint.weight == pytest.approx(mean)
    # Fitted means reproduce the weights of either outcome on the whole, and along the line.
    for outcome in (0, 1):
        own = joint.outcome == outcome
        assert float(np.mean(joint.weight[own] / mean[own])) == pytest.approx(1.0, abs=1e-6)


def test_redrawn_weights_are_those_of_neighbours_with_the_same_outcome():
    y, v, w = telling(np.random.default_rng(0), 300)
    joint = JointRows.of(Rows.of(y, v, w))
    ratio, start, width = joint.neighbours
    drawn = joint.weights(np.uint64(7), 1, 200)
    outcome = (drawn > 0.0).astype(int)
    assert outcome.mean(axis=1) == pytest.approx(joint.chance, abs=0.2)
    assert outcome.mean() == pytest.approx(joint.chance.mean(), abs=0.02)
    for row in range(0, 300, 17):
        for k in (0, 1):
            near = set((joint.mean[k, row] * ratio[start[k, row] : start[k, row] + width[k]]).round(12))
            assert {abs(each) for each in drawn[row][outcome[row] == k].round(12)} <= near
    assert joint.weights(np.uint64(7), 0, 1)[:, 0] == pytest.approx(np.where(joint.outcome == 1, 1, -1) * joint.weight)


def test_every_redraw_has_the_squares_of_the_rows_and_no_order_of_them_shows():
    y, v, w = telling(np.random.default_rng(1), 400)
    order = np.random.default_rng(2).permutation(400)
    one, other = (JointRows.of(Rows.of(y[o], v[o], w[o])) for o in (np.arange(400), order))
    excess = one.excesses(np.uint64(3), 0, 70)
    assert (excess == other.excesses(np.uint64(3), 0, 70)).all()
    assert (excess[:, 64:] == one.excesses(np.uint64(3), 64, 6)).all()
    assert (excess**2).sum(axis=0) == pytest.approx(np.full(70, (one.excess**2).sum()))
    assert excess[:, 0] == pytest.approx(one.excess)


@pytest.mark.parametrize("weight", [1.0, 0.1, 3.7])
def test_the_mean_of_equal_weights_is_that_weight_at_every_prediction_0_and_1_among_them(weight):
    v = np.array([0.0, 1e-300, 0.2, 0.5, 1.0])
    assert mean_weight(v, np.full(5, weight)).tolist() == [weight] * 5


def test_few_rows_of_an_outcome_are_refused():
    y, v = np.r_[np.ones(int(LEAST_EFFECTIVE) - 1), np.zeros(50)], np.linspace(0.1, 0.9, int(LEAST_EFFECTIVE) + 49)
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"sample_weight: make rows with the event worth \d\.\d+ equal ones"):
        calibration_test(y, v, sample_weight=rng.uniform(1.0, 2.0, y.size))
    with pytest.raises(InputError, match="rows without the event"):
        calibration_test(1 - y, v, sample_weight=rng.uniform(1.0, 2.0, y.size))
    assert calibration_test(y, v, sample_weight=rng.uniform(1, 2, y.size), outcome_free_weights=True).pvalue <= 1.0


@pytest.mark.slow
def test_weights_that_tell_outcomes_are_no_fault_of_the_predictions():
    """Weights that stay where outcomes are drawn call nearly all of these calibrated samples off."""
    rejected = {False: 0, True: 0}
    for seed in range(40):
        y, v, w = telling(np.random.default_rng(seed), 500)
        for free in rejected:
            test = calibration_test(y, v, sample_weight=w, outcome_free_weights=free, n_resamples=99, random_state=seed)
            rejected[free] += test.reject
    assert rejected[False] <= 8
    assert rejected[True] >= 20
    y, v, w = telling(np.random.default_rng(0), 2_000)
    assert calibration_test(y, v**1.5, sample_weight=w, random_state=0).reject


TESTS = [each for each in calibration_tests().values() if "sample_weight" in each.admits and not each.of_classes]


@pytest.mark.slow
@pytest.mark.parametrize("test", [each for each in TESTS if each.null == "redrawn"], ids=lambda each: each.name)
def test_p_values_of_every_test_lie_on_both_sides_of_a_half(test):
    """Of calibrated rows whose weights tell outcomes: neither all small, nor all one, as where divisors do not fit."""
    pvalues = []
    for seed in range(24):
        y, v, w = telling(np.random.default_rng(seed), 300)
        options = {"n_resamples": 499 if test.name == "tcal_test" else 39, "random_state": seed}
        pvalues.append(test.call(y, v, sample_weight=w, **options).pvalue)
    assert sum(p <= 0.05 for p in pvalues) <= 6
    assert 3 <= sum(p <= 0.5 for p in pvalues) <= 21


@pytest.mark.slow
def test_segments_of_weights_that_tell_outcomes():
    found, planted = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y, v, w = telling(rng, 1_000)
        kind = rng.choice(list("abc"), y.size)
        for results, p in ((found, v), (planted, np.where(kind == "a", v**1.8, v))):
            table = pa.table({"y": y, "p": p, "w": w, "kind": kind})
            options = {"sample_weight": "w", "n_resamples": 199, "random_state": 0}
            results.append(find_segments(table, y_true="y", y_prob="p", **options))
    assert sum(each.reject for each in found) <= 2
    assert sum([segment.name for segment in each.segments] == ["kind = a"] for each in planted) >= 6


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_a_redrawn_excess_is_as_large_as_that_of_the_rows_in_any_unit(unit):
    y, v, w = telling(np.random.default_rng(0), 200)
    joint = JointRows.of(Rows.of(y, v, unit * w))
    drawn = joint.excesses(np.uint64(7), 1, 5)
    assert (drawn**2).sum(axis=0) == pytest.approx((joint.excess**2).sum())


@pytest.mark.parametrize("lanes", [1, 3, 64])
def test_what_is_drawn_does_not_depend_on_how_much_is_drawn_at_once(lanes):
    y, v, w = telling(np.random.default_rng(0), 100)
    joint = JointRows.of(Rows.of(y, v, w))
    whole = joint.excesses(np.uint64(7), 1, 70)
    parts = [joint.excesses(np.uint64(7), 1 + at, min(lanes, 70 - at)) for at in range(0, 70, lanes)]
    np.testing.assert_allclose(np.hstack(parts), whole, rtol=1e-12)


@pytest.mark.parametrize("outcome", [0, 1])
def test_rows_that_are_predicted_with_certainty_do_not_tell_what_others_of_their_outcome_weigh(outcome):
    """All rows of an outcome are certain: among the others no weight of that outcome can be drawn again."""
    rng = np.random.default_rng(0)
    y, v = np.repeat([outcome, 1 - outcome], 60), np.r_[np.full(60, 1.0 * outcome), rng.uniform(0.1, 0.4, 60)]
    what = "with" if outcome else "without"
    said = f"make rows {what} the event predicted above 0 and below 1 worth 0 equal ones"
    with pytest.raises(InputError, match=f"^sample_weight: {said}"):
        JointRows.of(Rows.of(y, v, rng.uniform(1.0, 2.0, 120)))
    with pytest.raises(InputError, match=said):
        calibration_test(y, v, sample_weight=rng.uniform(1.0, 2.0, 120), n_resamples=39)
    # Rows that were sampled by outcome are known to weigh 1 over the fraction, which is here over the largest.
    joint = JointRows.of(Rows.of(y, v, sampling_fractions={0: 0.1, 1: 1.0}))
    drawn = joint.weights(np.uint64(3), 1, 20)
    assert {each.round(9) for each in np.unique(drawn)} == {-1.0, 0.1}
    assert set(joint.weights_of(np.full(60, outcome), rng).round(9)) == {0.1 if outcome else 1.0}
    v, q = joint.prediction, joint.chance
    variance = q * (0.1 * (1.0 - v)) ** 2 + (1.0 - q) * v**2
    assert joint.spread**2 * q * (1.0 - q) == pytest.approx(variance)


def test_weights_by_outcome_are_its_mean_weight_everywhere():
    y, v = np.tile([0, 1], 60), np.linspace(0.05, 0.95, 120)
    joint = JointRows.of(Rows.of(y, v, sampling_fractions={0: 0.25, 1: 0.5}))
    assert joint.mean == pytest.approx(np.outer([1.0, 0.5], np.ones(120)))
    assert joint.weight == pytest.approx(np.where(joint.outcome == 1, 0.5, 1.0))


def test_neighbours_are_ten_on_each_side_of_the_same_outcome_and_at_the_ends_the_nearest_twenty():
    y, v, w = telling(np.random.default_rng(0), 300)
    joint = JointRows.of(Rows.of(y, v, w))
    ratio, start, width = joint.neighbours
    for outcome in (0, 1):
        own = np.flatnonzero(joint.outcome == outcome)
        first = 0 if outcome == 0 else int((joint.outcome == 0).sum())
        assert width[outcome] == min(20, own.size)
        assert ratio[first : first + own.size] == pytest.approx(joint.weight[own] / joint.mean[outcome, own])
        for row in range(0, 300, 7):
            before = int((own < row).sum())
            begin = max(0, min(before - 10, own.size - width[outcome]))
            assert start[outcome, row] == first + begin


def test_the_spread_of_a_row_has_the_variance_of_its_excess():
    """The excess is w (y - v), of an outcome drawn at the chance in the file and a weight like those of its outcome."""
    y, v, w = telling(np.random.default_rng(3), 200)
    joint = JointRows.of(Rows.of(y, v, w))
    v, q = joint.prediction, joint.chance
    variance = np.zeros(200)
    for outcome, chance in ((0, 1.0 - q), (1, q)):
        own = joint.outcome == outcome
        square = np.mean((joint.weight[own] / joint.mean[outcome, own]) ** 2)
        variance += chance * square * (joint.mean[outcome] * (outcome - v)) ** 2
    assert joint.spread**2 * q * (1.0 - q) == pytest.approx(variance)


def test_the_mean_weight_is_a_line_in_the_log_odds_fitted_by_its_equations():
    rng = np.random.default_rng(0)
    v, noise = rng.uniform(0.02, 0.98, 200), rng.exponential(1.0, 200)
    odds = np.log(v / (1.0 - v))
    mean = mean_weight(v, np.exp(0.3 + 0.7 * odds) * noise)
    slope = np.diff(np.log(mean)[[0, 1, 2]]) / np.diff(odds[[0, 1, 2]])
    assert slope[0] == pytest.approx(slope[1])
    left = np.exp(0.3 + 0.7 * odds) * noise / mean - 1.0
    assert left.sum() == pytest.approx(0.0, abs=1e-6)
    assert (left * odds).sum() == pytest.approx(0.0, abs=1e-6)
    assert mean_weight(np.full(4, 0.3), np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx(np.full(4, 3.0))
    assert mean_weight(v, np.exp(2.0 * odds)) == pytest.approx(np.exp(2.0 * odds))  # from far away
