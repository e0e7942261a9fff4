"""How often `find_segments` accuses sound segments, and finds planted ones, beside what others do with the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control, norm

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.inference.testing.discrete import two_sided_log_pvalues
from calibrant.segments.by_groups import ByRows
from calibrant.segments.candidates import FeatureLots, SegmentCandidates, form, units_of
from calibrant.segments.evidence import ResampleSearch, holm, search, totals_of
from calibrant.segments.features import Feature
from calibrant.segments.results import explained_once
from calibrant.segments.sums import Summed
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

LEVEL = 0.05
ROWS = 2_000
PLANTED_ROWS = 20_000
_REDRAWS = 199
BROKEN = 3.0  # times the odds
_SIGMAS = 5.0
Truth = npt.NDArray[np.bool_]
_Predictions = Callable[[np.random.Generator, int], FloatArray]
DESIGNS: dict[str, _Predictions] = {
    "uniform": lambda rng, n: rng.random(n),
    "rare, beta(1, 99)": lambda rng, n: rng.beta(1.0, 99.0, n),
    "five values": lambda rng, n: rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n),
    "weights, lognormal": lambda rng, n: rng.beta(2.0, 5.0, n),
}
FAULTS: dict[str, tuple[int, float, tuple[float, float]]] = {
    "1 of 6, risk x 1.2, mean .125": (1, 1.2, (1.0, 7.0)),
    "1 of 6, a wave": (1, 0.0, (2.0, 5.0)),
    "1 of 18, risk x 1.35, mean .29": (2, 1.35, (2.0, 5.0)),
    "1 of 18, risk x 1.35, mean .17": (2, 1.35, (1.0, 5.0)),
    "1 of 18, risk x 1.35, mean .125": (2, 1.35, (1.0, 7.0)),
    "1 of 54, risk x 1.7, mean .125": (3, 1.7, (1.0, 7.0)),
}
"""Features that the planted segment fixes, how many times the stated risk its rows have (0: as much below it as above),
and the beta distribution of predictions."""
_METHODS = (
    "found",
    "listed by name",
    "sound ones listed",
    "Bonferroni",
    "Benjamini-Hochberg",
    "sound ones (B-H)",
    "range, 5 sigma",
    "MCGrad's p",
)


def found_segments(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Family-wise errors on calibrated tables, and power on planted segments of one to three features."""
    tables, draws = (2, 1) if quick else (1_000, 200)
    run = starmap if quick else on_all_processors
    step = 2 if quick else 50
    cells = [(design, first, step) for design in DESIGNS for first in range(0, tables, step)]
    levels = np.reshape(list(run(_false_alarms, cells)), (len(DESIGNS), tables, 6)).mean(axis=1)
    planted = [(fault, first, min(5, draws)) for fault in FAULTS for first in range(0, draws, min(5, draws))]
    power = np.reshape(list(run(_powers, planted)), (len(FAULTS), draws, len(_METHODS))).mean(axis=1)
    first = [[design, *(f"{x:.3f}" for x in row)] for design, row in zip(DESIGNS, levels, strict=True)]
    for row in first:
        if row[0].startswith("weights"):
            row[4] = "-"
    second = [[fault, *(f"{x:.2f}" for x in row)] for fault, row in zip(FAULTS, power, strict=True)]
    body = (
        "Six features: five independent ones of 6, 3, 3, 5 and 4 values. The sixth is the first with a tenth of the "
        f"rows moved. All segments of up to two of them. {tables:,} tables of {ROWS:,} rows per line, level {LEVEL}, "
        f"{_REDRAWS} redraws. The standard error of .05 is {np.sqrt(0.05 * 0.95 / tables):.3f}.\n\n*Any*: share of "
        "calibrated tables in which a segment is called beyond noise; *Holm*: by the p-values of “right on average”. "
        "*Any sound*: the odds in one segment of the first two features are three times the predicted ones. Counted "
        "are tables in which a segment that shares no row with it is called beyond noise. *Bonferroni*, on exact "
        "tails of the segments' events (not for weights). *MCGrad's p*: the largest range of cumulative differences "
        "over its standard deviation, by the distribution of a Brownian range. It is not adjusted, as MCGrad 0.1.5 "
        "has it. *5 sigma*: its rule. Both are computed here on the same segments.\n\n"
        + table(["predictions", "any", "any sound", "Holm", "Bonferroni", "MCGrad's p", "5 sigma"], first)
        + f"\n## Power\n\n{PLANTED_ROWS:,} rows per table, {draws} tables per line, all segments of up to two "
        "features. For the last line it is up to three: there are about 1,600, else 320. Predictions are of a beta "
        "distribution with that mean. The wave's are beta(2, 5), too low up to .3 and too high from there to .6. "
        "*Found*: the planted segment's p-value is at most the level. *Listed by name*: it is among the segments "
        "listed. *Sound ones listed*: segments listed that share no row with it, per table. *Bonferroni* and "
        "*Benjamini-Hochberg* on exact tails of the segments' events: the planted segment is rejected. *Sound ones "
        "(B-H)*: segments rejected that share no row with it, per table. *Range, 5 sigma* and "
        "*MCGrad's p*: of the planted segment.\n\n" + table(["planted", *_METHODS], second)
    )
    planted_pair = power[2]
    finding = (
        f"False alarms in at most {levels[:, 0].max():.3f} of {tables:,} (by MCGrad's p-value in "
        f"{levels[:, 4].min():.2f} to {levels[:, 4].max():.2f}). 1.35 times a risk of .29 on 1/18 of 20,000 rows is "
        f"found in {planted_pair[0]:.0%} of draws. It is listed by name in {planted_pair[1]:.0%} (5 sigma: "
        f"{planted_pair[6]:.0%})."
    )
    return Reproduction("Finding miscalibrated segments: false alarms and power", finding, body)


