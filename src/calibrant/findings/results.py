"""Results of an audit: frozen values, shown by the views in `report/`, which are looked up only when needed."""

from __future__ import annotations

__all__ = ["Audit", "MeasureValue"]

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from calibrant.door.ends import Bracket, in_points
from calibrant.door.output import write_whole_bytes
from calibrant.door.premises import Followed, Premises
from calibrant.door.values import ReadOnly, Result, Results, counted
from calibrant.findings.actions import action_in_words
from calibrant.findings.advice import Advice
from calibrant.findings.catalogue import answer, sentences, state_in_words
from calibrant.findings.decision import Answer, loose_limit
from calibrant.findings.evidence import Evidence
from calibrant.findings.inequalities import Inequality, Ties
from calibrant.findings.regions import Region
from calibrant.findings.reliability import Reliability
from calibrant.findings.words import CELLS_MIX_WEIGHTS, NO_SEGMENT_TESTED, not_looked_at, number, proved
from calibrant.inference.bounds.gate import GateResult, most_in_short
from calibrant.inference.bounds.population import PopulationBounds
from calibrant.lazily import MissingLibraryError, above
from calibrant.measures.smooth import Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def in_its_bracket(
    measure: MeasureValue, bracket: Bracket, rest: str = "and a closer number is not searched for among so many rows"
) -> MeasureValue:
    """A measure without a value, with a proved bracket all the same."""
    clause = proved(bracket.lower, bracket.upper)[1]
    return replace(measure, value=None, not_computed=f"It {clause}: that is proved, {rest}.", bracket=bracket)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Finding):
    """Everything the audit found; made by `audit`.

    Attributes
    ----------
    title : str or None
        What was audited, for the head of the report; None if it has no name.
    n_rows, n_distinct : int
        Rows, and distinct predictions.
    effective_rows : float
        Kish's effective number of rows; `n_rows` if weights are equal.
    weighted : bool
        Whether weights differ.
    base_rate, mean_prediction : float
        Weighted means of outcomes and predictions.
    measures : mapping of str to MeasureValue
        Every registered measure by name.
    tests : mapping of str to Evidence
        Tests of calibration by name, each with its result, or why it was not run.
    advice : Advice
        What to do: recalibrations compared.
    classes : ClassFindings or None
        For K classes, the findings beyond the top label, to which all else refers. None for one probability per row.
    population : PopulationBounds or None
        Confidence bounds for the population; None for event rates, and for weights, trials or groups without
        `max_weight`.
    witness : Witness
        Of the smooth error, callable on predictions.
    smooth_lower, smooth_upper : float
        What the witness attains, and the dual bound that nothing exceeds: a proved bracket of the smooth error.
    regions : tuple of Region
        Where the predictor errs, by contribution to the smooth error.
    ties : Ties
        The inequalities between the measures, checked, and the brackets of the distances from calibration.
    reliability : Reliability
        Table behind the reliability diagram.
    level : float
        Probability of error of the test, of each end of a bound, and of the consistency band.
    n_resamples : int
        Resamples behind the band.
    seed : int or None
        Passed as `random_state`, it gives the same result again; None if a generator was passed.
    rates : bool
        Whether outcomes are event rates.
    equal_weights : bool
        Whether rows have weights that are all the same, other than 1.
    segments : Results of Segment
        Segments of the rows, sorted as `calibration_by_segment` says, if `by` was given.
    segmented_by : tuple of str
        Columns whose values make the segments.
    found_segments : FoundSegments or None
        Segments found by `find`, if it was given.
    periods : Results of Period
        Days or other periods in order, with the evidence so far, if `drift` was given.
    columns : mapping of str to str
        The columns of a table that were used, by argument.
    n_excluded : int
        Bad rows of a table that were left out.
    n_cells : int or None
        Number of cells, if rows were pooled into cells that hold several predictions.
    pos_label : object
        Label of the positive class, whose probability was audited, if it was given or there were two columns.
    max_distance : float
        The error that is too small to matter.
    gate : GateResult or None
        Whether the population's lower distance is proved to be within `max_distance`; None if no bound is known.
    auc : float or None
        Probability that a row with the event has a higher prediction than one without; ties count half. It says how
        well the predictions rank, which calibration does not. None if there is only one outcome.
    cost_of_acting : Cost or None
        What acting on the predictions loses, at the given threshold or the worst one; None if not computed.
    acting : Acting or None
        Decision curve with its band, and the Murphy diagram, at some 400 thresholds: what the page draws.
    n_groups : int or None
        Number of groups; None if rows are taken to be independent.
    group_line : GroupLine or None
        Level and slope by groups, where these are too few for a band and the test of all errors; None elsewhere.
    perhaps_groups : str or None
        Column of a table whose name suggests that its rows belong together, and in which values repeat, if no groups
        were given.
    hints : mapping of str to str
        What columns suggest of rows, by their names and values: a sentence each, by its name.
    ways_to_group : str or None
        What takes rows of one value of that column as groups; None where naming the column is enough.
    trials_vary : bool
        Whether outcomes of one row of trials plainly vary more than independent ones do.
    perhaps_sampled : tuple of int, or None
        In how many of so many rows the event came, where rows may have been chosen by it; None where nothing says so.
    not_looked_at : tuple of str
        Columns of a table that nothing was asked about, in which segments could be found.
    weightless_segments : tuple of str
        Segments whose rows have no weight, with their number of rows; they are not judged.
    default_limit : bool
        Whether `max_distance` is the default.
    max_weight : float or None
        The most that one row, or group, can weigh, where it was given.
    trials : bool
        Whether each row stands for several outcomes.
    sampling_fractions : tuple of float, or None
        Shares of rows without the event, and with it, that were kept; None where rows were not sampled by outcome.
    fractions_given : bool
        Whether these were given; they are seen in weights otherwise.
    outcome_free_weights : bool
        Whether weights were declared to say nothing of outcomes at a given prediction.
    followed : Followed or None
        How outcomes at a horizon were made of times and events; None where outcomes were given.
    unweighted, exclude_bad : bool
        Whether columns of weights, and bad rows of a table, were to be left out.
    distinct : bool
        Whether files of equal contents were to be taken as other rows each.
    complete : bool
        Whether all that was left out is known: not of a sketch, which does not keep it.
    road : str or None
        If rows were not read but summed: who summed them, and what that costs; else None.

    See Also
    --------
    audit, audit_table, GateResult
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

    def __post_init__(self) -> None:
        """Keep mappings from being written to."""
        object.__setattr__(self, "measures", ReadOnly(self.measures))
        object.__setattr__(self, "tests", ReadOnly(self.tests))
        object.__setattr__(self, "columns", ReadOnly(self.columns))
        object.__setattr__(self, "hints", ReadOnly(self.hints))

    def __repr__(self) -> str:
        """One short line that begins with the answer; `summary` is the page."""
        result = self.answer
        way = "" if result.direction is None else f", {result.direction}"
        far = (
            ""
            if result.interval is None
            else f", at most {in_points(most_in_short(result.interval, result.max_distance))}"
        )
        title = f" of {self.title!r:.80}" if self.title else ""
        state, action = state_in_words(result), action_in_words(result)
        return f"Audit({state}{way}{far}: {action}; {counted(self.n_rows, 'outcome' if self.trials else 'row')}{title})"

    @property
    def answer(self) -> Answer:
        """The answer: state, direction, size, interval, p-value, action, and a few sentences."""
        return answer(self)

    @property
    def premises(self) -> Premises:
        """Premises, and what was not looked at: a sentence for each."""
        cost = self.cost_of_acting
        lacking = [(m.title, m.not_computed) for m in self.measures.values() if m.value is None]
        lacking += [(each.title, each.not_run) for each in self.tests.values() if each.result is None]
        omissions = [f"{title}: {(why or 'not computed').rstrip('.')}." for title, why in lacking]
        if self.weightless_segments:
            omissions.append(f"{not_looked_at(self.weightless_segments, 'Segments')}; their rows have no weight.")
        if self.segments and not (self.rates or self.segments_tested):
            by_rows = self.followed is not None or self.fractions_given
            omissions.append(f"Tests of segments: {NO_SEGMENT_TESTED if by_rows else CELLS_MIX_WEIGHTS}.")
        return Premises(
            level=self.level,
            max_distance=self.max_distance,
            default_limit=self.default_limit,
            loose_limit=loose_limit(self.base_rate, self.mean_prediction, self.max_distance),
            threshold=None if cost is None or cost.worst else cost.threshold,
            columns=self.columns,
            grouped=self.n_groups is not None,
            n_groups=self.n_groups,
            weighted=self.weighted,
            equal_weights=self.equal_weights,
            trials=self.trials,
            sampling_fractions=self.sampling_fractions,
            fractions_given=self.fractions_given,
            outcome_free_weights=self.outcome_free_weights,
            followed=self.followed,
            drawn_again=self.weighted and any(each.result is not None for each in self.tests.values()),
            max_weight=self.max_weight,
            unweighted=self.unweighted,
            pos_label=self.pos_label,
            exclude_bad=self.exclude_bad,
            n_excluded=self.n_excluded,
            not_looked_at=self.not_looked_at,
            omissions=tuple(omissions),
            perhaps_groups=self.perhaps_groups,
            ways_to_group=self.ways_to_group,
            trials_vary=self.trials_vary,
            perhaps_sampled=self.perhaps_sampled,
            hints=self.hints,
            distinct=self.distinct,
            complete=self.complete,
        )

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

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, where it errs, how well it ranks, and what is assumed, in plain sentences."""
        return sentences(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Axes:
        """Draw the reliability diagram on a matplotlib Axes, a new one by default, and return it.

        With a name, label or color it is drawn as one of several, as by `ReliabilityDisplay.from_predictions`.
        """
        return cast("Axes", view("diagram", "draw_audit")(self, ax, name=name, label=label, color=color))
