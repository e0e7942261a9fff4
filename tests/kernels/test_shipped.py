"""Machine code that came with the package is used where it fits, and nowhere else."""

import json

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from calibrant.cli import compilation
from calibrant.kernels import compiled, shipped
from tests.damage import damaged


def doubled(x):
    return 2.0 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """As a wheel has it: that function compiled, with what it was made for, under another processor's name."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "built"))
    codegen = cpu_target.target_context.codegen()
    this = codegen.magic_tuple()
    monkeypatch.setattr(type(codegen), "magic_tuple", lambda _: ("any", "of this kind", ""))
    shipped.offer(numba.njit(cache=True)(doubled))(1.0)
    monkeypatch.setattr(type(codegen), "magic_tuple", lambda _: this)
    (kept,) = (tmp_path / "built").iterdir()
    made = {"for": shipped.here(), "target": ["any", "of this kind", ""], "features": []}
    (kept / shipped.DESCRIPTION).write_text(json.dumps(made))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(shipped, "FOLDER", kept)
    shipped.target.cache_clear()
    shipped._shipped_too.cache_clear()
    yield kept
    shipped.target.cache_clear()
    shipped._shipped_too.cache_clear()


def _compiles(kernel):
    """Whether a call has it compiled."""
    begun = []
    compiled._numba()  # which tells listeners
    stop = compiled.when_compiling(begun.append)
    assert kernel(3.0) == 6.0
    stop()
    return bool(begun)


@pytest.mark.parametrize("kept", [True, False])
def test_nothing_is_compiled_where_it_fits(folder, kept):
    assert shipped.target() == ("any", "of this kind", "")
    assert not _compiles(shipped.offer(numba.njit(cache=kept)(doubled)))
    assert not list(folder.parent.parent.glob("own/**/*.nbc"))
    assert not compilation._first_run()


@pytest.mark.parametrize("other", ["kernels", "numba", "llvmlite", "python", "system", "machine"])
def test_made_for_something_else(folder, other):
    made = json.loads((folder / shipped.DESCRIPTION).read_text())
    made["for"][other] = "another"
    (folder / shipped.DESCRIPTION).write_text(json.dumps(made))
    assert shipped.target() is None
    assert _compiles(shipped.offer(numba.njit()(doubled)))


def test_a_processor_that_cannot_run_it(folder):
    made = json.loads((folder / shipped.DESCRIPTION).read_text())
    (folder / shipped.DESCRIPTION).write_text(json.dumps({**made, "features": ["of the next century"]}))
    assert shipped.target() is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"for": 1}'])
def test_a_damaged_description(folder, text):
    (folder / shipped.DESCRIPTION).write_text(text)
    assert shipped.target() is None


@pytest.mark.usefixtures("folder")
def test_a_changed_source_is_compiled(monkeypatch):
    from numba.core.caching import InTreeCacheLocator

    monkeypatch.setattr(InTreeCacheLocator, "get_source_stamp", lambda _: b"changed")
    assert _compiles(shipped.offer(numba.njit()(doubled)))


@pytest.mark.parametrize("ending", ["nbc", "nbi"])
@pytest.mark.parametrize("left", [None, 0, 40])
def test_damaged_or_missing_code_is_compiled(folder, ending, left):
    (code,) = folder.glob(f"*.{ending}")
    if left is None:
        code.unlink()
    else:
        code.write_bytes(code.read_bytes()[:left])
    assert _compiles(shipped.offer(numba.njit()(doubled)))


@pytest.mark.parametrize("cache", ["shipped", "own"])
@pytest.mark.parametrize("ending", ["nbc", "nbi"])
def test_code_of_which_a_byte_is_wrong_is_compiled_again(folder, tmp_path, cache, ending):
    """Of 51 such files 42 ended the process where no digest was looked at."""
    if cache == "own":  # what this machine keeps, without any that came with the package
        (folder / shipped.DESCRIPTION).write_text("{}")
        shipped.target.cache_clear()
        assert _compiles(shipped.offer(numba.njit(cache=True)(doubled)))
        folder = next((tmp_path / "own").glob("**/*.nbc")).parent
    (code,) = folder.glob(f"*.{ending}")
    whole = code.read_bytes()
    assert not _compiles(shipped.offer(numba.njit(cache=cache == "own")(doubled)))
    for number in range(8):
        how, changed = damaged(whole, np.random.default_rng(number))
        code.write_bytes(changed)
        assert _compiles(shipped.offer(numba.njit(cache=cache == "own")(doubled))) is (changed != whole), how
        if cache == "own":  # what was damaged is whole again
            assert not _compiles(shipped.offer(numba.njit(cache=True)(doubled)))
    code.write_bytes(whole)
    code.rename(code.with_name(f"other-{code.name}"))
    assert not shipped.is_whole(str(code.with_name(f"other-{code.name}")))


def test_a_kernel_is_compiled_again_where_another_one_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert _compiles(shipped.offer(numba.njit(cache=True)(doubled)))
    assert not _compiles(shipped.offer(numba.njit(cache=True)(doubled)))
    monkeypatch.setattr(shipped, "sources", lambda: "changed")
    assert _compiles(shipped.offer(numba.njit(cache=True)(doubled)))


def test_what_is_compiled_here_is_kept_where_it_always_was(folder):
    kernel = shipped.offer(numba.njit(cache=True)(doubled))
    assert kernel(3) == 6.0  # a type that was not shipped
    assert len(list(folder.parent.parent.glob("own/**/*.nbc"))) == 1
    assert kernel.stats.cache_path.startswith(str(folder.parent.parent / "own"))


@pytest.mark.usefixtures("folder")
def test_where_numba_compiles_nothing():
    assert shipped.offer(doubled) is doubled
