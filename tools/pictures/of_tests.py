"""One picture a test, bound or monitor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import binom
from style import BLUE, HAIRLINE, HIGH, INK, LOW, MUTED, Picture, calibrated, chance, overconfident

import calibrant

_DRAWS = 500


def _redrawn(v: np.ndarray, statistic: Callable[[np.ndarray, np.ndarray], float]) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([statistic((rng.random(v.size) < v).astype(float), v) for _ in range(_DRAWS)])


def plain(name: str) -> Picture:
    """What a registered test without a picture of its own gets: its p-values for good and for bad predictions."""

    def draw(ax: Axes) -> None:
        test = calibrant.inference.calibration_tests()[name]

        def pvalue(y: np.ndarray, v: np.ndarray) -> float:
            v = np.clip(v.round(1), 0.1, 0.9) if test.null == "exact" else v
            drawn = {"random_state": 0} if test.null == "redrawn" else {}
            said = np.column_stack([1.0 - v, v]) if test.of_classes else v
            return float(test.call(y.astype(int), said, **drawn).pvalue)

        sizes = [50, 100, 200, 400, 800]
        for make, colour, label in ((calibrated, BLUE, "calibrated"), (overconfident, HIGH, "overconfident")):
            ax.plot(sizes, [pvalue(*make(n, 0)) for n in sizes], "o-", color=colour, label=f"{label} predictions")
        ax.axhline(0.05, color=MUTED, ls="--", label="level 0.05")
        ax.set(xlabel="rows", ylabel="p-value", xscale="log", yscale="log")
        ax.legend()

    return draw


def calibration(ax: Axes) -> None:
    y, v = overconfident(1000)
    found = calibrant.calibration_test(y, v, random_state=0)
    names, parts = list(found.components), found.components.values()
    ax.barh(names, [-np.log10(part.analytic_pvalue) for part in parts], color=BLUE, alpha=0.7, label="by formula")
    ax.axvline(-np.log10(found.pvalue), color=HIGH, lw=2, label="the test's p-value, all together")
    ax.axvline(-np.log10(found.level), color=MUTED, ls="--", label="level 0.05")
    ax.set(xlabel="-log10 p")
    ax.legend()


def tcal(ax: Axes) -> None:
    y, v = overconfident(1000)
    found = calibrant.tcal_test(y, v, random_state=0)
    ax.bar(range(len(found.scales)), -np.log10(found.pvalues), color=BLUE, alpha=0.7)
    ax.axhline(-np.log10(found.pvalue), color=HIGH, ls="--", label="p-value of the smallest, all scales together")
    names = [int(np.log2(scale)) for scale in found.scales]
    ax.set(xlabel="bins, as a power of 2", ylabel="-log10 p", xticks=range(len(names)), xticklabels=names)
    ax.legend()


def smooth(ax: Axes) -> None:
    y, v = overconfident(300)
    chance(
        ax, _redrawn(v, calibrant.smooth_calibration_error), calibrant.smooth_calibration_error(y, v), "smooth error"
    )


def kernel(ax: Axes) -> None:
    y, v = overconfident(300)
    chance(
        ax, _redrawn(v, calibrant.kernel_calibration_error), calibrant.kernel_calibration_error(y, v), "kernel error"
    )


def two_bin(ax: Axes) -> None:
    y, v = overconfident(300)

    def error(y: np.ndarray, v: np.ndarray) -> float:
        return calibrant.measures.squared_averaged_two_bin_error(y, v, debiased=True)

    chance(ax, _redrawn(v, error), error(y, v), "squared averaged two-bin error, debiased")


def canonical(ax: Axes) -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1.2, 1.2, 1.2], 600)

    def error(rows: np.ndarray, seed: int) -> float:
        label = (np.random.default_rng(seed).random(rows.shape[0])[:, None] > rows.cumsum(axis=1)[:, :2]).sum(axis=1)
        return calibrant.measures.squared_canonical_kernel_error(label, table, random_state=0)

    flatter = table**0.5 / (table**0.5).sum(axis=1, keepdims=True)
    chance(ax, np.array([error(table, s) for s in range(_DRAWS)]), error(flatter, 1), "squared canonical kernel error")


def class_wise(ax: Axes) -> None:
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.full(60, 0.3), 6000)
    wrong = table * np.where(np.arange(60) % 12 == 0, 0.55, 1.0)
    ends = (wrong / wrong.sum(axis=1, keepdims=True)).cumsum(axis=1)
    found = calibrant.inference.class_wise_test((rng.random((6000, 1)) > ends[:, :-1]).sum(axis=1), table)
    ordered = sorted(found.each_class, key=lambda each: each.rate - each.mean_prediction)
    for i, each in enumerate(ordered):
        colour = HIGH if each.qvalue <= found.level else HAIRLINE
        ax.plot([i, i], [100 * end for end in each.bias_interval], color=colour, lw=2)
        ax.plot(i, 100 * (each.rate - each.mean_prediction), ".", color=INK, ms=3)
    ax.axhline(0, color=MUTED, lw=1)
    ax.set(xlabel="60 classes; red: found miscalibrated", ylabel="seen less predicted, points")


def cumulative(ax: Axes) -> None:
    y, v = overconfident(500)
    order = np.argsort(v)
    rng = np.random.default_rng(0)
    for _ in range(40):
        ax.plot(v[order][::10], ((rng.random(500) < v) - v)[order].cumsum()[::10], color=HAIRLINE, lw=0.5)
    walk = (y - v)[order].cumsum()
    ax.plot(v[order], walk, color=HIGH, lw=2, label="seen: Kuiper's statistic is highest less lowest")
    ax.set(xlabel="prediction v", ylabel="sum of y - v so far")
    ax.legend(loc="lower left")


def cox(ax: Axes) -> None:
    y, v = overconfident(1000)
    found = calibrant.cox_test(y, v, random_state=0)
    at = np.linspace(0.002, 0.998, 300)
    odds = found.intercept + found.slope * np.log(at / (1.0 - at))
    ax.plot([0, 1], [0, 1], color=HAIRLINE)
    ax.plot(at, 1.0 / (1.0 + np.exp(-odds)), color=BLUE, lw=2)
    ax.set(
        xlabel=f"prediction; intercept {found.intercept:.2f}, slope {found.slope:.2f} (calibrated: 0 and 1)",
        ylabel="rate",
    )


def hosmer_lemeshow(ax: Axes) -> None:
    y, v = overconfident(1000)
    groups = np.array_split(np.argsort(v), 10)
    expected, seen = (np.array([column[rows].sum() for rows in groups]) for column in (v, y))
    spread = 1.96 * np.sqrt([(v[rows] * (1.0 - v[rows])).sum() for rows in groups])
    at = np.arange(1, 11)
    ax.errorbar(at, expected, spread, fmt="none", ecolor=MUTED, capsize=3, label="expected, give or take chance")
    ax.scatter(at, seen, color=HIGH, s=22, zorder=3, label="ones seen")
    ax.set(xlabel="tenth of the rows, by prediction", ylabel="ones", xticks=at)
    ax.legend()


def spiegelhalter(ax: Axes) -> None:
    at = np.linspace(0, 1, 300)
    ax.plot(at, 1.0 - 2.0 * at, color=BLUE, lw=2, label="weight of an error in the statistic")
    ax.fill_between(at, 0.8 * np.abs(np.sin(2 * np.pi * at)), color=HIGH, alpha=0.3, label="a fault that it cannot see")
    ax.axhline(0, color=HAIRLINE)
    ax.set(xlabel="prediction v")
    ax.legend()


def _tenths() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    v = rng.integers(1, 10, 900) / 10
    return (rng.random(900) < np.where(v == 0.7, 0.5, v)).astype(float), v


def miller(ax: Axes) -> None:
    y, v = _tenths()
    values = np.unique(v)
    terms = [((y - p)[v == p].sum()) ** 2 / ((v == p).sum() * p * (1 - p)) for p in values]
    total = calibrant.inference.miller_test(y, v, random_state=0)
    ax.bar(values, terms, 0.06, color=BLUE, alpha=0.7)
    ax.set(xlabel=f"prediction; the terms add up to {total.statistic:.1f} (p = {total.pvalue:.3f})", ylabel="squared z")


def discrete(ax: Axes) -> None:
    y, v = _tenths()
    found = calibrant.discrete_calibration_test(y, v)
    p, n = np.array(found.predictions), np.array(found.counts)
    limit = 0.05 / p.size
    low, high = binom.ppf(limit / 2, n, p) / n, binom.isf(limit / 2, n, p) / n
    wrong = np.isin(p, found.miscalibrated)
    ax.vlines(p, low, high, color=HAIRLINE, lw=8, label="counts that chance allows")
    ax.scatter(p, np.array(found.ones) / n, color=np.where(wrong, HIGH, BLUE), s=24, zorder=3, label="seen")
    ax.set(xlabel="prediction", ylabel="rate")
    ax.legend()


def grades(ax: Axes) -> None:
    names, rated = ["AA", "A", "BBB", "BB", "B", "CCC"], np.array([0.001, 0.003, 0.008, 0.02, 0.06, 0.2])
    n, k = np.array([900, 1500, 2100, 1400, 600, 150]), np.array([1, 4, 19, 50, 40, 33])
    found = calibrant.inference.grade_test(k / n, rated, grades=names, trials=n)
    at = np.arange(rated.size)
    limit = 0.05 / rated.size
    ax.vlines(at, 1e-4, binom.isf(limit, n, rated) / n, color=HAIRLINE, lw=8, label="rates that the rating allows")
    ax.scatter(at, rated, marker="_", color=MUTED, s=90, label="rated")
    wrong = np.isin(found.grades, found.rejected)
    ax.scatter(at, k / n, color=np.where(wrong, HIGH, BLUE), s=24, zorder=3, label="seen")
    ax.set(xticks=at, xticklabels=names, yscale="log", ylim=(5e-4, 0.5), ylabel="rate of defaults")
    ax.legend()


def regret(ax: Axes) -> None:
    sizes = [300, 1000, 3000, 10_000, 30_000]
    found, proved = [], []
    for n in sizes:
        rng = np.random.default_rng(0)
        v = rng.random(n)
        y = rng.random(n) < v
        curve = calibrant.decision_curve(y, v)
        found.append(max(curve.regret.max(), curve.regret_after.max()))
        proved.append(calibrant.inference.regret_bounds(y, v).regret_interval.high)
    ax.plot(sizes, found, "o-", color=MUTED, label="of these rows")
    ax.plot(sizes, proved, "o-", color=BLUE, label="population's, at most (95%)")
    ax.set(
        xscale="log", yscale="log", xlabel="rows of calibrated predictions", ylabel="largest regret at any threshold"
    )
    ax.legend()


def two_samples(ax: Axes) -> None:
    y, v = overconfident(2000)
    drawn = np.random.default_rng(0).random(v.size) < v
    bins = np.linspace(0, 1, 17)
    ax.hist(v[:1000][y[:1000] == 1], bins, histtype="step", color=HIGH, lw=2, label="where it happened, one half")
    ax.hist(v[1000:][drawn[1000:]], bins, histtype="step", color=BLUE, lw=2, label="where it was drawn, other half")
    ax.set(xlabel="prediction", ylabel="rows")
    ax.legend(loc="upper left")


def bounds(ax: Axes) -> None:
    sizes = np.geomspace(100, 100_000, 13).astype(int)
    for call, colour, label in (
        (calibrant.population_bounds, BLUE, "proved, at any number of rows"),
        (lambda y, v: calibrant.bootstrap_bounds(y, v, n_resamples=199, random_state=0), HIGH, "resampled"),
    ):
        bounds = [call(*calibrant.synthetic.shifted_uniform(int(n), 0.1, 1)).lower_distance for n in sizes]
        ends = np.array([tuple(each) for each in bounds])
        ax.fill_between(sizes, *ends.T, color=colour, alpha=0.3, label=label, lw=0)
    ax.axhline(0.1, color=INK, lw=1, label="the truth")
    ax.set(xscale="log", ylim=(0, 0.4), xlabel="rows", ylabel="lower distance")
    ax.legend()


def gate(ax: Axes) -> None:
    for k, (shift, n) in enumerate(((0.0, 20_000), (0.04, 20_000), (0.1, 20_000))):
        found = calibrant.calibration_gate(*calibrant.synthetic.shifted_uniform(n, shift, 2), max_distance=0.05)
        colour = {"within": LOW, "beyond": HIGH, "undecided": MUTED}[found.verdict]
        ax.plot(tuple(found.lower_distance), [k, k], color=colour, lw=8, solid_capstyle="butt")
        ax.text(found.lower_distance.high + 0.003, k, found.verdict, va="center", color=colour)
    ax.axvline(0.05, color=INK, ls="--", lw=1)
    ax.set(xlim=(0, 0.16), yticks=[], xlabel="population's lower distance; limit 0.05", ylim=(-0.6, 2.6))


def compare(ax: Axes) -> None:
    y, v = calibrated(3000)
    rivals = {"its tenths": (np.floor(10 * v) + 0.5) / 10, "0.05 too high": np.clip(v + 0.05, 0, 1), "squared": v**2}
    for k, (name, other) in enumerate(rivals.items()):
        found = calibrant.compare_calibration(y, v, other, random_state=0)
        ax.plot(tuple(found.interval), [k, k], color=HIGH if found.reject else MUTED, lw=6, solid_capstyle="butt")
        ax.plot(found.statistic, k, "o", color=INK, ms=4)
        ax.text(0.03, k, f"against {name}", va="center", color=MUTED)
    ax.axvline(0, color=INK, lw=1)
    ax.set(
        yticks=[],
        xlim=(-0.2, 0.12),
        xlabel="smooth error of calibrated predictions, less the other's",
        ylim=(-0.6, 2.6),
    )


def monitor(ax: Axes) -> None:
    rng = np.random.default_rng(7)
    for change, colour, label in ((60, HIGH, "0.15 too high from day 60 on"), (999, BLUE, "calibrated")):
        watch, evidence = calibrant.CalibrationMonitor(0.05), []
        for day in range(120):
            v = rng.random(50) * 0.8
            shown = v + 0.15 if day >= change else v
            watch.update((rng.random(50) < v).astype(float), shown)
            evidence.append(watch.reading().evalue)
        ax.plot(evidence, color=colour, label=label)
    ax.axhline(20, color=INK, ls="--", lw=1, label="1 / 0.05: alarm")
    ax.set(yscale="log", ylim=(1e-3, 1e6), xlabel="day, 50 forecasts each", ylabel="evidence")
    ax.legend(loc="upper left")


def corp_regions(ax: Axes) -> None:
    y, v = overconfident(600)
    found = calibrant.inference.corp_regions(y, v, n_resamples=199, random_state=0)
    at = found.prediction
    ax.fill_between(at, found.consistency_lower, found.consistency_upper, color=HAIRLINE, label="consistency")
    ax.plot(at, found.confidence_lower, color=BLUE, lw=0.8, ls=":", label="confidence, all points at once")
    ax.plot(at, found.confidence_upper, color=BLUE, lw=0.8, ls=":")
    ax.step(at, found.recalibrated, where="mid", color=BLUE, lw=1.5)
    ax.set(xlabel="prediction", ylabel="isotonic rate")
    ax.legend(loc="upper left")


def squared_interval(ax: Axes) -> None:
    values = (np.arange(10) + 0.5) / 10
    for k, n in enumerate((5000, 20_000, 80_000)):
        rng = np.random.default_rng(10 + k)
        v = rng.choice(values, n)
        y = (rng.random(n) < np.clip(v + 0.1 * np.sign(0.5 - v), 0, 1)).astype(float)
        estimate = calibrant.squared_calibration_error(y, v)
        proved = calibrant.inference.squared_error_interval(estimate, n, values.size)
        near = calibrant.inference.squared_error_bootstrap(y, v, n_resamples=199, random_state=0)
        for found, colour, up in ((proved, BLUE, 0.12), (near, HIGH, -0.12)):
            ax.plot(tuple(found.interval), [k + up, k + up], color=colour, lw=5, solid_capstyle="butt")
    ax.axvline(0.01, color=INK, lw=1)
    ax.set(yticks=range(3), xlabel="squared error; blue: the theorem's interval, red: the bootstrap's; truth 0.01")
    ax.set_yticklabels(["5,000 rows", "20,000", "80,000"])


PICTURES: dict[str, Picture] = {
    "calibration_test": calibration,
    "tcal_test": tcal,
    "smooth_calibration_test": smooth,
    "kernel_calibration_test": kernel,
    "averaged_two_bin_test": two_bin,
    "canonical_kernel_test": canonical,
    "class_wise_test": class_wise,
    "cumulative_calibration_test": cumulative,
    "cox_test": cox,
    "hosmer_lemeshow_test": hosmer_lemeshow,
    "spiegelhalter_test": spiegelhalter,
    "miller_test": miller,
    "discrete_calibration_test": discrete,
    "grade_test": grades,
    "regret_bounds": regret,
    "two_sample_calibration_test": two_samples,
    "population_bounds": bounds,
    "calibration_gate": gate,
    "compare_calibration": compare,
    "CalibrationMonitor": monitor,
    "corp_regions": corp_regions,
    "squared_error_interval": squared_interval,
}
