"""Ranks among redrawn statistics: infinite ones, ties by rounding, several at once."""

import numpy as np

from calibrant.resampling.redraw import pvalue_among, pvalues_among


def test_infinite_statistics_tie():
    drawn = np.array([np.inf, 1.0, np.inf, 2.0])
    assert pvalue_among(np.inf, drawn) == 3 / 5
    assert pvalue_among(np.inf, drawn[[1, 3]]) == 1 / 3
    assert pvalue_among(2.0, drawn) == 4 / 5


def test_what_cannot_be_compared_never_speaks_against_the_predictions():
    assert pvalue_among(np.nan, np.array([0.0, 1.0])) == 1.0
    assert pvalue_among(1.0, np.array([np.nan, 0.0])) == 2 / 3


def test_rounding_does_not_part_equal_statistics():
    assert pvalue_among(0.3, np.array([0.1 + 0.2, 0.3 * (1 - 1e-15), 0.2])) == 3 / 4


def test_several_at_once_are_each_by_itself():
    rng = np.random.default_rng(0)
    drawn, observed = rng.integers(0, 4, (50, 6)).astype(float), rng.integers(0, 4, 6).astype(float)
    drawn[:5, 2] = observed[2] = np.inf
    each = [pvalue_among(o, d) for o, d in zip(observed, drawn.T, strict=True)]
    assert pvalues_among(observed, drawn).tolist() == each
