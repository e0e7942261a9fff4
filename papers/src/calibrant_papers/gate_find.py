"""How often the gate says "beyond" of a segment that is within, from how many rows or groups on it finds one, and how
often it does not pass.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product, starmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtri

from calibrant.door.columns import FloatArray, IntArray
from calibrant.segments.gate_bounds import BoundedSegments, bounded, bounded_in_table, read_to_bound
from calibrant.segments.request import Search
from calibrant.tables.frames import OpenedFrame
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.segment_groups import alike_in_groups

LEVELS = 0.05, 0.5
LIMIT = 0.05
_NO_LIMIT = 1e-9
_LEAST = 5  # rows of a segment, where the gate takes 50
_PART = 0.5  # of the level is the check's of found segments, where all rows are the other one
_FEATURES = "store", "plan", "device"

Drawn = tuple[FloatArray, FloatArray]
KINDS: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "uniform": lambda rng, n: _calibrated(rng.random(n)),
    "rare, beta(1, 99)": lambda rng, n: _calibrated(rng.beta(1.0, 99.0, n)),
    "0 or 1, nine to one": lambda rng, n: _calibrated((rng.random(n) < 0.1) * 1.0),
    "five values": lambda rng, n: _calibrated(rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n)),
    "uniform, chance .5": lambda rng, n: (rng.random(n), np.full(n, 0.5)),
}
"""Predictions, and chances that are right on average in every segment."""
ROW_BY_ROW = "uniform", "rare, beta(1, 99)", "five values"
"""Those whose every prediction is its row's chance, and none certain."""
OFF = 0.0, LIMIT
UNITS = "rows", "equal groups", "unequal groups"
SIZES = (15, 60), (15, 300), (15, 3_000), (300, 3_000)
"""Stores, and rows of a table."""
FAIR = (15, 3_000), (150, 15_000)
"""Of tables of calibrated predictions."""
STORES = 15, 300
WRONG = 0.1, 0.2, 0.35
PLANTED = {"rows": (200, 500, 1_000, 2_000, 4_000), "equal groups": (50, 100, 200, 400)}
_ROWS = 40_000
_CORRELATION = 0.3


