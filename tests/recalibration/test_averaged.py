"""The averaged map: evidence and means against their integrals, one map for any order, near the identity when few."""

import math
import sqlite3
from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import norm

from calibrant import CalibrationSketch, InputError
from calibrant.door.sample import Sample
from calibrant.recalibration import AveragedScaling, from_json
from calibrant.recalibration.curves import averaged
from calibrant.recalibration.curves.averaged import (
    MEMBERS,
    AveragedCurve,
    Basis,
    LogitCells,
    Spline,
    _both_expits,
    _log_odds_of_mean,
    fitted_members,
)
from tests.oracles import averaged as oracle
from tests.strategies import examples, samples


def drawn(n, seed, truth=lambda p: p):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    return (rng.random(n) < truth(p)).astype(float), p


def members_of(n, seed, truth):
    """Cells, basis and the fitted members with their prior deviations."""
    y, p = drawn(n, seed, truth)
    order = np.argsort(p)
    cells = LogitCells.of(logit(p[order]), np.ones(n), y[order])
    basis = Basis(cells, 12)
    scales = [(s, prior / len(grid)) for prior, grid in MEMBERS.values() for s in grid if not s.values]
    deviations, priors = [basis.deviations(s) for s, _ in scales], [math.log(prior) for _, prior in scales]
    return cells, basis, list(zip(fitted_members(cells, basis)[0], deviations, priors, strict=True))


def agree(cells, chosen, others, evidence):
    """Differences of log evidence to the identity, of the map's and the oracle's."""
    identity = others[0]
    member, _, prior = chosen
    ours = math.log(member.weight) - prior - (math.log(identity[0].weight) - identity[2])
    theirs = evidence - oracle.log_likelihood(cells.x, cells.rows, cells.events, 0.0)
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 250, 1500])
@pytest.mark.parametrize("power", [1.0, 1.6])
def test_evidence_and_means_are_those_of_the_integral(n, power):
    cells, basis, members = members_of(n, n, lambda p: p**power)
    columns = basis(cells.x)
    for chosen in members:
        member, deviation, _ = chosen
        free = deviation > 0.0
        if not 1 <= free.sum() <= 2:
            continue
        evidence, mean, probability = oracle.by_quadrature(
            cells.x, cells.rows, cells.events, columns[:, free], deviation[free]
        )
        ours, theirs = agree(cells, chosen, members, evidence)
        assert abs(ours - theirs) < 0.05 + 3.0 / n, member.name
        spread = np.sqrt((member.root[free] ** 2).sum(axis=1))
        assert np.all(np.abs(member.coefficients[free] - mean) < 2.5 / np.sqrt(n) * spread), member.name
        middle, own = cells.x + columns @ member.coefficients, np.sqrt(((columns @ member.root) ** 2).sum(axis=1))
        found = expit(_log_odds_of_mean(np.ones(1), middle[None], own[None]))
        assert np.abs(found - probability).max() < 2.0 / n, member.name


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 700])
def test_evidence_and_means_of_splines_are_those_of_a_sample(n):
    cells, basis, members = members_of(n, n + 1, lambda p: np.clip(p + 0.15 * np.sin(6.0 * p), 0.0, 1.0))
    columns, rng = basis(cells.x), np.random.default_rng(0)
    for chosen in members:
        member, deviation, _ = chosen
        free = deviation > 0.0
        if free.sum() <= 2 or member.weight < 0.01:
            continue
        evidence, mean, size = oracle.by_importance(
            *(cells.x, cells.rows, cells.events, columns[:, free], deviation[free]),
            *(member.coefficients[free], member.root[free], rng),
        )
        assert size > 500.0
        ours, theirs = agree(cells, chosen, members, evidence)
        assert abs(ours - theirs) < 0.2, member.name
        off = columns[:, free] @ (member.coefficients[free] - mean)
        spread = np.sqrt(((columns @ member.root) ** 2).sum(axis=1))
        assert np.all(np.abs(off) < 0.35 * spread), member.name


