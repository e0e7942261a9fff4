"""What a reader sees first: the curve against local rates, its band, the direction and the examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.findings.reliability import Reliability, fitted_curve, reliability
from calibrant.inference.testing.calibration import calibration_test_on_sample
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant_papers.predictions import top_label
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, needed, table
from calibrant_papers.tcal_tables import DATASETS

Draw = Callable[[np.random.Generator, int], FloatArray]
Truth = Callable[[FloatArray], FloatArray]

_LEVEL, _SCREENED = 0.05, 50  # rows that a window needs
_RESAMPLES = 199  # of the test
_RUNS = {500: 40, 1500: 10, 5000: 40, 50_000: 5}  # samples of each size


def _of_log_odds(change: Truth) -> Truth:
    return lambda v: np.asarray(expit(change(logit(np.clip(v, 1e-12, 1.0 - 1e-12)))))


def _uniform(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.random(n)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n)


def _atoms(rng: np.random.Generator, n: int) -> FloatArray:
    return np.asarray(rng.choice([0.0, 1.0, np.nan], n, p=[0.1, 0.1, 0.8]))


def _with_atoms(rng: np.random.Generator, n: int) -> FloatArray:
    atoms = _atoms(rng, n)
    return np.where(np.isnan(atoms), rng.random(n), atoms)


# Predictions, the rate of the event at each, and which way they err; None where they do not.
_SHAPES: dict[str, tuple[Draw, Truth, str | None]] = {
    "calibrated, uniform": (_uniform, lambda v: v, None),
    "calibrated, most above 90%": (_beta(6.0, 0.4), lambda v: v, None),
    "log-odds too large by 1.5": (_beta(1.5, 1.5), _of_log_odds(lambda x: x / 1.5), "too confident"),
    "log-odds too large by 2, in corners": (_beta(0.3, 0.3), _of_log_odds(lambda x: x / 2.0), "too confident"),
    "log-odds too small by 1.4": (_beta(2.0, 2.0), _of_log_odds(lambda x: 1.4 * x), "not confident enough"),
    "too low by .4 of log-odds": (_beta(1.0, 3.0), _of_log_odds(lambda x: x + 0.4), "too low"),
    "too high by .3 of log-odds": (_uniform, _of_log_odds(lambda x: x - 0.3), "too high"),
    "too high above one half only": (_uniform, lambda v: v - 0.3 * np.maximum(v - 0.5, 0.0), "too high"),
    "a bump at 30%": (_beta(1.5, 2.0), lambda v: v + 0.12 * np.exp(-0.5 * ((v - 0.3) / 0.06) ** 2), "too low"),
    "a jump at 60%": (_uniform, lambda v: np.where(v < 0.6, v + 0.08 * (1 - v), v - 0.1), "too confident"),
    "a wave": (_uniform, lambda v: np.clip(v + 0.08 * np.sin(15.7 * v), 0.0, 1.0), "uneven"),
    "atoms at 0 and 1": (
        _with_atoms,
        lambda v: np.where(v == 0.0, 0.04, np.where(v == 1.0, 0.93, v)),
        "too confident",
    ),
    "five values": (
        lambda rng, n: rng.choice([0.05, 0.2, 0.4, 0.6, 0.9], n),
        lambda v: np.interp(v, [0.05, 0.2, 0.4, 0.6, 0.9], [0.1, 0.25, 0.38, 0.52, 0.8]),
        "too confident",
    ),
    "rare events, 1.6 times as many": (lambda rng, n: 0.06 * rng.beta(1.0, 4.0, n), lambda v: 1.6 * v, "too low"),
}


def first_screen(quick: bool = False, data: Path | None = None) -> Reproduction:
    """Windows of the published networks and of planted truths, the band's coverage, directions and examples."""
    folder = needed(data)
    files, old, new, windows = _of_files(folder)
    runs = {500: 1} if quick else _RUNS
    sizes = tuple(runs)
    cells = [(name, n, runs[n]) for n in sizes for name in _SHAPES]
    planted = list(on_all_processors(_of_shape, cells))
    far, looked = (sum(each[k] for each in planted) for k in (0, 1))
    stated, right, named, calibrated = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    ratios: dict[int, list[float]] = {n: [] for n in sizes}
    rows = []
    for (name, n, trials), (beyond, all_windows, held, width, directions, ratio) in zip(cells, planted, strict=True):
        truth = _SHAPES[name][2]
        said = trials - directions[None]
        if truth is None:
            named[n] += said
            calibrated[n] += trials
        else:
            stated[n] += said
            right[n] += directions[truth]
        ratios[n] += ratio
        rows.append(
            [
                name, f"{n:,}", f"{beyond} of {all_windows:,}", f"{held / trials:.2f}", f"{width:.3f}",
                ", ".join(f"{each or 'none'} {many}" for each, many in directions.most_common()),
                f"{np.median(ratio):.2f}" if ratio else "-",
            ]
        )  # fmt: skip
    summary = [
        [
            f"{n:,}",
            f"{right[n]} of {stated[n]}",
            f"{named[n]} of {calibrated[n]}",
            f"{np.median(ratios[n]):.2f}" if ratios[n] else "-",
            f"{np.mean(np.array(ratios[n]) > 2.0):.1%} of {len(ratios[n]):,}" if ratios[n] else "-",
        ]
        for n in sizes
    ]
    body = (
        "## Published networks\n\nWindows of width .01 with at least 50 rows. A window is off if the mean of the "
        "curve is more than 3 standard errors from the share of events. *Smoothed*: the curve of earlier versions, "
        "residuals under a Gaussian of one bandwidth.\n\n"
        + table(["network", "windows", "smoothed", "averaged map"], files)
        + f"\n## Planted truths\n\nSamples a line: {', '.join(f'{many} of {n:,} rows' for n, many in runs.items())}. *Windows*: as above. *Band*: share of "
        "samples whose whole truth lies inside at 120 quantiles of the rows. *Width*: mean half width there. *Direction*: "
        "what an audit states: where the test rejects, what is read off the posterior. *Claimed / true*: median, over the two clearest ranges that are told, of the "
        "claimed over the true mean error.\n\n"
        + table(["truth", "rows", "windows", "band", "width", "direction", "claimed / true"], rows)
        + "\n## Directions and examples\n\n*Right*: of the directions that are stated where there is one. *Calibrated named*: "
        "a direction is stated where there is none. A jump and atoms are no smooth curves: the band misses them.\n\n"
        + table(["rows", "right", "calibrated named", "claimed / true, median", "over twice"], summary)
    )
    finding = (
        f"Of {windows} windows {new} are more than 3 standard errors off ({old} with one bandwidth), of planted truths "
        f"{far / max(looked, 1):.1%}. {sum(right.values())} of {sum(stated.values())} stated directions are right."
    )
    return Reproduction("The first screen: curve, band, direction and examples", finding, body)


