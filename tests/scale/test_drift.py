"""Drift by period: the alarm is raised after the change, seldom before; engines agree; bad periods are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import InputError, calibration_drift
from calibrant.scale.drift import Period


def table(seed, change=20, days=30, rows=400):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), rows)
    p = rng.random(day.size)
    return {"day": day, "p": p, "y": (rng.random(day.size) < np.where(day < change, p, p**1.6)).astype(int)}


def test_the_alarm_follows_the_change():
    for seed in range(10):
        found = calibration_drift(pa.table(table(seed)), y_true="y", y_prob="p", by="day")
        assert [period.period for period in found] == list(range(30))
        first = next(period.period for period in found if period.reading.reject)
        assert 20 <= first <= 25
        assert all(period.n_rows == 400 for period in found)


def test_no_alarm_without_a_change():
    alarms = 0
    for seed in range(60):
        found = calibration_drift(pa.table(table(seed, change=99, rows=60)), y_true="y", y_prob="p", by="day")
        alarms += found[-1].reading.reject
    assert alarms <= 6


def test_order_of_rows_and_kind_of_table_do_not_matter():
    data = table(0)
    order = np.random.default_rng(0).permutation(data["day"].size)
    mixed = {name: values[order] for name, values in data.items()}
    first = calibration_drift(pa.table(data), y_true="y", y_prob="p", by="day")
    for frame in (pd.DataFrame(mixed), pl.DataFrame(mixed).lazy()):
        again = calibration_drift(frame, y_true="y", y_prob="p", by="day")
        for a, b in zip(first, again, strict=True):
            assert isinstance(b, Period)
            assert (a.period, a.n_rows) == (b.period, b.n_rows)
            assert a.reading.evalue == pytest.approx(b.reading.evalue, rel=1e-9)


def test_dates_sort_as_dates():
    data = table(0, days=3)
    days = np.array(["2026-01-31", "2026-02-01", "2025-12-30"], dtype="datetime64[D]")
    data["day"] = days[data["day"]]
    found = calibration_drift(pa.table(data), y_true="y", y_prob="p", by="day")
    assert [str(period.period)[:10] for period in found] == ["2025-12-30", "2026-01-31", "2026-02-01"]


def test_what_is_refused():
    data = pd.DataFrame(table(0, days=2))
    data["day"] = data["day"].astype("Int64")
    data.loc[0, "day"] = pd.NA
    with pytest.raises(InputError, match="null"):
        calibration_drift(data, y_true="y", y_prob="p", by="day")
    data = pd.DataFrame(table(0, days=2))
    data["y"] = 0.5
    with pytest.raises(InputError, match="event rates"):
        calibration_drift(data, y_true="y", y_prob="p", by="day")


def test_event_rates_are_refused_by_the_name_of_their_argument():
    table = pa.table({"day": [1, 1, 2], "y": [0.5, 0.25, 1.0], "p": [0.5, 0.3, 0.9]})
    with pytest.raises(InputError, match="y_true: holds event rates; the evidence of drift counts single outcomes"):
        calibration_drift(table, y_true="y", y_prob="p", by="day")


def test_rows_of_trials_are_so_many_rows():
    rng = np.random.default_rng(0)
    p, trials, day = np.round(rng.random(600), 3), rng.integers(1, 20, 600), np.repeat(np.arange(6), 100)
    ones = rng.binomial(trials, np.where(day > 2, p**1.5, p))
    shares = pa.table({"y": ones / trials, "p": p, "day": day, "n_trials": trials})
    each = np.repeat(np.arange(600), trials)
    before = np.concatenate([[0], trials.cumsum()[:-1]])
    single = pa.table({"y": (np.arange(each.size) - before[each] < ones[each]) * 1, "p": p[each], "day": day[each]})
    found = calibration_drift(shares, y_true="y", y_prob="p", by="day", trials="n_trials")
    rows = calibration_drift(single, y_true="y", y_prob="p", by="day")
    for one, other in zip(found, rows, strict=True):
        assert (one.period, one.n_rows, one.reading.reject) == (other.period, other.n_rows, other.reading.reject)
        assert one.reading.pvalue == pytest.approx(other.reading.pvalue, rel=1e-6)
    assert found[-1].reading.reject
    with pytest.raises(InputError, match="sample_weight: cannot be used here: each outcome is a bet"):
        calibration_drift(shares, y_true="y", y_prob="p", by="day", sample_weight="day")
