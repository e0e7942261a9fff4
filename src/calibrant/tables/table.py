"""A table as every road gives it: named columns, whose rows are read or summed."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import NOT_NULL, IntArray
from calibrant.door.errors import NO_VALUE, InputError
from calibrant.door.identity import Identity
from calibrant.door.premises import Followed
from calibrant.door.request import in_list
from calibrant.sketch.cells import numbers_of as numbers_of_keys
from calibrant.sketch.cells import refuse_far, told_apart
from calibrant.sketch.groups import Groups
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.columns import (
    USUAL_NAMES,
    asked_columns,
    choose_columns,
    listed,
    perhaps_groups,
    present,
    refuse_twins,
    refuse_unspoken_weights,
)
from calibrant.tables.identities import NOTHING, Begun

if TYPE_CHECKING:
    from calibrant.door.classes import MulticlassSample
    from calibrant.door.request import AuditRequest
    from calibrant.tables.frames import OpenedFrame

BoolArray = npt.NDArray[np.bool_]
MANY_ROWS = 5_000_000
"""Rows of Parquet, or of a lazy table, above which they are summed where they lie rather than read."""

OF_CLASSES = " ... "
"""Stands between the names of the first and the last column of classes, where one name has to do."""
FINE = 65536
"""Cells of predictions where rows are summed."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Columns of a table: argument -> its name, and the arguments whose column was guessed by its name."""

    names: dict[str, str]
    guessed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns read from a table."""

    # y_true, y_prob: (n,), numbers as the table has them, not yet checked for range
    y_true: Any
    y_prob: Any
    sample_weight: Any  # (n,): weights, where a column holds them
    names: dict[str, str]  # argument -> column name
    guessed: tuple[str, ...]  # arguments whose column was guessed by its name
    # of classes the label of each column: the numbers in their names, or 0 to K - 1 where they are named without
    classes: tuple[int, ...] = ()
    n_excluded: int = 0  # bad rows that were left out
    groups: IntArray | None = None  # (n,): number of each row's group, where a column says it
    # how outcomes at a horizon were made of times and events; None where outcomes were given
    followed: Followed | None = None
    all_classes: MulticlassSample | None = None  # where outcomes and predictions are of the top label

    def most_weight(self, max_weight: float | None) -> float | None:
        """The most that a row can weigh, known before any was drawn: what was given, or what a horizon lets it be."""
        if self.followed is None or self.groups is not None:
            return max_weight
        return 1.0 / self.followed.least_followed


@dataclass(frozen=True, slots=True, eq=False)
class RowsWithFeatures:
    """Rows read with other columns than those of numbers."""

    arrays: dict[str, Any]  # argument -> numbers of its column
    keys: dict[str, Any]  # name -> column of a feature, as Arrow
    # (n,): number of each row's group, -1 where there is none; where groups were asked for
    group: IntArray | None = None
    n_excluded: int = 0  # bad rows that were left out

    def kept(self, good: BoolArray) -> RowsWithFeatures:
        """These rows alone."""
        arrays = {argument: np.asarray(column)[good] for argument, column in self.arrays.items()}
        keys = {name: column.filter(good) for name, column in self.keys.items()}
        group = None if self.group is None else self.group[good]
        return RowsWithFeatures(arrays, keys, group, self.n_excluded + int((~good).sum()))

    def keys_in_a_frame(self) -> Any:
        """The features as the keys of `Groups` are."""
        import narwhals as nw
        import pyarrow

        keys = told_apart(nw.from_native(pyarrow.table(self.keys), eager_only=True))[0]
        refuse_far(keys, "by")
        return keys


@dataclass(frozen=True, slots=True)
class Grouping:
    """Columns whose combinations of values are segments, and the cells of predictions in each."""

    by: tuple[str, ...]
    resolution: int
    option: str = "by"  # who named the columns


class Values(NamedTuple):
    """The number of values of a column; rows with one; rows of each value, 0 where that differs; and all rows."""

    number: int
    rows: int
    of_each: int
    all_rows: int


class Table(ABC):
    """Rows under named columns, wherever they lie."""

    name: str | None = None  # what it is called in a report
    distinct: bool = False  # whether all rows are other ones, even equal ones, as the caller says
    # whether rows come in groups: a row that its group holds twice adds no evidence, and is no copy
    dependent: bool = False
    # columns of segments and periods that are asked for: rows that differ there are other ones
    row_keys: tuple[str, ...] = ()
    # sums that will be asked for: one scan can make them all
    groupings: tuple[Grouping, ...] = ()
    has_rows: ClassVar[bool] = True  # whether it has columns of rows, and not sums alone

    @property
    def is_harness_log(self) -> bool:
        """Whether it holds samples of lm-evaluation-harness."""
        return False

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of its columns."""

    @property
    @abstractmethod
    def summed(self) -> bool:
        """Whether rows are to be summed where they lie instead of read."""

    @property
    def many(self) -> bool:
        """Whether it has more rows than are comfortable in memory."""
        return self.summed

    @abstractmethod
    def lazily(
        self, names: Mapping[str, str], features: Sequence[str], option: str
    ) -> AbstractContextManager[OpenedFrame]:
        """These columns as a lazy table, while the context lasts: numbers as doubles, features as what they hold."""

    @property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that its reader does not tell apart, by what they look like to it."""
        return {}

    @property
    def n_files(self) -> int:
        """Over how many files its rows are counted, 0 where it is none."""
        return 0

    @property
    def of_distinct(self) -> bool:
        """Whether its sources were to be taken as distinct rows, now or when a sketch of them was made."""
        return self.distinct

    @property
    def compared(self) -> bool:
        """Whether its sources, or the rows of its one, are compared with one another."""
        return False

    @property
    def engine(self) -> str | None:
        """Who sums the rows, where somebody does."""
        return None

    @property
    def sources(self) -> Sequence[str]:
        """Files of this machine that it is read from: no report may replace them."""
        return ()

    @property
    def path_print(self) -> str | None:
        """Fingerprint of the real path on this machine that it is read from; None where it has none."""
        return None

    @property
    def file_prints(self) -> Mapping[str, str]:
        """File -> fingerprint, by which it is known again under any name until it is written to."""
        return {}

    def columns_of_files(self) -> Mapping[str, Sequence[str]]:
        """File -> names of its own columns, where there are several files and one may lack what others have."""
        return {}

    def check(self, request: AuditRequest) -> None:  # noqa: B027 - most can sum all that is asked for
        """Refuse what a table that is summed cannot answer. InputError naming the option."""

    def note(self, rows: str, cells: str) -> str:
        """Sentence on how its rows, so many in words, were summed into cells."""
        return f"{self.engine} summed {rows} where they lie into {cells}"

    def close(self) -> None:  # noqa: B027 - most tables hold nothing
        """Let go of what reading took; nothing more is asked of the table but its name."""

    def ids_in_order(self, names: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG002
        """Hashes of the ids or times of its rows and what they are called, as `Ordered` takes them; or nothing."""
        return {}

    def parts(self, names: Mapping[str, str], whole: Identity) -> tuple[Identity, ...]:  # noqa: ARG002
        """Identities of the files that all its rows, which are `whole`, come from, where they are known."""
        return ()

    def claims(self, names: Mapping[str, str], sketch: CalibrationSketch) -> tuple[Identity, ...]:  # noqa: ARG002
        """Identities of the sources of its sketch: of all rows, then of its parts where several are known."""
        return sketch.claims()

    def begun(
        self,
        names: Mapping[str, str],  # noqa: ARG002
        sources: Sequence[Identity],  # noqa: ARG002
        n_rows: int,  # noqa: ARG002
        *,
        exclude_bad: bool = False,  # noqa: ARG002
        distinct: bool = False,  # noqa: ARG002
    ) -> Begun:
        """The longest first part of its rows, if they are summed, that is all of one earlier source.

        Where rows are said to be distinct, only of one from the same path.
        """
        return NOTHING

    def within(
        self, names: Mapping[str, str], first: int, stop: int | None = None, *, exclude_bad: bool = False
    ) -> CalibrationSketch:
        """The sketch of the rows from one to another, of a table that may begin with the rows of an earlier source."""
        raise NotImplementedError

    @abstractmethod
    def arrays(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Argument -> numbers of its column, as the table has them."""

    @abstractmethod
    def good_arrays(self, names: Mapping[str, str]) -> tuple[dict[str, Any], BoolArray]:
        """The same in the rows that `groups` takes for good, and which are."""

    @abstractmethod
    def ranks(self, name: str, option: str) -> IntArray:
        """Number of each row's value in a column of keys, -1 where there is none; `option` is who named it."""

    def perhaps_groups(self, used: Iterable[str], *, grows: bool = False) -> str | None:
        """A column, none of those used, in which values repeat, and whose name says that rows belong together.

        Whether values repeat is not looked up where rows are summed, nor under a usual name where more rows will come
        (`grows`): the sentence is true either way. An audit and a gate of one file name the same column.
        """
        usual, ids = perhaps_groups(self.columns, set(used))
        if self.summed or (grows and usual):
            return next(iter(usual), None)
        for name in (*usual, *([] if self.is_harness_log else ids)):
            try:
                values = self.values_of(name)
            except InputError:  # what it holds is not known: it may be so, if it is called so
                if name in usual:
                    return name
                continue
            if 1 < values.number < values.rows:
                return name
        return None

    def values_of(self, name: str) -> Values:
        """The number of values of a column of keys, and of rows with one; looked up once."""
        known: dict[str, Values] = self.__dict__.setdefault("_values_of", {})
        if name not in known:
            rank = self.ranks(name, "groups")
            count = np.bincount(rank[rank >= 0])
            count = count[count > 0]
            same = count.size > 0 and bool((count == count[0]).all())
            known[name] = Values(count.size, int(count.sum()), int(count[0]) if same else 0, rank.size)
        return known[name]

    @abstractmethod
    def with_features(
        self,
        names: Mapping[str, str],
        features: Sequence[str],
        option: str,
        *,
        exclude_bad: bool = False,
        groups: str | None = None,
    ) -> RowsWithFeatures:
        """Columns as `arrays` or `good_arrays` give them, and features and groups in the same rows; `option` is who
        named the features.
        """

    @abstractmethod
    def groups(
        self,
        names: Mapping[str, str],
        by: Sequence[str],
        resolution: int,
        *,
        exclude_bad: bool = False,
        option: str = "by",
    ) -> Groups:
        """Sums of cells, by segment if columns are named; `option` is who named them."""

    def in_lots(
        self, names: Mapping[str, str], by: Sequence[str], resolution: int, *, exclude_bad: bool = False
    ) -> Iterator[Groups]:
        """As `groups`, one segment after the other; where rows are many only the sums of a few are kept at once."""
        groups = self.groups(names, by, resolution, exclude_bad=exclude_bad)
        of = numbers_of_keys(groups.keys)
        order = np.lexsort((groups.index, of))
        for part in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
            yield Groups(groups.index[part], groups.cells[part], groups.keys[part[:1].tolist()], groups.n_excluded)

    def sketched(self, names: Mapping[str, str], *, exclude_bad: bool = False) -> tuple[CalibrationSketch, int]:
        """The sketch of all good rows, and how many were left out."""
        groups = self.groups(names, (), FINE, exclude_bad=exclude_bad)
        return CalibrationSketch.from_groups(groups, names, FINE), groups.n_excluded

    def to_keep(
        self, names: Mapping[str, str], resolution: int, *, exclude_bad: bool = False
    ) -> tuple[CalibrationSketch, int]:
        """The sketch of all good rows, with what is to be known later of its sources, and how many were left out."""
        groups = self.groups(names, (), resolution, exclude_bad=exclude_bad)
        sketch = CalibrationSketch.from_groups(groups, names, resolution)
        if not groups.n_excluded:
            sketch.list_parts(self.parts(names, sketch.identity))
        sketch.distinct |= self.of_distinct
        return sketch, groups.n_excluded

    def choose(
        self,
        *,
        y_true: str | None = None,
        y_prob: str | None = None,
        sample_weight: str | None = None,
        unweighted: bool = False,
        grouped_by: Sequence[str] = (),
    ) -> Chosen:
        """Columns as asked for, or guessed by their usual names.

        A column of weights is taken by its usual name unless `unweighted` says to leave it out. Columns that rows will
        be `grouped_by` are not suspected of holding weights. Raises InputError if a column is not there, or it is not
        known which one is meant.
        """
        columns = asked_columns(y_true, y_prob, sample_weight, unweighted)
        return Chosen(*choose_columns(columns, self.columns, self.twins, grouped_by))

    def spoken(
        self, y_true: str, y_prob: str, sample_weight: str | None, unweighted: bool, grouped_by: Sequence[str] = ()
    ) -> dict[str, str]:
        """Argument -> column where each is named; one that may hold weights is asked about, unless left out.

        Raises InputError if it is both named and left out, or not spoken of.
        """
        columns = asked_columns(y_true, y_prob, sample_weight, unweighted)
        names = {argument: name for argument, name in columns.items() if name is not None}
        for argument, name in names.items():
            self.require([name], argument)
        if not unweighted:
            refuse_unspoken_weights(self.columns, {*names.values(), *grouped_by})
        return names

    def require(self, names: Sequence[str], option: str) -> None:
        """Raise unless each of the names is that of one column; `option` is who named them.

        Raises InputError if it is of none, or of several.
        """
        for name in names:
            refuse_twins(name, self.twins, option)
            present(name, self.columns, option)

    def choose_classes(self, y_prob: str | None) -> list[str] | None:
        """Columns of class probabilities, as `calibrant.tables.table.choose_classes` finds them."""
        return choose_classes(y_prob, self.columns, self.twins)

    def read(self, *, exclude_bad: bool = False, groups: str | None = None, **request: Any) -> Columns:
        """Read outcomes, predictions and weights from columns chosen as `choose` does; all rows, or the good ones.

        A row whose group is missing is bad.
        """
        roles = self.choose(**request)
        if not exclude_bad:
            arrays, good = self.arrays(roles.names), None
        else:
            arrays, good = self.good_arrays(roles.names)
        names, rank, n_bad = roles.names, None, 0 if good is None else int((~good).sum())
        if groups is not None:
            names, rank = {**names, "groups": groups}, self.ranks(groups, "groups")
            rank = rank if good is None else rank[good]
            missing = rank < 0
            if good is None or missing.all():
                _refuse_missing(groups, rank)
            if missing.any():
                arrays = {argument: np.asarray(column)[~missing] for argument, column in arrays.items()}
                rank, n_bad = rank[~missing], n_bad + int(missing.sum())
        columns = (arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"))
        return Columns(*columns, names, roles.guessed, n_excluded=n_bad, groups=rank)

    def items(self, name: str | None, beside: Mapping[str, str], *, exclude_bad: bool = False) -> list[Any] | None:
        """Ids of what rows are about, from a column beside outcomes and predictions; None where there are none."""
        if name is None:
            return None
        self.require([name], "items")
        read = {argument: column for argument, column in beside.items() if argument in ("y_true", "y_prob")}
        values: list[Any] = self.with_features(read, [name], "items", exclude_bad=exclude_bad).keys[name].to_pylist()
        return values

    def read_classes(
        self,
        columns: Sequence[str],
        *,
        y_true: str | None = None,
        sample_weight: str | None = None,
        unweighted: bool = False,
        groups: str | None = None,
    ) -> Columns:
        """Read labels, weights, groups and these columns of class probabilities."""
        request = asked_columns(y_true, columns[0], sample_weight, unweighted)
        rest = [name for name in self.columns if name not in columns[1:]]
        roles, guessed = choose_columns(request, rest, self.twins, () if groups is None else (groups,))
        arguments = {f"y_prob_{i}": name for i, name in enumerate(columns)}
        others = {argument: name for argument, name in roles.items() if argument != "y_prob"}
        try:
            arrays = self.arrays({**others, **arguments})
        except InputError as problem:
            if problem.argument not in arguments:
                raise
            raise type(problem)("y_prob", problem.problem, row=problem.row, allowed=problem.allowed) from None
        table: npt.NDArray[Any] = np.column_stack([arrays[argument] for argument in arguments])
        shown = {**roles, "y_prob": f"{columns[0]}{OF_CLASSES}{columns[-1]}"}
        rank = None
        if groups is not None:
            shown["groups"], rank = groups, self.ranks(groups, "groups")
            _refuse_missing(groups, rank)
        weight = arrays.get("sample_weight")
        return Columns(arrays["y_true"], table, weight, shown, guessed, numbers_of(columns), groups=rank)


def _refuse_missing(groups: str, rank: IntArray) -> None:
    if (rank < 0).any():
        row = int(np.argmax(rank < 0))
        raise InputError("groups", f"column {groups!r}: {NO_VALUE.format(row)}", row=row, allowed=NOT_NULL)


_NUMBERED = re.compile(r"(?P<stem>.*?)_?(?P<number>\d+)")
_STEMS = {"p", "prob", "probs", "proba", "probability", "y_prob", "y_score", "score", "class"}


def choose_classes(y_prob: str | None, names: Sequence[str], twins: Mapping[str, list[str]]) -> list[str] | None:
    """Return the columns of class probabilities; None where there is one column of predictions.

    `y_prob` may list names with commas, or hold a pattern such as ``p*``; without it, columns whose names are a usual
    stem and consecutive numbers are taken (p0 ... p9), unless a column has a usual name of single predictions. Raises
    InputError if a pattern fits fewer than two columns, or it is not known which columns are meant: names that the
    reader does not tell apart, two of one number, or two stems with several columns.
    """
    columns = _asked(y_prob, names)
    for name in columns or ():
        refuse_twins(name, twins, "y_prob")
    if columns is not None and (y_prob is None or "," not in y_prob):
        _refuse_one_number(columns)
    return columns


def numbers_of(columns: Sequence[str]) -> tuple[int, ...]:
    """Label of each column: the numbers in their names, or 0 to K - 1 where one has none or shares it."""
    numbers = [number for number in map(_number, columns) if number is not None]
    return tuple(numbers) if len(set(numbers)) == len(columns) else tuple(range(len(columns)))


def _asked(y_prob: str | None, columns: Sequence[str]) -> list[str] | None:
    if y_prob is None:
        usual = USUAL_NAMES["y_prob"]
        return None if any(name.lower() in usual for name in columns) else _numbered(columns)
    if y_prob in columns:
        return None
    if "," in y_prob:
        names = [present(name.strip(), columns, "y_prob") for name in in_list(y_prob)]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError("y_prob", f"lists {twice[0]!r} twice; each class has a column of its own")
        return names
    if not any(mark in y_prob for mark in "*?["):
        return None
    matches = [name for name in columns if fnmatchcase(name, y_prob)]
    if len(matches) < 2:
        raise InputError("y_prob", f"the pattern {y_prob!r} fits {len(matches)} columns; there are {listed(columns)}")
    return sorted(matches, key=_in_order)


def _numbered(columns: Sequence[str]) -> list[str] | None:
    """Columns p0, p1, ... from 0 or 1 upwards without a gap, if one stem alone has several."""
    stems: dict[str, list[str]] = {}
    for name in columns:
        match = _NUMBERED.fullmatch(name)
        if match is not None and match["stem"].lower() in _STEMS:
            stems.setdefault(match["stem"].lower(), []).append(name)
    several = [sorted(names, key=_in_order) for names in stems.values() if len(names) > 1]
    families = [names for names in several if _without_a_gap(names)]
    if not families:
        return None
    if len(several) > 1:
        every = listed([name for names in several for name in names])
        raise InputError("y_prob", f"could be several of {every}; name those of one predictor")
    return families[0]


def _without_a_gap(names: Sequence[str]) -> bool:
    numbers = sorted({_number(name) or 0 for name in names})
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _refuse_one_number(names: Sequence[str]) -> None:
    """Raise if two columns, in order, have the number of one class."""
    for name, other in pairwise(names):
        if _number(name) is not None and _number(name) == _number(other):
            reason = f"{name!r} and {other!r} have one number, and could be one class"
            raise InputError("y_prob", f"{reason}; list the columns to use, of {listed(names)}")


def _number(name: str) -> int | None:
    match = _NUMBERED.fullmatch(name)
    return None if match is None else int(match["number"])


def _in_order(name: str) -> tuple[bool, int, str]:
    number = _number(name)
    return number is None, -1 if number is None else number, name


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
