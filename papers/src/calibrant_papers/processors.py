"""Work for every processor that the process may use; the results do not depend on how many there are."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_processors(function: Callable[..., Any], cells: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Results in the order of the cells; every cell seeds itself, and every worker keeps to one processor."""
    context = multiprocessing.get_context("spawn")
    free = context.Queue()
    workers = processors()
    for processor in range(workers):
        free.put(processor)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_keep_to_one, initargs=(free,)) as pool:
        return [job.result() for job in [pool.submit(function, *cell) for cell in cells]]


def _keep_to_one(free: Any) -> None:
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[free.get() % len(allowed)]})
