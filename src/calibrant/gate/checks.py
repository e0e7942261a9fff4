"""The checks of a gate: all rows of a table, each segment of them, and whether they are worse than a baseline."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.coding import equalities
from calibrant.door.columns import IntArray, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity, identities
from calibrant.door.overlap import find_overlap
from calibrant.door.premises import LEAST_FOLLOWED, Premises, options_of
from calibrant.door.request import Listener
from calibrant.door.rows import Rows, read_fractions
from calibrant.door.values import counted
from calibrant.findings.decision import default_limit
from calibrant.findings.faults import refuse_own_columns, roles_of, said_of, say_of
from calibrant.findings.matching import Source, match_found, match_given, others_in_words
from calibrant.findings.parts import Size, in_population
from calibrant.findings.tables import is_harness_log, kinds_of
from calibrant.findings.word_catalogue import weightless
from calibrant.gate import catalogue as say
from calibrant.gate.anytime import gate_so_far, gate_with
from calibrant.gate.request import GateRequest
from calibrant.gate.result import Check, Gated
from calibrant.gate.table import (
    Read,
    decided,
    gate_opened,
    named_as_in_table,
    of_units,
    read_opened,
    refuse_weights_in,
    regret_opened,
    with_limit,
)
from calibrant.inference.bounds.draws import Weighing, read_draws
from calibrant.inference.bounds.gate import Ends, GateResult, gate_from_ends
from calibrant.inference.bounds.tally import of_followed
from calibrant.inference.comparison.items import IN_ORDER
from calibrant.inference.comparison.not_worse import MOST_RESAMPLED, NotWorse, Predictor, not_worse, same_rows
from calibrant.kernels import sketching
from calibrant.kernels.sums import dot
from calibrant.segments.gate_bounds import BoundedSegments, bounded_in_table
from calibrant.segments.request import EVERY, LEAST_LEVEL, Search, named
from calibrant.segments.search import taken_features
from calibrant.sketch.bounds import draws_of_cells, gate_of_cells, moments_from_cells, sample_from_cells
from calibrant.sketch.cells import NATIVE_ROUNDING, numbers_of, read_cells, rounding_of_plain_sums
from calibrant.sketch.groups import Groups
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.entry import open_table
from calibrant.tables.table import FINE, Table, take_as_distinct

# Of the search for segments: that of `calibrant audit`, so that both call the same ones off.
_SEED = 0


def check_opened(table: Table, request: GateRequest, listener: Listener) -> Gated:
    """Make every check that is asked for of a table that is open."""
    values: dict[str, Any] = {}
    groups, request = request.groups, of_units(table, request)
    checks = _checks(table, request, replace(listener, premise=values.__setitem__))
    if request.groups is None is not groups:
        values["columns"] = {**values.get("columns", {}), "groups": groups}
    if is_harness_log(table, request.y_true, request.y_prob):  # of right and wrong answers
        values["perhaps_sampled"] = None
    fractions = read_fractions(request.sampling_fractions)
    premises = Premises(
        request.level,
        max_distance=request.max_distance,
        max_regret=request.max_regret,
        threshold=request.threshold,
        grouped=request.groups is not None,
        weighted=request.sample_weight is not None,
        trials=request.trials is not None,
        sampling_fractions=None if fractions is None else (fractions.without, fractions.events),
        fractions_given=fractions is not None,
        max_weight=request.max_weight,
        unweighted=request.unweighted,
        pos_label=request.pos_label,
        exclude_bad=request.exclude_bad,
        anytime=request.anytime is not None,
        refuse_fractions=request.beside("sampling_fractions"),
        distinct=request.distinct or table.of_distinct,
        complete=table.has_rows,
        options=options_of(request),
    )
    return Gated(table.name or "table", checks, replace(premises, **values))


def _checks(table: Table, request: GateRequest, listener: Listener) -> tuple[Check, ...]:
    if request.max_regret is not None:
        return (Check("all rows", "rows", regret_opened(table, request, listener)),)
    if request.anytime is not None:
        return (gate_with(table, request.anytime, request, listener),)
    if not (request.by or request.baseline or request.find):
        return (gate_opened(table, request, listener),)
    return _with_shares(table, request, listener)


def _with_shares(table: Table, request: GateRequest, listener: Listener) -> tuple[Check, ...]:
    """Checks of all rows, of segments and beside a baseline, each at its share of the level."""
    table.require(request.by, "by")
    table.require(request.find if request.find != EVERY else (), "find")
    before = None
    if request.baseline is not None:
        with said_of(request.baseline, "baseline"):
            before = _baseline(table, request.baseline, request, listener)
    read, names = read_opened(table, request, listener)
    refuse_own_columns(names, by=request.by)
    if isinstance(read, CalibrationSketch):
        refuse_weights_in(read, "by" if request.by else "baseline")
        request.refuse(*request.single_rows)
    with named_as_in_table(table, names, read):
        classes_limit = request.max_distance
        request = with_limit(read, request, listener)
    listener.stage("Segments")
    segments, silent = segments_to_gate(table, names, request) if request.by else ([], {})
    shares = 1 + len(segments) + (before is not None) + bool(request.find)
    listener.stage("Bounds")
    with named_as_in_table(table, names, read):
        checks = [decided(read, request, listener, shares, classes_limit)]
        for name, decide in segments:
            checks.append(Check(name, "segment", decide(shares)))
        checks += [Check(name, "segment", _without_weight(request)) for name in silent]
    if silent:
        words = [f"{name} ({counted(n_rows, 'row')})" for name, n_rows in silent.items()]
        listener.premise("omissions", (weightless(words),))
    if request.find:
        listener.stage("Finding segments")
        checks.append(Check("found segments", "found", _found(table, names, request, shares)))
    if before is not None and request.baseline is not None:
        listener.stage("Baseline")
        now = _Compared(table, names, read, _side(read))
        checks.append(_beside_baseline(now, before, Path(request.baseline).name, request, listener, shares))
    return tuple(checks)


def _beside_baseline(
    now: _Compared, baseline: _Compared, name: str, request: GateRequest, listener: Listener, shares: int
) -> Check:
    """The check against the baseline of that name, at one of so many shares of the level."""
    side, same_items, matching = _matched(now, baseline, request, name)
    compared = _compared(now.side, side, name, request, shares, same_items=same_items)
    if compared.way == "proved" and request.items is not None:
        raise InputError("items", "has no effect: the proved ends of both errors are compared", allowed=say.NO_ITEMS)
    listener.premise("matching", None if compared.way == "proved" else matching)
    if compared.way == "two samples" and not (compared.same or request.distinct):
        _refuse_shared(now, baseline, name)
    listener.premise("baseline", name)
    listener.premise("max_worse", compared.max_worse)
    listener.premise("default_worse", compared.default_limit)
    return Check("baseline", "baseline", compared)


_SEGMENTED = "y_true", "y_prob", "sample_weight"


def _most(request: GateRequest) -> float | None:
    """The most that a row, or a group, of a segment can weigh."""
    if request.groups is not None:
        return request.max_weight
    if request.horizon is not None:
        return 1.0 / (LEAST_FOLLOWED if request.least_followed is None else request.least_followed)
    fractions = read_fractions(request.sampling_fractions)
    return request.max_weight if fractions is None else fractions.max_weight


def _found(table: Table, names: Mapping[str, str], request: GateRequest, shares: int) -> BoundedSegments:
    """What is proved of all segments that the columns of `find` make, at one of so many shares of the level."""
    limit = request.max_distance
    assert limit is not None
    columns = {argument: names[argument] for argument in (*_SEGMENTED, "groups") if argument in names}
    search = Search(
        max_depth=request.max_depth,
        level=max(request.level, LEAST_LEVEL),
        random_state=_SEED,
        features=named(request.find),
        exclude_bad=request.exclude_bad,
        sampling_fractions=request.sampling_fractions,
    )
    level, most = request.level, _most(request)
    with named_as_in_table(table, names):
        if request.horizon is not None:
            groups = {"groups": names["groups"]} if "groups" in names else {}
            features = taken_features(table, roles_of(names), search)
            population = in_population(table, names, request, [*features, *groups.values()], "find")
            assert population.followed is not None
            table, columns = population.followed, population.names | groups
            search = replace(search, features=features, followed=True)
        return bounded_in_table(table, columns, search, level=level, max_distance=limit, shares=shares, max_weight=most)


def check_state(state: Path, **options: float | None) -> Gated:
    """Gate the rows that were added to a state so far; options that are given must be those it was begun with."""
    check, premises = gate_so_far(state, **options)
    return Gated(state.name, (check,), premises)


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """What was read of a table, and what is compared of it."""

    table: Table
    names: Mapping[str, str]
    read: Read
    side: Predictor

    def claims(self) -> tuple[Identity, ...]:
        """Which rows it holds."""
        if isinstance(self.read, CalibrationSketch):
            return self.table.claims(self.names, self.read)
        ids = {} if self.read.n_excluded else self.table.ids_in_order(self.names)
        y, v, _ = read_columns(self.read.y_true, self.read.y_prob, None)
        return tuple(identities(y, v, **ids | {"numbered": ids.get("numbered", ())[:1]}))


def _refuse_shared(now: _Compared, baseline: _Compared, name: str) -> None:
    """Refuse a baseline that holds rows of FILE, predictions and all, where both are compared as independent rows."""
    overlap = find_overlap([now.claims(), baseline.claims()])
    if overlap is not None and overlap.others:
        problem = say.SHARED.format(name=name, rows=counted(overlap.count, "row"))
        raise InputError("baseline", problem, allowed=f"{say.OTHER_BASELINE}; --distinct says that they are other rows")


def _baseline(file: Table, path: str, request: GateRequest, listener: Listener) -> _Compared:
    """The baseline's rows, from columns of the same names, or its sketch."""
    table = open_table(path, pos_label=request.pos_label)
    _refuse_itself(file, table, path)
    of_classes = ["classes" in kinds_of(each, request.y_true, request.y_prob) for each in (file, table)]
    if of_classes[0] is not of_classes[1]:
        raise InputError("baseline", "one of it and FILE holds probabilities of classes, the other single predictions")
    if request.distinct:
        take_as_distinct([file, table], "FILE or baseline")
    alone = replace(request, by=(), find=(), max_worse=None, explicit=frozenset())
    if not table.has_rows:
        sketch, _ = table.sketched({})  # its columns were chosen when it was made
        refuse_weights_in(sketch, "baseline")
        if table.of_distinct:
            listener.premise("distinct", True)
        return _Compared(table, {}, sketch, _side(sketch))
    premises: dict[str, Any] = {"n_excluded": 0}
    own = Listener(listener.stage, say_of(path, listener.note), premises.__setitem__)
    read, names = read_opened(table, alone, own)
    with named_as_in_table(table, names):
        side = _side(read)
    listener.premise("n_excluded_baseline", premises["n_excluded"])
    listener.premise("n_rows_baseline", side.sample.n_rows + premises["n_excluded"])
    return _Compared(table, names, read, side)


