"""No gate passes where the search for segments calls one off that is not proved within the limit."""

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant import InputError, Interval, calibration_gate, find_segments
from calibrant.cli.app import app
from calibrant.door.request import Listener
from calibrant.findings.decision import found_off
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.segments.gate_bounds import (
    BoundedSegment,
    BoundedSegments,
    CalledOff,
    _not_within,
    _told,
    read_to_bound,
)
from calibrant.segments.request import Search
from calibrant.tables import entry, frames
from calibrant.tables.frames import OpenedFrame
from tests.segments.test_row_bets import last_refuted
from tests.strategies import examples

KINDS = "rows", "groups", "sums"
MOST = 3  # rows of a group


def written(tmp_path, frame):
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    return path


def drawn(seed, n=3_000, off=0.15, share=0.15, kind="rows"):
    """One store of some is off, in its mean or with both signs; rows of a group have one store, and luck in common."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    patient = np.arange(n) // MOST if kind == "groups" else np.arange(n)
    store = rng.choice([1, 2, 3, 4], n, p=[share, *[(1.0 - share) / 3.0] * 3])[patient]
    way = np.where(p < 0.5, off, -off) if seed % 3 == 0 else off
    luck = np.where(rng.random(n) < 0.2, rng.random(n)[patient], rng.random(n))
    y = (luck < np.clip(p + np.where(store == 1, way, 0.0), 0.0, 1.0)).astype(int)
    plan = rng.choice(["free", "paid"], n)
    return pd.DataFrame(
        {"y": y, "p": p, "store": np.char.add("s", store.astype(str)), "plan": plan, "patient": patient}
    )


def gated(path, kind, monkeypatch, **asked):
    monkeypatch.setattr(entry, "MANY_ROWS", 0 if kind == "sums" else 5_000_000)
    groups = {"groups": "patient", "max_weight": MOST} if kind == "groups" else {}
    asked = {"max_distance": 0.1, "level": 0.05, "y_true": "y", "y_prob": "p", "find": ("store", "plan")} | asked
    table = entry.OpenedFile(path)
    table.distinct = asked.get("distinct", False)  # as the commands have it
    return check_opened(table, GateRequest(**asked, **groups), Listener()).checks[1].result


def audited(path, kind, max_distance):
    """What an audit goes by: the segments that it finds, and the limit."""
    groups = {"groups": "patient"} if kind == "groups" else {}
    frame = pl.scan_parquet(path) if kind == "sums" else pl.read_parquet(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "MANY_ROWS", 0 if kind == "sums" else 5_000_000)
        found = find_segments(frame, y_true="y", y_prob="p", features=["store", "plan"], random_state=0, **groups)
    return SimpleNamespace(found_segments=found, max_distance=max_distance)


def names_of(found):
    """What is called off, but for all rows together."""
    labels = list(found.features.values())
    return {
        " and ".join(labels[feature][value] for feature, value in made_of)
        for made_of, (_, _, pvalue) in zip(found.made_of, found.tested, strict=True)
        if made_of and pvalue <= found.level
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_search_calls_off_and_the_limit_does_not_hold_is_undecided(tmp_path, monkeypatch, kind):
    frame = drawn(1, kind=kind)
    path = written(tmp_path, frame)
    for limit in (0.14, 0.4):
        found = gated(path, kind, monkeypatch, max_distance=limit)
        off = names_of(audited(path, kind, limit).found_segments)
        assert "store = s1" in off
        assert {each.name for each in found.undecided} <= off
        assert found.n_undecided == len(found.undecided)
        assert found.verdict == ("undecided" if found.undecided else "none beyond")
        if limit == 0.14:  # of the same size as what is seen
            assert "store = s1" in {each.name for each in found.undecided}
            assert "off by more than noise and not proved within. store = s1" in found.summary()
        if limit == 0.4:
            assert not found.undecided
        if kind == "rows":  # each "within" is that of a segment that was named, with bets row by row
            for name in off - {each.name for each in found.undecided}:
                fixed = [each.split(" = ") for each in name.split(" and ")]
                inside = frame[np.logical_and.reduce([frame[column] == value for column, value in fixed])]
                errors = (inside["y"] - inside["p"]).to_numpy()
                assert max(-last_refuted(-errors, 0.05), -last_refuted(errors, 0.05)) <= limit + 2e-3


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from([0.0, 0.08, 0.2]), st.sampled_from([0.02, 0.2]))
@examples(60)
def test_a_gate_calls_off_what_the_search_does(seed, kind, off, level):
    """Also where it stops after a few redraws."""
    frame = drawn(seed, 900, off, 0.3, kind)
    names = {"y_true": "y", "y_prob": "p"} | ({"groups": "patient"} if kind == "groups" else {})
    asked = Search(level=level, random_state=seed, features=("store", "plan"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "MANY_ROWS", 0 if kind == "sums" else 5_000_000)
        table = pl.from_pandas(frame).lazy() if kind == "sums" else frame
        held = read_to_bound(OpenedFrame(table), names, asked, max_weight=MOST)
        off = {" and ".join(held.conditions(each.at)): each.pvalue() for each in held.called_off(asked)}
        found = find_segments(table, **names, features=["store", "plan"], level=level, random_state=seed)
    assert set(off) == names_of(found)
    for each in found.segments:
        assert off.get(each.name, each.pvalue) == each.pvalue


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from([0.03, 0.06, 0.1, 0.2]), st.floats(0.0, 0.4))
@examples(25)
def test_where_a_gate_passes_an_audit_finds_no_segment_beyond_the_limit(tmp_path_factory, seed, kind, limit, off):
    path = written(tmp_path_factory.mktemp("t"), drawn(seed, 1_500, off, 0.2, kind))
    with pytest.MonkeyPatch.context() as patch:
        found = gated(path, kind, patch, max_distance=limit)
        beyond = [each for each in found_off(audited(path, kind, limit)) if abs(each.bias) > limit]
    assert found.verdict != "none beyond" or not beyond


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_errors_that_cancel_the_distance_must_be_within(tmp_path, monkeypatch, kind):
    frame = drawn(0, 4_500, 0.3, 0.3, kind)
    held = frame["store"] == "s1"
    assert abs((frame["y"] - frame["p"])[held].mean()) < 0.03
    found = gated(written(tmp_path, frame), kind, monkeypatch, max_distance=0.1, find=("store",))
    assert "store = s1" in {each.name for each in found.undecided}
    assert "off in a part of their range, on average 2" in found.summary()
    assert calibration_gate(frame["y"][held], frame["p"][held], max_distance=0.1).verdict != "within"
    small = drawn(0, 24_000, 0.08, 0.5, kind)
    fine = gated(written(tmp_path, small), kind, monkeypatch, max_distance=0.2, find=("store",))
    assert "store = s1" in names_of(audited(tmp_path / "rows.parquet", kind, 0.2).found_segments)
    assert fine.verdict == "none beyond"
    said = fine.summary()
    assert "At least half of these segments are so small that" in said
    assert said.endswith("could not have been proved.")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_rows_as_are_said_to_decide_do(tmp_path, monkeypatch, kind):
    frame = drawn(1, kind=kind)
    first = gated(written(tmp_path, frame), kind, monkeypatch, max_distance=0.11, find=("store",))
    assert first.verdict == "undecided"
    times = -(-first.rows_needed // len(frame))
    assert 1 < times < 40
    more = pd.concat([frame] * (times + 1))
    more["patient"] = np.arange(len(more)) // MOST
    distinct = {"distinct": True} if kind == "rows" else {}
    later = gated(written(tmp_path, more), kind, monkeypatch, max_distance=0.11, find=("store",), **distinct)
    assert "store = s1" not in {each.name for each in later.undecided}


@pytest.mark.slow
def test_in_few_groups_a_gate_has_a_bound_of_segments(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(6_000)
    columns = {"y": (rng.random(6_000) < p) * 1, "p": p, "store": rng.choice(["a", "b"], 6_000)}
    path = written(tmp_path, pd.DataFrame(columns | {"patient": np.arange(6_000) // 300}))
    options = ["--y-true", "y", "--y-prob", "p", "--find", "store", "--groups", "patient", "--max-weight", "300"]
    done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", "0.9", *options, "--json"])
    assert done.exit_code == 0
    check = json.loads(done.stdout)["checks"][1]
    assert (check["verdict"], check["n_undecided"], check["untested"]) == ("none beyond", 0, None)


@pytest.mark.slow
def test_weighted_rows_are_bounded_as_groups_of_one_row(tmp_path, monkeypatch):
    rows = drawn(1, off=0.4)
    weight = np.random.default_rng(1).integers(1, 5, len(rows)) / 2.0
    path = written(tmp_path, rows.assign(w=weight, patient=np.arange(len(rows))))
    asked = {"sample_weight": "w", "max_weight": 2.0}
    alone = gated(path, "rows", monkeypatch, **asked)
    assert (alone.verdict, alone.n_beyond > 0) == ("beyond", True)
    rows.assign(w=10.0 * weight).to_parquet(path)  # only the ratio to the largest possible weight counts
    assert gated(path, "rows", monkeypatch, sample_weight="w", max_weight=20.0) == alone
    rows.assign(w=weight, patient=np.arange(len(rows))).to_parquet(path)
    assert alone == gated(path, "rows", monkeypatch, groups="patient", **asked)
    found = alone.beyond[0]
    fixed = (each.split(" = ") for each in found.name.split(" and "))
    here = np.logical_and.reduce([rows[name] == value for name, value in fixed])
    bias = np.average((rows["y"] - rows["p"])[here], weights=weight[here])
    assert found.bias == pytest.approx(bias)
    assert found.bias_interval.low < bias < found.bias_interval.high
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    with pytest.raises(InputError, match="cannot be searched by in a table of so many rows"):
        gated(path, "sums", monkeypatch, **asked)


@pytest.mark.slow
def test_segments_of_weighted_and_of_sampled_rows_are_gated_by_their_weights():
    rows = drawn(1, off=0.4)
    kept = rows[(rows["y"] == 1) | (np.random.default_rng(2).random(len(rows)) < 0.5)]
    asked = {"y_true": "y", "y_prob": "p", "max_distance": 0.1, "by": ("store",), "unweighted": False}
    for how in ({"sample_weight": "w", "max_weight": 2.0}, {"sampling_fractions": {0: 0.5, 1: 1.0}}):
        columns = kept.assign(w=np.where(kept["y"] == 1, 1.0, 2.0)) if "max_weight" in how else kept
        request = GateRequest(**asked, **how)
        checks = check_opened(OpenedFrame(columns), request, Listener()).checks
        for check in checks[1:]:
            part = kept[kept["store"] == check.name.split(" = ")[1]]
            weight = np.where(part["y"] == 1, 1.0, 2.0)
            one = calibration_gate(part["y"], part["p"], sample_weight=weight, max_weight=2.0, max_distance=0.1)
            assert check.result.verdict == one.verdict
            assert check.result.lower_distance.high == one.lower_distance.high


@pytest.mark.slow
def test_rows_without_weight_make_no_segment_and_are_no_evidence():
    rows = drawn(1, off=0.4)
    first = sorted(set(rows["store"]))[0]
    request = GateRequest(y_true="y", y_prob="p", max_distance=0.1, by=("store",), sample_weight="w", max_weight=2.0)
    light = rows.assign(w=np.where(rows["store"] == first, 0.0, 1.0))
    checks = {each.name: each.result for each in check_opened(OpenedFrame(light), request, Listener()).checks}
    silent = checks.pop(f"store = {first}")
    assert (silent.n_rows, tuple(silent.lower_distance), silent.verdict) == (0, (0.0, 1.0), "undecided")
    names = list(checks)
    assert len(names) == len(set(rows["store"]))  # the whole, and all others
    light["w"] *= np.random.default_rng(0).choice([1.0, 2.0], len(light))
    search = replace(request, by=(), find=("store",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = check_opened(OpenedFrame(light), search, Listener()).checks[1].result
    assert found.n_tested == len(names)  # all rows, and all other stores
    n_silent = int((rows["store"] == first).sum())
    assert found.weightless == (f"store = {first} ({n_silent:,} rows)",)


@pytest.mark.parametrize("groups", [(), ("--groups", "patient")])
def test_a_segment_without_weight_does_not_pass_and_every_output_names_it(tmp_path, groups):
    n, rng = 4_000, np.random.default_rng(0)
    p = rng.uniform(0.25, 0.75, n)
    seg = np.where(np.arange(n) < 300, "z", "a")
    y = np.where(seg == "z", p < 0.5, rng.random(n) < p) * 1
    rows = pd.DataFrame({"y": y, "p": p, "seg": seg, "w": np.where(seg == "z", 0, 1), "patient": np.arange(n) // 2})
    rows.to_csv(tmp_path / "z.csv", index=False)
    junit, page = tmp_path / "j.xml", tmp_path / "m.md"
    columns = [str(tmp_path / "z.csv"), "--y-true", "y", "--y-prob", "p", "--sample-weight", "w", *groups]
    asked = [*columns, "--max-weight", "2", "--max-distance", "0.2"]
    by = ["gate", *asked, "--by", "seg", "--junit", str(junit), "--summary", str(page)]
    done = CliRunner().invoke(app, by)
    words = "Segments not looked at: seg = z (300 rows); their rows have no weight."
    assert done.exit_code == 3
    assert done.stdout.startswith("UNDECIDED: of 3 checks 1 is undecided, 2 pass")
    written = junit.read_text(), page.read_text()
    assert all(words in said for said in (done.stdout, *written))
    assert 'errors="1"' in written[0]
    assert "| seg = z |" in written[1]
    said = json.loads(CliRunner().invoke(app, [*by, "--json"]).stdout)
    assert (said["verdict"], said["rows_needed"], said["premises"]["omissions"]) == ("undecided", None, [words])
    # "beyond" is not shared with a check that can never say so
    numbers = {each["name"]: each["lower_distance"] for each in said["checks"]}
    rows.assign(seg="a").to_csv(tmp_path / "z.csv", index=False)
    alone = json.loads(CliRunner().invoke(app, [*by, "--json"]).stdout)
    assert alone["verdict"] == "within"
    assert numbers["all rows"] == alone["checks"][0]["lower_distance"]


@pytest.mark.parametrize("command", ["gate", "audit"])
def test_a_search_names_segments_without_weight(tmp_path, command):
    n, rng = 2_000, np.random.default_rng(0)
    p, device = rng.uniform(0.25, 0.75, n), np.arange(n) % 2
    seg = np.where(np.arange(n) < 300, "z", "a")
    silent = (seg == "z") | ((device == 1) & (np.arange(n) < 700))
    kind = np.where(np.arange(n) < 700, "m", "k")
    rows = {"y": (rng.random(n) < p) * 1, "p": p, "seg": seg, "kind": kind, "device": device, "w": 1 - silent}
    pd.DataFrame(rows).to_csv(tmp_path / "z.csv", index=False)
    columns = [str(tmp_path / "z.csv"), "--y-true", "y", "--y-prob", "p", "--sample-weight", "w"]
    asked = [*columns, *(["--max-weight", "1"] if command == "gate" else ["--resamples", "99"])]
    names = ["seg = z (300 rows)", "kind = m and device = 1 (350 rows)"]  # and what refines the first not again
    text, plain = (
        CliRunner().invoke(app, [command, *asked, "--find", "seg,kind,device", *more]).stdout
        for more in ([], ["--json"])
    )
    said = json.loads(plain)
    found = said["checks"][-1] if command == "gate" else said["found_segments"]
    assert found["weightless"] == names
    assert f"segments not looked at: {', '.join(names)}; their rows have no weight" in " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "verdict"), [(0.1, "none beyond"), (0.001, "undecided")])
def test_what_cannot_be_tested_may_be_proved_within(tmp_path, monkeypatch, limit, verdict):
    """Predictions that are all 0 or 1, and right: no test can be made of them."""
    y = np.arange(2_000) % 3 == 0
    path = written(
        tmp_path, pd.DataFrame({"y": y * 1, "p": y * 1.0, "store": np.where(np.arange(2_000) < 900, "a", "b")})
    )
    found = gated(path, "rows", monkeypatch, max_distance=limit, find=("store",))
    assert (found.verdict, found.untested is None) == (verdict, verdict == "none beyond")


@pytest.mark.slow
def test_sums_of_hundreds_of_categories_are_searched(tmp_path, monkeypatch):
    """Engines do not follow a chain of hundreds of conditions."""
    n = 20_000
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, n)
    store = np.char.add("s", (np.arange(n) % 400).astype(str))
    path = written(tmp_path, pd.DataFrame({"y": (rng.random(n) < p) * 1, "p": p, "store": store}))
    found = gated(path, "sums", monkeypatch, max_distance=0.9, find=("store",))
    assert (found.n_tested, found.verdict) == (401, "none beyond")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 6])
def test_an_error_that_the_mean_hides_is_told_where_it_is_and_counts_by_its_size(tmp_path, kind, seed):
    frame = drawn(seed, 9_000, 0.2, 0.3, kind)
    path = written(tmp_path, frame)
    audit = audited(path, kind, 0.02)
    first = next(each for each in audit.found_segments.segments if each.conditions)
    assert first.name == "store = s1"
    low, high = first.where
    held = frame[frame["store"] == "s1"]
    there = held[(held["p"] >= low) & (held["p"] <= high)]
    assert first.where_bias == pytest.approx((there["y"] - there["p"]).mean(), abs=0.005)  # sums have cells of 1/64
    assert first.where_share == pytest.approx(len(there) / len(held), abs=0.01)
    assert first.in_part
    by = f"{first.direction} by {100.0 * abs(first.where_bias):.0f} points"
    assert first.words == f"{by} between {low:.3g} and {high:.3g} where {first.name}"
    assert abs(first.bias) < 0.04 < first.off
    assert first in found_off(audit)
    audit.max_distance = 1.01 * first.off
    assert first not in found_off(audit)


@pytest.mark.parametrize("n", [1, 3, 4, 25])
def test_three_segments_are_named_and_the_others_counted(n):
    said = _told(tuple(SimpleNamespace(summary=lambda k=k: f"segment {k}") for k in range(n)), n)
    assert said.startswith("; ".join(f"segment {k}" for k in range(min(n, 3))))
    assert said.count("segment") == min(n, 3)
    assert ("more" in said) == (n > 3)
    assert n <= 3 or said.endswith(f"; and {n - 3} more")


@pytest.mark.parametrize(
    ("in_part", "verdict", "times"),
    [
        (False, None, None),
        (True, None, np.inf),
        (True, "within", None),
        (True, "undecided", 2.0),
        (True, "beyond", 2.0),
    ],
)
def test_a_segment_whose_mean_is_within_is_undecided_only_where_the_error_is_of_a_part(in_part, verdict, times):
    gate = None if verdict is None else SimpleNamespace(verdict=verdict, rows_needed=200)
    held = SimpleNamespace(gate=lambda *_: gate, totals=SimpleNamespace(bias=np.array([0.01]), count=np.array([100.0])))
    ends = np.array([-0.02]), np.array([0.03])
    each = CalledOff(0, in_part, lambda: 0.01)
    assert _not_within([each], ends, ends, held, 0.05, 0.05) == ({} if times is None else {each: times})
    wide = np.array([-0.02]), np.array([0.06])  # the mean itself may be beyond
    assert list(_not_within([each], wide, wide, held, 0.05, 0.05)) == [each]


def test_what_is_asked_of_a_segment_that_is_called_off_has_the_limit_and_the_whole_level():
    given = []
    held = SimpleNamespace(gate=lambda *each: given.append(each), totals=SimpleNamespace(bias=np.array([0.0, 0.01])))
    ends = np.array([-0.02, -0.02]), np.array([0.03, 0.03])
    _not_within([CalledOff(1, True, lambda: 0.01)], ends, ends, held, 0.05, 0.03)
    assert given == [(1, 0.05, 0.03)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_segment_is_off_and_several_are(n):
    one = BoundedSegment("day = 1", 20, 0.05, Interval(-0.1, 0.2))
    bounds = BoundedSegments(
        "undecided", 0.1, 0.05, 60, 9, 0, (), one, 0.3, ("day",), 1, n_undecided=n, undecided=(one,) * n
    )
    assert (f"but {n} is off" if n == 1 else f"but {n} are off") in bounds.summary()
    proved = replace(bounds, verdict="beyond", n_beyond=n, beyond=(one,) * n)
    assert (": 1 of 9 segments" in proved.summary() and " is proved so" in proved.summary()) == (n == 1)
