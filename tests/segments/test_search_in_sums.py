"""Segments found where rows are summed: the same segments as of rows that are read, tails against their slow twin."""

import datetime
from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, audit_table, find_segments
from calibrant.inference.testing.discrete import two_sided_log_pvalues
from calibrant.kernels import sketching
from calibrant.segments import sums
from calibrant.segments.evidence import SHARES, Totals
from calibrant.segments.gate_bounds import bounded_in_table, read_to_bound
from calibrant.segments.request import LEAST_LEVEL, Search
from calibrant.segments.sums import _detectable, _explained
from calibrant.tables import entry, frames
from calibrant.tables.features import in_blocks
from calibrant.tables.frames import OpenedFrame
from tests.oracles import found_in_sums as oracle
from tests.strategies import examples

NAMES = {"y_true": "y", "y_prob": "p"}
SEARCH = {"n_resamples": 39, "random_state": 0}


@pytest.fixture(autouse=True)
def _every_lazy_table_is_large(monkeypatch):
    monkeypatch.setattr(frames, "MANY_ROWS", 0)


def planted(n=6_000, seed=0, times=2.0, *, grid=False):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 65, n) / 64 if grid else rng.beta(2.0, 5.0, n)
    columns = {
        "country": rng.choice(["de", "fr", "jp", "us"], n),
        "device": rng.choice(["phone", "tablet", "desk"], n),
        "age": rng.integers(18, 90, n),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(sigma=3.0, size=n)),
        "new": rng.random(n) < 0.3,
    }
    hit = (columns["country"] == "jp") & (columns["device"] == "tablet")
    return pa.table(columns | {"p": p, "y": (rng.random(n) < np.where(hit, times * p, p)).astype(np.int64)})


def both(table, **options):
    """What is found in rows that are read, and in sums."""
    options = {**NAMES, **SEARCH, **options}
    return find_segments(table, **options), find_segments(pl.from_arrow(table).lazy(), **options)


@pytest.mark.slow
def test_the_same_is_formed_summed_up_and_told():
    read, summed = both(planted())
    assert (read.summed, summed.summed) == (False, True)
    assert summed.n_resamples == 0
    assert dict(read.features) == dict(summed.features)
    assert read.n_tested == summed.n_tested
    assert np.allclose(np.sort(read.tested[:, 0]), np.sort(summed.tested[:, 0]))
    assert np.allclose(np.sort(read.tested[:, 1]), np.sort(summed.tested[:, 1]), atol=1e-12)
    (one,), (other,) = read.segments, summed.segments
    assert one.name == other.name == "country = jp and device = tablet"
    for attribute in ("n_rows", "direction", "base_rate", "mean_prediction", "bias", "marginal_pvalue"):
        assert getattr(one, attribute) == pytest.approx(getattr(other, attribute))
    assert tuple(other.bias_interval) == pytest.approx(tuple(one.bias_interval))
    assert other.detectable < other.bias
    assert other.pvalue < 1e-6
    assert summed.multicalibration_error == pytest.approx(read.multicalibration_error, rel=0.02)
    assert summed.detectable == pytest.approx(read.detectable, rel=0.3)
    assert "were summed by cells of predictions" in summed.summary()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(5, 60))
