"""Murphy diagrams: their integrals are the Brier score's parts, elementary scores by definition, the ROC's hull."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calibrant import corp_decomposition, murphy_diagram
from calibrant.decisions.murphy import Cost, _told_apart, acting_from, cost_from_sample, threshold_in_words
from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
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


@pytest.mark.parametrize(
    ("threshold", "cut", "least", "told"),
    [
        (0.25, 0.5, 3, ("0.25", "acting from 0.5 on")),
        (0.25, np.inf, 3, ("0.25", "acting on none")),
        (0.123456, 0.123459, 3, ("0.123456", "acting from 0.123459 on")),
        (0.123456, np.inf, 6, ("0.123456", "acting on none")),
        (0.5, np.nextafter(0.5, 1.0), 3, ("0.5", "acting from 0.5000000000000001 on")),
        (5e-324, 0.4, 3, ("just above 0", "acting from 0.4 on")),
        (5e-324, np.inf, 6, ("just above 0", "acting on none")),
        (np.finfo(float).tiny, 0.4, 3, ("2.23e-308", "acting from 0.4 on")),
    ],
)
def test_a_threshold_and_a_cut_are_told_in_digits_that_tell_them_apart(threshold, cut, least, told):
    assert _told_apart(threshold, cut, least) == told


def test_cuts_and_thresholds_in_words():
    assert [acting_from(cut) for cut in (np.inf, 1.0, 0.9999, 0.25)] == [
        "acting on none",
        "acting from 1 on",
        "acting from just below 1 on",
        "acting from 0.25 on",
    ]
    assert [threshold_in_words(t) for t in (0.0, 5e-324, np.finfo(float).tiny, 0.12345)] == [
        "0",
        "just above 0",
        "2.23e-308",
        "0.123",
    ]
    assert threshold_in_words(0.12345, 5) == "0.12345"


def cost(lost, ends, *, worst, cut=0.5, threshold=0.25):
    return Cost(threshold, worst, lost, cut, None if ends is None else Interval(*ends), 0.05).summary()


IN_WORDS = "per row, a missed event counting 1 - t and a needless action t at threshold t (95% confidence)."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        # A hundredth, in needless actions of a quarter each, is 40 in 1,000 rows; in missed events of 3/4, 13.
        ((0.01, None, False), "needless actions), acting from 0.25 on loses as much as 40 needless actions in 1,000 "),
        ((0.01, (0.005, 0.02), False), "In the population it is at least 20 and at most 80 (95% confidence)."),
        ((0.01, (0.0, 0.02), False), "In the population it is at most 80 (95% confidence)."),
        ((0.0, (0.0, 0.02), False), "In the population another is better by at most 0.02 per row (95% confidence)."),
        ((0.01, (0.005, 0.02), True), f"some threshold costs at least 0.005 and none more than 0.02 {IN_WORDS}"),
        ((0.01, (0.0, 0.02), True), f"In the population no threshold costs more than 0.02 {IN_WORDS}"),
        ((0.0, None, False), "At the threshold 0.25 no other cut is better on these rows."),
        ((0.0, None, True), "At no threshold is another cut better on these rows."),
        (
            (0.01, None, True),
            "The costliest threshold is 0.25 (a missed event being worth 3 needless actions): a",
        ),
        ((0.01, None, True, 0.1), "as much as 13 missed events in 1,000 rows, against acting from 0.1 on."),
    ],
)
def test_a_cost_is_told_in_the_error_that_the_best_cut_avoids(given, said):
    lost, ends, worst, *cut = given
    summary = cost(lost, ends, worst=worst, **({"cut": cut[0]} if cut else {}))
    assert said in summary
    assert ("population" in summary) == (ends is not None)
    assert summary == summary.rstrip()


@pytest.mark.parametrize(
    ("y", "v", "threshold", "lost"),
    [
        ((1, 0), (0.4, 0.4), np.nextafter(0.4, 1.0), 0.1),  # just above 0.4 an event worth 0.6 is missed for 0.4
        ((0, 1), (0.9, 0.9), 0.9, 0.4),  # at 0.9 a needless action is worth 0.9, for an event of 0.1
        ((1, 0), (0.2, 0.4), np.nextafter(0.2, 1.0), 0.4),  # all of an event's worth, 0.8 of two rows
        ((1, 1), (5e-324, 1.0), np.nextafter(5e-324, 1.0), 0.5),
        ((0, 1), (1.0, 1.0), 0.0, 0.0),  # no prediction is below 1
    ],
)
def test_the_costliest_threshold_is_a_prediction_or_just_above_one(y, v, threshold, lost):
    found = cost_from_sample(Sample.from_columns(y, v), 0.05, with_bounds=False)
    assert (found.worst, found.regret_interval, found.threshold) == (True, None, threshold)
    assert found.lost == pytest.approx(lost)
