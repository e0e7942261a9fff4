"""The gate of a table: its columns are found by name, and weights are used where their bound is said, else refused.

Of classes the top label is gated, of a log of lm-evaluation-harness the likeliest choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.arguments import check_level, check_threshold, fraction, positive, texts
from calibrant.door.classes import multiclass_sample
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.findings.decision import loose_limit
from calibrant.findings.effects import GATE, changed, refuse_idle
from calibrant.findings.faults import in_table, or_left_out, refuse_own_columns
from calibrant.findings.parts import EVERY
from calibrant.findings.sketch import road_of
from calibrant.findings.tables import Told, is_harness_log, kinds_of, say_excluded, say_guessed, searchable
from calibrant.findings.words import LABELS, not_looked_at, one_outcome
from calibrant.inference.bounds.draws import read_draws
from calibrant.inference.bounds.gate import Ends, GateResult, calibration_gate_on_sample, check_gate, gate_from_ends
from calibrant.inference.bounds.regret import RegretBounds, regret_bounds, regret_bounds_from_sample
from calibrant.kernels.sums import dot
from calibrant.segments.request import MAX_DEPTH
from calibrant.sketch.sample import draws_of_cells, gate_of_cells
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables import table as tables
from calibrant.tables.columns import may_hold_weights, perhaps_groups
from calibrant.tables.sketches import KeptSketches

_BOUNDED = "use them with --sample-weight and --max-weight N, the most that one row (or group) can weigh, known before"
_LEFT_OUT = "or leave them out with --unweighted"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a gate; columns that are None are guessed by their names."""

    max_distance: float | None
    level: float
    y_true: str | None = None
    y_prob: str | None = None
    sample_weight: str | None = None
    max_weight: float | None = None
    unweighted: bool = False
    state: Path | None = None
    max_regret: float | None = None
    threshold: float | None = None
    trials: str | None = None
    by: tuple[str, ...] = ()
    baseline: str | None = None
    max_worse: float | None = None
    distinct: bool = False
    groups: str | None = None
    pos_label: str | None = None
    find: tuple[str, ...] = ()
    max_depth: int = MAX_DEPTH
    exclude_bad: bool = False
    given: frozenset[str] | None = None
    """Options that were given, of the command line even where they are as by default."""

    def __post_init__(self) -> None:
        """Refuse, before anything is read, what can be no gate."""
        if (self.max_distance is None) == (self.max_regret is None):
            ways = "the largest distance from calibration, such as 0.05; or the most that acting may lose, --max-regret"
            which = "is missing" if self.max_distance is None else "is given beside --max-regret"
            raise InputError("max_distance", which, allowed=f"one of the two: {ways}")
        check_level(self.level)
        texts(self.by, "by")
        texts(self.find, "find")
        if self.max_distance is not None:
            check_gate(self.max_distance, self.level)
        elif self.max_regret is not None:
            fraction(self.max_regret, "max_regret")
            if self.threshold is not None:
                check_threshold(self.threshold)
        if self.max_weight is not None:
            positive(self.max_weight, "max_weight")
        if self.max_worse is not None:
            fraction(self.max_worse, "max_worse")
        self.refuse(*self._modes())

    def _modes(self) -> Iterator[str]:
        """Which of the modes it is in that decide which options have an effect."""
        yield "distance" if self.max_regret is None else "regret"
        yield "no state" if self.state is None else "state"
        yield "baseline" if self.baseline else "no baseline"
        if not self.find:
            yield "no search"
        if self.by or self.find:
            yield "segments"
            if self.groups is None:
                yield "segments of single rows"
        if self.trials is not None:
            yield "trials"

    def refuse(self, *modes: str) -> None:
        """Raise for an option that was given and has no effect in one of these modes."""
        given = {"anytime" if each == "state" else each for each in changed(self)} if self.given is None else self.given
        refuse_idle(GATE, given, modes)

    @property
    def in_groups(self) -> bool:
        """Whether groups of rows are drawn, which differ in size alone."""
        return self.groups is not None and self.sample_weight is None and self.trials is None

    @property
    def weighted(self) -> bool:
        """Whether weights, trials or groups are to be used."""
        given = (self.sample_weight, self.max_weight, self.trials, self.groups)
        return any(each is not None for each in given)


Read = tables.Rows | CalibrationSketch
"""Rows, or their sums in cells where they are too many to be read."""


def gate_opened(table: tables.Table, asked: Asked, told: Told) -> GateResult:
    """The gate of a table that is open."""
    read, names = read_opened(table, asked, told)
    told.progress("Bounds")
    with named_as_in_table(table, names):
        return decided(read, asked, told)


