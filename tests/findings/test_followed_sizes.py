"""Rows without a known outcome at a horizon: segments, groups and what to collect are counted with them."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calibrant import audit_table, calibration_test, censored_outcomes
from calibrant.door.request import Listener
from calibrant.door.rows import Rows
from calibrant.findings.comparison import compare
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.inference import regret_bounds
from calibrant.segments.candidates import FollowedRows, form, units_of
from calibrant.segments.features import Feature
from calibrant.tables.frames import OpenedFrame

HORIZON = {"time": "t", "event": "e", "horizon": 1.0, "y_prob": "p"}
FEW = {"n_resamples": 99, "random_state": 0}


def followed(seed=0, n=2_000, per_group=2):
    """Rows in groups, of kinds that leave early; of "lost" nothing is known, of "rare" of fewer than 50 rows."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-0.5, 1.0, n))
    kind = rng.choice(["usual", "early", "rare", "lost"], n, p=[0.6, 0.3, 0.05, 0.05])
    stay = pd.Series(kind).map({"usual": 2.0, "early": 0.7, "rare": 0.4, "lost": 1e-9}).to_numpy()
    came, left = np.log(rng.random(n)) / np.log1p(-p), rng.exponential(stay)
    columns = {"p": p, "t": np.minimum(came, left), "e": (came <= left) * 1}
    return pd.DataFrame(columns | {"kind": kind, "pid": np.arange(n) // per_group})


def known_in(frame):
    return frame.t.ge(1.0) | frame.e.eq(1)


def gated(frame, **more):
    return check_opened(OpenedFrame(frame), GateRequest(**HORIZON, **more), Listener())


@pytest.mark.slow
def test_segments_by_name_and_by_search_have_all_rows_that_were_followed():
    # "c (62 rows)" of 606: kinds with fewer than 50 known rows were put together, those without any left out unsaid.
    frame = followed()
    known, found = known_in(frame), audit_table(frame, **HORIZON, by="kind", find="kind", **FEW)
    sizes, n_known = frame.kind.value_counts(), frame.kind[known].value_counts()
    assert n_known["rare"] < 50 < sizes["rare"]
    named = {each.key[0]: (each.n_rows, each.n_unknown) for each in found.segments}
    assert named == {kind: (n_known[kind], sizes[kind] - n_known[kind]) for kind in ("usual", "early", "rare")}
    assert found.weightless_segments == (f"kind = lost ({sizes['lost']} rows)",)
    assert "kind = lost" in found.premises.summary()
    assert "no outcome of theirs is known" in found.premises.summary()
    searched = found.found_segments
    assert set(searched.features["kind"]) == {f"kind = {kind}" for kind in sizes.index}
    assert searched.n_tested == 4  # all rows, and three kinds
    assert searched.few_known == ("kind = lost",)
    assert "too few outcomes are known to look at kind = lost" in searched.summary()
    off = frame.assign(p=np.where(frame.kind == "early", frame.p * 0.2, frame.p))
    worst = audit_table(off, **HORIZON, find="kind", **FEW).found_segments.segments[0]
    assert worst.name == "kind = early"
    assert (worst.n_rows, worst.n_unknown) == (n_known["early"], sizes["early"] - n_known["early"])
    assert f"{n_known['early']:,} of {sizes['early']:,} rows known" in worst.summary()


@pytest.mark.slow
def test_a_gate_counts_found_segments_as_it_counts_named_ones():
    frame = followed()
    off = frame.assign(p=np.where(frame.kind == "early", frame.p * 0.5, frame.p))
    known, sizes = known_in(off), off.kind.value_counts()
    n_known = off.kind[known].value_counts()
    kept = off[off.kind != "lost"]
    for more in ({}, {"groups": "pid", "max_weight": 40.0}):
        all_kinds = gated(off, find=("kind",), max_distance=0.01, **more).checks[-1].result
        assert all_kinds.few_known == ("kind = lost",)
        assert "too few outcomes are known to look at kind = lost" in all_kinds.summary()
        result = gated(kept, by=("kind",), find=("kind",), max_distance=0.01, **more)
        named, found = {check.name: check.result for check in result.checks}, result.checks[-1].result
        assert (found.n_rows, found.n_unknown) == (named["all rows"].n_rows, named["all rows"].n_unknown)
        assert found.n_tested == 4
        told = [*found.beyond, *found.undecided, found.largest]
        for each in told:
            assert (each.n_rows, each.n_unknown) == (named[each.name].n_rows, named[each.name].n_unknown)
        early = named["kind = early"]
        assert early.n_rows + early.n_unknown == sizes["early"]
        assert early.n_rows == n_known["early"]


@pytest.mark.slow
def test_the_least_size_and_the_cuts_of_numbers_do_not_depend_on_what_is_known():
    # Events are known early: by known rows alone, segments were formed after outcomes were seen.
    rng = np.random.default_rng(1)
    frame = followed(seed=1).assign(age=rng.random(2_000))
    other = frame.assign(e=0, t=np.where(rng.random(2_000) < 0.5, 0.5, 1.5))
    one, two = (audit_table(each, **HORIZON, find="age", **FEW).found_segments for each in (frame, other))
    assert one.features == two.features
    assert one.made_of == two.made_of


@pytest.mark.slow
def test_sizes_by_keys_of_any_kind_are_those_of_all_rows():
    frame = followed(n=600)
    keys = {
        "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(600) % 3, "D"),
        "number": (np.arange(600) % 4) / 2.0,
        "truth": np.arange(600) % 2 == 0,
        "gaps": np.where(np.arange(600) % 3 == 0, None, "a"),
    }
    for name, values in keys.items():
        table = frame.assign(key=values)
        segments = audit_table(table, **HORIZON, by="key", groups="pid", n_resamples=0, random_state=0).segments
        sizes = table.key.value_counts(dropna=False)
        assert sorted(each.n_rows + each.n_unknown for each in segments) == sorted(sizes), name
        groups = table.groupby("key", dropna=False).pid.nunique()
        assert sorted(each.n_groups for each in segments) == sorted(groups), name


@pytest.mark.slow
def test_groups_without_a_known_row_are_groups_all_the_same():
    # 4,000 patients were told as the 2,927 with a known row, and groups to collect as if every one had some.
    frame = followed(n=1_200, per_group=3)
    known = known_in(frame)
    n_groups, n_known = frame.pid.nunique(), frame.pid[known].nunique()
    assert n_known < n_groups == 400
    found = audit_table(frame, **HORIZON, groups="pid", max_weight=60.0, find="kind", **FEW)
    assert found.n_groups == found.premises.n_groups == found.gate.n_groups == 400
    assert found.found_segments.n_groups == 400
    page = " ".join(found.summary().split())
    assert f"{known.sum():,} of 1,200 rows known, in 400 groups (pid)" in page
    assert f"(all of {n_groups - n_known} groups among them)" in page
    assert f"{n_known} groups" not in page
    assert json.loads(found.to_json())["groups"] == {"column": "pid", "n": 400}
    outcomes = censored_outcomes(frame.t, frame.e, horizon=1.0)
    rows = outcomes.known
    columns = {"groups": frame.pid.to_numpy()[rows], "sample_weight": outcomes.sample_weight[rows], "max_weight": 60.0}
    for more, result in (({}, None), ({"max_regret": 0.3}, regret_bounds)):
        gate = gated(frame, groups="pid", max_weight=60.0, **more)
        assert gate.premises.n_groups == gate.rows.n_groups == gate.to_dict()["n_groups"] == 400
        assert f"(400 groups, {known.sum():,} of 1,200 rows known)" in gate.summary().replace("; 400", " (400")
        if result is not None:
            alone = result(outcomes.y_true[rows], frame.p.to_numpy()[rows], max_regret=0.3, **columns)
            assert alone.n_groups == n_known
            if alone.groups_needed is not None:
                assert gate.rows.groups_needed == math.ceil(alone.groups_needed * n_groups / n_known)
    two = compare(["one", "two"], [found, replace(found, title="two")], [None, None], level=0.05, seed=0)
    assert "400 groups" in " ".join(two.summary().split())
    assert f"{n_known} groups" not in two.summary()


def test_sizes_are_those_that_one_counts_by_hand():
    """Of 6, 6 and 3 rows the outcomes of 5, 3 and 3 are known; a segment needs 5 rows, and 4 known at 1/2."""
    codes, group = np.repeat([0, 1, 2], [6, 6, 3]), np.arange(15) // 2
    known = np.array([True] * 5 + [False] + [True] * 3 + [False] * 3 + [True] * 3)
    labels = ("kind = a", "kind = b", "kind = c")
    rows = Rows.of(np.arange(11) % 2, np.full(11, 0.5))
    feature = Feature("kind", codes[known], labels)
    every = FollowedRows([codes], np.full(15, 0.5), group)
    candidates = form(units_of(rows, [feature]), [feature], 1, 5, every)
    assert [candidates.conditions(i) for i in range(len(candidates))] == [(), ("kind = a",)]
    assert candidates.few_known == ("kind = b",)
    n_rows, n_groups = every.of(candidates)
    assert n_rows.tolist() == [15, 6]
    assert n_groups.tolist() == [8, 3]
    alone = form(units_of(rows, [feature]), [feature], 1, 6)
    assert len(alone) == 1  # of known rows none has six
    certain = replace(every, prediction=np.where(np.arange(15) < 2, 1.0, 0.5))
    assert len(form(units_of(rows, [feature]), [feature], 1, 5, certain)) == 1  # rows predicted 1 form no segment


@pytest.mark.parametrize("decimals", [2, 9])
def test_groups_of_followed_rows_are_rejected_at_the_level(decimals):
    """All of 200 such files of predictions in two decimals were rejected: stretches parted rows by their weights."""
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = np.round(np.clip(expit(rng.normal(-1.0, 1.0, 1_600)), 0.01, 0.99), decimals)
        group = np.repeat(np.arange(300), rng.multinomial(1_600, np.full(300, 1 / 300)))
        came, left = np.log(rng.random(1_600)) / np.log1p(-p), rng.exponential(1.35, 1_600)
        known = censored_outcomes(np.minimum(came, left), came <= left, horizon=1.0)
        columns = {"sample_weight": known.sample_weight, "groups": group, "n_resamples": 99, "random_state": seed}
        rejected += calibration_test(known.y_true, p, **columns).reject
    assert rejected <= 4
