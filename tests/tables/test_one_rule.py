"""One rule of identity by each road: the cases that were counted twice, few rows, ids, and layouts of before."""

import base64
import gzip
import hashlib
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationGate, CalibrationMonitor, CalibrationSketch, InputError, audit_table
from calibrant.cli.app import app
from calibrant.drift import monitor as monitoring
from calibrant.sketch import sketch as storage
from calibrant.sketch.sketch import UNSEALED, sealed
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import keep_merged, open_sketches, write_rows

NAMES = {"y_true": "y_true", "y_prob": "y_prob"}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(int), v


def write(path, y, v, ids=None):
    head = "y_true,y_prob" + ("" if ids is None else ",id") + "\n"
    cells = zip(y.tolist(), v.tolist(), *([] if ids is None else [ids]), strict=True)
    path.write_text(head + "".join(",".join(map(repr, each)) + "\n" for each in cells))
    return path


def run(*options):
    return CliRunner().invoke(app, [str(each) for each in options])


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    place.mkdir()
    write(place / "a.csv", *rows(300))
    write(place / "b.csv", *rows(200, 1))
    return place


def as_link(folder):
    (folder / "latest.csv").symlink_to(folder / "a.csv")


def as_hard_link(folder):
    os.link(folder / "a.csv", folder / "latest.csv")


def as_gzip(folder):
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))


def as_total(folder):
    both = [np.concatenate(pair) for pair in zip(rows(200, 1), rows(300), strict=True)]
    write(folder / "z.csv", *both)


@pytest.mark.slow
@pytest.mark.parametrize("copy", [as_link, as_hard_link, as_gzip, as_total])
def test_a_copy_in_a_folder_is_refused_by_name_by_each_command(folder, tmp_path, copy):
    assert run("gate", folder, "--max-distance", 0.2).exit_code in (0, 3)
    copy(folder)
    (new,) = {path.name for path in folder.iterdir()} - {"a.csv", "b.csv"}
    for path in (folder, folder / "*"):
        for command in (
            ("gate", path, "--max-distance", 0.2),
            ("audit", path, "--resamples", 0),
            ("sketch", path, "-o", tmp_path / "out.sketch", "--overwrite"),
        ):
            done = run(*command)
            assert done.exit_code == 2
            assert new in done.output
            forced = run(*command, "--distinct")
            one_file = copy in (as_link, as_hard_link)
            assert (forced.exit_code == 2) == one_file, forced.output
    with pytest.raises(InputError, match=new):
        audit_table(str(folder), n_resamples=0)


def test_an_option_without_effect_is_refused(folder):
    assert open_table(str(folder / "a.csv"), distinct=True).distinct
    sketch = CalibrationSketch().update([0, 1], [0.1, 0.9])
    for table in (sketch, pa.table({"y_true": [0, 1], "y_prob": [0.1, 0.9]})):
        with pytest.raises(InputError, match="distinct: has no effect"):
            open_table(table, distinct=True)


def test_few_rows_are_refused_until_something_tells_them_apart(tmp_path):
    y, v = np.array([0, 0, 1]), np.array([0.0, 0.0, 1.0])
    for name, ids in (
        ("plain", (None, None)),
        ("ids", (["k", "l", "m"], ["n", "o", "p"])),
        ("same", (["k", "l", "m"],) * 2),
    ):
        place = tmp_path / name
        place.mkdir()
        for file, each in zip("ab", ids, strict=True):
            write(place / f"{file}.csv", y, v, each)
        if name == "ids":
            assert len(open_table(place).read().y_prob) == 6
            continue
        with pytest.raises(InputError, match="by chance" if name == "plain" else "would count twice"):
            open_table(place).read()
        assert len(open_table(place, distinct=True).read().y_prob) == 6
    for day in (1, 2):
        (tmp_path / f"days/day={day}").mkdir(parents=True)
        write(tmp_path / f"days/day={day}/a.csv", y, v)
    assert len(open_table(tmp_path / "days").read().y_prob) == 6


