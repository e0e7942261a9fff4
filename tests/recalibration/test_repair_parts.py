"""Parts of a repair by segment: what its columns are, what it says, and which corrections stay."""

from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calibrant import InputError, Interval
from calibrant.recalibration import SegmentRecalibrator
from calibrant.recalibration.by_segment import corrections, estimator
from calibrant.recalibration.by_segment.corrections import Fitting
from calibrant.recalibration.by_segment.table import Cut, FeatureTable, _of_array, same_columns

TABLE = pd.DataFrame({"y_prob": [0.2, 0.4], "country": ["de", "fr"], "device": ["a", "b"], "age": [1.0, 2.0]})
DAY = np.datetime64("2024-02-29", "D")


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (np.array(["2024-02-29", "NaT"], "M8[s]"), np.array([DAY, np.datetime64("NaT")], "M8[us]")),
        (np.array([DAY, DAY], "M8[ns]"), np.array([DAY, DAY], "M8[us]")),
        (np.array([1, 2], "m8[ns]"), "holds times of day, durations, or times of a time zone"),
        (np.array([1, 2], "m8[s]"), "holds times of day, durations, or times of a time zone"),
        (np.array([1j, 2.0]), r"holds complex numbers \(Complex data not supported\)"),
        (np.array([2**53 - 1, 1]), np.array([2.0**53 - 1.0, 1.0])),
        (np.array([2**53, 1]), r"holds whole numbers beyond 2\*\*53"),
        (np.array([2.0**60, np.inf]), np.array([2.0**60, np.finfo(float).max])),
        (np.array([True, False]), np.array(["True", "False"], object)),
        (np.array(["a", None], object), np.array(["a", None], object)),
        (np.array([1, None], object), np.array([1.0, np.nan])),
        (np.array([None, None], object), np.array([None, None], object)),
        (np.array([date(2024, 2, 29), None], object), np.array([DAY, np.datetime64("NaT")], "M8[us]")),
        (np.array([True, "b"], object), np.array(["True", "b"], object)),
        (np.array([True, "True"], object), "holds True as well as the text 'True'"),
    ],
)
def test_a_column_of_an_array_is_numbers_days_or_texts(column, found):
    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            _of_array(column, "k")
        return
    values = _of_array(column, "k")
    assert values.dtype.kind == found.dtype.kind
    if found.dtype == object:
        assert values.tolist() == found.tolist()
    else:
        np.testing.assert_array_equal(values, found)


def test_a_list_of_texts_and_numbers_stays_what_it_is():
    """NumPy makes texts of all of them; and a table of texts alone has no numbers to keep."""
    mixed = FeatureTable.of([[0.5, "a"], [0.25, "b"]])
    np.testing.assert_array_equal(mixed.values(0), [0.5, 0.25])
    assert mixed.values(1).tolist() == ["a", "b"]
    assert FeatureTable.of(np.array([["0.5", "a"]])).values(0).tolist() == ["0.5"]


@pytest.mark.parametrize(
    ("table", "named", "fitted", "said"),
    [
        (np.zeros((2, 3)), False, 3, None),
        (np.zeros((2, 1)), False, 3, "X: X has 1 feature, but Repair is expecting 3 features as input"),
        (np.zeros((2, 3)), True, 3, "X: has no names for its columns, but Repair was fitted to columns with names"),
        (TABLE, True, 3, None),
        (TABLE, False, 4, None),
        (TABLE, False, 3, "X: X has 4 features, but Repair is expecting 3 features as input"),
    ],
)
def test_columns_are_like_those_of_the_fit(table, named, fitted, said):
    features = FeatureTable.of(table)
    if said is None:
        found = same_columns(features, fitted, named, "Repair")
        assert found.names == (features.names if named else tuple(range(fitted)))
        assert found.named is named
    else:
        with pytest.raises(InputError, match=f"^{said}"):
            same_columns(features, fitted, named, "Repair")


BETTER = estimator.RepairScore("segments", 0.2, 0.5, "global", Interval(0.01, 0.03), True)


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (estimator.RepairScore("global", 0.25, 0.6), "global: log score 0.6, Brier score 0.25."),
        (
            estimator.RepairScore("global", 0.25, 0.6, None, Interval(0.0, 1.0)),
            "global: log score 0.6, Brier score 0.25.",
        ),
        (BETTER, "log score 0.5, Brier score 0.2; better than global beyond chance (between 0.01 and 0.03 lower"),
        (replace(BETTER, kept=False), "segments: log score 0.5, Brier score 0.2; not better than global beyond chance"),
    ],
)
def test_a_score_says_whether_it_is_kept(score, said):
    assert said in score.summary()
    stored = [score.method, score.brier, score.log, score.simpler, None, score.kept]
    stored[4] = None if score.gain_interval is None else list(score.gain_interval)
    assert estimator.read_score(stored, "scores") == score
    with pytest.raises(InputError, match="both ends of an interval"):
        estimator.read_score([*stored[:4], [0.1], stored[5]], "scores")


