"""Samples that break careless code: ties, neighbours one ulp apart, exact 0 and 1, weights over many orders."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

ULPS = [
    0.0,
    np.nextafter(0.0, 1.0),
    0.5,
    np.nextafter(0.5, 1.0),
    np.nextafter(0.5, 0.0),
    np.nextafter(1.0, 0.0),
    1.0,
]
_PREDICTIONS = st.one_of(
    st.floats(0.0, 1.0),
    st.sampled_from(ULPS),
    st.integers(0, 10).map(lambda k: k / 10),
    st.integers(0, 30).map(lambda k: 0.3 + k * 1e-9),
)
_RATES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
_WEIGHTS = st.one_of(st.floats(0.0, 3.0), st.integers(-6, 6).map(lambda e: 10.0**e), st.sampled_from([0.0, 1.0]))
_CHOSEN = 8  # rows that are searched for and shrunk one by one: choosing takes longer than most of what is tested


def examples(asked):
    """How many a test draws in the long run; the profile (conftest.py) says what share of them another run draws."""
    percent = settings().max_examples
    return settings(max_examples=max(min(asked, percent), asked * percent // 100))


@st.composite
def samples(draw, max_rows=40, weights=True, fractional=True):
    """Draw (y_true, y_prob, sample_weight) as arrays; the weight is None or has a positive sum.

    Up to eight rows are chosen each by itself; the others come from the same kinds by one seed, some of them as copies.
    """
    n = draw(st.integers(1, min(max_rows, _CHOSEN)))
    more = draw(st.integers(0, max_rows - n)) if max_rows > n else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1))) if more else None
    y_prob = np.array(draw(st.lists(_PREDICTIONS, min_size=n, max_size=n)))
    if more:
        y_prob = np.append(y_prob, _more_predictions(rng, y_prob, more))
    kind = draw(st.sampled_from(["binary", "binary", "rates", "ones", "zeros"]))
    weighted = weights and draw(st.booleans())
    if kind == "rates" and fractional:
        y_true = np.array(draw(st.lists(_RATES, min_size=n, max_size=n)))
        if more:
            y_true = np.append(y_true, np.where(rng.random(more) < 0.5, rng.integers(0, 2, more), rng.random(more)))
        # Event rates at hard predictions need weights: the door takes them for swapped arguments.
        weighted = weighted or bool(np.isin(y_prob, (0.0, 1.0)).all())
        if not weights:
            y_true = np.round(y_true) if weighted else y_true
            weighted = False
    elif kind == "ones":
        y_true = np.ones(n + more)
    elif kind == "zeros":
        y_true = np.zeros(n + more)
    else:
        y_true = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
        if more:
            y_true = np.append(y_true, rng.integers(0, 2, more))
    if not weighted:
        return y_true, y_prob, None
    weight = np.array(draw(st.lists(_WEIGHTS, min_size=n, max_size=n)))
    if more:
        of_kind = [3.0 * rng.random(more), 10.0 ** rng.integers(-6, 7, more), rng.integers(0, 2, more)]
        weight = np.append(weight, rng.choice(of_kind))
    weight[draw(st.integers(0, n - 1))] = 1.0
    return y_true, y_prob, weight


def _more_predictions(rng, chosen, size):
    """Rows of every kind, of one kind, or from the ends and their neighbourhood at every order of magnitude."""
    tiny = 10.0 ** rng.uniform(-320.0, 0.0, size)
    kinds = [
        rng.random(size),
        np.where(rng.random(size) < 0.5, tiny, 1.0 - tiny),
        rng.choice(ULPS, size),
        rng.integers(0, 11, size) / 10,
        0.3 + rng.integers(0, 31, size) * 1e-9,
        rng.choice(chosen, size),
    ]
    of_one = rng.integers(0, 2 * len(kinds))
    return kinds[of_one] if of_one < len(kinds) else np.choose(rng.integers(0, len(kinds), size), kinds)


def drawn_classes(n, k, seed, sharpen=1.0):
    """Labels drawn from class probabilities, and these probabilities made sharper than they are."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(k, 0.7), n)
    label = np.minimum((rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1), k - 1)
    said = table**sharpen
    return label, said / said.sum(axis=1, keepdims=True)
