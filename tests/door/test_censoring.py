"""Outcomes at a horizon of rows that are censored, against the definition and known truths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, audit_table, calibration_test, censored_outcomes, clinical_calibration
from calibrant.decisions import decision_curve
from calibrant.door.request import Listener
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.tables.frames import OpenedFrame
from tests.strategies import examples


def slowly(time, event, horizon):
    """Weights of the definition: one over the product of the shares that stay, at each censoring before."""

    def followed(until):
        share = 1.0
        for moment in sorted(set(time)):
            if moment >= until:
                break
            here = [k for k in range(len(time)) if time[k] == moment]
            at_risk = sum(each >= moment for each in time) - sum(event[k] for k in here)
            gone = sum(1 - event[k] for k in here)
            share *= 1.0 - (gone / at_risk if gone else 0.0)
        return share

    known = [time[k] >= horizon or event[k] == 1 for k in range(len(time))]
    weights = [1.0 / followed(min(time[k], horizon)) if known[k] else 0.0 for k in range(len(time))]
    return weights, [int(time[k] <= horizon and event[k] == 1) for k in range(len(time))], followed(horizon)


@examples(150)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=25))
def test_weights_are_those_of_the_definition(rows):
    time, event, stratum = (np.array(column, float) for column in zip(*rows, strict=True))
    for strata in (None, stratum):
        wanted, outcomes, least = np.zeros(len(rows)), np.zeros(len(rows)), 1.0
        for each in (0.0, 1.0):
            own = np.flatnonzero(stratum == each) if strata is not None else np.arange(len(rows))
            if own.size:
                wanted[own], outcomes[own], last = slowly(time[own].tolist(), event[own].tolist(), 3.5)
                least = min(least, last)
        if least < 0.05:
            with pytest.raises(InputError, match=r"horizon: is 3\.5, to which"):
                censored_outcomes(time, event, 3.5, strata=strata, least_followed=0.05)
            continue
        found = censored_outcomes(time, event, 3.5, strata=strata, least_followed=0.05)
        assert found.sample_weight == pytest.approx(wanted)
        assert found.y_true.tolist() == outcomes.tolist()
        assert found.max_weight == pytest.approx(1.0 / least)
        assert found.max_weight >= found.sample_weight.max() - 1e-12
        assert found.n_unknown == (found.sample_weight == 0.0).sum()


def test_without_censoring_all_rows_weigh_alike():
    found = censored_outcomes([1.0, 5.0, 2.0], [1, 1, 1], 3.0)
    assert (found.y_true.tolist(), found.sample_weight.tolist()) == ([1, 0, 1], [1.0, 1.0, 1.0])
    assert (found.max_weight, found.n_unknown) == (1.0, 0)
    assert censored_outcomes([3.0, 3.0], [0, 1], 3.0).y_true.tolist() == [0, 1]  # followed to it, and by it


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([1.0, -1.0], [1, 0], 2.0), "time: row 1 is -1; a time must be finite"),
        (([1.0, np.inf], [1, 0], 2.0), "time: row 1 is inf"),
        (([1.0, 2.0], [1, 2], 2.0), "event: row 1 is 2; it must be 0 or 1"),
        (([1.0, 2.0], [1], 2.0), "event: has 1 row but time has 2"),
        (([1.0, 2.0], [1, 0], 0.0), "horizon: is 0"),
        (([], [], 1.0), "time: is empty"),
        (([1.0, 1.0, 1.0], [1, 0, 0], 2.0), "horizon: is 2, to which 0 of the rows are followed"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_refused(columns, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        censored_outcomes(*columns)
    with pytest.raises(InputError, match="strata: has shape"):
        censored_outcomes([1.0, 2.0], [1, 1], 2.0, strata=[1])


def followed(rng, n, hazard=1.0):
    """Risks of the event by time 1, and rows of which two fifths leave before, most of them in one stratum."""
    stratum = rng.integers(0, 2, n)
    risk = 1.0 / (1.0 + np.exp(-rng.uniform(-3.0, 1.0, n) - 1.6 * (stratum - 0.5)))
    came = rng.exponential(1.0, n) / (-np.log1p(-risk) * hazard)
    left = rng.exponential(1.0, n) / np.where(stratum == 1, 0.9, 0.25)
    return risk, np.minimum(came, left), (came <= left).astype(int), stratum


@pytest.mark.slow
def test_calibrated_risks_are_rejected_at_the_level_and_complete_rows_are_not_to_be_trusted():
    rejected = {"weighted": 0, "complete": 0, "bent": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        for hazard, name in ((1.0, "weighted"), (1.5, "bent")):
            risk, time, event, stratum = followed(rng, 1_500, hazard)
            known = censored_outcomes(time, event, 1.0, strata=stratum)
            options = {"n_resamples": 99, "random_state": seed}
            test = calibration_test(known.y_true, risk, sample_weight=known.sample_weight, **options)
            rejected[name] += test.reject
            if name == "weighted":
                rows = known.known
                rejected["complete"] += calibration_test(known.y_true[rows], risk[rows], **options).reject
    assert rejected["weighted"] <= 8
    assert rejected["complete"] >= 30
    assert rejected["bent"] >= 36


def test_rows_of_high_risk_that_leave_sooner_need_ranges_of_the_prediction_as_strata():
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.8, 4_000)
    came = rng.exponential(1.0, 4_000) / -np.log1p(-risk)
    left = rng.exponential(1.0, 4_000) / np.where(risk > 0.4, 1.5, 0.1)
    rejected = []
    for strata in (None, np.floor(10.0 * risk)):
        known = censored_outcomes(np.minimum(came, left), came <= left, 1.0, strata=strata)
        test = calibration_test(known.y_true, risk, sample_weight=known.sample_weight, random_state=0)
        rejected.append(test.reject)
    assert rejected == [True, False]


def test_an_audit_of_times_is_one_of_outcomes_and_weights():
    import pyarrow as pa

    risk, time, event, stratum = followed(np.random.default_rng(0), 400)
    table = pa.table({"p": risk, "t": time, "e": event, "s": stratum})
    of = {"y_prob": "p", "time": "t", "event": "e", "horizon": 1.0, "strata": "s", "random_state": 0, "n_resamples": 99}
    found = audit_table(table, **of)
    known = censored_outcomes(time, event, 1.0, strata=stratum)
    rows = known.known
    assert found.n_rows == rows.size
    assert found.base_rate == pytest.approx(np.average(known.y_true[rows], weights=known.sample_weight[rows]))
    options = {"sample_weight": known.sample_weight, "random_state": 0, "n_resamples": 99}
    assert found.max_weight == pytest.approx(10.0)
    assert found.population is not None
    assert f"{known.n_unknown} rows left before" in str(found.premises)
    assumed = f"{known.n_unknown} rows lost from sight before are like all others within s, in outcome and prediction."
    assumed = f"events count by 1; {assumed}"
    assert sum(assumed in each for each in found.sentences) == 1
    everyone = audit_table(table, **{**of, "horizon": float(time.min())})
    assert not any("lost from sight" in each for each in everyone.sentences)
    assert "within values of column s" in str(found.premises)
    test = calibration_test(known.y_true, risk, **options)
    assert found.tests["calibration_test"].result.statistic == pytest.approx(test.statistic, rel=0.5)
    with pytest.raises(InputError, match=r"horizon: is 9, to which"):
        audit_table(table, **{**of, "horizon": 9.0})
    with pytest.raises(InputError, match="time: there is no column 'u'"):
        audit_table(table, **{**of, "time": "u"})
    with pytest.raises(InputError, match="event: is missing"):
        audit_table(table, **{**of, "event": None})
    for other in ({"y_true": "e"}, {"max_weight": 3.0}):
        with pytest.raises(InputError, match=f"{next(iter(other))}: cannot be used with a horizon"):
            audit_table(table, **of, **other)
    with pytest.raises(InputError, match=r"horizon: cannot be used with periods of drift.* with by="):
        audit_table(table, **of, drift="s")


@pytest.mark.slow
def test_segments_of_rows_that_are_followed_are_tested_with_their_weights(tmp_path):
    import pyarrow as pa

    risk, time, event, stratum = followed(np.random.default_rng(0), 1_200)
    kind = np.where(np.arange(1_200) < 400, "a", np.where(np.arange(1_200) < 1_190, "b", "few"))
    told = np.where(kind == "a", 0.5 * risk, risk)
    table = pa.table({"p": told, "t": time, "e": event, "s": stratum, "kind": kind})
    of = {"y_prob": "p", "time": "t", "event": "e", "horizon": 1.0, "strata": "s", "random_state": 0, "n_resamples": 99}
    found = audit_table(table, **of, by="kind", find=["kind", "s"])
    known = censored_outcomes(time, event, 1.0, strata=np.char.add(kind, np.asarray(stratum).astype(str)))
    segments = {segment.key[0]: segment for segment in found.segments}
    for name in ("a", "b"):
        rows = np.flatnonzero((kind == name) & (known.sample_weight > 0.0))
        y, w = known.y_true[rows], known.sample_weight[rows]
        test = calibration_test(y, told[rows], sample_weight=w, random_state=0, n_resamples=99)
        assert segments[name].reject == test.reject == (name == "a")
        assert segments[name].n_rows == rows.size
        assert segments[name].base_rate == pytest.approx(np.average(y, weights=w))
        low, high = segments[name].bias_interval
        assert (low > 0.0) == (name == "a")
        assert low < segments[name].bias < high
    assert segments["a"].direction == "too low"
    assert segments["few"].pvalue is None
    assert [each.conditions for each in found.found_segments.segments] == [("kind = a",)]
    said = str(found.summary())
    assert "not tested: an outcome is worth too few equal rows" in said
    assert "within values of columns s, kind." in str(found.premises)
    found.to_html(tmp_path / "report.html")
    assert "not tested</td>" in (tmp_path / "report.html").read_text()
    in_groups = table.append_column("site", pa.array(np.arange(1_200) // 4))
    by_site = audit_table(in_groups, **of, groups="site", by="s", find="kind")  # strata may be segments
    assert by_site.segments[0].n_groups > 90
    undrawn = audit_table(table, **{**of, "n_resamples": 0}, by="kind")
    assert "Tests of segments: nothing was drawn again, or each has too few rows of an outcome." in str(
        undrawn.premises
    )
    assert [each.conditions for each in by_site.found_segments.segments] == [("kind = a",)]


def sexes(seed, rows):
    """Right predictions of both sexes, of which men leave much sooner."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    risk, sex = rng.uniform(0.05, 0.6, rows), rng.choice(["f", "m"], rows)
    came, left = -2 * np.log(rng.random(rows)) / -np.log(1 - risk), rng.exponential(np.where(sex == "f", 16.0, 1.4))
    return pd.DataFrame({"p": risk, "t": np.minimum(came, left), "e": (came <= left) * 1, "sex": sex})