@pytest.mark.parametrize(
    ("chosen", "scores", "said"),
    [
        ("unchanged", (), "Leave the predictions unchanged: auto found nothing to correct by features."),
        (
            "unchanged",
            (
                ("unchanged", 0.6, None, True),
                ("segments", 0.59, "unchanged", False),
                ("boosting", 0.61, "unchanged", False),
            ),
            "Leave the predictions unchanged: no correction by features is better beyond chance (log score 0.6; "
            "segments 0.59).",
        ),
        (
            "unchanged",
            (
                ("unchanged", 0.6, None, True),
                ("segments", 0.5, "unchanged", True),
                ("boosting", 0.45, "segments", False),
            ),
            "Leave the predictions unchanged: corrections by features were better on parts of the rows, but a fit "
            "to all rows found none (log score 0.6; boosting 0.45).",
        ),
        (
            "segments",
            (("unchanged", 0.6, None, True), ("segments", 0.5, "unchanged", True)),
            "Net corrections of log-odds by segment: none. Log score on rows left out 0.5 after 0.6 of unchanged, "
            "lower by between 0.01 and 0.03.",
        ),
    ],
)
def test_a_summary_says_what_was_chosen_and_why(monkeypatch, chosen, scores, said):
    monkeypatch.setattr(SegmentRecalibrator, "corrections_", ())
    repair = SegmentRecalibrator()
    repair.chosen_, repair.recalibrator_ = chosen, None
    gain = Interval(0.01, 0.03)
    repair.scores_ = tuple(
        estimator.RepairScore(name, 0.2, log, before, gain if before else None, kept)
        for name, log, before, kept in scores
    )
    assert repair.summary() == said


def test_a_repair_without_names_or_with_trees_has_no_names_and_no_json():
    repair = SegmentRecalibrator()
    assert not hasattr(repair, "feature_names_in_")
    repair._columns = None
    assert not hasattr(repair, "feature_names_in_")
    repair._columns = ("p", "k")
    assert repair.feature_names_in_.tolist() == ["p", "k"]
    repair.chosen_, repair._trees = "boosting", SimpleNamespace(n_trees=3)
    assert repair.n_trees_ == 3
    with pytest.raises(
        InputError, match="method: is boosted trees, which are not saved as JSON; pickle and joblib keep"
    ):
        repair.to_json()


def test_the_score_is_minus_the_weighted_brier_score():
    v = np.array([0.2, 0.6, 0.9])
    table = pd.DataFrame({"y_prob": v, "k": ["a", "b", "a"]})
    repair = SegmentRecalibrator()
    repair.chosen_, repair.recalibrator_, repair._columns, repair.n_features_in_ = "unchanged", None, ("y_prob", "k"), 2
    repair._cuts = [[SimpleNamespace(name="y_prob"), SimpleNamespace(name="k")]]
    assert repair.score(table, [0, 1, 1]) == pytest.approx(-(0.04 + 0.16 + 0.01) / 3)
    assert repair.score(table, [0, 1, 1], sample_weight=[1, 2, 1]) == pytest.approx(-(0.04 + 0.32 + 0.01) / 4)


@pytest.mark.parametrize("group", [None, np.zeros(60, int), np.arange(60) // 30])
def test_trees_are_fitted_where_groups_leave_rows_out(monkeypatch, group):
    monkeypatch.setattr(estimator, "fit_boosted", lambda *each: len(each[3]))
    rows = SimpleNamespace(group=group, outcome=np.arange(60) % 2, weight=None)
    cuts = SimpleNamespace(features=None)
    found = estimator.Candidates(rows, cuts, [], np.zeros((60, 1)), None).boosting(np.arange(60), np.zeros(60))
    assert found == (5 if group is None else {1: None, 2: 2}[np.unique(group).size])


@pytest.mark.parametrize(
    ("change", "n_parts", "n_blocks"),
    [({}, 1, 1), ({"_price": lambda *_: 1e9}, 0, 0), ({"MOST_PARTS": 0}, 0, 0), ({"_SETTLED": 1e9}, 1, 0)],
)
def test_a_correction_stays_where_it_is_worth_its_price_and_moves_rows(monkeypatch, change, n_parts, n_blocks):
    """Of 400 rows predicted 1/2 those of one cell have three events of four: moved to log 3, and no part more."""
    for name, value in change.items():
        monkeypatch.setattr(corrections, name, value)
    settled = []
    monkeypatch.setattr(corrections, "_without_nested", lambda _, *each: settled.append(len(each[2])) or each)
    cell = np.repeat([0, 1], 200)
    outcome = np.r_[np.tile([0.0, 1.0], 100), np.tile([0.0, 1.0, 1.0, 1.0], 50)]
    cut = [Cut("p", np.empty(0), None), Cut("k", None, ("a", "b"))]
    rows = Fitting(np.zeros(400), outcome, np.ones(400))
    shift, blocks = corrections.fit_corrections(rows, [[np.zeros(400, int), cell]], [cut])
    assert settled == [n_parts] * bool(n_parts)
    assert len(blocks) == n_blocks
    if blocks:
        moved = corrections.corrected(rows.offset, shift, blocks, [[np.zeros(400, int), cell]], [cut])
        assert moved[-1] == pytest.approx(np.log(3.0), abs=0.1)
        assert moved[0] == pytest.approx(0.0, abs=0.1)
