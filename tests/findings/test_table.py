"""One table by every road of `audit_table`: one answer, the same columns, the same refusals."""

import json
import math
import pickle
from collections import Counter
from functools import cache
from types import SimpleNamespace

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationSketch, FileError, InputError, audit, audit_table
from calibrant.cli.app import app
from calibrant.findings.tables import _check_columns
from calibrant.sketch.cells import MEASURED
from calibrant.tables.entry import OpenedFile
from calibrant.tables.frames import OpenedFrame

pytestmark = pytest.mark.usefixtures("one_database")

N = 240


def columns(**more):
    rng = np.random.default_rng(0)
    p = np.round(rng.random(N), 2)
    y = (rng.random(N) < p**1.5).astype(int)
    return {"label": y, "score": p, "site": np.arange(N) % 3, "day": np.arange(N) // 80, **more}


ROADS = {
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "pyarrow": lambda table, _: table,
    "lazy polars": lambda table, _: pl.from_arrow(table).lazy(),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "csv": lambda table, folder: _written(table.to_pandas().to_csv, folder / "rows.csv", index=False),
    "parquet": lambda table, folder: _written(lambda path: pq.write_table(table, path), folder / "rows.parquet"),
}
LAZY = ("lazy polars", "duckdb")


def _written(write, path, **options):
    write(path, **options)
    return path


@cache
def of_arrays():
    data = columns()
    return audit(data["label"], data["score"], random_state=0, n_resamples=99)


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
def test_one_answer_by_every_road(tmp_path, road):
    data = columns()
    wanted = of_arrays()
    table = ROADS[road](pa.table(data), tmp_path)
    found = audit_table(table, by="site", drift="day", random_state=0, n_resamples=99)
    assert dict(found.columns) == {"y_true": "label", "y_prob": "score"}
    assert (found.n_rows, found.n_excluded) == (N, 0)
    tolerance = 1e-9 if road in LAZY else 0.0
    assert found.smooth_calibration_error == pytest.approx(wanted.smooth_calibration_error, abs=tolerance)
    assert found.distance.lower == pytest.approx(wanted.distance.lower, abs=max(tolerance, 1e-15))
    assert sorted(int(each.key[0]) for each in found.segments) == [0, 1, 2]
    assert [int(period.period) for period in found.periods] == [0, 1, 2]
    assert found.segmented_by == ("site",)
    assert json.loads(found.to_json())["n_rows"] == N


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
def test_weights_are_used_or_asked_about_by_every_road(tmp_path, road):
    data = columns(sample_weight=np.linspace(0.5, 2.0, N))
    table = ROADS[road](pa.table(data), tmp_path)
    weighted = audit(data["label"], data["score"], sample_weight=data["sample_weight"], n_resamples=0)
    found = audit_table(table, n_resamples=0)
    assert found.columns["sample_weight"] == "sample_weight"
    assert found.smooth_calibration_error == pytest.approx(weighted.smooth_calibration_error, abs=1e-9)
    plain = audit(data["label"], data["score"], n_resamples=0)
    assert audit_table(table, n_resamples=0, unweighted=True).smooth_calibration_error == pytest.approx(
        plain.smooth_calibration_error, abs=1e-9
    )
    with pytest.raises(InputError, match=r"sample_weight: column 'sample_weight' cannot be used with periods of drift"):
        audit_table(table, drift="day", n_resamples=0)
    other = ROADS[road](pa.table(columns(w=np.ones(N))), tmp_path)
    with pytest.raises(InputError, match="sample_weight: column 'w' may hold weights"):
        audit_table(other)


@pytest.mark.parametrize("road", ROADS)
def test_bad_rows_are_refused_or_counted_by_every_road(tmp_path, road):
    data = columns()
    data["score"][[7, 9]] = 1.5
    table = ROADS[road](pa.table(data), tmp_path)
    with pytest.raises(InputError) as caught:
        audit_table(table, n_resamples=0)
    assert caught.value.argument == "y_prob"
    if road not in LAZY:
        assert caught.value.row == 7
        assert "column 'score', rows counted from 0: row 7 is 1.5" in str(caught.value)
    found = audit_table(table, n_resamples=0, exclude_bad=True, by=["site"])
    assert (found.n_rows, found.n_excluded) == (N - 2, 2)
    assert "2 bad rows were left out" in " ".join(found.summary().split())
    assert sum(each.n_rows for each in found.segments) == N - 2


@pytest.mark.parametrize("road", ROADS)
def test_columns_that_are_not_there_are_named_by_every_road(tmp_path, road):
    table = ROADS[road](pa.table(columns()), tmp_path)
    fails = FileError if road in ("csv", "parquet") else InputError
    for argument in ("y_true", "y_prob", "sample_weight", "by", "drift"):
        with pytest.raises(fails) as caught:
            audit_table(table, **{argument: "cite"}, n_resamples=0)
        assert caught.value.argument == argument
        assert "'cite'" in caught.value.problem


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
def test_classes_by_every_road(tmp_path, road):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 200)
    data = {"label": rng.integers(0, 3, 200), **{f"p{k}": p[:, k] for k in range(3)}}
    found = audit_table(ROADS[road](pa.table(data), tmp_path), n_resamples=0, random_state=0)
    assert found.classes.n_classes == 3
    wanted = audit(data["label"], p, n_resamples=0, random_state=0)
    assert found.smooth_calibration_error == pytest.approx(wanted.smooth_calibration_error, abs=1e-12)
    assert found.columns["y_prob"] == "p0 ... p2"


