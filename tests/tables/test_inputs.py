"""Names of files, folders and patterns: what they stand for, here and on a file system, and what is refused of them."""

import os

import pyarrow.fs
import pytest

from calibrant.door.errors import FileError
from calibrant.tables.inputs import _before_the_signs, in_folder, input_files, name_of, on_filesystem, refuse_same_file

pytestmark = pytest.mark.usefixtures("one_database")

ROWS = "y_true,y_prob\n1,0.5\n"


def put(folder, *names, text=ROWS):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)


def refused(call):
    with pytest.raises(FileError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Files of a folder, hidden ones among them, with the folder as the place where names begin."""
    put(tmp_path, "t/a.csv", "t/day=1/b.csv", "t/_SUCCESS", "t/.c.csv", "t/_old/d.csv", "t/_day=1/e.csv", "t/[x].csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("t/a.csv", ["t/a.csv"]),
        ("t", ["t/[x].csv", "t/_day=1/e.csv", "t/a.csv", "t/day=1/b.csv"]),
        ("t/a*", ["t/a.csv"]),
        ("t/[x].csv", ["t/[x].csv"]),
        ("t/d*/?.csv", ["t/day=1/b.csv"]),
    ],
)
@pytest.mark.usefixtures("places")
def test_a_name_stands_for_these_files(path, files):
    assert input_files(path) == files


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("t/z*.csv", "no file matches the pattern 't/z*.csv'"),
        ("t/z.csv", "'t/z.csv' does not exist"),
        ("s3://b/a.csv", "'s3://b/a.csv' is an address; files elsewhere are read through a file system"),
        ("s3://b/*.csv", "is an address"),
        ("\udcff.csv", "the name is not valid UTF-8; rename the file"),
        ("t/_old", None),
        ("none", "'none' is a folder without files to read"),
        ("pipe", "'pipe' is not a plain file"),
        ("empty.csv", "'empty.csv' is empty"),
        ("loop", "'loop/again' is a link to a folder that is read already; name a pattern"),
        ("x" * 300, "cannot be read: File name too long"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(places, path, said):
    (places / "none").mkdir()
    put(places, "none/_SUCCESS", "loop/a.csv")
    put(places, "empty.csv", text="")
    (places / "loop/again").symlink_to(places / "loop")
    os.mkfifo(places / "pipe")
    if said is None:
        assert input_files(path) == ["t/_old/d.csv"]
    else:
        assert said in refused(lambda: input_files(path))


def test_a_link_to_another_folder_is_followed(places):
    put(places, "elsewhere/f.csv")
    (places / "t/more").symlink_to(places / "elsewhere")
    assert "t/more/f.csv" in in_folder("t")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("t/a.csv", "a.csv"),
        ("t", "t"),
        ("t/", "t"),
        ("t/[x].csv", "[x].csv"),
        ("t/*.csv", "t/*.csv"),
        ("t/?.csv", "t/?.csv"),
        ("t/[ab].csv", "t/[ab].csv"),
        ("t/none.csv", "none.csv"),
    ],
)
@pytest.mark.usefixtures("places")
def test_a_pattern_is_told_whole_and_a_file_by_its_name(path, name):
    assert name_of(path) == name


def test_a_file_is_named_once(places):
    (places / "soft.csv").symlink_to("t/a.csv")
    os.link("t/a.csv", "hard.csv")
    refuse_same_file(["t/a.csv", "t/day=1/b.csv"])
    assert "'t/a.csv' is named twice; its rows would be counted twice" in refused(
        lambda: refuse_same_file(["t/a.csv", "t/a.csv"])
    )
    for other in ("soft.csv", "hard.csv"):
        said = refused(lambda other=other: refuse_same_file(["t/day=1/b.csv", "t/a.csv", other]))
        assert f"{other!r} is the same file as 't/a.csv'" in said


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("t/a.csv", ["t/a.csv"]),
        ("t", ["t/[x].csv", "t/_day=1/e.csv", "t/a.csv", "t/day=1/b.csv"]),
        ("t/", ["t/[x].csv", "t/_day=1/e.csv", "t/a.csv", "t/day=1/b.csv"]),
        ("t/d*/*.csv", ["t/day=1/b.csv"]),
        ("t/[x].csv", ["t/[x].csv"]),
        ("t/none.csv", "'t/none.csv' does not exist on the file system"),
        ("t/z*.csv", "no file on the file system matches the pattern 't/z*.csv'"),
        ("none", "'none' is a folder without files to read"),
        ("file://t/a.csv", "name the path within the file system: 't/a.csv'"),
        ("empties", "'empties/a.csv' is empty"),
        ("empties/*.csv", "'empties/a.csv' is empty"),
    ],
)
def test_a_name_on_a_file_system_stands_for_these_files(places, path, found):
    (places / "none").mkdir()
    put(places, "empties/a.csv", text="")
    here = pyarrow.fs.SubTreeFileSystem(str(places), pyarrow.fs.LocalFileSystem())
    if isinstance(found, list):
        assert on_filesystem(here, path) == [(each, len(ROWS)) for each in found]
    else:
        assert found in refused(lambda: on_filesystem(here, path))


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [("a/b/*.csv", "a/b"), ("a/b?/c/d.csv", "a"), ("a/b/[cd]/e/f.csv", "a/b"), ("*.csv", ""), ("a/*/b/*", "a")],
)
def test_only_the_folder_above_a_patterns_signs_is_listed(pattern, folder):
    assert _before_the_signs(pattern) == folder
