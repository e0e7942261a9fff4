"""Several forecasts of one table's outcomes, each in a column, audited and compared row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from calibrant.door.arguments import seeded, text
from calibrant.door.errors import InputError, Ways
from calibrant.findings.comparison import Comparison, compare, refuse_idle_seed
from calibrant.findings.table import Asked, Told, audit_opened
from calibrant.scale.tables import Table

MOST = 8
"""Forecasts, or files, that are set side by side."""
_WAYS = Ways("give a list of two names to eight, or one as text", "say --y-prob NAME once for each")


def check_forecasts(names: Sequence[str]) -> tuple[str, ...]:
    """Names of two forecasts or more, each of one column, as `audit_table` takes them.

    Raises
    ------
    InputError
        If they are fewer or too many, or one stands twice or for several columns.
    """
    if isinstance(names, bytes) or not isinstance(names, Sequence):
        raise InputError("y_prob", f"is {names!r:.40}", allowed=_WAYS)
    found = tuple(names)
    for name in found:
        text("" if name is None else name, "y_prob")
        if "," in name or "*" in name:
            said = f"{name!r} stands for columns of classes; forecasts that are compared are columns of one probability"
            raise InputError("y_prob", said)
    if not 2 <= len(found) <= MOST or len(set(found)) < len(found):
        what = "names a column twice" if len(set(found)) < len(found) else f"names {len(found)}"
        raise InputError("y_prob", what, allowed=_WAYS)
    return found


def audit_forecasts(table: Table, names: Sequence[str], asked: Asked, told: Told) -> Comparison:
    """Audit each forecast, and compare them as files that hold the same rows are compared.

    Raises
    ------
    InputError
        As `audit_table`, if a column cannot be used or rows are bad.
    """
    forecasts = check_forecasts(names)
    table.require(forecasts, "y_prob")
    rng, seed = seeded(asked.random_state)
    shared = int(rng.integers(2**31)) if seed is None else seed
    asked = replace(asked, random_state=shared)
    given = None if asked.given is None else asked.given - {"random_state"}  # the comparison draws by it
    audited = []
    for name in forecasts:
        title = f"{name} of {asked.title or table.name}" if asked.title or table.name else name
        told_of = replace(told, say=partial(_say_of, name, told.say))
        one = replace(asked, y_prob=name, title=title, given=given)
        done = audit_opened(table, one, told_of, last=name == forecasts[-1])
        rest = tuple(each for each in done.audit.not_looked_at if each not in forecasts)
        audited.append(replace(done, audit=replace(done.audit, not_looked_at=rest)))
    told.progress("Comparison")
    audits, rows = [each.audit for each in audited], [each.rows for each in audited]
    groups = [each.groups for each in audited]
    found = compare(forecasts, audits, rows, groups=groups, level=asked.level, seed=shared)
    refuse_idle_seed(found, asked.given)
    return found


def _say_of(name: str, say: Callable[[str], None], said: str) -> None:
    say(f"{name}: {said}")
