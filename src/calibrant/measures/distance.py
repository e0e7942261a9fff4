"""True and upper distance from calibration: certified brackets, exact where possible, with the nearest predictor."""

from __future__ import annotations

__all__ = ["calibration_distance", "check_predictor", "upper_calibration_distance"]

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from calibrant.door.arguments import TimeLimit
from calibrant.door.columns import Column, as_numbers, read_columns
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.rows import read_groups
from calibrant.door.sample import Sample
from calibrant.kernels import columns, partitions
from calibrant.kernels.segments import cut
from calibrant.kernels.sums import dot
from calibrant.kernels.two_rows import Row, cut_in_step
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.distance_lattice import (
    LatticeProblem,
    PartitionDomain,
    cost_of_partition,
    domain_of_predictions,
    domain_of_rows,
    part_means,
    rounding_of_cover,
    rounding_of_program,
)
from calibrant.measures.lower import LowerCertificate, audited_certificate, lower_certificate_from_sample
from calibrant.measures.lower_check import Coupling, Potentials, heights_at
from calibrant.threads import beside

EXACT = 1e-9
"""Width under which a bracket counts as closed, in probability units."""


def _bracket(domain: PartitionDomain, relaxation: LowerCertificate, clock: TimeLimit) -> Bracket:
    """Bracket the true distance of a domain."""
    mass, v, y = domain.mass, domain.v, domain.y
    labels = rounded_partition(mass, v, y, relaxation)
    _, upper = cost_of_partition(domain, labels)
    lower = relaxation.lower
    if upper - lower > EXACT and not clock.up:
        n = v.size
        if np.ptp(mass) <= 1e-12 / n and bool(((y == 0.0) | (y == 1.0)).all()):
            lattice = LatticeProblem(v, y, relaxation, labels)
            lattice.solve(clock)
            labels = lattice.labels
            uneven = 2.0 * float(np.abs(mass - 1.0 / n).sum())  # the search takes masses for equal
            lower = max(lower, (lattice.credit + lattice.proven) / n - lattice.rounding - uneven)
        elif (exact := exact_partition(mass, v, y, clock)) is not None:
            labels = exact
            lower = max(lower, cost_of_partition(domain, labels)[0] - rounding_of_program(n))
        elif not clock.up:
            labels, proven = partition_by_columns(mass, v, y, labels, clock)
            lower = max(lower, proven)
    # The predictor's own levels: parts whose means round to one number are one part.
    predictor = part_means(domain, labels)
    _, upper = cost_of_partition(domain, _levels(predictor))
    return Bracket(lower, upper, exact=upper - lower <= EXACT, predictor=predictor, certificate=relaxation)


def _levels(predictor: FloatArray) -> IntArray:
    return np.unique(predictor, return_inverse=True)[1].astype(np.int64)


def calibration_distance(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    element: Sequence[Any] | npt.NDArray[Any] | None = None,
    time_limit: float | None = None,
) -> Bracket:
    """Return a bracket of the distance to the nearest calibrated predictor, which may treat every row differently.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or the conditional probabilities of outcome 1, in [0, 1]: one per element of the domain.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Masses of the elements, up to a factor.
    element : sequence of shape (n,), optional
        Name of each row's element, where the domain is known: rows of one element are one, with their mean outcome,
        and have one prediction. By default every row is an element.
    time_limit : float, optional
        Seconds after which the search ends with the bracket reached. The lower distance and a first predictor, which it
        starts from, are always computed (1 s at 10**5 rows). Without a limit it goes on until the distance is exact or
        ten million states have been visited.

    Returns
    -------
    Bracket
        `lower` <= distance <= `upper`, whether it is exact, and the nearest calibrated predictor found, which need not
        give equal values to equal predictions.

    Raises
    ------
    InputError
        If a column or `time_limit` cannot be used, or predictions of one element differ; the message names it and its
        first bad row.

    See Also
    --------
    upper_calibration_distance, lower_calibration_distance, check_predictor

    Notes
    -----
    The minimum over calibrated predictors g of E|f - g|. Equally, the least cost over partitions of the elements of
    moving each part to its mean outcome (Fact 1). For unweighted outcomes of 0 or 1 the search is exact. It takes
    seconds at n = 2,000 to 10,000, longer if many partitions are equally good (docs/benchmarks-distances.md). In
    general the problem is NP-hard (Theorem 2). Rows with equal predictions are separate elements, unlike in
    `upper_calibration_distance`. With `element` it is the distance of the empirical domain. Of n independent rows of k
    elements it is off the domain's by at most 1.5 sqrt((2 k - 1) / n) on average. It is hardly above it at any k
    (Theorem 3, docs/hardness.md). Cost: a search, exponential in the worst case, which `time_limit` ends.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 4.1.
    Computational and Statistical Hardness of Calibration Distance, 2026, Theorems 1 and 3.

    Examples
    --------
    >>> from calibrant import calibration_distance
    >>> bracket = calibration_distance([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> bracket.exact, round(bracket.upper, 6), bracket.predictor.tolist()
    (True, 0.15, [0.0, 0.5, 1.0, 0.5])
    >>> named = calibration_distance([0, 1, 1, 0], [0.4, 0.4, 0.9, 0.9], element=["a", "a", "b", "b"])
    >>> round(named.upper, 6), named.predictor.tolist()
    (0.25, [0.5, 0.5, 0.5, 0.5])
    """
    clock = TimeLimit(time_limit)
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    if element is not None:
        return _of_elements(outcome, prediction, weight, read_groups(element, prediction.size, "element"), clock)
    return _of_rows(outcome, prediction, weight, clock)


