"""Every premise that is given is named by every output of `audit` and `gate`: text, JSON, HTML, JUnit and Markdown."""

import html
import itertools
import json
import re
import shutil
import tempfile
from contextlib import chdir
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationGate, audit_table, calibration_gate
from calibrant.cli.app import app
from calibrant.door.premises import _SENTENCES, Followed, Premises
from calibrant.door.request import AuditRequest, Option
from calibrant.gate.request import GateRequest
from calibrant.inference import regret_bounds
from calibrant.inference.bounds.tally import Tally, rows_to_decide
from calibrant.report.text import page
from tests import option_data
from tests.test_options import MODES, NAMES, VALUES, without

pytestmark = pytest.mark.usefixtures("one_database", "blank_pictures")

LIMIT = ("--max-distance", "0.45")
FOLLOWED = ("--time", "days", "--event", "died", "--horizon", "1.5")
KINDS = {
    "--max-distance": ("rows", "", ("--max-distance", "0.1234"), ["0.1234|limit 12.34", "given (max_distance)"]),
    "--threshold": ("rows", "", ("--threshold", "0.37"), ["0.37"]),
    "--max-regret": ("rows", "", ("--max-regret", "0.2468"), ["0.2468", "max_regret"]),
    "--groups": ("rows", "", ("--groups", "patient", "--max-weight", "9"), ["80 groups", "patient"]),
    "--time --event --horizon --strata --least-followed": (
        "rows",
        "times",
        (*FOLLOWED, "--strata", "site", "--least-followed", "0.05"),
        ["days", "died", "by 1.5 (horizon)", "within values of column site", "0.05 are followed"],
    ),
    "--horizon --groups": (
        "rows",
        "times",
        (*FOLLOWED, "--groups", "site", "--strata", "site", "--max-weight", "999"),
        ["2 groups", "column site", "within values of column site", "999"],
    ),
    "--sampling-fractions --groups": (
        "rows",
        "",
        ("--sampling-fractions", "0:0.4,1:1", "--groups", "patient", "--max-weight", "9"),
        ["0.4 of those without", "80 groups", "patient", "at most 9"],
    ),
    "one row a group": ("numbered rows", "", ("--groups", "row"), ["with its own row|its own value of column row"]),
    "classes": ("classes", "", ("--groups", "patient", "--max-weight", "9"), ["80 groups", "patient", "at most 9"]),
    "as many events as not": ("even rows", "", (), ["f rows were chosen by their outcome, give --sampling-fractions"]),
    "sketch": ("sketch", "", (), ["does not say which rows it left out", "independent"]),
}
"""Of kinds of rows, and of options that a page may name in words of its own: what every output must say."""
ELSEWHERE = {
    "audit": {"independence", "perhaps_sampled", "perhaps_models", "perhaps_followed", "perhaps_strata"},
    "gate": {"limit"},
}
"""Premises that a page says in other words, beside what they are of."""
REQUESTS = {"audit": AuditRequest, "gate": GateRequest}
OPTIONS = [
    (command, name)
    for command, request in REQUESTS.items()
    for name, each in request.options().items()
    if each.json.startswith("premises.") and name not in ("least_followed", "items")
]
"""Options with a place among the premises of JSON, but two whose values in test_options are refused."""


def run(folder, command, names, args):
    """A command in a copy of a folder, for it may write there."""
    quick = ("--resamples", "0") if command == "audit" and "--resamples" not in args else ()
    with tempfile.TemporaryDirectory() as name, chdir(shutil.copytree(folder, Path(name) / "copy")):
        done = CliRunner().invoke(app, [command, *names, *args, *quick])
        files = {path.suffix: path.read_text() for path in Path().glob("out.*")}
    return done, files


def premises_of(folder, command, names, args):
    """The premises of JSON; none of a comparison, or where something is refused."""
    return json.loads(run(folder, command, names, (*args, "--json"))[0].stdout).get("premises", {})


