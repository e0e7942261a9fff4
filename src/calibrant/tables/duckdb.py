"""The same GROUP BY in DuckDB's own words, which costs half of what the portable one does."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.door.errors import InputError

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("UHUGEINT", "BOOLEAN"),
}
WEIGHS = "isfinite(w) AND w >= 0"
"""Whether a weight w is good, in SQL."""
_NO_MORE = "ELSE -4 END"  # without an ELSE the cell could be null, and DuckDB would not know its range


def quoted(name: str) -> str:
    """A column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def group_relation(
    relation: Any,
    numbers: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    option: str = "by",
    more: Sequence[str] = (),
) -> Any:
    """Group by cell within segments; `numbers` are DOUBLE expressions by argument. Returns a pyarrow table.

    The columns `more` are summed as well.
    """
    refuse_nested(relation, by, option)
    weighted = "sample_weight" in numbers
    segments = [f"_s{i}" for i in range(len(by))]
    rows = renamed(numbers, resolution)
    rows += [f"{quoted(name)} AS {segment}" for name, segment in zip(by, segments, strict=True)]
    rows += map(quoted, more)
    # Statistics of Parquet files leave NaN out, and DuckDB folds comparisons and isnan() by them; not isfinite().
    good = " AND ".join([within_unit("v"), within_unit("y"), *([WEIGHS] if weighted else [])])
    cell = (
        f"CASE WHEN {good} THEN CAST(floor(x) + ceil(x) AS INTEGER) "
        f"WHEN {_missing('y')} THEN -1 WHEN NOT ({within_unit('y')}) THEN -2 "
        f"WHEN {_missing('v')} THEN -3 "
        + (
            f"WHEN NOT ({within_unit('v')}) THEN -4 WHEN {_missing('w')} THEN -5 ELSE -6 END"
            if weighted
            else "ELSE -4 END"
        )
    )
    sums = sums_of(relation, numbers) | {name: f"fsum({quoted(name)})" for name in more}
    groups = ", ".join([*segments, "_cell"])
    listed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in sums.items())
    # No relation is given a name: the connection may hold a table of that name.
    cells = relation.project(", ".join(rows)).project(f"*, {cell} AS _cell").aggregate(f"{groups}, {listed}", groups)
    return in_plain_arrow(cells, option)


def refuse_nested(relation: Any, names: Sequence[str], option: str) -> None:
    """Refuse columns of keys whose values hold several. InputError naming the column."""
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    for name in names:
        if types[name].endswith("]") or types[name].startswith(("STRUCT", "MAP", "UNION", "VARIANT", "JSON")):
            content = f"{types[name]:.40}"
            raise InputError(option, f"names the column {name!r}, which holds {content}; single values are needed")


def in_plain_arrow(relation: Any, option: str) -> Any:
    """A relation's rows as Arrow, as `plain` has them."""
    return plain(relation.to_arrow_table(), option)


def plain(table: Any, option: str) -> Any:
    """A table of Arrow that DuckDB gave: instants are in UTC, and durations are such that they can be sorted and kept.

    Raises InputError if a duration is longer than microseconds can count.
    """
    import pyarrow

    for at, field in enumerate(table.schema):
        column = table.column(at)
        if getattr(field.type, "tz", None) is not None:  # the connection's zone, which is the machine's
            column = column.cast(pyarrow.timestamp(field.type.unit, "UTC"))
        elif pyarrow.types.is_interval(field.type):
            durations = [each and _microseconds(*each) for each in column.to_pylist()]
            try:
                column = pyarrow.array(durations, pyarrow.int64()).cast(pyarrow.duration("us"))
            except (OverflowError, pyarrow.ArrowInvalid):
                raise InputError(option, "names a column of durations of which one is over 290,000 years") from None
        table = table.set_column(at, field.name, column)
    return table


def _microseconds(months: int, days: int, nanoseconds: int) -> int:
    """A duration as DuckDB compares it: a month has 30 days."""
    return (30 * months + days) * 86_400_000_000 + nanoseconds // 1000


def renamed(numbers: Mapping[str, str], resolution: int) -> list[str]:
    """Outcome y, prediction v, its place x among the cells, and weight w, in SQL."""
    rows = [f"{numbers['y_true']} AS y", f"{numbers['y_prob']} AS v", f"{numbers['y_prob']} * {resolution} AS x"]
    return rows + ([f"{numbers['sample_weight']} AS w"] if "sample_weight" in numbers else [])


