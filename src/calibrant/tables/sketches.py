"""Sketches that were kept: a file of one, or Parquet with one a row, opened as a table of what their rows add up to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from calibrant.door.columns import IntArray
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity, fingerprint
from calibrant.door.overlap import find_overlap, refuse
from calibrant.door.request import OF_ROWS
from calibrant.kernels import sketching
from calibrant.sketch.cells import MEASURED, coarser, refuse_far, told_apart
from calibrant.sketch.groups import Groups
from calibrant.sketch.sketch import (
    CalibrationSketch,
    Stored,
    claims_of,
    from_bytes,
    from_parquet,
    holds_sketch,
    read_plain,
    restored,
)
from calibrant.tables.duckdb import connect, lacks_memory
from calibrant.tables.folders import StampedFiles, check_folder_columns, folder_columns, typed_folders
from calibrant.tables.formats.parquet import check_pages
from calibrant.tables.inputs import input_files, name_of
from calibrant.tables.table import BoolArray, Chosen, Table

COLUMN, ROWS = "sketch", "n_rows"
"""Columns of Parquet that hold a sketch's bytes, and how many rows it stands for."""


def hold_sketches(files: Sequence[str]) -> bool:
    """Whether files are sketches, by the ending or the schema of the first; whether they are whole is found later."""
    if files[0].lower().endswith(".sketch"):
        return True
    return files[0].lower().endswith((".parquet", ".pq")) and (holds_sketch(files[0]) or _has_column(files[0]))


def open_sketches(path: str) -> KeptSketches:
    """The sketches of a file, a folder or a pattern. FileError if they are none."""
    files = input_files(path)
    with files.unchanged():
        of_sketches = hold_sketches(files)
    if not of_sketches:
        which = f", such as {files[0]!r}" if files[0] != path else ""
        raise FileError("file", f"{path!r} holds no sketches{which}", allowed="calibrant sketch makes them of rows")
    return KeptSketches(path, files)


def _has_column(file: str) -> bool:
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file)
    except (pyarrow.ArrowException, ValueError, OSError):
        return False
    kinds = [schema.field(at).type for at in schema.get_all_field_indices(COLUMN)]
    return len(kinds) == 1 and (pyarrow.types.is_binary(kinds[0]) or pyarrow.types.is_large_binary(kinds[0]))


