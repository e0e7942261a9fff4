"""Written by tools/public_names.py."""

from calibrant.inference.bounds.corp import CorpRegions as CorpRegions
from calibrant.inference.bounds.corp import corp_regions as corp_regions
from calibrant.inference.bounds.gate import GateResult as GateResult
from calibrant.inference.bounds.gate import calibration_gate as calibration_gate
from calibrant.inference.bounds.population import PopulationBounds as PopulationBounds
from calibrant.inference.bounds.population import bootstrap_bounds as bootstrap_bounds
from calibrant.inference.bounds.population import population_bounds as population_bounds
from calibrant.inference.bounds.regret import RegretBounds as RegretBounds
from calibrant.inference.bounds.regret import regret_bounds as regret_bounds
from calibrant.inference.bounds.squared_error import SquaredErrorInterval as SquaredErrorInterval
from calibrant.inference.bounds.squared_error import squared_error_bootstrap as squared_error_bootstrap
from calibrant.inference.bounds.squared_error import squared_error_interval as squared_error_interval
from calibrant.inference.bounds.squared_error import squared_error_rows as squared_error_rows
from calibrant.inference.comparison.compare import ComparisonResult as ComparisonResult
from calibrant.inference.comparison.compare import compare_calibration as compare_calibration
from calibrant.inference.comparison.pairwise import PairwiseComparison as PairwiseComparison
from calibrant.inference.comparison.pairwise import compare_all as compare_all
from calibrant.inference.testing.calibration import CalibrationTestResult as CalibrationTestResult
from calibrant.inference.testing.calibration import calibration_test as calibration_test
from calibrant.inference.testing.class_wise import ClassEvidence as ClassEvidence
from calibrant.inference.testing.class_wise import ClassWiseResult as ClassWiseResult
from calibrant.inference.testing.class_wise import canonical_kernel_test as canonical_kernel_test
from calibrant.inference.testing.class_wise import class_wise_test as class_wise_test
from calibrant.inference.testing.classical import CoxResult as CoxResult
from calibrant.inference.testing.classical import HosmerLemeshowResult as HosmerLemeshowResult
from calibrant.inference.testing.classical import cox_test as cox_test
from calibrant.inference.testing.classical import hosmer_lemeshow_test as hosmer_lemeshow_test
from calibrant.inference.testing.classical import miller_test as miller_test
from calibrant.inference.testing.classical import spiegelhalter_test as spiegelhalter_test
from calibrant.inference.testing.discrete import DiscreteResult as DiscreteResult
from calibrant.inference.testing.discrete import GradeTestResult as GradeTestResult
from calibrant.inference.testing.discrete import discrete_calibration_test as discrete_calibration_test
from calibrant.inference.testing.discrete import grade_test as grade_test
from calibrant.inference.testing.distance import averaged_two_bin_test as averaged_two_bin_test
from calibrant.inference.testing.distance import cumulative_calibration_test as cumulative_calibration_test
from calibrant.inference.testing.distance import kernel_calibration_test as kernel_calibration_test
from calibrant.inference.testing.distance import smooth_calibration_test as smooth_calibration_test
from calibrant.inference.testing.result import CalibrationTest as CalibrationTest
from calibrant.inference.testing.result import ClassicalResult as ClassicalResult
from calibrant.inference.testing.result import TestResult as TestResult
from calibrant.inference.testing.result import calibration_tests as calibration_tests
from calibrant.inference.testing.tcal import TCalResult as TCalResult
from calibrant.inference.testing.tcal import debiased_plug_in as debiased_plug_in
from calibrant.inference.testing.tcal import tcal_test as tcal_test
from calibrant.inference.testing.two_sample import TwoSampleResult as TwoSampleResult
from calibrant.inference.testing.two_sample import two_sample_calibration_test as two_sample_calibration_test

__all__ = [
    "CalibrationTest",
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
    "HosmerLemeshowResult",
    "PairwiseComparison",
    "PopulationBounds",
    "RegretBounds",
    "SquaredErrorInterval",
    "TCalResult",
    "TestResult",
    "TwoSampleResult",
    "averaged_two_bin_test",
    "bootstrap_bounds",
    "calibration_gate",
    "calibration_test",
    "calibration_tests",
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
