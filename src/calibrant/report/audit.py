"""The audit: one call, every answer."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inference.bounds import PopulationBounds
from calibrant.inputs import Column
from calibrant.measures.registry import measures
from calibrant.measures.smooth import witness_from_sample
from calibrant.report.evidence import Evidence, evidence, population
from calibrant.report.inequalities import Bracket, Inequality, Ties, tie
from calibrant.report.regions import Region, regions_from_witness
from calibrant.report.reliability import Reliability, reliability
from calibrant.report.words import percent, population_in_words, proved
from calibrant.sample import Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RandomState = int | np.random.Generator | None
SCHEMA = 1


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
    population : PopulationBounds or None
        Confidence bounds for the population; None for weighted or pooled rows and event rates.
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
    population: PopulationBounds | None
    smooth_lower: float
    smooth_upper: float
    regions: tuple[Region, ...]
    ties: Ties
    reliability: Reliability
    level: float
    n_resamples: int
    seed: int | None

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
        """How far, where, and whether the diagram leaves its band, in plain sentences."""
        return " ".join(self.verdict_sentences)

    @property
    def verdict_sentences(self) -> tuple[str, ...]:
        """The sentences of the verdict."""
        sentences = []
        if self.violations:
            failed = "; ".join(inequality.words for inequality in self.violations)
            sentences.append(
                f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {failed} fails."
            )
        _, clause = proved(self.distance.lower, self.distance.upper)
        sentences.append(f"Whatever the features, the true distance from calibration of these rows {clause}.")
        for each in self.tests.values():
            if each.result is not None:
                said = each.result.summary()
                sentences.append(f"{said[0].upper()}{said[1:]}.")
        if self.population is not None:
            sentences.append(population_in_words(self.population))
        if self.regions:
            worst = self.regions[0]
            sentences.append(f"{worst.words[0].upper()}{worst.words[1:]}: {worst.noise_in_words}.")
        elif self.smooth_error > 0.0:
            sentences.append("No stretch of predictions stands out.")
        table = self.reliability
        if table.outside is not None:
            what = "The reliability curve leaves" if table.kind == "curve" else "Observed rates leave"
            share = f"over {percent(table.outside)} of the rows" if table.outside > 0.0 else "nowhere"
            if table.outside > 0.0 and self.weighted:
                share = f"over {percent(table.outside)} of the weight"
            sentences.append(
                f"{what} the pointwise {percent(1.0 - self.level)} consistency band {share}; "
                f"for a calibrated predictor about {percent(self.level)} is expected."
            )
        else:
            sentences.append(f"There is no consistency band: {table.no_band}.")
        return tuple(sentences)

    def summary(self) -> str:
        """Return the audit as one page of plain text, at most 80 columns wide."""
        from calibrant.report.text import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain dicts, lists, numbers and words, with the version of their layout."""
        from calibrant import __version__

        table = self.reliability
        return {
            "schema": SCHEMA,
            "calibrant": __version__,
            "title": self.title,
            "verdict": self.verdict,
            "n_rows": self.n_rows,
            "n_distinct": self.n_distinct,
            "effective_rows": self.effective_rows,
            "weighted": self.weighted,
            "base_rate": self.base_rate,
            "mean_prediction": self.mean_prediction,
            "smooth_calibration_error": {"attained": self.smooth_lower, "dual_bound": self.smooth_upper},
            "true_distance": asdict(self.ties.true_distance),
            "lower_distance": asdict(self.ties.lower_distance),
            "measures": {
                name: {
                    "value": measure.value,
                    "parameters": dict(measure.parameters),
                    "sentence": measure.sentence,
                    "not_computed": measure.not_computed,
                }
                for name, measure in self.measures.items()
            },
            "tests": {name: each.to_dict() for name, each in self.tests.items()},
            "population": None if self.population is None else asdict(self.population),
            "regions": [{**asdict(region), "words": region.words} for region in self.regions],
            "inequalities": [{**asdict(each), "holds": each.holds} for each in self.ties.inequalities],
            "reliability": {
                "kind": table.kind,
                "bandwidth": table.bandwidth,
                "outside": table.outside,
                "no_band": table.no_band,
                **{
                    name: None if column is None else [None if math.isnan(x) else x for x in column.tolist()]
                    for name, column in (
                        ("prediction", table.prediction),
                        ("outcome", table.outcome),
                        ("lower", table.lower),
                        ("upper", table.upper),
                        ("mass", table.mass),
                        ("count", table.count),
                    )
                },
            },
            "options": {"level": self.level, "n_resamples": self.n_resamples, "random_state": self.seed},
        }

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
        from calibrant.report.files import write_whole
        from calibrant.report.html import document

        write_whole(path, document(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram on a matplotlib Axes, a new one by default, and return it."""
        from calibrant.report.plots import draw_diagram, new_axes

        return draw_diagram(self, ax if ax is not None else new_axes())


def audit(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> Audit:
    """Say how far predictions are from calibrated, where and in which direction, and draw it.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
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
    sample = Sample.from_columns(y_true, y_prob, sample_weight)
    return audit_sample(sample, level=level, n_resamples=n_resamples, random_state=random_state)


def audit_sample(
    sample: Sample,
    *,
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: RandomState = None,
    title: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit rows that are pooled already; `progress` is told the name of each stage before it starts."""
    tell = progress if progress is not None else lambda _stage: None
    _check_options(level, n_resamples)
    rng, seed = _generator(random_state)

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
    convolved = found["convolved_calibration_error"].value
    table = reliability(sample, convolved or 0.0, level, n_resamples, rng)
    tell("Tests")
    weighted = _weights_differ(sample)
    tests = evidence(sample, weighted, level, n_resamples > 0, int(rng.integers(2**31)))
    bounds = population(sample, weighted, level, witness.value, (ties.lower_distance.lower, ties.lower_distance.upper))
    mass = sample.mass()
    mean_prediction = min(1.0, float(mass @ sample.prediction))
    return Audit(
        title=title,
        n_rows=sample.n_rows,
        n_distinct=sample.n_distinct,
        effective_rows=sample.effective_rows,
        weighted=weighted,
        base_rate=min(1.0, max(0.0, mean_prediction + float(sample.residual().sum()))),
        mean_prediction=mean_prediction,
        measures=MappingProxyType(found),
        tests=MappingProxyType(tests),
        population=bounds,
        smooth_lower=witness.value,
        smooth_upper=witness.upper,
        regions=regions,
        ties=ties,
        reliability=table,
        level=float(level),
        n_resamples=int(n_resamples),
        seed=seed,
    )


def _weights_differ(sample: Sample) -> bool:
    each = sample.weight / sample.count
    same_within = np.allclose(sample.squared_weight, sample.weight * each, rtol=1e-12, atol=0.0)
    return not (same_within and np.allclose(each, each[0], rtol=1e-12, atol=0.0))


def _check_options(level: float, n_resamples: int) -> None:
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise InputError("level", f"is {level!r:.40}; it must lie strictly between 0 and 1")
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int | np.integer) or n_resamples < 0:
        raise InputError("n_resamples", f"is {n_resamples!r:.40}; it must be a whole number, 0 for no band")
    needed = math.ceil(2.0 / level - 1.0 - 1e-9)
    if 0 < n_resamples < needed:
        raise InputError(
            "n_resamples", f"is {n_resamples}; a band at level {level:g} needs at least {needed} (or 0 for no band)"
        )


def _generator(random_state: RandomState) -> tuple[np.random.Generator, int | None]:
    """A generator, and the seed that gives it again; a fresh seed where none is given."""
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(
            "random_state", f"is {random_state!r:.40}; it must be a whole number from 0, a numpy Generator or None"
        )
    return np.random.default_rng(int(random_state)), int(random_state)
