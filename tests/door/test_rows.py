"""Single rows as tests take them: trials, groups, equal weights, and what is redrawn together, by hand."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.rows import (
    Lots,
    Rows,
    check_outcome_free,
    dimensions,
    events_of,
    not_taken,
    read_fractions,
    read_groups,
    read_trials,
    read_units,
    require_single_outcomes,
    sample_and_rows,
)
from calibrant.door.sample import Sample

Y, V = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.5, 0.25, -0.0, 0.5])


@pytest.mark.parametrize(("trials", "most"), [([1, 2, 7], None), ([1.0, 2.0**31, 3.0], None), ([1, 5, 5], 5.0)])
def test_numbers_of_trials_are_taken(trials, most):
    assert read_trials(trials, 3, *([] if most is None else [most])).tolist() == trials


@pytest.mark.parametrize(
    ("trials", "row"), [([1, 0, 2], 1), ([1, 2, 2.5], 2), ([1, 2.0**31 + 1, 2], 1), ([-1, 1, 1], 0)]
)
def test_trials_are_whole_numbers_from_1(trials, row):
    with pytest.raises(InputError, match=r"each must be a whole number from 1 to 2,147,483,648") as refused:
        read_trials(trials, 3)
    assert (refused.value.argument, refused.value.row) == ("trials", row)


def test_columns_beside_predictions_have_as_many_rows():
    with pytest.raises(InputError, match="trials: has 2 rows but y_prob has 3; they must match"):
        read_trials([1, 2], 3)
    for groups in ([1, 2], [[1], [2], [3]], 5):
        with pytest.raises(InputError, match=r"groups: has shape .*; one value for each of 3 rows is needed"):
            read_groups(groups, 3)


@pytest.mark.parametrize(
    ("groups", "number"),
    [
        (["b", "a", "b"], [1, 0, 1]),
        ([3, 1, 2], [2, 0, 1]),
        (np.array([0.5, 0.5, 2.0]), [0, 0, 1]),
        (np.array(["b", "a", "c"], object), [1, 0, 2]),
    ],
)
def test_groups_are_numbered_in_their_order(groups, number):
    found = read_groups(groups, 3)
    assert found.tolist() == number
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("groups", "said", "row"),
    [
        ([1.0, np.nan, 2.0], "x: row 1 has no value", 1),
        (np.array(["a", "b", None], object), "x: row 2 has no value", 2),
        (np.array(["a", 1, 2], object), "x: mixes kinds of values; all must be numbers, or all text", None),
    ],
)
def test_each_row_has_a_group_of_one_kind(groups, said, row):
    with pytest.raises(InputError) as refused:
        read_groups(groups, 3, "x")
    assert (str(refused.value), refused.value.row) == (said, row)


@pytest.mark.parametrize(
    ("groups", "trials", "max_weight", "alone"),
    [
        ([1, 2, 3], None, None, True),
        ([1, 2, 2], None, None, False),
        ([1, 2, 3], [1, 1, 1], None, False),
        ([1, 2, 3], None, 2.0, False),
        ([], None, None, True),
        ([7], None, None, True),
    ],
)
def test_rows_that_are_groups_of_their_own_are_none(groups, trials, max_weight, alone):
    assert (read_units(groups, len(groups), trials, max_weight) is None) == alone


@pytest.mark.parametrize(
    ("share", "count", "events"),
    [([0.5, 0.25], [2, 4], [1, 1]), ([1 / 3], [3], [1]), ([1 / 3], [3_000_000], [1_000_000]), ([0.0], [7], [0])],
)
def test_shares_of_trials_are_whole_numbers_of_events(share, count, events):
    assert events_of(np.array(share), np.array(count, float)).tolist() == events


@pytest.mark.parametrize(("share", "count"), [(0.5, 3), (0.333, 3), (0.333333, 3_000_000.0 + 1)])
def test_other_shares_of_trials_are_refused(share, count):
    with pytest.raises(InputError, match="with trials it is the share of events, a whole number of them") as refused:
        events_of(np.array([0.0, share]), np.array([1.0, count]))
    assert (refused.value.argument, refused.value.row) == ("y_true", 1)


def test_weights_of_which_all_are_equal_are_none():
    for weight, kept in ((np.full(4, 3.0), None), (np.array([2.0, 1.0, 1.0, 1.0]), [1.0, 0.5, 0.5, 0.5])):
        rows = Rows.of_arrays(Y, V, weight)
        assert (None if rows.weight is None else rows.weight.tolist()) == kept
        assert not np.signbit(rows.y_prob).any()
    assert Rows.of(Y, V, np.full(4, 3.0)).weight is None
    assert Rows.of_arrays(Y, V, None).plain


def test_rows_of_trials_are_as_many_single_ones():
    rows = Rows.of([0.5, 1.0, 0.0], [0.25, 0.5, 0.75], trials=[4, 2, 1], groups=["b", "a", "b"])
    assert (rows.y_true.tolist(), rows.count.tolist(), rows.n_groups, rows.plain) == ([2, 2, 0], [4, 2, 1], 2, False)
    single = rows.single()
    assert single.y_true.tolist() == [1, 1, 0, 0, 1, 1, 0]
    assert single.y_prob.tolist() == [0.25] * 4 + [0.5] * 2 + [0.75]
    assert single.group.tolist() == [1] * 4 + [0, 0, 1]
    assert single.trials is None
    assert single.single() is single
    weighted = Rows.of(Y, V, [1.0, 2.0, 1.0, 1.0]).take(np.array([1, 2]))
    assert (weighted.y_true.tolist(), weighted.weight.tolist()) == ([0, 1], [1.0, 0.5])


def test_pooled_rows_come_one_after_another_with_events_first():
    pooled = Sample.from_columns([0, 1, 1, 0], [0.5, 0.5, 0.25, 0.25])
    rows = Rows.of_sample(pooled)
    assert (rows.y_true.tolist(), rows.y_prob.tolist()) == ([1, 0, 1, 0], [0.25, 0.25, 0.5, 0.5])
    assert rows.sample is pooled
    heavy = Sample.from_columns([0, 1, 1, 0], [0.5, 0.5, 0.25, 0.25], [3.0] * 4)
    assert heavy.weight is not heavy.count
    again = Rows.of_sample(heavy)
    assert again.sample is not heavy
    assert again.sample.weight.tolist() == [2.0, 2.0]


def test_lots_are_rows_of_one_prediction_and_one_weight():
    v, w = np.array([0.5, 0.25, 0.5, 0.5]), np.array([1.0, 0.5, 0.5, 1.0])
    lots = Lots.of(v, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.0, 2.0, 3.0]), w)
    assert lots.prediction.tolist() == [0.25, 0.5, 0.5]
    assert lots.weight.tolist() == [0.5, 0.5, 1.0]
    assert lots.count.tolist() == [2.0, 3.0, 5.0]
    assert lots.ones.tolist() == [0.0, 2.0, 4.0]
    # w^2 n v (1 - v), and w (k - n v)
    assert lots.variance.tolist() == [0.25 * 2 * 0.1875, 0.25 * 3 * 0.25, 5 * 0.25]
    assert lots.excess.tolist() == [0.5 * (0 - 0.5), 0.5 * (2 - 1.5), 4 - 2.5]
    assert lots.first.tolist() == [0, 1]
    pooled = lots.sample
    assert pooled.weight.tolist() == [1.0, 6.5]
    assert pooled.weighted_outcome.tolist() == [0.0, 5.0]
    assert pooled.squared_weight.tolist() == [0.5, 5.75]
    plain = Lots.of(v, np.ones(4), np.zeros(4), None)
    assert (plain.prediction.tolist(), plain.count.tolist()) == ([0.25, 0.5], [1.0, 3.0])
    pooled = plain.sample
    assert pooled.weight is pooled.count
    assert Lots.of(v[:0], v[:0], v[:0], None).count.size == 0


def test_rows_without_weight_are_in_no_lot():
    rows = Rows.of(Y, V, [1.0, 1e-21, 1.0, 0.5], outcome_free_weights=True)
    assert rows.mask.tolist() == [True, False, True, True]
    assert rows.lots.prediction.tolist() == [0.0, 0.5, 0.5]


def test_what_weights_say_decides_how_rows_are_drawn():
    weights = [1.0, 2.0, 3.0, 4.0]
    for options, informative, jointly in (
        ({}, False, False),
        ({"sample_weight": weights}, True, True),
        ({"sample_weight": weights, "outcome_free_weights": True}, False, False),
        ({"sample_weight": weights, "groups": [0, 0, 1, 1]}, False, False),
        ({"sample_weight": np.where(Y == 1, 1.0, 3.0)}, True, False),
    ):
        rows = Rows.of(Y, V, **options)
        assert (rows.informative, rows.jointly) == (informative, jointly)
    with pytest.raises(InputError, match="sample_weight: may tell outcomes, and of trials it is one weight"):
        _ = Rows.of(Y, V, weights, trials=[1, 2, 1, 3]).tested
    with pytest.raises(InputError, match="sample_weight: make rows with the event worth"):
        _ = Rows.of(Y, V, weights).tested
    by = Rows.of(Y, V, np.where(Y == 1, 1.0, 3.0)).tested
    assert (by.weight, by.fractions) == (None, None)
    assert by.y_prob == pytest.approx([0.5 / (0.5 + 0.5 / 3), 0.25 / (0.25 + 0.75 / 3), 0.0, 0.75])


@pytest.mark.parametrize(
    ("options", "premise"),
    [
        ({}, "rows are independent"),
        ({"groups": [0, 0, 1, 1]}, "rows are independent between groups"),
        (
            {"sample_weight": [1, 2, 3, 4], "outcome_free_weights": True},
            "rows are independent, and weights do not depend on outcomes given the predictions",
        ),
        (
            {"sample_weight": [1, 2, 3, 4], "groups": [0, 0, 1, 1]},
            "rows are independent between groups, with their weights",
        ),
        (
            {"sample_weight": [1, 2, 1, 2]},
            "rows are independent, and sampled by outcome as the weights say: 0.5 of the rows without the event and 1",
        ),
        (
            {"sampling_fractions": {0: 0.5, 1: 1.0}},
            "rows are independent, and sampled by outcome: 0.5 of the rows without the event and 1 of those with it",
        ),
        ({"sample_weight": [1, 2, 3, 4]}, "rows are independent, and many: weights may tell outcomes, and are drawn"),
    ],
)
def test_the_premise_of_a_test_is_told(options, premise):
    assert Rows.of(Y, V, **options).premise.startswith(premise)


def test_what_has_no_place_is_refused_by_name():
    not_taken("no theory", trials=None, groups=None)
    with pytest.raises(InputError, match="groups: cannot be used here: no theory"):
        not_taken("no theory", trials=None, groups=[1])
    require_single_outcomes(Y)
    with pytest.raises(InputError, match=r"y_true: row 1 is 0\.5; a test counts single outcomes; each must be 0 or 1"):
        require_single_outcomes(np.array([1.0, 0.5]))
    check_outcome_free(False, None, None)
    check_outcome_free(True, [1.0], None)
    for given in ((True, None, None), (True, [1.0], [1]), (1, [1.0], None)):
        with pytest.raises(InputError, match="outcome_free_weights: "):
            check_outcome_free(*given)
    assert read_fractions(None, trials=[1]) is None
    assert read_fractions({0: 0.5, 1: 1.0}, trials=None).without == 0.5
    for name, what in (("trials", "trials"), ("sample_weight", "weights")):
        with pytest.raises(InputError, match=f"sampling_fractions: cannot be used with {what}: ") as refused:
            read_fractions({0: 0.5, 1: 1.0}, **{name: [1.0]})
        assert (refused.value.allowed is None) == (name == "trials")


def test_rows_are_kept_where_weights_tell_single_outcomes_apart():
    assert sample_and_rows(Y, V, None)[1] is None
    assert sample_and_rows(Y / 2, V, Y + 1)[1] is None
    assert sample_and_rows(Y, V, Y + 1)[1].weight.tolist() == [1.0, 0.5, 1.0, 0.5]


@pytest.mark.parametrize(
    ("y_prob", "wanted"),
    [([0.5], 1), ([], 1), ([[0.5, 0.5]], 2), (((0.5, 0.5),), 2), (np.zeros((2, 2)), 2), (np.zeros(2), 1), ("ab", 1)],
)
def test_a_table_has_two_dimensions(y_prob, wanted):
    assert dimensions(y_prob) == wanted


@pytest.mark.parametrize(("weight", "rows"), [(None, 4.0), ([2.0] * 4, 4.0), ([1.0, 1.0, 2.0, 0.0], 16 / 6)])
def test_effective_rows_of_a_sample_are_those_of_kish(weight, rows):
    assert Sample.from_columns(Y, V, weight).effective_rows == pytest.approx(rows)
