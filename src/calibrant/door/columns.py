"""The door: turns what a user passes into float64 columns, or says what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError
from calibrant.door.values import counted
from calibrant.threads import in_blocks

NOT_NULL = "every row needs a value"
FINITE = "every value must be finite"
NOT_SWAPPED = (
    "functions take (y_true, y_prob), fit and score of a recalibration (y_prob, y_true); "
    "event rates at hard predictions need sample_weight"
)
"""What is allowed, where more may be said of it to someone who sees a table."""

NO_WEIGHT = "is zero in every row; at least one row needs weight"
NO_WEIGHT_THERE = "their rows have no weight"
"""Why nothing is known of some segments."""
LIGHTEST, HEAVIEST = 1e-140, 1e140
"""Between them the largest weight must lie: its square, and sums of 2**53 such squares, are finite and not lost."""


class HasArray(Protocol):
    """Anything that NumPy can read: arrays, columns and tables of pandas, polars and pyarrow, torch tensors."""

    def __array__(self) -> npt.NDArray[Any]:  # noqa: D105
        ...


Number: TypeAlias = float | Decimal | Fraction | np.number[Any] | np.bool_
"""One number; arrays can be asked for one as well, so that a protocol would take columns for numbers."""

Column: TypeAlias = HasArray | Sequence[Number]
"""One column of numbers: a NumPy array, list, pandas / polars / pyarrow column or torch CPU tensor."""

Table: TypeAlias = HasArray | Sequence[Sequence[Number]]
"""Class probabilities, one row for each case: any of these of shape (n, K), or nested lists."""

Labels: TypeAlias = Column | list[str] | tuple[str, ...]
"""Outcomes that may be class labels; one text is a sequence of texts, but no column."""


FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


def read_columns(
    y_true: Column, y_prob: Column, sample_weight: Column | None, *, batch: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return outcomes, predictions and weights as validated float64 arrays of one length.

    A `batch` is a part of the rows that are asked about: its weights may all be zero. Raises InputError naming the
    argument, the first bad row and what is allowed.
    """
    columns = {"y_true": y_true, "y_prob": y_prob} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    read = {name: _numbers(column, name) for name, column in columns.items()}
    rows = read["y_prob"][0].size
    if rows == 0:
        raise InputError("y_prob", "is empty; at least one row is needed")
    for name, (numbers, _) in read.items():
        if numbers.size != rows:
            raise InputError(name, f"has {counted(numbers.size, 'row')} but y_prob has {rows:,}; they must match")
    for name, (numbers, problem) in read.items():
        _check_rows(name, numbers, problem)
    outcome, prediction = read["y_true"][0], read["y_prob"][0]
    if sample_weight is None:
        _check_not_swapped(outcome, prediction)
        return outcome, prediction, None
    check_weights(read["sample_weight"][0], batch=batch)
    return outcome, prediction, read["sample_weight"][0]


def as_numbers(values: Column, name: str) -> FloatArray:
    """One column of numbers of any type as float64; a message names the argument if it is none."""
    numbers, problem = _numbers(values, name)
    if problem is not None:
        raise problem
    return numbers


def of_log_odds(y_prob: Column) -> FloatArray:
    """Probabilities of one column of log-odds, an infinite one being certainty; none may be missing."""
    score = as_numbers(y_prob, "y_prob")
    missing = np.isnan(score)
    if missing.any():
        row = _first(missing)
        raise InputError("y_prob", f"row {row} is nan", row=row, allowed=NOT_NULL)
    small = np.exp(-np.abs(score))
    return np.asarray(np.where(score >= 0.0, 1.0, small) / (1.0 + small))


def numbers_or_nan(values: Column, name: str) -> FloatArray:
    """The same with NaN in the rows that hold no number; a column that holds other things alone is refused."""
    return _numbers(values, name)[0]


def _numbers(values: Column, name: str) -> tuple[FloatArray, InputError | None]:
    """The numbers, and what is wrong with the first row that holds none; such rows are NaN."""
    array, null = _as_array(values, name)
    if array.ndim != 1:
        hint = _one_column_of(array.shape[1], name) if array.ndim == 2 else ""
        raise InputError(name, f"has shape {array.shape}; one dimension, a value per row, is needed{hint}")
    if array.dtype.kind in "fiub":
        numbers, problem = np.ascontiguousarray(array, dtype=np.float64), None
    elif array.dtype.kind == "O":
        numbers, problem = _from_objects(array, name)
        if problem is not None and np.isnan(numbers).all():
            _refuse_texts(array, null, name)
    else:
        shown = f", {array[0]!s:.40}" if array.size else ""
        hint = _EVENT if name == "y_true" and array.dtype.kind in "UST" else ""
        raise InputError(name, f"holds {kind_of(array)} (row 0{shown}); numbers are needed{hint}", row=0)
    if null is None:
        return numbers, problem
    index = np.flatnonzero(~null)
    everywhere = np.full(null.size, np.nan)
    everywhere[index] = numbers
    row = _first(null)
    if problem is not None and problem.row is not None and index[problem.row] < row:
        return everywhere, _text_in(int(index[problem.row]), array[problem.row], name)
    return everywhere, InputError(name, f"row {row} is null", row=row, allowed=NOT_NULL)


