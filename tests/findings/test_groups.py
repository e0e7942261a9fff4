"""Rows that depend on one another within groups: what an audit says of chance goes by group, by every road."""

import json
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from calibrant import (
    InputError,
    audit,
    audit_table,
    calibration_gate,
    calibration_test,
    population_bounds,
    smooth_calibration_error,
)
from calibrant.cli.app import app
from calibrant.findings.action_catalogue import _more_groups
from calibrant.findings.arrays import given
from calibrant.inference import regret_bounds
from calibrant.report.html import document
from calibrant.report.text import page
from calibrant.resampling.redraw import LEAST_GROUPS

pytestmark = pytest.mark.usefixtures("one_database")

OPTIONS = {"random_state": 0, "n_resamples": 99}


def alike(groups=60, size=10, power=1.0, seed=0, few=False):
    """Groups whose rows all have one outcome, of predictions that differ by group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    v = (rng.integers(1, 10, groups) / 10 if few else rng.random(groups))[group]
    return (rng.random(groups)[group] < v) * 1, v**power, group


@pytest.mark.slow
def test_what_is_said_of_chance_goes_by_group():
    y, v, group = alike()
    as_rows, found = audit(y, v, **OPTIONS), audit(y, v, groups=group, max_weight=10, **OPTIONS)
    assert as_rows.answer.state == "worth correcting"
    assert as_rows.n_groups is None
    assert (found.n_groups, found.answer.state) == (60, "too few rows")
    assert found.tests["calibration_test"].result.premise == "rows are independent between groups"
    assert found.regions == ()
    gate = calibration_gate(y, v, groups=group, max_weight=10, max_distance=found.max_distance)
    assert (found.gate.verdict, found.gate.n_rows) == (gate.verdict, gate.n_rows)
    assert tuple(found.gate.lower_distance) == pytest.approx(tuple(gate.lower_distance), abs=1e-9)
    bounds = population_bounds(y, v, groups=group, max_weight=10)
    assert found.population.lower_distance.high == pytest.approx(bounds.lower_distance.high, abs=1e-4)
    assert found.cost_of_acting.regret_interval is None
    assert "the population's cost of acting is not bounded here" in found.summary().replace("\n", " ")
    assert json.loads(found.to_json())["groups"] == {"column": None, "n": 60}
    unbounded = audit(y, v, groups=group, **OPTIONS)
    assert unbounded.gate is None
    assert unbounded.population is None
    assert unbounded.sentences[0] == (
        "No sign of error, but groups are too few (there are 60, and about 76 like these are needed; 600 rows)."
    )  # at their most dependent
    do = "Do: run this again with --max-weight (in Python max_weight), the most rows that one group can ever have: "
    rng = np.random.default_rng(0)
    p = rng.random(1_200)
    unbounded = audit(rng.random(1_200) < p, p, groups=np.arange(1_200) // 10, **OPTIONS)
    assert f"{do}that bounds the error." in unbounded.sentences


def test_the_names_of_groups_and_the_order_of_rows_change_nothing():
    y, v, group = alike(groups=80, power=2.0)
    order = np.random.default_rng(1).permutation(y.size)
    one = audit(y, v, groups=group, max_weight=10, **OPTIONS)
    other = audit(y[order], v[order], groups=np.char.add("g", np.char.zfill(group.astype(str), 3))[order],
                  max_weight=10, **OPTIONS)  # fmt: skip
    assert one.answer.pvalue is not None
    assert one.to_json() == other.to_json()


@pytest.mark.slow
def test_the_curve_of_groups_is_the_same_to_the_last_bit_in_any_order_of_rows():
    rng = np.random.default_rng(0)
    group, v, weight = rng.integers(0, 60, 600), rng.random(600), rng.random(600)
    y = (rng.random(600) < v).astype(int)
    options = OPTIONS | {"max_weight": 10}
    first = audit(y, v, groups=group, sample_weight=weight, **options).to_dict()["reliability"]
    for _ in range(3):
        order = rng.permutation(600)
        again = audit(y[order], v[order], groups=group[order], sample_weight=weight[order], **options)
        assert again.to_dict()["reliability"] == first


@pytest.mark.slow
def test_a_group_of_each_row_is_nearly_no_group():
    rng = np.random.default_rng(0)
    v = rng.random(400)
    y = rng.random(400) < v**2
    alone, grouped = audit(y, v, **OPTIONS), audit(y, v, groups=np.arange(400), max_weight=1, **OPTIONS)
    assert grouped.answer.state == alone.answer.state == "worth correcting"
    assert grouped.gate.lower_distance.high == pytest.approx(alone.gate.lower_distance.high, abs=1e-9)
    width = alone.reliability.band_upper - alone.reliability.band_lower
    other = grouped.reliability.band_upper - grouped.reliability.band_lower
    assert other.mean() == pytest.approx(width.mean(), rel=0.5)
    region, same = alone.regions[0], grouped.regions[0]
    assert same.errors == pytest.approx(region.errors, rel=0.3)


def test_too_few_groups_for_signs_have_a_bound():
    y, v, group = alike(groups=20)
    found = audit(y, v, groups=group, **OPTIONS)
    assert found.answer.state == "too few rows"
    assert "too few for signs" in found.tests["calibration_test"].result.method
    assert audit(np.ones(200), 0.5 * v, groups=group, **OPTIONS).tests["calibration_test"].result.reject
    assert "come from too few groups (as good as" in found.reliability.no_band
    with pytest.raises(InputError, match=r"max_weight: is 9, but the group of row \d+ \(from 0\) weighs 10"):
        audit(y, v, groups=group, max_weight=9)
    with pytest.raises(InputError, match="groups: has shape"):
        audit([0, 1, 2], np.eye(3), groups=[1, 2])
    with pytest.raises(InputError, match="max_weight: has no effect"):
        audit(y, v, max_weight=9)


@pytest.mark.slow
def test_two_columns_trials_and_weights_take_groups():
    y, v, group = alike()
    one = audit(y, v, groups=group, **OPTIONS)
    two = audit(y, np.column_stack([1.0 - v, v]), groups=group, **OPTIONS)
    assert two.answer.pvalue == one.answer.pvalue
    weighted = audit(y, v, groups=group, sample_weight=np.where(group % 2, 1.0, 2.0), max_weight=20, **OPTIONS)
    assert weighted.gate is not None
    trials = audit(y, v, groups=group, trials=np.full(600, 3), max_weight=30, **OPTIONS)
    assert trials.n_rows == 1800
    test = calibration_test(y, v, groups=group, trials=np.full(600, 3), n_resamples=99, random_state=0)
    assert (trials.answer.pvalue <= 0.05) is test.reject
    bounded = audit(y, v, sample_weight=np.where(group % 2, 1.0, 2.0), max_weight=2, **OPTIONS)
    assert bounded.population is not None


def _as_json(frame, path):
    frame.to_json(path, orient="records", lines=True, double_precision=15)
    return path


ROADS = {
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy polars": lambda table, _: pl.from_arrow(table).lazy(),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "csv": lambda table, folder: pyarrow.csv.write_csv(table, folder / "rows.csv") or folder / "rows.csv",
    "parquet": lambda table, folder: pyarrow.parquet.write_table(table, folder / "a.parquet") or folder / "a.parquet",
    "json": lambda table, folder: _as_json(table.to_pandas(), folder / "a.jsonl"),
}


def table_of(y, v, group, **more):
    names = [f"P{k:03d}" for k in group]
    return pa.table({"label": np.where(y == 1, "yes", "no"), "score": v, "patient_id": names, **more})


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
def test_one_answer_by_every_road(tmp_path, road):
    y, v, group = alike(groups=100, size=4)
    wanted = audit(y, v, groups=group, max_weight=10, **OPTIONS)
    table = ROADS[road](table_of(y, v, group, site=group % 2, day=np.arange(400) // 200), tmp_path)
    asked = {"groups": "patient_id", "max_weight": 10, "pos_label": "yes", "by": "site", "drift": "day"}
    found = audit_table(table, **asked, **OPTIONS)
    assert found.columns["groups"] == "patient_id"
    assert found.answer.pvalue == pytest.approx(wanted.answer.pvalue, rel=1e-9)
    assert found.gate.lower_distance.high == pytest.approx(wanted.gate.lower_distance.high, abs=1e-9)
    np.testing.assert_allclose(found.reliability.band_upper, wanted.reliability.band_upper, atol=1e-9)
    assert [each.n_groups for each in found.segments] == [50, 50]
    assert [each.n_groups for each in found.periods] == [50, 50]
    assert "100 groups (patient_id)" in found.summary()


@pytest.mark.parametrize("road", ROADS)
def test_rows_without_a_group(tmp_path, road):
    y, v, group = alike(groups=40)
    table = table_of(y, v, group, day=np.arange(400) // 200)
    names = table["patient_id"].to_pylist()
    names[3] = None
    score = v.copy()
    score[5] = 2.0
    table = table.set_column(2, "patient_id", pa.array(names))
    held = ROADS[road](table, tmp_path)
    with pytest.raises(InputError, match=r"groups: column 'patient_id': row 3 has no value"):
        audit_table(held, groups="patient_id", pos_label="yes", **OPTIONS)
    held = ROADS[road](table.set_column(1, "score", pa.array(score)), tmp_path)
    found = audit_table(held, groups="patient_id", pos_label="yes", exclude_bad=True, drift="day", **OPTIONS)
    assert (found.n_rows, found.n_excluded) == (398, 2)
    assert sum(period.n_rows for period in found.periods) == 398


@pytest.mark.slow
def test_the_command(tmp_path):
    run, (y, v, group) = CliRunner(), alike(groups=80, size=3, power=2.0)
    path, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pyarrow.parquet.write_table(table_of(y, v, group), path)
    pyarrow.parquet.write_table(table_of(y, np.sqrt(v), group), other)
    label = ["--pos-label", "yes"]
    refused = run.invoke(app, ["audit", str(path), *label, "--resamples", "99"])
    assert "holds about 160 rows twice" in refused.output
    assert "--groups COLUMN" in refused.output
    noted = run.invoke(app, ["audit", str(path), *label, "--resamples", "99", "--distinct"])
    assert "say --groups patient_id" in noted.stdout.replace("\n", " ")
    both = [*label, "--groups", "patient_id", "--seed", "0", "--resamples", "99"]
    done = run.invoke(app, ["audit", str(path), str(other), *both])
    assert done.exit_code == 0
    assert "a.parquet's less b.parquet's is likely " in done.stdout.replace("\n", " ")
    idle = run.invoke(app, ["audit", str(path), *both])  # of one file alone nothing is drawn in so few groups
    assert "--seed: has no effect: in so few groups no signs are drawn; nor has --resamples" in idle.output
    found = run.invoke(app, ["audit", str(path), *label, "--groups", "patient_id", "--json"])
    assert json.loads(found.stdout)["groups"] == {"column": "patient_id", "n": 80}
    gate = ["gate", str(path), *label, "--groups", "patient_id", "--max-distance", "0.05"]
    said = run.invoke(app, [*gate, "--max-weight", "10", "--json"])
    wanted = calibration_gate(y, v, groups=group, max_weight=10, max_distance=0.05)
    told, printed = wanted.to_dict(), json.loads(said.stdout)
    premises = {name: told["premises"][name] for name in ("level", "grouped", "n_groups", "max_weight")}
    assert premises.items() <= printed["premises"].items()
    assert {**told, "premises": printed["premises"]}.items() <= printed.items()
    assert "--max-weight: is needed" in run.invoke(app, gate).output
    refused = run.invoke(app, [*gate, "--max-weight", "10", "--anytime", str(tmp_path / "state")])
    assert "--groups: cannot be used with --anytime: it assumes independent rows" in refused.output
    assert run.invoke(app, ["audit", str(path), "--groups", "nobody", *label]).exit_code == 2


@pytest.mark.slow
def test_labels_of_the_event(tmp_path):
    y, v, group = alike(groups=10, size=2)
    table = table_of(y, v, group)
    wanted = smooth_calibration_error(y, v)
    flipped = smooth_calibration_error(1 - y, v)
    for road, make in ROADS.items():
        held = make(table, tmp_path)
        for label, value in (("yes", wanted), ("no", flipped)):
            found = audit_table(held, pos_label=label, n_resamples=0)
            assert found.smooth_calibration_error == pytest.approx(value, abs=1e-9), road
            assert found.pos_label == label
        with pytest.raises(InputError, match="'maybe' is none of the labels 'no', 'yes'"):
            audit_table(held, pos_label="maybe", n_resamples=0)
    for numbers in (np.where(y, 2, 1), np.where(y, 2.0, 1.0)):
        coded = table.set_column(0, "label", pa.array(numbers))
        pyarrow.parquet.write_table(coded, tmp_path / "coded.parquet")
        found = audit_table(tmp_path / "coded.parquet", pos_label="2", n_resamples=0)
        assert found.smooth_calibration_error == pytest.approx(wanted, abs=1e-12)
    three = table.set_column(0, "label", pa.array(np.where(v > 0.9, "maybe", np.where(y, "yes", "no"))))
    for held in (three, ROADS["csv"](three, tmp_path)):
        with pytest.raises(InputError, match="pos_label: is for two labels, and y_true holds"):
            audit_table(held, pos_label="yes", n_resamples=0)


@pytest.mark.slow
def test_large_files_do_not_tell_groups_apart(tmp_path, monkeypatch):
    y, v, group = alike(groups=10)
    path = ROADS["csv"](table_of(y, v, group), tmp_path)
    monkeypatch.setattr("calibrant.tables.entry.MANY_BYTES", 0)
    with pytest.raises(InputError, match="groups: rows of a file as large as this are summed by cell"):
        audit_table(path, groups="patient_id", pos_label="yes")
    with pytest.raises(InputError, match="max_weight: has no effect: there are no weights"):
        audit_table(path, max_weight=3, pos_label="yes")
    assert audit_table(path, pos_label="yes", n_resamples=0).n_rows == 100


@pytest.mark.parametrize("name", ["exposure", "ead", "EAD"])
def test_exposures_are_asked_about(name):
    table = pa.table({"label": [0, 1], "score": [0.2, 0.7], name: [1.0, 3.0]})
    with pytest.raises(InputError, match=f"column '{name}' may hold weights"):
        audit_table(table)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_hospitals_whose_signs_say_too_little_have_level_and_slope():
    """Forty hospitals with many events each: at their most dependent they count as fewer than thirty."""
    rng = np.random.default_rng(0)
    hospital = np.repeat(np.arange(40), 100)
    p = rng.beta(2.0, 5.0, 4_000)
    y = rng.random(4_000) < expit(0.6 * logit(p))
    found = audit(y, p, groups=hospital, n_resamples=99, random_state=0)
    assert found.group_line.what == "rows"
    assert found.group_line.worth < 30
    assert "The calibration slope is " in found.answer.headline
    assert "No sign of error (" not in found.answer.headline
    assert f"- Level and slope: {found.group_line.both}" in " ".join(page(found, everything=True).split())
    assert f'<td class="wide">{found.group_line.both}</td>' in document(found)
    half = hospital < 20
    assert audit(y[half], p[half], groups=hospital[half], n_resamples=99).answer.direction == found.answer.direction


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("most", [None, 9.0])
def test_sampling_fractions_say_what_a_row_weighs_and_not_what_a_group_does(grouped, most):
    y, v = np.tile([0.0, 1.0], 30), np.linspace(0.1, 0.9, 60)
    groups, fractions = np.arange(60) // 2 if grouped else None, {0: 0.25, 1: 1.0}
    if most is not None and not grouped:
        with pytest.raises(InputError, match="sampling fractions say what a row can weigh"):
            given(y, v, max_weight=most, sampling_fractions=fractions)
        return
    found = given(y, v, groups=groups, max_weight=most, sampling_fractions=fractions)
    assert (found.draws is None) == (grouped and most is None)


ALONE = {
    "rows": ({}, {}),
    "weights": ({"sample_weight": "mass"}, None),
    "fractions": ({"sampling_fractions": {0: 0.5, 1: 1.0}}, {"sampling_fractions": {0: 0.5, 1: 1.0}}),
    "horizon": ({"time": "days", "event": "died", "horizon": 1.0}, {"time": "days", "event": "died", "horizon": 1.0}),
    "segments": ({"by": "site", "find": "site"}, {"by": "site"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(ALONE))
def test_rows_that_are_each_a_group_of_their_own_are_rows(tmp_path, kind):
    """The audit and the gate are those without groups, but for the sentence that says so."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.6, 300)
    columns = {"y_true": (rng.random(300) < np.minimum(1.0, 1.4 * p)) * 1, "y_prob": p, "mass": rng.uniform(1, 2, 300)}
    columns |= {"site": rng.integers(0, 2, 300), "visit": rng.permutation(300)}
    frame = pd.DataFrame(columns | {"days": rng.uniform(0.3, 3.0, 300), "died": rng.integers(0, 2, 300)})
    frame = frame if kind == "horizon" else frame.drop(columns=["days", "died"])
    frame = frame if kind == "weights" else frame.drop(columns="mass")
    of_audit, of_gate = ALONE[kind]
    how = {"n_resamples": 99, "random_state": 0, **of_audit}
    plain, alone = audit_table(frame, **how), audit_table(frame, groups="visit", **how)
    assert alone.n_groups is None
    assert (alone.answer, alone.population) == (plain.answer, plain.population)
    assert repr(alone.tests) == repr(plain.tests)
    assert [each.pvalue for each in alone.segments] == [each.pvalue for each in plain.segments]
    assert repr(alone.found_segments) == repr(plain.found_segments)
    assert "independent of one another: each has its own value of column visit." in str(alone.premises)
    if kind == "horizon":
        frame = frame.rename(columns={"y_true": "outcome"})
    if of_gate is None:  # a gate needs the most that a row can weigh, and a group can be as heavy
        with pytest.raises(InputError, match="max_weight: is needed"):
            calibration_gate(frame["y_true"], p, groups=frame["visit"], sample_weight=frame["mass"], max_distance=0.3)
        return
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = [f"--{name.replace('_', '-')}={value}" for name, value in of_gate.items()]
    given = [each.replace("{0: 0.5, 1: 1.0}", "0:0.5,1:1") for each in given]
    command = ["gate", str(tmp_path / "rows.csv"), *given, "--max-distance", "0.3", "--json"]
    found, own = (json.loads(CliRunner().invoke(app, [*command, *more]).stdout) for more in ([], ["--groups", "visit"]))
    assert own["premises"].pop("columns") == {**found["premises"].pop("columns"), "groups": "visit"}
    assert own["premises"].pop("sentences") != found["premises"].pop("sentences")
    assert own == found
    if kind == "rows":
        gates = [
            function(frame["y_true"], p, groups=groups, **limit)
            for function, limit in ((calibration_gate, {"max_distance": 0.3}), (regret_bounds, {"max_regret": 0.2}))
            for groups in (None, frame["visit"])
        ]
        assert gates[0] == gates[1]
        assert repr(gates[2].to_dict()) == repr(gates[3].to_dict())


