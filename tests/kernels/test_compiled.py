"""Kernels where nothing can be written: compiled without a cache, or with one that is this user's alone."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import calibrant
from calibrant.kernels import compiled

CALL = """
import importlib, pkgutil
import numpy as np
from calibrant import kernels
for each in pkgutil.iter_modules(kernels.__path__):
    importlib.import_module(f"calibrant.kernels.{each.name}")
from calibrant.kernels import sums
print(sums.compensated_sum(np.array([0.5, 1.5])), sums.compensated_sum._cache.cache_path)
"""


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of the package that has no place for a cache."""
    folder = tmp_path_factory.mktemp("installed")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(calibrant.__file__).parent, folder / "calibrant", ignore=ignored)
    (folder / "calibrant" / "kernels" / "__pycache__").touch()
    return folder


def call(read_only, temporary):
    given = {**os.environ, "PYTHONPATH": str(read_only), "HOME": os.devnull, "TMPDIR": str(temporary)}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        given.pop(name, None)
    done = subprocess.run([sys.executable, "-c", CALL], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="users and homes as on POSIX")
def test_a_private_folder_keeps_the_cache_of_a_read_only_install(read_only, tmp_path):
    found, path = call(read_only, tmp_path)
    assert found == "2.0"
    private = tmp_path / f"calibrant-{os.geteuid()}"
    assert Path(path).parent == private
    assert private.stat().st_mode & 0o777 == 0o700
    assert list(Path(path).glob("sums.compensated_sum*.nbc"))


@pytest.mark.skipif(os.name != "posix", reason="users and homes as on POSIX")
@pytest.mark.parametrize("spoilt", ["others may write", "a link", "a file", "others may replace it"])
def test_nothing_is_loaded_from_a_folder_that_others_could_write(tmp_path, monkeypatch, spoilt):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    private = tmp_path / f"calibrant-{os.geteuid()}"
    assert compiled._private_folder() == str(private)
    if spoilt == "others may write":
        private.chmod(0o770)
    elif spoilt == "others may replace it":
        tmp_path.chmod(0o777)
    else:
        private.rmdir()
        if spoilt == "a link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            private.symlink_to(tmp_path / "elsewhere")
        else:
            private.touch()
    assert compiled._private_folder() is None


@pytest.mark.skipif(os.name != "posix", reason="users and homes as on POSIX")
def test_without_any_folder_it_compiles_without_a_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_private_folder", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    (tmp_path / "module.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "__pycache__").touch()
    scope = {"__name__": "module"}
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path / "nowhere")
    exec(compile((tmp_path / "module.py").read_text(), str(tmp_path / "module.py"), "exec"), scope)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    kernel = compiled.njit(cache=True)(scope["twice"])
    assert kernel(2) == 4
    assert type(kernel._cache).__name__ == "NullCache"


def test_no_folder_for_temporary_files_is_no_place_for_a_cache(monkeypatch):
    def nowhere():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    assert compiled._private_folder() is None


@pytest.mark.slow
@pytest.mark.parametrize("call", ["os.makedirs", "tempfile.TemporaryFile", "os.replace", "builtins.open"])
def test_a_kernel_is_called_where_the_folder_of_its_cache_is_full(tmp_path, monkeypatch, call):
    """What cannot be kept is compiled again by the next process, and no failure of what was asked for."""

    def refuse(*given, **_options):
        if call != "builtins.open" or "w" in str(given[1:]):
            refused.append(call)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(*given, **_options)

    refused, opened = [], open
    (tmp_path / "module.py").write_text("def twice(x):\n    return 2 * x\n")
    scope = {"__name__": "module"}
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path / "nowhere")
    exec(compile((tmp_path / "module.py").read_text(), str(tmp_path / "module.py"), "exec"), scope)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    kernel = compiled.njit(cache=True)(scope["twice"])
    monkeypatch.setattr(call, refuse)
    assert kernel(2) == 4
    assert refused


def test_only_an_error_about_places_is_met_by_another_place(monkeypatch):
    def fails(cache=True, **_):
        if cache:
            raise RuntimeError("numba's own")

    monkeypatch.setattr(compiled, "_numba", lambda: SimpleNamespace(njit=fails, config=SimpleNamespace(CACHE_DIR="")))
    monkeypatch.setattr(compiled, "_private_folder", lambda: None)
    with pytest.raises(RuntimeError, match="numba's own"):
        compiled._dispatched(lambda: None, {})


def test_arguments_of_a_type_without_a_name_go_to_numba_and_nothing_of_them_is_kept(monkeypatch):
    monkeypatch.setattr(compiled, "load", lambda *_: pytest.fail("code of another type may be loaded"))
    kernel = compiled.Kernel(lambda x: x, {})
    kernel._dispatcher = lambda x: ("numba", x)
    assert kernel(2**70) == ("numba", 2**70)
    assert kernel._ways == {}
