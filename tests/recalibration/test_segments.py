"""Repair by segment: what is planted is found, what is calibrated is left alone, and no table is misread."""

import pickle
from datetime import date, time, timedelta
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant import InputError
from calibrant.door.coding import numbers_of
from calibrant.recalibration import AveragedScaling, SegmentRecalibrator, from_json
from calibrant.recalibration.by_segment import corrections, estimator
from calibrant.recalibration.by_segment.corrections import Fitting, _Corrections, _moving, _newton
from calibrant.recalibration.by_segment.estimator import compared
from calibrant.recalibration.by_segment.table import Cut, conditions
from calibrant.recalibration.compare import Judge
from tests.strategies import examples


def drawn(n, seed=0, shift=-1.5):
    """A table whose predictions are right except where country = jp and device = tablet."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "y_prob": expit(rng.normal(-0.5, 1.0, n)),
            "country": rng.choice(["de", "fr", "jp"], n),
            "device": rng.choice(["phone", "tablet"], n),
            "age": rng.integers(18, 80, n).astype(float),
        }
    )
    table.loc[rng.random(n) < 0.05, "age"] = np.nan
    hit = (table.country == "jp") & (table.device == "tablet")
    true = expit(logit(table.y_prob) + shift * hit)
    return table, (rng.random(n) < true).astype(int), hit.to_numpy(), true.to_numpy()


TABLE, Y, HIT, TRUE = drawn(1500)
QUICK = SegmentRecalibrator(method="segments")


@cache
def fitted():
    return clone(QUICK).fit(TABLE, Y)


@cache
def event_before():
    return fitted().predict_proba(TABLE)[:, 1]


def divergence(true, said):
    return float(np.mean(true * np.log(true / said) + (1 - true) * np.log((1 - true) / (1 - said))))


@pytest.mark.slow
def test_a_planted_fault_is_found_named_and_repaired():
    found = SegmentRecalibrator().fit(TABLE, Y)
    assert found.chosen_ == "segments"
    assert found.corrections_[0].condition == "country = jp and device = tablet"
    table, _, _, true = drawn(2000, seed=1)
    after = found.predict_proba(table)[:, 1]
    assert divergence(true, after) < 0.35 * divergence(true, table.y_prob)
    score = found.scores_[-2]
    assert (score.method, score.kept, score.gain_interval.low > 0.0) == ("segments", True, True)
    assert found.summary().startswith("Net corrections of log-odds by segment: -1.")
    assert found.score(table, drawn(2000, seed=1)[1]) < 0.0
    again = from_json(found.to_json())
    assert (again.predict_proba(table)[:, 1] == after).all()
    assert (again.summary(), again.scores_, again.to_json()) == (found.summary(), found.scores_, found.to_json())


@pytest.mark.slow
def test_calibrated_predictions_are_left_as_they_are():
    table, y, _, _ = drawn(600, seed=2, shift=0.0)
    found = SegmentRecalibrator(max_depth=1, cv=3).fit(table, y)
    assert found.chosen_ == "unchanged"
    assert (found.predict_proba(table)[:, 1] == table.y_prob).all()
    assert found.summary().startswith("Leave the predictions unchanged: no correction by features")
    assert (found.corrections_, found.n_trees_, found.shift_) == ((), 0, 0.0)


@pytest.mark.slow
def test_trees_follow_a_smooth_drift(monkeypatch):
    monkeypatch.setattr(corrections, "_MOST_TREES", 60)
    rng = np.random.default_rng(3)
    x, prediction = rng.uniform(-2.0, 2.0, 600), expit(rng.normal(0.0, 1.0, 600))
    true = expit(logit(prediction) + x)
    y = (rng.random(600) < true).astype(int)
    table = np.column_stack([prediction, x])
    found = SegmentRecalibrator(0, method="boosting").fit(table, y)
    assert found.n_trees_ > 0
    assert "boosted trees correct the predictions by 1 feature (log-odds move by " in found.summary()
    assert "at most, most by 1)" in found.summary()
    assert divergence(true, found.predict_proba(table)[:, 1]) < 0.3 * divergence(true, prediction)
    assert (pickle.loads(pickle.dumps(found)).predict_proba(table) == found.predict_proba(table)).all()
    again = clone(found).fit(table, y)
    assert (again.predict_proba(table) == found.predict_proba(table)).all()
    with pytest.raises(InputError, match="boosted trees, which are not saved as JSON; pickle and joblib keep them"):
        found.to_json()


@pytest.mark.parametrize("method", ["auto", "segments", "boosting"])
@pytest.mark.parametrize("told", [False, True])
def test_the_same_rows_have_the_same_repair_in_any_order(method, told):
    """To the last bit, also with weights and groups, and with rows that differ in one column alone."""
    table, y, _, _ = drawn(400, shift=-2.0)
    table["y_prob"] = table.y_prob.round(1).clip(0.1, 0.9)
    rng = np.random.default_rng(5)
    weight, group = (rng.integers(1, 3, 400) / 2.0, rng.integers(0, 150, 400)) if told else (None, None)
    fits = []
    for order in (np.arange(400), rng.permutation(400)):
        own = {"sample_weight": weight[order], "groups": group[order]} if told else {}
        fits.append(SegmentRecalibrator(method=method, max_depth=1, cv=2).fit(table.iloc[order], y[order], **own))
    first, other = fits
    assert (first.chosen_, first.scores_, first.summary()) == (other.chosen_, other.scores_, other.summary())
    assert (first.predict_proba(table) == other.predict_proba(table)).all()


@examples(40)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), size=st.integers(1, 6), sure=st.booleans(), one=st.booleans())
def test_a_block_is_the_penalised_fit(seed, n, size, sure, one):
    """Newton's steps end at the minimum that a general optimiser finds, at the variance that they are given."""
    rng = np.random.default_rng(seed)
    offset = rng.normal(0.0, 2.0, n)
    if sure:
        offset[rng.random(n) < 0.2] = -27.6
    rows = Fitting(offset, (rng.random(n) < 0.4) * 1.0, rng.integers(0, 4, n) * 1.0)
    part = _Corrections(
        (1,), 0 if one else None, 0.0, rng.choice([0.01, 0.3, 4.0]), rng.integers(0, size, n), np.zeros(size)
    )
    moving = _moving(rows, offset, part)
    assert min(_newton(*moving, part)[0] for _ in range(200)) < 1e-9

    def loss(change):
        score = offset + change[part.cell]
        return -rows.likelihood(score) + 0.5 * float(change @ change) / part.spread

    free = [at for at in range(size) if part.only in (None, at)]

    def of_free(values):
        change = np.zeros(size)
        change[free] = values
        return loss(change)

    best = minimize(of_free, np.zeros(len(free)), method="BFGS", options={"gtol": 1e-9})
    assert loss(part.change) <= best.fun + 1e-6 * (1.0 + abs(best.fun))
    assert all(part.change[at] == 0.0 for at in range(size) if at not in free)


