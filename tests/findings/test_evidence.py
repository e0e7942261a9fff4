"""The audit's tests: run where they apply, and said where not."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calibrant import Bracket, CalibrationSketch, InputError, audit, audit_table, calibration_test
from calibrant.door.sample import Sample
from calibrant.findings.evidence import _certain_of_the_side, bounds_of_rows
from calibrant.inference.bounds.draws import Draws
from calibrant.inference.testing.components import lots_of_sample, pooling


def drawn(n, bend=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    return (rng.random(n) < y_prob**bend).astype(float), y_prob


@pytest.mark.slow
def test_a_bent_predictor_is_rejected_in_words():
    result = audit(*drawn(3000, 2.0), random_state=0)
    test = result.tests["calibration_test"].result
    assert test.reject
    assert test.pvalue < 0.005
    assert result.answer.headline.startswith("Too high on average: ")
    assert result.answer.details[0].startswith("This is not chance (p < 1e-15). ")
    assert "Is it real?" in result.summary()
    assert json.loads(result.to_json())["tests"]["calibration_test"]["reject"] is True


def test_the_json_counts_rows_that_were_predicted_0_or_1_and_turned_out_otherwise():
    """The p-value of labels is 1, for no row lies between: what proves their error stands beside it."""
    y_true = np.repeat([0.0, 1.0, 0.0, 1.0], [900, 100, 50, 950])
    found = audit(y_true, np.repeat([0.0, 1.0], 1_000))
    test = json.loads(found.to_json())["tests"]["calibration_test"]
    assert (test["pvalue"], test["impossible"]["n_rows"]) == (1.0, 150)
    assert test["impossible"]["by_rounding"] < 1e-100
    calibrated = audit(*drawn(100), n_resamples=99)
    assert json.loads(calibrated.to_json())["tests"]["calibration_test"]["impossible"] is None


@pytest.mark.slow
def test_a_calibrated_one_is_not():
    rejected = sum(
        audit(*drawn(100, seed=seed), n_resamples=99, random_state=0).tests["calibration_test"].result.reject
        for seed in range(20)
    )
    assert rejected <= 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_p_value():
    first, second = (audit(*drawn(500, 1.2), random_state=3).tests["calibration_test"].result.pvalue for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_row_order_does_not_matter():
    y_true, y_prob = drawn(500, 1.2)
    y_prob = np.round(y_prob, 2)
    order = np.random.default_rng(1).permutation(500)
    first = audit(y_true, y_prob, random_state=3).tests["calibration_test"].result
    second = audit(y_true[order], y_prob[order], random_state=3).tests["calibration_test"].result
    assert first.statistic == second.statistic
    assert first.pvalue == second.pvalue


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_resamples": 0}, "no resamples"),
    ],
)
def test_why_a_test_was_not_run(options, said):
    result = audit(*drawn(500), random_state=0, **options)
    assert result.tests["calibration_test"].result is None
    assert said in result.tests["calibration_test"].not_run
    assert said in result.summary()


@pytest.mark.slow
def test_weighted_rows_are_tested_one_by_one():
    y_true, y_prob = drawn(500, 1.5)
    weight = np.round(np.linspace(1.0, 3.0, 500), 1)
    found = audit(y_true, np.round(y_prob, 2), sample_weight=weight, random_state=5)
    test = found.tests["calibration_test"]
    assert test.result.reject
    assert "weights may tell outcomes" in test.summary()
    alone = calibration_test(y_true, np.round(y_prob, 2), sample_weight=weight, random_state=0)
    assert test.result.statistic == pytest.approx(alone.statistic, rel=0.05)
    data = {"y_true": y_true, "y_prob": np.round(y_prob, 2), "sample_weight": weight}
    of_table = audit_table(pd.DataFrame(data), random_state=5).tests["calibration_test"].result
    assert of_table == test.result
    two = audit(y_true, np.column_stack([1 - y_prob, y_prob]), sample_weight=weight, random_state=5)
    assert two.tests["calibration_test"].result.reject
    sketch = CalibrationSketch().update(y_true, y_prob, sample_weight=weight)
    assert "not run: weights may tell outcomes" in sketch.audit(random_state=5).tests["calibration_test"].summary()
    free = {"outcome_free_weights": True, "random_state": 5}
    pooled = sketch.audit(**free)
    assert "bounds from the sums of weighted cells" in pooled.tests["calibration_test"].summary()
    kept = calibration_test(y_true, np.round(y_prob, 2), sample_weight=weight, **free)
    assert pooled.tests["calibration_test"].result.pvalue >= kept.tail_pvalue


@pytest.mark.slow
def test_event_rates_with_their_trials_are_audited_as_single_rows():
    rng = np.random.default_rng(0)
    y_prob, trials = np.round(rng.random(60), 3), rng.integers(1, 30, 60)
    ones = rng.binomial(trials, y_prob**1.5)
    found = audit(ones / trials, y_prob, trials=trials, random_state=0)
    single = (np.arange(29) < np.repeat(ones[:, None], 29, axis=1))[np.arange(29) < trials[:, None]].astype(float)
    rows = audit(single, np.repeat(y_prob, trials), random_state=0)
    assert found.tests["calibration_test"].result.reject
    of_trials, of_rows = found.to_dict(), rows.to_dict()
    for each in of_trials["regions"]:
        assert each["unit"] == "outcome"
        each |= {"unit": "row", "words": each["words"].replace(" outcomes, ", " rows, ")}
    for name in of_rows.keys() - {"answer", "sentences", "gate", "population", "advice", "cost_of_acting", "premises"}:
        assert of_trials[name] == of_rows[name], name
    # What is drawn from a population are rows of trials, not trials: nothing is bounded there as if they were.
    assert found.gate is found.population is found.answer.interval is None
    assert found.cost_of_acting == replace(rows.cost_of_acting, regret_interval=None)
    with pytest.raises(InputError, match="trials: cannot be used here"):
        audit([0, 1], [[0.2, 0.8], [0.3, 0.7]], trials=[1, 1])


def test_few_values_take_the_same_test():
    rng = np.random.default_rng(0)
    y_prob = rng.choice([0.2, 0.8], 400)
    result = audit((rng.random(400) < 0.5).astype(float), y_prob, random_state=0)
    assert set(result.tests) == {"calibration_test"}
    assert result.tests["calibration_test"].result.reject


@pytest.mark.slow
def test_the_audits_test_is_the_one_that_is_called_by_itself():
    y_true, y_prob = drawn(500, 1.2)
    seed = 5
    found = audit(y_true, y_prob, random_state=seed).tests["calibration_test"].result
    alone = calibration_test(y_true, y_prob, random_state=0)
    assert found.components.keys() == alone.components.keys()
    for name, part in found.components.items():
        assert part.analytic_pvalue == pytest.approx(alone.components[name].analytic_pvalue, rel=1e-9)
    assert found.tail_pvalue == pytest.approx(alone.tail_pvalue, rel=1e-9) if alone.tail_pvalue else True


@pytest.mark.slow
def test_cells_of_a_sketch_are_tested_and_what_they_cost_is_said():
    sketch = CalibrationSketch(resolution=256)
    sketch.update(*drawn(5000, 2.0))
    found = sketch.audit(random_state=0).tests["calibration_test"]
    assert found.result.reject
    assert 0.0 < found.result.pooling < 0.01
    assert "pooling near predictions adds at most" in found.summary()
    exact = calibration_test(*drawn(5000, 2.0), random_state=0)
    assert np.log10(found.result.pvalue) == pytest.approx(np.log10(exact.pvalue), rel=0.01)


def test_what_cells_cost_bounds_the_change_of_the_rows_own_pooling():
    y_true, y_prob = drawn(400)
    sketch = CalibrationSketch(resolution=16)
    sketch.update(y_true, y_prob)
    cell = np.floor(y_prob * 16)
    told = lots_of_sample(sketch.sample)
    true = pooling(
        np.array([y_prob[cell == c].mean() for c in range(16)]),
        np.array([float((cell == c).sum()) for c in range(16)]),
        np.array([((y_prob[cell == c] - y_prob[cell == c].mean()) ** 2).sum() for c in range(16)]),
    )
    assert 0.0 < true <= told.pooling


@pytest.mark.parametrize("level", [0.02, 0.3])
@pytest.mark.parametrize(("errors", "again"), [(0.99, True), (1.01, False)])
def test_a_test_is_run_again_within_six_standard_errors_of_the_level(level, errors, again):
    """Of a share of the redraws, were the p-value the level; farther on the side where the share's own are smaller."""
    pvalue, runs = level - 6.0 * errors * (level * (1.0 - level) / 999) ** 0.5, []

    def run(*how):
        runs.append(how)
        return SimpleNamespace(pvalue=pvalue, redrawn_pvalue=0.5)

    _certain_of_the_side(run, level, 999, 5)
    assert [each[0] for each in runs] == [level] * (1 + again)
    assert runs[0][1:] == (999, 5)


