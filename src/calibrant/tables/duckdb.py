"""DuckDB's own words for the GROUP BY, which cost half of the portable ones, and for rows that hold no number."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import NOT_NULL, is_masked
from calibrant.door.errors import FileError, InputError
from calibrant.door.labels import check_two_labels
from calibrant.sketch.groups import LEAVE_OUT, is_good, no_rows, rows_are

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("UHUGEINT", "BOOLEAN"),
}
WEIGHS = "isfinite(w) AND w >= 0"
"""Whether a weight w is good, in SQL."""


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
            else "ELSE -4 END"  # without it the cell could be null, and DuckDB would not know its range
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


def lacks_memory(exception: BaseException) -> bool:
    """Whether a failure to read says that memory ran out, and so nothing about the file."""
    import duckdb

    short = (
        isinstance(exception, duckdb.OutOfMemoryException | MemoryError)
        or getattr(exception, "errno", None) == errno.ENOMEM
    )
    return short or any(
        words in str(exception) for words in ("bad_alloc", "Out of Memory Error")
    )  # the latter in Arrow's


def shortened(exception: BaseException) -> str:
    """The part of a message that says what is wrong, without the advice and the settings that DuckDB adds."""
    lines: list[str] = []
    for line in str(exception).splitlines():
        if line.startswith(("Possible", "  file", "LINE ", "Try setting", "The search space")):
            break
        if line.strip():
            lines.append(line.strip())
    text = re.sub(r"^(\w+ )?\w+ Error: ", "", "; ".join(lines)) or type(exception).__name__
    return text.rstrip(". ") if len(text) <= 300 else f"{text[:300]}..."


NUMBERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN"),
}
"""Types of numbers, apart from decimals, whose name says how many digits they have."""
# DuckDB takes 0_1 for 1.
_NUMBER_IN_TEXT = (
    "CASE WHEN contains({0}, '_') THEN NULL ELSE "
    "COALESCE(TRY_CAST({0} AS DOUBLE), CASE lower(trim({0})) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END) END"
)

FEW_TEXTS = 100
"""Texts of a column up to which they are categories, where two of them are one number."""
MANY_NUMBERS = 1_000
"""Numbers of a column above which 10.5 and 10.50 are one amount."""
# All as DuckDB writes numbers, with or without the .0 of whole ones, or with equally many decimals, which no two
# numbers of 15 digits share.
_IN_ONE_WAY = r"""
bool_and(t = CAST(x AS VARCHAR)) OR bool_and(t = regexp_replace(CAST(x AS VARCHAR), '\.0$', ''))
OR (bool_and(length(t) <= 16 AND regexp_full_match(t, '-?(0|[1-9][0-9]*)\.[0-9]+') AND NOT (x = 0.0 AND t LIKE '-%'))
AND min(length(t) - instr(t, '.')) = max(length(t) - instr(t, '.')))
"""
_WITHOUT_ZEROS = r"""regexp_replace(
regexp_replace(t, '^(-?[0-9]+(\.[0-9]*?[1-9])?)\.?0*$', '\1'), '^-0$', '0')"""
_WRITE = "write each value in one way; of codes put a letter before each, or keep them as text in Parquet"


def numbers_in_sql(relation: Any, names: Mapping[str, str], *, as_text: bool, pos_label: Any = None) -> dict[str, str]:
    """Argument -> its column as a DOUBLE in SQL, null where a text holds no number; with a label 1 where that stands.

    Raises FileError if a column that has a type holds no numbers.
    """
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    labels, numbers = {}, dict(names)
    if pos_label is not None and "y_true" in names:
        labels = {"y_true": _is_label(relation, names["y_true"], types[names["y_true"]], pos_label)}
        del numbers["y_true"]
    if as_text:
        doubles = {argument: _NUMBER_IN_TEXT.format(_text_of(name)) for argument, name in numbers.items()}
        return {argument: {**doubles, **labels}[argument] for argument in names}
    for argument, name in numbers.items():
        if types[name].split("(")[0] not in NUMBERS and not types[name].startswith("DECIMAL"):
            raise FileError(argument, _not_numbers(relation, name, types[name], _needed(argument, names)))
    doubles = {argument: as_double(name) for argument, name in numbers.items()}
    return {argument: {**doubles, **labels}[argument] for argument in names}


def _is_label(relation: Any, name: str, kind: str, label: Any) -> str:
    """In SQL, 1 where a column of two labels holds this one, null where it holds none."""
    text = f"({quoted(name)} ->> '$')" if kind == "JSON" else _text_of(name)
    event = str(label).lower() if kind == "BOOLEAN" else str(label)
    if kind in NUMBERS - {"BOOLEAN"} or kind.startswith("DECIMAL"):
        with suppress(ValueError):
            text, event = f"CAST({as_double(name)} AS VARCHAR)", str(float(event))
    labels = relation.project(f"{text} AS t").filter("t IS NOT NULL").distinct().order("t").limit(3).fetchall()
    check_two_labels(event, {text_of_label for (text_of_label,) in labels}, "more than two")
    return f"CASE WHEN {text} IS NULL THEN NULL WHEN {text} = {_literal(event)} THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def fetch(
    relation: Any, names: Mapping[str, str], numbers: Mapping[str, str], path: str, n_files: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Argument -> the numbers of its column. FileError if there are no rows, or one holds no number."""
    fetched = _fetched(relation, numbers, path)
    missing = {argument: np.ma.getmaskarray(values) for argument, values in fetched.items() if is_masked(values)}
    arrays = {argument: doubles(values) for argument, values in fetched.items()}
    if any(each.any() for each in missing.values()):
        for argument in sorted(names, key=_place):
            lacks = missing.get(argument, np.zeros(arrays[argument].size, bool))
            bad = lacks if "y_prob" not in names else lacks | ~is_good(argument, arrays[argument])
            row = int(np.argmax(bad))
            if lacks[row]:
                text = relation.project(_text_of(names[argument])).limit(1, offset=row).fetchall()
                raise _no_number(argument, names, row, text[0][0] if text else None, n_files)
            if bad.any():
                break  # a number out of range comes first, of which the door says more
    return arrays