def features_of(rng: np.random.Generator, n: int) -> list[Feature]:
    """Six features, the last of which is nearly the first."""
    codes = [rng.integers(0, k, n) for k in (6, 3, 3, 5, 4)]
    moved = np.where(rng.random(n) < 0.1, rng.integers(0, 6, n), codes[0])
    return [
        Feature(f"f{i}", code, tuple(f"f{i} = {x}" for x in range(int(code.max()) + 1)))
        for i, code in enumerate([*codes, moved])
    ]


def _searched(
    rows: Rows, features: list[Feature], depth: int, seed: int
) -> tuple[FeatureLots, SegmentCandidates, ResampleSearch, IntArray]:
    units = units_of(rows, features)
    candidates = form(units, features, depth, 50)
    found = search(units, candidates, _REDRAWS, 0.99 * LEVEL, np.uint64(seed))
    return units, candidates, found, np.flatnonzero(found.pvalue <= 0.99 * LEVEL)


def _false_alarms(design: str, first: int, step: int) -> list[list[bool]]:
    """Of each table: whether each method accuses a sound segment."""
    return [_false_alarm(design, trial) for trial in range(first, first + step)]


def sound_and_broken(design: str, trial: int) -> tuple[list[Feature], tuple[Rows, Rows], Truth]:
    """Features of calibrated rows, these, the same with one segment broken, and which rows are in it."""
    rng = np.random.default_rng([7, list(DESIGNS).index(design), trial])
    features, v = features_of(rng, ROWS), DESIGNS[design](rng, ROWS)
    weight = np.exp(rng.normal(size=ROWS)) if design.startswith("weights") else None
    uniform = rng.random(ROWS)
    broken = inside_of(features, (0, 1), (0, 0))
    odds = np.where(broken, BROKEN, 1.0) * v / np.maximum(1.0 - v, 1e-300)
    outcomes = [(uniform < chance).astype(np.float64) for chance in (v, odds / (1.0 + odds))]
    free = weight is not None
    sound, faulty = (Rows.of(each, v, weight, outcome_free_weights=free) for each in outcomes)
    return features, (sound, faulty), broken


def _false_alarm(design: str, trial: int) -> list[bool]:
    features, (rows, one_broken), broken = sound_and_broken(design, trial)
    weight = rows.weight
    _, candidates, found, beyond = _searched(rows, features, 2, trial)
    totals = totals_of(rows, candidates)
    exact = np.ones(1) if weight is not None else _exact(rows, candidates)
    bonferroni = float(exact.min()) * len(candidates) <= LEVEL
    sigmas = float(_sigmas(candidates, found).max())
    _, candidates, _, accused = _searched(one_broken, features, 2, trial)
    return [
        beyond.size > 0,
        sound_among(features, candidates, accused, broken) > 0,
        bool((holm(totals.marginal) <= LEVEL).any()),
        bonferroni,
        _range_pvalue(sigmas) <= LEVEL,
        sigmas >= _SIGMAS,
    ]


