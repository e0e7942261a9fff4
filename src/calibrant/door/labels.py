"""Labels of classes as they come: names, numbers, truth values or one-hot rows, and which of two is the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import check_letters
from calibrant.door.columns import FloatArray, IntArray, is_masked
from calibrant.door.errors import InputError

Labels = npt.NDArray[Any]
Classes = tuple[Any, ...]


def is_outcome(values: npt.NDArray[Any], outcome: FloatArray) -> bool:
    """Whether a column of two values tells the events from the rest: the outcome itself, or turned around."""
    kinds, place = np.unique(values, return_inverse=True)
    if kinds.size != 2 or outcome.min() == outcome.max():
        return False
    return bool((place == outcome).all() or (place == 1 - outcome).all())


def event_outcomes(column: Any, pos_label: Any) -> Any:
    """Outcomes for one column of probabilities: as they are without `pos_label`, else 1.0 where that label stands.

    Raises InputError if `pos_label` is given and there are more than two labels, a row has none, or `pos_label` is
    neither of two.
    """
    if pos_label is None:
        return column
    label = _one_label(pos_label)
    values = label_column(as_labels(column))
    labels = distinct(values)
    check_two_labels(label, labels, f"{len(labels):,}")
    rate = next((each for each in labels if isinstance(each, float) and 0.0 < each < 1.0), None)
    if rate is not None:
        row = int(np.argmax(values == rate))
        raise InputError("y_true", f"row {row} is {rate!r}, an event rate and no label; leave pos_label out", row=row)
    return (values == label).astype(np.float64) if label in labels else np.zeros(values.size)


def check_two_labels(label: Any, kinds: set[Any], how_many: str) -> None:
    """Raise unless a label is one of two that were seen, or the other one of one kind."""
    if len(kinds) > 2:
        problem = f"is for two labels, and y_true holds {how_many}. Pass y_true == {label!r} instead"
        raise InputError("pos_label", problem)
    other_kind = any(isinstance(each, str) != isinstance(label, str) for each in kinds)
    if label not in kinds and (len(kinds) == 2 or other_kind):
        raise _no_such_label(label, kinds)


def read_labels(
    column: Any, k: int, class_order: Classes | None, class_names: Classes | None, pos_label: Any = None
) -> tuple[IntArray, Classes]:
    """Labels as column numbers, and the name of each column."""
    label = None if pos_label is None else _one_label(pos_label)
    if label is not None and k != 2:
        raise InputError("pos_label", f"says which of two classes is the event, but y_prob has {k} columns")
    values = as_labels(column)
    if values.ndim == 2 and values.shape[1] > 1:
        number, order = _from_one_hot(values, k, column_names(column), class_names), class_order or tuple(range(k))
    else:
        values = label_column(values)
        order = class_order if class_order is not None else _classes_of(values, k, class_names, label)
        number = _numbers(values, order, class_order is not None)
    if label is not None and label not in order:
        raise InputError("pos_label", f"is {label!r:.40}, which is no class; the classes are {_listed(order)}")
    for each in order:
        check_letters(each, "classes")
    return number, order


def read_classes(classes: Sequence[Any] | None, k: int) -> Classes | None:
    """Names of the columns, as many as there are columns and each once."""
    if classes is None:
        return None
    if isinstance(classes, str) or np.ndim(classes) != 1:
        raise InputError("classes", f"is {classes!r:.40}; a sequence of {k} names is needed")
    names = tuple(_plain(each) for each in classes)
    if len(names) != k:
        raise InputError("classes", f"has {len(names)} names but y_prob has {k} columns; they must match")
    if any(_is_missing(each) for each in names):
        raise InputError("classes", "holds a missing name; every column needs its own")
    if len(set(names)) != k:
        raise InputError("classes", "holds a name twice; every column needs its own")
    return names


def column_names(table: Any) -> Classes | None:
    """Names of the columns of a data frame; None for anything else."""
    columns = getattr(table, "column_names", None)  # of a pyarrow table, whose columns are data
    columns = getattr(table, "columns", None) if columns is None else columns
    if columns is None or callable(columns):
        return None
    return tuple(_plain(each) for each in columns)


def as_labels(column: Any) -> Labels:
    """Labels as an array that keeps every label what it is: numpy would make text of numbers that stand beside text."""
    if is_masked(column):
        if np.ma.getmaskarray(column).any():
            row = int(np.argmax(np.ma.getmaskarray(column).reshape(len(column), -1).any(axis=1)))
            raise InputError("y_true", f"row {row} is masked; masked rows must be removed first", row=row)
        column = column.data
    try:
        array = np.asarray(column.detach().cpu() if hasattr(column, "detach") else column)
    except ValueError:
        raise InputError("y_true", "is not a column of labels (its rows differ in length)") from None
    if isinstance(column, list | tuple) and array.ndim == 1 and array.dtype.kind in "US":
        array = np.array(column, dtype=object)
    return array


def label_column(values: Labels) -> Labels:
    """One label per row, none missing; numbers as an array of numbers."""
    values = values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise InputError("y_true", f"has shape {values.shape}; one label per row, or one-hot rows, are needed")
    bad: npt.NDArray[np.bool_] = np.zeros(values.size, dtype=bool)
    if values.dtype.kind == "O":
        bad = np.array([_is_missing(each) for each in values], dtype=bool)
    elif values.dtype.kind == "f":
        bad = np.isnan(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("y_true", f"row {row} is {values[row]!s}; every row needs a label", row=row)
    if values.dtype.kind == "O" and all(isinstance(each, int | float | np.number | np.bool_) for each in values):
        values = np.asarray(values.tolist())
    return values


def distinct(values: Labels) -> set[Any]:
    """Different labels."""
    return set(values.tolist() if values.dtype.kind == "O" else np.unique(values).tolist())


def second_in_order(order: Classes) -> Any:
    """Return the one of two classes that scikit-learn's sorted ``classes_`` has in the second place."""
    try:
        return sorted(order)[1]
    except TypeError:
        return order[1]


