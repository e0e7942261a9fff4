"""Predictors of the same items whose outcomes differ: matching, symmetry, dependence, and intervals that hold."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from scipy.stats import multivariate_normal, norm

from calibrant import InputError, compare_calibration, smooth_calibration_error
from calibrant.inference import compare_all
from calibrant.inference.comparison import items as of_items
from calibrant.inference.comparison.items import Items, TwoDependentOutcomes, _alike, matched

FEW = {"n_resamples": 99, "random_state": 0}


def questions(n=1000, seed=0, together=0.5, topic=0):
    """Two models' answers to the same questions: the first too sure of itself, the second calibrated."""
    rng = np.random.default_rng(seed)
    hard = rng.standard_normal(n)
    chances = [expit(0.5 - hard + 0.5 * rng.standard_normal(n)) for _ in range(2)]
    shared = rng.standard_normal(n)
    latent = [math.sqrt(together) * shared + math.sqrt(1.0 - together) * rng.standard_normal(n) for _ in chances]
    group = np.arange(n) // max(1, topic)
    if topic:
        common = rng.standard_normal(group.max() + 1)[group]
        latent = [math.sqrt(0.3) * common + math.sqrt(0.7) * each for each in latent]
    y = [(ndtr(each) < chance).astype(float) for each, chance in zip(latent, chances, strict=True)]
    return y, [0.5 + 0.5 * expit(0.6 * logit(chances[0]) + 0.5), chances[1]], group


@pytest.mark.slow
def test_a_question_is_matched_by_its_id_whatever_the_order():
    y, v, _ = questions()
    ids = np.array([f"q{k}" for k in range(1000)])
    options = {"y_true_b": y[1], **FEW}
    in_order = compare_calibration(y[0], v[0], v[1], items="in order", **options)
    turn = np.random.default_rng(1).permutation(1000)
    shuffled = compare_calibration(y[0][turn], v[0][turn], v[1], items=ids[turn], items_b=ids, **options)
    assert shuffled == in_order
    assert in_order.value_a == pytest.approx(smooth_calibration_error(y[0], v[0]))
    assert in_order.value_b == pytest.approx(smooth_calibration_error(y[1], v[1]))
    differ = f"; outcomes differ in {(y[0] != y[1]).sum()} of {y[0].size:,} items"
    assert in_order.premise == f"items are independent{differ}"
    assert in_order.summary().endswith(differ)
    other = compare_calibration(y[1], v[1], v[0], items="in order", y_true_b=y[0], **FEW)
    assert other == in_order.swapped()
    assert in_order.reject
    assert in_order.statistic > 0.0


@pytest.mark.slow
def test_pairs_are_worth_more_than_two_samples():
    # The examiners' case: the way round that took no pairs was four times too wide.
    y, v, _ = questions()
    paired = compare_calibration(y[0], v[0], v[1], y_true_b=y[1], items="in order", **FEW)
    apart = compare_calibration(y[0], v[0], v[1], y_true_b=y[1], **FEW)
    assert paired.interval.width < 0.85 * apart.interval.width
    assert apart.summary().endswith("if both are about the same items, give items and items_b for a shorter interval")
    assert "same items" not in paired.summary()
    # The same outcomes: noise hides nothing of an error that the other lacks. With as much as it hides of outcomes that
    # differ, intervals would be .66 as wide as two samples' here, and 1.08 as wide in the worst of 8 such samples.
    near, widths = v[1] ** 1.001, []
    for items in ("in order", None):
        found = compare_calibration(y[1], v[1], near, y_true_b=y[1], items=items, **FEW)
        widths.append(found.interval.width)
    assert widths[0] < 0.6 * widths[1]


