"""An audit of a sketch: its numbers hold for the rows, and it does not say what cells cannot tell."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from calibrant.door.ends import Bracket
from calibrant.door.request import AuditRequest
from calibrant.door.sample import Sample
from calibrant.findings import sketch
from calibrant.findings.arrays import audit_sample
from calibrant.findings.record import MeasureValue
from calibrant.findings.sketch import at_most, with_bounds
from calibrant.findings.word_catalogue import NOT_PROVED
from calibrant.measures.registry import measures
from calibrant.sketch.bounds import BOUNDS
from calibrant.sketch.sketch import CalibrationSketch


@pytest.mark.parametrize("resolution", [4, 64])
def test_everything_an_audit_of_a_sketch_proves_holds_for_the_rows(resolution):
    rng = np.random.default_rng(0)
    v = rng.random(400)
    y = rng.random(400) < np.where(v < 0.5, v + 0.3, v)
    sketch = CalibrationSketch(resolution).update(y, v)
    pooled = with_bounds(
        audit_sample(sketch.sample, AuditRequest(n_resamples=0, random_state=0)), sketch, sketch.moments()
    )
    exact = audit_sample(Sample.from_columns(y, v), AuditRequest(n_resamples=0, random_state=0), advise=False)
    assert pooled.smooth_lower <= exact.smooth_lower <= exact.smooth_upper <= pooled.smooth_upper
    for which in ("true_distance", "lower_distance_bracket"):
        wide, narrow = getattr(pooled.ties, which), getattr(exact.ties, which)
        assert wide.lower <= narrow.upper
        assert narrow.lower <= wide.upper
    bounds = sketch.error_bounds()
    for name, measure in pooled.measures.items():
        if bounds[name] is None:
            assert measure.value is None
            assert name not in BOUNDS
            if measure.bracket is None:  # of a measure that says nothing of pooling
                assert measure.not_computed == NOT_PROVED
                assert name != "interval_calibration_error"
                continue
            low, high = re.fullmatch(
                r"It lies between (\S+) and (\S+): that is proved, .*", measure.not_computed
            ).groups()
            assert float(low) <= exact.measures[name].value <= float(high)
        else:
            assert (
                abs(measure.value - measures()[name].on_sample(Sample.from_columns(y, v), **measure.parameters))
                <= bounds[name]
            )
            assert at_most(bounds[name]) in measure.sentence
    for name in ("smooth_error", "lower_distance"):
        wide, narrow = getattr(pooled.population, name), getattr(exact.population, name)
        assert narrow.high <= wide.high
        assert 0.0 < wide.low < 0.15 < narrow.high or resolution == 4  # the population's is 0.15
        assert wide.low < 0.15
    assert all(each.result is None for each in pooled.tests.values())
    assert not pooled.advice.scores
    assert all("of the cells" in each.source for each in pooled.ties.inequalities)
    for region in pooled.regions:
        inside = (v >= region.low) & (v <= region.high)
        assert inside.sum() == region.n_rows
        assert region.predicted == pytest.approx(v[inside].mean(), abs=1.0 / resolution**2)
        assert region.low in v
        assert region.high in v


def test_bounds_are_printed_rounded_up():
    for bound in (1.04e-7, 1.0000001e-11, 0.0999, 1e-11, 2.5e-300):
        assert Fraction(bound) <= Fraction(at_most(bound)) <= Fraction(bound) * Fraction(11, 10)
    assert at_most(1.04e-7) == "1.1e-7" or at_most(1.04e-7) == "1.1e-07"


def test_an_interval_error_that_is_not_searched_for_has_its_bracket(monkeypatch):
    rng = np.random.default_rng(1)
    v = rng.random(300)
    sample = Sample.from_columns(rng.random(300) < v**2, v)
    few = {name: replace(measure, maximum_rows=None) for name, measure in measures().items()}
    exact = audit_sample(sample, AuditRequest(n_resamples=0), advise=False).measures["interval_calibration_error"].value
    few["interval_calibration_error"] = replace(few["interval_calibration_error"], maximum_rows=10)
    monkeypatch.setattr("calibrant.findings.arrays.measures", lambda: few)
    found = audit_sample(sample, AuditRequest(n_resamples=0), advise=False).measures["interval_calibration_error"]
    assert found.value is None
    low, high = re.fullmatch(r"It lies between (\S+) and (\S+): that is proved, .*", found.not_computed).groups()
    assert float(low) <= exact <= float(high) < 0.9


@pytest.mark.parametrize(
    ("value", "bracket", "shown"),
    [
        (0.25, None, "0.2500"),
        (None, None, "-"),
        (None, Bracket(0.1, 0.2), "0.1000 to 0.2000"),
        (None, Bracket(0.1, 0.100001), "0.1000"),
    ],
)
def test_a_measure_is_shown_by_its_value_its_bracket_or_a_dash(value, bracket, shown):
    measure = MeasureValue("A measure", value, "What it means.", {}, "not computed", bracket)
    assert measure.shown == shown
    assert measure.summary() == f"A measure: {'not computed' if value is None else '0.25. What it means.'}"


@pytest.mark.parametrize("attained", [None, 0.05])
def test_the_interval_error_of_rows_is_below_that_of_the_cells_and_their_cost(monkeypatch, attained):
    monkeypatch.setattr(sketch, "interval_error_above", lambda value, _: value + 0.01)
    names = "lower_calibration_distance", "interval_calibration_error", "binned_calibration_error_bound"
    values = dict(zip(names, (0.02, attained, 0.3), strict=True))
    cells = {name: MeasureValue(name, value, "Told.", {}) for name, value in values.items()}
    costs = {
        "lower_calibration_distance": 0.001,
        "interval_calibration_error": None,
        "binned_calibration_error_bound": 0.1,
    }
    found = sketch._measures_of_rows(cells, costs, None, Bracket(0.01, 0.03))["interval_calibration_error"]
    assert found.value is None
    assert found.bracket.lower == 0.01
    assert found.bracket.upper == pytest.approx(0.4 if attained is None else 0.06)


@pytest.mark.parametrize(
    ("low", "high", "margin", "wide"),
    [(0.3, 0.4, 0.05, (0.25, 0.45)), (0.01, 0.4, 0.05, (0.0, 0.45)), (0.3, 0.98, 0.05, (0.25, 1.0))],
)
def test_a_bracket_is_widened_within_0_and_1(low, high, margin, wide):
    assert tuple(sketch._widened(Bracket(low, high), margin)) == pytest.approx(wide)
