"""The clinical panel: lowess row by row, profile likelihoods, separation, weights that are copies, what is refused."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit, ndtr
from scipy.stats import chi2, poisson

from calibrant import InputError, audit, clinical_calibration
from calibrant.decisions import clinical
from calibrant.decisions import flexible as smooth
from calibrant.decisions.cases import Cases, expected_weights, weight_shift
from calibrant.decisions.clinical import _holm, _least_share, _verdict
from calibrant.decisions.flexible import _ends, fitted_places, smoothed
from tests.oracles import clinical as oracle
from tests.strategies import examples, samples

FEW = {"n_resamples": 39, "random_state": 0}


def drawn(n, seed, power=1.3):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**power).astype(float), v


def worth(y, w):
    """The fewest equal rows, rows with events and rows without, that the weights leave."""
    return min(each.sum() ** 2 / max((each**2).sum(), 1e-300) for each in (w, w * y, w * (1 - y)))


@pytest.mark.slow
@examples(60)
@given(sample=samples(max_rows=30, fractional=False))
def test_hard_samples_are_their_definitions(sample):
    y_true, y_prob, weight = sample
    weight = None if weight is None else np.clip(weight, 1e-3, 1e3)  # the log-likelihood's own range
    if y_prob.size < 2:
        return
    if ((y_prob == 0) | (y_prob == 1)).all():
        with pytest.raises(InputError, match="y_prob: is 0 or 1 in every row"):
            clinical_calibration(y_true, y_prob, sample_weight=weight, **FEW)
        return
    if weight is not None and np.ptp(weight) and worth(y_true, weight) < 30:
        with pytest.raises(InputError, match=r"sample_weight: \S+ are worth .* intervals need 30"):
            clinical_calibration(y_true, y_prob, sample_weight=weight, **FEW)
        cases = Cases.read(y_true, y_prob, weight)
        curve = smoothed(cases, 0.05, 39, 0)
        places, fits = oracle.lowess(y_true, y_prob, weight)
        assert np.interp(places, curve.prediction, curve.fitted) == pytest.approx(fits, abs=1e-7)
        for each in (curve.ici, curve.e50, curve.e90, curve.emax):
            assert 0.0 <= each.interval.low <= each.value <= each.interval.high
        return
    found = clinical_calibration(y_true, y_prob, sample_weight=weight, **FEW)
    places, fits = oracle.lowess(y_true, y_prob, weight)
    assert np.interp(places, found.prediction, found.observed) == pytest.approx(fits, abs=1e-7)
    w = np.ones(y_prob.size) if weight is None else weight
    error = np.abs(fits - places)[np.searchsorted(places, y_prob)]
    assert found.ici.value == pytest.approx((w * error).sum() / w.sum(), abs=1e-7)
    assert found.emax.value == pytest.approx(error.max(), abs=1e-7)
    if weight is None:
        assert found.e50.value == pytest.approx(np.quantile(error, 0.5), abs=1e-7)
        assert found.e90.value == pytest.approx(np.quantile(error, 0.9), abs=1e-7)
    if 0 < (w * y_true).sum() < w.sum():
        assert found.c_statistic.value == pytest.approx(oracle.c_statistic(y_true, y_prob, weight), abs=1e-9)
    else:
        assert math.isnan(found.c_statistic.value)
    assert found.brier_score.value == pytest.approx((w * (y_true - y_prob) ** 2).sum() / w.sum(), abs=1e-12)
    for name, each in found.estimates.items():
        assert each.interval.low <= each.interval.high, name
        if np.isfinite(each.value):
            assert each.interval.low - 1e-9 <= each.value <= each.interval.high + 1e-9, name
    assert found.rows_contradicted == np.count_nonzero(
        ((y_prob == 0) & (y_true == 1)) | ((y_prob == 1) & (y_true == 0))
    )


@pytest.mark.parametrize("decimals", [2, 3, 16])
def test_lowess_of_many_rows_skips_as_it_should(decimals):
    y, v = drawn(400, 8)
    v = np.round(v, decimals)
    found = clinical_calibration(y, v, **FEW)
    places, fits = oracle.lowess(y, v)
    assert np.interp(places, found.prediction, found.observed) == pytest.approx(fits, abs=1e-12)
    assert found.prediction.size < min(places.size + 1, 203)


def above(y, v, fixed, value):
    """The least deviance with one parameter fixed."""
    line = (lambda t: (value, t)) if fixed == 0 else (lambda t: (t, value))
    return minimize_scalar(lambda t: oracle.deviance(y, v, *line(t)), bracket=(-1.0, 2.0), tol=1e-12).fun


@pytest.mark.parametrize(("n", "seed", "power"), [(30, 0, 1.0), (80, 1, 0.3), (200, 2, 3.0), (60, 5, 1.3)])
def test_ends_lie_where_the_deviance_has_risen_by_the_quantile(n, seed, power):
    y, v = drawn(n, seed, power)
    found = clinical_calibration(y, v, level=0.1, **FEW)
    a, b = found.calibration_intercept, found.calibration_slope
    least = oracle.deviance(y, v, a.value, b.value)
    for fixed, each in ((0, a), (1, b)):
        for end in each.interval:
            assert above(y, v, fixed, end) - least == pytest.approx(chi2.ppf(0.9, 1), abs=1e-6)
    large = found.in_the_large
    odds = np.log(v / (1 - v))
    flat = 1 / (1 + np.exp(-large.value - odds))
    wider = max(1.0, np.sum((y - flat) ** 2) / np.sum(flat * (1 - flat)))
    for end in large.interval:
        risen = oracle.deviance(y, v, end, 1.0) - oracle.deviance(y, v, large.value, 1.0)
        assert risen == pytest.approx(wider * chi2.ppf(0.9, 1), abs=1e-6)
    ratio = found.observed_expected
    assert ratio.value == pytest.approx(y.sum() / v.sum())
    wider = max(1.0, np.sum((y - ratio.value * v) ** 2) / np.sum(flat * (1 - flat)))
    for end in ratio.interval:
        shift = brentq(lambda a, end=end: np.sum(1 / (1 + np.exp(-odds - a))) - end * v.sum(), -20, 20)
        risen = oracle.deviance(y, v, shift, 1.0) - oracle.deviance(y, v, large.value, 1.0)
        assert risen == pytest.approx(wider * chi2.ppf(0.9, 1), abs=1e-6)


@pytest.mark.parametrize("cut", [0.2, 0.4, 0.5, 0.7])
@pytest.mark.parametrize("rising", [True, False])
def test_a_cut_that_tells_events_apart_leaves_one_end_open(cut, rising):
    v = np.linspace(0.03, 0.97, 48)
    y = ((v > cut) == rising).astype(float)
    found = clinical_calibration(y, v, **FEW)
    slope, intercept = found.calibration_slope, found.calibration_intercept
    assert slope.value == (math.inf if rising else -math.inf)
    closed = slope.interval.low if rising else slope.interval.high
    assert (slope.interval.high if rising else slope.interval.low) == slope.value
    assert above(y, v, 1, closed) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-5)
    below, over = v[v <= cut][-1], v[v > cut][0]
    if below < 0.5 < over:
        assert math.isnan(intercept.value)
        assert tuple(intercept.interval) == (-math.inf, math.inf)
    else:
        closed = [end for end in intercept.interval if np.isfinite(end)]
        assert len(closed) == 1
        assert above(y, v, 0, closed[0]) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-5)
    assert found.c_statistic.value == (1.0 if rising else 0.0)
    low, high = found.c_statistic.interval
    assert (0.85 < low < 1.0 == high) if rising else (0.0 == low < high < 0.15)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_one_outcome_decides_one_side(outcome):
    v = np.linspace(0.1, 0.6, 30)
    y = np.full(30, outcome)
    found = clinical_calibration(y, v, **FEW)
    large = found.in_the_large
    assert large.value == (math.inf if outcome else -math.inf)
    closed = large.interval.low if outcome else large.interval.high
    assert oracle.deviance(y, v, closed, 1.0) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-6)
    assert math.isnan(found.calibration_slope.value)
    assert found.observed_expected.value == pytest.approx(outcome * 30 / v.sum())
    assert (
        found.observed_expected.interval.low <= found.observed_expected.value <= found.observed_expected.interval.high
    )


@pytest.mark.slow
def test_equal_weights_change_little_and_copies_in_groups_nothing_real():
    y, v = drawn(600, 3)
    plain = clinical_calibration(y, v, random_state=0)
    weighted = clinical_calibration(y, v, sample_weight=np.full(600, 3.0), random_state=0)
    copies = clinical_calibration(np.tile(y, 4), np.tile(v, 4), groups=np.tile(np.arange(600), 4), random_state=0)
    naive = clinical_calibration(np.tile(y, 4), np.tile(v, 4), random_state=0)
    for name, each in plain.estimates.items():
        for other in (weighted, copies):
            again = other.estimates[name]
            assert again.value == pytest.approx(each.value, rel=1e-2, abs=2e-3), name
            assert again.interval.width == pytest.approx(each.interval.width, rel=0.2), name
    assert naive.calibration_slope.interval.width == pytest.approx(plain.calibration_slope.interval.width / 2, rel=0.02)


def test_trials_are_rows():
    v = np.linspace(0.05, 0.9, 60)
    n = np.arange(60) % 5 + 1
    k = np.random.default_rng(0).binomial(n, v**1.2)
    pooled = clinical_calibration(k / n, v, trials=n, **FEW)
    single = clinical_calibration(
        np.concatenate([np.arange(b) < a for a, b in zip(k, n, strict=True)]), np.repeat(v, n), **FEW
    )
    assert pooled.n_rows == single.n_rows == n.sum()
    for name, each in single.estimates.items():
        assert pooled.estimates[name].value == pytest.approx(each.value, abs=1e-12), name
        assert tuple(pooled.estimates[name].interval) == pytest.approx(tuple(each.interval), abs=1e-12), name
    rows = clinical_calibration(k / n, v, trials=n, groups=np.arange(60), **FEW)
    assert rows.calibration_slope.value == pytest.approx(single.calibration_slope.value, abs=1e-9)
    with pytest.raises(InputError, match=r"y_true: row 0 is 0\.5, which of 1 trials is 0\.5 events"):
        clinical_calibration([0.5, 1.0], [0.2, 0.7], trials=[1, 1])


def test_predictions_of_0_and_1_are_left_out_and_counted():
    y, v = drawn(100, 4)
    more = clinical_calibration(np.append(y, [1, 0, 1]), np.append(v, [1.0, 1.0, 0.0]), **FEW)
    alone = clinical_calibration(y, v, **FEW)
    assert (more.rows_left_out, more.rows_contradicted) == (3, 2)
    assert more.calibration_slope.value == pytest.approx(alone.calibration_slope.value, abs=1e-9)
    assert "3 predictions of exactly 0 or 1 left out of the line, 2 of them contradicted" in more.summary()


def test_it_says_what_is_wrong_and_draws_it():
    y, v = drawn(3000, 0, 2.0)
    found = clinical_calibration(y, v, **FEW)
    assert found.summary().startswith("Predictions are too high on average and too moderate.")
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted risk", "observed proportion")
    assert found.histogram.sum() == pytest.approx(1.0)
    calm = clinical_calibration(*drawn(300, 1, 1.0), **FEW)
    assert calm.summary().startswith("Neither level nor slope is proved wrong.")
    assert calm.ici.interval.low == 0.0


@given(st.integers(0, 2**32 - 1))
@examples(5)
def test_order_does_not_matter(seed):
    y, v = drawn(50, 7)
    order = np.random.default_rng(seed).permutation(50)
    first, second = (clinical_calibration(y[i], v[i], **FEW) for i in (np.arange(50), order))
    for name, each in first.estimates.items():
        assert second.estimates[name].interval == each.interval, name


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: clinical_calibration([0, 1], [0.2, 0.7], curve="loess"), "curve: is 'loess'"),
        (lambda: clinical_calibration([0.5, 1], [0.2, 0.7]), r"y_true: row 0 is 0\.5"),
        (lambda: clinical_calibration([1], [0.2]), "y_prob: is one draw"),
        (lambda: clinical_calibration([0, 1], [0.0, 1.0]), "y_prob: is 0 or 1 in every row"),
        (lambda: clinical_calibration([0, 1], [0.2, 0.7], n_resamples=5), "n_resamples: is 5"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"groups": np.arange(400) // 80},
            r"groups: \S+ come from too few groups \(as good as 4 equal ones; 30 are needed\)",
        ),
        ({"groups": np.arange(400) // 50, "rare": True}, "groups: events come from too few groups"),
        (
            {"sample_weight": np.where(np.arange(400) < 10, 1e3, 1.0)},
            r"sample_weight: \S+ are worth \S+ equal ones; intervals need 30",
        ),
        ({"sample_weight": 1.0 + np.arange(400) % 2, "rare": True}, "sample_weight: events are worth"),
    ],
)
def test_too_few_draws_in_effect_are_refused(options, said):
    options = dict(options)
    rng = np.random.default_rng(0)
    v = rng.random(400) * (0.05 if options.pop("rare", False) else 1.0)
    with pytest.raises(InputError, match=said):
        clinical_calibration((rng.random(400) < v).astype(float), v, **options, **FEW)


def test_few_hospitals_have_level_and_slope():
    # The examiners' case: 40 hospitals whose events are worth some 20 got no direction and no panel.
    y, v, hospital = hospitals()
    panel = clinical_calibration(y, v, groups=hospital, **FEW)
    low, high = panel.calibration_slope.interval
    assert 0.2 < low < 0.6 < high < 0.9  # what they were drawn with
    assert panel.observed_expected.interval.high < 1.0
    assert panel.few_groups == "Events come from too few groups (as good as 19 equal ones; 30 are needed)"
    assert panel.few_groups in panel.summary()
    unknown = (panel.ici, panel.e50, panel.e90, panel.emax, panel.c_statistic, panel.brier_score)
    assert all(tuple(each.interval) == (0.0, 1.0) and 0.0 < each.value < 1.0 for each in unknown)
    assert (panel.observed_lower == 0.0).all()
    assert (panel.observed_upper == 1.0).all()
    found = audit(y, v, groups=hospital, random_state=0, n_resamples=99)
    line = found.group_line
    assert line.direction == found.answer.direction == "too high"
    assert line.worth == pytest.approx(np.bincount(hospital, y).sum() ** 2 / (np.bincount(hospital, y) ** 2).sum())
    assert found.answer.headline.startswith("Too high on average: for every 100 events predicted ")
    assert "(100 is right). The calibration slope is 0." in found.answer.headline
    assert f"By groups, {line.numbers}; together 95% confidence." in " ".join(found.sentences)
    few = "Events come from too few groups (there are 40, and about 61 like these are needed)."
    assert few in found.answer.details
    # An interval at half the level each: both hold together.
    wider = clinical_calibration(y, v, groups=hospital, level=0.025, **FEW)
    assert line.calibration_slope == wider.calibration_slope
    assert line.observed_expected == wider.observed_expected
    assert audit(y, v, groups=np.arange(y.size), random_state=0, n_resamples=0).group_line is None


def hospitals():
    rng = np.random.default_rng(2)
    sizes = (30 * (1 - (np.arange(40) + 0.5) / 40) ** -0.5).astype(int)
    hospital = np.repeat(np.arange(40), sizes)
    v = expit(-2.5 + 1.3 * rng.standard_normal(hospital.size))
    chance = expit(0.6 * logit(v) - 0.9)
    latent = 0.3 * rng.standard_normal(40)[hospital] + np.sqrt(0.91) * rng.standard_normal(hospital.size)
    return (ndtr(latent) < chance).astype(float), v, hospital


@pytest.mark.slow
def reach_of(cases, curve):
    """What the panel's intervals are read from."""
    kept = []
    real = smooth.reach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth, "reach", lambda *given: kept.append(real(*given)) or kept[-1])
        smoothed(cases.single(), 0.05, 999, 0, spline=curve == "spline")
    return kept[0]


