"""Identities of rows: fingerprints that add up, and the rule that tells a copy from chance."""

import itertools
import json
import math

import numpy as np
import pytest

from calibrant import CalibrationSketch
from calibrant.door import overlap
from calibrant.door.identity import (
    _FIELDS,
    CERTAIN,
    DOUBT,
    ENOUGH,
    HEAD,
    SIZE,
    Identity,
    RowSample,
    _levels,
    _multiples,
    _steps,
    _tail,
    beginnings,
    identities,
    identity_of_sample,
    information,
    joined,
    mixed,
    remembered,
    sample_of_all,
    sample_rows,
    shared_rows,
    singles,
    thinned,
    without,
)
from calibrant.door.overlap import _adding_up, find_overlap
from calibrant.door.sample import Sample
from calibrant.kernels import identity as kernel


def rows(n, seed, grid=0, rate=1.0):
    rng = np.random.default_rng(seed)
    v = rng.integers(1, grid, n) / grid if grid else rng.random(n)
    v = v * rate
    return (rng.random(n) < v).astype(float), v


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("counts", [(1,), (2, 3), (5, 1, 1), (63,), (20, 40)])
@pytest.mark.parametrize("place", [0.001, 0.1, 0.5, 0.93])
def test_information_is_that_of_equal_counts_or_less(counts, place):
    v = np.linspace(place, place * 0.9, len(counts))
    equal = math.prod(sum(p * p for p in binomial(n, each)) for n, each in zip(counts, v, strict=True))
    n, rate = sum(counts), float(np.dot(counts, v) / sum(counts))
    found = information(np.array(counts, float), v, rate)
    assert found <= -math.log2(equal) + 1e-9
    pooled = (rate * n + 1) / (n + 2)
    likelier = [
        max(sum(p * p for p in binomial(m, each)) for each in (x, pooled)) for m, x in zip(counts, v, strict=True)
    ]
    assert found == pytest.approx(-math.log2(math.prod(likelier)), abs=1e-9)


def test_what_the_rule_says_of_three_batches():
    one = identities(np.zeros(1), np.full(1, 0.1))[0].bits
    assert 2.0**-one == pytest.approx(0.82)
    many = identities(np.zeros(500), np.full(500, 0.001))[0].bits
    assert 0.465 < 2.0**-many < 0.5
    assert identities(*rows(1000, 0))[0].bits > ENOUGH
    assert identities(*rows(1000, 0, grid=6))[0].bits < ENOUGH  # five grades may be equal


def test_by_enumeration_no_two_batches_are_equal_more_often_than_is_said():
    v = np.array([0.2, 0.2, 0.7, 0.9])
    chance = 0.0
    seen = {}
    for y in itertools.product((0.0, 1.0), repeat=4):
        p = float(np.prod(np.where(np.array(y) == 1.0, v, 1.0 - v)))
        seen.setdefault(identities(np.array(y), v)[0].rows, []).append((p, y))
    chance = sum(sum(p for p, _ in each) ** 2 for each in seen.values())
    said = min(identities(np.array(y), v)[0].bits for each in seen.values() for _, y in each)
    assert chance <= 2.0**-said


@pytest.mark.slow
@pytest.mark.parametrize(("n", "grid", "rate"), [(10, 2, 1.0), (12, 6, 0.3), (40, 3, 0.05)])
def test_by_simulation_likewise(n, grid, rate):
    rng, (_, v) = np.random.default_rng(1), rows(n, 0, grid, rate)
    drawn = (rng.random((2000, n)) < v).astype(float)
    found = [identities(y, v)[0] for y in drawn]
    equal = np.mean([a.equals(b) for a, b in itertools.pairwise(found)])
    said = np.mean([2.0**-each.bits for each in found])
    assert equal <= said + 4.0 * math.sqrt(said / 2000)


