"""scikit-learn scorers: calibration as something that a search or a cross-validation can report or minimise."""

from __future__ import annotations

__all__ = ["calibration_scorer"]

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import Column, Labels, Table
from calibrant.door.errors import InputError
from calibrant.door.labels import as_labels, distinct, event_outcomes, label_column
from calibrant.measures.registry import measures

_COLUMNS = {"y_true", "y_prob", "sample_weight", "trials", "groups"}


class CalibrationScorer:
    """Minus a calibration error of an estimator's predicted probabilities; `calibration_scorer` makes one.

    Called with (estimator, X, y, sample_weight=None) it returns a float: larger is better, 0 is best.

    Attributes
    ----------
    measure : str
        Name of the measure.
    pos_label : label or None
        The positive one of two classes; None for the second of the estimator's ``classes_``.
    parameters : dict
        What the measure is given besides.
    """

    def __init__(self, measure: str, pos_label: Any, parameters: dict[str, Any]) -> None:
        self.measure = measure
        self.pos_label = pos_label
        self.parameters = parameters
        self._weight_request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y_true: Labels | Table, sample_weight: Column | None = None) -> float:  # noqa: N803
        """Return minus the error of the estimator's probabilities for X."""
        if not hasattr(estimator, "predict_proba"):
            raise InputError("estimator", f"is {estimator!r:.60}", allowed="it needs predict_proba")
        y_prob = np.asarray(estimator.predict_proba(X))
        if y_prob.ndim != 2 or y_prob.shape[1] < 2:
            problem = f"gives probabilities of shape {y_prob.shape}"
            raise InputError("estimator", problem, allowed="a column for each of two or more classes is needed")
        classes = _classes_of(estimator, y_prob.shape[1])
        if y_prob.shape[1] == 2:
            outcome, prediction = self._event(y_true, y_prob, classes)
        else:
            if self.pos_label is not None:
                raise InputError("pos_label", f"is for two classes; the estimator has {y_prob.shape[1]}")
            top = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, classes=classes).top_label()
            outcome, prediction = top.y_true, top.y_prob
        function = measures()[self.measure].function
        return -float(function(outcome, prediction, sample_weight=sample_weight, **self.parameters))

    def __repr__(self) -> str:
        """As it is made."""
        parts = [repr(self.measure)]
        parts += [f"pos_label={self.pos_label!r}"] if self.pos_label is not None else []
        parts += [f"{name}={value!r}" for name, value in self.parameters.items()]
        return f"calibration_scorer({', '.join(parts)})"

    def __sklearn_clone__(self) -> CalibrationScorer:
        """Copy it, with what it requests, for scikit-learn's clone."""
        made = CalibrationScorer(self.measure, self.pos_label, dict(self.parameters))
        made._weight_request = self._weight_request
        return made

    def summary(self) -> str:
        """Return, in words, what it measures."""
        name = self.measure.replace("_", " ")
        return f"Minus the {name}: larger is better, 0 is best. {measures()[self.measure].sentence}"

    def set_score_request(self, *, sample_weight: bool | str | None) -> CalibrationScorer:
        """Say whether scikit-learn's metadata routing is to pass weights on: True, False, or under which name."""
        self._weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what is requested, for scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request

    def _event(self, y_true: Labels | Table, y_prob: Any, classes: Sequence[Any] | None) -> tuple[Any, Any]:
        """Outcomes and probabilities of the positive one of two classes."""
        if classes is None:  # an estimator that does not say what its columns are
            return event_outcomes(y_true, self.pos_label), y_prob[:, 1]
        other = distinct(label_column(as_labels(y_true))) - set(classes)
        if other:
            problem = f"holds {next(iter(other))!r:.40}, which is neither of the estimator's classes {tuple(classes)}"
            raise InputError("y_true", problem)
        label = classes[1] if self.pos_label is None else _plain(self.pos_label)
        if label not in classes:
            raise InputError(
                "pos_label", f"is {label!r:.40}, which is neither of the estimator's classes {tuple(classes)}"
            )
        return event_outcomes(y_true, label), y_prob[:, classes.index(label)]


def calibration_scorer(
    measure: str = "smooth_calibration_error", *, pos_label: Any = None, **parameters: Any
) -> CalibrationScorer:
    """Return a scorer for scikit-learn: minus a calibration error of an estimator's predicted probabilities.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Name of any measure here, or "lower_calibration_distance".
    pos_label : label, optional
        The positive one of two classes, whose probability is scored; by default the second of the estimator's
        ``classes_``, which are in sorted order.
    **parameters
        Passed to the measure, for example ``n_bins=15``.

    Returns
    -------
    CalibrationScorer
        Called with (estimator, X, y, sample_weight=None); larger is better, 0 is best. Of K > 2 classes the top label
        is scored. For ``scoring=`` in `cross_validate`, `GridSearchCV` and the like; ``.summary()`` says what it
        measures.

    Raises
    ------
    InputError
        If there is no measure of that name, or it has no such parameter. When the scorer is called: what the measure
        raises, or if the estimator gives no probabilities. If y holds a label that is not among its classes. If
        `pos_label` is not one of them, or is given for more than two.

    Notes
    -----
    A model that predicts the base rate for everyone is calibrated: do not choose models by this alone. Report it beside
    ``"neg_brier_score"``, or search with ``refit="neg_brier_score"``. Weights reach it by scikit-learn's metadata
    routing: ``calibration_scorer().set_score_request(sample_weight=True)``.
    Cost: one call of ``predict_proba``, and the measure's.

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

    See Also
    --------
    RecalibratedClassifier
    """
    if not isinstance(measure, str) or measure not in measures():
        raise InputError("measure", f"is {measure!r:.60}", allowed=f"it must be one of {', '.join(measures())}")
    allowed = [name for name in signature(measures()[measure].function).parameters if name not in _COLUMNS]
    for name in parameters:
        if name not in allowed:
            ways = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise InputError(name, f"is no parameter of {measure}", allowed=ways)
    return CalibrationScorer(measure, pos_label, {**measures()[measure].parameters, **parameters})


def _classes_of(estimator: Any, k: int) -> list[Any] | None:
    """The labels of an estimator in the order of its columns; None where it does not say."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or len(classes) != k or any(np.ndim(each) for each in classes):
        return None
    return [_plain(each) for each in classes]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
