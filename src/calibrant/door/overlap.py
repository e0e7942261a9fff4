"""Sources that hold the same rows: one, all or some of another's, several others' together, or its own twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.door.errors import InputError, Ways
from calibrant.door.identity import ENOUGH, HEAD, Identity, joined, shared_rows, singles
from calibrant.door.values import counted, in_a_row
from calibrant.kernels.types import UIntArray

_DISTINCT = Ways(
    "leave one out; distinct=True says that they are other rows",
    "leave one out; --distinct says that they are other rows",
)
_TWICE = Ways(
    "write each row once; groups=COLUMN if rows of one group may be equal; distinct=True says that they are other rows",
    "write each row once; --groups COLUMN if rows of one group may be equal; --distinct says that they are other rows",
)
_SMALL = 24  # sources of which every subset is added up
_WORD = (1 << 64) - 1
_NONE = np.empty(0, dtype=np.uint32)
_FEWEST = 40  # shared rows below which there is nothing to look at


@dataclass(frozen=True, slots=True)
class Overlap:
    """Sources, by their numbers, that hold the same rows, how many or about how many, and the information in that."""

    how: str
    one: int
    others: tuple[int, ...]
    count: int
    bits: float

    @property
    def certain(self) -> bool:
        """Whether it is no chance."""
        return self.bits >= ENOUGH

    def sentence(self, names: Sequence[str]) -> str:
        """Say what is wrong."""
        one, others = names[self.one], [names[other] for other in self.others]
        rows, first = f"the same {counted(self.count, 'row')}", "".join(others[:1])
        sentence = {
            "copy": f"{one} holds {rows} as {first}",
            "begin": f"{one} begins with {rows} as {first}",
            "total": f"{one} holds the rows of {_listed(others)} together",
            "share": f"{one} holds about {counted(self.count, 'row')} of {first}",
            "itself": f"{one} holds about {counted(self.count, 'row')} twice",
        }[self.how]
        if self.certain:
            return sentence if self.how == "itself" else f"{sentence}; they would count twice"
        return f"{sentence}; they may be copies or equal by chance (probability up to about {2.0**-self.bits:.2g})"


def refuse(overlap: Overlap | None, names: Sequence[str], fail: type[InputError], argument: str) -> None:
    """Refuse sources that hold the same rows, by their names."""
    if overlap is not None:
        raise fail(argument, overlap.sentence(names), allowed=_TWICE if overlap.how == "itself" else _DISTINCT)


def find_overlap(
    sources: Sequence[Sequence[Identity]],
    *,
    apart: Callable[[int, int], bool] = lambda _one, _other: False,
    about: int | None = None,
    dependent: bool = False,
) -> Overlap | None:
    """Sources that hold the same rows, or one that is the sum of others; None if there are none.

    The first certain one; without any, those that chance makes the same most rarely.

    Parameters
    ----------
    sources : sequence of sequence of Identity
        Of each source first its own identity, then those of what it was added up from, where that is known.
    apart : callable
        Whether something beside the rows tells two sources apart, where their contents do not settle it.
    about : int, optional
        Look for what this one has to do with the others alone.
    dependent : bool, default False
        Whether equal rows may depend on one another: then whole sources alone are compared.
    """

    def is_settled(overlap: Overlap) -> bool:
        one, others = overlap.one, overlap.others or (overlap.one,)
        of_two = overlap.how in ("copy", "begin") and sources[one][0].apart(sources[others[0]][0])
        return not overlap.certain and (of_two or all(apart(one, other) for other in others))

    return strongest(each for each in _overlaps(sources, about, dependent) if not is_settled(each))


def strongest(overlaps: Iterable[Overlap | None]) -> Overlap | None:
    """The first that is certain, else the one with most information; None of none."""
    best: Overlap | None = None
    for each in overlaps:
        if each is not None and each.certain:
            return each
        if each is not None and (best is None or each.bits > best.bits):
            best = each
    return best


def _overlaps(sources: Sequence[Sequence[Identity]], about: int | None, dependent: bool) -> Iterator[Overlap]:
    """Every overlap, or every one that this source has a part in; the cheapest to find come first."""
    some = () if dependent else _sharing(sources, about)
    for each in itertools.chain(_shared(sources), _totals([own for own, *_ in sources], about), some):
        if about in (None, each.one, *each.others):
            yield each
    if not dependent:
        yield from (each for each in _repeated(sources) if about in (None, each.one))


def _repeated(sources: Sequence[Sequence[Identity]]) -> Iterator[Overlap]:
    """Sources that hold rows twice."""
    for at, (own, *_) in enumerate(sources):
        if own.repeated is not None:
            yield Overlap("itself", at, (), own.repeated.count, own.repeated.bits)


def _sharing(sources: Sequence[Sequence[Identity]], about: int | None) -> Iterator[Overlap]:
    """Pairs of sources that share rows beyond chance, by the samples that are known."""
    claims = [(at, claim) for at, each in enumerate(sources) for claim in each if claim.sample is not None]
    for i, j in _candidates(claims, about):
        (one, a), (other, b) = claims[j], claims[i]
        assert a.sample is not None
        assert b.sample is not None
        evidence = shared_rows(a.sample, b.sample, with_ids=a.has_ids_of(b), keyed=a.keyed)
        if evidence is not None:
            yield Overlap("share", one, (other,), min(evidence.count, a.count, b.count), evidence.bits)


def _candidates(claims: Sequence[tuple[int, Identity]], about: int | None) -> list[tuple[int, int]]:
    """Pairs of these of different sources, the earlier first, with so many predictions in common that rows may be."""
    keys = [_NONE if each.sample is None else singles(each.sample) for _, each in claims]
    if about is not None:  # the others are not compared with one another
        own = np.concatenate([_NONE, *(each for (at, _), each in zip(claims, keys, strict=True) if at == about)])
        keys = [each[np.isin(each, own)] for each in keys]
    values = np.concatenate([_NONE, *keys])
    of = np.repeat(np.arange(len(claims)), [len(each) for each in keys])
    order = np.argsort(values, kind="stable")
    values, of = values[order], of[order]
    n, counts = len(claims), np.zeros(0, dtype=np.int64)
    pairs = counts
    step = 1
    while (same := np.flatnonzero(values[step:] == values[:-step])).size:
        codes, often = np.unique(of[same] * n + of[same + step], return_counts=True)
        pairs, place = np.unique(np.concatenate([pairs, codes]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts, often])).astype(np.int64)
        step += 1
    shared = pairs[counts >= _FEWEST]
    places = [(int(each) // n, int(each) % n) for each in shared]
    return [(i, j) for i, j in places if claims[i][0] != claims[j][0] and about in (None, claims[i][0], claims[j][0])]


def _shared(sources: Sequence[Sequence[Identity]]) -> Iterator[Overlap]:
    """Pairs of sources where one holds the other, or what it holds."""
    earlier: dict[tuple[str, int, int], list[tuple[int, Identity]]] = {}
    for at, claims in enumerate(sources):
        for claim in claims:
            keys = [("copy", claim.count, each) for each in (claim.rows, claim.cells) if each is not None]
            keys += [("begin", HEAD, claim.head)] if claim.head is not None else []
            for key in keys:
                for other, match in earlier.get(key, []):
                    if key[0] == "copy":
                        overlap = Overlap("copy", at, (other,), claim.count, claim.bits_with(match))
                    else:
                        overlap = Overlap("begin", at, (other,), HEAD, min(claim.head_bits, match.head_bits))
                    yield overlap
        for claim in claims:
            for kind, count, prints in (
                ("copy", claim.count, claim.rows),
                ("copy", claim.count, claim.cells),
                ("begin", HEAD, claim.head),
            ):
                if prints is not None:
                    earlier.setdefault((kind, count, prints), []).append((at, claim))


def _totals(wholes: Sequence[Identity], about: int | None) -> Iterator[Overlap]:
    """Sources that are the sum of two or more others: of any, where sources are few, else of neighbours."""
    few = len(wholes) <= _SMALL
    for prints in ([each.rows for each in wholes], [each.cells for each in wholes]):
        word_of = {at: each & _WORD for at, each in enumerate(prints) if each is not None}
        for at in word_of if few or about is None else [about] if about in word_of else []:
            for parts in _that_make(wholes, word_of, at):
                yield Overlap("total", at, parts, wholes[at].count, wholes[at].bits)


def _that_make(wholes: Sequence[Identity], word_of: Mapping[int, int], number: int) -> Iterator[tuple[int, ...]]:
    """Sources, two or more, that joined are this one."""
    others = [other for other in word_of if wholes[other].count < wholes[number].count]
    if len(others) < 2:
        return
    words = np.array([word_of[other] for other in others], dtype=np.uint64)
    for subset in _adding_up(words, np.uint64(word_of[number])):
        parts = tuple(others[each] for each in subset)
        if joined([wholes[each] for each in parts]).equals(wholes[number]):
            yield parts


def _adding_up(words: UIntArray, total: np.uint64) -> Iterator[tuple[int, ...]]:
    """Subsets of two or more whose sum modulo 2^64 is the wanted one."""
    n = len(words)
    with np.errstate(over="ignore"):
        if n > _SMALL:  # runs of neighbours, and all
            sums = np.concatenate([[np.uint64(0)], np.cumsum(words, dtype=np.uint64)])
            place = {int(each): at for at, each in enumerate(sums)}
            for start, each in enumerate(sums):
                stop = place.get(int(each + total), -1)
                if stop > start + 1:
                    yield tuple(range(start, stop))
            return
        low, high = _subset_sums(words[: n // 2]), _subset_sums(words[n // 2 :])
        order = np.argsort(low)
        rest = total - high
        at = np.searchsorted(low[order], rest)
        for of_high in np.flatnonzero(low[order][np.minimum(at, len(low) - 1)] == rest).tolist():
            of_low = int(order[at[of_high]])
            subset = [i for i in range(n // 2) if of_low >> i & 1]
            subset += [n // 2 + i for i in range(n - n // 2) if of_high >> i & 1]
            if len(subset) > 1:
                yield tuple(subset)


def _subset_sums(words: UIntArray) -> UIntArray:
    sums = np.zeros(1, dtype=np.uint64)
    for each in words:
        sums = np.concatenate([sums, sums + each])
    return sums


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:3]) + ([f"{len(names) - 3} more"] if len(names) > 3 else [])
    return in_a_row(shown)
