"""The n-th call that writes fails, for every n: exit codes are as documented, a file is the old or the new one, whole.

Here the calls that Python makes fail; in tools/long_runs.py faults those of the operating system, in whole commands.
"""

import errno
import io
import os
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from calibrant import CalibrationSketch, FileError
from calibrant.cli.app import app
from calibrant.door.output import write_whole
from calibrant.recalibration import PlattScaling
from calibrant_papers import registry

Y, P = [0, 1, 0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.6, 0.45]
OLD = b"what stood here before"


class Report:
    """An audit whose page is there already."""

    periods = ()

    def to_html(self, path):
        write_whole(path, "<html>" + "x" * 100_000)

    def summary(self):
        return "within"


DONE = registry.Reproduction("Title", "Finding.", "Body.")


class Calls:
    """Counts calls, of which one fails."""

    def __init__(self, at, raised):
        self.at, self.raised, self.made = at, raised, []

    def __call__(self, name):
        self.made.append(name)
        if len(self.made) == self.at:
            raise self.raised


class Stream:
    """A file of which writes, flushes and the end are counted; a write that fails has written half."""

    def __init__(self, inner, calls):
        self._inner, self._calls = inner, calls

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._inner.close()
        self._calls("close")

    def write(self, data):
        try:
            self._calls("write")
        except BaseException:
            self._inner.write(data[: len(data) // 2])
            raise
        return self._inner.write(data)

    def flush(self):
        self._calls("flush")
        self._inner.flush()


@contextmanager
def failing(monkeypatch, folder, at, raised):
    calls = Calls(at, raised)
    opened = io.open

    def opens(path, mode="r", *args, **options):
        ours = not isinstance(path, int) and os.fspath(path).startswith(str(folder)) and "r" not in mode
        if ours:
            calls("open")
        stream = opened(path, mode, *args, **options)
        return Stream(stream, calls) if ours else stream

    def counted(name):
        real = getattr(os, name)

        def call(*args, **options):
            calls(name)
            return real(*args, **options)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(io, "open", opens)
        for name in ("fsync", "replace", "unlink", "chmod"):
            patched.setattr(os, name, counted(name))
        yield calls


WRITERS = {
    "report": ("report.html", Report().to_html),
    "sketch": ("day.parquet", lambda path: CalibrationSketch(64).update(Y, P).to_parquet(path)),
    "recalibrator": ("map.json", lambda path: PlattScaling().fit(P, Y).save(path)),
    "page": ("page.md", lambda path: registry.write("page", DONE, path.parent)),
}
RAISED = [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error"), MemoryError()]


@pytest.mark.parametrize("raised", [*RAISED, KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("what", WRITERS)
def test_functions_that_write(tmp_path, monkeypatch, what, raised):
    name, write = WRITERS[what]
    path = tmp_path / name
    write(path)
    new = path.read_bytes()
    for at in range(1, 50):
        path.write_bytes(OLD)
        problem = None
        with failing(monkeypatch, tmp_path, at, raised) as calls:
            try:
                write(path)
            except (FileError, MemoryError, KeyboardInterrupt) as told:
                problem = told
        if problem is None:
            assert len(calls.made) < at
            assert path.read_bytes() == new
            break
        if isinstance(raised, OSError):
            assert isinstance(problem, FileError)
            assert raised.strerror in str(problem)
        else:
            assert problem is raised
        assert path.read_bytes() == OLD
        left = [each.name for each in tmp_path.iterdir()]
        assert left == [name] or calls.made[at - 1] == "unlink"
        for each in tmp_path.glob(".*"):
            each.unlink()
    assert {"open", "write", "flush", "fsync", "replace"} <= set(calls.made)
    assert at > 5


@pytest.mark.slow
@pytest.mark.parametrize("raised", RAISED, ids=repr)
@pytest.mark.parametrize("command", ["audit", "demo", "reproduce"])
def test_commands_that_write(tmp_path, monkeypatch, raised, command):
    rows = tmp_path / "rows.csv"
    rows.write_text("".join(["y_true,y_prob\n", *(f"{y},{p}\n" for y, p in zip(Y, P, strict=True))]))
    monkeypatch.setattr("calibrant.cli.options.page", lambda found, **_: found.summary())
    monkeypatch.setattr("calibrant.cli.app.page", lambda found, **_: found.summary())
    monkeypatch.setattr("calibrant.cli.demo.page", lambda found, **_: found.summary())
    monkeypatch.setattr("calibrant.cli.demo.comparison", lambda *_: Report())
    monkeypatch.setattr("calibrant.findings.tables.audit_opened", lambda *_: type("Audited", (), {"audit": Report()}))
    monkeypatch.setattr("calibrant_papers.registry.reproduce", lambda *_, **__: DONE)
    out = tmp_path / "out"
    out.mkdir()
    arguments, path = {
        "audit": (["audit", str(rows), "--html", str(out / "report.html")], out / "report.html"),
        "demo": (["demo", "--folder", str(out)], out / "calibrant-demo.html"),
        "reproduce": (["reproduce", "hardness-birthday", "--out", str(out)], out / "hardness-birthday.md"),
    }[command]
    for at in range(1, 50):
        path.write_bytes(OLD)
        with failing(monkeypatch, out, at, raised) as calls:
            done = CliRunner().invoke(app, arguments)
        if len(calls.made) < at:
            break
        if isinstance(raised, OSError) and at == 1 and command != "reproduce":
            assert done.exit_code == 0  # whether the folder can be written to is tried in a second way
            continue
        assert done.exit_code == (2 if isinstance(raised, OSError) else 70)
        assert "Report: " not in done.stdout if command == "demo" else not done.stdout
        (line,) = done.stderr.splitlines()
        assert (
            isinstance(raised, MemoryError)
            or {"audit": "--html", "demo": "--folder", "reproduce": "--out"}[command] in line
        )
        assert calls.made[at - 1] == "unlink" or path.read_bytes() == OLD
        for each in out.glob(".*"):
            assert calls.made[at - 1] == "unlink"
            each.unlink()
    assert done.exit_code == 0
    assert path.read_bytes() != OLD
    assert at > 5
