"""True distance of any domain with few elements or few types: exact dynamic programs (docs/distance-general.md)."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels import partitions
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock

_SUBSETS = 16  # elements: 3**16 pairs take a fifth of a second
_BOXES = 4e9  # pairs of a state and a part that are affordable
_STATES = 2e7


def exact_partition(mass: FloatArray, v: FloatArray, y: FloatArray, clock: Clock) -> IntArray | None:
    """Part of each element in a cheapest partition, or None where no program is affordable or the time is up."""
    if v.size > _SUBSETS:
        return partition_by_types(mass, v, y, clock)
    label = np.empty(v.size, np.int64)
    return label if clock.run(partitions.by_subsets, mass, v, y, label, clock.stop) else None


def partition_by_types(mass: FloatArray, v: FloatArray, y: FloatArray, clock: Clock) -> IntArray | None:
    """Part of each element in a cheapest partition, or None where elements are of too many types."""
    n = v.size
    # Elements of one type, mass and outcome, keep their order in some cheapest partition (Lemma 4).
    order = np.lexsort((v, y, mass))
    changes = np.diff(mass[order]), np.diff(y[order])
    first = np.append(np.flatnonzero(np.append(True, (changes[0] != 0.0) | (changes[1] != 0.0))), n)
    counts = np.diff(first).astype(np.float64)
    states = np.log(counts + 1.0).sum()  # logarithms, because the numbers overflow
    boxes = states + np.log(0.5 * counts + 1.0).sum()
    if states > math.log(_STATES) or boxes > math.log(_BOXES):
        return None
    of_type = mass[order][first[:-1]], y[order][first[:-1]]
    sorted_label = np.empty(n, np.int64)
    if not clock.run(partitions.by_types, first, v[order], *of_type, sorted_label, clock.stop):
        return None
    label = np.empty(n, np.int64)
    label[order] = sorted_label
    return label