@pytest.mark.slow
def test_a_sketch_has_no_columns_to_name():
    data = columns()
    sketch = CalibrationSketch().update(data["label"], data["score"])
    found = audit_table(sketch, random_state=0, n_resamples=99)
    wanted = audit(data["label"], data["score"], random_state=0, n_resamples=99)
    assert found.smooth_calibration_error == pytest.approx(wanted.smooth_calibration_error, abs=1e-9)
    for asked in ({"by": "site"}, {"y_true": "label"}, {"exclude_bad": True}, {"drift": "day"}):
        with pytest.raises(InputError, match="a sketch holds sums of its rows"):
            audit_table(sketch, **asked)


def test_cells_are_no_distinct_predictions():
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    sketch = CalibrationSketch(128).update(rng.random(5000) < p, p)
    page = " ".join(audit_table(sketch, n_resamples=0).summary().split())
    assert "pooled into 128 cells of predictions" in page
    assert "128 distinct" not in page


@pytest.mark.parametrize("wrong", [3, None, [1, 2], object()], ids=["number", "none", "list", "object"])
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(InputError, match="table: is a"):
        audit_table(wrong)


BAD = [("score", 1.5), ("score", -0.1), ("score", np.nan), ("label", np.inf), ("label", 2.0), ("score", None)]
EAGER = [road for road in ROADS if road not in LAZY]


def with_bad_rows(weighted):
    """The columns with a bad row for each fault, and without those rows."""
    data = {name: list(values) for name, values in columns().items()}
    faults = list(BAD)
    if weighted:
        data["sample_weight"] = np.linspace(0.5, 2.0, N).tolist()
        faults += [("sample_weight", -1.0), ("sample_weight", np.inf), ("sample_weight", None)]
    rows = range(5, 5 + 20 * len(faults), 20)
    clean = {name: [value for i, value in enumerate(values) if i not in rows] for name, values in data.items()}
    for row, (name, bad) in zip(rows, faults, strict=True):
        data[name][row] = bad
    kinds = {"label": pa.float64(), "score": pa.float64(), "sample_weight": pa.float64()}
    held = [
        pa.table({name: pa.array(each, kinds.get(name), from_pandas=False) for name, each in table.items()})
        for table in (data, clean)
    ]
    return *held, len(faults)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("road", EAGER)
def test_without_bad_rows_the_rest_is_audited_as_a_clean_table(tmp_path, road, weighted):
    dirty, clean, n_bad = with_bad_rows(weighted)
    (tmp_path / "clean").mkdir()
    asked = {"by": "site", "n_resamples": 99, "random_state": 0, "title": "rows"} | (
        {} if weighted else {"drift": "day"}
    )
    wanted = audit_table(ROADS[road](clean, tmp_path / "clean"), **asked)
    found = audit_table(ROADS[road](dirty, tmp_path), **asked, exclude_bad=True)
    assert (found.n_excluded, found.n_cells) == (n_bad, None)
    assert found.population is not None or weighted
    of_dirty, of_clean = (json.loads(each.to_json()) for each in (found, wanted))
    assert of_dirty.pop("premises")["sentences"]["excluded"].startswith(f"{n_bad} bad rows left out")
    assert "excluded" not in of_clean.pop("premises")["sentences"]
    assert of_dirty == of_clean


