"""The averaged map by its definition: evidence and mean by quadrature where a member has one or two coefficients, and
by importance sampling where it has more."""

import numpy as np


def log_likelihood(x, rows, events, correction):
    """Of log-odds x + correction; corrections of shape (k, n) give k values."""
    h = x + correction
    return (events * h - rows * np.logaddexp(0.0, h)).sum(axis=-1)


def by_quadrature(x, rows, events, columns, deviation, points=41, reach=8.0):
    """Log evidence, posterior means of coefficients and probabilities: an even grid of the prior, then of the peak."""
    centre, half = np.zeros(len(deviation)), reach * deviation
    for _ in range(5):
        axes = [np.linspace(c - h, c + h, points) for c, h in zip(centre, half, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(deviation))
        parts = np.array_split(grid, 40)
        log_joint = np.concatenate([log_likelihood(x, rows, events, part @ columns.T) for part in parts])
        log_joint -= (0.5 * (grid / deviation) ** 2 + np.log(deviation) + 0.5 * np.log(2.0 * np.pi)).sum(axis=1)
        top = log_joint.max()
        share = np.exp(log_joint - top)
        evidence = top + np.log(share.sum()) + sum(np.log(axis[1] - axis[0]) for axis in axes)
        share /= share.sum()
        centre = share @ grid
        spread = np.sqrt(share @ (grid - centre) ** 2)
        half = reach * np.maximum(spread, [axis[1] - axis[0] for axis in axes])
    probability = sum(
        some @ (1.0 / (1.0 + np.exp(-x - part @ columns.T)))
        for some, part in zip(np.array_split(share, 40), parts, strict=True)
    )
    return evidence, centre, probability


def by_importance(x, rows, events, columns, deviation, centre, root, rng, draws=20_000, widen=1.15):
    """The same from a wide normal proposal around any centre; unbiased whatever the proposal is."""
    normal = rng.standard_normal((draws, root.shape[1]))
    coefficients = centre + widen * normal @ root.T
    log_prior = -0.5 * ((coefficients / deviation) ** 2).sum(axis=1) - np.log(deviation).sum()
    log_det = np.linalg.slogdet(root)[1] + root.shape[1] * np.log(widen)
    log_proposal = -0.5 * (normal**2).sum(axis=1) - log_det
    parts = np.array_split(coefficients, 40)
    fit = np.concatenate([log_likelihood(x, rows, events, part @ columns.T) for part in parts])
    log_weight = fit + log_prior - log_proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    return top + np.log(weight.mean()), weight @ coefficients / weight.sum(), weight.sum() ** 2 / (weight**2).sum()
