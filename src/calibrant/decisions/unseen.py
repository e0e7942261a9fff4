"""Weights that rows would have if outcomes came as often as a curve says: the heaviest may not have been seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.door.columns import FloatArray
from calibrant.door.special import expit
from calibrant.door.weights import SamplingFractions
from calibrant.kernels.sums import dot


def expected_weights(cases: Cases, chance: FloatArray, shift: float, power: int) -> tuple[FloatArray, FloatArray]:
    """Expected power of the weight of each row without the event, and with it, of these chances in the population.

    Two values of weights, one for each outcome, undo a sampling by outcome, which is drawn again. Of others events are
    heavier by the shift of log-odds.
    """
    weight: FloatArray = np.ones(cases.v.size) if cases.w is None else cases.w
    fractions = SamplingFractions.of_weights(cases.y, weight)
    if fractions is None:
        chance, heaviest = heavier(chance, shift), weight**power
        return (1.0 - chance) * heaviest, chance * heaviest
    chance, scale = fractions.chance_in_file(chance), weight[0] / fractions.weight_of(cases.y[:1])[0]
    other, event = ((scale * each) ** power for each in fractions.weights)
    return (1.0 - chance) * other, chance * event


def heavier(chance: FloatArray, shift: float) -> FloatArray:
    """Chances with log-odds that are higher by the shift, what is certain apart."""
    heavy = chance.copy()
    inside = (chance > 0.0) & (chance < 1.0)
    heavy[inside] = expit(np.log(chance[inside]) - np.log1p(-chance[inside]) + shift)
    return heavy


def weight_shift(cases: Cases) -> float:
    """By how much the log-odds of squared weights are above those of weights: 0 if weights do not go with outcomes."""
    inside = (cases.v > 0.0) & (cases.v < 1.0)
    v, y, w = cases.v[inside], cases.y[inside], cases.weight[inside]
    if cases.w is None or not 0.0 < dot(w, y) < float(w.sum()):
        return 0.0
    from scipy.optimize import brentq  # which few need, and takes a while to load

    odds = np.log(v) - np.log1p(-v)
    far = float(np.abs(odds).max()) + 40.0

    def level(mass: FloatArray) -> float:
        events = dot(mass, y)
        lacks: Callable[[float], float] = lambda a: dot(mass, expit(odds + a)) - events  # noqa: E731
        return -far if lacks(-far) >= 0.0 else far if lacks(far) <= 0.0 else float(brentq(lacks, -far, far))

    return level(w * w) - level(w)
