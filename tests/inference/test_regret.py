"""Upper bounds of regret: the penalised supremum by brute force, one threshold, and how often it is exceeded."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CalibrationSketch, InputError, monotone_decision_loss
from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.inference import regret_bounds
from calibrant.inference.bounds import regret as of_regret
from calibrant.inference.bounds.draws import Draws, Weighing, read_draws
from calibrant.inference.bounds.one_event import psi
from calibrant.inference.bounds.regret import (
    Cuts,
    Lines,
    RegretBounds,
    _at,
    _at_units,
    _everywhere,
    _needing,
    _penalised,
    _pooled,
    regret_bounds_from_sample,
)
from tests.strategies import examples, samples


def most(v, events, others, t, share, after):
    """The largest mean of gain + share * gain^2 over all cuts."""
    acting = v > t if after else v >= t
    found = []
    for cut in [*v, 2.0]:
        moved = (v >= cut).astype(float) - acting
        of_events, of_others = moved * (1.0 - t), -moved * t
        found.append(np.sum(events * (of_events + share * of_events**2) + others * (of_others + share * of_others**2)))
    return max(found)


@examples(60)
@given(sample=samples(max_rows=12, weights=False, fractional=False), share=st.sampled_from([0.0, 0.3, 1.5, 3.1]))
def test_the_penalised_supremum_by_brute_force(sample, share):
    y_true, y_prob, _ = sample
    v = np.unique(np.append(y_prob, [0.0, 1.0]))
    events = np.array([np.sum(y_true[y_prob == x]) for x in v]) / y_true.size
    others = np.array([np.sum(1.0 - y_true[y_prob == x]) for x in v]) / y_true.size
    found = _penalised(v, events, others, share)
    assert found[::2] == pytest.approx([most(v, events, others, t, share, False) for t in v], abs=1e-14)
    assert found[1::2] == pytest.approx([most(v, events, others, t, share, True) for t in v], abs=1e-14)
    for t in (0.0, 0.3, *y_prob[:3]):
        assert _at(t, v, events, others, share) == pytest.approx(most(v, events, others, t, share, False), abs=1e-14)


@pytest.mark.slow
def test_calibrated_uniform_rows_are_within_a_little():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        v = rng.random(10_000)
        found.append(regret_bounds(rng.random(10_000) < v, v).regret_interval.high)
    assert np.mean(found) <= 0.006


def test_a_threshold_costs_less_than_all_and_nothing_is_above_one():
    rng = np.random.default_rng(0)
    v = rng.random(2000)
    y = rng.random(2000) < v**2
    everywhere, there = regret_bounds(y, v), regret_bounds(y, v, threshold=0.5)
    assert monotone_decision_loss(y, v) < everywhere.decision_loss_interval.high
    assert there.regret_interval.high <= everywhere.regret_interval.high <= everywhere.decision_loss_interval.high
    assert there.threshold == 0.5
    assert "At the threshold 0.5, acting on these predictions loses at most" in there.summary()
    assert regret_bounds([1], [0.0]).regret_interval.high == 1.0
    with pytest.raises(InputError, match="threshold: is 1"):
        regret_bounds(y, v, threshold=1.0)
    for nothing in (0, 0.0, -0.0, np.float64(0.0)):
        with pytest.raises(InputError, match="threshold: is 0, where every row is acted on and nothing can be lost"):
            regret_bounds(y, v, threshold=nothing)
    with pytest.raises(InputError, match=r"y_true: row 0 is 0\.5"):
        regret_bounds([0.5], [0.2])


@pytest.mark.slow
def test_it_is_exceeded_as_rarely_as_it_says():
    """A predictor that says 0.2 and 0.6 where 0.35 and 0.5 are true: its population's regret is 0.15 / 2 at most."""
    missed = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        low = rng.random(150) < 0.5
        v, p = np.where(low, 0.2, 0.6), np.where(low, 0.35, 0.5)
        found = regret_bounds(rng.random(150) < p, v, level=0.2)
        # Just above 0.2 the half of the rows that is predicted 0.2 is left: 0.35 - 0.2 is lost on each.
        missed += not found.regret_interval.low <= 0.075 <= found.regret_interval.high
    assert missed <= 0.4 * 400  # both ends, each by itself


