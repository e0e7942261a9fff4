"""The first run compiles its kernels: in two processes; each takes the largest task that is left.

Numba compiles under one lock, so threads do not help. Both processes keep what they compiled in the same cache, whose
files are put in place whole; if the one beside fails, nothing is lost but time.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant import kernels
from calibrant.kernels.shipped import target
from calibrant.threads import processors

if TYPE_CHECKING:
    from calibrant.door.sample import Sample

_INDEX = "calibration.redrawn_statistics*.nbi"
"""What numba keeps of a kernel that every audit needs."""
_PATIENCE = 60.0  # seconds for a task that the process beside has begun


def compile_beside(report: Callable[[], None], *, everything: bool, files: bool = True) -> None:
    """Before a first run start a process that helps, and see that `report` is called whenever a kernel is compiled.

    The run itself begins with its share at its first kernel: its input is read by then. The short page of an audit
    does without the kernels of what acting costs; they are compiled where `everything` is printed or drawn. Rows of
    `files` have an identity.
    """
    shared = _start(everything, files) if processors() > 1 and sys.executable and _first_run() else None
    from calibrant.kernels.compiled import when_compiling

    def begun(_cache: str | None) -> None:
        nonlocal shared
        report()
        if shared is not None:
            (folder, helper), shared = shared, None
            with suppress(Exception):  # what fails here fails again where it is needed, or was not
                compile_share(folder, everything, files)
                helper.wait(_PATIENCE)

    when_compiling(begun)


def _start(everything: bool, files: bool) -> tuple[str, subprocess.Popen[bytes]] | None:
    """The process beside, and the folder in which either says what it has taken."""
    # -P: nothing is imported from the folder that the user happens to be in. To take all apart at the end takes 0.3 s.
    share = f"compilation.compile_share(sys.argv[1], {everything}, {files})"
    code = f"import os, sys; from calibrant.cli import compilation; {share}; os._exit(0)"
    command = [sys.executable, "-P", "-c", code]
    null = subprocess.DEVNULL
    try:
        folder = tempfile.mkdtemp(prefix="calibrant-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        helper = subprocess.Popen([*command, folder], stdin=null, stdout=null, stderr=null)
    except OSError:  # it would only have been faster
        return None
    atexit.register(helper.kill)
    return folder, helper


def compile_share(folder: str, everything: bool, files: bool) -> None:
    """Do the tasks that the other process has not taken, with little patience for what compiling leaves behind."""
    gc.disable()
    for task in _tasks(everything, files):
        try:
            os.close(os.open(Path(folder, task.__name__), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        task()


def _tasks(everything: bool, files: bool) -> Iterator[Callable[[], object]]:
    """Kernels of an audit of rows, by the time that they take to compile.

    `_bracket` needs what `_solve` compiles: it stands where that is done, by either process.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    prediction = np.sort(rng.random(500))
    happened = rng.random(500) < prediction**1.5
    yield _solve

    from calibrant.door.sample import Sample

    sample = Sample.of_labels(happened, prediction)
    costs, identities = (_cost,) if everything else (), (_identity,) if files else ()
    for task in (_test, _smooth, *costs, _bracket, _partitions, _measures, *identities, _fit):

        def run(task: Callable[[Sample], object] = task) -> object:
            return task(sample)

        run.__name__ = task.__name__
        yield run


def _solve() -> None:
    import numpy as np

    from calibrant.kernels import lower

    u = np.linspace(0.0, 1.0, 9)
    mass = np.full(u.size, 0.5 / u.size)
    x = np.full((u.size, 2), -0.05)
    lower.solve(u, mass, mass, 1.0, 1, 1e-13, x, lower.start(u, x), lower.room(u.size), np.zeros(u.size), None)


def _test(sample: Sample) -> None:
    from calibrant.inference.testing.calibration import calibration_test_on_sample

    calibration_test_on_sample(sample, 0.05, 99, 0)


def _smooth(sample: Sample) -> None:
    from calibrant.measures.smooth import witness_from_sample

    witness_from_sample(sample)


def _cost(sample: Sample) -> None:
    import numpy as np

    from calibrant.decisions.curve import acting_from_sample
    from calibrant.decisions.murphy import cost_from_sample

    cost = cost_from_sample(sample, 0.05)
    acting_from_sample(sample, cost, 99, np.random.default_rng(0), single=True)


def _partitions(sample: Sample) -> None:
    import numpy as np

    from calibrant.kernels.two_rows import Row, cut_in_step
    from calibrant.measures.interval import partition_from_sample

    partition_from_sample(sample)
    row = Row(np.array([0.5]), np.zeros((2, 4)), np.zeros(3, np.int64))
    cut_in_step(row, row, np.array([[0, 0], [1, 1]]), 2, np.inf, 0.0)


def _measures(sample: Sample) -> None:
    from calibrant.measures.registry import measures

    skipped = ("smooth_calibration_error", "lower_calibration_distance", "interval_calibration_error")
    for name, measure in measures().items():
        if name not in skipped:
            measure.on_sample(sample, **measure.parameters)


def _identity(sample: Sample) -> None:
    from calibrant.door.identity import sample_rows

    sample_rows(sample.ones, sample.prediction)


def _fit(sample: Sample) -> None:
    from calibrant.kernels.isotonic import isotonic
    from calibrant.recalibration.curves.scaling import PlattCurve

    PlattCurve().fit_sample(sample)
    isotonic(sample.prediction, sample.count)
    sample.of_labels(sample.ones > 0.0, sample.prediction.round(1))  # ties


def _bracket(sample: Sample) -> None:
    from calibrant.measures.lower import audited_certificate

    audited_certificate(sample)


def _first_run() -> bool:
    """Whether there is a cache, a kernel that every audit needs is not in it yet, and none came compiled.

    Numba, which takes a third of a second to load, is asked only where the cache need not be beside the package.
    """
    beside = Path(kernels.__path__[0]) / "__pycache__"
    if any(beside.glob(_INDEX)) or target() is not None:
        return False
    if "NUMBA_CACHE_DIR" not in os.environ and os.access(beside, os.W_OK):
        return True
    from calibrant.kernels.calibration import redrawn_statistics

    cache = redrawn_statistics.stats.cache_path
    return cache is not None and not any(Path(cache).glob(_INDEX))
