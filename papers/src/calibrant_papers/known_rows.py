"""Few groups, the same items, and gates of rows sampled, censored or grouped: how often answers are wrong."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from calibrant.decisions.line import group_line
from calibrant.door.censoring import CensoredOutcomes, censored_outcomes
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.drift.periods import calibration_drift
from calibrant.inference.bounds.gate import calibration_gate
from calibrant.inference.comparison.compare import compare_calibration
from calibrant.inference.testing.tcal import tcal_test
from calibrant.measures.lower import lower_calibration_distance
from calibrant.measures.smooth import smooth_calibration_error
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.weighted_levels import DESIGNS, drawn, population

_LEVEL = 0.05
_RESAMPLES = 99
_LARGE = 200_000  # rows of a population whose errors are taken as true
_SIZES: dict[str, IntArray] = {
    "40, the largest ten times the least": (60 * (1 - (np.arange(40) + 0.5) / 40) ** -0.75).astype(int),
    "28 of 40": np.full(28, 40),
    "20 of 50": np.full(20, 50),
    "12 of 100": np.full(12, 100),
    "8 of 200": np.full(8, 200),
    "60, sizes lognormal (1)": np.exp(3.0 + np.sqrt(2.0) * np.linspace(-2.0, 2.0, 60)).astype(int) + 1,
    "200 of 1, 15 of 60": np.repeat([1, 60], [200, 15]),
}
_CHANCE = (("common", -1.0, 0.05), ("common", -1.0, 0.3), ("rare", -3.5, 0.05))
"""Of predictions, the mean of their log-odds, and the latent correlation within groups."""
_MAPS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": lambda p: p,
    ".02 too high": lambda p: np.clip(p + 0.02, 0.0, 1.0),
    ".03 too low": lambda p: np.clip(p - 0.03, 0.0, 1.0),
    "flat": lambda p: expit(0.8 * logit(p)),
    "steep": lambda p: expit(1.3 * logit(p) + 0.15),
    "far too sure": lambda p: 0.5 + 0.5 * expit(0.6 * logit(p) + 1.2),
    "five values": lambda p: np.array([0.1, 0.3, 0.5, 0.7, 0.9])[np.minimum((5.0 * p).astype(int), 4)],
    "two decimals, sure": lambda p: np.round(expit(2.5 * logit(p)), 2),
    ".05 too high": lambda p: np.clip(p + 0.05, 0.0, 1.0),
    ".05 too low": lambda p: np.clip(p - 0.05, 0.0, 1.0),
}
_BY_GROUPS = (("calibrated", ".05 too high"), ("steep", ".05 too high"))
"""Predictors of rows in few groups."""
_ITEMS: tuple[tuple[str, str, int, float, float, int], ...] = (
    ("calibrated", "calibrated", 1000, 0.5, 0.0, 0),
    ("calibrated", "calibrated", 1000, 0.5, 0.8, 0),
    ("calibrated", ".02 too high", 1000, 0.5, 0.5, 0),
    ("calibrated", "steep", 1000, 0.5, 0.5, 0),
    ("far too sure", "calibrated", 1000, 0.5, 0.5, 0),
    ("far too sure", "steep", 1000, 0.5, 0.5, 0),
    ("steep", "steep", 1000, 0.5, 0.8, 0),
    ("five values", "calibrated", 1000, 0.5, 0.5, 0),
    ("two decimals, sure", "calibrated", 1000, 1.0, 0.5, 0),
    ("calibrated", ".02 too high", 1000, -4.0, 0.5, 0),
    ("calibrated", ".02 too high", 300, 0.5, 0.5, 0),
    ("far too sure", "calibrated", 300, 0.5, 0.5, 0),
    ("calibrated", "steep", 1000, 0.5, 0.5, 10),
    ("far too sure", "calibrated", 1000, 0.5, 0.5, 10),
    ("calibrated", "flat", 1000, -1.0, 0.3, 0),
    (".03 too low", "calibrated", 500, 0.5, 0.6, 0),
    (".03 too low", "calibrated", 1000, 0.5, 0.6, 0),
    (".02 too high", ".03 too low", 500, 0.5, 0.5, 0),
    ("calibrated", ".02 too high", 1000, 0.5, 0.95, 0),
    (".03 too low", "calibrated", 300, -1.0, 0.9, 0),
    ("calibrated", ".02 too high", 1000, 0.5, 0.5, 10),
    (".05 too high", ".05 too low", 400, 0.5, 0.98, 0),
)
"""Both predictors, items, their mean log-odds, latent correlation of both outcomes, items of a topic (0: none)."""
_GATES = ("half of the non-events kept", "10% of the non-events kept", "10% of the events kept")
_PERIODS = 10
_CENSORED = ("10% censored within strata", "30% censored within strata", "60% censored within strata")


def known_rows(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often level and slope by few groups, differences by items, and ends of gates miss the truth."""
    lines, pairs, gates, differences, tests = (2, 1, 1, 1, 1) if quick else (80, 200, 200, 25, 100)
    few = [(name, *chance, lines) for name in _SIZES for chance in _CHANCE]
    items = [(k, pairs) for k in range(len(_ITEMS))][: 2 if quick else None]
    kinds = [(name, gates) for name in (*_GATES, *_CENSORED, *_GROUPED)]
    of_lines, of_items = on_all_processors(_of_lines, few), on_all_processors(_of_items, items)
    two = [(name, *chance, differences) for name in _SIZES for chance in _CHANCE][: 2 if quick else None]
    of_differences = on_all_processors(_of_differences, two)
    of_gates = on_all_processors(_of_gates, kinds)
    tested = [(name, tests) for name in _SIZES][: 2 if quick else None]
    of_tests = on_all_processors(_of_tests, tested)
    worst = min(min(*each[2:4], *each[6:]) for each in of_lines if each[1] >= 0.5)
    least, most = min(each[1] for each in of_items), max(max(each[:2]) for each in of_gates)
    apart = min((each[k] for each in of_differences for k in (1, 4) if each[0] >= 0.5), default=math.nan)
    body = (
        f"## Level and slope by few groups\n\n{lines} samples a line, {len(_SIZES)} kinds of groups. Log-odds of "
        "predictions are normal (deviation 1) around -1, or -3.5 where events are rare; outcomes of a group share a "
        "normal effect. *Worth*: median of the least of rows, events and non-events. Refused below 6, and not due from "
        f"30 on. Intervals at level {_LEVEL / 2} each. *Direction*: told of calibrated predictions; *found*: a "
        "slope below 1, of such whose slope is .6. *Followed*: covered where about 40% are not known at the horizon, by how long rows and groups "
        "are followed.\n\n"
        + table(
            [
                "groups",
                "events",
                "correlation",
                "worth",
                "answered",
                "O:E covered",
                "slope covered",
                "direction",
                "found",
                "followed: O:E",
                "slope",
            ],
            [
                [name, kind, f"{rho:g}", f"{a:.0f}", f"{b:.2f}", *(f"{each:.3f}" for each in rest)]
                for (name, kind, _, rho, _), (a, b, *rest) in zip(few, of_lines, strict=True)
            ],
        )
        + f"\n## Differences by few groups\n\n{differences} samples a line of the same groups, {_RESAMPLES} "
        f"resamples, nominal {1 - _LEVEL:g}. `compare_calibration` compares smooth errors of a calibrated predictor "
        "and one .05 too high, and of a steep one and that. *Told*: the share in which one is said to be better.\n\n"
        + table(
            ["groups", "events", "correlation", "answered", *("covered", "width", "told") * 2],
            [
                [name, kind, f"{rho:g}", f"{a:.2f}", *(f"{each:.3f}" for each in rest)]
                for (name, kind, _, rho, _), (a, *rest) in zip(two, of_differences, strict=True)
            ],
        )
        + f"\n## T-Cal and drift by few groups\n\n{tests} samples a line of the same groups, events common, correlation 0.3; "
        f"level {_LEVEL:g}. *T-Cal*, *drift*: calibrated samples that `tcal_test` ({_RESAMPLES} resamples) rejects, and "
        f"`calibration_drift` over {_PERIODS} periods. *Power*: T-Cal's where the slope is .6.\n\n"
        + table(
            ["groups", "T-Cal", "drift", "power"],
            [[name, *(f"{each:.3f}" for each in found)] for (name, _), found in zip(tested, of_tests, strict=True)],
        )
        + f"\n## The same items, different outcomes\n\n{pairs} samples a line, {_RESAMPLES} resamples, nominal "
        f"{1 - _LEVEL:g}. Smooth errors; the truth is that of {_LARGE:,} items. Both predictors' chances share the item's "
        "difficulty, and both outcomes a normal effect of the item, and of its topic of 10 items (correlation .3). "
        "*Known*: the width if the difference were normal without bias, and its deviation known. "
        "*Apart*: mean width without `items`, of a tenth of the samples. The standard error of .95 is "
        f"{math.sqrt(0.0475 / pairs):.3f}.\n\n"
        + table(
            [
                "first",
                "second",
                "items",
                "mean log-odds",
                "correlation",
                "truth",
                "covered",
                "width",
                "known",
                "apart",
                "told apart",
            ],
            [
                [first, second, f"{n:,}{', topics' if topic else ''}", f"{odds:g}", f"{r:g}", *_shown(numbers)]
                for (first, second, n, odds, r, topic), numbers in zip(_ITEMS, of_items, strict=False)
            ],
        )
        + f"\n## Gates\n\n{gates} samples a line of 1,000 rows, calibrated and with log-odds .75 times the predicted "
        f"ones (groups: .6 times). Ends are at level {_LEVEL:g} each, with the `max_weight` that is known. *Low*, "
        "*high*: an end "
        'that the truth is beyond: a false "beyond", or "within", at some limit. *Width*: mean.\n\n'
        + table(
            ["rows", "low wrong", "high wrong", "width", "width with the fault"],
            [[name, *(f"{each:.3f}" for each in found)] for (name, _), found in zip(kinds, of_gates, strict=True)],
        )
    )
    finding = (
        f"Level and slope by few groups are covered in at least {worst:.3f} at level {_LEVEL / 2}. Differences by few "
        f"groups are covered in at least {apart:.3f}, by items in at least {least:.3f} at level {_LEVEL:g}. An end of "
        f"a gate is wrong in at most {most:.3f}. By few groups T-Cal rejects at most "
        f"{max(each[0] for each in of_tests):.3f} of calibrated samples, drift {max(each[1] for each in of_tests):.3f}."
    )
    return Reproduction("Few groups, the same items, and gates", finding, body)


