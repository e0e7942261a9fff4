"""What every registered measure promises, asked of all of them at once."""

import importlib
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant.door.sample import Sample
from calibrant.measures.registry import measures, register
from tests.registered import TOOL
from tests.strategies import examples, samples

MEASURES = measures()
EVERY = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
CASES = examples(150)


def evaluate(measure, y_true, y_prob, weight=None):
    return measure.function(y_true, y_prob, sample_weight=weight, **measure.parameters)


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def as_weights(weight, y_prob):
    return np.ones_like(y_prob) if weight is None else weight


OF_MEASURES = {
    name: path.stem
    for path in sorted((Path(__file__).parent / "oracles").glob("*.py"))
    for name in re.findall(r"^def (\w+)", path.read_text(), re.MULTILINE)
}
"""Module of every oracle."""


@EVERY
def test_nothing_that_follows_from_its_registration_is_missing(measure):
    assert TOOL.faults_of(measure) == []
    assert getattr(calibrant.measures, measure.name) is measure.function


def _anything(*_columns, **_weights):
    return 0.0


@pytest.mark.parametrize("missing", ["sentence", "definition", "source"])
def test_a_measure_without_its_texts_is_refused(missing):
    texts = {"sentence": "A number.", "definition": "0.", "source": "Nobody."}
    _anything.__module__ = "calibrant.measures.smooth"
    register_ = partial(register, _anything, symmetric=True, order=0)
    with pytest.raises(ValueError, match=f"_anything: its {missing} is empty"):
        register_(**{**texts, missing: " "})(_anything)
    del texts[missing]
    with pytest.raises(TypeError, match=missing):
        register_(**texts)
    assert "_anything" not in measures()


def test_a_measure_outside_the_room_is_refused():
    _anything.__module__ = "calibrant.elsewhere"
    with pytest.raises(ValueError, match=r"calibrant\.elsewhere is not one of calibrant\.measures"):
        register(_anything, sentence="A.", definition="B.", source="C.", symmetric=True, order=0)(_anything)


def test_the_report_has_them_in_their_order():
    names = list(MEASURES)
    assert names == sorted(names, key=lambda name: (MEASURES[name].order, name))
    assert names[0] == "smooth_calibration_error"


def oracle_of(measure):
    return getattr(importlib.import_module(f"tests.oracles.{OF_MEASURES[measure.name]}"), measure.name)


@EVERY
@CASES
@given(sample=samples())
def test_equals_its_oracle(measure, sample):
    oracle = oracle_of(measure)
    # The convolved error promises 1e-4 against quadrature (its own tests are sharper). The lower distance's oracle is
    # an interior point itself, good to 2e-9 (for the rate 0.3 at the prediction 0.3 + 2e-9 it says 3e-10, not 2e-9).
    tolerance = {"convolved": 1e-4, "lower": 3e-9}.get(OF_MEASURES[measure.name], 1e-9)
    value = evaluate(measure, *sample)
    assert type(value) is float
    assert value == pytest.approx(oracle(*sample, **measure.parameters), abs=tolerance)


@EVERY
@CASES
@given(sample=samples(), seed=st.integers(0, 9))
def test_order_and_duplication_and_units_of_weight_do_not_matter(measure, sample, seed):
    y_true, y_prob, weight = sample
    value = evaluate(measure, y_true, y_prob, weight)
    order = np.random.default_rng(seed).permutation(y_prob.size)
    assert evaluate(measure, y_true[order], y_prob[order], None if weight is None else weight[order]) == close(value)
    twice = None if weight is None else np.tile(weight, 2)
    assert evaluate(measure, np.tile(y_true, 2), np.tile(y_prob, 2), twice) == close(value)
    w = as_weights(weight, y_prob)
    for factor in (7.3, 1e-100, 1e100):
        assert evaluate(measure, y_true, y_prob, factor * w) == close(value)


@EVERY
@CASES
@given(sample=samples(), share=st.floats(0.01, 0.99))
def test_splitting_a_row_changes_nothing(measure, sample, share):
    y_true, y_prob, weight = sample
    w = as_weights(weight, y_prob)
    split = np.concatenate([w[:-1], [share * w[-1], (1 - share) * w[-1]]])
    again = evaluate(measure, np.append(y_true, y_true[-1]), np.append(y_prob, y_prob[-1]), split)
    assert again == close(evaluate(measure, y_true, y_prob, w))


@EVERY
@CASES
@given(first=samples(), second=samples())
def test_merging_samples_is_pooling_their_rows(measure, first, second):
    def columns(sample):
        y_true, y_prob, weight = sample
        return y_true, y_prob, as_weights(weight, y_prob)

    a, b = columns(first), columns(second)
    merged = Sample.from_columns(*a).merge(Sample.from_columns(*b))
    both = evaluate(measure, *(np.concatenate(pair) for pair in zip(a, b, strict=True)))
    assert measure.on_sample(merged, **measure.parameters) == close(both)


@EVERY
@CASES
@given(data=st.data())
def test_reflection(measure, data):
    if not measure.symmetric:
        pytest.skip("not declared symmetric")
    y_true, y_prob, weight = data.draw(samples())
    y_prob = np.round(y_prob * 1024) / 1024  # so that 1 - p is exact
    w = as_weights(weight, y_prob)
    assert evaluate(measure, 1 - y_true, 1 - y_prob, w) == close(evaluate(measure, y_true, y_prob, w))


@EVERY
@pytest.mark.parametrize("p", [0.0, 5e-324, 0.3, 1.0])
@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("rows", [1, 5])
def test_one_row_and_one_class(measure, p, outcome, rows):
    value = evaluate(measure, np.full(rows, outcome), np.full(rows, p))
    assert 0.0 <= value <= 2.0


@EVERY
def test_rows_at_zero_and_one_count(measure):
    wrong = evaluate(measure, [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0])
    oracle = oracle_of(measure)
    weights = [1.0] * 4
    by_definition = oracle([1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], weights, **measure.parameters)
    assert wrong >= min(0.3, by_definition - 1e-9)  # of cumulative differences the mean is 1/4 there
    right = evaluate(measure, [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0])
    assert right < 0.2
    assert wrong > 0.2


@EVERY
def test_nan_and_misspelt_keywords_are_refused(measure):
    with pytest.raises(calibrant.InputError, match="y_prob: row 1 is nan"):
        evaluate(measure, [0, 1], [0.2, np.nan])
    with pytest.raises(TypeError):
        measure.function([0, 1], [0.2, 0.3], sample_wieght=[1, 1], **measure.parameters)
