"""Words of the page beside its headline: what to do, and whether the curve leaves its band."""

import numpy as np
import pytest

from calibrant import audit
from calibrant.findings.actions import code, what_to_do

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
