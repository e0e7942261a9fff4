"""The gate of a table: its columns are found by name, and weights are used where their bound is said, else refused.

Of classes the top label is gated, of a log of lm-evaluation-harness the likeliest choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from calibrant.door.classes import multiclass_sample
from calibrant.door.errors import InputError
from calibrant.door.request import Listener
from calibrant.door.rows import Rows, read_trials
from calibrant.door.sample import Sample
from calibrant.door.weights import SamplingFractions, perhaps_sampled
from calibrant.findings.decision import default_limit, loose_limit
from calibrant.findings.evidence import varies_together
from calibrant.findings.faults import in_table, or_left_out, refuse_own_columns, roles_of
from calibrant.findings.hints import hints_of, say_excluded, say_guessed, say_lacking, searchable
from calibrant.findings.sketch import road_of
from calibrant.findings.tables import is_harness_log, kinds_of, read_rows
from calibrant.findings.word_catalogue import LABELS, not_looked_at, one_outcome
from calibrant.gate import catalogue as say
from calibrant.gate.request import GateRequest
from calibrant.gate.result import Asides, Check
from calibrant.inference.bounds.draws import Weighing, read_draws
from calibrant.inference.bounds.gate import Ends, GateResult, calibration_gate_on_sample, gate_from_ends
from calibrant.inference.bounds.regret import RegretBounds, regret_bounds, regret_bounds_from_sample
from calibrant.inference.bounds.tally import P, of_followed
from calibrant.kernels.sums import dot
from calibrant.segments.request import EVERY
from calibrant.sketch.bounds import draws_of_cells, gate_of_cells
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables import table as tables
from calibrant.tables.columns import may_hold_weights

# Rows, or their sums in cells where they are too many to be read.
Read = tables.Columns | CalibrationSketch


def gate_opened(table: tables.Table, request: GateRequest, listener: Listener) -> Check:
    """The check of all rows of a table that is open."""
    read, names = read_opened(table, request, listener)
    listener.stage("Bounds")
    with named_as_in_table(table, names, read):
        return decided(read, with_limit(read, request, listener), listener, classes_limit=request.max_distance)


def _say_hints(
    table: tables.Table, read: Read, names: Mapping[str, str], request: GateRequest, listener: Listener
) -> None:
    """Hints from columns, and what to do if they are right."""
    classes = {f"class {name}": name for name in table.choose_classes(request.y_prob) or ()}
    hints = hints_of(table, {**names, **classes}, request, getattr(read, "followed", None))
    listener.premise("hints", hints)
    for sentence in hints.values():
        listener.hint(sentence)


def _say_not_looked_at(table: tables.Table, names: Mapping[str, str], request: GateRequest, listener: Listener) -> None:
    """In which columns faults may be hidden that go under among all rows, and what looks at them."""
    classes = table.choose_classes(request.y_prob) or ()
    used = {*names.values(), *classes, *request.by, *request.find, request.items}
    if request.unweighted:  # which were left out on purpose
        used.update(filter(may_hold_weights, table.columns))
    rest = tuple(name for name in table.columns if name not in used)
    prediction = {"y_prob": classes[0] if classes else names["y_prob"]}
    if request.find == EVERY or not (rest := searchable(table, prediction, rest, exclude_bad=request.exclude_bad)):
        return
    alone = request.trials, request.max_regret, request.anytime
    can = not classes and all(each is None for each in alone)
    listener.premise("not_looked_at", rest)
    listener.premise("searchable", can)
    listener.hint(f"{not_looked_at(rest)}{say.FIND_ALL if can else ''}.")


def of_units(table: tables.Table, request: GateRequest) -> GateRequest:
    """The request without groups where each row is one of its own, and nothing says how large one is."""
    name, given = request.groups, (request.trials, request.max_weight)
    if name not in table.columns or table.summed or name in (*request.by, *request.find) or given != (None, None):
        return request
    rank = table.ranks(str(name), "groups")
    if (rank < 0).any() or np.unique(rank).size < rank.size:
        return request
    explicit = None if request.explicit is None else request.explicit - {"groups"}
    return replace(request, groups=None, explicit=explicit)


@contextmanager
def named_as_in_table(table: tables.Table, names: Mapping[str, str], read: Read | None = None) -> Iterator[None]:
    """A fault of a column is named in the table's words."""
    try:
        yield
    except InputError as problem:
        raise or_left_out(in_table(problem, table, names, getattr(read, "groups", None))) from None