def _of_elements(y: FloatArray, v: FloatArray, w: FloatArray | None, element: IntArray, clock: TimeLimit) -> Bracket:
    """Distance over the domain whose elements have the mean outcomes of their rows."""
    first = np.unique(element, return_index=True)[1]
    other = v != v[first[element]]
    if other.any():
        row = int(np.argmax(other))
        one = int(first[element[row]])
        raise InputError("y_prob", f"row {row} is {v[row]!r} but row {one} of its element is {v[one]!r}", row=row)
    each = np.ones_like(v) if w is None else w
    mass = np.asarray(np.bincount(element, each), np.float64)
    ones = np.asarray(np.bincount(element, each * y), np.float64)
    rate = np.clip(np.divide(ones, mass, out=np.zeros_like(ones), where=mass > 0.0), 0.0, 1.0)
    even = w is None and bool((mass == mass[0]).all())
    bracket = _of_rows(rate, v[first], None if even else mass, clock)
    assert bracket.predictor is not None
    return replace(bracket, predictor=bracket.predictor[element])


def _of_rows(outcome: FloatArray, prediction: FloatArray, weight: FloatArray | None, clock: TimeLimit) -> Bracket:
    relaxation = lower_certificate_from_sample(Sample.from_columns(outcome, prediction, weight), tol=1e-11)
    if weight is None:
        return _bracket(domain_of_rows(np.ones_like(prediction), prediction, outcome), relaxation, clock)
    carries = weight / weight.sum() > 0.0  # what has no mass cannot cost anything: it stays where it is
    domain = domain_of_rows(weight[carries], prediction[carries], outcome[carries])
    return _with_all_rows(_bracket(domain, relaxation, clock), carries, prediction)


def _with_all_rows(bracket: Bracket, carries: NDArray[np.bool_], prediction: FloatArray) -> Bracket:
    predictor = prediction.copy()
    predictor[carries] = bracket.predictor
    return replace(bracket, predictor=predictor)


def upper_distance_from_sample(sample: Sample, *, time_limit: float | None = None) -> Bracket:
    """Bracket of a sample's upper distance; its predictor has one value per distinct prediction."""
    clock = TimeLimit(time_limit)
    relaxation = lower_certificate_from_sample(sample, tol=1e-11)
    carries, domain = domain_of_predictions(sample)
    return _with_all_rows(_bracket(domain, relaxation, clock), carries, sample.prediction)


