"""T-Cal against its definition, and against the error rates that it promises."""

import dataclasses
import itertools
import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, chi2

from calibrant import threads
from calibrant.door.errors import InputError
from calibrant.inference.testing import tcal
from calibrant.inference.testing.tcal import (
    debiased_plug_in,
    dyadic_scales,
    event_rows,
    simplex_cells,
    smooth_scale,
    tcal_test,
)
from calibrant.resampling.redraw import joint_pvalue
from tests.oracles import tcal as oracle
from tests.strategies import examples, samples


def uniform(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    return (rng.random(n) < y_prob**power).astype(int), y_prob


def classes(n, n_classes, seed=0, concentration=1.0):
    rng = np.random.default_rng(seed)
    y_prob = rng.dirichlet(np.full(n_classes, concentration), n)
    label = (rng.random(n)[:, None] > np.cumsum(y_prob, axis=1)).sum(axis=1)
    return np.minimum(label, n_classes - 1), y_prob


@examples(1000)
@given(samples(weights=False, fractional=False), st.integers(1, 70))
def test_statistic_equals_its_definition(sample, n_bins):
    y_true, y_prob, _ = sample
    expected = oracle.debiased_plug_in(y_true, y_prob, n_bins)
    assert debiased_plug_in(y_true, y_prob, n_bins=n_bins) == pytest.approx(expected, abs=1e-9)


@examples(1000)
@given(samples(weights=False, fractional=False), st.integers(1, 30))
def test_every_dyadic_scale_equals_its_definition(sample, n_scales):
    y_true, y_prob, _ = sample
    scales = tuple(2**b for b in range(1, n_scales + 1))
    rows = event_rows(y_true.astype(np.int64), y_prob + 0.0, scales)
    found = tcal._statistics(rows, n_scales, 0, np.uint64(0), redraw_rows=False)[0]
    expected = [oracle.debiased_plug_in(y_true, y_prob, m) for m in scales]
    assert found == pytest.approx(expected, abs=1e-9)


@st.composite
def class_samples(draw):
    """Class probabilities on a dyadic grid, where boundaries are hit and sums are exact, or anywhere."""
    n_classes = draw(st.integers(2, 5))
    n = draw(st.integers(1, 25))
    if draw(st.booleans()):
        parts = np.array(
            draw(st.lists(st.lists(st.integers(0, 9), min_size=n_classes, max_size=n_classes), min_size=n, max_size=n))
        )
        parts[:, -1] = 64 - parts[:, :-1].sum(axis=1)  # positive: the last class is never impossible
        y_prob = parts / 64
    else:
        y_prob = np.random.default_rng(draw(st.integers(0, 2**31))).dirichlet(np.ones(n_classes), n)
    label = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    return label, y_prob


@examples(500)
@given(class_samples(), st.integers(1, 9))
def test_class_statistic_equals_its_definition(sample, m):
    label, y_prob = sample
    assert debiased_plug_in(label, y_prob, n_bins=m) == pytest.approx(
        oracle.debiased_plug_in(label, y_prob, m), abs=1e-9
    )


@examples(300)
@given(class_samples())
def test_every_class_scale_equals_its_definition(sample):
    label, y_prob = sample
    scales = (2, 4, 8, 16)
    rows = tcal.class_rows(label, y_prob, scales)
    found = tcal._statistics(rows, 4, 0, np.uint64(0), redraw_rows=False)[0]
    assert found == pytest.approx([oracle.debiased_plug_in(label, y_prob, m) for m in scales], abs=1e-9)


@pytest.mark.parametrize(("n_classes", "m"), [(2, 7), (3, 1), (3, 2), (3, 5), (4, 3), (5, 2), (6, 2)])
def test_cells_of_the_simplex_have_one_volume_and_number(n_classes, m):
    n = 60_000
    y_prob = np.random.default_rng(0).dirichlet(np.ones(n_classes), n)  # uniform on the simplex
    _, counts = np.unique(simplex_cells(y_prob, m), axis=0, return_counts=True)
    cells = m ** (n_classes - 1)
    assert counts.size == cells
    expected = n / cells
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, max(cells - 1, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "m"), [(3, 4), (4, 3), (5, 2)])
def test_points_on_boundaries_fall_in_cells_of_the_simplex(n_classes, m):
    inside = simplex_cells(np.random.default_rng(1).dirichlet(np.ones(n_classes), 60_000), m)
    known = set(map(tuple, inside.tolist()))
    assert len(known) == m ** (n_classes - 1)
    grid = [p for p in itertools.product(range(2 * m + 1), repeat=n_classes) if sum(p) == 2 * m]
    assert set(map(tuple, simplex_cells(np.array(grid) / (2 * m), m).tolist())) <= known