def read_opened(table: tables.Table, request: GateRequest, listener: Listener) -> tuple[Read, dict[str, str]]:
    """The rows that the gate is of, and argument -> column."""
    table.dependent = request.groups is not None
    table.row_keys = request.by
    table.groupings = (tables.Grouping(request.by, tables.FINE),) if request.by else ()
    read, names = _read(table, request, listener)
    say_lacking(table, (*request.by, *request.find), listener)
    if names and not is_harness_log(table, request.y_true, request.y_prob):
        _say_hints(table, read, names, request, listener)
        _say_not_looked_at(table, names, request, listener)
    return read, names


def _read(table: tables.Table, request: GateRequest, listener: Listener) -> tuple[Read, dict[str, str]]:
    listener.stage("Reading")
    kinds = kinds_of(table, request.y_true, request.y_prob)
    request.refuse(*kinds, *([] if "sketches" in kinds else request.single_rows))
    if "log" in kinds:
        read = table.read()
        say_guessed(read.names, read.guessed, listener.note)
        listener.premise("columns", read.names)
        return read, read.names
    if not table.has_rows:
        sketch, _ = table.sketched({})
        listener.note(road_of(table, sketch, sketch.moments()))
        return sketch, {}
    classes = table.choose_classes(request.y_prob)
    _refuse_two_classes(classes)
    if not (request.weighted or request.unweighted):
        _refuse_weights(table, request, classes)
    unweighted = request.horizon is None and (request.unweighted or not request.weighted)
    if classes is not None:
        return _top_label(table, classes, request, unweighted, listener)
    if unweighted and table.summed and request.groups is None:
        return _summed(table, request, listener)
    keys = [] if request.groups is None else [request.groups]
    table.require(keys, "groups")
    read = read_rows(table, request, request.columns | {"unweighted": unweighted, "grouped_by": keys})
    refuse_own_columns(read.names, groups=[request.groups])
    say_guessed(read.names, read.guessed, listener.note)
    say_excluded(read.n_excluded, listener)
    listener.premise("columns", read.names)
    listener.premise("followed", read.followed)
    if request.groups is not None:
        lost = 0 if read.followed is None else read.followed.n_unknown_groups
        listener.premise("n_groups", np.unique(np.asarray(read.groups)).size + lost)
    else:
        _say_independent(table, roles_of(read.names).values(), request, listener)
    return read, read.names


def _say_independent(table: tables.Table, used: Iterable[str], request: GateRequest, listener: Listener) -> None:
    """What the proof takes for granted, where a column's name speaks against it."""
    name = table.perhaps_groups(used, grows=request.anytime is not None)
    listener.premise("perhaps_groups", name)
    if name is not None:
        ways = request.ways_to_group(name, many=table.summed)
        listener.premise("ways_to_group", ways)
        if request.anytime is not None or request.baseline is not None:
            option = "baseline" if request.anytime is None else "anytime"
            ways = say.NO_GROUPS_BESIDE.format(option=option, ways=ways)
        listener.hint(say.INDEPENDENT.format(name=name, ways=ways))


def _summed(table: tables.Table, request: GateRequest, listener: Listener) -> tuple[Read, dict[str, str]]:
    """Sums of rows in cells, which cost the gate what its bounds say (docs/bounds.md)."""
    columns = table.choose(**request.columns | {"unweighted": True, "grouped_by": ()})
    sketch, n_excluded = table.sketched(columns.names, exclude_bad=request.exclude_bad)
    say_guessed(columns.names, columns.guessed, listener.note)
    say_excluded(n_excluded, listener)
    listener.note(road_of(table, sketch, sketch.moments()))
    listener.premise("columns", columns.names)
    _say_independent(table, columns.names.values(), request, listener)
    return sketch, columns.names


def _top_label(
    table: tables.Table, class_columns: list[str], request: GateRequest, unweighted: bool, listener: Listener
) -> tuple[Read, dict[str, str]]:
    table.require([] if request.groups is None else [request.groups], "groups")
    names = {"y_true": request.y_true, "sample_weight": request.sample_weight, "groups": request.groups}
    read = table.read_classes(class_columns, unweighted=unweighted, **names)
    refuse_own_columns(read.names | {f"y_prob ({name})": name for name in class_columns}, groups=[request.groups])
    say_guessed(read.names, (*read.guessed, "y_prob"), listener.note)
    listener.premise("top_label", True)
    listener.hint(say.TOP_LABEL.format(n=len(class_columns)))
    listener.premise("columns", read.names)
    if request.groups is None:
        _say_independent(table, [*read.names.values(), *class_columns], request, listener)
    else:
        listener.premise("n_groups", np.unique(np.asarray(read.groups)).size)
    with named_as_in_table(table, read.names):
        all_of = multiclass_sample(read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes)
    top = all_of.top_label()
    all_of = replace(all_of, group=read.groups)
    weight = top.sample_weight
    return replace(read, y_true=top.y_true, y_prob=top.y_prob, sample_weight=weight, all_classes=all_of), read.names


