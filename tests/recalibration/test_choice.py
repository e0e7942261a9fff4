"""One map for one file: whatever the order and the seed; never on a few events; gains by their definition."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import rankdata

from calibrant import Interval, audit, choose_recalibrator
from calibrant.door.sample import Sample
from calibrant.recalibration import AveragedScaling, RecalibrationChoice, choose, gain
from calibrant.recalibration.choose import _association, _informs, falls_to, too_few
from calibrant.recalibration.compare import RecalibrationScore
from calibrant.recalibration.curves.averaged import AveragedCurve, LogitCells
from calibrant.recalibration.gain import direction_of, gain_between_halves, gain_of, mean_direction
from tests.strategies import examples


def drawn(n, seed, slope=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(0.7, 1.5, n), 1e-9, 1.0 - 1e-9)
    return (rng.random(n) < expit(slope * logit(p) + shift)).astype(float), p


@pytest.mark.slow
@examples(12)
@given(st.integers(0, 10**6), st.sampled_from(["plain", "weights", "groups", "coarse"]))
def test_equal_rows_have_one_map_and_one_choice_in_any_order(seed, kind):
    y, p = drawn(300, seed, slope=0.4)
    rng = np.random.default_rng(seed)
    columns = {}
    if kind == "weights":
        columns["sample_weight"] = 10.0 ** rng.uniform(-1.0, 1.0, 300)
    if kind == "groups":
        columns["groups"] = rng.integers(0, 150, 300)
    p = np.round(p, 1) if kind == "coarse" else p
    order = rng.permutation(300)
    one = choose_recalibrator(y, p, **columns)
    two = choose_recalibrator(y[order], p[order], **{name: each[order] for name, each in columns.items()})
    assert one.to_dict() == two.to_dict()
    assert one.averaged.to_json() == two.averaged.to_json()
    fitted = AveragedScaling().fit(p, y, **columns)
    assert fitted.to_json() == one.averaged.to_json()


@pytest.mark.slow
def test_the_seed_of_an_audit_does_not_show_in_what_it_advises():
    y, p = drawn(1500, 3, slope=0.6)
    audits = [audit(y, p, random_state=seed, n_resamples=99) for seed in (0, 1, None)]
    assert len({each.answer.direction for each in audits}) == 1
    first, *others = (each.advice for each in audits)
    for other in others:
        assert (other.words, other.gain) == (first.words, first.gain)
        assert other.recalibrator.to_json() == first.recalibrator.to_json()
    alone = choose_recalibrator(y, p)
    assert alone.recalibrator.to_json() == first.recalibrator.to_json()
    assert alone.gain == first.gain
    assert alone.summary() == first.words


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("events", [9, 10])
def test_no_map_is_advised_below_ten_events_or_ten_others(events, turned):
    y = np.r_[np.ones(events), np.zeros(400)]
    p = np.r_[np.full(events, 0.6), np.linspace(0.2, 0.6, 400)]
    y, p = (1.0 - y, 1.0 - p) if turned else (y, p)
    choice = choose_recalibrator(y, p)
    assert choice.reject
    assert choice.chosen == ("averaged" if events == 10 else "unchanged")
    assert (choice.recalibrator is None) == (choice.gain is None) == (events == 9)
    if events == 9:
        which = "9 rows without the event" if turned else "9 events"
        assert choice.summary() == f"No recalibration is advised on {which}: these are fewer than 10."
        assert audit(y, p, n_resamples=99, random_state=0).answer.action == "look closer"


def test_few_heavy_events_are_few():
    y, p = drawn(2000, 0, slope=0.3)
    weight = np.where((y == 1.0) & (np.cumsum(y) <= 9), 1e6, 1.0)
    choice = choose_recalibrator(y, p, sample_weight=weight, outcome_free_weights=True)
    assert choice.n_events < 10.0
    assert choice.recalibrator is None
    untold = choose_recalibrator(y, p, sample_weight=weight)  # weights may tell outcomes: too few for a test as well
    assert untold.pvalue is None
    assert re.fullmatch(
        r"No recalibration is advised on events as good as 9(\.\d)? independent ones: 10 are needed.", untold.summary()
    )


def test_gains_are_their_definition():
    y, p = drawn(400, 5, slope=0.5, shift=0.2)
    curve = AveragedCurve().fit_sample(Sample.of_arrays(y, p))
    assert curve.cells_.x.size == 400
    x = curve.cells_.x
    before, after = expit(x), curve._map(expit(x))
    gains = {"log": [], "brier": []}
    for q in expit(curve.curves(x, 400, np.random.default_rng(0))):
        log = [-(q * np.log(m) + (1.0 - q) * np.log(1.0 - m)).mean() for m in (before, after, q)]
        brier = [(q * (1.0 - m) ** 2 + (1.0 - q) * m**2).mean() for m in (before, after, q)]
        gains["log"].append((log[0], log[0] - log[1], log[0] - log[2]))
        gains["brier"].append((brier[0], brier[0] - brier[1], brier[0] - brier[2]))
    found = gain_of(curve, 0.1)
    for name, each in gains.items():
        score, (first, of_map, possible) = getattr(found, f"{name}_loss"), np.array(each).T
        assert score.before == pytest.approx(first.mean(), abs=1e-12)
        assert score.value == pytest.approx(of_map.mean(), abs=1e-9)
        assert tuple(score.interval) == pytest.approx(tuple(np.quantile(of_map, [0.05, 0.95])), abs=1e-9)
        assert tuple(score.possible) == pytest.approx(tuple(np.quantile(possible, [0.05, 0.95])), abs=1e-9)
        share = np.quantile(of_map / first, [0.05, 0.95])
        assert tuple(score.relative_interval) == pytest.approx(tuple(share), abs=1e-9)
        assert np.all(possible >= of_map - 1e-9)


def halves_of(curve):
    """Outcomes and predictions of rows as the check deals them, by a loop."""
    cells, rng, up = curve.cells_, np.random.default_rng(0), True
    rows, events = (np.rint(each).astype(int) for each in (cells.rows, cells.events))
    first = []
    for n in rows.tolist():
        first.append((n + up) // 2 if n % 2 else n // 2)
        up = up != (n % 2 == 1)
    happened = rng.hypergeometric(events, rows - events, np.array(first))
    for n, e in ((np.array(first), happened), (rows - first, events - happened)):
        y = np.concatenate([np.arange(k) < j for k, j in zip(n.tolist(), e.tolist(), strict=True)])
        yield y.astype(float), np.repeat(expit(cells.x), n)


@pytest.mark.slow
def test_from_20_000_rows_on_halves_check_each_other():
    rng = np.random.default_rng(0)
    p = np.repeat(np.linspace(0.1, 0.9, 40), 501)
    y = (rng.random(p.size) < expit(0.8 * logit(p) - 0.1)).astype(float)
    curve = AveragedCurve().fit_sample(Sample.of_arrays(y, p))
    one, two = halves_of(curve)
    gained = []
    for (y_fit, p_fit), (y_new, p_new) in ((one, two), (two, one)):
        half = AveragedCurve()
        half.clip_ = curve.clip_
        values, which = np.unique(p_fit, return_inverse=True)
        counts = np.bincount(which).astype(float), np.bincount(which, y_fit)
        half.fit_cells(LogitCells(logit(values), *counts), curve.basis_)
        after = half._map(p_new)
        gained.extend(y_new * np.log(after / p_new) + (1.0 - y_new) * np.log((1.0 - after) / (1.0 - p_new)))
    assert gain_between_halves(curve) == pytest.approx((np.mean(gained), np.std(gained) / p.size**0.5), abs=1e-10)
    assert gain_of(curve, 0.05).doubt is None
    curve.cells_ = LogitCells(curve.cells_.x, curve.cells_.rows, np.rint(curve.cells_.rows * expit(curve.cells_.x)))
    assert gain_between_halves(curve)[0] <= 0.0  # calibrated rows, and the posterior of others
    found = gain_of(curve, 0.05)
    assert found.proved
    assert "the map of one half of the rows gains less on the other" in found.summary()
    assert not found.matters


@pytest.mark.slow
def test_fewer_rows_and_weighted_ones_are_not_halved():
    y, p = drawn(19_999, 0, slope=0.5)
    assert gain_between_halves(AveragedCurve().fit_sample(Sample.of_arrays(y, p))) is None
    weight = np.random.default_rng(1).uniform(1.0, 2.0, 30_000)
    y, p = drawn(30_000, 0, slope=0.5)
    assert gain_between_halves(AveragedCurve().fit_sample(Sample.of_arrays(y, p, weight))) is None
    assert gain_between_halves(AveragedCurve().fit_sample(Sample.of_arrays(y, p)))[0] > 0.0


@examples(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([40, 300]), st.sampled_from([0.3, 1.0, 6.0]), st.floats(-2.0, 2.0))
def test_no_score_is_expected_to_fall_by_more_than_itself(seed, n, slope, shift):
    """Of predictions far from right, few rows among them, whose score is itself known to within little."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, n)
    y = (rng.random(n) < expit(x)).astype(float)
    found = gain_of(AveragedCurve().fit_sample(Sample.of_arrays(y, expit(slope * x + shift))), 0.05)
    for score in (found.log_loss, found.brier_loss):
        assert score.relative_interval.low <= score.relative_interval.high <= 1.0
        assert score.relative <= 1.0
        assert (score.relative_interval.low > 0.0) == (score.interval.low > 0.0)


