"""No option without effect: every option of every command, in every mode, changes a result or is refused by name.

So it does beside every other. The options are those that the commands declare, so that a new one fails here until it
has a value in `VALUES`.
"""

import errno
import inspect
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant.cli.app import app
from calibrant.exits import OPTIONS
from tests import option_data
from tests.strategies import examples

pytestmark = pytest.mark.usefixtures("one_database")

COMMANDS = typer.main.get_command(app).commands
ECHOES = ("options", "premises", "level", "max_distance", "max_regret")
"""Keys of JSON that repeat what was asked: an option that changes nothing else has no effect."""


@dataclass(frozen=True)
class Mode:
    """One way to run a command: what it reads, and the arguments that make the mode."""

    reads: str = "rows"
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Value:
    """A value of an option that matters on data of a variant, beside what the option is about.

    On plain data it matters or is refused as well, unless it says what is to be done with data of that variant.
    """

    args: tuple[str, ...] = ()
    variant: str = ""
    beside: tuple[str, ...] = ()
    if_any: bool = False


MODES = {
    "audit": {
        "one file": Mode(),
        "several files": Mode("two"),
        "forecasts": Mode(args=("--y-prob", "y_prob", "--y-prob", "p_other")),
        "classes": Mode("classes"),
        "several sketches": Mode("two sketches"),
        "several files of classes": Mode("two of classes"),
        "sketch": Mode("sketch"),
        "keyed sketches": Mode("keyed", args=("--by", "site")),
        "summed": Mode("summed"),
        "log": Mode("log"),
        "rates": Mode("rates"),
        "drift": Mode(args=("--drift", "day")),
        "find": Mode(args=("--find", "all")),
        "by": Mode(args=("--by", "site")),
        "in groups": Mode(args=("--groups", "patient")),
        "in few groups": Mode(args=("--groups", "day")),
        "trials": Mode("rates", args=("--trials", "n")),
        "no resamples": Mode(args=("--resamples", "0")),
        "groups without resamples": Mode(args=("--groups", "patient", "--resamples", "0")),
        "summed find": Mode("summed", args=("--find", "site,kind")),
    },
    "gate": {
        "one file": Mode(args=("--max-distance", "0.2")),
        "classes": Mode("classes", args=("--max-distance", "0.2")),
        "sketch": Mode("sketch", args=("--max-distance", "0.2")),
        "summed": Mode("summed", args=("--max-distance", "0.2")),
        "log": Mode("log", args=("--max-distance", "0.2")),
        "by": Mode(args=("--max-distance", "0.2", "--by", "site")),
        "find": Mode(args=("--max-distance", "0.2", "--find", "site,kind")),
        "baseline": Mode("baseline", args=("--max-distance", "0.2", "--baseline", "second.csv")),
        "regret": Mode(args=("--max-regret", "0.3")),
        "regret of a sketch": Mode("sketch", args=("--max-regret", "0.3")),
        "begun": Mode(args=("--max-distance", "0.2", "--anytime", "new.gate")),
        "anytime": Mode("anytime", args=("--max-distance", "0.2", "--anytime", "kept.gate")),
        "so far": Mode("so far", args=("--anytime", "kept.gate", "--so-far")),
        "in groups": Mode(args=("--max-distance", "0.2", "--groups", "patient", "--max-weight", "90")),
        "weighted": Mode(args=("--max-distance", "0.2", "--sample-weight", "mass", "--max-weight", "90")),
        "trials": Mode("rates", args=("--max-distance", "0.2", "--trials", "n", "--max-weight", "90")),
    },
    "sketch": {
        "one file": Mode(args=("--out", "out.parquet")),
        "by": Mode(args=("--by", "site", "--out", "out.parquet")),
        "summed": Mode("summed", args=("--out", "out.parquet")),
    },
    "merge": {
        "sketches": Mode("keyed", args=("--out", "out.parquet")),
        "one sketch": Mode("sketch", args=("--out", "out.parquet")),
        "by": Mode("keyed", args=("--by", "site", "--out", "out.parquet")),
    },
    "demo": {"demo": Mode("nothing")},
    "reproduce": {
        "list": Mode("nothing"),
        "drawn": Mode("nothing", args=("unifying-theory-lemmas",)),
    },
}

