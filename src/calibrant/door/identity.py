"""Identity of a source's rows, so that the same rows count once, under any name.

The rule, for every road (docs/identity.md):

1. One file counts once: the same real path, or the same inode, is refused by name.
2. An identity is a count and fingerprints that add up: sums modulo 2^64 of two hashes of each row, which order does not
   change. `rows` hashes float32(v), y and w; `cells` hashes a row's cell of width 1/65536, which a sketch knows too.
   Equal counts with equal fingerprints, of either kind, are equal contents. `head` hashes the first 128 rows in order.
3. Equal contents may be chance: the outcome information is -sum over cells of log2 P(two independent batches with these
   predictions have equal counts of events). From 40 bits on equal contents are a copy. Below, they are refused until
   the caller says that they are distinct, or a column of ids or times tells them apart.
4. A source that is the sum of others beside it, or begins as another does, is refused likewise.
5. A log whose first n rows are what a state holds has grown: only its later rows are added. From 40 bits on that is
   certain; below it is if they came from the same real path, or have the same ids.
6. Sources that share some of their rows, and one that holds rows twice, are known by a sample of their rows.

`overlap.py` looks for 2 to 4 among sources, `row_samples.py` says what 6 rests on.

Fingerprints guard against accidents, not against anybody who wants two contents to look equal.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.row_samples import CERTAIN, DOUBT, Repeats, RowSample, mixed, sample_of_all, sample_rows, thinned
from calibrant.door.sample import Sample
from calibrant.kernels import identity as kernel
from calibrant.kernels.types import UIntArray

HEAD = 128
"""Rows that the fingerprint of a beginning is of."""
CELLS = 65536
"""Cells of predictions that `cells` is of, as those of a sketch."""
_FINE = 51  # different predictions from which on those of other rows are no others by chance
_POINTS = 64
_WORD = (1 << 64) - 1
_NO_IDS = np.empty(0, dtype=np.uint64)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which rows a source holds, up to their order."""

    count: int  # rows
    # rows, cells: fingerprints of 128 bits, where they are known
    rows: int | None
    cells: int | None
    bits: float  # outcome information, up to 128
    # fingerprint of the first 128 rows in order, where there are so many in a known order, unless others begin likewise
    # by chance
    head: int | None = None
    head_bits: float = 0.0  # outcome information of these
    ids: tuple[str, int] | None = None  # what is called an id or a time, and the fingerprint of its values
    path: str | None = None  # fingerprint of the real path that a state has it from
    n_excluded: int = 0  # bad rows of it that were left out
    # a sample of its rows, where rows were read and outcomes are 0 or 1
    sample: RowSample | None = field(default=None, repr=False)
    # what shows that it holds rows twice; of rows in their order alone
    repeated: Repeats | None = field(default=None, compare=False)
    numbered: bool = False  # whether these are the numbers of its rows, from 0 or 1 on, and so tell no row from another
    # whether they are values of keys alone, where many rows are equal: they acquit, and prove nothing
    keyed: bool = False

    def equals(self, other: Identity) -> bool:
        """Whether contents are equal, as far as both are known."""
        if self.count != other.count:
            return False
        return _known_equal(self.rows, other.rows) or _known_equal(self.cells, other.cells)

    def begins_as(self, other: Identity) -> bool:
        """Whether the first rows of both are the same in the same order."""
        return _known_equal(self.head, other.head)

    def has_ids_of(self, other: Identity) -> bool:
        """Whether both have ids or times of one kind, which are not both numbers of rows."""
        known = self.ids is not None and other.ids is not None and self.ids[0] == other.ids[0]
        return known and not (self.numbered and other.numbered)

    def apart(self, other: Identity) -> bool:
        """Whether ids or times tell them apart."""
        return self.has_ids_of(other) and self.ids != other.ids

    def bits_with(self, other: Identity) -> float:
        """Information in that contents are equal; equal ids leave nothing to chance."""
        proved = self.has_ids_of(other) and self.ids == other.ids and not self.keyed
        return CERTAIN if proved else min(self.bits, other.bits)

    def to_list(self) -> list[Any]:
        """As JSON."""
        prints = [None if each is None else f"{each:032x}" for each in (self.rows, self.cells, self.head)]
        ids = None if self.ids is None else [self.ids[0], f"{self.ids[1]:016x}", *([True] if self.numbered else [])]
        rest = [self.path, self.n_excluded, None if self.sample is None else self.sample.to_list()]
        return [self.count, *prints, self.bits, self.head_bits, ids, *rest]

    @classmethod
    def from_list(cls, entries: Sequence[Any]) -> Identity:
        """From JSON; raises ValueError or TypeError for anything else."""
        if len(entries) < 10:  # as layouts before had it
            entries = [*entries, *[None, 0, None][len(entries) - 7 :]]
        count, rows, cells, head, bits, head_bits, ids, path, n_excluded, drawn = entries
        if type(n_excluded) is not int or n_excluded < 0 or not isinstance(path, str | None):
            raise ValueError("an identity has a path or left-out rows that no file has")
        if type(count) is not int or count < 1 or not (0.0 <= bits <= CERTAIN and 0.0 <= head_bits <= CERTAIN):
            raise ValueError("an identity has counts and bits that no rows have")
        prints = [None if each is None else _from_hex(each, 32) for each in (rows, cells, head)]
        named = None if ids is None else (str(ids[0]), _from_hex(ids[1], 16))
        sample = None if drawn is None else RowSample.from_list(drawn)
        bits, head_bits, numbered = float(bits), float(head_bits), ids is not None and ids[2:] == [True]
        rest = (named, path, n_excluded, sample)
        return cls(count, prints[0], prints[1], bits, prints[2], head_bits, *rest, numbered=numbered)