def _shown(numbers: tuple[float, ...]) -> list[str]:
    truth, covered, width, apart, told, known = numbers
    widths = [f"{width:.3f}", f"{known:.3f}", f"{apart:.3f}" if apart else "-"]
    return [f"{truth:.4f}", f"{covered:.3f}", *widths, f"{told:.2f}"]


def _uniform(
    sizes: IntArray, odds: float, correlation: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Of each row what is below its chance where it has the event, its prediction and its group."""
    group = np.repeat(np.arange(sizes.size), sizes)
    v = expit(odds + rng.standard_normal(group.size))
    shared, own = rng.standard_normal(sizes.size)[group], rng.standard_normal(group.size)
    below = ndtr(math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * own)
    return below, v, group


def _grouped(
    sizes: IntArray, odds: float, correlation: float, slope: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray]:
    below, v, group = _uniform(sizes, odds, correlation, rng)
    return (below < expit(slope * logit(v))).astype(np.float64), v, group


def _followed(below: FloatArray, v: FloatArray, group: IntArray, rng: np.random.Generator) -> CensoredOutcomes:
    """Outcomes at time 1 of the same rows with slope 1; how long rows are followed differs by row and by group."""
    came = np.log1p(-below) / np.log1p(-v)
    left = rng.uniform(0.2, 2.0, v.size) * np.exp(0.3 * rng.standard_normal(int(group.max()) + 1))[group]
    return censored_outcomes(np.minimum(came, left), came <= left, horizon=1.0, least_followed=0.05)


def _of_lines(name: str, _kind: str, odds: float, correlation: float, trials: int) -> tuple[float, ...]:
    """Worth, share that is answered, coverage of level and of slope, directions of calibrated and of flat outcomes.

    Last the coverage of both, were rows followed for a time.
    """
    worth, held, told, followed = [], [], [], []
    for trial in range(trials):
        rng = np.random.default_rng([zlib.crc32(name.encode()), trial])
        below, v, group = _uniform(_SIZES[name], odds, correlation, rng)
        y = (below < v).astype(np.float64)
        mass = [np.bincount(group, each) for each in (y, 1.0 - y, np.ones(y.size))]
        worth.append(min(each.sum() ** 2 / max((each**2).sum(), 1e-300) for each in mass))
        line = group_line(Rows.of(y, v, groups=group), _LEVEL)
        if line is not None:
            ends = line.observed_expected.interval, line.calibration_slope.interval
            held.append([*(low <= 1.0 <= high for low, high in ends), line.direction is not None])
        before = v
        y, v, group = _grouped(_SIZES[name], odds, correlation, 0.6, rng)
        line = group_line(Rows.of(y, v, groups=group), _LEVEL)
        if line is not None:
            told.append(line.calibration_slope.interval.high < 1.0)
        known = _followed(below, before, group, np.random.default_rng([zlib.crc32(name.encode()), trial, 9]))
        line = group_line(Rows.of(known.y_true, before, known.sample_weight, groups=group), _LEVEL)
        if line is not None:
            ends = line.observed_expected.interval, line.calibration_slope.interval
            followed.append([low <= 1.0 <= high for low, high in ends])
    shares = np.mean(held, axis=0).tolist() if held else [math.nan] * 3
    lost = np.mean(followed, axis=0).tolist() if followed else [math.nan] * 2
    return float(np.median(worth)), len(held) / trials, *shares, float(np.mean(told)) if told else math.nan, *lost


def _answers(
    k: int, n: int, rng: np.random.Generator
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray], IntArray]:
    """Chances, outcomes and predictions of both, and topics."""
    first, second, _, odds, correlation, topic = _ITEMS[k]
    hard = rng.standard_normal(n)
    chances = [expit(odds - hard + 0.5 * rng.standard_normal(n)) for _ in range(2)]
    shared = rng.standard_normal(n)
    latent = [math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * rng.standard_normal(n) for _ in chances]
    group = np.arange(n) // max(1, topic)
    if topic:
        common = rng.standard_normal(int(group.max()) + 1)[group]
        latent = [math.sqrt(0.3) * common + math.sqrt(0.7) * each for each in latent]
    y = [(ndtr(each) < p).astype(np.float64) for each, p in zip(latent, chances, strict=True)]
    return chances, y, [_MAPS[name](p) for name, p in zip((first, second), chances, strict=True)], group


def _of_items(k: int, trials: int) -> tuple[float, ...]:
    """Truth, share of intervals that hold it, mean width, that without items, share told apart, least width."""
    n, topic = _ITEMS[k][2], _ITEMS[k][5]
    chances, _, v, _ = _answers(k, _LARGE, np.random.default_rng([k]))
    one, other = (smooth_calibration_error(p, each) for p, each in zip(chances, v, strict=True))
    truth, found, apart, values = one - other, [], [], []
    for trial in range(trials):
        _, y, v, group = _answers(k, n, np.random.default_rng([k, trial]))
        options: dict[str, Any] = {"y_true_b": y[1], "n_resamples": _RESAMPLES, "random_state": trial}
        result = compare_calibration(y[0], *v, items="in order", groups=group if topic else None, **options)
        low, high = result.interval
        values.append(result.statistic)
        found.append(
            [low - 1e-3 <= truth <= high + 1e-3 if truth == 0.0 else low <= truth <= high, high - low, result.reject]
        )
        if not topic and trial < max(1, trials // 10):
            apart.append(compare_calibration(y[0], *v, **options).interval.width)
    covered, width, told = np.mean(found, axis=0).tolist()
    known = -2.0 * float(ndtri(0.5 * _LEVEL) * np.std(values))
    return truth, covered, width, float(np.mean(apart)) if apart else 0.0, told, known


def _of_differences(name: str, _kind: str, odds: float, correlation: float, trials: int) -> tuple[float, ...]:
    """Share that is answered, and of each two predictors coverage, mean width, and share in which one is better."""
    many = expit(odds + np.random.default_rng([3]).standard_normal(_LARGE))
    truth = {each: smooth_calibration_error(many, _MAPS[each](many)) for pair in _BY_GROUPS for each in pair}
    found: list[list[list[float]]] = [[] for _ in _BY_GROUPS]
    for trial in range(trials):
        rng = np.random.default_rng([zlib.crc32(name.encode()), trial, 5])
        y, v, group = _grouped(_SIZES[name], odds, correlation, 1.0, rng)
        for of, pair in zip(found, _BY_GROUPS, strict=True):
            options: dict[str, Any] = {"groups": group, "n_resamples": _RESAMPLES, "random_state": trial}
            try:
                result = compare_calibration(y, *(_MAPS[each](v) for each in pair), **options)
            except InputError:  # worth fewer than 6
                continue
            low, high = result.interval
            of.append([low <= truth[pair[0]] - truth[pair[1]] <= high, high - low, result.reject])
    shares = [each for of in found for each in (np.mean(of, axis=0).tolist() if of else [math.nan] * 3)]
    return len(found[0]) / trials, *shares


_GROUPED = {"40 hospitals": "40, the largest ten times the least", "28 groups of 40": "28 of 40"}


def _of_tests(name: str, trials: int) -> tuple[float, ...]:
    """Share that T-Cal and drift reject of calibrated predictions, and that T-Cal rejects of such with slope .6."""
    import pyarrow

    rejected = np.zeros(3)
    for trial in range(trials):
        rng = np.random.default_rng([zlib.crc32(name.encode()), trial, 6])
        for k, slope in enumerate((1.0, 0.6)):
            y, v, group = _grouped(_SIZES[name], -1.0, 0.3, slope, rng)
            result = tcal_test(y, v, groups=group, n_resamples=_RESAMPLES, random_state=trial)
            rejected[2 * k] += result.reject
            if not k:
                columns = {"y": y, "v": v, "g": group, "period": rng.integers(0, _PERIODS, y.size)}
                names: dict[str, Any] = {"y_true": "y", "y_prob": "v", "groups": "g", "by": "period"}
                rejected[1] += calibration_drift(pyarrow.table(columns), **names)[-1].reading.reject
    return tuple((rejected / trials).tolist())


def _of_gates(name: str, trials: int) -> tuple[float, ...]:
    """Share of lower and of upper ends that the truth is beyond, and mean widths."""
    wrong, widths = np.zeros(2), np.zeros(2)
    for fault in (False, True):
        truth = _true_distance(name) if fault else 0.0
        for trial in range(trials):
            rng = np.random.default_rng([zlib.crc32(name.encode()), int(fault), trial])
            if name in _GROUPED:
                sizes = _SIZES[_GROUPED[name]]
                y, v, group = _grouped(sizes, -1.0, 0.05, 0.6 if fault else 1.0, rng)
                gate = calibration_gate(
                    y, v, groups=group, max_weight=float(sizes.max()), max_distance=0.1, level=_LEVEL
                )
            else:
                design = next(each for each in DESIGNS if each.name == name)
                y, v, w = drawn(design, 1000, 0.75 if fault else 1.0, rng)
                most = 10.0 if name in _CENSORED else 1.0 / min(design.share, design.events)
                gate = calibration_gate(y, v, sample_weight=w, max_weight=most, max_distance=0.1, level=_LEVEL)
            low, high = gate.lower_distance
            wrong += [low > truth + 1e-4, high < truth - 1e-4]
            widths[int(fault)] += high - low
    return *(wrong / (2 * trials)).tolist(), *(widths / trials).tolist()


def _true_distance(name: str) -> float:
    """Lower distance of a population with the fault."""
    rng = np.random.default_rng([7])
    if name in _GROUPED:
        v = expit(-1.0 + rng.standard_normal(4_000))
        return lower_calibration_distance(expit(0.6 * logit(v)), v, tol=1e-6)
    design = next(each for each in DESIGNS if each.name == name)
    v = population(design, 4_000, 0.75, rng)[1]
    return lower_calibration_distance(expit(0.75 * logit(v)), v, tol=1e-6)
