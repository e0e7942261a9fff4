"""A column of weights is used or refused by name, by every command, and what was guessed is said."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant
from calibrant import InputError, audit_table
from calibrant.cli.app import app
from calibrant.tables.columns import may_hold_weights

pytestmark = pytest.mark.usefixtures("one_database")

RUN = CliRunner()


def run(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def weighted(tmp_path):
    """Calibrated as they stand; a few rows with nearly all the weight are not."""
    rng = np.random.default_rng(0)
    y_prob = rng.random(6_000)
    y_true = (rng.random(y_prob.size) < y_prob) * 1
    y_true[:50], weight = 0, np.ones(y_prob.size)
    weight[:50] = 1e4
    path = tmp_path / "rows.csv"
    columns = {"y_true": y_true, "y_prob": y_prob, "sample_weight": weight, "day": np.arange(y_prob.size) % 3}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_a_gate_refuses_weights_by_name(weighted):
    refused = run("gate", weighted, "--max-distance", 0.05)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("calibrant: --max-weight: column 'sample_weight' holds weights")
    used, left_out = refused.stderr.index("--sample-weight and --max-weight N"), refused.stderr.index("--unweighted")
    assert used < left_out
    assert "Using" not in refused.stderr
    assert not refused.stdout


def test_a_gate_without_the_weights_says_what_it_used(weighted):
    done = run("gate", weighted, "--max-distance", 0.05, "--unweighted")
    assert done.exit_code == 0
    assert done.stderr.strip() == "Using 'y_true' as the outcomes, 'y_prob' as the predictions."
    assert "Columns not looked at: day; --find all" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_an_audit_uses_weights_or_leaves_them_out(weighted, monkeypatch, large):
    monkeypatch.setattr("calibrant.tables.entry.MANY_BYTES", 0 if large else 10**9)
    values = {}
    for options in ((), ("--unweighted",)):
        done = run("audit", weighted, "--json", "--resamples", 0, "--by", "day", *options)
        assert done.exit_code == 0, done.stderr
        assert ("'sample_weight' as the weights" in done.stderr) is (not options)
        found = json.loads(done.stdout)
        values[options] = found["measures"]["smooth_calibration_error"]["value"]
        lost = [each["n_rows"] - each["effective_rows"] for each in found["segments"]]
        assert min(lost) > 1000 if not options else max(map(abs, lost)) < 1e-6
    frame = pd.read_csv(weighted)
    columns = frame["y_true"], frame["y_prob"]
    expected = calibrant.smooth_calibration_error(*columns, sample_weight=frame["sample_weight"])
    assert values[()] == pytest.approx(expected, abs=1e-4)
    assert values[("--unweighted",)] == pytest.approx(calibrant.smooth_calibration_error(*columns), abs=1e-4)


def test_drift_refuses_weights_before_the_work_and_by_name(weighted, monkeypatch):
    monkeypatch.setattr("calibrant.findings.tables.audit_given", lambda *_, **__: pytest.fail("the audit was made"))
    refused = run("audit", weighted, "--drift", "day")
    assert refused.exit_code == 2
    assert "--sample-weight: column 'sample_weight' cannot be used with periods of drift" in refused.stderr
    with pytest.raises(calibrant.InputError, match="'sample_weight' cannot be used with periods of drift"):
        calibrant.audit_table(weighted, drift="day")


@pytest.mark.parametrize("name", ["weight", "sample_weight"])
@pytest.mark.parametrize("command", [("audit",), ("gate", "--max-distance", 0.2)])
def test_a_refusal_beside_fractions_tells_the_way_that_works(tmp_path, name, command):
    """Weights by the same name as weights usually have were refused with advice that was refused in turn."""
    file = tmp_path / "a.csv"
    rows = (f"{k % 2},{0.2 + 0.6 * (k % 2)},{1 + 9 * (k % 2)}\n" for k in range(200))
    file.write_text(f"y_true,y_prob,{name}\n" + "".join(rows))
    done = (command[0], file, *command[1:], "--sampling-fractions", "0:0.1,1:1")
    refused = run(*done)
    assert refused.exit_code == 2
    assert f"'{name}'" in refused.stderr
    assert "--unweighted leaves the column of weights out" in refused.stderr
    assert "--sample-weight " not in refused.stderr
    assert run(*done, "--unweighted").exit_code in {0, 1, 3}


@pytest.mark.slow
def test_drift_without_the_weights(weighted):
    done = run("audit", weighted, "--drift", "day", "--unweighted", "--resamples", 0, "--json")
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)["periods"]) == 3


def test_weights_named_and_left_out_at_once(weighted):
    refused = run("audit", weighted, "--sample-weight", "day", "--unweighted")
    assert refused.exit_code == 2
    assert "--unweighted: " in refused.stderr


@pytest.mark.slow
def test_classes_with_weights(tmp_path):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 300)
    columns = {"y_true": rng.integers(3, size=300), **{f"p{k}": p[:, k] for k in range(3)}, "sample_weight": 2.5}
    path = tmp_path / "classes.parquet"
    pd.DataFrame(columns).to_parquet(path)
    for options, weighted in (((), True), (("--unweighted",), False)):
        done = run("audit", path, "--resamples", 0, *options)
        assert done.exit_code == 0, done.stderr
        assert ("'sample_weight' as the weights" in done.stderr) is weighted


@pytest.mark.slow
def test_of_two_files_each_says_what_it_used(weighted, tmp_path):
    other = tmp_path / "other.csv"
    pd.read_csv(weighted).head(100).drop(columns="sample_weight").rename(columns={"y_prob": "p"}).to_csv(other)
    done = run("audit", weighted, other, "--resamples", 0)
    assert done.exit_code == 0, done.stderr
    first, second = done.stderr.splitlines()
    assert first.startswith(f"{weighted}: Using")
    assert first.endswith("'sample_weight' as the weights.")
    assert second.startswith(f"{other}: Using")
    assert "'p' as the predictions" in second


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weight", "Weights", "w", "freq", "trials"])
@pytest.mark.parametrize("command", [("audit", "--resamples", 0), ("gate", "--max-distance", 0.05)])
def test_a_column_that_may_hold_weights_is_asked_about(tmp_path, command, name):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y_true": [0, 1, 1], "y_prob": [0.2, 0.7, 0.9], name: [1, 2, 3]}).to_csv(path, index=False)
    refused = run(command[0], path, *command[1:])
    assert refused.exit_code == 2
    assert f"column {name!r} may hold weights" in refused.stderr
    assert "--unweighted" in refused.stderr
    assert "--sample-weight" in refused.stderr
    assert "unweighted=True" not in refused.stderr
    assert run(command[0], path, *command[1:], "--unweighted").exit_code in (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("audit", "--resamples", 0), ("gate", "--max-distance", 0.5)])
def test_of_two_columns_that_may_hold_weights_none_is_passed_over(weighted, command):
    pd.read_csv(weighted).assign(weight=2.0).to_csv(weighted, index=False)
    refused = run(command[0], weighted, *command[1:])
    assert refused.exit_code == 2
    assert "column 'weight' may hold weights as well as 'sample_weight'" in refused.stderr
    assert run(command[0], weighted, *command[1:], "--unweighted").exit_code == 0
    if command[0] == "audit":
        assert run(command[0], weighted, *command[1:], "--sample-weight", "weight").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("option", ["--by", "--drift"])
def test_a_column_that_rows_are_grouped_by_is_no_weight(weighted, monkeypatch, large, option):
    monkeypatch.setattr("calibrant.tables.entry.MANY_BYTES", 0 if large else 10**9)
    frame = pd.read_csv(weighted).drop(columns="sample_weight").rename(columns={"day": "weight"})
    frame.to_csv(weighted, index=False)
    done = run("audit", weighted, option, "weight", "--resamples", 0, "--json")
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(done.stdout)["segments" if option == "--by" else "periods"]) == 3
    frame.assign(freq=1).to_csv(weighted, index=False)
    refused = run("audit", weighted, option, "weight", "--resamples", 0)
    assert refused.exit_code == 2
    assert "column 'freq' may hold weights" in refused.stderr


_SURVEY = (
    "ipw_weight",
    "ht_weight",
    "smpl_weight",
    "wt_final",
    "samp_wt",
    "survey_wt",
    "pw",
    "inv_prob",
    "Final_Weights",
)


@pytest.mark.parametrize("name", _SURVEY)
def test_weights_of_surveys_and_propensities_are_asked_about(name):
    table = pd.DataFrame({"y_true": [0, 1, 1], "y_prob": [0.2, 0.7, 0.9], name: [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=f"sample_weight: column '{name}' may hold weights"):
        audit_table(table, n_resamples=0)


@pytest.mark.parametrize("name", ["body_weight", "birth_weight", "weight_kg", "wt_loss", "pwt_index", "final"])
def test_features_about_weight_are_no_weights(name):
    assert not may_hold_weights(name)
    table = pd.DataFrame({"y_true": [0, 1, 1], "y_prob": [0.2, 0.7, 0.9], name: [1.0, 2.0, 3.0]})
    assert "sample_weight" not in audit_table(table, n_resamples=0).columns


def test_the_first_screen_says_that_weights_were_left_out(weighted):
    told = run("audit", weighted, "--unweighted", "--resamples", 0).stdout
    screen = " ".join(told.split("Taken as given")[0].split())
    assert "Weights were left out (unweighted)." in screen
    assert "left out" not in run("audit", weighted, "--resamples", 0).stdout.split("Taken as given")[0]


def test_weights_by_another_role_are_none(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"trials": [0, 1, 1], "y_prob": [0.2, 0.7, 0.9]}).to_csv(path, index=False)
    assert run("audit", path, "--y-true", "trials", "--resamples", 0).exit_code == 0