def test_rows_written_several_times_as_groups_prove_no_more():
    rng = np.random.default_rng(4)
    p = expit(rng.normal(size=300))
    y, better = (rng.random(300) < p).astype(float), np.clip(p + 0.02 * rng.normal(size=300), 0.01, 0.99)
    weight = rng.random(300)
    once = Judge(y, p, weight, classes=False)
    many = Judge(np.repeat(y, 5), np.repeat(p, 5), np.repeat(weight, 5), classes=False, group=np.repeat(range(300), 5))
    _, first = compared(once, {"unchanged": p, "segments": better}, "unchanged", 0.05)
    _, second = compared(many, {"unchanged": np.repeat(p, 5), "segments": np.repeat(better, 5)}, "unchanged", 0.05)
    assert tuple(second[1].gain_interval) == pytest.approx(tuple(first[1].gain_interval), abs=1e-12)


def test_a_richer_repair_is_kept_only_beyond_chance():
    y = np.tile([0.0, 0.0, 0.0, 1.0], 100)
    p = np.full(400, 0.4)
    right, worse = np.full(400, 0.25), np.full(400, 0.45)
    rows = Judge(y, p, None, classes=False)
    assert compared(rows, {"unchanged": p, "segments": right, "boosting": right}, "unchanged", 0.05)[0] == "segments"
    chosen, scores = compared(rows, {"unchanged": p, "segments": worse, "boosting": right}, "unchanged", 0.05)
    assert chosen == "boosting"
    assert [(score.simpler, score.kept) for score in scores] == [
        (None, True),
        ("unchanged", False),
        ("unchanged", True),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pl.DataFrame, pa.Table.from_pandas, lambda frame: frame.convert_dtypes()])
