"""What a gate and an audit of tables refuse, and by which name, before a number is made of it."""

import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import CalibrationGate, CalibrationSketch, InputError
from calibrant.door.errors import FileError
from calibrant.door.request import AuditRequest, Listener
from calibrant.findings import parts
from calibrant.findings import tables as of_audit
from calibrant.findings.tables import keep_rows
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
