"""A process beside the first run compiles half of what that run needs; none is started where it would not help."""

import gc
import subprocess
import types

import numpy as np
import pytest

import calibrant
from calibrant import ahead
from calibrant.kernels import calibration, compiled, lower


@pytest.fixture
def started(monkeypatch):
    """Commands of the processes that were started, where there are two processors."""
    found = []

    def start(command, **_):
        found.append(command)
        return types.SimpleNamespace(kill=lambda: None)

    monkeypatch.setattr(compiled, "when_compiling", lambda _told: None)
    monkeypatch.setattr(ahead, "_processors", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", start)
    return found


def _kept_in(folder, monkeypatch, asked=True):
    """Kernels are kept in this folder, as numba says where it is asked and else because it is the package's own."""
    kernel = types.SimpleNamespace(stats=types.SimpleNamespace(cache_path=folder and str(folder)))
    monkeypatch.setattr(calibration, "redrawn_statistics", kernel)
    if asked:
        monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
        monkeypatch.setattr(ahead.kernels, "__path__", ["nowhere"])
    else:
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        monkeypatch.setattr(ahead.kernels, "__path__", [str(folder.parent)])


@pytest.mark.parametrize("asked", [True, False])
def test_one_process_helps_the_first_run(started, monkeypatch, tmp_path, asked):
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    _kept_in(folder, monkeypatch, asked)
    ahead.compile_beside(lambda: None)
    assert len(started) == 1
    assert "-P" in started[0]


@pytest.mark.parametrize("why", ["no cache", "one processor", "not the first run", "not the first run by its folder"])
def test_no_process_is_started_where_it_would_not_help(started, monkeypatch, tmp_path, why):
    tmp_path = tmp_path / "__pycache__"
    tmp_path.mkdir()
    _kept_in(None if why == "no cache" else tmp_path, monkeypatch, not why.endswith("folder"))
    if why == "one processor":
        monkeypatch.setattr(ahead, "_processors", lambda: 1)
    if why.startswith("not"):
        (tmp_path / "calibration.redrawn_statistics-77.py311.nbi").touch()
    ahead.compile_beside(lambda: None)
    assert started == []


def test_the_run_is_told_whenever_a_kernel_is_compiled(monkeypatch):
    told, asked = [], []
    monkeypatch.setattr(compiled, "when_compiling", asked.append)
    monkeypatch.setattr(ahead, "_processors", lambda: 1)
    ahead.compile_beside(lambda: told.append(True))
    asked[0](None)
    asked[0]("folder")
    assert told == [True, True]


@pytest.mark.slow
def test_after_an_audit_the_first_run_is_over():
    rng = np.random.default_rng(0)
    y_prob = rng.random(50)
    calibrant.audit(rng.random(50) < y_prob, y_prob, random_state=0)
    assert not ahead._first_run()


@pytest.fixture
def _garbage_collected():
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("_garbage_collected")
def test_what_is_compiled_ahead_is_of_the_types_that_an_audit_uses():
    ahead.compile_late()
    before = [len(kernel.signatures) for kernel in (lower.coupling_cost, lower.solve)]
    rng = np.random.default_rng(1)
    y_prob = rng.random(400)
    calibrant.audit(rng.random(400) < y_prob**2, y_prob, random_state=0)
    assert before == [len(kernel.signatures) for kernel in (lower.coupling_cost, lower.solve)]
