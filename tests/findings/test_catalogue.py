"""Words of the page beside its headline: what to do, and whether the curve leaves its band."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import audit
from calibrant.findings.catalogue import band_in_words, code, what_to_do

RNG = np.random.default_rng(0)
P = RNG.random(500)
OPTIONS = {"n_resamples": 39, "random_state": 0}


@pytest.mark.parametrize(("power", "action"), [(1.0, "collect more rows"), (3.0, "recalibrate")])
def test_what_to_do_is_the_advice_where_no_part_is_blamed(power, action):
    found = audit(RNG.random(500) < P**power, P, **OPTIONS)
    assert found.answer.action == action
    assert what_to_do(found) == found.advice.words
    assert code(found) == found.advice.code
    assert (code(found) is None) == (action != "recalibrate")


def test_whether_the_curve_leaves_its_band_is_said_with_how_much_of_the_rows():
    table = audit(RNG.random(500) < P, P, **OPTIONS).reliability
    inside, beyond = (replace(table, leaves_band=each, outside=0.25) for each in (False, True))
    assert band_in_words(inside, 0.1, "rows") == (
        "The reliability curve keeps within the 90% band of a calibrated predictor's curve."
    )
    assert band_in_words(beyond, 0.1, "rows") == (
        "The reliability curve leaves the 90% band of a calibrated predictor's curve over 25% of the rows."
    )
    rates = replace(inside, kind="levels")
    assert band_in_words(rates, 0.1, "rows") == (
        "The observed rates keep within the 90% band of a calibrated predictor's rates."
    )
