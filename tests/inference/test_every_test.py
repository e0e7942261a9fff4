"""What every registered test of calibration promises, asked of all of them at once."""

import dataclasses
import importlib
import inspect
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.inference.testing.result import ROWS, ImpossibleRows, TestResult, calibration_tests, register_test
from calibrant.resampling.redraw import LEAST_GROUPS
from tests.public import FUNCTIONS
from tests.registered import TOOL
from tests.strategies import drawn_classes, examples

TESTS = calibration_tests()
EVERY = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS.keys())
OF_ROWS = pytest.mark.parametrize(
    "test",
    [each for each in TESTS.values() if not each.of_classes],
    ids=[n for n, each in TESTS.items() if not each.of_classes],
)
FEWEST = {"tcal_test": 499, "two_sample_calibration_test": 1999}
"""Resamples of those that share the level between scales, which fewer could not reject at."""
COLUMNS = {"sample_weight": np.full(60, 2.0), "trials": np.ones(60), "groups": np.arange(60)}


def run(test, y, p, **options):
    drawn = {"n_resamples": FEWEST.get(test.name, 39), "random_state": 0} if test.null == "redrawn" else {}
    return test.call(y, p, **{**drawn, **options})


def rows(test, n=60, seed=0):
    """Calibrated rows as this test takes them: exact ones need few values, others many."""
    if test.of_classes:
        return drawn_classes(n, 3, seed)
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 10, n) / 10 if test.null == "exact" else np.round(rng.random(n), 3)
    return (rng.random(n) < p) * 1.0, p


def moved(columns, order):
    return {name: column[order] for name, column in columns.items()}


@EVERY
def test_nothing_that_follows_from_its_registration_is_missing(test):
    assert TOOL.faults_of(test) == []


def test_every_test_is_registered():
    results = {
        name for name, each in FUNCTIONS.items() if str(inspect.signature(each).return_annotation).endswith("Result")
    }
    assert {name for name in results if name.endswith("_test")} == {*TESTS, "grade_test"}  # which is of grades


@pytest.mark.parametrize("missing", ["proof", "limits", "promise", "source"])
def test_a_test_without_its_texts_or_outside_the_room_is_refused(missing):
    def anything(): ...

    texts = {"proof": "A.", "limits": "B.", "promise": "C", "source": "D."}
    with pytest.raises(ValueError, match=r"test anything: its module tests\.\S+ is not one of"):
        register_test(**texts, order=0)(anything)
    anything.__module__ = "calibrant.inference.testing.tcal"
    with pytest.raises(ValueError, match=f"test anything: its {missing} is empty"):
        register_test(**{**texts, missing: " "}, order=0)(anything)
    assert "anything" not in calibration_tests()


