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


@pytest.mark.parametrize("name", sorted(set(LEVELS) & set(RESAMPLES) & set(SEEDS)))
def test_scalars_of_numpy_are_numbers(name):
    few = 3000 if name == "two_sample_calibration_test" else 199
    try:
        by_numpy = call(name, level=np.float64(0.1), n_resamples=np.int64(few), random_state=np.int64(1))
    except InputError as problem:  # 200 rows may be too few for it: then that is what it says
        assert problem.argument not in ("level", "n_resamples", "random_state")  # noqa: PT017
        return
    plainly = call(name, level=0.1, n_resamples=few, random_state=1)
    assert by_numpy.to_dict() == plainly.to_dict()


OF_CLASSES = {
    name: getattr(inference, name)
    for name in inference.__all__
    if ("canonical" in name or "class_wise" in name) and inspect.isfunction(getattr(inference, name))
}
LABELS = np.random.default_rng(1).integers(0, 2, 200)
WITHOUT_REDRAWS = {"calibration_test", "two_sample_calibration_test"}  # rules of their own


def call_any(name, **options):
    if name in OF_CLASSES:
        return OF_CLASSES[name](LABELS, np.stack([1.0 - Y_PROB, Y_PROB], axis=1), **options)
    return call(name, **options)


def with_resamples(names):
    return sorted(name for name in names if "n_resamples" in inspect.signature(names[name]).parameters)


@pytest.mark.parametrize("name", sorted({*RESAMPLES, *with_resamples(OF_CLASSES)} & {*LEVELS, *OF_CLASSES}))
@pytest.mark.parametrize("level", [0.25, 0.04])
def test_redraws_are_as_many_as_the_level_needs_and_no_more(name, level):
    """A test rejects where it is the largest of them all; an end of an interval leaves half of the level beyond it."""
    if name in WITHOUT_REDRAWS:
        return
    needed = None
    for least in (round(1.0 / level) - 1, round(2.0 / level) - 1):
        try:
            call_any(name, level=level, n_resamples=least - 1, random_state=0)
        except InputError as problem:
            if problem.argument == "n_resamples":
                needed = least
    assert needed is not None
    try:
        found = call_any(name, level=level, n_resamples=needed, random_state=0)
    except InputError as problem:
        assert problem.argument not in ("n_resamples", "level")  # noqa: PT017
        return
    tests = getattr(found, "reject", None) is not None or name == "clinical_calibration"
    assert needed == round((1.0 if tests else 2.0) / level) - 1


@pytest.mark.parametrize("name", sorted({*LEVELS, *with_resamples(OF_CLASSES)}))
def test_a_result_keeps_the_level_and_rejects_from_it_on(name):
    options = {} if name not in {*RESAMPLES, *OF_CLASSES} else {"n_resamples": 99, "random_state": 0}
    try:
        found = call_any(name, level=0.2, **options)
    except InputError as problem:
        assert problem.argument not in ("level", "random_state")  # noqa: PT017
        return
    for each in found if isinstance(found, tuple) else (found,):
        assert getattr(each, "level", 0.2) == 0.2
    if not hasattr(found, "pvalue") or not hasattr(found, "reject"):
        return
    assert found.reject == (found.pvalue <= 0.2)
    if 0.011 < found.pvalue <= 0.5:
        at, below = (call_any(name, level=found.pvalue * share, **options) for share in (1.0, 1.0 - 1e-9))
        assert (at.pvalue, below.pvalue) == (found.pvalue, found.pvalue)
        assert (at.reject, below.reject) == (True, False)


def test_numbers_out_of_range_are_refused_right_beyond_it():
    from calibrant.door import arguments

    assert arguments.check_number(arguments.MOST_RESAMPLES) == arguments.MOST_RESAMPLES
    with pytest.raises(InputError, match="n_resamples: is above"):
        arguments.check_number(arguments.MOST_RESAMPLES + 1)
    for value, hint in ((1.0, "for 1% write 0.01"), (99.5, "for 99.5% write 0.995"), (100.0, ""), (0.0, ""), (-1, "")):
        with pytest.raises(InputError) as told:
            arguments.fraction(value, "share")
        assert told.value.allowed.removeprefix("it must lie strictly between 0 and 1").removeprefix("; ") == hint
    assert [arguments.fraction(value, "share") for value in (arguments.LEAST_SHARE, 0.999)] == [
        arguments.LEAST_SHARE,
        0.999,
    ]
    assert [arguments.check_level(value) for value in (0.5, arguments.LEAST_SHARE)] == [0.5, arguments.LEAST_SHARE]
    for level, hint in ((0.95, "0.05"), (95, "0.05"), (99.9, "0.001")):
        with pytest.raises(InputError, match=rf"For {level if level < 1 else level / 100:g} confidence pass {hint}$"):
            arguments.check_level(level)
    for level in (100.0, 120.0):  # no confidence either
        with pytest.raises(InputError) as told:
            arguments.check_level(level)
        assert "alpha" not in told.value.allowed
    for level in (0.5 + 1e-15, 1.0, 100.0, arguments.LEAST_SHARE * (1.0 - 1e-15)):
        with pytest.raises(InputError, match="level"):
            arguments.check_level(level)
    assert [arguments.power_of_two(value, "bins", 4, 64) for value in (4, 64)] == [4, 64]
    for value in (2, 128, 6, 63):
        with pytest.raises(InputError, match="power of two from 4 to 64"):
            arguments.power_of_two(value, "bins", 4, 64)
