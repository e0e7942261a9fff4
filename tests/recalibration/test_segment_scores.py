"""Repairs are chosen by the interval of what they gain, at the level, each over the one that was kept before it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from calibrant import InputError, choose_recalibrator
from calibrant.recalibration import choose, compare_recalibrators
from calibrant.recalibration.by_segment import estimator
from calibrant.recalibration.by_segment.estimator import compared, read_score
from calibrant.recalibration.compare import mean_with_interval

MASS = np.full(50, 0.02)


@dataclass
class Losses:
    """Losses that are said instead of computed."""

    mass = MASS
    group = None

    def losses(self, loss):
        return {"brier": loss / 2.0, "log": loss}


def loss(mean, spread, seed=0):
    noise = np.random.default_rng(seed).normal(size=50)
    return mean + spread * (noise - noise.mean()) / noise.std()


def test_the_mean_has_the_normal_interval_of_its_level():
    values = loss(1.0, 0.3)
    for level in (0.5, 0.1, 0.001):
        mean, interval = mean_with_interval(values, MASS, level)
        half = norm.isf(level / 2) * np.sqrt((MASS**2 * (values - 1.0) ** 2).sum())
        assert (mean, interval.high - mean, mean - interval.low) == pytest.approx((1.0, half, half), rel=0.05)
    wide, narrow = (mean_with_interval(values, MASS, level)[1] for level in (0.01, 0.2))
    assert (wide.high - 1.0) / (narrow.high - 1.0) == pytest.approx(norm.isf(0.005) / norm.isf(0.1))
    assert mean_with_interval(np.append(values[1:], np.inf), MASS, 0.1)[0] == np.inf
    none = np.where(np.arange(50) < 49, MASS, 0.0)
    assert np.isfinite(mean_with_interval(np.append(values[1:], np.inf), none, 0.1)[0])


@pytest.mark.parametrize("level", [0.3, 0.02])
def test_a_richer_repair_is_kept_where_the_whole_interval_of_its_gain_is_above_zero(level):
    made = {
        "unchanged": loss(1.0, 0.2),
        "global": loss(0.9, 0.2),
        "segments": loss(0.85, 0.2, 1),
        "boosting": loss(0.5, 0.1),
    }
    chosen, scores = compared(Losses(), made, "global", level)
    by_name = {score.method: score for score in scores}
    assert [score.log for score in scores] == pytest.approx([1.0, 0.9, 0.85, 0.5])
    assert [score.brier for score in scores] == pytest.approx([0.5, 0.45, 0.425, 0.25])
    gain = mean_with_interval(made["global"] - made["segments"], MASS, level)[1]
    assert by_name["segments"].gain_interval == gain
    assert by_name["segments"].simpler == "global"
    assert by_name["segments"].kept == (gain.low > 0.0) == (level == 0.3)
    before = "segments" if by_name["segments"].kept else "global"
    assert (by_name["boosting"].simpler, by_name["boosting"].kept, chosen) == (before, True, "boosting")
    assert (by_name["unchanged"].kept, by_name["unchanged"].simpler) == (False, None)


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_correction_needs_the_odds_against_all_of_its_kind(monkeypatch, blocks):
    """Even odds that a depth needs none; of the other half each kind gets half: a block 1 / (4 blocks) of it."""
    from calibrant.recalibration.by_segment import corrections

    outcome = np.repeat([1.0, 0.0], [40, 10])
    cell = np.arange(50) % 5
    monkeypatch.setattr(corrections, "crossing", lambda *_: (np.zeros(50, int) if spread == "all" else cell, 5))
    rows = corrections.Fitting(np.zeros(50), outcome, np.ones(50))
    for spread, singles in (("all", blocks), ("cells", 5 * blocks)):
        names = [(k,) for k in range(1, blocks + 1)]
        start, needed = corrections._most_promising(rows, np.zeros(50), names, set(), [], [])
        kinds = {None: blocks} if start.only is None else {start.only: singles}
        assert needed == pytest.approx(np.log(4.0 * next(iter(kinds.values()))))
        slope = np.bincount(np.zeros(50, int) if spread == "all" else cell, outcome - 0.5, 5)
        bend = np.bincount(np.zeros(50, int) if spread == "all" else cell, minlength=5) / 4.0
        spreads = corrections._SPREADS
        ratio = 0.5 * (spreads * slope**2 / (1.0 + bend * spreads) - np.log1p(bend * spreads))
        best = ratio.sum(axis=1).max() if start.only is None else ratio[:, start.only].max()
        assert start.gain == pytest.approx(best)
    for cells in (np.where(np.arange(50) < 45, 0, 1),):  # 5 rows tell too little to be corrected by themselves
        monkeypatch.setattr(corrections, "crossing", lambda *_, cells=cells: (cells, 2))
        weight = np.where(cells == 0, 1.0, 0.1)
        rows = corrections.Fitting(np.zeros(50), np.where(cells == 0, outcome, 1.0), weight)
        start, needed = corrections._most_promising(rows, np.zeros(50), [(1,)], {((1,), None)}, [], [])
        assert (start.only, needed) == (0, pytest.approx(np.log(4.0)))


@pytest.mark.parametrize("level", [0.3, 0.02])
def test_scores_of_a_comparison_have_intervals_of_its_level(level):
    v = np.random.default_rng(0).random(300)
    y = (np.random.default_rng(1).random(300) < v**2).astype(int)
    found = compare_recalibrators(y, v, methods=["temperature", "platt"], level=level)
    assert found.level == level
    score = found.scores[0]
    values = (y - v) ** 2
    expected = norm.isf(level / 2) * values.std() / np.sqrt(300)
    assert (score.brier_interval.high - score.brier) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("errors", "kept"), [(1.7, False), (1.9, False), (2.0, True), (2.5, True)])
def test_predictions_are_given_up_unless_their_order_is_beyond_a_two_sided_level(errors, kept, monkeypatch):
    """Outcomes that predictions say nothing of, with a rank correlation of so many standard errors: 1.96 are enough."""
    monkeypatch.setattr(choose, "_association", lambda *_: (0.05, errors))
    rng = np.random.default_rng(0)
    choice = choose_recalibrator((rng.random(200) < 0.2).astype(int), rng.uniform(0.5, 0.9, 200))
    assert (choice.chosen != "constant") == kept


@pytest.mark.parametrize("brier", [-0.01, 0.0, 0.2, 1.0, 1.01])
@pytest.mark.parametrize("log", [-0.01, 0.0, 0.5, 7.0])
def test_stored_scores_are_read_where_there_can_be_such(brier, log):
    stored = ["global", brier, log, None, None, True]
    if 0.0 <= brier <= 1.0 and log >= 0.0:
        assert (read_score(stored, "scores").brier, read_score(stored, "scores").log) == (brier, log)
    else:
        with pytest.raises(InputError, match="must have scores that there can be"):
            read_score(stored, "scores")


@pytest.mark.parametrize("many", [59, 60, 61])
def test_of_many_rows_one_part_is_left_out_to_count_trees(monkeypatch, many):
    monkeypatch.setattr(estimator, "_MANY_ROWS", many)
    monkeypatch.setattr(estimator, "fit_boosted", lambda *each: len(each[3]))
    rows = SimpleNamespace(group=None, outcome=np.arange(60) % 2, weight=None)
    cuts = SimpleNamespace(features=None)
    found = estimator.Candidates(rows, cuts, [], np.zeros((60, 1)), None).boosting(np.arange(60), np.zeros(60))
    assert (found == 1) == (many <= 60)
    assert found >= 1
