"""Large files: aggregated where they lie; every number printed with its bound, and segments on request."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import audit_table
from calibrant.cli.app import app
from calibrant.door.errors import FileError, InputError
from calibrant.measures.registry import measures
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables import entry
from calibrant.tables.entry import OpenedFile
from tests.tables.roads import file_by_segment, file_drift, sketch_file

pytestmark = pytest.mark.usefixtures("one_database")


def write(folder, n=4000, **changed):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    country = rng.choice(["de", "fr", "jp"], n)
    truth = np.where(country == "jp", p / 2, p)
    columns = {"y": (rng.random(n) < truth).astype(int), "p": p, "country": country} | changed
    for half in range(2):
        part = {name: values[half * n // 2 : (half + 1) * n // 2] for name, values in columns.items()}
        pq.write_table(pa.table(part), folder / f"part-{half}.parquet")
    return str(folder / "*.parquet"), columns


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments, "--seed", "0", "--resamples", "50"])


@pytest.mark.slow
def test_sketch_of_files_is_that_of_their_rows(tmp_path):
    pattern, columns = write(tmp_path)
    found = sketch_file(pattern, y_true="y", y_prob="p")
    wanted = CalibrationSketch().update(columns["y"], columns["p"])
    np.testing.assert_array_equal(found.sketch.cells()[0], wanted.cells()[0])
    np.testing.assert_allclose(found.sketch.cells()[1], wanted.cells()[1], rtol=1e-12)


@pytest.mark.slow
def test_large_files_are_sketched_and_every_number_has_its_bound(tmp_path, monkeypatch):
    pattern, columns = write(tmp_path)
    exact = json.loads(run(pattern, "--json").stdout)
    assert not OpenedFile(pattern).summed
    monkeypatch.setattr(entry, "MANY_ROWS", 1000)
    assert OpenedFile(pattern).summed
    sketched = json.loads(run(pattern, "--json").stdout)
    assert sketched["n_rows"] == exact["n_rows"] == 4000
    assert "pooled into" in sketched["title"]
    for name in measures():
        found = sketched["measures"][name]
        if found["value"] is None:
            assert found["not_computed"]
        else:
            bound = float(found["sentence"].rpartition("within ")[2].removesuffix(" of this."))
            assert abs(found["value"] - exact["measures"][name]["value"]) <= bound * 1.05
    smooth = measures()["smooth_calibration_error"].function(columns["y"], columns["p"])
    proved = sketched["smooth_calibration_error"]
    assert proved["attained"] <= smooth <= proved["dual_bound"]


@pytest.mark.slow
def test_segments_on_request(tmp_path):
    pattern, _ = write(tmp_path)
    page = run(pattern, "--by", "country").stdout
    said = " ".join(page.split())
    assert "Of 3 segments by country, 1 is off by more than noise: country = jp, " in said
    assert (
        "Sorted: those off by more than noise (q at most 0.05) first, then by smooth error, the largest first." in said
    )
    assert page.partition("\nSegments by country\n")[2].partition("\n- ")[2].startswith("jp: distance")
    (worst, *_) = json.loads(run(pattern, "--by", "country", "--json").stdout)["segments"]
    assert worst["key"] == ["jp"]
    refused = run(pattern, "--by", "contry")
    assert refused.exit_code == 2
    assert "--by: there is no column 'contry'" in refused.stderr


def test_bad_rows_of_a_large_file_are_counted_and_the_first_is_told(tmp_path):
    p = np.random.default_rng(0).random(4000)
    p[2500:2507], p[2700], p[2600] = 1.5, 3.0, -1.0
    pattern, _ = write(tmp_path, p=p)
    first = "the first is row 2500 (counted from 0 over the 2 files), which holds 1.5 in column 'p'"
    with pytest.raises(FileError, match=re.escape(f"y_prob: 9 rows are outside [0, 1]; {first}; correct")) as caught:
        sketch_file(pattern)
    assert caught.value.row == 2500


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "bad", "said"),
    [
        ("p", 1.7, "y_prob: 1 row is outside [0, 1]; it"),
        ("p", np.nan, "y_prob: 1 row is null or NaN; it"),
        ("p", None, "y_prob: 1 row is null or NaN; it"),
        ("y", 2.0, "y_true: 1 row is outside [0, 1]; it"),
        ("sample_weight", -1.0, "sample_weight: 1 row is negative or infinite; it"),
    ],
)
def test_the_only_bad_row_of_a_summed_file_is_told(tmp_path, monkeypatch, kind, column, bad, said):
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    monkeypatch.setattr(entry, "MANY_BYTES", 0)
    held = {"y": [0.0, 1.0] * 4, "p": [0.5] * 8, "sample_weight": [1.0] * 8}
    held[column] = [*held[column][:5], bad, *held[column][6:]]
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({name: pa.array(each, pa.float64()) for name, each in held.items()}), path)
    else:
        rows = [",".join("" if each is None else str(each) for each in row) for row in zip(*held.values(), strict=True)]
        path.write_text("\n".join([",".join(held), *rows, ""]))
    value = "null" if bad is None else f"{bad:g}"
    where = f" is row 5 (counted from 0), which holds {value} in column {column!r}"
    with pytest.raises(FileError, match=re.escape(said + where)):
        sketch_file(path, y_true="y", y_prob="p", sample_weight="sample_weight")


def test_text_files_take_the_same_road(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,p,day\n0,0.25,1\n1,0.5,1\n1,1,2\n", encoding="utf-8")
    assert sketch_file(str(path)).sketch.n_rows == 3
    assert {each.key for each in file_by_segment(str(path), ["day"])} == {("1",), ("2",)}


def json_lines(folder, name, values):
    path = folder / f"{name}.jsonl"
    rows = [{"y": i % 2, "p": 0.5, "c": value} for i, value in enumerate(values)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.mark.parametrize(
    "kinds", [["a", "1"], [1, -2], [1, 2**63 + 1], [1.5, 2], [True, False], ["2026-01-01", None]], ids=str
)
def test_segments_of_json_lines_are_their_values(tmp_path, kinds):
    path = json_lines(tmp_path, "rows", kinds * 20)
    segments = file_by_segment(path, ["c"], y_true="y", y_prob="p")
    assert sorted((segment.key for segment in segments), key=str) == sorted(((kind,) for kind in kinds), key=str)
    assert [segment.n_rows for segment in segments] == [20, 20]


@pytest.mark.parametrize("kinds", [[{"a": 1}, 1], [[1], [2]], ["1", 1], [10**30, 10**30 + 1]], ids=str)
def test_json_values_of_no_one_kind_are_no_segments(tmp_path, kinds):
    path = json_lines(tmp_path, "rows", kinds * 20)
    with pytest.raises(InputError, match=r"^--?by.*'c', which holds|^by: names the column 'c', which holds"):
        file_by_segment(path, ["c"], y_true="y", y_prob="p")


@pytest.mark.slow
def test_drift_and_segments_of_json_lines_on_the_command_line(tmp_path):
    path = json_lines(tmp_path, "rows", [f"2026-01-{i % 9 + 1:02}" for i in range(900)])
    for option in ("--by", "--drift"):
        found = run(path, "--y-true", "y", "--y-prob", "p", option, "c")
        assert found.exit_code == 0, found.output
        assert "2026-01-01" in found.output
    found = file_drift(json_lines(tmp_path, "weeks", [i // 100 for i in range(900)]), "c", y_true="y", y_prob="p")
    assert [period.period for period in found] == list(range(9))


@pytest.mark.parametrize("wild", [2**62, -(2**62), 2**63 + 2**62])
@pytest.mark.parametrize("weighted", [False, True])
def test_bad_outcomes_of_any_size_are_left_out(tmp_path, wild, weighted):
    kind = pa.uint64() if wild >= 2**63 else pa.int64()
    columns = {"y": pa.array([0, 1] * 50 + [wild] * 4, kind), "p": [0.5] * 104}
    if weighted:
        columns["sample_weight"] = [1.0] * 104
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table(columns), path)
    found = sketch_file(path, y_true="y", y_prob="p", exclude_bad=True)
    assert (found.sketch.n_rows, found.n_excluded) == (100, 4)
    with pytest.raises(InputError, match="4 rows are outside"):
        sketch_file(path, y_true="y", y_prob="p")


def test_segments_of_json_lines_by_their_folders(tmp_path):
    for day in ("2026-01-01", "2026-01-02"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "rows.jsonl").write_text('{"y": 1, "p": 0.5}\n' * 8)
    segments = file_by_segment(str(tmp_path / "*" / "*.jsonl"), ["day"], y_true="y", y_prob="p")
    assert sorted(str(segment.key[0]) for segment in segments) == ["2026-01-01", "2026-01-02"]


def test_a_bad_row_of_several_files_is_counted_over_them(tmp_path):
    p = np.full(4000, 0.5)
    p[2500] = 1.7
    pattern, _ = write(tmp_path, p=p)
    with pytest.raises(InputError, match=r"column 'p', rows counted from 0 over the 2 files: row 2500 is 1\.7"):
        audit_table(pattern, y_true="y", y_prob="p", n_resamples=0)
