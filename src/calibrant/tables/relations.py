"""Tables that DuckDB scans: files here, and datasets of pyarrow; many rows are added up as their batches come."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray, shown
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity
from calibrant.door.overlap import Overlap, find_overlap, refuse, strongest
from calibrant.sketch.cells import arrow_numbers, ranks_of, refuse_far
from calibrant.sketch.groups import (
    Counted,
    Groups,
    Numbering,
    Weighed,
    check_sums,
    good_groups,
    missing_values,
    most_segments,
    no_rows,
    refuse_bad_rows,
)
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.duckdb import (
    connect,
    feature_sql,
    features_of,
    fetch,
    fetch_good,
    first_bad,
    first_text,
    from_0,
    group_relation,
    in_plain_arrow,
    keep_groups_in_arrays,
    numbers_in_sql,
    plain,
    quoted,
    refuse_nested,
    texts_in_rows,
)
from calibrant.tables.folders import StampedFiles, folder_columns
from calibrant.tables.formats.base import Format
from calibrant.tables.identities import repeats
from calibrant.tables.kinds import KeysOfFiles
from calibrant.tables.table import BoolArray, Chosen, Grouping, RowsWithFeatures, Table

if TYPE_CHECKING:
    from calibrant.door.request import AuditRequest
    from calibrant.tables.frames import OpenedFrame


class InDuckDB(Table):
    """Rows that DuckDB reads or sums."""

    path: str  # as given
    files: StampedFiles  # the files that it stands for; every read ends with a look at their stamps
    format: type[Format]  # their format

    def __init__(self, pos_label: Any = None, connection: Any = None) -> None:
        self.pos_label = pos_label
        self._once = False
        self._within: tuple[int, int | None] | None = None
        self._begun: Overlap | None = None  # a file that begins with all rows of another
        self._found: list[tuple[str, Identity]] = []
        self._ready: dict[tuple[Any, ...], Scanned | None] = {}  # sums that a scan made beside others
        self._connection = connect() if connection is None else connection

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
        """Fingerprint of each of its files."""
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
    def _keys_of_files(self, names: Sequence[str]) -> KeysOfFiles:
        """These columns of keys in each file, where files may differ in their types."""

    def _keyed(self, numbers: Sequence[str], keys: Sequence[str]) -> Any:
        """As `_rows`, where keys are asked for: those of all files are of one kind, and each is kept as it is."""
        of_files = self._keys_of_files(keys)
        of_files.check_kinds(keys)
        relation = self._rows(numbers, keys)
        of_files.check_exact(keys, dict(zip(relation.columns, map(str, relation.types), strict=True)))
        return relation

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
        self, names: Mapping[str, str], first: int, stop: int | None = None, *, exclude_bad: bool = False
    ) -> CalibrationSketch:
        """The sketch of the rows from one to another, in their order; bad ones are counted on the way."""
        self._within = first, stop
        try:
            return self.sketched(names, exclude_bad=exclude_bad)[0]
        finally:
            self._within = None

    def _count_once(self, names: Mapping[str, str], arrays: Mapping[str, Any] | None = None) -> None:
        """Refuse, once, files that hold the same rows, and one whose rows, which are these, are there twice.

        Raises FileError naming them.
        """
        if self._once or self.distinct or "y_true" not in names:
            return
        self._once = True
        if self.n_files < 2 and (self.dependent or (self.summed if arrays is None else not repeats(arrays))):
            return
        with self._explained():
            self._found = self._identities(names)
        self._refuse_copies(self._found)

    def _refuse_copies(self, contents: Sequence[tuple[str, Identity]]) -> None:
        folders = [sorted(part for part in Path(file).parts[:-1] if "=" in part) for file, _ in contents]
        overlap = find_overlap(
            [[each] for _, each in contents],
            apart=lambda one, other: folders[one] != folders[other],
            dependent=self.dependent,
        )
        begun = self._begun
        if begun is not None and not begun.certain and folders[begun.one] != folders[begun.others[0]]:
            begun = None
        overlap = strongest([overlap, begun])
        refuse(overlap, [repr(file or (self.files or [self.path])[0]) for file, _ in contents], FileError, "file")

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
            relation = self._keyed(list(names.values()), features)
            numbers = self._numbers(relation, names)
            relation = self.format.typed_keys(relation, features, option)
            told_apart = option in ("by", "drift", "items")  # by each value as it is written, as `groups` has them
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
            relation = self._keyed(list(names.values()), features)
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
            relation = self._keyed([], [name])
            relation = self.format.typed_keys(relation, [name], option)
            keys = in_plain_arrow(relation.project(quoted(name)), option)
        from calibrant.tables.frames import in_arrow

        with of_file():
            return ranks_of(in_arrow(nw.from_native(keys, eager_only=True), {}, {"_s0": name}, option))

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
        """Sums of cells by one scan, or of few rows and very many segments by one GROUP BY; never loaded.

        The first scan makes those of `groupings` as well, and they are ready when they are asked for.
        """
        import narwhals as nw

        self.require(by, option)
        grouping, scanned = Grouping(tuple(by), resolution, option), None
        with self._explained():
            with nullcontext() if self._within else self._in_any_order():
                if self.summed:
                    scanned = self._scanned_once(names, grouping, exclude_bad=exclude_bad)
                if scanned is None:
                    relation, numbers = self._summable(names, by, option)
                    cells = nw.from_native(group_relation(relation, numbers, by, resolution, option), eager_only=True)
            if not exclude_bad and (scanned is None or scanned.n_bad):  # the first is found where rows keep their order
                if scanned is not None:
                    (relation, numbers), cells = self._summable(names, by, option), scanned.bad_rows
                self._refuse_bad(relation, names, numbers, cells)
        self._count_once(names)
        with of_file():
            if scanned is None:
                return good_groups(cells, exclude_bad, "file", f"{self.path!r} ", option=option)
            groups = scanned.groups()
            if groups is None:
                raise InputError("file", f"{self.path!r} {no_rows(exclude_bad)}")
            return groups

    def _scanned_once(self, names: Mapping[str, str], grouping: Grouping, *, exclude_bad: bool) -> Scanned | None:
        """Sums of this grouping; the scan that makes them also makes those that will be asked for. None as `scan`."""
        of = frozenset(names.items()), exclude_bad, self._within
        if (grouping, *of) not in self._ready:
            beside = () if self._within else tuple(each for each in self.groupings if each != grouping)
            try:
                relation, numbers = self._summable(names, _columns_of((grouping, *beside)), grouping.option)
            except InputError:  # of one of those beside it, perhaps: who asks for it will be told
                beside = ()
                relation, numbers = self._summable(names, grouping.by, grouping.option)
            each_scanned = scan(relation, numbers, (grouping, *beside))
            self._ready = {(each, *of): sums for each, sums in zip((grouping, *beside), each_scanned, strict=True)}
        scanned = self._ready.pop((grouping, *of))
        if scanned is None:
            keep_groups_in_arrays(self._connection)
        return scanned

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
                (scanned,) = scan(relation, numbers, [Grouping(tuple(by), resolution)], numbering)
                if scanned is not None and scanned.n_bad and not exclude_bad:
                    self._refuse_bad(relation, names, numbers, scanned.bad_rows)
            if scanned is None:
                yield from super().in_lots(names, by, resolution, exclude_bad=exclude_bad)
                return
            self._count_once(names)
            with of_file():
                yield from scanned.each()
            more, scanned = scanned.more, None  # whose memory the next scan takes
            numbering.go_on()

    def _summable(self, names: Mapping[str, str], by: Sequence[str], option: str) -> tuple[Any, dict[str, str]]:
        """The rows to sum as a relation, and numbers in SQL."""
        relation = self._keyed(list(names.values()), by)
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


BATCH = 122_880
"""Rows of a batch, DuckDB's own number: the columns of more leave a processor's cache before they are added up."""
MOST_BYTES = 64_000_000
"""Memory of the sums that are kept at once; of sums of weights or rates, whose cells are larger, twice as much."""
MOST_SCANS = 16
"""Scans that together take about the time of a GROUP BY."""
_ROLES = ("y_true", "y_prob", "sample_weight")
_NO_WEIGHT, _OF_ONE = np.empty(0), np.empty(0, np.int32)


@dataclass(slots=True)
class Scanned:
    """Sums of the rows of some segments, all of them unless `more`."""

    sums: Counted | Weighed  # the sums
    faults: npt.NDArray[np.int64]  # (7,): bad rows by their faults
    keys: Any  # of each segment
    more: bool  # whether there are segments that are not among them

    @property
    def n_bad(self) -> int:
        """Bad rows."""
        return int(self.faults.sum())

    @property
    def bad_rows(self) -> Any:
        """Bad rows as `refuse_bad_rows` takes them."""
        import narwhals as nw
        import pyarrow

        codes = np.flatnonzero(self.faults)
        columns = [arrow_numbers(-codes), arrow_numbers(self.faults[codes])]
        return nw.from_native(pyarrow.table(columns, ["_cell", "count"]), eager_only=True)

    def groups(self, first: int = 0, last: int | None = None) -> Groups | None:
        """Cells of these segments, all by default; None where no row is good."""
        import narwhals as nw

        segment, index, cells = self.sums.cells(first, max(1, len(self.keys)) if last is None else last)
        if not index.size:
            return None
        check_sums(cells, self.sums.heaviest)
        if not self.keys.num_columns:
            return Groups(index, cells, nw.from_native(_without_columns(index.size), eager_only=True), self.n_bad)
        if last is None:  # in the order of the keys; that in which they were met is another in each run
            order = np.argsort(self._rank()[segment], kind="stable")
            segment, index, cells = segment[order], index[order], cells[order]
        keys = self.keys.take(arrow_numbers(segment))
        return Groups(index, cells, nw.from_native(keys, eager_only=True), self.n_bad)

    def _rank(self) -> IntArray:
        """Of each segment its place among all by their keys, as SQL sorts them."""
        import pyarrow.compute as pc

        ascending = [(name, "ascending") for name in self.keys.column_names]
        rank = np.empty(len(self.keys), np.int64)
        rank[np.from_dlpack(pc.sort_indices(self.keys, ascending))] = np.arange(rank.size)
        return rank

    def each(self) -> Iterator[Groups]:
        """Cells of one segment after the other."""
        for at in range(len(self.keys)):
            groups = self.groups(at, at + 1)
            if groups is not None:
                yield groups
            del groups  # while the next are made


def scan(
    relation: Any, numbers: Mapping[str, str], groupings: Sequence[Grouping], numbering: Numbering | None = None
) -> list[Scanned | None]:
    """Add up rows by cell within the segments of each grouping; `numbers` are DOUBLE expressions by argument.

    Those of segments that `numbering` has no place for are left out. None for a grouping whose keys are such as Arrow
    does not number, or are too many: the scan goes on without it, and stops where none is left.
    """
    columns = [f"{numbers[argument]} AS {argument}" for argument in _ROLES if argument in numbers]
    place = {name: len(columns) + at for at, name in enumerate(_columns_of(groupings))}
    columns += [f"{quoted(name)} AS _s{at}" for name, at in place.items()]
    rows = relation.project(", ".join(columns))
    weighted = "sample_weight" in numbers
    for rates in (weighted, True):
        parts = []
        for each in groupings:
            n_segments = 1
            if each.by:
                n_segments = most_segments(each.resolution, (1 + rates) * MOST_BYTES, weighted=rates)
            of = Numbering() if numbering is None else numbering
            of.start(n_segments)
            sums: Counted | Weighed = (Weighed if rates else Counted)(n_segments, each.resolution)
            parts.append(_Sums([place[name] for name in each.by], of, sums, np.zeros(7, np.int64)))
            try:
                refuse_nested(relation, each.by, each.option)
            except InputError:  # the GROUP BY tells whoever asks for them
                parts[-1].given_up = True
        if _add_batches(rows, len(numbers), parts):
            return [part.scanned(each.option) for part, each in zip(parts, groupings, strict=True)]
    raise AssertionError


def _columns_of(groupings: Iterable[Grouping]) -> list[str]:
    """The columns of them all, each once."""
    return list(dict.fromkeys(name for each in groupings for name in each.by))


@dataclass(slots=True, eq=False)
class _Sums:
    """The sums of one grouping, while batches are added."""

    places: list[int]  # of the columns of its keys in a batch
    numbering: Numbering
    sums: Counted | Weighed
    faults: npt.NDArray[np.int64]
    given_up: bool = False

    def add(self, y: FloatArray, v: FloatArray, w: FloatArray, batch: Any) -> bool:
        """Add rows, unless their keys have no number; False where an outcome is a rate that has no place."""
        import pyarrow

        of: npt.NDArray[np.int32] | None = _OF_ONE
        if self.places:
            try:
                of = self.numbering.numbers([batch.column(at) for at in self.places])
            except pyarrow.ArrowNotImplementedError:  # keys of a kind that it does not number
                of = None
        self.given_up = of is None
        return of is None or self.sums.add(y, v, w, of, self.faults)

    def scanned(self, option: str) -> Scanned | None:
        """The sums of all rows; None where they were given up, or hold keys that are refused."""
        import narwhals as nw

        if self.given_up:
            return None
        try:
            keys = plain(self.numbering.keys(len(self.places)), option)
            refuse_far(nw.from_native(keys, eager_only=True), option)
        except InputError:  # as above
            return None
        return Scanned(self.sums, self.faults, keys, self.numbering.more)


def _add_batches(rows: Any, n_numbers: int, parts: Sequence[_Sums]) -> bool:
    """Whether all rows were added; not where an outcome is a rate and the sums have no place for it."""
    with rows.to_arrow_reader(BATCH) as reader:
        for batch in reader:
            y, v, *weight = (_numbers(batch.column(at)) for at in range(n_numbers))
            for part in parts:
                if not part.given_up and not part.add(y, v, weight[0] if weight else _NO_WEIGHT, batch):
                    return False
            if all(part.given_up for part in parts):
                return True
    return True


def _numbers(column: Any) -> npt.NDArray[np.float64]:
    """Doubles of Arrow as an array, NaN for null; by DLPack, as `to_numpy` loads pandas."""
    if column.null_count:
        import pyarrow.compute as pc

        column = pc.fill_null(column, np.nan)
    return np.asarray(np.from_dlpack(column), np.float64)


def _without_columns(n: int) -> Any:
    import pyarrow

    return pyarrow.table({"_": pyarrow.nulls(n)}).select([])
