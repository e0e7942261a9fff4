"""Results as frames, files that one process writes at a time, and modules of SciPy's: what each gives, by hand."""

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door import output, special
from calibrant.door.coding import condition
from calibrant.door.values import Registry, Result, _of_one_type, columns_of, frame_of


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        ([1, None, 2], [1, None, 2]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([1, "a", None], ["1", "a", None]),
        ([True, 1], ["True", "1"]),
        ([None, None], [None, None]),
    ],
)
def test_a_column_of_a_frame_has_one_type(column, wanted):
    found = _of_one_type(column)
    assert found == wanted
    assert [type(each) for each in found] == [type(each) for each in wanted]


def test_what_a_row_has_not_is_null_and_a_part_that_all_lack_is_a_column():
    rows = [{"a": 1, "end": None, "none": None}, {"a": 2, "end_low": 0.5, "end_high": 1, "none": None}]
    frame = frame_of(rows, "pyarrow")
    assert frame.column_names == ["a", "none", "end_low", "end_high"]
    assert frame.to_pydict() == {"a": [1, 2], "none": [None, None], "end_low": [None, 0.5], "end_high": [None, 1]}
    empty = frame_of([{"end": None, "end_low": None}], "pyarrow")
    assert empty.column_names == ["end", "end_low"]
    assert frame_of({"a": np.arange(2)}, "pyarrow").to_pydict() == {"a": [0, 1]}
    with pytest.raises(InputError, match="backend: is 'arrow'; it must be one of"):
        frame_of(rows, "arrow")


@dataclass(repr=False)
class Plain(Result):
    a: int
    b: object


@dataclass(repr=False)
class InWords(Plain):
    def summary(self):
        return "The answer. More of it."


def test_a_result_without_words_shows_its_values():
    assert repr(Plain(1, "x")) == str(Plain(1, "x")) == "Plain(a=1, b='x')"
    assert repr(InWords(1, "x")) == "InWords(The answer)"
    assert str(InWords(1, "x")) == "The answer. More of it."


def test_columns_of_a_result_are_its_arrays_of_the_length_that_most_have():
    @dataclass
    class Held:
        one: object
        two: object
        odd: object
        table: object
        word: str = "a"

    held = Held(np.zeros(3), np.ones(3), np.zeros(4), np.zeros((3, 2)))
    assert list(columns_of(held)) == ["one", "two"]


def test_entries_of_a_registry_have_texts_and_are_of_its_room():
    registry = Registry("toy", "calibrant.door")
    entry = SimpleNamespace(name="b", order=1)
    for module, texts in (("calibrant.doors.a", {"title": "x"}), ("calibrant.door.a", {"title": " "})):
        with pytest.raises(ValueError, match=r"toy b: its (module calibrant.doors.a is not one of|title is empty)"):
            registry.enter(entry, module, **texts)
    registry.enter(entry, "calibrant.door.a", title="x")
    registry.enter(SimpleNamespace(name="c", order=0), "calibrant.door.a")
    registry.enter(SimpleNamespace(name="a", order=1), "calibrant.door.a")
    assert list(registry.entries()) == ["c", "a", "b"]


def test_a_file_is_locked_where_the_system_has_locks(tmp_path, monkeypatch):
    for locks in (True, False):
        if not locks:
            monkeypatch.setattr(output, "fcntl", None)
        with output.alone_with(tmp_path / "state"):
            assert [each.name for each in tmp_path.iterdir()] == [".state.lock"] * locks
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("threads", "asked"), [(1, "scipy.fake._a"), (2, "scipy.fake")])
def test_an_extension_is_loaded_alone_where_no_other_thread_may_import_its_package(monkeypatch, threads, asked):
    monkeypatch.setattr(special.threading, "active_count", lambda: threads)
    monkeypatch.setattr(special, "import_module", lambda name: name)
    assert special._extension("scipy.fake", "_a") == asked
    monkeypatch.setitem(special.sys.modules, "scipy.fake", import_module("scipy"))
    assert special._extension("scipy.fake", "_a") == "scipy.fake"


@pytest.mark.parametrize("native", [True, False])
def test_cosines_are_those_of_scipys_transform(monkeypatch, native):
    from scipy.fft import dct

    values = np.random.default_rng(0).random(5)
    wanted = dct(np.r_[values, np.zeros(4)], 1)
    if not native:  # as older releases have it
        monkeypatch.setattr(special, "_transforms", SimpleNamespace(dct=dct))
    assert special.cosines(values, 9) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "said"), [(None, "a is missing"), (2.0, "a = 2"), (True, "a = true"), ("x", "a = x"), (" x", "a = ' x'")]
)
def test_a_condition_names_the_value_or_that_there_is_none(value, said):
    assert condition("a", value) == said


def test_examples_of_scipys_own_are_none_of_this_package():
    assert special.ndtr is import_module("scipy.special").ndtr
    assert not hasattr(special, "__test__")
