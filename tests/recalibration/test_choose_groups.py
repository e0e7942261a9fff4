"""Rows that depend on one another within groups: kept together, and intervals of groups."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import InputError, audit, choose_recalibrator
from calibrant.recalibration import AveragedScaling, choose, compare, compare_recalibrators


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**1.5).astype(float), v


@pytest.mark.slow
def test_copies_in_groups_have_the_intervals_of_the_rows():
    y, v = drawn(400)
    rows = compare_recalibrators(y, v, methods=["platt"])["unchanged"]
    copied = [np.repeat(each, 5) for each in (y, v, np.arange(400))]
    found = compare_recalibrators(*copied[:2], groups=copied[2], methods=["platt"])["unchanged"]
    for name in ("brier_interval", "log_interval"):
        assert tuple(getattr(found, name)) == pytest.approx(tuple(getattr(rows, name)), abs=1e-12)
    plain = compare_recalibrators(*copied[:2], methods=["platt"])["unchanged"]
    assert plain.brier_interval.width < 0.5 * found.brier_interval.width


def test_copies_in_groups_are_worth_about_as_much_as_the_rows():
    """The design effect of five copies each is five, but for chance: the map is that of the rows."""
    y, v = drawn(2000)
    at = np.linspace(0.05, 0.95, 19)
    copied = [np.repeat(each, 5) for each in (y, v, np.arange(2000))]
    grouped = AveragedScaling().fit(copied[1], copied[0], groups=copied[2])
    assert grouped.cells_.rows.sum() == pytest.approx(2000.0, rel=0.1)
    of_rows, of_copies = AveragedScaling().fit(v, y), AveragedScaling().fit(copied[1], copied[0])
    far = abs(of_copies.interval(at) - of_rows.interval(at)).max()
    assert abs(grouped.interval(at) - of_rows.interval(at)).max() < 0.2 * far


def test_groups_of_independent_rows_change_little():
    y, v = drawn(2000)
    grouped = AveragedScaling().fit(v, y, groups=np.arange(2000) // 5)
    assert 1700.0 < grouped.cells_.rows.sum() <= 2000.0


def test_groups_are_never_on_both_sides():
    y, v = drawn(300)
    group = np.random.default_rng(1).integers(0, 40, 300)
    rows = compare.Judge.of(y, v, None, None, group)
    for train, test in rows.splits(5, 0):
        assert not set(group[train]) & set(group[test])


def test_effects_of_groups_are_not_taken_for_knowledge():
    """Each group has its own rate: by rows a map can learn it, by groups it cannot."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(80), 25)
    v = np.repeat(rng.random(80), 25)  # one prediction per group, which says nothing
    y = (rng.random(2000) < np.repeat(rng.random(80), 25)).astype(float)
    options = {"methods": ["isotonic", "nearest"]}
    gain = [compare_recalibrators(y, v, **given, **options)["isotonic"].brier for given in ({}, {"groups": group})]
    assert gain[0] < gain[1]
    alone, grouped = (choose_recalibrator(y, v, **given) for given in ({}, {"groups": group}))
    assert alone.n_events > 5.0 * grouped.n_events  # a group is worth about one row


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(60), "groups: has 1 groups for 5 parts"),
        (np.arange(59), r"groups: has shape \(59,\)"),
        (np.where(np.arange(60) < 30, np.arange(60), 99), "groups: leave only one outcome"),
    ],
)
def test_what_is_refused(groups, message):
    y, v = (np.arange(60) >= 30) * 1.0, np.linspace(0.1, 0.9, 60)
    with pytest.raises(InputError, match=message):
        compare_recalibrators(y, v, groups=groups, methods=["platt"])


def test_classes_in_groups():
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1, 1, 1], 120)
    label = np.array([rng.choice(3, p=row) for row in table])
    found = choose_recalibrator(label, table, groups=np.arange(120) // 3)
    assert found.chosen in ("unchanged", "temperature")


def test_too_few_groups_for_a_test_are_no_reason_to_leave_the_predictions():
    """It said "leave them, not proved (p = 1)" of a slope of .6, where signs were never drawn."""
    rng = np.random.default_rng(0)
    for n_groups, said in ((35, "too few groups (as good as 18 equal ones; 30 are needed)"), (120, None)):
        group = np.repeat(np.arange(n_groups), 50)
        log_odds = np.clip(rng.normal(-1.0, 1.2, group.size), -4.5, 4.5)
        v, rate = (1.0 / (1.0 + np.exp(-each)) for each in (log_odds, 0.6 * log_odds))
        y = (rng.random(group.size) < rate).astype(float)
        choice = choose_recalibrator(y, v, groups=group)
        if said is None:
            assert choice.groups_worth is None
            assert choice.chosen == "averaged"
        else:
            assert not choice.reject
            assert said in choice.summary()
            assert "Leave" not in choice.summary()
            assert "the calibration slope 0." in choice.summary()


@pytest.mark.slow
def test_the_choice_says_of_few_groups_what_the_audit_says():
    """It was refused, or told to wait, where the audit corrects level and slope."""
    rng = np.random.default_rng(0)
    for n_groups, slope in ((14, 0.6), (14, 1.0), (4, 0.6)):
        group, v = np.repeat(np.arange(n_groups), 100), rng.beta(2.0, 5.0, 100 * n_groups)
        y = (rng.random(v.size) < 1.0 / (1.0 + (1.0 / v - 1.0) ** slope)) * 1
        found = audit(y, v, groups=group, n_resamples=39, random_state=0)
        if n_groups == 4:
            with pytest.raises(InputError, match="groups: events come from too few groups"):
                choose_recalibrator(y, v, groups=group)
            continue
        choice = choose_recalibrator(y, v, groups=group)
        assert choice.group_line.to_dict() == found.group_line.to_dict()
        assert ("level and slope alone (PlattScaling)" in choice.summary()) == (slope < 1.0)
        assert ("level and slope alone (PlattScaling)" in found.answer.details[-1]) == (slope < 1.0)


@pytest.mark.parametrize(("events", "rows"), [(0, 1), (3, 10), (10, 10), (40, 90)])
def test_maps_explain_rows_better_than_any_one_rate_by_what_the_level_asks_for(events, rows):
    one_rate = math.log(quad(lambda p: p**events * (1.0 - p) ** (rows - events), 0.0, 1.0)[0])
    for more, informs in ((1e-4, True), (-1e-4, False)):
        curve = SimpleNamespace(
            cells_=SimpleNamespace(events=np.array([events]), rows=np.array([rows])),
            log_evidence_=one_rate + math.log(choose._SURER / 0.05) + more,
        )
        assert choose._informs(curve, 0.05) == informs