OF_SEXES = {"y_prob": "p", "time": "t", "event": "e", "horizon": 2.0, "random_state": 0}


def test_a_segment_is_judged_by_those_who_left_it():
    # Men were called too low and women too high, where both were right: one share of all had stood for both.
    table = sexes(0, 6_000)
    found = audit_table(table, **OF_SEXES, by="sex", n_resamples=99)
    assert not any(segment.reject for segment in found.segments)
    known = censored_outcomes(table["t"], table["e"], 2.0, strata=table["sex"])
    for segment in found.segments:
        rows = known.known[table["sex"].to_numpy()[known.known] == segment.key[0]]
        rate = np.average(known.y_true[rows], weights=known.sample_weight[rows])
        assert segment.base_rate == pytest.approx(rate)
    assert found.followed.strata == ("sex",)
    assert any("are like all others within sex, in outcome and prediction." in each for each in found.sentences)
    assert "the prediction within values of column sex." in str(found.premises)
    gated = check_opened(OpenedFrame(table), gate_of_sexes(by=("sex",)), Listener())
    assert gated.premises.followed.to_dict() == found.followed.to_dict()
    assert not any(check.result.verdict == "beyond" for check in gated.checks)
    shown = {check.name: str(check.result) for check in gated.checks}
    named = check_opened(OpenedFrame(table), gate_of_sexes(by=("sex",), strata=("sex",)), Listener())
    assert shown == {check.name: str(check.result) for check in named.checks}


