"""Scorers in scikit-learn's own machinery: by value, with weights, for classes, in a search."""

import pickle

import numpy as np
import pytest
import sklearn
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
    second = model.predict_proba(X)[:, 1]
    assert calibration_scorer()(model, X, y) == -smooth_calibration_error(y == labels[1], second)
    searched = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3).fit(X, y)
    assert pickle.loads(pickle.dumps(searched)).best_score_ < 0
    assert np.isfinite(searched.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("labels", [["bad", "good"], [False, True], [3, 7]])
def test_a_search_needs_no_pos_label(labels):
    y = np.array(labels)[Y]
    candidates = {"C": [0.0001, 1.0]}
    expected, found = (
        GridSearchCV(LogisticRegression(), candidates, scoring=calibration_scorer(), cv=3, error_score="raise")
        .fit(X, each)
        .cv_results_["mean_test_score"]
        for each in (Y, y)
    )
    assert found.tolist() == expected.tolist()
    assert found[0] != found[1]
    both = {"calibration": calibration_scorer(), "brier": "neg_log_loss"}
    done = cross_validate(LogisticRegression(C=1.0), X, y, scoring=both, cv=3, error_score="raise")
    assert done["test_calibration"].mean() == pytest.approx(expected[1])


def test_labels_that_the_estimator_does_not_know():
    y = np.array(["a", "b"])[Y]
    model = LogisticRegression().fit(X, y)
    assert calibration_scorer()(model, X[y == "b"], y[y == "b"]) < 0  # a fold of one label
    for scorer in (calibration_scorer(), calibration_scorer(pos_label="b")):
        with pytest.raises(InputError, match=r"y_true: holds 'c', which is neither of the estimator's classes"):
            scorer(model, X, np.where(y == "a", "c", "b"))


def test_weights_are_routed_to_a_scorer():
    y, weight = np.array(["a", "b"])[Y], np.linspace(1, 3, 400)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = calibration_scorer().set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        routed, plain = (
            cross_validate(model, X, y, scoring=each, params=params, error_score="raise")["test_score"]
            for each, params in ((scorer, {"sample_weight": weight}), (calibration_scorer(), {}))
        )
    assert (routed != plain).all()


def test_pos_label_is_for_two_classes():
    x, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    with pytest.raises(InputError, match="pos_label: is for two classes; the estimator has 3"):
        calibration_scorer(pos_label=1)(LogisticRegression().fit(x, y), x, y)
