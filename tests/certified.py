"""Whether a certificate proves what it claims, in fractions and straight from the definitions: slow, pairs of rows."""

from fractions import Fraction
from itertools import combinations, pairwise

from tests import exact


def proves(document, y_true, y_prob, sample_weight=None):
    """Whether every claim holds by what stands beside it; the document has the right layout."""
    unit = Fraction(1, 2 ** document["bits"])
    claims = [document[name] for name in NAMES if name in document]
    if min(each.get(end, 0) for each in claims for end in ("lower", "upper")) < 0:
        return False  # it is no certificate
    shares = exact.masses(y_true, y_prob, sample_weight)
    places = sorted({v for v, _ in shares})
    return all(
        CLAIMS[name](shares, places, document[name], unit, y_true, y_prob, sample_weight)
        for name in NAMES
        if name in document
    )


def _flat(places, heights, unit):
    """Whether heights change by at most the distance, for every pair of places."""
    pairs = combinations(zip(places, heights, strict=True), 2)
    return all(abs(h - g) * unit <= abs(v - u) for (u, g), (v, h) in pairs)


def smooth(shares, places, proof, unit, *_):
    heights, flow = proof["heights"], proof["flow"]
    if len(heights) != len(places) or len(flow) != len(places) - 1:
        return False
    _, residuals = exact.residuals(shares)
    value = sum(b * h for b, h in zip(residuals, heights, strict=True)) * unit
    bound = sum(abs(f) * unit * (v - u) for f, (u, v) in zip(flow, pairwise(places), strict=True))
    for b, (before, after) in zip(residuals, pairwise([0, *flow, 0]), strict=True):
        bound += abs(b + (after - before) * unit)
    allowed = max(map(abs, heights)) * unit <= 1 and _flat(places, heights, unit)
    return allowed and proof["lower"] * unit <= value and proof["upper"] * unit >= bound


def lower(shares, places, proof, unit, *_):
    nodes = sorted({Fraction(0), Fraction(1), *places})
    if not len(proof["r0"]) == len(proof["r1"]) == len(nodes):
        return False
    if not _flat(nodes, proof["r0"], unit) or not _flat(nodes, proof["r1"], unit):
        return False
    heights = [dict(zip(nodes, (h * unit for h in proof[name]), strict=True)) for name in ("r0", "r1")]

    def height(label, u, near):
        return max(heights[label][v] - abs(u - v) for v in near)

    for near in pairwise(nodes):
        a, b = near
        r0, r1 = heights
        turns = [(a + b + r[a] - r[b]) / 2 for r in heights] + [(1 - r0[b] + b + r1[a] + a) / 4]
        for u in [a, b, *(min(b, max(a, turn)) for turn in turns)]:
            if (1 - u) * height(0, u, near) + u * height(1, u, near) > 0:
                return False
    value = sum(mass * heights[label][v] for (v, label), mass in shares.items())
    cost = _moved(shares, proof, unit)
    return cost is not None and proof["lower"] * unit <= value and proof["upper"] * unit >= cost


def _moved(shares, proof, unit):
    """Cost of moving either outcome in order to its targets, by the area between distribution functions."""
    targets = [t * unit for t in proof["targets"]]
    parts = [s * unit for s in proof["shares"]]
    if len(targets) != len(parts) or any(not 0 < t < 1 for t in targets) or any(s < 0 for s in parts):
        return None
    if sorted(set(targets)) != targets:
        return None
    cost = Fraction(0)
    for label in (0, 1):
        moved = {}
        for (v, each), mass in shares.items():
            if each == label:
                moved[v] = moved.get(v, 0) + mass
        for t, s in zip(targets, parts, strict=True):
            moved[t] = moved.get(t, 0) - s * (t if label else 1 - t)
        rest = sum(moved.values())
        if rest < 0:
            return None
        moved[Fraction(label)] = moved.get(Fraction(label), 0) - rest
        below = Fraction(0)
        for u, v in pairwise(sorted(moved)):
            below += moved[u]
            cost += abs(below) * (v - u)
    return cost


def upper(shares, places, proof, unit, *_):
    parts = proof["parts"]
    if len(parts) != len(places):
        return False
    sums = [(v, shares.get((v, 0), 0), shares.get((v, 1), 0)) for v in places]
    return _within(proof, unit, parts, sums)


def true(_shares, _places, proof, unit, y_true, y_prob, sample_weight):
    if len(proof["parts"]) != len(y_true):
        return False
    weight = [1.0] * len(y_true) if sample_weight is None else sample_weight
    rows = [[Fraction(float(x)) for x in row] for row in zip(y_prob, y_true, weight, strict=True)]
    total = sum(w for _, _, w in rows)
    return _within(proof, unit, proof["parts"], [(v, w * (1 - y) / total, w * y / total) for v, y, w in rows])


def _within(proof, unit, parts, elements):
    cost = Fraction(0)
    for part in set(parts):
        own = [each for each, label in zip(elements, parts, strict=True) if label == part]
        mass = sum(p + q for _, p, q in own)
        if mass:
            mean = sum(q for _, _, q in own) / mass
            cost += sum((p + q) * abs(v - mean) for v, p, q in own)
    return proof["upper"] * unit >= cost


CLAIMS = {"smooth_error": smooth, "lower_distance": lower, "upper_distance": upper, "true_distance": true}
NAMES = tuple(CLAIMS)