@pytest.mark.slow
def test_topics_stay_together():
    y, v, topic = questions(topic=10)
    options = {"y_true_b": y[1], "items": "in order", **FEW}
    rows = compare_calibration(y[0], v[0], v[1], **options)
    grouped = compare_calibration(y[0], v[0], v[1], groups=topic, **options)
    assert grouped.interval.width > 1.2 * rows.interval.width
    differ = int((y[0] != y[1]).sum())
    assert grouped.premise == f"items are independent between groups; outcomes differ in {differ} of 1,000 items"
    turn = np.random.default_rng(1).permutation(1000)
    options = {"y_true_b": y[1], "items": turn, "items_b": np.arange(1000), "groups": topic[turn], **FEW}
    assert compare_calibration(y[0][turn], v[0][turn], v[1], **options) == grouped
    with pytest.raises(
        InputError, match=r"groups: events come from too few groups \(as good as 4 equal ones; 6 are needed\)"
    ):
        compare_calibration(y[0], v[0], v[1], groups=topic // 20, y_true_b=y[1], items="in order", **FEW)


@pytest.mark.parametrize(("together", "topic"), [(0.0, 0), (0.8, 0), (0.6, 10)])
def test_outcomes_are_redrawn_as_dependent_as_they_are(together, topic):
    y, v, group = questions(20_000, 3, together, topic)
    chances = (expit((logit(2.0 * v[0] - 1.0) - 0.5) / 0.6), v[1])  # what happens, undone from what is said
    like = TwoDependentOutcomes.like((y[0], y[1]), chances, group if topic else None)
    if topic:
        assert like.own == pytest.approx((0.3, 0.3), abs=0.05)
        assert like.shared > 0.9
    assert like.item == pytest.approx(together, abs=0.06)
    first, second = like.draw(20_000, np.random.default_rng(0))
    seen = np.corrcoef(y[0] - chances[0], y[1] - chances[1])[0, 1]
    drawn = np.corrcoef((first < chances[0]) - chances[0], (second < chances[1]) - chances[1])[0, 1]
    assert drawn == pytest.approx(seen, abs=0.03)


@pytest.mark.slow
def test_rows_of_one_id_are_matched_in_their_order_and_are_a_group():
    # An id that stood twice was refused, and nothing named what works.
    y, v, topic = questions(topic=10)
    in_order = compare_calibration(y[0], v[0], v[1], y_true_b=y[1], items="in order", groups=topic, **FEW)
    blocks = np.argsort(np.random.default_rng(1).permutation(100)[topic], kind="stable")  # each topic's rows in turn
    options = {"y_true_b": y[1][blocks], "items": topic, "items_b": topic[blocks], **FEW}
    assert compare_calibration(y[0], v[0], v[1][blocks], **options) == in_order
    assert compare_calibration(y[0], v[0], v[1][blocks], groups=topic // 2, **options) != in_order  # wider groups
    many = compare_all(
        {"a": y[0], "b": y[1][blocks]}, {"a": v[0], "b": v[1][blocks]}, items={"a": topic, "b": topic[blocks]}, **FEW
    )
    assert next(iter(many.pairs.values())).interval.width == in_order.interval.width


@pytest.mark.slow
def test_models_by_holm_are_the_pairs_one_by_one():
    y, v, _ = questions(600)
    outcomes = {"sure": y[0], "good": y[1], "too": y[1]}
    predictions = {"sure": v[0], "good": v[1], "too": np.clip(v[1] + 0.2, 0.0, 1.0)}
    found = compare_all(outcomes, predictions, items="in order", n_resamples=199, random_state=0)
    assert next(iter(found.values)) == "good"
    assert ("good", "sure") in found.better
    raw = sorted(pair.pvalue for pair in found.pairs.values())
    holm = np.minimum(1.0, np.maximum.accumulate(np.array(raw) * [3, 2, 1]))
    assert sorted(found.holm_pvalues.values()) == pytest.approx(holm)
    turn = np.random.default_rng(0).permutation(600)
    ids = {"sure": np.arange(600), "good": turn, "too": np.arange(600)}
    outcomes["good"], predictions["good"] = y[1][turn], v[1][turn]
    assert compare_all(outcomes, predictions, items=ids, n_resamples=199, random_state=0) == found
    with pytest.raises(InputError, match="items: do not say which rows"):
        compare_all(outcomes, predictions, n_resamples=199)
    with pytest.raises(InputError, match="y_true: has other names"):
        compare_all({"sure": y[0]}, predictions, items="in order", n_resamples=199)


TIMES = ["2026-01-01", "2026-01-02", "2026-01-03"]


@pytest.mark.parametrize(
    ("ids", "others"),
    [
        ([7, 8, 9], ["8", "9", "7"]),
        (np.array([7.0, 8.0, 9.0]), [8, 9, 7]),
        (["007", "8", "1.5"], ["8", 1.5, "007"]),
        (np.array(TIMES, "M8[ns]"), np.array(TIMES[1:] + TIMES[:1], "M8[ns]")),
        ([2**60, 2**60 + 1, "a"], [str(2**60 + 1), "a", 2**60]),
    ],
)
def test_ids_are_the_same_if_they_are_written_alike(ids, others):
    assert matched(ids, others, (3, 3)).place.tolist() == [2, 0, 1]


def test_truth_values_are_no_numbers():
    assert matched([True, False], np.array([False, True]), (2, 2)).place.tolist() == [1, 0]
    for others in ([1, 0], ["True", "False"]):
        with pytest.raises(InputError, match="items_b: are numbers or text, and those of the other side truth values"):
            matched([True, False], others, (2, 2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"items": "by name"}, "items: is 'by name'; give items and items_b"),
        ({"items": [1, 2, 3]}, "items_b: is missing"),
        ({"items": [1, 2, 2], "items_b": [1, 2, 1]}, "items: row 1 is 2, which stands in 2 rows here and in 1 on the"),
        ({"items": [1, 2, 2], "items_b": [2, 1, 2], "groups": [1, 1, 2]}, "groups: row 2 is of the same item as row 1"),
        ({"items": [1, 2, 3], "items_b": [4, 1, 2]}, "items: row 2 is 3, which the other side lacks; keep the items"),
        ({"items": [1, 2, None], "items_b": [4, 1, 2]}, "items: row 2 has no id"),
        ({"items": [1, 2], "items_b": [4, 1, 2]}, "items: has shape"),
        ({"items": ["007", "8", "9"], "items_b": [7, 8, 9]}, "items: row 0 is '007', which the other side lacks"),
        ({"items": ["7", "8", "9"], "items_b": ["007", "8", "9"]}, r"written alike \(007 is not 7\)"),
        (
            {"items": ["7", "8", 7], "items_b": [7, 8, 8]},
            "items: row 0 is '7', which stands in 2 rows here and in 1 on",
        ),
        ({"items": [True, 2, 3], "items_b": [1, 2, 3]}, "items: mixes numbers or text and truth values"),
        ({"items": np.array(TIMES, "M8[D]"), "items_b": TIMES}, "items_b: are numbers or text, and those .* times"),
        ({"items": [1, 2, 2.0**60], "items_b": [1, 2, 2**60]}, r"items: row 2 is 1\.15\S*e\+18, which has lost digits"),
        ({"items": "in order", "items_b": [4, 1, 2]}, "items_b: has no effect"),
        ({"items": "in order", "sample_weight": [1, 2, 3]}, "sample_weight: cannot be used here"),
        ({"items": "in order", "trials": [1, 2, 3]}, "trials: cannot be used here"),
        ({"items_b": [1, 2, 3]}, "items_b: cannot be used here"),
        ({"items": "in order", "y_true_b": None}, "items: cannot be used here: predictors have the same outcomes"),
    ],
)
def test_what_is_refused(options, said):
    options = {"y_true_b": [1, 0, 1], **options}
    with pytest.raises(InputError, match=said):
        compare_calibration([0, 1, 1], [0.2, 0.7, 0.4], [0.3, 0.6, 0.5], **options)


