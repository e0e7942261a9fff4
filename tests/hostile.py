"""Audits, comparisons and gates of rows that break careless code, as the JSON that is published."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import calibrant
from calibrant.door.errors import InputError
from calibrant.door.request import Listener
from calibrant.gate.checks import check_opened, check_state
from calibrant.gate.request import GateRequest
from calibrant.report.schema import gate_as_json
from calibrant.tables.entry import open_table
from tests.published import AUDIT, GATE, REGRET, Document

TITLES = [None, " ", "été 😀\u2028", '</script>"\\\x00\x1b', "\udcff"]
KEYS = {
    "whole": [0, -7, 2**62, 3],
    "truth": [True, False, None],
    "date": [dt.date(2026, 1, 31), dt.date(1, 1, 1), None],
    "time": [dt.datetime(2026, 1, 31, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31)],
    "text": ["", " ", "é中😀", "a\x00b", 'q"\\', "null", None],
    "number": [0.5, -0.0, 1e300, float("nan"), None],
    "all one": ["x"],
    "nothing": [None],
}
PREDICTIONS = {
    "any": lambda rng, n: rng.random(n),
    "denormal": lambda rng, n: rng.integers(0, 9, n) * 5e-324,
    "near 0": lambda rng, n: rng.random(n) * 10.0 ** -rng.integers(1, 308, n),
    "certain": lambda rng, n: rng.integers(0, 2, n) * 1.0,
    "equal": lambda rng, n: np.full(n, rng.choice([0.0, 5e-324, 0.3, 0.5, 1.0 - 2.0**-53, 1.0])),
    "five": lambda rng, n: rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n),
    "ulps": lambda rng, n: rng.choice([2.0**-53, 0.5, 0.5 + 2.0**-53, 1.0 - 2.0**-53], n),
    "rare": lambda rng, n: rng.beta(0.5, 100.0, n),
    "far apart": lambda rng, n: rng.choice([0.01, 0.99], n) + rng.random(n) * 1e-3,
}
OUTCOMES = {
    "drawn": lambda rng, p: rng.random(p.size) < p,
    "none": lambda _, p: p < 0.0,
    "all": lambda _, p: p >= 0.0,
    "half": lambda rng, p: rng.random(p.size) < 0.5,
    "reversed": lambda rng, p: rng.random(p.size) >= p,
}
WEIGHTS = {
    "equal": lambda _, n: np.full(n, 3.0),
    "one": lambda rng, n: np.eye(n)[rng.integers(n)],
    "wide": lambda rng, n: 10.0 ** rng.integers(-60, 60, n),
    "any": lambda rng, n: rng.exponential(size=n),
}


def audited(found):
    """A finding as a document."""
    return Document(AUDIT, found.to_json(), found.to_dict())


def gated(schema, found):
    """A gate's result as a document."""
    return Document(schema, gate_as_json(found), found.to_dict())


def drawn(rng, choices):
    """One of them by name."""
    return choices[str(rng.choice(list(choices)))]


def rows(rng, sizes=(1, 2, 3, 5, 20, 60, 200, 500)):
    """Outcomes and predictions."""
    p = drawn(rng, PREDICTIONS)(rng, int(rng.choice(sizes)))
    return drawn(rng, OUTCOMES)(rng, p) * 1.0, p


def options(rng):
    """Options that every audit takes."""
    said = {"n_resamples": int(rng.choice([0, 39, 39, 59])), "random_state": 0}
    said |= {"max_distance": float(rng.choice([1e-9, 0.02, 0.5]))} if rng.random() < 0.3 else {}
    said |= {"threshold": float(rng.choice([1e-3, 0.5, 0.99]))} if rng.random() < 0.3 else {}
    return said | ({"level": 0.1} if rng.random() < 0.2 else {})


