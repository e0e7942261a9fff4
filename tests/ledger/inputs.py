"""Arguments of public calls by the names of their parameters, for every kind of rows: never sorted, always the same."""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ledger.values import NotPreparedError

N = 160
RNG = np.random.default_rng(20)
V = RNG.beta(0.7, 1.3, N)
Y = (RNG.random(N) < np.clip(V + 0.25 * np.sin(6.0 * V), 0.0, 1.0)).astype(float)
W = RNG.choice([0.5, 1.0, 3.0], N)
TRIALS = RNG.integers(1, 5, N)
SHARES = RNG.binomial(TRIALS, np.clip(V + 0.1, 0.0, 1.0)) / TRIALS
GROUPS = RNG.integers(0, 60, N)
TABLE = RNG.dirichlet([1.0, 1.0, 1.0], N)
LABELS = (RNG.random(N)[:, None] > np.cumsum(TABLE, 1)).sum(1)
SITE, AGE, DAY = RNG.integers(0, 3, N), RNG.integers(20, 80, N), RNG.integers(1, 5, N)
TIES = np.round(V, 1)

Arguments = dict[str, Any]

COMMON: Arguments = {
    "random_state": 1,
    "n_resamples": 99,
    "max_distance": 0.1,
    "width": 0.2,
    "accept_below": 0.05,
    "reject_above": 0.3,
    "thresholds": (0.1, 0.25, 0.6),
    "n_bins": 10,
    "classes": None,
    "error": 0.02,
    "estimate": 0.01,
    "n_rows": 5000,
    "n_outputs": 10,
    "n": 30,
    "size": 6,
    "target": 7,
    "numbers": [3, 5, 7, 9],
    "epsilon": 0.1,
    "alpha": 0.2,
    "bias": 0.1,
    "temperature": 2.0,
    "k": 2,
    "count": 2,
    "wanted": (1, 2),
    "measure": "smooth_calibration_error",
    "lower": 0.1,
    "upper": 0.3,
    "low": 0.1,
    "high": 0.3,
    "argument": "y_prob",
    "problem": "row 3 is nan",
}
"""What calls take besides rows; each signature picks its own."""

# Kind of rows -> (what a signature must take for the kind to be its own, what the kind changes).
ROWS: dict[str, tuple[set[str], Arguments]] = {
    "plain": (set(), {}),
    "ties": ({"y_prob"}, {"y_prob": TIES, "y_prob_a": TIES, "y_probs": {"a": TIES, "b": V**2, "c": V}}),
    "weights": ({"sample_weight"}, {"sample_weight": W}),
    "weights, ties": ({"sample_weight", "y_prob"}, {"sample_weight": W, "y_prob": TIES}),
    "max_weight": ({"sample_weight", "max_weight"}, {"sample_weight": W, "max_weight": 3.0}),
    "outcome-free weights": ({"outcome_free_weights"}, {"sample_weight": W, "outcome_free_weights": True}),
    "one weight for each outcome": ({"sample_weight"}, {"sample_weight": np.where(Y == 1.0, 1.0, 5.0)}),
    "sampled by outcome": ({"sampling_fractions"}, {"sampling_fractions": {0: 0.2, 1: 1.0}}),
    "trials": ({"trials"}, {"y_true": SHARES, "trials": TRIALS}),
    "trials, max_weight": ({"trials", "max_weight"}, {"y_true": SHARES, "trials": TRIALS, "max_weight": 4.0}),
    "groups": ({"groups"}, {"groups": GROUPS}),
    "groups, ties": ({"groups", "y_prob"}, {"groups": GROUPS, "y_prob": TIES}),
    "groups, weights": ({"groups", "sample_weight"}, {"groups": GROUPS, "sample_weight": W}),
    "groups, max_weight": ({"groups", "max_weight"}, {"groups": GROUPS, "max_weight": 12.0}),
    "classes": ({"y_prob"}, {"y_true": LABELS, "y_prob": TABLE, "methods": None}),
    "classes, weights": ({"y_prob", "sample_weight"}, {"y_true": LABELS, "y_prob": TABLE, "sample_weight": W}),
    "rates": ({"y_true"}, {"y_true": SHARES}),
    "other outcomes": ({"y_true_b"}, {"y_true_b": Y[::-1].copy()}),
    "no events": ({"y_true"}, {"y_true": np.zeros(N)}),
    "nan": ({"y_prob"}, {"y_prob": np.where(np.arange(N) == 7, np.nan, V)}),
    "no rows": ({"y_prob"}, {"y_true": [], "y_prob": []}),
    "bad weights": ({"sample_weight"}, {"sample_weight": -W}),
    "bad level": ({"level"}, {"level": 1.5}),
}
COLUMNS: Arguments = {
    "y_true": Y,
    "y_prob": V,
    "y_prob_a": V,
    "y_prob_b": V**1.5,
    "y_probs": {"a": V, "b": V**2, "c": TIES},
    "predictor": V,
    "values": np.linspace(0.0, 1.0, 6),
    "grades": np.array(["a", "b", "c"])[SITE],
    "y": Y,
    "time": DAY,
    "event": Y,
    "horizon": 2.5,
}


def frame() -> dict[str, Any]:
    """The rows of a table, by column."""
    classes = {f"p{k}": TABLE[:, k] for k in range(3)}
    return {
        "outcome": Y.astype(int),
        "score": V,
        "rival": V**1.5,
        "w": W,
        "shares": SHARES,
        "tries": TRIALS,
        "patient": GROUPS,
        "label": LABELS,
        **classes,
        "site": np.array(["a", "b", "c"])[SITE],
        "age": AGE,
        "day": DAY,
    }


