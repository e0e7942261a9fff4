"""The lower distance bracketed to a tolerance: solve on few nodes, lift both sides, refine where they part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels import lower as kernel
from calibrant.kernels import lower_lift as lift
from calibrant.kernels.sums import dot

_FIRST_CELLS = 256
_PARTS = (16, 4)  # that one of the first cells is split into, and a later one
_MOST_PARTS = 64  # that a gap between nodes is split into
# With so many cells for a prediction, rounds on more of them cost as much as the whole sample; a rough search may need
# only one more.
_NEARLY_ALL, _NEARLY_ALL_ROUGH = 0.05, 0.2
_ROUNDS = 24  # to a stage
_STEPS = 400
_REPAIRED = 25_000  # nodes from which on steps that a few pairs block are repaired, where a search is not rough
# Every search goes through the same stages, and ends where it is narrow enough for its tolerance: so a finer tolerance
# goes on where a coarser one ended. The last is what is worth aiming at in double precision.
_STAGES = (9e-10, 9e-12, 9e-14, 1e-14)
_OWN = 0.9  # a rough search starts with a stage of its own, this part of its tolerance
# A solve is first looked at when it is rough, if that may be enough, and where the look costs little beside the solve:
# for so many nodes or for one at least at every second prediction.
_MANY, _HALF = 20_000, 0.5
_ROUGH = 1e-5
_HOPELESS = 1e3  # times as narrow as a large solve's, a bracket is not to be hoped for, and not looked at
_LOOKED = 0.9  # of a stage's width: so many nodes are looked at there too, for the last digit costs many steps
_WORTH = 4e-15  # the least gain worth having: more than the proofs' own rounding can cost
_STALLED = 3  # rounds that narrow the bracket by less than a tenth, after which none will
_MERGED = 1e-12  # nodes closer than this are one; the lift pays for it
# Proximal term and constant start of the solver: the next where rounding stopped it.
_ATTEMPTS = ((1e-13, -0.05), (1e-14, -0.3), (1e-12, -0.01), (1e-11, -1.0), (1e-10, -0.1))


class LowerProblem:
    """Best coupling and best potentials found so far for masses p (outcome 0) and q (outcome 1) at v.

    Attributes
    ----------
    upper, lower : float
        The bracket they prove.
    u, calibrated : ndarray
        Nodes and calibrated masses of the best coupling.
    """

    def __init__(self, v: FloatArray, p: FloatArray, q: FloatArray) -> None:
        self.v, self.p, self.q = v, p, q
        self.lower = 0.0
        self._best: tuple[FloatArray, FloatArray] | None = None  # nodes and potentials there, from which it is proved
        if not (p.any() and q.any()):
            r = self.potentials()
            self.lower = max(0.0, dot(p, r[:, 0]) + dot(q, r[:, 1]))
            del r
        self._cells = np.array([0, v.size])
        # Moving every prediction to its outcomes' mean costs the exact level-set error; it is best where that is 0.
        ties = _untied(v)
        ones = np.add.reduceat(q, ties)
        mass = np.add.reduceat(p, ties) + ones
        del ties
        mean = np.divide(ones, mass, out=np.zeros_like(ones), where=mass > 0.0)
        del ones
        order = np.argsort(mean)
        self.u = mean[order]
        del mean
        self.calibrated = mass[order]
        del mass, order
        self.upper = lift.lift_coupling(v, p, q, self.u, self.calibrated, self._cells, np.empty(1))

    @property
    def width(self) -> float:
        """Width of the bracket."""
        return max(0.0, self.upper - self.lower)

    def potentials(self) -> FloatArray:
        """The best potentials at v, of shape (m, 2): lifted anew, for the nodes they come from are mostly fewer."""
        v, p = self.v, self.p
        if self._best is not None:
            r = np.empty((v.size, 2))
            lift.interpolate(v, p, self.q, *self._best, np.array([0, v.size]), np.empty(1), r)
            r -= self._mend(r, self._best[0])[0]
            return r
        if p.any() and self.q.any():
            return np.zeros((v.size, 2))
        # Nothing is nearer than the end of the only outcome: the mean error proves it.
        return np.column_stack([v, v - 1.0]) if p.any() else np.column_stack([-v, 1.0 - v])

    def bracket(self, tol: float, *, rough: bool = False) -> None:
        """Narrow the bracket to tol, or as far as double precision goes.

        A rough search is done sooner with a coarse tolerance, for it adds no nodes that only a finer one would need;
        but a finer one does not go on where it ended.
        """
        if self.width <= tol:
            return
        self._cells = self._split(np.ones(1), _FIRST_CELLS, 0.0)
        self._candidates = np.linspace(0.0, 1.0, _FIRST_CELLS + 1)
        self._rough = rough
        for stage in (_OWN * tol, *_STAGES) if rough and _OWN * tol > _STAGES[0] else _STAGES:
            if self.width > stage:
                self._refine(stage, tol)
            if self.width <= tol:
                return

    def _refine(self, stage: float, enough: float) -> None:
        """Narrow the bracket to the stage's width, or at least until it is enough."""
        target = stage / 8
        attempt = 0
        width, stalled = np.inf, 0
        for _ in range(_ROUNDS):
            u, p, q, centres = self._nodes(self._candidates)
            proximal, start = _ATTEMPTS[attempt % len(_ATTEMPTS)]
            x, calibrated = np.full((u.size, 2), start), np.zeros(u.size)
            state = kernel.start(u, x)
            lost: tuple[FloatArray, ...]
            for aim in (*self._looks(u.size, stage), target):
                lost = ()
                room = kernel.room(u.size)
                lowered = self._lowered(u.size, room)
                top, bottom, _ = kernel.solve(u, p, q, aim, _STEPS, proximal, x, state, room, calibrated, lowered)
                del room, lowered  # the lifts need some too
                if aim == _ROUGH > _HOPELESS * enough and u.size > _MANY:
                    continue
                lost = self._lift_potentials(u, x, centres)
                lost += (self._lift_coupling(u, calibrated, stage / 2),)
                if self.width <= enough:
                    return
                if aim < _ROUGH and self.width > 2.0 * stage:  # the lift loses what a finer solution would not win
                    break
            del x, state  # the next nodes may be more
            loss, worst, where, excess = lost
            stalled = stalled + 1 if self.width > 0.9 * width else 0
            width = self.width
            if self.width <= max(stage, enough) or stalled == _STALLED:
                return
            cells, allowed = self._finer_cells(np.maximum(excess, loss), stage)
            broken = (worst > allowed / 4) & (np.diff(u) > 4 * _MERGED)
            if cells.size == self._cells.size and not broken.any():
                if attempt >= len(_ATTEMPTS):
                    return
                target /= 4
                attempt += 1
            elif not top - bottom <= aim:
                attempt += 1
            self._cells = cells
            if broken.any():
                # The excess in a gap falls with the square of its width.
                parts = np.clip(np.ceil(2 * np.sqrt(worst[broken] / allowed)), 2, _MOST_PARTS)
                widest = np.full(worst.size, np.inf)
                widest[broken] = np.diff(u)[broken] / parts
                self._candidates = np.union1d(self._candidates, where[broken])
                self._candidates = np.union1d(self._candidates, self._between(u, widest))

    def _lowered(self, n_nodes: int, room: kernel.Room) -> FloatArray | None:
        """Room for the repair of steps that a few pairs block; None where none is."""
        return room[-1] if n_nodes > _REPAIRED and not self._rough else None

    def _looks(self, n_nodes: int, stage: float) -> tuple[float, ...]:
        """Widths at which a solve on so many nodes is looked at before it is done."""
        return (_ROUGH, _LOOKED * stage) if n_nodes > min(_MANY, _HALF * self.v.size) else ()

    def _finer_cells(self, loss: FloatArray, stage: float) -> tuple[IntArray, float]:
        """Split the cells that lose most, or take single predictions if that is most of them; and the loss allowed."""
        whole = self._cells.size > self.v.size
        allowed = stage / 8 if whole else max(stage / 8, self.width / 100)
        parts = _PARTS[self._cells.size > 2 * _FIRST_CELLS]
        cells = self._split(_beyond(loss, allowed), parts, _MERGED)
        if cells.size > (_NEARLY_ALL_ROUGH if self._rough else _NEARLY_ALL) * self.v.size:
            return np.arange(self.v.size + 1), stage / 8
        return cells, allowed

    def _between(self, u: FloatArray, widest: FloatArray) -> FloatArray:
        """Points between the nodes to come, so that within each gap of u none is further apart than is said."""
        nodes, _, _, _ = self._nodes(self._candidates)
        gap = np.diff(nodes)
        inside = np.searchsorted(u, (nodes[1:] + nodes[:-1]) / 2) - 1
        parts = np.ceil(gap / widest[inside])
        return _split(nodes, parts > 1.0, parts[parts > 1.0])

    def _split(self, marks: FloatArray, parts: int, thinnest: float) -> IntArray:
        """The cells, with the chosen ones split."""
        cells = np.empty(self.v.size + 1, np.int64)
        return cells[: lift.split_cells(self.v, self._cells, marks, parts, thinnest, cells)].copy()

    def _nodes(
        self, candidates: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Merge barycentres and candidates into nodes with masses; also each cell's masses and barycentres."""
        n = self._cells.size - 1
        zeros, ones, centre0, centre1 = self.p, self.q, self.v, self.v  # of single predictions
        if n < self.v.size:
            zeros, ones, centre0, centre1 = (np.empty(n) for _ in range(4))
            lift.cell_masses(self.v, self.p, self._cells, zeros, centre0)
            lift.cell_masses(self.v, self.q, self._cells, ones, centre1)
        u = np.concatenate([candidates, centre0[zeros > 0.0], centre1[ones > 0.0]])
        np.clip(u, 0.0, 1.0, out=u)
        u.sort()
        u = u[_untied(u)]
        u = np.append(u[u < 1.0 - _MERGED], 1.0)
        # To the nearer node; what that costs is paid in the lift.
        middle = (u[1:] + u[:-1]) / 2
        p: FloatArray = np.zeros(u.size)
        q: FloatArray = np.zeros(u.size)
        np.add.at(p, np.searchsorted(middle, centre0), zeros)
        np.add.at(q, np.searchsorted(middle, centre1), ones)
        return u, p, q, (zeros, ones, centre0, centre1)

    def _lift_coupling(self, u: FloatArray, calibrated: FloatArray, allowed: float) -> FloatArray:
        """Lift the calibrated masses; the traces that an interior point leaves everywhere go if that is allowed."""
        excess = np.empty(self._cells.size - 1)
        cost = lift.lift_coupling(self.v, self.p, self.q, u, calibrated, self._cells, excess)
        if not cost < self.upper:
            return excess
        cells, ignored = np.array([0, self.v.size]), np.empty(1)
        for share in (1e-6, 1e-9, 1e-12):
            mask = calibrated > share * calibrated.max()
            cleared = lift.lift_coupling(self.v, self.p, self.q, u[mask], calibrated[mask], cells, ignored)
            if cleared <= max(cost, self.lower + allowed):
                cost, u, calibrated = cleared, u[mask], calibrated[mask]
                break
        if cost < self.upper - _WORTH:
            self.upper, self.u, self.calibrated = cost, u, calibrated.copy()  # the solver goes on in its own
        return excess

    def _lift_potentials(
        self, u: FloatArray, x: FloatArray, centres: tuple[FloatArray, ...]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        zeros, ones, centre0, centre1 = centres
        r = np.empty((self.v.size, 2))
        loss = np.empty(self._cells.size - 1)
        lift.interpolate(self.v, self.p, self.q, u, x, self._cells, loss, r)
        earned = np.interp(centre0, u, x[:, 0])
        earned *= zeros
        other = np.interp(centre1, u, x[:, 1])
        other *= ones
        earned += other
        loss += earned
        del earned, other
        left, worst, where = self._mend(r, u)
        value = dot(self.p, r[:, 0]) + dot(self.q, r[:, 1]) - left * float(self.p.sum() + self.q.sum())
        if value > self.lower + _WORTH:
            self.lower, self._best = value, (u, x.copy())  # the solver goes on in its own
        return loss, worst, where

    def _mend(self, r: FloatArray, u: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Make potentials at v feasible but for the fall that is returned; and where they were not, by gap of u."""
        self._extend(r)
        lowering, worst, where = np.empty(self.v.size), np.empty(u.size - 1), np.empty(u.size - 1)
        lift.violations(self.v, r, u, lowering, worst, where)
        lift.lower_and_straighten(self.v, lowering, r)
        self._extend(r)
        left = lift.violations(self.v, r, np.array([0.0, 1.0]), lowering, np.empty(1), np.empty(1))  # in whichever gap
        return left, worst, where

    def _extend(self, r: FloatArray) -> None:
        for column, mass in enumerate((self.p, self.q)):
            if mass.any():
                lift.lowest_extension(self.v, mass, r[:, column])


def _untied(v: FloatArray) -> IntArray:
    """First indices of groups of places that are one."""
    index = np.empty(v.size, np.int64)
    return index[: lift.tied(v, _MERGED, index)].copy()


def _beyond(loss: FloatArray, allowed: float) -> FloatArray:
    """1 for the largest losses, those that must go for the others to add up to no more than allowed; else 0."""
    order = np.argsort(loss)
    marks = np.empty(loss.size)
    marks[order] = np.cumsum(np.maximum(loss[order], 0.0)) > allowed
    return marks


def _split(u: FloatArray, mask: npt.NDArray[np.bool_], parts: FloatArray) -> FloatArray:
    """Points that split the masked gaps of u into so many equal parts each."""
    count = parts.astype(np.int64) - 1
    first = np.repeat(np.cumsum(count) - count, count)
    step = np.repeat(np.diff(u)[mask] / parts, count)
    points: FloatArray = np.repeat(u[:-1][mask], count) + step * (1 + np.arange(count.sum()) - first)
    return points
