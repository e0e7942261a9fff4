"""Recalibrators by their names."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import clone

from calibrant.door.errors import InputError
from calibrant.recalibration.averaged import AveragedScaling
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.binning import HistogramBinning, IsotonicScaling, NearestCalibrated, ScalingBinning
from calibrant.recalibration.multiclass import DirichletScaling, MulticlassRecalibrator, VectorScaling
from calibrant.recalibration.scaling import BetaScaling, PlattScaling, PolynomialScaling
from calibrant.recalibration.temperature import TemperatureScaling

Method = Literal[
    "temperature",
    "platt",
    "beta",
    "polynomial",
    "scaling_binning",
    "histogram",
    "isotonic",
    "nearest",
    "averaged",
    "vector",
    "dirichlet",
]

METHODS: dict[Method, type[Recalibrator] | type[MulticlassRecalibrator]] = {
    "temperature": TemperatureScaling,
    "platt": PlattScaling,
    "beta": BetaScaling,
    "polynomial": PolynomialScaling,
    "scaling_binning": ScalingBinning,
    "histogram": HistogramBinning,
    "isotonic": IsotonicScaling,
    "nearest": NearestCalibrated,
    "averaged": AveragedScaling,
    "vector": VectorScaling,
    "dirichlet": DirichletScaling,
}
"""Recalibrators by name, those of one probability from the fewest numbers fitted to the most."""


def make_recalibrator(method: Any, argument: str = "method") -> Any:
    """Return a new, unfitted recalibrator from its name, or a copy of one."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(argument, f"is {method!r:.40}; it must be one of {', '.join(METHODS)}, or a recalibrator")
        return METHODS[method]()
    if not isinstance(method, Recalibrator | MulticlassRecalibrator):
        raise InputError(argument, f"is {method!r:.60}; it must be a recalibrator or the name of one")
    return clone(method)
