"""What no test can see: the likelihood ratio's second moment, from every sign, and what the paper says of its size."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import InputError
from calibrant_papers.limits import _highest, undetectable_error


def triangle(z, j, m, height):
    width = 0.5 / m
    return height * max(0.0, 1.0 - abs(z - 0.25 - (j + 0.5) * width) / (width / 2.0))


@pytest.mark.parametrize(("n", "m"), [(10, 1), (200, 3), (2_000, 5)])
def test_the_second_moment_over_all_signs_is_within_the_room(n, m):
    """E L^2 from the definition, every set of signs and every integral."""
    room = math.log1p(4 * 0.9**2)
    height = _highest(n, m, 0.25, room)
    c = [
        quad(lambda z: triangle(z, j, m, height) ** 2 / (z * (1 - z)), 0.25 + 0.5 * j / m, 0.25 + 0.5 * (j + 1) / m)[0]  # noqa: B023
        for j in range(m)
    ]
    moment = np.mean([(1.0 + np.dot(signs, c)) ** n for signs in product((-1, 1), repeat=m)])
    assert 1.0 < moment <= 1.0 + 4 * 0.9**2
    if height < 0.25:
        assert moment > 1.9  # not needlessly small


@pytest.mark.parametrize("s", [0.3, 0.5, 1.0])
def test_it_falls_at_the_rate_of_theorem_10_and_curves_are_as_smooth_as_asked(s):
    few, many = undetectable_error(10**3, smoothness=s), undetectable_error(10**6, smoothness=s)
    assert math.log(few / many) / math.log(1000) == pytest.approx(2 * s / (4 * s + 1), abs=0.02)
    m, height = 4, 0.5 * (0.5 / 4) ** s
    rng = np.random.default_rng(0)
    z = np.sort(rng.random(300))
    curve = np.array([sum((-1) ** j * triangle(x, j, m, height) for j in range(m)) for x in z])
    apart, differ = np.abs(z[:, None] - z), np.abs(curve[:, None] - curve)
    assert (differ <= apart**s + 1e-12).all()


def test_continuity_alone_is_not_enough():
    assert undetectable_error(10) == undetectable_error(10**12) > 0.1
    assert undetectable_error(10, smoothness=0.5, holder_constant=1e9) == pytest.approx(undetectable_error(10))
    rough, smooth = (undetectable_error(10_000, smoothness=s) for s in (0.3, 1.0))
    assert smooth < rough < undetectable_error(10_000)
    assert undetectable_error(10_000, smoothness=1.0, power=0.5) < smooth


@pytest.mark.parametrize(
    ("named", "wrong"),
    [
        ("smoothness", 1.5),
        ("smoothness", 0.0),
        ("power", 0.01),
        ("power", 1.0),
        ("holder_constant", 0.0),
        ("level", 0.0),
    ],
)
def test_what_is_refused(named, wrong):
    with pytest.raises(InputError, match=named):
        undetectable_error(100, **{"smoothness": 0.5, named: wrong})
    with pytest.raises(InputError, match="n_rows"):
        undetectable_error(0)
