"""What a gate and an audit of tables refuse, and by which name, before a number is made of it."""

import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import CalibrationGate, CalibrationSketch, InputError
from calibrant.door.columns import FINITE, NOT_SWAPPED
from calibrant.door.errors import FileError
from calibrant.door.request import AuditRequest, Listener
from calibrant.findings import faults, parts
from calibrant.findings import tables as of_audit
from calibrant.findings.hints import say_excluded
from calibrant.findings.tables import Audited, _check_drift, keep_rows, names_of
from calibrant.gate.anytime import gate_so_far
from calibrant.gate.checks import check_opened, check_state
from calibrant.gate.request import GateRequest
from calibrant.tables import entry
from calibrant.tables.entry import open_table

pytestmark = pytest.mark.usefixtures("one_database")


def asking(**options):
    return GateRequest(**{"max_distance": None, "level": 0.05, **options})


RNG = np.random.default_rng(0)
V = RNG.integers(1, 64, 400) / 64
Y = (RNG.random(400) < V).astype(int)


@pytest.fixture
def rows(tmp_path):
    columns = {"y_true": Y, "y_prob": V, "weight": np.full(400, 2.0), "place": np.where(V > 0.5, "n", "s")}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def classes(tmp_path):
    table = np.stack([V, (1 - V) / 2, (1 - V) / 2], axis=1)
    columns = {"y_true": Y, **{f"prob_{k}": table[:, k] for k in range(3)}}
    pq.write_table(pa.table(columns), tmp_path / "classes.parquet")
    return tmp_path / "classes.parquet"


@pytest.mark.parametrize(
    ("asked", "argument", "said"),
    [
        ({"anytime": "s"}, "anytime", "needs --max-distance: a state is for one limit, chosen before its first rows"),
        (
            {"anytime": "s", "time": "t", "event": "e", "horizon": 2.0, "groups": "g"},
            "horizon",
            "cannot be used with --anytime: the share that is followed is estimated anew each time; groups cannot be "
            "used with --anytime: it assumes independent rows; anytime needs --max-distance",
        ),
        (
            {"max_distance": 0.1, "anytime": "s", "by": ("a",), "find": ("b",)},
            "by",
            "cannot be used with --anytime: it adds up the rows of one population; nor can find",
        ),
        ({"max_distance": 0.1, "max_regret": 0.1}, "max_distance", "is given beside --max-regret"),
        ({"max_distance": 0.1, "threshold": 0.2}, "threshold", "needs --max-regret"),
        ({"max_regret": 0.1, "anytime": "s"}, "anytime", "needs --max-distance"),
        ({"max_distance": 0.1, "anytime": "s", "trials": "n"}, "trials", "cannot be used with --anytime"),
        ({"max_distance": 0.1, "anytime": "s", "groups": "g"}, "groups", "cannot be used with --anytime"),
        ({"max_distance": 0.1, "trials": "n", "sample_weight": "w"}, "sample_weight", "cannot be used with --trials"),
        ({"max_distance": 0.1, "max_weight": 0.0}, "max_weight", "is 0.0"),
        ({"max_distance": 0.0}, "max_distance", "is 0.0"),
        ({"max_distance": 0.1, "level": 0.6}, "level", "is 0.6"),
        ({"max_regret": 1.0}, "max_regret", "is 1.0"),
        ({"max_regret": 0.1, "threshold": 1.5}, "threshold", "is 1.5"),
    ],
)
def test_what_can_be_no_gate_is_refused_before_anything_is_read(asked, argument, said):
    with pytest.raises(InputError) as told:
        asking(**asked)
    assert (told.value.argument, told.value.problem.startswith(said)) == (argument, True)


def test_what_can_be_one_is_taken():
    for asked in (
        {},
        {"max_distance": 0.1, "anytime": "s", "distinct": True},
        {"max_regret": 0.1, "threshold": 0.2},
        {"max_distance": 0.1, "trials": "n"},
        {"max_distance": 0.1, "groups": "g", "max_weight": 3.0},
    ):
        assert asking(**asked).level == 0.05


def refused(call, argument, said):
    with pytest.raises(InputError) as told:
        call()
    assert told.value.argument == argument
    assert said in told.value.problem


