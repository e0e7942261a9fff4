"""Monitoring without end: evidence against calibrated forecasts that may be looked at after every batch."""

from __future__ import annotations

__all__ = ["CalibrationMonitor", "MonitorReading"]

import hashlib
import json
import math
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.arguments import check_level, flag
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.ends import at_least, at_most
from calibrant.door.errors import InputError
from calibrant.door.identity import ENOUGH, Identity, beginnings, identities, identity_of_sample, remembered
from calibrant.door.overlap import find_overlap
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import FloatOrNull, Result, counted
from calibrant.inference.testing import group_evidence as evidence
from calibrant.inference.testing.result import LEAST
from calibrant.kernels import sketching

_SHIFTS = (0.03, 0.1, 0.3, 1.0)  # of log-odds, up and down; the two smaller ones everywhere only
_SLOPES = (0.5, 0.7, 0.85, 1.2, 1.5, 2.0)
_PARTS = (2, 4, 8)  # equal parts of [0, 1] that may err alone
_CHUNK = 65_536  # rows at a time, to bound memory
_SCHEMA, _READ = 4, (2, 3, 4)
_MOST_A_ROW = 745.2  # log of what one row can multiply the evidence by: 1 / the least forecast that is not 0


@dataclass(frozen=True, slots=True, repr=False)
class MonitorReading(Result):
    """The state of knowledge of a `CalibrationMonitor` after its latest batch.

    Attributes
    ----------
    evalue : float
        Evidence so far: the value of a bet against calibration that began with 1. Infinite, in JSON null,
        if a prediction of 0 or 1 was contradicted.
    pvalue : float
        1 / the largest evidence after any batch; valid whenever you look.
    reject : bool
        Whether the evidence has ever reached 1 / level.
    level : float
        Largest probability that calibrated forecasts are ever rejected.
    n_rows, n_batches : int
        Rows and batches seen.
    alternative : str
        In words, the departure from calibration with the most evidence.

    See Also
    --------
    CalibrationMonitor
    """

    evalue: FloatOrNull
    pvalue: float
    reject: bool
    level: float
    n_rows: int
    n_batches: int
    alternative: str

    def summary(self) -> str:
        """One sentence."""
        verdict = "miscalibrated" if self.reject else "no miscalibration proved"
        best = f"; {self.alternative} fits best" if self.evalue > 1.0 else ""
        size = f"{counted(self.n_rows, 'row')} in {counted(self.n_batches, 'batch', 'batches')}"
        return (
            f"{verdict} after {size}: evidence {at_least(self.evalue, 3)}, "
            f"{1.0 / self.level:g} is needed (anytime-valid p = {at_most(self.pvalue, 2)}){best}"
        )