@pytest.mark.slow
def test_a_range_is_doubted_where_hardly_a_miss_was_seen_at_an_extreme():
    rng = np.random.default_rng(0)
    p = np.r_[np.full(300, 0.001), rng.uniform(0.2, 0.8, 700)]
    for misses, doubted in ((4, True), (5, False)):
        y = np.r_[np.arange(300) < misses, rng.random(700) < p[300:] ** 2].astype(float)
        doubt = choose_recalibrator(y, p).gain.doubt
        assert (doubt is not None) == doubted
        other = choose_recalibrator(1.0 - y, 1.0 - p).gain.doubt
        assert (other is not None) == doubted
    assert doubt is None
    assert (
        "predictions above 99% were wrong in fewer than 5 rows"
        in choose_recalibrator(np.r_[np.ones(300), y[300:]], np.r_[1.0 - p[:300], p[300:]]).gain.summary()
    )


@pytest.mark.parametrize(
    ("slope", "shift", "direction"),
    [
        (0.5, 0.0, "too confident"),
        (2.0, 0.0, "not confident enough"),
        (1.0, 0.5, "too low"),
        (1.0, -0.5, "too high"),
        (1.0, 0.0, None),
    ],
)
def test_directions_are_those_of_the_truth(slope, shift, direction):
    for seed in range(4):
        y, p = drawn(3000, seed, slope, shift)
        p, y = (np.r_[p, 1.0 - p], np.r_[y, 1.0 - y]) if shift == 0.0 else (p, y)
        assert direction_of(AveragedCurve().fit_sample(Sample.of_arrays(y, p)), 0.05) == direction


