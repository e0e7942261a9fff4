"""True distance of a uniform noiseless domain, elements of equal mass and outcome 0 or 1: exact (docs/distance.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.kernels import lattice
from calibrant.measures.clock import Clock
from calibrant.measures.lower_check import Potentials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_STATES = 10_000_000  # a state takes about 100 bytes
_CLOSED = 1e-10  # of a path's length per element: shorter is as good as 0


class LatticeProblem:
    """Best partition and best lower bound found so far.

    Attributes
    ----------
    credit : float
        What the potentials alone prove: the sum of r over the elements, in units of one element's mass.
    proven, length : float
        A shortest path is at least `proven` and at most `length` long, in the same units.
    labels : ndarray of shape (n,)
        Part of each element in the best partition found; `cost` is that of the partition to start from.
    """

    def __init__(self, v: FloatArray, y: FloatArray, potentials: Potentials, labels: IntArray, cost: float) -> None:
        self._n = v.size
        self._order = [np.flatnonzero(y == label) for label in (0.0, 1.0)]
        self._order = [rows[np.argsort(v[rows], kind="stable")] for rows in self._order]
        self._sides = []
        for rows, r in zip(self._order, (potentials.r0, potentials.r1), strict=True):
            self._sides.append((v[rows], r[np.searchsorted(potentials.nodes, v[rows])]))
        self._forward = [_side(*side) for side in self._sides]
        self.credit = float(sum(r.sum() for _, r in self._sides))
        self.labels = labels
        self.proven, self.length = 0.0, cost - self.credit

    @property
    def closed(self) -> bool:
        """Whether nothing is left between the two bounds."""
        return self.length - self.proven <= _CLOSED * self._n

    def solve(self, clock: Clock) -> None:
        """Raise the length up to which there is proven to be no path, until the shortest is found."""
        guess, before = 0.125, 0
        while not (self.closed or clock.up):
            states = self._prove(min(guess, self.length), clock)
            # The work grows with the cube of the guess, except where many partitions are equally good.
            guess *= 1.5 if states > 1.5 * before else 64.0
            before = states
            if states > _MOST_STATES:
                return

    def _prove(self, guess: float, clock: Clock) -> int:
        """Find the shortest path if it is no longer than the guess, else prove that it is longer; states looked at.

        A state is on such a path only if the lengths from the start and to the end add up to at most the guess. The
        first search learns how far each level is from the start, up to half the guess; the second comes from the end.
        """
        half = np.full(self._n + 1, guess / 2)
        found: lattice.Found = clock.run(lattice.shortest_path, *self._forward, half, _MOST_STATES, clock.stop)
        self._keep(found.length, found.path)
        if not found.complete:
            return found.states
        if found.length <= guess / 2:
            self.proven = max(self.proven, found.length)
            return found.states
        from_start = np.minimum.accumulate(np.minimum(found.least, guess / 2)[::-1])  # of this level or any later
        backward = [_side(1.0 - v[::-1], r[::-1]) for v, r in reversed(self._sides)]
        states = found.states
        found = clock.run(lattice.shortest_path, *backward, guess - from_start, _MOST_STATES, clock.stop)
        end = np.array([side.v.size for side in self._forward])
        self._keep(found.length, end - found.path[::-1, ::-1])
        if found.complete:
            self.proven = max(self.proven, min(found.length, guess))
        return max(states, found.states)

    def _keep(self, length: float, path: IntArray) -> None:
        if path.shape[0] == 0 or length >= self.length:
            return
        self.length = length
        self.labels = np.empty(self._n, np.int64)
        for rows, cuts in zip(self._order, path.T, strict=True):
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
