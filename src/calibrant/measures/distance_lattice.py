"""True distance of a uniform noiseless domain, elements of equal mass and outcome 0 or 1: exact (docs/distance.md)."""

from __future__ import annotations

import numpy as np

from calibrant.kernels import lattice
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock
from calibrant.measures.distance_proof import rounding_of_paths
from calibrant.measures.lower import LowerCertificate
from calibrant.measures.lower_check import overdraft

_MOST_STATES = 10_000_000  # a state takes about 100 bytes
_LOOKS = 2  # corridors that are looked through, each twice as wide, before anything is proven
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
        potentials, coupling = relaxation.potentials, relaxation.coupling
        self._order = [np.flatnonzero(y == label) for label in (0.0, 1.0)]
        self._order = [rows[np.argsort(v[rows], kind="stable")] for rows in self._order]
        self._sides = []
        over = overdraft(potentials)  # lengths that are negative by as much would mislead the search
        for rows, r in zip(self._order, (potentials.r0, potentials.r1), strict=True):
            self._sides.append((v[rows], r[np.searchsorted(potentials.nodes, v[rows])] - over))
        self.rounding = rounding_of_paths(v.size, max(float(np.abs(r).max(initial=0.0)) for _, r in self._sides))
        self._forward = [_side(*side) for side in self._sides]
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

    def solve(self, clock: Clock) -> None:
        """Look near the coupling, then raise the length below which there is no path until one is found."""
        for wider in range(_LOOKS):
            if not (self.closed or clock.up):
                self._look(0.25 * 2**wider, 4.0 * 2**wider, clock)
        guess, before = 0.125, 0
        while not (self.closed or clock.up):
            states = self._prove(min(guess, self.length), clock)
            # The work grows with the cube of the guess, except where many partitions are equally good.
            indifferent = states <= 1.5 * before if before else states > 20 * self._n
            guess *= 64.0 if indifferent else 1.5
            before = states
            if states > _MOST_STATES:
                return

    def _look(self, slack: float, radius: float, clock: Clock) -> None:
        """Look for a shorter path next to the coupling's."""
        corridor = lattice.Corridor(np.full(self._n + 1, self.length), self._centre, radius, slack)
        found: lattice.Found = clock.run(lattice.shortest_path, *self._forward, corridor, _MOST_STATES, clock.stop)
        self._keep(found)

    def _prove(self, guess: float, clock: Clock) -> int:
        """Find the shortest path if it is no longer than the guess, else prove that it is longer; states looked at.

        A state is on such a path only if the lengths from the start and to the end add up to at most the guess. The
        first search learns how far each level is from the start, up to half the guess; the second comes from the end.
        """
        half = lattice.Corridor(np.full(self._n + 1, guess / 2), self._centre, np.inf, np.inf)
        found: lattice.Found = clock.run(lattice.shortest_path, *self._forward, half, _MOST_STATES, clock.stop)
        self._keep(found)
        if not found.complete:
            return found.states
        if found.length <= guess / 2:
            self.proven = max(self.proven, found.length)
            return found.states
        from_start = np.minimum.accumulate(np.minimum(found.least, guess / 2)[::-1])  # of this level or any later
        backward = [_side(1.0 - v[::-1], r[::-1]) for v, r in reversed(self._sides)]
        whole = lattice.Corridor(guess - from_start, self._centre, np.inf, np.inf)
        states = found.states
        found = clock.run(lattice.shortest_path, *backward, whole, _MOST_STATES, clock.stop)
        end = np.array([side.v.size for side in self._forward], np.int64)
        self._keep(found._replace(path=end - found.path[::-1, ::-1]))
        if found.complete:
            self.proven = max(self.proven, min(found.length, guess))
        return max(states, found.states)

    def _keep(self, found: lattice.Found) -> None:
        if found.path.shape[0] == 0 or found.length >= self.length:
            return
        self.length = found.length
        self.labels = np.empty(self._n, np.int64)
        for rows, cuts in zip(self._order, found.path.T, strict=True):
            self.labels[rows] = np.repeat(np.arange(cuts.size - 1), np.diff(cuts))


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