@pytest.mark.parametrize(
    ("corrections", "direction"),
    [
        ([9.0] * 120, "too low"),
        ([-9.0] * 120, "too high"),
        ([9.0] * 110 + [-9.0] * 10, "too low"),  # under a tenth of the error is of the other side
        ([9.0] * 90 + [-9.0] * 30, "too confident"),
        ([-9.0] * 30 + [9.0] * 90, "not confident enough"),
        ([9.0] * 40 + [-9.0] * 40 + [9.0] * 40, "uneven"),
        ([9.0] * 60 + [1.5] * 60, "too low"),  # sure in one half
        ([9.0] * 60 + [-1.5] * 60, None),  # more than a tenth of the error in most curves, and no crossing in all
        ([5.0] * 60 + [-2.5] * 60, "too confident"),  # sure in one half, and a third of the error in the other
        ([9.0] * 60 + [-0.5] * 60, "too low"),  # and here not even that
        ([0.9] * 120, None),
    ],
)
def test_a_direction_is_that_of_the_error_at_points_that_are_sure_or_likely(corrections, direction):
    x = np.linspace(-2.0, 2.0, 120)
    noise = np.random.default_rng(0).standard_normal((400, 120))
    noise = 0.01 * (noise - noise.mean(axis=0)) / noise.std(axis=0)
    cells = SimpleNamespace(x=x, mass=np.full(120, 1.0 / 120.0))
    drawn = x + 0.01 * np.array(corrections) + noise
    curve = SimpleNamespace(cells_=cells, curves=lambda at, *_: drawn[:, np.searchsorted(x, at)])
    if direction is None:  # all rows err together, by less than their deviation
        curve.curves = lambda at, *_: at + 0.009 + 0.01 * np.random.default_rng(0).standard_normal((400, 1))
    assert direction_of(curve, 0.05) == direction


