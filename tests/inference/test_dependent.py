"""Outcomes redrawn in groups: their chances, how they go together, and the intervals that rest on them."""

import numpy as np
import pytest
from scipy.stats import norm, t

from calibrant import InputError, compare_calibration
from calibrant.inference import compare_all
from calibrant.inference.comparison.compare import Noise
from calibrant.inference.comparison.items import DependentOutcomes
from calibrant_papers.calibration_levels import _MEANS, _in_groups


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_the_correlation_is_found_again(correlation):
    rng = np.random.default_rng(0)
    y, v, group = _in_groups(rng, 1000, 10, correlation, _MEANS["uniform"])
    like = DependentOutcomes.like(y, v, None, group.astype(np.int64))
    assert like.correlation == pytest.approx(correlation, abs=0.06)
    drawn = np.array([like.draw(rng) for _ in range(200)])
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert np.abs(drawn.mean(axis=0) - v).max() < 0.17  # each outcome keeps its chance
    sums = np.array([np.bincount(group.astype(int), each - v) for each in (y, *drawn[:20])])
    assert (sums[0] ** 2).mean() == pytest.approx((sums[1:] ** 2).mean(), rel=0.1)


def test_trials_of_a_group_go_together_and_certain_rows_stay():
    group, v = np.repeat(np.arange(400), 2), np.tile([0.4, 1.0], 400)
    rng = np.random.default_rng(0)
    happens = rng.random(400) < 0.4
    share = np.column_stack([happens, np.ones(400)]).ravel().astype(float)
    like = DependentOutcomes.like(share, v, np.full(800, 5), group)
    assert like.correlation > 0.9
    drawn = like.draw(rng)
    assert (drawn[1::2] == 1.0).all()
    assert (np.abs(drawn[::2] - 0.5) > 0.4).mean() > 0.7
    alone = DependentOutcomes.like(share[::2], v[::2], None, np.arange(400))
    assert alone.correlation == 0.0


@pytest.mark.slow
def test_groups_widen_intervals_and_the_order_of_rows_does_not_matter():
    y, v, group = _in_groups(np.random.default_rng(0), 80, 6, 0.8, _MEANS["uniform, one per group"])
    options = {"n_resamples": 99, "random_state": 0}
    rows, grouped = compare_calibration(y, v, v**2, **options), compare_calibration(y, v, v**2, groups=group, **options)
    assert grouped.interval.width > 1.5 * rows.interval.width
    assert grouped.premise == "rows are independent between groups"
    order = np.random.default_rng(1).permutation(y.size)
    again = compare_calibration(y[order], v[order], v[order] ** 2, groups=group[order], **options)
    assert again == grouped
    pairs = compare_all(y, {"one": v, "other": v**2}, groups=group, **options)
    assert next(iter(pairs.pairs.values())).premise == grouped.premise
    with pytest.raises(
        InputError, match=r"groups: events come from too few groups \(as good as 4 equal ones; 6 are needed\)"
    ):
        compare_calibration(y, v, v**2, groups=group // 16, **options)


def test_few_groups_have_the_quantile_of_t():
    halved = np.random.default_rng(0).normal(size=(40, 2))
    rows, groups = Noise.of(halved, 12.0), Noise.of(halved, 12.0, grouped=True)
    error = 0.5 * np.sqrt(np.mean((halved[:, 0] - halved[:, 1]) ** 2)) * np.sqrt(1.0 + 16.0 / 12.0)
    assert rows.error == groups.error == pytest.approx(error)
    for noise, law in ((rows, norm), (groups, t(11))):
        assert noise.reach(0.05) == pytest.approx(error * law.ppf(0.975))
        assert noise.tail(2.5 * error) == pytest.approx(2.0 * law.sf(2.5))
        assert noise.tail(noise.reach(0.01)) == pytest.approx(0.01)
    assert Noise.of(0.0 * halved, 12.0).tail(0.1) == 0.0
    y, v, group = _in_groups(np.random.default_rng(0), 12, 40, 0.3, _MEANS["uniform, one per group"])
    few = compare_calibration(y, v, np.clip(v + 0.05, 0.0, 1.0), groups=group, n_resamples=99, random_state=0)
    assert few.interval.width > 0.1
