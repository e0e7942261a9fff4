"""The gate as a product: what it is of, its checks one by one, and one verdict in every form."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant
from calibrant import (
    CalibrationSketch,
    FileError,
    InputError,
    Interval,
    calibration_gate,
    compare_calibration,
    population_bounds,
)
from calibrant.cli.app import app
from calibrant.door.identity import identities
from calibrant.door.premises import LEAST_FOLLOWED, Premises
from calibrant.door.request import Listener
from calibrant.door.sample import Sample
from calibrant.gate import checks
from calibrant.gate.asides import Asides
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.gate.result import Check, Gated
from calibrant.gate.table import _say_independent, _say_odd
from calibrant.inference.bounds.gate import GateResult
from calibrant.inference.bounds.tally import Tally, needs
from calibrant.inference.comparison.not_worse import NotWorse, Predictor
from calibrant.report.gate import gate_as_junit, gate_as_markdown
from calibrant.report.html import document
from calibrant.segments.evidence import Stakes, Totals
from calibrant.segments.request import Search
from calibrant.tables import entry
from tests.segments.test_row_bets import last_refuted

pytestmark = pytest.mark.usefixtures("one_database")

RUN = CliRunner()
ROWS = np.random.default_rng(0).integers(1, 64, 6_000) / 64  # a cell of a sketch holds one of these
DRAWN = np.random.default_rng(1).random(6_000)
CALIBRATED = (DRAWN < ROWS) * 1
BENT = (DRAWN < ROWS**3) * 1
SINGLE = "cannot be combined with --baseline yet: it takes single, independent rows"
GROUPED = "cannot be combined with --by or --find, which take rows with an outcome each"
PLACE = np.where(np.arange(6_000) % 3 == 0, "north", "south")


def run(*arguments):
    return RUN.invoke(app, ["gate", *map(str, arguments)])


def written(path, **columns):
    frame = pd.DataFrame(columns)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def copied(path):
    other = path.with_name(f"copy_{path.name}")
    other.write_bytes(path.read_bytes())
    return str(other)


def gated(path, **asked):
    asked = {"max_distance": 0.1, "level": 0.05, **asked}
    table = entry.OpenedFile(path)
    table.distinct = asked.get("distinct", False)  # as the commands have it
    return check_opened(table, GateRequest(**asked), Listener())


@pytest.fixture
def rows(tmp_path):
    return written(tmp_path / "rows.parquet", y_true=CALIBRATED, y_prob=ROWS, place=PLACE)


def one_bad(tmp_path):
    bad = np.where(PLACE == "north", BENT, CALIBRATED)
    return written(tmp_path / "bad.parquet", y_true=bad, y_prob=ROWS, place=PLACE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["within", "beyond", "undecided"])
def test_code_sentence_json_junit_and_colour_say_the_same(tmp_path, rows, kind):
    path = one_bad(tmp_path) if kind == "beyond" else rows
    limit = 0.025 if kind == "undecided" else 0.1
    junit, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    summary.write_text("before\n")
    options = (path, "--max-distance", limit, "--by", "place", "--junit", junit, "--summary", summary)
    done, as_json = run(*options), run(*options, "--json")
    code = {"within": 0, "beyond": 1, "undecided": 3}[kind]
    word = {"within": "PASS", "beyond": "FAIL", "undecided": "UNDECIDED"}
    assert (done.exit_code, as_json.exit_code) == (code, code)
    assert done.stdout.startswith(f"{word[kind]}: of 3 checks ")
    found = json.loads(as_json.stdout)
    assert found["verdict"] == kind
    assert kind in {check["verdict"] for check in found["checks"]}
    suite = ElementTree.parse(junit).getroot()[0]
    told = {case.get("name"): case[0].tag for case in suite.iter("testcase")}
    tags = {"within": "system-out", "beyond": "failure", "undecided": "error"}
    assert told == {check["name"]: tags[check["verdict"]] for check in found["checks"]}
    assert suite.get("tests") == "3"
    assert suite.get("failures") == str(list(told.values()).count("failure"))
    assert suite.get("errors") == str(list(told.values()).count("error"))
    text = summary.read_text()
    assert text.startswith("before\n## Calibration gate of ")
    assert text.count("## Calibration gate") == 2  # of both runs
    colour = {"within": "\U0001f7e2", "beyond": "\U0001f534", "undecided": "\U0001f7e1"}
    assert text.splitlines()[1].endswith(f": {colour[kind]} {word[kind]}")
    assert f"Exit code {code}." in text
    for check in found["checks"]:
        assert f"| {check['name']} | {colour[check['verdict']]} {word[check['verdict']]} |" in text


def test_each_segment_is_its_own_gate_and_shares_the_level_of_beyond(tmp_path):
    found = gated(one_bad(tmp_path), by=("place",))
    assert [check.name for check in found.checks] == ["all rows", "place = north", "place = south"]
    bad = np.where(PLACE == "north", BENT, CALIBRATED)
    for check, held in zip(found.checks, (PLACE != "", PLACE == "north", PLACE == "south"), strict=True):
        whole = calibration_gate(bad[held], ROWS[held], max_distance=0.1, level=0.05)
        shared = calibration_gate(bad[held], ROWS[held], max_distance=0.1, level=0.05 / 3)
        assert check.result.lower_distance.high == pytest.approx(whole.lower_distance.high, abs=1e-12)
        assert check.result.lower_distance.low == pytest.approx(shared.lower_distance.low, abs=1e-12)
        assert check.result.n_rows == held.sum()
    assert [check.verdict for check in found.checks][1:] == ["beyond", "within"]
    assert found.verdict == "beyond"
    _, do, what, first, *_ = found.summary().splitlines()
    assert do.startswith("Do: do not use the predictions yet; ")
    assert what.startswith(
        "How far predictions would have to move on average to be calibrated; limit 10 points. 'At most' holds with 95%"
    )
    assert "'at least' in all 3 together; a check alone proves a larger 'at least':" in what
    assert first.startswith("  place = north: FAIL, at least 2")
    assert first.split("at least ")[1].split()[1] == "points"


@pytest.mark.slow
def test_checks_of_all_kinds_share_the_level_of_beyond(tmp_path, rows, monkeypatch):
    """All rows, two named segments, the segments that are found, and a baseline: five."""
    from calibrant.gate import checks as gate_checks

    seen = {}

    def recorded(name):
        function = getattr(gate_checks, name)

        def call(*arguments, **named):
            seen[name] = (named["level"], named["shares"])
            return function(*arguments, **named)

        monkeypatch.setattr(gate_checks, name, call)

    recorded("bounded_in_table")
    recorded("not_worse")
    options = {"by": ("place",), "find": ("place",), "baseline": str(rows), "max_worse": 0.02}
    found = gated(one_bad(tmp_path), **options)
    assert len(found.checks) == 5
    assert seen == {"bounded_in_table": (0.05, 5), "not_worse": (0.05, 5)}
    bad = np.where(PLACE == "north", BENT, CALIBRATED)
    shared = calibration_gate(bad, ROWS, max_distance=0.1, level=0.01)
    assert found.checks[0].result.lower_distance.low == pytest.approx(shared.lower_distance.low, abs=1e-12)
    assert found.checks[3].result.level == pytest.approx(0.01)
    held = found.checks[3].result
    north = next(each for each in held.beyond if each.name == "place = north")
    inside = np.array(PLACE) == "north"
    off, miss = bad[inside] - ROWS[inside], 0.05 / 5 / held.n_tested / 2
    ends = last_refuted(off, miss), -last_refuted(-off, miss)
    assert tuple(north.bias_interval) == pytest.approx(ends, abs=1e-3)


def test_each_segment_of_groups_is_its_own_gate_of_groups(tmp_path):
    patient = [None if i == 7 else i // 3 for i in range(6_000)]
    v = [*ROWS[:-1], np.nan]
    path = written(tmp_path / "rows.parquet", y_true=BENT, y_prob=v, place=PLACE, patient=patient)
    found = gated(path, by=("place",), groups="patient", max_weight=4, exclude_bad=True)
    good = np.isin(np.arange(6_000), (7, 5_999), invert=True)
    for check, name in zip(found.checks[1:], ("north", "south"), strict=True):
        held = good & (np.array(PLACE) == name)
        options = {"groups": np.arange(6_000)[held] // 3, "max_weight": 4, "max_distance": 0.1}
        whole, shared = (calibration_gate(BENT[held], ROWS[held], **options, level=0.05 / n) for n in (1, 3))
        assert (check.name, check.result.n_rows) == (f"place = {name}", held.sum())
        assert check.result.lower_distance.high == whole.lower_distance.high
        assert check.result.lower_distance.low == shared.lower_distance.low


def test_found_segments_are_bounded_in_their_population():
    """Predictions that are spread beside rare events: the rows' own mean error is beyond what the population's is."""
    rng, beyond = np.random.default_rng(0), 0
    for _ in range(40):
        v, y = np.where(rng.random(5000) < 0.05, 0.9999, 0.0001), (rng.random(5000) < 1e-4).astype(float)
        one = np.ones(5000)
        held = [np.array([each.sum()]) for each in (one, y, one, one, y, v, v * v, (y - v) ** 2)]
        totals = Totals(*held[:6], weighted=False, square=held[6], errors=held[7])
        limit = 0.05 * 0.9998  # the population's
        beyond += -totals.population_intervals(0.1)[1][0] > limit
        rows = -totals.intervals(0.1)[1][0]
        assert rows > -totals.population_intervals(0.1)[1][0]
    assert beyond <= 4


@pytest.mark.parametrize("certain", [0.0, 0.0005])
@pytest.mark.parametrize("summed", [False, True])
def test_segments_whose_rows_are_predicted_near_0_are_bounded_as_well(tmp_path, monkeypatch, certain, summed):
    rng = np.random.default_rng(0)
    hidden = np.arange(4_000) < 200
    p = np.where(hidden, certain, rng.uniform(0.1, 0.9, 4_000))
    y = (rng.random(4_000) < np.where(hidden, 0.5, p)).astype(int)
    path = written(tmp_path / "rows.parquet", y_true=y, y_prob=p, s=np.where(hidden, "a", "b"))
    if summed:
        monkeypatch.setattr(entry, "MANY_ROWS", 0)
    found = gated(path, find=("s",))
    assert found.checks[1].verdict == "beyond"
    assert found.checks[1].result.beyond[0].name == "s = a"


@pytest.mark.slow
def test_no_found_segment_may_be_proved_beyond(tmp_path, rows, monkeypatch):
    fine = gated(rows, find=("place",))
    assert [check.verdict for check in fine.checks] == ["within", "none beyond"]
    assert (fine.verdict, fine.headline) == (
        "within",
        "PASS: of 2 checks 1 passes; no found segment is proved beyond",
    )
    assert fine.checks[1].result.summary().startswith("none of 3 segments made of place is proved beyond 10 points")
    path = one_bad(tmp_path)
    device = np.where(np.arange(6_000) % 2 == 0, "phone", "tablet")
    path = written(tmp_path / "two.parquet", **pd.read_parquet(path), device=device)
    found = gated(path, find=("place", "device"))
    result = found.checks[1].result
    assert (found.verdict, result.verdict, result.n_tested, result.n_beyond) == ("beyond", "beyond", 9, 3)
    assert result.summary().startswith(
        "beyond 10 points: 3 of 9 segments made of place, device, up to 2 at a time, are proved"
    )
    north = next(each for each in result.beyond if each.name == "place = north")
    inside = np.array(PLACE) == "north"
    # Two checks, nine segments, two ends.
    off, miss = BENT[inside] - ROWS[inside], 0.05 / 2 / 9 / 2
    ends = last_refuted(off, miss), -last_refuted(-off, miss)
    assert tuple(north.bias_interval) == pytest.approx(ends, abs=1e-3)
    assert north.bias_interval.low <= ends[0]
    assert north.bias_interval.high >= ends[1]
    assert "<failure" in gate_as_junit(found)
    assert "none beyond" in gate_as_markdown(fine)
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    summed = gated(path, find=("all",)).checks[1].result
    assert summed.n_tested == result.n_tested
    assert {each.name for each in summed.beyond} <= {each.name for each in result.beyond}  # it keeps no squares
    assert summed.n_beyond > 0
    done = run(path, "--max-distance", 0.1, "--find", "place,device", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["checks"][1]["n_beyond"] == 3


@pytest.mark.slow
def test_found_segments_of_groups_are_bounded_by_groups(tmp_path):
    """Rows ten times over: without groups a mean error is proved beyond that their groups do not prove."""
    v, y = np.repeat(ROWS[:600], 10), np.repeat(BENT[:600], 10)
    columns = {"place": np.repeat(PLACE[:600], 10), "patient": np.repeat(np.arange(600), 10)}
    path = written(tmp_path / "groups.parquet", y_true=y, y_prob=v, **columns)
    asked = {"find": ("place",), "max_distance": 0.2}
    with pytest.raises(FileError, match=r"holds about 3,000 rows twice.*groups"):
        gated(path, **asked)
    alone = gated(path, **asked, distinct=True).checks[1].result
    grouped = gated(path, **asked, groups="patient", max_weight=10).checks
    assert (alone.n_beyond, alone.verdict) == (3, "beyond")
    assert (grouped[1].result.n_beyond, grouped[1].verdict) == (0, "undecided")
    assert grouped[1].result.largest.proved < alone.largest.proved
    # A group is a draw whose error is from -10 to 10; two ends of three segments.
    off = 10.0 * (BENT - ROWS)[:600]
    sums = (np.array([float(each)]) for each in (off.sum(), 6_000, off @ off, 10.0 * off.sum(), 60_000, 600))
    low, high = Stakes(*sums, 10.0).ends(0.025 / 6, -np.ones(1), np.ones(1))
    every = gated(path, **asked | {"max_distance": 0.01}, groups="patient", max_weight=10).checks[1].result
    held = next((each for each in every.beyond if each.name == "all rows"), None)
    assert held is not None
    assert tuple(held.bias_interval) == (low[0], high[0])


@pytest.mark.slow
def test_groups_of_a_file_that_would_be_summed_are_read(tmp_path, monkeypatch):
    v, y, patient = (np.repeat(each[:600], 10) for each in (ROWS, BENT, np.arange(600)))
    path = written(tmp_path / "groups.parquet", y_true=y, y_prob=v, patient=patient, place=patient % 2)
    asked = {"max_distance": 0.15, "groups": "patient", "max_weight": 10}
    read = gated(path, **asked).checks[0].result
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    assert gated(path, **asked).checks[0].result == read
    with pytest.raises(InputError, match=r"groups: .*cannot be searched by in a table of so many rows"):
        gated(path, **asked, find=("place",))


@pytest.mark.slow
def test_the_depth_of_a_gate_is_that_of_its_search(tmp_path):
    device = np.where(np.arange(6_000) % 2 == 0, "phone", "tablet")
    path = written(tmp_path / "two.parquet", y_true=CALIBRATED, y_prob=ROWS, place=PLACE, device=device)
    assert [gated(path, find=("place", "device"), max_depth=k).checks[1].result.n_tested for k in (1, 2)] == [5, 9]
    done = run(path, "--max-distance", 0.1, "--find", "place,device", "--max-depth", 1)
    assert "of 5 segments made of place, device is proved" in " ".join(done.stdout.split())
    assert run(path, "--max-distance", 0.1, "--find", "place", "--max-depth", 5).exit_code == 2


@pytest.mark.parametrize("level", [0.05, 1e-9])
def test_the_search_of_a_gate_has_its_level_or_the_least_that_its_redraws_can_reach(rows, monkeypatch, level):
    seen = []

    def stop(_table, _names, search, **options):
        seen.append((search.level, options["level"]))
        raise InterruptedError

    monkeypatch.setattr(checks, "bounded_in_table", stop)
    with pytest.raises(InterruptedError):
        gated(rows, find=("place",), level=level)
    ((searched, bounded),) = seen
    assert bounded == level
    Search(level=searched)
    if level == 0.05:
        assert searched == level
    else:
        with pytest.raises(InputError, match="n_resamples"):
            Search(level=0.999 * searched)


def test_what_a_gate_cannot_find_is_refused(rows):
    with pytest.raises(InputError, match="find: is of --max-distance only"):
        gated(rows, find=("place",), max_distance=None, max_regret=0.1)
    with pytest.raises(InputError, match="there is no column"):
        gated(rows, find=("nothing",))
    with pytest.raises(InputError, match="the column of y_prob"):
        gated(rows, find=("y_prob",))


def test_the_worst_counts():
    def of(*verdicts):
        result = calibration_gate(CALIBRATED, ROWS, max_distance=0.1)
        checks = (Check("c", "rows", GateResult(v, 0.1, result.lower_distance, 0.05, 9, None)) for v in verdicts)
        return Gated("t", tuple(checks), Premises(0.05)).verdict

    assert of("within", "within") == "within"
    assert of("within", "undecided") == "undecided"
    assert of("undecided", "beyond", "within") == "beyond"


def test_of_many_segments_a_person_is_shown_the_worst_and_machines_all(rows, monkeypatch):
    monkeypatch.setattr("calibrant.gate.result._MOST_SHOWN", 2)
    result = gated(rows).rows
    verdicts = ["within", "undecided", "within", "beyond"]
    checks = [Check(f"c{i}", "segment", replace(result, verdict=each)) for i, each in enumerate(verdicts)]
    found = Gated("t", tuple(checks), Premises(0.05))
    lines = found.summary().partition("\nTaken as given:")[0].splitlines()
    assert [line.partition(":")[0].strip() for line in lines[3:]] == ["c3", "c1", "and 2 more"]
    assert lines[-1].strip() == "and 2 more: 2 PASS; --json and --junit have all of them"
    assert "\n\nAnd 2 more: 2 PASS; --json and --junit have all of them.\n" in gate_as_markdown(found)
    assert gate_as_junit(found).count("<testcase") == len(found.to_dict()["checks"]) == 4


def test_missing_keys_and_several_columns_name_segments(tmp_path):
    place = [None if i % 2 else "a|b" for i in range(6_000)]
    size = np.where(np.arange(6_000) % 2, 1, 10 - np.arange(6_000) % 4)
    path = written(tmp_path / "rows.parquet", y_true=CALIBRATED, y_prob=ROWS, place=place, size=size)
    names = [check.name for check in gated(path, by=("place", "size")).checks]
    segments = ["place = a|b, size = 8", "place = a|b, size = 10", "place = (missing), size = 1"]
    assert names == ["all rows", *segments]


def test_too_many_segments_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.gate.checks.MOST_SEGMENTS", 1)
    with pytest.raises(InputError, match=r"by: makes 2 segments; at most 1 are gated"):
        gated(one_bad(tmp_path), by=("place",))


@pytest.mark.slow
@pytest.mark.parametrize(("power", "verdict"), [(1.4, "beyond"), (1.0, "within"), (1.1, "undecided")])
def test_a_baseline_of_the_same_rows_is_compared_in_pairs(tmp_path, rows, power, verdict):
    now = written(tmp_path / "now.parquet", y_true=CALIBRATED, y_prob=ROWS**power)
    check = gated(now, baseline=str(rows), max_worse=0.02).checks[1]
    expected = compare_calibration(CALIBRATED, ROWS**power, ROWS, n_resamples=199, random_state=0)
    assert tuple(check.result.difference) == tuple(expected.interval)
    assert check.result.way == "paired"
    assert check.verdict == verdict
    assert (check.result.rows_needed is None) is (check.verdict != "undecided")


@pytest.mark.slow
def test_a_baseline_of_other_rows_is_a_second_sample(tmp_path, rows):
    other = written(tmp_path / "other.csv", y_true=CALIBRATED[::-1][:4_000], y_prob=ROWS[::-1][:4_000])
    result = gated(rows, baseline=str(other)).checks[1].result
    expected = compare_calibration(
        CALIBRATED, ROWS, ROWS[::-1][:4_000], y_true_b=CALIBRATED[::-1][:4_000], n_resamples=199, random_state=0
    )
    assert tuple(result.difference) == tuple(expected.interval)
    assert (result.way, result.n_rows_baseline, result.max_worse) == ("two samples", 4_000, 0.02)


@pytest.mark.slow
def test_a_baseline_may_be_a_sketch_and_costs_no_more_than_its_bound(tmp_path):
    exact = CalibrationSketch().update(CALIBRATED[::-1], ROWS[::-1])
    exact.to_parquet(tmp_path / "exact.parquet")
    pooled = CalibrationSketch(16).update(CALIBRATED, 0.5 * (ROWS + DRAWN))
    pooled.to_parquet(tmp_path / "pooled.parquet")
    now = written(tmp_path / "now.csv", y_true=BENT, y_prob=ROWS)
    first = gated(now, baseline=str(tmp_path / "exact.parquet")).checks[1]
    expected = compare_calibration(
        BENT, ROWS, np.sort(ROWS), y_true_b=CALIBRATED[np.argsort(ROWS)], n_resamples=199, random_state=0
    )
    assert tuple(first.result.difference) == pytest.approx(tuple(expected.interval), abs=2e-3)
    assert first.verdict == "beyond"
    bound = pooled.error_bound("smooth_calibration_error")
    assert bound > 1e-3
    assert gated(now, baseline=str(tmp_path / "pooled.parquet")).checks[1].result.difference.width > 2 * bound


def test_many_rows_are_compared_by_their_proved_ends(rows, monkeypatch):
    monkeypatch.setattr("calibrant.inference.comparison.not_worse.MOST_RESAMPLED", 1_000)
    result = gated(rows, baseline=copied(rows), level=0.1).checks[1].result
    assert result.way == "proved"
    assert "in large samples" not in result.summary()
    # Of both together population_bounds leaves each a share of its level; here each end has all of a quarter.
    ends = population_bounds(CALIBRATED, ROWS, level=0.025).smooth_error
    assert result.difference.high <= ends.high - ends.low
    assert result.difference.low == -result.difference.high


@pytest.mark.slow
def test_it_is_said_how_many_more_rows_decide(tmp_path):
    y_true, y_prob = CALIBRATED[:500], ROWS[:500]
    now = written(tmp_path / "now.csv", y_true=y_true, y_prob=y_prob)
    before = written(tmp_path / "before.csv", y_true=y_true[::-1], y_prob=y_prob[::-1])
    done = run(now, "--max-distance", 0.03, "--baseline", before, "--max-worse", 0.01)
    assert done.exit_code == 3
    assert done.stdout.count("would decide, if the error stays as it is here") == 2
    assert " in all" not in done.stdout
    assert "more rows on both sides would decide" in done.stdout


@pytest.mark.slow
def test_rows_that_would_decide_all_checks_stand_above_them(rows):
    found = json.loads(run(rows, "--max-distance", 0.025, "--by", "place", "--json").stdout)
    of = {check["name"]: check for check in found["checks"]}
    assert of["all rows"]["rows_needed"] is None
    open_ = [check for check in found["checks"] if check["verdict"] == "undecided"]
    assert open_
    most = max(math.ceil(check["rows_needed"] / (check["n_rows"] / 6_000)) for check in open_)
    assert found["rows_needed"] == most
    decided = json.loads(run(rows, "--max-distance", 0.2, "--by", "place", "--json").stdout)
    assert decided["rows_needed"] is None


@pytest.mark.slow
def test_of_regret_too_it_is_said_how_many_more_rows_decide(tmp_path):
    few = {"y_true": CALIBRATED[:500], "y_prob": ROWS[:500]}
    asked = ("--max-regret", 0.01, "--threshold", "30%")
    done = run(written(tmp_path / "few.csv", **few), *asked)
    assert done.exit_code == 3
    assert "more rows would decide, if the error stays as it is here" in done.stdout
    needed = json.loads(run(tmp_path / "few.csv", *asked, "--json").stdout)["rows_needed"]
    again = {name: np.tile(column, math.ceil(needed / 500)) for name, column in few.items()}
    assert run(written(tmp_path / "again.csv", **again), *asked, "--distinct").exit_code == 0


def test_a_gate_of_trials_counts_rows_alone(tmp_path):
    """It told two numbers in one line, of rows and of outcomes."""
    v = np.random.default_rng(0).uniform(0.3, 0.7, 400)
    path = written(tmp_path / "a.csv", y_true=np.full(400, 0.25), y_prob=v, n=np.full(400, 40))
    for limit in (0.05, 0.25):
        found = run(path, "--max-distance", limit, "--trials", "n", "--max-weight", 40).stdout
        assert "400 rows)" in found.splitlines()[0]
        assert "16,000" not in found


@pytest.mark.slow
def test_gates_of_groups_count_groups(tmp_path):
    """They counted rows, of which no number helps where groups are few."""
    rng = np.random.default_rng(0)
    v, ward = rng.random(1_200), np.arange(1_200) // 20
    columns = {"y_true": (rng.random(1_200) < v) * 1, "y_prob": v, "ward": ward, "half": np.arange(1_200) % 2}
    path, summary, junit = written(tmp_path / "a.csv", **columns), tmp_path / "a.md", tmp_path / "a.xml"
    asked = ("--groups", "ward", "--max-weight", 20)
    proof = calibration_gate(columns["y_true"], v, groups=ward, max_weight=20, max_distance=0.1)
    assert (proof.n_groups, proof.n_rows) == (60, 1_200)
    assert proof.rows_needed == 20 * proof.groups_needed > 1_200
    done = run(path, *asked, "--max-distance", 0.1, "--summary", summary, "--junit", junit)
    for text in (done.stdout, summary.read_text(), junit.read_text()):
        assert proof.sentence in text.replace("\\", "")
        assert "60 groups, 1,200 rows). Rows of " in text
        assert "groups in all (these included) may decide" in text
    assert "collect rows of more groups" in done.stdout
    found = json.loads(run(path, *asked, "--max-distance", 0.1, "--by", "half", "--json").stdout)
    assert [each["n_groups"] for each in found["checks"]] == [60, 60, 60]
    assert found["groups_needed"] == -(-found["rows_needed"] // 20)
    assert " more groups would decide them" in found["headline"]
    lost = json.loads(run(path, *asked, "--max-regret", 0.1, "--json").stdout)
    assert "(60 groups, 1,200 rows); about " in lost["headline"]
    assert "more groups would decide" in lost["headline"]


@pytest.mark.parametrize(("said", "answer"), [("0,1", "write 0.1"), ("ten", "write it like 0.05 or 5%")])
def test_numbers_that_are_spelt_otherwise_are_refused_with_the_spelling(rows, said, answer):
    refused = run(rows, "--max-distance", said)
    assert refused.exit_code == 2
    assert answer in " ".join(refused.stderr.replace("\u2502", " ").split())


def test_a_percentage_is_understood(rows):
    found = json.loads(run(rows, "--max-distance", "7%", "--level", "1 %", "--json").stdout)
    assert (found["max_distance"], found["level"]) == (0.07, 0.01)


def test_outcomes_that_are_all_equal_tell_no_rows_apart(tmp_path):
    path = written(tmp_path / "ones.csv", y_true=np.ones(100, int), y_prob=ROWS[:100])
    assert gated(path, baseline=copied(path)).checks[1].result.way == "two samples"


@pytest.mark.slow
def test_of_classes_the_top_label_is_gated(tmp_path):
    rng = np.random.default_rng(3)
    table = rng.dirichlet([1.0, 1.0, 1.0], 2_000)
    label = (rng.random(2_000)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    path = written(tmp_path / "classes.csv", y_true=label, **{f"p{k}": table[:, k] for k in range(3)})
    found = gated(path)
    expected = calibration_gate(table.argmax(axis=1) == label, table.max(axis=1), max_distance=0.1)
    assert found.rows == expected
    done = run(path, "--max-distance", 0.1)
    assert "top label" not in done.stderr
    assert "Only the most probable class was gated, not single classes." in done.stdout
    assert "top label" in run(path, "--max-distance", 0.1, "--json").stderr
    with pytest.raises(InputError, match=r"by: is for single predictions"):
        gated(path, by=("y_true",))
    assert gated(path, baseline=copied(path)).checks[1].result.way == "paired"


@pytest.mark.parametrize("grouped", [False, True])
def test_single_classes_that_an_audit_finds_are_a_warning_of_the_gate(tmp_path, grouped):
    rng = np.random.default_rng(0)
    n, top = 4_000, rng.uniform(0.5, 0.9, 4_000)
    said = rng.integers(0, 2, n)
    table = np.zeros((n, 4))
    table[np.arange(n), said], table[np.arange(n), 1 - said] = top, 0.2 * (1 - top)
    table[:, 2], table[:, 3] = 0.7 * (1 - top), 0.1 * (1 - top)
    other = rng.choice([0, 1, 2, 3], n, p=[0.0, 0.2, 0.4, 0.4])  # classes 2 and 3 are as likely, the top one is right
    label = np.where(rng.random(n) < top, said, np.where(other == 1, 1 - said, other))
    columns = {f"p{k}": table[:, k] for k in range(4)}
    path = written(tmp_path / "classes.csv", y_true=label, site=np.arange(n) // 20, **columns)
    by = {"groups": "site", "max_weight": 20.0} if grouped else {}
    done = gated(path, max_distance=0.5 if grouped else 0.04, **by)
    assert done.verdict == "within"
    assert done.warning.startswith("Warning: single classes are off, class 3 farthest (by ")
    assert (
        done.action == "Do: use no probability of a single class before you have seen what calibrant audit says of it."
    )
    if not grouped:  # no class is farther off than the limit that was given
        assert gated(path, max_distance=0.5).warning == ""
    right = (rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    assert gated(written(tmp_path / "right.csv", y_true=right, **columns), max_distance=0.04).warning == ""


def test_a_log_of_the_harness_is_gated_as_it_is_audited(tmp_path):
    rng = np.random.default_rng(4)
    share = rng.uniform(0.5, 1.0, 400)
    right = rng.random(400) < share
    lines = [
        {"acc": float(a), "filtered_resps": [[str(np.log(s)), "False"], [str(np.log1p(-s)), "False"]]}
        for a, s in zip(right, share, strict=True)
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run(path, "--max-distance", 0.2)
    assert done.exit_code == 0
    assert "'acc' as the outcomes" in done.stderr
    expected = calibration_gate(right, share, max_distance=0.2).lower_distance
    assert tuple(gated(path).rows.lower_distance) == pytest.approx(tuple(expected), abs=1e-9)
    assert run(path, "--max-distance", 0.2, "--by", "acc").exit_code == 2


def test_rows_of_trials_are_draws_of_their_weight(tmp_path):
    trials = np.arange(6_000) % 4 + 1
    rate = np.round(ROWS * trials) / trials
    path = written(tmp_path / "trials.csv", y_true=rate, y_prob=ROWS, n=trials)
    options = {"max_distance": 0.2, "max_weight": 4.0}
    found = gated(path, trials="n", **options)
    assert found.rows == calibration_gate(rate, ROWS, trials=trials, **options)
    assert run(path, "--max-distance", 0.2, "--trials", "n").exit_code == 2


@pytest.mark.slow
def test_rows_too_many_to_read_are_summed_and_pay_for_it(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    y_prob = rng.random(3_000)
    y_true = (rng.random(3_000) < y_prob) * 1
    path = written(tmp_path / "rows.parquet", y_true=y_true, y_prob=y_prob)
    own = gated(path).rows
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    summed = gated(path)
    assert summed.rows.n_rows == 3_000
    assert own.lower_distance.high <= summed.rows.lower_distance.high <= own.lower_distance.high + 1e-4
    assert summed.rows.lower_distance.low <= own.lower_distance.low + 1e-12
    state = tmp_path / "kept.gate"
    assert run(path, "--max-distance", 0.1, "--anytime", state).exit_code in (0, 3)
    assert gated(path, baseline=copied(path)).verdict == "within"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-worse", 0.02), "--max-worse: says how much worse than a baseline is allowed"),
        (("--max-worse", 1.5, "--baseline", "{rows}"), "--max-worse: is 1.5"),
        (
            ("--by", "place", "--anytime", "{folder}/s.gate"),
            "--by: cannot be used with --anytime: it adds up",
        ),
        (("--baseline", "{rows}", "--trials", "y_prob", "--max-weight", 2), f"--trials: {SINGLE}"),
        (("--by", "place", "--groups", "place", "--max-weight", 3000), "--by: names 'place', the column that was read"),
        (("--baseline", "{rows}", "--groups", "place", "--max-weight", 9), f"--groups: {SINGLE}"),
        (("--find", "place", "--trials", "y_prob", "--max-weight", 2), f"--trials: {GROUPED}"),
        (
            ("--trials", "a", "--sample-weight", "b", "--max-weight", 2),
            "--sample-weight: cannot be used with --trials",
        ),
        (("--by", "where"), "--by: there is no column 'where'"),
        (("--baseline", "{folder}/none.csv"), "none.csv' does not exist"),
        (("--junit", "{folder}/no/gate.xml"), "--junit: '{folder}/no' does not exist"),
        (("--summary", "{rows}"), "--summary: '{rows}' is an input file itself"),
        (("--summary", "{folder}"), "--summary: '{folder}' is a folder"),
    ],
)
def test_what_cannot_be_is_refused_in_the_options_own_words(tmp_path, rows, options, said):
    names = {"folder": str(tmp_path), "rows": str(rows)}
    done = run(rows, "--max-distance", 0.1, *(str(option).format(**names) for option in options))
    assert done.exit_code == 2, done.stdout
    assert said.format(**names) in done.stderr
    assert not done.stdout


def test_names_that_mean_something_to_xml_or_markdown_are_shown_as_they_are(rows):
    name = "a<b>&\"'|`*\x07\x1b[31m\nnext"
    shown = "a<b>&\"'|`*\\x07\\x1b[31m\\nnext"
    result = gated(rows).rows
    found = Gated(name, (Check(name, "rows", result),), Premises(0.05))
    case = ElementTree.fromstring(gate_as_junit(found).partition("\n")[2]).find(".//testcase")
    assert case.get("name") == case.get("classname") == shown
    text = gate_as_markdown(found)
    assert len(text.partition("Taken as given:")[0].splitlines()) == 6
    assert "\x1b" not in text
    assert "a\\<b\\>\\&\"'\\|\\`\\*" in text


@pytest.mark.slow
def test_a_difference_right_at_the_limit_asks_for_no_number_of_rows(rows):
    found = gated(rows, baseline=copied(rows)).checks[1].result
    at = NotWorse("undecided", "old", 0.02, found.difference, 0.05, 9, 9, None, "paired")
    assert at.summary().endswith("it may be right at the limit, where no number of rows decides")


@pytest.mark.slow
def test_outputs_are_not_written_over_one_another_nor_over_the_state(tmp_path, rows):
    state, both = tmp_path / "state", tmp_path / "both"
    begun = run(rows, "--max-distance", 0.1, "--anytime", state)
    assert begun.exit_code in (0, 3)
    kept = state.read_bytes()
    for option in ("--junit", "--summary"):
        done = run(rows, "--max-distance", 0.1, "--anytime", state, "--again", option, state)
        assert done.exit_code == 2
        assert "name another" in done.stderr
        assert state.read_bytes() == kept
    done = run(rows, "--max-distance", 0.1, "--junit", both, "--summary", both)
    assert (done.exit_code, both.exists()) == (2, False)
    so_far = CliRunner().invoke(app, ["gate", "--anytime", str(state), "--so-far"])
    assert (so_far.exit_code, so_far.stdout.splitlines()[0]) == (begun.exit_code, begun.stdout.splitlines()[0])
    other = CliRunner().invoke(app, ["gate", "--anytime", str(state), "--so-far", "--max-distance", "0.2"])
    assert other.exit_code == 2
    assert "was begun with 0.1" in other.stderr


@pytest.mark.slow
def test_labels_are_those_of_the_baseline_too_and_rows_that_may_belong_together_are_spoken_of(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    label = np.where(rng.random(2000) < p, "bad", "good")
    path = written(tmp_path / "loans.parquet", outcome=label, pd=p, customer_id=rng.integers(0, 900, 2000))
    named = ("--y-true", "outcome", "--y-prob", "pd", "--max-distance", 0.2)
    done = run(path, *named, "--pos-label", "bad", "--baseline", copied(path))
    assert done.exit_code in (0, 3), done.stderr
    assert done.stdout.count("If rows of one customer_id depend on one another, gate all rows without --baseline") == 1
    assert "customer_id" not in done.stderr
    as_json = run(path, *named, "--pos-label", "bad", "--baseline", copied(path), "--json").stderr
    assert "if those of one customer_id depend on one another, gate all rows without --baseline" in as_json
    refused = run(path, *named)
    assert refused.exit_code == 2
    assert "--pos-label" in refused.stderr
    of_outcome = run(path, *named, "--pos-label", "bad", "--by", "outcome")
    assert of_outcome.exit_code == 2
    assert "the column that was read as y_true" in of_outcome.stderr


@pytest.mark.slow
def test_columns_that_nobody_asked_about_are_named(tmp_path):
    path = written(tmp_path / "rows.csv", y_true=CALIBRATED, y_prob=ROWS, place=PLACE, shop=PLACE)
    alone, as_json = run(path, "--max-distance", 0.1), run(path, "--max-distance", 0.1, "--json")
    assert "Columns not looked at: place, shop; --find all (in Python find=" in alone.stdout
    assert "not looked at" not in alone.stderr
    assert "Columns not looked at: place, shop; --find all gates the segments that they make." in as_json.stderr
    assert "Columns not looked at: shop;" in run(path, "--max-distance", 0.1, "--by", "place").output
    assert "not looked at" not in run(path, "--max-distance", 0.1, "--find", "all").output
    assert "not looked at" not in run(path, "--max-distance", 0.1, "--find", "place,shop").output


BAD = {
    "a value": ("y_true,y_prob\n0,0.5\n1,1.5\n", ()),
    "no file": (None, ()),
    "an option": ("y_true,y_prob\n0,0.5\n1,0.5\n", ("--threshold", "0.5")),
    "usage": ("y_true,y_prob\n0,0.5\n1,0.5\n", ("--max-depth", "9")),
    "a number": ("y_true,y_prob\n0,0.5\n1,0.5\n", ("--level", "a<b&\x07")),
    "no such option": ("y_true,y_prob\n0,0.5\n1,0.5\n", ("--no-such",)),
}


@pytest.mark.parametrize("kind", BAD)
def test_no_verdict_of_an_earlier_run_stays(tmp_path, rows, kind):
    text, more = BAD[kind]
    junit, bad = tmp_path / "gate.xml", tmp_path / "bad<1>.csv"
    assert run(rows, "--max-distance", 0.1, "--junit", junit).exit_code == 0
    if text is not None:
        bad.write_text(text)
    for _ in range(2):  # in place of a verdict, and where there is no file yet
        done = run(bad, "--max-distance", 0.1, "--junit", junit, *more)
        assert done.exit_code == 2, done.output
        root = ElementTree.parse(junit).getroot()
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
        (case,) = root.findall("./testsuite/testcase")
        assert case.get("classname") in (str(bad), "calibrant gate")
        (error,) = case
        assert (error.tag, error.get("type")) == ("error", "no verdict")
        if kind in ("a value", "no file", "an option"):
            assert f"calibrant: {error.get('message')}" in done.stderr
        junit.unlink()


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("more", [("--groups", "nobody"), ("--level", "much"), ("--no-such",)])
def test_no_result_of_an_earlier_run_passes_for_the_one_of_today(tmp_path, rows, more):
    """Yesterday's summary and page stood as if they were of a run that was refused."""
    summary, page = tmp_path / "steps.md", tmp_path / "page.html"
    assert run(rows, "--max-distance", 0.1, "--summary", summary).exit_code == 0
    before = summary.read_text()
    earlier = '<meta name="generator" content="calibrant">\n'
    assert earlier in document(calibrant.audit(CALIBRATED[:50], ROWS[:50], n_resamples=0))
    for _ in range(2):
        page.write_text(earlier)
        assert run(rows, "--max-distance", 0.1, "--summary", summary, *more).exit_code == 2
        done = RUN.invoke(app, ["audit", str(rows), "--html", str(page), "--json", *more])
        assert (done.exit_code, list(json.loads(done.stdout))) == (2, ["title", "error"])
        why = done.stderr.removeprefix("calibrant: ").partition(";")[0].strip()
        added = summary.read_text().removeprefix(before)
        assert added.startswith("## No verdict of ")
        assert why in added.replace("\\", "")
        assert "<h1>No result of " in page.read_text()
        assert why.replace("'", "&#x27;") in page.read_text()
        summary.unlink()
        page.unlink()
        before = ""
        RUN.invoke(app, ["audit", str(rows), "--html", str(page), "--json", *more])
        assert not page.exists()