COMMON = {
    "--y-true": Value(("y_other",)),
    "--y-prob": Value(("p_other",)),
    "--sample-weight": Value(("mass",)),
    "--by": Value(("kind",)),
    "--exclude-bad": Value((), "bad", if_any=True),
    "--unweighted": Value((), "weight"),
    "--pos-label": Value(("no",), "labels", if_any=True),
    "--filesystem": Value(("file://{folder}/there",)),
    "--json": Value(),
    "--distinct": Value((), "twice", if_any=True),
}
FOLLOWED = {"--time": "days", "--event": "died", "--horizon": "1.5"}


def _followed(option, value=None):
    """A value of one of the options of rows that are followed for a time, beside those that it needs."""
    beside = tuple(part for name, each in FOLLOWED.items() if name != option for part in (name, each))
    return Value((value or FOLLOWED[option],), "times", beside=beside)


FRACTIONS = {
    "--sampling-fractions": Value(("0:0.4,1:1",)),
    **{option: _followed(option) for option in FOLLOWED},
    "--strata": _followed("--strata", "site,kind"),  # segments of `by` are strata already
    "--least-followed": _followed("--least-followed", "0.99"),
}
VALUES = {
    "audit": {
        **COMMON,
        **FRACTIONS,
        "--outcome-free-weights": Value((), beside=("--sample-weight", "mass")),
        "--max-distance": Value(("0.3",)),
        "--threshold": Value(("0.3",)),
        "--html": Value(("out.html",)),
        "--all": Value(),
        "--certificate": Value(("proof.json",)),
        "--items": Value(("in order",)),
        "--level": Value(("0.3",)),
        "--resamples": Value(("0",)),
        "--seed": Value(("7",)),
        "--find": Value(("kind",)),
        "--max-depth": Value(("1",)),
        "--drift": Value(("day",)),
        "--reference": Value(("0",)),
        "--groups": Value(("patient",)),
        "--max-weight": Value(("9",)),
        "--trials": Value(("n",), "counts"),
    },
    "gate": {
        **COMMON,
        **FRACTIONS,
        "--max-distance": Value(("0.001",)),
        "--max-regret": Value(("0.001",)),
        "--threshold": Value(("0.9",)),
        "--level": Value(("0.3",)),
        "--groups": Value(("patient",), beside=("--max-weight", "90")),
        "--max-weight": Value(("50",)),
        "--anytime": Value(("kept.gate",)),
        "--so-far": Value(),
        "--sample-weight": Value(("mass",), beside=("--max-weight", "90")),
        "--trials": Value(("n",), "counts", beside=("--max-weight", "90")),
        "--find": Value(("kind",)),
        "--max-depth": Value(("1",)),
        "--baseline": Value(("rows.csv",)),
        "--max-worse": Value(("0.3",)),
        "--items": Value(("in order",)),
        "--junit": Value(("out.xml",)),
        "--summary": Value(("out.md",)),
    },
    "sketch": {
        **{name: value for name, value in COMMON.items() if name != "--json"},
        "--out": Value(("other.sketch",)),
        "--overwrite": Value((), "exists", if_any=True),
    },
    "merge": {
        "--distinct": Value((), "twice", if_any=True),
        "--by": Value(("kind",)),
        "--out": Value(("other.sketch",)),
        "--overwrite": Value((), "exists", if_any=True),
    },
    "demo": {"--folder": Value(("there",)), "--seed": Value(("3",))},
    "reproduce": {"--out": Value(("there",)), "--data": Value(("there",)), "--quick": Value()},
}

PYTHON = (
    rf"\b({'|'.join(sorted(name for name in OPTIONS if '_' in name and not name.startswith('y_')))})\b|\btable is\b"
)
"""Words that Python's callers know, and the command line's do not."""

PRINTS = ("--json", "--all")
"""What is printed: JSON, in which every other option is looked for, or more of the page."""

NAMES = {
    command: [max(each.opts, key=len) for each in COMMANDS[command].params if each.param_type_name == "option"]
    for command in COMMANDS
}


