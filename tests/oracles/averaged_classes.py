"""The averaged map of classes by its definition: log posteriors row by row, and evidence by importance sampling."""

import math

import numpy as np


def shared_log_likelihood(x, label, rows, t, u):
    """Of scores (1 + t) x - u log(1 - x)."""
    total = 0.0
    for row, y, w in zip(x, label, rows, strict=True):
        moved = [(1.0 + t) * each - u * math.log1p(-each) for each in row]
        total += w * (moved[y] - math.log(sum(math.exp(each) for each in moved)))
    return total


def own_log_likelihood(x, label, rows, weights):
    """Of scores x W + b, the shifts last; weights of shape (draws, K + 1, K)."""
    k = x.shape[1]
    scores = np.einsum("il,dlk->dik", x, weights[:, :k]) + weights[:, k][:, None, :]
    happened = scores[:, np.arange(label.size), label]
    return (rows * (happened - np.log(np.exp(scores).sum(axis=2)))).sum(axis=1)


def evidence_by_importance(log_likelihood, centre, root, deviation, rng, draws=20_000, widen=1.15):
    """Log evidence and posterior mean of coefficients around any centre, from a wide normal proposal."""
    normal = rng.standard_normal((draws, centre.size))
    at = centre + widen * normal @ root.T
    log_prior = -0.5 * ((at / deviation) ** 2).sum(axis=1) - np.log(deviation).sum()
    log_proposal = -0.5 * (normal**2).sum(axis=1) - np.linalg.slogdet(root)[1] - centre.size * math.log(widen)
    log_weight = np.concatenate([log_likelihood(part) for part in np.array_split(at, 100)]) + log_prior - log_proposal
    weight = np.exp(log_weight - log_weight.max())
    return log_weight.max() + math.log(weight.mean()), weight @ at / weight.sum()
