"""Recalibrators of class probabilities: vector and Dirichlet scaling."""

from __future__ import annotations

__all__ = ["DirichletScaling", "MulticlassRecalibrator", "VectorScaling"]

from dataclasses import replace
from math import fsum
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from calibrant.door.arguments import positive
from calibrant.door.classes import MulticlassSample, class_table, multiclass_sample
from calibrant.door.columns import Column, FloatArray
from calibrant.door.errors import InputError
from calibrant.recalibration.curves.base import LARGEST_LOG_ODDS, check_clip, register_map
from calibrant.recalibration.kinds import Kind, check, check_size, column, labels, number, optional, square
from calibrant.recalibration.serialization import JsonEstimator
from calibrant.recalibration.softmax_fit import SoftmaxProblem, Stop, fit_softmax, spread_between

_LEAST_SQUARES = 2.0**-53
"""Least sum of squared shares of the weight: one over the rows, of which there are at most 2**53."""
_CAP = 1e290  # times 691 times any number of classes that fits into memory, a double


def least_ridge(penalty: float) -> float:
    """Ridge of the diagonal and the shifts, the same for rows of any weight."""
    return max(penalty * _LEAST_SQUARES, 5e-324)


def largest_entry(ridges: list[float], start: float = 0.0) -> float:
    """More than any entry of a penalised fit of log probabilities: its loss is at most that of the identity.

    That loss is at most `LARGEST_LOG_ODDS`, and `start` times as much more where a fit starts from another; half of
    the ridge times the squared departure from the identity is at most the whole.
    """
    loss = 2.0 * LARGEST_LOG_ODDS * (1.0 + start)
    return min(1.01 * (1.0 + float(np.sqrt(loss) / np.sqrt(min(ridges)))), _CAP)


