"""What a docstring says of its function's parameters and errors is what the function has."""

import inspect
import re

import pytest

from tests.public import FUNCTIONS as PUBLIC
from tests.public import PUBLIC as ANY

SECTION = r"\n\s*{}\n\s*-{{3,}}\n(.*?)(?=\n\s*\n\s*[A-Z][\w ]+\n\s*-{{3,}}\n|\Z)"


def section(doc, title):
    found = re.search(SECTION.format(title), doc, flags=re.DOTALL)
    return None if found is None else found[1]


def documented(doc):
    """Names before the colons of a Parameters section, in order; none where there is no such section."""
    text = section(inspect.cleandoc(doc), "Parameters")
    heads = [] if text is None else re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", text, flags=re.MULTILINE)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


FUNCTIONS = list(PUBLIC.items())


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_parameters_are_those_of_the_signature(name, function):
    assert sorted(documented(function.__doc__)) == sorted(inspect.signature(function).parameters), name


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_what_takes_columns_says_that_it_raises(name, function):
    if {"y_true", "y_prob"} & set(inspect.signature(function).parameters):
        raises = section(inspect.cleandoc(function.__doc__), "Raises")
        assert raises is not None, name
        assert "Error" in raises, name


def lacks(name, function):
    """What the docstring of a public function does not say."""
    doc = inspect.cleandoc(function.__doc__)
    also = [
        each for row in (section(doc, "See Also") or "").splitlines() for each in row.partition(" : ")[0].split(",")
    ]
    asked = {"y_true", "y_prob"} & set(inspect.signature(function).parameters)
    said = {
        "one sentence first": doc.partition("\n")[0].endswith("."),
        "an example that runs": ">>> " in (section(doc, "Examples") or ""),
        "other public names in See Also": {each.strip().strip("`") for each in also} - {""} <= set(ANY) - {name}
        and bool(also),
        "what it returns": section(doc, "Returns") is not None,
        "its cost": "Cost:" in doc or not asked,
        "its source": section(doc, "References") is not None or not name.endswith(("_error", "_distance", "_test")),
    }
    return [what for what, there in said.items() if not there]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_everything_is_said_that_a_reader_asks_for(name, function):
    assert lacks(name, function) == []


def test_what_a_docstring_lacks_is_found_out():
    def bare_error(y_true, y_prob): ...

    bare_error.__doc__ = "Say\n\nSee Also\n--------\nnobody\n"
    assert len(lacks("bare_error", bare_error)) == 6


def test_a_wrong_docstring_is_found_out():
    assert documented(
        "Say.\n\nParameters\n----------\na, b : int\n    Of x : y.\n**rest\n\nReturns\n-------\nc : int\n"
    ) == [
        "a",
        "b",
        "rest",
    ]
