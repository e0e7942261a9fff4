"""Features where a lazy table holds them: which values they have, where their quantiles lie, and codes for them.

Every number comes from a GROUP BY, so that nothing but counts leaves the engine, and from arithmetic that is the same
in all of them: engines agree on the quantiles to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.door.coding import Coding, Kind, day_number
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.sketch.cells import told_apart
from calibrant.tables.frames import OpenedFrame, good_rows

TIMES = "holds times: pass what matters of them as a column, such as the day or the hour"
LONG = "holds whole numbers beyond 2**53, as identifiers do: pass them as text to tell them apart"
LONG_DECIMALS = "holds decimals that are one number as doubles: pass them as text to tell them apart"
SHORT = 1e15
"""Whole numbers below it, over a power of ten, are told apart as doubles."""
TELLING = 20
"""Rows in which two values agree with the outcome by more than coincidence."""
MOST_VALUES = 1_000_000
"""Different texts of a column that are counted; more are identifiers."""
TESTED = "calibrant_tested", "calibrant_information"
"""Columns of how many outcomes a row stands for, 0 without weight, and of their sum of v (1 - v)."""
_PIECES = 2**16  # that a pass cuts a column into
_PASSES = 24
_FIRST = 100_000  # rows that are looked at before all texts of a column are counted


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Counts of a column's numbers by ranges in rising order, each of one value or not yet told apart."""

    # low, high: (k,), smallest and largest number in each
    low: FloatArray
    high: FloatArray
    count: IntArray  # (k,): how many there are
    n_missing: int  # rows without a number

    @property
    def single(self) -> npt.NDArray[np.bool_]:
        """Mask of the pieces that hold one value only."""
        return np.equal(self.low, self.high)

    def holding(self, ranks: IntArray) -> IntArray:
        """The pieces that hold numbers of these ranks, from 0."""
        return np.asarray(np.searchsorted(np.cumsum(self.count), ranks, side="right"))


