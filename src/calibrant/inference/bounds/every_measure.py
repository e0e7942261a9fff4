"""An interval for every measure of the population: one event for each supremum of means, inequalities for the rest.

Proofs and constants are in docs/bounds.md. The four ends of smooth error and lower distance share most of the level;
what is left is for the others, each a supremum of means over functions no larger than |y - v| too.
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
_OTHER = 0.2 / 8.0  # for each of at most eight ends besides
_ANY = Interval(0.0, 1.0)

_LEARNED: Mapping[str, Learn] = {
    "kernel_calibration_error": kernel_function,
    "expected_calibration_error": binned_function,
}
_RANDOM = "random_interval_calibration_error"
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
    """Intervals that cost an event for each end: each end of all fails with probability at most `level` / 40.

    Of the random interval error also at the width that is nearest to n^(-1/3), as "surrogate". `values` are those of
    the sample's measures that are known already.
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
    intervals["surrogate"] = Interval(0.0, spread.upper_end(value, each) + width)
    return intervals


def every_measure(
    smooth: Interval, lower: Interval, known: Mapping[str, Interval]
) -> tuple[Interval, dict[str, Interval]]:
    """Interval of the true distance, and of every registered measure with its default parameters."""
    s, d = smooth, lower
    root = math.sqrt(d.high)
    surrogate = min(known.get("surrogate", _ANY).high, *((1.0 + 2.0 ** (k + 1)) * d.high + 0.5**k for k in range(40)))
    least = max(d.low, s.low)
    width = float(measures()[_RANDOM].parameters["width"])
    binned = known.get("expected_calibration_error", _ANY)
    widest = 1.0 / 15.0
    interval = min(surrogate, d.high + math.sqrt(8.0) * root, binned.high + widest)
    ties: dict[str, tuple[float, float]] = {
        "smooth_calibration_error": (s.low, s.high),
        "lower_calibration_distance": (d.low, d.high),
        "interval_calibration_error": (least, interval),
        "surrogate_interval_calibration_error": (least, surrogate),
        _RANDOM: (s.low - width / 2.0, (1.0 + 2.0 / width) * d.high),
        "kernel_calibration_error": (s.low / 3.0, root),
        "convolved_calibration_error": (d.low / 2.0, 2.0 * root),
        "expected_calibration_error": (max(d.low - widest, s.low - widest / 2.0), 1.0),
        "binned_calibration_error_bound": (max(least, binned.low + widest), binned.high + widest),
        "averaged_two_bin_calibration_error": (d.low, min(2.0 * s.high, 3.0 * d.high)),
        "cutoff_calibration_error": (max(d.low / 2.0, s.low / 1.5), 1.0),
        "monotone_decision_loss": (s.low * s.low, 2.0 * known.get("cutoff_calibration_error", _ANY).high),
    }

    def interval_of(name: str) -> Interval:
        tied, direct = ties.get(name, (0.0, 1.0)), known.get(name, _ANY)
        low = min(1.0, max(0.0, tied[0], direct.low))
        return Interval(low, max(low, min(1.0, tied[1], direct.high)))

    true = Interval(d.low, max(d.low, min(1.0, interval, 4.0 * root)))
    return true, {name: interval_of(name) for name in measures()}
