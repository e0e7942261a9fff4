"""A state that files are added to: logs that grow, what it remembers of them, and what it says of rows it refuses."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant import CalibrationGate, CalibrationSketch, InputError, Interval
from calibrant.cli.app import app
from calibrant.door.request import Listener
from calibrant.gate.anytime import gate_with
from calibrant.gate.request import GateRequest
from calibrant.gate.result import NOTHING
from calibrant.inference.bounds.gate import GateResult
from calibrant.sketch.sketch import UNSEALED, sealed
from calibrant.tables import entry
from tests.strategies import examples

pytestmark = [pytest.mark.usefixtures("one_database")]
LIMIT = ("--max-distance", "0.3")


def run(*options):
    return CliRunner().invoke(app, ["gate", *map(str, options)])


def clicks(n, seed=0, **more):
    """A log of rare events: few bits tell one batch from another."""
    rng = np.random.default_rng(seed)
    score = rng.random(n) * 0.005
    return pd.DataFrame({"y_prob": score, "y_true": (rng.random(n) < score).astype(int), **more})


def write(path, frame):
    frame.to_csv(path, index=False)
    return path


def n_rows(state):
    return CalibrationGate.load(state).reading().n_rows


@pytest.mark.slow
@pytest.mark.parametrize("summed", [False, True])
def test_a_log_of_rare_events_grows_under_its_own_path(tmp_path, monkeypatch, summed):
    if summed:
        monkeypatch.setattr(entry, "MANY_BYTES", 1)
    log, state, whole = tmp_path / "lo.csv", tmp_path / "lo.gate", clicks(3000)
    assert run(write(log, whole[:1000]), *LIMIT, "--anytime", state).exit_code in (0, 3)
    (link := tmp_path / "now.csv").symlink_to(write(log, whole))
    done = run(link, *LIMIT, "--anytime", state)
    assert done.exit_code in (0, 3), done.output
    assert n_rows(state) == 3000
    assert "begins with 1,000 rows that" in done.stderr
    assert "only the 2,000 rows after them are added" in done.stderr
    assert "FILE begins with 1,000 rows that the state had; only what is new was added." in done.stdout
    again = run(log, *LIMIT, "--anytime", state)
    assert again.exit_code == 2
    assert f"FILE: all 3,000 rows of lo.csv are already in '{state}'; nothing was added" in again.stderr
    assert n_rows(state) == 3000
    assert str(tmp_path).encode() not in state.read_bytes()


def test_another_path_is_refused_with_both_ways_out_and_other_rows_are_added(tmp_path):
    log, state, whole = tmp_path / "lo.csv", tmp_path / "lo.gate", clicks(3000)
    run(write(log, whole[:1000]), *LIMIT, "--anytime", state)
    done = run(write(tmp_path / "copy.csv", whole), *LIMIT, "--anytime", state)
    assert done.exit_code == 2
    assert (
        f"copy.csv begins with the 1,000 rows that '{state}' already has, too few events to tell a grown" in done.stderr
    )
    for way in ("nothing was added", "give only its new rows", "ids or times", "all 3,000 rows are new: --distinct"):
        assert way in done.stderr
    assert n_rows(state) == 1000
    same = run(write(tmp_path / "copy.csv", whole[:1000]), *LIMIT, "--anytime", state)
    assert "1,000 rows of copy.csv are equal to rows that" in same.stderr
    assert "too few events to tell a copy" in same.stderr
    write(log, clicks(500, 1))  # rotated: other rows under the same path
    assert run(log, *LIMIT, "--anytime", state).exit_code in (0, 3)
    assert n_rows(state) == 1500
    write(log, pd.concat([clicks(500, 1), clicks(100, 2)]))
    assert run(log, *LIMIT, "--anytime", state).exit_code in (0, 3)
    assert n_rows(state) == 1600


ACTS = st.lists(st.sampled_from(["grown", "grown", "again", "rotated", "bad row"]), min_size=1, max_size=6)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), ACTS, st.booleans())
@examples(8)
def test_whatever_becomes_of_a_log_its_rows_count_once(tmp_path_factory, seed, acts, summed):
    folder, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(seed)
    log, state = folder / "log.csv", folder / "state"
    rows, count, bad, past = clicks(int(rng.integers(2, 300)), rng), 0, 0, 0
    for act in ["grown", *acts]:
        if act == "rotated":
            past, rows = past + int(rows["y_prob"].isna().sum()), clicks(int(rng.integers(2, 300)), rng)
            count += len(rows)
        elif act != "again":
            more = clicks(int(rng.integers(1, 200)), rng)
            if act == "bad row":
                more = pd.concat([more, pd.DataFrame({"y_prob": [np.nan], "y_true": [0]})])
            count += int(more["y_prob"].notna().sum()) + (0 if count else len(rows))
            rows = pd.concat([rows, more], ignore_index=True)
        bad = past + int(rows["y_prob"].isna().sum())
        with pytest.MonkeyPatch.context() as patch:
            if summed:
                patch.setattr(entry, "MANY_BYTES", 1)
            done = run(write(log, rows), *LIMIT, "--exclude-bad", "--anytime", state, "--json")
        assert done.exit_code == 2 if act == "again" else done.exit_code in (0, 1, 3), done.output
        assert n_rows(state) == count
        said = json.loads(run(*LIMIT, "--anytime", state, "--so-far", "--json").stdout)["premises"]
        assert said["n_excluded"] == bad


SAME = ("again", "touched", "hard link", "link", "renamed", "in a folder")
AGAIN = st.lists(st.sampled_from([*SAME, "shuffled", "grown", "copy", "rotated"]), min_size=1, max_size=4)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), AGAIN, st.booleans(), st.booleans())
@examples(8)
def test_one_file_counts_once_even_where_its_rows_are_said_to_be_others(tmp_path_factory, seed, acts, summed, rare):
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(seed)
    state, log = folder / "state", folder / "log.csv"

    def more(n):
        score = rng.random(n) * (0.005 if rare else 1.0)
        return pd.DataFrame({"y_prob": score, "y_true": (rng.random(n) < score).astype(int)})

    rows, count, written_again = more(80), 80, False
    with pytest.MonkeyPatch.context() as patch:
        if summed:
            patch.setattr(entry, "MANY_BYTES", 1)
        assert run(write(log, rows), *LIMIT, "--anytime", state).exit_code in (0, 1, 3)
        for at, act in enumerate(acts):
            path = folder / f"{at}.csv"
            if act in ("hard link", "renamed", "in a folder") and written_again:
                continue  # neither its path nor its stamp is known
            if act in ("again", "touched", "shuffled", "grown", "rotated"):
                path = log
            if act == "touched":
                write(log, rows)
            elif act == "hard link":
                os.link(log, path)
            elif act == "link":
                path.symlink_to(log)
            elif act == "renamed":
                log.rename(path)
            elif act == "in a folder":
                (folder / f"{at}").mkdir()
                write(folder / f"{at}/a.csv", more(40))
                os.link(log, folder / f"{at}/z.csv")
                path = folder / f"{at}"
            elif act == "shuffled":
                write(log, rows.sample(frac=1.0, random_state=1))
            elif act == "grown":
                rows, count = pd.concat([rows, more(30)]), count + 30
                write(log, rows)
            elif act == "copy":
                write(path, rows)
                count += len(rows)
            elif act == "rotated":
                rows, count = more(70), count + 70
                write(log, rows)
            done = run(path, *LIMIT, "--anytime", state, "--distinct")
            assert done.exit_code in ((0, 1, 3) if act in ("grown", "copy", "rotated") else (2,)), (act, done.output)
            assert n_rows(state) == count, act
            written_again = act in ("touched", "shuffled") or (act not in ("grown", "rotated") and written_again)
            if act == "renamed":
                path.rename(log)
            if act == "shuffled":
                write(log, rows)


@pytest.mark.slow
def test_one_sketch_counts_once_in_a_state_under_any_name(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.csv", clicks(300, ord(name)))
        out = str(tmp_path / f"{name}.sketch")
        assert CliRunner().invoke(app, ["sketch", str(tmp_path / f"{name}.csv"), "-o", out]).exit_code == 0
    both, state = tmp_path / "both.sketch", tmp_path / "state"
    merged = CliRunner().invoke(app, ["merge", *(str(tmp_path / f"{n}.sketch") for n in "ab"), "-o", str(both)])
    assert merged.exit_code == 0
    assert run(both, *LIMIT, "--anytime", state).exit_code in (0, 3)
    os.link(both, tmp_path / "link.sketch")
    for path in (both, tmp_path / "link.sketch"):
        done = run(path, *LIMIT, "--anytime", state, "--distinct")
        assert done.exit_code == 2
        assert path.name in done.stderr
        assert "of another name" in done.stderr
    (tmp_path / "copy.sketch").write_bytes(both.read_bytes())
    assert run(tmp_path / "copy.sketch", *LIMIT, "--anytime", state, "--distinct").exit_code in (0, 3)
    assert n_rows(state) == 1200


@pytest.mark.slow
def test_a_state_remembers_its_premises(tmp_path):
    state = tmp_path / "st.gate"
    first = clicks(300, weight=1.0).assign(customer_id=np.arange(300) // 2)
    first.loc[4, "y_prob"] = np.nan
    options = ("--y-true", "y_true", "--y-prob", "y_prob", *LIMIT, "--anytime", state)
    first["y_true"] = np.where(first["y_true"] == 1, "yes", "no")
    more = (*options, "--pos-label", "yes")
    done = run(write(tmp_path / "a.csv", first), *more, "--exclude-bad", "--unweighted")
    assert done.exit_code in (0, 3), done.output
    hint = (
        "gate all rows without --anytime, which takes no groups, and say --groups customer_id --max-weight N, the most"
    )
    assert hint in done.stdout
    second = clicks(200, 1)
    later = run(write(tmp_path / "b.csv", second), *options, "--json")
    so_far = run(*LIMIT, "--anytime", state, "--so-far", "--json")
    for each in (later, so_far):
        said = json.loads(each.stdout)["premises"]
        assert said["columns"] == {"y_true": "y_true", "y_prob": "y_prob"}
        assert (said["n_excluded"], said["exclude_bad"], said["unweighted"]) == (1, True, True)
        assert (said["pos_label"], said["perhaps_groups"], said["complete"]) == ("yes", "customer_id", True)
        for name in ("excluded", "unweighted", "pos_label", "perhaps_groups", "batches"):
            assert name in said["sentences"]
    write(tmp_path / "d.csv", second)
    copied = json.loads(run(tmp_path / "d.csv", *options, "--distinct", "--json").stdout)["premises"]
    assert "distinct" in copied["sentences"]
    assert "distinct" in run(*LIMIT, "--anytime", state, "--so-far").stdout
    other = first.assign(y_true=np.where(first["y_true"] == "yes", "no", "yes"))
    refused = run(write(tmp_path / "c.csv", other), *options, "--pos-label", "no", "--exclude-bad", "--unweighted")
    assert refused.exit_code == 2
    assert f"--pos-label: is 'no', and the rows of '{state}' have 'yes'; nothing was added" in refused.stderr


@pytest.mark.parametrize(("option", "name"), [("--y-prob", "score2"), ("--y-true", "bought")])
def test_another_column_is_refused_by_name(tmp_path, option, name):
    state, rows = tmp_path / "st.gate", clicks(300, score2=0.5, bought=1)
    named = {"--y-true": "y_true", "--y-prob": "y_prob"}
    log = write(tmp_path / "a.csv", rows)
    assert run(log, *LIMIT, "--anytime", state, *sum(named.items(), ())).exit_code in (0, 3)
    before, was = state.read_bytes(), named[option]
    done = run(
        write(tmp_path / "b.csv", clicks(300, 1, score2=0.5, bought=1)),
        *LIMIT,
        "--anytime",
        state,
        *sum({**named, option: name}.items(), ()),
    )
    assert done.exit_code == 2
    said = f"{option}: is column {name!r}, and the rows of {str(state)!r} have column {was!r}; nothing was added"
    assert said in done.stderr
    assert state.read_bytes() == before


@pytest.mark.slow
def test_what_was_left_out_of_a_sketch_is_said_not_to_be_known(tmp_path):
    write(tmp_path / "rows.csv", clicks(300))
    sketch, state = tmp_path / "rows.sketch", tmp_path / "state"
    assert CliRunner().invoke(app, ["sketch", str(tmp_path / "rows.csv"), "-o", str(sketch)]).exit_code == 0
    assert "was made is not known" not in run(tmp_path / "rows.csv", *LIMIT).stdout
    for done in (run(sketch, *LIMIT), run(sketch, *LIMIT, "--anytime", state), run("--anytime", state, "--so-far")):
        assert "A sketch, or a state of an older layout, does not say which rows it left out." in done.stdout
    done = CliRunner().invoke(app, ["audit", str(sketch), "--resamples", "0", "--json"])
    assert json.loads(done.stdout)["premises"]["complete"] is False


@pytest.mark.slow
def test_states_of_layout_3_go_on(tmp_path):
    state, log, whole = tmp_path / "state", tmp_path / "log.csv", clicks(600)
    run(write(log, whole[:300]), *LIMIT, "--anytime", state)
    held = json.loads(state.read_bytes())
    held |= {"layout": 3, "seal": UNSEALED.decode(), "held": [each[:7] for each in held["held"]]}
    del held["provenance"]
    state.write_bytes(sealed(json.dumps(held).encode()))
    assert "does not say which rows" in run("--anytime", state, "--so-far").stdout
    assert "too few events" in run(write(log, whole), *LIMIT, "--anytime", state).stderr
    assert run(write(log, whole[300:]), *LIMIT, "--anytime", state).exit_code in (0, 3)
    assert n_rows(state) == 600


@pytest.mark.parametrize(
    "changes",
    [
        {"pos_label": 3},
        {"columns": {"y_prob": 3}},
        {"columns": []},
        {"complete": 1},
        {"perhaps_groups": 0},
        {"more": 1},
    ],
)
def test_a_provenance_that_no_file_has_is_refused(changes):
    held = json.loads(CalibrationGate(max_distance=0.1).to_bytes())
    held |= {"seal": UNSEALED.decode(), "provenance": held["provenance"] | changes}
    with pytest.raises(ValueError, match="state of a CalibrationGate"):
        CalibrationGate.from_bytes(sealed(json.dumps(held).encode()))


@pytest.mark.slow
def test_rows_of_another_population_are_no_fault_of_a_column(tmp_path):
    rng, state = np.random.default_rng(0), tmp_path / "e.gate"
    v = rng.random(4000) * 0.6
    one = pd.DataFrame({"y_prob": v, "y_true": (rng.random(4000) < v + 0.4).astype(int)})
    run(write(tmp_path / "old.csv", one), *LIMIT, "--anytime", state)
    before = state.read_bytes()
    v = np.tile([0.25, 0.5, 0.75], 100_000)
    other = pd.DataFrame({"y_prob": v, "y_true": (rng.random(300_000) < v).astype(int)})
    done = run(write(tmp_path / "new.csv", other), *LIMIT, "--anytime", state)
    assert done.exit_code == 2
    said = f"FILE: new.csv and '{state}' cannot be one population (distance at least 0."
    assert said in done.stderr
    for each in (
        " before, at most 0.",
        " now): predictor, data or label changed. Nothing was added",
        "--anytime NEWSTATE",
    ):
        assert each in done.stderr
    assert "y-true" not in done.stderr
    assert state.read_bytes() == before


@pytest.mark.parametrize("summed", [False, True])
def test_a_log_that_begins_with_bad_rows_alone_is_another(tmp_path, monkeypatch, summed):
    if summed:
        monkeypatch.setattr(entry, "MANY_BYTES", 1)
    log, state, options = tmp_path / "log.csv", tmp_path / "state", (*LIMIT, "--exclude-bad", "--anytime")
    assert run(write(log, clicks(2)), *options, state).exit_code in (0, 3)
    bad = pd.DataFrame({"y_prob": [np.nan] * 3, "y_true": [0] * 3})
    assert run(write(log, pd.concat([bad, clicks(20, 1)])), *options, state).exit_code in (0, 3)
    assert n_rows(state) == 22


def coins(n, seed=0, **more):
    """Rows that a copy of could be no chance."""
    rng = np.random.default_rng(seed)
    v = np.round(rng.random(n), 6)
    return pd.DataFrame({"y_prob": v, "y_true": (rng.random(n) < v).astype(int), **more})


UNDECIDED = GateResult("undecided", 0.3, Interval(0.0, 1.0), 0.05, 1, None, anytime=True)


@pytest.fixture
def unproved(monkeypatch):
    """Nothing is proved of what a state takes: it is asked what it takes."""
    monkeypatch.setattr("calibrant.gate.asides.asides", lambda *_, **__: NOTHING)
    monkeypatch.setattr(CalibrationGate, "_result", lambda *_: UNDECIDED)
    monkeypatch.setattr("calibrant.inference.bounds.gate.Won.after", lambda won, *_: won)


def added(path, state, **asked):
    """As the command does, without its words on the page."""
    return gate_with(
        entry.open_table(str(path)), state, GateRequest(max_distance=0.3, anytime=state, **asked), Listener()
    )


@pytest.mark.parametrize(
    ("first", "then", "asked", "said"),
    [
        (
            coins(150),
            coins(150)[::-1],
            {},
            "all 150 rows of b.csv are already in {state}; nothing was added; --distinct",
        ),
        (
            clicks(150),
            clicks(150)[::-1],
            {},
            "the 150 rows of b.csv are equal to rows that {state} has, too few events to tell a copy from a new batch; "
            "nothing was added; --distinct says",
        ),
        (
            coins(400),
            pd.concat([coins(400)[200:], coins(200, 1)]),
            {},
            "about {some} rows of b.csv are already in {state}; nothing was added; give only its new rows; --distinct",
        ),
        (
            pd.concat([coins(150), coins(150, 1)]),
            None,
            {"distinct": True},
            "'a.csv' was added to {state} before, and did not change since; nothing was added; other rows are taken",
        ),
        (
            coins(150, w=1.0),
            coins(150, 1, w=1.0),
            {"max_weight": 2.0},
            "is missing, and the rows of {state} have column 'w'; nothing was added",
        ),
        (coins(150, w=1.0), coins(150, 1, w=1.0), {}, "is missing, and {state} was begun with 2.0"),
        (coins(150), coins(150, 1), {"level": 0.01}, "is 0.01, and {state} was begun with 0.05"),
    ],
)
@pytest.mark.usefixtures("unproved")
def test_rows_that_a_state_does_not_take_are_refused_with_a_way_out(tmp_path, monkeypatch, first, then, asked, said):
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "s.gate"
    weighed = {"sample_weight": "w", "max_weight": 2.0} if "w" in first else {}
    added(write(tmp_path / "a.csv", first), state, **weighed)
    before = state.read_bytes()
    if then is None:
        os.link("a.csv", "b.csv")
    else:
        write(tmp_path / "b.csv", then)
    with pytest.raises(InputError) as caught:
        added("b.csv", state, **asked)
    head, _some, tail = said.format(state=repr(str(state)), some="\0").partition("\0")
    told = str(caught.value).replace("'b.csv' was", "'a.csv' was")
    assert head in told
    assert tail in told
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "name", "asked", "said"),
    [
        (
            coins(150),
            "b.sketch",
            {},
            "all 150 rows of b.sketch are already in {state}; nothing was added; --distinct says",
        ),
        (
            clicks(150),
            "b.sketch",
            {},
            "the 150 rows of b.sketch are equal to rows that {state} has, too few events to tell a copy from a new "
            "batch; nothing was added; --distinct says",
        ),
        (
            coins(150),
            "a.sketch",
            {"distinct": True},
            "all 150 rows of a.sketch are already in {state}; nothing was added; other rows are taken with --distinct",
        ),
        (coins(150), "b.sketch", {"distinct": True}, None),
    ],
)
@pytest.mark.usefixtures("unproved")
def test_a_sketch_that_a_state_holds_is_refused_under_any_name(tmp_path, rows, name, asked, said):
    state, data = tmp_path / "s.gate", CalibrationSketch().update(rows["y_true"], rows["y_prob"]).to_bytes()
    (tmp_path / "a.sketch").write_bytes(data)
    added(tmp_path / "a.sketch", state)
    (tmp_path / "a.sketch").unlink()
    (tmp_path / name).write_bytes(data)
    if said is None:
        added(tmp_path / name, state, **asked)
        assert CalibrationGate.load(state)._seen.n_rows == 300
        return
    with pytest.raises(InputError) as caught:
        added(tmp_path / name, state, **asked)
    assert said.format(state=repr(str(state))) in str(caught.value)
