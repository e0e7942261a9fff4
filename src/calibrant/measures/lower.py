"""Lower distance from calibration: its optimum in a bracket, with what proves both ends; and of given values."""

from __future__ import annotations

__all__ = [
    "LowerCertificate",
    "lower_calibration_certificate",
    "lower_calibration_distance",
    "restricted_lower_distance",
]

import math
import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import one_of, positive
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.ends import at_most, rounded_down, rounded_up
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.kernels import lower as kernel
from calibrant.kernels import lower_lift as lift
from calibrant.kernels.cells import pool_rows
from calibrant.measures.lower_check import (
    Coupling,
    Masses,
    Potentials,
    cost_of_carrying,
    cost_of_coupling,
    value_of_potentials,
)
from calibrant.measures.lower_solve import LowerProblem
from calibrant.measures.registry import register
from calibrant.measures.smooth import witness_from_sample

Method = Literal["interior-point", "first-order"]

FEW = 20_000
"""Distinct predictions up to which an audit finds the distance as finely as can be."""
_MANY = 5e-5  # width of the bracket that an audit asks for of more
_CELLS = 25_000.0  # that these are pooled to
_ROWS_A_CELL = 0.25  # from so many distinct predictions a cell on, pooling is worth its while
_PROOFS = 4e-14  # more than the two proofs take off a bracket, rounding outwards


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LowerCertificate(Result):
    """An interval that contains the lower distance from calibration, and what proves either end.

    Attributes
    ----------
    lower, upper : float
        Ends of the bracket, in probability units.
    converged : bool
        Whether it is as narrow as asked for.
    coupling : Coupling
        The movement of predictions that attains `upper`; `check_coupling` proves it again.
    potentials : Potentials
        The dual solution that forbids anything below `lower`; `check_potentials` proves it again.

    See Also
    --------
    lower_calibration_certificate, Potentials, Coupling
    """

    lower: float
    upper: float
    converged: bool
    coupling: Coupling
    potentials: Potentials

    @property
    def width(self) -> float:
        """Width of the interval that was reached."""
        return self.upper - self.lower

    def summary(self) -> str:
        """Say between what the lower distance lies."""
        wide = "" if self.converged else ", wider than was asked for"
        low, high = rounded_down(self.lower), rounded_up(self.upper)
        return f"The lower distance from calibration is proved to be at least {low} and at most {high}{wide}."


