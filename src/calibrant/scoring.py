"""scikit-learn scorers: calibration as something that a search or a cross-validation can report or minimise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from calibrant.errors import InputError
from calibrant.inputs import Column
from calibrant.measures.multiclass import multiclass_sample
from calibrant.measures.registry import measures

Scorer = Callable[..., float]


def calibration_scorer(measure: str = "smooth_calibration_error", **parameters: Any) -> Scorer:
    """Return a scorer for scikit-learn: minus a calibration error of an estimator's predicted probabilities.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Name of any measure here, or "lower_calibration_distance".
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
        If there is no measure of that name. What the measure raises, when the scorer is called.

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
    function = measures()[measure].function
    settings = {**measures()[measure].parameters, **parameters}

    def error(y_true: Column, y_prob: Any, *, sample_weight: Column | None = None) -> float:
        if np.ndim(y_prob) == 2:
            classes = np.unique(y_true).tolist()
            top = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, classes=classes).top_label()
            return float(function(top.y_true, top.y_prob, sample_weight=top.sample_weight, **settings))
        return float(function(y_true, y_prob, sample_weight=sample_weight, **settings))

    error.__name__ = measure
    scorer: Scorer = make_scorer(error, response_method="predict_proba", greater_is_better=False)
    return scorer
