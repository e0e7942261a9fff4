"""Decision curves: every cut at every threshold in rational numbers, both limits, weights and trials, the band."""

import json
import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, decision_curve
from calibrant.decisions.cases import Cases
from calibrant.decisions.curve import DecisionBand
from tests.oracles import decision_loss as oracle
from tests.strategies import examples, samples

PLACES = [Fraction(k, 4) for k in range(5)]
SMALL = [rows for n in range(1, 4) for rows in combinations_with_replacement(list(product(PLACES, (0, 1))), n)][::3]


def worth(rows, t, after=False):
    """Net benefit of acting where v >= t (after it: v > t)."""
    acting = [(y, w) for v, y, w in rows if (v > t if after else v >= t)]
    return sum(w * y for y, w in acting) - t / (1 - t) * sum(w * (1 - y) for y, w in acting)


def best(rows, t):
    cuts = [None, *sorted({v for v, _, _ in rows})]
    return max(oracle.worth(rows, t, cut) for cut in cuts) / (1 - t)


@pytest.mark.slow
def test_small_samples_without_rounding():
    for rows in SMALL:
        exact = [(v, Fraction(y), Fraction(1, len(rows))) for v, y in rows]
        curve = decision_curve([y for _, y in rows], [float(v) for v, _ in rows])
        assert curve.thresholds[0] == 0.0
        assert (np.diff(curve.thresholds) > 0).all()
        for k, t in enumerate(curve.thresholds):
            at = min((Fraction(a, b) for b in range(1, 13) for a in range(b)), key=lambda x: abs(x - Fraction(t)))
            assert float(at) == pytest.approx(t, abs=1e-15)  # predictions and rates have small denominators
            assert curve.net_benefit[k] == pytest.approx(float(worth(exact, at)), abs=1e-14)
            assert curve.net_benefit_after[k] == pytest.approx(float(worth(exact, at, True)), abs=1e-14)
            assert curve.best_net_benefit[k] == pytest.approx(float(best(exact, at)), abs=1e-14)
            assert curve.regret[k] == pytest.approx(float(oracle.regret(exact, at)), abs=1e-14)
            assert curve.regret_after[k] == pytest.approx(float(oracle.regret(exact, at, True)), abs=1e-14)
            cut = None if np.isinf(curve.best_cuts[k]) else Fraction(curve.best_cuts[k])
            assert float(oracle.worth(exact, at, cut) / (1 - at)) == pytest.approx(curve.best_net_benefit[k], abs=1e-14)


@examples(80)
@given(sample=samples(max_rows=14), t=st.floats(0.0, 1.0, exclude_max=True))
def test_any_threshold_of_hard_samples(sample, t):
    y_true, y_prob, weight = sample
    rows = oracle.shares(*sample)
    curve = decision_curve(y_true, y_prob, sample_weight=weight)
    found = curve.at(t)
    scale = max(1.0, t / (1 - t))
    assert found.net_benefit[0] == pytest.approx(worth(rows, t), abs=1e-14 * scale)
    assert found.best_net_benefit[0] == pytest.approx(best(rows, t), abs=1e-14 * scale)
    assert found.regret == pytest.approx((1 - t) * (found.best_net_benefit - found.net_benefit), abs=1e-14)
    assert found.best_net_benefit[0] >= max(0.0, found.net_benefit[0], found.treat_all[0])
    asked = decision_curve(y_true, y_prob, sample_weight=weight, thresholds=[t])
    assert asked.net_benefit == found.net_benefit


def test_the_best_cut_is_never_worse_than_acting_on_none_by_rounding():
    found = decision_curve([0, 1, 0, 0, 1], [0.5, 1, 1, 0.5, 0.1]).at(0.5)
    assert found.best_net_benefit.tolist() == [0.0]
    rng = np.random.default_rng(0)
    for _ in range(300):
        y, p = rng.integers(0, 2, 6), rng.integers(0, 11, 6) / 10
        assert (decision_curve(y, p).best_net_benefit >= 0.0).all()


@examples(60)
@given(sample=samples(max_rows=14), share=st.floats(0.0, 1.0))
def test_it_is_linear_between_neighbouring_thresholds(sample, share):
    y_true, y_prob, weight = sample
    curve = decision_curve(y_true, y_prob, sample_weight=weight)
    ends = list(pairwise(range(curve.thresholds.size)))
    for a, b in ends[:10]:
        low, high = curve.thresholds[a], curve.thresholds[b]
        t = min(low + share * (high - low), np.nextafter(1.0, 0.0))
        if not low < t < high:
            continue
        part = (t - low) / (high - low)
        found = curve.at(t)
        for value, first, last in (
            ((1 - t) * found.net_benefit, (1 - low) * curve.net_benefit_after[a], (1 - high) * curve.net_benefit[b]),
            (
                (1 - t) * found.best_net_benefit,
                (1 - low) * curve.best_net_benefit[a],
                (1 - high) * curve.best_net_benefit[b],
            ),
            (found.regret, curve.regret_after[a], curve.regret[b]),
        ):
            assert np.ravel(value)[0] == pytest.approx((1 - part) * first + part * last, abs=1e-13)


def test_trials_are_rows_and_groups_change_nothing_but_the_band():
    v, k, n = np.array([0.2, 0.4, 0.4, 0.9]), np.array([1, 0, 2, 3]), np.array([3, 2, 2, 4])
    rows = decision_curve(np.concatenate([np.arange(b) < a for a, b in zip(k, n, strict=True)]), np.repeat(v, n))
    pooled = decision_curve(k / n, v, trials=n, groups=["a", "a", "b", "b"])
    for name in ("thresholds", "net_benefit", "regret", "regret_after", "best_net_benefit", "best_cuts"):
        assert getattr(pooled, name) == pytest.approx(getattr(rows, name), abs=1e-15)
    assert Cases.read(k / n, v, None, n, ["a", "a", "b", "b"]).n_units == 2


