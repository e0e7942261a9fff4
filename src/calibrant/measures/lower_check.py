"""Both sides of a lower-distance certificate, proved again from the definitions: nothing here calls the solver.

Each function accepts anything of the right shape, optimal or not, feasible or not, and returns what it proves: what
is broken is paid for in full, so rounding costs value and never validity.
"""

from __future__ import annotations

__all__ = ["Coupling", "Potentials", "check_coupling", "check_potentials"]

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.kernels import lower_proof as kernel
from calibrant.kernels.sums import compensated_dot, compensated_sum, grouped_sums, labelled_sums

UNIT = 2.0**-53
"""Half the distance from 1 to the next double: the relative error of one operation."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coupling(Result):
    """Masses of a joint distribution of calibrated predictions u, given predictions v and outcomes y.

    Attributes
    ----------
    u, v, y, mass : ndarray of shape (k,)
        One row per piece: `mass` of the sample at prediction `v` with outcome `y` (0 or 1) is moved to `u`.

    See Also
    --------
    check_coupling, LowerCertificate
    """

    u: FloatArray
    v: FloatArray
    y: FloatArray
    mass: FloatArray

    @property
    def cost(self) -> float:
        """Mean distance moved, the sum of mass * abs(u - v)."""
        distance = self.u - self.v
        return compensated_dot(self.mass, np.abs(distance, out=distance))

    def summary(self) -> str:
        """Say what is moved, and how far."""
        return (
            f"{self.mass.size:,} pieces of the sample's mass move {self.cost:.6g} on average, and are calibrated then."
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Potentials(Result):
    """Heights r0 (outcome 0) and r1 (outcome 1) at some predictions, extended by the lowest 1-Lipschitz functions.

    Attributes
    ----------
    nodes : ndarray of shape (k,)
        Predictions, increasing.
    r0, r1 : ndarray of shape (k,)
        Heights there. Minus infinity where the outcome does not occur.

    See Also
    --------
    check_potentials, LowerCertificate
    """

    nodes: FloatArray
    r0: FloatArray
    r1: FloatArray

    def summary(self) -> str:
        """Say what they are."""
        return f"Heights at {self.nodes.size:,} predictions, one function an outcome; they prove a distance from below."


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """What the lower distance is of: distinct predictions, and the shares of the weight there with either outcome."""

    prediction: FloatArray  # (m,): strictly increasing, in [0, 1]
    # zeros, ones: (m,), with outcome 0 and with outcome 1
    zeros: FloatArray
    ones: FloatArray
    rounding: float  # more than their errors add up to: a division each for counts, some ten operations for weights

    @classmethod
    def of(cls, sample: Sample) -> Masses:
        """Masses of a sample, which need not be kept for them."""
        ones = np.minimum(sample.weighted_outcome, sample.weight)
        zeros = sample.weight - ones
        total = sample.total_weight
        zeros /= total
        ones /= total
        whole = sample.binary and sample.weight is sample.count
        rounding = UNIT if whole else 12.0 * UNIT + 8.0 * second_order(sample.n_rows)
        return cls(sample.prediction, zeros, ones, rounding)


def second_order(n: int) -> float:
    """What a compensated sum of n numbers is off by beyond a unit of its result, as a share of what was summed."""
    return (n * UNIT) ** 2


def check_coupling(coupling: Coupling, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Upper bound of the lower distance from calibration that a coupling proves; any coupling proves one.

    Parameters
    ----------
    coupling : Coupling
        Any pieces with masses of at least 0.
    y_true, y_prob, sample_weight
        The sample it speaks of, as for `lower_calibration_distance`.

    Returns
    -------
    float
        Its cost, plus the mass by which its marginal of (v, y) differs from the sample, plus its calibration error.
        That error is the sum over u of abs(sum of mass * (y - u)). At that price surplus outcomes can be moved to 0 or
        1. Infinite if a mass is negative or a prediction lies outside [0, 1].

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row. If the coupling's differ in length.

    See Also
    --------
    check_potentials, lower_calibration_certificate

    Notes
    -----
    Cost: sorting the pieces.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import Coupling, check_coupling
    >>> half = np.array([0.5, 0.5])
    >>> round(check_coupling(Coupling(half, np.array([0.4, 0.6]), np.array([0.0, 1.0]), half), [0, 1], [0.4, 0.6]), 12)
    0.1
    """
    columns = _columns("coupling", coupling.u, coupling.v, coupling.y, coupling.mass)
    return cost_of_coupling(Coupling(*columns), Masses.of(Sample.from_columns(y_true, y_prob, sample_weight)))


