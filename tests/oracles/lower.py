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
    v, label, mass = (np.array(column) for column in zip(*(a for a in atoms if a[2] > 0), strict=True))
    if label.min() == label.max():
        return float(mass @ np.abs(v - label))
    points = np.union1d(v, np.linspace(0.0, 1.0, 13))
    for _ in range(30):
        value, price = _cheapest_coupling(np.abs(points - v[:, None]), label[:, None] - points, mass)
        fresh = _helpful(v, label, price, points, tol)
        if not fresh:
            break
        points = np.union1d(points, fresh)
    return float(value)


def _cheapest_coupling(cost, surplus, mass):
    """Minimise sum x * cost over x >= 0 with row sums mass and column sums of x * surplus 0: a dense interior point.

    Returns the minimum and the multipliers of the row sums.
    """
    x, slack = np.full(cost.shape, 1.0 / cost.size), cost + 1.0
    price, tilt = np.zeros(len(mass)), np.zeros(cost.shape[1])
    for _ in range(60):
        missing, uneven = mass - x.sum(1), -(surplus * x).sum(0)
        unpriced = cost - price[:, None] - surplus * tilt - slack
        gap = np.sum(x * slack)
        if max(gap, np.abs(missing).sum(), np.abs(uneven).sum(), np.abs(unpriced).max()) < 3e-12:
            break
        d = x / slack
        matrix = np.block([[np.diag(d.sum(1)), d * surplus], [(d * surplus).T, np.diag((d * surplus**2).sum(0))]])
        scale = 1.0 / np.sqrt(np.diag(matrix) + 1e-300)
        inverse = np.linalg.pinv(matrix * scale * scale[:, None], rcond=1e-15, hermitian=True) * scale * scale[:, None]

        def move(complementarity):
            known = complementarity / slack - d * unpriced  # noqa: B023
            steps = inverse @ np.append(missing - known.sum(1), uneven - (surplus * known).sum(0))  # noqa: B023
            dprice, dtilt = steps[: len(mass)], steps[len(mass) :]
            dslack = unpriced - dprice[:, None] - surplus * dtilt  # noqa: B023
            return (complementarity - x * dslack) / slack, dprice, dtilt, dslack  # noqa: B023

        dx, _, _, dslack = move(-x * slack)
        ahead = np.sum((x + _room(x, dx) * dx) * (slack + _room(slack, dslack) * dslack))
        centre = gap / x.size * (ahead / gap) ** 3
        dx, dprice, dtilt, dslack = move(centre - x * slack - dx * dslack)
        primal, dual = 0.995 * _room(x, dx), 0.995 * _room(slack, dslack)
        x, slack = x + primal * dx, slack + dual * dslack
        price, tilt = price + dual * dprice, tilt + dual * dtilt
    return np.sum(x * cost), price


def _room(value, change):
    """Longest step, at most 1, that keeps value positive."""
    falling = change < 0
    return min(1.0, np.min(-value[falling] / change[falling], initial=np.inf))


def _helpful(v, label, price, points, tol):
    """Points u where (1-u) R0(u) + u R1(u) > tol, R_y(u) the largest price - |u - v|: tops of a fine grid, zoomed."""

    def broken(u):
        reach = price - np.abs(u[:, None] - v)
        return (1 - u) * reach[:, label == 0].max(1) + u * reach[:, label == 1].max(1)

    grid = np.union1d(points, np.linspace(0.0, 1.0, 2001))
    height = np.pad(broken(grid), 1, constant_values=-np.inf)
    top = (height[1:-1] >= height[:-2]) & (height[1:-1] >= height[2:]) & (height[1:-1] > -1e-6)
    fresh = []
    for u in grid[top]:
        width = 1.0 / 2000
        for _ in range(4):
            near = np.clip(np.linspace(u - width, u + width, 201), 0.0, 1.0)
            u = near[np.argmax(broken(near))]
            width /= 50
        if broken(np.array([u]))[0] > tol:
            step = np.abs(points - u).min() / 8  # beside it too: the next top is near
            fresh += [u - step, u, u + step]
    return fresh
