"""Moments and evidence of segments against sums over every outcome that there is."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from calibrant.kernels import excursions as kernel

PREDICTION = np.array([0.2, 0.55, 0.9, 0.07])
COUNT = np.array([1.0, 3.0, 2.0, 1.0])
WEIGHT = np.array([1.0, 0.4, 2.5, 0.7])
SEGMENTS = [(0, 1, 2, 3), (1, 3), (2,)]
ORDER = np.array([unit for segment in SEGMENTS for unit in segment], np.int32)
ENDS = np.array([[0, 4], [4, 6], [6, 7]])


def test_cumulants_are_the_central_moments_of_the_events_weighed():
    second, third = kernel.cumulants(PREDICTION, COUNT, WEIGHT, ORDER, ENDS)
    for s, units in enumerate(SEGMENTS):
        moments = np.zeros(4)
        for events in itertools.product(*(range(int(COUNT[i]) + 1) for i in units)):
            chance = math.prod(binom.pmf(e, COUNT[i], PREDICTION[i]) for e, i in zip(events, units, strict=True))
            off = sum(WEIGHT[i] * (e - COUNT[i] * PREDICTION[i]) for e, i in zip(events, units, strict=True))
            moments += chance * off ** np.arange(4.0)
        assert moments[:2] == pytest.approx([1.0, 0.0], abs=1e-12)
        assert (second[s], third[s]) == pytest.approx(tuple(moments[2:]), rel=1e-12)


@pytest.mark.parametrize(("x", "second", "third"), [(3.0, 2.0, 0.7), (0.4, 2.0, 5.0), (-2.0, 0.3, -1.0)])
def test_evidence_on_the_longer_tail_is_chernoffs_of_a_shifted_poisson_variable(x, second, third):
    step = third / second
    rate = second / step**2

    def exponent(t):
        return rate * (math.expm1(t * step) - t * step) - t * x

    ends = (0.0, 20.0 / step) if x > 0 else (20.0 / step, 0.0)
    least = minimize_scalar(exponent, bounds=ends, method="bounded", options={"xatol": 1e-10}).fun
    assert kernel.squared_evidence(x, second, third) == pytest.approx(-2.0 * least, rel=1e-8)


def test_evidence_on_the_other_side_is_bernsteins_and_both_meet():
    for x, second, third in [(2.0, 1.5, -0.4), (-2.0, 1.5, 0.3), (1.0, 1.0, 0.0), (-9.0, 2.0, 0.4)]:
        assert x * third >= -(second**2)
        expected = x * x / (second + x * third / second / 3.0)
        assert kernel.squared_evidence(x, second, third) == pytest.approx(expected, rel=1e-14)
    assert kernel.squared_evidence(5.0, 1.0, -2.0) == pytest.approx(25.0 / (2.0 / 3.0), rel=1e-14)  # it grows on
    near, far = (kernel.squared_evidence(1.0, 1.0, third) for third in (0.001, 0.001 + 1e-12))
    assert near == pytest.approx(far, rel=1e-6)
    assert kernel.squared_evidence(3.0, 0.0, 0.0) == 0.0


def test_scores_are_the_larger_evidence_less_what_is_taken_off():
    rng = np.random.default_rng(0)
    found = rng.normal(0.0, 2.0, (20, 3, 2))
    second, third, handicap = rng.uniform(0.2, 2.0, 20), rng.normal(0.0, 0.3, 20), rng.random(20)
    out = np.empty((20, 2))
    kernel.scores(found, second, third, handicap, 1.5, out)
    assert len({evidence_kind(found[s, :, r], second[s], third[s]) for s in range(20) for r in range(2)}) == 3
    for s, r in itertools.product(range(20), range(2)):
        total, rise, fall = (kernel.squared_evidence(x, second[s], third[s]) for x in found[s, :, r])
        assert out[s, r] == max(total, rise - 1.5, fall - 1.5) - handicap[s]


def evidence_kind(values, second, third):
    total, rise, fall = (kernel.squared_evidence(x, second, third) for x in values)
    return int(np.argmax([total, rise - 1.5, fall - 1.5]))
