"""The first run compiles its kernels: half of them in a process beside the one that was asked, which then loads them.

Numba compiles under one lock, so threads do not help. Both processes keep what they compiled in the same cache, whose
files are put in place whole; if the one beside fails, nothing is lost but time.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from calibrant.kernels.compiled import when_compiling

_LATE = "calibration.redrawn_statistics"
"""A kernel that every audit needs, and needs late: where it is cached, the run is not the first."""


def compile_beside(told: Callable[[], None]) -> None:
    """See that `told` is called whenever a kernel is compiled, and that at the first of them a process helps."""
    started: list[subprocess.Popen[bytes]] = []

    def compiling(cache: str | None) -> None:
        told()
        if cache is None or started or _processors() == 1 or not sys.executable:
            return
        if any(Path(cache).glob(f"{_LATE}*.nbi")):
            return
        # -P: nothing is imported from the folder that the user happens to be in.
        command = [sys.executable, "-P", "-c", "from calibrant.ahead import compile_late; compile_late()"]
        null = subprocess.DEVNULL
        try:
            started.append(subprocess.Popen(command, stdin=null, stdout=null, stderr=null))
        except OSError:  # it would only have been faster
            return
        atexit.register(started[0].kill)

    when_compiling(compiling)


def compile_late() -> None:
    """Compile what an audit needs after the witness and the lower distance, from the last to the first."""
    from calibrant.decisions.acting import acting_from_sample
    from calibrant.decisions.cost import cost_from_sample
    from calibrant.door.rows import Rows
    from calibrant.door.sample import Sample
    from calibrant.inference.calibration import calibration_test_on_rows
    from calibrant.measures.registry import measures
    from calibrant.recalibration.curves.formulas import PlattCurve

    rng = np.random.default_rng(0)
    prediction = rng.random(500)
    happened = rng.random(500) < prediction**1.5
    sample = Sample.of_labels(happened, prediction)
    PlattCurve().fit_sample(sample)
    cost = cost_from_sample(sample, 0.05)
    acting_from_sample(sample, cost.threshold, 0.05, 99, rng, single=True)
    calibration_test_on_rows(Rows(happened.astype(np.int64), prediction), 0.05, 99, 0)
    for name, measure in reversed(list(measures().items())):
        if name != "lower_calibration_distance":
            measure.on_sample(sample, **measure.parameters)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
