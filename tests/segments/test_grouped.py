"""Segments and periods of rows in groups: against sums that are written out, and every outcome that there can be."""

import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calibrant import InputError, calibration_by_segment, calibration_drift
from calibrant.inference.testing import group_evidence as evidence
from calibrant.segments.by_column import _by_signs
from calibrant_papers.calibration_levels import _MEANS, _in_groups


def evalues(y, v, group):
    """As `log_evalues` of the rows as a whole, group by group."""
    sums = np.array([np.sum((y - v)[group == g]) for g in np.unique(group)])
    found = []
    for sign, weight in ((1.0, v), (-1.0, 1.0 - v)):
        most = max(np.sum(weight[group == g]) for g in np.unique(group))
        z, spread = sign * sums / most, np.sum(v * (1.0 - v)) / most**2
        x = [min(0.9, math.sqrt(10.0 / spread) * 2.0**k) for k in range(-2, 3)]
        found.append(np.mean([np.exp(np.sum(a * z + (math.log1p(-a) + a) * z**2)) for a in x]))
    return found


@pytest.mark.parametrize("impossible", [False, True])
def test_an_event_that_was_impossible_says_which_way_predictions_err(impossible):
    """Whatever the other outcomes say."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 1000)
    y = (rng.random(1000) < p - 0.15).astype(int)
    if impossible:
        p[0], y[0] = 0.0, 1
    table = pa.table({"y": y, "p": p, "s": ["a"] * 1000, "g": np.arange(1000) // 5})
    (segment,) = calibration_by_segment(table, y_true="y", y_prob="p", by=["s"], groups="g")
    assert segment.direction == ("too low" if impossible else "too high")
    assert segment.where == (0.0, 1.0)


def measured(y, v, group):
    sums, low, high = (np.bincount(group, each) for each in (y - v, v, 1.0 - v))
    columns = (sums.sum(), (sums**2).sum(), low.max(), high.max(), (v * (1.0 - v)).sum())
    return [float(np.exp(side)[0]) for side in evidence.log_evalues(*(np.array([each]) for each in columns))]


def test_evalues_are_those_of_the_groups_written_out():
    rng = np.random.default_rng(0)
    for _ in range(20):
        group, v = rng.integers(0, 6, 30), rng.beta(0.4, 0.9, 30)
        group = np.unique(group, return_inverse=True)[1]
        y = (rng.random(30) < v).astype(float)
        assert measured(y, v, group) == pytest.approx(evalues(y, v, group), rel=1e-9)


def test_no_dependence_within_groups_makes_evidence_of_chance():
    """The mean over all outcomes is at most 1, rows of a group being as alike, or as unlike, as they can be."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(5), 2)
    for _ in range(5):
        first = rng.beta(0.5, 2.0, 5)
        for second in (first, 1.0 - first):  # both rows have one event, or exactly one of them has it
            v = np.column_stack([first, second]).ravel()
            means = np.zeros(2)
            for happens in itertools.product([0.0, 1.0], repeat=5):
                happens = np.array(happens)
                other = happens if second is first else 1.0 - happens
                y = np.column_stack([happens, other]).ravel()
                chance = np.prod(np.where(happens == 1.0, first, 1.0 - first))
                means += chance * np.array(measured(y, v, group))
            assert means.max() <= 1.0 + 1e-9


def test_random_signs_by_hand():
    """Of few groups the p-value is near the share of all signs with a sum as large."""
    sums = np.zeros((8, evidence.N_INTERVALS))
    sums[:, 0] = [3.0, 2.0, 2.5, 1.0, -0.5, 2.0, 1.5, 2.2]
    length = np.zeros(evidence.N_INTERVALS)
    length[0] = 4.0
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=8))) @ sums[:, 0]
    share = np.mean(np.abs(every) >= abs(sums[:, 0].sum()) - 1e-9)
    pvalue, interval = _by_signs(sums, length, 999)
    assert interval == 0
    assert pvalue == pytest.approx(share, abs=4.0 * math.sqrt(share / 999))
    assert _by_signs(np.zeros_like(sums), length, 999)[0] == 1.0


