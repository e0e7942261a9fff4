"""Evidence of groups: of the smallest predictions there are it is a number, and never more than at larger ones."""

import numpy as np
import pytest

from calibrant.inference.testing.group_evidence import log_evalues


@pytest.mark.parametrize("least", [5e-324, 1e-200, 1e-90])
def test_evidence_of_the_smallest_predictions_is_a_number(least):
    total, squares = np.array([1.0, 0.0, -least]), np.array([1.0, 0.0, least * least])
    low, variance = np.full(3, least), np.full(3, least)
    with np.errstate(all="raise", under="ignore"):
        found = log_evalues(total, squares, low, np.ones(3), variance)
    assert all(np.isfinite(each).all() for each in found)
    assert found[0][0] > 3.0  # an event where next to none is predicted
