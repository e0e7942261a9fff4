"""What the page says to do, by the parts of an audit that decide it."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval
from calibrant.findings import action_catalogue
from calibrant.findings.action_catalogue import (
    IF_ALL_RIGHT,
    _collect,
    _level_and_slope,
    _look_at_parts,
    _look_closer,
    _more_groups,
    _no_more_than,
    _no_recalibration,
    _on_recent,
    _outcomes_at_horizon,
    _recalibrate,
    _repair_alone,
    _spread,
    _to_one_side,
    _weights_of_repair,
    _what_it_gains,
    action_line,
    code,
    more_groups,
    most_of_one,
    short_action,
    what_bounds,
)
from calibrant.findings.advice import Advice
from calibrant.findings.decision import Blamed
from calibrant.inference.bounds.gate import GateResult
from calibrant.resampling.redraw import LEAST_GROUPS
from tests.findings.parts import an_answer, an_audit, found, period, segment

ONE = Blamed("place = north", ("place",), 100, 0.5, 0.7, 0.4, 0.413)
OFF = {"segments": (segment("a", 0.4, 0.6),), "periods": (period(0, 100, 0.5, 0.5), period(1, 100, 0.5, 0.9, off=True))}


@pytest.mark.parametrize(
    ("parts", "look_at", "look_closer"),
    [
        ((), None, "look at where they err before you use them. Words of the advice."),
        (
            ("segments",),
            "correct the rows with place = a alone, and leave all other rows as they are (SegmentRecalibrator).",
            "correct the rows with place = a alone (SegmentRecalibrator). One correction for all rows helps little.",
        ),
        (
            ("segments", "periods"),
            "correct the rows with place = a alone, and leave all other rows as they are (SegmentRecalibrator). "
            "Some periods are off as well.",
            "correct the rows with place = a alone (SegmentRecalibrator). One correction for all rows helps little. "
            "Some periods are off as well.",
        ),
        (
            ("periods",),
            "find out what changed. If it lasts, correct the predictions with the rows since period 1 (recalibrate).",
            "look at where they err before you use them. Some periods are off. Words of the advice.",
        ),
    ],
)
def test_the_parts_that_are_off_are_named(parts, look_at, look_closer):
    audit = an_audit(**{name: OFF[name] for name in parts})
    assert _look_closer(audit) == look_closer
    if look_at is not None:
        assert _look_at_parts(audit) == look_at


def test_of_several_segments_none_is_named():
    audit = an_audit(segments=(segment("a", 0.4, 0.6), segment("b", 0.4, 0.6)))
    assert _look_at_parts(audit).startswith("correct each of these segments by itself, and leave")


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([0.5, 0.5, 0.9, 0.9], "find out what changed. If it lasts, correct the predictions with the rows since "),
        ([0.5, 0.9, 0.5, 0.5], "find out what happened then. Do not correct later predictions by those rows."),
    ],
)
def test_rows_of_an_error_that_ended_correct_nothing(rates, said):
    alarm = rates.index(0.9)
    periods = tuple(period(k, 1_000, 0.5, each, off=k >= alarm) for k, each in enumerate(rates))
    assert _on_recent(an_audit(periods=periods)).startswith(said)


GAINS = "correct the predictions before you use them (recalibrate, by the code on the page){}. What it gains."
ALIKE = (segment("a", 0.4, 0.6), segment("b", 0.4, 0.65))


@pytest.mark.parametrize(
    ("chosen", "parts", "by", "said"),
    [
        ("averaged", {}, "", "{}"),
        ("averaged_classes", {}, "", "{}"),
        ("temperature", {}, " by Temperature scaling", "{}"),
        (
            "averaged",
            {"periods": OFF["periods"]},
            "",
            "find out whether something changed. If so, correct with the rows since it did; if not, {}",
        ),
        ("averaged", {"segments": ALIKE}, "", "{} All 2 segments are off to the same side on average."),
        (
            "averaged",
            {"segments": (*ALIKE, segment("c", 0.6, 0.4)), "periods": OFF["periods"]},
            "",
            "{} Single segments are off: if they err unlike one another, "
            "SegmentRecalibrator corrects segments one by one.",
        ),
    ],
)
def test_a_correction_of_all_rows_is_advised_beside_the_parts_that_are_off(monkeypatch, chosen, parts, by, said):
    advice = SimpleNamespace(gain=SimpleNamespace(summary=lambda: "What it gains."), chosen=chosen)
    answer, audit = an_answer(action="recalibrate"), an_audit(advice=advice, **parts)
    monkeypatch.setattr(action_catalogue, "since", lambda *_: None)
    assert _recalibrate(answer, audit).lower() == said.format(GAINS.format(by)).lower()
    if "periods" in parts:
        monkeypatch.setattr(action_catalogue, "since", lambda *_: object())
        assert _recalibrate(answer, audit).startswith("find out what changed. If it lasts, correct the predictions ")


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "less than 0.1%"), (0.00049, "less than 0.1%"), (0.0006, "at most 0.1%"), (0.2, "at most 20%")],
)
def test_a_gain_is_at_most_what_prints(share, said):
    assert _no_more_than(SimpleNamespace(log_loss=SimpleNamespace(possible_share=share))) == said


@pytest.mark.parametrize(
    ("action", "sampled", "said"),
    [
        ("leave unchanged", None, "Do: use the predictions as they are, and change nothing."),
        ("leave unchanged", (1, 2), "Do: give fractions. If not, use the predictions as they are, and change nothing."),
        ("collect more rows", None, IF_ALL_RIGHT),
        ("none", None, "Do: do not rely on the predictions yet. Words of the advice."),
        ("none", (1, 2), "Do: give fractions. If not, do not rely on the predictions yet. Words of the advice."),
    ],
)
def test_the_line_begins_with_what_is_done_first(monkeypatch, action, sampled, said):
    monkeypatch.setattr(action_catalogue, "if_chosen", lambda _: "Give fractions.")
    within = gate("within", 0.0, 0.01)
    audit = an_audit(perhaps_sampled=sampled, gate=within if action == "collect more rows" else None)
    line = action_line(an_answer(action=action, interval=within.lower_distance), audit)
    assert line.removeprefix("Do: ") == said.removeprefix("Do: ")
    assert line.startswith("Do: ")


def gate(verdict, low, high, needed=None):
    return GateResult(verdict, 0.02, Interval(low, high), 0.05, 100, needed)


@pytest.mark.parametrize(
    ("answer", "audit", "said"),
    [
        (
            {"direction": "too high"},
            {"n_groups": 9},
            "collect rows of more groups. Until then correct level and slope alone (PlattScaling).",
        ),
        ({}, {}, "run this again with --max-weight (in Python max_weight), the most that one row can ever weigh: "),
        (
            {"pvalue": None},
            {"n_groups": LEAST_GROUPS},
            "collect rows of more groups before you rely on the predictions. More rows of the same ones help little.",
        ),
        ({"pvalue": 0.3}, {"n_groups": LEAST_GROUPS - 1}, "collect rows of more groups before"),
        ({"pvalue": 0.3}, {"n_groups": LEAST_GROUPS}, "run this again with --max-weight"),
        ({"interval": Interval(0.0, 0.01)}, {"gate": gate("within", 0.0, 0.01)}, IF_ALL_RIGHT),
        (
            {"interval": Interval(0.0, 0.03)},
            {"gate": gate("undecided", 0.0, 0.03, 900)},
            "use the predictions if an error of 3.0 points is all right for you. If not, collect ",
        ),
        (
            {"interval": Interval(0.0, 0.26)},
            {"gate": gate("undecided", 0.0, 0.26, 900)},  # as far as the predictions are from their mean
            "collect 800 to 1,000 rows",
        ),
    ],
)
def test_what_is_collected_is_what_decides(monkeypatch, answer, audit, said):
    monkeypatch.setattr(action_catalogue, "rows_to_collect", lambda _: "800 to 1,000 rows")
    assert _collect(an_answer(action="collect more rows", **answer), an_audit(**audit)).startswith(said)


def test_predictions_are_as_far_from_their_mean_as_their_mass_says():
    table = SimpleNamespace(prediction=np.array([0.2, 0.6]), mass=np.array([3.0, 1.0]))
    assert _spread(an_audit(reliability=table)) == pytest.approx((3 * 0.1 + 0.3) / 4)


@pytest.mark.parametrize(
    ("n_groups", "worth", "said"),
    [
        (20, 15.0, "about 20 more groups (column id)"),  # twice as many are worth 30
        (29, 29.5, "about 1 more group (column id)"),
        (3, 30.0 / 11.0, "about 30 more groups (column id)"),  # ten times as many
        (3, 2.5, "far more groups (column id), over ten times as many"),
    ],
)
def test_groups_are_counted_up_to_ten_times_as_many(n_groups, worth, said):
    audit = an_audit(n_groups=n_groups, group_line=SimpleNamespace(worth=worth), columns={"groups": "id"})
    assert _more_groups(audit) == said
    assert more_groups(n_groups, LEAST_GROUPS) == 0


@pytest.mark.parametrize(
    ("n_compared", "classes", "said"),
    [
        (500, None, "Words of the advice."),
        (None, object(), "No recalibration of the predictions helps beyond chance."),
        (1_000, object(), "No recalibration of the predictions helps beyond chance."),
        (500, object(), "No recalibration of the predictions helps beyond chance, on 500 rows drawn."),
    ],
)
def test_rows_that_maps_were_compared_on_are_counted_where_they_are_not_all(n_compared, classes, said):
    advice = SimpleNamespace(words="Words of the advice.", n_compared=n_compared)
    assert _no_recalibration(an_audit(advice=advice, classes=classes)) == said


@pytest.mark.parametrize(
    ("n_compared", "near", "said"),
    [
        (None, 0.02, "On rows that the correction has not seen, the error falls from 5.0 to 2.0 points."),
        (1_000, 0.02, "On rows that the correction has not seen, the error falls from 5.0 to 2.0 points."),
        (
            500,
            0.02,
            "On 500 rows drawn at random, each that the correction has not seen, "
            "the error falls from 5.0 to 2.0 points.",
        ),
        (None, 0.05, "On rows that the correction has not seen, the score (log loss) is better."),
    ],
)
def test_what_a_map_of_classes_gains_is_told_on_rows_that_it_has_not_seen(n_compared, near, said):
    scores = {"unchanged": 0.05, "temperature": near}
    advice = Scores(gain=None, n_compared=n_compared, chosen="temperature", noise=None)
    advice.scores = {name: SimpleNamespace(lower_calibration_distance=each) for name, each in scores.items()}
    assert _what_it_gains(an_audit(advice=advice)) == said
    known = SimpleNamespace(gain=SimpleNamespace(summary=lambda: "What it gains."))
    assert _what_it_gains(an_audit(advice=known)) == "What it gains."


class Scores(SimpleNamespace):
    """An advice by the scores of its maps."""

    def __getitem__(self, name):
        return self.scores[name]


@pytest.mark.parametrize(
    ("high", "periods", "limit", "first"),
    [
        (0.01, (), "within the limit.", ""),
        (0.02, OFF["periods"], "within the limit.", " Some periods are off as well: find out whether something"),
        (0.03, (), "within the limit of 2.", ""),
        (None, (), "within the limit of 2.", ""),
    ],
)
def test_one_segment_is_corrected_and_the_limit_is_named_once(high, periods, limit, first):
    answer = an_answer(interval=None if high is None else Interval(0.0, high))
    said = _repair_alone(ONE, answer, an_audit(periods=periods))
    start = "correct the rows with place = north alone (SegmentRecalibrator). The other rows err by 1.3 points"
    assert said.startswith(f"{start} on average, {limit}{first}")
    assert bool(first) == ("eriods" in said)


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        ({}, "the most that one row can ever weigh"),
        ({"trials": True}, "the most outcomes that one row can ever have"),
        ({"trials": True, "n_groups": 9}, "the most outcomes that one group can ever have"),
        ({"weighted": True, "n_groups": 9}, "the most that one group can ever weigh"),
        ({"n_groups": 9}, "the most rows that one group can ever have"),
    ],
)
def test_the_largest_weight_is_of_what_is_drawn(audit, said):
    assert most_of_one(an_audit(**audit)) == said
    assert what_bounds(an_audit(**audit)) == f"--max-weight (in Python max_weight), {said}"


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        ({}, "--unweighted --sampling-fractions 0:0.5,1:1 (in Python sampling_fractions), in place of the weights"),
        (
            {"refuse_fractions": ("--sample-weight",), "columns": {"sample_weight": "w"}},
            "--unweighted --sampling-fractions 0:0.5,1:1 (in Python sampling_fractions), in place of --sample-weight",
        ),
        (
            {"refuse_fractions": ("--sample-weight",), "columns": {"sample_weight": "x7"}},
            "--sampling-fractions 0:0.5,1:1 (in Python sampling_fractions), in place of --sample-weight",
        ),
        ({"refuse_fractions": ("--trials",)}, "--max-weight (in Python max_weight), the most that one row can ever"),
        ({"n_groups": 9}, "--max-weight (in Python max_weight), the most that one group can ever weigh"),
    ],
)
def test_weights_that_say_how_rows_were_sampled_give_way_to_the_fractions(audit, said):
    assert what_bounds(an_audit(sampling_fractions=(0.5, 1.0), weighted=True, **audit)).startswith(said)


@pytest.mark.parametrize(
    ("audit", "fit"),
    [
        ({"trials": True}, None),
        ({}, "PlattScaling().fit(y_prob, y_true)"),
        ({"classes": object()}, "TemperatureScaling().fit(y_prob, y_true)"),
        ({"weighted": True}, "PlattScaling().fit(y_prob, y_true, sample_weight)"),
        ({"followed": object()}, "PlattScaling().fit(y_prob, y_true, sample_weight)"),
        ({"sampling_fractions": (0.5, 1.0), "weighted": True}, "PlattScaling().fit(y_prob, y_true, sample_weight)"),
        (
            {"sampling_fractions": (0.5, 1.0), "fractions_given": True, "weighted": True},
            "PlattScaling().fit(y_prob, y_true, numpy.where(y_true == 1, 1.0, 2.0))",
        ),
    ],
)
def test_level_and_slope_are_fitted_with_what_rows_weigh(audit, fit):
    said = _level_and_slope(an_audit(**audit))
    if fit is None:
        assert said is None
    else:
        assert f"recalibrate = {fit}\n" in said
        assert ("numpy." in fit) == said.startswith("import numpy\n")


@pytest.mark.parametrize(
    ("audit", "imports", "weight"),
    [
        ({}, "", ""),
        ({"columns": {"sample_weight": "w"}}, "", ""),
        ({"sampling_fractions": (0.5, 1.0), "columns": {"sample_weight": "w"}}, "", ", sample_weight=rows['w']"),
        (
            {"sampling_fractions": (0.5, 1.0)},
            "import numpy\n",
            ", sample_weight=numpy.where(rows['y'] == 1, 1.0, 2.0)",
        ),
    ],
)
def test_the_repair_of_a_segment_weighs_rows_that_were_sampled_by_outcome(monkeypatch, audit, imports, weight):
    monkeypatch.setattr(action_catalogue, "blamed", lambda *_: ONE)
    assert _weights_of_repair(an_audit(**audit), "y") == (imports, weight)
    names = {**audit.pop("columns", {}), "y_true": "y", "y_prob": "p"}
    lines = code(an_answer(action="look closer"), an_audit(columns=names, **audit))
    assert lines.startswith(f"{imports}from calibrant import SegmentRecalibrator\n")
    assert "SegmentRecalibrator('p', features=['place'])\n" in lines
    assert f"repair.fit(rows, rows['y']{weight})\n" in lines


def test_of_an_error_since_some_period_no_lines_are_shown(monkeypatch):
    audit = an_audit(advice=SimpleNamespace(code="lines"))
    answer = an_answer(action="recalibrate", direction="too low")
    assert code(answer, audit) == "lines"
    monkeypatch.setattr(action_catalogue, "since", lambda *_: object())
    assert code(answer, audit) is None


@pytest.mark.parametrize(
    ("strata", "least", "arguments"),
    [
        ((), 0.1, "1.5"),
        (("site",), 0.1, "1.5, strata=rows['site']"),
        (("site", "sex"), 0.1, "1.5, strata=rows[['site', 'sex']]"),
        ((), 0.25, "1.5, least_followed=0.25"),
        (("site",), 0.25, "1.5, strata=rows['site'], least_followed=0.25"),
    ],
)
def test_outcomes_at_a_horizon_are_made_as_they_were(strata, least, arguments):
    followed = SimpleNamespace(strata=strata, least_followed=least, time="t", event="e", horizon=1.5)
    made = f"known = censored_outcomes(rows['t'], rows['e'], {arguments})\n"
    assert made in _outcomes_at_horizon(followed)
    audit = an_audit(followed=followed, advice=SimpleNamespace(code="lines"))
    assert code(an_answer(action="recalibrate"), audit) == f"{_outcomes_at_horizon(followed)}lines"


@pytest.mark.parametrize(
    ("answer", "audit", "said"),
    [
        ({"action": "leave unchanged"}, {}, "leave unchanged"),
        ({"direction": "too high"}, {}, "collect more groups"),
        ({}, {"group_line": object()}, "collect more groups"),
        ({}, {}, "collect more rows"),
        ({"interval": Interval(0.0, 0.26)}, {}, "collect more rows"),  # as far as predictions are from their mean
        ({"interval": Interval(0.0, 0.03)}, {}, "use if 3.0 points off is all right"),
        ({"action": "recalibrate"}, {}, "recalibrate"),
    ],
)
def test_the_action_in_a_few_words(monkeypatch, answer, audit, said):
    answer = an_answer(**{"action": "collect more rows", **answer})
    assert short_action(answer, an_audit(**audit)) == said
    monkeypatch.setattr(action_catalogue, "blamed", lambda *_: ONE)
    assert short_action(answer, an_audit(**audit)) == (
        "correct place = north alone" if answer.action == "recalibrate" else said
    )


@pytest.mark.parametrize(
    ("happened", "one_side"),
    [
        ((0.6, 0.65), True),
        ((0.6,), False),
        ((0.6, 0.4), False),
        ((0.6, 0.7), False),  # one errs twice as far as the other
        ((0.6, 0.69), True),
    ],
)
def test_segments_that_err_alike_may_have_one_map(happened, one_side):
    segments = tuple(segment(str(k), 0.5, each) for k, each in enumerate(happened))
    assert _to_one_side(an_audit(segments=segments)) is one_side
    assert not _to_one_side(an_audit(segments=(*segments, segment("fine", 0.5, 0.6, off=False))))
    assert not _to_one_side(an_audit(segments=segments, found_segments=found("x", 0.1)))
    both_ways = [segment(str(k), 0.5, each, far=(each - 0.5) / 0.89) for k, each in enumerate(happened)]
    assert not _to_one_side(an_audit(segments=tuple(both_ways)))


def test_an_advice_has_its_scores_by_name():
    scores = tuple(SimpleNamespace(method=each) for each in ("unchanged", "temperature"))
    advice = Advice("Words.", "unchanged", scores)
    assert [advice[each] for each in ("unchanged", "temperature")] == list(scores)
    with pytest.raises(KeyError, match="platt"):
        advice["platt"]
    assert (advice.summary(), advice.code, advice.recalibrator) == ("Words.", None, None)