@st.composite
def plain_rows(draw):
    """Rows without predictions of 0 and 1, whose statistics are finite, with ties and weights or without."""
    n = draw(st.integers(2, 25))
    value = st.one_of(st.integers(1, 9).map(lambda k: k / 10), st.floats(0.01, 0.99))
    p = np.array(draw(st.lists(value, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
    weight = draw(st.one_of(st.none(), st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return y, p, None if weight is None else np.array(weight)


@pytest.mark.parametrize(
    "name",
    [name for name in TESTS if name not in TOOL.BY_PARTS],
)
@examples(150)
@given(sample=plain_rows())
def test_the_statistic_equals_its_oracle(name, sample):
    y, p, weight = sample
    test = TESTS[name]
    oracle = getattr(importlib.import_module(f"tests.oracles.{TOOL.oracles()[name]}"), name)
    if weight is not None and "sample_weight" not in test.admits:
        weight = None
    if test.null == "exact":  # which need several rows of a value
        y, p = np.tile(y, 8), np.tile(np.round(p, 1).clip(0.1, 0.9), 8)
    given = {} if weight is None else {"sample_weight": weight, "outcome_free_weights": True}
    assert run(test, y, p, **given).statistic == pytest.approx(oracle(y, p, weight), rel=1e-6, abs=1e-9)


@EVERY
def test_the_order_of_rows_and_the_scale_of_weights_do_not_matter(test):
    y, p = rows(test)
    order = np.random.default_rng(1).permutation(60)
    forms = [()] + [(column,) for column in test.admits]
    for form in forms:
        columns = {name: COLUMNS[name] for name in form}
        found = run(test, y, p, **columns)
        again = run(test, y[order], p[order], **moved(columns, order))
        assert again.pvalue == found.pvalue, form
        assert again.statistic == pytest.approx(found.statistic, rel=1e-9, abs=1e-12), form
    if "sample_weight" in test.admits and test.null == "redrawn":
        assert run(test, y, p, sample_weight=COLUMNS["sample_weight"]) == run(test, y, p)


@EVERY
def test_it_admits_what_it_says_and_refuses_the_rest(test):
    y, p = rows(test)
    for column in set(ROWS) - set(test.admits):
        with pytest.raises((InputError, TypeError), match=column):
            run(test, y, p, **{column: COLUMNS[column]})
    assert set(test.admits) <= set(inspect.signature(test.call).parameters)
    assert ("n_resamples" in inspect.signature(test.call).parameters) == (test.null == "redrawn")


@OF_ROWS
def test_trials_are_rows(test):
    if "trials" not in test.admits:
        pytest.skip("takes no trials")
    rng = np.random.default_rng(0)
    p, trials = np.linspace(0.1, 0.9, 7 if test.null == "exact" else 42), rng.integers(1, 20, 42)
    trials = trials[: p.size] + 20 * (test.null == "exact")
    ones = rng.binomial(trials, p)
    single = np.concatenate([np.arange(k) < one for k, one in zip(trials, ones, strict=True)]) * 1.0
    pooled = run(test, ones / trials, p, trials=trials)
    each = run(test, single, np.repeat(p, trials))
    if test.name == "hosmer_lemeshow_test":  # R's value beside its own is of single rows alone
        assert pooled.textbook_statistic is None
        assert pooled.textbook_pvalue is None
        each = dataclasses.replace(each, textbook_statistic=None, textbook_pvalue=None)
    assert pooled == each or (test.name == "tcal_test" and pooled.statistic == pytest.approx(each.statistic, rel=1e-9))


@OF_ROWS
@pytest.mark.parametrize("prediction", [0.0, 5e-324, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 40])
def test_one_row_and_one_class_have_a_p_value_or_are_refused(test, prediction, n):
    for outcome in (0.0, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = run(test, np.full(n, outcome), np.full(n, prediction))
            except InputError as refused:
                assert refused.argument in ("y_true", "y_prob")  # noqa: PT017
                continue
        assert isinstance(found, TestResult)
        assert 0.0 < found.pvalue <= 1.0
        assert not np.isnan(found.statistic)
        assert found.reject == (found.pvalue <= found.level)


@EVERY
def test_nan_levels_and_misspelt_keywords_are_refused(test):
    y, p = rows(test)
    wrong = p.copy()
    wrong[1] = np.nan
    with pytest.raises(InputError, match="y_prob"):
        run(test, y, wrong)
    with pytest.raises(InputError, match="level"):
        run(test, y, p, level=0.0)
    with pytest.raises(TypeError):
        run(test, y, p, sample_wieght=p)
    if not test.of_classes:
        with pytest.raises(InputError, match=r"row 0 is 0\.5"):
            run(test, np.append(0.5, y[1:]), p)
    if test.null == "redrawn":
        with pytest.raises(InputError, match="n_resamples"):
            run(test, y, p, n_resamples=5)


@OF_ROWS
def test_an_impossible_row_is_named_as_it_was_given(test):
    v = np.tile(np.arange(40) / 40, 20)
    y = (np.random.default_rng(0).random(v.size) < v).astype(float)
    assert run(test, y, v).impossible is None
    v[17], y[17] = 1.0, 0.0
    found = run(test, y, v)
    assert found.impossible == ImpossibleRows(1, 17, 1.0)
    start = (
        "miscalibrated: row 17 was predicted 1 and was 0, which calibrated predictions rule out "
        "(unless 1 is a rounded number); "
    )
    assert found.summary().startswith(start)
    assert (" rejects calibration at level" in found.summary()) == found.reject
    assert ("by itself shows no miscalibration" in found.summary()) == (not found.reject)
    assert "does not reject" not in found.summary()
    v[3], y[3] = 0.0, 1.0
    again = run(test, y, v)
    assert again.impossible == ImpossibleRows(2, 3, 0.0)
    assert (
        "row 3 was predicted 0 and was 1, and 1 more like it, which calibrated predictions rule out" in again.summary()
    )


@pytest.mark.slow
@EVERY
def test_calibrated_predictions_are_rejected_at_most_as_often_as_said(test):
    draws, level = (60, 0.2) if test.name in FEWEST else (200, 0.2)
    options = {"n_resamples": {"tcal_test": 99, "two_sample_calibration_test": 299}.get(test.name, 19)}
    few = partial(run, test, level=level, **(options if test.null == "redrawn" else {}))
    rejected = sum(few(*rows(test, 80, seed)).reject for seed in range(draws))
    assert rejected <= draws * level + 3.3 * np.sqrt(draws * level * (1.0 - level))


@OF_ROWS
def test_few_groups_have_a_bound(test):
    if "groups" not in test.admits:
        pytest.skip("takes no groups")
    y, p = rows(test)
    few = np.arange(60) % (LEAST_GROUPS - 5)
    assert 0.0 <= run(test, y, p, groups=few).pvalue <= 1.0  # inference/test_comonotone.py