def _at_ends(masses: Masses, u: FloatArray, calibrated: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places and calibrated masses that fit within the sample's, with the rest at 0 and 1."""
    scale, *rest = kernel.calibrated_scale(u, calibrated, float(masses.zeros.sum()), float(masses.ones.sum()))
    calibrated = np.concatenate([rest[:1], scale * calibrated, rest[1:]])
    return np.concatenate([[0.0], u, [1.0]]), calibrated


def _coupling(masses: Masses, u: FloatArray, calibrated: FloatArray) -> Coupling:
    """Pieces of the monotone coupling of each outcome with calibrated masses at u."""
    columns: tuple[list[FloatArray], ...] = ([], [], [], [])
    for label, mass in ((0.0, masses.zeros), (1.0, masses.ones)):
        target = calibrated * (u if label else 1.0 - u)
        size = u.size + mass.size
        left, right, moved = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
        n = lift.quantile_coupling(masses.prediction, mass, u, target, left, right, moved)
        del target
        columns[0].append(u[left[:n]])
        del left
        columns[1].append(masses.prediction[right[:n]])
        del right
        columns[2].append(np.full(n, label))
        columns[3].append(moved[:n].copy())
        del moved
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return Coupling(*joined)


def _bracketed(masses: Masses, tol: float, *, rough: bool = False) -> LowerProblem:
    problem = LowerProblem(masses.prediction, masses.zeros, masses.ones)
    problem.bracket(max(tol - _PROOFS, tol / 2), rough=rough)
    return problem


def _potentials(solver: LowerProblem) -> Potentials:
    r = solver.potentials()
    return Potentials(solver.v, r[:, 0].copy(), r[:, 1].copy())


def _proved(
    masses: Masses, tol: float, solver: LowerProblem | FirstOrderProblem, potentials: Potentials
) -> LowerCertificate:
    coupling = _coupling(masses, *_at_ends(masses, solver.u, solver.calibrated))
    lower, upper = value_of_potentials(potentials, masses), cost_of_coupling(coupling, masses)
    return LowerCertificate(lower, upper, upper - lower <= tol, coupling, potentials)


def lower_certificate_from_sample(
    sample: Sample, *, tol: float = 1e-9, method: Method = "interior-point", rough: bool = False
) -> LowerCertificate:
    """Certificate of the lower distance of a sample; `rough` as for `LowerProblem.bracket`."""
    one_of(method, get_args(Method), "method")
    tol = positive(tol, "tol")
    masses = Masses.of(sample)
    if method == "first-order":
        played = FirstOrderProblem(masses, tol)
        return _proved(masses, tol, played, played.potentials)
    problem = _bracketed(masses, tol, rough=rough)
    return _proved(masses, tol, problem, _potentials(problem))


def audited_certificate(sample: Sample) -> LowerCertificate:
    """The certificate that audits, bounds and gates share: as fine as can be of few rows, to 5e-5 of many.

    What was found for the means of cells, that many are pooled to, is as good for the rows except that either end pays
    for how far they moved. It is proved for the rows themselves.
    """
    if sample.n_distinct <= FEW:
        return lower_certificate_from_sample(sample, tol=1e-9)
    coarse, moved = pooled_by_cells(sample, _CELLS)
    if coarse.n_distinct <= sample.n_distinct / 2 and moved <= _MANY / 4:
        problem = _bracketed(Masses.of(coarse), _MANY - 2.0 * moved, rough=True)
        certificate = _proved(Masses.of(sample), _MANY, problem, _potentials(problem))
        if certificate.converged:
            return certificate
    return lower_certificate_from_sample(sample, tol=_MANY, rough=True)


def lower_distance_from_sample(sample: Sample, *, tol: float = 1e-9) -> float:
    """Lower distance of a sample, never below it and at most `tol` above; `_upper_end` says how much where it is more.

    Where `tol` is coarse and there are many rows, as in resamples, those of one cell of 1.6 tol are first replaced by
    their mean: moving predictions by m on average moves the distance by at most m, and either end pays for it. Many
    that are spread evenly over their cells move by 0.4 tol, so that a fifth of `tol` is left to the solver, and fewer
    by less; by more, and it sees the rows.
    """
    cells = 1.0 / (1.6 * positive(tol, "tol"))
    if sample.n_distinct >= _ROWS_A_CELL * cells:
        coarse, moved = pooled_by_cells(sample, cells)
        if moved <= 0.45 * tol:
            upper, width = _upper_end(coarse, tol - 2.0 * moved, rough=True)
            if width + 2.0 * moved <= tol:
                return upper + moved
    return _upper_end(sample, tol, rough=True)[0]


def lower_distance_from_rows(y: FloatArray, v: FloatArray, weight: FloatArray | None, *, tol: float = 1e-9) -> float:
    """`lower_distance_from_sample` of rows that were read already, pooled before they are sorted; nothing is proved."""
    cells = 1.0 / (1.6 * positive(tol, "tol"))
    if v.size >= _ROWS_A_CELL * cells:
        mean, p, q, moved = pooled_rows(y, v, weight, cells)
        if moved <= 0.45 * tol:
            problem = LowerProblem(mean, p, q)
            problem.bracket(tol - 2.0 * moved, rough=True)
            if problem.width + 2.0 * moved <= tol:
                return problem.upper + moved
    return lower_distance_from_sample(Sample.of_arrays(y, v, weight), tol=tol)


def lower_distance_of_certificate(certificate: LowerCertificate, sample: Sample) -> float:
    """`lower_distance_from_sample` where the certificate is there already."""
    return _narrowed(certificate.lower, certificate.upper, certificate.converged, sample)[0]


def _upper_end(sample: Sample, tol: float, *, rough: bool = False) -> tuple[float, float]:
    """The upper end of the bracket of `lower_certificate_from_sample`, and how far below it the distance may lie."""
    lower, upper = _ends(Masses.of(sample), tol, rough=rough)
    return _narrowed(lower, upper, upper - lower <= tol, sample)


def _ends(masses: Masses, tol: float, *, rough: bool = False) -> tuple[float, float]:
    """Both ends of the bracket of `lower_certificate_from_sample`.

    What proves one end goes before what proves the other is made.
    """
    problem = _bracketed(masses, tol, rough=rough)
    u, calibrated = _at_ends(masses, problem.u, problem.calibrated)
    potentials = _potentials(problem)
    del problem
    lower = value_of_potentials(potentials, masses)
    del potentials
    return lower, cost_of_carrying(u, calibrated, masses)


def _narrowed(lower: float, upper: float, converged: bool, sample: Sample) -> tuple[float, float]:
    """The upper end of a bracket, and its width, narrowed by the smooth error where it is wider than asked for."""
    if converged:
        return upper, upper - lower
    witness = witness_from_sample(sample)
    upper = min(upper, 2.0 * witness.upper)
    return upper, upper - max(lower, 0.5 * witness.value)


@register(
    lower_distance_from_sample,
    sentence="Smallest average change that would make the predictions calibrated.",
    definition=(
        "The minimum of E|u - v| over joint distributions of (u, v, y). Their (v, y) is the sample, and their u is "
        "calibrated: E[y | u] = u. From 0 to 1/2 for the best, at most 1. Never below the exact distance, and above it "
        "by at most `tol` (rounding apart); `lower_calibration_certificate` says what was reached."
    ),
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 5.3."
    ),
    symmetric=True,
    order=20,
    maximum_rows=FEW,
    when_resampled={"tol": 1e-4},
    on_rows=lower_distance_from_rows,
)
def lower_calibration_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, tol: float = 1e-9
) -> float:
    """Smallest average change that would make the predictions calibrated.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    tol : float, default 1e-9
        How far above the exact distance the result may lie, in probability units.

    Returns
    -------
    float
        The minimum of E|u - v| over joint distributions of (u, v, y). Their (v, y) is the sample, and their u is
        calibrated: E[y | u] = u. From 0 to 1/2 for the best, at most 1. Never below the exact distance, and above it by
        at most `tol`. Where that is not reached, which double precision may not allow for a `tol` below 1e-11, a
        RuntimeWarning says what is. A smaller `tol` never gives a wider bracket.

    Raises
    ------
    InputError
        If a column or `tol` cannot be used; the message names it and its first bad row.

    See Also
    --------
    lower_calibration_certificate, smooth_calibration_error, calibration_distance

    Notes
    -----
    The best lower bound of the true distance that predictions and outcomes alone allow (Theorem 5.5). At least a
    sixteenth of that distance's square (Theorem 6.2). Between half the smooth calibration error (Theorem 7.3) and twice
    it; both are sharp (docs/lower.md). At most the exact level-set error. Cost: a sort, then near-linear; docs/lower.md
    describes the method.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 5.3.

    Examples
    --------
    >>> from calibrant import lower_calibration_distance
    >>> round(lower_calibration_distance([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.091944
    """
    columns = read_columns(y_true, y_prob, sample_weight)
    masses = Masses.of(Sample.of_arrays(*columns))  # no more of the sample is kept
    lower, upper = _ends(masses, positive(tol, "tol"))
    if upper - lower <= tol:
        return upper
    value, width = _narrowed(lower, upper, False, Sample.of_arrays(*columns))
    if width > tol:
        warnings.warn(
            f"the lower distance is within {at_most(width, 2)} below the number returned, not within tol={tol:g}; "
            "lower_calibration_certificate says what is proved",
            RuntimeWarning,
            stacklevel=2,
        )
    return value