def doubles(column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """A column that DuckDB handed over, NaN where it has no value."""
    numbers: Any = column.astype(np.float64, copy=False)
    return np.asarray(numbers.filled(np.nan) if is_masked(numbers) else numbers)


def _place(argument: str) -> int:
    """The order in which the door looks at arguments."""
    order = ("y_true", "y_prob", "sample_weight")
    return order.index(argument) if argument in order else len(order)


def fetch_good(
    relation: Any, numbers: Mapping[str, str], path: str
) -> tuple[dict[str, npt.NDArray[np.float64]], npt.NDArray[np.bool_]]:
    """Argument -> the numbers of its column in the rows that are good, and which are. FileError if no row is good."""
    arrays = {argument: doubles(values) for argument, values in _fetched(relation, numbers, path).items()}
    good = np.logical_and.reduce([is_good(argument, values) for argument, values in arrays.items()])
    if not good.any():
        raise FileError("file", f"{path!r} {no_rows(exclude_bad=True)}")
    return {argument: values[good] for argument, values in arrays.items()}, good


def feature_sql(relation: Any, names: Sequence[str], option: str, *, as_text: bool) -> dict[str, str]:
    """Name -> its column in SQL; of text files as numbers, or as times, where every text is one and none is lost.

    Raises FileError if several texts are one number, and it cannot be told which of the two is meant.
    """
    sql = {name: quoted(name) for name in names}
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    for name in names if as_text else ():
        if types[name] != "VARCHAR":  # the value that a folder stands for
            continue
        column = quoted(name)
        for kind in ("DOUBLE", "TIMESTAMP"):
            misses = f"{column} IS NOT NULL AND (TRY_CAST({column} AS {kind}) IS NULL OR contains({column}, '_'))"
            ((missed, n_texts),) = relation.aggregate(f"count(*) FILTER ({misses}), count({column})").fetchall()
            if n_texts and not missed:
                if _are_values(relation, name, kind, option):
                    sql[name] = f"TRY_CAST({column} AS {kind})"
                break
    return sql


def _are_values(relation: Any, name: str, kind: str, option: str) -> bool:
    """Whether texts that are all numbers, or times, are meant as such: not where they are few and two are one number.

    Raises FileError if that cannot be told.
    """
    column = quoted(name)
    value = f"TRY_CAST({column} AS {kind})" + (" + 0.0" if kind == "DOUBLE" else "")  # minus zero as zero
    texts = relation.filter(f"{column} IS NOT NULL").project(f"{column} AS t, {value} AS x")
    if kind == "DOUBLE" and texts.aggregate(_IN_ONE_WAY).fetchall()[0][0]:
        return True  # without a table of all numbers, of which there may be many
    written = f"x, count(*) AS n, count(DISTINCT {_WITHOUT_ZEROS}) AS ways, min(t) AS low, max(t) AS high"
    numbers = texts.distinct().aggregate(written, "x")
    ((n_texts, n_numbers, ways, twice),) = numbers.aggregate(
        "sum(n), count(*), max(ways), min({'one': low, 'other': high}) FILTER (n > 1)"
    ).fetchall()
    if twice is None:
        return True
    if n_texts <= FEW_TEXTS:
        return False
    if kind == "DOUBLE" and ways == 1 and n_numbers > MANY_NUMBERS:
        return True
    one, other = (f"{twice[which]!r:.40}" for which in ("one", "other"))
    same = "number" if kind == "DOUBLE" else "time"
    reason = f"names the column {name!r}, in which {one} and {other} are two texts and one {same}"
    raise FileError(option, reason, allowed=_WRITE)


def features_of(relation: Any, names: Sequence[str], option: str, *, as_text: bool) -> dict[str, Any]:
    """Name -> its column as Arrow, as `feature_sql` has it."""
    sql = feature_sql(relation, names, option, as_text=as_text)
    table = relation.project(", ".join(f"{each} AS {quoted(name)}" for name, each in sql.items())).to_arrow_table()
    return {name: table.column(at) for at, name in enumerate(names)}


def _fetched(relation: Any, numbers: Mapping[str, str], path: str) -> dict[str, Any]:
    fetched: dict[str, Any] = relation.project(
        ", ".join(f"{sql} AS {argument}" for argument, sql in numbers.items())
    ).fetchnumpy()
    if next(iter(fetched.values())).size == 0:
        raise FileError("file", f"{path!r} holds column names but no rows")
    return fetched


def first_text(relation: Any, name: str, number: str) -> tuple[int, str] | None:
    """Number of rows that hold a text that is no number, and one of these texts; None if none does."""
    text = _text_of(name)
    texts = relation.filter(f"{number} IS NULL AND {text} IS NOT NULL")
    ((count, shown),) = texts.aggregate(f"count(*), min({text})").fetchall()
    return (int(count), str(shown)) if count else None


def texts_in_rows(argument: str, names: Mapping[str, str], count: int, shown: str) -> FileError:
    """Say of rows that they hold text instead of a number."""
    reason = f"{in_column(argument, names)}{rows_are(count)} text, such as {shown!r:.40}; {_needed(argument, names)}"
    return FileError(argument, reason, allowed=LEAVE_OUT)


def in_column(argument: str, names: Mapping[str, str]) -> str:
    """The column of an argument, as the start of a message, where it has another name."""
    name = names.get(argument, argument)
    return "" if name == argument else f"column {name!r}: "


def from_0(n_files: int) -> str:
    """The way in which rows are counted, in words."""
    return "counted from 0" + (f" over the {n_files} files" if n_files > 1 else "")


def _no_number(argument: str, names: Mapping[str, str], row: int, text: str | None, n_files: int) -> FileError:
    """Say what is there instead of a number."""
    where = f"row {row} ({from_0(n_files)})"
    content = "is null" if text is None else f"holds text, {text!r:.40}"
    needed = NOT_NULL if text is None else _needed(argument, names) + _how_to_write(text)
    return FileError(argument, f"{in_column(argument, names)}{where} {content}", row=row, allowed=needed)


def _how_to_write(text: str) -> str:
    """Advice on writing a text that means a number, or rows."""
    text = text.strip()
    if text.startswith("{"):
        return ". In JSON every row is an object of its own: in pandas to_json(path, orient='records', lines=True)"
    plain = text.removesuffix("%").strip().replace(",", ".")
    if plain == text or not re.fullmatch(r"[+-]?\d+(\.\d+)?", plain):
        return ""
    share = Decimal(plain) / (100 if text.endswith("%") else 1)
    return f". Write {text!r} as {f'{share:f}':.20}"


def _text_of(name: str) -> str:
    return f"CAST({quoted(name)} AS VARCHAR)"


def _needed(argument: str, names: Mapping[str, str]) -> str:
    if argument != "y_true":
        return f"numbers are needed for {'y_prob' if argument.startswith('y_prob') else argument}"
    one = "y_prob" in names
    return "numbers are needed for y_true: " + (
        "1 where the event happened, 0 where not; of two labels pos_label (--pos-label) names the event's"
        if one
        else "those of the classes' columns"
    )


def _not_numbers(relation: Any, name: str, kind: str, needed: str) -> str:
    """Say what a column holds instead, with its first value."""
    column = quoted(name)
    values = relation.filter(f"{column} IS NOT NULL").project(f"CAST({column} AS VARCHAR)").limit(1).fetchall()
    text = kind == "VARCHAR" or kind.startswith("ENUM")
    shown = f", such as {values[0][0]!r:.40}" if values else ""
    way = _how_to_write(values[0][0]) if values and text else ""
    return f"column {name!r} holds {'text' if text else kind}{shown}; {needed}{way}"
