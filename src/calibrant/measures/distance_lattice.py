"""True distance of a uniform noiseless domain, elements of equal mass and outcome 0 or 1: exact (docs/distance.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.door.arguments import TimeLimit
from calibrant.door.sample import Sample
from calibrant.kernels import lattice
from calibrant.kernels.sums import compensated_dot, compensated_sum, labelled_sums
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.lower import LowerCertificate
from calibrant.measures.lower_check import UNIT, Potentials, overdraft, second_order

_MOST_STATES = 10_000_000  # a state takes about 100 bytes
_MUCH = 1000  # steps looked at for an element, by a first guess, where many partitions are equally good
_LAST = 3000  # and by a look, after which there is no wider one
_LOOKS = 5  # corridors that are looked through, each twice as wide, before anything is proven
_ONE_WAY = 1e-7  # how near potentials must be to those of predictions that err one way, to be made them
_DETOUR = 2.0  # splitting a part never costs more; a first search leaves out states only if paths are longer by more
_CLOSED = 1e-10  # of a path's length per element: shorter is as good as 0


class LatticeProblem:
    """Best partition and best lower bound found so far.

    Attributes
    ----------
    credit : float
        What the potentials alone prove: the sum of r over the elements, in units of one element's mass.
    rounding : float
        More than `credit + proven` can have been overrated, as a share of all elements' mass.
    proven, length : float
        A shortest path is at least `proven` and at most `length` long, in the same units.
    labels : ndarray of shape (n,)
        Part of each element in the best partition found, numbered from 0.
    """

    def __init__(self, v: FloatArray, y: FloatArray, relaxation: LowerCertificate, labels: IntArray) -> None:
        self._n = v.size
        coupling = relaxation.coupling
        potentials, too_high, too_low = _exactly_one_way(relaxation.potentials)
        self._order = [np.flatnonzero(y == label) for label in (0.0, 1.0)]
        self._order = [rows[np.argsort(v[rows], kind="stable")] for rows in self._order]
        self._sides = []
        for rows, r in zip(self._order, (potentials.r0, potentials.r1), strict=True):
            self._sides.append((v[rows], r[np.searchsorted(potentials.nodes, v[rows])]))
        self.rounding = rounding_of_paths(v.size, max(float(np.abs(r).max(initial=0.0)) for _, r in self._sides))
        self.rounding += overdraft(potentials)
        self._grain = grain_of_paths(v.size)
        self._forward, self._backward = [_side(*side) for side in self._sides], _mirrored(self._sides)
        others = shifted_potentials(potentials, v.size)
        heights = [other.r0 for other in others], [other.r1 for other in others]
        more = [more_than_credit(*side, potentials.nodes, h) for side, h in zip(self._sides, heights, strict=True)]
        self._ahead = [from_there_on(side, v.size) for side in more]
        self._behind = [from_there_on(side[::-1], v.size) for side in reversed(more)]
        # The search with all that is known comes from the end where predictions err one way, if there is one.
        self._from_end = bool(np.count_nonzero(v >= too_low) >= np.count_nonzero(v <= too_high))
        self._share = 0.5
        self._top = 1.0 - too_low if self._from_end else too_high
        self.credit = float(sum(r.sum() for _, r in self._sides))
        self.labels = labels
        mean = np.bincount(labels, y) / np.bincount(labels)
        self.proven, self.length = 0.0, float(np.abs(v - mean[labels]).sum()) - self.credit

        # How many zeros are among the elements with the lowest targets, at each level of the path that the coupling is.
        by_target = np.argsort(coupling.u, kind="stable")
        mass = coupling.mass[by_target] * v.size
        zeros = np.where(coupling.y[by_target] == 0.0, mass, 0.0)
        self._centre = np.interp(np.arange(v.size + 1.0), np.append(0.0, mass.cumsum()), np.append(0.0, zeros.cumsum()))

    @property
    def closed(self) -> bool:
        """Whether nothing is left between the two bounds."""
        return self.length - self.proven <= _CLOSED * self._n

    def solve(self, clock: TimeLimit) -> None:
        """Look near the coupling, then raise the length below which there is no path until one is found."""
        for wider in range(_LOOKS):
            if self.closed or clock.up or self._look(0.25 * 2**wider, 4.0 * 2**wider, clock) > _LAST * self._n:
                break
        guess, before = 0.125, 0
        while not (self.closed or clock.up):
            # The shortest path that is known is likely the shortest of all: near its length, that is tried at once.
            work = self._prove(guess if 2.0 * guess < self.length else self.length, clock)
            if work is None:
                return
            # The work grows with the cube of the guess, except where many partitions are equally good.
            indifferent = work <= 1.5 * before if before else work > _MUCH * self._n
            guess *= 64.0 if indifferent else 1.5
            before = work

    def _look(self, slack: float, radius: float, clock: TimeLimit) -> int:
        """Look for a shorter path next to the coupling's; the work it took."""
        corridor = self._corridor(self._ahead, self.length, np.full(self._n + 1, self.length), radius, slack)
        result: lattice.Found = clock.run(lattice.shortest_path, *self._forward, corridor, _MOST_STATES, clock.stop)
        self._keep(result, False)
        return result.work

    def _prove(self, guess: float, clock: TimeLimit) -> int | None:
        """Find the shortest path if it is no longer than the guess, else prove that it is longer; the work it took.

        None if it was given up.

        A state is on such a path only if the lengths from the start and to the end add up to at most the guess. The
        first search learns how far states and levels are from its end, up to a share of the guess, and goes no farther
        than to where predictions err one way; the second comes from there.
        """
        there, here = self._forward, self._backward
        ahead = self._ahead, self._behind
        if not self._from_end:
            there, here, ahead = here, there, ahead[::-1]
        one_way = int(sum(np.count_nonzero(side.v <= self._top) for side in here))
        reach = self._share * guess
        half = self._corridor(ahead[0], guess + _DETOUR, np.full(self._n + 1, reach), last=self._n - one_way + 1)
        first: lattice.Found = clock.run(lattice.shortest_path, *there, half, _MOST_STATES, clock.stop)
        self._keep(first, not self._from_end)
        if not first.complete:
            return None
        if first.length <= reach and one_way == 0:
            self.proven = max(self.proven, first.length)
            return first.work
        known = np.minimum.accumulate(np.minimum(first.least, reach)[::-1])  # of this level or any nearer
        known[:one_way] = known[max(0, one_way - 1)]
        free = int(np.count_nonzero(here[0].v <= self._top))
        whole = self._corridor(ahead[1], guess, guess - known, free=free, top=self._top)
        whole = whole._replace(other=first.states, reach=reach, since=one_way)
        second: lattice.Found = clock.run(lattice.shortest_path, *here, whole, _MOST_STATES, clock.stop)
        self._keep(second, self._from_end)
        if not second.complete:
            return None
        self.proven = max(self.proven, min(second.length, guess))
        if max(first.work, second.work) > 2 * min(first.work, second.work):  # the easier search goes farther
            self._share = min(max(self._share + (0.1 if first.work < second.work else -0.1), 0.2), 0.8)
        return first.work + second.work

    def _corridor(
        self,
        ahead: list[FloatArray],
        total: float,
        budget: FloatArray,
        radius: float = np.inf,
        slack: float = np.inf,
        *,
        last: int | None = None,
        free: int = 0,
        top: float = -1.0,
    ) -> lattice.Corridor:
        last = self._n if last is None else last
        ahead0, ahead1 = ahead
        none = lattice.States(np.empty((0, 2), np.int64), np.empty(0), np.full(1, -1))
        return lattice.Corridor(
            budget, self._centre, radius, slack, last, free, top, self._grain, total, ahead0, ahead1, none, 0.0, self._n
        )

    def _keep(self, shortest: lattice.Found, from_end: bool) -> None:
        if shortest.path.shape[0] == 0 or shortest.length >= self.length:
            return
        self.length = shortest.length
        self.labels = np.empty(self._n, np.int64)
        end = np.array([side.v.size for side in self._forward], np.int64)
        path = end - shortest.path[::-1, ::-1] if from_end else shortest.path
        for rows, cuts in zip(self._order, path.T, strict=True):
            self.labels[rows] = np.repeat(np.arange(cuts.size - 1), np.diff(cuts))