def test_fingerprints_add_up_in_any_order_and_any_precision():
    y, v = rows(1000, 0)
    whole = identities(y, v)[0]
    turned = np.random.default_rng(0).permutation(1000)
    again = identities(y[turned], v[turned])[0]
    assert (again.rows, again.cells) == (whole.rows, whole.cells)
    assert again.head != whole.head
    parts = identities(y, v, sizes=[1, 299, 700])
    assert (joined(parts).rows, joined(parts).cells) == (whole.rows, whole.cells)
    assert without(whole, parts[:2]).cells == parts[2].cells
    assert identities(y, v.astype(np.float32))[0].rows == whole.rows
    assert identities(y, v, np.ones(1000))[0].rows == whole.rows
    assert identities(y, v, np.full(1000, 2.0))[0].rows != whole.rows
    assert beginnings(y, v, None, [1, 300, 1000])[2].equals(whole)
    assert beginnings(y, v, None, [300])[0].equals(joined(parts[:2]))
    for changed in (np.r_[1 - y[:1], y[1:]], np.roll(y, 1)):
        assert not identities(changed, v)[0].equals(whole)


@pytest.mark.slow
def test_a_sketch_and_a_sample_have_the_identity_of_their_rows():
    y, v = rows(1000, 0)
    v[:4] = 0.0, 1.0, 0.5, 1 / 65536
    y[:4] = 0.0, 1.0, 1.0, 0.0
    whole = identities(y, v)[0]
    for resolution in (65536, 1 << 20):
        assert CalibrationSketch(resolution).update(y, v).identity.equals(whole)
    assert not CalibrationSketch(1024).update(y, v).identity.equals(whole)
    assert identity_of_sample(Sample.from_columns(y, v)).equals(whole)


def test_a_total_is_found_beside_its_parts_few_or_many():
    for n_parts in (2, 7, 40):
        parts = [identities(*rows(50 + at, at))[0] for at in range(n_parts)]
        for place in (0, n_parts // 2, n_parts):
            sources = [[each] for each in (*parts[:place], joined(parts), *parts[place:])]
            found = find_overlap(sources)
            assert (found.how, found.one, len(found.others)) == ("total", place, n_parts)
            assert find_overlap(sources, about=place) is not None
        assert find_overlap([[each] for each in parts]) is None
    parts = [identities(*rows(60, at))[0] for at in range(9)]
    scattered = [*parts, joined([parts[1], parts[4], parts[8]])]
    assert find_overlap([[each] for each in scattered]).others == (1, 4, 8)


def test_what_a_sum_holds_is_found_and_beginnings_are():
    (y, v), (z, u) = rows(300, 0), rows(200, 1)
    one, other = identities(y, v)[0], identities(z, u)[0]
    found = find_overlap([[joined([one, other]), one, other], [other]])
    assert (found.how, found.certain) == ("copy", True)
    longer = identities(np.r_[y, z], np.r_[v, u])[0]
    assert find_overlap([[one], [longer]]).how == "begin"
    assert find_overlap([[one], [longer]]).count == HEAD


def test_few_rows_are_told_apart_by_ids_alone():
    y, v = np.zeros(3), np.full(3, 0.1)
    one, same, other = (
        identities(y, v, ids=np.array(ids, np.uint64), ids_name="csv: id")[0]
        for ids in ([1, 2, 3], [3, 1, 2], [4, 5, 6])
    )
    unknown = identities(y, v)[0]
    assert find_overlap([[one], [other]]) is None
    assert find_overlap([[one], [same]]).certain
    assert not find_overlap([[one], [unknown]]).certain


def test_an_identity_comes_back_from_json():
    whole = identities(*rows(300, 0), ids=np.arange(300, dtype=np.uint64), ids_name="csv: id")[0]
    for each in (whole, identities(np.zeros(1), np.zeros(1))[0]):
        assert Identity.from_list(json.loads(json.dumps(each.to_list()))) == each
    for change in ((0, 0), (0, 1.5), (1, "ab"), (4, -1.0), (4, float("nan")), (6, ["id", "zz"])):
        broken = whole.to_list()
        broken[change[0]] = change[1]
        with pytest.raises((ValueError, TypeError)):
            Identity.from_list(broken)


def test_the_oldest_of_many_are_remembered_together():
    parts = [identities(*rows(20, at))[0] for at in range(9)]
    few = remembered(parts, 4)
    assert len(few) == 4
    assert joined(few).cells == joined(parts).cells
    assert remembered(parts, 9) == tuple(parts)


@pytest.mark.parametrize("falling", [False, True])
def test_files_sorted_by_coarse_scores_begin_alike_and_are_other_rows(falling):
    """All of the first rows have one prediction, so that their outcomes are nearly sure."""
    sources = []
    for seed in range(4):
        y, v = rows(20_000 + seed, seed)
        v = np.round(v if falling else v**3, 2)
        y = (np.random.default_rng(seed).random(v.size) < v).astype(float)
        order = np.lexsort((y, v))
        order = order[::-1] if falling else order
        sources.append([identities(y[order], v[order])[0]])
    assert find_overlap(sources) is None
    fine, z = np.linspace(0.0001, 0.0002, 300), np.zeros(300)  # rare events of many predictions are told by these
    one, other = (identities(np.r_[z, draw], np.r_[fine, fine])[0] for draw in (z, z + 1))
    assert one.begins_as(other)


@pytest.mark.parametrize("n", [5, 24, 25, 40])
def test_words_that_add_up_to_a_total_are_found_any_of_few_and_neighbours_of_many(n, monkeypatch):
    if n > 24:  # 2^(n / 2) sums would be too many
        monkeypatch.delattr(overlap, "_subset_sums")
    words = np.random.default_rng(n).integers(2**64, size=n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for chosen in (range(1, 4), range(n), *([[0, 2, 4]] if n <= 24 else [])):
            assert list(_adding_up(words, words[list(chosen)].sum())) == [tuple(chosen)]
        assert list(_adding_up(words, words[3])) == []  # one alone is a copy


def test_the_tail_is_that_of_chernoffs_bound():
    for n, p in ((1, 0.5), (10, 0.3), (64, 0.5), (100, 1 / 3)):
        for k in range(n + 1):
            exact = math.fsum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))
            share = k / n
            least = 1.0 if share <= p else (p / share) ** k * (((1 - p) / (1 - share)) ** (n - k) if k < n else 1.0)
            assert 2.0 ** -_tail(k, n, p) == pytest.approx(least, rel=1e-9)
            assert exact <= least * (1.0 + 1e-9)
    assert _tail(0, 0, 0.5) == 0.0


