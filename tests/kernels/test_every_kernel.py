"""Every kernel, as plain Python, where an index is checked: NaN stays NaN, and one row is enough."""

import importlib
import pkgutil
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from calibrant import kernels
from calibrant.kernels import counting, interval, lattice, lower, two_rows
from calibrant.measures.lower_check import Coupling, Potentials, check_coupling, check_potentials

MODULES = [importlib.import_module(f"{kernels.__name__}.{m.name}") for m in pkgutil.iter_modules(kernels.__path__)]
KERNELS = {
    f"{module.__name__.rsplit('.', 1)[1]}.{name}": function.py_func
    for module in MODULES
    for name, function in vars(module).items()
    if not name.startswith("_") and hasattr(function, "py_func") and function.py_func.__module__ == module.__name__
}


class Out(np.ndarray):
    """What a kernel fills in: not an input, so no NaN is put there."""


def out(*shape):
    return np.zeros(shape).view(Out)


def ints(values, kind=np.int64):
    return np.array(list(values), kind)


def words(m):
    """Small enough that no product of plain Python's numbers is too large for 64 bits."""
    return np.arange(m, dtype=np.uint64)


def v(m):
    return np.linspace(0.1, 0.9, m)


def r(m):
    return np.resize([0.02, -0.03, 0.01], m)


def p(m):
    return np.full(m, 0.5 / max(m, 1))


def u(m):
    return np.linspace(0.0, 1.0, m + 2)


def no(m):
    return np.zeros(m, bool)


def leaf(m):
    """Sums of one feature in m cells and where it is missing."""
    return np.stack([np.append(r(m), 0.01), np.append(p(m), 0.1), np.ones(m + 1)], axis=1)[None] * 1.0


def two(m):
    return np.stack([r(m), -r(m)], axis=1) - 0.1


def state(m):
    return lower.start(u(m), two(m + 2))


def room(m):
    return tuple(array.view(Out) for array in lower.room(m + 2))


def sides(m):
    return np.resize([0.02, -0.03, 0.01], (m + 2, 5))


def rates(m):
    return np.resize([0.3, 0.0, 1.0], m)


def classes(m):
    return np.resize([0.2, 0.5, 0.3], (m, 3))


def allowed(m):
    sums = np.append(np.zeros((5, 1)), np.cumsum([p(m), p(m) * rates(m)] + [0.1 * p(m)] * 3, axis=1), axis=1)
    ends, none = ints(range(m + 1)), np.zeros(m + 1)
    return np.append(v(m), 1.0), ends, ends, (none, none.copy()), sums, 0.1, 0.05, 0.01, 1.0


def stop():
    return np.zeros(1, np.int64)


def pairs(m):
    return ints(range(1, m)), ints(range(m - 1)) if m else ints([])


def side(m):
    prefix = np.append(0.0, v(m).cumsum())
    cells = 2 * m + 1
    return lattice.Side(
        v(m), prefix, 0.0 * prefix, np.append(-9.0, v(m)), np.append(-v(m), -9.0),
        np.searchsorted(v(m), np.arange(cells + 2) / cells, side="right"),
    )  # fmt: skip


def row(m):
    sums = np.zeros((m + 1, 4))
    sums[1:] = np.cumsum(np.stack([p(m), p(m) * rates(m), p(m) * v(m), 0.0 * p(m)], axis=1), axis=0)
    return two_rows.Row(v(m), sums, np.searchsorted(v(m), np.arange(m + 3) / (m + 1)))


def in_block(m):
    """Rows as kernels of blocks read them, and the key before each block and after the last."""
    return ints([], np.uint64), v(m), r(m), p(m), np.zeros(min(m, 1) + 1)


def bins(*values):
    return tuple(ints([value] * 64, np.uint32) for value in values)


def log(size):
    return ints([0] * size, np.uint32), ints([0] * size, np.uint16), ints([0] * size)


