"""What the commands share: mistakes in words, progress, tables; prints, and computes nothing."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from calibrant.errors import FileError, InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit
    from calibrant.scale.segments import Segment

_PATIENCE = 2.0
"""Seconds of work after which progress is shown."""

_OPTIONS = {"level": "--level", "by": "--by", "n_resamples": "--resamples", "random_state": "--seed", "path": "--html"}
"""What an argument of the audit is called here."""


def as_in_file(problem: InputError, names: dict[str, str]) -> InputError:
    """The problem in the words of someone who sees the file: its column's name, and how rows are counted."""
    column = names.get(problem.argument)
    at = problem.argument if column in (None, problem.argument) else f"{problem.argument} (column {column!r})"
    said = str(problem).partition(": ")[2]
    if problem.row is not None:
        said = said.replace(f"row {problem.row} ", f"row {problem.row} (counted from 0) ", 1)
    return InputError(at, said, row=problem.row)


def check_target(target: Path, option: str, sources: Sequence[str] = ()) -> None:
    """Find out before the work whether the report can be written, and that it replaces no input."""
    folder = target.parent
    if target.is_dir():
        raise FileError(option, f"{str(target)!r} is a folder; name a file")
    if not folder.is_dir():
        said = "is not a folder" if folder.exists() else "does not exist; create it first"
        raise FileError(option, f"{str(folder)!r} {said}")
    if target.exists():
        if not target.is_file():
            raise FileError(option, f"{str(target)!r} is not a plain file; name a file to write")
        if any(target.samefile(source) for source in sources):
            raise FileError(option, f"{str(target)!r} is an input file itself; name another")
    try:
        tempfile.TemporaryFile(dir=target.resolve().parent).close()
    except OSError as problem:
        raise FileError(option, f"the folder {str(folder)!r} cannot be written to: {problem.strerror}") from None


class _Interrupted(BaseException):
    """Ctrl-C, under a name of our own: libraries treat a KeyboardInterrupt in ways of theirs."""


@contextmanager
def explained() -> Iterator[None]:
    """Turn a user's mistake into a message and exit code 2, an interrupt into 130, a closed pipe into silence."""
    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise _Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except BaseException as problem:
        if interrupted.is_set():  # whatever a library in between made of it
            print("calibrant: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None
        if isinstance(problem, BrokenPipeError):
            _drop_output()
            raise typer.Exit(0) from None
        if not isinstance(problem, InputError | OSError):
            raise
        print(f"calibrant: {_in_words(problem)}", file=sys.stderr)
        _drop_output()
        raise typer.Exit(2) from None
    finally:
        signal.signal(signal.SIGINT, before)


def _in_words(problem: InputError | OSError) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename or 'output'}: {problem.strerror or problem}"
    option = _OPTIONS.get(problem.argument)
    message = str(problem)
    return option + message[len(problem.argument) :] if option else message


def _drop_output() -> None:
    """Keep Python from failing at its exit over output that has nowhere to go."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except AttributeError:  # there is no standard output
        pass


class Progress:
    """Names the stage on a terminal's stderr once the work has taken a while; silent otherwise."""

    def __init__(self) -> None:
        self._stage = ""
        self._status: Any = None
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._turn = threading.Lock()

    def __enter__(self) -> Progress:
        """Begin to wait before showing anything."""
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, stage: str) -> None:
        """Name the stage that begins."""
        with self._turn:
            self._stage = stage
            if self._status is not None:
                self._status.update(stage)

    def _show(self) -> None:
        from rich.console import Console

        status = Console(stderr=True).status("")
        with self._turn:
            if not self._stopped:  # the work may have ended while this was being made ready
                status.update(self._stage)
                status.start()
                self._status = status

    def stop(self) -> None:
        """Clear the line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._turn:
            self._stopped = True
            if self._status is not None:
                self._status.stop()
                self._status = None

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self.stop()


def print_comparison(found: dict[str, Audit]) -> None:
    """Print audits of several models side by side."""
    from rich.console import Console
    from rich.table import Table

    first = next(iter(found.values()))
    table = Table(title=f"Breast-cancer data, {first.n_rows} rows predicted out of fold", title_justify="left")
    table.add_column("measure")
    for name in found:
        table.add_column(name, justify="right")
    for name, measure in first.measures.items():
        values = [audit.measures[name].value for audit in found.values()]
        table.add_row(measure.title, *("-" if value is None else f"{value:.4f}" for value in values))
    Console().print(table)
    for name, audit in found.items():
        print(f"{name}: {audit.verdict}\n")
    better, worse = sorted(found, key=lambda name: found[name].smooth_error)
    where = f", whose {found[worse].regions[0].words}" if found[worse].regions else ""
    print(f"By the smooth calibration error {better} is better calibrated than {worse}{where}.\n")


_SHOWN_SEGMENTS = 20


def print_segments(segments: Sequence[Segment], by: str) -> None:
    """Print the worst segments, a line each."""
    found = sum(segment.reject for segment in segments)
    print(f"\nSegments by {by}: {found:,} of {len(segments):,} are off by more than noise; the worst first")
    for segment in segments[:_SHOWN_SEGMENTS]:
        key = ", ".join(map(str, segment.key))
        mark = f"predictions {segment.direction} in [{segment.where[0]:g}, {segment.where[1]:g}]"
        print(
            f"- {key}: smooth error {segment.smooth_error:.4f} +- {segment.smooth_error_bound:.4f}, "
            f"{segment.n_rows:,} rows, q = {segment.qvalue:.2g}{', ' + mark if segment.reject else ''}; "
            f"outcome minus prediction {segment.bias:+.4f} [{segment.bias_low:+.4f}, {segment.bias_high:+.4f}]"
        )
