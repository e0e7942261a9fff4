"""Displays: from predictions, from estimators (frozen ones too), on axes of one's own."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from calibrant import InputError, ReliabilityDisplay
from calibrant.report import DistanceChainDisplay

X, Y = make_classification(400, random_state=0)


@pytest.mark.slow
def test_estimators_frozen_ones_and_labels():
    names = np.where(Y == 1, "yes", "no")
    model = FrozenEstimator(LogisticRegression().fit(X, names))
    yes = ReliabilityDisplay.from_estimator(model, X, names)
    no = ReliabilityDisplay.from_estimator(model, X, names, pos_label="no")
    assert yes.base_rate == pytest.approx(Y.mean())
    assert no.base_rate == pytest.approx(1 - Y.mean())
    assert DistanceChainDisplay.from_estimator(model, X, names).names[1] == "lower distance"
    with pytest.raises(InputError, match="pos_label"):
        ReliabilityDisplay.from_estimator(model, X, names, pos_label="maybe")
    with pytest.raises(InputError, match="0 classes"):
        ReliabilityDisplay.from_estimator(LogisticRegression(), X, Y)


@pytest.mark.slow
def test_axes_of_ones_own_weights_and_cross_validated_predictions():
    y_prob = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]
    figure, axes = plt.subplots(2, 2)
    display = ReliabilityDisplay.from_predictions(Y, y_prob, sample_weight=np.linspace(1, 2, 400), ax=axes[0, 0])
    assert display.ax_ is axes[0, 0]
    assert display.plot_counts(axes[0, 1]) is axes[0, 1]
    assert display.plot_witness(axes[1, 0]) is axes[1, 0]
    chain = DistanceChainDisplay.from_predictions(Y, y_prob, ax=axes[1, 1])
    assert (np.diff([each.upper for each in chain.brackets]) >= -1e-9).all()
    assert all(each.lower <= each.upper for each in chain.brackets)
    plt.close(figure)


def test_what_is_refused():
    with pytest.raises(InputError, match="y_prob"):
        ReliabilityDisplay.from_predictions([0, 1], [0.2, 1.2])
    with pytest.raises(InputError, match="axis"):
        ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.2], axis="rank")


def test_the_axis_is_that_of_the_rows_unless_it_is_given():
    rng = np.random.default_rng(0)
    even, corner = rng.random(400), rng.beta(9.0, 0.3, 400)
    for y_prob, axis in ((even, "linear"), (corner, "log-odds")):
        y = rng.random(400) < y_prob
        assert ReliabilityDisplay.from_predictions(y, y_prob).reliability.axis == axis
        for other in ("linear", "log-odds"):
            display = ReliabilityDisplay.from_predictions(y, y_prob, axis=other)
            assert display.ax_.get_xscale() == ("linear" if other == "linear" else "logit")
    wide, narrow = (ReliabilityDisplay.from_predictions(y, y_prob, level=each).reliability for each in (0.05, 0.4))
    assert np.nanmin((wide.band_upper - wide.band_lower) - (narrow.band_upper - narrow.band_lower)) > 0.0
    plt.close("all")