def test_no_input_and_no_strange_page_is_written_to_without_a_result(tmp_path, rows):
    folder, notes = tmp_path / "days", tmp_path / "notes.html"
    folder.mkdir()
    day = written(folder / "a.csv", y_true=CALIBRATED[:50], y_prob=ROWS[:50])
    notes.write_text("<p>mine</p>")
    before = {each: each.read_bytes() for each in (day, notes)}
    for given in (folder, f"{folder}/*.csv", day):
        run(given, "--max-distance", 0.1, "--groups", "nobody", "--summary", day)
        run(given, "--max-distance", "much", "--summary", day)
    RUN.invoke(app, ["audit", str(rows), "--groups", "nobody", "--html", str(notes)])
    assert {each: each.read_bytes() for each in before} == before


@pytest.mark.parametrize("more", [(), ("--no-such",)])
def test_no_other_file_is_replaced_by_why_there_is_no_verdict(tmp_path, rows, more):
    state, other, none = tmp_path / "state", tmp_path / "notes.xml", tmp_path / "none.csv"
    other.write_text("<notes/>")
    before = {each: each.read_bytes() for each in (rows, other)}
    for args in (
        (rows, "--level", 2, "--junit", rows),
        (none, "--junit", none),
        (none, "--junit", other),
        (none, "--anytime", state, "--junit", state),
        (rows, "--summary", state, "--junit", state, "--level", 2),
    ):
        assert run(*args, "--max-distance", 0.1, *more).exit_code == 2
        assert {each: each.read_bytes() for each in before} == before
        assert not state.exists()
        assert not none.exists()


