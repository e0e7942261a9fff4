"""A process beside the first run compiles what that run needs late; nothing is started where it would not help."""

import subprocess
from pathlib import Path

import pytest

from calibrant import ahead
from calibrant.kernels.calibration import redrawn_statistics


@pytest.fixture
def compiling(monkeypatch):
    """What is called when a kernel is compiled, how often it was told, and the processes that were started."""
    told, started, asked = [], [], []

    class Started:
        def __init__(self, command, **_):
            started.append(command)

        def kill(self):
            pass

    monkeypatch.setattr(ahead, "when_compiling", asked.append)
    monkeypatch.setattr(subprocess, "Popen", Started)
    ahead.compile_beside(lambda: told.append(True))
    return asked[0], told, started


def test_one_process_helps_the_first_run(compiling, monkeypatch, tmp_path):
    begun, told, started = compiling
    monkeypatch.setattr(ahead, "_processors", lambda: 2)
    begun(str(tmp_path))
    begun(str(tmp_path))
    assert len(told) == 2
    assert len(started) == 1
    assert "-P" in started[0]


@pytest.mark.parametrize("why", ["no cache", "one processor", "not the first run"])
def test_no_process_is_started_where_it_would_not_help(compiling, monkeypatch, tmp_path, why):
    begun, told, started = compiling
    monkeypatch.setattr(ahead, "_processors", lambda: 1 if why == "one processor" else 2)
    if why == "not the first run":
        (tmp_path / f"{ahead._LATE}-77.py311.nbi").touch()
    begun(None if why == "no cache" else str(tmp_path))
    assert (told, started) == ([True], [])


def test_the_late_kernel_is_compiled_and_known_by_its_file():
    ahead.compile_late()
    assert redrawn_statistics.signatures
    assert list(Path(redrawn_statistics.stats.cache_path).glob(f"{ahead._LATE}*.nbi"))
