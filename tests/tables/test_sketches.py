"""Sketches that are kept by day: written, merged, audited and gated are the rows' own; what is damaged is named."""

import datetime as dt
import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant import CalibrationSketch, audit_table
from calibrant.cli.app import app
from calibrant.door.errors import FileError, InputError
from calibrant.door.request import OF_ROWS
from calibrant.kernels import sketching
from calibrant.sketch.cells import coarser
from calibrant.tables.entry import open_table
from calibrant.tables.frames import OpenedFrame
from calibrant.tables.sketches import (
    KeptSketches,
    Written,
    _explained,
    check_place,
    keep_merged,
    open_sketches,
    write_rows,
)
from tests.strategies import examples

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = ["--y-true", "y", "--y-prob", "p"]


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return pa.table({"y": (rng.random(n) < p**1.5).astype(int), "p": p, "day": np.arange(n) % 3})


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == code, done.output
    return done.stdout if "--json" in arguments else " ".join(done.output.split())


@pytest.fixture
def days(tmp_path):
    """Rows of three days as Parquet, and their sketches in one file."""
    pq.write_table(rows(), tmp_path / "rows.parquet")
    run("sketch", tmp_path / "rows.parquet", *NAMES, "--by", "day", "-o", tmp_path / "days.parquet")
    return tmp_path


def assert_same_sketch(found, wanted):
    (index, cells), (number, sums) = found.cells(), wanted.cells()
    assert np.array_equal(index, number)
    assert np.array_equal(cells[:, :3], sums[:, :3])
    assert np.allclose(cells, sums, rtol=1e-13, atol=1e-13)


def whole():
    return CalibrationSketch().update(rows()["y"], rows()["p"])


@pytest.mark.slow
def test_a_file_of_sketches_has_a_row_a_day_that_anyone_can_read(days):
    held = pq.read_table(days / "days.parquet")
    assert held.column_names == ["day", "n_rows", "sketch"]
    assert sorted(zip(held["day"].to_pylist(), held["n_rows"].to_pylist(), strict=True)) == [
        (0, 200),
        (1, 200),
        (2, 200),
    ]
    for day, data in zip(held["day"].to_pylist(), held["sketch"].to_pylist(), strict=True):
        of_day = rows().filter(pa.compute.equal(rows()["day"], day))
        wanted = CalibrationSketch().update(of_day["y"], of_day["p"])
        assert_same_sketch(CalibrationSketch.from_bytes(data), wanted)


@pytest.mark.slow
def test_merged_by_any_way_it_is_the_sketch_of_all_rows(days):
    one = days / "one.sketch"
    said = run("merge", days / "days.parquet", "-o", one)
    assert f"{days / 'days.parquet'}: 600 rows Wrote {one}: 1 sketch of 600 rows" in said
    assert_same_sketch(open_sketches(str(one)).sketch(), whole())
    run("sketch", days / "rows.parquet", *NAMES, "-o", days / "all.parquet")
    assert_same_sketch(CalibrationSketch.from_parquet(days / "all.parquet"), whole())
    for day in range(3):
        part = rows().filter(pa.compute.equal(rows()["day"], day)).drop(["day"])
        (days / f"kept/day={day}").mkdir(parents=True)
        pq.write_table(part, days / "part.parquet")
        run("sketch", days / "part.parquet", *NAMES, "-o", days / f"kept/day={day}/part.sketch")
    kept = open_table(str(days / "kept"))
    assert kept.columns == ["day"]
    assert_same_sketch(kept.sketch(), whole())
    run("merge", days / "kept", "--by", "day", "-o", days / "again.parquet")
    one, other = (pq.read_table(days / f"{name}.parquet").sort_by("day") for name in ("days", "again"))
    assert one["day"].equals(other["day"])
    for a, b in zip(one["sketch"].to_pylist(), other["sketch"].to_pylist(), strict=True):
        assert_same_sketch(CalibrationSketch.from_bytes(a), CalibrationSketch.from_bytes(b))


