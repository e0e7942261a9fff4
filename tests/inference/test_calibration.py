"""`calibration_test`: statistics against their definitions, the level by exchangeability, the tail by enumeration."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare, poisson_binom

from calibrant import InputError, calibration_test
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.testing import calibration, components
from calibrant.inference.testing.components import (
    COX,
    GROUPS,
    WAVES,
    Components,
    UncertainLots,
    log_tail,
    lots_of_rows,
    pooled_into_cells,
    pooling,
)
from calibrant.kernels.calibration import binomial_table
from calibrant.resampling.redraw import log_tail_of_total
from tests.oracles import calibration_test as oracle
from tests.strategies import examples


def read(*columns):
    return lots_of_rows(Rows.of(*columns))


def drawn(n, bend, seed):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    return (rng.random(n) < y_prob**bend).astype(float), y_prob


@st.composite
def unit_lists(draw):
    k = draw(st.integers(1, 9))
    chances = st.one_of(st.floats(0.01, 0.99), st.sampled_from([1e-6, 0.25, 0.5, 1 - 1e-6]))
    v = np.array(sorted(draw(st.lists(chances, min_size=k, max_size=k, unique=True))))
    m = np.array(draw(st.lists(st.integers(1, 4), min_size=k, max_size=k)), float)
    ones = np.array([draw(st.integers(0, int(each))) for each in m], float)
    w = np.array(draw(st.lists(st.sampled_from([1.0, 0.5, 1e-3]), min_size=k, max_size=k)))
    return UncertainLots(v, m, ones, w, int(m.sum()), None, 0.0)


@examples(60)
@given(unit_lists())
def test_statistics_are_those_of_their_definitions(units):
    parts = Components.of(units)
    found = dict(zip(parts.names, parts.statistics(units, 1, np.uint64(0))[0], strict=True))
    given_units = units.prediction, units.count, units.ones, units.weight
    blocks = parts.wave.shape[0]
    edges = np.array(oracle.times(*given_units[:2], units.weight)[0]) * blocks
    assume((np.abs(edges - np.rint(edges)) > 1e-9).all())  # rounding says on which side of an edge such a unit is
    for (name, size), value in found.items():
        if name == COX:
            wanted = oracle.cox(*given_units)
        elif name == WAVES:
            wanted = oracle.waves(*given_units, size, blocks)
        else:
            wanted = oracle.steps(*given_units, size, blocks)
        scale = max(1.0, float((units.excess**2 / units.variance).sum()))
        assert value == pytest.approx(wanted, rel=1e-5, abs=1e-6 * scale), (name, size)


@given(st.integers(2, 3000), st.floats(1e-9, 1 - 1e-9))
@examples(50)
def test_binomial_tables_hold_the_distribution(trials, chance):
    half = int(min(trials, 10.0 * math.sqrt(0.25 * trials) + 50.0))
    below, guide = np.empty(2 * half + 1), np.empty(2 * half + 1, np.int64)
    first, size = binomial_table(float(trials), chance, below, guide)
    assert below[:size] == pytest.approx(binom.cdf(np.arange(first, first + size), trials, chance), abs=1e-11)
    starts = np.array([np.argmax(below[:size] * size > g) for g in range(size)])
    assert guide[:size].tolist() == starts.tolist()


@pytest.mark.parametrize(("count", "chance"), [(1, 0.3), (5, 0.31), (60, 0.021)])
def test_redrawn_events_have_their_distribution(count, chance):
    units = UncertainLots(*(np.array([float(x)]) for x in (chance, count, 0, 1)), count, None, 0.0)
    parts = Components.of(units)
    score = parts.statistics(units, 4000, np.uint64(3))[1:, 0]
    possible = np.arange(count + 1)
    values = (possible - count * chance) ** 2 / (count * chance * (1 - chance))
    wanted = 4000 * binom.pmf(possible, count, chance)
    seen = np.array([np.isclose(score, value, rtol=1e-9, atol=1e-12).sum() for value in values])
    assert seen.sum() == 4000
    often = wanted > 5
    assert chisquare(seen[often], wanted[often] * seen[often].sum() / wanted[often].sum()).pvalue > 1e-4


@given(st.integers(0, 2**32), st.integers(19, 60), st.booleans())
@examples(40)
def test_the_level_is_exact_by_exchangeability(seed, draws, coarse):
    """Whichever draw is called the observed one, at most a share a of the draws has p <= a."""
    logs = -(np.random.default_rng(seed).exponential(size=(draws, 3)) ** 2)
    if coarse:
        logs = np.round(logs)
    pvalues = []
    for observed in range(draws):
        order = np.roll(np.arange(draws), -observed)
        least = calibration.evened_minimum({k: logs[order, i] for i, k in enumerate((COX, WAVES, GROUPS))})[0]
        pvalues.append(calibration.share_as_extreme(least))
    for a in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= a) <= a + 1e-12


@pytest.mark.parametrize("v", [[0.1, 0.2, 0.5, 0.6, 0.9, 0.95], [0.001, 0.01, 0.01, 0.02, 0.03, 0.5]])
def test_the_tail_is_valid_by_enumeration(v):
    units = read(np.zeros(len(v)), np.array(v))
    parts = Components.of(units)
    found = []
    for ones in product(*(range(int(each) + 1) for each in units.count)):
        events = np.array(ones, float)
        found.append(
            (log_tail(replace(units, ones=events), parts), binom.pmf(ones, units.count, units.prediction).prod())
        )
    tails, chance = map(np.array, zip(*found, strict=True))
    for x in np.unique(tails):
        assert chance[tails <= x].sum() <= math.exp(x) * (1 + 1e-9)
    assert tails.min() < -3.0  # it can say something


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=7))
@examples(60)
def test_pooling_bounds_the_distance_of_the_two_distributions(v):
    v, k = np.array(v), np.arange(len(v) + 1)
    mean = np.array([v.mean()])
    bound = pooling(mean, np.array([float(v.size)]), np.array([((v - v.mean()) ** 2).sum()]))
    apart = np.abs(poisson_binom.pmf(k, v) - binom.pmf(k, v.size, v.mean())).sum() / 2
    assert apart <= bound + 1e-9


def test_cells_keep_counts_and_means():
    y_true, y_prob = drawn(30_000, 1.0, 0)
    units = read(y_true, y_prob)
    assert units.prediction.size <= 2**14
    assert units.count.sum() == 30_000
    assert units.ones.sum() == y_true.sum()
    assert (units.count * units.prediction).sum() == pytest.approx(y_prob.sum(), rel=1e-12)
    assert 0.0 < units.pooling < 1e-4
    tied = read(y_true, np.round(y_prob, 2))
    assert (tied.pooling, tied.prediction.size) == (0.0, 99)
    one = pooled_into_cells(read([0, 1, 1], [0.5, 0.5, 0.5]))
    assert (one.count.tolist(), one.ones.tolist(), one.pooling) == ([3.0], [2.0], 0.0)


def test_order_seed_and_threads_do_not_matter(monkeypatch):
    y_true, y_prob = drawn(300, 1.2, 1)
    y_prob, weight = np.round(y_prob, 2), np.round(y_prob + 1.0, 1)
    order = np.random.default_rng(0).permutation(300)
    options = {"n_resamples": 299, "random_state": 5}
    first = calibration_test(y_true, y_prob, sample_weight=weight, **options)
    assert calibration_test(y_true[order], y_prob[order], sample_weight=weight[order], **options) == first

    def in_three(fill, total, **_):
        for start in range(0, total, 128):
            fill(start, min(start + 128, total))

    monkeypatch.setattr(components, "in_blocks", in_three)
    assert calibration_test(y_true, y_prob, sample_weight=weight, **options) == first


def test_overwhelming_evidence_reads_so_and_grows_with_rows():
    found = [calibration_test(*drawn(n, 1.5, 0), n_resamples=199, random_state=0) for n in (500, 5000, 50_000)]
    assert found[0].pvalue > found[1].pvalue > found[2].pvalue
    assert found[1].pvalue < 1e-20
    assert found[1].tail_pvalue < found[1].redrawn_pvalue == 1 / 200
    assert found[1].region.direction == "too high"
    assert "are too high" in found[1].summary()


def test_trials_are_rows():
    rng = np.random.default_rng(0)
    y_prob, trials = np.linspace(0.1, 0.9, 7), np.array([1, 2, 5, 10, 20, 3, 4])
    ones = rng.binomial(trials, y_prob)
    rows = np.concatenate([np.arange(k) < one for k, one in zip(trials, ones, strict=True)]).astype(float)
    by_row = calibration_test(rows, np.repeat(y_prob, trials), random_state=1)
    assert calibration_test(ones / trials, y_prob, trials=trials, random_state=1) == by_row


def test_certain_rows_are_set_aside_and_said():
    y_true, y_prob = drawn(200, 1.0, 0)
    plain = calibration_test(y_true, y_prob, random_state=0)
    more = calibration_test(np.append(y_true, [1, 0]), np.append(y_prob, [1.0, 1.0]), random_state=0)
    assert (more.pvalue, more.impossible.n_rows, more.impossible.row) == (plain.pvalue, 1, 201)
    assert more.summary().startswith("miscalibrated: row 201")
    assert not more.reject
    only = calibration_test([1, 0], [1.0, 0.0])
    assert (only.pvalue, only.reject, only.leading) == (1.0, False, None)


@pytest.mark.parametrize(
    "v", [[5e-324, 0.5], [1e-300, 1 - 2**-53], np.full(50, 1 - 2**-53), np.full(2, 0.5), [0.5]], ids=str
)
def test_extreme_predictions(v):
    for y_true in (np.zeros(len(v)), np.ones(len(v))):
        weight = np.geomspace(1, 1e-12, len(v))
        found = calibration_test(y_true, v, sample_weight=weight, outcome_free_weights=True, n_resamples=39)
        assert 0.0 < found.pvalue <= 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [0.5, 1]}, r"y_true: row 0 is 0\.5"),
        ({"y_true": [0.5, 1], "trials": [3, 1]}, r"y_true: row 0 is 0\.5, which of 3 trials is 1\.5 events"),
        ({"trials": [1.5, 1]}, r"trials: row 0 is 1\.5"),
        ({"trials": [1]}, "trials: has 1 rows"),
        ({"groups": [1]}, r"groups: has shape \(1,\)"),
        ({"n_resamples": 19}, "n_resamples: is 19"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        calibration_test(**{"y_true": [0, 1], "y_prob": [0.2, 0.8], **arguments})


def _probability(y_true, y_prob):
    """Of these very outcomes, were the predictions calibrated."""
    return float(np.prod(np.where(y_true == 1.0, y_prob, 1.0 - y_prob)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from([0.0, 1.0, 8.0, 12.0]), st.booleans())
def test_no_p_value_is_below_the_probability_of_the_outcomes(seed, n, spread, separated):
    rng = np.random.default_rng(seed)
    v = rng.choice([0.1, 0.2, 0.5, 0.8, 0.9], n)
    cut = rng.choice([0.0, 0.3, 0.6, 1.0])
    y = (v < cut) * 1.0 if separated else rng.integers(0, 2) + np.zeros(n)
    w = 10.0 ** (-spread * rng.integers(0, 2, n))
    weights = {"sample_weight": w, "outcome_free_weights": True} if spread else {}
    found = calibration_test(y, v, **weights, n_resamples=99, random_state=0)
    seen = w / w.max() > 1e-20
    # Redraws alone go down to 1 in 100, by chance below a probability above that; what goes further is the tail.
    assert found.pvalue >= min(_probability(y[seen], v[seen]), 0.01) * (1.0 - 1e-9)


def test_the_region_holds_every_row_of_its_predictions():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        v, w = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 800), rng.choice([1.0, 5.0, 30.0], 800)
        y = (rng.random(800) < np.where(v == 0.5, 0.6, np.where(w > 5.0, v, 0.9 * v))) * 1.0
        region = calibration_test(y, v, sample_weight=w, random_state=0, n_resamples=99).region
        here = (v >= region.low) & (v <= region.high)
        assert region.n_rows == here.sum()
        rate = np.average(y[here], weights=w[here])
        assert region.event_rate == pytest.approx(rate)
        assert region.direction == ("too low" if rate > region.mean_prediction else "too high")


def test_a_row_without_weight_contradicts_nothing():
    y, v = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.2, 0.7, 0.6, 1.0])
    free = {"outcome_free_weights": True, "random_state": 0}
    assert calibration_test(y, v, sample_weight=[1.0, 1.0, 1.0, 0.0], **free).impossible is None
    assert calibration_test(y, v, sample_weight=[1.0, 1.0, 1.0, 1e-9], **free).impossible is not None


def test_where_nothing_is_off_no_region_is_told():
    assert calibration_test(np.tile([0, 1], 50), np.full(100, 0.5), n_resamples=99, random_state=0).region is None


@pytest.mark.parametrize("v", [1e-12, 1e-100, 1e-300, 5e-324])
@pytest.mark.parametrize(("n", "events"), [(200, 1), (2000, 3)])
def test_events_that_were_called_impossible_have_a_tail(v, n, events):
    """It is never below the exact tail of a binomial variable."""
    y = (np.arange(n) < events).astype(float)
    found = calibration_test(y, np.full(n, v), random_state=0).tail_pvalue
    assert math.log(found) < -15.0
    assert math.log(found) >= events * math.log(v) + math.lgamma(n + 1) - math.lgamma(events + 1) - math.lgamma(
        n - events + 1
    )


def test_no_row_is_no_cell_and_a_direction_without_length_no_evidence():
    empty = np.zeros(0)
    lots = UncertainLots(empty, empty, empty, empty, 3, None, 0.0)
    assert pooled_into_cells(lots) is lots
    of_groups = UncertainLots(
        np.array([0.2, 0.6]), np.ones(2), np.array([1.0, 0.0]), np.ones(2), 2, None, 0.0, np.array([0, 1])
    )
    nowhere = np.zeros(2)
    assert components.sum_bound(of_groups, nowhere) == 0.0
    assert components.sum_bound(replace(of_groups, group=None), nowhere) == 0.0
    assert components.sum_bound(replace(of_groups, group=None), np.array([1.0, 0.0])) == pytest.approx(math.log(0.2))


def test_what_pooling_adds_to_the_level_is_said():
    y, v = drawn(300, 1.0, 0)
    found = calibration_test(y, v, n_resamples=99, random_state=0)
    assert "pooling" not in found.summary()
    said = replace(found, pooling=0.00123).summary()
    assert said == f"{found.summary()}; pooling near predictions adds at most 0.0013 to the level"


def test_a_region_without_rows_of_its_own_keeps_the_means_of_its_cells():
    """In a file that kept a tenth of the others a population's chance of 0.1 is 0.1 / (0.1 + 0.9 / 10)."""
    fractions = {0: 0.1, 1: 1.0}
    rows = Rows.of([0, 1, 1, 0], [0.1, 0.2, 0.6, 1.0], sampling_fractions=fractions)
    in_file = [0.1 / (0.1 + 0.09), 0.2 / (0.2 + 0.08), 0.6 / (0.6 + 0.04)]
    assert rows.tested.y_prob == pytest.approx([*in_file, 1.0])
    region = calibration.TestRegion(in_file[0], in_file[2], "too low", 3, 0.7, 0.8)
    found = calibration._in_population(region, rows)
    weight = np.array([10.0, 1.0, 1.0])
    assert (found.low, found.high) == pytest.approx((0.1, 0.6))
    assert found.mean_prediction == pytest.approx(weight @ [0.1, 0.2, 0.6] / 12.0)
    assert found.event_rate == pytest.approx(weight @ [0.0, 1.0, 1.0] / 12.0)
    between = calibration.TestRegion(0.75, 0.9, "too low", 3, 0.8, 0.85)  # no row lies there
    found = calibration._in_population(between, rows)
    back = [x / (x + 10.0 * (1.0 - x)) for x in (0.75, 0.9, 0.8, 0.85)]
    assert (found.low, found.high, found.mean_prediction, found.event_rate) == pytest.approx(tuple(back))
    assert calibration._in_population(None, rows) is None
    assert calibration._in_population(between, Rows.of([0, 1], [0.1, 0.2])) is between


