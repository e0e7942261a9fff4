"""What a docstring says of parameters, defaults, errors and other names is what the code has."""

import ast
import inspect
import re

import pytest

from tests.public import CLASSES
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


HEAD = r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.*))?\n((?:[ \t]+.*\n?|\n)*)"


def wrong_defaults(function):
    """Parameters whose default is another than "default X", the first of {"X", ...} or that of `f`, "As for `f`"."""
    found = []
    for names, kind, text in re.findall(HEAD, section(inspect.cleandoc(function.__doc__), "Parameters") or "", re.M):
        for name in names.replace("*", "").split(", "):
            has = inspect.signature(function).parameters[name].default
            said = re.search(r"\bdefault (\S+?)(?:,|$)", kind) or re.match(r"\{([^,}]+)[,}]", kind)
            other = re.search(r"As for `(\w+)`", text)
            if said is not None:
                right = ast.literal_eval(said[1]) == has
            elif other is not None and not kind:
                right = has == inspect.signature(ANY[other[1]]).parameters[name].default
            else:
                right = has in (None, inspect.Parameter.empty) or "optional" in kind
            found += [] if right else [f"{name}={has!r}: {kind or text.strip()}"]
    return found


def named_also(doc):
    """The names of a See Also section."""
    rows = (section(doc, "See Also") or "").splitlines()
    return {each.strip().strip("`") for row in rows for each in row.partition(" : ")[0].split(",")} - {""}


def others(name, doc):
    """Whether See Also names public names, and others than this one."""
    return bool(named_also(doc)) and named_also(doc) <= set(ANY) - {name}


FUNCTIONS = list(PUBLIC.items())


def methods(cls):
    """Public methods that a class defines itself."""
    found = {name: getattr(cls, name) for name in vars(cls) if not name.startswith("_")}
    return {name: inspect.unwrap(each) for name, each in found.items() if inspect.isroutine(each)}


def lacks(name, function):
    """What the docstring of a public function does not say."""
    doc = inspect.cleandoc(function.__doc__)
    asked = {"y_true", "y_prob"} & set(inspect.signature(function).parameters)
    said = {
        "one sentence first": doc.partition("\n")[0].endswith("."),
        "an example that runs": ">>> " in (section(doc, "Examples") or ""),
        "other public names in See Also": others(name, doc),
        "what it returns": section(doc, "Returns") is not None,
        "its cost": "Cost:" in doc or not asked,
        "its source": section(doc, "References") is not None or not name.endswith(("_error", "_distance", "_test")),
    }
    return [what for what, there in said.items() if not there]


def function_lacks(name, function):
    """All that the docstring of a public function lacks, or says otherwise than its signature."""
    wrong = (
        []
        if sorted(documented(function.__doc__)) == sorted(inspect.signature(function).parameters)
        else ["the parameters of its signature"]
    )
    return [*lacks(name, function), *wrong, *([] if wrong else wrong_defaults(function))]


def class_lacks(name, cls):
    """The same of a public class, whose parameters are its own where its users make it."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    given = set(inspect.signature(cls).parameters) if "__init__" in dir(cls) else set()
    made_by_users = not hasattr(cls, "__dataclass_fields__") and not issubclass(cls, Exception)
    of_its_own = "__init__" in vars(cls) or "Parameters\n" in doc
    said = {
        "one sentence first": doc.partition("\n")[0].endswith("."),
        "other public names in See Also": others(name, doc),
    }
    if made_by_users and of_its_own and given:
        said["the parameters of its signature"] = sorted(documented(doc)) == sorted(given)
        said["the defaults of its signature"] = wrong_defaults(cls) == []
    return [what for what, there in said.items() if not there]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_everything_is_said_that_a_reader_asks_for_as_the_signature_has_it(name, function):
    assert function_lacks(name, function) == []


@pytest.mark.parametrize("name", CLASSES)
def test_classes_say_what_they_are_and_what_to_see_also(name):
    assert class_lacks(name, CLASSES[name]) == []


@pytest.mark.parametrize("name", CLASSES)
def test_methods_say_what_they_do_with_the_parameters_that_they_have(name):
    for method, function in methods(CLASSES[name]).items():
        assert function.__doc__, method
        said = documented(function.__doc__)
        assert said in ([], [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]), (
            method
        )


def test_a_wrong_default_is_found_out():
    def wrong(a=1, b="x", c=2, level=0.1): ...

    wrong.__doc__ = (
        'Say.\n\nParameters\n----------\na : int, default 2\n    One.\nb : {"y", "x"}\n    Two.\n'
        "c : int\n    Three.\nlevel\n    As for `cox_test`.\n"
    )
    assert [fault.partition("=")[0] for fault in wrong_defaults(wrong)] == ["a", "b", "c", "level"]


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


@pytest.mark.parametrize("name", sorted(ANY))
def test_examples_import_from_where_users_do(name):
    doc = inspect.getdoc(ANY[name]) or ""
    inner = re.findall(r"^>>> from (calibrant\.(?!integrations)\w+\.\w+) import", doc, flags=re.MULTILINE)
    assert not inner
