"""Samples of rows: what they say of sources that share rows, and how rarely they say it of sources that do not."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CalibrationGate, CalibrationMonitor, InputError
from calibrant.door.identity import (
    SIZE,
    Identity,
    RowSample,
    identities,
    joined,
    remembered,
    sample_of_all,
    sample_rows,
    shared_rows,
    singles,
    thinned,
)
from calibrant.door.overlap import find_overlap
from tests.strategies import examples

DRAWS = {
    "fine": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.5, 200.0, n),
    "four decimals": lambda rng, n: np.round(rng.random(n), 4),
    "two decimals": lambda rng, n: np.round(rng.random(n), 2),
    "five values": lambda rng, n: rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n),
    "hard labels": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "leaves": lambda rng, n: (rng.zipf(1.3, n) % 997) / 997.0,
}
FINE = ("fine", "rare")


def draw(rng, n, kind="fine"):
    v = DRAWS[kind](rng, n)
    return (rng.random(n) < v).astype(float), v


def parts(rows, *chosen):
    return [[identities(*(column[each] for column in rows))[0]] for each in chosen]


def overlaps(rng, rows, kind):
    """Sources that count rows twice, of twice 300 or more rows."""
    n = len(rows[0]) // 2
    at, turned = np.arange(2 * n), rng.permutation(2 * n)
    return {
        "window": (at[:n], at[n // 2 : n + n // 2]),
        "head": (at[n // 4 : n], at[:n]),
        "shuffled": (at[:n], turned[turned >= n // 3]),
        "second half": (at[n:], at),
        "three": (at[: n // 2], at[n // 2 : n + n // 2], at[n:]),
        "twice": (np.r_[at, at],),
        "thrice": (np.r_[at, at, at],),
        "twice, shuffled": (rng.permutation(np.r_[at, at]),),
        "row group twice": (np.r_[at[:n], at[: n // 2], at[n:]],),
    }[kind]


KINDS = [
    *("window", "head", "shuffled", "second half", "three"),
    *("twice", "thrice", "twice, shuffled", "row group twice"),
]


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(FINE), st.integers(300, 20_000))
@examples(200)
def test_rows_that_count_twice_are_seen(seed, kind, draws, n):
    rng = np.random.default_rng(seed)
    rows = draw(rng, 2 * n, draws)
    chosen = overlaps(rng, rows, kind)
    found = find_overlap(parts(rows, *chosen))
    assert found is not None, kind
    assert found.certain or draws == "rare"
    if found.how in ("share", "itself"):
        held = np.concatenate([np.unique(each) if found.others else each for each in chosen])
        if len(chosen) < 3:
            assert 0.7 < found.count / (len(held) - len(np.unique(held))) < 1.4


@given(st.integers(0, 2**32 - 1), st.integers(3000, 5000), st.booleans(), st.booleans())
@examples(15)
def test_an_overlap_that_may_be_chance_hides_no_certain_one(seed, n, shuffled, remembered_twice):
    """Rows of rare events: the same beginning tells little, and the many rows after it tell all."""
    rng = np.random.default_rng(seed)
    v = rng.beta(1.0, 60.0, 2 * n)
    rows = (rng.random(2 * n) < v).astype(float), v
    at = np.r_[np.arange(n - 100), np.arange(n, n + 50)]
    at = np.r_[at[:128], rng.permutation(at[128:])] if shuffled else at
    sources = parts(rows, *([slice(n, n + 60)] * remembered_twice), slice(0, n), at)
    for about in (None, len(sources) - 1):
        assert find_overlap(sources, about=about).certain
    gate = CalibrationGate(max_distance=0.3)
    gate.update(rows[0][:n], rows[1][:n])
    with pytest.raises(InputError, match="would count twice"):
        gate.update(rows[0][at], rows[1][at])
    monitor = CalibrationMonitor()
    monitor.update(rows[0][:n], rows[1][:n])
    with pytest.raises(InputError, match="would count twice"):
        monitor.update(rows[0][at], rows[1][at])


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([*DRAWS]), st.lists(st.integers(1, 5000), min_size=1, max_size=3))
@examples(300)
def test_independent_batches_are_not_said_to_share_rows(seed, kind, sizes):
    rng = np.random.default_rng(seed)
    sources = [[identities(*draw(rng, n, kind))[0]] for n in sizes]
    found = find_overlap(sources)
    assert found is None or found.how in ("copy", "begin", "total"), found


@given(st.integers(0, 2**32 - 1), st.integers(60, 5000), st.sampled_from([1, 2]))
@examples(60)
def test_the_same_predictions_with_other_outcomes_are_other_rows(seed, n, times):
    rng = np.random.default_rng(seed)
    v = np.tile(rng.random(n), times)
    y, z = (rng.random(v.size) < v), (rng.random(v.size) < v)
    sources = parts((np.r_[y, z].astype(float), np.r_[v, v]), slice(0, len(v)), slice(len(v), None))
    assert find_overlap(sources) is None


def test_ids_tell_rows_apart_and_prove_that_they_are_the_same():
    rng = np.random.default_rng(0)
    _, v = draw(rng, 600, "rare")
    y, ids = np.zeros(600), np.arange(600, dtype=np.uint64)
    window = slice(0, 400), slice(200, 600)
    for shift, wanted in ((0, True), (1000, False)):
        one, other = (
            identities(y[each], v[each], ids=ids[each] + np.uint64(at * shift), ids_name="csv: id")[0]
            for at, each in enumerate(window)
        )
        found = find_overlap([[one], [other]])
        assert (found is not None and found.certain) == wanted
    doubled = np.r_[v, v]
    for more, wanted in ((0, True), (1000, False)):
        of = np.r_[ids, ids + np.uint64(more)]
        found = identities(np.zeros(1200), doubled, ids=of, ids_name="csv: id")[0]
        assert (found.repeated is not None) == wanted


def test_the_probability_of_a_split_is_at_most_what_is_said():
    """Of predictions with two rows in all, by enumeration: both sources have one, given how many rows each has."""
    for sizes, weights in (((2, 2), (1, 3, 1)), ((3, 1), (1, 1, 5)), ((2, 2), (2, 2, 2)), ((4, 2), (1, 9, 1))):
        m = sum(sizes) // 2
        chance = {}
        for first in itertools.product((0, 1, 2), repeat=m):
            if sum(first) == sizes[0]:
                p = math.prod(math.comb(2, x) * w**x for x, w in zip(first, weights, strict=False))
                chance[first] = chance.get(first, 0.0) + p
        whole = sum(chance.values())
        for least in range(m + 1):
            tail = sum(p for first, p in chance.items() if first.count(1) >= least) / whole
            binomial = sum(math.comb(m, k) for k in range(least, m + 1)) / 2**m
            assert tail <= min(1.0, math.sqrt(1 + 6 * m) * binomial) + 1e-12


def bits_of_splits(m, s):
    """Chernoff's bound of P(Bin(m, 1/2) >= s), times what one sum among all may raise it by, and 64 levels."""
    chernoff = m - sum(k * math.log2(m / k) for k in (s, m - s) if k) if 2 * s > m else 0.0
    return chernoff - math.log2(math.sqrt(1 + 6 * m)) - math.log2(64)


