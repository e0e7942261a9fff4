"""Folds: each row once, labels shared out, groups whole; cross-fitting puts predictions where their rows are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.resampling.folds import cross_fitted, folds
from tests.strategies import examples


@examples(50)
@given(
    label=st.lists(st.integers(0, 2), min_size=6, max_size=40),
    parts=st.sampled_from([2, 3, np.int64(5)]),
    seed=st.none() | st.integers(0, 9),
)
def test_each_row_is_predicted_once_by_the_others(label, parts, seed):
    label = np.array(label)
    splits = folds(label, parts, seed=seed)
    assert len(splits) == parts
    for train, test in splits:
        assert np.sort(np.concatenate([train, test])).tolist() == list(range(label.size))
    rarest = np.unique(label, return_counts=True)[1].min()
    if rarest >= parts:
        shares = [np.bincount(label[test], minlength=3) for _, test in splits]
        assert (np.ptp(shares, axis=0) <= 1).all()
    found = cross_fitted(lambda train, test: test + 0.5 * np.isin(test, train), splits)
    assert found.tolist() == list(range(label.size))


@examples(50)
@given(size=st.integers(12, 40), seed=st.none() | st.integers(0, 9), data=st.data())
def test_groups_stay_whole(size, seed, data):
    group = np.array(data.draw(st.lists(st.sampled_from("abcdef"), min_size=size, max_size=size)))
    if np.unique(group).size < 3:
        with pytest.raises(InputError, match=r"groups: has \d groups for 3 parts"):
            folds(np.arange(size) % 2, 3, groups=group, seed=seed)
        return
    splits = folds(np.arange(size) % 2, 3, groups=group, seed=seed)
    for train, test in splits:
        assert not set(group[train]) & set(group[test])
    assert np.sort(np.concatenate([test for _, test in splits])).tolist() == list(range(size))


def test_the_same_seed_gives_the_same_folds():
    label = np.arange(40) % 2
    first, again, other, plain = (folds(label, 4, seed=seed)[0][1].tolist() for seed in (1, 1, 2, None))
    assert first == again
    assert first not in (other, plain)


@pytest.mark.parametrize("seed", [None, 3])
def test_a_label_of_as_many_rows_as_parts_has_one_in_each(seed):
    label = np.repeat([0, 1], [12, 3])
    assert [int(label[test].sum()) for _, test in folds(label, 3, seed=seed)] == [1, 1, 1]
    fewer = folds(np.repeat([0, 1], [12, 2]), 3, seed=None)  # then rows are cut in their order
    assert [test.tolist() for _, test in fewer] == [list(range(5)), list(range(5, 10)), list(range(10, 14))]


@pytest.mark.parametrize(
    ("options", "argument", "said"),
    [
        ({"cv": 7}, "cv", "has 6 rows for 7 parts; each part needs one"),
        ({"groups": [1, 1, 1, 2, 2, 2], "cv": 3}, "groups", "has 2 groups for 3 parts; each part needs one"),
        ({"groups": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0]}, "groups", "row 2 is nan; every row needs a group"),
        ({"groups": np.zeros((6, 1))}, "groups", r"has shape \(6, 1\)"),
        ({"groups": [1, 2, None, 4, 5, 6]}, "groups", "row 2 is None"),
        ({"groups": np.array([1, 2, "a", 4, 5, 6], object)}, "groups", "holds names of several types"),
        ({"cv": [(np.arange(3), np.arange(3, 6))]}, "cv", "predicts row 0 0 times"),
        ({"cv": [(np.arange(3), np.arange(3, 6)), (np.arange(3, 6), np.arange(4))]}, "cv", "predicts row 3 2 times"),
        (
            {"cv": [(np.arange(3), np.arange(3, 6)), (np.arange(3, 6), np.arange(3))], "groups": [1, 1, 2, 2, 3, 3]},
            "cv",
            "puts rows of group 2 on both sides",
        ),
    ],
)
def test_folds_that_would_let_rows_see_themselves_are_refused(options, argument, said):
    with pytest.raises(InputError, match=f"{argument}: {said}"):
        folds(np.tile([0, 1], 3), **{"cv": 2, **options})


def test_a_splitter_is_shown_the_table():
    class ByTable:
        def split(self, table, *_):
            for part in (0.0, 1.0):
                yield np.flatnonzero(table != part), np.flatnonzero(table == part)

        def get_n_splits(self, *_):
            return 2

    table = np.array([1.0, 0.0, 1.0, 0.0])
    held = [test.tolist() for _, test in folds(np.array([0, 0, 1, 1]), ByTable(), table=table)]
    assert held == [[1, 3], [0, 2]]


@pytest.mark.filterwarnings("error")  # scikit-learn warns of groups that a splitter takes no notice of
def test_a_splitter_is_shown_the_groups_if_it_looks_at_them():
    from sklearn.model_selection import GroupKFold, KFold

    group, label = np.repeat([3, 1, 2], 4), np.tile([0, 1], 6)
    held = [set(group[test].tolist()) for _, test in folds(label, GroupKFold(3), groups=group)]
    assert sorted(map(sorted, held)) == [[1], [2], [3]]
    with pytest.raises(InputError, match=r"^cv: cannot split these rows: "):  # which needs them
        folds(label, GroupKFold(3))
    whole = [test.tolist() for _, test in folds(label, KFold(3), groups=group)]
    assert whole == [list(range(first, first + 4)) for first in (0, 4, 8)]


@pytest.mark.parametrize("seed", [None, 3])
def test_groups_are_dealt_at_random_by_a_seed_alone(seed):
    group, label = np.arange(60) // 2, np.arange(60) // 2 % 2
    splits = [[test.tolist() for _, test in folds(label, 3, groups=group, seed=each)] for each in (seed, seed, 4)]
    assert splits[0] == splits[1]
    assert splits[0] != splits[2]
    for test in splits[0]:  # labels are shared out
        assert label[test].sum() == len(test) // 2 == 10
