"""Tails of segments: the error is shared over intervals of predictions, and the shares are no more than all of it."""

import itertools
import math

import numpy as np
import pytest

from calibrant.kernels import sketching
from calibrant.segments.evidence import SHARES, Stated, reached_by_noise, segment_tails

RESOLUTION = 8
V = np.array([0.03, 0.2, 0.3, 0.45, 0.6, 0.8, 0.9, 0.99])


def cells_of(v, y, w):
    """One row a cell, each at a number that lies inside its cell."""
    place = np.floor(v * RESOLUTION)
    cells = np.zeros((v.size, sketching.HIGH + 1))
    cells[:, sketching.COUNT], cells[:, sketching.ONES] = 1.0, y
    cells[:, sketching.WEIGHT], cells[:, sketching.OUTCOME], cells[:, sketching.SQUARED] = w, w * y, w * w
    cells[:, sketching.OFFSET] = w * (v * RESOLUTION - place)
    cells[:, sketching.LOW] = cells[:, sketching.HIGH] = v
    return 2 * place.astype(np.int64) + 1, cells


def two_sided(v, ones):
    """Twice the smaller tail of the number of events, by convolution."""
    chance = np.ones(1)
    for each in v:
        chance = np.convolve(chance, [1.0 - each, each])
    return min(1.0, 2.0 * min(chance[: ones + 1].sum(), chance[ones:].sum()))


def expected(v, y, weighted, w):
    """The least of the p-values of 1, 2, 4 and 8 intervals, each times their number and over its share."""
    found = []
    for depth, share in enumerate((0.9, 0.05, 0.03, 0.02)):
        part = np.minimum(np.floor(v * 2**depth), 2**depth - 1)
        for each in np.unique(part):
            here = part == each
            if weighted:
                total = (w * (y - v))[here].sum()
                p = 2.0 * math.exp(-2.0 * total**2 / (w[here] ** 2).sum())
            else:
                p = two_sided(v[here], int(y[here].sum()))
            found.append((p * 2**depth / share, each / 2**depth, 2.0**-depth))
    best = min(found)
    return min(1.0, best[0]), (best[1], best[1] + best[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_pvalue_is_the_least_of_its_intervals_each_with_its_share(weighted):
    rng = np.random.default_rng(3)
    assert math.fsum(SHARES) <= 1.0 + 1e-15
    widths, sides = set(), set()
    for _ in range(40):
        v = np.sort(rng.random(240))
        size = 0.5 ** rng.integers(0, 4)
        off = np.floor(rng.random() / size) * size  # rows are predicted too low or too high in one interval
        y = (rng.random(240) < np.where((v >= off) & (v < off + size), rng.integers(0, 2), v)).astype(float)
        w = rng.uniform(0.5, 2.0, 240) if weighted else np.ones(240)
        pvalue, where, low, _ = segment_tails(*cells_of(v, y, w), np.array([0]), RESOLUTION)
        p, interval = expected(v, y, weighted, w)
        assert pvalue[0] == pytest.approx(p, rel=1e-9)
        if p < 1.0:
            here = (interval[0] <= v) & (interval[1] > v)
            assert where[0] == interval
            assert low[0] == ((w * (y - v))[here].sum() > 0)
            widths.add(interval[1] - interval[0])
            sides.add(bool(low[0]))
    assert len(widths) == 4
    assert len(sides) == 2


def test_no_level_is_exceeded_over_all_outcomes():
    chances, pvalues = [], []
    for outcome in itertools.product([0.0, 1.0], repeat=V.size):
        y = np.array(outcome)
        chances.append(np.where(y == 1.0, V, 1.0 - V).prod())
        pvalues.append(segment_tails(*cells_of(V, y, np.ones(V.size)), np.array([0]), RESOLUTION)[0][0])
    assert sum(chances) == pytest.approx(1.0)
    for level in np.unique(pvalues):
        assert np.array(chances)[np.array(pvalues) <= level].sum() <= level * (1.0 + 1e-9)


def test_segments_are_told_apart_and_what_is_stated_takes_their_place():
    index, cells = cells_of(V, (V > 0.5).astype(float), np.ones(V.size))
    starts = np.array([0, 4])
    pvalue, _, _, (ones, rows) = segment_tails(index, cells, starts, RESOLUTION)
    assert (ones.tolist(), rows.tolist()) == ([0.0, 4.0], [4.0, 4.0])
    alone = [segment_tails(index[at], cells[at], np.array([0]), RESOLUTION)[0][0] for at in (slice(4), slice(4, 8))]
    assert pvalue == pytest.approx(alone, rel=1e-12)
    half = np.full(V.size, 0.5)
    other = segment_tails(index, cells, np.array([0]), RESOLUTION, Stated(half, half, half))[0][0]
    assert other == pytest.approx(min(1.0, two_sided(half, 4) / 0.9), rel=1e-12)


def test_what_noise_reaches_is_where_the_tails_of_all_paths_add_up_to_the_level():
    from scipy.stats import norm

    for deviation in (np.array([1.0]), np.array([0.3, 1.0, 2.0])):
        for level in (0.01, 0.2):
            x = reached_by_noise(deviation, level)
            assert sum(8.0 * norm.sf(x / d) for d in deviation) == pytest.approx(level, rel=1e-8)