def _side(read: Read) -> Predictor:
    """Predictor to compare, of rows that were read or summed."""
    if not isinstance(read, CalibrationSketch):
        rows = Rows.of(read.y_true, read.y_prob)
        return Predictor(rows.sample, rows=rows)
    sample, _, _ = draws_of_cells(read.sample, read.moments(), None)
    moved = read.error_bound("smooth_calibration_error")
    if sample.n_rows > MOST_RESAMPLED:
        return Predictor(sample, moved)
    zeros = (sample.count - sample.ones).astype(np.int64)
    copies = np.column_stack([zeros, sample.ones.astype(np.int64)]).ravel()
    outcome = np.repeat(np.tile([0, 1], sample.n_distinct), copies)
    return Predictor(sample, moved, Rows(outcome, np.repeat(np.repeat(sample.prediction, 2), copies)))


def _refuse_itself(table: Table, baseline: Table, path: str) -> None:
    """Refuse a baseline with a file that is gated: it is never worse than itself."""
    now, before = (
        {(each.st_dev, each.st_ino) for each in map(os.stat, filter(os.path.exists, held.sources))}
        for held in (table, baseline)
    )
    if now & before:
        raise FileError("baseline", say.ITSELF.format(path=path), allowed="name the last release's file")


def _very_same(now: Predictor, before: Predictor) -> bool:
    one, other = now.sample, before.sample
    columns = ((one.prediction, other.prediction), (one.count, other.count), (one.ones, other.ones))
    return all(np.array_equal(*pair) for pair in columns)