def upper_calibration_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, time_limit: float | None = None
) -> Bracket:
    """Return a bracket of the distance to the nearest calibrated predictor that is a function of the predictions.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    time_limit : float, optional
        As for `calibration_distance`.

    Returns
    -------
    Bracket
        `lower` <= distance <= `upper`, whether it is exact, and the best post-processed predictions found, one per row:
        equal predictions have equal values.

    Raises
    ------
    InputError
        If a column or `time_limit` cannot be used; the message names it and its first bad row.

    See Also
    --------
    calibration_distance, lower_calibration_distance, check_predictor

    Notes
    -----
    The minimum of E|f - k(f)| over functions k of one prediction with k(f) calibrated. It is the true distance of the
    domain whose elements are the distinct predictions with their mean outcomes. At least the true distance and at most
    the interval calibration error. Cost: a search, exponential in the worst case, which `time_limit` ends.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 5.2.

    Examples
    --------
    >>> from calibrant import upper_calibration_distance
    >>> bracket = upper_calibration_distance([0, 1, 1, 0], [0.4, 0.4, 0.6, 0.6])
    >>> bracket.exact, round(bracket.upper, 6), bracket.predictor.tolist()
    (True, 0.1, [0.5, 0.5, 0.5, 0.5])
    """
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    sample = Sample.from_columns(outcome, prediction, weight)
    bracket = upper_distance_from_sample(sample, time_limit=time_limit)
    assert bracket.predictor is not None
    return replace(bracket, predictor=bracket.predictor[np.searchsorted(sample.prediction, prediction)])