@pytest.mark.parametrize(
    ("calibrated", "other_side", "direction", "of_the_mean"),
    [(200, 5, "too low", "too low"), (200, 6, "too low", None), (200, 11, None, None), (201, 0, None, None)],
)
def test_a_direction_is_that_of_the_curves_that_err_where_half_do(calibrated, other_side, direction, of_the_mean):
    x = np.linspace(-2.0, 2.0, 120)
    shift = np.r_[np.zeros(calibrated), np.full(other_side, -0.1), np.full(400 - calibrated - other_side, 0.1)]
    cells = SimpleNamespace(x=x, mass=np.full(120, 1.0 / 120.0))
    curve = SimpleNamespace(cells_=cells, curves=lambda at, *_: at + shift[:, None])
    assert direction_of(curve, 0.05) == direction
    assert mean_direction(shift, 0.05) == of_the_mean
    assert mean_direction(-shift, 0.05) == {"too low": "too high", None: None}[of_the_mean]


@pytest.mark.slow
def test_what_is_small_by_distance_and_costs_much_is_corrected():
    """S1: 99.99% said where 98.5% happen is near by distance, and costs much of the log loss."""
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], 20_000) * rng.gamma(4.0, 2.3, 20_000)
    y = rng.random(20_000) < expit(0.45 * x)
    found = audit(y, expit(x), n_resamples=99, random_state=0, max_distance=0.04)
    assert found.gate.verdict == "within"
    assert found.answer.action == "recalibrate"
    assert "but it costs much" in found.answer.sentence
    assert found.advice.gain.matters


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_of_rows_kept_by_outcome_the_map_is_that_of_the_population(slope):
    """A tenth of the rows without the event is kept: each row counts as one, and the map corrects the population's."""
    y, p = drawn(40_000, 2, slope, 0.3)
    present = (y == 1.0) | (np.random.default_rng(0).random(40_000) < 0.1)
    whole = AveragedScaling().fit(p, y)
    fractions = {0: 0.1, 1: 1.0}
    sampled = AveragedScaling().fit(p[present], y[present], sampling_fractions=fractions)
    weighted = AveragedScaling().fit(p[present], y[present], np.where(y[present] == 1.0, 1.0, 10.0))
    at = np.linspace(0.02, 0.95, 30)
    assert sampled.predict(at).tolist() == weighted.predict(at).tolist()
    assert sampled.predict(at) == pytest.approx(whole.predict(at), abs=0.03)
    assert sampled.cells_.rows.sum() == pytest.approx(present.sum())
    assert sampled.cells_.mass @ expit(sampled.cells_.x) == pytest.approx(p.mean(), abs=0.01)
    low, high = sampled.interval(at).T
    assert np.mean((low <= expit(slope * logit(at) + 0.3)) & (expit(slope * logit(at) + 0.3) <= high)) > 0.7
    choice = choose_recalibrator(y[present], p[present], sampling_fractions=fractions)
    assert choice.n_events == y.sum()
    assert choice.gain.log_loss.value == pytest.approx(choose_recalibrator(y, p).gain.log_loss.value, rel=0.3)


