"""Columns that cannot be used are refused by argument and first bad row; what lies just inside is taken."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door import arguments
from calibrant.door.classes import check_logits, multiclass_sample
from calibrant.door.columns import of_log_odds
from calibrant.door.rows import read_groups, read_trials
from calibrant.door.values import _part, plain
from calibrant.inference import squared_error_interval, squared_error_rows
from calibrant.measures import squared_averaged_two_bin_error


@pytest.mark.parametrize(
    ("call", "argument", "said"),
    [
        (lambda: check_logits(np.array([[0.0, 1.0], [0.0, np.nan]]), 5), "y_prob", "row 6, column 1 is nan"),
        (lambda: check_logits(np.array([[0.0, np.inf]])), "y_prob", "row 0, column 1 is inf"),
        (lambda: check_logits(np.array([[0.0, 1.0], [-np.inf] * 2]), 2), "y_prob", "row 3 has no possible class"),
        (lambda: of_log_odds(np.array([0.0, 1.0, np.nan])), "y_prob", "row 2 is nan"),
        (lambda: read_trials([1, 2], 3), "trials", "has 2 rows but y_prob has 3"),
        (lambda: read_trials([1, 0.5, 1], 3), "trials", "row 1 is 0.5"),
        (lambda: read_trials([1, 3, 2.5], 3), "trials", "row 2 is 2.5"),
        (lambda: read_trials([1, 11, 1], 3, 10), "trials", "row 1 is 11"),
        (lambda: read_groups([["a"]], 1), "groups", "has shape (1, 1)"),
        (lambda: read_groups(["a"], 2), "groups", "has shape (1,)"),
        (lambda: read_groups(np.array(["a", None], object), 2), "groups", "row 1 has no value"),
        (lambda: read_groups(np.array([1.0, np.nan]), 2), "groups", "row 1 has no value"),
        (lambda: read_groups(np.array(["a", 1], object), 2), "groups", "mixes kinds of values"),
        (
            lambda: multiclass_sample([0, 1], np.eye(2), classes=[0, 1], pos_label=7),
            "pos_label",
            "is 7, which is no class",
        ),
        (lambda: multiclass_sample([0, 1, 2], np.eye(3), pos_label=1), "pos_label", "says which of two classes"),
        (lambda: multiclass_sample([0, 1, 2], np.eye(3)).positive_class, "y_prob", "has 3 columns"),
        (lambda: multiclass_sample(np.zeros((2, 1, 1)), np.eye(2)), "y_true", "has shape (2, 1, 1)"),
        (lambda: multiclass_sample([[0, 1], [1]], np.eye(2)), "y_true", "differ in length"),
        (lambda: multiclass_sample([0, 1], np.eye(2), classes=["a"]), "classes", "has 1 names"),
        (lambda: multiclass_sample([0, 1], np.eye(2), classes=["a", "a"]), "classes", "holds a name twice"),
        (lambda: multiclass_sample([0, 1], np.eye(2), classes="ab"), "classes", "is 'ab'"),
        (lambda: multiclass_sample(["a", "b"], np.eye(2), classes=["a", None]), "classes", "holds a missing name"),
        (lambda: squared_averaged_two_bin_error([1], [0.5], debiased=True), "debiased", "there is 1"),
        (
            lambda: squared_averaged_two_bin_error([1, 0], [0.5, 0.2], sample_weight=[1, 0], debiased=True),
            "debiased",
            "there is 1",
        ),
        (lambda: squared_error_interval(1.1, 10**6, 2), "estimate", "is 1.1"),
        (lambda: squared_error_interval(-1.1, 10**6, 2), "estimate", "is -1.1"),
        (lambda: squared_error_interval(True, 10**6, 2), "estimate", "is True"),
        (lambda: squared_error_interval(0.1, 10, 2), "n_rows", "is 10"),
        (lambda: squared_error_rows(0.0, 2), "error", "is 0.0"),
        (lambda: squared_error_rows(1.5, 2), "error", "is 1.5"),
        (lambda: squared_error_rows(0.1, 2, effect_size=1.0), "effect_size", "is 1.0"),
        (lambda: squared_error_rows(0.1, 2, least_probability=0.6), "least_probability", "is 0.6"),
        (lambda: squared_error_rows(0.1, 2, least_probability=0.0), "least_probability", "is 0.0"),
        (lambda: arguments.check_band(1e-9, 10), "level", "is 1e-09"),
        (lambda: arguments.check_band(0.1, 18), "n_resamples", "is 18"),
        (lambda: arguments.check_band(0.6, 0), "level", "is 0.6"),
        (lambda: arguments.check_band(0.1, -1), "n_resamples", "is -1"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(call, argument, said):
    with pytest.raises(InputError) as told:
        call()
    assert told.value.argument == argument
    assert said in told.value.problem


def test_what_lies_just_inside_is_taken():
    check_logits(np.array([[-np.inf, 0.0], [-1e308, 1e308]]))
    assert of_log_odds(np.array([-np.inf, 0.0, np.inf, 2.0, -2.0])) == pytest.approx(
        [0.0, 0.5, 1.0, 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))], rel=1e-15
    )
    assert read_trials([1, 10], 2, 10).tolist() == [1.0, 10.0]
    assert read_groups(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert multiclass_sample([0, 1], np.eye(2), pos_label=0).positive_class == 0
    assert multiclass_sample([0, 1], np.eye(2)).positive_class == 1
    assert squared_error_rows(0.1, 2, least_probability=0.5) > 0
    squared_error_interval(1.0, 10**6, 2)
    squared_error_interval(-1.0, 10**6, 2)
    arguments.check_band(0.1, 19)
    arguments.check_band(0.1, 0)
    enough = int(np.floor(12.0 / 0.25 * np.log(2.0 * 2 / (0.05 / 4)))) + 1  # "more than 12 / p log(2 B / delta)"
    squared_error_interval(0.1, enough, 2, least_probability=0.25)
    with pytest.raises(InputError, match=f"needs {enough:,} rows or more"):
        squared_error_interval(0.1, enough - 1, 2, least_probability=0.25)


def test_a_row_of_classes_may_miss_a_sum_of_one_by_the_tolerance_itself():
    table = np.array([[0.5, 0.5], [0.5, 0.75]])
    assert multiclass_sample([0, 1], table, tolerance=0.25).n_classes == 2
    with pytest.raises(InputError, match=r"row 1 adds up to 1\.25"):
        multiclass_sample([0, 1], table, tolerance=0.25 - 2.0**-40)


def test_values_are_shown_as_python_writes_them():
    assert [_part(each) for each in ((1,), (1, 2), (), [1, 2], (1,) * 5)] == [
        "(1,)",
        "(1, 2)",
        "()",
        "[1, 2]",
        "<5 items>",
    ]
    assert _part(np.zeros(4)) == "array([0., 0., 0., 0.])"
    assert _part(np.zeros(5)) == "<array of shape (5,)>"
    assert plain([np.float64(1.5), np.nan, np.inf, None, True]) == [1.5, None, None, None, True]
    assert plain({"a": (1,)}) == {"a": [1]}


def test_a_band_is_drawn_down_to_the_level_that_the_most_resamples_can_reach():
    """Each of its two tails holds one draw of all and the rows' own."""
    most = arguments.MOST_RESAMPLES
    least = 2.0 / (most + 1)
    arguments.check_band(least, most)
    with pytest.raises(InputError, match=r"^n_resamples: "):
        arguments.check_band(least, most - 1)
    for n in (most, 10):
        with pytest.raises(InputError, match=r"^level: is .*; bands are drawn down to 2e-06"):
            arguments.check_band(np.nextafter(least, 0.0), n)
    arguments.check_band(np.nextafter(least, 0.0), 0)


