"""Lower distance from calibration by its definition: the linear program over couplings, every mass a variable."""

import numpy as np


def lower_calibration_distance(y_true, y_prob, sample_weight=None, tol=1e-10):
    """Minimise the sum of mass(v, y, u) * |u - v| where (v, y) is the sample's and (1-u) mass(1, u) = u mass(0, u).

    The points u start as the predictions and a coarse grid. The multipliers of the sample's masses then price every
    other u in [0, 1]: those that would help are added until none does.
    """
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    atoms = []
    for v in np.unique(y_prob):
        here = y_prob == v
        atoms += [(v, 1, np.sum((weight * y_true)[here])), (v, 0, np.sum((weight * (1 - y_true))[here]))]
    # Masses of 1e-13 cannot move the answer by more.
    v, label, mass = (np.array(column) for column in zip(*(a for a in atoms if a[2] > 1e-13), strict=True))
    mass = mass / mass.sum()
    if label.min() == label.max():
        return float(mass @ np.abs(v - label))
    points = distinct(np.append(v, np.linspace(0.0, 1.0, 13)))
    for _ in range(30):
        value, price = cheapest_coupling(np.abs(points - v[:, None]), label, points, mass)
        fresh = helpful(v, label, price, points, tol)
        if not fresh:
            break
        points = distinct(np.append(points, fresh))
    return float(value)


def distinct(points):
    """Sort, and keep one of points within 1e-10 of each other, which moves nothing further; 0 and 1 are kept."""
    points = np.sort(points)
    points = points[(points > 1e-10) & (points < 1 - 1e-10)]
    return np.concatenate([[0.0], points[np.diff(points, prepend=0.0) > 1e-10], [1.0]])


def cheapest_coupling(cost, label, points, mass):
    """Minimise sum x * cost over x >= 0 with row sums mass and column sums of x * (label - u) 0.

    A dense interior point from a feasible start on both sides; returns the minimum and the row sums' multipliers.
    """
    surplus = label[:, None] - points
    share = np.where(label[:, None] == 1, points, 1 - points)  # of what is put at u, calibrated: outcome 1 or 0
    allowed = share > 0  # no outcome 1 at u = 0, no outcome 0 at u = 1
    ones = mass[label == 1].sum()
    spread = 0.5 * min(ones / points.sum(), (1 - ones) / (1 - points).sum()) * share
    total = np.where(label == 1, ones, 1 - ones)
    spread[:, -1] += np.where(label == 1, total - spread.sum(1), 0.0)  # the rest of outcome 1 at u = 1
    spread[:, 0] += np.where(label == 0, total - spread.sum(1), 0.0)
    x = spread * (mass / total)[:, None]
    price, tilt = np.full(len(mass), -0.1), np.zeros(len(points))
    slack = np.where(allowed, cost + 0.1, 1.0)
    for _ in range(80):
        gap = np.sum(x * slack)
        if gap < 1e-12:
            break
        missing, uneven = mass - x.sum(1), -(surplus * x).sum(0)
        d = x / slack
        matrix = np.block([[np.diag(d.sum(1)), d * surplus], [(d * surplus).T, np.diag((d * surplus**2).sum(0))]])
        scale = 1.0 / np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))  # 0: nothing to ask at u = 0 and 1
        matrix = matrix * scale * scale[:, None] + 1e-15 * np.eye(len(scale))

        def move(complementarity):
            known = complementarity / slack  # noqa: B023
            target = np.append(missing - known.sum(1), uneven - (surplus * known).sum(0))  # noqa: B023
            steps = scale * np.linalg.solve(matrix, scale * target)  # noqa: B023
            dprice, dtilt = steps[: len(mass)], steps[len(mass) :]
            dslack = np.where(allowed, -dprice[:, None] - surplus * dtilt, 0.0)
            return known - d * dslack, dprice, dtilt, dslack  # noqa: B023

        dx, _, _, dslack = move(-x * slack)
        ahead = np.sum((x + room(x, dx) * dx) * (slack + room(slack, dslack) * dslack))
        centre = gap / allowed.sum() * (ahead / gap) ** 3
        dx, dprice, dtilt, dslack = move(np.where(allowed, centre - x * slack - dx * dslack, 0.0))
        primal, dual = 0.99 * room(x, dx), 0.99 * room(slack, dslack)
        x, slack = x + primal * dx, slack + dual * dslack
        price, tilt = price + dual * dprice, tilt + dual * dtilt
    return mass @ price, price


def room(value, change):
    """Longest step, at most 1, that keeps value positive."""
    falling = change < -value
    return min(1.0, np.min(-value[falling] / change[falling], initial=np.inf))


def helpful(v, label, price, points, tol):
    """Points u where (1-u) R0(u) + u R1(u) > tol, R_y(u) the largest price - |u - v|: tops of a fine grid, zoomed."""

    def broken(u):
        reach = price - np.abs(u[:, None] - v)
        return (1 - u) * reach[:, label == 0].max(1) + u * reach[:, label == 1].max(1)

    middles = (points[1:] + points[:-1]) / 2  # a top between two points is next to one of these
    grid = np.union1d(np.append(points, middles), np.linspace(0.0, 1.0, 2001))
    height = np.pad(broken(grid), 1, constant_values=-np.inf)
    top = (height[1:-1] >= height[:-2]) & (height[1:-1] >= height[2:]) & (height[1:-1] > -1e-6)
    fresh = []
    for u in grid[top]:
        width = 1.0 / 2000
        for _ in range(5):
            near = np.clip(np.linspace(u - width, u + width, 201), 0.0, 1.0)
            u = near[np.argmax(broken(near))]
            width /= 50
        if broken(np.array([u]))[0] > tol:
            step = np.abs(points - u).min() / 8  # beside it too: the next top is near
            fresh += [u - step, u, u + step]
    return fresh
