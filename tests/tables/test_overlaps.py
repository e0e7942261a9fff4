"""Sources that share some of their rows, or hold rows twice, at random: refused by name on every road."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem
from typer.testing import CliRunner

from calibrant import CalibrationGate, CalibrationMonitor, InputError
from calibrant.cli.app import app
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import keep_merged, open_sketches, write_rows
from tests.door.test_row_samples import KINDS, draw, overlaps
from tests.strategies import examples

NAMES = {"y_true": "y_true", "y_prob": "y_prob"}
SHARED = [kind for kind in KINDS if "twice" not in kind and kind != "thrice"]
WORDS = "twice|rows of|together|begin|the same"


def write(path, rows, at):
    y, v = rows[0][at].astype(int), rows[1][at]
    table = pa.table({"y_true": y, "y_prob": v})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=max(len(at) // 4, 1))
    elif path.suffix == ".arrow":
        feather.write_feather(table, str(path))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in table.to_pylist()))
    else:
        path.write_text(
            "y_true,y_prob\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), v.tolist(), strict=True))
        )
    return path


def files(folder, seed, kind, suffix, n=400):
    rng = np.random.default_rng(seed)
    rows = draw(rng, 2 * n)
    chosen = overlaps(rng, rows, kind)
    return [write(folder / f"{'abc'[at]}.{suffix}", rows, each) for at, each in enumerate(chosen)]


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.sampled_from(["csv", "parquet", "arrow", "jsonl"]),
    st.sampled_from(["folder", "pattern", "file system"]),
)
@examples(40)
def test_files(tmp_path_factory, seed, kind, suffix, road):
    folder = tmp_path_factory.mktemp("files")
    paths = files(folder, seed, kind, suffix)
    path = str(folder / "*.*") if road == "pattern" else str(folder)
    where = LocalFileSystem() if road == "file system" and suffix != "jsonl" else None
    with pytest.raises(InputError, match=WORDS) as refused:
        open_table(path, filesystem=where).read()
    assert any(each.name in str(refused.value) for each in paths)
    n_rows = sum(len(open_table(str(each), distinct=True).read().y_prob) for each in paths)
    assert len(open_table(path, filesystem=where, distinct=True).read().y_prob) == n_rows


@pytest.mark.slow
@pytest.mark.parametrize("command", ["gate", "audit", "sketch"])
def test_a_single_file_that_holds_itself_twice(tmp_path, command):
    (path,) = files(tmp_path, 0, "twice", "csv")
    options = {
        "gate": ["--max-distance", "0.2"],
        "audit": ["--resamples", "0"],
        "sketch": ["-o", tmp_path / "o.sketch"],
    }
    asked = [command, str(path), *map(str, options[command])]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2
    assert "a.csv' holds about 800 rows twice" in done.output.replace("\n", " ")
    assert CliRunner().invoke(app, [*asked, "--distinct"]).exit_code in (0, 1, 3)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(SHARED), st.booleans())
@examples(10)
def test_sketches_of_files(tmp_path_factory, seed, kind, from_total):
    folder = tmp_path_factory.mktemp("sketches")
    first, *others = files(folder, seed, kind, "csv")
    made = []
    for path in (first, *others):
        made.append(path.with_suffix(".sketch"))
        write_rows(open_table(str(path)), made[-1], names=NAMES)
    if from_total:  # what was merged knows its parts
        other = write(folder / "z.csv", draw(np.random.default_rng(seed + 1), 300), np.arange(300))
        write_rows(open_table(str(other)), other.with_suffix(".sketch"), names=NAMES)
        keep_merged([open_sketches(str(each)) for each in (made[0], other.with_suffix(".sketch"))], folder / "t.sketch")
        made[0] = folder / "t.sketch"
    with pytest.raises(InputError, match=WORDS):
        keep_merged([open_sketches(str(each)) for each in made], folder / "all.sketch")


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
@examples(10)
def test_a_state(tmp_path_factory, seed, kind):
    folder = tmp_path_factory.mktemp("state")
    state, refused = folder / "state", []
    paths = files(folder, seed, kind, "parquet")
    for path in paths:
        done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", "0.3", "--anytime", str(state)])
        if done.exit_code == 2:
            refused.append(path.name)
            assert path.name in done.output
            assert "--distinct" in done.output
    assert refused


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
@examples(10)
def test_batches_in_memory(seed, kind):
    rng = np.random.default_rng(seed)
    rows = draw(rng, 800)
    gate, monitor = CalibrationGate(max_distance=0.3), CalibrationMonitor()
    *before, last = overlaps(rng, rows, kind)
    for at in before:
        gate.update(rows[0][at], rows[1][at])
        monitor.update(rows[0][at], rows[1][at])
    gate = CalibrationGate.from_bytes(gate.to_bytes())
    monitor = CalibrationMonitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    for add in (gate.update, monitor.update):
        with pytest.raises(InputError, match=WORDS):
            add(rows[0][last], rows[1][last])
        add(rows[0][last], rows[1][last], distinct=True)


@pytest.mark.slow
def test_a_baseline_of_equal_files_has_a_way_on(tmp_path):
    before = tmp_path / "before"
    before.mkdir()
    rows = draw(np.random.default_rng(0), 300)
    for name in "ab":
        write(before / f"{name}.csv", rows, np.arange(300))
    new = write(tmp_path / "new.csv", draw(np.random.default_rng(1), 300), np.arange(300))
    asked = ["gate", str(new), "--max-distance", "0.2", "--baseline", str(before)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2
    assert "--distinct" in done.output
    assert CliRunner().invoke(app, [*asked, "--distinct"]).exit_code in (0, 1, 3)


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["window", "inside", "reversed window", "total", "other rows", "new predictions", "other order"]),
    st.sampled_from(["csv", "parquet", "sketch"]),
)
@examples(15)
def test_a_baseline(tmp_path_factory, seed, kind, suffix):
    """Rows of FILE, predictions and all, are no independent rows of a baseline; of the very same rows that is said."""
    folder, rng = tmp_path_factory.mktemp("baseline"), np.random.default_rng(seed)
    y, v = draw(rng, 900)
    now = np.arange(300)
    before = {
        "window": np.arange(150, 450),
        "inside": np.arange(100, 250),
        "reversed window": np.arange(150, 450)[::-1],
        "total": rng.permutation(900),
        "other rows": np.arange(300, 600),
        "new predictions": now,
        "other order": rng.permutation(300),
    }[kind]
    paths = write(folder / "now.csv", (y, v), now), folder / f"before.{suffix}"
    if kind == "new predictions":
        v = np.clip(v + rng.normal(0.0, 0.02, v.size), 0.0, 1.0)
    if suffix == "sketch":
        write_rows(open_table(str(write(folder / "before.csv", (y, v), before))), paths[1], names=NAMES)
    else:
        write(paths[1], (y, v), before)
    command = ["gate", str(paths[0]), "--max-distance", "0.5", "--baseline", str(paths[1])]
    done = CliRunner().invoke(app, command)
    if kind in ("other rows", "new predictions"):
        assert done.exit_code in (0, 1, 3), done.output
        return
    if kind == "other order" and "very same" in done.output:
        return
    assert done.exit_code == 2, done.output
    assert f"--baseline: '{paths[1].name}' and FILE share about " in done.output
    assert CliRunner().invoke(app, [*command, "--distinct"]).exit_code in (0, 1, 3)