def _is_missing(label: Any) -> bool:
    # None, NaN, or the missing value of a data frame, which is equal to nothing and not even unequal.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _one_label(pos_label: Any) -> Any:
    label = _plain(pos_label)
    try:
        hash(label)
    except TypeError:
        raise InputError("pos_label", f"is {pos_label!r:.40}; one label is needed") from None
    check_letters(label, "pos_label")
    return label


def _classes_of(values: Labels, k: int, class_names: Classes | None, label: Any) -> Classes:
    """Names of the columns: those of a frame that hold all labels, column numbers, or the labels in their order."""
    labels = distinct(values)
    if label is not None and label not in labels and len(labels) == 2:
        raise _no_such_label(label, labels)
    union = labels | (set() if label is None else {label})
    named = _named_by(class_names, union)
    if named is not None:
        return named
    numbers = values.dtype.kind in "iubf"
    if numbers and (label is None or k > 2 or union <= {0, 1}):
        return tuple(range(k))
    if len({isinstance(each, str) for each in union}) > 1:
        raise _several_types()
    if len(union) != k:
        what = "pos_label" if k == 2 and label is None else "all names as classes to multiclass_sample"
        raise InputError("y_true", f"holds {len(labels)} different labels but y_prob has {k} columns; pass {what}")
    return _in_order(union)


def _in_order(members: set[Any]) -> Classes:
    try:
        return tuple(sorted(members))
    except TypeError:
        raise _several_types() from None


def _several_types() -> InputError:
    return InputError("y_true", "holds labels of several types; pass the names of the columns as classes")


def _named_by(class_names: Classes | None, kinds: set[Any]) -> Classes | None:
    """Names of a frame's columns if they hold every label, read as whole numbers where the labels are numbers."""
    if class_names is None:
        return None
    whole = tuple(int(each) if isinstance(each, str) and each.isdecimal() else each for each in class_names)
    for candidate in (class_names, whole):
        if kinds <= set(candidate) and len(set(candidate)) == len(candidate):
            return candidate
    return None


def _no_such_label(label: Any, kinds: set[Any]) -> InputError:
    return InputError("pos_label", f"{label!r:.40} is none of the labels {_listed(kinds)}")


def _numbers(values: Labels, order: Classes, explicit: bool) -> IntArray:
    column = {name: i for i, name in enumerate(order)}
    if values.dtype.kind == "O":
        number = np.array([column.get(name, -1) for name in values.tolist()], dtype=np.int64)
    else:
        each, inverse = np.unique(values, return_inverse=True)
        number = np.array([column.get(name, -1) for name in each.tolist()], dtype=np.int64)[inverse]
    if number.size and number.min() < 0:
        row = int(np.argmin(number))
        problem = f"row {row} is {values[row]!s:.40}, which is no class; the classes are {_listed(order)}"
        if not explicit and len(order) == 2 and values.dtype.kind in "iu" and np.unique(values).size <= 2:
            problem += ". Other numbers for two classes need pos_label, the event's; columns are in their order then"
        raise InputError("y_true", problem, row=row)
    return number


def _from_one_hot(values: Labels, k: int, own: Classes | None, class_names: Classes | None) -> IntArray:
    if values.shape[1] != k:
        raise InputError("y_true", f"has {values.shape[1]} columns but y_prob has {k}; one-hot rows need one per class")
    if own is not None and class_names is not None and own != class_names and set(own) == set(class_names):
        raise InputError("y_true", "has the columns of y_prob in another order; one-hot rows need the same one")
    bad = ~np.isin(values, (0, 1)).all(axis=1)
    if not bad.any():
        bad = values.astype(np.float64).sum(axis=1) != 1.0
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("y_true", f"row {row} is not one-hot; it needs a single 1, and 0 elsewhere", row=row)
    return np.asarray(np.argmax(values.astype(np.float64), axis=1), dtype=np.int64)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _listed(entries: Any) -> str:
    try:
        shown = entries if isinstance(entries, tuple) else sorted(entries)
    except TypeError:
        shown = sorted(entries, key=repr)
    return ", ".join(repr(_plain(each)) for each in list(shown)[:6]) + (", ..." if len(entries) > 6 else "")
