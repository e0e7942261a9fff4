"""Levels and power of tests by groups, where groups are few, rare, huge or unlike one another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from calibrant import InputError, calibration_test, censored_outcomes, smooth_calibration_test
from calibrant.door.columns import FloatArray, IntArray
from calibrant.resampling import redraw
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

Draw = Callable[[np.random.Generator], tuple[IntArray, FloatArray]]


def _groups(*sizes: tuple[int, int]) -> IntArray:
    return np.repeat(np.arange(sum(n for n, _ in sizes)), np.concatenate([np.full(n, size) for n, size in sizes]))


_DESIGNS: dict[str, Draw] = {
    "500 of 4 common rows, 20 of 100 rare ones": lambda rng: (
        _groups((500, 4), (20, 100)),
        np.concatenate([rng.uniform(0.2, 0.8, 2000), rng.uniform(0.02, 0.04, 2000)]),
    ),
    "40 of 30 at 2 to 8%": lambda rng: (_groups((40, 30)), rng.uniform(0.02, 0.08, 1200)),
    "60 of 50, every second row rare": lambda _rng: (_groups((60, 50)), np.tile([0.01, 0.5], 1500)),
    "3 of 1,000, 600 of 1": lambda rng: (_groups((3, 1000), (600, 1)), rng.uniform(0.1, 0.9, 3600)),
    "20 of 50": lambda rng: (_groups((20, 50)), rng.uniform(0.1, 0.6, 1000)),
    "200 of 10 at 5 to 15%": lambda rng: (_groups((200, 10)), rng.uniform(0.05, 0.15, 2000)),
    "1,000 of 3": lambda rng: (_groups((1000, 3)), rng.random(3000)),
    "300 of 1 to 40": lambda rng: (np.repeat(np.arange(300), rng.integers(1, 41, 300)), np.empty(0)),
}
_DEPENDENCE = "one chance", "correlated", "independent"
_RESAMPLES = 199
_KEPT = 0.25  # of rows without the event, where rows are sampled by outcome
_LEFT = 0.35  # rate of leaving, so that about three in ten are lost before the horizon


def unlike_groups(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of samples that tests by groups reject, calibrated and not, by signs alone and by the rule."""
    trials = 1 if quick else 300
    cells = [(design, dependence, trials) for design in _DESIGNS for dependence in _DEPENDENCE]
    found = list(on_all_processors(_shares, cells))
    body = (
        f"{trials:,} samples a row, level 0.05, {_RESAMPLES} resamples. Rows of a group have one chance, chances correlated "
        "by 0.5, or chances of their own. *Signs alone* is `calibration_test` with random signs of all groups. *Rule* is "
        "`calibration_test`, *smooth* `smooth_calibration_test`, as they stand: signs where groups are many and alike "
        "enough, a bound for any dependence elsewhere (docs/calibration-test.md). *Power* is the rule's where the "
        "predictions' log-odds are 1/0.6 times too large. *Sampled* and *at a horizon* are the rule of calibrated rows. "
        f"There {_KEPT:g} of those without the event were kept, or each row leaves at the rate {_LEFT:g} before a horizon at 1. "
        "*Refused*: groups are too few for rows that weigh differently, in half of the samples or more.\n\n"
        + table(
            ["groups", "rows of a group have", "signs alone", "rule", "smooth", "power", "sampled", "at a horizon"],
            [
                [d, of, *("refused" if np.isnan(each) else f"{each:.3f}" for each in shares)]
                for (d, of, _), shares in zip(cells, found, strict=True)
            ],
        )
    )
    signs, rule, smooth, _, sampled, followed = (np.nanmax([shares[k] for shares in found]) for k in range(6))
    finding = (
        f"The rule rejects at most {rule:.3f} of calibrated samples, {sampled:.3f} where rows were sampled by outcome and "
        f"{followed:.3f} at a horizon. The smooth test rejects {smooth:.3f}; signs alone {signs:.3f}."
    )
    return Reproduction("Tests by groups that are few, rare, huge or unlike", finding, body)


def _shares(design: str, dependence: str, trials: int) -> tuple[float, ...]:
    rejected, answered = np.zeros(6), 0
    for trial in range(trials):
        rng = np.random.default_rng([list(_DESIGNS).index(design), trial])
        group, v = _DESIGNS[design](rng)
        v = rng.random(group.size) if not v.size else v
        flatter = 1.0 / (1.0 + ((1.0 - v) / v) ** 0.6)
        y, y_flatter = (_outcomes(group, each, dependence, rng) for each in (v, flatter))
        options: dict[str, Any] = {"groups": group, "n_resamples": _RESAMPLES, "random_state": trial}
        least, redraw.LEAST_GROUPS = redraw.LEAST_GROUPS, 0
        try:
            rejected[0] += calibration_test(y, v, **options).reject
        finally:
            redraw.LEAST_GROUPS = least
        rejected[1] += calibration_test(y, v, **options).reject
        rejected[2] += smooth_calibration_test(y, v, **options).reject
        rejected[3] += calibration_test(y_flatter, v, **options).reject
        kept = (y == 1.0) | (rng.random(y.size) < _KEPT)
        sampled = {**options, "groups": group[kept], "sampling_fractions": {0: _KEPT, 1: 1.0}}
        rejected[4] += calibration_test(y[kept], v[kept], **sampled).reject
        came, left = rng.random(y.size) + 2.0 * (y == 0.0), rng.exponential(1.0 / _LEFT, y.size)
        known = censored_outcomes(np.minimum(came, left), came <= left, 1.0)
        weights = {"sample_weight": known.sample_weight[known.known], "groups": group[known.known]}
        try:
            rejected[5] += calibration_test(known.y_true[known.known], v[known.known], **{**options, **weights}).reject
            answered += 1
        except InputError:  # too few groups for rows that weigh differently
            continue
    shares = rejected / trials
    shares[5] = rejected[5] / answered if answered > trials / 2 else np.nan
    return tuple(shares.tolist())


def _outcomes(group: IntArray, v: FloatArray, dependence: str, rng: np.random.Generator) -> FloatArray:
    shared, own = rng.standard_normal(int(group.max()) + 1)[group], rng.standard_normal(group.size)
    share = {"one chance": 1.0, "correlated": 0.5, "independent": 0.0}[dependence]
    return np.asarray(norm.cdf(np.sqrt(share) * shared + np.sqrt(1.0 - share) * own) < v, dtype=np.float64)
