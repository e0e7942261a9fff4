"""Which columns are those of classes: exact names before lists, lists before patterns."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from calibrant import CalibrationSketch, InputError
from calibrant.door.errors import FileError
from calibrant.tables.columns import asked_columns, choose_columns, follow_up_columns, listed, perhaps_groups
from calibrant.tables.entry import OpenedFile
from calibrant.tables.formats.registry import format_of_all, looks_like
from calibrant.tables.frames import OpenedFrame
from calibrant.tables.sketches import KeptSketches
from calibrant.tables.table import Columns, RowsWithFeatures, Values, _asked, numbers_of, take_as_distinct


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
    with pytest.raises(FileError) as several:
        format_of_all(["f/a.csv", "f/b.parquet"], "f/*")
    with pytest.raises(FileError) as unknown:
        format_of_all(["f/a.csv", "f/a.docx"], "f/[a]*")
    assert several.value.allowed == unknown.value.allowed == "name files of one kind"


def test_a_file_of_another_kind_than_its_ending_says_is_told(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"PAR1 and more")
    (tmp_path / "b.csv").write_bytes(b"ARROW1 and more")
    (tmp_path / "c.csv").write_bytes(b"y,p")
    said = [looks_like(str(tmp_path / f"{name}.csv"), "csv") for name in "abc"]
    assert said == [*(f". By its content it is {name}: give it such an ending" for name in ("parquet", "arrow")), ""]
    assert looks_like(str(tmp_path / "a.csv"), "parquet") == ""


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (["y_true;y_prob"], ". That is one column: check that every line has as many fields as the first"),
        (["a\tb"], ". That is one column: check that every line has as many fields as the first"),
        (
            ["0", "0.5"],
            ". The first line is taken for the names, and here it looks like data: add a line of names above",
        ),
        (["a", "0.5"], ". The first line is taken for the names"),
        (["0", "1"], ". The first line is taken for the names"),
        (["a", "1"], ""),
        (["a", "v1.5"], ""),
        (["ab"], ""),
        (["a;b", "c"], ""),
    ],
)
def test_columns_that_look_as_if_a_file_were_read_wrongly_say_so(columns, hint):
    with pytest.raises(InputError) as refused:
        choose_columns({"y_true": None, "y_prob": None}, columns, {})
    start = f"cannot be guessed; name one of the columns: {listed(columns)}"
    assert refused.value.argument == "y_true"
    assert refused.value.problem.startswith(start + hint)
    assert bool(hint) or refused.value.problem == start


@pytest.mark.parametrize(
    ("columns", "ways"), [(["days", "died"], "time='days', event='died'"), (["days", "ward"], None), (["died"], None)]
)
def test_rows_that_were_followed_are_told_how_to_be_named(columns, ways):
    with pytest.raises(InputError) as refused:
        choose_columns({"y_true": None}, columns, {})
    assert (refused.value.allowed is None) == (ways is None)
    assert ways is None or ways in refused.value.allowed


def test_follow_up_columns_are_those_of_these_names():
    assert follow_up_columns(["Event", "TIME", "x"]) == ("TIME", "Event")
    assert follow_up_columns(["followup", "y"]) is None
    assert follow_up_columns(["followup", "y"], "y") == ("followup", "y")
    assert follow_up_columns(["time", "y"], "y") is None  # which may be that of day


def test_columns_are_asked_for_once_each():
    columns = {"y_true": "a", "y_prob": "b", "sample_weight": None}
    assert asked_columns("a", "b", None, False) == columns
    assert asked_columns("a", "b", None, True) == {"y_true": "a", "y_prob": "b"}
    with pytest.raises(InputError, match="unweighted: leaves weights out, and column 'w' is named as weights"):
        asked_columns("a", "b", "w", True)
    with pytest.raises(InputError, match="y_prob: 'a' is given for y_true as well"):
        choose_columns({"y_true": "a", "y_prob": "a"}, ["a"], {})
    assert choose_columns({**columns}, ["a", "b"], {}) == ({"y_true": "a", "y_prob": "b"}, ())
    with pytest.raises(InputError, match="column 'wt' may hold weights; leave"):
        choose_columns({**columns}, ["a", "b", "wt"], {})
    with pytest.raises(InputError, match="column 'wt' may hold weights as well as 'sample_weight'"):
        choose_columns({**columns}, ["a", "b", "wt", "sample_weight"], {})
    assert choose_columns({**columns}, ["a", "b", "wt"], {}, ["wt"])[0] == {"y_true": "a", "y_prob": "b"}


@pytest.mark.parametrize(
    ("columns", "more", "found"),
    [
        ({"patient_id": [1, 1, 2]}, {}, "patient_id"),
        ({"patient_id": [1, 2, 3]}, {}, None),
        ({"patient_id": [1, 2, 3]}, {"grows": True}, "patient_id"),
        ({"patient_id": [1, 1, 1]}, {}, None),
        ({"patient_id": [1, None, 2]}, {}, None),
        ({"ward": [1, 1, 2], "patient_id": [1, 1, 2]}, {}, "patient_id"),
        ({"ward": [1, 1, 2], "patient_id": [1, 2, 3]}, {}, "ward"),
        ({"shop_id": [1, 1, 2]}, {}, "shop_id"),
        ({"shop_id": [1, 1, 2]}, {"grows": True}, "shop_id"),
        ({"shop_id": [1, 1, 2]}, {"used": ["shop_id"]}, None),
        ({"model_id": [1, 1, 2]}, {}, None),
        ({"shop": [1, 1, 2]}, {}, None),
        ({"patient_id": [[1], [1], [2]]}, {}, "patient_id"),  # what it holds is not known
        ({"shop_id": [[1], [1], [2]]}, {}, None),
        ({"shop_id": [[1], [1], [2]], "item_id": [1, 1, 2]}, {}, "item_id"),
    ],
)
def test_a_column_whose_values_repeat_may_say_that_rows_belong_together(columns, more, found):
    table = OpenedFrame(pa.table(columns))
    assert table.perhaps_groups(more.pop("used", []), **more) == found


def test_where_rows_are_summed_a_usual_name_is_enough(monkeypatch):
    monkeypatch.setattr(OpenedFrame, "summed", True)
    assert OpenedFrame(pa.table({"patient_id": [1, 2]})).perhaps_groups([]) == "patient_id"
    assert OpenedFrame(pa.table({"shop_id": [1, 1]})).perhaps_groups([]) is None
    assert perhaps_groups(["Ward", "user", "shop_id", "model_id"], ["user"]) == (["Ward"], ["shop_id"])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ([1, 1, 2, 2, None], Values(2, 4, 2, 5)),
        ([1, 1, 2], Values(2, 3, 0, 3)),
        (["a", "b"], Values(2, 2, 1, 2)),
        (pa.array([None, None], pa.int64()), Values(0, 0, 0, 2)),
    ],
)
def test_values_of_a_column_are_counted(column, values):
    assert OpenedFrame(pa.table({"k": column})).values_of("k") == values


def test_the_most_that_a_row_weighs_is_what_a_horizon_lets_it_be():
    columns = Columns(None, None, None, {}, ())
    followed = SimpleNamespace(least_followed=0.25)
    assert columns.most_weight(3.0) == 3.0
    assert Columns(None, None, None, {}, (), followed=followed).most_weight(None) == 4.0
    assert Columns(None, None, None, {}, (), followed=followed, groups=np.zeros(1, int)).most_weight(None) is None


def test_rows_with_features_are_those_that_are_kept():
    held = RowsWithFeatures({"y": [1.0, 2.0, 3.0]}, {"k": pa.chunked_array([["a", "b", "c"]])}, np.array([0, 1, 1]), 2)
    kept = held.kept(np.array([True, False, True]))
    assert (kept.arrays["y"].tolist(), kept.keys["k"].to_pylist(), kept.group.tolist()) == (
        [1.0, 3.0],
        ["a", "c"],
        [0, 1],
    )
    assert kept.n_excluded == 3
    bare = RowsWithFeatures(held.arrays, held.keys).kept(np.array([True, False, False]))
    assert (bare.group, bare.n_excluded) == (None, 2)


def test_what_is_wrong_with_columns_of_classes_is_told_of_the_predictions(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y_true,p0,p1,w,g\n0,0.5,x,1,a\n")
    for weight, argument in ((None, "y_prob"), ("g", "sample_weight")):
        with pytest.raises(FileError) as refused:
            OpenedFile(path).read_classes(
                ["p0", "p1"] if weight is None else ["p0", "w"], sample_weight=weight, unweighted=weight is None
            )
        assert refused.value.argument == argument
        assert (refused.value.row, bool(refused.value.allowed)) == (0, True)


def test_rows_without_a_group_are_refused_or_left_out():
    base = {"y_true": [0, 1, 1, 0], "y_prob": [0.1, 0.2, 0.3, 0.4]}
    table = OpenedFrame(pa.table({**base, "g": ["a", None, "b", "a"], "none": pa.nulls(4, pa.string())}))
    with pytest.raises(InputError, match="groups: column 'g': row 1 has no value") as refused:
        table.read(groups="g")
    assert refused.value.row == 1
    read = table.read(groups="g", exclude_bad=True)
    assert (read.groups.tolist(), read.n_excluded, np.asarray(read.y_prob).tolist()) == ([0, 1, 0], 1, [0.1, 0.3, 0.4])
    with pytest.raises(InputError, match="groups: column 'none': row 0 has no value"):
        table.read(groups="none", exclude_bad=True)
    bad = OpenedFrame(pa.table({**base, "y_prob": [0.1, 7.0, 0.3, 0.4], "g": ["a", None, "b", "a"]}))
    assert bad.read(groups="g", exclude_bad=True).n_excluded == 1
    assert table.read(exclude_bad=True).n_excluded == 0
    assert table.read().groups is None


def test_rows_are_said_to_be_distinct_where_something_compares_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y_true,y_prob\n0,0.5\n")
    file, sketch = OpenedFile(path), KeptSketches.of(CalibrationSketch(64).update([1], [0.5]))
    take_as_distinct([file, sketch], "table")
    assert (file.distinct, sketch.distinct) == (True, False)
    with pytest.raises(InputError, match="distinct: has no effect: table is one source, whose rows are not compared"):
        take_as_distinct([sketch], "table")
    with pytest.raises(InputError, match="distinct: has no effect: each table is one source"):
        take_as_distinct([sketch, sketch], "table")
