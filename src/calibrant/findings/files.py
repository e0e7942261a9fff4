"""From files to an audit: read whole or sketched, one column or classes, with segments and drift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.classes import multiclass_sample
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.findings.auditing import audit_classes, audit_sample
from calibrant.findings.found import Audit
from calibrant.findings.sketched import with_bounds
from calibrant.inference.gate import GateDecision, calibration_gate, check_gate
from calibrant.scale.class_files import class_columns, read_classes_file
from calibrant.scale.files import FileColumns, read_file
from calibrant.scale.harness import is_harness_log, read_harness_log
from calibrant.scale.large import file_drift, is_large, sketch_file, weights_refused
from calibrant.segments.files import file_by_segment

if TYPE_CHECKING:
    import numpy.typing as npt

ROLES = {"y_true": "outcomes", "y_prob": "predictions", "sample_weight": "weights"}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """What is asked of a file; columns that are None are guessed by their names."""

    y_true: str | None = None
    y_prob: str | None = None
    sample_weight: str | None = None
    level: float = 0.05
    n_resamples: int = 1000
    seed: int | None = None
    by: tuple[str, ...] = ()
    drift: str | None = None
    exclude_bad: bool = False
    unweighted: bool = False

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """Columns that rows are grouped by after they are audited as a whole."""
        return (*self.by, *([self.drift] if self.drift else []))


@dataclass(frozen=True, slots=True, eq=False)
class AuditedFile:
    """An audit, and the rows it is of where they were read whole and are single, unweighted predictions."""

    name: str
    audit: Audit
    rows: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None


def audit_of_file(
    path: str, options: FileOptions, progress: Callable[[str], None], say: Callable[[str], None]
) -> AuditedFile:
    """Audit a file or pattern; `say` is told which columns were guessed and what was left out.

    Raises
    ------
    FileError, InputError
        If the file, a column or an option cannot be used.
    """
    progress("Reading")
    harness = options.y_true is None and options.y_prob is None and is_harness_log(path)
    classes = None if harness else class_columns(path, options.y_prob)
    if classes is not None:
        if options.by or options.drift or options.exclude_bad:
            asked = "by" if options.by else "drift" if options.drift else "exclude_bad"
            raise InputError(asked, "is for single predictions; name one column with --y-prob")
        return AuditedFile(Path(path).name, _audit_of_classes(path, classes, options, progress, say), None)
    if harness and (options.by or options.drift or options.exclude_bad or options.sample_weight):
        raise InputError("file", "is a log of lm-evaluation-harness, which has no columns for such options")
    if harness or not (options.exclude_bad or is_large(path)):
        read = read_harness_log(path) if harness else _read(path, options)
        audit, names, rows = _audit_of_rows(path, read, options, progress, say)
    else:
        audit, names = _audit_of_sketch(path, options, progress, say)
        rows = None
    if options.by:
        progress("Segments")
        segments = file_by_segment(
            path,
            options.by,
            y_true=names["y_true"],
            y_prob=names["y_prob"],
            sample_weight=names.get("sample_weight"),
            unweighted="sample_weight" not in names,
            level=options.level,
            exclude_bad=options.exclude_bad,
        )
        audit = replace(audit, segments=tuple(segments), segmented_by=options.by)
    if options.drift:
        progress("Drift")
        periods = file_drift(
            path,
            options.drift,
            y_true=names["y_true"],
            y_prob=names["y_prob"],
            unweighted=True,
            level=options.level,
            exclude_bad=options.exclude_bad,
        )
        audit = replace(audit, periods=tuple(periods))
    return AuditedFile(Path(path).name, audit, rows)


def _read(path: str, options: FileOptions) -> FileColumns:
    return read_file(
        path,
        y_true=options.y_true,
        y_prob=options.y_prob,
        sample_weight=options.sample_weight,
        unweighted=options.unweighted,
        grouped_by=options.grouped_by,
    )


def _audit_of_rows(
    path: str,
    read: FileColumns,
    options: FileOptions,
    progress: Callable[[str], None],
    say: Callable[[str], None],
) -> tuple[Audit, dict[str, str], tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None]:
    say_guessed(read.names, read.guessed, say)
    _check_drift(options, read.names)
    progress("Pooling")
    try:
        sample = Sample.from_columns(read.y_true, read.y_prob, read.sample_weight)
    except InputError as problem:
        raise as_in_file(problem, read.names) from None
    rows = (read.y_true, read.y_prob) if sample.binary and read.sample_weight is None else None
    audit = audit_sample(
        sample,
        level=options.level,
        n_resamples=options.n_resamples,
        random_state=options.seed,
        title=Path(path).name,
        progress=progress,
    )
    return audit, read.names, rows


def _audit_of_sketch(
    path: str, options: FileOptions, progress: Callable[[str], None], say: Callable[[str], None]
) -> tuple[Audit, dict[str, str]]:
    found = sketch_file(
        path,
        y_true=options.y_true,
        y_prob=options.y_prob,
        sample_weight=options.sample_weight,
        unweighted=options.unweighted,
        exclude_bad=options.exclude_bad,
        grouped_by=options.grouped_by,
    )
    say_guessed(found.names, found.guessed, say)
    _check_drift(options, found.names)
    if found.n_excluded:
        say(f"Left out {found.n_excluded:,} rows that are null, NaN or out of range.")
    sketch = found.sketch
    audit = audit_sample(
        sketch.sample,
        level=options.level,
        n_resamples=options.n_resamples,
        random_state=options.seed,
        title=f"{Path(path).name}, rows pooled into {sketch.n_cells:,} cells",
        progress=progress,
    )
    progress("Bounds")
    return with_bounds(audit, sketch), found.names


def _audit_of_classes(
    path: str,
    columns: list[str],
    options: FileOptions,
    progress: Callable[[str], None],
    say: Callable[[str], None],
) -> Audit:
    read = read_classes_file(
        path, columns, y_true=options.y_true, sample_weight=options.sample_weight, unweighted=options.unweighted
    )
    say_guessed(read.names, (*read.guessed, "y_prob"), say)
    try:
        sample = multiclass_sample(read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes)
    except InputError as problem:
        raise as_in_file(problem, read.names) from None
    return audit_classes(
        sample,
        level=options.level,
        n_resamples=options.n_resamples,
        random_state=options.seed,
        title=Path(path).name,
        progress=progress,
    )


def _check_drift(options: FileOptions, names: dict[str, str]) -> None:
    if options.drift and "sample_weight" in names:
        raise InputError("drift", weights_refused(names["sample_weight"]))


def gate_of_file(
    path: str,
    options: FileOptions,
    *,
    max_distance: float,
    confidence: float,
    progress: Callable[[str], None],
    say: Callable[[str], None],
) -> GateDecision:
    """`calibration_gate` of a file or pattern; `say` is told which columns were guessed.

    Raises
    ------
    FileError, InputError
        If the file, a column or an option cannot be used, or a column of weights is there and not left out.
    """
    check_gate(max_distance, confidence)
    progress("Reading")
    _refuse_classes(class_columns(path, options.y_prob))
    columns = _read(path, options)
    say_guessed(columns.names, columns.guessed, say)
    if columns.sample_weight is not None:
        column = columns.names["sample_weight"]
        raise InputError(
            "sample_weight",
            f"column {column!r} holds weights, and the proof is of unweighted rows; --unweighted leaves them out, and "
            "calibrant audit measures with them",
        )
    progress("Bounds")
    try:
        return calibration_gate(columns.y_true, columns.y_prob, max_distance=max_distance, confidence=confidence)
    except InputError as problem:
        raise as_in_file(problem, columns.names) from None


def _refuse_classes(columns: list[str] | None) -> None:
    if columns is None:
        return
    shown = f"{columns[0]!r} ... {columns[-1]!r}"
    if len(columns) == 2:
        ways = f"name the event's with --y-prob {columns[1]}"
    else:
        ways = (
            "name one with --y-prob, and with --y-true a column that is 1 where that class is right and 0 elsewhere; "
        )
        ways += "or write the largest of each row to a column, and whether its class is right to another"
    problem = f"columns {shown} are probabilities of classes, and the gate takes one probability: {ways}"
    raise InputError("--y-prob", problem)


def as_in_file(problem: InputError, names: dict[str, str]) -> InputError:
    """The problem in the words of someone who sees the file: its column's name, and how rows are counted."""
    column = names.get(problem.argument)
    at = problem.argument if column in (None, problem.argument) else f"{problem.argument} (column {column!r})"
    said = problem.problem
    if problem.row is not None:
        said = said.replace(f"row {problem.row} ", f"row {problem.row} (counted from 0) ", 1)
    return InputError(at, said, row=problem.row)


def say_guessed(names: dict[str, str], guessed: tuple[str, ...], say: Callable[[str], None]) -> None:
    """Say which columns were taken by their names alone."""
    if guessed:
        say(f"Using {', '.join(f'{names[argument]!r} as the {ROLES[argument]}' for argument in guessed)}.")
