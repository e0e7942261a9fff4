"""Regions of the isotonic curve: coverage at once and at each point, ties, few values, one row."""

import numpy as np
import pytest

from calibrant import InputError, corp_decomposition, corp_regions


def drawn(n, seed, bend=1.0, digits=None):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    v = v if digits is None else np.round(v, digits)
    return (rng.random(n) < v**bend).astype(float), v


@pytest.mark.parametrize("bend", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("digits", [None, 1])
def test_the_truth_is_inside_at_all_points_at_once(bend, digits):
    missed = 0
    for seed in range(60):
        found = corp_regions(*drawn(400, seed, bend, digits), n_resamples=39, random_state=0)
        truth = found.prediction**bend
        missed += not ((found.confidence_lower <= truth) & (truth <= found.confidence_upper)).all()
    assert missed <= 7


def test_calibrated_curves_are_inside_the_consistency_region_about_as_often_as_promised():
    inside = []
    for seed in range(80):
        found = corp_regions(*drawn(300, seed), n_resamples=199, random_state=seed)
        curve = found.recalibrated
        inside.append(((found.consistency_lower <= curve) & (curve <= found.consistency_upper)).mean())
    assert 0.92 <= np.mean(inside) <= 0.99


def test_a_bent_curve_leaves_the_consistency_region_and_the_regions_tighten():
    few, many = (corp_regions(*drawn(n, 0, 2.0), n_resamples=99, random_state=0) for n in (500, 20_000))
    assert (many.recalibrated < many.consistency_lower).mean() > 0.5
    widths = [(r.confidence_upper - r.confidence_lower).mean() for r in (few, many)]
    assert widths[1] < widths[0] / 2


def test_the_curve_is_corps_and_order_does_not_matter():
    y, v = drawn(100, 1, digits=1)
    parts = corp_decomposition(y, v)
    found = corp_regions(y, v, random_state=2)
    assert np.array_equal(found.prediction, parts.prediction)
    assert np.allclose(found.recalibrated, parts.recalibrated)
    order = np.random.default_rng(0).permutation(100)
    again = corp_regions(y[order], v[order], random_state=2)
    assert np.array_equal(found.consistency_lower, again.consistency_lower)


@pytest.mark.parametrize("rows", [([1], [0.3]), ([0, 1], [0.0, 1.0]), ([1, 1, 1], [0.5, 0.5, 0.5])])
def test_small_samples(rows):
    found = corp_regions(*rows, random_state=0)
    for low, high in (
        (found.consistency_lower, found.consistency_upper),
        (found.confidence_lower, found.confidence_upper),
    ):
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()


def test_what_is_refused():
    with pytest.raises(InputError, match="n_resamples"):
        corp_regions([0, 1], [0.2, 0.8], n_resamples=10)
    with pytest.raises(InputError, match="level"):
        corp_regions([0, 1], [0.2, 0.8], level=0.0)