def _check_rows(name: str, values: FloatArray, problem: InputError | None) -> None:
    """Raise for the first bad row: one that holds no number, or one before it that is out of range."""
    before = values if problem is None else values[: problem.row]
    if before.size:
        _CHECKS[name](before)
    if problem is not None:
        raise problem


_EVENT = ". Of labels pass y_true == the event's label, or that label as pos_label where there is such an argument"


def kind_of(array: npt.NDArray[Any]) -> str:
    """Name the kind of an array's values."""
    return "text" if array.dtype.kind in "UT" else f"{array.dtype.name} values"


def _one_column_of(columns: int, name: str) -> str:
    """Say which column of a table to pass, in brackets."""
    if columns == 1:
        return f" (pass its one column, {name}[:, 0])"
    if columns == 2:
        return f" (of two classes pass the column of the positive one, {name}[:, 1] where that is the second)"
    if name == "y_true":
        return " (of one-hot rows pass the column of the class whose probability y_prob is)"
    top = "multiclass_sample(y_true, y_prob).top_label()"
    return f" (of {columns:,} classes pass one, y_true == label with its column; or the top label, {top})"


def is_masked(values: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether this is an array of NumPy with a mask; `numpy.ma` is loaded only where there is one."""
    return isinstance(values, np.ndarray) and type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray)


def _as_array(values: Column, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The values that are not null, and which rows are."""
    if is_masked(values):
        if np.ma.getmaskarray(values).any():
            row = int(np.argmax(np.ma.getmaskarray(values).ravel()))
            raise InputError(name, f"row {row} is masked; masked rows must be removed first", row=row)
        return np.asarray(values.data), None
    if isinstance(values, np.ndarray):
        return values, None
    if isinstance(values, str | bytes) or values is None:
        raise InputError(name, f"is {values!r:.40}; a column of numbers is needed")
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        tensor: Any = values
        if tensor.device.type != "cpu":
            raise InputError(name, f"is a tensor on {tensor.device}; move it with .cpu() first")
        return np.asarray(tensor.detach().double()), None
    if not isinstance(values, list | tuple):
        column = _from_frames(values, name)
        if column is not None:
            return column
    try:
        return np.asarray(values), None
    except ValueError:
        raise InputError(name, "is not a flat column of numbers (its rows differ in length)") from None


def _from_frames(values: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None] | None:
    """The same of a column of pandas, polars or pyarrow; None of anything else."""
    import narwhals.stable.v2 as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])  # narwhals knows columns of tables only
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        null = series.is_null().to_numpy() if series.null_count() else None
        if null is not None:
            series = series.filter((~null).tolist())
        if series.dtype in (nw.Int128, nw.UInt128):  # which numpy has not
            series = series.cast(nw.Float64)
        return np.asarray(series.to_numpy()), null
    if isinstance(nw.from_native(values, pass_through=True), nw.DataFrame | nw.LazyFrame):
        raise InputError(name, "is a whole table; pass one column of it")
    return None


def _from_objects(array: npt.NDArray[Any], name: str) -> tuple[FloatArray, InputError | None]:
    # Decimals, fractions and Python integers are numbers; text that looks like one is not.
    numbers = np.full(array.size, np.nan)
    problem = None
    for row, value in enumerate(array):
        try:
            if value is not None and not isinstance(value, str | bytes) and hasattr(value, "__float__"):
                numbers[row] = value
                continue
        except OverflowError:
            problem = problem or InputError(name, f"row {row} is too large for a number in double precision", row=row)
        except (TypeError, ValueError):
            pass
        problem = problem or _text_in(row, value, name)
    return numbers, problem


def _refuse_texts(array: npt.NDArray[Any], null: npt.NDArray[np.bool_] | None, name: str) -> None:
    """Refuse a column without a number for its first value, as one that is of texts by its type."""
    for row, value in enumerate(array):
        if value is not None and (isinstance(value, str | bytes) or not hasattr(value, "__float__")):
            raise _text_in(row if null is None else int(np.flatnonzero(~null)[row]), value, name)


def _text_in(row: int, value: Any, name: str) -> InputError:
    """Say that a row of objects holds no number."""
    if value is None:
        return InputError(name, f"row {row} is None", row=row, allowed=NOT_NULL)
    hint = _EVENT if name == "y_true" and isinstance(value, str) else ""
    return InputError(name, f"row {row} is {value!r:.40}; numbers are needed{hint}", row=row)


