"""What the audit and the gate say of real predictions, with the seconds that it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import narwhals as nw
import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.findings.arrays import audit
from calibrant.findings.word_catalogue import proved
from calibrant.gate.anytime import CalibrationGate
from calibrant.inference.bounds.gate import calibration_gate
from calibrant_papers.predictions import top_label
from calibrant_papers.registry import Reproduction, needed, table

_LIMIT = 0.05
_FORECASTS = ("Logistic", "EMOS", "ENS", "EPC")


def real_predictions(quick: bool = False, data: Path | None = None) -> Reproduction:
    """Audit and gate of nine networks and four rain forecasts."""
    rows: list[list[object]] = []
    said: dict[str, int] = {"within": 0, "beyond": 0, "undecided": 0}
    for name, y_true, y_prob in islice(_predictions(needed(data)), 0, None, 6 if quick else 1):
        start = time.perf_counter()
        found = audit(y_true, y_prob, random_state=0)
        audited = time.perf_counter() - start
        start = time.perf_counter()
        gate = calibration_gate(y_true, y_prob, max_distance=_LIMIT)
        gated = time.perf_counter() - start
        said[gate.verdict] += 1
        tests = [each.result for each in found.tests.values() if each.result is not None]
        low, high = found.population.lower_distance if found.population is not None else (0.0, 1.0)
        rows.append(
            [
                name,
                f"{found.n_rows:,}",
                proved(found.distance.lower, found.distance.upper)[0],
                "; ".join(f"{'miscalibrated' if t.reject else 'not found'}, p = {t.pvalue:.2g}" for t in tests),
                f"{low:.4f} to {high:.4f}",
                f"{audited:.1f}",
                gate.verdict + ("" if gate.rows_needed is None else f", some {gate.rows_needed:.1e} rows needed"),
                f"{gated:.2f}",
                _watched(y_true, y_prob),
            ]
        )
    head = [
        "predictions",
        "rows",
        "true distance of the sample",
        "tests",
        "lower distance of the population",
        "audit, s",
        f"gate at {_LIMIT}",
        "gate, s",
        "gate that is watched",
    ]
    note = (
        "Test: the audit's, `calibration_test`; level 0.05. Bounds and gate: confidence 0.95, valid at any number of "
        "rows. `CalibrationGate` gets the rows in a random order, 50 and later a tenth of those so far at a "
        "time, and stops at a verdict.\n\n"
    )
    counted = ", ".join(f"{number} {verdict}" for verdict, number in said.items())
    finding = f"At a limit of {_LIMIT} the gate finds {counted}."
    return Reproduction("Verdicts on real predictions", finding, note + table(head, rows))


def _watched(y_true: FloatArray, y_prob: FloatArray) -> str:
    """What `CalibrationGate` says, and after how many rows."""
    gate, at = CalibrationGate(max_distance=_LIMIT), 0
    order = np.random.default_rng(0).permutation(y_true.size)
    found = gate.reading()
    while at < order.size and found.verdict == "undecided":
        batch = order[at : at + max(50, at // 10)]
        found = gate.update(y_true[batch], y_prob[batch])
        at += batch.size
    return f"{found.verdict} after {found.n_rows:,}"


def _predictions(folder: Path) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    import pyarrow.parquet as pq

    for stem in sorted({path.stem for ending in ("parquet", "pickle") for path in folder.glob(f"*.{ending}")}):
        path = folder / f"{stem}.parquet"
        columns = set(pq.read_schema(path).names) if path.exists() else {"y_true", "y_prob"}
        if {"y_true", "y_prob"} <= columns:
            yield stem, *top_label(folder, stem)
        elif set(_FORECASTS) <= columns:
            frame = nw.from_native(pq.read_table(path), eager_only=True)
            for column in _FORECASTS:
                yield f"{stem}, {column}", frame["obs"].to_numpy(), frame[column].to_numpy()