@pytest.mark.slow
def test_a_small_log_grows_in_a_state_where_ids_say_that_it_does(tmp_path):
    state, log = tmp_path / "state", tmp_path / "log.csv"
    options = ("--max-distance", 0.3, "--anytime", state)
    y, v = np.zeros(9, int), np.full(9, 0.25)
    for n in (7, 8, 9):
        write(log, y[:n], v[:n], list(range(n)))
        assert run("gate", log, *options).exit_code == 3
        assert CalibrationGate.load(state).reading().n_rows == n
    write(log, y[:8], v[:8], list(range(20, 28)))
    assert run("gate", log, *options).exit_code == 3
    assert CalibrationGate.load(state).reading().n_rows == 17


def test_what_a_sketch_of_a_file_begins_with_is_known(tmp_path):
    y, v = rows(400)
    write(tmp_path / "monday.csv", y[:300], v[:300])
    write(tmp_path / "tuesday.csv", y, v)
    for day in ("monday", "tuesday"):
        assert run("sketch", tmp_path / f"{day}.csv", "-o", tmp_path / f"{day}.sketch").exit_code == 0
    done = run("merge", tmp_path / "monday.sketch", tmp_path / "tuesday.sketch", "-o", tmp_path / "both.sketch")
    assert done.exit_code == 2
    assert "begins with the same 128 rows" in done.output


def layout_2(sketch):
    """Bytes as they were written before sketches listed what they hold."""
    table = storage._to_table(sketch._stored())
    said = table.schema.metadata[b"calibrant.sketch"].replace(b"%d " % storage.VERSION, b"2 ", 1)
    table = table.replace_schema_metadata({b"calibrant.sketch": said})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sealed(sink.getvalue().to_pybytes())


def test_sketches_of_before_are_read_and_compared_by_their_sums(tmp_path):
    one, other = CalibrationSketch().update(*rows(300)), CalibrationSketch().update(*rows(200, 1))
    files = {"a": one, "b": other, "copy": one, "total": one + other}
    for name, sketch in files.items():
        (tmp_path / f"{name}.sketch").write_bytes(layout_2(sketch))
    assert CalibrationSketch.from_bytes(layout_2(one)).parts is None
    assert CalibrationSketch.from_bytes(CalibrationSketch.from_bytes(layout_2(one)).to_bytes()).parts is None

    def merged(*names):
        return keep_merged(
            [open_sketches(str(tmp_path / f"{name}.sketch")) for name in names], tmp_path / "o.sketch", overwrite=True
        )

    assert len(merged("a", "b").unlisted) == 2
    for names in (("a", "b", "copy"), ("a", "b", "total")):
        with pytest.raises(InputError, match="rows"):
            merged(*names)
    assert (
        "written without the list"
        in run("merge", tmp_path / "a.sketch", tmp_path / "b.sketch", "-o", tmp_path / "p.sketch").output
    )


def test_states_of_before_are_read_and_go_on():
    y, v = rows(300)
    gate = CalibrationGate(max_distance=0.2)
    gate.update(y, v, once=True)
    state = json.loads(gate.to_bytes())
    digest = hashlib.sha256(b"another").hexdigest()
    state |= {"layout": 2, "seal": UNSEALED.decode(), "added": [digest]}
    state["seen"] = base64.b64encode(layout_2(CalibrationSketch().update(y, v))).decode()
    del state["held"]
    old = CalibrationGate.from_bytes(sealed(json.dumps(state).encode()))
    with pytest.raises(InputError, match="begin with the 300 rows"):
        old.update(np.r_[y, 1], np.r_[v, 0.5])
    assert old.update(*rows(100, 1)).n_rows == 400
    assert CalibrationGate.from_bytes(old.to_bytes()).held == old.held

    monitor = CalibrationMonitor()
    monitor.update(y, v)
    state = {**monitor.to_dict(), "schema": 2}
    del state["held"]
    state["checksum"] = monitoring._checksum(state)
    old = CalibrationMonitor.from_dict(state)
    assert old.update(y, v).n_rows == 600  # what it holds was not written down
    with pytest.raises(InputError, match="before"):
        old.update(y[::-1], v[::-1])
    assert old.update(y, v, distinct=True).n_rows == 900
    state = old.to_dict()
    state["held"][0][0] += 1
    with pytest.raises(InputError, match="checksum"):
        CalibrationMonitor.from_dict(state)