def test_rows_are_shared_from_40_bits_of_splits_on():
    """Asked of the numbers of predictions and splits that are nearest to it."""
    told = {(m, s): bits_of_splits(m, s) for m in range(40, 400) for s in range(m // 2, m + 1)}
    near = sorted(told, key=lambda each: abs(told[each] - 40.0))[:12]
    assert {told[each] >= 40.0 for each in near} == {True, False}
    for m, s in near:
        v = np.linspace(0.1, 0.9, m)
        held = (v[:s], v[s : (m + s) // 2], v[(m + s) // 2 :])
        one, other = np.r_[held[0], np.repeat(held[1], 2)], np.r_[held[0], np.repeat(held[2], 2)]
        samples = [sample_rows(np.zeros(each.size), each)[0] for each in (one, other)]
        assert (shared_rows(*samples, with_ids=False) is not None) == (told[m, s] >= 40.0)


@pytest.mark.parametrize("times", [2, 3])
def test_a_count_is_rarely_a_multiple(times):
    """P(times divides a Poisson count that is not 0) is at most 1 / times, whatever its mean."""
    for mean in (0.01, 0.5, 1.0, 2.0, 3.0, 5.0, 20.0, 200.0):
        logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(1, 1000)]
        p = np.exp(logs)
        assert p[times - 1 :: times].sum() / p.sum() <= 1.0 / times + 1e-12


def test_a_sample_does_not_depend_on_order_nor_on_how_rows_come():
    rng = np.random.default_rng(0)
    y, v = draw(rng, 30_000)
    v[:2000] = v[2000:4000]
    whole, _ = sample_rows(y, v)
    turned = rng.permutation(v.size)
    assert sample_rows(y[turned], v[turned])[0] == whole
    assert SIZE // 4 < len(whole.at(whole.level)) <= SIZE
    pieces = [sample_rows(y[each], v[each])[0] for each in np.split(np.arange(v.size), [100, 9000])]
    together = sample_of_all(pieces)
    assert together == whole.down_to(len(together.at(together.level)))
    single = np.asarray(v, np.float32).view(np.uint32)
    of, count = np.unique(single, return_counts=True)
    ones = np.bincount(np.searchsorted(of, single), y)
    held = whole.at(whole.level)
    at = np.searchsorted(of, held["v"])
    assert (held["n"] == count[at]).all()
    assert (held["ones"] == ones[at]).all()
    assert shared_rows(whole, together, with_ids=False) is not None


def test_event_rates_have_no_sample():
    assert sample_rows(np.array([0.5, 1.0]), np.array([0.1, 0.2])) == (None, None)
    assert sample_of_all([sample_rows(np.zeros(1), np.zeros(1))[0], None]) is None


def test_a_sample_comes_back_from_json_and_damage_is_seen():
    sample, _ = sample_rows(*draw(np.random.default_rng(0), 9000))
    assert RowSample.from_list(json.loads(json.dumps(sample.to_list()))) == sample
    level, text = sample.to_list()
    nothing = RowSample(0, b"").to_list()[1]
    assert RowSample.from_list([63, nothing]) == RowSample(63, b"")
    for broken in (
        [level, text[:-8]],
        [-1, text],
        [64, text],
        [64, nothing],
        [level + 1, text],
        [1.0, text],
        [True, nothing],
        [level],
        [level, 3],
    ):
        with pytest.raises((ValueError, TypeError)):
            RowSample.from_list(broken)


@pytest.mark.slow
def test_many_samples_are_kept_small():
    rng = np.random.default_rng(0)
    held = [identities(*draw(rng, 6000))[0] for _ in range(100)]
    kept = remembered(held)
    assert sum(len(each.sample.data) for each in kept) <= (1 << 18) * 16
    assert thinned([None, held[0].sample]) == [None, held[0].sample]
    y, v = draw(rng, 6000)
    window = identities(y[:5000], v[:5000])[0]
    sources = [*([each] for each in remembered([*held, window])), [identities(y[1000:], v[1000:])[0]]]
    assert find_overlap(sources, about=len(sources) - 1).others == (100,)
    assert joined(kept).sample is not None
    assert Identity.from_list(json.loads(json.dumps(window.to_list()))) == window


def test_singles_are_the_predictions_of_one_row_at_the_level_of_the_sample():
    v = np.round(np.random.default_rng(0).random(60_000), 5)
    sample = sample_rows(np.zeros(v.size), v)[0]
    assert sample.level > 0
    records = sample.at(sample.level)
    assert 0 < (records["n"] == 1).sum() < len(records)
    assert singles(sample).tolist() == records["v"][records["n"] == 1].tolist()
    assert sample.down_to(40).level > sample.level
    assert len(sample.down_to(40).at(sample.down_to(40).level)) <= 40


@pytest.mark.parametrize(("n", "again", "apart"), [(None, 30, 0), (200, 16, 12), (999, 9, 0)])
def test_a_stretch_is_there_twice_if_one_lag_is_improbable_by_40_bits(n, again, apart):
    """Of the m predictions with two rows L stand equally far apart: n binom(m, L) (8 / (n - 2))^L, exactly."""

    def seen(n, again):
        v = np.linspace(0.1, 0.9, n - again - apart)
        rest = again + 2 + 2 * np.arange(apart)  # each at a distance of its own
        return sample_rows(np.zeros(n), np.r_[v, v[:again], v[rest]])[1] is not None

    def improbable(n, again):
        pairs, alike = again + apart, min(again, n // 4)
        return n * math.comb(pairs, alike) * 8**alike * 2**40 <= max(n - 2, 8) ** alike

    sizes = [(n or 3 * at, at) for at in range(max(again - 14, 2), again + 12)]
    assert {improbable(*each) for each in sizes} == {True, False}
    found = [seen(*each) for each in sizes]
    assert found == [improbable(*each) for each in sizes]


def test_how_many_rows_are_there_again_is_told_of_thinned_samples_too():
    rng = np.random.default_rng(1)
    v = rng.random(60_000)
    y = (rng.random(v.size) < v).astype(float)
    order = rng.permutation(2 * v.size)
    sample, again = sample_rows(np.tile(y, 2)[order], np.tile(v, 2)[order])
    assert sample.level > 0
    assert again.count == pytest.approx(v.size, rel=0.1)
    stretch = sample_rows(np.append(y, y[:30_000]), np.append(v, v[:30_000]))[1]
    assert stretch.count == pytest.approx(30_000, rel=0.1)
    whole, part = sample_rows(y, v)[0], sample_rows(y[:20_000], v[:20_000])[0].down_to(400)
    assert 0 < whole.level < part.level
    for one, other in ((whole, part), (part, whole)):
        assert shared_rows(one, other, with_ids=False).count == pytest.approx(20_000, rel=0.2)


def test_no_more_rows_are_shared_or_there_twice_than_a_source_has():
    """Of samples that hold one row of many, about half of all estimates are above the truth."""
    rng, found = np.random.default_rng(0), []
    for _ in range(8):
        v = rng.random(20_000)
        y = (rng.random(v.size) < v).astype(float)
        state = [Identity(v.size, None, None, 128.0, sample=sample_rows(y, v)[0].down_to(2_000))]
        part = [Identity(4_000, None, None, 128.0, sample=sample_rows(y[:4_000], v[:4_000])[0])]
        for sources in ([state, part], [part, state]):
            found.append(find_overlap(sources).count)
        for order in (np.arange(2 * v.size), rng.permutation(2 * v.size)):
            twice = sample_rows(np.tile(y, 2)[order], np.tile(v, 2)[order])[1]
            assert 0.9 * v.size < twice.count <= v.size
    assert max(found) == 4_000  # what is estimated to be more is all of them
    assert min(found) > 3_000


def test_of_outcomes_of_one_kind_the_other_is_possible_by_the_rule_of_succession():
    """Rows that are there twice, none with an event: two of one row agree by chance at a rate of 1 in 122."""
    v = np.repeat(np.linspace(0.2, 0.4, 60), 2)
    found = sample_rows(np.zeros(120), v)[1]
    rate = 1.0 / 122.0
    assert (found.count, found.bits) == (60, pytest.approx(-60 * math.log2(rate**2 + (1.0 - rate) ** 2)))


def test_sources_share_rows_from_as_many_splits_on_as_chance_has_below_two_to_the_minus_40():
    """All of m predictions with a row in each: 2^-m by chance, times sqrt(1 + 6 m) and the 64 levels."""
    y, v = draw(np.random.default_rng(0), 80)
    found = []
    for m in range(40, 60):
        one, other = (sample_rows(y[:m], v[:m])[0] for _ in range(2))
        found.append(shared_rows(one, other, with_ids=False) is not None)
        assert found[-1] == (64 * math.sqrt(1 + 6 * m) * 2.0**-m <= 2.0**-40), m
    assert set(found) == {True, False}
