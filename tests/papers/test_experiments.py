"""What the experiments' own arithmetic claims, on cases where the answer is known."""

import numpy as np
import pytest
from scipy.stats import norm

from calibrant import synthetic
from calibrant_papers import gate_find, hardness, nearly_linear_time, type_one, unifying_theory
from tests.oracles import distance as oracle


@pytest.mark.parametrize("seed", range(8))
def test_the_papers_predictor_of_a_mixed_domain_is_never_nearer_than_the_nearest(seed):
    _, mixed = synthetic.pure_and_mixed(6, random_state=seed)
    nearest = oracle.calibration_distance(mixed.y_true, mixed.y_prob, mixed.sample_weight)
    assert hardness._moved_aside(mixed) >= nearest - 1e-12


@pytest.mark.slow
def test_the_papers_predictor_is_near_the_formula_for_large_domains():
    _, mixed = synthetic.pure_and_mixed(200_000, random_state=1)
    epsilon = 0.125
    uneven = abs(2.0 * mixed.y_true[2:].mean() - 1.0) / 4.0
    found = hardness._moved_aside(mixed)
    assert found <= epsilon**2 / (1.0 - 2.0 * epsilon) + uneven + 1e-5
    assert found >= epsilon**2 / (1.0 - 2.0 * epsilon) - uneven


def test_the_sample_of_a_domain_is_weighed_by_its_rows():
    domain = synthetic.calibrated_ladder(3)
    bracket = hardness._empirical(domain, 40, [1])
    y_true, element = domain.draw(40, np.random.default_rng([1]))
    count = np.bincount(element, minlength=3)
    rate = np.bincount(element, y_true, 3) / count
    assert bracket.exact
    assert bracket.upper == pytest.approx(oracle.calibration_distance(rate, domain.y_prob, count), abs=1e-12)


def test_exact_distances_at_the_cube_fall_like_one_over_the_size():
    _, constants = hardness._tight(True)
    assert all(0.15 < constant < 0.45 for constant in constants)


def test_a_figure_that_does_not_do_what_the_paper_says_is_found_out():
    temperatures = np.geomspace(0.1, 1000.0, 25)
    falling = np.abs(np.log(temperatures)) * 0.05
    flat = dict.fromkeys(("smooth error", "kernel error", "binned error, 20 bins", "surrogate interval error"), falling)
    holds = unifying_theory._statements(temperatures, flat)
    assert holds["measures are correlated up to T = 1"]
    assert not holds["interval and binned errors are over twice the others between 1 and 10"]
    assert not holds["all but the binned error go to 0"]


def test_the_papers_ratios_are_met_beside_ours():
    body = nearly_linear_time.lemma_13(quick=True).body
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in body.splitlines() if line.startswith("| ")]
    found = {row[-2]: row[-1] for row in cells if row[-2] in ("1", "3/2")}
    assert found == {"1": "1", "3/2": "1.5"}


def test_false_rejections_are_counted_whole_and_where_the_test_applies(monkeypatch):
    monkeypatch.setitem(type_one.TESTS, "mine", lambda _y, _p, rng: bool(rng.random() < 0.2))
    whole = np.array(type_one.count("mine", 50, "uniform", 0, 400))
    parts = sum(np.array(type_one.count("mine", 50, "uniform", k, k + 100)) for k in range(0, 400, 100))
    assert whole.tolist() == parts.tolist()
    assert whole[1] == 400
    assert 50 <= whole[0] <= 110
    # T-Cal says that it is not for three values; a test of few values says that it is not for 100 different ones.
    assert type_one.count("adaptive T-Cal, labels redrawn", 100, "discrete", 0, 3) == (0, 0)
    assert type_one.count("discrete_calibration_test", 100, "uniform", 0, 3)[1] < 3
    assert type_one.count("discrete_calibration_test", 100, "discrete", 0, 3)[1] == 3


def test_no_row_is_beyond_the_limit_where_none_is_to_be():
    for draw in gate_find.KINDS.values():
        v, chance = draw(np.random.default_rng(0), 20_000)
        assert abs(np.mean(chance - v)) < 0.01  # the limit's own share is added to it
        assert ((v >= 0.0) & (v <= 1.0) & (chance >= 0.0) & (chance <= 1.0)).all()


@pytest.mark.parametrize("unit", gate_find.UNITS)
def test_the_normal_bound_is_what_each_store_gives_alone(unit):
    rng = np.random.default_rng(3)
    group, _ = gate_find._groups(rng, unit, 300)
    store, off = rng.integers(0, 4, 300)[group], rng.normal(0.5, 0.1, 300)
    expected = 0.0
    for each in np.unique(store):
        totals = [off[group == g] for g in np.unique(group[store == each])]
        rows, mean = sum(map(len, totals)), np.mean(np.concatenate(totals))
        if rows >= 5 and len(totals) > 1:
            squares = sum((x.sum() - mean * x.size) ** 2 for x in totals) * len(totals) / (len(totals) - 1)
            expected = max(expected, abs(mean) - norm.isf(0.005) * np.sqrt(squares) / rows)
    assert expected > 0.0
    assert gate_find._normal(store, off, group, 0.01) == pytest.approx(expected, abs=1e-12)
