"""Rows of several tables matched: by ids of what they are about, or in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.door.values import counted
from calibrant.findings import word_catalogue as say
from calibrant.inference.comparison.items import IN_ORDER, Matching, compared_ids, matched
from calibrant.tables.columns import item_columns
from calibrant.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table whose rows were read, what it is called, and argument -> column."""

    table: Table
    name: str
    names: Mapping[str, str]
    exclude_bad: bool = False

    @property
    def is_log(self) -> bool:
        """Whether it is a log, and no columns are named of it."""
        return self.table.is_harness_log and self.names.get("y_prob") not in self.table.columns

    def items(self, column: str | None) -> list[Any] | None:
        """Ids of its rows from a column, or of a log what tells its documents apart; None where there are none."""
        return self.table.items(column, self.names, exclude_bad=self.exclude_bad)


@dataclass(frozen=True, slots=True, eq=False)
class SharedIds:
    """Ids that two tables have in a column, as they are compared; each stands once in either.

    `column` is None of the documents of logs.
    """

    column: str | None
    first: Sequence[Any]
    second: Sequence[Any]

    @property
    def same(self) -> bool:
        """Whether both have the same ids."""
        return len(self.first) == len(self.second) and set(self.first) == set(self.second)

    @property
    def n_shared(self) -> int:
        """Number of ids that both have."""
        return len(set(self.first) & set(self.second))

    @property
    def numbers_rows(self) -> bool:
        """Whether it counts from 0 or 1 on, from row to row in both, as numbers of rows do."""
        return self.column is not None and all(
            all(str(each).isdecimal() for each in ids)
            and int(ids[0]) <= 1
            and all(int(late) == int(early) + 1 for early, late in pairwise(ids))
            for ids in (self.first, self.second)
        )

    def conflict(self, names: Sequence[str]) -> str | None:
        """The first row whose id stands in another row of the second table, in words."""
        place = {each: row for row, each in enumerate(self.second)}
        for row, each in enumerate(self.first):
            other = place.get(each, row)
            if other != row:
                ids = "documents of the logs say" if self.column is None else f"column {self.column} says"
                return f"{ids} otherwise: row {row:,} of {names[0]} is {each}, which is row {other:,} of {names[1]}"
        return None


def shared_ids(source: Source, second: Source) -> Iterator[SharedIds]:
    """Documents of logs, or columns that both have, are called as ids are, and in which each value stands once."""
    documents, others = source.items(None), second.items(None)
    ids = None if documents is None or others is None else compared_ids(documents, others)
    if ids is not None:
        yield SharedIds(None, *ids)
    for name, *sides in _columns_of_both(source, second):
        ids = compared_ids(*sides)
        if ids is not None:
            yield SharedIds(name, *ids)


