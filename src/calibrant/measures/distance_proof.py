"""Proof by a partition of a domain, rounded outwards by more than arithmetic can have erred (docs/distance.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.door.sample import Sample
from calibrant.kernels.sums import compensated_dot, compensated_sum, labelled_sums
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.lower_check import UNIT


@dataclass(frozen=True, slots=True, eq=False)
class PartitionDomain:
    """Elements of positive mass, with their masses as given and as shares.

    Attributes
    ----------
    weight, weighted_outcome : ndarray of shape (n,)
        Sums of w and w * y over an element's rows, in the user's own units.
    mass, v, y : ndarray of shape (n,)
        Shares of the weight, predictions and mean outcomes.
    rows : int
        Rows that were pooled into the elements.
    """

    weight: FloatArray
    weighted_outcome: FloatArray
    mass: FloatArray
    v: FloatArray
    y: FloatArray
    rows: int


def domain_of_rows(weight: FloatArray, v: FloatArray, y: FloatArray) -> PartitionDomain:
    """Every row an element."""
    return PartitionDomain(weight, weight * y, weight / compensated_sum(weight), v, y, v.size)


def domain_of_predictions(sample: Sample) -> tuple[NDArray[np.bool_], PartitionDomain]:
    """Return the mask of distinct predictions that carry weight, and the domain of these."""
    mass = sample.mass()
    carries = mass > 0.0
    weight, weighted_outcome = sample.weight[carries], sample.weighted_outcome[carries]
    y = np.minimum(weighted_outcome / weight, 1.0)
    return carries, PartitionDomain(
        weight, weighted_outcome, mass[carries], sample.prediction[carries], y, sample.n_rows
    )


def part_means(domain: PartitionDomain, labels: IntArray) -> FloatArray:
    """Mean outcome of each element's part, shape (n,)."""
    parts = int(labels.max()) + 1
    total = labelled_sums(labels, domain.weight, parts)
    ones = labelled_sums(labels, domain.weighted_outcome, parts)
    mean = np.divide(ones, total, out=np.zeros(parts), where=total > 0.0)
    return np.asarray(np.minimum(mean, 1.0)[labels], dtype=np.float64)


def cost_of_partition(domain: PartitionDomain, labels: IntArray) -> tuple[float, float]:
    """Lower and upper bound of what it costs to move each part, numbered from 0, to its mean outcome."""
    total = compensated_sum(domain.weight)
    moved = compensated_dot(domain.weight, np.abs(domain.v - part_means(domain, labels))) / total
    if moved == 0.0 and not domain.v.any() and not domain.y.any():
        return 0.0, 0.0
    scale = moved + compensated_sum(domain.weighted_outcome) / total
    rounding = (12.0 * UNIT + 8.0 * (domain.rows * UNIT) ** 2) * scale + 1e-150
    return max(0.0, moved - rounding), moved + rounding


def rounding_of_program(n: int) -> float:
    """More than a cheapest partition can cost less than the one that an exact program found, each sum being rounded."""
    return (16.0 * n + 128.0) * UNIT


def rounding_of_paths(n: int, tallest: float) -> float:
    """More than the shortest path's length, a share of n elements' mass, can have been overrated."""
    return (32.0 * n + 128.0) * UNIT * (1.0 + tallest) + 2e-12 + grain_of_paths(n)


def grain_of_paths(n: int) -> float:
    """More than rounding makes of a step whose length is 0, in units of one element's mass."""
    return 16.0 * n * UNIT + 1e-13


def rounding_of_cover(n: int, tallest: float) -> float:
    """More than the cost of a cover by parts within a budget can have been overrated."""
    return 1e-14 * n * (1.0 + tallest)
