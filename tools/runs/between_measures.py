"""Every line of docs/constants.md on small laws in fractions, from the definitions; no line of the library is used."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.special import erf

from runs import Found

WHAT = (
    "Laws of one to six predictions with rational masses and event rates, atoms at 0 and 1, predictions 1e-9 apart, a "
    "few events moved, one rate everywhere. In fractions; exponentials, roots and integrals between ends. A finding is "
    "a line of docs/constants.md that does not hold, or that the ends leave open by more than 1e-6."
)
SMALL = 40

Law = list[tuple[Fraction, Fraction, Fraction]]
"""Prediction, mass and event rate: predictions increase, masses add up to 1."""
_FINE = 1 << 100
_OPEN = Fraction(1, 10**6)


def law_of(pieces: list[tuple[Fraction, Fraction, Fraction]]) -> Law:
    """Equal predictions pooled, masses made to add up to 1."""
    mass: dict[Fraction, Fraction] = {}
    ones: dict[Fraction, Fraction] = {}
    for v, m, p in pieces:
        mass[v] = mass.get(v, Fraction(0)) + m
        ones[v] = ones.get(v, Fraction(0)) + m * p
    total = sum(mass.values())
    return [(v, mass[v] / total, ones[v] / mass[v]) for v in sorted(mass)]


def draw(rng: random.Random) -> Law:
    """A law of one of the kinds."""
    n, parts = rng.randint(1, 6), rng.choice([2, 4, 5, 10, 12, 30, 1000])
    kind = rng.choice(["any", "any", "outcomes", "one rate", "near", "moved", "ends", "halved"])
    v = [Fraction(rng.randint(0, parts), parts) for _ in range(n)]
    mass = [Fraction(rng.randint(1, rng.choice([1, 3, 50]))) for _ in range(n)]
    rate = [Fraction(rng.randint(0, 8), 8) for _ in range(n)]
    if kind == "outcomes":
        rate = [Fraction(rng.randint(0, 1)) for _ in range(n)]
    elif kind == "one rate":
        rate = [rate[0]] * n
    elif kind == "near":
        v = [min(Fraction(1), v[0] + Fraction(k, 10**9)) for k in range(n)]
    elif kind == "ends":
        v = [rng.choice([Fraction(0), Fraction(1), each]) for each in v]
    elif kind == "halved":  # rates half way to the prediction
        rate = [(p + x) / 2 for p, x in zip(rate, v, strict=True)]
    if kind == "moved":  # calibrated, then the events moved a little
        at = Fraction(rng.randint(1, 30), 100)
        step = at * Fraction(rng.randint(1, 20), 100)
        return law_of([(at, 1 - at, Fraction(0)), (at + step, at, Fraction(1))])
    return law_of(list(zip(v, mass, rate, strict=True)))


# ---- the lower distance, between a coupling and potentials


def lower_distance(law: Law) -> tuple[Fraction, Fraction]:
    """Both ends: a linear program finds the proofs in floating point, what they prove is added up in fractions."""
    kinds = [(v, y, m * (p if y else 1 - p)) for v, m, p in law for y in (0, 1) if m * (p if y else 1 - p)]
    places = sorted({Fraction(0), Fraction(1), *(v for v, _, _ in law), *(p for _, _, p in law)})
    low = Fraction(0)
    while True:
        found = _solved(kinds, places)
        potentials = [Fraction(round(float(r) * 2**50), 2**50) for r in found.eqlin.marginals[: len(kinds)]]
        over, worst = _over(kinds, potentials)
        low = max(low, sum((m * r for (_, _, m), r in zip(kinds, potentials, strict=True)), Fraction(0)) - over)
        new = {u for value, u in worst if value > Fraction(1, 10**10)} - set(places)
        if not new or len(places) > 200:
            return low, max(low, _moved(kinds, places, found.x))
        places = sorted({*places, *new})


def _solved(kinds: list[tuple[Fraction, int, Fraction]], places: list[Fraction]):
    u = np.array(places, float)
    v, y, m = (np.array(each, float) for each in zip(*kinds, strict=True))
    price = np.abs(u[:, None] - v).ravel()
    goes = np.tile(np.eye(len(kinds)), len(places))
    fits = np.zeros((len(places), len(places), len(kinds)))
    fits[np.arange(len(places)), np.arange(len(places))] = y - u[:, None]
    equal = np.vstack([goes, fits.reshape(len(places), -1)])
    return linprog(price, A_eq=equal, b_eq=np.append(m, np.zeros(len(places))), method="highs-ds")


def _over(kinds: list[tuple[Fraction, int, Fraction]], r: list[Fraction]) -> tuple[Fraction, list]:
    """The largest u r1(u) + (1 - u) r0(u), r_y the highest tent over the potentials, and where it is large."""
    tents: list[list[tuple[Fraction, Fraction]]] = [[], []]
    for (v, y, _), height in zip(kinds, r, strict=True):
        tents[y].append((v, height))
    bends = {Fraction(0), Fraction(1), *(v for v, _, _ in kinds)}
    for own in tents:  # where a falling side crosses a rising one
        bends |= {(a + b + h - g) / 2 for a, h in own for b, g in own if a < b and abs(h - g) < b - a}
    ends = sorted(u for u in bends if 0 <= u <= 1)

    def at(u: Fraction) -> Fraction:
        zero, one = (max((h - abs(u - v) for v, h in own), default=Fraction(-2)) for own in tents)
        return u * one + (1 - u) * zero

    found = [(at(u), u) for u in ends]
    for a, b in pairwise(ends):
        middle = (a + b) / 2
        bend = 2 * (at(a) + at(b) - 2 * at(middle)) / (b - a) ** 2  # it is a parabola between bends
        if bend < 0:
            top = middle - (at(b) - at(a)) / (b - a) / (2 * bend)
            if a < top < b:
                top = Fraction(round(top * 10**9), 10**9)
                found += [(at(top), top), (at(top) + Fraction(1, 10**17), top)]  # |bend| is at most 2, off by 5e-10
    return max(Fraction(0), *(value for value, _ in found)), found


def _moved(kinds: list[tuple[Fraction, int, Fraction]], places: list[Fraction], x: np.ndarray) -> Fraction:
    """Cost of a calibrated coupling near to this one: what does not fit goes to its outcome."""
    mass = [[Fraction(round(max(0.0, each) * 2**60), 2**60) for each in row] for row in x.reshape(len(places), -1)]
    for k, (_, _, m) in enumerate(kinds):  # no kind gives more than it has
        given = sum(row[k] for row in mass)
        if given > m:
            for row in mass:
                row[k] *= m / given
    cost, left = Fraction(0), [m for _, _, m in kinds]
    for u, row in zip(places, mass, strict=True):
        sides = [sum((a for a, (_, y, _) in zip(row, kinds, strict=True) if y == side), Fraction(0)) for side in (0, 1)]
        ones = min(sides[1], sides[0] * u / (1 - u)) if u < 1 else sides[1]
        zeros = min(sides[0], sides[1] * (1 - u) / u) if u > 0 else sides[0]
        for k, (v, y, _) in enumerate(kinds):
            part = row[k] * (ones if y else zeros) / sides[y] if sides[y] else Fraction(0)
            cost += part * abs(u - v)
            left[k] -= part
    return cost + sum((m * abs(y - v) for m, (v, y, _) in zip(left, kinds, strict=True)), Fraction(0))


# ---- the others, from their definitions


def residuals(law: Law) -> list[Fraction]:
    return [m * (p - v) for v, m, p in law]


def smooth_error(law: Law) -> Fraction:
    """Corners of the set of witnesses hang from -1 or 1 by steps as large as they may be: the best chain of those."""
    scale = math.lcm(*(v.denominator for v, _, _ in law))
    gaps = [int((b[0] - a[0]) * scale) for a, b in pairwise(law)]

    def hung(steps: list[int]) -> list[set[int]]:
        sets = [{-scale, scale}]
        for gap in steps:
            near = {h + sign * gap for h in sets[-1] for sign in (-1, 1)}
            sets.append({h for h in near if -scale <= h <= scale} | {-scale, scale})
        return sets

    heights = [a | b for a, b in zip(hung(gaps), hung(gaps[::-1])[::-1], strict=True)]
    b = residuals(law)
    unit = math.lcm(*(each.denominator for each in b))
    whole = [int(each * unit) for each in b]
    best = {h: whole[0] * h for h in heights[0]}
    for gap, own, residual in zip(gaps, heights[1:], whole[1:], strict=True):
        reached = ((h, [x for g, x in best.items() if abs(h - g) <= gap]) for h in own)
        best = {h: max(values) + residual * h for h, values in reached if values}
    return Fraction(max(best.values()), unit * scale)


def interval_error(law: Law) -> Fraction:
    """Over all partitions of the predictions into runs of neighbours."""
    n, b = len(law), residuals(law)
    costs = []
    for k in range(n):
        for cuts in combinations(range(1, n), k):
            runs = list(pairwise([0, *cuts, n]))
            width = sum(sum(m for _, m, _ in law[i:j]) * (law[j - 1][0] - law[i][0]) for i, j in runs)
            costs.append(width + sum(abs(sum(b[i:j])) for i, j in runs))
    return min(costs)


def upper_distance(law: Law) -> Fraction:
    """Over all partitions of the predictions."""

    def partitions(own: Law) -> Iterator[list[Law]]:
        if not own:
            yield []
            return
        for rest in partitions(own[1:]):
            yield [[own[0]], *rest]
            for k, part in enumerate(rest):
                yield [*rest[:k], [own[0], *part], *rest[k + 1 :]]

    @cache
    def cost(part: tuple) -> Fraction:
        mean = sum(m * p for _, m, p in part) / sum(m for _, m, _ in part)
        return sum((m * abs(v - mean) for v, m, _ in part), Fraction(0))

    return min(sum(cost(tuple(part)) for part in parts) for parts in partitions(law))


def binned(law: Law, width: Fraction, shift: Fraction) -> tuple[Fraction, Fraction]:
    """Binned error on a grid, and how far predictions are from their bin's mean, on average."""
    bins: dict[int, Law] = {}
    for each in law:
        bins.setdefault(math.floor((each[0] - shift) / width), []).append(each)
    error = spread = Fraction(0)
    for own in bins.values():
        mean = sum(m * v for v, m, _ in own) / sum(m for _, m, _ in own)
        error += abs(sum(residuals(own)))
        spread += sum(m * abs(v - mean) for v, m, _ in own)
    return error, spread


