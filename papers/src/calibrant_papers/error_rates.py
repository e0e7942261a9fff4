"""Measured error rates: power of every test against three departures, coverage of every interval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import calibrant
from calibrant import synthetic
from calibrant.door.columns import FloatArray
from calibrant.inference.bounds.squared_error import squared_error_bootstrap, squared_error_interval
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.type_one import LEVEL, REDRAWN

_RIVALS = ("tcal_test", *REDRAWN)
_DEPARTURES: dict[str, tuple[str, tuple[float, ...], Callable[[int, float, int], tuple[FloatArray, FloatArray]]]] = {
    "temperature": (
        "temperature of the predictor (1: calibrated)",
        (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6),
        synthetic.temperature_family,
    ),
    "oscillation": (
        "height rho of 10 bumps (equation 10)",
        (0.0, 10.0, 20.0, 30.0, 40.0, 50.0),
        lambda n, rho, seed: synthetic.oscillating(n, 10, 0.6, rho, seed),
    ),
    "hidden bias": (
        "bias of each of 30 predictions, in a random direction",
        (0.0, 0.03, 0.06, 0.09, 0.12, 0.15),
        lambda n, bias, seed: synthetic.hidden_bias(n, 30, bias, seed),
    ),
}


def power(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often each test rejects, against departures of three kinds."""
    n, trials = (200, 1) if quick else (2000, 400)
    cells = [
        (name, departure, n, strength, trials)
        for departure, (_, strengths, _) in _DEPARTURES.items()
        for name in _RIVALS
        for strength in strengths
    ]
    rejected = dict(zip(cells, on_all_processors(_rejections, cells), strict=True))
    figure = Figure(figsize=(7, 9), layout="constrained")
    axes, parts, best = figure.subplots(len(_DEPARTURES), 1), [], []
    for ax, (departure, (label, strengths, _)) in zip(axes, _DEPARTURES.items(), strict=True):
        rows: list[list[object]] = []
        for k, name in enumerate(_RIVALS):
            rates = [rejected[name, departure, n, strength, trials] / trials for strength in strengths]
            ax.plot(strengths, rates, marker="ovs^D<>*"[k % 8], ms=4, lw=1.2, label=name.replace("_", " "))
            rows.append([name, *rates])
        ax.set(xlabel=label, ylabel=f"rejected of {trials}", ylim=(-0.02, 1.02))
        ax.axhline(LEVEL, color="0.6", lw=0.8, ls=":")
        parts.append(f"## {departure.capitalize()}: {label}\n\n" + table(["test", *map(str, strengths)], rows))
        mean = {str(row[0]): float(np.mean([float(str(x)) for x in row[1:]])) for row in rows}
        best.append(f"against {departure} {max(mean, key=lambda name: mean[name])}")
    axes[0].legend(fontsize=7, ncols=2)
    note = f"Share of {trials} samples of {n:,} rows rejected at level {LEVEL}; 99 resamples, T-Cal 1,999.\n\n"
    finding = f"Most often rejects {', '.join(best)}; no test is best against all."
    return Reproduction("Power of the tests", finding, note + "\n".join(parts), figure)


def _rejections(name: str, departure: str, n: int, strength: float, trials: int) -> int:
    draw = _DEPARTURES[departure][2]
    resamples = 1999 if name == "tcal_test" else 99  # T-Cal splits the level between scales, as the paper has it
    more = {"correction": "bonferroni"} if name == "tcal_test" else {}
    test = getattr(calibrant.inference, name)
    return sum(
        test(*draw(n, strength, trial), level=LEVEL, n_resamples=resamples, random_state=trial, **more).reject
        for trial in range(trials)
    )


_COVERED = ("population: smooth", "population: distance", "bootstrap: smooth", "bootstrap: distance")