def fingerprint(path: str) -> str:
    """Fingerprint of a real path, which says nothing of the path itself."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def identities(
    y: npt.NDArray[Any],
    v: npt.NDArray[Any],
    w: npt.NDArray[Any] | None = None,
    sizes: Sequence[int] | None = None,
    ids: UIntArray | None = None,
    ids_name: str = "",
    numbered: Sequence[bool] = (),
    keys: UIntArray | None = None,
) -> list[Identity]:
    """Identities of consecutive parts of rows, of so many rows each; of all rows by default.

    Keys tell rows apart as ids do, also the first ones.
    """
    ids, keyed = _with_keys(ids, keys)
    sizes = [len(v)] if sizes is None else sizes
    numbered = numbered or [False] * len(sizes)
    stops = np.cumsum(sizes)
    ends = _sums(y, v, w, ids, stops)
    sums = np.diff(ends, axis=0, prepend=np.zeros((1, kernel.LANES), dtype=np.uint64))
    results = []
    for stop, size, lanes, counts in zip(stops.tolist(), sizes, sums.tolist(), numbered, strict=True):
        part = slice(stop - size, stop)
        first = slice(part.start, min(part.stop, part.start + HEAD))
        head, head_bits = _head(
            y[first], v[first], None if w is None else w[first], None if keys is None else keys[first]
        )
        named = None if ids is None else (ids_name, lanes[4])
        bits = _bits_of_rows(y[part], v[part])
        of_ids = None if ids is None else ids[part]
        sample, repeated = sample_rows(y[part], v[part], of_ids, numbered=counts, keyed=keyed)
        prints = _joined(*lanes[:2]), _joined(*lanes[2:4])
        own = Identity(size, *prints, bits, head, head_bits, named, numbered=counts, keyed=keyed)
        results.append(replace(own, sample=sample, repeated=repeated))
    return results


def beginnings(
    y: npt.NDArray[Any],
    v: npt.NDArray[Any],
    w: npt.NDArray[Any] | None,
    counts: Sequence[int],
    ids: UIntArray | None = None,
    ids_name: str = "",
    *,
    numbered: bool = False,
    keys: UIntArray | None = None,
) -> list[Identity]:
    """Identities of the first rows, for each of these counts in rising order, without information."""
    ids, _ = _with_keys(ids, keys)
    results = []
    for count, lanes in zip(counts, _sums(y, v, w, ids, np.array(counts, dtype=np.int64)).tolist(), strict=True):
        named = None if ids is None else (ids_name, lanes[4])
        results.append(Identity(count, _joined(*lanes[:2]), _joined(*lanes[2:4]), 0.0, ids=named, numbered=numbered))
    return results


def identity_of_cells(
    number: npt.NDArray[Any], count: FloatArray, ones: FloatArray, rates: FloatArray, prediction: FloatArray
) -> Identity:
    """The identity of rows that were added up by cell of width 1 / 65536: rows, ones and rates of each cell."""
    with np.errstate(over="ignore"):
        lanes = [
            sum(
                int((mixed(_token(number, kind) * seed) * each.astype(np.uint64)).sum(dtype=np.uint64))
                for kind, each in enumerate((count, ones, rates))
            )
            & _WORD
            for seed in (kernel.FIRST, kernel.SECOND)
        ]
    bits = information(count[rates == 0.0], prediction[rates == 0.0], float(ones.sum() / count.sum()))
    return Identity(int(count.sum()), None, _joined(*lanes), bits)


def identity_of_sample(sample: Sample) -> Identity:
    """The identity of rows that were pooled by prediction, as far as cells of width 1 / 65536 tell."""
    number, place = np.unique(_cells_of(sample.prediction), return_inverse=True)
    columns = (sample.count, sample.ones, sample.count * sample.prediction)
    count, ones, total = (np.bincount(place, each, len(number)).astype(np.float64) for each in columns)
    return identity_of_cells(number, count, ones, np.zeros(len(number)), np.clip(total / count, 0.0, 1.0))


def remembered(identities: Sequence[Identity], most: int = 4096) -> tuple[Identity, ...]:
    """The latest sources one by one, and the oldest together, if they are many; their samples as they can be kept."""
    over = len(identities) - most
    return with_thin_samples(identities if over <= 0 else (joined(identities[: over + 1]), *identities[over + 1 :]))


def with_thin_samples(identities: Sequence[Identity]) -> tuple[Identity, ...]:
    """The sources, with samples so small that all of them can be kept."""
    samples = thinned([each.sample for each in identities])
    return tuple(replace(each, sample=sample) for each, sample in zip(identities, samples, strict=True))


def joined(parts: Sequence[Identity]) -> Identity:
    """The rows of several together; information at least that of the part that has most."""
    rows, cells = (
        None if any(each is None for each in prints) else _total(each for each in prints if each is not None)
        for prints in ([part.rows for part in parts], [part.cells for part in parts])
    )
    n_excluded = sum(part.n_excluded for part in parts)
    return Identity(
        sum(part.count for part in parts),
        rows,
        cells,
        max(part.bits for part in parts),
        n_excluded=n_excluded,
        sample=sample_of_all([part.sample for part in parts]),
    )


def without(whole: Identity, parts: Sequence[Identity]) -> Identity | None:
    """The rest of rows without these parts, as far as cells tell; None if that is nothing, or not known."""
    count = whole.count - sum(part.count for part in parts)
    if count <= 0 or whole.cells is None or any(part.cells is None for part in parts):
        return None
    high, low = whole.cells >> 64, whole.cells & _WORD
    for part in parts:
        assert part.cells is not None
        high, low = high - (part.cells >> 64) & _WORD, low - (part.cells & _WORD) & _WORD
    return Identity(count, None, _joined(high, low), 0.0)


def information(count: FloatArray, prediction: FloatArray, rate: float) -> float:
    """-sum of log2 P(equal counts of events in two independent batches), up to 128 bits.

    P is that of two binomial counts, of the prediction or of the rate of all rows, whichever makes it larger. It is
    the mean of (1 - 2p(1 - p)(1 - cos t))^n over 64 equally spaced t: P and the probability of other differences that
    are multiples of 64, so never less than P.
    """
    n_rows = float(count.sum())
    rate = (rate * n_rows + 1.0) / (n_rows + 2.0)  # outcomes of one kind alone leave the other possible
    turn = 1.0 - np.cos(np.arange(_POINTS) * (2.0 * math.pi / _POINTS))
    bits = 0.0
    for start in range(0, len(count), 1024):
        n, v = count[start : start + 1024, None], prediction[start : start + 1024, None]
        equal = [((1.0 - 2.0 * p * (1.0 - p) * turn) ** n).mean(axis=1) for p in (v, np.full_like(v, rate))]
        bits -= float(np.log2(np.minimum(np.maximum(*equal), 1.0)).sum())
        if bits >= CERTAIN:
            return CERTAIN
    return max(bits, 0.0)


def _with_keys(ids: UIntArray | None, keys: UIntArray | None) -> tuple[UIntArray | None, bool]:
    """Hashes of both, and whether they are of keys alone."""
    if keys is None:
        return ids, False
    return (keys, True) if ids is None else (mixed(ids) + keys, False)


def _sums(
    y: npt.NDArray[Any],
    v: npt.NDArray[Any],
    w: npt.NDArray[Any] | None,
    ids: UIntArray | None,
    stops: npt.NDArray[np.int64],
) -> UIntArray:
    """Sums of the hashes of the first rows, for each of these counts in rising order."""
    sums = np.zeros((len(stops), kernel.LANES), dtype=np.uint64)
    kernel.add_hashes(_keys(y, v, w), _tokens(y, v), _NO_IDS if ids is None else ids, stops, sums)
    return sums


def _keys(y: npt.NDArray[Any], v: npt.NDArray[Any], w: npt.NDArray[Any] | None) -> UIntArray:
    """One number for float32(v), y and w of each row; a missing weight is 1."""
    single = [(np.asarray(each, dtype=np.float32) + np.float32(0.0)).view(np.uint32) for each in (y, v)]
    key: UIntArray = single[0].astype(np.uint64) << np.uint64(32) | single[1].astype(np.uint64)
    if w is not None:
        weight = np.asarray(w, dtype=np.float64).view(np.uint64) ^ np.float64(1.0).view(np.uint64)
        key = key + mixed(weight)  # that of 1 is 0
    return key


def _tokens(y: npt.NDArray[Any], v: npt.NDArray[Any]) -> UIntArray:
    """Tokens of each row's cell, and of an outcome of 1, or a rate, there."""
    outcome = np.asarray(y, dtype=np.float64)
    kind = np.where(outcome == 1.0, 1, np.where(outcome == 0.0, 0, 2))
    number = _cells_of(v)
    return np.column_stack([_token(number, 0), np.where(kind == 0, np.uint64(0), _token(number, kind))])


