"""What is printed of a proved bound is proved as well."""

import math
from decimal import ROUND_FLOOR

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import CalibrationMonitor
from calibrant.door.ends import (
    Interval,
    at_least,
    at_most,
    confidence,
    fixed_outwards,
    in_points,
    in_short,
    outwards,
    range_decimals,
    readable,
    rounded_down,
    rounded_up,
)
from calibrant.drift.monitor import MonitorReading
from calibrant.findings.word_catalogue import proved
from calibrant.inference.bounds.gate import GateResult, most_in_short
from calibrant.inference.comparison.compare import ComparisonResult

ENDS = st.floats(-1.0, 1.0)


@given(ENDS, ENDS, st.booleans())
@example(0.23449999999999999, 0.23450000000000001, False)  # times 10^4 it is rounded to a whole number
@example(5e-324, 1.0, True)
@example(-1.0, -5e-324, True)
def test_printed_ends_hold_the_interval(a, b, signed):
    low, high = sorted((a, b))
    down, up = outwards(low, high, signed=signed)
    assert float(down) <= low
    assert high <= float(up)
    assert float(up) - float(down) <= high - low + 2.001e-4
    if signed and low > 1e-12:
        assert float(down) > 0.0
    assert not {down, up} & {"-0.0000", "-0.00000"}


@given(st.floats(1e-300, 1e300), st.integers(1, 4))
@example(0.05, 1)
def test_significant_digits_lie_on_the_side_asked_for(value, digits):
    assert float(at_least(value, digits)) <= value <= float(at_most(value, digits))
    assert float(at_most(value, digits)) <= value * (1.0 + 1.01 * 10.0 ** (1 - digits))


def test_ends_that_need_no_rounding_stay():
    assert outwards(0.08, 0.1) == ("0.0800", "0.1000")
    assert outwards(0.0, 0.0) == ("0.0000", "0.0000")
    assert at_most(0.05, 2) == at_least(0.05, 2) == "0.05"
    assert at_least(math.inf, 3) == "inf"


def test_a_gate_prints_no_more_than_it_proves():
    ends = Interval(0.01238, 0.07543)  # to the nearest: 0.0124 and 0.0754
    said = {v: GateResult(v, 0.08, ends, 0.05, 1000, None).summary() for v in ("within", "beyond", "undecided")}
    assert said["within"].startswith("PASS: at most 7.6 points on average (95% confidence; limit 8; 1,000 rows).\n")
    assert said["beyond"].startswith("FAIL: at least 1.2 points on average (95% confidence; limit 8; 1,000 rows).\n")
    assert said["undecided"].startswith(
        "UNDECIDED: 1.2 to 7.6 points on average (each end with 95% confidence; limit 8; 1,000 rows). It may be right "
    )
    # An end near the limit is never shown on its other side; nearer than three digits show, it is less or more.
    for low, high, verdict, words in (
        (0.0, 0.0796, "within", "at most 7.96 points"),
        (0.0, 0.07996, "within", "less than 8 points"),
        (0.0, 0.08, "within", "at most 8.0 points"),
        (0.0812, 0.2, "beyond", "at least 8.1 points"),
        (0.0806, 0.2, "beyond", "at least 8.06 points"),
        (0.08001, 0.2, "beyond", "more than 8 points"),
    ):
        assert f": {words} on" in GateResult(verdict, 0.08, Interval(low, high), 0.05, 1000, None).sentence


@pytest.mark.parametrize(("evalue", "pvalue", "reject"), [(19.96, 0.0502, False), (20.04, 0.0499, True)])
def test_evidence_that_is_not_enough_does_not_look_enough(evalue, pvalue, reject):
    said = MonitorReading(evalue, pvalue, reject, 0.05, 100, 2, "predictions too low").summary()
    assert f"evidence {at_least(evalue, 3)}, 20 is needed" in said
    assert ("evidence 20," in said) is reject
    assert ("p = 0.051)" in said) is not reject
    assert "p = 1)" in CalibrationMonitor().reading().summary()


def test_an_interval_that_leaves_0_out_is_not_shown_with_it():
    said = ComparisonResult(-0.05, 0.04, True, 0.05, "error", Interval(-0.12344, -0.00002), 0.02, 0.07).summary()
    assert "between -0.12344 and -0.00002 with" in said
    assert "between -0.1235 and +0.0001 with" in (
        ComparisonResult(-0.05, 0.06, False, 0.05, "error", Interval(-0.12344, 0.00001), 0.02, 0.07).summary()
    )


