"""Smooth calibration error and its witness, against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import diags_array, vstack

from calibrant import smooth_calibration_error, smooth_calibration_witness, threads
from calibrant.door import sample as door
from calibrant.door.sample import Sample
from calibrant.measures import smooth
from tests.oracles import smooth as oracle
from tests.strategies import examples, samples


def adversarial(n):
    """Half the points near 1/n with label 0, half near 1/2 with alternating labels: keys that leap to and fro."""
    half = np.arange(n // 2)
    y_prob = np.concatenate([(1 + half * 1e-6) / n, 0.5 + half * 1e-9])
    return np.concatenate([np.zeros(half.size), half % 2.0]), y_prob


def check_witness(y_true, y_prob, weight, witness):
    """The witness is feasible to the letter and attains its value; the dual forbids more."""
    w = np.ones_like(y_prob) if weight is None else weight
    gaps = np.diff(witness.knots)
    assert np.all(np.abs(witness.heights) <= 1.0)
    assert np.all(np.abs(np.diff(witness.heights)) <= gaps + 2e-16)
    attained = np.sum(w * (y_true - y_prob) * witness(y_prob)) / w.sum()
    assert witness.value == pytest.approx(max(attained, 0.0), abs=1e-12)
    assert witness.value <= witness.upper <= witness.value + 1e-12


@pytest.mark.slow
@examples(3000)
@given(samples())
def test_equals_the_definition_and_is_proven(sample):
    y_true, y_prob, weight = sample
    value = smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(oracle.smooth_calibration_error(*sample), abs=1e-11)
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(witness.value, abs=1e-12)
    check_witness(y_true, y_prob, weight, witness)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("kind", ["calibrated", "biased", "adversarial", "clustered", "weighted"])
def test_equals_the_sparse_linear_program(n, kind):
    rng = np.random.default_rng(n)
    weight = None
    if kind == "adversarial":
        y_true, y_prob = adversarial(n)
    else:
        y_prob = np.round(rng.beta(0.3, 0.3, n), 3) if kind == "clustered" else rng.random(n)
        y_true = (rng.random(n) < y_prob ** (2.0 if kind == "biased" else 1.0)) * 1.0
        weight = 10 ** rng.uniform(-6, 6, n) if kind == "weighted" else None
    w = np.ones(n) if weight is None else weight
    v, where = np.unique(y_prob, return_inverse=True)
    b = np.bincount(where, w * (y_true - y_prob)) / w.sum()
    m = v.size
    step = diags_array([-np.ones(m - 1), np.ones(m - 1)], offsets=[0, 1], shape=(m - 1, m))
    solution = linprog(-b, A_ub=vstack([step, -step]), b_ub=np.tile(np.diff(v), 2), bounds=(-1, 1), method="highs")
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    check_witness(y_true, y_prob, weight, witness)
    assert witness.value == pytest.approx(-solution.fun, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calibrated", "adversarial", "one value", "ulps", "zero and one"])
def test_many_rows_are_bracketed(kind):
    n = 10**6 if kind == "calibrated" else 2**18
    rng = np.random.default_rng(0)
    y_prob = rng.random(n)
    if kind == "one value":
        y_prob[:] = 0.25
    elif kind == "ulps":
        y_prob = 0.5 + np.arange(n) * 2.0**-53
    elif kind == "zero and one":
        y_prob = np.round(y_prob)
    y_true = (rng.random(n) < 0.1 + 0.8 * y_prob) * 1.0
    if kind == "adversarial":
        y_true, y_prob = adversarial(n)
    witness = smooth_calibration_witness(y_true, y_prob)
    check_witness(y_true, y_prob, None, witness)
    assert smooth_calibration_error(y_true, y_prob) == pytest.approx(witness.value, abs=1e-12)


def test_known_values():
    # One prediction: the whole bias. Predict 1 with label 0 at mass b, 1 - b with label 1 at mass 1 - b: b^2 (2 - b).
    assert smooth_calibration_error([1, 0, 0, 0], [0.5] * 4) == pytest.approx(0.25)
    b = 0.3
    value = smooth_calibration_error([0, 1], [1.0, 1 - b], sample_weight=[b, 1 - b])
    assert value == pytest.approx(b**2 * (2 - b), abs=1e-15)
    assert smooth_calibration_error([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]) == 0.0


def test_callable_witness_is_lipschitz_between_and_beyond_its_knots():
    witness = smooth_calibration_witness([0, 1, 0], [0.2, 0.4, 0.8])
    t = np.linspace(0, 1, 1001)
    assert np.all(np.abs(np.diff(witness(t))) <= np.diff(t) + 1e-12)


def many(rng, n, kind):
    """Sorted predictions with outcomes or event rates: what makes keys drift, return, leap or meet."""
    half = np.arange(n // 2)
    v = {
        "spread": lambda: rng.random(n),
        "grid": lambda: np.round(rng.random(n), 3),
        "edges": lambda: rng.beta(0.05, 0.05, n),
        "rare": lambda: rng.random(n) * 10.0 ** -rng.integers(1, 300),
        "ulps": lambda: 0.5 + np.arange(n) * 2.0**-53,
        "near one": lambda: 1 - rng.random(n) * 1e-6,
        "atoms": lambda: np.where(rng.random(n) < 0.5, 0.0, rng.random(n)),
        "one value": lambda: np.full(n, 0.25),
        "zero and one": lambda: np.round(rng.random(n)),
        "far ends": lambda: np.concatenate([half * 1e-12, 1 - np.arange(n - n // 2) * 1e-12]),
    }[kind]()
    v = np.sort(v)
    y = {
        0: lambda: rng.random(n) < v,
        1: lambda: rng.random(n) < np.clip(v + rng.normal() * 0.1, 0, 1),
        2: lambda: rng.random(n) < 1 - v,
        3: lambda: np.arange(n) // rng.integers(1, n + 1) % 2,
        4: lambda: np.full(n, rng.integers(0, 2)),
        5: lambda: np.clip(v + rng.normal(size=n) * 0.01, 0, 1),
        6: lambda: v,
    }[int(rng.integers(0, 7))]()
    return y * 1.0, v


KINDS = (
    "spread", "grid", "edges", "rare", "ulps", "near one", "atoms", "one value", "zero and one", "far ends"
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@examples(100)
@given(seed=st.integers(0, 2**32 - 1), bins=st.sampled_from([64, 256, 1024, 65536]))
def test_blocks_give_the_value_of_the_pass_by_rows(kind, seed, bins):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 50, 129, 1000, 9000]))
    y, v = many(rng, n, kind)
    weight = rng.exponential(size=n) ** rng.integers(1, 6) if seed % 3 == 0 else np.ones(1)
    outcome = weight * y
    rows = smooth._Rows(smooth.NO_KEYS, v, outcome, weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth, "_MOST_OPEN", 1.0)  # whatever the bins leave open is eaten again
        value = rows.error(bins)
    if value is not None:
        scale = outcome.sum() + (weight * v).sum()
        assert abs(value - smooth._by_rows(v, outcome - weight * v)) <= 2e-15 * scale + 1e-290
        if n < 200:
            of = oracle.smooth_calibration_error(y, v, np.broadcast_to(weight, n))
            total = weight.sum() if weight.size == n else n
            assert value / total == pytest.approx(of, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@examples(100)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_that_two_threads_pool_are_those_that_one_does(kind, seed):
    from calibrant.kernels import blocks

    rng = np.random.default_rng(seed)
    y, v = many(rng, int(rng.choice([2, 129, 1000, 9000])), kind)
    y = np.round(y)
    with pytest.MonkeyPatch.context() as patch:
        for module in (door, smooth, threads):
            patch.setattr(module, "WORTH_A_THREAD", 1)
            patch.setattr(module, "processors", lambda: 2)
        keys = np.sort((v.view(np.uint64) << np.uint64(1)) | y.astype(np.uint64))
        nothing = np.empty(0)
        row, place = smooth._Rows(keys, nothing, nothing, np.ones(1)).parts()
        shared = Sample.of_keys(keys, row, place)
    assert row.size == min(8, -(-y.size // blocks.BLOCK)) + 1
    alone = Sample.of_arrays(y, v)
    for name in ("prediction", "count", "ones"):
        assert np.array_equal(getattr(shared, name), getattr(alone, name))


def test_blocks_are_refused_only_where_keys_cannot_be_told_apart_or_most_rows_are_open():
    v = np.sort(np.random.default_rng(0).random(9000))
    calibrated = (np.random.default_rng(1).random(9000) < v) * 1.0
    assert smooth._Rows(smooth.NO_KEYS, v, calibrated, np.ones(1)).error(1024) is not None
    assert smooth._Rows(smooth.NO_KEYS, v, v.copy(), np.ones(1)).error() is None  # all keys are 0
    assert smooth._Rows(smooth.NO_KEYS, v, np.zeros(9000), np.ones(1)).error(64) is None  # keys only rise
    for bad in (np.nan, np.inf):
        outcome = calibrated.copy()
        outcome[5] = bad
        assert smooth._Rows(smooth.NO_KEYS, v, outcome, np.ones(1)).error() is None


def test_blocks_whose_log_has_no_room_are_left_to_the_pass_by_rows(monkeypatch):
    from calibrant.kernels import blocks

    v = np.sort(np.random.default_rng(0).random(9000))
    rows = smooth._Rows(smooth.NO_KEYS, v, (v > 0.4) * 1.0, np.ones(1))
    monkeypatch.setattr(blocks, "sweep_in_turn", lambda *_: (0.1, -1))
    assert rows._swept(1024) is None


@pytest.mark.parametrize("kind", KINDS)
@examples(100)
@given(seed=st.integers(0, 2**32 - 1), sort=st.sampled_from(["in order", "ties in no order", "in no order"]))
def test_resamples_have_the_error_of_their_rows(kind, seed, sort):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([8, 129, 1000, 9000]))
    y, v = many(rng, n, kind)
    order = {"in order": np.lexsort((y, v)), "ties in no order": np.arange(n), "in no order": rng.permutation(n)}[sort]
    y, v = y[order], v[order]
    weight = rng.exponential(size=n) ** rng.integers(1, 6) if seed % 3 == 0 else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth, "_MANY_AGAIN", 8)
        value = smooth.smooth_error_again(y, v, weight)
    w = np.ones(n) if weight is None else weight
    by_rows = smooth.smooth_error_from_sample(Sample.of_arrays(y, v, weight))
    assert abs(value - by_rows) <= 2e-15 * ((w * y).sum() + (w * v).sum()) / w.sum() + 1e-290


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "calibrated", "overconfident", "alternating", "adversarial", "heavy"])
def test_many_rows_have_one_value_by_every_road(kind, monkeypatch):
    rng, n, weight = np.random.default_rng(0), 2**18 + 77, None
    for module in (door, smooth, threads):  # two of them with an eighth of the rows
        monkeypatch.setattr(module, "WORTH_A_THREAD", 2**18)
    monkeypatch.setattr(smooth, "_STRIDE", 64)
    if kind in KINDS:
        y, v = many(rng, n, kind)
        y = np.round(y)
    elif kind == "alternating":
        y, v = np.arange(n) % 2.0, (np.arange(n) + 0.5) / n
    elif kind == "adversarial":
        y, v = adversarial(n)
    else:
        v = rng.random(n)
        y = (rng.random(n) < (0.2 + 0.6 * v if kind == "overconfident" else v)) * 1.0
        weight = rng.exponential(size=n) ** 5 if kind == "heavy" else None
    order = rng.permutation(y.size)
    y, v = y[order], v[order]
    value = smooth_calibration_error(y, v, sample_weight=weight)
    for module in (door, smooth):
        monkeypatch.setattr(module, "processors", lambda: 1)
    monkeypatch.setattr("calibrant.threads.processors", lambda: 1)
    assert smooth_calibration_error(y, v, sample_weight=weight) == value
    sample = Sample.from_columns(y, v, weight)
    assert smooth.smooth_error_from_sample(sample) == value
    w = np.ones(1) if weight is None else weight
    scale = (w * y).sum() + (w * v).sum()
    by_rows = smooth._by_rows(sample.prediction, sample.residual())
    assert abs(value - by_rows) <= 2e-15 * scale / (y.size if weight is None else weight.sum())


def test_many_rows_of_event_rates_are_no_labels(monkeypatch):
    rng = np.random.default_rng(0)
    y_prob, y_true = rng.random(40), rng.choice([0.25, 0.75], 40)
    expected = smooth_calibration_error(y_true, y_prob)
    monkeypatch.setattr(smooth, "_MANY", 1)
    assert smooth_calibration_error(y_true, y_prob) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("n", [7, 8, 9])
@pytest.mark.parametrize("away", [-0.01, 0.01])
def test_of_many_rows_a_witness_is_on_the_right_side_of_the_error_by_blocks_as_well(n, away, monkeypatch):
    """The same number by two roads, each rounded in its own way: what is proved contradicts neither."""
    y_prob = np.linspace(0.1, 0.5, n)
    alone = smooth_calibration_witness(np.ones(n), y_prob)  # heights of 1 attain the mean error, 0.7
    assert alone.value == pytest.approx(0.7, abs=1e-12) == alone.upper
    monkeypatch.setattr(smooth, "_MANY", 8)
    monkeypatch.setattr(smooth, "smooth_error_from_sample", lambda _sample: 0.7 + away)
    both = smooth_calibration_witness(np.ones(n), y_prob)
    moved = away if n >= 8 else 0.0
    assert both.value == pytest.approx(0.7 + min(moved, 0.0), abs=1e-12)
    assert both.upper == pytest.approx(0.7 + max(moved, 0.0), abs=1e-12)
