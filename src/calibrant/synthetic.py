"""The papers' distributions and hard instances, as generators named after what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import RandomState, generator
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A finite domain, known exactly: what `calibration_distance` takes."""

    y_true: FloatArray  # (k,): conditional probability of outcome 1 at each element
    y_prob: FloatArray  # (k,): prediction at each element
    sample_weight: FloatArray  # (k,): masses, adding up to 1

    def draw(self, n: int, random_state: RandomState = None) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Draw n outcomes and the elements that they come from, both of shape (n,)."""
        rng = generator(random_state)
        element = rng.choice(self.y_prob.size, n, p=self.sample_weight / self.sample_weight.sum())
        return _outcomes(self.y_true[element], rng), element


def temperature_family(n: int, temperature: float, random_state: RandomState = None) -> tuple[FloatArray, FloatArray]:
    """Draw (y_true, y_prob) from a calibrated uniform predictor f bent to f^b / (f^b + (1-f)^b), b = 1 / temperature.

    Błasiok, Gopalan, Hu and Nakkiran (2023), Figures 1 and 2; calibrated at temperature 1, overconfident below.

    Examples
    --------
    >>> from calibrant import synthetic
    >>> y_true, y_prob = synthetic.temperature_family(4, 0.5, random_state=0)
    >>> y_prob.round(3).tolist()
    [0.755, 0.12, 0.002, 0.0]
    """
    if not temperature > 0.0:
        raise InputError("temperature", f"is {temperature}; a positive number is needed")
    rng = generator(random_state)
    f = rng.random(n)
    y_true = _outcomes(f, rng)
    with np.errstate(divide="ignore"):
        log_odds = (np.log(f) - np.log1p(-f)) / temperature
    return y_true, np.exp(-np.logaddexp(0.0, -log_odds))


def shifted_uniform(n: int, shift: float = 0.01, random_state: RandomState = None) -> tuple[FloatArray, FloatArray]:
    """Draw (y_true, y_prob) with v uniform on [0, 1 - shift] and outcome rate v + shift, at distance `shift`.

    Hu, Jambulapati, Tian and Yang (2024), Section 6 (Table 1, Figure 3, Table 3).
    """
    if not 0.0 <= shift <= 1.0:
        raise InputError("shift", f"is {shift}; it must lie in [0, 1]")
    rng = generator(random_state)
    v = rng.random(n) * (1.0 - shift)
    return _outcomes(v + shift, rng), v


def oscillating(
    n: int, m: int, s: float, rho: float, random_state: RandomState = None, *, two_sided: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Draw (y_true, y_prob), v uniform, whose outcome rate swings about v m times in [1/4, 3/4], all within rho / m**s.

    The rate is g_m of Lee, Huang, Hassani and Dobriban (2023), equation (10): v plus m bumps
    zeta(x) = exp(-1 / (x (1 - x))) of alternating sign. two_sided: one sign on either side of 1/2, equation (9).

    Examples
    --------
    >>> from calibrant import synthetic
    >>> y_true, y_prob = synthetic.oscillating(100_000, 40, 0.6, 100.0, random_state=0)
    >>> bool(y_true.mean().round(2) == 0.5)
    True
    """
    if m < 1:
        raise InputError("m", f"is {m}; at least one bump is needed")
    rng = generator(random_state)
    v = rng.random(n)
    place = 2.0 * m * v - m / 2.0
    bump = np.floor(place)
    x = place - bump
    sign = np.where(bump < m // 2, -1.0, 1.0) if two_sided else np.where(bump % 2.0 == 0.0, 1.0, -1.0)
    inside = (bump >= 0) & (bump < m) & (x > 0.0)
    height = np.exp(-1.0 / np.where(inside, x * (1.0 - x), 0.25))
    rate = v + np.where(inside, rho * float(m) ** -s * sign * height, 0.0)
    if rate.min(initial=0.0) < 0.0 or rate.max(initial=1.0) > 1.0:
        raise InputError("rho", f"is {rho}; with m = {m} and s = {s} the outcome rates leave [0, 1]")
    return _outcomes(rate, rng), v


def hidden_bias(n: int, values: int, bias: float, random_state: RandomState = None) -> tuple[FloatArray, FloatArray]:
    """Draw (y_true, y_prob) on evenly spaced predictions in [1/3, 2/3], each off by `bias` in a random direction.

    Few rows cannot tell it from a calibrated predictor: Hu, Jambulapati, Tian and Yang (2024), Definition 8.
    """
    if not 0.0 <= bias <= 1.0 / 3.0:
        raise InputError("bias", f"is {bias}; it must lie in [0, 1/3]")
    if values < 1:
        raise InputError("values", f"is {values}; at least one prediction is needed")
    rng = generator(random_state)
    direction = rng.choice([-1.0, 1.0], values)
    element = rng.integers(values, size=n)
    v = np.asarray(1.0 / 3.0 + (element + 1.0) / (3.0 * values), dtype=np.float64)
    return _outcomes(v + bias * direction[element], rng), v


def quadratic_gap(alpha: float, beta: float = 0.0, *, crossed: bool = True) -> Domain:
    """Two bits x1 x2 with predictions 1/2 - alpha (x1 = 1) and 1/2 + alpha (x1 = 0), pushed out by beta where x1 = x2.

    crossed: outcomes are (x1 + x2) / 2; predicting from x2 alone is calibrated, at distance 2 alpha (2 alpha + beta);
    otherwise outcomes are 1/2 + alpha and 1/2 - alpha and the nearest calibrated predictor is 1/2, at alpha, while
    (prediction, outcome) looks the same. Błasiok, Gopalan, Hu and Nakkiran (2023), Lemmas 4.5 (beta = 0; its 2 alpha^2
    should read 4 alpha^2) and 6.8 (beta = alpha / 2).
    """
    if not 0.0 < alpha <= 0.5 or not 0.0 <= beta <= 0.5 - alpha:
        raise InputError("alpha", f"is {alpha} with beta {beta}; 0 < alpha and 0 <= beta <= 1/2 - alpha are needed")
    x1, x2 = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    side = 1.0 - 2.0 * x1
    y_prob = 0.5 + side * (alpha + beta * (x1 == x2))
    y_true = (x1 + x2) / 2.0 if crossed else 0.5 - side * alpha
    return Domain(y_true, y_prob, np.where(x1 == x2, alpha, 0.5 - alpha))


def interval_discontinuity(epsilon: float, alpha: float = 1.0 / 6.0, beta: float = 1.0 / 48.0) -> Domain:
    """Four elements whose interval error halves as two predictions at 1/2 are moved apart by any 2 epsilon > 0.

    Błasiok, Gopalan, Hu and Nakkiran (2023), Lemma 6.9 and Table 2.
    """
    y_prob = 0.5 + np.array([-beta, -epsilon, epsilon, beta])
    y_true = y_prob + alpha * np.array([1.0, -1.0, 2.0, -2.0])
    return Domain(y_true, y_prob, np.full(4, 0.25))


def constant_gap(epsilon: float) -> tuple[Domain, Domain]:
    """Two domains whose smooth errors are once and one and a half times their lower distances.

    Prediction 1/2 with outcome rate 1/2 + epsilon; and equal masses at 1/2 - epsilon with outcome 1 and at 1/2 with
    outcome 0. Hu, Jambulapati, Tian and Yang (2024), Lemma 13 and its table.
    """
    if not 0.0 < epsilon < 0.5:
        raise InputError("epsilon", f"is {epsilon}; it must lie strictly between 0 and 1/2")
    once = Domain(np.array([0.5 + epsilon]), np.array([0.5]), np.array([1.0]))
    more = Domain(np.array([1.0, 0.0]), np.array([0.5 - epsilon, 0.5]), np.array([0.5, 0.5]))
    return once, more


def extreme_ratios(epsilon: float) -> tuple[Domain, Domain]:
    """Two domains whose ratios of smooth error to lower distance are 1/2, and near 2, the most that is possible.

    Predictions 1/2 -+ epsilon with outcomes 0 and 1; and 1 - epsilon with outcome 1 at mass 1 - epsilon, 1 with outcome
    0 at mass epsilon, whose distance is epsilon^2 and smooth error epsilon^2 (2 - epsilon). Sharpens Lemma 13 of Hu,
    Jambulapati, Tian and Yang (2024). No ratio is below 1/2 or above 2 (docs/lower.md).
    """
    if not 0.0 < epsilon < 0.5:
        raise InputError("epsilon", f"is {epsilon}; it must lie strictly between 0 and 1/2")
    half = Domain(np.array([0.0, 1.0]), np.array([0.5 - epsilon, 0.5 + epsilon]), np.array([0.5, 0.5]))
    twice = Domain(np.array([1.0, 0.0]), np.array([1.0 - epsilon, 1.0]), np.array([1.0 - epsilon, epsilon]))
    return half, twice


def subset_sum_domain(numbers: Sequence[int] | IntArray, target: int) -> tuple[Domain, float]:
    """Noiseless domain, and the distance that it has if some of the numbers add up to `target`, and exceeds if not.

    Computational and Statistical Hardness of Calibration Distance (2026), Definition 4; constants in docs/hardness.md.

    Examples
    --------
    >>> from calibrant import calibration_distance, synthetic
    >>> domain, distance = synthetic.subset_sum_domain([3, 5, 6], 8)
    >>> bool(abs(calibration_distance(domain.y_true, domain.y_prob, sample_weight=domain.sample_weight).upper
    ...          - distance) < 1e-12)
    True
    """
    a = _positive_integers(numbers)
    if not 0 < target <= a.sum():
        raise InputError("target", f"is {target}; it must lie between 1 and the sum of the numbers, {int(a.sum())}")
    # Subsets that add up to the target exist if and only if those that add up to the rest do.
    share = min(target, a.sum() - target) / a.sum()
    epsilon, eta = 1.0 / 16.0, 0.25
    low, high = 0.5 - epsilon, 0.5 + epsilon
    set_mass = low * eta / (1.0 - share)
    moved = set_mass * share
    mass = np.concatenate([[high * eta, low * (1.0 - eta), high * (1.0 - eta) - moved], set_mass * a / a.sum()])
    y_true = np.concatenate([[1.0, 1.0, 0.0], np.zeros(a.size)])
    y_prob = np.concatenate([[high, low, low], np.full(a.size, high)])
    return Domain(y_true, y_prob, mass), 2.0 * epsilon * moved


def balanced_subset_sum_domain(numbers: Sequence[int] | IntArray) -> tuple[Domain, float]:
    """Uniform domain, and the distance that it has if half of the numbers add up to half their sum, and exceeds if not.

    An even count of numbers. Computational and Statistical Hardness of Calibration Distance (2026), Definition 6;
    constants in docs/hardness.md, which need no bound on how far the numbers differ.
    """
    a = _positive_integers(numbers)
    if a.size % 2:
        raise InputError("numbers", f"are {a.size}; an even count is needed")
    half = a.size // 2
    epsilon = 1.0 / (8.0 * half)
    y_true = np.concatenate([np.ones(half), np.full(half, 1.0 - 4.0 * epsilon), 2.0 * epsilon * a / a.mean()])
    y_prob = 0.5 + epsilon * np.concatenate([np.ones(half), -np.ones(half), np.ones(a.size)])
    return Domain(y_true, y_prob, np.full(4 * half, 0.25 / half)), epsilon / 2.0


def pure_and_mixed(size: int, epsilon: float = 0.125, random_state: RandomState = None) -> tuple[Domain, Domain]:
    """Two domains that a sample without a repeated element cannot tell apart, though their distances differ.

    `size` elements share half the mass at prediction 1/2; two more, a quarter each, have rate 1/2 and predictions
    1/2 -+ epsilon. Pure: every rate is 1/2, and the distance is epsilon / 2. Mixed: the rates of the `size` are 0 or 1
    at random, and some of them can be moved to the other two, at about epsilon**2. Computational and Statistical
    Hardness of Calibration Distance (2026), Section 8.
    """
    if not 0.0 < epsilon < 0.5:
        raise InputError("epsilon", f"is {epsilon}; it must lie strictly between 0 and 1/2")
    rng = generator(random_state)
    y_prob = np.concatenate([[0.5 - epsilon, 0.5 + epsilon], np.full(size, 0.5)])
    mass = np.concatenate([[0.25, 0.25], np.full(size, 0.5 / size)])
    mixed = np.concatenate([[0.5, 0.5], rng.integers(0, 2, size).astype(float)])
    return Domain(np.full(size + 2, 0.5), y_prob, mass), Domain(mixed, y_prob, mass)


def calibrated_ladder(size: int) -> Domain:
    """Perfectly calibrated predictions evenly spaced in [1/4, 3/4]: its samples are far from calibrated for long.

    Computational and Statistical Hardness of Calibration Distance (2026), Section 9.
    """
    v = np.asarray(0.25 + (np.arange(size) + 0.5) / (2.0 * size), dtype=np.float64)
    return Domain(v, v, np.full(size, 1.0 / size))


def _outcomes(rate: FloatArray, rng: np.random.Generator) -> FloatArray:
    return (rng.random(rate.size) < rate).astype(np.float64)


def _positive_integers(numbers: Sequence[int] | IntArray) -> FloatArray:
    array = np.asarray(numbers)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu" or array.min() < 1:
        raise InputError("numbers", "must be a list of positive whole numbers")
    return array.astype(np.float64)
