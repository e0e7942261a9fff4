"""Sharp constants between the measures, for one small sample in rational arithmetic: what must hold, and does it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
from scipy.optimize import linprog

from tests import exact
from tests.oracles import two_bin as oracle
from tests.oracles.cutoff import largest_sum

Row = tuple[Fraction, int]


def all_samples(rows: int, parts: int) -> Iterator[tuple[Row, ...]]:
    """Every sample of so many rows with predictions in that many parts of 1."""
    kinds = list(product([Fraction(k, parts) for k in range(parts + 1)], (0, 1)))
    return combinations_with_replacement(kinds, rows)


def is_a_mirror(rows: tuple[Row, ...]) -> bool:
    """Whether its reflection, which has the same values, comes first."""
    return tuple(sorted((1 - v, 1 - y) for v, y in rows)) < rows


def coupling_cost(rows: tuple[Row, ...]) -> Fraction:
    """Cost of a calibrated coupling of the rows, so an upper end of the lower distance.

    A linear program finds which pairs carry mass; how much they carry is solved for in fractions, and checked.
    """
    held: dict[Row, Fraction] = {}
    for row in rows:
        held[row] = held.get(row, Fraction(0)) + Fraction(1, len(rows))
    places = {Fraction(0), Fraction(1)} | {v for v, _ in rows}
    total = len(rows)
    places |= {Fraction(k, m) for m in range(1, total + 1) for k in range(m + 1)}  # means of outcomes
    places |= {(a + b) / 2 for a, b in pairwise(sorted(places))}
    nodes, kinds = sorted(places), sorted(held)
    pairs = [(u, kind) for u in nodes for kind in kinds]
    demands = [[Fraction(kind == each) for _, kind in pairs] for each in kinds]
    demands += [[(kind[1] - u) * (u == node) for u, kind in pairs] for node in nodes]
    right = [held[each] for each in kinds] + [Fraction(0)] * len(nodes)
    price = [abs(u - v) for u, (v, _) in pairs]
    found = linprog(
        np.array(price, float), A_eq=np.array(demands, float), b_eq=np.array(right, float), method="highs-ds"
    )
    used = [j for j, mass in enumerate(found.x) if mass > 1e-9]
    masses = _solved([[row[j] for j in used] for row in demands], right)
    assert all(mass >= 0 for mass in masses)
    return sum((price[j] * mass for j, mass in zip(used, masses, strict=True)), Fraction(0))


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The one solution of equations, by elimination; asserts that there is one."""
    rows = [[*map(Fraction, row), value] for row, value in zip(matrix, right, strict=True)]
    wide = len(matrix[0])
    for j in range(wide):
        pivot = next(i for i in range(j, len(rows)) if rows[i][j])
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j]:
                rows[i] = [x - row[j] * y for x, y in zip(row, rows[j], strict=True)]
    assert not any(row[wide] for row in rows[wide:])
    return [row[wide] for row in rows[:wide]]


def isotonic(rows: tuple[Row, ...]) -> dict[Fraction, Fraction]:
    """Best increasing map of the predictions, by pooling neighbours that are out of order."""
    blocks: list[tuple[list[Fraction], int, int]] = []
    for v in sorted({v for v, _ in rows}):
        outcomes = [y for u, y in rows if u == v]
        blocks.append(([v], sum(outcomes), len(outcomes)))
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            (a, x, m), (b, z, n) = blocks[-2:]
            blocks[-2:] = [(a + b, x + z, m + n)]
    return {v: Fraction(ones, n) for values, ones, n in blocks for v in values}


def regret_at(rows: tuple[Row, ...], t: Fraction, above: bool) -> Fraction:
    """What the best cut gains over acting where v >= t; `above`: the limit from above, where v = t no longer acts."""
    gain = {v: sum((y - t for u, y in rows if u >= v), Fraction(0)) for v, _ in rows}
    acts = sum((y - t for v, y in rows if (v > t if above else v >= t)), Fraction(0))
    return (max(Fraction(0), *gain.values()) - acts) / len(rows)