NAMES: Arguments = {"y_true": "outcome", "y_prob": "score", "unweighted": True}
_WEIGHTED: Arguments = {"sample_weight": "w", "unweighted": False}
# Kind of call -> what a signature must take, and what is asked of the table.
TABLES: dict[str, tuple[set[str], Arguments]] = {
    "plain": (set(), {"by": ("site",)}),
    "weights": ({"sample_weight"}, {**_WEIGHTED, "by": ("site",)}),
    "max_weight": ({"sample_weight", "max_weight"}, {**_WEIGHTED, "max_weight": 3.0}),
    "outcome-free weights": ({"outcome_free_weights"}, {**_WEIGHTED, "outcome_free_weights": True, "by": ("site",)}),
    "sampled by outcome": ({"sampling_fractions"}, {"sampling_fractions": {0: 0.2, 1: 1.0}, "unweighted": False}),
    "horizon": (
        {"horizon"},
        {"y_true": None, "unweighted": False, "time": "day", "event": "outcome", "horizon": 2.5},
    ),
    "trials": ({"trials"}, {"y_true": "shares", "trials": "tries", "by": ("site",)}),
    "groups": ({"groups"}, {"groups": "patient", "by": ("site",)}),
    "drift": ({"reference"}, {"by": "day", "drift": "day", "reference": (1, 2)}),
    "find": ({"find"}, {"find": ("site", "age"), "max_depth": 2}),
    "classes": ({"table"}, {"y_true": "label", "y_prob": "p0,p1,p2"}),
    "forecasts": ({"table"}, {"y_prob": ["score", "rival"]}),
}
TABLE_COMMON: Arguments = {**COMMON, "n_resamples": 39, "min_rows": 20, "features": ("site", "age"), "by": ("site",)}


def _lines(rows: dict[str, Any], joined: Callable[[list[str], list[Any]], str]) -> list[str]:
    names = list(rows)
    return [joined(names, [each.item() for each in row]) for row in zip(*rows.values(), strict=True)]


def _csv(rows: dict[str, Any]) -> str:
    return "\n".join([",".join(rows), *_lines(rows, lambda _, row: ",".join(map(str, row)))]) + "\n"


def _json(rows: dict[str, Any]) -> str:
    import json

    return "\n".join(_lines(rows, lambda names, row: json.dumps(dict(zip(names, row, strict=True))))) + "\n"


def write_files() -> None:
    """The rows as files of every kind, in the folder where the work is done."""
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    import calibrant

    rows, table = frame(), pyarrow.table(frame())
    Path("rows.csv").write_text(_csv(rows))
    with gzip.GzipFile("rows.csv.gz", "wb", mtime=0) as packed:
        packed.write(_csv(rows).encode())
    Path("rows.jsonl").write_text(_json(rows))
    pyarrow.parquet.write_table(table, "rows.parquet", row_group_size=50)
    pyarrow.feather.write_feather(table, "rows.arrow", compression="uncompressed")
    for half, part in enumerate((table.slice(0, 70), table.slice(70))):
        Path(f"parts/half={half}").mkdir(parents=True)
        pyarrow.parquet.write_table(part, f"parts/half={half}/rows.parquet")
    Path("bad.csv").write_text("y_true,y_prob\n0,0.2\n1,1.7\n")
    calibrant.CalibrationSketch().update(Y, V).to_parquet("rows.sketch")


def roads() -> dict[str, Callable[[], Any]]:
    """Every way that a table comes: made when it is used, after `write_files`."""
    import duckdb
    import pandas
    import polars
    import pyarrow
    import pyarrow.dataset

    import calibrant

    def dataset() -> Any:
        return pyarrow.dataset.dataset("rows.parquet")

    files = ("rows.csv", "rows.csv.gz", "rows.jsonl", "rows.parquet", "rows.arrow", "parts")
    summed = ("rows.csv", "rows.jsonl", "rows.parquet", "rows.arrow", "parts")
    return {
        **{name: lambda name=name: name for name in files},
        **{f"summed {name}": lambda name=name: name for name in summed},
        "pandas": lambda: pandas.DataFrame(frame()),
        "polars": lambda: polars.DataFrame(frame()),
        "polars, lazy": lambda: polars.LazyFrame(frame()),
        "summed polars, lazy": lambda: polars.LazyFrame(frame()),
        "pyarrow": lambda: pyarrow.table(frame()),
        "duckdb": lambda: duckdb.connect().from_arrow(pyarrow.table(frame())),
        "dataset": dataset,
        "summed dataset": dataset,
        "sketch": lambda: calibrant.CalibrationSketch().update(Y, V),
        "rows.sketch": lambda: "rows.sketch",
        "stream": lambda: pyarrow.table(frame()).to_reader(),
        "bad.csv": lambda: "bad.csv",
    }


LIMITS = {
    "calibrant.tables.entry.MANY_BYTES": 0,
    "calibrant.tables.frames.MANY_ROWS": 0,
}
"""Above these a table is summed where it lies."""


@contextmanager
def of_road(road: str) -> Iterator[None]:
    """Tables of a summed road are large."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in LIMITS.items() if road.startswith("summed") else ():
            patch.setattr(name, limit)
        yield


def filled(function: Callable[..., Any], prepared: Arguments) -> tuple[list[Any], Arguments]:
    """Arguments of a call by its signature; `NotPreparedError` where it needs one that is not prepared."""
    several: list[Any] = []
    named: Arguments = {}
    for name, each in inspect.signature(function).parameters.items():
        if name in ("self", "cls"):
            continue
        if each.kind is each.VAR_POSITIONAL and name in prepared:
            several = list(prepared[name])
        elif each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        elif name in prepared and prepared[name] is not None:
            named[name] = prepared[name]
        elif each.default is each.empty:
            raise NotPreparedError(name)
    return several, named
