"""One generated table by every road, and what is wrong with what they say of it."""

import csv
import datetime as dt
import json
import math
import re
from dataclasses import replace
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.drift.periods import RESOLUTION, calibration_drift, periods_of_groups
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.segments.by_column import calibration_by_segment, segments_of_groups
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.entry import OpenedFile
from calibrant.tables.frames import OpenedFrame
from tests.tables.generated import Refused, by_key, one_key, rows_wanted

_ARROW = {
    "float64": pa.float64(), "float32": pa.float32(), "float16": pa.float16(), "int": pa.int64(), "bool": pa.bool_(),
    "decimal": pa.decimal128(20, 6), "text": pa.string(), "whole": pa.int64(), "number": pa.float64(),
    "truth": pa.bool_(), "date": pa.date32(), "time": pa.timestamp("us"),
}  # fmt: skip
_NULLABLE = {"float64": "Float64", "float32": "Float32", "int": "Int64", "bool": "boolean", "text": "string"}
_NULLABLE |= {"whole": "Int64", "truth": "boolean"}
_OPTIONS = {"table", "frame", "file"}


@cache
def _database():
    return duckdb.connect()


def in_pyarrow(table, encoded=False):
    columns = {
        name: pa.array(values, _ARROW[table.types[name]], from_pandas=False) for name, values in table.columns.items()
    }
    return pa.table(
        {
            name: each.dictionary_encode() if encoded and table.types[name] != "float16" else each
            for name, each in columns.items()
        }
    )


def _in_pandas(table, how):
    return pd.DataFrame({name: _series(values, table.types[name], how) for name, values in table.columns.items()})


def _series(values, kind, how):
    if how == "object" or kind in ("mixed", "decimal"):
        return pd.Series(values, dtype=object)
    if how == "nullable" and kind in _NULLABLE:
        return pd.Series(pd.array([None if v is None else v for v in values], dtype=_NULLABLE[kind]))
    if how == "arrow":
        return pd.Series(pd.array(values, dtype=pd.ArrowDtype(_ARROW[kind])))
    plain = (
        pd.Series(values, dtype=kind)
        if kind.startswith("float")
        else pd.Series(values, dtype=None if values else object)
    )
    if how == "categorical":
        plain = plain.astype("float32") if kind == "float16" else plain  # pandas has no such categories
        return plain.astype("category")
    if how == "sparse" and plain.dtype.kind in "fib":
        return pd.Series(pd.arrays.SparseArray(plain.to_numpy()))
    return plain


def in_polars(table):
    return pl.from_arrow(in_pyarrow(table))


def in_duckdb(table):
    held = in_pyarrow(table)
    half = [pa.field(f.name, pa.float32()) if f.type == pa.float16() else f for f in held.schema]  # it has no halves
    return _database().from_arrow(held.cast(pa.schema(half)))


def to_text(value):
    return "" if value is None else value.isoformat() if isinstance(value, dt.date) else str(value)


