"""Weights, trials and groups in every test that redraws: p-values against enumeration, and what must not matter."""

import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    InputError,
    calibration_test,
    cumulative_calibration_test,
    discrete_calibration_test,
    hosmer_lemeshow_test,
    kernel_calibration_error,
    kernel_calibration_test,
    smooth_calibration_error,
    smooth_calibration_test,
    tcal_test,
)
from calibrant.door.rows import Rows
from calibrant.inference import corp_regions
from calibrant.inference.testing import components
from calibrant.inference.testing import components as tail
from calibrant.inference.testing.components import COX, GROUPS, WAVES, Components, lots_of_rows
from calibrant.inference.testing.result import ROWS, calibration_tests
from calibrant.inference.testing.tcal import WeightedCells
from calibrant.resampling import redraw
from calibrant.resampling import redraw as comonotone
from calibrant.resampling.joint import mean_weight
from tests.oracles import calibration_test as oracle
from tests.oracles import tcal as tcal_oracle
from tests.strategies import examples

REDRAWN = {
    name: each.call
    for name, each in calibration_tests().items()
    if each.null == "redrawn" and each.admits == ROWS and name not in ("calibration_test", "tcal_test")
} | {
    "kolmogorov-smirnov": partial(cumulative_calibration_test, form="kolmogorov-smirnov"),
    "hosmer_lemeshow_test": partial(hosmer_lemeshow_test, n_bins=3),
}
# Tests whose statistic stays the same where all excesses change their sign.
EVEN = {
    *("cox_test", "hosmer_lemeshow_test", "kernel_calibration_test", "kolmogorov-smirnov", "miller_test"),
    *("smooth_calibration_test", "spiegelhalter_test"),
}
# What is large, of statistics that can be negative: of others either is the same.
SIZES = {"spiegelhalter_test": (abs,), "averaged_two_bin_test": (float,)}
ALL = {**REDRAWN, "tcal_test": tcal_test, "calibration_test": calibration_test}


def drawn(n, bend, seed, groups=None):
    rng = np.random.default_rng(seed)
    v = np.round(rng.uniform(0.05, 0.95, n), 2)
    y = (rng.random(n) < v**bend).astype(float)
    return y, v, rng.choice([0.5, 1.0, 2.0, 30.0], n), rng.integers(0, groups or n, n)


def near(pvalue, exact, n):
    return abs(pvalue - exact) <= 4.5 * math.sqrt(exact * (1 - exact) / n) + 1.5 / n


@pytest.mark.slow
@pytest.mark.parametrize("name", REDRAWN)
def test_weighted_p_values_by_enumeration(name):
    v, w = np.array([0.1, 0.1, 0.6, 0.6, 0.8]), np.array([3.0, 1.0, 5.0, 1.0, 2.0])
    y = np.array([1.0, 0, 1, 0, 0])
    run = partial(REDRAWN[name], y_prob=v, sample_weight=w, outcome_free_weights=True)

    statistic = {ones: run(np.array(ones, float), n_resamples=19).statistic for ones in product((0, 1), repeat=5)}
    seen = statistic[tuple(int(each) for each in y)]

    def exact(size):
        return sum(
            float(np.prod(np.where(np.array(ones) == 1, v, 1 - v)))
            for ones, each in statistic.items()
            if size(each) >= size(seen) - 1e-12 * abs(seen)
        )

    pvalue = run(y, n_resamples=600, random_state=0).pvalue
    assert any(near(pvalue, exact(size), 600) for size in SIZES.get(name, (float, abs)))