def interval_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often every interval and band holds, for calibrated predictors too."""
    sizes, trials, few = ((200,), 4, 4) if quick else ((200, 2000, 20_000), 1000, 200)
    shifts = (0.0, 0.02, 0.1)
    cells = [(n, shift, trials if n < 10_000 else few) for n in sizes for shift in shifts]
    bounds = [
        [f"{n:,}", shift, *(row for row in found)]
        for (n, shift, _), found in zip(cells, on_all_processors(_bounds_coverage, cells), strict=True)
    ]
    others = [(n, few) for n in sizes]
    bands = [
        [f"{n:,}", *found] for (n, _), found in zip(others, on_all_processors(_band_coverage, others), strict=True)
    ]
    worst = min(float(str(x)) for row in bounds for x in row[2:6])
    body = (
        f"Nominal 0.95. {trials:,} trials per row for bounds up to 2,000 rows, {few:,} else.\n\n## Bounds for the population\n\n"
        "Shifted uniform predictors, whose smooth error and lower distance are the shift. Both ends, together.\n\n"
        + table(["rows", "truth", *_COVERED, "mean width: population", "bootstrap"], bounds)
        + "\n## Isotonic regions and squared error, calibrated predictors\n\n"
        "Regions of the isotonic curve: consistency at each point, confidence at all points at once. Squared error of a binned calibrated predictor (truth 0): the theorem's interval where it applies, and the "
        "bootstrap's.\n\n"
        + table(
            [
                "rows",
                "isotonic: consistency",
                "isotonic: confidence",
                "squared: theorem",
                "squared: bootstrap",
            ],
            bands,
        )
    )
    return Reproduction("Coverage of every interval", f"The lowest coverage of the bounds is {worst:.3f}.", body)


def _bounds_coverage(n: int, shift: float, trials: int) -> list[float]:
    held, widths = np.zeros(4), np.zeros(2)
    for trial in range(trials):
        rows = synthetic.shifted_uniform(n, shift, int(1e6 * n + trial))
        sure = calibrant.population_bounds(*rows)
        near = calibrant.bootstrap_bounds(*rows, n_resamples=199, random_state=trial)
        intervals = (sure.smooth_error, sure.lower_distance, near.smooth_error, near.lower_distance)
        held += [low <= shift <= high for low, high in intervals]
        widths += [intervals[1].width, intervals[3].width]
    return [*(held / trials).tolist(), *(widths / trials).tolist()]


def _band_coverage(n: int, trials: int) -> list[object]:
    held, applied, resampled, answered, isotonic = 0, 0, 0, 0, 0
    consistent: list[float] = []
    values = np.linspace(0.05, 0.95, 10)
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        y_prob = rng.choice(values, n)
        y_true = (rng.random(n) < y_prob).astype(np.float64)
        smooth = rng.random(n)
        regions = calibrant.inference.corp_regions(
            (rng.random(n) < smooth).astype(np.float64), smooth, n_resamples=199, random_state=trial
        )
        truth, curve = regions.prediction, regions.recalibrated
        isotonic += bool(((regions.confidence_lower <= truth) & (truth <= regions.confidence_upper)).all())
        consistent.append(float(((regions.consistency_lower <= curve) & (curve <= regions.consistency_upper)).mean()))
        estimate = calibrant.squared_calibration_error(y_true, y_prob)
        try:
            found_interval = squared_error_interval(estimate, n, values.size)
        except calibrant.InputError:
            pass
        else:
            applied += 1
            held += found_interval.interval.low <= 0.0 <= found_interval.interval.high
        try:
            again = squared_error_bootstrap(y_true, y_prob, n_resamples=199, random_state=trial)
        except calibrant.InputError:
            pass
        else:
            answered += 1
            resampled += again.interval.low <= 0.0 <= again.interval.high
    share = f"{held / applied:.3f}" if applied else "does not apply"
    again_share = f"{resampled / answered:.3f}" if answered else "refused"
    times = trials
    return [float(np.mean(consistent)), isotonic / times, share, again_share]
