"""Metrics of other libraries give calibrant's own number, whatever the batches, and refuse what it refuses."""

import re
from pathlib import Path

import numpy as np
import pytest

import calibrant
from calibrant import InputError

N = 300
RNG = np.random.default_rng(0)
EVENT = RNG.random(N)
LABEL = (RNG.random(N) < EVENT**1.5) * 1
TABLE = RNG.dirichlet([1.0, 1.0, 1.0], N)
CLASS = (RNG.random(N)[:, None] > TABLE.cumsum(axis=1)[:, :2]).sum(axis=1)
CASES = {"event": (EVENT, LABEL), "classes": (TABLE, CLASS)}
MEASURES = ["smooth_calibration_error", "expected_calibration_error", "lower_calibration_distance"]


def expected(case, measure):
    y_prob, y_true = CASES[case]
    if case == "classes":
        y_true, y_prob = y_prob.argmax(axis=1) == y_true, y_prob.max(axis=1)
    return pytest.approx(getattr(calibrant, measure)(y_true, y_prob), abs=1e-12)


def batches(case):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return [
        tuple(torch.from_numpy(np.ascontiguousarray(each[at : at + 70])) for each in CASES[case])
        for at in range(0, N, 70)
    ]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", CASES)
def test_torchmetrics(case, measure):
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    from calibrant.integrations.torchmetrics import CalibrationError

    metric, other = CalibrationError(measure), CalibrationError(measure)
    first, *rest = batches(case)
    metric.update(*first)
    for batch in rest:
        other.update(*batch)
    metric.merge_state(other)
    assert float(metric.compute()) == expected(case, measure)
    metric.reset()
    assert float(metric(*first)) != expected(case, measure)


def test_torchmetrics_in_a_collection_beside_its_own():
    torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    from calibrant.integrations.torchmetrics import CalibrationError

    own = torchmetrics.classification.BinaryCalibrationError(n_bins=15)
    both = torchmetrics.MetricCollection({"exact": CalibrationError(), "binned": own})
    for y_prob, y_true in batches("event"):
        both.update(y_prob, y_true)
    found = both.compute()
    assert float(found["exact"]) == expected("event", "smooth_calibration_error")
    assert float(found["binned"]) == pytest.approx(calibrant.expected_calibration_error(LABEL, EVENT), abs=1e-6)
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        both["exact"].update(batches("event")[0][0] + 1, batches("event")[0][1])
    with pytest.raises(InputError, match="measure: is 'ece'"):
        CalibrationError("ece")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", CASES)
def test_ignite(case, measure):
    pytest.importorskip("ignite", reason="pytorch-ignite is not installed")
    from ignite.engine import Engine

    from calibrant.integrations.ignite import CalibrationError

    evaluator = Engine(lambda _engine, batch: {"prob": batch[0], "label": batch[1]})
    metric = CalibrationError(measure, output_transform=lambda found: (found["prob"], found["label"]))
    metric.attach(evaluator, "calibration")
    for _ in range(2):  # an epoch forgets the one before
        assert evaluator.run(batches(case)).metrics["calibration"] == expected(case, measure)
    with pytest.raises(InputError, match="measure: is 'ece'"):
        CalibrationError("ece")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_evaluate(case, tmp_path):
    evaluate = pytest.importorskip("evaluate", reason="evaluate is not installed")
    from calibrant.integrations import hf_evaluate

    y_prob, y_true = CASES[case]
    options = {"cache_dir": str(tmp_path)}
    metric = evaluate.load(hf_evaluate.__file__, **options)
    found = metric.compute(predictions=y_prob, references=y_true)
    assert found == {"smooth_calibration_error": expected(case, "smooth_calibration_error")}
    named = evaluate.load(hf_evaluate.__file__, "lower_calibration_distance", **options)
    for at in range(0, N, 70):
        named.add_batch(predictions=y_prob[at : at + 70], references=y_true[at : at + 70])
    assert named.compute() == {"lower_calibration_distance": expected(case, "lower_calibration_distance")}
    with pytest.raises(InputError, match="measure: is 'ece'"):
        evaluate.load(hf_evaluate.__file__, "ece", **options).compute(predictions=y_prob, references=y_true)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["torchmetrics", "ignite", "evaluate"])
def test_the_lines_of_the_book_run(library, monkeypatch, tmp_path):
    pytest.importorskip(library, reason=f"{library} is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    blocks = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    (block,) = (each for each in blocks if re.search(rf"^(import {library}|.*integrations\.{library})\b", each, re.M))
    y_prob, y_true = (torch.from_numpy(each) for each in CASES["event"])
    names = {"y_prob": y_prob, "y_true": y_true, "loader": batches("event"), "model": lambda features: features}
    exec(compile(block, library, "exec"), names)
    assert float(names["found"]) == expected("event", "smooth_calibration_error")
