"""The proved error: bets of mean one, bounds of gains that are kept, levels that hold, classes as well."""

import itertools

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.classes import multiclass_sample
from calibrant.door.rows import Rows
from calibrant.recalibration import certified, certified_gain
from calibrant.recalibration.certified import _gains, least_mean, log_capital
from tests.strategies import drawn_classes


@pytest.mark.parametrize("mean", [0.0, 0.03, 0.3])
def test_capital_is_one_on_average_where_the_mean_is_what_is_bet_on(mean):
    bound, high, low = 0.5, 0.5, -0.4
    chance = (mean - low) / (high - low)
    expected = 0.0
    for drawn in itertools.product((0, 1), repeat=6):
        gain = np.where(np.array(drawn) == 1, high, low)
        probability = np.prod(np.where(np.array(drawn) == 1, chance, 1.0 - chance))
        expected += probability * np.exp(log_capital([(gain[:3], bound), (gain[3:], bound)], mean))
    assert expected == pytest.approx(1.0, abs=1e-12)


def test_the_bound_is_where_the_capital_passes_one_over_the_level():
    gain = np.random.default_rng(0).normal(0.1, 0.05, 300)
    halves = [(gain[:150], 0.4), (gain[150:], 0.4)]
    found = least_mean(halves, 0.05)
    assert 0.05 < found < 0.1
    assert log_capital(halves, found) >= np.log(20.0) > log_capital(halves, found + 1e-6)
    assert least_mean([(-each, bound) for each, bound in halves], 0.05) == 0.0
    assert least_mean(halves, 0.001) < found


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_gain_exceeds_its_bound_and_gains_are_those_of_the_brier_score(n_classes):
    label, table = drawn_classes(400, n_classes, 0, 3.0)
    halves = np.arange(0, 400, 2), np.arange(1, 400, 2)
    rows = multiclass_sample(label, table) if n_classes > 2 else Rows.of(label, table[:, 1])
    for pair in (halves, halves[::-1]):
        gain, bound = _gains(rows, *pair)
        assert np.abs(gain).max() <= bound + 1e-12
        assert gain.shape == (200,)
        assert bound < 1.0


@pytest.mark.slow
def test_calibrated_predictions_are_not_proved_wrong_and_wrong_ones_never_beyond_their_error():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = rng.random(1000)
        assert certified_gain(rng.random(1000) < p, p, random_state=seed).bound == 0.0
        found = certified_gain(rng.random(1000) < p**2, p, random_state=seed)
        assert 0.0 < found.bound < 1.0 / 30.0  # the mean of (p - p^2)^2


@pytest.mark.slow
def test_classes_are_proved_as_well():
    label, table = drawn_classes(4000, 5, 0, 2.0)
    found = certified_gain(label, table, random_state=0)
    assert 0.0 < found.bound < found.mean_gain
    right, fair = drawn_classes(4000, 5, 1)
    assert certified_gain(right, fair, random_state=0).bound == 0.0


def test_what_is_refused():
    with pytest.raises(InputError, match="y_true: has 3 rows; 4 are needed"):
        certified_gain([0, 1, 1], [0.2, 0.4, 0.6])
    with pytest.raises(InputError, match=r"y_true: row 0 is 0\.5"):
        certified_gain([0.5, 1, 1, 0], [0.2, 0.4, 0.6, 0.1])
    assert (
        "No calibration error is proved on these 4 rows" in certified_gain([0, 1, 1, 0], [0.2, 0.4, 0.6, 0.1]).summary()
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_two_columns_are_one_event_and_more_are_classes(monkeypatch, k):
    """Of one column, and of the second of two, the gain of the event; of three, that of the whole table."""
    read = []
    monkeypatch.setattr(certified, "_gains", lambda rows, *_: read.append(rows) or (np.zeros(4), 1.0))
    v = np.array([0.2, 0.6, 0.5, 0.1, 0.7, 0.3, 0.8, 0.4])
    table = {1: v, 2: np.column_stack([1.0 - v, v]), 3: np.column_stack([0.5 - v / 2.0, 0.5 - v / 2.0, v])}[k]
    label = [0, 1, 1, 0, 1, 0, 1, 0] if k < 3 else [0, 1, 2, 0, 1, 2, 1, 0]
    assert certified_gain(label, table, random_state=0).n_rows == 8
    assert [isinstance(each, Rows) for each in read] == [k < 3] * 2
    if k < 3:
        assert read[0].y_prob == pytest.approx(v)
        assert read[0].y_true.tolist() == label
    else:
        assert read[0].n_classes == 3
