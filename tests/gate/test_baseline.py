"""The gate's baseline: what it may be, which of its rows are FILE's, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calibrant import CalibrationSketch, InputError, Interval
from calibrant.door.identity import identities
from calibrant.door.request import Listener
from calibrant.door.rows import Rows
from calibrant.gate import checks
from calibrant.gate.checks import _Compared, _matched, _side, check_opened
from calibrant.gate.request import GateRequest
from calibrant.gate.result import NOTHING
from calibrant.inference.comparison.not_worse import NotWorse
from calibrant.tables import entry

pytestmark = pytest.mark.usefixtures("one_database")

RNG = np.random.default_rng(0)
V = RNG.integers(1, 32, 120) / 32
Y = (RNG.random(120) < V) * 1.0
REQUEST = GateRequest(y_true="y", y_prob="v", max_distance=0.3, baseline="before.csv")


def compared(y, v, *, log=False, n_excluded=0, **columns):
    """What was read of a table of these rows with columns of ids."""
    table = SimpleNamespace(
        columns=["y", "v", *columns],
        is_harness_log=log,
        items=lambda name, _names, **_: list(columns[name]) if name in columns else None,
        ids_in_order=lambda _names: {"ids": np.arange(len(y), dtype=np.uint64), "ids_name": "id"},
        claims=lambda names, read: ("claims", names, read),
    )
    read = SimpleNamespace(y_true=y, y_prob=v, n_excluded=n_excluded)
    return _Compared(table, {} if log else {"y_true": "y", "y_prob": "v"}, read, _side(read))


IDS = [f"i{k}" for k in range(120)]
TURNED = slice(None, None, -1)


def matched(before, *, of=None, asked=None):
    return _matched(compared(Y, V) if of is None else of, before, replace(REQUEST, **asked or {}), "before.csv")


def test_rows_of_the_same_items_are_turned_into_the_order_of_file():
    side, same, said = matched(compared(Y[TURNED], V[TURNED], id=IDS[TURNED]), of=compared(Y, V, id=IDS))
    assert same
    assert (side.rows.y_true.tolist(), side.rows.y_prob.tolist()) == (Y.tolist(), V.tolist())
    assert said == "Rows were matched by column id: all 120 rows of each of FILE and before.csv."
    given = {"items": "who"}
    side, same, said = matched(compared(Y[TURNED], V[TURNED], who=IDS[TURNED]), of=compared(Y, V, who=IDS), asked=given)
    assert (same, side.rows.y_true.tolist()) == (True, Y.tolist())
    assert said.startswith("Rows were matched by column who: ")
    side, same, said = matched(compared(1 - Y, V), asked={"items": "in order"})  # of other outcomes
    assert (same, side.rows.y_true.tolist()) == (True, (1 - Y).tolist())
    assert said.startswith("Rows were matched in order, as was said (items): ")


@pytest.mark.parametrize(
    ("before", "of", "asked", "said"),
    [
        (compared(Y, V), None, {}, "Rows were matched in order, for outcomes are the same row by row: all 120 rows"),
        (
            compared(Y[TURNED], V[TURNED]),
            None,
            {},
            "Rows of before.csv are taken as others than those of FILE. If both are of the same items, say --items "
            "COLUMN, a column of ids, or --items 'in order'.",
        ),
        (compared(Y[TURNED], V[TURNED], log=True), None, {}, "say --items 'in order'."),
        (compared(Y[TURNED], V[TURNED]), None, {"distinct": True}, None),
        (compared(Y, V), None, {"distinct": True}, None),
    ],
)
def test_rows_that_are_not_turned_are_the_baselines_own(before, of, asked, said):
    side, same, found = matched(before, of=of, asked=asked)
    assert side is before.side
    assert not same
    assert (found is None) == (said is None)
    assert said is None or said in found


@pytest.mark.parametrize("most", [119, 120])
def test_of_more_rows_than_are_resampled_none_are_matched(monkeypatch, most):
    """Nor of a sketch so large."""
    monkeypatch.setattr(checks, "MOST_RESAMPLED", most)
    before = compared(Y, V)
    side, same, said = matched(before)
    assert (side is before.side, same) == (True, False)
    assert (said is None) == (most < 120)
    summed = _side(CalibrationSketch().update(Y, V))
    assert (summed.rows is None) == (most < 120)
    now = replace(before, side=replace(before.side, rows=None))
    for one, other in ((now, before), (before, now)):
        assert matched(other, of=one) == (other.side, False, None)


@pytest.mark.parametrize(
    ("before", "of", "asked", "argument", "said"),
    [
        (
            compared(Y[TURNED], V[TURNED], who=IDS[:60] * 2),
            compared(Y, V, who=IDS[:60] * 2),
            {"items": "who"},
            "items",
            "have several rows of one who, which may depend on one another; a baseline takes independent ones; "
            "calibrant audit FILE before.csv --items who compares them by groups",
        ),
        (compared(Y, V), None, {"items": "in order"}, "items", "have no effect: outcomes are the same, row by row"),
        (
            compared(Y[TURNED], V[TURNED], id=[*IDS[:30], *(f"other{k}" for k in range(90))]),
            compared(Y, V, id=IDS),
            {},
            "baseline",
            "30 of 120 values of column id of before.csv stand in FILE too; keep the rows of the same items in both "
            "files; --distinct says that all rows are other ones",
        ),
    ],
)
def test_items_that_cannot_be_matched_are_refused(before, of, asked, argument, said):
    with pytest.raises(InputError) as caught:
        matched(before, of=of, asked=asked)
    assert caught.value.argument == argument
    assert said in str(caught.value)


def test_a_sketch_is_compared_by_its_cells_and_rows_by_all_that_tells_them():
    sketch = CalibrationSketch(64).update(Y, V)
    side = _side(sketch)
    order = np.lexsort((Y, V))
    assert (side.rows.y_prob.tolist(), side.rows.y_true.tolist()) == (V[order].tolist(), Y[order].tolist())
    assert side.moved == sketch.error_bound("smooth_calibration_error")
    assert side.sample.count.sum() == 120
    of_rows = compared(Y, V)
    assert (of_rows.side.moved, of_rows.side.rows.y_prob.tolist()) == (0.0, V.tolist())
    assert replace(of_rows, read=sketch).claims() == ("claims", of_rows.names, sketch)
    ids = {"ids": np.arange(120, dtype=np.uint64), "ids_name": "id"}
    assert of_rows.claims() == tuple(identities(Y, V, **ids)) != tuple(identities(Y, V))
    assert compared(Y, V, n_excluded=1).claims() == tuple(identities(Y, V))  # whose ids are of all its rows


def gated(path, **asked):
    table = entry.open_table(str(path), distinct=asked.get("distinct", False))
    return check_opened(table, GateRequest(**{"max_distance": 0.3, **asked}), Listener())


def written(path, rows, **columns):
    pd.DataFrame({"y_true": Y[rows], "y_prob": V[rows], **columns}).to_csv(path, index=False)
    return path


FIRST, LAST = slice(0, 60), slice(60, 120)
WORSE = NotWorse("within", "b", 0.1, Interval(-0.1, 0.05), 0.05, 60, 60, None, "two samples")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two halves of the rows as files, and sketches of them; nothing is redrawn or fitted."""
    written(tmp_path / "now.csv", FIRST)
    written(tmp_path / "before.csv", LAST)
    days = [CalibrationSketch().update(Y[each], V[each]) for each in (FIRST, LAST)]
    sums = {
        "before": days[1],
        "both": CalibrationSketch.merge(days),
        "distinct": CalibrationSketch.merge([days[1], CalibrationSketch().update([1], [0.5])], distinct=True),
        "weighed": CalibrationSketch().update(Y[FIRST], V[FIRST], sample_weight=V[FIRST] + 1.0),
    }
    for name, sketch in sums.items():
        (tmp_path / f"{name}.sketch").write_bytes(sketch.to_bytes())
    classes = {"p0": 1.0 - V[FIRST], "p1": 0.75 * V[FIRST], "p2": 0.25 * V[FIRST]}
    pd.DataFrame({"y_true": Y[FIRST].astype(int), **classes}).to_csv(tmp_path / "classes.csv", index=False)
    ways = []
    monkeypatch.setattr("calibrant.gate.asides.asides", lambda *_, **__: NOTHING)
    monkeypatch.setattr(checks, "not_worse", lambda *_, **__: replace(WORSE, way=ways[0] if ways else "two samples"))
    return SimpleNamespace(at=lambda name: str(tmp_path / name), ways=ways)