def test_ends_of_the_band_solve_their_equation():
    rng = np.random.default_rng(0)
    spread, held = rng.uniform(0.01, 0.1, 50), rng.uniform(0.01, 0.3, 50)
    crossed = rng.uniform(-1, 1, 50) * spread * np.sqrt(held)
    most = rng.uniform(1.5, 3.0, 50)
    low, high = _ends(most, spread, crossed, held)
    closed = most**2 * held < 1
    assert 0 < closed.sum() < 50
    assert np.isinf(low[~closed]).all()
    assert np.isinf(high[~closed]).all()
    assert (low < 0).all()
    assert (high > 0).all()
    for d in (low[closed], high[closed]):
        wide = spread[closed] ** 2 - 2 * d * crossed[closed] + d * d * held[closed]
        assert d * d == pytest.approx(most[closed] ** 2 * wide)


def test_the_weight_of_events_beside_others_is_found():
    rng = np.random.default_rng(0)
    v = 0.5 * rng.random(8000)
    y = (rng.random(8000) < v).astype(float)
    kept = (y == 1) | (rng.random(8000) < 0.1)
    y, v = y[kept], v[kept]
    assert weight_shift(Cases.read(y, v, np.where(y == 1, 1.0, 10.0))) == pytest.approx(-np.log(10), abs=0.1)
    assert weight_shift(Cases.read(y, v, rng.uniform(0.5, 1.5, y.size))) == pytest.approx(0.0, abs=0.1)
    assert weight_shift(Cases.read(y, v, None)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("curve", ["lowess", "spline"])
@pytest.mark.parametrize("kind", ["groups", "sample_weight"])
def test_reach_of_units_is_its_definition(kind, curve):
    rng = np.random.default_rng(3)
    v = np.round(rng.random(150), 2)
    y = (rng.random(150) < v**1.5).astype(float)
    unit = np.arange(150) // 3 if kind == "groups" else np.arange(150)
    w = np.ones(150) if kind == "groups" else rng.uniform(0.2, 2.0, 150)
    options = {"groups": unit} if kind == "groups" else {"sample_weight": w}
    found = clinical_calibration(y, v, curve=curve, random_state=0, **options)
    share = {}
    for i in range(150):  # the curve is linear in the outcomes: what a row contributes is what it changes
        one = np.zeros(150)
        one[i] = 1.0
        places, drawn = fitted_places(Cases.read(one, v, w if kind == "sample_weight" else None), curve == "spline")
        share[i] = drawn
    rows = np.array([share[i] for i in range(150)])
    chance = np.clip(np.interp(v, places, rows.T @ y), 0, 1)
    signs = rng.choice([-1.0, 1.0], (4000, unit.max() + 1))

    def of_units(residual):
        return np.stack([np.bincount(unit, column) for column in (rows * residual[:, None]).T])

    null, own = of_units(y - v), of_units(y - chance)
    assert places.tolist() == found.prediction.tolist()
    mass = np.bincount(np.searchsorted(places, v), w, places.size) / w.sum()
    largest = np.quantile(np.abs(signs @ null.T) @ mass, 0.95)  # mean size of the noise, where predictions are right
    drawn = reach_of(Cases.read(y, v, options.get("sample_weight"), None, options.get("groups")), curve)
    assert 0.95 * largest < drawn.calibrated < 1.35 * largest
    assert (found.ici.interval.low == 0.0) or (found.ici.value > drawn.calibrated)
    # The plain band, without what makes it longer: the one given is at least as wide, and not twice as wide inside.
    spread = np.sqrt((own**2).sum(axis=1))
    half = np.quantile((np.abs(signs @ own.T) / spread).max(axis=1), 0.95) * spread
    wide = found.observed_upper - found.observed_lower
    inside = (places > 0.2) & (places < 0.8)
    assert (wide[inside] > 1.6 * half[inside]).all()
    assert (wide[inside] < 4.0 * half[inside]).all()


@pytest.mark.slow
@pytest.mark.slow
def test_calibrated_groups_and_weights_are_held_and_others_found():
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        v = rng.random(300)
        common = rng.standard_normal(60)[np.arange(300) // 5]
        y = (ndtr(0.5 * common + np.sqrt(0.75) * rng.standard_normal(300)) < v).astype(float)
        for options in ({"groups": np.arange(300) // 5}, {"sample_weight": rng.lognormal(0, 0.8, 300)}):
            found = clinical_calibration(y, v, random_state=0, **options, **{"n_resamples": 99})
            held.append(found.ici.interval.low == found.emax.interval.low == 0.0)
            off = clinical_calibration(y, v**4, random_state=0, **options, **{"n_resamples": 99})
            assert off.ici.interval.low > 0.05
            assert off.emax.interval.low > 0.1
    assert np.mean(held) >= 0.85


def test_constant_weights_are_none():
    y, v = drawn(80, 5)
    plain = clinical_calibration(y, v, **FEW)
    tripled = clinical_calibration(y, v, sample_weight=np.full(80, 3.0), **FEW)
    assert tripled.n_events == 3 * plain.n_events
    assert tripled.estimates == plain.estimates


FINE, HIGH, STEEP = (-0.1, 0.1), (-0.5, -0.1), (0.5, 0.9)


@pytest.mark.parametrize(
    ("large", "slope", "sure", "said"),
    [
        (FINE, (0.9, 1.1), True, "Neither level nor slope is proved wrong."),
        ((0.1, 0.5), (0.9, 1.1), True, "Predictions are too low on average."),
        (HIGH, (0.9, 1.1), True, "Predictions are too high on average."),
        (FINE, STEEP, True, "Predictions are too extreme."),
        (FINE, (1.1, 1.5), True, "Predictions are too moderate."),
        (HIGH, STEEP, True, "Predictions are too high on average and too extreme."),
        (HIGH, STEEP, False, "Neither level nor slope is proved wrong, since the two are tested together."),
    ],
)
def test_what_is_proved_wrong_is_beyond_both_ends(large, slope, sure, said):
    level, steep = SimpleNamespace(interval=large), SimpleNamespace(interval=slope)
    faults = clinical._faults(level, steep)
    faults = _holm(faults, faults if sure else ("", ""))
    assert _verdict(SimpleNamespace(in_the_large=level, calibration_slope=steep, faults=faults)) == said


def test_level_and_slope_are_tested_together():
    """20 events of 24 at 1/2: 95% and 97.5% leave it out; of 17 only 95% would."""
    y, v = np.repeat([1.0, 0.0], [17, 7]), np.tile([0.5 - 1e-3, 0.5 + 1e-3], 12)
    almost = clinical_calibration(y, v, **FEW)
    assert almost.in_the_large.interval.low > 0.0
    assert almost.faults == ()
    sure = clinical_calibration(np.repeat([1.0, 0.0], [20, 4]), v, **FEW)
    assert sure.faults == ("too low on average",)


def test_a_count_that_would_not_be_shown_if_smaller_may_have_any_smaller_mean():
    assert _least_share(30.0, 0.025) == 0.0
    for count in (34, 60, 400):
        mean = count * _least_share(float(count), 0.025)
        assert poisson.sf(count - 1, mean) / poisson.sf(29, mean) == pytest.approx(0.025, rel=1e-6)
    assert 400 * _least_share(400.0, 0.025) == pytest.approx(400 - 1.96 * 20, abs=2.0)


def test_few_heavy_rows_leave_the_share_of_events_open():
    """31 events of weight 50: files with 29 are refused, so the interval holds the score of rarer ones."""
    rng = np.random.default_rng(0)
    y, v = np.repeat([1.0, 0.0], [31, 270]), rng.uniform(0.6, 0.99, 301)
    few = clinical_calibration(y, v, sample_weight=np.where(y == 1, 50.0, 1.0), **FEW)
    others = float((v[31:] ** 2).mean())
    assert few.brier_score.interval.high == pytest.approx(others, abs=0.1)
    assert few.brier_score.interval.high > 3.0 * few.brier_score.value
    assert few.in_the_large.interval.low < few.in_the_large.value - 2.0


@pytest.mark.parametrize("power", [2, 3])
def test_expected_weights_of_a_sample_by_outcome_are_the_population_s(power):
    v, w = np.array([0.2, 0.2, 0.7, 0.7]), np.array([1.0, 8.0, 1.0, 8.0])
    cases = Cases(np.array([0.0, 1.0, 0.0, 1.0]), v, w, None, None)
    other, event = expected_weights(cases, v, 0.0, power)
    # One event in 8 is kept: of a row that was kept the chance is v / 8 to 1 - v.
    kept = v / 8.0 / (v / 8.0 + 1.0 - v)
    assert event == pytest.approx(kept * 8.0**power)
    assert other == pytest.approx(1.0 - kept)


def test_a_mean_of_errors_that_is_not_skewed_has_ends_on_either_side_alike():
    """Errors are 0.04 and 0.36, as many of each: the mean is within the quantile of its standard errors."""
    y_true, y_prob = np.tile([1, 1, 0, 0], 30), np.tile([0.8, 0.4, 0.2, 0.6], 30)
    found = clinical_calibration(y_true, y_prob, n_resamples=39, random_state=0).brier_score
    half = found.interval.high - found.value
    assert found.value == pytest.approx(0.2)
    assert found.value - found.interval.low == pytest.approx(half)
    assert half == pytest.approx(1.96 * 0.16 / np.sqrt(120), rel=0.03)


@pytest.mark.parametrize("level", [0.05, 0.3])
@pytest.mark.parametrize("power", [1.0, 6.0])
def test_ends_of_the_brier_score_are_where_hall_s_cubic_is_normal(level, power):
    rng = np.random.default_rng(0)
    v = rng.random(300) ** power
    cases = Cases.read((rng.random(300) < v).astype(float), v, None, None, None)
    each = (cases.y - cases.v) ** 2
    moved = cases.weight * (each - cases.weight @ each)
    units, error = cases.by_unit(moved), clinical._error(cases, moved)
    skew = (units**3).sum() / (units**2).sum() ** 1.5
    found = clinical.brier_score(cases, level)
    z = np.array([(found.value - end) / error for end in found.interval])
    cubic = z + skew * z**2 / 3.0 + skew**2 * z**3 / 27.0 + skew / 6.0
    assert abs(skew) > 0.01
    assert cubic == pytest.approx(cases.normal_quantile(level) * np.array([1.0, -1.0]), rel=1e-6)


def test_the_expected_moments_of_the_brier_score_are_those_of_its_two_values(monkeypatch):
    handed = []
    monkeypatch.setattr(clinical, "_expected_moments", lambda _, *values: handed.append(values))
    y, v = drawn(200, 5)
    w = np.where(y == 1.0, 1.0, 3.0)
    score = clinical.brier_score(Cases.read(y, v, w), 0.05).value
    assert score == pytest.approx(np.average((y - v) ** 2, weights=w))
    for found, outcome in zip(handed[0], (1.0, 0.0), strict=True):
        np.testing.assert_allclose(found, (outcome - v) ** 2 - score, atol=1e-12)
