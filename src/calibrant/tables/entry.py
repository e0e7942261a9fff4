"""The front door of tables: a file, a folder, a pattern, a dataset, a frame, an engine's table, or sketches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from calibrant.door.arguments import flag
from calibrant.door.errors import InputError, Ways
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.files import OpenedDataset, OpenedFile
from calibrant.tables.inputs import input_files
from calibrant.tables.sketches import KeptSketches, hold_sketches
from calibrant.tables.table import Table


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
