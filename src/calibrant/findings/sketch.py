"""An audit of a sketch: every number with its bound, and no number without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from types import MappingProxyType

import numpy as np

from calibrant.door.ends import Bracket
from calibrant.door.values import counted
from calibrant.findings import word_catalogue as say
from calibrant.findings.inequalities import above_interval_error
from calibrant.findings.record import MeasureValue, in_its_bracket
from calibrant.findings.regions import Region
from calibrant.findings.results import Audit
from calibrant.inference.bounds.draws import AnyDraws
from calibrant.inference.bounds.population import bounds_from_sample
from calibrant.sketch.bounds import ARITHMETIC, Moments, error_bound, error_bounds, interval_error_above
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.table import Table


def _measures_of_rows(
    on_cells: Mapping[str, MeasureValue], bounds: Mapping[str, float | None], cells: Moments, lower_distance: Bracket
) -> dict[str, MeasureValue]:
    """Measures of the rows, from those of the cells: each with what pooling can cost, or without a value."""
    measures = {}
    for name, measure in on_cells.items():
        bound = bounds.get(name)
        if bound is None:
            measures[name] = replace(measure, value=None, not_computed=measure.not_computed or say.NOT_PROVED)
        else:
            sentence = say.WITHIN.format(sentence=measure.sentence, bound=at_most(bound))
            measures[name] = replace(measure, sentence=sentence)
    name = "lower_calibration_distance"
    if measures[name].value is None:
        measures[name] = in_its_bracket(on_cells[name], lower_distance)
    name = "interval_calibration_error"
    if measures[name].value is None:
        above = above_interval_error({each: one.value for each, one in on_cells.items()}, bounds)
        attained = on_cells[name].value
        if attained is not None:
            above = min(above, interval_error_above(attained, cells))
        measures[name] = in_its_bracket(measures[name], Bracket(lower_distance.lower, above), say.POOLED)
    return measures


def with_bounds(
    audit: Audit,
    sketch: CalibrationSketch,
    cells: Moments,
    draws: AnyDraws | None = None,
    *,
    everything: bool = True,
) -> Audit:
    """Return the audit of the rows that a sketch stands for.

    Proved numbers are widened by what pooling can cost, regions to the ends of their cells; a measure for which that
    is not known has no value. Tests and advice need single rows, which a sketch has only where each
    cell holds one prediction; the audit of its sample says so itself.

    Parameters
    ----------
    audit : Audit
        Of the sketch's sample.
    sketch, cells : CalibrationSketch, Moments
        The sketch, and its moments.
    draws : Draws or CellDraws, optional
        Its rows, where they weigh differently and the most that one can weigh is known.
    everything : bool, default True
        Whether the population is bounded too.
    """
    sample, displacement = sketch.sample, cells.distance_moved + ARITHMETIC
    bounds = error_bounds(sample, cells, {name: each.value for name, each in audit.measures.items()})
    lower_distance = _widened(audit.ties.lower_distance_bracket, displacement)
    measures = _measures_of_rows(audit.measures, bounds, cells, lower_distance)
    smooth = error_bound("smooth_calibration_error", sample, cells)
    of_cells = say.OF_CELLS if np.any(cells.high > cells.low) else ""
    population = audit.population
    if everything and population is None and sample.binary and (draws is not None or not audit.weighted):
        distance = _widened(audit.ties.lower_distance_bracket, displacement)
        population = bounds_from_sample(sample, audit.smooth_upper + smooth, distance, audit.level, draws)
    return replace(
        audit,
        population=population,
        n_cells=sketch.n_cells if of_cells else None,
        measures=MappingProxyType(measures),
        smooth_lower=max(0.0, audit.smooth_lower - smooth),
        smooth_upper=min(1.0, audit.smooth_upper + smooth),
        regions=tuple(_of_rows(region, cells) for region in audit.regions),
        ties=replace(
            audit.ties,
            inequalities=tuple(replace(each, source=each.source + of_cells) for each in audit.ties.inequalities),
            true_distance=_widened(audit.ties.true_distance, displacement),
            lower_distance_bracket=lower_distance,
        ),
    )


def road_of(table: Table, sketch: CalibrationSketch, cells: Moments) -> str:
    """Say how rows that were summed came here, and what that costs."""
    moved = at_most(error_bound("smooth_calibration_error", sketch.sample, cells))
    cost = say.COST_OF_CELLS.format(moved=moved)
    return f"{table.note(counted(sketch.n_rows, 'row'), counted(sketch.n_cells, 'cell'))}, {cost}"


def at_most(bound: float) -> str:
    """A bound in two digits, rounded up."""
    return f"{Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(bound):.1e}"


def _of_rows(region: Region, cells: Moments) -> Region:
    """The region from the first to the last prediction of its rows; sums over whole cells are those of their rows."""
    first, last = np.searchsorted(cells.low, region.low, "right") - 1, np.searchsorted(cells.high, region.high)
    return replace(region, low=float(cells.low[first]), high=float(cells.high[last]))


def _widened(bracket: Bracket, margin: float) -> Bracket:
    return replace(bracket, lower=max(0.0, bracket.lower - margin), upper=min(1.0, bracket.upper + margin))
