"""Choosing a recalibrator for classes: scores, rare classes, methods that do not suit."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import InputError, lower_calibration_distance
from calibrant.door.classes import multiclass_sample
from calibrant.recalibration import DirichletScaling, choose_recalibrator, compare, compare_recalibrators
from calibrant.recalibration.compare import Judge
from calibrant.recalibration.softmax_fit import OutOfTime
from tests.strategies import drawn_classes


@pytest.mark.slow
def test_classes_are_compared_by_their_top_label_and_their_scores():
    label, table = drawn_classes(4000, 4, 0, 2.0)
    choice = choose_recalibrator(label, table)
    assert [score.method for score in choice.scores] == ["unchanged", "averaged_classes"]
    assert choice.chosen == "averaged_classes"
    assert abs(choice.recalibrator.factor_ - 0.5) < 0.1
    onehot = np.eye(4)[label]
    assert choice["unchanged"].brier == pytest.approx(((table - onehot) ** 2).sum(axis=1).mean())
    assert choice["unchanged"].log == pytest.approx(-np.log(table[np.arange(4000), label]).mean())
    right = table.argmax(axis=1) == label
    expected = lower_calibration_distance(right.astype(float), table.max(axis=1), tol=1e-5)
    assert choice["unchanged"].lower_calibration_distance == pytest.approx(expected, abs=2e-5)
    assert choice["averaged_classes"].lower_calibration_distance < choice["unchanged"].lower_calibration_distance / 2


def test_rare_and_unseen_classes_are_no_obstacle():
    label, table = drawn_classes(200, 3, 1, 1.5)
    table = np.column_stack([0.98 * table, np.full(200, 0.01), np.full(200, 0.01)])
    label[0] = 3  # seen once; the last class never
    choice = choose_recalibrator(label, table)
    assert choice.chosen != "unchanged" or "recalibrated ones are not likelier beyond chance (distance" in str(choice)
    assert np.isfinite([score.brier for score in choice.scores]).all()


def test_methods_must_suit_what_is_predicted():
    label, table = drawn_classes(100, 3, 1, 1.5)
    with pytest.raises(InputError, match="maps one probability"):
        compare_recalibrators(label, table, methods=["platt"])
    with pytest.raises(InputError, match="maps class probabilities"):
        compare_recalibrators([0, 1] * 10, [0.2, 0.8] * 10, methods=["vector"])
    with pytest.raises(InputError, match="methods"):
        compare_recalibrators([0, 1] * 10, [0.2, 0.8] * 10, methods=[])


@pytest.mark.slow
def test_of_two_columns_the_positive_class_is_recalibrated():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p**2).astype(int)
    expected = choose_recalibrator(y, p)
    assert expected.chosen == "averaged"
    for labels, table, pos_label in (
        (y, np.column_stack([1 - p, p]), None),
        (np.array(["no", "yes"])[y], np.column_stack([1 - p, p]), None),
        (np.array(["no", "yes"])[y], p, "yes"),
        (np.array(["yes", "no"])[y], np.column_stack([p, 1 - p]), "no"),
    ):
        choice = choose_recalibrator(labels, table, pos_label=pos_label)
        assert choice.gain == expected.gain
        assert choice.recalibrator.predict(p).tolist() == expected.recalibrator.predict(p).tolist()
    with pytest.raises(InputError, match="pos_label: says which of two"):
        choose_recalibrator([0, 1, 2], np.full((3, 3), 1 / 3), pos_label=1)


@pytest.mark.slow
def test_a_time_limit_leaves_out_what_is_not_done_and_says_so():
    label, table = drawn_classes(400, 4, 0, 2.0)
    told = []
    choice = choose_recalibrator(label, table, time_limit=1e-9, progress=told.append)
    assert [score.method for score in choice.scores] == ["unchanged"]
    assert dict(choice.skipped) == {"averaged_classes": "the time was up"}
    assert choice.chosen == "unchanged"
    assert "Not compared: averaged classes: the time was up." in choice.summary()
    assert told == ["averaged_classes"]
    full = choose_recalibrator(label, table)
    assert choose_recalibrator(label, table, time_limit=600).scores == full.scores
    assert dict(full.skipped) == {}


def test_a_fit_that_takes_too_long_is_given_up():
    label, table = drawn_classes(100, 4, 0, 2.0)
    with pytest.raises(OutOfTime):
        DirichletScaling().fit_classes(multiclass_sample(label, table), stop=lambda: True)


def test_a_fit_is_given_up_within_a_step_too():
    label, table = drawn_classes(100, 4, 0, 2.0)
    times = iter([False, True])  # before the first step, and within it; there is no third time
    with pytest.raises(OutOfTime):
        DirichletScaling().fit_classes(multiclass_sample(label, table), stop=lambda: next(times))


@pytest.mark.slow
def test_classes_that_are_right_are_left_alone_and_one_wrong_class_is_enough():
    changed = 0
    for seed in range(5):
        label, table = drawn_classes(200, 4, seed)
        changed += choose_recalibrator(label, table).chosen != "unchanged"
    assert changed <= 1
    table = np.random.default_rng(1).dirichlet(np.ones(10), 3000)
    true = table * np.where(np.arange(10) == 3, 0.6, 1.0)
    ends = (true / true.sum(axis=1, keepdims=True)).cumsum(axis=1)
    label = (np.random.default_rng(2).random((3000, 1)) > ends[:, :-1]).sum(axis=1)
    assert choose_recalibrator(label, table).chosen == "averaged_classes"


def test_scores_of_classes_are_those_of_each_class_added_up():
    rng = np.random.default_rng(0)
    table, y = rng.dirichlet(np.ones(4), 30), rng.integers(0, 4, 30)
    found = Judge.losses(SimpleNamespace(classes=True, outcome=y), table)
    assert found["brier"] == pytest.approx(((table - np.eye(4)[y]) ** 2).sum(axis=1))
    assert found["log"] == pytest.approx([-np.log(table[k, c]) for k, c in enumerate(y)])


@pytest.mark.parametrize(("ratio", "chosen"), [(3.001, "averaged_classes"), (2.999, "unchanged")])
def test_a_map_of_classes_is_chosen_where_its_ratio_is_one_over_the_level(monkeypatch, ratio, chosen):
    told = SimpleNamespace(scores=(), skipped=())
    found = SimpleNamespace(result=told, ratio={"averaged_classes": ratio}, beats_constant=lambda _: True, fitted={})
    asked = []
    monkeypatch.setattr(compare, "compared", lambda *each: asked.append(each[3]) or found)
    assert choose_recalibrator(*drawn_classes(60, 3, 0), level=np.exp(-3.0)).chosen == chosen
    assert asked == [np.exp(-3.0)]
