"""Progress of long work: the stage, the time, and about how much is left."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from calibrant.exits import escaped

_PATIENCE = 1.0  # seconds of work after which progress is shown
_ENOUGH = 0.15  # share of an audit that must be done before it tells how long the rest takes
_SHARES = {
    "Interval calibration error": 0.01,
    "Surrogate interval calibration error": 0.02,
    "Reliability diagram": 0.16,
    "Tests": 0.12,
    "Lower distance": 0.01,
    "Bounds": 0.14,
    "What it costs": 0.04,
    "What to do": 0.48,
}
"""What the longest stages of an audit take of its time, measured at 10,000 to 1,000,000 rows.

The measures and what it costs are computed beside other stages; theirs is what is left to wait for.
"""


class Clock:
    """How long the work has taken, and how long it may still take by the stages that are done.

    Stages without a usual share (reading, what is asked for besides) have their own pace: nothing is concluded from
    them, and while one runs no time is given.
    """

    def __init__(self, n_files: int = 1, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._begun = self._stage_begun = now()
        self._stage = ""
        self._todo = n_files * sum(_SHARES.values())
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
    """Tells the stage and the time on stderr once the work has taken a while: on a terminal, or wherever it is asked.

    The line is written anew every second, over the one before.
    """

    def __init__(self, n_files: int = 1, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere
        self._stage = "Starting"
        self._compiling = False
        self._clock = Clock(n_files)
        self._line: _Line | None = None
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._turn = threading.Lock()

    def __enter__(self) -> Progress:
        """Begin to wait before showing anything."""
        if sys.stderr is not None and (self._anywhere or sys.stderr.isatty()):
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, stage: str) -> None:
        """Name the stage that begins."""
        with self._turn:
            self._clock.next(stage)
            self._stage = escaped(stage)
            self._compiling = False

    def compiling(self) -> None:
        """Say of this stage that it compiles what later runs find compiled."""
        self._compiling = True

    def line(self) -> str:
        """The line of this moment."""
        once = ", compiling, once" if self._compiling else ""
        return f"{self._stage}{once} ({self._clock.words()})"

    def _show(self) -> None:
        with self._turn:
            if not self._stopped:  # the work may have ended meanwhile
                self._line = _Line(self)
                self._line.start()

    def stop(self) -> None:
        """Clear the line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._turn:
            self._stopped = True
            line, self._line = self._line, None
        if line is not None:
            line.stop()

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self.stop()


class _Line:
    """The line on the standard error, overwritten by the next one."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._stopped, self._width = shown, threading.Event(), 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Leave an empty line."""
        self._stopped.set()
        self._thread.join()
        self._write("")

    def _run(self) -> None:
        self._write(self._shown.line())
        while not self._stopped.wait(_PATIENCE):
            self._write(self._shown.line())

    def _write(self, line: str) -> None:
        line = line[: shutil.get_terminal_size().columns - 1]  # a longer one could not be written over
        try:
            sys.stderr.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody can be told
            pass
        self._width = len(line)


@contextmanager
def watched(progress: bool | Callable[[str], None] | None) -> Iterator[Callable[[str], None]]:
    """Whom to tell of the stages of a call in Python: the caller's own function, or the standard error.

    By default it shows in a terminal and in a notebook.
    """
    if callable(progress):
        yield progress
        return
    from calibrant.door.arguments import flag
    from calibrant.kernels.compiled import when_compiling  # numpy, which no command should load for its help

    if progress is None:
        progress = hasattr(sys, "ps1")
    flag(progress, "progress")
    if not progress:
        yield lambda _stage: None
        return
    with Progress(anywhere=True) as shown:
        done = when_compiling(lambda _cache: shown.compiling())
        try:
            yield shown
        finally:
            done()
