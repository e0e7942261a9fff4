"""Base of every recalibrator: a scikit-learn estimator from predicted to corrected probabilities."""

from __future__ import annotations

__all__ = ["Recalibrator"]

from collections.abc import Sized
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.sample import Sample
from calibrant.recalibration.curves.base import Curve
from calibrant.recalibration.serialization import JsonEstimator


def as_column(y_prob: Column) -> Column:
    """Take one column out of a table that has a single one, as scikit-learn's transformers pass it."""
    shape: tuple[int, ...] = getattr(y_prob, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        return np.asarray(y_prob)[:, 0]
    return y_prob


def read_predictions(y_prob: Column) -> FloatArray:
    """Predictions alone, validated as at the door."""
    column = as_column(y_prob)
    rows = len(column) if isinstance(column, Sized) else 1
    return read_columns(np.zeros(rows), column, None)[1]


class Recalibrator(Curve, ClassNamePrefixFeaturesOutMixin, TransformerMixin, JsonEstimator):  # type: ignore[misc]
    """A map from one predicted probability to a corrected one, fitted to outcomes.

    ``fit(y_prob, y_true, sample_weight=None)`` and ``predict(y_prob)`` take columns of shape (n,), or tables of shape
    (n, 1). ``transform`` is ``predict``, so that a pipeline can chain steps. ``score`` is minus the Brier score, so
    that a grid search can choose between them.

    See Also
    --------
    RecalibratedClassifier, choose_recalibrator
    """

    def fit(self, y_prob: Column, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the map to predictions, outcomes (0 and 1, or rates between them) and weights; InputError if unusable."""
        return self.fit_sample(Sample.from_columns(y_true, as_column(y_prob), sample_weight))

    def as_estimator(self) -> Self:
        """Return itself."""
        return self

    def predict(self, y_prob: Column) -> FloatArray:
        """Return corrected probabilities of shape (n,)."""
        check_is_fitted(self)
        return self._map(read_predictions(y_prob))

    def transform(self, y_prob: Column) -> FloatArray:
        """Return what `predict` returns, of a table of one column as one, for pipelines and ``set_output``."""
        predictions = self.predict(y_prob)
        return predictions[:, None] if predictions.ndim < len(getattr(y_prob, "shape", ())) else predictions

    def score(self, y_prob: Column, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score of the corrected probabilities: higher is better."""
        outcome, prediction, weight = read_columns(y_true, as_column(y_prob), sample_weight)
        check_is_fitted(self)
        return -float(np.average((self._map(prediction) - outcome) ** 2, weights=weight))

    def summary(self) -> str:
        """Return one sentence that says what the fit did."""
        check_is_fitted(self)
        return super().summary()

    @property
    def _n_features_out(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Any:
        """Say that fitting needs outcomes, and that the input may be one dimension."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        return tags
