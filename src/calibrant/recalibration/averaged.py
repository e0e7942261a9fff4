"""The average of smooth maps that are shrunk to the identity, as an estimator."""

from __future__ import annotations

__all__ = ["AveragedScaling"]

import re
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant.door.arguments import RandomState, check_level, generator, positive_integer
from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.special import expit, logit, ndtri
from calibrant.measures.logistic import inner_expit
from calibrant.recalibration.base import Recalibrator, as_column, read_predictions
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.kinds import Kind, column, shares_by_name


class AveragedScaling(AveragedCurve, Recalibrator):
    """Average of smooth maps, each shrunk to the identity and weighed by how well it explains the rows.

    Parameters
    ----------
    monotone : bool, default True
        Whether the corrected probabilities keep the order of the predictions.

    Attributes
    ----------
    weights_ : dict of str to float
        Share of each kind of map in the average: identity, offset, temperature, line, bend, spline, bend and spline,
        bumps.
    log_odds_, corrected_ : ndarray of shape (m,)
        The fitted map: log-odds of predictions and of corrected probabilities, linear between; beyond the last the
        correction is constant.
    spread_ : ndarray of shape (m,)
        Root mean square distance of the posterior's log-odds from the corrected ones.
    clip_ : ndarray of shape (2,)
        Predictions nearer than this to 0, and to 1, are read as being this far from it.

    See Also
    --------
    PlattScaling, IsotonicScaling, choose_recalibrator

    Notes
    -----
    Bayesian model averaging with Laplace's approximation, and the posterior mean of the probability. The same rows in
    any order give the same map, without a seed or held-out rows. docs/recalibration.md has priors and proofs. With few
    rows it is near the identity, with many it follows any smooth curve. Weighted rows count as Kish's effective number.
    Cost: a sort, then a tenth of a second.

    References
    ----------
    J. Hoeting, D. Madigan, A. Raftery and C. Volinsky, "Bayesian model averaging: a tutorial", Statistical Science 14,
    1999.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import AveragedScaling
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> averaged = AveragedScaling().fit(y_prob, rng.random(2000) < y_prob**2)
    >>> averaged.predict([0.2, 0.5, 0.8]).round(2).tolist()
    [0.05, 0.23, 0.64]
    """

    _fitted: ClassVar[dict[str, Kind]] = {
        "clip_": column,
        "log_odds_": column,
        "corrected_": column,
        "spread_": column,
        "weights_": shares_by_name,
    }

    def fit(
        self,
        y_prob: Column,
        y_true: Column,
        sample_weight: Column | None = None,
        *,
        trials: Column | None = None,
        groups: Any = None,
        sampling_fractions: Any = None,
    ) -> Self:
        """Fit the map to predictions and outcomes; rows count as what they are worth, in any order.

        Weighted rows count as Kish's effective number of them. Rows of `trials` count as that many outcomes, and
        `y_true` is the share of events among them. Rows of `groups` count as their number over the design effect. Rows
        that were kept by outcome count as one each: with `sampling_fractions`, or with weights of two values that undo
        them.

        Raises
        ------
        InputError
            If a column cannot be used; in groups, outcomes that are rates need trials.
        """
        outcome, prediction, weight = read_columns(y_true, as_column(y_prob), sample_weight)
        self._check_parameters()
        if trials is None and groups is None and sampling_fractions is None and not np.isin(outcome, (0.0, 1.0)).all():
            order = np.lexsort((outcome, prediction) if weight is None else (weight, outcome, prediction))
            weight = None if weight is None else weight[order]
            return self.fit_sample(Sample.of_arrays(outcome[order], prediction[order], weight))
        return self.fit_rows(
            Rows.of(outcome, prediction, weight, trials, groups, sampling_fractions=sampling_fractions)
        )

    def interval(self, y_prob: Column, *, level: float = 0.05) -> FloatArray:
        """Return ends of shape (n, 2) between which the probabilities lie with posterior probability 1 - level, each.

        The posterior of the log-odds is taken as normal, as the fit takes it.

        Raises
        ------
        InputError
            If predictions or the level cannot be used.
        """
        check_is_fitted(self)
        x = self.log_odds(read_predictions(y_prob))
        z = np.clip(x, self.log_odds_[0], self.log_odds_[-1])
        middle = np.interp(z, self.log_odds_, self.corrected_) + (x - z)
        half = -ndtri(0.5 * check_level(level)) * np.interp(z, self.log_odds_, self.spread_)
        return inner_expit(np.stack([middle - half, middle + half], axis=1))

    def to_sql(self, column: str) -> str:
        """Return the fitted map as an expression of SQL in a column of predictions, of up to some 200,000 characters.

        Nested CASE, LN and EXP, which every engine has. Missing values stay missing; numbers outside [0, 1], which
        `predict` refuses, get the value of the nearer end.

        Parameters
        ----------
        column : str
            The column, or an expression, as it is written in SQL.

        Raises
        ------
        InputError
            If the column is no text.

        Examples
        --------
        >>> import sqlite3
        >>> from calibrant.recalibration import AveragedScaling
        >>> averaged = AveragedScaling().fit([0.1, 0.2, 0.8, 0.9] * 30, [0, 1, 1, 1] * 30)
        >>> corrected = sqlite3.connect(":memory:").execute(f"SELECT {averaged.to_sql('0.3')}").fetchone()[0]
        >>> bool(abs(corrected - averaged.predict([0.3])[0]) < 1e-12)
        True
        """
        check_is_fitted(self)
        if not isinstance(column, str) or not column.strip():
            raise InputError("column", f"is {column!r:.40}", allowed="it is the name of a column, as SQL writes it")
        x, corrected, (low, high) = self.log_odds_, self.corrected_, self.clip_
        certain = logit(self._map(np.array([0.0, 1.0])))
        slope = np.r_[1.0, np.diff(corrected) / np.diff(x), 1.0]
        at = np.r_[0, np.arange(x.size)]
        level = corrected[at] - slope * x[at]
        column = column if re.fullmatch(r'[\w.]+|"[^"]+"|`[^`]+`', column) else f"({column})"
        odds = f"LN({column} / (1e0 - {column}))"
        lines = [f"{a:.17e} + {b:.17e} * {odds}" for a, b in zip(level.tolist(), slope.tolist(), strict=True)]
        leaves = [f"{certain[0]:.17e}", *lines, f"{certain[1]:.17e}"]
        last = float(np.nextafter(1.0 - high, 2.0))
        ends = np.minimum(np.maximum.accumulate(np.r_[low, expit(x), last]), last).tolist()
        # From one half on what is missing to 1 is compared, which has more digits.
        gaps = np.maximum(np.minimum.accumulate(np.r_[1.0 - low, expit(-x), 1.0 - last]), 1.0 - last).tolist()

        def tree(first: int, last: int) -> str:
            if first == last:
                return leaves[first]
            middle = (first + last) // 2
            below, above = tree(first, middle), tree(middle + 1, last)
            end, gap = ends[middle], gaps[middle]
            less = f"{column} < {end:.17e}" if end < 0.5 else f"1e0 - {column} > {gap:.17e}"
            return f"CASE WHEN {less} THEN {below} ELSE {above} END"

        return f"1e0 / (1e0 + EXP(-(0e0 * {column} + {tree(0, len(leaves) - 1)})))"

    def draws(self, y_prob: Column, n_draws: int = 400, random_state: RandomState = None) -> FloatArray:
        """Return probabilities of shape (n_draws, n): curves drawn from the averaged posterior, monotone or not.

        Raises
        ------
        InputError
            If an argument cannot be used, or the map was read from a file, which keeps no members.
        """
        check_is_fitted(self)
        if not hasattr(self, "members_"):
            raise InputError("draws", "needs the fit itself; a map read from text or a file keeps mean and spread")
        rng, n_draws = generator(random_state), positive_integer(n_draws, "n_draws")
        return np.asarray(expit(self.curves(self.log_odds(read_predictions(y_prob)), n_draws, rng)))
