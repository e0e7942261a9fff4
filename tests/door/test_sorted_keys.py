"""Rows that two threads sort: the same keys as of one sort, wherever the key lies that parts them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import threads
from calibrant.door import sample
from calibrant.door.sample import sorted_keys
from tests.strategies import examples


@examples(2000)
@given(
    v=st.lists(st.one_of(st.sampled_from([0.0, -0.0, 5e-324, 0.25, 0.5, 1.0]), st.floats(0, 1)), min_size=8),
    seed=st.integers(0, 2**32 - 1),
    part=st.integers(1, 9),
)
def test_keys_of_two_threads_are_those_of_one_sort(v, seed, part):
    prediction = np.array(v)
    outcome = np.random.default_rng(seed).integers(0, 2, prediction.size).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        for module in (sample, threads):
            patch.setattr(module, "WORTH_A_THREAD", 1)
            patch.setattr(module, "processors", lambda: 2)
        patch.setattr(sample, "_PART", part)
        patch.setattr(sample, "_SOME", 8)
        keys = sorted_keys(outcome, prediction)
        rates = sorted_keys(np.where(np.arange(prediction.size) == seed % prediction.size, 0.5, outcome), prediction)
    order = np.lexsort((outcome, prediction))
    assert np.array_equal((keys >> np.uint64(1)).view(float), prediction[order])
    assert np.array_equal(keys & np.uint64(1), outcome[order])
    assert rates is None
