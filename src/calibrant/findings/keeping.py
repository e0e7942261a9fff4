"""Sketches of a table's rows, written: its columns are found by name, as for an audit."""

from __future__ import annotations

import os

from calibrant.door.errors import InputError
from calibrant.findings.table import Asked, Told, say_excluded, say_guessed
from calibrant.findings.table_faults import refuse_own_columns
from calibrant.scale.keeping import Written, check_place, write_rows
from calibrant.scale.kept import KeptSketches
from calibrant.scale.tables import Table


def keep_rows(
    table: Table, path: str | os.PathLike[str], asked: Asked, told: Told, *, overwrite: bool = False
) -> Written:
    """Write the sketch of a table's rows, or one for each combination of the columns that are asked for.

    Raises
    ------
    InputError
        If a column cannot be used or rows are bad. FileError if the place cannot be written to.
    """
    check_place(path, asked.by, overwrite)
    if isinstance(table, KeptSketches):
        raise InputError("FILE", "holds sketches already", allowed="calibrant merge adds them up")
    classes = table.choose_classes(asked.y_prob)
    if classes is not None:
        raise InputError("y_prob", "names columns of classes, and a sketch is of one; name one column as y_prob")
    told.progress("Reading")
    table.require(asked.by, "by")
    chosen = table.choose(**asked.columns)
    refuse_own_columns(chosen.names, by=asked.by)
    say_guessed(chosen.names, chosen.guessed, told.say)
    written = write_rows(table, path, names=chosen.names, by=asked.by, exclude_bad=asked.exclude_bad)
    say_excluded(written.n_excluded, told)
    return written
