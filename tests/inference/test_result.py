"""Impossible outcomes: named by every test of one column, and never seen where they are only unlikely."""

import json
import math

import numpy as np
import pytest

import calibrant
from calibrant.door.rows import Rows
from calibrant.inference.testing.result import (
    LEAST,
    ImpossibleRows,
    TestResult,
    _by_rounding,
    _rounded,
    impossible_rows,
)


def rows():
    v = np.tile(np.arange(40) / 40, 20)
    y = (np.random.default_rng(0).random(v.size) < v).astype(float)
    return y, v


@pytest.mark.parametrize("near", [5e-324, 1e-300, 2.0**-53])
def test_the_next_number_to_certain_is_not_certain(near):
    found = calibrant.inference.miller_test([1, 0, 1, 0], [near, 0.5, 0.5, 0.0], random_state=0)
    assert found.impossible is None
    assert found.reject


def test_a_pvalue_that_underflows_is_no_number_to_quote():
    found = calibrant.discrete_calibration_test([1, 0, 0, 1], [0.0, 0.0, 0.0, 1.0])
    assert found.summary().endswith("rejects calibration at level 0.05 (p < 1e-300)")
    assert "e-308" not in found.summary()
    assert found.pvalue >= LEAST


def test_an_audit_counts_impossible_rows_but_does_not_number_rows_it_has_sorted():
    y, v = rows()
    v[17], y[17] = 1.0, 0.0
    found = calibrant.audit(y, v, random_state=0)
    said = " ".join(each.result.summary() for each in found.tests.values() if each.result is not None)
    assert (
        "1 of the rows predicted 0 or 1 turned out otherwise, which calibrated predictions rule out "
        "(unless 0 and 1 are rounded numbers)"
    ) in said
    assert "does not reject" not in said
    assert "row 17" not in said
    assert "row 79" not in said

    def finite(text):
        raise AssertionError(text)

    json.loads(found.to_json(), parse_constant=finite)


def test_a_proof_and_a_test_that_lacks_it_do_not_contradict_each_other():
    found = TestResult(0.1, 1.0, False, 0.05, "a test", impossible=ImpossibleRows(1, 0, 1.0))
    assert found.summary() == (
        "miscalibrated: row 0 was predicted 1 and was 0, which calibrated predictions rule out "
        "(unless 1 is a rounded number); a test by itself shows no miscalibration at level 0.05 (p = 1)"
    )


def test_a_result_without_one_reads_as_before():
    assert TestResult(0.1, 0.2, False, 0.05, "a test").summary() == (
        "no miscalibration found: a test does not reject calibration at level 0.05 (p = 0.2)"
    )
    assert not math.isnan(TestResult(0.1, 0.2, False, 0.05, "a test").pvalue)


@pytest.mark.parametrize(
    ("predictions", "rounded"),
    [
        ([0.0, 1.0], 0.005),  # nothing tells how predictions were rounded: to two decimals
        ([0.02, 0.5, 1.0], 0.01),  # half of the least step to 0 or 1
        ([0.97, 0.5], 0.015),
        ([0.3, 0.4], 0.05),  # and to one decimal at most
        ([0.001, 0.4], 0.005),
    ],
)
def test_predictions_may_have_been_rounded_by_half_of_their_least_step(predictions, rounded):
    assert _rounded(np.array(predictions)) == pytest.approx(rounded)


@pytest.mark.parametrize(("wrong", "n", "rounded"), [(5, 100, 0.01), (30, 1000, 0.005), (3, 10, 0.05)])
def test_so_many_against_certain_predictions_are_bounded_by_chernoff(wrong, n, rounded):
    rate = wrong / n
    divergence = rate * math.log(rate / rounded) + (1.0 - rate) * math.log((1.0 - rate) / (1.0 - rounded))
    found = _by_rounding(wrong, np.ones(1), np.array([n]), rounded)
    assert math.exp(-n * divergence) <= found <= 1.05 * math.exp(-n * divergence)
    of_pairs = _by_rounding(2 * wrong, np.array([2.0]), np.array([n]), rounded)  # both of a pair at once
    assert of_pairs == pytest.approx(found, rel=0.05)
    assert _by_rounding(1, np.ones(1), np.array([1000]), 0.05) == 1.0


def test_what_cannot_be_is_counted_where_it_weighs_anything():
    v = np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    assert impossible_rows(Rows.of(1.0 * (v > 0.2), v)) is None
    found = impossible_rows(Rows.of(y, v))
    assert (found.n_rows, found.row, found.predicted) == (2, 1, 0.0)
    assert found.by_rounding == _by_rounding(2, np.ones(1), np.array([4]), 0.05)
    some = Rows.of(y, v, np.array([1.0, 0.0, 1.0, 3.0, 1.0]), outcome_free_weights=True)
    found = impossible_rows(some)
    assert (found.n_rows, found.row, found.predicted) == (1, 2, 1.0)
    odds = 3.0 * 0.05 / 0.95  # the heaviest row is three times the lightest
    assert found.by_rounding == pytest.approx(_by_rounding(1, np.ones(1), np.array([3]), odds / (1.0 + odds)))
    trials = impossible_rows(Rows.of([0.0, 0.5, 0.0], [0.0, 1.0, 0.5], None, [3, 4, 1]))
    assert (trials.n_rows, trials.row) == (2, 1)
    sizes, numbers = np.array([0.0, 3.0, 4.0]), np.array([1, 1, 1])
    assert trials.by_rounding == pytest.approx(_by_rounding(2, sizes, numbers, 0.05))
    groups = impossible_rows(Rows.of(y, v, None, None, [0, 0, 1, 1, 2]))
    assert groups.by_rounding == pytest.approx(_by_rounding(2, np.array([0.0, 2.0]), np.array([1, 2]), 0.05))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            ImpossibleRows(1, 7, 1.0),
            "row 7 was predicted 1 and was 0, which calibrated predictions rule out (unless",
        ),
        (
            ImpossibleRows(3, 7, 0.0),
            "row 7 was predicted 0 and was 1, and 2 more like it, which calibrated",
        ),
        (ImpossibleRows(3, 7, 0.0), "(unless 0 and 1 are rounded numbers)"),
        (ImpossibleRows(3, None, 0.0), "3 of the rows predicted 0 or 1 turned out otherwise, which calibrated"),
        (ImpossibleRows(3, 7, 0.0, 0.05), "(rounding hardly makes so many)"),
        (ImpossibleRows(3, 7, 0.0, 0.051), "(unless 0 and 1 are rounded numbers)"),
    ],
)
def test_what_is_said_of_rows_that_cannot_be(found, said):
    assert said in found.summary()