def _matched(
    now: _Compared, baseline: _Compared, request: GateRequest, name: str
) -> tuple[Predictor, bool, str | None]:
    """The baseline with its rows in the order of FILE's items, if both are of the same, and how they were matched."""
    (one, other), names, items = (now.side.rows, baseline.side.rows), ("FILE", name), request.items
    if one is None or other is None or max(one.y_prob.size, other.y_prob.size) > MOST_RESAMPLED:
        return baseline.side, False, None
    sizes, bad = (one.y_prob.size, other.y_prob.size), request.exclude_bad
    sources = Source(now.table, "FILE", now.names, bad), Source(baseline.table, name, baseline.names, bad)
    match = None
    if items is not None:
        match = match_given(sources, sizes, items)
        if match.repeated:
            raise InputError(
                "items",
                f"have several rows of one {items}, which may depend on one another; a baseline takes independent ones",
                allowed=f"calibrant audit FILE {name} --items {items} compares them by groups",
            )
        if items == IN_ORDER and same_rows(one, other):
            raise InputError("items", "have no effect: outcomes are the same, row by row")
    elif not request.distinct:
        try:
            match = match_found(sources, sizes, "baseline", same_rows=same_rows(one, other))
        except InputError as problem:
            raise InputError("baseline", problem.problem, allowed=f"{problem.allowed}; {say.ALL_OTHERS}") from None
    if match is None:
        logs = any(each.is_log for each in sources)
        return baseline.side, False, None if request.distinct else others_in_words(name, logs=logs)
    if match.how == IN_ORDER and not match.by_user:  # nothing to turn
        return baseline.side, False, match.sentence(names)
    rows = other.take(match.others[0].place)
    return Predictor(rows.sample, rows=rows), True, match.sentence(names)


