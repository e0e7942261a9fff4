"""What a person reads first: four lines, measures on request, and what is small and costs much."""

import re
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy.special import expit, logit, ndtr
from typer.testing import CliRunner

from calibrant import audit, audit_table, censored_outcomes
from calibrant.cli.app import app
from calibrant.decisions.line import Estimate, GroupLine
from calibrant.door.ends import Interval
from calibrant.door.request import Listener
from calibrant.findings import decision
from calibrant.findings.action_catalogue import code
from calibrant.findings.advice import Advice
from calibrant.findings.catalogue import _COMES_TO, standing
from calibrant.findings.decision import State, action_of, loose_limit
from calibrant.findings.word_catalogue import rate
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


@pytest.mark.slow
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
    two = rows.assign(q=rows["p"])
    assert printed(two, tmp_path, "--y-prob", "q", "--drift", "day", "--resamples", "0").exit_code == 1
    assert printed(rows[rows["day"] <= 4], tmp_path, "--drift", "day").exit_code == 0
    assert printed(rows, tmp_path).exit_code == 0


@pytest.mark.slow
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
        words = "a real error, within the limit: correcting would improve the score (log loss) by "
        page = gate_as_markdown(gated).replace("\\", "")
        for text in (gated.summary(), gate_as_junit(gated), page, str(gated.to_dict())):
            assert (words in text) == told
        first, second = gated.summary().splitlines()[:2]
        assert first.startswith("PASS: at most ")
        assert second.startswith(f"Warning: {words}") == told
        assert gated.summary().count(words) == page.count(words) == told
        # Single rows err by 0.99 points on average, and the bound above is lower.
        assert second.endswith(" Errors of both signs partly cancel in the average above.") == told


RNG = np.random.default_rng(2)
HALF, HARD = RNG.beta(2.0, 2.0, 8_000), (RNG.random(8_000) < 0.3) * 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "chance", "limit", "verdict"),
    [
        (HALF, expit(0.3 * logit(HALF)), 0.02, "beyond"),
        (HALF, 1.0 - HALF, 0.02, "beyond"),
        (HALF, np.full(8_000, 0.4), 0.02, "beyond"),
        (HARD, np.where(HARD > 0.0, 0.9, 0.1), 0.02, "beyond"),
        (HARD, HARD, 0.02, "within"),
        (HARD, np.where(HARD > 0.0, 0.995, 0.005), 0.02, "within"),
        (HALF, HALF, 0.1, "within"),
    ],
    ids=["confident", "backwards", "no use", "labels fail", "labels", "labels with misses", "fine"],
)
def test_a_gate_says_what_an_audit_says(p, chance, limit, verdict):
    y = (np.random.default_rng(0).random(p.size) < chance) * 1
    request = GateRequest(y_true="y", y_prob="p", level=0.05, max_distance=limit)
    gated = check_opened(OpenedFrame(pd.DataFrame({"y": y, "p": p})), request, Listener())
    answer = audit(y, p, max_distance=limit).answer
    assert gated.verdict == verdict
    if verdict == "beyond":
        where = gated.checks[0].asides.where
        assert where
        assert answer.headline.endswith(where)
        for text in (gated.summary(), gate_as_junit(gated), gate_as_markdown(gated), str(gated.to_dict())):
            assert where in text.replace("\\", "")
        return
    assert bool(gated.warning) == (answer.action != "leave unchanged")
    assert ("error, within the limit" in gated.warning) == (answer.state == "worth correcting")
    if answer.state == "worth correcting" and "which calibrated" not in answer.headline:
        assert gated.warning.endswith(answer.headline)
    if answer.state == "too few rows":
        assert gated.action == answer.details[-1]
    for text in (gated.summary(), gate_as_junit(gated), gate_as_markdown(gated), str(gated.to_dict())):
        assert gated.warning in text.replace("\\", "")
        assert gated.action in text


def test_what_it_comes_to_fits_what_to_do():
    """Every state and every action that follows from it have words of their own, and no others."""
    reached = set()
    for state in get_args(State):
        for chosen, backwards in (
            ("averaged", False),
            ("unchanged", False),
            ("constant", False),
            (None, True),
            (None, False),
        ):
            for parts in ((), ("segments",)):
                advice = Advice("", chosen, backwards=backwards)
                reached |= {(state, action_of(state, advice, parts, more_helps=each)) for each in (False, True)}
    assert reached == set(_COMES_TO)
    assert len(set(_COMES_TO.values())) == len(_COMES_TO)