def corridor(m):
    none = lattice.States(np.zeros((1, 2), np.int64), np.ones(1), ints([-1]))
    wide = np.full(2 * m + 1, 9.0), np.arange(2 * m + 1) / 2, np.inf, np.inf
    nothing = np.zeros((m + 1, 2))
    return lattice.Corridor(*wide, 2 * m, 0, -1.0, 1e-13, np.inf, nothing, nothing, none, 0.0, 2 * m)


def ranked(m):
    return ints(range(m), np.uint32), ints(range(m), np.uint32)


def factor(m):
    return np.resize([0.3, 0.2, 0.1], (m + 2, 8))


def ones(m):
    return np.ones(m)


def whole(m):
    return ints([0, m]).reshape(1, 2)


def units(m):
    return np.stack([v(m), np.full(m, 3.0), np.full(m, 1.0), np.ones(m), r(m)])


ARGUMENTS = {
    "blocks.block_keys": lambda m: (r(m), out(m + 1)),
    "blocks.block_sums": lambda m: (
        *in_block(m)[:4], 0, min(m, 1), out(min(m, 1)), ints([0] * min(m, 1)), ints([0] * min(m, 1))
    ),
    "blocks.count_open": lambda m: (ints([0] * m), *bins(0, m), ints([0]), 0, min(m, 1)),
    "blocks.keys_in_turn": lambda m: (*in_block(m)[:4], out(min(m, 1) + 1)),
    "blocks.open_rows": lambda m: (
        *in_block(m), ints([0] * m), *bins(0, m), ints([0, m]), 0, min(m, 1), ints([0] * m), out(m), ints([0] * m)
    ),
    "blocks.replay": lambda m: (
        ints([0] * m), *bins(0, m), ints(range(m)), v(m), ints([4] * m), ints(range(m)), ints(range(m)),
        ints([0, m]), ints([0] * m), ints([m - 1]), ints([0]), ints([4 * m]), 1, 0, 1,
    ),
    "blocks.describe": lambda m: (
        *in_block(m), 30.0, 32, 64, 0, min(m, 1), ints([0] * m), ints([0] * (m + 1)), out(m), out(min(m, 1))
    ),
    "blocks.settle": lambda m: (
        np.zeros(min(m, 1) + 1), 32, m, v(min(m, 1)), ints([0] * 64), np.zeros((3, 64)), ints([0] * 64), bins(0)[0]
    ),
    "blocks.sweep": lambda m: (
        np.zeros(min(m, 1) + 1), 30.0, 32, 0, min(m, 1), ints([0] * m), ints(range(m + 1)), v(m), ints([0] * 64),
        np.zeros((3, 64)), ints([0] * 2, np.uint64), ints([0], np.uint64), ints([0] * 64), *bins(0, 0), *log(600),
        ints([0] * 7),
    ),
    "blocks.sweep_in_turn": lambda m: (
        *in_block(m), 30.0, 32, ints([0] * m), ints([0] * 64), ints([0] * 64), *bins(0, 0), *log(600)
    ),
    "calibration.binomial_table": lambda _m: (3.0, 0.3, out(7), ints([0] * 7)),
    "calibration.redrawn_statistics": lambda m: (
        units(m), ints([0] * m), np.full((2, 2), 0.5), ints([1, 2]), np.full(2, 0.5), np.uint64(1), 0, out(3, 3)
    ),
    "canonical.draw_labels": lambda m: (classes(m).cumsum(axis=1), v(m), ints(range(m))),
    "canonical.pair_weights": lambda m: (classes(m), ints([m]), 0.5),
    "canonical.paired_sum": lambda m: (ints([0] * m), classes(m), *pairs(m), v(max(0, m - 1)), v(max(0, m - 1))),
    "class_cells.class_cells": lambda m: (np.minimum(1.4 * v(m), 1.0), ones(m), rates(m), 5),
    "classes.add_rows": lambda m: (classes(m), ints([0] * m), 2.0**20, np.zeros((1, 3), np.int64)),
    "classes.hash_rows": lambda m: (classes(m).view(np.uint64), np.uint64(7), ints([0] * m, np.uint64)),
    "classes.largest": lambda m: (classes(m), np.zeros((m, 2), np.int64)),
    "columns.credit_overdraft": lambda m: (v(m), rates(m), r(m), out(m)),
    "columns.parts_within": lambda m: (2 * p(m), v(m), rates(m), r(m), 0.01, 4, (1000, 100), stop()),
    "counting.count_cells": lambda m: (words(4 * m),),
    "counting.count_rows": lambda m: (
        ones(m), v(m), v(m).view(np.uint64), ints(range(m)), 4, *counting.new_tables(m, 4), ints([0] * 7)
    ),
    "counting.read_cells": lambda m: (
        *counting.new_tables(m, 4), 4, ints([0] * m), ints([0] * m), out(m, 4), np.zeros((m, 2), np.uint64)
    ),
    "excursions.cumulants": lambda m: (p(m), ones(m), ones(m), ints(range(m)), whole(m)),
    "excursions.draw_events": lambda m: (0.9 * p(m) + 0.05, ones(m), rates(m), np.uint64(1), 0, 0, out(m, 3)),
    "excursions.excursions": lambda m: (
        np.stack([rates(m)] * 128, axis=1), 0, ones(m), p(m), ints(range(m)), ints(range(m)), whole(m), ints([0]),
        np.zeros((1, 5, 128))
    ),
    "excursions.scores": lambda m: (np.stack([r(m)[:, None]] * 3, axis=1), ones(m), ones(m), r(m), 2.0, out(m, 1)),
    "calibration.draw_jointly": lambda m: (
        p(m), np.ones((2, m)), ones(2), np.zeros((2, m), np.int64), ints([1, 1]), np.uint64(1), 0, out(m, 3)
    ),
    "interval.best_partition": lambda m: (
        v(m), r(m + 1), u(m - 1), np.argsort(r(m + 1)), *interval.empty_set(m + 1), out(m + 1), ints(range(m + 1))
    ),
    "interval.sliding_window": lambda m: (v(m), r(m), 0.3),
    "isotonic.with_one_more": lambda m: (np.sort(rates(m)), ones(m), 1.0),
    "isotonic.pool_adjacent": lambda m: (rates(m), ones(m), out(m).astype(np.int64)),
    "lattice.shortest_path": lambda m: (side(m), side(m), corridor(m), 1000, stop()),
    "logistic.logistic_derivatives": lambda m: (np.stack([v(m), r(m)]), rates(m), p(m), np.array([0.5, 1.0])),
    "lowess.anchors": lambda m: (v(m), 0.3),
    "lowess.bandwidths": lambda m: (v(m), np.ones(m), ints(range(m)), 2.0),
    "lowess.local_weights": lambda m: (v(m), p(m), 0.5, 0.6, 0.8),
    "cells.pool_rows": lambda m: (v(m), r(m), None, 10.0, out(11), out(11), out(11)),
    "segments.walked_back": lambda m: (ints(max(0, j - 1) for j in range(m + 1)), m),
    "lower.calibrated_scale": lambda m: (v(m), p(m), 0.5, 0.5),
    "lower.coupling_cost": lambda m: (v(m), p(m), p(m), p(m)),
    "lower.solve": lambda m: (
        u(m), p(m + 2), p(m + 2), 1e-6, 20, 1e-13, two(m + 2), state(m), room(m), out(m + 2), None
    ),
    "lower.take": lambda m: (
        u(m), p(m + 2), p(m + 2), two(m + 2), *state(m), sides(m)[:, :3], two(m + 2), sides(m), 0.1, 0.1, None, 1e-3,
        True, out(m + 2),
    ),
    "lower_proof.carry": lambda m: (v(m), p(m), u(m), p(m + 2), 1.0, out(3, 2), out(2, m + 2)),
    "lower_proof.extended": lambda m: (v(m), r(m), v(m)),
    "lower_proof.largest_product": lambda m: (v(m), r(m), r(m)),
    "lower_lift.cell_masses": lambda m: (v(m), p(m), ints([0, m]), out(1), out(1)),
    "lower_lift.interpolate": lambda m: (v(m), p(m), p(m), u(m), two(m + 2), ints([0, m]), out(1), out(m, 2)),
    "lower_lift.lift_coupling": lambda m: (v(m), p(m), p(m), u(m), p(m + 2), ints([0, m]), out(1)),
    "lower_lift.lower_and_straighten": lambda m: (v(m), p(m), two(m)),
    "lower_lift.lowest_extension": lambda m: (v(m), np.resize([0.5, 0.0], m), r(m)),
    "lower_lift.quantile_coupling": lambda m: (
        v(m), p(m), u(m), p(m + 2), ints([0] * (2 * m + 2)), ints([0] * (2 * m + 2)), out(2 * m + 2)
    ),
    "lower_lift.split_cells": lambda m: (v(m), ints([0, m]), np.ones(1), 2, 1e-9, ints(range(m + 1))),
    "lower_lift.tied": lambda m: (v(m), 1e-9, ints(range(m))),
    "lower.none_below_zero": lambda m: (r(m),),
    "lower.longer": lambda m: (
        u(m), state(m)[0], state(m)[1], sides(m), sides(m), 0.1, 0.1, 1e-3, 1e-4, 0.5, out(m + 2, 2)
    ),
    "lower.eliminate": lambda m: (
        u(m), p(m + 2), p(m + 2), *state(m)[1:], 1e-13, out(m + 2, 8), out(m + 2, 2)
    ),
    "lower.substitute": lambda m: (factor(m), two(m + 2), out(m + 2, 3), out(m + 2, 2)),
    "lower.predict": lambda m: (
        u(m), p(m + 2), p(m + 2), *state(m)[1:], 1e-13, sides(m)[:, :3], two(m + 2)
    ),
    "lower.correct": lambda m: (
        u(m), p(m + 2), p(m + 2), *state(m)[1:], sides(m)[:, :3], 0.1, factor(m), ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)),
        out(m + 2, 2),
    ),
    "lower.change": lambda m: (
        u(m), p(m + 2), p(m + 2), *state(m)[1:], 1e-13, 0.1, sides(m)[:, :3], sides(m)[:, :3], two(m + 2),
        out(m + 2, 5),
    ),
    "lower_lift.violations": lambda m: (v(m), two(m) + 0.2, u(m), out(m), out(m + 1), out(m + 1)),
    "pairs.fourier_power": lambda m: (v(m), r(m), 1.0, out(3)),
    "pairs.gaussian_boxes": lambda m: (v(m), r(m), 4.0, 1.0, np.ones((2, 3, 3)), out(2, 3)),
    "pairs.laplace": lambda m: (v(m), r(m), 0.1),
    "pairs.laplace_of_keys": lambda m: (ints(range(0, 2 * m, 2), np.uint64), 0.1),
    "pairs.triangle": lambda m: (v(m), p(m), r(m)),
    "partitions.by_subsets": lambda m: (p(m), v(m), rates(m), ints([0] * m), stop()),
    "partitions.by_types": lambda m: (ints([0, m]), v(m), np.ones(1), np.full(1, 0.3), ints([0] * m), stop()),
    "partitions.improve": lambda m: (p(m), v(m), rates(m), ints(range(m)), stop()),
    "poisson_binomial.log_two_sided": lambda m: (np.full(m, 3.0), v(m), v(m), ints([0, m]), ints([2])),
    "poisson_binomial.log_upper_tail": lambda m: (np.full(m, 3.0), v(m), 2, False),
    "regret.support": lambda m: (u(m), np.append(p(m), [0.0, 0.0]), 0.5),
    "regret.hull": lambda m: (p(m), p(m), ints(range(m + 1)), out(m)),
    "regret.penalised_gains": lambda m: (v(m), p(m), p(m), 0.5),
    "regret.places": lambda m: (v(m), v(m), False),
    "regret.running": lambda m: (p(m),),
    "regret_units.most_allowed": allowed,
    "segments.cut": lambda m: (p(m), v(m), rates(m), ints(range(m + 1)), max(m, 1), stop()),
    "identity.add_hashes": lambda m: (words(m), words(2 * m).reshape(m, 2), words(m), ints([m]), out(1, 5)),
    "identity.mix": lambda m: (words(m), out(m)),
    "identity.sample": lambda m: (
        words(m), words(m), words(m), ints([0, 0, 0]), 2, *np.zeros((2, 8, 6), np.uint64).view(Out)
    ),
    "sketching.add_cells": lambda m: (ints(range(m)), np.ones((m, 14)), out(33, 14)),
    "sketching.add_good_rows": lambda m: (
        rates(m), v(m), p(m), ints(range(m)), 4, out(9 * m, 14), ints([0] * 7), out(1)
    ),
    "sketching.add_rows": lambda m: (rates(m), v(m), p(m), 16, out(33, 14)),
    "sketching.add_table": lambda m: (np.ones((m, 14)), out(m, 14)),
    "slopes.gap_prices": lambda m: (v(m), r(m), -v(m)),
    "slopes.one_sided": lambda m: (v(m), r(m), 0.1),
    "smooth.backward": lambda m: (r(m), 0.2, *ranked(m), out(m + 1)),
    "smooth.dual_value": lambda m: (v(m), r(m), r(m + 1)),
    "smooth.forward": lambda m: (v(m), v(m), 0.2, *ranked(m), ints([0] * m), *ranked(m)),
    "smooth.keys_in_place": lambda m: (r(m),),
    "smooth.quantise": lambda m: (v(m), 0.0, 1.0, 3, ints([0] * m, np.uint64)),
    "smooth.ranks": lambda m: (ints(range(m), np.uint64), v(m), 3, *ranked(m)),
    "smooth.witness": lambda m: (v(m), r(m), r(m + 1), ints([0] * m), ints([0] * m), out(m)),
    "softmax.bent_loss": lambda m: (-classes(m), ints(i % 3 for i in range(m)), p(m), 0.8, 0.3),
    "softmax.curved": lambda m: (classes(m), p(m), -classes(m)),
    "softmax.errors": lambda m: (classes(m), ints(i % 3 for i in range(m)), p(m), out(m, 3)),
    "softmax.inverse_temperature_slope": lambda m: (-classes(m), ints(i % 3 for i in range(m)), p(m), 0.8),
    "softmax.softmax_and_loss": lambda m: (-classes(m), ints(i % 3 for i in range(m)), p(m)),
    "softmax.spreads": lambda m: (classes(m), p(m), out(m, 3)),
    "sorting.count_below": lambda m: (v(m).view(np.uint64), ones(m), np.uint64(1 << 62)),
    "sorting.pack_apart": lambda m: (
        v(m).view(np.uint64), ones(m), np.uint64(1 << 63), 0, m, ints([0] * m, np.uint64)
    ),
    "sorting.pack_outcomes": lambda m: (v(m).view(np.uint64), ones(m), ints([0] * m, np.uint64)),
    "sorting.pool": lambda m: (ints(range(0, 2 * m, 2), np.uint64), ints([0] * m, np.uint64), out(m), out(m)),
    "spreading.spread": lambda m: (v(m), r(m), out(9)),
    "squared.pair_sums": lambda m: (ints([0] * m), p(m), r(m), 1),
    "sums.compensated_dot": lambda m: (v(m), r(m)),
    "sums.compensated_sum": lambda m: (v(m),),
    "sums.grouped_sums": lambda m: (v(m), ints([0][:m])),
    "sums.labelled_sums": lambda m: (ints([0] * m), v(m), 1),
    "tcal.resampled_statistics": lambda m: (
        v(m)[:, None], ints([2**52] * m)[:, None], ints([0] * m), ints([1] * m), np.uint64(7), 0, False, out(1, 1)
    ),
    "two_sample.distinct_cells": lambda m: (ints(range(m)), 3),
    "two_sample.crossed_statistics": lambda m: (
        *(ints(i % 2 for i in range(m)) for _ in range(3)), np.full((m, 2), 2**52), ints([1] * m), np.uint64(7), 0,
        out(2, 1),
    ),
    "two_sample.permuted_statistics": lambda m: (
        ints(i % 2 for i in range(m)), ints([1] * m), False, np.uint64(7), 0, out(2, 1)
    ),
    "trees.sums_by_cell": lambda m: (np.zeros((m, 2), np.int64), ints(range(m)), r(m), p(m), out(2, 1, 3)),
    "trees.in_order": lambda m: (leaf(m)[0], m, True, 1.0, ints([0] * (m + 1))),
    "trees.best_cut": lambda m: (leaf(m), ints([m]), np.ones(1, bool), 1.0, 1.0, 0.0, ints([0] * (m + 1)), no(m + 1)),
    "trees.walked": lambda m: (
        np.zeros((m, 1), np.int64),
        ints([[0, 0]]),
        np.ones((1, 2, 1), bool),
        ints([[[1, -2], [-1, -3]]]),
        np.array([[0.1, 0.2, 0.3]])[:, :3],
        out(m),
    ),
    "two_rows.cut_in_step": lambda m: (row(m), row(m), ints(range(m + 1))[:, None] * [1, 1], m, np.inf, 0.0),
    "walks.reach": lambda m: (r(m),),
    "walks.two_bins": lambda m: (v(m), r(m)),
}  # fmt: skip