@pytest.mark.slow
def test_audits_and_gates_from_sketches_alone_are_those_of_the_summed_rows(days):
    lazy = pytest.importorskip("polars").scan_parquet(days / "rows.parquet")
    options = {"by": "day", "drift": "day", "n_resamples": 99, "random_state": 0}
    there = audit_table(lazy, y_true="y", y_prob="p", **options)
    found = audit_table(days / "days.parquet", **options)
    assert found.smooth_lower == pytest.approx(there.smooth_lower, abs=1e-12)
    assert found.answer.state == there.answer.state
    assert found.answer.interval == pytest.approx(there.answer.interval, abs=1e-9)
    for one, other in zip(found.segments, there.segments, strict=True):
        assert (one.key, one.n_rows) == (other.key, other.n_rows)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-9)
    for one, other in zip(found.periods, there.periods, strict=True):
        assert (one.period, one.n_rows) == (other.period, other.n_rows)
        assert one.reading.pvalue == pytest.approx(other.reading.pvalue, rel=1e-9)
    assert found.road == "Sketches of 600 rows were added up to 596 cells, " + found.road.partition(", ")[2]
    gate = json.loads(run("gate", days / "days.parquet", "--max-distance", ".5", "--by", "day", "--json"))
    assert [check["name"] for check in gate["checks"]] == ["all rows", "day = 0", "day = 1", "day = 2"]
    assert gate["verdict"] == "within"
    run("merge", days / "days.parquet", "-o", days / "all.sketch")
    alone = json.loads(run("gate", days / "all.sketch", "--max-distance", ".5", "--json"))
    wanted = whole().gate(max_distance=0.5)
    assert alone["lower_distance"]["high"] == pytest.approx(wanted.lower_distance.high, abs=1e-12)
    run("gate", days / "all.sketch", "--max-distance", ".5", "--baseline", days / "days.parquet")


@pytest.mark.slow
def test_weighted_sketches_are_gated_with_their_bound_and_say_so_without(tmp_path):
    table = rows(2000)
    weight = np.random.default_rng(1).random(2000)
    sketch = CalibrationSketch().update(table["y"], table["p"], sample_weight=weight)
    (tmp_path / "w.sketch").write_bytes(sketch.to_bytes())
    assert "is needed, as the sketch holds weights" in run(
        "gate", tmp_path / "w.sketch", "--max-distance", ".5", code=2
    )
    run("gate", tmp_path / "w.sketch", "--max-distance", ".5", "--max-weight", "1")
    found = audit_table(tmp_path / "w.sketch", max_weight=1.0, n_resamples=0)
    assert found.population is not None


def refused(*arguments):
    with pytest.raises(InputError) as caught:
        audit_table(*arguments, n_resamples=0)
    return str(caught.value)


