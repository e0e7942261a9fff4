"""Drift by period: the alarm is raised after the change, seldom before; engines agree; bad periods are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, wasserstein_distance
from typer.testing import CliRunner

import calibrant
from calibrant import InputError, audit_table, calibration_drift
from calibrant.cli.app import app
from calibrant.drift.monitor import MonitorReading
from calibrant.drift.periods import (
    RESOLUTION,
    Counts,
    Period,
    ReferenceReading,
    Since,
    _bennett,
    _breaks,
    _no_reference,
    _places,
    _Strata,
    _title,
    _transport,
    in_population,
)
from calibrant.tables.frames import OpenedFrame, groups_by
from tests.strategies import examples


def table(seed, change=20, days=30, rows=400):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), rows)
    p = rng.random(day.size)
    return {"day": day, "p": p, "y": (rng.random(day.size) < np.where(day < change, p, p**1.6)).astype(int)}


@pytest.mark.slow
def test_the_alarm_follows_the_change():
    for seed in range(10):
        found = calibration_drift(pa.table(table(seed)), y_true="y", y_prob="p", by="day")
        assert [period.period for period in found] == list(range(30))
        first = next(period.period for period in found if period.reading.reject)
        assert 20 <= first <= 25
        assert all(period.n_rows == 400 for period in found)


@pytest.mark.slow
def test_no_alarm_without_a_change():
    alarms = 0
    for seed in range(60):
        found = calibration_drift(pa.table(table(seed, change=99, rows=60)), y_true="y", y_prob="p", by="day")
        alarms += found[-1].reading.reject
    assert alarms <= 6


@pytest.mark.slow
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


@pytest.mark.slow
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


def bent(seed, before, after, rows=400):
    """Never calibrated; from day 20 on in another way, and with other predictions every day."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(30), rows)
    p = rng.beta(1.0 + day / 10.0, 2.0)
    y = (rng.random(day.size) < p ** np.where(day < 20, before, after)).astype(int)
    return pa.table({"day": day, "p": p, "y": y})


def beside(table, reference):
    found = calibration_drift(table, y_true="y", y_prob="p", by="day", reference=reference)
    return {period.period: period.since_reference for period in found}, found


def test_beside_a_reference_a_change_is_found_that_calibration_does_not_tell():
    found, periods = beside(bent(0, 1.5, 2.5), list(range(10)))
    assert next(period.period for period in periods if period.reading.reject) < 5  # never calibrated
    assert all(found[day] is None for day in range(10))
    first = next(day for day in range(10, 30) if found[day].reject)
    assert 20 <= first <= 23
    last = found[29]
    assert last.reference == "0 to 9"
    assert last.difference < -0.05
    assert last.summary().startswith("changed since 0 to 9 (anytime-valid p = ")
    assert "lower than it was at the same predictions" in periods[-1].summary()


@pytest.mark.slow
def test_other_predictions_of_the_same_meaning_are_no_change():
    found = [beside(bent(seed, 1.5, 1.5, 60), [0, 1, 2])[0][29] for seed in range(8)]
    assert not any(each.reject for each in found)
    assert abs(np.mean([each.difference for each in found])) < 0.08


def test_the_bound_is_above_the_exact_tail_of_one_cell():
    rng, near = np.random.default_rng(0), 0
    for _ in range(200):
        before, now = rng.integers(1, 60, 2)
        a, b = rng.integers(0, before + 1), rng.integers(0, now + 1)
        counts = np.arange(now + 1)
        chance = hypergeom(before + now, a + b, now).pmf(counts)
        mean = chance @ counts
        exact = chance[abs(counts - mean) >= abs(b - mean) - 1e-9].sum()
        bound = np.exp(_bennett(abs(b - mean) - 1e-12, chance @ (counts - mean) ** 2))
        assert min(1.0, bound) >= exact * (1.0 - 1e-9)
        near += exact < 0.05 and bound < 20.0 * exact
    assert near > 20  # nor is it idle


