"""No function is handed a larger level than the one that was given: neither twice it, nor a default in its place."""

import sys
import threading

import numpy as np
import pandas as pd
import pytest

from calibrant import (
    SegmentRecalibrator,
    audit,
    audit_table,
    calibration_gate,
    calibration_test,
    choose_recalibrator,
    clinical_calibration,
    compare_calibration,
    find_segments,
)
from calibrant.door.request import Listener
from calibrant.drift import calibration_drift
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.inference import (
    bootstrap_bounds,
    compare_all,
    corp_regions,
    population_bounds,
    regret_bounds,
)
from calibrant.segments import calibration_by_segment
from calibrant.tables.frames import OpenedFrame

LEVEL = 0.03125  # less than any default
N = 600
CHECKS = ("calibrant.door.arguments", "calibrant.segments.request")  # of defaults too, where a gate reads its options


def rows(power=1.6, n=N):
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 2.0, n)
    frame = pd.DataFrame({"y_true": (rng.random(n) < p**power) * 1, "y_prob": p, "part": rng.integers(0, 3, n)})
    return frame.assign(day=np.arange(n) // (n // 6), unit=np.arange(n) // 2, load=1.0 + rng.random(n))


def larger(work):
    """Functions of the package that `work` hands a larger level, with the level."""
    found, before = {}, sys.getprofile()

    def look(frame, event, arg):
        code, where = frame.f_code, frame.f_globals.get("__name__", "")
        if event == "call" and where.startswith("calibrant.") and where not in CHECKS:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            level = frame.f_locals.get("level") if "level" in names else None
            if isinstance(level, float) and level > LEVEL * (1.0 + 1e-9):
                found[f"{where}.{code.co_qualname}"] = level
        if before is not None:
            before(frame, event, arg)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return found


NAMES = {"y_true": "y_true", "y_prob": "y_prob"}
FEW = {"level": LEVEL, "n_resamples": 99, "random_state": 0}


def of_classes():
    rng, n = np.random.default_rng(0), 200
    table = rng.dirichlet(np.ones(3), n)
    sharp = table**1.7 / (table**1.7).sum(axis=1, keepdims=True)
    return (rng.random(n)[:, None] > np.cumsum(table, axis=1)).sum(axis=1), sharp


def gate(frame, **options):
    return check_opened(OpenedFrame(frame), GateRequest(level=LEVEL, **options), Listener())


CALLS = {
    "audit": lambda f: audit(f.y_true, f.y_prob, **FEW),
    "groups": lambda f: audit(f.y_true, f.y_prob, groups=f.unit, max_weight=2.0, **FEW),
    "weights": lambda f: audit(f.y_true, f.y_prob, sample_weight=f.load, max_weight=2.0, **FEW),
    "sampled": lambda f: audit(f.y_true, f.y_prob, sampling_fractions={0: 0.5, 1: 1.0}, **FEW),
    "classes": lambda _: audit(*of_classes(), **FEW),
    "parts": lambda f: audit_table(f, by="part", drift="day", find=["part"], **FEW),
    "parts in groups": lambda f: audit_table(f, by="part", find=["part"], groups="unit", max_weight=2.0, **FEW),
    "audit without an error": lambda f: audit(rows(1.0).y_true, f.y_prob, **FEW),
    "audit of a small error": lambda f: audit(rows(1.15).y_true, f.y_prob, **FEW),
    "gate that passes": lambda _: gate(rows(1.0), max_distance=0.2),
    "gate of groups that passes": lambda _: gate(rows(1.0), groups="unit", max_weight=2.0, max_distance=0.3),
    "gate of weights": lambda f: gate(f, sample_weight="load", max_weight=2.0),
    "regret of weights": lambda f: regret_bounds(f.y_true, f.y_prob, sample_weight=f.load, max_weight=2.0, level=LEVEL),
    "regret at a threshold": lambda f: regret_bounds(
        f.y_true, f.y_prob, sample_weight=f.load, max_weight=2.0, threshold=0.3, level=LEVEL
    ),
    "gate of a threshold": lambda f: gate(f, max_regret=0.1, threshold=0.3),
    "test": lambda f: calibration_test(f.y_true, f.y_prob, **FEW),
    "map": lambda f: choose_recalibrator(f.y_true, f.y_prob, level=LEVEL),
    "map of groups": lambda f: choose_recalibrator(f.y_true, f.y_prob, groups=f.unit, level=LEVEL),
    "map of classes": lambda _: choose_recalibrator(*of_classes(), level=LEVEL),
    "comparison": lambda f: compare_calibration(f.y_true, f.y_prob, f.y_prob**1.5, **FEW),
    "items": lambda f: compare_calibration(f.y_true, f.y_prob, f.y_prob**1.5, y_true_b=f.y_true[::-1].array, **FEW),
    "all pairs": lambda f: compare_all(f.y_true, {"a": f.y_prob, "b": f.y_prob**1.5, "c": f.y_prob**2}, **FEW),
    "gate": gate,
    "gate of groups": lambda f: gate(f, groups="unit", max_weight=2.0),
    "gate of parts": lambda f: gate(f, by=("part",)),
    "gate of regret": lambda f: gate(f, max_regret=0.1),
    "gate that finds": lambda f: gate(f, find=("part",)),
    "bound": lambda f: calibration_gate(f.y_true, f.y_prob, max_distance=0.05, level=LEVEL),
    "population": lambda f: population_bounds(f.y_true, f.y_prob, level=LEVEL),
    "bootstrap": lambda f: bootstrap_bounds(f.y_true, f.y_prob, **FEW),
    "regret": lambda f: regret_bounds(f.y_true, f.y_prob, level=LEVEL),
    "regions": lambda f: corp_regions(f.y_true, f.y_prob, **FEW),
    "panel": lambda f: clinical_calibration(f.y_true, f.y_prob, **FEW),
    "segments": lambda f: calibration_by_segment(f, **NAMES, by="part", level=LEVEL),
    "segments of weights": lambda f: calibration_by_segment(f, **NAMES, by="part", sample_weight="load", level=LEVEL),
    "search": lambda f: find_segments(f, **NAMES, features=["part"], **FEW),
    "search in groups": lambda f: find_segments(f, **NAMES, features=["part"], groups="unit", **FEW),
    "drift": lambda f: calibration_drift(f, **NAMES, by="day", level=LEVEL),
    "repair": lambda f: SegmentRecalibrator("y_prob", features=["part"], level=LEVEL).fit(f[:200], f.y_true[:200]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_no_function_is_handed_a_larger_level(name):
    assert larger(lambda: CALLS[name](rows())) == {}
