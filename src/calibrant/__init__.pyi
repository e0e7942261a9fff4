"""Written by tools/public_names.py."""

from calibrant import decisions as decisions
from calibrant import door as door
from calibrant import drift as drift
from calibrant import findings as findings
from calibrant import gate as gate
from calibrant import inference as inference
from calibrant import measures as measures
from calibrant import recalibration as recalibration
from calibrant import report as report
from calibrant import segments as segments
from calibrant import sketch as sketch
from calibrant import synthetic as synthetic
from calibrant import tables as tables
from calibrant.decisions.clinical import clinical_calibration as clinical_calibration
from calibrant.decisions.curve import decision_curve as decision_curve
from calibrant.decisions.murphy import murphy_diagram as murphy_diagram
from calibrant.door.censoring import censored_outcomes as censored_outcomes
from calibrant.door.ends import Bracket as Bracket
from calibrant.door.ends import Interval as Interval
from calibrant.door.errors import FileError as FileError
from calibrant.door.errors import InputError as InputError
from calibrant.drift.monitor import CalibrationMonitor as CalibrationMonitor
from calibrant.drift.periods import calibration_drift as calibration_drift
from calibrant.findings.arrays import audit as audit
from calibrant.findings.results import Audit as Audit
from calibrant.findings.tables import audit_table as audit_table
from calibrant.gate.anytime import CalibrationGate as CalibrationGate
from calibrant.inference.bounds.gate import calibration_gate as calibration_gate
from calibrant.inference.bounds.population import bootstrap_bounds as bootstrap_bounds
from calibrant.inference.bounds.population import population_bounds as population_bounds
from calibrant.inference.comparison.compare import compare_calibration as compare_calibration
from calibrant.inference.testing.calibration import calibration_test as calibration_test
from calibrant.inference.testing.classical import cox_test as cox_test
from calibrant.inference.testing.classical import hosmer_lemeshow_test as hosmer_lemeshow_test
from calibrant.inference.testing.classical import spiegelhalter_test as spiegelhalter_test
from calibrant.inference.testing.discrete import discrete_calibration_test as discrete_calibration_test
from calibrant.inference.testing.distance import cumulative_calibration_test as cumulative_calibration_test
from calibrant.inference.testing.distance import kernel_calibration_test as kernel_calibration_test
from calibrant.inference.testing.distance import smooth_calibration_test as smooth_calibration_test
from calibrant.inference.testing.tcal import tcal_test as tcal_test
from calibrant.inference.testing.two_sample import two_sample_calibration_test as two_sample_calibration_test
from calibrant.measures.binned import calibration_bins as calibration_bins
from calibrant.measures.binned import expected_calibration_error as expected_calibration_error
from calibrant.measures.binned import squared_calibration_error as squared_calibration_error
from calibrant.measures.corp import corp_decomposition as corp_decomposition
from calibrant.measures.decision_loss import monotone_decision_loss as monotone_decision_loss
from calibrant.measures.distance import calibration_distance as calibration_distance
from calibrant.measures.distance import upper_calibration_distance as upper_calibration_distance
from calibrant.measures.interval import interval_calibration_error as interval_calibration_error
from calibrant.measures.interval import random_interval_calibration_error as random_interval_calibration_error
from calibrant.measures.interval import surrogate_interval_calibration_error as surrogate_interval_calibration_error
from calibrant.measures.kernel import convolved_calibration_error as convolved_calibration_error
from calibrant.measures.kernel import kernel_calibration_error as kernel_calibration_error
from calibrant.measures.lower import lower_calibration_certificate as lower_calibration_certificate
from calibrant.measures.lower import lower_calibration_distance as lower_calibration_distance
from calibrant.measures.smooth import smooth_calibration_error as smooth_calibration_error
from calibrant.measures.smooth import smooth_calibration_witness as smooth_calibration_witness
from calibrant.measures.two_bin import averaged_two_bin_calibration_error as averaged_two_bin_calibration_error
from calibrant.measures.two_bin import cutoff_calibration_error as cutoff_calibration_error
from calibrant.recalibration.by_segment.estimator import SegmentRecalibrator as SegmentRecalibrator
from calibrant.recalibration.choose import choose_recalibrator as choose_recalibrator
from calibrant.recalibration.classifier import RecalibratedClassifier as RecalibratedClassifier
from calibrant.report.displays import ReliabilityDisplay as ReliabilityDisplay
from calibrant.scoring import calibration_scorer as calibration_scorer
from calibrant.segments.by_column import calibration_by_segment as calibration_by_segment
from calibrant.segments.search import find_segments as find_segments
from calibrant.sketch.sketch import CalibrationSketch as CalibrationSketch

__version__: str
__all__ = [
    "Audit",
    "Bracket",
    "CalibrationGate",
    "CalibrationMonitor",
    "CalibrationSketch",
    "FileError",
    "InputError",
    "Interval",
    "RecalibratedClassifier",
    "ReliabilityDisplay",
    "SegmentRecalibrator",
    "audit",
    "audit_table",
    "averaged_two_bin_calibration_error",
    "bootstrap_bounds",
    "calibration_bins",
    "calibration_by_segment",
    "calibration_distance",
    "calibration_drift",
    "calibration_gate",
    "calibration_scorer",
    "calibration_test",
    "censored_outcomes",
    "choose_recalibrator",
    "clinical_calibration",
    "compare_calibration",
    "convolved_calibration_error",
    "corp_decomposition",
    "cox_test",
    "cumulative_calibration_test",
    "cutoff_calibration_error",
    "decision_curve",
    "discrete_calibration_test",
    "expected_calibration_error",
    "find_segments",
    "hosmer_lemeshow_test",
    "interval_calibration_error",
    "kernel_calibration_error",
    "kernel_calibration_test",
    "lower_calibration_certificate",
    "lower_calibration_distance",
    "monotone_decision_loss",
    "murphy_diagram",
    "population_bounds",
    "random_interval_calibration_error",
    "smooth_calibration_error",
    "smooth_calibration_test",
    "smooth_calibration_witness",
    "spiegelhalter_test",
    "squared_calibration_error",
    "surrogate_interval_calibration_error",
    "tcal_test",
    "two_sample_calibration_test",
    "upper_calibration_distance",
]
