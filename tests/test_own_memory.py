"""What a result holds is its own: neither the user's arrays nor a solver's, and no later call changes it."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature

import numpy as np
import pyarrow
import pytest

from calibrant import InputError
from calibrant.recalibration import SegmentRecalibrator
from calibrant.recalibration.curves.base import maps
from tests.public import FUNCTIONS

NOT_COPIED = {"multiclass_sample"}  # it is the user's own table, read as probabilities: "nothing is copied"
FORMS = [(), ("sample_weight",), ("trials",), ("groups",), ("sample_weight", "groups")]
OPTIONS = {
    "n_resamples": 39,
    "random_state": 0,
    "max_distance": 0.3,
    "accept_below": 0.1,
    "reject_above": 0.6,
    "by": "g",
    "n_draws": 20,
    "n_bins": 5,
    "width": 0.1,
    "time_limit": 0.001,
}
FEW_ROWS = {"prediction_sparsified_distance": 9}  # its cost grows fast
DRAWS = {"two_sample_calibration_test": 999, "tcal_test": 500}
COLUMNS = {"y_true", "y_prob", "y_prob_a", "y_prob_b", "y_probs", "frame", "table", "X", "grades", "values"}
OF_CLASSES = {"canonical_kernel_test", "class_wise_test", "multiclass_sample", "squared_canonical_kernel_error"}


def columns(seed):
    """What a caller may have, as arrays that could be taken as they are."""
    rng = np.random.default_rng(seed)
    v = np.round(rng.random(60), 2)
    y = (rng.random(60) < v) * 1.0
    y[:2], v[:2] = (0.0, 1.0), (0.25, 0.75)
    group = np.repeat(np.arange(20), 3)
    return {
        "y_true": y,
        "y_prob": v,
        "y_prob_a": v,
        "y_prob_b": v**2,
        "y_probs": {"a": v, "b": v**2},
        "sample_weight": rng.integers(1, 4, 60) * 1.0,
        "trials": np.full(60, 2.0),
        "groups": group,
        "grades": rng.integers(0, 3, 60),
        "values": np.linspace(0.0, 1.0, 5),
        "thresholds": np.linspace(0.0, 0.9, 5),
        "frame": pyarrow.table({"y": y, "p": v, "g": group % 2}),
        "labels": rng.integers(0, 3, 60),
        "classes": rng.dirichlet(np.ones(3), 60),
    }


def arrays(value, path="", seen=None):
    """Every array that can be reached from a value, with its place."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from arrays(part, f"{path}[{key!r}]", seen)
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from arrays(part, f"{path}[{place}]", seen)
    elif type(value).__module__.startswith(("calibrant", "sklearn")):
        names = {
            *getattr(value, "__dict__", {}),
            *(each.name for each in (fields(value) if is_dataclass(value) else ())),
        }
        names |= {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
        for name in sorted(names):
            if hasattr(value, name):
                yield from arrays(getattr(value, name), f"{path}.{name}", seen)


def arguments(name, form, given):
    """A call of a public function with these optional columns; None where it takes no rows, or not in this form."""
    taken = signature(FUNCTIONS[name]).parameters
    if name in FEW_ROWS:
        given = {each: column[: FEW_ROWS[name]] for each, column in given.items() if isinstance(column, np.ndarray)}
    if not set(form) <= set(taken) or not taken.keys() & COLUMNS:
        return None
    if "frame" in taken or "table" in taken:
        if form:
            return None
        given = {**given, "table": given["frame"], "y_true": "y", "y_prob": "p"}
    elif name in OF_CLASSES:
        given = {**given, "y_true": given["labels"], "y_prob": given["classes"], "classes": None}
    options = {**OPTIONS, "n_resamples": DRAWS.get(name, 39), **({"max_weight": 60.0} if form else {})}
    found = {each: given[each] for each in (*COLUMNS, *form, "thresholds") if each in taken and each in given}
    found |= {each: value for each, value in options.items() if each in taken}
    missing = [each for each, one in taken.items() if one.default is Parameter.empty and each not in found]
    return None if [each for each in missing if taken[each].kind is not Parameter.VAR_KEYWORD] else found


RESULTS = [name for name, each in sorted(FUNCTIONS.items()) if signature(each).return_annotation != "float"]
CALLS = [(name, form) for name in RESULTS for form in FORMS if arguments(name, form, columns(0))]


def changed(name, make, given, other):
    """Arrays of what `make` returns that are the caller's, another's, or other than they were after other calls."""
    found = make(given)
    held = [(path, each) for path, each in arrays(found, name) if each.size]
    before = [each.tobytes() for _, each in held]
    said = []
    for place, (path, each) in enumerate(held):
        for one, column in arrays(given, "given"):
            if np.shares_memory(each, column):
                said.append(f"{path} is {one}")
        for another, more in held[:place]:
            if (each.flags.writeable or more.flags.writeable) and np.shares_memory(each, more):
                said.append(f"{path} is {another}, and can be written to")
    make(other)
    for _, column in arrays(given):
        column[...] = column[::-1].copy()  # what the caller does with it later
    return said + [path for (path, each), was in zip(held, before, strict=True) if each.tobytes() != was]


def test_every_function_of_rows_with_a_result_is_tried():
    untried = set(RESULTS) - {name for name, _ in CALLS}
    assert {name for name in untried if "y_true" in signature(FUNCTIONS[name]).parameters} == set()


SLOW = {"audit", "calibration_belt", "audit_table"}


@pytest.mark.parametrize(
    ("name", "form"),
    [pytest.param(*call, marks=pytest.mark.slow) if call[0] in SLOW else call for call in CALLS],
    ids=["-".join([name, *form]) for name, form in CALLS],
)
def test_a_result_is_nobody_elses(name, form):
    def make(given):
        try:
            return FUNCTIONS[name](**arguments(name, form, given))
        except InputError as refused:  # a form that it has no use for
            assert form or refused.argument in ("y_true", "y_prob"), refused  # noqa: PT017
            return None

    said = changed(name, make, columns(0), columns(1))
    assert said == [] or name in NOT_COPIED


@pytest.mark.parametrize("name", [*maps(), "segments"])
def test_nor_is_what_was_fitted_and_predicted(name):
    def make(given):
        if name == "segments":
            table = np.column_stack([given["y_prob"], given["grades"]])
            fitted = SegmentRecalibrator(0, method="segments", cv=2).fit(table, given["y_true"])
            return fitted, fitted.predict_proba(table)
        several = name in ("vector", "dirichlet", "averaged_classes")
        at, y = (given["classes"], given["labels"]) if several else (given["y_prob"], given["y_true"])
        fitted = maps()[name].estimator().fit(at, y, given["sample_weight"])
        return fitted, fitted.predict(at), fitted.transform(at)

    assert changed(name, make, columns(0), columns(1)) == []
