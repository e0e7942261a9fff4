"""Nearly-linear time, Section 5: instances on which testers for two errors need far more rows than those for distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from calibrant import synthetic
from calibrant.door.columns import FloatArray
from calibrant.measures.interval import surrogate_interval_calibration_error
from calibrant.measures.kernel import convolved_calibration_error
from calibrant.measures.lower import lower_calibration_distance
from calibrant_papers.registry import Reproduction, table

_MOST_ROWS = 4_000_000
Statistic = Callable[[FloatArray, FloatArray], float]


def _chi_squared(y_true: FloatArray, y_prob: FloatArray) -> float:
    """Excess of squared deviations over their expectation, summed over values: of the order of the best possible test."""
    v, at = np.unique(y_prob, return_inverse=True)
    count = np.bincount(at)
    excess = np.bincount(at, y_true) - count * v
    return float(((excess**2 - count * v * (1.0 - v)) / count).sum())


_CASES: dict[str, tuple[str, Statistic, Callable[[int], tuple[float, float]]]] = {
    # Number of values -> bias, and the error that every such instance has by the paper's Lemma 28 or 26.
    "Theorem 6": (
        "surrogate interval error",
        surrogate_interval_calibration_error,
        lambda t: (1.0 / t, 1.0 / (3.0 * t)),
    ),
    "Theorem 5": (
        "convolved error",
        convolved_calibration_error,
        lambda t: (1.0 / (3.0 * t * math.sqrt(math.log(t))), 1.0 / (100.0 * t * math.sqrt(math.log(t)))),
    ),
}


def theorems_5_and_6(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Rows at which an error's own tester, and the best one, tell the instances from a calibrated predictor."""
    trials = 8 if quick else 200
    figure = Figure(figsize=(7, 7), layout="constrained")
    axes, parts, slopes = figure.subplots(2, 1), [], []
    for ax, (theorem, (name, error, instance)) in zip(axes, _CASES.items(), strict=True):
        values = (4, 6) if quick else (4, 6, 9, 13, 19, 28)
        rows: list[list[object]] = []
        for t in values:
            bias, epsilon = instance(t)
            own, best = (_rows_needed(each, t, bias, trials) for each in (error, _chi_squared))
            # Lemma 24: below this many rows no test at all is right two times in three, on both.
            proved = math.sqrt(2.0 * t * math.log(1.0 + 4.0 / 9.0) / 81.0) / bias**2
            rows.append([t, bias, epsilon, math.floor(proved), best, own, _distance(t, bias)])
        ok = [row for row in rows if isinstance(row[4], int) and isinstance(row[5], int)]
        x = np.log([float(str(row[2])) for row in ok])
        found = [float(np.polyfit(x, np.log([float(str(row[k])) for row in ok]), 1)[0]) for k in (4, 5)]
        slopes.append(
            f"Measured for the {name}: epsilon^{found[0]:.2f} by the best test, epsilon^{found[1]:.2f} by "
            "thresholding the error."
        )
        for k, label, marker in ((3, "no test can (Lemma 24)", "v"), (4, "chi-squared", "o"), (5, name, "s")):
            seen = [row for row in rows if isinstance(row[k], int)]
            ax.loglog([row[2] for row in seen], [row[k] for row in seen], marker=marker, label=label)
        ax.set(xlabel=f"epsilon, {theorem}", ylabel="rows")
        ax.legend(fontsize=8)
        head = [
            "values t",
            "bias",
            "epsilon",
            "no test below",
            "chi-squared",
            f"thresholding the {name}",
            "lower distance",
        ]
        parts.append(f"## {theorem}: {name}\n\n" + table(head, rows))
    note = (
        "Instances of Definition 8: t predictions in [1/3, 2/3], each off by the bias in a random direction. Rows: "
        f"fewest at which some threshold errs on at most a third of {trials} samples of either kind, to a factor of "
        "1.1. The lower distance, exact, mean of 50 instances, is far smaller than epsilon: their distance is "
        "small.\n\n"
    )
    return Reproduction(
        "Nearly-linear time, Theorems 5 and 6: sample complexity",
        f"The rows needed grow, by the theorems, as epsilon^-2.5 at least, up to a logarithm. {' '.join(slopes)}",
        note + "\n".join(parts),
        figure,
    )


def _distance(t: int, bias: float) -> float:
    v = (np.arange(t) + 1.0) / (3.0 * t) + 1.0 / 3.0
    signs = np.random.default_rng(t).choice([-1.0, 1.0], (50, t))
    return float(np.mean([lower_calibration_distance(v + bias * sign, v) for sign in signs]))


def _rows_needed(statistic: Statistic, t: int, bias: float, trials: int) -> int | str:
    """Fewest rows that tell biased from calibrated two times in three, on a grid of factor 1.1."""
    few, many = 4, 8
    while not _tells(statistic, t, bias, many, trials):
        few, many = many, 2 * many
        if many > _MOST_ROWS:
            return f"over {_MOST_ROWS:,}"
    while many > 1.1 * few:
        middle = math.ceil(math.sqrt(few * many))
        if middle in (few, many):
            break
        few, many = (few, middle) if _tells(statistic, t, bias, middle, trials) else (middle, many)
    return many


def _tells(statistic: Statistic, t: int, bias: float, n: int, trials: int) -> bool:
    calibrated = np.sort(
        [statistic(*synthetic.hidden_bias(n, t, 0.0, np.random.default_rng([n, k, 0]))) for k in range(trials)]
    )
    biased = np.sort(
        [statistic(*synthetic.hidden_bias(n, t, bias, np.random.default_rng([n, k, 1]))) for k in range(trials)]
    )
    third = trials // 3
    # A threshold with at most a third of the calibrated above it, and at most a third of the biased below it.
    return bool(biased[third] > calibrated[trials - third - 1])