class CalibrationMonitor:
    """Watch forecasts as outcomes arrive, with a bounded probability of ever raising a false alarm.

    Parameters
    ----------
    level : float, default 0.05
        Largest probability that calibrated forecasts are ever rejected, however long and often you look.

    Raises
    ------
    InputError
        If the level is not strictly between 0 and 1.

    See Also
    --------
    MonitorReading, calibration_gate, calibration_drift

    Notes
    -----
    There are 70 departures from calibration. Most are shifts of the log-odds by 0.3 or 1 either way, in one of 2, 4 or
    8 equal parts of [0, 1]. Others are shifts everywhere (by 0.03 or 0.1 as well), and slopes of 0.5 to 2. Suppose that
    each outcome is 1 with the probability forecast, given all that came before. Then the likelihood ratio of the
    outcomes under a departure against the forecasts is a martingale that begins at 1. Capital 1 / (t (t + 1)) is put on
    all departures equally as batch t begins. So a late departure is found as well. The evidence is the value of the
    bets plus the capital not yet bet. By Ville's inequality it ever reaches 1 / level with probability at most level.
    The forecasts may depend on past outcomes in any way. The rows' order within a batch does not matter. Where a batch
    ends must not be chosen by looking at its outcomes. Batches are known by fingerprints of their rows. One that is
    added again is refused, unless so few rows may be equal by chance (docs/identity.md). Up to 4,096 are remembered one
    by one, and memory does not grow otherwise. Cost: 1.4 microseconds per row.

    References
    ----------
    J. Ville, Étude critique de la notion de collectif, 1939. Henzi and Ziegel, Valid sequential inference on
    probability forecast performance, Biometrika 109, 2022. Shin, Ramdas and Rinaldo, E-detectors, NEJSDS 2, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import CalibrationMonitor
    >>> monitor, rng = CalibrationMonitor(), np.random.default_rng(0)
    >>> for day in range(30):
    ...     y_prob = rng.random(100)
    ...     y_true = rng.random(100) < (y_prob if day < 10 else y_prob**2)
    ...     reading = monitor.update(y_true, y_prob)
    ...     if reading.reject:
    ...         break
    >>> day
    11
    """

    def __init__(self, level: float = 0.05) -> None:
        self.level = check_level(level)
        self._logs = np.full(len(_NAMES), -math.inf)  # log worth of the bets on each departure
        self._largest = 0.0
        self._n_rows = self._n_batches = self._contradicted = 0
        self._held: tuple[Identity, ...] = ()  # batches that were added
        self._lock = threading.Lock()

    def update(self, y_true: Column, y_prob: Column, *, distinct: bool = False) -> MonitorReading:
        """Add a batch of outcomes to the forecasts that were made for them, and read.

        Parameters
        ----------
        y_true : column of shape (n,)
            Outcomes, each 0 or 1.
        y_prob : column of shape (n,)
            The forecasts, in [0, 1], made before the outcomes were known.
        distinct : bool, default False
            Say that these are other rows than any before, even if they are equal.

        Returns
        -------
        MonitorReading
            As `reading`.

        Raises
        ------
        InputError
            If a column cannot be used, or rows were added before, beyond chance; the monitor stays as it was.
        """
        flag(distinct, "distinct")
        rows = Rows.of(y_true, y_prob)
        y, v = (np.asarray(each, dtype=np.float64) for each in (rows.y_true, rows.y_prob))
        with self._lock:  # batches of several threads come one after the other
            if not distinct:
                counts = sorted({each.count for each in self._held if each.count < v.size})
                begun = beginnings(y, v, None, counts)
                if any(each.equals(known) for each in begun for known in self._held):
                    raise _again("begin with the rows of an earlier batch")
            return self._add(rows.sample, None, identities(y, v)[0], distinct)

    def update_sample(self, sample: Sample, *, resolution: int | None = None, distinct: bool = False) -> MonitorReading:
        """Add a batch that is pooled already: by distinct predictions, or into a sketch's cells of 1 / resolution.

        Parameters
        ----------
        sample : Sample
            The batch.
        resolution : int, optional
            That of a sketch's cells.
        distinct : bool, default False
            As for `update`.

        Raises
        ------
        InputError
            If outcomes are rates, weights differ, or cells are wider than is said. If an earlier batch held these rows,
            beyond chance. The monitor stays as it was.

        Notes
        -----
        Within a cell -log(1 + v (e^h - 1)) is convex in the forecast v. So its mean over the rows is no less than its
        value at their mean. Evidence from cells is at most that from the rows, and as valid. A slope counts with its
        value at the middle of each cell.
        """
        flag(distinct, "distinct")
        with self._lock:
            return self._add(sample, resolution, None if distinct else identity_of_sample(sample), distinct)

    def _add(self, sample: Sample, resolution: int | None, identity: Identity | None, distinct: bool) -> MonitorReading:
        """Add a batch, with the lock."""
        if not sample.binary or (sample.weight != sample.count).any():
            raise InputError("sample", "has weights or event rates; the monitor counts single outcomes, each 0 or 1")
        widest = 0.0 if resolution is None else 1.0 / resolution
        if sample.cell_width.max() > widest or widest > 1.0 / _PARTS[-1]:
            raise InputError(
                "resolution", f"is {resolution}; cells must be no wider than that, nor than 1/{_PARTS[-1]}"
            )
        gained, contradicted = _bets(sample, resolution)
        if identity is not None and not distinct:
            overlap = find_overlap([*([each] for each in self._held), [identity]], about=len(self._held))
            if overlap is not None and overlap.certain:
                names = [*(f"batch {at}" for at in range(1, len(self._held) + 1)), "this one"]
                raise _again(f"were added before: {overlap.sentence(names)}")
        t = self._n_batches + 1
        self._logs = np.logaddexp(self._logs, -math.log(t * (t + 1))) + gained
        self._contradicted += contradicted
        self._n_rows += sample.n_rows
        self._n_batches = t
        self._largest = max(self._largest, self._log_evalue())
        if identity is not None and identity.bits >= ENOUGH:
            self._held = remembered((*self._held, identity))
        return self._reading()

    def reading(self) -> MonitorReading:
        """Return the evidence so far."""
        with self._lock:
            return self._reading()

    def _reading(self) -> MonitorReading:
        now = self._log_evalue()
        return MonitorReading(
            evalue=_exp(now),
            pvalue=max(LEAST, math.exp(-self._largest)),
            reject=self._largest >= -math.log(self.level),
            level=self.level,
            n_rows=self._n_rows,
            n_batches=self._n_batches,
            alternative=_in_words(_NAMES[int(np.argmax(self._logs))]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all that `from_dict` needs to go on another day, as plain numbers under a checksum."""
        with self._lock:
            state = {
                "schema": _SCHEMA,
                "level": self.level,
                "logs": dict(
                    zip(_NAMES, self._logs.tolist() if self._n_batches else [None] * len(_NAMES), strict=True)
                ),
                "largest": None if math.isinf(self._largest) else self._largest,
                "n_rows": self._n_rows,
                "n_batches": self._n_batches,
                "contradicted": self._contradicted,
                "held": [each.to_list() for each in self._held],
            }
        return {**state, "checksum": _checksum(state)}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> CalibrationMonitor:
        """Go on from what `to_dict` returned, to the last bit.

        Raises
        ------
        InputError
            If it is not such a state, one of another version, changed since, or one that no batches lead to.
        """
        logs = _logs_of(state)
        monitor = cls(state["level"]) if "level" in state else cls()
        if set(state) != {*monitor.to_dict()} - ({"held"} if state["schema"] == 2 else set()):
            raise InputError(
                "state", f"has the keys {sorted(map(str, state))}; it needs those of to_dict and no others"
            )
        counts = [_count(state, name) for name in ("n_rows", "n_batches", "contradicted")]
        monitor._n_rows, monitor._n_batches, monitor._contradicted = counts
        if monitor._n_batches:
            monitor._logs = np.array([_number(x, f"logs, {name!r},") for name, x in logs.items()])
        elif any(x is not None for x in logs.values()):
            raise InputError("state", "has bets, but no batches")
        monitor._largest = math.inf if state["largest"] is None else _number(state["largest"], "largest")
        if state["checksum"] != _checksum(state):
            raise InputError("state", "was changed since to_dict returned it: its checksum differs")
        try:
            monitor._held = tuple(map(Identity.from_list, state.get("held", [])))
        except (ValueError, TypeError) as problem:
            raise InputError("state", f"lists batches that are none: {problem!s:.200}") from None
        monitor._check()
        return monitor

    def _check(self) -> None:
        """Raise where no batches lead here."""
        rows, batches, contradicted, largest = self._n_rows, self._n_batches, self._contradicted, self._largest
        if not batches <= rows or bool(rows) != bool(batches) or contradicted > rows:
            raise InputError("state", f"has {rows} rows, {batches} batches and {contradicted} contradictions")
        if math.isinf(largest) != bool(contradicted) or not self._log_evalue() <= largest:
            raise InputError("state", "has a largest evidence that cannot come from its bets and contradictions")
        if not (contradicted or 0.0 <= largest <= rows * _MOST_A_ROW):
            raise InputError("state", f"has a largest evidence that cannot come from {rows} rows")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the state; a copy has a lock of its own."""
        return CalibrationMonitor.from_dict, (self.to_dict(),)

    def _log_evalue(self) -> float:
        if self._contradicted:
            return math.inf
        reserve = -math.log(self._n_batches + 1.0)  # capital not yet put on anything
        return float(np.logaddexp(reserve, np.logaddexp.reduce(self._logs) - math.log(self._logs.size)))


def _logs_of(state: Any) -> dict[str, Any]:
    """The bets of a state, if it is one of a version that is read."""
    if not isinstance(state, dict) or "schema" not in state:
        raise InputError("state", "is not what CalibrationMonitor.to_dict returns")
    logs = state.get("logs")
    if state["schema"] not in _READ or not isinstance(logs, dict) or tuple(logs) != _NAMES:
        raise InputError("state", "was written by another version of CalibrationMonitor")
    return logs


def _bets(sample: Sample, resolution: int | None) -> tuple[FloatArray, int]:
    """Log gain of each bet on a batch, and the number of its outcomes that were forecast impossible."""
    gained, contradicted = np.zeros(len(_NAMES)), 0
    for start in range(0, sample.n_distinct, _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = (sample.prediction, sample.count, sample.ones, sample.cell_width)
        v, count, ones, width = (column[part] for column in columns)
        contradicted += int(ones[v == 0.0].sum() + (count - ones)[v == 1.0].sum())
        middle = v if resolution is None else (np.floor(v * resolution) + 0.5) / resolution
        tilt = _tilts(np.where(width > 0.0, middle, v))
        gained += (tilt * ones - count * np.log1p(v * np.expm1(tilt))).sum(axis=1)
    return gained, contradicted


def _checksum(state: dict[str, Any]) -> str:
    """Checksum of the numbers, however they are written: 1 and 1.0 are one number to JSON."""
    numbers = [state["level"], *state["logs"].values(), state["largest"]]
    texts = [str(int(state[name])) for name in ("schema", "n_rows", "n_batches", "contradicted")]
    texts += ["" if x is None else float(x).hex() for x in numbers]
    texts += [json.dumps(each) for each in state.get("held", [])]
    return "sha256:" + hashlib.sha256(" ".join(texts).encode()).hexdigest()


def _again(problem: str) -> InputError:
    return InputError("y_prob", f"rows {problem}", allowed="distinct=True says that they are other rows")


def _number(x: Any, name: str) -> float:
    if isinstance(x, bool) or not isinstance(x, int | float) or not abs(x) <= sys.float_info.max:
        raise InputError("state", f"{name} is {x!r:.40}; a finite number is needed")
    return float(x)


def _count(state: dict[str, Any], name: str) -> int:
    x = state[name]
    if isinstance(x, bool) or not isinstance(x, int | float) or x != x // 1 or not 0 <= x <= 2**53:
        raise InputError("state", f"{name} is {x!r:.40}; a count from 0 to 2**53 is needed")
    return int(x)


def _names() -> list[str]:
    """Departures in words, in the order of `_tilts`."""
    names = [f"forecasts' log-odds {1.0 / b:.3g} times what they should be" for b in _SLOPES]
    for parts in (1, *_PARTS):
        for shift in _SHIFTS[2:] if parts > 1 else _SHIFTS:
            for part in range(parts):
                where = "" if parts == 1 else f" between {part / parts:g} and {(part + 1) / parts:g}"
                names += [f"forecasts{where} too {way} by {shift:g} in log-odds" for way in ("low", "high")]
    return names


def _in_words(name: str) -> str:
    """A departure without its size: of those that are tried, the one with most evidence is often not the nearest."""
    if name.startswith("forecasts' log-odds"):
        return "forecasts too confident" if float(name.split()[2]) > 1.0 else "forecasts not confident enough"
    return name.partition(" by ")[0]


def _tilts(v: FloatArray) -> FloatArray:
    """By how much each departure moves the log-odds of each forecast; forecasts of 0 and 1 cannot be moved."""
    inside = (v > 0.0) & (v < 1.0)
    safe = np.where(inside, v, 0.5)
    odds = np.log(safe) - np.log1p(-safe)
    rows = [(b - 1.0) * odds for b in _SLOPES]
    for parts in (1, *_PARTS):
        at = np.minimum((v * parts).astype(np.int64), parts - 1)
        for shift in _SHIFTS[2:] if parts > 1 else _SHIFTS:
            for part in range(parts):
                here = np.where(inside & (at == part), shift, 0.0)
                rows += [here, -here]
    return np.array(rows)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf


_NAMES = tuple(_names())


_LONGER = 4  # times the stretch before


class _Stretch:
    """Sums of each group in each interval of predictions, over the periods since it was begun."""

    def __init__(self, n_groups: int) -> None:
        self._columns = [np.zeros(n_groups * evidence.N_INTERVALS) for _ in range(4)]
        self._variance = np.zeros(evidence.N_INTERVALS)

    def add(self, at: IntArray, columns: list[FloatArray], variance: FloatArray) -> None:
        """Add a period's sums, at places that are each named once."""
        for mine, column in zip(self._columns, columns, strict=True):
            mine[at] += column
        self._variance += variance

    def logs(self) -> tuple[float, int, float]:
        """Log of the e-value, the interval that adds most to it, and on which side."""
        excess, low, high, events = (column.reshape(-1, evidence.N_INTERVALS) for column in self._columns)
        squares = np.einsum("gk,gk->k", excess, excess)
        sides = evidence.log_evalues(excess.sum(axis=0), squares, low.max(axis=0), high.max(axis=0), self._variance)
        many = evidence.enough(events, low + high - events)
        for side, signed in zip(sides, evidence.with_signs(sides, excess, many), strict=True):
            side[many] = signed
        log, interval, sign = evidence.mixed(sides)
        return float(log), int(interval), float(sign)


class GroupMonitor:
    """As `CalibrationMonitor`, of cells that hold rows of one group each.

    An e-value of each period's end, t = 1, 2, ..., counts 1 / (t (t + 1)): their sum never falls, and its mean is at
    most 1 at the end of all time, however periods depend on one another, so that by Markov's inequality it ever
    reaches 1 / level with probability at most the level. The e-value is the mean of those of the stretches that end
    there: this period, each 4, 16, ... periods from the first on, and all of them.
    """

    def __init__(self, n_groups: int, level: float) -> None:
        self._level, self._n_groups = check_level(level), n_groups
        self._since_start = _Stretch(n_groups)
        self._stretches: dict[int, _Stretch] = {}
        self._next = 1
        self._log, self._n_rows, self._n_batches = -math.inf, 0, 0
        self._best, self._alternative = -math.inf, ""

    def update(self, index: IntArray, cells: FloatArray, group: IntArray, resolution: int) -> MonitorReading:
        """Add the cells of the next period, and read."""
        self._n_batches += 1
        self._n_rows += int(cells[:, sketching.COUNT].sum())
        t = self._n_batches
        sums = self._sums(index, cells, group, resolution)
        ended = []
        for length, stretch in list(self._stretches.items()):
            stretch.add(*sums)
            if t % length == 0:
                ended.append(stretch.logs())
                self._stretches[length] = _Stretch(self._n_groups)
        self._since_start.add(*sums)
        ended.append(self._since_start.logs())
        if t == self._next:  # the first so long is all so far
            self._stretches[t] = _Stretch(self._n_groups)
            self._next *= _LONGER
        for log, interval, sign in ended:
            if log > self._best:
                self._best, self._alternative = log, _group_words(interval, sign)
        impossible = evidence.contradicted(index, cells, resolution)
        log = np.logaddexp.reduce([each for each, _, _ in ended]) - math.log(len(ended) * t * (t + 1.0))
        if impossible.any():
            log = math.inf
            self._best, self._alternative = math.inf, "forecasts of exactly 0 or 1 that were wrong"
        self._log = float(np.logaddexp(self._log, log))
        return self._reading()

    def _sums(
        self, index: IntArray, cells: FloatArray, group: IntArray, resolution: int
    ) -> tuple[IntArray, list[FloatArray], FloatArray]:
        excess, expected, variance = evidence.sums_of_cells(index, cells, resolution)
        missing = cells[:, sketching.WEIGHT] - expected
        intervals = evidence.intervals_of(index, resolution)
        place = (group * evidence.N_INTERVALS + intervals).ravel()
        at, number = np.unique(place, return_inverse=True)
        many = len(intervals)
        columns = (excess, expected, missing, cells[:, sketching.OUTCOME])
        spread = np.bincount(intervals.ravel(), np.tile(variance, many), evidence.N_INTERVALS).astype(np.float64)
        sums = [np.bincount(number, np.tile(each, many), at.size).astype(np.float64) for each in columns]
        return at, sums, spread

    def _reading(self) -> MonitorReading:
        return MonitorReading(
            evalue=_exp(self._log),
            pvalue=max(LEAST, math.exp(-max(self._log, 0.0))),
            reject=self._log >= -math.log(self._level),
            level=self._level,
            n_rows=self._n_rows,
            n_batches=self._n_batches,
            alternative=self._alternative,
        )


def _group_words(interval: int, sign: float) -> str:
    low, high = evidence.bounds_of(interval)
    where = "" if (low, high) == (0.0, 1.0) else f" between {low:g} and {high:g}"
    return f"forecasts{where} too {'low' if sign > 0.0 else 'high'}"
