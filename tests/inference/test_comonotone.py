"""Groups at their most dependent, against enumeration; and the level where groups are few, rare, huge or unlike."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from calibrant import InputError, calibration_test, smooth_calibration_test
from calibrant.door.rows import Rows
from calibrant.inference import tcal_test
from calibrant.inference.testing.components import lots_of_rows
from calibrant.resampling.redraw import (
    GroupSteps,
    Redraws,
    by_signs_and_bound,
    enough_for_signs,
    joined,
    log_tail_of_total,
)
from tests.strategies import examples


def one_chance(v, weight):
    """Each value of the sum of weight * (y - v), y = 1 where U <= v, with its probability: by the places of U."""
    ends = sorted({0.0, 1.0, *v.tolist()})
    return [(high - low, float((weight * (((low + high) / 2 <= v) - v)).sum())) for low, high in pairwise(ends)]


@st.composite
def groups_of_rows(draw):
    n = draw(st.integers(1, 9))
    numbers = st.integers(1, 19).map(lambda k: k / 20)
    v = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 0.25]), min_size=n, max_size=n)))
    group = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return v, weight, group


@examples(200)
@given(groups_of_rows(), st.floats(-3.0, 3.0))
def test_steps_are_those_of_one_chance_for_each_group(rows, exponent):
    v, weight, group = rows
    steps = GroupSteps.of(group, v, weight)
    each = [one_chance(v[group == g], weight[group == g]) for g in np.unique(group)]
    for power in (1, 2, 4):
        expected = [sum(p * x**power for p, x in values) for values in each]
        assert sorted(steps.moment(power)) == pytest.approx(
            sorted(expected), abs=1e-12
        )  # groups stand by what they hold
    expected = sum(math.log(sum(p * math.exp(exponent * x) for p, x in values)) for values in each)
    assert steps.log_generating(exponent) == pytest.approx(expected, abs=1e-9)


@examples(150)
@given(groups_of_rows(), st.integers(0, 2**32 - 1))
def test_the_bound_holds_for_any_dependence(rows, seed):
    """One chance for all rows, none, and random couplings of them: P(p <= a) <= a at every a, by enumeration."""
    v, weight, group = rows
    rng, numbers = np.random.default_rng(seed), np.unique(group)

    def outcomes(of):
        """Vectors of outcomes of one group with their probabilities, with the predictions as means."""
        kind = rng.integers(3)
        if kind == 0:
            return [(np.prod(np.where(y, of, 1.0 - of)), np.array(y)) for y in product([0, 1], repeat=of.size)]
        ends = sorted({0.0, 1.0, *of.tolist(), *(1.0 - of).tolist()})
        flipped = np.zeros(of.size, bool) if kind == 1 else rng.random(of.size) < 0.5
        middles = [(high - low, (low + high) / 2) for low, high in pairwise(ends)]
        return [(p, np.where(flipped, u > 1.0 - of, u <= of).astype(int)) for p, u in middles]

    found = []
    for choice in product(*(outcomes(v[group == g]) for g in numbers)) if len(v) <= 6 else ():
        y = np.empty(v.size)
        for g, (_, part) in zip(numbers, choice, strict=True):
            y[group == g] = part
        tail = log_tail_of_total(group, v, weight, weight * (y - v))
        found.append((math.exp(tail), math.prod(p for p, _ in choice)))
    for level in sorted({p for p, _ in found if p < 1.0}):
        assert sum(chance for p, chance in found if p <= level * (1 + 1e-9)) <= level + 1e-9


def test_each_kind_of_rows_has_a_share_of_the_level_that_no_outcome_decides():
    variance, signed = np.array([1.0, 1.0, 2.0, 4.0]), np.array([True, True, True, False])
    assert joined(0.01, 1.0, variance, signed) == pytest.approx(0.02)
    assert joined(1.0, 0.01, variance, signed) == pytest.approx(0.02)
    variance[3] = 1.0
    assert joined(0.01, 1.0, variance, signed) == pytest.approx(0.01 / 0.8)
    assert joined(1.0, 0.01, variance, signed) == pytest.approx(0.01 / 0.2)
    variance[3] = 1e-9
    assert joined(0.01, 1.0, variance, signed) == pytest.approx(0.01 / 0.99)
    assert joined(1.0, 1.0, variance, signed) == 1.0


def test_what_is_enough_rests_on_predictions_and_groups():
    """Thirty like groups are, one fewer are not; rare ones count for less, and one range does not hide another."""
    one = np.ones(400)
    for n_groups, enough in ((30, True), (29, False)):
        v, group = np.full(n_groups, 0.5), np.arange(n_groups)
        assert enough_for_signs(group, v, one[:n_groups]).tolist() == [enough] * n_groups
    v, group = np.r_[np.full(200, 0.4), np.full(200, 0.01)], np.r_[np.arange(200), np.arange(200)]
    assert (enough_for_signs(group, v, one) == (v > 0.1)).all()
    assert enough_for_signs(group, np.round(v), one).all()  # of certain rows no sign matters
    part = lots_of_rows(Rows.of((v > 0.3) * 1.0, v, None, None, group))
    part = part.part(part.prediction < 0.1)
    assert part.group is not None
    assert (part.prediction.size, sorted(part.group.tolist())) == (200, list(range(200)))


def design(name, rng):
    """Groups and predictions: nothing here was looked at when the rule was chosen but its own page's designs."""
    if name == "rare clusters beside common rows":
        return np.r_[np.arange(800) // 4, 200 + np.arange(800) // 80], np.r_[
            rng.uniform(0.2, 0.8, 800), rng.uniform(0.02, 0.04, 800)
        ]
    if name == "rare and common in one group":
        return np.arange(1500) // 25, np.where(np.arange(1500) % 2 == 0, 0.01, 0.5)
    if name == "three huge groups":
        return np.r_[np.repeat([0, 1, 2], 400), 3 + np.arange(300)], rng.uniform(0.1, 0.9, 1500)
    return np.arange(600) // 15, rng.uniform(0.02, 0.08, 600)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["rare clusters beside common rows", "rare and common in one group", "three huge groups", "forty of fifteen"],
)
def test_the_level_where_groups_are_few_rare_huge_or_unlike(name):
    rejected, draws = [0, 0], 60
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        group, v = design(name, rng)
        y = rng.random(group.max() + 1)[group] < v  # one chance for each group: rows that depend as much as they can
        for at, test in enumerate((calibration_test, smooth_calibration_test)):
            rejected[at] += test(y, v, groups=group, n_resamples=39, random_state=seed).reject
    assert max(rejected) <= binom.ppf(0.999, draws, 0.05)