def _exactly_one_way(potentials: Potentials) -> tuple[Potentials, float, float]:
    """Potentials made exact where predictions err one way, and where that is: up to the first value, from the second.

    r0(u) = u and r1(u) = u - 1 up to one value, r0(u) = -u and r1(u) = 1 - u from the other. Elsewhere they are lowered
    by what they lack of being feasible, without which lengths would be negative. Where that does not make them
    feasible, between the last value of one kind and the first of the other, only nearer ones are made exact.
    """
    for near in (_ONE_WAY, 1e-3 * _ONE_WAY, 0.0):
        made = _one_way_within(potentials, near)
        if overdraft(made[0]) <= _CLOSED:
            break
    return made


def _one_way_within(potentials: Potentials, near: float) -> tuple[Potentials, float, float]:
    nodes, r0, r1 = potentials.nodes, potentials.r0.copy(), potentials.r1.copy()
    high = np.logical_and.accumulate((np.abs(r0 - nodes) <= near) & (np.abs(r1 + 1.0 - nodes) <= near))
    low = (np.abs(r0 + nodes) <= near) & (np.abs(r1 - 1.0 + nodes) <= near)
    low = np.logical_and.accumulate(low[::-1])[::-1]
    r0[high], r1[high] = nodes[high], nodes[high] - 1.0
    r0[low], r1[low] = -nodes[low], 1.0 - nodes[low]
    over = overdraft(Potentials(nodes, r0, r1))
    elsewhere = ~(high | low)
    r0[elsewhere] -= over
    r1[elsewhere] -= over
    up_to, since = nodes[high].max(initial=-1.0), nodes[low].min(initial=2.0)
    return Potentials(nodes, r0, r1), float(up_to), float(since)


