"""How far predicted probabilities are from calibrated, exactly, and with a witness anyone can check."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.errors import FileError as FileError
    from calibrant.errors import InputError as InputError
    from calibrant.measures.binned import CalibrationBins as CalibrationBins
    from calibrant.measures.binned import binned_calibration_error_bound as binned_calibration_error_bound
    from calibrant.measures.binned import calibration_bins as calibration_bins
    from calibrant.measures.binned import expected_calibration_error as expected_calibration_error
    from calibrant.measures.convolved import convolved_calibration_error as convolved_calibration_error
    from calibrant.measures.distance import Bracket as Bracket
    from calibrant.measures.distance import calibration_distance as calibration_distance
    from calibrant.measures.distance import check_predictor as check_predictor
    from calibrant.measures.distance import upper_calibration_distance as upper_calibration_distance
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
    from calibrant.report.audit import Audit as Audit
    from calibrant.report.audit import audit as audit

__version__ = "0.1.0"

# Public name -> the module that defines it: nothing is imported before it is asked for.
_HOME = {
    "Audit": "report.audit",
    "Bracket": "measures.distance",
    "CalibrationBins": "measures.binned",
    "Coupling": "measures.lower_check",
    "FileError": "errors",
    "InputError": "errors",
    "IntervalPartition": "measures.interval",
    "LowerCertificate": "measures.lower",
    "Potentials": "measures.lower_check",
    "Witness": "measures.smooth",
    "audit": "report.audit",
    "binned_calibration_error_bound": "measures.binned",
    "calibration_bins": "measures.binned",
    "calibration_distance": "measures.distance",
    "check_coupling": "measures.lower_check",
    "check_potentials": "measures.lower_check",
    "check_predictor": "measures.distance",
    "convolved_calibration_error": "measures.convolved",
    "expected_calibration_error": "measures.binned",
    "interval_calibration_error": "measures.interval",
    "interval_calibration_partition": "measures.interval",
    "kernel_calibration_error": "measures.kernel",
    "lower_calibration_certificate": "measures.lower",
    "lower_calibration_distance": "measures.lower",
    "random_interval_calibration_error": "measures.interval_shifted",
    "smooth_calibration_error": "measures.smooth",
    "smooth_calibration_witness": "measures.smooth",
    "squared_kernel_error_binning": "measures.kernel_estimators",
    "squared_kernel_error_fourier": "measures.kernel_estimators",
    "surrogate_interval_calibration_error": "measures.interval_shifted",
    "upper_calibration_distance": "measures.distance",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(f"calibrant.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
