"""One picture a measure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from style import BLUE, HAIRLINE, HIGH, INK, LOW, MUTED, Picture, calibrated, overconfident

import calibrant


def plain(name: str) -> Picture:
    """What a measure without a picture of its own gets: its values for good and for bad predictions."""

    def draw(ax: Axes) -> None:
        measure = calibrant.measures.measures()[name]
        sizes = [50, 100, 200, 400, 800, 1600]
        for make, colour, label in ((calibrated, BLUE, "calibrated"), (overconfident, HIGH, "overconfident")):
            values = [[measure.function(*make(n, seed), **measure.parameters) for seed in range(10)] for n in sizes]
            ax.fill_between(sizes, np.min(values, axis=1), np.max(values, axis=1), color=colour, alpha=0.3, lw=0)
            ax.plot(sizes, np.mean(values, axis=1), color=colour, label=f"{label} predictions")
        ax.set(xlabel="rows; mean and range of ten samples", xscale="log", ylim=(0, None))
        ax.legend()

    return draw


def smooth(ax: Axes) -> None:
    y, v = overconfident()
    witness = calibrant.smooth_calibration_witness(y, v)
    ax.vlines(v, 0, 0.5 * (y - v), color=np.where(y > v, HIGH, LOW), lw=0.4, alpha=0.5)
    ax.plot(witness.knots, witness.heights, color=BLUE, lw=2, label=f"witness: {witness.value:.3f} on average")
    ax.axhline(0, color=HAIRLINE)
    ax.set(xlabel="prediction v", ylabel="error y - v (halved)")
    ax.legend(loc="upper right")


def lower(ax: Axes) -> None:
    y, v = overconfident(24, 5)
    found = calibrant.lower_calibration_certificate(y, v)
    moves = found.coupling
    for u, a, label, mass in zip(moves.u, moves.v, moves.y, moves.mass, strict=True):
        if mass > 1e-4:
            ax.plot([a, u], [1, 0], color=HIGH if label else LOW, lw=40 * mass, alpha=0.7, solid_capstyle="butt")
    ax.set(yticks=[0, 1], xlabel=f"prediction; cost {found.upper:.4f}, and nothing below {found.lower:.4f} will do")
    ax.set_yticklabels(["calibrated", "predicted"])


def two_bin(ax: Axes) -> None:
    y, v = overconfident()
    cuts = np.linspace(0, 1, 400)
    below = np.array([(y - v)[v < cut].sum() for cut in cuts]) / v.size
    above = (y - v).mean() - below
    ax.fill_between(cuts, np.abs(below), color=LOW, alpha=0.5, label="|error below the cut|")
    ax.fill_between(cuts, np.abs(below), np.abs(below) + np.abs(above), color=HIGH, alpha=0.5, label="|error above it|")
    error = calibrant.averaged_two_bin_calibration_error(y, v)
    ax.set(xlabel=f"cut q; coloured area {error:.4f}", ylabel="sum of y - v over n")
    ax.legend()


def squared_two_bin(ax: Axes) -> None:
    rng = np.random.default_rng(0)
    chance = rng.random(100)
    outcomes = [(rng.random(100) < chance).astype(float) for _ in range(400)]
    share = np.linspace(0, 1, 11)
    for measure, colour, label in (
        (calibrant.smooth_calibration_error, HIGH, "smooth error"),
        (calibrant.measures.squared_averaged_two_bin_error, BLUE, "squared averaged two-bin error"),
    ):
        reports = [(1 - s) * chance + s * chance.mean() for s in share]
        means = np.array([np.mean([measure(y, v) for y in outcomes]) for v in reports])
        ax.plot(share, means / means[0], color=colour, label=label)
    ax.axhline(1, color=HAIRLINE)
    ax.set(xlabel="how far the report is drawn to the mean chance; 0 is the truth", ylabel="mean, the truth's is 1")
    ax.legend()


def cutoff(ax: Axes) -> None:
    y, v = overconfident()
    order = np.argsort(v)
    walk = np.append(0.0, (y - v)[order].cumsum() / v.size)
    at = np.append(0.0, v[order])
    ends = sorted((int(walk.argmin()), int(walk.argmax())))
    ax.plot(at, walk, color=BLUE)
    ax.axvspan(at[ends[0]], at[ends[1]], color=HIGH, alpha=0.2, lw=0)
    ax.hlines([walk.min(), walk.max()], 0, 1, color=MUTED, lw=0.8, ls="--")
    error = calibrant.cutoff_calibration_error(y, v)
    ax.set(xlabel=f"prediction v; from highest to lowest {error:.4f}", ylabel="sum of y - v so far, over n")


def decision_loss(ax: Axes) -> None:
    y, v = overconfident()
    curve = calibrant.decision_curve(y, v)
    t = np.append(np.repeat(curve.thresholds, 2), 1.0)
    regret = np.append(np.column_stack([curve.regret, curve.regret_after]).ravel(), 0.0)
    loss = calibrant.monotone_decision_loss(y, v)
    ax.fill_between(t, 0, regret, color=BLUE, alpha=0.25, lw=0)
    ax.plot(t, regret, color=BLUE, label="regret")
    hull = [0]
    for i in range(1, t.size):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (regret[b] - regret[a]) * (t[i] - t[b]) > (regret[i] - regret[b]) * (t[b] - t[a]):
                break
            hull.pop()
        hull.append(i)
    ax.plot(t[hull], regret[hull], color=HIGH, ls="--", label="its concave envelope")
    ax.plot([0.5], [loss / 2], "o", color=HIGH)
    ax.set(xlabel=f"threshold t; twice the envelope at 1/2 is {loss:.4f}", ylabel="lost per row")
    ax.legend()


def distance(ax: Axes) -> None:
    y, v = overconfident(14, 8)
    order = np.argsort(v)
    y, v = y[order], v[order]
    found = calibrant.calibration_distance(y, v)
    row = np.arange(v.size)
    ax.hlines(row, np.minimum(v, found.predictor), np.maximum(v, found.predictor), color=HAIRLINE, lw=2)
    ax.scatter(v, row, c=np.where(y == 1, HIGH, LOW), s=22, zorder=3, label="predicted")
    ax.scatter(found.predictor, row, facecolors="none", edgecolors=INK, s=34, label="nearest calibrated predictor")
    ax.set(yticks=[], xlabel=f"prediction; mean movement {found.upper:.4f}")
    ax.legend(loc="lower right")


def interval(ax: Axes) -> None:
    y, v = overconfident()
    found = calibrant.measures.interval_calibration_partition(y, v)
    width = np.asarray(found.last) - np.asarray(found.first)
    height = np.asarray(found.residual) / np.asarray(found.mass)
    ax.bar(
        found.first, height, np.maximum(width, 0.002), align="edge", color=np.where(height > 0, HIGH, LOW), alpha=0.7
    )
    ax.axhline(0, color=HAIRLINE)
    ax.set(xlim=(0, 1), xlabel=f"prediction; error + mean width = {found.value:.3f}", ylabel="mean error in a bin")


def random_interval(ax: Axes) -> None:
    y, v = overconfident()
    width = 0.1
    shifts = np.linspace(0, width, 200, endpoint=False)
    errors = [np.abs(np.bincount(np.floor((v + s) / width).astype(int), y - v)).sum() / v.size for s in shifts]
    mean = calibrant.random_interval_calibration_error(y, v, width=width)
    ax.plot(shifts, errors, color=MUTED, drawstyle="steps-post", label="binned error, grid shifted")
    ax.axhline(mean, color=BLUE, lw=2, label=f"their mean over all shifts, {mean:.4f}")
    ax.set(xlabel="shift of bins of width 0.1", ylabel="binned error")
    ax.legend()


def surrogate(ax: Axes) -> None:
    y, v = overconfident()
    widths = 0.5 ** np.arange(8)
    errors = np.array([calibrant.random_interval_calibration_error(y, v, width=w) for w in widths])
    least = calibrant.surrogate_interval_calibration_error(y, v)
    ax.plot(widths, errors, "o-", color=MUTED, ms=4, label="randomly shifted binned error")
    ax.plot(widths, widths, color=HAIRLINE, label="width")
    ax.plot(widths, errors + widths, "o-", color=BLUE, ms=4, label="sum")
    ax.axhline(least, color=HIGH, lw=1, ls="--", label=f"least sum, {least:.3f}")
    ax.set(xscale="log", ylim=(0, 0.6), xlabel="width of the bins")
    ax.legend(ncols=2)


def kernel(ax: Axes) -> None:
    y, v = overconfident()
    at = np.linspace(0, 1, 400)
    pull = np.exp(-np.abs(at[:, None] - v)) @ (y - v) / v.size
    error = calibrant.kernel_calibration_error(y, v)
    ax.vlines(v, 0, 0.1 * (y - v), color=np.where(y > v, HIGH, LOW), lw=0.4, alpha=0.5)
    ax.plot(at, pull, color=BLUE, lw=2, label=f"mean error, counted by exp(-|distance|); its norm is {error:.3f}")
    ax.axhline(0, color=HAIRLINE)
    ax.set(xlabel="prediction v", ylabel="mean of k(t, v) (y - v)")
    ax.legend(loc="upper right")


def convolved(ax: Axes) -> None:
    y, v = overconfident()
    error = calibrant.convolved_calibration_error(y, v)
    at = np.linspace(0, 1, 600)
    near = sum(np.exp(-0.5 * ((at[:, None] - image) / error) ** 2) for image in (v, -v, 2.0 - v))
    curve = near @ (y - v) / v.size / error / np.sqrt(2.0 * np.pi)
    ax.fill_between(at, curve, where=curve > 0, color=HIGH, alpha=0.5)
    ax.fill_between(at, curve, where=curve < 0, color=LOW, alpha=0.5)
    ax.axhline(0, color=HAIRLINE)
    ax.set(
        xlabel=f"prediction; coloured area {np.abs(curve).mean():.3f}, bandwidth {error:.3f}", ylabel="smoothed error"
    )


def expected(ax: Axes) -> None:
    y, v = overconfident()
    bins = calibrant.calibration_bins(y, v, n_bins=10)
    middle = 0.5 * (np.asarray(bins.lower_edge) + np.asarray(bins.upper_edge))
    ax.plot([0, 1], [0, 1], color=HAIRLINE)
    ax.vlines(middle, bins.prediction, bins.outcome, color=HIGH, lw=4, alpha=0.6)
    ax.scatter(middle, bins.outcome, color=BLUE, s=20, zorder=3, label="observed rate")
    ax.scatter(middle, bins.prediction, color=MUTED, s=12, label="mean prediction")
    error = calibrant.expected_calibration_error(y, v, n_bins=10)
    ax.set(xlabel=f"prediction; mean gap {error:.3f}", ylabel="rate")
    ax.legend()


def binned_bound(ax: Axes) -> None:
    y, v = overconfident(2000)
    bins = np.arange(1, 61)
    error = np.array([calibrant.expected_calibration_error(y, v, n_bins=int(k)) for k in bins])
    bound = np.array([calibrant.measures.binned_calibration_error_bound(y, v, n_bins=int(k)) for k in bins])
    ax.plot(bins, error, color=MUTED, label="binned error: too small with few bins, grows with many")
    ax.plot(bins, bound, color=BLUE, label="plus mean width: never below the distance")
    ax.axhline(calibrant.upper_calibration_distance(y, v).upper, color=HIGH, ls="--", lw=1, label="upper distance")
    ax.set(xlabel="number of bins", ylim=(0, 0.6))
    ax.legend()


def squared(ax: Axes) -> None:
    edges = np.linspace(0, 1, 51)
    naive, fair = [], []
    for seed in range(400):
        y, v = calibrated(1000, seed)
        v = (np.floor(50 * v) + 0.5) / 50
        y = (np.random.default_rng(10_000 + seed).random(v.size) < v).astype(float)
        cell = np.searchsorted(edges, v) - 1
        count = np.bincount(cell, minlength=50)
        residual = np.bincount(cell, y - v, 50)
        naive.append((residual**2 / np.maximum(count, 1)).sum() / v.size)
        fair.append(calibrant.squared_calibration_error(y, v))
    both = np.linspace(min(fair), max(naive), 60)
    ax.hist(naive, both, color=HIGH, alpha=0.5, label="plug-in")
    ax.hist(fair, both, color=BLUE, alpha=0.5, label="cancelling: right on average")
    ax.axvline(0, color=INK, lw=1)
    ax.set(xlabel="estimated squared error of calibrated predictions (truth: 0)", yticks=[])
    ax.legend()


def canonical(ax: Axes) -> None:
    rng = np.random.default_rng(2)
    table = rng.dirichlet([1.2, 1.2, 1.2], 1500)
    truth = table**0.5 / (table**0.5).sum(axis=1, keepdims=True)
    corner = np.array([[0, 0], [2, 0], [1, 1]])
    ax.scatter(*(table @ corner).T, s=2, color=HAIRLINE)
    for centre in rng.dirichlet([1.5, 1.5, 1.5], 45):
        near = np.exp(-np.abs(table - centre).sum(axis=1) / 0.15)
        move = (near @ (truth - table)) / near.sum() @ corner
        ax.annotate("", centre @ corner + move, centre @ corner, arrowprops={"arrowstyle": "->", "color": HIGH})
    ax.set_axis_off()


def corp(ax: Axes) -> None:
    y, v = overconfident(600)
    found = calibrant.corp_decomposition(y, v)
    ax.plot([0, 1], [0, 1], color=HAIRLINE)
    ax.step(found.prediction, found.recalibrated, where="mid", color=BLUE)
    ax.set(
        xlabel=f"prediction; Brier score {found.mean_score:.3f} = miscalibration {found.miscalibration:.3f} - "
        f"discrimination {found.discrimination:.3f} + uncertainty {found.uncertainty:.3f}",
        ylabel="isotonic rate",
    )


PICTURES: dict[str, Picture] = {
    "smooth_calibration_error": smooth,
    "lower_calibration_distance": lower,
    "averaged_two_bin_calibration_error": two_bin,
    "squared_averaged_two_bin_error": squared_two_bin,
    "cutoff_calibration_error": cutoff,
    "monotone_decision_loss": decision_loss,
    "calibration_distance": distance,
    "interval_calibration_error": interval,
    "random_interval_calibration_error": random_interval,
    "surrogate_interval_calibration_error": surrogate,
    "kernel_calibration_error": kernel,
    "convolved_calibration_error": convolved,
    "expected_calibration_error": expected,
    "binned_calibration_error_bound": binned_bound,
    "squared_calibration_error": squared,
    "squared_canonical_kernel_error": canonical,
    "corp_decomposition": corp,
}
