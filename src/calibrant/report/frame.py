"""Frame of a reliability diagram: the part shown, and the density of rows along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from calibrant.door.columns import FloatArray
    from calibrant.findings.decision import Example
    from calibrant.findings.reliability import Reliability
    from calibrant.measures.smooth import Witness

_NEAR = 15  # points of the curve over which the density of rows is averaged
_NARROW = 0.25  # predictions in a narrower range fill the axis
_SHOWN = 0.995  # share of the weight that the axis of predictions must hold where the rest would stretch it
_PLENTY = 0.98  # share of the weight, the densest first, whose curve and band the other axis must hold


class Drawable(Protocol):
    """Source of the diagram: an audit, or a display."""

    @property
    def reliability(self) -> Reliability:
        """The table."""

    @property
    def witness(self) -> Witness:
        """Of the smooth error."""

    @property
    def base_rate(self) -> float:
        """Mean outcome."""

    @property
    def level(self) -> float:
        """One minus the coverage of the band."""


def heights(table: Reliability, low: float, high: float, more: Sequence[float]) -> tuple[float, float]:
    """Ends of the axis of outcomes: what is drawn where rows are plenty fits, noise where they are few may leave it."""
    dense = density(table) if table.kind == "curve" else table.mass
    order = np.argsort(-dense, kind="stable")
    plenty = order[: 1 + int(np.searchsorted(np.cumsum(dense[order]), _PLENTY * dense.sum()))]
    band = [each for each in (table.band_lower, table.band_upper) if each is not None]
    columns = [table.outcome, table.isotonic, *band]
    points = np.concatenate([*(each[plenty] for each in columns), [low, high], more])
    bottom, top = max(0.0, float(np.nanmin(points))), min(1.0, float(np.nanmax(points)))
    pad = 0.03 * (top - bottom)
    return bottom - pad if bottom > 0.0 else -0.012 * top, top + pad if top < 1.0 else 1.0 + 0.012 * (1.0 - bottom)


def limits(audit: Drawable, examples: Sequence[Example] = ()) -> tuple[float, float]:
    """Ends of the axis of predictions: 0 and 1, unless nearly all of them keep to a narrow range."""
    table = audit.reliability
    low, high = float(table.prediction[0]), float(table.prediction[-1])
    if table.kind == "curve":
        spare = 0.5 * (1.0 - _SHOWN)
        sums = np.cumsum(table.mass) / table.mass.sum()
        first, last = np.searchsorted(sums, [spare, 1.0 - spare])
        low, high = (float(table.prediction[min(int(i), sums.size - 1)]) for i in (first, last))
        step = float(table.prediction[1] - table.prediction[0])
        shown = [each.predicted for each in examples]
        low, high = min([low - step, *shown]), max([high + step, *shown])
        low, high = max(low, float(table.prediction[0])), min(high, float(table.prediction[-1]))
    span = max(high - low, 1e-3)
    if span >= _NARROW:
        return 0.0, 1.0
    return max(0.0, low - 0.08 * span), min(1.0, high + 0.08 * span)


def beyond(audit: Drawable, examples: Sequence[Example] = ()) -> float:
    """Share of the weight whose predictions the axis leaves out."""
    table, (low, high) = audit.reliability, limits(audit, examples)
    return float(table.mass[(table.prediction < low) | (table.prediction > high)].sum())


def density(table: Reliability) -> FloatArray:
    """How dense the rows are at each point of a curve, averaged over its neighbours."""
    return np.asarray(np.convolve(table.mass, np.full(_NEAR, 1.0 / _NEAR), mode="same"))


def heavy(table: Reliability) -> FloatArray:
    """The same between 0, where there is hardly a row, and 1, on a scale that keeps sparse parts of large data."""
    rows = np.convolve(table.count, np.full(_NEAR, 1.0), mode="same")
    return np.asarray(np.log1p(rows) / np.log1p(rows.max()))
