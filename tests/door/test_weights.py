"""Sampling by outcome: chances in the file, recognition, and everything said of the population."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, audit, calibration_gate, calibration_test
from calibrant.door.rows import Rows
from calibrant.door.weights import SamplingFractions, outcome_score
from tests.strategies import examples

SHARES = st.fractions(Fraction(1, 500), 1)


@examples(100)
@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), SHARES, SHARES)
def test_the_chance_in_the_file_is_that_of_rows_that_were_kept(v, without, events):
    """Of a population of equal masses, those that are kept are counted."""
    kept = {1: v * events, 0: (1 - v) * without}
    fractions = SamplingFractions.read({0: float(without), 1: float(events)})
    q = fractions.chance_in_file(np.array([float(v)]))
    assert q[0] == pytest.approx(float(kept[1] / (kept[0] + kept[1])), rel=1e-12)
    assert fractions.chance_in_population(q)[0] == pytest.approx(float(v), rel=1e-12)
    # Weights by which the file describes its population: E[w (y - v)] = 0.
    w = fractions.weights
    assert q[0] * w[1] * (1 - float(v)) == pytest.approx((1 - q[0]) * w[0] * float(v), rel=1e-9)


def test_what_is_certain_stays_so_and_nothing_else_becomes_certain():
    fractions = SamplingFractions(1e-6, 1.0)
    v = np.array([0.0, 5e-324, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0])
    for turned in (fractions.chance_in_file(v), fractions.chance_in_population(v)):
        assert turned[[0, -1]].tolist() == [0.0, 1.0]
        assert ((turned[1:-1] > 0.0) & (turned[1:-1] < 1.0)).all()


@pytest.mark.parametrize(
    "given",
    [
        {0: 0.1},
        {0: 0.1, 1: 0.0},
        {0: 0.1, 1: 1.5},
        {0: 0.1, 2: 1.0},
        "0.1,1",
        "0:x,1:1",
        0.5,
        (0.1, 1.0),
        {0: None, 1: 1},
    ],
    ids=str,
)
def test_what_are_no_fractions_is_refused(given):
    with pytest.raises(InputError, match="sampling_fractions: "):
        SamplingFractions.read(given)


def test_fractions_are_read_as_they_are_written():
    one = SamplingFractions(0.1, 1.0)
    for written in ({0: 0.1, 1: 1}, {False: 0.1, True: 1.0}, {"0": 0.1, "1": 1}, "0:0.1,1:1", "1:100%, 0:10%"):
        assert SamplingFractions.read(written) == one


def test_one_weight_for_each_outcome_is_sampling_by_outcome():
    y = np.array([0, 0, 1, 1, 0])
    read = SamplingFractions.of_weights
    assert read(y, np.where(y == 1, 2.0, 20.0)) == SamplingFractions(0.1, 1.0)
    assert read(y, np.where(y == 1, 2.0, 20.0) * [1, 1, 1, 0, 1]) == SamplingFractions(0.1, 1.0)
    for no in (np.full(5, 3.0), np.array([1.0, 2.0, 3.0, 3.0, 1.0]), np.where(y == 1, 0.0, 1.0)):
        assert read(y, no) is None
    assert Rows.of(y, y / 2 + 0.2, np.where(y == 1, 2.0, 20.0), outcome_free_weights=True).fractions is None


def sampled(rng, n, share, bend=1.0):
    """Rows of a calibrated population, or of one whose log-odds are bent; those without the event kept at a share."""
    v = 1.0 / (1.0 + np.exp(-rng.uniform(-4.0, 1.0, n)))
    odds = (v / (1.0 - v)) ** bend
    y = (rng.random(n) < odds / (1.0 + odds)).astype(int)
    kept = rng.random(n) < np.where(y == 1, 1.0, share)
    return y[kept], v[kept]


def test_fractions_are_the_weights_that_undo_them():
    y, v = sampled(np.random.default_rng(0), 4_000, 0.1, 0.7)
    w = np.where(y == 1, 1.0, 10.0)
    by = calibration_test(y, v, sampling_fractions={0: 0.1, 1: 1.0}, random_state=0)
    assert by.reject
    seen = calibration_test(y, v, sample_weight=w, random_state=0)
    assert replace(seen, premise=by.premise) == by
    # The region is of the population: its ends are predictions, its rate that of all rows.
    inside = (by.region.low <= v) & (v <= by.region.high)
    assert by.region.event_rate == pytest.approx(np.average(y[inside], weights=w[inside]))
    assert by.region.mean_prediction == pytest.approx(np.average(v[inside], weights=w[inside]))
    two = [
        audit(y, v, n_resamples=0, **each)
        for each in ({"sampling_fractions": {0: 0.1, 1: 1.0}}, {"sample_weight": w, "max_weight": 10.0})
    ]
    assert two[0].base_rate == two[1].base_rate == pytest.approx(np.average(y, weights=w))
    assert two[0].population == two[1].population
    gates = [
        calibration_gate(y, v, max_distance=0.05, **each)
        for each in ({"sampling_fractions": {0: 0.1, 1: 1.0}}, {"sample_weight": w, "max_weight": 10.0})
    ]
    assert gates[0].lower_distance == gates[1].lower_distance
    assert "0.1 of those without the event were kept" in str(gates[0].premises)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_calibrated_rows_that_were_sampled_by_outcome_are_rejected_at_the_level(share):
    rejected = 0
    for seed in range(60):
        y, v = sampled(np.random.default_rng(seed), 1_500, share)
        weight = np.where(y == 1, 1.0, 1.0 / share)
        rejected += calibration_test(y, v, sample_weight=weight, n_resamples=99, random_state=seed).reject
    assert rejected <= 9  # of 60 at 5%: more with probability 0.001


def test_what_does_not_go_with_fractions_is_refused():
    y, v = np.array([0, 1, 0, 1]), np.array([0.2, 0.7, 0.4, 0.6])
    for other in ({"sample_weight": y + 1.0}, {"trials": y + 1}):
        with pytest.raises(InputError, match=r"sampling_fractions: cannot be used with (weights|trials): sampling by"):
            calibration_test(y, v, sampling_fractions={0: 0.5, 1: 1}, **other)
    with pytest.raises(InputError, match="max_weight: cannot be used here"):
        calibration_gate(y, v, sampling_fractions={0: 0.5, 1: 1}, max_weight=2.0, max_distance=0.1)
    with pytest.raises(InputError, match="outcome_free_weights: has no effect: there are no weights"):
        calibration_test(y, v, outcome_free_weights=True)
    with pytest.raises(InputError, match="outcome_free_weights: has no effect: of rows in groups"):
        calibration_test(y, v, sample_weight=v, groups=y, outcome_free_weights=True)
    with pytest.raises(InputError, match=r"sample_weight: may tell outcomes, and of trials"):
        calibration_test(y, v, sample_weight=v, trials=y + 1)


def test_the_score_tells_weights_that_tell_outcomes():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.05, 0.95, 2_000)
    y = (rng.random(2_000) < v).astype(int)
    harmless = np.exp(rng.normal(0.0, 1.0, 2_000) + v)
    assert abs(outcome_score(y, v, harmless)) < 4.0
    assert outcome_score(y, v, harmless * np.where(y == 1, 2.0, 1.0)) > 8.0
    assert outcome_score(y, v, np.full(2_000, 3.0)) == 0.0
