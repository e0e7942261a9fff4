"""Sketches that are kept by day: written, merged, audited and gated are the rows' own; what is damaged is named."""

import json

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
from calibrant.kernels import sketching
from calibrant.sketch.cells import coarser
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import open_sketches
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
