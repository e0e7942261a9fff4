"""The front door of tables: a file, a folder, a pattern, a frame or sketches; and sketches that are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.door.arguments import flag, texts
from calibrant.door.errors import FileError, InputError, Ways
from calibrant.door.output import write_whole_bytes
from calibrant.door.values import counted
from calibrant.sketch.cells import numbers_of
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.files import OpenedDataset, OpenedFile
from calibrant.tables.folders import StampedFiles
from calibrant.tables.inputs import input_files, refuse_same_file
from calibrant.tables.sketches import COLUMN, ROWS, KeptSketches, hold_sketches
from calibrant.tables.table import FINE, Table


def open_table(
    table: Any, *, filesystem: Any = None, pos_label: Any = None, distinct: bool = False, argument: str = "table"
) -> Table:
    """Open a table of rows under named columns, or sketches of rows.

    Parameters
    ----------
    table : str, path, dataset, table or CalibrationSketch
        The name of a file or a folder, or a pattern of files; a dataset of pyarrow; a frame or lazy table that narwhals
        takes; or a sketch.
    filesystem : FileSystem, or str, optional
        Where a name is to be looked up, as `filesystem_of` takes it; by default on this machine.
    pos_label : label, optional
        Label of the event, where the column of outcomes holds two labels.
    distinct : bool
        Whether files of equal contents hold other rows each.
    argument : str
        What the table is called in errors.

    Raises
    ------
    InputError
        If it is no table. FileError if a file cannot be read.
    """
    flag(distinct, "distinct")
    source = _open(table, filesystem, pos_label, argument)
    if distinct:
        take_as_distinct([source], argument)
    return source


def take_as_distinct(tables: Sequence[Table], argument: str) -> None:
    """Have all rows of each of these tables count as other ones, even where they are equal.

    Raises InputError if nothing compares the rows of any: they are sums, or in memory.
    """
    compared = [each for each in tables if each.compared]
    if not compared:
        reason = f"{'each ' if len(tables) > 1 else ''}{argument} is one source, whose rows are not compared"
        raise InputError(
            "distinct", f"has no effect: {reason}", allowed="it is for files of rows, and for several sketches"
        )
    for each in compared:
        each.distinct = True


def _open(table: Any, filesystem: Any, pos_label: Any, argument: str) -> Table:
    named = isinstance(table, str | os.PathLike)
    if named and not os.fspath(table).strip():
        raise InputError(argument, "is an empty name", allowed="is a variable that was to fill it not set?")
    if filesystem is not None:
        if not named:
            what = type(table).__name__
            raise InputError("filesystem", f"is for names of files, and {argument} is a {what}; leave it out")
        return OpenedDataset.on(filesystem_of(filesystem), os.fspath(table), pos_label)
    if isinstance(table, CalibrationSketch):
        return KeptSketches.of(table)
    if named:
        path = os.fspath(table)
        files = input_files(path)
        return KeptSketches(path, files) if hold_sketches(files) else OpenedFile(path, pos_label, files)
    kinds = {each.__name__ for each in type(table).mro() if each.__module__.startswith("pyarrow")}
    if "Dataset" in kinds:
        return OpenedDataset(table, pos_label)
    if kinds & {"RecordBatchReader", "Scanner"}:
        way = "table.read_all(), or the dataset itself" if "Scanner" not in kinds else "the dataset itself"
        raise InputError(argument, "is a stream, which can be read only once", allowed=way)
    from calibrant.tables.frames import OpenedFrame  # narwhals, which files can do without

    return OpenedFrame(table, argument, pos_label)


_NAMES = ("local", "s3", "gcs")
_WAYS = Ways(
    "a FileSystem of pyarrow or fsspec, an address such as 's3://bucket', or one of " + ", ".join(_NAMES),
    "an address such as 's3://bucket', or one of " + ", ".join(_NAMES),
)
_PATIENCE = 15.0
"""Seconds for which a server may be silent."""


def filesystem_of(filesystem: Any) -> Any:
    """The file system of pyarrow that is meant; keys and regions are taken from the environment, as pyarrow does.

    Raises InputError if it is none, or none of that name is known.
    """
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    kinds = type(filesystem).mro()
    if any(each.__module__.startswith("fsspec") and each.__name__ == "AbstractFileSystem" for each in kinds):
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    if not isinstance(filesystem, str):
        raise InputError("filesystem", f"is {filesystem!r:.40}", allowed=_WAYS)
    try:
        return _by_address(filesystem) if "://" in filesystem else _by_name(filesystem)
    except (OSError, ValueError, TypeError, NotImplementedError, ImportError, AttributeError) as problem:
        if isinstance(problem, InputError):
            raise
        # The address may hold a key: it is not repeated.
        reason = str(problem).replace(filesystem, "the address")
        raise InputError("filesystem", f"cannot be opened: {reason:.200}", allowed=_WAYS) from None


def _by_name(name: str) -> Any:
    from pyarrow import fs

    if name == "local":
        return fs.LocalFileSystem()
    if name == "s3":
        # pyarrow takes the server's address from the environment for addresses, but not here.
        server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return fs.S3FileSystem(
            endpoint_override=server,
            connect_timeout=_PATIENCE,
            request_timeout=4.0 * _PATIENCE,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3),
        )
    if name == "gcs":
        return fs.GcsFileSystem()
    raise InputError("filesystem", f"is {name!r:.40}, which is not known", allowed=_WAYS)


def _by_address(address: str) -> Any:
    from pyarrow import fs

    filesystem, path = fs.FileSystem.from_uri(address)
    return fs.SubTreeFileSystem(path, filesystem) if path.strip("/") else filesystem


_AT_ONCE = 1
"""Sketches of a row group, of which a reader or a writer has one in memory."""
_TOLD = 20
"""Files that are told one by one."""


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
            yield groups.keys[[0]].to_arrow().rename_columns(list(by)), sketch

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
    """Parquet with keys, rows and bytes of each sketch, in row groups of a few, under checksums."""
    import pyarrow
    import pyarrow.parquet

    keys, first = next(sketches)
    fields = [*keys.schema, pyarrow.field(ROWS, pyarrow.int64()), pyarrow.field(COLUMN, pyarrow.binary())]
    schema = pyarrow.schema(fields)
    counts: list[int] = []

    def row_of(key: Any, sketch: CalibrationSketch) -> Any:
        counts.append(sketch.n_rows)
        arrays = pyarrow.array(counts[-1:], pyarrow.int64()), pyarrow.array([sketch.to_bytes()], pyarrow.binary())
        return pyarrow.Table.from_arrays([*key.columns, *arrays], schema=schema)

    def write(file: Any) -> None:
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
            rows = starmap(row_of, chain([(keys, first)], sketches))
            while lot := list(islice(rows, _AT_ONCE)):
                writer.write_table(pyarrow.concat_tables(lot))

    write_whole_bytes(path, write)
    return Written(len(counts), sum(counts))
