"""A classifier whose probabilities are recalibrated, cross-fitted with scikit-learn's tools."""

from __future__ import annotations

__all__ = ["RecalibratedClassifier"]

from typing import Any, Self
from warnings import warn

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from calibrant.door.classes import class_probabilities
from calibrant.door.errors import InputError
from calibrant.recalibration.methods import make_recalibrator
from calibrant.recalibration.multiclass import MulticlassRecalibrator
from calibrant.recalibration.temperature import TemperatureScaling

FloatArray = npt.NDArray[np.float64]


class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with a recalibrator behind it, fitted to predictions for rows that the classifier had not seen.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, or ``decision_function``, which is read as log-odds. A fitted one that is not to be
        fitted again goes in as ``sklearn.frozen.FrozenEstimator(estimator)``.
    method : str or recalibrator, default "platt"
        One of "temperature", "platt", "beta", "polynomial", "scaling_binning", "histogram", "isotonic", "nearest",
        "vector", "dirichlet", or an unfitted recalibrator. With more than two classes, those of one probability are
        fitted a class at a time, and their results are divided by their sum.
    cv : int, splitter or iterable, default 5
        How rows are split, as everywhere in scikit-learn; every row is predicted once, by a copy of the classifier that
        was not fitted to it.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    recalibrators_ : list
        One fitted recalibrator, or one a class.
    classes_ : ndarray of shape (K,)
        Labels.

    Notes
    -----
    `sample_weight` is given to the recalibrator, and to the classifier if its ``fit`` takes it; a warning says where it
    does not, as for a pipeline.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.recalibration import RecalibratedClassifier
    >>> X, y = make_classification(n_samples=400, random_state=0)
    >>> model = RecalibratedClassifier(GaussianNB(), method="beta").fit(X, y)
    >>> model.predict_proba(X).shape
    (400, 2)
    >>> model.summary().startswith("Beta scaling sets log-odds to")
    True
    """

    def __init__(self, estimator: Any, method: Any = "platt", cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Fit the recalibrator to cross-fitted predictions, and the classifier to all rows.

        Raises
        ------
        InputError
            If a class is missing from the rows that a split fits to, or the method is unknown.
        """
        if y is None:
            raise InputError("y", "is None; a classifier requires y to be passed, but the target y is None")
        X, labels = indexable(X, column_or_1d(y, warn=True))  # noqa: N806
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_, column = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            raise InputError("y", "has one class; a classifier needs two classes or more")
        recalibrator = make_recalibrator(self.method)
        splits = self._splits(X, labels)
        params = {}
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
            if has_fit_parameter(self.estimator, "sample_weight"):
                params["sample_weight"] = sample_weight
            else:
                warn(
                    f"{type(self.estimator).__name__}.fit takes no sample_weight: the weights are used for the "
                    "recalibration alone, and the classifier is fitted without them",
                    stacklevel=2,
                )
        response = "predict_proba" if hasattr(self.estimator, "predict_proba") else "decision_function"
        crossed = cross_val_predict(self.estimator, X, labels, cv=splits, method=response, params=params)
        table = _probabilities(crossed, response)
        self.estimator_ = clone(self.estimator).fit(X, labels, **params)
        self._fit_recalibrators(recalibrator, table, column, sample_weight)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return recalibrated class probabilities of shape (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        response = "predict_proba" if hasattr(self.estimator_, "predict_proba") else "decision_function"
        table = _probabilities(getattr(self.estimator_, response)(X), response)
        if isinstance(self.recalibrators_[0], MulticlassRecalibrator) or (
            self.classes_.size > 2 and isinstance(self.recalibrators_[0], TemperatureScaling)
        ):
            return np.asarray(self.recalibrators_[0].predict(table))
        if self.classes_.size == 2:
            p = self.recalibrators_[0].predict(table[:, 1])
            return np.column_stack([1.0 - p, p])
        raw = np.column_stack([r.predict(table[:, k]) for k, r in enumerate(self.recalibrators_)])
        total = raw.sum(axis=1, keepdims=True)
        # Where every class is given nothing, nothing is known.
        return np.asarray(np.where(total > 0.0, raw / np.where(total > 0.0, total, 1.0), 1.0 / self.classes_.size))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most probable label of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def summary(self) -> str:
        """Return, in words, what the recalibration did."""
        check_is_fitted(self)
        if len(self.recalibrators_) == 1:
            return str(self.recalibrators_[0].summary())
        lines = zip(self.classes_, self.recalibrators_, strict=True)
        return "\n".join(f"{label}: {recalibrator.summary()}" for label, recalibrator in lines)

    def _fit_recalibrators(
        self, recalibrator: Any, table: FloatArray, column: npt.NDArray[np.intp], sample_weight: Any
    ) -> None:
        several = isinstance(recalibrator, MulticlassRecalibrator)
        if several or (self.classes_.size > 2 and isinstance(recalibrator, TemperatureScaling)):
            self.recalibrators_ = [recalibrator.fit(table, column, sample_weight)]
        elif self.classes_.size == 2:
            self.recalibrators_ = [recalibrator.fit(table[:, 1], column, sample_weight)]
        else:
            self.recalibrators_ = [
                clone(recalibrator).fit(table[:, k], column == k, sample_weight) for k in range(self.classes_.size)
            ]

    def _splits(self, X: Any, labels: npt.NDArray[Any]) -> list[Any]:  # noqa: N803
        """Split the rows, so that every class is in every part that is fitted to."""
        rare = int(np.unique(labels, return_counts=True)[1].min())
        if isinstance(self.cv, int | np.integer) and rare < self.cv:
            label = self.classes_[np.argmin(np.unique(labels, return_counts=True)[1])]
            raise InputError("y", f"has {rare} rows of class {label!s}; cv={self.cv} needs as many in every class")
        splits = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
        for train, _ in splits:
            missing = np.setdiff1d(self.classes_, labels[train])
            if missing.size:
                raise InputError("cv", f"leaves class {missing[0]!s} out of the rows that a split is fitted to")
        return splits

    def __sklearn_tags__(self) -> Any:
        """Pass on what the classifier says of its input."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _probabilities(response: FloatArray, kind: str) -> FloatArray:
    """Class probabilities of shape (n, K) in double precision, as the classifier returned them."""
    if kind == "decision_function":
        response = np.asarray(response, dtype=np.float64)
        return np.asarray(
            np.column_stack([expit(-response), expit(response)]) if response.ndim == 1 else softmax(response, axis=1)
        )
    return class_probabilities(response)
