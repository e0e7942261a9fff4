"""Strata of the test that a population is unchanged: where they begin."""

import numpy as np

from calibrant.inference.unchanged import _ROWS_A_STRATUM, Counts, _breaks


def test_a_stratum_ends_with_the_cell_that_fills_it_and_where_log_odds_are_too_wide():
    resolution, first = 1024, 2 * 512 + 1
    index = first + 2 * np.arange(8)
    rows = np.array([10.0, 6.0, 15.0, 1.0, 17.0, 3.0, 12.0, 1.0])
    none = np.zeros(8)
    starts = _breaks(Counts(index, rows, none, none, none, none), resolution)
    lines = _breaks(Counts(index[:1], rows[:1], none[:1], none[:1], none[:1], none[:1]), resolution)
    assert np.isin(lines, starts).all()  # those that log-odds draw
    within = [int(each) for each in starts if each in index and each not in lines]
    held, expected = 0.0, []
    for cell, count in zip(index.tolist(), rows.tolist(), strict=True):
        if held >= _ROWS_A_STRATUM or cell in lines:
            expected += [cell] if held >= _ROWS_A_STRATUM and cell not in lines else []
            held = 0.0
        held += count
    assert within == expected
    assert {0, 1, 2 * resolution} <= set(lines.tolist())
    odds = np.log((lines[3:-1] // 2) / resolution) - np.log1p(-(lines[3:-1] // 2) / resolution)
    assert (np.diff(odds) < 0.5).all()
