"""Recalibrators of one probability, against their definitions."""

import pickle
import re
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant import InputError, interval_calibration_error
from calibrant.recalibration import (
    AveragedScaling,
    BetaScaling,
    HistogramBinning,
    IsotonicScaling,
    NearestCalibrated,
    OffsetScaling,
    PlattScaling,
    PolynomialScaling,
    ScalingBinning,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from calibrant.recalibration.curves.base import maps
from calibrant.recalibration.curves.scaling import bin_edges
from tests.maps import BINARY
from tests.oracles import corp as isotonic_oracle
from tests.oracles import recalibration as oracle
from tests.registered import TOOL
from tests.strategies import examples, samples

EVERY = pytest.mark.parametrize("recalibrator", BINARY, ids=str)
CASES = examples(60)


def ones_like(weight, y_prob):
    return np.ones_like(y_prob) if weight is None else weight


@pytest.mark.parametrize("kind", maps().values(), ids=maps())
def test_nothing_that_follows_from_its_registration_is_missing(kind):
    assert TOOL.faults_of(kind) == []


@pytest.mark.parametrize("kind", [each for each in maps().values() if each.name not in TOOL.BY_PARTS], ids=str)
@CASES
@given(sample=samples())
# What the ends are clipped to decides.
@example(sample=(np.zeros(19), np.r_[np.zeros(15), 1 - 3e-12, 1 - 2e-12, 1, 1], None))
def test_a_map_equals_its_oracle(kind, sample):
    y_true, y_prob, weight = sample
    slowly = getattr(import_module(f"tests.oracles.{TOOL.oracles()[kind.name]}"), kind.name)
    at = np.append(y_prob, [0.0, 0.25, 1.0])
    wanted = slowly(y_true, y_prob, ones_like(weight, y_prob), at)
    assert kind.estimator().fit(y_prob, y_true, weight).predict(at) == pytest.approx(wanted, abs=1e-9)


@EVERY
@CASES
@given(sample=samples(), at=st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_any_sample_gives_probabilities_and_a_sentence(recalibrator, sample, at):
    y_true, y_prob, weight = sample
    fitted = clone(recalibrator).fit(y_prob, y_true, weight)
    for points in (np.array(at), y_prob, np.array([0.0, 1.0])):
        found = fitted.predict(points)
        assert found.shape == points.shape
        assert ((found >= 0) & (found <= 1)).all()
    assert fitted.summary().endswith(".")
    assert "nan" not in fitted.summary()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(y_prob).tolist() == fitted.predict(y_prob).tolist()


@EVERY
@CASES
@given(sample=samples(), seed=st.integers(0, 9))
@example(sample=(np.array([0.0, 0.72949656]), np.array([5e-324, 0.0]), None), seed=0)
def test_order_and_units_of_weight_do_not_matter(recalibrator, sample, seed):
    y_true, y_prob, weight = sample
    if isinstance(recalibrator, ScalingBinning | NearestCalibrated):
        y_prob = np.round(y_prob, 3)  # a mean that falls on an edge may fall to either side
        if weight is None and np.isin(y_prob, (0.0, 1.0)).all():  # rates at hard predictions are refused without
            weight = np.ones(y_prob.size)
    order = np.random.default_rng(seed).permutation(y_prob.size)
    first = clone(recalibrator).fit(y_prob, y_true, weight).predict(y_prob)
    second = clone(recalibrator).fit(y_prob[order], y_true[order], None if weight is None else weight[order])
    if weight is None or weight.min() > 1e-3:
        assert second.predict(y_prob) == pytest.approx(first, abs=1e-6)


@pytest.mark.slow
@examples(200)
@given(sample=samples())
def test_platt_is_the_likeliest_curve(sample):
    y_true, y_prob, weight = sample
    weight = np.clip(ones_like(weight, y_prob), 0.1, 1e3)
    y_true = np.round(y_true, 1)
    y_prob = np.clip(np.round(y_prob, 2), 0.01, 0.99)
    fitted = PlattScaling().fit(y_prob, y_true, weight)
    if fitted.smoothed_ or np.ptp(y_prob) == 0:
        return
    p = np.clip(y_prob, 1e-12, 1 - 1e-12)
    slope, intercept = oracle.platt(y_true, y_prob, weight)
    found = oracle.logistic_loss(fitted.slope_ * np.log(p / (1 - p)) + fitted.intercept_, y_true, weight)
    assert found <= oracle.logistic_loss(slope * np.log(p / (1 - p)) + intercept, y_true, weight) + 1e-10


@pytest.mark.slow
def test_platt_is_converged():
    rng = np.random.default_rng(0)
    y_prob = rng.beta(4, 0.7, 50_000)  # enough rows for the rough fit first
    y_true = (rng.random(y_prob.size) < y_prob**1.5).astype(float)
    fitted = PlattScaling().fit(y_prob, y_true)
    slope, intercept = oracle.platt(y_true, y_prob, np.ones_like(y_prob))
    assert (fitted.slope_, fitted.intercept_) == pytest.approx((slope, intercept), rel=1e-7, abs=1e-7)


@examples(200)
@given(sample=samples(max_rows=15))
def test_beta_is_the_best_of_its_kind(sample):
    y_true, y_prob, weight = sample
    weight = ones_like(weight, y_prob)
    y_prob = np.round(y_prob, 2)
    fitted = BetaScaling().fit(y_prob, y_true, weight)
    assert fitted.a_ >= 0
    assert fitted.b_ >= 0
    if fitted.smoothed_ or (weight < 1e-3 * weight.max()).any() or np.unique(y_prob).size <= 2:
        return
    lp, lq = np.log(np.clip(y_prob, 1e-12, 1)), np.log(np.clip(1 - y_prob, 1e-12, 1))

    def loss(a, b, c):
        return oracle.logistic_loss(a * lp - b * lq + c, y_true, weight)

    best = loss(fitted.a_, fitted.b_, fitted.c_)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 0.1, 1.0):
        for step in rng.normal(size=(60, 3)) * scale:
            trial = np.array([fitted.a_, fitted.b_, fitted.c_]) + step
            assert best <= loss(max(trial[0], 0), max(trial[1], 0), trial[2]) + 1e-9


@examples(300)
@given(sample=samples())
def test_temperature_is_the_best_on_a_fine_grid(sample):
    y_true, y_prob, weight = sample
    weight = ones_like(weight, y_prob)
    t = TemperatureScaling().fit(y_prob, y_true, weight).temperature_
    p, q = np.clip(y_prob, 1e-12, 1), np.clip(1 - y_prob, 1e-12, 1)
    x = np.log(p / q)
    best = oracle.logistic_loss(x / t, y_true, weight)
    for other in np.append(np.geomspace(1e-3, 1e3, 200), [0.999 * t, 1.001 * t]):
        if 1e-3 <= other <= 1e3:
            assert best <= oracle.logistic_loss(x / other, y_true, weight) + 1e-9


@examples(300)
@given(sample=samples(), degree=st.integers(1, 3))
def test_no_polynomial_fits_better(sample, degree):
    y_true, y_prob, weight = sample
    weight = np.maximum(ones_like(weight, y_prob), 0.1)
    y_prob = np.round(y_prob, 1)
    if np.unique(y_prob).size <= degree:
        return
    fitted = PolynomialScaling(degree).fit(y_prob, y_true, weight)
    vander = np.vander(y_prob - y_prob.mean(), degree + 1)
    root = np.sqrt(weight)[:, None]
    plain = vander @ np.linalg.lstsq(vander * root, y_true * root[:, 0], rcond=None)[0]
    assert fitted.predict(y_prob) == pytest.approx(np.clip(plain, 0, 1), abs=1e-5)


@examples(300)
@given(sample=samples(max_rows=15))
def test_isotonic_equals_the_max_min_formula(sample):
    y_true, y_prob, weight = sample
    weight = ones_like(weight, y_prob)
    weight = np.where(weight < 1e-100, 0.0, weight)  # a row without a share is no row
    fitted = IsotonicScaling().fit(y_prob, y_true, weight)
    values, curve = isotonic_oracle.isotonic(y_true, y_prob, weight)
    assert fitted.predict(values) == pytest.approx(curve, abs=1e-9)


def test_a_polynomial_fitted_to_next_to_nothing_still_gives_probabilities():
    fitted = PolynomialScaling(4).fit([0.0, 5e-300, 1e-299, 1e-299], [0, 1, 0, 1])
    found = fitted.predict([0.0, 1e-299, 0.5, 1.0])
    assert ((found >= 0.0) & (found <= 1.0)).all()


def test_isotonic_equals_scikit_learn_between_knots():
    rng = np.random.default_rng(0)
    y_prob = rng.random(500)
    y_true = (rng.random(500) < y_prob**2).astype(float)
    at = rng.random(2000)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(y_prob, y_true).predict(at)
    assert IsotonicScaling().fit(y_prob, y_true).predict(at) == pytest.approx(theirs, abs=1e-12)


@examples(300)
@given(sample=samples(weights=False), n_bins=st.integers(1, 20), strategy=st.sampled_from(["quantile", "ceil"]))
def test_histogram_bins_equal_their_definition(sample, n_bins, strategy):
    y_true, y_prob, _ = sample
    fitted = HistogramBinning(n_bins, strategy).fit(y_prob, y_true)
    definition = oracle.array_split if strategy == "quantile" else oracle.ceil_parts
    edges = definition(y_prob, n_bins)
    assert fitted.edges_.tolist() == edges.tolist()
    for p, value in zip(y_prob, fitted.predict(y_prob), strict=True):
        assert value == pytest.approx(oracle.bin_value(edges, y_true, y_prob, np.ones_like(y_prob), p), abs=1e-12)


@examples(200)
@given(sample=samples(), n_bins=st.integers(1, 8), uniform=st.booleans())
def test_weighted_bins_return_their_means(sample, n_bins, uniform):
    y_true, y_prob, weight = sample
    weight = ones_like(weight, y_prob)
    fitted = HistogramBinning(n_bins, "uniform" if uniform else "quantile").fit(y_prob, y_true, weight)
    assert fitted.values_.size <= n_bins
    for p, value in zip(y_prob, fitted.predict(y_prob), strict=True):
        mean = oracle.bin_value(fitted.edges_, y_true, y_prob, weight, p)
        assert mean is None or value == pytest.approx(mean, abs=1e-9)


@examples(200)
@given(sample=samples(weights=False))
def test_scaling_binning_returns_mean_scaled_predictions(sample):
    y_true, y_prob, _ = sample
    fitted = ScalingBinning(n_bins=3).fit(y_prob, y_true)
    scaled = fitted.scaling_.predict(y_prob)
    found = fitted.predict(y_prob)
    for z, value in zip(scaled, found, strict=True):
        mean = oracle.bin_value(fitted.edges_, scaled, scaled, np.ones_like(scaled), z)
        assert value == pytest.approx(mean, abs=1e-12)
    assert np.unique(found).size <= 3
    assert found.mean() == pytest.approx(scaled.mean(), abs=1e-12)


@examples(200)
@given(sample=samples())
def test_nearest_is_calibrated_and_near(sample):
    y_true, y_prob, weight = sample
    weight = ones_like(weight, y_prob)
    fitted = NearestCalibrated().fit(y_prob, y_true, weight)
    found = fitted.predict(y_prob)
    assert fitted.interval_error_ == interval_calibration_error(y_true, y_prob, sample_weight=weight)
    assert np.average(np.abs(found - y_prob), weights=weight) <= fitted.interval_error_ + 1e-12
    for value in np.unique(found):
        inside = found == value
        if weight[inside].sum() > 0:
            assert np.average(y_true[inside], weights=weight[inside]) == pytest.approx(value, abs=1e-9)


def test_separable_and_single_class_outcomes_have_documented_answers():
    platt = PlattScaling().fit([0.2, 0.3, 0.8], [0, 0, 1])
    assert platt.smoothed_
    assert "smoothed" in platt.summary()
    only_ones = PlattScaling().fit([0.2, 0.5, 0.8], [1, 1, 1])
    assert only_ones.predict([0.1, 0.9]) == pytest.approx([4 / 5, 4 / 5], abs=1e-6)
    constant = PlattScaling().fit([0.4, 0.4, 0.4, 0.4], [1, 0, 0, 0])
    assert constant.slope_ == 1
    assert constant.predict([0.4]) == pytest.approx([0.25])
    assert BetaScaling().fit([0.4] * 4, [1, 0, 0, 0]).predict([0.4]) == pytest.approx([0.25])
    assert TemperatureScaling().fit([0.5, 0.5], [0, 1]).temperature_ == 1
    assert TemperatureScaling().fit([0.2, 0.9], [0, 1]).temperature_ == 1e-3
    assert TemperatureScaling().fit([0.2, 0.9], [1, 0]).temperature_ == 1e3
    assert HistogramBinning(15).fit([0.1, 0.2], [0, 1]).values_.tolist() == [0, 1]  # fewer rows than bins


@EVERY
def test_bad_input(recalibrator):
    new = clone(recalibrator)
    with pytest.raises(NotFittedError):
        new.predict([0.5])
    with pytest.raises(InputError, match="y_prob: row 1 is nan"):
        new.fit([0.1, np.nan], [0, 1])
    with pytest.raises(InputError, match="y_true: row 1 is 2"):
        new.fit([0.1, 0.2], [0, 2])
    with pytest.raises(InputError, match="y_true: has 1 row"):
        new.fit([0.1, 0.2], [0])
    new.fit([0.1, 0.2, 0.3, 0.7], [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"y_prob: row 0 is 1\.5"):
        new.predict([1.5])
    with pytest.raises(InputError, match="y_prob: is empty"):
        new.predict([])


@pytest.mark.parametrize(
    ("recalibrator", "message"),
    [
        (PlattScaling(clip=0), "clip: is 0"),
        (BetaScaling(clip=0.7), "clip: is 0.7"),
        (PolynomialScaling(degree=0), "degree: is 0"),
        (HistogramBinning(n_bins=2.5), "n_bins: is 2.5"),
        (HistogramBinning(strategy="equal"), "strategy: is 'equal'"),
        (ScalingBinning(scaling="platt"), "scaling: is 'platt'"),
    ],
)
def test_bad_parameters(recalibrator, message):
    with pytest.raises(InputError, match=message):
        recalibrator.fit([0.1, 0.2, 0.3, 0.7], [0, 1, 0, 1])


@pytest.mark.parametrize("kind", [OffsetScaling, PlattScaling, BetaScaling, TemperatureScaling])
def test_predictions_closer_than_clip_to_an_end_are_read_as_that_far_from_it(kind):
    y_prob, y_true = np.array([0.0, 0.03, 0.2, 0.3, 0.6, 0.7, 0.95, 1.0]), np.array([0, 0, 1, 0, 0, 1, 1, 0])
    near, moved = kind(clip=0.1).fit(y_prob, y_true), kind(clip=0.1).fit(np.clip(y_prob, 0.1, 0.9), y_true)
    for at, least in ((0.1, [0.0, 0.05, 0.1]), (0.9, [0.9, 0.95, 1.0])):
        assert near.predict(least) == pytest.approx(moved.predict([at] * 3), rel=1e-9)


def test_parts_of_rows_take_no_weights():
    with pytest.raises(InputError, match="strategy='ceil' counts rows"):
        HistogramBinning(strategy="ceil").fit([0.1, 0.2, 0.3], [0, 1, 0], [1, 2, 3])


def test_grid_search_and_pipeline():
    rng = np.random.default_rng(0)
    y_prob = rng.random(600)
    y_true = (rng.random(600) < y_prob**2).astype(int)
    search = GridSearchCV(HistogramBinning(), {"n_bins": [1, 8, 300]}).fit(y_prob, y_true)
    assert search.best_params_ == {"n_bins": 8}
    chain = make_pipeline(PlattScaling(), IsotonicScaling()).fit(y_prob[:, None], y_true)
    assert chain.predict(y_prob[:, None]).shape == (600,)
    nested = GridSearchCV(
        ScalingBinning(scaling=PolynomialScaling()), {"scaling__degree": [1, 3], "n_bins": [5]}, error_score="raise"
    )
    assert nested.fit(y_prob, y_true).best_params_["n_bins"] == 5


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_come_back_where_they_are_asked_for(library, kind):
    p = np.linspace(0.1, 0.9, 20)
    y = np.arange(20) % 2
    for recalibrator, shown in ((PlattScaling(), p), (PlattScaling(), p[:, None]), (VectorScaling(), np.c_[p, 1 - p])):
        fitted = clone(recalibrator).fit(shown, y)
        plain = fitted.transform(shown)
        assert plain.shape == shown.shape
        assert (plain == fitted.predict(shown).reshape(shown.shape)).all()
        frame = fitted.set_output(transform=library).transform(shown)
        assert isinstance(frame, kind)
        assert list(frame.columns) == fitted.get_feature_names_out().tolist()
        assert (frame.to_numpy() == plain.reshape(20, -1)).all()
    chain = make_pipeline(PlattScaling(), IsotonicScaling()).set_output(transform=library).fit(p[:, None], y)
    assert (chain.predict(p[:, None]) == make_pipeline(PlattScaling(), IsotonicScaling()).fit(p, y).predict(p)).all()


class OnAnyTable(RegressorMixin, BaseEstimator):
    """A recalibrator behind a squashed first column, so that scikit-learn's checks can draw what they like."""

    def __init__(self, recalibrator=None):
        self.recalibrator = recalibrator

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        X, y = validate_data(self, X, y, y_numeric=True)  # noqa: N806
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, float)
        self.recalibrator_ = clone(self.recalibrator or PlattScaling())
        self.recalibrator_.fit(expit(X[:, 0]), (y > np.median(y)).astype(float), sample_weight)
        return self

    def predict(self, X):  # noqa: N803
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)  # noqa: N806
        return self.recalibrator_.predict(expit(X[:, 0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "recalibrator",
    [
        *(AveragedScaling(), OffsetScaling(), VennAbers(), PlattScaling(), BetaScaling(), IsotonicScaling()),
        *(PolynomialScaling(), HistogramBinning(), TemperatureScaling(), NearestCalibrated(), ScalingBinning()),
    ],
    ids=str,
)
def test_scikit_learn_checks_behind_an_adapter(recalibrator):
    # The checks draw features outside [0, 1], which a recalibrator refuses: they meet it behind a squashing column.
    reason = "a median splits repeated rows differently, and bins count rows"
    check_estimator(
        OnAnyTable(recalibrator),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": reason,
            "check_regressors_train": "outcomes are cut to 0 and 1 by the adapter",
        },
    )


@pytest.mark.parametrize("kind", [PlattScaling, TemperatureScaling])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_said_of_a_map_is_true_of_the_predictions_at_hand(kind, seed):
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(-8.0, 4.0, 2))
    y_prob = 1.0 / (1.0 + np.exp(-rng.uniform(low, high, 2000)))
    y_true = (rng.random(2000) < rng.choice([0.2, 0.7, 1.0]) * y_prob ** rng.choice([0.5, 1.0, 1.5])) * 1
    fitted = kind().fit(y_prob, y_true)
    moved, said = fitted.predict(y_prob) - y_prob, fitted.summary()
    if "raised below" in said or "lowered below" in said:
        at = float(re.search(r"below about ([\d.e-]+) and", said).group(1))
        sign = 1.0 if "raised below" in said else -1.0
        assert (sign * moved[y_prob < at * 0.99] > 0.0).all()
        assert (sign * moved[y_prob > at * 1.01] < 0.0).all()
    elif "reversed" not in said:
        assert ("predictions are raised" in said) == bool((moved > 0.0).all())
        assert ("predictions are lowered" in said) == bool((moved < 0.0).all())