@pytest.mark.slow
def test_what_cannot_be_added_is_named_and_nothing_is_written(days):
    out = days / "out.sketch"
    kept = days / "days.parquet"
    run("merge", kept, "-o", out)
    before = out.read_bytes()
    assert "exists already; --overwrite replaces it" in run("merge", kept, "-o", out, code=2)
    run("merge", kept, "-o", out, "--overwrite")
    assert out.read_bytes() == before
    assert "is named twice" in run("merge", kept, kept, "-o", days / "b.sketch", code=2)
    assert "is an input file itself" in run("merge", kept, "-o", kept, "--overwrite", code=2)
    assert "ends in neither .sketch nor .parquet" in run("merge", kept, "-o", days / "b.bin", code=2)
    assert "can hold one sketch" in run("merge", kept, "--by", "day", "-o", days / "b.sketch", code=2)
    assert "holds no sketches; calibrant sketch makes them" in run(
        "merge", days / "rows.parquet", "-o", days / "b.sketch", code=2
    )
    assert "holds sketches already" in run("sketch", kept, "-o", days / "b.sketch", code=2)
    coarse = days / "coarse.sketch"
    coarse.write_bytes(CalibrationSketch(64).update([0, 1], [0.5, 0.25]).to_bytes())
    said = run("merge", out, coarse, "-o", days / "b.sketch", code=2)
    assert "coarse.sketch' has the resolution 64, and " in " ".join(said.split())
    for at in (len(before) // 2, -3):
        broken = bytearray(before)
        broken[at] ^= 1
        (days / "broken.sketch").write_bytes(bytes(broken))
        assert "broken.sketch' is not a calibration sketch" in refused(days / "broken.sketch")
    (days / "broken.sketch").write_bytes(before[:-10])
    assert "broken.sketch' is not a calibration sketch" in run(
        "merge", out, days / "broken.sketch", "-o", days / "b.sketch", code=2
    )
    (days / "broken.sketch").unlink()
    held = pq.read_table(kept)
    data = held["sketch"].to_pylist()
    data[1] = data[1][:-1]
    pq.write_table(held.set_column(2, "sketch", pa.array(data, pa.binary())), days / "cut.parquet")
    assert "cut.parquet', row 1 is not a calibration sketch" in refused(days / "cut.parquet")
    data[1] = None
    pq.write_table(held.set_column(2, "sketch", pa.array(data, pa.binary())), days / "cut.parquet")
    assert "cut.parquet', row 1 holds no sketch" in refused(days / "cut.parquet")
    intact = kept.read_bytes()
    for at in range(4, len(intact), len(intact) // 12):  # most of it is in the sketches' pages
        (days / "cut.parquet").write_bytes(intact[:at] + bytes([intact[at] ^ 4]) + intact[at + 1 :])
        with pytest.raises(FileError, match=r"cut\.parquet"):
            open_sketches(str(days / "cut.parquet")).groups({}, ["day"], 128)
    (days / "cut.parquet").write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(FileError, match=r"cut\.parquet"):
        audit_table(days / "cut.parquet", n_resamples=0)
    assert not (days / "b.sketch").exists()
    assert not list(days.glob(".*"))  # and nothing half written


@pytest.mark.slow
def test_sketches_that_look_like_copies_are_refused(days):
    (days / "copy.parquet").write_bytes((days / "days.parquet").read_bytes())
    asked = ("merge", days / "days.parquet", days / "copy.parquet", "-o", days / "both.sketch")
    said = " ".join(run(*asked, code=2).split())
    assert "copy.parquet', row 0 holds the same 200 rows as" in said
    assert "1 sketch of 1,200 rows" in run(*asked, "--distinct")


@pytest.mark.slow
def test_what_needs_rows_is_refused(days):
    kept = str(days / "days.parquet")
    for argument, value in (
        ("y_true", "y"),
        ("y_prob", "p"),
        ("find", "day"),
        ("groups", "day"),
        ("unweighted", True),
        ("exclude_bad", True),
        ("pos_label", "a"),
    ):
        with pytest.raises(InputError, match=f"{argument}: is for tables with columns; a sketch holds sums"):
            audit_table(kept, **{argument: value})
    with pytest.raises(InputError, match="there is no column 'week'; there are 'day'"):
        audit_table(kept, n_resamples=0, by="week")
    with pytest.raises(InputError, match="by: is for tables with columns"):
        audit_table(whole(), n_resamples=0, by="day")
    coarse = CalibrationSketch(64).update([0, 1], [0.5, 0.25])
    pq.write_table(pa.table({"day": [1], "sketch": [coarse.to_bytes()]}), days / "coarse.parquet")
    with pytest.raises(FileError, match="has the resolution 64, and this takes at least 128"):
        audit_table(days / "coarse.parquet", n_resamples=0, by="day")


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 64), st.integers(1, 5)), min_size=1, max_size=30),
    st.sampled_from([2, 8, 64]),
)
@examples(200)
def test_coarser_cells_are_those_of_the_rows(held, wanted):
    y = np.array([float(one) for one, _, _ in held])
    v = np.array([k / 64 + (u - 3) / 1000 if 0 < k < 64 else k / 64 for _, k, u in held])
    index, cells = CalibrationSketch(64).update(y, v).cells()
    number, sums = coarser(index, cells, 64, wanted)
    found = np.zeros((2 * wanted + 1, cells.shape[1]))
    np.add.at(found, number, sums)
    at, there = CalibrationSketch(wanted).update(y, v).cells()
    assert sorted(set(number.tolist())) == at.tolist()
    several = slice(0, sketching.LOW)
    assert np.allclose(found[at][:, several], there[:, several], rtol=1e-12, atol=1e-12)


def two(*events, weight=None, resolution=64):
    """A sketch of a few rows: so many of them with an event at each of 1/4, 1/2 and 3/4, of three each."""
    y = [float(k < n) for n in events for k in range(3)]
    v = [at / 4 for at in range(1, len(events) + 1) for _ in range(3)]
    return CalibrationSketch(resolution).update(y, v, sample_weight=weight)


