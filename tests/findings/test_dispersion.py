"""Whether trials of a row vary together, in rows whose pairs are counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.findings import evidence
from calibrant.findings.evidence import varies_together


def rows(pairs, trials):
    """Pairs of rows of so many trials, each at predictions of its own: no two are paired otherwise."""
    events = np.array(pairs).ravel()
    at, count = np.arange(events.size) / events.size, np.full(events.size, trials)
    return SimpleNamespace(y_true=events, y_prob=at, count=count, trials=True, group=None)


@pytest.mark.parametrize(
    ("pairs", "trials", "plain", "varies"),
    [
        # of two trials each: 0 and 2 of 2 events, whose variance is 1/3, are 3 of it, and 1 and 1 are none
        ([(2, 0)] * 4 + [(0, 2)] * 3 + [(1, 1)] * 13, 2, 0.0, True),  # 21 / 20 on average
        ([(2, 0)] * 3 + [(0, 2)] * 3 + [(1, 1)] * 14, 2, 0.0, False),  # 18 / 20
        ([(1, 0)] * 20, 1, 0.0, False),  # of one trial each, one event is 1 of its variance
        ([(2, 0)] * 19, 2, 0.0, False),  # too few pairs
        ([(2, 0)] * 19 + [(0, 0)] * 9 + [(2, 2)] * 9, 2, 0.0, False),  # and those that cannot vary are none
        ([(2, 0)] * 20, 2, 4.0, True),
        ([(2, 0)] * 8 + [(1, 1)] * 12, 2, 4.0, False),  # 1.2 of it, and a standard error of a third
    ],
)
def test_pairs_differ_by_more_than_the_hypergeometric_variance(monkeypatch, pairs, trials, plain, varies):
    monkeypatch.setattr(evidence, "_PLAINLY", plain)
    assert varies_together(rows(pairs, trials)) is varies


@pytest.mark.parametrize("change", [{"trials": None}, {"group": np.zeros(80)}])
def test_rows_without_trials_or_of_groups_are_not_asked(change):
    assert varies_together(rows([(2, 0)] * 40, 2))
    assert not varies_together(SimpleNamespace(**{**vars(rows([(2, 0)] * 40, 2)), **change}))
    assert not varies_together(None)