def shown(value: float) -> str:
    """The number in six digits, or in as many as tell it from its neighbours."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _first(bad: npt.NDArray[np.bool_]) -> int:
    return int(np.argmax(bad))


def _first_bad(name: str, values: FloatArray, good: npt.NDArray[np.bool_]) -> int:
    """The first row that is not good; raises if it holds no finite number."""
    row = _first(~good)
    if not np.isfinite(values[row]):
        raise InputError(name, f"row {row} is {values[row]}", row=row, allowed=FINITE)
    return row


_ANOTHER_SCALE = 0.05  # of predictions, at least, lie outside [0, 1] if all are on another scale


def _ends(values: FloatArray) -> tuple[float, float]:
    """The least and the largest, NaN where one is; a part at a time, which stays near between the two."""
    parts = -(-values.size // _PART)
    low, high = np.empty(parts), np.empty(parts)

    def look(first: int, last: int) -> None:
        for at in range(first, last):
            part = values[at * _PART : (at + 1) * _PART]
            low[at], high[at] = part.min(), part.max()

    in_blocks(look, parts, work=values.size)
    return float(low.min()), float(high.max())


_PART = 1 << 14


def _check_predictions(prediction: FloatArray) -> None:
    low, high = _ends(prediction)
    if low >= 0.0 and high <= 1.0:  # false for NaN as well
        return
    row = _first_bad("y_prob", prediction, (prediction >= 0.0) & (prediction <= 1.0))
    message = f"row {row} is {shown(prediction[row])}; predictions must lie in [0, 1]"
    outside = int(np.count_nonzero((prediction < 0.0) | (prediction > 1.0)))
    if outside < _ANOTHER_SCALE * prediction.size:
        message += f". {outside:,} of {prediction.size:,} do not"
    elif high <= 0.0:
        message += ". These look like log-probabilities: pass numpy.exp of them"
    elif low < 0.0 and low < -0.05:
        message += ". These look like logits (log-odds): pass 1 / (1 + exp(-x)) of each, scipy.special.expit"
    elif low >= 0.0 and 1.5 < high <= 100.0:
        message += ". These look like percentages: divide them by 100"
    elif low >= 0.0 and high > 100.0:
        message += ". These look like scores or ranks: a score becomes a probability by a map fitted to outcomes"
    raise InputError("y_prob", message, row=row)


def _check_outcomes(outcome: FloatArray) -> None:
    low, high = _ends(outcome)
    if low >= 0.0 and high <= 1.0:
        return
    row = _first_bad("y_true", outcome, (outcome >= 0.0) & (outcome <= 1.0))
    message = f"row {row} is {shown(outcome[row])}; outcomes must be 0 or 1, or event rates in [0, 1]"
    if np.isin(outcome, (-1.0, 1.0)).all():
        message += (
            ". These are -1/+1 labels: pass (y_true + 1) / 2; tables take the event's as pos_label (--pos-label 1)"
        )
    elif np.isin(outcome, (1.0, 2.0)).all():
        message += ". These are 1/2 labels: pass y_true - 1; tables take the event's as pos_label (--pos-label 2)"
    elif outcome.min() >= 0.0 and (outcome == np.floor(outcome)).all():
        message += (
            ". Of counts of events a measure takes the rates, count / trials. Of labels of classes it takes 1 where "
            "the class is the one whose probability y_prob is, and 0 elsewhere"
        )
    raise InputError("y_true", message, row=row)


def check_weights(weight: FloatArray, *, batch: bool = False) -> None:
    """Raise unless weights are finite, not negative, and not all zero, which those of a batch may be."""
    _check_each_weight(weight)
    if weight.max() == 0.0:
        if not batch:
            raise InputError("sample_weight", NO_WEIGHT)
    elif not LIGHTEST < weight.max() < HEAVIEST:
        raise InputError(
            "sample_weight", f"has {weight.max():.3g} as its largest value; scale the weights to lie near 1"
        )


def _check_each_weight(weight: FloatArray) -> None:
    if weight.min() >= 0.0 and weight.max() < np.inf:
        return
    row = _first_bad("sample_weight", weight, (weight >= 0.0) & (weight < np.inf))
    raise InputError("sample_weight", f"row {row} is {shown(weight[row])}; weights must not be negative", row=row)


_CHECKS = {"y_true": _check_outcomes, "y_prob": _check_predictions, "sample_weight": _check_each_weight}


def _check_not_swapped(outcome: FloatArray, prediction: FloatArray) -> None:
    if not _is_binary(prediction[:64]) or not _is_binary(prediction) or _is_binary(outcome):
        return
    row = _first((outcome != 0.0) & (outcome != 1.0))
    raise InputError(
        "y_true",
        f"row {row} is {shown(outcome[row])} while every prediction is 0 or 1: the arguments look swapped",
        row=row,
        allowed=NOT_SWAPPED,
    )


def _is_binary(values: FloatArray) -> bool:
    return bool(((values == 0.0) | (values == 1.0)).all())
