"""Everything public pickles, deep-copies and shows itself in a line; a class that is not tried here fails."""

import copy
import inspect
import io
import json
import pickle
from dataclasses import fields, is_dataclass
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import SimpleNamespace

import joblib
import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import calibrant
from calibrant import inference, recalibration
from calibrant.decisions.curve import acting_from_sample
from calibrant.decisions.murphy import cost_from_sample
from calibrant.door.premises import Premises
from calibrant.door.sample import Sample
from calibrant.door.values import BACKENDS, Result
from calibrant.findings.catalogue import state_in_words
from calibrant.findings.comparison import compare
from calibrant.gate.result import Check, Gated
from calibrant.inference.comparison.not_worse import NotWorse
from calibrant.public_names import MODULE_OF
from calibrant.segments.gate_bounds import BoundedSegment, BoundedSegments
from tests.public import CLASSES

PACKAGE = Path(calibrant.__file__).parent
RNG = np.random.default_rng(0)
V = np.round(RNG.random(60), 2)
Y = (RNG.random(60) < V).astype(float)
TABLE = RNG.dirichlet([1.0, 1.0, 1.0], 60)
LABELS = np.argmax(TABLE, axis=1)
X = np.column_stack([V, RNG.random(60)])
FRAME = pyarrow.table({"day": np.repeat([1, 2], 30), "y": Y, "p": V})


@cache
def audited():
    return calibrant.audit(Y, V, n_resamples=39, random_state=0)


@cache
def drifted():
    return calibrant.calibration_drift(FRAME, y_true="y", y_prob="p", by="day", reference=1)[1]


@cache
def by_class():
    return calibrant.audit(LABELS, TABLE, n_resamples=39, random_state=0)


@cache
def certificate():
    return calibrant.lower_calibration_certificate(Y, V)


@cache
def choice():
    return recalibration.choose_recalibrator(Y, V)


@cache
def comparison_of_maps():
    return recalibration.compare_recalibrators(Y, V, methods=["temperature"])


@cache
def repair():
    rng = np.random.default_rng(0)
    table = pyarrow.table({"y_prob": np.full(400, 0.5), "side": rng.choice(["a", "b"], 400)})
    y = rng.random(400) < np.where(np.array(table["side"]) == "a", 0.2, 0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.recalibration.by_segment.corrections._MOST_TREES", 10)
        return recalibration.SegmentRecalibrator(max_depth=1, cv=2).fit(table, y)


def monitor():
    found = calibrant.CalibrationMonitor()
    found.update(Y, V)
    return found


def sketch():
    found = calibrant.CalibrationSketch()
    found.update(Y, V)
    return found


def gated():
    rows = calibrant.calibration_gate(Y, V, max_distance=0.1)
    worse = NotWorse("undecided", "old", 0.02, calibrant.Interval(-0.1, 0.1), 0.05, 60, 60, None, "proved")
    return Gated("new", (Check("all rows", "rows", rows), Check("baseline", "baseline", worse)), Premises(0.05))


def bounded():
    one = BoundedSegment("day = 1", 30, 0.1, calibrant.Interval(-0.1, 0.2))
    return BoundedSegments("none beyond", 0.1, 0.05, 60, 3, 0, (), one, 0.3, ("day",), 2)


@cache
def found_segments():
    return calibrant.find_segments(FRAME, y_true="y", y_prob="p", min_rows=20, n_resamples=39, random_state=0)


def gate():
    found = calibrant.CalibrationGate(max_distance=0.1)
    found.update(Y, V)
    return found


def confused():
    table = np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], 200, axis=0)
    return calibrant.audit([2] * 400, table, n_resamples=0).classes