@examples(100)
def test_features_are_told_apart_alike(seed, n_bins, n):
    rng = np.random.default_rng(seed)
    kinds = [
        rng.normal(size=n) ** 5,
        rng.integers(-2, 3, n) * 1.5,
        np.where(rng.random(n) < 0.7, 9.0, rng.random(n)),
        rng.choice([-0.0, 0.0, 1e-300, 1.0, 2.0**60, np.nan], n),
        rng.lognormal(sigma=30.0, size=n),
    ]
    columns = {f"x{k}": values for k, values in enumerate(kinds)}
    columns["t"] = rng.choice(["a", "b", "", "c ", "é", None], n)
    columns["b"] = rng.random(n) < 0.4
    p = rng.uniform(0.2, 0.8, n)
    table = pa.table(columns | {"p": p, "y": (rng.random(n) < p).astype(np.int64)})
    try:
        read, summed = both(table, n_bins=n_bins, min_rows=1, max_depth=1)
    except InputError as problem:  # too little information, said by both
        assert "a segment needs" in problem.problem  # noqa: PT017
        return
    assert dict(read.features) == dict(summed.features)
    assert dict(read.left_out) == dict(summed.left_out)
    assert sorted(read.tested[:, 0].tolist()) == sorted(summed.tested[:, 0].tolist())


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, "sample_weight", "trials"]))
@examples(100)
def test_the_same_segments_are_formed_and_bounded_of_sums(seed, counted_by):
    """Predictions far within a cell, sums of v (1 - v) about 1, rows without weight, certain ones."""
    rng = np.random.default_rng(seed)
    n = 400
    p = rng.choice([rng.beta(0.2, 8.0, n), rng.choice([0.0, 0.02, 0.1, 0.5], n), np.full(n, 0.02)])
    m = rng.integers(1, 4, n)
    w = m if counted_by == "trials" else rng.integers(0, 3, n)
    y = rng.binomial(m, p) / m if counted_by == "trials" else (rng.random(n) < p) + 0.0
    table = pa.table({"y": y, "p": p, "k": w, "a": rng.integers(0, 9, n), "b": rng.integers(0, 5, n)})
    options = {"features": ["a", "b"], "min_rows": 5} | ({} if counted_by is None else {counted_by: "k"})
    options |= {"outcome_free_weights": True} if counted_by == "sample_weight" else {}
    try:
        read, summed = both(table, **options)
    except InputError as problem:
        assert "a segment needs" in problem.problem  # noqa: PT017
        return
    assert set(read.made_of) == set(summed.made_of)
    if counted_by is None:
        asked, of = Search(min_rows=5, features=("a", "b")), {"level": 0.05, "max_distance": 0.01}
        found, of_sums = (
            bounded_in_table(OpenedFrame(each), NAMES, asked, **of) for each in (table, pl.from_arrow(table).lazy())
        )
        assert found.n_tested == of_sums.n_tested
        assert found.largest.proved >= of_sums.largest.proved - 0.01
        if of_sums.largest.name == "all rows":
            one = [np.array([float(each)]) for each in (n, y.sum(), n, n, y.sum(), p.sum(), p @ p, (y - p) @ (y - p))]
            totals = Totals(*one[:6], weighted=False, square=one[6], errors=one[7])
            ends = [float(each[0]) for each in totals.population_intervals(0.05 / found.n_tested)]
            # Sums by cell do not hold the squares of errors, but at most 1/64 too much for every event.
            assert tuple(of_sums.largest.bias_interval) == pytest.approx(ends, abs=0.01)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@examples(40)
def test_pvalues_are_those_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 120))
    p = rng.integers(0, 65, n) / 64
    p[:20] = 0.5
    table = pa.table({"p": p, "y": (rng.random(n) < p) + 0, "a": rng.integers(0, 3, n), "b": rng.integers(0, 2, n)})
    summed = find_segments(pl.from_arrow(table).lazy(), **NAMES, **SEARCH, min_rows=5)
    rows = table.to_pandas()
    certain = (rows["p"] == 0) | (rows["p"] == 1)
    keys = (
        [()] + [((f, v),) for f in "ab" for v in range(3)] + [(("a", v), ("b", w)) for v in range(3) for w in range(2)]
    )
    found, sizes = [], []
    for key in keys:
        inside = rows[np.logical_and.reduce([np.ones(n, bool), *(rows[f] == v for f, v in key)])]
        used = inside[~certain.loc[inside.index]]
        if len(used) >= 5 and (used["p"] * (1 - used["p"])).sum() >= 1.0:
            found.append(oracle.pvalue(inside["p"].tolist(), inside["y"].tolist()))
            sizes.append(len(key))
    assert len(found) == summed.n_tested
    expected = oracle.adjusted(found, [sizes.count(size) for size in sizes])
    assert np.allclose(np.sort(summed.tested[:, 2]), np.sort(expected), rtol=1e-6)