def cost_of_coupling(coupling: Coupling, masses: Masses) -> float:
    """Upper bound that the coupling proves on a sample, rounded up by more than its own arithmetic can have lost."""
    u, v, y, mass = coupling.u, coupling.v, coupling.y, coupling.mass
    if not (np.all((mass >= 0.0) & (mass < np.inf)) and np.all((u >= 0.0) & (u <= 1.0))):
        return float("inf")
    if not np.all((y == 0.0) | (y == 1.0)):
        return float("inf")
    m = masses.prediction.size
    row = np.minimum(np.searchsorted(masses.prediction, v), m - 1)
    known = masses.prediction[row] == v
    differs = compensated_sum(mass[~known])
    for label, due in ((0.0, masses.zeros), (1.0, masses.ones)):
        here = known & (y == label)
        difference = labelled_sums(row[here], mass[here], m)
        difference -= due
        differs += compensated_sum(np.abs(difference, out=difference))
        del here, difference
    del row, known
    order = np.argsort(u, kind="stable")  # of a few sorted stretches, which this sort goes through in linear time
    starts = np.flatnonzero(np.diff(u[order], prepend=-1.0))
    amiss = y - u
    amiss *= mass
    sums = grouped_sums(amiss[order], starts)
    del order, starts
    uncalibrated = compensated_sum(np.abs(sums, out=sums))
    residual = compensated_sum(np.abs(amiss, out=amiss))
    del amiss, sums
    proved = coupling.cost + differs + uncalibrated
    return _rounded_up(proved, compensated_sum(mass), residual, mass.size, masses)


def cost_of_carrying(u: FloatArray, calibrated: FloatArray, masses: Masses) -> float:
    """`cost_of_coupling` of the monotone coupling with calibrated masses at increasing u, of which no piece is kept."""
    sums, amiss = np.zeros((3, 2)), np.zeros((2, u.size))
    differs, pieces = 0.0, 0
    for outcome, mass in ((0.0, masses.zeros), (1.0, masses.ones)):
        target = calibrated * (u if outcome else 1.0 - u)
        apart, n = kernel.carry(masses.prediction, mass, u, target, outcome, sums, amiss)
        differs += apart
        pieces += n
    del target
    cost, moved, residual = (float(total + lost) for total, lost in sums)
    amiss[0] += amiss[1]
    proved = cost + differs + compensated_sum(np.abs(amiss[0], out=amiss[0]))
    return _rounded_up(proved, moved, residual, pieces, masses)


def _rounded_up(proved: float, moved: float, residual: float, pieces: int, masses: Masses) -> float:
    """What a coupling proves, with the sums of its masses and of their residuals' sizes, each off by some units."""
    # Each number is off by at most 2 or 3 units of what was summed for it (docs/lower.md).
    scale = moved + 3.0 * residual + 1.0
    return proved + masses.rounding + UNIT * (scale + 8.0 * proved) + second_order(pieces) * scale