def _of_files(folder: Path) -> tuple[list[list[str]], int, int, int]:
    lines, totals = [], np.zeros(3, dtype=np.int64)
    for network in dict.fromkeys(name for dataset in DATASETS for name in dataset.networks):
        y, v = top_label(folder, network)
        sample = Sample.from_columns(y, v)
        curve = fitted_curve(sample, None)
        old, all_windows = _windows(v, y, _smoothed(sample, v))
        new, _ = _windows(v, y, _rates(curve, v))
        totals += [old, new, all_windows]
        lines.append([network, f"{all_windows}", f"{old}", f"{new}"])
    old, new, all_windows = totals.tolist()
    lines.append(["all", f"{all_windows}", f"{old}", f"{new}"])
    return lines, old, new, all_windows


def _rates(curve: AveragedCurve, v: FloatArray) -> FloatArray:
    x = curve.log_odds(v)
    return np.asarray(expit(x + curve.moments(x)[0]))


def _windows(v: FloatArray, y: FloatArray, rate: FloatArray) -> tuple[int, int]:
    """Windows that are off, and all that have rows enough."""
    window = np.minimum((100.0 * v).astype(np.int64), 99)
    count, events, mean, variance = (
        np.bincount(window, each, 100) for each in (np.ones(v.size), y, rate, rate * (1.0 - rate))
    )
    enough = count >= _SCREENED
    off = np.abs(events - mean) > 3.0 * np.sqrt(variance)
    return int((off & enough).sum()), int(enough.sum())


def _smoothed(sample: Sample, v: FloatArray) -> FloatArray:
    """The curve of earlier versions: prediction plus mean residual under a Gaussian reflected at 0 and 1."""
    at, mass = sample.prediction, sample.mass()
    span = float(at[-1] - at[0])
    noise = float((mass * mass / sample.count * at * (1.0 - at)).sum())
    width = max(float(np.cbrt(span * noise / (4.0 * math.sqrt(math.pi) * 0.3**2))), span / 100.0)
    grid = np.linspace(at[0], at[-1], 257)
    top, bottom = np.zeros(grid.size), np.zeros(grid.size)
    for image in (at, -at, 2.0 - at):
        for part in np.array_split(np.arange(at.size), max(1, at.size // 2000)):
            near = np.exp(-0.5 * ((grid[:, None] - image[part]) / width) ** 2)
            top += near @ sample.residual()[part]
            bottom += near @ mass[part]
    return np.asarray(np.clip(v + np.interp(v, grid, top / bottom), 0.0, 1.0))


def _of_shape(name: str, n: int, trials: int) -> tuple[int, int, int, float, Counter[str | None], list[float]]:
    draw, rate, _ = _SHAPES[name]
    off = looked = held = 0
    width, directions, ratios = 0.0, Counter[str | None](), list[float]()
    for trial in range(trials):
        rng = np.random.default_rng([list(_SHAPES).index(name), n, trial])
        v = draw(rng, n)
        truth = rate(v)
        y = (rng.random(n) < truth).astype(np.float64)
        sample = Sample.from_columns(y, v)
        curve = fitted_curve(sample, None)
        found = reliability(sample, _LEVEL, curve=curve, axis="linear")
        some, every = _windows(v, y, _rates(curve, v))
        off, looked = off + some, looked + every
        inside, half = _band(found, np.unique(np.quantile(v, (np.arange(120) + 0.5) / 120)), rate)
        held, width = held + inside, width + half / trials
        # An audit states a direction, and tells ranges, where the test rejects.
        if not calibration_test_on_sample(sample, _LEVEL, _RESAMPLES, trial).reject:
            directions[None] += 1
            continue
        directions[found.direction] += 1
        for region in found.regions[:2]:
            here = (v >= region.low) & (v <= region.high)
            ratios.append(abs(region.mean_error) / max(abs(float((truth - v)[here].mean())), 1e-9))
    return off, looked, held, width, directions, ratios


def _band(found: Reliability, at: FloatArray, rate: Truth) -> tuple[bool, float]:
    """Whether the truth is inside at the points of the table that have rows, near these predictions; the half width."""
    assert found.band_lower is not None
    assert found.band_upper is not None
    near = np.unique(np.abs(found.prediction[:, None] - at).argmin(axis=0))
    near = near[np.isfinite(found.outcome[near])]
    truth, low, high = rate(found.prediction[near]), found.band_lower[near], found.band_upper[near]
    return bool(((low <= truth) & (truth <= high)).all()), float((high - low).mean()) / 2.0
