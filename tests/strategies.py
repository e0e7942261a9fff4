"""Samples that break careless code: ties, neighbours one ulp apart, exact 0 and 1, weights over many orders."""

import numpy as np
from hypothesis import strategies as st

_ULPS = [
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
    st.sampled_from(_ULPS),
    st.integers(0, 10).map(lambda k: k / 10),
    st.integers(0, 30).map(lambda k: 0.3 + k * 1e-9),
)
_RATES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
_WEIGHTS = st.one_of(st.floats(0.0, 3.0), st.integers(-6, 6).map(lambda e: 10.0**e), st.sampled_from([0.0, 1.0]))


@st.composite
def samples(draw, max_rows=40, weights=True, fractional=True):
    """Draw (y_true, y_prob, sample_weight) as arrays; the weight is None or has a positive sum."""
    n = draw(st.integers(1, max_rows))
    y_prob = np.array(draw(st.lists(_PREDICTIONS, min_size=n, max_size=n)))
    kind = draw(st.sampled_from(["binary", "binary", "rates", "ones", "zeros"]))
    weighted = weights and draw(st.booleans())
    if kind == "rates" and fractional:
        y_true = np.array(draw(st.lists(_RATES, min_size=n, max_size=n)))
        # Event rates at hard predictions need weights: the door takes them for swapped arguments.
        weighted = weighted or bool(np.isin(y_prob, (0.0, 1.0)).all())
        if not weights:
            y_true = np.round(y_true) if weighted else y_true
            weighted = False
    elif kind == "ones":
        y_true = np.ones(n)
    elif kind == "zeros":
        y_true = np.zeros(n)
    else:
        y_true = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
    if not weighted:
        return y_true, y_prob, None
    weight = np.array(draw(st.lists(_WEIGHTS, min_size=n, max_size=n)))
    weight[draw(st.integers(0, n - 1))] = 1.0
    return y_true, y_prob, weight


def drawn_classes(n, k, seed, sharpen=1.0):
    """Labels drawn from class probabilities, and these probabilities made sharper than they are."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(k, 0.7), n)
    label = np.minimum((rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1), k - 1)
    said = table**sharpen
    return label, said / said.sum(axis=1, keepdims=True)
