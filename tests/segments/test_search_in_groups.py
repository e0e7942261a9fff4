"""Segments found where rows of a group depend on one another: against sums written out, and on known tables."""

import math
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from calibrant import InputError, find_segments
from calibrant.door.rows import Rows
from calibrant.kernels.excursions import squared_evidence
from calibrant.resampling.redraw import GroupSteps, log_tail_of_total, random_signs
from calibrant.segments.by_groups import ByGroups, ByRows, _correlation, parts_of
from calibrant.segments.candidates import form, units_of
from calibrant.segments.evidence import Stakes, holm, totals_of
from calibrant.segments.features import Feature
from calibrant.segments.gate_bounds import at_knots, ends_at_knots
from calibrant.segments.request import Search
from calibrant.segments.search import find_in_rows
from tests.oracles import found_in_groups as oracle
from tests.oracles import found_segments as rows_oracle
from tests.segments.test_search import coded
from tests.strategies import examples

NAMES = {"y_true": "y", "y_prob": "p", "groups": "g"}
LEAST = ("calibrant.segments.candidates.LEAST_GROUPS", "calibrant.segments.by_groups.LEAST_GROUPS")


@st.composite
def tables(draw):
    """Rows in groups, with ties, certain predictions, weights, trials, and groups of one row and of many."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(20, 50))
    v = draw(st.sampled_from([rng.random(n), rng.integers(0, 6, n) / 5, np.full(n, 0.3)]))
    weight = draw(st.sampled_from([None, rng.random(n), rng.integers(0, 3, n) + 0.0]))
    trials = None if weight is not None else draw(st.sampled_from([None, rng.integers(1, 5, n).astype(float)]))
    group = draw(st.sampled_from([rng.integers(0, 8, n), np.arange(n), rng.integers(0, 20, n) ** 2 // 20]))
    group = np.unique(group, return_inverse=True)[1]
    count = np.ones(n) if trials is None else trials
    ones = rng.binomial(count.astype(int), rng.permutation(v) if draw(st.booleans()) else v)
    codes = [rng.integers(0, 3, n), rng.integers(0, 2, n), group % 2]
    rows = Rows.of_arrays(ones.astype(float), v, weight, trials, group)
    return rows, coded(*(np.unique(c, return_inverse=True)[1] for c in codes))


@pytest.mark.slow
@given(tables(), st.integers(1, 2), st.integers(0, 2**32))
@examples(100)
def test_scores_and_pvalues_are_those_of_the_oracle(table, depth, seed):
    rows, features = table
    with patch(LEAST[0], 3), patch(LEAST[1], 3), patch("calibrant.segments.by_groups._LEAST_ALIKE", 0):
        units = units_of(rows, features)
        columns = (units.group, units.prediction, units.weight, units.count)
        large = rows_oracle.formed(units.codes, units.count, units.prediction, depth, 5)
        sides = (units.prediction, 1 - units.prediction)
        numbers = {
            key: [oracle.expected_number(held, *columns[:1], *columns[2:], p) for p in sides]
            for key, held in large.items()
        }
        held = {key: large[key] for key, number in numbers.items() if min(number) >= 3}
        if any(abs(number - 3) < 1e-9 for both in numbers.values() for number in both):
            return
        if () not in large:
            with pytest.raises(InputError, match="a segment needs"):
                form(units, features, depth, 5)
            return
        held = held if () in held else large  # of few groups all segments have a bound
        candidates = form(units, features, depth, 5)
        keys = [tuple(zip(a, b, strict=True)) for a, b in zip(candidates.chosen, candidates.values, strict=True)]
        assert sorted(keys) == sorted(held)
        assert candidates.n_few_groups == len(large) - len(held)
        parts = parts_of(units, candidates)
        signed = np.logical_or.reduceat(parts.many, parts.first)
        if not signed.any() and (units.weight != 1.0).any():
            with pytest.raises(InputError, match="weights may tell outcomes"):
                ByGroups.of(units, candidates, 20, 0.1, np.uint64(seed))
            return
        found = ByGroups.of(units, candidates, 20, 0.1, np.uint64(seed))
    signs = random_signs(np.random.default_rng([seed, 0]), (64, units.n_groups))[:20].T
    expected = oracle.scores({key: held[key] for key in keys}, signs, *columns, units.ones, 3)
    assert found.critical == pytest.approx(np.sort(expected[:, 1:].max(axis=0))[-2])
    with np.errstate(invalid="ignore"):
        by_signs = np.minimum(1.0, rows_oracle.stepped_down(expected) / 0.99)
    shares = np.exp(-0.5 * candidates.handicap)
    proved, share = [], 1.0 if candidates.few else 0.01
    for key, has_signs in zip(keys, parts.many[parts.first], strict=True):
        inside = held[key]
        w, n, p = (column[inside] for column in (units.weight, units.count, units.prediction))
        excess, group = w * (units.ones[inside] - n * p), units.group[inside]
        of = [oracle.sums(range(len(inside)), group, x) for x in (excess, w * n * p, w * n * (1 - p))]
        r, (low, high) = np.array(list(of[0].values())), (max(each.values()) for each in of[1:])
        means = []
        for sign, most in ((1, low), (-1, high)):
            z, spread = sign * r / most, np.sum(w * w * n * p * (1 - p)) / most**2
            x = [min(0.9, math.sqrt(10.0 / spread) * 2.0**k) for k in range(-2, 3)]
            means.append(np.mean([np.exp(np.sum(a * z + (math.log1p(-a) + a) * z**2)) for a in x]))
        pvalue = 1.0 / np.mean(means)
        if not has_signs:
            pvalue = 2.0 * min(pvalue, math.exp(log_tail_of_total(group, p, w * n, excess)))
        proved.append(shares.sum() / shares[keys.index(key)] / share * pvalue)
    assert np.allclose(found.pvalue, np.minimum(by_signs, proved), rtol=1e-6)


def test_what_is_proved_of_few_groups_is_beyond_noise_where_its_pvalue_is_at_most_the_level():
    group, kind = np.divmod(np.arange(100), 10)
    ones = np.where(kind % 2, group % 2, 1)
    rows, features = Rows.of_arrays(ones.astype(float), np.full(100, 0.5), None, None, group), coded(kind % 2)
    units = units_of(rows, features)
    candidates = form(units, features, 1, 5)
    pvalue = ByGroups.of(units, candidates, 20, 0.1, np.uint64(0)).pvalue
    least = pvalue.min()
    assert 0.001 < least < 0.2
    for level in (0.9 * least, 1.1 * least):
        found = ByGroups.of(units, candidates, 20, level, np.uint64(0))
        assert (found.score >= found.critical).tolist() == (pvalue <= level).tolist()


def alike(n_groups=200, size=20, seed=0, correlation=0.3, times=1.0):
    """Rows of groups that go together; where a is 1 and b is 0, events are so many times as frequent as stated."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), size)
    a, b, v = rng.integers(0, 3, group.size), rng.integers(0, 2, group.size), rng.beta(2, 5, group.size)
    shared = np.sqrt(correlation) * rng.normal(size=n_groups)[group]
    uniform = ndtr(shared + np.sqrt(1 - correlation) * rng.normal(size=group.size))
    chance = np.where((a == 1) & (b == 0), np.minimum(1.0, times * v), v)
    y = (uniform < chance).astype(int)
    return {"y": y, "p": v, "a": [f"v{x}" for x in a], "b": [f"v{x}" for x in b], "g": [f"g{x}" for x in group]}, chance


