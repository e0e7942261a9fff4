"""What columns suggest of rows by their names and values: who is asked, who is not, and that the way out works."""

import numpy as np
import pandas as pd
import pytest

from calibrant import InputError, audit_table
from calibrant.door.request import Listener
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


def test_a_column_of_models_is_asked_about(frame):
    long = frame.assign(model=np.where(np.arange(N) < N // 2, "a", "b"), question_id=np.arange(N) % (N // 2))
    own = "If column model says which model predicted a row, give each model a file of its own"
    assert audit_table(long, **FEW).hints["perhaps_models"] == f'{own}, or say --by model (in Python by="model").'
    assert audit_table(long, by="model", **FEW).hints["perhaps_models"].startswith("Each value of question_id")
    assert of_gate(long, max_regret=0.2)[0]["perhaps_models"] == f"{own}."
    assert audit_table(long, **FEW).perhaps_groups == "question_id"
    assert audit_table(frame.assign(model="a"), **FEW).hints == {}
    assert audit_table(frame.assign(model=np.arange(N) % 30), **FEW).hints == {}


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


def test_strata_are_asked_about_where_groups_are(followed):
    # It stood among what is taken as given alone.
    how = {"time": "time", "event": "event", "horizon": 1.0}
    said = (
        'If followed rows leave alike only within one age_group, say --strata age_group (in Python strata="age_group").'
    )
    found = audit_table(followed, **how, **FEW)
    assert found.hints == {"perhaps_strata": said}
    assert " ".join(found.summary().split()).index(said) < found.summary().index("Taken as given")
    hints, lines = of_gate(followed, **how)
    assert hints == {"perhaps_strata": said}
    assert said in lines
    assert audit_table(followed, **how, strata="age_group", **FEW).hints == {}
    assert audit_table(followed.drop(columns="age_group"), **how, **FEW).hints == {}
    late = followed.assign(time=followed["time"] + 9.0)  # nobody left before
    assert audit_table(late, **how, **FEW).hints == {}
