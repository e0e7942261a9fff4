"""What is said of audits side by side, and which rows are compared, by the parts that decide it."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval
from calibrant.door.arguments import check_resamples
from calibrant.door.errors import InputError
from calibrant.findings import comparison
from calibrant.findings.comparison import (
    Comparison,
    _differing,
    _not_of_the_same_rows,
    _of_all,
    _other_groups,
    _parted,
    _same_rows,
    _SameRows,
    _test,
    _to_do,
    compare,
    refuse_idle_draws,
    very_same,
)
from calibrant.findings.matching import Pairing
from tests.findings.parts import an_answer, an_audit, period

Y, V = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.1, 0.8, 0.6, 0.3])
OTHER = np.array([0.0, 1.0, 0.0, 0.0])


def pairs(values, better):
    """Every pair of models, of which these are proved better."""
    of_all = len(values) * (len(values) - 1) // 2
    return SimpleNamespace(values=values, better=better, pairs=[None] * of_all, level=0.05)


@pytest.mark.parametrize(
    ("better", "said"),
    [
        (
            [("a", "b"), ("a", "c")],
            "a is better calibrated than all others on them (at most 5% for any of the 3 comparisons to be wrong).",
        ),
        ([], "None of the 3 is proved better calibrated than another on them."),
        (
            [("a", "c")],
            "None of the 3 is proved better than all others. Proved: a is better calibrated than c (at most",
        ),
        (
            [("b", "c"), ("a", "c")],
            "None of the 3 is proved better than all others. Proved: a is better calibrated than c; b is better "
            "calibrated than c (at most 5% for any of the 3 comparisons to be wrong).",
        ),
    ],
)
def test_of_several_those_are_told_that_are_proved_better(better, said):
    *first, errors = _of_all(pairs({"a": 0.01, "b": 0.02, "c": 0.1}, better), " on them")
    assert " ".join(first).startswith(said)
    assert errors == "Smooth errors in points: a 1.0, b 2.0, c 10."


def test_several_that_one_is_better_than_are_told_together():
    of_four = pairs({"a": 0.01, "b": 0.02, "c": 0.1, "d": 0.2}, [("b", "d"), ("b", "c")])
    assert "Proved: b is better calibrated than c and d (" in " ".join(_of_all(of_four, ""))


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        (None, None, None),
        ([0, 0, 1], None, (0, None)),
        (None, [0, 0, 1], (0, None)),
        ([0, 0, 1], [5, 5, 2], None),  # what groups are called makes no difference
        ([0, 0, 1], [0, 1, 2], (0, 1)),
        ([0, 1, 2], [4, 3, 3], (1, 2)),
        ([0, 1, 0], [0, 1, 2], (0, 2)),
    ],
)
def test_groups_are_the_same_where_they_part_rows_alike(one, other, where):
    one, other = (None if each is None else np.array(each) for each in (one, other))
    assert _parted(one, other) == where
    said = _other_groups(["a", "b", "c"], [one, one, other])
    if where is None:
        assert said is None
    elif where[1] is None:
        assert said == "one of a and c has no groups"
    else:
        assert said.startswith(f"rows {where[0]} and {where[1]} are of one group in only one of a and c. ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"audits": {"classes": object()}}, "compare_calibration takes one probability per row, and these are "),
        ({"rows": [(Y, V), None]}, "that takes single, unweighted rows with outcomes 0 or 1"),
        ({"audits": {"n_excluded": 1}}, "bad rows were left out, so the other rows may not be the same"),
        ({"rows": [(Y, V), (OTHER, V)]}, "their outcomes differ in 1 of 4 rows. If they are of the same items, say "),
        (
            {"rows": [(Y, V), (Y[:3], V[:3])]},
            "they have 4 and 3 rows. If they are of the same items, say --items COLUMN",
        ),
        ({"rows": [(Y, V), (OTHER, V)], "n_items": 4}, None),
        ({"groups": [np.arange(4), None]}, "one of a and b has no groups"),
        ({"most": 4}, None),
        ({"most": 3}, "above 3 rows compare_calibration does it"),
        ({"rows": [(Y, V)] * 3, "most": 12}, None),
        ({"rows": [(Y, V)] * 3, "most": 11}, "above 3 rows calibrant.inference.compare_all does it"),
    ],
)
def test_rows_are_compared_where_they_are_the_same_and_not_too_many(monkeypatch, change, said):
    rows = change.get("rows", [(Y, V), (Y, V)])
    names = "abc"[: len(rows)]
    audits = [an_audit(classes=None) for _ in rows]
    for each in audits:
        each.n_excluded = 0
    vars(audits[-1]).update(change.get("audits", {}))
    monkeypatch.setattr(comparison, "_MOST_ROWS", change.get("most", 100))
    same = _SameRows(rows, change.get("groups", [None] * len(rows)), change.get("n_items"))
    why = _not_of_the_same_rows(list(names), audits, same, logs=False)
    assert (why is None) == (said is None)
    assert why is None or why.startswith(said)


@pytest.mark.parametrize(
    ("groups", "n_files", "logs", "told"),
    [(None, 2, False, True), (np.arange(4), 2, False, False), (None, 3, False, False), (None, 2, True, True)],
)
def test_a_gate_of_other_rows_is_named_for_two_files_without_groups(groups, n_files, logs, told):
    audits = [SimpleNamespace(classes=None, n_excluded=0)] * n_files
    same = _SameRows([(Y, V), *[(OTHER, V)] * (n_files - 1)], [groups] * n_files)
    why = _not_of_the_same_rows(list("abc"[:n_files]), audits, same, logs=logs)
    assert ("; calibrant gate FILE --baseline FILE compares other rows" in why) is told
    assert ("--items COLUMN" in why) is not logs


class Ids:
    """Rows of two tables, those of one item in these places."""

    def __init__(self, place, item=None):
        self.place, self.item = np.array(place), item

    def group(self, of):
        return self.item if of is None else of


def matched(*others):
    return SimpleNamespace(others=others, repeated=any(each.item is not None for each in others))


def test_items_that_change_nothing_are_refused():
    as_read = _SameRows([(Y, V), (Y, V)], [None, None])
    assert _same_rows(as_read, None, explicit=False) is as_read
    with pytest.raises(InputError, match=r"items: are for files of single, unweighted rows with outcomes of 0 or 1"):
        _same_rows(as_read, None, explicit=True)
    with pytest.raises(InputError, match=r"items: have no effect: outcomes are the same, row by row"):
        _same_rows(as_read, matched(Ids(range(4))), explicit=True)
    for match, explicit in ((Ids(range(4)), False), (Ids(range(4), np.array([0, 0, 1, 1])), True)):
        found = _same_rows(as_read, matched(match), explicit=explicit)
        assert (found.n_items, found.n_differing) == (None, 0)


def test_rows_of_the_second_are_put_in_the_order_of_the_first():
    back = [3, 2, 1, 0]
    found = _same_rows(_SameRows([(Y, V), (Y[back], V[back])], []), matched(Ids(back)), explicit=True)
    assert all(np.array_equal(one, other) for one, other in zip(*found.rows, strict=True))
    assert (found.n_items, found.n_differing, found.groups) == (None, 0, [None, None])
    groups = np.array([0, 0, 1, 2])
    found = _same_rows(
        _SameRows([(Y, V), (OTHER[back], V[back])], [groups, groups[back]]), matched(Ids(back)), explicit=True
    )
    assert (found.n_items, found.n_differing) == (4, 1)
    assert np.array_equal(found.groups[1], groups)
    assert _differing([(Y, V), (OTHER, V), (1.0 - Y, V)]) == 4


def test_files_of_the_very_same_rows_are_named():
    rows = [(Y, V), None, (Y, V), (OTHER, V), (Y[::-1], V[::-1])]
    said = "a and {} hold the very same outcomes and predictions."
    assert very_same("abcde", rows) == [said.format("c"), said.format("e")]


@pytest.mark.parametrize(
    ("answer", "audit", "kind", "clause"),
    [
        ({"action": "recalibrate"}, {}, "correct", "a"),
        ({"action": "recalibrate", "direction": "too high"}, {}, "correct", "a (too high)"),
        ({"action": "collect more rows", "direction": "too high"}, {}, "few", "a (too high)"),
        ({"action": "collect more rows"}, {"group_line": object()}, "unseen", "a"),
        ({"action": "collect more rows"}, {}, "fine", "a shows no sign of error"),
        ({"action": "leave unchanged", "state": "no evidence"}, {}, "fine", "a shows no error that matters"),
        ({"action": "leave unchanged", "state": "too small to matter"}, {}, "other", "a: leave unchanged"),
        ({"action": "look at the parts"}, {"periods": (period(0, 9, 0.1, 0.9),)}, "other", "a: look at the parts"),
    ],
)
def test_what_to_do_about_each_is_of_its_kind(answer, audit, kind, clause):
    assert _to_do("a", SimpleNamespace(**vars(an_audit(**audit)), answer=an_answer(**answer))) == (kind, clause)


@pytest.mark.parametrize(("seeds", "shared"), [((1, 1), 1), ((1, 2), None), ((2, 2), None)])
def test_a_seed_is_shared_where_all_audits_drew_by_it(seeds, shared):
    audits = [SimpleNamespace(classes=None, n_excluded=0, seed=each) for each in seeds]
    found = compare(["x", "x"], audits, [None, None], seed=1)
    assert found.names == ("x (1)", "x (2)")
    assert found.seed == shared
    assert found.not_compared == "that takes single, unweighted rows with outcomes 0 or 1"
    assert compare("xy", audits, [None, None], pairing=Pairing(unmatched="no ids"), seed=1).not_compared == "no ids"


FINE = {"state": "too few rows", "action": "collect more rows", "interval": Interval(0.0, 0.0234)}
BAD = {"state": "worth correcting", "action": "recalibrate", "direction": "too high", "size": 0.1}
BAD |= {"interval": Interval(0.08, 0.12), "pvalue": 1e-9}
UNBOUNDED = BAD | {"interval": None}


def side_by_side(*answers, result=None, pairs=None, aucs=None, **fields):
    """Audits with these answers, called a, b and so on."""
    audits = []
    for answer, auc in zip(answers, aucs or [0.8] * len(answers), strict=True):
        value = SimpleNamespace(title="A Measure", value=None if answer is UNBOUNDED else 0.25)
        more = {"answer": an_answer(**answer), "measures": {"m": value}, "smooth_calibration_error": 0.05}
        premises = SimpleNamespace(sentences=["Shared."] if answer is FINE else ["Shared.", "Of its own."])
        audits.append(SimpleNamespace(**vars(an_audit(auc=auc)), premises=premises, **more))
    return Comparison(tuple("abcd"[: len(answers)]), tuple(audits), result, pairs, fields.pop("why", None), **fields)


def a_test(statistic, low, high, *, reject=True, pvalue=0.01):
    return SimpleNamespace(statistic=statistic, interval=Interval(low, high), level=0.05, reject=reject, pvalue=pvalue)


@pytest.mark.parametrize(
    ("both", "result", "said"),
    [
        (
            (FINE, BAD),
            a_test(-0.05, -0.07, -0.03),
            [
                "a is better calibrated than b on the same 1,000 rows. Chance alone rarely does this (p < 0.05).",
                "Predictions of b would have to move by 10 points on average, likely 8.0 to 12. Those of a "
                "would have to move by at most 2.4 points (95% confidence).",
                "By the smooth calibration error they differ by 5.0 points, likely 3.0 to 7.0.",
                "Do: use a, or correct b (too high) before you use it; a shows no sign of error.",
            ],
        ),
        (
            (BAD, FINE),
            a_test(0.05, 0.03, 0.07, pvalue=1e-9),
            [
                "b is better calibrated than a on the same 1,000 rows. This is not chance (p = 1e-9).",
                "Predictions of a would have to move by 10 points on average, likely 8.0 to 12. Those of b "
                "would have to move by at most 2.4 points (95% confidence).",
                "By the smooth calibration error they differ by 5.0 points, likely 3.0 to 7.0.",
                "Do: use b, or correct a (too high) before you use it; b shows no sign of error.",
            ],
        ),
        (
            (BAD, UNBOUNDED),
            a_test(0.01, -0.02, 0.04, reject=False),
            [
                "Neither of a and b is proved better calibrated on the same 1,000 rows (p > 0.05).",
                "Predictions of a would have to move by 10 points on average, likely 8.0 to 12. Those of b "
                "would have to move by 10 points on these rows.",
                "By the smooth calibration error a's less b's is likely -2.0 to 4.0 points (95% confidence).",
                "Do: correct a (too high) and b (too high) before you use them.",
            ],
        ),
        (
            (BAD, FINE),
            a_test(-0.05, -0.07, -0.03),
            [
                "a and b cannot be ranked on the same 1,000 rows: it depends on the measure.",
                "Predictions of a would have to move by 10 points on average, likely 8.0 to 12. Those of b "
                "would have to move by at most 2.4 points (95% confidence).",
                "By the smooth calibration error a is better by 5.0 points, likely 3.0 to 7.0 (95% confidence).",
                "Do: correct a (too high) before you use it; b shows no sign of error.",
            ],
        ),
        (
            (FINE, FINE),
            None,
            ["The two were not compared row by row: no ids.", "a shows no sign of error; b shows no "],
        ),
        (
            (FINE,) * 3,
            None,
            ["The 3 were not compared row by row: no ids.", "a shows no sign of error; b shows no sign "],
        ),
    ],
)
def test_two_are_told_by_their_test_and_how_far_each_is_off(both, result, said):
    found = side_by_side(*both, result=result, why="no ids")
    assert len(said) == len([found.headline, *found.details])
    for one, other in zip([found.headline, *found.details], said, strict=True):
        assert one.startswith(other)
    items = side_by_side(*both, result=result, why="no ids", same_items=200, n_differing=3)
    if result is not None:
        assert " on the same 200 items" in items.headline
        assert items.details[-2] == "Outcomes differ in 3 of 200 items; each file is judged by its own."


@pytest.mark.parametrize(("aucs", "use"), [((0.8, 0.8), True), ((0.8001, 0.8004), True), ((0.79, 0.8), False)])
def test_the_better_calibrated_is_used_where_it_ranks_as_well(aucs, use):
    found = side_by_side(FINE, BAD, result=a_test(-0.05, -0.07, -0.03), aucs=aucs)
    assert found.details[-1].startswith("Do: use a, or correct b" if use else "Do: correct b") is True


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([FINE, FINE], "a shows no sign of error; b shows no sign of error."),
        (
            [{"action": "collect more rows", "direction": "too low"}, FINE],
            "Do: collect rows of more groups; until then correct level and slope alone (PlattScaling) of a (too low)",
        ),
    ],
)
def test_what_to_do_about_each_is_told_by_its_kind(answers, said):
    assert side_by_side(*answers, why="no ids").details[-1].startswith(said)


def test_where_another_would_have_to_move_least_that_is_said():
    of_three = pairs({"a": 0.01, "b": 0.02, "c": 0.1}, [("a", "b"), ("a", "c")])
    near = BAD | {"size": 0.03}
    said = side_by_side(BAD, near, BAD, pairs=of_three).sentence
    assert "By distance b is best: its predictions would have to move least (3.0 points). Do: " in said
    assert "By distance" not in side_by_side(near, BAD, BAD, pairs=of_three).sentence
    of_three.better = []
    assert "By distance" not in side_by_side(BAD, near, BAD, pairs=of_three).sentence


def test_what_all_assume_is_told_once_and_the_rest_by_name():
    for matching, more in ((None, ()), ("Rows were matched.", ("Rows were matched.",))):
        found = side_by_side(FINE, BAD, why="no ids", matching=matching)
        assert found.premises == ("Shared.", *more, "b: Of its own.")


def test_the_tables_have_a_dash_for_what_is_not_known():
    found = side_by_side(FINE, UNBOUNDED, why="no ids", aucs=(0.8, None))
    facts = {name: row for name, *row in found.facts()}
    assert facts["in the population, at most"] == ["2.4", "-"]
    assert facts["area under the ROC curve"] == ["0.800", "-"]
    assert facts["direction of the error"] == ["none shown", "too high"]
    assert found.measures() == [("a measure", "0.2500", "-")]
    assert found.title == "a and b"


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("weight", [None, np.ones(4)])
@pytest.mark.parametrize(
    ("n", "level", "enough"), [(2, 0.05, 199), (2, 0.001, 2_000), (3, 0.05, 199), (8, 0.05, 1_120), (3, 0.01, 600)]
)
def test_every_pair_is_tested_with_what_was_asked(monkeypatch, own, weight, n, level, enough):
    """Of k pairs the smallest corrected p-value is k / (resamples + 1): twice as many as it takes to reject."""
    taken = {}

    def take(*arguments, **options):
        taken.update(options, arguments=arguments)
        check_resamples(options["n_resamples"], options["level"])  # as the comparison does: else it is not made
        return "compared"

    monkeypatch.setattr(comparison, "compare_calibration", take)
    monkeypatch.setattr(comparison, "compare_all", take)
    names, groups = "abcdefgh"[:n], np.arange(4)
    same = _SameRows([(Y, V), *[(OTHER, V)] * (n - 1)], [groups] * n, 4 if own else None)
    found = _test(names, same, level, 7, weight, outcome_free=True)
    assert found == (("compared", None) if n == 2 else (None, "compared"))
    assert (taken["n_resamples"], taken["level"], taken["random_state"]) == (enough, level, 7)
    assert taken["groups"] is groups
    assert ("items" in taken) is own
    assert ("sample_weight" in taken) == ("outcome_free_weights" in taken) == (weight is not None)
    outcomes, *rest = taken["arguments"]
    if n == 2:
        assert len(rest) == 2
        assert outcomes is Y
        assert taken["y_true_b"] is (OTHER if own else None)
    else:
        assert (list(outcomes) == list(names) and outcomes["b"] is OTHER) if own else outcomes is Y
        assert list(rest[0]) == list(names)
    assert _test("ab", _SameRows([(Y, V)] * 2, []), level, 7, weight, outcome_free=True)[0] == "compared"
    assert taken["groups"] is None


@pytest.mark.parametrize(
    ("why", "n_resamples", "rates", "idle"),
    [(None, 0, True, False), ("no ids", 0, False, True), ("no ids", 39, True, True), ("no ids", 39, False, False)],
)
def test_a_seed_is_refused_where_nothing_is_drawn(why, n_resamples, rates, idle):
    of = {"classes": None, "n_groups": None, "weighted": False, "road": None}
    audits = (SimpleNamespace(n_resamples=n_resamples, rates=rates, **of),)
    found = SimpleNamespace(not_compared=why, audits=audits)
    refuse_idle_draws(found, ["n_resamples"])
    refuse_idle_draws(found, None)
    if idle:
        with pytest.raises(InputError, match="random_state: has no effect"):
            refuse_idle_draws(found, ["random_state"])
    else:
        refuse_idle_draws(found, ["random_state"])
