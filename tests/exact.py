"""Values and proofs in exact rational arithmetic, straight from the definitions: slow, and never rounded."""

import itertools
from fractions import Fraction


def masses(y_true, y_prob, sample_weight=None):
    """Exact shares of the weight by (prediction, outcome)."""
    weight = [Fraction(1)] * len(y_prob) if sample_weight is None else [Fraction(float(w)) for w in sample_weight]
    total = sum(weight)
    shares = {}
    for w, y, v in zip(weight, y_true, y_prob, strict=True):
        for label, share in ((1, Fraction(float(y))), (0, 1 - Fraction(float(y)))):
            key = v if isinstance(v, Fraction) else Fraction(float(v)), label
            shares[key] = shares.get(key, 0) + w * share / total
    return shares


def residuals(shares):
    """Distinct predictions, increasing, and the residual's share at each."""
    places = sorted({v for v, _ in shares})
    return places, [(1 - v) * shares.get((v, 1), 0) - v * shares.get((v, 0), 0) for v in places]


def smooth_calibration_error(y_true, y_prob, sample_weight=None):
    """Maximum of sum b x over |x| <= 1 and steps of at most the gaps, by the best sum so far at its breakpoints."""
    places, b = residuals(masses(y_true, y_prob, sample_weight))
    best = {Fraction(-1): Fraction(0), Fraction(1): Fraction(0)}
    previous = None
    for v, residual in zip(places, b, strict=True):
        if previous is not None:
            gap = v - previous
            peak = max(best, key=best.get)
            moved = {t for h in best for t in (h - gap, h, h + gap) if -1 <= t <= 1} | {Fraction(-1), Fraction(1)}
            best = {t: line(best, min(max(peak, t - gap), t + gap)) for t in moved}
        best = {t: value + residual * t for t, value in best.items()}
        best = corners(best)
        previous = v
    return max(best.values())


def line(points, t):
    """Straight line between points."""
    if t in points:
        return points[t]
    left, right = max(h for h in points if h < t), min(h for h in points if h > t)
    return points[left] + (points[right] - points[left]) * (t - left) / (right - left)


def corners(points):
    """Points of a concave function at which it bends, and its ends."""
    t = sorted(points)
    slopes = [(points[b] - points[a]) / (b - a) for a, b in itertools.pairwise(t)]
    kept = [t[0], *(x for x, a, b in zip(t[1:], slopes, slopes[1:], strict=False) if a != b), t[-1]]
    return {x: points[x] for x in kept}


def coupling(pieces, y_true, y_prob, sample_weight=None):
    """Upper bound of the lower distance that pieces (u, v, y, mass) prove."""
    left = masses(y_true, y_prob, sample_weight)
    amiss, cost = {}, Fraction(0)
    for piece in pieces:
        u, v, y, mass = (Fraction(float(x)) for x in piece)
        cost += mass * abs(u - v)
        left[v, int(y)] = left.get((v, int(y)), 0) - mass
        amiss[u] = amiss.get(u, 0) + mass * (y - u)
    return cost + sum(abs(x) for x in left.values()) + sum(abs(x) for x in amiss.values())


def potentials(nodes, r0, r1, y_true, y_prob, sample_weight=None):
    """Lower bound of the lower distance that heights at nodes prove, extended by the lowest 1-Lipschitz functions."""
    held = [
        [(Fraction(float(v)), Fraction(float(r))) for v, r in zip(nodes, heights, strict=True) if r > float("-inf")]
        for heights in (r0, r1)
    ]

    def height(label, u):
        return max((r - abs(u - v) for v, r in held[label]), default=Fraction(-2))

    def product(u):
        return (1 - u) * height(0, u) + u * height(1, u)

    places = sorted({Fraction(0), Fraction(1), *(Fraction(float(v)) for v in nodes)})
    turns = set(places)
    for a, b in itertools.pairwise(places):
        for label in (0, 1):
            turns.add(min(b, max(a, (a + b + height(label, a) - height(label, b)) / 2)))
        turns.add(min(b, max(a, (1 - height(0, b) + b + height(1, a) + a) / 4)))
    value = sum(mass * height(label, v) for (v, label), mass in masses(y_true, y_prob, sample_weight).items() if mass)
    return value - max(0, *(product(u) for u in turns))