@pytest.mark.parametrize("road", EAGER)
def test_rows_are_bad_by_the_same_rules_where_they_are_read_and_summed(tmp_path, road):
    dirty, _, n_bad = with_bad_rows(weighted=True)
    table = ROADS[road](dirty, tmp_path)
    table = OpenedFile(table) if road in ("csv", "parquet") else OpenedFrame(table)
    names = table.choose().names
    groups = table.groups(names, (), 64, exclude_bad=True)
    read = table.read(exclude_bad=True)
    assert read.n_excluded == groups.n_excluded == n_bad
    assert len(read.y_true) == groups.cells[:, MEASURED.index("count")].sum() == N - n_bad


TEXTS = ["0.5", "high", "0_1", "0x1", "true", " 0.25 ", "inf", "nan", "", "1e-3", "yes", "1.01"]
VALUES = [0.5, "high", None, True, 0.25, -1, 1e-3]


@pytest.mark.parametrize(
    ("name", "text", "good"),
    [
        ("rows.csv", "y,p\n" + "".join(f"{i % 2},{text}\n" for i, text in enumerate(TEXTS)), [0.5, 1.0, 0.25, 0.001]),
        (
            "rows.jsonl",
            "\n".join(json.dumps({"y": i % 2, "p": value}) for i, value in enumerate(VALUES)),
            [0.5, 1.0, 0.25, 0.001],
        ),
    ],
    ids=["csv", "jsonl"],
)
def test_texts_are_bad_rows_by_the_same_rules(tmp_path, name, text, good):
    (tmp_path / name).write_text(text)
    file = OpenedFile(tmp_path / name)
    read = file.read(exclude_bad=True)
    assert read.y_prob.tolist() == good
    n_bad = text.strip().count("\n") + (name == "rows.jsonl") - len(good)
    assert read.n_excluded == file.groups(read.names, (), 64, exclude_bad=True).n_excluded == n_bad


def test_where_no_row_is_good_there_is_no_audit(tmp_path):
    table = pa.table({"label": [0, 1], "score": [1.5, np.nan]})
    for road in EAGER:
        with pytest.raises(InputError, match="holds no rows that are not excluded"):
            audit_table(ROADS[road](table, tmp_path), exclude_bad=True)


def said_by(table, path, *options, **asked):
    """What Python is told, and what the command line is."""
    with pytest.raises(InputError) as caught:
        audit_table(table, n_resamples=0, **asked)
    pickled = pickle.loads(pickle.dumps(caught.value))
    assert (str(pickled), pickled.allowed) == (str(caught.value), caught.value.allowed)
    done = CliRunner().invoke(app, ["audit", str(path), "--resamples", "0", *options])
    assert done.exit_code == 2
    return str(caught.value), done.stderr


@pytest.mark.parametrize("road", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("fault", "options", "python", "command"),
    [
        ({"w": [1, 2]}, {}, "leave them out with unweighted=True", "leave them out with --unweighted"),
        (
            {"label": [0, 1, 1], "score": [0.2, 0.7, 0.6], "day": [0, 1, 2], "sample_weight": [1, 2, 3]},
            {"drift": "day"},
            "unweighted=True leaves them out; rows sampled by outcome need sampling_fractions as well",
            "--unweighted leaves them out; rows sampled by outcome need --sampling-fractions as well",
        ),
        ({"score": [0.5, None]}, {}, "every row needs a value, or exclude_bad=True", "or --exclude-bad leaves"),
        ({"score": [0.5, math.inf]}, {}, "must be finite, or exclude_bad=True leaves", "or --exclude-bad leaves"),
        ({"score": [0.5, None]}, {"by": "day"}, "exclude_bad=True", "--exclude-bad"),
        (
            {"label": [0.5, 0.2], "score": [0, 1]},
            {},
            "'label' and 'score' look swapped: as y_prob, 'score' is 0 or 1 in every row, and as y_true, 'label' is "
            "not; name y_true='score' and y_prob='label'",
            "name --y-true score and --y-prob label",
        ),
    ],
)
def test_each_is_told_in_its_own_words(tmp_path, road, fault, options, python, command):
    path = ROADS[road](pa.table({"label": [0, 1], "score": [0.2, 0.7], "day": [0, 1]} | fault), tmp_path)
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    in_python, on_the_command_line = said_by(path, path, *flags, **options)
    assert python in in_python
    assert command in on_the_command_line
    assert "--" not in in_python
    assert "=True" not in on_the_command_line


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--by", "g"]])
def test_a_gate_leaves_bad_rows_out_where_it_is_told_to(tmp_path, more):
    table = pa.table({"label": [0, 1, 0], "score": [0.2, None, 0.1], "g": ["a", "b", "a"]})
    asked = ["gate", str(ROADS["csv"](table, tmp_path)), "--max-distance", "0.1", *more]
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 2
    assert "is null; every row needs a value, or --exclude-bad leaves such rows out\n" in refused.stderr
    done = CliRunner().invoke(app, [*asked, "--exclude-bad", "--json"])
    assert json.loads(done.stdout)["checks"][0]["n_rows"] == 2
    assert "Left out 1 row" in done.stderr


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("by", 3),
        ("by", b"g"),
        ("by", ["g", 3]),
        ("by", ""),
        ("drift", ["g"]),
        ("drift", ""),
        ("y_prob", 3),
        ("y_true", b"y"),
        ("sample_weight", True),
        ("exclude_bad", "no"),
        ("unweighted", "yes"),
        ("title", 3),
        ("by", "nowhere"),
        ("drift", "nowhere"),
    ],
)
def test_what_names_no_column_is_refused_by_the_name_of_its_argument(argument, value):
    table = pa.table({"y_true": [0, 1] * 20, "y_prob": [0.2, 0.7] * 20, "g": [1] * 40})
    with pytest.raises(InputError) as told:
        audit_table(table, n_resamples=0, **{argument: value})
    assert told.value.argument == argument


