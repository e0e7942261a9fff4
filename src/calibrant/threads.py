"""Threads for what releases the interpreter's lock: resamples in blocks, and work beside other work."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, Generic, ParamSpec, TypeVar

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

WORTH_A_THREAD = 2_000_000  # labels drawn; less is done at once


def processors() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> Any:
    """Have NumPy's matrix library use one thread, as a context: sums then do not depend on the number of processors."""
    return _matrix_library().limit(limits=1)


@cache
def _matrix_library() -> Any:
    """Looked for once: that reads the addresses of all libraries, which took a quarter of a small audit."""
    import numpy  # noqa: F401  # which loads it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@cache
def _keep_freed_memory() -> None:
    """Have arrays of threads made of memory that was freed, not of new pages, which took a quarter of a comparison.

    The library of C gives back to the system what is free beyond twice the largest block that was ever mapped by itself
    and freed, of at most 32 MiB; a thread's own memory, unlike the process's first, is free to its end time and again.
    """
    import numpy

    with suppress(MemoryError):  # under a limit: it would only have been faster
        numpy.empty(30 << 20, numpy.uint8)  # freed at once, and never touched


def in_blocks(fill: Callable[[int, int], None], total: int, *, work: int, multiple: int = 1) -> None:
    """Call fill(first, last) for blocks of range(total), each a multiple of `multiple` long except the last.

    The blocks never show in the result.

    `fill` must release the interpreter's lock and write to its own block alone; `work` is the whole number of labels.
    """
    workers = processors()
    if workers == 1 or work < WORTH_A_THREAD:
        fill(0, total)
        return
    _keep_freed_memory()
    step = multiple * max(1, math.ceil(total / multiple / (4 * workers)))
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda first: fill(first, min(first + step, total)), range(0, total, step)))


class Job(Generic[T]):
    """Work for a thread, unless its result is asked for before it began."""

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> None:
        waiting = [work]
        self._waiting, self._future = waiting, pool.submit(work)
        self._future.add_done_callback(lambda _: waiting.clear())  # with it goes what it was to be done with

    def result(self) -> T:
        """Return the result of the work, done here and now if no thread has begun it."""
        waiting = self._waiting.copy()
        return waiting[0]() if self._future.cancel() else self._future.result()


class Beside:
    """Threads that take work in the order in which it is given."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """Have a function called, whose result is asked for once."""
        return Job(self._pool, partial(function, *args, **kwargs))


@contextmanager
def beside(workers: int = 1) -> Iterator[Beside]:
    """Threads for work that goes on beside the caller's; where the caller fails, what has not begun is dropped."""
    _keep_freed_memory()
    pool = ThreadPoolExecutor(workers)
    try:
        yield Beside(pool)
    finally:
        pool.shutdown(cancel_futures=True)


def one_ahead(make: Callable[[S], T], tasks: Iterable[S]) -> Iterator[T]:
    """Yield what is made of each task, in order; a thread makes the next beside the caller's work.

    `make` must release the interpreter's lock.
    """
    with beside() as threads:
        ahead: Job[T] | None = None
        for task in tasks:
            job, ahead = ahead, threads.submit(make, task)
            if job is not None:
                yield job.result()
        if ahead is not None:
            yield ahead.result()
