"""What the recalibrated classifier is given reaches whom it is for, or is refused by its name."""

import copy
import pickle
from typing import get_args

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calibrant import InputError
from calibrant.recalibration import HistogramBinning, PlattScaling, RecalibratedClassifier, load
from calibrant.recalibration.classifier import _probabilities
from calibrant.recalibration.curves.base import maps
from calibrant.recalibration.methods import Method
from calibrant.resampling.folds import folds

X, Y = make_classification(200, n_informative=5, random_state=0)
X3, Y3 = make_classification(200, n_informative=5, n_classes=3, random_state=0)
WEIGHT = np.linspace(0.5, 2.0, 200)
GROUPS = np.arange(200) // 10


class Seen(ClassifierMixin, BaseEstimator):
    """A classifier with nothing but fit, predict_proba and classes_, which keeps what fit was given."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        self.classes_, self.rows_, self.weight_ = np.unique(y), X[:, 0], sample_weight
        self.rate_ = [np.average(y == label, weights=sample_weight) for label in self.classes_]
        return self

    def predict_proba(self, X):  # noqa: N803
        return np.tile(self.rate_, (len(X), 1))


def test_weights_reach_the_classifier_and_the_recalibrator():
    model = RecalibratedClassifier(GaussianNB(), cv=3).fit(X, Y, WEIGHT)
    splits = folds(Y, 3)
    crossed = np.empty(200)
    for train, test in splits:
        crossed[test] = GaussianNB().fit(X[train], Y[train], WEIGHT[train]).predict_proba(X[test])[:, 1]
    assert model.recalibrators_[0].slope_ == PlattScaling().fit(crossed, Y, WEIGHT).slope_
    assert (RecalibratedClassifier(Seen(), cv=3).fit(X, Y, WEIGHT).estimator_.weight_ == WEIGHT).all()


def test_every_method_is_a_mode():
    assert list(maps()) == list(get_args(Method))


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), make_pipeline(StandardScaler(), GaussianNB())])
def test_weights_that_the_classifier_does_not_take_are_refused(estimator):
    model = RecalibratedClassifier(estimator, cv=3)
    with pytest.raises(InputError, match=r"^sample_weight: is not taken by the fit of .*metadata routing"):
        model.fit(X, Y, WEIGHT)
    with pytest.raises(InputError, match="sample_weight: has 3 rows but y has 200"):
        model.fit(X, Y, [1, 2, 3])
    assert model.fit(X, Y).predict_proba(X).shape == (200, 2)


def test_weights_are_routed_where_that_is_enabled():
    direct = RecalibratedClassifier(GaussianNB(), cv=3).fit(X, Y, WEIGHT)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            RecalibratedClassifier(GaussianNB(), cv=3).fit(X, Y, WEIGHT)
        asked = GaussianNB().set_fit_request(sample_weight=True)
        routed = RecalibratedClassifier(asked, cv=3).fit(X, Y, sample_weight=WEIGHT)
        piped = RecalibratedClassifier(make_pipeline(asked), cv=3).fit(X, Y, sample_weight=WEIGHT)
        alone = RecalibratedClassifier(GaussianNB().set_fit_request(sample_weight=False), cv=3).fit(X, Y, WEIGHT)
        model = RecalibratedClassifier(asked, cv=GroupKFold(3)).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"method": ["platt", "beta"]}, cv=GroupKFold(2), error_score="raise")
        search.fit(X, Y, sample_weight=WEIGHT, groups=GROUPS)
    for found in (routed, piped):
        assert (found.predict_proba(X) == direct.predict_proba(X)).all()
    assert (alone.predict_proba(X) != direct.predict_proba(X)).any()
    expected = clone(search.best_estimator_).set_params(estimator=GaussianNB()).fit(X, Y, WEIGHT, groups=GROUPS)
    assert (search.predict_proba(X) == expected.predict_proba(X)).all()


class Offset(GaussianNB):
    """A classifier whose fit takes a column, and a value that is none."""

    def fit(self, X, y, offset=None, verbose=0):  # noqa: N803
        self.offset_, self.verbose_ = np.asarray(offset), verbose
        assert (self.offset_ == X[:, 0]).all()
        return super().fit(X, y)


def test_other_arguments_reach_the_fit_of_the_classifier_cut_to_its_rows():
    model = RecalibratedClassifier(Offset(), cv=3).fit(X, Y, offset=X[:, 0], verbose=2)
    assert model.estimator_.verbose_ == 2
    assert (model.predict_proba(X) == RecalibratedClassifier(GaussianNB(), cv=3).fit(X, Y).predict_proba(X)).all()
    piped = RecalibratedClassifier(make_pipeline(Offset()), cv=3).fit(X, Y, offset__offset=X[:, 0])
    assert (piped.predict_proba(X) == model.predict_proba(X)).all()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Offset().set_fit_request(offset=True)
        routed = RecalibratedClassifier(asked, cv=3).fit(X, Y, offset=X[:, 0])
    assert (routed.predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(InputError, match="offset: is for the fit of the classifier, which is frozen"):
        RecalibratedClassifier(FrozenEstimator(model)).fit(X, Y, offset=X[:, 0])
    with pytest.raises(TypeError, match="other"):
        RecalibratedClassifier(Offset(), cv=3).fit(X, Y, other=1)


@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
def test_groups_stay_together(cv, monkeypatch):
    seen = []
    monkeypatch.setattr(Seen, "predict_proba", lambda self, x: seen.append((self.rows_, x[:, 0])) or self._told(x))
    monkeypatch.setattr(Seen, "_told", lambda self, x: np.tile(self.rate_, (len(x), 1)), raising=False)
    row = np.arange(200.0)[:, None]
    RecalibratedClassifier(Seen(), cv=cv).fit(row, Y, groups=GROUPS)
    assert len(seen) == 4
    for train, test in seen:
        assert not set(GROUPS[train.astype(int)]) & set(GROUPS[test.astype(int)])
    assert np.sort(np.concatenate([test for _, test in seen])).tolist() == list(range(200))


@pytest.mark.parametrize(
    ("cv", "groups", "said"),
    [
        (KFold(4), np.arange(200) % 7, "cv: puts rows of group 0 on both sides"),
        (PredefinedSplit(np.arange(200) % 4), np.arange(200) % 7, "cv: puts rows of group 0 on both sides"),
        (5, np.arange(200) % 3, "groups: has 3 groups for 5 parts"),
        (5, np.arange(3), r"groups: has shape \(3,\)"),
        (GroupKFold(4), None, "cv: cannot split these rows"),
        (ShuffleSplit(3, random_state=0), None, r"cv: predicts row \d+ [02] times"),
        ("5", None, "cv: is '5'; it must be a whole number, 2 or more"),
        (1, None, "cv: is 1; it must be a whole number, 2 or more"),
        (2.5, None, "cv: is 2.5"),
    ],
)
def test_splits_that_cannot_be_used(cv, groups, said):
    with pytest.raises(InputError, match=said):
        RecalibratedClassifier(GaussianNB(), cv=cv).fit(X, Y, groups=groups)


def test_splitters_that_keep_groups_apart_need_not_look_at_them():
    RecalibratedClassifier(GaussianNB(), cv=PredefinedSplit(GROUPS % 4)).fit(X, Y, groups=GROUPS)


def test_a_frozen_classifier_is_not_split_and_knows_its_classes():
    names = np.array(["a", "b", "c"])[Y3]
    fitted = GaussianNB().fit(X3, names)
    model = RecalibratedClassifier(FrozenEstimator(fitted), "platt")
    two = names != "c"
    model.fit(X3[two][:9], names[two][:9], np.ones(9))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X3).shape == (200, 3)
    whole = RecalibratedClassifier(FrozenEstimator(fitted), "temperature").fit(X3, names)
    assert whole.recalibrators_[0].temperature_ > 0
    with pytest.raises(InputError, match="y: holds 'd', which is none of the fitted estimator's classes"):
        model.fit(X3[:3], ["a", "b", "d"])
    with pytest.raises(InputError, match="groups: is for the splits"):
        model.fit(X3, names, groups=GROUPS)


def test_jobs_do_not_matter():
    with joblib.parallel_backend("threading"):
        one, two = (RecalibratedClassifier(LogisticRegression(), cv=3, n_jobs=jobs).fit(X, Y) for jobs in (None, 2))
    assert (one.predict_proba(X) == two.predict_proba(X)).all()


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True], [-1, 1], [2.0, 7.0]])
def test_labels_and_the_positive_one(labels):
    y = np.array(labels)[Y]
    plain = RecalibratedClassifier(GaussianNB(), HistogramBinning(4), cv=3).fit(X, y)
    assert plain.classes_.tolist() == labels
    assert set(plain.predict(X).tolist()) == set(labels)
    assert (
        plain.predict_proba(X)
        == RecalibratedClassifier(GaussianNB(), HistogramBinning(4), cv=3).fit(X, Y).predict_proba(X)
    ).all()
    first = RecalibratedClassifier(GaussianNB(), HistogramBinning(4), cv=3, pos_label=labels[0]).fit(X, y)
    crossed = np.empty(200)
    for train, test in folds(Y, 3):
        crossed[test] = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])[:, 0]
    expected = HistogramBinning(4).fit(crossed, Y == 0).predict(GaussianNB().fit(X, Y).predict_proba(X)[:, 0])
    assert (first.predict_proba(X)[:, 0] == expected).all()
    with pytest.raises(InputError, match="pos_label: is 'maybe', which is none of the classes"):
        RecalibratedClassifier(GaussianNB(), pos_label="maybe").fit(X, y)
    with pytest.raises(InputError, match="pos_label: is for two classes; there are 3"):
        RecalibratedClassifier(GaussianNB(), pos_label=1).fit(X3, Y3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_their_names(frame):
    names = [f"x{j}" for j in range(X.shape[1])]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = RecalibratedClassifier(LogisticRegression(), cv=3).fit(table, Y)
    assert model.n_features_in_ == X.shape[1]
    assert list(model.feature_names_in_) == names
    expected = RecalibratedClassifier(LogisticRegression(), cv=3).fit(X, Y).predict_proba(X)
    assert model.predict_proba(table) == pytest.approx(expected, abs=1e-9)  # a frame lies in memory otherwise
    assert np.isfinite(cross_val_score(model, table, Y, cv=2, error_score="raise")).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[names[::-1]])


def test_a_classifier_with_no_more_than_it_needs():
    model = RecalibratedClassifier(Seen(), cv=3).fit(X, Y)
    assert model.predict_proba(X).shape == (200, 2)
    assert not hasattr(model, "n_features_in_")

    class Bare(BaseEstimator):
        def fit(self, X, y):  # noqa: ARG002, N803
            return self

    with pytest.raises(InputError, match=r"estimator: is Bare\(\); it needs predict_proba or decision_function"):
        RecalibratedClassifier(Bare()).fit(X, Y)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (
            lambda _, x: np.full((len(x), 3), 1 / 3),
            r"gives predict_proba of shape \(200, 3\); a column for each of 2",
        ),
        (lambda _, x: np.full((len(x), 2), 0.4), "cannot be used: row 0 adds up to 0.8"),
        (lambda _, x: np.full((len(x), 2), np.nan), "cannot be used: row 0, column 0 is nan"),
    ],
)
def test_what_the_classifier_says_is_checked(response, said, monkeypatch):
    monkeypatch.setattr(Seen, "predict_proba", response)
    with pytest.raises(InputError, match=f"^estimator: gives .*{said.removeprefix('gives ')}"):
        RecalibratedClassifier(Seen(), cv=3).fit(X, Y)


def test_it_pickles_copies_and_its_maps_are_saved(tmp_path):
    model = RecalibratedClassifier(GaussianNB(), "isotonic", cv=3).fit(X3, Y3)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        assert (again.predict_proba(X3) == model.predict_proba(X3)).all()
    assert repr(model) == "RecalibratedClassifier(cv=3, estimator=GaussianNB(), method='isotonic')"
    assert model.summary().count("Isotonic scaling is an increasing map") == 3
    model.recalibrators_[2].save(tmp_path / "map.json")
    at = np.linspace(0, 1, 50)
    assert (load(tmp_path / "map.json").predict(at) == model.recalibrators_[2].predict(at)).all()


def test_a_classifier_needs_labels():
    with pytest.raises(InputError, match="y: is None; a classifier requires y to be passed, but the target y is None"):
        RecalibratedClassifier(GaussianNB()).fit(X, None)


@pytest.mark.parametrize(
    ("output", "response", "k", "table"),
    [
        ([0.0, np.log(3.0)], "decision_function", 2, [[0.5, 0.5], [0.25, 0.75]]),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, np.log(2.0)]], "decision_function", 3, [[1 / 3] * 3, [0.25, 0.25, 0.5]]),
        ([[0.5, 0.5], [0.25, 0.75]], "predict_proba", 2, [[0.5, 0.5], [0.25, 0.75]]),
        (
            [0.0, 1.0],
            "decision_function",
            3,
            r"gives decision_function of shape \(2, 2\); a column for each of 3 classes",
        ),
        (
            [0.5, 0.5],
            "predict_proba",
            2,
            r"gives predict_proba of shape \(2,\); a column for each of 2 classes is needed",
        ),
        ([[0.5, 0.6]], "predict_proba", 2, "gives probabilities that cannot be used: row 0"),
    ],
)
def test_margins_are_log_odds_and_probabilities_are_as_they_are(output, response, k, table):
    if isinstance(table, str):
        with pytest.raises(InputError, match=table):
            _probabilities(output, response, k)
    else:
        assert _probabilities(output, response, k) == pytest.approx(np.array(table))