def test_names_of_columns_are_text():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="named 0; names of columns must be text"):
        audit_table(pandas.DataFrame({0: [0, 1], "y_prob": [0.2, 0.7]}))


@pytest.mark.parametrize("road", ["arrow", "duckdb", "parquet", "polars"])
def test_a_zero_is_one_key_whatever_its_sign(road, tmp_path):
    rng = np.random.default_rng(0)
    p = np.where(np.arange(400) % 2, 0.3, 0.7)
    key = np.where(rng.random(400) < 0.5, 0.0, -0.0)
    table = pa.table({"y_true": (rng.random(400) < p) * 1, "y_prob": p, "g": key})
    if road == "duckdb":
        held = duckdb.connect()
        table = held.from_arrow(table)
    elif road == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        table = str(tmp_path / "t.parquet")
    elif road == "polars":
        table = pl.from_arrow(table)
    (segment,) = audit_table(table, by="g", n_resamples=0).segments
    assert segment.n_rows == 400


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_segment_is_reported_or_named_as_not_looked_at(seed, tmp_path):
    """Some segments have no weight at all, some keys are missing, and of some rows one or another has none."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b", "c", None], 60, p=[0.4, 0.3, 0.2, 0.1])
    columns = {"y": rng.integers(0, 2, 60), "p": rng.random(60), "site": site.tolist()}
    weight = np.where(rng.random(60) < 0.3, 0.0, 1.5)
    silent = rng.choice(["b", "c", ""], 2, replace=False)
    weight[np.isin(site.astype(str), silent)] = 0.0
    found = audit_table(
        pa.table(columns | {"w": weight}),
        y_true="y",
        y_prob="p",
        sample_weight="w",
        by=["site"],
        n_resamples=0,
    )
    count = Counter(site)
    told = {f"site = {each} ({count[each]} row{'s' * (count[each] != 1)})" for each in silent if each}
    assert set(found.weightless_segments) == told
    assert len(found.segments) + len(told) == len(set(site))
    said = " ".join(found.premises.omissions)
    assert all(each in said for each in told)
    found.to_html(tmp_path / "page.html")
    pages = found.summary(), (tmp_path / "page.html").read_text()
    assert all(("their rows have no weight" in " ".join(page.split())) == bool(told) for page in pages)
    assert ("Segments not looked at: " in json.dumps(found.premises.to_dict())) == bool(told)


@pytest.mark.parametrize("find", [(), ("site",), ("all",)])
@pytest.mark.parametrize("groups", [None, "who"])
@pytest.mark.parametrize("many", [False, True])
def test_a_search_by_groups_of_a_table_that_is_summed_is_refused_before_it_is_read(find, groups, many):
    required = []
    table = SimpleNamespace(columns=["site", "who"], many=many, require=lambda names, _: required.extend(names))
    request = SimpleNamespace(by=["day"], drift="week", groups=groups, find=find)
    if find and groups and many:
        with pytest.raises(InputError, match=r"^groups: cannot be searched by in a table of so many rows"):
            _check_columns(table, request)
    else:
        _check_columns(table, request)
    assert required == ["day", "week", *([groups] if groups else []), *(find if find != ("all",) else ())]
    if find == ("all",):
        table.columns.append("all")
        with pytest.raises(InputError, match="means every column and is the name of one"):
            _check_columns(table, request)
