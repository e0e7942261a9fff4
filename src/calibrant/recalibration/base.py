"""What every recalibrator is: a scikit-learn estimator from predicted to corrected probabilities."""

from __future__ import annotations

__all__ = ["Recalibrator"]

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from calibrant.door.arguments import between
from calibrant.door.columns import Column, read_columns
from calibrant.door.sample import Sample
from calibrant.kernels.sums import dot
from calibrant.recalibration.stored import Stored, check

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Distinct predictions that carry weight: what a map of one probability is fitted to.

    Attributes
    ----------
    prediction, rate, weight, mass : ndarray of shape (m,)
        Increasing predictions, mean outcome at each, weight in the user's own units, and share of the weight.
    effective_rows : float
        Kish's effective number of rows.
    """

    prediction: FloatArray
    rate: FloatArray
    weight: FloatArray
    mass: FloatArray
    effective_rows: float

    @classmethod
    def from_sample(cls, sample: Sample) -> Levels:
        """Levels of a sample that carry weight."""
        weight, prediction, outcome = sample.weight, sample.prediction, sample.weighted_outcome
        if weight.min() < 1e-290 * weight.max():  # nothing, or too small to have a share
            held = weight >= 1e-290 * weight.max()
            weight, prediction, outcome = weight[held], prediction[held], outcome[held]
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
        zeros, ones = self.prediction[self.rate < 1.0], self.prediction[self.rate > 0.0]
        if zeros.size == 0 or ones.size == 0:
            return True
        return bool(zeros[-1] <= ones[0] or ones[-1] <= zeros[0])

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


class Recalibrator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Stored):  # type: ignore[misc]
    """A map from one predicted probability to a corrected one, fitted to outcomes.

    ``fit(y_prob, y_true, sample_weight=None)`` and ``predict(y_prob)`` take columns of shape (n,), or tables of shape
    (n, 1); ``transform`` is ``predict``, so that steps can be chained in a pipeline, and ``score`` is minus the Brier
    score, so that a grid search can choose between them.

    See Also
    --------
    RecalibratedClassifier, choose_recalibrator
    """

    def fit(self, y_prob: Column, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the map to predictions, outcomes (0 and 1, or rates between them) and weights; InputError if unusable."""
        return self.fit_sample(Sample.from_columns(y_true, as_column(y_prob), sample_weight))

    def fit_sample(self, sample: Sample) -> Self:
        """Fit the map to what was read already."""
        self._check_parameters()
        self._fit(sample)
        return self

    def predict(self, y_prob: Column) -> FloatArray:
        """Return corrected probabilities of shape (n,)."""
        check_is_fitted(self)
        return self._map(read_predictions(y_prob))

    def transform(self, y_prob: Column) -> FloatArray:
        """Return what `predict` returns, of a table of one column as one, for pipelines and ``set_output``."""
        found = self.predict(y_prob)
        return found[:, None] if found.ndim < len(getattr(y_prob, "shape", ())) else found

    def score(self, y_prob: Column, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score of the corrected probabilities: higher is better."""
        outcome, prediction, weight = read_columns(y_true, as_column(y_prob), sample_weight)
        check_is_fitted(self)
        return -float(np.average((self._map(prediction) - outcome) ** 2, weights=weight))

    def summary(self) -> str:
        """Return one sentence that says what the fit did."""
        check_is_fitted(self)
        return self._in_words()

    @property
    def _n_features_out(self) -> int:
        return 1

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
        with np.errstate(all="ignore"):
            found = self._map(np.linspace(0.0, 1.0, 33))
        check((found >= 0.0) & (found <= 1.0), "fitted", "must map probabilities to probabilities")

    def __sklearn_tags__(self) -> Any:
        """Say that fitting needs outcomes, and that the input may be one dimension."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        return tags


def check_clip(clip: float) -> float:
    """Return how far predictions are kept from 0 and 1, so that their log-odds are finite and distinct."""
    return between(clip, "clip", 1e-300, 0.5)


def check_ends_agree(edges: FloatArray, values: FloatArray) -> None:
    """Raise unless there is a value for each bin."""
    check(values.size == edges.size + 1, "values_", "must be one more than there are edges")
