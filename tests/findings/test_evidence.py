"""The audit's tests: run where they apply, and said where not."""

import json

import numpy as np
import pytest

from calibrant import audit


def drawn(n, bend=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    return (rng.random(n) < y_prob**bend).astype(float), y_prob


def test_a_bent_predictor_is_rejected_in_words():
    result = audit(*drawn(3000, 2.0), random_state=0)
    test = result.tests["tcal_test"].result
    assert test.reject
    assert test.pvalue < 0.005
    assert f"(p = {test.pvalue:.2g})." in result.verdict
    assert "Is it real?" in result.summary()
    assert json.loads(result.to_json())["tests"]["tcal_test"]["reject"] is True


def test_a_calibrated_one_is_not():
    rejected = sum(audit(*drawn(400, seed=seed), random_state=0).tests["tcal_test"].result.reject for seed in range(20))
    assert rejected <= 4


def test_the_same_seed_gives_the_same_p_value():
    first, second = (audit(*drawn(500, 1.2), random_state=3).tests["tcal_test"].result.pvalue for _ in range(2))
    assert first == second


def test_row_order_does_not_matter():
    y_true, y_prob = drawn(500, 1.2)
    y_prob = np.round(y_prob, 2)
    order = np.random.default_rng(1).permutation(500)
    first = audit(y_true, y_prob, random_state=3).tests["tcal_test"].result
    second = audit(y_true[order], y_prob[order], random_state=3).tests["tcal_test"].result
    assert first.statistic == second.statistic
    assert first.pvalue == second.pvalue


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sample_weight": np.arange(1.0, 501.0)}, "unweighted"),
        ({"n_resamples": 0}, "no resamples"),
    ],
)
def test_why_a_test_was_not_run(options, said):
    result = audit(*drawn(500), random_state=0, **options)
    assert result.tests["tcal_test"].result is None
    assert said in result.tests["tcal_test"].not_run
    assert said in result.summary()


def test_few_values_take_the_discrete_road():
    rng = np.random.default_rng(0)
    y_prob = rng.choice([0.2, 0.8], 400)
    result = audit((rng.random(400) < 0.5).astype(float), y_prob, random_state=0)
    assert result.tests["tcal_test"].result is None
    assert "discrete_calibration_test" in result.tests["tcal_test"].not_run
    assert result.tests["discrete_calibration_test"].result.reject