def test_signs_are_drawn_of_rows_in_groups_enough_and_the_total_of_the_others_is_bounded():
    rng = np.random.default_rng(0)
    v = np.r_[rng.uniform(0.3, 0.49, 400), rng.uniform(0.02, 0.03, 400)]  # each half in one range of v (1 - v)
    group, y = np.r_[np.arange(400) // 2, 200 + np.arange(400) // 40], (rng.random(800) < v).astype(float)
    rows = Rows.of(y, v, groups=group)
    whole = Redraws.of(rows)
    part, joined_with_bound = by_signs_and_bound(rows, whole)
    assert part is not None
    rare = part.prediction < 0.1
    assert not part.excess[rare].any()
    assert not part.again(rng)[rare].any()
    assert (part.excess[~rare] == whole.excess[~rare]).all()
    bound = math.exp(log_tail_of_total(group[400:], v[400:], np.ones(400), (y - v)[400:]))
    share = (v * (1 - v))[400:].sum() / (v * (1 - v)).sum()
    for pvalue in (0.001, 0.3):
        assert joined_with_bound(pvalue) == pytest.approx(min(1.0, pvalue / (1 - share), bound / share))
    assert tcal_test(y, v, groups=group, n_resamples=99, random_state=0).pvalue <= bound / share
    few = Rows.of(y[400:], v[400:], groups=group[400:])
    assert by_signs_and_bound(few, Redraws.of(few))[0] is None
    alone = tcal_test(1.0 - y[400:], v[400:], groups=group[400:], n_resamples=99)
    assert alone.reject
    assert alone.n_resamples == 0
    many = Redraws.of(Rows.of(y[:400], v[:400], groups=group[:400]))
    assert by_signs_and_bound(Rows.of(y[:400], v[:400], groups=group[:400]), many)[0] is many


def test_the_answer_says_which_rows_have_a_bound_alone():
    v, group = np.tile([0.2, 0.6], 200), np.arange(400) // 40
    few = calibration_test(np.ones(400), v, groups=group, n_resamples=39)
    assert few.reject
    assert few.components == {}
    assert few.region.direction == "too low"
    assert (
        few.method
        == "calibration test (a bound for any dependence within groups, which are too few for signs in 400 rows)"
    )
    assert "too few" not in calibration_test(np.ones(400), v, groups=np.arange(400), n_resamples=39).method
    v[:200] = 0.4  # 0.24 and 0.16 lie between the same powers of two: the second half has another
    v[200:] = 0.9
    both = calibration_test(np.ones(400), v, groups=np.r_[np.arange(200), np.full(200, 300)], n_resamples=39)
    assert both.method.endswith("which are too few for signs in 200 of the rows")
    assert both.reject
    assert both.components.keys() == {"Cox score", "adaptive Neyman", "dyadic chi-square"}


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-3, 2.0**20])
def test_the_bound_does_not_depend_on_the_unit_of_weights(unit):
    v, weight, group = np.tile([0.1, 0.3], 15), np.tile([1.0, 0.5, 2.0], 10), np.arange(30) // 2
    one, other = (log_tail_of_total(group, v, w, w * (1.0 - v)) for w in (weight, unit * weight))
    assert one < -10.0
    assert other == pytest.approx(one, rel=1e-9)
    assert log_tail_of_total(group, v, weight, 0.0 * v) == 0.0  # nothing in excess is no evidence


def test_too_few_groups_beside_weights_that_may_tell_outcomes_are_refused():
    rng = np.random.default_rng(0)
    v, group = rng.uniform(0.02, 0.03, 40), np.arange(40) // 10
    few = Rows.of(rng.integers(0, 2, 40), v, rng.uniform(1.0, 2.0, 40), groups=group)
    with pytest.raises(InputError, match="too few to test weighted rows by groups") as refused:
        by_signs_and_bound(few, Redraws.of(few))
    assert refused.value.argument == "groups"