def over_shifts(law: Law, width: Fraction) -> tuple[Fraction, Fraction]:
    """Means of both over a random shift: between two shifts at which a prediction changes bins nothing changes."""
    turns = sorted({Fraction(0), width, *(v % width for v, _, _ in law)})
    error = spread = Fraction(0)
    for a, b in pairwise(turns):
        own = binned(law, width, (a + b) / 2)
        error, spread = error + (b - a) * own[0] / width, spread + (b - a) * own[1] / width
    return error, spread


@cache
def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """exp(-x) for x from 0 to 1, between two partial sums of its alternating series."""
    term, total = Fraction(1), Fraction(0)
    for k in range(31):
        total += term
        term *= -x / (k + 1)
    return Fraction(math.floor((total + term) * _FINE), _FINE), Fraction(math.ceil(total * _FINE), _FINE)


def squared_kernel_error(law: Law) -> tuple[Fraction, Fraction]:
    low = high = Fraction(0)
    both = list(zip(law, residuals(law), strict=True))
    for (u, _, _), a in both:
        for (v, _, _), b in both:
            ends = [a * b * each for each in exponential(abs(u - v))]
            low, high = low + min(ends), high + max(ends)
    return low, high


def at_most_convolved(law: Law, sigma: float, cells: int = 4096) -> float:
    """No less than the integral of |E (y - v) K(t, v)|: exact where the sign is proved to be one, else an allowance."""
    t, h = np.linspace(0.0, 1.0, cells + 1), 1.0 / cells
    f, change, bend, area = np.zeros(cells + 1), np.zeros(cells + 1), np.zeros(cells + 1), np.zeros(cells + 1)
    for v, b in zip((float(v) for v, _, _ in law), map(float, residuals(law)), strict=True):
        for image in (sign * v + 2 * k for k in range(-3, 4) for sign in (-1, 1)):  # sigma is at most 0.6
            z = (t - image) / sigma
            gauss = np.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi))
            f, change, area = f + b * gauss, change - b * z * gauss / sigma, area + 0.5 * b * erf(z / math.sqrt(2))
            near = np.maximum(0.0, np.abs(z) - h / sigma)
            bend += (
                abs(b)
                * (1 + (np.abs(z) + h / sigma) ** 2)
                * np.exp(-0.5 * near**2)
                / (sigma**3 * math.sqrt(2 * math.pi))
            )
    slope = np.abs(change) + h * bend  # on both cells beside t
    one_sign = np.abs(f[:-1]) > h * slope[:-1]
    most = np.where(one_sign, np.abs(np.diff(area)), h * (np.abs(f[:-1]) + h * slope[:-1]))
    return float(most.sum() + 1e-12)