OF_NUMBERS = {
    "calibration.mix",
    "excursions.squared_evidence",
    "lower_lift.violation_in_gap",
    "lower.kept",
    "regret_units.reached",
    "sketching.fault_of",
    "sums.add",
}  # no columns: their callers are in the table

PRICED = "finds a partition only, whose cost is summed again by measures/distance_lattice.py"
PROVED = "finds one side of a certificate, which measures/lower_check.py proves again: NaN proves nothing"
REFUSED = "reached by a sample's or a door's finite numbers only"
KEYS = "keys come from keys_in_place, whose NaN measures/smooth.py refuses; predictions from a sample"
COUNTED = "rows and keys that are seen to be numbers before the sweep, and what blocks.describe made of them"
FAULTY = "a bad row, which is counted and not added"
BLOCK_COLUMNS = ("v", "outcome", "weight", "start")
UNREAD = "the end of a column that has no gap beyond it, or an entry that nothing asks for"

# By kernel and column: why a NaN there may leave numbers.
QUIET = {
    **{(f"blocks.{kernel}", name): COUNTED for kernel in ("open_rows", "sweep_in_turn") for name in BLOCK_COLUMNS},
    **{("blocks.describe", name): COUNTED for name in BLOCK_COLUMNS[:-1]},
    **{(f"blocks.{kernel}", name): COUNTED for kernel in ("settle", "sweep") for name in ("start", "sums")},
    **{("columns.parts_within", name): PRICED for name in ("mass", "v", "y", "credit")},
    **{
        ("lattice.shortest_path", f"{side}.{name}"): PRICED
        for side in ("zero", "one")
        for name in ("v", "moved", "credit", "rising", "falling")
    },
    **{("lattice.shortest_path", f"corridor.{name}"): PRICED for name in ("budget", "centre")},
    ("lattice.shortest_path", "corridor.other.cost"): UNREAD,
    **{
        (kernel, name): PRICED
        for kernel in ("partitions.by_subsets", "partitions.by_types", "partitions.improve", "segments.cut")
        for name in ("mass", "v", "y")
    },
    **{("two_rows.cut_in_step", f"{row}.{name}"): PRICED for row in ("first", "other") for name in ("v", "sums")},
    ("cells.pool_rows", "v"): REFUSED,
    ("isotonic.pool_adjacent", "x"): REFUSED,
    **{("lower.calibrated_scale", name): PROVED for name in ("u", "lam")},
    **{("lower.coupling_cost", name): UNREAD for name in ("q", "lam")},
    **{("lower.solve", name): PROVED for name in ("u", "p", "q", "state.0", "state.1", "state.2")},
    **{("lower.take", name): PROVED for name in ("u", "inverse")},
    ("lower.none_below_zero", "masses"): PROVED,
    **{("lower.longer", name): PROVED for name in ("u", "s", "z", "step", "dz")},
    ("lower.substitute", "factor"): PROVED,
    **{("lower.predict", name): PROVED for name in ("p", "q", "predicted")},
    ("lower.correct", "factor"): PROVED,
    **{("lower.change", name): PROVED for name in ("p", "q", "step")},
    **{("lower_lift.interpolate", name): PROVED for name in ("v", "u")},
    **{("lower_lift.lower_and_straighten", name): PROVED for name in ("v", "r")},
    **{("lower_lift.lowest_extension", name): PROVED for name in ("v", "mass", "r")},
    **{("lower_lift.quantile_coupling", name): PROVED for name in ("v", "mass", "u", "target")},
    **{("lower_lift.violations", name): PROVED for name in ("v", "r", "u")},
    **{("lower_lift.split_cells", name): PROVED for name in ("v", "choice")},
    ("lower_proof.carry", "target"): "whatever it is, the pieces are within the mass, and their sums are proved",
    **{("lower_proof.extended", name): REFUSED for name in ("nodes", "r")},
    **{("lower_proof.largest_product", name): REFUSED for name in ("places", "r0", "r1")},
    ("lower_lift.tied", "v"): REFUSED,
    **{("excursions.draw_events", name): REFUSED for name in ("prediction", "count")},
    ("excursions.excursions", "out"): REFUSED,
    ("excursions.scores", "evidence"): REFUSED,
    **{("calibration.draw_jointly", name): REFUSED for name in ("chance", "value", "ratio")},
    **{("calibration.redrawn_statistics", name): REFUSED for name in ("units", "wave", "inverse")},
    ("canonical.draw_labels", "cumulative"): REFUSED,
    ("canonical.draw_labels", "uniform"): REFUSED,
    ("canonical.paired_sum", "table"): UNREAD,
    **{(kernel, "table"): REFUSED for kernel in ("classes.add_rows", "classes.largest")},
    **{("regret.support", name): REFUSED for name in ("x", "y")},
    **{("regret.places", name): REFUSED for name in ("x", "at")},
    ("lowess.anchors", "x"): REFUSED,
    ("lowess.local_weights", "x"): REFUSED,
    **{("lowess.bandwidths", name): REFUSED for name in ("x", "count")},
    **{("counting.count_rows", name): FAULTY for name in ("y", "v")},
    **{("sketching.add_good_rows", name): FAULTY for name in ("y", "v", "w")},
    ("sketching.add_rows", "v"): REFUSED,
    ("sketching.add_table", "other"): UNREAD,
    ("slopes.gap_prices", "v"): REFUSED,
    ("slopes.gap_prices", "w"): REFUSED,
    ("slopes.gap_prices", "r"): UNREAD,
    ("slopes.one_sided", "r"): UNREAD,
    ("smooth.backward", "key"): KEYS,
    ("smooth.dual_value", "key"): UNREAD,
    ("smooth.quantise", "key"): KEYS,
    ("smooth.ranks", "key"): KEYS,
    **{("smooth.witness", name): KEYS for name in ("v", "key", "psi")},
    **{(f"sorting.{kernel}", "outcome"): REFUSED for kernel in ("count_below", "pack_apart", "pack_outcomes")},
    ("spreading.spread", "v"): REFUSED,
    ("tcal.resampled_statistics", "component"): REFUSED,
    **{(f"trees.{kernel}", "sums"): REFUSED for kernel in ("in_order", "best_cut")},
    ("trees.walked", "value"): UNREAD,
}

