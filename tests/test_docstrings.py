"""What a docstring says of its function's parameters and errors is what the function has."""

import inspect
import re

import pytest

from tests.public import FUNCTIONS as PUBLIC

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


def test_a_wrong_docstring_is_found_out():
    assert documented(
        "Say.\n\nParameters\n----------\na, b : int\n    Of x : y.\n**rest\n\nReturns\n-------\nc : int\n"
    ) == [
        "a",
        "b",
        "rest",
    ]
