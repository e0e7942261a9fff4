"""Verdict of a gate of a table: its checks, of all rows, of segments and against a baseline, and the worst."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from calibrant.door.ends import Interval, confidence, in_points
from calibrant.door.premises import Premises
from calibrant.door.values import Result, counted
from calibrant.gate import catalogue as say
from calibrant.inference.bounds.gate import VERDICTS, GateResult, Verdict, asked, ends_in_points
from calibrant.inference.bounds.regret import RegretBounds
from calibrant.inference.bounds.tally import Proof, Tally, needs, rounded_rows
from calibrant.inference.comparison.not_worse import NotWorse
from calibrant.segments.gate_bounds import BoundedSegments

Said = Verdict | Literal["none beyond"]
_WORST_FIRST: tuple[Said, ...] = ("beyond", "undecided", "none beyond", "within")
_VERBS: dict[Said, tuple[str, str]] = {
    "beyond": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
    "within": ("passes", "pass"),
}
# Checks that a person is shown; JSON and JUnit's XML have all.
_MOST_SHOWN = 20


class Asides(NamedTuple):
    """Sentences beside a verdict: where predictions err, what a small error may cost, and what to do about it."""

    where: str = ""
    warning: str = ""
    action: str = ""


NOTHING = Asides()


@dataclass(frozen=True, slots=True, repr=False)
class Check(Result):
    """One check of a gate.

    Attributes
    ----------
    name : str
        What it is of, in words.
    kind : {"rows", "segment", "baseline", "found"}
        All rows, those of one segment, against a baseline, or of all segments that features make.
    result : GateResult, RegretBounds, NotWorse or BoundedSegments
        What is proved.
    asides : Asides
        Sentences beside it; of all rows alone.
    """

    name: str
    kind: Literal["rows", "segment", "baseline", "found"]
    result: GateResult | RegretBounds | NotWorse | BoundedSegments
    asides: Asides = NOTHING

    @property
    def verdict(self) -> Said:
        """Verdict of the check; "none beyond" where no found segment is proved beyond or, called off, left open."""
        assert self.result.verdict is not None  # bounds of regret have one where a limit was asked about
        return self.result.verdict

    @property
    def proved(self) -> str:
        """Proved ends, in a few words: of a distance the end that decides, or both."""
        if isinstance(self.result, NotWorse):
            return f"smooth error less the baseline's: {self.result.cell()}"
        if isinstance(self.result, RegretBounds | BoundedSegments):
            return self.sentence
        return ends_in_points(self.result)

    @property
    def sentence(self) -> str:
        """Proved, and where predictions err that fail, without the premises that all checks share."""
        proved = self.result.sentence if isinstance(self.result, Proof) else self.result.summary()
        return f"{proved} {self.asides.where}".rstrip()

    @property
    def needs(self) -> str:
        """The rows or groups that would decide; empty where it is decided, or where the proof says so itself."""
        if self.verdict != "undecided" or not isinstance(self.result, GateResult):
            return ""
        return needs(self.result.tally)

    @property
    def number(self) -> int:
        """Rows that it rests on, or groups where some are known."""
        return self.result.tally.number if isinstance(self.result, Proof) else self.result.n_rows

    def summary(self) -> str:
        """One line."""
        return f"{self.name}: {self.sentence}"

    def line(self) -> str:
        """One line among others, under words that say what all are of."""
        if not isinstance(self.result, GateResult):
            return self.summary()
        proved = f"{self.proved} ({self.result.tally.summary()}){self.needs}"
        where = f". {self.asides.where}" if self.asides.where else ""
        return f"{self.name}: {said(self.verdict)}, {proved}{where}"

    def to_dict(self) -> dict[str, Any]:
        """Return name, kind and result as plain values."""
        values = self.result.to_dict()
        values.pop("premises", None)  # those of the gate are of all checks
        return {"name": self.name, "kind": self.kind, "sentence": self.sentence, **values}


@dataclass(frozen=True, slots=True, repr=False)
class Gated(Result):
    """The checks of a gate; the first is of all rows."""

    _parts = "checks"
    title: str  # what was gated
    # all of them. Each "within" is wrong with probability at most the level, which is enough for all together to be:
    # one check that should not have passed must have. Among them "beyond" shares the level, so that each of those that
    # are named is beyond, except with that probability.
    checks: tuple[Check, ...]
    premises: Premises  # what they take as given, and did not look at

    @property
    def rows(self) -> GateResult | RegretBounds:
        """Result for all rows."""
        result = self.checks[0].result
        assert not isinstance(result, NotWorse | BoundedSegments)
        return result

    @property
    def verdict(self) -> Verdict:
        """The worst of all checks: beyond, undecided, within. Of found segments "none beyond" is enough."""
        verdicts = [check.verdict for check in self.checks if check.verdict != "none beyond"]
        return min(verdicts, key=_WORST_FIRST.index)

    @property
    def rows_needed(self) -> int | None:
        """About how many rows in all would decide every check; None where all are decided, or no number would."""
        needed = []
        for check in self.checks:
            if check.verdict == "undecided":
                if check.result.rows_needed is None:
                    return None
                # Of a segment, so many rows of the table that it has its share of them: of rows as they come.
                here = check.result.n_rows + getattr(check.result, "n_unknown", 0)
                share = here / (self.rows.n_rows + self.rows.n_unknown)
                needed.append(math.ceil(check.result.rows_needed / share))
        return max(needed, default=None)

    @property
    def groups_needed(self) -> int | None:
        """As many groups as have these rows; None where rows are drawn."""
        if self.rows.n_groups is None or self.rows_needed is None:
            return None
        return math.ceil(self.rows_needed * self.rows.n_groups / (self.rows.n_rows + self.rows.n_unknown))

    @property
    def tally(self) -> Tally:
        """The tally that all checks rest on, and how much of it would decide every one."""
        return replace(self.rows.tally, needed=self.rows_needed if self.groups_needed is None else self.groups_needed)

    @property
    def headline(self) -> str:
        """The verdict, and how many checks there are of each."""
        if len(self.checks) == 1:
            return self.checks[0].sentence
        sentence = f"{said(self.verdict)}: of {counted(len(self.checks), 'check')} {_are(self.checks)}"
        tally = self.tally
        if self.verdict != "undecided" or tally.needed is None or not tally.practical:
            return sentence
        more = f"{rounded_rows(tally.needed - tally.number):,} more {tally.units}{tally.as_they_come()}"
        return f"{sentence}; about {more} would decide them"

    @property
    def warning(self) -> str:
        """That it passes and a small error costs much all the same, or may; empty where that is not so."""
        warning = self.checks[0].asides.warning
        return f"Warning: {warning}" if warning and self.verdict == "within" else ""

    @property
    def action(self) -> str:
        """What to do, which follows from the verdict."""
        if self.warning:
            return f"Do: {self.checks[0].asides.action}"
        if self.verdict == "within":
            return say.USE
        if self.verdict == "beyond":
            return say.CORRECT
        more = "more rows" if self.rows.n_groups is None else "rows of more groups"
        return say.COLLECT.format(more=more)

    @property
    def what(self) -> str:
        """What the checks of distance are of, in a sentence; empty where there is none among several."""
        result = self.rows
        if len(self.checks) == 1 or not isinstance(result, GateResult):
            return ""
        limit = in_points(asked(result.max_distance))
        distances = say.DISTANCES.format(limit=limit, sure=confidence(result.level))
        if not any("at least" in check.proved for check in self.checks if isinstance(check.result, GateResult)):
            return f"{distances}:"
        return distances + say.IN_ALL.format(n=len(self.checks))

    def shown(self) -> tuple[list[Check], str]:
        """The checks that a person is shown, beyond first and within last, and in words how many are left out."""
        worst_first = sorted(self.checks, key=_by_verdict)
        named = [check for check in worst_first if check.kind != "segment"]  # asked for by name
        segments = [check for check in worst_first if check.kind == "segment"]
        rest = segments[_MOST_SHOWN - len(named) :]
        shown = [*named, *segments[: _MOST_SHOWN - len(named)]]
        more = say.REST.format(n=len(rest), counts=_counts(rest)) if rest else ""
        return sorted(shown, key=worst_first.index), more

    def summary(self) -> str:
        """The verdict, a line for each of several checks, beyond first and within last, and the premises."""
        lines = [self.headline, *([self.warning] if self.warning else []), self.action]
        if len(self.checks) > 1:
            checks, rest = self.shown()
            lines += [self.what, *(f"  {check.line()}" for check in checks), *([f"  {rest}"] if rest else [])]
        return "\n".join([*lines, self.premises.summary()])

    def to_dict(self) -> dict[str, Any]:
        """Return the gate of all rows, the verdict and the rows needed being those of all checks, and the checks."""
        return {
            **self.rows.to_dict(),
            "headline": self.headline,
            "warning": self.warning,
            "action": self.action,
            "verdict": self.verdict,
            "rows_needed": self.rows_needed,
            "groups_needed": self.groups_needed,
            "checks": [check.to_dict() for check in self.checks],
            "premises": self.premises.to_dict(),
        }


def said(verdict: Said) -> str:
    """What a person reads of a check."""
    return verdict if verdict == "none beyond" else VERDICTS[verdict]


def _by_verdict(check: Check) -> tuple[float, ...]:
    """Beyond first and within last; of those alike the one that is proved farthest, then that may be."""
    ends = check.result.lower_distance if isinstance(check.result, GateResult) else Interval(0.0, 0.0)
    return _WORST_FIRST.index(check.verdict), -ends.low, -ends.high


def _are(checks: Sequence[Check]) -> str:
    """Numbers of checks by verdict, in a clause; a clause of its own says that no found segment is beyond."""
    count = Counter(check.verdict for check in checks)
    parts = ", ".join(
        f"{count[verdict]:,} {_VERBS[verdict][count[verdict] > 1]}"
        for verdict in _WORST_FIRST
        if count[verdict] and verdict != "none beyond"
    )
    return f"{parts}{say.NO_SEGMENT_BEYOND}" if count["none beyond"] else parts


def _counts(checks: Sequence[Check]) -> str:
    count = Counter(check.verdict for check in checks)
    return ", ".join(f"{count[verdict]:,} {said(verdict)}" for verdict in _WORST_FIRST if count[verdict])
