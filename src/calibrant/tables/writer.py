"""Writing sketches: of the rows of tables, and of sketches that were kept, added up by key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.door.arguments import texts
from calibrant.door.errors import FileError, InputError
from calibrant.door.output import write_whole_bytes
from calibrant.door.values import counted
from calibrant.sketch.cells import numbers_of
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.entry import take_as_distinct
from calibrant.tables.folders import StampedFiles
from calibrant.tables.inputs import refuse_same_file
from calibrant.tables.sketches import COLUMN, ROWS, KeptSketches
from calibrant.tables.table import FINE, Table

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