def test_a_pattern_is_called_as_it_is_given(tmp_path):
    (tmp_path / "weeks" / "1").mkdir(parents=True)
    written(tmp_path / "weeks" / "1" / "a.csv", y_true=CALIBRATED, y_prob=ROWS)
    pattern = str(tmp_path / "weeks" / "*" / "*.csv")
    junit, summary = tmp_path / "gate.xml", tmp_path / "gate.md"
    assert run(pattern, "--max-distance", 0.1, "--junit", junit, "--summary", summary).exit_code == 0
    case = next(ElementTree.parse(junit).getroot().iter("testcase"))
    assert case.get("classname") == pattern
    assert "weeks/\\*/\\*.csv" in summary.read_text()
    odd = written(tmp_path / "[a].csv", y_true=CALIBRATED, y_prob=ROWS)
    assert run(odd, "--max-distance", 0.1, "--junit", junit).exit_code == 0
    assert next(ElementTree.parse(junit).getroot().iter("testcase")).get("classname") == "[a].csv"


def test_at_least_is_explained_only_where_it_is_said(rows):
    for limit in (0.1, 0.001):
        said = run(rows, "--max-distance", limit, "--by", "place").stdout.splitlines()
        told = any("at least" in line for line in said if line.startswith("  "))
        assert ("'at least'" in said[1]) == told, limit


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_group_that_weighs_too_much_is_named(tmp_path, kind):
    """By its value, whatever rows were left out before it."""
    shop = [f"s{k // 4}" for k in range(400)]
    shop[300:306] = ["big one"] * 6
    shop[2] = None
    y_prob = ROWS[:400].copy()
    y_prob[[5, 50]] = np.nan
    path = written(tmp_path / f"rows.{kind}", y_true=CALIBRATED[:400], y_prob=y_prob, shop=shop)
    asked = (path, "--max-distance", 0.1, "--groups", "shop", "--max-weight", 5, "--exclude-bad")
    done = run(*asked)
    assert done.exit_code == 2
    assert "is 5, but the group shop = big one weighs 6" in done.stderr


