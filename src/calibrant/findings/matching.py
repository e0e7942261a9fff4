"""Rows of several tables matched: by ids of what they are about, or in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from calibrant.door.errors import InputError
from calibrant.door.values import counted
from calibrant.inference.comparison.items import IN_ORDER, compared_ids
from calibrant.tables.columns import item_columns
from calibrant.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table whose rows were read, what it is called, and argument -> column."""

    table: Table
    name: str
    names: Mapping[str, str]
    exclude_bad: bool = False

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
        """Whether it counts on from row to row in both, as numbers of rows do."""
        return self.column is not None and all(
            all(str(each).isdecimal() for each in ids)
            and all(int(late) == int(early) + 1 for early, late in pairwise(ids))
            for ids in (self.first, self.second)
        )

    def conflict(self, names: tuple[str, str]) -> str | None:
        """The first row whose id stands in another row of the second table, in words."""
        place = {each: row for row, each in enumerate(self.second)}
        for row, each in enumerate(self.first):
            other = place.get(each, row)
            if other != row:
                ids = "documents of the logs say" if self.column is None else f"column {self.column} says"
                return f"{ids} otherwise: row {row:,} of {names[0]} is {each}, which is row {other:,} of {names[1]}"
        return None


def shared_ids(first: Source, second: Source) -> Iterator[SharedIds]:
    """Documents of logs, or columns that both have, are called as ids are, and in which each value stands once."""
    documents, others = first.items(None), second.items(None)
    ids = None if documents is None or others is None else compared_ids(documents, others)
    if ids is not None:
        yield SharedIds(None, *ids)
    for name, *sides in _columns_of_both(first, second):
        ids = compared_ids(*sides)
        if ids is not None:
            yield SharedIds(name, *ids)


def _columns_of_both(first: Source, second: Source) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Columns that both have and that are called as ids are, with their values in either."""
    used = {*first.names.values(), *second.names.values()}
    for name in item_columns(first.table.columns):
        if name in used or name not in second.table.columns:
            continue
        try:
            yield name, first.items(name) or [], second.items(name) or []
        except InputError:  # of values that no ids are
            continue


def conflict_of_order(sources: Sequence[Source]) -> tuple[str, str] | None:
    """A column of ids that says that rows do not follow one another alike: where, and what to do, in words."""
    for other in sources[1:]:
        for ids in shared_ids(sources[0], other):
            said = ids.conflict((sources[0].name, other.name))
            if said is not None and ids.column is None:
                return said, "leave out --items, and documents are matched"
            if said is not None:
                return said, f"say --items {ids.column}; if it tells no items, leave it out of one file"
        said = _conflict_of_repeated(sources[0], other)
        if said is not None:
            return said, "put rows in one order, or give each item an id of its own and say --items COLUMN"
    return None


def _conflict_of_repeated(first: Source, second: Source) -> str | None:
    """The first row whose id differs, of a column that has equal ids equally often in both, some of them repeatedly."""
    for name, *columns in _columns_of_both(first, second):
        sides = [list(map(str, each)) for each in columns]
        if sides[0] != sides[1] and Counter(sides[0]) == Counter(sides[1]):
            row = next(k for k, (one, other) in enumerate(zip(*sides, strict=True)) if one != other)
            of = f"row {row:,} of {first.name} is {sides[0][row]}, and that of {second.name} is {sides[1][row]}"
            return f"column {name} says otherwise: {of}"
    return None


def refuse_conflict(sources: Sequence[Source]) -> None:
    """Refuse an order of items that a column of ids contradicts."""
    conflict = conflict_of_order(sources)
    if conflict is not None:
        said, ways = conflict
        raise InputError("items", f"are said to be in order, and {said}", allowed=ways)


def matching_in_words(names: Sequence[str], n_rows: int, how: str | None, *, by_user: bool) -> str:
    """Say how rows of files were matched: by a column, by documents of logs, or in order, and how many of each."""
    files = f"{', '.join(names[:-1])} and {names[-1]}"
    rows = f"all {counted(n_rows, 'row')} of each of {files}"
    if how == IN_ORDER:
        why = "as was said (items)" if by_user else "for outcomes are the same row by row"
        return f"Rows were matched in order, {why}: {rows}."
    by = "documents of the logs" if how is None else f"column {how}"
    return f"Rows were matched by {by}: {rows}."


def others_in_words(name: str) -> str:
    """That rows of a baseline are taken as others than FILE's, and what to say where they are not."""
    ways = f"--items COLUMN, a column of ids, or --items '{IN_ORDER}'"
    return f"Rows of {name} are taken as others than those of FILE. If both are of the same items, say {ways}."