@pytest.mark.parametrize("name", REDRAWN)
def test_grouped_p_values_by_enumeration(name, monkeypatch):
    monkeypatch.setattr(comonotone, "LEAST_GROUPS", 0)
    v = np.array([0.1, 0.1, 0.3, 0.6, 0.6, 0.8, 0.9, 0.35, 0.55])
    y, group = np.array([1.0, 0, 0, 1, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 3, 4, 5, 5, 4, 2])
    w = np.array([1.0, 2, 1, 1, 1, 1, 1, 1, 1])
    run = partial(REDRAWN[name], y, v, sample_weight=w, groups=group)
    found = []
    signs = iter(product((1.0, -1.0), repeat=6))
    monkeypatch.setattr(redraw, "random_signs", lambda _rng, _n: np.array(next(signs)))
    monkeypatch.setattr(redraw, "pvalue_among", lambda observed, among: found.append((observed, among)) or 0.5)
    run(n_resamples=64, random_state=0)
    observed, among = found[0]
    assert among[0] == pytest.approx(observed, rel=1e-12)  # all signs as they are
    if name in EVEN:
        assert among == pytest.approx(among[::-1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_scale_of_weights_names_and_order_do_not_matter(name):
    y, v, w, group = drawn(900, 1.2, 1, 700)
    order = np.random.default_rng(0).permutation(900)
    for options in ({}, {"groups": group}):
        first = ALL[name](y, v, sample_weight=w, random_state=5, n_resamples=39, **options)
        moved = {key: each[order] for key, each in options.items()}
        second = ALL[name](y[order], v[order], sample_weight=4.0 * w[order], random_state=5, n_resamples=39, **moved)
        assert second.pvalue == first.pvalue
        assert second.statistic == pytest.approx(first.statistic, rel=1e-9)
        third = ALL[name](y, v, sample_weight=np.full(900, 2.5), random_state=5, n_resamples=39)
        assert third == ALL[name](y, v, random_state=5, n_resamples=39)


@pytest.mark.parametrize("name", ALL)
def test_rows_without_weight_are_not_there(name):
    y, v, w, group = drawn(900, 1.2, 2, 700)
    more = {"sample_weight": np.append(w, 0.0), "groups": np.append(group, 999)}
    for options in ({"sample_weight": w}, {"sample_weight": w, "groups": group}):
        added = {key: more[key] for key in options}
        added = ALL[name](np.append(y, 0.0), np.append(v, 1.0), random_state=5, n_resamples=39, **added)
        plain = ALL[name](y, v, random_state=5, n_resamples=39, **options)
        assert (added.pvalue, added.impossible) == (plain.pvalue, None)


def test_weights_in_few_groups_are_refused():
    """Without weights the total is bounded for any dependence; with weights that may tell outcomes it is not."""
    y, v, w, group = drawn(300, 1.2, 2, 45)
    assert calibration_test(y, v, groups=group, n_resamples=39, random_state=0).tail_pvalue is not None
    with pytest.raises(InputError, match="groups: are too few to test weighted rows by groups"):
        calibration_test(y, v, sample_weight=w, groups=group, n_resamples=39)


def test_statistics_are_the_weighted_measures():
    y, v, w, _ = drawn(200, 1.2, 3)
    for test, error in (
        (smooth_calibration_test, smooth_calibration_error),
        (kernel_calibration_test, kernel_calibration_error),
    ):
        found = test(y, v, sample_weight=w, n_resamples=19).statistic
        assert found == pytest.approx(error(y, v, sample_weight=w), abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_groups_and_weights_are_assumed_in_one_line(name):
    y, v, w, group = drawn(300, 1.0, 4, 200)
    run = partial(ALL[name], y, v, n_resamples=39, random_state=0)
    assert run().premise == "rows are independent"
    assert run(groups=group).premise == "rows are independent between groups"
    weights = "rows are independent, and weights do not depend on outcomes given the predictions"
    assert run(sample_weight=w, outcome_free_weights=True).premise == weights
    assert "drawn again with them (score z = " in run(sample_weight=w).premise
    by_outcome = run(sample_weight=np.where(y == 1, 1.0, 10.0)).premise
    assert by_outcome.endswith("0.1 of the rows without the event and 1 of those with it were kept")


def test_events_in_few_groups_that_were_expected_in_many_are_found():
    y, v, _, group = drawn(600, 1.0, 5, 60)
    y[group >= 25] = 0.0
    assert tcal_test(y, v, groups=group, random_state=0).reject
    assert tcal_test(1 - y, v, groups=group, random_state=0).reject


@pytest.mark.parametrize("name", ALL)
def test_copies_within_groups_tell_nothing_new(name):
    """Each row ten times, in a group of its own: what is read as rows is overwhelming, and as groups it is not."""
    y, v, _, _ = drawn(150, 1.0, 6)
    y, v, group = np.repeat(y, 10), np.repeat(v, 10), np.repeat(np.arange(150), 10)
    assert ALL[name](y, v, groups=group, random_state=0).pvalue > 0.05


@st.composite
def grouped_rows(draw):
    n = draw(st.integers(4, 12))
    v = np.array(draw(st.lists(st.floats(0.01, 0.99), min_size=n, max_size=n, unique=True)))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), float)
    w = np.array(draw(st.lists(st.sampled_from([1.0, 0.5, 1e-3]), min_size=n, max_size=n)))
    group = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return y, v, w, group


@given(grouped_rows())
@examples(40)
def test_grouped_statistics_are_products_of_different_groups(rows):
    y, v, w, group = rows
    units = lots_of_rows(Rows.of(y, v, w, None, group))
    parts, statistics = components.signed_statistics(units, 1, np.uint64(0))
    alike = replace(units, weight=mean_weight(units.prediction, units.weight))  # own weights may tell outcomes
    excess, variance = units.excess, alike.variance
    n_blocks = parts.wave.shape[0]
    for (name, size), value in zip(parts.names, statistics[0], strict=True):
        if name == COX:
            columns = np.column_stack([np.full(excess.size, variance.sum() ** -0.5), parts.slope])
        elif name == WAVES:
            columns = parts.wave[parts.block][:, :size]
        else:
            at = parts.block * size // n_blocks
            columns = (at[:, None] == np.arange(size)) / np.sqrt(np.maximum(np.bincount(at, variance, size), 1e-300))
        wanted = oracle.of_different_groups(excess[:, None] * columns, units.group)
        assert value == pytest.approx(wanted, rel=1e-8, abs=1e-8 * (excess**2 / variance).sum()), (name, size)
    assert {name for name, _ in parts.names} == {COX, WAVES, GROUPS}


def test_the_grouped_tail_is_valid_by_enumeration():
    """Each group is one event or none: as strong as dependence can be."""
    v, group = np.array([0.1, 0.2, 0.5, 0.6, 0.7, 0.1, 0.2, 0.5, 0.6, 0.7]), np.tile(np.arange(5), 2)
    tails, chance = [], []
    for ones in product((0.0, 1.0), repeat=5):
        units = lots_of_rows(Rows.of(np.tile(ones, 2), v, None, None, group))
        tails.append(tail.log_tail(units, Components.of(units)))
        chance.append(np.prod(np.where(np.array(ones) == 1.0, v[:5], 1 - v[:5])))
    tails, chance = np.array(tails), np.array(chance)
    for x in np.unique(tails):
        assert chance[tails <= x].sum() <= math.exp(x) * (1 + 1e-9)


def test_the_grouped_tail_goes_below_the_floor():
    y, v, _, group = drawn(20_000, 2.0, 0, 2000)
    found = calibration_test(y, v, groups=group, n_resamples=99, random_state=0)
    assert found.pvalue < 1e-10 < found.redrawn_pvalue
    assert found.region.direction == "too high"


@given(grouped_rows(), st.booleans())
@examples(60)
def test_weighted_t_cal_is_its_definition(rows, grouped):
    y, v, w, group = rows
    scales = tuple(2**k for k in range(1, 12))
    free = Rows.of(y, v, w, outcome_free_weights=True)
    redraws = redraw.Redraws.of(free) if not grouped else _without_check(Rows.of(y, v, w, None, group))
    found = WeightedCells.of(redraws, scales).statistics(redraws.excess)
    of = group if grouped else np.arange(y.size)
    wanted = [tcal_oracle.weighted_plug_in(y, v, w / w.max(), m, of) for m in scales]
    assert found == pytest.approx(wanted, abs=1e-12)


def _without_check(rows):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comonotone, "LEAST_GROUPS", 0)
        return redraw.Redraws.of(rows)


