"""Rows of trials: one answer by every road, the arrays' own; where rows are not read, they are refused by name."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationSketch, InputError, audit, audit_table, calibration_by_segment, find_segments
from calibrant.cli.app import app
from calibrant.door.request import Listener
from calibrant.door.rows import Rows
from calibrant.drift import calibration_drift
from calibrant.findings.evidence import varies_together
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.tables import entry
from calibrant.tables.frames import OpenedFrame
from tests.findings.test_table import ROADS

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = {"y_true": "share", "y_prob": "score", "trials": "tries"}
OPTIONS = {"random_state": 0, "n_resamples": 59}
NOT_OF_ROWS = (
    "title",
    "columns",
    "premises",
    "segments",
    "segmented_by",
    "periods",
    "found_segments",
    "schema",
    "groups",
)


def table(n=240):
    rng = np.random.default_rng(3)
    score, tries = np.round(rng.random(n), 2), rng.integers(1, 9, n)
    share = rng.binomial(tries, score**1.5) / tries
    return {"share": share, "score": score, "tries": tries, "kind": np.arange(n) % 3, "day": np.arange(n) // 80}


@pytest.mark.slow
def test_outcomes_of_a_row_that_vary_together_are_noticed():
    """Rows of one prediction whose chances differ were called miscalibrated, without a word about why."""
    rng = np.random.default_rng(4)
    v, n = rng.uniform(0.1, 0.9, 300), rng.integers(5, 60, 300)
    chance = {"alone": v, "bent": v**2, "together": 1.0 / (1.0 + (1.0 / v - 1.0) * np.exp(rng.normal(0.0, 0.7, 300)))}
    share = {name: rng.binomial(n, each) / n for name, each in chance.items()}
    for name, each in share.items():
        found = audit(each, v, trials=n, n_resamples=39, random_state=0)
        assert found.trials_vary == (name == "together")
        assert " ".join(found.summary().split()).count("Outcomes of one row vary more than") == (name == "together")
        assert ("trials_vary" in found.premises.entries) == (name == "together")
    assert found.answer.pvalue <= 0.05
    grouped = audit(share["together"], v, trials=n, groups=np.arange(300), n_resamples=39, random_state=0)
    assert not grouped.trials_vary
    assert grouped.answer.pvalue > 0.05
    order = rng.permutation(300)
    mixed = Rows.of(share["together"][order], np.round(v[order], 1), trials=n[order])
    assert varies_together(mixed) == varies_together(Rows.of(share["together"], np.round(v, 1), trials=n))
    assert not varies_together(mixed.take(np.arange(39)))  # fewer than twenty pairs
    assert not varies_together(Rows.of((v > 0.5) * 1, v))
    table = pd.DataFrame({"y_true": share["together"], "y_prob": v, "tries": n})
    request = GateRequest(max_distance=0.3, trials="tries", max_weight=60.0)
    gated = check_opened(OpenedFrame(table), request, Listener())
    assert gated.premises.trials_vary
    assert gated.summary().count("Outcomes of one row vary more than") == 1
    # With a limit on the regret nothing was said of it.
    regret = check_opened(OpenedFrame(table), replace(request, max_distance=None, max_regret=0.3), Listener())
    assert regret.premises.trials_vary
    assert regret.summary().count("Outcomes of one row vary more than") == 1
    assert regret.premises.entries["trials_vary"] == gated.premises.entries["trials_vary"]


def test_the_most_that_a_row_of_trials_can_weigh_is_told_in_outcomes():
    """A group of one row, of forty trials, was told to take the most rows that it can have: one, which is refused."""
    data = table()
    for more, one in (({}, "row"), ({"groups": data["kind"] + 3 * data["day"]}, "group")):
        found = audit(data["share"], data["score"], trials=data["tries"], n_resamples=39, random_state=0, **more)
        few_groups = found.answer.action == "collect more rows" and bool(more)
        assert (f"the most outcomes that one {one} can ever have" in found.summary().replace("\n", " ")) != few_groups
    request = GateRequest(max_distance=0.3, trials="tries", max_weight=60.0)
    assert request.ways_to_group("kind").endswith(" --max-weight N, the most outcomes that one has")
    assert (
        GateRequest(max_distance=0.3, horizon=1.0, time="t", event="e")
        .ways_to_group("kind")
        .endswith("that one weighs")
    )


def rest(document):
    """What is said of the rows alone, which arrays have as well."""
    return {name: each for name, each in document.items() if name not in NOT_OF_ROWS}


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"max_weight": 9.0}, {"groups": "kind", "max_weight": 2000.0}], ids=str)
@pytest.mark.parametrize("road", ROADS)
def test_trials_are_the_arrays_answer_by_every_road(tmp_path, road, more):
    data = table()
    arrays = {**more, "groups": data["kind"]} if "groups" in more else more
    wanted = audit(data["share"], data["score"], trials=data["tries"], **arrays, **OPTIONS)
    found = audit_table(ROADS[road](pa.table(data), tmp_path), **NAMES, **more, **OPTIONS)
    text = found.to_json().replace("3 groups of kind", "3 groups")  # a table's column has a name
    assert rest(json.loads(text)) == rest(json.loads(wanted.to_json()))
    assert found.columns["trials"] == "tries"
    assert found.trials
    assert found.n_rows == data["tries"].sum()
    assert "column tries says how many" in found.premises.entries["trials"]
    assert (found.population is None) == (not more)


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
def test_parts_of_rows_of_trials_are_those_of_the_functions(tmp_path, road):
    data = table()
    opened = ROADS[road](pa.table(data), tmp_path)
    found = audit_table(opened, **NAMES, by="kind", drift="day", find=["kind"], **OPTIONS)
    frame = pd.DataFrame(data)
    for part, same in (
        (found.segments, calibration_by_segment(frame, **NAMES, by=["kind"])),
        (found.periods, calibration_drift(frame, **NAMES, by="day")),
    ):
        assert [each.n_rows for each in part] == [each.n_rows for each in same]
        errors = [each.smooth_calibration_error for each in same]
        assert [each.smooth_calibration_error for each in part] == pytest.approx(errors, abs=1e-9)
    assert [each.pvalue for each in found.segments] == [
        pytest.approx(each.pvalue, rel=1e-6) for each in calibration_by_segment(frame, **NAMES, by=["kind"])
    ]
    wanted = find_segments(frame, **NAMES, features=["kind"], **OPTIONS)
    assert found.found_segments.n_tested == wanted.n_tested
    assert found.found_segments.multicalibration_error == pytest.approx(wanted.multicalibration_error, abs=1e-9)


@pytest.mark.slow
def test_the_command_line_says_the_same(tmp_path):
    path = ROADS["csv"](pa.table(table()), tmp_path)
    args = ["--y-true", "share", "--y-prob", "score", "--trials", "tries", "--seed", "0", "--resamples", "59", "--json"]
    done = CliRunner().invoke(app, ["audit", str(path), *args])
    assert done.exit_code == 0, done.stderr
    assert rest(json.loads(done.stdout)) == rest(json.loads(audit_table(path, **NAMES, **OPTIONS).to_json()))
    refused = CliRunner().invoke(app, ["audit", str(path), *args, "--max-distance", "0.1"])
    assert (refused.exit_code, "--max-distance: has no effect" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "more", "argument", "said"),
    [
        ({"tries": 0}, {}, "trials", "column 'tries', rows counted from 0: row 5"),
        ({"tries": 2.5}, {}, "trials", "column 'tries', rows counted from 0: row 5"),
        ({"tries": None}, {}, "trials", "column 'tries'"),
        ({"share": 0.123}, {}, "y_true", "row 5"),
        ({}, {"trials": "absent"}, "trials", "there is no column 'absent'"),
        ({}, {"sample_weight": "kind"}, "sample_weight", "cannot be used with trials"),
        ({}, {"unweighted": True}, "unweighted", "leaves weights out"),
        ({}, {"by": "tries"}, "by", "read as trials"),
    ],
    ids=str,
)
@pytest.mark.parametrize("road", ROADS)
def test_what_cannot_be_trials_is_told_in_their_words(tmp_path, road, change, more, argument, said):
    data = {name: column.astype(object) for name, column in table(20).items()}
    for name, value in change.items():
        data[name][5] = value
    opened = ROADS[road](pa.Table.from_pandas(pd.DataFrame(data).infer_objects()), tmp_path)
    with pytest.raises(InputError, match=said) as caught:
        audit_table(opened, **{**NAMES, **more}, **OPTIONS)
    assert caught.value.argument == argument


def test_where_rows_are_not_read_trials_are_refused_by_name(tmp_path, monkeypatch):
    rows = ROADS["csv"](pa.table(table()), tmp_path)
    sketch = CalibrationSketch.from_frame(pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}), y_true="y", y_prob="p")
    classes = pl.DataFrame({"label": [0, 1, 2], "p0": [0.2] * 3, "p1": [0.3] * 3, "p2": [0.5] * 3, "tries": [1] * 3})
    monkeypatch.setattr(entry, "MANY_BYTES", 0)
    for held, names in ((rows, NAMES), (sketch, {"trials": "tries"}), (classes, {"trials": "tries"})):
        with pytest.raises(InputError) as caught:
            audit_table(held, **names, **OPTIONS)
        assert caught.value.argument == "trials"