def test_unequal_numbers_have_no_order():
    y, v = np.arange(9) % 2, np.full(9, 0.5)
    with pytest.raises(InputError, match=r"y_prob_b: has 8 rows, and y_true 9; .* also items and items_b"):
        compare_calibration(y, v, v[:8])
    with pytest.raises(InputError, match="items: are in order, but 9 on one side and 8 on the other"):
        compare_calibration(y, v, v[:8], y_true_b=y[:8], items="in order")


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_intervals_hold_the_truth_where_a_plain_bootstrap_does_not(shared):
    # One calibrated and one nearly so: an error near 0 is biased upwards, and a bootstrap of items covers .74 to .88.
    # Without what noise may hide, intervals of outcomes that share their items held it in 54 of these 60 samples.
    held = 0
    for seed in range(60):
        y, v, _ = questions(300, seed)
        if shared:
            calibrated = expit((logit(2.0 * v[0] - 1.0) - 0.5) / 0.6)
            outcomes = y
        else:
            calibrated = v[1]
            outcomes = y[1], (np.random.default_rng([seed, 1]).random(300) < v[1]).astype(float)
        near = np.clip(v[1] + 0.02, 0.0, 1.0)
        result = compare_calibration(outcomes[0], calibrated, near, y_true_b=outcomes[1], items="in order", **FEW)
        held += result.interval.low <= -0.02 <= result.interval.high
    assert held >= 56  # .93 of 60


