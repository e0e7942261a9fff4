"""Comparison of two predictors: values, symmetry, honest intervals where a bootstrap fails."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm, t

import calibrant
from calibrant import InputError, compare_calibration
from calibrant.door.rows import Rows
from calibrant.inference import compare_all
from calibrant.inference.comparison.compare import Noise, SharedRows, State, _apart, _check, _concluded, _paired
from calibrant.inference.comparison.pairwise import PairwiseComparison
from calibrant.measures.registry import measures

MEASURES = list(measures())


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(float), v


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ties", [False, True])
def test_values_are_the_measures_and_swapping_changes_the_sign(measure, ties):
    y, v = drawn(400, 0)
    v = np.round(v, 1) if ties else v
    result = compare_calibration(y, v, v**2, measure=measure, n_resamples=39, random_state=3)
    other = compare_calibration(y, v**2, v, measure=measure, n_resamples=39, random_state=3)
    function = partial(measures()[measure].function, **measures()[measure].parameters)
    assert result.value_a == pytest.approx(function(y, v), abs=1e-9)
    assert result.value_b == pytest.approx(function(y, v**2), abs=1e-9)
    assert result.statistic == pytest.approx(result.value_a - result.value_b)
    assert other.statistic == pytest.approx(-result.statistic)
    assert result.interval.low <= result.statistic <= result.interval.high
    assert result.reject == (not result.interval.low <= 0.0 <= result.interval.high)


# A bound with a bin's width in it cannot exclude 0: its width might all be bias.
@pytest.mark.slow
@pytest.mark.parametrize("measure", [name for name in MEASURES if not name.endswith("bound")])
def test_a_great_difference_is_seen_by_the_right_sign(measure):
    y, v = drawn(1000, 1)
    result = compare_calibration(y, v, v**3, measure=measure, n_resamples=99, random_state=0)
    assert result.reject
    assert result.statistic < 0.0
    assert result.summary().startswith("the first is better calibrated")


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_two_calibrated_predictors_are_not_told_apart(measure):
    # The coarse one is calibrated too; a plain bootstrap would exclude 0 here far too often.
    rejected = 0
    for seed in range(8):
        y, v = drawn(100, seed)
        coarse = (np.floor(v * 10) + 0.5) / 10
        rejected += compare_calibration(y, v, coarse, measure=measure, n_resamples=39, random_state=seed).reject
    assert rejected <= 1


def test_order_and_seed():
    y, v = drawn(300, 2)
    order = np.random.default_rng(0).permutation(300)
    assert compare_calibration(y, v, v**2, n_resamples=199, random_state=1) == compare_calibration(
        y[order], v[order], v[order] ** 2, n_resamples=199, random_state=1
    )


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
def test_it_is_the_same_whichever_is_named_first(ties):
    y, v = drawn(300, 2)
    v = np.round(v, 1) if ties else v
    near = np.clip(1.07 * v, 0.0, 1.0)
    options = {"n_resamples": 199, "random_state": 1}
    assert compare_calibration(y, v, near, **options) == compare_calibration(y, near, v, **options).swapped()
    several = {"one": v, "near": near, "squared": v**2}
    turned = dict(reversed(several.items()))
    assert compare_all(y, several, **options) == compare_all(y, turned, **options)


def test_one_predictor_twice():
    y, v = drawn(300, 2)
    result = compare_calibration(y, v, v, n_resamples=199, random_state=1)
    assert result.statistic == 0.0
    assert not result.reject
    assert result.pvalue > 0.5


@pytest.mark.slow
def test_a_function_with_parameters_of_its_own():
    y, v = drawn(2000, 4)
    twenty = partial(calibrant.expected_calibration_error, n_bins=20)
    result = compare_calibration(y, v, v**3, measure=twenty, n_resamples=199, random_state=0)
    assert result.method == "expected calibration error"
    assert result.value_b == calibrant.expected_calibration_error(y, v**3, n_bins=20)
    assert result.reject


@pytest.mark.slow
def test_halves_give_the_standard_error_of_the_difference():
    # Far from 0 the size of a mean is a mean: no bias, nothing hidden, and the textbook's standard error.
    y, v = drawn(4000, 5)
    result = compare_calibration(
        y, np.sqrt(v), v**2, measure=lambda y, v: abs(float((y - v).mean())), n_resamples=999, random_state=0
    )
    rows = np.sqrt(v) + v**2 - 2.0 * y
    reach = 1.96 * float(np.std(rows)) / np.sqrt(y.size)
    assert result.statistic == pytest.approx(float(rows.mean()))
    assert result.interval.width / 2.0 == pytest.approx(reach, rel=0.06)


def test_what_is_refused():
    few = np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match="4 rows; halving them needs at least 8"):
        compare_calibration(few, [0.2, 0.8, 0.2, 0.8], [0.2, 0.8, 0.2, 0.8])
    with pytest.raises(InputError, match="y_prob_b: row 1") as problem:
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 1.8])
    assert problem.value.row == 1
    with pytest.raises(InputError, match="y_prob_a"):
        compare_calibration([0, 1], [0.2, float("nan")], [0.2, 0.8])
    with pytest.raises(InputError, match="measure"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], measure="accuracy")
    with pytest.raises(InputError, match="n_resamples"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], n_resamples=10)
    with pytest.raises(InputError, match="y_prob_b: has 3 rows, and y_true 2; give y_true_b"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8, 0.5])
    y, v = drawn(50, 0)
    for wrong in (float("nan"), "much", None):
        with pytest.raises(InputError, match="measure: returned"):
            compare_calibration(y, v, v, measure=lambda _y, _v, wrong=wrong: wrong)


@pytest.mark.slow
def test_the_summary_gives_numbers_in_the_order_of_the_names():
    y, v = drawn(3000, 1)
    good, bad = (
        compare_calibration(y, v, v**3, n_resamples=199, random_state=0),
        compare_calibration(y, v**3, v, n_resamples=199, random_state=0),
    )
    low, high = (f"{value:.4f}" for value in sorted((good.value_a, good.value_b)))
    assert good.summary().startswith(
        f"the first is better calibrated than the second: smooth calibration error {low} against {high}; "
    )
    assert bad.summary().startswith(
        f"the second is better calibrated than the first: smooth calibration error {low} against {high}; "
    )
    same = compare_calibration(y, v, v, n_resamples=199, random_state=0)
    assert same.summary().startswith("neither the first nor the second is proved better calibrated: ")


@pytest.mark.slow
def test_equal_faults_in_opposite_directions_are_not_told_apart():
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rate = rng.uniform(0.1, 0.9, 100)
        y = (rng.random(100) < rate).astype(float)
        rejected += compare_calibration(y, rate - 0.05, rate + 0.05, n_resamples=99, random_state=seed).reject
    assert rejected <= 3


def test_near_predictors_are_compared_sharply():
    y, v = drawn(1000, 6)
    coarse = (np.floor(v * 10) + 0.5) / 10
    found = compare_calibration(y, v, coarse, n_resamples=199, random_state=0)
    assert found.interval.width < 0.01
    assert found.interval.low <= 0.0 <= found.interval.high


@pytest.mark.slow
def test_weights_and_trials():
    y, v = drawn(300, 7)
    weight = np.random.default_rng(0).choice([1.0, 30.0], 300, p=[0.9, 0.1])
    plain = compare_calibration(y, v, v**2, n_resamples=199, random_state=0)
    assert compare_calibration(y, v, v**2, sample_weight=np.full(300, 4.0), n_resamples=199, random_state=0) == plain
    weighted = compare_calibration(y, v, v**2, sample_weight=weight, n_resamples=199, random_state=0)
    assert weighted.value_a == pytest.approx(calibrant.smooth_calibration_error(y, v, sample_weight=weight), abs=1e-12)
    assert weighted.interval.width > plain.interval.width
    assert "weights" in weighted.premise
    of_one = compare_calibration(y, v, v**2, trials=np.ones(300), n_resamples=199, random_state=0)
    assert of_one.interval.width == pytest.approx(plain.interval.width, rel=0.2)
    ones = np.random.default_rng(1).binomial(20, v)
    many = compare_calibration(ones / 20, v, v**2, trials=np.full(300, 20), n_resamples=199, random_state=0)
    assert many.interval.width < 0.6 * plain.interval.width

    def mean_error(y, v, sample_weight=None):
        return abs(float(np.average(y - v, weights=sample_weight)))

    by_mean = compare_calibration(y, v, v**2, sample_weight=weight, measure=mean_error, n_resamples=39, random_state=0)
    assert by_mean.value_b == pytest.approx(mean_error(y, v**2, weight))
    with pytest.raises(InputError, match="groups: cannot be used here: two samples"):
        compare_calibration(y, v, v, y_true_b=y, groups=v)


def test_a_function_of_single_outcomes_alone():
    y, v = drawn(400, 8)

    def strict(y, v):
        if not np.isin(y, (0.0, 1.0)).all():
            raise InputError("y_true", "is a rate")
        return calibrant.smooth_calibration_error(y, v)

    assert compare_calibration(y, v, v**3, measure=strict, n_resamples=199, random_state=0).reject


@pytest.mark.slow
def test_predictors_of_different_rows():
    y, v = drawn(2000, 9)
    other, w = drawn(1500, 10)
    same = compare_calibration(y, v, w, y_true_b=other, n_resamples=199, random_state=0)
    assert not same.reject
    assert "those of one predictor" in same.premise
    worse = compare_calibration(y, v, w**3, y_true_b=other, n_resamples=199, random_state=0)
    assert worse.reject
    assert worse.statistic < 0.0
    assert worse.value_b == pytest.approx(calibrant.smooth_calibration_error(other, w**3), abs=1e-12)
    order = np.random.default_rng(0).permutation(1500)
    again = compare_calibration(y, v, w[order] ** 3, y_true_b=other[order], n_resamples=199, random_state=0)
    assert again == worse
    with pytest.raises(InputError, match="sample_weight: cannot be used here"):
        compare_calibration(y, v, w, y_true_b=other, sample_weight=v)
    with pytest.raises(InputError, match="y_true_b: has 3 rows but y_prob_b has 1,500"):
        compare_calibration(y, v, w, y_true_b=other[:3])
    with pytest.raises(InputError, match="y_true_b: has 4 rows; halving"):
        compare_calibration(y, v, w[:4], y_true_b=[0, 1, 0, 1])


@pytest.mark.slow
def test_two_calibrated_predictors_of_different_rows_are_not_told_apart():
    rejected = sum(
        compare_calibration(*drawn(100, seed), drawn(80, 1000 + seed)[1], y_true_b=drawn(80, 1000 + seed)[0],
                            n_resamples=39, random_state=seed).reject
        for seed in range(25)
    )  # fmt: skip
    assert rejected <= 3


@pytest.mark.slow
def test_all_pairs_with_adjusted_p_values():
    y, v = drawn(800, 11)
    found = compare_all(y, {"cubed": v**3, "right": v, "squared": v**2}, n_resamples=199, random_state=0)
    assert list(found.values) == ["right", "squared", "cubed"]
    assert set(found.better) == {("right", "squared"), ("right", "cubed"), ("squared", "cubed")}
    assert found.summary() == "right is better calibrated than all others at level 0.05"
    for pair, result in found.pairs.items():
        assert (result.value_a, result.value_b) == tuple(found.values[name] for name in pair)
        assert result.statistic <= 0.0
        assert result.interval.low <= result.statistic <= result.interval.high
    raw = sorted(result.pvalue for result in found.pairs.values())
    holm = np.maximum.accumulate(np.array(raw) * [3, 2, 1])
    assert sorted(found.holm_pvalues.values()) == pytest.approx(holm)
    near = compare_all(y, {"one": v, "two": np.round(v, 2), "far": v**3}, n_resamples=199, random_state=0)
    assert set(near.better) == {("one", "far"), ("two", "far")}
    assert near.summary().count("is better calibrated than far") == 2
    none = compare_all(y, {"one": v, "two": np.round(v, 2)}, n_resamples=99, random_state=0)
    assert none.summary().startswith("no predictor is proved better")


def test_what_is_refused_of_several():
    y, v = drawn(50, 0)
    with pytest.raises(InputError, match="y_probs: is not what is compared"):
        compare_all(y, {"one": v})
    with pytest.raises(InputError, match=r"n_resamples: is 99; at level 0\.05 it must be at least 299"):
        compare_all(y, {str(k): v for k in range(6)}, n_resamples=99)
    with pytest.raises(InputError, match=r"y_probs\['two'\]: row 1 is 1\.8"):
        compare_all(y[:2], {"one": [0.2, 0.8], "two": [0.2, 1.8]})


def test_a_permuted_forecast_is_compared_the_same_whichever_is_named_first():
    rng = np.random.default_rng(19)
    v = rng.integers(1, 20, 60) / 20
    y = (rng.random(60) < v).astype(int)
    some = rng.choice(60, 25, replace=False)
    other = v.copy()
    other[some] = v[rng.permutation(some)]
    one, two = (compare_calibration(y, *pair, random_state=0, n_resamples=99) for pair in ((v, other), (other, v)))
    assert one == two.swapped()


@pytest.mark.parametrize(
    ("better", "said"),
    [
        ((), "no predictor is proved better calibrated than another at level 0.05"),
        ((("a", "b"),), "a is better calibrated than b (level 0.05 for all together)"),
        ((("a", "b"), ("a", "c")), "a is better calibrated than all others at level 0.05"),
        ((("a", "c"), ("b", "c")), "a is better calibrated than c; b is better calibrated than c (level 0.05 for all"),
    ],
)
def test_what_is_said_of_pairs(better, said):
    values = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert PairwiseComparison(values, {}, {}, better, 0.05).summary().startswith(said)


def test_weights_cannot_be_drawn_again_with_trials_in_groups():
    y, v = drawn(400, 0)
    own = {"sample_weight": np.tile([1.0, 2.0], 200), "trials": np.full(400, 2), "groups": np.arange(400) // 2}
    with pytest.raises(InputError, match="cannot be used with trials in groups") as error:
        _check(Rows.of(y, v, *own.values()), "y_true")
    assert error.value.argument == "sample_weight"
    for left in ("sample_weight", "trials"):
        _check(Rows.of(y, v, *(None if name == left else each for name, each in own.items())), "y_true")


@pytest.mark.parametrize(("grouped", "law"), [(False, norm), (True, t(11.0))])
def test_noise_is_half_of_what_two_halves_differ_by_and_more_with_few_events(grouped, law):
    """Of 12 rows' or groups' worth of events it is sqrt(1 + 16 / 12) of it; groups have 11 degrees of freedom."""
    halved = np.array([[0.3, 0.1], [-0.2, 0.2], [0.1, 0.1]])
    noise = Noise.of(halved, 12.0, grouped=grouped)
    error = 0.5 * np.sqrt((0.04 + 0.16) / 3.0) * np.sqrt(1.0 + 16.0 / 12.0)
    assert (noise.error, noise.degrees) == (pytest.approx(error), 11.0 if grouped else None)
    assert noise.reach(0.1) == pytest.approx(error * law.isf(0.05))
    assert noise.tail(0.2) == pytest.approx(2.0 * law.sf(0.2 / error))
    assert Noise.of(halved, 0.2).error == pytest.approx(0.5 * np.sqrt(0.2 / 3.0) * np.sqrt(17.0))
    assert Noise(0.0, None).tail(0.2) == 0.0


@pytest.mark.parametrize(
    ("value", "missed", "ends", "far", "reject"),
    [
        ((0.5, 0.2), (0.1, 0.05), (0.2, 0.35), 0.2, True),
        ((0.2, 0.5), (0.1, 0.05), (-0.4, -0.25), 0.25, True),
        ((0.5, 0.4), (0.1, 0.05), (0.0, 0.15), 0.0, False),
        ((0.5, 0.4), (0.09, 0.05), (0.01, 0.15), 0.01, False),
    ],
)
def test_a_difference_is_proved_beyond_what_it_may_miss_and_its_noise(value, missed, ends, far, reject):
    noise = Noise(0.03, None)
    found = _concluded(np.array(value), noise, missed, 0.05, 99, "an error", "as said")
    reach = 0.03 * norm.isf(0.025)
    assert tuple(found.interval) == pytest.approx((ends[0] - reach, ends[1] + reach))
    assert (found.statistic, found.reject) == (pytest.approx(value[0] - value[1]), reject)
    assert found.pvalue == pytest.approx(max(0.01, min(1.0, 2.0 * norm.sf(far / 0.03))), rel=1e-6)


def test_a_state_is_as_far_as_its_error_exceeds_what_chance_explains():
    state = State(np.array([0.5]), np.linspace(0.0, 0.1, 101), np.arange(12.0).reshape(3, 4))
    assert state.far(0.3, 0.05) == pytest.approx(0.3 - 0.095)
    assert state.far(0.09, 0.05) == 0.0
    assert state.of((1, 3)).missed.tolist() == [[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]


def test_surprises_are_the_rows_worth_of_events_or_of_the_rest():
    """Kish's number of the events' weights, or of the others', whichever is less; of groups' sums of them."""
    y, v = np.array([1.0, 1, 0, 0, 0]), np.full(5, 0.5)
    rows = SharedRows.of(Rows.of(y, v, np.array([1.0, 3, 1, 1, 1]), outcome_free_weights=True), [])
    assert rows.surprises == pytest.approx(16.0 / 10.0)
    turned = SharedRows.of(Rows.of(1.0 - y, v, np.array([1.0, 3, 1, 1, 1]), outcome_free_weights=True), [])
    assert turned.surprises == pytest.approx(16.0 / 10.0)
    groups = SharedRows.of(Rows.of([1, 1, 1, 0, 0, 0], np.full(6, 0.5), None, None, [0, 0, 1, 2, 3, 3]), [])
    assert groups.surprises == pytest.approx(9.0 / 5.0)
    assert SharedRows.of(Rows.of(np.ones(5), v), []).surprises == 0.0


def test_what_a_pair_may_miss_is_beyond_half_of_the_level_and_fades_where_a_state_is_far():
    rows = SharedRows.of(Rows.of(np.tile([0.0, 1.0], 10), np.full(20, 0.5)), [])
    missed = np.column_stack([np.linspace(-0.3, 0.5, 99), np.zeros(99)])  # the fifth from either end
    near = State(np.full(20, 0.5), np.full(99, 0.2), missed)
    ends = missed[-5, 0], -missed[4, 0]
    assert _paired(rows, [near], lambda *_: 0.1, 0.05, 0.1) == pytest.approx([each - 0.05 for each in ends])
    far = 0.3 - 0.2
    expected = [np.hypot(far, each - 0.05) - far for each in ends]
    assert _paired(rows, [near], lambda *_: 0.3, 0.05, 0.1) == pytest.approx(expected)
    assert _paired(rows, [near], lambda *_: 0.1, 0.9, 0.1) == (0.0, 0.0)
    one = State(np.full(20, 0.5), np.full(99, 0.2), missed[:3])  # of three the most is all there is
    assert _paired(rows, [one], lambda *_: 0.1, 0.0, 0.1)[1] == pytest.approx(0.3)


def test_two_samples_may_miss_what_either_has_by_chance(monkeypatch):
    """Each error is too large on average, and noise may hide one that is calibrated."""
    noise = np.linspace(0.0, 0.1, 101), np.linspace(0.0, 0.2, 101)
    states = iter([[State(np.zeros(1), each, np.zeros((1, 1)))] for each in noise])
    monkeypatch.setattr(SharedRows, "states", lambda *_: next(states))
    rows = SharedRows.of(Rows.of([0, 1], [0.5, 0.5]), [])
    found = _apart([rows, rows], None, np.array([0.195, 0.1]), 0.05, 99, np.random.default_rng(0))
    first, second = [np.hypot(0.1, each) - 0.1 for each in (0.05, 0.095)], [0.1, 0.19]
    assert found == pytest.approx((first[0] + second[1], first[1] + second[0]))
