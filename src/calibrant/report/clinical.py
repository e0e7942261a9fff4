"""The calibration plot that journals expect: curve, band, groups, and who was predicted what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.ends import confidence
from calibrant.report.look import colour, new_axes
from calibrant.report.overlay import Look, reference, shade, with_earlier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.decisions.belt import CalibrationBelt
    from calibrant.decisions.clinical import ClinicalCalibration

_TALL = 0.08  # of the axis, for the tallest bar of the distribution
_ABOVE = ("Observed : expected", "Calibration-in-the-large", "Calibration slope", "ICI", "C-statistic", "Brier score")


def draw_clinical(calibration: ClinicalCalibration, ax: Axes | None, **several: Any) -> Axes:
    """Draw observed against predicted risk, with the distribution of predictions by outcome below it."""
    ax = ax if ax is not None else new_axes()
    end = _end(calibration)
    if look := Look(**several):
        return _draw_named(calibration, ax, look, end, f"slope {calibration.calibration_slope.value:.2f}")
    ax.plot([0.0, end], [0.0, end], color=colour("muted"), lw=1, dashes=(4, 3), label="ideal")
    label = f"{confidence(calibration.level)} band"
    ax.fill_between(
        calibration.prediction,
        calibration.observed_lower,
        calibration.observed_upper,
        color=colour("band"),
        lw=0,
        label=label,
    )
    ax.plot(calibration.prediction, calibration.observed, color=colour("curve"), lw=2.0, label=calibration.curve)
    ax.plot(*calibration.deciles.T, "^", color=colour("ink"), ms=5, label="tenths of the rows")
    centre = (np.arange(calibration.histogram.shape[1]) + 0.5) / calibration.histogram.shape[1]
    scale = _TALL * end / max(float(calibration.histogram.max()), 1e-300)
    base = -1.2 * _TALL * end
    for row, sign, name in ((calibration.histogram[1], 1.0, "high"), (calibration.histogram[0], -1.0, "low")):
        ax.vlines(centre, base, base + sign * scale * row, color=colour(name), lw=2)
    ax.axhline(base, color=colour("hairline"), lw=0.8)
    ax.annotate("events", (end, base), (4, 2), textcoords="offset points", ha="left", fontsize="x-small")
    ax.annotate("others", (end, base), (4, -8), textcoords="offset points", ha="left", fontsize="x-small")
    lines = "\n".join(f"{name} {calibration.estimates[name].summary()}" for name in _ABOVE)
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    ax.annotate(lines, (0.0, 1.0), (-30, 4), fontsize="x-small", color=colour("ink"), **above)  # where no curve crosses
    ax.set(xlim=(0.0, end), ylim=(base - 1.2 * _TALL * end, end), xlabel="predicted risk", ylabel="observed proportion")
    ax.legend(loc="best", fontsize="x-small")
    return ax


def draw_belt(belt: CalibrationBelt, ax: Axes | None, **several: Any) -> Axes:
    """Draw curve and belt against the diagonal."""
    ax = ax if ax is not None else new_axes()
    most = float(belt.prediction[-1])
    end = 1.0 if most > 0.5 else min(1.0, 1.3 * most)
    if look := Look(**several):
        return _draw_named(belt, ax, look, end, f"p = {belt.pvalue:.2g}")
    ax.plot([0.0, end], [0.0, end], color=colour("muted"), lw=1, dashes=(4, 3), label="ideal")
    label = f"{confidence(belt.level)} belt"
    ax.fill_between(belt.prediction, belt.observed_lower, belt.observed_upper, color=colour("band"), lw=0, label=label)
    ax.plot(belt.prediction, belt.observed, color=colour("curve"), lw=2.0, label=f"degree {belt.degree}")
    ax.annotate(f"p = {belt.pvalue:.3g}", (0.02, 0.98), xycoords="axes fraction", va="top", fontsize="small")
    ax.set(xlim=(0.0, end), ylim=(0.0, end), xlabel="predicted risk", ylabel="observed proportion")
    ax.legend(loc="lower right", fontsize="small")
    return ax


def _draw_named(curve: ClinicalCalibration | CalibrationBelt, ax: Axes, look: Look, end: float, number: str) -> Axes:
    """Draw curve and band of one of several models against the diagonal."""
    across, up = with_earlier(ax, (0.0, end), (0.0, end))
    reference(ax, across, across)
    line = look.line(ax, curve.prediction, curve.observed, number)
    shade(ax, line, curve.prediction, curve.observed_lower, curve.observed_upper)
    ax.set(xlim=across, ylim=up, xlabel="predicted risk", ylabel="observed proportion")
    return look.finish(ax)


def _end(calibration: ClinicalCalibration) -> float:
    """Where both axes end: at 1 unless all that is drawn lies far below."""
    most = max(float(calibration.prediction[-1]), float(calibration.observed.max()), float(calibration.deciles.max()))
    return 1.0 if most > 0.5 else min(1.0, 1.3 * most)
