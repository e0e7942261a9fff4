"""The harness itself, offline: its dummy model, a task of our own, and what `calibrant audit` reads of its samples."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("lm_eval", reason="lm_eval is not installed")


PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
TASK = """
task: quiz
dataset_path: json
dataset_kwargs: {{ data_files: {{ test: {data} }} }}
test_split: test
output_type: {output_type}
doc_to_text: "{{{{question}}}}"
doc_to_target: {target}
doc_to_choice: choices
metric_list:
  - {{ metric: acc, aggregation: mean, higher_is_better: true }}
"""


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Run a task with the lines of the book: a YAML file that includes the task's own, and a module beside it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "questions.jsonl"
    rows = [
        {"question": f"{i}?", "choices": list("abcd"[: 2 + i % 3]), "label": i % 2, "labels": [0, 1]} for i in range(60)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    blocks = re.findall(r"```(?:yaml|py)\n(# (\w+\.\w+)\n.*?)```", PAGE.read_text(), flags=re.DOTALL)
    files = {name: text for text, name in blocks}
    assert set(files) == {"quiz_calibrated.yaml", "calibration.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def run(target="label", output_type="multiple_choice"):
        import lm_eval
        from lm_eval.tasks import TaskManager

        (tmp_path / "quiz.yaml").write_text(TASK.format(data=data, target=target, output_type=output_type))
        options = {"task_manager": TaskManager(include_path=str(tmp_path), include_defaults=False)}
        options |= {"log_samples": True, "bootstrap_iters": 0}
        return lm_eval.simple_evaluate("dummy", tasks=["quiz_calibrated"], **options)

    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_error_is_that_of_the_samples_that_it_logs(evaluated, tmp_path):
    import calibrant
    from calibrant.tables.entry import OpenedFile

    found = evaluated()
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(each, default=str) + "\n" for each in found["samples"]["quiz_calibrated"]))
    read = OpenedFile(path).read()
    assert len(read.y_true) == 60
    for name in ("smooth_calibration_error", "lower_calibration_distance"):
        expected = getattr(calibrant, name)(read.y_true, read.y_prob)
        assert found["results"]["quiz_calibrated"][f"{name},none"] == pytest.approx(expected, abs=1e-9)
        assert found["higher_is_better"]["quiz_calibrated"][name] is False
    assert found["results"]["quiz_calibrated"]["acc,none"] == pytest.approx(read.y_true.mean())
    assert not any(name.startswith("likelihood") for name in found["results"]["quiz_calibrated"])
    from lm_eval.utils import make_table

    assert "smooth_calibration_error" in make_table(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_document_with_several_right_choices(evaluated):
    found = evaluated(target="labels")
    assert found["results"]["quiz_calibrated"]["smooth_calibration_error,none"] >= 0.0
    for sample in found["samples"]["quiz_calibrated"]:
        right, confidence = sample["smooth_calibration_error"]
        assert right == sample["acc"]
        assert 1 / 4 <= confidence <= 1


@pytest.mark.filterwarnings("ignore")
def test_another_kind_of_task_is_refused(evaluated):
    with pytest.raises(Exception, match="must be 'multiple_choice'"):
        evaluated(output_type="generate_until")
