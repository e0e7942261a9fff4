"""scikit-learn scorers: calibration as something that a search or a cross-validation can report or minimise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from calibrant.errors import InputError
from calibrant.inputs import Column
from calibrant.measures.labels import event_outcomes
from calibrant.measures.multiclass import multiclass_sample
from calibrant.measures.registry import measures

Scorer = Callable[..., float]


def calibration_scorer(
    measure: str = "smooth_calibration_error", *, pos_label: Any = None, **parameters: Any
) -> Scorer:
    """Return a scorer for scikit-learn: minus a calibration error of an estimator's predicted probabilities.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Name of any measure here, or "lower_calibration_distance".
    pos_label : label, optional
        The positive one of two classes, whose probability is scored. Labels other than 0 and 1 need it.
    **parameters
        Passed to the measure, for example ``n_bins=15``.

    Returns
    -------
    scorer
        Called with (estimator, X, y, sample_weight=None); larger is better, 0 is best. Of K > 2 classes, which must all
        occur in y, the top label is scored. For ``scoring=`` in `cross_validate`, `GridSearchCV` and the like.

    Raises
    ------
    InputError
        If there is no measure of that name. When the scorer is called, what the measure raises, and if `pos_label` is
        needed, no class, or given for more than two classes.

    Notes
    -----
    A model that predicts the base rate for everyone is calibrated: do not choose models by this alone. Report it beside
    ``"neg_brier_score"``, or search with ``refit="neg_brier_score"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant import calibration_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scoring = {"calibration": calibration_scorer(), "brier": "neg_brier_score"}
    >>> found = cross_validate(GaussianNB(), X, y, scoring=scoring)
    >>> bool((found["test_calibration"] < -0.01).all())
    True
    """
    if measure not in measures():
        raise InputError("measure", f"is {measure!r:.60}; it must be one of {', '.join(measures())}")
    error = _Error(measure, {**measures()[measure].parameters, **parameters})
    said = {} if pos_label is None else {"pos_label": pos_label}
    scorer: Scorer = make_scorer(error, response_method="predict_proba", greater_is_better=False, **said)
    return scorer


class _Error:
    """A measure as scikit-learn calls it; an object of a module's class, so that a search that holds it pickles."""

    def __init__(self, measure: str, parameters: dict[str, Any]) -> None:
        self.__name__ = measure
        self.parameters = parameters

    def __call__(
        self, y_true: Any, y_prob: Any, *, sample_weight: Column | None = None, pos_label: Any = None
    ) -> float:
        function = measures()[self.__name__].function
        if np.ndim(y_prob) == 2:
            if pos_label is not None:
                raise InputError("pos_label", f"is for two classes; the estimator has {np.shape(y_prob)[1]}")
            classes = np.unique(y_true).tolist()
            top = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, classes=classes).top_label()
            return float(function(top.y_true, top.y_prob, sample_weight=top.sample_weight, **self.parameters))
        outcome = event_outcomes(y_true, pos_label)  # scikit-learn has chosen the column by the same label
        return float(function(outcome, y_prob, sample_weight=sample_weight, **self.parameters))
