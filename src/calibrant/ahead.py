"""The first run compiles its kernels: half of them in a process beside the one that was asked, which then loads them.

Numba compiles under one lock, so threads do not help. Both processes keep what they compiled in the same cache, whose
files are put in place whole; if the one beside fails, nothing is lost but time.
"""

from __future__ import annotations

import atexit
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from calibrant import kernels

_INDEX = "calibration.redrawn_statistics*.nbi"
"""What numba keeps of a kernel that every audit needs."""
_FIRST = ("smooth_calibration_error", "lower_calibration_distance")
"""Measures whose kernels the run itself compiles, for it needs the most of them first."""


def compile_beside(told: Callable[[], None]) -> None:
    """Before a first run start a process that helps, and see that `told` is called whenever a kernel is compiled."""
    if _processors() > 1 and sys.executable and _first_run():
        _start()
    from calibrant.kernels.compiled import when_compiling  # numba, which loads while the process beside it begins

    when_compiling(lambda _cache: told())


def _start() -> None:
    # -P: nothing is imported from the folder that the user happens to be in.
    command = [sys.executable, "-P", "-c", "from calibrant.ahead import compile_late; compile_late()"]
    null = subprocess.DEVNULL
    try:
        helper = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    except OSError:  # it would only have been faster
        return
    atexit.register(helper.kill)


def compile_late() -> None:
    """Compile what an audit needs beside and after its witness and its test, in the order of its needs.

    An audit's main thread takes the measures from the last on, so this does.
    """
    import numpy as np

    gc.disable()  # little of what compiling leaves behind, in a process that ends soon
    rng = np.random.default_rng(0)
    prediction = np.sort(rng.random(500))
    happened = rng.random(500) < prediction**1.5
    _solve_once()

    from calibrant.decisions.acting import acting_from_sample
    from calibrant.decisions.cost import cost_from_sample
    from calibrant.door.sample import Sample
    from calibrant.measures.lower_check import Coupling, Potentials, cost_of_coupling, value_of_potentials
    from calibrant.measures.registry import measures
    from calibrant.recalibration.curves.formulas import PlattCurve

    sample = Sample.of_labels(happened, prediction)
    of_measures = {name: measure for name, measure in measures().items() if name not in _FIRST}
    for measure in reversed(of_measures.values()):
        measure.on_sample(sample, **measure.parameters)
    one = np.ones(500)
    cost_of_coupling(Coupling(prediction, prediction, happened * one, one / 500.0), sample)
    value_of_potentials(Potentials(prediction, 0.0 * one, 0.0 * one), sample)
    cost = cost_from_sample(sample, 0.05)
    acting_from_sample(sample, cost.threshold, 0.05, 99, rng, single=True)
    PlattCurve().fit_sample(sample)


def _solve_once() -> None:
    """Compile the largest kernel, which the lower distance needs only after some others."""
    import numpy as np

    from calibrant.kernels import lower

    u = np.linspace(0.0, 1.0, 9)
    mass = np.full(u.size, 0.5 / u.size)
    x = np.full((u.size, 2), -0.05)
    lower.solve(u, mass, mass, 1.0, 1, 1e-13, x, lower.start(u, x), lower.room(u.size), np.zeros(u.size), None)


def _first_run() -> bool:
    """Whether there is a cache, and a kernel that every audit needs is not in it yet.

    Numba, which takes a third of a second to load, is asked only where the cache need not be beside the package.
    """
    beside = Path(kernels.__path__[0]) / "__pycache__"
    if any(beside.glob(_INDEX)):
        return False
    if "NUMBA_CACHE_DIR" not in os.environ and os.access(beside, os.W_OK):
        return True
    from calibrant.kernels.calibration import redrawn_statistics

    cache = redrawn_statistics.stats.cache_path
    return cache is not None and not any(Path(cache).glob(_INDEX))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
