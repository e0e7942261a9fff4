"""How options are declared and read, how a mistake among them is said, and where results may be written."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from calibrant.cli import options
from calibrant.cli.options import (
    _AsTheyAre,
    _files,
    _in_words,
    _is_empty,
    _lightly,
    _outputs_among,
    _parameter,
    _share,
    check_target,
    check_targets,
    names,
    no_result_told,
    page,
    writing,
)
from calibrant.door.errors import FileError, InputError
from calibrant.door.request import Option
from calibrant.exits import Leave
from calibrant.report.text import ASCII, UNICODE


@pytest.mark.parametrize(
    ("text", "value"), [("0.05", 0.05), (" 5% ", 0.05), ("2.5 %", 0.025), ("1e-3", 0.001), (0.1, 0.1)]
)
def test_a_share_is_a_number_or_a_percentage(text, value):
    assert _share(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,05", "'0,05' has a comma; write 0.05"),
        ("2,5%", "'2,5%' has a comma; write 2.5%"),
        ("five", "'five' is not a number; write it like 0.05 or 5%"),
        ("five%", "'five%' is not a number; write it like 0.05 or 5%"),
    ],
)
def test_what_is_no_share_is_refused_with_how_it_is_written(text, said):
    with pytest.raises(typer.BadParameter) as refused:
        _share(text)
    assert refused.value.message == said


def test_columns_that_are_listed_are_taken_apart_and_none_is_no_column():
    assert (names(None), names("day"), names('day,"a,b"')) == ((), ("day",), ("day", "a,b"))


DECLARED = {
    "share": (Option("share", "help", "-"), 0.05, False, float, 0.05, "SHARE"),
    "share without a default": (Option("share", "help", "-"), None, False, float | None, None, "SHARE"),
    "metavar": (Option("text", "help", "-", metavar="COLUMN"), None, False, str | None, None, "COLUMN"),
    "share with a metavar": (Option("share", "help", "-", metavar="LIMIT"), 0.1, False, float, 0.1, "LIMIT"),
    "names": (Option("names", "help", "-"), (), False, str | None, None, None),
    "several": (Option("text", "help", "-"), None, True, list[str] | None, None, None),
    "whole": (Option("whole", "help", "-", least=1, most=9), 3, False, int, 3, None),
    "another default": (Option("path", "help", "-", command=Path("here")), None, False, Path, Path("here"), None),
}


@pytest.mark.parametrize(("option", "default", "several", "kind", "taken", "metavar"), DECLARED.values(), ids=DECLARED)
def test_a_field_of_a_request_is_declared_as_an_option(monkeypatch, option, default, several, kind, taken, metavar):
    monkeypatch.setattr(options, "OPTIONS", {})
    parameter = _parameter("of_that_name", option, default, several)
    (declared,) = parameter.annotation.__metadata__
    assert parameter.annotation.__origin__ == kind
    assert parameter.default == taken
    assert (declared.metavar, declared.parser) == (metavar, _share if metavar == "SHARE" else None)
    assert (declared.min, declared.max) == (option.least, option.most)
    assert (declared.default, *declared.param_decls) == ("--of-that-name",)  # as typer reads it
    assert options.OPTIONS == {"of_that_name": "--of-that-name"}


FILE = SimpleNamespace(param_type_name="argument", metavar="FILE ...", name="files", opts=["files"])
PLAIN = SimpleNamespace(param_type_name="argument", metavar=None, name="folder", opts=["folder"])
OUT = SimpleNamespace(param_type_name="option", metavar="SHARE", name="out", opts=["-o", "--out"])


@pytest.mark.parametrize(
    ("param", "message", "said"),
    [
        (FILE, "is empty; is the variable set?", "FILE is empty; is the variable set?"),
        (PLAIN, "cannot be read.", "FOLDER: cannot be read"),
        (OUT, "is given 2 times.", "--out is given 2 times"),
        (OUT, "'x' is not a number", "--out: 'x' is not a number"),
        (None, "cannot be read.", "Invalid value: cannot be read"),
    ],
)
def test_a_mistake_is_said_of_the_name_that_the_user_wrote(param, message, said):
    assert _in_words(typer.BadParameter(message, param=param)) == said


def _typed(kind, taken="by typer"):
    return SimpleNamespace(
        type_descriptor=SimpleNamespace(annotation=kind),
        get_runtime_param=lambda: SimpleNamespace(coerce=lambda value, **_: (taken, value)),
    )


@pytest.mark.parametrize(
    ("kind", "value", "multiple", "nargs", "found"),
    [
        (str, None, True, 1, ()),
        (str, None, False, -1, ()),
        (str, None, False, 1, None),
        (str, "text", False, 1, "text"),
        (int, "3", False, 1, 3),
        (int, "03", False, 1, ("by typer", "03")),
        (int, "3.0", False, 1, ("by typer", "3.0")),
        (int, "-3", False, 1, ("by typer", "-3")),
        (int, "٣", False, 1, ("by typer", "٣")),
        (float, "0.05", False, 1, 0.05),
        (float, "3", False, 1, 3.0),
        (float, "5e-2", False, 1, ("by typer", "5e-2")),
        (float, ".5", False, 1, ("by typer", ".5")),
        (list[str], ("a", "b"), False, -1, ["a", "b"]),
        (list[str], ("a", 1), False, -1, ("by typer", ("a", 1))),
        (list[int], ("a", "b"), False, -1, ("by typer", ("a", "b"))),
    ],
)
def test_texts_and_defaults_are_handed_on_and_the_rest_is_left_to_typer(kind, value, multiple, nargs, found):
    param = SimpleNamespace(multiple=multiple, nargs=nargs)
    assert _AsTheyAre(_typed(kind)).coerce(value, param, None) == found


@pytest.mark.parametrize("text", ["4", "0", "10", "11"])
def test_numbers_beyond_their_ends_are_left_to_typer(text):
    typed = _typed(int)
    typed.min, typed.max = 1, 10
    inside = 1 <= int(text) <= 10
    value = _AsTheyAre(typed).coerce(text, SimpleNamespace(multiple=False, nargs=1), None)
    assert value == (int(text) if inside else ("by typer", text))


def test_a_parameter_is_changed_once_and_only_where_typer_is_one_that_asks():
    typed = _typed(str)
    assert _lightly(typed) is typed
    changed = typed.get_runtime_param
    assert isinstance(changed, _AsTheyAre)
    assert _lightly(typed).get_runtime_param is changed
    older = SimpleNamespace()
    assert not vars(_lightly(older))


@pytest.mark.parametrize(
    ("arguments", "targets", "others"),
    [
        (["--html", "a.html", "rows.csv"], {"--html": Path("a.html")}, ["rows.csv"]),
        (["--html=a.html", "rows.csv"], {"--html": Path("a.html")}, ["rows.csv"]),
        (["rows.csv", "--html"], {}, ["rows.csv", "--html"]),
        (["--html=", "rows.csv"], {}, ["--html=", "rows.csv"]),
        (["--level", "x", "--by=day"], {}, ["--level", "x", "--by=day"]),
        (["--junit", "a.xml", "--html=b"], {"--html": Path("b")}, ["--junit", "a.xml"]),  # of another command
    ],
)
def test_the_files_of_results_are_found_in_a_line_that_cannot_be_read(arguments, targets, others):
    assert _outputs_among(arguments, {"--html"}) == (targets, others)


@pytest.mark.parametrize(
    ("value", "empty"),
    [("", True), (" ", True), ("a", False), (["a", ""], True), (("a", "b"), False), (None, False), (0, False)],
)
def test_a_text_without_letters_is_empty_alone_or_among_others(value, empty):
    assert _is_empty(value) == empty


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_result_is_written_where_it_can_be_and_replaces_no_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("rows")
    os.link("rows.csv", "same.csv")
    Path("folder").mkdir()
    Path("link").symlink_to("gone/page.html")
    Path("through").symlink_to("rows.csv/page.html")
    Path("into").symlink_to("folder/page.html")
    os.mkfifo("pipe")
    faults = {
        "folder": "'folder' is a folder; name a file",
        "gone/page.html": "'gone' does not exist; create it first",
        "rows.csv/page.html": "'rows.csv' is not a folder",
        "link": f"'link' is a link into '{tmp_path / 'gone'}', which does not exist; create it first",
        "through": f"'through' is a link into '{tmp_path / 'rows.csv'}', which is not a folder",
        "pipe": "'pipe' is not a plain file; name a file to write",
        "same.csv": "'same.csv' is an input file itself; name another",
        "./new.html": "'new.html' is written by another option as well; name another",
    }
    for target, said in faults.items():
        with pytest.raises(FileError) as refused:
            check_target(Path(target), "--html", ["rows.csv", "not there.csv", "new.html"])
        assert (refused.value.argument, refused.value.problem) == ("--html", said)
    for target in ("page.html", "into", "same.csv"):
        check_target(Path(target), "--html", [] if target == "same.csv" else ["rows.csv"])
    check_targets({"--html": None, "--junit": Path("a"), "--summary": Path("b")}, ["rows.csv"])
    for places, sources in (({"--junit": Path("a"), "--summary": Path("a")}, []), ({"--summary": Path("a")}, ["a"])):
        with pytest.raises(FileError, match=r"^--summary: 'a' is written by another option as well"):
            check_targets(places, sources)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (InputError("so_far", "has no effect"), "--so-far: has no effect"),
        (OSError(2, "No such file or directory", "rows.csv"), "rows.csv: No such file or directory"),
        (ValueError("of a library"), "no verdict was reached"),
        (KeyboardInterrupt(), "no verdict was reached"),
        (Leave(1), None),
    ],
    ids=repr,
)
def test_why_there_is_no_result_is_written_where_the_result_would_be(tmp_path, capsys, problem, why, as_json):
    targets = {"--html": None, "--summary": tmp_path / "told.md"}
    with pytest.raises(type(problem)), no_result_told(targets, "rows.csv", [None], json=as_json):
        raise problem
    assert targets["--summary"].exists() == (why is not None)
    if why is not None:
        assert why in targets["--summary"].read_text().replace("\\", "")
    shown = capsys.readouterr().out
    assert (json.loads(shown) if shown else None) == ({"title": "rows.csv", "error": why} if as_json and why else None)


@pytest.mark.parametrize("others", [["told.md"], ["."], ["*.md"]], ids=str)
def test_no_input_is_told_that_there_is_no_result(tmp_path, monkeypatch, others):
    monkeypatch.chdir(tmp_path)
    Path("told.md").write_text("input")
    targets = {"--summary": Path("told.md"), "--junit": Path("told.xml")}
    with pytest.raises(ValueError, match="why"), no_result_told(targets, "title", others, json=False):
        raise ValueError("why")
    assert Path("told.md").read_text() == "input"
    assert "no verdict was reached" in Path("told.xml").read_text()  # a fault of one place is none of the other


def test_an_input_stands_for_the_files_of_its_folder_or_its_pattern(tmp_path):
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / name).touch()
    assert _files(str(tmp_path)) == [str(tmp_path), *_files(f"{tmp_path}/*")[1:]]
    assert set(_files(f"{tmp_path}/*.csv")) == {f"{tmp_path}/*.csv", *(str(tmp_path / f"{k}.csv") for k in "ab")}
    assert _files(str(tmp_path / "c.txt")) == [str(tmp_path / "c.txt")] * 2


@pytest.mark.parametrize(("argument", "named"), [("path", "--html"), ("y_prob", "y_prob")])
def test_a_place_that_cannot_be_written_is_told_by_its_option(argument, named):
    with pytest.raises(FileError) as told, writing("--html"):
        raise FileError(argument, "cannot be written")
    assert (told.value.argument, told.value.problem) == (named, "cannot be written")


@pytest.mark.parametrize(
    ("columns", "width"), [(None, 80), (200, 80), (79, 79), (24, 24), (10, 24)], ids=lambda each: str(each)
)
@pytest.mark.parametrize(
    ("encoding", "marks"), [("utf-8", UNICODE), ("latin-1", ASCII), (None, ASCII), ("x-no", ASCII)]
)
def test_a_page_is_as_wide_as_the_terminal_and_in_letters_that_it_has(monkeypatch, columns, width, encoding, marks):
    """At most 80 columns, at least 24; 80 where no terminal is."""
    monkeypatch.setattr("calibrant.report.text.page", lambda *told, everything: (*told, everything))
    monkeypatch.setattr(options.shutil, "get_terminal_size", lambda: SimpleNamespace(columns=columns))
    stream = SimpleNamespace(isatty=lambda: columns is not None, encoding=encoding)
    with monkeypatch.context() as printed:
        printed.setattr(sys, "stdout", stream)
        shown = page("result", everything=True)
    assert shown == ("result", width, marks, True)
