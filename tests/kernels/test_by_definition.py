"""Small kernels as Python beside what they say, at their limits as well: nothing is compiled."""

import numpy as np
import pytest

from calibrant.kernels import lower_lift, lowess, regret_units

SEEDS = range(20)


def places(rng):
    """Places in order, some far apart, some an ulp, with counts."""
    n = int(rng.integers(1, 12))
    x = rng.choice([rng.random(n), rng.integers(0, 40, n) / 40, 0.3 + rng.integers(0, 9, n) * 2.0**-54])
    x = np.unique(x)
    return x, rng.integers(1, 4, x.size).astype(float)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bandwidth_is_the_least_that_holds_so_many_rows_or_all(seed):
    rng = np.random.default_rng(seed)
    x, count = places(rng)
    for rows in (0.5, 1.0, 2.0, 4.0, count.sum(), count.sum() + 1.0):
        found = lowess.bandwidths.py_func(x, count, np.arange(x.size), rows)
        for here, width in zip(x, found, strict=True):
            far = np.abs(x - here)
            wide = [each for each in np.sort(far) if count[far <= each].sum() >= rows]
            assert width == (wide[0] if wide else far.max())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("delta", [0.0, 0.1, 2.0])
def test_a_fit_is_at_the_last_place_within_reach_of_the_one_before(seed, delta):
    x, _ = places(np.random.default_rng(seed))
    found = lowess.anchors.py_func(x, delta).tolist()
    expected = [0]
    while expected[-1] + 1 < x.size:
        here = expected[-1]
        near = [j for j in range(here + 1, x.size) if x[j] <= x[here] + delta]
        expected.append(max([here + 1, *near]))
    expected = expected if expected[-1] == x.size - 1 or x.size == 1 else [*expected, x.size - 1]
    assert found == expected


def tricube(x, mass, at, width):
    """Cleveland's weights, as R has them: 1 within a thousandth of the width, 0 beyond all but a thousandth of it."""
    far = np.abs(x - at)
    near = (1.0 - (far / width) ** 3) ** 3 if width > 0.0 else np.ones(x.size)
    near = np.where(far > 0.001 * width, near, 1.0)
    weight = np.where((far <= 0.999 * width) | (far == 0.0), near, 0.0) * mass
    return weight / weight.sum()


@pytest.mark.parametrize("width", [0.0, 0.05, 0.3, 2.0])
def test_weights_of_a_fit_are_the_tricube_turned_to_reproduce_a_line(width):
    at = 0.3
    edges = [at + share * width for share in (0.0009, 0.0011, 0.9985, 0.9995)]  # on both sides of both limits
    x = np.unique([at, *edges, 0.05, 0.27, 0.34, 0.6, 0.95])
    mass = np.linspace(1.0, 2.0, x.size) / 10.0
    found = lowess.local_weights.py_func(x, mass, at, width, 0.9)
    plain = tricube(x, mass, at, width)
    spread = plain @ (x - plain @ x) ** 2
    line = np.sqrt(spread) > 0.001 * 0.9
    expected = plain * (1.0 + (at - plain @ x) / spread * (x - plain @ x)) if line else plain
    assert found == pytest.approx(expected, abs=1e-12)
    assert found.sum() == pytest.approx(1.0)
    assert not line or found @ x == pytest.approx(at)
    for wider, fitted in ((0.75, False), (1.25, True)):  # of nearly one prediction no line is fitted
        near = at + np.array([-1.0, 0.0, 2.0]) * 0.0009 * wider / np.sqrt(14.0 / 9.0)
        flat = lowess.local_weights.py_func(near, np.ones(3), at, 1.0, 0.9)
        assert np.allclose(flat, 1.0 / 3.0, atol=1e-6) == (not fitted)
    assert (lowess.local_weights.py_func(x, np.zeros(x.size), at, width, 0.9) == 0.0).all()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_reached_is_the_largest_number_that_pays_for_itself(seed):
    rng = np.random.default_rng(seed)
    gained, share = rng.uniform(0.0, 1.2), rng.uniform(0.0, 1.0)
    square = rng.uniform(0.0, 1.0)
    cross = rng.uniform(share * square - 0.5, 1.0) / max(share, 1e-9) if seed % 2 else rng.uniform(square, 1.5)
    d = np.linspace(0.0, 1.0, 20_001)
    left = d - share * d * d * square + 2.0 * share * d * cross
    if (np.diff(left) < 0.0).any():  # which no caller has: the left side rises
        return
    found = regret_units.reached.py_func(gained, cross, square, share)
    assert found == pytest.approx(d[left <= gained].max(), abs=1e-4)


def test_nothing_gained_reaches_nothing_and_more_than_all_reaches_all():
    assert regret_units.reached.py_func(-0.1, 0.2, 0.3, 0.5) == 0.0
    assert regret_units.reached.py_func(0.0, 0.2, 0.3, 0.5) == 0.0
    assert regret_units.reached.py_func(9.0, 0.2, 0.3, 0.5) == 1.0  # inside the root is less than 0
    assert regret_units.reached.py_func(1.3, 0.2, 0.0, 0.5) == 1.0
    assert np.isnan(regret_units.reached.py_func(np.nan, 0.2, 0.3, 0.5))


def test_the_largest_violation_in_a_gap_is_that_of_a_fine_grid():
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = np.sort(rng.random(2))
        ends = [(r, r + (b - a) * rng.uniform(-1, 1)) for r in rng.uniform(-0.5, 0.5, 2)]
        grid = np.linspace(a, b, 2001)
        r0, r1 = (np.maximum(at_a - (grid - a), at_b - (b - grid)) for at_a, at_b in ends)
        products = (1 - grid) * r0 + grid * r1
        (a0, b0), (a1, b1) = ends
        worst, where = lower_lift.violation_in_gap.py_func(a, b, a0, a1, b0, b1)
        assert a <= where <= b
        assert products.max() - 1e-12 <= worst <= products.max() + 3 * (b - a) / 2000
