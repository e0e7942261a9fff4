"""Scorers in scikit-learn's own machinery: by value, with weights, for classes, in a search."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

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


def test_a_scorer_is_a_value_that_says_what_it_measures(tmp_path):
    scorer = calibration_scorer("expected_calibration_error", pos_label=0, n_bins=7)
    assert repr(scorer) == "calibration_scorer('expected_calibration_error', pos_label=0, n_bins=7)"
    assert repr(eval(repr(scorer))) == repr(scorer)
    said = "Minus the expected calibration error: larger is better, 0 is best. "
    assert scorer.summary() == said + measures()["expected_calibration_error"].sentence
    joblib.dump(scorer, tmp_path / "scorer")
    model = LogisticRegression().fit(X, Y)
    for again in (
        clone(scorer),
        copy.deepcopy(scorer),
        pickle.loads(pickle.dumps(scorer)),
        joblib.load(tmp_path / "scorer"),
    ):
        assert again is not scorer
        assert repr(again) == repr(scorer)
        assert again(model, X, Y) == scorer(model, X, Y)


def test_a_copy_keeps_what_it_requests():
    scorer = calibration_scorer().set_score_request(sample_weight="w")
    for again in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert again.get_metadata_routing().score.requests == {"sample_weight": "w"}
    assert calibration_scorer().get_metadata_routing().score.requests == {"sample_weight": None}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame):
    names = np.array(["no", "yes"])[Y]
    table = frame({**{f"x{j}": column for j, column in enumerate(X.T)}, "y": names})
    x, y = table[[name for name in table.columns if name != "y"]], table["y"]
    scorer = calibration_scorer(pos_label="no")
    expected = cross_val_score(LogisticRegression(), X, names, scoring=scorer, cv=3, error_score="raise")
    found = cross_val_score(LogisticRegression(), x, y, scoring=scorer, cv=3, error_score="raise")
    assert found == pytest.approx(expected, abs=1e-9)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3, error_score="raise").fit(x, y)
    assert -1 < search.best_score_ < 0


def test_a_fold_in_which_a_class_is_missing():
    x, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    model = LogisticRegression().fit(x, y)
    table = model.predict_proba(x[y < 2])
    right = (table.argmax(axis=1) == y[y < 2]).astype(float)
    assert calibration_scorer()(model, x[y < 2], y[y < 2]) == -smooth_calibration_error(right, table.max(axis=1))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: calibration_scorer(["a"]), r"^measure: is \['a'\]; it must be one of"),
        (lambda: calibration_scorer(n_bins=3), "^n_bins: is no parameter of smooth_calibration_error; it takes none"),
        (
            lambda: calibration_scorer("expected_calibration_error", bins=3),
            "^bins: is no parameter of expected_calibration_error; it takes n_bins",
        ),
        (lambda: calibration_scorer(sample_weight=[1]), "^sample_weight: is no parameter of"),
        (
            lambda: calibration_scorer("expected_calibration_error", n_bins=0)(LogisticRegression().fit(X, Y), X, Y),
            "^n_bins: is 0",
        ),
        (
            lambda: calibration_scorer(pos_label=3)(LogisticRegression().fit(X, Y), X, Y),
            r"^pos_label: is 3, which is neither of the estimator's classes \(0, 1\)",
        ),
        (
            lambda: calibration_scorer()(LinearRegression().fit(X, Y), X, Y),
            r"^estimator: is LinearRegression\(\); it needs predict_proba",
        ),
        (
            lambda: calibration_scorer()(LogisticRegression().fit(X, Y), X, Y, sample_weight=[1.0]),
            "^sample_weight: has 1 row",
        ),
    ],
)
def test_what_a_scorer_refuses(made, said):
    with pytest.raises(InputError, match=said):
        made()