@pytest.mark.parametrize("variance", [0.03, 0.7, 1.0, 40.0])
@pytest.mark.parametrize("excess", [0.2, 1.0, 9.0])
def test_the_bound_is_the_least_of_all_exponents(excess, variance):
    """Bennett's: for every t > 0 the log is at most log 2 + variance (e^t - 1 - t) - t excess."""
    t = np.linspace(0.0, np.log1p(excess / variance) * 1.5, 20_001)
    least = np.min(np.log(2.0) + variance * (np.expm1(t) - t) - t * excess)
    assert _bennett(excess, variance) == pytest.approx(least, abs=1e-6)


def counts(p, y):
    """One cell a value."""
    values, of = np.unique(p, return_inverse=True)
    rows = np.bincount(of).astype(float)
    return Counts(2 * np.arange(values.size), rows, np.bincount(of, y), values, values, values)


def cell(rows, ones, mean=0.5, low=0.5, high=0.5, index=1):
    return Counts(*(np.array([each], float) for each in (index, rows, ones, mean, low, high)))


def test_one_cell_by_hand():
    since = Since("then", [cell(40, 10)], 0.05, 2**16)
    reading = since.update(cell(20, 15))
    assert reading.difference == 0.75 - 0.25
    assert reading.compared == 1.0
    excess, variance = 15.0 - 20.0 * 25 / 60, 20.0 * 25 / 60 * 35 / 60 * 40 / 59
    expected = 2.0 * 2.0 / 0.9 * np.exp(_bennett(excess, variance))  # sums, the first look, all of [0, 1]
    assert reading.pvalue == pytest.approx(expected, rel=1e-6)
    assert since.update(cell(4, 1)).pvalue == reading.pvalue


def test_at_the_second_look_periods_are_looked_at_together():
    since = Since("then", [cell(40, 10)], 0.05, 2**16)
    since.update(cell(20, 13))
    reading = since.update(cell(20, 13))
    excess, variance = 26.0 - 40.0 * 36 / 80, 40.0 * 36 / 80 * 44 / 80 * 40 / 79
    expected = 2.0 * 2.0 * 3.0 / 0.9 * np.exp(_bennett(excess, variance))  # sums, the second look, all of [0, 1]
    assert reading.pvalue == pytest.approx(expected, rel=1e-6)


def test_a_p_value_equal_to_the_level_rejects():
    look = lambda level: Since("then", [cell(40, 10)], level, 2**16).update(cell(20, 15))  # noqa: E731
    pvalue = look(0.05).pvalue
    found = [look(level) for level in (pvalue, 0.99 * pvalue)]
    assert [each.level for each in found] == [pvalue, 0.99 * pvalue]
    assert [each.reject for each in found] == [True, False]


def test_a_stratum_is_at_most_a_fifth_wide_in_log_odds():
    odds = np.linspace(-3.0, 3.0, 6001)
    cells = 2 * np.round(2**16 / (1.0 + np.exp(-odds)))
    of = np.searchsorted(_breaks(Counts(*np.zeros((6, 0))), 2**16), cells, side="right")
    assert np.unique(of).size == pytest.approx(30, abs=1)
    assert np.bincount(of - of[0]).max() == pytest.approx(200, abs=2)


def test_no_evidence_makes_a_p_value_of_zero():
    reading = Since("then", [cell(1_000_000, 100_000)], 0.05, 2**16).update(cell(1_000_000, 900_000))
    assert 0.0 < reading.pvalue < 1e-300


