"""What no test can see: the likelihood ratio's second moment, from every sign, and what the paper says of its size."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import InputError
from calibrant_papers.limits import Bumps, _highest, _pieces, undetectable_error


def triangle(z, j, m, height):
    width = 0.5 / m
    return height * max(0.0, 1.0 - abs(z - 0.25 - (j + 0.5) * width) / (width / 2.0))


@pytest.mark.parametrize(("n", "m"), [(10, 1), (200, 3), (2_000, 5)])
def test_the_second_moment_over_all_signs_is_within_the_room(n, m):
    """E L^2 from the definition, every set of signs and every integral."""
    room = math.log1p(4 * 0.9**2)
    height = _highest(n, Bumps(2, 1), m, 0.25, room)
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


def test_the_second_moment_of_three_classes_is_within_the_room():
    """E L^2 over all signs of four bumps on the simplex, each integral a sum over a fine grid."""
    n, m, bumps, room = 100, 2, Bumps(3, 2), math.log1p(4 * 0.9**2)
    height = _highest(n, bumps, m, bumps.most, room)
    spline, x = _pieces(2), (np.arange(400) + 0.5) / 400
    each, w = np.array(spline(x - 0.5)), bumps.side / m
    c = []
    for i, j in product(range(m), repeat=2):
        z1, z2 = (1 / 6 + (k + x) * w for k in (i, j))
        inside = height**2 * np.outer(each, each) ** 2 * (1.0 / z1[:, None] + 1.0 / z2)
        c.append(2.0 * w**2 * inside.mean())
    moment = np.mean([(1.0 + np.dot(signs, c)) ** n for signs in product((-1, 1), repeat=m * m)])
    assert 1.0 < moment <= 1.0 + 4 * 0.9**2


def curve_of(bumps, m, signs, z):
    """Bumps of height 1 with signs, at points of shape (n, K - 1)."""
    spline, start = _pieces(bumps.degree), 0.25 if bumps.classes == 2 else 0.5 / bumps.classes
    place = (z - start) / bumps.side * m
    cell = np.clip(np.floor(place), 0, m - 1).astype(int)
    inside = (place >= 0).all(axis=1) & (place <= m).all(axis=1)
    return np.where(inside, np.prod(spline(place - cell - 0.5), axis=1) * signs[tuple(cell.T)], 0.0)


@pytest.mark.parametrize(("classes", "s"), [(2, 0.3), (2, 1.5), (2, 2.0), (3, 0.7), (3, 1.6), (4, 1.0)])
def test_curves_are_as_smooth_as_asked_and_of_the_size_that_is_said(classes, s):
    """Differences of the curve, or of its first partial derivatives, between random points near and far."""
    rng = np.random.default_rng(1)
    bumps, m = Bumps(classes, math.ceil(s)), 3
    signs = rng.choice([-1.0, 1.0], [m] * bumps.axes)
    height = bumps.smooth(m, s)
    start = 0.25 if classes == 2 else 0.5 / classes
    a = start + bumps.side * rng.uniform(-0.1, 1.1, (20_000, bumps.axes))
    b = a + rng.normal(size=a.shape) * bumps.side / m * 10.0 ** rng.uniform(-3, 0, (20_000, 1))
    apart = np.sqrt(((a - b) ** 2).sum(axis=1))
    if s <= 1.0:
        ratio = np.abs(curve_of(bumps, m, signs, a) - curve_of(bumps, m, signs, b)) * height / apart**s
    else:
        h = np.zeros(bumps.axes)
        h[0] = 1e-7
        slopes = [(curve_of(bumps, m, signs, z + h) - curve_of(bumps, m, signs, z - h)) / 2e-7 for z in (a, b)]
        ratio = np.abs(slopes[0] - slopes[1]) * height / apart ** (s - 1.0)
    assert 0.2 < ratio.max() <= 1.0 + 1e-3  # a curve that is needlessly small would prove little
    z = rng.dirichlet(np.ones(classes), 200_000)[:, :-1]
    for p in (0.5, 1.0, 2.0):
        assert np.mean(np.abs(curve_of(bumps, m, signs, z)) ** p) ** (1 / p) == pytest.approx(bumps.size(p), rel=0.1)


@pytest.mark.parametrize(
    ("classes", "s", "n"), [(3, 0.5, 10**8), (3, 1.0, 10**12), (3, 2.0, 10**12), (4, 1.0, 10**12), (2, 3.5, 10**12)]
)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_it_falls_at_the_rate_of_theorem_10_for_any_classes_smoothness_and_norm(classes, s, n, p):
    few, many = (
        undetectable_error(n, smoothness=s, n_classes=classes, norm=p, holder_constant=10.0) for n in (n, 1000 * n)
    )
    assert math.log(few / many) / math.log(1000) == pytest.approx(2 * s / (4 * s + classes - 1), abs=0.03)


def test_continuity_alone_is_not_enough():
    assert undetectable_error(10) == undetectable_error(10**12) > 0.1
    assert undetectable_error(10, smoothness=0.5, holder_constant=1e9) == pytest.approx(undetectable_error(10))
    rough, smooth = (undetectable_error(10_000, smoothness=s) for s in (0.3, 1.0))
    assert smooth < rough < undetectable_error(10_000)
    assert undetectable_error(10_000, smoothness=1.0, power=0.5) < smooth


@pytest.mark.parametrize(
    ("named", "wrong"),
    [
        ("smoothness", 8.5),
        ("n_classes", 1),
        ("n_classes", 11),
        ("norm", 0.0),
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
