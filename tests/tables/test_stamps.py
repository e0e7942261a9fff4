"""A file that becomes another one between its check and the end of its last read gives no number."""

import os

import pytest
from pyarrow.fs import LocalFileSystem

from calibrant import FileError
from calibrant.tables.folders import StampedFiles
from tests.damage import CHANGES, OPENED, n_looks, wrong_if_changed

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.mark.slow
@pytest.mark.parametrize("name", OPENED)
def test_a_file_that_changes_before_any_look_gives_its_numbers_or_none(tmp_path, name):
    assert n_looks(name) >= 3
    for at in range(n_looks(name)):
        change = CHANGES[at % len(CHANGES)]
        assert wrong_if_changed(name, at, change, tmp_path) is None, (at, change)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["rows.csv", "there.rows.csv"])
def test_a_file_that_changes_after_its_check_is_refused(tmp_path, name, change):
    assert wrong_if_changed(name, 1, change, tmp_path) is None


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
    with one.unchanged(), together.part([str(files[0])]).unchanged():
        pass
    with pytest.raises(FileError, match="was changed"), together.part([str(files[1])]).unchanged():
        pass
    with pytest.raises(MemoryError), together.unchanged():
        raise MemoryError


def test_a_fingerprint_is_of_the_file_under_any_name_and_of_no_other(tmp_path):
    one, other, again = (tmp_path / name for name in ("one", "other", "again"))
    one.write_text("x")
    other.write_text("x")
    again.hardlink_to(one)
    for file in (one, other):
        os.utime(file, ns=(10**18, 10**18))
    before = StampedFiles([str(one)]).prints()[str(one)]
    one.chmod(0o600)
    assert StampedFiles([str(one)]).prints()[str(one)] == before
    for filesystem in (None, LocalFileSystem()):
        files = StampedFiles(map(str, (one, other, again)), filesystem)
        prints = files.prints()
        assert prints[str(one)] != prints[str(other)]
        assert filesystem is not None or prints[str(one)] == prints[str(again)]