def cost_of_levels(predictor, y_true, y_prob, sample_weight=None):
    """Distance to the predictor that gives each level of another its mean outcome."""
    weight = [1.0] * len(y_prob) if sample_weight is None else sample_weight
    rows = [[Fraction(float(x)) for x in row] for row in zip(predictor, weight, y_true, y_prob, strict=True)]
    total, ones = {}, {}
    for level, w, y, _ in rows:
        total[level] = total.get(level, 0) + w
        ones[level] = ones.get(level, 0) + w * y
    moved = sum(w * abs(v - ones[level] / total[level]) for level, w, _, v in rows if w)
    return moved / sum(w for _, w, _, _ in rows)


def calibration_distance(y_true, y_prob, sample_weight=None):
    """Least cost over all partitions of the rows."""
    partitions = [[]]
    for _ in y_prob:
        partitions = [[*names, name] for names in partitions for name in range(max(names, default=-1) + 2)]
    return min(cost_of_levels(names, y_true, y_prob, sample_weight) for names in partitions)


def event_probabilities(chances):
    """P(S = 0), P(S = 1), ... of the number of events among independent rows: row after row."""
    found = [Fraction(1)]
    for p in map(Fraction, chances):
        found = [a * (1 - p) + b * p for a, b in zip([*found, 0], [0, *found], strict=True)]
    return found


def least_cost(cost, rows, right):
    """Minimum of cost x over x >= 0 with rows x = right, right >= 0: the simplex method by Bland's rule."""
    n = len(cost)
    table = [
        [*map(Fraction, row), *(Fraction(k == at) for k in range(len(rows))), Fraction(b)]
        for at, (row, b) in enumerate(zip(rows, right, strict=True))
    ]
    basis = [n + k for k in range(len(rows))]  # one imagined variable a row, which the first phase drives out

    def pivot(at, enter):
        table[at] = [each / table[at][enter] for each in table[at]]
        for other, row in enumerate(table):
            if other != at and row[enter]:
                table[other] = [a - row[enter] * b for a, b in zip(row, table[at], strict=True)]
        basis[at] = enter

    def total(price, k):
        return sum(price[b] * row[k] for b, row in zip(basis, table, strict=True))

    imagined = [Fraction(0)] * n + [Fraction(1)] * len(rows)
    for price in (imagined, [*map(Fraction, cost), *([Fraction(0)] * len(rows))]):
        while (enter := next((k for k in range(n) if price[k] < total(price, k)), None)) is not None:
            pivot(
                min((row[-1] / row[enter], basis[at], at) for at, row in enumerate(table) if row[enter] > 0)[2], enter
            )
        if price is imagined:
            assert total(price, -1) == 0
            for at in [at for at, b in enumerate(basis) if b >= n][::-1]:
                real = next((k for k in range(n) if table[at][k]), None)
                if real is None:  # the row says what others say
                    del table[at], basis[at]
                else:
                    pivot(at, real)
    return total(price, -1)


def restricted_lower_distance(y_true, y_prob, sample_weight, values):
    """Least cost of moving every mass (v, y) to calibrated values among these: Lemma 18's program itself."""
    shares = masses(y_true, y_prob, sample_weight)
    values = [Fraction(float(each)) for each in values]
    kinds = sorted(key for key, mass in shares.items() if mass)
    pairs = [(u, kind) for u in values for kind in kinds]
    held = [[kind == other for _, other in pairs] for kind in kinds]
    calibrated = [[(u == value) * (y - u) for u, (_, y) in pairs] for value in values]
    cost = [abs(u - v) for u, (v, _) in pairs]
    return least_cost(cost, held + calibrated, [shares[kind] for kind in kinds] + [Fraction(0)] * len(values))