def test_rare_events_predicted_five_times_too_often_are_said_to_be_lowered():
    odds = np.exp(np.linspace(np.log(0.001), np.log(0.02), 400))
    y_prob = np.repeat(odds / (1.0 + odds), 2)
    rate = np.tile([0.0, 1.0], 400)
    weight = np.where(rate == 1.0, 0.2 * y_prob**1.1, 1.0 - 0.2 * y_prob**1.1)
    platt = PlattScaling().fit(y_prob, rate, sample_weight=weight)
    assert platt.slope_ > 1.0
    assert platt.summary().endswith(": predictions are lowered.")
    temperature = TemperatureScaling().fit(y_prob, rate, sample_weight=weight)
    assert temperature.summary().endswith(": predictions are lowered.")


def test_edges_of_bins_by_hand():
    p, one = np.array([0.1, 0.2, 0.4, 0.8]), np.ones(4)
    assert bin_edges(p, one, one, 4, "uniform").tolist() == [0.25, 0.5, 0.75]
    assert bin_edges(p, one, one, 2, "quantile") == pytest.approx([0.3])
    assert bin_edges(p, one, one, 2, "ceil") == pytest.approx([0.3])
    assert bin_edges(p, np.array([3.0, 1.0, 1.0, 1.0]), one, 2, "quantile") == pytest.approx([0.15])
    seven = np.arange(1, 8) / 10  # parts of 3, 2 and 2 rows, or of 3, 3 and 1
    assert bin_edges(seven, np.ones(7), np.ones(7), 3, "quantile") == pytest.approx([0.35, 0.55])
    assert bin_edges(seven, np.ones(7), np.ones(7), 3, "ceil") == pytest.approx([0.35, 0.65])
    tied = np.array([1.0, 3.0, 1.0, 1.0])  # the second part begins among rows that are tied
    assert bin_edges(p, tied, tied, 2, "ceil") == pytest.approx([0.2])
    with pytest.raises(InputError, match="sample_weight: was given, but strategy='ceil' counts rows"):
        bin_edges(p, np.array([2.0, 1.0, 1.0, 1.0]), one, 2, "ceil")
    every_one = np.broadcast_to(1.0, 4)  # as of rows without weights
    for strategy in ("quantile", "ceil"):
        assert bin_edges(p, every_one, one, 3, strategy).tolist() == bin_edges(p, one, one, 3, strategy).tolist()


@pytest.mark.parametrize("weight", [0.5, 1.0, 5.0])
def test_one_prediction_has_one_bin(weight):
    p, weight = np.array([0.3]), np.array([weight])
    for count in (weight, np.ones(1)):
        assert bin_edges(p, weight, np.maximum(1.0, count), 10, "quantile").size == 0


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 2.0, 7.0])
@pytest.mark.parametrize("strategy", ["quantile", "ceil"])
def test_a_factor_of_all_weights_changes_no_bin(weight, strategy):
    for n in range(1, 30):
        p = (np.arange(n) // 2 + 1.0) / (n + 1)  # in pairs
        value, count = np.unique(p, return_counts=True)
        summed = np.bincount(np.searchsorted(value, p), np.full(n, weight))
        for bins in range(1, n + 1):
            for prediction, rows, weights in (
                (value, count.astype(float), summed),
                (p, np.ones(n), np.full(n, weight)),
            ):
                expected = bin_edges(prediction, rows, rows, bins, strategy)
                assert bin_edges(prediction, weights, rows, bins, strategy).tolist() == expected.tolist()
