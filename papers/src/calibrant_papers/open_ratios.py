"""How near small laws come to the constants of docs/constants.md that are open: searches, every run of them shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.bounds import population as most
from calibrant.measures.interval import interval_calibration_error, random_interval_calibration_error
from calibrant.measures.lower import lower_calibration_certificate
from calibrant_papers.registry import Reproduction, table


@dataclass(frozen=True, eq=False)
class Law:
    """Predictions that increase, with masses that add up to 1 and event rates; `width` where a grid goes with it."""

    v: FloatArray
    mass: FloatArray
    rate: FloatArray
    width: float = 1.0

    def rounded(self) -> Law:
        """As the page prints it: five decimals, without atoms whose mass is then 0."""
        mass = np.round(self.mass / self.mass.sum(), 5)
        kept = mass > 0.0
        v, rate = (np.clip(np.round(each[kept], 5), 0.0, 1.0) for each in (self.v, self.rate))
        return Law(v, mass[kept], rate, round(self.width, 5))


def interval_ratio(law: Law) -> float:
    """Interval error beside the root of the lower distance; at most 3 is proved."""
    return float(interval_calibration_error(law.rate, law.v, sample_weight=law.mass) / _root(law))


def upper_ratio(law: Law) -> float:
    """Upper distance beside the root of the lower distance; at most 1.777 is proved."""
    return _upper(law) / _root(law)


def grid_ratio(law: Law) -> float:
    """Upper distance less the random interval error, in widths, beside c0; at most 1 is proved."""
    random = random_interval_calibration_error(law.rate, law.v, sample_weight=law.mass, width=law.width)
    return float((_upper(law) - random) / (most.SHIFTED * law.width))


def spread_ratio(law: Law) -> float:
    """Distance of predictions from their bin's mean over random shifts, in widths, beside c0; at most 1 is proved.

    The law is one of many periods of length 1, so many that what their ends add vanishes; a bin starts anywhere in one.
    """
    v = np.concatenate([law.v, law.v + 1.0])
    mass = np.concatenate([law.mass, law.mass]) / law.mass.sum()
    turns = np.unique(np.concatenate([[0.0, 1.0], law.v, (law.v - law.width) % 1.0]))
    start = 0.5 * (turns[1:] + turns[:-1])[:, None]
    inside = mass * ((v > start) & (v < start + law.width))
    total = inside.sum(axis=1)
    mean = inside @ v / np.where(total > 0.0, total, 1.0)
    spread = (inside * np.abs(v - mean[:, None])).sum(axis=1)
    return float(np.diff(turns) @ spread) / (law.width**2 * most.SHIFTED)


def _upper(law: Law) -> float:
    """The upper distance: the least cost of all partitions of at most eight atoms, each part moved to its rate."""
    n, mass = law.v.size, law.mass / law.mass.sum()
    sets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    total = sets @ mass
    mean = sets @ (mass * law.rate) / np.where(total > 0.0, total, 1.0)
    cost = (sets * mass * np.abs(law.v - mean[:, None])).sum(axis=1)
    padded = np.append(cost, 0.0)  # a partition with fewer parts than atoms has no set in their place
    return float(padded[_partitions(n)].sum(axis=1).min())


@cache
def _partitions(n: int) -> IntArray:
    """Every partition of n atoms: its parts as numbers whose bits are their atoms, and -1 to fill its row."""
    found: list[list[int]] = [[]]
    for atom in range(n):
        grown = [[*parts, 1 << atom] for parts in found]
        for parts in found:
            grown += [[*parts[:k], part | 1 << atom, *parts[k + 1 :]] for k, part in enumerate(parts)]
        found = grown
    return np.array([parts + [-1] * (n - len(parts)) for parts in found])


def _root(law: Law) -> float:
    return math.sqrt(lower_calibration_certificate(law.rate, law.v, sample_weight=law.mass).upper)


def climbed(ratio: Callable[[Law], float], start: int | Law, steps: int, rng: np.random.Generator) -> Law:
    """The best of a walk that keeps what is better: one atom moves, or all, by steps that shrink as they fail."""
    law = _random(start, rng) if isinstance(start, int) else start
    n = law.v.size
    best, step = ratio(law), 0.2
    for _ in range(steps):
        who = np.arange(n) == rng.integers(n) if rng.random() < 0.6 else np.ones(n, bool)
        moves = step * rng.standard_normal((3, n)) * who
        v, rate = np.clip(law.v + moves[0], 0.0, 1.0), np.clip(law.rate + moves[1], 0.0, 1.0)
        width = min(1.0, law.width * math.exp(step * rng.standard_normal()))
        order = np.argsort(v)
        if np.diff(v[order]).min() < 1e-4:
            continue
        mass = law.mass * np.exp(3.0 * moves[2])
        tried = Law(v[order], (mass / mass.sum())[order], rate[order], width)
        value = ratio(tried)
        better = value > best
        step = min(0.3, 1.5 * step) if better else max(1e-4, 0.97 * step)
        if better:
            law, best = tried, value
    return law


def _random(n: int, rng: np.random.Generator) -> Law:
    v, mass = np.sort(rng.random(n)), rng.dirichlet(np.ones(n))
    rate = rng.integers(0, 5, n) / 4.0 if rng.random() < 0.5 else np.full(n, mass @ v)
    return Law(v, mass, rate, rng.uniform(0.1, 1.0))


def chain(n: int) -> Law:
    """Equal masses at equal distances with residuals of half a distance and turning signs, and bins that hold two."""
    step = 0.8 / n
    v = np.linspace(0.5 - 0.5 * step * (n - 1), 0.5 + 0.5 * step * (n - 1), n)
    return Law(v, np.full(n, 1.0 / n), v + 0.5 * step * np.where(np.arange(n) % 2 == 0, 1.0, -1.0), 2.0 * step)


def programmed(v: FloatArray, signs: FloatArray, interval: float, steps: int, rng: np.random.Generator) -> Law:
    """A law of large interval error: masses of least distance by linear programs, positions by steps that help.

    A program takes positions and signs of all runs' residuals as given, and an interval error that a run of less cost
    would break; the signs that its masses have are those of the next one.
    """
    best, step = _program(v, signs, interval), 0.04
    for _ in range(steps):
        at, aim = v.copy(), interval
        k = int(rng.integers(v.size + 2))
        if k < v.size:
            at[k] += step * rng.standard_normal()
        elif k == v.size:
            aim *= math.exp(step * rng.standard_normal())
        else:
            at += step * rng.standard_normal(v.size)
        at = np.sort(np.clip(at, 0.0, 1.0))
        if np.diff(at).min() < 1e-4:
            continue
        tried = _program(at, signs, aim)
        again = None if tried is None else _program(at, _signs(tried[1]), aim)
        tried = again if tried and again and again[0] < tried[0] else tried
        if tried and (best is None or aim / math.sqrt(tried[0]) > interval / math.sqrt(best[0]) + 1e-7):
            best, v, interval, signs = tried, at, aim, _signs(tried[1])
        else:
            step = max(0.002, 0.985 * step)
    return best[1] if best else Law(v, np.full(v.size, 1.0 / v.size), np.round(v))


def _signs(law: Law) -> FloatArray:
    """Of the residual of each run a..b of atoms, a < b, as if its mass could be 0."""
    total = np.append(0.0, np.cumsum(law.mass * (law.rate - law.v)))
    return np.where(total[None, :] >= total[:, None], 1.0, -1.0)


def _program(v: FloatArray, signs: FloatArray, interval: float) -> tuple[float, Law] | None:
    """Least distance and its law, where no partition into runs costs less than the interval error given."""
    n = v.size
    near = np.concatenate([np.linspace(0.0, 1.0, 25), v, 0.5 * (v[:, None] + v).ravel()])
    places = np.unique(np.round(near, 9))
    to, atom, y = (each.ravel() for each in np.meshgrid(np.arange(places.size), np.arange(n), [0, 1], indexing="ij"))
    flows = to.size
    price = np.append(np.abs(places[to] - v[atom]), np.zeros(n))
    equal = np.zeros((places.size + 2, flows + n))
    equal[to, np.arange(flows)] = y - places[to]  # every place is calibrated
    equal[-2, :flows] = 1.0
    equal[-1, -1] = 1.0  # the cost of the cheapest partition of all atoms
    first, last = np.triu_indices(n)
    least = np.zeros(
        (first.size, flows + n)
    )  # cheapest partitions of the atoms up to b cost no more than by a run a..b
    inside = (atom >= first[:, None]) & (atom <= last[:, None])
    sign = signs[first, last + 1][:, None]
    least[:, :flows] = np.where(inside, -1.0, 0.0) * (sign * (y - v[atom]) + (v[last] - v[first])[:, None])
    least[np.arange(first.size), flows + last] += 1.0
    some = first > 0
    least[np.flatnonzero(some), flows + first[some] - 1] -= 1.0
    right = np.append(np.zeros(places.size), [1.0, interval])
    bounds = [(0.0, None)] * flows + [(None, None)] * n
    found = linprog(price, least, np.zeros(first.size), equal, right, bounds, method="highs")
    if found.status:
        return None
    mass = np.bincount(atom, found.x[:flows], n).astype(np.float64)
    ones = np.bincount(atom, found.x[:flows] * y, n)
    rate = np.divide(ones, mass, out=np.zeros(n), where=mass > 0.0)
    return found.fun, Law(v, mass, np.clip(rate, 0.0, 1.0))


def _any_start(n: int, steps: int, rng: np.random.Generator) -> Law:
    signs = rng.choice([-1.0, 1.0], (n + 1, n + 1))
    return programmed(np.sort(rng.random(n)), signs, rng.uniform(0.4, 0.7), steps, rng)


def _ladder(below: int, above: int, steps: int, rng: np.random.Generator) -> Law:
    """Mass at 0 and at 3/8, and two ladders of small masses: events from 0 to .31, none from 3/8 to .49."""
    v = np.concatenate([np.linspace(0.0, 0.31, below), np.linspace(0.377, 0.49, above)])
    shares = [[0.32], [0.085 / (below - 1)] * (below - 1), [0.4], [0.195 / (above - 1)] * (above - 1)]
    law = Law(v, np.concatenate(shares), np.repeat(np.array([1.0, 0.0]), [below, above]))
    return programmed(v, _signs(law), 0.6266, 2 * steps, rng)


def near_the_root(at: float, step: float) -> Law:
    """Four equal masses whose upper distance comes near to the root of a small distance as they come near to 1."""
    v = at + step * np.array([0.0, 1.0, 3.0, 4.0])
    return Law(v, np.full(4, 0.25), v + 0.5 * step * np.array([1.0, -1.0, -1.0, 1.0]))


Searches = list[tuple[str, Callable[[np.random.Generator], Law]]]


def _searches(ratio: Callable[[Law], float], sizes: tuple[int, ...], runs: int, steps: int) -> Searches:
    return [(f"{n}", partial(climbed, ratio, n, steps)) for n in sizes for _ in range(runs)]


def open_ratios(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """A section a ratio: the best of every run, and the best law."""
    steps = 12 if quick else 120
    starts = (5,) if quick else (5, 5, 5, 7, 7, 7, 9)
    intervals: Searches = [(f"{n}", partial(_any_start, n, steps)) for n in starts]
    ladders = ((3, 2),) if quick else ((6, 5), (8, 7))
    intervals += [(f"{a} + {b}", partial(_ladder, a, b, steps)) for a, b in ladders]
    sizes, runs = ((2, 3), 1) if quick else ((2, 3, 4, 5, 6), 3)
    few = 40 if quick else 1500
    grids = _searches(grid_ratio, sizes, runs, 3 * few)
    grids += [
        (f"chain of {n}", partial(climbed, grid_ratio, chain(n), few)) for n in ((4,) if quick else (3, 4, 5, 6, 7))
    ]
    whole = {
        "Interval error / root of the lower distance": (interval_ratio, intervals, "3"),
        "Upper distance / root of the lower distance": (upper_ratio, _searches(upper_ratio, sizes, runs, few), "1.777"),
        "(Upper distance - R(w)) / (c0 w)": (grid_ratio, grids, "1"),
        "Distance from a bin's mean / (c0 w)": (
            spread_ratio,
            _searches(spread_ratio, sizes if quick else (2, 3, 4, 6, 8, 12), runs, 5 * few),
            "1",
        ),
    }
    parts, bests = [], []
    for k, (title, (ratio, searches, proved)) in enumerate(whole.items()):
        laws = [search(np.random.default_rng([k, j])).rounded() for j, (_, search) in enumerate(searches)]
        values = [ratio(law) for law in laws]
        best = int(np.argmax(values))
        bests.append(values[best])
        atoms: dict[str, list[str]] = {}
        for (name, _), value in zip(searches, values, strict=True):
            atoms.setdefault(name, []).append(f"{value:.4f}")
        parts += [
            f"## {title}\n\nBest: **{values[best]:.4f}**. Proved: at most {proved}.\n",
            table(["atoms", "best of each run"], [[name, ", ".join(each)] for name, each in atoms.items()]),
            _printed(laws[best], with_width=ratio in (grid_ratio, spread_ratio), with_rate=ratio is not spread_ratio),
        ]
    parts += [
        "## Families\n\nUpper distance / root of the lower distance where that is small. Equal masses are at b, b + "
        "t, b + 3t, b + 4t, with event rates off by t/2, -t/2, -t/2, t/2.\n",
        table(["b", "t", "ratio"], [[b, t, upper_ratio(near_the_root(b, t))] for b, t in ((0.9, 0.02), (0.99, 0.001))]),
        "(Upper distance - R(w)) / (c0 w) of chains. There are n equal masses at equal distances of w/2, with event "
        "rates off by w/4, -w/4, w/4 and so on. It is (1 - 1/n) / (4 c0) for even n.\n",
        table(["n", "ratio"], [[n, grid_ratio(chain(n))] for n in (2, 4, 6, 8)]),
    ]
    note = (
        "[Which constants are open](../constants.md). Every run starts from a law that its seed draws, or (a + b) "
        "from two ladders of a and b atoms. It keeps the best that it meets. Those of a chain start from the chain "
        "at the end of the page. Values are those of the law as printed, its masses divided by their sum. `d` is the "
        "upper end of its certificate. c0 = 1/8 + 1/(4 sqrt(3)).\n\nInterval error: masses by linear programs, "
        "positions at random. The rest: steps at random that are kept where they help. The last ratio is of the "
        "lemma behind the third, on laws that repeat with period 1.\n"
    )
    finding = (
        f"These are the largest ratios that searches found. Interval error: {bests[0]:.4f} (3 is proved). Upper "
        f"distance: {bests[1]:.4f} (1.777 is proved). Upper distance less R(w): {bests[2]:.4f} (1 is proved; chains "
        f"tend to {0.25 / most.SHIFTED:.4f}). Its lemma: {bests[3]:.4f} (1 is proved)."
    )
    return Reproduction("Constants that are open: the largest ratios found", finding, "\n".join([note, *parts]))


def _printed(law: Law, with_width: bool, with_rate: bool) -> str:
    columns = {"prediction": law.v, "mass": law.mass, **({"event rate": law.rate} if with_rate else {})}
    rows = [[f"{value:.5f}".rstrip("0").rstrip(".") for value in row] for row in zip(*columns.values(), strict=True)]
    return (f"Its best law, at width w = {law.width:g}:\n\n" if with_width else "Its best law:\n\n") + table(
        list(columns), rows
    )