def regret_opened(table: tables.Table, request: GateRequest, listener: Listener) -> RegretBounds:
    """The gate of what acting on the predictions loses, of a table that is open."""
    read, names = read_opened(table, request, listener)
    listener.stage("Bounds")
    with named_as_in_table(table, names, read):
        if isinstance(read, CalibrationSketch):
            refuse_weights_in(read, "max_regret")
            request.refuse("regret of sums")
            rows, _, _ = draws_of_cells(read.sample, read.moments(), None)
            return regret_bounds_from_sample(rows, request.level, request.threshold, request.max_regret)
        bounds = regret_bounds(
            read.y_true,
            read.y_prob,
            groups=read.groups,
            **_weighing(read, request)._asdict(),
            threshold=request.threshold,
            max_regret=request.max_regret,
            level=request.level,
        )
        if request.trials is not None:
            listener.premise("trials_vary", varies_together(_rows(read, request)))
    seen = bounds.premises
    if request.horizon is None:
        for name in ("weighted", "equal_weights", "sampling_fractions", "fractions_given"):
            listener.premise(name, getattr(seen, name))
    listener.premise("perhaps_sampled", seen.perhaps_sampled if _of_single(read, request) else None)
    return _followed(bounds, read)


def refuse_weights_in(sketch: CalibrationSketch, option: str) -> None:
    """Refuse sums of rows with weights, with or without what bounds these."""
    if sketch.sample.weights_differ or sketch.sample.equal_weights:
        raise InputError(option, "takes rows without weights, and the sketches hold weights", allowed=say.TAKE_ROWS)


def _say_weights(sample: Sample, listener: Listener) -> None:
    """What sums say of weights, as `Weighing.premises` does of rows."""
    fractions = SamplingFractions.of_sample(sample) if sample.weights_differ and sample.binary else None
    listener.premise("weighted", sample.weights_differ)
    listener.premise("equal_weights", sample.equal_weights)
    listener.premise("sampling_fractions", None if fractions is None else (fractions.without, fractions.events))


def _of_single(read: tables.Columns, request: GateRequest) -> bool:
    """Whether rows are outcomes of one prediction each, as they came."""
    return request.trials is None and request.horizon is None and read.all_classes is None


def with_limit(read: Read, request: GateRequest, listener: Listener) -> GateRequest:
    """The request with the audit's limit, where it has none: ends of bounds hold for every limit at once."""
    if request.max_distance is not None:
        return request
    if isinstance(read, CalibrationSketch):
        sample = read.sample
    elif request.weighted:
        sample, _ = read_draws(read.y_true, read.y_prob, _weighing(read, request), read.groups)
    else:
        sample = Rows.of(read.y_true, read.y_prob).sample
    limit = default_limit(*_rates(sample))
    listener.premise("max_distance", limit)
    listener.premise("default_limit", True)
    return replace(request, max_distance=limit)


def decided(
    read: Read, request: GateRequest, listener: Listener, shares: int = 1, classes_limit: float | None = None
) -> Check:
    """The check of rows that were read; "beyond" takes one of so many shares of the level.

    Single classes are held to `classes_limit`; without it each has its own.
    """
    from calibrant.gate.asides import asides  # with all that an audit advises by

    limit, level = request.max_distance, request.level
    assert limit is not None
    if isinstance(read, CalibrationSketch):
        _say_odd(read.sample, limit, listener)
        _say_weights(read.sample, listener)
        sums = read.sample, read.moments()
        most, moved = request.max_weight, read.displacement
        gate = gate_of_cells(*sums, max_distance=limit, level=level, max_weight=most, shares=shares)
        return _check(gate, asides(gate, read.sample, None, misplaced=moved, max_weight=most))
    single = _of_single(read, request)
    if not request.weighted:
        sample = Rows.of(read.y_true, read.y_prob).sample
        _say_odd(sample, limit, listener, single=single)
        gate = calibration_gate_on_sample(sample, max_distance=limit, level=level, shares=shares)
        beside = asides(
            gate, sample, None, classes=bool(read.classes), all_classes=read.all_classes, max_distance=classes_limit
        )
        return _check(gate, beside)
    weighing = _weighing(read, request)
    sample, units = read_draws(read.y_true, read.y_prob, weighing, read.groups)
    if request.horizon is None:
        for name, value in weighing.premises(sample, units).items():
            listener.premise(name, value)
    n_trials = None if weighing.trials is None else int(np.asarray(weighing.trials).sum())
    _say_odd(sample, limit, listener, single=single, n_trials=n_trials)
    gate = gate_from_ends(Ends.of(sample, level, units, shares=shares), limit, sample.n_rows, units.n_groups)
    gate = _followed(gate, read)
    rows = _rows(read, request)
    listener.premise("trials_vary", varies_together(rows))
    return _check(
        gate,
        asides(
            gate,
            sample,
            rows,
            classes=bool(read.classes),
            all_classes=read.all_classes,
            max_weight=request.max_weight,
            max_distance=classes_limit,
        ),
    )


