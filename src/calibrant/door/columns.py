"""The door: turns what a user passes into float64 columns, or says what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError

NOT_NULL = "every row needs a value"
FINITE = "every value must be finite"
NOT_SWAPPED = "the order is (y_true, y_prob); event rates at hard predictions need sample_weight"
"""What is allowed, where more may be said of it to someone who sees a table."""


class HasArray(Protocol):
    """What NumPy can read: arrays, columns and tables of pandas, polars and pyarrow, torch tensors."""

    def __array__(self) -> npt.NDArray[Any]:  # noqa: D105
        ...


Number: TypeAlias = float | Decimal | Fraction | np.number[Any] | np.bool_
"""One number; arrays can be asked for one as well, so that a protocol would take columns for numbers."""

Column: TypeAlias = HasArray | Sequence[Number]
"""One column of numbers: a NumPy array, list, pandas / polars / pyarrow column or torch CPU tensor."""

Table: TypeAlias = HasArray | Sequence[Sequence[Number]]
"""Class probabilities, a row per row: any of these of shape (n, K), or nested lists."""

Labels: TypeAlias = Column | list[str] | tuple[str, ...]
"""Outcomes that may be class labels; one text is a sequence of texts, but no column."""


FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


def read_columns(
    y_true: Column, y_prob: Column, sample_weight: Column | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return outcomes, predictions and weights as validated float64 arrays of one length.

    Raises
    ------
    InputError
        Naming the argument, the first bad row and what is allowed.
    """
    outcome = as_numbers(y_true, "y_true")
    prediction = as_numbers(y_prob, "y_prob")
    weight = None if sample_weight is None else as_numbers(sample_weight, "sample_weight")
    if prediction.size == 0:
        raise InputError("y_prob", "is empty; at least one row is needed")
    for name, column in (("y_true", outcome), ("sample_weight", weight)):
        if column is not None and column.size != prediction.size:
            raise InputError(name, f"has {column.size:,} rows but y_prob has {prediction.size:,}; they must match")
    _check_predictions(prediction)
    _check_outcomes(outcome)
    if weight is not None:
        check_weights(weight)
    else:
        _check_not_swapped(outcome, prediction)
    return outcome, prediction, weight


def as_numbers(values: Column, name: str) -> FloatArray:
    """One column of numbers as float64, whatever they are; a message names the argument otherwise."""
    array = _as_array(values, name)
    if array.ndim != 1:
        hint = _one_column_of(array.shape[1], name) if array.ndim == 2 else ""
        raise InputError(name, f"has shape {array.shape}; one dimension, a value per row, is needed{hint}")
    if array.dtype.kind == "f" or array.dtype.kind in "iub":
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind == "O":
        return _from_objects(array, name)
    shown = f", {array[0]!s:.40}" if array.size else ""
    hint = _EVENT if name == "y_true" and array.dtype.kind in "UST" else ""
    raise InputError(name, f"holds {kind_of(array)} (row 0{shown}); numbers are needed{hint}", row=0)


_EVENT = ". Of labels pass y_true == the event's label, or that label as pos_label where there is such an argument"


def kind_of(array: npt.NDArray[Any]) -> str:
    """What an array holds, in words."""
    return "text" if array.dtype.kind in "UT" else f"{array.dtype.name} values"


def _one_column_of(columns: int, name: str) -> str:
    """Which column to pass of a table, in brackets."""
    if columns == 1:
        return f" (pass its one column, {name}[:, 0])"
    if columns == 2:
        return f" (of two classes pass the column of the positive one, {name}[:, 1] where that is the second)"
    if name == "y_true":
        return " (of one-hot rows pass the column of the class whose probability y_prob is)"
    top = "multiclass_sample(y_true, y_prob).top_label()"
    return f" (of {columns:,} classes pass one, y_true == label with its column; or the top label, {top})"


def _as_array(values: Column, name: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.getmaskarray(values).any():
            row = int(np.argmax(np.ma.getmaskarray(values).ravel()))
            raise InputError(name, f"row {row} is masked; masked rows must be removed first", row=row)
        return np.asarray(values.data)
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, str | bytes) or values is None:
        raise InputError(name, f"is {values!r:.40}; a column of numbers is needed")
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        tensor: Any = values
        if tensor.device.type != "cpu":
            raise InputError(name, f"is a tensor on {tensor.device}; move it with .cpu() first")
        return np.asarray(tensor.detach().double())
    if not isinstance(values, list | tuple):
        import narwhals.stable.v2 as nw

        pyarrow = sys.modules.get("pyarrow")
        if pyarrow is not None and isinstance(values, pyarrow.Array):
            values = pyarrow.chunked_array([values])  # narwhals knows columns of tables only
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            if series.null_count():
                row = int(np.argmax(series.is_null().to_numpy()))
                raise InputError(name, f"row {row} is null", row=row, allowed=NOT_NULL)
            if series.dtype in (nw.Int128, nw.UInt128):  # which numpy has not
                series = series.cast(nw.Float64)
            return np.asarray(series.to_numpy())
        if isinstance(nw.from_native(values, pass_through=True), nw.DataFrame | nw.LazyFrame):
            raise InputError(name, "is a whole table; pass one column of it")
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(name, "is not a flat column of numbers (its rows differ in length)") from None


