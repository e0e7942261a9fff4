"""Identities of the files of a table: their rows are read in order, or hashed where they lie if they are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.identity import ENOUGH, Identity, beginnings, identities, mixed, sample_rows
from calibrant.door.overlap import Overlap
from calibrant.kernels.types import UIntArray
from calibrant.tables.duckdb import doubles, quoted
from calibrant.tables.formats.base import FILE

_IDS = (
    *("id", "uuid", "guid", "row_id", "request_id", "event_id", "transaction_id", "order_id", "timestamp", "datetime"),
    *("time", "date", "ts", "created_at", "event_time"),
)
"""Columns, by their names in any case, whose values tell rows apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """Rows of files, one file after the other, as their identities need them."""

    y: npt.NDArray[np.float64]
    v: npt.NDArray[np.float64]
    w: npt.NDArray[np.float64] | None
    ids: UIntArray | None
    ids_name: str
    sizes: tuple[int, ...]
    files: tuple[str, ...] = ()
    numbered: tuple[bool, ...] = ()
    keys: UIntArray | None = None

    def named(self) -> list[tuple[str, Identity]]:
        """File -> its identity, of each that holds rows."""
        sources = identities(self.y, self.v, self.w, self.sizes, self.ids, self.ids_name, self.numbered, self.keys)
        return list(zip(self.files or ("",), sources, strict=True))

    def beginnings(self, counts: Sequence[int], first: int = 0) -> list[Identity]:
        """Those of the first rows from this one on, for each of these counts in rising order."""
        part = slice(first, first + max(counts, default=0))
        w = None if self.w is None else self.w[part]
        ids, keys = (None if each is None else each[part] for each in (self.ids, self.keys))
        starts = np.cumsum([0, *self.sizes]).tolist()
        numbered = bool(self.numbered) and first in starts[:-1] and self.numbered[starts.index(first)]
        return beginnings(self.y[part], self.v[part], w, counts, ids, self.ids_name, numbered=numbered, keys=keys)

    def find_grown(self, sources: Sequence[Identity]) -> Overlap | None:
        """The first file that begins with all rows of another."""
        of_count: dict[int, list[int]] = {}
        for at, each in enumerate(sources):
            of_count.setdefault(each.count, []).append(at)
        for at, start in enumerate(np.cumsum([0, *self.sizes[:-1]]).tolist()):
            counts = sorted(count for count in of_count if count < self.sizes[at])
            for begun in self.beginnings(counts, start):
                for other in of_count[begun.count]:
                    if begun.equals(sources[other]) and not begun.apart(sources[other]):
                        return Overlap("begin", at, (other,), begun.count, sources[other].bits)
        return None


@dataclass(frozen=True, slots=True)
class Begun:
    """The number of first rows that are those of earlier sources, and these sources."""

    count: int = 0
    sources: tuple[int, ...] = ()


NOTHING = Begun()
"""No row was there before."""


def _equal(begun: Identity, source: Identity, *, by_chance: bool) -> bool:
    """Whether first rows are those of a source, and hold too much to be so by chance if they must not be."""
    if not begun.equals(source) or (source.bits < ENOUGH and begun.apart(source)):
        return False
    return by_chance or begun.bits_with(source) >= ENOUGH or source.bits >= ENOUGH


def find_begun(
    rows: Ordered, sources: Sequence[Identity], *, certain: bool, path: str | None = None, distinct: bool = False
) -> Begun:
    """First rows that are all rows of an earlier source, then perhaps of another, and so on.

    Those that may be equal by chance are taken for such only at the beginning, and unless only `certain` ones are;
    what was read from the same `path` is no chance, and where rows are said to be `distinct` nothing else is asked for.
    """
    begin, n_rows = NOTHING, len(rows.v)
    same_path = [path is not None and each.path == path for each in sources]
    candidates = [at for at, same in enumerate(same_path) if same or not distinct]
    while True:
        counts = sorted({each.count for each in sources if each.count <= n_rows - begin.count})
        begun = {each.count: each for each in rows.beginnings(counts, begin.count)}
        pairs = {at: (begun[sources[at].count], sources[at]) for at in candidates if sources[at].count in begun}
        matching = [at for at, pair in pairs.items() if _equal(*pair, by_chance=same_path[at])]
        if not (matching or certain or begin.count):
            matching = [at for at, pair in pairs.items() if _equal(*pair, by_chance=True)]
        if not matching:
            return begin
        best = max(matching, key=lambda at: sources[at].count)
        candidates.remove(best)
        begin = Begun(begin.count + sources[best].count, (*begin.sources, best))