OPTIONS = {"n_resamples": 99, "random_state": 0}


@pytest.mark.slow
def test_the_planted_segment_is_found_and_told():
    table = pa.table(alike(times=1.7)[0])
    found = find_segments(table, **NAMES, **OPTIONS)
    assert [each.name for each in found.segments] == ["a = v1 and b = v0"]
    assert found.segments[0].bias_interval.low > 0.0
    assert (found.n_groups, found.segments[0].n_groups) == (200, 193)
    assert "rows of 193 groups, p =" in found.summary()
    assert found.method == "search of 12 segments (random signs of 200 groups, 99 resamples)"
    assert found.premise == "rows are independent between groups, and predictions were not fitted to them"
    assert found.segments[0].detectable < abs(found.segments[0].bias)


@pytest.mark.slow
def test_calibrated_rows_that_go_together_are_no_fault_though_they_look_like_one():
    as_groups = as_rows = 0
    for seed in range(8):
        columns, _ = alike(100, 40, seed, correlation=0.6)
        table = pa.table(columns)
        as_groups += find_segments(table, **NAMES, **OPTIONS).reject
        as_rows += find_segments(table.drop_columns("g"), y_true="y", y_prob="p", **OPTIONS).reject
    assert as_groups <= 2  # of 8 at 5%
    assert as_rows >= 4