def test_components_are_evened_by_their_own_quantile_and_the_steps_have_a_quarter_of_the_share():
    rng = np.random.default_rng(0)
    best = {name: -rng.exponential(size=100) * (1.0 + k) for k, name in enumerate((COX, WAVES, GROUPS))}
    least, leading = calibration.evened_minimum(best)
    fifth = {name: np.sort(each)[4] for name, each in best.items()}  # of 100 draws 5% are as small
    evened = {name: each - fifth[name] for name, each in best.items()}
    evened[GROUPS] = evened[GROUPS] + math.log(4.0)
    assert least == pytest.approx(np.minimum.reduce(list(evened.values())))
    assert leading == min(evened, key=lambda name: evened[name][0])
    few = {name: each[:7] for name, each in best.items()}
    assert calibration.evened_minimum(few)[0] == pytest.approx(
        np.minimum.reduce([each - each.min() + (name == GROUPS) * math.log(4.0) for name, each in few.items()])
    )


def test_the_share_as_extreme_counts_the_outcomes_themselves_and_what_rounding_parts():
    logs = np.array([-3.0, -2.0, -3.0 + 1e-12, -4.0, 0.0])
    assert calibration.share_as_extreme(logs) == 3 / 5
    assert calibration.share_as_extreme(np.array([-3.0, -2.0, -1.0])) == 1 / 3


