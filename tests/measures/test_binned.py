"""Binned errors against one bin at a time, and at the edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, calibration_bins, expected_calibration_error
from calibrant.measures import binned_calibration_error_bound
from tests.oracles import binned as oracle
from tests.strategies import examples, samples

STRATEGIES = st.sampled_from(["uniform", "quantile", "exact"])


@pytest.mark.slow
@examples(2000)
@given(samples(), st.integers(1, 20), STRATEGIES, st.sampled_from(["l1", "l2", "max"]))
def test_equals_one_bin_at_a_time(sample, n_bins, strategy, norm):
    y_true, y_prob, weight = sample
    value = expected_calibration_error(
        y_true, y_prob, sample_weight=weight, n_bins=n_bins, strategy=strategy, norm=norm
    )
    assert value == pytest.approx(oracle.expected_calibration_error(*sample, n_bins, strategy, norm), abs=1e-9)


@pytest.mark.slow
@examples(1000)
@given(samples(), st.integers(1, 20), STRATEGIES)
def test_bound_equals_one_bin_at_a_time(sample, n_bins, strategy):
    y_true, y_prob, weight = sample
    value = binned_calibration_error_bound(y_true, y_prob, sample_weight=weight, n_bins=n_bins, strategy=strategy)
    assert value == pytest.approx(oracle.binned_calibration_error_bound(*sample, n_bins, strategy), abs=1e-9)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 100])
def test_bins_are_right_closed_and_lose_nothing(n_bins):
    edges = np.linspace(0, 1, n_bins + 1)
    for k, edge in enumerate(edges):
        bins = calibration_bins([1.0], [edge], n_bins=n_bins)
        assert bins.count.tolist() == [1.0]
        assert bins.upper_edge[0] == edges[max(k, 1)]
        if 0 < k < n_bins:
            assert calibration_bins([1.0], [np.nextafter(edge, 1)], n_bins=n_bins).lower_edge[0] == edge


def test_three_tenths_is_decided_by_the_doubles():
    # linspace puts the third of ten edges at 0.30000000000000004: the literal 0.3 lies below it.
    assert calibration_bins([1], [0.3], n_bins=10).upper_edge[0] == np.linspace(0, 1, 11)[3]


def test_quantile_bins_never_split_a_tie():
    bins = calibration_bins([0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.9], n_bins=4, strategy="quantile")
    assert bins.count.tolist() == [4.0, 1.0]
    bins = calibration_bins(np.zeros(1000), np.arange(1000) / 1000, n_bins=10, strategy="quantile")
    assert bins.count.tolist() == [100.0] * 10


@pytest.mark.parametrize("atom", [0.0, 5e-324, 0.01])
def test_an_atom_at_zero_is_a_quantile_bin_like_any_other(atom):
    bins = calibration_bins([0, 0, 1, 0, 1, 1], [atom] * 4 + [0.5, 0.9], n_bins=2, strategy="quantile")
    assert bins.count.tolist() == [4.0, 2.0]
    assert bins.lower_edge.tolist() == [0.0, atom]
    assert bins.upper_edge.tolist() == [atom, 1.0]


@examples(1000)
@given(samples(), st.integers(1, 20), STRATEGIES)
def test_means_stay_within_their_range(sample, n_bins, strategy):
    y_true, y_prob, weight = sample
    bins = calibration_bins(y_true, y_prob, sample_weight=weight, n_bins=n_bins, strategy=strategy)
    held = bins.mass > 0
    assert (np.isnan(bins.outcome) == ~held).all()
    assert (bins.first <= bins.last).all()
    assert (bins.first <= bins.prediction)[held].all()
    assert (bins.prediction <= bins.last)[held].all()
    assert (bins.outcome[held] >= 0).all()
    assert (bins.outcome[held] <= 1).all()
    if (y_true == 1).all():
        assert (bins.outcome[held] == 1).all()
    assert bins.count.sum() == y_prob.size
    assert bins.mass.sum() == pytest.approx(1.0, abs=1e-12)
    expected = (bins.mass * (bins.outcome - bins.prediction))[held]
    np.testing.assert_allclose(bins.residual[held], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bins": 0}, "n_bins: is 0"),
        ({"n_bins": 2.5}, "n_bins: is 2.5"),
        ({"n_bins": True}, "n_bins: is True"),
        ({"strategy": "equal"}, "strategy: is 'equal'; it must be one of 'uniform'"),
        ({"norm": "l3"}, "norm: is 'l3'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        expected_calibration_error([0, 1], [0.2, 0.3], **parameters)