def test_classes_and_sketches_have_no_columns_for_options_of_rows(classes, rows, tmp_path):
    for option in ("by", "find"):
        asked = asking(max_distance=0.1, **{option: ("y_true",)})
        refused(
            lambda asked=asked: check_opened(open_table(classes), asked, Listener()),
            option,
            "is for single predictions",
        )
        audit = AuditRequest(**{option: ("y_true",)})
        refused(
            lambda audit=audit: of_audit.audit_opened(open_table(classes), audit, Listener()),
            option,
            "is for single predictions",
        )
    sketch = tmp_path / "kept.parquet"
    keep_rows(open_table(rows), sketch, AuditRequest(unweighted=True), Listener())
    for option in ("groups", "pos_label"):
        asked = asking(max_distance=0.1, **{option: "place"})
        with pytest.raises(InputError) as told:
            check_opened(open_table(sketch), asked, Listener())
        assert told.value.argument in (option, "max_weight")
    refused(
        lambda: keep_rows(open_table(sketch), tmp_path / "again.parquet", AuditRequest(), Listener()),
        "FILE",
        "holds sketches already",
    )
    refused(
        lambda: keep_rows(open_table(classes), tmp_path / "of.parquet", AuditRequest(), Listener()),
        "y_prob",
        "names columns of classes",
    )


def test_weights_need_their_bound_and_a_bound_needs_weights(rows, tmp_path, monkeypatch):
    refused(
        lambda: check_opened(open_table(rows), asking(max_distance=0.1, max_weight=None), Listener()), "max_weight", ""
    )
    plain = tmp_path / "plain.parquet"
    pq.write_table(pq.read_table(rows).select(["y_true", "y_prob"]), plain)
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    audit = AuditRequest(max_weight=2.0)
    refused(lambda: of_audit.audit_opened(open_table(plain), audit, Listener()), "max_weight", "has no effect")
    groups = AuditRequest(groups="place")
    refused(lambda: of_audit.audit_opened(open_table(rows), groups, Listener()), "groups", "does not tell groups apart")


def test_a_period_is_compared_only_where_there_are_periods():
    refused(lambda: AuditRequest(reference="2020"), "reference", "is one of the periods")
    assert AuditRequest(reference="2020", drift="day").reference == "2020"


@pytest.mark.slow
def test_the_state_of_a_gate_is_what_it_was_begun_with(tmp_path, rows):
    state = tmp_path / "state"
    refused(lambda: gate_so_far(state), "--anytime", "does not exist")
    plain = tmp_path / "plain.parquet"
    pq.write_table(pq.read_table(rows).select(["y_true", "y_prob"]), plain)
    asked = asking(max_distance=0.1, anytime=state)
    check_opened(open_table(plain), asked, Listener())
    same = check_state(state, max_distance=0.1)
    assert same.checks[0].result == check_state(state).checks[0].result == gate_so_far(state)[0].result
    assert same.premises == gate_so_far(state)[1]
    for name, value in (("max_distance", 0.2), ("level", 0.01), ("max_weight", 2.0)):
        refused(lambda name=name, value=value: check_state(state, **{name: value}), name, "was begun with")
    for other, name in (
        (asking(max_distance=0.2, anytime=state), "max_distance"),
        (asking(max_distance=0.1, level=0.01, anytime=state), "level"),
        (asking(max_distance=0.1, max_weight=2.0, anytime=state), "max_weight"),
    ):
        refused(lambda other=other: check_opened(open_table(plain), other, Listener()), name, "was begun with")
    refused(lambda: check_opened(open_table(plain), asked, Listener()), "FILE", "nothing was added")
    copy = shutil.copy(plain, tmp_path / "copy.parquet")
    twice = check_opened(open_table(copy), asking(max_distance=0.1, anytime=state, distinct=True), Listener())
    assert twice.checks[0].result.n_rows == 800
    state.write_bytes(b"no state")
    for call in (lambda: gate_so_far(state), lambda: check_opened(open_table(plain), asked, Listener())):
        with pytest.raises(FileError) as told:
            call()
        assert told.value.argument == "--anytime"


def test_a_gate_of_sketches_is_that_of_their_sum():
    parts = [CalibrationSketch().update(Y[k::2], V[k::2]) for k in range(2)]
    gate = CalibrationGate(max_distance=0.3)
    for part in parts:
        gate.update_sketch(part)
    assert gate.reading().n_rows == 400


