"""Columns of class probabilities: listed, by pattern, guessed; and one column where there is one."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather
from typer.testing import CliRunner

from calibrant import FileError, InputError, audit, audit_table, smooth_calibration_error
from calibrant.cli.app import app
from calibrant.tables.entry import OpenedFile

pytestmark = pytest.mark.usefixtures("one_database")


def written(tmp_path, names, label=None, ending="csv", **more):
    table = np.random.default_rng(0).dirichlet(np.ones(len(names)), 40)
    frame = pd.DataFrame(table, columns=names)
    frame["y_true"] = np.arange(40) % len(names) if label is None else label
    for name, values in more.items():
        frame[name] = values
    path = tmp_path / f"rows.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    return str(path), table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "names", [["p0", "p1", "p2"], ["prob_1", "prob_2", "prob_3"], ["class_10", *[f"class_{i}" for i in range(10)]]]
)
def test_numbered_columns_are_guessed_in_the_order_of_their_numbers(tmp_path, ending, names):
    path, table = written(tmp_path, names, ending=ending)
    columns = OpenedFile(path).choose_classes(None)
    numbers = [int(name.strip("probclas_")) for name in columns]
    assert numbers == sorted(numbers)
    assert len(columns) == len(names)
    read = OpenedFile(path).read_classes(columns)
    assert read.classes == tuple(numbers)
    assert read.guessed == ("y_true",)
    assert np.allclose(read.y_prob, table[:, [names.index(name) for name in columns]], atol=1e-15)


def test_lists_and_patterns(tmp_path):
    path, table = written(tmp_path, ["cat", "dog", "eel"])
    assert OpenedFile(path).choose_classes(None) is None
    assert OpenedFile(path).choose_classes("dog, cat,eel") == ["dog", "cat", "eel"]
    read = OpenedFile(path).read_classes(["dog", "cat", "eel"])
    assert read.classes == (0, 1, 2)
    assert np.allclose(read.y_prob, table[:, [1, 0, 2]], atol=1e-15)
    with pytest.raises(FileError, match="fits 1 columns"):
        OpenedFile(path).choose_classes("d*")
    with pytest.raises(FileError, match="no column 'cow'"):
        OpenedFile(path).choose_classes("cat,cow")


def test_one_column_of_predictions_goes_first(tmp_path):
    path, _ = written(tmp_path, ["p0", "p1"], y_prob=0.5)
    assert OpenedFile(path).choose_classes(None) is None
    assert OpenedFile(path).choose_classes("p0") is None


@pytest.mark.parametrize("ending", ["csv", "json", "arrow"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("p0,p1,p1", "could be any of 2 columns: 'p1', 'p1'"),
        ("p0,p1,P1", "could be any of 2 columns: 'p1', 'P1'|'P1' and 'p1' have one number"),
        ("p00,p0", "'p0' and 'p00' have one number.*of 'p0', 'p00'"),
        ("p0,p_0,p1", "'p0' and 'p_0' have one number.*of 'p0', 'p_0', 'p1'"),
        ("p0,p1,score0,score1", "could be several of 'p0', 'p1', 'score0', 'score1'"),
        ("p0,p1,score0,score2", "could be several of 'p0', 'p1', 'score0', 'score2'"),
    ],
)
def test_columns_that_could_be_meant_or_not_are_refused(tmp_path, names, message, ending):
    held = names.split(",")
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        path.write_text(
            f"y_true,{names}\n" + "\n".join(",".join("1" for _ in range(len(held) + 1)) for _ in range(9)) + "\n"
        )
    elif len({name.casefold() for name in held}) < len(held) and (ending == "json" or "P1" not in held):
        pytest.skip("has no two keys of one name")
    elif ending == "json":
        path.write_text("\n".join([json.dumps(dict.fromkeys(["y_true", *held], 1))] * 9))
    else:
        feather.write_feather(pa.table({name: [1.0] * 9 for name in ["y_true", *held]}), path)
    with pytest.raises(FileError, match=message):
        OpenedFile(path).choose_classes(None)
    if "score" not in names:
        with pytest.raises(FileError, match=message):
            OpenedFile(path).choose_classes("[pP]*")
    if "P1" not in held and held[2:] != ["p1"]:
        assert OpenedFile(path).choose_classes(",".join(held[:2])) == held[:2]


def test_a_column_is_listed_once(tmp_path):
    path, _ = written(tmp_path, ["p0", "p1"])
    with pytest.raises(FileError, match="lists 'p1' twice"):
        OpenedFile(path).choose_classes("p0,p1,p1")


@pytest.mark.slow
def test_the_command(tmp_path):
    path, _ = written(tmp_path, ["p0", "p1", "p2"])
    done = CliRunner().invoke(app, ["audit", path, "--json", "--resamples", "0"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["classes"]["n_classes"] == 3
    assert "'p0 ... p2' as the predictions" in done.stderr
    refused = CliRunner().invoke(app, ["audit", path, "--by", "y_true"])
    assert refused.exit_code == 2
    assert "--by" in refused.stderr
    path, _ = written(tmp_path, ["p0", "p1", "p2"], label=7)
    refused = CliRunner().invoke(app, ["audit", path])
    assert refused.exit_code == 2
    assert "no class" in refused.stderr


@pytest.mark.slow
def test_rows_of_one_group_are_audited_as_the_columns_are(tmp_path):
    group = np.arange(40) // 2
    path, table = written(tmp_path, ["p0", "p1", "p2"], patient_id=group)
    options = {"max_weight": 2, "random_state": 0}
    found = audit_table(path, groups="patient_id", **options)
    there = audit(np.arange(40) % 3, table, groups=group, **options)
    assert found.gate == there.gate
    unnamed = [each.replace(" (column patient_id)", "") for each in found.answer.details]  # arrays have no columns
    assert replace(found.answer, details=tuple(unnamed)) == there.answer
    assert dict(found.columns)["groups"] == "patient_id"
    assert audit_table(path, random_state=0).premises.perhaps_groups == "patient_id"
    command = ["gate", path, "--max-distance", "0.9", "--groups", "patient_id", "--max-weight", "2", "--json"]
    (check,) = json.loads(CliRunner().invoke(app, command).stdout)["checks"]
    assert check["lower_distance"]["high"] == pytest.approx(found.gate.lower_distance.high)
    pd.read_csv(path).assign(patient_id=[None, *range(39)]).to_csv(path, index=False)
    with pytest.raises(InputError, match="groups: column 'patient_id': row 0 has no value"):
        audit_table(path, groups="patient_id")


def test_of_two_columns_the_positive_class_is_audited(tmp_path):
    path, table = written(tmp_path, ["p0", "p1"])
    done = CliRunner().invoke(app, ["audit", path, "--json", "--resamples", "0"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["pos_label"] == 1
    expected = smooth_calibration_error(np.arange(40) % 2, table[:, 1])
    assert said["smooth_calibration_error"]["attained"] == pytest.approx(expected, abs=1e-12)


def test_the_gate_takes_one_probability_of_two_and_says_how_to_go_on(tmp_path):
    path = tmp_path / "classes.csv"
    pd.DataFrame({"y_true": [0, 1, 1, 0], "p0": 0.5, "p1": 0.5}).to_csv(path, index=False)
    for asked in ((), ("--y-prob", "p*")):
        refused = CliRunner().invoke(app, ["gate", str(path), "--max-distance", "0.5", *asked])
        assert refused.exit_code == 2
        assert "are probabilities of classes, and the gate takes one probability" in refused.stderr
        assert "name the event's with --y-prob p1" in refused.stderr
    done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", "0.5", "--y-prob", "p1"])
    assert done.exit_code == 3


def test_a_bad_probability_of_a_class_is_told_by_its_column(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("y_true,p0,p1,p2\n0,0.5,0.25,0.25\n1,0.5,much,0.25\n")
    with pytest.raises(InputError) as told:
        audit_table(path, y_prob="p*")
    assert told.value.argument == "y_prob"
    assert "column 'p1'" in str(told.value)
    assert not re.search(r"y_prob_\d", str(told.value))


def test_two_files_of_classes_are_told_why_they_are_not_compared(tmp_path):
    path = tmp_path / "classes.csv"
    rows = "".join(f"{k % 3},0.5,0.25,0.25\n" for k in range(30))
    path.write_text(f"y_true,p0,p1,p2\n{rows}")
    done = CliRunner().invoke(app, ["audit", str(path), str(path), "--y-prob", "p*", "--resamples", "0"])
    assert done.exit_code == 0
    assert "probabilities of classes" in " ".join(done.stdout.split())
    assert "single, unweighted rows" not in " ".join(done.stdout.split())
