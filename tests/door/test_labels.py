"""Labels of two classes: which is the event, by every kind of label; and labels that cannot be told."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import InputError, audit, audit_table, smooth_calibration_error
from calibrant.door.classes import multiclass_sample
from calibrant.door.labels import label_column, read_classes

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
TABLE = np.column_stack([1 - P, P])
NAMES = np.array(["no", "yes"])


def found(y_true, y_prob, **options):
    return audit(y_true, y_prob, n_resamples=0, random_state=0, **options)


@cache
def same():
    return found(Y, P)


@pytest.mark.parametrize(
    ("labels", "table", "pos_label", "said"),
    [
        (Y, TABLE, None, "1"),
        (Y, TABLE.tolist(), None, "1"),
        (Y.astype(bool), TABLE, None, "1"),
        (np.eye(2)[Y], TABLE, None, "1"),
        (pd.get_dummies(NAMES[Y]), pd.DataFrame(TABLE, columns=NAMES), None, "1"),
        (NAMES[Y], TABLE, None, "yes"),
        (NAMES[Y].tolist(), TABLE, None, "yes"),
        (NAMES[Y].astype(object), TABLE, "yes", "yes"),
        (pd.Series(NAMES[Y], dtype="category"), TABLE, None, "yes"),
        (pd.Series(NAMES[Y], dtype="string"), TABLE, np.str_("yes"), "yes"),
        (pl.Series(NAMES[Y]), pl.DataFrame(TABLE, schema=["no", "yes"]), None, "yes"),
        (NAMES[Y], pd.DataFrame(TABLE[:, ::-1], columns=["yes", "no"]), None, "yes"),
        (Y, pd.DataFrame(TABLE[:, ::-1], columns=[1, 0]), None, "1"),
        (Y, pd.DataFrame(TABLE[:, ::-1], columns=["1", "0"]), None, "1"),
        (Y, pd.DataFrame(TABLE, columns=["p0", "p1"]), None, "1"),
        (2 * Y - 1, TABLE, 1, "1"),
        (Y + 1, TABLE, 2, "2"),
        (1 - Y, TABLE[:, ::-1], 0, "0"),
        (np.array(["a", "b"])[1 - Y], TABLE[:, ::-1], "a", "a"),
        (pd.Series(Y, dtype="Int64"), TABLE, None, "1"),
        # one column
        (NAMES[Y], P, "yes", "yes"),
        (2 * Y - 1, P, 1, "1"),
        (1 - Y, P, 0, "0"),
        (Y.astype(bool), P, True, "True"),
    ],
)
def test_the_positive_class_is_audited_and_named(labels, table, pos_label, said):
    done = found(labels, table, pos_label=pos_label)
    assert (done.smooth_lower, done.advice, done.base_rate) == (same().smooth_lower, same().advice, same().base_rate)
    assert done.classes is None
    assert f"The positive class is {said}: its probability was audited." in " ".join(done.sentences)
    assert str(done.to_dict()["pos_label"]) == said


def test_the_top_label_of_two_columns_is_still_to_be_had():
    top = multiclass_sample(Y, TABLE).top_label()
    expected = smooth_calibration_error((P > 0.5) == Y, np.maximum(P, TABLE[:, 0]))
    assert smooth_calibration_error(top.y_true, top.y_prob) == expected
    assert multiclass_sample(Y, TABLE).event().y_prob.tolist() == P.tolist()


NAN = float("nan")


@pytest.mark.parametrize(
    ("labels", "table", "pos_label", "message", "row"),
    [
        (NAMES[[0, 1]], [0.2, 0.9], None, r"y_true: holds text \(row 0, no\).*pos_label", 0),
        (["no", "yes"], [0.2, 0.9], None, "y_true: holds text .*pos_label", 0),
        ([-1, 1], [0.2, 0.9], None, r"y_true: row 0 is -1.*pass \(y_true \+ 1\) / 2", 0),
        (
            [0, 1, 2],
            [0.2, 0.9, 0.5],
            None,
            "y_true: row 2 is 2.*the rates, count / trials. Of labels of classes it takes 1 where",
            2,
        ),
        ([1, 0.5], [0.2, 0.9], 1, "y_true: row 1 is 0.5, an event rate and no label; leave pos_label out", 1),
        ([0.5, 0.5], [0.2, 0.9], 1, "y_true: row 0 is 0.5, an event rate", 0),
        ([0, 1, 2], [0.2, 0.9, 0.5], 1, "pos_label: is for two labels, and y_true holds 3", None),
        (["a", "b", "c"], [0.2, 0.9, 0.5], "a", "pos_label: is for two labels, and y_true holds 3", None),
        (["a", "b"], [0.2, 0.9], "c", "pos_label: 'c' is none of the labels 'a', 'b'$", None),
        (["a", "a"], [0.2, 0.9], 1, "pos_label: 1 is none of the labels 'a'$", None),
        (["bad", "good"], [[0.5, 0.5]] * 2, "Bad", "pos_label: 'Bad' is none of the labels 'bad', 'good'$", None),
        (["a", "b", "c"], [[0.5, 0.5]] * 3, "d", "y_true: holds 3 different labels but y_prob has 2", None),
        ([0, 1], np.array([["0.5", "0.5"]] * 2), None, "y_prob: holds text; numbers are needed", None),
        (["a", None], [0.2, 0.9], "a", "y_true: row 1 is None", 1),
        (["a", NAN], [0.2, 0.9], "a", "y_true: row 1 is nan", 1),
        ([-1, 1], [[0.5, 0.5]] * 2, None, "y_true: row 0 is -1, which is no class.*need pos_label", 0),
        ([1, 2], [[0.5, 0.5]] * 2, None, "y_true: row 1 is 2, which is no class.*need pos_label", 1),
        ([0, 1, 2], [[0.5, 0.5]] * 3, None, "y_true: row 2 is 2, which is no class; the classes are 0, 1$", 2),
        ([3, 1, 2], [[0.5, 0.5]] * 3, 1, "y_true: holds 3 different labels but y_prob has 2 columns", None),
        (["a", "b", "c"], [[0.5, 0.5]] * 3, None, "y_true: holds 3 different labels but y_prob has 2", None),
        (["a", "b"], [[0.5, 0.5]] * 2, "c", "pos_label: 'c' is none of the labels 'a', 'b'$", None),
        (["a", "b"], [[0.5, 0.5]] * 2, 1, "pos_label: 1 is none of the labels 'a', 'b'$", None),
        (["a", 1], [[0.5, 0.5]] * 2, None, "y_true: holds labels of several types", None),
        (["a", NAN], [[0.5, 0.5]] * 2, None, "y_true: row 1 is nan", 1),
        (["a", "a"], [[0.5, 0.5]] * 2, None, "y_true: holds 1 different labels.*pass pos_label", None),
        (["a", "a"], [[0.5, 0.5]] * 2, "a", "y_true: holds 1 different labels.*all names as classes", None),
        ([0, 1], [[0.5, 0.5]] * 2, 2, "pos_label: 2 is none of the labels 0, 1$", None),
        ([0, 1], [[0.5, 0.5]] * 2, [1], "pos_label: is .1.; one label is needed", None),
        ([0, 1], [[0.5, 0.25, 0.25]] * 2, 1, "pos_label: says which of two classes.*3 columns", None),
        (np.ma.masked_array([0, 1], [False, True]), [[0.5, 0.5]] * 2, None, "y_true: row 1 is masked", 1),
        ([0, 1], np.ma.masked_array([[0.5, 0.5]] * 2, [[0, 0], [0, 1]]), None, "y_prob: row 1 has masked", 1),
        ([0, 1], np.array([["0.5", 0.5]] * 2, object), None, "y_prob: holds object values", None),
        (
            pd.DataFrame({"b": [1, 0], "a": [0, 1]}),
            pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]}),
            None,
            "y_true: has the columns of y_prob in another order",
            None,
        ),
    ],
)
def test_what_cannot_be_told_is_one_clear_error(labels, table, pos_label, message, row):
    with pytest.raises(InputError, match=message) as caught:
        found(labels, table, pos_label=pos_label)
    assert caught.value.row == row


def test_a_fold_of_one_label_is_read_as_that_label():
    assert found(["no"] * 4, [0.1, 0.2, 0.3, 0.4], pos_label="yes").base_rate == 0.0
    assert found(["no"] * 4, [[0.9, 0.1]] * 4, pos_label="yes").base_rate == 0.0


@pytest.mark.parametrize(
    ("classes", "message"),
    [("ab", "classes: is 'ab'"), ([None, "a"], "classes: holds a missing name"), ([["a"], ["b"]], "classes: is ")],
)
def test_names_of_columns(classes, message):
    with pytest.raises(InputError, match=message):
        multiclass_sample([0, 1], [[0.5, 0.5]] * 2, classes=classes)
    assert multiclass_sample([1, "a"], [[0.5, 0.5]] * 2, classes=["a", 1]).y_true.tolist() == [1, 0]


def test_a_measure_says_which_column_to_pass():
    with pytest.raises(InputError, match=r"y_prob: .*of two classes pass the column of the positive one, y_prob\[:, 1"):
        smooth_calibration_error(Y, TABLE)
    with pytest.raises(InputError, match=r"y_prob: .*of 3 classes pass one, y_true == label.*top label"):
        smooth_calibration_error(Y, np.full((N, 3), 1 / 3))
    with pytest.raises(InputError, match=r"y_prob: .*its one column, y_prob\[:, 0\]"):
        smooth_calibration_error(Y, TABLE[:, :1])
    with pytest.raises(InputError, match=r"y_true: .*one-hot"):
        smooth_calibration_error(np.eye(3)[Y], P)


@pytest.mark.parametrize("argument", ["title", "pos_label", "classes"])
def test_text_that_no_file_can_hold_is_refused(argument):
    """A page and its JSON are UTF-8: they could not be written."""
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.6, 0.3]})
    table = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]
    with pytest.raises(InputError, match="UTF-8 can hold") as caught:
        {
            "title": lambda: audit_table(frame, y_true="y", y_prob="p", title="\udcff"),
            "pos_label": lambda: audit(["a", "\udcff", "a"], frame["p"], pos_label="\udcff"),
            "classes": lambda: audit(["a", "\udcff", "c"], table),
        }[argument]()
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("rows", "row"), [([[1, 1], [1, 0]], 0), ([[1, 0], [0, 0]], 1), ([[1, 0], [0.5, 0.5]], 1), ([[2, -1], [1, 0]], 0)]
)
def test_one_hot_rows_have_a_single_1(rows, row):
    with pytest.raises(InputError, match=f"y_true: row {row} is not one-hot; it needs a single 1, and 0 elsewhere"):
        multiclass_sample(np.array(rows), [[0.5, 0.5]] * 2)
    assert multiclass_sample(np.eye(2), [[0.5, 0.5]] * 2).y_true.tolist() == [0, 1]


def test_objects_that_are_numbers_are_labels_by_their_values():
    assert label_column(np.array([2, 1.0, True], object)).dtype == np.float64
    assert label_column(np.array([2, 1], object)).dtype.kind == "i"
    assert label_column(np.array(["2", 1], object)).tolist() == ["2", 1]
    assert multiclass_sample(np.array([0, 1.0], object), [[0.5, 0.5]] * 2).y_true.tolist() == [0, 1]
    for values, row in (([1.0, None], 1), ([np.nan, 1.0], 0)):
        with pytest.raises(InputError, match=f"y_true: row {row} is .*; every row needs a label"):
            label_column(np.array(values, object if None in values else float))
    with pytest.raises(InputError, match=r"y_true: has shape \(1, 2\); one label per row, or one-hot rows, are needed"):
        label_column(np.zeros((1, 2)))
    assert label_column(np.zeros((2, 1))).shape == (2,)


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ("ab", "is 'ab'; a sequence of 2 names is needed"),
        ([["a"], ["b"]], "a sequence of 2 names is needed"),
        (["a"], "has 1 names but y_prob has 2 columns; they must match"),
        (["a", None], "holds a missing name; every column needs its own"),
        (["a", "a"], "holds a name twice; every column needs its own"),
    ],
)
def test_each_column_has_a_name_of_its_own(classes, said):
    with pytest.raises(InputError, match=f"classes: .*{said}"):
        read_classes(classes, 2)
    assert read_classes(None, 2) is None
    assert read_classes(np.array(["a", "b"]), 2) == ("a", "b")
