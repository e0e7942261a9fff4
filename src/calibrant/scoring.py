"""scikit-learn scorers: calibration as something that a search or a cross-validation can report or minimise."""

from __future__ import annotations

__all__ = ["calibration_scorer"]

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.door.labels import as_labels, distinct, event_outcomes, label_column
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
        The positive one of two classes, whose probability is scored; by default the second of the estimator's
        ``classes_``, which are in sorted order, whatever the labels are.
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
        If there is no measure of that name. When the scorer is called, what the measure raises, and if y holds
        another label than the estimator's two, or `pos_label` is none of them or given for more than two classes.

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
    return _Scorer(_Error(measure, {**measures()[measure].parameters, **parameters}), pos_label)


class _Scorer:
    """A scorer as `make_scorer` makes it, whose positive class is the second of the estimator unless it is named."""

    def __init__(self, error: _Error, pos_label: Any) -> None:
        self.error = error
        self.pos_label = pos_label
        self.scorer = _made(error, pos_label)

    def __call__(
        self,
        estimator: Any,
        X: Any,  # noqa: N803
        y_true: Any,
        sample_weight: Column | None = None,
        **named: Any,
    ) -> float:
        scorer = self.scorer
        classes = _two_classes(estimator)
        if classes is not None:
            other = distinct(label_column(as_labels(y_true))) - set(classes)
            if other:
                problem = f"holds {next(iter(other))!r:.40}, which is neither of the estimator's classes {classes}"
                raise InputError("y_true", problem)
            scorer = scorer if self.pos_label is not None else _made(self.error, classes[1])
        return float(scorer(estimator, X, y_true, sample_weight=sample_weight, **named))

    def __repr__(self) -> str:
        return repr(self.scorer)

    def set_score_request(self, **requested: Any) -> _Scorer:
        """Say which metadata scikit-learn is to pass on."""
        self.scorer.set_score_request(**requested)
        return self

    def get_metadata_routing(self) -> Any:
        """Return which metadata scikit-learn is to pass on."""
        return self.scorer.get_metadata_routing()


def _made(error: _Error, pos_label: Any) -> Any:
    said = {} if pos_label is None else {"pos_label": pos_label}
    return make_scorer(error, response_method="predict_proba", greater_is_better=False, **said)


def _two_classes(estimator: Any) -> tuple[Any, ...] | None:
    """The labels of an estimator of two classes, in the order of its columns; not those of several outputs."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or len(classes) != 2 or any(np.ndim(each) for each in classes):
        return None
    return tuple(each.item() if isinstance(each, np.generic) else each for each in classes)


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
