"""What columns suggest of rows by their names and values: who is asked, who is not, and that the way out works."""

import numpy as np
import pandas as pd
import pytest

from calibrant import InputError, audit_table
from calibrant.door.request import Listener
from calibrant.findings.hints import columns_of_leaving, log_rank
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.tables.frames import OpenedFrame

N = 240
FEW = {"n_resamples": 0, "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, N)
    return pd.DataFrame({"y_true": (rng.random(N) < p) * 1, "y_prob": p})


@pytest.fixture(scope="module")
def followed(frame):
    """Rows that were followed for a time, some of which left before 1, at sites."""
    rng = np.random.default_rng(1)
    when, left = rng.exponential(-1.0 / np.log(1.0 - frame["y_prob"])), rng.uniform(0.2, 3.0, N)
    columns = {"time": np.minimum(when, left), "event": (when <= left) * 1, "age_group": np.arange(N) % 4}
    return frame.assign(**columns)


def of_gate(frame, **request):
    """Hints and lines of a gate."""
    lines = []
    limit = {} if "max_regret" in request else {"max_distance": 0.2}
    found = check_opened(OpenedFrame(frame), GateRequest(**limit, **request), Listener(hint=lines.append))
    return dict(found.premises.hints), lines


@pytest.mark.slow
def test_ids_that_stand_in_equally_many_rows_may_be_of_several_models(frame):
    # Two models below one another drew no word.
    said = "Each value of id stands in exactly 2 rows. If these are of 2 models, give each model a file of its own."
    long = frame.assign(id=np.arange(N) % (N // 2))
    found = audit_table(long, **FEW)
    assert found.hints == {"perhaps_models": said}
    assert said in found.answer.headline + " ".join(found.sentences)
    assert " ".join(found.summary().split()).count(said) == 1
    assert found.perhaps_groups == "id"
    hints, lines = of_gate(long)
    assert hints == {"perhaps_models": said}
    assert said in lines
    for other in (
        np.arange(N),  # each once
        np.arange(N) % 100,  # some in three rows
        np.zeros(N),
        np.where(np.arange(N) > 0, np.arange(N) % (N // 2), np.nan),
    ):
        assert audit_table(frame.assign(id=other), **FEW).hints == {}
    assert audit_table(long, groups="id", **FEW).hints == {}
    assert audit_table(long.rename(columns={"id": "patient_id"}), **FEW).hints == {}  # two visits each


@pytest.mark.slow
def test_a_column_of_models_is_asked_about(frame):
    long = frame.assign(model=np.where(np.arange(N) < N // 2, "a", "b"), question_id=np.arange(N) % (N // 2))
    own = "If column model says which model predicted a row, give each model a file of its own"
    assert audit_table(long, **FEW).hints["perhaps_models"] == f'{own}, or say --by model (in Python by="model").'
    assert audit_table(long, by="model", **FEW).hints["perhaps_models"].startswith("Each value of question_id")
    assert of_gate(long, max_regret=0.2)[0]["perhaps_models"] == f"{own}."
    assert audit_table(long, **FEW).perhaps_groups == "question_id"
    assert audit_table(frame.assign(model="a"), **FEW).hints == {}
    assert audit_table(frame.assign(model=np.arange(N) % 30), **FEW).hints == {}


@pytest.mark.slow
def test_rows_that_were_followed_for_a_time_are_asked_about(followed, tmp_path):
    give = "give --time time --event event --horizon T (in Python time, event, horizon)"
    said = f"If column time says how long rows were followed, {give}."
    assert audit_table(followed, **FEW).hints == {"perhaps_followed": said}
    beside = audit_table(followed, y_true="event", **FEW).hints["perhaps_followed"]
    assert beside == said.replace("give", "leave out --y-true, which cannot be used with a horizon, and give", 1)
    assert of_gate(followed) == ({"perhaps_followed": said}, [said, *of_gate(followed)[1][1:]])
    assert of_gate(followed, by=("age_group",))[0]["perhaps_followed"] == said
    before = tmp_path / "before.csv"
    followed[["y_true", "y_prob"]].assign(y_prob=0.5).to_csv(before, index=False)
    beside = of_gate(followed, baseline=str(before))[0]["perhaps_followed"]
    assert "leave out --baseline, which cannot be used with a horizon, and give --time time" in beside
    # It told to say what was then refused beside these.
    for given, option in (({"drift": "age_group"}, "drift"), ({"exclude_bad": True}, "exclude-bad")):
        beside = audit_table(followed, **given, **FEW).hints["perhaps_followed"]
        assert f"leave out --{option}, which cannot be used with a horizon, and give --time time" in beside
    way_out = audit_table(followed, time="time", event="event", horizon=1.0, **FEW)
    assert "perhaps_followed" not in way_out.hints
    ended = followed.assign(censored=1 - followed["event"]).drop(columns="event")
    assert "make a column of 1 - censored" in audit_table(ended, **FEW).hints["perhaps_followed"]


@pytest.mark.parametrize(
    "other",
    [
        {"time": pd.Timestamp("2026-01-01")},
        {"time": 1.7e9 + np.arange(N)},
        {"time": -np.arange(N)},
        {"time": "noon"},
        {"time": np.arange(N) % 2},
        {"event": 1},
        {"event": np.arange(N) % 3},
        {"event": "click"},
    ],
)
def test_other_times_and_events_are_not_asked_about(followed, other):
    assert audit_table(followed.assign(**other), **FEW).hints == {}


def test_a_file_without_outcomes_says_how_times_are_given(followed):
    with pytest.raises(InputError, match="of rows followed for a time give time='time', event='event' and horizon"):
        audit_table(followed.drop(columns="y_true"), **FEW)


@pytest.mark.parametrize(
    ("time", "outcome", "asked"),
    [
        ("years", "died", True),  # two columns of usual meaning drew no word
        ("follow_up_days", "readmitted", True),
        ("days", "bought", False),
        ("tenure", "died", False),
    ],
)
def test_names_of_follow_up_are_known(followed, time, outcome, asked):
    table = followed.drop(columns="y_true").rename(columns={"time": time, "event": outcome})
    found = audit_table(table, y_true=outcome, **FEW).hints
    give = f"give --time {time} --event {outcome} --horizon T"
    said = f"leave out --y-true, which cannot be used with a horizon, and {give}"
    assert (said in found.get("perhaps_followed", "")) == bool(found) == asked
    calendar = table.assign(**{time: 2010 + np.arange(N) % 9})
    assert audit_table(calendar, y_true=outcome, **FEW).hints == {}


@pytest.fixture(scope="module")
def leaving():
    """Calibrated rows of 20 hospitals and both sexes, of which one leaves much sooner."""
    rng = np.random.default_rng(3)
    n = 1_500
    risk, sex = rng.uniform(0.05, 0.6, n), rng.choice(["f", "m"], n)
    when = -2.0 * np.log(rng.random(n)) / -np.log(1.0 - risk)
    left = rng.exponential(np.where(sex == "f", 16.0, 2.0))
    columns = {"risk": risk, "years": np.minimum(when, left), "died": (when <= left) * 1}
    return pd.DataFrame({**columns, "hospital": rng.integers(0, 20, n), "sex": sex})


HOW = {"y_prob": "risk", "time": "years", "event": "died", "horizon": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"find": ("sex",), "n_resamples": 39}, {"groups": "hospital", "max_weight": 900.0}]
)
def test_strata_are_the_columns_in_which_rows_leave_at_other_rates(leaving, more):
    # The first column of a list was named: hospital, which took away that its rows may depend on one another.
    said = 'Rows leave sooner at some values of sex than at others: say --strata sex (in Python strata="sex").'
    found = audit_table(leaving, **HOW, **{**FEW, **more})
    assert found.hints["perhaps_strata"] == said
    assert " ".join(found.summary().split()).index(said) < found.summary().index("Taken as given")
    way_out = audit_table(leaving, **HOW, **{**FEW, **more}, strata="sex")
    assert "perhaps_strata" not in way_out.hints


@pytest.mark.slow
def test_strata_of_a_gate_are_named_and_those_given_are_kept(leaving):
    hints, lines = of_gate(leaving, **HOW, strata=("hospital",))
    assert "say --strata hospital,sex (in Python strata=[" in hints["perhaps_strata"]
    assert hints["perhaps_strata"] in lines
    assert any("if those of one hospital depend on one another" in line for line in lines)
    assert audit_table(leaving, **HOW, strata="hospital", **FEW).perhaps_groups == "hospital"
    assert "perhaps_strata" not in of_gate(leaving, **HOW, by=("sex",))[0]  # a segment is judged by its own


def test_strata_are_not_asked_about_without_evidence(leaving):
    mixed = leaving.assign(sex=np.random.default_rng(0).permutation(leaving["sex"]))
    assert audit_table(mixed, **HOW, **FEW).hints == {}
    late = leaving.assign(years=leaving["years"] + 9.0)  # nobody left before
    assert audit_table(late, **HOW, **FEW).hints == {}


def test_strata_that_would_be_refused_are_not_told_to_be_named(leaving):
    lost = (leaving["sex"] == "m") & (np.arange(len(leaving)) % 40 > 0)
    early = leaving.assign(years=leaving["years"].mask(lost, 0.01), died=leaving["died"].mask(lost, 0))
    said = audit_table(early, **HOW, **FEW).hints["perhaps_strata"]
    assert said.endswith("too few of some are followed to 2. Take an earlier horizon, and name sex (strata).")


def test_leaving_is_tested_as_the_log_rank_test_does():
    """Against the two-sample statistic, moment by moment."""
    rng = np.random.default_rng(4)
    time, event, value = rng.integers(1, 9, 300) / 2.0, rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    horizon, observed, expected, variance = 3.0, 0.0, 0.0, 0.0
    for moment in np.unique(time[time < horizon]):
        risk = (time > moment) | ((time == moment) & (event == 0))  # events come first
        leaves = (time == moment) & (event == 0)
        n, d, one = risk.sum(), leaves.sum(), (risk & (value == 1)).sum()
        observed, expected = observed + (leaves & (value == 1)).sum(), expected + d * one / n
        variance += d * one / n * (1 - one / n) * (n - d) / max(n - 1, 1)
    excess, covariance, each = log_rank(time, event.astype(float), horizon, value, 2)
    assert (excess[1], covariance[1, 1], each[1]) == pytest.approx((observed - expected, variance, expected))
    assert excess.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_columns_that_say_nothing_of_leaving_are_seldom_named():
    """Of 100 files one at most, with hospitals of one size or not; the one that does is named in 99."""
    seldom, right = 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        columns = {"hospital": np.minimum(rng.geometric(0.08, 3000), 40), "sex": rng.integers(0, 2, 3000)}
        frailty = np.exp(rng.normal(0.0, 0.5, 41))[columns["hospital"]]  # of the event alone
        when, even = rng.exponential(5.0 / frailty), rng.exponential(4.0, 3000)
        uneven = even * np.where(columns["sex"] == 1, 0.5, 1.5)
        for left, names in ((even, []), (uneven, ["sex"])):
            known = (np.minimum(when, left), (when <= left) * 1.0)
            found = columns_of_leaving(*known, 2.0, columns, [])
            seldom, right = (seldom + bool(found), right) if not names else (seldom, right + (found == names))
    assert seldom <= 1
    assert right >= 99
