"""Modules of a toy house move and merge by a table: all that named them follows, and their code is what it was."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import move
import same_code

FILES = {
    "src/calibrant/__init__.py": '"""A toy."""\n',
    "src/calibrant/lazily.py": """def offer(name):
    def missing(what):
        raise AttributeError(what)

    return [], missing, list
""",
    "src/calibrant/old/__init__.py": '"""What was."""\n',
    "src/calibrant/old/one.py": '''"""First."""

from __future__ import annotations

__all__ = ["first"]

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.old.two import Second

LIMIT = 3  # of rows


def first(second: Second | None = None) -> int:
    """See calibrant.old.two."""
    from calibrant.old.base import BASE

    return LIMIT + BASE + bool(second)
''',
    "src/calibrant/old/two.py": '''"""Second."""

from __future__ import annotations

__all__ = ["Second"]

import math

from calibrant.old import one

SIZE = 2


class Second:
    """As calibrant.old.one.first has it."""

    # what it is
    value = math.floor(2.5)

    def both(self, other: int = SIZE) -> int:
        return one.first(self) + other
''',
    "src/calibrant/old/base.py": '"""Ground."""\n\nSIZE = 2\nBASE = 10\n',
    "src/calibrant/user.py": '''"""A user of all."""

from importlib import import_module

from calibrant.old import base, one
from calibrant.old.one import (
    first,
)
from calibrant.old.two import Second


def all_of_it() -> tuple[object, ...]:
    entry = "a name that the new module has too"
    lazy = import_module("calibrant.old.one").first
    return first(), one.LIMIT, base.BASE, Second().both(), lazy(), entry
''',
    "tests/test_one.py": 'def test_it(monkeypatch):\n    monkeypatch.setattr("calibrant.old.one.LIMIT", 5)\n',
    "docs/api.md": "::: calibrant.old.one\n\nIn `old/one.py` and src/calibrant/old/two.py; calibrant.old.ones stays.\n",
    "CHANGELOG.md": "calibrant.old.one came.\n",
}
TABLE = """
room calibrant.new: What is now.
calibrant.old.one -> calibrant.new.entry  # renamed
calibrant.old.two into calibrant.new.entry
calibrant.old.base -> calibrant.new.base
tests/test_one.py -> tests/new/test_entry.py
"""


@pytest.fixture
def house(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = move.House(tmp_path)
    found.git("init", "-q")
    found.git("add", ".")
    found.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "before")
    return found


def held(house):
    return {name: (house.root / name).read_text() for name in house.git("ls-files").splitlines()}


@pytest.mark.slow
def test_what_moves_is_found_where_it_went_and_runs(house):
    run = [sys.executable, "-c", "from calibrant.user import all_of_it; print(all_of_it())"]
    paths = {"env": {"PYTHONPATH": "src"}, "cwd": house.root, "capture_output": True, "text": True}
    before = subprocess.run(run, **paths).stdout
    move.move(house, move.read(TABLE))
    now = held(house)
    assert sorted(name for name in now if name.startswith("src")) == [
        "src/calibrant/__init__.py",
        "src/calibrant/lazily.py",
        "src/calibrant/new/__init__.py",
        "src/calibrant/new/base.py",
        "src/calibrant/new/entry.py",
        "src/calibrant/user.py",
    ]
    assert subprocess.run(run, **paths).stdout == before != ""
    assert same_code.differences(same_code.of_revision("HEAD", house.root), same_code.of_tree(house.root)) == []
    (left,) = move.leftovers(house, move.read(TABLE))
    assert left.startswith("docs/api.md:3: ")  # the room that calibrant.old.ones would be in is no more
    entry = now["src/calibrant/new/entry.py"]
    assert '__all__ = ["Second", "first"]' in entry
    assert "LIMIT = 3  # of rows" in entry
    assert "    # what it is\n" in entry
    assert "TYPE_CHECKING:" not in entry
    assert "return first(self) + other" in entry
    assert "from calibrant.new import entry as one" in now["src/calibrant/user.py"]
    assert '"calibrant.new.entry.LIMIT"' in now["tests/new/test_entry.py"]
    assert now["docs/api.md"] == (
        "::: calibrant.new.entry\n\nIn `new/entry.py` and src/calibrant/new/entry.py; calibrant.old.ones stays.\n"
    )
    assert now["CHANGELOG.md"] == FILES["CHANGELOG.md"]


@pytest.mark.slow
def test_to_move_again_changes_nothing(house):
    move.move(house, move.read(TABLE))
    before = held(house)
    assert move.move(house, move.read(TABLE)) == []
    assert held(house) == before


@pytest.mark.slow
def test_a_module_goes_into_a_package_of_its_name(house):
    """What is rewritten is not rewritten again, though the new names begin as an old one does."""
    lines = "calibrant.user -> calibrant.user.all\ncalibrant.old.one -> calibrant.user.one\n"
    table = move.read(f"package calibrant.user: Users.\n{lines}")
    move.move(house, table)
    assert "from calibrant.user import one\n" in (house.root / "src/calibrant/user/all.py").read_text()
    assert move.move(house, table) == []


@pytest.mark.slow
def test_two_modules_change_places(house):
    move.move(house, move.read("calibrant.old.one -> calibrant.old.base\ncalibrant.old.base -> calibrant.old.one\n"))
    now = held(house)
    assert "BASE = 10" in now["src/calibrant/old/one.py"]
    assert "from calibrant.old.one import BASE" in now["src/calibrant/old/base.py"]
    assert (
        "from calibrant.old import one as base\nfrom calibrant.old import base as one\n" in now["src/calibrant/user.py"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("calibrant.old.base into calibrant.old.none", "no such module"),
        ("calibrant.old.none -> calibrant.old.more", "neither there nor"),
        ("calibrant.old.one -> calibrant.old.two", "is taken"),
        ("calibrant.old.one -> calibrant.more.one", "say what is in it"),
        ("calibrant.old.one => calibrant.old.more", "line 1 is no move"),
        ("calibrant.old.one -> calibrant.a\ncalibrant.old.one -> calibrant.b", "moved twice"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(house, table, said):
    before = held(house)
    with pytest.raises((ValueError, OSError), match=said):
        move.move(house, move.read(table))
    assert held(house) == before
    assert house.git("status", "--short") == ""


@pytest.mark.slow
def test_one_name_for_two_things_is_refused(house):
    (house.root / "src/calibrant/old/base.py").write_text('"""Ground."""\n\nLIMIT = 4\n')
    with pytest.raises(ValueError, match="both have LIMIT"):
        move.move(house, move.read("calibrant.old.base into calibrant.old.one"))


def test_code_that_changed_is_named():
    before = {"calibrant/a.py": "from x import y\n\nN = 1\n\n\ndef f():\n    return y\n\n\ndef g():\n    return N\n"}
    now = {"calibrant/b.py": "N = 2\n\n\ndef f():\n    from x import y\n    return y\n\n\ndef g():\n    return N + 1\n"}
    assert same_code.differences(before, now) == ["N: 1 gone, 1 new", "g: 1 gone, 1 new"]
