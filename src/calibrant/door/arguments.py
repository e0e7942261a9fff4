"""Arguments besides data: levels, seeds, tolerances, resamples, time limits; each is checked here alone.

Every check names the argument, shows the value and says what is allowed; numpy scalars are taken as Python's own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError

RandomState = int | np.random.Generator | None
"""A whole number gives the same draws again; a Generator is drawn from; None is fresh entropy."""

MOST_RESAMPLES = 1_000_000
"""Results of all resamples are kept in memory."""

LEAST_SHARE = 1e-100
"""Bounds divide a level among them, and by the square of a limit: below the least double nothing would be left."""

N_RESAMPLES = 999
"""Resamples where nothing else is asked for: p-values then are whole thousandths."""


def _real(value: Any) -> float | None:
    """A number as float; None for anything else, truth values among it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all doubles, of either sign: no bound allows it
        return math.inf


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def one_of(value: Any, allowed: Collection[str], name: str) -> None:
    """Raise unless value is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(name, f"is {value!r:.40}", allowed=f"it must be one of {', '.join(map(repr, allowed))}")


def text(word: str | None, name: str) -> None:
    """Raise unless value is text that is not empty and can be written, or None."""
    if word is not None and (not isinstance(word, str) or not word):
        raise InputError(name, f"is {word!r:.40}", allowed="it must be text, and not empty")
    check_letters(word, name)


def texts(values: Sequence[str], name: str) -> None:
    """Raise unless values are texts that are not empty, each of them once."""
    for value in values:
        text("" if value is None else value, name)
    if len(set(values)) < len(values):
        raise InputError(name, "names a column twice", allowed="name each once")


def check_letters(value: Any, name: str) -> None:
    """Raise if value is text that no file can hold in UTF-8, and no page or JSON therefore."""
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(name, f"is {value!r:.40}", allowed="it must be text that UTF-8 can hold")


def flag(value: Any, name: str) -> None:
    """Raise unless value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, f"is {value!r:.40}", allowed="it must be True or False")


def positive(value: float, name: str) -> float:
    """Return a positive, finite number."""
    number = _real(value)
    if number is None or not 0.0 < number < math.inf:
        raise InputError(name, f"is {value!r:.40}", allowed="it must be a positive, finite number")
    return number


def positive_integer(value: int, name: str) -> int:
    """Return a whole number above zero."""
    number = _whole(value)
    if number is None or number < 1:
        raise InputError(name, f"is {value!r:.40}", allowed="it must be a whole number above zero")
    return number


def whole_from(value: int, name: str, least: int) -> int:
    """Return a whole number, no smaller than the least."""
    number = _whole(value)
    if number is None or number < least:
        raise InputError(name, f"is {value!r:.40}", allowed=f"it must be a whole number, {least} or more")
    return number


def between(value: float, name: str, low: float, high: float) -> float:
    """Return a number from low on, below high."""
    number = _real(value)
    if number is None or not low <= number < high:
        raise InputError(name, f"is {value!r:.40}", allowed=f"it must lie between {low:g} and {high:g}")
    return number


def fraction(value: float, name: str) -> float:
    """Return a number strictly between 0 and 1, and not below what a square of it needs."""
    number = _real(value)
    if number is None or not 0.0 < number < 1.0:
        raise InputError(
            name, f"is {value!r:.40}", allowed=f"it must lie strictly between 0 and 1{_of_percent(number)}"
        )
    if number < LEAST_SHARE:
        raise InputError(name, f"is {number:g}", allowed=f"it must be at least {LEAST_SHARE:g}")
    return number


def _of_percent(share: float | None) -> str:
    """Say how to write a share that may have been meant in percent."""
    return f"; for {share:g}% write {share / 100.0:g}" if share is not None and 1.0 <= share < 100.0 else ""


def power_of_two(value: int, name: str, least: int, most: int) -> int:
    """Return a power of two in a range."""
    number = _whole(value)
    if number is None or not least <= number <= most or number & (number - 1):
        raise InputError(name, f"is {value!r:.40}", allowed=f"it must be a power of two from {least} to {most:,}")
    return number


def check_level(level: float) -> float:
    """Return the level, alpha: the probability of being wrong that is allowed, from 1e-100 to 0.5."""
    if isinstance(level, int | float) and not isinstance(level, bool) and 0.5 < level < 100.0:
        sure = level if level < 1.0 else level / 100.0
        hint = f". For {sure:g} confidence pass {1.0 - sure:.6g}" if 0.5 < sure < 1.0 else ""
        raise InputError("level", f"is {level:g}", allowed=f"it is alpha, the probability of error, at most 0.5{hint}")
    return fraction(level, "level")


def check_number(n_resamples: int) -> int:
    """Return a number of resamples that fits into memory."""
    number = positive_integer(n_resamples, "n_resamples")
    if number > MOST_RESAMPLES:
        raise InputError("n_resamples", f"is above {MOST_RESAMPLES:,}; results of more are not kept in memory")
    return number


def check_resamples(n_resamples: int, level: float, *, share: float = 1.0) -> int:
    """Return a number of resamples that is enough at this level, or at the share of it that a tail has."""
    number = check_number(n_resamples)
    needed = math.ceil(1.0 / (share * level) - 1.0 - 1e-9)
    if number < needed:
        raise InputError("n_resamples", f"is {number:,}", allowed=f"at level {level:g} it must be at least {needed:,}")
    return number


def check_band(level: float, n_resamples: int) -> None:
    """Refuse resamples too few for a band at that level; 0 of them is no band."""
    least = 2.0 / (MOST_RESAMPLES + 1)
    if _whole(n_resamples) == 0:
        check_level(level)
    elif (number := check_level(level)) < least:
        raise InputError("level", f"is {number:g}; bands are drawn down to {least:.1g} (or with 0 resamples for none)")
    else:
        if _whole(n_resamples) is None or n_resamples < 0:
            raise InputError(
                "n_resamples", f"is {n_resamples!r:.40}", allowed="it must be a whole number, 0 for no band"
            )
        check_resamples(n_resamples, number, share=0.5)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a source of randomness; the same whole number gives the same one."""
    return np.random.default_rng(None) if random_state is None else seeded(random_state)[0]


def seeded(random_state: RandomState) -> tuple[np.random.Generator, int | None]:
    """A generator, and the seed that gives it again: 0 where none is given, None with a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    if random_state is None:
        random_state = 0  # two calls give the same page
    seed = _whole(random_state)
    if seed is None or seed < 0:
        raise InputError(
            "random_state",
            f"is {random_state!r:.40}",
            allowed="it must be a whole number from 0, a numpy Generator or None",
        )
    return np.random.default_rng(seed), seed


def check_threshold(value: float) -> float:
    """Return the threshold of a decision: at 0 every row is acted on, at 1 the price of acting is infinite."""
    if _real(value) == 0.0:
        problem = "is 0, where every row is acted on and nothing can be lost"
        raise InputError("threshold", problem, allowed="it must lie strictly between 0 and 1")
    return fraction(value, "threshold")


class TimeLimit:
    """The time that is left to a compiled search, and the flag by which its loop learns that there is none.

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
