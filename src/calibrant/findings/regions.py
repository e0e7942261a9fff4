"""Where the predictor errs and in which direction, read off the witness of the smooth calibration error.

The sign of the witness h alone does not tell: where errors cancel on the whole, h + c is as good a witness as h. Its
level sets do tell. With r the residuals, J(c) = sum of r over {h > c} minus the sum over {h < c} is the error exposed
by calling predictions too low where h is above c and too high where it is below, and the average of J over c in [-1,
1] is the smooth error. The level with the largest J splits the predictions, less a charge for each change of side:
the witness of a finite sample follows single outcomes on the smallest scale, and a level among those wiggles would
split row from row.
"""

from __future__ import annotations

__all__ = ["Region"]

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.outwards import readable
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.findings.words import ends, number, percent
from calibrant.kernels.sums import dot
from calibrant.measures.smooth import Witness

FloatArray = npt.NDArray[np.float64]

_NEGLIGIBLE = 0.02  # share of the exposed error that a stretch needs to be told
_NOISE_A_CHANGE = 2.0  # standard deviations of the whole sample's error that a change of side must be worth
_RATES_A_CHANGE = 0.1  # share of the smooth error that it must be worth where the noise is not known
_LEAST = 1e-160  # standard error of chances too small to be squared
_IDLE = 0.01  # share of a stretch's error that each of its ends may lose


@dataclass(frozen=True, slots=True, repr=False)
class Region(Result):
    """A range of predictions that are too high, or too low, according to the witness.

    Attributes
    ----------
    low, high : float
        First and last prediction of the range.
    n_rows : int
        Rows in it.
    weight_share : float
        Its share of the weight.
    mean_error : float
        Mean outcome minus mean prediction: negative where predictions are too high.
    standard_error : float or None
        Standard deviation that `mean_error` would have if these predictions were calibrated, and weights independent of
        the outcomes; for rows in groups the root mean square of the groups' contributions. None for event rates, whose
        trials are not known.
    heaviest : float
        Largest share of its weight that a single row, or group, may have.
    share : float
        What the range contributes, mass * |mean error|, as a share of the error that the witness shows.
    mean_prediction : float
        Weighted mean of its predictions.
    before, after : float or None
        The nearest predictions of the sample outside the range; None if there are none.
    with_test : bool
        Whether calibration was tested: without it no verdict on chance is put in words.

    See Also
    --------
    Audit, audit
    """

    low: float
    high: float
    n_rows: int
    weight_share: float
    mean_error: float
    standard_error: float | None
    heaviest: float
    share: float
    mean_prediction: float
    before: float | None = None
    after: float | None = None
    with_test: bool = True

    @property
    def exceeds_noise(self) -> bool | None:
        """Whether the mean error is beyond noise: as unlikely as three standard errors; None for event rates.

        Two are common in a stretch chosen by looking. Bernstein's and Hoeffding's inequalities bound the probability
        of an error e of independent rows, none with a larger share h of the weight, by 2 exp(-x) with
        x = e**2 / (2 (standard_error**2 + e h / 3)) and x = KL(observed, predicted) / h; three standard errors of many
        rows make x 4.5, and of a few expected events the second is the sharper (docs/report.md). Of rows in groups
        groups take the place of rows, and the standard error is estimated.
        """
        if self.standard_error is None:
            return None
        error, observed = abs(self.mean_error), self.mean_prediction + self.mean_error
        bernstein = error * error > 9.0 * (self.standard_error**2 + error * self.heaviest / 3.0)
        return bernstein or _divergence(observed, self.mean_prediction) > 4.5 * self.heaviest

    @property
    def direction(self) -> str:
        """Whether predictions are too "high" or too "low"."""
        return "high" if self.mean_error < 0.0 else "low"

    @property
    def range_in_words(self) -> str:
        """Which predictions: taken literally, those of the stretch and no others of the sample."""
        return f"predictions {self.range_words}"

    @property
    def range_words(self) -> str:
        """The one prediction, or between which two: "of 0.5", "between 0.20 and 0.31"."""
        short = f"{self.low:.6g}"
        if self.high == self.low == float(short):
            return f"of {short}"
        return "between " + " and ".join(ends(self.low, self.high, self.before, self.after))

    @property
    def words(self) -> str:
        """The region in words, to stand in a sentence."""
        return (
            f"{self.range_in_words} are too {self.direction} by {number(abs(self.mean_error))} on average "
            f"({counted(self.n_rows, 'row')}, {percent(self.weight_share)})"
        )

    @property
    def noise_in_words(self) -> str | None:
        """How the mean error compares with chance, without a verdict where nothing was tested; None for event rates."""
        if self.standard_error is None:
            return None
        if self.standard_error == 0.0:
            return "a calibrated predictor could not err here at all"
        verdict = ", beyond noise" if self.exceeds_noise else ", not clear by itself"
        ratio = abs(self.mean_error) / self.standard_error
        ratio_words = f"{ratio:.1f}" if ratio < 1e4 else f"{ratio:.1g}"
        return f"{ratio_words} standard errors{verdict if self.with_test else ''}"

    def summary(self) -> str:
        """The region and how it compares with chance, to stand in a sentence."""
        return f"{self.words}: {self.noise_in_words}" if self.noise_in_words else self.words


