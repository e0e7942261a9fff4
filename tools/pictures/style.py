"""What all pictures of the book share: two colours of fault, one frame, one sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, HAIRLINE = "#1b1f24", "#69727d", "#d5dae0"
BLUE, HIGH, LOW = "#0b6e99", "#c2410c", "#15803d"
Picture = Callable[[Axes], None]
Columns = tuple[np.ndarray, np.ndarray]

_STYLE = {
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": HAIRLINE,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fontsize": 8,
}


def overconfident(n: int = 400, seed: int = 3) -> Columns:
    """Outcomes whose odds are the square root of the predicted ones."""
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    rate = np.sqrt(v) / (np.sqrt(v) + np.sqrt(1.0 - v))
    return (rng.random(n) < rate).astype(float), v


def calibrated(n: int, seed: int = 0) -> Columns:
    """Outcomes drawn from the predictions."""
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(float), v


def save(name: str, draw: Picture, folder: Path) -> None:
    """Write one picture, the same bytes each time."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(6.8, 2.7), layout="constrained")
        draw(figure.subplots())
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def chance(ax: Axes, redrawn: np.ndarray, observed: float, what: str) -> None:
    """Redrawn statistics as a histogram, and the observed one beside them."""
    ax.hist(redrawn, bins=40, color=HAIRLINE, label=f"{redrawn.size} times, outcomes redrawn from the predictions")
    ax.axvline(observed, color=HIGH, lw=2, label="seen")
    ax.set(xlabel=what, yticks=[])
    ax.legend(loc="best")
