"""What to do: recalibrations compared on rows that they were not fitted to."""

from __future__ import annotations

__all__ = ["Advice"]

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.classes import MulticlassSample, drawn_rows
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.findings.decision import State
from calibrant.findings.words import NO_TRIALS
from calibrant.inference.testing.result import TestResult

if TYPE_CHECKING:
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.choice import RecalibrationScore
    from calibrant.recalibration.curves.base import Curve
    from calibrant.recalibration.multiclass import MulticlassRecalibrator

_MOST_ROWS = 50_000
"""Recalibrations of more rows are compared on so many of them, drawn at random: an audit must not take long."""
_MOST_ANY, _EVENTS = 300_000, 1000
"""Of rare events on more, up to this many rows, so that about so many events are among them."""
_MOST_VALUES = 2_000_000
"""Recalibrations of larger tables of classes are compared on rows with about so many probabilities."""
_RESAMPLES = 50
"""For intervals of smooth errors, which only a table shows."""
NOT_DUE: dict[str, str] = {
    "no evidence": "calibration is not rejected",
    "too few rows": "calibration is not rejected",
    "too small to matter": "over all rows the error is proved too small to matter",
    "not tested": "calibration was not tested",
}
"""Why nothing is compared, by the state of the answer."""
_LABELS = "give the probabilities behind these labels (in scikit-learn predict_proba, not predict)"


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Result):
    """The comparison of recalibrations.

    Attributes
    ----------
    words : str
        What to do, in a sentence or two; or why nothing can be said, if there are no scores.
    chosen : str or None
        Name of the method; "unchanged" where none is better; None where nothing was compared.
    scores : tuple of RecalibrationScore
        Cross-fitted scores, "unchanged" first; empty where nothing was compared.
    fitted_map : object or None
        The chosen map, fitted to the rows that were compared: what the audit itself computes with.
    backwards : bool
        Whether fewer events are proved where predictions are higher.
    n_compared : int or None
        Rows that recalibrations were compared on.
    noise : float or None
        Standard error of the rate in these rows: less than this no recalibration promises.
    weights : str or None
        What the map is fitted with: "sample_weight", "trials" or their product; None where rows count alike.

    See Also
    --------
    choose_recalibrator, RecalibrationChoice
    """

    words: str
    chosen: str | None
    scores: tuple[RecalibrationScore, ...]
    fitted_map: Curve | MulticlassRecalibrator | None = None
    backwards: bool = False
    n_compared: int | None = None
    noise: float | None = None
    weights: str | None = None

    def summary(self) -> str:
        """Say what to do."""
        return self.words

    @property
    def recalibrator(self) -> Recalibrator | MulticlassRecalibrator | None:
        """The chosen map as a scikit-learn estimator, fitted; None where none is advised."""
        return self.fitted_map if self.fitted_map is None else self.fitted_map.as_estimator()

    @property
    def code(self) -> str | None:
        """Three lines of Python that fit the chosen recalibration and use it; None where none is advised."""
        if self.fitted_map is None:
            return None
        kind = self.fitted_map.estimator_name
        given = "y_prob, y_true" if self.weights is None else f"y_prob, y_true, {self.weights}"
        return (
            f"from calibrant.recalibration import {kind}\n"
            f"recalibrate = {kind}().fit({given})  # rows kept for this\n"
            "better = recalibrate.predict(new_y_prob)"
        )

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a method by its name; KeyError where it was not compared."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)


