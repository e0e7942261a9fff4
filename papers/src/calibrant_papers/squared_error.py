"""Verified calibration's two experiments, on the predictions of a trained network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from calibrant.door.columns import FloatArray
from calibrant.inference.bounds.squared_error import squared_error_of_counts
from calibrant.recalibration import ScalingBinning
from calibrant_papers.predictions import ten_classes
from calibrant_papers.registry import Reproduction, needed

IntArray = npt.NDArray[np.int64]

N_BINS = tuple(range(10, 101, 5))
_INK, _SECOND, _THIRD = "#1f4e79", "#c0504d", "#999999"


@dataclass(frozen=True, slots=True, eq=False)
class Deviations:
    """Squared deviations of the two estimators from the error of the rows that they were drawn from.

    Attributes
    ----------
    n_bins, n_rows : int
        Values the predictor returns, and rows a draw.
    truth : float
        Squared calibration error of all rows that draws are made from.
    plug_in, debiased : ndarray of shape (draws,)
        Squared deviations.
    """

    n_bins: int
    n_rows: int
    truth: float
    plug_in: FloatArray
    debiased: FloatArray


@dataclass(frozen=True, slots=True)
class Certified:
    """What a number of bins costs, and what can be certified with it.

    Attributes
    ----------
    n_bins : int
        Bins of each class.
    brier : float
        Sum over classes of mean squared errors.
    plug_in, debiased : float
        Upper ends of 90% confidence intervals of the class-wise l2 calibration error, corrected for the bias of
        redrawing.
    percentile : float
        The same of the plug-in estimator without the correction: the 95% quantile of redrawn estimates.
    """

    n_bins: int
    brier: float
    plug_in: float
    debiased: float
    percentile: float


def squared_deviations(
    folder: Path, *, n_bins: int = 100, rows: Sequence[int] = (250, 500, 1000, 2000, 4000), draws: int = 1000
) -> list[Deviations]:
    """Draw rows of a recalibrated network's top label, and compare both estimators with the truth.

    Parameters
    ----------
    folder : Path
        Where ``cifar10_vgg_10class.parquet`` lies (p0 to p9 and y_true), or the authors' ``cifar_probs.dat``.
    n_bins : int, default 100
        Bins of scaling-binning, fitted to the first half of the rows.
    rows : sequence of int
        Rows a draw, with replacement from the second half.
    draws : int, default 1000
        Draws.
    """
    top = ten_classes(folder).top_label()
    half = top.y_true.size // 2
    fitted = ScalingBinning(n_bins, "ceil").fit(top.y_prob[:half], top.y_true[:half])
    values, group = np.unique(fitted.predict(top.y_prob[half:]), return_inverse=True)
    outcome = top.y_true[half:]
    ones = np.bincount(group, outcome, values.size)
    zeros = np.bincount(group, 1.0 - outcome, values.size)
    truth = float(squared_error_of_counts(ones[None], zeros[None], values, False)[0])
    rng = np.random.default_rng(0)
    found = []
    for n in rows:
        drawn = rng.multinomial(n, np.concatenate([ones, zeros]) / outcome.size, draws)
        estimates = [
            squared_error_of_counts(drawn[:, : values.size], drawn[:, values.size :], values, debiased)
            for debiased in (False, True)
        ]
        found.append(Deviations(n_bins, n, truth, *((e - truth) ** 2 for e in estimates)))
    return found


def certified_errors(folder: Path, *, n_bins: Sequence[int] = N_BINS, n_resamples: int = 100) -> list[Certified]:
    """Brier score against the certified class-wise error of scaling-binning, for each number of bins.

    Each class is scaled and binned by itself on the first half of the rows. On the second, 100 bootstrap resamples of
    rows give the upper end of a 90% interval, estimate + plug-in - 5% quantile of redrawn estimates.
    """
    sample = ten_classes(folder)
    half = sample.y_true.size // 2
    n = sample.y_true.size - half
    copies = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), n_resamples).astype(np.float64)
    copies = np.vstack([np.ones(n), copies])  # the rows themselves first
    found = []
    for b in n_bins:
        brier, estimates = 0.0, np.zeros((2, n_resamples + 1))
        for question in sample.class_wise():
            fitted = ScalingBinning(b, "ceil").fit(question.y_prob[:half], question.y_true[:half])
            predicted, outcome = fitted.predict(question.y_prob[half:]), question.y_true[half:]
            brier += float(np.mean((predicted - outcome) ** 2))
            values, group = np.unique(predicted, return_inverse=True)
            ones = np.stack([np.bincount(group, w * outcome, values.size) for w in copies])
            zeros = np.stack([np.bincount(group, w * (1.0 - outcome), values.size) for w in copies])
            for i, debiased in enumerate((False, True)):
                estimates[i] += squared_error_of_counts(ones, zeros, values, debiased) / sample.n_classes
        bound = estimates[:, 0] + estimates[0, 0] - np.quantile(estimates[:, 1:], 0.05, axis=1)
        percentile = np.quantile(estimates[0, 1:], 0.95)
        found.append(Certified(b, brier, *(float(np.sqrt(max(u, 0.0))) for u in (*bound, percentile))))
    return found


def deviation(quick: bool, data: Path | None) -> Reproduction:
    """Squared deviation of both estimators over 1,000 draws."""
    found = squared_deviations(needed(data), draws=100 if quick else 1000)
    title = f"Verified calibration: squared deviation of both estimators, {found[0].n_bins} bins"
    return Reproduction(title, *deviation_table(found), deviation_figure(found))


def brier(quick: bool, data: Path | None) -> Reproduction:
    """Brier score against certified error for 10 to 100 bins."""
    found = certified_errors(needed(data), n_bins=(10, 15, 20, 50, 100) if quick else N_BINS)
    title = "Verified calibration: Brier score against certified calibration error"
    return Reproduction(title, *certified_table(found), certified_figure(found))


def deviation_table(found: Sequence[Deviations]) -> tuple[str, str]:
    """Set the mean squared deviations side by side, in Markdown."""
    first = found[0]
    ratios = [d.plug_in.mean() / d.debiased.mean() for d in found]
    finding = (
        f"The mean squared deviation of the cancelling estimator is {min(ratios):.1f} to {max(ratios):.1f} times "
        "smaller. The paper finds the same, in a figure without numbers."
    )
    lines = [
        f"Top label of a VGG on CIFAR-10, scaling-binning with {first.n_bins} bins on the first 5,000 rows. Draws are "
        "with replacement from the other 5,000, whose own squared error, "
        f"{first.truth:.3g}, is the truth that both estimate. {first.plug_in.size:,} draws per size, 90% confidence "
        "intervals of the mean. The paper's network is another VGG, and the section does not say how large its two "
        "parts are.",
        "",
        "| rows drawn | plug-in | cancelling | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for d in found:
        ratio = d.plug_in.mean() / d.debiased.mean()
        lines.append(f"| {d.n_rows:,} | {_mean(d.plug_in)} | {_mean(d.debiased)} | {ratio:.1f} |")
    return finding, "\n".join(lines)


def certified_table(found: Sequence[Certified]) -> tuple[str, str]:
    """Set Brier scores beside certified errors, in Markdown."""
    under = {
        name: min((c for c in found if getattr(c, name) < 0.015), key=lambda c: c.brier)
        for name in ("percentile", "debiased")
    }
    best, bins = {name: c.brier for name, c in under.items()}, {name: c.n_bins for name, c in under.items()}
    limits = np.quantile([c.plug_in for c in found], [0.0, 0.25, 0.5, 0.75, 1.0])
    finding = (
        f"At an error below 0.015 the cancelling estimator allows {bins['debiased']} bins, Brier score "
        f"{best['debiased']:.4f}. The plug-in estimator, bounded by its percentile, allows {bins['percentile']} bins "
        f"with {best['percentile']:.4f}, {100 * (best['percentile'] / best['debiased'] - 1):.0f}% higher (the paper: "
        "100 bins against 15, 13%)."
    )
    lines = [
        "The gap is one of bounds, not of estimators: redrawn plug-in estimates carry the bias twice. Once the "
        "bootstrap is corrected for that, the two bounds differ by "
        f"{100 * max(1 - c.debiased / c.plug_in for c in found):.1f}% at most. Best Brier score under a limit:",
        "",
        "| error certified below | plug-in, percentile (bins) | plug-in (bins) | cancelling (bins) |",
        "| --- | --- | --- | --- |",
    ]
    for limit in limits:
        cells = []
        for name in ("percentile", "plug_in", "debiased"):
            allowed = [c for c in found if getattr(c, name) <= limit + 1e-12]
            least = min(allowed, key=lambda c: c.brier, default=None)
            cells.append("none" if least is None else f"{least.brier:.5f} ({least.n_bins})")
        lines.append(f"| {limit:.4f} | {' | '.join(cells)} |")
    lines += [
        "",
        "Class-wise calibration of a VGG on CIFAR-10: each class scaled and binned on the first 5,000 rows. Below "
        "are upper ends of 90% intervals of the l2 error (root of the mean over classes). They are from 100 "
        "bootstrap resamples of the other 5,000. The paper has a network of its own, and the section does not give "
        "the sizes of its parts. Scores jump from one number of bins to the next. A tenth of the rows are of a "
        "class. So equal-mass bins cut between unlikely and likely rows at 10 or 20 bins, and mix them at 15.",
        "",
        "| bins | Brier score | plug-in, percentile | plug-in | cancelling |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {c.n_bins} | {c.brier:.5f} | {c.percentile:.4f} | {c.plug_in:.4f} | {c.debiased:.4f} |" for c in found
    ]
    return finding, "\n".join(lines)


def deviation_figure(found: Sequence[Deviations]) -> Figure:
    """Draw mean squared deviations with 90% intervals."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    rows = [d.n_rows for d in found]
    for name, label, colour in (("plug_in", "plug-in", _SECOND), ("debiased", "cancelling", _INK)):
        values = [getattr(d, name) for d in found]
        half = [1.645 * v.std(ddof=1) / np.sqrt(v.size) for v in values]
        axes.errorbar(rows, [v.mean() for v in values], half, label=label, color=colour, marker="o", capsize=3)
    axes.set(xscale="log", yscale="log", xlabel="rows drawn", ylabel="mean squared deviation")
    axes.set_xticks(rows, [f"{n:,}" for n in rows])
    axes.minorticks_off()
    axes.set_title(f"Estimates of the squared calibration error, {found[0].n_bins} bins")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def certified_figure(found: Sequence[Certified]) -> Figure:
    """Draw Brier scores against certified errors; numbers of bins beside some points."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, label, colour in (
        ("percentile", "plug-in, percentile", _THIRD),
        ("plug_in", "plug-in", _SECOND),
        ("debiased", "cancelling", _INK),
    ):
        bounds = [getattr(c, name) for c in found]
        axes.plot(bounds, [c.brier for c in found], "o", label=label, color=colour, markersize=4)
        for c, bound in zip(found, bounds, strict=True):
            if name != "plug_in" and c.n_bins in (10, 15, 20, 100):
                axes.annotate(str(c.n_bins), (bound, c.brier), (4, 4), textcoords="offset points", fontsize=8)
    axes.set(xlabel="certified class-wise calibration error", ylabel="Brier score")
    axes.set_title("What 10 to 100 bins cost and certify")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _mean(values: FloatArray) -> str:
    return f"{values.mean():.3g} ± {1.645 * values.std(ddof=1) / np.sqrt(values.size):.1g}"
