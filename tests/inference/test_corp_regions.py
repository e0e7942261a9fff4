"""Regions of the isotonic curve: coverage at once and at each point, ties, few values, one row."""

import numpy as np
import pytest
from scipy.stats import beta

from calibrant import InputError, corp_decomposition
from calibrant.inference import corp_regions
from calibrant.inference.bounds import corp


def drawn(n, seed, bend=1.0, digits=None):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    v = v if digits is None else np.round(v, digits)
    return (rng.random(n) < v**bend).astype(float), v


@pytest.mark.slow
@pytest.mark.parametrize("bend", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("digits", [None, 1])
def test_the_truth_is_inside_at_all_points_at_once(bend, digits):
    missed = 0
    for seed in range(40):
        found = corp_regions(*drawn(400, seed, bend, digits), n_resamples=39, random_state=0)
        truth = found.prediction**bend
        missed += not ((found.confidence_lower <= truth) & (truth <= found.confidence_upper)).all()
    assert missed <= 5


@pytest.mark.slow
def test_calibrated_curves_are_inside_the_consistency_region_about_as_often_as_promised():
    inside = []
    for seed in range(50):
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


SATURATED = {
    "largest": lambda rng, n: np.minimum(1.0, rng.random(n) * 1.05),
    "smallest": lambda rng, n: np.maximum(0.0, rng.random(n) * 1.05 - 0.05),
    "both": lambda rng, n: np.clip(rng.random(n) * 1.6 - 0.3, 0.0, 1.0),
    "nearly all": lambda rng, n: np.minimum(1.0, rng.random(n) * 5.0),
    "inside": lambda rng, n: np.where(rng.random(n) < 0.3, 0.4, rng.random(n)),
    "small float": lambda rng, n: (1 / (1 + np.exp(-5 * rng.normal(size=n)))).astype(np.float16).astype(float),
}


def slow_regions(v, y, level):
    """Groups and confidence bounds by definition, a group and a pair at a time."""
    values, count = np.unique(v, return_counts=True)
    groups, before = [], 0
    for value, rows in zip(values, count, strict=True):
        part = (2 * before + rows) * 160 // (2 * v.size) if values.size > 160 else value
        if not groups or groups[-1][0] != part:
            groups.append((part, []))
        groups[-1][1].append(value)
        before += rows
    groups = [members for _, members in groups]
    tail = level / (len(groups) * (len(groups) + 1))
    lower, upper = np.zeros(values.size), np.ones(values.size)
    pairs = [(first[0], last[-1]) for i, first in enumerate(groups) for last in groups[i:]]
    seen = [(k.size, k.sum()) for low, high in pairs for k in [y[(v >= low) & (v <= high)]]]
    n, k = np.array(seen).T
    above, below = beta.ppf(tail, np.maximum(k, 1), n - k + 1), beta.ppf(1 - tail, k + 1, np.maximum(n - k, 1))
    for (first, last), n_rows, ones, low, high in zip(pairs, n, k, above, below, strict=True):
        lower[values >= last] = np.maximum(lower[values >= last], low if ones > 0 else 0.0)
        upper[values <= first] = np.minimum(upper[values <= first], high if ones < n_rows else 1.0)
    shown = np.isin(values, [end for members in groups for end in (members[0], members[-1])])
    return values[shown], lower[shown], upper[shown]


@pytest.mark.parametrize("kind", SATURATED)
@pytest.mark.parametrize("n", [250])
def test_saturated_and_heavy_predictions_are_grouped_as_defined(kind, n):
    rng = np.random.default_rng(n)
    v = SATURATED[kind](rng, n)
    y = (rng.random(n) < v).astype(float)
    found = corp_regions(y, v, n_resamples=39, random_state=0)
    values, lower, upper = slow_regions(v, y, 0.05)
    assert np.array_equal(found.prediction, values)
    assert found.confidence_lower == pytest.approx(lower, abs=1e-12)
    assert found.confidence_upper == pytest.approx(upper, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SATURATED)
def test_the_truth_is_inside_where_predictions_are_saturated(kind):
    missed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        v = SATURATED[kind](rng, 2000)
        found = corp_regions((rng.random(2000) < v).astype(float), v, n_resamples=39, random_state=0)
        truth = found.prediction
        missed += not ((found.confidence_lower <= truth) & (truth <= found.confidence_upper)).all()
        heavy = np.unique(v)[np.unique(v, return_counts=True)[1] > 25]
        assert np.isin(heavy, truth).all()
    assert missed <= 2


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


def test_weights_that_may_tell_outcomes_have_no_region():
    y, v = drawn(200, 0)
    w = np.random.default_rng(0).choice([1.0, 2.0, 5.0], 200)
    with pytest.raises(InputError, match="may tell outcomes, and the region of the truth rests on binomial") as error:
        corp_regions(y, v, sample_weight=w, n_resamples=39)
    assert error.value.argument == "sample_weight"
    free = corp_regions(y, v, sample_weight=w, outcome_free_weights=True, n_resamples=39, random_state=0)
    assert free.confidence_lower.tolist() == corp_regions(y, v, n_resamples=39).confidence_lower.tolist()


def test_regions_of_rows_sampled_by_outcome_are_those_of_the_file_at_the_populations_chances():
    """Of the rows without the event a tenth was kept: a chance p of the file is p / (p + 10 (1 - p))."""
    y, v = drawn(200, 1, digits=1)
    w = np.where(y == 1.0, 1.0, 10.0)
    found = corp_regions(y, v, sample_weight=w, n_resamples=39, random_state=0, level=0.2)
    in_file = corp_regions(y, v / (v + 0.1 * (1.0 - v)), n_resamples=39, random_state=0, level=0.2)
    assert found.level == 0.2
    for name in ("prediction", "recalibrated", "confidence_lower", "confidence_upper", "consistency_lower"):
        p = getattr(in_file, name)
        assert getattr(found, name) == pytest.approx(p / (p + 10.0 * (1.0 - p)), abs=1e-9), name


@pytest.mark.parametrize(("level", "n_resamples", "rank"), [(0.1, 99, 5), (0.1, 98, 4), (0.2, 99, 10)])
def test_the_consistency_region_leaves_out_half_of_the_level_on_either_side(monkeypatch, level, n_resamples, rank):
    y, v = drawn(60, 2, digits=1)
    m = np.unique(v).size
    curves = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, n_resamples))[:, None] * np.ones(m)
    monkeypatch.setattr(corp, "resampled", lambda *_: curves)
    found = corp_regions(y, v, level=level, n_resamples=n_resamples)
    ends = np.linspace(0.1, 0.9, n_resamples)[[rank - 1, -rank]]
    assert (found.consistency_lower == ends[0]).all()
    assert (found.consistency_upper == ends[1]).all()


def test_few_predictions_are_each_a_group_and_many_share_their_160th():
    assert corp._group_starts(np.array([1000.0, 1.0, 1.0])).tolist() == [0, 1, 2]
    assert corp._group_starts(np.ones(160)).tolist() == list(range(160))
    assert corp._group_starts(np.ones(320)).tolist() == list(range(0, 320, 2))
    heavy = np.ones(321)
    heavy[1] = 1000.0
    starts = corp._group_starts(heavy)
    assert starts[:3].tolist() == [0, 1, 2]
