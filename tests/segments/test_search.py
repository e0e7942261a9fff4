"""Found segments: each part against its slow twin, what is planted is found, what is sound is not, and bad input."""

import datetime
from dataclasses import replace

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Interval, find_segments
from calibrant.door.rows import Rows
from calibrant.kernels import excursions as kernel
from calibrant.segments import candidates as formed_module
from calibrant.segments.candidates import form, units_of
from calibrant.segments.evidence import holm, search, stepped_down, totals_of
from calibrant.segments.features import Feature, most_frequent, read_features, worth_telling
from calibrant.segments.request import Search
from calibrant.segments.search import find_in_rows
from tests.oracles import found_segments as oracle
from tests.strategies import examples

NAMES = {"y_true": "y", "y_prob": "p"}


def test_no_segment_that_is_large_enough_is_said_so():
    rng = np.random.default_rng(0)
    p = rng.random(100)
    table = pa.table({"p": p, "y": rng.random(100) < p, "s": np.arange(100) % 20})
    for least, many in ((4, False), (30, True)):
        found = find_segments(table, features=["s"], min_rows=least, n_resamples=39, random_state=0, **NAMES)
        assert (found.n_tested == 1) == many
        assert ("No segment (values of one feature) is large enough to be looked at" in found.summary()) == many


def coded(*columns):
    return [
        Feature(f"f{k}", np.asarray(c), tuple(f"f{k} = {x}" for x in range(max(c) + 1))) for k, c in enumerate(columns)
    ]


