"""What a gate says of segments, how many more rows it asks for, and what it refuses, each from given bounds."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from calibrant import InputError, Interval
from calibrant.kernels import sketching
from calibrant.segments import gate_bounds
from calibrant.segments.gate_bounds import (
    BoundedSegment,
    BoundedSegments,
    CalledOff,
    OfRows,
    OfSums,
    _not_within,
    _times,
    _with_called_off,
    read_to_bound,
)
from calibrant.segments.request import Search
from calibrant.tables.frames import OpenedFrame


@pytest.mark.parametrize(
    ("size", "beyond", "within", "times"),
    [
        # The farther end is 0.04 off and has 0.01 of room: it must come four times as near.
        (0.01, (-0.05, 0.07), (-0.03, 0.05), 4.0**2),
        (-0.01, (-0.07, 0.05), (-0.05, 0.03), 4.0**2),
        (0.01, (-0.09, 0.07), (-0.07, 0.02), (0.08 / 0.03) ** 2),
        (0.0, (-0.05, 0.05), (-0.04, 0.04), 2.0**2),
        # 0.04 above the nearer end, and 0.03 above the limit.
        (0.05, (0.01, 0.29), (0.02, 0.08), (4.0 / 3.0) ** 2),
        (-0.05, (-0.29, -0.01), (-0.08, -0.02), (4.0 / 3.0) ** 2),
        (0.05, (0.03, 0.07), (0.03, 0.07), 1.1),  # an estimate is no finer
        (0.02, (-0.05, 0.09), (-0.04, 0.08), math.inf),  # no number of rows tells the limit from itself
        (-0.02, (-0.09, 0.05), (-0.08, 0.04), math.inf),
    ],
)
def test_rows_must_grow_as_the_square_of_what_ends_must_come_nearer_by(size, beyond, within, times):
    ends, within = (tuple(np.array([9.0, end]) for end in each) for each in (beyond, within))
    assert _times(np.array([9.0, size]), ends, within, 1, 0.02) == pytest.approx(times)


def segment(name="s = a", low=-0.01, high=0.02, **more):
    return BoundedSegment(name, 100, more.pop("bias", 0.5 * (low + high)), Interval(low, high), **more)


PLAIN = BoundedSegments(
    verdict="none beyond",
    max_distance=0.02,
    level=0.05,
    n_rows=400,
    n_tested=3,
    n_beyond=0,
    beyond=(),
    largest=segment(),
    provable=0.05,
    features=("s", "t"),
    max_depth=2,
)
FAR = tuple(segment(f"s = {k}", 0.05, 0.15) for k in "abcd")


@pytest.mark.parametrize(
    ("change", "begins", "ends"),
    [
        (
            {},
            "none of 3 segments made of s, t, up to 2 at a time, is proved beyond 2 points. At least half",
            "so small that an error below about 5.0 points could not have been proved.",
        ),
        (
            {"max_depth": 1, "provable": 1.0},
            "none of 3 segments made of s, t is proved beyond 2 points. At least half",
            "so small that no error could have been proved.",
        ),
        (
            {"largest": segment(low=0.012, high=0.03), "features": ("s",), "n_tested": 1},
            "none of 1 segment made of s is proved beyond 2 points; the largest mean error that is proved is 1.2 ",
            "could not have been proved.",
        ),
        (
            {"verdict": "beyond", "n_beyond": 1, "beyond": FAR[:1], "together": ("t",)},
            "beyond 2 points: 1 of 3 segments made of s, t, up to 2 at a time, (looked at together: t) is proved so.",
            "is proved so. s = a: predictions are at least 5.0 points too low (100 rows)",
        ),
        (
            {"verdict": "beyond", "n_beyond": 4, "beyond": FAR},
            "beyond 2 points: 4 of 3 segments made of s, t, up to 2 at a time, are proved so. s = a: ",
            "s = c: predictions are at least 5.0 points too low (100 rows); and 1 more",
        ),
        (
            {"verdict": "undecided", "untested": "rows: are too few"},
            "undecided about 2 points: none of 3 segments made of s, t, up to 2 at a time, is proved beyond it, and",
            "it, and none can be tested: rows: are too few",
        ),
        (
            {"verdict": "undecided", "n_undecided": 1, "undecided": (segment(bias=0.015, pvalue=0.001),)},
            "undecided about 2 points: none of 3 segments made of s, t, up to 2 at a time, is proved beyond it, but 1 ",
            "but 1 is off by more than noise and not proved within. s = a: predictions are 1.5 points too low on these "
            "rows (100 rows, p = 0.001)",
        ),
        (
            {"verdict": "undecided", "n_undecided": 2, "undecided": FAR[:2], "few_known": ("s = d",)},
            "undecided about 2 points: none of 3 segments made of s, t, up to 2 at a time, (too few outcomes are known "
            "to look at s = d) is proved",
            "but 2 are off by more than noise and not proved within. s = a: predictions are at least 5.0 points too "
            "low (100 rows); s = b: predictions are at least 5.0 points too low (100 rows)",
        ),
    ],
)
def test_bounds_are_told_in_a_sentence(change, begins, ends):
    said = replace(PLAIN, **change).summary()
    assert said.startswith(begins)
    assert said.endswith(ends)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"low": 0.012, "high": 0.03}, "s = a: predictions are at least 1.2 points too low (100 rows)"),
        ({"low": -0.03, "high": -0.012}, "s = a: predictions are at least 1.2 points too high (100 rows)"),
        (
            {"low": 0.012, "high": 0.03, "pvalue": 0.001},
            "predictions are 2.1 points too low on these rows, at least 1.2 points in the population (100 rows, p = ",
        ),
        ({"low": -0.034, "high": 0.01, "pvalue": 0.001}, "are 1.2 points too high on these rows (100 rows, p = 0.001)"),
        (
            {"low": -0.034, "high": 0.01, "pvalue": 0.001, "in_part": True},
            "predictions are off in a part of their range, on average 1.2 points too high on these rows (100 rows",
        ),
    ],
)
def test_a_bounded_segment_is_told_in_a_clause(given, said):
    assert said in segment(**given).summary()


def source(within, off=(), gate=None, bias=(0.0, 0.015)):
    def called_off(_):
        if off is None:
            raise InputError("groups", "are too few")
        return list(off)

    return SimpleNamespace(
        totals=SimpleNamespace(bias=np.array(bias), count=np.array([400.0, 100.0])),
        n_unknown=np.zeros(2),
        ends=lambda _: tuple(np.array([0.0, end]) for end in within),
        called_off=called_off,
        conditions=lambda i: ("s = a",) if i else (),
        gate=lambda *_: gate,
    )


OFF = CalledOff(1, False, lambda: 0.001)
PART = CalledOff(1, True, lambda: 0.001)
ENDS = np.array([-1.0, -0.05]), np.array([1.0, 0.07])


def gate(verdict, rows_needed):
    return SimpleNamespace(verdict=verdict, rows_needed=rows_needed)


@pytest.mark.parametrize(
    ("within", "off", "judged", "verdict", "rows_needed"),
    [
        ((-0.01, 0.02), None, None, "none beyond", None),  # nothing was tested, and all is within
        ((-0.01, 0.021), None, None, "undecided", None),
        ((-0.021, 0.01), None, None, "undecided", None),
        ((-0.021, 0.03), (), None, "none beyond", None),  # nothing is called off
        ((-0.01, 0.02), (OFF,), None, "none beyond", None),
        ((-0.01, 0.03), (OFF,), None, "undecided", 3600),  # 0.015 off where 0.005 are left: 9 times 400 rows
        ((-0.01, 0.02), (PART,), gate("within", None), "none beyond", None),
        ((-0.01, 0.02), (PART,), gate("undecided", 250), "undecided", 1000),  # of its 100 rows 2.5 times as many
        ((-0.01, 0.02), (PART,), gate("undecided", None), "undecided", None),
        ((-0.01, 0.02), (PART,), None, "undecided", None),
    ],
)
def test_it_is_undecided_where_a_segment_is_called_off_and_not_proved_within(within, off, judged, verdict, rows_needed):
    found = _with_called_off(PLAIN, ENDS, source(within, off, judged), Search(), 0.05)
    assert (found.verdict, found.rows_needed) == (verdict, rows_needed)
    assert found.n_undecided == len(found.undecided) == (verdict == "undecided" and off is not None)
    assert found.untested == ("groups: are too few" if verdict == "undecided" and off is None else None)
    if found.undecided:
        (told,) = found.undecided
        assert (told.name, told.pvalue, told.in_part) == ("s = a", 0.001, off == (PART,))


def test_of_a_mean_that_is_the_limit_no_number_of_rows_is_told():
    found = _with_called_off(PLAIN, ENDS, source((-0.01, 0.03), (OFF,), bias=(0.0, 0.02)), Search(), 0.05)
    assert (found.verdict, found.rows_needed) == ("undecided", None)
    times = _not_within([OFF], ENDS, source((-0.01, 0.03)).ends(0), source((-0.01, 0.03)), 0.02, 0.05)
    assert times == {OFF: pytest.approx(9.0)}


@pytest.mark.parametrize(
    ("names", "search", "said"),
    [
        ({"groups": "g"}, Search(), "groups: cannot be searched by in a table of so many rows"),
        ({"sample_weight": "w"}, Search(), "sample_weight: cannot be searched by in a table of so many rows"),
        ({}, Search(sampling_fractions=(0.5, 1.0)), "sampling_fractions: cannot be searched by in a table of so many"),
    ],
)
def test_sums_by_cell_tell_neither_groups_nor_weights(names, search, said):
    with pytest.raises(InputError, match=said):
        OfSums.read(SimpleNamespace(), names, (), search)


def test_a_table_with_fewer_rows_than_a_segment_is_refused():
    names = {"y_true": "y", "y_prob": "p"}
    table = pa.table({"y": [0, 1] * 5, "p": [0.3, 0.6] * 5, "s": ["a", "b"] * 5})
    with pytest.raises(InputError, match="table: has 10 rows; a segment needs 11"):
        read_to_bound(OpenedFrame(table), names, Search(min_rows=11))
    held = read_to_bound(OpenedFrame(table), names, Search(min_rows=10))
    assert isinstance(held, OfRows)
    assert held.totals.count.tolist() == [10.0]


@pytest.mark.parametrize("n_rows", [60.0, 61.0])
def test_sums_that_leave_rows_out_have_no_gate(n_rows):
    """One row was predicted 0 or 1: cells hold nothing of it."""
    cells = np.zeros((2, sketching.COLUMNS))
    cells[:, [sketching.COUNT, sketching.ONES]] = [[40.0, 10.0], [20.0, 10.0]]
    cells[:, sketching.LOW], cells[:, sketching.HIGH] = [0.25, 0.5], [0.25, 0.5]
    summed = SimpleNamespace(
        starts=[0], ends=[2], index=np.array([32, 64]), cells=cells, totals=SimpleNamespace(count=np.array([n_rows]))
    )
    found = OfSums(summed, [], []).gate(0, 0.5, 0.05)
    assert (found is None) == (n_rows > 60.0)
    if found is not None:
        assert (found.verdict, found.n_rows) == ("within", 60)


@pytest.mark.parametrize(
    ("pvalue", "level", "n_resamples", "drawn"),
    [
        (0.26, 0.05, 999, [199]),  # at least 51 of 199 draws are as extreme, and so 51 of 999: 0.052
        (0.25, 0.05, 999, [199, 999]),
        (0.26, 0.05, 199, [199]),
        (0.26, 0.05, 200, [199]),
        (1.0, 0.00505, 999, [999]),  # of 199 draws none as extreme would be 0.00505 of the redraws' share
        (1.0, 0.00506, 999, [199]),
    ],
)
def test_after_the_first_199_draws_no_others_are_made_that_could_call_nothing_off(
    pvalue, level, n_resamples, drawn, monkeypatch
):
    asked = []

    def searched(_rows, _features, search, _followed):
        asked.append(search.n_resamples)
        return None, SimpleNamespace(chosen=[(0,)], values=[(0,)]), SimpleNamespace(pvalue=np.array([pvalue]))

    monkeypatch.setattr(gate_bounds, "searched", searched)
    held = OfRows(None, [], SimpleNamespace(chosen=[(0,)], values=[(0,)]), None, None)
    assert held.called_off(Search(level=level, n_resamples=n_resamples)) == []
    assert asked == drawn