def test_rows_in_memory_are_refused_beyond_chance_alone():
    (y, v), gate, monitor = rows(300), CalibrationGate(max_distance=0.2), CalibrationMonitor()
    for add in (gate.update, monitor.update):
        add(y[:10], v[:10])
        add(y[:10], v[:10])  # which may be chance
        add(y, v)
        with pytest.raises(InputError, match="distinct=True"):
            add(y, v)
        assert add(y, v, distinct=True).n_rows == 620
    with pytest.raises(InputError, match="once"):
        CalibrationGate(max_distance=0.2).update(y, v, once=True, distinct=True)
    sketch = CalibrationSketch().update(y, v)
    with pytest.raises(InputError, match="sketches: sketch 1 holds the same 300 rows as sketch 0"):
        sketch + sketch
    assert CalibrationSketch.merge([sketch, sketch], distinct=True).n_rows == 600
    with pytest.raises(InputError, match="added before"):
        gate.update_sketch(sketch)


def test_float32_copies_are_recognised_and_other_formats(tmp_path):
    y, v = rows(300)
    for name, column in (("double", v), ("single", v.astype(np.float32))):
        pq.write_table(pa.table({"y_true": y, "y_prob": column}), tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match=r"double\.parquet"):
        open_table(tmp_path).read()


@pytest.mark.slow
def test_a_sketch_without_a_key_is_not_another_than_one_that_has_it(tmp_path):
    """Keys tell sketches apart where both have them, and not where one lacks them."""
    y, v = np.zeros(60, int), np.linspace(0.001, 0.009, 60)
    v[:30] /= 2.0
    day = np.repeat([1, 2], 30)
    pq.write_table(pa.table({"y_true": y, "y_prob": v, "day": day}), tmp_path / "rows.parquet")
    write(tmp_path / "one.csv", y[:30], v[:30])
    write(tmp_path / "like.csv", y[:30], v[:30])
    for name, by in (("days", ("day",)), ("one", ()), ("like", ())):
        source = tmp_path / ("rows.parquet" if by else f"{name}.csv")
        kind = "parquet" if by else "sketch"
        write_rows(open_table(str(source)), tmp_path / f"{name}.{kind}", names=NAMES, by=by)
    days, one = open_sketches(str(tmp_path / "days.parquet")), open_sketches(str(tmp_path / "one.sketch"))
    for kept in ([days, one], [one, days]):
        with pytest.raises(InputError, match="the same 30 rows"):
            keep_merged(kept, tmp_path / "out.sketch", overwrite=True)
    place = tmp_path / "both"
    place.mkdir()
    for name in ("days.parquet", "one.sketch"):
        (tmp_path / name).rename(place / name)
    assert run("audit", place, "--resamples", 0).exit_code == 2
    half = pa.table({"y_true": y[:30], "y_prob": v[:30], "day": day[:30] + 2})  # another day, of equal contents
    pq.write_table(half, tmp_path / "half.parquet")
    write_rows(open_table(str(tmp_path / "half.parquet")), tmp_path / "third.parquet", names=NAMES, by=("day",))
    kept = [open_sketches(str(each)) for each in (place / "days.parquet", tmp_path / "third.parquet")]
    assert keep_merged(kept, tmp_path / "out.sketch", overwrite=True).n_rows == 90


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("state", [False, True])
def test_row_numbers_of_each_file_acquit_nothing(tmp_path, first, state):
    y, v = rows(900)
    for name, at in (("a", slice(0, 600)), ("b", slice(300, 900))):
        write(tmp_path / f"{name}.csv", y[at], v[at], list(range(first, first + 600)))
    if state:
        done = [run("gate", tmp_path / f"{n}.csv", "--max-distance", 0.3, "--anytime", tmp_path / "s") for n in "ab"]
        assert [each.exit_code == 2 for each in done] == [False, True]
        return
    with pytest.raises(InputError, match="300 rows"):
        open_table(tmp_path).read()
    both = write(tmp_path / "twice.csv", np.r_[y, y], np.r_[v, v], list(range(first, first + 1800)))
    with pytest.raises(InputError, match="twice"):
        open_table(both).read()
    coarse = tmp_path / "coarse"
    coarse.mkdir()
    for name, start in (("a", 0), ("b", 5)):  # numbers that go on from file to file are ids
        write(coarse / f"{name}.csv", np.zeros(5, int), np.zeros(5), list(range(start, start + 5)))
    assert len(open_table(coarse).read().y_prob) == 10


