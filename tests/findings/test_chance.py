"""What is said about chance: nothing for event rates, and for weighted rows what is true of them."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import ReliabilityDisplay, audit
from calibrant.cli.app import app
from calibrant.report.text import facts

CHANCE = ("standard error", "noise", "confidence", "reject", "p-value", "p = ", "q = ", "redraws", "as good as")
PLAIN = "Outcomes are event rates; how many trials each rests on is not known, so nothing is said about chance."


def rates(weighted):
    rng = np.random.default_rng(0)
    trials, v = rng.integers(50, 500, 400), rng.random(400)
    return rng.binomial(trials, np.minimum(1.0, 1.3 * v)) / trials, v, trials if weighted else None


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_said_about_chance_for_event_rates(weighted, tmp_path):
    y, v, weight = rates(weighted)
    found = audit(y, v, sample_weight=weight, random_state=0)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    body = page[page.index("<body>") : page.index("<script>")]
    what_tests_are = "how often a calibrated predictor would look at least as bad"  # the head of the empty table
    for text in (
        " ".join(found.sentences),
        found.summary(),
        facts(found),
        body.replace(what_tests_are, "").replace("p-value", ""),
    ):
        assert not [word for word in CHANCE if word in text]
    assert PLAIN in " ".join(found.sentences)
    assert PLAIN in " ".join(found.summary().split())
    assert found.regions
    assert found.regions[0].words in " ".join(found.summary().split())
    said = json.loads(found.to_json())
    assert said["event_rates"]
    assert all("not_run" in test for test in said["tests"].values())
    assert said["population"] is None
    assert said["advice"]["chosen"] is None
    assert said["reliability"]["band_lower"] is said["reliability"]["band_upper"] is None
    assert {region["interval"] for region in said["regions"]} == {None}


def test_the_displays_band_needs_trials():
    y, v, weight = rates(True)
    table = ReliabilityDisplay.from_predictions(y, v, sample_weight=weight).reliability
    assert table.band_lower is table.band_upper is None
    assert "event rates" in table.no_band


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_segments_of_event_rates_show_distances_alone(tmp_path):
    y, v, _ = rates(False)
    rows, page = tmp_path / "rows.csv", tmp_path / "page.html"
    pd.DataFrame({"y_true": y, "y_prob": v, "site": np.repeat(["a", "b"], 200)}).to_csv(rows, index=False)
    done = CliRunner().invoke(app, ["audit", str(rows), "--by", "site", "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert not [word for word in CHANCE if word in done.stdout]
    assert "errs most: distance" in " ".join(done.stdout.split())
    assert "q-value" not in page.read_text()
    segment = json.loads(CliRunner().invoke(app, ["audit", str(rows), "--by", "site", "--json"]).stdout)["segments"][0]
    assert segment["pvalue"] is segment["reject"] is segment["bias_interval"] is None
    assert segment["bias"] > 0.0


@pytest.mark.slow
def test_weighted_rows_say_what_is_taken_as_given():
    rng = np.random.default_rng(0)
    v = rng.random(300)
    y = (rng.random(300) < v).astype(float)
    said = "by importance, not as repeats or trials"
    for weight in (np.arange(1.0, 301.0), np.full(300, 7.0)):  # equal weights may be repeats, too
        page = " ".join(audit(y, v, sample_weight=weight, n_resamples=0).summary().split())
        assert page.count(said) == 1
        assert "drawn again together" not in page
    assert said not in audit(y, v, n_resamples=0).summary()
    pages = [
        " ".join(audit(y, v, n_resamples=39, random_state=0, **each).summary().split())
        for each in (
            {"sample_weight": np.arange(1.0, 301.0)},
            {"sample_weight": np.arange(1.0, 301.0), "outcome_free_weights": True},
            {"sample_weight": np.where(y == 1, 1.0, 5.0)},
            {"sampling_fractions": {0: 0.2, 1: 1.0}},
        )
    ]
    sentences = [
        "they may tell outcomes, so both are drawn again together",
        "weights say nothing of outcomes at a given prediction (outcome_free_weights)",
        "Weights (sample_weight) have one value for each outcome, as of rows sampled by outcome: 0.2 of those without",
        "Rows were sampled by outcome: 0.2 of those without the event were kept",
    ]
    assert [[each in page for each in sentences] for page in pages] == np.eye(4, dtype=bool).tolist()