def _say_not_looked_at(table: tables.Table, names: Mapping[str, str], asked: Asked, told: Told) -> None:
    """In which columns faults may be hidden that go under among all rows, and what looks at them."""
    classes = table.choose_classes(asked.y_prob) or ()
    taken = {*names.values(), *classes, *asked.by, *asked.find}
    if asked.unweighted:  # which were left out on purpose
        taken.update(filter(may_hold_weights, table.columns))
    rest = tuple(name for name in table.columns if name not in taken)
    prediction = {"y_prob": classes[0] if classes else names["y_prob"]}
    if asked.find == EVERY or not (rest := searchable(table, prediction, rest, exclude_bad=asked.exclude_bad)):
        return
    weighted = asked.weighted and not asked.in_groups
    can = not (weighted or classes or asked.max_regret is not None or asked.state is not None)
    told.premise("not_looked_at", rest)
    told.premise("searchable", can)
    told.hint(f"{not_looked_at(rest)}{'; --find all gates the segments that they make' if can else ''}.")


@contextmanager
def named_as_in_table(table: tables.Table, names: Mapping[str, str]) -> Iterator[None]:
    """Whatever is wrong with a column is said in the table's words."""
    try:
        yield
    except InputError as problem:
        raise or_left_out(in_table(problem, table, names)) from None


def read_opened(table: tables.Table, asked: Asked, told: Told) -> tuple[Read, dict[str, str]]:
    """The rows that the gate is of, and argument -> column."""
    read, names = _read(table, asked, told)
    if names and not is_harness_log(table, asked.y_true, asked.y_prob):
        _say_not_looked_at(table, names, asked, told)
    return read, names


def _read(table: tables.Table, asked: Asked, told: Told) -> tuple[Read, dict[str, str]]:
    told.progress("Reading")
    kinds = kinds_of(table, asked.y_true, asked.y_prob)
    asked.refuse(*kinds)
    if "log" in kinds:
        read = table.read()
        say_guessed(read.names, read.guessed, told.say)
        told.premise("columns", read.names)
        return read, read.names
    if isinstance(table, KeptSketches):
        sketch = table.sketch()
        told.say(road_of(table, sketch))
        return sketch, {}
    classes = table.choose_classes(asked.y_prob)
    _refuse_two_classes(classes)
    if not (asked.weighted or asked.unweighted):
        _refuse_weights(table, asked, classes)
    unweighted = asked.unweighted or not asked.weighted
    if classes is not None:
        return _top_label(table, classes, asked, unweighted, told)
    weight = asked.sample_weight if asked.trials is None else asked.trials
    names = {"y_true": asked.y_true, "y_prob": asked.y_prob, "sample_weight": weight}
    if unweighted and table.summed and asked.groups is None:
        return _summed(table, names, asked, told)
    keys = [] if asked.groups is None else [asked.groups]
    table.require(keys, "groups")
    options: dict[str, Any] = {"unweighted": unweighted, "groups": asked.groups, "grouped_by": keys, **names}
    try:
        read = table.read(exclude_bad=asked.exclude_bad, **options)
    except InputError as problem:
        if problem.argument == "sample_weight" and asked.trials is not None:
            problem = type(problem)("trials", problem.problem, row=problem.row, allowed=problem.allowed)
        raise or_left_out(problem) from None
    refuse_own_columns(read.names, groups=[asked.groups])
    say_guessed(read.names, read.guessed, told.say)
    say_excluded(read.n_excluded, told)
    told.premise("columns", read.names)
    if asked.groups is not None:
        told.premise("n_groups", np.unique(np.asarray(read.groups)).size)
    else:
        _say_independent(table, read.names.values(), asked, told)
    return read, read.names


def _say_independent(table: tables.Table, used: Iterable[str], asked: Asked, told: Told) -> None:
    """What the proof takes for granted, where a column's name speaks against it."""
    name = perhaps_groups(table.columns, set(used))
    told.premise("perhaps_groups", name)
    if name is not None:
        ways = f"say --groups {name} --max-weight N, the most rows that one has"
        if asked.state is not None or asked.baseline is not None:
            option = "baseline" if asked.state is None else "anytime"
            ways = f"gate all rows without --{option}, which takes no groups, and {ways}"
        told.hint(f"Rows are taken to be independent; if those of one {name} depend on one another, {ways}.")


def _summed(
    table: tables.Table, names: Mapping[str, str | None], asked: Asked, told: Told
) -> tuple[Read, dict[str, str]]:
    """Sums of rows in cells, which cost the gate what its bounds say (docs/bounds.md)."""
    chosen = table.choose(
        y_true=names["y_true"], y_prob=names["y_prob"], sample_weight=names["sample_weight"], unweighted=True
    )
    sketch, n_excluded = table.sketched(chosen.names, exclude_bad=asked.exclude_bad)
    say_guessed(chosen.names, chosen.guessed, told.say)
    say_excluded(n_excluded, told)
    told.say(road_of(table, sketch))
    told.premise("columns", chosen.names)
    _say_independent(table, chosen.names.values(), asked, told)
    return sketch, chosen.names


