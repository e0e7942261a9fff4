"""A step of the lower distance's interior point, against the whole matrix solved at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels import lower
from tests.strategies import examples

PROXIMAL = 1e-13


def _sides(u: np.ndarray) -> np.ndarray:
    """What each slack (K, 5) loses by a move (r0(0), r1(0), r0(1), ...): all of them below each other."""
    n = u.size
    rows = np.zeros((n, 5, n, 2))
    for k in range(n):
        rows[k, 4, k] = 1.0 - u[k], u[k]
        if k + 1 < n:
            for b in range(2):
                rows[k, 2 * b, k + 1, b] = rows[k, 2 * b + 1, k, b] = 1.0
                rows[k, 2 * b, k, b] = rows[k, 2 * b + 1, k + 1, b] = -1.0
    return rows.reshape(5 * n, 2 * n)


@pytest.mark.slow
@examples(300)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.floats(-2.0, 0.0), st.booleans())
def test_a_step_is_that_of_the_whole_matrix(n: int, seed: int, spread: float, next_to_an_end: bool) -> None:
    rng = np.random.default_rng(seed)
    places = rng.random(n - 2) * (1e-9 if next_to_an_end else 1.0)
    u = np.sort(np.append(np.where(rng.random(n - 2) < 0.5, places, 1.0 - places), [0.0, 1.0]))
    p, q = rng.random((2, n)) * rng.choice([0.0, 1.0], size=(2, n), p=[0.2, 0.8])
    s = 10.0 ** rng.uniform(spread, 0.0, (n, 5))
    z = 10.0 ** rng.uniform(spread, 0.0, (n, 5))
    z[-1, :4] = 0.0
    inverse = 1.0 / s
    dz, factor, y, predicted, step, dx, _, _ = lower.room(n)
    sides = _sides(u)
    matrix = sides.T @ ((z * inverse).ravel()[:, None] * sides) + PROXIMAL * np.eye(2 * n)
    used = np.ones((n, 5), dtype=bool)
    used[-1, :4] = False

    ends = lower.eliminate(u, p, q, z, inverse, PROXIMAL, factor, y)
    lower.substitute(factor, y, predicted, dx)
    most, least, once, twice = lower.predict(u, p, q, z, inverse, PROXIMAL, predicted, dx)
    earned = np.column_stack([p, q]).ravel()
    move = np.linalg.solve(matrix, earned)
    np.testing.assert_allclose(dx.ravel(), move, rtol=1e-7, atol=1e-7 * np.abs(move).max())
    w = (sides @ move).reshape(n, 5) * inverse * used
    assert (most, least) == pytest.approx((max(1.0, w.max()), min(0.0, w.min())), rel=1e-6, abs=1e-6)
    assert once == pytest.approx(np.sum(s * z * w), rel=1e-6, abs=1e-6)
    assert twice == pytest.approx(np.sum(s * z * w * w), rel=1e-6, abs=1e-6)

    centre = 0.1 * rng.random()
    lower.correct(u, p, q, z, inverse, predicted, centre, factor, ends, y)
    lower.substitute(factor, y, step, dx)
    taken, given_up = lower.change(u, p, q, z, inverse, PROXIMAL, centre, predicted, step, dx, dz)
    aim = (centre * inverse - z * w * (1.0 - w)) * used
    move = np.linalg.solve(matrix, earned - sides.T @ aim.ravel())
    np.testing.assert_allclose(dx.ravel(), move, rtol=1e-6, atol=1e-6 * np.abs(move).max())
    part = (sides @ move).reshape(n, 5) * inverse * used
    change = (centre * inverse + z * (part - 1.0 - w * (1.0 - w))) * used
    size = np.abs(change).max()
    np.testing.assert_allclose(dz[used], change[used], rtol=1e-5, atol=1e-6 * size)
    assert taken == pytest.approx(max(0.0, part.max()), rel=1e-5, abs=1e-6)
    assert given_up == pytest.approx(max(0.0, np.max(-change[used] / z[used])), rel=1e-5, abs=1e-6 * size)
