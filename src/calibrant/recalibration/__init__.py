"""What to do: scikit-learn estimators that turn predicted probabilities into better calibrated ones."""

from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.binning import HistogramBinning, IsotonicScaling, NearestCalibrated, ScalingBinning
from calibrant.recalibration.choose import RecalibrationChoice, RecalibrationScore, choose_recalibrator
from calibrant.recalibration.classifier import RecalibratedClassifier
from calibrant.recalibration.multiclass import (
    DirichletScaling,
    MulticlassRecalibrator,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.recalibration.scaling import BetaScaling, PlattScaling, PolynomialScaling

__all__ = [
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
    "ScalingBinning",
    "TemperatureScaling",
    "VectorScaling",
    "choose_recalibrator",
]
