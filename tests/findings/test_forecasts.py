"""Two forecast columns of one table: what two files with the same rows say."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import audit_table
from calibrant.cli.app import app
from calibrant.door.errors import InputError
from calibrant.findings.tables import check_forecasts

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    good = rng.random(400)
    return pa.table({"y": (rng.random(400) < good).astype(int), "good": good, "bad": good**3})


@pytest.mark.slow
def test_two_columns_are_compared_as_two_files_are(table, tmp_path):
    pq.write_table(table, tmp_path / "both.parquet")
    for name in ("good", "bad"):
        pq.write_table(table.select(["y", name]).rename_columns(["y_true", "y_prob"]), tmp_path / f"{name}.parquet")

    def said(*arguments):
        done = CliRunner().invoke(app, ["audit", *arguments, "--resamples", "99", "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    files = said(*(str(tmp_path / f"{name}.parquet") for name in ("good", "bad")))
    columns = said(str(tmp_path / "both.parquet"), "--y-true", "y", "--y-prob", "good", "--y-prob", "bad")
    assert columns["names"] == ["good", "bad"]
    assert columns["comparison"] == files["comparison"]
    assert columns["comparison"]["reject"]
    assert columns["sentence"] == files["sentence"].replace(".parquet", "")
    for one, other in zip(columns["audits"], files["audits"], strict=True):
        assert one["smooth_calibration_error"] == other["smooth_calibration_error"]
        assert one["tests"] == other["tests"]
    found = audit_table(table, y_true="y", y_prob=["good", "bad"], n_resamples=99, random_state=0)
    assert found.sentence == columns["sentence"]
    assert found.seed == 0
    assert [audit.title for audit in found.audits] == ["good", "bad"]


@pytest.mark.slow
def test_three_are_ranked_and_one_without_rows_is_not_tested(table):
    three = table.append_column("half", pa.array(np.full(400, 0.5)))
    found = audit_table(three, y_true="y", y_prob=("good", "bad", "half"), n_resamples=99, random_state=0)
    assert set(found.pairs.values) == {"good", "bad", "half"}
    summed = pytest.importorskip("polars").from_arrow(table).lazy()
    found = audit_table(summed, y_true="y", y_prob=["good", "bad"], n_resamples=0, random_state=0)
    assert found.result is None
    assert "single" in found.not_compared
    assert all(audit.road for audit in found.audits)


def test_what_is_no_list_of_forecasts_is_refused(table, tmp_path):
    for names, message in (
        (["good"], "names 1"),
        ([], "names 0"),
        (["good", "good"], "names a column twice"),
        (["good", "wors"], "there is no column 'wors'"),
        (["good", "p*"], "stands for columns of classes"),
        (["good", None], "y_prob"),
        (3, "is 3"),
    ):
        with pytest.raises(InputError, match="y_prob") as caught:
            audit_table(table, y_true="y", y_prob=names)
        assert message in str(caught.value)
    pq.write_table(table, tmp_path / "both.parquet")
    files = [str(tmp_path / "both.parquet")] * 2
    done = CliRunner().invoke(app, ["audit", *files, "--y-prob", "good", "--y-prob", "bad"])
    assert done.exit_code == 2
    assert "compares forecasts of one FILE" in done.output


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9])
def test_two_forecasts_to_eight_are_set_side_by_side(n):
    names = [f"p{k}" for k in range(n)]
    if 2 <= n <= 8:
        assert check_forecasts(names) == tuple(names)
    else:
        with pytest.raises(InputError, match=f"names {n}; give a list of two names to eight"):
            check_forecasts(names)