def gate_of_sexes(**request):
    return GateRequest(max_distance=0.01, y_prob="p", time="t", event="e", horizon=2.0, **request)


def test_a_column_of_weights_at_a_horizon_is_refused_by_name_or_left_out():
    import pyarrow as pa

    risk, time, event, _ = followed(np.random.default_rng(0), 400)
    table = pa.table({"p": risk, "t": time, "e": event})
    weighted = table.append_column("weight", pa.array(1.0 + risk))
    of = {"y_prob": "p", "time": "t", "event": "e", "horizon": 1.0}
    few = {"random_state": 0, "n_resamples": 0}
    with pytest.raises(
        InputError,
        match=r"'weight' may hold weights, which cannot be used with a horizon; leave weights out",
    ):
        audit_table(weighted, **of, **few)
    without = audit_table(weighted, unweighted=True, **of, **few)
    assert without.base_rate == audit_table(table, **of, **few).base_rate
    assert "left out, as was asked (unweighted)" in str(without.premises)
    with pytest.raises(InputError, match=r"unweighted: leaves weights out, and by its name no column holds any"):
        audit_table(table, unweighted=True, **of, **few)
    with pytest.raises(InputError, match=r"column 'weight' may hold weights"):
        check_opened(OpenedFrame(weighted), GateRequest(max_distance=0.1, **of), Listener())
    check_opened(OpenedFrame(weighted), GateRequest(max_distance=0.1, unweighted=True, **of), Listener())


