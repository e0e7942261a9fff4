"""Files with more rows than are comfortable in memory: aggregated where they lie, never loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

from calibrant.door.errors import FileError, InputError
from calibrant.scale import files as reader
from calibrant.scale.columns import asked_columns, choose_columns, present, refuse_twins
from calibrant.scale.drift import RESOLUTION, Period, periods_of_groups
from calibrant.scale.duck import group_relation, quoted
from calibrant.scale.engine import connect
from calibrant.scale.frames import good_cells
from calibrant.scale.sketch import CalibrationSketch

MANY_ROWS = 5_000_000
"""Rows of Parquet above which a file is sketched."""
MANY_BYTES = 500_000_000
"""Bytes of other files above which they are sketched."""


@dataclass(frozen=True, slots=True, eq=False)
class FileSketch:
    """A file's sketch, the columns it was made of, as in `FileColumns`, and how many bad rows were left out."""

    sketch: CalibrationSketch
    names: dict[str, str]
    guessed: tuple[str, ...]
    n_excluded: int


def is_large(path: str) -> bool:
    """Whether a file or pattern is to be sketched."""
    found = reader.input_files(path)
    if reader._kind(path) != "parquet":
        return sum(Path(file).stat().st_size for file in found) > MANY_BYTES
    with reader._explained(path, "parquet", found):
        query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
        rows = connect().execute(query, [[reader._literal(file) for file in found]]).fetchone()
    return bool(rows[0] > MANY_ROWS)


def sketch_file(
    path: str,
    *,
    y_true: str | None = None,
    y_prob: str | None = None,
    sample_weight: str | None = None,
    unweighted: bool = False,
    exclude_bad: bool = False,
    grouped_by: Sequence[str] = (),
) -> FileSketch:
    """Sketch a file or pattern by one GROUP BY; columns as `read_file` takes them.

    Raises
    ------
    FileError, InputError
        If the file or a column cannot be read, or rows are bad: the message counts them.
    """
    asked = asked_columns(y_true, y_prob, sample_weight, unweighted)
    found, names, guessed = grouped_file(path, asked, (), 65536, grouped_by=grouped_by)
    index, cells = good_cells(found, exclude_bad)
    if index.size == 0:
        raise FileError("file", "holds column names but no rows" + (" that are not excluded" if exclude_bad else ""))
    n_excluded = int(found["count"].to_numpy()[found["_cell"].to_numpy() < 0].sum())
    unweighted = "sample_weight" not in names
    sketch = CalibrationSketch.from_cells(index, cells, 65536, unweighted=unweighted)
    return FileSketch(sketch, names, guessed, n_excluded)


def file_drift(
    path: str,
    by: str,
    *,
    y_true: str | None = None,
    y_prob: str | None = None,
    unweighted: bool = False,
    level: float = 0.05,
    exclude_bad: bool = False,
) -> list[Period]:
    """`calibration_drift` of a file or pattern; a column of weights is refused unless `unweighted` leaves it out.

    Raises
    ------
    FileError, InputError
        If the file or a column cannot be read, or rows are bad: the message counts them.
    """
    asked = asked_columns(y_true, y_prob, None, unweighted)
    found, names, _ = grouped_file(path, asked, [by], RESOLUTION, "drift")
    if "sample_weight" in names:
        raise FileError("drift", weights_refused(names["sample_weight"]))
    try:
        return periods_of_groups(found, level, exclude_bad)
    except InputError as problem:
        if problem.argument != "by":
            raise
        raise FileError("drift", problem.problem) from None


def weights_refused(column: str) -> str:
    """Why drift is not followed through weighted rows, and what can be done."""
    return f"the evidence counts single outcomes, and column {column!r} holds weights; --unweighted leaves them out"


def grouped_file(
    path: str,
    asked: dict[str, str | None],
    by: Sequence[str],
    resolution: int,
    option: str = "by",
    *,
    grouped_by: Sequence[str] = (),
) -> tuple[Any, dict[str, str], tuple[str, ...]]:
    """Sums of a file's cells, by segment if columns are named, with the columns used and those that were guessed."""
    found = reader.input_files(path)
    kind = reader._kind(path)
    connection = connect()
    connection.execute("SET preserve_insertion_order = false")
    with reader._explained(path, kind, found):
        held, twins = reader._names_held(connection, found, kind)
    names, guessed = choose_columns(asked, held, twins, (*by, *grouped_by))
    for name in by:
        refuse_twins(name, twins, option)
        present(name, held, option)
    with reader._explained(path, kind, found):
        relation = reader._rows(connection, found, kind, {**names, **{f"by {name}": name for name in by}})
        numbers = reader._numbers(relation, names, kind)
        if kind == "json":
            relation = _json_segments(relation, list(dict.fromkeys(by)), option)
        table = group_relation(relation, numbers, by, resolution)
    return nw.from_native(table, eager_only=True), names, guessed


_WHOLE = {"UBIGINT", "BIGINT"}
_EXACT = 2**53  # up to which a DOUBLE tells whole numbers apart


def _json_segments(relation: Any, by: Sequence[str], option: str) -> Any:
    """Give the columns of segments, which are read as JSON, the type of their values; they must be of one kind."""
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    typed = []
    for name in by:
        if types[name] != "JSON":  # the value that a folder stands for
            continue
        column = quoted(name)
        found = relation.aggregate(
            f"list(DISTINCT json_type({column})) FILTER ({column} IS NOT NULL), max(abs(TRY_CAST({column} AS DOUBLE)))"
        ).fetchall()
        kinds, largest = set(found[0][0] or ["VARCHAR"]), found[0][1] or 0.0
        if kinds & {"OBJECT", "ARRAY"}:
            raise FileError(option, f"names the column {name!r}, which holds nested JSON; single values are needed")
        if not kinds - {*_WHOLE, "DOUBLE"}:
            if "DOUBLE" in kinds and largest >= _EXACT:
                raise FileError(option, f"names the column {name!r}, which holds numbers too large to tell apart")
            kind = "DOUBLE" if "DOUBLE" in kinds else "BIGINT" if "BIGINT" in kinds else "UBIGINT"
        elif len(kinds) == 1:
            (kind,) = kinds
        else:
            held = "texts, numbers or truth values side by side; write all in one way"
            raise FileError(option, f"names the column {name!r}, which holds {held}")
        typed.append(f"CAST({column} ->> '$' AS {kind}) AS {column}")
    return relation.project(f"* REPLACE ({', '.join(typed)})") if typed else relation