@st.composite
def tables(draw):
    """Rows with ties, certain predictions, weights, trials, and features that overlap or are one another."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(12, 40))
    v = draw(st.sampled_from([rng.random(n), rng.integers(0, 6, n) / 5, rng.beta(0.3, 3.0, n), np.full(n, 0.3)]))
    weight = draw(st.sampled_from([None, rng.random(n), rng.integers(0, 3, n) + 0.0]))
    trials = None if weight is not None else draw(st.sampled_from([None, rng.integers(1, 400, n).astype(float)]))
    count = np.ones(n) if trials is None else trials
    ones = rng.binomial(count.astype(int), rng.permutation(v) if draw(st.booleans()) else v)
    first = rng.integers(0, 3, n)
    codes = [first, rng.integers(0, 2, n), first if draw(st.booleans()) else rng.integers(0, 4, n)]
    rows = Rows.of_arrays(ones.astype(float), v, weight, trials, outcome_free=weight is not None)
    return rows, coded(*(np.unique(c, return_inverse=True)[1] for c in codes))


@pytest.mark.slow
@given(tables(), st.integers(1, 3), st.integers(0, 2**32))
@examples(300)
def test_scores_and_pvalues_are_those_of_the_oracle(table, depth, seed):
    rows, features = table
    units = units_of(rows, features)
    held = oracle.formed(units.codes, units.count, units.prediction, depth, 5)
    if () not in held:
        with pytest.raises(InputError, match="a segment needs"):
            form(units, features, depth, 5)
        return
    candidates = form(units, features, depth, 5)
    keys = [tuple(zip(a, b, strict=True)) for a, b in zip(candidates.chosen, candidates.values, strict=True)]
    assert sorted(keys) == sorted(held)
    found = search(units, candidates, 20, 0.1, np.uint64(seed))
    draws = np.empty((units.prediction.size, 21))
    kernel.draw_events(units.prediction, units.count, units.ones, np.uint64(seed), 0, 0, draws)
    columns = (units.prediction, units.count, units.weight)
    expected = oracle.scores({key: held[key] for key in keys}, draws.T, *columns)
    assert np.allclose(found.score, expected[:, 0], rtol=1e-9, atol=1e-9)
    assert np.allclose(found.pvalue, oracle.stepped_down(expected))
    assert found.critical == pytest.approx(np.sort(expected[:, 1:].max(axis=0))[-2])
    ends = [max(map(abs, oracle.excursions(held[key], units.ones, *columns)[1:])) for key in keys]
    assert found.error == pytest.approx(max(ends) / (units.weight * units.count).sum())


@given(tables(), st.integers(0, 2**32))
@examples(100)
def test_neither_the_order_of_rows_nor_threads_show(table, seed):
    rows, features = table
    order = np.random.default_rng(seed).permutation(rows.y_prob.size)
    again = [Feature(each.name, each.code[order], each.labels) for each in features]
    asked = Search(2, 10, 5, 0.1, 19, seed)
    try:
        first = find_in_rows(rows, features, asked)
    except InputError:
        return
    second = find_in_rows(rows.take(order), again, asked)
    assert first.to_dict() | {"impossible": None} == second.to_dict() | {"impossible": None}


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    v = rng.random(300)
    rows = Rows.of((rng.random(300) < v).astype(float), v)
    features = coded(rng.integers(0, 3, 300), rng.integers(0, 3, 300))
    whole = find_in_rows(rows, features, Search(n_resamples=299, random_state=1))
    monkeypatch.setattr("calibrant.threads.WORTH_A_THREAD", 1)
    assert find_in_rows(rows, features, Search(n_resamples=299, random_state=1)) == whole
    monkeypatch.setattr("calibrant.segments.evidence._SLAB", 7)
    monkeypatch.setattr("calibrant.segments.evidence._ADVANCE", 0)
    assert find_in_rows(rows, features, Search(n_resamples=299, random_state=1)) == whole


def test_redrawn_events_have_their_distribution():
    prediction, count = np.array([0.2, 0.003, 0.7, 0.5]), np.array([1.0, 40.0, 7.0, 3000.0])
    draws = np.empty((4, 20_000))
    kernel.draw_events(prediction, count, np.zeros(4), np.uint64(5), 1, 0, draws)
    sd = np.sqrt(count * prediction * (1 - prediction))
    assert (np.abs(draws.mean(axis=1) - count * prediction) < 5 * sd / np.sqrt(20_000)).all()
    assert np.allclose(draws.std(axis=1), sd, rtol=0.04)
    assert np.abs(np.corrcoef(draws) - np.eye(4)).max() < 0.05


def test_stepping_down_is_never_weaker_than_one_step_and_keeps_the_order():
    table = np.random.default_rng(1).normal(size=(30, 200)) + np.linspace(0, 3, 30)[:, None] * (np.arange(200) == 0)
    down = stepped_down(table)
    single = np.array([(table.max(axis=0) >= x).mean() for x in table[:, 0]])
    assert (down <= single).all()
    assert (np.diff(down[np.argsort(-table[:, 0])]) >= 0).all()
    assert np.allclose(down, oracle.stepped_down(table))


def test_totals_are_sums_over_the_rows():
    rng = np.random.default_rng(2)
    v, w = rng.integers(0, 11, 400) / 10, rng.random(400)
    y = (rng.random(400) < v).astype(float)
    features = coded(rng.integers(0, 3, 400), rng.integers(0, 2, 400))
    for weight in (None, w):
        rows = Rows.of(y, v, weight)
        candidates = form(units_of(rows, features), features, 2, 10)
        found = totals_of(rows, candidates)
        mass = np.ones(400) if weight is None else w / w.max()
        low, high = found.intervals(0.05)
        for i, (members, values) in enumerate(zip(candidates.chosen, candidates.values, strict=True)):
            conditions = [features[f].code == x for f, x in zip(members, values, strict=True)]
            inside = np.logical_and.reduce([np.ones(400, bool), *conditions])
            assert found.count[i] == inside.sum()
            assert found.bias[i] == pytest.approx(np.average((y - v)[inside], weights=mass[inside]))
            assert low[i] < found.bias[i] < high[i]
    assert np.allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])


def planted(n=20_000, seed=0, times=1.35):
    """One part in 18 of the rows has 1.35 times the risk that is predicted."""
    rng = np.random.default_rng(seed)
    table = {
        "country": rng.choice([f"c{k}" for k in range(6)], n),
        "device": rng.choice(["phone", "tablet", "desk"], n),
        "age": rng.integers(18, 90, n),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n)),
    }
    p = rng.beta(2.0, 5.0, n)
    hit = (table["country"] == "c3") & (table["device"] == "tablet")
    return pa.table(table | {"p": p, "y": rng.random(n) < np.minimum(1.0, np.where(hit, times * p, p))})


def test_what_is_planted_is_found_and_told_once():
    found = find_segments(planted(), **NAMES, n_resamples=199, random_state=0)
    assert [each.name for each in found.segments] == ["country = c3 and device = tablet"]
    (segment,) = found.segments
    assert segment.direction == "too low"
    assert segment.bias_interval.low < 0.35 * 2 / 7 < segment.bias_interval.high
    assert 0.0 < segment.detectable < segment.bias
    assert segment.pvalue < 1e-6  # the bound on the tail goes below the floor, 1 / 200
    assert found.multicalibration_error > found.detectable
    assert found.reject
    assert "tablet: predictions are too low by 12 points on average" in found.summary()


@pytest.mark.slow
def test_a_bias_of_all_rows_is_told_as_that():
    table = planted(times=1.0).to_pandas()
    found = find_segments(table.assign(p=table["p"] ** 1.2), **NAMES, n_resamples=199, random_state=0)
    assert [each.name for each in found.segments] == ["all rows"]
    assert found.n_beyond > 5


def test_a_fault_within_a_segment_is_found_by_its_range_and_not_by_the_average():
    rng = np.random.default_rng(4)
    p, side = rng.random(8_000), rng.choice(["a", "b"], 8_000)
    chance = np.where(side == "a", p + 0.25 * np.sin(2 * np.pi * p) * p * (1 - p) * 2, p)
    table = pa.table({"y": rng.random(8_000) < chance, "p": p, "side": side, "other": rng.integers(0, 5, 8_000)})
    (segment,) = find_segments(table, **NAMES, n_resamples=199, random_state=0).segments
    assert segment.name == "side = a"
    assert segment.where[1] - segment.where[0] < 0.7
    assert segment.marginal_pvalue > 0.05


def test_sound_predictions_are_left_alone():
    found = find_segments(planted(times=1.0, seed=3), **NAMES, n_resamples=199, random_state=0)
    assert found.segments == ()
    assert found.pvalue > 0.05
    assert "none is proved off, allowing for all of them; the strongest sign is at" in found.summary()


def test_trials_are_rows():
    rng = np.random.default_rng(5)
    p, kind, m = rng.random(60), rng.integers(0, 3, 60), rng.integers(1, 9, 60)
    ones = rng.binomial(m, p)
    rows = {
        "p": np.repeat(p, m),
        "k": np.repeat(kind, m),
        "y": np.concatenate([np.arange(a) < b for a, b in zip(m, ones, strict=True)]),
    }
    together = find_segments(
        pa.table({"y": ones / m, "p": p, "k": kind, "m": m}),
        trials="m",
        random_state=0,
        min_rows=20,
        n_resamples=99,
        **NAMES,
    )
    apart = find_segments(pa.table(rows), random_state=0, min_rows=20, n_resamples=99, **NAMES)
    assert (together.pvalue, together.n_tested) == (apart.pvalue, apart.n_tested)
    one, other = together.strongest.to_dict(), apart.strongest.to_dict()
    assert {name: one[name] for name in ("bias", "detectable", "marginal_pvalue")} == pytest.approx(
        {name: other[name] for name in ("bias", "detectable", "marginal_pvalue")}
    )


def features_of(columns, n=200, n_bins=4, min_rows=5, chosen=True):
    rng = np.random.default_rng(0)
    rows = {"y_prob": rng.random(n), "y_true": (rng.random(n) < 0.5).astype(float)}
    return read_features(
        {name: pa.chunked_array([pa.array(c)]) for name, c in columns.items()},
        rows,
        Search(n_bins=n_bins, min_rows=min_rows, features=tuple(columns) if chosen else None),
    )


def test_features_are_told_apart_in_words():
    texts = ["a"] * 80 + ["b"] * 60 + ["", "c ", "d"] * 20
    numbers = [*range(180), *[None] * 20]
    (text, number, few, truth), left = features_of(
        {"t": texts, "x": numbers, "k": [1, 2] * 100, "b": [True, None] * 100}, min_rows=30
    )
    assert left == {}
    assert text.labels == ("t = a", "t = b", "t = ''", "t in 2 other values")
    assert number.labels == ("x <= 44", "44 < x <= 89", "89 < x <= 134", "x > 134", "x is missing")
    assert few.labels == ("k = 1", "k = 2")
    assert truth.labels == ("b = true", "b is missing")
    assert np.bincount(number.code).tolist() == [45, 45, 45, 45, 20]


def test_a_category_with_rows_enough_for_a_segment_is_told_apart_however_many_there_are():
    """A bad one of 25 stores, not among the largest, must not drown in the others."""
    rng = np.random.default_rng(0)
    store = [f"s{k}" for k in rng.integers(0, 25, 12_000)] + [f"new{k}" for k in range(40)]
    p = rng.beta(1.0, 3.0, len(store))
    truly = np.where(np.array(store) == "s7", 0.5 * p, p)
    table = pa.table({"y": (rng.random(len(store)) < truly) + 0, "p": p, "store": store, "k": rng.random(len(store))})
    found = find_segments(table, **NAMES, n_resamples=99, random_state=0)
    assert found.segments[0].name == "store = s7"
    assert found.features["store"][-1] == "store in 40 other values"
    assert len(found.features["store"]) == 26


def test_many_texts_make_no_more_combinations_than_can_be_tested():
    assert (Search().categories(5, [300]), Search().categories(4, [5, 3, 900])) == (1_000, 851)
    many = [2_000] * 8
    for depth in (1, 2, 3):
        asked = Search(max_depth=depth)
        most = asked.categories(4, many)
        assert asked._possible(4, many, most) <= 50_000 or most == 9
        assert asked._possible(4, many, most + 1) > 50_000 or most == 1_000
    assert [Search(max_depth=depth).categories(4, many) for depth in (1, 2, 3)] == [1_000, 33, 9]
    assert Search().categories(0, [500] * 40) == 9
    assert Search(n_bins=80).categories(60, [500] * 40) == 79


@given(
    st.lists(st.one_of(st.floats(allow_nan=True), st.integers(-3, 3).map(float)), min_size=2, max_size=60),
    st.integers(2, 7),
)
@examples(200)
def test_ranges_hold_the_numbers_that_they_name(values, n_bins):
    try:
        (feature,), _ = features_of({"x": values}, n=len(values), n_bins=n_bins, min_rows=1)
    except InputError as problem:
        assert len({*map(str, (v + 0.0 for v in values))}) == 1, problem  # noqa: PT017
        return
    assert len(feature.labels) <= n_bins + 1
    for value, code in zip(values, feature.code, strict=True):
        label = feature.labels[code]
        if value != value:
            assert label == "x is missing"
        else:
            assert eval(label.replace(" = ", " == "), {"x": value, "inf": np.inf}), (label, value)


DAYS = st.dates(datetime.date(2023, 10, 1), datetime.date(2024, 9, 3))


@given(st.lists(st.one_of(st.none(), DAYS), min_size=2, max_size=60), st.integers(2, 7), st.booleans())
@examples(200)
def test_spans_hold_the_days_that_they_name_and_no_other(values, n_bins, at_noon):
    noon = datetime.time(12) if at_noon else None
    told = [each if each is None or noon is None else datetime.datetime.combine(each, noon) for each in values]
    kind = pa.timestamp("us") if at_noon else pa.date32()
    try:
        (feature,), _ = features_of({"x": pa.array(told, kind)}, n=len(values), n_bins=n_bins, min_rows=1)
    except InputError:
        assert len(set(values)) == 1
        return
    assert len(feature.labels) <= n_bins + 1
    for value, code in zip(values, feature.code, strict=True):
        assert [holds(label, value) for label in feature.labels] == [at == code for at in range(len(feature.labels))]


def holds(label, day):
    """Whether a condition on the day x holds, read as a person reads it: a month is all of its days."""
    if day is None or label == "x is missing":
        return (day is None) == (label == "x is missing")
    way, *ends = label.removeprefix("x ").replace(" to ", " ").removesuffix(" on").split(" ")
    first = [datetime.date.fromisoformat(end if len(end) == 10 else f"{end}-01") for end in ends]
    if way == "before":
        return day < first[0]
    if way == "from" and len(ends) == 1:
        return day >= first[0]
    following = (first[-1].replace(day=1) + datetime.timedelta(31)).replace(day=1)
    return first[0] <= day <= (first[-1] if len(ends[-1]) == 10 else following - datetime.timedelta(1))


BAD = {
    "same": ([1] * 200, "the same value in every row"),
    "empty": (pa.nulls(200), "missing in every row"),
    "missing": ([float("nan")] * 200, "missing in every row"),
    "id": ([f"u{k}" for k in range(200)], "200 different values, none of them in 5 rows"),
    "hour": ([datetime.time(9, 30)] * 200, "holds times"),
    "zone": ([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 200, "holds times"),
    "day": ([datetime.datetime(2026, 1, 1, 8)] * 200, "the same value in every row"),
    "raw": ([b"a", b"b"] * 100, "numbers, texts or truth values"),
    "copy": (np.random.default_rng(0).random(200), "holds the values of y_prob"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_feature_that_cannot_be_used_is_refused_by_name_or_left_out(name):
    values, why = BAD[name]
    with pytest.raises(InputError, match=why) as told:
        features_of({name: values})
    assert repr(name) in told.value.problem
    found, left = features_of({name: values, "k": [0, 1] * 100}, chosen=False)
    assert [each.name for each in found] == ["k"]
    assert why in left[name]


def small(**more):
    rng = np.random.default_rng(6)
    p = rng.random(120)
    return pa.table({"y": (rng.random(120) < p) + 0, "p": p, "k": [0, 1] * 60} | more)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"features": ["p"]}, "features"),
        ({"features": ["y", "k"]}, "features"),
        ({"features": []}, "features"),
        ({"features": ["k", "k"]}, "features"),
        ({"features": ["nothing"]}, "features"),
        ({"features": [1]}, "features"),
        ({"features": {"k"}}, "features"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_depth": 5}, "max_depth"),
        ({"n_bins": 1}, "n_bins"),
        ({"min_rows": 0}, "min_rows"),
        ({"min_rows": 500}, "y_prob"),
        ({"n_resamples": 10}, "n_resamples"),
        ({"level": 0.95}, "level"),
        ({"random_state": "0"}, "random_state"),
        ({"groups": "nothing"}, "groups"),
        ({"trials": "k", "sample_weight": "k"}, "sample_weight"),
        ({"exclude_bad": 1}, "exclude_bad"),
    ],
)
def test_bad_options_are_refused(options, argument):
    with pytest.raises(InputError) as told:
        find_segments(small(), **NAMES, **options)
    assert told.value.argument == argument


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="may hold weights"):
        find_segments(small(weight=[1.0] * 120), **NAMES)
    assert find_segments(small(weight=[1.0, 2.0, 3.0] * 40), unweighted=True, n_resamples=39, **NAMES).left_out == {}
    with pytest.raises(InputError, match="single values"):
        find_segments(small(q=[[1]] * 120), **NAMES, features=["q"])
    with pytest.raises(InputError, match="no columns except"):
        find_segments(small().drop_columns(["k"]), **NAMES)
    with pytest.raises(InputError, match="row 3 is"):
        find_segments(small().set_column(0, "y", [[0, 1, 0, None] * 30]), **NAMES)


def test_bad_rows_are_left_out_of_features_too():
    table = small().to_pandas()
    whole = find_segments(table, **NAMES, random_state=0, n_resamples=39)
    table.loc[120] = [1, np.nan, 1]
    table.loc[121] = [7, 0.5, 0]
    found = find_segments(table, **NAMES, random_state=0, n_resamples=39, exclude_bad=True)
    assert found.n_excluded == 2
    assert found.to_dict() | {"n_excluded": 0} == whole.to_dict()


def test_every_kind_of_frame_gives_the_same():
    import duckdb

    arrow = planted(2_000, times=3.0)
    first = find_segments(arrow, **NAMES, random_state=0, n_resamples=99)
    lazy = duckdb.connect().from_arrow(arrow)
    for frame in (arrow.to_pandas(), pl.from_arrow(arrow), pl.from_arrow(arrow).lazy(), lazy):
        again = find_segments(frame, **NAMES, random_state=0, n_resamples=99)
        assert again.to_dict() == first.to_dict()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "texts", "truth"])
def test_the_outcome_under_another_name_is_refused(turned, kind):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    copy = 1 - y if turned else y
    copy = {"numbers": copy + 3.0, "texts": np.where(copy == 1, "paid", "default"), "truth": copy == 1}[kind]
    table = pa.table({"y": y, "p": p, "copy": copy, "other": rng.integers(0, 3, 200)})
    with pytest.raises(InputError, match="'copy' is the outcome itself, row by row"):
        find_segments(table, y_true="y", y_prob="p", features=["copy", "other"], n_resamples=39)


def test_identifiers_beyond_doubles_are_refused_and_certain_rows_are_told():
    rng = np.random.default_rng(0)
    p = np.where(rng.random(400) < 0.1, 0.0, rng.uniform(0.1, 0.9, 400))
    y = np.where(p == 0.0, rng.random(400) < 0.3, rng.random(400) < p).astype(int)
    table = pa.table({"y": y, "p": p, "id": 2**53 + rng.integers(0, 4, 400), "s": np.where(p == 0.0, "sure", "rest")})
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0}
    with pytest.raises(InputError, match="'id' holds whole numbers beyond 2"):
        find_segments(table, features=["id"], **options)
    found = find_segments(table, features=["s"], max_depth=1, min_rows=10, **options)
    assert found.impossible is not None
    assert found.impossible.summary() in found.summary()


@pytest.mark.parametrize(("first", "kind"), [("9007199254740992", (38, 0)), ("0.100000000000000000", (20, 18))])
@pytest.mark.parametrize("lazy", [False, True])
def test_decimals_that_are_one_double_are_refused_as_whole_numbers_are(first, kind, lazy):
    from decimal import Decimal

    first, last = Decimal(first), Decimal(first) + Decimal(1).scaleb(-kind[1])
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 400)
    keys = pa.array([(first, last, Decimal(0))[k % 3] for k in range(400)], pa.decimal128(*kind))
    table = pa.table({"y": (rng.random(400) < p).astype(int), "p": p, "id": keys})
    table = duckdb.from_arrow(table) if lazy else table
    with pytest.raises(InputError, match="'id' holds decimals that are one number as doubles"):
        find_segments(table, y_true="y", y_prob="p", features=["id"], n_resamples=39)


def test_long_texts_that_begin_alike_have_labels_of_their_own():
    start = "a street of fifty-seven letters and more, the same in every row, "
    places = [f"{start}{name}" for name in ("north", "south", "b" * 80)]
    labels = most_frequent("place", places, np.array([100, 100, 100]), Search(n_bins=8, min_rows=10), 60)[1]
    assert len(set(labels)) == len(labels) == 3


def test_decimals_are_the_numbers_that_they_are_written_as():
    from decimal import Decimal

    rng = np.random.default_rng(0)
    tenth = rng.integers(0, 30, 4_000)
    p = rng.uniform(0.2, 0.8, 4_000)
    rows = {"y": (rng.random(4_000) < np.where(tenth == 24, 0.0, p)).astype(int), "p": p}
    columns = {
        "float": pa.array(np.round(tenth / 10, 1)),
        "decimal": pa.array([Decimal(int(each)) / 10 for each in tenth], pa.decimal128(10, 1)),
    }
    found = [
        find_segments(pa.table({**rows, "x": column}), y_true="y", y_prob="p", n_resamples=39, random_state=0)
        for column in columns.values()
    ]
    assert [(each.name, each.n_rows) for each in found[0].segments] == [
        (each.name, each.n_rows) for each in found[1].segments
    ]
    assert found[0].segments


@pytest.mark.parametrize("name", ["_MOST_PLACES", "_MOST_DRAWN"])
def test_more_combinations_than_fit_into_memory_are_refused_before_they_are_formed(name, monkeypatch):
    table = pa.table({"y": [0, 1] * 50, "p": np.linspace(0.2, 0.8, 100), "place": ["a", "b", "c", "d"] * 25})
    columns = {"y_true": "y", "y_prob": "p", "features": "place"}
    if name == "_MOST_DRAWN":  # of outcomes redrawn with their weights
        columns["sample_weight"] = "w"
        table = table.append_column("w", pa.array(np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20)))
    monkeypatch.setattr(formed_module, name, 50)
    with pytest.raises(InputError, match="features: make 2 combinations of 100 rows, more than fit into memory"):
        find_segments(table, **columns, n_resamples=39)


@pytest.mark.parametrize(
    ("bias", "interval", "said"),
    [
        (0.1, (0.05, 0.2), "too low by 10 points on average (5.0 to 20)"),
        (-0.1, (-0.2, -0.05), "too high by 10 points on average (5.0 to 20)"),
        (0.1, (-0.05, 0.2), "too low by 10 points on average (-5.0 to 20)"),
        (-0.1, (-0.2, 0.05), "too high by 10 points on average (-5.0 to 20)"),
    ],
)
def test_ends_beyond_no_error_are_told_as_negative(bias, interval, said):
    rng = np.random.default_rng(0)
    p, s = rng.random(400), np.arange(400) % 2
    table = pa.table({"p": p, "y": rng.random(400) < np.where(s, p**3, p), "s": s})
    found = find_segments(table, features=["s"], n_resamples=39, random_state=0, **NAMES)
    segment = replace(
        found.strongest,
        where_bias=bias,
        bias=bias,
        bias_interval=Interval(*interval),
        direction="too low" if bias > 0.0 else "too high",
    )
    assert segment.summary().count(said) == (not segment.in_part)
    assert not segment.in_part


@pytest.mark.slow
def test_a_search_that_finds_nothing_has_a_frame_with_the_columns_of_one_that_does():
    rng = np.random.default_rng(0)
    p, side = rng.random(1_500), rng.choice(["a", "b"], 1_500)
    frames = []
    for off in (0.0, 0.25):
        y = (rng.random(p.size) < np.where(side == "a", np.minimum(p + off, 1.0), p)) * 1
        table = pl.DataFrame({"y": y, "p": p, "side": side})
        found = find_segments(table, y_true="y", y_prob="p", n_resamples=99, random_state=0)
        frames.append(found.to_frame("pyarrow"))
    assert frames[0].column_names == frames[1].column_names
    assert frames[0].num_rows == 0 < frames[1].num_rows


@pytest.mark.parametrize("lazy", [False, True])
def test_a_text_that_is_missing_in_every_row_is_told_so(lazy):
    table = pl.DataFrame({"y": [0, 1] * 30, "p": [0.3, 0.6] * 30, "s": ["a", "b", "c"] * 20, "x": [None] * 60})
    table = table.with_columns(pl.col("x").cast(pl.String))
    with pytest.raises(InputError, match="'x' is missing in every row"):
        find_segments(table.lazy() if lazy else table, features=["x"], n_resamples=39, random_state=0, **NAMES)
    with pytest.raises(InputError, match="'x' is missing in every row"):
        most_frequent("x", [], np.zeros(0, np.int64), Search(), 60)


@pytest.mark.parametrize(
    ("rows", "told"),
    [((5, 5), 2), ((5, 5, 5), 0), ((10, 5, 5), 2), ((10, 10, 10, 5), 3), ((9, 9, 9, 9), 0), ((10, 10), 2), ((30,), 1)],
)
def test_values_of_a_text_are_kept_apart_where_they_are_few_or_have_the_rows(rows, told):
    assert worth_telling(np.array(rows), Search(n_bins=2, min_rows=10)) == told