def test_a_loss_that_many_rows_show_is_proved():
    rng = np.random.default_rng(0)
    v = rng.random(20_000)
    y = rng.random(20_000) < v**2  # at 0.25 it should act from 0.5 on: it loses the integral of 0.25 - v^2
    found, there = regret_bounds(y, v), regret_bounds(y, v, threshold=0.25)
    true = 0.25 * 0.25 - (0.5**3 - 0.25**3) / 3
    assert 0.5 * true < there.regret_interval.low < true < there.regret_interval.high
    assert there.regret_interval.low * 0.5 < found.regret_interval.low <= found.regret_interval.high
    assert 0.0 < found.decision_loss_interval.low < monotone_decision_loss(y, v) < found.decision_loss_interval.high
    assert "and at least" in there.summary()
    for limit, verdict in ((0.01, "beyond"), (0.026, "undecided"), (0.2, "within")):
        decided = regret_bounds(y, v, threshold=0.25, max_regret=limit)
        assert decided.verdict == verdict
        said = {"beyond": "FAIL", "undecided": "UNDECIDED", "within": "PASS"}[verdict]
        assert decided.summary().startswith(f"{said} (limit {limit} on the regret): at the threshold 0.25, acting")
    with pytest.raises(InputError, match="max_regret: is 0"):
        regret_bounds(y, v, max_regret=0.0)
    assert "at some threshold at least" in found.summary()


def allowed(units, share, log, t, after, cut):
    """The largest d in [0, 1] that one threshold and one cut allow, with a unit's own square, by bisection."""
    acting = units.v > t if after else units.v >= t
    gains = (units.y - t) * ((units.v >= cut).astype(float) - acting)
    unit = np.arange(units.v.size) if units.unit is None else units.unit
    weight, gained = np.bincount(unit, units.w), np.bincount(unit, units.w * gains)
    short = lambda d: (d * weight - gained) / units.most  # noqa: E731

    def holds(d):
        return np.sum(short(d) - share * short(d) ** 2) <= log

    low, high = 0.0, 1.0
    if holds(1.0):
        return 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@examples(40)
@given(
    sample=samples(max_rows=9, weights=True, fractional=True),
    bet=st.sampled_from([0.05, 0.2, 0.36]),
    t=st.sampled_from([0.0, 0.3, 0.5, 0.8]),
    most=st.sampled_from([1.0, 3.0]),
)
def test_units_of_unequal_weight_by_brute_force(sample, bet, t, most):
    y_true, y_prob, weight = sample
    weight = np.ones_like(y_true) if weight is None else weight / weight.max()
    units = Draws(
        *(column[np.argsort(y_prob, kind="stable")] for column in (y_true, y_prob, weight)),
        None,
        np.ones(y_true.size),
        most,
    )
    share, log = psi(bet) / bet, 0.5 / bet
    lines = Lines.of(units)
    square, scaled = float(lines.sums[2].sum()), log * lines.scale
    cuts = [*y_prob, 2.0]
    there = max(allowed(units, share, log, t, False, cut) for cut in cuts)
    assert _at_units(lines, t, share, square, scaled) == pytest.approx(there, abs=1e-9)
    tried = [(x, after) for x in {0.0, 1.0, *y_prob} for after in (False, True)]
    most_of_all = max(allowed(units, share, log, x, after, cut) for x, after in tried for cut in cuts)
    assert _everywhere(lines, share, square, scaled, 2.0) == pytest.approx(most_of_all, abs=1e-9)
    with pytest.MonkeyPatch.context() as patch:  # cells bound what they pool
        patch.setattr("calibrant.inference.bounds.regret._CELLS", 3)
        assert _everywhere(lines, share, square, scaled, 2.0) >= most_of_all - 1e-9


