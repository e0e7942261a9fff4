"""Identities of rows: fingerprints that add up, and the rule that tells a copy from chance."""

import itertools
import json
import math

import numpy as np
import pytest

from calibrant import CalibrationSketch
from calibrant.door import overlap
from calibrant.door.identity import (
    ENOUGH,
    HEAD,
    Identity,
    beginnings,
    identities,
    identity_of_sample,
    information,
    joined,
    remembered,
    without,
)
from calibrant.door.overlap import _adding_up, find_overlap
from calibrant.door.sample import Sample


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
