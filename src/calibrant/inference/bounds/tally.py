"""The rows or groups that a proof rests on, in the unit that a reader collects, and how many would decide."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from calibrant.door.premises import Claim
from calibrant.door.values import counted, known_rows

_MILLION, _MANY_GROUPS, _TIMES = 1_000_000, 10_000, 10


class Proof(Claim):
    """Base of claims that rest on a number of rows, or of groups, and say how many would decide."""

    __slots__ = ()
    n_rows: int
    rows_needed: int | None
    n_groups: int | None
    groups_needed: int | None
    n_unknown: int

    @property
    def tally(self) -> Tally:
        """The tally that it rests on, and how much of it would decide."""
        if self.n_groups is not None:
            return Tally(self.n_groups, self.groups_needed, self.n_rows, "group", self.n_unknown)
        known = self.n_rows if self.n_unknown else None
        return Tally(self.n_rows + self.n_unknown, self.rows_needed, known)


P = TypeVar("P", bound=Proof)


def of_followed(proof: P, n_unknown: int, n_unknown_groups: int = 0) -> P:
    """The proof beside so many rows, and groups of these alone, whose outcomes are not known.

    A reader collects rows and groups as they come.
    """
    rows = _as_they_come(proof.rows_needed, proof.n_rows, n_unknown)
    numbers: dict[str, Any] = {"n_unknown": n_unknown, "rows_needed": rows}
    if proof.n_groups is not None:
        numbers["groups_needed"] = _as_they_come(proof.groups_needed, proof.n_groups, n_unknown_groups)
        numbers["n_groups"] = proof.n_groups + n_unknown_groups
    return replace(proof, **numbers)  # type: ignore[type-var]  # each proof is a dataclass


def _as_they_come(needed: int | None, n_known: int, n_unknown: int) -> int | None:
    return None if needed is None else math.ceil(needed * (n_known + n_unknown) / n_known)


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows or groups that a result rests on, in the unit that a reader collects, and how many would decide."""

    number: int
    needed: int | None = None
    n_rows: int | None = None  # of groups, or of rows as they come those whose outcome is known
    unit: Literal["row", "group"] = "row"
    n_unknown: int = 0  # rows of groups whose outcome is not known

    def summary(self) -> str:
        """Its numbers: of rows, of groups and their rows, or of rows and those whose outcome is known."""
        if self.n_rows is None:
            return counted(self.number, self.unit)
        if self.unit == "group":
            return f"{counted(self.number, 'group')}, {known_rows(self.n_rows, self.n_unknown)}"
        return known_rows(self.n_rows, self.number - self.n_rows)

    @property
    def units(self) -> str:
        """The word for what to collect more of."""
        return "rows" if self.unit == "row" else "groups"

    def as_they_come(self, *also: str) -> str:
        """The share of the rows to collect that is known, where some are not, and the rest of that parenthesis."""
        known = self.n_rows is not None and self.unit == "row"
        share = [f"{100.0 * (self.n_rows or 0) / self.number:.0f}% of them known"] if known else []
        inside = ", ".join([*share, *also])
        return f"{' as these come' if known else ''}{f' ({inside})' if inside else ''}"

    @property
    def practical(self) -> bool:
        """Whether so many in all are worth a number."""
        return practical(self.needed, self.number, self.unit)


def needs(tally: Tally) -> str:
    """The clause, behind a proof, with the rows or groups that would decide."""
    if not tally.number:
        return "; it rests on no row"
    if not tally.needed:
        return f"; it may be right at the limit, where no number of {tally.units} decides"
    return f"; {rows_to_decide(tally)}"


def practical(needed: int | None, number: int, unit: str = "row") -> bool:
    """Whether so many in all are worth a number: a million more rows, 10,000 groups, or ten times those there are."""
    many = _MILLION if unit == "row" else _MANY_GROUPS
    return needed is not None and needed - number <= max(many, _TIMES * number)


def rows_to_decide(tally: Tally, place: str = "") -> str:
    """Say how many more rows, or groups, would decide."""
    if tally.needed is None or not tally.practical:
        return f"only more {tally.units} than is practical (over ten times as many) would decide{place}"
    more = f"about {rounded_rows(tally.needed - tally.number):,} more {tally.units}{tally.as_they_come()}{place}"
    return f"{more} would decide, if the error stays as it is here"


def rounded_rows(rows: int) -> int:
    """A number of rows in two digits, rounded up: it is an estimate."""
    step: int = 10 ** max(0, len(str(rows)) - 2)
    return -(-rows // step) * step
