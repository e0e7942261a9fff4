"""The consistency band, and what is said about the share outside: true of calibrated predictions, rare events too."""

import numpy as np
import pytest

from calibrant import audit
from calibrant.door.ends import confidence
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.findings.reliability import (
    Strata,
    envelope,
    fixed_envelope,
    noise_bandwidth,
    redraw,
    redraw_groups,
    reflected_gaussian,
    reliability,
    stratify,
)


def drawn(v, rng, weight=None):
    return Sample.from_columns((rng.random(v.size) < v).astype(float), v, weight)


def test_no_event_among_rare_ones_is_within_the_band():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.5e-3, 1.5e-3, 200)
    for weight in (None, np.full(200, 3.7), 10.0 ** rng.uniform(-1.5, 1.5, 200)):
        sample = Sample.from_columns(np.zeros(200), v, weight)
        assert reliability(sample, 0.05, 199, rng, outcome_free=True).outside == 0.0
    assert "within the 95% band of a calibrated predictor's curve" in " ".join(
        audit(np.zeros(200), v, random_state=0).summary().split()
    )


@pytest.mark.parametrize("weight", [None, 1.0, 3.7, 1e-9])
def test_equal_counts_give_equal_curves(weight):
    """Redrawn outcomes that happen to be the observed ones make the observed curve, so that ties are ties."""
    rng = np.random.default_rng(1)
    v = rng.uniform(0.0, 2e-3, 500)
    sample = drawn(v, rng, None if weight is None else np.full(500, weight))
    strata = stratify(sample, noise_bandwidth(sample) / 16)
    smoother = rng.random((20, strata.mass.size))

    class Observed:
        """Draws what was observed."""

        def __init__(self):
            ones = (strata.residual + strata.mass * strata.prediction) / strata.weight
            self.left = iter(np.rint(ones))

        def binomial(self, _rows, _chance, block):
            return np.full(block, next(self.left))

    curves = redraw(strata, smoother, 7, Observed())
    assert np.abs(curves - curves[:, :1]).max() <= 1e-13


def test_the_bandwidth_leaves_outcomes_alone():
    rng = np.random.default_rng(0)
    v = rng.random(500)
    widths = {reliability(drawn(v, rng), 0.05, 0, rng).bandwidth for _ in range(3)}
    assert len(widths) == 1
    # It is where the mean size of the smoothed noise of calibrated outcomes equals it.
    width = widths.pop()
    t = np.linspace(0.0, 1.0, 2001)
    density = np.exp(-0.5 * ((t[:, None] - v) / width) ** 2) / (width * np.sqrt(2 * np.pi)) / v.size
    noise = np.sqrt((density**2 * v * (1 - v)).sum(axis=1))
    slope = noise.mean() / (np.sqrt(2.0) * width)
    assert slope == pytest.approx(0.3, rel=0.1)  # of the noise; that of a calibrated curve is 1


@pytest.mark.slow
def test_the_sum_of_weights_on_ones_has_the_variance_of_the_rows():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.2, 0.2001, 400)
    weight = rng.uniform(1.0, 1.4, 400)
    sample = drawn(v, rng, weight)
    strata = stratify(sample, 0.1)
    assert strata.mass.size == 1
    noise = redraw(strata, np.ones((1, 1)), 20_000, rng)[0, 1:]
    share = weight / weight.sum()
    assert noise.std() == pytest.approx(np.sqrt((share**2 * v * (1 - v)).sum()), rel=0.02)
    assert abs(noise.mean()) < 0.02 * noise.std()


