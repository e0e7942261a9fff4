"""The order of periods is that of time, or unknown: never that of the alphabet by accident."""

import datetime as dt
import random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import InputError, calibration_drift
from calibrant.drift.periods import in_order
from tests.tables.roads import file_drift

KNOWN = {
    "numbers": ["-1", "1", "2", "9", "10", "11"],
    "numbers as floats": ["1.0", "2.0", "10.0"],
    "padded": ["08", "09", "10"],
    "days": ["day 1", "day 2", "day 9", "day 10"],
    "underscores": ["Week_9", "Week_10"],
    "letters": ["w9", "w10"],
    "spaces": [" day 9 ", " day 10 "],
    "weeks without a hyphen": ["2026W9", "2026W10"],
    "words and a year": ["FY 2025, week 10", "FY 2026, week 9"],
    "times without zeros": ["2026-1-1 9:00", "2026-1-1 10:00"],
    "dates": ["2025-12-31", "2026-01-09", "2026-01-10"],
    "times": ["2026-01-01 09:00:00", "2026-01-01 10:00:00"],
    "times of one zone": ["2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z"],
    "times of several zones": ["2026-01-01T09:00:00+02:00", "2026-01-01T08:30:00+00:00", "2026-01-01T09:00:00-01:00"],
    "nanoseconds": ["2026-01-10 00:00:00.123456", "2026-01-10 00:00:00.12345678", "2026-01-10 00:00:00.123456789"],
    "nanoseconds of a zone": ["2026-01-10T00:00:00.123456788+02:00", "2026-01-10T00:00:00.123456789+02:00"],
    "parts of a second": ["2026-1-10 9:00:00.25", "2026-1-10 9:00:00.50"],
    "months": ["2025-12", "2026-01", "2026-02"],
    "weeks": ["2025-W52", "2026-W9", "2026-W10"],
    "quarters": ["2025 Q4", "2026 Q1"],
    "slashes": ["2025/12/1", "2026/1/9", "2026/1/10"],
    "one": ["Monday"],
    "integers": [-1, 2, 10],
    "typed dates": [dt.date(2025, 12, 31), dt.date(2026, 1, 9)],
}


@pytest.mark.parametrize("keys", KNOWN.values(), ids=KNOWN.keys())
def test_known_orders(keys):
    for seed in range(5):
        assert in_order(random.Random(seed).sample(keys, len(keys))) == keys


@pytest.mark.parametrize(
    "keys",
    [
        ["Mon", "Tue"],
        ["31.12.2025", "01.01.2026"],
        ["12/31/2025", "01/01/2026"],
        ["1.2026", "9.2025"],
        ["2026.5", "2026.25"],
        ["t-1", "t-2"],
        *(
            [text.format(8), text.format(9), text.format(10)]
            for sign in "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
            for text in (
                f"t{sign}{{}}",
                f"day {sign}{{}}",
                f"week{sign}{{}}",
                f"day{sign} {{}}",
                f"2026 day {sign}{{}}",
            )
        ),
        *([f"{sign}8", f"{sign}9"] for sign in "\u2010\u2011\u2012\u2013\u2212"),
        ["8 days ago", "9 days ago", "10 days ago"],
        ["day 8 before launch", "day 9 before launch"],
        ["lag 8", "lag 9"],
        ["t minus 8", "t minus 9"],
        ["(8)", "(9)"],
        ["2026, 8 weeks before", "2026, 9 weeks before"],
        ["2026 BC", "2027 BC"],
        ["2026-1-1 9:00 AM", "2026-1-1 12:00 AM"],
        ["2026-1-1 9:00-01:00", "2026-1-1 9:00-02:00"],
        ["2026 lag 8", "2026 lag 9"],
        ["lag 2026-1", "lag 2026-2"],
        ["day 1", "week 2"],
        ["v1.9", "v1.10"],
        ["2026-01-01", "day 2"],
        ["2026-01-01T09:00:00", "2026-01-01T08:00:00Z"],
        ["2026-1-1 9:00 +02:00", "2026-1-1 9:00 +01:00"],
        ["2026-1-1 9:00:00.25", "2026-1-1 9:00:00.5"],
        [b"1", b"2"],
        ["1", "two"],
    ],
    ids=str,
)
def test_unknown_orders_are_refused(keys):
    with pytest.raises(InputError, match=r"by: the order in time of .* is not known; use dates"):
        in_order(keys)


NANO = ["2026-01-10 00:00:00.1234567", "2026-01-10 00:00:00.12345670"]


@pytest.mark.parametrize(
    "keys", [["9", "09"], ["1", "1.0"], ["day 9", "day 09"], ["2026-01-01", "2026-01-01 00:00"], NANO]
)
def test_one_period_written_in_two_ways_is_refused(keys):
    with pytest.raises(InputError, match="two ways to write one period"):
        in_order(keys)


def test_days_of_a_text_file_come_in_order(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [f"{i % 2},0.5,{1 + i // 20}" for i in range(240)]
    path.write_text("\n".join(["y,p,day", *rows, ""]), encoding="utf-8")
    found = file_drift(str(path), "day", y_true="y", y_prob="p")
    assert [period.period for period in found] == [str(day) for day in range(1, 13)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_times_are_said_in_utc_whatever_the_zone_of_the_machine(tmp_path, zone):
    time = [dt.datetime(2026, 1, 1, 23, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, 1, tzinfo=dt.UTC)]
    table = pa.table({"y": [0, 1], "p": [0.5, 0.5], "t": pa.array(time, pa.timestamp("us", "UTC"))})
    path = str(tmp_path / "rows.parquet")
    pq.write_table(table, path)
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    relation = connection.sql(f"SELECT * FROM '{path}'")
    found = calibration_drift(relation, y_true="y", y_prob="p", by="t")
    assert [str(period.period) for period in found] == ["2026-01-01 23:00:00+00:00", "2026-01-02 01:00:00+00:00"]


def test_the_text_that_has_no_order_is_the_one_shown(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text(
        "y_true,y_prob,day\n" + "".join(f"{i % 2},0.5,{day}\n" for i, day in enumerate([*range(20), "Mon"]))
    )
    with pytest.raises(InputError, match="by: the order in time of 'Mon', '0', '1' is not known"):
        file_drift(str(path), "day")
