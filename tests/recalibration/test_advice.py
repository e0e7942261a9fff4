"""Advice: no reversal in silence, no map that says 0 or 1, no recommendation where nothing is known."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

from calibrant import InputError, audit
from calibrant.recalibration import (
    BetaScaling,
    DirichletScaling,
    HistogramBinning,
    PlattScaling,
    PolynomialScaling,
    RecalibratedClassifier,
    TemperatureScaling,
    VectorScaling,
    choose_recalibrator,
)
from calibrant.recalibration.curves.registry import maps
from calibrant.recalibration.judge import says_certain

QUICK = {"n_resamples": 1}
SURE = "exactly 0 or 1"


@pytest.mark.parametrize("seed", range(20))
def test_uninformative_predictions_are_said_to_be_so(seed):
    rng = np.random.default_rng(seed)
    choice = choose_recalibrator(rng.random(300) < 0.2, rng.random(300), methods=["temperature", "platt"], **QUICK)
    assert choice.chosen == "constant"
    assert choice.recalibrator is None
    assert "do not show that the predictions carry information" in choice.summary()
    assert "reversed" not in choice.summary()
    assert choice["constant"].brier < choice["unchanged"].brier


@pytest.mark.slow
def test_the_audit_says_it_too(tmp_path):
    rng = np.random.default_rng(0)
    found = audit(rng.random(300) < 0.2, rng.random(300), random_state=0)
    assert found.advice.chosen == "constant"
    assert found.answer.action == "predict the base rate"
    assert "Of no proved use: nothing here proves that it does better than saying" in found.answer.headline
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
    choice = choose_recalibrator(rng.random(400) < 1 - p, p, methods=["temperature", "platt"], **QUICK)
    assert choice.direction == "wrong"
    assert choice.rank_correlation < -0.4
    assert choice.summary().startswith("The predictions point the wrong way: events are fewer where predictions are")
    assert "Check that labels or columns are not swapped." in choice.summary()
    isotonic = choose_recalibrator(rng.random(400) < 1 - p, p, methods=["isotonic"], **QUICK)
    assert "labels or columns are not swapped" in isotonic.summary()  # no increasing map can use them


def test_a_better_score_that_may_be_chance_is_told_where_it_is_another_recalibration_s():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    choice = choose_recalibrator(rng.random(400) < p**2, p, methods=["temperature", "platt"], **QUICK)
    assert {each.method for each in choice.scores} >= {"temperature", "platt"}
    for best in ("temperature", "platt"):
        for chosen in ("temperature", "platt"):
            told = replace(choice, best=best, chosen=chosen).summary()
            assert (f"{best} is no better beyond chance" in told) == (best != chosen)
            assert told.count("beyond chance") == int(best != chosen)


def test_information_without_a_direction_is_used_and_the_order_spoken_of():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = rng.random(4000) < 0.1 + 3 * (p - 0.5) ** 2
    choice = choose_recalibrator(y, p, methods=["temperature", "platt", HistogramBinning(5)], **QUICK)
    assert choice.chosen == "HistogramBinning"
    assert choice.summary().endswith("It changes the order of some predictions.")


@pytest.mark.slow
def test_uninformative_classes():
    rng = np.random.default_rng(0)
    choice = choose_recalibrator(rng.integers(0, 3, 300), rng.dirichlet(np.ones(3), 300), **QUICK)
    assert choice.chosen == "constant"
    assert choice["constant"].brier == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize("method", ["isotonic", "histogram", "polynomial", "nearest"])
def test_a_map_that_says_0_or_1_is_never_chosen(method):
    rng = np.random.default_rng(1)
    p = rng.random(600)
    y = rng.random(600) < np.clip(2 * p - 0.5, 0.0, 1.0)  # nothing below 1/4, all above 3/4
    choice = choose_recalibrator(y, p, methods=[method], **QUICK)
    assert choice.chosen == "unchanged"
    assert choice.certain == (method,)
    assert choice[method].brier < choice["unchanged"].brier
    assert "no recalibration that stays off 0 and 1" in choice.summary()
    assert f"Ruled out in spite of a better Brier score: {method}, which can return exactly 0 or 1" in choice.summary()
    smooth = choose_recalibrator(y, p, methods=["platt", method], **QUICK)
    assert smooth.chosen == "platt"
    assert np.isfinite(smooth["platt"].log)


@pytest.mark.parametrize("seed", range(6))
def test_chosen_maps_stay_inside_everywhere(seed):
    rng = np.random.default_rng(seed)
    p = 0.3 + 0.4 * rng.random(500)  # what lies outside was never seen
    choice = choose_recalibrator(rng.random(500) < np.clip(3 * p - 1, 0.02, 0.98), p, **QUICK)
    assert choice.chosen != "unchanged"
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


def test_wrong_predictions_of_0_and_1_are_spoken_of():
    p = np.array([0.0] * 10 + [0.5] * 200 + [1.0] * 10)
    y = np.array([1] + [0] * 9 + [0, 1] * 100 + [1] * 10)
    choice = choose_recalibrator(y, p, methods=["temperature"], **QUICK)
    assert np.isfinite(choice["temperature"].log)
    assert not np.isfinite(choice["unchanged"].log)
    assert choice.chosen == "unchanged"  # one of 220 may be a rounded 0
    assert "wrong, so that their log score is infinite" in choice.summary()
    wrong = np.where(p == 0.0, 1, y)
    assert choose_recalibrator(wrong, p, methods=["temperature"], **QUICK).chosen != "unchanged"


@pytest.mark.parametrize("method", maps())
def test_maps_and_choices_pickle_and_copy(method):
    rng = np.random.default_rng(0)
    several = method in ("vector", "dirichlet")
    p = rng.dirichlet(np.ones(3), 60) if several else rng.random(60)
    fitted = maps()[method].estimator().fit(p, np.arange(60) % (3 if several else 2))
    choice = choose_recalibrator(np.arange(60) % (3 if several else 2), p, methods=[method], **QUICK)
    for made in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        assert made(fitted).predict(p).tolist() == fitted.predict(p).tolist()
        assert made(choice).summary() == choice.summary()


def test_weights_that_a_classifier_cannot_take_are_spoken_of():
    X, y = make_classification(100, random_state=0)  # noqa: N806
    with pytest.raises(InputError, match="sample_weight: is not taken by the fit of KNeighborsClassifier"):
        RecalibratedClassifier(KNeighborsClassifier(), cv=2).fit(X, y, np.linspace(1, 2, 100))
