"""Segments and periods of rows that were sampled by outcome: tests of the file's chances, in the population's terms."""

from dataclasses import replace

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from calibrant import InputError, audit_table, calibration_drift, calibration_test
from calibrant.door.rows import Rows
from calibrant.door.weights import SamplingFractions
from calibrant.segments import by_column
from calibrant.segments.by_column import SegmentRows, segments_of_groups
from calibrant.tables.frames import OpenedFrame, groups_by

FRACTIONS = {0: 0.1, 1: 1.0}


@pytest.fixture(scope="module")
def rows():
    """Rows kept by outcome; predictions of kind b are half of what they should be, from day 4 on."""
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.02, 0.4, 9_000)
    kind, day = rng.choice(["a", "b"], 9_000), np.repeat(np.arange(9), 1_000)
    event = rng.random(9_000) < chance
    told = np.where((kind == "b") & (day > 3), 0.5 * chance, chance)
    kept = rng.random(9_000) < np.where(event, 1.0, 0.1)
    return {"y": event[kept] * 1, "p": told[kept], "kind": kind[kept], "day": day[kept]}


@pytest.fixture(scope="module")
def found(rows):
    of = {"y_true": "y", "y_prob": "p", "sampling_fractions": FRACTIONS, "random_state": 0, "n_resamples": 99}
    return audit_table(pa.table(rows), **of, by="kind", drift="day")


def test_segments_are_tested_at_the_chances_in_the_file(rows, found):
    for segment in found.segments:
        mask = rows["kind"] == segment.key[0]
        y, v = rows["y"][mask], rows["p"][mask]
        weight = np.where(y == 1, 1.0, 10.0)
        test = calibration_test(y, v, sampling_fractions=FRACTIONS, random_state=0, n_resamples=99)
        assert segment.pvalue == pytest.approx(test.pvalue)
        assert segment.base_rate == pytest.approx(np.average(y, weights=weight))
        assert segment.reject == (segment.key == ("b",))
        off = y - v - segment.bias
        reach = np.sqrt(2.0 * np.log(2.0 * 2 / 0.05) * ((weight * off) ** 2).sum()) / weight.sum()
        assert segment.bias_interval.high - segment.bias == pytest.approx(reach)


def test_segments_are_tested_at_the_level_with_draws_enough_for_all(rows, monkeypatch):
    asked, test = [], by_column.calibration_test_on_rows

    def noted(part, level, n_resamples, seed):
        asked.append((level, n_resamples))
        return test(part, level, 19, seed)

    monkeypatch.setattr(by_column, "calibration_test_on_rows", noted)
    first = {name: each[:300] for name, each in rows.items()}
    first["w"] = 1.0 + first["y"]
    cells = groups_by(OpenedFrame(pa.table(first)), "y", "p", ["kind"], 64, "w", None, False, False)
    again = Rows.of(first["y"], first["p"], first["w"]), nw.from_native(pa.table({"_s0": first["kind"]})), 199, 0
    segments_of_groups(cells, 0.01, 64, rows=SegmentRows(*again))
    assert asked == [(0.01, 400)] * 2
    assert 2 / (1 + 400) < 0.01 / 2  # the least p-value, times the segments


def test_without_a_range_the_direction_is_that_of_the_mean_error(rows, monkeypatch):
    test = by_column.calibration_test_on_rows
    monkeypatch.setattr(by_column, "calibration_test_on_rows", lambda *of: replace(test(*of), region=None))
    first = {name: each[:600] for name, each in rows.items()}
    first["p"] = np.where(first["kind"] == "a", 0.9, 0.1) * first["p"] ** 0.1
    first["w"] = 1.0 + np.arange(first["p"].size) % 3
    cells = groups_by(OpenedFrame(pa.table(first)), "y", "p", ["kind"], 64, "w", None, False, False)
    again = Rows.of(first["y"], first["p"], first["w"]), nw.from_native(pa.table({"_s0": first["kind"]})), 99, 0
    found, *_ = segments_of_groups(cells, 0.05, 64, rows=SegmentRows(*again))
    assert {each.key: each.direction for each in found} == {("a",): "too high", ("b",): "too low"}
    assert all((each.bias > 0.0) == (each.direction == "too low") for each in found)


def test_periods_bet_on_the_chances_in_the_file(rows, found):
    chance = SamplingFractions.read(FRACTIONS).chance_in_file(rows["p"])
    in_file = calibration_drift(pa.table({**rows, "p": chance}), y_true="y", y_prob="p", by="day")
    assert [each.reading for each in found.periods] == [each.reading for each in in_file]
    assert next(each.period for each in found.periods if each.reading.reject) > 3
    day = rows["day"] == 5
    weight = np.where(rows["y"] == 1, 1.0, 10.0)[day]
    assert found.periods[5].base_rate == pytest.approx(np.average(rows["y"][day], weights=weight))
    assert found.periods[5].mean_prediction == pytest.approx(np.average(rows["p"][day], weights=weight))


def test_labels_are_read_with_their_segments(rows):
    labels = {**rows, "y": np.where(rows["y"] == 1, "yes", "no")}
    of = {"sampling_fractions": FRACTIONS, "n_resamples": 99, "random_state": 0, "pos_label": "yes"}
    found = audit_table(pa.table(labels), y_true="y", y_prob="p", **of, by="kind", find="kind")
    assert {each.key for each in found.segments if each.reject} == {("b",)}
    assert [each.conditions for each in found.found_segments.segments] == [("kind = b",)]


def test_a_reference_is_refused_with_a_way_out(rows):
    with pytest.raises(InputError, match="reference: cannot be used with sampling fractions"):
        audit_table(pa.table(rows), y_true="y", y_prob="p", sampling_fractions=FRACTIONS, drift="day", reference=0)
