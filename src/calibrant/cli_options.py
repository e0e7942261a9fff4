"""What several commands take: shares, names with commas between, and what such options are told as."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import typer

from calibrant.door.lists import in_list

EXCLUDE_BAD = "Leave out rows with nulls, NaN, text or numbers out of range."
DISTINCT = "Count all rows as other ones, whatever they hold; the same file twice is refused all the same."
FILESYSTEM = "Where FILE lies: an address such as s3://bucket, or s3, gcs; by default on this machine."


def _share(text: str) -> float:
    """A number as an option takes it: 0.05 or 5%; a decimal comma is refused with the spelling."""
    said = str(text).strip()
    try:
        return float(Decimal(said[:-1].strip()) / 100) if said.endswith("%") else float(said)
    except (ValueError, ArithmeticError):
        if "," in said:
            raise typer.BadParameter(f"{said!r} has a comma; write {said.replace(',', '.')}") from None
        raise typer.BadParameter(f"{said!r} is not a number; write it like 0.05 or 5%") from None


SHARE: dict[str, Any] = {"parser": _share, "metavar": "SHARE"}
"""Of options that take a number from 0 to 1, or a percentage."""


def names(listed: str | None) -> tuple[str, ...]:
    """Columns that were listed."""
    return () if listed is None else in_list(listed)
