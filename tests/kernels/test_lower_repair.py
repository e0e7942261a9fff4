"""Repaired steps of the lower distance's interior point, against sweeps repeated until nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import lower_calibration_certificate
from calibrant.kernels import lower
from calibrant.measures.lower_check import check_coupling, check_potentials
from tests.strategies import examples


def _lowered_until_nothing_changes(
    u: np.ndarray, s: np.ndarray, z: np.ndarray, after: np.ndarray, change: np.ndarray, mu: float
) -> np.ndarray:
    multiplier = np.maximum(z + np.maximum(change, 0.0), 1e-300)  # the last node has no edge
    least = np.minimum(0.5 * s, 10.0 * mu / multiplier)
    owed = least - after
    lowered = np.maximum(np.zeros((u.size, 2)), owed[:, 4:])
    while True:
        before = lowered.copy()
        for k in range(u.size - 1):
            for b in range(2):
                lowered[k, b] = max(lowered[k, b], lowered[k + 1, b] + owed[k, 2 * b + 1])
                lowered[k + 1, b] = max(lowered[k + 1, b], lowered[k, b] + owed[k, 2 * b])
        if np.array_equal(before, lowered):
            return lowered


@pytest.mark.slow
@examples(200)
@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(-3.0, 2.0), st.floats(-9.0, -1.0))
def test_potentials_are_lowered_by_the_least_that_leaves_every_slack_open(
    n: int, seed: int, size: float, mu: float
) -> None:
    rng = np.random.default_rng(seed)
    u = np.sort(np.append(rng.random(n - 2), [0.0, 1.0]))
    gap = np.append(np.diff(u), 1.0)
    x = np.column_stack([-0.05 - 0.5 * u, -0.05 - 0.5 * (1.0 - u)])
    s, z, _ = lower.start(u, x)
    move = 10.0**size * rng.normal(size=(n, 2)) * rng.choice([0.0, 1e-3, 1.0], size=(n, 1))
    rise = np.vstack([np.diff(move, axis=0), np.zeros((1, 2))])
    step = np.column_stack([rise, (1.0 - u) * move[:, 0] + u * move[:, 1], move])
    dz = z * rng.normal(scale=2.0, size=z.shape)
    primal, dual = rng.random(2)
    lowered = np.empty((n, 2))
    left = lower._repaired(u, s, z, step, dz, primal, dual, 10.0**mu, np.inf, lowered)
    spent = primal * np.column_stack([rise[:, 0], -rise[:, 0], rise[:, 1], -rise[:, 1], step[:, 2]])
    expected = _lowered_until_nothing_changes(u, s, z, s - spent, dual * dz, 10.0**mu)
    np.testing.assert_allclose(lowered, expected, rtol=1e-9, atol=1e-12)
    new = x + primal * move - lowered
    slack = -((1.0 - u) * new[:, 0] + u * new[:, 1])
    assert np.all(slack > 0.0)
    assert np.all(np.abs(np.diff(new, axis=0)) < gap[:-1, None] * (1.0 + 1e-12))
    assert left > 0.0


@pytest.mark.slow
def test_a_draw_whose_steps_are_blocked_gets_its_bracket() -> None:
    rng = np.random.default_rng(3)
    y_prob = rng.random(30_000)
    y_true = (rng.random(30_000) < y_prob).astype(float)
    found = lower_calibration_certificate(y_true, y_prob)
    assert found.converged
    assert check_coupling(found.coupling, y_true, y_prob) == found.upper
    assert check_potentials(found.potentials, y_true, y_prob) == found.lower


@pytest.mark.parametrize("slack", [0.5, 2.0])
def test_a_side_gives_way_by_what_it_lacks_of_the_share_that_is_kept(slack: float) -> None:
    for share in np.linspace(0.0, 1.5, 61):
        lacking = share * slack - (1.0 - lower._KEPT) * slack
        for owed in (0.0, 0.25):
            found = lower._owed(slack, share * slack, 1e-9, 0.0, 1.0, owed)
            assert found == pytest.approx(max(0.0, lacking) if owed == 0.0 else owed + lacking, abs=1e-12)
