"""The workflow on the gate's page: its steps run as they stand, but for the installation of what is tested here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import CalibrationSketch

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
PAGE = Path(__file__).parents[2] / "docs" / "gate.md"
PREDICT = "import shutil; shutil.copy('held/predictions.parquet', 'predictions.parquet')\n"


def steps():
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return yaml.safe_load(block)["jobs"]["gate"]["steps"]


def held(path, power):
    rng = np.random.default_rng(0)
    score = rng.random(20_000)
    clicked = (rng.random(score.size) < score**power) * 1
    CalibrationSketch().update((rng.random(score.size) < score) * 1, score).to_parquet(path / "release.parquet")
    (path / "held").mkdir()
    region = np.array(["north", "south"])[np.arange(score.size) % 2]
    frame = pd.DataFrame({"clicked": clicked, "score": score, "region": region})
    frame.to_parquet(path / "held" / "predictions.parquet")
    (path / "predict.py").write_text(PREDICT)
    (path / "bin").mkdir()
    for name, command in (("calibrant", "-m calibrant"), ("python", "")):
        shim = path / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        shim.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "codes"), [(1.0, [0, 0]), (1.5, [0, 1])])
def test_its_steps_run_and_end_as_they_should(tmp_path, power, codes):
    held(tmp_path, power)
    summary = tmp_path / "summary.md"
    here = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(summary)}
    source = {"PYTHONPATH": str(PAGE.parents[1] / "src")}
    run = {step["name"]: step["run"] for step in steps() if "run" in step}
    assert list(run) == ["Install", "Predict", "Gate"]
    assert "pip install" in run.pop("Install")
    ended = [
        subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=tmp_path, env={**os.environ, **here, **source})
        for line in run.values()
    ]
    assert [each.returncode for each in ended] == codes
    assert f"Exit code {codes[-1]}." in summary.read_text()
    (artefact,) = (step["with"]["path"] for step in steps() if "upload-artifact" in step.get("uses", ""))
    assert ("<failure" in (tmp_path / artefact).read_text()) is bool(codes[-1])
    for check in ("all rows", "region = north", "region = south", "baseline"):
        assert f"| {check} |" in summary.read_text()
