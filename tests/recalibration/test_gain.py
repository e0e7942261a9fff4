"""What a map could gain where hardly any outcome missed: never less than the rates that the rows admit would cost."""

import numpy as np
import pytest
from scipy.stats import beta

from calibrant import audit, calibration_test
from calibrant.door.sample import Sample
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.gain import gain_of, possible_at_ends


def score(p, q):
    return q * -np.log(p) + (1.0 - q) * -np.log1p(-p)


@pytest.mark.parametrize(("n_far", "misses", "upper"), [(100, 0, False), (100, 3, True), (7, 1, False), (400, 4, True)])
def test_of_rows_beyond_a_cut_the_exact_upper_end_of_misses_counts(n_far, misses, upper):
    rng = np.random.default_rng(n_far)
    v = np.r_[np.full(n_far, 1e-9), rng.choice([0.3, 0.4, 0.6, 0.7], 2000)]
    y = np.r_[np.arange(n_far) < misses, rng.random(2000) < v[n_far:]] * 1.0
    v, y = (1.0 - v, 1.0 - y) if upper else (v, y)
    cells = AveragedCurve().fit_sample(Sample.from_columns(y, v)).cells_
    largest = 0.0
    for u, missed in ((v, y), (1.0 - v, 1.0 - y)):
        order = np.argsort(u, kind="stable")
        for n in range(1, v.size):
            here = order[:n]
            if u[order[n]] == u[order[n - 1]]:
                continue
            if missed[here].sum() >= 5:
                break
            rate = beta.ppf(0.975, missed[here].sum() + 1, n - missed[here].sum())
            if rate > u[here].mean():
                largest = max(largest, (score(u[here], rate) - score(rate, rate)).sum() / v.size)
    assert possible_at_ends(cells, 0.05) == pytest.approx(largest, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_saturated_classifier_is_not_left_where_its_rows_could_not_tell(seed):
    """One prediction of a hundred is 1e-15 where 0.4% happen: the true curve gains 1.7% of the log loss."""
    rng = np.random.default_rng(seed)
    far = rng.random(12_000) < 0.01
    v = np.where(far, 1e-15, rng.uniform(0.003, 0.02, far.size))
    rate = np.where(far, 0.004, v)
    side = (rng.random(far.size) < 0.5) & ~far
    v, rate = np.where(side, 1.0 - v, v), np.where(side, 1.0 - rate, rate)
    y = (rng.random(far.size) < rate) * 1
    assert audit(y, v).answer.action != "leave unchanged"
    gain = gain_of(AveragedCurve().fit_sample(Sample.from_columns(y, v)), 0.05)
    assert gain.log_loss.possible.high >= (score(v, rate) - score(rate, rate)).mean()


@pytest.mark.slow
def test_calibrated_rows_without_extremes_are_still_left():
    rng = np.random.default_rng(0)
    v = rng.random(50_000)
    assert audit((rng.random(50_000) < v) * 1, v).answer.action == "leave unchanged"


def test_a_redraw_that_ties_hides_no_tail():
    rng = np.random.default_rng(0)
    v = rng.random(500) * 0.1
    p = {calibration_test(np.zeros(500), v, random_state=seed).pvalue for seed in range(4)}
    assert len(p) == 1
    assert max(p) < 1e-8
