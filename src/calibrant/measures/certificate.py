"""Certificates: whole numbers that prove the distances from calibration of some rows, without trust in this library.

`calibrant/check_certificate.py` checks them, and shares nothing with this module (docs/certificates.md).
"""

from __future__ import annotations

__all__ = ["Certificate", "calibration_certificate"]

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.output import write_whole
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.measures.distance import audited_parts
from calibrant.measures.lower import LowerCertificate, audited_certificate
from calibrant.measures.lower_check import Coupling, Potentials, heights_at
from calibrant.measures.smooth import Witness, dual_path, witness_from_sample

FORMAT = "calibrant certificate 1"
BITS = 80
"""Proofs are in units of 2**-BITS."""
_UNIT = 1 << BITS
_TITLES = {
    "smooth_error": "smooth calibration error",
    "lower_distance": "lower distance from calibration",
    "upper_distance": "upper distance from calibration",
    "true_distance": "true distance from calibration",
}


@dataclass(frozen=True, slots=True, repr=False)
class Certificate(Result):
    """What proves distances from calibration of some rows, in whole numbers; `check_certificate.py` checks it alone.

    Attributes
    ----------
    claims : mapping of str to Bracket
        Proved ends of the smooth error, and of the lower, upper and true distance, by name.
    document : mapping
        What `write` writes as JSON (docs/certificates.md).

    See Also
    --------
    calibration_certificate
    """

    _parts = "claims"
    claims: Mapping[str, Bracket]
    document: Mapping[str, Any] = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON has it."""
        return dict(self.document)

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.document)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON, whole or not at all.

        Raises
        ------
        FileError
            If the file cannot be written; an old file stays as it was.
        """
        write_whole(path, self.to_json() + "\n")

    def confirm(self, data: str | os.PathLike[str]) -> None:
        """Let the checker confirm it for the rows of a CSV file.

        Raises
        ------
        InputError
            If the checker cannot read the file or refuses; the message has its reason.
        FileError
            If there is no room for the certificate beside it.
        """
        from calibrant.check_certificate import check

        with TemporaryDirectory() as folder:
            proof = Path(folder) / "certificate.json"
            self.write(proof)
            try:
                check(os.fspath(data), str(proof))
            except (ValueError, TypeError, OSError, csv.Error) as problem:
                allowed = (
                    "it reads CSV of this machine with a header and commas, outcomes 0 and 1 or with a named event"
                )
                reason = "DATA is no text in UTF-8" if isinstance(problem, UnicodeDecodeError) else problem
                raise InputError("certificate", f"is not confirmed by the checker: {reason}", allowed=allowed) from None

    def summary(self) -> str:
        """Say what is proved, and of how many rows."""
        ends = [f"{_TITLES[name]} {bracket.summary()}" for name, bracket in self.claims.items()]
        return f"Of {counted(self.document['rows'], 'row')}: {'; '.join(ends)}."