def test_the_code_of_rows_kept_by_outcome_says_their_fractions():
    y, p = drawn(8000, 4, 0.4)
    present = (y == 1.0) | (np.random.default_rng(0).random(8000) < 0.25)
    y, p = y[present], p[present]
    found = audit(y, p, sample_weight=np.where(y == 1.0, 1.0, 4.0), n_resamples=99, random_state=0)
    assert found.answer.action == "recalibrate"
    assert "sampling_fractions={0: 0.25, 1: 1.0}" in found.advice.code
    names = {"y_prob": p, "y_true": y, "new_y_prob": p[:5]}
    exec(found.advice.code, names)
    assert names["better"].tolist() == found.advice.recalibrator.predict(p[:5]).tolist()


def score(method, distance, brier=0.2):
    return RecalibrationScore(
        method, distance, distance, brier, Interval(0.1, 0.3), 0.5, Interval(0.4, 0.6), Interval(0.0, 0.1)
    )


@pytest.mark.parametrize(
    ("far", "near", "noise", "said"),
    [
        (0.05, 0.02, 0.0, "5.0 to 2.0 points"),
        (0.05, 0.02, 0.02, "5.0 to 2.0 points"),
        (0.05, 0.02, 0.03, "5.0 to less than 3.0 points"),
        (0.05, 0.05, 0.0, None),
        (0.05, 0.06, 0.0, None),
        (0.05, 0.02, 0.05, None),
    ],
)
def test_a_distance_falls_to_no_less_than_the_noise_of_the_rate(far, near, noise, said):
    before, after = (SimpleNamespace(lower_calibration_distance=each) for each in (far, near))
    assert falls_to(before, after, noise) == said


@pytest.mark.parametrize(
    ("events", "others", "said"),
    [
        (3.0, 9.0, "No recalibration is advised on 3 events: these are fewer than 10."),
        (1.0, 9.0, "No recalibration is advised on 1 event: these are fewer than 10."),
        (9.0, 3.0, "No recalibration is advised on 3 rows without the event: these are fewer than 10."),
        (3.27, 9.0, "No recalibration is advised on events as good as 3.2 independent ones: 10 are needed."),
        (9.0, 3.27, "No recalibration is advised on rows without the event as good as 3.2 independent ones: 10 are"),
    ],
)
def test_too_few_events_or_rows_without_are_counted(events, others, said):
    assert too_few(events, others).startswith(said)


PROVED = SimpleNamespace(summary=lambda: "What it gains.")
ITSELF = SimpleNamespace(summary=lambda: "What the map does.")
LINE = SimpleNamespace(summary=lambda: "Too high.", direction="too high")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"direction": "wrong", "rank_correlation": -0.25}, "Events are fewer where predictions are higher (rank "),
        ({"chosen": "constant"}, "These rows do not show that the predictions carry information about the outcome."),
        ({"recalibrator": ITSELF, "gain": PROVED}, "What the map does. What it gains."),
        ({"reject": True, "n_events": 3.0}, "No recalibration is advised on 3 events: these are fewer than 10."),
        ({"n_events": 3.0}, "No recalibration is advised on 3 events"),  # which were not tested
        (
            {"n_events": 3.0, "pvalue": 0.3},
            "Leave the predictions unchanged: they are not proved miscalibrated (p = 0.3).",
        ),
        (
            {"pvalue": 0.3, "gain": PROVED},
            "Leave the predictions unchanged: they are not proved miscalibrated (p = 0.3).",
        ),
        ({"gain": PROVED}, "Leave the predictions unchanged: they are not proved miscalibrated."),
        ({"reject": True, "gain": PROVED}, "No gain of a recalibration is proved. What it gains."),
        (
            {"pvalue": 0.3, "group_line": LINE},
            "Too high. Collect rows of more groups. Until then correct level and slope alone (PlattScaling).",
        ),
        ({"pvalue": 0.3, "groups_worth": 9.0}, "No error is proved: rows come from too few groups"),
        ({"gain": PROVED, "skipped": {"averaged_classes": "the time was up"}}, "Leave the predictions unchanged: "),
    ],
)
def test_a_choice_says_what_to_do(choice, said):
    fields = {"chosen": "unchanged", "recalibrator": None, "level": 0.05, "n_events": 100.0, "n_others": 50.0}
    found = RecalibrationChoice(**{**fields, **choice}).summary()
    assert found.startswith(said)
    assert found.endswith(" Not compared: averaged classes: the time was up.") == ("skipped" in choice)


