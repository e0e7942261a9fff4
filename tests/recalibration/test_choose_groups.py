"""Rows that depend on one another within groups: kept together, and intervals of groups."""

import numpy as np
import pytest

from calibrant import InputError, choose_recalibrator
from calibrant.recalibration import judge


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**1.5).astype(float), v


@pytest.mark.slow
def test_copies_in_groups_have_the_intervals_of_the_rows():
    y, v = drawn(400)
    options = {"methods": ["platt"], "n_resamples": 999, "random_state": 0}
    rows = choose_recalibrator(y, v, **options)["unchanged"]
    copied = [np.repeat(each, 5) for each in (y, v, np.arange(400))]
    found = choose_recalibrator(*copied[:2], groups=copied[2], **options)["unchanged"]
    for name in ("brier_interval", "log_interval"):
        assert tuple(getattr(found, name)) == pytest.approx(tuple(getattr(rows, name)), abs=1e-12)
    assert found.smooth_error_interval.width > 0.0
    plain = choose_recalibrator(*copied[:2], **options)["unchanged"]
    assert plain.brier_interval.width < 0.5 * found.brier_interval.width


@pytest.mark.slow
def test_half_widths_are_those_of_groups():
    y, v = drawn(400)
    mass, rng = np.full(400, 1 / 400), np.random.default_rng
    rows = judge.smooth_half_width(y, v, mass, 0.05, 999, rng(0))
    copied = [np.repeat(each, 5) for each in (y, v, mass / 5, np.arange(400))]
    found = judge.smooth_half_width(*copied[:3], 0.05, 999, rng(0), copied[3])
    assert 0.8 < found / rows < 1.05
    assert judge.smooth_half_width(*copied[:3], 0.05, 999, rng(0)) < 0.6 * found


def test_groups_are_never_on_both_sides():
    y, v = drawn(300)
    group = np.random.default_rng(1).integers(0, 40, 300)
    rows = judge.Judge.of(y, v, None, None, group)
    for train, test in rows.splits(5, 0):
        assert not set(group[train]) & set(group[test])


def test_effects_of_groups_are_not_taken_for_knowledge():
    """Each group has its own rate: by rows a map can learn it, by groups it cannot."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(80), 25)
    v = np.repeat(rng.random(80), 25)  # one prediction per group, which says nothing
    y = (rng.random(2000) < np.repeat(rng.random(80), 25)).astype(float)
    options = {"methods": ["isotonic", "nearest"], "n_resamples": 19, "random_state": 0}
    gain = [choose_recalibrator(y, v, **given, **options)["isotonic"].brier for given in ({}, {"groups": group})]
    assert gain[0] < gain[1]


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
        choose_recalibrator(y, v, groups=groups, methods=["platt"], n_resamples=9)


def test_classes_in_groups():
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1, 1, 1], 120)
    label = np.array([rng.choice(3, p=row) for row in table])
    group = np.arange(120) // 3
    found = choose_recalibrator(label, table, groups=group, methods=["temperature"], n_resamples=9, random_state=0)
    assert found.chosen in ("unchanged", "temperature")