def test_every_kind_of_frame_gives_the_same(kind):
    if kind is pl.DataFrame:
        kind = pl.from_pandas
    shown = kind(TABLE)
    assert np.allclose(clone(QUICK).fit(shown, Y).predict_proba(shown)[:, 1], event_before(), rtol=0, atol=0)


@pytest.mark.slow
def test_arrays_and_columns_in_another_order():
    as_objects = TABLE.to_numpy(dtype=object)
    by_place = clone(QUICK).set_params(prediction=0).fit(as_objects, Y)
    assert (by_place.predict_proba(as_objects)[:, 1] == event_before()).all()
    assert (fitted().predict_proba(TABLE[TABLE.columns[::-1]].assign(more=1))[:, 1] == event_before()).all()
    last = clone(QUICK).set_params(prediction=-1).fit(as_objects[:, ::-1], Y)
    assert np.allclose(last.predict_proba(as_objects[:, ::-1])[:, 1], event_before(), atol=1e-3)
    assert (by_place.predict_proba(TABLE)[:, 1] == event_before()).all()
    with pytest.raises(InputError, match=r"^X: has no names for its columns, but SegmentRecalibrator"):
        fitted().predict_proba(as_objects)
    with pytest.raises(InputError, match=r"^X: X has 3 features, but SegmentRecalibrator is expecting 4 features"):
        by_place.predict_proba(as_objects[:, :3])
    assert fitted().feature_names_in_.tolist() == list(TABLE.columns)
    assert not hasattr(by_place, "feature_names_in_")
    assert (fitted().predict(TABLE) == (event_before() > 0.5)).all()
    assert by_place.score(TABLE, Y) == fitted().score(TABLE, Y) == -np.mean((event_before() - Y) ** 2)


@pytest.mark.parametrize("method", ["segments", "boosting"])
def test_a_repair_that_finds_nothing_is_the_map_alone(method):
    table = TABLE.assign(country="de", device="phone", age=40.0)[:100]
    found = clone(QUICK).set_params(method=method).fit(table, Y[:100])
    assert found.chosen_ in ("unchanged", "global")
    assert found.summary().endswith(f": {method} found nothing to correct by features.")
    assert (from_json(found.to_json()).predict_proba(table) == found.predict_proba(table)).all()


