"""A classifier whose probabilities are recalibrated, by maps fitted to rows that it had not seen."""

from __future__ import annotations

__all__ = ["RecalibratedClassifier"]

from functools import partial
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, check_is_fitted

from calibrant.door.classes import class_table
from calibrant.door.columns import Column, FloatArray, IntArray, as_numbers, check_weights
from calibrant.door.errors import InputError
from calibrant.door.special import expit
from calibrant.door.values import counted
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.methods import Method, make_recalibrator
from calibrant.recalibration.multiclass import MulticlassRecalibrator
from calibrant.recalibration.scaling import TemperatureScaling
from calibrant.resampling.folds import Split, cross_fitted, folds


class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with a recalibrator behind it, fitted to predictions for rows that the classifier had not seen.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, or ``decision_function``, which is read as log-odds. A fitted one that is not to be
        fitted again is passed as ``sklearn.frozen.FrozenEstimator(estimator)``.
    method : str or recalibrator, default "platt"
        The name of a map, as `Method` lists them: "temperature", "beta", "isotonic" and others; or an unfitted
        recalibrator. With more than two classes, maps of one probability are fitted class by class, and their results
        are divided by their sum.
    cv : int, splitter or iterable, default 5
        Number of parts that the rows are split into, with every class in each, or a splitter of scikit-learn's. Every
        row is predicted once, by a copy of the classifier that was not fitted to it. Not used by a frozen one.
    pos_label : label, optional
        Of two classes the one whose probability is recalibrated and that `summary` is about; by default the second of
        ``classes_``.
    n_jobs : int, optional
        Number of copies that are fitted at the same time, as in scikit-learn.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows; the given one if it is frozen.
    recalibrators_ : list
        One fitted recalibrator, or one per class; each has ``save``, for ``calibrant.recalibration.load``.
    classes_ : ndarray of shape (K,)
        Labels, in sorted order; those of the classifier if it is frozen.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Those of `estimator_`, where it has them.

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

    See Also
    --------
    choose_recalibrator
    """

    def __init__(
        self,
        estimator: Any,
        method: Method | Recalibrator | MulticlassRecalibrator = "platt",
        cv: Any = 5,
        pos_label: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: Column | None = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the recalibrator to cross-fitted predictions, and the classifier to all rows.

        Parameters
        ----------
        X : table of n rows
            What the classifier takes.
        y : column of shape (n,)
            Labels of two classes or more.
        sample_weight : column of shape (n,), optional
            For the recalibrator and for the classifier, which must take it; where scikit-learn's metadata routing is
            enabled the classifier gets it if it requests it.
        groups : column of shape (n,), optional
            Rows of one group (a patient, a day) are never on both sides of a split.
        **fit_params
            For the classifier's own fit, as `CalibratedClassifierCV` hands them on: what has a value for each row is
            cut to the rows of a fit. Where scikit-learn's metadata routing is enabled, what the classifier requests.

        Raises
        ------
        InputError
            If the classifier gives no probabilities, or the method is unknown. If a class is missing from the rows that
            a split fits to, or a group is on both sides of one. If an argument is given that nothing would use.
        """
        if y is None:
            raise InputError("y", "is None; a classifier requires y to be passed, but the target y is None")
        X, labels = indexable(X, column_or_1d(y, warn=True))  # noqa: N806
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        recalibrator = make_recalibrator(self.method)
        frozen = isinstance(self.estimator, FrozenEstimator)
        self._response = _response_of(self.estimator)
        self.classes_, column = _read_classes(labels, self.estimator if frozen else None)
        self._positive = self._positive_column()
        weight = None if sample_weight is None else as_numbers(sample_weight, "sample_weight")
        if weight is not None and weight.size != labels.size:
            raise InputError(
                "sample_weight", f"has {counted(weight.size, 'row')} but y has {labels.size:,}; they must match"
            )
        if weight is not None:
            check_weights(weight)
        params = self._params_of_fit(weight, fit_params)
        if frozen:
            if groups is not None:
                raise InputError("groups", "is for the splits, of which a frozen estimator needs none; leave it out")
            self.estimator_ = self.estimator
            table = self._table(X)
        else:
            splits = self._splits(X, labels, groups)
            fit = partial(_fitted_and_responded, self.estimator, X, labels, params, self._response)
            table = _probabilities(cross_fitted(fit, splits, n_jobs=self.n_jobs), self._response, self.classes_.size)
            self.estimator_ = clone(self.estimator).fit(X, labels, **_check_method_params(X, params))
        self._fit_recalibrators(recalibrator, table, column, weight)
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return recalibrated class probabilities of shape (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        table = self._table(X)
        if _takes_all(self.recalibrators_[0], self.classes_.size):
            return np.asarray(self.recalibrators_[0].predict(table))
        if self.classes_.size == 2:
            p = self.recalibrators_[0].predict(table[:, self._positive])
            return np.column_stack([1.0 - p, p] if self._positive == 1 else [p, 1.0 - p])
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

    @property
    def n_features_in_(self) -> int:
        """Number of features that the classifier was fitted to."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the features that the classifier was fitted to."""
        return np.asarray(self.estimator_.feature_names_in_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say where weights, groups and what else is given to `fit` go, for scikit-learn's metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _table(self, X: Any) -> FloatArray:  # noqa: N803
        response = getattr(self.estimator_, self._response)(X)
        return _probabilities(response, self._response, self.classes_.size)

    def _params_of_fit(self, weight: FloatArray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the classifier's own fit; InputError where any would be lost."""
        if isinstance(self.estimator, FrozenEstimator):
            if fit_params:
                raise InputError(
                    next(iter(fit_params)), "is for the fit of the classifier, which is frozen; leave it out"
                )
            return {}
        params = fit_params if weight is None else {**fit_params, "sample_weight": weight}
        if params and get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **params).estimator.fit)
        if weight is None:
            return fit_params
        if not _takes_weights(self.estimator):
            raise InputError(
                "sample_weight",
                f"is not taken by the fit of {type(self.estimator).__name__}; leave it out, or say where it goes by "
                "scikit-learn's metadata routing (sklearn.set_config(enable_metadata_routing=True))",
            )
        return params

    def _positive_column(self) -> int:
        if self.pos_label is None:
            return 1
        if self.classes_.size != 2:
            raise InputError("pos_label", f"is for two classes; there are {self.classes_.size}")
        label = self.pos_label.item() if isinstance(self.pos_label, np.generic) else self.pos_label
        classes = self.classes_.tolist()
        if label not in classes:
            raise InputError("pos_label", f"is {label!r:.40}, which is none of the classes {classes}")
        return int(classes.index(label))

    def _fit_recalibrators(self, recalibrator: Any, table: FloatArray, label_number: IntArray, weight: Any) -> None:
        k = self.classes_.size
        if _takes_all(recalibrator, k):
            self.recalibrators_ = [recalibrator.fit(table, label_number, weight)]
        elif k == 2:
            at = self._positive
            self.recalibrators_ = [recalibrator.fit(table[:, at], label_number == at, weight)]
        else:
            self.recalibrators_ = [clone(recalibrator).fit(table[:, at], label_number == at, weight) for at in range(k)]

    def _splits(self, X: Any, labels: npt.NDArray[Any], groups: Any) -> list[Split]:  # noqa: N803
        """Split the rows, so that every class is in every part that is fitted to."""
        counts = np.unique(labels, return_counts=True)[1]
        if isinstance(self.cv, int | np.integer) and groups is None and counts.min() < self.cv:
            label = self.classes_[np.argmin(counts)]
            raise InputError(
                "y",
                f"has {counted(int(counts.min()), 'row')} of class {label!s}",
                allowed=f"cv={self.cv} needs as many in every class",
            )
        splits = folds(labels, self.cv, table=X, groups=groups)
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


def _takes_all(recalibrator: Any, k: int) -> bool:
    """Whether a recalibrator maps all K probabilities of a row at once."""
    return isinstance(recalibrator, MulticlassRecalibrator) or (k > 2 and isinstance(recalibrator, TemperatureScaling))


def _takes_weights(estimator: Any) -> bool:
    """Whether fit takes weights or hands on what it is given; a pipeline hands on nothing without a step's name."""
    parameters = signature(estimator.fit).parameters
    hands_on = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    return "sample_weight" in parameters or (hands_on and not isinstance(estimator, Pipeline))


def _response_of(estimator: Any) -> str:
    for response in ("predict_proba", "decision_function"):
        if hasattr(estimator, response):
            return response
    raise InputError("estimator", f"is {estimator!r:.60}", allowed="it needs predict_proba or decision_function")


def _read_classes(labels: npt.NDArray[Any], frozen: Any) -> tuple[npt.NDArray[Any], IntArray]:
    """Classes, and each row's as a number; a fitted classifier knows its own, which need not all occur."""
    classes, column = np.unique(labels, return_inverse=True)
    known = getattr(frozen, "classes_", None)
    if known is not None:
        at = {label: k for k, label in enumerate(np.asarray(known).tolist())}
        other = [label for label in classes.tolist() if label not in at]
        if other:
            raise InputError("y", f"holds {other[0]!r:.40}, which is none of the fitted estimator's classes {[*at]}")
        classes, column = np.asarray(known), np.array([at[label] for label in classes.tolist()])[column]
    if classes.size < 2:
        raise InputError("y", "has one class; a classifier needs two classes or more")
    return classes, column.astype(np.int64)


def _fitted_and_responded(
    estimator: Any,
    X: Any,  # noqa: N803
    labels: npt.NDArray[Any],
    params: dict[str, Any],
    response: str,
    train: IntArray,
    test: IntArray,
) -> Any:
    fitted = clone(estimator)
    features, seen_labels = _safe_split(fitted, X, labels, train)
    unseen, _ = _safe_split(fitted, X, labels, test, train)
    fitted.fit(features, seen_labels, **_check_method_params(X, params, train))
    return np.asarray(getattr(fitted, response)(unseen))


def _probabilities(output: Any, response: str, k: int) -> FloatArray:
    """Class probabilities of shape (n, K) in double precision, as the classifier returned them."""
    if response == "decision_function":
        score = np.asarray(output, dtype=np.float64)
        output = np.column_stack([expit(-score), expit(score)]) if score.ndim == 1 else softmax(score, axis=1)
    shape = np.shape(output)
    if len(shape) != 2 or shape[1] != k:
        raise InputError(
            "estimator", f"gives {response} of shape {shape}", allowed=f"a column for each of {k} classes is needed"
        )
    try:
        return class_table(output).rows()
    except InputError as problem:
        what = f"gives probabilities that cannot be used: {problem.problem}"
        raise InputError("estimator", what, row=problem.row, allowed=problem.allowed) from None
