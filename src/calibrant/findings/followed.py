"""Outcomes at a horizon of a table's rows that were followed for a time, with weights for those that left before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.censoring import LEAST_FOLLOWED
from calibrant.door.errors import InputError
from calibrant.door.premises import Followed
from calibrant.findings.faults import in_table
from calibrant.findings.population import at_horizon

if TYPE_CHECKING:
    from calibrant.door.request import CalibrationRequest
    from calibrant.tables.table import Columns, Table

OF_A_HORIZON = {"y_true": "event", "sample_weight": "time"}
"""Arguments that columns of a table stand for -> what they are where outcomes at a horizon are made of them."""


def with_outcomes(table: Table, read: Columns, request: CalibrationRequest, horizon: float) -> Columns:
    """The rows whose outcome is known at a horizon, with weights for the others."""
    names = {OF_A_HORIZON.get(argument, argument): name for argument, name in read.names.items()}
    names |= {"strata" if len(request.strata) == 1 else f"strata ({name})": name for name in request.strata}
    least = LEAST_FOLLOWED if request.least_followed is None else request.least_followed
    try:
        outcomes = at_horizon(table, read.sample_weight, read.y_true, request)
    except InputError as problem:
        raise in_table(problem, table, names) from None
    known = outcomes.known
    if not known.size:
        raise InputError("horizon", f"is {horizon:g}, and the outcome of no row is known by then")
    parts = bool(request.by or request.find)
    return replace(
        read,
        y_true=outcomes.y_true[known],
        y_prob=np.asarray(read.y_prob)[known],
        sample_weight=outcomes.sample_weight[known],
        names=names,
        groups=None if read.groups is None else read.groups[known],
        followed=Followed(horizon, outcomes.n_unknown, least, names["time"], names["event"], request.strata, parts),
    )