@pytest.mark.parametrize(
    ("now", "before", "asked", "said"),
    [
        ("now.csv", "both.sketch", {}, r"baseline: 'both.sketch' and FILE share about 60 rows, predictions and all"),
        (
            "now.csv",
            "classes.csv",
            {},
            r"baseline: .* one of it and FILE holds probabilities of classes, the other single",
        ),
        (
            "classes.csv",
            "now.csv",
            {},
            r"baseline: .* one of it and FILE holds probabilities of classes, the other single",
        ),
        ("weighed.sketch", "before.csv", {}, r"baseline: takes rows without weights, and the sketches hold weights"),
        ("now.csv", "now.csv", {}, r"baseline: .* is FILE itself, or a part of it, which is never worse than itself"),
    ],
)
def test_what_can_be_no_baseline_is_refused(files, now, before, asked, said):
    with pytest.raises(InputError, match=said):
        gated(files.at(now), baseline=files.at(before), **asked)


def test_sums_with_weights_are_in_no_segments(tmp_path):
    days = [CalibrationSketch().update(Y[each], V[each], sample_weight=V[each] + 1.0) for each in (FIRST, LAST)]
    held = {"sketch": [each.to_bytes() for each in days], "n_rows": [60, 60], "day": ["a", "b"]}
    pd.DataFrame(held).to_parquet(tmp_path / "days.parquet")
    for most in (None, 2.0):  # whatever is said to bound them: one road names the other
        with pytest.raises(InputError, match=r"^by: takes rows without weights, and the sketches hold weights"):
            gated(tmp_path / "days.parquet", by=("day",), max_weight=most)


