"""What a person reads first: four lines, measures on request, and what is small and costs much."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from calibrant import audit
from calibrant.cli.app import app
from calibrant.door.request import Listener
from calibrant.findings.catalogue import standing
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.report.gate import gate_as_junit, gate_as_markdown
from calibrant.tables.frames import OpenedFrame

COLUMNS = ["--y-true", "y", "--y-prob", "p"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(38)
    p = rng.beta(2.0, 2.0, 3_000)
    day = np.arange(3_000) // 300
    chance = np.where(day > 4, expit(2.0 * logit(p) - 1.5), p)
    return pd.DataFrame({"y": (rng.random(3_000) < chance) * 1, "p": p, "day": day})


def printed(frame, folder, *options):
    path = folder / "rows.csv"
    frame.to_csv(path, index=False)
    return CliRunner().invoke(app, ["audit", str(path), *COLUMNS, *options])


def test_four_lines_stand_before_the_picture_and_measures_on_request(rows, tmp_path):
    found = audit(rows["y"], rows["p"])
    first = [found.answer.headline, *found.answer.details, standing(found)]
    assert len(first) == 4
    assert found.sentences[:4] == tuple(first)
    short, whole = (" ".join(printed(rows, tmp_path, *more).output.split()) for more in ((), ("--all",)))
    for page in (short, whole):
        before = page.partition("observed rate")[0]
        assert " ".join(first) in before
    assert "Smooth calibration error" in whole
    assert "Smooth calibration error" not in short
    assert "--all shows the measures" in short


def test_a_line_of_an_audit_begins_with_the_answer(rows):
    assert repr(audit(rows["y"], rows["p"])).startswith("Audit(worth correcting, too high, at most ")


@pytest.mark.slow
def test_an_audit_in_which_drift_is_proved_ends_with_1(rows, tmp_path):
    assert printed(rows, tmp_path, "--drift", "day").exit_code == 1
    assert printed(rows[rows["day"] <= 4], tmp_path, "--drift", "day").exit_code == 0
    assert printed(rows, tmp_path).exit_code == 0


def test_within_the_limit_names_a_gain_everywhere():
    """99.99% where 99% happens: within 0.02, and an audit would recalibrate."""
    rng = np.random.default_rng(0)
    high = rng.random(20_000) < 0.5
    said, true = (np.where(high, each, 1.0 - each) for each in (0.9999, 0.99))
    frame = pd.DataFrame({"y": (rng.random(20_000) < true) * 1, "p": said})
    for p, told in ((said, True), (true, False)):
        gated = check_opened(
            OpenedFrame(frame.assign(p=p)), GateRequest(y_true="y", y_prob="p", level=0.05), Listener()
        )
        assert gated.verdict == "within"
        words = "Within the limit, but correcting would improve the score"
        for text in (gated.summary(), gate_as_junit(gated), gate_as_markdown(gated), str(gated.to_dict())):
            assert (words in text) == told
