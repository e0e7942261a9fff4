"""Segments and intervals of predictions in them, as sums of groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.inference import group_evidence as evidence
from calibrant.resampling.redraw import LEAST_GROUPS
from calibrant.segments.formed import Formed, Units, each_set
from calibrant.segments.group_sums import effective_number, grouped, in_many_groups, squared, summed, sums_by_group

_MOST_SUMS = 150_000_000  # sums of a group in a part of a segment, kept in memory


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Segments, and equal intervals of predictions in them: whole, in 2, 4 and 8, where groups are enough.

    Attributes
    ----------
    segment, interval : ndarray of shape (parts,)
        Of each part the segment, rising, and the number of its interval; that of the whole, 0, comes first.
    sums : csr_array of shape (parts, groups)
        Each group's weighted events less those expected.
    total, squares : ndarray of shape (parts,)
        Their sums, and those of their squares.
    variance : ndarray of shape (parts,)
        Of their total, were all predictions calibrated and any two rows of a group correlated as they are on the whole.
    many : ndarray of shape (parts,)
        Whether events, and non-events, lie in the equal of `LEAST_GROUPS` groups or more.
    expected, lacking : ndarray of shape (parts,)
        The most that a group's predictions add up to, and what they lack of certain events.
    """

    segment: IntArray
    interval: IntArray
    sums: sparse.csr_array
    total: FloatArray
    squares: FloatArray
    variance: FloatArray
    many: npt.NDArray[np.bool_]
    expected: FloatArray
    lacking: FloatArray

    @property
    def first(self) -> IntArray:
        """Where each segment begins."""
        return np.flatnonzero(np.diff(self.segment, prepend=-1))

    @property
    def spread(self) -> FloatArray:
        """What a part's squared total is divided by: the squares, but never less than the variance."""
        return np.maximum(self.squares, self.variance)


def parts_of(units: Units, formed: Formed) -> Parts:
    """All segments, and their intervals of predictions in which events are to be expected in groups enough."""
    v, mass = units.prediction, units.weight * units.count
    deviation = np.sqrt(v * (1.0 - v))
    noise, events = units.weight * mass * deviation**2, units.weight * units.ones
    columns = (events - mass * v, mass * deviation, mass * v, mass * (1.0 - v), events, mass - events)
    group, found = grouped(units), []
    correlation, n_sums = 0.0, 0
    order = np.argsort(group, kind="stable")
    for first, n, rows, segment in each_set(formed, units.codes[:, order], v.size):
        of, place = _placed(v, order[rows], segment)
        wanted = in_many_groups(units, of, place, n * evidence.N_INTERVALS)
        wanted[:: evidence.N_INTERVALS] = True
        number = np.where(wanted, np.cumsum(wanted) - 1, -1)[place]
        of, number = of[number >= 0], number[number >= 0]
        shape = int(wanted.sum()), units.n_groups

        sums, together, expected, lacking, occurred, not_occurred = (
            sums_by_group(number, group[of], column[of], shape) for column in columns
        )
        alone = np.bincount(number, noise[of], shape[0])
        shared, squares = squared(together) - alone, np.maximum(squared(sums), 1e-290)
        if not first:
            correlation = _correlation(units, float(squares[0]), float(shared[0]))
        many = [effective_number(summed(each), squared(each)) >= LEAST_GROUPS for each in (occurred, not_occurred)]
        numbers = np.flatnonzero(wanted)
        n_sums += sums.nnz
        if n_sums > _MOST_SUMS:
            raise InputError(
                "features",
                f"make segments in which more than {_MOST_SUMS:,} sums of groups are to be kept",
                allowed="name fewer features, lower max_depth or take some of the groups, all rows of each",
            )
        found.append(
            (
                first + numbers // evidence.N_INTERVALS,
                numbers % evidence.N_INTERVALS,
                sums,
                summed(sums),
                squares,
                alone + correlation * shared,
                many[0] & many[1],
                expected.max(axis=1).toarray().ravel(),
                lacking.max(axis=1).toarray().ravel(),
            )
        )
    each_segment, interval, kept, *others = zip(*found, strict=True)
    sums = sparse.vstack(kept, format="csr")
    return Parts(np.concatenate(each_segment), np.concatenate(interval), sums, *map(np.concatenate, others))


def _correlation(units: Units, squares: float, shared: float) -> float:
    """Of any two rows of a group, as all pairs of rows show it, in the noise of calibrated predictions; at least 0."""
    v, w, ones = units.prediction, units.weight, units.ones
    own = float((w * w * (ones * (1.0 - v) ** 2 + (units.count - ones) * v * v)).sum())
    return min(1.0, max(0.0, (squares - own) / shared)) if shared > 0.0 else 0.0


def _placed(v: FloatArray, rows: IntArray, segment: IntArray) -> tuple[IntArray, IntArray]:
    """Each of some rows at every depth of intervals, and the number of its interval in its segment there."""
    parts = 2 ** np.arange(len(evidence.SHARES))[:, None]
    interval = parts - 1 + np.minimum((v[rows] * parts).astype(np.int64), parts - 1)
    return np.tile(rows, parts.size), (segment * evidence.N_INTERVALS + interval).ravel()


def sums_again(units: Units, formed: Formed, prediction: FloatArray, parts: Parts, of: IntArray) -> sparse.csr_array:
    """The groups' sums in the parts `of`, were the units predicted otherwise; intervals stay what they are."""
    excess = units.weight * (units.ones - units.count * prediction)
    wanted = parts.segment[of] * evidence.N_INTERVALS + parts.interval[of]
    found, order = [], np.argsort(grouped(units), kind="stable")
    for first, n, rows, segment in each_set(formed, units.codes[:, order], prediction.size):
        start = first * evidence.N_INTERVALS
        here = slice(*np.searchsorted(wanted, [start, start + n * evidence.N_INTERVALS]))
        if here.start == here.stop:
            continue
        number = np.full(n * evidence.N_INTERVALS, -1)
        number[wanted[here] - start] = np.arange(here.stop - here.start)
        inside, place = _placed(units.prediction, order[rows], segment)
        at = number[place]
        inside = inside[at >= 0]
        shape = here.stop - here.start, units.n_groups
        found.append(sums_by_group(at[at >= 0], grouped(units)[inside], excess[inside], shape))
    return sparse.vstack(found, format="csr")
