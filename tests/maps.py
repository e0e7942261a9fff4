"""Unfitted recalibrators for tests of all of them: of every map of one probability its default, and of some another."""

import numpy as np

from calibrant.recalibration import HistogramBinning, PlattScaling, PolynomialScaling, ScalingBinning
from calibrant.recalibration.curves.base import curves

OTHERWISE = {
    "platt": [PlattScaling(clip=1e-6)],
    "polynomial": [PolynomialScaling(degree=4)],
    "histogram": [HistogramBinning(n_bins=np.int64(4)), HistogramBinning(n_bins=4, strategy="uniform")],
    "scaling_binning": [ScalingBinning(n_bins=4), ScalingBinning(n_bins=3, scaling=PolynomialScaling())],
}
BINARY = [made for name, each in curves().items() for made in OTHERWISE.get(name) or [each.estimator()]]