def _compared(
    now: Predictor, before: Predictor, name: str, request: GateRequest, shares: int, *, same_items: bool = False
) -> NotWorse:
    limit = request.max_worse
    if limit is None:  # what an audit takes to be too small to matter
        mean = dot(now.sample.mass(), now.sample.prediction)
        limit = default_limit(min(1.0, max(0.0, mean + float(now.sample.residual().sum()))), mean)
    comparison = not_worse(
        now,
        before,
        baseline=name,
        max_worse=limit,
        default_limit=request.max_worse is None,
        level=request.level,
        shares=shares,
        same_items=same_items,
    )
    return replace(comparison, same=_very_same(now, before))


# More are no segments that a person named, and would leave each next to nothing of the level.
MOST_SEGMENTS = 10_000

# The gate of one segment, where "beyond" takes one of so many shares of the level.
Decide = Callable[[int], GateResult]


def segments_to_gate(
    table: Table, names: Mapping[str, str], request: GateRequest
) -> tuple[list[tuple[str, Decide]], dict[str, int]]:
    """Name of each segment and its gate, in the order of its values, and the rows of those that have no weight."""
    columns = {argument: names[argument] for argument in _SEGMENTED if argument in names}
    if request.weighted:
        return _of_rows(table, columns if request.horizon is None else names, request)
    groups = table.groups(columns, request.by, FINE, exclude_bad=request.exclude_bad)
    return [
        (name, partial(_gate_of_cells, replace(groups, index=groups.index[rows], cells=groups.cells[rows]), request))
        for name, rows in _parted(groups.keys, groups.index, request.by)
    ], {}


