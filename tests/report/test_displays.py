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
    yes = ReliabilityDisplay.from_estimator(model, X, names, random_state=0)
    no = ReliabilityDisplay.from_estimator(model, X, names, pos_label="no", random_state=0)
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
    display = ReliabilityDisplay.from_predictions(
        Y, y_prob, sample_weight=np.linspace(1, 2, 400), random_state=0, ax=axes[0, 0]
    )
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
    with pytest.raises(InputError, match="n_resamples"):
        ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.2], n_resamples=3)


def test_redraws_of_a_band_are_as_many_as_its_level_needs():
    """Half of the level lies beyond each end: 2 / level - 1 redraws, and no more."""
    y_prob = np.linspace(0.1, 0.9, 40)
    y = (np.arange(40) % 3 == 0).astype(int)
    for level, needed in ((0.25, 7), (0.1, 19)):
        display = ReliabilityDisplay.from_predictions(y, y_prob, level=level, n_resamples=needed, random_state=0)
        assert display.level == level
        with pytest.raises(InputError, match=f"n_resamples: is {needed - 1}"):
            ReliabilityDisplay.from_predictions(y, y_prob, level=level, n_resamples=needed - 1)
    wide, narrow = (
        ReliabilityDisplay.from_predictions(y, y_prob, level=level, n_resamples=199, random_state=0).reliability
        for level in (0.05, 0.4)
    )
    assert (wide.band_upper - wide.band_lower > narrow.band_upper - narrow.band_lower).all()
    plt.close("all")
