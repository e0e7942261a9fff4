"""Recalibrated class probabilities and classifiers, cross-fitted choice, and what they refuse."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant import InputError, lower_calibration_distance, smooth_calibration_error
from calibrant.recalibration import (
    AveragedClassScaling,
    DirichletScaling,
    PlattScaling,
    RecalibratedClassifier,
    TemperatureScaling,
    VectorScaling,
    choose_recalibrator,
    compare_recalibrators,
)
from calibrant.recalibration.curves.base import maps

SEVERAL = pytest.mark.parametrize("recalibrator", [TemperatureScaling(), VectorScaling(), DirichletScaling()], ids=str)


def overconfident(n=3000, k=4, temperature=2.0, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, k)) * 2
    truth = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    label = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    said = truth**temperature
    return label, said / said.sum(axis=1, keepdims=True)


@SEVERAL
def test_overconfidence_is_found_and_undone(recalibrator):
    label, table = overconfident()
    fitted = clone(recalibrator).fit(table[:2000], label[:2000])
    assert fitted.score(table[2000:], label[2000:]) > -np.mean(((table - np.eye(4)[label])[2000:] ** 2).sum(axis=1))
    found = fitted.predict(table)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert pickle.loads(pickle.dumps(fitted)).predict(table).tolist() == found.tolist()
    assert fitted.summary().endswith(".")
    if isinstance(recalibrator, TemperatureScaling):
        assert fitted.temperature_ == pytest.approx(2, rel=0.1)


def loss_of(fitted, table, label, mass):
    """What a fit of vector or Dirichlet scaling makes least, as its documentation has it."""
    k = table.shape[1]
    effective = (mass**2).sum()
    happened = np.log(fitted.predict(table)[np.arange(label.size), label])
    vector = isinstance(fitted, VectorScaling)
    diagonal = fitted.scale_ if vector else fitted.matrix_.diagonal()
    penalty = 0.5 * effective * ((diagonal - 1) ** 2).sum()
    odir = None if vector else fitted.intercept
    penalty += 0.5 * effective * (fitted.shift_**2).sum() if odir is None else odir * (fitted.shift_**2).mean()
    if not vector and fitted.off_diagonal_ is not None:
        penalty += fitted.off_diagonal_ * (fitted.matrix_[~np.eye(k, dtype=bool)] ** 2).mean()
    return penalty - (mass * happened).sum()


FITS = [VectorScaling(), DirichletScaling(), DirichletScaling(off_diagonal=0.3, intercept=0.2)]


@pytest.mark.parametrize("recalibrator", FITS, ids=str)
def test_softmax_fits_are_optimal(recalibrator):
    label, table = overconfident(300)
    weight = np.random.default_rng(1).random(300) + 0.1
    fitted = clone(recalibrator).fit(table, label, weight)
    names = ["scale_"] if isinstance(recalibrator, VectorScaling) else ["matrix_"]
    mass = weight / weight.sum()
    best = loss_of(fitted, table, label, mass)
    rng = np.random.default_rng(0)
    for name in (*names, "shift_"):
        kept = getattr(fitted, name)
        for size in (1e-4, 1e-2):
            for _ in range(40):
                setattr(fitted, name, kept + size * rng.normal(size=kept.shape) * (kept != 0.0))
                assert loss_of(fitted, table, label, mass) >= best - 1e-13
        setattr(fitted, name, kept)


@pytest.mark.parametrize("recalibrator", FITS, ids=str)
def test_many_classes_are_fitted_to_the_optimum_too(recalibrator):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(30, 0.5), 400)
    label = (rng.random(400)[:, None] > (table**0.5 / (table**0.5).sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(
        axis=1
    )
    fitted = clone(recalibrator).fit(table, label)
    assert fitted.predict(table).sum(axis=1) == pytest.approx(1)
    mass = np.full(400, 1 / 400)
    best = loss_of(fitted, table, label, mass)
    name = "scale_" if isinstance(recalibrator, VectorScaling) else "matrix_"
    kept = getattr(fitted, name)
    for _ in range(20):
        setattr(fitted, name, kept + 1e-4 * rng.normal(size=kept.shape) * (kept != 0.0))
        assert loss_of(fitted, table, label, mass) >= best - 1e-12


def test_the_temperature_is_where_the_derivative_is_zero():
    for k, sharpen in ((3, 3.0), (30, 0.2), (30, 40.0)):
        label, table = overconfident(200, k, sharpen, seed=k)
        weight = np.random.default_rng(k).random(200)
        found = TemperatureScaling(clip=1e-300).fit(table, label, weight).temperature_
        score = np.log(np.maximum(table, 1e-300))

        def slope(t, score=score, weight=weight, label=label):
            p = softmax(score / t, axis=1)
            return np.average((p * score).sum(axis=1) - score[np.arange(200), label], weights=weight)

        if 1e-3 < found < 1e3:
            assert found == pytest.approx(brentq(slope, found / 2, found * 2, xtol=1e-14), rel=1e-9)


@pytest.mark.slow
def test_what_lies_off_the_diagonal_is_fitted_only_where_it_shows():
    """Estimated by moments: mixed classes are unmixed; where nothing mixes, 870 entries more cost next to nothing."""
    rng = np.random.default_rng(3)
    score = 2 * rng.normal(size=(3000, 30))
    held = {}
    for mixing in (0.0, 0.15):
        truth = softmax(score @ (0.7 * np.eye(30) + mixing * rng.normal(size=(30, 30))), axis=1)
        label = (rng.random(3000)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(0, 29)
        said = softmax(score, axis=1)
        fits = [each.fit(said[:1500], label[:1500]) for each in (VectorScaling(), DirichletScaling())]
        held[mixing] = [-np.log(each.predict(said[1500:])[np.arange(1500), label[1500:]]).mean() for each in fits]
    assert held[0.0][1] < held[0.0][0] + 0.01
    assert held[0.15][1] < held[0.15][0] - 0.1


@SEVERAL
def test_a_class_never_seen_and_labels_told_apart(recalibrator):
    table = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]] * 20)
    fitted = clone(recalibrator).fit(table, [0, 1] * 20)
    assert np.isfinite(fitted.predict(table)).all()
    constant = clone(recalibrator).fit(np.full((9, 3), 1 / 3), [0, 1, 2] * 3)
    assert constant.predict(np.full((1, 3), 1 / 3)) == pytest.approx(1 / 3)


@SEVERAL
def test_bad_tables(recalibrator):
    new = clone(recalibrator)
    with pytest.raises(InputError, match=r"y_prob: row 1 adds up to 1\.1"):
        new.fit([[0.5, 0.5, 0], [0.5, 0.6, 0]], [0, 1])
    new.fit([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]], [0, 1])
    with pytest.raises(InputError, match="y_prob: has 2 columns; the fit had 3"):
        new.predict([[0.5, 0.5]])


def test_string_labels():
    label, table = overconfident(200, 3)
    names = np.array(["ant", "bee", "cat"])
    plain, named = VectorScaling().fit(table, label), VectorScaling().fit(table, names[label])
    assert named.classes_.tolist() == names.tolist()
    assert named.predict(table).tolist() == plain.predict(table).tolist()
    assert named.score(table, names[label]) == plain.score(table, label)


@pytest.mark.parametrize("method", maps())
@pytest.mark.parametrize("classes", [2, 3])
def test_every_method_behind_a_classifier(method, classes):
    X, y = make_classification(300, n_informative=6, n_classes=classes, random_state=0)  # noqa: N806
    y = np.array(["a", "b", "c"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RecalibratedClassifier(GaussianNB(), method, cv=3).fit(X, y, np.linspace(0.5, 1.5, 300))
    table = model.predict_proba(X)
    assert table.shape == (300, classes)
    assert table.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (model.predict(X) == model.classes_[table.argmax(axis=1)]).all()
    assert model.summary().endswith(".")


def test_the_recalibrator_sees_cross_fitted_predictions():
    X, y = make_classification(400, random_state=1)  # noqa: N806
    model = RecalibratedClassifier(GaussianNB(), PlattScaling(), cv=4).fit(X, y)
    crossed = cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba")[:, 1]
    assert model.recalibrators_[0].slope_ == pytest.approx(PlattScaling().fit(crossed, y).slope_, rel=1e-9)
    frozen = RecalibratedClassifier(FrozenEstimator(GaussianNB().fit(X, y)), cv=4).fit(X, y)
    plain = PlattScaling().fit(GaussianNB().fit(X, y).predict_proba(X)[:, 1], y)
    assert frozen.recalibrators_[0].slope_ == pytest.approx(plain.slope_, rel=1e-9)


@pytest.mark.slow
def test_margins_pipelines_and_grid_search():
    X, y = make_classification(400, random_state=2)  # noqa: N806
    model = RecalibratedClassifier(LinearSVC(random_state=0), cv=3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"recalibratedclassifier__method": ["platt", "isotonic"], "recalibratedclassifier__estimator__C": [0.1, 1.0]},
        scoring="neg_brier_score",
        cv=3,
    ).fit(X, y)
    assert -0.2 < search.best_score_ < 0


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0] * 20, {}, "y: has one class"),
        ([0] * 18 + [1] * 2, {}, "y: has 2 rows of class 1; cv=5"),
        ([0, 1] * 10, {"method": "plat"}, "method: is 'plat'"),
        ([0, 1] * 10, {"method": GaussianNB()}, "method: is GaussianNB"),
        (
            [0] * 10 + [1] * 10,
            {"cv": [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]},
            "cv: leaves class 1 out",
        ),
    ],
)
def test_classifiers_refuse(labels, options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))  # noqa: N806
    with pytest.raises(InputError, match=message):
        RecalibratedClassifier(GaussianNB(), **options).fit(X, labels)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_checks_of_the_classifier():
    reason = "repeating a row puts its copies into other folds than weighing it"
    check_estimator(
        RecalibratedClassifier(LogisticRegression(), cv=3),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": reason,
            "check_sample_weight_equivalence_on_sparse_data": reason,
        },
    )


class OnAnyClasses(ClassifierMixin, BaseEstimator):
    """A map of classes behind softmax of the features, so that scikit-learn's checks can draw what they like."""

    def __init__(self, recalibrator=None):
        self.recalibrator = recalibrator

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        X, y = validate_data(self, X, y)  # noqa: N806
        check_classification_targets(y)
        self.classes_, code = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError("one class")
        weight = None if sample_weight is None else np.asarray(sample_weight, float)
        self.recalibrator_ = clone(self.recalibrator or VectorScaling()).fit(self._table(X), code, weight)
        return self

    def _table(self, X):  # noqa: N803
        return softmax(np.resize(X.T, (self.classes_.size, X.shape[0])).T, axis=1)

    def predict_proba(self, X):  # noqa: N803
        check_is_fitted(self)
        return self.recalibrator_.predict(self._table(validate_data(self, X, reset=False)))

    def predict(self, X):  # noqa: N803
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # features are no probabilities of classes
        return tags


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("kind", [VectorScaling, DirichletScaling, AveragedClassScaling])
def test_scikit_learn_checks_of_maps_of_classes_behind_an_adapter(kind):
    reason = "weights are shares, and a penalty counts rows"
    check_estimator(
        OnAnyClasses(kind()), expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": reason}
    )


