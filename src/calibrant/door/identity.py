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

`overlap.py` looks for 2 to 4 among sources; `RowSample` says what 6 rests on.

Fingerprints guard against accidents, not against anybody who wants two contents to look equal.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
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
    y: FloatArray,
    v: FloatArray,
    w: FloatArray | None = None,
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
    y: FloatArray,
    v: FloatArray,
    w: FloatArray | None,
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
    y: FloatArray, v: FloatArray, w: FloatArray | None, ids: UIntArray | None, stops: npt.NDArray[np.int64]
) -> UIntArray:
    """Sums of the hashes of the first rows, for each of these counts in rising order."""
    sums = np.zeros((len(stops), kernel.LANES), dtype=np.uint64)
    kernel.add_hashes(_keys(y, v, w), _tokens(y, v), _NO_IDS if ids is None else ids, stops, sums)
    return sums


def _keys(y: FloatArray, v: FloatArray, w: FloatArray | None) -> UIntArray:
    """One number for float32(v), y and w of each row; a missing weight is 1."""
    single = [(np.asarray(each, dtype=np.float32) + np.float32(0.0)).view(np.uint32) for each in (y, v)]
    key: UIntArray = single[0].astype(np.uint64) << np.uint64(32) | single[1].astype(np.uint64)
    if w is not None:
        weight = np.asarray(w, dtype=np.float64).view(np.uint64) ^ np.float64(1.0).view(np.uint64)
        key = key + mixed(weight)  # that of 1 is 0
    return key


def _tokens(y: FloatArray, v: FloatArray) -> UIntArray:
    """Tokens of each row's cell, and of an outcome of 1, or a rate, there."""
    outcome = np.asarray(y, dtype=np.float64)
    kind = np.where(outcome == 1.0, 1, np.where(outcome == 0.0, 0, 2))
    number = _cells_of(v)
    return np.column_stack([_token(number, 0), np.where(kind == 0, np.uint64(0), _token(number, kind))])


def _token(number: npt.NDArray[Any], kind: Any) -> UIntArray:
    """Never 0."""
    return number.astype(np.uint64) * np.uint64(4) + np.asarray(kind + 1, dtype=np.uint64)


def _cells_of(v: FloatArray) -> npt.NDArray[np.int64]:
    x = np.clip(np.nan_to_num(np.asarray(v, dtype=np.float64)), 0.0, 1.0) * CELLS
    return (np.floor(x) + np.ceil(x)).astype(np.int64)


def _head(y: FloatArray, v: FloatArray, w: FloatArray | None, keys: UIntArray | None) -> tuple[int | None, float]:
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


def _bits_of_rows(y: FloatArray, v: FloatArray) -> float:
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


ENOUGH = 40.0
"""Bits of information from which on equal rows are no chance."""
CERTAIN = 128.0
"""Bits that are told at most."""
DOUBT = 10.0
"""Bits that outcomes must tell where something else says that rows are other ones."""
SIZE = 4096
"""Distinct predictions that a sample holds at most."""
_MANY = 1 << 18  # predictions of all samples that are kept together
_LEVELS = 6.0  # bits for the choice of a level among 64
_FIELDS = np.dtype([("v", "<u4"), ("n", "<u4"), ("ones", "<u4"), ("id", "<u4")])
_CHUNK = 1 << 15  # rows at a time, which stay in the cache


@dataclass(frozen=True, slots=True)
class RowSample:
    """Sums of the rows of a source by float32 prediction, of those whose hash begins with so many zero bits."""

    level: int  # so many
    data: bytes  # of each prediction, in order of its bits: these, rows, ones, and exclusive or of hashes of ids

    def at(self, level: int) -> npt.NDArray[Any]:
        """Return the records at a level that is no lower."""
        records = np.frombuffer(self.data, dtype=_FIELDS)
        return records if level == self.level else records[_levels(records["v"].astype(np.uint64)) >= level]

    def down_to(self, size: int) -> RowSample:
        """The sample at the lowest level at which it holds so few predictions."""
        level, records = self.level, self.at(self.level)
        while len(records) > size:
            level += 1
            records = records[_levels(records["v"].astype(np.uint64)) >= level]
        return RowSample(level, records.tobytes())

    def to_list(self) -> list[Any]:
        """As JSON."""
        return [self.level, base64.b64encode(zlib.compress(self.data)).decode()]

    @classmethod
    def from_list(cls, content: Sequence[Any]) -> RowSample:
        """From JSON; raises ValueError or TypeError for anything else."""
        level, text = content
        try:
            data = zlib.decompress(base64.b64decode(text, validate=True))
        except zlib.error as problem:
            raise ValueError(f"a sample of rows is damaged: {problem}") from None
        if type(level) is not int or not 0 <= level < 64 or len(data) % _FIELDS.itemsize:
            raise ValueError("a sample of rows has a level or a length that none has")
        sample = cls(level, data)
        records = sample.at(level)
        sound = (np.diff(records["v"].astype(np.int64)) > 0).all() and (records["n"] > 0).all()
        if (
            not sound
            or (records["ones"] > records["n"]).any()
            or len(records) > SIZE
            or (_levels(records["v"].astype(np.uint64)) < level).any()
        ):
            raise ValueError("a sample of rows has sums that no rows have")
        return sample