SETTINGS = {
    "rare": lambda rng: (rng.uniform(0.5e-3, 1.5e-3, 200), None),
    "extreme": lambda rng: (rng.beta(0.05, 0.05, 200), None),
    "five values": lambda rng: (rng.choice([0.05, 0.2, 0.5, 0.8, 0.99], 300), None),
    "weighted": lambda rng: (rng.random(100), 10.0 ** rng.uniform(-1.5, 1.5, 100)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_calibrated_predictions_seldom_leave_it(name):
    claims, runs = 0, 80
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        v, weight = SETTINGS[name](rng)
        table = reliability(drawn(v, rng, weight), 0.05, 99, rng, outcome_free=True)
        claims += table.leaves_band
    assert claims <= 10  # of 80 at 5%: one in 300 tests of a true claim would fail


@pytest.mark.slow
@pytest.mark.parametrize("by_outcome", [True, False])
def test_calibrated_rows_whose_weights_tell_outcomes_seldom_leave_it(by_outcome):
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = 1.0 / (1.0 + np.exp(-rng.uniform(-4.0, 1.0, 3_000)))
        y = (rng.random(3_000) < v).astype(float)
        keep = np.where(y == 1.0, 0.9, 0.1) * (1.0 if by_outcome else np.exp(-rng.random(3_000)))
        kept = rng.random(3_000) < keep
        rows = Rows.of(y[kept], v[kept], 1.0 / keep[kept])
        claims += reliability(rows.sample, 0.05, 99, rng, rows).leaves_band
    assert claims <= 7  # of 40 at 5%: more with probability 0.001


def test_the_envelope_holds_its_share_of_the_curves_everywhere():
    """By definition, curve by curve; the observed one is treated as the others are."""
    rng = np.random.default_rng(0)
    curves = np.cumsum(rng.standard_normal((50, 200)) ** 3, axis=0)
    low, high = (end[:, None] for end in envelope(curves, 0.05))
    inside = ((curves >= low - 1e-9) & (curves <= high + 1e-9)).all(axis=0)
    assert inside.sum() == 190
    order = rng.permutation(200)
    for one, other in zip(envelope(curves[:, order], 0.05), (low, high), strict=True):
        assert one == pytest.approx(other[:, 0], abs=1e-12)


@pytest.mark.slow
def test_a_bent_predictor_leaves_it():
    rng = np.random.default_rng(0)
    v = rng.random(2000)
    found = audit((rng.random(2000) < v**1.5) * 1, v, n_resamples=199, random_state=0)
    assert found.reliability.leaves_band
    assert found.reliability.outside > 0.1
    assert "leaves the 95% band of a calibrated predictor's curve over" in " ".join(found.summary().split())


def test_weights_that_differ_at_one_prediction_leave_no_band():
    """One row may carry nearly all the weight of a prediction; sums do not tell, and its outcome alone would decide."""
    v, weight = np.full(200, 0.1), np.r_[200.0, np.ones(199)]
    for free, why in ((True, "weigh differently"), (False, "weights may tell outcomes")):
        rng = np.random.default_rng(0)
        table = reliability(drawn(v, rng, weight), 0.05, 199, np.random.default_rng(0), outcome_free=free)
        assert table.band_lower is None
        assert table.outside is None
        assert why in table.no_band
    even = reliability(drawn(v, np.random.default_rng(0), np.full(200, 3.7)), 0.05, 199, np.random.default_rng(0))
    assert even.band_lower is not None


@pytest.mark.parametrize("step", [2.0**-53, 4e-15])
def test_predictions_an_ulp_apart_are_drawn(step):
    v = 0.75 + step * np.arange(31)
    for seed in range(20):
        weight = np.random.default_rng(seed).random(31)
        found = reliability(Sample.from_columns(np.arange(31) % 2, v, weight), 0.05, 0, np.random.default_rng(0))
        assert found.mass.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("level", "said"), [(0.05, "95%"), (0.025, "97.5%"), (0.125, "87.5%"), (1e-17, "99.999999999999999%"), (0.1, "90%")]
)
def test_confidence_is_told_to_its_last_digit(level, said):
    assert confidence(level) == said


@pytest.mark.parametrize("n", [2, 3, 40, 400])
def test_the_isotonic_curve_is_a_number_between_the_smallest_doubles(n):
    y_prob = np.arange(n) * 5e-324
    found = audit(np.arange(n) >= n // 2, y_prob, n_resamples=0, random_state=0).reliability
    assert ((found.isotonic >= 0.0) & (found.isotonic <= 1.0)).all()
    assert (np.diff(found.isotonic) >= 0.0).all()
    assert (np.diff(found.prediction) >= 0.0).all()


@pytest.mark.parametrize("count", [2.0, 3.0, 7.0])
def test_unequal_weights_in_a_stratum_are_redrawn_with_their_variance(count):
    """The variance of sum w y is p (1 - p) sum w^2, however few rows there are."""
    one = np.ones(1)
    strata = Strata(0.3 * one, 0.3 * one, count * 0.2 * one, count * one, 0.1 * one, 0.2 * one, 0.15 * one)
    curves = redraw(strata, np.ones((1, 1)), 30_000, np.random.default_rng(0))
    assert curves[0, 0] == 0.1
    squares = count * (0.2**2 + 0.15**2)  # of rows' weights, whose mean is 0.2 and whose standard deviation 0.15
    assert curves[0, 1:].var() == pytest.approx(0.21 * squares, rel=0.04)
    assert curves[0, 1:].mean() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("level", [0.05, 0.2, 0.33])
def test_as_many_curves_leave_the_envelope_as_the_level_has_room_for(level):
    curves = np.random.default_rng(0).normal(size=(4, 201)) * np.array([1.0, 5.0, 0.1, 2.0])[:, None]
    low, high = fixed_envelope(curves, np.array([1.0, 5.0, 0.1, 2.0]), level)
    outside = ((curves < low[:, None]) | (curves > high[:, None])).any(axis=0).sum()
    assert outside == np.floor(level * 201 + 1e-9)
    assert (low == -high).all()
    low, high = envelope(curves, level)
    outside = ((curves < low[:, None] - 1e-12) | (curves > high[:, None] + 1e-12)).any(axis=0).sum()
    assert outside == np.floor(level * 201 + 1e-9)
    low, high = fixed_envelope(curves, np.array([1.0, 5.0, 0.0, 2.0]), level)  # a place without noise says nothing
    assert (low[2], high[2]) == (0.0, 0.0)


def test_of_groups_the_signs_have_the_squares_of_the_groups_and_rows_alone_their_variance():
    rng = np.random.default_rng(2)
    v, w, group = np.round(rng.random(40), 1), rng.uniform(0.5, 2.0, 40), np.arange(40) // 4
    y, n = rng.integers(0, 3, 40) / 2.0, np.full(40, 2.0)
    rows = Rows.of(y, v, w, n, group)
    strata = stratify(rows.sample, np.inf)
    smoother = rng.random((3, strata.first.size))
    curves, deviation, alone = redraw_groups(strata, smoother, rows, 2_000, rng)
    share = w * n / (w * n).sum()
    place = np.searchsorted(strata.first, v)
    of_rows = smoother[:, place] * share * (y - v)
    by_group = np.stack([np.bincount(group, row) for row in of_rows])
    assert curves[:, 0] == pytest.approx(of_rows.sum(axis=1))
    assert deviation == pytest.approx(np.sqrt((by_group**2).sum(axis=1)))
    assert curves[:, 1:].std(axis=1) == pytest.approx(deviation, rel=0.1)
    assert alone == pytest.approx(np.sqrt((smoother[:, place] ** 2 * share**2 * v * (1.0 - v) / n).sum(axis=1)))


def test_the_bandwidth_of_noise_is_where_its_slope_has_the_standard_deviation_that_is_wanted():
    from calibrant.findings import reliability as module

    v = np.linspace(0.2, 0.8, 31)
    sample = Sample.from_columns((v > 0.5).astype(float), v, None)
    width = noise_bandwidth(sample)
    variance, span = (v * (1.0 - v)).sum() / 31**2, 0.6
    noise = span * np.sqrt(variance / (2.0 * np.sqrt(np.pi) * width * span))
    assert noise / (np.sqrt(2.0) * width) == pytest.approx(module._SLOPE, rel=1e-9)


def test_the_kernel_is_a_gaussian_whose_mass_beyond_the_ends_comes_back():
    at, centre = np.linspace(0.0, 1.0, 11), np.array([0.0, 0.03, 0.5, 0.98, 1.0])
    for width in (0.02, 0.3, 0.9):
        images = [sign * centre + 2.0 * shift for shift in range(-8, 9) for sign in (1.0, -1.0)]
        expected = sum(np.exp(-(((at[:, None] - each) / width) ** 2) / 2.0) for each in images)
        found = reflected_gaussian(at, centre, width)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
