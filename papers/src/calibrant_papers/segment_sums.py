"""How often the search of sums accuses sound segments, and finds planted ones: the tables of `found_rates`."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path

import numpy as np

from calibrant.door.coding import Coding
from calibrant.door.columns import IntArray
from calibrant.door.rows import Rows
from calibrant.segments.features import Feature, LazyFeature
from calibrant.segments.sums import RESOLUTION, CellBlock, Summed, TailSearch, all_sets, form_sums
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.segment_search_rates import (
    DESIGNS,
    FAULTS,
    LEVEL,
    PLANTED_ROWS,
    ROWS,
    planted,
    sound_among,
    sound_and_broken,
)


def found_in_sums(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Family-wise errors on calibrated tables, and power on planted segments, of proved tails with Holm's correction."""
    tables, draws, step = (2, 1, 2) if quick else (1_000, 200, 50)
    run = starmap if quick else on_all_processors
    cells = [(design, first, step) for design in DESIGNS for first in range(0, tables, step)]
    levels = np.reshape(list(run(_false_alarms, cells)), (len(DESIGNS), tables, 2)).mean(axis=1)
    searched = [(fault, first, min(10, draws)) for fault in FAULTS for first in range(0, draws, min(10, draws))]
    power = np.reshape(list(run(_powers, searched)), (len(FAULTS), draws)).mean(axis=1)
    body = (
        "The tables, the faults and the seeds are those of [the search that redraws](found-segments.md). Its columns "
        f"*any*, *any sound* and *found* are about the same rows. Here rows are summed by segment and {RESOLUTION} "
        "cells of predictions, tails are proved bounds, and Holm's correction shares the level by "
        f"depth.\n\n{tables:,} tables of {ROWS:,} rows per line, level {LEVEL}.\n\n"
        + table(
            ["predictions", "any", "any sound"],
            [[design, *(f"{x:.3f}" for x in row)] for design, row in zip(DESIGNS, levels, strict=True)],
        )
        + f"\n## Power\n\n{PLANTED_ROWS:,} rows per table, {draws} tables per line.\n\n"
        + table(["planted", "found"], [[fault, f"{x:.2f}"] for fault, x in zip(FAULTS, power, strict=True)])
    )
    finding = (
        f"False alarms in at most {levels[:, 0].max():.3f} of {tables:,}; 1.35 times a risk of .29 on "
        f"1/18 of 20,000 rows is found in {power[2]:.0%} of draws."
    )
    return Reproduction("Segments found in sums of rows: false alarms and power", finding, body)


def _summed(rows: Rows, features: list[Feature], depth: int) -> Summed:
    """Sums of rows in memory, as an engine would give them."""
    held = [LazyFeature(each.name, each.labels, Coding("number", (), len(each.labels))) for each in features]
    scaled = rows.y_prob * RESOLUTION
    below = np.floor(scaled)
    index = (below + np.ceil(scaled)).astype(np.int64)
    weight = np.ones(index.size) if rows.weight is None else rows.weight
    y, u, none = rows.y_true.astype(np.float64), scaled - below, np.zeros(index.size)
    one, v = np.ones(index.size), rows.y_prob
    columns = [one, y, none, weight, weight * y, weight * weight, weight * u, weight * y * u, v, v, one, v * (1.0 - v)]
    codes = np.stack([each.code for each in features])
    block = CellBlock(
        tuple(range(len(features))), codes, index, np.column_stack(columns), np.zeros(index.size, np.int64)
    )
    return form_sums([block], held, all_sets(len(features), depth), 50, weighted=rows.weight is not None)


def _beyond(rows: Rows, features: list[Feature], depth: int) -> tuple[Summed, IntArray]:
    summed = _summed(rows, features, depth)
    return summed, np.asarray(np.flatnonzero(TailSearch.of(summed, LEVEL).pvalue <= LEVEL), np.int64)


def _false_alarms(design: str, first: int, step: int) -> list[list[bool]]:
    """Of each table: whether any segment is accused, and whether one that shares no row with the broken one is."""
    found = []
    for trial in range(first, first + step):
        features, (sound, one_broken), broken = sound_and_broken(design, trial)
        _, any_one = _beyond(sound, features, 2)
        summed, accused = _beyond(one_broken, features, 2)
        found.append([any_one.size > 0, sound_among(features, summed, accused, broken) > 0])
    return found


def _powers(fault: str, first: int, step: int) -> list[bool]:
    """Of each table: whether the planted segment is found."""
    found = []
    for trial in range(first, first + step):
        rows, features, _, members = planted(fault, trial)
        summed, beyond = _beyond(rows, features, max(2, len(members)))
        names = zip(summed.chosen, summed.values, strict=True)
        at = next(i for i, name in enumerate(names) if name == (members, (0,) * len(members)))
        found.append(bool((beyond == at).any()))
    return found
