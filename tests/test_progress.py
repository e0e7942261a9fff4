"""Progress of calls in Python: told to whom it is asked for, and silent where nobody looks on."""

import numpy as np
import pytest

import calibrant
from calibrant import InputError
from calibrant.progress import Progress, watched

Y_PROB = np.linspace(0.05, 0.95, 60)
Y_TRUE = np.arange(60) % 3 == 0


def test_stages_are_told_to_a_function():
    stages = []
    calibrant.audit(Y_TRUE, Y_PROB, n_resamples=0, random_state=0, progress=stages.append)
    assert {"Witness", "Lower distance", "Tests", "Bounds", "What to do"} <= set(stages)


def test_a_script_is_told_nothing_unless_it_asks(monkeypatch, capsys):
    monkeypatch.delattr("sys.ps1", raising=False)
    with watched(None) as tell:
        assert not isinstance(tell, Progress)
    for asked in (True, False):
        with watched(asked) as tell:
            assert isinstance(tell, Progress) == asked
    monkeypatch.setattr("sys.ps1", ">>> ", raising=False)
    with watched(None) as tell:
        assert isinstance(tell, Progress)
    assert capsys.readouterr().err == ""  # all were done within a second


def test_the_line_away_from_a_terminal_is_overwritten_and_cleared(capsys):
    with Progress(anywhere=True) as progress:
        progress("Tests")
        progress.compiling()
        progress._show()
    written = capsys.readouterr().err
    assert "\rTests, compiling, once (" in written
    assert written.endswith("\r" + " " * len(written.split("\r")[1].rstrip()) + "\r")


@pytest.mark.parametrize("wrong", ["yes", 1])
def test_anything_else_is_refused(wrong):
    with pytest.raises(InputError, match="progress"):
        calibrant.audit(Y_TRUE, Y_PROB, n_resamples=0, progress=wrong)
