"""Columns of a file, read through DuckDB: only those asked for, checked, and named where they are guessed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import FileError

READERS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""File endings and what reads them; .gz and .zst may follow those of text files."""

USUAL_NAMES = {
    "y_true": ("y_true", "label", "target", "outcome", "obs", "observed", "correct", "is_correct", "y"),
    "y_prob": ("y_prob", "prob", "probability", "score", "confidence", "y_score", "y_pred_proba", "prediction", "p"),
    "sample_weight": ("sample_weight",),
}
"""Names that are taken without being told, if exactly one of a row is there."""

_NUMBERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN"),
}


@dataclass(frozen=True, slots=True, eq=False)
class FileColumns:
    """Columns read from a file.

    Attributes
    ----------
    y_true, y_prob : ndarray of shape (n,)
        Numbers as they stand in the file, not yet checked for range.
    sample_weight : ndarray of shape (n,) or None
        Weights, where a column holds them.
    names : dict
        Argument -> column name.
    guessed : tuple of str
        Arguments whose column was guessed by its name.
    """

    y_true: npt.NDArray[np.float64]
    y_prob: npt.NDArray[np.float64]
    sample_weight: npt.NDArray[np.float64] | None
    names: dict[str, str]
    guessed: tuple[str, ...]


def read_file(
    path: str, *, y_true: str | None = None, y_prob: str | None = None, sample_weight: str | None = None
) -> FileColumns:
    """Read outcomes, predictions and weights from a CSV, Parquet, JSON lines or Arrow file, or a pattern of files.

    Raises
    ------
    FileError
        If the file or a column cannot be read; the message says what is there instead.
    """
    relation = _open(path)
    columns = list(relation.columns)
    asked = {"y_true": y_true, "y_prob": y_prob, "sample_weight": sample_weight}
    names: dict[str, str] = {}
    guessed = []
    for argument, name in asked.items():
        if name is not None:
            names[argument] = _present(name, columns, argument)
    for argument, name in asked.items():
        if name is None:
            found = _guess(argument, [c for c in columns if c not in names.values()])
            if found is not None:
                names[argument] = found
                guessed.append(argument)
    for argument, name in names.items():
        for other, same in names.items():
            if argument < other and name == same:
                raise FileError(f"--{argument.replace('_', '-')}", f"{name!r} is given for {other} as well")
    arrays = _fetch(relation, names)
    return FileColumns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"), names, tuple(guessed))


def _open(path: str) -> Any:
    import duckdb

    pattern = any(c in path for c in "*?[") and not Path(path).exists()
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    kind = READERS.get(suffixes[-1] if suffixes else "")
    if not pattern:
        if not Path(path).exists():
            raise FileError("file", f"{path!r} does not exist")
        if Path(path).is_dir():
            raise FileError(
                "file", f"{path!r} is a folder; name a file, or a pattern in quotes such as '{path}/*.parquet'"
            )
        if Path(path).stat().st_size == 0:
            raise FileError("file", f"{path!r} is empty")
    if kind is None:
        raise FileError("file", f"{path!r}: the ending is not one that is read: {', '.join(READERS)}")
    if kind == "arrow":
        return _open_arrow(path)
    connection = duckdb.connect()
    try:
        if kind == "csv":
            relation = connection.read_csv(path, header=True)
        elif kind == "json":
            relation = connection.read_json(path)
        else:
            relation = connection.read_parquet(path)
        columns = relation.columns
    except duckdb.Error as problem:
        raise FileError("file", f"{path!r} cannot be read as {kind}: {_first_line(problem)}") from None
    if not columns:
        raise FileError("file", f"{path!r} has no columns")
    return relation


def _open_arrow(path: str) -> Any:
    import duckdb

    try:
        import pyarrow
        import pyarrow.ipc
    except ModuleNotFoundError:
        raise FileError(
            "file", f"{path!r}: Arrow files are read by pyarrow; install it with pip install pyarrow"
        ) from None
    source = pyarrow.memory_map(path)
    try:
        try:
            table = pyarrow.ipc.open_file(source).read_all()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            table = pyarrow.ipc.open_stream(source).read_all()
    except (pyarrow.ArrowInvalid, OSError) as problem:
        raise FileError("file", f"{path!r} cannot be read as arrow: {_first_line(problem)}") from None
    return duckdb.connect().from_arrow(table)


def _present(name: str, columns: Sequence[str], argument: str) -> str:
    if name in columns:
        return name
    near = difflib.get_close_matches(name, columns, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise FileError(
        f"--{argument.replace('_', '-')}", f"there is no column {name!r}; there are {_listed(columns)}.{hint}"
    )


def _guess(argument: str, columns: Sequence[str]) -> str | None:
    """The one column with a usual name; None for weights if there is none."""
    found = [c for c in columns if c.lower() in USUAL_NAMES[argument]]
    if len(found) == 1:
        return found[0]
    if argument == "sample_weight" and not found:
        return None
    option = f"--{argument.replace('_', '-')}"
    if found:
        raise FileError(option, f"could be any of {_listed(found)}; name one")
    raise FileError(option, f"cannot be guessed; name one of the columns: {_listed(columns)}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:30])
    return shown + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _fetch(relation: Any, names: dict[str, str]) -> dict[str, npt.NDArray[np.float64]]:
    import duckdb

    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    quoted = {argument: '"' + name.replace('"', '""') + '"' for argument, name in names.items()}
    try:
        if not relation.limit(1).fetchall():
            raise FileError("file", "holds column names but no rows")
        for argument, name in names.items():
            if types[name].split("(")[0] not in _NUMBERS and not types[name].startswith("DECIMAL"):
                raise FileError(name, _not_numbers(relation, quoted[argument], types[name], argument))
        fetched = relation.project(
            ", ".join(f"CAST({column} AS DOUBLE) AS {argument}" for argument, column in quoted.items())
        ).fetchnumpy()
    except duckdb.Error as problem:
        raise FileError("file", f"cannot be read: {_first_line(problem)}") from None
    arrays = {}
    for argument, name in names.items():
        values = fetched[argument]
        missing = np.ma.getmaskarray(values)
        if missing.any():
            raise FileError(name, f"row {int(np.argmax(missing))} (counted from 0) is null; every row needs a value")
        arrays[argument] = np.asarray(values, dtype=np.float64)
    return arrays


def _not_numbers(relation: Any, column: str, kind: str, argument: str) -> str:
    """Say what a column holds instead, with the first value that is to blame."""
    blame = f"{column} IS NOT NULL"
    if kind == "VARCHAR":
        kind = "text"
        culprits = (
            relation.filter(f"{blame} AND TRY_CAST({column} AS DOUBLE) IS NULL").project(column).limit(1).fetchall()
        )
        if culprits:
            return f"the column holds text, such as {culprits[0][0]!r:.40}; numbers are needed for {argument}"
    found = relation.filter(blame).project(column).limit(1).fetchall()
    shown = f", such as {found[0][0]!s:.40}" if found else ""
    return f"the column holds {kind}{shown}; numbers are needed for {argument}"


def _first_line(problem: BaseException) -> str:
    return next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