@dataclass(frozen=True, slots=True)
class Repeats:
    """About how many rows are there twice, and the information in their outcomes."""

    count: int
    bits: float


def sample_rows(
    y: FloatArray, v: FloatArray, ids: UIntArray | None = None, *, numbered: bool = False, keyed: bool = False
) -> tuple[RowSample | None, Repeats | None]:
    """The sample of rows in their order, and what shows that some are there twice; of event rates there is none.

    Ids that are the numbers of the rows tell no two of them apart; equal ones of keys prove nothing.
    """
    if not len(v):
        return None, None
    slots = 2 << max(4, int(min(len(v), SIZE)).bit_length())
    table, other = (np.zeros((slots, 6), dtype=np.uint64) for _ in range(2))
    state = np.zeros(3, dtype=np.int64)
    for start in range(0, len(v), _CHUNK):
        part = slice(start, start + _CHUNK)
        one = y[part] == 1
        if not (one | (y[part] == 0)).all():
            return None, None
        of_ids = _NO_IDS if ids is None else ids[part]
        kernel.sample(_numbers(v[part]), one.view(np.uint8), of_ids, state, SIZE, table, other)
    level, n, _ = state.tolist()
    table = table[table[:, 0] != 0]
    table = table[np.argsort(table[:, 0])]
    records = np.empty(n, dtype=_FIELDS)
    columns = (table[:, 0] - np.uint64(1), *table[:, 1:4].T)
    for name, column in zip(records.dtype.names or (), columns, strict=True):
        records[name] = column & np.uint64(0xFFFFFFFF)
    records["n"] = np.minimum(table[:, 1 + kernel.COUNT], 0xFFFFFFFF)
    lag = table[:, 1 + kernel.STOP] - table[:, 1 + kernel.START]
    within = records
    if numbered:
        within = records.copy()
        within["id"] = 0
    evidence = _multiples(within, level, len(v), with_ids=ids is not None and not numbered, keyed=keyed)
    return RowSample(level, records.tobytes()), evidence or _steps(within, lag.astype(np.int64), level, len(v))


def shared_rows(one: RowSample, other: RowSample, *, with_ids: bool, keyed: bool = False) -> Repeats | None:
    """Return the evidence that two sources share rows; None if there is none beyond chance.

    Of m predictions with two rows in all, each has them in different sources with probability at most 1/2 if the
    sources are independent, for predictions of any distribution. So many splits that this has a probability
    below 2^-40 are rows of both, unless outcomes (or ids, which both have) differ as those of other rows do.
    """
    level = max(one.level, other.level)
    a, b = one.at(level), other.at(level)
    _, i, j = np.intersect1d(a["v"], b["v"], assume_unique=True, return_indices=True)
    single = (a["n"][i] == 1) & (b["n"][j] == 1)
    within = sum(int((x["n"] == 2).sum() - (x["n"][at] == 2).sum()) for x, at in ((a, i), (b, j)))
    splits = int(single.sum())
    i, j = i[single], j[single]
    if _tail(splits, splits + within, 0.5) - 0.5 * math.log2(1 + 6 * (splits + within)) - _LEVELS < ENOUGH:
        return None
    same = a["ones"][i] == b["ones"][j]
    if with_ids:
        same &= a["id"][i] == b["id"][j]
    rate = (a["ones"].sum() + b["ones"].sum() + 1.0) / (a["n"].sum() + b["n"].sum() + 2.0)
    chance = _divisible(np.ones(splits), _predictions(a["v"][i]), rate, 2)
    return _judged(same, chance, 1 << level, proved=with_ids and not keyed)