def draw(n, temperature, seed=0):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    odds = (y_prob / (1 - y_prob)) ** (1 / temperature)
    return (rng.random(n) < odds / (1 + odds)).astype(int), y_prob


@pytest.mark.slow
def test_one_number_that_suffices_is_found_and_its_gain_told():
    y_true, y_prob = draw(20_000, 2.0)
    choice = choose_recalibrator(y_true, y_prob)
    assert choice.chosen == "averaged"
    assert choice.recalibrator.weights_["temperature"] > 0.5
    table = compare_recalibrators(y_true, y_prob, methods=["temperature", "averaged"])
    before, after, averaged = table.scores
    assert before.lower_calibration_distance == pytest.approx(lower_calibration_distance(y_true, y_prob), abs=2e-5)
    assert before.smooth_calibration_error == pytest.approx(smooth_calibration_error(y_true, y_prob), abs=1e-12)
    assert before.brier == pytest.approx(np.mean((y_true - y_prob) ** 2), abs=1e-12)
    assert after.brier_gain_interval.low > 0
    assert averaged.log == pytest.approx(after.log, abs=5e-4)
    assert choice.gain.brier_loss.interval.low < before.brier - averaged.brier < choice.gain.brier_loss.interval.high


@pytest.mark.slow
def test_calibrated_predictions_are_left_alone():
    y_true, y_prob = draw(4000, 1.0, seed=3)
    choice = choose_recalibrator(y_true, y_prob)
    assert choice.chosen == "unchanged"
    assert choice.recalibrator is None
    assert choice.summary().startswith("Leave the predictions unchanged")
    table = compare_recalibrators(y_true, y_prob, methods=["temperature", PlattScaling(), "isotonic"])
    assert [score.method for score in table.scores] == ["unchanged", "temperature", "PlattScaling", "isotonic"]