def _columns_of_both(source: Source, second: Source) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Columns that both have and that are called as ids are, with their values in either."""
    used = {*source.names.values(), *second.names.values()}
    for name in item_columns(source.table.columns):
        if name in used or name not in second.table.columns:
            continue
        try:
            yield name, source.items(name) or [], second.items(name) or []
        except InputError:  # of values that no ids are
            continue


def conflict_of_order(sources: Sequence[Source]) -> tuple[str, str] | None:
    """A column of ids that says that rows do not follow one another alike: where, and what to do, in words."""
    for other in sources[1:]:
        for ids in shared_ids(sources[0], other):
            said = ids.conflict((sources[0].name, other.name))
            if said is not None and ids.column is None:
                return said, say.DOCUMENTS
            if said is not None:
                return said, say.OR_NO_ITEMS.format(column=ids.column)
        said = _conflict_of_repeated(sources[0], other)
        if said is not None:
            return said, say.OWN_IDS
    return None


def _conflict_of_repeated(source: Source, second: Source) -> str | None:
    """The first row whose id differs, of a column that has equal ids equally often in both, some of them repeatedly."""
    for name, *columns in _columns_of_both(source, second):
        sides = [list(map(str, each)) for each in columns]
        if sides[0] != sides[1] and Counter(sides[0]) == Counter(sides[1]):
            row = next(k for k, (one, other) in enumerate(zip(*sides, strict=True)) if one != other)
            of = f"row {row:,} of {source.name} is {sides[0][row]}, and that of {second.name} is {sides[1][row]}"
            return f"column {name} says otherwise: {of}"
    return None


def refuse_conflict(sources: Sequence[Source]) -> None:
    """Refuse an order of items that a column of ids contradicts."""
    conflict = conflict_of_order(sources)
    if conflict is not None:
        said, ways = conflict
        raise InputError("items", f"are said to be in order, and {said}", allowed=ways)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """How rows of several tables are of the same items.

    Attributes
    ----------
    how : str or None
        The column of ids, or "in order"; None of documents of logs.
    others : tuple of Matching
        For each row of the first table that of the same item in each of the others.
    by_user : bool
        Whether the user said how.
    """

    how: str | None
    others: tuple[Matching, ...]
    by_user: bool = False

    @property
    def repeated(self) -> bool:
        """Whether items have several rows in one table."""
        return any(each.item is not None for each in self.others)

    def sentence(self, names: Sequence[str]) -> str:
        """Say how rows of files of these names were matched, and how many of each."""
        files, n_rows = f"{', '.join(names[:-1])} and {names[-1]}", self.others[0].place.size
        rows = f"all {counted(n_rows, 'row')} of each of {files}"
        if self.how == IN_ORDER:
            why = "as was said (items)" if self.by_user else say.BY_OUTCOMES
            return say.IN_ORDER.format(why=why, rows=rows)
        by = "documents of the logs" if self.how is None else f"column {self.how}"
        said = f"Rows were matched by {by}: {rows}."
        return said + (say.REPEATED.format(how=self.how) if self.repeated else "")


@dataclass(frozen=True, slots=True)
class Pairing:
    """How rows of several files belong together, and what is known of that."""

    match: Match | None = None  # which rows are of the same items
    unmatched: str | None = None  # why rows are not compared, whatever their outcomes
    explicit: bool = False  # whether the user said how
    logs: bool = False  # whether files have no columns


UNPAIRED = Pairing()


def match_rows(
    sources: Sequence[Source], outcomes: Sequence[FloatArray], items: str | None, *, distinct: bool
) -> tuple[Match | None, str | None]:
    """How rows of files belong together, and why they cannot be compared where ids say so.

    With `distinct` the user said that all rows are other ones. Raises InputError of items that were given.
    """
    sizes = [each.size for each in outcomes]
    if items is not None:
        return match_given(sources, sizes, items), None
    same_rows = all(np.array_equal(each, outcomes[0]) for each in outcomes)
    if distinct:
        return (_in_order(sizes), None) if same_rows else (None, None)
    try:
        match = match_found(sources, sizes, "FILE", same_rows=same_rows)
    except InputError as problem:
        return None, f"{problem.problem}; {problem.allowed}"
    conflict = conflict_of_order(sources) if same_rows and match is None else None
    if conflict is None:
        return match, None
    said, ways = conflict
    return None, say.ORDER_CONFLICT.format(why=said, ways=f"{ways[0].upper()}{ways[1:]}")


def match_given(sources: Sequence[Source], sizes: Sequence[int], items: str) -> Match:
    """By a column of ids, or in order.

    Raises InputError if ids are not the same, or contradict the order.
    """
    if items != IN_ORDER:
        return _by_ids(sources, sizes, items, by_user=True)
    match = _in_order(sizes, by_user=True)
    refuse_conflict(sources)
    return match


def match_found(sources: Sequence[Source], sizes: Sequence[int], argument: str, *, same_rows: bool) -> Match | None:
    """By ids that are the same in all, but for numbers of rows, which other rows have too.

    Else in order where outcomes are the same row by row (`same_rows`) and no ids contradict it. None where nothing says
    that rows are of the same items. Raises InputError, of this argument, if they may be.
    """
    shared = [_same_ids(sources[0], other, argument, same_rows=same_rows) for other in sources[1:]]
    if shared[0] is not None and all(each is not None and each.column == shared[0].column for each in shared):
        return _by_ids(sources, sizes, shared[0].column)
    return _in_order(sizes) if same_rows and conflict_of_order(sources) is None else None


def _same_ids(source: Source, second: Source, argument: str, *, same_rows: bool) -> SharedIds | None:
    """Ids that both tables have; InputError where some are, and it is not known whether they tell items."""
    for ids in shared_ids(source, second):
        one, two = ids.first, ids.second
        if ids.numbers_rows and (same_rows or len(one) != len(two) or one[0] != two[0]):
            continue
        if ids.same and not ids.numbers_rows:
            return ids
        if ids.n_shared:
            what = "documents" if ids.column is None else f"values of column {ids.column}"
            ways = say.SAME_ITEMS
            if ids.same:
                ways = f"say --items {ids.column} if rows of one {ids.column} are of the same item"
            problem = f"{ids.n_shared:,} of {len(two):,} {what} of {second.name} stand in {source.name} too"
            raise InputError(argument, problem, allowed=ways)
    return None


def _in_order(sizes: Sequence[int], *, by_user: bool = False) -> Match:
    return Match(IN_ORDER, tuple(matched(IN_ORDER, None, (sizes[0], each)) for each in sizes[1:]), by_user)


def _by_ids(sources: Sequence[Source], sizes: Sequence[int], column: str | None, *, by_user: bool = False) -> Match:
    first, others = sources[0].items(column), []
    for other, size in zip(sources[1:], sizes[1:], strict=True):
        try:
            others.append(matched(first, other.items(column), (sizes[0], size)))
        except InputError as problem:
            of = other.name if problem.argument == "items_b" else sources[0].name
            row = f"row {problem.row}"
            where = problem.problem.replace(row, f"{row} of {of}", 1)
            said = f"of {of}: {problem.problem}" if problem.row is None else where
            raise InputError("items", said, row=problem.row, allowed=problem.allowed) from None
    return Match(column, tuple(others), by_user)


def ways_to_match(*, logs: bool) -> str:
    """What to say where rows are of the same items; a log has no columns."""
    return f"--items '{IN_ORDER}'" if logs else say.COLUMN_OF_IDS.format(in_order=IN_ORDER)


def others_in_words(name: str, *, logs: bool) -> str:
    """That rows of a baseline are taken as others than FILE's, and what to say where they are not."""
    return say.OTHER_ROWS.format(name=name, ways=ways_to_match(logs=logs))
