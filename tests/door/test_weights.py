"""Sampling by outcome: chances in the file, recognition, and everything said of the population."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, audit, calibration_gate, calibration_test
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.weights import (
    SamplingFractions,
    _one_factor,
    check_effective,
    effective,
    outcome_score,
    perhaps_sampled,
)
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
        {0: 0.1, 1: 1.2},
        {0: 1.0000001, 1: 1.0},
        {0: 0.1, 1: 1.0, 2: 1.0},
        {0: 0.1, 1.25: 1.0},
        {1: 0.1, 2: 1.0},
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


def test_a_score_by_hand():
    """The residuals of outcomes and of logarithms of weights on the log-odds, against each other."""
    rng = np.random.default_rng(1)
    v, y = rng.uniform(0.1, 0.9, 50), rng.integers(0, 2, 50)
    w = np.exp(rng.normal(size=50)) * np.where(y == 1, 1.5, 1.0)
    design = np.column_stack([np.ones(50), np.log(v / (1 - v))])
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    terms = (y - hat @ y) * (np.log(w) - hat @ np.log(w))
    wanted = terms.sum() / np.sqrt((terms**2).sum())
    assert outcome_score(y, v, w) == pytest.approx(wanted, rel=1e-9)
    assert outcome_score(y, v, 1e-9 * w) == pytest.approx(wanted, rel=1e-6)
    assert outcome_score(y, v, w**1e-13) == pytest.approx(wanted, rel=0.02)  # however little weights differ
    certain = np.r_[v, 0.0, 1.0, 0.5], np.r_[y, 1, 0, 1], np.r_[w, 9.0, 9.0, 0.0]  # of no odds, or without weight
    assert outcome_score(certain[1], certain[0], certain[2]) == pytest.approx(wanted, rel=1e-9)
    for n in (3, 4):
        assert (outcome_score(y[:n], v[:n], w[:n]) == 0.0) == (n < 4)
    assert outcome_score(y, v, np.zeros(50)) == 0.0


@pytest.mark.parametrize(
    ("weight", "rows"),
    [
        ([1.0] * 10, 10.0),
        ([0.3] * 7, 7.0),
        ([1.0, 1.0, 2.0], 16 / 6),
        ([1e-200, 1e-200], 2.0),
        ([0.0, 0.0], 0.0),
        ([], 0.0),
    ],
)
def test_effective_rows_are_those_of_kish(weight, rows):
    assert effective(np.array(weight)) == pytest.approx(rows, rel=1e-12)


@pytest.mark.parametrize(
    ("events", "others", "said"),
    [(10, 10, None), (9, 30, "rows with the event worth 9"), (30, 9, "rows without the event")],
)
def test_each_outcome_has_ten_effective_rows(events, others, said):
    outcome, weight = np.repeat([1, 0], [events, others]), np.repeat([0.5, 0.25], [events, others])
    if said is None:
        check_effective(outcome, weight)
    else:
        with pytest.raises(InputError, match=f"sample_weight: make {said}.* equal ones .*, and 10 are needed"):
            check_effective(outcome, weight)


@pytest.mark.parametrize(
    ("weights", "fractions"),
    [
        (([2.0, 2.0, 2.0], [20.0] * 3), SamplingFractions(0.1, 1.0)),
        (([0.02], [0.2] * 3), SamplingFractions(0.1, 1.0)),  # one event, and little weight
        (([0.2] * 3, [0.02]), SamplingFractions(1.0, 0.1)),
        (([1.0, 3.0, 2.0], [20.0] * 3), None),  # rows of one outcome differ
        (([2.0] * 3, [20.0, 22.0, 20.0]), None),
        (([3.0] * 3, [3.0] * 3), None),
        (([], [2.0] * 3), None),
        (([2.0] * 3, []), None),
        (([0.0] * 3, [2.0] * 3), None),
        (([2.0] * 3, [0.0] * 3), None),
    ],
)
@pytest.mark.parametrize("predictions", [1, 3])
def test_sums_of_weights_tell_the_fractions_that_they_undo(weights, fractions, predictions):
    y, w = np.repeat([1, 0], [len(each) for each in weights]), np.concatenate(weights)
    v = (1 + np.arange(y.size) % predictions) / 8
    found = SamplingFractions.of_sample(Sample.from_columns(y, v, w))
    if fractions is None:
        assert found is None
    else:
        assert (found.without, found.events) == pytest.approx((fractions.without, fractions.events), rel=1e-9)
        assert found.seen


def test_what_fractions_make_of_rows():
    by = SamplingFractions(0.1, 0.5)
    assert by.weights == pytest.approx((10.0, 2.0))
    assert by.max_weight == pytest.approx(10.0)
    assert by.weight_of(np.array([0, 1, 0.0])).tolist() == [10.0, 2.0, 10.0]
    assert by.option == "0:0.1,1:0.5"
    # 100 rows of a population in which 20% are events: 0.5 of these and 0.1 of the others were kept
    assert by.population(18, 0.2) == pytest.approx(100.0)
    for one in (by, SamplingFractions(0.5, 0.1), SamplingFractions(1.0, 0.9), SamplingFractions(1.0, 1.0)):
        rate = np.linspace(0.0, 1.0, 401)
        variance = rate * (1 - rate) * ((1 - rate) / one.events + rate / one.without)
        found = one.most_variance(rate)
        assert (found >= variance - 1e-12).all()  # above,
        assert (np.diff(found, 2) <= 1e-9).all()  # concave,
        chords = np.array(
            [
                np.max(
                    [
                        variance[i] + (variance[j] - variance[i]) * (k - i) / max(j - i, 1)
                        for i in range(0, k + 1, 8)
                        for j in range(k, 401, 8)
                        if j >= i
                    ]
                )
                for k in range(0, 401, 40)
            ]
        )
        assert found[::40] == pytest.approx(chords, abs=2e-3)  # and the least of these


def rows_of(odds_off=1.0, n=4000, seed=0, share=None, uneven=False):
    """A sample whose outcomes have other odds than its predictions by a factor, or with a share of events exactly."""
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.05, 0.6, n)
    odds = v / (1 - v) * (odds_off if not uneven else np.where(v < 0.3, odds_off**2, 1 / odds_off))
    y = rng.random(n) < odds / (1 + odds)
    if share is not None:
        y = np.zeros(n, bool)
        y[rng.permutation(n)[: round(share * n)]] = True
    return y, v


@pytest.mark.parametrize(
    ("events", "n", "mean", "said"),
    [
        (500, 1000, 0.1, (1, 2)),
        (495, 1000, 0.1, (1, 2)),  # nearly balanced by hand, and odds are far off
        (500, 1000, 0.32, (1, 2)),  # twice the odds: balanced to the row
        (500, 1000, 0.34, None),
        (250, 1000, 0.1, (1, 4)),
        (750, 1000, 0.5, (3, 4)),
        (100, 600, 0.05, (1, 6)),
        (100, 700, 0.05, None),  # six times are too many
        (251, 1000, 0.1, None),
        (99, 198, 0.1, None),  # few rows
        (100, 200, 0.1, (1, 2)),
        (0, 1000, 0.1, None),
        (1000, 1000, 0.1, None),
        (500, 1000, 0.0, None),
        (500, 1000, 1.0, None),
    ],
)
def test_balanced_outcomes_whose_predictions_have_other_odds_may_be_sampled(events, n, mean, said):
    y = np.arange(n) < events
    sample = Sample.from_columns(y, np.full(n, 0.25))  # one prediction tells no factor
    assert perhaps_sampled(sample, mean) == said


def test_odds_that_are_off_by_one_factor_at_all_predictions_may_be_sampled():
    for factor, uneven, found in ((6.0, False, True), (1.0, False, False), (2.5, False, False), (6.0, True, False)):
        y, v = rows_of(factor, uneven=uneven)
        y[: 1 - y.sum() % 2] ^= True  # so that one number is no multiple of the other
        said = perhaps_sampled(Sample.from_columns(y, v), v.mean())
        assert (said is not None) == found
        if found:
            assert said[0] / said[1] == pytest.approx(y.mean(), rel=0.1)
    y, v = rows_of(6.0)
    assert perhaps_sampled(Sample.from_columns(y, v, np.where(y, 1.0, 2.0)), v.mean()) is None


@pytest.mark.parametrize(("events", "found"), [(29, False), (30, False), (31, True), (33, True)])
def test_odds_are_plainly_off_threefold_where_two_standard_errors_are_left(events, found):
    """So many of 100 at about .1, three times: log-odds are off by a difference with the error (300 r (1 - r))^-1/2."""
    r, v = events / 100, np.array([0.0999, 0.1, 0.1001])
    off = np.log(r / (1 - r)) - np.log(0.1 / 0.9)
    assert (off - 2.0 / np.sqrt(300 * r * (1 - r)) > np.log(3.0)) == found
    y = np.concatenate([np.arange(100) < events] * 3)
    assert _one_factor(Sample.from_columns(y, np.repeat(v, 100))) == found


def test_a_share_whose_weights_have_no_finite_squares_is_refused():
    assert SamplingFractions.read("0:1e-100,1:1").without == 1e-100
    with pytest.raises(InputError, match="of the outcome 0 is 1e-101; each must be at least 1e-100"):
        SamplingFractions.read("0:1e-101,1:1")
