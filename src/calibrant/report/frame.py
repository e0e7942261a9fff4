"""Frame of a reliability diagram: the part of its axes that is shown, and how many rows lie where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from calibrant.findings.reliability import shown_ends
from calibrant.measures.logistic import inner_expit

if TYPE_CHECKING:
    from calibrant.door.columns import FloatArray
    from calibrant.findings.reliability import Axis, Reliability
    from calibrant.measures.smooth import Witness

_PLENTY = 0.98  # share of the weight, the densest first, whose curve and band the other axis must hold
_PAD = 0.03  # of an axis, beside what it must hold


class Drawable(Protocol):
    """Source of the diagram: an audit, or a display."""

    @property
    def reliability(self) -> Reliability:
        """The table."""

    @property
    def witness(self) -> Witness:
        """Return the witness of the smooth error."""

    @property
    def base_rate(self) -> float:
        """Mean outcome."""

    @property
    def level(self) -> float:
        """One minus the coverage of the band."""


def place(values: FloatArray | Sequence[float], axis: Axis) -> FloatArray:
    """Places of probabilities on an axis; infinite ones of 0 and 1 on that of log-odds."""
    values = np.asarray(values, dtype=np.float64)
    if axis == "linear":
        return values
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values) - np.log1p(-values))


def probability(places: FloatArray, axis: Axis) -> FloatArray:
    """Probabilities at places of an axis."""
    return places if axis == "linear" else inner_expit(places)


def heights(table: Reliability, low: float, high: float, more: Sequence[float]) -> tuple[float, float]:
    """Ends of the axis of outcomes: the curve fits, and what else is drawn where rows are plenty."""
    order = np.argsort(-table.mass, kind="stable")
    plenty = order[: 1 + int(np.searchsorted(np.cumsum(table.mass[order]), _PLENTY * table.mass.sum()))]
    band = [each for each in (table.band_lower, table.band_upper) if each is not None]
    columns = [table.outcome, *(each[plenty] for each in band)]
    if table.axis == "log-odds":
        points = np.concatenate([*columns, more])
        points = place(np.clip(points[np.isfinite(points)], low, high), table.axis)
        pad = 2.0 * _PAD * float(np.ptp(points)) + 0.1
        ends = probability(np.array([points.min() - pad, points.max() + pad]), table.axis)
        return float(ends[0]), float(ends[1])
    points = np.concatenate([*columns, table.isotonic[plenty], [low, high], more])
    bottom, top = max(0.0, float(np.nanmin(points))), min(1.0, float(np.nanmax(points)))
    pad = _PAD * (top - bottom)
    return bottom - pad if bottom > 0.0 else -0.012 * top, top + pad if top < 1.0 else 1.0 + 0.012 * (1.0 - bottom)


def limits(audit: Drawable) -> tuple[float, float]:
    """Ends of the axis of predictions: 0 and 1, unless nearly all of them keep to a narrow range, or to corners."""
    table = audit.reliability
    low, high = float(table.prediction[0]), float(table.prediction[-1])
    if table.axis == "linear":
        return shown_ends(low, high)
    ends = place([low, high], table.axis)
    pad = _PAD * float(ends[1] - ends[0]) + 0.05
    low, high = probability(np.array([ends[0] - pad, ends[1] + pad]), table.axis).tolist()
    return low, min(high, 1.0 - 2.0**-53)


def beyond(audit: Drawable) -> float:
    """Share of the weight whose predictions the axis leaves out."""
    table, (low, high) = audit.reliability, limits(audit)
    inside = (table.prediction >= low) & (table.prediction <= high)
    outside = 1.0 - float(table.mass[inside].sum())
    return outside if outside > 1e-9 else 0.0


def counts(table: Reliability, edges: FloatArray) -> FloatArray:
    """Rows between places of the axis: those of a point are spread evenly as far as it is the nearest one."""
    at = place(table.prediction, table.axis)
    ends = np.concatenate([at[:1], 0.5 * (at[:-1] + at[1:]), at[-1:]])
    below = np.concatenate([[0.0], np.cumsum(table.count)])
    return np.diff(np.interp(edges, ends, below))


def near_an_end(value: float) -> str:
    """A probability, of very small ones, and those near 1, the power of ten."""
    tail = min(value, 1.0 - value)
    if tail > 0.8e-4:
        return f"{value:.4g}"
    return f"{'' if value < 0.5 else '1-'}{tail:.0e}".replace("e-0", "e-")
