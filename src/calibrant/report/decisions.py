"""Decision curves, Murphy diagrams, the triptych and the plot that journals expect, drawn from their results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from calibrant.decisions.murphy import threshold_in_words
from calibrant.door.ends import confidence
from calibrant.report.style import STYLE, LettersFigure, Look, as_svg, colour, new_axes, reference, shade, with_earlier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from calibrant.decisions.belt import CalibrationBelt
    from calibrant.decisions.clinical import ClinicalCalibration
    from calibrant.decisions.curve import Acting, DecisionBand
    from calibrant.decisions.murphy import MurphyDiagram
    from calibrant.door.columns import FloatArray


_ROOM = 1.15  # of the largest value, for the axis
_POINTS = 801


def _steps(x: FloatArray, at: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve that jumps: both limits at each place."""
    return np.repeat(x, 2), np.column_stack([at, after]).ravel()


class NetBenefits(Protocol):
    """Source of a decision curve: the curve itself, or what an audit keeps of it."""

    @property
    def thresholds(self) -> FloatArray:
        """Increasing."""

    @property
    def net_benefit(self) -> FloatArray:
        """At the thresholds."""

    @property
    def net_benefit_after(self) -> FloatArray:
        """Its limit from above."""

    @property
    def best_net_benefit(self) -> FloatArray:
        """Net benefit of the best cut."""

    @property
    def base_rate(self) -> float:
        """Share of events."""


def draw_decision_curve(
    curve: NetBenefits, ax: Axes | None, band: DecisionBand | None, threshold: float | None = None, **several: Any
) -> Axes:
    """Draw net benefit of the predictions, the best cut, all and none, up to where no row is acted on.

    A threshold is marked.
    """
    ax = ax if ax is not None else new_axes()
    acting = (curve.net_benefit != 0.0) | (curve.best_net_benefit > 0.0)
    last = float(curve.thresholds[acting][-1]) if acting.any() else 1.0
    end = min(0.995, max(_ROOM * max(last, threshold or 0.0), 0.02))
    if look := Look(**several):
        return _draw_named(curve, ax, band, look, end)
    if band is not None:
        label = f"{confidence(band.level)} band"
        ax.fill_between(
            band.thresholds,
            band.net_benefit_lower,
            band.net_benefit_upper,
            color=colour("band"),
            lw=0,
            zorder=1,
            label=label,
        )
    t = np.linspace(0.0, end, _POINTS)
    every = curve.base_rate - t / (1.0 - t) * (1.0 - curve.base_rate)
    ax.plot(t, every, color=colour("muted"), lw=1.2, dashes=(1.5, 1.5), label="act on all")
    ax.axhline(0.0, color=colour("ink"), lw=1.2, label="act on none")
    ax.plot(curve.thresholds, curve.best_net_benefit, color=colour("high"), lw=1.2, dashes=(5, 2), label="best cut")
    x, y = _steps(curve.thresholds, curve.net_benefit, curve.net_benefit_after)
    ax.plot(x, y, color=colour("curve"), lw=2.0, label="predictions")
    top = max(float(curve.best_net_benefit.max()), 1e-6)
    if threshold is not None:
        ax.axvline(
            threshold,
            color=colour("ink"),
            lw=1.0,
            dashes=(6.0, 1.5, 1.0, 1.5),
            label=f"threshold {threshold_in_words(threshold)}",
        )
    ax.set_xlim(0.0, end)
    ax.set_ylim(-0.25 * top, _ROOM * top)
    ax.set_xlabel("threshold probability")
    ax.set_ylabel("net benefit")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:.4g}"))
    _legend(ax)
    return ax


