"""Resampling tests on errors: level, power, and what must not matter."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import norm

from calibrant import (
    InputError,
    kernel_calibration_error,
    kernel_calibration_test,
    smooth_calibration_error,
    smooth_calibration_test,
)
from calibrant.inference import averaged_two_bin_test
from calibrant.inference.testing import distance
from calibrant.measures import squared_averaged_two_bin_error

TESTS = [
    (smooth_calibration_test, smooth_calibration_error),
    (kernel_calibration_test, kernel_calibration_error),
    (averaged_two_bin_test, partial(squared_averaged_two_bin_error, debiased=True)),
]
RUNS = [run for run, _ in TESTS]


def drawn(n, bend, seed, ties=False):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    if ties:
        y_prob = np.round(y_prob, 1)
    return (rng.random(n) < y_prob**bend).astype(float), y_prob


@pytest.mark.parametrize(("run", "error"), TESTS)
def test_the_statistic_is_the_error(run, error):
    y_true, y_prob = drawn(300, 1.3, 0, ties=True)
    assert run(y_true, y_prob, random_state=0).statistic == pytest.approx(error(y_true, y_prob), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("ties", [False, True])
def test_level(run, ties):
    rejected = sum(run(*drawn(60, 1.0, seed, ties), n_resamples=19, random_state=seed).reject for seed in range(250))
    assert rejected <= 250 * 0.05 + 3.3 * np.sqrt(250 * 0.05 * 0.95)
    assert rejected > 0


@pytest.mark.parametrize("run", RUNS)
def test_power(run):
    assert all(run(*drawn(500, 2.0, seed), n_resamples=199, random_state=0).reject for seed in range(10))


@pytest.mark.parametrize("run", RUNS)
def test_order_and_seed(run):
    y_true, y_prob = drawn(200, 1.2, 1, ties=True)
    order = np.random.default_rng(0).permutation(200)
    first = run(y_true, y_prob, random_state=5)
    second = run(y_true[order], y_prob[order], random_state=5)
    assert first.pvalue == second.pvalue
    assert first.pvalue > 0.0


@pytest.mark.parametrize("run", RUNS)
def test_what_is_refused(run):
    with pytest.raises(InputError, match="n_resamples: is 5"):
        run([0, 1], [0.2, 0.8], n_resamples=5)
    with pytest.raises(InputError, match=r"row 0 is 0\.5"):
        run([0.5, 1], [0.2, 0.8])
    with pytest.raises(InputError, match="level"):
        run([0, 1], [0.2, 0.8], level=1.0)


def test_certain_predictions_contradicted():
    assert smooth_calibration_test([0, 1], [1.0, 0.0], random_state=0).pvalue == 0.001


def test_one_row_has_no_pair():
    with pytest.raises(InputError, match="y_true: has 1 row"):
        averaged_two_bin_test([1], [0.3])


TAILS = {
    # The mean and the mean square of the most |B|, and of the range, of Brownian motion on [0, 1] (Feller 1951).
    distance._maximum_tail: (np.sqrt(np.pi / 2.0), 2.0 * 0.915965594177219),
    distance._range_tail: (np.sqrt(8.0 / np.pi), 4.0 * np.log(2.0)),
}


@pytest.mark.parametrize("tail", TAILS)
def test_the_tails_of_brownian_motion_have_their_known_moments(tail):
    at = np.linspace(0.0, 12.0, 601)
    chance = np.array([tail(x) for x in at.tolist()])
    assert (np.diff(chance) <= 1e-13).all()
    assert chance[0] == 1.0
    assert chance[-1] < 1e-30
    mean, square = (simpson(each * chance, x=at) for each in (1.0, 2.0 * at))
    assert (mean, square) == pytest.approx(TAILS[tail], rel=1e-9)
    with np.errstate(all="raise", under="ignore"):
        assert [tail(x) for x in (0.0, 1e-300, 1e-9)] == [1.0] * 3


def test_a_tail_of_few_standard_deviations_is_that_of_the_normal_law():
    """Far out the most is beyond x with 2 and the range with 4 of the normal law's tails on both sides."""
    for x in (4.0, 6.0, 10.0):
        both = 2.0 * norm.sf(x)
        assert distance._maximum_tail(x) == pytest.approx(2.0 * both, rel=1e-9, abs=0.0)
        assert distance._range_tail(x) == pytest.approx(4.0 * both, rel=1e-9, abs=0.0)
