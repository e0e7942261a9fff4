"""A file that becomes another one between its check and the end of its last read gives no number."""

import os
import shutil

import pytest

from calibrant import FileError
from calibrant.scale import stamps
from calibrant.scale.stamps import StampedFiles
from tests.damage import NAMES, half, kept

pytestmark = pytest.mark.usefixtures("one_database")

ROADS = [
    name for name in NAMES if name.startswith(("rows.", "sums.", "there.", "keys.", "log.", "checked.", "sketches."))
]


def replaced(path, data):
    """Another file is put there."""
    (path.parent / "another").write_bytes(data)
    (path.parent / "another").replace(path)


def rewritten(path, data):
    """The file itself is written again."""
    path.write_bytes(data)


def cut(path, data):  # noqa: ARG001
    """Its end is lost."""
    os.truncate(path, path.stat().st_size // 2)


def gone(path, data):  # noqa: ARG001
    """It is removed."""
    path.unlink()


def folder(path, data):  # noqa: ARG001
    """A folder is put there."""
    path.unlink()
    path.mkdir()


CHANGES = (replaced, rewritten, cut, gone, folder)


@pytest.fixture
def looks(monkeypatch):
    """What is done after which look at the states of files, counted from the first; how many there were."""
    plan = {"at": None, "do": None, "n": 0}
    real = {name: getattr(stamps, name) for name in ("_here", "_states_on")}

    def counted(states):
        def look(files):
            found = list(states(files))
            if plan["n"] == plan["at"]:
                plan["do"]()
            plan["n"] += 1
            return found

        return look

    monkeypatch.setattr(stamps, "_here", counted(real["_here"]))
    monkeypatch.setattr(stamps, "_states_on", lambda filesystem: counted(real["_states_on"](filesystem)))
    return plan


def outcome(name, path):
    try:
        return kept()[name].read(path)
    except FileError as problem:
        return problem


@pytest.mark.slow
@pytest.mark.parametrize("name", ROADS)
def test_a_file_that_changes_before_any_look_gives_its_numbers_or_none(tmp_path, looks, name):
    path = tmp_path / name
    path.write_bytes(kept()[name].data)
    other = half(name)
    looks["n"] = 0
    wanted = outcome(name, path)
    n_looks, refused = looks["n"], 0
    assert n_looks >= 3
    for at in range(n_looks):
        change = CHANGES[at % len(CHANGES)]
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(kept()[name].data)
        looks |= {"at": at, "n": 0, "do": lambda change=change: change(path, other)}
        found = outcome(name, path)
        if isinstance(found, FileError):
            refused += 1
            assert repr(str(path)) in str(found), (at, change)
            assert "while it was read" in str(found) or at == 0, (at, change, found)
        else:
            assert found == wanted, (at, change)
            assert at == n_looks - 1, "a change before the last look is seen"
    assert refused >= n_looks - 1


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["rows.csv", "there.rows.csv"])
def test_a_file_that_changes_after_its_check_is_refused(tmp_path, looks, name, change):
    path = tmp_path / name
    path.write_bytes(kept()[name].data)
    other = half(name)
    looks |= {"at": 1, "n": 0, "do": lambda: change(path, other)}
    found = outcome(name, path)
    assert isinstance(found, FileError)
    assert repr(str(path)) in str(found)
    assert "while it was read" in str(found)


def test_one_of_several_files_that_changes_is_named(tmp_path):
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_text("x")
    one, other = (StampedFiles([str(file)]) for file in files)
    together = StampedFiles.together([one, other])
    with together.unchanged():
        pass
    files[1].write_text("y")
    with pytest.raises(FileError, match=r"b' was changed while it was read; run this again"), together.unchanged():
        pass
    with pytest.raises(FileError, match="was changed"), together.unchanged():
        raise KeyError("what a reader makes of it")
    with one.unchanged():
        pass
    with pytest.raises(MemoryError), together.unchanged():
        raise MemoryError
