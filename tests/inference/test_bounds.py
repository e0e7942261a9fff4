"""Bounds for the population hold, tighten, and decide the gate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import (
    CalibrationSketch,
    InputError,
    calibration_gate,
    population_bounds,
    synthetic,
    upper_calibration_distance,
)
from calibrant.cli.app import app
from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import BLOCKS, Draws, Weighing, read_draws
from calibrant.inference.bounds.gate import Ends
from calibrant.inference.bounds.one_event import (
    Spread,
    _above,
    _below,
    binned_function,
    kernel_function,
    lower_function,
    psi,
    smooth_function,
)
from calibrant.measures.kernel import _from_sample as kernel_error_from_sample
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.registry import measures
from calibrant.measures.smooth import smooth_error_from_sample


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("n", [50, 500, 3000])
def test_they_hold(shift, n):
    # The distance of the shifted uniform predictor is its shift, and so is its smooth error.
    for seed in range(8):
        bounds = population_bounds(*synthetic.shifted_uniform(n, shift, seed))
        for low, high in (bounds.smooth_error, bounds.lower_distance):
            assert 0.0 <= low <= shift <= high <= 1.0


@pytest.mark.parametrize("v", [0.0, 0.001, 0.02, 0.5, 0.98, 1.0])
def test_of_equal_rows_every_interval_holds_the_sample_s_own_value(v):
    """The binned error with its width is above 1 where all is wrong."""
    y_prob = np.full(2000, v)
    y_true = np.full(2000, float(v < 0.5))
    intervals = population_bounds(y_true, y_prob).intervals
    sample = Sample.of_arrays(y_true, y_prob)
    for name, measure in measures().items():
        value = float(measure.on_sample(sample, **measure.parameters))
        assert intervals[name].low - 1e-12 <= value <= intervals[name].high + 1e-12, name


def test_they_tighten_at_the_root_rate():
    widths = []
    for n in (4_000, 64_000):
        low, high = population_bounds(*synthetic.shifted_uniform(n, 0.2, 0)).lower_distance
        widths.append(high - low)
    assert widths[1] < widths[0] / 2.5


def test_order_cannot_matter():
    y_true, y_prob = synthetic.shifted_uniform(500, 0.1, 0)
    order = np.random.default_rng(1).permutation(500)
    assert population_bounds(y_true, y_prob) == population_bounds(y_true[order], y_prob[order])


def test_an_average_bounds_its_expectation():
    rng = np.random.default_rng(0)
    drawn = rng.random((4000, 200))
    allowed = 0.1 + 3.3 * np.sqrt(0.09 / 4000)
    for expected in (0.01, 0.3):
        means = (drawn < expected).mean(axis=1)
        assert np.mean([_above(m, np.log(10.0) / 200) < expected for m in means]) <= allowed
        assert np.mean([_below(m, np.log(10.0) / 200) > expected for m in means]) <= allowed
    assert _above(0.0, 1.0 / 100) == pytest.approx(0.02)  # m with m = sqrt(2 m / n)


def a_population(name):
    """Predictions, their shares and rates of events: where chance shows itself least, or in lumps."""
    v = {
        "rare": np.linspace(0.002, 0.018, 9),
        "rarer by half": np.linspace(0.002, 0.018, 9),
        "atoms at 0 and 1": np.array([0.0, 0.5, 1.0]),
        "five values": np.array([0.1, 0.3, 0.5, 0.7, 0.9]),
    }[name]
    rate = {"rarer by half": v / 2, "five values": np.roll(v, 1)}.get(name, v)
    return v, np.full(v.size, 1.0 / v.size), rate


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rare", "rarer by half", "atoms at 0 and 1", "five values"])
@pytest.mark.parametrize("n", [20, 300])
def test_each_end_fails_no_more_often_than_it_may(name, n):
    v, share, rate = a_population(name)
    truth = Sample.of_arrays(rate, v, share)
    smooth = smooth_error_from_sample(truth)
    certificate = lower_certificate_from_sample(truth)
    rng, failed, trials = np.random.default_rng(n), np.zeros(4), 30
    for _ in range(trials):
        drawn = rng.choice(v.size, n, p=share)
        bounds = population_bounds((rng.random(n) < rate[drawn]).astype(int), v[drawn], level=0.4)  # a tenth each
        for at, interval, low, high in (
            (0, bounds.smooth_error, smooth, smooth),
            (2, bounds.lower_distance, certificate.lower, certificate.upper),
        ):
            failed[at : at + 2] += interval.low > high + 1e-9, interval.high < low - 1e-9
    assert (failed <= binom.ppf(0.9999, trials, 0.1)).all()


def test_bets_are_on_functions_of_the_class():
    rng = np.random.default_rng(0)
    for draw in (rng.random, lambda n: rng.beta(0.2, 20.0, n), lambda n: rng.choice([0.0, 0.1, 0.9, 1.0], n)):
        v = draw(300)
        function = lower_function(Sample.from_columns((rng.random(300) < v**1.3).astype(int), v))
        u = np.sort(np.concatenate([np.linspace(0.0, 1.0, 20_001), v]))
        r0, r1 = function(np.zeros(u.size), u), function(np.ones(u.size), u)
        assert ((1.0 - u) * r0 + u * r1).max() <= 1e-15
        for r, most in ((r0, u), (r1, 1.0 - u)):
            assert (np.abs(r) <= most + 1e-15).all()
            assert (np.abs(np.diff(r)) <= np.diff(u) + 1e-12).all()


def test_kernel_bets_are_of_norm_one_and_binned_ones_are_signs():
    rng = np.random.default_rng(0)
    v = np.sort(rng.random(200))
    sample = Sample.from_columns((rng.random(200) < v**1.5).astype(int), v)
    ones = np.ones(v.size)
    w = kernel_function(sample)(ones, v) / (1.0 - v)
    fitted = np.linalg.solve(np.exp(-np.abs(v[:, None] - v)), w)
    assert w @ fitted <= 1.0  # the least norm of any function with these values
    own = float(sample.residual() @ w)
    assert 0.95 < own / kernel_error_from_sample(sample) <= 1.0
    signs = binned_function(sample)(ones, v) / (1.0 - v)
    assert float(sample.residual() @ signs) == pytest.approx(measures()["expected_calibration_error"].on_sample(sample))


@pytest.mark.parametrize("name", ["rare", "rarer by half", "five values"])
@pytest.mark.parametrize("how", ["rows", "weights", "groups", "trials"])
def test_every_interval_holds(name, how):
    v, share, rate = a_population(name)
    rng, n = np.random.default_rng(5), 200
    heavy = np.where(np.arange(v.size) % 3 == 0, 300.0, 1.0)  # weights may depend on anything
    mass = share * heavy if how == "weights" else share
    truth = {k: m.on_sample(Sample.of_arrays(rate, v, mass), **m.parameters) for k, m in measures().items()}
    upper = upper_calibration_distance(rate, v, sample_weight=mass).lower  # all that bounds the true distance bounds it
    failed, trials = dict.fromkeys([*truth, "true"], 0), 12
    for _ in range(trials):
        drawn = rng.choice(v.size, n, p=share)
        chance = rng.random(n)
        if how == "groups":  # five rows share prediction and chance
            drawn, chance = np.repeat(drawn[::5], 5), np.repeat(chance[::5], 5)
        y, options = (chance < rate[drawn]).astype(float), {}
        if how == "weights":
            options = {"sample_weight": heavy[drawn], "max_weight": 300.0}
        elif how == "groups":
            options = {"groups": np.arange(n) // 5, "max_weight": 5}
        elif how == "trials":  # overdispersed: one chance for all trials of a row, in half of the rows
            count = rng.integers(1, 6, n)
            shared = rng.random(n) < 0.5
            y = np.where(shared, y, rng.binomial(count, rate[drawn]) / count)
            options = {"trials": count, "max_weight": 5}
        found = population_bounds(y, v[drawn], level=0.2, **options)
        for measure, value in truth.items():
            low, high = found.intervals[measure]
            failed[measure] += not low - 1e-9 <= value <= high + 1e-9
        failed["true"] += found.population_distance.high < upper - 1e-9
    assert max(failed.values()) <= binom.ppf(0.9999, trials, 0.2), failed


def test_units_that_are_single_rows_give_what_rows_give():
    y, v = synthetic.shifted_uniform(300, 0.1, 0)
    plain = population_bounds(y, v)
    weighted = population_bounds(y, v, sample_weight=np.full(300, 2.5), max_weight=2.5)
    for name, interval in plain.intervals.items():
        assert tuple(weighted.intervals[name]) == pytest.approx(tuple(interval), abs=1e-9)
    order = np.random.default_rng(0).permutation(300)
    group, weight = np.arange(300) // 4, np.random.default_rng(1).exponential(size=300)
    once = population_bounds(y, v, groups=group, sample_weight=weight, max_weight=40)
    named = np.array([f"g{each}" for each in group])[order]
    again = population_bounds(y[order], v[order], groups=named, sample_weight=weight[order], max_weight=40)
    assert once == again


@pytest.mark.parametrize(
    ("weight", "groups", "row"),
    [
        (np.ones(60), None, 0),
        (np.where(np.arange(60) < 20, 1.0, 3.0), None, 20),  # of the heaviest the first
        (np.ones(60), np.arange(60) // 2, 0),
        (np.where(np.arange(60) < 31, 1.0, 2.0), np.arange(60) // 3, 33),
        (np.where(np.arange(60) % 10 == 7, 2.0, 0.0), None, 7),
    ],
)
def test_of_rows_or_groups_that_weigh_too_much_alike_the_first_is_named(weight, groups, row):
    rng = np.random.default_rng(0)
    options = {"sample_weight": weight, "groups": groups, "max_weight": 0.1}
    one = "row" if groups is None else "the group of row"
    with pytest.raises(InputError, match=rf"^max_weight: is 0\.1, but {one} {row} \(from 0\) weighs ") as told:
        calibration_gate(rng.integers(0, 2, 60), rng.random(60), max_distance=0.1, **options)
    assert told.value.row == row


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"sample_weight": [1, 2, 1, 1]}, "max_weight"),
        ({"groups": [1, 1, 2, 2]}, "max_weight"),
        ({"trials": [1, 1, 2, 2]}, "max_weight"),
        ({"max_weight": 3}, "max_weight"),
        ({"sample_weight": [1, 2, 1, 1], "max_weight": 1.5}, "max_weight"),
        ({"groups": [1, 1, 1, 2], "max_weight": 2}, "max_weight"),
        ({"sample_weight": [1, 2, 1, 1], "max_weight": float("inf")}, "max_weight"),
        ({"groups": [1, 1, 1], "max_weight": 2}, "groups"),
        ({"groups": [1, 1, 1, None], "max_weight": 3}, "groups"),
        ({"groups": ["a", 1, 1, 2.5], "max_weight": 3}, None),
        ({"trials": [1, 0, 1, 1], "max_weight": 3}, "trials"),
        ({"trials": [1, 1.5, 1, 1], "max_weight": 3}, "trials"),
        ({"trials": [1, 1], "max_weight": 3}, "trials"),
    ],
)
def test_what_can_weigh_differently_needs_a_bound_known_beforehand(options, argument):
    for bounded in (population_bounds, lambda *rows, **more: calibration_gate(*rows, max_distance=0.2, **more)):
        if argument is None:
            assert bounded([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], **options)
            continue
        with pytest.raises(InputError) as refused:
            bounded([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], **options)
        assert refused.value.argument == argument


def test_sketches_pay_for_their_cells():
    y, v = synthetic.shifted_uniform(3000, 0.1, 0)
    sketch = CalibrationSketch(resolution=64).update(y, v)
    rows, cells = Draws.of_sample(Sample.from_columns(y, v)), Draws.of_sample(sketch.sample)
    exact, pooled = Spread.of(rows), Spread.of(cells)
    assert pooled.least_squared <= exact.squared <= pooled.squared
    for learn in (lower_function, smooth_function):
        function = learn(sketch.sample)
        assert cells.means(function)[0] <= rows.means(function)[0]
        assert cells.means(function)[2] >= rows.means(function)[2]
    of_rows, of_cells = calibration_gate(y, v, max_distance=0.13), sketch.gate(max_distance=0.13)
    assert of_rows.lower_distance.high <= of_cells.lower_distance.high
    assert of_cells.lower_distance.low < 0.1 < of_cells.lower_distance.high
    fine = CalibrationSketch().update(y, v).gate(max_distance=0.13)
    assert fine.lower_distance.high == pytest.approx(of_rows.lower_distance.high, abs=2e-4)
    assert fine.lower_distance.low == pytest.approx(of_rows.lower_distance.low, abs=0.02)  # another split
    assert fine.verdict == of_rows.verdict == "within"
    with pytest.raises(InputError, match="weights"):  # without their bound
        CalibrationSketch().update(y, v, sample_weight=1.0 + v).gate(max_distance=0.1)
    with pytest.raises(InputError, match="rates"):
        CalibrationSketch().update(np.full(9, 0.5), np.full(9, 0.5)).gate(max_distance=0.1)


def test_the_upper_end_is_the_largest_distance_that_is_not_excluded():
    rng = np.random.default_rng(0)
    v, most = rng.random(400), 7.0
    y, w, unit = (rng.random(400) < v).astype(float), most / 4 * rng.random(400), np.arange(400) // 4
    spread = Spread.of(Draws(y, v, w, unit, np.ones(100), most))
    weight = np.bincount(unit, w) / most
    error = np.bincount(unit, w * np.abs(y - v)) / most
    found, log, bet = 0.03, 0.04, 0.3
    d = np.linspace(0.0, 1.0, 100_001)
    c = weight.mean()
    square = (error**2).mean() + 2 * d * (abs(weight - c) * error).mean() - 2 * d * c * c * found
    square += d * d * (weight**2).mean()
    excluded = d * c - c * found > log / bet + psi(bet) / bet * square
    assert excluded[-1]
    assert spread._end(found, log, bet) == pytest.approx(d[~excluded][-1], abs=2e-5)


def test_rows_are_split_by_chance_and_none_is_lost():
    y, v = synthetic.shifted_uniform(3000, 0.1, 0)
    units = Draws.of_sample(Sample.from_columns(y, np.round(v, 2)))
    blocks = units.blocks
    assert len(blocks) == BLOCKS.size
    back = np.zeros((2, 101))
    for block, share in zip(blocks, BLOCKS, strict=True):
        assert block.n_units == pytest.approx(3000 * share, abs=5 * np.sqrt(3000 * share))
        np.add.at(back, (block.y.astype(int), np.rint(block.v * 100).astype(int)), block.copies)
    assert (back[1] == np.bincount(np.rint(v * 100).astype(int), y, 101)).all()
    assert back.sum() == 3000


def test_gate_decides_and_asks_for_more():
    far = synthetic.shifted_uniform(20_000, 0.3, 0)
    assert calibration_gate(*far, max_distance=0.1).verdict == "beyond"
    assert calibration_gate(*far, max_distance=0.6).verdict == "within"
    undecided = calibration_gate(*far, max_distance=0.303)
    assert undecided.verdict == "undecided"
    assert undecided.rows_needed > 20_000
    assert "rows in all (these included) may decide." in undecided.summary()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, float("nan")])
def test_options_out_of_range(bad):
    with pytest.raises(InputError, match="max_distance"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=bad)
    with pytest.raises(InputError, match="level"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=0.1, level=bad)


def test_one_row_bounds_nothing():
    assert population_bounds([1], [0.2]).lower_distance == Interval(0.0, 1.0)
    assert calibration_gate([1], [0.2], max_distance=0.5).verdict == "undecided"


def test_rows_needed_is_where_the_end_decides():
    sample = Sample.from_columns(*synthetic.shifted_uniform(1000, 0.1, 0))
    ends = Ends.of(sample, 0.05)
    limit = ends.found.upper + 0.02
    needed = ends.rows_for(within=limit, beyond=limit)
    assert ends.spread.upper_end(ends.found.upper, 0.05, needed) < limit
    assert limit <= ends.spread.upper_end(ends.found.upper, 0.05, needed - 1)
    assert ends.rows_for(within=ends.found.upper, beyond=ends.found.upper) is None


@pytest.mark.slow
def test_exit_codes(tmp_path):
    from typer.testing import CliRunner

    y_true, y_prob = synthetic.shifted_uniform(20_000, 0.3, 0)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([y_true, y_prob]), delimiter=",", header="y_true,y_prob", comments="")
    for limit, code in (("0.6", 0), ("0.1", 1), ("0.303", 3), ("2", 2)):
        done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", limit])
        assert done.exit_code == code, done.output
    assert CliRunner().invoke(app, ["gate", str(tmp_path / "no.csv"), "--max-distance", "0.1"]).exit_code == 2


@pytest.mark.parametrize(
    ("limit", "level", "said"),
    [
        (0.1, 0.05, ("limit 10;", "95% confidence;")),
        (0.9999999999999999, 0.05, ("PASS: at most ", "limit 99.99999999999999;", "(95% confidence;")),
        (0.1234567, 1e-16, ("limit 12.34567;", "99.99999999999999% confidence;")),
    ],
)
def test_the_gate_says_the_very_numbers_that_were_asked(limit, level, said):
    y_prob = np.linspace(0.05, 0.95, 60)
    y_true = np.arange(60) % 2
    found = calibration_gate(y_true, y_prob, max_distance=limit, level=level).summary()
    assert all(part in found for part in said), found


@pytest.mark.parametrize(("says", "happens", "n", "limit"), [(0.01, 0.025, 20_000, 0.004), (0.5, 0.52, 100_000, 0.002)])
def test_few_distinct_predictions_are_proved_beyond_as_others_are(says, happens, n, limit):
    """A lower end that is learned too coarsely stays 0 at any number of rows."""
    y = (np.arange(n) < round(happens * n)).astype(int)
    found = calibration_gate(y, np.full(n, says), max_distance=limit)
    apart = calibration_gate(y, says + 1e-9 * np.random.default_rng(0).permutation(n) / n, max_distance=limit)
    assert found.verdict == apart.verdict == "beyond"
    assert found.lower_distance.low > 0.5 * apart.lower_distance.low


def test_rows_that_were_sampled_by_outcome_have_their_own_most_weight_and_groups_need_one():
    y, v = np.array([0.0, 1, 0, 1, 0, 1]), np.linspace(0.1, 0.6, 6)
    fractions, groups = {0: 0.1, 1: 1.0}, [0, 0, 1, 1, 2, 2]
    _, rows = read_draws(y, v, Weighing(sampling_fractions=fractions))
    assert rows.w.max() == rows.most
    assert rows.w[rows.y == 0.0] == pytest.approx(10.0 * rows.w[rows.y == 1.0])
    _, units = read_draws(y, v, Weighing(None, None, 5.0 * rows.most, fractions), groups)
    assert (units.most, units.n_groups) == (5.0 * rows.most, 3)
    _, alone = read_draws(y, v, groups=np.arange(6))  # each a group of its own
    assert (alone.n_groups, alone.most) == (None, 1.0)
    for most, units in ((3.0, None), (None, groups)):
        with pytest.raises(InputError, match="max_weight: ") as error:
            read_draws(y, v, Weighing(None, None, most, fractions), units)
        assert ("is needed" in error.value.problem) == (units is not None)
    with pytest.raises(InputError, match="max_weight: has no effect: there are no weights, trials or groups"):
        read_draws(y, v, Weighing(max_weight=1.0))


def test_nothing_is_learned_of_rows_without_weight():
    """The first rows weigh nothing: what is bet on is taught by those after them."""
    n = 64
    y, v = np.arange(n) % 2.0, np.full(n, 0.4)
    draws = Draws(y, v, np.zeros(n), None, np.ones(n), 1.0)
    parts = [replace(each, w=np.full(each.v.size, float(k > 1))) for k, each in enumerate(draws.blocks)]
    taught = []

    def learn(past):
        taught.append((past.weight.sum(), smooth_function(past)))
        return taught[-1][1]

    draws.__dict__["blocks"] = parts
    lessons = draws.lessons(learn)
    assert [weight for weight, _ in taught] == [parts[2].n_units]
    assert lessons.after == [(parts[3].n_units, parts[3].means(taught[0][1]))]
    assert lessons.first == parts[2].means(taught[0][1])
    assert lessons.n_units == n
