"""The public signatures keep to one vocabulary: a table of rules, and every offender by name."""

import inspect
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from matplotlib.axes import Axes

from calibrant.door.arguments import N_RESAMPLES
from tests.public import CLASSES, FUNCTIONS, PUBLIC

CALLS = {
    **FUNCTIONS,
    **{name: value for name, value in CLASSES.items() if "__init__" in vars(value) and "_fields" not in vars(value)},
    **{
        f"{name}.{method}": inspect.unwrap(getattr(value, method))
        for name, value in CLASSES.items()
        for method, found in vars(value).items()
        if not method.startswith("_") and (inspect.isfunction(found) or isinstance(found, classmethod | staticmethod))
    },
}
"""Every public function, class that is made by its users, and method."""

INSTEAD = {
    "alpha": "level",
    "confidence": "level",
    "significance": "level",
    "seed": "random_state",
    "rng": "random_state",
    "resamples": "n_resamples",
    "draws": "n_resamples",
    "weights": "sample_weight",
    "weight": "sample_weight",
    "bins": "n_bins",
    "y_score": "y_prob",
    "y_pred": "y_prob",
}
"""What must not be the name of a parameter, and what is."""

COLUMNS = {"y_true", "y_prob", "y_prob_a", "y_prob_b"}
SCIKIT_LEARN = {"fit", "score"}  # have its order: what is fitted to before the outcomes, weights by position too
NAMED_WHEN_CALLED = {"measure"}  # a registered measure's name, or a function
NAMES_A_COLUMN = {"prediction"}


def parameters(call):
    found = inspect.signature(call).parameters
    return {name: each for name, each in found.items() if name != "self"}


def hints_of(call):
    function = inspect.unwrap(call.__init__ if inspect.isclass(call) else call)
    local = {"Axes": Axes, **PUBLIC}
    while True:
        try:
            return get_type_hints(function, localns=local)
        except NameError as unknown:  # a type that its module imports for type checkers alone
            local[unknown.name] = Any


def is_mode(hint):
    """Whether a hint takes words, and only those that it lists."""
    parts = get_args(hint) if get_origin(hint) is not Literal else (hint,)
    return get_origin(hint) is Literal or (str not in parts and any(get_origin(part) is Literal for part in parts))


def of_dataclass(name):
    """Whether a call makes a result, whose fields are not a user's parameters."""
    return hasattr(PUBLIC.get(name), "__dataclass_fields__")


RULES = {}


def rule(check):
    RULES[check.__name__] = check
    return check


@rule
def other_words_are_not_used(call):
    return [f"{name}: it is {INSTEAD[name]}" for name in parameters(call) if name in INSTEAD]


@rule
def columns_come_first_and_only_they_by_position(call):
    names = parameters(call)
    taken = [name for name in names if name in COLUMNS]
    if call.__name__ in SCIKIT_LEARN or len(taken) < 2 or names[taken[0]].kind is inspect.Parameter.KEYWORD_ONLY:
        return []  # names of columns in a frame are keywords
    order = list(names)
    at = order.index(taken[0])
    faults = [] if order[at : at + len(taken)] == taken and at <= 1 else ["columns do not stand together, first"]
    if taken[0] != "y_true":
        faults.append("y_true comes first")
    after = order[at + len(taken) :]
    faults += [
        f"{name}: by keyword only"
        for name in after
        if names[name].kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    ]
    if "sample_weight" in after and after[0] != "sample_weight":
        faults.append("sample_weight comes before the other keywords")
    return faults


@rule
def defaults_are_those_of_the_house(call):
    wanted = {"level": 0.05, "n_resamples": N_RESAMPLES, "random_state": None, "sample_weight": None}
    if getattr(call, "__name__", "") == "two_sample_calibration_test":  # fewer could not reject at all, as it says
        wanted["n_resamples"] = 3000
    return [
        f"{name}={each.default!r}: it is {wanted[name]!r}"
        for name, each in parameters(call).items()
        if name in wanted and each.default is not inspect.Parameter.empty and each.default != wanted[name]
    ]


@rule
def modes_are_literals(call):
    hints = hints_of(call)
    return [
        f"{name}={each.default!r}: a mode is a Literal"
        for name, each in parameters(call).items()
        if isinstance(each.default, str)
        and name not in NAMED_WHEN_CALLED | NAMES_A_COLUMN
        and not is_mode(hints.get(name))
    ]


@rule
def random_states_are_of_every_kind(call):
    hints = hints_of(call)
    if "random_state" not in parameters(call):
        return []
    kinds = set(get_args(hints["random_state"]))
    return [] if {int, np.random.Generator, type(None)} <= kinds else [f"random_state: {hints['random_state']}"]


@rule
def everything_has_a_type(call):
    hints = hints_of(call)
    wanted = [*parameters(call), *([] if inspect.isclass(call) else ["return"])]
    return [f"{name}: has no type" for name in wanted if name not in hints and name != "cls"]


@rule
def a_misspelt_keyword_is_seen(call):
    """Only what passes them on, to a measure that it is told of or to an estimator's fit, takes any keyword."""
    return [
        f"**{name}: takes any keyword"
        for name, each in parameters(call).items()
        if each.kind is inspect.Parameter.VAR_KEYWORD
        and not (NAMED_WHEN_CALLED & set(parameters(call)) or call.__name__ in SCIKIT_LEARN)
    ]


def offenders(check, calls):
    return [f"{name}({fault})" for name, call in calls.items() if not of_dataclass(name) for fault in check(call)]


@pytest.mark.parametrize("name", RULES)
def test_public_signatures(name):
    assert offenders(RULES[name], CALLS) == []


WRONG: dict[str, Any] = {}


def wrong(check):
    """Register a signature that one rule must find out."""

    def enter(function):
        WRONG[check] = function
        return function

    return enter


@wrong("other_words_are_not_used")
def _alpha(y_true, y_prob, *, alpha=0.05): ...


@wrong("columns_come_first_and_only_they_by_position")
def _positional(y_true, y_prob, n_bins=15): ...


@wrong("defaults_are_those_of_the_house")
def _default(*, level=0.95): ...


@wrong("modes_are_literals")
def _mode(*, strategy: str = "uniform"): ...


@wrong("random_states_are_of_every_kind")
def _state(*, random_state: int | None = None): ...


@wrong("everything_has_a_type")
def _untyped(n) -> None: ...


@wrong("a_misspelt_keyword_is_seen")
def _anything(**options): ...


@pytest.mark.parametrize("name", RULES)
def test_each_rule_finds_its_offender(name):
    assert len(offenders(RULES[name], {"wrong": WRONG[name]})) == 1