def test_groups_stay_where_something_says_that_they_can_be_larger_than_a_row():
    rng = np.random.default_rng(3)
    p, visit = rng.uniform(0.05, 0.6, 40), np.arange(40)
    y = (rng.random(40) < p) * 1
    assert audit(y, p, groups=visit, max_weight=3, n_resamples=39).n_groups == 40
    assert audit(y / 2, p, groups=visit, trials=np.full(40, 2), n_resamples=39).n_groups == 40
    with pytest.raises(InputError, match="max_weight: is needed"):
        calibration_gate(y / 2, p, groups=visit, trials=np.full(40, 2), max_distance=0.3)
    wider = calibration_gate(y, p, groups=visit, max_weight=3, max_distance=0.3)
    tight = calibration_gate(y, p, groups=visit, max_distance=0.3)
    assert wider.lower_distance.high > tight.lower_distance.high
    with pytest.raises(InputError, match="max_weight: is needed"):  # two rows of one
        calibration_gate(y, p, groups=np.maximum(visit, 1), max_distance=0.3)


@pytest.mark.parametrize(
    ("missing", "words"), [(1, "about 1 more group (column site)"), (2, "about 2 more groups (column site)")]
)
def test_the_groups_that_are_missing_are_counted_in_good_words(missing, words):
    n_groups = 40
    worth = LEAST_GROUPS * n_groups / (n_groups + missing - 0.5)
    audit = SimpleNamespace(columns={"groups": "site"}, group_line=SimpleNamespace(worth=worth), n_groups=n_groups)
    assert _more_groups(audit) == words