@dataclass(frozen=True, slots=True, eq=False)
class _InGroups:
    """Rows that depend on one another: the groups' own sums give the noise of a stretch."""

    prediction: FloatArray
    excess: FloatArray
    mass: FloatArray
    group: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows | None) -> _InGroups | None:
        """None where every row is drawn by itself, and its weight says nothing of its outcome."""
        if rows is None or (rows.group is None and not rows.informative):
            return None
        group = np.arange(rows.y_prob.size) if rows.group is None else rows.group
        mass = rows.count if rows.weight is None else rows.weight * rows.count
        mass = mass / mass.sum()
        return cls(rows.y_prob, mass * (rows.y_true / rows.count - rows.y_prob), mass, group)

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Root of the sum of squares of the groups' excesses, and the largest mass of a group, in a stretch."""
        here = (self.prediction >= low) & (self.prediction <= high)
        excess, mass = (np.bincount(self.group[here], each[here]) for each in (self.excess, self.mass))
        return math.sqrt(dot(excess, excess)), float(mass.max())


def regions_from_witness(sample: Sample, witness: Witness, rows: Rows | None = None) -> tuple[Region, ...]:
    """Stretches of predictions on one side of the witness's best level, by contribution, negligible ones left out.

    Stretches of one side that only negligible ones separate are joined. `rows` say which belong together.
    """
    residual, mass, total = sample.residual(), sample.mass(), sample.total_weight
    chance = sample.prediction * (1.0 - sample.prediction)
    variance = sample.squared_weight / total / total * chance
    groups = _InGroups.of(rows)
    if groups is not None:  # as much more everywhere as it is on the whole
        variance = variance * (groups.within(0.0, 1.0)[0] ** 2 / max(float(variance.sum()), 1e-300))
    charge = _NOISE_A_CHANGE * float(np.sqrt(variance.sum()))
    if not sample.binary:  # the noise of event rates is not known
        variance, charge = np.zeros_like(variance), _RATES_A_CHANGE * witness.value
    side, exposed = _sides(witness.heights, residual, charge)
    if exposed <= 0.0:
        return ()
    contribution = side * residual
    start = np.concatenate([[0], np.flatnonzero(np.diff(side)) + 1])
    end = np.append(start[1:], side.size)
    relevant = np.add.reduceat(contribution, start) >= _NEGLIGIBLE * exposed
    joined: list[tuple[int, int]] = []
    for first, last in zip(start[relevant].tolist(), end[relevant].tolist(), strict=True):
        if joined and side[joined[-1][0]] == side[first]:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    regions = []
    trimmed = [_without_idle_ends(contribution, variance, first, last) for first, last in joined]
    between = [0, *(each.stop for each in trimmed)], [*(each.start for each in trimmed[1:]), side.size]
    for (first, _), tight, free_from, free_to in zip(joined, trimmed, *between, strict=False):
        stretch = _with_round_ends(sample.prediction, tight, free_from, free_to)
        weight, error = float(mass[stretch].sum()), float(residual[stretch].sum())
        low, high = float(sample.prediction[stretch.start]), float(sample.prediction[stretch.stop - 1])
        noise = _standard_error(chance, variance, stretch, weight)
        heaviest = float(_heaviest(sample, stretch)) / total
        if groups is not None:
            noise, heaviest = groups.within(low, high)
            noise /= weight
        if error * side[first] > 0.0:  # joining may have turned it
            regions.append(
                Region(
                    low=low,
                    high=high,
                    n_rows=round(float(sample.count[stretch].sum())),
                    weight_share=weight,
                    mean_error=error / weight,
                    standard_error=noise if sample.binary else None,
                    heaviest=min(1.0, heaviest / weight),
                    share=abs(error) / exposed,
                    mean_prediction=min(1.0, dot(mass[stretch], sample.prediction[stretch]) / weight),
                    before=float(sample.prediction[stretch.start - 1]) if stretch.start else None,
                    after=float(sample.prediction[stretch.stop]) if stretch.stop < side.size else None,
                )
            )
    return tuple(sorted(regions, key=lambda region: -region.share))