def _draw_named(curve: NetBenefits, ax: Axes, band: DecisionBand | None, look: Look, end: float) -> Axes:
    """Draw net benefit of one of several models, and that of all and none once."""
    top = max(float(curve.best_net_benefit.max()), 1e-6)
    across, up = with_earlier(ax, (0.0, end), (-0.25 * top, _ROOM * top))
    t = np.linspace(0.0, across[1], _POINTS)
    reference(ax, t, curve.base_rate - t / (1.0 - t) * (1.0 - curve.base_rate), "act on all")
    reference(ax, across, (0.0, 0.0), "act on none", "-")
    line = look.line(ax, *_steps(curve.thresholds, curve.net_benefit, curve.net_benefit_after))
    if band is not None:
        shade(ax, line, band.thresholds, band.net_benefit_lower, band.net_benefit_upper)
    ax.set(xlim=across, ylim=up, xlabel="threshold probability", ylabel="net benefit")
    return look.finish(ax)


def draw_murphy(diagram: MurphyDiagram, ax: Axes | None, **several: Any) -> Axes:
    """Draw the elementary score and its parts by threshold; of one of several models the score alone."""
    ax = ax if ax is not None else new_axes()
    t = diagram.thresholds
    if look := Look(**several):
        score, after = diagram.elementary_score, diagram.elementary_score_after
        across, up = with_earlier(ax, (0.0, 1.0), (0.0, 1.05 * max(score.max(), after.max(), 1e-6)))
        look.line(ax, *_steps(t, score, after), f"mean {diagram.corp.mean_score:.4f}")
        ax.set(xlim=across, ylim=up, xlabel="threshold", ylabel="mean elementary score")
        return look.finish(ax)
    ax.plot(t, diagram.elementary_uncertainty, color=colour("muted"), lw=1.2, dashes=(1.5, 1.5), label="uncertainty")
    ax.plot(t, diagram.elementary_discrimination, color=colour("low"), lw=1.2, dashes=(5, 2), label="discrimination")
    for at, after, name, width, words in (
        (diagram.elementary_miscalibration, diagram.elementary_miscalibration_after, "high", 1.2, "miscalibration"),
        (diagram.elementary_score, diagram.elementary_score_after, "curve", 2.0, "score"),
    ):
        ax.plot(*_steps(t, at, after), color=colour(name), lw=width, label=words)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, None)
    ax.set_xlabel("threshold")
    ax.set_ylabel("mean elementary score")
    _legend(ax)
    return ax


def draw_isotonic(diagram: MurphyDiagram, ax: Axes, **several: Any) -> Axes:
    """Draw the isotonic reliability curve."""
    corp = diagram.corp
    if look := Look(**several):
        reference(ax, (0, 1), (0, 1))
        look.line(ax, corp.prediction, corp.recalibrated, f"miscalibration {corp.miscalibration:.4f}")
        _unit(ax, "prediction", "isotonic event rate")
        return look.finish(ax)
    ax.plot([0, 1], [0, 1], color=colour("muted"), lw=1, dashes=(4, 3))
    ax.plot(corp.prediction, corp.recalibrated, color=colour("curve"), lw=2.0)
    _unit(ax, "prediction", "isotonic event rate")
    return ax


def draw_roc(diagram: MurphyDiagram, ax: Axes, **several: Any) -> Axes:
    """Draw the ROC curve with its hull; of one of several models the curve alone."""
    x, y = diagram.false_positive_rate, diagram.true_positive_rate
    if look := Look(**several):
        reference(ax, (0, 1), (0, 1))
        look.line(ax, x, y, f"area {diagram.area:.4f}")
        _unit(ax, "false positive rate", "true positive rate")
        return look.finish(ax)
    ax.plot([0, 1], [0, 1], color=colour("muted"), lw=1, dashes=(4, 3))
    ax.plot(x[diagram.on_hull], y[diagram.on_hull], color=colour("low"), lw=1.2, label="hull: the best cuts")
    ax.plot(x, y, color=colour("curve"), lw=2.0, label="predictions")
    _unit(ax, "false positive rate", "true positive rate")
    _legend(ax)
    return ax


def draw_triptych(diagram: MurphyDiagram, axes: Sequence[Axes] | None, **several: Any) -> Figure:
    """Draw reliability curve, Murphy diagram and ROC curve; each of several models has its numbers in the legends."""
    if axes is None:
        axes = LettersFigure(figsize=(13.5, 4.8), layout="constrained").subplots(1, 3)
    for ax, draw, title in zip(axes, (draw_isotonic, draw_murphy, draw_roc), titles(diagram), strict=True):
        draw(diagram, ax, **several).set_title(title.partition(":")[0] if Look(**several) else title)
    return cast("Figure", axes[0].figure)