def test_ten_classes_store_occupied_cells_only():
    label, y_prob = classes(2000, 10, concentration=0.1)
    result = tcal_test(label, y_prob, n_resamples=199, random_state=0)
    assert result.scales == (2, 4, 8)
    assert not result.reject
    rolled = tcal_test((label + 1) % 10, y_prob, n_resamples=199, random_state=0)
    assert rolled.reject


def test_two_classes_are_one_event_counted_twice():
    y_true, y_prob = uniform(500)
    event = tcal_test(y_true, y_prob, random_state=0)
    both = tcal_test(1 - y_true, np.column_stack([y_prob, 1 - y_prob]), random_state=0)
    assert both.statistics == pytest.approx(2 * np.array(event.statistics), abs=1e-12)
    assert both.scales == event.scales
    one_hot = tcal_test(np.column_stack([y_true, 1 - y_true]), np.column_stack([y_prob, 1 - y_prob]), random_state=0)
    assert one_hot == both


@pytest.mark.parametrize("critical_value", get_args(tcal.CriticalValue))
def test_neither_row_order_nor_threads_show(monkeypatch, critical_value):
    y_true, y_prob = uniform(300)
    y_prob = np.round(y_prob, 2)  # ties
    order = np.random.default_rng(1).permutation(300)
    results = []
    for worth_a_thread, rows in itertools.product((0, 10**18), (slice(None), order)):
        monkeypatch.setattr(threads, "WORTH_A_THREAD", worth_a_thread)
        results.append(tcal_test(y_true[rows], y_prob[rows], random_state=7, critical_value=critical_value))
    assert all(result == results[0] for result in results)


def test_row_order_of_classes_does_not_show():
    label, y_prob = classes(300, 3)
    y_prob = np.round(y_prob * 16) / 16
    y_prob[:, 2] = 1 - y_prob[:, :2].sum(axis=1)
    order = np.random.default_rng(1).permutation(300)
    assert tcal_test(label, y_prob, random_state=3) == tcal_test(label[order], y_prob[order], random_state=3)


def test_more_resamples_extend_fewer():
    rows = event_rows(*map(np.asarray, uniform(200)), scales=(2, 4, 8))
    few = tcal._statistics(rows, 3, 100, np.uint64(9), redraw_rows=False)
    many = tcal._statistics(rows, 3, 1000, np.uint64(9), redraw_rows=False)
    assert np.array_equal(few, many[:101])


@pytest.mark.parametrize("redraw_rows", [False, True])
def test_resampled_statistics_have_mean_zero_and_the_right_variance(redraw_rows):
    y_true, y_prob = uniform(60)
    rows = event_rows(y_true, y_prob, (2, 4, 8))
    found = tcal._statistics(rows, 3, 40_000, np.uint64(1), redraw_rows=redraw_rows)[1:]
    spread = found.std(axis=0)
    assert np.abs(found.mean(axis=0)).max() < 5 * spread.max() / 200
    if not redraw_rows:
        expected = [oracle.null_variance(y_prob, m) for m in (2, 4, 8)]
        assert found.var(axis=0) == pytest.approx(expected, rel=0.05)


def test_redrawn_labels_have_their_probabilities():
    # Two rows with one prediction: the statistic is (y1 - z) (y2 - z) / 2, which tells when both labels are 1.
    for z in (0.0, 1e-3, 0.3, 0.5, 1.0):
        rows = event_rows(np.array([0, 1]), np.array([z, z]), (2,))
        found = tcal._statistics(rows, 1, 50_000, np.uint64(2), redraw_rows=False)[1:, 0]
        both = np.isclose(found, (1 - z) ** 2 / 2)
        probability = z**2 if z != 0.5 else 0.5  # at one half, two zeros look the same
        slack = 5 * math.sqrt(probability * (1 - probability) / 50_000)
        assert abs(both.mean() - probability) <= slack + 1e-12


def test_class_labels_have_their_probabilities():
    z = np.array([[0.1, 0.0, 0.6, 0.3]])
    rows = tcal.class_rows(np.array([3, 3]), np.repeat(z, 2, axis=0), (1,))
    found = tcal._statistics(rows, 1, 50_000, np.uint64(2), redraw_rows=False)[1:, 0]
    # The statistic is (y1 - z).(y2 - z) / 2, whose variance is a quarter of the covariance's squared entries.
    covariance = np.diag(z[0]) - np.outer(z[0], z[0])
    assert abs(found.mean()) < 5 * found.std() / math.sqrt(50_000)
    assert found.var() == pytest.approx((covariance**2).sum() / 4, rel=0.05)


def skewed(rng, n):
    return rng.beta(0.3, 3.0, n)


def discrete(rng, n):
    return rng.integers(0, 21, n) / 20


