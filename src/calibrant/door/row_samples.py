"""Samples of the rows of a source, by which two sources that share some of their rows are recognised.

A sample holds all rows whose prediction's hash begins with `level` zero bits, summed by prediction: adaptive sampling
(Flajolet 1990). Which predictions are drawn depends on nothing but them, so that samples of two sources hold the same
ones of those that both have. docs/identity.md states the tests and proves their probabilities.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.kernels import identity as kernel
from calibrant.kernels.types import UIntArray

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
_NO_IDS = np.empty(0, dtype=np.uint64)

FloatArray = npt.NDArray[np.float64]


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
    y: npt.NDArray[Any],
    v: npt.NDArray[Any],
    ids: UIntArray | None = None,
    *,
    numbered: bool = False,
    keyed: bool = False,
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
            return Repeats(int(extra) << level, evidence.bits)
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
    return _judged(same, _divisible(np.full(int(at.sum()), 2.0), _predictions(records["v"][at]), rate, 2), 1 << level)


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


def _numbers(v: npt.NDArray[Any]) -> UIntArray:
    single = np.asarray(v, dtype=np.float32) + np.float32(0.0)
    numbers: UIntArray = single.view(np.uint32).astype(np.uint64)
    return numbers


def _predictions(numbers: npt.NDArray[Any]) -> FloatArray:
    predictions: FloatArray = np.ascontiguousarray(numbers, dtype=np.uint32).view(np.float32).astype(np.float64)
    return np.clip(np.nan_to_num(predictions), 0.0, 1.0)


def _levels(numbers: UIntArray) -> npt.NDArray[np.int64]:
    """With how many zero bits the hash of each number begins."""
    hashes = mixed(numbers + kernel.FIRST)
    high = (hashes >> np.uint64(11)).astype(np.float64)  # 53 bits, which a double has
    return np.where(high > 0, 53 - np.frexp(high)[1], 53).astype(np.int64)