@pytest.mark.slow
def test_an_error_that_began_on_a_day_is_told_from_that_day_on():
    rng = np.random.default_rng(0)
    day, p = np.repeat(np.arange(16), 200), rng.beta(3.0, 3.0, 3_200)
    for begins, told in ((8, True), (0, False)):
        y = rng.random(p.size) < np.where(day >= begins, 0.4 * p, p)
        found = audit_table(pd.DataFrame({"y": y * 1, "p": p, "day": day}), y_true="y", y_prob="p", drift="day")
        assert found.answer.headline.startswith("Too high since about period 8: 5" if told else "Too high on average: ")
        assert (
            "correct the predictions with the rows since period 8 (recalibrate)." in found.answer.details[-1]
        ) is told
        assert found.answer.details[-1].startswith(
            "Do: find out whether something changed. " if not told else "Do: find out what changed. "
        )
        assert "below" not in found.answer.sentence
        assert found.answer.examples == () or not told


def test_few_groups_hear_what_is_known_and_not_an_option():
    rng = np.random.default_rng(7)
    hospital, p = rng.integers(0, 12, 3_000), rng.beta(2.0, 6.0, 3_000)
    y = rng.random(3_000) < expit(logit(p) + rng.normal(-0.3, 0.3, 12)[hospital])
    found = audit(y * 1, p, groups=hospital, random_state=0)
    ratio, (low, high) = found.group_line.observed_expected.value, found.group_line.observed_expected.interval
    said = re.fullmatch(
        r"For every 100 events predicted ([0-9]+) happened, "
        r"likely ([0-9]+) to ([0-9]+) \(100 is right; 95% confidence\)\.",
        found.answer.details[0],
    )
    value, least, most = (int(each) / 100 for each in said.groups())
    assert abs(value - ratio) <= 0.005
    assert low - 0.01 <= least <= low
    assert high <= most <= high + 0.01
    assert "groups are too few (there are 12, and about 3" in found.answer.headline
    assert found.answer.details[1].startswith("Do: collect rows of about 2")
    assert "max-weight" not in found.answer.sentence
    assert "not known" not in found.answer.sentence
    assert found.group_line.numbers in " ".join(found.sentences)


def censored_in_groups(sizes, off):
    """Outcomes of rows in groups that were not all followed to the horizon."""
    rng = np.random.default_rng(0)
    hospital = np.repeat(np.arange(len(sizes)), sizes)
    p = expit(rng.normal(-1.0, 1.0, hospital.size))
    below = ndtr(0.2 * rng.normal(size=len(sizes))[hospital] + 0.96**0.5 * rng.normal(size=hospital.size))
    came, left = np.log1p(-below) / np.log1p(-expit(logit(p) + off)), rng.uniform(0.2, 2.0, hospital.size)
    known = censored_outcomes(np.minimum(came, left), came <= left, horizon=1.0)
    return audit(known.y_true, p, sample_weight=known.sample_weight, groups=hospital, n_resamples=39, random_state=0)


@pytest.mark.parametrize(
    ("sizes", "off", "state", "headline", "details"),
    [
        (
            [100] * 12,
            0.0,
            "too few rows",
            r"No sign of error, but groups are too few \(there are 12, and about \d+ like these are needed; [0-9,]+ r",
            [r"For every 100 events predicted \d+ happened", r"Do: collect rows of about \d+ more groups before you"],
        ),
        (
            [100] * 12,
            -0.9,
            "too few rows",
            r"Too high on average: for every 100 events predicted \d+ happened, .* \(100 is right; 95% confidence\)\.",
            [
                "How large an error may hide is not known",
                r"Events come from too few groups \(there are 12, and about \d+ like these are needed\)\.",
                r"Do: collect rows of about \d+ more groups\. Until then correct level and slope alone",
            ],
        ),
        (
            [200] * 4,
            0.0,
            "not tested",
            "Not tested for chance: groups are too few to test weighted rows by groups",
            ["Predictions would", "Do: collect rows of more groups before you rely on the predictions"],
        ),
    ],
)
def test_censored_rows_in_few_groups_are_answered_by_level_and_slope(sizes, off, state, headline, details):
    # The screens ended in "not tested", without anything to do.
    found = censored_in_groups(sizes, off).answer
    assert (found.state, found.pvalue, found.action) == (state, None, "collect more rows")
    assert found.direction == ("too high" if off else None)
    assert re.match(headline, found.headline)
    assert len(found.details) == len(details)
    for said, expected in zip(found.details, details, strict=True):
        assert re.match(expected, said)


