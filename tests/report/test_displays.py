"""Displays: from predictions, from estimators (frozen ones too), on axes of one's own."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from calibrant import InputError, ReliabilityDisplay
from calibrant.door.ends import Bracket
from calibrant.report import DistanceChainDisplay, displays

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


@pytest.mark.slow
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


def fitted(*classes):
    """A classifier of these classes, whose probabilities are the columns of what it is given."""
    return SimpleNamespace(classes_=np.array(classes), predict_proba=lambda table: table)


TABLE = np.array([[0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])


@pytest.mark.parametrize(
    ("classes", "pos_label", "argument", "problem"),
    [
        ((), None, "estimator", "has 0 classes; it must be a fitted classifier of two"),
        (("no",), None, "estimator", "has 1 classes"),
        (("no", "yes", "perhaps"), "yes", "estimator", "has 3 classes"),
        (("no", "yes"), "maybe", "pos_label", "is 'maybe'; it must be one of"),
        ((0, 1), 2, "pos_label", "is 2; it must be one of"),
    ],
)
def test_a_classifier_of_other_than_two_classes_and_a_label_that_it_lacks_are_refused(
    classes, pos_label, argument, problem
):
    with pytest.raises(InputError, match=f"^{argument}: {problem}"):
        displays.predicted(fitted(*classes), TABLE, ["no", "yes", "no"], pos_label)


@pytest.mark.parametrize(("pos_label", "column"), [(None, 1), ("yes", 1), ("no", 0)])
def test_the_second_class_is_the_positive_one_unless_another_is_given(pos_label, column):
    y_true, y_prob = displays.predicted(fitted("no", "yes"), TABLE, ["no", "yes", "yes"], pos_label)
    assert y_true.tolist() == ([0.0, 1.0, 1.0] if column else [1.0, 0.0, 0.0])
    assert y_prob.tolist() == TABLE[:, column].tolist()


@pytest.mark.parametrize("missing", [(), ("interval_calibration_error",), ("binned_calibration_error_bound",)])
def test_the_chain_has_what_was_computed_in_the_order_of_the_theorems(monkeypatch, missing):
    values = {
        "interval_calibration_error": 0.3,
        "surrogate_interval_calibration_error": 0.4,
        "binned_calibration_error_bound": 0.5,
    }
    ties = SimpleNamespace(lower_distance_bracket=Bracket(0.1, 0.1), true_distance=Bracket(0.1, 0.2))
    measures = {name: SimpleNamespace(value=None if name in missing else value) for name, value in values.items()}
    found = SimpleNamespace(smooth_lower=0.06, smooth_upper=0.08, ties=ties, measures=measures)
    monkeypatch.setattr(displays, "audit", lambda *_, **__: found)
    chain = DistanceChainDisplay.from_predictions([0, 1], [0.2, 0.4])
    assert chain.names[:3] == ("smooth error / 2", "lower distance", "true distance")
    assert tuple(chain.brackets[0]) == pytest.approx((0.03, 0.04))
    assert [tuple(each) for each in chain.brackets[3:]] == [(v, v) for name, v in values.items() if name not in missing]
    assert chain.ax_.get_xlim()[0] == 0.0 < chain.brackets[-1].upper < chain.ax_.get_xlim()[1]
    plt.close("all")