def test_every_command_and_option_is_in_the_table():
    assert set(COMMANDS) == set(MODES)
    for command, names in NAMES.items():
        assert set(names) == set(VALUES[command]), command


CASES = [(command, mode, option) for command, modes in MODES.items() for mode in modes for option in NAMES[command]]
FIRST = [(command, mode, option) for command, mode, option in CASES if mode == next(iter(MODES[command]))]
REST = [case for case in CASES if case not in FIRST]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "mode", "option"), FIRST)
def test_every_option_matters_or_is_refused(command, mode, option):
    matters_or_is_refused(command, mode, option)


@pytest.mark.slow
@examples(200)
@given(st.sampled_from(REST))
def test_so_it_does_in_every_mode(case):
    matters_or_is_refused(*case)


PAIRS = [
    (command, mode, option, other)
    for command, mode, option in CASES
    for other in NAMES[command]
    if other not in (option, *PRINTS) and not VALUES[command][option].if_any
]


@pytest.mark.slow
@examples(200)
@given(st.sampled_from(PAIRS))
def test_so_it_does_beside_every_other(case):
    matters_or_is_refused(*case)


def test_options_that_a_state_does_not_take_are_named_as_they_are_given():
    done = outcome("gate", "so far", "", ("--anytime", "kept.gate", "--so-far", "--max-depth", "1", "--exclude-bad"))
    assert done[0] == 2
    assert done[1].startswith("calibrant: --max-depth: cannot be used with --so-far")
    assert "nor can --exclude-bad" in done[1]


def test_more_of_the_page_is_refused_beside_json():
    done = outcome("audit", "rows", "", ("--all", "--json"))
    why = "--all: has no effect beside --json, which prints everything"
    assert (done[0], done[1]) == (2, f"calibrant: {why}\n")
    assert json.loads(done[2])["error"] == why


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["several files", "forecasts", "several files of classes", "several sketches"])
def test_more_of_the_page_is_refused_of_a_comparison(mode):
    matters_or_is_refused("audit", mode, "--all")


@pytest.mark.parametrize("other", ["--sample-weight", "--groups"])
def test_a_level_matters_or_is_refused_where_nothing_is_drawn(other):
    matters_or_is_refused("audit", "no resamples", "--level", other)


FEW = ("--groups", "day")


@pytest.mark.parametrize("more", [(), ("--find", "site,kind"), ("--by", "site"), ("--sample-weight", "mass")])
@pytest.mark.parametrize("drawn", [("--seed", "0"), ("--seed", "7"), ("--resamples", "99"), ("--resamples", "999")])
def test_in_few_groups_nothing_is_drawn_and_no_page_names_a_seed(more, drawn):
    done = outcome("audit", "rows", "", (*FEW, *more, *drawn))
    assert done[0] == 2
    assert done[1].endswith(f"calibrant: {drawn[0]}: has no effect: in so few groups no signs are drawn\n")
    plain = outcome("audit", "rows", "", (*FEW, *more, "--html", "page.html"))
    page = dict(plain[3])["page.html"].decode()
    assert plain[0] == 0
    assert "repeats this page" not in plain[2]
    assert "repeats this page" not in page
    assert outcome("audit", "rows", "", (*FEW, "--resamples", "0"))[0] == 0  # and nothing is tested
    both = outcome("audit", "rows", "", (*FEW, *more, "--seed", "1", "--resamples", "99"))
    assert both[1].endswith("--seed: has no effect: in so few groups no signs are drawn; nor has --resamples\n")


@pytest.mark.parametrize("drawn", [("--seed", "7"), ("--resamples", "99")])
@pytest.mark.parametrize("columns", [("y_prob",), ("y_prob", "p_other")])
def test_options_of_draws_stay_where_another_audit_draws(columns, drawn):
    """Signs of 80 groups are drawn, and a comparison of forecasts in few groups draws by the seed alone."""
    forecasts = tuple(part for name in columns for part in ("--y-prob", name))
    many = outcome("audit", "rows", "", (*forecasts, "--groups", "patient", *drawn))
    assert many[0] == 0
    if drawn[0] == "--seed":
        assert "--seed 7 repeats this page" in " ".join(many[2].split())
    few = outcome("audit", "rows", "", (*forecasts, *FEW, *drawn))
    assert few[0] == 2
    assert f"calibrant: {drawn[0]}: has no effect" in few[1]