def ids_of(columns: Sequence[str], names: Mapping[str, str], keys: Sequence[str] = ()) -> list[str]:
    """Columns of ids and times, but for those that are read as numbers or as these keys."""
    return [name for name in columns if name.strip().casefold() in _IDS and name not in (*names.values(), *keys)]


def ordered(
    relation: Any,
    numbers: Mapping[str, str],
    ids: Sequence[str],
    kind: str,
    by_hash: Mapping[int, str] | None = None,
    keys: Sequence[str] = (),
) -> Ordered:
    """Rows of a relation that keeps its order; of several files by the hash of the name in its column FILE."""
    expressions = dict(numbers)
    columns = [*ids, *keys]
    for at, name in enumerate(columns):
        text = f"CAST({quoted(name)} AS VARCHAR)" if at < len(ids) else _text_of_key(relation, name)
        expressions[f"_id{at}"] = f"md5_number_lower(concat_ws('|', {text}))"
        expressions[f"_number{at}"] = f"TRY_CAST({text} AS BIGINT)"
    if by_hash is not None:
        expressions["_of"] = f"hash({quoted(FILE)})"
    fetched = relation.project(", ".join(f"{sql} AS {argument}" for argument, sql in expressions.items())).fetchnumpy()
    y, v, w = three_columns({argument: doubles(fetched[argument]) for argument in numbers})
    if not len(v):
        return Ordered(y, v, w, None, "", (0,))
    firsts, files = (np.zeros(1, np.int64), ()) if by_hash is None else _files(np.asarray(fetched["_of"]), by_hash)
    sizes = tuple(np.diff(np.r_[firsts, len(v)]).tolist())
    if not columns:
        return Ordered(y, v, w, None, "", sizes, files)
    places, numbered = _row_numbers([doubles(fetched[f"_number{at}"]) for at in range(len(ids))], firsts)
    if keys and all(numbered):  # no ids, or numbers of rows
        places, numbered = [], ()
    title = f"{kind}: {' and '.join([*(ids[at] for at in places), *keys])}"
    of_rows = _joint_hashes([fetched[f"_id{at}"] for at in places])
    of_keys = _joint_hashes([fetched[f"_id{at}"] for at in range(len(ids), len(ids) + len(keys))])
    return Ordered(y, v, w, of_rows, title, sizes, files, numbered, of_keys)


def _files(hashes: npt.NDArray[Any], by_hash: Mapping[int, str]) -> tuple[npt.NDArray[np.intp], tuple[str, ...]]:
    """First row of each file, and its name, from the hash of the name beside every row."""
    firsts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    return firsts, tuple(by_hash[each] for each in hashes[firsts].tolist())


def _row_numbers(ids: Sequence[npt.NDArray[Any]], firsts: npt.NDArray[np.intp]) -> tuple[list[int], tuple[bool, ...]]:
    """Columns that do not count on from row to row, or all if all do; and of each file if it counts from 0 or 1."""
    counting = [bool((np.delete(np.diff(each, prepend=np.nan), firsts) == 1.0).all()) for each in ids]
    numbered = tuple(all(counting) and all(each[first] in (0, 1) for each in ids) for first in firsts)
    return [at for at, counts in enumerate(counting) if not counts] or [*range(len(ids))], numbered


def _joint_hashes(columns: Sequence[npt.NDArray[Any]]) -> UIntArray | None:
    """One hash of each row's values in these columns; None of no columns."""
    hashes = None
    for column in columns:
        hashes = mixed(np.zeros(len(column), np.uint64) if hashes is None else hashes) + np.asarray(column, np.uint64)
    return hashes


