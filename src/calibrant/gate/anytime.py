"""The gate that may be watched: rows come in, and one stops at any time."""

from __future__ import annotations

__all__ = ["CalibrationGate"]

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import flag, positive, whole_from
from calibrant.door.columns import Column, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import CERTAIN, ENOUGH, Identity, remembered
from calibrant.door.output import alone_with, write_whole_bytes
from calibrant.door.overlap import Overlap, find_overlap
from calibrant.door.premises import Premises
from calibrant.door.request import Listener
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import counted
from calibrant.door.weights import SamplingFractions
from calibrant.gate import catalogue as say
from calibrant.gate.request import GateRequest, Provenance
from calibrant.gate.result import Check
from calibrant.gate.table import loose_limit_of, named_as_in_table, perhaps_sampled_of, read_opened
from calibrant.inference.bounds.draws import AnyDraws, CellDraws, Draws, Weighing, read_draws
from calibrant.inference.bounds.gate import AnytimeEnds, Bets, GateResult, OtherPopulationError, Won, check_gate
from calibrant.inference.bounds.one_event import Spread
from calibrant.sketch.bounds import draws_of_cells, sample_from_cells
from calibrant.sketch.sketch import UNSEALED, CalibrationSketch, is_whole, read_plain, sealed
from calibrant.tables import table as tables
from calibrant.tables.identities import NOTHING, Begun, Ordered, find_begun

_LAYOUT, _READ = 5, (2, 3, 4, 5)
_DIGEST = re.compile("[0-9a-f]{64}")
_NOTHING = Interval(0.0, 1.0)
_ONE = "say one of the two"
# Of which a state keeps the fingerprints.
_MOST_FILES = 4096


