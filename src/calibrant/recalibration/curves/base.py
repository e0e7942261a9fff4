"""Base of every map of one probability, and the list of maps, which the choice, a page's words and the docs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from calibrant.door.arguments import between
from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.door.values import Registry
from calibrant.kernels.sums import dot
from calibrant.recalibration.kinds import check


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Distinct predictions that carry weight: what a map of one probability is fitted to."""

    # prediction, rate, weight, mass: (m,), increasing predictions, mean outcome at each, weight in the user's own
    # units, and share of the weight
    prediction: FloatArray
    rate: FloatArray
    weight: FloatArray
    mass: FloatArray
    effective_rows: float  # kish's effective number of rows

    @classmethod
    def from_sample(cls, sample: Sample) -> Levels:
        """Levels of a sample that carry weight."""
        weight, prediction, outcome = sample.weight, sample.prediction, sample.weighted_outcome
        if weight.min() < 1e-290 * weight.max():  # nothing, or too small to have a share
            mask = weight >= 1e-290 * weight.max()
            weight, prediction, outcome = weight[mask], prediction[mask], outcome[mask]
        unit = bool(weight.strides == (0,) and weight[0] == 1.0)  # one unweighted row each: its rate is its outcome
        rate = outcome if unit else np.clip(outcome / weight, 0.0, 1.0)
        return cls(prediction, rate, weight, weight / weight.sum(), sample.effective_rows)

    @property
    def mean_outcome(self) -> float:
        """Weighted mean outcome."""
        return min(max(dot(self.mass, self.rate), 0.0), 1.0)

    @property
    def separable(self) -> bool:
        """Whether a threshold on the prediction tells the outcomes apart, so that no logistic fit is the likeliest."""
        zero, one = self.rate < 1.0, self.rate > 0.0
        if not (zero.any() and one.any()) or not 0.0 < self.mean_outcome < 1.0:  # next to no weight is none
            return True
        last = self.rate.size - 1
        return bool(last - zero[::-1].argmax() <= one.argmax() or last - one[::-1].argmax() <= zero.argmax())

    @property
    def base_log_odds(self) -> float:
        """Log-odds of the mean outcome, drawn in by Platt's imagined rows where there is one outcome only."""
        rate = self.mean_outcome
        if not 0.0 < rate < 1.0:
            rate = dot(self.mass, self.platt_targets())
        return float(np.log(rate / (1.0 - rate)))

    def platt_targets(self) -> FloatArray:
        """Outcomes drawn in by one imagined row a class: Platt's (N+1)/(N+2) for the ones and 1/(N+2) for the zeros."""
        ones = self.effective_rows * self.mean_outcome
        zeros = self.effective_rows - ones
        return self.rate * ((ones + 1.0) / (ones + 2.0)) + (1.0 - self.rate) / (zeros + 2.0)


class Curve:
    """A map from one predicted probability to a corrected one; an estimator is a curve with scikit-learn's conventions.

    Names that end in an underscore are what a fit found, as in scikit-learn, and are the same in the estimator.
    """

    estimator_name: ClassVar[str]
    """Name of the estimator in `calibrant.recalibration` that is this curve."""

    def as_estimator(self) -> Any:
        """The same map as scikit-learn's estimator of its name, fitted."""
        estimator = getattr(import_module("calibrant.recalibration"), self.estimator_name)()
        for name, value in vars(self).items():
            setattr(estimator, name, value.as_estimator() if isinstance(value, Curve) else value)
        return estimator

    def fit_sample(self, sample: Sample) -> Self:
        """Fit the map to what was read already."""
        self._check_parameters()
        self._fit(sample)
        return self

    def summary(self) -> str:
        """Return one sentence that says what the fit did."""
        return self._in_words()

    def _check_parameters(self) -> None:
        """Raise unless the parameters can be used."""

    def _fit(self, sample: Sample) -> None:
        raise NotImplementedError

    def _map(self, prediction: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _range(self) -> tuple[float, float]:
        """Smallest and largest value that the fitted map returns; maps that are not monotone say it themselves."""
        ends = self._map(np.array([0.0, 1.0]))
        return float(ends.min()), float(ends.max())

    def _in_words(self) -> str:
        raise NotImplementedError

    def _check_fitted(self) -> None:
        """Raise unless the fitted values are such as a fit has, which docs/recalibration.md derives."""


LARGEST_LOG_ODDS = 691.0
"""Of a prediction no closer to 0 and 1 than 1e-300, the least clip."""


def check_clip(clip: float) -> float:
    """Return how far predictions are kept from 0 and 1, so that their log-odds are finite and distinct."""
    return between(clip, "clip", 1e-300, 0.5)


def check_ends_agree(edges: FloatArray, values: FloatArray) -> None:
    """Raise unless there is a value for each bin."""
    check(values.size == edges.size + 1, "values_", "must be one more than there are edges")


_CURVES = __name__.rpartition(".")[0]
_ROOM = _CURVES.rpartition(".")[0]


@dataclass(frozen=True)
class Map:
    """One registered map."""

    # name, title: its name as a method, and in words
    name: str
    title: str
    kind: type[Any]  # the curve, or the estimator of a map of classes
    order: int  # its place, from the fewest numbers fitted to the most
    classes: bool  # whether it maps vectors of class probabilities; temperature scaling maps one probability as well

    @property
    def estimator(self) -> type[Any]:
        """Its estimator, which scikit-learn's users fit."""
        return getattr(import_module(_ROOM), self.kind.estimator_name) if issubclass(self.kind, Curve) else self.kind


K = TypeVar("K", bound=type[Any])
_MAPS: Registry[Map] = Registry("map", _ROOM)


def register_map(name: str, title: str, *, order: int, classes: bool = False) -> Callable[[K], K]:
    """Enter the decorated curve, or estimator of classes, in the list of maps, and return it unchanged."""

    def enter(curve_type: K) -> K:
        _MAPS.enter(Map(name, title, curve_type, order, classes), curve_type.__module__, title=title)
        return curve_type

    return enter


def maps() -> Mapping[str, Map]:
    """All registered maps by name; it loads scikit-learn."""
    return _MAPS.entries(_CURVES, _ROOM)


def curves() -> Mapping[str, Map]:
    """The maps of one probability by name; it loads no scikit-learn."""
    return {name: each for name, each in _MAPS.entries(_CURVES).items() if issubclass(each.kind, Curve)}


def title_of(name: str) -> str:
    """A choice in words; maps of classes are known once their module is loaded, and others keep their names."""
    if name == "constant":
        return "one answer for all rows"
    entry = _MAPS.entries(_CURVES).get(name)
    return name if entry is None else entry.title
