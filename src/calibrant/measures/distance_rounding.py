"""A good calibrated predictor near the best coupling: two rows of elements, cut in step (docs/distance.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.door.sample import Sample
from calibrant.kernels.two_rows import Row, cut_in_step
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.distance_proof import cost_of_partition, domain_of_predictions
from calibrant.measures.lower import LowerCertificate, audited_certificate
from calibrant.measures.lower_check import Coupling, Potentials, heights_at

BoolArray = npt.NDArray[np.bool_]
_FIRST = 128  # places that are tried first for either row, by targets and by predictions
_NEAR = np.array([(a, b) for a in range(-2, 3) for b in range(-2, 3) if abs(a) + abs(b) <= 2])
_BOXES = 4  # a part leads over the places near so many others at most
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
    found = [_in_two_rows(mass, v, y, targets, relaxation.potentials, second) for second in splits]
    return min(found, key=lambda each: each[0])[1]


def _in_two_rows(
    mass: FloatArray, v: FloatArray, y: FloatArray, targets: FloatArray, potentials: Potentials, second: BoolArray
) -> tuple[float, IntArray]:
    """Cost beyond the credit, and parts; cuts at few places along the targets, then ever nearer to the best of them."""
    order = [np.flatnonzero(chosen) for chosen in (~second, second)]
    order = [chosen[np.argsort(v[chosen], kind="stable")] for chosen in order]
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
        found, path = cut_in_step(first, other, places, _BOXES * len(_NEAR), gap + _CLOSED, _GAIN)
        if step == 1:
            looks = looks - 1 if gap - found > _WORTH * gap else 0
        if found <= gap:
            gap, cuts = found, places[path]
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
    _, domain = domain_of_predictions(sample)
    return certificate, cost_of_partition(domain, rounded_partition(domain.mass, domain.v, domain.y, certificate))[1]


def _row(mass: FloatArray, v: FloatArray, y: FloatArray, potentials: Potentials) -> Row:
    r0, r1 = heights_at(potentials, v)
    sums = np.zeros((v.size + 1, 4))
    for total, each in zip(sums.T, (mass, mass * y, mass * v, mass * ((1.0 - y) * r0 + y * r1)), strict=True):
        np.cumsum(each, out=total[1:])
    cells = max(1, v.size)
    return Row(v, sums, np.searchsorted(v, np.arange(cells + 2) / cells))


def _in_step(keys: list[FloatArray]) -> IntArray:
    """How many of either row lie below each of some values of its increasing keys."""
    values = np.concatenate([key[:: max(1, key.size // _FIRST)] for key in keys])
    return np.stack([np.searchsorted(key, values) for key in keys], axis=1)


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
    for label, share in ((0.0, (1.0 - y) * mass), (1.0, y * mass)):
        pieces = np.flatnonzero(coupling.y == label)
        pieces = pieces[np.lexsort((coupling.u[pieces], coupling.v[pieces]))]
        carried = np.append(0.0, coupling.mass[pieces].cumsum())
        reached = np.append(0.0, (coupling.mass[pieces] * coupling.u[pieces]).cumsum())
        ends = np.append(0.0, share[order].cumsum())
        moved[order] += np.diff(np.interp(ends, carried, reached))
    return moved / mass