# Called with a sample's predictions or with cells of them, of which there is at least one.
NEED_A_ROW = {
    "lower_lift.cell_masses",
    "lower_lift.split_cells",
    "lower_lift.tied",
    "lower_lift.violations",
    "smooth.forward",
    "smooth.witness",
    "sorting.pool",
}


def floats(arguments, names):
    """Float columns that go in, by name."""
    for name, argument in zip(names, arguments, strict=True):
        if isinstance(argument, tuple):
            inside = getattr(argument, "_fields", range(len(argument)))
            yield from ((f"{name}.{inner}", array) for inner, array in floats(argument, inside))
        elif isinstance(argument, np.ndarray) and argument.dtype == np.float64 and not isinstance(argument, Out):
            yield name, argument


def has_nan(values):
    if isinstance(values, tuple | list):
        return any(has_nan(value) for value in values)
    return isinstance(values, float | np.ndarray) and bool(np.isnan(values).any())


@contextmanager
def in_time():
    def stuck(*_):
        raise AssertionError("does not end")

    before = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(30)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def plain(monkeypatch):
    """Kernels that call kernels call Python."""
    for module in MODULES:
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, name, function.py_func)
            elif name in ("leading_zeros", "trailing_zeros"):
                monkeypatch.setattr(module, name, globals()[name])


