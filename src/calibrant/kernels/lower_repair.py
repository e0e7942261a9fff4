"""Steps of the interior point beyond the few pairs that block them, for the lower distance (docs/lower.md)."""

from __future__ import annotations

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray

_REACH = 20.0  # times the length of the step that is blocked, at most
_LONGEST = 0.55  # of the whole step: a longer one seldom pays, and what it leaves blocks the next
_TRIALS = 3  # each half as long as the one before
_GAINED = 0.3  # of the gap that its length promises to close, at least
_KEPT = 0.5  # of a slack is left, or so many times its place on the central path if that is less
_WIDE = 10.0
_GONE = 0.3
_LEAST = 1e-3  # and at such a part in any case


@njit(nogil=True, error_model="numpy")
def kept(multiplier: float, change: float, slack: float, mu: float) -> float:
    """A multiplier after a repaired step."""
    new = multiplier + change
    if new < _GONE * multiplier:
        return max(new, _LEAST * multiplier, min(multiplier, mu / slack))
    return new


@njit(nogil=True, error_model="numpy")
def none_below_zero(masses: FloatArray) -> None:
    """Take masses below 0 out of the next ones, in place."""
    owed = 0.0
    for k in range(masses.size):
        owed += masses[k]
        masses[k] = max(owed, 0.0)
        owed = min(owed, 0.0)


@njit(nogil=True, error_model="numpy")
def _owed(slack: float, spent: float, multiplier: float, change: float, mu: float, owed: float) -> float:
    """By how much a side must give way, where what is next to it gives way by owed."""
    if owed == 0.0 and spent < (1.0 - _KEPT) * slack:
        return 0.0
    least = min(_KEPT * slack, _WIDE * mu / (multiplier + max(change, 0.0)))
    return owed + least - (slack - spent)


@njit(nogil=True, error_model="numpy")
def _repaired(
    u: FloatArray, s: FloatArray, z: FloatArray, step: FloatArray, dz: FloatArray, primal: float, dual: float,
    mu: float, enough: float, lowered: FloatArray,
) -> float:  # fmt: skip
    """Make a step of these lengths feasible by lowering potentials, the less the better; return the gap it leaves.

    Or only a part of that gap, if the part is no less than enough.

    A potential that falls too fast along an edge, or breaks calibration, is feasible again as soon as it is low
    enough, and so are its neighbours: lowered (K, 2) is the least that does, found by a sweep either way.
    """
    n = u.size
    carried0 = 0.0
    carried1 = 0.0
    for k in range(n - 1, -1, -1):
        owed = max(0.0, _owed(s[k, 4], primal * step[k, 2], z[k, 4], dual * dz[k, 4], mu, 0.0))
        if k + 1 < n:
            carried0 = _owed(s[k, 1], -primal * step[k, 0], z[k, 1], dual * dz[k, 1], mu, carried0)
            carried1 = _owed(s[k, 3], -primal * step[k, 1], z[k, 3], dual * dz[k, 3], mu, carried1)
        carried0 = max(carried0, owed)
        carried1 = max(carried1, owed)
        lowered[k, 0] = carried0
        lowered[k, 1] = carried1
    carried0 = lowered[0, 0]
    carried1 = lowered[0, 1]
    gap: float = 0.0
    for k in range(n):
        low0, low1 = carried0, carried1
        slack = s[k, 4] - primal * step[k, 2] + (1.0 - u[k]) * low0 + u[k] * low1
        gap += slack * kept(z[k, 4], dual * dz[k, 4], slack, mu)
        if k + 1 < n:
            rise0 = primal * step[k, 0]
            rise1 = primal * step[k, 1]
            carried0 = max(_owed(s[k, 0], rise0, z[k, 0], dual * dz[k, 0], mu, low0), lowered[k + 1, 0])
            carried1 = max(_owed(s[k, 2], rise1, z[k, 2], dual * dz[k, 2], mu, low1), lowered[k + 1, 1])
            lowered[k + 1, 0] = carried0
            lowered[k + 1, 1] = carried1
            rise0 -= carried0 - low0
            rise1 -= carried1 - low1
            gap += (s[k, 0] - rise0) * kept(z[k, 0], dual * dz[k, 0], s[k, 0] - rise0, mu)
            gap += (s[k, 1] + rise0) * kept(z[k, 1], dual * dz[k, 1], s[k, 1] + rise0, mu)
            gap += (s[k, 2] - rise1) * kept(z[k, 2], dual * dz[k, 2], s[k, 2] - rise1, mu)
            gap += (s[k, 3] + rise1) * kept(z[k, 3], dual * dz[k, 3], s[k, 3] + rise1, mu)
            if gap >= enough:
                return gap
    return gap


@njit(nogil=True, error_model="numpy")
def longer(
    u: FloatArray, s: FloatArray, z: FloatArray, step: FloatArray, dz: FloatArray, primal: float, dual: float,
    mu: float, centre: float, gap: float, lowered: FloatArray,
) -> tuple[bool, float, float, float]:  # fmt: skip
    """Whether a longer step than the blocked one pays once it is repaired; its lengths, and the mu it aims at."""
    far = max(primal, min(_LONGEST, _REACH * primal))
    long = max(dual, min(_LONGEST, _REACH * dual))
    for _ in range(_TRIALS):
        reach = min(far, long)
        aimed = mu + reach * (centre - mu)
        enough = gap * (1.0 - _GAINED * reach)
        if _repaired(u, s, z, step, dz, far, long, aimed, enough, lowered) < enough:
            return True, far, long, aimed
        far = max(primal, 0.5 * far)
        long = max(dual, 0.5 * long)
    return False, primal, dual, mu