# ---- the lines of the page


def root(x: Fraction) -> tuple[Fraction, Fraction]:
    """Ends of a square root."""
    whole = math.isqrt(x.numerator * _FINE**2 // x.denominator)
    return Fraction(whole, _FINE), Fraction(whole + 1, _FINE)


_C0 = tuple(Fraction(1, 8) + each / 12 for each in root(Fraction(3)))
_TWO_OVER_PI = Fraction(63661977236758134307553505349005745, 10**35)  # rounded up


def lines(
    law: Law, d: tuple[Fraction, Fraction], widths: list[Fraction], sigma: Fraction
) -> Iterator[tuple[str, Fraction, Fraction, Callable]]:
    """Name, left side's lower and upper end, and the right side as a function that grows with the lower distance."""
    s, kernel, upper, interval = smooth_error(law), squared_kernel_error(law), upper_distance(law), interval_error(law)
    d_times = lambda factor: lambda d, end: d + root(factor * d * max(0, 1 - d))[end]  # noqa: E731
    yield "s^2 <= 2 kCE^2", s * s, s * s, lambda _, end: 2 * kernel[end]
    yield "kCE^2 <= d", *kernel, lambda d, _: d
    yield "s <= 2 d", s, s, lambda d, _: 2 * d
    yield "upper <= d + 1.468 sqrt(d (1 - d))", upper, upper, lambda d, end: d_times(8 * _C0[end])(d, end)
    yield "upper <= 1.777 sqrt(d)", upper, upper, lambda d, end: Fraction(1777, 1000) * root(d)[end]
    yield "upper <= sqrt(d), which is open", upper, upper, lambda d, end: root(d)[end]
    yield "interval <= d + sqrt(8 d (1 - d))", interval, interval, d_times(Fraction(8))
    yield "interval <= 3 sqrt(d)", interval, interval, lambda d, end: 3 * root(d)[end]
    if all(p >= v for v, _, p in law) or all(p <= v for v, _, p in law):
        yield "upper = d where rates are on one side", upper, upper, lambda d, _: d
    for width in widths:
        shifted, spread = over_shifts(law, width)
        for shift in (Fraction(0), width / 3):
            error, _ = binned(law, width, shift)
            yield "upper <= binned + w / 2", upper, upper, lambda *_, e=error, w=width: e + w / 2
            yield "s <= binned + w (1 + w) / 4", s, s, lambda *_, e=error, w=width: e + w * (1 + w) / 4
        yield "spread <= c0 w", spread, spread, lambda _, end, w=width: _C0[end] * w
        yield "upper <= R(w) + c0 w", upper, upper, lambda _, end, e=shifted, w=width: e + _C0[end] * w
        yield "s <= R(w) + w / 4", s, s, lambda *_, e=shifted, w=width: e + w / 4
        yield "interval <= R(w) + w", interval, interval, lambda *_, e=shifted, w=width: e + w
        yield "R(w) <= d + 2 d (1 - d) / w", shifted, shifted, lambda d, _, w=width: d + 2 * d * (1 - d) / w
    convolved = Fraction(at_most_convolved(law, float(sigma)))
    if convolved > d[0] * (1 + Fraction(79, 100) / sigma):
        convolved = Fraction(at_most_convolved(law, float(sigma), cells=40_960))
    yield (
        "convolved at sigma <= d + c d / sigma",
        convolved,
        convolved,
        lambda d, end: d + root(_TWO_OVER_PI)[end] * d / sigma,
    )


def judge(law: Law, widths: list[Fraction], sigma: Fraction) -> dict[str, tuple[str, Fraction]]:
    """Of each line whether it is proved of this law, open within the enclosures, or false; and what is left."""
    d = lower_distance(law)
    verdicts: dict[str, tuple[str, Fraction]] = {}
    low_smooth = smooth_error(law)
    verdicts["d <= 2 s"] = ("false" if d[0] > 2 * low_smooth else "proved", Fraction(0))
    for name, low, high, right in lines(law, d, widths, sigma):
        # R's bound grows up to its vertex only; both ends of d are taken there.
        rights = sorted(right(each, end) for each in d for end in (0, 1))
        verdict = "proved" if high <= rights[0] else "false" if low > rights[-1] else "open"
        if "convolved" in name and verdict == "false":
            verdict = "open"  # the left side is an upper end
        found = verdict, high - rights[0]
        verdicts[name] = max(found, verdicts.get(name, found), key=lambda each: (_RANK[each[0]], each[1]))
    return verdicts


_RANK = {"proved": 0, "open": 1, "false": 2}


def one(rng: random.Random) -> dict[str, tuple[str, Fraction]]:
    law = draw(rng)
    widths = [Fraction(1, rng.randint(2, 15)), Fraction(rng.randint(1, 40), 20)]
    return judge(law, widths, Fraction(rng.choice([2, 5, 10, 25, 60]), 100))


def run(cases: int, seed: int) -> Found:
    """So many laws."""
    findings = []
    for case in range(cases):
        for name, (verdict, left) in one(random.Random(seed * 1_000_003 + case)).items():
            if verdict == "false" or (verdict == "open" and left > _OPEN):
                findings.append(f"{name}: {verdict} by {float(left):.3g}, case {case}")
    return Found(cases, findings)
