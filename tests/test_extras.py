"""Without the libraries of the extras: what needs none works, and what needs one says how it is installed."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from calibrant.lazily import EXTRAS

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
DRAWN = """
import json
import numpy as np
import calibrant
rng = np.random.default_rng(0)
p = rng.random(400)
y = (rng.random(400) < p).astype(int)
"""
CORE = """
audit = calibrant.audit(y, p, random_state=0, n_resamples=99)
for page in (str(audit), audit.summary(), audit.to_json()):
    assert "chance" in page or "error" in page
assert audit._repr_html_() is None
classes = calibrant.audit(rng.integers(0, 3, 900), rng.dirichlet(np.ones(3), 900), random_state=0, n_resamples=99)
assert "the map of classes needs sklearn" in classes.summary()
calibrant.audit(y, np.c_[1 - p, p], n_resamples=0)
calibrant.calibration_gate(y, p, max_distance=0.1).summary()
calibrant.compare_calibration(y, p, p**1.1, n_resamples=99, random_state=0).summary()
calibrant.decision_curve(y, p).summary()
calibrant.clinical_calibration(y, p, random_state=0, n_resamples=99).summary()
calibrant.recalibration.certified_gain(y, p, random_state=0).summary()
calibrant.smooth_calibration_witness(y, p)
calibrant.calibration_distance(y[:60], p[:60])
calibrant.CalibrationSketch().update(y, p).audit().summary()
"""
ROADS = """
import pandas
frame = pandas.DataFrame({"y_true": y, "y_prob": p, "site": y})
names = {"y_true": "y_true", "y_prob": "y_prob"}
audit = calibrant.audit(y, p, random_state=0, n_resamples=0)
roads = {
    "audit_table": lambda: calibrant.audit_table(frame),
    "calibration_by_segment": lambda: calibrant.calibration_by_segment(frame, **names, by="site"),
    "find_segments": lambda: calibrant.find_segments(frame, **names, features=["site"]),
    "CalibrationSketch.from_frame": lambda: calibrant.CalibrationSketch.from_frame(frame, **names),
    "AveragedScaling": lambda: calibrant.choose_recalibrator(y, p),
    "compare_recalibrators": lambda: calibrant.recalibration.compare_recalibrators(y, p),
    "calibration_scorer": lambda: calibrant.calibration_scorer,
    "RecalibratedClassifier": lambda: calibrant.RecalibratedClassifier,
    "load": lambda: calibrant.recalibration.load,
    "ReliabilityDisplay": lambda: calibrant.ReliabilityDisplay,
    "calibrant.report.html": lambda: audit.to_html("report.html"),
}
words = {}
for name, road in roads.items():
    try:
        road()
    except ModuleNotFoundError as problem:
        words[name] = str(problem)
print(json.dumps(words))
"""


def run(code, folder, missing=EXTRAS):
    without = f"import sys\nfor each in {missing}: sys.modules[each] = None\n"
    return subprocess.run(
        [sys.executable, "-c", without + code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_arrays_need_no_extra(tmp_path):
    done = run(DRAWN + CORE, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_what_needs_an_extra_names_it(tmp_path):
    done = run(DRAWN + ROADS, tmp_path)
    assert done.returncode == 0, done.stderr
    words = json.loads(done.stdout)
    assert len(words) == 11
    report = {"ReliabilityDisplay", "calibrant.report.html"}
    sklearn = {"AveragedScaling", "compare_recalibrators", "calibration_scorer", "RecalibratedClassifier", "load"}
    for name, sentence in words.items():
        extra = "report" if name in report else "sklearn" if name in sklearn else "files"
        assert sentence.startswith(f"{name} needs ")
        assert sentence.endswith(f", which is not installed: pip install 'calibrant[{extra}]'")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["audit", "gate", "sketch"])
@pytest.mark.parametrize("missing", [EXTRAS, ("duckdb", "pyarrow")])
def test_a_command_that_needs_an_extra_ends_as_bad_usage(tmp_path, command, missing):
    (tmp_path / "rows.csv").write_text("y_true,y_prob\n0,0.2\n1,0.7\n0,0.4\n")
    more = {"gate": ["--max-distance", "0.1"], "sketch": ["--out", "rows.parquet"]}.get(command, [])
    started = f"sys.argv = {['calibrant', command, 'rows.csv', *more]!r}\nfrom calibrant.__main__ import main\nmain()"
    done = run(started, tmp_path, missing)
    assert done.returncode == 2, done.stderr
    assert f"pip install 'calibrant[{'cli' if missing == EXTRAS else 'files'}]'" in done.stderr
    assert "unforeseen" not in done.stderr


def test_every_library_of_an_extra_is_one_that_is_named():
    extras = PROJECT["optional-dependencies"]
    names = {"scikit-learn": "sklearn"}
    said = [each.split(">")[0] for extra in ("files", "report", "sklearn", "cli") for each in extras[extra]]
    assert {names.get(each, each) for each in said} - {"calibrant[files]"} == set(EXTRAS)
    assert extras["all"] == ["calibrant[cli,report,sklearn]"]
    assert extras["test"][0] == "calibrant[all]"
    core = {each.split(">")[0] for each in PROJECT["dependencies"]}
    assert core == {"numpy", "scipy", "numba", "narwhals", "threadpoolctl"}
