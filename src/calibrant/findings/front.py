"""The front door of the audit: a file, a folder, a dataset, a frame, an engine's table or sketches."""

from __future__ import annotations

__all__ = ["audit_table"]

from collections.abc import Callable, Sequence
from typing import Any, overload

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_band
from calibrant.findings.comparison import Comparison
from calibrant.findings.forecasts import audit_forecasts, check_forecasts
from calibrant.findings.found import Audit
from calibrant.findings.table import Asked, Told, audit_opened, names_of
from calibrant.progress import watched
from calibrant.scale.opening import open_table
from calibrant.segments.asked import MAX_DEPTH


@overload
def audit_table(
    table: Any,
    *,
    y_true: str | None = ...,
    y_prob: str | None = ...,
    sample_weight: str | None = ...,
    by: str | Sequence[str] | None = ...,
    drift: str | None = ...,
    reference: Any = ...,
    exclude_bad: bool = ...,
    unweighted: bool = ...,
    groups: str | None = ...,
    max_weight: float | None = ...,
    pos_label: Any = ...,
    max_distance: float | None = ...,
    threshold: float | None = ...,
    level: float = ...,
    n_resamples: int = ...,
    random_state: RandomState = ...,
    title: str | None = ...,
    find: str | Sequence[str] | None = ...,
    max_depth: int = ...,
    filesystem: Any = ...,
    distinct: bool = ...,
    progress: bool | Callable[[str], None] | None = ...,
) -> Audit: ...


@overload
def audit_table(
    table: Any,
    *,
    y_true: str | None = ...,
    y_prob: list[str] | tuple[str, ...],
    sample_weight: str | None = ...,
    by: str | Sequence[str] | None = ...,
    drift: str | None = ...,
    reference: Any = ...,
    exclude_bad: bool = ...,
    unweighted: bool = ...,
    groups: str | None = ...,
    max_weight: float | None = ...,
    pos_label: Any = ...,
    max_distance: float | None = ...,
    threshold: float | None = ...,
    level: float = ...,
    n_resamples: int = ...,
    random_state: RandomState = ...,
    title: str | None = ...,
    find: str | Sequence[str] | None = ...,
    max_depth: int = ...,
    filesystem: Any = ...,
    distinct: bool = ...,
    progress: bool | Callable[[str], None] | None = ...,
) -> Comparison: ...


