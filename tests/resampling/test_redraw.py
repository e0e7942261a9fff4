"""Ranks among redrawn statistics: infinite ones, ties by rounding, several at once."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.rows import Rows
from calibrant.resampling.redraw import (
    LEAST_GROUPS,
    Redraws,
    check_groups,
    check_surprises,
    enough_for_signs,
    joined,
    joint_pvalue,
    log_tail_of_total,
    number_for_signs,
    pvalue_among,
    pvalues_among,
    redrawn_pvalue,
    worth_for_signs,
)


def test_infinite_statistics_tie():
    drawn = np.array([np.inf, 1.0, np.inf, 2.0])
    assert pvalue_among(np.inf, drawn) == 3 / 5
    assert pvalue_among(np.inf, drawn[[1, 3]]) == 1 / 3
    assert pvalue_among(2.0, drawn) == 4 / 5


def test_what_cannot_be_compared_never_speaks_against_the_predictions():
    assert pvalue_among(np.nan, np.array([0.0, 1.0])) == 1.0
    assert pvalue_among(1.0, np.array([np.nan, 0.0])) == 2 / 3


def test_rounding_does_not_part_equal_statistics():
    assert pvalue_among(0.3, np.array([0.1 + 0.2, 0.3 * (1 - 1e-15), 0.2])) == 3 / 4


def test_several_at_once_are_each_by_itself():
    rng = np.random.default_rng(0)
    drawn, observed = rng.integers(0, 4, (50, 6)).astype(float), rng.integers(0, 4, 6).astype(float)
    drawn[:5, 2] = observed[2] = np.inf
    each = [pvalue_among(o, d) for o, d in zip(observed, drawn.T, strict=True)]
    assert pvalues_among(observed, drawn).tolist() == each


def test_surprises_are_refused_below_the_least_and_taken_from_it_on():
    """Of 40 rows predicted 1/2 the sum of v (1 - v) is 10; of outcomes half and half that of squares is 10 too."""
    half, outcome = np.full(40, 0.5), np.tile([0, 1], 20)
    check_surprises(outcome, half, "", least=10)
    with pytest.raises(InputError, match="Resampling needs 11 of both; pool them") as told:
        check_surprises(outcome, half, "pool them", least=11)
    assert "holds 10 surprises, of which the predictions expect 10. " in told.value.problem
    seen, expected = np.ones(40, int), np.full(40, 0.1)
    with pytest.raises(InputError, match="holds 0 surprises"):  # an error that all rows have in common is no chance
        check_surprises(seen, half, "", least=1)
    with pytest.raises(InputError, match=r"expect 3\.6\. "):
        check_surprises(outcome, expected, "", least=4)


@pytest.mark.parametrize(("rows", "enough"), [(20, True), (18, False)])
def test_five_surprises_are_enough(rows, enough):
    """Of n rows predicted 1/2, half of them events, n / 4 are expected and seen."""
    outcome, half = np.tile([0, 1], rows // 2), np.full(rows, 0.5)
    if enough:
        check_surprises(outcome, half, "")
    else:
        with pytest.raises(InputError, match="Resampling needs 5 of both"):
            check_surprises(outcome, half, "")


def test_groups_are_counted_by_the_events_that_they_hold():
    """Ten rows a group, one of them an event: so many groups are as many in effect; in one group alone they are one."""
    group = np.repeat(np.arange(LEAST_GROUPS), 10)
    outcome = np.tile(np.arange(10) == 0, LEAST_GROUPS).astype(float)
    check_groups(Rows.of(outcome, np.full(group.size, 0.1), None, None, group))
    fewer = group < LEAST_GROUPS - 1
    with pytest.raises(
        InputError,
        match=f"^groups: events come from too few groups .as good as {LEAST_GROUPS - 1} equal ones; 30 are needed",
    ):
        check_groups(Rows.of(outcome[fewer], np.full(fewer.sum(), 0.1), None, None, group[fewer]))
    more = np.repeat(np.arange(LEAST_GROUPS + 1), 10)
    others = np.where(more < 2, 1.0, np.tile(np.arange(10) > 0, LEAST_GROUPS + 1))
    with pytest.raises(
        InputError,
        match=f"non-events come from too few groups .as good as {LEAST_GROUPS - 1} equal ones; 30 are needed",
    ):
        check_groups(Rows.of(others, np.full(more.size, 0.9), None, None, more))
    weight = np.where(group == 0, 1000.0, 1.0)
    with pytest.raises(InputError, match=r"events come from too few groups .as good as 1 equal ones; 30"):
        check_groups(Rows.of(outcome, np.full(group.size, 0.1), weight, None, group))


def test_what_is_redrawn_has_the_variance_of_the_outcomes_and_what_is_observed_stays():
    rng = np.random.default_rng(0)
    v, n, w = np.array([0.2, 0.2, 0.7, 0.0]), np.array([1.0, 4.0, 3.0, 2.0]), np.array([1.0, 2.0, 0.5, 1.0])
    lots = Redraws.of(Rows.of([1, 0.5, 1 / 3, 0], v, w, n, outcome_free_weights=True))
    assert lots.excess == pytest.approx(np.array([0.0, 0.8, 2 * (2 - 0.8), 0.5 * (1 - 2.1)]) / 2.0)  # over the largest
    drawn = np.array([lots.again(rng) for _ in range(4000)])
    variance = lots.weight**2 * lots.count * lots.prediction * (1.0 - lots.prediction)
    assert drawn.mean(axis=0) == pytest.approx(np.zeros(4), abs=0.2)
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.15, abs=1e-12)
    assert [int(each) for each in lots.first] == [0, 1, 3]


def test_of_groups_whole_groups_change_their_sign():
    v, group = np.linspace(0.1, 0.9, 60), np.repeat(np.arange(30), 2)
    y = np.tile([1.0, 0.0], 30)
    lots = Redraws.of(Rows.of(y, v, None, None, group))
    drawn = lots.again(np.random.default_rng(1))
    assert abs(drawn) == pytest.approx(abs(y - v))
    sign = np.sign(drawn * (y - v)).reshape(30, 2)
    assert (sign[:, 0] == sign[:, 1]).all()
    assert set(sign[:, 0]) == {-1.0, 1.0}


@pytest.mark.parametrize("level", [0.05, 0.0499, 0.01, 0.3, 0.34])
def test_redraws_are_as_many_as_could_reject_at_the_level(level):
    """1 / (1 + n) is the least p-value that n redraws can make; statistics are of the sums at each prediction."""
    rows = Rows.of(np.tile([0.0, 1.0], 40), np.repeat([0.4, 0.6], 40))
    needed = next(n for n in range(1, 200) if 1.0 / (1 + n) <= level)

    def pvalue(n):
        return redrawn_pvalue(rows, lambda excess: float(excess.size), level=level, n_resamples=n, random_state=0)

    assert pvalue(needed) == (2.0, 1.0)  # all statistics tie
    with pytest.raises(InputError, match=f"at level {level} it must be at least {needed}"):
        pvalue(needed - 1)


@pytest.mark.parametrize("seed", range(40))
def test_a_joint_pvalue_counts_draws_whose_rarest_statistic_is_rarer_and_of_those_as_rare_the_larger_ones(seed):
    """By the definition, with ties or none, in other units, and with a scale at which nothing varies."""
    rng = np.random.default_rng(seed)
    statistics = (rng.integers(0, 4, (12, 3)) if seed < 20 else rng.exponential(1.0, (12, 3))) * [1.0, 10.0, 0.1]
    statistics[:, 2] *= seed % 2
    varying = [column for column in statistics.T if column.any()]
    rarest = [min(sum(other >= column[k] for other in column) for column in varying) for k in range(12)]
    size = [max(column[k] / np.sqrt((column**2).mean()) for column in varying) for k in range(12)]
    for first in range(12):
        here = [
            r < rarest[first] or (r == rarest[first] and s > size[first] - 1e-9)
            for r, s in zip(rarest, size, strict=True)
        ]
        assert joint_pvalue(np.roll(statistics, -first, axis=0)) == sum(here) / 12


def test_the_bound_of_the_total_is_the_least_of_all_exponents_nearly():
    """Chernoff's, of single rows: log 2 and the least of log E exp(t sum) - t excess, over t of the excess's sign."""
    for v, excess in ((0.5, 9.0), (0.5, -9.0), (0.3, 12.0), (0.02, 3.0), (0.5, 20.0)):
        t = np.sign(excess) * np.linspace(0.0, 6.0, 6001)
        logs = 80 * (np.log1p(v * np.expm1(t)) - t * v) - t * excess
        found = log_tail_of_total(np.arange(80), np.full(80, v), np.ones(80), np.full(80, excess / 80))
        assert np.log(2.0) + logs.min() <= found + 1e-9
        assert found <= np.log(2.0) + 0.98 * logs.min()
    surprise = log_tail_of_total(np.array([0]), np.array([0.01]), np.ones(1), np.array([0.99]))
    assert surprise == pytest.approx(np.log(2.0 * 0.01), abs=0.1)  # of an event that was forecast to be rare
    slight = log_tail_of_total(np.arange(80), np.full(80, 0.5), np.ones(80), np.full(80, 0.01))
    assert slight == 0.0  # twice a bound near 1 is no probability
    certain = log_tail_of_total(np.arange(3), np.array([0.0, 1.0, 1.0]), np.ones(3), np.zeros(3))
    assert certain == 0.0  # where nothing can vary, nothing is proved


@pytest.mark.parametrize(
    ("by_signs", "bound", "variance", "expected"),
    [
        (0.099, 1.0, (1.0, 0.0), 0.1),  # signs have 99% of the level where all variance is theirs
        (1.0, 0.005, (1.0, 0.0), 0.5),
        (0.04, 1.0, (0.8, 0.2), 0.05),
        (1.0, 0.04, (0.8, 0.2), 0.2),
        (0.04, 1.0, (0.1, 0.9), 0.08),  # and half of it where nearly none is
        (1.0, 0.04, (0.1, 0.9), 0.08),
        (0.04, 1.0, (0.0, 0.0), 0.08),
        (0.04, 1.0, (0.08, 0.02), 0.05),
        (0.4, 0.4, (0.1, 0.2), 0.8),
        (0.7, 0.7, (0.1, 0.9), 1.0),
    ],
)
def test_each_kind_has_a_share_of_the_level_by_its_share_of_the_variance(by_signs, bound, variance, expected):
    found = joined(by_signs, bound, np.array(variance), np.array([True, False]))
    assert found == pytest.approx(expected)


def test_groups_are_worth_the_equal_ones_by_moments_of_their_sums():
    """(sum of second moments)^2 / sum of fourth ones: of a row that is predicted v they are known."""
    for v in (0.5, 0.3, 0.05):
        second, fourth = v * (1 - v), v * (1 - v) ** 4 + (1 - v) * v**4
        weight = np.r_[np.ones(50), 3.0 * np.ones(10)]
        expected = (weight**2).sum() ** 2 * second**2 / ((weight**4).sum() * fourth)
        rows = Rows.of(np.zeros(60), np.full(60, v), weight, None, np.arange(60))
        assert worth_for_signs(rows) == pytest.approx(expected)
        found = number_for_signs(np.arange(60), np.full(60, v), weight)
        assert found == pytest.approx(np.full(60, expected))
        for least, enough in ((expected * 0.999, True), (expected * 1.001, False), (None, expected >= 30.0)):
            assert (enough_for_signs(np.arange(60), np.full(60, v), weight, least) == enough).all()
    unweighted = Rows.of(np.zeros(40), np.full(40, 0.5), None, None, np.arange(40))
    assert worth_for_signs(unweighted) == pytest.approx(40.0)
    assert np.isinf(number_for_signs(np.arange(3), np.array([0.0, 1.0, 1.0]), np.ones(3))).all()


def test_rows_of_no_group_pass_any_number_of_groups():
    check_groups(Rows.of([0, 1], [0.2, 0.7]))


def test_what_is_redrawn_beside_weights_stands_at_its_predictions():
    """Rows that are predicted with certainty keep their places at both ends, and have no excess again."""
    rng = np.random.default_rng(0)
    v = np.r_[0.0, 0.0, 1.0, rng.uniform(0.1, 0.9, 60)]
    y = (rng.random(63) < v) * 1
    lots = Redraws.of(Rows.of(y, v, rng.uniform(1.0, 2.0, 63)))
    assert lots.jointly
    assert (np.diff(lots.prediction) >= 0.0).all()
    assert sorted(lots.prediction) == sorted(v)
    drawn = lots.again(rng)
    assert np.flatnonzero(drawn == 0.0).tolist() == [0, 1, 62]
    free = Redraws.of(Rows.of(y, v, rng.uniform(1.0, 2.0, 63), outcome_free_weights=True))
    assert not free.jointly


def test_where_groups_are_too_few_the_p_value_is_the_bound_and_nothing_is_redrawn():
    v, group = np.linspace(0.02, 0.03, 40), np.arange(40) // 10
    y = (np.arange(40) % 10 == 0) * 1.0
    rows = Rows.of(y, v, None, None, group)
    found = redrawn_pvalue(rows, lambda excess: float(excess.sum()), level=0.05, n_resamples=19, random_state=0)
    assert found[0] == pytest.approx((y - v).sum())
    assert found[1] == pytest.approx(np.exp(log_tail_of_total(group, v, np.ones(40), y - v)))
