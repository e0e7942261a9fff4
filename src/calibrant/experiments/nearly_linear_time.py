"""Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time (NeurIPS 2024), computed again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from calibrant import synthetic
from calibrant.experiments.registry import Reproduction, table
from calibrant.measures.convolved import convolved_calibration_error
from calibrant.measures.lower import lower_calibration_distance
from calibrant.measures.smooth import smooth_calibration_error

FloatArray = npt.NDArray[np.float64]
Measure = Callable[[FloatArray, FloatArray], float]

_SHIFT = 0.01
_SMOOTH, _LOWER, _CONVOLVED = "smooth error", "lower distance", "convolved error"


def _lower(y_true: FloatArray, y_prob: FloatArray) -> float:
    return lower_calibration_distance(y_true, y_prob, tol=1e-6)


_MEASURES: dict[str, Measure] = {
    _SMOOTH: smooth_calibration_error,
    _LOWER: _lower,
    _CONVOLVED: convolved_calibration_error,
}
_TABLE_1 = {
    _SMOOTH: ("0.07", "0.05", "0.03", "0.03", "0.01", "0.01"),
    _LOWER: ("0.03", "0.01", "0.01", "-", "-", "-"),
    _CONVOLVED: ("0.1", "0.1", "0.07", "0.07", "0.05", "0.03"),
}
# Medians and quartiles at k = 5 to 11 (lower distance: to 8), as stored in the authors' notebooks.
_FIGURE_3: dict[str, dict[str, tuple[float, ...]]] = {
    _SMOOTH: {
        "median": (0.05393, 0.04303, 0.03538, 0.01867, 0.01617, 0.01230, 0.01100),
        "lower quartile": (0.03430, 0.02804, 0.01910, 0.01220, 0.00992, 0.00745, 0.00739),
        "upper quartile": (0.08651, 0.05965, 0.05081, 0.03423, 0.02341, 0.01989, 0.01743),
    },
    _LOWER: {
        "median": (0.04362, 0.04379, 0.03450, 0.01974),
        "lower quartile": (0.03187, 0.03140, 0.02056, 0.01185),
        "upper quartile": (0.06480, 0.06912, 0.04453, 0.03300),
    },
    _CONVOLVED: {
        "median": (0.09161, 0.07728, 0.06294, 0.04931, 0.03828, 0.03018, 0.02467),
        "lower quartile": (0.07657, 0.06414, 0.05409, 0.04347, 0.03444, 0.02713, 0.02218),
        "upper quartile": (0.10755, 0.09303, 0.07001, 0.05500, 0.04409, 0.03291, 0.02731),
    },
}
_TABLE_3 = {
    "CVXPY": (0.105, 0.370, 1.58, 6.51, 45.7, 245.0),
    "Gurobi": (0.063, 0.179, 0.238, 0.539, 1.45, 3.19),
    "the authors' dynamic program": (0.177, 0.389, 0.899, 2.01, 4.66, 10.6),
    "the same under PyPy": (0.079, 0.115, 0.176, 0.307, 0.621, 2.05),
}


def table_1(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Table 1: the smallest distance at which most runs of a tester say yes, by sample size."""
    levels = (0.1, 0.07, 0.05, 0.03, 0.01, 0.007, 0.005, 0.003, 0.001)
    powers, runs, repeats = ((6, 7), 11, 1) if quick else (tuple(range(6, 12)), 100, 6)
    rows: list[list[object]] = []
    finest: dict[str, list[float]] = {}
    cells = 0
    same = np.zeros(repeats, np.int64)
    for name, measure in _MEASURES.items():
        published = [p for p in _TABLE_1[name][: len(powers)] if p != "-"]
        cells += len(published)
        rows.append([name, "paper", *_TABLE_1[name][: len(powers)]])
        for repeat in range(repeats):
            accepted, refused = [], []
            for k in powers[: len(powers) if repeat == 0 else len(published)]:
                values = [
                    [
                        measure(*synthetic.shifted_uniform(2**k + 1, _SHIFT, [k, run, place, repeat]))
                        for run in range(runs)
                    ]
                    for place in range(len(levels))
                ]
                half = [2 * sum(v <= e / 2 for v in found) > runs for e, found in zip(levels, values, strict=True)]
                accepted.append(levels[half.index(False) - 1] if half[0] and False in half else np.inf)
                # The authors' lower distance is held against the level itself.
                scale = 1.0 if name == _LOWER else 0.5
                coded = [2 * sum(v > scale * e for v in found) > runs for e, found in zip(levels, values, strict=True)]
                refused.append(levels[coded.index(True)] if True in coded else np.inf)
            same[repeat] += sum(f"{e:g}" == p for e, p in zip(refused, published, strict=False))
            if repeat == 0:
                finest[name] = accepted
                rows.append([name, "ours, as the code", *(f"{e:g}" for e in refused)])
                rows.append([name, "ours, as the text", *(f"{e:g}" if e < np.inf else "> 0.1" for e in accepted)])
    note = (
        f"v ~ U[0, 0.99], outcome rate v + 0.01; {runs} runs, fresh data for each level from 0.1 down to 0.001. The text asks "
        "for the smallest level at which most runs say yes (measure at most half the level); the authors' code stops at the "
        "first level at which most runs say no, one step below, and holds the lower distance against the level itself. "
        "Their solver gave out beyond 2^8. "
        f"The whole was run {repeats} times with other random numbers, and the cells that agree with the paper's counted: "
        f"{', '.join(map(str, same))} of {cells}. The first run is shown.\n\n"
    )
    finer = all(ours <= theirs for ours, theirs in zip(finest[_SMOOTH], finest[_CONVOLVED], strict=True))
    finding = (
        f"{same.min()} to {same.max()} of the paper's {cells} cells come out the same in each of {repeats} runs, as its code "
        f"computes them; the smooth error's tester is {'never' if finer else 'not always'} coarser than the convolved error's."
    )
    head = ["measure", "", *(f"2^{k} + 1" for k in powers)]
    return Reproduction("Nearly-linear time, Table 1", finding, note + table(head, rows))


