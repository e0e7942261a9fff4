"""Tables that an engine holds: one GROUP BY there, and only cells come back; cells of rows of trials too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.door.columns import IntArray, numbers_or_nan, read_columns
from calibrant.door.errors import InputError
from calibrant.door.identity import Identity, identities
from calibrant.door.labels import check_two_labels
from calibrant.sketch.cells import ranks_of
from calibrant.sketch.groups import Groups, good_groups, no_rows
from calibrant.tables.columns import present
from calibrant.tables.duckdb import as_double, group_relation
from calibrant.tables.table import MANY_ROWS, BoolArray, Columns, RowsWithFeatures, Table

_NUMBERS = {"y_true": "_y", "y_prob": "_v", "sample_weight": "_w"}  # what numbers are called in the queries


_ENGINES = {"pyspark": "Spark", "duckdb": "DuckDB", "dask": "Dask", "polars": "Polars", "ibis": "Ibis"}


class OpenedFrame(Table):
    """A table that pandas, polars (eager or lazy), pyarrow, DuckDB, PySpark, Dask or Ibis holds.

    Rows of a lazy one are summed where they lie.

    Raises
    ------
    InputError
        If it is no table, or has several columns of one name.
    """

    def __init__(self, frame: Any, argument: str = "table", pos_label: Any = None) -> None:
        self._argument, self.pos_label = argument, pos_label
        self._table, self._schema = _looked_at(frame, argument)

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return list(self._schema)

    @property
    def summed(self) -> bool:
        """Whether it is lazy."""
        return isinstance(self._table, nw.LazyFrame)

    @cached_property
    def many(self) -> bool:
        """Whether it is lazy and has more rows than are comfortable in memory."""
        return self.summed and self.n_rows() > MANY_ROWS

    def n_rows(self) -> int:
        """Number of rows; a lazy table counts them."""
        count = self._table.select(nw.len().alias("n"))
        return int((count.collect("pyarrow") if self.summed else count)["n"][0])

    @property
    def held(self) -> Any:
        """The table as narwhals has it."""
        return self._table

    def like(self, table: Any) -> OpenedFrame:
        """Another table of narwhals, taken as this one is."""
        return OpenedFrame(table, self._argument, self.pos_label)

    @contextmanager
    def lazily(self, names: Mapping[str, str], features: Sequence[str], option: str) -> Iterator[OpenedFrame]:
        """Itself; of two labels the outcome is 1 where the event's stands."""
        self.require(features, option)
        for argument, name in names.items():
            if argument != "y_true" or self.pos_label is None:
                _check_column(self._table, self._schema, name, argument)
        yield self if self.pos_label is None else self._labelled(names["y_true"])

    @property
    def engine(self) -> str:
        """Who sums the rows."""
        name = str(self._table.implementation)
        return _ENGINES.get(name, name)

    def parts(self, names: Mapping[str, str], whole: Identity) -> tuple[Identity, ...]:  # noqa: ARG002
        """Identity of its rows, unless it is lazy: then only their sums are known."""
        if self.summed:
            return ()
        arrays = self.arrays(names)
        columns = read_columns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"), batch=True)
        return tuple(identities(*columns))

    def arrays(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Columns as the table holds them."""
        if self.pos_label is not None and "y_true" in names:
            return self._labelled(names["y_true"]).arrays(names)
        table = self._eager(names)
        self._require_rows(table)
        return {argument: nw.to_native(table[name]) for argument, name in names.items()}

    def good_arrays(self, names: Mapping[str, str]) -> tuple[dict[str, Any], BoolArray]:
        """Columns as the table holds them, of the rows that are good, and which are."""
        if self.pos_label is not None and "y_true" in names:
            return self._labelled(names["y_true"]).good_arrays(names)
        table = self._eager(names)
        good = self._good(table, names)
        arrays = {argument: nw.to_native(table[name].filter(good)) for argument, name in names.items()}
        return arrays, np.array(good, dtype=np.bool_)

    def with_features(
        self,
        names: Mapping[str, str],
        features: Sequence[str],
        option: str,
        *,
        exclude_bad: bool = False,
        groups: str | None = None,
    ) -> RowsWithFeatures:
        """Columns as the table holds them, those of features as Arrow, and groups as numbers."""
        if self.pos_label is not None and "y_true" in names:
            labelled = self._labelled(names["y_true"])
            return labelled.with_features(names, features, option, exclude_bad=exclude_bad, groups=groups)
        self.require(features, option)
        more = [] if groups is None else [groups]
        table = self._eager({**names, **{name: name for name in [*features, *more]}})
        self._require_rows(table)
        keys = {name: keys_of(table[name], name, option) for name in features}
        group = None if groups is None else ranks_of(in_arrow(table, {}, {"_s0": groups}, "groups"))
        if not exclude_bad:
            return RowsWithFeatures(
                {argument: nw.to_native(table[name]) for argument, name in names.items()}, keys, group
            )
        good = self._good(table, names)
        arrays = {argument: nw.to_native(table[name].filter(good)) for argument, name in names.items()}
        keys = {name: column.filter(_arrow(good)) for name, column in keys.items()}
        group = None if group is None else group[np.array(good, dtype=np.bool_)]
        return RowsWithFeatures(arrays, keys, group, good.count(False))

    def _good(self, table: Any, names: Mapping[str, str]) -> list[bool]:
        """Mask of the good rows; there is one, at least."""
        self._require_rows(table)
        for argument, name in names.items():
            _check_column(table, self._schema, name, argument)
        numbers = _renamed(table, table.collect_schema(), names, ())
        good = numbers.with_columns(_fault=_fault(_columns(numbers.columns)))["_fault"] == 0
        if not good.any():
            raise InputError(self._argument, no_rows(exclude_bad=True))
        return list(good.to_list())

    def ranks(self, name: str, option: str) -> IntArray:
        """Number of each row's value in a column of keys."""
        return ranks_of(in_arrow(self._eager({option: name}), {}, {"_s0": name}, option))

    def read(self, *, exclude_bad: bool = False, groups: str | None = None, **request: Any) -> Columns:
        """As `Table.read`; a lazy table is collected once, since its rows may come in another order a second time."""
        if groups is None or not self.summed:
            return super().read(exclude_bad=exclude_bad, groups=groups, **request)
        columns = {**self.choose(**request).names, "groups": groups}
        table = OpenedFrame(self._eager(columns), self._argument, self.pos_label)
        return table.read(exclude_bad=exclude_bad, groups=groups, **request)

    def _labelled(self, name: str) -> OpenedFrame:
        """The same table with 1 where a column of two labels holds that of the event, and 0 where the other."""
        column, label = nw.col(name), self.pos_label
        distinct = self._table.select(column).filter(~column.is_null()).unique()
        distinct = distinct.collect("pyarrow") if isinstance(distinct, nw.LazyFrame) else distinct
        labels = set(distinct[name].to_list())
        check_two_labels(label, labels, f"{len(labels):,}")
        label = next((each for each in labels if each == label), label)
        event = nw.when(~column.is_null()).then((column == nw.lit(label)).cast(nw.Float64))
        return OpenedFrame(self._table.with_columns(event.alias(name)), self._argument)

    def _require_rows(self, table: Any) -> None:
        """Without rows the types of columns say nothing."""
        if isinstance(table, nw.DataFrame) and len(table) == 0:
            raise InputError(self._argument, no_rows(exclude_bad=False))

    def _eager(self, names: Mapping[str, str]) -> Any:
        if isinstance(self._table, nw.LazyFrame):
            return self._table.select(*dict.fromkeys(names.values())).collect("pyarrow")
        return self._table

    def groups(
        self,
        names: Mapping[str, str],
        by: Sequence[str],
        resolution: int,
        *,
        exclude_bad: bool = False,
        option: str = "by",
        more: Sequence[str] = (),
    ) -> Groups:
        """Sums of cells by one GROUP BY in the table's own engine, and of the columns `more` of a lazy table."""
        self._require_rows(self._table)
        if self.pos_label is not None:
            table = self._labelled(names["y_true"])
            return table.groups(names, by, resolution, exclude_bad=exclude_bad, option=option, more=more)
        cells = group_cells(self._table, self._schema, names, by, resolution, option, more)
        return good_groups(cells, exclude_bad, self._argument, more=more, option=option)


def _arrow(truth: list[bool]) -> Any:
    import pyarrow

    return pyarrow.array(truth)


def _looked_at(frame: Any, argument: str) -> tuple[Any, Any]:
    """The table as narwhals has it, and the types of its columns."""
    try:
        table = nw.from_native(frame)
        schema = table.collect_schema()
    except TypeError as problem:
        raise InputError(argument, f"is a {type(frame).__name__}, not a table: {problem!s:.200}") from None
    except nw.exceptions.DuplicateError:
        raise InputError(argument, "has several columns of one name; rename all but one") from None
    for name in schema:
        if not isinstance(name, str):
            raise InputError(argument, f"has a column named {name!r:.40}", allowed="names of columns must be text")
    return table, schema


def group_cells(
    table: Any,
    schema: Any,
    names: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    option: str = "by",
    more: Sequence[str] = (),
) -> Any:
    """Group by cell within segments and bring the groups here, a narwhals DataFrame."""
    for argument, name in names.items():
        _check_column(table, schema, name, argument)
    for name in by:
        present(name, list(schema), option)
        if schema[name].is_nested() or schema[name] in (nw.Int128, nw.UInt128):
            raise InputError(option, f"names the column {name!r}, which holds {schema[name]}; single values are needed")
    group = _group_in_duckdb if table.implementation.is_duckdb() else _group_anywhere
    return group(table, schema, names, by, resolution, option, more)


def _group_in_duckdb(
    table: Any,
    _schema: Any,
    names: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    option: str,
    more: Sequence[str],
) -> Any:
    import duckdb

    numbers = {argument: as_double(name) for argument, name in names.items()}
    try:
        groups = group_relation(nw.to_native(table), numbers, by, resolution, option, more)
    except duckdb.Error as problem:
        raise InputError("frame", f"cannot be read by DuckDB: {problem!s:.300}") from None
    return nw.from_native(groups, eager_only=True)


def _group_anywhere(
    table: Any,
    schema: Any,
    names: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    option: str,
    more: Sequence[str],
) -> Any:
    """The same in the words of narwhals, which every engine has."""
    weighted = "sample_weight" in names
    parts = [_NUMBERS[argument] for argument in names]
    segments = [f"_s{i}" for i in range(len(by))]
    if isinstance(table, nw.DataFrame) and not _needs_arrow(table, schema, (*names.values(), *by)):
        table = table.lazy()
    table = _renamed(table, schema, names, by, option, more).with_columns(_fault=_fault(_columns(parts)))
    good = nw.col("_fault") == 0
    table = table.with_columns(*(nw.when(good).then(nw.col(name)).otherwise(nw.lit(0.0)).alias(name) for name in parts))
    table = table.with_columns(_x=nw.col("_v") * float(resolution))
    below = nw.col("_x").floor()
    number_of_cell = nw.when(good).then((below + nw.col("_x").ceil()).cast(nw.Int32)).otherwise(nw.col("_fault"))
    table = table.with_columns(_u=nw.col("_x") - below, _cell=number_of_cell)
    each = _terms(weighted)
    heaviest = [nw.col("_w").max().alias("heaviest")] if weighted else []
    table = table.with_columns(**{f"_{name}": expression for name, expression in each.items()})
    grouped = table.group_by(*segments, "_cell").agg(
        nw.len().alias("count"),
        *(nw.col(f"_{name}").sum().alias(name) for name in each),
        *(nw.col(name).sum() for name in more),
        nw.col("_v").min().alias("low"),
        nw.col("_v").max().alias("high"),
        *heaviest,
    )
    return grouped.collect("pyarrow") if isinstance(grouped, nw.LazyFrame) else grouped


def _terms(weighted: bool) -> dict[str, Any]:
    """Name -> term of each row that is summed over a cell."""
    y, u, w = nw.col("_y"), nw.col("_u"), nw.col("_w")
    terms = {
        "ones": (y == 1.0).cast(nw.Int64),
        "fractional": ((y != 0.0) & (y != 1.0)).cast(nw.Int64),
        "weighted_outcome": w * y if weighted else y,
        "offset": w * u if weighted else u,
        "outcome_offset": w * y * u if weighted else y * u,
    }
    return terms | ({"weight": w, "squared_weight": w * w} if weighted else {})


def good_rows(table: Any, names: Mapping[str, str]) -> Any:
    """The rows of a table that are good in these columns."""
    schema = table.collect_schema()
    for argument, name in names.items():
        _check_column(table, schema, name, argument)
    return table.filter(_fault({_NUMBERS[argument]: _double(schema, name) for argument, name in names.items()}) == 0)


def _columns(names: Sequence[str]) -> dict[str, Any]:
    return {name: nw.col(name) for name in names}


def _double(schema: Any, name: str) -> Any:
    """A column of numbers or truth values as doubles."""
    column = nw.col(name)
    return (column.cast(nw.Int8) if schema[name] == nw.Boolean else column).cast(nw.Float64)


def _needs_arrow(table: Any, schema: Any, columns: Sequence[str]) -> bool:
    """Whether a table in memory has columns that its own engine would not group as others do."""
    if isinstance(table, nw.LazyFrame):
        return False
    return not table.implementation.is_polars() or any(_looked_into(table, schema, name) for name in columns)


def _looked_into(table: Any, schema: Any, name: str) -> bool:
    """Whether a column's type leaves open what its values are; that of objects without a value is said to be text."""
    if isinstance(table, nw.LazyFrame):
        return False
    objects = str(getattr(nw.to_native(table[name]), "dtype", "")) == "object"
    return schema[name] in (nw.Categorical, nw.Object, nw.Unknown) or (objects and schema[name] == nw.String)


def _renamed(
    table: Any, schema: Any, names: Mapping[str, str], by: Sequence[str], option: str = "by", more: Sequence[str] = ()
) -> Any:
    """Numbers as doubles and the columns of segments, under names of our own; those of `more` have such already."""
    numbers = {_NUMBERS[argument]: name for argument, name in names.items()}
    segments = {f"_s{i}": name for i, name in enumerate(by)}
    if _needs_arrow(table, schema, (*numbers.values(), *by)):
        return in_arrow(
            table, {_NUMBERS[argument]: (argument, name) for argument, name in names.items()}, segments, option
        )

    return table.select(
        *(_double(schema, name).alias(new) for new, name in numbers.items()),
        *(nw.col(name).alias(new) for new, name in segments.items()),
        *map(nw.col, more),
    )


def _fault(parts: Mapping[str, Any]) -> Any:
    """The first fault of a row by its number in `calibrant.sketch.groups`, 0 if it is good; of columns by their names
    of our own.
    """
    fault = nw.lit(0, dtype=nw.Int32)
    for code, name in ((-5, "_w"), (-3, "_v"), (-1, "_y")):
        if name in parts:
            column = parts[name]
            known = column.fill_null(float("nan"))
            # Engines fold comparisons and is_nan() by a file's statistics, which leave NaN out; arithmetic they do not.
            finite = (known - known) == 0.0
            missing = column.is_null() | ~(finite | (known.abs() == float("inf")))
            inside = finite & (known >= 0.0)
            if name != "_w":
                inside = inside & (known <= 1.0)
            fault = (
                nw.when(missing)
                .then(nw.lit(code, dtype=nw.Int32))
                .otherwise(nw.when(inside).then(fault).otherwise(nw.lit(code - 1, dtype=nw.Int32)))
            )
    return fault


def _check_column(table: Any, schema: Any, name: str, argument: str) -> None:
    present(name, list(schema), argument)
    kind = schema[name]
    if not (kind.is_numeric() or kind == nw.Boolean or _looked_into(table, schema, name)):
        raise InputError(argument, f"names the column {name!r}, which holds {kind}; numbers are needed")


def as_weights(names: Mapping[str, str]) -> dict[str, str]:
    """Argument -> column, where numbers of trials are read as weights are."""
    return {"sample_weight" if argument == "trials" else argument: name for argument, name in names.items()}


def of_trials(problem: InputError) -> InputError:
    """The problem of weights that are numbers of trials, in their words."""
    argument = problem.argument.replace("sample_weight", "trials")
    text = problem.problem.replace("sample_weight", "trials")
    return type(problem)(argument, text, row=problem.row, allowed=problem.allowed)


def frame_of(arrays: Mapping[str, Any], arrow_keys: Mapping[str, Any]) -> OpenedFrame:
    """Columns of numbers by name, and of keys as Arrow, as a table in memory."""
    import pyarrow

    columns = {name: np.asarray(each, np.float64) for name, each in arrays.items()}
    return OpenedFrame(pyarrow.table({**columns, **arrow_keys}), "table")


def groups_of(
    table: Table,
    names: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    *,
    exclude_bad: bool = False,
    option: str = "by",
) -> Groups:
    """Sum a table's rows by cell; trials are summed as weights, and the cells then say what they are."""
    if "trials" not in names:
        return table.groups(names, by, resolution, exclude_bad=exclude_bad, option=option)
    try:
        return table.groups(as_weights(names), by, resolution, exclude_bad=exclude_bad, option=option).of_trials()
    except InputError as problem:
        raise of_trials(problem) from None


def groups_by(
    table: OpenedFrame,
    y_true: str,
    y_prob: str,
    by: Sequence[str],
    resolution: int,
    sample_weight: str | None,
    trials: str | None,
    exclude_bad: bool,
    unweighted: bool,
) -> Groups:
    """Sum a table's rows by cell, of columns that are named."""
    if trials is None:
        names = table.spoken(y_true, y_prob, sample_weight, unweighted, by)
    else:
        try:
            names = table.spoken(y_true, y_prob, None if unweighted else trials, unweighted, by)
        except InputError as problem:
            raise of_trials(problem) from None
        names = {"y_true": names["y_true"], "y_prob": names["y_prob"], "trials": trials}
    return groups_of(table, names, by, resolution, exclude_bad=exclude_bad)


_SIDE_BY_SIDE = "holds texts, numbers or truth values side by side; write all in one way"


def in_arrow(table: Any, number_columns: Mapping[str, tuple[str, str]], keys: Mapping[str, str], option: str) -> Any:
    """The columns under new names: new name -> argument and column of numbers, new name -> column of keys.

    Raises InputError if a column holds no numbers, or keys of several kinds.
    """
    import narwhals as nw
    import pyarrow

    columns = {
        new: pyarrow.array(numbers_or_nan(nw.to_native(table[name]), argument))
        for new, (argument, name) in number_columns.items()
    }
    columns |= {new: keys_of(table[name], name, option) for new, name in keys.items()}
    return nw.from_native(pyarrow.table(columns), eager_only=True)


def keys_of(column: Any, name: str, option: str) -> Any:
    """Keys as Arrow; a period of pandas is the time at which it starts, an interval or a UUID its text."""
    import narwhals as nw
    import pyarrow

    native, values = nw.to_native(column), None
    of = getattr(native, "dtype", None)
    if type(of).__name__ == "PeriodDtype":
        column = nw.from_native(native.dt.to_timestamp(), series_only=True)
    if column.dtype in (nw.Object, nw.Unknown) and not isinstance(native, pyarrow.ChunkedArray):
        values = _objects(column)
        if len({_kind(each) for each in values if each is not None}) > 1:
            raise InputError(option, f"names the column {name!r}, which {_SIDE_BY_SIDE}")
    if type(of).__name__ == "IntervalDtype" or type(getattr(of, "categories", None)).__name__ == "IntervalIndex":
        values = _texts(column)
    try:
        keys = column.to_arrow() if values is None else pyarrow.array(values, from_pandas=True)
        keys = keys.cast(keys.type.value_type) if pyarrow.types.is_dictionary(keys.type) else keys
        if isinstance(keys.type, pyarrow.BaseExtensionType):
            keys = pyarrow.array(_texts(column))
        single = not pyarrow.types.is_nested(keys.type)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        single = False
    if not single:
        content = f"values such as {next(iter(column.to_list()), None)!r:.40}"
        raise InputError(option, f"names the column {name!r}, which holds {content}; single values are needed")
    return keys


def _objects(column: Any) -> list[Any]:
    """Values of a column of objects, None where one is missing."""
    return [
        None if each is None or type(each).__name__ == "NAType" or each != each else each for each in column.to_list()
    ]


def _texts(column: Any) -> list[str | None]:
    return [None if missing else str(each) for each, missing in zip(column, column.is_null(), strict=True)]


def _kind(value: Any) -> type:
    """Kind of a key: truth value, number, or its own type."""
    import numpy as np

    if isinstance(value, bool | np.bool_):
        return bool
    return float if isinstance(value, int | float | np.number) else type(value)
