"""Every class by itself: tails against all outcomes enumerated, the false-discovery rate, weights and groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.inference import class_wise_test
from calibrant.inference.testing.class_wise import benjamini_yekutieli, quarters
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
            # 1 - p of the smallest probabilities is rounded against us: by a few units in the last place of 1.
            assert found.pvalue <= 1.01 * expected + 2.0**-47 or expected > 1e-3
        assert found.rate == y.mean()
        assert found.bias_interval.low <= y.mean() - table[:, k].mean() <= found.bias_interval.high
    impossible = sum(((table[:, k] == 0) & (label == k)).sum() for k in range(table.shape[1]))
    impossible += sum(((table[:, k] == 1) & (label != k)).sum() for k in range(table.shape[1]))
    assert result.n_impossible == impossible


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