@pytest.mark.slow
def test_faults_that_share_rows_are_told_as_they_are_of_rows():
    rng = np.random.default_rng(1)
    n = 40_000
    a, b, c = (rng.integers(0, 4, n) for _ in range(3))
    p = rng.uniform(0.1, 0.6, n)
    chance = p + 0.1 * (a == 1) + 0.12 * ((b == 2) & (c == 3))
    table = pa.table({"y": (rng.random(n) < chance) + 0, "p": p, "a": a, "b": b, "c": c})
    read, summed = both(table)
    assert [each.name for each in summed.segments] == ["a = 1", "b = 2 and c = 3"]
    assert [each.name for each in read.segments] == ["a = 1", "b = 2 and c = 3"]
    whole = pa.table({"y": (rng.random(n) < p + 0.05) + 0, "p": p, "a": a, "b": b})
    assert [each.name for each in both(whole)[1].segments] == ["all rows"]
    again = pa.table({"y": (rng.random(n) < p + 0.05 + 0.1 * (a == 1)) + 0, "p": p, "a": a, "b": b, "c": c})
    assert [each.name for each in both(again)[1].segments][:2] == ["all rows", "a = 1"]


@pytest.mark.slow
def test_weights_trials_labels_and_bad_rows():
    table = planted().to_pandas()
    rng = np.random.default_rng(2)
    weighted = pa.Table.from_pandas(table.assign(weight=rng.random(len(table))))
    with pytest.raises(InputError, match="sample_weight: may tell outcomes"):
        both(weighted, sample_weight="weight")
    read, summed = both(weighted, sample_weight="weight", outcome_free_weights=True)
    assert [each.name for each in summed.segments] == [each.name for each in read.segments]
    assert np.allclose(np.sort(read.tested[:, 1]), np.sort(summed.tested[:, 1]))
    trials = rng.integers(1, 6, len(table))
    events = rng.binomial(trials, table["p"])
    read, summed = both(pa.Table.from_pandas(table.assign(y=events / trials, m=trials)), trials="m")
    assert np.allclose(np.sort(read.tested[:, 0]), np.sort(summed.tested[:, 0]))
    bad = table.assign(p=np.where(np.arange(len(table)) % 50 == 0, np.nan, table["p"]))
    read, summed = both(pa.Table.from_pandas(bad), exclude_bad=True)
    assert read.n_excluded == summed.n_excluded == 120
    assert dict(read.features) == dict(summed.features)
    with pytest.raises(InputError, match="120 rows are null or NaN"):
        find_segments(pl.from_pandas(bad).lazy(), **NAMES, **SEARCH)
    with pytest.raises(InputError, match="holds event rates"):
        find_segments(pl.from_pandas(table.assign(y=0.5)).lazy(), **NAMES, **SEARCH)
    certain = table.assign(p=np.where(table["age"] == 30, 0.0, table["p"]))
    read, summed = both(pa.Table.from_pandas(certain))
    assert (read.impossible.n_rows, summed.impossible.row) == (summed.impossible.n_rows, None)


UNUSABLE = {
    "same": (np.ones(6_000), "the same value in every row"),
    "huge": (np.arange(6_000) + 2**53, "whole numbers beyond"),
    "copy": (None, "the values of y_prob"),
    "other": (None, "the outcome itself"),
    "many": ([f"u{k}" for k in range(6_000)], "6,000 different values"),
    "endless": (np.r_[np.inf, np.zeros(5_999)], "infinite"),
    "nothing": (np.full(6_000, np.nan), "missing in every row"),
    "zone": (pa.array(np.datetime64("2026-01-01") + np.arange(6_000), pa.timestamp("us", "UTC")), "holds times"),
    "nest": ([[1]] * 6_000, "holds List"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_features_that_cannot_be_used_are_refused_by_name_or_left_out(name):
    table = planted()
    values, why = UNUSABLE[name]
    if values is None:
        values = table["p"] if name == "copy" else np.where(np.array(table["y"]) == 1, "paid", "default")
    lazy = pl.from_arrow(
        table.append_column(name, pa.array(values) if isinstance(values, list | np.ndarray) else values)
    )
    with pytest.raises(InputError, match=why) as told:
        find_segments(lazy.lazy(), **NAMES, features=[name], **SEARCH)
    assert repr(name) in told.value.problem
    assert why in find_segments(lazy.lazy(), **NAMES, max_depth=1, **SEARCH).left_out[name]


@pytest.mark.slow
def test_files_of_any_size_are_searched(tmp_path, monkeypatch):
    table = planted()
    pq.write_table(table, tmp_path / "rows.parquet")
    table.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    expected = both(table)[1]
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    monkeypatch.setattr(entry, "MANY_BYTES", 0)
    for file in ("rows.parquet", "rows.csv"):
        audit = audit_table(tmp_path / file, **NAMES, find="all", n_resamples=39, random_state=0)
        found = audit.found_segments
        assert found.summed
        assert found.segments[0].name == expected.segments[0].name
        assert np.allclose(found.tested[:, 0], expected.tested[:, 0])
        assert np.allclose(found.tested[:, 2], expected.tested[:, 2], rtol=1e-6)
        assert "where country = jp and device = tablet" in " ".join(audit.sentences)


@cache
def by_day():
    """A table with days, and what is found in it."""
    begun = datetime.datetime(2025, 12, 1, 22)
    day = pa.array([None if k % 40 == 0 else begun + datetime.timedelta(k % 70, k) for k in range(3_000)])
    table = planted(3_000).drop_columns(["age"]).append_column("day", day)
    return table, *both(table)


@pytest.mark.parametrize("engine", ["duckdb", "dask", "ibis"])
@pytest.mark.slow
def test_engines_give_the_same(engine):
    table, read, expected = by_day()
    assert dict(read.features) == dict(expected.features)
    assert read.features["day"][-2:] == ("day from 2026-02-03 on", "day is missing")
    found = find_segments(on(engine, table), **NAMES, **SEARCH)
    for name in ("features", "n_tested", "n_beyond", "left_out"):
        assert getattr(found, name) == getattr(expected, name)
    (one,), (other,) = expected.segments, found.segments
    assert (one.name, one.n_rows, one.direction, one.where) == (other.name, other.n_rows, other.direction, other.where)
    assert other.bias == pytest.approx(one.bias)
    assert np.allclose(found.tested, expected.tested, rtol=1e-6, atol=1e-12)


def on(engine, table):
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        return duckdb.connect().from_arrow(table)
    if engine == "dask":
        dd = pytest.importorskip("dask.dataframe")
        return dd.from_pandas(table.to_pandas(), npartitions=3)
    return pytest.importorskip("ibis").memtable(table)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=7), st.integers(0, 3), st.integers(1, 3_000))
