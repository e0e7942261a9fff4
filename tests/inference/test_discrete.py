"""Exact binomial tests of each value against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest

from calibrant.door.errors import InputError
from calibrant.inference.testing.discrete import (
    discrete_calibration_test,
    least_pvalues,
    mean_chance_interval,
    mean_chance_pvalues,
    two_sided_pvalues,
)
from tests.oracles import tcal as oracle
from tests.strategies import examples


@examples(300)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 40), st.floats(0, 1)), min_size=1, max_size=6),
    st.sampled_from(["holm", "bonferroni"]),
)
def test_each_value_equals_its_definition(groups, correction):
    groups = {tenth / 10: (n, round(share * n)) for tenth, n, share in groups}
    y_prob = np.concatenate([np.full(n, v) for v, (n, _) in groups.items()])
    y_true = np.concatenate([np.arange(n) < ones for n, ones in groups.values()])
    values = sorted(groups)
    try:
        result = discrete_calibration_test(y_true, y_prob, correction=correction)
    except InputError:
        least = [min(oracle.binomial_pvalue(k, groups[v][0], v) for k in range(groups[v][0] + 1)) for v in values]
        assert min(least) * len(values) > 0.05
        return
    expected = [max(oracle.binomial_pvalue(groups[v][1], groups[v][0], v), 2.3e-308) for v in values]
    assert result.predictions == tuple(values)
    assert result.pvalues == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert result.pvalue == pytest.approx(min(1.0, len(values) * min(expected)), rel=1e-9, abs=1e-300)
    # Step down: the k-th smallest p-value is rejected if it and all before it pass.
    rejected, t = set(), len(values)
    for k, j in enumerate(np.argsort(expected, kind="stable")):
        if expected[j] * (t - k if correction == "holm" else t) > 0.05:
            break
        rejected.add(values[j])
    assert set(result.miscalibrated) == rejected
    assert result.reject == bool(rejected)


@pytest.mark.slow
def test_level_is_kept():
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(1000):
        y_prob = rng.integers(0, 11, 200) / 10
        rejected += discrete_calibration_test(rng.random(200) < y_prob, y_prob).reject
    assert rejected <= binom.ppf(1 - 1e-5, 1000, 0.05)


def test_a_contradicted_certainty_is_rejected_with_a_pvalue_above_zero():
    result = discrete_calibration_test([1, 0, 0, 1], [0.0, 0.0, 0.0, 1.0])
    assert result.reject
    assert 0 < result.pvalue < 1e-300
    assert result.miscalibrated == (0.0,)


def test_too_many_values_are_sent_to_tcal():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="tcal_test"):
        discrete_calibration_test(np.zeros(50), 0.4 + 0.2 * rng.random(50))


@pytest.mark.parametrize("correction", ["holm", "bonferroni"])
def test_rows_that_no_outcome_could_reject_are_refused(correction):
    """Five rows at one half: the likeliest evidence, all ones or all zeros, has both tails, p = 1/16."""
    with pytest.raises(InputError, match="none with rows enough"):
        discrete_calibration_test([1] * 5, [0.5] * 5, correction=correction)
    assert discrete_calibration_test([1] * 6, [0.5] * 6, correction=correction).reject
    y_true, y_prob = [1] * 6 + [1], [0.5] * 6 + [0.4]  # two values: 2 * 2 / 2^6 is above 0.05
    with pytest.raises(InputError, match="none with rows enough"):
        discrete_calibration_test(y_true, y_prob, correction=correction)


@pytest.mark.parametrize("chance", [0.5, 0.5 + 1e-10, 0.5 - 1e-10, 1 / 3, 0.9, 0.01, 1e-300, 5e-324])
def test_least_pvalue_is_the_least_of_all_outcomes(chance):
    for n in (1, 2, 5, 17, 60):
        ones, count = np.arange(n + 1), np.full(n + 1, n)
        least = two_sided_pvalues(ones, count, np.full(n + 1, chance)).min()
        assert least_pvalues(count[:1], np.array([chance]))[0] == pytest.approx(least, rel=1e-12, abs=0.0)


def test_rates_are_refused():
    with pytest.raises(InputError, match=r"row 0 is 0\.5"):
        discrete_calibration_test([0.5, 1.0], [0.5, 0.5])


def test_chances_that_scipy_cannot_take():
    for v in (0.0, 5e-324, 1e-308, 1e-201):
        fine = discrete_calibration_test([0, 0], [v, v])
        assert fine.pvalue == 1.0
        broken = discrete_calibration_test([0, 1], [v, v])
        assert 0.0 < broken.pvalue < 1e-199
        assert broken.reject


@pytest.mark.slow
@examples(500)
@given(
    st.lists(
        st.integers(1, 3000).flatmap(
            lambda n: st.tuples(
                st.integers(0, n),
                st.just(n),
                st.one_of(
                    st.floats(0, 1), st.integers(0, n).map(lambda k: k / n), st.sampled_from([1e-12, 1 - 1e-12, 0.5])
                ),
            )
        ),
        min_size=1,
        max_size=20,
    )
)
def test_pvalues_of_many_values_are_scipys_of_each(cases):
    ones, count, chance = (np.array(column) for column in zip(*cases, strict=True))
    chance = np.where(chance < 1e-200, 0.0, chance)
    expected = [binomtest(int(m), int(n), float(p)).pvalue for m, n, p in zip(ones, count, chance, strict=True)]
    assert two_sided_pvalues(ones, count, chance.astype(float)) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_pvalues_of_a_mean_are_twice_the_binomial_tail_from_a_whole_event_beyond_it():
    """And of one event, or one non-event, twice the expected number; nearer to the mean there is no evidence."""
    cases = [
        (9, 20, 0.2, 2.0 * binom.sf(8, 20, 0.2)),
        (5, 20, 0.2, 2.0 * binom.sf(4, 20, 0.2)),
        (4.9, 20, 0.2, 1.0),
        (4, 20, 0.2, 1.0),
        (1, 20, 0.4, 2.0 * binom.cdf(1, 20, 0.4)),
        (0, 20, 0.2, 2.0 * binom.cdf(0, 20, 0.2)),
        (1, 20, 0.004, 2.0 * 20 * 0.004),
        (19, 20, 0.996, 2.0 * 20 * 0.004),
        (1, 20, 0.04, 1.0),
        (20, 20, 0.6, 2.0 * 0.6**20),
    ]
    ones, count, mean = (np.array(each, float) for each in list(zip(*cases, strict=True))[:3])
    expected = [min(1.0, each[3]) for each in cases]
    assert mean_chance_pvalues(ones, count, mean) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("miss", [0.02, 0.2])
def test_ends_of_a_mean_chance_are_clopper_and_pearsons_or_the_expected_number(miss):
    low, high = mean_chance_interval(np.array([0.0, 1, 2, 9, 10]), np.full(5, 10.0), miss)
    assert low == pytest.approx([0.0, 0.1 * miss, beta.ppf(miss, 2, 9), beta.ppf(miss, 9, 2), miss**0.1])
    assert high == pytest.approx([1.0 - miss**0.1, beta.isf(miss, 2, 9), beta.isf(miss, 3, 8), 1.0 - 0.1 * miss, 1.0])