class CalibrationGate:
    """Decide whether the lower distance is within a limit while rows come in, and stop at any time.

    Parameters
    ----------
    max_distance : float
        The limit, in (0, 1).
    level : float, default 0.05
        A verdict is ever wrong with at most this probability, however often you look and whenever you stop.
    max_weight : float, optional
        For rows with weights: the most that one row can weigh, known before the first row was drawn.

    Raises
    ------
    InputError
        If an option cannot be used.

    See Also
    --------
    calibration_gate, CalibrationMonitor, CalibrationSketch

    Notes
    -----
    "Within" rests on capital that is put on bets fixed beforehand. It grows while the sample's lower distance stays
    below the limit. "Beyond" rests on the same bets on potentials learned from earlier rows. If a verdict is wrong,
    that capital is a supermartingale. It ever reaches 1 / level with probability at most level (docs/bounds.md). Ends
    once proved stay, so a verdict is never taken back. Rows must be independent draws from one population; where a
    batch ends may depend on earlier batches, not on its own outcomes. The order of rows in a batch does not matter.
    Rows with weights are bet on by their weight as a share of `max_weight`. For a sketch of such rows bounds on their
    squares are used. It keeps a sketch and seven sums: memory and state do not grow with the rows. Cost of each batch:
    its sort, and twice that of `lower_calibration_distance` on at most 131,073 cells, a tenth of a second or two.

    References
    ----------
    J. Ville, Étude critique de la notion de collectif, 1939. Fan, Grama and Liu, Exponential inequalities for
    martingales with applications, Electronic Journal of Probability 20, 2015. Waudby-Smith and Ramdas, Estimating
    means of bounded random variables by betting, Journal of the Royal Statistical Society B 86, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import CalibrationGate
    >>> gate, rng = CalibrationGate(max_distance=0.1), np.random.default_rng(0)
    >>> for batch in range(20):
    ...     y_prob = rng.random(100)
    ...     found = gate.update(rng.random(100) < y_prob, y_prob)
    ...     if found.verdict != "undecided":
    ...         break
    >>> found.verdict, found.n_rows
    ('within', 300)
    """

    def __init__(self, *, max_distance: float, level: float = 0.05, max_weight: float | None = None) -> None:
        self.level = check_gate(max_distance, level)
        self.max_distance = float(max_distance)
        self.max_weight = None if max_weight is None else positive(max_weight, "max_weight")
        self._seen = CalibrationSketch()
        self._won = Won()
        self._squared = 0.0  # sum of squared errors of all rows, each times its weight as a share of the most
        self._proved = _NOTHING
        self._n_batches = 0
        self._held: tuple[Identity, ...] = ()  # sources that were added
        self.files: tuple[str, ...] = ()  # fingerprints of their files
        self.provenance = Provenance()
        self._digests: tuple[str, ...] = ()  # of batches that were added with `once` before layout 3
        self._lock = threading.Lock()

    def update(
        self,
        y_true: Column,
        y_prob: Column,
        *,
        sample_weight: Column | None = None,
        once: bool = False,
        distinct: bool = False,
    ) -> GateResult:
        """Add a batch of rows, and say what is proved.

        Parameters
        ----------
        y_true : column of shape (n,)
            Outcomes, each 0 or 1.
        y_prob : column of shape (n,)
            Predicted probabilities, in [0, 1].
        sample_weight : column of shape (n,), optional
            Non-negative weights of the rows: of a gate with `max_weight`, which needs them.
        once : bool, default False
            Refuse rows that an earlier batch held also where so few may be equal by chance: for a job that may be run
            twice. Without it such batches are added, and only copies beyond chance are refused (docs/identity.md).
        distinct : bool, default False
            Say that these are other rows than any before, equal or not.

        Returns
        -------
        GateResult
            As `reading`.

        Raises
        ------
        InputError
            If a column cannot be used, or the rows were added before. If they and earlier rows cannot be of one
            population. The gate stays as it was.
        """
        if sample_weight is None and self.max_weight is not None:
            raise InputError("sample_weight", "is needed: this gate has a max_weight, so its rows have weights")
        if sample_weight is not None and self.max_weight is None:
            raise InputError("sample_weight", say.NO_MAX_WEIGHT)
        y, v, w = read_columns(y_true, y_prob, sample_weight, batch=True)
        rows = Ordered(y, v, w, None, "", (len(v),))
        known = self.begun(rows, certain=not once)
        if known.count and not distinct:
            raise _again("once", f"begin with the {counted(known.count, 'row')} of an earlier batch")
        return self.add(rows, once=once, distinct=distinct)

    @property
    def held(self) -> tuple[Identity, ...]:
        """Sources that were added and are remembered."""
        return self._held

    def begun(self, rows: Ordered, *, certain: bool = True, path: str | None = None, distinct: bool = False) -> Begun:
        """How many of the first rows were added before, as all that earlier sources hold, and by which of these."""
        return find_begun(rows, self._held, certain=certain, path=path, distinct=distinct)

    def add(
        self,
        rows: Ordered,
        *,
        after: Begun = NOTHING,
        once: bool = False,
        distinct: bool = False,
        origin: Origin | None = None,
    ) -> GateResult:
        """As `update`, of rows that follow the ones added before. The gate remembers all of them."""
        part = slice(after.count, None)
        y, v, w = rows.y[part], rows.v[part], None if rows.w is None else rows.w[part]
        if self.max_weight is None:
            checked = Rows.of(y, v)
            units = Draws.of_sample(checked.sample)
            join = lambda seen: seen.update(checked.y_true, checked.y_prob)  # noqa: E731
        else:
            _, units = read_draws(y, v, Weighing(w, max_weight=self.max_weight), batch=True)
            join = lambda seen: seen.update(units.y, units.v, sample_weight=units.w)  # noqa: E731
        ((_, whole),) = rows.named()
        digest = _digest(units.y, units.v, units.w, units.copies) if self._digests else ""
        return self._add(units, join, Batch((whole,), digest, after.sources, once, distinct, origin))

    def update_sketch(self, sketch: CalibrationSketch, *, once: bool = False, distinct: bool = False) -> GateResult:
        """Add a batch that is a sketch already: of the rows of one day, for example.

        Parameters
        ----------
        sketch : CalibrationSketch
            Of rows that were not added before, with the default resolution. If several rows of one cell and outcome
            differ in weight, the first batch is only used to learn what to bet on later ones.
        once, distinct : bool, default False
            As for `update`.

        Returns
        -------
        GateResult
            As `reading`.

        Raises
        ------
        InputError
            If it has no rows, outcomes other than 0 and 1, or another resolution. If it has weights where the gate has
            no `max_weight` or a smaller one. If it holds rows that were added before. The gate stays as it was.
        """
        return self.add_sketch(sketch, None, once=once, distinct=distinct)

    def add_sketch(
        self,
        sketch: CalibrationSketch,
        claims: tuple[Identity, ...] | None,
        *,
        after: Begun = NOTHING,
        once: bool = False,
        distinct: bool = False,
        origin: Origin | None = None,
    ) -> GateResult:
        """As `update_sketch`, of rows that are known by these identities."""
        batch = CalibrationSketch.sum_of([sketch])  # of one moment, should others add rows meanwhile
        digest = _digest(*batch.cells()) if self._digests else ""
        listener = Batch(claims or batch.claims(), digest, after.sources, once, distinct, origin)
        return self._add(self._draws(batch)[1], lambda seen: CalibrationSketch.sum_of([seen, batch]), listener)

    def _add(
        self, batch: AnyDraws, join: Callable[[CalibrationSketch], CalibrationSketch], listener: Batch
    ) -> GateResult:
        flag(listener.once, "once")
        flag(listener.distinct, "distinct")
        if listener.once and listener.distinct:
            raise InputError("distinct", "says that the rows are others, and once asks whether they are", allowed=_ONE)
        with self._lock:  # batches of several threads come one after the other
            identities = tuple(each for at, each in enumerate(self._held) if at not in listener.replaces)
            self._refuse_again(listener, identities)
            past, before = None, float(self._seen.n_rows)
            if self._seen.has_weight:
                past = self._draws(self._seen)[1].pooled
            won = self._won.after(past, batch, self._n_batches, before)
            sketch = join(CalibrationSketch.sum_of([self._seen]))  # a batch that is refused leaves the gate as it was
            squared = self._squared + batch.n_units * Spread.of(batch).squared
            result = self._result(sketch, won, squared)
            self._seen, self._won, self._squared, self._proved = sketch, won, squared, result.lower_distance
            self._n_batches += 1
            self._held = remembered((*identities, *listener.identities()))
            return result

    def _refuse_again(self, listener: Batch, identities: Sequence[Identity]) -> None:
        if listener.distinct:
            whole, path = listener.claims[0], listener.origin and listener.origin.path
            if path and any(each.path == path and each.equals(whole) for each in identities):
                raise _again("once", "were added before", Overlap("copy", len(identities), (0,), whole.count, CERTAIN))
            return
        if listener.digest in self._digests:
            raise _again("once", say.SAME_BATCH)
        # Where the first rows are known, what else begins as they do was settled when they came.
        claims = [replace(each, head=None) for each in listener.claims] if listener.replaces else listener.claims
        sources = [*([each] for each in identities), claims]
        overlap = find_overlap(sources, about=len(identities))
        if overlap is not None and (overlap.certain or listener.once):
            names = [*(f"earlier batch {at}" for at in range(1, len(identities) + 1)), "this batch"]
            raise _again("once", f"were added before: {overlap.sentence(names)}", overlap)

    def reading(self) -> GateResult:
        """Return what is proved so far: the verdict, both ends, and about how many rows would decide."""
        with self._lock:
            return self._result(self._seen, self._won, self._squared)

    def _result(self, sketch: CalibrationSketch, won: Won, squared: float) -> GateResult:
        if not sketch.has_weight:
            result = GateResult("undecided", self.max_distance, _NOTHING, self.level, sketch.n_rows, None, anytime=True)
            return self._with_premises(result)
        bets = Bets.against(self.max_distance)
        sample, units, moved = self._draws(sketch)
        spread = Spread.of(units).knowing(squared / units.n_units)
        ends = AnytimeEnds.of(sample, spread, moved, won, bets, self.level, self._proved)
        return self._with_premises(ends.result(self.max_distance))

    def _with_premises(self, bound: GateResult) -> GateResult:
        weighted = self.max_weight is not None
        return replace(bound, premises=replace(bound.premises, weighted=weighted, max_weight=self.max_weight))

    def _draws(self, sketch: CalibrationSketch) -> tuple[Sample, AnyDraws, float]:
        """Its rows as a sample and as draws, and how far its distance can be from theirs."""
        if self.max_weight is not None and sketch.n_rows and not sketch.has_weight:
            sample = sample_from_cells(*sketch.cells(), sketch.resolution)
            return sample, CellDraws.of_sample(sample, self.max_weight, 0.0), 0.0
        return draws_of_cells(sketch.sample, sketch.moments(), self.max_weight)

    def to_bytes(self) -> bytes:
        """Return all that `from_bytes` needs to go on another day, under a checksum."""
        with self._lock:
            state = {
                "layout": _LAYOUT,
                "seal": UNSEALED.decode(),
                "max_distance": self.max_distance,
                "level": self.level,
                "max_weight": self.max_weight,
                "n_batches": self._n_batches,
                "won": astuple(self._won),
                "squared": self._squared,
                "proved": [*self._proved],
                "added": self._digests,
                "held": [each.to_list() for each in self._held],
                "files": self.files,
                "provenance": self.provenance.to_dict(),
                "seen": base64.b64encode(self._seen.to_bytes()).decode(),
            }
        return sealed(json.dumps(state).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> CalibrationGate:
        """Go on from what `to_bytes` returned, to the last bit.

        Raises
        ------
        InputError
            If it is not such a state, one of another layout, or changed since.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError("data", f"is a {type(data).__name__}; bytes of `to_bytes` are needed")
        if not is_whole(bytes(data)):
            raise InputError("data", "is not the state of a CalibrationGate, or a part of one, or damaged")
        try:
            return cls._from_state(json.loads(bytes(data)))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as problem:
            raise InputError("data", f"is not the state of a CalibrationGate: {problem!s:.200}") from None

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> CalibrationGate:
        if state["layout"] not in _READ:
            reads = " and ".join(map(str, _READ))
            raise InputError("layout", f"is {state['layout']!r:.40}; this release of calibrant reads {reads}")
        gate = cls(max_distance=state["max_distance"], level=state["level"], max_weight=state["max_weight"])
        gate._n_batches = whole_from(state["n_batches"], "n_batches", 0)
        n, total, weight, squares, cross, squared_weight = map(float, state["won"])
        low, high = map(float, state["proved"])
        gate._won, gate._proved = Won(n, total, weight, squares, cross, squared_weight), Interval(low, high)
        gate._digests, gate.files = tuple(state["added"]), tuple(map(str, state.get("files", ())))
        gate._squared = float(state["squared"])
        gate._seen = CalibrationSketch.from_bytes(base64.b64decode(state["seen"], validate=True))
        read = state["provenance"] if state["layout"] > 3 else {"complete": not gate._n_batches}
        gate.provenance = Provenance.from_dict(read)
        if state["layout"] > 2:
            gate._held = tuple(map(Identity.from_list, state["held"]))
        elif gate._n_batches:
            gate._held = gate._seen.claims()[:1]  # all that is known of them
        gate._check()
        return gate

    def _check(self) -> None:
        """Raise where no batches lead here."""
        rows, n = self._seen.n_rows, self._won.n
        if not self._n_batches <= rows or bool(rows) != bool(self._n_batches) or not 0.0 <= n <= rows or n != n // 1:
            raise InputError("won", f"is of {n:g} rows, and there are {rows} in {self._n_batches} batches")
        if len(self._digests) > self._n_batches or not all(map(_DIGEST.fullmatch, self._digests)):
            raise InputError("added", "names batches that were not added")
        if not _possible(self._won, weighted=self.max_weight is not None):
            raise InputError("won", f"has sums that {n:g} rows cannot have")
        if self._seen.resolution != CalibrationSketch().resolution:
            raise InputError("seen", f"has the resolution {self._seen.resolution}")
        if not 0.0 <= self._proved.low <= self._proved.high <= 1.0:
            raise InputError("proved", "is no interval within [0, 1]")
        least = rows * Spread.of(self._draws(self._seen)[1]).least_squared if rows else 0.0
        if not 0.9 * least <= self._squared <= 1.1 * rows:
            raise InputError("squared", f"is a sum that {rows} rows cannot have")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, whole or not at all: an old file stays until the new one is complete."""
        data = self.to_bytes()
        write_whole_bytes(path, lambda file: file.write(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CalibrationGate:
        """Go on from a file that `save` wrote; raise FileError for anything else."""
        data = read_plain(path, "the state of a gate")
        try:
            return cls.from_bytes(data)
        except InputError as problem:
            raise FileError("path", f"{str(path)!r} {problem.problem}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the state; a copy has a lock of its own."""
        return CalibrationGate.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Limit, rows and ends in a line."""
        rows = f"{counted(self._seen.n_rows, 'row')} in {counted(self._n_batches, 'batch', 'batches')}"
        return f"CalibrationGate(max_distance={self.max_distance:g}, level={self.level:g}): {rows}"


def _possible(won: Won, *, weighted: bool) -> bool:
    """Whether its sums are those of so many rows: cells may count squares of weights twice, and widths add a little."""
    n, total, weight, squares, cross, squared_weight = astuple(won)
    possible = 0.0 <= weight <= 1.1 * n and abs(total) <= 1.1 * n and abs(cross) <= 1.1 * squared_weight
    possible &= weight * weight <= 1.1 * n * squared_weight and squared_weight <= 2.2 * n and 0.0 <= squares <= 2.2 * n
    return bool(possible and (weighted or weight == squared_weight == n))


class Origin(NamedTuple):
    """The fingerprint of the real path that rows come from, and how many bad ones were left out there."""

    path: str | None = None
    n_excluded: int = 0


class Batch(NamedTuple):
    """A batch: its identities, and the sources that it repeats whole beside new rows."""

    claims: tuple[Identity, ...]
    digest: str
    replaces: tuple[int, ...]
    once: bool
    distinct: bool
    origin: Origin | None = None

    def identities(self) -> tuple[Identity, ...]:
        """What is remembered of it: nothing of so few rows that nothing follows from them, unless it is asked for."""
        parts = self.claims[1:] or self.claims
        identities = [each for each in parts if self.once or self.distinct or each.bits >= ENOUGH]
        if identities and self.origin is not None:
            identities[0] = replace(
                identities[0],
                path=self.origin.path if len(identities) == 1 else None,
                n_excluded=self.origin.n_excluded,
            )
        return tuple(identities)


class AddedBeforeError(InputError):
    """Rows that a gate has already: `overlap` names their batches, where these can be distinguished."""

    overlap: Overlap | None = None


def _again(argument: str, problem: str, overlap: Overlap | None = None) -> InputError:
    raised = AddedBeforeError(argument, f"rows {problem}", allowed="distinct=True says that they are other rows")
    raised.overlap = overlap
    return raised


def _digest(*columns: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def gate_with(table: tables.Table, state: Path, request: GateRequest, listener: Listener) -> Check:
    """Add a table's rows to a state, alone with it, and say what all of them prove."""
    listener.stage("Waiting for the state")
    try:
        with alone_with(state):
            return _added(table, state, request, listener)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) if problem.argument == "path" else problem from None


def _check(gate: CalibrationGate, bound: GateResult) -> Check:
    """The check of all rows of a state; beside weights nothing is said, for a state keeps their sums alone."""
    if gate._seen.n_rows == 0 or gate.max_weight is not None:
        return Check("all rows", "rows", bound)
    from calibrant.gate.asides import asides  # with all that an audit advises by

    classes = tables.OF_CLASSES in gate.provenance.columns.get("y_prob", "")
    return Check("all rows", "rows", bound, asides(bound, gate._seen.sample, None, classes=classes))


def gate_so_far(state: Path, **options: float | None) -> tuple[Check, Premises]:
    """Gate the rows of a state, with none added; options that are given must be its own."""
    if not os.path.lexists(state):
        raise FileError("--anytime", f"{str(state)!r} does not exist; name a FILE to begin it with")
    try:
        gate = CalibrationGate.load(state)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None
    for name, value in options.items():
        if value is not None and value != getattr(gate, name):
            raise _other(name, state, value, getattr(gate, name))
    loose = None if gate._seen.n_rows == 0 else loose_limit_of(gate._seen.sample, gate.max_distance)
    premises = Premises(
        gate.level, gate.max_distance, max_weight=gate.max_weight, loose_limit=loose, anytime=True, **_of_all_rows(gate)
    )
    return _check(gate, gate.reading()), premises


def _of_all_rows(gate: CalibrationGate) -> dict[str, Any]:
    """Premises of all rows of a state, whichever day they came."""
    weighted, sample = gate.max_weight is not None, gate._seen.sample if gate._seen.n_rows else None
    fractions = SamplingFractions.of_sample(sample) if weighted and sample is not None else None
    return {
        **gate.provenance.to_dict(),
        "n_excluded": sum(each.n_excluded for each in gate.held),
        "weighted": weighted,
        "sampling_fractions": None if fractions is None else (fractions.without, fractions.events),
        "perhaps_sampled": _perhaps_sampled(gate),
        "refuse_fractions": ("--anytime",),
    }


def _perhaps_sampled(gate: CalibrationGate) -> tuple[int, int] | None:
    """As of one file's rows: of columns with an outcome and a prediction, not of classes nor of a log's answers."""
    prediction = gate.provenance.columns.get("y_prob", tables.OF_CLASSES)
    if gate._seen.n_rows == 0 or tables.OF_CLASSES in prediction:
        return None
    return perhaps_sampled_of(gate._seen.sample)


def _added(table: tables.Table, state: Path, request: GateRequest, listener: Listener) -> Check:
    gate = _kept(state, request)
    if gate.max_weight != request.max_weight:
        raise _other("max_weight", state, request.max_weight, gate.max_weight)
    if not gate._seen.n_rows and not table.compared:
        request.refuse("begun by one source")
    column = gate.provenance.columns.get("sample_weight")
    if column and request.sample_weight is None and table.has_rows:
        problem = say.READ_OTHERWISE.format(now="missing", state=str(state), was=f"column {column!r}")
        raise InputError("sample_weight", problem)
    entries: dict[str, Any] = {}
    read, names = read_opened(table, request, replace(listener, premise=entries.__setitem__))
    gate.provenance = _joined(gate.provenance, _provenance(table, names, request, entries), state)
    listener.stage("Bounds")
    adding = _Adding(
        gate, state, table, names, request, listener, Origin(table.path_print, entries.get("n_excluded", 0))
    )
    with named_as_in_table(table, names), adding.in_words():
        result = adding.sums(read) if isinstance(read, CalibrationSketch) else adding.rows(read)
    gate.files = tuple(dict.fromkeys([*gate.files, *table.file_prints.values()]))[-_MOST_FILES:]
    gate.save(state)
    of_file: dict[str, Any] = {
        name: entries[name] for name in ("not_looked_at", "searchable", "top_label", "hints") if name in entries
    }
    for name, value in {**of_file, **_of_all_rows(gate)}.items():
        listener.premise(name, value)
    listener.premise("loose_limit", loose_limit_of(gate._seen.sample, gate.max_distance))
    return _check(gate, result)


def _provenance(
    table: tables.Table, names: Mapping[str, str], request: GateRequest, entries: dict[str, Any]
) -> Provenance:
    """Provenance of the rows of one file."""
    label = None if request.pos_label is None else str(request.pos_label)
    perhaps, complete = entries.get("perhaps_groups"), table.has_rows
    distinct = request.distinct or table.of_distinct
    return Provenance(names, request.unweighted, request.exclude_bad, distinct, label, perhaps, complete)


def _joined(earlier: Provenance, later: Provenance, state: Path) -> Provenance:
    """How all rows were read; other columns or another label than those of the rows before are refused."""
    for argument, was, now in earlier.changes(later):
        raise InputError(argument, say.READ_OTHERWISE.format(now=now, state=str(state), was=was), allowed=say.NEW_STATE)
    return earlier.joined(later)


@dataclass(frozen=True, slots=True)
class _Adding:
    """A file whose rows are to be added to a state."""

    gate: CalibrationGate
    state: Path
    table: tables.Table
    names: dict[str, str]
    request: GateRequest
    listener: Listener
    origin: Origin

    @property
    def file(self) -> str:
        """Its name."""
        return self.table.name or "FILE"

    def rows(self, read: tables.Columns) -> GateResult:
        """Add rows, but those of a log that has grown which are there already."""
        weight = read.sample_weight if self.request.weighted else None
        rows = Ordered(*read_columns(read.y_true, read.y_prob, weight, batch=True), None, "", (len(read.y_true),))
        if not read.n_excluded:
            rows = replace(rows, **self.table.ids_in_order(self.names))
        distinct = self.request.distinct
        begun = self.gate.begun(rows, certain=False, path=self.origin.path, distinct=distinct)
        self._tell(begun, rows, len(rows.v))
        return self.gate.add(rows, after=begun, once=not distinct, distinct=distinct, origin=self.origin)

    def sums(self, read: CalibrationSketch) -> GateResult:
        """Add sums of rows, likewise."""
        rest, table, distinct = read, self.table, self.request.distinct
        bad = self.request.exclude_bad
        begun = table.begun(self.names, self.gate.held, read.n_rows, exclude_bad=bad, distinct=distinct)
        self._tell(begun, None, read.n_rows)
        if begun.count:
            start = begun.count + self.gate.held[begun.sources[0]].n_excluded
            rest = table.within(self.names, start, exclude_bad=bad)
        claims = table.claims(self.names, read)
        return self.gate.add_sketch(rest, claims, after=begun, once=not distinct, distinct=distinct, origin=self.origin)

    def _tell(self, begun: Begun, rows: Ordered | None, n_rows: int) -> None:
        """Tell how many rows are new; refuse rows without a new one, or that may begin as they do by chance."""
        state = repr(str(self.state))
        if not begun.count:
            again = next((file for file, each in self.table.file_prints.items() if each in self.gate.files), None)
            if again is not None:
                raise InputError("FILE", say.ADDED_FILE.format(file=again, state=state), allowed=say.OTHER_NAME)
            return
        first = self.gate.held[begun.sources[0]]
        same_path = first.path is not None and first.path == self.origin.path
        same = same_path or (rows is not None and rows.beginnings([first.count])[0].has_ids_of(first))
        if begun.count == n_rows:
            raise self._all_there(n_rows, certain=first.bits >= ENOUGH or same, same_path=same_path)
        if first.bits < ENOUGH and not same:
            problem = say.GROWN.format(file=self.file, rows=counted(first.count, "row"), state=state)
            ways = f"{say.ONLY_NEW}; if all {counted(n_rows, 'row')} are new: --distinct"
            raise InputError("FILE", f"{problem}; nothing was added", allowed=ways)
        self.listener.premise("n_before", begun.count)
        known, new = (counted(n, "row") for n in (begun.count, n_rows - begun.count))
        words = {"them": "it" if begun.count == 1 else "them", "are": "is" if n_rows - begun.count == 1 else "are"}
        self.listener.note(say.NEW_ROWS.format(file=self.file, rows=known, state=state, new=new, **words))

    def _all_there(self, n_rows: int, *, certain: bool, same_path: bool) -> InputError:
        message, ways = say.ALL_THERE if certain else say.COPY, say.OTHER_NAME if same_path else say.DISTINCT
        message = message.format(rows=counted(n_rows, "row"), file=self.file, state=repr(str(self.state)))
        return InputError("FILE", f"{message}; nothing was added", allowed=ways)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Say of rows that the state cannot take which file and which state it is."""
        state = repr(str(self.state))
        try:
            yield
        except AddedBeforeError as problem:
            if problem.overlap is not None and problem.overlap.how == "copy":
                n_rows, certain = problem.overlap.count, problem.overlap.certain
                raise self._all_there(n_rows, certain=certain, same_path=self.request.distinct) from None
            message, ways = f"{self.file} and {state}: {problem.problem}", say.DISTINCT
            if problem.overlap is not None and problem.overlap.how == "share" and problem.overlap.certain:
                message = f"about {counted(problem.overlap.count, 'row')} of {self.file} are already in {state}"
                ways = f"give only its new rows; {say.DISTINCT}"
            raise InputError("FILE", f"{message}; nothing was added", allowed=ways) from None
        except OtherPopulationError as problem:
            message = (
                f"{say.OTHER_POPULATION.format(file=self.file, state=state, ends=problem.ends)}. Nothing was added"
            )
            raise InputError("FILE", message, allowed=f"for a new release {say.NEW_STATE}") from None


def _kept(state: Path, request: GateRequest) -> CalibrationGate:
    """The gate whose state a file holds, or a new one where there is no file yet."""
    assert request.max_distance is not None
    if not os.path.lexists(state):
        return CalibrationGate(max_distance=request.max_distance, level=request.level, max_weight=request.max_weight)
    try:
        gate = CalibrationGate.load(state)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None
    for name in ("max_distance", "level"):
        if getattr(request, name) != getattr(gate, name):
            raise _other(name, state, getattr(request, name), getattr(gate, name))
    return gate


def _other(name: str, state: Path, value: float | None, before: float | None) -> InputError:
    now, begun = ("missing" if each is None else f"{each!r}" for each in (value, before))
    other = f"is {now}, and {str(state)!r} was begun {'without' if before is None else f'with {begun}'}"
    return InputError(name, other, allowed="limit, level and largest weight are fixed before the first row")
