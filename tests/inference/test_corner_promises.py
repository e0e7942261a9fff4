"""Rare events and atoms: every question is answered or refused. How often rightly: tools/long_runs.py corners."""

import inspect

import pytest

from tests.corners import CELLS, DESIGNS, PROMISES, broken
from tests.public import FUNCTIONS, of_room


@pytest.mark.parametrize("name", PROMISES)
def test_every_design_is_answered_or_refused(name):
    answered = 0
    for where, (function, design, n) in enumerate(CELLS):
        if function == name and n == (20 if where % 3 else 200):
            failed, kept, refused = broken(name, design, n, range(1))
            assert failed + kept + refused == 1
            answered += failed + kept
    assert answered or name == "squared_error_bootstrap"  # which needs more rows than these


def test_every_public_function_has_its_promise():
    """Those that take rows and a level."""
    taking = {
        name
        for name, each in of_room("inference", FUNCTIONS).items()
        if {"y_true", "level"} <= {*inspect.signature(each).parameters}
    }
    said = " ".join(PROMISES)
    by_other_names = {"tcal_test": "T-Cal", "two_sample_calibration_test": "two samples"}
    assert {name for name in taking if by_other_names.get(name, name) not in said} == set()
    assert len(DESIGNS) == 9