class KeptSketches(Table):
    """Sketches in files, with columns that say which rows each is of: a day, a segment.

    Parameters
    ----------
    path : str
        What was named.
    files : StampedFiles
        The files: each a sketch, or Parquet with a column ``sketch`` of bytes, whose other columns are keys. Folders
        such as ``day=2026-01-31`` are keys as well.

    Raises
    ------
    FileError
        If a file is cut or damaged, or sketches cannot be added, naming it and why.
    """

    has_rows = False

    def __init__(self, path: str, files: StampedFiles) -> None:
        self.path, self.files = path, files
        self.name: str | None = name_of(path)
        self._one: CalibrationSketch | None = None
        self._once = False
        self.unlisted: list[str] = []  # sketches that do not say what was added up in them
        self._of_distinct = False
        check_folder_columns(self.files, path)

    @classmethod
    def of(cls, sketch: CalibrationSketch) -> KeptSketches:
        """A sketch in memory."""
        table = cls("", StampedFiles(()))
        table._one, table.name = sketch, None
        return table

    def note(self, rows: str, cells: str) -> str:
        """Sentence on how they were added up."""
        return f"Sketches of {rows} were added up to {cells}"

    @property
    def sources(self) -> list[str]:
        """The files, which no report may replace."""
        return self.files

    @property
    def path_print(self) -> str | None:
        """Fingerprint of its real path; None of a sketch in memory."""
        return fingerprint(os.path.realpath(self.path)) if self.files else None

    @property
    def file_prints(self) -> Mapping[str, str]:
        """Fingerprint of each of its files."""
        return self.files.prints()

    @property
    def summed(self) -> bool:
        """Whether it is sums: it is."""
        return True

    @property
    def of_distinct(self) -> bool:
        """Whether they are, or were made, of rows that were to be taken as distinct; known once they are read."""
        return self.distinct or self._of_distinct

    @property
    def compared(self) -> bool:
        """Whether they are sketches of a folder or a pattern, or under keys."""
        return bool(self.files) and (len(self.files) > 1 or self.files[0] != self.path or bool(self.columns))

    @cached_property
    def columns(self) -> list[str]:
        """Names of the keys."""
        return [name for name in self.keys.column_names if name != ROWS]

    @cached_property
    def keys(self) -> Any:
        """The keys as Arrow, a row for each sketch."""
        import pyarrow

        with self.files.unchanged():
            parts = [self._keys_of(file) for file in self.files]
        try:
            table = pyarrow.concat_tables(parts, promote_options="permissive") if parts else pyarrow.table({})
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as problem:
            raise FileError("file", f"{self.path!r} holds keys of several types: {problem!s:.200}") from None
        for name, column in typed_folders(self.files, [len(part) for part in parts]).items():
            if name in table.column_names:
                raise FileError("file", f"{name!r} is a column of the files and of their folders; rename one")
            table = table.append_column(name, column)
        return table

    def _keys_of(self, file: str) -> Any:
        """Keys of the sketches in one file, which has a row for each."""
        import pyarrow
        import pyarrow.parquet

        if not _has_column(file):
            return pyarrow.table({ROWS: pyarrow.nulls(1, pyarrow.int64())})
        with _explained(file):
            names = [name for name in pyarrow.parquet.read_schema(file).names if name != COLUMN]
            check_pages(connect(), file, [*names, COLUMN])
            with pyarrow.parquet.ParquetFile(file) as reader:
                keys = reader.read(columns=names)
                n_rows = reader.metadata.num_rows
        if not n_rows:
            raise FileError("file", f"{file!r} holds no sketches")
        return keys if names else pyarrow.table({ROWS: pyarrow.nulls(n_rows, pyarrow.int64())})

    def stored(self, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, str, Stored]]:
        """Number, whereabouts and contents of each sketch, one after the other; all can be added to one another.

        Raises FileError naming the sketch that is damaged, or of another resolution than the first.
        """
        if self._one is not None:
            self._of_distinct = self._one.distinct
            yield 0, "the sketch", Stored(*self._one.__reduce__()[1])
            return
        subset = None if numbers is None else set(numbers)
        looked = numbers is None and not self._once
        names: list[str] = []
        claims: list[tuple[Identity, ...]] = []
        first: tuple[str, int] | None = None
        with self.files.unchanged():
            for at, (where, data) in enumerate(each for file in self.files for each in _each(file)):
                if subset is None or at in subset:
                    sketch = data if isinstance(data, Stored) else _decoded(data, where)
                    first = first or (where, sketch.resolution)
                    self._of_distinct |= sketch.distinct
                    if sketch.resolution != first[1]:
                        reason = f"{where} has the resolution {sketch.resolution}, and {first[0]} {first[1]}"
                        raise FileError("file", reason, allowed="sketches of one resolution can be added")
                    if looked:
                        names.append(where)
                        claims.append(claims_of(sketch))
                        self.unlisted += [where] if sketch.parts is None else []
                    yield at, where, sketch
        if looked:
            self._once = True
            self._refuse_copies(names, claims)

    def _refuse_copies(self, names: Sequence[str], claims: Sequence[tuple[Identity, ...]]) -> None:
        if self.distinct:
            return
        at = [i for i, each in enumerate(claims) if each[0].count]

        numbers = np.concatenate([np.full(len(self._keys_of(file)), n) for n, file in enumerate(self.files)])
        names_of = [set(folder_columns(self.files)) | set(self._keys_of(file).column_names) for file in self.files]

        def apart(one: int, other: int) -> bool:
            """Whether a key that both have is another one."""
            one, other = at[one], at[other]
            both = [name for name in self.columns if all(name in names_of[numbers[each]] for each in (one, other))]
            keys = self.keys.select(both).take([one, other]).to_pylist() if both else [{}, {}]
            return bool(keys[0] != keys[1])

        refuse(find_overlap([claims[i] for i in at], apart=apart), [names[i] for i in at], FileError, "file")

    def counted(self) -> tuple[tuple[str, int], ...]:
        """The rows of each file, once it is seen that none holds those of others. FileError naming those that do."""
        rows = dict.fromkeys(self.files, 0)
        ends = np.cumsum([len(self._keys_of(file)) for file in self.files])
        for at, _, sketch in self.stored():
            rows[self.files[int(np.searchsorted(ends, at, side="right"))]] += int(
                sketch.columns[:, sketching.COUNT].sum()
            )
        return tuple(rows.items())

    def sketch(self, numbers: Iterable[int] | None = None) -> CalibrationSketch:
        """All of them added up, or those of these numbers."""
        if self._one is not None:
            self._of_distinct = self._one.distinct
            return self._one
        together = CalibrationSketch.sum_of(restored(*sketch) for _, _, sketch in self.stored(numbers))
        together.distinct |= self.distinct
        return together

    def sketched(self, _names: Mapping[str, str], *, exclude_bad: bool = False) -> tuple[CalibrationSketch, int]:
        """All of them added up."""
        if exclude_bad:
            self._of_rows("exclude_bad")
        return self.sketch(), 0

    def groups(
        self,
        _names: Mapping[str, str],
        by: Sequence[str],
        resolution: int,
        *,
        exclude_bad: bool = False,
        option: str = "by",
    ) -> Groups:
        """Cells of all sketches by key, as wide as asked for.

        Raises InputError if weights cannot be used. FileError if the cells of the sketches are wider than asked for.
        """
        if exclude_bad:
            self._of_rows("exclude_bad")
        import narwhals as nw

        self.require(by, option)
        index, cells, of = [], [], []
        for at, where, sketch in self.stored():
            columns = sketch.columns[:, : len(MEASURED)]
            weighted = (columns[:, sketching.WEIGHT] != columns[:, sketching.COUNT]).any()
            if option == "drift" and weighted:
                raise InputError(option, f"the evidence counts single outcomes, and {where} holds weights")
            if sketch.resolution < resolution:
                reason = f"{where} has the resolution {sketch.resolution}, and this takes at least {resolution}"
                raise FileError("file", reason)
            number, sums = coarser(sketch.numbers, columns, sketch.resolution, resolution)
            index.append(number)
            cells.append(sums)
            of.append(np.full(number.size, at))
        rows = np.concatenate(of)
        keys = nw.from_native(self.keys.select(list(by)).rename_columns([f"_s{i}" for i in range(len(by))]).take(rows))
        keys, _ = told_apart(keys)
        refuse_far(keys, option)
        return Groups(np.concatenate(index), np.concatenate(cells), keys, 0).merged()

    def choose(
        self,
        *,
        y_true: str | None = None,
        y_prob: str | None = None,
        sample_weight: str | None = None,
        unweighted: bool = False,
        grouped_by: Sequence[str] = (),  # noqa: ARG002 - as of all tables
    ) -> Chosen:
        """No columns: they were chosen when the sketches were made. InputError if one is asked for."""
        columns = {"y_true": y_true, "y_prob": y_prob, "sample_weight": sample_weight, "unweighted": unweighted or None}
        for argument, name in columns.items():
            if name is not None:
                self._of_rows(argument)
        return Chosen({}, ())

    def choose_classes(self, y_prob: str | None) -> None:
        """No columns of classes. InputError if one is asked for."""
        if y_prob is not None:
            self._of_rows("y_prob")

    def require(self, names: Sequence[str], option: str) -> None:
        """As `Table.require`; of sketches without keys it says so."""
        if names and not self.columns:
            self._of_rows(option)
        super().require(names, option)

    def arrays(self, _names: Mapping[str, str]) -> dict[str, Any]:
        """Raise: there are no rows."""
        self._of_rows("y_prob")

    def good_arrays(self, _names: Mapping[str, str]) -> tuple[dict[str, Any], BoolArray]:
        """Raise: there are no rows."""
        self._of_rows("exclude_bad")

    def ranks(self, _name: str, option: str) -> IntArray:
        """Raise: there are no rows."""
        self._of_rows(option)

    def with_features(
        self,
        _names: Mapping[str, str],
        _features: Sequence[str],
        option: str,
        *,
        exclude_bad: bool = False,
        groups: str | None = None,
    ) -> NoReturn:
        """Raise: there are no rows."""
        self._of_rows("exclude_bad" if exclude_bad else "groups" if groups else option)

    def lazily(self, _names: Mapping[str, str], _features: Sequence[str], option: str) -> NoReturn:
        """Raise: there are no rows."""
        self._of_rows(option)

    def _of_rows(self, argument: str) -> NoReturn:
        raise InputError(argument, OF_ROWS)