def _of_rows(
    table: Table, names: Mapping[str, str], request: GateRequest
) -> tuple[list[tuple[str, Decide]], dict[str, int]]:
    sizes: dict[str, Size] = {}
    if request.horizon is not None:
        population = in_population(table, names, request, _keys(request), "by")
        table, names = population.table, population.names
        sizes = population.sizes(request.by, request.groups)
    read = table.with_features(names, request.by, "by", exclude_bad=request.exclude_bad, groups=request.groups)
    if request.exclude_bad and read.group is not None:
        read = read.kept(read.group >= 0)
    columns = {argument: np.asarray(each) for argument, each in read.arrays.items()}
    columns |= {} if read.group is None else {"groups": read.group}
    weight = columns.get("sample_weight", np.ones(columns["y_true"].size))
    parts = dict(_parted(read.keys_in_a_frame(), np.zeros(weight.size, np.int64), request.by))
    for name in sizes.keys() - parts.keys():
        problem = f"{name}: no outcome of its {counted(sizes[name].n_rows, 'row')} is known by the horizon"
        raise InputError("by", problem, allowed="take an earlier horizon, or leave these rows out of the file")
    silent = {name: rows.size for name, rows in parts.items() if not weight[rows].any()}
    return [
        (
            name,
            partial(
                _gate_of_rows, {argument: each[rows] for argument, each in columns.items()}, request, sizes.get(name)
            ),
        )
        for name, rows in parts.items()
        if name not in silent
    ], silent


def _without_weight(request: GateRequest) -> GateResult:
    """Of a segment whose rows have no weight: they are no evidence, so its distance may be any, and none is proved."""
    assert request.max_distance is not None
    n_groups = None if request.groups is None else 0
    return GateResult(
        "undecided", request.max_distance, Interval(0.0, 1.0), request.level, 0, rows_needed=None, n_groups=n_groups
    )


def _keys(request: GateRequest) -> list[str]:
    """Columns of segments, and of groups."""
    return [*request.by, *([] if request.groups is None else [request.groups])]


def _parted(keys: Any, within: IntArray, by: tuple[str, ...]) -> list[tuple[str, IntArray]]:
    """Name of each segment and where it lies, in the order `within`, of keys as a frame."""
    of = numbers_of(keys)
    order = np.lexsort((within, of))
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    if starts.size > MOST_SEGMENTS:
        raise InputError("by", f"makes {starts.size:,} segments", allowed=f"at most {MOST_SEGMENTS:,} are gated")
    values = keys[order[starts].tolist()].rows()
    parts = sorted(zip(values, np.split(order, starts[1:]), strict=True), key=lambda each: _in_order(each[0]))
    return [(equalities(by, key), rows) for key, rows in parts]


def _in_order(values: tuple[Any, ...]) -> list[Any]:
    """Values of one kind in their own order, what is missing last."""
    return [(value is None, "" if value is None else value) for value in values]


def _gate_of_cells(groups: Groups, request: GateRequest, shares: int) -> GateResult:
    limit = request.max_distance
    assert limit is not None
    index, cells = read_cells(groups.index, groups.cells, FINE)
    rounding = rounding_of_plain_sums(float(cells[:, sketching.COUNT].max())) + NATIVE_ROUNDING
    sums = sample_from_cells(index, cells, FINE), moments_from_cells(index, cells, FINE, rounding)
    return gate_of_cells(*sums, max_distance=limit, level=request.level, shares=shares)


def _gate_of_rows(columns: Mapping[str, Any], request: GateRequest, size: Size | None, shares: int) -> GateResult:
    """Of rows in the segment; the part of a group weighs at most what a whole group may weigh."""
    assert request.max_distance is not None
    most = request.max_weight if request.horizon is None else _most(request)
    weighing = Weighing(columns.get("sample_weight"), columns.get("trials"), most, request.sampling_fractions)
    sample, units = read_draws(columns["y_true"], columns["y_prob"], weighing, columns.get("groups"))
    ends = Ends.of(sample, request.level, units, shares=shares)
    gate = gate_from_ends(ends, request.max_distance, sample.n_rows, units.n_groups)
    if size is None:
        return gate
    return of_followed(gate, size.n_rows - gate.n_rows, (size.n_groups or 0) - (gate.n_groups or 0))
