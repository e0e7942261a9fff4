"""Functions that stand for SciPy's where loading its packages takes long: the same numbers, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import logsumexp as scipys
from scipy.stats import false_discovery_control

from calibrant.door.special import logsumexp
from calibrant.segments.by_column import false_discovery_rates

NUMBERS = st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 1.0, -745.0, 710.0, np.inf, -np.inf])


@given(arrays.arrays(float, arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=7), elements=NUMBERS))
def test_the_logarithm_of_a_sum_of_exponentials_is_scipy_s(values):
    np.testing.assert_array_equal(logsumexp(values), scipys(values, axis=-1))
    np.testing.assert_array_equal(logsumexp(values, axis=0), scipys(values, axis=0))


@pytest.mark.parametrize("dependent", [False, True])
@given(
    pvalue=arrays.arrays(float, st.integers(1, 40), elements=st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.05, 1.0]))
)
def test_false_discovery_rates_are_scipy_s(dependent, pvalue):
    expected = false_discovery_control(pvalue, method="by" if dependent else "bh")
    np.testing.assert_array_equal(false_discovery_rates(pvalue, dependent=dependent), expected)