def test_of_sums_of_weighted_rows_nothing_is_drawn():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.tables.entry.MANY_BYTES", 0)
        summed = ("--sample-weight", "mass")
        plain = outcome("audit", "summed", "", summed)
        assert plain[0] == 0
        assert "repeats this page" not in plain[2]
        for drawn in ("--seed", "--resamples"):
            done = outcome("audit", "summed", "", (*summed, drawn, "99"))
            assert done[0] == 2
            assert f"{drawn}: has no effect: of sums of weighted rows nothing is drawn" in done[1]


def matters_or_is_refused(command, mode, option, other=None):
    value = VALUES[command][option]
    for variant in {value.variant} if value.if_any else {value.variant, ""}:
        _matters_or_is_refused(command, mode, option, other, variant)


def _matters_or_is_refused(command, mode, option, other, variant):
    how, value = MODES[command][mode], VALUES[command][option]
    needs = dict(zip(value.beside[::2], value.beside[1::2], strict=True))
    own = without(how.args, option)
    if other is not None:
        more = VALUES[command][other]
        own = (*without(own, other), other, *more.args)
        needs |= dict(zip(more.beside[::2], more.beside[1::2], strict=True))
    beside = tuple(part for each, its in needs.items() if each not in (option, *own) for part in (each, its))
    base, args = (*own, *beside), (*own, *beside, option, *value.args)
    if command in ("audit", "gate") and option not in PRINTS:
        base, args = (*base, "--json"), (*args, "--json")
    with pytest.MonkeyPatch.context() as patch:
        if "summed" in mode:
            patch.setattr("calibrant.tables.entry.MANY_BYTES", 0)
        base = outcome(command, how.reads, variant, base)
        done = outcome(command, how.reads, variant, args)
    named = "|".join([option, *(each for each in (other, *beside) if each and each.startswith("--"))])
    refused = done[0] == 2 and re.search(rf"({named})\b", done[1])
    said = done[1].rpartition("calibrant: ")[2]
    assert done[0] != 2 or not re.search(PYTHON, said), said
    if other is not None and base[0] == 2:
        return
    assert base[0] != 2 or done[0] != 2 or refused, base[1][:600]
    assert refused or (done[0] in (0, 1, 3) and stripped(done) != stripped(base)), (done[0], done[1][:600])


def without(args, option):
    """The arguments that make a mode, without an option that they have: it may be given once."""
    if option not in args or option == "--y-prob":
        return args
    at = args.index(option)
    takes = at + 1 < len(args) and not args[at + 1].startswith("--")
    return (*args[:at], *args[at + 1 + takes :])


def stripped(done):
    """The result without what only repeats the options."""
    code, _, out, files = done
    return code, _plain(out), dict(files)


def _plain(out):
    try:
        return _cut(json.loads(out))
    except ValueError:
        return out


