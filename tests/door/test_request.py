"""One description of every option: signatures, commands, effects and JSON are held against the requests' fields."""

import inspect
import json
import subprocess
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest
import typer

from calibrant import InputError, audit_table
from calibrant.cli.app import app
from calibrant.door import arguments
from calibrant.door.premises import Premises
from calibrant.door.request import _CHECKS, AuditRequest, Request
from calibrant.gate.request import GateRequest
from calibrant.segments.request import Search

COMMANDS = typer.main.get_command(app).commands
REQUESTS = {"audit": AuditRequest, "gate": GateRequest, "sketch": Request}
OWN = {
    "audit": {"files", "html", "certificate", "items", "json", "everything"},
    "gate": {"file", "so_far", "json", "junit", "summary"},
    "sketch": {"file", "out", "overwrite"},
}
"""What a command takes that asks nothing: what is read, and where the answer goes."""
OF_PYTHON = {"table", "progress"}
"""What `audit_table` takes that asks nothing."""
SCHEMA = Path(__file__).parents[2] / "docs" / "schema"


def options_of(command):
    return {each.name: each for each in COMMANDS[command].params if each.name not in OWN[command]}


def test_the_signature_in_python_has_every_field_and_its_default():
    taken = inspect.signature(audit_table).parameters
    assert set(taken) - OF_PYTHON == set(AuditRequest.options())
    for each in fields(AuditRequest):
        if each.name not in ("explicit", "everything"):
            default = taken[each.name].default
            assert (default if default is not None or each.default != () else ()) == each.default, each.name


def test_a_search_by_python_has_the_requests_defaults():
    request = AuditRequest()
    for name in ("max_depth", "level", "n_resamples", "random_state", "exclude_bad"):
        assert getattr(Search(), name) == getattr(request, name), name


@pytest.mark.parametrize("command", REQUESTS)
def test_the_command_line_has_every_field_and_no_other_option(command):
    declared = {name: each for name, each in REQUESTS[command].options().items() if each.help is not None}
    found = options_of(command)
    assert set(found) == set(declared)
    defaults = {each.name: each.default for each in fields(REQUESTS[command])}
    for name, each in declared.items():
        param, default = found[name], defaults[name] or each.command
        assert param.help == each.help
        assert param.default == default or (not default and not param.default), name
    assert set(REQUESTS[command].options()) - set(declared) <= {"title"}  # which FILE gives


@pytest.mark.parametrize("request_of", [AuditRequest, GateRequest])
def test_every_option_of_the_effects_is_a_field(request_of):
    command = next(name for name, each in REQUESTS.items() if each is request_of)
    for idle in request_of.effects:
        assert set(idle.options.split()) <= {*request_of.options(), *OWN[command]}, idle


def test_an_own_word_is_of_a_field():
    for request_of in REQUESTS.values():
        assert set(request_of.differs) <= set(request_of.options())


@pytest.mark.parametrize("request_of", [AuditRequest, GateRequest])
def test_json_says_of_every_option_what_it_was_or_why_not(request_of):
    """A path of the documents whose first key the schema has; of premises the second as well."""
    documents = {AuditRequest: "audit", GateRequest: "gate"}
    newest = max(SCHEMA.glob(f"{documents[request_of]}-*.json"), key=lambda path: int(path.stem.rpartition("-")[2]))
    layout = json.loads(newest.read_text())
    layout = layout.get("$defs", {}).get("audit", layout)
    for name, each in request_of.options().items():
        reason = each.json.removeprefix("not: ")
        if reason != each.json:
            assert len(reason.split()) > 3, name
            continue
        first, *rest = each.json.split(".")
        assert first in layout["properties"], name
        if first == "premises":
            assert rest[0] in {field.name for field in fields(Premises)} or each.sentence is not None, name


def test_a_sentence_is_of_a_premise_of_an_audit():
    """Where `Premises` looks for it; and JSON has the value under the option's name."""
    for request_of in REQUESTS.values():
        told = {name: each for name, each in request_of.options().items() if each.sentence is not None}
        assert told
        assert all(each.sentence == AuditRequest.options()[name].sentence for name, each in told.items())
        assert all(each.json == f"premises.{name}" for name, each in told.items())


def test_every_check_is_there():
    for name in _CHECKS.values():
        assert callable(getattr(arguments, name))


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"y_true": ""}, "y_true"),
        ({"by": ("a", "a")}, "by"),
        ({"exclude_bad": 1}, "exclude_bad"),
        ({"max_weight": -1.0}, "max_weight"),
        ({"max_distance": 1.0}, "max_distance"),
        ({"threshold": 0.0}, "threshold"),
        ({"level": 0.9}, "level"),
        ({"n_resamples": -1}, "n_resamples"),
        ({"random_state": -1}, "random_state"),
        ({"reference": 1}, "reference"),
        ({"trials": "n", "sample_weight": "w"}, "sample_weight"),
    ],
    ids=str,
)
def test_what_can_be_no_value_is_refused_before_anything_is_read(options, argument):
    with pytest.raises(InputError) as caught:
        AuditRequest(**options)
    assert caught.value.argument == argument
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    with pytest.raises(InputError) as caught:
        audit_table("no such file.csv", **listed)
    assert caught.value.argument == argument


def test_the_options_are_there_before_any_library_and_a_command_loads_few():
    code = (
        "import sys, calibrant.cli.app as cli\n"
        "early = sorted({'numpy', 'scipy', 'numba', 'duckdb'} & set(sys.modules))\n"
        "try: cli.app(['audit', 'no such file.csv', '--y-prob', 'p'])\n"
        "except SystemExit: pass\n"
        "import calibrant.findings.tables\n"
        "print(early, sorted({'pydantic', 'narwhals', 'numpy.ma', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr[:16]) == ("[] []\n", "calibrant: FILE:")


@pytest.mark.parametrize("request_of", [AuditRequest, partial(GateRequest, max_distance=0.1)])
def test_a_search_is_no_deeper_than_its_columns(request_of):
    for find, depth in ((("a",), 3), (("a", "b"), 4)):
        with pytest.raises(InputError, match="max_depth: is more columns than find names"):
            request_of(find=find, max_depth=depth)
    for find, depth in ((("a",), 1), (("a", "b", "c"), 3), (("all",), 4), (("a",), 2)):  # 2 is the default
        assert request_of(find=find, max_depth=depth).max_depth == depth


@pytest.mark.parametrize("name", ["time", "event"])
def test_a_horizon_needs_both_columns(name):
    named = {"time": "t", "event": "e"}
    AuditRequest(y_prob="p", horizon=5.0, **named)
    del named[name]
    with pytest.raises(InputError, match=f"{name}: is missing: with a horizon it says which column holds it"):
        AuditRequest(y_prob="p", horizon=5.0, **named)


@pytest.mark.parametrize("request_of", [AuditRequest, partial(GateRequest, max_distance=0.1)])
def test_a_level_is_taken_up_to_one_half(request_of):
    for level in (0.3, 0.5):
        assert request_of(level=level).level == level
    with pytest.raises(InputError, match=r"level: is 0\.6; it is alpha"):
        request_of(level=0.6)


def test_without_resamples_only_segments_are_tested():
    for options, nothing in (
        ({"n_resamples": 0}, True),
        ({"n_resamples": 0, "by": ("a",)}, False),
        ({"n_resamples": 99}, False),
        ({}, False),
    ):
        assert ("nothing tested" in AuditRequest(**options).modes) == nothing
