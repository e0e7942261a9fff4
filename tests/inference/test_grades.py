"""Grade tests: exact tails beside sums of chances, Jeffreys, mixed ratings, how often a right rating is rejected."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from calibrant import InputError
from calibrant.inference import grade_test


def tail(k, n, p, above=True):
    counts = range(k, n + 1) if above else range(k + 1)
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in counts)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_each_grade_is_its_binomial_tail(alternative):
    v, k, n = [0.01, 0.05, 0.3], [2, 1, 7], [60, 40, 12]
    found = grade_test(np.divide(k, n), v, trials=n, alternative=alternative)
    for i in range(3):
        up, down = tail(k[i], n[i], v[i]), tail(k[i], n[i], v[i], above=False)
        expected = {"greater": up, "less": down, "two-sided": min(1.0, 2 * min(up, down))}[alternative]
        assert found.pvalues[i] == pytest.approx(expected, rel=1e-9)
        low = beta.cdf(v[i], k[i] + 0.5, n[i] - k[i] + 0.5)
        jeffreys = {"greater": low, "less": 1 - low, "two-sided": 2 * min(low, 1 - low)}[alternative]
        assert found.jeffreys_pvalues[i] == pytest.approx(jeffreys, rel=1e-9)
    assert found.counts == tuple(n)
    assert found.events == tuple(k)
    assert found.pvalue == min(found.adjusted_pvalues) >= min(found.pvalues)


def test_rows_are_trials_and_grades_are_named_by_rising_rating():
    v = np.repeat([0.1, 0.02], [30, 50])
    y = np.zeros(80)
    y[:9] = 1
    names = np.repeat(["CCC", "A"], [30, 50])
    found = grade_test(y, v, grades=names)
    assert found.grades == ("A", "CCC")
    assert found.rejected == ("CCC",)
    assert "; CCC is too low: " in found.summary()
    assert found.mean_errors == pytest.approx(
        [k / n - v for k, n, v in zip(found.events, found.counts, found.expected, strict=True)]
    )
    assert [way == "too low" for way in found.directions] == [each > 0.0 for each in found.mean_errors]
    assert grade_test([0.0, 9 / 30], [0.02, 0.1], trials=[50, 30]).pvalues == pytest.approx(found.pvalues)
    assert grade_test(y, v).grades == ("0.02", "0.1")


def test_mixed_ratings_are_never_surer_than_the_true_distribution():
    """Every number of events among five obligors of two ratings: the exact Poisson-binomial tail is no larger."""
    for low, high in ((0.01, 0.2), (0.1, 0.9), (0.3, 0.4)):
        chances = np.array([low, low, low, high, high])
        mass = np.zeros(6)
        for outcome in product((0, 1), repeat=5):
            mass[sum(outcome)] += np.prod(np.where(outcome, chances, 1 - chances))
        for k in range(6):
            y = np.arange(5) < k
            found = grade_test(y, chances, grades=["x"] * 5)
            assert found.pvalues[0] >= mass[k:].sum() - 1e-12
            found = grade_test(y, chances, grades=["x"] * 5, alternative="less")
            assert found.pvalues[0] >= mass[: k + 1].sum() - 1e-12


def test_right_ratings_are_rejected_as_rarely_as_it_says():
    v = np.array([0.005, 0.01, 0.03, 0.08, 0.2])
    n = np.array([400, 300, 200, 100, 50])
    rng = np.random.default_rng(0)
    rejected = [grade_test(rng.binomial(n, v) / n, v, trials=n, level=0.1).reject for _ in range(400)]
    assert np.mean(rejected) <= 0.1
    wrong = [grade_test(rng.binomial(n, 2 * v) / n, v, trials=n).reject for _ in range(100)]
    assert np.mean(wrong) > 0.6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: grade_test([0.5], [0.2]), r"y_true: row 0 is 0\.5"),
        (lambda: grade_test([0.5], [0.2], trials=[3]), r"y_true: row 0 is 0\.5, which of 3 trials is 1\.5 events"),
        (lambda: grade_test([1, 0], [0.2, 0.2], grades=["a"]), "grades: has shape"),
        (lambda: grade_test([1, 0], [0.2, 0.2], grades=["a", None]), "grades: row 1 has no value"),
        (lambda: grade_test([1, 0], [0.2, 0.2], alternative="more"), "alternative: is 'more'"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_raw_predictions_are_no_grades_unless_they_are_named():
    v = np.linspace(0.001, 0.2, 101)
    y = np.zeros(101)
    with pytest.raises(InputError, match="grades: is needed: y_prob has 101 distinct values, too many for grades"):
        grade_test(y, v)
    assert len(grade_test(y[1:], v[1:]).grades) == 100
    assert len(grade_test(y, v, grades=np.where(v < 0.1, "low", "high")).grades) == 2
    assert len(grade_test(y, v, grades=v).grades) == 101


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_weights_in_a_grade_are_never_surer_than_the_exact_tail(alternative):
    """Every outcome of six obligors with their exposures: the bound is no smaller than the sum of their chances."""
    w, v = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.0]), np.array([0.1, 0.1, 0.2, 0.3, 0.0, 0.4])
    all_outcomes = np.array(list(product((0.0, 1.0), repeat=6)))
    mass = np.prod(np.where(all_outcomes == 1.0, v, 1.0 - v), axis=1)
    sums = all_outcomes @ w
    tried = 0
    for y, chance, total in zip(all_outcomes, mass, sums, strict=True):
        one_each = np.ptp(w[y == 1.0]) == np.ptp(w[y == 0.0]) == 0.0 if 0.0 < y.sum() < 6.0 else False
        if chance == 0.0 or one_each:
            continue
        found = grade_test(y, v, grades=["A"] * 6, sample_weight=w, alternative=alternative)
        up, down = mass[sums >= total - 1e-12].sum(), mass[sums <= total + 1e-12].sum()
        exact = {"greater": up, "less": down, "two-sided": min(1.0, 2.0 * min(up, down))}[alternative]
        assert found.pvalues[0] >= exact - 1e-9
        assert found.event_rates[0] == pytest.approx(w @ y / w.sum())
        assert found.expected[0] == pytest.approx(w @ v / w.sum())
        tried += 1
    assert tried == 32


def test_equal_weights_change_nothing_and_exposures_change_the_direction():
    rng = np.random.default_rng(0)
    v = np.repeat([0.02, 0.1], 500)
    y = (rng.random(1000) < v) * 1.0
    plain = grade_test(y, v)
    for each in ("pvalues", "jeffreys_pvalues", "event_rates", "expected", "rejected"):
        assert getattr(grade_test(y, v, sample_weight=np.full(1000, 3.0)), each) == pytest.approx(getattr(plain, each))
    y = np.zeros(1000)
    y[:5] = y[500:560] = 1.0
    exposure = np.ones(1000)
    exposure[[0, 1, 2, 3, 600]] = 100.0
    found = grade_test(y, v, sample_weight=exposure)
    assert grade_test(y, v).directions == ("too high", "too low")
    assert found.directions[0] == "too low"
    assert found.counts == (500, 500)
    assert "0.02 is too low: 2% rated, 4" in found.summary()
    with pytest.raises(InputError, match="sample_weight: has one value for events and another for all others"):
        grade_test(y, v, sample_weight=np.where(y == 1.0, 1.0, 10.0))


@pytest.mark.parametrize(("weight", "grade"), [([0, 0, 1, 1], "A"), ([1, 2, 0, 0], "B")])
def test_a_grade_without_weight_is_refused(weight, grade):
    with pytest.raises(InputError, match=f"is 0 in all rows of grade '{grade}'") as error:
        grade_test([1, 0, 1, 0], [0.1, 0.1, 0.2, 0.2], grades=["A", "A", "B", "B"], sample_weight=weight)
    assert (error.value.argument, error.value.allowed) == ("sample_weight", "some weight in each grade")