@examples(200)
def test_blocks_hold_every_set_and_are_no_larger_than_they_must_be(sizes, depth, most):
    from calibrant.segments.sums import all_sets

    sets = all_sets(len(sizes), min(depth, len(sizes)))
    blocks = in_blocks(sizes, sets, most)
    assert all(any(set(each) <= set(block) for block in blocks) for each in sets)
    assert all(block in sets or np.prod([sizes[i] for i in block]) <= most for block in blocks)
    assert len(blocks) <= len(sets)


def test_sets_share_a_block_up_to_its_limit_and_no_further():
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert in_blocks([2, 3, 5], pairs, 30) == [(0, 1, 2)]
    assert in_blocks([2, 3, 5], pairs, 29) == pairs
    assert in_blocks([2, 3, 5], [], 30) == []


@pytest.mark.parametrize("summed", [False, True])
def test_a_segment_is_called_off_from_its_pvalue_on(summed):
    """At a level right below the smallest p-value nothing is called off, at the p-value itself a segment is."""
    table = planted(4_000, times=1.6).select(["y", "p", "country"])
    opened_table = OpenedFrame(pl.from_arrow(table).lazy() if summed else table)
    search = Search(level=0.3, n_resamples=199, random_state=0, features=("country",))
    held = read_to_bound(opened_table, NAMES, search)
    first = held.called_off(Search(level=0.3, n_resamples=199, random_state=0))
    assert type(held).__name__ == ("OfSums" if summed else "OfRows")
    least = min(each.pvalue() for each in first)
    assert len(first) >= 1
    if summed:
        for share, n in ((1.0 + 1e-9, 1), (1.0 - 1e-9, 0), (0.6, 0)):
            found = held.called_off(Search(level=min(least * share, 0.5), n_resamples=199, random_state=0))
            assert (len(found) > 0) == bool(n)
    assert {held.conditions(each.at)[0] for each in first} <= {f"country = {name}" for name in ("de", "fr", "jp", "us")}
    gate = held.gate(first[0].at, 0.01, 0.05)
    assert gate.level == 0.05


def test_segments_are_called_off_at_the_least_level_of_a_search():
    table = planted(4_000, times=2.0).select(["y", "p", "country"])
    held = read_to_bound(OpenedFrame(table), NAMES, Search(level=0.3, features=("country",)))
    found = held.called_off(Search(level=LEAST_LEVEL, random_state=0))  # for which fewer draws would not do
    assert [held.conditions(each.at) for each in found] == [("country = jp",)]


