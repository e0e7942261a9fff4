"""T-Cal's Figure 6: reliability diagrams of VGG-19 on CIFAR-10 after Platt, polynomial and histogram recalibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from calibrant.recalibration import HistogramBinning, PlattScaling, PolynomialScaling
from calibrant_papers.predictions import top_label
from calibrant_papers.registry import Reproduction, needed
from calibrant_papers.tcal_tables import DATASETS

NETWORK, N_BINS, FEWEST = "cifar10_vgg19_bn", 15, 10


def figure_6(_quick: bool, data: Path | None) -> Reproduction:
    """Compare the share right with the mean confidence, bin by bin; bins of fewer than 10 rows are left out."""
    y_true, y_prob = top_label(needed(data), NETWORK)
    first = DATASETS[0].n_calibration
    ways = {
        "Platt scaling": PlattScaling(),
        "polynomial scaling": PolynomialScaling(degree=DATASETS[0].degree),
        "histogram binning": HistogramBinning(strategy="ceil"),
    }
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, len(ways), sharey=True)
    lines = [
        f"VGG-19 on CIFAR-10, recalibrated on the first {first:,} rows, drawn of the other {y_true.size - first:,}. "
        f"{N_BINS} bins of equal width, those of fewer than {FEWEST} rows left out, as in the paper. The paper gives "
        "no numbers.",
        "",
        "| recalibration | bin | rows | mean confidence | share right | gap |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    mean_gap = {}
    for axis, (name, way) in zip(axes, ways.items(), strict=True):
        predicted = way.fit(y_prob[:first], y_true[:first]).predict(y_prob[first:])
        cell = np.minimum((predicted * N_BINS).astype(np.int64), N_BINS - 1)
        count = np.bincount(cell, minlength=N_BINS)
        shown, off = 0, 0.0
        for k in np.flatnonzero(count >= FEWEST):
            confidence, right = predicted[cell == k].mean(), y_true[first:][cell == k].mean()
            shown, off = shown + count[k], off + count[k] * abs(right - confidence)
            ends = f"{k / N_BINS:.3f} to {(k + 1) / N_BINS:.3f}"
            lines.append(
                f"| {name} | {ends} | {count[k]:,} | {confidence:.4f} | {right:.4f} | {right - confidence:+.4f} |"
            )
            axis.bar((k + 0.5) / N_BINS, right, 0.9 / N_BINS, color="#1f4e79")
        axis.plot([0, 1], [0, 1], "--", color="#999999")
        axis.set(title=name, xlabel="confidence", xlim=(0, 1), ylim=(0, 1))
        axis.spines[["top", "right"]].set_visible(False)
        mean_gap[name] = off / shown
    axes[0].set_ylabel("share right")
    finding = "Per row the gap is " + ", ".join(f"{gap:.4f} after {name}" for name, gap in mean_gap.items())
    return Reproduction(
        "T-Cal, Figure 6: reliability after three recalibrations", f"{finding}.", "\n".join(lines), figure
    )
