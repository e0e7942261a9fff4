"""What a sketch answers: the level of its test, and what it refuses."""

import numpy as np
import pytest

from calibrant import CalibrationSketch, InputError

RNG = np.random.default_rng(0)
V = RNG.integers(1, 32, 300) / 32
Y = (RNG.random(300) < V).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_its_test_needs_redraws_for_either_end_at_the_level(weighted):
    sketch = CalibrationSketch().update(Y, V, sample_weight=RNG.uniform(1.0, 2.0, 300) if weighted else None)
    for level, needed in ((0.25, 7), (0.1, 19)):
        free = weighted
        found = sketch.test(level=level, n_resamples=needed, outcome_free_weights=free, random_state=0)
        assert (found.level, found.reject) == (level, found.pvalue <= level)
        with pytest.raises(InputError, match=f"n_resamples: is {needed - 1}"):
            sketch.test(level=level, n_resamples=needed - 1, outcome_free_weights=free)


def test_rates_and_nothing_are_refused():
    with pytest.raises(InputError, match="the test is made of redraws"):
        CalibrationSketch().update(Y, V).test(n_resamples=0)
    with pytest.raises(InputError, match="holds event rates"):
        CalibrationSketch().update([0.5, 0.2], [0.3, 0.4]).test()
    with pytest.raises(InputError, match="has no rows; update it first"):
        CalibrationSketch().test()
    with pytest.raises(InputError, match="sample_weight: is zero in every row"):
        CalibrationSketch().update([0, 1], [0.3, 0.4], sample_weight=[0.0, 0.0]).test()
    with pytest.raises(InputError, match="sketch: holds weights, which may tell outcomes, and sums in cells do not"):
        CalibrationSketch().update(Y, V, sample_weight=V + 1.0).test()
    with pytest.raises(InputError, match="outcome_free_weights: has no effect: there are no weights"):
        CalibrationSketch().update(Y, V).test(outcome_free_weights=True)