@pytest.mark.slow
def test_what_is_told_of_a_segment_is_all_that_its_rows_are_moved_by():
    """Where corrections of two features that go together hold, and the shift, they add up."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"p": rng.uniform(0.2, 0.8, 3000), **{k: rng.choice(list("uvw"), 3000) for k in "ab"}})
    frame["b"] = np.where(rng.random(3000) < 0.6, frame.a, frame.b)
    off = 1.0 * (frame.a == "u") + 1.0 * (frame.b == "u") - 0.5 * (frame.b == "w")
    y = (rng.random(3000) < expit(logit(frame.p) + off)).astype(int)
    found = SegmentRecalibrator("p", method="segments").fit(frame, y)
    before = frame.p if found.recalibrator_ is None else found.recalibrator_.predict(frame.p)
    moved = logit(found.predict_proba(frame)[:, 1]) - logit(np.asarray(before))
    told = [each for each in found.corrections_ if "p" not in each.feature_names]
    assert {each.feature_names for each in told} >= {("a",), ("b",)}
    assert any(abs(each.net_change - each.log_odds_change - found.shift_) > 0.3 for each in told)
    for each in told:
        said = dict(one.split(" = ") for one in each.condition.split(" and "))
        rows = np.all([frame[name] == value for name, value in said.items()], axis=0)
        assert (rows.sum(), each.net_change) == (each.n_rows, pytest.approx(moved[rows].mean(), abs=1e-9))
        assert each.summary().startswith(f"{each.net_change:+.2f} where ")
    again = from_json(found.to_json())
    assert (again.corrections_, again.summary()) == (found.corrections_, found.summary())


def test_unknown_categories_and_missing_values_at_predict_time():
    odd = TABLE.iloc[:4].assign(country=["xx", None, "jp", "jp"], device=["tablet", "tablet", None, "yy"], age=np.nan)
    event = fitted().predict_proba(odd)[:, 1]
    assert ((event > 0.0) & (event < 1.0)).all()
    # What was never seen is not corrected, but by the shift of all rows.
    before = fitted().recalibrator_.predict(odd.y_prob) if fitted().recalibrator_ else odd.y_prob.to_numpy()
    single = [each for each in fitted().corrections_ if each.condition == "country = jp"]
    assert logit(event[:2]) == pytest.approx(logit(before[:2]) + fitted().shift_)
    assert single or logit(event[2:]) == pytest.approx(logit(before[2:]) + fitted().shift_)


def test_constant_features_and_predictions_of_exactly_0_and_1():
    table = TABLE.assign(same=1, none=None, truth=TABLE.age > 40)
    table.loc[:9, "y_prob"] = 0.0
    table.loc[10:19, "y_prob"] = 1.0
    found = clone(QUICK).fit(table, Y)
    event = found.predict_proba(table)[:, 1]
    assert ((event > 0.0) & (event < 1.0)).all()
    assert not any("same" in each.feature_names or "none" in each.feature_names for each in found.corrections_)
    # Wrong certainty is compared 1e-12 away from it: its log score is finite, and no correction wins by it.
    some = Judge(np.array([1.0, 0.0] * 50), np.tile([0.0, 0.5], 50), None, classes=False)
    assert np.isfinite(compared(some, {"unchanged": np.clip(some.prediction, 1e-12, 1)}, "unchanged", 0.05)[1][0].log)


@pytest.mark.slow
def test_weights_of_zero_take_rows_out():
    weight = np.r_[np.ones(1500), np.zeros(300)]
    more = pd.concat([TABLE, TABLE.iloc[:300].assign(age=40.0)], ignore_index=True)
    found = clone(QUICK).fit(more, np.r_[Y, 1 - Y[:300]], weight)
    assert divergence(TRUE, found.predict_proba(TABLE)[:, 1]) == pytest.approx(
        divergence(TRUE, event_before()), abs=2e-3
    )


BAD = [
    (
        TABLE.assign(at=time(12)),
        {},
        "^X: column 'at' holds times of day, durations, or times of a time zone; give days",
    ),
    (
        TABLE.assign(at=pd.Timestamp(2024, 1, 1, tz="UTC")),
        {},
        "^X: column 'at' holds times of day, durations, or times",
    ),
    (TABLE.assign(at=pd.Timedelta(1, "s")), {}, "^X: column 'at' holds times of day, durations"),
    (TABLE.assign(at=[date(2024, 1, 1), 5, 6] * 500), {}, "^X: column 'at' holds times of day"),
    (pl.from_pandas(TABLE).with_columns(l=pl.lit([1, 2])), {}, r"^X: column 'l' holds values of type List"),
    (TABLE.assign(l=[[1]] * 1500), {}, r"^X: column 'l' holds a list \(row 0\)|^X: column 'l' holds values of type"),
    (TABLE.assign(k=[1, "1", "b"] * 500), {}, "^X: column 'k' holds 1 as well as the text '1'; features are numbers"),
    (TABLE.assign(outcome=Y), {}, "^X: column 'outcome' is the outcome itself, row by row; leave it out"),
    (TABLE.assign(outcome=np.where(Y, "no", "yes")), {}, "^X: column 'outcome' is the outcome itself"),
    (TABLE, {"features": ["age", "y_prob"]}, "^features: holds 'y_prob', the prediction itself; leave it out"),
    (TABLE, {"features": ["age", "age"]}, "^features: names a column twice"),
    (TABLE, {"features": "age"}, "^features: is 'age'; a sequence of columns"),
    (TABLE, {"features": ["aeg"]}, "^features: is 'aeg', which is no column of X; its columns are y_prob, country"),
    (TABLE, {"prediction": "p"}, "^prediction: is 'p', which is no column of X"),
    (pd.concat([TABLE, TABLE[["age"]]], axis=1), {}, "^X: has two columns 'age'; each needs a name of its own"),
    (
        pa.table([TABLE["y_prob"], TABLE["age"], TABLE["age"]], ["y_prob", "age", "age"]),
        {},
        "^X: has two columns 'age'; each needs a name of its own",
    ),
    (TABLE[["y_prob"]], {}, "^X: has no feature besides the prediction; choose_recalibrator needs none"),
    (TABLE.assign(y_prob=TABLE.y_prob * 100), {}, r"^X: column 'y_prob', the prediction: row \d+ is .* \[0, 1\]"),
    (TABLE.iloc[:0], {}, "^X: has no rows"),
    (TABLE.y_prob.to_numpy(), {}, r"^X: has shape \(1500,\); a data frame or an array of shape \(n, d\)"),
    (sparse.csr_array(np.ones((1500, 2))), {}, "^X: is a sparse matrix; a data frame or a dense array"),
    (pl.from_pandas(TABLE).lazy(), {}, "^X: is a table that is not in memory yet; collect it first"),
    (np.full((1500, 2), np.datetime64("2024-01-01")), {"prediction": 0}, "the prediction: holds datetime64"),
    (np.column_stack([TABLE.y_prob, [time(12)] * 1500]), {"prediction": 0}, "^X: column 1 holds times of day"),
    (TABLE, {"method": "trees"}, "^method: is 'trees'; it must be one of 'auto', 'segments', 'boosting'"),
    (TABLE, {"max_depth": 3}, "^max_depth: is 3; it must be 1 or 2"),
    (TABLE, {"cv": 1}, "^cv: is 1"),
    (TABLE, {"level": 0.95}, "^level: is 0.95"),
    (np.column_stack([TABLE.y_prob, TABLE.y_prob * 1j]), {"prediction": 0}, "complex"),
]


@pytest.mark.parametrize(("table", "changed", "said"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_used_is_refused_by_name(table, changed, said):
    with pytest.raises(InputError, match=said):
        clone(QUICK).set_params(**changed).fit(table, Y)


def test_outcomes_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match=r"^y: row 0 is 0.5; a test counts"):
        clone(QUICK).fit(TABLE, np.full(1500, 0.5))
    with pytest.raises(InputError, match=r"^y: has 3 rows but X has 1,500"):
        clone(QUICK).fit(TABLE, [0, 1, 1])
    with pytest.raises(InputError, match=r"^y: has 0 ones and 1,500 zeros; cv=5 needs"):
        clone(QUICK).fit(TABLE, np.zeros(1500))
    with pytest.raises(InputError, match=r"^groups: is the text 'country'; pass the column itself, X\['country'\]"):
        clone(QUICK).fit(TABLE, Y, groups="country")
    with pytest.raises(InputError, match=r"^y: is None; this estimator requires y to be passed"):
        clone(QUICK).fit(TABLE, None)
    with pytest.raises(InputError, match=r"^X: has no column 'country', which it was fitted to"):
        fitted().predict_proba(TABLE.drop(columns="country"))
    with pytest.raises(InputError, match=r"^X: column 'age' holds texts; it held numbers when it was fitted"):
        fitted().predict_proba(TABLE.assign(age="old"))
    with pytest.raises(InputError, match=r"^X: column 'country' holds numbers; it held texts when it was fitted"):
        fitted().predict_proba(TABLE.assign(country=1.0))


@examples(100)
@given(
    values=st.lists(st.one_of(st.floats(allow_nan=True), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=40),
    n_bins=st.integers(1, 12),
)
def test_what_is_said_of_a_cell_holds_for_its_rows_alone(values, n_bins):
    column = np.clip(np.array(values), -1e308, 1e308)
    cut = Cut.fitted("x", column, n_bins)
    cells = cut.cells(column)
    assert cut.size <= max(n_bins, 1) + 2
    for cell in range(cut.size):
        (said,) = conditions([cut], (0,), [cell])
        if said == "x is not missing":
            expected = ~np.isnan(column)
        elif said == "x is missing":
            expected = np.isnan(column)
        else:
            expected = np.array([bool(eval(said, {"x": x})) for x in column.tolist()])
        assert (expected == (cells == cell)).all(), said


def test_damaged_values_under_a_right_checksum_are_refused():
    for name, value in {
        "chosen_": "boosting",
        "shift_": float("inf"),
        "_cuts": (),
        "n_features_in_": 1,
        "_blocks": ((*fitted()._blocks[0][:1], np.zeros(2), np.zeros(2)),),
    }.items():
        damaged = pickle.loads(pickle.dumps(fitted()))
        setattr(damaged, name, value)
        with pytest.raises(InputError):
            damaged.to_json()


def by_day(n=1500):
    """Predictions that are too high from March on, in a year whose February has 29 days."""
    rng = np.random.default_rng(4)
    prediction, late = rng.uniform(0.2, 0.8, n), rng.integers(0, 120, n)
    y = (rng.random(n) < np.where(late >= 60, 0.5 * prediction, prediction)).astype(int)
    return (
        prediction,
        [None if k % 50 == 0 else date(2024, 1, 1) + timedelta(int(day)) for k, day in enumerate(late)],
        y,
    )


@pytest.mark.slow
def test_days_are_cut_in_their_order_whatever_holds_them():
    prediction, days, y = by_day()
    held = np.array(days, "datetime64[D]")
    tables = {
        "objects": pd.DataFrame({"y_prob": prediction, "day": pd.Series(days, dtype=object)}),
        "pandas": pd.DataFrame({"y_prob": prediction, "day": held.astype("datetime64[s]")}),
        "polars": pl.DataFrame({"y_prob": prediction, "day": days}),
        "polars, times": pl.DataFrame({"y_prob": prediction, "day": days}).with_columns(
            pl.col("day").cast(pl.Datetime)
        ),
        "pyarrow": pa.table({"y_prob": prediction, "day": days}),
    }
    found = {name: clone(QUICK).fit(table, y) for name, table in tables.items()}
    first = found["objects"]
    event = first.predict_proba(tables["objects"])[:, 1]
    for name, each in found.items():
        assert (each.predict_proba(tables[name])[:, 1] == event).all(), name
        assert (first.predict_proba(tables[name])[:, 1] == event).all(), name
    # The same as of numbers in their order that are cut at the same days: their cells are the same.
    (_, cut), numbered = first._cuts[0], held.astype(np.float64)
    numbered[np.isnat(held)] = np.nan
    last = np.unique(numbered[~np.isnan(numbered)])
    tops = last[np.searchsorted(numbers_of(last.astype("datetime64[D]")), cut.edges)]
    cells = np.where(np.isnan(numbered), cut.size - 1, np.searchsorted(tops, numbered))
    assert (cut.cells(held) == cells).all()
    assert "day from 2024-0" in first.corrections_[0].condition
    assert cut.labels[0].startswith("day before 2024-01-1")
    assert (from_json(first.to_json()).predict_proba(tables["polars"])[:, 1] == event).all()
    with pytest.raises(InputError, match="column 'day' holds numbers; it held days when it was fitted"):
        first.predict_proba(tables["objects"].assign(day=3.0))
    missing = first.predict_proba(tables["objects"].assign(day=np.nan))[:, 1]
    assert (missing == first.predict_proba(tables["objects"].assign(day=None))[:, 1]).all()


SAVED = (
    '{"layout":"calibrant.recalibrator","version":1,"class":"SegmentRecalibrator","parameters":{"cv":5,"features":null,'
    '"level":0.05,"max_depth":1,"method":"segments","prediction":"p","random_state":0},"fitted":{"chosen_":"segments",'
    '"scores_":[],"recalibrator_":{"class":"PlattScaling","parameters":{"clip":1e-12},"fitted":{"slope_":'
    '1.0744426086501178,"intercept_":-0.21775959650499033,"domain_":[0.2,0.6],"smoothed_":false}},"shift_":'
    '-0.0029568996116595145,"n_features_in_":2,"_columns":["p","k"],"_blocks":[[[1],[-0.18370355450888415,'
    '0.18254258275757676,0.0,0.0],[300.0,300.0,0.0,0.0]]],"_cuts":[[["p",[0.2,0.4],null],["k",null,["a","b"]]]]},'
    '"checksum":"sha256:78c6dc51ab3e1d6473ca9afc21f1a6474583fd01af89eef5773962e6f7b4c118"}'
)


def test_what_was_saved_before_is_read_again():
    held = {"p": [0.3, 0.5, 0.5, 0.5], "k": ["b", "c", "a", None]}
    odds = -0.21775959650499033 - 0.0029568996116595145 + 1.0744426086501178 * logit(np.array(held["p"]))
    odds += [0.18254258275757676, 0.0, -0.18370355450888415, 0.0]
    found = from_json(SAVED)
    assert np.allclose(found.predict_proba(pa.table(held))[:, 1], expit(odds), rtol=1e-12)
    assert [each.condition for each in found.corrections_] == ["k = a", "k = b"]
    assert found.corrections_[0].net_change is None
    assert found.corrections_[0].summary().startswith("-0.18 where k = a")


class OnAnyTable(ClassifierMixin, BaseEstimator):
    """The repair behind a squashed first column and numbered labels, so that scikit-learn may draw what it likes."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        X, y = validate_data(self, X, y, ensure_min_samples=2)  # noqa: N806
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise ValueError(f"Only binary classification is supported, and 2 classes: got {self.classes_.size} class")
        weight = None if sample_weight is None else np.asarray(sample_weight, float)
        self.repair_ = SegmentRecalibrator(0, method="segments", cv=2, max_depth=1)
        self.repair_.fit(self._squashed(X), label, weight)
        return self

    def _squashed(self, X):  # noqa: N803
        return np.column_stack([expit(X[:, 0]), X])

    def predict_proba(self, X):  # noqa: N803
        check_is_fitted(self)
        return self.repair_.predict_proba(self._squashed(validate_data(self, X, reset=False)))

    def predict(self, X):  # noqa: N803
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a correction by features, no classifier of its own
        return tags


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks_behind_an_adapter():
    itself = "one of its features is the outcome itself, row by row, which is refused"
    check_estimator(
        OnAnyTable(),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": "copies of a row fall into different parts",
            "check_sample_weights_shape": itself,
            "check_sample_weights_not_overwritten": itself,
        },
    )


