"""The gates of segments that a person names: of their sums by cell, or of their rows where groups of them are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.coding import equalities
from calibrant.door.columns import IntArray
from calibrant.door.errors import InputError
from calibrant.findings.table_gate import Asked
from calibrant.inference.draws import read_draws
from calibrant.inference.gate import Ends, GateResult, gate_from_ends
from calibrant.kernels import sketching
from calibrant.scale.cells import NATIVE_ROUNDING, read_cells, rounding_of_plain_sums
from calibrant.scale.groups import Groups
from calibrant.scale.keys import numbers_of
from calibrant.scale.pooled import gate_of_cells, moments_from_cells, sample_from_cells
from calibrant.scale.tables import FINE, Table

MOST_SEGMENTS = 10_000
"""More are no segments that a person named, and would leave each next to nothing of the level."""

Decide = Callable[[int], GateResult]
"""The gate of one segment, where "beyond" takes one of so many shares of the level."""


def segments_to_gate(table: Table, names: Mapping[str, str], asked: Asked) -> list[tuple[str, Decide]]:
    """Name of each segment and its gate, in the order of its values."""
    held = {argument: names[argument] for argument in ("y_true", "y_prob") if argument in names}
    if asked.groups is not None:
        return _of_rows(table, held, asked)
    groups = table.groups(held, asked.by, FINE, exclude_bad=asked.exclude_bad)
    return [
        (name, partial(_gate_of_cells, replace(groups, index=groups.index[rows], cells=groups.cells[rows]), asked))
        for name, rows in _parted(groups.keys, groups.index, asked.by)
    ]


def _of_rows(table: Table, names: Mapping[str, str], asked: Asked) -> list[tuple[str, Decide]]:
    read = table.with_features(names, asked.by, "by", exclude_bad=asked.exclude_bad, groups=asked.groups)
    assert read.group is not None
    if asked.exclude_bad:
        read = read.kept(read.group >= 0)
    y_true, y_prob, group = (np.asarray(each) for each in (read.arrays["y_true"], read.arrays["y_prob"], read.group))
    return [
        (name, partial(_gate_of_rows, y_true[rows], y_prob[rows], group[rows], asked))
        for name, rows in _parted(read.keys_in_a_frame(), np.zeros(group.size, np.int64), asked.by)
    ]


def _parted(keys: Any, within: IntArray, by: tuple[str, ...]) -> list[tuple[str, IntArray]]:
    """Name of each segment and where it lies, in the order `within`, of keys as a frame."""
    of = numbers_of(keys)
    order = np.lexsort((within, of))
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    if starts.size > MOST_SEGMENTS:
        raise InputError("by", f"makes {starts.size:,} segments", allowed=f"at most {MOST_SEGMENTS:,} are gated")
    values = keys[order[starts].tolist()].rows()
    parts = sorted(zip(values, np.split(order, starts[1:]), strict=True), key=lambda each: _in_order(each[0]))
    return [(equalities(by, key), rows) for key, rows in parts]


def _in_order(key: tuple[Any, ...]) -> list[Any]:
    """Values of one kind in their own order, what is missing last."""
    return [(value is None, "" if value is None else value) for value in key]


def _gate_of_cells(groups: Groups, asked: Asked, shares: int) -> GateResult:
    limit = asked.max_distance
    assert limit is not None
    index, cells = read_cells(groups.index, groups.cells, FINE)
    rounding = rounding_of_plain_sums(float(cells[:, sketching.COUNT].max())) + NATIVE_ROUNDING
    held = sample_from_cells(index, cells, FINE), moments_from_cells(index, cells, FINE, rounding)
    return gate_of_cells(*held, max_distance=limit, level=asked.level, shares=shares)


def _gate_of_rows(y_true: Any, y_prob: Any, group: IntArray, asked: Asked, shares: int) -> GateResult:
    """Of the part of each group that lies in the segment: it weighs at most what a whole group may weigh."""
    assert asked.max_distance is not None
    sample, units = read_draws(y_true, y_prob, groups=group, max_weight=asked.max_weight)
    return gate_from_ends(Ends.of(sample, asked.level, units, shares=shares), asked.max_distance, sample.n_rows)
