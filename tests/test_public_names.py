"""Namespaces: what stands where, that stubs and tables say the same, and that importing them imports no library."""

import importlib
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant
from calibrant.lazily import ROOMS
from calibrant.public_names import MODULE_OF

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "public_names.py"))


@pytest.mark.slow
def test_tables_and_stubs_are_those_that_the_tool_writes():
    assert TOOL["faults"]() == []
    assert set(ROOMS) - {"synthetic"} == set(TOOL["rooms"](TOOL["PACKAGE"]))


def test_the_top_level_stays_small_and_no_name_stands_there_twice():
    assert len(calibrant.TOP) == len(set(calibrant.TOP)) <= 60
    assert calibrant.__all__ == sorted(calibrant.TOP)


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "synthetic"])
def test_a_room_gives_every_public_name_of_its_modules(room):
    namespace = importlib.import_module(f"calibrant.{room}")
    assert namespace.__all__ == sorted(name for name, home in MODULE_OF.items() if home.startswith(f"{room}."))
    for name in namespace.__all__:
        assert getattr(namespace, name).__module__ == f"calibrant.{MODULE_OF[name]}"
    assert set(namespace.__all__) <= set(dir(namespace))


def test_importing_namespaces_imports_no_library():
    code = f"""
import sys
before = set(sys.modules)
import calibrant
for room in {ROOMS}:
    if room != "synthetic":
        getattr(calibrant, room)
dir(calibrant)
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(sorted(new - set(sys.stdlib_module_names)))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "['calibrant']\n"


@pytest.fixture
def package(tmp_path):
    copy = tmp_path / "calibrant"
    shutil.copytree(TOOL["PACKAGE"], copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert TOOL["faults"](copy) == []
    return copy


def rewrite(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.slow
def test_a_name_added_without_running_the_tool_is_told(package):
    rewrite(package / "measures" / "corp.py", "__all__ = [", '__all__ = ["Score", ')
    assert TOOL["faults"](package) == ["Score: in __all__ of measures.corp, which does not define it"]
    (package / "measures" / "corp.py").write_text('__all__ = ["f"]\n\n\ndef f(): ...\n')
    (package / "__init__.py").write_text(
        (package / "__init__.py").read_text().replace('    "corp_decomposition",\n', "")
    )
    assert {fault.partition(":")[0] for fault in TOOL["faults"](package)} == {
        "public_names.py",
        "__init__.pyi",
        "measures/__init__.pyi",
    }


@pytest.mark.slow
def test_names_that_cannot_be_found_are_told(package):
    rewrite(package / "__init__.py", '"Interval"', '"Intervall"')
    assert TOOL["faults"](package) == ["Intervall: chosen for the top level, but in no module's __all__"]
    (package / "measures" / "toy.py").write_text('__all__ = ["Interval"]\n\n\nclass Interval: ...\n')
    assert TOOL["faults"](package) == ["Interval: offered by door.ends and by measures.toy"]
    (package / "measures" / "toy.py").write_text('__all__ = ["toy"]\n\n\ndef toy(): ...\n')
    assert TOOL["faults"](package) == ["toy: its room has a module of that name, which would hide it"]