def test_a_link_beside_its_file_is_told_as_what_it_is(tmp_path):
    folder = tmp_path / "weeks"
    folder.mkdir()
    file = written(folder / "a.csv", y_true=CALIBRATED, y_prob=ROWS)
    (folder / "latest.csv").symlink_to(file)
    done = run(folder, "--max-distance", 0.1)
    assert done.exit_code == 2
    assert f"'{folder}/latest.csv' is the same file as '{file}'; its rows would be counted twice" in done.stderr


@pytest.mark.parametrize(
    ("events", "predicted", "limit"),
    [(10, 0.001, 0.001), (990, 0.999, 0.001), (1, 0.01, 0.001), (500, 0.5, 0.02), (0, 0.3, 0.02), (0, 0.004, 0.0004)],
)
def test_the_default_of_a_baseline_is_that_of_an_audit_of_the_same_rows(monkeypatch, events, predicted, limit):
    y, v = (np.arange(1000) < events) * 1.0, np.full(1000, predicted)
    side = Predictor(Sample.of_arrays(y, v, None))
    taken = []
    comparison = NotWorse(*[None] * len(NotWorse.__dataclass_fields__))
    monkeypatch.setattr(checks, "not_worse", lambda *_, **options: taken.append(options) or comparison)
    request = GateRequest(y_true="y", y_prob="v", level=0.07)
    assert checks._compared(side, side, "before.csv", request, 3).same
    checks._compared(side, side, "before.csv", replace(request, baseline="before.csv", max_worse=0.5), 3)
    assert [each["max_worse"] for each in taken] == [limit, 0.5]
    assert [each["default_limit"] for each in taken] == [True, False]
    assert {(each["level"], each["shares"], each["baseline"]) for each in taken} == {(0.07, 3, "before.csv")}
    assert calibrant.audit(y, v, n_resamples=0).max_distance == limit


