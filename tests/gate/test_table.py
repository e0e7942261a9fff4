"""The gate of a table: which of its columns are used, what is said of them, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calibrant import CalibrationSketch, InputError, calibration_gate
from calibrant.door.request import Listener
from calibrant.door.sample import Sample
from calibrant.findings.word_catalogue import LABELS
from calibrant.gate import checks
from calibrant.gate import table as gate_table
from calibrant.gate.checks import _refuse_itself, check_opened
from calibrant.gate.request import GateRequest, Provenance
from calibrant.gate.result import NOTHING, Check
from calibrant.gate.table import (
    _refuse_two_classes,
    _refuse_weights,
    _say_not_looked_at,
    _say_odd,
    decided,
    of_units,
    with_limit,
)
from calibrant.inference.bounds.regret import regret_bounds
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import KeptSketches

RNG = np.random.default_rng(0)
V = RNG.integers(1, 32, 120) / 32
Y = (RNG.random(120) < V) * 1
W = RNG.integers(1, 4, 120) * 1.0
FRAME = pd.DataFrame({"y_true": Y, "y_prob": V})
REQUEST = GateRequest(max_distance=0.3)


def told():
    """A listener, and all that it is told."""
    of = SimpleNamespace(premises={}, notes=[], hints=[], stages=[])
    listener = Listener(of.stages.append, of.notes.append, of.premises.__setitem__)
    return replace(listener, hint=of.hints.append), of


def gated(table, **asked):
    opened = KeptSketches.of(table) if isinstance(table, CalibrationSketch) else open_table(table)
    return check_opened(opened, GateRequest(**{"max_distance": 0.3, **asked}), Listener())


def columns(names, ranks=(0, 1, 2), *, summed=False):
    return SimpleNamespace(columns=names, summed=summed, ranks=lambda _name, _option: np.array(ranks))


GROUPED = GateRequest(max_distance=0.3, groups="id", explicit=frozenset({"groups", "level"}))


@pytest.mark.parametrize(
    ("table", "asked", "alone"),
    [
        (columns(["id"]), {}, True),
        (columns(["id"]), {"explicit": None}, True),
        (columns(["other"]), {}, False),
        (columns(["id"], summed=True), {}, False),
        (columns(["id"]), {"by": ("id",)}, False),
        (columns(["id"]), {"find": ("id",)}, False),
        (columns(["id"]), {"max_weight": 2.0}, False),
        (columns(["id"], ranks=(0, -1, 1)), {}, False),
        (columns(["id"], ranks=(0, 1, 1)), {}, False),
    ],
)
def test_groups_of_one_row_each_are_no_groups_where_nothing_says_how_large_they_are(table, asked, alone):
    request = replace(GROUPED, **asked)
    found = of_units(table, request)
    assert found.groups == (None if alone else "id")
    if not alone:
        assert found is request
    else:
        assert found.explicit == (None if request.explicit is None else {"level"})


def test_premises_name_the_column_of_groups_that_are_rows(monkeypatch):
    monkeypatch.setattr("calibrant.gate.asides.asides", lambda *_, **__: NOTHING)
    frame = FRAME[:30].assign(id=np.arange(30))
    alone, grouped = gated(frame), gated(frame, groups="id")
    assert "groups" not in alone.premises.columns
    assert grouped.premises.columns == {"y_true": "y_true", "y_prob": "y_prob", "groups": "id"}
    assert grouped.rows == alone.rows
    assert not grouped.premises.grouped


@pytest.mark.parametrize(
    ("asked", "said", "can"),
    [
        ({}, ("place", "w", "who"), True),
        ({"unweighted": True}, ("place", "who"), True),  # weights were left out on purpose
        ({"by": ("place",)}, ("w", "who"), True),
        ({"find": ("who",)}, ("place", "w"), True),
        ({"find": ("all",)}, None, None),
        ({"items": "who", "baseline": "b.csv"}, ("place", "w"), True),
        ({"trials": "w"}, ("place", "w", "who"), False),
        ({"max_distance": None, "max_regret": 0.1}, ("place", "w", "who"), False),
        ({"anytime": "state"}, ("place", "w", "who"), False),
    ],
)
def test_columns_that_nothing_looks_at_are_named_with_what_looks_at_them(monkeypatch, asked, said, can):
    seen = []
    monkeypatch.setattr(
        gate_table, "searchable", lambda _table, names, rest, exclude_bad: seen.append((names, exclude_bad)) or rest
    )
    monkeypatch.setattr(gate_table, "may_hold_weights", "w".__eq__)
    table = SimpleNamespace(columns=["y", "v", "place", "w", "who"], choose_classes=lambda _: None)
    request = SimpleNamespace(**{**dict.fromkeys(("y_prob", "items", "trials", "max_regret", "anytime")), "by": (),
                                 "find": (), "unweighted": False, "exclude_bad": False, **asked})  # fmt: skip
    listener, of = told()
    _say_not_looked_at(table, {"y_true": "y", "y_prob": "v"}, request, listener)
    if said is None:
        assert (of.premises, of.hints, seen) == ({}, [], [])
        return
    assert of.premises == {"not_looked_at": said, "searchable": can}
    assert of.hints == [
        f"Columns not looked at: {', '.join(said)}{'; --find all gates the segments that they make' if can else ''}."
    ]
    assert seen == [({"y_prob": "v"}, False)]


@pytest.mark.parametrize("rest", [(), ("place",)])
def test_of_classes_the_other_columns_are_named_and_not_searched(monkeypatch, rest):
    seen = []
    monkeypatch.setattr(gate_table, "searchable", lambda _table, names, *_, **__: seen.append(names) or rest)
    table = SimpleNamespace(columns=["y", "p0", "p1", "p2", "place"], choose_classes=lambda _: ["p0", "p1", "p2"])
    listener, of = told()
    _say_not_looked_at(table, {"y_true": "y"}, REQUEST, listener)
    assert seen == [{"y_prob": "p0"}]
    assert of.premises == ({"not_looked_at": rest, "searchable": False} if rest else {})
    assert of.hints == (["Columns not looked at: place."] if rest else [])


def choosing(answer):
    """A table whose columns are chosen so."""

    def choose(*, y_true, y_prob):
        asked.append((y_true, y_prob))
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(names=answer)

    asked = []
    return SimpleNamespace(choose=choose, asked=asked)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"y_true": "y", "y_prob": "v"}, None),
        (InputError("y_prob", "there are several columns of predictions"), None),  # which reading says
        ({"y_true": "y", "sample_weight": "w"}, "column 'w' holds weights, and the proof needs a bound on them"),
        (InputError("sample_weight", "columns a, b may hold weights"), "columns a, b may hold weights, and the proof"),
    ],
)
@pytest.mark.parametrize("classes", [None, ["p0", "p1", "p2"]])
def test_columns_of_weights_are_refused_where_nothing_bounds_them(answer, said, classes):
    table, request = choosing(answer), SimpleNamespace(y_true="y", y_prob="v")
    if said is None:
        assert _refuse_weights(table, request, classes) is None
    else:
        with pytest.raises(InputError) as caught:
            _refuse_weights(table, request, classes)
        assert caught.value.argument == "max_weight"
        assert caught.value.problem.startswith(said)
        assert "--sample-weight and --max-weight N" in caught.value.allowed
        assert "--unweighted" in caught.value.allowed
    assert table.asked == [("y", "v" if classes is None else "p0")]


def test_probabilities_of_two_classes_are_one_probability():
    for fine in (None, ["p0"], ["p0", "p1", "p2"]):
        _refuse_two_classes(fine)
    with pytest.raises(InputError, match=r"y_prob: columns 'no' ... 'yes' are probabilities .* with --y-prob yes"):
        _refuse_two_classes(["no", "yes"])


@pytest.mark.parametrize(
    ("y", "v", "w", "n_trials", "notes"),
    [
        ([0, 1, 1], [0.0, 1.0, 0.5], None, None, []),
        ([0, 1, 1], [0.0, 1.0, 1.0], None, None, [LABELS]),
        ([1, 1, 1], [0.2, 0.4, 0.5], None, None, ["All 3 outcomes are 1: nothing but events."]),
        ([0, 0], [0.2, 0.4], None, None, ["All 2 outcomes are 0: no event."]),
        ([0], [0.2], None, None, ["There is one row, and its outcome is 0."]),
        ([0, 0], [0.2, 0.4], [1.0, 2.0], None, ["All outcomes with weight are 0: no event."]),
        ([0, 1], [0.2, 0.4], [1.0, 0.0], None, ["All outcomes with weight are 0: no event."]),
        ([1, 1], [0.2, 0.4], [2.0, 2.0], None, ["All 2 outcomes are 1: nothing but events."]),
        ([1], [0.2], [2.5], None, ["There is one row, and its outcome is 1."]),
        ([1, 1], [0.2, 0.4], [1.0, 4.0], 5, ["All 5 outcomes are 1: nothing but events."]),
    ],
)
def test_labels_and_single_outcomes_are_spoken_of(y, v, w, n_trials, notes):
    listener, of = told()
    sample = Sample.of_arrays(np.array(y, float), np.array(v), None if w is None else np.array(w))
    _say_odd(sample, 0.9, listener, n_trials=n_trials)
    assert of.notes == notes
    assert set(of.premises) == {"loose_limit"}


def rows(**more):
    """Rows that were read."""
    read = {"y_true": Y, "y_prob": V, "sample_weight": None, "groups": None, "followed": None, "classes": None}
    return SimpleNamespace(**{**read, "all_classes": None, "most_weight": lambda most: most, **more})


def test_the_limit_that_is_not_given_is_that_of_the_rows_as_they_weigh():
    rare = (np.arange(120) < 3) * 1
    heavy = np.where(rare == 1, 4.0, 1.0)
    chance, weighed = np.full(120, 0.025), np.full(120, 12 / 129)
    cases = [
        (rows(y_true=rare, y_prob=chance), {}, 0.0025),
        (CalibrationSketch().update(rare, chance), {}, 0.0025),
        (rows(y_true=rare, y_prob=weighed, sample_weight=heavy), {"sample_weight": "w", "max_weight": 4.0}, 1.2 / 129),
    ]
    for read, asked, limit in cases:
        listener, of = told()
        found = with_limit(read, GateRequest(**asked), listener)
        assert found.max_distance == pytest.approx(limit, rel=0.05)
        assert of.premises == {"max_distance": found.max_distance, "default_limit": True}
        listener, of = told()
        assert with_limit(read, replace(found, max_distance=0.3), listener).max_distance == 0.3
        assert of.premises == {}


def test_regret_of_sums_is_that_of_their_rows():
    sketch = CalibrationSketch().update(Y, V)
    alone = regret_bounds(Y, V, max_regret=0.3)
    of_rows, of_sums = (gated(each, max_distance=None, max_regret=0.3) for each in (FRAME, sketch))
    for found in (of_rows, of_sums):
        assert found.rows.summary() == alone.summary()
    assert of_rows.premises.perhaps_sampled == alone.premises.perhaps_sampled
    assert of_sums.premises.perhaps_sampled is None
    with pytest.raises(InputError, match="max_weight: is of single rows here: a bound of regret takes sums"):
        gated(sketch, max_distance=None, max_regret=0.3, max_weight=2.0)


@pytest.mark.parametrize(
    ("asked", "weighed", "single"),
    [
        ({}, {}, True),
        ({"sample_weight": "w", "max_weight": 4.0}, {"sample_weight": W}, True),
        ({"trials": "n", "max_weight": 4.0}, {"trials": W}, False),
    ],
)
def test_the_gate_of_rows_is_that_of_the_same_rows_by_their_weights(monkeypatch, asked, weighed, single):
    monkeypatch.setattr("calibrant.gate.asides.asides", lambda *_, **__: "beside")
    y = np.round(Y * W) / W
    read = rows(y_true=y, sample_weight=W if weighed else None)
    listener, of = told()
    found = decided(read, GateRequest(max_distance=0.3, **asked), listener)
    most = {"max_weight": asked["max_weight"]} if weighed else {}
    assert found.result == calibration_gate(y, V, **weighed, **most, max_distance=0.3)
    assert (found.name, found.kind, found.asides) == ("all rows", "rows", "beside")
    assert ("perhaps_sampled" in of.premises) == single
    assert ("trials_vary" in of.premises) == bool(weighed)


def test_a_gate_of_sums_is_that_of_their_rows(monkeypatch):
    monkeypatch.setattr("calibrant.gate.asides.asides", lambda *_, **__: NOTHING)
    sketch = CalibrationSketch().update(Y, V)
    found = gated(sketch)
    assert found.rows == calibration_gate(Y, V, max_distance=0.3)
    assert found.premises.columns == {}
    assert not found.premises.complete
    assert "hints" not in found.premises.to_dict() or not found.premises.hints


def test_no_baseline_is_a_part_of_file(tmp_path):
    for name in "ab":
        FRAME.to_csv(tmp_path / f"{name}.csv", index=False)
    of = {name: SimpleNamespace(sources=[str(tmp_path / f"{each}.csv") for each in name]) for name in ("a", "b", "ab")}
    _refuse_itself(of["a"], of["b"], "b.csv")
    for one, other in (("a", "a"), ("a", "ab"), ("ab", "b")):
        with pytest.raises(InputError, match=r"'x.csv' is FILE itself, or a part of it, which is never worse"):
            _refuse_itself(of[one], of[other], "x.csv")


def test_a_limit_of_either_kind_is_given_alone():
    with pytest.raises(InputError, match="max_distance: is given beside --max-regret; one of the two: the largest"):
        GateRequest(max_distance=0.1, max_regret=0.1)


@pytest.mark.parametrize(
    ("before", "later", "changes"),
    [
        ({}, {"columns": {"y_prob": "b"}, "pos_label": "yes"}, []),
        ({"columns": {"y_prob": "a"}}, {}, []),
        ({"columns": {"y_prob": "a"}}, {"columns": {"y_prob": "a", "groups": "g"}}, []),
        ({"columns": {"y_prob": "a"}}, {"columns": {"y_prob": "b"}}, [("y_prob", "column 'a'", "column 'b'")]),
        ({"pos_label": "yes"}, {"pos_label": "yes"}, []),
        ({"pos_label": "yes"}, {}, []),
        ({"pos_label": "yes"}, {"pos_label": "no"}, [("pos_label", "'yes'", "'no'")]),
    ],
)
def test_columns_and_the_label_of_a_state_may_not_change(before, later, changes):
    one, other = Provenance(**before), Provenance(**later)
    assert list(one.changes(other)) == changes
    both = one.joined(other)
    assert both.columns == {**one.columns, **other.columns}
    assert both.pos_label == (later.get("pos_label") or before.get("pos_label"))


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ({"max_distance": None, "max_regret": 0.1}, "regret_opened"),
        ({"anytime": "state"}, "gate_with"),
        ({}, "gate_opened"),
        ({"by": ("place",)}, "_with_shares"),
        ({"baseline": "before.csv"}, "_with_shares"),
        ({"find": ("all",)}, "_with_shares"),
    ],
)
def test_each_request_has_its_own_way(monkeypatch, asked, way):
    for name in ("regret_opened", "gate_with", "gate_opened", "_with_shares"):
        monkeypatch.setattr(checks, name, lambda *_, name=name: (name,) if name == "_with_shares" else name)
    found = checks._checks(None, GateRequest(**{"max_distance": 0.1, **asked}), Listener())
    (only,) = found
    assert (only.result if way == "regret_opened" else only) == way


@pytest.mark.parametrize("harness", [False, True])
def test_answers_of_a_log_were_not_chosen_by_their_outcome(monkeypatch, harness):
    def made(_table, _request, listener):
        listener.premise("perhaps_sampled", (1, 2))
        return ("a check",)

    monkeypatch.setattr(checks, "_checks", made)
    monkeypatch.setattr(checks, "is_harness_log", lambda *_: harness)
    table = SimpleNamespace(columns=[], summed=False, name=None, of_distinct=True, has_rows=True)
    for fractions in (None, {0: 0.5, 1: 1.0}):
        request = GateRequest(max_distance=0.3, sampling_fractions=fractions)
        found = check_opened(table, request, Listener())
        assert (found.title, found.checks) == ("table", ("a check",))
        told = found.premises
        assert told.perhaps_sampled == (None if harness else (1, 2))
        assert told.sampling_fractions == (None if fractions is None else (0.5, 1.0))
        assert (told.fractions_given, told.distinct, told.complete) == (fractions is not None, True, True)


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ({"by": ("place",)}, None),
        ({"find": ("who",)}, None),
        ({"find": ("all",)}, None),
        ({"baseline": "b.csv"}, "two samples"),
        ({"baseline": "b.csv"}, "proved"),
        ({"by": ("place",), "find": ("who",), "baseline": "b.csv"}, "items"),
    ],
)
def test_all_checks_share_the_level_and_are_made_in_their_order(monkeypatch, asked, way):
    required, shares, refused = {}, [], []

    def deciding(n):
        shares.append(n)
        return SimpleNamespace(verdict="within")

    def decide(_read, _request, _listener, n, limit):
        assert limit == 0.3
        return Check("all rows", "rows", deciding(n))

    compared = SimpleNamespace(way=way, same=False, max_worse=0.02, default_limit=True, verdict="within")
    changes = {
        "read_opened": lambda *_: (SimpleNamespace(), {}),
        "with_limit": lambda _read, request, _listener: request,
        "decided": decide,
        "segments_to_gate": lambda *_: ([("north", deciding), ("south", deciding)], {}),
        "_found": lambda _table, _names, _request, n: deciding(n),
        "_baseline": lambda *_: SimpleNamespace(side="before"),
        "_side": lambda _: "now",
        "_matched": lambda *_: ("turned", way == "items", "by id"),
        "_compared": lambda now, side, _name, _request, n, same_items: (
            shares.append(n) or refused.append((now, side, same_items)) or compared
        ),
        "_refuse_shared": lambda *_: refused.append("shared"),
    }
    for name, change in changes.items():
        monkeypatch.setattr(checks, name, change)
    table = SimpleNamespace(require=lambda names, option: required.update({option: tuple(names)}))
    listener, of = told()
    request = GateRequest(max_distance=0.3, **asked)
    found = checks._with_shares(table, request, listener)
    n_by, n_find, n_baseline = (bool(asked.get(name)) for name in ("by", "find", "baseline"))
    wanted = ["rows"] + ["segment"] * 2 * n_by + ["found"] * n_find + ["baseline"] * n_baseline
    assert [each.kind for each in found] == wanted
    assert shares == [len(wanted)] * len(wanted)
    assert required == {"by": request.by, "find": () if request.find == ("all",) else request.find}
    if n_baseline:
        assert refused == [("now", "turned", way == "items"), *(["shared"] if way == "two samples" else [])]
        assert of.premises["matching"] == (None if way == "proved" else "by id")
        assert (of.premises["baseline"], of.premises["max_worse"], of.premises["default_worse"]) == (
            "b.csv",
            0.02,
            True,
        )
        compared.same = True
        refused.clear()
        checks._with_shares(table, request, listener)
        assert "shared" not in refused
    else:
        assert (of.premises, refused) == ({}, [])


@pytest.mark.parametrize(
    ("asked", "columns_of", "fractions"),
    [
        ({}, (None, None), None),
        ({"sample_weight": "w", "max_weight": 4.0}, ("w", None), None),
        ({"trials": "n", "max_weight": 4.0}, (None, "w"), None),
        ({"sampling_fractions": {0: 0.5, 1: 1.0}}, (None, None), (0.5, 1.0)),
        ({"sampling_fractions": {0: 0.5, 1: 1.0}, "horizon": 1.0}, (None, None), None),  # whatever values weights have
    ],
)
def test_rows_one_by_one_are_those_that_tests_take(asked, columns_of, fractions):
    request = SimpleNamespace(**{**dict.fromkeys(("trials", "max_weight", "sampling_fractions", "horizon")), **asked})
    request.weighted = bool(asked)
    found = gate_table._rows(rows(sample_weight=W if any(columns_of) else None), request)
    weight, trials = columns_of
    assert (None if found.trials is None else found.trials.tolist()) == (None if trials is None else W.tolist())
    assert (found.weight is None) == (weight is None and not request.sampling_fractions)
    assert weight is None or found.weight.tolist() == (W / W.max()).tolist()
    assert (found.fractions and (found.fractions.without, found.fractions.events)) == fractions
    assert found.y_prob.tolist() == V.tolist()


def test_regret_of_trials_says_whether_they_vary_together(monkeypatch):
    monkeypatch.setattr(gate_table, "varies_together", lambda given: ("asked of", given.trials.tolist()))
    frame = FRAME.assign(y_true=np.round(Y * W) / W, n=W)
    found = gated(frame, max_distance=None, max_regret=0.3, trials="n", max_weight=4.0)
    assert found.premises.trials_vary == ("asked of", W.tolist())
    assert found.premises.perhaps_sampled is None
    monkeypatch.setattr(gate_table, "varies_together", None)
    assert gated(FRAME, max_distance=None, max_regret=0.3).premises.trials_vary is False


def test_segments_are_in_the_order_of_their_values_and_what_is_missing_last():
    keys = [("b", 10), ("b", None), (None, 1), ("a", 10), ("a", 9), (None, None)]
    assert sorted(keys, key=checks._in_order) == [("a", 9), ("a", 10), ("b", 10), ("b", None), (None, 1), (None, None)]