def _with_round_ends(v: FloatArray, stretch: slice, free_from: int, free_to: int) -> slice:
    """The stretch up to round numbers outside it, so that its ends can be told in few digits; short of its neighbours.

    The ends were within noise, so they may as well be where they are read easily.
    """
    if v[stretch.start] == v[stretch.stop - 1]:
        return stretch
    low, high = readable(float(v[stretch.start]), float(v[stretch.stop - 1]))
    first, last = np.searchsorted(v, float(low), "left"), np.searchsorted(v, float(high), "right")
    return slice(max(int(first), free_from), min(int(last), free_to))


def _divergence(rate: float, predicted: float) -> float:
    """Kullback-Leibler divergence between events of two rates; infinite where what was seen cannot be."""
    divergence = 0.0
    for a, b in ((rate, predicted), (1.0 - rate, 1.0 - predicted)):
        if a > 0.0:
            divergence += a * math.log(a / b) if b > 0.0 else math.inf
    return divergence


def _standard_error(chance: FloatArray, variance: FloatArray, stretch: slice, weight: float) -> float:
    """Exactly 0 only where outcomes are certain: chances too small for a variance are not."""
    error = float(np.sqrt(variance[stretch].sum())) / weight
    return error if error > 0.0 or not chance[stretch].any() else _LEAST


def _heaviest(sample: Sample, stretch: slice) -> float:
    """No row weighs more: at most sqrt(rows - 1) standard deviations above the mean of those at its prediction."""
    count, weight = sample.count[stretch], sample.weight[stretch] / sample.count[stretch]
    variance = np.maximum(sample.squared_weight[stretch] / count - weight * weight, 0.0)
    return float((weight + np.sqrt((count - 1.0) * variance)).max())


def _sides(heights: FloatArray, residual: FloatArray, charge: float) -> tuple[FloatArray, float]:
    """+1 where predictions are called too low and -1 where too high, and the error that this exposes."""
    order = np.argsort(heights, kind="stable")
    ordered = heights[order]
    below = np.concatenate([[0.0], np.cumsum(residual[order])])
    exposed = below[-1] - 2.0 * below
    # A cut puts the lowest so many heights on the low side; neighbours part at the cuts between their ranks.
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    lower, upper = np.minimum(rank[1:], rank[:-1]), np.maximum(rank[1:], rank[:-1])
    size = order.size + 2
    changes = np.cumsum(np.bincount(lower + 1, minlength=size) - np.bincount(upper + 1, minlength=size))[:-1]
    score = exposed - charge * changes
    score[1:-1][ordered[1:] == ordered[:-1]] = -np.inf  # equal heights stay together
    cut = int(np.argmax(score))
    side = np.ones(heights.size)
    side[order[:cut]] = -1.0
    return side, float(exposed[cut])


def _without_idle_ends(contribution: FloatArray, variance: FloatArray, first: int, last: int) -> slice:
    """Drop from both ends the longest parts whose contribution is negligible or within noise."""
    part, noise = contribution[first:last], variance[first:last]
    spare = _IDLE * part.sum()

    def idle(sums: FloatArray, variances: FloatArray) -> int:
        quiet = np.flatnonzero(sums <= np.maximum(spare, _NOISE_A_CHANGE * np.sqrt(variances)))
        return int(quiet[-1]) + 1 if quiet.size else 0

    head = idle(np.cumsum(part), np.cumsum(noise))
    tail = idle(np.cumsum(part[::-1]), np.cumsum(noise[::-1]))
    if head + tail >= part.size:  # the stretch as a whole is within noise
        return slice(first, last)
    return slice(first + head, last - tail)
