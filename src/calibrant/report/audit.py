"""The audit: one call, every answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.inference.arguments import dimensions
from calibrant.inference.bounds import PopulationBounds
from calibrant.inputs import Column
from calibrant.kernels.sums import dot
from calibrant.measures.labels import event_outcomes
from calibrant.measures.multiclass import MulticlassSample, multiclass_sample
from calibrant.measures.registry import measures
from calibrant.measures.smooth import Witness, witness_from_sample
from calibrant.report.advice import Advice, advice, advice_on_sample, not_compared
from calibrant.report.classes import ClassFindings, class_findings
from calibrant.report.evidence import Evidence, evidence, population, weights_differ
from calibrant.report.inequalities import Bracket, Inequality, Ties, tie
from calibrant.report.options import RandomState, check_options, seeded
from calibrant.report.regions import Region, regions_from_witness
from calibrant.report.reliability import Reliability, reliability
from calibrant.report.verdict import sentences
from calibrant.report.words import NO_TRIALS, WEIGHTS, proved, sentence
from calibrant.sample import Sample
from calibrant.values import ReadOnly

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.scale.drift import Period
    from calibrant.scale.segments import Segment


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """One measure of the sample.

    Attributes
    ----------
    title : str
        Its name in words.
    value : float or None
        None where it was not computed.
    sentence : str
        What the number means.
    parameters : mapping
        Parameters that have no default, as they were set.
    not_computed : str or None
        Why there is no value.
    """

    title: str
    value: float | None
    sentence: str
    parameters: Mapping[str, Any]
    not_computed: str | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """Everything the audit found; made by `audit`.

    Attributes
    ----------
    title : str or None
        What was audited, for the head of the report.
    n_rows, n_distinct : int
        Rows, and distinct predictions.
    effective_rows : float
        Kish's effective number of rows; `n_rows` where weights are equal.
    weighted : bool
        Whether weights differ.
    base_rate, mean_prediction : float
        Weighted means of outcomes and predictions.
    measures : mapping of str to MeasureValue
        Every registered measure by name.
    tests : mapping of str to Evidence
        Tests of calibration by name, each with its result, or why it was not run.
    advice : Advice
        What to do about it: recalibrations compared.
    classes : ClassFindings or None
        For K classes, what was found beyond the top label, which all else is about; None for one probability a row.
    population : PopulationBounds or None
        Confidence bounds for the population; None for weighted or pooled rows and event rates.
    witness : Witness
        Of the smooth error, callable on predictions.
    smooth_lower, smooth_upper : float
        What the witness attains, and the dual bound that nothing exceeds: the smooth error, proved.
    regions : tuple of Region
        Where the predictor errs, by contribution to the smooth error.
    ties : Ties
        The inequalities between the measures, checked, and the brackets of the distances from calibration.
    reliability : Reliability
        Table behind the reliability diagram.
    level : float
        The consistency band holds a calibrated curve with probability 1 - level at each point.
    n_resamples : int
        Resamples behind the band.
    seed : int or None
        Passed as `random_state`, it gives the same result again; None where a generator was passed.
    rates : bool
        Whether outcomes are event rates.
    about_chance : str or None
        For event rates, why nothing is said about chance; for weighted rows, what is assumed where it is spoken of.
    segments : tuple of Segment
        Segments of the rows, worst first, where they were asked for.
    segmented_by : tuple of str
        Columns whose values make the segments.
    periods : tuple of Period
        Days or other periods in order, with the evidence so far, where they were asked for.
    pos_label : object
        Label of the positive class, whose probability was audited, where it was said or there were two columns.
    """

    title: str | None
    n_rows: int
    n_distinct: int
    effective_rows: float
    weighted: bool
    base_rate: float
    mean_prediction: float
    measures: Mapping[str, MeasureValue]
    tests: Mapping[str, Evidence]
    advice: Advice
    classes: ClassFindings | None
    population: PopulationBounds | None
    witness: Witness
    smooth_lower: float
    smooth_upper: float
    regions: tuple[Region, ...]
    ties: Ties
    reliability: Reliability
    level: float
    n_resamples: int
    seed: int | None
    rates: bool = False
    about_chance: str | None = None
    segments: tuple[Segment, ...] = ()
    segmented_by: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()
    pos_label: Any = None

    def __post_init__(self) -> None:
        """Keep mappings from being written to, and segments of event rates in an order that leaves chance out."""
        object.__setattr__(self, "measures", ReadOnly(self.measures))
        object.__setattr__(self, "tests", ReadOnly(self.tests))
        if self.rates:
            worst = sorted(self.segments, key=lambda segment: segment.smooth_error_bound - segment.smooth_error)
            object.__setattr__(self, "segments", tuple(worst))

    def __repr__(self) -> str:
        """One short line; `summary` is the page."""
        title = f"{self.title!r:.80}, " if self.title else ""
        distance = proved(self.distance.lower, self.distance.upper)[0]
        return f"Audit({title}{self.n_rows:,} rows, true distance {distance})"

    def _repr_html_(self) -> str:
        """The page of plain text, for notebooks."""
        return f"<pre>{escape(self.summary())}</pre>"

    @property
    def smooth_error(self) -> float:
        """The headline: smooth calibration error."""
        return self.smooth_lower

    @property
    def distance(self) -> Bracket:
        """Where the true distance from calibration of this sample must lie."""
        return self.ties.true_distance

    @property
    def violations(self) -> tuple[Inequality, ...]:
        """Inequalities that fail, each of them an error in this library."""
        return tuple(inequality for inequality in self.ties.inequalities if not inequality.holds)

    @property
    def verdict(self) -> str:
        """How far, is it real, where, and what to do, in plain sentences."""
        return " ".join(self.verdict_sentences)

    @property
    def verdict_sentences(self) -> tuple[str, ...]:
        """The sentences of the verdict."""
        return sentences(self)

    def summary(self) -> str:
        """Return the audit as one page of plain text, at most 80 columns wide."""
        from calibrant.report.text import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain dicts, lists, numbers and words, with the version of their layout."""
        from calibrant.report.schema import as_dict

        return as_dict(self)

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML report, whole or not at all.

        Raises
        ------
        FileError
            If the file cannot be written; an old file stays as it was.
        """
        from calibrant.report.html import document
        from calibrant.writing import write_whole

        write_whole(path, document(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram on a matplotlib Axes, a new one by default, and return it."""
        from calibrant.report.plots import draw_diagram, new_axes

        return draw_diagram(self, ax if ax is not None else new_axes())