@given(st.lists(st.tuples(st.integers(1, 12), st.floats(0.02, 0.98)), min_size=1, max_size=4), st.floats(0.001, 0.5))
@examples(200)
def test_the_least_total_that_is_detectable_is_the_first_whose_pvalue_is_small_enough(cells, level):
    count, v = np.array(cells).T
    sums = np.zeros((count.size, sketching.COUNT + 1))
    sums[:, sketching.COUNT] = count
    search = SimpleNamespace(
        level=level,
        share=[0.5],
        stated=SimpleNamespace(low=v, high=v, expected=count * v),
        summed=SimpleNamespace(starts=[0], ends=[count.size], cells=sums, totals=SimpleNamespace(weighted=False)),
    )
    totals, expected = np.arange(count.sum() + 1), count @ v
    log = [two_sided_log_pvalues(count, (v, v), np.zeros(1, np.int64), np.array([ones]))[0] for ones in totals]
    sure = np.array(log) <= np.log(0.5 * level * SHARES[0])
    above, below = totals[sure & (totals > expected)], totals[sure & (totals < expected)]
    least = max(above.min() - expected, expected - below.max()) if above.size and below.size else np.inf
    assert _detectable(search, 0) == pytest.approx(least)


@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("share", [[1.0], [0.75, 0.25], [0.1, 0.2, 0.7]])
def test_an_explanation_is_a_segment_whose_pvalue_is_within_its_share_of_the_level(level, share):
    share = np.array(share)
    for segment, part in enumerate(share):
        for times, listed in ((0.999, [segment]), (1.001, [])):
            single = np.full(share.size, 1.0)
            single[segment] = times * level * part
            cells = np.zeros((share.size, sketching.COLUMNS))
            cells[:, [sketching.WEIGHT, sketching.OUTCOME]] = 1.0, 0.5
            starts, handicap = np.arange(share.size), -2.0 * np.log(share)
            search = SimpleNamespace(
                level=level,
                share=share,
                score=-2.0 * np.log(single) - handicap,
                stated=SimpleNamespace(expected=np.full(share.size, 0.5)),
                summed=SimpleNamespace(cells=cells, handicap=handicap, starts=starts, ends=starts + 1),
            )
            assert _explained(search, np.array([segment]), lambda *_: [], [1]) == listed


def test_a_segment_s_share_of_the_level_is_that_of_its_handicap(monkeypatch):
    handicap, single = np.array([0.0, 3.0, 7.0]), np.array([0.01, 1e-4, 0.3])
    monkeypatch.setattr(sums, "segment_tails", lambda *_: (single, [], np.zeros(3, bool), None))
    monkeypatch.setattr(sums, "_climbs", lambda *_: (0.0, 0.0))
    formed = SimpleNamespace(stated=lambda: None, index=None, cells=None, starts=None, handicap=handicap)
    found = sums.TailSearch.of(formed, 0.05)
    assert found.share == pytest.approx(np.exp(-handicap / 2) / np.exp(-handicap / 2).sum())
    # The score, by which segments are compared, is twice the log of the share over the p-value, but for one number.
    assert np.diff(found.score) == pytest.approx(np.diff(2.0 * np.log(found.share / single)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whole", [0.2, 0.0])
def test_all_rows_must_inform_and_a_value_with_few_rows_is_left_out(weighted, whole):
    """The first value has ten rows, too few for a segment; where no row can vary nothing is searched."""
    rng = np.random.default_rng(0)
    v = whole + rng.random(400) / 2 if whole else np.zeros(400)
    columns = {
        "y": (rng.random(400) < v) * 1,
        "p": v,
        "s": np.where(np.arange(400) < 10, 0, np.tile([1, 2], 200)),
    }
    options = {"y_true": "y", "y_prob": "p", "features": ["s"], "min_rows": 20, "max_depth": 1}
    if weighted:
        columns["w"] = rng.uniform(1.0, 2.0, 400)
        options |= {"sample_weight": "w", "outcome_free_weights": True}
    table = pl.DataFrame(columns).lazy()
    if whole:
        assert find_segments(table, **options, n_resamples=39, random_state=0).n_tested == 3  # all rows, 1 and 2
    else:
        with pytest.raises(InputError, match="a segment needs 20 rows"):
            find_segments(table, **options, n_resamples=39, random_state=0)
