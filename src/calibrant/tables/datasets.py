"""Datasets of pyarrow: one that is given, or the files of a folder or a pattern on a file system; DuckDB scans them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from calibrant.door.errors import FileError
from calibrant.door.identity import Identity
from calibrant.tables.columns import same_names
from calibrant.tables.files import MANY_BYTES
from calibrant.tables.folders import check_folder_columns, check_same, folder_columns
from calibrant.tables.formats.base import as_read, schemas
from calibrant.tables.formats.registry import FORMATS, format_of_all, format_of_dataset
from calibrant.tables.identities import ids_of, ordered, suspects, together
from calibrant.tables.inputs import on_filesystem
from calibrant.tables.relations import InDuckDB
from calibrant.tables.sketches import COLUMN, ROWS
from calibrant.tables.stamps import StampedFiles
from calibrant.tables.table import MANY_ROWS


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

        Raises
        ------
        FileError
            If there is no such file, files are of several kinds, or have other columns than their folders say.
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

    @cached_property
    def _held(self) -> dict[str, dict[str, str]]:
        """File -> its own columns -> what they hold, as `check_same` takes it."""
        return {file: _kinds(schema) for file, schema in schemas(self._dataset).items()}

    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = ()) -> Any:
        import pyarrow

        if len(self.files) > 1:
            check_same(self._held, [name for name in numbers if name not in self._folders])
        schema = self._dataset.schema
        half = pyarrow.float16()  # which DuckDB does not have
        if not any(schema.field(name).type == half for name in (*numbers, *keys)):
            return self._connection.from_arrow(self._dataset)
        table = self._dataset.to_table(columns=list(dict.fromkeys([*numbers, *keys])))
        wider = [each.with_type(pyarrow.float32()) if each.type == half else each for each in table.schema]
        return self._connection.from_arrow(table.cast(pyarrow.schema(wider)))

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
