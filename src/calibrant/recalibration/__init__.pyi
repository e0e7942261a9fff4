"""Written by tools/public_names.py."""

from calibrant.recalibration.averaged import AveragedClassScaling as AveragedClassScaling
from calibrant.recalibration.averaged import AveragedScaling as AveragedScaling
from calibrant.recalibration.base import Recalibrator as Recalibrator
from calibrant.recalibration.by_segment.estimator import RepairScore as RepairScore
from calibrant.recalibration.by_segment.estimator import SegmentCorrection as SegmentCorrection
from calibrant.recalibration.by_segment.estimator import SegmentRecalibrator as SegmentRecalibrator
from calibrant.recalibration.certified import CertifiedGain as CertifiedGain
from calibrant.recalibration.certified import certified_gain as certified_gain
from calibrant.recalibration.choose import RecalibrationChoice as RecalibrationChoice
from calibrant.recalibration.choose import choose_recalibrator as choose_recalibrator
from calibrant.recalibration.classifier import RecalibratedClassifier as RecalibratedClassifier
from calibrant.recalibration.compare import RecalibrationComparison as RecalibrationComparison
from calibrant.recalibration.compare import RecalibrationScore as RecalibrationScore
from calibrant.recalibration.compare import compare_recalibrators as compare_recalibrators
from calibrant.recalibration.gain import RecalibrationGain as RecalibrationGain
from calibrant.recalibration.gain import ScoreGain as ScoreGain
from calibrant.recalibration.multiclass import DirichletScaling as DirichletScaling
from calibrant.recalibration.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
from calibrant.recalibration.multiclass import VectorScaling as VectorScaling
from calibrant.recalibration.scaling import BetaScaling as BetaScaling
from calibrant.recalibration.scaling import HistogramBinning as HistogramBinning
from calibrant.recalibration.scaling import IsotonicScaling as IsotonicScaling
from calibrant.recalibration.scaling import NearestCalibrated as NearestCalibrated
from calibrant.recalibration.scaling import OffsetScaling as OffsetScaling
from calibrant.recalibration.scaling import PlattScaling as PlattScaling
from calibrant.recalibration.scaling import PolynomialScaling as PolynomialScaling
from calibrant.recalibration.scaling import ScalingBinning as ScalingBinning
from calibrant.recalibration.scaling import TemperatureScaling as TemperatureScaling
from calibrant.recalibration.scaling import VennAbers as VennAbers
from calibrant.recalibration.storage import from_json as from_json
from calibrant.recalibration.storage import load as load

__all__ = [
    "AveragedClassScaling",
    "AveragedScaling",
    "BetaScaling",
    "CertifiedGain",
    "DirichletScaling",
    "HistogramBinning",
    "IsotonicScaling",
    "MulticlassRecalibrator",
    "NearestCalibrated",
    "OffsetScaling",
    "PlattScaling",
    "PolynomialScaling",
    "RecalibratedClassifier",
    "RecalibrationChoice",
    "RecalibrationComparison",
    "RecalibrationGain",
    "RecalibrationScore",
    "Recalibrator",
    "RepairScore",
    "ScalingBinning",
    "ScoreGain",
    "SegmentCorrection",
    "SegmentRecalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "certified_gain",
    "choose_recalibrator",
    "compare_recalibrators",
    "from_json",
    "load",
]
