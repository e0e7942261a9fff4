"""Segments: the broken one is found, the rest are left alone, and intervals cover."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from calibrant import CalibrationSketch, audit_table, calibration_drift, lower_calibration_distance
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.segments import by_column
from calibrant.segments.by_column import _weights_differ, calibration_by_segment

NAMES = {"y_true": "y", "y_prob": "p"}


def logs(n, n_segments, seed, broken=()):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    segment = rng.integers(0, n_segments, n)
    truth = np.where(np.isin(segment, broken), p**2, p)
    return pa.table(
        {"y": (rng.random(n) < truth).astype(int), "p": p, "s": segment, "t": [f"t{k % 2}" for k in segment]}
    )


def test_the_broken_segment_comes_first_and_alone():
    found = calibration_by_segment(logs(50_000, 50, 0, broken=(17,)), by=["s", "t"], **NAMES)
    assert len(found) == 50
    assert [each.key for each in found if each.reject] == [(17, "t1")] == [found[0].key]
    worst = found[0]
    assert worst.direction == "too high"
    assert worst.bias_interval.low < 1 / 3 - 1 / 2 < worst.bias_interval.high < 0.0
    assert sum(each.n_rows for each in found) == 50_000


def test_smooth_error_is_that_of_the_rows_within_its_bound():
    table = logs(2_000, 5, 1, broken=(2,))
    y, p, s = (table[name].to_numpy() for name in ("y", "p", "s"))
    for each in calibration_by_segment(table, by=["s"], **NAMES):
        rows = s == each.key[0]
        exact = smooth_error_from_sample(Sample.from_columns(y[rows], p[rows]))
        assert abs(exact - each.smooth_calibration_error) <= each.smooth_error_bound
        assert each.bias == pytest.approx((y - p)[rows].mean(), abs=1e-12)
        assert each.n_rows == rows.sum()
        distance = lower_calibration_distance(y[rows], p[rows], tol=1e-6)
        assert each.lower_distance_bracket.lower - 1e-6 <= distance <= each.lower_distance_bracket.upper + 1e-6
        assert each.lower_distance_bracket.width < 0.01


def test_distances_of_segments_are_bracketed_to_a_ten_thousandth(monkeypatch):
    asked, certificate = [], by_column.lower_certificate_from_sample
    monkeypatch.setattr(
        by_column,
        "lower_certificate_from_sample",
        lambda sample, tol: asked.append(tol) or certificate(sample, tol=tol),
    )
    calibration_by_segment(
        pa.table({"y": [0, 1] * 9, "p": np.linspace(0.1, 0.8, 18), "s": [1, 2, 2] * 6}), by="s", **NAMES
    )
    assert asked == [1e-4] * 2


def test_distances_of_segments_that_are_not_certified_hold_as_well(monkeypatch):
    monkeypatch.setattr("calibrant.segments.by_column._CERTIFIED", 0)
    table = logs(2_000, 5, 1, broken=(2,))
    y, p, s = (table[name].to_numpy() for name in ("y", "p", "s"))
    for each in calibration_by_segment(table, by=["s"], **NAMES):
        rows = s == each.key[0]
        distance = lower_calibration_distance(y[rows], p[rows], tol=1e-6)
        assert each.lower_distance_bracket.lower - 1e-6 <= distance <= each.lower_distance_bracket.upper + 1e-6


@pytest.mark.slow
def test_calibrated_segments_are_seldom_rejected_and_pvalues_are_valid():
    pvalues = []
    for seed in range(10):
        found = calibration_by_segment(logs(8_000, 100, seed), by="s", **NAMES)
        assert not any(each.reject for each in found)
        assert all(each.bias_interval.low <= 0.0 <= each.bias_interval.high for each in found)
        pvalues += [each.pvalue for each in found]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(pvalues) <= level) <= level


def test_errors_that_cancel_are_found_and_placed():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = (rng.random(4000) < np.where(p < 0.5, p + 0.25, p - 0.25)).astype(int)
    (found,) = calibration_by_segment(pa.table({"y": y, "p": p, "s": [1] * 4000}), by=["s"], **NAMES)
    assert found.reject
    assert abs(found.bias) < 0.03
    assert found.where in {(0.0, 0.5), (0.5, 1.0), (0.0, 0.25), (0.25, 0.5)}


def test_weights_nulls_and_other_engines():
    table = logs(3_000, 4, 3, broken=(1,)).append_column("w", pa.array(np.random.default_rng(0).random(3_000)))
    keys = table["t"].to_pylist()
    keys[0] = None
    table = table.set_column(3, "t", pa.array(keys))
    weighted = {"sample_weight": "w", "outcome_free_weights": True, **NAMES}
    from_arrow = calibration_by_segment(table, by=["s", "t"], **weighted)
    from_polars = calibration_by_segment(pl.from_arrow(table).lazy(), by=["s", "t"], **weighted)
    assert [each.key for each in from_arrow] == [each.key for each in from_polars]
    assert any(each.key[1] is None and each.n_rows == 1 for each in from_arrow)
    assert from_arrow[0].key[0] == 1
    assert from_arrow[0].reject
    untested = calibration_by_segment(table, by=["s", "t"], sample_weight="w", **NAMES)
    assert {each.pvalue for each in untested} == {None}
    assert {(each.key, each.bias) for each in untested} == {(each.key, each.bias) for each in from_arrow}


def test_bad_options_are_refused():
    table = logs(10, 2, 0)
    with pytest.raises(InputError, match="by: is empty"):
        calibration_by_segment(table, by=[], **NAMES)
    with pytest.raises(InputError, match="by: there is no column 'q'"):
        calibration_by_segment(table, by=["q"], **NAMES)
    with pytest.raises(InputError, match="level"):
        calibration_by_segment(table, by=["s"], level=1.5, **NAMES)
    with pytest.raises(InputError, match="resolution"):
        calibration_by_segment(table, by=["s"], resolution=100, **NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "weights"])
def test_pvalues_and_intervals_hold_for_calibrated_rows_of_every_kind(kind):
    """Rare events, atoms and weights over a thousand times; every row calibrated."""
    pvalues, missed = [], 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, m = 4_000, 40
        p = rng.choice([0.001, 0.02, 0.3, 0.5, 0.999], n)
        y = rng.binomial(1, p)
        weight = np.ones(n) if kind == "labels" else np.exp(rng.normal(0, 3, n))
        table = pa.table({"y": y, "p": p, "s": rng.integers(0, m, n), "w": weight.astype(float)})
        free = {"sample_weight": "w", "outcome_free_weights": True}
        weights = free if "weights" in kind else {"unweighted": True}
        found = calibration_by_segment(table, by=["s"], **weights, **NAMES)
        pvalues += [each.pvalue for each in found]
        missed += any(not each.bias_interval.low <= 0.0 <= each.bias_interval.high for each in found)
    assert missed <= 1  # of 8, at most 5% each
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(pvalues) <= level) <= level


@pytest.mark.parametrize("weights", [{"sample_weight": "w"}, {"unweighted": True}], ids=str)
def test_of_event_rates_nothing_is_said_about_chance(weights):
    rng = np.random.default_rng(0)
    p, trials = rng.random(400), rng.integers(1, 50, 400)
    y = rng.binomial(trials, p**2) / trials
    table = pa.table({"y": y, "p": p, "s": np.arange(400) % 4, "w": trials.astype(float)})
    found = calibration_by_segment(table, by=["s"], **weights, **NAMES)
    assert len(found) == 4
    for each in found:
        chance = (each.effective_rows, each.bias_interval, each.pvalue, each.qvalue, each.reject)
        assert {*chance, each.direction, each.where} == {None}
        assert each.bias < -0.05
        assert each.lower_distance_bracket.lower > 0.05
    assert [each.smooth_error_bound - each.smooth_calibration_error for each in found] == sorted(
        each.smooth_error_bound - each.smooth_calibration_error for each in found
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample_weight", "weight", "Weights", "w", "freq", "trials"])
def test_a_column_that_may_hold_weights_is_asked_about(name):
    table = logs(300, 2, 0).append_column(name, pa.array(np.arange(1.0, 301.0)))
    calls = (
        lambda **more: calibration_by_segment(table, by=["s"], **NAMES, **more),
        lambda **more: calibration_drift(table, by="s", **NAMES, **more),
        lambda **more: CalibrationSketch.from_frame(table, **NAMES, **more),
    )
    for call in calls:
        with pytest.raises(InputError, match=f"sample_weight: column '{name}' may hold weights") as caught:
            call()
        assert "unweighted=True" in str(caught.value)
        assert call(unweighted=True)
    for call in (calls[0], calls[2]):
        assert call(sample_weight=name)
        with pytest.raises(InputError, match="unweighted: leaves weights out"):
            call(sample_weight=name, unweighted=True)
    assert calibration_by_segment(table, by=[name], **NAMES)
    assert calibration_drift(table, by=name, **NAMES)


def test_weights_too_small_to_square_tell_nothing():
    table = pa.table({"y": [1.0] * 50 + [0.0] * 50, "p": [0.1] * 50 + [0.9] * 50, "s": [1] * 100, "w": [1e-170] * 100})
    with pytest.raises(InputError, match=r"sample_weight: .*scale the"):
        calibration_by_segment(table, by=["s"], sample_weight="w", **NAMES)


def test_segments_of_rows_without_weight_are_refused():
    table = pa.table({"y": [0, 1], "p": [0.2, 0.7], "s": ["a", "b"], "w": [0.0, 0.0]})
    with pytest.raises(InputError, match="sample_weight: is zero in every row"):
        calibration_by_segment(table, by=["s"], sample_weight="w", **NAMES)
    specks = pa.table({"y": [1.0] * 50 + [0.0], "p": [0.1] * 50 + [0.9], "s": [1] * 51, "w": [1e-170] * 50 + [1.0]})
    (found,) = calibration_by_segment(specks, by=["s"], sample_weight="w", outcome_free_weights=True, **NAMES)
    assert found.pvalue == pytest.approx(2.0 * np.exp(-2.0 * 0.9**2) / 0.9)  # that of the one row with weight


def test_cells_that_no_rows_have_are_refused():
    import narwhals as nw

    from calibrant.segments.by_column import segments_of_groups
    from calibrant.sketch.groups import good_groups
    from calibrant.tables.frames import group_cells

    table = nw.from_native(logs(100, 2, 0))
    found = nw.to_native(group_cells(table, table.schema, NAMES, ["s"], 128))
    for name, value in (("weighted_outcome", np.nan), ("low", np.nan), ("offset", np.inf), ("weighted_outcome", 1e3)):
        column = found[name].to_numpy().astype(float)
        column[0] = value
        damaged = found.set_column(found.column_names.index(name), name, pa.array(column))
        with pytest.raises(InputError, match=r"cells: row 0|frame: has rows"):
            segments_of_groups(good_groups(nw.from_native(damaged, eager_only=True), False), 0.05)


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_both_ends_of_all_segments_share_the_level(level):
    n, ones = np.array([40, 60, 100]), np.array([15, 20, 70])
    y = np.concatenate([np.arange(a) < b for a, b in zip(n, ones, strict=True)]).astype(float)
    table = pa.table({"y": y, "p": np.full(200, 0.5), "s": np.repeat([0, 1, 2], n)})
    for each in calibration_by_segment(table, by=["s"], level=level, **NAMES):
        exact = binomtest(int(ones[each.key[0]]), int(n[each.key[0]])).proportion_ci(1.0 - level / 3.0)
        assert tuple(each.bias_interval) == pytest.approx((exact.low - 0.5, exact.high - 0.5))


def test_rows_of_trials_are_so_many_rows():
    rng = np.random.default_rng(0)
    p, trials, s = np.round(rng.random(500), 3), rng.integers(1, 30, 500), rng.integers(0, 4, 500)
    ones = rng.binomial(trials, np.where(s == 2, p**1.6, p))
    shares = pa.table({"y": ones / trials, "p": p, "s": s, "k": trials})
    each = np.repeat(np.arange(500), trials)
    before = np.concatenate([[0], trials.cumsum()[:-1]])
    single = pa.table({"y": (np.arange(each.size) - before[each] < ones[each]) * 1.0, "p": p[each], "s": s[each]})
    by_rows = calibration_by_segment(single, by=["s"], **NAMES)
    for frame in (shares, pl.from_arrow(shares).lazy()):
        by_trials = calibration_by_segment(frame, by=["s"], trials="k", **NAMES)
        assert [each.key for each in by_trials] == [each.key for each in by_rows]
        for one, other in zip(by_trials, by_rows, strict=True):
            assert (one.n_rows, one.reject, one.direction) == (other.n_rows, other.reject, other.direction)
            assert one.pvalue == pytest.approx(other.pvalue, rel=1e-6)
            assert one.bias_interval.width == pytest.approx(other.bias_interval.width, rel=1e-6)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"k": [1.5, 2.0]}, {"trials": "k"}, "trials: are not whole numbers"),
        ({"k": [3.0, 2.0]}, {"trials": "k"}, "y_true: times trials is no whole number of events"),
        ({"k": [-1.0, 2.0]}, {"trials": "k"}, "trials: "),
        ({"k": [2.0, 2.0]}, {"trials": "k", "sample_weight": "k"}, "sample_weight: cannot be used here: with trials"),
        ({"k": [2.0, None]}, {"groups": "k"}, "groups: 1 row is null or NaN"),
        ({"k": [2.0, 2.0], "w": [2.0, 2.0]}, {"trials": "k"}, "'w' may hold weights"),
    ],
)
def test_what_is_refused_of_trials(columns, options, message):
    table = pa.table({"y": [0.5, 1.0], "p": [0.2, 0.7], "s": [1, 2], **columns})
    with pytest.raises(InputError, match=message):
        calibration_by_segment(table, by=["s"], **options, **NAMES)


def test_other_weights_are_left_out_where_that_is_said():
    table = pa.table({"y": [0.5, 1.0], "p": [0.2, 0.7], "s": [1, 2], "k": [2, 2], "w": [3, 3]})
    found = calibration_by_segment(table, by=["s"], trials="k", unweighted=True, **NAMES)
    assert [each.n_rows for each in found] == [2, 2]


def test_segments_whose_rows_weigh_nothing_are_left_out_and_the_others_are_as_without_them():
    import pyarrow as pa

    from calibrant import calibration_by_segment

    place, rng = np.repeat(["a", "b", "c"], 60), np.random.default_rng(0)
    v = rng.random(180)
    columns = {"y": (rng.random(180) < v).astype(int), "p": v, "w": np.where(place == "b", 0.0, 1.5), "place": place}
    named = {"y_true": "y", "y_prob": "p", "by": ["place"], "sample_weight": "w"}
    found = calibration_by_segment(pa.table(columns), **named)
    assert sorted(each.key for each in found) == [("a",), ("c",)]
    assert all(each.n_rows == 60 for each in found)


@pytest.mark.parametrize("more", [0.0, 1e-3, 0.1, 3.0])
@pytest.mark.parametrize("apart", [False, True])
def test_weights_differ_where_one_row_weighs_more_whether_cells_tell_it_or_not(more, apart):
    v = np.array([0.25, 0.75]) if apart else np.array([0.25, 0.25])
    sketch = CalibrationSketch().update(np.array([0.0, 1.0]), v, sample_weight=np.array([1.0, 1.0 + more]))
    assert _weights_differ(sketch._table[sketch._table[:, 0] > 0.0]) == (more > 0.0)


def test_an_infinite_value_of_a_column_is_no_missing_one_in_json():
    table = pa.table({"y": [0, 1] * 40, "p": [0.5] * 80, "s": pa.array([np.inf, -np.inf, None, 1.5] * 20)})
    found = [each.to_dict() for each in calibration_by_segment(table, by=["s"], **NAMES)]
    audited = audit_table(table, by=["s"], n_resamples=0, **NAMES).to_dict()["segments"]
    for segments in (found, audited):
        assert {tuple(each["key"]) for each in segments} == {("inf",), ("-inf",), (None,), (1.5,)}
