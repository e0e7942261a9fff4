"""Written by tools/public_names.py."""

from calibrant.recalibration.averaged import AveragedScaling as AveragedScaling
from calibrant.recalibration.base import Recalibrator as Recalibrator
from calibrant.recalibration.binning import HistogramBinning as HistogramBinning
from calibrant.recalibration.binning import IsotonicScaling as IsotonicScaling
from calibrant.recalibration.binning import NearestCalibrated as NearestCalibrated
from calibrant.recalibration.binning import ScalingBinning as ScalingBinning
from calibrant.recalibration.by_segment.estimator import RepairScore as RepairScore
from calibrant.recalibration.by_segment.estimator import SegmentCorrection as SegmentCorrection
from calibrant.recalibration.by_segment.estimator import SegmentRecalibrator as SegmentRecalibrator
from calibrant.recalibration.choice import RecalibrationChoice as RecalibrationChoice
from calibrant.recalibration.choice import RecalibrationScore as RecalibrationScore
from calibrant.recalibration.choose import choose_recalibrator as choose_recalibrator
from calibrant.recalibration.classifier import RecalibratedClassifier as RecalibratedClassifier
from calibrant.recalibration.multiclass import DirichletScaling as DirichletScaling
from calibrant.recalibration.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
from calibrant.recalibration.multiclass import VectorScaling as VectorScaling
from calibrant.recalibration.scaling import BetaScaling as BetaScaling
from calibrant.recalibration.scaling import PlattScaling as PlattScaling
from calibrant.recalibration.scaling import PolynomialScaling as PolynomialScaling
from calibrant.recalibration.storage import from_json as from_json
from calibrant.recalibration.storage import load as load
from calibrant.recalibration.temperature import TemperatureScaling as TemperatureScaling

__all__ = [
    "AveragedScaling",
    "BetaScaling",
    "DirichletScaling",
    "HistogramBinning",
    "IsotonicScaling",
    "MulticlassRecalibrator",
    "NearestCalibrated",
    "PlattScaling",
    "PolynomialScaling",
    "RecalibratedClassifier",
    "RecalibrationChoice",
    "RecalibrationScore",
    "Recalibrator",
    "RepairScore",
    "ScalingBinning",
    "SegmentCorrection",
    "SegmentRecalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "choose_recalibrator",
    "from_json",
    "load",
]
