"""T-Cal's simulated figures: power against an oscillating miscalibration, estimation, and critical values.

Every curve is the type II error, at level 0.05, of one statistic against P_{1,m}: Z uniform, Y Bernoulli(g_m(Z)), where
g_m oscillates m times about the diagonal. Critical values are Monte Carlo quantiles under P_0, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.inference.testing.tcal import CriticalValue, smooth_scale, tcal_test

LEVEL = 0.05
NORM = 0.0098482  # the l2 norm of the bump
Statistics = Callable[[FloatArray, FloatArray, np.random.Generator], Mapping[str, float]]


def bump(x: FloatArray) -> FloatArray:
    """Evaluate zeta(x) = exp(-1 / (x (1 - x))) on (0, 1), which is 0 elsewhere."""
    inside = (x > 0.0) & (x < 1.0)
    at = np.where(inside, x, 0.5)
    return np.where(inside, np.exp(-1.0 / (at * (1.0 - at))), 0.0)


def oscillation(
    z: FloatArray, m: int, s: float, rho: float, *, two_sided: bool = False, bumps: int | None = None
) -> FloatArray:
    """Evaluate g_m(z) - z of equation (10), m bumps of alternating sign on [1/4, 3/4]; or of (9), one sign a side.

    `bumps`: only so many of them, the first.
    """
    place = 2.0 * m * z - m / 2.0
    j = np.floor(place)
    sign = np.where(j < m // 2, -1.0, 1.0) if two_sided else np.where(j % 2 == 0, 1.0, -1.0)
    inside = (j >= 0) & (j < (m if bumps is None else bumps))
    return np.where(inside, rho * float(m) ** -s * sign * bump(place - j), 0.0)


def plug_in(y: FloatArray, z: FloatArray, m: int) -> dict[str, float]:
    """Debiased, biased and l1 plug-in estimates on m equal bins."""
    cell = np.minimum((z * m).astype(np.int64), m - 1)
    if m > 4 * z.size:  # most bins are empty, and add nothing
        cell = np.unique(cell, return_inverse=True)[1]
    residual = y - z
    count = np.maximum(np.bincount(cell), 1)
    total = np.bincount(cell, residual)
    square = np.bincount(cell, residual * residual)
    n = z.size
    return {
        "debiased": float(((total**2 - square) / count).sum()) / n,
        "biased": float((total**2 / count).sum()) / n,
        "l1": float(np.abs(total).sum()) / n,
    }


def cox_score(y: FloatArray, z: FloatArray) -> float:
    """Score statistic of intercept 0 and slope 1 in a logistic model of the log-odds."""
    x = np.log(z / (1.0 - z))
    spread = z * (1.0 - z)
    score = np.array([(y - z).sum(), (x * (y - z)).sum()])
    information = np.array([[spread.sum(), (spread * x).sum()], [(spread * x).sum(), (spread * x * x).sum()]])
    return float(score @ np.linalg.solve(information, score))


def split_statistics(y: FloatArray, z: FloatArray, m: int, rng: np.random.Generator) -> dict[str, float]:
    """Chi-squared statistics of the sample-splitting test, one way and averaged over both roles of the halves."""
    drawn = rng.random(z.size) < z
    cell = np.minimum((z * m).astype(np.int64), m - 1)
    half = z.size // 2
    first, second = slice(0, half), slice(half, None)
    found = []
    for labels, generated in ((first, second), (second, first)):
        v = np.bincount(cell[labels], y[labels], minlength=m)
        w = np.bincount(cell[generated], drawn[generated], minlength=m)
        found.append(float(((w.sum() * v - v.sum() * w) ** 2).sum()))
    return {"split": found[0], "cross-fitted": (found[0] + found[1]) / 2.0}


@dataclass(frozen=True)
class Curve:
    """A curve with its error bars.

    Attributes
    ----------
    name : str
        Which statistic.
    x : tuple of float
        Number of oscillations m, rows, or what else the figure puts there.
    mean, error : tuple of float
        Mean over the repetitions, and their standard error.
    """

    name: str
    x: tuple[float, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]


def type_two_errors(
    n: int,
    s: float,
    rho: float,
    oscillations: tuple[int, ...],
    statistics: Statistics,
    *,
    draws: int = 1000,
    repeats: int = 10,
    seed: int = 42,
) -> list[Curve]:
    """Simulate the type II error of several statistics on the same draws.

    Parameters
    ----------
    n, s, rho
        Rows, smoothness and height of the oscillation.
    oscillations : tuple of int
        Values of m.
    statistics : callable
        ``(y, z, rng)`` -> name -> value.
    draws, repeats : int
        Draws under the null and under each alternative, and how often all of it is repeated.
    """
    rng = np.random.default_rng(seed)
    missed: dict[str, list[list[float]]] = {}
    for _ in range(repeats):
        null = _draws(n, None, s, rho, statistics, draws, rng)
        critical = {name: np.sort(values)[-round(LEVEL * draws)] for name, values in null.items()}
        rows: dict[str, list[float]] = {name: [] for name in null}
        for m in oscillations:
            for name, values in _draws(n, m, s, rho, statistics, draws, rng).items():
                rows[name].append(float((values < critical[name]).mean()))
        for name, row in rows.items():
            missed.setdefault(name, []).append(row)
    return [
        Curve(
            name,
            tuple(map(float, oscillations)),
            tuple(np.mean(rows, axis=0).tolist()),
            tuple((np.std(rows, axis=0, ddof=1) / np.sqrt(repeats)).tolist() if repeats > 1 else [0.0] * len(rows[0])),
        )
        for name, rows in missed.items()
    ]


def _draws(
    n: int, m: int | None, s: float, rho: float, statistics: Statistics, draws: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    found = []
    for _ in range(draws):
        z = rng.random(n)
        chance = z if m is None else z + oscillation(z, m, s, rho)
        found.append(statistics((rng.random(n) < chance).astype(np.float64), z, rng))
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def figure_2(draws: int = 1000, seed: int = 42) -> dict[str, tuple[float, float]]:
    """Means of the biased and debiased statistics under P_0 and the two-sided P_1: debiasing is necessary."""
    n, s, rho = 10_000, 0.3, 100.0
    m = smooth_scale(n, 2, s)
    rng = np.random.default_rng(seed)
    sums = np.zeros((2, 2))
    for _ in range(draws):
        for hypothesis in (0, 1):
            z = rng.random(n)
            chance = z + hypothesis * oscillation(z, m // 2, s, rho, two_sided=True)
            found = plug_in((rng.random(n) < chance).astype(np.float64), z, m)
            sums[hypothesis] += (found["biased"], found["debiased"])
    means = sums / draws
    return {"biased": (means[0, 0], means[1, 0]), "debiased": (means[0, 1], means[1, 1])}


def figures_3_and_4(n: int, draws: int = 1000, repeats: int = 10) -> list[Curve]:
    """T-Cal beside the biased and l1 statistics on its bins, l1 on 15 bins, and Cox's score test."""
    m_star = smooth_scale(n, 2, 0.6)

    def statistics(y: FloatArray, z: FloatArray, _rng: np.random.Generator) -> Mapping[str, float]:
        found = plug_in(y, z, m_star)
        if n == 10_000:
            found |= {"l1, 15 bins": plug_in(y, z, 15)["l1"], "Cox": cox_score(y, z)}
        return found

    return type_two_errors(n, 0.6, 100.0, tuple(range(40, 191, 10)), statistics, draws=draws, repeats=repeats)


SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000)


def figure_5(
    s: float, rho: float, sizes: tuple[int, ...], *, draws: int = 100, repeats: int = 10, seed: int = 42
) -> Curve:
    """log of the smallest detected error against log n, whose slope should be -2 s / (4 s + 1)."""
    rng = np.random.default_rng(seed)
    found = np.empty((repeats, len(sizes)))
    for repeat in range(repeats):
        for k, n in enumerate(sizes):
            m_star = smooth_scale(n, 2, s)

            def debiased(
                y: FloatArray, z: FloatArray, _rng: np.random.Generator, bins: int = m_star
            ) -> Mapping[str, float]:
                return {"debiased": plug_in(y, z, bins)["debiased"]}

            critical = np.sort(_draws(n, None, s, rho, debiased, draws, rng)["debiased"])[-round(LEVEL * draws)]
            low, high = 1, 4 * m_star  # largest m with a type II error below 0.05, by bisection
            while high - low > 1:
                m = (low + high) // 2
                missed = (_draws(n, m, s, rho, debiased, draws, rng)["debiased"] < critical).mean()
                low, high = (m, high) if missed < LEVEL else (low, m)
            found[repeat, k] = np.log(rho * NORM * float(low) ** -s)
    error = found.std(axis=0, ddof=1) / np.sqrt(repeats)
    return Curve("log error", tuple(np.log(sizes).tolist()), tuple(found.mean(axis=0).tolist()), tuple(error.tolist()))


