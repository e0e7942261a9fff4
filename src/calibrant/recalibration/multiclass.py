"""Recalibrators of class probabilities: temperature, vector and Dirichlet scaling."""

from __future__ import annotations

__all__ = ["DirichletScaling", "MulticlassRecalibrator", "TemperatureScaling", "VectorScaling"]

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from calibrant.door.classes import MulticlassSample, class_probabilities, multiclass_sample
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.sums import dot
from calibrant.recalibration.base import Levels, Recalibrator, check_clip, read_predictions
from calibrant.recalibration.logistic import inner_expit, log_odds
from calibrant.recalibration.scaling import what_a_line_does

FloatArray = npt.NDArray[np.float64]

_MOST_NEWTON = 25  # classes: above, the Hessian is larger than what it saves
_COLDEST, _HOTTEST = 1e-3, 1e3


class MulticlassRecalibrator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map from K class probabilities to corrected ones, fitted to labels.

    ``fit(y_prob, y_true, sample_weight=None)`` takes a table of shape (n, K), whose rows add up to 1, and
    labels as `calibrant.door.classes.multiclass_sample` reads them; ``predict(y_prob)`` returns a table.
    """

    def fit(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the map to class probabilities, labels and weights; InputError if they cannot be used."""
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight)
        self.classes_ = np.array(sample.classes)
        self._fit_classes(sample)
        return self

    def predict(self, y_prob: Any) -> FloatArray:
        """Return corrected class probabilities of shape (n, K), rows adding up to 1."""
        check_is_fitted(self)
        table = class_probabilities(y_prob)
        if table.shape[1] != self.classes_.size:
            raise InputError("y_prob", f"has {table.shape[1]} columns; the fit had {self.classes_.size}")
        return self._map_classes(table)

    def transform(self, y_prob: Any) -> FloatArray:
        """Return what `predict` returns, for pipelines."""
        return self.predict(y_prob)

    def score(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score, the sum over classes of squared errors: higher is better."""
        names = None if self.classes_.dtype.kind in "iu" else self.classes_.tolist()
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, classes=names)
        error = self.predict(y_prob)
        error[np.arange(error.shape[0]), sample.y_true] -= 1.0
        return -float(np.average((error**2).sum(axis=1), weights=sample.sample_weight))

    def describe(self) -> str:
        """Return one sentence that says what the fit did."""
        check_is_fitted(self)
        return self._describe()

    def _fit_classes(self, sample: MulticlassSample) -> None:
        raise NotImplementedError

    def _map_classes(self, table: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _describe(self) -> str:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        """Say that fitting needs labels."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class TemperatureScaling(Recalibrator):
    """One number, the temperature, by which all log-odds (or the logarithms of class probabilities) are divided.

    Parameters
    ----------
    clip : float, default 1e-12
        Probabilities closer than this to 0 (or 1) are read as being this far from it.

    Attributes
    ----------
    temperature_ : float
        Above 1, predictions are drawn towards 1/2 (of classes, 1/K); between 1e-3 and 1e3, the ends being taken where
        the likeliest one is beyond them.
    domain_ : tuple of float
        The range of the predictions, where it was fitted to one column.
    n_classes_ : int or None
        Columns of the table it was fitted to, None if it was fitted to one column.

    Notes
    -----
    ``fit`` takes y_prob of shape (n,), or of shape (n, K) with labels. The maximum-likelihood temperature, exactly: the
    root of a monotone derivative, found by scipy's ``brentq``. The order of the classes never changes. Where every row
    favours what happened the likeliest temperature is 0, and 1e-3 is taken. Predictions that are all 1/2, or
    1/K, leave it at 1.

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
    >>> TemperatureScaling().fit(table, [0, 0, 1]).describe()
    'Temperature scaling divides log-odds by 3.170: class probabilities are evened out.'
    """

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def fit(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the temperature to predictions of shape (n,) or (n, K), outcomes or labels, and weights."""
        check_clip(self.clip)
        self.n_classes_ = None
        if _columns(y_prob) < 2:
            return super().fit(y_prob, y_true, sample_weight)
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight)
        self.n_classes_ = sample.n_classes
        score = _log_probabilities(sample.y_prob, self.clip)
        score -= score.max(axis=1, keepdims=True)
        mass = _masses(sample)
        happened = dot(mass, score[np.arange(score.shape[0]), sample.y_true])

        def slope(inverse: float) -> float:
            expected = (softmax(inverse * score, axis=1) * score).sum(axis=1)
            return dot(mass, expected) - happened

        self.temperature_ = _temperature(slope)
        return self

    def predict(self, y_prob: Any) -> FloatArray:
        """Return corrected probabilities, in the shape of the predictions: (n,) or (n, K)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return self._map(read_predictions(y_prob))
        table = class_probabilities(y_prob)
        if table.shape[1] != self.n_classes_:
            raise InputError("y_prob", f"has {table.shape[1]} columns; the fit had {self.n_classes_}")
        return _inner_softmax(_log_probabilities(table, self.clip) / self.temperature_)

    def score(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score (of classes: the sum over classes of squared errors)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return super().score(y_prob, y_true, sample_weight)
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight)
        error = self.predict(y_prob)
        error[np.arange(error.shape[0]), sample.y_true] -= 1.0
        return -float(np.average((error**2).sum(axis=1), weights=sample.sample_weight))

    def _fit(self, sample: Sample) -> None:
        check_clip(self.clip)
        self.n_classes_ = None
        levels = Levels.from_sample(sample)
        x = log_odds(levels.prediction, self.clip)
        self.domain_ = (float(levels.prediction[0]), float(levels.prediction[-1]))
        self.temperature_ = _temperature(lambda inverse: dot(levels.mass, x * (expit(inverse * x) - levels.rate)))

    def _map(self, prediction: FloatArray) -> FloatArray:
        return inner_expit(log_odds(prediction, self.clip) / self.temperature_)

    def _describe(self) -> str:
        t = self.temperature_
        if self.n_classes_ is None:
            what = what_a_line_does(1.0 / t, 0.0, self.domain_, self._map)
        else:
            done = "unchanged" if t == 1.0 else "evened out" if t > 1.0 else "sharpened"
            what = f": class probabilities are {done}"
        return f"Temperature scaling divides log-odds by {t:.3f}{what}."


def _temperature(slope: Any) -> float:
    """Temperature at which the derivative of the log score with respect to its inverse is zero."""
    if slope(0.0) == slope(1.0):  # nothing to scale: every score is zero
        return 1.0
    if slope(1.0 / _HOTTEST) >= 0.0:
        return _HOTTEST
    if slope(1.0 / _COLDEST) <= 0.0:
        return _COLDEST
    # In the logarithm, so that the root is found to a relative precision.
    root = brentq(lambda log_t: slope(np.exp(-log_t)), np.log(_COLDEST), np.log(_HOTTEST), xtol=1e-13, rtol=1e-13)
    return float(np.exp(root))


class VectorScaling(MulticlassRecalibrator):
    """A factor and a shift for the logarithm of each class probability.

    Parameters
    ----------
    penalty : float, default 1.0
        Weight, in rows, of half the squared departure from the identity. It keeps the fit finite where a class was
        never seen or all labels can be told apart, and fades as rows are added.
    clip : float, default 1e-12
        Probabilities below it are read as it.

    Attributes
    ----------
    scale_, shift_ : ndarray of shape (K,)
        Corrected probabilities are proportional to exp(scale * log(p) + shift).
    classes_ : ndarray of shape (K,)
        Labels, in the order of the columns.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> from calibrant.recalibration import VectorScaling
    >>> table = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 10
    >>> VectorScaling().fit(table, [0, 1, 1] * 10).describe()
    'Vector scaling multiplies the logarithms of 3 class probabilities by 0.453 to 2.069.'
    """

    def __init__(self, penalty: float = 1.0, clip: float = 1e-12) -> None:
        self.penalty = penalty
        self.clip = clip

    def _fit_classes(self, sample: MulticlassSample) -> None:
        k = sample.n_classes
        weights = _fit_softmax(sample, self.penalty, self.clip, np.eye(k, dtype=bool))
        self.scale_, self.shift_ = np.diag(weights[:k]).copy(), weights[k]

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return _inner_softmax(_log_probabilities(table, self.clip) * self.scale_ + self.shift_)

    def _describe(self) -> str:
        low, high = self.scale_.min(), self.scale_.max()
        reversed_ = "; where it is negative the order of predictions is reversed" if low < 0.0 else ""
        return (
            f"Vector scaling multiplies the logarithms of {self.scale_.size} class probabilities by "
            f"{low:.3f} to {high:.3f}{reversed_}."
        )


class DirichletScaling(MulticlassRecalibrator):
    """A linear map of the logarithms of all class probabilities: Dirichlet calibration.

    Parameters
    ----------
    penalty : float, default 1.0
        Weight, in rows, of half the squared departure from the identity. Kull et al. penalise only what is off the
        diagonal; this penalty keeps every fit finite and unique.
    clip : float, default 1e-12
        Probabilities below it are read as it.

    Attributes
    ----------
    matrix_ : ndarray of shape (K, K)
        Corrected probabilities are proportional to exp(log(p) @ matrix + shift).
    shift_ : ndarray of shape (K,)
        Shifts.
    classes_ : ndarray of shape (K,)
        Labels, in the order of the columns.

    References
    ----------
    M. Kull et al., "Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with Dirichlet
    calibration", NeurIPS 2019.

    Examples
    --------
    >>> from calibrant.recalibration import DirichletScaling
    >>> table = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 10
    >>> DirichletScaling().fit(table, [0, 1, 1] * 10).predict(table[2:3]).round(2).tolist()
    [[0.02, 0.96, 0.02]]
    """

    def __init__(self, penalty: float = 1.0, clip: float = 1e-12) -> None:
        self.penalty = penalty
        self.clip = clip

    def _fit_classes(self, sample: MulticlassSample) -> None:
        k = sample.n_classes
        weights = _fit_softmax(sample, self.penalty, self.clip, np.ones((k, k), dtype=bool))
        self.matrix_, self.shift_ = weights[:k], weights[k]

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return _inner_softmax(_log_probabilities(table, self.clip) @ self.matrix_ + self.shift_)

    def _describe(self) -> str:
        k = self.shift_.size
        diagonal = np.diag(self.matrix_)
        mixing = np.abs(self.matrix_ - np.diag(diagonal)).max()
        return (
            f"Dirichlet scaling multiplies the logarithms of {k} class probabilities by {diagonal.min():.3f} to "
            f"{diagonal.max():.3f} and mixes them by {mixing:.3f} at most."
        )


def _fit_softmax(sample: MulticlassSample, penalty: float, clip: float, free: npt.NDArray[np.bool_]) -> FloatArray:
    """Matrix of the free entries and shifts, shape (K + 1, K), of the penalised likeliest softmax map."""
    check_clip(clip)
    if isinstance(penalty, bool) or not isinstance(penalty, int | float | np.number) or not 0.0 < penalty < np.inf:
        raise InputError("penalty", f"is {penalty!r:.40}; it must be a positive, finite number")
    n, k = sample.y_prob.shape
    mass = _masses(sample)
    design = np.hstack([_log_probabilities(sample.y_prob, clip), np.ones((n, 1))])
    ridge = penalty * float((mass**2).sum())  # one over the effective number of rows
    identity = np.eye(k + 1, k)
    open_ = np.vstack([free, np.ones(k, dtype=bool)])
    row = np.arange(n)
    root = np.sqrt(mass)

    def full(theta: FloatArray) -> FloatArray:
        weights = np.zeros((k + 1, k))
        weights[open_] = theta
        return weights

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        score = log_softmax(design @ full(theta), axis=1)
        away = theta - identity[open_]
        error = np.exp(score) * mass[:, None]
        error[row, sample.y_true] -= mass
        value = 0.5 * ridge * dot(away, away) - dot(mass, score[row, sample.y_true])
        return value, (design.T @ error)[open_] + ridge * away

    def hessian(theta: FloatArray) -> FloatArray:
        probability = softmax(design @ full(theta), axis=1) * mass[:, None] ** 0.5
        block = np.empty((k + 1, k, k + 1, k))
        for a in range(k):
            for b in range(a, k):
                both = probability[:, a] * (-probability[:, b] if a != b else root - probability[:, a])
                block[:, a, :, b] = block[:, b, :, a] = (design * both[:, None]).T @ design
        used = np.flatnonzero(open_)
        return np.asarray(block.reshape(k * (k + 1), -1)[np.ix_(used, used)] + ridge * np.eye(used.size))

    start = identity[open_]
    if k <= _MOST_NEWTON:
        options = {"gtol": 1e-10, "maxiter": 200}
        fit = minimize(value_and_gradient, start, method="trust-exact", jac=True, hess=hessian, options=options)
    else:
        options = {"gtol": 1e-8, "ftol": 1e-15, "maxiter": 2000, "maxfun": 4000}
        fit = minimize(value_and_gradient, start, method="L-BFGS-B", jac=True, options=options)
    return full(np.asarray(fit.x, dtype=np.float64))


def _log_probabilities(table: FloatArray, clip: float) -> FloatArray:
    return np.asarray(np.log(np.maximum(table, clip)))


def _inner_softmax(score: FloatArray) -> FloatArray:
    """Softmax of each row in which no class is impossible: 0 would only be a number too small for a double."""
    return np.asarray(np.maximum(softmax(score, axis=1), np.finfo(np.float64).tiny))


def _masses(sample: MulticlassSample) -> FloatArray:
    n = sample.y_true.size
    return np.full(n, 1.0 / n) if sample.sample_weight is None else sample.sample_weight / sample.sample_weight.sum()


def _columns(y_prob: Any) -> int:
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else 1
    return len(y_prob[0]) if isinstance(y_prob, list | tuple) and y_prob and isinstance(y_prob[0], list | tuple) else 1