def check_potentials(
    potentials: Potentials, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None
) -> float:
    """Lower bound of the lower distance from calibration that a pair of potentials proves; any pair proves one.

    Parameters
    ----------
    potentials : Potentials
        Any heights at any nodes in [0, 1].
    y_true, y_prob, sample_weight
        The sample they speak of, as for `lower_calibration_distance`.

    Returns
    -------
    float
        The mean of r_y(v), less the maximum over u in [0, 1] of (1 - u) R0(u) + u R1(u) if positive. R(u) = max over
        nodes of (height - distance) extends r, and is 1-Lipschitz. At least 0.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row. If the potentials' differ in length.

    See Also
    --------
    check_coupling, lower_calibration_certificate

    Notes
    -----
    Between neighbouring nodes the condition is straight or a parabola, so its maximum has a closed form. Cost: linear
    after the sort.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Section 7.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import Potentials, check_potentials
    >>> potentials = Potentials(np.array([0.4, 0.6]), np.array([0.08, -0.12]), np.array([-0.12, 0.08]))
    >>> round(check_potentials(potentials, [0, 1], [0.4, 0.6]), 12)
    0.08
    """
    columns = _columns("potentials", potentials.nodes, potentials.r0, potentials.r1)
    return value_of_potentials(Potentials(*columns), Masses.of(Sample.from_columns(y_true, y_prob, sample_weight)))


def _columns(name: str, *columns: npt.ArrayLike) -> list[FloatArray]:
    """Columns of a certificate that may be anybody's, of one length in double precision: compiled code trusts them."""
    read = [np.asarray(each, dtype=np.float64) for each in columns]
    shapes = [each.shape for each in read]
    if read[0].ndim != 1 or len(set(shapes)) > 1:
        raise InputError(name, f"has columns of shapes {', '.join(map(str, shapes))}", allowed="columns of one length")
    return read


def value_of_potentials(potentials: Potentials, masses: Masses) -> float:
    """Lower bound that the potentials prove on a sample, rounded down by more than its own arithmetic can have lost."""
    below = np.all(potentials.r0 < np.inf) and np.all(potentials.r1 < np.inf)
    if not (below and potentials.nodes.size and np.all((potentials.nodes >= 0.0) & (potentials.nodes <= 1.0))):
        return 0.0
    nodes, known = _by_node(potentials)
    value = 0.0
    for mass, r in zip((masses.zeros, masses.ones), known, strict=True):
        met = mass > 0.0
        value += compensated_dot(mass[met], kernel.extended(nodes, r, masses.prediction[met]))
        del met
    places, heights = _everywhere(nodes, known)
    value -= max(0.0, kernel.largest_product(places, *heights))
    tallest = 1.0 + max(float(np.abs(height).max()) for height in heights)
    n = masses.prediction.size + places.size
    rounding = 28.0 * UNIT * tallest**2 + (masses.rounding + second_order(n)) * tallest
    return max(0.0, value - rounding)


def overdraft(potentials: Potentials) -> float:
    """Return the fall of both heights, up to rounding, after which (1 - u) R0(u) + u R1(u) is positive nowhere."""
    places, heights = _everywhere(*_by_node(potentials))
    return max(0.0, kernel.largest_product(places, *heights))


def heights_at(potentials: Potentials, v: FloatArray) -> list[FloatArray]:
    """Both heights at increasing predictions."""
    nodes, known = _by_node(potentials)
    return [kernel.extended(nodes, r, v) for r in known]


def _by_node(potentials: Potentials) -> tuple[FloatArray, list[FloatArray]]:
    """Increasing nodes, and both heights there; of an outcome that does not occur, so low that it never binds."""
    nodes, both = potentials.nodes, (potentials.r0, potentials.r1)
    if not np.all(nodes[1:] >= nodes[:-1]):
        order = np.argsort(nodes, kind="stable")
        nodes, both = nodes[order], (both[0][order], both[1][order])
    known = (np.full(nodes.size, -2.0) if np.isneginf(r).all() else r for r in both)
    # As the compiled code is called with: without gaps, and not for reading alone.
    return np.require(nodes, None, ["C", "W"]), [np.require(r, None, ["C", "W"]) for r in known]


def _everywhere(nodes: FloatArray, heights: list[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """All places where the lowest 1-Lipschitz extensions may bend upwards, and both heights there."""
    places = np.concatenate([[0.0] if nodes[0] > 0.0 else [], nodes, [1.0] if nodes[-1] < 1.0 else []])
    return places, [kernel.extended(nodes, r, places) for r in heights]