@pytest.mark.parametrize("level", [0.01, 0.2])
def test_what_noise_may_hide_is_six_tenths_of_its_quantile_at_the_level(monkeypatch, level):
    rng = np.random.default_rng(0)
    v = 0.3 * rng.random(200), 0.4 + 0.3 * rng.random(200)
    y = tuple((rng.random(200) < each).astype(float) for each in v)
    quantile = 0.6 * norm.isf(level) / 200
    own = [quantile * math.sqrt(((one - each) ** 2).sum()) for one, each in zip(y, v, strict=True)]
    apart = abs((y[0] - v[0]).mean() - (y[1] - v[1]).mean())
    apart += quantile * math.sqrt(((y[0] - v[0] - y[1] + v[1]) ** 2).sum())
    for k, found in enumerate(of_items._hidden(y, v, v, None, level)):
        size = min(own[k], apart) * (1 if v[k].mean() < 0.5 else -1)
        assert found == pytest.approx(np.clip(v[k] + size, 0.0, 1.0))
    levels, hidden = [], of_items._hidden
    monkeypatch.setattr(of_items, "_hidden", lambda *each: levels.append(each[4]) or hidden(*each))
    compare_calibration(y[0], v[0], v[1], y_true_b=y[1], items="in order", level=level, n_resamples=199, random_state=0)
    assert set(levels) == {level}


@pytest.mark.slow
def test_what_two_opposite_errors_of_the_same_outcomes_hide_counts():
    """Both are off by 0.1, one either way: chance takes from one error what it adds to the other."""
    n, spread = 400, 0.5
    y, p = (np.arange(n) % 2) * 1.0, np.full(n, 0.5)
    items = Items([y, y], [p + 0.1, p - 0.1])
    over, under = items.missed((0, 1), smooth_calibration_error, 0.0, 0.05, 399, np.random.default_rng(0))
    assert min(over, under) == pytest.approx(1.96 * 2.0 * spread / np.sqrt(n), rel=0.2)


def test_errors_that_are_alike_have_the_same_size_and_their_own_sides():
    y, p = np.array([1.0, 0.0, 1.0, 1.0]), np.full(4, 0.5)
    low, high = _alike((y, y), (p, p + 0.35))  # off by 0.25, and by 0.1 the other way
    assert low - p == pytest.approx(0.175)
    assert high - (p + 0.35) == pytest.approx(-0.175)


