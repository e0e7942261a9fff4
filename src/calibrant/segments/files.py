"""Segments of a file's rows, aggregated where they lie."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.scale.columns import asked_columns
from calibrant.scale.large import grouped_file
from calibrant.segments.named import Segment, segments_of_groups


def file_by_segment(
    path: str,
    by: Sequence[str],
    *,
    y_true: str | None = None,
    y_prob: str | None = None,
    sample_weight: str | None = None,
    unweighted: bool = False,
    level: float = 0.05,
    resolution: int = 128,
    exclude_bad: bool = False,
) -> list[Segment]:
    """`calibration_by_segment` of a file or pattern.

    Raises
    ------
    FileError, InputError
        If the file or a column cannot be read, or rows are bad: the message counts them.
    """
    found, _, _ = grouped_file(path, asked_columns(y_true, y_prob, sample_weight, unweighted), by, resolution)
    return segments_of_groups(found, len(by), level, resolution, exclude_bad)