def _cut(value):
    if isinstance(value, dict):
        decides = {"level"} if "pvalue" in value else set()  # of a test the level is what it decides by
        return {key: _cut(each) for key, each in value.items() if key not in ECHOES or key in decides}
    return [_cut(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory):
    """Where what modes read is kept."""
    built.cache_clear()
    built.place = tmp_path_factory.mktemp("kept")


@cache
def built(reads, variant):
    """A folder with what a mode reads, written once, and the names in it."""
    folder = Path(tempfile.mkdtemp(dir=built.place))
    return folder, option_data.build(folder, reads, variant)


@cache
def outcome(command, reads, variant, args):
    """Exit code, errors, output and files of a run in a folder of its own."""
    folder = Path(tempfile.mkdtemp())
    kept, names = built(reads, variant)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    args = tuple(each.replace("{folder}", str(folder)) for each in args)
    names = names[:1] if reads == "baseline" else names
    few = "day" in args and args[args.index("day") - 1] == "--groups"
    weighted_sums = reads == "summed" and "--sample-weight" in args and "--find" not in args
    if command == "audit" and not ("--resamples" in args or reads == "rates" or few or weighted_sums):
        args = (*args, "--resamples", "59")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    here = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(app, [command, *names, *args])
    finally:
        os.chdir(here)
    changed = {path for path in folder.rglob("*") if path.is_file() and before.get(path) != path.read_bytes()}
    files = tuple(sorted((str(path.relative_to(folder)), path.read_bytes()) for path in changed))
    out = done.stdout.replace(str(folder), "")
    shutil.rmtree(folder)
    return done.exit_code, done.stderr, out, files


PLACES = [
    (command, max(each.opts, key=len), fault)
    for command, one in COMMANDS.items()
    for each in one.params
    for fault in ("locked", "full")
    if "Path" in str(inspect.unwrap(one.callback).__annotations__[each.name])
    and each.name != "data"
    and (command, fault) != ("demo", "full")
]
"""Options that name what is written, but the demonstration's folder on a full disk, which takes long."""
NAMED = {"--out": "out.sketch", "--anytime": "new.gate", "--folder": "", "--html": "out.html", "--junit": "out.xml"}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits as on POSIX")
@pytest.mark.parametrize(("command", "option", "fault"), PLACES)
def test_a_place_that_takes_nothing_is_told_of_its_option(command, option, fault, tmp_path, monkeypatch):
    """Neither a new file nor a part of one is left, and what was there stays."""
    import resource

    how = next(iter(MODES[command].values()))
    place = tmp_path / "place"
    place.mkdir()
    names = option_data.build(tmp_path, "sketch" if command == "merge" else how.reads, "")
    monkeypatch.chdir(tmp_path)
    target = place / ("" if command == "reproduce" else NAMED.get(option, "out.md"))
    args = [*names, *without(how.args, option), option, str(target)]
    args = ["unifying-theory-lemmas", *args[-2:]] if command == "reproduce" else args
    state = os.stat
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patch:
        if fault == "locked":
            patch.setattr(
                os, "stat", lambda path, *more, **options: _locked(path, place) or state(path, *more, **options)
            )
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        try:
            done = CliRunner().invoke(app, [command, *args])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.exit_code == 2
    assert re.match(f"calibrant: {option}: .* cannot be written", done.stderr.strip().split("\n")[-1])
    assert not list(place.iterdir())


def _locked(path, place):
    """Fail as the system does of what lies in a folder that may not be searched."""
    if str(path).startswith(f"{place}{os.sep}"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("demo", "reproduce")])
def test_a_file_that_may_not_be_read_is_told_as_one(command, tmp_path, monkeypatch):
    how = next(iter(MODES[command].values()))
    (name,) = option_data.build(tmp_path, "sketch" if command == "merge" else how.reads, "")
    place, state = tmp_path / "there", os.stat
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        os, "stat", lambda path, *more, **options: _locked(path, place) or state(path, *more, **options)
    )
    done = CliRunner().invoke(app, [command, str(place / name), *how.args])
    assert done.exit_code == 2
    assert f"FILE: {str(place / name)!r} cannot be read: Permission denied" in done.stderr


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("demo", "reproduce")])
def test_an_empty_file_is_refused_by_name(command, tmp_path, monkeypatch):
    """As an unset variable leaves it; a folder that holds rows is where it is run."""
    option_data.build(tmp_path, "rows", "")
    monkeypatch.chdir(tmp_path)
    more = {"gate": ("--max-distance", "0.9"), "sketch": ("--out", "a.sketch"), "merge": ("--out", "a.sketch")}
    for empty in ("", " "):
        done = CliRunner().invoke(app, [command, empty, *more.get(command, ())])
        assert done.exit_code == 2
        assert "is empty" in done.stderr


