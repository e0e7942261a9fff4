"""The examiners' cases of rows that were sampled, weighted, followed or grouped: what audits said of them wrongly."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from calibrant import (
    InputError,
    audit,
    audit_table,
    calibration_gate,
    calibration_test,
    censored_outcomes,
    compare_calibration,
)
from calibrant.cli.app import app
from calibrant.door.request import Listener
from calibrant.door.sample import Sample
from calibrant.door.weights import perhaps_sampled
from calibrant.findings.action_catalogue import code
from calibrant.findings.comparison import compare
from calibrant.gate.checks import check_opened, check_state
from calibrant.gate.request import GateRequest
from calibrant.inference import compare_all, regret_bounds
from calibrant.recalibration import PlattScaling
from calibrant.report.gate import gate_as_junit, gate_as_markdown
from calibrant.segments import find_segments
from calibrant.tables.frames import OpenedFrame

FEW = {"n_resamples": 199, "random_state": 0}


SHARES = (
    "give --sampling-fractions, the share that was kept of each outcome, such as 0:0.1,1:1 "
    "(in Python sampling_fractions)."
)


def thinned(seed, n=8000):
    """All events and a tenth of the rest, with weights that make up for it."""
    rng = np.random.default_rng(seed)
    v = expit(rng.uniform(-4.0, 1.0, n))
    y = (rng.random(n) < v).astype(int)
    rows = rng.random(n) < np.where(y == 1, 1.0, 0.1)
    return y[rows], v[rows], np.where(y[rows] == 1, 1.0, 10.0)


@pytest.mark.slow
def test_weights_that_undo_a_sampling_by_outcome_raise_no_alarm():
    # P1: calibrated predictions were rejected 20 of 20, and the headline said "not chance".
    rejected = 0
    for seed in range(12):
        y, v, w = thinned(seed)
        rejected += calibration_test(y, v, sample_weight=w, n_resamples=99, random_state=seed).reject
    assert rejected <= 3
    y, v, w = thinned(0)
    found = audit(y, v, sample_weight=w, **FEW)
    assert found.answer.state == "too few rows"
    assert (
        "the file has 10% of all rows without the event and all rows with it, as their weights say"
        in found.summary().replace("\n", " ")
    )
    told = audit(y, v, sampling_fractions={0: 0.1, 1: 1.0}, **FEW)
    assert told.sampling_fractions == pytest.approx(found.sampling_fractions)
    assert told.answer.pvalue == found.answer.pvalue
    assert "were kept, as their weights say" not in told.summary().replace("\n", " ")


@pytest.mark.slow
def test_a_search_of_sampled_rows_finds_no_segment():
    # P1: find_segments 12 of 12.
    found = 0
    for seed in range(6):
        y, v, w = thinned(seed)
        table = {"y": y, "p": v, "w": w, "site": np.arange(y.size) % 3, "kind": (v > 0.2).astype(int)}
        options = {"y_true": "y", "y_prob": "p", "sample_weight": "w", "n_resamples": 99, "random_state": seed}
        found += bool(find_segments(pd.DataFrame(table), **options).segments)
    assert found <= 1


@pytest.mark.slow
def test_rare_clustered_rows_beside_common_ones_are_rejected_at_the_level():
    # S2: .36 of calibrated samples, and 27 of 60 audits said "not chance".
    group = np.concatenate([np.repeat(np.arange(500), 4), np.repeat(np.arange(500, 520), 100)])
    rejected = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = np.concatenate([rng.uniform(0.2, 0.8, 2000), rng.uniform(0.02, 0.04, 2000)])
        y = (rng.random(520)[group] < v).astype(float)
        rejected += calibration_test(y, v, groups=group, n_resamples=99, random_state=seed).reject
    assert rejected <= 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hospital", "site", "ward_id", "shop_id"])
def test_a_column_of_hospitals_draws_a_condition(name):
    # U7: `hospital_id` and `site` drew no warning where `patient_id` did.
    rng = np.random.default_rng(0)
    v = rng.random(300)
    frame = pd.DataFrame({"y_true": (rng.random(300) < v) * 1, "y_prob": v, name: np.arange(300) % 40})
    found = audit_table(frame, n_resamples=0, random_state=0)
    assert found.perhaps_groups == name
    assert f"If rows of one {name} depend on one another" in found.premises.summary()
    once = frame.assign(**{name: np.arange(300)})
    assert audit_table(once, n_resamples=0, random_state=0).perhaps_groups is None
    same = frame.assign(**{name: 1})
    assert audit_table(same, n_resamples=0, random_state=0).perhaps_groups is None


def test_audit_and_gate_name_the_same_column_of_groups():
    # A usual name in which no value repeats (a patient a row) said less of a gate than of an audit.
    rng = np.random.default_rng(0)
    v = rng.random(300)
    columns = {"y_true": (rng.random(300) < v) * 1, "y_prob": v}
    frame = pd.DataFrame({**columns, "patient_id": np.arange(300), "ward_id": np.arange(300) % 40})
    gated = check_opened(OpenedFrame(frame), GateRequest(max_distance=0.1), Listener())
    found = audit_table(frame, n_resamples=0, random_state=0)
    assert gated.premises.perhaps_groups == found.perhaps_groups == "ward_id"


def test_what_a_bound_proves_without_a_test_takes_rows_of_one_site_as_independent_too():
    rng = np.random.default_rng(0)
    v = rng.random(3_000)
    frame = pd.DataFrame({"y_true": (rng.random(3_000) < v**3) * 1, "y_prob": v, "site": np.arange(3_000) % 40})
    found = audit_table(frame, n_resamples=0, random_state=0).answer
    assert found.details[0].startswith("A bound proves this if rows of one site are independent, without a test. ")


@pytest.mark.parametrize(
    ("events", "others", "rate", "parts"),
    [
        (100, 100, 0.3, (1, 2)),
        (100, 100, 0.7, (1, 2)),
        (100, 100, 0.4, None),  # odds are less than twice those predicted
        (99, 99, 0.1, None),  # fewer than 200 rows
        (100, 101, 0.1, (1, 2)),  # nearly as many, and three times the odds
        (100, 104, 0.1, (1, 2)),
        (104, 100, 0.9, (1, 2)),
        (100, 105, 0.1, None),  # more than a point from half
        (100, 101, 0.3, None),
        (100, 201, 0.1, None),
        (500, 100, 0.6, (5, 6)),
        (100, 500, 0.5, (1, 6)),
        (100, 600, 0.5, None),  # seven parts
        (0, 200, 0.5, None),
        (200, 0, 0.5, None),
        (100, 100, 0.0, None),
        (100, 100, 1.0, None),
    ],
)
def test_numbers_of_outcomes_in_whole_proportion_may_be_chosen(events, others, rate, parts):
    columns = np.repeat([1.0, 0.0], [events, others]), np.full(events + others, rate)
    assert perhaps_sampled(Sample.of_arrays(*columns), rate) == parts
    assert perhaps_sampled(Sample.of_arrays(*columns, np.full(events + others, 2.0)), rate) is None


@pytest.mark.parametrize(
    ("factor", "slope", "n", "parts"),
    [
        (10.0, 1.0, 2_000, (2, 3)),
        (0.1, 1.0, 2_000, (1, 15)),
        (3.5, 1.0, 2_000, (1, 2)),
        (2.7, 1.0, 2_000, None),  # less than threefold
        (3.3, 1.0, 100, None),  # and here chance alone could make it more
        (10.0, 0.8, 2_000, (2, 3)),  # nearly the same factor
        (10.0, 0.5, 2_000, None),  # not the same at all predictions
        (10.0, 0.7, 2_000, None),
        (10.0, 0.7, 41, (2, 3)),  # which few rows cannot tell
        (10.0, 1.0, 30, None),  # 150 rows
    ],
)
def test_odds_that_are_off_by_one_factor_may_be_of_rows_that_were_thinned(factor, slope, n, parts):
    odds = np.array([-3.0, -2.2, -1.4, -0.7, 0.1])
    events = np.rint(n * expit(np.log(factor) - 1.4 + slope * (odds + 1.4)))
    y = (np.arange(n) < events[:, None]).ravel() * 1.0
    v = np.repeat(expit(odds), n)
    found = perhaps_sampled(Sample.of_arrays(y, v), float(v.mean()))
    assert (found is None) == (parts is None)
    if found is not None:
        assert found[0] / found[1] == pytest.approx(y.mean(), abs=0.1)
    one = Sample.of_arrays(y, np.full(y.size, 0.11))  # one prediction has no slope
    assert perhaps_sampled(one, 0.11) in (None, (1, 2))


@pytest.mark.slow
def test_it_is_asked_of_single_rows_alone():
    rng = np.random.default_rng(0)
    y, p = np.arange(300) % 2, rng.uniform(0.1, 0.4, 300)
    few = {"n_resamples": 0}
    asked = f"Do: if rows were chosen by their outcome, {SHARES} If not, "
    plain = audit(y, p, **few)
    assert plain.perhaps_sampled == (1, 2)
    assert sum(asked in each for each in plain.sentences) == 1
    assert " ".join(plain.summary().split()).count(asked) == 1
    assert audit(y, p, groups=np.arange(300) // 3, **few).perhaps_sampled == (1, 2)
    for how in (
        {"sampling_fractions": {0: 0.2, 1: 1.0}},
        {"sample_weight": 1.0 + rng.random(300)},
        {"trials": np.full(300, 2)},
    ):
        assert audit(y, p, **how, **few).perhaps_sampled is None
    top = np.column_stack([1.0 - p, 0.6 * p, 0.4 * p])
    assert audit(y + (np.arange(300) % 3 == 0), top, **few).perhaps_sampled is None
    table = pd.DataFrame({"y_true": y, "y_prob": p, "died": y, "days": 2.0})
    assert audit_table(table, **few).perhaps_sampled == (1, 2)
    followed = audit_table(table, time="days", event="died", horizon=2.0, **few)
    assert followed.base_rate == 0.5
    assert followed.perhaps_sampled is None
    for each in (audit_table(table, **few), followed):  # both are searched by columns
        assert each.premises.entries["not_looked_at"].endswith("segments that are off.")


def test_rows_to_collect_are_counted_as_they_come():
    """A reader collects rows whether their outcome gets known or not; where groups are drawn, groups."""
    rng = np.random.default_rng(1)
    risk = rng.uniform(0.1, 0.6, 900)
    came, left = -np.log(rng.random(900)) / -np.log(1.0 - risk), rng.uniform(0.2, 1.6, 900)
    columns = {"y_prob": risk, "t": np.minimum(came, left), "e": (came <= left) * 1, "site": np.arange(900) // 15}
    how = {"time": "t", "event": "e", "horizon": 1.0}
    frame = pd.DataFrame(columns)
    found = audit_table(frame, **how, **FEW)
    gated = check_opened(OpenedFrame(frame), GateRequest(max_distance=0.02, **how), Listener())
    assert found.gate.n_unknown == gated.rows.n_unknown == found.followed.n_unknown > 300
    assert (found.gate.n_rows, found.gate.rows_needed) == (gated.rows.n_rows, gated.rows_needed)
    known = censored_outcomes(columns["t"], columns["e"], 1.0)
    at = known.known
    plain = calibration_gate(
        known.y_true[at], risk[at], sample_weight=known.sample_weight[at], max_weight=10.0, max_distance=0.02
    )
    assert found.gate.rows_needed == pytest.approx(plain.rows_needed * 900 / at.size, rel=1e-3)
    share = f"rows in all as these come ({100 * at.size / 900:.0f}% of them known, these included)"
    assert share in found.answer.details[-1]
    assert share in gated.headline
    assert f"{at.size} of 900 rows known" in gated.headline
    lost = check_opened(OpenedFrame(frame), GateRequest(max_regret=0.05, **how), Listener())
    assert f"{at.size} of 900 rows known" in lost.headline
    grouped = audit_table(frame, **how, groups="site", max_weight=150.0, **FEW)
    assert re.search(r"collect rows of about \d+ more groups \(column site\)", grouped.answer.details[-1])


def test_strata_may_be_several_columns():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y_prob": rng.uniform(0.2, 0.6, 400), "t": rng.uniform(0.2, 2.0, 400)})
    frame = frame.assign(e=rng.integers(0, 2, 400), site=np.arange(400) % 2, sex=np.tile(["f", "f", "m", "m"], 100))
    how = {"time": "t", "event": "e", "horizon": 0.8, "n_resamples": 0}
    both = censored_outcomes(frame["t"], frame["e"], 0.8, strata=frame[["site", "sex"]])
    one = censored_outcomes(frame["t"], frame["e"], 0.8, strata=frame["site"].astype(str) + frame["sex"])
    assert np.array_equal(both.sample_weight, one.sample_weight)
    assert not np.array_equal(both.sample_weight, censored_outcomes(frame["t"], frame["e"], 0.8).sample_weight)
    found = audit_table(frame, strata=["site", "sex"], **how)
    joined = audit_table(frame.assign(two=frame["site"].astype(str) + frame["sex"]), strata="two", **how)
    assert found.base_rate == joined.base_rate
    assert found.followed.strata == ("site", "sex")
    assert found.not_looked_at == ()
    assert "within values of columns site, sex." in str(found.premises)
    assert any("like all others within site, sex, in" in each for each in found.sentences)
    with pytest.raises(InputError, match="strata: there is no column 'age'"):
        audit_table(frame, strata=["site", "age"], **how)
    with pytest.raises(InputError, match="strata: column 'sex', rows counted from 0: row 0 has no value"):
        audit_table(frame.assign(sex=[None, *frame["sex"][1:]]), strata=["site", "sex"], **how)


def kept_by_outcome():
    """All events and a tenth of the other rows; p is calibrated in the population, q in the file."""
    rng = np.random.default_rng(42)
    p = rng.beta(1.2, 12.0, 14_000)
    y = (rng.random(p.size) < p) * 1
    kept = (y == 1) | (rng.random(p.size) < 0.1)
    return pd.DataFrame({"y_true": y, "p": p, "q": p / (p + (1.0 - p) * 0.1)})[kept]


@pytest.mark.slow
def test_rows_kept_by_outcome_are_compared_as_the_population():
    # The predictor that is wrong in the population, and right in the file, was "better calibrated"; then none was.
    frame = kept_by_outcome()
    fractions = {0: 0.1, 1: 1.0}
    found = audit_table(frame, y_true="y_true", y_prob=["p", "q"], sampling_fractions=fractions, n_resamples=39)
    weight = np.where(frame["y_true"] == 1, 1.0, 10.0)
    columns, options = (
        (frame[name] for name in ("y_true", "p", "q")),
        {"n_resamples": 199, "random_state": found.seed},
    )
    python = compare_calibration(*columns, sample_weight=weight, **options)
    assert found.result.pvalue == python.pvalue
    assert found.headline.startswith("p is better calibrated than q on the same ")
    assert found.audits[0].smooth_calibration_error < 0.1 * found.audits[1].smooth_calibration_error


@pytest.mark.slow
def test_forecasts_of_weighted_or_followed_rows_are_compared_by_their_weights():
    rng = np.random.default_rng(8)
    p = rng.beta(2.0, 3.0, 1_500)
    y = (rng.random(p.size) < p) * 1
    frame = pd.DataFrame({"y_true": y, "p": p, "q": p**0.4, "r": p**2, "w": rng.uniform(1.0, 3.0, p.size)})
    of = {"y_prob": ["p", "q", "r"], "n_resamples": 39, "random_state": 0}
    weighted = audit_table(frame, y_true="y_true", sample_weight="w", **of)
    python = compare_all(
        y, {name: frame[name] for name in "pqr"}, sample_weight=frame["w"], n_resamples=199, random_state=0
    )
    assert [each.pvalue for each in weighted.pairs.pairs.values()] == [each.pvalue for each in python.pairs.values()]
    assert weighted.headline.startswith("p is better calibrated than all others")
    alone = audit_table(frame, y_true="y_true", y_prob="p", sample_weight="w", n_resamples=39)
    told = " ".join(alone.summary().split())
    assert "Assumed: rows are independent; rows are weighted by w, and these weights are right." in told
    frame = frame.assign(time=np.where(y == 1, 1.0, rng.uniform(1.5, 4.0, p.size)), died=y).drop(
        columns=["y_true", "w"]
    )
    followed = audit_table(frame, time="time", event="died", horizon=2.0, **of)
    known = censored_outcomes(frame["time"], frame["died"], horizon=2.0)
    python = compare_all(
        known.y_true,
        {name: frame[name] for name in "pqr"},
        sample_weight=known.sample_weight,
        n_resamples=199,
        random_state=0,
    )
    assert followed.pairs.values == pytest.approx(python.values)


@pytest.mark.parametrize(
    ("more", "said"), [({"outcome_free_weights": True}, "no weights"), ({"max_weight": 500.0}, "what a row can weigh")]
)
def test_what_fractions_say_is_not_said_twice(more, said):
    # Calibrated rows were rejected always, and bounds were wider by ten times, without a word.
    frame = kept_by_outcome()
    columns = frame["y_true"].to_numpy(), frame["p"].to_numpy()
    with pytest.raises(InputError, match=said):
        audit(*columns, sampling_fractions={0: 0.1, 1: 1.0}, n_resamples=39, **more)
    with pytest.raises(InputError):
        audit_table(frame, y_prob="p", sampling_fractions={0: 0.1, 1: 1.0}, n_resamples=39, **more)


def gated(frame, **request):
    return check_opened(OpenedFrame(frame), GateRequest(**request), Listener())


@pytest.mark.slow
@pytest.mark.parametrize("limit", [{"max_distance": 0.1}, {"max_regret": 0.1}])
def test_gates_say_as_audits_what_weights_of_two_values_are(limit):
    # A gate said "weighted, by importance", where the audit of the same rows said what the weights undo.
    y, v, w = thinned(0, 3000)
    frame = pd.DataFrame({"y_true": y, "y_prob": v, "sample_weight": w})
    told = audit_table(frame, max_weight=10.0, **FEW).premises
    for request in (
        {"sample_weight": "sample_weight"},
        {},
    ):  # the usual name is read untold
        found = gated(frame, max_weight=10.0, **limit, **request)
        seen = found.premises
        assert seen.sampling_fractions == told.sampling_fractions == pytest.approx((0.1, 1.0))
        assert seen.weighted
        assert told.entries["weights"].startswith(seen.entries["weights"])
        for said in (found.summary(), gate_as_junit(found), gate_as_markdown(found)):
            assert "as of rows sampled by outcome" in said
            assert "outcome-free" not in said  # which a gate does not take
    bounds = regret_bounds(y, v, sample_weight=w, max_weight=10.0)
    assert bounds.premises.entries["weights"].startswith("Weights (sample_weight) have one value for each outcome")
    other = gated(frame.assign(sample_weight=1.0 + v), max_weight=10.0, **limit).premises.entries["weights"]
    assert other == "Rows are weighted (column sample_weight), by importance, not as repeats or trials."
    same = gated(frame.assign(sample_weight=2.0), max_weight=10.0, **limit).premises.entries["weights"]
    assert same == "Rows have equal weights (column sample_weight), by importance, not as repeats or trials."


@pytest.mark.slow
def test_every_gate_asks_whether_rows_were_chosen(tmp_path):
    # `--anytime` and `--max-regret` did not, nor did bounds of arrays.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y_true": np.arange(300) % 2, "y_prob": rng.uniform(0.1, 0.3, 300)})
    give = SHARES
    assert gated(frame, max_regret=0.1).premises.entries["perhaps_sampled"].endswith(f"outcome, {give}")
    assert regret_bounds(*frame.to_numpy().T).premises.perhaps_sampled == (1, 2)
    assert calibration_gate(*frame.to_numpy().T, max_distance=0.1).premises.perhaps_sampled == (1, 2)
    state = tmp_path / "state"
    added = gated(frame, max_distance=0.1, anytime=state).premises.entries["perhaps_sampled"]
    assert added.endswith(f"leave out --anytime, which cannot be used with them, and {give}")
    assert check_state(state).premises.entries["perhaps_sampled"] == added
    frame.assign(y_prob=0.9 * frame["y_prob"]).to_csv(tmp_path / "before.csv", index=False)
    beside = gated(frame.iloc[::-1], max_distance=0.1, baseline=str(tmp_path / "before.csv")).premises
    assert "leave out --baseline, which cannot be used with them" in beside.entries["perhaps_sampled"]
    frame["day"] = np.arange(300) // 100
    told = audit_table(frame, drift="day", reference=0, **FEW)  # which told to say what was then refused
    for said in (told.premises.entries["perhaps_sampled"], told.summary()):
        assert f"leave out --reference, which cannot be used with them, and {give}" in " ".join(said.split())
    assert audit_table(frame, drift="day", **FEW).premises.entries["perhaps_sampled"].endswith(f"outcome, {give}")


def test_equal_fractions_are_no_weights():
    # .5 and .5 were "equal weights (sample_weight)", which nobody gave, and given ones were "as the weights say".
    y, v, _ = thinned(0, 2000)
    found = audit(y, v, sampling_fractions={0: 0.5, 1: 0.5}, **FEW)
    assert found.premises.entries["weights"].startswith("Rows were sampled by outcome: 0.5 of those without the event")
    assert not found.equal_weights
    assert "sampled by outcome: 0.5 of rows without" in " ".join(found.summary().split())
    given = calibration_test(y, v, sampling_fractions={0: 0.1, 1: 1.0}, n_resamples=99, random_state=0)
    seen = calibration_test(y, v, sample_weight=np.where(y == 1, 1.0, 10.0), n_resamples=99, random_state=0)
    assert "weights" not in given.premise
    assert "as the weights say: 0.1 of the rows" in seen.premise
    assert seen.pvalue == given.pvalue


def test_the_way_out_of_recognised_weights_is_said_only_where_it_is_taken():
    y, v, w = thinned(0, 2000)
    group = np.arange(y.size) // 2
    with pytest.raises(InputError, match="has no effect"):
        audit(y, v, sample_weight=w, groups=group, outcome_free_weights=True, **FEW)
    assert "outcome-free" not in audit(y, v, sample_weight=w, groups=group, **FEW).premises.entries["weights"]
    assert "outcome-free" in audit(y, v, sample_weight=w, **FEW).premises.entries["weights"]


def test_other_groups_are_told_by_the_rows_that_they_part():
    # "their groups differ, so they are not of the same rows in the same order": neither follows.
    y, v, _ = thinned(0, 600)
    group = np.arange(y.size) // 4
    apart = group.copy()
    apart[6] = 9999
    audits = [audit(y, p, groups=group, n_resamples=0) for p in (v, 0.9 * v)]
    rows = [(y, v), (y, 0.9 * v)]
    found = compare(["a", "b"], audits, rows, groups_of=[group, apart])
    assert "rows 4 and 6 are of one group in only one of a and b" in found.headline
    assert "same order" not in found.headline
    names = compare(["a", "b"], audits, rows, groups_of=[group, group.max() - group])
    assert names.result is not None  # which number a group has says nothing


def test_weights_for_rows_that_left_are_no_sampling_by_outcome():
    # Where all who left did so after the last event, their weights had two values, and "sampled by outcome" was said.
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.6, 600)
    event = rng.random(600) < p
    left = ~event & (rng.random(600) < 0.3)
    time = np.where(event, rng.uniform(0.01, 0.8, 600), np.where(left, 0.9, 2.0))
    frame = pd.DataFrame({"y_prob": p, "time": time, "event": event * 1})
    how = {"time": "time", "event": "event", "horizon": 1.0}
    found = audit_table(frame, **how, **FEW)
    assert found.premises.sampling_fractions is None
    assert "sampled by outcome" not in found.summary().replace("\n", " ")
    assert "sampled by outcome" not in found.tests["calibration_test"].result.premise
    assert gated(frame, max_distance=0.1, **how).premises.sampling_fractions is None


@pytest.mark.slow
def test_weights_of_one_value_for_each_outcome_judge_segments_as_their_fractions_do(tmp_path):
    # The fractions were recognised, and the segments were not tested: "weights may tell outcomes".
    rng = np.random.default_rng(0)
    v, shop = rng.uniform(0.02, 0.5, 12_000), rng.integers(0, 3, 12_000)
    y = (rng.random(v.size) < expit(np.log(v / (1.0 - v)) + 0.7 * (shop == 2))) * 1  # c alone errs
    rows = (y == 1) | (rng.random(v.size) < 0.1)
    frame = pd.DataFrame({"y_true": y, "y_prob": v, "shop": np.array(list("abc"))[shop]})[rows].reset_index(drop=True)
    weight = np.where(frame["y_true"] == 1, 2.0, 20.0)
    weight[:7] = 0.0
    weighted = audit_table(frame.assign(mass=weight), sample_weight="mass", by="shop", **FEW)
    given = audit_table(frame[7:], sampling_fractions={0: 0.1, 1: 1.0}, by="shop", **FEW)
    arrays = audit(frame["y_true"], frame["y_prob"], sample_weight=weight, **FEW)
    assert weighted.sampling_fractions == arrays.sampling_fractions == pytest.approx((0.1, 1.0))
    assert [each.key for each in weighted.segments] == [each.key for each in given.segments]
    for one, other in zip(weighted.segments, given.segments, strict=True):
        assert one.pvalue == other.pvalue
        own = frame["shop"] == one.key[0]
        bias = np.average((frame["y_prob"] - frame["y_true"])[own], weights=weight[own])
        population = (v - y)[shop == "abc".index(one.key[0])].mean()  # of all rows, those that were not kept too
        assert abs(bias - population) < 0.02
        low, high = one.lower_distance_bracket
        assert low <= high
        assert abs(bias) <= high + 1e-9
        assert (one.pvalue < 0.01) == (one.key[0] == "c")
    frame.assign(mass=weight).to_csv(tmp_path / "rows.csv", index=False)
    line = ["audit", tmp_path / "rows.csv", "--sample-weight", "mass", "--by", "shop", "--resamples", 199, "--json"]
    found = json.loads(CliRunner().invoke(app, [str(each) for each in line]).stdout)
    assert [each["pvalue"] for each in found["segments"]] == [each.pvalue for each in weighted.segments]


def test_a_state_says_of_weights_what_other_gates_say(tmp_path):
    # It said "by importance" of weights that undo a sampling by outcome.
    y, v, w = thinned(0, 3000)
    frame = pd.DataFrame({"y_true": y, "y_prob": v, "sample_weight": w})
    state, options = tmp_path / "state", {"max_distance": 0.1, "max_weight": 10.0, "sample_weight": "sample_weight"}
    for part in (frame[:700], frame[700:]):
        found = gated(part, anytime=state, **options).premises
        assert found.sampling_fractions == pytest.approx((0.1, 1.0))
        assert "one value for each outcome, as of rows sampled by outcome: 0.1 of those" in found.entries["weights"]
    assert check_state(state).premises.entries["weights"] == found.entries["weights"]
    other = frame.assign(sample_weight=w * (1.0 - 1e-3 * (np.arange(w.size) == 5)))
    told = gated(other, anytime=tmp_path / "other", **options).premises.entries["weights"]
    assert told == "Rows are weighted (column sample_weight), by importance, not as repeats or trials."


def test_a_stratum_without_a_value_is_said_once():
    # It said "column 'sex', rows counted from 0: column 'sex': row 0 is missing".
    frame = pd.DataFrame({"y_prob": np.full(40, 0.5), "t": np.arange(40.0), "e": np.arange(40) % 2, "sex": "f"})
    frame.loc[3, "sex"] = None
    with pytest.raises(InputError) as told:
        audit_table(frame, time="t", event="e", horizon=20.0, strata="sex", n_resamples=0)
    assert str(told.value) == "strata: column 'sex', rows counted from 0: row 3 has no value"


@pytest.mark.slow
def test_refusals_of_weights_name_the_fractions():
    # The road that works was not named: --unweighted alone led to a false result, and --sample-weight to a refusal.
    y, v, w = thinned(3, 2_000)
    table = pd.DataFrame({"y": y, "p": v, "w": w})
    of = {"y_true": "y", "y_prob": "p"}
    with pytest.raises(InputError, match="rows sampled by outcome need --sampling-fractions as well"):
        gated(table, max_distance=0.1, **of)
    fractions = {0: 0.1, 1: 1.0}
    with pytest.raises(InputError, match="give unweighted=True in its place"):
        audit_table(table, sample_weight="w", sampling_fractions=fractions, **of)
    gated(table, max_distance=0.1, unweighted=True, sampling_fractions=fractions, **of)
    audit_table(table, unweighted=True, sampling_fractions=fractions, n_resamples=39, **of)


@pytest.mark.parametrize("slope", [0.4, 1.0])
def test_rows_sampled_by_outcome_by_their_weights_hear_of_no_max_weight(slope):
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 9.0, 3_000)
    y = (rng.random(p.size) < expit(slope * logit(p))) * 1
    kept = (y == 1) | (rng.random(p.size) < 0.2)
    table = pd.DataFrame({"y_true": y, "y_prob": p, "sample_weight": np.where(y == 1, 1.0, 5.0)})[kept]
    found = audit_table(table, n_resamples=0)
    said = " ".join((*found.sentences, *found.premises.sentences))
    assert found.sampling_fractions == (0.2, 1.0)
    assert "--unweighted --sampling-fractions 0:0.2,1:1 (in Python sampling_fractions)" in said
    assert "max_weight" not in said.replace("-", "_")
    bounded = audit_table(table, unweighted=True, sampling_fractions={0: 0.2, 1: 1.0}, n_resamples=0)
    assert bounded.answer.interval is not None


def test_a_gate_of_rows_sampled_by_outcome_names_what_takes_the_place_of_a_largest_weight():
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 9.0, 3_000)
    y = (rng.random(p.size) < p) * 1
    kept = (y == 1) | (rng.random(p.size) < 0.2)
    y, p = y[kept], p[kept]
    weight = np.where(y == 1, 1.0, 5.0)
    way = r"give --sampling-fractions 0:0\.2,1:1 \(in Python sampling_fractions\) in place of the weights"
    with pytest.raises(InputError, match=way):
        calibration_gate(y, p, sample_weight=weight, max_distance=0.1)
    assert calibration_gate(y, p, sampling_fractions={0: 0.2, 1: 1.0}, max_distance=0.1).verdict == "within"
    with pytest.raises(InputError, match="max_weight") as refused:  # others are not taken for such weights
        calibration_gate(y, p, sample_weight=weight + rng.random(y.size), max_distance=0.1)
    assert "sampling" not in str(refused.value)


def test_few_groups_of_followed_rows_are_given_the_code_that_corrects_level_and_slope():
    rng = np.random.default_rng(0)
    hospital = (40 * rng.random(3_000) ** 2).astype(int)
    p = rng.beta(2.0, 5.0, 3_000)
    died = rng.random(3_000) < 0.65 * p
    days = np.where(died, rng.integers(1, 730, 3_000), rng.integers(200, 2_000, 3_000))
    frame = pd.DataFrame({"risk": p, "died": died * 1, "days": days, "hospital": hospital})
    how = {"time": "days", "event": "died", "horizon": 730, "groups": "hospital"}
    audited = audit_table(frame, y_prob="risk", **how, **FEW)
    assert "PlattScaling" in audited.answer.details[-1]
    names = {"rows": frame, "y_prob": None, "new_y_prob": [0.1, 0.5]}
    lines = code(audited.answer, audited)
    known = censored_outcomes(frame["days"], frame["died"], 730)
    names["y_prob"] = p
    exec(lines, names)
    np.testing.assert_array_equal(
        names["better"], PlattScaling().fit(p, known.y_true, known.sample_weight).predict([0.1, 0.5])
    )