class _WholeRows:
    """Rows in whole numbers: predictions over `one`, weights of either outcome over a unit of their own."""

    def __init__(self, y: FloatArray, v: FloatArray, w: FloatArray | None) -> None:
        self.sample = Sample.of_arrays(y, v, w)
        self.places, self.index = np.unique(v + 0.0, return_inverse=True)
        place, one = _whole(self.places)
        outcome, whole_outcome = _whole(y)
        weight, whole_weight = _whole(np.ones_like(v) if w is None else w)
        self.one = max(one, _UNIT)
        self.v = [n * (self.one // one) for n in place]
        self.of_rows = [
            (self.v[j], (whole_outcome - b) * a, b * a)
            for j, a, b in zip(self.index.tolist(), weight, outcome, strict=True)
        ]
        self.zeros, self.ones = [0] * len(place), [0] * len(place)
        for j, (_, zeros, ones) in zip(self.index.tolist(), self.of_rows, strict=True):
            self.zeros[j] += zeros
            self.ones[j] += ones
        self.total = sum(self.zeros) + sum(self.ones)
        self.residual = [q * self.one - (p + q) * v for v, p, q in self.of_places]
        unit = whole_outcome * whole_weight
        sums = (
            Fraction(self.total, unit),
            Fraction(sum(self.ones), unit),
            Fraction(sum((p + q) * v for v, p, q in self.of_places), unit * self.one),
            Fraction(sum(q * v for v, _, q in self.of_places), unit * self.one),
        )
        self.moments = [str(each) for each in sums]

    @property
    def of_places(self) -> Iterator[tuple[int, int, int]]:
        """Distinct predictions with their weights of outcome 0 and 1."""
        return zip(self.v, self.zeros, self.ones, strict=True)


def _whole(x: FloatArray) -> tuple[list[int], int]:
    """The numbers over the least power of two over which all are whole, and that power."""
    ratios = [each.as_integer_ratio() for each in x.tolist()]
    one = max(below for _, below in ratios)
    return [above * (one // below) for above, below in ratios], one


def _units(x: FloatArray) -> list[int]:
    """The numbers rounded down to units."""
    return [above * _UNIT // below for above, below in (each.as_integer_ratio() for each in x.tolist())]


def _up(above: int, below: int) -> int:
    return -(-above * _UNIT // below)


def _smooth(rows: _WholeRows, witness: Witness) -> dict[str, Any]:
    heights = [min(max(h, -_UNIT), _UNIT) for h in _units(witness.heights)]
    grain = rows.one // _UNIT
    for j, (u, v) in enumerate(pairwise(rows.v), 1):
        gap = (v - u) // grain
        heights[j] = min(max(heights[j], heights[j - 1] - gap), heights[j - 1] + gap)
    value = sum(b * h for b, h in zip(rows.residual, heights, strict=True)) // (rows.total * rows.one)
    if value < 0:
        value, heights = 0, [0] * len(heights)
    path = _units(dual_path(rows.sample)[2])[1:-1]
    key, flow = 0, []
    for b, psi in zip(rows.residual, path, strict=False):
        key -= b
        flow.append(key * _UNIT // (rows.total * rows.one) - psi)
    # Both sums of the bound, over total * one * unit and over one * unit.
    steps = zip(rows.residual, pairwise([0, *flow, 0]), strict=True)
    left = sum(abs(b * _UNIT + (f - e) * rows.total * rows.one) for b, (e, f) in steps)
    moved = sum(abs(f) * (v - u) for f, (u, v) in zip(flow, pairwise(rows.v), strict=True))
    upper = -(-(left + moved * rows.total) // (rows.total * rows.one))
    return {"lower": value, "upper": upper, "heights": heights, "flow": flow}


def _lower(rows: _WholeRows, certificate: LowerCertificate) -> dict[str, Any]:
    lower, r0, r1 = _proof_from_below(rows, certificate.potentials)
    upper, targets, shares = _proof_from_above(rows, certificate.coupling)
    return {"lower": lower, "upper": upper, "r0": r0, "r1": r1, "targets": targets, "shares": shares}


def _proof_from_below(rows: _WholeRows, potentials: Potentials) -> tuple[int, list[int], list[int]]:
    """What heights prove at all predictions, 0 and 1, after both were made to change slowly and then lowered."""
    one, grain = rows.one, rows.one // _UNIT
    ends = np.union1d(rows.places, [0.0, 1.0])
    places = [*([0] if rows.v[0] else []), *rows.v, *([one] if rows.v[-1] < one else [])]
    gaps = [(v - u) // grain for u, v in pairwise(places)]
    r0, r1 = (_slowly(_units(r), gaps) for r in heights_at(potentials, ends))
    over = max(8 * ((one - u) * a + u * b) * grain for u, a, b in zip(places, r0, r1, strict=True))
    for (u, v), (_, up), (down, _) in zip(pairwise(places), pairwise(r0), pairwise(r1), strict=True):
        start = up * grain - v
        slope = one - start + down * grain + u
        if 4 * u < slope < 4 * v:
            over = max(over, 8 * one * start + slope * slope)
    fall = max(0, _up(over, 8 * one * one))
    r0, r1 = [a - fall for a in r0], [b - fall for b in r1]
    skip = 0 if rows.v[0] == 0 else 1
    masses = zip(rows.zeros, rows.ones, r0[skip:], r1[skip:], strict=False)
    value = sum(p * a + q * b for p, q, a, b in masses) // rows.total
    return (value, r0, r1) if value >= 0 else (0, [0] * len(r0), [0] * len(r1))


def _slowly(r: list[int], gaps: Sequence[int]) -> list[int]:
    """The highest heights below these that change by at most the gaps."""
    for j, gap in enumerate(gaps, 1):
        r[j] = min(r[j], r[j - 1] + gap)
    for j in range(len(gaps), 0, -1):
        r[j - 1] = min(r[j - 1], r[j] + gaps[j - 1])
    return r


def _proof_from_above(rows: _WholeRows, coupling: Coupling) -> tuple[int, list[int], list[int]]:
    """What moving to the coupling's targets costs, after what goes there was made to fit either outcome's weight."""
    u, where = np.unique(coupling.u, return_inverse=True)
    share: dict[int, int] = {}
    for target, mass in zip(
        _units(u), _units(np.asarray(np.bincount(where, coupling.mass, u.size), np.float64)), strict=True
    ):
        if 0 < target < _UNIT and mass > 0:
            share[target] = share.get(target, 0) + mass
    for outcome, weights in enumerate((rows.zeros, rows.ones)):
        goes = sum(s * (t if outcome else _UNIT - t) for t, s in share.items())
        there = sum(weights) * _UNIT * _UNIT // rows.total
        if goes > there:
            share = {t: s * there // goes for t, s in share.items()}
    cost, grain = 0, rows.one // _UNIT
    for outcome, weights in enumerate((rows.zeros, rows.ones)):
        # The mass below each place, before and after: it is moved across by the difference.
        flow = {v: w * _UNIT * _UNIT for v, w in zip(rows.v, weights, strict=True)}
        rest = sum(weights) * _UNIT * _UNIT
        for t, s in share.items():
            mass = s * (t if outcome else _UNIT - t) * rows.total
            flow[t * grain] = flow.get(t * grain, 0) - mass
            rest -= mass
        end = rows.one if outcome else 0
        flow[end] = flow.get(end, 0) - rest
        below, places = 0, sorted(flow)
        for a, b in pairwise(places):
            below += flow[a]
            cost += abs(below) * (b - a)
    upper = -(-cost // (rows.total * _UNIT * rows.one))
    return upper, list(share), list(share.values())


def _partition(rows: _WholeRows, elements: Iterator[tuple[int, int, int]], labels: npt.NDArray[Any]) -> dict[str, Any]:
    """Cost of moving each part to its mean outcome."""
    parts = np.unique(labels, return_inverse=True)[1].tolist()
    members: list[list[tuple[int, int, int]]] = [[] for _ in range(max(parts) + 1)]
    for part, element in zip(parts, elements, strict=True):
        members[part].append(element)
    costs: dict[int, int] = {}  # by the part's weight, under which they are fractions
    for each in members:
        ones = sum(q for _, _, q in each)
        weight = ones + sum(p for _, p, _ in each)
        moved = sum((p + q) * abs(v * weight - ones * rows.one) for v, p, q in each)
        costs[weight] = costs.get(weight, 0) + moved
    costs.pop(0, None)
    cost = _sum([Fraction(moved, weight) for weight, moved in costs.items()]) / (rows.total * rows.one)
    return {"upper": _up(cost.numerator, cost.denominator), "parts": parts}


def _sum(terms: list[Fraction]) -> Fraction:
    """The sum by halves, so that few sums have a long denominator."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _sum(terms[:half]) + _sum(terms[half:])


def _proofs(rows: _WholeRows, of: Witness | LowerCertificate | Bracket | None) -> dict[str, dict[str, Any]]:
    if isinstance(of, Witness):
        if not np.array_equal(of.knots, rows.places):
            raise InputError("of", "is the witness of other predictions")
        return {"smooth_error": _smooth(rows, of)}
    if isinstance(of, LowerCertificate):
        return {"lower_distance": _lower(rows, of)}
    if isinstance(of, Bracket):
        if of.predictor is None or not isinstance(of.certificate, LowerCertificate):
            raise InputError("of", "is no result of a search", allowed="calibration_distance returns one")
        if of.predictor.shape != rows.index.shape:
            raise InputError("of", f"is of {of.predictor.size:,} rows, and there are {rows.index.size:,}")
        each = np.empty(rows.places.size)
        each[rows.index] = of.predictor
        if np.array_equal(each[rows.index], of.predictor):
            last = {"upper_distance": _partition(rows, rows.of_places, each)}
        else:
            last = {"true_distance": _partition(rows, iter(rows.of_rows), of.predictor)}
        return {"lower_distance": _lower(rows, of.certificate), **last}
    if of is not None:
        raise InputError("of", f"is a {type(of).__name__}", allowed="a Witness, a LowerCertificate or a Bracket")
    certificate = audited_certificate(rows.sample)
    return {
        "smooth_error": _smooth(rows, witness_from_sample(rows.sample)),
        "lower_distance": _lower(rows, certificate),
        "upper_distance": _partition(rows, rows.of_places, audited_parts(rows.sample, certificate)),
    }


def certificate_of_rows(
    y: FloatArray,
    v: FloatArray,
    w: FloatArray | None,
    of: Witness | LowerCertificate | Bracket | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    event: str | None = None,
) -> Certificate:
    """`calibration_certificate` of rows that were read already, and the names of their columns in a file."""
    rows = _WholeRows(y, v, w)
    proofs = _proofs(rows, of)
    roles = ("y_true", "y_prob") if w is None else ("y_true", "y_prob", "sample_weight")
    document: dict[str, Any] = {
        "format": FORMAT,
        "bits": BITS,
        "columns": {role: role for role in roles} if columns is None else {role: columns[role] for role in roles},
        **({} if event is None else {"event": event}),
        "rows": v.size,
        "moments": rows.moments,
        **proofs,
    }
    least = proofs.get("lower_distance", {}).get("lower", 0)
    claims = {name: _bracket(proof.get("lower", least), proof["upper"]) for name, proof in proofs.items()}
    if "upper_distance" in claims:  # which the true distance is at most
        claims["true_distance"] = claims["upper_distance"]
    return Certificate(claims, document)


def _bracket(lower: int, upper: int) -> Bracket:
    """Both ends as doubles, rounded outwards."""
    low, high = lower / _UNIT, upper / _UNIT
    low = low if Fraction(low) * _UNIT <= lower else float(np.nextafter(low, 0.0))
    high = high if Fraction(high) * _UNIT >= upper else float(np.nextafter(high, 2.0))
    return Bracket(low, high)


def calibration_certificate(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    of: Witness | LowerCertificate | Bracket | None = None,
) -> Certificate:
    """Return what proves the smooth error and the distances from calibration, for a checker that stands alone.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    of : Witness, LowerCertificate or Bracket, optional
        A result of the same rows, which alone is certified: of `smooth_calibration_witness`,
        `lower_calibration_certificate`, `calibration_distance` or `upper_calibration_distance`. By default what an
        audit proves: the smooth error, the lower distance, and upper ends of the upper and the true distance.

    Returns
    -------
    Certificate
        ``write(path)`` writes it as JSON. ``python -m calibrant.check_certificate DATA.csv PATH``, 200 lines that need
        Python alone, then confirms it for the rows of a file, or refuses it.

    Raises
    ------
    InputError
        If a column cannot be used or `of` is of other rows; the message names it.

    See Also
    --------
    smooth_calibration_witness, lower_calibration_certificate, calibration_distance

    Notes
    -----
    The lower end of the upper and the true distance is that of the lower distance. What a search proves beyond that is
    not in the certificate. Cost: as the measures', and some 20 microseconds a row, in whole numbers of any length.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023.

    Examples
    --------
    >>> from calibrant.measures import calibration_certificate
    >>> certificate = calibration_certificate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> lower, upper = certificate.claims["smooth_error"]
    >>> round(lower, 9), round(upper, 9)
    (0.085, 0.085)
    """
    return certificate_of_rows(*read_columns(y_true, y_prob, sample_weight), of)
