"""Folders that name columns, texts that are nearly numbers, names that occur twice: an answer or one clear error."""

import decimal
import fractions

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from calibrant import audit_table
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.segments.by_column import calibration_by_segment
from calibrant.sketch.sketch import CalibrationSketch
from tests.tables.roads import file_by_segment, file_drift, read_file, sketch_file

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_may_name_columns(tmp_path, kind):
    for year, p in ((2025, 0.25), (2026, 0.5)):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        if kind == "csv":
            (folder / "part.csv").write_text(f"y_true,y_prob\n0,{p}\n1,{p}\n", encoding="utf-8")
        else:
            pq.write_table(pa.table({"y_true": [0, 1], "y_prob": [p, p]}), folder / "part.parquet")
    for pattern in (f"**/*.{kind}", f"*/part.{kind}"):
        path = str(tmp_path / pattern)
        assert read_file(path).y_prob.tolist() == [0.25, 0.25, 0.5, 0.5]
        assert sketch_file(path).sketch.n_rows == 4
        assert {segment.key for segment in file_by_segment(path, ["year"])} == {(2025,), (2026,)}
        assert [period.period for period in file_drift(path, "year")] == [2025, 2026]
    assert read_file(str(tmp_path / "year=2025" / f"part.{kind}")).y_prob.tolist() == [0.25, 0.25]


def rows(folder, value, kind="csv"):
    path = folder / f"rows.{kind}"
    text = f'y_true,y_prob\n0,0.25\n1,"{value}"\n' if kind == "csv" else f'{{"y_true":1,"y_prob":{value}}}\n'
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("value", ["0_1", "0_0.1", "1_0", "0x1", "0.5f", "1d-1", "t", "yes", "--1", "½", "１", "0,5"])
def test_texts_that_are_no_numbers(tmp_path, value):
    for read in (read_file, sketch_file):
        with pytest.raises(InputError, match=r"holds text|1 row is text"):
            read(rows(tmp_path, value))


@pytest.mark.parametrize(("value", "number"), [(" 0.5 ", 0.5), ("5e-1", 0.5), ("+.5", 0.5), ("1.", 1.0), ("TRUE", 1.0)])
def test_texts_that_are_numbers(tmp_path, value, number):
    assert read_file(rows(tmp_path, value)).y_prob.tolist() == [0.25, number]


@pytest.mark.parametrize("value", ["1e400", "1" + 400 * "0", "-1e400", "Infinity", "nan"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_numbers_too_large_are_infinite_and_refused(tmp_path, kind, value):
    path = rows(tmp_path, value.replace("nan", "NaN") if kind == "jsonl" else value, kind)
    with pytest.raises(InputError):
        sketch_file(path)
    read = read_file(path)
    with pytest.raises(InputError):
        Sample.from_columns(read.y_true, read.y_prob)


@pytest.mark.parametrize("huge", [10**400, fractions.Fraction(10**400), decimal.Decimal("1e400")], ids=type)
def test_objects_too_large(huge):
    with pytest.raises(InputError, match="y_prob: row 1 is "):
        Sample.from_columns([0, 1], [fractions.Fraction(1, 2), huge])


def test_whole_numbers_of_128_bits():
    for kind in (pl.Int128, pl.UInt128):
        assert Sample.from_columns(pl.Series([0, 1], dtype=kind), [0.5, 0.25]).ones.tolist() == [1.0, 0.0]
        frame = pl.DataFrame({"y": pl.Series([0, 1], dtype=kind), "p": [0.5, 0.25]})
        assert CalibrationSketch.from_frame(frame, y_true="y", y_prob="p").n_rows == 2
        with pytest.raises(InputError, match="by: names the column 'y'"):
            calibration_by_segment(frame.with_columns(z=1), y_true="z", y_prob="p", by=["y"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0000001, "1.0000001"), (-1e-9, "-1e-09"), (1.2, "1.2"), (1 + 2**-52, "1.0000000000000002")],
)
def test_the_value_shown_is_the_value_at_fault(value, shown):
    for columns in (([0, 1], [0.5, value]), ([0, value], [0.5, 0.25])):
        with pytest.raises(InputError, match=f"row 1 is {shown};"):
            Sample.from_columns(*columns)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("names", [("a", "a"), ("a", "A")])
def test_twins_are_refused_where_they_are_asked_for(tmp_path, kind, names):
    path = tmp_path / f"rows.{kind}"
    columns = ["y_true", "y_prob", *names]
    table = pa.table([pa.array([0, 1]), pa.array([0.25, 0.5]), pa.array([1, 2]), pa.array([3, 4])], names=columns)
    if kind == "csv":
        path.write_text(",".join(columns) + "\n0,0.25,1,3\n1,0.5,2,4\n", encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    assert read_file(str(path)).y_prob.tolist() == [0.25, 0.5]
    for read in (
        lambda: file_by_segment(str(path), ["a"]),
        lambda: file_drift(str(path), "a"),
        lambda: read_file(str(path), y_prob="a"),
    ):
        with pytest.raises(InputError, match="could be any of 2 columns: 'a', "):
            read()
    if names == ("a", "a"):
        with pytest.raises(InputError, match="several columns of one name"):
            CalibrationSketch.from_frame(table, y_true="y_true", y_prob="y_prob")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_column_without_a_name_cannot_be_asked_for(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    table = pa.table({"y_true": [0, 1], "y_prob": [0.25, 0.5], "": [1, 2]})
    (pq.write_table if kind == "parquet" else pyarrow.feather.write_feather)(table, path)
    assert read_file(str(path)).y_prob.tolist() == [0.25, 0.5]
    for read in (lambda: read_file(str(path), y_prob=""), lambda: file_by_segment(str(path), [""])):
        with pytest.raises(InputError, match="is empty; a column needs a name"):
            read()


@pytest.mark.parametrize("column", [[[1], [2]], [{"a": 1}, {"a": 2}]], ids=["lists", "structs"])
def test_groups_by_nested_values_are_refused(tmp_path, column):
    table = pa.table({"y": [0, 1], "p": [0.25, 0.5], "g": column})
    path = str(tmp_path / "rows.parquet")
    pq.write_table(table, path)
    names = {"y_true": "y", "y_prob": "p"}
    for read in (
        lambda: file_by_segment(path, ["g"], **names),
        lambda: file_drift(path, "g", **names),
        *(
            lambda frame=frame: calibration_by_segment(frame, by=["g"], **names)
            for frame in (table, table.to_pandas(), pl.from_arrow(table))
        ),
    ):
        with pytest.raises(InputError, match=r"^(by|drift): names the column 'g', .*; single values are needed"):
            read()


def test_a_prediction_beyond_single_precision_is_refused_without_a_warning(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n0,0.2\n1,1e300\n")
    with pytest.raises(InputError, match=r"row 1 is 1e\+300"):
        audit_table(path, y_true="y", y_prob="p")
