"""True and upper distance: brackets against brute force, exact searches against the plain program, and the chain."""

import threading
import time

import numpy as np
import pytest
from benchmarks.distances import plain_program
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    InputError,
    calibration_distance,
    interval_calibration_error,
    lower_calibration_certificate,
    random_interval_calibration_error,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
    upper_calibration_distance,
)
from calibrant.door.arguments import TimeLimit
from calibrant.kernels import partitions
from calibrant.measures import check_predictor, distance_lattice
from tests import exact
from tests.oracles import distance as oracle
from tests.shared_data import FOLDER, NETWORKS, needs_data
from tests.strategies import examples, samples


@st.composite
def noiseless(draw, most=24):
    """Unweighted rows with outcomes 0 or 1: spread, tied, an ulp apart, at the ends, or erring one way."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y_prob = rng.random(n)
    kind = draw(st.sampled_from(["spread", "tied", "ulp", "ends", "pairs", "cluster"]))
    if kind == "tied":
        y_prob = np.round(5 * y_prob) / 5
    elif kind == "ulp":
        y_prob = 0.5 + 2.0**-53 * rng.integers(-5, 5, n)
    elif kind == "ends":
        y_prob = rng.beta(0.2, 0.2, n)
    elif kind == "pairs":
        y_prob = np.where(y_prob < 0.5, 0.499, 0.501)
    elif kind == "cluster":
        y_prob = np.clip(rng.normal(0.3, 0.05, n), 0.0, 1.0)
    rates = [
        y_prob,
        np.full(n, 0.5),
        1.0 - y_prob,
        np.zeros(n),
        np.clip(y_prob + 0.2, 0, 1),
        np.clip(y_prob - 0.2, 0, 1),
    ]
    return (rng.random(n) < rates[draw(st.integers(0, len(rates) - 1))]).astype(float), y_prob


@pytest.mark.slow
@examples(1500)
@given(noiseless())
def test_noiseless_domains_are_exact(domain):
    y_true, y_prob = domain
    bracket = calibration_distance(y_true, y_prob)
    expected = oracle.noiseless_program(y_true, y_prob)
    assert bracket.exact
    assert bracket.lower == pytest.approx(expected, abs=1e-9)
    assert bracket.upper == pytest.approx(expected, abs=1e-12)
    assert check_predictor(bracket.predictor, y_true, y_prob) == pytest.approx(bracket.upper, abs=1e-12)


@pytest.mark.parametrize("kind", ["calibrated", "overconfident", "shifted", "raised", "chance", "skewed"])
def test_larger_noiseless_domains(kind):
    rng = np.random.default_rng(0)
    n = 60
    y_prob = rng.beta(0.3, 2.0, n) if kind == "skewed" else rng.random(n)
    rate = {
        "overconfident": y_prob**0.5,
        "shifted": 0.8 * y_prob,
        "raised": 1 - 0.8 * (1 - y_prob),
        "chance": np.full(n, 0.5),
    }.get(kind, y_prob)
    y_true = (rng.random(n) < rate).astype(float)
    bracket = calibration_distance(y_true, y_prob)
    assert bracket.exact
    assert bracket.upper == pytest.approx(oracle.noiseless_program(y_true, y_prob), abs=1e-12)


@pytest.mark.slow
def test_a_search_that_is_given_up_proves_nothing_false(monkeypatch):
    monkeypatch.setattr(distance_lattice, "_MOST_STATES", 20)
    for seed in (0, 3, 4, 5):
        rng = np.random.default_rng(seed)
        y_prob = rng.random(60)
        y_true = (rng.random(60) < 1.0 - y_prob).astype(float)
        bracket = calibration_distance(y_true, y_prob)
        assert bracket.lower - 1e-9 <= oracle.noiseless_program(y_true, y_prob) <= bracket.upper + 1e-12


@pytest.mark.slow
def test_domains_with_parts_large_enough_for_detours():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y_prob = rng.random(120)
        rate = y_prob**1.1
        if seed % 3 == 1:
            y_prob = rate = np.round(20 * y_prob) / 20
        elif seed % 3 == 2:
            rate = np.full(120, 0.5)
        y_true = (rng.random(120) < rate).astype(float)
        bracket = calibration_distance(y_true, y_prob)
        expected = plain_program(*(np.sort(y_prob[y_true == label]) for label in (0.0, 1.0)))
        assert bracket.exact
        assert bracket.upper == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@examples(1000)
@given(samples(max_rows=7))
def test_small_domains_are_exact(sample):
    y_true, y_prob, weight = sample
    for function, slow in (
        (calibration_distance, oracle.calibration_distance),
        (upper_calibration_distance, oracle.upper_calibration_distance),
    ):
        bracket = function(y_true, y_prob, sample_weight=weight)
        expected = slow(y_true, y_prob, weight)
        assert bracket.exact
        assert bracket.lower <= expected + 1e-12
        assert bracket.upper == pytest.approx(expected, abs=1e-9)
        proved = check_predictor(bracket.predictor, y_true, y_prob, sample_weight=weight)
        assert proved == pytest.approx(bracket.upper, abs=1e-12)


@examples(300)
@given(st.integers(2, 13), st.integers(0, 2**32 - 1))
def test_few_types_agree_with_all_subsets(n, seed):
    rng = np.random.default_rng(seed)
    v, y, mass = rng.random(n), rng.choice([0.0, 0.3, 1.0], n), rng.choice([1.0, 2.0], n) / n
    costs = []
    order = np.lexsort((v, y, mass))
    first = np.append(np.flatnonzero(np.append(True, np.diff(2 * mass[order] * n + y[order]) != 0)), n)
    label, stop = np.empty(n, np.int64), np.zeros(1, np.int64)
    assert partitions.by_types(first, v[order], mass[order][first[:-1]], y[order][first[:-1]], label, stop)
    costs.append(cost(mass[order], v[order], y[order], label))
    assert partitions.by_subsets(mass, v, y, label, stop)
    costs.append(cost(mass, v, y, label))
    assert costs[0] == pytest.approx(costs[1], abs=1e-12)


def cost(mass, v, y, label):
    return sum(
        (mass[part] * np.abs(v[part] - (mass[part] @ y[part]) / mass[part].sum())).sum()
        for part in (label == name for name in np.unique(label))
    )


@pytest.mark.slow
def test_a_few_types_beyond_the_reach_of_subsets():
    rng = np.random.default_rng(1)
    y_prob, y_true = rng.random(60), np.repeat([0.0, 0.5, 1.0], 20)
    bracket = calibration_distance(y_true, y_prob)
    assert bracket.exact
    assert bracket.certificate.lower <= bracket.upper


@pytest.mark.slow
@examples(2000)
@given(samples(max_rows=25))
def test_the_chain(sample):
    y_true, y_prob, weight = sample
    lower = lower_calibration_certificate(y_true, y_prob, sample_weight=weight)
    true = calibration_distance(y_true, y_prob, sample_weight=weight, time_limit=0.01)
    upper = upper_calibration_distance(y_true, y_prob, sample_weight=weight, time_limit=0.01)
    interval = interval_calibration_error(y_true, y_prob, sample_weight=weight)
    smooth = smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert lower.lower <= true.upper + 1e-9
    assert true.lower <= upper.upper + 1e-9
    assert upper.lower <= interval + 1e-9
    assert interval <= surrogate_interval_calibration_error(y_true, y_prob, sample_weight=weight) + 1e-9
    assert interval <= random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=0.1) + 0.1 + 1e-9
    assert interval <= 4 * np.sqrt(lower.upper) + 1e-9
    assert lower.lower / 2 <= smooth + 1e-14
    assert smooth <= 2 * lower.upper + 1e-14
    for bracket in (true, upper):
        assert bracket.lower <= bracket.upper
        assert lower.lower <= bracket.lower + 1e-9
    assert len({(p, g) for p, g in zip(y_prob, upper.predictor, strict=True)}) == len(set(y_prob))


@examples(200)
@given(noiseless(most=40), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(domain, random):
    y_true, y_prob = domain
    order = list(range(y_prob.size))
    random.shuffle(order)
    here, there = calibration_distance(y_true, y_prob), calibration_distance(y_true[order], y_prob[order])
    assert here.upper == pytest.approx(there.upper, abs=1e-12)
    mirrored = calibration_distance(1 - y_true, 1 - y_prob)
    assert here.upper == pytest.approx(mirrored.upper, abs=1e-9)


def test_rows_are_told_apart_by_the_true_distance_only():
    y_true, y_prob = [0, 1, 0, 1], [0.1, 0.1, 0.9, 0.9]
    apart = calibration_distance(y_true, y_prob)
    assert apart.upper == pytest.approx(0.25)
    assert apart.predictor.tolist() == [0.0, 0.5, 0.5, 1.0]
    together = upper_calibration_distance(y_true, y_prob)
    assert together.upper == pytest.approx(0.4)
    assert together.predictor.tolist() == [0.5] * 4


def test_rows_without_weight_stay_where_they_are():
    bracket = calibration_distance([0, 1, 1], [0.3, 0.7, 0.123], sample_weight=[1, 1, 0])
    assert bracket.predictor.tolist() == [0.0, 1.0, 0.123] or bracket.predictor.tolist() == [0.5, 0.5, 0.123]
    assert bracket.predictor[2] == 0.123


@pytest.mark.slow
def test_two_thousand_rows_exactly():
    rng = np.random.default_rng(5)
    y_prob = rng.random(2000)
    y_true = (rng.random(2000) < y_prob**1.5).astype(float)
    bracket = calibration_distance(y_true, y_prob)
    assert bracket.exact
    assert bracket.certificate.lower < bracket.upper < bracket.certificate.lower + 10 / 2000
    assert check_predictor(bracket.predictor, y_true, y_prob) == pytest.approx(bracket.upper, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1e-3, 0.3])
def test_a_time_limit_leaves_a_certified_bracket(limit):
    rng = np.random.default_rng(0)
    y_prob = rng.random(20_000)
    y_true = (rng.random(20_000) < y_prob).astype(float)
    calibration_distance(y_true[:100], y_prob[:100], time_limit=limit)  # it is compiled
    start = time.process_time()
    bracket = calibration_distance(y_true, y_prob, time_limit=limit)
    assert time.process_time() - start < limit + 10
    assert not bracket.exact
    assert bracket.certificate.lower <= bracket.lower < bracket.upper
    assert check_predictor(bracket.predictor, y_true, y_prob) == pytest.approx(bracket.upper, abs=1e-12)


def test_an_interrupt_reaches_the_search():
    clock = TimeLimit(None)
    seen = []

    def kernel(stop):
        while not stop[0]:
            time.sleep(0.01)
        seen.append("stopped")
        return "result"

    threading.Timer(0.1, lambda: clock.stop.__setitem__(0, 1)).start()
    assert clock.run(kernel, clock.stop) == "result"
    assert seen == ["stopped"]
    assert clock.up


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "soon"])
def test_time_limits_that_are_refused(limit):
    with pytest.raises(InputError, match="time_limit"):
        calibration_distance([0, 1], [0.2, 0.8], time_limit=limit)
    with pytest.raises(InputError, match="time_limit"):
        upper_calibration_distance([0, 1], [0.2, 0.8], time_limit=limit)


def test_a_predictor_of_another_length_is_refused():
    with pytest.raises(InputError, match="predictor"):
        check_predictor([0.5], [0, 1], [0.2, 0.8])


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", NETWORKS)
def test_real_files(name):
    import polars as pl

    frame = pl.read_parquet(FOLDER / name)
    y_true, y_prob = frame["y_true"].to_numpy(), frame["y_prob"].to_numpy()
    bracket = upper_calibration_distance(y_true, y_prob, time_limit=1)
    assert bracket.upper - bracket.lower < 6e-4
    assert bracket.exact == (name not in {"cifar10_densenet121.parquet", "imagenet_efficientnet_b7.parquet"})


@examples(200)
@given(sample=samples(max_rows=6, fractional=False), data=st.data())
def test_rows_of_one_element_are_one(sample, data):
    """The distance of a domain with named elements is that of all partitions of its elements, in fractions."""
    y_true, y_prob, weight = sample
    y_prob = y_prob.round(1)
    name = np.array([f"{v}{data.draw(st.sampled_from('ab'))}" for v in y_prob])
    found = calibration_distance(y_true, y_prob, sample_weight=weight, element=name)
    names, at = np.unique(name, return_inverse=True)
    share = np.ones_like(y_prob) if weight is None else weight
    mass = np.bincount(at, share)
    ones, first, carries = np.bincount(at, share * y_true), np.unique(at, return_index=True)[1], mass > 0.0
    mass, ones, first = mass[carries], ones[carries], first[carries]
    rate, v = ones / mass, y_prob[first]
    least = float(exact.calibration_distance(np.clip(rate, 0, 1), v, mass))
    assert found.lower - 1e-9 <= least <= found.upper + 1e-9
    assert all(np.ptp(found.predictor[at == j]) == 0.0 for j in range(names.size))
    assert found.upper >= calibration_distance(y_true, y_prob, sample_weight=weight).lower - 1e-9


def test_an_element_has_one_prediction_and_a_name():
    with pytest.raises(InputError, match=r"y_prob: row 2 is .*0\.9.* but row 0 of its element is .*0\.4"):
        calibration_distance([0, 1, 1], [0.4, 0.4, 0.9], element=["a", "b", "a"])
    with pytest.raises(InputError, match="element: row 1 has no value"):
        calibration_distance([0, 1, 1], [0.4, 0.4, 0.9], element=["a", None, "c"])
    with pytest.raises(InputError, match="element: has shape"):
        calibration_distance([0, 1, 1], [0.4, 0.4, 0.9], element=["a", "b"])