def _powers(fault: str, first: int, step: int) -> list[list[float]]:
    return [_power(fault, trial) for trial in range(first, first + step)]


def planted(fault: str, trial: int) -> tuple[Rows, list[Feature], Truth, tuple[int, ...]]:
    """Rows with a fault, their features, which rows have it, and the features that it fixes, at their values 0."""
    depth, times, (a, b) = FAULTS[fault]
    rng = np.random.default_rng([8, list(FAULTS).index(fault), trial])
    n = PLANTED_ROWS
    features, v = features_of(rng, n), rng.beta(a, b, n)
    members = tuple(range(depth))
    inside = inside_of(features, members, (0,) * depth)
    wave = v + 0.5 * np.sin(2.0 * np.pi * v / 0.6) * v * (1.0 - v) * (v < 0.6)
    wrong = np.minimum(1.0, times * v) if times else wave
    return Rows.of((rng.random(n) < np.where(inside, wrong, v)).astype(np.float64), v), features, inside, members


def _power(fault: str, trial: int) -> list[float]:
    rows, features, inside, members = planted(fault, trial)
    values, depth = (0,) * len(members), len(members)
    units, candidates, found, beyond = _searched(rows, features, max(2, depth), trial)
    at = next(i for i in range(len(candidates)) if candidates.chosen[i] == members and candidates.values[i] == values)
    told = explained_once(units, candidates, ByRows(units, candidates, found, _REDRAWS), beyond)
    exact = _exact(rows, candidates)
    by_share = np.flatnonzero(false_discovery_control(exact) <= LEVEL)
    sigma = float(_sigmas(candidates, found)[at])
    return [
        at in beyond,
        at in told,
        sound_among(features, candidates, np.array(told, np.int64), inside),
        exact[at] * len(candidates) <= LEVEL,
        at in by_share,
        sound_among(features, candidates, by_share, inside),
        sigma >= _SIGMAS,
        _range_pvalue(sigma) <= LEVEL,
    ]


def inside_of(features: list[Feature], members: tuple[int, ...], values: tuple[int, ...]) -> Truth:
    """Which rows have these values of some features."""
    pairs = zip(members, values, strict=True)
    inside = np.ones(features[0].code.size, np.bool_)
    for i, x in pairs:
        inside &= features[i].code == x
    return inside


def sound_among(
    features: list[Feature], candidates: SegmentCandidates | Summed, accused: IntArray, broken: Truth
) -> int:
    """How many of the accused share no row with the broken ones."""
    return sum(not (inside_of(features, candidates.chosen[i], candidates.values[i]) & broken).any() for i in accused)


def _exact(rows: Rows, candidates: SegmentCandidates) -> FloatArray:
    """Two-sided p-values of every segment's number of events, each row at its prediction."""
    units = [
        np.flatnonzero(inside_of(list(candidates.features), *pair))
        for pair in zip(candidates.chosen, candidates.values, strict=True)
    ]
    order = np.concatenate(units)
    start = np.concatenate([[0], np.cumsum([each.size for each in units])[:-1]])
    v, ones = rows.y_prob[order], rows.y_true[order].astype(np.float64)
    logs = two_sided_log_pvalues(np.ones(v.size), (v, v), start, np.add.reduceat(ones, start))
    return np.asarray(np.minimum(1.0, np.exp(logs)))


def _sigmas(candidates: SegmentCandidates, found: ResampleSearch) -> FloatArray:
    return np.asarray(np.maximum(found.rise, -found.fall) / np.sqrt(candidates.second))


def _range_pvalue(x: float) -> float:
    """Probability that the range of a Brownian path on [0, 1] exceeds x (Feller 1951)."""
    if x < 0.5:
        return 1.0
    k = np.arange(1, 60)
    return float(8.0 * ((-1.0) ** (k - 1) * k * norm.sf(k * x)).sum())
