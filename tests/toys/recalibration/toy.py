"""A shift of every prediction, as an estimator."""

from __future__ import annotations

__all__ = ["ShiftScaling"]

from typing import ClassVar

from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.curves.toy import ShiftCurve
from calibrant.recalibration.kinds import Kind, within


class ShiftScaling(ShiftCurve, Recalibrator):
    """Add the mean error to every prediction.

    Attributes
    ----------
    shift_ : float
        What is added.

    See Also
    --------
    PlattScaling

    Examples
    --------
    >>> from calibrant.recalibration import ShiftScaling
    >>> ShiftScaling().fit([0.25, 0.25], [0, 1]).predict([0.25]).tolist()
    [0.5]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"shift_": within(1.0)}