def test_columns_that_were_read_make_no_segments_but_those_of_strata_do(monkeypatch):
    columns = {"y_true": "y", "y_prob": "p", "strata": "site", "groups": "patient"}
    audit, made = SimpleNamespace(columns=columns, n_groups=2), []
    monkeypatch.setattr(parts, "_with_segments", lambda _table, names, found, _request: made.append(names) or found)
    listener = SimpleNamespace(stage=lambda _: None)

    def asked(by=(), drift=None):
        request = SimpleNamespace(by=by, find=(), drift=drift)
        return parts.in_parts(SimpleNamespace(), audit, request, listener)

    assert asked() is audit
    assert made == []
    assert asked(["site"]) is audit
    assert made == [{"y_true": "y", "y_prob": "p", "strata": "site"}]
    for name, argument in (("y", "y_true"), ("p", "y_prob"), ("patient", "groups")):
        with pytest.raises(InputError, match=f"by: names '{name}', the column that was read as {argument}"):
            asked(["site", name])
    with pytest.raises(InputError, match="drift: names 'p', the column that was read as y_prob"):
        asked(drift="p")


SINGLE = SimpleNamespace(fractions=(0.5, 1.0), group=None)


@pytest.mark.parametrize(
    ("drift", "names", "rows", "reference", "argument", "said"),
    [
        (None, {"sample_weight": "w"}, None, None, None, None),
        ("day", {}, None, None, None, None),
        ("day", {"sample_weight": "w"}, None, None, "sample_weight", "column 'w' cannot be used with periods of drift"),
        ("day", {"sample_weight": "w"}, SINGLE, None, None, None),
        (
            "day",
            {"sample_weight": "w"},
            SimpleNamespace(fractions=None, group=None),
            None,
            "sample_weight",
            "column 'w' cannot be used with periods of drift",
        ),
        (
            "day",
            {"sample_weight": "w"},
            SimpleNamespace(fractions=(0.5, 1.0), group=np.zeros(2)),
            None,
            "sample_weight",
            "column 'w' cannot be used with periods of drift",
        ),
        (
            "day",
            {"sample_weight": "w"},
            SINGLE,
            "2024",
            "reference",
            "cannot be used with weights of sampling by outcome",
        ),
    ],
)
def test_weights_are_refused_with_drift_but_for_those_of_sampling(drift, names, rows, reference, argument, said):
    request = SimpleNamespace(drift=drift, reference=reference)
    if argument is None:
        _check_drift(request, names, rows)
        return
    with pytest.raises(InputError, match=said) as caught:
        _check_drift(request, names, rows)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("by", "names"), [(None, ()), ("a", ("a",)), (["a", "b"], ("a", "b")), (b"a", None), (3, None)]
)
def test_columns_are_asked_for_by_one_name_or_several(by, names):
    if names is None:
        with pytest.raises(InputError, match=r"by: is .*; it must be the name of a column, or several"):
            names_of(by, "by")
    else:
        assert names_of(by, "by") == names


@pytest.mark.parametrize(
    ("columns", "change", "single"),
    [(None, {}, "rows"), ("ypw", {}, "yp"), ("ypw", {"trials": True}, "rows"), ("ypw", {"rates": True}, "rows")],
)
def test_single_rows_are_those_that_were_read_as_such(columns, change, single):
    audit = SimpleNamespace(**{"trials": False, "rates": False, "sampling_fractions": None} | change)
    found = Audited(audit, rows="rows", columns=None if columns is None else tuple(columns))
    assert found.single == (tuple(single) if single == "yp" else "rows")
    assert found.weight == (None if columns is None else "w")


def test_rows_that_were_sampled_by_outcome_weigh_by_their_fractions():
    audit = SimpleNamespace(trials=False, rates=False, sampling_fractions=(0.5, 1.0))
    y = np.array([0.0, 1.0])
    assert Audited(audit, columns=(y, y, None)).weight.tolist() == [2.0, 1.0]
    assert Audited(audit, columns=(y, y, "w")).weight == "w"
    assert Audited(audit).weight is None


@pytest.mark.parametrize(
    ("problem", "n_files", "said"),
    [
        (InputError("y_prob", "is 2", row=3), 1, "y_prob: column 'p', rows counted from 0: is 2"),
        (InputError("y_prob", "is 2", row=3), 2, "y_prob: column 'p', rows "),
        (InputError("y_prob", "is text"), 1, "y_prob: column 'p': is text"),
        (InputError("max_weight", "row 3 (from 0) is more", row=3), 1, r"max_weight: row 3 \(from 0\) is more"),
        (InputError("max_weight", "row 3 (from 0) is more", row=3), 2, r"max_weight: row 3 \((?!from 0\))"),
        (
            InputError("y_true", "x", allowed=NOT_SWAPPED),
            1,
            "y_true: columns 'y' and 'p' look swapped: as y_prob, 'p' is 0",
        ),
    ],
)
def test_a_problem_of_a_table_names_its_column_and_how_rows_are_counted(problem, n_files, said):
    names = {"y_true": "y", "y_prob": "p"}
    with pytest.raises(InputError, match=said):
        raise faults.in_table(problem, SimpleNamespace(n_files=n_files), names)


