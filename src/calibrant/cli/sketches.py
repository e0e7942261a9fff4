"""The commands that write sketches: of rows, and of sketches that were kept; they parse, call and print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli.options import names, takes
from calibrant.cli.terminal import check_target, writing
from calibrant.door.request import Listener, Request
from calibrant.exits import explained, show, tell
from calibrant.progress import Progress

_OUT = typer.Option("--out", "-o", help="File to write, ending in .sketch or .parquet.")
_OVERWRITE = typer.Option("--overwrite", help="Replace OUT if it exists.")


@takes(Request)
def sketch(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet, JSON lines, Arrow; a folder; a pattern.")],
    out: Annotated[Path, _OUT],
    overwrite: Annotated[bool, _OVERWRITE] = False,
    *,
    options: Mapping[str, Any],
) -> None:
    """Write the calibration sketch of FILE's rows: a few megabytes that audit, gate and merge take instead of the rows.

    With --by OUT is Parquet with a row for each day, segment, ...: its columns, n_rows, and sketch, the sketch's bytes.

    For example: calibrant sketch 'logs/day=2026-01-31/*.parquet' --y-true clicked --y-prob score -o 2026-01-31.sketch
    """
    with explained(), Progress() as progress:
        from calibrant.findings.tables import keep_rows
        from calibrant.tables.entry import open_table

        request = Request.from_command(options)
        table = open_table(
            file,
            filesystem=request.filesystem,
            pos_label=request.pos_label,
            distinct=request.distinct,
            argument="FILE",
        )
        check_target(out, "--out", table.sources)
        with writing("--out"):
            result = keep_rows(table, out, request, Listener(progress, tell), overwrite=overwrite)
        progress.stop()
        show(result.summary(out))


def merge(
    files: Annotated[
        list[str],
        typer.Argument(metavar="SKETCH ...", help="Files that `calibrant sketch` or `merge` wrote; a pattern."),
    ],
    out: Annotated[Path, _OUT],
    by: Annotated[
        str | None, typer.Option(help="Columns, separated by commas: add up the sketches of each of their values.")
    ] = None,
    overwrite: Annotated[bool, _OVERWRITE] = False,
    distinct: Annotated[bool, typer.Option("--distinct", help=Request.options()["distinct"].help)] = False,
) -> None:
    """Add up sketches into one, or with --by into one for each day, segment, ...

    Nothing is written unless every sketch is whole and can be added to the others. A sketch that is there twice, or
    that holds what another holds or the sum of others, is refused: its rows would count twice.

    For example: calibrant merge 'days/*.sketch' -o month.sketch
    """
    with explained(), Progress() as progress:
        from calibrant.tables.sketches import open_sketches
        from calibrant.tables.writer import keep_merged

        inputs = [open_sketches(file) for file in files]
        check_target(out, "--out", [each for sketches in inputs for each in sketches.files])
        progress("Adding up")
        with writing("--out"):
            result = keep_merged(inputs, out, by=names(by), overwrite=overwrite, distinct=distinct)
        progress.stop()
        if result.unlisted:
            first, more = result.unlisted[0], len(result.unlisted) - 1
            also = f", as were {more:,} others" if more else ""
            tell(
                f"{first} was written without the list of what it holds{also}: "
                "rows that it shares with others are seen only where all their sums are equal."
            )
        show(result.summary(out))