def figure_3(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Figure 3: median and quartiles of three measures against sample size."""
    powers = (5, 6) if quick else tuple(range(5, 21))
    rows: list[list[object]] = []
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    furthest = 0.0
    for name, measure in _MEASURES.items():
        quartiles = np.empty((3, len(powers)))
        for place, k in enumerate(powers):
            runs = _runs(k, quick)
            values = [measure(*synthetic.shifted_uniform(2**k + 1, _SHIFT, [3, k, run])) for run in range(runs)]
            quartiles[:, place] = np.percentile(values, (25, 50, 75))
            paper = {what: published[place] for what, published in _FIGURE_3[name].items() if place < len(published)}
            median = float(quartiles[1, place])
            if paper:
                spread = 1.25 * np.std(values) * np.sqrt(1 / runs + 1 / (20 if name == _LOWER else 100))
                furthest = max(furthest, abs(median - paper["median"]) / spread)
            rows.append(
                [
                    name,
                    f"2^{k} + 1",
                    runs,
                    paper.get("median", "-"),
                    median,
                    median - paper["median"] if paper else "-",
                    f"{paper['lower quartile']:.4g} to {paper['upper quartile']:.4g}" if paper else "-",
                    f"{quartiles[0, place]:.4g} to {quartiles[2, place]:.4g}",
                ]
            )
        (line,) = axes.plot(powers, quartiles[1], "o-", label=name)
        published = _FIGURE_3[name]["median"][: len(powers)]
        axes.plot(powers[: len(published)], published, "x", color=line.get_color(), markersize=9)
        axes.fill_between(powers, quartiles[0], quartiles[2], alpha=0.2)
    axes.plot([], [], "kx", label="medians of the paper")
    axes.axhline(_SHIFT, color="grey", linestyle=":", label="the truth, 0.01")
    axes.set(xlabel="log2(n - 1)", ylabel="median and quartiles", yscale="log")
    axes.legend()
    note = (
        "v ~ U[0, 0.99], outcome rate v + 0.01. 100 runs up to 2^14 + 1, fewer beyond (in the table); the paper's lower "
        "distance has 20 runs on a grid and stops at 2^8, where its solver gave out. Ours is the continuous optimum to 1e-6, to 2^20 + 1.\n\n"
    )
    finding = f"Medians agree with the paper's to within {furthest:.1f} standard errors of their difference."
    head = ["measure", "n", "runs", "median: paper", "ours", "difference", "quartiles: paper", "ours"]
    return Reproduction("Nearly-linear time, Figure 3", finding, note + table(head, rows), figure)


def _runs(k: int, quick: bool) -> int:
    if quick:
        return 9
    return 100 if k <= 14 else 20 if k <= 17 else 5


def table_3(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Table 3: seconds for one smooth error."""
    powers = (10, 11) if quick else tuple(range(10, 16))
    sizes = [2**k for k in powers] + ([] if quick else [10**5, 10**6, 10**7])
    smooth_calibration_error([0, 1], [0.2, 0.8])
    ours, highs = [], []
    for n in sizes:
        y_true, y_prob = synthetic.shifted_uniform(n, _SHIFT, n)
        ours.append(_seconds(lambda: smooth_calibration_error(y_true, y_prob), 10))  # noqa: B023
        if n <= 2**15:
            highs.append(_seconds(lambda: sparse_program(y_true, y_prob), 3))  # noqa: B023
    blank = ["-"] * (len(sizes) - len(powers))
    rows: list[list[object]] = [
        [f"{name} (paper)", *seconds[: len(powers)], *blank] for name, seconds in _TABLE_3.items()
    ]
    rows += [["HiGHS, sparse program (here)", *highs, *blank], ["ours (here)", *ours]]
    note = (
        "One exact smooth calibration error, seconds: the median of ten here (HiGHS: of three), means of ten in the paper, on its "
        "machine. HiGHS has been seen to take 0.65 s at 2^15 in an earlier run.\n\n"
    )
    last = len(powers) - 1
    finding = (
        f"At 2^{powers[-1]} rows {_two(highs[last] / ours[last])} times as fast as a sparse linear program on the same machine, "
        f"and {_two(_TABLE_3['the same under PyPy'][last] / ours[last])} times as fast as the paper's fastest on its own."
    )
    head = ["", *(f"2^{k}" for k in powers), *(f"{n:,}" for n in sizes[len(powers) :])]
    return Reproduction("Nearly-linear time, Table 3", finding, note + table(head, rows))


def _two(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f}"


def _seconds(run: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def sparse_program(y_true: FloatArray, y_prob: FloatArray) -> float:
    """Smooth calibration error by HiGHS on the sparse linear program, for distinct predictions."""
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    order = np.argsort(y_prob)
    v = y_prob[order]
    rises = diags_array([-np.ones(v.size - 1), np.ones(v.size - 1)], offsets=[0, 1], shape=(v.size - 1, v.size))
    gaps = np.diff(v)
    solved = linprog(
        -(y_true[order] - v) / v.size,
        A_ub=vstack([rises, -rises]).tocsr(),
        b_ub=np.concatenate([gaps, gaps]),
        bounds=(-1, 1),
        method="highs-ds",
    )
    return -float(solved.fun)


def lemma_13(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Lemma 13: how far apart smooth error and lower distance may be."""
    rows: list[list[object]] = []
    ratios = []
    for epsilon in (0.1,) if quick else (0.2, 0.1, 0.05, 0.02, 0.01):
        domains = {
            "the paper's: rate 1/2 + epsilon at 1/2": (synthetic.constant_gap(epsilon)[0], "1"),
            "the paper's table: outcomes 1, 0 at 1/2 - epsilon, 1/2": (synthetic.constant_gap(epsilon)[1], "3/2"),
            "ours: outcomes 0, 1 about 1/2": (synthetic.extreme_ratios(epsilon)[0], "-"),
            "ours: outcomes 1, 0 near 1": (synthetic.extreme_ratios(epsilon)[1], "-"),
        }
        for name, (domain, paper) in domains.items():
            columns = domain.y_true, domain.y_prob
            smooth = smooth_calibration_error(*columns, sample_weight=domain.sample_weight)
            lower = lower_calibration_distance(*columns, sample_weight=domain.sample_weight, tol=1e-13)
            ratios.append(smooth / lower)
            rows.append([name, epsilon, smooth, lower, paper, ratios[-1]])
    note = (
        "If A * lower distance <= smooth error <= B * lower distance always, the lemma says B / A >= 3/2, by domains of ratio "
        "at most 1 and at least 3/2. Ours put it at 1/2 and near 2, so that B / A >= 4; Theorem 7.3 of the unifying theory "
        "says that 1/5 and 2 are always possible for A and B: 2 is tight, between 1/5 and 1/2 it is open here.\n\n"
    )
    finding = f"The ratio goes from {min(ratios):.3f} to {max(ratios):.3f}: B / A is at least {max(ratios) / min(ratios):.2f}, and tends to 4."
    head = ["domain", "epsilon", "smooth error", "lower distance", "ratio: paper", "ours"]
    return Reproduction("Nearly-linear time, Lemma 13", finding, note + table(head, rows))
