"""Which columns are those of classes: exact names before lists, lists before patterns."""

import pytest

from calibrant import InputError
from calibrant.door.errors import FileError
from calibrant.tables.formats.registry import format_of_all
from calibrant.tables.table import _asked, numbers_of


def test_a_column_of_that_very_name_is_one_prediction():
    held = ["p_0", "p_1", "p_2", "a,b", "p*", "y"]
    assert _asked("a,b", held) is None
    assert _asked("p*", held) is None
    assert _asked("p_0", held) is None
    assert _asked("missing", held) is None
    assert _asked("p_[0-9]", held) == ["p_0", "p_1", "p_2"]
    assert _asked("p_2, p_0", held) == ["p_2", "p_0"]
    assert _asked(None, [*held, "y_prob"]) is None
    with pytest.raises(InputError, match="lists 'p_0' twice"):
        _asked("p_0,p_0", held)
    for pattern, fits in (("q*", 0), ("p_0?", 0), ("[y]", 1)):
        with pytest.raises(InputError, match=f"fits {fits} columns"):
            _asked(pattern, held)
    assert numbers_of(["p_2", "p_0"]) == (2, 0)
    assert numbers_of(["p_2", "q_2"]) == (0, 1)
    assert numbers_of(["a", "b"]) == (0, 1)


def test_files_of_a_folder_are_of_one_kind_and_what_to_do_else_is_said():
    assert format_of_all(["f/a.csv", "f/b.csv"], "f") == format_of_all(["f/a.csv"], "f/a.csv")
    with pytest.raises(FileError, match=r"holds files of several kinds: 'f/a.csv' is .* and 'f/b.parquet' is") as told:
        format_of_all(["f/a.csv", "f/b.parquet"], "f")
    assert "f/**/*.csv" in told.value.allowed
    with pytest.raises(FileError) as alone:
        format_of_all(["a.docx"], "a.docx")
    with pytest.raises(FileError) as among:
        format_of_all(["f/a.csv", "f/a.docx"], "f")
    assert "**" not in (alone.value.allowed or "")
    assert "f/**/*" in among.value.allowed
