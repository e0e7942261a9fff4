"""The statistics of `calibration_test`, straight from their definitions."""

import math

import numpy as np


def times(v, m, w):
    """Share of the variance below each unit, half of its own included; and the variances."""
    variance = [wi * wi * mi * vi * (1 - vi) for vi, mi, wi in zip(v, m, w, strict=True)]
    total = sum(variance)
    return [(sum(variance[:i]) + variance[i] / 2) / total for i in range(len(v))], variance


def cox(v, m, ones, w):
    """Score of intercept and slope, by solving for their information matrix."""
    odds = np.log(np.divide(v, 1 - v))
    excess = w * (ones - m * v)
    _, variance = times(v, m, w)
    x = np.column_stack([np.ones(len(v)), odds])
    score, information = x.T @ excess, x.T @ (np.array(variance)[:, None] * x)
    return float(score @ np.linalg.pinv(information, rcond=1e-10) @ score)


def waves(v, m, ones, w, size, n_blocks):
    """Squared length of the excess along the first cosines, over blocks of equal variance, by least squares."""
    time, variance = times(v, m, w)
    block = [min(int(t * n_blocks), n_blocks - 1) for t in time]
    held = sorted(set(block))
    part, moment, excess = (np.zeros(len(held)) for _ in range(3))
    for i, b in enumerate(block):
        k = held.index(b)
        part[k] += variance[i]
        moment[k] += variance[i] * time[i]
        excess[k] += w[i] * (ones[i] - m[i] * v[i])
    x = np.array([[math.cos(math.pi * k * t) for k in range(size)] for t in moment / part])
    fitted = np.linalg.lstsq(np.sqrt(part)[:, None] * x, excess / np.sqrt(part), rcond=1e-9)[0]
    return float(((np.sqrt(part)[:, None] * x @ fitted) ** 2).sum())


def steps(v, m, ones, w, groups, n_blocks):
    """Sum over groups of pairs of different rows' products, over the group's variance."""
    time, variance = times(v, m, w)
    block = [min(int(t * n_blocks), n_blocks - 1) * groups // n_blocks for t in time]
    found = 0.0
    for g in set(block):
        rows = [(w[i] * ((j < ones[i]) - v[i])) for i in range(len(v)) if block[i] == g for j in range(int(m[i]))]
        pairs = sum(a * b for p, a in enumerate(rows) for q, b in enumerate(rows) if p != q)
        found += pairs / sum(variance[i] for i in range(len(v)) if block[i] == g)
    return found


def of_different_groups(columns, group):
    """Sum over directions, the columns, and over pairs of different groups of products of the groups' sums."""
    sums = {g: columns[np.asarray(group) == g].sum(axis=0) for g in set(group)}
    return float(sum(sums[g] @ sums[h] for g in sums for h in sums if g != h))
