"""CORP against its definition, and its parts against their sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.measures.corp import corp_decomposition
from tests.oracles import corp as oracle
from tests.strategies import examples, samples

SCORES = st.sampled_from(["brier", "log"])


@pytest.mark.slow
@examples(300)
@given(sample=samples(max_rows=14), score=SCORES)
def test_equals_its_definition(sample, score):
    y_true, y_prob, weight = sample
    if weight is not None:
        weight[weight < 1e-9] = 0.0  # beside a weight of 1, the definition's own mean rounds to 0 or 1
    parts = corp_decomposition(y_true, y_prob, sample_weight=weight, score=score)
    with np.errstate(all="ignore"):
        expected = oracle.corp_decomposition(y_true, y_prob, weight, score)
    found = (parts.mean_score, parts.miscalibration, parts.discrimination, parts.uncertainty)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@examples(500)
@given(sample=samples(), score=SCORES)
def test_parts_add_up(sample, score):
    y_true, y_prob, weight = sample
    parts = corp_decomposition(y_true, y_prob, sample_weight=weight, score=score)
    assert parts.miscalibration >= 0
    assert 0 <= parts.discrimination <= parts.uncertainty + 1e-12
    assert (np.diff(parts.recalibrated) >= 0).all()
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    if np.isfinite(parts.mean_score):
        assert total == pytest.approx(parts.mean_score, rel=1e-12, abs=1e-12)
    else:
        assert total == np.inf


@pytest.mark.parametrize("score", ["brier", "log"])
def test_calibrated_levels_have_no_miscalibration(score):
    parts = corp_decomposition([0, 0, 0, 1, 1, 1, 1, 0], np.repeat([0.25, 0.75], 4), score=score)
    assert parts.miscalibration == pytest.approx(0, abs=1e-15)
    assert parts.discrimination > 0.05
    exact = corp_decomposition([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], score=score)
    assert exact.miscalibration == pytest.approx(0, abs=1e-15)
    assert exact.discrimination == pytest.approx(0, abs=1e-15)


def test_one_wrong_certainty_is_infinitely_bad():
    parts = corp_decomposition([0, 1], [1.0, 0.5], score="log")
    assert parts.mean_score == np.inf
    assert parts.miscalibration == np.inf
    assert np.isfinite(parts.discrimination)


def test_a_tiny_weight_does_not_become_an_infinite_surprise():
    parts = corp_decomposition([1, 0], [0.4, 0.5], sample_weight=[1, 1e-20], score="log")
    assert parts.uncertainty == pytest.approx(4.6e-19, rel=0.1)
    assert np.isfinite(parts.miscalibration)


def test_unknown_scores_are_refused():
    with pytest.raises(InputError, match="score: is 'crps'"):
        corp_decomposition([0, 1], [0.2, 0.3], score="crps")
