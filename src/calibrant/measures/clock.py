"""Long compiled searches under a time limit, and under Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive


class TimeLimit:
    """The time that is left, and the flag by which a compiled loop learns that there is none.

    Attributes
    ----------
    stop : ndarray of shape (1,)
        1 once the time is up; kernels that release the interpreter look at it now and then.
    """

    def __init__(self, time_limit: float | None) -> None:
        if time_limit is not None:
            positive(time_limit, "time_limit")
        self._end = None if time_limit is None else time.monotonic() + time_limit
        self.stop: npt.NDArray[np.int64] = np.zeros(1, np.int64)

    @property
    def left(self) -> float | None:
        """Seconds left; None without a limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def up(self) -> bool:
        """Whether the time is up."""
        if self.left == 0.0:
            self.stop[0] = 1
        return bool(self.stop[0])

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the kernel returns, raising the flag for it when the time is up or the user interrupts."""
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(kernel, *arguments)
            try:
                return running.result(self.left)
            except TimeoutError:
                self.stop[0] = 1
                return running.result()
            except BaseException:
                self.stop[0] = 1
                raise
