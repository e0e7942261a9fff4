"""How far predicted probabilities are from calibrated, exactly, and with a witness anyone can check."""

from calibrant.lazily import offer

__version__ = "1.0.0rc1"

# What stands at the top level is chosen here, by hand. All else is in its room's namespace, as `calibrant.measures`.
TOP = (
    # one call, every answer
    "audit",
    "audit_table",
    "Audit",
    "calibration_gate",
    "CalibrationGate",
    "CalibrationMonitor",
    "compare_calibration",
    # how far
    "smooth_calibration_error",
    "lower_calibration_distance",
    "calibration_distance",
    "upper_calibration_distance",
    "interval_calibration_error",
    "random_interval_calibration_error",
    "surrogate_interval_calibration_error",
    "kernel_calibration_error",
    "convolved_calibration_error",
    "expected_calibration_error",
    "squared_calibration_error",
    "averaged_two_bin_calibration_error",
    "cutoff_calibration_error",
    "monotone_decision_loss",
    "smooth_calibration_witness",
    "lower_calibration_certificate",
    "corp_decomposition",
    "calibration_bins",
    # what it costs
    "decision_curve",
    "murphy_diagram",
    "clinical_calibration",
    # is it real
    "calibration_test",
    "censored_outcomes",
    "tcal_test",
    "smooth_calibration_test",
    "kernel_calibration_test",
    "cumulative_calibration_test",
    "cox_test",
    "hosmer_lemeshow_test",
    "spiegelhalter_test",
    "discrete_calibration_test",
    "two_sample_calibration_test",
    "population_bounds",
    "bootstrap_bounds",
    # what to do
    "choose_recalibrator",
    "RecalibratedClassifier",
    "SegmentRecalibrator",
    # at scale, in parts, in time
    "CalibrationSketch",
    "calibration_by_segment",
    "find_segments",
    "calibration_drift",
    # shown, and in other people's tools
    "ReliabilityDisplay",
    "calibration_scorer",
    # what comes back
    "Interval",
    "Bracket",
    "InputError",
    "FileError",
)

__all__, __getattr__, __dir__ = offer(__name__, TOP)
