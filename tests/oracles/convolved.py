"""Convolved calibration error by quadrature on a fine grid, with the Gaussian's mirror images added up."""

import math

import numpy as np


def convolved_calibration_error(y_true, y_prob, sample_weight=None, bandwidth=None, points=2000):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    residual = weight * (y_true - y_prob) / weight.sum()
    if bandwidth is not None:
        return _error(y_prob, residual, bandwidth, points)
    low, high = 0.0, 1.0
    for _ in range(24):  # the error falls as the bandwidth grows
        middle = (low + high) / 2
        low, high = (middle, high) if _error(y_prob, residual, middle, points) > middle else (low, middle)
    return (low + high) / 2


def _error(v, residual, sigma, points):
    t = np.linspace(0, 1, points + 1)
    if sigma * points < 20:  # too coarse to see the Gaussians: a finer grid around each prediction joins in
        around = v[:, None] + sigma * np.linspace(-6, 6, 81)
        t = np.unique(np.clip(np.concatenate([t, around.ravel()]), 0, 1))
    images = math.ceil(4 * sigma) + 1
    density = np.zeros(t.size)
    for k in range(-images, images + 1):
        for sign in (1, -1):
            image = 2 * k + sign * v
            if np.maximum(-image, image - 1).min() > 9 * sigma:  # exp(-40) of it reaches [0, 1]
                continue
            z = (t[:, None] - image[None, :]) / sigma
            density += np.exp(-0.5 * z**2) @ residual
    return float(np.trapezoid(np.abs(density), t) / (sigma * math.sqrt(2 * math.pi)))