@pytest.mark.slow
def test_weighted_t_cal_of_equal_weights_is_t_cal():
    y, v, _, _ = drawn(400, 1.1, 7)
    v = np.clip(v + np.random.default_rng(0).uniform(-0.004, 0.004, 400), 0, 1)
    plain = tcal_test(y, v, random_state=0)
    lots = tcal_test(y, v, trials=np.ones(400), random_state=0)
    assert lots.statistics == pytest.approx(plain.statistics, abs=1e-12)
    assert lots.pvalue == pytest.approx(plain.pvalue, abs=0.1)
    twice = tcal_test(y, v, trials=np.full(400, 2), random_state=0)
    assert twice.statistics == pytest.approx(tcal_test(*map(np.tile, (y, v), (2, 2)), n_resamples=39).statistics)
    assert tcal_test(y, v**2, sample_weight=1 + v, random_state=0).reject
    with pytest.raises(InputError, match="critical_value: is 'theorem'"):
        tcal_test(y, v, trials=np.ones(400), critical_value="theorem")
    with pytest.raises(InputError, match="sample_weight: cannot be used here"):
        tcal_test(y, np.column_stack([1 - v, v]), sample_weight=v)


def test_exact_binomial_tests_take_trials_alone():
    v, trials = np.array([0.2, 0.8]), np.array([50, 50])
    found = discrete_calibration_test([0.2, 0.5], v, trials=trials)
    rows = np.repeat([1, 0, 1, 0], [10, 40, 25, 25])
    assert found == discrete_calibration_test(rows, np.repeat(v, 50))
    for name in ("sample_weight", "groups"):
        with pytest.raises(InputError, match=f"{name}: cannot be used here"):
            discrete_calibration_test([0, 1], v, **{name: [1, 2]})


