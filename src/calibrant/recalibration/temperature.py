"""Temperature scaling, of one probability or of class probabilities."""

from __future__ import annotations

__all__ = ["TemperatureScaling"]

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant.door.classes import MulticlassSample, class_probabilities, multiclass_sample
from calibrant.door.columns import Column, FloatArray
from calibrant.door.errors import InputError
from calibrant.kernels.softmax import inverse_temperature_slope
from calibrant.recalibration.base import Recalibrator, read_predictions
from calibrant.recalibration.curves.scaling import TemperatureCurve, temperature
from calibrant.recalibration.kinds import Kind, check, count, ends, number, optional
from calibrant.recalibration.multiclass import inner_softmax, log_probabilities, masses


class TemperatureScaling(TemperatureCurve, Recalibrator):
    """One number, the temperature, by which all log-odds (or the logarithms of class probabilities) are divided.

    Parameters
    ----------
    clip : float, default 1e-12
        Probabilities closer than this to 0 (or 1) are read as being this far from it.

    Attributes
    ----------
    temperature_ : float
        Above 1, predictions are drawn towards 1/2 (with classes, 1/K). Between 1e-3 and 1e3, an end being taken if the
        maximum of the likelihood is beyond it.
    domain_ : tuple of float or None
        The range of the predictions; None if it was fitted to a table.
    n_classes_ : int or None
        Columns of the table it was fitted to, None if it was fitted to one column.

    See Also
    --------
    PlattScaling, VectorScaling, choose_recalibrator

    Notes
    -----
    ``fit`` takes y_prob of shape (n,), or of shape (n, K) with labels. The maximum-likelihood temperature, exactly: the
    root of a monotone derivative, by Newton's method between bounds. The order of the classes never changes. If every
    row favours what happened the likelihood is largest at temperature 0, and 1e-3 is taken. Predictions that are all
    1/2, or 1/K, leave it at 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> from calibrant.recalibration import TemperatureScaling
    >>> scaling = TemperatureScaling().fit([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 0, 0, 0, 1])
    >>> round(scaling.temperature_, 3), scaling.predict([0.9]).round(6).tolist()
    (3.17, [0.666667])
    >>> table = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]]
    >>> TemperatureScaling().fit(table, [0, 0, 1]).summary()
    'Temperature scaling divides log-odds by 3.170: class probabilities are evened out.'
    """

    def fit(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the temperature to predictions of shape (n,) or (n, K), outcomes or labels, and weights."""
        if _columns(y_prob) < 2:
            return super().fit(y_prob, y_true, sample_weight)
        return self.fit_classes(multiclass_sample(y_true, y_prob, sample_weight=sample_weight))

    def fit_classes(self, sample: MulticlassSample) -> Self:
        """Fit the temperature to classes that were read already."""
        self._check_parameters()
        self.n_classes_ = sample.n_classes
        self.domain_ = None
        score = log_probabilities(sample.y_prob, self.clip)
        score -= score.max(axis=1, keepdims=True)
        mass = masses(sample)
        self.temperature_ = temperature(
            partial(inverse_temperature_slope, np.ascontiguousarray(score), sample.y_true, mass)
        )
        return self

    def predict(self, y_prob: Any) -> FloatArray:
        """Return corrected probabilities, in the shape of the predictions: (n,) or (n, K)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return self._map(read_predictions(y_prob))
        table = class_probabilities(y_prob)
        if table.shape[1] != self.n_classes_:
            raise InputError("y_prob", f"has {table.shape[1]} columns; the fit had {self.n_classes_}")
        return self._map_classes(table)

    def score(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score (of classes: the sum over classes of squared errors)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return super().score(y_prob, y_true, sample_weight)
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight)
        error = self.predict(y_prob)
        error[np.arange(error.shape[0]), sample.y_true] -= 1.0
        return -float(np.average((error**2).sum(axis=1), weights=sample.sample_weight))

    _fitted: ClassVar[dict[str, Kind]] = {
        "temperature_": number,
        "domain_": optional(ends),
        "n_classes_": optional(count),
    }

    def _check_fitted(self) -> None:
        check((self.n_classes_ is None) != (self.domain_ is None), "domain_", "must be there for one column alone")
        check(self.n_classes_ != 1, "n_classes_", "must be two or more")
        super()._check_fitted()

    @property
    def _n_features_out(self) -> int:
        return self.n_classes_ or 1

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return inner_softmax(log_probabilities(table, self.clip) / self.temperature_)

    def _in_words(self) -> str:
        if self.n_classes_ is None:
            return super()._in_words()
        t = self.temperature_
        change = "unchanged" if t == 1.0 else "evened out" if t > 1.0 else "sharpened"
        return f"Temperature scaling divides log-odds by {t:.3f}: class probabilities are {change}."


def _columns(y_prob: Any) -> int:
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else 1
    return len(y_prob[0]) if isinstance(y_prob, list | tuple) and y_prob and isinstance(y_prob[0], list | tuple) else 1