def kept(path, sketches, **keys):
    """Sketches in a file of Parquet, with these keys; as a table."""
    data = [each if each is None else each.to_bytes() for each in sketches]
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table({**keys, "sketch": pa.array(data, pa.binary())}), path)
    return open_sketches(str(path))


def fault(call, of=FileError):
    with pytest.raises(of) as caught:
        call()
    assert type(caught.value) is of
    return str(caught.value)


def test_some_of_the_sketches_are_added_up(tmp_path):
    parts = [two(1, 2), two(2, 1), two(0, 3)]
    table = kept(tmp_path / "a.parquet", parts, day=[1, 2, 3])
    for numbers in ([1], [0, 2], None):
        wanted = CalibrationSketch.merge([parts[at] for at in (range(3) if numbers is None else numbers)])
        assert_same_sketch(table.sketch(numbers), wanted)
    assert [at for at, _, _ in table.stored([2, 0])] == [0, 2]


def test_a_sketch_in_memory_is_the_only_one_of_its_table():
    for distinct in (False, True):
        held = two(1, 2)
        held.distinct = distinct
        table = KeptSketches.of(held)
        ((at, where, stored),) = table.stored()
        assert (at, where) == (0, "the sketch")
        assert stored.distinct == distinct
        assert np.array_equal(stored.columns, held.held()[1])
        assert table.of_distinct == distinct
        table = KeptSketches.of(held)
        assert table.sketch() is held
        assert table.of_distinct == distinct
        assert table.path_print is None
        assert not table.compared


@pytest.mark.parametrize("problem", [pa.ArrowInvalid("odd"), OSError("odd"), ValueError("odd"), duckdb.Error("odd")])
def test_what_readers_say_is_told_of_the_file(problem):
    with pytest.raises(FileError, match=r"file: 'a\.parquet' is cut or damaged: odd"), _explained("a.parquet"):
        raise problem
    for other in (InputError("a", "b"), MemoryError(), KeyError("a"), OSError(12, "no memory")):
        with pytest.raises(type(other)) as same, _explained("a.parquet"):
            raise other
        assert same.value is other


def test_keys_of_several_types_are_told_of_all_sketches_that_are_merged(tmp_path):
    tables = [kept(tmp_path / f"{name}.parquet", [two(1, 2)], day=[day]) for name, day in (("a", 1), ("b", "x"))]
    said = fault(lambda: keep_merged(tables, tmp_path / "c.parquet", by=["day"]))
    assert said.startswith("file: column 'day' holds numbers in ")


FAULTS_OF_SKETCHES = {
    "a column of folders": (
        lambda folder: kept(folder / "day=1/a.parquet", [two(1, 2)], day=[1]).keys,
        "file: 'day' is a column of the files and of their folders; rename one",
    ),
    "no rows": (lambda folder: kept(folder / "a.parquet", [], day=pa.array([], pa.int64())).keys, "holds no sketches"),
    "nothing in a row": (
        lambda folder: kept(folder / "a.parquet", [two(1, 2), None], day=[1, 2]).sketch(),
        "a.parquet', row 1 holds no sketch",
    ),
    "two resolutions": (
        lambda folder: kept(folder / "a.parquet", [two(1, 2), two(2, 1, resolution=128)], day=[1, 2]).sketch(),
        "a.parquet', row 1 has the resolution 128, and ",
    ),
    "wide cells": (
        lambda folder: kept(folder / "a.parquet", [two(1, 2)], day=[1]).groups({}, ["day"], 128),
        "a.parquet', row 0 has the resolution 64, and this takes at least 128",
    ),
    "keys of several types": (
        lambda folder: [
            kept(folder / "a.parquet", [two(1, 2)], day=[dt.date(2026, 1, 1)]),
            kept(folder / "b.parquet", [two(2, 1)], day=[dt.datetime(2026, 1, 1, 9)]),
            open_sketches(str(folder)).keys,
        ],
        "holds keys of several types",
    ),
    "no sketches": (
        lambda folder: [pq.write_table(rows(9), folder / "a.parquet"), open_sketches(str(folder))],
        "holds no sketches, such as ",
    ),
}