def check_predictor(predictor: Column, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Upper bound of the true distance from calibration that a predictor proves; any predictor proves one.

    Parameters
    ----------
    predictor : column of shape (n,)
        Any predictions, one per row.
    y_true, y_prob, sample_weight
        The domain it speaks of, as for `calibration_distance`.

    Returns
    -------
    float
        Distance from `y_prob` to the predictor that gives the rows of each level of `predictor` their mean outcome.
        It is rounded up by more than the arithmetic can have erred. A calibrated predictor is its own. If equal
        predictions have equal values, it bounds the upper distance as well.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    calibration_distance, upper_calibration_distance

    Notes
    -----
    Cost: a sort, then one pass.

    References
    ----------
    Computational and Statistical Hardness of Calibration Distance, 2026, Fact 1.

    Examples
    --------
    >>> from calibrant.measures import check_predictor
    >>> round(check_predictor([0.0, 0.5, 1.0, 0.5], [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 12)
    0.15
    """
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    level = as_numbers(predictor, "predictor")
    if level.shape != prediction.shape:
        raise InputError("predictor", f"has shape {level.shape} but y_prob has {prediction.shape}; they must match")
    domain = domain_of_rows(np.ones_like(prediction) if weight is None else weight, prediction, outcome)
    return cost_of_partition(domain, _levels(level))[1]


_SUBSETS = 16  # elements: 3**16 pairs take a fifth of a second
_BOXES = 4e9  # pairs of a state and a part that are affordable
_STATES = 2e7


def exact_partition(mass: FloatArray, v: FloatArray, y: FloatArray, clock: TimeLimit) -> IntArray | None:
    """Part of each element in a cheapest partition, or None where no program is affordable or the time is up."""
    if v.size > _SUBSETS:
        return partition_by_types(mass, v, y, clock)
    label = np.empty(v.size, np.int64)
    return label if clock.run(partitions.by_subsets, mass, v, y, label, clock.stop) else None


def partition_by_types(mass: FloatArray, v: FloatArray, y: FloatArray, clock: TimeLimit) -> IntArray | None:
    """Part of each element in a cheapest partition, or None where elements are of too many types."""
    n = v.size
    # Elements of one type, mass and outcome, keep their order in some cheapest partition (Lemma 4).
    order = np.lexsort((v, y, mass))
    changes = np.diff(mass[order]), np.diff(y[order])
    first = np.append(np.flatnonzero(np.append(True, (changes[0] != 0.0) | (changes[1] != 0.0))), n)
    counts = np.diff(first).astype(np.float64)
    states = np.log(counts + 1.0).sum()  # logarithms, because the numbers overflow
    boxes = states + np.log(0.5 * counts + 1.0).sum()
    if states > math.log(_STATES) or boxes > math.log(_BOXES):
        return None
    of_type = mass[order][first[:-1]], y[order][first[:-1]]
    sorted_label = np.empty(n, np.int64)
    if not clock.run(partitions.by_types, first, v[order], *of_type, sorted_label, clock.stop):
        return None
    label = np.empty(n, np.int64)
    label[order] = sorted_label
    return label


BoolArray = npt.NDArray[np.bool_]
_FIRST = 128  # places that are tried first for either row, by targets and by predictions
_NEAR = np.array([(a, b) for a in range(-2, 3) for b in range(-2, 3) if abs(a) + abs(b) <= 2])
_ROUNDING_BOXES = 4  # a part leads over the places near so many others at most
_LOOKS, _WORTH = 4, 0.02  # looks at single elements; the share of the gap that each must win for another
_CLOSED = 1e-11
_GAIN = 1e-13


def rounded_partition(mass: FloatArray, v: FloatArray, y: FloatArray, relaxation: LowerCertificate) -> IntArray:
    """Part of each element, shape (n,), in a partition whose cost is little above the lower distance.

    Elements make two rows, and a part takes the next of either: by outcome, which loses nothing if all are 0 or 1; else
    also by whether the prediction is too high, and the cheaper is returned.
    Cost: near-linear, some 1e6 parts looked at for 1e4 elements and 1e7 for 1e6.
    """
    targets = _targets(mass, v, y, relaxation.coupling)
    splits = [y > 0.5] if bool(((y == 0.0) | (y == 1.0)).all()) else [y > 0.5, y > v]
    with beside() as thread:
        others = [thread.submit(_in_two_rows, mass, v, y, targets, relaxation.potentials, each) for each in splits[1:]]
        pairs = [_in_two_rows(mass, v, y, targets, relaxation.potentials, splits[0])]
        pairs += [each.result() for each in others]
    return min(pairs, key=lambda each: each[0])[1]


def _in_two_rows(
    mass: FloatArray, v: FloatArray, y: FloatArray, targets: FloatArray, potentials: Potentials, second: BoolArray
) -> tuple[float, IntArray]:
    """Cost beyond the credit, and parts; cuts at few places along the targets, then ever nearer to the best of them."""
    order = [np.flatnonzero(rows) for rows in (~second, second)]
    order = [rows[np.argsort(v[rows], kind="stable")] for rows in order]
    first, other = (_row(mass[i], v[i], y[i], potentials) for i in order)
    size = np.array([i.size for i in order])
    rising = [np.maximum.accumulate(np.round(targets[i], 9)) for i in order]  # one target is one, for any rounding
    places = _sorted(np.concatenate([_in_step(rising), _in_step([first.v, other.v])]), size)
    gap, path = cut_in_step(first, other, places, len(places), np.inf, _GAIN)
    cuts = places[path]
    step, looks = max(1, v.size // _FIRST), _LOOKS
    while gap > _CLOSED and looks:
        middles = (cuts[1:] + cuts[:-1]) // 2
        near = np.concatenate([cuts, middles])[:, None] + step * _NEAR
        places = _sorted(near.reshape(-1, 2), size)
        length, path = cut_in_step(first, other, places, _ROUNDING_BOXES * len(_NEAR), gap + _CLOSED, _GAIN)
        if step == 1:
            looks = looks - 1 if gap - length > _WORTH * gap else 0
        if length <= gap:
            gap, cuts = length, places[path]
        step = -(-step // 3)
    labels = np.empty(v.size, np.int64)
    for i, used in zip(order, cuts.T, strict=True):
        labels[i] = np.repeat(np.arange(used.size - 1), np.diff(used))
    return gap, labels


def audited_distances(sample: Sample) -> tuple[LowerCertificate, float]:
    """The certificate that audits share, and the distance of a good calibrated post-processing, found without a search.

    The second is an upper bound of the upper distance.
    """
    certificate = audited_certificate(sample)
    domain = domain_of_predictions(sample)[1]
    return certificate, cost_of_partition(domain, rounded_partition(domain.mass, domain.v, domain.y, certificate))[1]


def audited_parts(sample: Sample, certificate: LowerCertificate) -> IntArray:
    """Part of each distinct prediction in the partition that an audit's upper end comes from."""
    carries, domain = domain_of_predictions(sample)
    parts = np.zeros(sample.n_distinct, np.int64)
    parts[carries] = rounded_partition(domain.mass, domain.v, domain.y, certificate)
    return parts


def _row(mass: FloatArray, v: FloatArray, y: FloatArray, potentials: Potentials) -> Row:
    r0, r1 = heights_at(potentials, v)
    r0 *= 1.0 - y
    r1 *= y
    r0 += r1
    del r1
    sums = np.zeros((v.size + 1, 4))
    for total, each in zip(sums.T, (None, y, v, r0), strict=True):
        np.cumsum(mass if each is None else mass * each, out=total[1:])
    cells = max(1, v.size)
    return Row(v, sums, np.searchsorted(v, np.arange(cells + 2) / cells))


def _in_step(both: list[FloatArray]) -> IntArray:
    """Count the elements of either row below each of some values of its increasing keys."""
    values = np.concatenate([key[:: max(1, key.size // _FIRST)] for key in both])
    return np.stack([np.searchsorted(key, values) for key in both], axis=1)


def _sorted(places: IntArray, size: IntArray) -> IntArray:
    """The places, within both rows, from their starts to their ends, each once."""
    places = np.concatenate([np.zeros((1, 2), np.int64), np.clip(places, 0, size), size[None]])
    base = int(size.sum()) + 1
    codes = np.sort(places.sum(axis=1) * base + places[:, 0])
    level, used = np.divmod(codes[np.flatnonzero(np.diff(codes, prepend=-1))], base)
    return np.stack([used, level - used], axis=1)


def _targets(mass: FloatArray, v: FloatArray, y: FloatArray, coupling: Coupling) -> FloatArray:
    """Mean target of each element, those that share a prediction taking targets in turn."""
    order = np.argsort(v, kind="stable")
    moved = np.zeros(v.size)
    for label in (0.0, 1.0):
        pieces = np.flatnonzero(coupling.y == label)
        pieces = pieces[np.lexsort((coupling.u[pieces], coupling.v[pieces]))]
        piece = coupling.mass[pieces]
        carried = np.append(0.0, piece.cumsum())
        piece *= coupling.u[pieces]
        del pieces
        reached = np.append(0.0, piece.cumsum())
        del piece
        share = (y if label else 1.0 - y) * mass
        ends = np.append(0.0, share[order].cumsum())
        del share
        moved[order] += np.diff(np.interp(ends, carried, reached))
        del ends, carried, reached
    moved /= mass
    return moved


_ELEMENTS = 128  # beyond, the relaxation takes too long
_GRID = 65  # values that are tried besides those of the elements
_ROUNDS = 6
_FEASIBLE = 1e-6
_CELLS = 256
_STEPS, _PARTS = 100_000_000, 20_000  # some seconds; and some ten in the exact cover
_NODES = 2_000
_FRACTION, _SMALLEST = 1.0 / 32.0, 1e-7  # of the gap; the first budget, doubled until it is the gap
_COLUMNS_CLOSED = 5e-10
_UNITS = 1000.0  # a budget, in the units of the exact cover: its tolerances are 1e-7 and 1e-6 of one unit


@dataclass(frozen=True, slots=True, eq=False)
class ElementRelaxation:
    """Cheapest way to move shares of elements, each with its own mix of outcomes, to calibrated values."""

    credit: FloatArray  # (n,): no part costs less than the credits of its elements, weighted by their masses
    target: FloatArray  # (n,): mean value to which each element's shares move


def element_relaxation(mass: FloatArray, v: FloatArray, y: FloatArray, clock: TimeLimit) -> ElementRelaxation:
    """Solve the relaxation on a growing set of values, and lower its credits until they hold at all values."""
    values = np.unique(np.concatenate([np.linspace(0.0, 1.0, _GRID), v, y]))
    place = np.empty(v.size)
    for rounds in range(_ROUNDS):
        credit, target = _solved(mass, v, y, values)
        over = columns.credit_overdraft(v, y, credit, place)
        if over.max() <= _FEASIBLE or clock.up or rounds == _ROUNDS - 1:
            break
        values = np.union1d(values, place[over > 0.5 * _FEASIBLE])
    return ElementRelaxation(credit - max(float(over.max()), 0.0), target)


def _solved(mass: FloatArray, v: FloatArray, y: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Credits, and mean targets of the elements: least cost of shares x[i, k] of element i at value k."""
    n, size = v.size, values.size
    element, value = np.divmod(np.arange(n * size), size)
    share = np.arange(n * size)
    rows = np.concatenate([element, n + value])
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    whole_and_calibrated = csr_array(
        (np.append(np.ones(n * size), y[element] - values[value]), (rows, np.tile(share, 2)))
    )
    distance = np.abs(v[element] - values[value])
    solved = linprog(distance, A_eq=whole_and_calibrated, b_eq=np.append(mass, np.zeros(size)), method="highs-ds")
    if solved.x is None:  # any credits that are returned are made to hold
        return np.zeros(n), v.copy()
    moved = np.maximum(solved.x.reshape(n, size), 0.0)
    total = moved.sum(axis=1)
    target = np.divide(moved @ values, total, out=v.copy(), where=total > 0.0)  # tolerances may lose a tiny element
    return np.asarray(solved.eqlin.marginals[:n], dtype=np.float64), target


def partition_by_columns(
    mass: FloatArray, v: FloatArray, y: FloatArray, labels: IntArray, clock: TimeLimit
) -> tuple[IntArray, float]:
    """Return a partition at least as good as `labels`, and a lower bound of what any costs; 0 for too many elements.

    They meet, to 1e-9, where the parts within the gap of the relaxation can be listed and the exact cover by them is
    solved. Cost: seconds, to some minutes without a time limit.
    """
    if v.size > _ELEMENTS:
        return labels, 0.0
    relaxation = element_relaxation(mass, v, y, clock)
    credit = relaxation.credit
    order = np.lexsort((v, np.round(relaxation.target, 9)))
    start = clock.run(cut, mass[order], v[order], y[order], np.arange(v.size + 1), v.size, clock.stop)
    rounded = np.empty(v.size, np.int64)
    rounded[order] = np.repeat(np.arange(start.size), np.diff(np.append(start, v.size)))
    starts = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (labels, rounded)]
    for each in starts:
        clock.run(partitions.improve, mass, v, y, each, clock.stop)
    labels = min(starts, key=lambda each: _cost(mass, v, y, each))
    relaxed = dot(mass, credit)
    proven, gap = max(relaxed, 0.0), _cost(mass, v, y, labels) - relaxed
    budget = max(_FRACTION * gap, _SMALLEST)
    while relaxed + gap - proven > _COLUMNS_CLOSED and not clock.up:
        budget, known = min(budget, gap), (proven, gap)
        parts: columns.Parts = clock.run(
            columns.parts_within, mass, v, y, credit, budget, _CELLS, (_STEPS, _PARTS), clock.stop
        )
        if not parts.complete:
            break
        cover, bound = _exact_cover(parts, v.size, budget, clock)
        if cover is not None and _cost(mass, v, y, cover) - relaxed < gap:
            labels, gap = cover, _cost(mass, v, y, cover) - relaxed
        # A partition that costs less than the budget beyond its credit is made of such parts.
        proven = max(proven, relaxed + min(budget, bound))
        if budget == gap and (proven, gap) == known:  # of all parts no program tells more
            break
        budget = 2.0 * budget if 3.0 * budget < gap else gap
    rounding = rounding_of_cover(v.size, float(np.abs(credit).max()))
    return labels, min(proven, relaxed + gap) - rounding


def _exact_cover(parts: columns.Parts, n: int, budget: float, clock: TimeLimit) -> tuple[IntArray | None, float]:
    """Cheapest partition into some of the parts, if one was found, and a lower bound of its excess."""
    if np.unique(parts.members).size < n:
        return None, np.inf
    count = parts.excess.size
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array

    members = csc_array((np.ones(parts.members.size), parts.members, parts.start), shape=(n, count))
    limit = {"node_limit": _NODES} if clock.left is None else {"time_limit": max(clock.left, 1e-3)}
    unit = budget / _UNITS
    solved = milp(
        parts.excess / unit,
        constraints=LinearConstraint(members, 1.0, 1.0),
        integrality=np.ones(count),
        bounds=Bounds(0.0, 1.0),
        options={"mip_rel_gap": 0.0, **limit},
    )
    if solved.status == 2:
        return None, np.inf
    # Each part of a cover may be off by the dual tolerance, and the search stops within its absolute gap.
    bound = 0.0 if solved.mip_dual_bound is None else (float(solved.mip_dual_bound) - 1e-7 * n - 1e-6) * unit
    if solved.x is None:
        return None, bound
    label = np.full(n, -1, np.int64)
    for name, part in enumerate(np.flatnonzero(solved.x > 0.5)):
        label[parts.members[parts.start[part] : parts.start[part + 1]]] = name
    return (label if label.min() >= 0 else None), bound


def _cost(mass: FloatArray, v: FloatArray, y: FloatArray, labels: IntArray) -> float:
    total = np.bincount(labels, mass)
    mean = np.bincount(labels, mass * y) / np.where(total > 0.0, total, 1.0)
    return dot(mass, np.abs(v - mean[labels]))
