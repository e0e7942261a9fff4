"""Arguments that no function can use are refused by name, before anything is computed from them."""

import numpy as np
import pandas as pd
import pytest

import calibrant
from calibrant import CalibrationGate, CalibrationSketch, InputError, inference, measures
from calibrant.door.identity import Identity, identities

RNG = np.random.default_rng(0)
V = RNG.random(80)
Y = (RNG.random(80) < V).astype(int)
MASKED = np.ma.array(V, mask=np.arange(80) == 3)
CLASSES = np.stack([1.0 - V, V, 0.0 * V], axis=1)
FRAME = pd.DataFrame({"y": Y, "p": V, "w": 0.0, "g": np.arange(80) % 2})
NOTHING = np.zeros(80)


def sketch(**options):
    return CalibrationSketch().update(Y, V, **options)


def two_samples(**options):
    return inference.two_sample_calibration_test(Y, V, random_state=0, **options)


REFUSED = {
    "masked predictions": (lambda: calibrant.audit(Y, MASKED), "y_prob", "row 3 is masked"),
    "masked outcomes": (lambda: calibrant.audit(np.ma.array(Y, mask=V > 0.9), V), "y_true", "is masked"),
    "masked classes": (
        lambda: calibrant.audit(Y, np.ma.array(CLASSES, mask=np.arange(240).reshape(80, 3) == 7)),
        "y_prob",
        "row 2",
    ),
    "a whole table": (lambda: calibrant.smooth_calibration_error(FRAME, V), "y_true", "whole table"),
    "a matrix": (lambda: calibrant.smooth_calibration_error(Y, np.stack([V, V, V], axis=1)), "y_prob", "has shape"),
    "no weight": (
        lambda: calibrant.smooth_calibration_error(Y, V, sample_weight=NOTHING),
        "sample_weight",
        "zero in every row",
    ),
    "an infinite weight": (
        lambda: calibrant.smooth_calibration_error(Y, V, sample_weight=np.where(V > 0.9, np.inf, 1.0)),
        "sample_weight",
        "inf",
    ),
    "no weight in a segment": (
        lambda: calibrant.calibration_by_segment(FRAME, y_true="y", y_prob="p", sample_weight="w", by="g"),
        "sample_weight",
        "zero in every row",
    ),
    "no weight in a sketch": (lambda: sketch(sample_weight=NOTHING).sample, "sample_weight", "zero in every row"),
    "bins of exact groups": (
        lambda: measures.squared_calibration_error(Y, V, strategy="exact", n_bins=5),
        "n_bins",
        "one group per prediction",
    ),
    "no bins": (
        lambda: measures.squared_calibration_error(Y, V, strategy="uniform", n_bins=None),
        "n_bins",
        "needs a number",
    ),
    "no bound of the unbiased kernel error": (
        lambda: sketch().error_bound("kernel_calibration_error", unbiased=True),
        None,
        "unbiased=True",
    ),
    "a gate of weights without them": (
        lambda: CalibrationGate(max_distance=0.1, max_weight=2.0).update(Y, V),
        "sample_weight",
        "is needed",
    ),
    "weights at a gate of none": (
        lambda: CalibrationGate(max_distance=0.1).update(Y, V, sample_weight=np.ones(80)),
        "sample_weight",
        "cannot be used",
    ),
    "smoothness of another test": (
        lambda: two_samples(test="multiscale_permutation", smoothness=1.0),
        "smoothness",
        "for no other",
    ),
    "cross-fitting of another test": (
        lambda: two_samples(test="chi_squared", smoothness=1.0, cross_fit=True),
        "cross_fit",
        "U-statistics",
    ),
    "an error with resampling": (
        lambda: inference.tcal_test(Y, V, null_error=0.1),
        "null_error",
        "needs critical_value",
    ),
    "one row": (lambda: inference.tcal_test(Y[:1], V[:1]), None, "one row"),
    "too few resamples": (lambda: inference.tcal_test(Y, V, n_resamples=9), "n_resamples", "can only reach"),
    "no file system": (lambda: calibrant.audit_table("rows.csv", filesystem=5), "filesystem", "is 5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_by_its_name(case):
    call, argument, said = REFUSED[case]
    with pytest.raises(InputError) as told:
        call()
    assert argument is None or told.value.argument == argument
    assert said in str(told.value)


@pytest.mark.parametrize("change", [{1: "0" * 10}, {1: "zz"}, {0: -1}, {0: 1.5}])
def test_an_identity_that_no_rows_have_is_no_identity(change):
    plain = identities(Y.astype(float), V)[0].to_list()
    assert Identity.from_list(plain).to_list() == plain
    with pytest.raises((ValueError, TypeError)):
        Identity.from_list([change.get(at, each) for at, each in enumerate(plain)])