@pytest.mark.parametrize("what", FAULTS_OF_SKETCHES)
def test_what_is_wrong_with_kept_sketches_is_named(tmp_path, what):
    call, said = FAULTS_OF_SKETCHES[what]
    assert said in fault(lambda: call(tmp_path))


def test_weights_are_refused_where_single_outcomes_are_counted(tmp_path):
    table = kept(tmp_path / "a.parquet", [two(1, 2, weight=[1.0, 2.0] * 3)], day=[1])
    said = fault(lambda: table.groups({}, ["day"], 64, option="drift"), InputError)
    assert said.startswith("drift: the evidence counts single outcomes, and ")
    assert said.endswith("a.parquet', row 0 holds weights")
    assert table.groups({}, ["day"], 64).cells[:, sketching.WEIGHT].sum() == 9.0
    plain = kept(tmp_path / "b.parquet", [two(1, 2)], day=[1])
    assert plain.groups({}, ["day"], 64, option="drift").cells[:, sketching.COUNT].sum() == 6


OF_SKETCHES = {
    "y_true": lambda table: table.choose(y_true="y"),
    "y_prob": lambda table: table.choose(y_prob="p"),
    "sample_weight": lambda table: table.choose(sample_weight="w"),
    "unweighted": lambda table: table.choose(unweighted=True),
    "y_prob of classes": lambda table: table.choose_classes("p"),
    "y_prob of arrays": lambda table: table.arrays({}),
    "exclude_bad": lambda table: table.good_arrays({}),
    "exclude_bad of all": lambda table: table.sketched({}, exclude_bad=True),
    "exclude_bad of groups": lambda table: table.groups({}, [], 64, exclude_bad=True),
    "exclude_bad of features": lambda table: table.with_features({}, ["a"], "find", exclude_bad=True, groups="g"),
    "groups": lambda table: table.with_features({}, ["a"], "find", groups="g"),
    "find": lambda table: table.with_features({}, ["a"], "find"),
    "items": lambda table: table.ranks("a", "items"),
    "slices": lambda table: table.lazily({}, ["a"], "slices"),
    "by": lambda table: table.require(["day"], "by"),
}


@pytest.mark.parametrize("asked", OF_SKETCHES)
def test_what_needs_rows_is_refused_of_a_sketch_by_its_argument(asked):
    said = fault(lambda: OF_SKETCHES[asked](KeptSketches.of(two(1, 2))), InputError)
    assert said == f"{asked.split()[0]}: {OF_ROWS}"


def test_what_is_not_asked_for_is_not_refused_of_a_sketch(tmp_path):
    table = KeptSketches.of(two(1, 2))
    assert table.choose().names == {}
    assert table.choose(unweighted=False).guessed == ()
    assert table.choose_classes(None) is None
    table.require([], "by")
    sketch, n_excluded = table.sketched({})
    assert (sketch.n_rows, n_excluded) == (6, 0)
    with_keys = kept(tmp_path / "a.parquet", [two(1, 2)], day=[1])
    with_keys.require(["day"], "by")
    assert "by: there is no column 'week'; there are 'day'" in fault(
        lambda: with_keys.require(["week"], "by"), InputError
    )


@pytest.mark.parametrize(
    ("path", "by", "overwrite", "said"),
    [
        ("a.bin", [], False, "a.bin' ends in neither .sketch nor .parquet"),
        ("a", [], True, "ends in neither .sketch nor .parquet"),
        ("a.sketch", ["day"], False, "a.sketch' can hold one sketch; with columns name a file that ends in .parquet"),
        ("there.sketch", [], False, "there.sketch' exists already; --overwrite replaces it"),
        ("there.sketch", [], True, None),
        ("a.SKETCH", [], False, None),
        ("a.Parquet", ["day"], False, None),
        ("a.parquet", [], False, None),
    ],
)
def test_a_place_for_sketches(tmp_path, path, by, overwrite, said):
    (tmp_path / "there.sketch").write_bytes(b"x")
    if said is None:
        check_place(tmp_path / path, by, overwrite)
    else:
        found = fault(lambda: check_place(tmp_path / path, by, overwrite))
        assert found.startswith("out: ")
        assert said in found


