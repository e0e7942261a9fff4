"""What is no finite number, or out of range, becomes no answer by any road: refused by name and count, or left out."""

import json
import math

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant.cli.app import app
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.drift.periods import calibration_drift
from calibrant.segments.by_column import calibration_by_segment
from calibrant.sketch.sketch import CalibrationSketch
from tests.tables.roads import file_by_segment, file_drift, read_file, sketch_file

ibis = pytest.importorskip("ibis")
pytestmark = pytest.mark.usefixtures("one_database")

ROWS = 600
ARGUMENT = {"y": "y_true", "p": "y_prob", "w": "sample_weight"}
NAMES = {"y_true": "y", "y_prob": "p"}
CONNECTION = duckdb.connect()
BAD = [
    *((column, bad) for column in "ypw" for bad in (math.nan, math.inf, -math.inf, None)),
    *(("y", 2.0), ("y", -1.0), ("p", 1.5), ("p", -0.5), ("w", -1.0)),
]
CASES = [
    *(("parquet", column, bad) for column, bad in BAD),
    *((kind, column, bad) for kind in ("csv", "jsonl", "feather") for column in "ypw" for bad in (math.nan, None)),
]
FRAMES = {
    "pandas": lambda path: pq.read_table(path).to_pandas(),
    "pyarrow": pq.read_table,
    "polars": pl.read_parquet,
    "polars, scanned": pl.scan_parquet,
    "duckdb, scanned": CONNECTION.read_parquet,
    "duckdb, a view": lambda path: CONNECTION.sql(f"SELECT * FROM '{path}'"),
    "duckdb, a table": lambda path: CONNECTION.sql(
        f"CREATE OR REPLACE TEMP TABLE held AS FROM '{path}'; SELECT * FROM held"
    ),
    "ibis, scanned": ibis.read_parquet,
    "ibis": lambda path: ibis.memtable(pq.read_table(path)),
}


def columns(column, bad):
    """Two bad rows, one of them in the last group of rows; the statistics of neither group know of a NaN."""
    rng = np.random.default_rng(0)
    held = {
        "y": rng.integers(0, 2, ROWS).astype(float).tolist(),
        "p": rng.random(ROWS).tolist(),
        "w": (rng.random(ROWS) + 0.5).tolist(),
        "g": (np.arange(ROWS) % 3).tolist(),
    }
    for row in (250, ROWS - 1):
        held[column][row] = bad
    return held


def write(folder, kind, held):
    path = folder / f"rows.{kind}"
    table = pa.table({name: pa.array(values, from_pandas=False) for name, values in held.items()})
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    elif kind == "csv":
        lines = [
            ",".join("" if value is None else repr(value) for value in row) for row in zip(*held.values(), strict=True)
        ]
        path.write_text("\n".join([",".join(held), *lines, ""]), encoding="utf-8")
    else:
        rows = [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]
        quoted = {math.inf: '"inf"', -math.inf: '"-inf"'}  # JSON has no such numbers
        text = "\n".join(json.dumps(row) for row in rows)
        text = text.replace("-Infinity", quoted[-math.inf]).replace("Infinity", quoted[math.inf])
        path.write_text(text.replace("NaN", '"nan"'), encoding="utf-8")
    return str(path)


def refused(read, argument, counted=True):
    with pytest.raises(InputError) as caught:
        read()
    said = str(caught.value)
    assert argument in said
    assert "2 rows are" in said or not counted


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column", "bad"), CASES)
def test_files(tmp_path, kind, column, bad):
    path = write(tmp_path, kind, columns(column, bad))
    asked = {**NAMES, "sample_weight": "w"}
    argument = ARGUMENT[column]

    def whole():
        read = read_file(path, **asked)
        Sample.from_columns(read.y_true, read.y_prob, read.sample_weight)

    with pytest.raises(InputError, match=rf"{column}\b.*: row 250 |{argument}: row 250 "):
        whole()
    refused(lambda: sketch_file(path, **asked), argument)
    found = sketch_file(path, **asked, exclude_bad=True)
    assert (found.sketch.n_rows, found.n_excluded) == (ROWS - 2, 2)
    assert np.isfinite(found.sketch.cells()[1]).all()
    if kind != "parquet" or bad is None or not math.isnan(bad):
        return
    refused(lambda: file_by_segment(path, ["g"], **asked), argument)
    segments = file_by_segment(path, ["g"], **asked, exclude_bad=True)
    assert sum(segment.n_rows for segment in segments) == ROWS - 2
    if column != "w":
        refused(lambda: file_drift(path, "g", **NAMES, unweighted=True), argument)
        periods = file_drift(path, "g", **NAMES, unweighted=True, exclude_bad=True)
        assert sum(period.n_rows for period in periods) == ROWS - 2