def lower_calibration_certificate(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    tol: float = 1e-9,
    method: Method = "interior-point",
) -> LowerCertificate:
    """Return a bracket of the lower distance from calibration, with proofs of both ends.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `lower_calibration_distance`.
    tol : float, default 1e-9
        Width of the bracket asked for. If double precision does not allow it the bracket that was reached is returned,
        and `converged` is False.
    method : {"interior-point", "first-order"}
        The second is the nearly-linear-time paper's own method, an independent check for `tol` of at least 0.002. Its
        cost is linear in the rows after the sort, but grows like 1 / tol**3.

    Returns
    -------
    LowerCertificate
        `lower`, `upper`, the coupling that attains the upper end and the potentials that prove the lower.

    Raises
    ------
    InputError
        If a column or `tol` cannot be used; the message names it and its first bad row.

    See Also
    --------
    lower_calibration_distance, check_coupling, check_potentials

    Notes
    -----
    The optimum is the continuous one, over all u in [0, 1], not over a grid. `check_coupling` and `check_potentials`
    prove both ends again from the definitions, without the solver.
    Cost: as `lower_calibration_distance`.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Section 7.
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Section 4.

    Examples
    --------
    >>> from calibrant import lower_calibration_certificate
    >>> certificate = lower_calibration_certificate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> certificate.converged, round(certificate.upper, 6)
    (True, 0.091944)
    """
    return lower_certificate_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), tol=tol, method=method)