class MulticlassRecalibrator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, JsonEstimator):  # type: ignore[misc]
    """A map from K class probabilities to corrected ones, fitted to labels.

    ``fit(y_prob, y_true, sample_weight=None)`` takes a table of shape (n, K), whose rows add up to 1, and labels as
    `calibrant.door.classes.multiclass_sample` reads them. ``predict(y_prob)`` returns a table.

    See Also
    --------
    Recalibrator, TemperatureScaling
    """

    @property
    def estimator_name(self) -> str:
        """Name of its class, as curves of one probability say theirs."""
        return type(self).__name__

    def as_estimator(self) -> Self:
        """Return itself."""
        return self

    def fit(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the map to class probabilities, labels and weights; InputError if they cannot be used."""
        return self.fit_classes(multiclass_sample(y_true, y_prob, sample_weight=sample_weight))

    def fit_classes(self, sample: MulticlassSample, stop: Stop | None = None) -> Self:
        """Fit the map to what was read already; OutOfTime if `stop`, which is asked now and then, says so."""
        self._check_parameters()
        self.classes_ = np.array(sample.labels)
        self._fit_classes(sample, stop)
        return self

    def predict(self, y_prob: Any) -> FloatArray:
        """Return corrected class probabilities of shape (n, K), rows adding up to 1."""
        check_is_fitted(self)
        table = class_table(y_prob).rows()
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

    def summary(self) -> str:
        """Return one sentence that says what the fit did."""
        check_is_fitted(self)
        return self._in_words()

    @property
    def _n_features_out(self) -> int:
        return int(self.classes_.size)

    def _fit_classes(self, sample: MulticlassSample, stop: Stop | None) -> None:
        raise NotImplementedError

    def _map_classes(self, table: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _in_words(self) -> str:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        """Say that fitting needs labels."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@register_map("vector", "vector scaling", order=100, classes=True)
class VectorScaling(MulticlassRecalibrator):
    """A factor and a shift for the logarithm of each class probability.

    Parameters
    ----------
    penalty : float, default 1.0
        Weight, in rows, of half the squared departure from the identity. It keeps the fit finite if a class never
        occurs or all labels can be separated, and matters less as rows are added.
    clip : float, default 1e-12
        Probabilities below it are read as it.

    Attributes
    ----------
    scale_, shift_ : ndarray of shape (K,)
        Corrected probabilities are proportional to exp(scale * log(p) + shift).
    classes_ : ndarray of shape (K,)
        Labels, in the order of the columns.

    See Also
    --------
    TemperatureScaling, DirichletScaling

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> from calibrant.recalibration import VectorScaling
    >>> table = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 10
    >>> VectorScaling().fit(table, [0, 1, 1] * 10).summary()
    'Vector scaling multiplies the logarithms of 3 class probabilities by 0.453 to 2.069.'
    """

    _fitted: ClassVar[dict[str, Kind]] = {"scale_": column, "shift_": column, "classes_": labels}

    def __init__(self, penalty: float = 1.0, clip: float = 1e-12) -> None:
        self.penalty = penalty
        self.clip = clip

    def _check_parameters(self) -> None:
        positive(self.penalty, "penalty")
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        check(
            self.scale_.size == self.shift_.size == self.classes_.size,
            "shift_",
            "must be as many as there are labels, like all that was fitted",
        )
        largest = largest_entry([least_ridge(self.penalty)])
        check_size(self.scale_, "scale_", largest)
        check_size(self.shift_, "shift_", largest)

    def _fit_classes(self, sample: MulticlassSample, stop: Stop | None) -> None:
        k = sample.n_classes
        weights = fit_softmax(_problem(sample, self.clip, self.penalty, np.inf), stop=stop)
        self.scale_, self.shift_ = np.diag(weights[:k]).copy(), weights[k]

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return inner_softmax(log_probabilities(table, self.clip) * self.scale_ + self.shift_)

    def _in_words(self) -> str:
        low, high = self.scale_.min(), self.scale_.max()
        reversed_ = "; where it is negative the order of predictions is reversed" if low < 0.0 else ""
        return (
            f"Vector scaling multiplies the logarithms of {self.scale_.size} class probabilities by "
            f"{low:.3f} to {high:.3f}{reversed_}."
        )


@register_map("dirichlet", "Dirichlet scaling", order=110, classes=True)
class DirichletScaling(MulticlassRecalibrator):
    """A linear map of the logarithms of all class probabilities: Dirichlet calibration, or matrix scaling.

    Parameters
    ----------
    penalty : float, default 1.0
        Weight, in rows, of half the squared departure of diagonal and shifts from the identity. It keeps every fit
        finite and unique.
    off_diagonal : float, optional
        Weight of the mean square of the entries off the diagonal, beside the mean log loss: the lambda of Kull et al.'s
        ODIR. By default it is estimated: one over the rows times the mean square that the entries show beyond chance.
        Where they show none the matrix is diagonal.
    intercept : float, optional
        Weight of the mean square of the shifts, ODIR's mu, in place of `penalty` for them.
    clip : float, default 1e-12
        Probabilities below it are read as it.

    Attributes
    ----------
    matrix_ : ndarray of shape (K, K)
        Corrected probabilities are proportional to exp(log(p) @ matrix + shift).
    shift_ : ndarray of shape (K,)
        Shifts.
    off_diagonal_ : float or None
        The weight that was used; None where the matrix is diagonal.
    classes_ : ndarray of shape (K,)
        Labels, in the order of the columns.

    See Also
    --------
    VectorScaling, TemperatureScaling

    Notes
    -----
    The K (K - 1) entries off the diagonal are more than most samples can tell. Of 100 classes and 10,000 rows they
    would take as much from chance as a log score of half a nat. The estimate is by moments (the score test of a
    variance component): entries are taken as draws around 0, as ridge regression does.

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

    _fitted: ClassVar[dict[str, Kind]] = {
        "matrix_": square,
        "shift_": column,
        "off_diagonal_": optional(number),
        "classes_": labels,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        off_diagonal: float | None = None,
        intercept: float | None = None,
        clip: float = 1e-12,
    ) -> None:
        self.penalty = penalty
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.clip = clip

    def _check_parameters(self) -> None:
        positive(self.penalty, "penalty")
        if self.off_diagonal is not None:
            positive(self.off_diagonal, "off_diagonal")
        if self.intercept is not None:
            positive(self.intercept, "intercept")
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        check(
            len(self.matrix_) == self.shift_.size == self.classes_.size,
            "shift_",
            "must be as many as there are labels, like all that was fitted",
        )
        k, own = self.classes_.size, least_ridge(self.penalty)
        ridges, start = [own], 0.0
        if self.off_diagonal is not None:
            ridges.append(2.0 * self.off_diagonal / (k * (k - 1)))
        if self.intercept is not None:  # the first fit, from which the second starts, is without it
            ridges.append(2.0 * self.intercept / k)
            start = ridges[-1] / own
        largest = largest_entry(ridges, start)
        check_size(self.matrix_, "matrix_", largest)
        check_size(self.shift_, "shift_", largest)
        check(self.off_diagonal_ is None or self.off_diagonal_ > 0.0, "off_diagonal_", "must be above zero")

    def _fit_classes(self, sample: MulticlassSample, stop: Stop | None) -> None:
        k = sample.n_classes
        problem = _problem(sample, self.clip, self.penalty, np.inf)
        weights = fit_softmax(problem, stop=stop)
        least = float(problem.ridge[0, 0])
        if self.off_diagonal is None:
            mean_square = spread_between(problem, weights)
            off = max(least, float((problem.mass**2).sum()) / mean_square) if mean_square > 0.0 else np.inf
        else:
            off = 2.0 * self.off_diagonal / (k * (k - 1))
        ridge = np.where(np.isfinite(problem.ridge), problem.ridge, off)
        if self.intercept is not None:
            ridge[k] = 2.0 * self.intercept / k
        if off < np.inf or self.intercept is not None:
            weights = fit_softmax(replace(problem, ridge=ridge), weights, stop)
        self.matrix_, self.shift_ = weights[:k], weights[k]
        self.off_diagonal_ = 0.5 * off * k * (k - 1) if off < np.inf else None

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return inner_softmax(log_probabilities(table, self.clip) @ self.matrix_ + self.shift_)

    def _in_words(self) -> str:
        k = self.shift_.size
        diagonal = np.diag(self.matrix_)
        mixing = np.abs(self.matrix_ - np.diag(diagonal)).max()
        return (
            f"Dirichlet scaling multiplies the logarithms of {k} class probabilities by {diagonal.min():.3f} to "
            f"{diagonal.max():.3f} and mixes them by {mixing:.3f} at most."
        )


def _problem(sample: MulticlassSample, clip: float, penalty: float, off_diagonal: float) -> SoftmaxProblem:
    """The fit of all rows, with a penalty in rows of the diagonal and the shifts, and this one off the diagonal."""
    k = sample.n_classes
    mass = masses(sample)
    ridge = np.full((k + 1, k), off_diagonal)
    own = penalty * float((mass**2).sum())  # one over the effective number of rows
    ridge[np.arange(k), np.arange(k)] = own
    ridge[k] = own
    return SoftmaxProblem(log_probabilities(sample.y_prob, clip), sample.y_true, mass, ridge)


def log_probabilities(table: FloatArray, clip: float) -> FloatArray:
    """Logarithms of class probabilities, none below that of clip."""
    return np.asarray(np.log(np.maximum(table, clip)))


def inner_softmax(score: FloatArray) -> FloatArray:
    """Softmax of each row in which no class is impossible: 0 would only be a number too small for a double."""
    return np.asarray(np.maximum(softmax(score, axis=1), np.finfo(np.float64).tiny))


def masses(sample: MulticlassSample) -> FloatArray:
    """Share of the weight of each row, to the last bit in any order of the rows."""
    n = sample.y_true.size
    return np.full(n, 1.0 / n) if sample.sample_weight is None else sample.sample_weight / fsum(sample.sample_weight)