def outputs(folder, command, names, args):
    """All that a command says, by the name of the output, in one line each."""
    files = {"audit": {"html": "out.html"}, "gate": {"junit": "out.xml", "summary": "out.md"}}[command]
    writes = [each for name, file in files.items() for each in (f"--{name}", file)]
    text, written = run(folder, command, names, (*args, *writes))
    plain, _ = run(folder, command, names, (*args, "--json"))
    assert text.exit_code == plain.exit_code != 2, text.output
    said = {"text": text.stdout, "JSON": json.dumps(json.loads(plain.stdout)["premises"])}
    for name, file in files.items():
        page_of = written[Path(file).suffix]
        said[name] = html.unescape(re.sub(r"\\(.)", r"\1", page_of))
        if name == "junit":
            ElementTree.fromstring(page_of.partition("\n")[2])
    return {name: " ".join(each.split()) for name, each in said.items()}


@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.slow
def test_of_every_kind_of_rows_each_output_says_so(tmp_path, command, kind):
    if not {each for each in kind.split() if each.startswith("--")} <= set(NAMES[command]):
        pytest.skip("not of this command")
    reads, variant, args, wanted = KINDS[kind]
    if command == "gate" and kind == "--threshold":
        args = (*args, "--max-regret", "0.2")
    if command == "gate" and not {"--max-distance", "--max-regret"} & set(args):
        args = (*args, *LIMIT)
    names = option_data.build(tmp_path, reads.split()[-1], variant)
    if " " in reads:
        frame = pd.read_csv(tmp_path / names[0])
        changed = {"y_true": frame.index % 2, "y_prob": 0.3 * frame["y_prob"]} if reads == "even rows" else {}
        frame.assign(row=frame.index[::-1], **changed).to_csv(tmp_path / names[0], index=False)
    found = outputs(tmp_path, command, names, args)
    for name, page_of in found.items():
        said = re.sub("<[^>]*>", "", page_of) if name == "html" else page_of
        for each in wanted:
            assert any(one in said for one in each.split("|")), (name, each)  # a gate has its limit beside the verdict
    every_output_has_its_sentences(command, found)


def every_output_has_its_sentences(command, found):
    for premise, sentence in json.loads(found["JSON"])["sentences"].items():
        for name, page_of in found.items():
            said = re.sub("<[^>]*>", "", page_of) if name == "html" else page_of
            assert premise in ELSEWHERE[command] or name == "JSON" or sentence in said, (name, premise)


@pytest.mark.parametrize(("command", "name"), OPTIONS)
@pytest.mark.slow
def test_an_option_among_the_premises_is_named_by_every_output(tmp_path, command, name):
    """In the first mode that takes it: by its name or its value, in a sentence that is not there without it."""
    option = REQUESTS[command].flag(name)
    value = VALUES[command][option]
    for mode, how in enumerate(sorted(MODES[command].values(), key=lambda how: option not in how.args)):
        rest = (*without(how.args, option), *value.beside)
        args = how.args if option in how.args else (*rest, option, *value.args)
        folder = tmp_path / f"{mode}"
        folder.mkdir()
        names = option_data.build(folder, how.reads, value.variant)[: 1 if "baseline" in how.reads else None]
        if premises := premises_of(folder, command, names, args):
            break
    every_output_has_its_sentences(command, outputs(folder, command, names, args))
    without_it = premises_of(folder, command, names, rest).get("sentences", {})
    told = set(premises["sentences"].values()) - set(without_it.values())
    assert REQUESTS[command].options()[name].json.split(".")[1] in premises
    values = args[args.index(option) + 1 :][:1]
    assert premises["columns"].get(name) in values or any(each in said for said in told for each in (name, *values))


@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.slow
def test_an_option_that_is_no_attribute_is_named_by_every_output(tmp_path, monkeypatch, command):
    monkeypatch.setitem(
        _SENTENCES, "toy", Option("share", None, "premises.toy", sentence="A toy of {:g} was given (toy).")
    )
    for module in ("findings.tables", "gate.checks"):
        monkeypatch.setattr(f"calibrant.{module}.options_of", lambda _: {"toy": 0.25})
    found = outputs(tmp_path, command, option_data.build(tmp_path, "rows", ""), LIMIT)
    every_output_has_its_sentences(command, found)
    assert json.loads(found["JSON"])["toy"] == 0.25
    assert all("A toy of 0.25 was given (toy)." in said for said in found.values())


