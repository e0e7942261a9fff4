"""Rows on which a solver ends nearly anywhere, and whether a finer tolerance ever gave them a wider bracket."""

import math

import numpy as np

from calibrant import lower_calibration_certificate
from tests.strategies import ULPS

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)


def hard_rows(rng):
    """Outcomes, predictions and weights: ties, crowds, ends, neighbours one ulp apart, rates, many orders of weight."""
    n = int(rng.integers(1, 30) if rng.random() < 0.98 else rng.integers(30, 600))
    tiny = 10.0 ** rng.uniform(-320.0, 0.0, n)
    kinds = [
        rng.random(n),
        np.where(rng.random(n) < 0.5, tiny, 1.0 - tiny),
        rng.choice(ULPS, n),
        rng.integers(0, 11, n) / 10,
        0.3 + rng.integers(0, 31, n) * 1e-9,
        rng.beta(0.3, 0.3, n),
    ]
    of_one = rng.integers(0, len(kinds) + 1)
    v = kinds[of_one] if of_one < len(kinds) else np.choose(rng.integers(0, 3, n), [kinds[0], tiny, kinds[2]])
    outcome = rng.integers(0, 3)
    rates = np.clip(v + 0.1 * rng.normal(size=n), 0.0, 1.0)
    y = [(rng.random(n) < v) * 1.0, rng.integers(0, 2, n) * 1.0, rates][outcome]
    weight = [None, 10.0 ** rng.uniform(-8.0, 8.0, n), rng.random(n)][rng.integers(0, 3)]
    return y, v, np.ones(n) if weight is None and outcome == 2 else weight


def wider(y, v, weight):
    """The first tolerance whose bracket is wider than that of a coarser one, in words; "" where there is none."""
    width = math.inf
    for tol in TOLERANCES:
        found = lower_calibration_certificate(y, v, sample_weight=weight, tol=tol)
        if found.width > width:
            return f"tol={tol:g}: {found.width!r} is wider than {width!r}"
        width = found.width
    return ""