class Featured:
    """The good rows of a lazy table, asked for what its features hold.

    Parameters
    ----------
    table : OpenedFrame
        A lazy table.
    names : mapping of str to str
        Columns of outcomes, predictions and weights by argument.
    exclude_bad : bool
        Whether rows that are bad in these are left out.
    option : str
        Who named the features.
    """

    def __init__(self, table: OpenedFrame, names: Mapping[str, str], exclude_bad: bool, option: str) -> None:
        self._opened, self._names, self._option = table, names, option
        self._rows = good_rows(table.held, names) if exclude_bad else table.held
        self._schema = table.held.collect_schema()

    def kind(self, name: str) -> Kind:
        """Whether a column holds numbers or categories. InputError if it holds neither."""
        dtype = self._schema[name]
        if self.is_day(name):
            return "number"
        if dtype.is_temporal():
            why = TIMES
        elif dtype in (nw.Int128, nw.UInt128) or dtype.is_nested():
            why = f"holds {dtype}; numbers, texts or truth values are needed"
        elif dtype.is_numeric():
            return "number"
        elif dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum):
            return "category"
        else:
            why = f"holds {dtype}; numbers, texts or truth values are needed"
        raise self._unusable(name, why)

    def is_day(self, name: str) -> bool:
        """Whether a column holds days, or times of no zone, which count by day."""
        dtype = self._schema[name]
        return dtype == nw.Date or (isinstance(dtype, nw.Datetime) and dtype.time_zone is None)

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts, perhaps many different ones."""
        return self._schema[name] in (nw.String, nw.Categorical, nw.Enum)

    def pieces(self, name: str) -> Pieces:
        """Numbers of a column in up to 65,536 pieces.

        Raises InputError if they cannot be cut, or are those of the outcomes or the predictions.
        """
        x, missing = self._number(name)
        columns: dict[str, Any] = {"_x": nw.when(~missing).then(x)}
        argued = [argument for argument in ("y_true", "y_prob") if self._names[argument] != name]
        for argument in argued:
            other = _number(nw.col(self._names[argument]))[0]
            columns[f"_{argument}"] = nw.when((x - other) == 0.0).then(nw.lit(0)).otherwise(nw.lit(1))
        rows = self._rows.select(**columns)
        infinite = nw.when(nw.col("_x").abs() == math.inf).then(nw.lit(1)).otherwise(nw.lit(0))
        summary = _here(
            rows.with_columns(_infinite=infinite).select(
                nw.len().alias("n"),
                nw.col("_x").count().alias("held"),
                nw.col("_x").min().alias("low"),
                nw.col("_x").max().alias("high"),
                nw.col("_infinite").sum().alias("infinite"),
                *(nw.col(f"_{argument}").sum().alias(argument) for argument in argued),
            )
        )
        n, count, low, high, infinite = (summary[each][0] for each in ("n", "held", "low", "high", "infinite"))
        if not count:
            raise self._unusable(name, "is missing in every row")
        for argument in argued:
            if not summary[argument][0]:
                raise self._unusable(
                    name, f"holds the values of {argument}, row by row; errors are to be explained without"
                )
        if self._schema[name].is_integer() and max(abs(low), abs(high)) > 2**53:
            raise self._unusable(name, LONG)
        if self._are_one(name, max(abs(low), abs(high))):
            raise self._unusable(name, LONG_DECIMALS)
        if infinite or not math.isfinite(high - low):
            raise self._unusable(name, "holds infinite numbers, or such as differ by more than doubles can say")
        first = Pieces(np.array([low]) + 0.0, np.array([high]) + 0.0, np.array([int(count)]), int(n - count))
        return self.parted(name, first, np.zeros(1, np.int64))

    def _are_one(self, name: str, largest: float) -> bool:
        """Whether two decimals of a column are the same double."""
        dtype = self._schema[name]
        scale = getattr(dtype, "scale", 38)  # older narwhals do not say it
        if dtype != nw.Decimal or largest * 10.0**scale < SHORT:
            return False
        column = nw.col(name)
        rows = self._rows.filter(~column.is_null())
        numbers = _here(rows.select(decimals=column.n_unique(), doubles=column.cast(nw.Float64).n_unique()))
        return bool(numbers["decimals"][0] != numbers["doubles"][0])

    def parted(self, name: str, pieces: Pieces, which: IntArray) -> Pieces:
        """The same with these pieces cut into many, those of one value aside.

        A piece is cut into parts of equal width. Of each part the smallest and the largest number are taken from the
        rows, so that rounding in the arithmetic moves a number to a neighbouring part and nothing else: every step of
        it keeps the order of numbers.
        """
        which = which[~pieces.single[which]]
        if not which.size:
            return pieces
        x, missing = self._number(name)
        parts = max(2, _PIECES // which.size)
        key: Any = nw.lit(-1.0)
        for at, piece in enumerate(which.tolist()):
            low, high = float(pieces.low[piece]), float(pieces.high[piece])
            scale = min(parts / (high - low), np.finfo(np.float64).max)
            place = ((nw.col("_x") - low) * scale).floor() + float(at * (parts + 2))
            key = nw.when((nw.col("_x") >= low) & (nw.col("_x") <= high)).then(place).otherwise(key)
        rows = self._rows.filter(~missing).select(_x=x + 0.0).with_columns(_key=key)
        grouped = rows.filter(nw.col("_key") >= 0.0).group_by("_key")
        parts_of = _here(
            grouped.agg(nw.len().alias("n"), nw.col("_x").min().alias("low"), nw.col("_x").max().alias("high"))
        )
        rest = np.delete(np.arange(pieces.low.size), which)
        lows = np.concatenate([pieces.low[rest], parts_of["low"].to_numpy()]) + 0.0
        highs = np.concatenate([pieces.high[rest], parts_of["high"].to_numpy()]) + 0.0
        count = np.concatenate([pieces.count[rest], parts_of["n"].to_numpy().astype(np.int64)])
        order = np.argsort(lows, kind="stable")
        return Pieces(lows[order], highs[order], count[order], pieces.n_missing)

    def at_ranks(self, name: str, pieces: Pieces, ranks: IntArray) -> Pieces:
        """The same with the numbers of these ranks in pieces of one value.

        Raises InputError if the numbers lie too unevenly.
        """
        return self._parted_until(name, pieces, lambda held: np.unique(held.holding(ranks)))

    def one_by_one(self, name: str, pieces: Pieces, most: int) -> Pieces:
        """The same with each number in a piece of its own, if there are no more than so many.

        Raises InputError if the numbers lie too unevenly.
        """
        none = np.zeros(0, np.int64)
        return self._parted_until(
            name, pieces, lambda held: np.arange(held.low.size) if held.low.size <= most else none
        )

    def _parted_until(self, name: str, pieces: Pieces, select: Callable[[Pieces], IntArray]) -> Pieces:
        """Part the pieces that are wanted until each is of one value."""
        for _ in range(_PASSES):
            which = select(pieces)
            if pieces.single[which].all():
                return pieces
            pieces = self.parted(name, pieces, which)
        raise self._unusable(name, "holds numbers of too different sizes to be cut; pass their logarithm")

    def values(self, name: str) -> tuple[list[Any], IntArray, int]:
        """Categories of a column in the order of their values, rows of each, and rows without one.

        Raises InputError if there are too many.
        """
        column = self._category(name)
        sample = _here(self._rows.head(_FIRST).select(_s0=column))["_s0"]
        if len(sample) == _FIRST and sample.n_unique() > _FIRST // 2:
            raise self._unusable(
                name, "holds text that is different in most rows: group it into fewer, or leave it out"
            )
        grouped = self._rows.select(_s0=column).group_by("_s0").agg(nw.len().alias("n"))
        groups = _here(grouped.head(MOST_VALUES + 2))
        if len(groups) > MOST_VALUES + 1:
            raise self._unusable(name, f"holds more than {MOST_VALUES:,} different values: group them into fewer")
        keys, counts = told_apart(groups.select("_s0"))[0]["_s0"].to_list(), groups["n"].to_numpy().astype(np.int64)
        missing = sum(int(n) for key, n in zip(keys, counts, strict=True) if key is None)
        pairs = sorted((key, int(n)) for key, n in zip(keys, counts, strict=True) if key is not None)
        return [key for key, _ in pairs], np.array([n for _, n in pairs], np.int64), missing

    def is_outcome(self, name: str, coding: Coding) -> bool:
        """Whether a feature of two codes tells the events from the rest, in either direction."""
        same = nw.col("_s") == nw.col("_y")
        rows = self._rows.select(
            _s=self._code(name, coding).cast(nw.Float64), _y=_number(nw.col(self._names["y_true"]))[0]
        )
        counts = _here(
            rows.with_columns(_same=nw.when(same).then(nw.lit(1)).otherwise(nw.lit(0))).select(
                nw.len().alias("n"), nw.col("_same").sum().alias("same")
            )
        )
        return bool(counts["n"][0] >= TELLING and counts["same"][0] in (0, counts["n"][0]))

    def coded(self, codings: Mapping[str, Coding], *, trials: bool) -> OpenedFrame:
        """The table with a column of codes for each of these, called `code_name` of its place, and those of `TESTED`.

        With `trials` the weights are numbers of trials.
        """
        columns = {code_name(at): self._code(name, coding) for at, (name, coding) in enumerate(codings.items())}
        numbers = [nw.col(name) for name in dict.fromkeys(self._names.values())]
        v, one = _number(nw.col(self._names["y_prob"]))[0], nw.lit(1.0)
        if "sample_weight" in self._names:
            w = _number(nw.col(self._names["sample_weight"]))[0]
            one = w if trials else nw.when(w > 0.0).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
        tested = dict(zip(TESTED, (one, one * v * (1.0 - v)), strict=True))
        return self._opened.like(self._rows.select(*numbers, **columns, **tested))

    def _code(self, name: str, coding: Coding) -> Any:
        known = list(coding.known)
        if coding.kind == "number":
            x, missing = self._number(name)
            code = _halved(len(known), lambda _first, last: x <= float(known[last]))
        else:
            column = self._category(name)
            missing = column.is_null()
            code = _halved(len(known), lambda first, last: column.is_in(known[first : last + 1]))
        return nw.when(missing).then(nw.lit(coding.missing)).otherwise(code).cast(nw.Int16)

    def _number(self, name: str) -> tuple[Any, Any]:
        column = nw.col(name)
        if self.is_day(name):
            parts = column.dt.year(), column.dt.month(), column.dt.day()
            column = day_number(*(each.cast(nw.Float64) for each in parts))
        return _number(column)

    def _category(self, name: str) -> Any:
        column = nw.col(name)
        return column if self._schema[name] in (nw.Boolean, nw.String) else column.cast(nw.String)

    def _unusable(self, name: str, why: str) -> InputError:
        return InputError(self._option, f"{name!r} {why}")


def code_name(number: int) -> str:
    """Name of the column of codes of a feature."""
    return f"calibrant_code_{number}"


def in_blocks(sizes: Sequence[int], sets: Sequence[tuple[int, ...]], most: int) -> list[tuple[int, ...]]:
    """Few sets of features, of at most so many combinations of values each, such that each of the sets is in one.

    Where a set alone has more it is a block of its own. One GROUP BY a block then does for all sets in it.
    """
    left = sorted(set(sets), key=lambda members: (-len(members), members))
    blocks = []
    while left:
        block = set(left[0])
        while True:
            grown = [
                (sum(block | {i} >= set(each) for each in left), -sizes[i], -i)
                for i in range(len(sizes))
                if i not in block and math.prod(sizes[j] for j in (*block, i)) <= most
            ]
            if not grown:
                break
            block.add(-max(grown)[2])
        blocks.append(tuple(sorted(block)))
        left = [each for each in left if not set(each) <= block]
    return blocks


def _halved(n: int, within: Callable[[int, int], Any]) -> Any:
    """The number of the first of `n` places whose condition holds, else n, where `within` says whether one of several
    neighbours' does. By halves: engines, and narwhals, do not follow a chain of hundreds.
    """

    def code(first: int, last: int) -> Any:
        if first == last:
            return nw.lit(first)
        middle = (first + last) // 2
        return nw.when(within(first, middle)).then(code(first, middle)).otherwise(code(middle + 1, last))

    return code(0, n)


def _number(column: Any) -> tuple[Any, Any]:
    """A column as doubles, without a sign on a zero, and where there is none."""
    x = column.cast(nw.Float64)
    known = x.fill_null(float("nan"))
    # Engines fold comparisons and is_nan() by a file's statistics, which leave NaN out; arithmetic they do not.
    return x, ~(((known - known) == 0.0) | (known.abs() == math.inf))


def _here(table: Any) -> Any:
    """A small table that the engine holds, fetched."""
    return table.collect("pyarrow") if isinstance(table, nw.LazyFrame) else table