def _check(gate: GateResult, beside: Asides) -> Check:
    return Check("all rows", "rows", gate, beside)


def _followed(proof: P, read: tables.Columns) -> P:
    """The proof in rows and groups as they come."""
    of = read.followed
    return proof if of is None else of_followed(proof, of.n_unknown, of.n_unknown_groups)


def _rows(read: tables.Columns, request: GateRequest) -> Rows:
    """The rows one by one, as tests take them."""
    weighing = _weighing(read, request)
    columns = weighing.sample_weight, weighing.trials, read.groups, False, weighing.sampling_fractions
    rows = Rows.of(read.y_true, read.y_prob, *columns)
    return rows if request.horizon is None else replace(rows, fractions=None)  # whatever values its weights have


def _weighing(read: tables.Columns, request: GateRequest) -> Weighing:
    """The weights of the rows, and what is known of them."""
    trials = None
    if request.trials is not None:  # bounds take more than tests do, which look at the same rows
        trials = read_trials(read.sample_weight, np.size(read.y_prob))
    weight = read.sample_weight if request.weighted and trials is None else None
    return Weighing(weight, trials, read.most_weight(request.max_weight), request.sampling_fractions)


def _say_odd(
    sample: Sample, limit: float, listener: Listener, *, single: bool = False, n_trials: int | None = None
) -> None:
    """Say so of labels, of a single outcome, and of a limit that lets a constant pass which predicts 0 or 1.

    Of `single` rows of one prediction each also whether they may have been chosen by their outcome.
    """
    if np.isin(sample.prediction, (0.0, 1.0)).all():
        listener.note(LABELS)
    happened = sample.weighted_outcome
    if not happened.any() or np.array_equal(happened, sample.weight):
        weighted = sample.weights_differ and sample.n_rows > 1 and n_trials is None
        number = sample.n_rows if n_trials is None else n_trials
        listener.note(one_outcome(number, events=bool(happened.any()), weighted=weighted))
    listener.premise("loose_limit", loose_limit_of(sample, limit))
    if single:
        listener.premise("perhaps_sampled", perhaps_sampled_of(sample))


def perhaps_sampled_of(sample: Sample) -> tuple[int, int] | None:
    """In how many of so many rows the event came, where rows may have been chosen by it."""
    return perhaps_sampled(sample, _rates(sample)[1])


def loose_limit_of(sample: Sample, limit: float) -> str | None:
    """That a limit is looser than an audit's, and that it lets a constant pass, where it does."""
    return loose_limit(*_rates(sample), limit)


def _rates(sample: Sample) -> tuple[float, float]:
    """Observed and predicted rate."""
    return float(sample.weighted_outcome.sum() / sample.weight.sum()), dot(sample.mass(), sample.prediction)


def _refuse_weights(table: tables.Table, request: GateRequest, class_columns: list[str] | None) -> None:
    try:
        y_prob = request.y_prob if class_columns is None else class_columns[0]
        names = table.choose(y_true=request.y_true, y_prob=y_prob).names
    except InputError as problem:
        if problem.argument != "sample_weight":
            return  # which reading the columns says, unless it does without their names
        reason = problem.problem
    else:
        if "sample_weight" not in names:
            return
        reason = f"column {names['sample_weight']!r} holds weights"
    raise InputError(
        "max_weight", f"{reason}, and the proof needs a bound on them", allowed=f"{say.BOUNDED}; {say.LEFT_OUT}"
    )


def _refuse_two_classes(columns: list[str] | None) -> None:
    if columns is not None and len(columns) == 2:
        raise InputError("y_prob", f"{say.TWO_CLASSES.format(*columns)} with --y-prob {columns[1]}")
