"""Advice: no reversal in silence, no map that says 0 or 1, no recommendation where nothing is known."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

from calibrant import InputError, audit
from calibrant.door.sample import Sample
from calibrant.recalibration import (
    BetaScaling,
    DirichletScaling,
    PlattScaling,
    PolynomialScaling,
    RecalibratedClassifier,
    TemperatureScaling,
    VectorScaling,
    choose,
    choose_recalibrator,
    compare_recalibrators,
)
from calibrant.recalibration.compare import says_certain
from calibrant.recalibration.curves.base import maps


@pytest.mark.parametrize("seed", range(20))
def test_uninformative_predictions_are_said_to_be_so(seed):
    rng = np.random.default_rng(seed)
    choice = choose_recalibrator(rng.random(300) < 0.2, rng.random(300))
    assert choice.chosen == "constant"
    assert choice.recalibrator is None
    assert "do not show that the predictions carry information" in choice.summary()


@pytest.mark.slow
def test_the_audit_says_it_too(tmp_path):
    rng = np.random.default_rng(0)
    found = audit(rng.random(300) < 0.2, rng.random(300), random_state=0)
    assert found.advice.chosen == "constant"
    assert found.answer.action == "predict the base rate"
    assert found.answer.headline == "Of no proved use: predicting 19% for every row does better."
    found.to_html(tmp_path / "report.html")


def test_a_map_that_a_few_far_rows_turn_is_no_sign_of_swapped_labels():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.9, 187)
    happened = np.r_[rng.random(187) < p, np.arange(13) < 9]
    found = audit(happened, np.r_[p, np.full(13, 1e-8)], n_resamples=199, random_state=0)
    assert found.auc > 0.6
    assert not found.advice.backwards
    assert found.answer.action != "check the labels"


@pytest.mark.slow
def test_classes_that_are_told_apart_are_of_use():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(150, 6))
    label = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    sure = np.exp(3.0 * odds)
    found = audit(label, sure / sure.sum(axis=1, keepdims=True), n_resamples=199, random_state=0)
    assert found.answer.action == "recalibrate"


def test_swapped_labels_are_a_warning_first():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    choice = choose_recalibrator(rng.random(400) < 1 - p, p)
    assert choice.direction == "wrong"
    assert choice.rank_correlation < -0.4
    assert choice.recalibrator is None
    assert choice.summary().startswith("Events are fewer where predictions are higher (rank correlation -0.")
    assert "Check that labels or columns are not swapped." in choice.summary()


def test_information_without_a_direction_is_used_as_far_as_an_increasing_map_can():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = rng.random(4000) < 0.1 + 3 * (p - 0.5) ** 2
    choice = choose_recalibrator(y, p)
    assert choice.chosen == "averaged"
    assert np.diff(choice.recalibrator.predict(np.linspace(0.0, 1.0, 99))).min() >= 0.0


@pytest.mark.slow
def test_uninformative_classes():
    rng = np.random.default_rng(0)
    choice = choose_recalibrator(rng.integers(0, 3, 300), rng.dirichlet(np.ones(3), 300))
    assert choice.chosen == "constant"
    assert choice["constant"].brier == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["isotonic", "histogram", "polynomial", "nearest"])
def test_a_map_that_says_0_or_1_is_marked(method):
    rng = np.random.default_rng(1)
    p = rng.random(600)
    y = rng.random(600) < np.clip(2 * p - 0.5, 0.0, 1.0)  # nothing below 1/4, all above 3/4
    table = compare_recalibrators(y, p, methods=["platt", method, "averaged"])
    assert [score.certain for score in table.scores] == [False, False, True, False]
    assert table[method].brier < table["unchanged"].brier
    assert "it can return exactly 0 or 1" in table[method].summary()
    assert np.isfinite(table["averaged"].log)


@pytest.mark.parametrize("seed", range(6))
def test_advised_maps_stay_inside_everywhere(seed):
    rng = np.random.default_rng(seed)
    p = 0.3 + 0.4 * rng.random(500)  # what lies outside was never seen
    choice = choose_recalibrator(rng.random(500) < np.clip(3 * p - 1, 0.02, 0.98), p)
    assert choice.chosen == "averaged"
    found = choice.recalibrator.predict(np.linspace(0.0, 1.0, 10_001))
    assert found.min() > 0.0
    assert found.max() < 1.0


def test_certainty_between_the_rows_and_beyond_them_is_seen():
    bend = PolynomialScaling(2).fit([0.1, 0.1, 0.5, 0.5, 0.9, 0.9], [1, 1, 0, 0, 1, 1])
    bend.coefficients_ = np.array([0.45, 0.0, 0.5])  # 0.95 at the ends, -0.05 in the middle
    assert says_certain(bend, np.array([0.1, 0.9]))
    bend.coefficients_ = np.array([0.5, 0.0, 0.4])
    bend.domain_ = (0.0, 1.0)
    assert not says_certain(bend, np.array([0.1, 0.9]))
    bend.domain_ = (0.4, 0.6)
    assert says_certain(bend, np.array([0.45, 0.55]))


@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling, TemperatureScaling])
def test_logistic_maps_end_next_to_0_and_1(kind):
    fitted = kind().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    for name in ("slope_", "a_", "b_"):
        if hasattr(fitted, name):
            setattr(fitted, name, 1e4)
    ends = fitted.predict([0.0, 1e-5, 0.5, 1.0])
    assert 0.0 < ends[0] <= ends[1] < ends[2] < ends[3] < 1.0


@pytest.mark.parametrize("kind", [TemperatureScaling, VectorScaling, DirichletScaling])
def test_no_class_becomes_impossible(kind):
    fitted = kind().fit([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [0, 1, 2])
    for name in ("scale_", "matrix_"):
        if hasattr(fitted, name):
            setattr(fitted, name, 1e4 * getattr(fitted, name))
    if hasattr(fitted, "temperature_"):
        fitted.temperature_ = 1e-3
    assert fitted.predict([[1.0, 0.0, 0.0]]).min() > 0.0


def test_one_wrong_prediction_of_0_may_be_rounded_and_many_are_not():
    p = np.array([0.0] * 20 + [0.5] * 200 + [1.0] * 20)
    y = np.array([1] + [0] * 19 + [0, 1] * 100 + [1] * 20)
    assert choose_recalibrator(y, p).chosen == "unchanged"
    wrong = np.where((p == 0.0) & (np.arange(p.size) % 4 == 0), 1, y)
    choice = choose_recalibrator(wrong, p)
    assert choice.reject
    assert choice.chosen == "averaged"
    assert 0.05 < choice.recalibrator.predict([0.0])[0] < 0.4


@pytest.mark.parametrize(("n_wrong", "rounded"), [(2, True), (3, False)])
def test_one_per_cent_of_rows_predicted_0_and_wrong_may_be_rounded_and_no_more(n_wrong, rounded):
    p = np.repeat([0.0, 0.5], [40, 200])
    y = np.r_[np.arange(40) < n_wrong, np.arange(200) % 2].astype(float)
    assert (n_wrong <= 0.01 * p.size) == rounded
    choice = choose_recalibrator(y, p)
    assert choice.pvalue > 0.5  # of the other rows
    assert choice.reject == (not rounded)


@pytest.mark.parametrize("method", maps())
def test_maps_pickle_and_copy(method):
    rng = np.random.default_rng(0)
    several = method in ("vector", "dirichlet", "averaged_classes")
    p = rng.dirichlet(np.ones(3), 60) if several else rng.random(60)
    fitted = maps()[method].estimator().fit(p, np.arange(60) % (3 if several else 2))
    for made in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        assert made(fitted).predict(p).tolist() == fitted.predict(p).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_choices_pickle_and_copy(n_classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), 60)
    choice = choose_recalibrator(np.arange(60) % n_classes, p)
    for made in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        assert made(choice).summary() == choice.summary()


def test_weights_that_a_classifier_cannot_take_are_spoken_of():
    X, y = make_classification(100, random_state=0)  # noqa: N806
    with pytest.raises(InputError, match="sample_weight: is not taken by the fit of KNeighborsClassifier"):
        RecalibratedClassifier(KNeighborsClassifier(), cv=2).fit(X, y, np.linspace(1, 2, 100))


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.05, 0.3])
def test_a_direction_is_told_at_a_tenth_of_the_level_and_believed_at_it(level, monkeypatch):
    monkeypatch.setattr(choose, "_informs", lambda *_: False)
    rng = np.random.default_rng(0)
    y, p = (rng.random(300) < 0.2).astype(float), rng.uniform(0.4, 0.9, 300)
    told, believed = norm.isf(level / 10 / 2), norm.isf(level / 2)
    for z in (told, -told, believed, -believed):
        for near in (0.999 * z, 1.001 * z):
            monkeypatch.setattr(choose, "_association", lambda *_, near=near: (0.5, near))
            choice = choose.choose_on_sample(Sample.of_arrays(y, p), None, True, level)
            assert choice.direction == (("right" if near > 0 else "wrong") if abs(near) > told else "none")
            if choice.direction != "wrong":
                assert (choice.chosen == "constant") == (near <= believed)