def test_what_the_mix_of_a_cell_could_account_for_is_taken_off():
    """Two values in one cell: four fifths of the rows at the lower before, at the upper since."""
    low, high = 0.0004, 0.0009
    before, now = (
        cell(100_000, 1200, low + (high - low) / 5, low, high),
        cell(100_000, 1800, high - (high - low) / 5, low, high),
    )
    strata = _Strata(before, now, _breaks(before, 2**16))
    assert strata.mix[0] > 300.0  # the events that the mix accounts for
    assert not strata.used.any()
    reading = Since("then", [before], 0.05, 2**16).update(now)
    assert (reading.pvalue, reading.difference, reading.compared) == (1.0, None, 0.0)
    assert reading.summary().endswith("no rows can be compared with the reference's")
    apart = Since(
        "then", [counts(np.repeat([low, high], [80_000, 20_000]), np.r_[np.ones(480), np.zeros(99_520)])], 0.05, 2**16
    )
    assert apart.update(cell(100_000, 1800, high, high, high, 2)).compared == 1.0


@examples(300)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), values=st.integers(1, 12))
def test_the_transport_is_at_least_the_rows_own(seed, n, values):
    """The distance of two samples in one stratum is never above what is computed from their pooled cells."""
    rng = np.random.default_rng(seed)
    p = 0.5 + 0.04 * rng.choice(rng.random(values), (2, n)) * rng.choice([1.0, 1e-9])
    edges = np.sort(0.5 + 0.04 * rng.random(rng.integers(0, 6)))
    cells = []
    for part in p:
        of = np.searchsorted(edges, part)
        found = np.unique(of)
        rows, *places = ([f(part[of == at]) for at in found] for f in (np.size, np.mean, np.min, np.max))
        cells.append(Counts(found, *(np.array(each, float) for each in (rows, np.zeros(found.size), *places))))
    both = Counts.together(cells)
    sides = []
    for part in cells:
        rows, mean = np.zeros(both.index.size), both.mean.copy()
        at = np.searchsorted(both.index, part.index)
        rows[at], mean[at] = part.rows, part.mean
        sides.append((rows, mean))
    held = _transport(np.array([0]), both, *sides)[0]
    assert held >= wasserstein_distance(*p) - 1e-15
    if both.index.size == np.unique(p).size:
        assert held == pytest.approx(wasserstein_distance(*p), abs=1e-15)


def test_a_change_of_the_mix_within_a_cell_of_the_monitor_is_no_change_of_meaning():
    rng = np.random.default_rng(5)
    day = np.repeat([0, 1], 30_000)
    for pair in ((4e-4, 9e-4), (0.5, 0.5009)):
        p = np.where(rng.random(day.size) < np.where(day == 1, 0.8, 0.2), *pair)
        rate = np.where(p == pair[0], 0.1, 0.3)  # as unlike as can be, but for being two values
        table = pa.table({"day": day, "p": p, "y": (rng.random(day.size) < rate).astype(int)})
        assert not beside(table, 0)[0][1].reject


def test_where_it_changed_is_told():
    rng = np.random.default_rng(1)
    p, day = rng.random(20_000), np.repeat([0, 1], 10_000)
    y = (rng.random(p.size) < np.where((day == 1) & (p > 0.75), p - 0.2, p)).astype(int)
    reading = beside(pa.table({"day": day, "p": p, "y": y}), 0)[0][1]
    assert reading.reject
    assert reading.where[0] == pytest.approx(0.8, abs=0.08)
    assert reading.where[1] > 0.95
    assert " lower than it was at the same predictions between " in reading.summary()
    assert reading.difference_there < -0.1