def together(parts: Sequence[Ordered]) -> Ordered:
    """Rows of one source after the other."""
    weights = [each.w for each in parts if each.w is not None]
    ids = [each.ids for each in parts if each.ids is not None]
    keys = [each.keys for each in parts if each.keys is not None]
    return Ordered(
        np.concatenate([each.y for each in parts]),
        np.concatenate([each.v for each in parts]),
        np.concatenate(weights) if weights else None,
        np.concatenate(ids) if ids else None,
        parts[0].ids_name,
        tuple(len(each.v) for each in parts),
        numbered=tuple(counts for each in parts for counts in each.numbered),
        keys=np.concatenate(keys) if keys else None,
    )


def three_columns(columns: Mapping[str, npt.NDArray[np.float64]]) -> tuple[Any, Any, Any]:
    """Outcome, prediction and weight; of classes whether the first was right, its probability, and all others."""
    w = columns.get("sample_weight")
    if "y_prob" in columns:
        return columns["y_true"], columns["y_prob"], w
    classes = [columns[argument] for argument in columns if argument.startswith("y_prob_")]
    rest = sum((each * (2.0 + at) ** 0.5 for at, each in enumerate(classes)), np.zeros(len(classes[0])))
    label = columns["y_true"]
    first = label == (np.nanmin(label) if len(label) else 0.0)
    return first.astype(np.float64), classes[0], rest + label + (0.0 if w is None else w)


def repeats(arrays: Mapping[str, npt.NDArray[np.float64]]) -> bool:
    """Whether something shows that rows are there twice, as far as outcomes and predictions tell."""
    y, v, _ = three_columns(arrays)
    return sample_rows(y, v)[1] is not None


def _text_of_key(relation: Any, name: str) -> str:
    """A key as text; a day or time by its hash, for DuckDB breaks over writing one that is very far away."""
    kind = str(relation.types[relation.columns.index(name)])
    value = f"hash({quoted(name)})" if kind.startswith(("DATE", "TIME", "INTERVAL")) else quoted(name)
    return f"CAST({value} AS VARCHAR)"


def hashed(relation: Any, numbers: Mapping[str, str], keys: Sequence[str]) -> dict[str, Identity]:
    """File -> count and hashes of its rows and of their keys, added up by DuckDB; nothing else is known of them."""
    named = [f"{sql} AS _{argument}" for argument, sql in numbers.items()]
    columns = ", ".join(f"CAST(_{each} AS {'FLOAT' if each != 'sample_weight' else 'DOUBLE'})" for each in numbers)
    texts = [_text_of_key(relation, key) for key in keys]
    rows = relation.project(", ".join([*named, f"{quoted(FILE)} AS _of", f"hash({', '.join(texts) or '0'}) AS _key"]))
    counts = rows.aggregate(f"_of, count(*), sum(hash({columns})), sum(_key)", "_of").fetchall()
    ids = (lambda total: (" and ".join(keys), int(total) & (1 << 64) - 1)) if keys else (lambda _total: None)
    return {of: Identity(count, int(all_), None, 0.0, ids=ids(key), keyed=True) for of, count, all_, key in counts}


def suspects(sizes: Sequence[int], slack: int, extremes: Sequence[object] | None = None) -> list[int]:
    """Numbers of the files that may hold the same rows, by their sizes: equal ones, or all where one is the rest's sum.

    `slack` is by how much sizes of equal contents may differ. Files of equal numbers of rows whose smallest and largest
    predictions, `extremes`, are known and others than those of any other hold other rows.
    """
    whole = sum(sizes)
    if any(abs(2 * size - whole) <= slack * len(sizes) for size in sizes):
        return list(range(len(sizes)))
    if extremes is not None:
        of_size, alike = Counter(sizes), Counter(zip(sizes, extremes, strict=True))
        may = [
            alike[size, end] > 1 or (of_size[size] > 1 and alike[size, None] > 0)
            for size, end in zip(sizes, extremes, strict=True)
        ]
        return [at for at, so in enumerate(may) if so]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    near = [(a, b) for a, b in pairwise(order) if sizes[b] - sizes[a] <= slack]
    return sorted({at for pair in near for at in pair})
