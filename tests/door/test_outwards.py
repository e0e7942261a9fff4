"""What is printed of a proved bound is proved as well."""

import math
from decimal import ROUND_FLOOR

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import CalibrationMonitor
from calibrant.door.ends import Interval, at_least, at_most, in_short, outwards
from calibrant.drift.monitor import MonitorReading
from calibrant.findings.words import proved
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