@pytest.mark.slow
@pytest.mark.parametrize("draw", [lambda rng, n: rng.random(n), skewed, discrete], ids=["uniform", "skewed", "tied"])
@pytest.mark.parametrize("smoothness", [None, 0.6])
@pytest.mark.parametrize("critical_value", ["label_resampling", "theorem"])
def test_level_is_kept(draw, smoothness, critical_value):
    rng = np.random.default_rng(5)
    trials, rejected = 250, 0
    for _ in range(trials):
        y_prob = draw(rng, 100)
        y_true = rng.random(100) < y_prob
        rejected += tcal_test(
            y_true, y_prob, smoothness=smoothness, n_resamples=299, random_state=rng, critical_value=critical_value
        ).reject
    assert rejected <= binom.ppf(1 - 1e-5, trials, 0.05)


@pytest.mark.slow
def test_level_of_the_theorem_holds_where_predictions_crowd():
    # All predictions within 1/n^2: the paper's bound for fine scales, true for spread predictions, is far too small.
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(300):
        y_prob = 0.5 + rng.random(100) / 100**2
        rejected += tcal_test(rng.random(100) < y_prob, y_prob, critical_value="theorem").reject
    assert rejected <= binom.ppf(1 - 1e-5, 300, 0.05)


def test_composite_null_is_kept_and_left():
    rng = np.random.default_rng(3)
    y_prob = rng.random(5000) * 0.6
    y_true = rng.random(5000) < y_prob + 0.05  # an l2 error of 0.05 exactly
    allowed = tcal_test(y_true, y_prob, smoothness=1.0, critical_value="theorem", null_error=0.05)
    assert not allowed.reject
    y_true = rng.random(5000) < y_prob + 0.4
    assert tcal_test(y_true, y_prob, smoothness=1.0, critical_value="theorem", null_error=0.05).reject


def test_theorem_pvalue_is_the_level_at_its_critical_value():
    y_true, y_prob = uniform(4000, power=3.0)
    result = tcal_test(y_true, y_prob, smoothness=1.0, critical_value="theorem")
    m = result.scales[0]
    assert m == math.floor(4000 ** (2 / 5))
    threshold = math.sqrt(2 * 4 / result.pvalue) * math.sqrt(m) / 4000
    assert result.statistic == pytest.approx(threshold, rel=1e-12)
    assert result.reject


def test_pvalues_are_never_zero():
    y_true, y_prob = uniform(1000, power=9.0)
    result = tcal_test(y_true, y_prob, n_resamples=499, random_state=0, correction="bonferroni")
    assert min(result.pvalues) == 1 / 500
    assert result.pvalue == pytest.approx(len(result.scales) / 500)
    assert tcal_test(y_true, y_prob, n_resamples=499, random_state=0).pvalue == 1 / 500


def test_the_joint_minimum_is_exact_by_exchangeability():
    """Whichever draw is called the observed one, at most a share a of the draws has p <= a."""
    found = np.random.default_rng(0).normal(size=(60, 4)) ** 3
    found[:, 3] = 0.0
    found[:30, 2] = np.round(found[:30, 2])
    pvalues = np.array([joint_pvalue(np.roll(found, -k, axis=0)) for k in range(60)])
    for a in np.unique(pvalues):
        assert np.mean(pvalues <= a) <= a + 1e-12
    ranks = [[(column >= column[k]).sum() for column in found.T] for k in range(60)]
    first = int(np.argmin([min(each) for each in ranks]))
    assert pvalues[first] <= sum(min(each) == min(ranks[first]) for each in ranks) / 60


def test_every_false_rejection_of_a_class_is_shared_out():
    label, y_prob = classes(600, 3)
    result = tcal_test(label, y_prob, reduction="class_wise", random_state=0)
    assert len(result.by_class) == 3
    assert all(part.level == pytest.approx(0.05 / 3) for part in result.by_class)
    assert result.pvalue == min(1.0, 3 * min(part.pvalue for part in result.by_class))
    wrong = tcal_test((label + 1) % 3, y_prob, reduction="class_wise", random_state=0)
    assert wrong.reject


def test_top_label_is_the_event_of_being_right():
    label, y_prob = classes(600, 4)
    top = tcal_test(label, y_prob, reduction="top_label", random_state=0)
    event = tcal_test(label == y_prob.argmax(axis=1), y_prob.max(axis=1), random_state=0)
    assert top.pvalues == event.pvalues


def test_number_of_bins_and_scales_are_the_papers():
    assert [smooth_scale(n, 2, 0.6) for n in (2000, 5000, 10_000)] == [87, 149, 225]
    assert smooth_scale(10_000, 2, 0.3) == 4328
    assert smooth_scale(10_000, 2, 0.25) == 10_000  # a whole power, which floating point just misses
    assert len(dyadic_scales(10_000)) == 24
    assert dyadic_scales(10_000, 10) == (2, 4, 8)