@pytest.mark.slow
def test_order_of_rows_names_of_groups_threads_and_roads_do_not_show(monkeypatch):
    columns, _ = alike(60, 10, times=2.0)
    table = pl.DataFrame(columns)
    wanted = find_segments(table, **NAMES, **OPTIONS).to_dict()
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    assert find_segments(shuffled, **NAMES, **OPTIONS).to_dict() == wanted
    renamed = table.with_columns(g=pl.lit("patient ") + pl.col("g"))
    assert find_segments(renamed.lazy(), **NAMES, **OPTIONS).to_dict() == wanted
    monkeypatch.setattr("calibrant.threads.WORTH_A_THREAD", 1)
    assert find_segments(table.to_pandas(), **NAMES, **OPTIONS).to_dict() == wanted


@pytest.mark.parametrize("exclude_bad", [False, True])
def test_rows_without_a_group_are_refused_by_the_first(exclude_bad):
    table = pl.DataFrame(alike(60, 10)[0])
    missing = pl.int_range(600) >= (0 if exclude_bad else 7)  # all of them, or some
    cut = table.with_columns(g=pl.when(missing).then(None).otherwise(pl.col("g")))
    with pytest.raises(InputError, match="groups: column 'g': row") as refused:
        find_segments(cut, **NAMES, **OPTIONS, exclude_bad=exclude_bad)
    assert refused.value.row == (0 if exclude_bad else 7)


@pytest.mark.slow
def test_rows_without_a_group_are_refused_or_left_out():
    columns, _ = alike(60, 10)
    table = pl.DataFrame(columns)
    cut = table.with_columns(g=pl.when(pl.int_range(600) == 7).then(None).otherwise(pl.col("g")))
    with pytest.raises(InputError, match="groups: column 'g': row 7 has no value"):
        find_segments(cut, **NAMES, **OPTIONS)
    left = find_segments(cut, **NAMES, **OPTIONS, exclude_bad=True).to_dict()
    without = find_segments(table.filter(pl.int_range(600) != 7), **NAMES, **OPTIONS).to_dict()
    assert (left.pop("n_excluded"), without.pop("n_excluded")) == (1, 0)
    assert left == without


def test_what_cannot_be_searched_by_groups_is_refused(monkeypatch):
    columns, _ = alike(60, 10)
    table = pl.DataFrame(columns)
    with pytest.raises(InputError, match="names 'g', the column of groups"):
        find_segments(table, **NAMES, features=["a", "g"], **OPTIONS)
    few = table.filter(pl.col("g").is_in([f"g{k}" for k in range(20)])).with_columns(w=pl.int_range(200) % 7 + 1)
    with pytest.raises(InputError, match="groups: are too few to test weighted rows by groups"):
        find_segments(few, **NAMES, sample_weight="w", **OPTIONS)
    monkeypatch.setattr("calibrant.tables.frames.MANY_ROWS", 100)
    with pytest.raises(InputError, match="groups: cannot be searched by in a table of so many rows"):
        find_segments(table.lazy(), **NAMES, **OPTIONS)


def test_segments_with_few_groups_are_said():
    columns, _ = alike(60, 10)
    few = [x if int(g[1:]) < 10 else "most" for x, g in zip(columns["a"], columns["g"], strict=True)]
    found = find_segments(pa.table({**columns, "few": few}), **NAMES, features=["few"], min_rows=10, **OPTIONS)
    assert found.n_few_groups == 3
    assert "; 3 combinations more are not tested: too few groups hold events, or non-events, there)" in found.summary()