@pytest.mark.parametrize(
    ("chosen", "near", "said"),
    [
        ("constant", 0.02, "These rows do not show that the predictions carry information"),
        (
            "unchanged",
            0.02,
            "Leave the predictions unchanged: recalibrated ones are not likelier beyond chance (distance ",
        ),
        (
            "averaged",
            0.02,
            "What the map does. It cuts the distance from 5.0 to 2.0 points and takes the Brier score from ",
        ),
        ("averaged", 0.06, "What the map does. It takes the Brier score from 0.25 to 0.2."),
    ],
)
def test_a_choice_of_classes_says_what_to_do(chosen, near, said):
    scores = (score("unchanged", 0.05, 0.25), score("averaged", near))
    itself = None if chosen in ("constant", "unchanged") else ITSELF
    choice = RecalibrationChoice(chosen, itself, 0.05, scores=scores, noise=None)
    assert choice.summary().startswith(said)
    with pytest.raises(KeyError):
        choice["platt"]


@pytest.mark.parametrize(
    ("between", "doubted"), [(None, False), ((-0.01, 0.0001), True), ((0.5, 0.0001), False), ((-0.01, 10.0), False)]
)
def test_a_range_is_doubted_where_halves_gain_clearly_less(monkeypatch, between, doubted):
    y, p = drawn(600, 0, slope=0.3)
    curve = AveragedCurve().fit_sample(Sample.of_arrays(y, p))
    monkeypatch.setattr(gain, "gain_between_halves", lambda _: between)
    found = gain_of(curve, 0.05)
    assert found.log_loss.interval.low > 0.0
    assert (found.doubt is not None) is doubted
    assert ("the map of one half of the rows gains less" in (found.doubt or "")) is doubted


@pytest.mark.parametrize("n", [30, 400])
def test_the_association_is_the_correlation_of_ranks_and_outcomes(n):
    y, p = drawn(n, 0, slope=0.5)
    p = np.round(p, 2)  # ties have the mean of their ranks
    curve = AveragedCurve().fit_sample(Sample.of_arrays(y, p))
    correlation, z = _association(curve, Sample.of_arrays(y, p))
    rank = rankdata(p)
    away = rank - rank.mean()
    assert correlation == pytest.approx(np.corrcoef(rank, y)[0, 1])
    chance = np.sqrt((away**2 * (y - y.mean()) ** 2).sum())
    assert z == pytest.approx(away @ (y - y.mean()) / chance)
    half = Sample.of_arrays(y, p, np.full(n, 0.5))  # a factor of all weights changes nothing
    assert _association(curve, half) == pytest.approx((correlation, z))
    assert _association(curve, Sample.of_arrays(y, np.full(n, 0.5))) == (0.0, 0.0)
    assert _association(curve, Sample.of_arrays(np.ones(n), p)) == (0.0, 0.0)


@pytest.mark.parametrize("level", [0.05, 0.3])
@pytest.mark.parametrize(("more", "informs"), [(1e-6, True), (-1e-6, False)])
def test_predictions_inform_at_a_tenth_of_the_level(monkeypatch, level, more, informs):
    """Of 10 rows with 3 events one rate of any size has the evidence 3! 7! / 11!."""
    cells = SimpleNamespace(events=np.array([3.0]), rows=np.array([10.0]))
    evidence = np.log(6.0 * 5040.0 / 39_916_800.0) + np.log(10.0 / level) + more
    assert _informs(SimpleNamespace(cells_=cells, log_evidence_=evidence), level) == informs
    asked = []
    monkeypatch.setattr(choose, "_informs", lambda _curve, at: asked.append(at) or True)
    monkeypatch.setattr(choose, "_association", lambda *_: (0.0, 0.0))
    y, p = drawn(60, 0, slope=0.3)
    found = choose.choose_on_sample(Sample.of_arrays(y, p), None, True, level)
    assert asked == [level]
    assert found.level == level
