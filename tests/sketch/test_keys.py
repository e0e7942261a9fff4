"""Keys of segments are the same by every road, and numbers are taken in whatever pandas holds them."""

import math
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.drift.periods import calibration_drift
from calibrant.segments.by_column import calibration_by_segment

NAMES = {"y_true": "y", "y_prob": "p", "by": "g"}
Y, P = [0, 1, 1, 0], [0.1, 0.9, 0.8, 0.2]


def keys(frame, **asked):
    return {segment.key[0]: segment.n_rows for segment in calibration_by_segment(frame, **NAMES, **asked)}


@pytest.mark.parametrize("road", ["pandas", "pyarrow", "polars", "lazy", "duckdb"])
def test_nan_is_null_and_zeros_have_no_sign(road):
    table = pa.table({"y": Y, "p": [0.5] * 4, "g": pa.array([0.0, -0.0, math.nan, None], from_pandas=False)})
    polars = pl.from_arrow(table)
    database = duckdb.connect()
    frame = {
        "pandas": table.to_pandas(),
        "pyarrow": table,
        "polars": polars,
        "lazy": polars.lazy(),
        "duckdb": database.from_arrow(table),
    }[road]
    assert keys(frame) == {0.0: 2, None: 2}


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pd.cut([1, 2, 3, 4], [0, 2, 4]), {"(0, 2]": 2, "(2, 4]": 2}),
        (pd.Categorical(["a", None, "a", "b"]), {"a": 2, None: 1, "b": 1}),
        (
            pd.period_range("2026-01", periods=4, freq="M"),
            dict.fromkeys(pd.date_range("2026-01", periods=4, freq="MS"), 1),
        ),
        (pd.array([True, None, False, True], "boolean"), {True: 2, None: 1, False: 1}),
        ([uuid.UUID(int=1)] * 4, {str(uuid.UUID(int=1)): 4}),
        ([None] * 4, {None: 4}),
    ],
    ids=["intervals", "categories", "periods", "nullable", "identifiers", "nothing"],
)
def test_keys_of_pandas(column, wanted):
    assert keys(pd.DataFrame({"y": Y, "p": P}).assign(g=column)) == wanted


@pytest.mark.parametrize("column", [[1, "a", None, True], [(1, 2)] * 4, [True, 1, 0, False]], ids=str)
def test_keys_of_several_kinds_are_refused(column):
    with pytest.raises(InputError, match=r"^by: names the column 'g'"):
        keys(pd.DataFrame({"y": Y, "p": P, "g": pd.Series(column, dtype=object)}))


@pytest.mark.parametrize("road", ["pyarrow", "polars", "lazy", "duckdb"])
@pytest.mark.parametrize("step", [1, 1000])
def test_times_of_day_are_kept_to_the_microsecond_and_finer_ones_refused(road, step):
    """Python's times of day have no nanoseconds: two segments had one name, and two periods one place."""
    nanoseconds = np.array([0, step, 2 * step, 3_600_000_000_000])
    table = pa.table({"y": Y, "p": P, "g": pa.array(nanoseconds, pa.time64("ns"))})
    frame = {
        "pyarrow": table,
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.connect().from_arrow(table),
    }[road]
    for call in (calibration_by_segment, calibration_drift):
        if step == 1000:
            assert len(call(frame, **NAMES)) == 4
        else:
            with pytest.raises(InputError, match=r"^by: names a column of times of day with nanoseconds"):
                call(frame, **NAMES)


def test_the_first_bad_row_is_the_first_of_any_kind():
    for bad, row in (([0.5, 1.5, None], 1), ([0.5, None, 1.5], 1), ([math.inf, math.nan, -1.0], 0)):
        for column in (
            bad,
            np.array(bad, float),
            pd.Series(bad),
            pd.array(bad, "Float64"),
            pl.Series(bad),
            pa.array(bad),
        ):
            with pytest.raises(InputError) as refused:
                Sample.from_columns([0, 1, 1], column)
            assert (refused.value.argument, refused.value.row) == ("y_prob", row)