@pytest.mark.slow
def test_a_factor_of_all_weights_changes_nothing():
    y_true, y_prob = draw(1000, 3.0)
    weight = np.random.default_rng(0).random(1000)
    one, seven = (compare_recalibrators(y_true, y_prob, sample_weight=k * weight)["platt"] for k in (1.0, 7.0))
    assert one.brier == pytest.approx(seven.brier, abs=1e-9)
    choice, again = (choose_recalibrator(y_true, y_prob, sample_weight=k * weight) for k in (1.0, 7.0))
    assert choice.chosen == again.chosen == "averaged"
    assert again.gain.log_loss.value == pytest.approx(choice.gain.log_loss.value, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv: is 1; it must be a whole number, 2 or more"),
        ({"cv": 300}, r"y_true: has \d+ ones and \d+ zeros; cv=300"),
        ({"level": 1}, "level: is 1"),
        ({"methods": "platt"}, "methods: is 'platt'"),
        ({"methods": ["vector"]}, "methods: holds 'vector'"),
        ({"methods": ["platt", "platt"]}, "methods: holds a name twice"),
    ],
)
def test_a_comparison_refuses(options, message):
    y_true, y_prob = draw(100, 1.0)
    with pytest.raises(InputError, match=message):
        compare_recalibrators(y_true, y_prob, **options)


def test_a_choice_refuses_levels_and_trials_of_classes():
    y_true, y_prob = draw(100, 1.0)
    with pytest.raises(InputError, match="level: is 1"):
        choose_recalibrator(y_true, y_prob, level=1)
    with pytest.raises(InputError, match="trials: cannot be used here: rows of classes are single"):
        choose_recalibrator(y_true, np.stack([1 - y_prob, y_prob], axis=1), trials=np.ones(100))


@pytest.mark.parametrize("function", [choose_recalibrator, compare_recalibrators])
def test_rates_are_refused(function):
    with pytest.raises(InputError, match=r"y_true: row 0 is 0\.5; .*each.* must be 0 or 1"):
        function([0.5, 1, 0], [0.2, 0.4, 0.3])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_words_of_a_temperature_are_what_it_does_to_the_largest_probability(temperature):
    table = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    fitted = TemperatureScaling().fit(table, np.random.default_rng(1).integers(0, 3, 40))
    fitted.temperature_ = temperature
    change = float((fitted.predict(table).max(axis=1) - table.max(axis=1)).mean())
    word = "unchanged" if abs(change) < 1e-9 else "sharpened" if change > 0.0 else "evened out"
    assert fitted.summary().split("class probabilities are ")[1].startswith(word)