@pytest.mark.slow
def test_few_groups_are_told_by_one_number_with_and_without_the_most_that_one_weighs():
    # With it there were three: "worth 7; 30 needed", and 7,100 groups for the limit.
    rng = np.random.default_rng(1)
    hospital = np.repeat(np.arange(8), 200)
    p = 1.0 / (1.0 + np.exp(1.0 - rng.standard_normal(hospital.size)))
    for off in (0.0, 1.5):
        chance = 1.0 / (1.0 + np.exp(off - np.log(p / (1.0 - p))))
        y = rng.random(hospital.size) < chance
        alone, bounded = (
            audit(y, p, groups=hospital, max_weight=most, random_state=0).answer for most in (None, 250.0)
        )
        for found in (alone, bounded):
            said = " ".join((found.headline, *found.details))
            needed = int(re.search(r"there are 8, and about (\d+) like these are needed", said).group(1))
            more = set(re.findall(r"([0-9,]+) more groups", said))
            assert more <= {str(needed - 8)}
            assert "in all" not in said
            assert "worth" not in said
        assert alone.details[-1] == bounded.details[-1]
    assert alone.direction == "too high"


def test_every_screen_says_what_to_do_where_nothing_was_tested():
    p = np.tile([0.3, 0.7], 200)
    y = np.random.default_rng(0).random(400) < p
    untested = audit(y, p, n_resamples=0).answer
    assert untested.action == "collect more rows"
    assert untested.details[-1].startswith("Do: use the predictions if an error of ")
    rates = audit(np.tile([0.2, 0.8], 200), p).answer
    assert (rates.action, rates.state) == ("none", "not tested")
    assert rates.details[-1].startswith("Do: do not rely on the predictions yet. ")


def test_a_backwards_screen_gives_no_distance_and_says_what_its_auc_means():
    rng = np.random.default_rng(10)
    p = rng.beta(2.0, 2.0, 2_000)
    found = audit((rng.random(2_000) < 1.0 - p) * 1, p, random_state=0)
    assert found.answer.action == "check the labels"
    assert "points" not in found.answer.sentence
    assert "below 0.5: they put likelier rows last" in standing(found)


def test_few_points_of_a_rare_event_stand_beside_its_rate():
    rng = np.random.default_rng(8)
    for a, told in ((0.05, True), (3.0, False)):
        p = rng.beta(a, 5.0, 3_000)
        found = audit((rng.random(3_000) < p) * 1, p, random_state=0)
        assert not found.tests["calibration_test"].result.reject
        assert (f"{rate(found.base_rate)} happen on average" in found.answer.sentence) is told


def test_a_line_says_that_rows_without_a_sign_of_error_may_be_used():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    found = audit((rng.random(2_000) < p) * 1, p, random_state=0)
    assert found.answer.state == "too few rows"
    said = r"Audit\(no sign of error, at most ([0-9.]+ points): use if \1 off is all right; 2,000 rows\)"
    assert re.fullmatch(said, repr(found))


def test_of_few_groups_the_level_comes_before_the_slope():
    def line(level, slope):
        return GroupLine(Estimate(1.0, Interval(*level)), Estimate(1.0, Interval(*slope)), 20.0, "events", 0.05)

    assert line((0.40, 0.50), (0.5, 0.8)).direction == "too high"
    assert [right for _, right in line((0.40, 0.50), (0.5, 0.8)).signs(False)] == ["100", "1"]
    assert line((1.20, 1.50), (1.3, 1.5)).direction == "too low"
    assert line((0.90, 1.10), (0.5, 0.8)).direction == "too confident"
    assert line((0.90, 1.10), (1.1, 1.8)).direction == "not confident enough"
    assert line((1.002, 1.12), (0.9, 1.004)).direction is None  # 1.00 is printed