def thinned(samples: Sequence[RowSample | None]) -> list[RowSample | None]:
    """Samples at such levels that all of them together can be kept."""
    size = max(_MANY // max(1, sum(each is not None for each in samples)), 1)
    return [None if each is None else each.down_to(size) for each in samples]


def sample_of_all(samples: Sequence[RowSample | None]) -> RowSample | None:
    """The sample of the rows of several sources together; None if one of them is not known."""
    known = [each for each in samples if each is not None]
    if len(known) < len(samples) or not known:
        return None
    level = max(each.level for each in known)
    records = np.concatenate([each.at(level) for each in known])
    order = np.argsort(records["v"], kind="stable")
    records = records[order]
    starts = np.flatnonzero(np.r_[True, records["v"][1:] != records["v"][:-1]])
    together = records[starts]
    for name in ("n", "ones"):
        together[name] = np.minimum(np.add.reduceat(records[name].astype(np.uint64), starts), 0xFFFFFFFF)
    together["id"] = np.bitwise_xor.reduceat(records["id"], starts)
    return RowSample(level, together.tobytes()).down_to(SIZE)


def singles(sample: RowSample) -> npt.NDArray[np.uint32]:
    """Predictions of one row."""
    records = sample.at(sample.level)
    numbers: npt.NDArray[np.uint32] = records["v"][records["n"] == 1]
    return numbers


def mixed(x: UIntArray) -> UIntArray:
    """Each number mixed; 0 stays 0."""
    hashes = np.empty_like(x)
    kernel.mix(x, hashes)
    return hashes


def _multiples(records: npt.NDArray[Any], level: int, n_rows: int, *, with_ids: bool, keyed: bool) -> Repeats | None:
    """Return the evidence that all rows are there two or three times: counts at predictions are multiples of that."""
    count = records["n"].astype(np.float64)
    for times in (2, 3) if not with_ids else (2,):
        multiple = records["n"] % times == 0
        if _tail(int(multiple.sum()), len(records), 1.0 / times) - math.log2(2.73 * math.sqrt(n_rows)) < ENOUGH:
            continue
        same = (records["ones"] % times == 0)[multiple]
        if with_ids:
            same &= records["id"][multiple] == 0
        rate = (float(records["ones"].sum()) + 1.0) / (count.sum() + 2.0)
        chance = _divisible(count[multiple], _predictions(records["v"][multiple]), rate, times)
        evidence = _judged(same, chance, 1 << level, proved=with_ids and not keyed)
        if evidence is not None:
            extra = count[multiple][same].sum() * (times - 1) / times
            return Repeats(min(int(extra) << level, n_rows * (times - 1) // times), evidence.bits)
    return None


def _steps(records: npt.NDArray[Any], lag: npt.NDArray[np.int64], level: int, n_rows: int) -> Repeats | None:
    """Return the evidence that a stretch of rows is there twice: pairs of equal predictions, equally far apart."""
    pair = (records["n"] == 2) & (lag > 1)  # ties of sorted rows stand side by side
    lags, counts = np.unique(lag[pair], return_counts=True)
    if not len(lags):
        return None
    most = int(np.argmax(counts))
    n_pairs, n = int(pair.sum()), min(int(counts[most]), n_rows // 4)
    choices = (math.lgamma(n_pairs + 1) - math.lgamma(n + 1) - math.lgamma(n_pairs - n + 1)) / math.log(2.0)
    if n * math.log2(max(n_rows - 2, 8) / 8.0) - choices - math.log2(n_rows) < ENOUGH:
        return None
    at = pair & (lag == lags[most])
    rate = (records["ones"].sum() + 1.0) / (records["n"].sum() + 2.0)
    same = (records["ones"][at] != 1) & (records["id"][at] == 0)
    chance = _divisible(np.full(int(at.sum()), 2.0), _predictions(records["v"][at]), rate, 2)
    evidence = _judged(same, chance, 1 << level)
    return None if evidence is None else Repeats(min(evidence.count, n_rows // 2), evidence.bits)


def _judged(same: npt.NDArray[np.bool_], chance: FloatArray, scale: int, *, proved: bool = False) -> Repeats | None:
    """Evidence of rows that predictions say are the same, unless their outcomes say that they are not."""
    n, agreeing = len(same), int(same.sum())
    bits = min(_tail(agreeing, n, float(chance.mean())), CERTAIN)
    if agreeing < n and bits < DOUBT:
        return None
    return Repeats(agreeing * scale, CERTAIN if proved else bits)


def _tail(successes: int, n: int, p: float) -> float:
    """Bits by which so many successes of n are improbable, each of probability p on average (Chernoff, Hoeffding)."""
    share = successes / max(n, 1)
    if share <= p:
        return 0.0
    rest = (1.0 - share) * math.log2((1.0 - share) / (1.0 - p)) if share < 1.0 else 0.0
    return n * (share * math.log2(share / p) + rest)


def _divisible(n: FloatArray, v: FloatArray, rate: float, times: int) -> FloatArray:
    """Probability that `times` divides a binomial count of n, of the prediction or of the rate if that is likelier.

    Of one row each in two sources (n = 1): that both outcomes are equal, which is that of two rows of one.
    """
    n = np.maximum(n, 2.0)
    turn = np.exp(2j * np.pi * np.arange(times) / times)
    both = [((1.0 - p + p * turn[:, None]) ** n).real.mean(axis=0) for p in (v, np.full_like(v, rate))]
    probability: FloatArray = np.clip(np.maximum(*both), 0.0, 1.0)
    return probability


def _numbers(v: FloatArray) -> UIntArray:
    with np.errstate(over="ignore"):  # what is no probability is refused later, by its row
        single = np.asarray(v, dtype=np.float32) + np.float32(0.0)
    numbers: UIntArray = single.view(np.uint32).astype(np.uint64)
    return numbers


def _predictions(single: npt.NDArray[Any]) -> FloatArray:
    predictions: FloatArray = np.ascontiguousarray(single, dtype=np.uint32).view(np.float32).astype(np.float64)
    return np.clip(np.nan_to_num(predictions), 0.0, 1.0)


def _levels(keys: UIntArray) -> npt.NDArray[np.int64]:
    """With how many zero bits the hash of each number begins."""
    hashes = mixed(keys + kernel.FIRST)
    high = (hashes >> np.uint64(11)).astype(np.float64)  # 53 bits, which a double has
    return np.where(high > 0, 53 - np.frexp(high)[1], 53).astype(np.int64)