def test_a_change_is_told_in_the_direction_that_it_has_there():
    """Up at 0.2 and down at 0.8: nearly nothing on the whole."""
    rng = np.random.default_rng(1)
    p, day = rng.choice([0.2, 0.8], 20_000, p=[0.2, 0.8]), np.repeat([0, 1], 10_000)
    rate = np.where(day == 0, p, np.where(p == 0.2, 0.45, 0.73))
    reading = beside(pa.table({"day": day, "p": p, "y": (rng.random(p.size) < rate).astype(int)}), 0)[0][1]
    assert abs(reading.difference) < 0.02
    assert reading.where == (0.2, 0.2)
    assert reading.difference_there == pytest.approx(0.25, abs=0.05)
    assert " higher than it was at the same predictions where they are 0.2" in reading.summary()


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (29, ", which holds the last period, after which there is nothing to compare; "),
        ("29", ", which holds the last period, "),
        ("0..29", ", which holds the last period, "),
        ([0, 29], "is '0,29', which holds the last period, "),
        (30, ", which names a period that is not there; "),
        ("May", ", which names a period that is not there; "),
        ("0..", ", which names a period that is not there; "),
        ("..", ", which names a period that is not there; "),
        (("0", "5..7", 6), "is '0,5..7,6', which names a period twice; "),
        ("3..1", ", which begins after its end; "),
        ([], "is ''; "),
    ],
    ids=str,
)
def test_a_reference_needs_a_period_after_it(reference, why):
    with pytest.raises(InputError, match=r"reference: is .*name periods before the last, .* of '0', '1'") as refused:
        _places(reference, list(range(30)))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("reference", "said"),
    [(3, "3"), ("0..2", "0 to 2"), (["0", "2"], "0 and 2"), ([0, "2..5", 6, 8], "0, 2 to 6 and 8")],
    ids=str,
)
def test_a_reference_is_named_without_the_periods_between_that_are_not_of_it(reference, said):
    names = list(range(30))
    assert _title(_places(reference, names), names) == said


def test_a_reference_may_be_a_range_of_periods():
    table = bent(0, 1.0, 1.0, 2)
    one, several = beside(table, ["1..3", 0])[0], beside(table, [0, 1, 2, 3])[0]
    assert one == several


@pytest.mark.parametrize("kind", ["text", "text with T", "time", "zone", "date"])
def test_a_day_is_a_reference_whatever_holds_it(kind):
    table = bent(0, 1.0, 1.0, 2)
    days = np.datetime64("2026-10-01") + table["day"].to_numpy() // 3
    times = days + np.where(kind == "date", 0, 8 * (table["day"].to_numpy() % 3)).astype("timedelta64[h]")
    held = {
        "text": [str(each).replace("T", " ") + ":00:00" for each in times],
        "text with T": [f"{each}:00" for each in times],
        "time": pa.array(times.astype("datetime64[us]")),
        "zone": pa.array(times.astype("datetime64[us]")).cast(pa.timestamp("us", "UTC")),
        "date": pa.array(days),
    }[kind]
    table = table.set_column(0, "day", pa.array(held) if isinstance(held, list) else held)
    n = 1 if kind == "date" else 3
    for reference, first, after in (("2026-10-02", n, 2 * n), ("2026-10-01..2026-10-02", 0, 2 * n)):
        found = list(beside(table, reference)[0].values())
        assert [each is None for each in found] == [True] * after + [False] * (len(found) - after)
        assert found[-1].reference.startswith(("2026-10-01", "2026-10-02")[first > 0])
    with pytest.raises(InputError, match="names a period that is not there"):
        beside(table, "2026-11-01")