@pytest.mark.slow
def test_where_a_segment_cannot_stand_for_itself_both_places_say_so():
    # The first screen said "of their segment", and what is taken as given "alike in all segments".
    table = sexes(1, 800)
    table.loc[:3, ["sex", "t", "e"]] = ["unknown", 0.01, 0]  # followed by nobody
    for more in ({"by": "sex"}, {"find": ["sex"], "n_resamples": 39}):
        found = audit_table(table, **{**OF_SEXES, "n_resamples": 0, **more})
        assert found.followed.strata == ()
        assert any("are like all others, in outcome, prediction and segment" in each for each in found.sentences)
        assert "the event and the prediction, alike in all segments." in str(found.premises)
    mixed = table.assign(sex=np.where(np.arange(800) < 4, "unknown", "f"))
    found = audit_table(mixed, **OF_SEXES, by="sex", n_resamples=0)
    assert any("(if not, name columns that tell it: --strata)" in each for each in found.sentences)
    missing = table.assign(sex=table["sex"].where(np.arange(800) % 4 > 0))  # are a segment of their own
    assert audit_table(missing.iloc[4:], **OF_SEXES, by="sex", n_resamples=0).followed.strata == ("sex",)


@pytest.mark.slow
def test_strata_may_be_the_groups_column():
    import pyarrow as pa

    from calibrant import audit

    risk, time, event, _ = followed(np.random.default_rng(0), 800)
    site = np.arange(800) // 20
    table = pa.table({"p": risk, "t": time, "e": event, "site": site})
    of = {"y_prob": "p", "time": "t", "event": "e", "horizon": 1.0}
    how = {"max_weight": 200.0, "random_state": 0, "n_resamples": 99}
    found = audit_table(table, **of, groups="site", strata="site", **how)
    known = censored_outcomes(time, event, 1.0, strata=site)
    rows = known.known
    by_hand = audit(known.y_true[rows], risk[rows], sample_weight=known.sample_weight[rows], groups=site[rows], **how)
    assert found.n_groups == by_hand.n_groups == 40
    assert found.base_rate == by_hand.base_rate != audit_table(table, **of, groups="site", **how).base_rate
    for name, test in by_hand.tests.items():
        assert repr(found.tests[name]) == repr(test)
    assert found.answer.interval == by_hand.answer.interval
    assert "40 groups (column site)" in str(found.premises)
    assert "within values of column site" in str(found.premises)
    for own in ("t", "e", "p"):
        with pytest.raises(InputError, match=f"groups: names '{own}', the column that was read as"):
            audit_table(table, **of, groups=own, strata="site")


