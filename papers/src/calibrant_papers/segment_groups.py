"""How often the search by groups accuses sound segments, and what it finds, where rows of a group go together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.segments.by_groups import ByGroups, ByRows
from calibrant.segments.candidates import SegmentCandidates, form, units_of
from calibrant.segments.evidence import totals_of
from calibrant.segments.features import Feature
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.segment_search_rates import inside_of, sound_among

LEVEL = 0.05
_REDRAWS = 199
_VALUES = 6, 3, 3, 5
_BROKEN = 3.0  # times the odds
_AS_ROWS = 10  # tables that are looked at as if rows were independent, too: it takes longer


@dataclass(frozen=True, slots=True)
class Design:
    """Tables in groups: parameters of the predictions' beta distribution, mean rows of a group, and what is odd."""

    name: str
    beta: tuple[float, float] = (2.0, 5.0)
    size: int = 20
    unequal: bool = False
    of_group: bool = False
    weighted: bool = False
    correlation: float = 0.3


_RARE = (2.0, 98.0)
DESIGNS = (
    Design("mean .5, features of the row", (2.0, 2.0)),
    Design("mean .29, features of the row"),
    Design("mean .29, features of the group", of_group=True),
    Design("mean .29, unequal groups, features of the row", unequal=True),
    Design("mean .29, unequal groups, features of the group", unequal=True, of_group=True),
    Design("mean .02, features of the row", _RARE, 50),
    Design("mean .02, features of the group", _RARE, 50, of_group=True),
    Design("mean .02, unequal groups, features of the row", _RARE, 50, unequal=True),
    Design("mean .29, weights, features of the row", weighted=True),
)
GROUPS = 40, 100, 300
_PLANTED = 6_000
FAULTS = {
    "1 of 18, risk x 1.35, mean .29": (2, 1.35, (2.0, 5.0)),
    "1 of 18, risk x 1.6, mean .29": (2, 1.6, (2.0, 5.0)),
    "1 of 6, a steep wave": (1, 0.0, (2.0, 5.0)),
    "1 of 6, risk x 1.5, mean .125": (1, 1.5, (1.0, 7.0)),
}
"""Features that the planted segment fixes, how many times the stated risk its rows have (0: as much below it as above),
and the beta distribution of predictions."""
_WAYS = ((1, 0.0), (10, 0.0), (30, 0.0), (10, 0.3), (30, 0.3))  # rows of a group, and their latent correlation


