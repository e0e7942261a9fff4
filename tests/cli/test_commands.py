"""What commands hand on and print, with all that computes in its place taken by what notes how it was asked."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from calibrant.cli import app as commands
from calibrant.cli.app import _audit_files, _audit_inputs, _compare_files, _request_to_gate, app
from calibrant.door.errors import InputError
from calibrant.door.request import AuditRequest


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("y_true,y_prob\n1,0.5\n0,0.5\n")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


class _Result:
    def __init__(self, audits=()):
        self.audits, self.pages = audits, []

    def to_json(self):
        return "as json"

    def to_html(self, target):
        target.write_text("page")


AUDITS = [
    ([], False, ["page", "short"], []),
    (["--all"], True, ["page", "whole"], []),
    (["--json"], True, ["as json"], []),
    (["--html", "a.html"], True, ["page", "short", "Report: a.html"], []),
    (["--html", "a.html", "--json"], True, ["as json"], ["Report: a.html"]),
    (["--certificate", "c.json"], False, ["page", "short", "Certificate: c.json"], []),
    (["--certificate", "c.json", "--json"], True, ["as json"], ["Certificate: c.json"]),
]


@pytest.mark.parametrize(("options", "everything", "shown", "told"), AUDITS)
@pytest.mark.usefixtures("table")
def test_an_audit_prints_its_page_or_json_and_names_what_it_wrote(monkeypatch, options, everything, shown, told):
    asked: list[Any] = []

    def audit(_files, _inputs, forecasts, _items, request, _progress):
        asked.append((forecasts, request.everything, request.y_prob))
        return _Result(), [SimpleNamespace(audit=SimpleNamespace(periods=()))]

    monkeypatch.setattr("calibrant.cli.compilation.compile_beside", lambda *_, everything: asked.append(everything))
    monkeypatch.setattr(commands, "_audit_inputs", audit)
    monkeypatch.setattr(commands, "_write_certificate", lambda _audited, _file, target: target.write_text("proof"))
    monkeypatch.setattr(commands, "page", lambda _result, everything: "page\n" + ("whole" if everything else "short"))
    done = run("audit", "rows.csv", "--y-prob", "y_prob", *options)
    assert done.exit_code == 0
    assert (done.stdout.splitlines(), done.stderr.splitlines()) == (shown, told)
    assert asked == [everything, (["y_prob"], everything, "y_prob")]
    assert Path("a.html").exists() == ("--html" in options)
    assert Path("c.json").exists() == ("--certificate" in options)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("files", "forecasts", "by"), [(1, 1, "files"), (1, 2, "forecasts"), (2, 1, "comparison")])
def test_one_file_is_audited_several_are_compared_and_so_are_several_forecasts(monkeypatch, files, forecasts, by):
    audited = [SimpleNamespace(audit="audit of a file")] * files
    monkeypatch.setattr(commands, "_audit_files", lambda *_: audited)
    monkeypatch.setattr(commands, "_compare_files", lambda *_: "comparison of files")
    monkeypatch.setattr("calibrant.findings.tables.audit_forecasts", lambda *_: "comparison of forecasts")
    columns = [f"p{k}" for k in range(forecasts)]
    found = _audit_inputs(["rows.csv"] * files, [None] * files, columns, None, AuditRequest(), lambda _stage: None)
    assert (
        found
        == {
            "files": ("audit of a file", audited),
            "forecasts": ("comparison of forecasts", []),
            "comparison": ("comparison of files", audited),
        }[by]
    )


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("baseline", [None, "other.csv"])
@pytest.mark.parametrize("outputs", [[], ["--junit", "a.xml"], ["--summary", "a.md"]], ids=str)
@pytest.mark.parametrize(("verdict", "code"), [("within", 0), ("beyond", 1), ("undecided", 3)])
def test_a_gate_prints_and_writes_what_was_decided(monkeypatch, as_json, baseline, outputs, verdict, code):
    decision = SimpleNamespace(verdict=verdict, summary=lambda: "in words")
    asked, places, written = [], [], []

    def check(_table, _request, listener):
        asked.append(listener.hint is commands.tell)
        return decision

    monkeypatch.setattr(commands, "_open_to_gate", lambda *_: SimpleNamespace(sources=["rows.csv"]))
    monkeypatch.setattr(commands, "check_targets", lambda targets, sources: places.append((targets, sources)))
    monkeypatch.setattr("calibrant.gate.checks.check_opened", check)
    monkeypatch.setattr("calibrant.report.gate.write_junit", lambda _decision, to: written.extend(["--junit", str(to)]))
    monkeypatch.setattr("calibrant.report.gate.add_markdown", lambda _, to: written.extend(["--summary", str(to)]))
    monkeypatch.setattr("calibrant.report.schema.gate_as_json", lambda _decision: "as json")
    more = ["--baseline", baseline, "--max-worse", "0.1"] if baseline else ["--max-distance", "0.1"]
    done = run("gate", "rows.csv", *more, *outputs, *["--json"] * as_json)
    assert (done.exit_code, done.stdout) == (code, "as json\n" if as_json else "in words\n")
    assert (asked, written) == ([as_json], outputs)
    (targets, sources), *rest = places
    assert not rest
    assert sources == (["rows.csv", baseline] if baseline else ["rows.csv"])
    assert {name: str(each) for name, each in targets.items() if each} == dict([outputs] if outputs else [])


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("level", [None, 0.05, 0.2])
def test_of_a_state_alone_its_own_level_counts_unless_one_is_given(monkeypatch, level):
    asked, places = [], []

    def state(path, **options):
        asked.append((path, options))
        return SimpleNamespace(verdict="within", summary=lambda: "in words")

    monkeypatch.setattr(commands, "check_targets", lambda _targets, sources: places.append(sources))
    monkeypatch.setattr("calibrant.gate.checks.check_state", state)
    done = run("gate", "--anytime", "state", "--so-far", *([] if level is None else ["--level", level]))
    assert (done.exit_code, done.stdout) == (0, "in words\n")
    assert asked == [(Path("state"), {"max_distance": None, "level": level, "max_weight": None})]
    assert places == [[]]


def test_a_gate_reads_a_file_or_says_what_a_state_proves(monkeypatch):
    monkeypatch.setattr(commands, "given", lambda: frozenset({"so_far", "anytime"}))
    assert _request_to_gate(None, True, {"anytime": Path("state")}) is None
    with pytest.raises(InputError, match=r"^FILE: is missing, so that no rows can be checked; name it"):
        _request_to_gate(None, False, {"anytime": Path("state")})
    monkeypatch.setattr(commands, "given", lambda: frozenset({"so_far"}))
    with pytest.raises(InputError) as refused:
        _request_to_gate(None, True, {"anytime": None})
    assert refused.value.argument == "so_far"


@dataclass
class _Compared:
    not_compared: str | None
    matching: str | None = None


@dataclass
class _Audit:
    n_excluded: int
    not_looked_at: tuple[str, ...] = ("id", "site")
    columns: tuple[str, ...] = ()


COMPARED = {
    "matched": ([[], []], 0, True, None, True, "by id"),
    "no match": ([[], []], 0, False, None, True, None),
    "matched and not compared": ([[], []], 0, True, "too few", True, None),
    "rows of one not known": ([[], None], 0, True, None, False, None),
    "rows left out": ([[], []], 1, True, None, False, None),
}


@pytest.mark.parametrize(
    ("rows", "excluded", "matches", "why_not", "looked_for", "said"), COMPARED.values(), ids=COMPARED
)
def test_rows_of_files_are_matched_where_all_are_known(monkeypatch, rows, excluded, matches, why_not, looked_for, said):
    match = SimpleNamespace(how="id", sentence=lambda titles: f"by id: {titles}") if matches else None
    searched, handed = [], []

    def matched(_sources, outcomes, items, *, distinct):
        searched.append((outcomes, items, distinct))
        return match, "unmatched"

    def compare(titles, audits, _rows, **how):
        handed.append((titles, [each.not_looked_at for each in audits], how))
        return _Compared(why_not)

    monkeypatch.setattr("calibrant.findings.comparison.compare", compare)
    monkeypatch.setattr("calibrant.findings.comparison.very_same", lambda *_: [])
    monkeypatch.setattr("calibrant.findings.comparison.refuse_idle_draws", lambda *_: None)
    monkeypatch.setattr("calibrant.findings.matching.Source", lambda *_: SimpleNamespace(is_log=False))
    monkeypatch.setattr("calibrant.findings.matching.match_rows", matched)
    audited = [
        SimpleNamespace(audit=_Audit(excluded), rows=None if each is None else (f"y{k}", "v"), groups=None)
        for k, each in enumerate(rows)
    ]
    tables, request = [SimpleNamespace(name=None)] * 2, AuditRequest(distinct=True)
    found = _compare_files(["a", "b"], tables, audited, "id", request, lambda _stage: None)
    assert searched == ([(["y0", "y1"], "id", True)] if looked_for else [])
    ((titles, not_looked_at, how),) = handed
    assert titles == ["a", "b"]
    assert not_looked_at == [("site",) if looked_for and matches else ("id", "site")] * 2  # the ids were looked at
    pairing = how["pairing"]
    assert (pairing.match, pairing.unmatched) == ((match, "unmatched") if looked_for else (None, None))
    assert pairing.explicit is True
    assert found.matching == (f"{said}: ['a', 'b']" if said else None)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["audit", "rows.csv", "--y-prob", " "], "calibrant: --y-prob is empty; is the variable set?"),
        (["audit", ""], "calibrant: FILE is empty; is the variable set?"),
        (
            ["gate", "rows.csv", "--level", "1%", "--level", "2%"],
            "calibrant: --level is given 2 times, and takes one value",
        ),
        *(
            (
                ["gate", "rows.csv", *[option, "a"] * 2],
                f"calibrant: {option} is given 2 times, and takes one value; several columns have commas between them",
            )
            for option in ("--by", "--find", "--strata")
        ),
    ],
    ids=str,
)
def test_a_line_that_cannot_be_read_is_told_in_one_line(line, said):
    done = run(*line)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"{said}\n")


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("files", [1, 2])
def test_whether_a_seed_has_an_effect_is_asked_of_the_audit_of_one_file_and_of_the_comparison_of_two(
    monkeypatch, files
):
    asked = []

    def audit(_files, _inputs, _forecasts, _items, request, _progress):
        asked.append(request.explicit)
        raise InputError("y_prob", "is all that is asked")

    monkeypatch.setattr("calibrant.cli.compilation.compile_beside", lambda *_, **__: None)
    monkeypatch.setattr(commands, "_audit_inputs", audit)
    run("audit", *["rows.csv"] * files, "--seed", 3, "--level", 0.1)
    assert asked == [{"files", "level"} | ({"random_state"} if files == 1 else set())]


@pytest.mark.parametrize("files", [1, 2])
def test_of_several_files_each_fault_begins_with_the_file_and_of_one_it_does_not(monkeypatch, capsys, files):
    def audit(table, _request, listener):
        listener.note(f"sees {table}")
        if table == "b":
            raise InputError("y_prob", "is bad")
        return "audited"

    monkeypatch.setattr("calibrant.findings.tables.audit_opened", audit)
    names = ["one.csv", "two.csv"][:files]
    if files == 1:
        assert _audit_files(names, ["a"], AuditRequest(), lambda _stage: None) == ["audited"]
    else:
        with pytest.raises(InputError, match=r"^y_prob: in 'two.csv': is bad"):
            _audit_files(names, ["a", "b"], AuditRequest(), lambda _stage: None)
    prefix = "one.csv: " if files > 1 else ""
    assert capsys.readouterr().err.splitlines()[0] == f"{prefix}sees a"