@pytest.mark.parametrize(
    ("level", "meant"),
    [
        (0.95, 0.95),
        (95, 0.95),
        (0.6, 0.6),
        (60.0, 0.6),
        (99.9, 0.999),
        (50, None),
        (1, None),
        (1.2, None),
        (49.9, None),
    ],
)
def test_a_confidence_in_place_of_a_level_is_told_as_the_level_that_it_leaves(level, meant):
    """As a share, or in percent; half of them or less is no confidence that anybody asks for."""
    with pytest.raises(InputError, match=r"it is alpha, the probability of error, at most 0.5") as told:
        arguments.check_level(level)
    hint = "" if meant is None else f". For {meant} confidence pass {round(1.0 - meant, 6)}"
    assert str(told.value).endswith(f"at most 0.5{hint}")


def test_levels_reach_from_the_least_to_one_half():
    for level in (arguments.LEAST_SHARE, 0.5):
        assert arguments.check_level(level) == level
    with pytest.raises(InputError, match=f"^level: .*at least {arguments.LEAST_SHARE:g}"):
        arguments.check_level(arguments.LEAST_SHARE / 2.0)
    for level in (100, 120.0, 0, -1, True):
        with pytest.raises(InputError, match=r"^level: ") as told:
            arguments.check_level(level)
        assert "alpha" not in str(told.value)


def test_resamples_are_a_whole_number_of_at_most_a_million():
    assert arguments.check_number(arguments.MOST_RESAMPLES) == arguments.MOST_RESAMPLES == 10**6
    with pytest.raises(InputError, match=r"^n_resamples: is above 1,000,000"):
        arguments.check_number(arguments.MOST_RESAMPLES + 1)


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("level", [0.05, 0.0499, 0.0501, 0.1, 1.0 / 3.0, 0.34, 0.49])
def test_the_least_p_value_that_redraws_can_make_is_at_most_the_share_of_the_level(level, share):
    needed = next(n for n in range(1, 100) if 1.0 / (1 + n) <= share * level * (1.0 + 1e-12))
    assert arguments.check_resamples(needed, level, share=share) == needed
    if needed > 1:
        with pytest.raises(InputError, match=f"it must be at least {needed}"):
            arguments.check_resamples(needed - 1, level, share=share)


@pytest.mark.parametrize("number", [-1, 18.5, True, "many"])
def test_a_band_may_have_no_resamples_and_its_refusal_says_so(number):
    with pytest.raises(InputError, match="it must be a whole number, 0 for no band"):
        arguments.check_band(0.1, number)
