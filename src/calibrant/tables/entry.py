"""The entry of tables: a file, a folder, a pattern, a dataset, a frame or sketches; files are opened once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from calibrant.door.arguments import flag
from calibrant.door.errors import FileError, InputError, Ways
from calibrant.door.identity import HEAD, Identity, fingerprint, identities
from calibrant.door.overlap import find_overlap, refuse
from calibrant.door.request import LOG
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.columns import same_names
from calibrant.tables.duckdb import lacks_memory, shortened
from calibrant.tables.folders import StampedFiles, check_folder_columns, check_same, folder_columns
from calibrant.tables.formats.base import (
    as_read,
    is_compressed,
    refuse_long_decimals,
    schemas,
    types_in_duckdb,
    without_halves,
)
from calibrant.tables.formats.json_rows import harness_items, is_harness_log, read_harness_log
from calibrant.tables.formats.registry import FORMATS, format_of_all, format_of_dataset, looks_like
from calibrant.tables.identities import NOTHING, Begun, Ordered, hashed, ids_of, ordered, suspects, together
from calibrant.tables.inputs import input_files, name_of, on_filesystem
from calibrant.tables.kinds import KeysOfFiles
from calibrant.tables.relations import InDuckDB, of_file
from calibrant.tables.sketches import COLUMN, ROWS, KeptSketches, hold_sketches
from calibrant.tables.table import MANY_ROWS, Columns, Table, take_as_distinct


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
_PATIENCE = 15.0  # seconds for which a server may be silent


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


MANY_BYTES = 500_000_000
"""Bytes of other files above which they are."""
_FEW_FILES = 256  # files up to which the first rows of each are read beside


class OpenedFile(InDuckDB):
    """A CSV, Parquet, JSON lines or Arrow file, or a folder or a pattern of such files.

    Parameters
    ----------
    path : str or path
        Its name, or that of a folder, or a pattern.
    pos_label : label, optional
        Label of the event, where the column of outcomes holds two labels.
    files : StampedFiles, optional
        What `input_files` gave for the name, where it was asked already.

    Attributes
    ----------
    path, name : str
        As given, and without its folder; a pattern has its folders in both.
    files : StampedFiles
        The files that it stands for, found whole; every read ends with a look at their stamps.
    format : type of Format
        The one format that they have.

    Raises
    ------
    FileError
        If there is no such file, or it is cut or damaged; so do the methods if it or a column cannot be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pos_label: Any = None,
        files: StampedFiles | None = None,
        connection: Any = None,
    ) -> None:
        super().__init__(pos_label, connection)
        self.path = os.fspath(path)
        self.name: str = name_of(self.path)
        self.files: StampedFiles = input_files(self.path) if files is None else files
        self.format = format_of_all(self.files, self.path)
        check_folder_columns(self.files, self.path)
        self._reader = self.format(self._connection, self.files)
        self._checked: set[str] = set()

    @property
    def sources(self) -> list[str]:
        """The files, which no report may replace."""
        return self.files

    @property
    def path_print(self) -> str:
        """Fingerprint of its real path, or of its folder's or pattern's."""
        return fingerprint(os.path.realpath(self.path))

    @cached_property
    def is_harness_log(self) -> bool:
        """Whether it holds samples of lm-evaluation-harness."""
        with self._explained():
            return is_harness_log(self.files)

    @cached_property
    def summed(self) -> bool:
        """Whether it has more rows than are comfortable in memory."""
        if not self.format.counts_rows:
            return sum(Path(file).stat().st_size for file in self.files) > MANY_BYTES
        with self._explained():
            return sum(self._reader.row_counts().values()) > MANY_ROWS

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns, and of those that its folders stand for."""
        with self._explained():
            return self._reader.columns

    @cached_property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that DuckDB does not tell apart, by what they look like to it."""
        with self._explained():
            folders = self._reader.folders if self.format.folders_are_twins else []
            twins: dict[str, list[str]] = {}
            for header in self._reader.headers:
                twins |= same_names([*header, *folders], len(folders))
            return twins

    def columns_of_files(self) -> Mapping[str, Sequence[str]]:
        """File -> names of its own columns, of several files."""
        if len(self.files) < 2:
            return {}
        with self._explained():
            return dict(zip(self.files, self._reader.headers, strict=True))

    def read(self, *, exclude_bad: bool = False, groups: str | None = None, **request: Any) -> Columns:
        """Read outcomes, predictions and weights; samples of lm-evaluation-harness where no column is asked for."""
        if self.is_harness_log and request.get("y_true") is None and request.get("y_prob") is None:
            with self._explained():
                right, confidence = read_harness_log(self.files)
                sizes = [len(right)]
                if len(self.files) > 1:
                    sizes = [len(read_harness_log([file])[0]) for file in self.files]
            if not self.distinct:
                sources = identities(right, confidence, sizes=sizes)
                refuse(find_overlap([[each] for each in sources]), list(map(repr, self.files)), FileError, "file")
            names = {"y_true": "acc", "y_prob": "largest choice of filtered_resps"}
            return Columns(right, confidence, None, names, ("y_true", "y_prob"))
        with of_file():
            return super().read(exclude_bad=exclude_bad, groups=groups, **request)

    def items(self, name: str | None, beside: Mapping[str, str], *, exclude_bad: bool = False) -> list[Any] | None:
        """As `Table.items`; of a log what tells its documents apart."""
        if self.is_harness_log and beside.get("y_prob") not in self.columns:
            if name is not None:
                raise InputError("items", LOG)
            return harness_items(self.files)
        with of_file():
            return super().items(name, beside, exclude_bad=exclude_bad)

    def ordered(self, names: Mapping[str, str]) -> Ordered:
        """Rows in order, with what their identities need."""
        keys = self._keys_of_rows(names)
        ids = ids_of(self.columns, names, keys)
        several = len(self.files) > 1
        with self._explained():
            relation = self._rows(list(names.values()), [*ids, *keys], with_file=several)
            by_hash = dict(zip(map(self._hash_of, self.files), self.files, strict=True)) if several else None
            return ordered(relation, self._numbers(relation, names), ids, self.format.name, by_hash, keys)

    def ids_in_order(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Hashes of the ids or times of its rows and what they are called, where such a column is there."""
        if self.is_harness_log or not ids_of(self.columns, names):
            return {}
        rows = self.ordered(names)
        return {"ids": rows.ids, "ids_name": rows.ids_name, "numbered": rows.numbered}

    def begun(
        self,
        names: Mapping[str, str],
        sources: Sequence[Identity],
        n_rows: int,
        *,
        exclude_bad: bool = False,
        distinct: bool = False,
    ) -> Begun:
        """The longest first part of many rows that is all of one earlier source."""
        may = [each.path == self.path_print or not distinct for each in sources]
        some = [each for each, may_be in zip(sources, may, strict=True) if may_be and each.count <= n_rows]
        some = self._that_begin_alike(names, some) if some else []
        for count, n_excluded in sorted({(each.count, each.n_excluded) for each in some}, reverse=True):
            try:
                first = self.within(names, 0, count + n_excluded, exclude_bad=exclude_bad).identity
            except FileError:  # no row of these is good
                continue
            for at, each in enumerate(sources):
                if may[at] and each.equals(first) and each.n_excluded == n_excluded:
                    return Begun(count, (at,))
        return NOTHING

    def _that_begin_alike(self, names: Mapping[str, str], sources: Sequence[Identity]) -> list[Identity]:
        """Sources whose first rows may be those of the first file, and those that were read from the same path."""
        with self._explained():
            headed = self._headed(self.files[0], names, Identity(1, None, None, 0.0))
        return [each for each in sources if each.head is None or each.begins_as(headed) or each.path == self.path_print]

    def parts(self, names: Mapping[str, str], whole: Identity) -> tuple[Identity, ...]:
        """Identities of its files, unless they are so many rows that only all of them are known."""
        if not self.summed:
            return tuple(each for _, each in self._found or self.ordered(names).named())
        if len(self.files) > 1:
            return ()
        with self._explained():
            return (self._headed(self.files[0], names, whole),)

    def _hash_of(self, file: str) -> int:
        ((number,),) = self._connection.execute("SELECT hash(?)", [file]).fetchall()
        return int(number)

    def _identities(self, names: Mapping[str, str]) -> list[tuple[str, Identity]]:
        if not self.summed:
            rows = self.ordered(names)
            pairs = rows.named()
            self._begun = rows.find_grown([each for _, each in pairs])
            return pairs
        known = self._hashed(names)
        return [(file, self._headed(file, names, known.get(file))) for file in self.files]

    def _hashed(self, names: Mapping[str, str]) -> dict[str, Identity]:
        """File -> identity, of files whose sizes allow that they hold the same rows."""
        if self.format.counts_rows:
            counts = self._reader.row_counts()
            ends = self._reader.ends(names.get("y_prob", ""))
            numbers = suspects([counts[file] for file in self.files], 0, [ends.get(file) for file in self.files])
        elif any(map(is_compressed, self.files)):
            numbers = list(range(len(self.files)))
        else:
            numbers = suspects([Path(file).stat().st_size for file in self.files], 100)
        if not numbers:
            return {}
        keys = self._keys_of_rows(names)
        relation = self._of([self.files[at] for at in numbers])._rows([*names.values()], keys, with_file=True)
        hashes = hashed(relation, self._numbers(relation, names), keys)
        firsts: dict[tuple[int, int | None], str] = {}
        for file, each in hashes.items():
            first = firsts.setdefault((each.count, each.rows), file)
            if first is not file:
                bits = self._of([file]).sketched(names)[0].identity.bits
                hashes |= {other: replace(hashes[other], bits=bits) for other in (first, file)}
        return hashes

    def _headed(self, file: str, names: Mapping[str, str], whole: Identity | None) -> Identity:
        """With the fingerprint of the first rows, where files are few enough to open each once more."""
        whole = whole or Identity(1, None, None, 0.0)
        if len(self.files) > _FEW_FILES:
            return whole
        alone = self._of([file])
        keys = self._keys_of_rows(names)
        relation = alone._rows(list(names.values()), keys).limit(HEAD)
        ((_, begun),) = ordered(relation, self._numbers(relation, names), (), self.format.name, keys=keys).named()
        return replace(whole, head=begun.head, head_bits=begun.head_bits)

    def _of(self, files: Sequence[str]) -> OpenedFile:
        """Some of its files; another connection to the same database, as each of its own takes 15 ms."""
        alone = OpenedFile(self.path, self.pos_label, self.files.part(files), self._connection.cursor())
        alone.distinct, alone._checked = True, set(self._checked)
        return alone

    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = (), *, with_file: bool = False) -> Any:
        names, reader = [*numbers, *keys], self._reader
        new = set(names) - self._checked
        if new and len(self.files) > 1:
            folders = {name.casefold() for name in reader.folders}
            check_same(reader.types(), [name for name in numbers if name in new and name.casefold() not in folders])
        self._check_columns(names)
        return reader.rows(names, with_file=with_file)

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse damage of columns that were not looked at before."""
        new = set(names) - self._checked
        if new:
            self._reader.check_columns(new)
        self._checked |= new

    def _keys_of_files(self, names: Sequence[str]) -> KeysOfFiles:
        folders = {name.casefold() for name in self._reader.folders}
        names = [name for name in names if name.casefold() not in folders]
        if len(self.files) < 2 or not names:
            return KeysOfFiles({}, self._reader.key_values)
        self._check_columns(names)
        return KeysOfFiles(self._reader.key_types(names), self._reader.key_values)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn any error of the readers into a message, and refuse files that are not those that were checked."""
        try:
            with self.files.unchanged():
                yield
        except Exception as problem:  # a damaged file makes readers raise anything, KeyErrors among them
            if isinstance(problem, InputError | ImportError) or lacks_memory(problem):
                raise  # which says nothing about the file
            self._reader.refuse_damage(problem)
            reason = f"{self.path!r} cannot be read as {self.format.name}: {shortened(problem)}"
            raise FileError("file", reason + looks_like(self.files[0], self.format.name)) from None


class OpenedDataset(InDuckDB):
    """A dataset of pyarrow, or files on one of its file systems.

    Attributes
    ----------
    path : str
        What it is called in messages.
    files : list of str
        Its files, where it has some.
    format : type of Format
        Their format.

    Raises
    ------
    FileError
        If a file is missing, empty, cut or damaged, or files differ; so do the methods if one cannot be read.
    """

    def __init__(self, dataset: Any, pos_label: Any = None, stamped: StampedFiles | None = None) -> None:
        super().__init__(pos_label)
        files = getattr(dataset, "files", [])
        self.files = StampedFiles(files, dataset.filesystem if files else None) if stamped is None else stamped
        self.path = PurePosixPath(self.files[0]).name if len(self.files) == 1 else "dataset"
        self.name = self.path
        self.format = format_of_dataset(dataset)
        self._dataset = dataset
        self._sizes: list[int] | None = None
        self._folders: list[str] = []
        self._headers: list[Sequence[str]] = [dataset.schema.names]
        if stamped is None:
            with self._explained():
                for file in self.files:
                    self.format.check_remote(dataset.filesystem, file)

    @classmethod
    def on(cls, filesystem: Any, path: str, pos_label: Any = None) -> OpenedDataset:
        """Open what a path, a folder or a pattern stands for on a file system.

        Raises FileError if there is no such file, files are of several kinds, or have other columns than their folders
        say.
        """
        with as_read(path, "a dataset"):
            listed = on_filesystem(filesystem, path)
            files = StampedFiles([file for file, _ in listed], filesystem)
        known = format_of_all(files, path)
        if not known.is_scanned:
            reason = f"cannot be used: {files[0]!r} is {known.name}, which is read from this machine only"
            ways = ", ".join(each.name for each in FORMATS if each.is_scanned)
            raise FileError("filesystem", reason, allowed=f"on a file system {ways}")
        check_folder_columns(files, path)
        with as_read(path, known.name, files):
            scan = known.scan(files, filesystem)
            table = cls(scan.dataset, pos_label, files)
        table.path, table.name, table.format = path, PurePosixPath(path).name, known
        table._sizes = [size for _, size in listed]
        table._folders = folder_columns(files)
        table._headers += scan.headers
        if {COLUMN, ROWS} <= set(table.columns):
            raise FileError(
                "filesystem", f"cannot be used: {path!r} holds sketches, which are read from this machine only"
            )
        return table

    @cached_property
    def summed(self) -> bool:
        """Whether it has more rows than are comfortable in memory; where counting them is to read them, bytes tell."""
        with self._explained():
            if self.format.counting_reads and self.files:
                sizes = self._sizes
                if sizes is None:
                    sizes = [int(each.size or 0) for each in self._dataset.filesystem.get_file_info(self.files)]
                return sum(sizes) > MANY_BYTES
            return bool(self._dataset.count_rows() > MANY_ROWS)

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns, and of those that its folders stand for."""
        return list(dict.fromkeys(self._dataset.schema.names))

    @cached_property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that DuckDB does not tell apart, by what they look like to it."""
        twins: dict[str, list[str]] = {}
        for header in self._headers:
            twins |= same_names(header)
        with self._explained():
            for name in self._folders:
                if any(name.casefold() in map(str.casefold, each) for each in self._held.values()):
                    twins.setdefault(name.strip().casefold(), [name]).append(f"{name} (of the folders)")
        return twins

    def columns_of_files(self) -> Mapping[str, Sequence[str]]:
        """File -> names of its own columns, of several files."""
        if len(self.files) < 2:
            return {}
        with self._explained():
            return {file: list(columns) for file, columns in self._held.items()}

    @cached_property
    def _held(self) -> dict[str, dict[str, str]]:
        """File -> its own columns -> what they hold, as `check_same` takes it."""
        return {file: _kinds(schema) for file, schema in self._schemas.items()}

    @cached_property
    def _schemas(self) -> dict[str, Any]:
        """File -> its own schema."""
        return schemas(self._dataset)

    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = ()) -> Any:
        import pyarrow

        if len(self.files) > 1:
            check_same(self._held, [name for name in numbers if name not in self._folders])
        schema = self._dataset.schema
        refuse_long_decimals(schema, [*numbers, *keys])
        half = pyarrow.float16()  # which DuckDB does not have
        if not any(schema.field(name).type == half for name in (*numbers, *keys)):
            return self._connection.from_arrow(self._dataset)
        return self._in_duckdb(self._dataset.to_table(columns=list(dict.fromkeys([*numbers, *keys]))))

    def _in_duckdb(self, table: Any) -> Any:
        return self._connection.from_arrow(table.cast(without_halves(table.schema)))

    def _keys_of_files(self, names: Sequence[str]) -> KeysOfFiles:
        files = {} if self.format.text_keys else self._schemas
        names = [name for name in names if name not in self._folders]
        types = {file: types_in_duckdb(self._connection, schema, names) for file, schema in files.items()}
        return KeysOfFiles(types if len(types) > 1 else {}, self._key_values)

    def _key_values(self, file: str, name: str) -> Any:
        part = next(each for each in self._dataset.get_fragments() if getattr(each, "path", "") == file)
        column = next(each for each in part.physical_schema.names if each.casefold() == name.casefold())
        return self._in_duckdb(part.to_table(columns=[column], schema=part.physical_schema))

    def _identities(self, names: Mapping[str, str]) -> list[tuple[str, Identity]]:
        """Identities of all files; if they are summed, of those whose counts of rows allow that they are equal."""
        self._rows(list(names.values()))  # which every file has, as numbers
        parts = list(self._dataset.get_fragments())
        if self.summed:
            counts = [int(part.count_rows()) for part in parts] if self.format.counts_rows else [0] * len(parts)
            parts = [parts[at] for at in suspects(counts, 0)]
        keys = self._keys_of_rows(names)
        ids = [] if self.summed else ids_of(self.columns, names, keys)
        columns = list(dict.fromkeys([*names.values(), *ids, *keys]))
        whole: list[tuple[str, Identity]] = []
        read = []
        for part in parts:
            relation = self._connection.from_arrow(part.to_table(columns=columns, schema=self._dataset.schema))
            rows = ordered(relation, self._numbers(relation, names), ids, self.format.name, keys=keys)
            if len(rows.v):
                whole += [(getattr(part, "path", ""), each) for _, each in rows.named()]
                read.append(rows)
        self._begun = together(read).find_grown([each for _, each in whole]) if read else None
        return whole

    def _explained(self) -> Any:
        return as_read(self.path, self.format.name, self.files)


def _kinds(schema: Any) -> dict[str, str]:
    import pyarrow

    texts = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_binary)
    return {each.name: "BYTE_ARRAY" if any(is_one(each.type) for is_one in texts) else "" for each in schema}