def _mirrored(sides: list[tuple[FloatArray, FloatArray]]) -> list[lattice.Side]:
    return [_side(1.0 - v[::-1], r[::-1]) for v, r in reversed(sides)]


def _side(v: FloatArray, r: FloatArray) -> lattice.Side:
    """Elements of one outcome with what the kernel reads off them."""
    v, r = np.ascontiguousarray(v), np.ascontiguousarray(r)
    cells = 2 * v.size + 1
    low = np.full(1, -9.0)  # below any potential
    return lattice.Side(
        v,
        np.append(0.0, v.cumsum()),
        np.append(0.0, r.cumsum()),
        np.append(low, np.maximum.accumulate(r + v)),
        np.append(np.maximum.accumulate((r - v)[::-1])[::-1], low),
        np.searchsorted(v, np.arange(cells + 2) / cells, side="right"),
    )


_MOST = 16  # shifts
_SUMS = 1_600_000  # of each kind, so that a million rows do not take a gigabyte


def shifted_potentials(potentials: Potentials, n: int) -> list[Potentials]:
    """Feasible potentials that give more to one of n elements' outcomes and less to the other, by several amounts."""
    u, r0, r1 = potentials.nodes, potentials.r0, potentials.r1
    count = min(max(_SUMS // n, 1), _MOST)
    candidates = []
    for shift in 2.0 * (np.arange(1, count + 1) / count) ** 2:  # by 2 c**2: it tells most about states near the value c
        candidates.append(_feasible(u, r0 - shift, _raised(u, r0 - shift)))
        candidates.append(_feasible(u, _raised((1.0 - u)[::-1], (r1 - shift)[::-1])[::-1], r1 - shift))
    return candidates


def _raised(u: FloatArray, r0: FloatArray) -> FloatArray:
    """Highest r1 with slopes of at most 1 and (1 - u) r0 + u r1 <= 0 at every node and at 1."""
    highest = 1.0 - u
    tighter = (u > 0.0) & (-r0 < u)
    highest[tighter] *= -r0[tighter] / u[tighter]
    rising = np.minimum.accumulate(highest - u) + u
    falling = np.minimum.accumulate((highest + u)[::-1])[::-1] - u
    return np.asarray(np.minimum(rising, falling), dtype=np.float64)


def _feasible(u: FloatArray, r0: FloatArray, r1: FloatArray) -> Potentials:
    over = overdraft(Potentials(u, r0, r1)) + 1e-12  # by far more than rounding
    return Potentials(u, r0 - over, r1 - over)


def more_than_credit(
    values: FloatArray, credit: FloatArray, nodes: FloatArray, heights: list[FloatArray]
) -> FloatArray:
    """Return the excess over their credit that other heights give elements of one outcome, (elements, heights)."""
    at = np.searchsorted(nodes, values)
    return np.stack([height[at] for height in heights], axis=1) - credit[:, None]


def from_there_on(more: FloatArray, n: int) -> FloatArray:
    """Sums over an element and all after it, (elements + 1, heights), rounded down; there are n elements in all."""
    sums: FloatArray = np.zeros((more.shape[0] + 1, more.shape[1]))
    sums[:-1] = more[::-1].cumsum(axis=0)[::-1]
    sums -= 4.0 * n * UNIT * np.abs(more).sum(axis=0).max(initial=0.0)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class PartitionDomain:
    """Elements of positive mass, with their masses as given and as shares."""

    # weight, weighted_outcome: (n,), sums of w and w * y over an element's rows, in the user's own units
    weight: FloatArray
    weighted_outcome: FloatArray
    # mass, v, y: (n,), shares of the weight, predictions and mean outcomes
    mass: FloatArray
    v: FloatArray
    y: FloatArray
    rows: int  # rows that were pooled into the elements


def domain_of_rows(weight: FloatArray, v: FloatArray, y: FloatArray) -> PartitionDomain:
    """Every row an element."""
    return PartitionDomain(weight, weight * y, weight / compensated_sum(weight), v, y, v.size)


def domain_of_predictions(sample: Sample) -> tuple[NDArray[np.bool_], PartitionDomain]:
    """Return the mask of distinct predictions that carry weight, and the domain of these."""
    mass = sample.mass()
    carries = mass > 0.0
    weight, weighted_outcome = sample.weight[carries], sample.weighted_outcome[carries]
    y = np.minimum(weighted_outcome / weight, 1.0)
    return carries, PartitionDomain(
        weight, weighted_outcome, mass[carries], sample.prediction[carries], y, sample.n_rows
    )


def part_means(domain: PartitionDomain, labels: IntArray) -> FloatArray:
    """Mean outcome of each element's part, shape (n,)."""
    parts = int(labels.max()) + 1
    total = labelled_sums(labels, domain.weight, parts)
    ones = labelled_sums(labels, domain.weighted_outcome, parts)
    mean = np.divide(ones, total, out=np.zeros(parts), where=total > 0.0)
    return np.asarray(np.minimum(mean, 1.0)[labels], dtype=np.float64)


def cost_of_partition(domain: PartitionDomain, labels: IntArray) -> tuple[float, float]:
    """Lower and upper bound of what it costs to move each part, numbered from 0, to its mean outcome."""
    total = compensated_sum(domain.weight)
    moved = compensated_dot(domain.weight, np.abs(domain.v - part_means(domain, labels))) / total
    if moved == 0.0 and not domain.v.any() and not domain.y.any():
        return 0.0, 0.0
    scale = moved + compensated_sum(domain.weighted_outcome) / total
    rounding = (12.0 * UNIT + 8.0 * second_order(domain.rows)) * scale + 1e-150
    return max(0.0, moved - rounding), moved + rounding


def rounding_of_program(n: int) -> float:
    """More than a cheapest partition can cost less than the one that an exact program found, each sum being rounded."""
    return (16.0 * n + 128.0) * UNIT


def rounding_of_paths(n: int, tallest: float) -> float:
    """More than the shortest path's length, a share of n elements' mass, can have been overrated."""
    return (32.0 * n + 128.0) * UNIT * (1.0 + tallest) + 2e-12 + grain_of_paths(n)


def grain_of_paths(n: int) -> float:
    """More than rounding makes of a step whose length is 0, in units of one element's mass."""
    return 16.0 * n * UNIT + 1e-13


def rounding_of_cover(n: int, tallest: float) -> float:
    """More than the cost of a cover by parts within a budget can have been overrated."""
    return 1e-14 * n * (1.0 + tallest)