def heavy(of):
    """60 groups, the 51st the heaviest, and what the command is to be told of rows of this kind."""
    rng = np.random.default_rng(0)
    n, p = 600, np.linspace(0.05, 0.95, 600)
    group = np.repeat([f"G{k}" for k in range(60)], 10)
    group[490:500] = "G50"  # which has the most rows
    columns = {"p": p, "g": group}
    if of == "trials":  # of the first ten groups no share of events reads as an outcome, nor its trials as one
        count = np.where(np.arange(n) < 100, 2, 1)
        count[n // 2] = 50
        columns |= {
            "y": rng.binomial(count, p) / count,
            "tr": count,
            "g": np.where(np.arange(n) == n // 2, "G50", group),
        }
        return pd.DataFrame(columns), ["--y-true", "y", "--trials", "tr"], 40
    if of == "many trials":
        columns |= {"y": rng.binomial(4, p) / 4, "tr": np.full(n, 4)}
        return pd.DataFrame(columns), ["--y-true", "y", "--trials", "tr"], 60
    if of == "followed":  # half of the rows before it left before the horizon
        columns |= {"t": np.where(np.arange(n) % 2 & (np.arange(n) < 400), 0.5, 2.0), "e": np.zeros(n, int)}
        return pd.DataFrame(columns), ["--time", "t", "--event", "e", "--horizon", "1"], 19.5
    columns |= {"y": (rng.random(n) < p) * 1, "w": np.where(np.arange(n) % 3, 1.0, 2.0)}
    frame = pd.DataFrame(columns)
    frame.loc[[3, 50], "p"] = np.nan
    frame.loc[[9, 200], "g"] = None
    return frame, ["--y-true", "y", "--sample-weight", "w", "--exclude-bad"], 20


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.parametrize("of", ["trials", "many trials", "followed", "weights"])
def test_the_group_that_weighs_too_much_is_the_one_that_is_named(tmp_path, kind, command, of):
    """Also where the rows that were read are not all of the file's, or what is read as a weight is none."""
    frame, asked, most = heavy(of)
    path = tmp_path / f"rows.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    more = ["--y-prob", "p", "--groups", "g", "--max-weight", str(most)]
    done = CliRunner().invoke(app, [command, str(path), *asked, *more])
    assert done.exit_code == 2, done.output
    assert f"is {most}, but the group g = G50 weighs " in done.stderr