def _write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(in_pyarrow(table), path, row_group_size=4)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(in_pyarrow(table), path, compression="uncompressed")
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows([to_text(value) for value in row] for row in zip(*table.columns.values(), strict=True))
    else:
        rows = [
            dict(zip(table.columns, map(_in_json, row, table.columns), strict=True))
            for row in zip(*table.columns.values(), strict=True)
        ]
        lines = [json.dumps({name: _json(value, name == table.key) for name, value in row.items()}) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def _in_json(value, _name):
    return value


def _json(value, key):
    if isinstance(value, float) and not math.isfinite(value):
        return None if key else str(value)  # JSON has no such numbers
    if isinstance(value, dt.date):
        return value.isoformat()
    return float(value) if type(value).__name__ == "Decimal" else value


def _of_frame(make, summed):
    def answer(table, _folder):
        frame = make(table)
        if table.question == "by":
            asked = {
                "by": [table.key],
                "exclude_bad": table.exclude_bad,
                "unweighted": "sample_weight" not in table.names,
            }
            return _segments(calibration_by_segment(frame, **table.names, **asked)), 0
        if table.question == "drift":
            asked = {"by": table.key, "exclude_bad": table.exclude_bad, "unweighted": True}
            return _periods(calibration_drift(frame, **table.names, **asked)), 0
        return (_summed if summed else _read)(OpenedFrame(frame), table)

    return answer


def _of_file(suffix, summed):
    def answer(table, folder):
        file = OpenedFile(_write(table, folder / f"rows{suffix}"))
        if table.question == "whole":
            return (_summed if summed else _read)(file, table)
        cells = 128 if table.question == "by" else RESOLUTION
        groups = file.groups(table.names, [table.key], cells, exclude_bad=table.exclude_bad)
        if table.question == "by":
            return _segments(segments_of_groups(groups, 0.05)[0]), groups.n_excluded
        return _periods(periods_of_groups(groups, 0.05)), groups.n_excluded

    return answer


def _read(opened, table):
    read = opened.read(**table.names, unweighted="sample_weight" not in table.names, exclude_bad=table.exclude_bad)
    return Sample.from_columns(read.y_true, read.y_prob, read.sample_weight), read.n_excluded


def _summed(opened, table):
    groups = opened.groups(table.names, (), 128, exclude_bad=table.exclude_bad)
    return CalibrationSketch.from_groups(groups, table.names, 128), groups.n_excluded


def _segments(found):
    return {one_key(each.key[0]): (each.n_rows, each.base_rate, each.mean_prediction) for each in found}


def _periods(found):
    return {one_key(each.period): (each.n_rows, each.base_rate, each.mean_prediction) for each in found}


ROADS = {
    **{f"pandas, {how}": _of_frame(lambda table, how=how: _in_pandas(table, how), i % 2) for i, how in enumerate(
        ("plain", "object", "nullable", "categorical", "sparse", "arrow"))},
    "pyarrow": _of_frame(in_pyarrow, True),
    "pyarrow, dictionaries": _of_frame(lambda table: in_pyarrow(table, encoded=True), True),
    "pyarrow, dictionaries, read": _of_frame(lambda table: in_pyarrow(table, encoded=True), False),
    "polars": _of_frame(in_polars, True),
    "polars, read": _of_frame(in_polars, False),
    "polars, lazy": _of_frame(lambda table: in_polars(table).lazy(), True),
    "duckdb": _of_frame(in_duckdb, True),
    "parquet": _of_file(".parquet", False),
    "parquet, sketched": _of_file(".parquet", True),
    "arrow": _of_file(".arrow", False),
    "csv": _of_file(".csv", False),
    "csv, sketched": _of_file(".csv", True),
    "jsonl": _of_file(".jsonl", False),
    "jsonl, sketched": _of_file(".jsonl", True),
}  # fmt: skip


def _wanted(table, road):
    """What a road must say: an error, or a sample, segments or periods, and how many rows are left out."""
    # Texts are numbers in CSV; JSON has no types, so that each row is bad; elsewhere the column is refused.
    found = rows_wanted(table, {"csv": "numbers", "jsonl": "bad rows"}.get(road.split(",")[0]))
    if isinstance(found, Refused):
        mixed = ("by",) if table.key and table.types[table.key] == "mixed" else ()
        return replace(found, also=(*found.also, *mixed))
    numbers, keys, n_bad = found
    if table.question == "whole":
        return Sample.from_columns(*(np.array(numbers[a]) for a in table.names)), n_bad
    option = "by"
    written = table.types[table.key] in ("date", "time") and road.startswith("jsonl")
    keys = [(to_text(key) or None) if road.startswith("csv") or written else one_key(key) for key in keys]
    every = [key for key in table.columns[table.key] if key is not None]
    if (
        not road.startswith("csv")
        and len(
            {
                str
                if isinstance(k, str)
                else bool
                if isinstance(k, bool)
                else float
                if isinstance(k, float | int)
                else 0
                for k in every
            }
        )
        > 1
    ):
        return Refused(option)
    if table.question == "drift":
        return _drift_wanted(numbers, keys) or (by_key(numbers, keys), n_bad)
    if 0.0 < min((t for t in _totals(numbers, keys) if t > 0.0), default=1.0) < 1e-100:
        return Refused("sample_weight")
    return by_key(numbers, keys), n_bad


def _totals(numbers, keys):
    weights = numbers.get("sample_weight", [1.0] * len(keys))
    return [math.fsum(w for w, other in zip(weights, keys, strict=True) if other == key) for key in set(keys)]


def _drift_wanted(numbers, keys):
    if any(key is None for key in keys):
        return Refused("by")
    texts = {key for key in keys if isinstance(key, str) and not key.startswith("truth")}
    if len(texts) > 1 and not _known_order(texts):
        return Refused("by")
    if any(value not in (0.0, 1.0) for value in numbers["y_true"]):
        return Refused("y_true")
    return None


def _known_order(texts):
    """Numbers, each written in one way, or dates that all have a time or all have none."""
    if all(re.fullmatch(r"[+-]?\d+(\.0)?", text) for text in texts):
        return len({float(text) for text in texts}) == len(texts)
    return all(text[:5] in ("2026-", "1969-") for text in texts)


def disagreements(table, folder, roads):
    """What is wrong with what these roads say, a text each."""
    wrong = []
    for road in roads:
        answer = ROADS[road]
        if table.key and table.types[table.key] == "mixed" and not road.startswith(("pandas, object", "jsonl", "csv")):
            continue  # it has no such columns
        if not table.columns[table.names["y_true"]] and road.startswith("jsonl"):
            continue  # without a row it has no columns
        wanted = _wanted(table, road)
        try:
            said = answer(table, folder)
            if isinstance(said[0], CalibrationSketch):
                _ = said[0].sample  # a sketch takes a batch without weight, and says so when it is asked
        except InputError as problem:
            said = problem
        except Exception as problem:
            wrong.append(f"{road}: {type(problem).__name__}: {problem!s:.200}")
            continue
        fault = _compared(wanted, said)
        if fault:
            wrong.append(f"{road}: {fault}")
    return wrong


def _compared(wanted, said):
    if isinstance(said, InputError) != isinstance(wanted, Refused):
        return f"wanted {_short(wanted)}, said {_short(said)}"
    if isinstance(wanted, Refused):
        argument = "table" if said.argument in _OPTIONS else said.argument
        if argument not in (wanted.argument, *wanted.also) or (
            argument == wanted.argument and None not in (said.row, wanted.row) and said.row != wanted.row
        ):
            return f"wanted {wanted}, said {said!s:.150}"
        return ""
    value, n_bad = wanted
    answer, excluded = said
    if isinstance(value, dict):
        same = value.keys() == answer.keys() and all(_close(value[key], answer[key]) for key in value)
        return "" if same else f"wanted {value}, said {answer}"
    if excluded != n_bad:
        return f"wanted {n_bad} rows left out, said {excluded}"
    error = smooth_error_from_sample(value)
    if isinstance(answer, Sample):
        names = ("prediction", "count", "ones", "weight", "weighted_outcome", "squared_weight")
        same = all(np.array_equal(getattr(value, name), getattr(answer, name)) for name in names)
        return "" if same and smooth_error_from_sample(answer) == error else f"wanted {value}, said {answer}"
    bound = answer.error_bound("smooth_calibration_error")
    same = abs(smooth_error_from_sample(answer.sample) - error) <= bound and answer.n_rows == value.n_rows
    return "" if same else f"wanted {error} of {value.n_rows} rows, said {answer}, {bound}"


def _close(wanted, said):
    return wanted[0] == said[0] and all(abs(a - b) <= 1e-9 for a, b in zip(wanted[1:], said[1:], strict=True))


def _short(told):
    return f"{type(told).__name__} {told!s:.150}"