def frame_of(y, v, road, place):
    """What a sketch is made of, by one road."""
    table = pa.table({"y_true": y, "y_prob": v})
    if road == "csv":
        return write(place.with_suffix(".csv"), y, v)
    if road in ("parquet", "dataset"):
        pq.write_table(table, place.with_suffix(".parquet"))
        return place.with_suffix(".parquet") if road == "parquet" else ds.dataset(place.with_suffix(".parquet"))
    return table.to_pandas() if road == "pandas" else table


@pytest.mark.parametrize("road", ["csv", "parquet", "dataset", "pandas", "arrow"])
@pytest.mark.parametrize("resolution", [1024, 65536])
def test_a_sketch_of_each_table_knows_its_rows(tmp_path, road, resolution):
    y, v = rows(600)

    def of(part, name):
        frame = frame_of(y[part], v[part], road, tmp_path / name)
        return CalibrationSketch.from_frame(frame, resolution=resolution, **NAMES)

    first, rest, window = of(slice(0, 300), "a"), of(slice(300, 600), "b"), of(slice(150, 450), "c")
    assert CalibrationSketch.merge([first, rest]).n_rows == 600
    for others in (
        [first, window],
        [window, CalibrationSketch.merge([first, rest])],
        [of(slice(0, 600), "all"), first],
    ):
        others = [CalibrationSketch.from_bytes(each.to_bytes()) for each in others]
        with pytest.raises(InputError, match=r"sketch 1 (holds about|begins with the same) \d+ rows"):
            CalibrationSketch.merge(others)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["sketch", "sketch by", "merge", "merge of those", "memory"])
def test_what_is_read_from_a_sketch_names_that_its_rows_were_said_to_be_others(tmp_path, made):
    y, v = rows(300)
    place = tmp_path / "rows"
    place.mkdir()
    for name in "ab":
        write(place / f"{name}.csv", y, v, [1] * 300)
    out = tmp_path / ("o.parquet" if made == "sketch by" else "o.sketch")
    if made.startswith("sketch"):
        by = ("--by", "id") if made == "sketch by" else ()
        assert run("sketch", place, "-o", out, "--distinct", *by).exit_code == 0
    elif made == "memory":
        one = CalibrationSketch().update(y, v)
        out.write_bytes(CalibrationSketch.merge([one, one], distinct=True).to_bytes())
    else:
        for name in "ab":
            run("sketch", place / f"{name}.csv", "-o", tmp_path / f"{name}.sketch")
        assert run("merge", tmp_path / "a.sketch", tmp_path / "b.sketch", "-o", out, "--distinct").exit_code == 0
        if made == "merge of those":
            write(tmp_path / "c.csv", *rows(200, 1))
            run("sketch", tmp_path / "c.csv", "-o", tmp_path / "c.sketch")
            out, parts = tmp_path / "p.sketch", (out, tmp_path / "c.sketch")
            assert run("merge", *parts, "-o", out).exit_code == 0
    limit, state = ("--max-distance", 0.3, "--json"), ("--anytime", tmp_path / "state")
    new = write(tmp_path / "new.csv", *rows(200, 2))
    for command in (
        ("audit", out, "--resamples", 0, "--json"),
        ("gate", out, *limit),
        ("gate", new, *limit, "--baseline", out),
        ("gate", out, *limit, *state),
        ("gate", *limit, *state, "--so-far"),
    ):
        premises = json.loads(run(*command).stdout)["premises"]
        assert premises["distinct"], command
        assert "distinct rows" in premises["sentences"]["distinct"]
    for command in (("audit", new, "--resamples", 0, "--json"), ("gate", new, *limit)):
        assert not json.loads(run(*command).stdout)["premises"]["distinct"]
