"""The level that a public function is given is the level that every function below it is given."""

import inspect
import math
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import calibrant
from calibrant import InputError, inference
from calibrant.decisions.curve import acting_from_sample
from calibrant.door.request import Listener
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.gate.checks import check_opened, check_state
from calibrant.gate.request import GateRequest
from calibrant.inference.bounds.corp import corp_regions_on_rows
from calibrant.inference.comparison.compare import compare_calibration_on_rows, compare_items_on_rows
from calibrant.report.html import bars, document
from calibrant.segments.gate_bounds import read_to_bound
from calibrant.segments.request import Search
from calibrant.tables import frames
from calibrant.tables.frames import OpenedFrame
from tests.public import FUNCTIONS
from tests.test_arguments import EXTRA

RNG = np.random.default_rng(0)
N = 400
V = np.round(RNG.random(N), 2)
Y = (RNG.random(N) < V**1.3).astype(int)
KINDS = {
    "rows": {},
    "groups": {"groups": np.repeat(np.arange(N // 4), 4), "max_weight": 4},
    "weights": {"sample_weight": RNG.uniform(1.0, 2.0, N), "max_weight": 2},
    "trials": {"trials": RNG.integers(1, 4, N), "max_weight": 3},
}
LEVEL = 0.16
# Parts of the level that each of several claims has: ends of bounds, a search and what it leaves, one of three classes;
# and advice, which is surer than the answer.
PARTS = (1.0, 1 / 5, 1 / 45, 99 / 100, 1 / 100, 1 / 3, 1 / 10)
# Of two checks each has half of the level for "beyond" and all of it for "within".
HALVED = {"lower_end": [1 / 2], "bounded": [1 / 2], "Totals.population_intervals": [1 / 2, 6]}
# The panel's sentence is of two tests by Holm's correction: it reads the line once more, at half of the level.
OF_TWO = {("_Line.of", LEVEL / 2), ("Cases.normal_quantile", LEVEL / 2), ("_as_if_rarer", LEVEL / 2)}
IN_HALVES = ("gate, find", "gate, find, within", "gate, find, groups", "gate, baseline")
# What is said without a level, and a search that nobody asked for.
WITHOUT = {("_needed", 1.0), ("__init__", 0.05), ("check_level", 0.05), ("check_resamples", 0.05)}
TABLE = pa.table(
    {
        "y": Y,
        "p": V,
        "place": np.where(np.arange(N) % 3 == 0, "a", "b"),
        "day": np.arange(N) // 100,
        "who": np.arange(N) // 4,
    }
)
NAMES = {"y_true": "y", "y_prob": "p"}
CLASSES = RNG.integers(0, 3, N), RNG.dirichlet(np.ones(3), N)
MORE = {**EXTRA, "two_sample_calibration_test": {"n_resamples": 449}}
DRAWN = {"n_resamples": 39, "random_state": 0}


def handed_on(call):
    """Which functions take a level, and which, while something is called; and the level of what it returns."""
    found = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and (
            "/src/calibrant/" in code.co_filename or code.co_filename == "<string>"
        ):  # of dataclasses
            for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
                if name in ("level", "alpha") and isinstance(frame.f_locals[name], float):
                    found.add((code.co_qualname.rpartition(".<locals>.")[2], frame.f_locals[name]))

    sys.setprofile(note)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return found | {("the result", getattr(result, "level", LEVEL))}


def columns_of(name):
    """Calls of a function of outcomes and predictions, one for each kind of rows that it takes."""
    function = FUNCTIONS[name]
    takes = inspect.signature(function).parameters
    drawn = {option: value for option, value in DRAWN.items() if option in takes}
    for kind, options in KINDS.items():
        more = {option: value for option, value in options.items() if option in takes}
        if more or not options:
            more |= drawn | MORE.get(name, {})
            yield f"{name}, {kind}", lambda more=more: function(Y, V, level=LEVEL, **more)


def viewed(found):
    """What shows an audit."""
    return bars(found), found.summary(), str(found), document(found), found.to_dict()


MORE_TABLE = TABLE.append_column("q", pa.array(np.sqrt(V))).append_column("r", pa.array(V**2))
SKETCH = calibrant.CalibrationSketch().update(Y, V, sample_weight=KINDS["weights"]["sample_weight"])


def gated_table(columns=("y", "p", "place"), **options):
    request = GateRequest(**NAMES, level=LEVEL, **{"max_distance": 0.1, **options})
    return check_opened(OpenedFrame(WEIGHTED.select(list(columns))), request, Listener()).summary()


def gated_sums(**options):
    opened = OpenedFrame(pl_lazy().select(["y", "p"]))
    return check_opened(opened, GateRequest(**NAMES, level=LEVEL, **options), Listener()).summary()


def gated_classes():
    """Of three classes the top label passes, so that single ones are looked at."""
    rows = [np.tile(np.eye(3)[k] * 0.7 + 0.1, (N, 1)) for k in range(3)]
    table, label = np.concatenate(rows), np.concatenate([RNG.choice(3, N, p=each[0]) for each in rows])
    columns = {"label": label, **{f"p{k}": table[:, k] for k in range(3)}}
    request = GateRequest(y_true="label", max_distance=0.4, level=LEVEL)
    return check_opened(OpenedFrame(pa.table(columns)), request, Listener()).summary()


WEIGHTED = TABLE.append_column("w", pa.array(KINDS["weights"]["sample_weight"]))
OF_WEIGHTS = {"columns": ("y", "p", "w"), "sample_weight": "w", "max_weight": 2.0}
OF_GROUPS = {"columns": ("y", "p", "place", "who"), "groups": "who", "max_weight": 4.0}


def with_file(call):
    """A call in a folder of its own, with the table as a file there."""
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(TABLE.select(["y", "p"]), Path(folder, "rows.parquet"))
        return call(Path(folder))


def with_state(folder):
    state = folder / "gate.state"
    return gated_table(("y", "p"), anytime=state), check_state(state, level=LEVEL).summary()


def searched(lazy, **names):
    opened = OpenedFrame(pl_lazy() if lazy else TABLE)
    held = read_to_bound(opened, {**NAMES, **names}, Search(level=LEVEL, features=("place",), **DRAWN))
    return held.called_off(Search(level=LEVEL, **DRAWN))


def pl_lazy():
    import polars as pl

    return pl.from_arrow(TABLE).lazy()


def monitored():
    monitor = calibrant.CalibrationMonitor(level=LEVEL)
    return [monitor.update(Y[k : k + 50], V[k : k + 50]) for k in range(0, N, 50)], monitor.to_dict()


def gated():
    gate = calibrant.CalibrationGate(max_distance=0.1, level=LEVEL)
    return [gate.reading(), *(gate.update(Y[k : k + 50], V[k : k + 50]) for k in range(0, N, 50))][-1]


def displayed():
    model = LogisticRegression().fit(V[:, None], Y)
    calibrant.ReliabilityDisplay.from_predictions(Y, V, level=LEVEL)
    return calibrant.ReliabilityDisplay.from_estimator(model, V[:, None], Y, level=LEVEL)


CALLS = {
    **dict(
        each
        for name, function in FUNCTIONS.items()
        if [*inspect.signature(function).parameters][:2] == ["y_true", "y_prob"]
        and "level" in inspect.signature(function).parameters
        and not {"canonical", "class"} & set(name.split("_"))
        for each in columns_of(name)
    ),
    "audit, shown": lambda: viewed(calibrant.audit(Y, V, level=LEVEL, **DRAWN)),
    "audit, classes": lambda: viewed(calibrant.audit(*CLASSES, level=LEVEL, **DRAWN)),
    "audit, table": lambda: viewed(
        calibrant.audit_table(
            TABLE.drop(["who"]), **NAMES, by=["place"], drift="day", find=["place", "day"], level=LEVEL, **DRAWN
        )
    ),
    "audit, groups": lambda: calibrant.audit_table(
        TABLE, **NAMES, by=["place"], drift="day", find=["place"], groups="who", level=LEVEL, **DRAWN
    ),
    "audit, sketch": lambda: calibrant.CalibrationSketch().update(Y, V).audit(level=LEVEL).summary(),
    "gate, sketch": lambda: calibrant.CalibrationSketch().update(Y, V).gate(max_distance=0.1, level=LEVEL),
    "test, sketch": lambda: calibrant.CalibrationSketch().update(Y, V).test(level=LEVEL),
    "gate, by": lambda: check_opened(
        OpenedFrame(TABLE.select(["y", "p", "place"])),
        GateRequest(**NAMES, max_distance=0.1, level=LEVEL, by=("place",)),
        Listener(),
    ),
    "segments": lambda: calibrant.calibration_by_segment(TABLE, by=["place"], level=LEVEL, **NAMES),
    "segments, groups": lambda: calibrant.calibration_by_segment(
        TABLE, by=["place"], groups="who", level=LEVEL, **NAMES
    ),
    "drift": lambda: calibrant.calibration_drift(TABLE, by="day", level=LEVEL, **NAMES),
    "drift, reference": lambda: calibrant.calibration_drift(TABLE, by="day", reference=0, level=LEVEL, **NAMES),
    "drift, groups": lambda: calibrant.calibration_drift(TABLE, by="day", groups="who", level=LEVEL, **NAMES),
    "search": lambda: calibrant.find_segments(TABLE, level=LEVEL, features=["place"], **NAMES, **DRAWN).summary(),
    "search, groups": lambda: calibrant.find_segments(
        TABLE, level=LEVEL, features=["place"], groups="who", **NAMES, **DRAWN
    ).summary(),
    "gate, find": lambda: gated_table(find=("place",)),
    "gate, find, within": lambda: gated_table(find=("place",), max_distance=0.45),
    "gate, find, groups": lambda: gated_table(find=("place",), **OF_GROUPS),
    "gate, by groups": lambda: gated_table(by=("place",), **OF_GROUPS),
    "gate, groups, within": lambda: gated_table(max_distance=0.9, **OF_GROUPS),
    "gate, weights": lambda: gated_table(**OF_WEIGHTS),
    "gate, regret": lambda: gated_table(("y", "p"), max_regret=0.1, max_distance=None),
    "gate, regret, weights": lambda: gated_table(max_regret=0.1, max_distance=None, **OF_WEIGHTS),
    "gate, sums": lambda: gated_sums(max_distance=0.1),
    "gate, regret, sums": lambda: gated_sums(max_regret=0.1),
    "gate, baseline": lambda: with_file(lambda f: gated_table(("y", "p"), baseline=str(f / "rows.parquet"))),
    "gate, classes": lambda: gated_classes(),
    "gate, state": lambda: with_file(with_state),
    "weighted sketch": lambda: (
        SKETCH.gate(max_distance=0.1, max_weight=2.0, level=LEVEL).summary(),
        SKETCH.test(max_weight=2.0, outcome_free_weights=True, level=LEVEL, n_resamples=39),
        SKETCH.audit(max_weight=2.0, level=LEVEL).summary(),
        SKETCH.audit(outcome_free_weights=True, level=LEVEL, **DRAWN),
    ),
    "two forecasts": lambda: calibrant.audit_table(MORE_TABLE, y_true="y", y_prob=["p", "q"], level=LEVEL, **DRAWN),
    "forecasts": lambda: calibrant.audit_table(MORE_TABLE, y_true="y", y_prob=["p", "q", "r"], level=LEVEL, **DRAWN),
    "audit, reference": lambda: calibrant.audit_table(
        TABLE.drop(["who", "place"]), **NAMES, drift="day", reference=0, level=LEVEL, **DRAWN
    ),
    "band, groups": lambda: calibrant.decision_curve(Y, V, groups=KINDS["groups"]["groups"]).band(level=LEVEL, **DRAWN),
    "test, certain": lambda: inference.calibration_test(Y, Y.astype(float), level=LEVEL, **DRAWN),
    "search, lazy": lambda: calibrant.find_segments(pl_lazy(), level=LEVEL, features=["place"], **NAMES, **DRAWN),
    "search, to bound": lambda: searched(lazy=False),
    "search, sums": lambda: searched(lazy=True),
    "pair": lambda: calibrant.compare_calibration(Y, V, np.sqrt(V), level=LEVEL, **DRAWN).summary(),
    "pairs": lambda: inference.compare_all(Y, {"a": V, "b": np.sqrt(V), "c": V**2}, level=LEVEL, **DRAWN),
    "pairs, items": lambda: compare_items_on_rows(
        [Rows.of(Y, V), Rows.of(Y, np.sqrt(V))], measure="smooth_calibration_error", level=LEVEL, **DRAWN
    ),
    "two samples": lambda: compare_calibration_on_rows(
        Rows.of(Y, V), Rows.of(Y[:300], V[:300]), paired=False, measure="smooth_calibration_error", level=LEVEL, **DRAWN
    ),
    "regions, fractions": lambda: corp_regions_on_rows(
        Rows.of(Y, V, sampling_fractions={0: 0.5, 1: 1.0}), level=LEVEL, **DRAWN
    ),
    "regret, cost": lambda: FUNCTIONS["regret_bounds"](Y, V, **KINDS["weights"], threshold=0.3, level=LEVEL),
    "squared error": lambda: inference.squared_error_interval(0.01, 10**6, 10, level=LEVEL),
    "squared error, rows": lambda: inference.squared_error_rows(0.1, 10, level=LEVEL),
    "canonical": lambda: inference.canonical_kernel_test(*CLASSES, level=LEVEL, **DRAWN),
    "choose, light": lambda: calibrant.choose_recalibrator(Y, V, sample_weight=np.geomspace(1e60, 1.0, N), level=LEVEL),
    "choose, constant": lambda: calibrant.choose_recalibrator(Y[::-1], V, level=LEVEL),
    "choose, classes": lambda: calibrant.choose_recalibrator(*CLASSES, level=LEVEL),
    "classes": lambda: inference.class_wise_test(*CLASSES, level=LEVEL),
    "acting": lambda: acting_from_sample(
        Sample.of_arrays(Y.astype(float), V, None), SimpleNamespace(threshold=0.3, level=LEVEL), 39, 0
    ),
    "band": lambda: calibrant.decision_curve(Y, V).band(level=LEVEL, **DRAWN),
    "repair": lambda: calibrant.SegmentRecalibrator("p", level=LEVEL, cv=2).fit(TABLE.select(["p", "place"]), Y),
    "monitor": monitored,
    "gate, anytime": gated,
    "displays": displayed,
}


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("call", CALLS)
def test_the_level_is_handed_on_as_it_is_or_a_share_of_it(call, monkeypatch):
    monkeypatch.setattr(frames, "MANY_ROWS", 0)
    try:
        found = handed_on(CALLS[call])
    except InputError as problem:  # rows of this kind are refused
        assert problem.argument in ("groups", "sample_weight", "trials", "y_true", "y_prob")  # noqa: PT017
        return
    found -= WITHOUT
    if call.startswith("clinical_calibration"):
        assert found >= OF_TWO
        found -= OF_TWO
    if call in IN_HALVES:
        for name in {name for name, _ in found} & {*HALVED}:
            own = {each for each in found if each[0] == name}
            assert sorted(each / LEVEL for _, each in own) == pytest.approx(HALVED[name])
            found -= own
        found -= {("__init__", LEVEL / 2)}  # of the bounds of all segments
    assert max(each for _, each in found) == LEVEL
    assert {each for each in found if not any(math.isclose(each[1], LEVEL * part) for part in PARTS)} == set()


def test_no_public_function_with_a_level_is_left_out():
    said = Path(__file__).read_text()
    with_level = {name for name, function in FUNCTIONS.items() if "level" in inspect.signature(function).parameters}
    assert {
        name for name in with_level if f"{name}(" not in said and name not in {c.split(",")[0] for c in CALLS}
    } == set()
