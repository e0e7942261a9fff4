"""A file or a pattern of files, opened once: its columns are looked up, read and summed through this one value."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw

from calibrant.door.columns import IntArray
from calibrant.door.errors import FileError, InputError
from calibrant.scale.duck import group_relation, json_segments, quoted
from calibrant.scale.eager import in_arrow
from calibrant.scale.engine import connect, lacks_memory, literal, shortened
from calibrant.scale.groups import Groups, good_groups, missing_values
from calibrant.scale.harness import is_harness_log, read_harness_log
from calibrant.scale.keys import ranks_of
from calibrant.scale.numbers import features_of, fetch, fetch_good, first_text, numbers_in_sql, texts_in_rows
from calibrant.scale.readers import (
    Dialect,
    arrow_reader,
    arrow_table,
    dialect_of,
    folder_columns,
    input_files,
    json_keys,
    kind_of,
    looks_like,
    maybe_twins,
    parquet_names,
    selected,
    text_source,
)
from calibrant.scale.tables import BoolArray, Chosen, Rows, Table
from calibrant.scale.whole import check_pages

MANY_ROWS = 5_000_000
"""Rows of Parquet above which a file is summed where it lies."""
MANY_BYTES = 500_000_000
"""Bytes of other files above which they are."""


class OpenedFile(Table):
    """A CSV, Parquet, JSON lines or Arrow file, or a pattern of files.

    Parameters
    ----------
    path : str or path
        Its name, or a pattern.
    pos_label : label, optional
        Label of the event, where the column of outcomes holds two labels.

    Attributes
    ----------
    path, name : str
        As given, and without its folder.
    files : list of str
        The files that it stands for, found whole.
    kind : str
        Which reader takes them: csv, parquet, json or arrow.

    Raises
    ------
    FileError
        If there is no such file, or it is cut or damaged; so do the methods if it or a column cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], pos_label: Any = None) -> None:
        self.pos_label = pos_label
        self.path = os.fspath(path)
        self.name: str = Path(self.path).name
        self.files = input_files(self.path)
        self.kind = kind_of(self.path)
        self._connection = connect()
        self._checked: set[str] = set()

    def close(self) -> None:
        """Close the connection, which holds on to memory."""
        self._connection.close()

    @cached_property
    def is_harness_log(self) -> bool:
        """Whether it holds samples of lm-evaluation-harness."""
        return is_harness_log(self.files)

    @cached_property
    def summed(self) -> bool:
        """Whether it has more rows than are comfortable in memory."""
        if self.kind != "parquet":
            return sum(Path(file).stat().st_size for file in self.files) > MANY_BYTES
        with self._explained():
            query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
            ((rows,),) = self._connection.execute(query, [self._literals]).fetchall()
        return bool(rows > MANY_ROWS)

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns, and of those that its folders stand for."""
        with self._explained():
            if self.kind == "csv":
                by_case: dict[str, str] = {}  # of several files DuckDB matches names in any case
                for name in (name for dialect in self._dialects for name in dialect.names):
                    by_case.setdefault(name.casefold(), name)
                held = list(by_case.values())
            elif self.kind == "arrow":
                return list(dict.fromkeys(name for file in self.files for name in arrow_reader(file).schema.names))
            elif self.kind == "json":
                held = json_keys(self._connection, self.files)
            else:
                return list(self._parquet.columns)
        return list(dict.fromkeys([*held, *folder_columns(self.files)]))

    @cached_property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that DuckDB does not tell apart, by what they look like to it."""
        columns = self.columns
        twins: dict[str, list[str]] = {}
        folders = [] if self.kind in ("json", "arrow") else folder_columns(self.files)
        if self.kind == "csv" and not folders and not maybe_twins(columns):
            return {}
        with self._explained():
            for at, file in enumerate(self.files):
                same: dict[str, list[str]] = {}
                for name in [*self._header(at, file), *folders]:
                    same.setdefault(name.strip().casefold(), []).append(name)
                twins |= {name: several for name, several in same.items() if len(several) > 1}
        return twins

    def choose(self, **asked: Any) -> Chosen:
        """Columns as `Table.choose` takes them; what is wrong with them is the file's fault."""
        with _of_file():
            return super().choose(**asked)

    def choose_classes(self, y_prob: str | None) -> list[str] | None:
        """Columns of class probabilities."""
        with _of_file():
            return super().choose_classes(y_prob)

    def read(self, *, exclude_bad: bool = False, groups: str | None = None, **asked: Any) -> Rows:
        """Read outcomes, predictions and weights; samples of lm-evaluation-harness where no column is asked for."""
        if self.is_harness_log and asked.get("y_true") is None and asked.get("y_prob") is None:
            right, confidence = read_harness_log(self.files)
            names = {"y_true": "acc", "y_prob": "largest choice of filtered_resps"}
            return Rows(right, confidence, None, names, ("y_true", "y_prob"))
        with _of_file():
            return super().read(exclude_bad=exclude_bad, groups=groups, **asked)

    def arrays(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Numbers of columns as float64."""
        with self._explained():
            relation = self._rows(list(names.values()))
            return fetch(relation, names, self._numbers(relation, names), len(self.files))

    def good_arrays(self, names: Mapping[str, str]) -> tuple[dict[str, Any], BoolArray]:
        """Numbers of columns as float64 in the rows that are good, and which are."""
        with self._explained():
            relation = self._rows(list(names.values()))
            return fetch_good(relation, self._numbers(relation, names))

    def with_features(
        self, names: Mapping[str, str], features: Sequence[str], option: str, *, exclude_bad: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Numbers of columns as float64, and columns of features as Arrow."""
        self.require(features, option)
        with self._explained():
            relation = self._rows([*names.values(), *features])
            numbers = self._numbers(relation, names)
            if self.kind == "json":
                relation = json_segments(relation, list(features), option)
            keys = features_of(relation, features, as_text=self.kind == "csv")
            if not exclude_bad:
                return fetch(relation, names, numbers, len(self.files)), keys, 0
            arrays, good = fetch_good(relation, numbers)
            return arrays, {name: column.filter(good) for name, column in keys.items()}, int((~good).sum())

    def ranks(self, name: str, option: str) -> IntArray:
        """Number of each row's value in a column of keys."""
        with self._explained():
            relation = self._rows([name])
            if self.kind == "json":
                relation = json_segments(relation, [name], option)
            keys = relation.project(f"{quoted(name)} AS _s0").to_arrow_table()
        with _of_file():
            return ranks_of(in_arrow(nw.from_native(keys, eager_only=True), {}, {"_s0": "_s0"}, option))

    def require(self, names: Sequence[str], option: str) -> None:
        """As `Table.require`; of a file it is a FileError."""
        with _of_file():
            super().require(names, option)

    def groups(
        self,
        names: Mapping[str, str],
        by: Sequence[str],
        resolution: int,
        *,
        exclude_bad: bool = False,
        option: str = "by",
    ) -> Groups:
        """Sums of cells by one GROUP BY; never loaded."""
        self.require(by, option)
        with self._explained(), self._in_any_order():
            relation = self._rows([*names.values(), *by])
            numbers = self._numbers(relation, names)
            if self.kind == "json":
                relation = json_segments(relation, list(dict.fromkeys(by)), option)
            found = nw.from_native(group_relation(relation, numbers, by, resolution, option), eager_only=True)
            if not exclude_bad and self._as_text:
                self._refuse_text(relation, names, numbers, missing_values(found))
        with _of_file():
            return good_groups(found, exclude_bad, "file")

    @property
    def _as_text(self) -> bool:
        return self.kind in ("csv", "json")

    @property
    def _literals(self) -> list[str]:
        return [literal(file) for file in self.files]

    @cached_property
    def _dialects(self) -> list[Dialect]:
        return [dialect_of(self._connection, file) for file in self.files]

    @cached_property
    def _parquet(self) -> Any:
        folders = bool(folder_columns(self.files))
        return self._connection.read_parquet(
            self._literals, union_by_name=len(self.files) > 1, hive_partitioning=folders
        )

    def _header(self, at: int, file: str) -> list[str]:
        """Names as one file holds them, before DuckDB makes them distinct."""
        if self.kind == "parquet":
            return parquet_names(self._connection, file)
        if self.kind == "arrow":
            return list(arrow_reader(file).schema.names)
        if self.kind == "json":
            return self.columns
        source = self._dialects[at].source([file], header=False)
        lines = self._connection.sql(f"SELECT * FROM {source} LIMIT 1").fetchall()
        return [name for line in lines for name in line if name is not None]

    def _rows(self, wanted: Sequence[str]) -> Any:
        """These columns as a relation; numbers in text files stay text."""
        if self.kind == "csv":
            return self._connection.sql(selected(text_source(self.files, self._dialects), wanted))
        if self.kind == "json":
            columns = dict.fromkeys(wanted, "JSON")
            return self._connection.read_json(self._literals, columns=columns, union_by_name=len(self.files) > 1)
        if self.kind == "arrow":
            table = arrow_table([arrow_reader(file) for file in self.files], dict.fromkeys(wanted))
            return self._connection.from_arrow(table)
        unchecked = set(wanted) - self._checked
        for file in self.files if unchecked else ():
            check_pages(self._connection, file, unchecked)
        self._checked |= unchecked
        return self._parquet

    def _numbers(self, relation: Any, names: Mapping[str, str]) -> dict[str, str]:
        return numbers_in_sql(relation, names, as_text=self._as_text, pos_label=self.pos_label)

    def _refuse_text(
        self, relation: Any, names: Mapping[str, str], numbers: Mapping[str, str], missing: Sequence[str]
    ) -> None:
        """Say of rows without a number that they hold text, where they do."""
        for argument in missing:
            found = first_text(relation, names[argument], numbers[argument])
            if found is not None:
                raise texts_in_rows(argument, names, *found)

    @contextmanager
    def _in_any_order(self) -> Iterator[None]:
        self._connection.execute("SET preserve_insertion_order = false")
        try:
            yield
        finally:
            self._connection.execute("SET preserve_insertion_order = true")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the readers raise into a message."""
        import duckdb

        try:
            yield
        except (duckdb.Error, ValueError, TypeError, RuntimeError, OSError) as problem:
            # A RuntimeError: DuckDB quotes what it found in the file, which need not be text.
            if isinstance(problem, InputError | RecursionError) or lacks_memory(problem):
                raise  # which says nothing about the file
            said = f"{self.path!r} cannot be read as {self.kind}: {shortened(problem)}"
            raise FileError("file", said + looks_like(self.files[0], self.kind)) from None
        except ModuleNotFoundError as problem:
            if problem.name != "pyarrow":
                raise
            raise FileError(
                "file", f"{self.path!r}: Arrow files are read by pyarrow; install it with pip install pyarrow"
            ) from None


@contextmanager
def _of_file() -> Iterator[None]:
    """What cannot be used is in a file."""
    try:
        yield
    except FileError:
        raise
    except InputError as problem:
        raise FileError(problem.argument, problem.problem, row=problem.row, allowed=problem.allowed) from None
