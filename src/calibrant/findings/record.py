"""Values that an audit puts together, and ways in which findings show themselves, by views of `report/`."""

from __future__ import annotations

__all__ = ["MeasureValue"]

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from calibrant.door.ends import Bracket
from calibrant.door.output import write_whole_bytes
from calibrant.door.premises import Followed
from calibrant.door.values import ReadOnly, Result, Results
from calibrant.findings.advice import Advice
from calibrant.findings.evidence import Evidence
from calibrant.findings.inequalities import Inequality, Ties
from calibrant.findings.regions import Region
from calibrant.findings.reliability import Reliability
from calibrant.findings.word_catalogue import NOT_SEARCHED, number, proved
from calibrant.inference.bounds.gate import GateResult
from calibrant.inference.bounds.population import PopulationBounds
from calibrant.lazily import MissingLibraryError, above
from calibrant.measures.smooth import Witness

if TYPE_CHECKING:
    from calibrant.decisions.curve import Acting
    from calibrant.decisions.line import GroupLine
    from calibrant.decisions.murphy import Cost
    from calibrant.drift.periods import Period
    from calibrant.findings.classes import ClassFindings
    from calibrant.segments.by_column import Segment
    from calibrant.segments.results import FoundSegments


def view(module: str, name: str) -> Any:
    """A function of a module of `report/`, which reads findings and computes nothing."""
    return getattr(above(f"report.{module}"), name)


class Finding(Result):
    """Ways in which every finding shows itself."""

    def __str__(self) -> str:
        """The answer in about ten lines; `summary` is the whole page."""
        return str(view("text", "short")(self))

    def _repr_html_(self) -> str | None:
        """Page of a notebook: the first screen, sentences and picture; None without matplotlib."""
        try:
            return str(view("notebook", "cell")(self))
        except MissingLibraryError:
            return None

    def summary(self) -> str:
        """Return it as a page of plain text, at most 80 columns wide."""
        return str(view("text", "page")(self))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dicts, lists, numbers and words, with the version of their layout."""
        return dict(view("schema", "as_dict")(self))

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML report, whole or not at all.

        Raises FileError if the file cannot be written; an old file stays as it was.
        """
        # The file is opened before anything is drawn, which takes seconds.
        write_whole_bytes(path, lambda file: file.write(view("html", "document")(self).encode()))


@dataclass(frozen=True, slots=True, repr=False)
class MeasureValue(Result):
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
        Why there is no value, with its proved bound if there is one; None where there is a value.
    bracket : Bracket or None
        A proved bracket of the value, if it was not computed and one is known; else None.

    See Also
    --------
    Audit, Measure
    """

    title: str
    value: float | None
    sentence: str
    parameters: Mapping[str, Any]
    not_computed: str | None = None
    bracket: Bracket | None = None

    @property
    def shown(self) -> str:
        """The value, or what it lies between, as a table of measures has it; a dash where neither is known."""
        if self.value is not None:
            return number(self.value)
        if self.bracket is None:
            return "-"
        low, high = number(self.bracket.lower), number(self.bracket.upper)
        return low if low == high else f"{low} to {high}"

    def summary(self) -> str:
        """Say the number and what it means, or why there is none."""
        return f"{self.title}: {self.not_computed if self.value is None else f'{self.value:.6g}. {self.sentence}'}"


def in_its_bracket(measure: MeasureValue, bracket: Bracket, rest: str = NOT_SEARCHED) -> MeasureValue:
    """A measure without a value, with a proved bracket all the same."""
    clause = proved(bracket.lower, bracket.upper)[1]
    return replace(measure, value=None, not_computed=f"It {clause}: that is proved, {rest}.", bracket=bracket)


@dataclass(frozen=True, eq=False, repr=False)
class AuditRecord(Finding):
    """Everything that an audit found, before anything is said of it; its words and `Audit` are made of it.

    `Audit` describes the fields.
    """

    _parts = "measures"
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
    equal_weights: bool = False
    segments: Results[Segment] = field(default_factory=Results)
    segmented_by: tuple[str, ...] = ()
    periods: Results[Period] = field(default_factory=Results)
    columns: Mapping[str, str] = field(default_factory=dict)
    n_excluded: int = 0
    n_cells: int | None = None
    pos_label: Any = None
    max_distance: float = 0.02
    gate: GateResult | None = None
    auc: float | None = None
    cost_of_acting: Cost | None = None
    acting: Acting | None = None
    n_groups: int | None = None
    group_line: GroupLine | None = None
    perhaps_groups: str | None = None
    ways_to_group: str | None = None
    trials_vary: bool = False
    perhaps_sampled: tuple[int, int] | None = None
    refuse_fractions: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    found_segments: FoundSegments | None = None
    road: str | None = None
    not_looked_at: tuple[str, ...] = ()
    weightless_segments: tuple[str, ...] = ()
    default_limit: bool = False
    max_weight: float | None = None
    trials: bool = False
    sampling_fractions: tuple[float, float] | None = None
    fractions_given: bool = False
    outcome_free_weights: bool = False
    followed: Followed | None = None
    unweighted: bool = False
    exclude_bad: bool = False
    distinct: bool = False
    complete: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep mappings from being written to."""
        object.__setattr__(self, "measures", ReadOnly(self.measures))
        object.__setattr__(self, "tests", ReadOnly(self.tests))
        object.__setattr__(self, "columns", ReadOnly(self.columns))
        object.__setattr__(self, "hints", ReadOnly(self.hints))
        object.__setattr__(self, "options", ReadOnly(self.options))

    @property
    def segments_tested(self) -> bool:
        """Whether anything is said of chance in the segments of `by`: not of event rates, nor of weights in cells."""
        return any(each.pvalue is not None for each in self.segments)

    @property
    def smooth_calibration_error(self) -> float:
        """Smooth calibration error, as its witness attains it."""
        return self.smooth_lower

    @property
    def distance(self) -> Bracket:
        """Where the true distance from calibration of this sample must lie."""
        return self.ties.true_distance

    @property
    def violations(self) -> tuple[Inequality, ...]:
        """Inequalities that fail, each of them an error in this library."""
        return tuple(inequality for inequality in self.ties.inequalities if not inequality.holds)