def audit(
    y_true: Column,
    y_prob: Any,
    *,
    sample_weight: Column | None = None,
    pos_label: Any = None,
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> Audit:
    """Say how far predictions are from calibrated, where and in which direction, and draw it.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1]; with two or more columns labels, as `multiclass_sample` takes them.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1]. Of two columns, as ``predict_proba`` returns them, that of the positive
        class is audited. Of more the top label is (was the most probable class right?); ``.classes`` holds the other
        questions, and `multiclass_sample` asks them of two columns too.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    pos_label : label, optional
        The positive class, whose probability is audited. One column needs it where labels are not 0 and 1; of two
        columns it is the second label in sorted order without it. Not for more than two classes.
    level : float, default 0.05
        A calibrated curve lies outside the consistency band with at most this probability at each point.
    n_resamples : int, default 1000
        Resamples behind the band; 0 for no band and no test, else at least 2 / level - 1. The test takes as many as
        half a second allows, 3,000 to 50,000.
    random_state : int, numpy.random.Generator or None
        Seeds the resamples.

    Returns
    -------
    Audit
        With ``.verdict``, ``.measures``, ``.regions``, ``.summary()``, ``.to_json()``, ``.to_html(path)``, ``.plot()``.

    Raises
    ------
    InputError
        If a column or an option cannot be used; the message names it and what is allowed.

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
        found = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
        return audit_classes(found, level=level, n_resamples=n_resamples, random_state=random_state)
    sample = Sample.from_columns(event_outcomes(y_true, pos_label), y_prob, sample_weight)
    done = audit_sample(sample, level=level, n_resamples=n_resamples, random_state=random_state)
    return replace(done, pos_label=pos_label)


def audit_classes(
    found: MulticlassSample,
    *,
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: RandomState = None,
    title: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit the positive one of two classes; of more the top label, and say what else can be asked of them."""
    if found.n_classes == 2:
        event = found.event()
        sample = Sample.from_columns(event.y_true, event.y_prob, event.sample_weight)
        done = audit_sample(
            sample, level=level, n_resamples=n_resamples, random_state=random_state, title=title, progress=progress
        )
        return replace(done, pos_label=found.positive_class)
    rng, seed = seeded(random_state)
    top = found.top_label()
    sample = Sample.from_columns(top.y_true, top.y_prob, top.sample_weight)
    first = audit_sample(
        sample, level=level, n_resamples=n_resamples, random_state=rng, title=title, progress=progress, advise=False
    )
    tell = progress if progress is not None else lambda _stage: None
    tell("Classes")
    classes = class_findings(found, level, n_resamples > 0, int(rng.integers(2**31)))
    tell("What to do")
    weighted = found.sample_weight is not None
    given = (
        not_compared("recalibrations of weighted rows are compared by choose_recalibrator")
        if weighted
        else advice(found.y_true, found.y_prob, int(rng.integers(2**31)))
    )
    return replace(first, seed=seed, classes=classes, advice=given)


def audit_sample(
    sample: Sample,
    *,
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: RandomState = None,
    title: str | None = None,
    progress: Callable[[str], None] | None = None,
    advise: bool = True,
) -> Audit:
    """Audit rows that are pooled already; `progress` is told the name of each stage before it starts."""
    tell = progress if progress is not None else lambda _stage: None
    check_options(level, n_resamples)
    rng, seed = seeded(random_state)

    tell("Witness")
    witness = witness_from_sample(sample)
    found = {}
    for name, measure in measures().items():
        value, why_not = None, None
        if measure.maximum_rows is not None and sample.n_distinct > measure.maximum_rows:
            why_not = f"not computed above {measure.maximum_rows:,} distinct predictions"
        else:
            tell(measure.title)
            value = measure.on_sample(sample, **measure.parameters)
        found[name] = MeasureValue(measure.title, value, measure.sentence, measure.parameters, why_not)
    tell("Inequalities and regions")
    ties = tie(sample, witness, {name: measure.value for name, measure in found.items()})
    regions = regions_from_witness(sample, witness)
    tell("Reliability diagram")
    table = reliability(sample, level, n_resamples, rng)
    tell("Tests")
    weighted = weights_differ(sample)
    tests = evidence(sample, weighted, level, n_resamples > 0, int(rng.integers(2**31)))
    bounds = population(sample, weighted, level, witness.value, (ties.lower_distance.lower, ties.lower_distance.upper))
    tell("What to do")
    given = advice_on_sample(sample, weighted, int(rng.integers(2**31))) if advise else not_compared("not asked for")
    mass = sample.mass()
    mean_prediction = min(1.0, dot(mass, sample.prediction))
    return Audit(
        title=title,
        n_rows=sample.n_rows,
        n_distinct=sample.n_distinct,
        effective_rows=sample.effective_rows,
        weighted=weighted,
        base_rate=min(1.0, max(0.0, mean_prediction + float(sample.residual().sum()))),
        mean_prediction=mean_prediction,
        measures=found,
        tests=tests,
        advice=given,
        classes=None,
        population=bounds,
        witness=witness,
        smooth_lower=witness.value,
        smooth_upper=witness.upper,
        regions=regions,
        ties=ties,
        reliability=table,
        level=float(level),
        n_resamples=int(n_resamples),
        seed=seed,
        rates=not sample.binary,
        about_chance=_about_chance(sample),
    )


def _about_chance(sample: Sample) -> str | None:
    if not sample.binary:
        return sentence(NO_TRIALS)
    return None if np.array_equal(sample.weight, sample.count) else WEIGHTS