def table(rng, groups=60, size=6, **more):
    group = np.repeat(np.arange(groups), size)
    v = rng.random(groups)[group]
    y = (rng.random(groups)[group] < v) * 1  # one outcome a group
    return {"y": y, "p": v, "g": [f"g{k}" for k in group], "s": group % 3, "day": np.arange(group.size) // 60, **more}


NAMES = {"y_true": "y", "y_prob": "p"}


@pytest.mark.slow
def test_segments_that_are_chance_by_group():
    rejected = as_rows = 0
    for seed in range(8):
        frame = pa.table(table(np.random.default_rng(seed)))
        found = calibration_by_segment(frame, by=["s"], groups="g", **NAMES)
        rejected += any(segment.reject for segment in found)
        as_rows += any(segment.reject for segment in calibration_by_segment(frame, by=["s"], **NAMES))
        assert all(segment.n_groups == 20 for segment in found)
    assert rejected <= 2 < 6 <= as_rows


def test_segments_and_periods_that_err_are_found():
    rng = np.random.default_rng(0)
    y, v, group = _in_groups(rng, 200, 10, 0.3, _MEANS["uniform"])
    part = rng.integers(0, 2, 2000)
    frame = pa.table({"y": y, "p": np.where(part == 1, v**2.5, v), "g": group, "s": part})
    first, second = calibration_by_segment(frame, by=["s"], groups="g", **NAMES)
    assert (first.key, first.reject, first.direction) == ((1,), True, "too low")
    assert not second.reject
    assert first.qvalue == pytest.approx(min(1.0, first.pvalue * 2 * 1.5))  # Benjamini and Yekutieli, of two
    assert first.bias_interval.low < first.bias < first.bias_interval.high
    before, after = calibration_drift(frame, by="s", groups="g", **NAMES)
    assert not before.reading.reject
    assert after.reading.reject
    assert "too low" in after.reading.alternative


@pytest.mark.slow
def test_evidence_over_time_never_falls_and_is_none_of_chance():
    alarms = 0
    for seed in range(8):
        found = calibration_drift(pa.table(table(np.random.default_rng(seed))), by="day", groups="g", **NAMES)
        evidence_so_far = [period.reading.evalue for period in found]
        assert evidence_so_far == sorted(evidence_so_far)
        assert found[-1].reading.pvalue == pytest.approx(min(1.0, 1.0 / evidence_so_far[-1]))
        assert (found[-1].n_groups, found[-1].reading.n_batches) == (10, 6)
        alarms += found[-1].reading.reject
    assert alarms <= 2


def test_what_cannot_be_is_proof_in_groups_too():
    columns = {"y": [1, 0, 0, 1] * 5, "p": [0.0, 0.3, 0.2, 0.6] * 5, "g": np.arange(20) // 4, "s": [1] * 20}
    frame = pa.table(columns)
    (segment,) = calibration_by_segment(frame, by=["s"], groups="g", **NAMES)
    assert segment.pvalue < 1e-300
    (period,) = calibration_drift(frame, by="s", groups="g", **NAMES)
    assert math.isinf(period.reading.evalue)
    assert period.reading.reject


def test_what_is_refused():
    frame = pa.table(table(np.random.default_rng(0)))
    for function, by in ((calibration_by_segment, ["s"]), (calibration_drift, "s")):
        with pytest.raises(InputError, match="groups: there is no column 'nobody'"):
            function(frame, by=by, groups="nobody", **NAMES)
        null = frame.set_column(2, "g", pa.array([None, *["a"] * 359]))
        with pytest.raises(InputError, match="groups: 1 row is null or NaN"):
            function(null, by=by, groups="g", **NAMES)
        kept = function(null, by=by, groups="g", exclude_bad=True, **NAMES)
        assert sum(each.n_rows for each in kept) == 359


def test_rows_of_one_cell_in_several_groups_are_told_apart():
    """Weights and event rates go with groups; the distances are those of the rows, whatever the groups."""
    rng = np.random.default_rng(0)
    frame = pa.table(table(rng, w=rng.integers(1, 4, 360).astype(float)))
    grouped = calibration_by_segment(frame, by=["s"], groups="g", sample_weight="w", **NAMES)
    free = {"sample_weight": "w", "outcome_free_weights": True, **NAMES}
    plain = {each.key: each for each in calibration_by_segment(frame, by=["s"], **free)}
    for each in grouped:
        other = plain[each.key]
        assert each.lower_distance_bracket.lower == pytest.approx(other.lower_distance_bracket.lower, abs=1e-12)
        assert (each.n_rows, each.bias) == (other.n_rows, pytest.approx(other.bias))
        assert each.bias_interval.width > other.bias_interval.width
    rates = frame.set_column(0, "y", pa.array(rng.random(360)))
    assert all(
        each.pvalue is None for each in calibration_by_segment(rates, by=["s"], groups="g", sample_weight="w", **NAMES)
    )


def test_one_bad_segment_among_many_is_found():
    """The smallest p-value by 999 signs, adjusted for 40 segments, would be above the level."""
    rng = np.random.default_rng(0)
    groups = 2_000
    segment = np.repeat(np.arange(groups) % 40, 4)
    p = rng.uniform(0.2, 0.8, segment.size)
    y = rng.random(segment.size) < np.where(segment == 7, p - 0.19, p)
    rows = pd.DataFrame({"y": y.astype(int), "p": p, "s": segment, "g": np.repeat(np.arange(groups), 4)})
    found = calibration_by_segment(rows, y_true="y", y_prob="p", by=["s"], groups="g")
    assert [each.key[0] for each in found if each.reject] == [7]


@pytest.mark.parametrize(("shift", "days", "at"), [(-0.2, 1, 9), (-0.1, 8, 10)])
def test_a_change_after_calm_days_is_seen_as_soon_as_it_shows(shift, days, at):
    """The day alone, and the days since each change of stretches, are looked at besides all days together."""
    rng = np.random.default_rng(0)
    shifts = np.repeat([0.0] * 9 + [shift] * days, 400)
    p = rng.uniform(0.3, 0.7, shifts.size)
    table = pa.table(
        {
            "y": (rng.random(p.size) < p + shifts).astype(int),
            "p": p,
            "day": np.arange(p.size) // 400,
            "g": np.arange(p.size) % 400 // 2,
        }
    )
    found = calibration_drift(table, y_true="y", y_prob="p", by="day", groups="g")
    assert not any(each.reading.reject for each in found[:9])
    assert found[at].reading.reject
    assert "too high" in found[at].reading.alternative