def _top_label(
    table: tables.Table, classes: list[str], asked: Asked, unweighted: bool, told: Told
) -> tuple[Read, dict[str, str]]:
    table.require([] if asked.groups is None else [asked.groups], "groups")
    names = {"y_true": asked.y_true, "sample_weight": asked.sample_weight, "groups": asked.groups}
    read = table.read_classes(classes, unweighted=unweighted, **names)
    refuse_own_columns(read.names | {f"y_prob ({name})": name for name in classes}, groups=[asked.groups])
    say_guessed(read.names, (*read.guessed, "y_prob"), told.say)
    told.premise("top_label", True)
    told.hint(f"Of the {len(classes)} classes the top label is gated: was the most probable class right?")
    told.premise("columns", read.names)
    if asked.groups is None:
        _say_independent(table, [*read.names.values(), *classes], asked, told)
    else:
        told.premise("n_groups", np.unique(np.asarray(read.groups)).size)
    with named_as_in_table(table, read.names):
        labels = multiclass_sample(
            read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes
        ).top_label()
    return replace(read, y_true=labels.y_true, y_prob=labels.y_prob, sample_weight=labels.sample_weight), read.names


def regret_opened(table: tables.Table, asked: Asked, told: Told) -> RegretBounds:
    """The gate of what acting on the predictions loses, of a table that is open."""
    read, names = read_opened(table, asked, told)
    told.progress("Bounds")
    with named_as_in_table(table, names):
        if isinstance(read, CalibrationSketch):
            asked.refuse("regret of sums")
            rows, _, _ = draws_of_cells(read.sample, read.moments(), None)
            return regret_bounds_from_sample(rows, asked.level, asked.threshold, asked.max_regret)
        return regret_bounds(
            read.y_true,
            read.y_prob,
            sample_weight=read.sample_weight if asked.weighted and asked.trials is None else None,
            trials=None if asked.trials is None else read.sample_weight,
            groups=read.groups,
            max_weight=asked.max_weight,
            threshold=asked.threshold,
            max_regret=asked.max_regret,
            level=asked.level,
        )


def decided(read: Read, asked: Asked, told: Told, shares: int = 1) -> GateResult:
    """The gate of rows that were read; "beyond" takes one of so many shares of the level."""
    limit, level = asked.max_distance, asked.level
    assert limit is not None
    if isinstance(read, CalibrationSketch):
        _say_odd(read.sample, limit, told)
        held = read.sample, read.moments()
        return gate_of_cells(*held, max_distance=limit, level=level, max_weight=asked.max_weight, shares=shares)
    if not asked.weighted:
        sample = Rows.of(read.y_true, read.y_prob).sample
        _say_odd(sample, limit, told)
        return calibration_gate_on_sample(sample, max_distance=limit, level=level, shares=shares)
    weight = {"sample_weight" if asked.trials is None else "trials": read.sample_weight}
    sample, units = read_draws(read.y_true, read.y_prob, **weight, groups=read.groups, max_weight=asked.max_weight)
    _say_odd(sample, limit, told)
    return gate_from_ends(Ends.of(sample, level, units, shares=shares), limit, sample.n_rows)


def _say_odd(sample: Sample, limit: float, told: Told) -> None:
    """Say so of labels, of a single outcome, and of a limit that lets a constant pass which predicts 0 or 1."""
    if np.isin(sample.prediction, (0.0, 1.0)).all():
        told.say(LABELS)
    if sample.ones.sum() in (0, sample.n_rows):
        told.say(one_outcome(sample.n_rows, events=bool(sample.ones.any())))
    told.premise("loose_limit", loose_limit_of(sample, limit))


def loose_limit_of(sample: Sample, limit: float) -> str | None:
    """That a limit lets a constant pass, where it does."""
    rate = float(sample.weighted_outcome.sum() / sample.weight.sum())
    return loose_limit(rate, dot(sample.mass(), sample.prediction), limit)


def _refuse_weights(table: tables.Table, asked: Asked, classes: list[str] | None) -> None:
    try:
        y_prob = asked.y_prob if classes is None else classes[0]
        names = table.choose(y_true=asked.y_true, y_prob=y_prob).names
    except InputError as problem:
        if problem.argument != "sample_weight":
            return  # which reading the columns says, unless it does without their names
        said = problem.problem
    else:
        if "sample_weight" not in names:
            return
        said = f"column {names['sample_weight']!r} holds weights"
    raise InputError("max_weight", f"{said}, and the proof needs a bound on them", allowed=f"{_BOUNDED}; {_LEFT_OUT}")


def _refuse_two_classes(columns: list[str] | None) -> None:
    if columns is not None and len(columns) == 2:
        shown = f"{columns[0]!r} ... {columns[-1]!r}"
        ways = f"name the event's with --y-prob {columns[1]}"
        problem = f"columns {shown} are probabilities of classes, and the gate takes one probability: {ways}"
        raise InputError("y_prob", problem)
