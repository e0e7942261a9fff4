"""Rows that maps are judged on: which rows are read, split and fitted, and what says that they cannot be."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.arguments import TimeLimit
from calibrant.door.classes import multiclass_sample
from calibrant.door.rows import Rows
from calibrant.recalibration import TemperatureScaling, VectorScaling
from calibrant.recalibration.compare import Judge, says_certain, spread_of_sum
from calibrant.recalibration.softmax_fit import OutOfTime

Y, V = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.1, 0.8, 0.6, 0.3])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0])
THREE = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1]])


@pytest.mark.parametrize("groups", [None, [5, 5, 2, 2]])
@pytest.mark.parametrize("kind", ["rows", "two", "three"])
def test_rows_that_were_read_are_judged_as_they_are(kind, groups):
    if kind == "rows":
        read, outcome, prediction = Rows.of(Y, V, WEIGHT, groups=groups), Y, V
    else:
        table = np.column_stack([1.0 - V, V]) if kind == "two" else THREE
        outcome, prediction = ([0, 1, 1, 0], V) if kind == "two" else ([0, 1, 2, 0], THREE)
        read = multiclass_sample(outcome, table, sample_weight=WEIGHT)
        object.__setattr__(read, "group", None if groups is None else np.array(groups))
    judge = Judge.read(read)
    assert judge.classes is (kind == "three")
    assert np.array_equal(judge.outcome, outcome)
    assert judge.prediction == pytest.approx(prediction)
    assert judge.weight / judge.weight.sum() == pytest.approx(WEIGHT / 10.0)  # one factor changes nothing
    assert judge.group is None if groups is None else np.array_equal(judge.group, [1, 1, 0, 0])


@pytest.mark.parametrize(
    ("outcome", "cv", "group", "argument", "said"),
    [
        (Y, 2, None, None, None),
        (Y, 3, None, "y_true", "has 2 ones and 2 zeros; cv=3 needs as many of each"),
        (np.array([1.0, 1.0, 1.0, 0.0]), 2, None, "y_true", "has 3 ones and 1 zeros; cv=2 needs as many of each"),
        (Y, 2, np.array([0, 1, 1, 0]), "groups", "leave only one outcome for one of the 2 fits; lower cv"),
        (np.array([0, 1, 2, 0]), 4, None, None, None),
        (np.array([0, 1, 2, 0]), 5, None, "y_true", "has 4 rows; cv=5 needs as many"),
        (np.array([0, 0, 1, 1]), 2, np.array([0, 0, 1, 1]), None, None),  # a class may be missing from a fit
    ],
)
def test_rows_are_split_where_each_part_has_what_a_fit_needs(outcome, cv, group, argument, said):
    classes = outcome.dtype != float
    judge = Judge(outcome, THREE if classes else V, None, classes=classes, group=group)
    if argument is None:
        pairs = judge.splits(cv, 0)
        assert sorted(np.concatenate([test for _, test in pairs]).tolist()) == [0, 1, 2, 3]
        return
    with pytest.raises(InputError) as caught:
        judge.splits(cv, 0)
    assert caught.value.argument == argument
    assert said in str(caught.value)


class Fit:
    """A map that keeps what it is fitted with."""

    def fit_sample(self, sample):
        return sample

    def fit_classes(self, part, stop=None):
        self.part, self.stop = part, stop
        return self


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("clock", [None, TimeLimit(None)])
def test_maps_of_classes_are_fitted_to_some_rows_with_their_weights_until_the_time_is_up(weight, clock):
    at = np.array([1, 2])
    judge = Judge(np.array([0, 1, 2, 0]), THREE, weight, classes=True)
    fitted = judge.fitted(Fit(), at, clock)
    assert fitted.part.y_true.tolist() == [1, 2]
    assert fitted.part.sample_weight is None if weight is None else fitted.part.sample_weight.tolist() == [2.0, 3.0]
    assert (fitted.stop is None) == (clock is None)
    if clock is not None:
        assert fitted.stop() is clock.up is False
    assert (
        judge.fitted(TemperatureScaling(), slice(None), TimeLimit(None)).temperature_ > 0.0
    )  # which takes no time to stop


@pytest.mark.parametrize("classes", [False, True])
def test_rows_that_weigh_nothing_are_fitted_by_no_map(classes):
    weight = np.array([0.0, 0.0, 1.0, 1.0])
    judge = Judge(np.array([0, 1, 2, 0]) if classes else Y, THREE if classes else V, weight, classes=classes)
    with pytest.raises(InputError, match="sample_weight"):
        judge.fitted(Fit(), np.array([0, 1]))
    assert judge.fitted(Fit(), np.array([1, 2])) is not None


@pytest.mark.parametrize("weight", [None, WEIGHT, WEIGHT / 1e3, np.array([0.0, 1.0, 0.0, 2.0])])
def test_the_constant_is_the_mean_of_the_other_rows(weight):
    pairs = [(np.array([0, 2]), np.array([1, 3])), (np.array([1, 3]), np.array([0, 2]))]
    mass = np.ones(4) if weight is None else weight
    for classes, outcome, prediction in ((False, Y, V), (True, np.array([0, 1, 2, 0]), THREE)):
        happened = np.eye(3)[outcome] if classes else Y[:, None]
        judge = Judge(outcome, prediction, weight, classes=classes)
        found = judge.constant(pairs).reshape(4, -1)
        for train, test in pairs:
            share = mass[train] if mass[train].sum() > 0.0 else np.ones(2)  # rows that weigh nothing count alike
            expected = (happened[train] * share[:, None]).sum(axis=0) / share.sum()
            assert found[test] == pytest.approx(np.array([expected, expected]))


def test_errors_of_a_sum_are_of_rows_or_of_groups():
    parts = np.array([3.0, -4.0, 1.0])
    assert spread_of_sum(parts, None) == pytest.approx(np.sqrt(26.0))
    assert spread_of_sum(parts, np.array([0, 0, 1])) == pytest.approx(np.sqrt(2.0))


class Table:
    """A map of classes that takes entries below a half to 0."""

    def __init__(self, to):
        self.to = to

    def _map_classes(self, table):
        return np.where(table < 0.5, self.to, table)


@pytest.mark.parametrize(("to", "certain"), [(0.0, True), (0.01, False)])
def test_a_map_of_classes_says_certain_of_any_prediction_that_may_come(to, certain):
    assert says_certain(Table(to), np.full((2, 2), 0.5)) is certain


def test_a_fit_of_classes_stops_when_it_is_told(monkeypatch):
    judge = Judge(np.array([0, 1, 2, 0]), THREE, None, classes=True)
    clock = TimeLimit(None)
    monkeypatch.setattr(TimeLimit, "up", True)
    with pytest.raises(OutOfTime):
        judge.fitted(VectorScaling(), slice(None), clock)
