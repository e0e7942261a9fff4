"""Venn-Abers prediction: its ends by the definition, and the calibration that is proved of one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.recalibration import VennAbers
from tests.oracles.venn_abers import ends
from tests.strategies import examples, samples


@examples(40)
@given(samples(), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_both_ends_are_isotonic_fits_with_one_more_row(sample, at):
    y, p, weight = sample
    w = np.ones_like(p) if weight is None else weight
    if (w[w > 0].min() < 1e-200 * w.max()) or w.max() < 1e-200:
        return
    found = VennAbers().fit(p, y, weight).interval(at)
    for both, each in zip(found, at, strict=True):
        assert both == pytest.approx(ends(y, p, w, each), abs=1e-9)


@examples(40)
@given(st.integers(0, 10**6))
def test_the_end_of_the_true_outcome_is_calibrated(seed):
    """Each of some rows in turn is the new one: where the right ends agree, the event happens in just that share."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    p, y = rng.integers(0, 6, n) / 5.0, rng.integers(0, 2, n).astype(float)
    right = np.empty(n)
    for k in range(n):
        others = np.arange(n) != k
        right[k] = VennAbers().fit(p[others], y[others]).interval(p[[k]])[0, int(y[k])]
    for value in np.unique(right.round(9)):
        assert y[right.round(9) == value].mean() == pytest.approx(value, abs=1e-8)


def test_the_range_narrows_with_the_rows():
    rng = np.random.default_rng(0)
    widths = []
    for n in (50, 500, 50_000):
        p = rng.random(n)
        both = VennAbers().fit(p, rng.random(n) < p).interval(np.linspace(0.1, 0.9, 9))
        widths.append(np.diff(both, axis=1).mean())
    assert widths[0] > 3.0 * widths[1] > 9.0 * widths[2]