@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.slow
def test_what_nobody_gave_is_named_too(tmp_path, command):
    """The default limit, rows as independent, columns that were not looked at, and a limit that is loose."""
    names = option_data.build(tmp_path, "rows", "")
    for name, said in outputs(tmp_path, command, names, LIMIT).items():
        for each in ("independent", "Columns not looked at: y_other", "patient", "limit is loose", "not to have been"):
            assert each in said, (name, each)
    if command == "audit":
        for name, said in outputs(tmp_path, command, names, ()).items():
            for each in ("0.02, by default", "Calibration test: no resamples were asked for"):
                assert each in said, (name, each)


@pytest.mark.slow
def test_a_state_names_its_premises(tmp_path):
    option_data.build(tmp_path, "so far", "")
    for name, said in outputs(tmp_path, "gate", [], ("--anytime", str(tmp_path / "kept.gate"), "--so-far")).items():
        for each in ("given (max_distance)", "at any time", "0.05"):
            assert each in said, (name, each)


def test_the_table_of_values_has_every_field():
    """A field of `Premises` shows in `to_dict`, and those that differ from the default in a sentence."""
    changed = {
        "level": 0.07,
        "max_distance": 0.1,
        "default_limit": True,
        "max_regret": 0.2,
        "threshold": 0.3,
        "columns": {"groups": "site", "sample_weight": "mass"},
        "grouped": True,
        "n_groups": 7,
        "weighted": True,
        "equal_weights": True,
        "trials": True,
        "sampling_fractions": (0.1, 1.0),
        "fractions_given": True,
        "outcome_free_weights": True,
        "followed": Followed(2.0, 7, 0.1, "days", "died", "site"),
        "drawn_again": True,
        "max_weight": 9.5,
        "unweighted": True,
        "pos_label": "yes",
        "exclude_bad": True,
        "n_excluded": 3,
        "baseline": "before.csv",
        "n_rows_baseline": 70,
        "n_excluded_baseline": 7,
        "max_worse": 0.01,
        "default_worse": True,
        "top_label": True,
        "not_looked_at": ("age",),
        "searchable": False,
        "omissions": ("The distance: too many rows.",),
        "perhaps_groups": "patient",
        "ways_to_group": "say --groups patient --max-weight N",
        "trials_vary": True,
        "perhaps_sampled": (1, 2),
        "refuse_fractions": ("--drift",),
        "hints": {"perhaps_models": "If column model says which model predicted a row, look."},
        "matching": "Rows were matched in order.",
        "loose_limit": "The limit is loose.",
        "anytime": True,
        "n_before": 12,
        "distinct": True,
        "complete": False,
        "options": {"level": 0.07},
    }
    assert set(changed) == {each.name for each in fields(Premises)}
    needs = {
        "default_limit": {"max_distance": 0.1},
        "threshold": {"max_distance": 0.1},
        "columns": {"grouped": True},
        "n_groups": {"grouped": True},
        "n_excluded": {"exclude_bad": True},
        "baseline": {"max_worse": 0.1},
        "n_rows_baseline": {"exclude_bad": True},
        "n_excluded_baseline": {"exclude_bad": True, "n_rows_baseline": 70},
        "default_worse": {"max_worse": 0.1},
        "ways_to_group": {"perhaps_groups": "patient"},
        "refuse_fractions": {"perhaps_sampled": (1, 2)},
        "fractions_given": {"sampling_fractions": (0.1, 1.0)},
        "outcome_free_weights": {"weighted": True},
        "drawn_again": {"weighted": True},
        "searchable": {"not_looked_at": ("age",)},
    }
    for name, value in changed.items():
        before = {"level": 0.05, **needs.get(name, {})}
        plain, other = Premises(**before), Premises(**{**before, name: value})
        assert plain.entries != other.entries, name
        assert plain.sentences != other.sentences, name
        key = "level" if name == "options" else name  # of which each stands under its own name
        assert plain.to_dict()[key] != other.to_dict()[key]
        json.dumps(other.to_dict())