def test_identifiers_beyond_doubles_are_refused_by_name():
    for column in (2**53 + np.arange(len(TABLE)), pd.array(2**53 + np.arange(len(TABLE)), dtype="Int64")):
        with pytest.raises(InputError, match=r"column 'id' holds whole numbers beyond 2\*\*53"):
            clone(QUICK).fit(TABLE.assign(id=column), Y)


def test_one_map_is_due_where_it_is_advised_and_where_predictions_tell_nothing(monkeypatch):
    rows = SimpleNamespace(outcome=None, prediction=None, weight=None, group=None)
    for chosen, kind in (("constant", "global"), ("unchanged", "unchanged"), ("averaged", "global")):
        monkeypatch.setattr(
            estimator, "choose_recalibrator", lambda *_, chosen=chosen, **__: SimpleNamespace(chosen=chosen)
        )
        found, best = SegmentRecalibrator("p")._best_map(rows)
        assert found == kind
        assert isinstance(best, AveragedScaling) == (kind == "global")


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5])
def test_a_summary_names_three_corrections_and_counts_the_others(n, monkeypatch):
    made = tuple(estimator.SegmentCorrection(f"k = {i}", ("k",), 10 + i, 0.5) for i in range(n))
    monkeypatch.setattr(SegmentRecalibrator, "corrections_", made)
    repair = SegmentRecalibrator()
    repair.chosen_, repair.scores_ = "segments", ()
    named = "; ".join(f"+0.50 where k = {i} ({10 + i} rows)" for i in range(min(n, 3))) or "none"
    more = f"; and {n - 3} more segments" if n > 3 else ""
    assert repair.summary() == (
        f"Net corrections of log-odds by segment: {named}{more}. Not compared with the predictions as they are."
    )