def test_bounds_of_the_population_and_widths():
    assert in_short(0.01238, ROUND_FLOOR) == "0.012"
    assert most_in_short(Interval(0.01238, 0.07543), 0.5) == "0.076"
    assert most_in_short(Interval(0.0, 0.01949), 0.0195) == "0.01949"  # rounded up, and yet below the limit
    assert [in_short(share) for share in (0.0, 1.0, 3.1e-6, 0.027)] == ["0", "1.0", "0.0000031", "0.027"]
    assert proved(0.05, 0.05 + 1.3e-9)[1] == "is 0.0500 (proved to within 2e-09)"


@pytest.mark.parametrize("width", [0.000101, 0.00011, 0.00013, 0.01])
def test_four_decimals_are_enough_for_what_is_wider_than_the_last(width):
    assert [len(each) for each in outwards(0.5, 0.5 + width)] == [6, 6]
    assert all(len(each) > 6 for each in outwards(0.5, 0.50009))


@pytest.mark.parametrize(
    ("low", "high", "signed", "shown"),
    [
        (0.06126, 0.07991, False, ("0.0612", "0.0800")),
        (0.00052, 0.00093, False, ("0.00052", "0.00093")),  # small: two digits of the largest
        (0.0, 0.00095, False, ("0.0000", "0.0010")),
        (0.0, 0.000949, False, ("0.00000", "0.00095")),
        (0.5, 0.50002, False, ("0.500000", "0.500020")),  # narrow: two digits of the width
        (0.5, 0.5, False, ("0.5000", "0.5000")),
        (0.25, 3.5, False, ("0.2500", "3.5000")),
        (-0.08, -0.00003, True, ("-0.08000", "-0.00003")),
        (0.00003, 0.08, True, ("+0.00003", "+0.08000")),
        (0.5, 0.75, True, ("+0.5000", "+0.7500")),
        (-0.00003, 0.08, True, ("-0.0001", "+0.0800")),
        (0.00003, 0.08, False, ("0.0000", "0.0800")),
        (1e-15, 3e-15, False, ("0.000000000000", "0.000000000001")),  # what is nearer than 1e-12 is rounding
        (1e-15, 0.5, True, ("+0.000000000000", "+0.500000000000")),
    ],
)
def test_ends_have_as_many_decimals_as_they_need(low, high, signed, shown):
    assert outwards(low, high, signed=signed) == shown


@pytest.mark.parametrize(
    ("width", "decimals"),
    [(0.0, 6), (5.0, 2), (0.5, 2), (0.1, 2), (0.099, 3), (0.03, 3), (0.001, 4), (1e-9, 10), (1e-30, 12)],
)
def test_a_range_is_shown_to_two_digits_of_its_width(width, decimals):
    assert range_decimals(width) == decimals


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.18e-05, 0.5087, ("0.00", "0.51")),
        (0.2, 0.2, ("0.2", "0.2")),
        (0.21234, 0.21234, ("0.212", "0.213")),
        (0.5, 0.4, ("0.5", "0.4")),
        (0.123, 0.165, ("0.123", "0.165")),
        (0.1234, 0.1657, ("0.123", "0.166")),
    ],
)
def test_a_range_of_predictions_can_be_read(low, high, shown):
    assert readable(low, high) == shown


def test_numbers_are_rounded_to_the_side_that_is_asked_for():
    assert [at_least(value, 3) for value in (19.96, 0.0019961, 1.0, 0.0)] == ["19.9", "0.00199", "1", "0"]
    assert [at_most(value, 2) for value in (0.0502, 1234.0, 0.05, 0.0)] == ["0.051", "1.3e+03", "0.05", "0"]
    assert [in_short(value, ROUND_FLOOR, digits) for value, digits in ((0.0279, 2), (0.0279, 1), (12.3, 1))] == [
        "0.027",
        "0.02",
        "12",
    ]
    assert [in_short(value) for value in (1.1e-12, 9e-13, -0.5)] == ["0.0000000000011", "0", "-0.50"]
    assert fixed_outwards(0.58, 0.7801, 2) == ("0.58", "0.79")
    assert (in_points("0.027"), in_points("0.01")) == ("2.7 points", "1 point")
    assert [rounded_down(end) for end in (0.1234567, -0.0, 2.0, -math.inf, -1e-9)] == [
        "0.123456",
        "0",
        "2",
        "-inf",
        "-0.000001",
    ]
    assert [rounded_up(end) for end in (0.1234561, math.inf, -1e-9)] == ["0.123457", "inf", "0"]


@pytest.mark.parametrize(
    ("level", "shown"),
    [(0.05, "95%"), (0.5, "50%"), (0.025, "97.5%"), (1e-10, "99.99999999%"), (1e-100, "1 - 1e-100")],
)
def test_a_confidence_is_told_to_its_last_digit(level, shown):
    assert confidence(level) == shown
