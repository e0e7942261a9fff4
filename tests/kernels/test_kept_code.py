"""Machine code that was kept is called without numba, with the same results, and nowhere where it does not fit."""

import gc
import json
import math
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from calibrant.kernels import compiled
from tests.damage import damaged


class Pair(NamedTuple):
    x: np.ndarray
    y: np.ndarray


def mixed(pair, more, scale, turn, count, _nothing):
    made = np.empty(count)
    for k in range(count):
        made[k] = scale * pair.x[k] + pair.y[k, 0] + (1.0 if turn else 0.0)
    more[0] = pair.x.size
    return made, count, turn, scale, (made, pair.x)


def part(x):
    return x[1:]


def split(x, exponents):
    out = np.empty((x.size, 2))
    for k in range(x.size):
        out[k, 0], exponents[k] = math.frexp(x[k])
        out[k, 1] = math.ldexp(x[k], 7 * k - 20)
    return out


def unknown(pair):
    return pair


def divided(a, b):
    return a // b


ARGUMENTS = (Pair(np.arange(4.0), np.ones((4, 2))), np.zeros(1, np.int64), 0.5, True, 3, None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    monkeypatch.setattr(compiled, "_calls", [0])  # whatever other tests have called
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    return tmp_path


def kernel_of(function):
    return compiled.njit(cache=True)(function)


def by_kept_code(kernel):
    return "_dispatcher" not in vars(kernel)


def same(found, expected):
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert type(found) is type(expected)
        assert found == expected


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_results_are_the_same_and_memory_is_given_back():
    expected = kernel_of(mixed)(*ARGUMENTS)
    again = kernel_of(mixed)
    found = again(*ARGUMENTS)
    assert by_kept_code(again)
    same(found, expected)
    assert found[4][1] is ARGUMENTS[0].x
    assert ARGUMENTS[1][0] == 4
    shared, held = found[0], found[0].copy()
    del found
    gc.collect()
    same(shared, held)


@pytest.mark.usefixtures("folder")
def test_a_part_of_an_argument_is_a_view_of_it():
    x = np.arange(3.0)
    kernel_of(part)(x)
    again = kernel_of(part)
    found = again(x)
    assert by_kept_code(again)
    x[2] = 9.0
    same(found, np.array([1.0, 9.0]))


@pytest.mark.usefixtures("folder")
def test_numbers_are_split_and_put_together_as_numba_does():
    x = np.array([0.0, -0.0, 1.0, -3.7, 5e-324, 2.0**-1022, 1.7e308, np.inf, -np.inf, np.nan])
    exponents = np.full((2, x.size), 99)
    expected = kernel_of(split)(x, exponents[0])
    again = kernel_of(split)
    found = again(x, exponents[1])
    assert by_kept_code(again)
    same(found.view(np.uint64), expected.view(np.uint64))
    same(exponents[1], exponents[0])
    assert exponents[0, :4].tolist() == [0, 0, 1, 2]


@pytest.mark.slow
def test_no_measure_of_many_rows_loads_numba_where_its_code_is_kept():
    """Each in a process of its own, the second time: by blocks from 131,072 rows on."""
    code = """
import sys, numpy as np, calibrant
rng = np.random.default_rng(0)
p = rng.random(140_000)
y = (rng.random(p.size) < p).astype(float)
for name, each in calibrant.measures.measures().items():
    each.on_sample(calibrant.door.sample.Sample.of_arrays(y, p, None), **each.parameters)
calibrant.smooth_calibration_error(y, p)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["['llvmlite']"]


@pytest.mark.usefixtures("folder")
def test_errors_are_numbas_own():
    assert kernel_of(divided)(7, 2) == 3
    again = kernel_of(divided)
    assert again(7, 2) == 3
    assert by_kept_code(again)
    with pytest.raises(ZeroDivisionError):
        again(7, 0)


def test_what_is_not_known_is_not_kept(folder):
    kernel_of(unknown)(ARGUMENTS[0])
    assert not list(folder.glob("*.kept"))


@pytest.mark.usefixtures("folder")
def test_types_are_told_apart():
    x = np.arange(4.0)
    readonly = np.arange(4.0)
    readonly.flags.writeable = False
    kinds = [x, readonly, x[::2], x.astype(np.float32), x.reshape(2, 2), np.asfortranarray(x.reshape(2, 2))]
    assert len({compiled.key_of((each,)) for each in kinds}) == len(kinds)
    assert len({compiled.key_of((each,)) for each in (1, 1.0, True, None, np.uint64(1), (1,))}) == 6
    assert compiled.key_of((2**63,)) is compiled.key_of(("text",)) is compiled.key_of((np.int32(1),)) is None
    kernel_of(divided)(7, 2)
    other = kernel_of(divided)
    assert other(7.0, 2.0) == 3.0
    assert not by_kept_code(other)


@pytest.mark.usefixtures("folder")
def test_many_calls_are_numbas(monkeypatch):
    kernel_of(divided)(7, 2)
    again = kernel_of(divided)
    assert again(7, 2) == 3
    monkeypatch.setattr(compiled, "_calls", [compiled._MANY])
    assert again(7, 2) == 3
    assert not by_kept_code(again)


@pytest.mark.parametrize("changed", ["a source", "a byte", "its name"])
def test_code_that_does_not_fit_is_not_called(folder, monkeypatch, changed):
    kernel_of(divided)(7, 2)
    (path,) = folder.glob("*.kept")
    whole = path.read_bytes()
    if changed == "a source":
        monkeypatch.setattr(compiled, "_stamp", lambda: "another")
    elif changed == "its name":
        path.rename(folder / path.name.replace("divided", "part"))
    for number in range(4):
        if changed == "a byte":
            path.write_bytes(damaged(whole, np.random.default_rng(number))[1])
            if path.read_bytes() == whole:
                continue
        again = kernel_of(part if changed == "its name" else divided)
        assert compiled.load(again, ("i8", "i8")) is None


def test_code_that_calls_what_is_not_there_is_not_kept(folder, monkeypatch):
    monkeypatch.setattr(compiled, "_OURS", set())
    kernel_of(divided)(7, 2)
    assert not list(folder.glob("*.kept"))
    with pytest.raises(ValueError, match=r"^$"):
        list(compiled._undefined(b"MZ" + bytes(80)))


def test_the_stamp_knows_numbas_settings(monkeypatch):
    before = compiled._stamp.__wrapped__()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert compiled._stamp.__wrapped__() == before
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert compiled._stamp.__wrapped__() != before
    assert json.dumps(before)


def test_memory_whose_references_nobody_counts_is_not_given_back():
    data = np.arange(3.0)
    words, read = compiled._array("<f8", 1)
    array = read(words(0, 0, data.size, data.itemsize, data.ctypes.data, *data.shape, *data.strides))
    assert (array == data).all()
    del array
    assert (data == np.arange(3.0)).all()