@pytest.mark.parametrize(
    ("arguments", "fault", "words"),
    [
        ({"y_prob": [0.1, 0.9] * 50}, "y_prob", "discrete_calibration_test"),
        ({"smoothness": 5.0}, "smoothness", "at least"),
        ({"smoothness": 1e-3}, "smoothness", "no two"),
        ({"smoothness": -1.0}, "smoothness", "positive"),
        ({"n_resamples": 100, "correction": "bonferroni"}, "n_resamples", "at least 239"),
        ({"n_resamples": 18}, "n_resamples", "at least 19"),
        ({"correction": "holm"}, "correction", "joint"),
        ({"level": 0.0}, "level", "strictly between"),
        ({"critical_value": "bootstrap"}, "critical_value", "label_resampling"),
        ({"null_error": 0.1}, "null_error", "theorem"),
        ({"reduction": "top_label"}, "reduction", "nothing to reduce"),
        ({"random_state": -1}, "random_state", "whole number"),
        ({"y_true": [0.5] * 100}, "y_true", "0 or 1"),
    ],
)
def test_what_does_not_apply_is_said_plainly(arguments, fault, words):
    y_true, y_prob = uniform(100)
    arguments = {"y_true": y_true, "y_prob": y_prob, **arguments}
    with pytest.raises(InputError, match=words) as error:
        tcal_test(**arguments)
    assert error.value.argument == fault


@pytest.mark.parametrize(
    ("y_true", "y_prob", "fault"),
    [
        ([0, 1], [[0.5, 0.6], [0.5, 0.5]], "y_prob"),
        ([0, 1], [[np.nan, 0.5], [0.5, 0.5]], "y_prob"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], "y_true"),
        ([0, 0.5], [[0.5, 0.5], [0.5, 0.5]], "y_true"),
        ([[1, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.5]], "y_true"),
        ([0, 1, 1], [[0.5, 0.5], [0.5, 0.5]], "y_true"),
        ([0, 1], [[0.5], [0.5]], "y_prob"),
        (["a", "a"], [[0.5, 0.5], [0.5, 0.5]], "y_true"),
    ],
)
def test_bad_classes_are_refused(y_true, y_prob, fault):
    with pytest.raises(InputError) as error:
        tcal_test(y_true, y_prob)
    assert error.value.argument == fault


def test_result_is_frozen():
    result = tcal_test(*uniform(100), random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0


@examples(200)
@given(samples(max_rows=60, weights=False, fractional=False))
def test_no_sample_breaks_it(sample):
    y_true, y_prob, _ = sample
    try:
        result = tcal_test(y_true, y_prob, n_resamples=299, random_state=0)
    except InputError:
        assume(False)
    assert 0 < result.pvalue <= 1
    assert np.isfinite(result.statistics).all()


WEIGHTED = {"sample_weight": np.array([1.0, 2.0, 3.0]).repeat(100), "outcome_free_weights": True}


@pytest.mark.parametrize("critical_value", ["theorem", "consistency_resampling"])
@pytest.mark.parametrize("options", [WEIGHTED, {"trials": np.ones(300)}, {"groups": np.arange(300) // 2}])
def test_only_labels_are_redrawn_of_rows_that_are_no_single_ones(critical_value, options):
    with pytest.raises(InputError, match=f"is '{critical_value}', which is for independent single") as error:
        tcal_test(*uniform(300), critical_value=critical_value, **options)
    assert error.value.argument == "critical_value"


def test_weighted_rows_are_corrected_as_others_are():
    y_true, y_prob = uniform(300, power=1.3)
    options = {"random_state": 0, "smoothness": 0.3, **WEIGHTED}  # one scale: nothing to correct
    assert tcal_test(y_true, y_prob, correction="bonferroni", n_resamples=99, **options).pvalue == (
        tcal_test(y_true, y_prob, correction="joint", n_resamples=99, **options).pvalue
    )
    several = {**options, "smoothness": None, "n_resamples": 599}
    one, all_ = (tcal_test(y_true, y_prob, correction=each, **several) for each in ("bonferroni", "joint"))
    assert one.pvalues == all_.pvalues
    assert one.pvalue == min(1.0, len(one.scales) * min(one.pvalues))
    assert min(all_.pvalues) < all_.pvalue < one.pvalue


@pytest.mark.parametrize(("n", "cube"), [(1000, 10), (3375, 15), (999, 9), (1001, 10), (125, 5)])
def test_the_number_of_bins_is_rounded_down_from_a_whole_root(n, cube):
    """For smoothness 5/4 it is the cube root of the rows, which powers of floats can miss."""
    assert smooth_scale(n, 2, 1.25) == cube
