"""Murphy diagrams: their integrals are the Brier score's parts, elementary scores by definition, the ROC's hull."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calibrant import corp_decomposition, murphy_diagram
from tests.oracles import decision_loss as oracle
from tests.strategies import examples, samples


@examples(100)
@given(sample=samples(), t=st.integers(0, 30))
def test_integrals_are_the_parts_of_the_brier_score(sample, t):
    y_true, y_prob, weight = sample
    found = murphy_diagram(y_true, y_prob, sample_weight=weight)
    parts = corp_decomposition(y_true, y_prob, sample_weight=weight)
    assert found.integral(found.elementary_score, found.elementary_score_after) == pytest.approx(
        parts.mean_score, abs=1e-12
    )
    spent = found.integral(found.elementary_miscalibration, found.elementary_miscalibration_after)
    assert spent == pytest.approx(parts.miscalibration, abs=1e-12)
    assert found.integral(found.elementary_discrimination) == pytest.approx(parts.discrimination, abs=1e-12)
    assert found.integral(found.elementary_uncertainty) == pytest.approx(parts.uncertainty, abs=1e-12)
    made = found.elementary_miscalibration - found.elementary_discrimination + found.elementary_uncertainty
    assert made == pytest.approx(found.elementary_score, abs=1e-13)
    after = found.elementary_miscalibration_after - found.elementary_discrimination + found.elementary_uncertainty
    assert after == pytest.approx(found.elementary_score_after, abs=1e-13)
    at = found.thresholds[t % found.thresholds.size]
    rows = oracle.shares(*sample)
    by_definition = sum(2 * w * ((1 - at) * y if v < at else at * (1 - y)) for v, y, w in rows)
    assert found.elementary_score[t % found.thresholds.size] == pytest.approx(by_definition, abs=1e-13)


def test_the_roc_curve_and_its_hull():
    rng = np.random.default_rng(0)
    v = np.round(rng.random(300), 2)
    y = rng.random(300) < v**2
    found = murphy_diagram(y, v)
    assert found.area == pytest.approx(roc_auc_score(y, v), abs=1e-14)
    x, z = found.false_positive_rate[found.on_hull][::-1], found.true_positive_rate[found.on_hull][::-1]
    assert (x[0], z[0], x[-1], z[-1]) == (0.0, 0.0, 1.0, 1.0)
    for a in range(x.size - 2):  # concave
        assert (z[a + 1] - z[a]) * (x[a + 2] - x[a + 1]) >= (z[a + 2] - z[a + 1]) * (x[a + 1] - x[a]) - 1e-15
    assert (np.interp(found.false_positive_rate, x, z) >= found.true_positive_rate - 1e-12).all()


def test_one_outcome_has_no_area_and_pictures_are_drawn():
    alone = murphy_diagram([1, 1], [0.2, 0.7])
    assert np.isnan(alone.area)
    rng = np.random.default_rng(0)
    v = rng.random(100)
    found = murphy_diagram(rng.random(100) < v, v)
    assert [ax.get_title().split(":")[0] for ax in found.plot_triptych().axes] == [
        "Reliability",
        "Elementary scores",
        "ROC",
    ]
    assert found.plot().get_ylabel() == "mean elementary score"
    assert "Area under the ROC curve" in found.summary()