def test_where_no_number_of_rows_decides_none_is_named():
    for rows in (None, 900):
        assert ("no number of rows decides" in needs(Tally(500, rows))) == (rows is None)
        assert any(each.isdigit() for each in needs(Tally(500, rows))) == (rows is not None)


@pytest.mark.parametrize("where", ["", "Too high near 30%."])
def test_a_line_of_a_check_says_where_predictions_err_and_ends_there(where):
    result = GateResult("beyond", 0.1, Interval(0.2, 0.3), 0.05, 900, None)
    assert (result.premises.level, result.premises.max_distance) == (result.level, result.max_distance) == (0.05, 0.1)
    line = Check("all rows", "rows", result, Asides(where=where)).line()
    assert line.endswith(f". {where}" if where else "(900 rows)")


@pytest.mark.parametrize("option", [None, "anytime", "baseline"])
def test_rows_that_may_depend_are_gated_by_groups_without_what_takes_none(option):
    said = []
    request = GateRequest(max_distance=0.1, **({option: "x"} if option else {}))
    table = SimpleNamespace(perhaps_groups=lambda *_, **__: "patient", summed=False)
    listener = SimpleNamespace(premise=lambda *_: None, hint=said.append)
    _say_independent(table, [], request, listener)
    assert "--groups patient --max-weight N" in said[0]
    assert [f"without --{each}" in said[0] for each in ("anytime", "baseline")] == [
        option == each for each in ("anytime", "baseline")
    ]
    assert ("without" in said[0]) == (option is not None)


