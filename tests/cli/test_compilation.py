"""The first run and a process beside it share what is to be compiled; none is started where it would not help."""

import gc
import subprocess
import sys
import types

import numpy as np
import pytest

import calibrant
from calibrant.cli import compilation
from calibrant.kernels import calibration, compiled


@pytest.fixture
def started(monkeypatch):
    """Commands of the processes that were started, where there are two processors."""
    found = []

    def start(command, **_):
        found.append(command)
        return types.SimpleNamespace(kill=lambda: None, wait=lambda _seconds: None)

    monkeypatch.setattr(compiled, "when_compiling", lambda _told: None)
    monkeypatch.setattr(compilation, "processors", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", start)
    return found


def _kept_in(folder, monkeypatch, asked=True):
    """Kernels are kept in this folder, as numba says where it is asked and else because it is the package's own."""
    kernel = types.SimpleNamespace(stats=types.SimpleNamespace(cache_path=folder and str(folder)))
    monkeypatch.setattr(calibration, "redrawn_statistics", kernel)
    if asked:
        monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
        monkeypatch.setattr(compilation.kernels, "__path__", ["nowhere"])
    else:
        monkeypatch.setattr(calibration, "redrawn_statistics", None)
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        monkeypatch.setattr(compilation.kernels, "__path__", [str(folder.parent)])


@pytest.mark.parametrize("asked", [True, False])
def test_one_process_helps_the_first_run(started, monkeypatch, tmp_path, asked):
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    _kept_in(folder, monkeypatch, asked)
    compilation.compile_beside(lambda: None, everything=True)
    assert len(started) == 1
    assert "-P" in started[0]


@pytest.mark.parametrize("why", ["no cache", "one processor", "not the first run", "not the first run by its folder"])
def test_no_process_is_started_where_it_would_not_help(started, monkeypatch, tmp_path, why):
    tmp_path = tmp_path / "__pycache__"
    tmp_path.mkdir()
    _kept_in(None if why == "no cache" else tmp_path, monkeypatch, not why.endswith("folder"))
    if why == "one processor":
        monkeypatch.setattr(compilation, "processors", lambda: 1)
    if why.startswith("not"):
        (tmp_path / "calibration.redrawn_statistics-77.py311.nbi").touch()
    compilation.compile_beside(lambda: None, everything=True)
    assert started == []


def test_the_run_is_told_whenever_a_kernel_is_compiled(monkeypatch):
    told, asked = [], []
    monkeypatch.setattr(compiled, "when_compiling", asked.append)
    monkeypatch.setattr(compilation, "processors", lambda: 1)
    compilation.compile_beside(lambda: told.append(True), everything=True)
    asked[0](None)
    asked[0]("folder")
    assert told == [True, True]


@pytest.mark.slow
def test_after_an_audit_the_first_run_is_over():
    rng = np.random.default_rng(0)
    y_prob = rng.random(50)
    calibrant.audit(rng.random(50) < y_prob, y_prob, random_state=0)
    assert not compilation._first_run()


@pytest.fixture
def _garbage_collected():
    yield
    gc.enable()


@pytest.mark.usefixtures("_garbage_collected")
def test_each_task_is_done_by_one_process(monkeypatch, tmp_path):
    done = []

    def first():
        done.append("first")

    def second():
        done.append("second")
        compilation.compile_share(str(tmp_path), True, True)  # what the other process does meanwhile

    def third():
        done.append("third")

    monkeypatch.setattr(compilation, "_tasks", lambda _everything, _files: iter([first, second, third]))
    (tmp_path / "first").touch()
    compilation.compile_share(str(tmp_path), True, True)
    assert done == ["second", "third"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_run_does_its_share_when_it_comes_to_its_first_kernel(started, monkeypatch, tmp_path, fails):
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    _kept_in(folder, monkeypatch)
    asked, did = [], []

    def share(taken, everything, files):
        assert (everything, files) == (True, False)
        did.append(taken)
        asked[0](None)  # compiles kernels in turn
        if fails:
            raise OSError

    monkeypatch.setattr(compiled, "when_compiling", asked.append)
    monkeypatch.setattr(compilation, "compile_share", share)
    compilation.compile_beside(lambda: None, everything=True, files=False)
    assert did == []
    asked[0](None)
    asked[0](None)
    assert did == [started[0][-1]]


def _called():
    """Every kernel that is loaded, with the types of arguments that it was called with, compiled before or not."""
    modules = (module for name, module in sys.modules.items() if name.startswith("calibrant.kernels."))
    found = [value for module in modules for value in vars(module).values() if isinstance(value, compiled.Kernel)]
    return {(f"{each.py_func.__module__}.{each.py_func.__name__}", key) for each in found for key in each._ways}


@pytest.mark.slow
@pytest.mark.parametrize("everything", [True, False])
def test_all_that_an_audit_calls_is_compiled_beforehand(tmp_path, everything):
    """In a process of its own: here other tests have called kernels with other types."""
    file = tmp_path / "a.csv"
    rng = np.random.default_rng(1)
    prediction = rng.random(6000)
    happened = rng.random(6000) < prediction**2
    np.savetxt(file, np.c_[happened, prediction], "%d,%.17g", header="y_true,y_prob", comments="")
    code = (
        "from calibrant.cli import app, compilation; from tests.cli.test_compilation import _called\n"
        "from typer.testing import CliRunner\n"
        f"for task in compilation._tasks({everything}, True): task()\n"
        "before = _called()\n"
        f"done = CliRunner().invoke(app.app, ['audit', {str(file)!r}] + ['--all'] * {everything})\n"
        "assert done.exit_code == 0, done.output\n"
        "print([name for name, _ in _called() - before])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_tasks_measure_all_but_what_other_tasks_do(monkeypatch):
    from calibrant.measures import registry

    asked = []
    names = ("smooth_calibration_error", "lower_calibration_distance", "interval_calibration_error", "other")
    measures = {
        name: types.SimpleNamespace(parameters={}, on_sample=lambda _, name=name: asked.append(name)) for name in names
    }
    monkeypatch.setattr(registry, "measures", lambda: measures)
    compilation._measures(None)
    assert asked == ["other"]


def test_costs_are_compiled_beforehand_where_they_are_printed_and_identities_where_files_are_read():
    def names(*asked):
        return [task.__name__ for task in compilation._tasks(*asked)]

    every = names(True, True)
    assert every.count("_cost") == every.count("_identity") == 1
    assert names(False, True) == [name for name in every if name != "_cost"]
    assert names(True, False) == [name for name in every if name != "_identity"]