@pytest.mark.parametrize(
    ("argument", "y_prob", "ways"),
    [("y_prob", "a,b", True), ("y_prob", "a", False), ("y_prob", None, False), ("y_true", "a,b", False)],
)
def test_columns_that_are_listed_together_may_be_forecasts(argument, y_prob, ways):
    problem = InputError(argument, "rows do not add up to 1")
    found = faults.or_several(problem, y_prob)
    assert (found is not problem) is ways
    assert ("forecasts to compare are a list of names" in str(found)) is ways


@pytest.mark.parametrize(("allowed", "ways"), [(FINITE, True), ("it must be a date", False)])
def test_rows_without_a_finite_number_may_be_left_out(allowed, ways):
    problem = InputError("y_prob", "is NaN", row=3, allowed=allowed)
    found = faults.or_left_out(problem)
    assert (found is not problem) is ways
    assert ("exclude_bad=True leaves such rows out" in str(found)) is ways
    request = SimpleNamespace(trials=False, horizon=None, sampling_fractions=None)
    assert str(faults.of_columns(problem, request)) == str(found)
    at_horizon = SimpleNamespace(trials=False, horizon=1.0, sampling_fractions=None)
    assert faults.of_columns(InputError("y_true", "is NaN"), at_horizon).argument == "event"


def test_strata_need_rows_and_a_value_in_each():
    request = SimpleNamespace(horizon=1.0, strata=("site",), by=(), least_followed=None)
    table = SimpleNamespace(require=lambda *_: None, summed=True, ranks=lambda *_: np.array([0, -1]))
    with pytest.raises(InputError, match="strata: cannot be used with a table that is read lazily; collect it first"):
        parts.at_horizon(table, None, None, request)
    table.summed = False
    with pytest.raises(InputError, match="strata: ") as caught:
        parts.at_horizon(table, None, None, request)
    assert caught.value.row == 1
    request.strata = ("site", "sex")
    with pytest.raises(InputError, match=r"strata \(site\): "):
        parts.at_horizon(table, None, None, request)


def test_segments_have_no_sizes_where_every_outcome_is_known():
    assert parts.Population(None, None, None).sizes(["site"], None) == {}


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, False),
        ({"sample_weight": "w"}, True),
        ({"sample_weight": "w", "max_weight": 2.0}, False),
        ({"groups": "g"}, True),
        ({"groups": "g", "max_weight": 2.0}, False),
    ],
)
def test_a_limit_of_classes_needs_the_most_that_one_can_weigh(monkeypatch, given, refused):
    monkeypatch.setattr(of_audit, "audit_classes", lambda *_, **__: "audited")
    monkeypatch.setattr(of_audit, "replace", lambda audit, **_: audit)
    monkeypatch.setattr(of_audit, "hints_of", lambda *_: {})
    names = ["a", "b", "c"]
    columns = {name: [0.2, 0.3, 0.5] if name != "c" else [0.6, 0.4, 0.0] for name in names}
    columns |= {"w": [1.0, 2.0, 1.0]} if "sample_weight" in given else {}
    table = pa.table({**columns, "y": [0, 1, 2], "g": [0, 0, 1]})  # groups of one row are none
    request = AuditRequest(y_true="y", max_distance=0.1, n_resamples=39, explicit=frozenset({"max_distance"}), **given)
    opened = open_table(table)
    if refused:
        with pytest.raises(InputError, match="max_distance: has no effect: of rows with weights, trials or groups"):
            of_audit._audit_of_classes(opened, names, request, Listener())
    else:
        assert of_audit._audit_of_classes(opened, names, request, Listener()) == "audited"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, []),
        (1, ["Left out 1 row that is null, no number, NaN or out of range."]),
        (2, ["Left out 2 rows that are null, no numbers, NaN or out of range."]),
    ],
)
def test_rows_that_are_left_out_are_counted_and_none_is_no_sentence(number, said):
    notes, premises = [], {}
    say_excluded(number, SimpleNamespace(note=notes.append, premise=premises.__setitem__))
    assert notes == said
    assert premises == {"n_excluded": number}