def test_a_function_of_single_outcomes_alone_takes_what_is_calibrated_to_have_no_error():
    """With chances of its own, of an isotonic fit, of what noise hides, of what is alike: the first is the truth."""
    errors = np.arange(24.0).reshape(3, 2, 4)
    chance = np.array([0.2, 0.7])
    four = (chance, chance / 2.0, chance / 4.0, chance / 8.0)

    def of_outcomes(y, v):
        if not np.isin(y, (0.0, 1.0)).all():
            raise InputError("y_true", "is a rate")
        return float(np.mean(y - v))

    found = of_items._truth(of_outcomes, (chance, chance), (four, four), errors)
    assert found.tolist() == [[0.0, *errors[:, k, 1:].mean(axis=0)] for k in range(2)]
    of_rates = of_items._truth(lambda y, v: float(np.mean(v - y)), (chance, 2.0 * chance), (four, four), errors)
    assert of_rates == pytest.approx(np.array([[0.0, 0.225, 0.3375, 0.39375], [0.45, 0.675, 0.7875, 0.84375]]))


@pytest.mark.parametrize(("p", "q", "r"), [(0.2, 0.2, 0.3), (0.1, 0.6, 0.4), (0.5, 0.5, 0.5), (0.7, 0.3, -0.4)])
def test_the_series_is_the_covariance_of_two_outcomes_of_one_normal_law(p, q, r):
    both = multivariate_normal(cov=[[1.0, r], [r, 1.0]]).cdf(norm.ppf([p, q]))
    terms = [float(each[0] * each[1]) for each in of_items._terms(np.array([p, q]))]
    assert sum(term * r**k for k, term in enumerate(terms, 1)) == pytest.approx(both - p * q, abs=3e-6)
    assert of_items._root(terms, both - p * q, -0.95) == pytest.approx(r, abs=1e-4)
    assert all((each == 0.0).all() for each in of_items._terms(np.array([0.0, 1.0])))


def test_a_correlation_is_at_most_what_is_drawn_with():
    assert of_items._root([1.0], 5.0, 0.0) == pytest.approx(0.95, abs=1e-11)
    assert of_items._root([1.0], -5.0, -0.95) == pytest.approx(-0.95, abs=1e-11)
    assert of_items._root([0.5, 0.25], 0.5 * 0.4 + 0.25 * 0.16, 0.0) == pytest.approx(0.4, abs=1e-11)


@pytest.mark.parametrize("trials", [None, np.array([2, 3, 1, 4, 2])])
def test_products_of_a_group_are_those_of_different_outcomes(trials):
    """Every pair of single outcomes of a group, one by one."""
    group, chance = np.array([0, 0, 0, 1, 1]), np.array([0.2, 0.5, 0.4, 0.3, 0.6])
    count = np.ones(5, int) if trials is None else trials
    events = np.array([1, 1, 0, 1, 1]) if trials is None else np.array([1, 2, 1, 3, 1])
    row = np.repeat(np.arange(5), count)
    happened = np.concatenate([np.arange(n) < k for n, k in zip(count, events, strict=True)])
    pairs = [(i, j) for i in range(row.size) for j in range(row.size) if i != j and group[row[i]] == group[row[j]]]
    excess = happened - chance[row]
    seen = sum(excess[i] * excess[j] for i, j in pairs)
    terms = [sum(each[row[i]] * each[row[j]] for i, j in pairs) for each in of_items._terms(chance)]
    found = of_items._latent_correlation(events / count, chance, trials, group)
    assert found == pytest.approx(of_items._root([max(0.0, each) for each in terms], seen, 0.0))
    assert (found > 0.01) == (seen > 0.0)
    assert of_items._latent_correlation(np.array([1.0, 0, 0, 1, 0]), chance, None, group) == 0.0  # apart: none


class Source:
    """Numbers that are known, one set after another; a binomial number is its mean."""

    def __init__(self, *normal):
        self.normal = [np.asarray(each, float) for each in normal]

    def standard_normal(self, _):
        return self.normal.pop(0)

    def binomial(self, trials, share):
        return trials * share


