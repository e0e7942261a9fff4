"""An interval for every measure of the population: one event for each supremum of means, inequalities for the rest.

Proofs of the ends are in docs/bounds.md, those of the inequalities in docs/constants.md. The four ends of smooth error
and lower distance share most of the level; what is left is for the others, each a supremum of means over functions no
larger than |y - v| too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.inference.bounds.cells import AnyDraws
from calibrant.inference.bounds.draws import Draws, Learn
from calibrant.inference.bounds.functions import binned_function, kernel_function, lower_function, smooth_function
from calibrant.inference.bounds.one_event import Spread, lower_end
from calibrant.measures.registry import measures

HEADLINE = 0.2  # of the level, for each of the four ends of smooth error and lower distance
_OTHER = 0.2 / 9.0  # for each of at most nine ends besides
_ANY = Interval(0.0, 1.0)

# Constants of docs/constants.md.
KERNEL = math.sqrt(2.0)
"""The smooth error is at most so many Laplace kernel errors."""
SHIFTED = 1.0 / 8.0 + 1.0 / math.sqrt(48.0)
"""Over random shifts of a grid, predictions are within so many widths of their bin's mean, in the mean."""


def most_upper_distance(lower: float) -> float:
    """The most that the upper, and so the true, distance can be at this lower distance d: d + 1.468 sqrt(d (1 - d))."""
    return min(1.0, lower + math.sqrt(8.0 * SHIFTED * lower * max(0.0, 1.0 - lower)))


def most_interval_error(lower: float) -> float:
    """The most that the interval error can be at this lower distance d: d + sqrt(8 d (1 - d))."""
    return min(1.0, lower + math.sqrt(8.0 * lower * max(0.0, 1.0 - lower)))


def most_random_interval_error(lower: float, width: float) -> float:
    """The most that the random interval error at a width can be at this lower distance d: d + 2 d (1 - d) / width."""
    worst = min(lower, 0.5 + 0.25 * width, 1.0)  # from there on it falls
    return min(1.0, worst + 2.0 * worst * (1.0 - worst) / width)


def most_surrogate(lower: float) -> float:
    """The most that the surrogate interval error can be at this lower distance: at the best of its widths."""
    return min(1.0, *(most_random_interval_error(lower, 0.5**k) + 0.5**k for k in range(40)))


def most_convolved_error(lower: float) -> float:
    """The most that the convolved error can be at this lower distance d: the root of s = d + sqrt(2 / pi) d / s."""
    return min(1.0, 0.5 * (lower + math.sqrt(lower * lower + 4.0 * math.sqrt(2.0 / math.pi) * lower)))


_LEARNED: Mapping[str, Learn] = {
    "kernel_calibration_error": kernel_function,
    "expected_calibration_error": binned_function,
}
_RANDOM, _CONVOLVED = "random_interval_calibration_error", "convolved_calibration_error"
_QUADRATURE = 1e-6  # what the convolved error promises
_ABOVE = (_RANDOM, "averaged_two_bin_calibration_error", "cutoff_calibration_error")


def tightened(smooth: Interval, lower: Interval) -> tuple[Interval, Interval]:
    """Both, each at least half of the other."""

    def tight(each: Interval, other: Interval) -> Interval:
        low = max(each.low, other.low / 2.0)
        return Interval(low, max(low, min(each.high, 2.0 * other.high)))

    return tight(smooth, lower), tight(lower, smooth)


def teach(draws: AnyDraws | None) -> None:
    """Learn beforehand, beside other work, what is bet on for the gate and for the bounds of every measure."""
    if isinstance(draws, Draws):
        for learn in (lower_function, smooth_function, *(_LEARNED.values() if draws.moved is None else ())):
            draws.lessons(learn)


def direct(
    sample: Sample, draws: Draws, spread: Spread, level: float, values: Mapping[str, float]
) -> dict[str, Interval]:
    """Intervals that cost an event for each end: each end of all fails with probability at most `level` / 45.

    The random interval error at the width that is nearest to n^(-1/3) gives those of the "surrogate" and of the true
    distance, "true". `values` are those of the sample's measures that are known already.
    """
    each, known = _OTHER * level, measures()
    intervals = {}
    for name in (*_LEARNED, *_ABOVE):
        if name in known:
            value = values[name] if name in values else known[name].on_sample(sample, **known[name].parameters)
            low = lower_end(draws, _LEARNED[name], each) if name in _LEARNED else 0.0
            intervals[name] = Interval(low, max(low, spread.upper_end(value, each)))
    width = 2.0 ** -round(math.log2(draws.n_units) / 3.0)
    value = known[_RANDOM].on_sample(sample, width=width)
    most = spread.upper_end(value, each)
    # The convolved error falls with its bandwidth, so its fixed point is at most any bandwidth or the error there.
    bandwidth = max(1e-5, draws.n_units**-0.4)
    value = known[_CONVOLVED].on_sample(sample, bandwidth=bandwidth) + _QUADRATURE
    intervals[_CONVOLVED] = Interval(0.0, max(bandwidth, spread.upper_end(value, each)))
    return intervals | {"surrogate": Interval(0.0, most + width), "true": Interval(0.0, most + SHIFTED * width)}


def every_measure(
    smooth: Interval, lower: Interval, known: Mapping[str, Interval]
) -> tuple[Interval, dict[str, Interval]]:
    """Interval of the true distance, and of every registered measure with its default parameters."""
    s, d = smooth, lower
    surrogate = min(known.get("surrogate", _ANY).high, most_surrogate(d.high))
    least = max(d.low, s.low)
    width = float(measures()[_RANDOM].parameters["width"])
    binned, random = (known.get(name, _ANY) for name in ("expected_calibration_error", _RANDOM))
    widest = 1.0 / 15.0
    interval = min(surrogate, most_interval_error(d.high), binned.high + widest)
    ties: dict[str, tuple[float, float]] = {
        "smooth_calibration_error": (s.low, s.high),
        "lower_calibration_distance": (d.low, d.high),
        "interval_calibration_error": (least, interval),
        "surrogate_interval_calibration_error": (least, surrogate),
        _RANDOM: (max(d.low - SHIFTED * width, s.low - width / 4.0), most_random_interval_error(d.high, width)),
        "kernel_calibration_error": (s.low / KERNEL, math.sqrt(d.high)),
        _CONVOLVED: (d.low / 2.0, most_convolved_error(d.high)),
        "expected_calibration_error": (max(d.low - widest / 2.0, s.low - widest * (1.0 + widest) / 4.0), 1.0),
        "binned_calibration_error_bound": (max(least, binned.low + widest), binned.high + widest),
        "averaged_two_bin_calibration_error": (d.low, min(2.0 * s.high, 3.0 * d.high)),
        "cutoff_calibration_error": (max(d.low / 2.0, s.low / 1.5), 1.0),
        "monotone_decision_loss": (s.low * s.low, 2.0 * known.get("cutoff_calibration_error", _ANY).high),
    }

    def interval_of(name: str) -> Interval:
        tied, direct = ties.get(name, (0.0, 1.0)), known.get(name, _ANY)
        low = min(1.0, max(0.0, tied[0], direct.low))
        return Interval(low, max(low, min(1.0, tied[1], direct.high)))

    most = min(known.get("true", _ANY).high, random.high + SHIFTED * width, binned.high + widest / 2.0, interval)
    true = Interval(d.low, max(d.low, min(most, most_upper_distance(d.high))))
    return true, {name: interval_of(name) for name in measures()}
