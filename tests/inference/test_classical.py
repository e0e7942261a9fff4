"""Classical tests: other programs' numbers, exact levels, and predictions of exactly 0 and 1."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from calibrant import cox_test, cumulative_calibration_test, hosmer_lemeshow_test, spiegelhalter_test
from calibrant.inference import miller_test

TESTS = [cox_test, hosmer_lemeshow_test, miller_test, spiegelhalter_test, cumulative_calibration_test]
PREDICTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "tied": lambda rng, n: np.round(rng.random(n), 1),
    "at the ends": lambda rng, n: rng.beta(0.05, 0.05, n),
    "rare": lambda rng, n: 10.0 ** rng.uniform(-320, -1, n),
}


def drawn(n, seed, kind="uniform", bend=1.0):
    rng = np.random.default_rng(seed)
    y_prob = PREDICTIONS[kind](rng, n)
    return (rng.random(n) < y_prob**bend).astype(float), y_prob


@pytest.mark.parametrize("seed", range(30))
def test_cox_is_the_score_test_of_statsmodels(seed):
    import statsmodels.api as sm

    y, v = drawn(300, seed, bend=1.5)
    odds = np.log(v / (1 - v))
    design = sm.add_constant(odds)
    mine = cox_test(y, v, n_resamples=19, random_state=0)
    model = sm.GLM(y, design, family=sm.families.Binomial(), offset=np.zeros(300))
    at = np.array([0.0, 1.0])
    score, information = model.score(at, scale=1.0), -model.hessian(at, scale=1.0, observed=False)
    expected = float(score @ np.linalg.solve(information, score))
    assert mine.statistic == pytest.approx(expected, rel=1e-8)
    assert mine.asymptotic_pvalue == pytest.approx(chi2.sf(expected, 2), rel=1e-8)
    fit = model.fit(tol=1e-14)
    assert (mine.intercept, mine.slope) == pytest.approx(tuple(fit.params), abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("spread", [False, True])
def test_hosmer_lemeshow_is_that_of_statsmodels_but_for_the_variance_within_groups(seed, spread):
    from statsmodels.stats.diagnostic_gen import test_chisquare_binning as binning

    y, v = drawn(400, seed, bend=1.2)
    if not spread:  # one prediction a group: then N p (1 - p) is the sum of v (1 - v)
        v = np.repeat(np.linspace(0.05, 0.95, 10), 40)
    theirs = binning(np.column_stack([1 - y, y]), np.column_stack([1 - v, v]), sort_var=v, bins=10, df=10)
    groups = np.array_split(np.argsort(v), 10)
    ratio = [(v[g] * (1 - v[g])).sum() / (g.size * v[g].mean() * (1 - v[g].mean())) for g in groups]
    parts = [(y[g].sum() - v[g].sum()) ** 2 / (g.size * v[g].mean() * (1 - v[g].mean())) for g in groups]
    assert sum(parts) == pytest.approx(theirs.statistic, rel=1e-8)
    expected = sum(part / r for part, r in zip(parts, ratio, strict=True))
    assert max(ratio) < 1 if spread else expected == pytest.approx(theirs.statistic, rel=1e-8)
    mine = hosmer_lemeshow_test(y, v, n_resamples=19, random_state=0)
    assert mine.statistic == pytest.approx(expected, rel=1e-8)
    assert mine.asymptotic_pvalue == pytest.approx(chi2.sf(expected, 10), rel=1e-8)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("n", [20, 3000])
def test_spiegelhalter_and_cumulative_are_those_of_mapie(seed, n, monkeypatch):
    peer = pytest.importorskip("mapie.metrics.calibration")

    # It breaks ties by random noise of 1e-8, which would blur the comparison; there are none here.
    monkeypatch.setattr(peer, "add_jitter", lambda x, *_, **__: x)

    y, v = drawn(n, seed, bend=1.05)
    mine = spiegelhalter_test(y, v, n_resamples=19, random_state=0)
    assert mine.statistic == pytest.approx(peer.spiegelhalter_statistic(y, v), rel=1e-8)
    one_sided = peer.spiegelhalter_p_value(y, v)  # theirs; ours counts both sides
    assert mine.asymptotic_pvalue == pytest.approx(2 * min(one_sided, 1 - one_sided), abs=1e-8)
    largest = cumulative_calibration_test(y, v, form="kolmogorov-smirnov", n_resamples=19, random_state=0)
    assert largest.statistic == pytest.approx(peer.kolmogorov_smirnov_statistic(y, v), rel=1e-8)
    assert largest.asymptotic_pvalue == pytest.approx(peer.kolmogorov_smirnov_p_value(y, v), abs=1e-8)
    reach = cumulative_calibration_test(y, v, n_resamples=19, random_state=0)
    walk = np.cumsum((y - v)[np.argsort(v)])
    if walk.min() < 0.0 < walk.max():  # theirs leaves out the walk's beginning at 0
        assert reach.statistic == pytest.approx(peer.kuiper_statistic(y, v), rel=1e-8)
        assert reach.asymptotic_pvalue == pytest.approx(peer.kuiper_p_value(y, v), abs=1e-8)


def test_tails_of_brownian_motion_join():
    from calibrant.inference.testing.distance import _maximum_tail, _range_tail

    for tail, at in ((_maximum_tail, 1.0), (_range_tail, 2.0)):
        assert tail(at) == pytest.approx(tail(at + 1e-12), abs=1e-10)
        values = [tail(x) for x in np.linspace(0.0, 9.0, 500)]
        assert values[0] == 1.0
        assert all(a >= b - 1e-12 and b > 0.0 for a, b in itertools.pairwise(values))


def test_cox_of_weights_is_its_definition_and_the_line_of_copies():
    y, v = drawn(200, 8, bend=1.4)
    copies = np.random.default_rng(8).integers(1, 5, 200)
    mine = cox_test(y, v, sample_weight=copies, n_resamples=19, random_state=0)
    odds, residual, variance = np.log(v / (1 - v)), copies * (y - v), copies**2 * v * (1 - v)
    odds -= (variance * odds).sum() / variance.sum()
    expected = residual.sum() ** 2 / variance.sum() + (residual * odds).sum() ** 2 / (variance * odds**2).sum()
    assert mine.statistic == pytest.approx(expected, rel=1e-10)
    assert mine.asymptotic_pvalue == pytest.approx(chi2.sf(expected, 2), rel=1e-10)
    rows = cox_test(np.repeat(y, copies), np.repeat(v, copies), n_resamples=19, random_state=0)
    assert (mine.intercept, mine.slope) == pytest.approx((rows.intercept, rows.slope), abs=1e-9)
    assert rows.statistic != pytest.approx(expected, rel=1e-3)  # copies are independent rows, a weight is one
    alone = cox_test(y, np.full(200, 0.3), sample_weight=copies, n_resamples=19, random_state=0)
    once = (copies * (y - 0.3)).sum() ** 2 / (copies**2 * 0.21).sum()
    assert (alone.statistic, alone.asymptotic_pvalue) == pytest.approx((once, chi2.sf(once, 1)), rel=1e-10)
    assert (alone.intercept, alone.slope) == (None, None)


def test_spiegelhalter_of_weights_is_its_definition():
    y, v = drawn(200, 9, bend=1.4)
    w = np.random.default_rng(9).uniform(0.2, 3.0, 200)
    score = (w * (y - v) * (1 - 2 * v)).sum() / np.sqrt((w**2 * (1 - 2 * v) ** 2 * v * (1 - v)).sum())
    assert spiegelhalter_test(y, v, sample_weight=w, n_resamples=19, random_state=0).statistic == pytest.approx(score)


@pytest.mark.parametrize(
    ("y", "v", "finite"),
    [
        ([0, 0, 1, 1], [0.2, 0.4, 0.6, 0.8], False),
        ([1, 1, 0, 0], [0.2, 0.4, 0.6, 0.8], False),
        ([0, 1, 0, 1], [0.2, 0.4, 0.4, 0.8], False),  # a cut through the one prediction with both outcomes
        ([1, 0, 1, 0], [0.2, 0.4, 0.4, 0.8], False),
        ([1, 1, 1, 1], [0.2, 0.4, 0.6, 0.8], False),
        ([0, 0, 0, 0], [0.2, 0.4, 0.6, 0.8], False),
        ([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], True),
    ],
)
def test_a_line_is_given_only_where_it_is_finite(y, v, finite):
    found = cox_test(y, v, n_resamples=19, random_state=0)
    assert (found.slope is not None) == (found.intercept is not None) == finite


def test_miller_is_pearsons_over_distinct_predictions():
    y, v = drawn(500, 3, "tied", 1.3)
    inner = (v > 0) & (v < 1)
    y, v = y[inner], v[inner]
    expected = 0.0
    for p in np.unique(v):
        at = v == p
        expected += (y[at].sum() - at.sum() * p) ** 2 / (at.sum() * p * (1 - p))
    mine = miller_test(y, v, random_state=0)
    assert mine.statistic == pytest.approx(expected, rel=1e-12)
    assert mine.asymptotic_pvalue == pytest.approx(chi2.sf(expected, np.unique(v).size), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("run", TESTS)
@pytest.mark.parametrize("kind", PREDICTIONS)
def test_level(run, kind):
    rejected = sum(run(*drawn(40, seed, kind), n_resamples=19, random_state=seed).reject for seed in range(250))
    assert rejected <= 250 * 0.05 + 3.3 * np.sqrt(250 * 0.05 * 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("run", TESTS)
def test_power(run):
    for seed in range(5):
        y, v = drawn(2000, seed)
        sharper = v**2 / (v**2 + (1 - v) ** 2)
        result = run(y, sharper, random_state=0)
        # Pearson's statistic of single rows has no power where no prediction repeats, but here outcomes surprise.
        assert result.reject
        assert 0.0 < result.asymptotic_pvalue < 0.05


@pytest.mark.parametrize("run", TESTS)
def test_certain_predictions(run):
    kept = run([0, 1, 1], [0.0, 1.0, 1.0], random_state=0)
    assert (kept.statistic, kept.pvalue, kept.asymptotic_pvalue, kept.reject) == (0.0, 1.0, 1.0, False)
    broken = run([1, 0, 1], [0.0, 1.0, 1.0], random_state=0)
    assert broken.reject
    assert broken.pvalue == 0.001
    assert math.isinf(broken.statistic)
    assert 0.0 < broken.asymptotic_pvalue < 1e-300


@pytest.mark.parametrize("run", TESTS)
def test_a_prediction_one_step_from_certain_among_certain_ones(run):
    v = np.ones(100)
    v[3] = 1.0 - 2.0**-53
    found = run(np.ones(100), v, random_state=0)
    assert (found.pvalue, found.reject) == (1.0, False)
    assert found.statistic <= 1e-7


def test_a_contradicted_zero_and_a_contradicted_one_do_not_cancel():
    found = hosmer_lemeshow_test([1, 0, 0, 1], [0.0, 1.0, 0.0, 1.0], n_bins=1, random_state=0)
    assert math.isinf(found.statistic)
    assert found.pvalue == 0.001


@pytest.mark.parametrize("run", TESTS)
def test_no_warning_where_a_chance_is_below_what_a_quotient_holds(run, recwarn):
    found = run([1, 0, 0, 1], [1e-310, 5e-324, 0.5, 0.5], random_state=0)
    assert not recwarn.list
    assert found.reject or run is cumulative_calibration_test  # in which one row of four is little
    assert not math.isnan(found.statistic)


@pytest.mark.parametrize("run", TESTS)
def test_one_row(run):
    result = run([1], [0.3], random_state=0)
    assert 0.05 < result.pvalue <= 1.0
    assert math.isfinite(result.statistic)


def test_spiegelhalter_counts_both_sides():
    y, v = drawn(3000, 0)
    softer = 0.5 + 0.5 * (v - 0.5)  # too modest: z far below 0, which a one-sided test calls fine
    result = spiegelhalter_test(y, softer, random_state=0)
    assert result.statistic < -5.0
    assert result.reject


@pytest.mark.parametrize(
    ("y", "v"),
    [
        ([1, 1, 1], [0.2, 0.4, 0.6]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8]),
        ([1, 1, 0], [0.1, 0.2, 0.7]),
        ([0, 1], [0.4, 0.4]),
    ],
)
def test_no_line_is_said_to_fit_where_none_does(y, v):
    result = cox_test(y, v, n_resamples=19, random_state=0)
    assert result.intercept is None
    assert result.slope is None


def test_the_textbooks_hosmer_lemeshow_is_of_single_rows_alone_and_leaves_empty_groups_out():
    y, v = np.tile([0, 1, 1, 0, 1], 20), np.tile([0.2, 0.2, 0.6, 0.6, 0.6], 20)
    plain = hosmer_lemeshow_test(y, v, n_resamples=19, random_state=0)
    by_hand = sum((y[v == p].sum() - p * (n := (v == p).sum())) ** 2 / (n * p * (1 - p)) for p in (0.2, 0.6))
    assert plain.textbook_statistic == pytest.approx(by_hand, rel=1e-12)  # of one value a group both agree
    assert plain.statistic == pytest.approx(by_hand, rel=1e-12)
    assert hosmer_lemeshow_test(y, v, n_bins=2, n_resamples=19, random_state=0).textbook_pvalue is None
    for more in ({"sample_weight": np.linspace(1, 2, 100)}, {"groups": np.arange(100) // 2}, {"trials": np.ones(100)}):
        assert hosmer_lemeshow_test(y, v, **more, n_resamples=19, random_state=0).textbook_statistic is None
    thirds = np.repeat([0.0, 0.25, 0.5], 10)
    wrong = hosmer_lemeshow_test([1, *[0] * 19, *[1] * 10], thirds, n_bins=3, n_resamples=19, random_state=0)
    assert wrong.textbook_statistic == np.inf
    assert hosmer_lemeshow_test([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], n_resamples=19).textbook_statistic == 0.0
