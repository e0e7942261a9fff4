"""Whether files that are read as one table hold one kind of keys in a column, and all of them are kept exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calibrant.door.errors import FileError
from calibrant.tables.duckdb import NUMBERS, quoted

_ZONED = "times with a zone"
_KINDS = {
    **dict.fromkeys((*NUMBERS - {"BOOLEAN"}, "DECIMAL"), "numbers"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "texts"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "times without a zone"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), _ZONED),
    **dict.fromkeys(("TIME", "TIME_NS"), "times of day"),
    **{"BOOLEAN": "truth values", "BLOB": "bytes", "INTERVAL": "durations"},
}
"""DuckDB's types, and what kind of keys they hold; any other type is a kind of its own."""
_ALIKE = "write this column with one type in all files that are read as one table"


def _kind(of: str) -> str:
    return _KINDS.get(of.partition("(")[0], of)


@dataclass(frozen=True, slots=True, eq=False)
class KeysOfFiles:
    """Columns of several files that hold keys.

    Readers cast what files hold to one type. Numbers that differ may be one number then, and a time without a zone is
    read in the zone of the machine.
    """

    types: Mapping[str, Mapping[str, str]]  # file -> its columns -> their types in DuckDB
    values: Callable[[str, str], Any]  # of a file and a column of it, the column as a relation

    def check_kinds(self, names: Iterable[str]) -> None:
        """Refuse a column that holds several kinds of keys; one without any value in a file is of any kind there.

        Raises FileError naming the column, two files and the types.
        """
        for name in dict.fromkeys(names):
            types = self._with_values(name)
            (file, of), *others = types.items() or [("", "")]
            for other, its in others:
                if _kind(its) != _kind(of):
                    reason = f"column {name!r} holds {_kind(of)} in {file!r} ({of}) and {_kind(its)} in {other!r}"
                    raise FileError("file", f"{reason} ({its})", allowed=_ALIKE)

    def check_exact(self, names: Iterable[str], together: Mapping[str, str]) -> None:
        """Refuse a column with a key that another one may be equal to in all files together; these have other types.

        Raises FileError naming the column, the key, its file, another one and the types.
        """
        read = {name.casefold(): of for name, of in together.items()}
        for name in dict.fromkeys(names):
            types, one = self._with_values(name), read[name.casefold()]
            for file, of in types.items() if len(set(self._of(name).values())) > 1 else ():
                lost = None if of == one else self._lost(file, name, of, one)
                if lost is not None:
                    other, its = next(each for each in self._of(name).items() if each[1] != of)
                    reason = f"column {name!r} is {of} in {file!r} and {its} in {other!r}; together they are read as"
                    raise FileError("file", f"{reason} {one}, which does not keep {lost:.40}", allowed=_ALIKE)

    def _of(self, name: str) -> dict[str, str]:
        """File -> the type of a column, where it has that."""
        columns = {file: {each.casefold(): of for each, of in types.items()} for file, types in self.types.items()}
        return {file: each[name.casefold()] for file, each in columns.items() if name.casefold() in each}

    def _with_values(self, name: str) -> dict[str, str]:
        """The same of files with values in it, where there are several kinds."""
        types = self._of(name)
        if len(set(map(_kind, types.values()))) < 2:
            return types
        known = f"{quoted(name)} IS NOT NULL"
        return {file: of for file, of in types.items() if self.values(file, name).filter(known).limit(1).fetchall()}

    def _lost(self, file: str, name: str, of: str, one: str) -> str | None:
        """A value of the column in a file, as text, that is another one once it was of the type of all."""
        if (_kind(of) == _ZONED) != (_kind(one) == _ZONED):
            return "what the clock shows in each time zone"
        column = quoted(name)
        lost = f"TRY_CAST(TRY_CAST({column} AS {one}) AS {of}) IS DISTINCT FROM {column}"
        rows = self.values(file, name).filter(lost).project(f"CAST({column} AS VARCHAR)").limit(1).fetchall()
        return str(rows[0][0]) if rows else None