def costs(rows: tuple[Row, ...]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Miscalibration part of the Brier score, twice the integral of regret, decision loss, largest regret."""
    n, fit = len(rows), isotonic(rows)
    brier = sum(((y - v) ** 2 - (y - fit[v]) ** 2 for v, y in rows), Fraction(0)) / n
    # Between these the regret is linear, with limits of its own at either end.
    turns = sorted({Fraction(0), Fraction(1), *fit, *fit.values()})
    points = [(t, max(regret_at(rows, t, above=False), regret_at(rows, t, above=True))) for t in turns]
    area = sum(
        ((b - a) * (regret_at(rows, a, above=True) + regret_at(rows, b, above=False)) / 2 for a, b in pairwise(turns)),
        Fraction(0),
    )
    half = Fraction(1, 2)
    envelope = max(
        x if s == half else (x * (t - half) + z * (half - s)) / (t - s)
        for s, x in points
        for t, z in points
        if s == half or s < half < t
    )
    return brier, 2 * area, 2 * envelope, max(x for _, x in points)


def upper_distance(rows: tuple[Row, ...]) -> Fraction:
    """Least cost of moving each part of a partition of the distinct predictions to its mean outcome."""
    distinct = sorted({v for v, _ in rows})

    def cost(parts: list[list[Fraction]]) -> Fraction:
        total = Fraction(0)
        for part in parts:
            inside = [(v, y) for v, y in rows if v in part]
            mean = Fraction(sum(y for _, y in inside), len(inside))
            total += sum((abs(v - mean) for v, _ in inside), Fraction(0))
        return total / len(rows)

    def partitions(values: list[Fraction]) -> Iterator[list[list[Fraction]]]:
        if not values:
            yield []
            return
        for rest in partitions(values[1:]):
            yield [[values[0]], *rest]
            for at in range(len(rest)):
                yield [*rest[:at], [values[0], *rest[at]], *rest[at + 1 :]]

    return min(cost(parts) for parts in partitions(distinct))


def broken(rows: tuple[Row, ...]) -> list[str]:
    """What does not hold of this sample; empty where all does."""
    share = Fraction(1, len(rows))
    weighed = [(v, y, share) for v, y in rows]
    l1, squared = oracle.integrals(weighed)
    smooth = exact.smooth_calibration_error([y for _, y in rows], [v for v, _ in rows])
    cutoff, upper = largest_sum(weighed), coupling_cost(rows)
    brier, area, loss, regret = costs(rows)
    apart, room = upper_distance(rows) - upper, upper * (1 - upper)
    beyond = apart**2 - room  # at most 2 / sqrt(3) times the room: squared, without roots
    held = {
        "upper distance <= d + 1.468 sqrt(d (1 - d))": apart <= 0 or beyond <= 0 or 3 * beyond**2 <= 4 * room**2,
        "lower distance <= l1": upper <= l1,
        "lower distance <= 2 smooth": upper <= 2 * smooth,
        "smooth / 2 and l1 / 3 are values of potentials": max(smooth / 2, l1 / 3, squared) <= upper,
        "l1 <= 2 smooth": l1 <= 2 * smooth,
        "smooth <= 3/2 l1": smooth <= Fraction(3, 2) * l1,
        "smooth <= 3/2 cutoff": smooth <= Fraction(3, 2) * cutoff,
        "l1 <= 2 cutoff": l1 <= 2 * cutoff,
        "l1^2 / 2 <= l2^2 <= l1 cutoff": l1**2 / 2 <= squared <= l1 * cutoff,
        "smooth^2 <= Brier": smooth**2 <= brier,
        "Brier = 2 integral of regret": brier == area,
        "Brier <= decision loss": brier <= loss,
        "decision loss <= 2 cutoff": loss <= 2 * cutoff,
        "regret <= cutoff": regret <= cutoff,
    }
    return [words for words, holds in held.items() if not holds]