def records(n=1, ones=0, ids=0, size=1, first=1):
    """So many predictions, in order, with these rows, ones and hashes of ids each."""
    held = np.zeros(size, _FIELDS)
    held["v"] = np.arange(first, first + size)
    held["n"], held["ones"], held["id"] = n, ones, ids
    return held


def sample(*parts, level=0):
    held = np.concatenate(parts)
    return RowSample(level, held[np.argsort(held["v"])].tobytes())


def splits(alone, within, ones=0, ids=(0, 0)):
    """Two samples that have so many predictions of one row each in common, and so many of two rows in the first."""
    shared = [records(1, ones, each, alone) for each in ids]
    return sample(shared[0], records(2, 0, 0, within, first=10_000)), sample(shared[1])


@pytest.mark.parametrize("within", [0, 1, 13, 15, 17, 40])
def test_shared_rows_are_as_many_splits_as_the_documentation_says(within):
    """P(at least s of m) <= sqrt(1 + 6 m) P(Bin(m, 1/2) >= s); six bits for the level, and 40 beyond."""
    counts = []
    for alone in range(45, 130):
        m = alone + within
        bits = _tail(alone, m, 0.5) - math.log2(math.sqrt(1 + 6 * m)) - math.log2(64)
        found = shared_rows(*splits(alone, within), with_ids=False)
        assert (found is not None) == (bits >= 40.0)
        if found is not None:
            counts.append(found.count)
    assert within or counts[0] == 51  # the smallest overlap that is seen
    assert counts == list(range(130 - len(counts), 130))


def test_other_outcomes_or_ids_acquit_shared_rows():
    held, other = splits(60, 0)
    assert shared_rows(held, other, with_ids=False).count == 60
    half = sample(records(1, np.arange(60) % 2, 0, 60))
    assert shared_rows(held, half, with_ids=False) is None
    one, apart = splits(60, 0, ids=(5, 6))
    assert shared_rows(one, apart, with_ids=False) is not None
    assert shared_rows(one, apart, with_ids=True) is None
    one, same = splits(60, 0, ids=(5, 5))
    assert shared_rows(one, same, with_ids=True).bits == CERTAIN
    assert shared_rows(one, same, with_ids=True, keyed=True).bits < CERTAIN