def test_in_few_groups_all_segments_have_a_bound():
    columns, _ = alike(20, 100, correlation=0.02)
    table = pl.DataFrame(columns)
    found = find_segments(table, **NAMES, **OPTIONS)
    assert (found.n_by_bound, found.n_few_groups, found.reject) == (found.n_tested, 0, False)
    assert "12 are tested by a bound alone, which sees large errors only: too few groups" in found.summary()
    far = table.with_columns(y=pl.when(pl.col("b") == "v1").then(pl.lit(0)).otherwise(pl.col("y")))
    found = find_segments(far, **NAMES, **OPTIONS)
    assert [(each.name, each.direction) for each in found.segments] == [("b = v1", "too high")]


def test_rows_where_groups_are_few_and_rare_have_no_signs():
    """A score of 20 groups of 100 rare rows beside 500 of common ones: none has an event in half of all samples."""
    group = np.r_[np.arange(2_000) // 4, 500 + np.arange(2_000) // 100]
    v = np.r_[np.linspace(0.2, 0.8, 2_000), np.linspace(0.02, 0.03, 2_000)]
    y = np.r_[np.random.default_rng(0).random(2_000) < v[:2_000], np.zeros(2_000, bool)].astype(float)
    rows = Rows.of(y, v, groups=group)
    part = np.r_[np.arange(2_000) % 2, np.arange(2_000) % 3]
    assert not find_in_rows(rows, coded(part), Search(n_resamples=99, random_state=0)).reject
    units = units_of(rows, coded(part))
    parts = parts_of(units, form(units, coded(part), 1, 50))
    assert (parts.signed == (units.prediction > 0.1)).all()
    assert parts.whole[0][0] == pytest.approx((y - v).sum())
    assert parts.total[0] == pytest.approx((y - v)[:2_000].sum())
    assert parts.unlike == pytest.approx(GroupSteps.of(group[2_000:], v[2_000:], np.ones(2_000)).moment(2).sum())


@pytest.mark.slow
def test_intervals_and_average_errors_by_group():
    """Where signs speak their interval holds the truth, and it is narrower than what is proved of any groups."""
    columns, chance = alike(300, 10, seed=3, times=1.5)
    v, group = columns["p"], np.unique(columns["g"], return_inverse=True)[1]
    features = [Feature(f, np.array([int(x[1]) for x in columns[f]]), ("0", "1", "2")[: 3 - (f == "b")]) for f in "ab"]
    rows = Rows.of(columns["y"], v, groups=group)
    units = units_of(rows, features)
    candidates = form(units, features, 2, 50)
    said, totals = ByGroups.of(units, candidates, 99, 0.05, np.uint64(0)), totals_of(rows, candidates)
    low, high = said.intervals(totals, 0.05)
    proved = totals.intervals(0.05)
    excess = columns["y"] - v
    for i, (members, values) in enumerate(zip(candidates.chosen, candidates.values, strict=True)):
        inside = np.all([features[f].code == x for f, x in zip(members, values, strict=True)], axis=0)
        inside = np.broadcast_to(inside, v.shape)
        size, r = (np.bincount(group, column * inside) for column in (np.ones(v.size), excess))
        by = totals.by_group
        held = (by.squares[i], by.products[i], by.sizes[i], by.largest[i], by.number[i])
        assert held == pytest.approx((r @ r, r @ size, size @ size, size.max(), (size > 0).sum()))
        assert low[i] < np.mean((chance - v)[inside]) < high[i]
        reach = math.sqrt(math.log(2 * len(candidates) / 0.05) * (size @ size) / 2) / size.sum()
        bias = r.sum() / size.sum()
        assert proved[0][i] == pytest.approx(max(bias - reach, -np.mean(v[inside])))
        assert high[i] - low[i] < proved[1][i] - proved[0][i]
        assert totals.marginal[i] == pytest.approx(min(1, 2 * math.exp(-2 * r.sum() ** 2 / (size @ size))))
    found = find_in_rows(rows, features, Search(n_resamples=99, random_state=0))
    assert found.strongest.marginal_pvalue == pytest.approx(float(holm(totals.marginal).min()))


def test_a_proof_takes_over_where_few_groups_are_surely_wrong():
    """Events in only two dozen groups of a segment: random signs say nothing there."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4_000), 5)
    v = rng.uniform(0.2, 0.8, group.size)
    part = (group < 120) * 1
    y = np.where((part == 1) & (group >= 25), 0, rng.random(group.size) < v) * 1  # most of that part never has any
    rows = Rows.of(y, v, groups=group)
    found = find_in_rows(rows, coded(part), Search(n_resamples=99, random_state=0))
    assert found.n_by_bound == 1
    assert [(each.name, each.direction) for each in found.segments] == [("f0 = 1", "too high")]
    assert "1 is tested by a bound alone, which sees large errors only: too few groups" in found.summary()
    assert found.segments[0].bias_interval.high < 0.0


@pytest.mark.slow
def test_population_bounds_of_groups_hold():
    """Groups in which every row has the same outcome: bounds for rows would say too much, those of groups hold."""
    rng, beyond, of_rows = np.random.default_rng(0), 0, 0
    features = coded(np.zeros(3_000, np.int64), np.arange(3_000) % 2)[1:]
    group = np.repeat(np.arange(300), 10)
    for _ in range(40):
        v = rng.uniform(0.05, 0.35, 300)[group]
        y = (rng.random(300) < 0.2)[group].astype(float)
        rows = Rows.of(y, v, groups=group)
        alone = Rows.of(y, v)
        candidates = form(units_of(alone, features), features, 1, 50)
        low, high = totals_of(rows, candidates).population_intervals(0.1, 10.0)
        beyond += (low > 0.0).any() or (high < 0.0).any()
        low, high = ends_at_knots(at_knots(alone, candidates), 0.1 / (2 * len(candidates)))
        of_rows += (low > 0.0).any() or (high < 0.0).any()
    assert beyond == 0
    assert of_rows > 0
    r = np.bincount(group, y - v)
    draws = Stakes(*(np.array([float(each)]) for each in (r.sum(), 3_000, r @ r, 10.0 * r.sum(), 30_000, 300)), 10.0)
    assert (
        totals_of(rows, candidates).population_intervals(0.1, 10.0)[0][0]
        == draws.ends(0.1 / 6, -np.ones(1), np.ones(1))[0]
    )


@pytest.mark.parametrize("group", [np.repeat(np.arange(20), 3), np.arange(60), np.zeros(60, int)])
def test_the_correlation_in_groups_is_that_of_all_pairs_of_rows_at_least_0_and_0_where_there_are_none(group):
    rng = np.random.default_rng(3)
    v, w = rng.random(60), rng.uniform(0.05, 0.1, 60)
    y = (rng.random(20)[group % 20] < v).astype(float)
    units = SimpleNamespace(prediction=v, weight=w, ones=y, count=np.ones(60))
    e, chance = w * (y - v), w * np.sqrt(v * (1.0 - v))
    pairs = [(i, j) for i in range(60) for j in range(60) if i != j and group[i] == group[j]]
    noise = sum(chance[i] * chance[j] for i, j in pairs)
    expected = sum(e[i] * e[j] for i, j in pairs) / noise if pairs else 0.0
    squares = sum(e[group == g].sum() ** 2 for g in np.unique(group))
    found = _correlation(units, np.ones(units.prediction.size, bool), squares, noise)
    assert found == pytest.approx(min(1.0, max(0.0, expected)), abs=1e-12)


@pytest.mark.parametrize("third", [0.0, 0.3, -0.3])
@pytest.mark.parametrize("size", [0.01, 1.0, 50.0])
def test_the_least_total_that_is_detectable_is_beyond_noise_and_the_next_smaller_is_not(size, third):
    second, third = size**2, third * size**3
    candidates = SimpleNamespace(second=[second], third=[third], handicap=[0.5])
    search = SimpleNamespace(candidates=candidates, redraws=SimpleNamespace(critical=3.0))
    total = ByRows.detectable(search, 0)
    evidence = [[squared_evidence(each, second, way) for way in (third, -third)] for each in (total, 0.999999 * total)]
    assert min(evidence[0]) > 3.5 >= min(evidence[1])
