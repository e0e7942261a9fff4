"""Tables that DuckDB scans: files on this machine, and datasets of pyarrow; what is asked of either is the same."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.door.columns import IntArray, shown
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity
from calibrant.door.overlap import Overlap, find_overlap, refuse, strongest
from calibrant.sketch.groups import Groups, good_groups, missing_values, no_rows, refuse_bad_rows
from calibrant.sketch.keys import ranks_of
from calibrant.sketch.scan import Numbering
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.arrow import in_arrow
from calibrant.tables.duckdb import (
    connect,
    first_bad,
    group_relation,
    in_plain_arrow,
    keep_groups_in_arrays,
    quoted,
)
from calibrant.tables.folders import folder_columns
from calibrant.tables.formats.base import Format
from calibrant.tables.identities import repeats
from calibrant.tables.numbers import (
    feature_sql,
    features_of,
    fetch,
    fetch_good,
    first_text,
    from_0,
    numbers_in_sql,
    texts_in_rows,
)
from calibrant.tables.scan import MANY_CELLS, MOST_SCANS, Scanned, scan
from calibrant.tables.stamps import StampedFiles
from calibrant.tables.table import BoolArray, Chosen, RowsWithFeatures, Table

if TYPE_CHECKING:
    from calibrant.door.request import AuditRequest
    from calibrant.tables.frames import OpenedFrame


class InDuckDB(Table):
    """Rows that DuckDB reads or sums.

    Attributes
    ----------
    path : str
        As given.
    files : StampedFiles
        The files that it stands for; every read ends with a look at their stamps.
    format : type of Format
        Their format.
    """

    path: str
    files: StampedFiles
    format: type[Format]

    def __init__(self, pos_label: Any = None) -> None:
        self.pos_label = pos_label
        self._once = False
        self._within: tuple[int, int | None] | None = None
        self._begun: Overlap | None = None  # a file that begins with all rows of another
        self._found: list[tuple[str, Identity]] = []
        self._connection = connect()

    def close(self) -> None:
        """Close the connection, which holds on to memory."""
        self._connection.close()

    @property
    def n_files(self) -> int:
        """Over how many files rows are counted."""
        return len(self.files)

    @property
    def compared(self) -> bool:
        """Those of several files are, and those of one that is read."""
        return len(self.files) != 1 or self.files[0] != self.path or not self.summed

    @property
    def file_prints(self) -> Mapping[str, str]:
        """Of each of its files."""
        return self.files.prints()

    @property
    def engine(self) -> str:
        """Who sums the rows."""
        return "DuckDB"

    @abstractmethod
    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = ()) -> Any:
        """These columns as a relation; numbers in text files stay text.

        Of several files each must hold the columns of numbers; one without a column of keys has none in its rows.
        """

    @abstractmethod
    def _explained(self) -> AbstractContextManager[None]:
        """Turn what the readers raise into a message."""

    @abstractmethod
    def _identities(self, names: Mapping[str, str]) -> list[tuple[str, Identity]]:
        """File -> identity, of each that may hold rows of another."""

    def check(self, request: AuditRequest) -> None:
        """Refuse groups and trials: cells do not tell them apart."""
        for option, ways in (("groups", "some of its groups, all rows of each"), ("trials", "a part of its rows")):
            if getattr(request, option):
                why = f"rows of a file as large as this are summed by cell, which does not tell {option} apart"
                raise InputError(option, why, allowed=f"audit {ways}")

    def _keys_of_rows(self, names: Mapping[str, str]) -> list[str]:
        """Columns that tell rows apart; names of folders describe files, not their rows."""
        others = {each.casefold() for each in (*folder_columns(self.files), *names.values())}
        return [name for name in dict.fromkeys(self.row_keys) if name.casefold() not in others]

    def claims(self, names: Mapping[str, str], sketch: CalibrationSketch) -> tuple[Identity, ...]:
        """Identities of all rows, and of the files that they come from where those are known."""
        whole = sketch.claims()[:1]
        return (*whole, *(part for each in whole for part in self.parts(names, each)))

    def parts(self, names: Mapping[str, str], whole: Identity) -> tuple[Identity, ...]:  # noqa: ARG002
        """Identities of its files, unless they are so many rows that only all of them are known."""
        if self.summed:
            return ()
        with self._explained():
            return tuple(each for _, each in self._found or self._identities(names))

    def within(
        self, names: Mapping[str, str], start: int, stop: int | None = None, *, exclude_bad: bool = False
    ) -> CalibrationSketch:
        """The sketch of the rows from one to another, in their order; bad ones are counted on the way."""
        self._within = start, stop
        try:
            return self.sketched(names, exclude_bad=exclude_bad)[0]
        finally:
            self._within = None

    def _count_once(self, names: Mapping[str, str], arrays: Mapping[str, Any] | None = None) -> None:
        """Refuse, once, files that hold the same rows, and one whose rows, which are these, are there twice.

        Raises
        ------
        FileError
            Naming them.
        """
        if self._once or self.distinct or "y_true" not in names:
            return
        self._once = True
        if self.n_files < 2 and (self.dependent or (self.summed if arrays is None else not repeats(arrays))):
            return
        with self._explained():
            self._found = self._identities(names)
        self._refuse_copies(self._found)

    def _refuse_copies(self, sources: Sequence[tuple[str, Identity]]) -> None:
        folders = [sorted(part for part in Path(file).parts[:-1] if "=" in part) for file, _ in sources]
        overlap = find_overlap(
            [[each] for _, each in sources],
            apart=lambda one, other: folders[one] != folders[other],
            dependent=self.dependent,
        )
        begun = self._begun
        if begun is not None and not begun.certain and folders[begun.one] != folders[begun.others[0]]:
            begun = None
        overlap = strongest([overlap, begun])
        refuse(overlap, [repr(file or (self.files or [self.path])[0]) for file, _ in sources], FileError, "file")

    def choose(self, **request: Any) -> Chosen:
        """Columns as `Table.choose` takes them; what is wrong with them is the file's fault."""
        with of_file():
            return super().choose(**request)

    def choose_classes(self, y_prob: str | None) -> list[str] | None:
        """Columns of class probabilities."""
        with of_file():
            return super().choose_classes(y_prob)

    def arrays(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Numbers of columns as float64."""
        with self._explained():
            relation = self._rows(list(names.values()))
            columns = fetch(relation, names, self._numbers(relation, names), self.path, self.n_files)
        self._count_once(names, columns)
        return columns

    def good_arrays(self, names: Mapping[str, str]) -> tuple[dict[str, Any], BoolArray]:
        """Numbers of columns as float64 in the rows that are good, and which are."""
        with self._explained():
            relation = self._rows(list(names.values()))
            columns = fetch_good(relation, self._numbers(relation, names), self.path)
        self._count_once(names, columns[0])
        return columns

    def with_features(
        self,
        names: Mapping[str, str],
        features: Sequence[str],
        option: str,
        *,
        exclude_bad: bool = False,
        groups: str | None = None,
    ) -> RowsWithFeatures:
        """Numbers of columns as float64, columns of features as Arrow, and groups as numbers."""
        self.require(features, option)
        group = None if groups is None else self.ranks(groups, "groups")
        with self._explained():
            relation = self._rows(list(names.values()), features)
            numbers = self._numbers(relation, names)
            relation = self.format.typed_keys(relation, features, option)
            told_apart = option in ("by", "items")  # by each value as it is written, as `groups` has them
            keys = features_of(relation, features, option, as_text=self.format.text_keys and not told_apart)
            if exclude_bad:
                arrays, good = fetch_good(relation, numbers, self.path)
            else:
                arrays = fetch(relation, names, numbers, self.path, self.n_files)
        self._count_once(names, arrays)
        if not exclude_bad:
            return RowsWithFeatures(arrays, keys, group)
        keys = {name: column.filter(good) for name, column in keys.items()}
        return RowsWithFeatures(arrays, keys, None if group is None else group[good], int((~good).sum()))

    @contextmanager
    def lazily(self, names: Mapping[str, str], features: Sequence[str], option: str) -> Iterator[OpenedFrame]:
        """These columns as a relation: numbers as doubles, features as `feature_sql` has them."""
        import duckdb

        from calibrant.tables.frames import OpenedFrame

        self.require(features, option)
        self._count_once(names)
        with self._explained():
            relation = self._rows(list(names.values()), features)
            numbers = self._numbers(relation, names)
            relation = self.format.typed_keys(relation, features, option)
            plain = self.pos_label is None and not self.format.text_numbers  # whole ones stay so: they add up faster
            sql = {names[argument]: quoted(names[argument]) if plain else each for argument, each in numbers.items()}
            sql |= feature_sql(relation, features, option, as_text=self.format.text_keys)
            relation = relation.project(", ".join(f"{each} AS {quoted(name)}" for name, each in sql.items()))
        try:
            with self.files.unchanged(), self._in_any_order(), of_file():
                yield OpenedFrame(relation)
        except duckdb.Error as problem:
            with self._explained():
                raise problem from None

    def ranks(self, name: str, option: str) -> IntArray:
        """Number of each row's value in a column of keys."""
        import narwhals as nw

        with self._explained():
            relation = self._rows([], [name])
            relation = self.format.typed_keys(relation, [name], option)
            keys = in_plain_arrow(relation.project(f"{quoted(name)} AS _s0"), option)
        with of_file():
            return ranks_of(in_arrow(nw.from_native(keys, eager_only=True), {}, {"_s0": "_s0"}, option))

    def require(self, names: Sequence[str], option: str) -> None:
        """As `Table.require`; of a file it is a FileError."""
        with of_file():
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
        """Sums of cells by one scan, or of few rows and very many segments by one GROUP BY; never loaded."""
        import narwhals as nw

        self.require(by, option)
        with self._explained():
            with nullcontext() if self._within else self._in_any_order():
                relation, numbers = self._summable(names, by, option)
                scanned = self._scanned(relation, numbers, by, resolution, option)
                if scanned is None:
                    cells = nw.from_native(group_relation(relation, numbers, by, resolution, option), eager_only=True)
            if not exclude_bad:
                self._refuse_bad(relation, names, numbers, cells if scanned is None else scanned.bad_rows)
        self._count_once(names)
        with of_file():
            if scanned is None:
                return good_groups(cells, exclude_bad, "file", f"{self.path!r} ", option=option)
            groups = scanned.groups()
            if groups is None:
                raise InputError("file", f"{self.path!r} {no_rows(exclude_bad)}")
            return groups

    def in_lots(
        self, names: Mapping[str, str], by: Sequence[str], resolution: int, *, exclude_bad: bool = False
    ) -> Iterator[Groups]:
        """As `groups`, one segment after the other; of many rows in a few scans, where all have a place in them."""
        if not self.summed:
            yield from super().in_lots(names, by, resolution, exclude_bad=exclude_bad)
            return
        self.require(by, "by")
        numbering, more = Numbering(MOST_SCANS), True
        while more:
            with self._explained():
                relation, numbers = self._summable(names, by, "by")
                scanned = scan(relation, numbers, by, resolution, "by", numbering)
                if scanned is not None and not exclude_bad:
                    self._refuse_bad(relation, names, numbers, scanned.bad_rows)
            if scanned is None:
                yield from super().in_lots(names, by, resolution, exclude_bad=exclude_bad)
                return
            self._count_once(names)
            with of_file():
                yield from scanned.each()
            more, scanned = scanned.more, None  # whose memory the next scan takes
            numbering.go_on()

    def _scanned(
        self, relation: Any, numbers: Mapping[str, str], by: Sequence[str], resolution: int, option: str
    ) -> Scanned | None:
        """Sums by one scan, where that is quicker than a GROUP BY: many cells of not too many segments."""
        if not self.summed:
            return None
        if resolution >= MANY_CELLS:
            scanned = scan(relation, numbers, by, resolution, option)
            if scanned is not None:
                return scanned
        keep_groups_in_arrays(self._connection)
        return None

    def _summable(self, names: Mapping[str, str], by: Sequence[str], option: str) -> tuple[Any, dict[str, str]]:
        """The rows to sum as a relation, and numbers in SQL."""
        relation = self._rows(list(names.values()), by)
        if self._within:
            start, stop = self._within
            relation = relation.limit(2**62 if stop is None else stop - start, offset=start)
        numbers = self._numbers(relation, names)
        return self.format.typed_keys(relation, list(dict.fromkeys(by)), option), numbers

    def _numbers(self, relation: Any, names: Mapping[str, str]) -> dict[str, str]:
        return numbers_in_sql(relation, names, as_text=self.format.text_numbers, pos_label=self.pos_label)

    def _refuse_bad(self, relation: Any, names: Mapping[str, str], numbers: Mapping[str, str], cells: Any) -> None:
        """Say of bad rows which is the first and what it holds; of those without a number, text where they hold it."""
        for argument in missing_values(cells) if self.format.text_numbers else ():
            text = first_text(relation, names[argument], numbers[argument])
            if text is not None:
                raise texts_in_rows(argument, names, *text)

        def first(argument: str) -> tuple[int, str, bool]:
            row, number = first_bad(relation, argument, numbers[argument])
            value = "null" if number is None else shown(number)
            where = f"row {row} ({from_0(self.n_files)}), which holds {value} in column {names[argument]!r}"
            return row, where, number is None or math.isnan(number)

        with of_file():
            refuse_bad_rows(cells, first)

    @contextmanager
    def _in_any_order(self) -> Iterator[None]:
        self._connection.execute("SET preserve_insertion_order = false")
        try:
            yield
        finally:
            self._connection.execute("SET preserve_insertion_order = true")


@contextmanager
def of_file() -> Iterator[None]:
    """Turn an error of the input into one of the file."""
    try:
        yield
    except FileError:
        raise
    except InputError as problem:
        raise FileError(problem.argument, problem.problem, row=problem.row, allowed=problem.allowed) from None
