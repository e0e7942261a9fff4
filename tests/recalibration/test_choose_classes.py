"""Choosing a recalibrator for classes: scores, rare classes, methods that do not suit."""

import numpy as np
import pytest

from calibrant import InputError, lower_calibration_distance
from calibrant.recalibration import choose_recalibrator
from tests.strategies import drawn_classes


def test_classes_are_compared_by_their_top_label_and_their_scores():
    label, table = drawn_classes(4000, 4, 0, 2.0)
    choice = choose_recalibrator(label, table, n_resamples=20, random_state=0)
    assert [score.method for score in choice.scores] == ["unchanged", "temperature", "vector", "dirichlet"]
    assert choice.chosen == "temperature"
    assert abs(choice.recalibrator.temperature_ - 2.0) < 0.15
    onehot = np.eye(4)[label]
    assert choice["unchanged"].brier == pytest.approx(((table - onehot) ** 2).sum(axis=1).mean())
    assert choice["unchanged"].log == pytest.approx(-np.log(table[np.arange(4000), label]).mean())
    right = table.argmax(axis=1) == label
    expected = lower_calibration_distance(right.astype(float), table.max(axis=1), tol=1e-5)
    assert choice["unchanged"].lower_calibration_distance == pytest.approx(expected, abs=2e-5)
    assert choice["temperature"].lower_calibration_distance < choice["unchanged"].lower_calibration_distance / 2


def test_rare_and_unseen_classes_are_no_obstacle():
    label, table = drawn_classes(200, 3, 1, 1.5)
    table = np.column_stack([0.98 * table, np.full(200, 0.01), np.full(200, 0.01)])
    label[0] = 3  # seen once; the last class never
    choice = choose_recalibrator(label, table, n_resamples=10, random_state=0)
    assert np.isfinite([score.brier for score in choice.scores]).all()


def test_methods_must_suit_what_is_predicted():
    label, table = drawn_classes(100, 3, 1, 1.5)
    with pytest.raises(InputError, match="maps one probability"):
        choose_recalibrator(label, table, methods=["platt"])
    with pytest.raises(InputError, match="maps class probabilities"):
        choose_recalibrator([0, 1] * 10, [0.2, 0.8] * 10, methods=["vector"])
    with pytest.raises(InputError, match="methods"):
        choose_recalibrator([0, 1] * 10, [0.2, 0.8] * 10, methods=[])


def test_of_two_columns_the_positive_class_is_recalibrated():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p**2).astype(int)
    options = {"methods": ["temperature", "platt"], "n_resamples": 5, "random_state": 0}
    expected = choose_recalibrator(y, p, **options)
    assert expected.chosen == "platt"
    for labels, table, pos_label in (
        (y, np.column_stack([1 - p, p]), None),
        (np.array(["no", "yes"])[y], np.column_stack([1 - p, p]), None),
        (np.array(["no", "yes"])[y], p, "yes"),
        (np.array(["yes", "no"])[y], np.column_stack([p, 1 - p]), "no"),
    ):
        choice = choose_recalibrator(labels, table, pos_label=pos_label, **options)
        assert choice.scores == expected.scores
        assert choice.recalibrator.predict(p).tolist() == expected.recalibrator.predict(p).tolist()
    with pytest.raises(InputError, match="pos_label: says which of two"):
        choose_recalibrator([0, 1, 2], np.full((3, 3), 1 / 3), pos_label=1)
