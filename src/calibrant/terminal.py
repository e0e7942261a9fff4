"""What the commands share: mistakes in words, progress, targets; it computes nothing."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from calibrant.errors import FileError, InputError

_PATIENCE = 2.0
"""Seconds of work after which progress is shown."""

_OPTIONS = {
    "level": "--level",
    "by": "--by",
    "max_distance": "--max-distance",
    "confidence": "--confidence",
    "drift": "--drift",
    "exclude_bad": "--exclude-bad",
    "n_resamples": "--resamples",
    "random_state": "--seed",
    "path": "--html",
}
"""What an argument of the audit is called here."""


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
