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
    joint_pvalue,
    pvalue_among,
    pvalues_among,
    redrawn_pvalue,
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