def test_acting_on_equal_predictions_and_never():
    curve = decision_curve([1, 0], [0.0, 0.0])
    assert curve.at(0.0).regret == 0.0
    assert curve.regret_after[0] == 0.5  # just above 0 nobody is acted on
    nobody = decision_curve([0, 0], [0.3, 0.6])
    assert nobody.at(0.2).best_cuts == np.inf
    assert "act on none" in nobody.at(0.2).summary()
    assert "no cut is better" in decision_curve([0, 1], [0.0, 1.0]).summary()
    assert "loses nothing" in decision_curve([0, 1, 0], [0.5, 0.5, 0.0]).summary()


def test_results_show_themselves_and_keep():
    rng = np.random.default_rng(0)
    v = rng.random(200)
    curve = decision_curve(rng.random(200) < v**2, v)
    assert "loses at most" in curve.summary()
    assert json.loads(json.dumps(curve.to_dict()))["n_rows"] == 200
    assert not any(name.startswith("_") for name in curve.to_dict())
    again = pickle.loads(pickle.dumps(curve))
    assert again.at(0.3).to_dict() == curve.at(0.3).to_dict()
    band = curve.band(random_state=1)
    assert (band.net_benefit_lower <= band.net_benefit).all()
    assert (band.net_benefit <= band.net_benefit_upper).all()
    assert "confidence" in band.summary()
    np.testing.assert_array_equal(band.net_benefit_lower, again.band(random_state=1).net_benefit_lower)
    ax = curve.plot(band=band)
    assert ax.get_xlabel() == "threshold probability"
    assert len(ax.get_legend().get_texts()) == 5


def test_the_band_is_at_the_thresholds_asked_for_and_at_256_at_most():
    rng = np.random.default_rng(0)
    v = rng.random(1000)
    y = rng.random(1000) < v
    assert decision_curve(y, v).band(n_resamples=99, random_state=0).thresholds.size == 256
    few = decision_curve(y, v, thresholds=[0.2, 0.1]).band(n_resamples=99, random_state=0)
    assert few.thresholds.tolist() == [0.1, 0.2]
    one = decision_curve(y, v, thresholds=[0.2]).band(random_state=0)
    textbook = 1.96 * np.std((v >= 0.2) * (y - 0.25 * (1 - y))) / np.sqrt(1000)
    assert one.net_benefit_upper[0] - one.net_benefit[0] == pytest.approx(textbook, rel=0.15)


@pytest.mark.slow
def test_equal_weights_and_single_groups_give_the_same_width():
    rng = np.random.default_rng(0)
    v = rng.random(400)
    y = (rng.random(400) < v).astype(float)
    t = [0.1, 0.3, 0.5]
    plain = decision_curve(y, v, thresholds=t).band(random_state=0)
    weighted = decision_curve(y, v, thresholds=t, sample_weight=np.full(400, 2.0)).band(random_state=0)
    apart = decision_curve(y, v, thresholds=t, groups=np.arange(400)).band(random_state=0)
    doubled = decision_curve(np.tile(y, 2), np.tile(v, 2), thresholds=t, groups=np.tile(np.arange(400), 2)).band(
        random_state=0
    )
    for other in (weighted, apart, doubled):
        assert other.net_benefit_upper - other.net_benefit_lower == pytest.approx(
            plain.net_benefit_upper - plain.net_benefit_lower, rel=0.15
        )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: decision_curve([0, 1], [0.2, 0.3], thresholds=[]), "thresholds: is empty"),
        (lambda: decision_curve([0, 1], [0.2, 0.3], thresholds=[0.1, 1.0]), "thresholds: number 1 is 1"),
        (lambda: decision_curve([0, 1], [0.2, 0.3]).at(1.0), "thresholds: number 0 is 1"),
        (lambda: decision_curve([0, 1], [0.2, 0.3], groups=["a"]), "groups: has shape"),
        (lambda: decision_curve([0, 1], [0.2, 0.3], trials=[1, 0]), "trials: row 1 is 0"),
        (lambda: decision_curve([0, 1], [0.2, 0.3], groups=["a", "a"]).band(), "y_true: has 1 group with events"),
        (lambda: decision_curve([0, 1], [0.2, 0.3]).band(), "y_true: has 1 event; a band is drawn from 10 or more"),
        (lambda: decision_curve([0, 1], [0.2, 0.3]).band(n_resamples=3), "n_resamples: is 3"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize(
    ("lower", "said"),
    [
        ((-0.1, 0.0, -0.2), "At none of 3 thresholds is the net benefit above 0 with 95% confidence for all."),
        ((0.1, -0.1, -0.2), "The net benefit is above 0 at 1 of 3 thresholds, from 0.1 to 0.1, with 95% confidence"),
        ((0.5, 0.1, -0.2), "The net benefit is above 0 at 2 of 3 thresholds, from 0.1 to 0.25, with 95% confidence"),
    ],
)
def test_a_band_says_where_acting_is_surely_worth_something(lower, said):
    lower = np.array(lower)
    band = DecisionBand(np.array([0.1, 0.25, 0.5]), lower + 0.1, lower, lower + 0.2, 0.05, 199)
    assert band.summary().startswith(said)