def theorem_3(
    share: float,
    norms: tuple[float, ...],
    sizes: tuple[int, ...],
    *,
    draws: int = 100,
    repeats: int = 3,
    seed: int = 42,
) -> FloatArray:
    """Smallest detected errors by the paper's l_p norms and sizes, s = 0.5: only a share of the bumps is there.

    So norms differ: at a share q the l_p error is q^(1/p) times that of all bumps. Detected: missed in less than 5%.
    """
    s, rho = 0.5, 50.0
    rng = np.random.default_rng(seed)
    at = (np.arange(100_000) + 0.5) / 100_000
    logs = np.zeros((len(norms), len(sizes)))
    for k, n in enumerate(sizes):
        m_star = smooth_scale(n, 2, s)

        def statistics(m: int | None, bins: int = m_star, n: int = n) -> FloatArray:
            found = []
            for _ in range(draws):
                z = rng.random(n)
                curve = 0.0 if m is None else oscillation(z, m, s, rho, bumps=max(1, round(share * m)))
                found.append(plug_in((rng.random(n) < z + curve).astype(np.float64), z, bins)["debiased"])
            return np.array(found)

        for _ in range(repeats):
            critical = np.sort(statistics(None))[-round(LEVEL * draws)]
            low, high = 1, 4 * m_star
            while high - low > 1:
                m = (low + high) // 2
                low, high = (m, high) if (statistics(m) < critical).mean() < LEVEL else (low, m)
            present = max(1, round(share * low)) / low
            for i, p in enumerate(norms):
                logs[i, k] += np.log(rho * low**-s * (present * np.mean(bump(at) ** p)) ** (1.0 / p)) / repeats
    return np.exp(logs)


def figures_7_and_10(s: float, rho: float, draws: int = 1000, repeats: int = 10) -> list[Curve]:
    """T-Cal beside the sample-splitting test and its cross-fitted version, n = 20,000."""
    n = 20_000
    m_star = smooth_scale(n, 2, s)  # for all: Theorem 19's rate in the samples' own sizes misses the paper's curves

    def statistics(y: FloatArray, z: FloatArray, rng: np.random.Generator) -> Mapping[str, float]:
        return {"T-Cal": plug_in(y, z, m_star)["debiased"], **split_statistics(y, z, m_star, rng)}

    return type_two_errors(n, s, rho, tuple(range(40, 241, 10)), statistics, draws=draws, repeats=repeats)


def figure_8(draws: int = 200, seed: int = 42) -> list[Curve]:
    """Root mean squared error of the statistic as an estimate of the squared error: Y = 1 always, so it is 1/3."""
    rng = np.random.default_rng(seed)
    sizes = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    curves = []
    for s in (0.1, 0.2, 0.4, 0.6, 1.0):
        means, errors = [], []
        for n in sizes:
            m = smooth_scale(n, 2, s)
            off = np.array([plug_in(np.ones(n), rng.random(n), m)["debiased"] - 1.0 / 3.0 for _ in range(draws)])
            means.append(float(np.sqrt((off**2).mean())))
            errors.append(float((off**2).std() / np.sqrt(draws) / (2.0 * means[-1])))
        curves.append(Curve(f"s = {s}", tuple(map(float, sizes)), tuple(means), tuple(errors)))
    return curves


def figure_9(n: int = 1000, trials: int = 10_000, seed: int = 42) -> dict[str, float]:
    """Type I error at level 0.05 of both resamplings with N = 19 resamples, s = 0.6, Z uniform."""
    rng = np.random.default_rng(seed)
    rejections: dict[CriticalValue, int] = {"consistency_resampling": 0, "label_resampling": 0}
    for _ in range(trials):
        z = rng.random(n)
        y = (rng.random(n) < z).astype(np.float64)
        for how in rejections:
            rejections[how] += tcal_test(
                y, z, smoothness=0.6, n_resamples=19, random_state=rng, critical_value=how
            ).reject
    return {str(how): count / trials for how, count in rejections.items()}
