"""What it costs, in one sentence: at a threshold, at the worst one, with bounds where rows are single."""

import re

import numpy as np
import pytest

from calibrant import InputError, decision_curve
from calibrant.decisions.murphy import cost_from_sample, worth_in_words
from calibrant.door.ends import at_least, at_most
from calibrant.door.sample import Sample
from calibrant.inference import regret_bounds


def drawn():
    rng = np.random.default_rng(0)
    v = np.round(rng.random(3000), 3)
    return (rng.random(3000) < v**2).astype(float), v


@pytest.mark.parametrize(
    "threshold", [1e-9, 2e-6, 0.01, 0.25, 0.4, 0.49, 0.499, 0.5, 0.501, 0.51, 0.8, 0.999, 1 - 1e-9]
)
def test_worth_is_the_odds_of_the_threshold_the_dearer_error_first(threshold):
    said = re.fullmatch(r" \(a (.*) being worth (\S+) (.*?)s?\)", worth_in_words(threshold))
    if min(threshold, 1.0 - threshold) < 1e-6:
        assert said is None
        return
    odds = max(threshold, 1.0 - threshold) / min(threshold, 1.0 - threshold)
    number = 1.0 if said[2] == "a" else float(said[2])
    assert number == pytest.approx(odds, rel=0.05)
    assert (said[2] == "a") == (number == 1.0)
    errors = ["missed event", "needless action"]
    assert [said[1], said[3]] == (errors if threshold <= 0.5 or number == 1.0 else errors[::-1])


def test_it_is_the_curve_at_the_threshold_and_at_its_worst():
    y, v = drawn()
    curve = decision_curve(y, v)
    there = cost_from_sample(Sample.from_columns(y, v), 0.05, 0.2)
    assert there.lost == pytest.approx(curve.at(0.2).regret[0], abs=1e-15)
    assert there.best_cut == curve.at(0.2).best_cuts[0]
    assert there.regret_interval == regret_bounds(y, v, threshold=0.2).regret_interval
    assert there.summary().startswith("At the threshold 0.2 (a missed event being worth 4 needless actions), acting")
    cases = float(f"{1000 * there.lost / 0.2:.2g}")
    assert f"as much as {cases:g} needless actions in 1,000 rows" in there.summary()
    low, high = there.regret_interval
    assert f"at least {at_least(5e3 * low, 2)} and at most {at_most(5e3 * high, 2)} (95%" in there.summary()
    turned = cost_from_sample(Sample.from_columns(1.0 - y, 1.0 - v), 0.05, 0.8)
    assert "missed events in 1,000 rows" in turned.summary()
    worst = cost_from_sample(Sample.from_columns(y, v), 0.05)
    assert worst.lost == pytest.approx(max(curve.regret.max(), curve.regret_after.max()), abs=1e-15)
    assert worst.summary().startswith("The costliest threshold is 0.")
    assert "In the population some threshold costs at least 0." in worst.summary()


def test_weighted_rows_and_cells_have_no_bounds_and_perfect_ones_no_cost():
    y, v = drawn()
    weighted = cost_from_sample(Sample.from_columns(y, v, np.where(v > 0.5, 2.0, 1.0)), 0.05, 0.2)
    assert weighted.regret_interval is None
    assert "population" not in weighted.summary()
    perfect = Sample.from_columns([0.0, 1.0], [0.0, 1.0])
    assert cost_from_sample(perfect, 0.05).summary().startswith("At no threshold is another cut better on these")
    assert "At the threshold 0.3 no other cut is better" in cost_from_sample(perfect, 0.05, 0.3).summary()
    nobody = cost_from_sample(Sample.from_columns(np.zeros(20), np.full(20, 0.6)), 0.05, 0.5)
    assert "needless actions in 1,000 rows, against acting on none" in nobody.summary()
    with pytest.raises(InputError, match="threshold: is 1"):
        cost_from_sample(perfect, 0.05, 1.0)