def test_two_years_with_a_third_unknown_have_a_panel_a_decision_curve_and_a_picture():
    # The examiners' case: complete rows alone call right risks too low, and risks a quarter too high right.
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.6, 4000)
    came, left = -730 * np.log(rng.random(4000)) / -np.log(1 - risk), rng.uniform(30, 1800, 4000)
    known = censored_outcomes(np.minimum(came, left), came <= left, horizon=730)
    assert 0.31 < known.n_unknown / 4000 < 0.33
    for times, complete, right in ((1.0, False, True), (1.25, True, False)):
        v, few = risk * times, {"n_resamples": 39, "random_state": 0}
        panel = clinical_calibration(known.y_true, v, sample_weight=known.sample_weight, **few)
        alone = clinical_calibration(known.y_true[known.known], v[known.known], **few)
        held = [
            each.observed_expected.interval.low <= 1.0 <= each.observed_expected.interval.high
            for each in (panel, alone)
        ]
        assert held == [right, complete]
        assert panel.observed_expected.value == pytest.approx((came <= 730).mean() / v.mean(), abs=0.05)
    curve = decision_curve(known.y_true, risk, sample_weight=known.sample_weight)
    everyone = decision_curve((came <= 730).astype(float), risk)
    at = np.array([0.1, 0.2, 0.3, 0.4])
    got, full = (np.interp(at, each.thresholds, each.net_benefit) for each in (curve, everyone))
    assert got == pytest.approx(full, abs=0.02)


def test_ways_out_of_a_horizon_work():
    """Rows left out, and a least share below nothing, were named though neither can be; a stratum leaves as it does."""
    import pandas as pd

    rng = np.random.default_rng(0)
    of = {"y_true": None, "y_prob": "p", "time": "t", "event": "e", "horizon": 1.0, "n_resamples": 0}
    table = pd.DataFrame({"p": rng.random(200), "t": 2.0 * rng.random(200), "e": rng.integers(0, 2, 200)})
    table["s"] = np.arange(200) % 2
    assert "alike in all segments" not in str(audit_table(table, **of, strata="s", by="s").premises)
    assert "alike in all segments" not in str(audit_table(table, **of, by="s").premises)
    with pytest.raises(InputError, match=r"horizon: is 9, to which 0 of the rows .*; take an earlier horizon$"):
        audit_table(table, **{**of, "horizon": 9.0})
    with pytest.raises(InputError, match="least_followed below") as problem:
        audit_table(table, **of, least_followed=0.9)
    below = float(problem.value.allowed.partition("least_followed below ")[2])
    assert audit_table(table, **of, least_followed=0.99 * below).n_rows < 200
    with pytest.raises(InputError) as problem:
        audit_table(table.assign(t=np.where(np.arange(200) == 3, np.nan, table["t"])), **of)
    assert problem.value.row == 3
    assert "exclude" not in str(problem.value)


def test_weights_by_hand():
    """One of three at risk leaves at 2: who stays counts for 3 / 2 after that."""
    found = censored_outcomes([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0], horizon=3.0)
    assert found.y_true.tolist() == [1, 0, 1, 0]
    assert found.sample_weight == pytest.approx([1.0, 0.0, 1.5, 1.5])
    assert (found.max_weight, found.horizon, found.n_unknown) == (pytest.approx(1.5), 3.0, 1)
    assert found.known.tolist() == [0, 2, 3]  # one of them has the weight 1


@pytest.mark.parametrize(("left", "refused"), [(89, False), (91, True)])
def test_a_tenth_of_the_rows_is_followed_at_least(left, refused):
    time, event = np.repeat([1.0, 3.0], [left, 100 - left]), np.repeat([0, 1], [left, 100 - left])
    if not refused:
        assert censored_outcomes(time, event, horizon=2.0).max_weight == pytest.approx(100 / (100 - left))
        return
    with pytest.raises(InputError, match=r"horizon: is 2, to which 0\.09 of the rows are followed; known ones") as told:
        censored_outcomes(time, event, horizon=2.0)
    assert told.value.allowed == "take an earlier horizon, or least_followed below 0.09"
    assert censored_outcomes(time, event, horizon=2.0, least_followed=0.08).max_weight == pytest.approx(100 / 9)


def test_where_nobody_is_followed_to_the_horizon_no_share_helps():
    time, event = [1.0, 1.0, 1.0, 5.0], [0, 0, 0, 1]
    with pytest.raises(InputError, match="to which 0 of the rows are followed; ") as told:
        censored_outcomes(time[:3], event[:3], horizon=2.0)
    assert told.value.allowed == "take an earlier horizon"
    with pytest.raises(InputError, match="are followed in the stratum of row 0; ") as told:
        censored_outcomes(time, event, horizon=2.0, strata=["a", "a", "a", "b"])
    assert told.value.allowed == "take an earlier horizon, or columns of fewer strata"