SMALLEST = 0.002
"""The least tol: a step costs about 64 / tol**2 operations, and there are some 10 / tol of them."""

_ALTERNATIONS = 3  # of x and y towards the proximal point; the next step goes on from there
_STEPS = 40.0  # times log(number of targets) / tol: where to give up


class FirstOrderProblem:
    """Best coupling and best potentials found, in the form of `LowerProblem`.

    Attributes
    ----------
    upper, lower : float
        The bracket they prove.
    v, p, q : ndarray of shape (m,)
        Distinct predictions and the masses of outcomes 0 and 1.
    u, calibrated : ndarray
        Targets and calibrated masses of the coupling.
    potentials : Potentials
        What proves `lower`.
    steps : int
        Extragradient steps taken.
    """

    def __init__(self, masses: Masses, tol: float) -> None:
        if not tol >= SMALLEST:
            raise InputError("tol", f"is {tol}; method='first-order' needs at least {SMALLEST}")
        self.v, self.p, self.q = masses.prediction, masses.zeros, masses.ones
        self._masses, self._tol = masses, tol
        start = LowerProblem(self.v, self.p, self.q)  # every prediction moved to its outcomes' mean
        self.u, self.calibrated = start.u, start.calibrated
        self.upper, self.lower, self.steps = start.upper, start.lower, 0
        self.potentials = _potentials(start)
        self._targets = np.linspace(0.0, 1.0, math.ceil(4.0 / tol) + 1)
        self._enough = tol * (1.0 - 1e-9)  # the proofs round away from each other
        if self.upper - self.lower > self._enough:
            self._play()

    def _play(self) -> None:
        mass, v, outcome = _pieces(self.v, self.p, self.q, self._tol / 8.0)
        cost = np.abs(v[:, None] - self._targets)
        push = outcome[:, None] - self._targets  # what a unit of mass adds to the residual at a target
        spread = np.abs(push)
        game = (mass, push, spread)
        sum_x, sum_y = np.zeros_like(cost), np.zeros_like(self._targets)  # gradients so far
        plan, price = np.zeros_like(cost), np.zeros_like(self._targets)  # and points
        y = np.zeros_like(self._targets)
        most = math.ceil(_STEPS * math.log(self._targets.size) / self._tol)
        for step in range(1, most + 1):
            x, y = _proximal(sum_x, sum_y, y, *game)
            _, here = _proximal(sum_x + cost + push * y, sum_y - mass @ (x * push), y, *game)
            x, here = _proximal(sum_x + cost + push * y, sum_y - mass @ (x * push), here, *game)
            sum_x += cost + push * here
            sum_y -= mass @ (x * push)
            plan += x
            price += here
            self.steps = step
            if step == most or step % max(8, step // 8) == 0:
                self._round(mass[:, None] * plan / step, outcome, price / step)
                if self.upper - self.lower <= self._enough:
                    return

    def _round(self, plan: FloatArray, outcome: FloatArray, price: FloatArray) -> None:
        """A true coupling from the plan, and true potentials from the prices, if they are the best so far.

        The coupling is the monotone one of the whole sample with what the targets hold, so its marginals are exact,
        which is what Lemma 20 is for.
        """
        calibrated = calibrated_masses(plan, outcome, self._targets)
        whole = np.array([0, self.v.size])
        upper = lift.lift_coupling(self.v, self.p, self.q, self._targets, calibrated, whole, np.empty(1))
        if upper < self.upper:
            self.upper, self.u, self.calibrated = upper, self._targets, calibrated
        heights = [_cheapest(self._targets, price * (label - self._targets), self.v) for label in (0.0, 1.0)]
        finite = [np.where(m > 0.0, r, -np.inf) for m, r in zip((self.p, self.q), heights, strict=True)]
        potentials = Potentials(self.v, *finite)
        lower = value_of_potentials(potentials, self._masses)
        if lower > self.lower:
            self.lower, self.potentials = lower, potentials


def calibrated_masses(plan: FloatArray, outcome: FloatArray, u: FloatArray) -> FloatArray:
    """Calibrated masses of all that a plan of shape (pieces, targets) brings to its targets (Lemma 22).

    The outcome that a target has too much of gives up its surplus. Moving that to 0 or 1, where it is calibrated,
    costs at most the target's residual, the absolute sum of mass * (outcome - u). The targets begin at 0 and end at 1.
    """
    zeros, ones = plan[outcome == 0.0].sum(axis=0), plan[outcome == 1.0].sum(axis=0)
    calibrated: FloatArray = np.zeros_like(u)
    calibrated[1:-1] = np.minimum(zeros[1:-1] / (1.0 - u[1:-1]), ones[1:-1] / u[1:-1])
    calibrated[0] = max(0.0, zeros.sum() - (1.0 - u) @ calibrated)
    calibrated[-1] = max(0.0, ones.sum() - u[:-1] @ calibrated[:-1])
    return calibrated


def _pieces(v: FloatArray, p: FloatArray, q: FloatArray, width: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, mean prediction and outcome of what falls into each cell of a grid."""
    cell = np.floor(v / width).astype(np.int64)
    labels = []
    for label, mass in ((0.0, p), (1.0, q)):
        total = np.bincount(cell, mass)
        mask = total > 0.0
        centre = np.bincount(cell, mass * v)[mask] / total[mask]
        labels.append((total[mask], centre, np.full(centre.size, label)))
    mass, centre, outcome = (np.concatenate(parts) for parts in zip(*labels, strict=True))
    return mass, centre, outcome


def _proximal(
    sum_x: FloatArray, sum_y: FloatArray, y: FloatArray, mass: FloatArray, push: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimise <sum_x, x> + <sum_y, y> + regulariser by turns in x and y, starting from y."""
    x = push
    for _ in range(_ALTERNATIONS):
        x = -(sum_x + spread * y**2)
        x -= x.max(axis=1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=1, keepdims=True)
        y = np.clip(-0.5 * sum_y / np.maximum(mass @ (x * spread), 1e-300), -1.0, 1.0)
    return x, y


def _cheapest(u: FloatArray, price: FloatArray, v: FloatArray) -> FloatArray:
    """Min over targets of |u - v| + price, for increasing u: the best from below and the best from above."""
    below = np.append(np.inf, np.minimum.accumulate(price - u))
    above = np.append(np.minimum.accumulate((price + u)[::-1])[::-1], np.inf)
    at = np.searchsorted(u, v)
    return np.minimum(below[at] + v, above[at] - v)


def pooled_by_cells(sample: Sample, cells: float) -> tuple[Sample, float]:
    """Pool the predictions of each cell of width 1 / cells; the second value is at least the mean move."""
    v = sample.prediction
    cell = (v * cells).astype(np.int64)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    last = np.append(first[1:], v.size) - 1

    def summed(column: FloatArray) -> FloatArray:
        return np.add.reduceat(column, first)

    count, ones = summed(sample.count), summed(sample.ones)
    weight = count if sample.weight is sample.count else summed(sample.weight)
    middle = 0.5 * (v[first] + v[last])
    mean = np.divide(summed(sample.weight * v), weight, out=middle, where=weight > 0.0)
    mean = np.clip(mean, v[first], v[last])  # rounding must not carry one beyond its cell
    moved = sample.weight * np.abs(v - np.repeat(mean, last - first + 1))
    coarse = Sample(
        mean,
        count,
        ones,
        weight,
        ones if sample.weighted_outcome is sample.ones else summed(sample.weighted_outcome),
        count if sample.squared_weight is sample.count else summed(sample.squared_weight),
        v[last] - v[first],
        sample.binary,
    )
    return coarse, float(moved.sum()) / sample.total_weight * (1.0 + 1e-9)


def pooled_rows(
    y: FloatArray, v: FloatArray, weight: FloatArray | None, cells: float
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """The same of rows in any order: means, shares of the weight with outcome 0 and with 1, and the mean move."""
    size = int(cells) + 1
    mean, mass, ones = np.empty(size), np.zeros(size), np.zeros(size)
    n_cells, moved = pool_rows(v, y, weight, cells, mean, mass, ones)
    mass, ones = mass[:n_cells], np.minimum(ones[:n_cells], mass[:n_cells])
    total = float(mass.sum())
    return mean[:n_cells], (mass - ones) / total, ones / total, moved / total * (1.0 + 1e-9)


_UNIT = 2.0**14  # that the solver is given of a mass, and of a length, of 1: its tolerances are no shares of them
_LEAST = 1e-10  # tolerance that it takes
_GAP = 1e-9  # that is promised between the cost and what is proved from below


def restricted_lower_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, values: npt.ArrayLike
) -> float:
    """Smallest average change that makes the predictions calibrated, if afterwards they may take given values only.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    values : array-like of shape (m,)
        The values that calibrated predictions may take, in [0, 1]; 0 and 1 must be among them, so that there are
        calibrated predictions at all.

    Returns
    -------
    float
        The minimum of E|u - v| over joint distributions of (u, v, y). Their (v, y) is the sample. Their u is among
        `values` and calibrated: E[y | u] = u. Attained by a coupling, so never below the exact minimum except by
        rounding; above it by at most 1e-9, which is proved each time.

    Raises
    ------
    InputError
        If a column or `values` cannot be used; the message names it and its first bad row.
    ArithmeticError
        If the solver finds no answer that is proved to 1e-9.

    See Also
    --------
    lower_calibration_distance, lower_calibration_certificate

    Notes
    -----
    At least the lower distance, and above it by at most the largest distance of a number in [0, 1] from `values` (Lemma
    17). It tests a finer grid, or gives the cost of a coarser one, such as predictions rounded to tenths. Cost: a
    sparse linear program of 4 n + 5 m unknowns on a path, 2 s for 2,000 distinct predictions and 100 values.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 7 (U-LDTC) and
    Lemmas 17 and 18.

    Examples
    --------
    >>> from calibrant.measures import restricted_lower_distance
    >>> y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> [round(restricted_lower_distance(y_true, y_prob, values=u), 6) for u in ([0, 1], [0, 0.5, 1])]
    [0.25, 0.15]
    """
    allowed = np.asarray(values, np.float64)
    if allowed.ndim != 1 or not ((allowed >= 0.0) & (allowed <= 1.0)).all():
        raise InputError("values", "must be numbers in [0, 1], in one dimension")
    allowed = np.unique(allowed)
    if allowed.size < 2 or allowed[0] != 0.0 or allowed[-1] != 1.0:
        raise InputError("values", "must hold 0 and 1: without them there may be no calibrated predictions")
    sample = Sample.from_columns(y_true, y_prob, sample_weight)
    masses = Masses.of(sample)
    v, p, q = masses.prediction, masses.zeros, masses.ones
    calibrated, least = _calibrated_masses(v, p, q, allowed)
    whole = np.array([0, v.size])
    cost = float(lift.lift_coupling(v, p, q, allowed, calibrated, whole, np.empty(1)))
    if cost - least > _GAP:
        raise ArithmeticError(f"the distance is proved to lie between {least:.3g} and {cost:.3g}, and no closer")
    return cost


def _calibrated_masses(v: FloatArray, p: FloatArray, q: FloatArray, allowed: FloatArray) -> tuple[FloatArray, float]:
    """Masses at the allowed values, a share u of each with outcome 1, that the sample is carried to most cheaply.

    And a cost that none is below. Either outcome is carried along the line: what flows over each gap of neighbouring
    places is its own unknown, to the right and to the left, and costs the gap.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    places = np.union1d(v, allowed)
    n = places.size
    gap, at = np.diff(places), np.searchsorted(places, allowed)
    node = np.arange(n - 1)
    # What leaves a place to the right less what comes from the left.
    flow = coo_array((np.repeat([1.0, -1.0], n - 1), (np.append(node, node + 1), np.append(node, node))), (n, n - 1))
    nothing = coo_array((n, 2 * (n - 1)))
    both = hstack([flow, -flow])
    incidence = [
        coo_array((share, (at, np.arange(allowed.size))), (n, allowed.size)) for share in (1.0 - allowed, allowed)
    ]
    masses = [np.asarray(np.bincount(np.searchsorted(places, v), mass, n), dtype=np.float64) for mass in (p, q)]
    solved = linprog(
        np.concatenate([_UNIT * gap, _UNIT * gap, _UNIT * gap, _UNIT * gap, np.zeros(allowed.size)]),
        A_eq=vstack([hstack([both, nothing, incidence[0]]), hstack([nothing, both, incidence[1]])]).tocsr(),
        b_eq=_UNIT * np.concatenate(masses),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _LEAST, "dual_feasibility_tolerance": _LEAST},
    )
    if solved.status != 0:  # all at 0 and 1 is calibrated, so that there is an answer
        raise ArithmeticError(f"the solver found no answer: {solved.message}")
    calibrated = np.asarray(np.maximum(solved.x[-allowed.size :], 0.0))
    heights = np.asarray(solved.eqlin.marginals, dtype=np.float64) / _UNIT
    return calibrated, _proved_restricted(places, at, masses[0], masses[1], heights[:n], heights[n:])


def _proved_restricted(
    places: FloatArray, at: IntArray, p: FloatArray, q: FloatArray, r0: FloatArray, r1: FloatArray
) -> float:
    """Return the lower bound that any heights of the places prove, lowered until nothing allowed may earn more."""
    r0, r1 = (_gentle(places, each) for each in (r0, r1))
    value = places[at]
    over = ((1.0 - value) * r0[at] + value * r1[at]).max()
    return float(p @ r0 + q @ r1 - max(over, 0.0) * (p.sum() + q.sum()))


def _gentle(places: FloatArray, r: FloatArray) -> FloatArray:
    """The largest function below r that changes by at most the distance."""
    r = np.minimum.accumulate(r - places) + places
    return np.asarray(np.minimum.accumulate((r + places)[::-1])[::-1] - places)
