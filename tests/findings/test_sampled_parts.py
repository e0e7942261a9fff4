"""Segments and periods to blame where rows were sampled by outcome: as on all rows of the population."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calibrant import audit_table
from calibrant.door.weights import SamplingFractions
from calibrant.findings.action_catalogue import code
from calibrant.findings.decision import blamed, since
from calibrant.findings.word_catalogue import segment_in_words

FRACTIONS = {0: 0.1, 1: 1.0}
OF = {"y_true": "y", "y_prob": "p", "n_resamples": 99, "random_state": 0}


def sampled(seed, fault=None, n=60_000):
    """Rows of a population of which all events and a tenth of the rest were kept; `fault` is where odds are higher."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-3.0, 1.0, n)
    rows = {
        "region": rng.choice(list("NSEW"), n),
        "kind": rng.choice(["a", "b"], n),
        "year": rng.integers(2018, 2024, n),
    }
    off = np.zeros(n, bool) if fault is None else fault(rows)
    event = rng.random(n) < expit(odds + 1.0 * off)
    kept = rng.random(n) < np.where(event, 1.0, 0.1)
    frame = pd.DataFrame({"y": event * 1, "p": expit(odds), **rows})[kept].reset_index(drop=True)
    return frame.assign(weight=np.where(frame.y == 1, 1.0, 10.0))


def mean_error(frame, prediction):
    """Events for each row of the population beyond what is predicted."""
    return float(np.average(frame.y - prediction, weights=frame.weight))


@pytest.fixture(scope="module")
def segment():
    return sampled(1, lambda rows: (rows["region"] == "S") & (rows["kind"] == "a"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"sampling_fractions": FRACTIONS, "by": ["region", "kind"], "unweighted": True},
        {"sampling_fractions": FRACTIONS, "find": ["region", "kind"], "unweighted": True},
        {"sample_weight": "weight", "by": ["region", "kind"]},
    ],
)
def test_the_segment_that_carries_the_error_is_corrected_alone(segment, how):
    found = audit_table(segment, **OF, **how)
    off = (segment.region == "S") & (segment.kind == "a")
    where = blamed(found, found.answer.direction)
    assert where.n_rows == off.sum()
    assert where.happened - where.predicted == pytest.approx(mean_error(segment[off], segment.p[off]))
    rest = where.happened_elsewhere - where.predicted_elsewhere
    assert rest == pytest.approx(mean_error(segment[~off], segment.p[~off]))
    assert found.answer.headline.startswith("Too low for region = S")
    assert "kind = a alone (SegmentRecalibrator)" in found.answer.details[-1]
    names = {"rows": segment, "new_rows": segment}
    exec(code(found.answer, found), names)
    better = names["better"]
    # Without weights the same lines would make it .3 too high. Shrunk to no correction, they leave a little.
    assert abs(mean_error(segment[off], better[off])) < 0.2 * (where.happened - where.predicted)
    assert abs(mean_error(segment[~off], better[~off])) < found.max_distance


def test_a_segment_whose_rows_err_everywhere_is_told_by_its_mean(segment):
    found = audit_table(segment, **OF, sampling_fractions=FRACTIONS, by=["region", "kind"], unweighted=True)
    assert found.segments[0].where == (0.0, 1.0)
    assert segment_in_words(found.segments[0]).startswith("predictions too low by")


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"sampling_fractions": FRACTIONS, "unweighted": True}, {"sample_weight": "weight"}])
def test_an_error_of_late_periods_is_dated(how):
    frame = sampled(2, lambda rows: rows["year"] >= 2022)
    found = audit_table(frame, **OF, **how, drift="year")
    late = frame.year >= 2022
    stretch = since(found, found.answer.direction)
    assert (stretch.first, stretch.n_rows) == (2022, late.sum())
    assert stretch.happened - stretch.predicted == pytest.approx(mean_error(frame[late], frame.p[late]))
    assert found.answer.headline.startswith("Too low since about period 2022:")


@pytest.mark.parametrize("fractions", [(0.1, 1.0), (1.0, 0.3), (0.4, 0.5), (1.0, 1.0)])
def test_no_chances_of_a_mean_vary_more(fractions):
    """Beside any two chances, mixed to that mean; and some mixture comes near."""
    kept = SamplingFractions(*fractions)
    v = np.linspace(0.0, 1.0, 101)
    of = v * (1.0 - v) * ((1.0 - v) / kept.events + v / kept.without)
    mean = np.linspace(0.01, 0.99, 25)
    low, high = np.meshgrid(v, v)
    for rate in mean:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(high == low, 0.5, (rate - low) / (high - low))
        inside = (low <= rate) & (rate <= high) & (share >= 0.0) & (share <= 1.0) & (low < high)
        mixed = ((1.0 - share) * np.interp(low, v, of) + share * np.interp(high, v, of))[inside].max()
        largest = float(kept.most_variance(np.array(rate)))
        assert mixed <= largest * (1.0 + 1e-12)
        assert mixed >= 0.999 * largest


def test_the_size_of_a_sampled_population():
    frame = sampled(3, n=4_000)
    kept = SamplingFractions.read(FRACTIONS)
    rate = float(np.average(frame.y, weights=frame.weight))
    assert kept.population(len(frame), rate) == pytest.approx(frame.weight.sum())