def audit_table(
    table: Any,
    *,
    y_true: str | None = None,
    y_prob: str | list[str] | tuple[str, ...] | None = None,
    sample_weight: str | None = None,
    by: str | Sequence[str] | None = None,
    drift: str | None = None,
    reference: Any = None,
    exclude_bad: bool = False,
    unweighted: bool = False,
    groups: str | None = None,
    max_weight: float | None = None,
    pos_label: Any = None,
    max_distance: float | None = None,
    threshold: float | None = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    title: str | None = None,
    find: str | Sequence[str] | None = None,
    max_depth: int = MAX_DEPTH,
    filesystem: Any = None,
    distinct: bool = False,
    progress: bool | Callable[[str], None] | None = None,
) -> Audit | Comparison:
    """Audit a file, a data frame, a table of an engine or a sketch, with its segments and its drift.

    Parameters
    ----------
    table : str, path, table or CalibrationSketch
        A CSV, Parquet, JSON lines or Arrow file, a folder or a pattern of such files (the names of folders such as
        ``day=2026-01-31`` are a column); a dataset of pyarrow; a frame of pandas, polars or pyarrow; a lazy table of
        polars, DuckDB, PySpark, Dask or Ibis; or a `CalibrationSketch`, or a file of sketches, whose other columns are
        keys.
    y_true, y_prob, sample_weight : str, optional
        Names of its columns; those not given are found by their usual names (`y_true`, `label`, ...; `y_prob`, `score`,
        ...; `sample_weight`), and ``.columns`` of the audit says which they were. A column that may hold weights by its
        name is never ignored: it is used, or an error asks about it. For classes `y_prob` is a text ``"p0,p1"`` or a
        pattern ``"p*"``. A list of two to eight columns is that of several forecasts, which are compared.
    by : str or sequence of str, optional
        Columns whose combinations are segments, each tested, the worst first.
    drift : str, optional
        Column of days or other periods: from which on is calibration proved wrong? Not with weights.
    reference : object or list, optional
        One or several of these periods: has the meaning of predictions changed since? As for `calibration_drift`.
    exclude_bad : bool, default False
        Leave out rows with nulls, NaN, text or numbers out of range, and count them in ``.n_excluded``, instead of
        refusing them.
    unweighted : bool, default False
        Leave out a column that holds weights by its name.
    groups : str, optional
        Column of what rows belong to (a patient, an account, a day), if only rows of different ones are independent:
        all that is said about chance goes by group, of segments and drift too. Only for tables whose rows are read.
    max_weight : float, optional
        As for `audit`: the most that one row, or with groups a whole group, can weigh, known beforehand.
    pos_label : label, optional
        The label of the event, if the column of outcomes holds two labels.
    max_distance, threshold, level, n_resamples, random_state, progress
        As for `audit`.
    title : str, optional
        Head of the report; the file's name by default.
    find : str or sequence of str, optional
        Columns in which to find segments that are off by more than noise, as `find_segments` does; ``"all"`` for every
        other column that can be used. Predictions must not have been fitted to these rows.
    max_depth : int, default 2
        With `find`: the most columns that a segment combines.
    filesystem : FileSystem or str, optional
        Where to look for a file, a folder or a pattern: a file system of pyarrow or fsspec, an address such as
        ``"s3://bucket"``, or ``"s3"``, ``"gcs"``; by default this machine. Parquet, CSV and Arrow files.
    distinct : bool, default False
        Say that files, or sketches, of equal contents hold other rows each; they are refused without it. The same file
        twice is refused all the same.

    Returns
    -------
    Audit or Comparison
        Of the rows themselves; or, for lazy tables and files of more than 5,000,000 rows (500 MB of text), of their
        sums in cells: every number then has a bound of what that costs, and ``.road`` says who summed them. For several
        forecasts a Comparison: their audits, and a paired test of their smooth errors if rows are read.

    Raises
    ------
    InputError
        If a column cannot be used, it is unclear which one is meant, or rows are bad. FileError if the file cannot be
        read.

    See Also
    --------
    audit, calibration_by_segment, find_segments, calibration_drift

    Notes
    -----
    Cost: each file is opened and its dialect detected once; sums take one GROUP BY where the rows lie.

    Examples
    --------
    >>> import pyarrow
    >>> from calibrant import audit_table
    >>> table = pyarrow.table({"label": [0, 1, 1, 0], "score": [0.2, 0.7, 0.9, 0.4]})
    >>> found = audit_table(table, random_state=0)
    >>> dict(found.columns)
    {'y_true': 'label', 'y_prob': 'score'}
    >>> found.n_rows
    4
    >>> two = table.append_column("older", pyarrow.array([0.4, 0.5, 0.6, 0.5]))
    >>> audit_table(two, y_prob=["score", "older"], random_state=0).names
    ('score', 'older')
    """
    one = y_prob if y_prob is None or isinstance(y_prob, str) else None
    several = () if y_prob is None or isinstance(y_prob, str) else check_forecasts(y_prob)
    asked = Asked(
        y_true,
        one,
        sample_weight,
        names_of(by, "by"),
        drift,
        exclude_bad,
        unweighted,
        max_distance,
        threshold,
        level,
        n_resamples,
        random_state,
        title,
        groups,
        max_weight,
        pos_label,
        reference,
        names_of(find, "find"),
        max_depth,
    )
    check_band(level, n_resamples)  # before anything that takes longer
    asked.of_search  # noqa: B018 - refused before anything is read
    opened = open_table(table, filesystem=filesystem, pos_label=pos_label, distinct=distinct)
    with watched(progress) as tell:
        if several:
            return audit_forecasts(opened, several, asked, Told(tell))
        return audit_opened(opened, asked, Told(tell)).audit
