"""Ranges in which predictions err: those of a naive twin, row by row and curve by curve."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant import Interval, audit
from calibrant.door.sample import Sample
from calibrant.findings.regions import EDGES, Places, Region, regions_of
from calibrant.findings.reliability import fitted_curve
from tests.strategies import examples

NEAR = 1.02  # a curve that is read 16 times in a range, beside one that is read at each row


def drawn(n, seed, weighted=False, few=False):
    rng = np.random.default_rng(seed)
    v = rng.choice([0.02, 0.1, 0.4, 0.7, 0.97], n) if few else rng.beta(*rng.uniform(0.3, 3.0, 2), n)
    truth = expit(rng.uniform(0.3, 1.5) * logit(np.clip(v, 1e-9, 1 - 1e-9)) + rng.normal())
    return (rng.random(n) < truth) * 1.0, v, rng.exponential(size=n) if weighted else None


def twin(y, v, weight):
    """Each row in its range: its mean outcome under the same curves, each read at each row's own prediction."""
    sample = Sample.from_columns(y, v, weight)
    curve = fitted_curve(sample, None)
    w = np.ones(v.size) if weight is None else weight
    few = np.unique(v).size <= 30
    keys = v if few else np.array([sum(edge <= each for edge in EDGES) for each in v])
    found = []
    for key in np.unique(keys):
        here = keys == key
        x = curve.log_odds(v[here])
        rates = expit(curve.curves(x, 1000, np.random.default_rng(0)))
        mean = rates @ w[here] / w[here].sum()
        predicted = v[here] @ w[here] / w[here].sum()
        share = w[here].sum() / w.sum()
        rows = min(here.sum(), share * w.sum() ** 2 / (w**2).sum())
        found.append((v[here].min(), v[here].max(), predicted, mean, here.sum(), rows, share))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few", [False, True])
@examples(20)
@given(n=st.integers(150, 1500), seed=st.integers(0, 2**32 - 1))
@example(n=1179, seed=3_394_764_214)  # one draw is far from all others
@example(n=1485, seed=108_122_059)
@example(n=316, seed=767_955_069)  # two draws at the end of the interval change places
def test_ranges_are_those_of_rows_read_one_by_one(n, seed, weighted, few):
    y, v, weight = drawn(n, seed, weighted, few)
    sample = Sample.from_columns(y, v, weight)
    told = {each.low: each for each in regions_of(sample, fitted_curve(sample, None), 0.05)}
    for low, high, predicted, mean, count, rows, share in twin(y, v, weight):
        one = told.pop(low, None)
        clear = abs(mean.mean() - predicted) / mean.std()
        if one is None:
            assert clear < 2.5 * NEAR or rows < 20 or share < 0.005
            continue
        assert clear > 2.5 / NEAR
        assert (one.high, one.n_rows) == (high, count)
        assert one.predicted == pytest.approx(predicted, abs=1e-12)
        inside = (v >= low) & (v <= high)
        assert one.happened == pytest.approx(np.average(y[inside], weights=None if weight is None else weight[inside]))
        assert one.estimate == pytest.approx(mean.mean(), abs=0.02 * mean.std())
        assert abs(one.mean_error) / one.errors == pytest.approx(mean.std(), rel=NEAR - 1.0)
        for end, other in zip(one.interval, np.quantile(mean, [0.025, 0.975]), strict=True):
            # A quantile of 1,000 draws is known to .085 standard deviations; the reading may move it by half of that.
            assert end == pytest.approx(other, abs=0.04 * mean.std())
    assert not told


@pytest.mark.parametrize("y", [np.zeros(40), np.ones(40)])
def test_of_one_outcome_ranges_are_told_where_rows_deny_the_predictions(y):
    told = audit(y, np.linspace(0.3, 0.7, 40), n_resamples=0).regions
    assert {each.direction for each in told} <= {"high" if y[0] == 0.0 else "low"}


def test_of_event_rates_nothing_is_said_of_chance():
    rng = np.random.default_rng(0)
    v = rng.random(500)
    told = audit(0.5 * v, v, n_resamples=0).regions
    assert told
    assert all(each.interval is None and "likely" in each.summary() and " to " not in each.summary() for each in told)


def test_a_range_is_told_by_its_round_ends_or_its_own():
    y, v, _ = drawn(3000, 3)
    sample = Sample.from_columns(y, np.sort(v))
    for each in regions_of(sample, fitted_curve(sample, None), 0.05):
        low, high = (float(end) for end in each.range_words.removeprefix("between ").split(" and "))
        assert low <= each.low <= each.high <= high
        assert ((v >= low) & (v < high)).sum() == each.n_rows or high == 1.0


@pytest.mark.parametrize("step", [2.0**-53, 4e-15])
def test_neighbours_an_ulp_apart_are_one_range_or_one_each(step):
    for n in (20, 40, 300):
        v = 0.75 + step * np.arange(n)
        found = audit(np.zeros(n), v, n_resamples=0)
        assert sum(each.n_rows for each in found.regions) in (0, n)


@pytest.mark.slow
@pytest.mark.parametrize(("value", "n", "rate"), [(0.999, 500, 0.95), (0.999, 200, 0.9), (0.5, 1000, 0.6)])
def test_only_the_value_that_errs_is_named(value, n, rate):
    """Its calibrated neighbours were named in its place, in 53 of 61 examples."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        p = expit(rng.normal(0.0, 1.5, 5000))
        p[:n] = value
        y = (rng.random(5000) < np.r_[np.full(n, rate), p[n:]]).astype(int)
        found = audit(y, p, n_resamples=99, random_state=0)
        assert [(each.low, each.high) for each in found.answer.examples] == [(value, value)]
        assert found.answer.examples[0].happened == pytest.approx(y[:n].mean())
        assert found.answer.direction in (None, "too high" if rate < value else "too low")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.5, 0.5, "of 0.5"),
        (0.21, 0.29, "between 0.2 and 0.3"),
        (0.2, 0.299, "between 0.2 and 0.3"),
        (0.0, 0.0005, "between 0 and 0.001"),
        (0.9995, 1.0, "between 0.999 and 1"),
        (0.21, 0.3, "between 0.2 and 0.3"),
        (0.25, 0.36, "between 0.25 and 0.36"),  # of a cell that holds predictions on both sides of an end
    ],
)
def test_a_range_is_named_by_the_ends_that_hold_it(low, high, words):
    assert region(low, high, 0.3, 0.4).range_words == words


def region(low, high, predicted, estimate, interval=None, share=0.2):
    return Region(low, high, predicted, 0.45, estimate, interval, 100, share, 3.0)


def test_rates_of_a_range_have_their_interval_where_one_is_known():
    said = "30% predicted, 45% happened; on new rows likely 40%"
    assert region(0.2, 0.4, 0.3, 0.4).rates_in_words == said
    assert region(0.2, 0.4, 0.3, 0.4, Interval(0.35, 0.5)).rates_in_words == f"{said} (35% to 50%)"


@pytest.mark.parametrize(
    ("regions", "where"),
    [
        ((), "the higher the prediction, the rarer the event"),
        ((region(0.8, 0.9, 0.85, 0.7),), "the higher the prediction, the rarer the event"),
        (
            (region(0.8, 0.9, 0.85, 0.7), region(0.1, 0.2, 0.15, 0.9)),
            "where 15% is predicted, about 90% happen (100 rows)",
        ),
    ],
)
def test_what_is_backwards_is_told_where_the_curve_is_on_the_other_side(regions, where):
    places = Places(None, regions, 0.5, 0.5, 1_000, classes=False)
    assert places.backwards() == f"Backwards, as if yes and no were swapped: {where}."