def gate_find(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False "beyond" of tables without a segment beyond the limit, and how often one that is far beyond is found."""
    tables, draws, gated = (1, 1, 1) if quick else (100, 40, 10)
    calibrated, fair = (1, FAIR[:1]) if quick else (50, FAIR)
    sizes, planted = (SIZES[:1], (STORES[:1], WRONG[:1])) if quick else (SIZES, (STORES, WRONG))
    run = starmap if quick else on_all_processors
    lines = list(product(KINDS, OFF, UNITS))
    false = np.reshape(
        list(run(_false_verdicts, [(*line, *size, tables) for line in lines for size in sizes])),
        (len(lines), len(sizes), len(LEVELS) + 1),
    )
    faults = list(product(*planted))
    planted_in = [(unit, size) for unit in PLANTED for size in PLANTED[unit][: 1 if quick else None]]
    cells = [(*fault, *each, draws, gated) for fault in faults for each in planted_in]
    found = np.reshape(list(run(_found, cells)), (len(faults), -1, 3))
    kept = list(product(ROW_BY_ROW, UNITS))
    waiting = list(run(_not_passed, [(*line, *size, calibrated) for line in kept for size in fair]))
    head = ["predictions", "off by", "drawn", *(f"{n:,} rows, {stores} stores" for stores, n in sizes)]
    lines_told = [
        [*line, *(" / ".join(str(int(x)) for x in of) for of in held)] for line, held in zip(lines, false, strict=True)
    ]
    power = [
        [stores, off, *(f"{share:.2f}" for share in of)]
        for (stores, off), of in zip(faults, found[:, :, 0], strict=True)
    ]
    columns = [f"{size:,} {'rows' if unit == 'rows' else 'groups'}" for unit, size in planted_in]
    body = (
        f"## Nothing is beyond the limit\n\nIn how many of {tables} tables a segment is said to be beyond: at level "
        f"{LEVELS[0]} / at level {LEVELS[1]} / by the normal distribution. Features: 15 or 300 stores, three plans, "
        f"two devices. All segments of one or two of them with {_LEAST} rows or more (the gate asks for 50; fewer are "
        f"harder).\n\n*Off by 0*: right on average in every segment, and the limit is {_NO_LIMIT:g}. So any error "
        f"that is said to be proved is false. *Off by {LIMIT}*: chances are that much higher, in every second table "
        f"lower, but kept in [0, 1]. The limit is {LIMIT}. *Uniform, chance .5*: rows are off by up to .5, in both "
        "directions. *Groups*: all rows of a group have the same luck and the same store. They are groups of 10, or "
        "of Pareto sizes (shape .7) up to 200 or a sixth of the rows. The most that a group can have is given as the "
        f"largest weight. *By the normal distribution*, level {LEVELS[0]}: what would be said of the stores alone if "
        "their errors were normal. Each end is then the mean error and some standard errors. Their number is what "
        "the level, divided by the number of all segments, asks for.\n\n"
        + table(head, lines_told)
        + f"\n## One store is beyond the limit\n\nThe share of {draws} tables in which it is named, at a limit of "
        f"{LIMIT}. Of {_ROWS:,} rows so many are of that store, or so many groups of 10, and the rest of the other "
        "stores. Its chances are higher than the predictions (.1 and half of a beta(2, 5)) by *off by*. The level is "
        ".05, of which `gate --find` gives found segments half. Luck in a group is a normal variable with the "
        f"correlation {_CORRELATION}. 10 is given as the largest weight. Segments of 50 rows or more.\n\n"
        + table(["stores", "off by", *columns], power)
    )
    stopped = [
        [stores, off, *(f"{share:.1f}" for share in of)]
        for (stores, off), of in zip(faults, found[:, :, 2], strict=True)
    ]
    held_up = np.reshape([" / ".join(map(str, each)) for each in waiting], (len(kept), -1))
    body += (
        f'\n## The gate does not pass\n\nOf {gated} of these tables each, the share in which the check says "beyond" or '
        '"undecided". It says so where the search calls a segment off that is not proved within the limit.\n\n'
        + table(["stores", "off by", *columns], stopped)
        + f"\nOf {calibrated} tables of calibrated predictions, with the same limit, so many are not passed. The "
        "reasons: a segment is called off and not proved within / none can be tested, for too few groups hold "
        "events. Segments of 50 rows or more.\n\n"
        + table(
            ["predictions", "drawn", *(f"{n:,} rows, {stores} stores" for stores, n in fair)],
            [[*line, *of] for line, of in zip(kept, held_up.tolist(), strict=True)],
        )
    )
    per_level = [int(of) for of in false.sum(axis=(0, 1))]
    named = round(float(found[:, :, 1].sum()) * draws)
    n_tables = tables * len(lines) * len(sizes)
    finding = (
        f'Of {n_tables:,} tables without a segment beyond the limit {per_level[0]} have a false "beyond" at level '
        f"{LEVELS[0]} and {per_level[1]} at level {LEVELS[1]}. {per_level[2]:,} would if mean errors of stores were "
        f"taken as normal. With a store beyond it, {named} of {draws * len(cells):,} name a segment that is not. Of "
        f"{calibrated * len(waiting):,} calibrated tables {sum(off for off, _ in waiting)} are not passed for a "
        "segment that is called off."
    )
    return Reproduction("Segments beyond the limit, found by the gate: false verdicts and power", finding, body)


def _calibrated(v: npt.ArrayLike) -> Drawn:
    predictions = np.asarray(v, np.float64)
    return predictions, predictions


def _false_verdicts(kind: str, off: float, unit: str, stores: int, n: int, tables: int) -> list[int]:
    """In how many tables a segment is said to be beyond, at each level, and by the normal distribution."""
    count = [0] * (len(LEVELS) + 1)
    for trial in range(tables):
        rng = np.random.default_rng([12, list(KINDS).index(kind), OFF.index(off), UNITS.index(unit), stores, n, trial])
        group, most = _groups(rng, unit, n)
        v, chance = KINDS[kind](rng, n)
        chance = np.clip(chance + (off if trial % 2 else -off), 0.0, 1.0)
        store = rng.integers(0, stores, n)[group]
        y = alike_in_groups(rng, group, n, 1.0) < chance
        rows = _table(rng, store, v, y, group)
        for k, level in enumerate(LEVELS):
            said = _said(rows, most, level, off or _NO_LIMIT, _LEAST)
            count[k] += said.verdict == "beyond"
            if not k:
                count[-1] += _normal(store, y - v, group, level / said.n_tested) > (off or _NO_LIMIT)
    return count


def _normal(store: IntArray, off: FloatArray, group: IntArray, level: float) -> float:
    """The largest mean error of a store that would be proved if means of groups, each of one store, were normal."""
    total, size = np.bincount(group, off), np.bincount(group).astype(np.float64)
    of = store[np.searchsorted(group, np.arange(size.size))]
    rows, groups = np.bincount(of, size), np.bincount(of)
    mean = np.bincount(of, total) / np.maximum(rows, 1.0)
    square = np.bincount(of, (total - mean[of] * size) ** 2) * groups / np.maximum(groups - 1.0, 1.0)
    proved = np.abs(mean) + float(ndtri(0.5 * level)) * np.sqrt(square) / np.maximum(rows, 1.0)
    return float(proved[(rows >= _LEAST) & (groups > 1)].max(initial=0.0))


def _not_passed(kind: str, unit: str, stores: int, n: int, tables: int) -> tuple[int, int]:
    """In how many tables of calibrated predictions a segment is called off and not within, or none can be tested."""
    off = untested = 0
    for trial in range(tables):
        rng = np.random.default_rng([14, list(KINDS).index(kind), UNITS.index(unit), stores, n, trial])
        group, most = _groups(rng, unit, n)
        v, chance = KINDS[kind](rng, n)
        y = alike_in_groups(rng, group, n, 0.0 if unit == "rows" else _CORRELATION) < chance
        found = _gated(_table(rng, rng.integers(0, stores, n)[group], v, y, group), most)
        untested += found.untested is not None
        off += found.verdict != "none beyond" and found.untested is None
    return off, untested


def _found(stores: int, off: float, unit: str, size: int, draws: int, gated: int) -> tuple[float, float, float]:
    """Shares of tables in which the store with the fault is named, a segment without it is, and the gate says so or
    that it cannot tell; the last of the first `gated` tables.
    """
    named = accused = stopped = 0
    for trial in range(draws):
        rng = np.random.default_rng([13, stores, WRONG.index(off), UNITS.index(unit), size, trial])
        group, most = _groups(rng, unit, _ROWS)
        units = int(group[-1]) + 1
        store = np.where(np.arange(units) < size, 0, rng.integers(1, stores, units))[group]
        v = 0.1 + 0.5 * rng.beta(2.0, 5.0, _ROWS)
        chance = v + np.where(store == 0, off, 0.0)
        y = alike_in_groups(rng, group, units, 0.0 if unit == "rows" else _CORRELATION) < chance
        rows = _table(rng, store, v, y, group)
        said = _said(rows, most, _PART * LEVELS[0], LIMIT, 50)
        if trial < gated:
            stopped += _gated(rows, most).verdict != "none beyond"
        names = [each.name.split(" and ") for each in said.beyond]
        named += ["store = s0"] in names
        accused += any("store = s0" not in name for name in names)
    return named / draws, accused / draws, stopped / gated


def _groups(rng: np.random.Generator, unit: str, n: int) -> tuple[IntArray, int | None]:
    """The group of each row, rising from 0, and the most rows that one can have; of independent rows None."""
    if unit == "rows":
        return np.arange(n), None
    if unit == "equal groups":
        return np.arange(n) // 10, 10
    most = min(200, n // 6)
    size = np.minimum(most, 1.0 + np.floor(rng.pareto(0.7, n))).astype(np.int64)
    return np.repeat(np.arange(n), size)[:n], most


def _table(
    rng: np.random.Generator, store: IntArray, v: FloatArray, y: npt.NDArray[np.bool_], group: IntArray
) -> pa.Table:
    """Rows that have a plan and a device besides."""
    columns = {
        "store": np.char.add("s", store.astype(np.str_)),
        "plan": rng.choice(["free", "paid", "team"], v.size, p=[0.6, 0.3, 0.1]),
        "device": rng.choice(["desktop", "phone"], v.size),
        "v": v,
        "y": y.astype(np.int64),
        "group": group,
    }
    return pa.table(columns)


def _said(rows: pa.Table, most: int | None, level: float, limit: float, min_rows: int) -> BoundedSegments:
    """What the gate's bounds say of segments that it finds."""
    names = {"y_true": "y", "y_prob": "v"} | ({} if most is None else {"groups": "group"})
    held = read_to_bound(OpenedFrame(rows), names, Search(min_rows=min_rows, features=_FEATURES), max_weight=most)
    return bounded(held, Search().max_depth, level, limit)[0]


def _gated(rows: pa.Table, most: int | None) -> BoundedSegments:
    """What the gate's check of found segments says, which is one of two checks."""
    names = {"y_true": "y", "y_prob": "v"} | ({} if most is None else {"groups": "group"})
    return bounded_in_table(
        OpenedFrame(rows),
        names,
        Search(random_state=0, features=_FEATURES),
        level=LEVELS[0],
        max_distance=LIMIT,
        shares=round(1.0 / _PART),
        max_weight=most,
    )
