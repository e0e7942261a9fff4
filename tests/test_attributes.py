"""An attribute's name has one type in every public class; None, for what is not known, may join it."""

import re
from collections import defaultdict
from inspect import get_annotations
from typing import Annotated, get_args, get_origin

import pytest

from calibrant.door import values
from tests.public import CLASSES

LITERAL = re.compile(r"Literal\[('[^']*'(, )?)+\]")
RESULTS = re.compile(r"Results\[(\w+)\]")  # a tuple that makes a data frame
MODES = {"Action", "Direction", "State", "Verdict"}  # names of Literals
ARRAYS = {"FloatArray", "IntArray", "BoolArray"}
PLAIN = {  # what is said beside a type is for the layout of JSON, and no type: a float is one that may be null there
    name: "float" if get_args(each)[0] is float else "ndarray"
    for name, each in vars(values).items()
    if get_origin(each) is Annotated
}


def kind(annotation):
    """A type in words that are the same for what is used alike: words of a few, arrays of any number, a class's own."""
    own = annotation.removeprefix("ClassVar[").removesuffix("]") if annotation.startswith("ClassVar[") else annotation
    own = RESULTS.sub(r"tuple[\1, ...]", own)
    one_type = LITERAL.sub("str", own.replace('"', "'").replace("FoundSegment,", "Segment,"))  # found or named
    parts = {PLAIN.get(part, part) for part in one_type.split(" | ")} - {"None"}
    return " | ".join(sorted({"ndarray" if part in ARRAYS else "str" if part in MODES else part for part in parts}))


def attributes(owner):
    """Public fields and properties, those of its bases in this package included, with their types."""
    found = {}
    for each in reversed(owner.__mro__):
        if each.__module__.startswith("calibrant."):
            found |= get_annotations(each)
            read = {name: value.fget for name, value in vars(each).items() if isinstance(value, property)}
            found |= {name: get_annotations(getter)["return"] for name, getter in read.items()}
    return {name: kind(str(each)) for name, each in found.items() if not name.startswith("_")}


def clashes(classes):
    types = defaultdict(lambda: defaultdict(set))
    for owner in classes:
        for name, each in attributes(owner).items():
            types[name][each].add(owner.__name__)
    return {name: {each: sorted(owners) for each, owners in found.items()} for name, found in types.items()}


def test_one_name_has_one_type():
    found = clashes(CLASSES.values())
    assert len(found) > 150
    assert {name: each for name, each in found.items() if len(each) > 1} == {}


def test_the_two_words_for_two_things():
    """Distances and errors: a measure's name is its value, an interval speaks of the population, a bracket of rows."""
    found = {name: set(each) for name, each in clashes(CLASSES.values()).items()}
    for name in ("smooth_calibration_error", "lower_calibration_distance"):
        assert found[name] == {"float"}
    for name, kinds in found.items():
        if name.endswith("interval") or name in ("smooth_error", "lower_distance"):
            assert kinds == {"Interval"}, name
        if name.endswith("bracket") or name in ("distance", "true_distance"):
            assert kinds == {"Bracket"}, name


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("float", "float | None", True),
        ("str", "Literal['within', 'beyond'] | None", True),
        ("FloatArray", "IntArray", True),
        ("str", "ClassVar[str]", True),
        ("ClassVar[tuple[str, ...]]", "tuple[int, ...]", False),
        ("float", "FloatArray", False),
        ("Interval", "Bracket", False),
        ("tuple[int, ...]", "tuple[tuple[int, ...], ...]", False),
    ],
)
def test_what_counts_as_one_type(one, other, same):
    first = type("First", (), {"__module__": "calibrant.x", "__annotations__": {"size": one}})
    second = type("Second", (), {"__module__": "calibrant.x", "__annotations__": {"size": other}})
    assert (len(clashes([first, second])["size"]) == 1) == same
