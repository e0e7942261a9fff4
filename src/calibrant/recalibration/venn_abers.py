"""Venn-Abers prediction as an estimator: a range for each prediction, and one probability from it."""

from __future__ import annotations

__all__ = ["VennAbers"]

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from calibrant.door.columns import Column
from calibrant.recalibration.base import Recalibrator, read_predictions
from calibrant.recalibration.curves.steps import VennAbersCurve
from calibrant.recalibration.kinds import Kind, increasing, shares

FloatArray = npt.NDArray[np.float64]


class VennAbers(VennAbersCurve, Recalibrator):
    """Two isotonic fits for every new prediction, one for either outcome it may have, and one probability from both.

    Attributes
    ----------
    knots_ : ndarray of shape (m,)
        Predictions that it was fitted to.
    low_, high_ : ndarray of shape (2 m + 1,)
        Both ends of the range: before the first knot, at it, between it and the next, and so on.

    See Also
    --------
    IsotonicScaling, AveragedScaling

    Notes
    -----
    Suppose that the fitted rows and the new one are exchangeable. Then the end that belongs to the new row's outcome is
    calibrated, at any number of rows (docs/recalibration.md). It is not known which end it is; `interval` gives both.
    `predict` gives high / (1 - low + high). Of all probabilities this one's log loss is at worst least above that of
    the right end. Cost: a sort, then O(m) for few blocks.

    References
    ----------
    V. Vovk and I. Petej, "Venn-Abers predictors", UAI 2014; V. Vovk, I. Petej and V. Fedorova, "Large-scale
    probabilistic predictors with and without guarantees of validity", NIPS 2015.

    Examples
    --------
    >>> from calibrant.recalibration import VennAbers
    >>> fitted = VennAbers().fit([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.interval([0.15, 0.85]).round(3).tolist()
    [[0.0, 0.5], [0.5, 1.0]]
    >>> fitted.predict([0.15, 0.85]).round(3).tolist()
    [0.333, 0.667]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"knots_": increasing, "low_": shares, "high_": shares}

    def interval(self, y_prob: Column) -> FloatArray:
        """Return both ends of the range of each prediction, shape (n, 2).

        Raises
        ------
        InputError
            If predictions cannot be used.
        """
        check_is_fitted(self)
        return np.stack(self.ends(read_predictions(y_prob)), axis=1)
