"""How far predicted probabilities are from calibrated, exactly, and with a witness anyone can check."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant import recalibration as recalibration
    from calibrant import synthetic as synthetic
    from calibrant.door.classes import BinaryReduction as BinaryReduction
    from calibrant.door.classes import MulticlassSample as MulticlassSample
    from calibrant.door.classes import multiclass_sample as multiclass_sample
    from calibrant.door.errors import FileError as FileError
    from calibrant.door.errors import InputError as InputError
    from calibrant.findings.audit import audit as audit
    from calibrant.findings.found import Audit as Audit
    from calibrant.inference.bootstrap import bootstrap_bounds as bootstrap_bounds
    from calibrant.inference.bounds import PopulationBounds as PopulationBounds
    from calibrant.inference.bounds import population_bounds as population_bounds
    from calibrant.inference.canonical import canonical_kernel_test as canonical_kernel_test
    from calibrant.inference.classical import ClassicalResult as ClassicalResult
    from calibrant.inference.classical import CoxResult as CoxResult
    from calibrant.inference.classical import cox_test as cox_test
    from calibrant.inference.classical import hosmer_lemeshow_test as hosmer_lemeshow_test
    from calibrant.inference.classical import miller_test as miller_test
    from calibrant.inference.classical import spiegelhalter_test as spiegelhalter_test
    from calibrant.inference.compare import ComparisonResult as ComparisonResult
    from calibrant.inference.compare import compare_calibration as compare_calibration
    from calibrant.inference.corp_regions import CorpRegions as CorpRegions
    from calibrant.inference.corp_regions import corp_regions as corp_regions
    from calibrant.inference.cumulative import cumulative_calibration_test as cumulative_calibration_test
    from calibrant.inference.discrete import DiscreteResult as DiscreteResult
    from calibrant.inference.discrete import discrete_calibration_test as discrete_calibration_test
    from calibrant.inference.distance_tests import kernel_calibration_test as kernel_calibration_test
    from calibrant.inference.distance_tests import smooth_calibration_test as smooth_calibration_test
    from calibrant.inference.gate import GateDecision as GateDecision
    from calibrant.inference.gate import TolerantResult as TolerantResult
    from calibrant.inference.gate import calibration_gate as calibration_gate
    from calibrant.inference.gate import tolerant_calibration_test as tolerant_calibration_test
    from calibrant.inference.monitor import CalibrationMonitor as CalibrationMonitor
    from calibrant.inference.monitor import MonitorReading as MonitorReading
    from calibrant.inference.result import TestResult as TestResult
    from calibrant.inference.tcal import TCalResult as TCalResult
    from calibrant.inference.tcal import debiased_plug_in as debiased_plug_in
    from calibrant.inference.tcal import tcal_test as tcal_test
    from calibrant.inference.two_sample import TwoSampleResult as TwoSampleResult
    from calibrant.inference.two_sample import two_sample_calibration_test as two_sample_calibration_test
    from calibrant.inference.verified_bounds import SquaredErrorInterval as SquaredErrorInterval
    from calibrant.inference.verified_bounds import squared_error_bootstrap as squared_error_bootstrap
    from calibrant.inference.verified_bounds import squared_error_interval as squared_error_interval
    from calibrant.inference.verified_bounds import squared_error_rows as squared_error_rows
    from calibrant.measures.binned import CalibrationBins as CalibrationBins
    from calibrant.measures.binned import binned_calibration_error_bound as binned_calibration_error_bound
    from calibrant.measures.binned import calibration_bins as calibration_bins
    from calibrant.measures.binned import expected_calibration_error as expected_calibration_error
    from calibrant.measures.canonical import squared_canonical_kernel_error as squared_canonical_kernel_error
    from calibrant.measures.convolved import convolved_calibration_error as convolved_calibration_error
    from calibrant.measures.corp import CorpDecomposition as CorpDecomposition
    from calibrant.measures.corp import corp_decomposition as corp_decomposition
    from calibrant.measures.distance import Bracket as Bracket
    from calibrant.measures.distance import calibration_distance as calibration_distance
    from calibrant.measures.distance import check_predictor as check_predictor
    from calibrant.measures.distance import upper_calibration_distance as upper_calibration_distance
    from calibrant.measures.distance_schemes import ApproximateDistance as ApproximateDistance
    from calibrant.measures.distance_schemes import prediction_sparsified_distance as prediction_sparsified_distance
    from calibrant.measures.distance_schemes import type_sparsified_distance as type_sparsified_distance
    from calibrant.measures.interval import IntervalPartition as IntervalPartition
    from calibrant.measures.interval import interval_calibration_error as interval_calibration_error
    from calibrant.measures.interval import interval_calibration_partition as interval_calibration_partition
    from calibrant.measures.interval_shifted import (
        random_interval_calibration_error as random_interval_calibration_error,
    )
    from calibrant.measures.interval_shifted import (
        surrogate_interval_calibration_error as surrogate_interval_calibration_error,
    )
    from calibrant.measures.kernel import kernel_calibration_error as kernel_calibration_error
    from calibrant.measures.kernel_estimators import squared_kernel_error_binning as squared_kernel_error_binning
    from calibrant.measures.kernel_estimators import squared_kernel_error_fourier as squared_kernel_error_fourier
    from calibrant.measures.lower import LowerCertificate as LowerCertificate
    from calibrant.measures.lower import lower_calibration_certificate as lower_calibration_certificate
    from calibrant.measures.lower import lower_calibration_distance as lower_calibration_distance
    from calibrant.measures.lower_check import Coupling as Coupling
    from calibrant.measures.lower_check import Potentials as Potentials
    from calibrant.measures.lower_check import check_coupling as check_coupling
    from calibrant.measures.lower_check import check_potentials as check_potentials
    from calibrant.measures.smooth import Witness as Witness
    from calibrant.measures.smooth import smooth_calibration_error as smooth_calibration_error
    from calibrant.measures.smooth import smooth_calibration_witness as smooth_calibration_witness
    from calibrant.measures.squared import squared_calibration_error as squared_calibration_error
    from calibrant.recalibration import RecalibratedClassifier as RecalibratedClassifier
    from calibrant.recalibration import choose_recalibrator as choose_recalibrator
    from calibrant.report.displays import DistanceChainDisplay as DistanceChainDisplay
    from calibrant.report.displays import ReliabilityDisplay as ReliabilityDisplay
    from calibrant.report.displays import plot_distance_chain as plot_distance_chain
    from calibrant.report.displays import plot_reliability as plot_reliability
    from calibrant.report.displays import plot_witness as plot_witness
    from calibrant.scale.drift import Period as Period
    from calibrant.scale.drift import calibration_drift as calibration_drift
    from calibrant.scale.sketch import CalibrationSketch as CalibrationSketch
    from calibrant.scoring import calibration_scorer as calibration_scorer
    from calibrant.segments.named import Segment as Segment
    from calibrant.segments.named import calibration_by_segment as calibration_by_segment

__version__ = "0.1.0"

# Public name -> the module that defines it: nothing is imported before it is asked for.
_HOME = {
    "ApproximateDistance": "measures.distance_schemes",
    "Audit": "findings.found",
    "BinaryReduction": "door.classes",
    "Bracket": "measures.distance",
    "CalibrationBins": "measures.binned",
    "CalibrationMonitor": "inference.monitor",
    "CalibrationSketch": "scale.sketch",
    "ClassicalResult": "inference.classical",
    "ComparisonResult": "inference.compare",
    "CorpDecomposition": "measures.corp",
    "CorpRegions": "inference.corp_regions",
    "Coupling": "measures.lower_check",
    "CoxResult": "inference.classical",
    "DiscreteResult": "inference.discrete",
    "DistanceChainDisplay": "report.displays",
    "FileError": "door.errors",
    "GateDecision": "inference.gate",
    "InputError": "door.errors",
    "IntervalPartition": "measures.interval",
    "LowerCertificate": "measures.lower",
    "MonitorReading": "inference.monitor",
    "MulticlassSample": "door.classes",
    "Period": "scale.drift",
    "PopulationBounds": "inference.bounds",
    "Potentials": "measures.lower_check",
    "RecalibratedClassifier": "recalibration",
    "ReliabilityDisplay": "report.displays",
    "Segment": "segments.named",
    "SquaredErrorInterval": "inference.verified_bounds",
    "TCalResult": "inference.tcal",
    "TestResult": "inference.result",
    "TolerantResult": "inference.gate",
    "TwoSampleResult": "inference.two_sample",
    "Witness": "measures.smooth",
    "audit": "findings.audit",
    "binned_calibration_error_bound": "measures.binned",
    "bootstrap_bounds": "inference.bootstrap",
    "calibration_bins": "measures.binned",
    "calibration_by_segment": "segments.named",
    "calibration_distance": "measures.distance",
    "calibration_drift": "scale.drift",
    "calibration_gate": "inference.gate",
    "calibration_scorer": "scoring",
    "canonical_kernel_test": "inference.canonical",
    "check_coupling": "measures.lower_check",
    "check_potentials": "measures.lower_check",
    "check_predictor": "measures.distance",
    "choose_recalibrator": "recalibration",
    "compare_calibration": "inference.compare",
    "convolved_calibration_error": "measures.convolved",
    "corp_decomposition": "measures.corp",
    "corp_regions": "inference.corp_regions",
    "cox_test": "inference.classical",
    "cumulative_calibration_test": "inference.cumulative",
    "debiased_plug_in": "inference.tcal",
    "discrete_calibration_test": "inference.discrete",
    "expected_calibration_error": "measures.binned",
    "hosmer_lemeshow_test": "inference.classical",
    "interval_calibration_error": "measures.interval",
    "interval_calibration_partition": "measures.interval",
    "kernel_calibration_error": "measures.kernel",
    "kernel_calibration_test": "inference.distance_tests",
    "lower_calibration_certificate": "measures.lower",
    "lower_calibration_distance": "measures.lower",
    "miller_test": "inference.classical",
    "multiclass_sample": "door.classes",
    "plot_distance_chain": "report.displays",
    "plot_reliability": "report.displays",
    "plot_witness": "report.displays",
    "population_bounds": "inference.bounds",
    "prediction_sparsified_distance": "measures.distance_schemes",
    "random_interval_calibration_error": "measures.interval_shifted",
    "smooth_calibration_error": "measures.smooth",
    "smooth_calibration_test": "inference.distance_tests",
    "smooth_calibration_witness": "measures.smooth",
    "spiegelhalter_test": "inference.classical",
    "squared_calibration_error": "measures.squared",
    "squared_canonical_kernel_error": "measures.canonical",
    "squared_error_bootstrap": "inference.verified_bounds",
    "squared_error_interval": "inference.verified_bounds",
    "squared_error_rows": "inference.verified_bounds",
    "squared_kernel_error_binning": "measures.kernel_estimators",
    "squared_kernel_error_fourier": "measures.kernel_estimators",
    "surrogate_interval_calibration_error": "measures.interval_shifted",
    "tcal_test": "inference.tcal",
    "tolerant_calibration_test": "inference.gate",
    "two_sample_calibration_test": "inference.two_sample",
    "type_sparsified_distance": "measures.distance_schemes",
    "upper_calibration_distance": "measures.distance",
}

_ROOMS = ("recalibration", "synthetic")

__all__ = sorted([*_HOME, *_ROOMS])


if not TYPE_CHECKING:  # a type checker would take it to mean that every name exists

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"calibrant.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
        value = getattr(import_module(f"calibrant.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
