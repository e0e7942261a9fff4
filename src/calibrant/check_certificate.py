"""Confirms or refuses, in exact arithmetic, what a certificate says of how far predictions are from calibrated.

    python check_certificate.py DATA.csv CERTIFICATE.json     exit code 0: all is proved for these rows; 1: refused

All is computed again from the rows. Each number of DATA is the double nearest to it; one of the certificate is a whole
number n that stands for n / 2**bits; parts are names. For weights w, outcomes y, predictions v, and E the mean by w:

    smooth error     the largest E (y - v) h(v) over h from [0, 1] to [-1, 1] with |h(s) - h(t)| <= |s - t|
    lower distance   the least E |u - v| over random u, given y and v, with E[y | u] = u: calibrated
    upper distance   the least E |u - v| over such u that are functions of v
    true distance    the least E |u - v| over such u that are functions of the row

A row whose y is a rate is two rows: w y of outcome 1 and w (1 - y) of outcome 0. A lower claim is confirmed if at least
that is proved, an upper one if at most that is. The lower distance is the least: its lower end is the others' as well.
"""

import csv
import json
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

CLAIMS = {name: {"upper", "parts"} for name in ("upper_distance", "true_distance")}
CLAIMS |= {"smooth_error": {"lower", "upper", "heights", "flow"}}
CLAIMS |= {"lower_distance": {"lower", "upper", "r0", "r1", "targets", "shares"}}
ROLES, ENDS = ("y_true", "y_prob", "sample_weight"), {"upper": -1, "lower": 1}  # sign: where a claim says more


def need(condition: bool, reason: str) -> None:
    """Refuse unless this holds."""
    if not condition:
        raise ValueError(reason)


