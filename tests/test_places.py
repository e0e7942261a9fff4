"""What other programs read of this repository: the action, the hook of pre-commit, the citation, the recipe."""

import hashlib
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

import calibrant

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def required(*extras):
    """What an installation with these extras brings, as pyproject.toml says it."""
    found = list(PROJECT["dependencies"])
    for extra in extras:
        for each in PROJECT["optional-dependencies"][extra]:
            inner = re.fullmatch(r"calibrant\[(.*)\]", each)
            found += [name for name in (required(*inner[1].split(",")) if inner else [each]) if name not in found]
    return found


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Calibrated predictions, overconfident ones, and a few; each beside a column of others that are wrong."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    right, wrong = (rng.random(4000) < each for each in (p, 0.5 + 0.1 * (p - 0.5)))
    for name, y, n in (("within", right, 4000), ("beyond", wrong, 4000), ("undecided", right, 60)):
        lines = "\n".join(f"{int(a)},{b:.6f},{1 - b:.6f}" for a, b in zip(y[:n], p[:n], strict=True))
        (folder / f"{name}.csv").write_text(f"clicked,score,y_prob\n{lines}\n")
    return folder


def run(folder, tmp_path, **inputs):
    """Run the action's steps as a runner does: a file for outputs, one for the summary, the shell's own options."""
    given = {name: inputs.get(name.replace("-", "_"), each.get("default")) for name, each in ACTION["inputs"].items()}
    assert None not in given.values()
    values = {"github.action_path": str(ROOT), **{f"inputs.{name}": value for name, value in given.items()}}

    def filled(text):
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values[match[1]], text)

    install, gate = ACTION["runs"]["steps"]
    assert filled(install["run"]) == f'python -m pip install --quiet "{ROOT}[all]"'
    assert "${{ inputs" not in gate["run"]  # what users give is never part of a script
    output, summary = tmp_path / "output", tmp_path / "summary"
    environment = {name: filled(value) for name, value in gate["env"].items()}
    environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": str(tmp_path)}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", filled(gate["run"])],
        env={**os.environ, **environment, "PATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    names = {each["value"].split(".")[-1].removesuffix(" }}") for each in ACTION["outputs"].values()}
    assert names == set(outputs)
    return done, outputs, summary.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("within", 0), ("beyond", 1), ("undecided", 3)])
def test_the_action_ends_with_the_verdict(rows, tmp_path, name, code):
    column = {"arguments": "--y-prob score"} if name == "within" else {"y_prob": "score"}
    given = {"predictions": f"{name}.csv", "y_true": "clicked", "max_distance": "0.05"}
    done, outputs, summary = run(rows, tmp_path, **given, **column)
    assert done.returncode == code, done.stderr
    assert outputs["verdict"] == name
    assert outputs["exit-code"] == str(code)
    comment = Path(outputs["comment"]).read_text()
    assert comment.startswith(f"## Calibration gate of {name}.csv")
    assert summary.startswith(comment)
    page = summary.split("<details>")[1]
    assert "observed rate" in page  # the picture
    assert ("not chance" in page) == (name == "beyond")  # of the same predictions
    assert "<testcase" in Path(outputs["junit"]).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"predictions": "none.csv"}, "none.csv"),
        ({"predictions": "within.csv", "arguments": "--max-regret 0.001 --pos-label 'x"}, "--pos-label 'x"),
        ({"predictions": "within.csv", "arguments": "--help"}, ""),
        ({"predictions": "--help"}, "--help"),
    ],
)
def test_the_action_says_where_there_is_no_verdict(rows, tmp_path, given, named):
    done, outputs, summary = run(rows, tmp_path, max_distance="0.05", **given)
    assert done.returncode == 2
    assert outputs["verdict"] == "error"
    assert "no verdict" in summary.lower()
    assert ("Exit code 2" in summary) != (f"{named}' does not exist" in summary)  # where the command says why itself
    assert named in done.stderr


@pytest.mark.slow
def test_arguments_are_parted_as_a_shell_does_and_not_run(rows, tmp_path):
    given = "--y-prob '$(touch made) `touch made`'"
    done, outputs, _ = run(
        rows, tmp_path, predictions="within.csv", y_true="clicked", max_distance="0.05", arguments=given
    )
    assert not (rows / "made").exists()
    assert outputs["verdict"] == "error"
    assert "$(touch made) `touch made`" in done.stdout + done.stderr


HELP = subprocess.run(
    [sys.executable, "-m", "calibrant", "gate", "--help"], capture_output=True, text=True, check=True
).stdout


def test_the_hook_of_pre_commit_names_a_command():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, command = hook["entry"].split()
    assert program in PROJECT["scripts"]
    assert f"{program} {command} [OPTIONS]" in HELP
    assert re.search(hook["files"], "data/predictions.parquet")
    assert hook["language"] == "python"
    assert hook["additional_dependencies"] == [each for each in required("cli") if each not in required()]


def test_versions_are_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    recipe = (ROOT / "recipe" / "meta.yaml").read_text()
    assert citation["version"] == PROJECT["version"] == calibrant.__version__
    assert f'set version = "{PROJECT["version"]}"' in recipe
    assert ">=" + re.search(r'set python_min = "(.*)"', recipe)[1] == PROJECT["requires-python"]
    assert citation["license"] == PROJECT["license"]
    run_needs = re.findall(r"^ {4}- ([\w-]+)", recipe.split("  run:")[1].split("test:")[0], re.M)
    names = {re.match(r"[\w-]+", each)[0] for each in required("all")}
    renamed = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}
    assert set(run_needs) == {"python"} | {renamed.get(each, each) for each in names}


def test_a_releases_recipe_has_its_archive_home_and_account(tmp_path, monkeypatch):
    release = runpy.run_path(str(ROOT / "tools" / "release.py"))
    archive = tmp_path / f"calibrant-{PROJECT['version']}.tar.gz"
    archive.write_bytes(b"sources")
    monkeypatch.setenv("CALIBRANT_URL", "https://forge.example/team/calibrant/")
    monkeypatch.setitem(release["write_recipe"].__globals__, "DIST", tmp_path)
    release["write_recipe"](PROJECT["version"])
    written = re.sub(r"\{%.*%\}\n|\{\{ *python_min *\}\}", "", (tmp_path / "meta.yaml").read_text())
    recipe = yaml.safe_load(re.sub(r"\{\{ *(\w+) *\}\}", r"\1", written))
    assert recipe["source"] == {
        "url": f"https://forge.example/team/calibrant/releases/download/v{PROJECT['version']}/{archive.name}",
        "sha256": hashlib.sha256(b"sources").hexdigest(),
    }
    assert recipe["about"]["home"] == "https://forge.example/team/calibrant"
    assert recipe["extra"] == {"recipe-maintainers": ["team"]}
    assert "CALIBRANT_" not in written


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def test_a_workflow_runs_what_there_is(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    lines = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    for name in re.findall(r"(?<![\w./-])(?:\.ci|tools|recipe)/[\w./-]+", lines):
        assert (ROOT / name).exists(), name
    for extras in re.findall(r"\.\[([\w,]+)\]", lines):
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