@pytest.mark.slow
def test_an_error_that_turned_is_told_since_it_turned():
    rng = np.random.default_rng(0)
    period = np.repeat(np.arange(8), 2000)
    p = rng.beta(2.0, 2.0, period.size)
    shift = np.where(period < 4, -0.06, 0.06)
    y = rng.random(period.size) < np.clip(p + shift, 0.0, 1.0)
    table = pyarrow.table({"y_true": y.astype(int), "y_prob": p, "day": period})
    said = audit_table(table, y_true="y_true", y_prob="y_prob", drift="day", n_resamples=199, random_state=0).summary()
    assert "Too low since about period 4: 50% predicted, 57% happened" in " ".join(said.split())


def _in_few_hospitals(seed=4, n=2_000, hospitals=40):
    rng = np.random.default_rng(seed)
    hospital, x = rng.integers(0, hospitals, n), rng.normal(size=n)
    shift = rng.normal(0.0, 0.5, hospitals)[hospital]
    predicted, true = expit(1.4 * x - 1.5), expit(x - 1.2 + shift)
    return rng, hospital, predicted, true


def test_classes_in_few_groups_are_told_in_words_of_classes():
    rng, hospital, _, _ = _in_few_hospitals()
    z = 1.5 * rng.normal(size=(2_000, 4))
    table, true = np.exp(z), np.exp(0.6 * z + np.outer(rng.normal(0.0, 0.5, 40)[hospital], [1, 0, 0, -1]))
    table, true = table / table.sum(axis=1, keepdims=True), true / true.sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) < rng.random((2_000, 1))).sum(axis=1)
    answer = audit(label, table, groups=hospital, random_state=0).answer
    assert "right rows predicted" in answer.sentence
    assert "event" not in answer.sentence
    assert "TemperatureScaling" in answer.details[-1]
    assert "PlattScaling" not in answer.sentence


def test_followed_rows_in_few_groups_are_told_one_thing_to_do(tmp_path):
    rng, hospital, predicted, true = _in_few_hospitals()
    event = 730.0 * rng.exponential(1.0, 2_000) / -np.log1p(-true)
    left = rng.uniform(200.0, 1_500.0, 2_000)
    path = tmp_path / "followed.csv"
    columns = {"time": np.minimum(event, left), "event": (event <= left) * 1, "risk": predicted, "hospital": hospital}
    pd.DataFrame(columns).to_csv(path, index=False)
    options = "--time time --event event --horizon 730 --y-prob risk --groups hospital --all"
    done = CliRunner().invoke(app, ["audit", str(path), *options.split()])
    page = " ".join(done.output.split())
    assert page.count("Until then correct level and slope alone (PlattScaling).") == 2
    assert "No recalibration is advised" not in page
    assert "rows without weights" not in page


@pytest.mark.slow
def test_two_models_in_few_groups_are_told_what_to_do():
    rng, hospital, predicted, true = _in_few_hospitals()
    frame = pd.DataFrame({"y": (rng.random(2_000) < true) * 1, "a": predicted, "b": 0.7 * predicted + 0.05})
    found = audit_table(frame.assign(site=hospital), y_true="y", y_prob=["a", "b"], groups="site", random_state=0)
    assert found.details[-1] == (
        "Do: collect rows of more groups; until then correct level and slope alone (PlattScaling) of a (too low) "
        "and b (too low)."
    )
    assert next(row[1:] for row in found.facts() if row[0] == "what to do") == ("collect more groups",) * 2


@pytest.mark.slow
def test_two_models_whose_errors_are_not_seen_for_few_groups_are_told_so_by_the_table_too():
    rng, hospital, _, true = _in_few_hospitals()
    frame = pd.DataFrame({"y": (rng.random(2_000) < true) * 1, "a": true, "b": true**1.01, "site": hospital})
    found = audit_table(frame, y_true="y", y_prob=["a", "b"], groups="site", random_state=0)
    assert all(audit.answer.direction is None and audit.group_line is not None for audit in found.audits)
    assert next(row[1:] for row in found.facts() if row[0] == "what to do") == ("collect more groups",) * 2
    assert ": collect more groups;" in repr(found.audits[0])


def gate_of(frame, **options):
    return check_opened(OpenedFrame(frame), GateRequest(**{"y_true": "y", "y_prob": "p", **options}), Listener())


