"""Sketches in files: one a file, or Parquet with one a row; opened as a table of their sums, and written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, starmap
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from calibrant.door.arguments import texts
from calibrant.door.columns import IntArray
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity, fingerprint
from calibrant.door.output import write_whole_bytes
from calibrant.door.overlap import find_overlap, refuse
from calibrant.door.request import OF_ROWS
from calibrant.door.values import counted
from calibrant.kernels import sketching
from calibrant.sketch.cells import MEASURED, arrow_numbers, coarser, numbers_of, refuse_far, told_apart
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
from calibrant.tables.formats.base import types_in_duckdb
from calibrant.tables.formats.parquet import check_pages
from calibrant.tables.inputs import input_files, name_of, refuse_same_file
from calibrant.tables.kinds import KeysOfFiles
from calibrant.tables.table import FINE, BoolArray, Chosen, Table, take_as_distinct

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


def _keys_of_files(parts: Mapping[str, Any]) -> KeysOfFiles:
    """The keys of several files, which are tables of Arrow by file, as their types are compared."""
    connection = connect()
    types = {file: types_in_duckdb(connection, part.schema, part.column_names) for file, part in parts.items()}
    return KeysOfFiles(types, lambda file, name: connection.from_arrow(parts[file].select([name])))


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
        of_files = _keys_of_files(dict(zip(self.files, parts, strict=True)))
        names = {name for part in parts for name in part.column_names}
        of_files.check_kinds(names)
        try:
            table = pyarrow.concat_tables(parts, promote_options="permissive") if parts else pyarrow.table({})
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as problem:
            raise FileError("file", f"{self.path!r} holds keys of several types: {problem!s:.200}") from None
        of_files.check_exact(names, types_in_duckdb(connect(), table.schema, names))
        for name, column in typed_folders(self.files, [len(part) for part in parts]).items():
            if name in table.column_names:
                raise FileError("file", f"{name!r} is a column of the files and of their folders; rename one")
            table = table.append_column(name, column)
        return table

    def columns_of_files(self) -> Mapping[str, Sequence[str]]:
        """File -> names of its own keys."""
        return {file: self._keys_of(file).column_names for file in self.files}

    def _keys_of(self, file: str) -> Any:
        """Keys of the sketches in one file, which has a row for each."""
        import pyarrow
        import pyarrow.parquet

        if not _has_column(file):
            return pyarrow.table({ROWS: pyarrow.nulls(1, pyarrow.int64())})
        with _explained(file):
            names = [name for name in pyarrow.parquet.read_schema(file).names if name != COLUMN]
            check_pages(connect(), [file], [*names, COLUMN])
            with pyarrow.parquet.ParquetFile(file) as reader:
                keys = reader.read(columns=names)
                n_rows = reader.metadata.num_rows
        if not n_rows:
            raise FileError("file", f"{file!r} holds no sketches")
        return keys if names else pyarrow.table({ROWS: pyarrow.nulls(n_rows, pyarrow.int64())})

    def stored(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, str, Stored]]:
        """Number, whereabouts and contents of each sketch, one after the other; all can be added to one another.

        Raises FileError naming the sketch that is damaged, or of another resolution than the first.
        """
        if self._one is not None:
            self._of_distinct = self._one.distinct
            yield 0, "the sketch", Stored(*self._one.__reduce__()[1])
            return
        subset = None if which is None else set(which)
        looked = which is None and not self._once
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

    def sketch(self, which: Iterable[int] | None = None) -> CalibrationSketch:
        """All of them added up, or those of these numbers."""
        if self._one is not None:
            self._of_distinct = self._one.distinct
            return self._one
        together = CalibrationSketch.sum_of(restored(*sketch) for _, _, sketch in self.stored(which))
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


@contextmanager
def _explained(file: str) -> Iterator[None]:
    """Turn an error of pyarrow or DuckDB into one of the file."""
    import duckdb
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, duckdb.Error, ValueError, OSError) as problem:
        if isinstance(problem, InputError) or lacks_memory(problem):
            raise
        raise FileError("file", f"{file!r} is cut or damaged: {problem!s:.200}") from None


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


def _decoded(data: bytes, file: str) -> Stored:
    try:
        return from_bytes(data)
    except InputError as problem:
        raise FileError("file", f"{file} {problem.problem}") from None


_TOLD = 20  # files that are told one by one


class Written(NamedTuple):
    """Numbers of sketches written, of their rows, and of bad rows that were left out.

    `parts` are the files that were added up, with their rows; `unlisted` those that do not say what they hold.
    """

    n_sketches: int
    n_rows: int
    n_excluded: int = 0
    parts: tuple[tuple[str, int], ...] = ()
    unlisted: tuple[str, ...] = ()

    def summary(self, path: str | os.PathLike[str]) -> str:
        """Sentences on what was written where."""
        of = f"{counted(self.n_sketches, 'sketch', 'sketches')} of {counted(self.n_rows, 'row')}"
        lines = [f"{file}: {counted(rows, 'row')}" for file, rows in self.parts[:_TOLD]]
        if len(self.parts) > _TOLD:
            rest = self.parts[_TOLD:]
            lines.append(f"{counted(len(rest), 'more file')}: {counted(sum(rows for _, rows in rest), 'row')}")
        return "\n".join([*lines, f"Wrote {path}: {of}"])


def check_place(path: str | os.PathLike[str], by: Sequence[str], overwrite: bool) -> None:
    """Refuse, before any work, a place where sketches cannot be written.

    Raises FileError if there is a file already and it is not said that it may go, or its ending is that of no such
    file.
    """
    place = Path(path)
    ending = place.suffix.lower()
    if ending not in (".sketch", ".parquet"):
        raise FileError("out", f"{str(path)!r} ends in neither .sketch nor .parquet")
    if by and ending != ".parquet":
        raise FileError("out", f"{str(path)!r} can hold one sketch; with columns name a file that ends in .parquet")
    if place.exists() and not overwrite:
        raise FileError("out", f"{str(path)!r} exists already", allowed="--overwrite replaces it")


def write_rows(
    table: Table,
    path: str | os.PathLike[str],
    *,
    names: Mapping[str, str],
    by: Sequence[str] = (),
    exclude_bad: bool = False,
) -> Written:
    """Write the sketch of a table's rows, or one for each combination of key columns; `check_place` was asked before.

    Raises InputError if a column cannot be used or rows are bad. FileError if the place cannot be written to.
    """
    _check_keys(by)
    if not by:
        sketch, n_excluded = table.to_keep(names, FINE, exclude_bad=exclude_bad)
        return _keep_one(sketch, path)._replace(n_excluded=n_excluded)
    n_excluded = 0

    def each() -> Iterator[tuple[Any, CalibrationSketch]]:
        nonlocal n_excluded
        for groups in table.in_lots(names, by, FINE, exclude_bad=exclude_bad):
            sketch = CalibrationSketch.from_groups(groups, names, FINE)
            sketch.distinct, n_excluded = table.of_distinct, groups.n_excluded
            yield groups.keys.head(1).to_arrow().rename_columns(list(by)), sketch
            del groups, sketch  # while the next are made

    written = _keep_several(each(), path)
    return written._replace(n_excluded=n_excluded)


def keep_merged(
    tables: Sequence[KeptSketches],
    path: str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    overwrite: bool = False,
    distinct: bool = False,
) -> Written:
    """Add up sketches, all of them or those of one key, and write the sum.

    Raises FileError if one is damaged or cannot be added to the others, or holds the rows of others, or the place
    cannot be written to.
    """
    import pyarrow

    check_place(path, by, overwrite)
    _check_keys(by)
    files = StampedFiles.together(each.files for each in tables)
    refuse_same_file(files)
    for each in tables:
        each.require(by, "by")
    together = KeptSketches(tables[0].path if len(tables) == 1 else "the sketches", files)
    if distinct:
        take_as_distinct([together], "SKETCH")
    parts = together.counted()
    unlisted = tuple(together.unlisted)
    if not by:
        return _keep_one(together.sketch(), path)._replace(parts=parts, unlisted=unlisted)
    import narwhals as nw

    of = numbers_of(nw.from_native(together.keys.select(list(by)), eager_only=True))
    of_keys = [np.flatnonzero(of == number) for number in range(int(of.max()) + 1)]
    keys = together.keys.select(list(by)).take(pyarrow.array([int(each[0]) for each in of_keys]))
    sketches = ((keys.slice(at, 1), together.sketch(each.tolist())) for at, each in enumerate(of_keys))
    written = _keep_several(sketches, path)
    return written._replace(parts=parts, unlisted=unlisted)


def _check_keys(by: Sequence[str]) -> None:
    texts(by, "by")
    for name in by:
        if name in (COLUMN, ROWS):
            raise InputError("by", f"names {name!r}, which is what a column of the sketches is called; rename it")


def _keep_one(sketch: CalibrationSketch, path: str | os.PathLike[str]) -> Written:
    if Path(path).suffix.lower() == ".parquet":
        sketch.to_parquet(path)
    else:
        data = sketch.to_bytes()
        write_whole_bytes(path, lambda file: file.write(data))
    return Written(1, sketch.n_rows)


def _keep_several(sketches: Iterator[tuple[Any, CalibrationSketch]], path: str | os.PathLike[str]) -> Written:
    """Parquet with keys, rows and bytes of each sketch, a row group each, under checksums; one is in memory at once."""
    import pyarrow
    import pyarrow.parquet

    keys, first = next(sketches)
    fields = [*keys.schema, pyarrow.field(ROWS, pyarrow.int64()), pyarrow.field(COLUMN, pyarrow.binary())]
    schema = pyarrow.schema(fields)
    every = chain([(keys, first)], sketches)
    del first
    counts: list[int] = []

    def row_of(key: Any, sketch: CalibrationSketch) -> Any:
        counts.append(sketch.n_rows)
        data = sketch.to_bytes()
        ends = pyarrow.py_buffer(np.array([0, len(data)], np.int32))
        stored = pyarrow.Array.from_buffers(pyarrow.binary(), 1, [None, ends, pyarrow.py_buffer(data)])
        return pyarrow.Table.from_arrays([*key.columns, arrow_numbers(np.array(counts[-1:])), stored], schema=schema)

    def write(file: Any) -> None:
        beside = schema.names[:-1]  # a dictionary of one sketch, and its ends, would be copies of it
        ways: dict[str, Any] = {"use_dictionary": beside, "write_statistics": beside, "write_page_checksum": True}
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd", **ways) as writer:
            for row in starmap(row_of, every):
                writer.write_table(row)
                del row  # while the next is made; a sketch takes some 10 MB in each form that it has

    write_whole_bytes(path, write)
    return Written(len(counts), sum(counts))
