"""Every way out of a command: its exit code, and that nothing passes for what it is not."""

import json
import os
import signal
import subprocess
import sys
import types

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationSketch, FileError, exits
from calibrant.__main__ import command
from calibrant.cli.app import app
from calibrant.cli.options import check_target
from calibrant.door.output import write_whole, write_whole_bytes

RUN = CliRunner()
COMMAND = f"'{sys.executable}' -m calibrant"
needs_posix = pytest.mark.skipif(os.name != "posix", reason="shells, limits and devices as on POSIX")


def run(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments])


def shell(line):
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    y_prob = rng.random(4_000)
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y_true": (rng.random(4_000) < y_prob) * 1, "y_prob": y_prob}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "raised",
    [
        MemoryError("Unable to allocate 23 GiB"),
        RecursionError("maximum recursion depth exceeded"),
        SystemError("error return without exception set"),
        ImportError("failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
        BrokenPipeError(32, "Broken pipe"),
        duckdb.OutOfMemoryException("Out of Memory Error"),
        Exception("std::bad_alloc"),
        KeyError("x\ny"),
        SystemExit(1),
    ],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize("command", ["audit", "gate"])
def test_what_is_not_foreseen_is_70_and_one_line(rows, monkeypatch, raised, command):
    def fails(*_, **__):
        raise raised

    done = "findings.tables.audit_given" if command == "audit" else "gate.table.calibration_gate_on_sample"
    monkeypatch.setattr(f"calibrant.{done}", fails)
    done = run(command, rows, *(("--max-distance", 0.05) if command == "gate" else ()))
    assert done.exit_code == 70
    assert not done.stdout
    assert "Using" in done.stderr.splitlines()[0]
    (line,) = done.stderr.splitlines()[1:]
    assert "unforeseen" in line
    assert "no verdict" in line
    assert type(raised).__name__ in line


def test_the_traceback_is_shown_on_demand(monkeypatch):
    def fails(*_):
        raise MemoryError

    monkeypatch.setattr("calibrant.door.arguments.check_band", fails)
    assert "Traceback" not in run("audit", "rows.csv").stderr
    monkeypatch.setenv(exits.TRACEBACK, "1")
    assert "Traceback" in run("audit", "rows.csv").stderr


def test_memory_that_runs_out_while_reading_says_nothing_about_the_file(rows, monkeypatch):
    def fails(*_, **__):
        raise duckdb.OutOfMemoryException("Out of Memory Error: Failed to allocate block")

    monkeypatch.setattr("calibrant.tables.relations.fetch", fails)
    assert run("gate", rows, "--max-distance", 0.05).exit_code == 70


def _with_app(monkeypatch, look_up):
    """Start the command with a module of commands of which only its look-up is asked."""
    module = types.ModuleType("calibrant.cli.app")

    def attribute(name):
        if name != "app":
            raise AttributeError(name)
        return look_up()

    module.__getattr__ = attribute
    monkeypatch.setitem(sys.modules, "calibrant.cli.app", module)
    monkeypatch.setattr("calibrant.__main__.claim_streams", lambda: None)
    with pytest.raises(SystemExit) as left:
        command()
    return left.value.code


@pytest.mark.parametrize(
    ("raised", "code"), [(MemoryError(), 70), (ImportError("no"), 70), (KeyboardInterrupt(), 130)], ids=repr
)
def test_failures_while_it_is_imported(monkeypatch, capsys, raised, code):
    def fails():
        raise raised

    assert _with_app(monkeypatch, fails) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("swallowed", [False, True])
def test_signals_while_it_is_imported(monkeypatch, number, code, swallowed):
    def told():
        try:
            os.kill(os.getpid(), number)
        except BaseException:
            if not swallowed:
                raise
        return lambda **_: None

    before = signal.getsignal(number)
    assert _with_app(monkeypatch, told) == code
    assert signal.getsignal(number) is before


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_report_is_written_leaves_nothing(rows, tmp_path, monkeypatch, number, code):
    (tmp_path / "report.html").write_text("old")

    def half(_, path):
        def write(file):
            file.write(b"half")
            os.kill(os.getpid(), number)

        write_whole_bytes(path, write)

    monkeypatch.setattr("calibrant.findings.arrays.Audit.to_html", half)
    done = run("audit", rows, "--resamples", 0, "--html", tmp_path / "report.html")
    assert done.exit_code == code
    assert not done.stdout
    assert len(done.stderr.splitlines()) == 2
    assert (tmp_path / "report.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "rows.csv"]


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--version > /dev/full", 2),
        ("--version >&-", 0),
        ("--help > /dev/full", 2),
        ("audit --no-such-option", 2),
        ("audit --no-such-option 2> /dev/full", 2),
        ("gate missing.csv --max-distance 1e400", 2),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_exit_codes_of_the_parser(line, code, unbuffered):
    done = shell(f"PYTHONUNBUFFERED={unbuffered} {COMMAND} {line}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize(
    ("beyond", "output", "code"),
    [(False, "> /dev/full", 2), (True, "> >(true)", 1), (True, ">&-", 1), (False, "2>&-", 0)],
)
def test_a_gate_without_a_reader_keeps_its_verdict(rows, beyond, output, code):
    if beyond:
        pd.read_csv(rows).assign(y_true=0).to_csv(rows, index=False)
    done = shell(f"PYTHONUNBUFFERED= {COMMAND} gate '{rows}' --max-distance 0.05 {output}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


CUT_SHORT = "from calibrant import exits; exits.claim_streams()\nwith exits.explained(): exits.show('x' * 3000)"


@needs_posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_cut_short_is_not_passed_for_whole(tmp_path, unbuffered):
    line = f"ulimit -f 1; PYTHONUNBUFFERED={unbuffered} '{sys.executable}' -c \"{CUT_SHORT}\" > '{tmp_path / 'out'}'"
    done = shell(line)
    assert done.returncode == 2
    assert done.stderr == "calibrant: output: File too large\n"
    assert (tmp_path / "out").stat().st_size < 3000
    done = shell(line.replace("ulimit -f 1; ", ""))
    assert (done.returncode, (tmp_path / "out").read_text()) == (0, "x" * 3000 + "\n")


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("megabytes", [300, 610, 900])
def test_never_a_verdict_without_its_words_whatever_the_memory(rows, megabytes):
    done = shell(f"ulimit -v {megabytes * 1000}; exec {COMMAND} gate '{rows}' --max-distance 0.08")
    if megabytes < 640:
        assert done.returncode == 70
        assert "address space" in done.stderr
    assert done.returncode in (0, 70)
    assert (done.returncode == 0) is ("PASS: at most " in done.stdout)
    assert (done.returncode == 70) is ("no verdict was reached" in done.stderr)
    assert "Traceback" not in done.stderr


LIMITED = """
import os, signal, sys, time
from calibrant import exits
with exits.explained():
    exits._go_on_in_a_child(2 * 10**9)
    if sys.argv[1] == "wait":
        print("waits", flush=True)
        time.sleep(600)
    elif sys.argv[1] == "leaves":
        raise exits.Leave(int(sys.argv[2]))
    elif sys.argv[1] == "crashes at exit":
        import atexit
        atexit.register(os.kill, os.getpid(), signal.SIGSEGV)
        raise exits.Leave(int(sys.argv[2]))
    elif sys.argv[1] == "code":
        os._exit(int(sys.argv[2]))
    os.kill(os.getpid(), int(sys.argv[2]))
"""


def limited(*arguments, **options):
    command = [sys.executable, "-c", LIMITED, *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=-1, stderr=-1, **options)


@needs_posix
@pytest.mark.parametrize(
    ("how", "number", "code"),
    [
        *(("signal", number, 70) for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL)),
        *(("code", number, 70) for number in (0, 1, 127)),
        *(("leaves", number, number) for number in (0, 1, 2, 3, 70)),
        *(("crashes at exit", number, number) for number in (0, 1, 70)),
        ("signal", signal.SIGTERM, 143),
        ("signal", signal.SIGINT, 130),
    ],
)
def test_a_library_that_ends_the_process_leaves_70_and_a_line(how, number, code):
    with limited(how, int(number)) as process:
        _, said = process.communicate(timeout=600)
    assert process.returncode == code
    died = how == "code" or number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL)
    assert ("no verdict was reached" in said) is died
    assert len(said.splitlines()) == (1 if died or code > 128 else 0)


@needs_posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("whole_group", [False, True])
def test_signals_reach_the_work_under_a_limit(number, code, whole_group):
    with limited("wait", start_new_session=True) as process:
        assert process.stdout.readline() == "waits\n"
        (os.killpg if whole_group else os.kill)(process.pid, number)
        process.communicate(timeout=600)
    assert process.returncode == code


@pytest.mark.parametrize(
    "options",
    [
        ("--level", "nan"),
        ("--level", "1"),
        ("--level", "5e-324"),
        ("--resamples", 10**12),
        ("--resamples", 10**30),
        ("--resamples", "1e12"),
        ("--resamples", -5),
        ("--seed", -1),
    ],
    ids=str,
)
def test_options_that_no_run_could_meet_are_refused_at_once(options):
    done = run("audit", "missing.csv", *options)
    assert done.exit_code == 2
    assert options[0] in done.stderr
    assert "missing.csv" not in done.stderr
    assert len(done.stderr) < 600


@pytest.mark.parametrize(
    "options",
    [
        ("--max-distance", "nan"),
        ("--max-distance", 0.1, "--level", 1),
        ("--max-regret", 2),
        ("--max-regret", 0.1, "--threshold", 1),
        ("--max-distance", 0.1, "--threshold", 0.5),
        ("--max-regret", 0.1, "--max-distance", 0.1),
        ("--max-regret", 0.1, "--anytime", "state"),
    ],
)
def test_a_gate_refuses_its_options_before_it_reads(options):
    done = run("gate", "missing.csv", *options)
    assert done.exit_code == 2
    assert options[-2] in done.stderr
    assert "missing.csv" not in done.stderr


STEERING = "\x1b[31m\x07\x9b2J\x7f\u202e"


@pytest.mark.slow
def test_nothing_that_steers_a_terminal_reaches_it(tmp_path, rows):
    frame = pd.read_csv(rows).head(200).rename(columns={"y_prob": "p" + STEERING})
    frame[STEERING] = STEERING + frame.index.map(lambda i: str(i % 2))
    path = tmp_path / f"{STEERING}.parquet"
    frame.to_parquet(path)
    options = ["--y-prob", "p" + STEERING, "--by", STEERING, "--resamples", 0]
    runs = {
        "page": run("audit", path, *options),
        "json": run("audit", path, *options, "--json"),
        "two": run("audit", path, rows, *options[:2], "--resamples", 0),
        "missing": run("audit", path, "--y-prob", STEERING + "\n"),
        "guess": run("gate", path, "--max-distance", 0.05),
    }
    for done in runs.values():
        assert not set(STEERING) & set(done.output) - set("[31m2J")
    assert r"\x1b[31m" in runs["page"].stdout
    found = json.loads(runs["json"].stdout)
    assert found["title"] == path.name
    assert {each["key"][0] for each in found["segments"]} == {STEERING + "0", STEERING + "1"}
    assert [done.exit_code for done in runs.values()] == [0, 0, 2, 2, 2]


@needs_posix
def test_devices_and_pipes_are_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    sketch = CalibrationSketch()
    sketch.update([0, 1], [0.2, 0.7])
    (tmp_path / "link").symlink_to(pipe)
    for target in ("/dev/null", pipe, tmp_path / "link"):
        for write in (lambda path: write_whole(path, "text"), sketch.to_parquet):
            with pytest.raises(FileError, match="not a plain file"):
                write(target)
    assert pipe.is_fifo()
    sketch.to_parquet(tmp_path / "sketch.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "sketch.parquet"]


@needs_posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    before = []
    (tmp_path / "link").symlink_to(path)
    for target in (path, tmp_path / "link"):
        write_whole_bytes(target, lambda file: before.append(os.fstat(file.fileno()).st_mode & 0o777))
        assert path.stat().st_mode & 0o777 == mode
    assert before == [mode, mode]
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.html", "text")
    finally:
        os.umask(old)
    assert (tmp_path / "new.html").stat().st_mode & 0o777 == 0o640


@needs_posix
def test_a_link_to_a_missing_folder_is_refused_with_where_it_leads(tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "missing" / "report.html")
    with pytest.raises(FileError, match=r"link.html' is a link into '.*missing', which does not exist"):
        check_target(tmp_path / "link.html", "--html")
    (tmp_path / "missing").mkdir()
    check_target(tmp_path / "link.html", "--html")


@pytest.mark.parametrize("watched", [False, True])
def test_the_end_is_at_once_and_leaves_nothing_undone(watched):
    said = "from calibrant.exits import Leave, end_at_once; import atexit, sys; atexit.register(print, 'at the end')\n"
    said += "sys.setprofile(lambda *_: None)\n" if watched else ""
    said += "print('printed'); end_at_once(Leave(3)); print('gone on')"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=False)
    after = ["gone on", "at the end"] if watched else ["at the end"]
    assert (done.returncode, done.stdout.split("\n")) == (0 if watched else 3, ["printed", *after, ""])
