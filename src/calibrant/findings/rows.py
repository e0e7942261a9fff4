"""Rows as an audit takes them: pooled, one by one where tests ask for that, and as draws where bounds are due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import (
    Rows,
    check_outcome_free,
    events_of,
    read_fractions,
    read_groups,
    read_trials,
    require_single_outcomes,
    sample_and_rows,
)
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, draws_of


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Rows that were read and checked."""

    sample: Sample  # the rows, pooled by prediction
    rows: Rows | None = None  # the same one by one, where weights, trials or groups tell them apart
    draws: Draws | None = None  # the same as draws from a population, where the most that one can weigh is known


def given(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None = None,
    *,
    trials: Any = None,
    groups: Any = None,
    max_weight: float | None = None,
    outcome_free: bool = False,
    sampling_fractions: Any = None,
) -> Given:
    """Take validated columns with the user's trials and groups, and the most that one draw can weigh, if it is said.

    Rows that were sampled by outcome describe their population by weights, which are known beforehand. Raises
    InputError if trials, groups or `max_weight` cannot be used; of event rates in groups trials are needed.
    """
    fractions = read_fractions(sampling_fractions, sample_weight=weight, trials=trials)
    if fractions is not None:
        require_single_outcomes(outcome)
        weight = fractions.weight_of(outcome)
        max_weight = fractions.max_weight if max_weight is None and groups is None else max_weight
    check_outcome_free(outcome_free, weight, groups)
    if trials is None and groups is None:
        if max_weight is not None and weight is None:
            problem = "has no effect: there are no weights, trials or groups"
            raise InputError("max_weight", problem)
        sample, rows = sample_and_rows(outcome, prediction, weight, outcome_free, fractions)
        if max_weight is None:
            return Given(sample, rows)
        require_single_outcomes(outcome)
        return Given(sample, rows, draws_of(outcome, prediction, weight, None, None, max_weight)[1])
    group: IntArray | None = None if groups is None else read_groups(groups, prediction.size)
    if trials is None:
        require_single_outcomes(outcome)
        rows = Rows.of_arrays(outcome, prediction, weight, None, group, outcome_free, fractions)
        sample, count = Sample.of_arrays(outcome, prediction, weight), None
    else:
        count = read_trials(trials, prediction.size)
        rows = Rows.of_arrays(events_of(outcome, count), prediction, weight, count, group, outcome_free)
        sample = rows.sample
    if max_weight is None:
        return Given(sample, rows)
    return Given(sample, rows, draws_of(outcome, prediction, weight, count, group, max_weight)[1])


def fractions_of(rows: Rows | None) -> tuple[float, float] | None:
    """Shares of rows without the event, and with it, that were kept, where rows were sampled by outcome."""
    fractions = None if rows is None else rows.fractions
    return None if fractions is None else (fractions.without, fractions.events)