WRONG = {
    "option": ("--no-such-option",),
    "twice": ("rows.csv", "--seed", "1", "--seed", "2"),
    "value": ("rows.csv", "--seed", "one"),
    "range": ("rows.csv", "--seed", "-1"),
    "lacking": ("rows.csv", "--seed"),
    "empty": ("",),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("command", [*COMMANDS, "no-such-command"])
def test_every_usage_error_is_one_line(command, wrong):
    done = CliRunner().invoke(app, [command, *WRONG[wrong]])
    assert done.exit_code == 2
    assert not done.stdout
    said = done.stderr
    assert said.startswith("calibrant: ")
    assert said.count("\n") == 1
    assert "Usage" not in said
    if wrong == "empty" and command in ("audit", "gate", "sketch"):
        assert said == "calibrant: FILE is empty; is the variable set?\n"


LISTS = [
    (command, option, VALUES[command][option].args[0])
    for command in MODES
    for option in ("--by", "--find", "--reference")
    if option in NAMES[command]
]


@pytest.mark.parametrize(("command", "option", "name"), LISTS)
def test_a_list_names_each_once(command, option, name):
    how = next(each for mode, each in MODES[command].items() if option != "--reference" or mode == "drift")
    done = outcome(command, how.reads, "", (*without(how.args, option), option, f"{name},{name}"))
    assert done[0] == 2
    assert re.search(rf"{option}: .*names a \w+ twice", done[1])


SINGLE = [
    (command, mode)
    for command, modes in MODES.items()
    for mode, how in modes.items()
    if "--distinct" in NAMES[command] and how.reads in ("sketch", "anytime sketch")
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "mode"), SINGLE)
def test_one_source_is_not_distinct_from_itself(command, mode):
    how = MODES[command][mode]
    done = outcome(command, how.reads, "", (*how.args, "--distinct"))
    assert done[0] == 2
    assert re.search("--distinct: has no effect: .*(FILE|SKETCH) is one source", done[1])


@pytest.mark.parametrize("option", [name for name in NAMES["gate"] if VALUES["gate"][name].args != ()])
def test_an_empty_value_is_refused_by_name(option, tmp_path):
    done = CliRunner().invoke(app, ["gate", str(tmp_path / "rows.csv"), option, ""])
    assert done.exit_code == 2
    assert option in done.stderr


def test_a_state_never_passes_for_new_rows(tmp_path):
    option_data.build(tmp_path, "so far", "")
    state = str(tmp_path / "kept.gate")
    for args in (("--anytime", state), ("", "--anytime", state), ("--anytime", state, "--max-distance", "0.2")):
        done = CliRunner().invoke(app, ["gate", *args])
        assert done.exit_code == 2
        assert re.search("FILE: is missing|FILE is empty; is the variable set?", done.stderr)
        assert not done.stdout
    assert CliRunner().invoke(app, ["gate", "--anytime", state, "--so-far"]).exit_code in (0, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["./rows.csv", "link.csv", "ro*.csv", ".", "there/../rows.csv"])
def test_a_file_is_no_baseline_of_itself_by_any_name(baseline, tmp_path, monkeypatch):
    option_data.build(tmp_path, "rows", "")
    monkeypatch.chdir(tmp_path)
    if baseline == "link.csv":
        Path("link.csv").symlink_to("rows.csv")
    done = CliRunner().invoke(app, ["gate", "rows.csv", "--max-distance", "0.2", "--baseline", baseline])
    assert done.exit_code == 2
    assert f"--baseline: {baseline!r} is FILE itself, or a part of it" in done.stderr


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused_by_the_option_that_asks_for_it(tmp_path, monkeypatch):
    for reads in ("classes", "two"):
        option_data.build(tmp_path, reads, "")
    monkeypatch.chdir(tmp_path)
    limit = ("--max-distance", "0.2")
    for names in (("rows.csv", "classes.csv"), ("classes.csv", "rows.csv")):
        done = CliRunner().invoke(app, ["gate", names[0], *limit, "--baseline", names[1]])
        assert done.exit_code == 2
        assert "--baseline: " in done.stderr
    weighted = ("--anytime", "new.gate", "--max-weight", "3")
    begun = CliRunner().invoke(app, ["gate", "rows.csv", *limit, *weighted, "--sample-weight", "mass"])
    assert begun.exit_code != 2
    done = CliRunner().invoke(app, ["gate", "second.csv", *limit, *weighted])
    assert done.exit_code == 2
    assert "--sample-weight: is missing, and the rows of 'new.gate' have column 'mass'" in done.stderr
