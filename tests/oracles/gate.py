"""The anytime gate from single rows: every bet by itself, every product multiplied out."""

import numpy as np


def bets(limit):
    """Pairs of a bet and the share of the capital on it."""
    sizes = [0.55]
    while sizes[-1] / 2 >= limit:
        sizes.append(sizes[-1] / 2)
    if sizes[-1] > limit:
        sizes.append(sizes[-1] / 2)
    equal = max(1, len(sizes) - 1)
    return [(0.55 / 2**k, (1.0 if k < equal else 0.5 ** (k - equal + 1)) / (equal + 1)) for k in range(equal + 20)]


def capital(limit, z):
    """What 1 becomes where z is bet on."""
    return sum(share * np.prod(np.exp(x * z + (np.log(1 - x) + x) * z**2)) for x, share in bets(limit))


def capital_above(y, v, found, d, limit):
    """At least the capital on "less than d": the least favourable function has the sample's supremum for its mean."""
    n = len(y)
    squares = np.sum(np.abs(y - v) ** 2) - 2 * n * d * found + n * d**2
    return sum(
        s * np.prod([np.exp(x * (d - found))] * n) * np.exp((np.log(1 - x) + x) * squares) for x, s in bets(limit)
    )


def capital_below(g, m, limit):
    """The capital on "more than m", of what each row paid to the function that was bet on it."""
    return capital(limit, (g - m) / (1 + m))
