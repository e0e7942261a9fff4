"""What to do about one file of predictions: the averaged map, or none, and what it gains; and the choice in words."""

from __future__ import annotations

__all__ = ["RecalibrationChoice", "choose_recalibrator"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, TimeLimit, check_level
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, Labels, Table
from calibrant.door.ends import as_points, in_points, in_short
from calibrant.door.labels import event_outcomes
from calibrant.door.rows import Rows, dimensions, not_taken, read_groups
from calibrant.door.sample import Sample
from calibrant.door.special import betaln, ndtri
from calibrant.door.values import Result, counted, record
from calibrant.door.weights import LEAST_EFFECTIVE, effective
from calibrant.inference.testing.calibration import calibration_test_on_rows
from calibrant.kernels.sums import dot
from calibrant.lazily import optional
from calibrant.recalibration.curves.averaged import AveragedCurve, sampled_by_outcome, unweighted
from calibrant.recalibration.gain import RecalibrationGain, gain_of
from calibrant.resampling.redraw import LEAST_GROUPS, check_groups, worth_for_signs
from calibrant.resampling.redraw import too_few as too_few_groups
from calibrant.threads import beside

if TYPE_CHECKING:
    from calibrant.decisions.line import GroupLine
    from calibrant.recalibration.averaged import AveragedScaling
    from calibrant.recalibration.base import Recalibrator
    from calibrant.recalibration.compare import RecalibrationScore
    from calibrant.recalibration.multiclass import MulticlassRecalibrator


Direction = Literal["right", "wrong", "none"]

_SURER = 10.0  # what is said about information is said at a tenth of the level: it overturns the advice
_ROUNDED = 0.01  # share of rows predicted 0 or 1, and wrong, that may be rounded predictions
_SAME = 1e-9  # what differs by less differs by rounding
_SEED = 0  # of the test's resamples: equal rows are answered alike
_OF_CLASSES = "averaged_classes"


@optional("choose_recalibrator", "sklearn")
def choose_recalibrator(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    sampling_fractions: Any = None,
    pos_label: Any = None,
    level: float = 0.05,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> RecalibrationChoice:
    """Say whether to recalibrate, by which map, and what it gains: the same for the same rows in any order.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1, or with `trials` their shares; labels, if y_prob has a column per class.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns that of the positive class alone is recalibrated.
    sample_weight : column of shape (n,), optional
        Non-negative weights. Rows count as Kish's effective number of them.
    trials : column of shape (n,), optional
        Number of independent outcomes behind each share. For one column of predictions.
    groups : column of shape (n,), optional
        Which group a row belongs to (a patient, a day), if only rows of different groups are independent. Rows then
        count as their number over the design effect.
    outcome_free_weights : bool, default False
        As for `calibration_test`. Not of classes.
    sampling_fractions : mapping of int to float, optional
        As for `calibration_test`: the map is then the likeliest for rows that were kept so. Not of classes.
    pos_label : label, optional
        The positive class, as for `audit`.
    level : float, default 0.05
        Level of the test; intervals hold with posterior probability 1 - level.
    time_limit : float, optional
        Of classes: seconds after which the fits are stopped; ``.skipped`` says so. With it the result depends on the
        machine.
    progress : callable, optional
        Of classes: called with the name of the map as it begins.

    Returns
    -------
    RecalibrationChoice
        With ``.summary()``, what to do in words, ``.recalibrator``, fitted to all rows, and ``.gain``.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, outcomes are rates without trials, or groups are too few for
        `calibration_test`.

    See Also
    --------
    AveragedScaling, AveragedClassScaling, compare_recalibrators, RecalibratedClassifier, audit

    Notes
    -----
    One probability: `AveragedScaling` is advised if three things hold. `calibration_test` rejects; there are ten events
    and ten rows without it; the posterior interval of its gain in log loss lies above 0. No row is held out, and
    nothing depends on a seed. Classes: `AveragedClassScaling` is advised if its likelihood ratio to the unchanged table
    reaches 1 / level. The ratio is taken on five folds that the rows alone decide. Cost: a sort and about a tenth of a
    second; of classes 6 fits.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import choose_recalibrator
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(4000)
    >>> odds = (y_prob / (1 - y_prob)) ** 0.5
    >>> y_true = rng.random(4000) < odds / (1 + odds)
    >>> choice = choose_recalibrator(y_true, y_prob)
    >>> choice.chosen
    'averaged'
    >>> choice.recalibrator.predict([0.1, 0.9]).round(2).tolist()
    [0.26, 0.74]
    """
    level = check_level(level)
    if dimensions(y_prob) == 2:
        free = True if outcome_free_weights else None
        not_taken("rows of classes are single", trials=trials, sampling_fractions=sampling_fractions)
        not_taken("it is for one probability", outcome_free_weights=free)
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
        if sample.n_classes > 2:
            if groups is not None:
                sample = replace(sample, group=read_groups(groups, sample.y_true.size))
            return choose_on_classes(sample, level, TimeLimit(time_limit), progress)
        event = sample.event()
        rows = Rows.of(event.y_true, event.y_prob, event.sample_weight, groups=groups)
    else:
        columns = event_outcomes(y_true, pos_label), cast(Column, y_prob), sample_weight, trials, groups
        rows = Rows.of(*columns, outcome_free_weights, sampling_fractions)
    return _choose_on_rows(rows, level)


def _choose_on_rows(rows: Rows, level: float) -> RecalibrationChoice:
    """`choose_recalibrator` of rows with one probability each."""
    line = None
    if rows.group is not None:
        from calibrant.decisions.line import group_line

        line = group_line(rows, level)
    if line is None:
        check_groups(rows)
    keys = [each for each in (rows.weight, rows.trials, rows.group) if each is not None]
    ordered = rows.take(np.lexsort([*keys, rows.y_true, rows.y_prob]))
    if _too_light(rows):
        choice = choose_on_sample(rows.sample, rows, False, level)
    else:
        test = calibration_test_on_rows(ordered, level, N_RESAMPLES, _SEED)
        wrong = 0 if test.impossible is None else test.impossible.n_rows
        reject = test.reject or wrong > _ROUNDED * rows.y_prob.size
        choice = choose_on_sample(rows.sample, rows, reject, level, test.pvalue)
        worth = LEAST_GROUPS if rows.group is None else worth_for_signs(rows)
        worth = worth if line is None else line.worth
        few = not reject and worth < LEAST_GROUPS
        choice = replace(choice, groups_worth=worth, group_line=line) if few else choice
    assert isinstance(choice.averaged, AveragedCurve)
    averaged = choice.averaged.as_estimator()
    return replace(choice, averaged=averaged, recalibrator=None if choice.recalibrator is None else averaged)


def choose_on_sample(
    sample: Sample,
    rows: Rows | None,
    reject: bool,
    level: float,
    pvalue: float | None = None,
    curve: AveragedCurve | None = None,
) -> RecalibrationChoice:
    """`choose_recalibrator` of pooled rows that were tested already; the map is a curve, perhaps fitted already.

    `rows` are the same one by one where weights, trials or groups tell them apart; `reject` says whether they are
    proved miscalibrated.
    """
    if curve is None:
        curve = AveragedCurve().fit_sample(sample) if rows is None else AveragedCurve().fit_rows(rows)
    if rows is not None and sampled_by_outcome(rows):  # what depends on what is the same in the file
        sample = unweighted(rows).sample
    events, others = _numbers(curve, sample, rows)
    correlation, z = _association(curve, sample)
    direction: Direction = "none"
    if abs(z) > float(-ndtri(level / _SURER / 2.0)):
        direction = "right" if z > 0.0 else "wrong"
    gain = None if min(events, others) < FEWEST else gain_of(curve, level)
    chosen = "unchanged"
    if reject and gain is not None and direction != "wrong":
        rising = z > float(-ndtri(level / 2.0))
        chosen = "averaged" if gain.proved else "unchanged"
        if not rising and not _informs(curve, level):
            chosen = "constant"
    averaged: Any = curve
    return RecalibrationChoice(
        chosen,
        averaged if chosen == "averaged" else None,
        level,
        gain=gain,
        n_events=events,
        n_others=others,
        direction=direction,
        rank_correlation=correlation,
        pvalue=pvalue,
        reject=reject,
        averaged=averaged,
    )


def _numbers(curve: AveragedCurve, sample: Sample, rows: Rows | None) -> tuple[float, float]:
    """Events, and rows without the event: as they were counted, or as many as they are worth if that is less."""
    if rows is not None and _too_light(rows):
        return _worth(rows)
    counts = float(sample.ones.sum()), float((sample.count - sample.ones).sum())
    cells = curve.cells_
    worth = float(cells.events.sum()), float((cells.rows - cells.events).sum())
    events, others = (
        count if abs(each - count) < _SAME * count else min(each, count)
        for count, each in zip(counts, worth, strict=True)
    )
    return events, others


def _worth(rows: Rows) -> tuple[float, float]:
    """Kish's number of rows with the event, and of those without."""
    weight = np.ones(rows.y_prob.size) if rows.weight is None else rows.weight
    return effective(np.sort(weight[rows.y_true == 1])), effective(np.sort(weight[rows.y_true != 1]))


def _too_light(rows: Rows) -> bool:
    """Whether weights that may tell outcomes leave too few of one for `calibration_test`."""
    return rows.jointly and min(_worth(rows)) < LEAST_EFFECTIVE


def _association(curve: AveragedCurve, sample: Sample) -> tuple[float, float]:
    """Rank correlation of predictions with outcomes, and how many standard errors it is from none."""
    mass = sample.mass()
    away = sample.count.cumsum()
    away -= 0.5 * (sample.count - 1.0)
    away -= dot(mass, away)  # of the ranks
    rate = np.where(sample.weight > 0.0, sample.weight, 1.0)
    np.clip(np.divide(sample.weighted_outcome, rate, out=rate), 0.0, 1.0, out=rate)
    mean = min(1.0, dot(mass, rate))
    spread = 1.0 - rate
    spread *= mean**2
    spread += rate * (1.0 - mean) ** 2
    rate -= mean
    rate *= away
    together = dot(mass, rate)
    del rate
    away **= 2
    scale = float(np.sqrt(dot(mass, away) * mean * (1.0 - mean)))
    worth = float(curve.cells_.rows.sum()) / sample.effective_rows  # below 1 where groups depend
    away *= sample.squared_weight / sample.total_weight**2
    away *= spread
    chance = float(np.sqrt(away.sum() / worth))
    return (together / scale, together / chance) if scale > 0.0 and chance > 0.0 else (0.0, 0.0)


def _informs(curve: AveragedCurve, level: float) -> bool:
    """Whether the average of maps explains the rows much better than one rate, of any size, for all of them."""
    events, rows = float(curve.cells_.events.sum()), float(curve.cells_.rows.sum())
    one_rate = float(betaln(events + 1.0, rows - events + 1.0))
    return curve.log_evidence_ - one_rate >= float(np.log(_SURER / level))


def choose_on_classes(
    sample: MulticlassSample, level: float, clock: TimeLimit, progress: Callable[[str], None] | None
) -> RecalibrationChoice:
    """`choose_recalibrator` of three classes or more: the averaged map, where it is likelier beyond chance."""
    from calibrant.recalibration.compare import THREADS, Judge, compared

    judge = Judge.read(sample)
    with beside(THREADS) as threads:
        comparison = compared(judge, [_OF_CLASSES], 5, level, clock, progress, threads)
        table = comparison.result
        chosen, scores = "unchanged", table.scores
        if comparison.ratio.get(_OF_CLASSES, -np.inf) >= -np.log(level):
            chosen = _OF_CLASSES
            if not comparison.beats_constant(chosen):
                chosen, scores = "constant", (*scores, comparison.constant())
    return RecalibrationChoice(
        chosen, comparison.fitted.get(chosen), level, scores=scores, noise=judge.noise_of_rate, skipped=table.skipped
    )


FEWEST = 10
"""Events, and rows without the event, below which no map is advised."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecalibrationChoice(Result):
    """Whether to recalibrate, by which map, and what it gains.

    Attributes
    ----------
    chosen : str
        "averaged" where `AveragedScaling` is advised, and "averaged_classes" where `AveragedClassScaling` is.
        "unchanged" where none is. "constant" where the predictions are not proved to carry information: then one rate
        for all rows does as well.
    recalibrator : Recalibrator, MulticlassRecalibrator or None
        The map, fitted to all rows; None if the predictions should stay unchanged, or carry no information.
    level : float
        Level of the test; intervals hold with probability 1 - level.
    gain : RecalibrationGain or None
        Of the averaged map, advised or not; None of classes, and below ten events or ten rows without it.
    n_events, n_others : float or None
        Events and rows without the event, or how many they are worth where they weigh differently or belong together
        and that is less. None of classes.
    direction : {"right", "wrong", "none"}
        Whether more events are proved where predictions are higher, or fewer, or neither.
    rank_correlation : float or None
        Of the predictions with the outcomes; None of classes.
    pvalue : float or None
        Of `calibration_test` of the unchanged predictions; None of classes.
    reject : bool or None
        Whether the predictions are proved miscalibrated; None of classes.
    groups_worth : float or None
        So many equal groups as rows are worth, where these are too few for signs and no error is proved; else None.
    group_line : GroupLine or None
        Level and slope by such groups; where they prove an error it is corrected by these two alone. Else None.
    averaged : AveragedScaling or None
        The averaged map of these rows, advised or not; None of classes.
    scores : tuple of RecalibrationScore
        Of classes: the cross-fitted scores, "unchanged" first, then the averaged map's.
    noise : float or None
        Of classes: standard error of how often the most probable one is right. No map knows the rate better, so that a
        smaller distance on held-out parts of the same rows promises nothing.
    skipped : mapping of str to str
        Of classes: the map if it was not fitted, with the reason.

    See Also
    --------
    choose_recalibrator, RecalibrationGain
    """

    chosen: str
    recalibrator: Recalibrator | MulticlassRecalibrator | None
    level: float
    gain: RecalibrationGain | None = None
    n_events: float | None = None
    n_others: float | None = None
    direction: Literal["right", "wrong", "none"] = "none"
    rank_correlation: float | None = None
    pvalue: float | None = None
    reject: bool | None = None
    groups_worth: float | None = None
    group_line: GroupLine | None = None
    averaged: AveragedScaling | None = None
    scores: tuple[RecalibrationScore, ...] = ()
    noise: float | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, method: str) -> RecalibrationScore:
        """Return the scores of a map of classes by its name."""
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def _table(self) -> Any:
        """One row a map that was compared, of classes; else one of what is chosen, and its gain."""
        if self.scores:
            return [{**record(score), "chosen": score.method == self.chosen} for score in self.scores]
        maps = ("recalibrator", "averaged")
        return [{name: value for name, value in record(self).items() if name not in maps}]

    def summary(self) -> str:
        """Return, in a few sentences, what to do."""
        sentences = self._of_classes() if self.n_events is None else self._of_one()
        if self.skipped:
            left_out = "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in self.skipped.items())
            sentences.append(f"Not compared: {left_out}.")
        return " ".join(sentences)

    def _of_one(self) -> list[str]:
        """Sentences on maps of one probability."""
        if self.direction == "wrong":
            return [
                f"Events are fewer where predictions are higher (rank correlation {self.rank_correlation:.2f}). Check "
                "that labels or columns are not swapped."
            ]
        if self.chosen == "constant":
            return [NO_INFORMATION]
        if self.recalibrator is not None and self.gain is not None:
            return [self.recalibrator.summary(), self.gain.summary()]
        if self.gain is None and (self.reject or self.pvalue is None):
            return [too_few(self.n_events or 0.0, self.n_others or 0.0)]
        return self._not_proved()

    def _not_proved(self) -> list[str]:
        """Sentences where no gain is proved, and rows are not too few for one."""
        if self.group_line is not None and self.group_line.direction is not None:
            until = level_and_slope(classes=False)
            return [self.group_line.summary(), f"Collect rows of more groups. Until then {until}."]
        if self.groups_worth is not None:
            return [
                f"No error is proved: rows come from {too_few_groups(self.groups_worth)}. Collect rows of more groups "
                "before you rely on the predictions."
            ]
        if not self.reject or self.gain is None:
            p = "" if self.pvalue is None else f" (p = {self.pvalue:.2g})"
            return [f"Leave the predictions unchanged: they are not proved miscalibrated{p}."]
        return [f"{NOT_PROVED} {self.gain.summary()}"]

    def _of_classes(self) -> list[str]:
        if self.chosen == "constant":
            return [NO_INFORMATION]
        before, after = self["unchanged"], self[self.chosen]
        if self.recalibrator is None:
            now = f"distance {before.lower_calibration_distance:.3g}, Brier score {before.brier:.4g}"
            return [f"Leave the predictions unchanged: recalibrated ones are not likelier beyond chance ({now})."]
        falls = falls_to(before, after, self.noise or 0.0)
        cuts = "" if falls is None else f"cuts the distance from {falls} and "
        moves = f"takes the Brier score from {before.brier:.4g} to {after.brier:.4g}"
        return [f"{self.recalibrator.summary()} It {cuts}{moves}."]


def level_and_slope(*, classes: bool) -> str:
    """The correction that groups allow which are too few for a curve."""
    if classes:
        return "correct how sure they are alone, by one number (TemperatureScaling)"
    return "correct level and slope alone (PlattScaling)"


NOT_PROVED = "No gain of a recalibration is proved."
NO_INFORMATION = (
    "These rows do not show that the predictions carry information about the outcome. Use how often it happens in "
    "place of them, or collect more rows."
)


def too_few(n_events: float, n_others: float) -> str:
    """That no map is advised on so few events, or rows without the event; in effect, where they differ in weight."""
    number, what = (n_events, "event") if n_events < n_others else (n_others, "row")
    which = "" if n_events < n_others else " without the event"
    if number.is_integer():
        return f"No recalibration is advised on {counted(int(number), what)}{which}: these are fewer than {FEWEST}."
    worth = f"{what}s{which} as good as {int(10.0 * number) / 10.0:g} independent ones"
    return f"No recalibration is advised on {worth}: {FEWEST} are needed."


def falls_to(unchanged: RecalibrationScore, after: RecalibrationScore, noise: float) -> str | None:
    """From which distance to which a recalibration takes the predictions, in words; None where that is no fall.

    It is not told below the noise of the rate: in held-out parts of the same rows errors of it cancel, elsewhere not.
    """
    far, near = unchanged.lower_calibration_distance, after.lower_calibration_distance
    if max(near, noise) >= far:
        return None
    to = in_points(in_short(near)) if near >= noise else f"less than {in_points(in_short(noise))}"
    return f"{as_points(in_short(far))} to {to}"
