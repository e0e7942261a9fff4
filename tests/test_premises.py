"""Every premise that is given is named by every output of `audit` and `gate`: text, JSON, HTML, JUnit and Markdown."""

import html
import json
import re
from dataclasses import fields
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from calibrant.cli import app
from calibrant.door.premises import Premises
from tests import option_data
from tests.test_options import NAMES

pytestmark = [pytest.mark.usefixtures("one_database", "blank_pictures"), pytest.mark.slow]

LIMIT = ("--max-distance", "0.45")
GIVEN = {
    "--level": ("rows", "", ("--level", "0.071"), ["0.071"]),
    "--max-distance": ("rows", "", ("--max-distance", "0.1234"), ["0.1234", "as given"]),
    "--threshold": ("rows", "", ("--threshold", "0.37"), ["0.37"]),
    "--max-regret": ("rows", "", ("--max-regret", "0.2468"), ["0.2468", "max_regret"]),
    "--groups": ("rows", "", ("--groups", "patient", "--max-weight", "9"), ["80 groups", "patient"]),
    "--max-weight": ("rows", "", ("--sample-weight", "mass", "--max-weight", "13.5"), ["13.5", "max_weight"]),
    "--sample-weight": ("rows", "", ("--sample-weight", "mass", "--max-weight", "9"), ["mass", "weighted"]),
    "--unweighted": ("rows", "weight", ("--unweighted",), ["left out", "unweighted"]),
    "--trials": ("rates", "", ("--trials", "n", "--max-weight", "9"), ["several outcomes", "column n "]),
    "--pos-label": ("rows", "labels", ("--pos-label", "yes"), ["label yes"]),
    "--exclude-bad": ("rows", "bad", ("--exclude-bad",), ["1 bad row left out"]),
    "--distinct": ("rows", "twice", ("--distinct",), ["taken as distinct rows", "distinct"]),
}
"""Of each option that is a premise: the rows, the options, and what every output must say."""
NO_PREMISE = {
    *("--y-true", "--y-prob", "--by", "--find", "--max-depth", "--drift", "--reference", "--baseline", "--max-worse"),
    *("--html", "--json", "--junit", "--summary", "--filesystem", "--anytime", "--so-far"),
    *("--resamples", "--seed"),
}
"""Options that say which question is asked, of which rows, and where the answer goes: the answer itself names them."""


def test_every_option_is_a_premise_or_is_none():
    for command in ("audit", "gate"):
        assert set(NAMES[command]) <= set(GIVEN) | NO_PREMISE
    assert not set(GIVEN) & NO_PREMISE


def outputs(folder, command, names, args):
    """All that a command says, by the name of the output, in one line each."""
    files = {"audit": {"html": "out.html"}, "gate": {"junit": "out.xml", "summary": "out.md"}}[command]
    writes = [each for name, file in files.items() for each in (f"--{name}", str(folder / file))]
    quick = ("--resamples", "0") if command == "audit" else ()
    rows = [str(folder / name) for name in names]
    text = CliRunner().invoke(app, [command, *rows, *args, *quick, *writes])
    plain = CliRunner().invoke(app, [command, *rows, *args, *quick, "--json"])
    assert text.exit_code == plain.exit_code != 2, text.output
    said = {"text": text.stdout, "JSON": json.dumps(json.loads(plain.stdout)["premises"])}
    for name, file in files.items():
        written = (folder / file).read_text()
        said[name] = html.unescape(re.sub(r"\\(.)", r"\1", written))
        if name == "junit":
            ElementTree.fromstring(written.partition("\n")[2])
    return {name: " ".join(each.split()) for name, each in said.items()}


@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.parametrize("option", sorted(GIVEN))
def test_its_value_is_found_in_every_output(tmp_path, command, option):
    if option not in NAMES[command]:
        pytest.skip("not of this command")
    reads, variant, args, wanted = GIVEN[option]
    if command == "gate" and option == "--threshold":
        args = (*args, "--max-regret", "0.2")
    if command == "gate" and not {"--max-distance", "--max-regret"} & set(args):
        args = (*args, *LIMIT)
    names = option_data.build(tmp_path, reads, variant)
    for name, said in outputs(tmp_path, command, names, args).items():
        for each in wanted:
            assert each in said, (name, each)


@pytest.mark.parametrize("command", ["audit", "gate"])
def test_what_nobody_gave_is_named_too(tmp_path, command):
    """The default limit, rows as independent, columns that were not looked at, and a limit that is loose."""
    names = option_data.build(tmp_path, "rows", "")
    for name, said in outputs(tmp_path, command, names, LIMIT).items():
        for each in ("independent", "Columns not looked at: y_other", "patient", "0.45 is loose", "not to have been"):
            assert each in said, (name, each)
    if command == "audit":
        for name, said in outputs(tmp_path, command, names, ()).items():
            for each in ("0.02, by default", "Calibration test: no resamples were asked for"):
                assert each in said, (name, each)


def test_a_state_names_its_premises(tmp_path):
    option_data.build(tmp_path, "so far", "")
    for name, said in outputs(tmp_path, "gate", [], ("--anytime", str(tmp_path / "kept.gate"), "--so-far")).items():
        for each in ("0.2, as given", "at any time", "0.05"):
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
        "trials": True,
        "max_weight": 9.5,
        "unweighted": True,
        "pos_label": "yes",
        "exclude_bad": True,
        "n_excluded": 3,
        "not_looked_at": ("age",),
        "omissions": ("The distance: too many rows.",),
        "perhaps_groups": "patient",
        "loose_limit": "The limit is loose.",
        "anytime": True,
        "n_before": 12,
        "distinct": True,
        "complete": False,
    }
    assert set(changed) == {each.name for each in fields(Premises)}
    needs = {
        "default_limit": {"max_distance": 0.1},
        "threshold": {"max_distance": 0.1},
        "columns": {"grouped": True},
        "n_groups": {"grouped": True},
        "n_excluded": {"exclude_bad": True},
    }
    for name, value in changed.items():
        before = {"level": 0.05, **needs.get(name, {})}
        plain, other = Premises(**before), Premises(**{**before, name: value})
        assert plain.sentences != other.sentences, name
        assert plain.to_dict()[name] != other.to_dict()[name]
        json.dumps(other.to_dict())
