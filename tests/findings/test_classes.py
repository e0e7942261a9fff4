"""Audits of K classes: the top label throughout, the other questions in their own section, and what to do."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, softmax
from scipy.stats import binom

from calibrant import InputError, audit, calibration_gate, lower_calibration_distance, smooth_calibration_error
from calibrant.door.classes import drawn_rows, multiclass_sample
from calibrant.findings import classes
from calibrant.findings.classes import _state
from calibrant.inference import class_wise_test
from tests.strategies import drawn_classes


@pytest.mark.slow
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
    assert found.advice.chosen == "averaged_classes"
    do = "Do: correct the predictions before you use them (recalibrate, by the code on the page). "
    do += "On rows that the correction has not seen, the error falls from "
    assert do in found.answer.details[-1]
    assert found.classes.tests["class_wise_test"].result.reject
    assert "classes are miscalibrated one by one" in " ".join(found.sentences)
    said = json.loads(found.to_json())
    assert said["classes"]["n_classes"] == 4
    assert said["advice"]["chosen"] == "averaged_classes"
    assert "All 4 classes" in found.summary()


@pytest.mark.slow
def test_calibrated_classes_are_left_alone():
    label, table = drawn_classes(2000, 3, 3, 1.0)
    found = audit(label, table, random_state=0)
    assert "No single class of 3 is found miscalibrated." in " ".join(found.sentences)
    assert found.advice.chosen is None
    assert found.answer.state in ("no evidence", "too few rows")


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_order_of_rows_and_kind_of_labels_do_not_matter(tmp_path):
    label, table = drawn_classes(400, 3, 2, 1.5)
    order = np.random.default_rng(0).permutation(400)
    first = audit(label, table, n_resamples=99, random_state=3).to_dict()
    assert audit(label[order], table[order], n_resamples=99, random_state=3).to_dict() == first
    onehot = audit(np.eye(3)[label], table, n_resamples=99, random_state=3).to_dict()
    assert onehot == first
    named = audit(np.array(["a", "b", "c"])[label], table, n_resamples=99, random_state=3)
    assert named.classes.questions[-1].name == "class c"
    named.to_html(tmp_path / "report.html")
    assert "class c" in (tmp_path / "report.html").read_text()


def test_weights_and_no_resamples():
    label, table = drawn_classes(300, 3, 2, 1.5)
    found = audit(label, table, sample_weight=np.linspace(1, 2, 300), n_resamples=0, random_state=0)
    assert found.advice.chosen is None
    assert found.classes.tests["canonical_kernel_test"].result is None
    assert "not run" in found.summary()


def classes_in_groups(seed, warp=1.0, groups=150, size=10, k=4):
    """Rows of a group share most of the chance that decides their labels."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    table = softmax(rng.normal(size=(groups, k))[group] * 1.2 + rng.normal(size=(group.size, k)) * 0.5, axis=1)
    shared = ndtr(0.8 * rng.normal(size=groups)[group] + 0.6 * rng.normal(size=group.size))
    chance = table**warp / (table**warp).sum(axis=1, keepdims=True)
    return (shared[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1), table, group


@pytest.mark.slow
def test_rows_of_classes_may_belong_to_groups():
    label, table, group = classes_in_groups(0, warp=2.0)
    found = audit(label, table, groups=group, n_resamples=99, random_state=0)
    assert found.answer.state == "worth correcting"
    assert found.advice.chosen == "averaged_classes"
    assert found.n_groups == 150
    assert found.classes.n_confusions is None
    vectors = found.classes.tests["canonical_kernel_test"]
    assert vectors.result is None
    assert vectors.not_run == "tests need rows that are independent"
    order = np.random.default_rng(1).permutation(label.size)
    again = audit(label[order], table[order], groups=group[order] + 7, n_resamples=99, random_state=0)
    assert again.to_json() == found.to_json()
    alone = found.classes.tests["class_wise_test"].result
    assert alone.pvalue == class_wise_test(label, table, groups=group).pvalue


@pytest.mark.slow
def test_calibrated_classes_in_groups_are_seldom_accused():
    accused = []
    for seed in range(4):
        label, table, group = classes_in_groups(seed + 1)
        both = [audit(label, table, n_resamples=19, level=0.1, random_state=0, groups=each) for each in (group, None)]
        accused.append([bool(each.classes.found) or each.answer.state == "worth correcting" for each in both])
    by_group, as_rows = np.sum(accused, axis=0)
    assert by_group <= 2
    assert as_rows >= 2  # what the groups are for


def test_what_is_refused():
    with pytest.raises(InputError, match="adds up to"):
        audit([0, 1], [[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(InputError, match="no class"):
        audit([0, 2], [[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.slow
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


def one_wrong_pair(n=3000, k=12, seed=0):
    """A class whose rows are often of another one than its probabilities say."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(k, 0.3), n)
    moved = np.eye(k)
    moved[2, [2, 3]] = 0.5
    label = (rng.random((n, 1)) > (table @ moved).cumsum(axis=1)[:, :-1]).sum(axis=1)
    return label, table


@pytest.mark.slow
def test_single_classes_count_in_the_answer_where_the_top_label_shows_nothing():
    rng = np.random.default_rng(5)
    table = rng.dirichlet(np.ones(10), 3000)
    true = table * np.where(np.arange(10) == 3, 0.6, 1.0)
    ends = (true / true.sum(axis=1, keepdims=True)).cumsum(axis=1)
    label = (rng.random((3000, 1)) > ends[:, :-1]).sum(axis=1)
    found = audit(label, table, n_resamples=199, random_state=0)
    assert not found.tests["calibration_test"].result.reject
    assert [each.name for each in found.classes.found] == ["class 3"]
    assert found.classes.found[0].direction == "too high"
    assert found.classes.state == "worth correcting"
    assert (found.answer.state, found.answer.action) == ("worth correcting", "recalibrate")
    assert found.answer.direction is None
    assert found.answer.interval.low == 0.0
    assert found.answer.headline.startswith("Single classes are off, though the most probable one shows no sign")
    assert found.advice.chosen == "averaged_classes"
    large = audit(label, table, max_distance=0.4, n_resamples=99, random_state=0)
    assert large.classes.state == large.answer.state == "too small to matter"


def test_the_bound_of_a_class_has_its_share_of_the_level():
    label, table = drawn_classes(300, 4, 0)
    one = label == 1, table[:, 1]
    ends = [calibration_gate(*one, max_distance=0.5, level=each).lower_distance.high for each in (0.1, 0.1 / 4)]
    assert ends[1] > ends[0] + 0.005
    found = SimpleNamespace(name="class 1", rate=0.2, mean_prediction=0.2, qvalue=0.01, lower_calibration_distance=0.01)
    others = [SimpleNamespace(qvalue=q) for q in (0.5, None, 0.11)]
    asked = multiclass_sample(label, table), [others[0], found, *others[1:]], 0.1
    assert _state(*asked, sum(ends) / 2.0) == "worth correcting"
    assert _state(*asked, ends[1] + 1e-9) == "too small to matter"


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_pairs_that_err_are_counted_and_found(tmp_path):
    label, table = one_wrong_pair()
    found = audit(np.array([*"abcdefghijkl"])[label], table, n_resamples=0, random_state=0)
    plainest = found.classes.confusions[0]
    assert (plainest.said, plainest.was) == ("c", "d")
    top = table.argmax(axis=1) == 2
    assert plainest.n_rows == top.sum()
    assert plainest.n_observed == (label[top] == 3).sum()
    assert plainest.n_expected == pytest.approx(table[top, 3].sum())
    tail = binom.sf(plainest.n_observed - 1, plainest.n_rows, plainest.n_expected / plainest.n_rows)
    assert plainest.pvalue == pytest.approx(2 * tail, rel=1e-6)
    assert found.classes.n_confusions == len(found.classes.confusions)
    assert f"were class d, where {plainest.n_expected:.3g} were expected" in found.summary()
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Pairs of classes that err" in page
    calibrated = audit(*drawn_classes(1500, 12, 0), n_resamples=0)
    assert calibrated.classes.confusions == ()


@pytest.mark.slow
def test_more_classes_than_are_shown_are_all_tested_and_listed(tmp_path):
    label, table = drawn_classes(600, 70, 1, 1.5)
    names = np.array([f"<{i}>$" for i in range(71)])
    found = audit(names[label], pd.DataFrame(table.astype(np.float32), columns=names[:70]), n_resamples=0)
    assert [each.name for each in found.classes.class_wise] == [f"class <{i}>$" for i in range(70)]
    assert all(0.0 < each.pvalue <= each.qvalue <= 1.0 for each in found.classes.class_wise)
    assert "50 classes are not shown here" in found.summary()
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "The other 50 classes" in page
    assert page.count("class &lt;69&gt;$") == 1
    assert "<69>" not in page


def test_large_tables_are_drawn_from_without_regard_to_order_or_labels():
    label, table = drawn_classes(500, 5, 0)
    sample = multiclass_sample(label, table)
    some = drawn_rows(sample, 500, 3)
    assert some.y_true.size == 100
    order = np.random.default_rng(0).permutation(500)
    again = drawn_rows(sample.take(order), 500, 3)
    assert sorted(map(tuple, again.y_prob)) == sorted(map(tuple, some.y_prob))
    assert (drawn_rows(multiclass_sample(4 - label, table), 500, 3).y_prob == some.y_prob).all()
    assert drawn_rows(sample, 500, 4).y_prob.tolist() != some.y_prob.tolist()
    assert drawn_rows(sample, 2500, 3) is sample
    equal = multiclass_sample(label, np.full((500, 5), 0.2))
    assert drawn_rows(equal, 500, 0).y_true.size == 500
    assert drawn_rows(sample, 4, 3).y_true.size == 1  # fewer numbers than one row has


@pytest.mark.parametrize(
    ("verdicts", "limit", "asked", "state"),
    [
        (("within", "within"), 0.1, [2, 0], "too small to matter"),
        (("within", "undecided"), 0.1, [2, 0], "worth correcting"),
        (("beyond", "within"), 0.1, [2], "worth correcting"),
        (("within", "within"), None, [0, 2], "too small to matter"),  # of the rarer the limit is smaller
    ],
)
def test_classes_that_err_share_the_level_and_the_farthest_beyond_its_limit_is_asked_first(
    monkeypatch, verdicts, limit, asked, state
):
    found, answers = [], iter(verdicts)

    def gate(one, *, max_distance, level):
        found.append((one.n_rows, round(float(one.weighted_outcome.sum())), max_distance, level))
        return SimpleNamespace(verdict=next(answers))

    monkeypatch.setattr(classes, "calibration_gate_on_sample", gate)
    rows = multiclass_sample([0, 1, 1, 2, 2, 2, 1, 2, 2, 1], np.full((10, 3), 1 / 3))
    rates, distances, qvalues = (0.02, 0.4, 0.5), (0.03, 0.3, 0.04), (0.01, 0.06, 0.01)
    questions = [
        SimpleNamespace(name=str(i), rate=r, mean_prediction=r, lower_calibration_distance=d, qvalue=q)
        for i, (r, d, q) in enumerate(zip(rates, distances, qvalues, strict=True))
    ]
    assert _state(rows, questions, 0.06 - 1e-9, limit) == state
    assert [each[1] for each in found] == [[1, 4, 5][i] for i in asked]
    assert [each[3] for each in found] == pytest.approx([0.02] * len(asked))
    assert [each[2] for each in found] == pytest.approx([limit or {0: 0.002, 2: 0.02}[i] for i in asked])
    assert _state(rows, questions, 1e-3, limit) is None
    weighted = multiclass_sample([0, 1, 2], np.full((3, 3), 1 / 3), sample_weight=[1.0, 2.0, 1.0])
    assert _state(weighted, questions, 0.05, limit) == "worth correcting"
