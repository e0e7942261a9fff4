"""Cells of good rows, by keys of few bits: DuckDB then keeps an array with a place for each instead of a hash table.

That takes about half the time. Such an array has a place for every value that the keys' types or statistics allow. Grid
points below 1 number 65,536, as do 16 bits; whether a row lies on its grid point or after it is the other key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.scale.duck import WEIGHS, quoted, renamed, sums_of, whole_outcomes, within_unit

GRID = 65536
"""The resolution whose grid points have such numbers."""


def sum_by_address(relation: Any, numbers: Mapping[str, str]) -> Any | None:
    """As `group_relation` without segments, of cells of this grid; None if rows are bad, which that one tells apart."""
    found = by_address(relation, numbers).to_arrow_table()
    return None if found.column("_cell").null_count else found


def by_address(relation: Any, numbers: Mapping[str, str]) -> Any:
    """The query as a relation; bad rows are in a cell that is null."""
    good = "y BETWEEN 0 AND 1" if whole_outcomes(relation, numbers["y_true"]) else within_unit("y")
    if "sample_weight" in numbers:
        good += f" AND {WEIGHS}"
    # Null outside [0, 1), and for NaN. The type is given last: statistics that DuckDB half knows would be in the way.
    point = f"TRY_CAST(CASE WHEN {good} THEN floor(x) END AS USMALLINT)"
    at_one = f"CASE WHEN {good} AND isfinite(v) AND v = 1 THEN 1 ELSE 0 END"
    after = f"CASE WHEN _point IS NULL THEN {at_one} WHEN x > floor(x) THEN 1 ELSE 0 END"
    cell = f"CASE WHEN _point IS NOT NULL THEN 2 * CAST(_point AS INTEGER) + _after WHEN _after = 1 THEN {2 * GRID} END"
    sums = sums_of(relation, numbers)
    listed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in sums.items())
    rows = relation.project(", ".join(renamed(numbers, GRID))).project(f"*, {point} AS _point")
    summed = rows.project(f"*, {after} AS _after").aggregate(f"_point, _after, {listed}", "_point, _after")
    return summed.project(", ".join([f"{cell} AS _cell", *map(quoted, sums)]))