@pytest.mark.parametrize("name", ["all.sketch", "all.parquet"])
def test_without_keys_all_rows_are_one_sketch(tmp_path, name):
    table = OpenedFrame(pa.table({"y": [1, 0, 1], "p": [0.5, 0.25, None]}))
    written = write_rows(table, tmp_path / name, names={"y_true": "y", "y_prob": "p"}, exclude_bad=True)
    assert written == Written(1, 2, 1)
    assert_same_sketch(open_sketches(str(tmp_path / name)).sketch(), CalibrationSketch().update([1, 0], [0.5, 0.25]))


@pytest.mark.parametrize("name", ["sketch", "n_rows"])
def test_keys_are_not_called_as_columns_of_sketches_are(tmp_path, name):
    table = kept(tmp_path / "a.parquet", [two(1, 2)], day=[1])
    for call in (
        lambda: keep_merged([table], tmp_path / "b.parquet", by=[name]),
        lambda: write_rows(table, tmp_path / "b.parquet", names={}, by=[name]),
    ):
        assert f"by: names {name!r}, which is what a column of the sketches is called" in fault(call, InputError)
    assert not (tmp_path / "b.parquet").exists()


def many(seed, n=120, resolution=65536):
    """A sketch of rows that no other would have by chance."""
    rng = np.random.default_rng(seed)
    return CalibrationSketch(resolution).update(rng.integers(0, 2, n), rng.random(n))


def test_copies_are_refused_unless_rows_are_few_and_of_other_keys(tmp_path):
    few, each = two(1, 2, resolution=65536), many(0)
    assert "row 1 holds the same 6 rows as" in fault(kept(tmp_path / "same.parquet", [few, few], day=[1, 1]).sketch)
    assert kept(tmp_path / "days.parquet", [few, few], day=[1, 2]).sketch().n_rows == 12
    assert "row 1 holds the same 120 rows as" in fault(kept(tmp_path / "many.parquet", [each, each], day=[1, 2]).sketch)


def test_copies_of_rows_that_are_said_to_be_distinct_are_merged(tmp_path):
    (tmp_path / "a.sketch").write_bytes(many(0).to_bytes())
    (tmp_path / "b.sketch").write_bytes((tmp_path / "a.sketch").read_bytes())
    tables = [open_sketches(str(tmp_path / f"{name}.sketch")) for name in "ab"]
    assert "b.sketch' holds the same 120 rows as" in fault(lambda: keep_merged(tables, tmp_path / "all.sketch"))
    assert keep_merged(tables, tmp_path / "all.sketch", distinct=True).n_rows == 240
    assert CalibrationSketch.from_bytes((tmp_path / "all.sketch").read_bytes()).distinct


def test_files_that_are_merged_are_told_with_their_rows(tmp_path):
    files = [str(tmp_path / f"{at}.parquet") for at in range(2)]
    tables = [
        kept(tmp_path / f"{at}.parquet", [many(at, 40 + at, 64), many(9 + at, 60, 64)], day=[at, 7]) for at in (0, 1)
    ]
    merged = keep_merged(tables, tmp_path / "all.sketch")
    assert merged.parts == tuple(zip(files, (100, 101), strict=True))
    assert (merged.n_sketches, merged.n_rows, merged.n_excluded, merged.unlisted) == (1, 201, 0, ())
    by_day = keep_merged(tables, tmp_path / "days.parquet", by=["day"])
    assert (by_day.n_sketches, by_day.n_rows) == (3, 201)
    held = pq.read_table(tmp_path / "days.parquet")
    assert dict(zip(held["day"].to_pylist(), held["n_rows"].to_pylist(), strict=True)) == {0: 40, 1: 41, 7: 120}


@pytest.mark.parametrize(
    ("n", "more"), [(1, None), (20, None), (21, "1 more file: 21 rows"), (23, "3 more files: 66 rows")]
)
def test_up_to_twenty_files_are_told_one_by_one(n, more):
    parts = tuple((f"{at}.sketch", at) for at in range(1, n + 1))
    *lines, last = Written(1, 5, 0, parts).summary("out.sketch").split("\n")
    assert last == "Wrote out.sketch: 1 sketch of 5 rows"
    assert lines == [f"{at}.sketch: {at} row{'s' * (at > 1)}" for at in range(1, min(n, 20) + 1)] + [more] * (n > 20)
