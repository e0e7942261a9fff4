"""Logistic fits of a few parameters, converged to rounding: what Cox's test and logistic maps share."""

from __future__ import annotations

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.special import expit
from calibrant.kernels.logistic import logistic_derivatives

_POOLED = 4096  # levels of the rough fit that starts the exact one
MANY = 8 * _POOLED
"""Levels above which a rough fit comes first."""
_STEPS = 25  # of Newton's method, most of which take five
_ROUND = 1e-9  # least bend of the loss over its greatest, at which a Newton step is trusted
_RADIUS = 1e6  # of the slower method's steps
_FAR = 1e8  # from where Newton's method starts: nothing is solved there, and the slower method goes on
FARTHEST = 5e8
"""More than any coefficient: two fits, each of 200 steps of `_RADIUS` at most, from the log-odds of a double."""
_GRADIENT = 1e-7  # norm at which a last step makes the fit exact; the loss is a mean over rows


def log_odds(prediction: FloatArray, clip: float) -> FloatArray:
    """Log-odds, of predictions no closer to 0 and 1 than clip."""
    p, q = at_least_from_the_ends(prediction, clip)
    return np.asarray(np.log(p / q))


def at_least_from_the_ends(prediction: FloatArray, clip: float) -> tuple[FloatArray, FloatArray]:
    """Predictions and one minus them, where those closer than clip to 0 or 1 are read as that far from it."""
    return np.clip(prediction, clip, 1.0 - clip), np.clip(1.0 - prediction, clip, 1.0 - clip)


def inner_expit(score: FloatArray) -> FloatArray:
    """Logistic function, rounded to the nearest double inside (0, 1): no finite log-odds mean certainty."""
    return np.asarray(np.clip(expit(score), np.finfo(np.float64).tiny, 1.0 - 2.0**-53))


def fit_logistic(features: FloatArray, rate: FloatArray, mass: FloatArray, start: FloatArray) -> FloatArray:
    """Coefficients that minimise the logistic loss: by Newton's method, or scipy's trust region where that is in doubt.

    The columns of features, shape (d, n), are in the order of the prediction: neighbours are pooled for a rough fit,
    and the exact one takes two or three steps from there.
    """
    if rate.size > MANY:
        start = _minimise(*pooled_neighbours(features, rate, mass), start)
    return _minimise(np.ascontiguousarray(features), np.ascontiguousarray(rate), np.ascontiguousarray(mass), start)


def pooled_neighbours(
    features: FloatArray, rate: FloatArray, mass: FloatArray, maximum: int = _POOLED
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Features, rates and masses of levels that are pooled with their neighbours, to at most so many."""
    cut = np.arange(0, rate.size, -(-rate.size // maximum))
    total = np.add.reduceat(mass, cut)
    return np.add.reduceat(features * mass, cut, axis=1) / total, np.add.reduceat(rate * mass, cut) / total, total


def _minimise(features: FloatArray, rate: FloatArray, mass: FloatArray, start: FloatArray) -> FloatArray:
    enough = _GRADIENT if rate.size > MANY else 1e-12
    fit = _newton(features, rate, mass, start, enough)
    if fit is None:
        theta = _trusted(features, rate, mass, start, enough)
        fit = theta, *logistic_derivatives(features, rate, mass, theta)[1:]
    # So near, the loss cannot tell a better point from a worse one, but a last Newton step squares the distance.
    theta, gradient, hessian = fit
    step = np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
    if np.linalg.norm(gradient) <= _GRADIENT and np.linalg.norm(step) < 1e-2:
        theta = theta - step
    return theta


def _newton(
    features: FloatArray, rate: FloatArray, mass: FloatArray, start: FloatArray, enough: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the end of full Newton steps, with gradient and Hessian, if all descend and the loss is round.

    None sends for the slower, surer method.
    """
    theta: FloatArray = start
    value, gradient, hessian = logistic_derivatives(features, rate, mass, theta)
    step = np.zeros_like(start)
    for _ in range(_STEPS):
        if np.linalg.norm(gradient) <= enough:
            # Of separable outcomes, which have no optimum, the gradient falls and the steps do not.
            short = np.linalg.norm(step) <= 1e-3 * (1.0 + np.linalg.norm(theta))
            return (theta, gradient, hessian) if short else None
        bend = np.linalg.eigvalsh(hessian) if np.isfinite(hessian).all() else np.zeros(1)
        if not bend[0] > _ROUND * bend[-1]:
            return None
        step = np.asarray(np.linalg.solve(hessian, gradient), np.float64)
        theta = theta - step
        before = value
        value, gradient, hessian = logistic_derivatives(features, rate, mass, theta)
        if not value <= before * (1.0 + 1e-12) or not np.linalg.norm(theta - start) <= _FAR:
            return None
    return None


def _trusted(features: FloatArray, rate: FloatArray, mass: FloatArray, start: FloatArray, enough: float) -> FloatArray:
    from scipy.optimize import minimize

    cache: dict[bytes, tuple[float, FloatArray, FloatArray]] = {}

    def derivatives(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        key = theta.tobytes()
        if key not in cache:
            cache[key] = logistic_derivatives(features, rate, mass, theta)
        return cache[key]

    fit = minimize(
        lambda theta: derivatives(theta)[:2],
        start,
        method="trust-exact",
        jac=True,
        hess=lambda theta: derivatives(theta)[2],
        options={"gtol": enough, "maxiter": 200, "initial_trust_radius": 1.0, "max_trust_radius": _RADIUS},
    )
    return np.asarray(fit.x, dtype=np.float64)
