"""Rows counted into cells, many at once, against sums in fractions, one row after the other."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels import counting
from tests.strategies import examples

RESOLUTION = 16


def by_hand(y, v, segment, n_segments):
    """Cells by segment and number: rows, ones, offsets of all and of the ones, ends; and bad rows by their faults."""
    cells, faults = {}, [0] * 7
    for outcome, prediction, of in zip(y.tolist(), v.tolist(), segment.tolist(), strict=True):
        wrong_v = prediction != prediction or not 0.0 <= prediction <= 1.0
        if outcome != outcome or not 0.0 <= outcome <= 1.0:
            faults[1 if outcome != outcome else 2] += 1
        elif wrong_v:
            faults[3 if prediction != prediction else 4] += 1
        elif 0 <= of < n_segments:
            scaled = Fraction(prediction) * RESOLUTION
            k = int(scaled)
            cell = cells.setdefault((of, 2 * k + (scaled > k)), [0, 0, Fraction(0), Fraction(0), [], []])
            cell[0] += 1
            cell[1] += outcome == 1.0
            cell[2] += scaled - k
            cell[3] += (scaled - k) * int(outcome)
            cell[4].append(prediction)
    return cells, faults


@examples(300)
@given(
    n=st.integers(0, 700),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["spread", "one cell", "grid", "ends"]),
    bad=st.sampled_from([0.0, 0.01, 0.5]),
    several=st.booleans(),
)
def test_cells_have_the_sums_of_their_rows(n, seed, kind, bad, several):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    if kind == "one cell":
        v = 0.5 + 0.001 * v
    elif kind == "grid":
        v = np.round(v * 4 * RESOLUTION) / (4 * RESOLUTION)
    elif kind == "ends":
        v = rng.choice([0.0, -0.0, 5e-324, 1.0, np.nextafter(1.0, 0.0), 0.5, np.nextafter(0.5, 0.0)], n)
    y = (rng.random(n) < 0.3).astype(float)
    for column in (y, v):
        wrong = rng.random(n) < bad
        column[wrong] = rng.choice([np.nan, -1e-9, 1.0 + 1e-9, np.inf, -np.inf], wrong.sum())
    segment = rng.integers(-1, 3, n).astype(np.int32) if several else np.empty(0, np.int32)
    n_segments = 3 if several else 1
    tables, faults = counting.new_tables(n_segments, RESOLUTION), np.zeros(7, np.int64)
    assert counting.count_rows(y, v, v.view(np.uint64), segment, RESOLUTION, *tables, faults) == -1
    expected, faulty = by_hand(y, v, segment if several else np.zeros(n, int), n_segments)
    assert faults.tolist() == faulty
    m = counting.count_cells(tables[0])
    assert m == len(expected)
    of, number, sums, ends = np.empty(m, np.int64), np.empty(m, np.int64), np.empty((m, 4)), np.empty((m, 2), np.uint64)
    counting.read_cells(*tables, RESOLUTION, of, number, sums, ends)
    assert list(zip(of.tolist(), number.tolist(), strict=True)) == sorted(expected)
    for key, (count, ones, offset, of_ones), (low, high) in zip(
        sorted(expected), sums.tolist(), ends.view(np.float64).tolist(), strict=True
    ):
        rows = expected[key]
        assert (count, ones, low, high) == (rows[0], rows[1], min(rows[4]), max(rows[4]))
        assert abs(offset - rows[2]) <= 2.0**-52 * rows[0]
        assert abs(of_ones - rows[3]) <= 2.0**-52 * rows[0]


@given(st.integers(0, 600), st.floats(0.0, 1.0, exclude_min=True, exclude_max=True))
def test_the_first_rate_is_named(at, rate):
    y, v = np.zeros(601), np.full(601, 0.25)
    y[at:] = rate
    tables = counting.new_tables(1, RESOLUTION)
    nowhere = np.empty(0, np.int32)
    assert counting.count_rows(y, v, v.view(np.uint64), nowhere, RESOLUTION, *tables, np.zeros(7, np.int64)) == at
