"""Levels, seeds and numbers of resamples are taken, or refused by name, in one way by every public function."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import calibrant
from calibrant import InputError, findings, inference, measures, recalibration, segments
from calibrant_papers import smooth_tester, tolerant

RNG = np.random.default_rng(0)
Y_PROB = RNG.random(200)
Y_TRUE = (RNG.random(200) < Y_PROB).astype(float)
EXTRA = {
    "calibration_gate": {"max_distance": 0.3},
    "tolerant_calibration_test": {"accept_below": 0.1, "reject_above": 0.6},
    "tolerant_smooth_test": {"accept_below": 0.1, "reject_above": 0.6},
    "restricted_lower_distance": {"values": [0.0, 0.5, 1.0]},
    "squared_error_interval": {},
}
FUNCTIONS = {
    name: getattr(room, name)
    for room in (calibrant, findings, inference, measures, recalibration, segments, smooth_tester, tolerant)
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
    and list(inspect.signature(getattr(room, name)).parameters)[:2] == ["y_true", "y_prob"]
    and "canonical" not in name  # of classes
    and "class_wise" not in name
}
LEVELS = sorted(name for name, each in FUNCTIONS.items() if "level" in inspect.signature(each).parameters)
SEEDS = sorted(name for name, each in FUNCTIONS.items() if "random_state" in inspect.signature(each).parameters)
RESAMPLES = sorted(name for name, each in FUNCTIONS.items() if "n_resamples" in inspect.signature(each).parameters)


def call(name, **options):
    return FUNCTIONS[name](Y_TRUE, Y_PROB, **EXTRA.get(name, {}), **options)


def refused(name, argument, value):
    with pytest.raises(InputError) as told:
        call(name, **{argument: value})
    assert told.value.argument == argument
    return told.value


def test_there_are_functions_to_try():
    assert min(len(LEVELS), len(SEEDS), len(RESAMPLES)) >= 10


@pytest.mark.parametrize("name", LEVELS)
def test_a_level_is_alpha_and_at_most_one_half(name):
    assert "alpha" in (refused(name, "level", 0.95).allowed or "")
    for wrong in (0.0, 1.0, float("nan"), "0.05", None, True, np.array([0.05])):
        refused(name, "level", wrong)


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_is_a_whole_number_or_a_generator(name):
    for wrong in ("0", 1.5, -1, True):
        refused(name, "random_state", wrong)


@pytest.mark.parametrize("name", RESAMPLES)
def test_resamples_are_a_whole_number(name):
    for wrong in ("99", 99.0, -1, True, None):
        refused(name, "n_resamples", wrong)


@pytest.mark.parametrize("name", sorted(set(LEVELS) & set(RESAMPLES) & set(SEEDS) - {"choose_recalibrator"}))
def test_scalars_of_numpy_are_numbers(name):
    few = 3000 if name == "two_sample_calibration_test" else 199
    try:
        by_numpy = call(name, level=np.float64(0.1), n_resamples=np.int64(few), random_state=np.int64(1))
    except InputError as problem:  # 200 rows may be too few for it: then that is what it says
        assert problem.argument not in ("level", "n_resamples", "random_state")  # noqa: PT017
        return
    plainly = call(name, level=0.1, n_resamples=few, random_state=1)
    assert by_numpy.to_dict() == plainly.to_dict()
