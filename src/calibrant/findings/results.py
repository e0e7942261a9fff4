"""The result of an audit, with its answer, sentences and premises."""

from __future__ import annotations

__all__ = ["Audit"]

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from calibrant.door.columns import NO_WEIGHT_THERE
from calibrant.door.ends import in_points
from calibrant.door.premises import Premises
from calibrant.door.values import counted
from calibrant.findings.action_catalogue import short_action
from calibrant.findings.catalogue import answer, sentences, state_in_words
from calibrant.findings.decision import Answer, loose_limit
from calibrant.findings.record import AuditRecord, view
from calibrant.findings.word_catalogue import CELLS_MIX_WEIGHTS, NO_OUTCOME_KNOWN, NO_SEGMENT_TESTED, weightless
from calibrant.inference.bounds.gate import most_in_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Audit(AuditRecord):
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
    refuse_fractions : tuple of str
        Options that were given, and cannot be used with sampling fractions.
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
    options : mapping of str to object
        Options of a table that every output names and that are no attribute here, by name, where they were given.
    road : str or None
        If rows were not read but summed: who summed them, and what that costs; else None.

    See Also
    --------
    audit, audit_table, GateResult
    """

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
        state, action = state_in_words(result, self), short_action(result, self)
        return f"Audit({state}{way}{far}: {action}; {counted(self.n_rows, 'outcome' if self.trials else 'row')}{title})"

    @property
    def answer(self) -> Answer:
        """The answer: state, direction, size, interval, p-value, action, and a few sentences."""
        return answer(self)

    @property
    def premises(self) -> Premises:
        """Premises, and what was not looked at: a sentence for each."""
        cost = self.cost_of_acting
        own = {each.name: getattr(self, each.name) for each in fields(Premises) if hasattr(self, each.name)}
        return Premises(
            **own,
            loose_limit=loose_limit(self.base_rate, self.mean_prediction, self.max_distance),
            threshold=None if cost is None or cost.worst else cost.threshold,
            grouped=self.n_groups is not None,
            drawn_again=self.weighted and any(each.result is not None for each in self.tests.values()),
            omissions=tuple(self._omissions()),
        )

    def _omissions(self) -> list[str]:
        """A sentence for each measure, test and segment that has no result: why."""
        lacking = [(m.title, m.not_computed) for m in self.measures.values() if m.value is None]
        lacking += [(each.title, each.not_run) for each in self.tests.values() if each.result is None]
        omissions = [f"{title}: {(why or 'not computed').rstrip('.')}." for title, why in lacking]
        if self.weightless_segments:
            why = NO_WEIGHT_THERE if self.followed is None else NO_OUTCOME_KNOWN
            omissions.append(weightless(self.weightless_segments, why))
        if self.segments and not (self.rates or self.segments_tested):
            by_rows = self.followed is not None or self.sampling_fractions is not None
            omissions.append(f"Tests of segments: {NO_SEGMENT_TESTED if by_rows else CELLS_MIX_WEIGHTS}.")
        return omissions

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, where it errs, how well it ranks, and what is assumed, in plain sentences."""
        return sentences(self)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw the reliability diagram on a matplotlib Axes, a new one by default, and return it.

        With a name, label or color it is drawn as one of several, as by `ReliabilityDisplay.from_predictions`.
        """
        return cast("Axes", view("diagram", "draw_audit")(self, ax, name=name, label=label, color=color))
