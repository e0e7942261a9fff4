"""Every class by itself: tails against all outcomes enumerated, the false-discovery rate, weights and groups."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, t

from calibrant import InputError
from calibrant.door.classes import multiclass_sample
from calibrant.inference import class_wise_test
from calibrant.inference.testing.class_wise import (
    ClassEvidence,
    ClassWiseResult,
    PairCounts,
    _direction,
    _six_tails,
    benjamini_yekutieli,
    most_involved,
    pair_counts,
    pair_pvalues,
    quarters,
)
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.class_cells import class_cells
from tests.strategies import drawn_classes, examples


def law(chance):
    """Probability of each number of events, one row after another."""
    found = np.ones(1)
    for p in chance:
        found = np.convolve(found, [1 - p, p])
    return found


def two_sided(chance, events):
    found, mean = law(chance), sum(chance)
    tail = found[int(events) :].sum() if events >= mean else found[: int(events) + 1].sum()
    return min(1.0, 2.0 * tail)


def oracle(y, p):
    """The smallest of six p-values over their shares, as the documentation has it; of predictions that all differ."""
    used = (p > 0) & (p < 1)
    y, p = y[used], p[used]
    if not p.size:
        return 1.0
    order = np.argsort(p)
    y, p = y[order], p[order]
    variance = p * (1 - p)
    time = (variance.cumsum() - variance / 2) / variance.sum()
    quarter = np.minimum((4 * time).astype(int), 3)
    found = [two_sided(p, y.sum()) / 0.5]
    lower = quarter < 2
    if 0 < lower.sum() < p.size:
        found.append(two_sided(np.where(lower, 1 - p, p), np.where(lower, 1 - y, y).sum()) / 0.25)
    found += [two_sided(p[quarter == q], y[quarter == q].sum()) * 16 for q in range(4) if (quarter == q).any()]
    return min(1.0, *found)


@st.composite
def tables(draw):
    n, k = draw(st.integers(1, 14)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    table = rng.dirichlet(np.full(k, draw(st.sampled_from([0.05, 0.5, 3.0]))), n)
    if draw(st.booleans()):
        table[rng.integers(n)] = np.eye(k)[0]
    return rng.integers(0, k, n), table


def in_cells_of_their_own(p):
    p = p[(p > 0) & (p < 1)]
    if p.size < 2:
        return True
    angle = np.arcsin(np.sqrt(p))
    cell = np.minimum((angle - angle.min()) * (256 / np.ptp(angle)), 255).astype(int) if np.ptp(angle) else angle
    return np.unique(cell).size == p.size


def test_one_row_of_a_cell_is_not_pooled_though_its_chance_is_known_up_to_rounding():
    """Bounds for rows of unlike chances gave twice the tail: of three rows that are as good as certain one is not."""
    p = np.array([5e-22, 4e-9, 8e-9, 1e-6])
    logs, _ = _six_tails(np.ones(4), p, np.array([1.0, 0.0, 0.0, 0.0]))
    assert math.exp(logs[1]) == pytest.approx(2 * 1.2e-8, rel=1e-5)


@pytest.mark.slow
@examples(60)
@given(case=tables())
def test_pvalues_are_those_of_all_outcomes_enumerated(case):
    label, table = case
    result = class_wise_test(label, table)
    for k, found in enumerate(result.each_class):
        y = (label == k).astype(int)
        if in_cells_of_their_own(table[:, k]):
            expected = oracle(y, table[:, k])
            assert found.pvalue >= expected * (1 - 1e-9)
            # 1 - p of each row is rounded against us, by 2^-50 at most: a tail by as much, of which eight times count.
            assert found.pvalue <= 1.01 * expected + y.size * 8 * 2.0**-50 or expected > 1e-3
        assert found.rate == y.mean()
        assert found.bias_interval.low <= y.mean() - table[:, k].mean() <= found.bias_interval.high
    impossible = sum(((table[:, k] == 0) & (label == k)).sum() for k in range(table.shape[1]))
    impossible += sum(((table[:, k] == 1) & (label != k)).sum() for k in range(table.shape[1]))
    assert result.n_impossible == impossible


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.5), (0.0, 1.0), (1e-6, 3e-6), (0.999, 0.9999)])
def test_cells_are_equal_steps_of_the_angle_between_the_ends(low, high):
    p = np.linspace(low, high, 41)
    count, mean, _, _ = class_cells(p, np.ones(41), np.zeros(41), 8)
    p = p[(p > 0) & (p < 1)]
    angle = np.arcsin(np.sqrt(p))
    cell = np.minimum((angle - angle[0]) * (8 / np.ptp(angle)), 7).astype(int)
    assert count.tolist() == np.bincount(cell)[np.unique(cell)].tolist()
    assert count.size > 6
    assert mean == pytest.approx(np.bincount(cell, p)[np.unique(cell)] / count)


def test_adjusted_pvalues_are_benjamini_and_yekutielis():
    p = np.random.default_rng(0).random(50) ** 3
    adjusted = benjamini_yekutieli(p)
    harmonic = sum(1 / i for i in range(1, 51))
    for level in (0.01, 0.05, 0.3, 0.9):
        ordered = np.sort(p)
        passes = [i for i in range(50) if ordered[i] <= (i + 1) * level / (50 * harmonic)]
        expected = ordered[passes[-1]] if passes else -1.0
        assert ((adjusted <= level) == (p <= expected)).all()
    assert benjamini_yekutieli(np.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["plain", "weights", "groups"])
def test_calibrated_classes_are_seldom_found_and_wrong_ones_are(kind):
    options = {"weights": {"sample_weight": np.linspace(1, 2, 600)}, "groups": {"groups": np.arange(600) // 2}}
    given = options.get(kind, {})
    small, found = 0, 0
    for seed in range(40):
        label, table = drawn_classes(600, 5, seed)
        result = class_wise_test(label, table, **given)
        small += sum(each.pvalue <= 0.05 for each in result.each_class)
        found += result.reject
    assert small <= 20  # of 200, 10 expected at most
    assert found <= 4
    label, table = drawn_classes(600, 5, 0, 3.0)
    wrong = class_wise_test(label, table, **given)
    assert wrong.reject
    assert {each.direction for each in wrong.found_classes} <= {"too confident", "too high", "too low"}
    assert "false-discovery rate at most 0.05" in wrong.summary()


def test_rows_of_one_group_are_one():
    """Ten copies of a row, as a group, are not ten rows."""
    label, table = drawn_classes(80, 3, 1, 1.6)
    again = np.repeat(np.arange(80), 10)
    alone = class_wise_test(label[again], table[again])
    grouped = class_wise_test(label[again], table[again], groups=again)
    assert min(e.pvalue for e in alone.each_class) < 1e-6
    assert min(e.pvalue for e in grouped.each_class) > 1e-3


def test_names_logits_and_what_is_refused():
    label, table = drawn_classes(300, 3, 2, 2.0)
    names = np.array(["ant", "bee", "cat"])
    plain = class_wise_test(label, table)
    named = class_wise_test(names[label], np.log(table), from_logits=True, classes=["ant", "bee", "cat"])
    assert [each.name for each in named.each_class] == ["class ant", "class bee", "class cat"]
    assert [each.pvalue for each in named.each_class] == pytest.approx([each.pvalue for each in plain.each_class])
    order = np.random.default_rng(0).permutation(300)
    assert class_wise_test(label[order], table[order]).pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    never = np.column_stack([table, np.zeros(300)])
    assert class_wise_test(label, never).each_class[3].pvalue == 1.0
    with pytest.raises(InputError, match="groups"):
        class_wise_test(label, table, groups=[1, 2])


def test_rows_of_groups_are_independent_between_groups_alone():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), 60)
    y = rng.integers(0, 3, 60)
    for groups in (None, np.arange(60) // 2):
        assert ("between groups" in class_wise_test(y, table, groups=groups).premise) == (groups is not None)


@pytest.mark.parametrize(
    ("variance", "expected"),
    [
        ([0.0, 0.0, 0.0], [0, 0, 0]),  # no variance has no quarters
        ([1.0, 1.0, 1.0, 1.0], [0, 1, 2, 3]),
        ([1.0] * 8, [0, 0, 1, 1, 2, 2, 3, 3]),
        ([6.0, 1.0, 1.0], [1, 3, 3]),  # by the middle of each: 3, 6.5 and 7.5 of 8
        ([1.0], [2]),
        ([1.0, 0.0], [2, 3]),
    ],
)
def test_quarters_of_the_variance_hold_the_middle_of_each_row(variance, expected):
    assert quarters(np.array(variance)).tolist() == expected


def test_pairs_are_counted_among_rows_that_are_not_certain():
    table = np.array([[0.7, 0.2, 0.1], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [0.1, 0.3, 0.6], [0.25, 0.5, 0.25]])
    found = pair_counts(multiclass_sample([1, 2, 0, 2, 0], table))
    assert found.rows.tolist() == [2, 1, 1]  # the third is certain
    assert found.observed.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]  # the second is of a class called impossible
    assert found.expected == pytest.approx(np.array([[1.3, 0.6, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]]))
    assert found.unit == 2.0**-59


def test_a_pair_has_twice_the_binomial_tail_of_its_mean_chance():
    rows = np.array([40, 10, 0])
    observed = np.array([[20, 12, 8], [1, 9, 0], [0, 0, 0]])
    expected = np.array([[30.0, 9.5, 0.5], [3.0, 6.5, 0.5], [0.0, 0.0, 0.0]])
    pairs, pvalues, adjusted = pair_pvalues(PairCounts(rows, observed, expected, 2.0**-50))
    assert pairs.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]  # 0.5 from none is no evidence
    each = [
        2.0 * binom.cdf(20, 40, 0.75),
        2.0 * binom.sf(11, 40, 9.5 / 40),
        2.0 * binom.sf(7, 40, 0.5 / 40),
        2.0 * binom.cdf(1, 10, 0.3),
        2.0 * binom.sf(8, 10, 0.65),
    ]
    assert pvalues == pytest.approx(each, rel=1e-9)
    assert adjusted == pytest.approx(benjamini_yekutieli(np.array(each), 6), rel=1e-9)
    many = np.array([10**6, 0])
    near = PairCounts(many, np.array([[500_001, 500_002], [0, 0]]), np.array([[5e5, 5e5], [0.0, 0.0]]), 2.0**-40)
    assert pair_pvalues(near)[1] == pytest.approx([2.0 * binom.sf(k, 10**6, 0.5) for k in (500_000, 500_001)], rel=1e-6)
    lost = PairCounts(many, np.array([[10**6, 0], [0, 0]]), np.array([[3e5, 7e5], [0.0, 0.0]]), 2.0**-40)
    assert (pair_pvalues(lost)[1] == LEAST).all()


@pytest.mark.parametrize(("x", "n"), [(1, 5), (4, 5), (1, 1)])
def test_a_mean_is_rounded_against_a_pair(x, n):
    """Sums of probabilities are rounded by a unit for each row: one event where none was expected is no proof."""
    unit = 1e-3
    more = PairCounts(np.array([n]), np.array([[x]]), np.array([[x - 1.0]]), unit)
    assert pair_pvalues(more)[1][0] == pytest.approx(min(1.0, 2.0 * binom.sf(x - 1, n, (x - 1.0) / n + unit)), rel=1e-7)
    fewer = PairCounts(np.array([n]), np.array([[n - x]]), np.array([[n - x + 1.0]]), unit)
    at = (n - x + 1.0) / n - unit
    assert pair_pvalues(fewer)[1][0] == pytest.approx(min(1.0, 2.0 * binom.cdf(n - x, n, at)), rel=1e-7)


def test_the_classes_most_involved_have_the_most_evidence_as_either_of_a_pair():
    pairs, pvalues = np.array([[0, 1], [2, 3], [3, 3], [1, 3]]), np.array([1e-3, 1e-2, 1e-1, 1e-4])
    shown, table = most_involved(5, pairs, pvalues, 2)
    assert shown.tolist() == [1, 3]  # 3 + 4 and 2 + 1 + 1 + 4
    assert table == pytest.approx(np.array([[0.0, 4.0], [0.0, 1.0]]))
    shown, table = most_involved(5, pairs, pvalues, 9)
    assert shown.tolist() == [0, 1, 2, 3, 4]
    assert (table[0, 1], table[2, 3], table.sum()) == pytest.approx((3.0, 2.0, 10.0))


def student(each):
    """Log of the tail of a sum over the root of its squares, of as many as there are in effect."""
    squares = each**2
    effective = squares.sum() ** 2 / (squares**2).sum()
    return np.log(t.sf(each.sum() / np.sqrt(squares.sum()), effective - 1.0)) if effective >= 10.0 else 0.0


@pytest.mark.parametrize("grouped", [False, True])
def test_weighted_classes_have_the_least_of_six_studentised_sums(grouped):
    rng = np.random.default_rng(5)
    n = 120
    v = rng.uniform(0.1, 0.9, n)
    y = (rng.random(n) < v**1.5).astype(int)
    w, group = rng.choice([1.0, 0.5], n), np.arange(n) // 2 if grouped else None
    found = class_wise_test(y, np.column_stack([1.0 - v, v]), sample_weight=w, groups=group).each_class[1]
    order = np.argsort(v)
    excess, variance = (w * (y - v))[order], (w**2 * v * (1.0 - v))[order]
    quarter = np.minimum(4.0 * (variance.cumsum() - 0.5 * variance) / variance.sum(), 3.0).astype(int)
    directions = [np.ones(n), np.where(quarter < 2, -1.0, 1.0), *((quarter == q).astype(float) for q in range(4))]
    logs = []
    for along, share in zip(directions, [0.5, 0.25, *[0.0625] * 4], strict=True):
        each = along * excess
        seen = each.sum()
        each = np.bincount(group[order], each) if grouped else each
        enough = seen**2 > (along**2 * variance).sum()
        logs.append(min(0.0, np.log(2.0) + student(np.sign(seen) * each)) - np.log(share) if enough else -np.log(share))
    assert found.pvalue == pytest.approx(min(1.0, np.exp(min(logs))), rel=1e-6)
    best = int(np.argmin(logs))
    much = (directions[best] * excess).sum() > 0.0
    ways = ("not confident enough", "too confident") if best == 1 else ("too low", "too high")
    assert found.direction == (ways[0] if much else ways[1])
    assert (found.rate, found.mean_prediction) == pytest.approx((w @ y / w.sum(), w @ v / w.sum()))
    assert found.bias_interval is None


def test_fewer_than_ten_in_effect_are_no_evidence():
    y, v = np.ones(12, int), np.full(12, 0.1)
    w = np.append(np.full(9, 1.0), np.full(3, 1e-6))
    table = np.column_stack([1.0 - v, v])
    few, enough = (class_wise_test(y, table, sample_weight=each).each_class[1] for each in (w, np.ones(12)))
    assert (few.pvalue, few.direction) == (1.0, None)
    assert enough.pvalue < 1e-6


@pytest.mark.parametrize("level", [0.05, 0.1, 0.5])
def test_either_end_of_a_bias_misses_with_half_of_the_level_and_a_fifth_at_most(level):
    y = (np.arange(200) < 90).astype(int)
    v = np.full(200, 0.4)
    found = class_wise_test(y, np.column_stack([1.0 - v, v]), level=level).each_class[1]
    miss = min(level / 2.0, 0.2)
    ends = beta.ppf(miss, 90, 111) - 0.4, beta.isf(miss, 91, 110) - 0.4
    assert tuple(found.bias_interval) == pytest.approx(ends, abs=1e-9)
    assert found.direction == "too low"  # 90 of 200, where 80 were expected


@pytest.mark.parametrize(
    ("which", "excess", "said"),
    [
        (0, 2.0, "too low"),
        (0, -2.0, "too high"),
        (1, 2.0, "not confident enough"),
        (1, -2.0, "too confident"),
        (5, 2.0, "too low"),
        (5, -2.0, "too high"),
    ],
)
def test_a_direction_is_that_of_the_predictions(which, excess, said):
    assert _direction(which, excess) == said


def test_a_sentence_counts_the_classes_that_are_found_and_names_the_plainest():
    of = (0, 0.02, 0.3), (1, 0.001, 0.01)
    each = [ClassEvidence(f"class {k}", 0.2, 0.1, p, q, "too low", None) for k, p, q in of]
    found = ClassWiseResult(1.0, 0.01, True, 0.05, "each class by exact tails", tuple(each))
    end = "(each class by exact tails; false-discovery rate at most 0.05)"
    assert found.summary() == (
        f"1 of 2 classes miscalibrated, class 1: 0.1 predicted, 0.2 seen, q = 0.01, too low {end}"
    )
    assert [one.name for one in found.found_classes] == ["class 1"]
    none = replace(found, each_class=(each[0], replace(each[0], direction=None)))
    assert none.summary() == f"no class of 2 is found miscalibrated {end}"
    assert none.each_class[1].summary() == "class 0: 0.1 predicted, 0.2 seen, q = 0.3"