def whole(doubles: list[float]) -> tuple[list[int], int]:
    """Doubles as whole numbers over one power of two, and that power: nothing is rounded."""
    pairs = [x.as_integer_ratio() for x in doubles]
    one = max(below for _, below in pairs)
    return [above * (one // below) for above, below in pairs], one


def read(path: str, columns: dict[str, str], event: str | None) -> list[list[float]]:
    """Outcomes, predictions and weights in the order of the file."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        header, *rows = [row for row in csv.reader(file, strict=True) if row]
    need(len(rows) > 0 and all(len(row) == len(header) for row in rows), "DATA has no rows, or cells too many or few")
    need(set(ROLES[:2]) <= set(columns) <= set(ROLES), "columns must be y_true, y_prob and perhaps sample_weight")
    need(all(header.count(name) == 1 for name in columns.values()), "DATA must have each column once")
    texts = {role: [row[header.index(name)] for row in rows] for role, name in columns.items()}
    if event is not None:
        need(type(event) is str and event in texts["y_true"], "event must be one of the outcomes of DATA, as a text")
        texts["y_true"] = [str(int(label == event)) for label in texts["y_true"]]
    numbers = [[float(text) for text in texts.get(role, ["1"] * len(rows))] for role in ROLES]
    need(all(0 <= x <= 1 for x in numbers[0] + numbers[1]), "an outcome or a prediction of DATA is outside [0, 1]")
    need(all(0 <= x < float("inf") for x in numbers[2]) and any(numbers[2]), "a weight is below 0, or all are 0")
    return numbers


class Data:
    """Elements are (prediction, weight of outcome 0, of outcome 1), in whole numbers; predictions are over `one`."""

    def __init__(self, columns: list[list[float]], bits: int) -> None:
        (y, whole_y), (v, whole_v), (w, whole_w) = map(whole, columns)
        self.one = one = max(whole_v, 1 << bits)
        self.rows = [(b * (one // whole_v), c * (whole_y - a), c * a) for a, b, c in zip(y, v, w, strict=True)]
        pooled: dict[int, tuple[int, int]] = {}
        for place, zeros, ones in self.rows:
            before = pooled.get(place, (0, 0))
            pooled[place] = before[0] + zeros, before[1] + ones
        self.pooled = [(place, *pooled[place]) for place in sorted(pooled)]
        self.residuals = [o * (one - p) - z * p for p, z, o in self.pooled]
        self.gaps = [b[0] - a[0] for a, b in pairwise(self.pooled)]
        self.total = sum(z + o for _, z, o in self.pooled)
        moments = zip(*((one * (z + o), one * o, p * (z + o), p * o) for p, z, o in self.pooled), strict=True)
        self.moments = [str(Fraction(sum(each), one * whole_y * whole_w)) for each in moments]


def smooth_lower(data: Data, heights: list[int]) -> Fraction:
    """E (y - v) h(v) of an h that is allowed: it goes straight from one prediction to the next."""
    need(len(heights) == len(data.pooled), "smooth_error: it needs a height for each distinct prediction")
    need(all(abs(h) <= data.one for h in heights), "smooth_error: a height is outside [-1, 1]")
    steps = zip(pairwise(heights), data.gaps, strict=True)
    need(all(abs(h - g) <= gap for (g, h), gap in steps), "smooth_error: heights differ by more than predictions")
    return Fraction(sum(b * h for b, h in zip(data.residuals, heights, strict=True)), data.total * data.one**2)


def smooth_upper(data: Data, flow: list[int]) -> Fraction:
    """What no h exceeds: with b_j = E (y - v) at v_j, and any f between neighbours that is 0 beyond the ends.

    sum b_j h_j = sum (b_j + f_j+1 - f_j) h_j + sum f_j (h_j - h_j-1), and |h_j| <= 1, |h_j - h_j-1| <= v_j - v_j-1.
    """
    need(len(flow) == len(data.gaps), "smooth_error: it needs a flow between all neighbours")
    steps = zip(data.residuals, pairwise([0, *flow, 0]), strict=True)
    left = sum(abs(b + data.total * (after - before)) for b, (before, after) in steps)
    moved = sum(abs(f) * gap for f, gap in zip(flow, data.gaps, strict=True))
    return Fraction(left * data.one + moved * data.total, data.total * data.one**2)


def lower_lower(data: Data, r0: list[int], r1: list[int]) -> Fraction:
    """E r_y(v) for r0, r1 that change by at most the distance, with (1 - u) r0(u) + u r1(u) <= 0 for all u in [0, 1].

    For calibrated u, E r_y(v) <= E |u - v| + E r_y(u), and E r_y(u) = E [(1 - u) r0(u) + u r1(u)] <= 0. Heights are
    given at predictions, 0 and 1; between neighbours a < b take r(u) = max(r(a) - (u - a), r(b) - (b - u)). Where both
    rise or both fall the condition is a line, where r1 alone rises a convex parabola: it holds if it does at a and b.
    Where r0 alone rises it is B + c u - 2 u u, B = r0(b) - b, c = 1 - B + r1(a) + a: at most B + c c / 8, at c / 4.
    """
    one, places = data.one, sorted({0, data.one, *(v for v, _, _ in data.pooled)})
    need(len(r0) == len(r1) == len(places), "lower_distance: it needs heights at each prediction, 0 and 1")
    nodes = list(zip(places, r0, r1, strict=True))
    need(all((one - u) * a + u * b <= 0 for u, a, b in nodes), "lower_distance: (1 - u) r0 + u r1 > 0 at a prediction")
    for (a, a0, a1), (b, b0, b1) in pairwise(nodes):
        need(abs(b0 - a0) <= b - a >= abs(b1 - a1), "lower_distance: heights differ by more than predictions")
        slope = one - b0 + b + a1 + a
        over = 4 * a <= slope <= 4 * b and 8 * one * (b0 - b) + slope**2 > 0
        need(not over, "lower_distance: (1 - u) r0 + u r1 > 0 between two predictions")
    heights = {u: (a, b) for u, a, b in nodes}
    return Fraction(sum(z * heights[v][0] + o * heights[v][1] for v, z, o in data.pooled), data.total * one)


def lower_upper(data: Data, targets: list[int], shares: list[int]) -> Fraction:
    """E |u - v| of a coupling: of the whole weight, s u with outcome 1 and s (1 - u) with 0 go to each target u.

    So u is calibrated. What is left of outcome 1 goes to 1, and of 0 to 0. Rows of either outcome are moved in order.
    """
    one, cost = data.one, 0
    need(all(a < b for a, b in pairwise([0, *targets, one])), "lower_distance: targets must increase within (0, 1)")
    need(len(targets) == len(shares) and min(shares, default=0) >= 0, "lower_distance: shares are negative or missing")
    for outcome in (0, 1):
        wanted = [(u, s * (u if outcome else one - u) * data.total) for u, s in zip(targets, shares, strict=True)]
        supply = [(element[0], element[1 + outcome] * one**2) for element in data.pooled]
        rest = sum(weight for _, weight in supply) - sum(weight for _, weight in wanted)
        need(rest >= 0, f"lower_distance: more goes to the targets than there is with outcome {outcome}")
        rows, v, here = iter(supply), 0, 0
        for u, missing in [*wanted, (one, rest)] if outcome else [(0, rest), *wanted]:
            while missing:
                v, here = (v, here) if here else next(rows)
                piece = min(here, missing)
                cost, here, missing = cost + piece * abs(u - v), here - piece, missing - piece
    return Fraction(cost, data.total * one**3)


def of_partition(data: Data, elements: list[tuple[int, int, int]], parts: list[int]) -> Fraction:
    """E |v - m|, m the mean outcome of an element's part, which is calibrated."""
    need(len(parts) == len(elements), f"it needs one part for each of {len(elements)} elements")
    members: dict[int, list[tuple[int, int, int]]] = {}
    for part, element in zip(parts, elements, strict=True):
        members.setdefault(part, []).append(element)
    costs = []
    for group in members.values():
        ones, weight = sum(o for _, _, o in group), sum(z + o for _, z, o in group)
        costs.append(Fraction(sum((z + o) * abs(v * weight - ones * data.one) for v, z, o in group), max(weight, 1)))
    while len(costs) > 1:  # in pairs: most of the sums have short denominators
        costs = [sum(costs[i : i + 2], Fraction(0)) for i in range(0, len(costs), 2)]
    return costs[0] / (data.total * data.one)


def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON, in which no name stands twice."""
    need(len(pairs) == len(dict(pairs)), "a name stands twice in the certificate")
    return dict(pairs)


def check(data_path: str, certificate_path: str) -> list[str]:
    """A sentence for each claim; ValueError if one is not proved."""
    known = json.loads(Path(certificate_path).read_text(encoding="utf-8"), object_pairs_hook=once)
    need(known.pop("format") == "calibrant certificate 1", "it is no certificate of version 1")
    bits, columns, event, rows, moments = map(known.pop, ("bits", "columns", "event", "rows", "moments"), [None] * 5)
    need(type(bits) is int and 1 <= bits <= 4096, "bits must be from 1 to 4096")
    data = Data(read(data_path, columns, event), bits)
    need(rows == len(data.rows) and moments == data.moments, "it is of other data: the sums of w, wy, wv or wyv differ")
    need(len(known) > 0 and set(known) <= set(CLAIMS), f"it must claim some of {', '.join(CLAIMS)}, and nothing else")
    said = [f"columns {columns}, event {event!r}"]
    for name, claim in known.items():
        need(set(claim) == CLAIMS[name], f"{name}: it must have {', '.join(sorted(CLAIMS[name]))}")
        lists = {key: each for key, each in claim.items() if type(each) is list}
        numbers = [n for key, each in claim.items() for n in lists.get(key, [each])]
        need(all(type(n) is int for n in numbers), f"{name}: all must be whole numbers")
        need(all(claim.get(end, 0) >= 0 for end in ENDS), f"{name}: an end is below 0")
        proof = {key: [n * (data.one >> bits) for n in each] for key, each in lists.items()}
        if name == "smooth_error":
            proved = [smooth_upper(data, proof["flow"]), smooth_lower(data, proof["heights"])]
        elif name == "lower_distance":
            proved = [lower_upper(data, proof["targets"], proof["shares"]), lower_lower(data, proof["r0"], proof["r1"])]
        else:
            proved = [of_partition(data, {"true_distance": data.rows}.get(name, data.pooled), lists["parts"])]
        for (end, sign), value in zip(ENDS.items(), proved, strict=False):
            number = Fraction(claim[end], 1 << bits)
            need(sign * (value - number) >= 0, f"{name}: {end} end {float(number)!r}: only {float(value)!r} is proved")
            digits = sign * (sign * claim[end] * 10**15 >> bits)  # rounded so that no more is said than is proved
            said.append(f"{name}: {end} end {digits // 10**15}.{digits % 10**15:015}")
    return said


if __name__ == "__main__":
    try:
        need(len(sys.argv) == 3, "call it with DATA.csv and CERTIFICATE.json")
        print("\n".join([f"Confirmed for the rows of {sys.argv[1]}:", *check(*sys.argv[1:])]))
    except Exception as problem:  # whatever goes wrong, nothing is confirmed
        sys.exit(f"Refused: {problem if type(problem) is ValueError else repr(problem)}")