def test_of_groups_the_bound_is_no_less_than_with_their_own_squares():
    rng = np.random.default_rng(1)
    v = np.round(rng.random(60), 1)
    y, groups = (rng.random(60) < v**2).astype(float), rng.integers(0, 12, 60)
    _, units = read_draws(y, v, Weighing(max_weight=12.0), groups)
    lines, share, log = Lines.of(units), psi(0.3) / 0.3, 4.0
    found = _at_units(lines, 0.4, share, float(lines.sums[2].sum()), log * lines.scale)
    exact = max(allowed(units, share, log, 0.4, False, cut) for cut in [*v, 2.0])
    assert exact - 1e-12 <= found < exact + 0.1


@pytest.mark.slow
def test_false_verdicts_at_a_threshold_are_as_rare_as_promised():
    """The population's regret is .075 at .5: neither a limit just below it is kept, nor one just above it broken."""
    wrong = {"rows": 0, "weights": 0, "groups": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        low = rng.random(400) < 0.5
        v, p = np.where(low, 0.4, 0.7), np.where(low, 0.65, 0.7)
        y = (rng.random(400) < p).astype(float)
        kinds = {
            "rows": {},
            "weights": {"sample_weight": rng.choice([0.2, 1.0], 400), "max_weight": 1.0},
            "groups": {"groups": np.arange(400) // 2, "max_weight": 2.0},
        }
        for kind, options in kinds.items():
            found = regret_bounds(y, v, threshold=0.5, level=0.2, **options).regret_interval
            wrong[kind] += found.high < 0.075  # "within" a limit of less
            wrong[kind] += found.low > 0.075
    assert max(wrong.values()) <= 0.4 * 200  # both ends, each by itself


@pytest.mark.slow
def test_weights_trials_groups_and_what_is_asked():
    rng = np.random.default_rng(0)
    v = rng.random(4000)
    y = (rng.random(4000) < v**2).astype(float)
    plain = regret_bounds(y, v, threshold=0.25, max_regret=0.1)
    one = regret_bounds(y, v, threshold=0.25, max_regret=0.1, sample_weight=np.ones(4000), max_weight=1.0)
    assert one.regret_interval.high == pytest.approx(plain.regret_interval.high, rel=0.1)
    assert one.regret_interval.low == plain.regret_interval.low
    assert one.verdict == plain.verdict == "within"
    assert one.max_regret == 0.1
    paired = regret_bounds(y, v, threshold=0.25, groups=np.arange(4000) // 2, max_weight=2.0).regret_interval
    assert one.regret_interval.high < paired.high < 2 * one.regret_interval.high
    shares = regret_bounds(rng.binomial(20, 0.5, 300) / 20, np.full(300, 0.2), trials=np.full(300, 20), max_weight=20.0)
    assert 0.2 < shares.regret_interval.low < 0.3 < shares.regret_interval.high  # just above .2 all of .3 is lost
    assert shares.decision_loss_interval.high <= 2 * shares.regret_interval.high
    with pytest.raises(InputError, match="max_weight: is needed"):
        regret_bounds(y, v, sample_weight=np.ones(4000))


def test_cells_of_a_sketch_bound_the_rows_from_outside():
    rng = np.random.default_rng(0)
    v = rng.random(5000)
    y = (rng.random(5000) < v**2).astype(float)
    for resolution in (64, 4096):
        cells = CalibrationSketch(resolution).update(y, v).sample
        paid = cells.count.max() / 5000 + 1 / resolution
        for threshold in (None, 0.25, 0.2503):
            rows = regret_bounds(y, v, threshold=threshold)
            pooled = regret_bounds_from_sample(cells, 0.05, threshold)
            assert pooled.regret_interval.high >= rows.regret_interval.high
            assert pooled.decision_loss_interval.high >= rows.decision_loss_interval.high
            assert pooled.regret_interval.low <= rows.regret_interval.low + 0.005
            assert pooled.regret_interval.high <= rows.regret_interval.high + 3 * paid
    assert pooled.regret_interval.low > 0.0
    exact = CalibrationSketch(4).update(y, np.round(4 * v) / 4).sample
    assert regret_bounds_from_sample(exact, 0.05, 0.3) == regret_bounds(y, np.round(4 * v) / 4, threshold=0.3)


def test_two_cells_can_lose_all_that_is_allowed_for_what_they_hold():
    """Each of as many events as others: the threshold lies between them in one cell, the cut in the other."""
    width = 1e-6
    place = 0.5 + np.array([0.0, 4.0 * width])
    count = np.array([50.0, 50.0])
    cells = SimpleNamespace(prediction=place, cell_width=np.full(2, width), ones=count, count=2.0 * count, n_rows=200)
    events, others = np.array([0.25, 0.0, 0.0, 0.25]), np.array([0.0, 0.25, 0.25, 0.0])
    apart = np.concatenate([[x - width / 2, x + width / 2] for x in place])  # events below the others, then above
    found = [
        max(most(v, *of, t, 0.0, after) for t in v for after in (False, True))
        for v, of in ((apart, (events, others)), (place, (count / 200, count / 200)))
    ]
    allowed = _pooled(cells, 0.0, None)
    assert found[0] - found[1] <= allowed <= found[0] - found[1] + 10.0 * width


def test_a_cell_that_the_threshold_may_divide_proves_no_loss():
    """A tenth of the rows are events: acting from 0.25 on loses, but rows below 0.25 are not acted on."""
    y, v = (np.arange(2000) % 10 == 0).astype(float), np.full(2000, 0.25)
    one_prediction = regret_bounds(y, v, threshold=0.25)
    assert 0.1 < one_prediction.regret_interval.low < 0.15 < one_prediction.regret_interval.high
    sample = CalibrationSketch(64).update(y, v + np.linspace(-1e-3, 1e-3, 2000)).sample
    widths = sample.cell_width[sample.cell_width > 0.0]
    assert widths.size
    assert widths.max() < 1.0
    assert regret_bounds_from_sample(sample, 0.05, 0.25).regret_interval.low == 0.0


@pytest.mark.parametrize("options", [{}, {"sample_weight": np.ones(50), "max_weight": 1.0}])
def test_the_level_of_a_bound_is_the_one_asked_for(options):
    found = [regret_bounds(np.arange(50) % 2, np.full(50, 0.1), level=level, **options) for level in (0.1, 0.2)]
    assert [each.level for each in found] == [0.1, 0.2]
    assert found[0].regret_interval.low < found[1].regret_interval.low


def test_rows_that_would_decide_are_said_only_where_nothing_is_decided():
    rng = np.random.default_rng(0)
    v = rng.random(20_000)
    y = rng.random(20_000) < v**2
    sample = Sample.of_arrays(y.astype(float), v, None)
    for limit, verdict in ((None, None), (0.3, "within"), (0.01, "beyond"), (0.025, "undecided")):
        found = regret_bounds_from_sample(sample, 0.05, 0.25, limit)
        assert found.verdict == verdict
        assert (found.rows_needed is None) == (verdict != "undecided")
    assert found.rows_needed > 20_000
    cuts = Cuts.of(sample)
    lost = float(max(each[0] for each in cuts.regret(np.array([0.25]))))
    at_it = regret_bounds_from_sample(sample, 0.05, 0.25, lost)
    assert (at_it.verdict, at_it.rows_needed) == ("undecided", None)  # no number of rows decides


def bounds(low=0.0, high=0.04, **changed):
    plain = {"threshold": 0.3, "max_regret": 0.02, "verdict": "undecided", "level": 0.05, "n_rows": 1000}
    return RegretBounds(Interval(low, high), Interval(0.0, 0.1), **{**plain, **changed})


@pytest.mark.parametrize("limit", [0.157, 0.243])
def test_the_rows_that_would_decide_are_told_to_a_twentieth(limit):
    """The end falls from 0.2 + 0.1 as one over the root of the rows, as far below as above: (0.1 / 0.043)^2 is 5.41."""
    found = bounds(0.1, 0.3, max_regret=limit, n_groups=80)
    needed = _needing(found, 0.2, lambda times: 0.2 + 0.1 / times**0.5)
    assert needed.rows_needed == 1000 * 109 / 20
    assert needed.groups_needed == 80 * 109 / 20
    assert _needing(replace(found, n_groups=None), 0.2, lambda times: 0.2 + 0.1 / times**0.5).groups_needed is None
    for changed in ({"verdict": "within"}, {"verdict": "beyond"}, {"max_regret": None}):
        decided = replace(found, **changed)
        assert _needing(decided, 0.2, lambda times: 0.2 + 0.1 / times**0.5) is decided
    assert _needing(found, limit, lambda _: limit + 0.1) is found  # no number of rows would


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_what_cells_hide_at_a_threshold_is_of_its_cell_and_the_cuts(share):
    place, width = np.array([0.02, 0.5, 0.7]), np.array([0.05, 0.1, 0.0])
    ones, count = np.array([3.0, 4.0, 50.0]), np.array([10.0, 10.0, 80.0])
    held = SimpleNamespace(prediction=place, cell_width=width, ones=ones, count=count, n_rows=100)
    first = (1.0 + share) * max(1.0 * 0.03, 0.07 * 0.07)  # from 0 to 0.07
    second = (1.0 + share) * max(0.6 * 0.04, 0.6 * 0.06)  # from 0.4 to 0.6
    assert _pooled(held, share, None) == pytest.approx(2.0 * second + (1.0 + 2.0 * share) * 0.1)
    for threshold, there in ((0.01, first), (0.45, second), (0.6, second), (0.3, 0.0), (0.7, 0.0)):
        assert _pooled(held, share, threshold) == pytest.approx(second + there)
    exact = SimpleNamespace(prediction=place, cell_width=0.0 * width, ones=ones, count=count, n_rows=100)
    assert _pooled(exact, share, None) == 0.0


@pytest.mark.parametrize(("end", "loss"), [(0.3, 0.6), (0.7, 1.0)])
def test_the_decision_loss_is_at_most_twice_the_largest_regret(monkeypatch, end, loss):
    monkeypatch.setattr(of_regret, "regret_upper_end", lambda *_: end)
    y, v = np.tile([0.0, 1.0], 30), np.full(60, 0.5)
    found = regret_bounds(y, v, sample_weight=np.ones(60), max_weight=1.0)
    assert (found.regret_interval.high, found.decision_loss_interval.high) == (end, loss)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (bounds(), "UNDECIDED (limit 0.02 on the regret): at the threshold 0.3, acting on these predictions loses at"),
        (bounds(threshold=None, max_regret=None, verdict=None), "At any threshold, acting on these predictions loses"),
        (
            bounds(),
            "loses at most 0.04 per row against the best cut, with 95% confidence (1,000 rows); it may be right",
        ),
        (bounds(0.01), "at most 0.04 and at least 0.01 per row"),
        (bounds(0.01, threshold=None), "at most 0.04 and at some threshold at least 0.01 per row"),
        (bounds(0.01, verdict="beyond"), "FAIL (limit 0.02 on the regret): at the threshold 0.3"),
        (bounds(verdict="within"), "against the best cut, with 95% confidence (1,000 rows)."),
        (
            bounds(rows_needed=2000),
            "(1,000 rows); about 1,000 more rows would decide, if the error stays as it is here.",
        ),
    ],
)
def test_what_is_said_of_a_regret(found, said):
    assert said in found.sentence
    assert found.premises.threshold == found.threshold
    assert found.premises.max_regret == found.max_regret


def test_predictions_above_a_number_are_put_together_by_weight(monkeypatch):
    y, v = np.arange(40) % 2.0, np.linspace(0.1, 0.9, 40)
    lines = Lines.of(Draws(y, v, np.ones(40), None, np.ones(40), 1.0))
    low, high, several, sums = of_regret._cells(lines)
    assert low.tolist() == high.tolist() == v.tolist()
    assert not several.any()
    monkeypatch.setattr(of_regret, "_CELLS", 10)
    low, high, several, sums = of_regret._cells(lines)
    assert (low.tolist(), high.tolist()) == (v[::4].tolist(), v[3::4].tolist())
    assert several.all()
    assert sums == pytest.approx(lines.sums.reshape(5, 10, 4).sum(axis=2))
