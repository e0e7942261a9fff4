"""The curve, its band, gaps and axis: against what is computed draw by draw; the direction agrees with the ranges."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant import audit
from calibrant.door.ends import confidence
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.findings.regions import Places, Region, large_ones
from calibrant.findings.reliability import _agreed, fitted_curve, places_of, reliability
from calibrant.recalibration.gain import direction_of
from tests.strategies import examples


def drawn(n, seed, kind="even"):
    rng = np.random.default_rng(seed)
    v = {
        "even": lambda: rng.random(n),
        "corner": lambda: rng.beta(9.0, 0.2, n),
        "far": lambda: expit(rng.normal(0.0, 12.0, n)),
        "rare": lambda: 0.01 * rng.beta(1.0, 3.0, n),
        "gap": lambda: np.where(rng.random(n) < 0.5, rng.uniform(0.1, 0.3, n), rng.uniform(0.6, 0.9, n)),
        "few": lambda: rng.choice([0.0, 0.1, 0.3, 0.5, 1.0], n),
    }[kind]()
    return (rng.random(n) < v**1.3) * 1.0, v


KINDS = ["even", "corner", "far", "rare", "gap", "few"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 20, 400])
def test_the_band_is_that_of_curves_drawn_one_by_one(kind, n):
    """Mean and spread member by member, and the largest deviation of each drawn curve."""
    y, v = drawn(n, n, kind)
    sample = Sample.from_columns(y, v)
    table, curve = reliability(sample, 0.1), fitted_curve(sample, None)
    near = np.isfinite(table.outcome)
    inner = near & (table.prediction > 1.01 / (10 * n)) & (table.prediction < 1 - 1.01 / (10 * n))
    x = curve.log_odds(table.prediction)
    columns = curve.basis_(x)
    mean = sum(each.weight * (columns @ each.coefficients) for each in curve.members_)
    expected = expit(x + mean)
    assert table.outcome[inner] == pytest.approx(expected[inner], abs=1e-12)
    bent = [each for each in curve.members_ if "spline" in each.name or each.name == "bumps"] or curve.members_[1:]
    total = sum(each.weight for each in bent)
    weight = [each.weight / total for each in bent] if total > 1e-200 else None
    if weight is not None:
        means = [columns @ each.coefficients for each in bent]
        second = sum(
            w * (((columns @ each.root) ** 2).sum(axis=1) + (own - mean) ** 2)
            for w, each, own in zip(weight, bent, means, strict=True)
        )
        spread, rng, largest = np.sqrt(second), np.random.default_rng(5), []
        for k in rng.choice(len(bent), 2000, p=weight):
            one = means[k] + columns @ (bent[k].root @ rng.standard_normal(bent[k].root.shape[1]))
            largest.append((np.abs(one - mean) / np.maximum(spread, 1e-12))[inner].max(initial=0.0))
        clear = inner & (table.band_upper < 1.0 - 1e-9)  # elsewhere log-odds cannot be read back
        factor = (logit(table.band_upper) - x - mean)[clear] / spread[clear]
        if factor.size:
            assert np.ptp(factor) <= 1e-5 * factor[0]
            assert 0.87 <= np.mean(largest <= factor[0]) <= (0.93 if (inner == near).all() else 1.0)
    assert (table.band_lower[near] <= table.outcome[near]).all()
    assert (table.outcome[near] <= table.band_upper[near]).all()
    assert table.mass.sum() <= 1.0 + 1e-12
    assert table.mass.sum() >= 0.99 or n < 400


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@examples(10)
@given(n=st.integers(1, 600), seed=st.integers(0, 2**32 - 1))
def test_no_point_stands_where_there_are_no_rows(kind, n, seed):
    y, v = drawn(n, seed, kind)
    sample = Sample.from_columns(y, v)
    for axis in ("linear", "log-odds"):
        table = reliability(sample, 0.05, axis=axis)
        assert (np.diff(table.prediction) > 0.0).all() or n == 1
        if table.kind == "levels":
            assert table.prediction.tolist() == np.unique(v).tolist()
            continue
        place = (lambda p: p) if axis == "linear" else fitted_curve(sample, None).log_odds
        rows, drawn_at = place(sample.prediction), table.prediction[np.isfinite(table.outcome)]
        if axis == "log-odds":  # predictions that no outcome could tell from 0 or 1 stand at the axis' ends
            rows = np.clip(rows, -np.log(10 * n), np.log(10 * n))
        ends = place(table.prediction[[0, -1]])
        width = ends[1] - ends[0] if axis == "log-odds" or ends[1] - ends[0] < 0.25 else 1.0
        after = np.searchsorted(rows, place(drawn_at) + 1e-9 * width)
        inside = (after > 0) & (after < rows.size)
        before = np.maximum(np.searchsorted(rows, place(drawn_at) - 1e-9 * width) - 1, 0)
        at_a_row = np.searchsorted(rows, place(drawn_at) - 1e-9 * width) < after
        apart = rows[np.minimum(after, rows.size - 1)] - rows[before]
        assert (at_a_row | ~inside | (apart <= 0.05 * width * (1 + 1e-6))).all()


@pytest.mark.slow
def test_the_axis_is_of_log_odds_where_most_rows_are_in_corners():
    axes = {kind: reliability(Sample.from_columns(*drawn(3000, 0, kind)), 0.05).axis for kind in KINDS}
    assert axes == {
        "even": "linear", "corner": "log-odds", "far": "log-odds", "rare": "linear", "gap": "linear", "few": "linear",
    }  # fmt: skip


@pytest.mark.parametrize("direction", ["too high", "too low", "too confident", "not confident enough", "uneven", None])
@examples(100)
@given(errors=st.lists(st.floats(-1.0, 1.0), max_size=6))
def test_a_direction_is_never_named_against_the_ranges(direction, errors):
    """A naive twin: ranges with at least a tenth of the largest error, from the lowest up."""
    regions = [Region(k / 9, k / 9 + 0.1, 0.0, 0.0, e, None, 10, 0.5, 3.0) for k, e in enumerate(errors)]
    shuffled = [regions[k] for k in np.random.default_rng(0).permutation(len(regions))]
    found = _agreed(direction, tuple(shuffled))
    large = [e for e in errors if abs(e) >= 0.1 * max(map(abs, errors))]
    low, high = [e >= 0.0 for e in large], [e < 0.0 for e in large]
    allowed = {
        "too high": not any(low),
        "too low": not any(high),
        "too confident": sorted(high) == high,
        "not confident enough": sorted(low) == low,
    }
    assert found == (direction if allowed.get(direction, True) else None)


@pytest.mark.slow
def test_rare_events_have_the_direction_of_the_ranges():
    """Too high above .04 and too low below, where most rows are: the curves alone say too high, and ranges both."""
    both = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        odds = rng.normal(-3.2, 1.0, 170_000)
        y = (rng.random(odds.size) < expit(odds)) * 1
        kept = rng.random(odds.size) < np.where(y == 1, 1.0, 0.1)
        rows = Rows.of(y[kept], expit(-3.2 + 1.7 * (odds[kept] + 3.2)), None, sampling_fractions={0: 0.1, 1: 1.0})
        curve = fitted_curve(rows.sample, rows)
        found = reliability(rows.sample, 0.05, rows, curve=curve)
        if len({each.direction for each in large_ones(found.regions)}) == 2:
            assert direction_of(curve, 0.05) == "too high"
            assert found.direction == "too confident"
            both += 1
    assert both >= 2


def test_other_ranges_are_told_where_they_have_nearly_all_rows():
    def told(*errors, share):
        regions = tuple(Region(k / 9, k / 9 + 0.1, 0.0, 0.0, e, None, 10, share, 3.0) for k, e in enumerate(errors))
        places = Places(None, regions, 0.5, 0.5, 100, classes=False)
        return places.sentence(places.examples())

    assert told(0.3, -0.3, 0.1, share=0.32).endswith(". Other ranges are too low.")
    assert told(0.3, -0.3, 0.1, -0.1, share=0.24).endswith(". Other ranges err both ways.")
    assert told(0.3, -0.3, 0.1, share=0.2).endswith(". 1 more range is too low. Which way the rest err is not clear.")
    assert told(0.3, 0.2, 0.1, share=0.2).endswith(". 2 more ranges are too low. Which way the rest err is not clear.")
    assert told(0.3, -0.3, 0.1, -0.1, share=0.2).endswith(
        ". 2 more ranges err, both ways. Which way the rest err is not clear."
    )
    assert told(0.3, -0.3, share=0.5).endswith(". Which way other predictions err is not clear.")


def directions_of(errors):
    """The direction of curves one by one, as docs/answer.md has it."""
    found = Counter()
    for error in errors:
        size = np.abs(error)
        if size.sum() <= 1e-12:
            continue
        sides = [e > 0.0 for e in error if abs(e) >= 0.1 * size.max()]
        runs = [side for side, _ in itertools.groupby(sides)]
        above = error[error > 0.0].sum() / size.sum()
        if len(runs) == 1 or min(above, 1.0 - above) < 0.1:
            found["too low" if above > 0.5 else "too high"] += 1
        elif len(runs) == 2:
            found["too confident" if runs[0] else "not confident enough"] += 1
        else:
            found["uneven"] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("n", "level"), [(60, 0.05), (500, 0.4), (3000, 0.05)])
def test_a_direction_is_that_of_nearly_all_drawn_curves(n, level):
    truths = {
        "none": lambda v: v,
        "too low": lambda v: v**0.7,
        "too confident": lambda v: 0.5 + 0.6 * (v - 0.5),
        "uneven": lambda v: np.clip(v + 0.15 * np.sin(15.7 * v), 0.0, 1.0),
        "not confident enough": lambda v: np.clip(0.5 + 1.5 * (v - 0.5), 0.0, 1.0),
    }
    seen = Counter()
    for k, (truth, rate) in enumerate(truths.items()):
        rng = np.random.default_rng([n, k])
        v = rng.random(n)
        curve = fitted_curve(Sample.from_columns((rng.random(n) < rate(v)) * 1.0, v), None)
        share = np.cumsum(curve.cells_.mass) - 0.5 * curve.cells_.mass
        last = curve.cells_.x.size - 1
        at = [curve.cells_.x[min(int((share < q).sum()), last)] for q in (np.arange(120) + 0.5) / 120]
        drawn = curve.curves(np.array(at), 400, np.random.default_rng(0))
        many = directions_of(expit(drawn) - expit(np.array(at)))
        most = many.most_common(1)[0] if many else (None, 0)
        found, err = direction_of(curve, level), sum(many.values())
        assert found == (most[0] if err >= 200 and most[1] >= (1.0 - level) * err else None)
        seen[found] += 1
        assert n < 3000 or found == (None if truth == "none" else truth)
    assert n > 60 or level > 0.05 or seen[None]


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 20, 500])
def test_one_outcome_has_a_curve_and_a_band(y, n):
    v = np.linspace(0.2, 0.8, n)
    table = reliability(Sample.from_columns(np.full(n, y), v), 0.05)
    assert np.isfinite(table.band_lower).all()
    assert abs(np.nanmean(table.outcome) - y) <= abs(np.mean(v) - y) + 1e-12


@pytest.mark.slow
def test_weights_groups_and_trials_widen_the_band_and_rates_have_none():
    rng = np.random.default_rng(0)
    y, v = drawn(2000, 0)
    plain = reliability(Sample.from_columns(y, v), 0.05)
    weights = rng.exponential(size=2000) ** 2
    group = np.arange(2000) // 4
    repeated = Rows.of(np.repeat(y, 4), np.repeat(v, 4), groups=np.repeat(np.arange(2000), 4))
    wide = {
        "weights": reliability(Sample.from_columns(y, v, weights), 0.05),
        "a fourth of the rows": reliability(Sample.from_columns(y[::4], v[::4]), 0.05),
    }
    for each in wide.values():
        assert np.nanmean(each.band_upper - each.band_lower) > np.nanmean(plain.band_upper - plain.band_lower)
    fourfold = reliability(repeated.sample, 0.05, repeated)
    assert np.nanmean(fourfold.band_upper - fourfold.band_lower) == pytest.approx(
        np.nanmean(plain.band_upper - plain.band_lower), rel=0.2
    )
    few = Rows.of(y, v, groups=group // 50)
    assert "events come from too few groups (as good as" in reliability(few.sample, 0.05, few).no_band
    assert reliability(Sample.from_columns(0.5 * y + 0.2, v), 0.05).band_lower is None


def test_order_of_rows_and_seed_change_nothing():
    y, v = drawn(500, 1)
    order = np.random.default_rng(0).permutation(500)
    one, other = (audit(y[rows], v[rows], n_resamples=0, random_state=k) for k, rows in enumerate((slice(None), order)))
    assert one.to_dict()["reliability"] == other.to_dict()["reliability"]
    assert one.regions == other.regions or [e.low for e in one.regions] == [e.low for e in other.regions]


@pytest.mark.parametrize("step", [2.0**-53, 4e-15])
def test_predictions_an_ulp_apart_are_drawn(step):
    v = 0.75 + step * np.arange(31)
    for seed in range(5):
        weight = np.random.default_rng(seed).random(31)
        found = reliability(Sample.from_columns(np.arange(31) % 2, v, weight), 0.05)
        assert found.mass.sum() == pytest.approx(1.0)
        assert np.isfinite(found.outcome).any()


@pytest.mark.parametrize(
    ("level", "said"), [(0.05, "95%"), (0.025, "97.5%"), (0.125, "87.5%"), (1e-17, "99.999999999999999%"), (0.1, "90%")]
)
def test_confidence_is_told_to_its_last_digit(level, said):
    assert confidence(level) == said


@pytest.mark.parametrize("n", [2, 3, 40, 400])
def test_the_isotonic_curve_is_a_number_between_the_smallest_doubles(n):
    y_prob = np.arange(n) * 5e-324
    found = audit(np.arange(n) >= n // 2, y_prob, n_resamples=0, random_state=0).reliability
    assert ((found.isotonic >= 0.0) & (found.isotonic <= 1.0)).all()
    assert (np.diff(found.isotonic) >= 0.0).all()
    assert (np.diff(found.prediction) >= 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.6, 1.5])
def test_smooth_truths_lie_in_the_band(slope):
    misses = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        v = rng.beta(1.5, 2.5, 400)
        y = rng.random(400) < expit(slope * logit(v) + 0.1)
        table = reliability(Sample.from_columns(y * 1.0, v), 0.05)
        near = np.isfinite(table.outcome) & (table.mass > 0.0)
        truth = expit(slope * logit(table.prediction[near]) + 0.1)
        misses += not ((table.band_lower[near] <= truth) & (truth <= table.band_upper[near])).all()
    assert misses <= 4


@pytest.mark.parametrize("many", [False, True])
def test_a_diagram_says_how_wide_its_band_is_where_it_has_one(many):
    v = np.linspace(0.1, 0.9, 60 if many else 4).repeat(5 if many else 40)
    rates = reliability(Sample.from_columns(np.full(v.size, 0.5), v), 0.05)
    what = f"A reliability {'curve' if many else 'diagram'} at {rates.prediction.size} predictions"
    assert rates.summary() == f"{what}, without a band."
    drawn = reliability(Sample.from_columns(np.arange(v.size) % 2, v), 0.05)
    half = np.nanmax(drawn.band_upper - drawn.band_lower) / 2.0
    assert drawn.summary() == f"{what}, at most {half:.2g} off."


def test_no_places_are_told_of_rates_or_of_too_few_groups():
    v, y = np.linspace(0.1, 0.9, 40), np.arange(40) % 2
    for outcome, groups, told in ((y, None, True), (y * 0.5 + 0.1, None, False), (y, np.arange(40) // 20, False)):
        sample = Sample.from_columns(outcome, v)
        rows = None if groups is None else Rows.of(outcome, v, groups=groups)
        found = places_of(sample, rows, fitted_curve(sample, None), 0.05, classes=False)
        assert (found is not None) is told
        assert found is None or (found.n_rows, found.predicted) == (40, pytest.approx(v.mean()))
