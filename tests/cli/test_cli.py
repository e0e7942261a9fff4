"""The command line: exit codes, messages, and nothing lost on failure."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant
from calibrant import progress as told
from calibrant.cli.app import MOST_FILES, _open_files, _proved_wrong, app
from calibrant.cli.demo import kept, predictions, trained
from calibrant.cli.options import _AsTheyAre, check_target
from calibrant.door.errors import FileError, InputError
from calibrant.door.request import AuditRequest
from tests.shared_data import FOLDER, NETWORKS, needs_data

pytestmark = pytest.mark.usefixtures("one_database")

RUN = CliRunner()


def run(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    y_prob = rng.random(500)
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"y_true": (rng.random(500) < y_prob**2) * 1, "y_prob": y_prob}).to_parquet(path)
    return path


@pytest.mark.slow
def test_audit_prints_one_page(rows):
    done = run("audit", rows, "--seed", 1)
    assert done.exit_code == 0
    assert "Using 'y_true' as the outcomes, 'y_prob' as the predictions." in done.stderr
    assert "Too high near " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.slow
def test_json_alone_on_stdout(rows):
    done = run("audit", rows, "--json", "--seed", 1)
    found = json.loads(done.stdout)
    frame = pd.read_parquet(rows)
    expected = calibrant.smooth_calibration_error(frame["y_true"], frame["y_prob"])
    assert found["measures"]["smooth_calibration_error"]["value"] == expected


@pytest.mark.slow
def test_html_is_written_and_named(rows, tmp_path):
    out = tmp_path / "report.html"
    done = run("audit", rows, "--html", out)
    assert done.exit_code == 0
    assert str(out) in done.stdout.replace("\n", "")
    assert out.read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        ([0.2, 1.5], [], "--y-prob: rows counted from 0: row 1 is 1.5"),
        ([-3.0, 2.0], [], "look like logits"),
        ([20.0, 70.0], [], "look like percentages"),
        ([0.2, 0.3], ["--y-prob", "p"], "there is no column 'p'; there are 'y_true', 'y_prob'"),
        ([0.2, 0.3], ["--level", "2"], "--level: is 2; it is alpha"),
        ([0.2, 0.3], ["--resamples", "-1"], "--resamples: is -1"),
        ([0.2, 0.3], ["--html", "missing/folder/out.html"], "does not exist"),
        ([0.2, 0.3], ["--html", "."], "is a folder"),
    ],
)
def test_bad_input_ends_with_2_and_a_message(tmp_path, values, arguments, message):
    path = tmp_path / "bad.csv"
    pd.DataFrame({"y_true": [0, 1], "y_prob": values}).to_csv(path, index=False)
    done = run("audit", path, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert not done.stdout


def test_a_renamed_column_is_named_as_the_user_knows_it(tmp_path):
    path = tmp_path / "bad.csv"
    pd.DataFrame({"clicked": [0, 1], "my score": [0.2, 7]}).to_csv(path, index=False)
    done = run("audit", path, "--y-true", "clicked", "--y-prob", "my score")
    assert "--y-prob: column 'my score', rows counted from 0: row 1 is 7" in done.stderr


def test_swapped_columns(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y_true": [0.2, 0.7], "y_prob": [0, 1]}).to_csv(path, index=False)
    done = run("audit", path)
    assert done.exit_code == 2
    assert "look swapped" in done.stderr


def test_the_input_is_never_overwritten(rows):
    before = rows.read_bytes()
    done = run("audit", rows, "--html", rows)
    assert done.exit_code == 2
    assert "is an input file itself" in done.stderr
    assert rows.read_bytes() == before


def test_no_file_of_a_pattern_is_ever_overwritten(rows):
    before = rows.read_bytes()
    (rows.parent / "more.parquet").write_bytes(before)
    done = run("audit", rows.parent / "*.parquet", "--html", rows)
    assert done.exit_code == 2
    assert "is an input file itself" in done.stderr
    assert rows.read_bytes() == before


@pytest.mark.parametrize(("html", "message"), [("/dev/null", "is not a plain file"), ("x" * 300, "too long")])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(rows, html, message):
    done = run("audit", rows, "--html", html)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Using" not in done.stderr


def test_unknown_options_and_commands_end_with_2(rows):
    assert run("audit", rows, "--y-porb", "x").exit_code == 2
    assert run("audti", rows).exit_code == 2
    assert run("audit").exit_code == 2


def test_version_and_module():
    done = subprocess.run([sys.executable, "-m", "calibrant", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"calibrant {calibrant.__version__}"


@pytest.mark.slow
def test_interrupt_leaves_no_report(tmp_path):
    rng = np.random.default_rng(0)
    path, out = tmp_path / "big.parquet", tmp_path / "report.html"
    y_prob = rng.random(3_000_000)
    pd.DataFrame({"y_true": (rng.random(y_prob.size) < y_prob) * 1, "y_prob": y_prob}).to_parquet(path)
    out.write_text("old")
    work = subprocess.Popen(
        [sys.executable, "-m", "calibrant", "audit", str(path), "--html", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "Using" in work.stderr.readline()  # it has opened the file: the rows come next
    work.send_signal(signal.SIGINT)
    stdout, stderr = work.communicate()
    assert work.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert not stdout
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["big.parquet", "report.html"]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError("Query interrupted"), ImportError("half way")])
def test_an_interrupt_is_130_whatever_a_library_makes_of_it(rows, tmp_path, monkeypatch, raised):
    def interrupted(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except BaseException:
            raise raised from None

    monkeypatch.setattr("calibrant.findings.tables.audit_given", interrupted)
    before = signal.getsignal(signal.SIGINT)  # Spark's own, where its tests ran in this process
    done = run("audit", rows, "--html", tmp_path / "report.html")
    assert done.exit_code == 130
    assert not (tmp_path / "report.html").exists()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_a_message(rows):
    shell = f"'{sys.executable}' -m calibrant audit '{rows}' --resamples 0 > /dev/full"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_time_left_follows_the_stages_that_are_done():
    at = [0.0]
    clock = told.Clock(n_files=2, now=lambda: at[0])
    clock.next("Reading")
    at[0] = 5.0
    assert clock.words() == "5 s"  # reading tells nothing of the rest
    clock.next("Reliability diagram")
    at[0] = 7.0
    assert clock.words() == "7 s"
    total = 2.0 * sum(told._SHARES.values())
    at[0] = 5.0 + 16.0
    clock.next("Bounds")
    assert clock.words() == "21 s"
    at[0] += 14.0  # 100 seconds for the whole of the shares
    clock.next("What to do")
    said = clock.words()
    assert said == f"35 s, about {100.0 * total - 30.0:.0f} s left"
    at[0] += 10.0
    assert clock.words() == f"45 s, about {100.0 * total - 40.0:.0f} s left"
    at[0] += 40.0
    assert clock.words() == "85 s"  # longer than usual
    clock.next("Comparison")
    assert clock.words() == "85 s"


def test_progress_is_silent_away_from_a_terminal_and_stops_for_good():
    with told.Progress() as progress:
        assert progress._timer is None
        progress.stop()
        progress._show()  # the timer going off while the work ends
        assert progress._line is None


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(rows):
    shell = f"'{sys.executable}' -m calibrant audit '{rows}' --json 2>err.txt | head -c 1; cat err.txt"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, cwd=rows.parent, check=False)
    assert "Traceback" not in done.stdout
    assert "Error" not in done.stdout


@pytest.mark.slow
def test_demo(tmp_path):
    done = run("demo", "--folder", tmp_path)
    assert done.exit_code == 0
    assert "naive Bayes" in done.stdout
    assert "Too confident. Near " in done.stdout
    assert [path.name for path in tmp_path.glob("*.html")] == ["calibrant-demo.html"]
    # They are far enough apart for 569 rows.
    assert "logistic regression is better calibrated than naive Bayes" in done.stdout
    refused = run("demo", "--folder", tmp_path / "missing")
    assert refused.exit_code == 2
    assert "--folder: " in refused.stderr
    assert run("demo", "--seed", -1).exit_code == 2


@pytest.mark.slow
def test_the_demos_predictions_are_those_of_its_models():
    """Other versions of scikit-learn and SciPy end the fit a rounding earlier or later."""
    (benign, models), (outcomes, by_model) = trained(0), kept()
    np.testing.assert_array_equal(benign, outcomes)
    assert list(models) == list(by_model)
    for name, y_prob in models.items():
        np.testing.assert_allclose(by_model[name], y_prob, rtol=0.0, atol=1e-6)


@pytest.mark.slow
@needs_data
def test_the_figure_of_the_first_network():
    done = run("audit", FOLDER / "cifar100_resnet56.parquet", "--json")
    value = json.loads(done.stdout)["measures"]["smooth_calibration_error"]["value"]
    assert value == pytest.approx(0.1518906494, abs=1e-9)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_keeps_every_inequality(name):
    done = run("audit", FOLDER / name, "--resamples", "0", "--json")
    assert done.exit_code == 0, done.output
    found, frame = json.loads(done.stdout), pd.read_parquet(FOLDER / name)
    assert [each for each in found["inequalities"] if not each["holds"]] == []
    error = calibrant.smooth_calibration_error(frame["y_true"], frame["y_prob"])
    assert found["measures"]["smooth_calibration_error"]["value"] == pytest.approx(error, abs=1e-12)
    assert found["smooth_calibration_error"]["dual_bound"] == pytest.approx(error, abs=1e-12)


@pytest.mark.slow
@needs_data
def test_ten_classes():
    done = run("audit", FOLDER / "cifar10_vgg_10class.parquet", "--seed", "0", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["smooth_calibration_error"]["attained"] == pytest.approx(0.0397, abs=1e-4)
    assert found["advice"]["chosen"] == "averaged_classes"
    assert found["classes"]["n_classes"] == 10


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("column", ["Logistic", "EMOS", "ENS", "EPC"])
def test_rain_in_niamey(column):
    path = FOLDER / "precip_niamey_2016.parquet"
    assert run("audit", path, "--y-true", "obs", "--y-prob", column).exit_code == 0
    refused = run("audit", path)
    assert refused.exit_code == 2
    assert "--y-prob: cannot be guessed; name one of the columns" in refused.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be chosen here")
def test_the_same_answer_on_one_processor_and_on_all(rows, monkeypatch):
    command = [sys.executable, "-m", "calibrant", "audit", str(rows), "--seed", "1", "--json"]
    one = {min(os.sched_getaffinity(0))}
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)  # as users have it: a thread a processor
    said = [
        subprocess.run(command, capture_output=True, check=True, preexec_fn=before).stdout
        for before in (None, lambda: os.sched_setaffinity(0, one))
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ("--max-regret", 0.5),
            0,
            "PASS (limit 0.5 on the regret): at any threshold,",
        ),
        (
            ("--max-regret", 0.026, "--threshold", 0.25),
            3,
            "UNDECIDED (limit 0.026 on the regret): at the threshold 0.25,",
        ),
        (
            ("--max-regret", 0.001, "--threshold", 0.25),
            1,
            "FAIL (limit 0.001 on the regret): at the threshold 0.25,",
        ),
        (("--max-regret", 0.4, "--threshold", 0.25, "--json"), 0, '"verdict": "within"'),
    ],
)
def test_a_gate_of_regret_ends_as_any_gate(tmp_path, options, code, said):
    rng = np.random.default_rng(0)
    y_prob = rng.random(3000)
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"y_true": (rng.random(3000) < y_prob**2) * 1, "y_prob": y_prob}).to_parquet(path)
    done = run("gate", path, *options)
    assert said in done.stdout.replace("\n", " ")
    assert done.exit_code == code


@pytest.mark.slow
def test_a_gate_of_regret_takes_weights_by_their_bound(tmp_path):
    rng = np.random.default_rng(0)
    y_prob = rng.random(500)
    columns = {"y_true": (rng.random(500) < y_prob) * 1, "y_prob": y_prob, "sample_weight": rng.random(500)}
    path = tmp_path / "rows.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    assert run("gate", path, "--max-regret", 0.2).exit_code == 2
    assert run("gate", path, "--max-regret", 0.2, "--max-weight", 1).exit_code == 0
    assert run("gate", path, "--max-regret", 0.2, "--unweighted").exit_code == 0
    assert "--max-weight: column 'sample_weight' holds weights" in run("gate", path).stderr


def test_an_option_that_is_given_three_times_is_refused_by_name():
    for option, several in (("--seed", False), ("--by", True)):
        done = run("audit" if option == "--seed" else "gate", "rows.csv", *[option, "1"] * 3)
        assert done.exit_code == 2
        assert f"{option} is given 3 times, and takes one value" in done.stderr
        assert ("commas" in done.stderr) == several


@pytest.mark.slow
def test_an_option_that_takes_one_value_is_refused_twice(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y_true,a,b\n" + "1,0.9,0.1\n0,0.2,0.8\n" * 20)
    for command in ("gate", "sketch"):
        more = ["--max-distance", "0.1"] if command == "gate" else ["-o", str(tmp_path / "a.sketch")]
        done = CliRunner().invoke(app, [command, str(path), "--y-prob", "a", "--y-prob", "b", *more])
        assert done.exit_code == 2
        assert "--y-prob" in done.stderr
        assert "is given 2 times" in done.stderr
    assert not (tmp_path / "a.sketch").exists()
    both = CliRunner().invoke(app, ["audit", str(path), "--y-prob", "a", "--y-prob", "b", "--resamples", "0"])
    assert both.exit_code == 0


def test_a_limit_that_any_constant_passes_is_said_to_be_loose(tmp_path):
    path = tmp_path / "rare.csv"
    path.write_text("y_true,y_prob\n" + "0,0.01\n" * 990 + "1,0.02\n" * 10)
    loose = CliRunner().invoke(app, ["gate", str(path), "--max-distance", "0.05"])
    said = " ".join(loose.stdout.split())
    assert "The limit is looser than the default, 0.1 points, a tenth of the rarer outcome's" in said
    assert "predicting 0 everywhere would be within the limit" in said
    for limit in (["--max-distance", "0.001"], []):
        tight = CliRunner().invoke(app, ["gate", str(path), *limit])
        assert "loose" not in tight.output
        assert "limit 0.1;" in tight.output
        assert f"The limit {'was given' if limit else 'is the default'} (max_distance)." in tight.output


@pytest.mark.slow
def test_the_limit_of_the_gate_is_that_of_the_audit(tmp_path):
    """Where none is given: of rows, segments, sums, classes; JUnit, summary and JSON say that it is the default."""
    rng = np.random.default_rng(3)
    for name, rate in (("usual", 0.5), ("rare", 0.03)):
        p, site = rate * 2.0 * rng.random(3000), rng.choice(["a", "b"], 3000)
        lines = "".join(f"{int(y)},{v},{s}\n" for y, v, s in zip(rng.random(3000) < p, p, site, strict=True))
        path = tmp_path / f"{name}.csv"
        path.write_text(f"y_true,y_prob,site\n{lines}")
        audited = run("audit", path, "--resamples", "0", "--json")
        limit = json.loads(audited.stdout)["answer"]["max_distance"]
        junit, summary = tmp_path / "gate.xml", tmp_path / f"{name}.md"
        for more in ([], ["--by", "site"]):
            gated = json.loads(run("gate", path, *more, "--json", "--junit", junit, "--summary", summary).stdout)
            assert gated["premises"]["max_distance"] == limit
            assert gated["premises"]["default_limit"] is True
            assert (gated["max_distance"] if not more else gated["checks"][0]["max_distance"]) == limit
            for text in (junit.read_text(), summary.read_text().replace("\\", "")):
                assert "The limit is the default (max_distance)." in text
                assert f"limit {100.0 * limit:g}" in text


def test_the_level_and_the_place_of_a_page_are_those_that_are_asked_for(rows, tmp_path):
    page, there = tmp_path / "page.html", tmp_path / "not" / "there.html"
    done = run("audit", rows, "--level", "0.16", "--resamples", "39", "--seed", "0", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["premises"]["level"] == 0.16
    with pytest.raises(FileError, match="is written by another option as well; name another"):
        check_target(page, "--html", [str(page)])
    check_target(page, "--html", [str(there)])
    for target, said in ((there, "does not exist; create it first"), (rows / "page.html", "is not a folder")):
        missing = run("audit", rows, "--resamples", "0", "--html", target)
        assert missing.exit_code == 2
        assert said in told_in_one_line(missing)


def told_in_one_line(done):
    return " ".join(done.stderr.split())


@pytest.mark.slow
def test_of_several_files_each_is_said_by_its_name_and_the_comparison_has_the_level_and_the_seed(tmp_path):
    rng = np.random.default_rng(0)
    y_prob = np.round(rng.random(60), 3)
    files = [tmp_path / "a" / "rows.csv", tmp_path / "b" / "rows.csv", tmp_path / "c.csv"]
    for k, path in enumerate(files):
        path.parent.mkdir(exist_ok=True)
        frame = pd.DataFrame({"y_true": (y_prob > 0.5) * 1, "y_prob": np.round(y_prob ** (1 + k), 3)})
        frame["y_true"] = frame["y_true"].where(np.arange(60) % 5 > 0, 1 - frame["y_true"])
        frame.to_csv(path, index=False)
    asked = ["--resamples", "39", "--seed", "3", "--level", "0.16"]
    both = run("audit", files[0], files[2], *asked, "--json", "--html", tmp_path / "both.html")
    assert both.exit_code == 0
    found = json.loads(both.stdout)
    assert (found["names"], found["comparison"]["level"]) == (["rows.csv", "c.csv"], 0.16)
    assert f"{files[0]}: Using 'y_true'" in told_in_one_line(both)
    assert f"Report: {tmp_path / 'both.html'}" in told_in_one_line(both)  # standard output has JSON alone
    assert (tmp_path / "both.html").read_text().lower().count("<!doctype html>") == 1
    alike = run("audit", files[0], files[1], *asked)
    assert str(files[1]) in "".join(alike.stdout.split())  # a long path is broken; equal names tell nothing
    one = run("audit", files[0], *asked, "--html", tmp_path / "one.html")
    assert f"{files[0]}: Using" not in told_in_one_line(one)
    assert "Report: " in one.stdout
    assert "Report" not in one.stderr
    many = run("audit", *[files[0]] * 9)
    assert many.exit_code == 2
    assert "is 9 files; up to 8 are set side by side" in told_in_one_line(many)
    two = run("audit", files[0], files[2], "--y-prob", "y_prob", "--y-prob", "y_true")
    assert "--y-prob: is given several times" in told_in_one_line(two)


@pytest.mark.parametrize("command", ["audit", "gate", "sketch", "merge", "baseline"])
def test_what_is_wrong_with_a_file_is_said_of_one_name(tmp_path, command):
    """Whichever room finds the fault: the argument has one spelling."""
    whole = tmp_path / "whole.csv"
    whole.write_text("y_true,y_prob\n1,0.5\n0,0.25\n")
    faults = {"gone.csv": None, "empty.csv": "", "cut.csv": "y_true,y_prob\n1,0.5", "bad.parquet": "no", "odd.xyz": "a"}
    for name, text in faults.items():
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        options = {
            "audit": [],
            "gate": ["--max-distance", 0.2],
            "sketch": ["-o", tmp_path / "o.sketch"],
            "merge": ["-o", tmp_path / "o.sketch"],
            "baseline": ["--max-distance", 0.2, "--baseline", path],
        }[command]
        asked = ["gate", whole] if command == "baseline" else [command, path]
        done = CliRunner().invoke(app, list(map(str, [*asked, *options])))
        assert done.exit_code == 2
        argument = "--baseline" if command == "baseline" else "FILE"
        assert done.stderr.rpartition("calibrant: ")[2].startswith(f"{argument}: "), done.stderr


def test_without_a_command_the_help_is_shown_alone():
    done = run()
    assert done.exit_code == 2
    assert "Usage: " in done.output
    assert "calibrant: " not in done.output


def test_what_is_of_one_file_is_refused_of_two_and_what_is_of_two_of_one(rows, tmp_path):
    other = tmp_path / "other.parquet"
    pd.DataFrame({"y_true": [0, 1] * 40, "y_prob": np.linspace(0.1, 0.9, 80)}).to_parquet(other)
    for arguments, said in (
        ((rows, other, "--all"), "--all: is of one FILE"),
        ((rows, other, "--certificate", tmp_path / "proof.json"), "--certificate: is of one FILE"),
        ((rows, "--items", "id"), "--items: has no effect on one FILE"),
        ([rows] * (MOST_FILES + 1), f"is {MOST_FILES + 1} files; up to {MOST_FILES} are set side by side"),
    ):
        done = run("audit", *arguments)
        assert done.exit_code == 2
        assert said in " ".join(done.stderr.split())
    number = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][MOST_FILES]
    assert f"(up to {number})" in (Path(__file__).parents[2] / "README.md").read_text()


def test_a_run_without_a_result_says_why_in_json(tmp_path, monkeypatch):
    # `--json` printed nothing, which no program can read.
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("y_true,y_prob\n0,0.2\n1,1.7\n")
    for command in ("audit", "gate"):
        for line in (["rows.csv"], ["none.csv"], ["rows.csv", "--level", "x"], ["rows.csv", "--time", "t"]):
            done = CliRunner().invoke(app, [command, *line, "--json"])
            assert done.exit_code == 2
            found = json.loads(done.stdout)
            assert set(found) == {"title", "error"}
            assert f"calibrant: {found['error']}" in done.stderr.replace("\n", "")
            assert not CliRunner().invoke(app, [command, *line]).stdout


@pytest.mark.parametrize("reference", [None, "0"])
@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("change", [None, False, True])
def test_periods_decide_by_their_readings_or_beside_a_reference_by_the_change(reference, reject, change):
    since = None if change is None else SimpleNamespace(reject=change)
    period = SimpleNamespace(reading=SimpleNamespace(reject=reject), since_reference=since)
    audits = [SimpleNamespace(periods=()), SimpleNamespace(periods=(period,))]
    assert _proved_wrong(audits, reference) == (reject if reference is None else bool(change))
    assert not _proved_wrong(audits[:1], reference)


def test_texts_are_handed_on_without_what_loads_for_a_tenth_of_a_second():
    typed = SimpleNamespace(type_descriptor=SimpleNamespace(annotation=list[str]), get_runtime_param=None)
    files = _AsTheyAre(typed)
    assert files.coerce(("a", "b"), None, None) == ["a", "b"]
    with pytest.raises(TypeError):  # which are not all texts: it is asked
        files.coerce(("a", 1), None, None)


def test_without_a_name_every_table_is_listed_and_no_option_has_an_effect():
    registry = pytest.importorskip("calibrant_papers.registry")
    listed = CliRunner().invoke(app, ["reproduce"])
    assert listed.exit_code == 0
    assert listed.stdout.splitlines() == [f"{name}: {said}" for name, said in registry.experiments().items()]
    refused = CliRunner().invoke(app, ["reproduce", "--quick"])
    assert refused.exit_code == 2
    assert "--quick: has no effect without NAME: all names are listed" in refused.output


def test_what_is_asked_for_before_a_command_or_instead_of_one_is_told_and_nothing_else(tmp_path):
    asked = run("--version")
    assert (asked.exit_code, asked.output) == (0, f"calibrant {calibrant.__version__}\n")
    helped = run("audit", "--help", "--html", tmp_path / "page.html")
    assert helped.exit_code == 0
    assert "Usage: " in helped.stdout
    assert not (tmp_path / "page.html").exists()  # help is no audit without a result


@pytest.mark.parametrize(("reject", "code"), [(False, 0), (True, 1)])
def test_an_audit_ends_with_1_where_a_period_proves_predictions_wrong(rows, monkeypatch, reject, code):
    periods = (SimpleNamespace(reading=SimpleNamespace(reject=reject), since_reference=None),)
    result = SimpleNamespace(audits=(SimpleNamespace(periods=periods),), to_json=lambda: "told")
    monkeypatch.setattr("calibrant.cli.app._audit_inputs", lambda *_: (result, []))
    done = run("audit", rows, "--drift", "day", "--json")
    assert (done.exit_code, done.stdout) == (code, "told\n")


@pytest.mark.parametrize("distinct", [False, True])
def test_all_rows_of_an_audit_are_other_ones_where_that_is_said(rows, distinct):
    request = AuditRequest(distinct=distinct)
    assert [table.distinct for table in _open_files([str(rows)] * 2, None, request)] == [distinct] * 2


@pytest.mark.parametrize(("seed", "stage"), [(0, "Reading"), (1, "Training")])
def test_the_demo_trains_models_where_no_predictions_of_the_seed_came_along(tmp_path, monkeypatch, seed, stage):
    stages = []

    class Stages(told.Progress):
        def __call__(self, said):
            stages.append(said)

    def ends(_seed, _progress):
        raise InputError("seed", "is as far as this test goes")

    monkeypatch.setattr("calibrant.cli.compilation.compile_beside", lambda *_, **__: None)
    monkeypatch.setattr("calibrant.cli.demo.Progress", Stages)
    monkeypatch.setattr("calibrant.cli.demo.comparison", ends)
    assert run("demo", "--folder", tmp_path, "--seed", seed).exit_code == 2
    assert stages == [stage]
    monkeypatch.setattr("calibrant.cli.demo.trained", lambda of: f"trained for {of}")
    found = predictions(seed)
    assert found == f"trained for {seed}" if seed else list(found[1]) == list(kept()[1])


@pytest.mark.parametrize(
    ("module", "code", "said"),
    [("calibrant_papers", 2, "in a checkout: pip install -e papers"), ("calibrant_papers.registry", 70, "unforeseen")],
)
def test_that_papers_are_not_installed_is_said_of_nothing_else_that_is_missing(monkeypatch, module, code, said):
    papers = pytest.importorskip("calibrant_papers")
    monkeypatch.delattr(papers, "registry", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    done = run("reproduce")
    assert done.exit_code == code
    assert said in told_in_one_line(done)
    assert ("not installed" in done.stderr) == (code == 2)


@pytest.mark.parametrize(
    ("unlisted", "said"),
    [
        ((), ""),
        (("a",), "a was written without the list of what it holds: rows"),
        (("a", "b"), "a was written without the list of what it holds, as was 1 other: rows"),
        (("a", "b", "c"), "a was written without the list of what it holds, as were 2 others: rows"),
    ],
)
def test_sketches_that_do_not_say_what_they_hold_are_told(tmp_path, monkeypatch, unlisted, said):
    kept_together = SimpleNamespace(unlisted=unlisted, summary=lambda _out: "added up")
    monkeypatch.setattr("calibrant.tables.sketches.open_sketches", lambda _file: SimpleNamespace(files=[]))
    monkeypatch.setattr("calibrant.tables.sketches.keep_merged", lambda *_, **__: kept_together)
    done = run("merge", "a", "b", "-o", tmp_path / "o.sketch")
    assert (done.exit_code, done.stdout) == (0, "added up\n")
    assert said in told_in_one_line(done)
    assert bool(done.stderr) == bool(unlisted)