def found_in_groups(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Family-wise errors and coverage on tables whose rows go together in groups, and power beside independent rows."""
    tables, draws = (2, 1) if quick else (300, 50)
    run = starmap if quick else on_all_processors
    step = 2 if quick else 50
    lines = [(design, groups) for design in range(len(DESIGNS)) for groups in GROUPS[: 1 if quick else None]]
    cells = [(*line, first, step) for line in lines for first in range(0, tables, step)]
    levels = np.reshape(list(run(_false_alarms, cells)), (len(lines), tables, 6))
    planted = [
        (fault, way, first, min(25, draws))
        for fault in FAULTS
        for way in range(len(_WAYS))
        for first in range(0, draws, min(25, draws))
    ]
    power = np.reshape(list(run(_powers, planted)), (len(FAULTS), len(_WAYS), draws, 2)).mean(axis=2)
    first = []
    for (design, groups), held in zip(lines, levels, strict=True):
        refused, any_one, sound, missed, as_rows, tested = map(_mean, held.T)
        rates = (
            f"{any_one:.3f}",
            f"{sound:.3f}",
            f"{missed:.3f}",
            f"{as_rows:.2f}",
            f"{refused:.2f}",
            "-" if refused == 1.0 else f"{any_one / (1.0 - refused):.3f}",
            "-" if np.isnan(tested) else f"{tested:.0f}",
        )
        first.append([DESIGNS[design].name, groups, *rates])
    second = [
        [fault, f"{row[0, 1]:.2f}", *(f"{x:.2f}" for x in row[:, 0])] for fault, row in zip(FAULTS, power, strict=True)
    ]
    worst, as_rows = levels[:, :, :4].mean(axis=1), max(_mean(held[:, 4]) for held in levels)
    body = (
        "Four features of 6, 3, 3 and 5 values, drawn for each row or for each group; all segments of up to two of "
        "them. An outcome happens where a normal variable is below its chance's quantile. The variables of a group "
        "have the correlation .3. So each row keeps its stated probability. Groups have 20 rows (50 where events are "
        f"rare), or lognormal shares of as many rows (*unequal*: the log has standard deviation 1). {tables} tables a "
        f"line, level {LEVEL}, {_REDRAWS} redraws. The standard error of .05 is "
        f"{np.sqrt(0.05 * 0.95 / tables):.3f}.\n\n*Any*: share of calibrated tables in which a segment is called "
        "beyond noise. *Any sound*: the odds in one segment of the first two features are three times the stated "
        "ones. Counted are tables in which a segment that shares no row with it is called beyond noise. *Missed*: "
        "some segment's `bias_interval` misses the mean of chance less prediction, in the tables with that segment. "
        f"*As rows*: any, were rows taken as independent ({_AS_ROWS} tables a line). *Refused*: of weighted rows, "
        "which have no bound, all groups are too few for signs. *Of the others*: any, of the tables that are not "
        "refused. *Tested*: segments in them.\n\n"
        + table(
            ["predictions", "groups", "any", "any sound", "missed", "as rows", "refused", "of the others", "tested"],
            first,
        )
        + f"\n## Power\n\n{_PLANTED:,} rows a table, {draws} tables a column; features of the row. The share in which "
        "the planted segment's p-value is at most the level. By rows, which is right where rows are independent. By "
        "groups of 1, 10 and 30 rows, independent or with the latent correlation .3.\n\n"
        + table(["planted", "as rows", *(f"groups of {n}{', .3' if r else ''}" for n, r in _WAYS)], second)
    )
    finding = (
        f"Calibrated tables of dependent rows are accused in at most {worst[:, 1].max():.3f} of {tables} (as if rows "
        f"were independent, in up to {as_rows:.2f}). Intervals miss in at most {worst[:, 3].max():.3f}. Of "
        f"independent rows groups of 10 find {power[:, 1, 0].mean():.0%} of the planted segments, rows "
        f"{power[:, 0, 1].mean():.0%}."
    )
    return Reproduction("Segments that nobody named, where rows go together in groups", finding, body)


def _mean(column: FloatArray) -> float:
    """Of the tables that it is known of."""
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else np.nan


def grouped_features(
    rng: np.random.Generator, group: npt.NDArray[np.int64], n_groups: int, of_group: bool
) -> list[Feature]:
    """Features of each row, or of each group."""
    size = n_groups if of_group else group.size
    codes = [rng.integers(0, k, size) for k in _VALUES]
    codes = [code[group] for code in codes] if of_group else codes
    codes = [np.unique(code, return_inverse=True)[1] for code in codes]
    return [
        Feature(f"f{i}", code, tuple(f"f{i} = {x}" for x in range(int(code.max()) + 1))) for i, code in enumerate(codes)
    ]


def alike_in_groups(
    rng: np.random.Generator, group: npt.NDArray[np.int64], n_groups: int, correlation: float
) -> FloatArray:
    """Uniform variables, alike within groups."""
    shared = np.sqrt(correlation) * rng.standard_normal(n_groups)[group]
    return np.asarray(ndtr(shared + np.sqrt(1.0 - correlation) * rng.standard_normal(group.size)))


def _searched(rows: Rows, features: list[Feature], seed: int) -> tuple[SegmentCandidates, ByGroups | ByRows]:
    units = units_of(rows, features)
    candidates = form(units, features, 2, 50)
    by = ByRows if rows.group is None else ByGroups
    return candidates, by.of(units, candidates, _REDRAWS, LEVEL, np.uint64(seed))


def _false_alarms(design: int, groups: int, first: int, step: int) -> list[list[float]]:
    """Of each table: refused, any accused, any sound one, any interval missed, any accused as rows, and tested."""
    return [_false_alarm(design, groups, trial) for trial in range(first, first + step)]


def _false_alarm(number: int, groups: int, trial: int) -> list[float]:
    design = DESIGNS[number]
    rng = np.random.default_rng([9, number, groups, trial])
    n = groups * design.size
    share = np.exp(rng.normal(size=groups)) if design.unequal else None
    group = np.repeat(np.arange(groups), design.size) if share is None else rng.choice(groups, n, p=share / share.sum())
    group = np.unique(group, return_inverse=True)[1]
    features = grouped_features(rng, group, groups, design.of_group)
    v, uniform = rng.beta(*design.beta, n), alike_in_groups(rng, group, groups, design.correlation)
    weight = np.exp(rng.normal(size=n)) if design.weighted else None
    broken = inside_of(features, (0, 1), (0, 0))
    odds = np.where(broken, _BROKEN, 1.0) * v / (1.0 - v)
    chance = odds / (1.0 + odds)
    sound, faulty = (Rows.of((uniform < p).astype(np.float64), v, weight, groups=group) for p in (v, chance))
    as_rows = np.nan
    if trial < _AS_ROWS:
        alone = Rows(sound.y_true, sound.y_prob, sound.weight, outcome_free=True)
        as_rows = float((_searched(alone, features, trial)[1].pvalue <= LEVEL).any())
    found = [1.0, 0.0, 0.0, 0.0, as_rows, np.nan]
    try:
        candidates, said = _searched(sound, features, trial)
    except InputError:
        return found
    found[:2], found[5] = [0.0, float((said.pvalue <= LEVEL).any())], len(candidates)
    try:
        candidates, said = _searched(faulty, features, trial)
    except InputError:
        return found
    accused = np.flatnonzero(said.pvalue <= LEVEL)
    found[2] = float(sound_among(features, candidates, accused, broken) > 0)
    low, high = said.intervals(totals_of(faulty, candidates), LEVEL)
    truth = totals_of(faulty, candidates)
    w = np.ones(n) if faulty.weight is None else faulty.weight
    inside = [inside_of(features, *pair) for pair in zip(candidates.chosen, candidates.values, strict=True)]
    off = np.array([(w * (chance - v))[each].sum() for each in inside]) / truth.weight
    found[3] = float(((off < low) | (off > high)).any())
    return found


def _powers(fault: str, way: int, first: int, step: int) -> list[list[bool]]:
    """Of each table: whether the planted segment is found by groups, and as rows."""
    depth, times, (a, b) = FAULTS[fault]
    size, correlation = _WAYS[way]
    n_groups, members, values = _PLANTED // size, tuple(range(depth)), (0,) * depth
    found = []
    for trial in range(first, first + step):
        rng = np.random.default_rng([10, list(FAULTS).index(fault), way, trial])
        group = np.repeat(np.arange(n_groups), size)
        features, v = grouped_features(rng, group, n_groups, of_group=False), rng.beta(a, b, _PLANTED)
        wave = v + 0.9 * np.sin(2.0 * np.pi * v / 0.6) * v * (1.0 - v) * (v < 0.6)
        wrong = np.minimum(1.0, times * v) if times else wave
        inside = inside_of(features, members, values)
        y = (alike_in_groups(rng, group, n_groups, correlation) < np.where(inside, wrong, v)).astype(np.float64)
        rows = [Rows.of(y, v, groups=group)] + ([Rows.of(y, v)] if not way else [])
        names = [False, False]
        for k, each in enumerate(rows):
            candidates, said = _searched(each, features, trial)
            at = [
                i for i in range(len(candidates)) if (candidates.chosen[i], candidates.values[i]) == (members, values)
            ]
            names[k] = bool(at) and bool(said.pvalue[at[0]] <= LEVEL)
        found.append(names)
    return found