def _token(number: npt.NDArray[Any], kind: Any) -> UIntArray:
    """Never 0."""
    return number.astype(np.uint64) * np.uint64(4) + np.asarray(kind + 1, dtype=np.uint64)


def _cells_of(v: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    x = np.clip(np.nan_to_num(np.asarray(v, dtype=np.float64)), 0.0, 1.0) * CELLS
    return (np.floor(x) + np.ceil(x)).astype(np.int64)


def _head(
    y: npt.NDArray[Any], v: npt.NDArray[Any], w: npt.NDArray[Any] | None, keys: UIntArray | None
) -> tuple[int | None, float]:
    """None of rows that begin as others do by chance: few different predictions, whose outcomes tell little."""
    bits = _bits_of_rows(y, v)
    if len(v) < HEAD or (bits < DOUBT and len(np.unique(v)) < _FINE):
        return None, 0.0
    with np.errstate(over="ignore"):
        rows = mixed(_keys(y, v, w))
        if keys is not None:
            rows += mixed(keys)
        rows += np.arange(HEAD, dtype=np.uint64) * kernel.FIRST
        lanes = np.array([mixed(rows + seed).sum(dtype=np.uint64) for seed in (kernel.FIRST, kernel.SECOND)])
    return _joined(*lanes.tolist()), bits


def _bits_of_rows(y: npt.NDArray[Any], v: npt.NDArray[Any]) -> float:
    """Information of rows whose outcomes are 0 or 1, by cell."""
    outcome = np.asarray(y, dtype=np.float64)
    binary = (outcome == 0.0) | (outcome == 1.0)
    if not binary.any():
        return 0.0
    number, prediction = _cells_of(v)[binary], np.clip(np.nan_to_num(np.asarray(v, np.float64)[binary]), 0.0, 1.0)
    some = slice(0, 1 << 14)  # of more rows these tell enough, and a part never tells more than the whole
    of, place, count = np.unique(number[some], return_inverse=True, return_counts=True)
    mean = np.bincount(place, prediction[some], len(of)) / count
    bits = information(count.astype(np.float64), mean, float(outcome[binary].mean()))
    if bits >= CERTAIN or len(number) <= 1 << 14:
        return bits
    of, place, count = np.unique(number, return_inverse=True, return_counts=True)
    mean = np.bincount(place, prediction, len(of)) / count
    return information(count.astype(np.float64), mean, float(outcome[binary].mean()))


def _joined(high: int, low: int) -> int:
    return high << 64 | low


def _total(prints: Iterator[int]) -> int:
    """Fingerprints added up, each half modulo 2^64."""
    high = low = 0
    for each in prints:
        high, low = high + (each >> 64) & _WORD, low + (each & _WORD) & _WORD
    return _joined(high, low)


def _from_hex(text: str, digits: int) -> int:
    if len(text) != digits:
        raise ValueError("an identity has a fingerprint of another length")
    return int(text, 16)


def _known_equal(one: int | None, other: int | None) -> bool:
    return one is not None and one == other