def at_levels(n, level):
    """The first numbers whose hash begins with so many zero bits, by Python's own whole numbers."""
    numbers = np.arange(1, 200 * n, dtype=np.uint64)
    return numbers[by_hand(numbers) >= level][:n]


def by_hand(numbers):
    return np.array([64 - int(each).bit_length() for each in mixed(numbers + np.uint64(kernel.FIRST))])


def test_the_level_of_a_number_is_in_how_many_zero_bits_its_hash_begins():
    numbers = np.arange(3_000, dtype=np.uint64)
    assert _levels(numbers).tolist() == by_hand(numbers).tolist()
    assert _levels(numbers).max() >= 9


def number_of(hash_):
    """The number of this hash: the steps of splitmix64's finalizer, which are one to one, are undone."""

    def unshifted(x, by):
        found = x
        for _ in range(64 // by):
            found = x ^ (found >> by)
        return found

    word = 1 << 64
    x = unshifted(hash_, 31) * pow(0x94D049BB133111EB, -1, word) % word
    x = unshifted(x, 27) * pow(0xBF58476D1CE4E5B9, -1, word) % word
    return (unshifted(x, 30) - int(kernel.FIRST)) % word


@pytest.mark.parametrize(
    ("hash_", "level"), [(1 << 63, 0), (1 << 40, 23), (3 << 11, 51), (1 << 11, 52), ((1 << 11) - 1, 53), (0, 53)]
)
def test_of_a_hash_53_bits_are_looked_at(hash_, level):
    number = np.array([number_of(hash_)], np.uint64)
    assert mixed(number + np.uint64(kernel.FIRST)).tolist() == [hash_]
    assert _levels(number).tolist() == [level]


def of_numbers(numbers, n=1):
    held = np.zeros(len(numbers), _FIELDS)
    held["v"], held["n"] = np.sort(numbers), n
    return held


@pytest.mark.parametrize(("one", "other"), [(0, 0), (1, 0), (0, 1), (2, 1), (1, 3)])
def test_samples_are_compared_at_the_higher_of_their_levels(one, other):
    numbers = at_levels(60, 3)
    more = at_levels(200, 0)
    held = np.union1d(numbers, more)
    level = max(one, other)
    a, b = (RowSample(each, of_numbers(held[by_hand(held) >= each]).tobytes()) for each in (one, other))
    expected = int((by_hand(held) >= level).sum())
    assert shared_rows(a, b, with_ids=False).count == expected << level
    assert len(a.at(level)) == len(b.at(level)) == expected
    assert singles(a).tolist() == held[by_hand(held) >= one].tolist()
    together = sample_of_all([a, b])
    assert together.level == level
    assert together.at(level)["n"].tolist() == [2] * expected
    assert a.down_to(10_000) == a
    fewer = a.down_to(expected // 3)
    assert fewer.level > level or len(fewer.at(fewer.level)) <= expected // 3
    assert len(fewer.at(fewer.level)) == int((by_hand(held) >= fewer.level).sum()) <= expected // 3
    assert int((by_hand(held) >= fewer.level - 1).sum()) > expected // 3 or fewer.level == one
    assert RowSample.from_list(a.to_list()) == a


def test_samples_of_all_are_those_that_are_known():
    a = RowSample(0, records(1, 1, 3, 4).tobytes())
    assert sample_of_all([]) is None
    assert sample_of_all([a, None]) is None
    assert sample_of_all([a]) == a
    both = sample_of_all([a, RowSample(0, records(2, 1, 5, 4, first=3).tobytes())]).at(0)
    assert both["n"].tolist() == [1, 1, 3, 3, 2, 2]
    assert both["ones"].tolist() == [1, 1, 2, 2, 1, 1]
    assert both["id"].tolist() == [3, 3, 6, 6, 5, 5]
    assert thinned([a, None]) == [a, None]


@pytest.mark.parametrize(
    "content",
    [
        [-1, records(1, 0, 0, 2)],
        [64, records(1, 0, 0, 0)],
        [True, records(1, 0, 0, 0)],
        [0.0, records(1, 0, 0, 2)],
        [0, records(1, 2, 0, 2)],  # more ones than rows
        [0, records(0, 0, 0, 2)],
        [0, np.concatenate([records(1, 0, 0, 1)] * 2)],  # a prediction twice
        [0, records(1, 0, 0, SIZE + 1)],
        [40, records(1, 0, 0, 2)],  # whose level is lower
    ],
    ids=lambda content: f"{content[0]}, {len(content[1])}",
)
def test_what_is_no_sample_is_refused(content):
    level, held = content
    with pytest.raises(ValueError, match=r"a sample of rows has (a level|sums)"):
        RowSample.from_list([level, RowSample(0, held.tobytes()).to_list()[1]])


def test_a_sample_of_any_level_comes_back():
    for level, size in ((0, 0), (0, 1), (0, SIZE), (63, 0)):
        held = RowSample(level, records(1, 1, 0, size).tobytes())
        assert RowSample.from_list(json.loads(json.dumps(held.to_list()))) == held
    with pytest.raises(ValueError, match="a sample of rows is damaged"):
        RowSample.from_list([0, "AAAA"])
    with pytest.raises(ValueError, match="has a level or a length that none has"):
        RowSample.from_list([0, RowSample(0, b"abc").to_list()[1]])


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("n_rows", [100, 150, 1_000, 100_000])
def test_rows_that_are_all_there_twice_show_as_the_documentation_says(times, n_rows):
    """1 / times for each count, over P(Poisson(n) = n) >= 1 / (2.73 sqrt(n)): 40 bits."""
    for size in range(24, 60):
        bits = size * math.log2(times) - math.log2(2.73 * math.sqrt(n_rows))
        found = _multiples(records(times, 0, 0, size), 0, n_rows, with_ids=False, keyed=False)
        assert (found is not None) == (bits >= 40.0)
        if found is not None:
            assert found.count == min(size, n_rows // times) * (times - 1)
            estimate = _multiples(records(times, 0, 0, size), 3, n_rows, with_ids=False, keyed=False).count
            assert estimate == min(8 * found.count, n_rows * (times - 1) // times)
    odd = records(times, np.arange(60) % 2, 0, 60)  # counts of events are no multiples
    assert _multiples(odd, 0, n_rows, with_ids=False, keyed=False) is None


def test_ids_of_rows_that_are_there_twice_tell_whether_they_are_the_same():
    same, other = records(2, 0, 0, 60), records(2, 0, 7, 60)
    assert _multiples(same, 0, 120, with_ids=True, keyed=False).bits == CERTAIN
    assert _multiples(same, 0, 120, with_ids=True, keyed=True).bits < CERTAIN
    assert _multiples(other, 0, 120, with_ids=True, keyed=False) is None
    assert _multiples(records(3, 0, 0, 60), 0, 180, with_ids=True, keyed=False) is None


@pytest.mark.parametrize(
    ("n_rows", "pairs", "alike"),
    [
        *((100, 15, n) for n in (13, 14, 15)),
        *((82, 14, n) for n in (12, 13, 14)),
        *((160, 11, n) for n in (10, 11)),
        *((400, 30, n) for n in (8, 9, 10, 11, 12, 13)),
        *((78, 24, n) for n in (18, 19, 20)),
        *((72, 30, n) for n in (17, 18, 19, 30)),
        *((5000, 20, n) for n in (4, 5, 6, 7)),
        (9, 2, 2),
    ],
)
def test_pairs_that_stand_equally_far_apart_show_as_the_documentation_says(n_rows, pairs, alike):
    """n binom(m, L) (8 / (n - 2))^L for L up to n / 4: 40 bits."""
    held, lag = records(2, 0, 0, pairs), np.full(pairs, 5)
    lag[alike:] = np.arange(10, 10 + pairs - alike)
    n = min(alike, n_rows // 4)
    bits = -math.log2(n_rows * math.comb(pairs, n) * (8 / max(n_rows - 2, 8)) ** n)
    for level in (0, 2):
        found = _steps(held, lag, level, n_rows)
        assert (found is not None) == (bits >= 40.0)
        assert found is None or found.count == min(alike << level, n_rows // 2)


def test_pairs_side_by_side_or_of_other_outcomes_are_no_stretch():
    held, lag = records(2, 0, 0, 30), np.full(30, 5)
    assert _steps(held, lag, 0, 400).count == 30
    assert _steps(held, np.ones(30, int), 0, 400) is None
    assert _steps(records(3, 0, 0, 30), lag, 0, 400) is None
    assert _steps(records(2, 1, 0, 30), lag, 0, 400) is None
    assert _steps(records(2, 0, 3, 30), lag, 0, 400) is None
    assert DOUBT < ENOUGH < CERTAIN


@pytest.mark.parametrize("twice", ["all", "a stretch"])
def test_of_many_predictions_a_sample_tells_about_how_many_rows_are_there_twice(twice):
    y, v = rows(9_000, 5)
    part = slice(None) if twice == "all" else slice(1_000, 4_000)
    y, v = np.r_[y, y[part]], np.r_[v, v[part]]
    held, evidence = sample_rows(y, v)
    numbers = np.unique(v.astype(np.float32).view(np.uint32)).astype(np.uint64)
    levels = by_hand(numbers)
    least = next(level for level in range(64) if (levels >= level).sum() <= SIZE)
    assert held.level == least > 0
    assert len(held.at(least)) == (levels >= least).sum()
    assert evidence.count == pytest.approx(9_000 if twice == "all" else 3_000, rel=0.15)


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 0), (0, True), (4, -0.5), (4, 128.5), (5, -0.5), (5, 129.0), (7, 3), (8, -1), (8, 0.0), (8, True), (1, "ab")],
)
def test_an_identity_that_no_rows_have_is_refused(at, value):
    whole = identities(*rows(300, 0))[0].to_list()
    whole[at] = value
    with pytest.raises(ValueError, match="an identity has"):
        Identity.from_list(whole)


def test_an_identity_at_its_limits_is_taken():
    whole = identities(*rows(300, 0))[0].to_list()
    for at, value in (
        (0, 1),
        (4, 0.0),
        (4, 0.5),
        (4, 128.0),
        (5, 0.0),
        (5, 0.25),
        (7, "ab"),
        (7, None),
        (8, 0),
        (8, 5),
    ):
        entries = [*whole]
        entries[at] = value
        assert Identity.from_list(entries).to_list()[at] == value
    assert Identity.from_list(whole[:7]).to_list()[:9] == [*whole[:7], None, 0]


def test_identities_of_other_counts_are_of_other_rows():
    one = Identity(3, 7, 8, 1.0)
    for other, same in (
        (Identity(3, 7, None, 2.0), True),
        (Identity(3, None, 8, 2.0), True),
        (Identity(4, 7, 8, 1.0), False),
        (Identity(3, 9, 9, 1.0), False),
        (Identity(3, None, None, 1.0), False),
    ):
        assert one.equals(other) == same
    assert not Identity(3, None, None, 1.0).equals(Identity(3, None, None, 1.0))


def test_rates_tell_nothing_and_no_rows_have_no_sample():
    v = np.linspace(0.1, 0.9, 50)
    assert identities(np.full(50, 0.5), v)[0].bits == 0.0
    assert identities(np.r_[np.full(25, 0.5), np.ones(25)], v)[0].bits > 0.0
    assert sample_rows(np.full(50, 0.5), v) == (None, None)
    assert sample_rows(v[:0], v[:0]) == (None, None)


def test_rows_that_depend_on_one_another_may_be_there_twice():
    y, v = rows(200, 3)
    (twice,) = identities(np.r_[y, y], np.r_[v, v])
    assert find_overlap([[twice]]).how == "itself"
    assert find_overlap([[twice]], dependent=True) is None
    assert find_overlap([[twice], [identities(y, v)[0]]], dependent=True, about=1) is not None


def test_what_a_source_claims_twice_is_no_copy_of_another():
    one, other = (identities(*rows(200, seed))[0] for seed in (3, 4))
    assert find_overlap([[one, one]]) is None
    assert find_overlap([[one, one], [other]]) is None
    assert find_overlap([[other], [one], [one]]).others == (1,)


def test_fingerprints_that_add_up_in_half_are_no_total():
    high = 1 << 64
    parts = [Identity(2, high + 5, None, 50.0), Identity(3, high + 6, None, 50.0)]
    for whole, total in (
        (Identity(5, 2 * high + 11, None, 50.0), True),
        (Identity(5, 3 * high + 11, None, 50.0), False),
    ):
        found = find_overlap([[each] for each in (*parts, whole)])
        assert (found is not None) == total
    assert find_overlap([[each] for each in (*parts, Identity(6, 2 * high + 11, None, 50.0))]) is None