def gate_outputs(folder, rows, *args):
    """What a gate of these rows says, by output, in one line each; and what it says on the standard error."""
    path = folder / "rows.csv"
    rows.to_csv(path, index=False)
    text = CliRunner().invoke(app, ["gate", str(path), *args])
    return {**outputs(folder, "gate", ["rows.csv"], args), "stderr": " ".join(text.stderr.split())}


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    p = rng.random(600)
    columns = {"y_true": (rng.random(600) < p).astype(int), "y_prob": p, "mass": 1.0 + rng.random(600)}
    return pd.DataFrame(columns | {"day": np.arange(600) % 7, "customer_id": np.arange(600) // 3})


@pytest.mark.parametrize("given", ["max_worse as given", "by default"])
@pytest.mark.slow
def test_the_baselines_limit_and_the_rows_it_lacks_are_named(tmp_path, visits, given):
    other = visits.assign(y_prob=(0.999 * visits["y_prob"]).where(visits.index % 5 > 0))  # no row of FILE's
    other.to_csv(tmp_path / "before.csv", index=False)
    limit = ("--max-worse", "0.0321") if given == "max_worse as given" else ()
    args = ("--max-distance", "0.3", "--baseline", str(tmp_path / "before.csv"), "--exclude-bad", *limit)
    said = gate_outputs(tmp_path, visits, *args)
    default = "0.02, by default for these rows (max_worse)" if not limit else "0.0321, as given (max_worse)"
    for name in ("text", "JSON", "junit", "summary"):
        assert "Of the baseline before.csv 120 of 600 rows were left out." in said[name], name
        assert f"worse than the baseline before.csv is {default}." in said[name], name
    premises = json.loads(said["JSON"])
    assert (premises["n_excluded"], premises["n_excluded_baseline"], premises["n_rows_baseline"]) == (0, 120, 600)
    cell = "(limit 3.21; in large samples)" if limit else "(limit 2, the default for these rows; in large samples)"
    assert cell in said["summary"]
    assert ("by more than 3.21 points:" if limit else "by more than 2 points (the default for these rows):") in said[
        "junit"
    ]
    assert "rows would decide" in said["summary"]


@pytest.mark.slow
def test_columns_that_nobody_looked_at_are_named_in_every_mode_and_once_on_a_screen(tmp_path, visits):
    weighted = ("--sample-weight", "mass", "--max-weight", "2")
    visits.to_csv(tmp_path / "first.csv", index=False)
    begun = ["gate", str(tmp_path / "first.csv"), *LIMIT, "--anytime", str(tmp_path / "state")]
    first = CliRunner().invoke(app, begun)
    assert first.exit_code != 2
    assert "Columns not looked at: mass, day, customer_id" in first.stdout.replace("\n", " ")
    for mode in (("--max-regret", "0.2"), (*LIMIT, *weighted), LIMIT):
        said = gate_outputs(tmp_path, visits, *mode)
        mass = "" if "mass" in mode else "mass, "
        for name in ("text", "JSON", "junit", "summary"):
            assert f"Columns not looked at: {mass}day, customer_id" in said[name], (mode, name)
        assert ("--find all" in said["text"]) == ("--max-distance" in mode)  # a regret has no segments
        screen = said["text"] + said["stderr"]
        assert screen.count("not looked at") == screen.count("independent") == screen.count("If rows of one") == 1


@pytest.mark.parametrize("option", ["--find", "--by"])
@pytest.mark.slow
def test_that_rows_may_belong_together_stays_where_segments_are_made_of_the_column(tmp_path, visits, option):
    args = (*LIMIT, option, "day,customer_id") if option == "--find" else (*LIMIT, option, "customer_id")
    said = gate_outputs(tmp_path, visits.head(60), *args)
    for name in ("text", "JSON", "junit", "summary"):
        assert "If rows of one customer_id depend on one another" in said[name], name


@pytest.mark.slow
def test_of_an_audit_each_premise_stands_once_on_the_page(visits):
    said = page(audit_table(visits, random_state=0, n_resamples=99)).replace("\n", " ")
    # Once as a condition of what is said of chance, and as what to do about it.
    assert "Assumed" not in said
    assert "Rows are taken as independent" not in said
    for each in ("if rows of one customer_id are independent", "If rows of one customer_id", "Columns not looked at"):
        assert said.count(each) == 1, each
    said = page(audit_table(visits[["y_true", "y_prob"]], random_state=0, n_resamples=99)).replace("\n", " ")
    assert said.count("independent") == said.count("Assumed: rows are independent.") == 1  # the fourth line


@pytest.mark.slow
def test_of_a_comparison_each_premise_stands_once_on_the_page(tmp_path, visits):
    """Those of one model alone are said of that one; all that one model's audit takes as given is there."""
    visits.to_csv(tmp_path / "one.csv", index=False)
    visits.assign(more=1.0).to_csv(tmp_path / "two.csv", index=False)
    args = ["audit", *(str(tmp_path / name) for name in ("one.csv", "two.csv")), "--resamples", "0"]
    done = CliRunner().invoke(app, [*args, "--html", str(tmp_path / "page.html")])
    audits = json.loads(CliRunner().invoke(app, [*args, "--json"]).stdout)["audits"]
    held = re.sub("<[^>]*>", " ", html.unescape((tmp_path / "page.html").read_text()))
    for page_of in (done.stdout, held):
        said = " ".join(page_of.split())
        assert said.count("Taken as given") == 1
        for name, other in itertools.permutations((0, 1)):
            for key, each in audits[name]["premises"]["sentences"].items():
                assert said.count(each) == 1, each
                alone = each != audits[other]["premises"]["sentences"].get(key)
                assert (f"{('one', 'two')[name]}.csv: {each}" in said) == alone, each


@pytest.mark.slow
def test_without_resamples_the_page_promises_no_seed_and_no_test_by_groups(visits):
    grouped = page(audit_table(visits, groups="customer_id", n_resamples=0))
    assert "repeats this page" not in grouped
    assert "judged" not in grouped
    drawn = page(audit_table(visits, groups="customer_id", n_resamples=99, random_state=0))
    assert "--seed 0 repeats this page" in drawn
    assert "Chance is judged by whole groups" in drawn


@pytest.mark.parametrize("function", [calibration_gate, regret_bounds])
@pytest.mark.slow
def test_what_python_decides_names_what_it_was_given(visits, function):
    limit = {"max_distance": 0.3} if function is calibration_gate else {"max_regret": 0.3, "threshold": 0.4}
    y_true, y_prob, weight = (visits[name] for name in ("y_true", "y_prob", "mass"))
    ways = {
        "none": ({}, ["independent", "(max_distance)" if function is calibration_gate else "0.3", "0.07"]),
        "weights": ({"sample_weight": weight, "max_weight": 13.5}, ["13.5", "weighted"]),
        "groups": ({"groups": visits["customer_id"], "max_weight": 3}, ["200 groups", "at most 3 (max_weight)"]),
        "trials": ({"trials": np.full(600, 2), "max_weight": 2.5}, ["several outcomes", "2.5"]),
    }
    for options, wanted in ways.values():
        found = function(y_true, y_prob, level=0.07, **limit, **options)
        told = json.dumps(found.to_dict()["premises"])
        assert "Taken as given:" in found.summary()
        assert "Taken as given" not in found.sentence
        for each in wanted:
            assert each in found.summary()
            assert each in told


@pytest.mark.slow
def test_a_gate_that_grows_names_its_largest_weight(visits):
    gate = CalibrationGate(max_distance=0.2, max_weight=7.5)
    assert "7.5" in gate.reading().summary()
    found = gate.update(visits["y_true"], visits["y_prob"], sample_weight=visits["mass"])
    assert "7.5" in found.summary()
    assert found.to_dict()["premises"]["anytime"]


@pytest.mark.slow
def test_rows_that_would_decide_are_told_by_one_number():
    for n, needed in itertools.product((300, 20_000, 123_456), (1.013, 1.4531, 3.7)):
        said = rows_to_decide(Tally(n, int(n * needed)))
        assert len(re.findall(r"\d[\d,]*", said)) == 1
        assert "if the error stays as it is here" in said