def test_outcomes_of_a_group_share_a_part_of_their_normal_variables():
    chance, group = np.array([0.2, 0.5, 0.9]), np.array([0, 0, 1])
    drawn = of_items.DependentOutcomes(norm.ppf(chance), np.full(3, 10), group, 0.36)
    at = norm.ppf(chance) - 0.6 * np.array([1.5, 1.5, -1.0])
    assert drawn.draw(Source([1.5, -1.0])) == pytest.approx(ndtr(at / 0.8))
    single = of_items.DependentOutcomes(norm.ppf(chance), None, group, 0.36)
    source = Source([1.5, -1.0])
    source.random = lambda n: np.full(n, 0.5)
    assert single.draw(source).tolist() == (ndtr(at / 0.8) > 0.5).tolist()
    two = TwoDependentOutcomes((0.36, 0.64), 0.6, 0.28, group)
    own, part = np.array([[0.1, 0.2, 0.3], [1.0, -1.0, 2.0]]), np.array([[1.5, -1.0], [0.5, 0.7]])
    first, second = two.draw(3, Source(own, part))
    assert first == pytest.approx(ndtr(0.6 * part[0][group] + 0.8 * own[0]))
    of_group, of_item = 0.6 * part[0] + 0.8 * part[1], 0.28 * own[0] + 0.96 * own[1]
    assert second == pytest.approx(ndtr(0.8 * of_group[group] + 0.6 * of_item))
    alone = TwoDependentOutcomes((0.0, 0.0), 0.0, 0.28, None).draw(3, Source(own))
    assert np.array(alone) == pytest.approx(ndtr([own[0], of_item]))


@pytest.mark.parametrize(
    ("first", "second", "between", "whole", "shared", "item"),
    [
        (0.36, 0.25, 0.15, 0.5, 0.5, (0.5 - 0.15) / math.sqrt(0.64 * 0.75)),
        (0.36, 0.25, 0.9, 0.5, 0.95, (0.5 - 0.95 * 0.3) / math.sqrt(0.64 * 0.75)),
        (0.36, 0.25, -0.9, -0.9, -0.95, (0.95 * 0.3 - 0.9) / math.sqrt(0.64 * 0.75)),
        (0.36, 0.0, 0.4, 0.3, 0.0, 0.3 / 0.8),
        (0.36, 0.25, 0.0, 0.9, 0.0, 0.95),
    ],
)
def test_what_a_group_shares_is_taken_from_what_an_item_shares(
    monkeypatch, first, second, between, whole, shared, item
):
    own = iter([first, second])
    monkeypatch.setattr(of_items, "_latent_correlation", lambda *_: next(own))
    monkeypatch.setattr(of_items, "_cross_correlation", lambda _y, _c, group: whole if group is None else between)
    group = np.zeros(2, int)
    found = TwoDependentOutcomes.like((np.zeros(2),) * 2, (np.ones(2),) * 2, group)
    assert (found.own, found.group is group) == ((first, second), True)
    assert (found.shared, found.item) == pytest.approx((shared, item))
    alone = TwoDependentOutcomes.like((np.zeros(2),) * 2, (np.ones(2),) * 2, None)
    assert (alone.own, alone.shared, alone.item, alone.group) == ((0.0, 0.0), 0.0, whole, None)


def test_ids_that_cannot_be_compared_one_by_one_are_none():
    assert of_items.compared_ids([1, 2.0, "x"], ["1", 2, "y"]) == (["1", "2", "x"], ["1", "2", "y"])
    for items, items_b in (
        ([1, 1], [1, 2]),
        ([1, 2], [2, 2]),
        ([1, None], [1, 2]),
        ([1, 2], [True, False]),
        ([1, True], [1, 2]),
    ):
        assert of_items.compared_ids(items, items_b) is None