def test_cells_that_hold_several_predictions_have_no_bound_from_their_middles():
    y, v = drawn(400)
    sample = Sample.from_columns(y, v)
    wide = replace(sample, cell_width=np.full(sample.n_distinct, 1e-3))
    for each, none in ((sample, False), (wide, True)):
        bounds = bounds_of_rows(each, Draws.of_sample(sample), 0.05, 0.0, Bracket(0.0, 0.1), {})
        assert (bounds is None) == none


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(("far", "again"), [(0.97, True), (1.03, False)])
@pytest.mark.parametrize("n", [999, 9_998])
def test_redraws_that_leave_the_side_open_are_more(above, far, again, n):
    """Within six standard errors of a share of the redraws, of the larger variance of the p-value and the level."""
    near = 0.2 - far * 6.0 * np.sqrt(0.2 * 0.8 / n)
    pvalue, level = (0.2, near) if above else (near, 0.2)
    asked = []

    def run(level, n_resamples, seed):
        asked.append((level, n_resamples, seed))
        return SimpleNamespace(pvalue=pvalue, redrawn_pvalue=0.5)

    _certain_of_the_side(run, level, n, 7)
    assert asked == [(level, n, 7), (level, 9_999, 0)][: 1 + again]
    asked.clear()
    _certain_of_the_side(run, level, 998, 7)  # who asks for fewer gets these
    assert asked == [(level, 998, 7)]