class _explained:  # noqa: N801 - a context
    """Turn an error of pyarrow or DuckDB into one of the file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, _kind: Any, problem: BaseException | None, _trace: Any) -> None:
        """Say it of the file."""
        import duckdb
        import pyarrow

        known = (pyarrow.ArrowException, duckdb.Error, ValueError, OSError)
        if isinstance(problem, known) and not isinstance(problem, InputError) and not lacks_memory(problem):
            raise FileError("file", f"{self._file!r} is cut or damaged: {problem!s:.200}") from None


def _each(file: str) -> Iterator[tuple[str, bytes | Stored]]:
    """Whereabouts and bytes, or contents, of each sketch in a file."""
    import pyarrow.parquet

    if not _has_column(file):
        if file.lower().endswith(".sketch"):
            yield repr(file), read_plain(file, "a sketch")
            return
        try:
            yield repr(file), from_parquet(file)
        except FileError as problem:
            raise FileError("file", problem.problem) from None
        return
    at = 0
    with _explained(file), pyarrow.parquet.ParquetFile(file, page_checksum_verification=True) as reader:
        for batch in reader.iter_batches(batch_size=1, columns=[COLUMN]):
            for value in batch.column(0):
                where = f"{file!r}, row {at}"
                if not value.is_valid:
                    raise FileError("file", f"{where} holds no sketch", row=at)
                yield where, value.as_py()
                at += 1


def _decoded(data: bytes, where: str) -> Stored:
    try:
        return from_bytes(data)
    except InputError as problem:
        raise FileError("file", f"{where} {problem.problem}") from None