@pytest.mark.filterwarnings("ignore")  # what narwhals and ibis say about versions to come
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("column", ["y", "p", "w"])
def test_frames(tmp_path, frame, column):
    table = frame(write(tmp_path, "parquet", columns(column, math.nan)))
    weighted = {**NAMES, "sample_weight": "w"}
    refused(lambda: CalibrationSketch.from_frame(table, **weighted), ARGUMENT[column])
    found = CalibrationSketch.from_frame(table, **weighted, exclude_bad=True)
    assert found.n_rows == ROWS - 2
    assert np.isfinite(found.cells()[1]).all()


@pytest.mark.parametrize("frame", ["duckdb, scanned", "polars, scanned"])
@pytest.mark.parametrize("column", ["y", "p", "w"])
def test_segments_and_periods_of_frames(tmp_path, frame, column):
    table = FRAMES[frame](write(tmp_path, "parquet", columns(column, math.nan)))
    weighted = {**NAMES, "sample_weight": "w"}
    refused(lambda: calibration_by_segment(table, by=["g"], **weighted), ARGUMENT[column])
    segments = calibration_by_segment(table, by=["g"], **weighted, exclude_bad=True)
    assert sum(segment.n_rows for segment in segments) == ROWS - 2
    if column != "w":
        refused(lambda: calibration_drift(table, by="g", **NAMES, unweighted=True), ARGUMENT[column])
        periods = calibration_drift(table, by="g", **NAMES, exclude_bad=True, unweighted=True)
        assert sum(period.n_rows for period in periods) == ROWS - 2


@pytest.mark.slow
@pytest.mark.parametrize("column", ["y", "p", "w"])
def test_on_the_command_line(tmp_path, column):
    path = write(tmp_path, "parquet", columns(column, math.nan))
    asked = ["audit", path, "--y-true", "y", "--y-prob", "p", "--by", "g", "--resamples", "50"]
    asked += ["--sample-weight", "w"] if column == "w" else ["--drift", "g", "--unweighted"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 2
    assert f"--{ARGUMENT[column]}: ".replace("_", "-") in found.stderr
    found = CliRunner().invoke(app, [*asked, "--exclude-bad", "--json"])
    assert found.exit_code in (0, 1)
    assert json.loads(found.stdout)["n_rows"] == ROWS - 2
    assert "Left out 2 rows" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e200, 1e-200])
def test_weights_that_do_not_add_up(tmp_path, weight):
    held = columns("p", 0.5) | {"w": [weight] * ROWS}
    path = write(tmp_path, "parquet", held)
    for read in (
        lambda: sketch_file(path, **NAMES, sample_weight="w"),
        lambda: file_by_segment(path, ["g"], **NAMES, sample_weight="w"),
        lambda: CalibrationSketch.from_frame(CONNECTION.read_parquet(path), **NAMES, sample_weight="w"),
    ):
        refused(read, "sample_weight", counted=False)


@pytest.mark.parametrize("frame", ["pyarrow", "duckdb, scanned", "polars"])
def test_nothing_is_left(tmp_path, frame):
    path = write(tmp_path, "parquet", columns("p", 0.5) | {"p": [math.nan] * ROWS})
    asked = {**NAMES, "exclude_bad": True, "unweighted": True}
    for read in (
        lambda: CalibrationSketch.from_frame(FRAMES[frame](path), **asked),
        lambda: calibration_by_segment(FRAMES[frame](path), by=["g"], **asked),
        lambda: calibration_drift(FRAMES[frame](path), by="g", **asked),
    ):
        with pytest.raises(InputError, match="no rows that are not excluded"):
            read()
