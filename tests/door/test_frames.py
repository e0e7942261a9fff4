"""Results as data frames: keys, parts, nulls and names by hand; tests/test_public_values.py tries every result."""

import copy
import pickle
import sys

import numpy as np
import pandas
import pytest

import calibrant
from calibrant.door import Results
from calibrant.door.errors import InputError
from calibrant.lazily import MissingLibraryError
from tests.test_public_values import found_segments

RNG = np.random.default_rng(0)
N = 600
FRAME = pandas.DataFrame(
    {"y": RNG.integers(0, 2, N), "p": RNG.random(N), "site": RNG.choice(["a", "b"], N), "n_rows": RNG.integers(0, 2, N)}
)
NAMES = {"y_true": "y", "y_prob": "p"}


def test_segments_have_their_columns_values_and_intervals():
    segments = calibrant.calibration_by_segment(FRAME, **NAMES, by=["site", "n_rows"])
    frame = segments.to_frame()
    assert list(frame.columns[:2]) == ["site", "key_n_rows"]  # a result has rows of its own
    assert [tuple(row) for row in zip(frame["site"], frame["key_n_rows"], strict=True)] == [s.key for s in segments]
    for attribute in ("n_rows", "bias", "pvalue", "reject"):
        assert frame[attribute].tolist() == [getattr(each, attribute) for each in segments]
    assert frame["bias_interval_low"].tolist() == [each.bias_interval.low for each in segments]
    assert frame["lower_distance_bracket_upper"].tolist() == [each.lower_distance_bracket.upper for each in segments]


@pytest.mark.slow
def test_parts_are_rows():
    y, p = FRAME["y"], FRAME["p"]
    panel = calibrant.clinical_calibration(y, p, n_resamples=39, random_state=0)
    assert panel.to_frame()["value"].tolist() == [each.value for each in panel.estimates.values()]
    grades = calibrant.inference.grade_test(y, p.round(1))
    assert grades.to_frame()["reject"].tolist() == [grade in grades.rejected for grade in grades.grades]
    pairs = calibrant.inference.compare_all(y, {"a": p, "b": p**2, "c": p**3}, n_resamples=59, random_state=0)
    table = pairs.to_frame("polars")
    assert list(zip(table["first"], table["second"], strict=True)) == list(pairs.pairs)
    assert table["holm_pvalue"].to_list() == list(pairs.holm_pvalues.values())
    audit = calibrant.audit_table(FRAME, **NAMES, by="site", drift="n_rows", n_resamples=0)
    measures = audit.to_frame()
    assert measures["name"].tolist() == list(audit.measures)
    assert measures["value"].tolist() == [each.value for each in audit.measures.values()]
    assert audit.segments.to_frame()["site"].tolist() == [each.key[0] for each in audit.segments]
    assert audit.periods.to_frame()["reading_evalue"].tolist() == [each.reading.evalue for each in audit.periods]
    curve = calibrant.decision_curve(y, p)
    assert np.array_equal(curve.to_frame("pyarrow")["regret"], curve.regret)
    found = found_segments()
    assert found.to_frame().shape[0] == len(found.segments)


def test_classes_have_a_row_for_each_map():
    table = RNG.dirichlet(np.ones(3), 900)
    choice = calibrant.choose_recalibrator(RNG.integers(0, 3, 900), table)
    frame = choice.to_frame()
    assert frame["method"].tolist() == [score.method for score in choice.scores]
    assert frame.loc[frame["chosen"], "method"].tolist() == [choice.chosen]


def test_what_a_part_lacks_is_null_and_kinds_are_not_mixed():
    some = Results([calibrant.Interval(1.0, 2.0), calibrant.Bracket(0.5, 0.75)])
    rows = some.to_frame("polars").to_dicts()
    assert rows == [
        {"low": 1.0, "high": 2.0, "lower": None, "upper": None, "exact": None, "predictor": None, "certificate": None},
        {"low": None, "high": None, "lower": 0.5, "upper": 0.75, "exact": None, "predictor": None, "certificate": None},
    ]
    keys = calibrant.calibration_by_segment(
        pandas.DataFrame({"y": [0, 1] * 50, "p": 0.5, "key": np.repeat(["1", None], 50)}), **NAMES, by=["key"]
    )
    assert set(keys.to_frame("polars")["key_key"].to_list()) == {"1", None}


def test_results_are_a_tuple_that_keeps_its_columns():
    segments = calibrant.calibration_by_segment(FRAME, **NAMES, by=["site"])
    assert isinstance(segments, tuple)
    for again in (pickle.loads(pickle.dumps(segments)), copy.deepcopy(segments)):
        assert again == segments
        assert again.by == ("site",)
    assert Results().to_frame().shape == (0, 0)


def test_a_library_that_is_none_or_is_missing_is_named(monkeypatch):
    with pytest.raises(InputError, match="backend: is 'dask'; it must be one of 'pandas', 'polars', 'pyarrow'"):
        calibrant.Interval(0.0, 1.0).to_frame("dask")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingLibraryError, match="to_frame needs polars, which is not installed: pip install polars"):
        calibrant.Interval(0.0, 1.0).to_frame("polars")