def lots(v, count, ones, group=None, weight=1.0):
    v, count, ones = (np.asarray(each, float) for each in (v, count, ones))
    return UncertainLots(v, count, ones, np.broadcast_to(weight, v.shape), int(count.sum()), None, 0.0, group)


def test_the_region_of_a_total_is_all_of_it():
    found = calibration._total_region(lots([0.1, 0.3, 0.8], [2, 3, 5], [1, 1, 5]))
    assert (found.low, found.high, found.direction, found.n_rows) == (0.1, 0.8, "too low", 10)
    assert (found.mean_prediction, found.event_rate) == pytest.approx((0.51, 0.7))
    high = calibration._total_region(lots([0.1, 0.8], [2, 3], [0, 2], weight=np.array([3.0, 1.0])))
    assert high.direction == "too high"
    assert (high.mean_prediction, high.event_rate) == pytest.approx((3.0 / 9.0, 2.0 / 9.0))


@pytest.mark.parametrize(("rate", "direction"), [(0.5, "too low"), (0.1, "too high")])
def test_the_region_of_a_constant_fault_is_all_predictions_and_of_none_there_is_none(rate, direction):
    v = np.linspace(0.2, 0.4, 16)
    units = lots(v, np.full(16, 100.0), np.round(100.0 * (v - 0.3 + rate)))
    parts = Components.of(units)
    for leading, degree in ((COX, 2), (WAVES, 1), (GROUPS, 2)):
        found = calibration._region(units, parts, leading, degree)
        assert (found.low, found.high, found.direction, found.n_rows) == (0.2, 0.4, direction, 1600)
        assert (found.mean_prediction, found.event_rate) == pytest.approx((0.3, rate), abs=0.002)
        right = replace(units, ones=100.0 * v)
        assert calibration._region(right, parts, leading, degree) is None


