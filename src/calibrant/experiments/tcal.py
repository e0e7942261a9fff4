"""T-Cal (Lee, Huang, Hassani and Dobriban, JMLR 2023): its tables and figures again, beside the paper's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibrant.experiments import tcal_figures as figures
from calibrant.experiments import tcal_published as published
from calibrant.experiments.tcal_tables import DATASETS, table


def table_1(folder: Path) -> str:
    """Tables 1 and 4: CIFAR-10. The folder holds the networks' predictions; about a minute and a half."""
    return table(DATASETS[0], folder)


def table_2(folder: Path) -> str:
    """Tables 2 and 5: CIFAR-100. About a minute."""
    return table(DATASETS[1], folder)


def table_3(folder: Path) -> str:
    """Tables 3 and 6: ImageNet. About six minutes."""
    return table(DATASETS[2], folder)


def figure_2(draws: int = 1000) -> str:
    """Without debiasing, the mean falls under miscalibration."""
    lines = ["| statistic | hypothesis | paper | ours |", "| --- | --- | --- | --- |"]
    for name, means in figures.figure_2(draws).items():
        for k, mean in enumerate(means):
            lines.append(f"| {name} | P_{k} | {published.FIGURE_2[name][k]:.6f} | {mean:.6f} |")
    note = f"Means over {draws:,} draws, n = 10,000, s = 0.3, rho = 100."
    return _section(
        "Figure 2: the biased statistic's mean falls under miscalibration, the debiased one's rises", note, lines
    )


def figures_3_and_4(draws: int = 1000, repeats: int = 10) -> str:
    """Type II errors of T-Cal and its rivals against the oscillating alternative."""
    parts = []
    for n in (2000, 5000, 10_000):
        curves = figures.figures_3_and_4(n, draws, repeats)
        parts.append(_curves(curves, published.FIGURES_3_AND_4[n], f"n = {n:,}"))
    note = (
        f"s = 0.6, rho = 100; {draws:,} draws, {repeats} repetitions. Each cell: ours (standard error), the paper's. "
        "Each repetition has a critical value of its own, so that the errors hold its noise. That is 0.02 "
        "(standard deviation) at n = 10,000 and m = 100, where 20,000 null draws give 0.387 for the debiased and 0.392 "
        "for the biased statistic: the paper's gap between the two, 0.362 to 0.417, is mostly that noise. Both beat l1."
    )
    return _section("Figures 3 and 4: type II errors against the oscillating alternative", note, parts)


def figure_5(draws: int = 100, repeats: int = 10) -> str:
    """The smallest detected error falls with the slope of Theorem 3."""
    lines = [
        "| s | rho | slope, theorem | slope, ours | log error at n = 1,000 ... 50,000 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for s, rho in ((0.3, 25.0), (0.5, 50.0)):
        curve = figures.figure_5(s, rho, draws=draws, repeats=repeats)
        slope = np.polyfit(curve.x, curve.mean, 1)[0]
        values = ", ".join(f"{value:.3f}" for value in curve.mean)
        lines.append(f"| {s} | {rho:g} | {-2 * s / (4 * s + 1):.4f} | {slope:.4f} | {values} |")
    return _section("Figure 5: minimum detection rate", f"{draws} draws, {repeats} repetitions.", lines)


def figures_7_and_10(draws: int = 1000, repeats: int = 10) -> str:
    """The plug-in test beats sample splitting, and cross-fitting hardly helps."""
    parts = []
    for s, rho in ((0.6, 100.0), (0.8, 200.0)):
        curves = figures.figures_7_and_10(s, rho, draws, repeats)
        parts.append(_curves(curves, published.FIGURE_7[s], f"s = {s}, rho = {rho:g}"))
    note = (
        f"n = 20,000; {draws:,} draws, {repeats} repetitions. Each cell: ours (standard error), the paper's where its "
        "values are known. Splitting: chi-squared statistic of the event's class, on as many bins as T-Cal has, "
        "floor(n^(2/(4s+1))); the samples' own sizes would give fewer, and curves that are not the paper's."
    )
    return _section("Figures 7 and 10: sample splitting and cross-fitting", note, parts)


def figure_8(draws: int = 200) -> str:
    """As an estimate of the squared error, the statistic misses the parametric rate for small s."""
    curves = figures.figure_8(draws)
    lines = [
        "| rows | " + " | ".join(curve.name for curve in curves) + " |",
        "| --- |" + " --- |" * len(curves),
    ]
    for k, n in enumerate(curves[0].x):
        lines.append(f"| {n:,.0f} | " + " | ".join(f"{curve.mean[k]:.5f}" for curve in curves) + " |")
    slopes = [np.polyfit(np.log(curve.x[2:]), np.log(curve.mean[2:]), 1)[0] for curve in curves]
    lines.append("| slope from 1,000 | " + " | ".join(f"{slope:.2f}" for slope in slopes) + " |")
    note = f"Root mean squared error over {draws} draws, Z uniform, Y = 1, so that the squared error is 1/3."
    return _section("Figure 8: estimation of the squared error", note, lines)


def figure_9(trials: int = 10_000) -> str:
    """Redrawing rows as well as labels makes little difference to the type I error."""
    lines = ["| critical value | type I error |", "| --- | --- |"]
    lines += [f"| {how.replace('_', ' ')} | {rate:.4f} |" for how, rate in figures.figure_9(trials=trials).items()]
    note = f"N = 19 resamples, level 0.05, n = 1,000 (not stated in the paper), s = 0.6; {trials:,} trials."
    return _section("Figure 9: two ways of resampling", note, lines)


def _curves(curves: list[figures.Curve], theirs: dict[str, tuple[float, ...]], title: str) -> str:
    lines = [
        f"\n{title}\n",
        "| m | " + " | ".join(curve.name for curve in curves) + " |",
        "| --- |" + " --- |" * len(curves),
    ]
    for k, m in enumerate(curves[0].x):
        row = []
        for curve in curves:
            paper = f", {theirs[curve.name][k]:.4f}" if curve.name in theirs else ""
            row.append(f"{curve.mean[k]:.4f} ({curve.error[k]:.4f}){paper}")
        lines.append(f"| {m:.0f} | " + " | ".join(row) + " |")
    both = [
        abs(mean - paper)
        for curve in curves
        if curve.name in theirs
        for mean, paper in zip(curve.mean, theirs[curve.name], strict=True)
    ]
    lines.append(f"\nLargest difference from the paper's curves: {max(both):.4f}.")
    return "\n".join(lines)


def _section(title: str, note: str, lines: list[str]) -> str:
    return f"## {title}\n\n{note}\n\n" + "\n".join(lines) + "\n"
