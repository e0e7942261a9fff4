"""Binary questions about classes, row by row."""

import math

import numpy as np


def top_label(label, table):
    """Outcome and confidence of the first of the most probable classes."""
    outcome, confidence = [], []
    for y, row in zip(label, table, strict=True):
        best = max(range(len(row)), key=lambda k: (row[k], -k))
        outcome.append(float(best == y))
        confidence.append(row[best])
    return np.array(outcome), np.array(confidence)


def top_k(label, table, k):
    """Outcome and summed probability, to 14 decimals, of the k most probable classes, the first of those that tie."""
    outcome, confidence = [], []
    for y, row in zip(label, table, strict=True):
        best = sorted(range(len(row)), key=lambda c: (-row[c], c))[:k]
        outcome.append(float(y in best))
        exact = math.fsum(row[c] for c in best)
        confidence.append(exact if k == 1 or round(exact, 14) == 1.0 > exact else min(round(exact, 14), 1.0))
    return np.array(outcome), np.array(confidence)


def class_wise(label, table, k):
    """Outcome and probability of one class."""
    return np.array([float(y == k) for y in label]), np.array([row[k] for row in table])
