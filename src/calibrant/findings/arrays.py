"""The audit: one call, every answer; and its rows, pooled, one by one or as draws, where tests and bounds need them."""

from __future__ import annotations

__all__ = ["audit"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, seeded
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, Labels, Table, of_log_odds, read_columns
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.labels import event_outcomes
from calibrant.door.request import AUDIT, AuditRequest, refuse_idle
from calibrant.door.rows import (
    Rows,
    check_outcome_free,
    dimensions,
    events_of,
    not_taken,
    read_fractions,
    read_trials,
    read_units,
    require_single_outcomes,
    sample_and_rows,
)
from calibrant.door.sample import Sample
from calibrant.door.weights import perhaps_sampled
from calibrant.findings.advice import advice_on_classes, advice_on_sample, not_advised
from calibrant.findings.decision import default_limit, rejected
from calibrant.findings.evidence import bounds_of_rows, evidence, units_drawn, varies_together
from calibrant.findings.inequalities import above_interval_error, tie
from calibrant.findings.record import MeasureValue, in_its_bracket
from calibrant.findings.reliability import fitted_curve, reliability
from calibrant.findings.results import Audit
from calibrant.findings.word_catalogue import CLASSES_SINGLE, FRACTIONS_BOUND, proved
from calibrant.inference.bounds.draws import AnyDraws, Draws, draws_of
from calibrant.inference.bounds.gate import calibration_gate_on_sample
from calibrant.inference.bounds.population import teach
from calibrant.kernels.sums import compensated_sum, dot
from calibrant.measures.corp import CorpDecomposition, auc_from_sample, corp_from_sample
from calibrant.measures.distance import audited_distances
from calibrant.measures.lower import LowerCertificate, lower_distance_of_certificate
from calibrant.measures.registry import Measure, measures
from calibrant.measures.smooth import witness_from_sample
from calibrant.progress import watched
from calibrant.threads import beside

if TYPE_CHECKING:
    from calibrant.decisions.curve import Acting
    from calibrant.decisions.line import GroupLine
    from calibrant.decisions.murphy import Cost

# Distinct predictions above which the cost at the worst threshold is not bounded for the population unasked.
_COSTLY = 100_000
_CERTIFIED = "lower_calibration_distance"
# Width of the lower distance's bracket that is worth a word: its ends would differ in the fourth decimal.
_LOOSE = 2e-5


def audit(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    sampling_fractions: Any = None,
    outcome_free_weights: bool = False,
    max_weight: float | None = None,
    pos_label: Any = None,
    from_logits: bool = False,
    max_distance: float | None = None,
    threshold: float | None = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    progress: bool | Callable[[str], None] | None = None,
) -> Audit:
    """Report how far predictions are from calibrated, where and in which direction, with a diagram.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1]; with two or more columns labels, as `multiclass_sample` takes them.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns, as ``predict_proba`` returns them, that of the positive
        class is audited. Of three or more classes, the top label is audited (was the most probable class right?).
        ``.classes`` has the other questions, and `multiclass_sample` asks them of two columns too.
    sample_weight : column of shape (n,), optional
        Non-negative weights, which may tell outcomes. Two values, one for each outcome, are taken to undo a sampling by
        outcome. Others are drawn again together with outcomes, which needs the equal of about ten rows of each outcome
        (docs/weights.md).
    trials : column of shape (n,), optional
        Number of independent outcomes behind each event rate, whole numbers from 1: chance is then that of so many
        single rows. For one column of predictions.
    groups : column of shape (n,), optional
        Which group a row belongs to (a patient, an account, a day), if only rows of different groups are independent.
        Every statement about chance then goes by group. With more than two classes whole vectors and pairs are then not
        tested. Where each row is a group of its own, rows are independent, unless `max_weight` or `trials` is given.
    sampling_fractions : mapping, optional
        Share of rows that were kept of each outcome, such as ``{0: 0.1, 1: 1.0}``. Every number is then about the
        population that rows were kept from, one by one. Without weights and trials, for one column of predictions.
    outcome_free_weights : bool, default False
        Declare that weights say nothing of outcomes at a given prediction: weights then stay where outcomes are drawn.
    max_weight : float, optional
        The most that one row can weigh, known before the rows were drawn; of trials their number times the weight. With
        groups it is the most of a whole group; without weights its number of rows. With weights, trials or groups the
        population's distance is bounded only if this is given.
    pos_label : label, optional
        The positive class, whose probability is audited. Needed for one column if labels are not 0 and 1; for two
        columns the default is the second label in sorted order. Not for more than two classes.
    from_logits : bool, default False
        Whether `y_prob` holds log-odds (one column) or logits (a column per class), whose softmax is audited.
    max_distance : float, optional
        Lower distance from calibration that is too small to matter, in (0, 1). The default is 0.02, or a tenth of the
        rarer outcome's rate if that is less (observed or predicted, the larger).
    threshold : float, optional
        Predictions from here on are acted on, in [0, 1): the audit reports what that costs. By default the threshold at
        which these rows lose most.
    level : float, default 0.05
        Probability of error of the test, of each end of a bound, and of the consistency band.
    n_resamples : int, default 999
        Resamples behind the band; 0 for no band and no test, else at least 2 / level - 1. The test takes as many as
        half a second allows, 3,000 to 50,000.
    random_state : int, numpy.random.Generator or None
        Seeds the resamples.
    progress : bool or callable, optional
        Called with the name of each stage. True: work of over a second shows its progress on the standard error, with
        about how much time is left. This is the default in notebooks and interactive sessions. False: never.

    Returns
    -------
    Audit
        With ``.answer``, ``.measures``, ``.regions``, ``.summary()``, ``.to_json()``, ``.to_html(path)``, ``.plot()``.

    Raises
    ------
    InputError
        If a column or an option cannot be used; the message names it and what is allowed.

    See Also
    --------
    compare_calibration, calibration_gate, choose_recalibrator

    Notes
    -----
    Cost: a sort, the measures (the interval error dominates), and a band whose cost does not grow with the rows.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023.
    Bröcker and Smith, Increasing the reliability of reliability diagrams, Weather and Forecasting 22, 2007.

    Examples
    --------
    >>> from calibrant import audit
    >>> result = audit([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], random_state=0)
    >>> round(result.measures["smooth_calibration_error"].value, 6)
    0.085
    >>> result.violations
    ()
    """
    if dimensions(y_prob) == 2:
        not_taken(CLASSES_SINGLE, trials=trials, sampling_fractions=sampling_fractions)
        options = {"sample_weight": sample_weight, "pos_label": pos_label, "from_logits": from_logits}
        classes = multiclass_sample(y_true, y_prob, **options)
    else:
        classes = None
        chance = of_log_odds(cast(Column, y_prob)) if from_logits else cast(Column, y_prob)
        columns = read_columns(event_outcomes(y_true, pos_label), chance, sample_weight)
        if trials is None and not np.isin(columns[0], (0.0, 1.0)).all():
            given_too = {"groups": groups, "max_weight": max_weight, "sampling_fractions": sampling_fractions}
            refuse_idle(AUDIT, [name for name, each in given_too.items() if each is not None], ["rates"])
    request = AuditRequest(
        sampling_fractions=sampling_fractions,
        outcome_free_weights=outcome_free_weights,
        max_weight=max_weight,
        max_distance=max_distance,
        threshold=threshold,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    with watched(progress) as tell:
        if classes is not None:
            return audit_classes(classes, request, groups=groups, progress=tell)
        rows = given(
            *columns,
            trials=trials,
            groups=groups,
            max_weight=max_weight,
            outcome_free=outcome_free_weights,
            sampling_fractions=sampling_fractions,
        )
        return replace(audit_given(rows, request, progress=tell), pos_label=pos_label)


def audit_classes(
    sample: MulticlassSample,
    request: AuditRequest,
    *,
    groups: Any = None,
    title: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit the positive one of two classes; of more the top label, and say what else can be asked of them."""
    event = sample.event() if sample.n_classes == 2 else sample.top_label()
    options = {"groups": groups, "max_weight": request.max_weight, "outcome_free": request.outcome_free_weights}
    rows = given(event.y_true, event.y_prob, event.sample_weight, **options)
    if sample.n_classes == 2:
        audit = audit_given(rows, request, title=title, progress=progress)
        return replace(audit, pos_label=sample.positive_class)
    if rows.rows is not None and rows.rows.group is not None:
        sample = replace(sample, group=rows.rows.group)
    rng, seed = seeded(request.random_state)
    first = audit_given(rows, replace(request, random_state=rng), title=title, progress=progress, advise=False)
    tell = progress if progress is not None else lambda _stage: None
    from calibrant.findings.classes import class_findings  # with twenty modules that only they need

    tell("Classes")
    level, resample, draw_seed = request.level, request.n_resamples > 0, int(rng.integers(2**31))
    classes = class_findings(sample, level, resample, draw_seed, request.max_distance, tell)
    first = replace(first, seed=seed, classes=classes, perhaps_sampled=None)
    tell("What to do")
    advised = advice_on_classes(sample, first.answer.state, level, tell)
    return replace(first, advice=advised)


def audit_given(rows: Given, request: AuditRequest, **options: Any) -> Audit:
    """`audit_sample` of rows that were read already."""
    return audit_sample(rows.sample, request, rows=rows.rows, draws=rows.draws, **options)


def audit_sample(
    sample: Sample,
    request: AuditRequest,
    *,
    rows: Rows | None = None,
    title: str | None = None,
    progress: Callable[[str], None] | None = None,
    advise: bool = True,
    displacement: float = 0.0,
    draws: AnyDraws | None = None,
) -> Audit:
    """Audit rows that are pooled already; `progress` gets the name of each stage before it starts.

    Where they are pooled into cells, `displacement` is at least the mean distance of predictions from their cells'
    points. Rows that weigh differently are tested where they are given themselves, too; `draws` are the same rows as
    draws from a population, of those with weights, trials or groups.
    """
    tell = progress if progress is not None else lambda _stage: None
    level, n_resamples, max_distance = request.level, request.n_resamples, request.max_distance
    rng, seed = seeded(request.random_state)

    tell("Witness")
    compensated_sum(np.zeros(1))  # so that what numba imports at its first call is there for threads
    # Kernels release the interpreter's lock: what depends on nothing else runs beside the rest.
    with beside() as thread:
        certified = thread.submit(audited_distances, sample)
        fitted = thread.submit(fitted_curve, sample if rows is None else rows.sample, rows)
        witness = witness_from_sample(sample)
        weighted = sample.weights_differ
        units = units_drawn(sample, rows, draws, weighted)
        taught = thread.submit(teach, units, everything=request.everything)
        measured = {
            name: thread.submit(measure.on_sample, sample, **measure.parameters)
            for name, measure in _computed(sample).items()
        }
        tell("Reliability diagram")
        corp = corp_from_sample(sample)
        free = request.outcome_free_weights
        curve = fitted.result()
        table = reliability(sample, level, rows, corp, curve)
        tell("Tests")
        most = None if draws is None else draws.most
        draw_seed = int(rng.integers(2**31))
        costing = thread.submit(_costs, sample, corp, rows, request, draw_seed)
        # The displacement is more than what rounding has misplaced.
        tests = evidence(sample, rows, weighted, level, n_resamples, draw_seed, displacement, most, outcome_free=free)
        test = tests["calibration_test"].result
        # From the last on: those that the thread has not come to are measured here.
        values: dict[str, float] = {}
        for name in reversed(measured):
            tell(measures()[name].title)
            values[name] = measured[name].result()
        taught.result()
        tell("Lower distance")
        certificate, nearest = certified.result()
        values_of = _with_words(values, certificate, sample)
        tell("Inequalities")
        ties = tie(sample, witness, certificate, nearest, corp, _numbers(values_of))
        _say_brackets(values_of, ties.lower_distance_bracket)
        tell("Bounds")
        mean_prediction = min(1.0, dot(sample.mass(), sample.prediction))
        base_rate = min(1.0, max(0.0, mean_prediction + float(sample.residual().sum())))
        limit = default_limit(base_rate, mean_prediction) if max_distance is None else float(max_distance)
        bracket = ties.lower_distance_bracket
        n_rows = None if rows is None or rows.trials is None else rows.y_prob.size
        gate = None
        if units is not None:
            gate = calibration_gate_on_sample(
                sample,
                max_distance=limit,
                level=level,
                displacement=displacement,
                bracket=bracket,
                draws=units,
                n_rows=n_rows,
            )
        bounds = None
        if request.everything:
            bounds = bounds_of_rows(sample, units, level, witness.value, bracket, values, n_rows)
        tell("What to do")
        advised = not_advised("not asked for")
        if advise:
            advised = advice_on_sample(sample, rows, test, gate, level, curve)
        tell("What it costs")
        cost, acting = costing.result()
    return Audit(
        title=title,
        n_rows=sample.n_rows,
        n_distinct=sample.n_distinct,
        effective_rows=sample.effective_rows,
        base_rate=base_rate,
        mean_prediction=mean_prediction,
        measures=values_of,
        tests=tests,
        advice=advised,
        classes=None,
        population=bounds,
        witness=witness,
        smooth_lower=witness.value,
        smooth_upper=witness.upper,
        # Chance alone makes stretches stand out: they are told where calibration is rejected, or chance is not known.
        regions=table.regions if test is None or rejected(test, gate) else (),
        ties=ties,
        reliability=table,
        level=float(level),
        n_resamples=int(n_resamples),
        seed=seed,
        **_origin_of_rows(sample, rows, request),
        group_line=_line_of_groups(rows, level),
        trials_vary=varies_together(rows),
        perhaps_sampled=None if n_rows or displacement else perhaps_sampled(sample, mean_prediction),
        max_weight=most,
        default_limit=max_distance is None,
        max_distance=limit,
        gate=gate,
        auc=auc_from_sample(sample),
        cost_of_acting=cost,
        acting=acting,
    )


def _origin_of_rows(sample: Sample, rows: Rows | None, request: AuditRequest) -> dict[str, Any]:
    """Fields of an audit on how its rows were drawn: with weights, trials or groups, or by outcome."""
    weighted, trials = sample.weights_differ, rows is not None and rows.trials is not None
    return {
        "rates": not sample.binary,
        "weighted": weighted,
        "equal_weights": request.sampling_fractions is None and not (weighted or trials) and sample.equal_weights,
        "outcome_free_weights": request.outcome_free_weights,
        "sampling_fractions": fractions_of(rows),
        "fractions_given": request.sampling_fractions is not None,
        "n_groups": None if rows is None else rows.n_groups,
        "trials": trials,
    }


def _too_many(measure: Measure, sample: Sample) -> str | None:
    """Why a measure is not computed of so many distinct predictions; None where it is."""
    if measure.maximum_rows is None or sample.n_distinct <= measure.maximum_rows:
        return None
    return f"not computed above {measure.maximum_rows:,} distinct predictions"


def _computed(sample: Sample) -> dict[str, Measure]:
    """Measures that take so many distinct predictions, but the lower distance, which its certificate proves."""
    every = measures().items()
    return {name: each for name, each in every if name != _CERTIFIED and _too_many(each, sample) is None}


def _with_words(values: Mapping[str, float], certificate: LowerCertificate, sample: Sample) -> dict[str, MeasureValue]:
    """Every measure with its value, that of the lower distance too, or with why it has none."""
    values_of: dict[str, MeasureValue] = {}
    for name, measure in measures().items():
        value, why_not = values.get(name), _too_many(measure, sample)
        if value is None and why_not is None:
            value = lower_distance_of_certificate(certificate, sample)
        values_of[name] = MeasureValue(measure.title, value, measure.sentence, measure.parameters, why_not)
    return values_of


def _numbers(values: Mapping[str, MeasureValue]) -> dict[str, float | None]:
    """Every measure's number, None where it has none."""
    return {name: measure.value for name, measure in values.items()}


def _say_brackets(values: dict[str, MeasureValue], distance: Bracket) -> None:
    """Say of numbers that were not computed, or not to the last digit shown, between which others they lie."""
    lower, interval = values[_CERTIFIED], values["interval_calibration_error"]
    if lower.value is None:
        values[_CERTIFIED] = in_its_bracket(lower, distance)
    elif lower.value - distance.lower > _LOOSE:
        sentence = f"{lower.sentence} Proved: {proved(distance.lower, lower.value)[0]}."
        values[_CERTIFIED] = replace(lower, sentence=sentence)
    if interval.value is None:
        above = above_interval_error(_numbers(values))
        values["interval_calibration_error"] = in_its_bracket(interval, Bracket(distance.lower, above))


def _line_of_groups(rows: Rows | None, level: float) -> GroupLine | None:
    if rows is None or rows.group is None:
        return None
    from calibrant.decisions.line import group_line

    return group_line(rows, level)


def _costs(
    sample: Sample, corp: CorpDecomposition, rows: Rows | None, request: AuditRequest, draw_seed: int
) -> tuple[Cost | None, Acting | None]:
    """What acting on the predictions loses, and what the page draws of it; the short page has a given threshold's."""
    threshold, level = request.threshold, request.level
    if threshold is None and not request.everything:
        return None, None
    from calibrant.decisions.murphy import cost_from_sample
    from calibrant.measures.decision_loss import Cuts

    many = threshold is None and sample.n_distinct > _COSTLY
    # What is drawn from a population are rows: those of a group depend on one another, and so may trials of one row.
    single = rows is None or (rows.trials is None and rows.group is None)
    cuts = Cuts.of(sample)
    cost = cost_from_sample(sample, level, threshold, with_bounds=single and not many, cuts=cuts)
    if not request.everything:
        return cost, None
    from calibrant.decisions.curve import acting_from_sample

    how = sample, cost, request.n_resamples, np.random.default_rng([draw_seed, 1])
    return cost, acting_from_sample(*how, single=single, corp=corp, cuts=cuts)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Rows that were read and checked."""

    sample: Sample  # the rows, pooled by prediction
    rows: Rows | None = None  # the same one by one, where weights, trials or groups tell them apart
    draws: Draws | None = None  # the same as draws from a population, where the most that one can weigh is known


def given(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None = None,
    *,
    trials: Column | None = None,
    groups: Any = None,
    max_weight: float | None = None,
    outcome_free: bool = False,
    sampling_fractions: Any = None,
) -> Given:
    """Take validated columns with the user's trials and groups, and the most that one draw can weigh, if it is said.

    Rows that were sampled by outcome describe their population by weights, which are known beforehand. Raises
    InputError if trials, groups or `max_weight` cannot be used; of event rates in groups trials are needed.
    """
    fractions = read_fractions(sampling_fractions, sample_weight=weight, trials=trials)
    group = None if groups is None else read_units(groups, prediction.size, trials, max_weight)
    check_outcome_free(outcome_free, weight, groups)
    if fractions is not None:
        require_single_outcomes(outcome)
        weight = fractions.weight_of(outcome)
        if group is None:
            not_taken(FRACTIONS_BOUND, max_weight=max_weight)
            max_weight = fractions.max_weight
    if trials is None and group is None:
        if max_weight is not None and weight is None:
            raise InputError("max_weight", "has no effect: there are no weights, trials or groups")
        sample, rows = sample_and_rows(outcome, prediction, weight, outcome_free, fractions)
        if max_weight is None:
            return Given(sample, rows)
        require_single_outcomes(outcome)
        return Given(sample, rows, draws_of(outcome, prediction, weight, None, None, max_weight)[1])
    if trials is None:
        require_single_outcomes(outcome)
        rows = Rows.of_arrays(outcome, prediction, weight, None, group, outcome_free, fractions)
        sample, count = Sample.of_arrays(outcome, prediction, weight), None
    else:
        count = read_trials(trials, prediction.size)
        rows = Rows.of_arrays(events_of(outcome, count), prediction, weight, count, group, outcome_free)
        sample = rows.sample
    if max_weight is None:
        return Given(sample, rows)
    return Given(sample, rows, draws_of(outcome, prediction, weight, count, group, max_weight)[1])


def fractions_of(rows: Rows | None) -> tuple[float, float] | None:
    """Shares of rows without the event, and with it, that were kept, where rows were sampled by outcome."""
    fractions = None if rows is None else rows.fractions
    return None if fractions is None else (fractions.without, fractions.events)