@pytest.mark.parametrize(("level", "n", "rank"), [(0.1, 99, 5), (0.1, 98, 4), (0.5, 3, 1), (0.02, 9, 1)])
def test_what_items_may_miss_is_beyond_half_of_the_level_and_fades_where_neither_is_calibrated(
    monkeypatch, level, n, rank
):
    apart = np.random.default_rng(0).permutation(np.linspace(-0.3, 0.5, n))
    errors = np.zeros((n, 2, 4))
    errors[:, 0] += 0.1 + apart[:, None]
    monkeypatch.setattr(of_items, "resampled", lambda *_: errors.reshape(n, 8))
    monkeypatch.setattr(of_items, "_truth", lambda *_: np.array([[0.1] * 4, [0.0] * 4]))
    y = np.tile([0.0, 1.0], 10)
    items = Items([y, 1.0 - y], [np.full(20, 0.4), np.full(20, 0.5)])
    missed = np.sort(apart)
    ends = missed[-rank] - 0.05, -missed[rank - 1] - 0.05
    high = float(np.quantile(errors[:, 0, 0], 1.0 - level))
    for seen, far in ((0.0, 0.0), (high + 0.2, 0.2), (0.15 if high < 0.15 else 0.0, 0.0)):
        # Of the second no redraw has an error: it is as far as it was seen, and the nearer of both decides.
        found = items.missed((0, 1), lambda *_, seen=seen: seen, 0.05, level, n, np.random.default_rng(0))
        far = min(far, seen)
        expected = [math.hypot(far, max(0.0, end)) - far for end in ends]
        assert found == pytest.approx(expected)


def test_what_noise_hides_of_either_is_at_most_what_both_means_differ_by_and_its_noise():
    """Towards 1/2, by the normal quantile of the level's share of the excesses over the isotonic fit."""
    rng = np.random.default_rng(1)
    y = (rng.random(50) < 0.3).astype(float), (rng.random(50) < 0.6).astype(float)
    v, fits = (np.full(50, 0.3), np.full(50, 0.7)), (np.full(50, 0.35), np.full(50, 0.55))
    group = np.arange(50) // 2
    for groups in (None, group):
        found = of_items._hidden(y, v, fits, groups, 0.05)
        excess = [a - b for a, b in zip(y, fits, strict=True)]
        if groups is not None:
            excess = [np.bincount(group, each) for each in excess]
        scale = of_items._UNSEEN * norm.isf(0.05) / 50
        most = [scale * np.sqrt((each**2).sum()) for each in (*excess, excess[0] - excess[1])]
        apart = abs((y[0] - v[0]).mean() - (y[1] - v[1]).mean()) + most[2]
        assert found[0] == pytest.approx(np.clip(v[0] + min(most[0], apart), 0.0, 1.0))
        assert found[1] == pytest.approx(np.clip(v[1] - min(most[1], apart), 0.0, 1.0))


def test_surprises_are_the_items_worth_of_the_rarest_outcome_of_any_predictor():
    y = [np.array([1.0, 1, 1, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0])]
    v = [np.full(6, 0.5)] * 2
    assert Items(y, v).surprises == 1.0
    assert Items([y[0]], v[:1]).surprises == 3.0
    assert Items([y[0]], v[:1], np.array([0, 0, 1, 2, 3, 3])).surprises == pytest.approx(9.0 / 5.0)
    assert Items([np.ones(6)], v[:1]).surprises == 0.0
    assert Items(y, v).differing((0, 1)) == 2


def test_rows_of_one_item_are_a_group_where_there_are_none():
    alone, several = matched([1, 2, 3], [3, 1, 2], (3, 3)), matched([1, 2, 1], [2, 1, 1], (3, 3))
    assert (alone.place.tolist(), alone.item) == ([1, 2, 0], None)
    assert (several.place.tolist(), several.item.tolist()) == ([1, 0, 2], [0, 1, 0])
    group = np.array([4, 5, 4])
    assert alone.group(group) is several.group(group) is group
    assert alone.group(None) is None
    assert several.group(None) is several.item
    with pytest.raises(InputError, match="row 2 is of the same item as row 0, and of another group"):
        several.group(np.array([4, 5, 6]))
