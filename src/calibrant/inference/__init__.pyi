"""Written by tools/public_names.py."""

from calibrant.inference.bootstrap import bootstrap_bounds as bootstrap_bounds
from calibrant.inference.bounds import PopulationBounds as PopulationBounds
from calibrant.inference.bounds import population_bounds as population_bounds
from calibrant.inference.calibration import CalibrationTestResult as CalibrationTestResult
from calibrant.inference.calibration import calibration_test as calibration_test
from calibrant.inference.canonical import canonical_kernel_test as canonical_kernel_test
from calibrant.inference.chi_squared import hosmer_lemeshow_test as hosmer_lemeshow_test
from calibrant.inference.chi_squared import miller_test as miller_test
from calibrant.inference.class_wise import ClassEvidence as ClassEvidence
from calibrant.inference.class_wise import ClassWiseResult as ClassWiseResult
from calibrant.inference.class_wise import class_wise_test as class_wise_test
from calibrant.inference.classical import ClassicalResult as ClassicalResult
from calibrant.inference.classical import CoxResult as CoxResult
from calibrant.inference.classical import cox_test as cox_test
from calibrant.inference.classical import spiegelhalter_test as spiegelhalter_test
from calibrant.inference.compare import ComparisonResult as ComparisonResult
from calibrant.inference.compare import compare_calibration as compare_calibration
from calibrant.inference.corp import CorpRegions as CorpRegions
from calibrant.inference.corp import corp_regions as corp_regions
from calibrant.inference.cumulative import cumulative_calibration_test as cumulative_calibration_test
from calibrant.inference.discrete import DiscreteResult as DiscreteResult
from calibrant.inference.discrete import discrete_calibration_test as discrete_calibration_test
from calibrant.inference.distance_tests import averaged_two_bin_test as averaged_two_bin_test
from calibrant.inference.distance_tests import kernel_calibration_test as kernel_calibration_test
from calibrant.inference.distance_tests import smooth_calibration_test as smooth_calibration_test
from calibrant.inference.gate import GateResult as GateResult
from calibrant.inference.gate import calibration_gate as calibration_gate
from calibrant.inference.grades import GradeTestResult as GradeTestResult
from calibrant.inference.grades import grade_test as grade_test
from calibrant.inference.monitor import CalibrationMonitor as CalibrationMonitor
from calibrant.inference.monitor import MonitorReading as MonitorReading
from calibrant.inference.pairwise import PairwiseComparison as PairwiseComparison
from calibrant.inference.pairwise import compare_all as compare_all
from calibrant.inference.regret import RegretBounds as RegretBounds
from calibrant.inference.regret import regret_bounds as regret_bounds
from calibrant.inference.result import TestResult as TestResult
from calibrant.inference.tcal import debiased_plug_in as debiased_plug_in
from calibrant.inference.tcal import tcal_test as tcal_test
from calibrant.inference.tcal_plan import TCalResult as TCalResult
from calibrant.inference.two_sample import TwoSampleResult as TwoSampleResult
from calibrant.inference.two_sample import two_sample_calibration_test as two_sample_calibration_test
from calibrant.inference.unchanged import ReferenceReading as ReferenceReading
from calibrant.inference.verified_bounds import SquaredErrorInterval as SquaredErrorInterval
from calibrant.inference.verified_bounds import squared_error_bootstrap as squared_error_bootstrap
from calibrant.inference.verified_bounds import squared_error_interval as squared_error_interval
from calibrant.inference.verified_bounds import squared_error_rows as squared_error_rows

__all__ = [
    "CalibrationMonitor",
    "CalibrationTestResult",
    "ClassEvidence",
    "ClassWiseResult",
    "ClassicalResult",
    "ComparisonResult",
    "CorpRegions",
    "CoxResult",
    "DiscreteResult",
    "GateResult",
    "GradeTestResult",
    "MonitorReading",
    "PairwiseComparison",
    "PopulationBounds",
    "ReferenceReading",
    "RegretBounds",
    "SquaredErrorInterval",
    "TCalResult",
    "TestResult",
    "TwoSampleResult",
    "averaged_two_bin_test",
    "bootstrap_bounds",
    "calibration_gate",
    "calibration_test",
    "canonical_kernel_test",
    "class_wise_test",
    "compare_all",
    "compare_calibration",
    "corp_regions",
    "cox_test",
    "cumulative_calibration_test",
    "debiased_plug_in",
    "discrete_calibration_test",
    "grade_test",
    "hosmer_lemeshow_test",
    "kernel_calibration_test",
    "miller_test",
    "population_bounds",
    "regret_bounds",
    "smooth_calibration_test",
    "spiegelhalter_test",
    "squared_error_bootstrap",
    "squared_error_interval",
    "squared_error_rows",
    "tcal_test",
    "two_sample_calibration_test",
]