def sums_of(relation: Any, numbers: Mapping[str, str]) -> dict[str, str]:
    """Name -> sum over the rows of a cell, in SQL."""
    weighted = "sample_weight" in numbers
    w = "w * " if weighted else ""
    # Offsets within a cell are of little weight: what compensation saves there is far below the cell's own bound.
    add = "fsum" if weighted else "sum"
    sums = {
        "count": "count(*)",
        "weighted_outcome": f"fsum({w}y)",
        "offset": f"{add}({w}(x - floor(x)))",
        "outcome_offset": f"{add}({w}y * (x - floor(x)))",
        "low": "min(v)",
        "high": "max(v)",
    }
    if weighted:
        sums |= {"weight": "fsum(w)", "squared_weight": "fsum(w * w)", "heaviest": "max(w)"}
    if whole_outcomes(relation, numbers["y_true"]):  # within [0, 1], so 0 or 1
        sums |= {"ones": "sum(y)", "fractional": "0"} | ({} if weighted else {"weighted_outcome": "sum(y)"})
    else:
        sums |= {"ones": "count(*) FILTER (y = 1)", "fractional": "count(*) FILTER (y <> 0 AND y <> 1)"}
    return sums


def within_unit(number: str) -> str:
    """Whether it is a number from 0 to 1, in SQL."""
    return f"isfinite({number}) AND {number} BETWEEN 0 AND 1"


def _missing(number: str) -> str:
    return f"({number} IS NULL OR NOT (isfinite({number}) OR isinf({number})))"


def first_bad(relation: Any, argument: str, number: str) -> tuple[int, float | None]:
    """The first row without a number of that argument, or with one out of range, and what it holds.

    Rows are numbered one after another, so the relation is to keep its order.
    """
    good = WEIGHS if argument == "sample_weight" else within_unit("w")
    rows = relation.project(f"{number} AS w").project("row_number() OVER () - 1 AS _row, w")
    ((row, value),) = rows.filter(f"({good}) IS NOT TRUE").limit(1).fetchall()
    return int(row), value


def whole_outcomes(relation: Any, number: str) -> bool:
    """Whether outcomes are read from a column of whole numbers or truth values."""
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return any(number == as_double(name) and kind in _INTEGERS for name, kind in types.items())


def as_double(name: str) -> str:
    """A column of numbers as DOUBLE, in SQL."""
    return f"CAST({quoted(name)} AS DOUBLE)"


_KEY_BITS = 19  # a thousand segments of 128 cells have fewer
_FEW_THREADS = 16  # each of them has such an array, of some 60 MB
_MUCH_MEMORY = 8_000_000_000  # address space that is enough for any number of threads


def connect() -> Any:
    """A database in memory that fetches nothing over a network, even if a file's name or content asks for it."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if _little_address_space():
        config["threads"] = "1"  # where one of several cannot start, DuckDB ends the process
    return duckdb.connect(config=config)


def keep_groups_in_arrays(connection: Any) -> None:
    """Have groups kept in an array instead of a hash table where their keys have few bits.

    Of many rows that halves the time; of few the array, of half a million places, takes longer than they do.
    """
    if (os.cpu_count() or 1) <= _FEW_THREADS:
        connection.execute(f"SET perfect_ht_threshold = {_KEY_BITS}")


def literal(file: str) -> str:
    """The name as a pattern that matches it alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", file)


def _little_address_space() -> bool:
    try:
        import resource
    except ImportError:  # not a system with such limits
        return False
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < _MUCH_MEMORY


def lacks_memory(problem: BaseException) -> bool:
    """Whether a failure to read says that memory ran out, and so nothing about the file."""
    import duckdb

    short = (
        isinstance(problem, duckdb.OutOfMemoryException | MemoryError)
        or getattr(problem, "errno", None) == errno.ENOMEM
    )
    return short or any(
        words in str(problem) for words in ("bad_alloc", "Out of Memory Error")
    )  # the latter in Arrow's


def shortened(problem: BaseException) -> str:
    """The part of a message that says what is wrong, without the advice and the settings that DuckDB adds."""
    lines: list[str] = []
    for line in str(problem).splitlines():
        if line.startswith(("Possible", "  file", "LINE ", "Try setting", "The search space")):
            break
        if line.strip():
            lines.append(line.strip())
    text = re.sub(r"^(\w+ )?\w+ Error: ", "", "; ".join(lines)) or type(problem).__name__
    return text.rstrip(". ") if len(text) <= 300 else f"{text[:300]}..."
