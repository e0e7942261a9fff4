"""Exact calibration errors inside other libraries; each module needs its own, which calibrant does not bring."""

from __future__ import annotations

from typing import cast

import numpy as np

from calibrant.door.arguments import one_of
from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import Column, FloatArray, Labels, Table, read_columns
from calibrant.door.rows import dimensions
from calibrant.door.sample import Sample
from calibrant.measures.registry import measures


def check_measure(name: str) -> str:
    """Return the name of a registered measure; raise InputError for any other."""
    one_of(name, tuple(measures()), "measure")
    return name


def outcomes(y_true: Labels | Table, y_prob: Column | Table) -> tuple[FloatArray, FloatArray]:
    """Outcomes and probabilities of an event; of a row of class probabilities, of the top label."""
    if dimensions(y_prob) == 2:
        top = multiclass_sample(y_true, y_prob).top_label()
        return top.y_true, top.y_prob
    outcome, prediction, _ = read_columns(cast(Column, y_true), cast(Column, y_prob), None)
    return outcome, prediction


def measured(measure: str, y_true: Labels | Table, y_prob: Column | Table) -> float:
    """A measure by its name, exactly as calibrant's function of that name gives it."""
    entry = measures()[measure]
    y, v = outcomes(y_true, y_prob)
    return float(entry.on_sample(Sample.of_arrays(y, v, np.ones(v.size)), **entry.parameters))
