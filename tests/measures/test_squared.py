"""Squared calibration error against its definition, and the bounds of its theorems against simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.inference.bounds import squared_error
from calibrant.inference.bounds.squared_error import (
    squared_error_bootstrap,
    squared_error_interval,
    squared_error_of_counts,
    squared_error_rows,
)
from calibrant.measures.binned import squared_calibration_error
from tests.oracles import squared as oracle
from tests.strategies import examples, samples

BINNING = st.sampled_from([(None, "exact"), (1, "uniform"), (4, "uniform"), (3, "quantile"), (15, "quantile")])


@pytest.mark.slow
@examples(500)
@given(sample=samples(), binning=BINNING, debiased=st.booleans())
def test_equals_its_definition(sample, binning, debiased):
    n_bins, strategy = binning
    y_true, y_prob, weight = sample
    if weight is not None:
        weight[weight < 1e-100] = 0.0  # such rows make no pairs
    options = {"n_bins": n_bins, "strategy": strategy, "debiased": debiased}
    value = squared_calibration_error(y_true, y_prob, sample_weight=weight, **options)
    assert type(value) is float
    assert value == pytest.approx(oracle.squared_calibration_error(*sample, **options), abs=1e-9)


@pytest.mark.parametrize("binning", [(None, "exact"), (4, "uniform"), (3, "quantile")])
@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_tied_rows_with_weights_and_without_have_the_error_of_the_definition(binning, debiased, weighted):
    rng = np.random.default_rng(3)
    y_prob = np.append(rng.choice([0.1, 0.3, 0.35, 0.8], 30), 0.95)  # one row has a prediction of its own
    y_true, weight = rng.integers(0, 2, 31).astype(float), rng.integers(0, 4, 31).astype(float) if weighted else None
    options = {"n_bins": binning[0], "strategy": binning[1], "debiased": debiased}
    value = squared_calibration_error(y_true, y_prob, sample_weight=weight, **options)
    assert value == pytest.approx(oracle.squared_calibration_error(y_true, y_prob, weight, **options), abs=1e-12)
    if weighted:  # rows without weight make no pairs, whatever they are
        kept = weight > 0.0
        least = squared_calibration_error(y_true[kept], y_prob[kept], sample_weight=1e-3 * weight[kept], **options)
        assert binning[1] == "quantile" or value == pytest.approx(least, abs=1e-12)


@examples(200)
@given(sample=samples(weights=False, fractional=False))
def test_is_the_formula_of_the_paper(sample):
    y_true, y_prob, _ = sample
    total = 0.0
    for s in np.unique(y_prob):
        labels = y_true[y_prob == s]
        if labels.size > 1:
            r = labels.mean()
            total += labels.size / y_true.size * ((s - r) ** 2 - r * (1 - r) / (labels.size - 1))
    assert squared_calibration_error(y_true, y_prob) == pytest.approx(total, abs=1e-12)


def test_noise_cancels():
    rng = np.random.default_rng(0)
    y_prob = np.repeat(np.linspace(0.05, 0.95, 40), 5)
    debiased, plug_in = np.array(
        [
            [squared_calibration_error(y, y_prob, debiased=d) for d in (True, False)]
            for y in (rng.random(y_prob.size) < y_prob for _ in range(400))
        ]
    ).T
    assert abs(debiased.mean()) < 3 * debiased.std() / np.sqrt(debiased.size)
    assert plug_in.mean() == pytest.approx(np.mean(y_prob * (1 - y_prob)) / 5, rel=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 5}, "n_bins: is 5; strategy='exact'"),
        ({"strategy": "uniform"}, "n_bins: is None"),
        ({"strategy": "wide"}, "strategy: is 'wide'"),
        ({"n_bins": 0, "strategy": "uniform"}, "n_bins: is 0"),
        ({"debiased": "yes"}, "debiased: is 'yes'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(InputError, match=message):
        squared_calibration_error([0, 1], [0.2, 0.3], **options)


@pytest.mark.parametrize("debiased", [True, False])
def test_interval_inverts_the_bound(debiased):
    n, b, least, level = 400_000, 20, 0.02, 0.1
    found = squared_error_interval(0.003, n, b, least_probability=least, level=level, debiased=debiased)
    delta = level / (4 if debiased else 3)
    c = np.sqrt(3 / (n * least) * np.log(2 * b / delta))

    def deviation(e):
        t = 3 * np.sqrt(b) / n * np.log(n / delta) + delta / n if debiased else b / (2 * n) * np.log(2 * b / delta)
        return c * e + np.sqrt(2 * (1 + c) * e / n * np.log(2 / delta)) + t

    assert 0.003 - found.interval.low == pytest.approx(deviation(found.interval.low), rel=1e-9)
    assert found.interval.high - 0.003 == pytest.approx(deviation(found.interval.high), rel=1e-9)
    # What is inside is not contradicted, what is outside is.
    for e in np.linspace(0, 0.02, 500):
        assert (abs(0.003 - e) <= deviation(e)) == (found.interval.low <= e <= found.interval.high)


@pytest.mark.parametrize("debiased", [True, False])
def test_rows_are_the_least_that_tell_apart(debiased):
    n = squared_error_rows(0.05, 30, debiased=debiased)
    threshold = []
    for rows in (n, n - 1):
        low = squared_error_interval  # the highest estimate below the effect, and the lowest above the limit
        upper_of_small = _estimates(low, rows, (0.5 * 0.05) ** 2, debiased)[1]
        lower_of_large = _estimates(low, rows, 0.05**2, debiased)[0]
        threshold.append(upper_of_small < lower_of_large)
    assert threshold == [True, False]


def _estimates(interval, rows, error, debiased):
    """Range of the estimates whose interval holds the error, by bisection on the public function."""
    ends = []
    for side in (-1, 1):
        near, far = error, error + side * 0.05
        for _ in range(200):
            middle = (near + far) / 2
            found = interval(middle, rows, 30, debiased=debiased)
            near, far = (middle, far) if found.interval.low <= error <= found.interval.high else (near, middle)
        ends.append(near)
    return ends


def test_few_rows_prove_nothing():
    with pytest.raises(InputError, match=r"n_rows: is 100; with 15 outputs the theorem needs 2,8\d\d rows"):
        squared_error_interval(0.01, 100, 15)
    with pytest.raises(InputError, match="least_probability"):
        squared_error_interval(0.01, 10**6, 15, least_probability=0.2)


@pytest.mark.slow
def test_bootstrap_covers_and_holds_its_estimate():
    rng = np.random.default_rng(1)
    outputs = np.linspace(0.1, 0.9, 30)
    truth = np.mean((0.1 * outputs) ** 2)
    hits = 0
    for _ in range(150):
        y_prob = rng.choice(outputs, 3000)
        y_true = (rng.random(3000) < 0.9 * y_prob).astype(float)
        found = squared_error_bootstrap(y_true, y_prob, level=0.1, n_resamples=300, random_state=rng)
        hits += found.interval.low <= truth <= found.interval.high
        assert found.interval.low <= max(found.estimate, 0) <= found.interval.high
    assert 120 <= hits <= 149


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize("off", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("n", [400, 2000])
def test_bootstrap_covers_the_truth_of_five_values(debiased, off, n):
    values = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    rate = values + off * np.array([1, -1, 1, -1, 1])
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        at = rng.integers(0, 5, n)
        found = squared_error_bootstrap(
            rng.random(n) < rate[at], values[at], debiased=debiased, n_resamples=199, random_state=rng
        )
        assert 0.0 <= found.interval.low <= found.estimate <= found.interval.high <= 1.0
        hits += found.interval.low <= np.mean((values - rate) ** 2) <= found.interval.high
    assert hits >= 181  # of 200 with 0.95 each, fewer has a chance of 0.2%


def test_bootstrap_refuses_what_it_cannot_resample():
    rng = np.random.default_rng(0)
    many = rng.permutation(np.repeat(np.linspace(0.01, 0.99, 300), 2))[:400]
    with pytest.raises(InputError, match="needs 20 or more in every group"):
        squared_error_bootstrap(rng.random(400) < many, many)
    rare = np.repeat([0.001, 0.01], 500)
    with pytest.raises(InputError, match="Resampling needs 50 of both"):
        squared_error_bootstrap(rng.random(1000) < rare, rare)
    low = np.repeat(np.linspace(0.01, 0.1, 20), 53)
    with pytest.raises(InputError, match=r"expects 2\.72 surprises in each of 20 groups"):
        squared_error_bootstrap(rng.random(low.size) < low + 0.2, low)
    with pytest.raises(InputError, match="hardly varies within groups"):
        squared_error_bootstrap([1] * 200 + [0] * 200, [0.5] * 200 + [0.45] * 200)
    with pytest.raises(InputError, match="n_resamples"):
        squared_error_bootstrap([0, 1] * 500, [0.5] * 1000, n_resamples=20)


@pytest.mark.parametrize(("rows", "groups"), [(5, {}), (5, {"n_bins": 100, "strategy": "quantile"})])
def test_bootstrap_refuses_many_values_of_five_rows(rows, groups):
    v = np.repeat(np.linspace(0.3, 0.7, 100), rows)
    y = np.random.default_rng(3).random(v.size) < v
    with pytest.raises(InputError, match="needs 20 or more in every group"):
        squared_error_bootstrap(y, v, debiased=False, n_resamples=79, **groups)


@pytest.mark.slow
def test_the_interval_is_the_debiased_one_whichever_estimate_is_shown():
    v = np.repeat(np.linspace(0.3, 0.7, 100), 25)
    above = 0
    for seed in range(60):
        y = np.random.default_rng(seed).random(v.size) < v
        debiased, plug_in = (
            squared_error_bootstrap(y, v, debiased=d, n_resamples=79, random_state=seed) for d in (True, False)
        )
        assert plug_in.interval.low == debiased.interval.low
        assert plug_in.interval.high == max(debiased.interval.high, plug_in.estimate)
        above += plug_in.interval.low > 0.0
    assert above <= 7  # of 60 calibrated samples with 0.05 each, more has a chance of 0.9%


@pytest.mark.slow
def test_bootstrap_covers_where_rates_are_a_quarter_of_many_values():
    v = np.repeat(np.linspace(0.05, 0.2, 100), 48)
    truth, hits = np.mean((0.75 * v) ** 2), 0
    for seed in range(200):
        y = np.random.default_rng(seed).random(v.size) < 0.25 * v
        found = squared_error_bootstrap(y, v, n_resamples=79, random_state=seed)
        hits += found.interval.low <= truth <= found.interval.high
    assert hits >= 181  # of 200 with 0.95 each, fewer has a chance of 0.2%


@pytest.mark.slow
def test_counts_agree_with_rows():
    y_true, y_prob = np.array([0, 1, 1, 0, 1.0]), np.array([0.2, 0.2, 0.7, 0.7, 0.7])
    for debiased in (True, False):
        value = squared_error_of_counts(np.array([[1, 2]]), np.array([[1, 1]]), np.array([0.2, 0.7]), debiased)[0]
        assert value == pytest.approx(squared_calibration_error(y_true, y_prob, debiased=debiased), abs=1e-15)


@pytest.mark.parametrize(("level", "n_resamples"), [(0.05, 199), (0.1, 99), (0.3, 99)])
def test_each_side_of_the_bootstrap_leaves_out_half_of_the_level(monkeypatch, level, n_resamples):
    rng, of_counts = np.random.default_rng(0), squared_error.squared_error_of_counts
    v = np.repeat([0.3, 0.5, 0.7], 200)
    drawn = []
    monkeypatch.setattr(
        squared_error, "squared_error_of_counts", lambda *a, **k: drawn.append(of_counts(*a, **k)) or drawn[-1]
    )
    y = rng.random(v.size) < v + 0.2
    found = squared_error_bootstrap(y, v, level=level, n_resamples=n_resamples, random_state=0)
    redrawn, (centre,), (truth,) = drawn
    bias, wider = redrawn.mean() - truth, np.sqrt(1.0 + 2.0 / ((v * (1.0 - v)).sum() / 3))
    low, high = ((end - centre + bias) / wider + truth + bias for end in found.interval)
    outside = level / 2 * (n_resamples + 1)  # on either side, with the end itself
    assert np.sum(redrawn <= low + 1e-12) == np.sum(redrawn >= high - 1e-12) == pytest.approx(outside)