def advice(
    rows: Rows | MulticlassSample,
    test: TestResult | None,
    level: float,
    seed: int,
    of: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Advice:
    """Compare recalibrations of single rows that were read already, drawn from `of` in all, which `test` is of."""
    y_prob = rows.y_prob
    from calibrant.recalibration.choose import choose_on_rows

    single = isinstance(rows, Rows)
    weight = rows.weight if isinstance(rows, Rows) else rows.sample_weight
    # The order of the rows must not matter: the folds are dealt at random.
    keys = (weight, rows.group, rows.y_true)
    order = np.lexsort([each for each in keys if each is not None] + ([y_prob] if single else [*y_prob.T[::-1]]))
    try:
        choice = choose_on_rows(
            rows.take(order), test, level=level, n_resamples=_RESAMPLES, random_state=seed, progress=tell
        )
    except InputError as too_few:
        return not_compared(str(too_few))
    words = choice.summary()
    if of is not None:
        words += f" Compared on {counted(order.size, 'row')} drawn at random from {of:,}."
    return Advice(
        words,
        choice.chosen,
        choice.scores,
        choice.recalibrator,
        choice.direction == "wrong",
        int(order.size),
        choice.noise,
        weights=None if weight is None else "sample_weight",
    )


def advice_on_sample(
    sample: Sample,
    test: TestResult | None,
    weighted: bool,
    state: State,
    level: float,
    seed: int,
    rows: Rows | None = None,
) -> Advice:
    """Compare recalibrations where a change is due: of all rows, or of some of very many, drawn at random.

    `test` is that of all rows. `rows` are the same one by one where they weigh differently or belong together; then
    whole groups are drawn, and no group is on both sides of a split.
    """
    if state in NOT_DUE:
        return not_compared(NO_TRIALS if not sample.binary else NOT_DUE[state])
    if weighted and rows is None:
        return not_compared("that takes single rows, and these were summed in cells, which mix their weights")
    if np.isin(sample.prediction, (0.0, 1.0)).all():
        return not_compared(_LABELS)
    n, events = sample.n_rows, float(sample.ones.sum())
    if events in (0.0, n):
        return not_compared("they need rows with the event and rows without")
    # Rare events need more rows: what is not seen in a few of them may be plain in all.
    rarer = min(events, n - events) / n
    most = min(_MOST_ANY, max(_MOST_ROWS, int(_EVENTS / rarer) if rarer > 0.0 else n))
    if rows is not None and (weighted or rows.group is not None):
        found = _of_rows(rows, most, test, level, seed)
    else:
        found = _of_sample(sample, most, test, level, seed)
    if rows is None or rows.trials is None:
        return found
    return replace(found, weights="trials" if found.weights is None else f"trials * {found.weights}")


def _of_sample(sample: Sample, most: int, test: TestResult | None, level: float, seed: int) -> Advice:
    """Of all rows, or of some of very many, drawn at random."""
    n = sample.n_rows
    if n <= most:
        return advice(Rows.of_sample(sample), test, level, seed)
    drawn = np.sort(np.random.default_rng(seed).choice(n, most, replace=False, shuffle=False))
    cell = np.searchsorted(sample.count.cumsum(), drawn, side="right")
    within = drawn - (sample.count.cumsum() - sample.count)[cell]
    rows = Rows((within < sample.ones[cell]).astype(np.int64), np.ascontiguousarray(sample.prediction[cell]))
    return advice(rows, test, level, seed, of=n)


def _of_rows(rows: Rows, most: int, test: TestResult | None, level: float, seed: int) -> Advice:
    """Of all outcomes one by one, or of some of very many, drawn at random; of rows in groups whole groups are."""
    n = int(rows.count.sum())
    if n > most:
        group = rows.group
        if group is None:  # which rows are drawn must not depend on their order
            keys = [rows.count, rows.y_true, rows.y_prob] + ([] if rows.weight is None else [rows.weight])
            rows = rows.take(np.lexsort(keys))
            group = np.arange(rows.y_prob.size)
        size = np.bincount(group, rows.count)
        drawn = np.random.default_rng(seed).permutation(size.size)
        kept = np.zeros(size.size, dtype=np.bool_)
        kept[drawn[: max(1, int(np.searchsorted(size[drawn].cumsum(), most, side="right")))]] = True
        rows = rows.take(np.flatnonzero(kept[group]))
        if rows.count.sum() > _MOST_ANY:
            what = "row" if rows.group is None else "group"
            return not_compared(f"one {what} stands for more than {_MOST_ANY:,} outcomes")
    return advice(rows.single(), test, level, seed, of=None if rows.count.sum() == n else n)


def advice_on_classes(
    sample: MulticlassSample, state: State, level: float, seed: int, tell: Callable[[str], None]
) -> Advice:
    """Compare recalibrations of classes where a change is due: of all rows, or of some drawn at random."""
    if state in NOT_DUE:
        return not_compared(NOT_DUE[state])
    some = drawn_rows(sample, _MOST_VALUES, seed)
    n = sample.y_true.size
    return advice(some, None, level, seed, None if some.y_true.size == n else n, tell)


def not_compared(why: str) -> Advice:
    """Return advice that says why there is none."""
    return Advice(f"Recalibrations were not compared: {why}.", None, ())


def to_dict(given: Advice) -> dict[str, Any]:
    """Return it as plain words and numbers."""
    scores = [
        {
            "method": score.method,
            "lower_calibration_distance": score.lower_calibration_distance,
            "smooth_calibration_error": score.smooth_calibration_error,
            "brier": score.brier,
            "log": score.log if np.isfinite(score.log) else None,
        }
        for score in given.scores
    ]
    return {"words": given.words, "chosen": given.chosen, "scores": scores}
