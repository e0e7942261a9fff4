"""Audits of K classes: the top label throughout, the other questions in their own section, and what to do."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from calibrant import InputError, audit, lower_calibration_distance, smooth_calibration_error
from tests.strategies import drawn_classes


def test_the_audit_is_of_the_top_label_with_the_classes_beside_it():
    label, table = drawn_classes(3000, 4, 0, 2.0)
    found = audit(label, table, random_state=0)
    right, top = (table.argmax(axis=1) == label).astype(float), table.max(axis=1)
    assert found.smooth_calibration_error == pytest.approx(smooth_calibration_error(right, top))
    assert [each.name for each in found.classes.questions] == [
        "top 2 labels", "top 3 labels", "class 0", "class 1", "class 2", "class 3",
    ]  # fmt: skip
    for k, each in enumerate(found.classes.questions[2:]):
        expected = lower_calibration_distance((label == k).astype(float), table[:, k], tol=1e-6)
        assert each.lower_calibration_distance == pytest.approx(expected, abs=2e-5)
        assert each.rate == pytest.approx((label == k).mean())
    assert found.advice.chosen == "temperature"
    assert "What to do: recalibrate, by temperature scaling." in found.answer.details[-1]
    assert found.classes.tests["tcal_test, class_wise"].result.reject
    assert "classes are miscalibrated one by one" in " ".join(found.sentences)
    said = json.loads(found.to_json())
    assert said["classes"]["n_classes"] == 4
    assert said["advice"]["chosen"] == "temperature"
    assert "All 4 classes" in found.summary()


def test_calibrated_classes_are_left_alone():
    label, table = drawn_classes(2000, 3, 3, 1.0)
    found = audit(label, table, random_state=0)
    assert "No single class of 3 is found miscalibrated." in " ".join(found.sentences)
    assert found.advice.chosen is None
    assert found.answer.state in ("no evidence", "too few rows")


def test_order_of_rows_and_kind_of_labels_do_not_matter(tmp_path):
    label, table = drawn_classes(400, 3, 2, 1.5)
    order = np.random.default_rng(0).permutation(400)
    first = audit(label, table, random_state=3).to_dict()
    assert audit(label[order], table[order], random_state=3).to_dict() == first
    onehot = audit(np.eye(3)[label], table, random_state=3).to_dict()
    assert onehot == first
    named = audit(np.array(["a", "b", "c"])[label], table, random_state=3)
    assert named.classes.questions[-1].name == "class c"
    named.to_html(tmp_path / "report.html")
    assert "class c" in (tmp_path / "report.html").read_text()


def test_weights_and_no_resamples():
    label, table = drawn_classes(300, 3, 2, 1.5)
    found = audit(label, table, sample_weight=np.linspace(1, 2, 300), n_resamples=0, random_state=0)
    assert found.advice.chosen is None
    assert found.classes.tests["canonical_kernel_test"].result is None
    assert "not run" in found.summary()


def test_what_is_refused():
    with pytest.raises(InputError, match="adds up to"):
        audit([0, 1], [[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(InputError, match="no class"):
        audit([0, 2], [[0.5, 0.5], [0.5, 0.5]])


def test_logits_give_the_audit_of_their_softmax():
    label, table = drawn_classes(300, 3, 2, 1.5)
    logits = np.log(table) + 3.0
    expected = audit(label, softmax(logits, axis=1), n_resamples=99, random_state=0)
    found = audit(label, logits, from_logits=True, n_resamples=99, random_state=0)
    assert found.smooth_calibration_error == pytest.approx(expected.smooth_calibration_error, abs=1e-12)
    y, p = (label == 0).astype(float), table[:, 0]
    one = audit(y, np.log(p) - np.log1p(-p), from_logits=True, n_resamples=0)
    assert one.smooth_calibration_error == pytest.approx(smooth_calibration_error(y, p), abs=1e-12)
    with pytest.raises(InputError, match="y_prob: row 1 is nan"):
        audit([0, 1], [0.5, np.nan], from_logits=True)
