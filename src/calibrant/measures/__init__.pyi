"""Written by tools/public_names.py."""

from calibrant.measures.binned import CalibrationBins as CalibrationBins
from calibrant.measures.binned import binned_calibration_error_bound as binned_calibration_error_bound
from calibrant.measures.binned import calibration_bins as calibration_bins
from calibrant.measures.binned import expected_calibration_error as expected_calibration_error
from calibrant.measures.binned import squared_calibration_error as squared_calibration_error
from calibrant.measures.certificate import Certificate as Certificate
from calibrant.measures.certificate import calibration_certificate as calibration_certificate
from calibrant.measures.corp import CorpDecomposition as CorpDecomposition
from calibrant.measures.corp import corp_decomposition as corp_decomposition
from calibrant.measures.decision_loss import monotone_decision_loss as monotone_decision_loss
from calibrant.measures.distance import calibration_distance as calibration_distance
from calibrant.measures.distance import check_predictor as check_predictor
from calibrant.measures.distance import upper_calibration_distance as upper_calibration_distance
from calibrant.measures.interval import IntervalPartition as IntervalPartition
from calibrant.measures.interval import interval_calibration_error as interval_calibration_error
from calibrant.measures.interval import interval_calibration_partition as interval_calibration_partition
from calibrant.measures.interval import random_interval_calibration_error as random_interval_calibration_error
from calibrant.measures.interval import surrogate_interval_calibration_error as surrogate_interval_calibration_error
from calibrant.measures.kernel import convolved_calibration_error as convolved_calibration_error
from calibrant.measures.kernel import kernel_calibration_error as kernel_calibration_error
from calibrant.measures.kernel import squared_canonical_kernel_error as squared_canonical_kernel_error
from calibrant.measures.lower import LowerCertificate as LowerCertificate
from calibrant.measures.lower import lower_calibration_certificate as lower_calibration_certificate
from calibrant.measures.lower import lower_calibration_distance as lower_calibration_distance
from calibrant.measures.lower import restricted_lower_distance as restricted_lower_distance
from calibrant.measures.lower_check import Coupling as Coupling
from calibrant.measures.lower_check import Potentials as Potentials
from calibrant.measures.lower_check import check_coupling as check_coupling
from calibrant.measures.lower_check import check_potentials as check_potentials
from calibrant.measures.registry import Measure as Measure
from calibrant.measures.registry import measures as measures
from calibrant.measures.smooth import Witness as Witness
from calibrant.measures.smooth import smooth_calibration_error as smooth_calibration_error
from calibrant.measures.smooth import smooth_calibration_witness as smooth_calibration_witness
from calibrant.measures.two_bin import averaged_two_bin_calibration_error as averaged_two_bin_calibration_error
from calibrant.measures.two_bin import cutoff_calibration_error as cutoff_calibration_error
from calibrant.measures.two_bin import squared_averaged_two_bin_error as squared_averaged_two_bin_error

__all__ = [
    "CalibrationBins",
    "Certificate",
    "CorpDecomposition",
    "Coupling",
    "IntervalPartition",
    "LowerCertificate",
    "Measure",
    "Potentials",
    "Witness",
    "averaged_two_bin_calibration_error",
    "binned_calibration_error_bound",
    "calibration_bins",
    "calibration_certificate",
    "calibration_distance",
    "check_coupling",
    "check_potentials",
    "check_predictor",
    "convolved_calibration_error",
    "corp_decomposition",
    "cutoff_calibration_error",
    "expected_calibration_error",
    "interval_calibration_error",
    "interval_calibration_partition",
    "kernel_calibration_error",
    "lower_calibration_certificate",
    "lower_calibration_distance",
    "measures",
    "monotone_decision_loss",
    "random_interval_calibration_error",
    "restricted_lower_distance",
    "smooth_calibration_error",
    "smooth_calibration_witness",
    "squared_averaged_two_bin_error",
    "squared_calibration_error",
    "squared_canonical_kernel_error",
    "surrogate_interval_calibration_error",
    "upper_calibration_distance",
]