def test_only_single_rows_are_asked_whether_they_were_chosen_by_their_outcome():
    sample = Sample.of_arrays(np.arange(300) % 2.0, np.linspace(0.1, 0.3, 300), None)
    for single in (False, True):
        said = {}
        _say_odd(sample, 0.1, SimpleNamespace(premise=said.__setitem__, note=None), single=single)
        assert said.get("perhaps_sampled") == ((1, 2) if single else None)


@pytest.mark.slow
def test_segments_of_rows_that_are_followed_are_gated_with_their_weights(tmp_path):
    rng = np.random.default_rng(0)
    risk, left = rng.uniform(0.05, 0.6, 3_000), rng.uniform(0.2, 2.0, 3_000)
    came = rng.exponential(1.0, 3_000) / -np.log1p(-risk)
    kind = np.where(np.arange(3_000) < 1_500, "a", "b")
    columns = {"p": np.where(kind == "a", 0.2 * risk, risk), "t": np.minimum(came, left), "e": (came <= left) * 1}
    path = written(tmp_path / "rows.parquet", **columns, kind=kind)
    found = gated(path, by=("kind",), find=("kind",), time="t", event="e", horizon=1.0, y_prob="p", least_followed=0.4)
    verdicts = {check.name: check.result.verdict for check in found.checks}
    assert verdicts["kind = a"] == "beyond"
    assert verdicts["kind = b"] != "beyond"
    known = calibrant.censored_outcomes(columns["t"], columns["e"], 1.0, strata=kind, least_followed=0.4)
    rows = known.known[kind[known.known] == "a"]
    alone = calibration_gate(
        known.y_true[rows],
        columns["p"][rows],
        sample_weight=known.sample_weight[rows],
        max_weight=2.5,
        max_distance=0.1,
    )
    assert found.checks[1].result.lower_distance.high >= alone.lower_distance.high  # at a share of the level
    assert found.checks[1].result.n_rows == alone.n_rows
    assert found.premises.followed.strata == ("kind",)
    # Known rows alone were counted: 1,300 more were asked for where 5,000 are needed.
    lost = {check.name: check.result.n_unknown for check in found.checks if check.kind != "found"}
    assert lost["kind = a"] == 1_500 - rows.size
    assert lost["all rows"] == lost["kind = a"] + lost["kind = b"] == known.n_unknown
    near = gated(path, by=("kind",), time="t", event="e", horizon=1.0, y_prob="p", max_distance=0.03)
    open_one = near.checks[2].result
    assert open_one.verdict == "undecided"
    here = open_one.n_rows + open_one.n_unknown
    assert open_one.rows_needed > here  # in rows as they come
    assert f"({open_one.n_rows:,} of {here:,} rows known)" in near.summary()
    early = np.where(kind == "b", 0.1, columns["t"]), np.where(kind == "b", 0, columns["e"])
    none_known = written(tmp_path / "none.parquet", p=risk, t=early[0], e=early[1], kind=kind)
    with pytest.raises(InputError, match="by: kind = b: no outcome of its 1,500 rows is known by the horizon; take an"):
        gated(none_known, by=("kind",), time="t", event="e", horizon=1.0, y_prob="p", least_followed=0.1)