@pytest.mark.parametrize("most", [None, 2.0])
@pytest.mark.parametrize("weight", [np.full(Y.size, 2.0), V + 1.0])
def test_sums_with_weights_are_refused_alike_with_and_without_their_bound(tmp_path, weight, most):
    said = "takes rows without weights, and the sketches hold weights; gate all rows by --max-distance and --max-weight"
    held, plain = tmp_path / "weighed.sketch", tmp_path / "plain.sketch"
    held.write_bytes(CalibrationSketch().update(Y, V, sample_weight=weight).to_bytes())
    plain.write_bytes(CalibrationSketch().update(Y[FIRST], V[FIRST]).to_bytes())
    for file, asked, option in (
        (held, {"baseline": str(plain)}, "baseline"),
        (plain, {"baseline": str(held)}, "baseline"),
        (held, {"max_regret": 0.2, "max_distance": None}, "max_regret"),
    ):
        with pytest.raises(InputError) as told:
            gated(file, max_weight=most, **asked)
        assert told.value.argument == option
        assert said in str(told.value)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    ("weight", "name", "words"),
    [
        (V + 1.0, "weighted", "Rows are weighted (sample_weight)"),
        (np.full(Y.size, 2.0), "equal_weights", "Rows have equal weights (sample_weight)"),
        (np.where(Y == 1, 1.0, 2.0), "weighted", "Weights (sample_weight) have one value for each outcome"),
        (None, "", ""),
    ],
)
def test_a_gate_of_sketches_says_what_weights_they_hold(tmp_path, weight, name, words, keyed):
    parts = [FIRST, LAST] if keyed else [slice(None)]
    days = [
        CalibrationSketch().update(Y[each], V[each], sample_weight=None if weight is None else weight[each])
        for each in parts
    ]
    held = {"sketch": [each.to_bytes() for each in days], "n_rows": [each.n_rows for each in days]}
    held |= {"day": ["a", "b"]} if keyed else {}
    pd.DataFrame(held).to_parquet(tmp_path / "days.parquet")
    premises = gated(tmp_path / "days.parquet", max_weight=None if weight is None else 2.0).premises
    said = premises.entries.get("weights", "")
    assert said.startswith(words) if words else not said
    assert {each for each in ("weighted", "equal_weights") if getattr(premises, each)} == ({name} if name else set())


@pytest.mark.parametrize(
    ("before", "distinct", "premises"),
    [
        ("before.csv", False, {"baseline": "before.csv", "n_rows_baseline": 60, "distinct": False}),
        ("before.csv", True, {"baseline": "before.csv", "n_rows_baseline": 60, "distinct": True}),
        ("before.sketch", False, {"baseline": "before.sketch", "n_rows_baseline": 0, "distinct": False}),
        ("distinct.sketch", False, {"baseline": "distinct.sketch", "distinct": True}),
        ("both.sketch", True, {"baseline": "both.sketch", "distinct": True}),
    ],
)
def test_what_a_gate_with_a_baseline_takes_as_given(files, before, distinct, premises):
    found = gated(files.at("now.csv"), baseline=files.at(before), distinct=distinct)
    assert [check.kind for check in found.checks] == ["rows", "baseline"]
    assert {name: getattr(found.premises, name) for name in premises} == premises
    taken = found.premises.matching
    assert (taken is None) == distinct
    assert distinct or taken.startswith(f"Rows of {before} are taken as others than those of FILE.")


def test_where_proved_ends_are_compared_nothing_is_said_of_items(files):
    files.ways.append("proved")
    found = gated(files.at("now.csv"), baseline=files.at("before.csv"))
    assert found.premises.matching is None
    with pytest.raises(InputError, match=r"^items: has no effect: the proved ends of both errors are compared"):
        gated(files.at("now.csv"), baseline=files.at("before.csv"), items="in order")


@pytest.mark.parametrize("way", ["items", "paired"])
def test_rows_of_a_baseline_are_not_compared_with_those_of_file_where_items_are(files, way):
    files.ways.append(way)
    assert gated(files.at("now.csv"), baseline=files.at("both.sketch")).checks[1].result.way == way


def test_rows_one_by_one_are_their_own_sample():
    rows = Rows.of(Y, V)
    side = _side(SimpleNamespace(y_true=Y, y_prob=V))
    assert side.sample.prediction.tolist() == rows.sample.prediction.tolist()
    assert side.rows.y_true.tolist() == Y.tolist()
