"""Public name -> the module that defines it. Written by tools/public_names.py."""

_NAMES = {
    "decisions.belt": "CalibrationBelt calibration_belt",
    "decisions.clinical": "ClinicalCalibration clinical_calibration",
    "decisions.curve": "DecisionBand DecisionCurve decision_curve",
    "decisions.line": "Estimate GroupLine",
    "decisions.murphy": "MurphyDiagram murphy_diagram",
    "door.censoring": "CensoredOutcomes censored_outcomes",
    "door.classes": "BinaryReduction MulticlassSample multiclass_sample",
    "door.ends": "Bracket Interval",
    "door.errors": "FileError InputError",
    "door.premises": "Premises",
    "door.values": "Result Results",
    "drift.monitor": "CalibrationMonitor MonitorReading",
    "drift.periods": "Period ReferenceReading calibration_drift",
    "findings.advice": "Advice",
    "findings.arrays": "audit",
    "findings.classes": "ClassFindings Confusion ConfusionTable Question",
    "findings.decision": "Answer",
    "findings.evidence": "Evidence",
    "findings.inequalities": "Inequality",
    "findings.record": "MeasureValue",
    "findings.regions": "Region",
    "findings.reliability": "Reliability",
    "findings.results": "Audit",
    "findings.tables": "audit_table",
    "gate.anytime": "CalibrationGate",
    "inference.bounds.corp": "CorpRegions corp_regions",
    "inference.bounds.gate": "GateResult calibration_gate",
    "inference.bounds.population": "PopulationBounds bootstrap_bounds population_bounds",
    "inference.bounds.regret": "RegretBounds regret_bounds",
    "inference.bounds.squared_error": (
        "SquaredErrorInterval squared_error_bootstrap squared_error_interval squared_error_rows"
    ),
    "inference.comparison.compare": "ComparisonResult compare_calibration",
    "inference.comparison.pairwise": "PairwiseComparison compare_all",
    "inference.testing.calibration": "CalibrationTestResult calibration_test",
    "inference.testing.class_wise": "ClassEvidence ClassWiseResult canonical_kernel_test class_wise_test",
    "inference.testing.classical": (
        "CoxResult HosmerLemeshowResult cox_test hosmer_lemeshow_test miller_test spiegelhalter_test"
    ),
    "inference.testing.discrete": "DiscreteResult GradeTestResult discrete_calibration_test grade_test",
    "inference.testing.distance": (
        "averaged_two_bin_test cumulative_calibration_test kernel_calibration_test smooth_calibration_test"
    ),
    "inference.testing.result": "CalibrationTest ClassicalResult TestResult calibration_tests",
    "inference.testing.tcal": "TCalResult debiased_plug_in tcal_test",
    "inference.testing.two_sample": "TwoSampleResult two_sample_calibration_test",
    "measures.binned": (
        "CalibrationBins binned_calibration_error_bound calibration_bins expected_calibration_error "
        "squared_calibration_error"
    ),
    "measures.certificate": "Certificate calibration_certificate",
    "measures.corp": "CorpDecomposition corp_decomposition",
    "measures.decision_loss": "monotone_decision_loss",
    "measures.distance": "calibration_distance check_predictor upper_calibration_distance",
    "measures.interval": (
        "IntervalPartition interval_calibration_error interval_calibration_partition "
        "random_interval_calibration_error surrogate_interval_calibration_error"
    ),
    "measures.kernel": "convolved_calibration_error kernel_calibration_error squared_canonical_kernel_error",
    "measures.lower": (
        "LowerCertificate lower_calibration_certificate lower_calibration_distance restricted_lower_distance"
    ),
    "measures.lower_check": "Coupling Potentials check_coupling check_potentials",
    "measures.registry": "Measure measures",
    "measures.smooth": "Witness smooth_calibration_error smooth_calibration_witness",
    "measures.two_bin": "averaged_two_bin_calibration_error cutoff_calibration_error squared_averaged_two_bin_error",
    "recalibration.averaged": "AveragedClassScaling AveragedScaling",
    "recalibration.base": "Recalibrator",
    "recalibration.by_segment.estimator": "RepairScore SegmentCorrection SegmentRecalibrator",
    "recalibration.certified": "CertifiedGain certified_gain",
    "recalibration.choose": "RecalibrationChoice choose_recalibrator",
    "recalibration.classifier": "RecalibratedClassifier",
    "recalibration.compare": "RecalibrationComparison RecalibrationScore compare_recalibrators",
    "recalibration.gain": "RecalibrationGain ScoreGain",
    "recalibration.multiclass": "DirichletScaling MulticlassRecalibrator VectorScaling",
    "recalibration.scaling": (
        "BetaScaling HistogramBinning IsotonicScaling NearestCalibrated OffsetScaling PlattScaling PolynomialScaling "
        "ScalingBinning TemperatureScaling VennAbers"
    ),
    "recalibration.storage": "from_json load",
    "report.displays": "DistanceChainDisplay ReliabilityDisplay",
    "scoring": "calibration_scorer",
    "segments.by_column": "Segment calibration_by_segment",
    "segments.results": "FoundSegment FoundSegments",
    "segments.search": "find_segments",
    "sketch.sketch": "CalibrationSketch",
}
MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