def _from_objects(array: npt.NDArray[Any], name: str) -> FloatArray:
    # Decimals, fractions and Python integers are numbers; text that looks like one is not.
    for row, value in enumerate(array):
        if value is None:
            raise InputError(name, f"row {row} is None", row=row, allowed=NOT_NULL)
        if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
            hint = _EVENT if name == "y_true" and isinstance(value, str) else ""
            raise InputError(name, f"row {row} is {value!r:.40}; numbers are needed{hint}", row=row)
    try:
        return array.astype(np.float64)
    except OverflowError:
        row = next(row for row, value in enumerate(array) if not _fits(value))
        raise InputError(name, f"row {row} is too large for a number in double precision", row=row) from None
    except (TypeError, ValueError):
        raise InputError(name, "holds values that are not numbers") from None


def _fits(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _shown(value: float) -> str:
    """The number in six digits, or in as many as tell it from its neighbours."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _first(bad: npt.NDArray[np.bool_]) -> int:
    return int(np.argmax(bad))


def _check_finite(values: FloatArray, name: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = _first(~finite)
        raise InputError(name, f"row {row} is {values[row]}", row=row, allowed=FINITE)


def _check_predictions(prediction: FloatArray) -> None:
    low, high = prediction.min(), prediction.max()
    if low >= 0.0 and high <= 1.0:  # false for NaN as well
        return
    _check_finite(prediction, "y_prob")
    row = _first((prediction < 0.0) | (prediction > 1.0))
    message = f"row {row} is {_shown(prediction[row])}; predictions must lie in [0, 1]"
    if high <= 0.0:
        message += ". These look like log-probabilities: pass numpy.exp of them"
    elif low < 0.0 and low < -0.05:
        message += ". These look like logits (log-odds): pass scipy.special.expit of them"
    elif low >= 0.0 and 1.5 < high <= 100.0:
        message += ". These look like percentages: divide them by 100"
    raise InputError("y_prob", message, row=row)


def _check_outcomes(outcome: FloatArray) -> None:
    if outcome.min() >= 0.0 and outcome.max() <= 1.0:
        return
    _check_finite(outcome, "y_true")
    row = _first((outcome < 0.0) | (outcome > 1.0))
    message = f"row {row} is {_shown(outcome[row])}; outcomes must be 0 or 1, or event rates in [0, 1]"
    if np.isin(outcome, (-1.0, 1.0)).all():
        message += ". These are -1/+1 labels: pass (y_true + 1) / 2"
    elif np.isin(outcome, (1.0, 2.0)).all():
        message += ". These are 1/2 labels: pass y_true - 1"
    elif outcome.min() >= 0.0 and (outcome == np.floor(outcome)).all():
        message += (
            ". Of counts of events a measure takes the rates, count / trials; of labels of classes, 1 where the class "
            "is the one whose probability y_prob is, and 0 elsewhere"
        )
    raise InputError("y_true", message, row=row)


def check_weights(weight: FloatArray) -> None:
    """Raise unless weights are finite, not negative, and not all zero."""
    _check_finite(weight, "sample_weight")
    if weight.min() < 0.0:
        row = _first(weight < 0.0)
        raise InputError("sample_weight", f"row {row} is {_shown(weight[row])}; weights must not be negative", row=row)
    if weight.max() == 0.0:
        raise InputError("sample_weight", "is zero in every row; at least one row needs weight")
    if not 1e-150 < weight.max() < 1e150:
        raise InputError(
            "sample_weight", f"has {weight.max():.3g} as its largest value; scale the weights to lie near 1"
        )


def _check_not_swapped(outcome: FloatArray, prediction: FloatArray) -> None:
    if not _is_binary(prediction[:64]) or not _is_binary(prediction) or _is_binary(outcome):
        return
    row = _first((outcome != 0.0) & (outcome != 1.0))
    raise InputError(
        "y_true",
        f"row {row} is {_shown(outcome[row])} while every prediction is 0 or 1: the arguments look swapped",
        row=row,
        allowed=NOT_SWAPPED,
    )


def _is_binary(values: FloatArray) -> bool:
    return bool(((values == 0.0) | (values == 1.0)).all())