def test_a_baseline_with_rows_of_the_file_is_refused_with_about_how_many():
    rng = np.random.default_rng(0)
    v = rng.random(300)
    y = (rng.random(300) < v).astype(float)

    def held(first, last):
        return SimpleNamespace(claims=lambda: tuple(identities(y[first:last], v[first:last])))

    assert checks._refuse_shared(held(0, 150), held(150, 300), "before.csv") is None
    with pytest.raises(InputError, match=r"baseline: 'before.csv' and FILE share about 200 rows") as caught:
        checks._refuse_shared(held(0, 200), held(0, 200), "before.csv")
    assert "--distinct says that they are other rows" in str(caught.value)


def test_what_several_checks_of_distance_are_of_is_said_with_their_level():
    def check(name, verdict, low, high):
        return Check(name, "rows", GateResult(verdict, 0.1, Interval(low, high), 0.1, 900, None))

    within, beyond = check("all rows", "within", 0.0, 0.05), check("place = north", "beyond", 0.2, 0.3)
    assert Gated("a.csv", (within,), within.result.premises).what == ""
    assert "at least" not in within.proved
    assert "at least" in beyond.proved
    of = "How far predictions would have to move on average to be calibrated; limit 10 points. "
    of += "'At most' holds with 90% confidence"
    assert Gated("a.csv", (within, within), within.result.premises).what == f"{of} in each check:"
    assert Gated("a.csv", (within, beyond), within.result.premises).what == (
        f"{of} in each check, 'at least' in all 2 together; a check alone proves a larger 'at least':"
    )


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({}, None),
        ({"max_weight": 3.0}, 3.0),
        ({"groups": "who", "max_weight": 3.0}, 3.0),
        ({"groups": "who"}, None),
        ({"groups": "who", "max_weight": 3.0, "horizon": 1.0}, 3.0),  # of a group, which has several rows
        ({"horizon": 1.0}, 1.0 / LEAST_FOLLOWED),
        ({"horizon": 1.0, "least_followed": 0.25}, 4.0),
        ({"sampling_fractions": {0: 0.2, 1: 1.0}}, 5.0),
        ({"sampling_fractions": {0: 1.0, 1: 0.5}}, 2.0),
    ],
)
def test_a_row_weighs_at_most_what_its_share_of_the_population_says(asked, most):
    request = dict.fromkeys(("groups", "horizon", "least_followed", "sampling_fractions", "max_weight"))
    assert checks._most(SimpleNamespace(**request | asked)) == most


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "most rows that one has"),
        ({"sample_weight": "w"}, "most that one weighs"),
        ({"sampling_fractions": {0: 0.1, 1: 1.0}}, "most that one weighs"),
        ({"horizon": 1.0}, "most that one weighs"),
        ({"trials": "n"}, "most outcomes that one has"),
        ({"trials": "n", "sample_weight": "w"}, "most outcomes that one has"),
    ],
)
def test_a_gate_of_groups_asks_for_the_most_that_one_counts(asked, said):
    request = dict.fromkeys(("sample_weight", "sampling_fractions", "horizon", "trials"))
    assert GateRequest._bound_of_groups.fget(SimpleNamespace(**request | asked)) == f" --max-weight N, the {said}"


@pytest.mark.parametrize(
    ("asked", "weighed"),
    [
        ({}, {"weighted": False, "equal_weights": False, "sampling_fractions": None}),
        ({"sample_weight": "unlike", "max_weight": 4.0}, {"weighted": True, "equal_weights": False}),
        ({"sample_weight": "alike", "max_weight": 4.0}, {"weighted": False, "equal_weights": True}),
        ({"sample_weight": "thinned", "max_weight": 4.0}, {"sampling_fractions": (0.5, 1.0), "fractions_given": False}),
        ({"sampling_fractions": {0: 0.5, 1: 1.0}}, {"sampling_fractions": (0.5, 1.0), "fractions_given": True}),
    ],
)
def test_a_gate_of_regret_says_how_its_rows_were_weighed(tmp_path, asked, weighed):
    weights = {"unlike": [1.0, 2.0, 2.0, 1.0] * 10, "alike": [2.0] * 40, "thinned": [2.0, 1.0] * 20}
    path = written(tmp_path / "rows.csv", y_true=[0, 1] * 20, y_prob=[0.25, 0.75] * 20, **weights)
    told = gated(path, max_distance=None, max_regret=0.1, **asked).premises
    assert {name: getattr(told, name) for name in weighed} == weighed