def of_rows(rng, _):
    y, p = rows(rng)
    kind, more = str(rng.choice(["rows", "rows", "weights", "rates", "trials", "groups"])), options(rng)
    if kind == "weights":
        more["sample_weight"] = drawn(rng, WEIGHTS)(rng, y.size)
    if kind == "trials":
        more["trials"] = rng.choice([1, 1, 7, 1000], y.size)
    if kind == "groups":
        more["groups"] = rng.integers(0, max(1, y.size // 3), y.size)
    if kind in ("weights", "trials", "groups") and rng.random() < 0.5:
        more["max_weight"] = float(rng.choice([1.0, 1e3, 1e62]))
    y = rng.random(y.size) if kind == "rates" else y
    if kind == "rows" and rng.random() < 0.2:
        labels = [(False, True), (3, 7), ("", "é"), (-1.0, 1.0), ("a", "\udcff")][int(rng.integers(5))]
        y, more["pos_label"] = (
            np.array(labels, dtype=object if isinstance(labels[0], str) else None)[y.astype(int)],
            labels[1],
        )
    return audited(calibrant.audit(y, p, **more))


def of_classes(rng, _):
    n, k = [(1, 3), (2, 4), (20, 3), (60, 3), (60, 5), (200, 12), (10, 1000)][int(rng.choice(7, p=[0.15] * 6 + [0.1]))]
    table = rng.dirichlet(np.full(k, rng.choice([0.02, 1.0])), n)
    table = np.eye(k)[table.argmax(axis=1)] if rng.random() < 0.2 else table
    label = np.zeros(n, int) if rng.random() < 0.2 else (table.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    more = options(rng)
    if rng.random() < 0.2:
        more["sample_weight"] = drawn(rng, WEIGHTS)(rng, n)
    elif rng.random() < 0.2:
        more["groups"] = rng.integers(0, max(1, n // 3), n)
    return audited(calibrant.audit(np.minimum(label, k - 1), table, **more))


def frame(rng):
    """A table with keys of two kinds and with groups, now and then with bad rows, in one of several forms."""
    y, p = rows(rng, (3, 20, 60, 200, 500))
    columns = {"y": y, "p": p}
    for name in ("one", "other"):
        some = drawn(rng, KEYS)
        columns[name] = pd.Series([some[i] for i in rng.integers(len(some), size=y.size)], dtype=object)
    columns["day"] = np.sort(rng.integers(0, 6, y.size))
    columns["who"] = rng.integers(0, max(1, y.size // 4), y.size)
    table, bad = pd.DataFrame(columns), bool(rng.random() < 0.2)
    if bad:
        table.loc[0, "p"] = rng.choice([np.nan, 2.0])
    if rng.random() < 0.5:
        table = pl.DataFrame({name: pl.Series(name, list(table[name]), strict=False) for name in table})
    return table, {"y_true": "y", "y_prob": "p", "exclude_bad": bad}


def of_table(rng, _):
    table, more = frame(rng)
    more |= options(rng)
    what = rng.random(5)
    if what[0] < 0.6:
        more["by"] = ["one", "other"][: int(rng.integers(1, 3))]
    if what[1] < 0.3:
        more["find"] = ["one", "other"]
    if what[2] < 0.4:
        more["drift"] = "day"
        more |= {"reference": 0} if what[3] < 0.5 else {}
    elif what[2] < 0.6:
        more["drift"] = "one"
    if what[4] < 0.2:
        more["groups"] = "who"
        more |= {"max_weight": 50} if what[3] < 0.5 else {}
    if rng.random() < 0.1:
        table = table.rename({"y": "hits"}) if isinstance(table, pl.DataFrame) else table.rename(columns={"y": "hits"})
        more["y_true"] = "hits"
    return audited(calibrant.audit_table(table, title=TITLES[int(rng.integers(len(TITLES)))], **more))


def of_sketch(rng, _):
    y, p = rows(rng)
    sketch = calibrant.CalibrationSketch(resolution=int(rng.choice([8, 128, 1024]))).update(y, p)
    return audited(sketch.audit(**options(rng)))


def of_forecasts(rng, _):
    y, p = rows(rng, (1, 3, 20, 60, 200))
    columns = {"y": y, "p": p, " ": p, "é😀": 1.0 - p, "q": drawn(rng, PREDICTIONS)(rng, p.size)}
    names = ["p", *rng.permutation([" ", "é😀", "q"])[: int(rng.integers(1, 4))].tolist()]
    more = {key: value for key, value in options(rng).items() if key != "threshold"}
    return audited(calibrant.audit_table(pd.DataFrame(columns), y_true="y", y_prob=names, **more))


def of_gate(rng, folder):
    table, names = frame(rng)
    level, limit = float(rng.choice([0.05, 1e-300])), float(rng.choice([1e-9, 0.05, 0.4, 1.0 - 2.0**-53]))
    more = {"max_distance": limit, "level": level}
    what = rng.random(4)
    if what[0] < 0.5:
        more["by"] = ("one", "other")[: int(rng.integers(1, 3))]
    if what[1] < 0.4:
        more |= {"find": ("one", "other", "day"), "max_depth": int(rng.integers(1, 4))}
    if what[2] < 0.3:
        more["baseline"] = str(folder / "before.csv")
        y, p = rows(rng, (3, 60, 500))
        pd.DataFrame({"y": y, "p": p}).to_csv(more["baseline"], index=False)
    if what[3] < 0.3:
        more |= {"groups": "who", "max_weight": 50.0}
    asked = GateRequest(**names, **more)
    return gated(GATE, check_opened(open_table(table), asked, Listener()))


def of_regret(rng, _):
    table, names = frame(rng)
    more = {"threshold": float(rng.choice([1e-3, 0.5]))} if rng.random() < 0.5 else {}
    asked = GateRequest(
        level=float(rng.choice([0.05, 1e-9])), max_regret=float(rng.choice([1e-6, 0.01, 0.5])), **names, **more
    )
    return gated(REGRET, check_opened(open_table(table), asked, Listener()))


def of_anytime(rng, folder):
    state = folder / f"state-{rng.integers(2**60)}.json"
    limit = float(rng.choice([0.02, 0.4]))
    for _ in range(int(rng.integers(1, 3))):
        y, p = rows(rng, (1, 20, 200))
        asked = GateRequest(max_distance=limit, y_true="y", y_prob="p", anytime=state)
        found = check_opened(open_table(pd.DataFrame({"y": y, "p": p})), asked, Listener())
    return gated(GATE, check_state(state) if rng.random() < 0.5 else found)


WAYS = (
    *(of_rows, of_rows, of_classes, of_table, of_table, of_table),
    *(of_sketch, of_forecasts, of_gate, of_gate, of_regret, of_anytime),
)


def document(number: int, seed: int, folder: Path) -> Document | None:
    """A document of this seed; None where such rows are refused."""
    rng = np.random.default_rng([seed, number])
    try:
        return WAYS[number % len(WAYS)](rng, folder)
    except InputError:
        return None
