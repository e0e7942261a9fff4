"""Scorers in scikit-learn's own machinery: by value, with weights, for classes, in a search."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

from calibrant import InputError, calibration_scorer, expected_calibration_error, smooth_calibration_error
from calibrant.measures.registry import measures

X, Y = make_classification(400, n_informative=5, random_state=0)


@pytest.mark.parametrize("name", list(measures()))
def test_a_scorer_is_minus_the_measure(name):
    model = LogisticRegression().fit(X, Y)
    measure = measures()[name]
    expected = measure.function(Y, model.predict_proba(X)[:, 1], **measure.parameters)
    assert calibration_scorer(name)(model, X, Y) == pytest.approx(-expected)


def test_parameters_and_weights():
    model, weight = LogisticRegression().fit(X, Y), np.linspace(1, 3, 400)
    y_prob = model.predict_proba(X)[:, 1]
    found = calibration_scorer("expected_calibration_error", n_bins=7)(model, X, Y, sample_weight=weight)
    assert found == pytest.approx(-expected_calibration_error(Y, y_prob, n_bins=7, sample_weight=weight))


def test_classes_are_scored_by_the_top_label():
    x, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    model = LogisticRegression().fit(x, names)
    table = model.predict_proba(x)
    right = (model.classes_[table.argmax(axis=1)] == names).astype(float)
    assert calibration_scorer()(model, x, names) == pytest.approx(-smooth_calibration_error(right, table.max(axis=1)))


def test_a_search_and_a_cross_validation():
    scoring = {"calibration": calibration_scorer("lower_calibration_distance"), "brier": "neg_brier_score"}
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scoring, refit="brier", cv=3).fit(X, Y)
    assert (search.cv_results_["mean_test_calibration"] < 0).all()
    assert set(cross_validate(LogisticRegression(), X, Y, scoring=scoring)) >= {"test_calibration", "test_brier"}


def test_an_unknown_name():
    with pytest.raises(InputError, match="must be one of"):
        calibration_scorer("accuracy")


@pytest.mark.parametrize(
    ("labels", "positive"), [(["no", "yes"], "yes"), (["no", "yes"], "no"), ([-1, 1], 1), ([1, 2], 2)]
)
def test_labels_that_are_not_0_and_1(labels, positive):
    y = np.array(labels)[Y]
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, list(model.classes_).index(positive)]
    scorer = pickle.loads(pickle.dumps(calibration_scorer(pos_label=positive)))
    assert scorer(model, X, y) == -smooth_calibration_error(y == positive, p)
    with pytest.raises(InputError, match="y_true: "):
        calibration_scorer()(model, X, y)
    searched = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3).fit(X, y)
    assert pickle.loads(pickle.dumps(searched)).best_score_ < 0
    assert np.isfinite(searched.cv_results_["mean_test_score"]).all()


def test_pos_label_is_for_two_classes():
    x, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    with pytest.raises(InputError, match="pos_label: is for two classes; the estimator has 3"):
        calibration_scorer(pos_label=1)(LogisticRegression().fit(x, y), x, y)
