"""Rows as an audit takes them: pooled, one by one where tests ask for that, and as draws where bounds are due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, events_of, read_groups, read_trials, require_single_outcomes, sample_and_rows
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, draws_of


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Rows that were read and checked.

    Attributes
    ----------
    sample : Sample
        The rows, pooled by prediction.
    rows : Rows or None
        The same one by one, where weights, trials or groups tell them apart.
    draws : Draws or None
        The same as draws from a population, where the most that one can weigh is known.
    """

    sample: Sample
    rows: Rows | None = None
    draws: Draws | None = None


def given(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None = None,
    *,
    trials: Any = None,
    groups: Any = None,
    max_weight: float | None = None,
) -> Given:
    """Take validated columns with the user's trials and groups, and the most that one draw can weigh, if it is said.

    Raises
    ------
    InputError
        If trials, groups or `max_weight` cannot be used; of event rates in groups trials are needed.
    """
    if trials is None and groups is None:
        if max_weight is not None and weight is None:
            problem = "has no effect: there are no weights, trials or groups"
            raise InputError("max_weight", problem)
        sample, rows = sample_and_rows(outcome, prediction, weight)
        if max_weight is None:
            return Given(sample, rows)
        require_single_outcomes(outcome)
        return Given(sample, rows, draws_of(outcome, prediction, weight, None, None, max_weight)[1])
    group: IntArray | None = None if groups is None else read_groups(groups, prediction.size)
    if trials is None:
        require_single_outcomes(outcome)
        rows = Rows.of_arrays(outcome, prediction, weight, None, group)
        sample, count = Sample.of_arrays(outcome, prediction, weight), None
    else:
        count = read_trials(trials, prediction.size)
        rows = Rows.of_arrays(events_of(outcome, count), prediction, weight, count, group)
        sample = rows.sample
    if max_weight is None:
        return Given(sample, rows)
    return Given(sample, rows, draws_of(outcome, prediction, weight, count, group, max_weight)[1])
