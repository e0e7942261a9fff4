"""Segments that nobody named, found in the features: which are off by more than noise."""

from __future__ import annotations

__all__ = ["find_segments"]

from collections.abc import Callable, Sequence
from typing import Any

from calibrant.door.arguments import N_RESAMPLES, RandomState, flag, text
from calibrant.door.rows import not_taken
from calibrant.progress import watched
from calibrant.scale.frames import OpenedFrame
from calibrant.segments.asked import MAX_DEPTH, MIN_ROWS, N_BINS, Asked, names_of
from calibrant.segments.finding import found_in_table
from calibrant.segments.found_results import FoundSegments


def find_segments(
    frame: Any,
    *,
    y_true: str,
    y_prob: str,
    features: str | Sequence[str] | None = None,
    max_depth: int = MAX_DEPTH,
    n_bins: int = N_BINS,
    min_rows: int = MIN_ROWS,
    sample_weight: str | None = None,
    trials: str | None = None,
    groups: str | None = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    exclude_bad: bool = False,
    unweighted: bool = False,
    progress: bool | Callable[[str], None] | None = None,
) -> FoundSegments:
    """Find the segments of a table in which predictions are off by more than noise, among all that features make.

    Parameters
    ----------
    frame : table
        As for `CalibrationSketch.from_frame`. Predictions must not have been fitted to its rows: use held-out or
        cross-fitted ones.
    y_true, y_prob : str
        Names of its columns of outcomes, each 0 or 1 (with ``trials`` the share of events), and of predicted
        probabilities.
    features : str or sequence of str, optional
        Columns whose values make the segments: numbers, days, texts or truth values. By default all other usable
        columns; ``.left_out`` of the result says which were not.
    max_depth : int, default 2
        Most features that a segment combines, from 1 to 4.
    n_bins : int, default 10
        Number of values of a feature of numbers, from 2 to 100: they are cut at quantiles. Of a category all values
        with `min_rows` rows are told apart, up to 1,000 or as many as leave no more than 50,000 combinations, and
        the rest put together. Missing is a value of its own.
    min_rows : int, default 50
        Fewest rows of a segment. It needs a sum of v (1 - v) of 1 as well, v being the predictions.
    sample_weight : str, optional
        Column of non-negative weights. They are kept where outcomes are redrawn, so they must not depend on them.
    trials : str, optional
        Column of how many independent outcomes are behind each row.
    groups : str, optional
        Column of what rows belong to (a patient, an account, a day) where only rows of different ones are independent.
    level : float, default 0.05
        Largest probability that any segment is named in whose rows every predicted probability is right; and one minus
        the coverage of the intervals.
    n_resamples : int, default 999
        Redrawn sets of outcomes, at least 1 / level.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.
    exclude_bad : bool, default False
        Leave out rows whose outcome, prediction or weight is null, NaN or out of range instead of refusing the table.
    unweighted : bool, default False
        Leave out a column that holds weights by its name, instead of asking about it.
    progress : bool or callable, optional
        Called with the name of each stage. True: work of over a second shows its progress on the standard error; this
        is the default in notebooks and interactive sessions. False: never.

    Returns
    -------
    FoundSegments
        With ``segments``, each with its conditions, direction, size, interval and adjusted p-value, the ``pvalue`` of
        calibration in all tested segments, and the ``multicalibration_error``.

    Raises
    ------
    InputError
        If a column or parameter cannot be used: a feature that is constant, nested, of times of day, of texts that are
        all different, or the outcome or prediction itself; if there are too many segments, or too few resamples; with
        `groups` if too few hold events, or there are more than 5,000,000 rows.

    See Also
    --------
    calibration_by_segment, calibration_test, audit_table

    Notes
    -----
    For each segment the sum of w (y - v) and the range of its running sums in order of prediction are studentised, with
    their skewness, and made comparable. Outcomes are redrawn with the predicted probabilities, and all segments are
    adjusted for at once by stepping down (Westfall and Young). That is exact at any number of rows for the null
    hypothesis that every row of a segment has its predicted probability. Predictions that are right on average in a
    segment, and wrong within it, are errors as well: ``marginal_pvalue`` (Holm) is about the average alone, and weaker.
    If no redraw is as extreme, Chernoff bounds of the segments' sums give p-values below 1 / (1 + n_resamples).
    Segments whose error the correction of those already named explains are not named. With `groups` whole groups get
    random signs instead, the same in all segments: exact if groups' errors and their opposites are equally likely,
    nearly so with many groups. Segments need events, and non-events, in the equal of 30 groups; ``n_few_groups`` says
    how many combinations were left out for that. Beside it e-values of each segment's total, with a hundredth of the
    level, are proved for groups of any kind. Rows of a lazy table of more than 5,000,000 are not read: segments are
    summed by the table's engine in 64 cells of predictions and tested by proved tails, with Holm's correction; nothing
    is redrawn, and ``summed`` is true. Cost: a sort, then O(n) per resample and combination of features, on all
    processors; about 128 bytes per row and processor, and 4 per row and combination.

    References
    ----------
    docs/found-segments.md proves the level. Westfall and Young, Resampling-Based Multiple Testing, 1993, section 2.6;
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu, Metrics of calibration for probabilistic predictions, JMLR 23, 2022;
    Guy and others, Measuring multi-calibration, arXiv 2506.11251, 2025; Hebert-Johnson, Kim, Reingold and Rothblum,
    Multicalibration, ICML 2018; Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6, 1979.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> from calibrant import find_segments
    >>> rng = np.random.default_rng(0)
    >>> country, device = rng.choice(["de", "jp", "us"], 6_000), rng.choice(["phone", "tablet"], 6_000)
    >>> p = rng.uniform(0.1, 0.6, 6_000)
    >>> y = rng.random(6_000) < p - 0.1 * ((country == "jp") & (device == "tablet"))
    >>> table = pyarrow.table({"y": y, "p": p, "country": country, "device": device})
    >>> found = find_segments(table, y_true="y", y_prob="p", random_state=0)
    >>> [(segment.name, segment.direction) for segment in found.segments]
    [('country = jp and device = tablet', 'too high')]
    """
    for argument, name in {
        "y_true": y_true,
        "y_prob": y_prob,
        "sample_weight": sample_weight,
        "trials": trials,
        "groups": groups,
    }.items():
        text(name, argument)
    if trials is not None:
        not_taken("with trials every outcome counts once", sample_weight=sample_weight)
    flag(exclude_bad, "exclude_bad")
    flag(unweighted, "unweighted")
    asked = Asked(max_depth, n_bins, min_rows, level, n_resamples, random_state)
    table = OpenedFrame(frame, "frame")
    wanted = names_of(features)
    weights = sample_weight if trials is None else trials
    keys = (*(wanted or ()), *([] if groups is None else [groups]))
    names = table.spoken(y_true, y_prob, weights, unweighted and trials is None, keys)
    if groups is not None:
        table.require([groups], "groups")
        names["groups"] = groups
    with watched(progress) as tell:
        tell("Finding segments")
        return found_in_table(table, names, wanted, asked, trials=trials is not None, exclude_bad=exclude_bad)
