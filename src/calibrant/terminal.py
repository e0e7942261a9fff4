"""What the commands share besides their exits: progress, and where a report goes; it computes nothing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.door.errors import FileError
from calibrant.exits import escaped

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.found import Audit

_PAGE, _LEAST = 80, 24
"""Columns of a page, and of one on a terminal that is narrower than can be read."""
_PATIENCE = 1.0
"""Seconds of work after which progress is shown."""
_ENOUGH = 0.15
"""Share of an audit that must be done before it tells how long the rest takes."""
_SHARES = {
    "Lower distance": 0.22,
    "Interval calibration error": 0.05,
    "Surrogate interval calibration error": 0.03,
    "Reliability diagram": 0.13,
    "Tests": 0.09,
    "Bounds": 0.12,
    "What it costs": 0.03,
    "What to do": 0.33,
}
"""What the longest stages of an audit take of its time, measured at 10,000 to 1,000,000 rows."""


def check_target(target: Path, option: str, sources: Sequence[str] = ()) -> None:
    """Find out before the work whether the report can be written, and that it replaces no input."""
    if target.is_dir():
        raise FileError(option, f"{str(target)!r} is a folder; name a file")
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        said = "is not a folder" if folder.exists() else "does not exist; create it first"
        link = f"{str(target)!r} is a link into " if target.is_symlink() else ""
        raise FileError(option, f"{link}{str(folder)!r}, which {said}" if link else f"{str(folder)!r} {said}")
    if target.exists():
        if not target.is_file():
            raise FileError(option, f"{str(target)!r} is not a plain file; name a file to write")
        if any(Path(source).exists() and target.samefile(source) for source in sources):
            raise FileError(option, f"{str(target)!r} is an input file itself; name another")
    if any(os.path.realpath(target) == os.path.realpath(source) for source in sources):
        raise FileError(option, f"{str(target)!r} is written by another option as well; name another")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise FileError(option, f"the folder {str(folder)!r} cannot be written to: {problem.strerror}") from None


def page(found: Audit | Comparison) -> str:
    """A finding's page for whoever reads the standard output: no wider than a terminal, in letters that it can show."""
    from calibrant.report.letters import ASCII, UNICODE
    from calibrant.report.text import page as text_page

    width = _PAGE
    if sys.stdout is not None and sys.stdout.isatty():
        width = max(_LEAST, min(width, shutil.get_terminal_size().columns))
    try:
        "".join(astuple(UNICODE)).encode(getattr(sys.stdout, "encoding", None) or "ascii")
        marks = UNICODE
    except (UnicodeError, LookupError):
        marks = ASCII
    return text_page(found, width, marks)


class Clock:
    """How long the work has taken, and how long it may still take by the stages that are done.

    Stages without a usual share (reading, what is asked for besides) have their own pace: nothing is concluded from
    them, and while one runs no time is told.
    """

    def __init__(self, files: int = 1, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._begun = self._stage_begun = now()
        self._stage = ""
        self._todo = files * sum(_SHARES.values())
        self._done, self._spent = 0.0, 0.0

    def next(self, stage: str) -> None:
        """The stage before has ended, and this one begins."""
        at = self._now()
        share = _SHARES.get(self._stage, 0.0)
        if share:
            self._done += share
            self._spent += at - self._stage_begun
        self._stage, self._stage_begun = stage, at

    def words(self) -> str:
        """Seconds so far and, where enough is done to tell, about how many are left."""
        at = self._now()
        said = f"{at - self._begun:.0f} s"
        share = _SHARES.get(self._stage, 0.0)
        if not share or self._done < _ENOUGH * self._todo:
            return said
        pace = self._spent / self._done
        of_stage = pace * share - (at - self._stage_begun)
        if of_stage < 0.0:  # longer than usual, and nobody knows by how much
            return said
        left = of_stage + pace * max(0.0, self._todo - self._done - share)
        return f"{said}, about {max(1.0, left):.0f} s left"


class Progress:
    """Tells the stage and the time on a terminal's stderr once the work has taken a while; silent otherwise."""

    def __init__(self, files: int = 1) -> None:
        self._stage = "Starting"
        self._clock = Clock(files)
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
            self._clock.next(stage)
            self._stage = escaped(stage).replace("[", "\\[")  # no markup

    def __rich__(self) -> str:
        """The line, anew whenever the terminal is drawn."""
        return f"{self._stage} ({self._clock.words()})"

    def _show(self) -> None:
        from rich.console import Console
        from rich.status import Status

        status = Status(self, console=Console(stderr=True))
        with self._turn:
            if not self._stopped:  # the work may have ended while this was being made ready
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
