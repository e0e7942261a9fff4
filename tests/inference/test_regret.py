"""Upper bounds of regret: the penalised supremum by brute force, one threshold, and how often it is exceeded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, monotone_decision_loss
from calibrant.inference import regret_bounds
from calibrant.inference.regret import _at, _penalised
from tests.strategies import examples, samples


def most(v, events, others, t, share, after):
    """The largest mean of gain + share * gain^2 over all cuts."""
    acting = v > t if after else v >= t
    found = []
    for cut in [*v, 2.0]:
        moved = (v >= cut).astype(float) - acting
        of_events, of_others = moved * (1.0 - t), -moved * t
        found.append(np.sum(events * (of_events + share * of_events**2) + others * (of_others + share * of_others**2)))
    return max(found)


@examples(60)
@given(sample=samples(max_rows=12, weights=False, fractional=False), share=st.sampled_from([0.0, 0.3, 1.5, 3.1]))
def test_the_penalised_supremum_by_brute_force(sample, share):
    y_true, y_prob, _ = sample
    v = np.unique(np.append(y_prob, [0.0, 1.0]))
    events = np.array([np.sum(y_true[y_prob == x]) for x in v]) / y_true.size
    others = np.array([np.sum(1.0 - y_true[y_prob == x]) for x in v]) / y_true.size
    found = _penalised(v, events, others, share)
    assert found[::2] == pytest.approx([most(v, events, others, t, share, False) for t in v], abs=1e-14)
    assert found[1::2] == pytest.approx([most(v, events, others, t, share, True) for t in v], abs=1e-14)
    for t in (0.0, 0.3, *y_prob[:3]):
        assert _at(t, v, events, others, share) == pytest.approx(most(v, events, others, t, share, False), abs=1e-14)


def test_calibrated_uniform_rows_are_within_a_little():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        v = rng.random(10_000)
        found.append(regret_bounds(rng.random(10_000) < v, v).regret_interval.high)
    assert np.mean(found) <= 0.006


def test_a_threshold_costs_less_than_all_and_nothing_is_above_one():
    rng = np.random.default_rng(0)
    v = rng.random(2000)
    y = rng.random(2000) < v**2
    everywhere, there = regret_bounds(y, v), regret_bounds(y, v, threshold=0.5)
    assert monotone_decision_loss(y, v) < everywhere.decision_loss_interval.high
    assert there.regret_interval.high <= everywhere.regret_interval.high <= everywhere.decision_loss_interval.high
    assert there.threshold == 0.5
    assert "At the threshold 0.5, acting on these predictions loses at most" in there.summary()
    assert regret_bounds([1], [0.0]).regret_interval.high == 1.0
    with pytest.raises(InputError, match="threshold: is 1"):
        regret_bounds(y, v, threshold=1.0)
    with pytest.raises(InputError, match=r"y_true: row 0 is 0\.5"):
        regret_bounds([0.5], [0.2])


@pytest.mark.slow
def test_it_is_exceeded_as_rarely_as_it_says():
    """A predictor that says 0.2 and 0.6 where 0.35 and 0.5 are true: its population's regret is 0.15 / 2 at most."""
    missed = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        low = rng.random(150) < 0.5
        v, p = np.where(low, 0.2, 0.6), np.where(low, 0.35, 0.5)
        found = regret_bounds(rng.random(150) < p, v, level=0.2)
        # Just above 0.2 the half of the rows that is predicted 0.2 is left: 0.35 - 0.2 is lost on each.
        missed += not found.regret_interval.low <= 0.075 <= found.regret_interval.high
    assert missed <= 0.4 * 400  # both ends, each by itself


def test_a_loss_that_many_rows_show_is_proved():
    rng = np.random.default_rng(0)
    v = rng.random(20_000)
    y = rng.random(20_000) < v**2  # at 0.25 it should act from 0.5 on: it loses the integral of 0.25 - v^2
    found, there = regret_bounds(y, v), regret_bounds(y, v, threshold=0.25)
    true = 0.25 * 0.25 - (0.5**3 - 0.25**3) / 3
    assert 0.5 * true < there.regret_interval.low < true < there.regret_interval.high
    assert there.regret_interval.low * 0.5 < found.regret_interval.low <= found.regret_interval.high
    assert 0.0 < found.decision_loss_interval.low < monotone_decision_loss(y, v) < found.decision_loss_interval.high
    assert "and at least" in there.summary()
    for limit, verdict in ((0.01, "beyond"), (0.026, "undecided"), (0.2, "within")):
        decided = regret_bounds(y, v, threshold=0.25, max_regret=limit)
        assert decided.verdict == verdict
        assert decided.summary().startswith(f"{verdict.capitalize()}: at the threshold 0.25, acting")
    with pytest.raises(InputError, match="max_regret: is 0"):
        regret_bounds(y, v, max_regret=0.0)
    assert "at some threshold at least" in found.summary()