def test_columns_of_the_spline_are_natural_cubic_splines():
    from scipy.interpolate import CubicSpline

    knots = np.array([-3.0, -1.0, -0.5, 0.2, 2.0, 2.5])
    values = np.random.default_rng(0).normal(size=(6, 3))
    ours, theirs, x = Spline(knots, values), CubicSpline(knots, values, bc_type="natural"), np.linspace(-5, 4, 200)
    inner = np.clip(x, -3.0, 2.5)
    assert ours.inside(x) == pytest.approx(theirs(inner), abs=1e-12)
    assert ours.onwards(x) == pytest.approx(theirs(inner) + (x - inner)[:, None] * theirs(inner, 1), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_does_not_show(weighted):
    y, p = drawn(3000, 1, lambda p: p**1.3)
    p = np.round(p, 3)
    weight = np.random.default_rng(2).integers(1, 5, 3000).astype(float) if weighted else None
    other = np.random.default_rng(3).permutation(3000)
    one = AveragedScaling().fit(p, y, weight)
    two = AveragedScaling().fit(p[other], y[other], None if weight is None else weight[other])
    assert one.to_json() == two.to_json()


@examples(40)
@given(samples(), st.booleans())
def test_any_rows_give_a_map_between_0_and_1_that_keeps_the_order(sample, monotone):
    y, p, weight = sample
    found = AveragedScaling(monotone=monotone).fit(p, y, weight)
    at = np.unique(np.r_[0.0, 5e-324, 1e-300, 1e-9, p, 0.5, 1.0 - 2.0**-53, 1.0])
    q = found.predict(at)
    assert np.all((q > 0.0) & (q < 1.0))
    if monotone:
        assert np.all(np.diff(q) >= 0.0)
    low, high = found.interval(at).T
    assert np.all((low <= found.predict(at)) & (found.predict(at) <= high))
    assert sum(found.weights_.values()) == pytest.approx(1.0)


def test_few_rows_leave_predictions_nearly_as_they_are():
    for seed in range(5):
        y, p = drawn(30, seed)
        assert abs(AveragedScaling().fit(p, y).predict(p) - p).max() < 0.15


def test_many_rows_follow_any_smooth_curve():
    def truth(p):
        return np.clip(p + 0.12 * np.sin(2.0 * np.pi * p), 0.0, 1.0)

    y, p = drawn(100_000, 5, truth)
    at = np.linspace(0.02, 0.9, 40)
    found = AveragedScaling().fit(p, y)
    assert abs(found.predict(at) - truth(at)).max() < 0.02
    low, high = found.interval(at, level=0.01).T
    assert np.mean((low <= truth(at)) & (truth(at) <= high)) > 0.9


def test_a_dip_is_followed_where_order_is_not_asked_for():
    def truth(p):
        return expit(logit(np.clip(p, 1e-6, 1 - 1e-6)) - 3.0 * np.exp(-(((p - 0.5) / 0.08) ** 2)))

    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    y = rng.random(50_000) < truth(p)
    dip, flat = (AveragedScaling(monotone=m).fit(p, y) for m in (False, True))
    at = np.array([0.4, 0.5])
    assert np.diff(dip.predict(at))[0] < 0.0 <= np.diff(flat.predict(at))[0]


def test_weights_count_as_their_effective_number():
    y, p = drawn(2000, 7, lambda p: p**1.5)
    one, hundredfold = AveragedScaling().fit(p, y), AveragedScaling().fit(p, y, np.full(2000, 100.0))
    assert hundredfold.predict(p) == pytest.approx(one.predict(p), abs=1e-12)


def test_certain_predictions_alone_are_moved():
    p = np.r_[np.zeros(50), np.linspace(0.2, 0.8, 200), np.ones(50)]
    y = np.r_[np.zeros(48), 1, 1, np.arange(200) % 2, np.ones(48), 0, 0]
    found = AveragedScaling().fit(p, y)
    assert found.clip_.tolist() == [1e-3, 1e-3]
    assert 0.0 < found.predict([0.0])[0] < 0.2
    far = AveragedScaling().fit(np.linspace(0.2, 0.8, 200), np.arange(200) % 2)
    assert far.predict([1e-9])[0] < 1e-6


def test_an_interval_is_about_the_map_that_is_pooled():
    """Where events fall as predictions rise the increasing map is flat, and far from every curve of the posterior."""
    rng = np.random.default_rng(5)
    p = rng.random(300)
    found = AveragedScaling().fit(p, rng.random(300) < 1.0 - p)
    v = np.array([0.04, 0.2, 0.8, 0.96])
    low, high = found.interval(v).T
    within = (found.draws(v, 2000, random_state=0) >= low) & (found.draws(v, 2000, random_state=0) <= high)
    assert within.mean(axis=0).min() >= 0.95
    assert ((low <= 1.0 - v) & (1.0 - v <= high)).all()


def test_draws_spread_as_the_interval_says():
    y, p = drawn(1500, 11, lambda p: p**1.4)
    found = AveragedScaling(monotone=False).fit(p, y)
    at = np.array([0.1, 0.4, 0.7])
    drawn_curves = found.draws(at, 4000, random_state=0)
    assert drawn_curves.shape == (4000, 3)
    low, high = found.interval(at, level=0.1).T
    assert np.mean((drawn_curves >= low) & (drawn_curves <= high), axis=0) == pytest.approx(0.9, abs=0.04)
    assert np.array_equal(drawn_curves, found.draws(at, 4000, random_state=0))
    again = from_json(found.to_json())
    assert again.interval(at).tolist() == found.interval(at).tolist()
    with pytest.raises(InputError, match="draws: needs the fit itself"):
        again.draws(at)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("n", [40, 1500])
def test_the_map_is_the_mean_of_the_probabilities_of_all_draws(n, far):
    y, p = drawn(n, 11, lambda p: p**1.4)
    p = expit(8.0 * logit(p)) if far else p
    found = AveragedScaling(monotone=False).fit(p, y)
    at = np.quantile(p, [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
    curves = found.draws(at, 20_000, random_state=0)
    error = curves.std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(curves.mean(axis=0) - found.predict(at)) < 5.0 * error + 2e-3 * found.predict(at))


@examples(50)
@given(st.floats(-30.0, 30.0), st.floats(0.0, 5.0))
def test_the_mean_probability_is_its_integral(middle, deviation):
    z = np.linspace(-10.0, 10.0, 20_001)
    share = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    event, without = share @ expit(middle + deviation * z), share @ expit(-middle - deviation * z)
    found = _log_odds_of_mean(np.ones(1), np.array([[middle]]), np.array([[deviation]]))
    assert found[0] == pytest.approx(np.log(event) - np.log(without), abs=0.03)


def test_a_sketch_gives_nearly_the_same_map():
    y, p = drawn(20_000, 13, lambda p: p**1.2)
    sketch = CalibrationSketch()
    sketch.update(y, p)
    at = np.linspace(0.05, 0.95, 19)
    of_cells = AveragedScaling().fit_sample(sketch.sample)
    assert of_cells.predict(at) == pytest.approx(AveragedScaling().fit(p, y).predict(at), abs=2e-3)


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("n", [1, 40, 3000])
def test_the_map_in_sql_is_the_map(n, certain):
    y, p = drawn(n, 3, lambda p: p**1.5)
    if certain:
        p = np.where(p < 0.1, 0.0, np.where(p > 0.9, 1.0, p))
    fitted = AveragedScaling().fit(p, y)
    near = [0.0, 1e-300, 0.5 * fitted.clip_[0], fitted.clip_[0], 1.0 - 0.5 * fitted.clip_[1]]
    at = np.unique(np.r_[near, np.linspace(0.0, 1.0, 301), p, 1.0 - fitted.clip_[1], 1.0])
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE rows (v DOUBLE)")
    base.executemany("INSERT INTO rows VALUES (?)", [(each,) for each in at.tolist()])
    found = np.array(base.execute(f"SELECT {fitted.to_sql('v')} FROM rows").fetchall())[:, 0]
    assert abs(logit(found) - logit(fitted.predict(at)))[1:-1] == pytest.approx(0.0, abs=1e-9)
    assert found == pytest.approx(fitted.predict(at), abs=1e-12)
    assert base.execute(f"SELECT {fitted.to_sql('NULL')}").fetchone() == (None,)
    with pytest.raises(InputError, match="column: is ''"):
        fitted.to_sql("")


@pytest.mark.slow
def test_the_map_in_sql_is_the_map_in_a_warehouse():
    duckdb = pytest.importorskip("duckdb")
    y, p = drawn(3000, 4, lambda p: p**1.5)
    fitted = AveragedScaling().fit(p, y)
    found = duckdb.sql(f"SELECT {fitted.to_sql('i / 200.0')} FROM range(201) t(i)").fetchnumpy()
    assert next(iter(found.values())) == pytest.approx(fitted.predict(np.arange(201) / 200.0), abs=1e-12)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_one_outcome_alone_does_not_move_predictions_towards_the_other(outcome):
    rng = np.random.default_rng(0)
    for v in (np.full(100_000, 0.01), np.full(80, expit(-20.0)), rng.uniform(0.01, 0.05, 10_000)):
        v = 1.0 - v if outcome else v
        moved = AveragedScaling().fit(v, np.full(v.size, outcome)).predict(v) - v
        assert np.max(moved if outcome == 0.0 else -moved) <= 1e-12


def test_sql_of_an_expression_and_next_to_one():
    rng = np.random.default_rng(3)
    v = expit(18.0 * rng.standard_normal(500))
    fitted = AveragedScaling().fit(v, rng.random(500) < v)
    at = np.unique(np.r_[v, 1.0 - 2.0 ** -np.arange(20.0, 54.0)])
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (v DOUBLE)")
    database.executemany("INSERT INTO t VALUES (?)", [(each,) for each in at.tolist()])
    found = [q for (q,) in database.execute(f"SELECT {fitted.to_sql('1e0 * v')} FROM t ORDER BY v")]
    assert np.abs(np.array(found) - fitted.predict(at)).max() < 1e-12


def test_sql_tells_the_least_predictions_apart():
    fitted = AveragedScaling().fit([0.1, 0.2, 0.8, 0.9] * 30, [0, 1, 1, 1] * 30)
    fitted.log_odds_, fitted.corrected_ = np.array([-60.0, -50.0, -40.0]), np.array([-58.0, -52.0, -37.0])
    fitted.clip_ = np.array([expit(-60.0), 1e-16])
    at = expit(np.linspace(-60.0, -38.0, 23))  # of which 1 less most is 1
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (v DOUBLE)")
    database.executemany("INSERT INTO t VALUES (?)", [(each,) for each in at.tolist()])
    found = np.array([q for (q,) in database.execute(f"SELECT {fitted.to_sql('v')} FROM t ORDER BY v")])
    assert logit(found) == pytest.approx(logit(fitted.predict(at)), abs=1e-9)


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_half_of_the_level_lies_on_either_side_of_the_normal_posterior(level):
    y, p = drawn(400, 3)
    found = AveragedScaling().fit(p, y)
    at = np.array([0.2, 0.5, 0.8])
    ends, wide = (logit(found.interval(at, level=each)) for each in (level, 2.0 * norm.sf(1.0)))
    deviation = 0.5 * (wide[:, 1] - wide[:, 0])
    assert 0.5 * (ends[:, 1] - ends[:, 0]) == pytest.approx(norm.isf(level / 2.0) * deviation)


@examples(200)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=60))
def test_values_stand_out_by_their_rows_alone(counts):
    """A naive twin: each value against all others, the heaviest first."""
    rows = np.array(counts, dtype=np.float64)
    median = (
        sorted(counts)[len(counts) // 2] if len(counts) % 2 else np.mean(sorted(counts)[len(counts) // 2 - 1 :][:2])
    )
    out = [c >= 20 and c >= 0.01 * sum(counts) and c >= 10 * median for c in counts]
    heavier = [sum(other > c for other in counts) < 12 for c in counts]
    assert LogitCells.of(np.arange(rows.size) * 1.0, rows, np.zeros(rows.size)).values.tolist() == [
        float(k) for k, (a, b) in enumerate(zip(out, heavier, strict=True)) if a and b
    ]


@pytest.mark.parametrize(
    ("value", "n", "rate"), [(0.999, 500, 0.95), (0.0, 500, 0.1), (0.5, 1000, 0.6), (1.0, 300, 0.8)]
)
def test_one_value_that_errs_moves_no_neighbour(value, n, rate):
    rng = np.random.default_rng(3)
    p = np.r_[np.full(n, value), rng.random(5000 - n)]
    truth = np.r_[np.full(n, rate), p[n:]]
    y = (rng.random(5000) < truth).astype(float)
    curve = AveragedCurve(monotone=False).fit_sample(Sample.from_columns(y, p))
    smooth = np.sqrt(rate * (1.0 - rate) / n)
    assert curve.stand_out(np.unique(p)).sum() == 1 + (value in (0.0, 1.0))  # which are read as the next
    assert abs(curve.as_estimator().predict(np.array([value]))[0] - y[:n].mean()) < smooth
    near = p[n:][np.abs(p[n:] - value) < 0.05]
    near = near[~curve.stand_out(near)]
    assert np.abs(curve.as_estimator().predict(near) - near).max() < 0.03
    mean, spread = curve.moments(curve.log_odds(np.array([value])))
    assert abs(expit(curve.log_odds(np.array([value])) + mean)[0] - y[:n].mean()) < smooth
    assert (spread > 0.0).all()


def test_a_design_effect_is_of_the_sums_of_groups():
    rng = np.random.default_rng(0)
    group, count, weight = rng.integers(0, 5, 60), rng.integers(1, 4, 60), rng.uniform(0.5, 2.0, 60)
    rate = rng.uniform(0.1, 0.6, 60)
    rows = SimpleNamespace(
        y_prob=rate, y_true=rng.binomial(count, rate).astype(float), count=count, weight=weight, group=group
    )
    fitted = AveragedScaling()
    fitted._map = lambda v: v
    lacks = [sum((weight * (rows.y_true - count * rate))[group == each]) for each in range(5)]
    variance = sum(weight[k] ** 2 * count[k] * rate[k] * (1.0 - rate[k]) for k in range(60))
    assert fitted._design_effect(rows) == pytest.approx(sum(each**2 for each in lacks) / variance, rel=1e-12)


def test_rows_are_worth_one_at_least_and_many_have_more_knots(monkeypatch):
    monkeypatch.setattr(averaged, "MANY_ROWS", 20)
    monkeypatch.setattr(averaged, "Basis", lambda _, knots: knots)
    found = []
    fitted = AveragedScaling()
    fitted.fit_cells = lambda cells, knots: found.append((float(cells.rows.sum()), knots))
    y, p = drawn(40, 0)
    for effect in (1.0, 2.0, 2.1, 40.0, 400.0):
        fitted._fit(Sample.from_columns(y, p, None), effect)
    assert [rows for rows, _ in found] == pytest.approx([40.0, 20.0, 40.0 / 2.1, 1.0, 1.0])
    assert [knots for _, knots in found] == [averaged._MORE_KNOTS] * 2 + [averaged._KNOTS] * 3


def test_groups_of_rows_without_weights_have_the_effect_of_weights_of_one():
    rng = np.random.default_rng(1)
    group, rate = rng.integers(0, 5, 60), rng.uniform(0.1, 0.6, 60)
    columns = {"y_prob": rate, "y_true": (rng.random(60) < rate).astype(float), "count": np.ones(60), "group": group}
    fitted = AveragedScaling()
    fitted._map = lambda v: v
    effects = [fitted._design_effect(SimpleNamespace(weight=weight, **columns)) for weight in (None, np.ones(60))]
    assert effects[0] == effects[1]


@pytest.mark.slow
def test_the_last_bit_of_predictions_moves_a_map_by_as_little():
    """No step of a fit hangs on a gain that is smaller than rounding: processors that round otherwise agree."""
    at = np.linspace(0.01, 0.99, 33)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(50, 3000))
        p = rng.beta(0.7, 1.3, n)
        y = (rng.random(n) < np.clip(p + 0.2 * np.sin(6.0 * p), 0.0, 1.0)).astype(float)
        other = np.nextafter(p, rng.integers(0, 2, n).astype(float))
        one, two = (AveragedScaling().fit(each, y).predict(at) for each in (p, other))
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-12)


def test_both_sides_of_the_logistic_function_are_right_to_the_last_bits():
    x = np.r_[np.random.default_rng(0).normal(0.0, [[0.1], [3.0], [100.0]], (3, 400)).ravel(), 0.0, -745.0, 745.0]
    event, without = _both_expits(np.r_[x, -np.inf, np.inf])
    with localcontext(prec=40):
        exact = np.array([float(1 / (1 + Decimal(-each).exp())) for each in x.tolist()])
    least = np.finfo(float).smallest_normal  # what lies below has fewer digits
    np.testing.assert_allclose(event, np.r_[exact, 0.0, 1.0], rtol=5e-16, atol=least)
    np.testing.assert_array_equal(without, _both_expits(-np.r_[x, -np.inf, np.inf])[0])