def leading_zeros(word):
    return np.uint64(64 - int(word).bit_length())


def trailing_zeros(word):
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def run(name, arguments):
    with in_time(), np.errstate(all="ignore"):
        return KERNELS[name](*arguments)


def test_every_kernel_is_in_the_table():
    assert set(KERNELS) == set(ARGUMENTS) | OF_NUMBERS


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_is_not_a_number_stays_so(name):
    function = KERNELS[name]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for place, (argument, column) in enumerate(floats(ARGUMENTS[name](4), names)):
        seen = set()
        for row in {0, column.size // 2, column.size - 1}:
            arguments = ARGUMENTS[name](4)
            given = [array for _, array in floats(arguments, names)]
            given[place].flat[row] = np.nan
            others = [array for i, array in enumerate(given) if i != place]
            try:
                result = run(name, arguments)
            except (IndexError, ValueError, OverflowError) as problem:
                seen.add(f"stray index: {problem}")  # compiled, it would be read or written to
                continue
            filled = [a for a in arguments if isinstance(a, Out)]
            spread = int(np.isnan(given[place]).sum()) > 1
            said = (
                result is False or spread or has_nan(result if result is not None else ()) or has_nan(filled + others)
            )
            seen.add("" if said else "a number")
        reason = QUIET.get((name, argument))
        if reason is None:
            assert seen == {""}, (argument, seen)
        else:
            assert seen != {""}, f"{argument} gives NaN: no reason is needed"


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_none_and_one_row(name):
    run(name, ARGUMENTS[name](1))
    if name in NEED_A_ROW:
        with pytest.raises(IndexError):
            run(name, ARGUMENTS[name](0))
    else:
        run(name, ARGUMENTS[name](0))


def test_proofs_take_nothing_from_what_is_not_a_number():
    one, bad = np.full(1, 0.5), np.full(1, np.nan)
    for pieces in ((bad, one, one, one), (one, one, bad, one), (one, one, one, bad)):
        assert check_coupling(Coupling(*pieces), [1], [0.5]) == np.inf
    for heights in ((bad, one, one), (one, bad, one), (one, one, bad)):
        assert check_potentials(Potentials(*heights), [1], [0.5]) == 0.0
