"""Impossible outcomes: named by every test of one column, and never seen where they are only unlikely."""

import json
import math

import numpy as np
import pytest

import calibrant
from calibrant.inference.testing.result import LEAST, ImpossibleRows, TestResult


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
