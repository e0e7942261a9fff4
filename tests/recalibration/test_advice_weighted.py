"""Advice of rows with weights, trials and groups: by the rows' own weight, and none counts twice."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant import CalibrationSketch, audit
from calibrant.recalibration.choose import _too_light, _worth
from calibrant.recalibration.compare import Judge
from tests.strategies import examples

OPTIONS = {"n_resamples": 99, "random_state": 0}


def bent(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 3.0, n)
    return rng, p, (rng.random(n) < expit(0.6 * logit(p) - 0.3)).astype(float)


@given(st.integers(0, 10**6))
@examples(30)
def test_under_calibration_the_likelihood_ratio_has_mean_1_at_most(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    p, mapped = rng.uniform(0.02, 0.98, n), rng.uniform(0.02, 0.98, n)
    weight = 10.0 ** rng.uniform(0.0, 3.0, n) * (rng.random(n) < 0.9)
    weight[0] = 1.0
    group = rng.integers(0, 3, n) if seed % 2 else None
    group = None if group is None else np.unique(group, return_inverse=True)[1]
    alone = np.arange(n) if group is None else group
    mean = 0.0
    # Rows of one group share one uniform number: as dependent as rows can be while each is calibrated.
    cuts = [np.sort(np.concatenate([[0.0, 1.0], p[alone == g]])) for g in np.unique(alone)]
    for drawn in itertools.product(*(list(itertools.pairwise(each)) for each in cuts)):
        chance = np.prod([high - low for low, high in drawn])
        middle = np.array([(low + high) / 2.0 for low, high in drawn])
        y = (middle[alone] < p).astype(float)
        rows = Judge(y, p, weight, classes=False, group=group)
        mean += chance * np.exp(rows.log_ratio(rows.losses(p)["log"], rows.losses(mapped)["log"]))
    assert mean <= 1.0 + 1e-9
    counted = np.bincount(alone, rows.powers)
    assert counted.max() <= 1.0 + 1e-12
    share = np.bincount(alone, rows.mass)
    assert counted.sum() <= 1.0 / (share**2).sum() + 1e-9


@pytest.mark.slow
def test_equal_weights_change_nothing():
    _, p, y = bent(600)
    one, three = (audit(y, p, sample_weight=np.full(600, w), **OPTIONS).advice for w in (1.0, 3.0))
    assert one.words == three.words == audit(y, p, **OPTIONS).advice.words
    assert one.arguments == "y_prob, y_true"


@pytest.mark.slow
def test_weighted_rows_are_advised_in_any_order_and_the_code_takes_the_weights():
    rng, p, y = bent(3000)
    w = 10.0 ** rng.uniform(0.0, 2.0, 3000)
    found = audit(y, p, sample_weight=w, **OPTIONS)
    assert found.answer.action == "recalibrate"
    assert found.advice.chosen == "averaged"
    names = {"y_prob": p, "y_true": y, "sample_weight": w, "new_y_prob": p[:5]}
    exec(found.advice.code, names)
    assert names["better"] == pytest.approx(found.advice.recalibrator.predict(p[:5]), abs=0.0)
    order = rng.permutation(3000)
    again = audit(y[order], p[order], sample_weight=w[order], **OPTIONS)
    assert again.advice.gain == found.advice.gain


def test_few_heavy_rows_prove_nothing():
    _, p, y = bent(300)
    w = np.where(np.arange(300) < 4, 1000.0, 1.0)
    assert audit(y, p, sample_weight=w, **OPTIONS).answer.action != "recalibrate"


@pytest.mark.slow
def test_trials_in_groups_are_advised_as_their_rows_are():
    rng, p, _ = bent(1600)
    trials, group = rng.integers(1, 5, 1600), np.arange(1600) // 4
    k = rng.binomial(trials, expit(0.4 * logit(p) - 0.5))
    found = audit(k / trials, p, trials=trials, groups=group, **OPTIONS).advice
    place = np.repeat(np.arange(1600), trials)
    single = np.concatenate([np.arange(t) < e for t, e in zip(trials, k, strict=True)]).astype(float)
    rows = audit(single, p[place], groups=group[place], **OPTIONS).advice
    assert found.chosen == rows.chosen == "averaged"
    for score in ("log_loss", "brier_loss"):  # other sums are rounded otherwise
        one, other = (getattr(each.gain, score) for each in (found, rows))
        assert (one.before, one.value, *one.interval) == pytest.approx(
            (other.before, other.value, *other.interval), rel=1e-9
        )
    assert "fit(y_prob, y_true, trials=trials, groups=groups)" in found.code
    names = {"y_prob": p, "y_true": k / trials, "trials": trials, "groups": group, "new_y_prob": p[:5]}
    exec(found.code, names)
    assert names["better"].tolist() == found.recalibrator.predict(p[:5]).tolist()
    weighted = audit(
        k / trials, p, trials=trials, sample_weight=1.0 + place[:1600] % 3, outcome_free_weights=True, **OPTIONS
    ).advice
    assert "fit(y_prob, y_true, sample_weight, trials=trials)" in weighted.code


@pytest.mark.slow
def test_weighted_rows_in_cells_are_advised_nearly_as_the_rows_are():
    rng, p, y = bent(20_000)
    w = rng.exponential(size=20_000)
    cells = CalibrationSketch().update(y, p, sample_weight=w).audit(outcome_free_weights=True, **OPTIONS)
    rows = audit(y, p, sample_weight=w, outcome_free_weights=True, **OPTIONS)
    assert cells.answer.action == rows.answer.action == "recalibrate"
    at = np.linspace(0.01, 0.9, 20)
    assert cells.advice.recalibrator.predict(at) == pytest.approx(rows.advice.recalibrator.predict(at), abs=2e-3)


def test_outcomes_with_weights_worth_less_than_ten_rows_are_too_light():
    def rows(events, others, jointly=True, weights=None):
        outcome = np.repeat([1, 0], [events, others])
        return SimpleNamespace(y_true=outcome, y_prob=np.full(outcome.size, 0.5), weight=weights, jointly=jointly)

    assert _worth(rows(12, 30)) == (12.0, 30.0)
    one_of_all = np.r_[1.0, np.full(11, 1e-12), np.ones(30)]
    assert _worth(rows(12, 30, weights=one_of_all)) == pytest.approx((1.0, 30.0))
    assert [_too_light(rows(n, 30)) for n in (9, 10, 11)] == [True, False, False]
    assert [_too_light(rows(30, n)) for n in (9, 10, 11)] == [True, False, False]
    assert not _too_light(rows(9, 9, jointly=False))
    assert _too_light(rows(12, 30, weights=one_of_all))