def titles(diagram: MurphyDiagram) -> tuple[str, str, str]:
    """Titles of the three panels, each with its number."""
    corp = diagram.corp
    return (
        f"Reliability: miscalibration {corp.miscalibration:.4f}",
        f"Elementary scores: mean {corp.mean_score:.4f}",
        f"ROC: area {diagram.area:.4f}",
    )


def decision_svg(acting: Acting) -> str:
    """The decision curve with its band as an SVG element, the threshold of the cost marked."""
    return _svg_of(partial(draw_decision_curve, acting, band=acting.band, threshold=acting.threshold))


def triptych_svgs(acting: Acting) -> list[tuple[str, str]]:
    """Reliability, elementary scores and ROC as titles and SVG elements; a page sets them side by side, or not."""
    draws = (draw_isotonic, draw_murphy, draw_roc)
    return [
        (title, _svg_of(partial(draw, acting.murphy))) for title, draw in zip(titles(acting.murphy), draws, strict=True)
    ]


def _svg_of(draw: Callable[[Axes], Any]) -> str:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 4.2), layout="constrained")
        draw(figure.add_subplot())
        return as_svg(figure)


def _unit(ax: Axes, across: str, up: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=across, ylabel=up)


def _legend(ax: Any) -> None:
    ax.legend(fontsize="small")


_TALL = 0.08  # of the axis, for the tallest bar of the distribution
_ABOVE = ("Observed : expected", "Calibration-in-the-large", "Calibration slope", "ICI", "C-statistic", "Brier score")


def draw_clinical(calibration: ClinicalCalibration, ax: Axes | None, **several: Any) -> Axes:
    """Draw observed against predicted risk, with the distribution of predictions by outcome below it."""
    ax = ax if ax is not None else new_axes()
    end = _end(calibration.prediction[-1], calibration.observed.max(), calibration.deciles.max())
    if look := Look(**several):
        return _draw_named_curve(calibration, ax, look, end, f"slope {calibration.calibration_slope.value:.2f}")
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
    end = _end(belt.prediction[-1])
    if look := Look(**several):
        return _draw_named_curve(belt, ax, look, end, f"p = {belt.pvalue:.2g}")
    ax.plot([0.0, end], [0.0, end], color=colour("muted"), lw=1, dashes=(4, 3), label="ideal")
    label = f"{confidence(belt.level)} belt"
    ax.fill_between(belt.prediction, belt.observed_lower, belt.observed_upper, color=colour("band"), lw=0, label=label)
    ax.plot(belt.prediction, belt.observed, color=colour("curve"), lw=2.0, label=f"degree {belt.degree}")
    ax.annotate(f"p = {belt.pvalue:.3g}", (0.02, 0.98), xycoords="axes fraction", va="top", fontsize="small")
    ax.set(xlim=(0.0, end), ylim=(0.0, end), xlabel="predicted risk", ylabel="observed proportion")
    ax.legend(loc="lower right", fontsize="small")
    return ax


def _draw_named_curve(
    curve: ClinicalCalibration | CalibrationBelt, ax: Axes, look: Look, end: float, number: str
) -> Axes:
    """Draw curve and band of one of several models against the diagonal."""
    across, up = with_earlier(ax, (0.0, end), (0.0, end))
    reference(ax, across, across)
    line = look.line(ax, curve.prediction, curve.observed, number)
    shade(ax, line, curve.prediction, curve.observed_lower, curve.observed_upper)
    ax.set(xlim=across, ylim=up, xlabel="predicted risk", ylabel="observed proportion")
    return look.finish(ax)


def _end(*drawn: float) -> float:
    """Where both axes end: at 1 unless all that is drawn lies far below."""
    return 1.0 if max(drawn) > 0.5 else 1.3 * float(max(drawn))