@pytest.mark.parametrize(("y", "said"), [(0, "are 0: no event."), (1, "are 1: nothing but events.")])
def test_outcomes_without_weight_are_none(y, said):
    # "All 500 outcomes are 0" was said where half of them were 1, without weight; the gate said nothing.
    rng = np.random.default_rng(0)
    weight = np.repeat([1.0, 0.0], 250)
    frame = pd.DataFrame({"y": np.where(weight > 0.0, y, 1 - y), "p": rng.random(500), "w": weight})
    found = audit(frame["y"], frame["p"], sample_weight=weight, n_resamples=39)
    assert found.answer.headline.startswith(f"All outcomes with weight {said}")
    told = []
    listener = Listener(note=told.append)
    request = GateRequest(y_true="y", y_prob="p", sample_weight="w", max_weight=1.0)
    rows = check_opened(OpenedFrame(frame), request, listener).rows.sentence
    assert f"All outcomes with weight {said}" in told
    assert rows.count("500 rows") == 1
    assert "250 rows" not in rows


@pytest.mark.slow
def test_trials_are_counted_as_outcomes_and_rows_as_rows():
    rng = np.random.default_rng(1)
    p, trials = rng.beta(1.0, 3.0, 3_000), rng.integers(1, 15, 3_000)
    y = rng.binomial(trials, p**1.3) / trials
    found = audit(y, p, trials=trials, n_resamples=39)
    assert found.answer.headline.endswith(f"({trials.sum():,} outcomes).")
    assert all(f"({each.n_rows:,} outcomes, " in each.summary() for each in found.regions)
    assert f"; {trials.sum():,} outcomes)" in repr(found)
    frame = pd.DataFrame({"y": y, "p": p, "n": trials})
    said = gate_of(frame, trials="n", max_weight=14.0).checks[0].sentence
    assert said.endswith("3,000 rows). Too high on average: 25% predicted, 18% happened.")  # one number, not two


def test_the_code_for_followed_rows_makes_their_outcomes():
    rng = np.random.default_rng(2)
    p = rng.beta(2.0, 5.0, 3_000)
    came = -730.0 * rng.exponential(size=3_000) / np.log1p(-(p**1.4))
    left = rng.uniform(200.0, 1500.0, 3_000)
    rows = pd.DataFrame({"days": np.minimum(came, left), "died": (came <= left) * 1, "p": p})
    found = audit_table(rows, y_prob="p", time="days", event="died", horizon=730.0, random_state=0)
    names = {"rows": rows, "y_prob": rows["p"], "new_y_prob": rows["p"]}
    exec(code(found.answer, found), names)
    expected = found.advice.recalibrator.predict(rows["p"])
    np.testing.assert_allclose(names["better"], expected, rtol=1e-6)


def test_an_example_counts_what_happened_and_estimates_what_will(rows):
    found = audit(rows["y"], rows["p"])
    for each in found.regions:
        inside = rows["p"].between(each.low, each.high)
        assert each.happened == pytest.approx(rows["y"][inside].mean())
        assert abs(each.estimate - each.predicted) < abs(each.happened - each.predicted) + 0.02
        assert f"about {rate(each.estimate)} happen" in found.answer.headline or each not in found.answer.examples


def test_a_limit_is_loose_beyond_the_default_or_the_rarer_rate():
    assert loose_limit(0.3, 0.3, 0.02) is None
    assert loose_limit(0.3, 0.3, 0.03) == "The limit is looser than the default, 2 points."
    assert "predicting 1 everywhere would be within" in loose_limit(0.9, 0.9, 0.1)


@pytest.mark.parametrize("by_name", [False, True])
def test_which_of_two_searches_calls_a_segment_off(monkeypatch, by_name):
    segment = SimpleNamespace(key=("a",), reject=by_name)
    stub = SimpleNamespace(found_segments=1, segmented_by=("place",), segments=[segment], level=0.05)
    monkeypatch.setattr(decision, "_proved", lambda *_: {frozenset({"place = a"}): not by_name})
    first, second = ("by name", "in the search")[:: 1 if by_name else -1]
    assert decision.disagreement(stub).startswith(f"place = a is off by more than noise {first} and not {second}, ")
