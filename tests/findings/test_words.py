"""What the page says in words is true as a reader takes it: ranges hold the rows told, shares of all are 100%."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import audit, calibration_by_segment
from calibrant.door.ends import confidence
from calibrant.door.sample import Sample
from calibrant.findings.auditing import audit_sample
from calibrant.findings.regions import Region, regions_from_witness
from calibrant.findings.sketched import with_bounds
from calibrant.findings.words import ends, percent, segment_in_words, whole
from calibrant.measures.smooth import witness_from_sample
from calibrant.scale.sketch import CalibrationSketch
from tests.strategies import samples


def printed_range(words):
    """The two ends as a reader would type them."""
    found = re.match(r"predictions (?:between (\S+) and (\S+)|of (\S+)) are", words)
    low, high, single = found.groups()
    return (float(single), float(single)) if single else (float(low), float(high))


def near_one(n, seed):
    """Predictions of which most print as 1.000, and some are too sure."""
    rng = np.random.default_rng(seed)
    v = 1.0 / (1.0 + np.exp(-rng.normal(6.0, 5.0, n)))
    v = np.where(rng.random(n) < 0.2, np.round(v, 2), v)
    return (rng.random(n) < np.where(v > 0.9, v - 0.1 * rng.random(n), v)) * 1.0, v


def check_ranges(regions, y, v):
    for region in regions:
        low, high = printed_range(region.words)
        inside = (v >= low) & (v <= high)
        assert inside.sum() == region.rows
        assert f"({whole(region.rows)} row" in region.words
        assert (y[inside] - v[inside]).mean() == pytest.approx(region.mean_error, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(20, 800), st.integers(0, 2**32 - 1))
def test_the_printed_range_holds_the_rows_told(n, seed):
    y, v = near_one(n, seed)
    sample = Sample.from_columns(y, v)
    check_ranges(regions_from_witness(sample, witness_from_sample(sample)), y, v)


@settings(max_examples=100, deadline=None)
@given(samples(weights=False, fractional=False))
def test_the_printed_range_holds_the_rows_told_of_neighbours_one_ulp_apart(columns):
    y, v, _ = columns
    sample = Sample.from_columns(y, v)
    check_ranges(regions_from_witness(sample, witness_from_sample(sample)), y, v)


def test_the_printed_range_of_a_sketch_holds_the_rows_told():
    y, v = near_one(2000, 3)
    sketch = CalibrationSketch(64).update(y, v)
    found = with_bounds(audit_sample(sketch.sample, n_resamples=0, random_state=0, advise=False), sketch)
    assert found.regions
    check_ranges(found.regions, y, v)


def test_ends_have_two_digits_where_they_suffice_and_are_exact_where_eight_do_not():
    assert ends(0.3, 0.7) == ("0.30", "0.70")
    assert ends(0.304, 0.696, 0.29, 0.71) == ("0.30", "0.70")
    assert ends(0.304, 0.696, 0.301, 0.699) == ("0.304", "0.696")
    assert ends(0.1, 0.9999, None, 0.99996) == ("0.10", "0.9999")
    assert ends(0.1, 1.0 - 2e-12, None, 1.0 - 1e-12) == ("0.10", repr(1.0 - 2e-12))


def test_the_range_of_a_segment_leaves_out_the_end_that_belongs_to_its_neighbour():
    v = np.repeat([0.25, 0.375, 0.5, 0.75], 500)
    y = np.where(v == 0.375, 1.0, np.tile([0.0, 0.0, 0.0, 1.0], 500))
    y = np.where(v == 0.5, np.tile([0.0, 1.0], 1000), np.where(v == 0.75, 1.0 - np.tile([0.0, 0.0, 0.0, 1.0], 500), y))
    frame = {"y": y, "p": v, "g": np.zeros(v.size)}
    pyarrow = pytest.importorskip("pyarrow")
    (segment,) = calibration_by_segment(pyarrow.table(frame), y_true="y", y_prob="p", by=["g"])
    assert segment.where == (0.375, 0.5)
    assert segment_in_words(segment) == "predictions too low in [0.375, 0.5)"


def test_all_rows_are_100_percent():
    v = np.repeat(np.linspace(0.4, 0.6, 6), 10)
    found = audit(np.ones(60), v, n_resamples=0, random_state=0)
    assert found.regions[0].mass < 1.0  # six shares that add up to a little less
    assert "(60 rows, 100%)" in found.regions[0].words
    assert percent(np.nextafter(1.0, 0.0)) == "100%"
    assert percent(1.0 - 1e-9) == "over 99.9%"
    assert percent(1e-300) == "under 0.1%"


def test_the_two_expected_errors_cannot_be_confused():
    y, v = near_one(300, 0)
    found = audit(y, v, n_resamples=0, random_state=0)
    said = " ".join(each.words for each in found.ties.inequalities)
    assert "smooth error <= error of single distinct predictions" in said
    assert "expected" not in said  # the name of the measure over bins, another number on the same page


@pytest.mark.parametrize("chance", [1e-300, 1e-6, 1e-5])
def test_an_event_that_chance_does_not_explain_is_beyond_noise(chance):
    """One event in a hundred rows of these chances has probability under 0.001: nothing may call it noise."""
    found = audit(np.r_[np.zeros(99), 1.0], np.full(100, chance), n_resamples=0, random_state=0)
    assert found.regions[0].exceeds_noise
    assert "beyond noise" in found.regions[0].summary()


def test_what_is_said_to_be_beyond_noise_is_rare_among_calibrated_rows():
    """As rare as three standard errors, 2 exp(-4.5), were the stretch all rows: no stretch is chosen here."""
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(2000):
        v = np.full(60, 0.02)
        y = (rng.random(60) < v) * 1.0
        if abs(y.mean() - 0.02) > 0.0:
            region = Region(0.02, 0.02, 60, 1.0, y.mean() - 0.02, float(np.sqrt(0.02 * 0.98 / 60)), 1 / 60, 1.0, 0.02)
            said += bool(region.exceeds_noise)
    assert said / 2000 <= 2.0 * np.exp(-4.5)


def test_a_confidence_that_is_not_100_percent_is_not_printed_so():
    assert confidence(1e-30) == "1 - 1e-30"
    assert confidence(1e-6) == "99.9999%"