@pytest.mark.slow
def test_regions_of_weighted_rows():
    y, v, w, _ = drawn(300, 1.0, 8)
    plain, same = (corp_regions(y, v, sample_weight=each, random_state=0) for each in (None, np.full(300, 3.0)))
    assert (plain.consistency_upper == same.consistency_upper).all()
    heavy = corp_regions(y, v, sample_weight=w, outcome_free_weights=True, random_state=0)
    with pytest.raises(InputError, match="sample_weight: may tell outcomes"):
        corp_regions(y, v, sample_weight=w)
    assert (heavy.confidence_lower == plain.confidence_lower).all()
    spread = (heavy.consistency_upper - heavy.consistency_lower).mean()
    assert spread > (plain.consistency_upper - plain.consistency_lower).mean()
    ones, trials = np.array([3.0, 40.0]), np.array([10.0, 50.0])
    pooled = corp_regions(ones / trials, [0.3, 0.8], trials=trials, random_state=0)
    rows = corp_regions(np.repeat([1, 0, 1, 0], [3, 7, 40, 10]), np.repeat([0.3, 0.8], [10, 50]), random_state=0)
    assert (pooled.confidence_upper == rows.confidence_upper).all()
    assert (pooled.consistency_upper == rows.consistency_upper).all()
    with pytest.raises(InputError, match="groups: cannot be used here"):
        corp_regions(y, v, groups=y)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_groups_that_share_predictions_are_not_rejected_for_it(decimals):
    """Rows of several groups at one prediction: nothing may order them by their outcomes."""
    rejected = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = np.full(300, 0.3) if decimals == 0 else np.clip(rng.random(300).round(decimals), 0.1, 0.9)
        y = (rng.random(300) < v).astype(float)
        result = calibration_test(y, v, groups=np.repeat(np.arange(150), 2), n_resamples=99, random_state=seed)
        rejected += result.reject
        order = rng.permutation(300)
        again = calibration_test(
            y[order], v[order], groups=np.repeat(np.arange(150), 2)[order], n_resamples=99, random_state=seed
        )
        assert again.pvalue == result.pvalue
    assert rejected <= 8  # of 40 at 5%: one in 5,000 tests of a true level would fail