MADE = {
    "Answer": lambda: audited().answer,
    "Advice": lambda: audited().advice,
    "Audit": audited,
    "BinaryReduction": lambda: calibrant.door.multiclass_sample(LABELS, TABLE).top_label(),
    "Bracket": lambda: calibrant.calibration_distance(Y, V),
    "Premises": lambda: gated().premises,
    "CalibrationBelt": lambda: calibrant.decisions.calibration_belt(Y, V),
    "CalibrationBins": lambda: calibrant.calibration_bins(Y, V),
    "CalibrationMonitor": monitor,
    "CalibrationSketch": sketch,
    "CensoredOutcomes": lambda: calibrant.censored_outcomes(np.arange(1.0, 7.0), [1, 0, 1, 1, 0, 1], 4.0),
    "CalibrationTestResult": lambda: calibrant.calibration_test(Y, V, n_resamples=39, random_state=0),
    "ClassEvidence": lambda: calibrant.inference.class_wise_test(LABELS, TABLE).each_class[0],
    "ClassWiseResult": lambda: calibrant.inference.class_wise_test(LABELS, TABLE),
    "ClassicalResult": lambda: calibrant.spiegelhalter_test(Y, V),
    "ComparisonResult": lambda: calibrant.compare_calibration(Y, V, V**2, n_resamples=39, random_state=0),
    "ClinicalCalibration": lambda: calibrant.clinical_calibration(Y, V, n_resamples=39, random_state=0),
    "PairwiseComparison": lambda: inference.compare_all(Y, {"a": V, "b": V**2}, n_resamples=39, random_state=0),
    "ClassFindings": lambda: by_class().classes,
    "Confusion": lambda: confused().confusions[0],
    "ConfusionTable": lambda: confused().confusion_table,
    "Comparison": lambda: compare(("a", "b"), (audited(), audited()), ((Y, V), (Y, V)), seed=0),
    "CorpDecomposition": lambda: calibrant.corp_decomposition(Y, V),
    "CorpRegions": lambda: calibrant.inference.corp_regions(Y, V, n_resamples=39, random_state=0),
    "Coupling": lambda: certificate().coupling,
    "CoxResult": lambda: calibrant.cox_test(Y, V),
    "Acting": lambda: acting_from_sample(Sample.from_columns(Y, V), SimpleNamespace(threshold=0.5, level=0.05), 0, 0),
    "Cost": lambda: cost_from_sample(Sample.from_columns(Y, V), 0.05),
    "DecisionBand": lambda: calibrant.decision_curve(Y, V).band(n_resamples=39, random_state=0),
    "DecisionCurve": lambda: calibrant.decision_curve(Y, V),
    "DiscreteResult": lambda: calibrant.discrete_calibration_test(Y, np.round(V, 1)),
    "DistanceChainDisplay": lambda: calibrant.report.DistanceChainDisplay.from_predictions(Y, V),
    "GroupLine": lambda: calibrant.audit(Y, V, groups=np.arange(len(Y)) // 3, n_resamples=0).group_line,
    "Estimate": lambda: calibrant.clinical_calibration(Y, V, n_resamples=39, random_state=0).ici,
    "Evidence": lambda: audited().tests["calibration_test"],
    "GradeTestResult": lambda: calibrant.inference.grade_test(Y, np.round(V, 1)),
    "BoundedSegment": lambda: bounded().largest,
    "BoundedSegments": bounded,
    "FoundSegment": lambda: found_segments().strongest,
    "FoundSegments": found_segments,
    "FileError": lambda: calibrant.FileError("path", "is missing", row=3),
    "CalibrationGate": gate,
    "Check": lambda: gated().checks[1],
    "Gated": lambda: gated(),
    "NotWorse": lambda: gated().checks[1].result,
    "GateResult": lambda: calibrant.calibration_gate(Y, V, max_distance=0.1),
    "ImpossibleRows": lambda: calibrant.smooth_calibration_test(Y, np.ones(60), n_resamples=39).impossible,
    "Inequality": lambda: audited().ties.inequalities[0],
    "InputError": lambda: calibrant.InputError("y_true", "row 3 is nan", row=3),
    "Interval": lambda: calibrant.Interval(0.01, 0.04),
    "HosmerLemeshowResult": lambda: calibrant.hosmer_lemeshow_test(Y, V, n_resamples=39, random_state=0),
    "IntervalPartition": lambda: calibrant.measures.interval_calibration_partition(Y, V),
    "LowerCertificate": certificate,
    "Certificate": lambda: calibrant.measures.calibration_certificate(Y, V),
    "CalibrationTest": lambda: calibrant.inference.calibration_tests()["cox_test"],
    "Measure": lambda: calibrant.measures.measures()["smooth_calibration_error"],
    "MeasureValue": lambda: audited().measures["smooth_calibration_error"],
    "MonitorReading": lambda: monitor().update(Y, V),
    "MulticlassSample": lambda: calibrant.door.multiclass_sample(LABELS, TABLE),
    "Period": lambda: drifted(),
    "ReferenceReading": lambda: drifted().since_reference,
    "MurphyDiagram": lambda: calibrant.murphy_diagram(Y, V),
    "PopulationBounds": lambda: calibrant.population_bounds(Y, V),
    "Potentials": lambda: certificate().potentials,
    "Question": lambda: by_class().classes.questions[0],
    "RecalibratedClassifier": lambda: calibrant.RecalibratedClassifier(LogisticRegression(), cv=2).fit(X, Y),
    "CertifiedGain": lambda: recalibration.certified_gain(Y, V, random_state=0),
    "RecalibrationChoice": choice,
    "RecalibrationComparison": comparison_of_maps,
    "RecalibrationGain": lambda: choice().gain,
    "RecalibrationScore": lambda: comparison_of_maps().scores[0],
    "Results": lambda: calibrant.calibration_by_segment(FRAME, y_true="y", y_prob="p", by=["day"]),
    "ScoreGain": lambda: choice().gain.log_loss,
    "RegretBounds": lambda: calibrant.inference.regret_bounds(Y, V),
    "Region": lambda: calibrant.audit(np.zeros(90), np.linspace(0.3, 0.7, 90), n_resamples=0).regions[0],
    "RepairScore": lambda: repair().scores_[1],
    "Reliability": lambda: audited().reliability,
    "ReliabilityDisplay": lambda: calibrant.ReliabilityDisplay.from_predictions(Y, V),
    "Segment": lambda: calibrant.calibration_by_segment(FRAME, y_true="y", y_prob="p", by=["day"])[0],
    "SegmentCorrection": lambda: repair().corrections_[0],
    "SegmentRecalibrator": repair,
    "SquaredErrorInterval": lambda: calibrant.inference.squared_error_interval(0.01, 10**6, 10),
    "TestComponent": lambda: calibrant.calibration_test(Y, V, n_resamples=39).components["Cox score"],
    "TestRegion": lambda: calibrant.calibration_test(Y, V, n_resamples=39).region,
    "TCalResult": lambda: calibrant.tcal_test(Y, V, n_resamples=500, random_state=0),
    "TestResult": lambda: calibrant.smooth_calibration_test(Y, V, n_resamples=39, random_state=0),
    "Ties": lambda: audited().ties,
    "TwoSampleResult": lambda: calibrant.two_sample_calibration_test(Y, V, n_resamples=999, random_state=0),
    "Witness": lambda: calibrant.smooth_calibration_witness(Y, V),
    "calibration_scorer": lambda: calibrant.calibration_scorer("expected_calibration_error", n_bins=10),
}


def public(room):
    return {name for name in room.__all__ if inspect.isclass(getattr(room, name))}


APART = ("ax_", "_lock", "__weakref__", "__dict__")  # a drawing and a lock belong to one object alone
MAPS = sorted(name for name in public(recalibration) if hasattr(getattr(recalibration, name), "transform"))


def same(a, b):
    """Whether two values hold the same, arrays and objects of our own included."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, BaseException):
        return type(a) is type(b) and str(a) == str(b) and vars(a) == vars(b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a).__module__.startswith("calibrant") and not callable(getattr(a, "items", None)):
        names = [*getattr(a, "__dict__", {}), *getattr(type(a), "__slots__", ())]
        return type(a) is type(b) and all(
            same(getattr(a, name), getattr(b, name)) for name in names if name not in APART
        )
    if callable(getattr(a, "items", None)):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    return type(a) is type(b) and (a == b or a != a or type(a).__module__.startswith(("sklearn", "numpy")))


ROOMS = ("decisions", "findings", "inference", "measures", "recalibration", "scale", "segments")
RESULTS = {
    name: found
    for home in sorted(
        each.name for each in walk_packages([str(PACKAGE)], "calibrant.") if each.name.split(".")[1] in ROOMS
    )
    for name, found in vars(import_module(home)).items()
    if inspect.isclass(found) and issubclass(found, Result) and found.__module__ == home
}


def test_every_result_is_one_and_is_tried():
    dataclasses = {name for name, found in CLASSES.items() if is_dataclass(found) and MODULE_OF[name].startswith(ROOMS)}
    assert dataclasses - set(RESULTS) == set()
    assert set(RESULTS) - set(MADE) == {"Finding", "AuditRecord", "Proof"}  # parts of an audit, of a comparison; a base


def rows_of(frame):
    """A data frame's rows as plain values, null and NaN alike."""
    if isinstance(frame, pandas.DataFrame):
        frame = pyarrow.Table.from_pandas(frame, preserve_index=False)
    listed = frame.to_pylist() if isinstance(frame, pyarrow.Table) else frame.to_dicts()
    return [{name: None if value != value else value for name, value in row.items()} for row in listed]


FIRST_SCREENS = {"Audit", "Comparison"}  # a notebook shows their answer and a picture (tests/report/test_notebook.py)


@pytest.mark.parametrize("name", sorted(set(RESULTS) & set(MADE)))
def test_a_result_says_itself_in_words_and_in_plain_values(name):
    value = MADE[name]()
    said = value.summary()
    assert said != repr(value)
    assert said == said.strip()
    shown = str(value).splitlines()[0] if name in FIRST_SCREENS else said
    assert escape(shown) in " ".join(value._repr_html_().split()) or escape(said) in value._repr_html_()
    json.dumps(value.to_dict(), allow_nan=False)
    of_pandas, of_polars, of_pyarrow = (value.to_frame(each) for each in BACKENDS)
    assert list(of_pandas.columns) == of_polars.columns == of_pyarrow.column_names
    assert rows_of(of_pandas) == rows_of(of_polars) == rows_of(of_pyarrow)
    told = rows_of(of_pyarrow)
    if told and not value._parts and type(value)._table is Result._table:  # else a row is of a part
        singles = {each.name: getattr(value, each.name) for each in fields(value)}
        singles = {name: each for name, each in singles.items() if isinstance(each, int | float | str) and each == each}
        assert all(row[name] == each for row in told for name, each in singles.items())
    file = io.BytesIO()
    joblib.dump(value, file)
    file.seek(0)
    assert same(joblib.load(file), value)


def test_every_public_class_is_tried():
    assert set(CLASSES) - {"Result"} - set(MADE) - set(MAPS) == set()


@pytest.mark.parametrize("name", MADE)
def test_it_pickles_copies_and_shows_itself(name):
    value = MADE[name]()
    assert same(pickle.loads(pickle.dumps(value)), value)
    assert same(copy.deepcopy(value), value)
    assert len(repr(value)) < 500
    assert "\n" not in repr(value) or name == "RecalibratedClassifier"


@pytest.mark.parametrize("name", [name for name in MAPS if name not in ("Recalibrator", "MulticlassRecalibrator")])
def test_recalibrators_pickle_and_copy(name):
    maker = getattr(recalibration, name)
    several = issubclass(maker, recalibration.MulticlassRecalibrator)
    at, y = (TABLE, LABELS) if several else (V, Y)
    fitted = maker().fit(at, y)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert np.array_equal(again.transform(at), fitted.transform(at))


def test_a_grid_search_with_the_scorer_pickles():
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=calibrant.calibration_scorer(), cv=2)
    search.fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    assert again.score(X, Y) == search.score(X, Y)
    assert "smooth_calibration_error" in repr(search.scoring)


def test_an_error_keeps_its_fields():
    again = pickle.loads(pickle.dumps(calibrant.FileError("y_prob", "row 3 is nan", row=3)))
    assert (type(again), again.argument, again.row, str(again)) == (
        calibrant.FileError,
        "y_prob",
        3,
        "y_prob: row 3 is nan",
    )


@pytest.mark.slow
def test_an_audit_shows_itself_and_cannot_be_written_to():
    found = audited()
    assert repr(found).startswith(f"Audit({state_in_words(found.answer, found)}")
    assert found.answer.details[0] in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()
    with pytest.raises(TypeError):
        found.measures["smooth_calibration_error"] = None