def test_the_region_of_a_line_is_the_half_that_is_clearer():
    v = np.linspace(0.1, 0.9, 17)
    units = lots(v, np.full(17, 100.0), np.round(100.0 * (v + np.where(v < 0.45, 0.05, -0.02))))
    parts = Components.of(units)
    for leading, degree in ((COX, 2), (WAVES, 2), (GROUPS, 2)):
        found = calibration._region(units, parts, leading, degree)
        assert found.direction == "too low"
        assert found.low == 0.1
        assert 0.3 < found.high < 0.6


def test_rows_in_few_groups_are_bounded_and_with_weights_they_are_no_evidence(monkeypatch):
    """Of signs there must be enough: which rows have them, and how each part of the level is spent."""
    y, v = drawn(60, 1.5, 0)
    units = lots_of_rows(Rows.of(y, v, None, None, np.arange(60) // 2))
    how = {"level": 0.05, "n_resamples": 99, "random_state": 0, "premise": "as said", "joint": None}
    alone = calibration.test_lots(units, by_tail=True, **how)
    some, none = np.arange(60) % 3 > 0, np.zeros(60, bool)
    some = some[: units.prediction.size]
    parts = {"all": np.ones_like(some), "some": some, "none": none[: some.size]}
    signs = {}
    monkeypatch.setattr(calibration, "enough_for_signs", lambda *_: parts[signs["kind"]])
    signs["kind"] = "all"
    assert calibration.test_groups(units, by_tail=True, **how) == alone
    signs["kind"] = "none"
    found = calibration.test_groups(units, by_tail=True, **how)
    tail = math.exp(log_tail_of_total(units.group, units.prediction, units.count, units.excess))
    assert (found.pvalue, found.tail_pvalue, found.redrawn_pvalue) == pytest.approx((tail, tail, 1.0))
    assert found.statistic == pytest.approx(-math.log(tail))
    assert found.region == calibration._total_region(units)
    with pytest.raises(InputError, match="groups: are too few to test weighted rows by groups"):
        calibration.test_groups(units, by_tail=False, **how)
    signs["kind"] = "some"
    found = calibration.test_groups(units, by_tail=True, **how)
    signed = calibration.test_lots(units.part(some), by_tail=True, **how)
    few = units.part(~some)
    bound = math.exp(log_tail_of_total(few.group, few.prediction, few.count, few.excess))
    share = units.variance[~some].sum() / units.variance.sum()
    assert found.pvalue == pytest.approx(min(1.0, signed.pvalue / (1.0 - share), bound / share))
    assert found.method.endswith(f"which are too few for signs in {int(few.count.sum())} of the rows")
    weighted = calibration.test_groups(units, by_tail=False, **how)
    assert weighted == calibration.test_lots(units.part(some), by_tail=False, **how)


def test_a_bound_of_cells_is_bennetts_of_what_their_sums_allow():
    """Two rows of 1 and 3 in one cell, and one of 2: the heaviest of two is known from their squares."""
    held = Sample(
        prediction=np.array([0.2, 0.7]), count=np.array([2.0, 1.0]), ones=np.array([1.0, 1.0]),
        weight=np.array([4.0, 2.0]), weighted_outcome=np.array([3.0, 2.0]), squared_weight=np.array([10.0, 4.0]),
        cell_width=np.array([0.05, 0.0]), binary=True,
    )  # fmt: skip
    found = calibration._Bounded.of(held, np.ones(2, bool), 4.0, 0.01, None)
    assert found.weight == pytest.approx([1.0, 0.5])
    assert found.squares == pytest.approx([10 / 16, 4 / 16])
    assert found.variance == pytest.approx([10 / 16 * 0.25 * 0.75, 4 / 16 * 0.7 * 0.3])
    assert found.above == pytest.approx([0.75 * 0.85, 0.5 * 0.3])
    assert found.below == pytest.approx([0.75 * 0.25, 0.5 * 0.7])
    assert found.misplaced == pytest.approx(0.015)
    known = calibration._Bounded.of(held, np.ones(2, bool), 4.0, 0.01, 1.0)
    assert known.above == pytest.approx([0.25 * 0.85, 0.25 * 0.3])
    direction = np.array([1.0, -0.5])
    most = np.array([1.0 * found.above[0], 0.5 * found.below[1]])
    variance = direction**2 * found.variance
    for excess in ([0.55, -0.3], [0.02, 0.0], [-0.1, 0.0]):
        units = SimpleNamespace(excess=np.array(excess))
        seen = float(direction @ excess) - 0.015
        at = np.linspace(0.0, max(seen, 0.0) / variance.sum(), 20_001)[:, None]
        logs = (variance / most**2 * (np.expm1(at * most) - at * most)).sum(axis=1) - at[:, 0] * seen
        assert found.log_bound(units, direction) == pytest.approx(min(0.0, logs.min()), abs=1e-7)
        assert found.log_bound(units, np.zeros(2)) == 0.0


@pytest.mark.parametrize("seen", [1e-12, 1e-8, 6e-6, 1e-3])
def test_a_bound_of_next_to_no_excess_has_its_first_three_terms(seen):
    """-z^2 / 2 V + (z / V)^3 sum of Var b / 6, z the excess and V its variance; beyond it the next term decides."""
    one = np.ones(2)
    cells = calibration._Bounded(one, one, np.array([0.2, 0.1]), np.array([0.7, 0.9]), one, 0.0)
    found = cells.log_bound(SimpleNamespace(excess=np.array([seen, 0.0])), one)
    third = (seen / 0.3) ** 3 * (0.2 * 0.7 + 0.1 * 0.9) / 6.0
    assert found == pytest.approx(-(seen**2) / 0.6 + third, rel=1e-7 if seen < 1e-4 else 1e-5, abs=0.0)


def test_a_tail_is_bounded_where_no_redraw_or_few_are_as_extreme(monkeypatch):
    """One in a hundred has the tail's share; of fewer redraws it is looked at where none is as extreme."""
    y, v = drawn(80, 1.0, 3)
    units, asked = lots_of_rows(Rows.of(y, v)), []
    monkeypatch.setattr(calibration, "log_tail", lambda *_: asked.append(1) or -5.0)
    for n, k, looked in (
        (99, 1, True),
        (99, 2, False),
        (39, 1, True),
        (39, 2, False),
        (999, 10, True),
        (999, 11, False),
    ):
        monkeypatch.setattr(calibration, "share_as_extreme", lambda _, k=k, n=n: k / (n + 1))
        asked.clear()
        found = calibration.test_lots(units, 0.05, n, 0, "as said", None, by_tail=True)
        assert (found.tail_pvalue, bool(asked)) == ((math.exp(-5.0), True) if looked else (None, False))
        both = [k / (n + 1) / 0.99, *[math.exp(-5.0) / 0.01] * looked]
        assert found.pvalue == pytest.approx(min(1.0, *both))
        assert not calibration.test_lots(units, 0.05, n, 0, "as said", None, by_tail=False).tail_pvalue


def test_rows_are_drawn_again_with_weights_that_may_tell_outcomes_and_alone_without(monkeypatch):
    y, v = drawn(200, 1.0, 0)
    w, taken = np.random.default_rng(1).choice([1.0, 2.0, 5.0], 200), []
    answer = calibration.CalibrationTestResult(
        0.0, 1.0, False, 0.05, "a test", {}, None, None, 1.0, None, 0.0, 99, premise="as said"
    )

    def recorded(lots, _level, _n, _state, _premise, joint, *, by_tail):
        taken.append((lots.prediction.size, joint is not None, by_tail, lots.group is not None))
        return answer

    monkeypatch.setattr(calibration, "test_lots", recorded)
    monkeypatch.setattr(calibration, "test_groups", recorded)
    groups = {"groups": np.arange(200) // 2}
    for options in ({"sample_weight": w}, {}, {"sample_weight": w, "outcome_free_weights": True}, groups):
        calibration_test(y, v, n_resamples=99, **options)
    calibration_test(y, v, n_resamples=99, sample_weight=w, **groups)
    assert taken == [(200, True, False, False)] + [(200, False, True, False)] * 2 + [
        (200, False, True, True),
        (200, False, False, True),
    ]
