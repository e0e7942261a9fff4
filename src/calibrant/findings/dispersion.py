"""Whether outcomes of one row of trials vary together: rows of nearly one prediction differ by more than chance."""

from __future__ import annotations

import numpy as np

from calibrant.door.rows import Rows

_SEED = 0  # of the order of rows with one prediction
_FEWEST = 20  # pairs of rows
_PLAIN = 4.0  # standard errors: 6 of 134,400 samples without it had as many, calibrated and miscalibrated


def varies_together(rows: Rows | None) -> bool:
    """Whether trials of a row are plainly no independent outcomes of one chance.

    Rows next to one another in their predictions are paired. Given the events of both, those of one are hypergeometric
    if both have one chance, whatever it is: their squared error over its variance then is 1 on average.
    """
    if rows is None or rows.trials is None or rows.group is not None:
        return False
    order = np.lexsort((rows.y_true, rows.count, rows.y_prob))  # so that none that they come in shows
    apart = np.random.default_rng(_SEED).random(order.size)
    order = order[np.lexsort((apart, rows.y_prob[order]))][: order.size // 2 * 2]
    events, trials = (each[order].astype(np.float64) for each in (rows.y_true, rows.count))
    both, of = events[::2] + events[1::2], trials[::2] + trials[1::2]
    share = trials[::2] / of
    variance = share * (1.0 - share) * both * (of - both) / np.maximum(of - 1.0, 1.0)
    may_vary = variance > 0.0
    if np.count_nonzero(may_vary) < _FEWEST:
        return False
    squares = (events[::2] - share * both)[may_vary] ** 2 / variance[may_vary]
    return bool(squares.mean() - 1.0 > _PLAIN * squares.std(ddof=1) / np.sqrt(squares.size))