@pytest.mark.slow
def test_the_audit_says_it_and_the_command_takes_periods_as_they_are_written(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(bent(0, 1.5, 2.5).to_pydict()).to_csv(path, index=False)
    names = ["--y-true", "y", "--y-prob", "p", "--resamples", "0"]
    done = CliRunner().invoke(app, ["audit", str(path), *names, "--drift", "day", "--reference", "0,1..3,4"])
    assert done.exit_code == 1, done.output  # a change is proved
    assert "Compared with 0 to 4: changed by period 2" in " ".join(done.stdout.split())
    pd.DataFrame(bent(0, 1.5, 1.5).to_pydict()).to_csv(path, index=False)  # as wrong on every day
    alike = ["audit", str(path), *names, "--drift", "day"]
    assert CliRunner().invoke(app, alike).exit_code == 1
    done = CliRunner().invoke(app, [*alike, "--reference", "0..4"])
    assert "no change is proved" in " ".join(done.stdout.split())
    assert done.exit_code == 0
    refused = CliRunner().invoke(app, ["audit", str(path), *names, "--reference", "0"])
    assert refused.exit_code == 2
    assert "--reference: is one of the periods; name their column with --drift" in refused.stderr
    with pytest.raises(InputError, match="name their column with drift="):
        audit_table(path, y_true="y", y_prob="p", reference=0)


CHANGED, SAME = "changed since May (anytime-valid p = 0.001)", "no change is proved since May (anytime-valid p = 0.3)"
ALIKE = "than it was at the same predictions"


@pytest.mark.parametrize(
    ("reject", "difference", "compared", "where", "there", "said"),
    [
        (True, 0.1, 1.0, (0.0, 1.0), 0.1, f": the event rate is 0.1 higher {ALIKE}"),
        (True, -0.1, 1.0, (0.0, 1.0), -0.1, f": the event rate is 0.1 lower {ALIKE}"),
        (False, 0.1, 1.0, (0.0, 1.0), 0.1, f": the event rate is 0.1 higher {ALIKE}, which may be chance"),
        (True, -0.1, 1.0, (0.25, 0.5), 0.3, f": the event rate is 0.3 higher {ALIKE} between 0.25 and 0.5"),
        (True, 0.1, 1.0, (0.0, 0.5), -0.3, f": the event rate is 0.3 lower {ALIKE} between 0 and 0.5"),
        (True, -0.1, 1.0, (0.2, 0.2), 0.3, f": the event rate is 0.3 higher {ALIKE} where they are 0.2"),
        (False, -0.1, 1.0, (0.25, 0.5), 0.3, f": the event rate is 0.1 lower {ALIKE}, which may be chance"),
        (True, -0.1, 1.0, (0.25, 0.5), None, f": the event rate is 0.1 lower {ALIKE}"),
        (True, 0.1, 0.96, (0.0, 1.0), 0.1, f": the event rate is 0.1 higher {ALIKE}"),
        (
            *(True, 0.1, 0.94, (0.0, 1.0), 0.1),
            f": the event rate is 0.1 higher {ALIKE}; 6% of the rows cannot be compared with the reference's",
        ),
        (False, None, 0.0, (0.0, 1.0), None, ": no rows can be compared with the reference's"),
    ],
)
def test_a_change_is_told_with_where_and_how_much_and_no_change_as_perhaps_chance(
    reject, difference, compared, where, there, said
):
    pvalue = 0.001 if reject else 0.3
    reading = ReferenceReading("May", pvalue, reject, 0.05, difference, compared, where, there)
    assert reading.summary() == (CHANGED if reject else SAME) + said


@pytest.mark.parametrize(
    ("reference", "by", "names"),
    [("3", 5, ("period 3", "period 5")), ("May", "June", ("May", "June")), ("3 to 4", "07", ("3 to 4", "period 07"))],
)
def test_a_period_says_what_it_is_compared_with(reference, by, names):
    since = ReferenceReading(reference, 0.001, True, 0.05, 0.1, 1.0, (0.0, 1.0), 0.1)
    sofar = MonitorReading(1.0, 1.0, False, 0.05, 2, 1, "forecasts too low")
    period = Period(by, 2, 0.5, 0.25, 0.0, sofar)
    assert period.summary().startswith(f"{by}: 2 rows, mean outcome 0.5, mean prediction 0.25. So far: no ")
    assert "Compared" not in period.summary()
    said = replace(period, since_reference=since).summary()
    assert said.startswith(period.summary())
    assert f" Compared with {names[0]}: changed by {names[1]} (anytime-valid p = 0.001): the event" in said


@pytest.mark.parametrize("grouped", [False, True])
def test_a_period_has_the_means_of_its_rows_and_the_number_of_its_groups(grouped):
    data = table(0, days=3, rows=20)
    data["who"] = np.r_[np.arange(20), np.arange(20) // 2, np.arange(20) // 10]
    groups = "who" if grouped else None
    found = calibration_drift(pa.table(data), y_true="y", y_prob="p", by="day", groups=groups)
    for day, period in enumerate(found):
        y, p = (data[name][data["day"] == day] for name in ("y", "p"))
        assert (period.base_rate, period.mean_prediction) == (pytest.approx(y.mean()), pytest.approx(p.mean()))
        assert period.n_groups == ((20, 10, 2)[day] if grouped else None)
        error = calibrant.smooth_calibration_error(y, p)
        assert period.smooth_calibration_error == pytest.approx(error, abs=1.0 / RESOLUTION)
    with pytest.raises(InputError, match=r"^groups: there is no column 'nobody'"):
        calibration_drift(pa.table(data), y_true="y", y_prob="p", by="day", groups="nobody")


def test_what_a_period_is_like_does_not_depend_on_its_groups():
    """Predictions in one cell are one, whatever groups their rows belong to."""
    p = np.tile([0.3001, 0.3004, 0.7, 0.7004], 5)
    data = pa.table({"day": [1] * 20, "p": p, "y": np.tile([1, 0, 1, 0], 5), "who": np.arange(20) % 4})
    one, other = (
        calibration_drift(data, y_true="y", y_prob="p", by="day", groups=groups)[0] for groups in (None, "who")
    )
    for name in ("n_rows", "base_rate", "mean_prediction", "smooth_calibration_error"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)


def test_weights_are_left_out_only_where_that_is_said():
    data = pa.table(table(0, days=2, rows=20))
    weighted = data.append_column("sample_weight", pa.array(np.linspace(1.0, 2.0, 40)))
    columns = {"y_true": "y", "y_prob": "p", "by": "day"}
    with pytest.raises(InputError, match="single outcomes; unweighted=True leaves them out"):
        calibration_drift(weighted, **columns)
    assert calibration_drift(weighted, **columns, unweighted=True) == calibration_drift(data, **columns)


def test_rates_of_the_population_are_those_of_weighted_rows():
    data = table(0, days=2, rows=20)
    data["weight"] = np.where(data["y"] == 1, 1.0, 4.0)
    cells = groups_by(OpenedFrame(pa.table(data), "frame"), "y", "p", ["day"], RESOLUTION, "weight", None, False, False)
    sofar = MonitorReading(1.0, 1.0, False, 0.05, 2, 1, "forecasts too low")
    for period in in_population([Period(day, 20, 0.0, 0.0, 0.0, sofar) for day in (1, 0)], cells):
        y, p, w = (data[name][data["day"] == period.period] for name in ("y", "p", "weight"))
        assert period.base_rate == pytest.approx(np.average(y, weights=w))
        assert period.mean_prediction == pytest.approx(np.average(p, weights=w))
        error = calibrant.smooth_calibration_error(y, p, sample_weight=w)
        assert period.smooth_calibration_error == pytest.approx(error, abs=1.0 / RESOLUTION)


@pytest.mark.parametrize(("excess", "variance"), [(-1.0, 2.0), (0.0, 2.0), (0.5, 0.0)])
def test_what_is_no_excess_or_cannot_vary_proves_nothing(excess, variance):
    assert _bennett(excess, variance) == 0.0


@pytest.mark.parametrize("n", [1, 5, 6, 30])
def test_a_reference_that_is_not_there_is_told_five_periods_and_whether_there_are_more(n):
    allowed = _no_reference("x", range(n), " is not there").allowed
    assert [f"'{k}'" in allowed for k in range(n)] == [k < 5 for k in range(n)]
    assert allowed.endswith("...") == (n > 5)


def test_a_reference_is_refused_beside_groups():
    data = pa.table({**table(0, days=3, rows=20), "who": np.arange(60) // 2})
    with pytest.raises(InputError, match="cannot be combined with groups") as refused:
        calibration_drift(data, y_true="y", y_prob="p", by="day", groups="who", reference=0)
    assert refused.value.argument == "reference"
