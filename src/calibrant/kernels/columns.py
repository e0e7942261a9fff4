"""Parts that a nearly cheapest partition may have, found by what they cost beyond the credit of their elements.

docs/distance-general.md has the proofs. At a value mu an element's slack is |v - mu| + tilt * (y - mu) - credit, for
any tilt: over a part whose mean outcome is mu the middle terms cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

_ROUNDING = 1e-15
_LOOK = 4095  # steps between two looks at the flag
_SMALL, _MASKS = 16, 62  # elements of a part


class Parts(NamedTuple):
    """Parts as a list of lists, members[start[k]:start[k + 1]], and what each costs beyond its credit.

    complete : whether none is missing.
    """

    start: IntArray
    members: IntArray
    excess: FloatArray
    complete: bool


@njit(cache=True, nogil=True)
def credit_overdraft(v: FloatArray, y: FloatArray, credit: FloatArray, place: FloatArray) -> FloatArray:
    """How much the credits must fall, everywhere, for no part to get more than it costs: by element, the worst pair.

    Fills in where, shape (n,). A part splits into pairs of shares of elements with the same mean, so pairs decide.
    """
    n = v.size
    worst = np.empty(n)
    for a in range(n):
        worst[a] = credit[a] - abs(v[a] - y[a])
        place[a] = y[a]
        for b in range(n):
            if y[b] >= y[a]:
                continue
            # Between y[b] and y[a] what the pair costs is made of parabolas that meet at v[a] and v[b].
            for k in range(5):
                if k < 2:
                    mu = v[a] if k == 0 else v[b]
                else:
                    side_a = 1.0 if k == 2 or k == 3 else -1.0
                    side_b = 1.0 if k == 3 else -1.0
                    if side_a == side_b:
                        continue
                    falls = side_a * (v[a] + y[b]) - side_b * (v[b] + y[a]) + credit[a] - credit[b]
                    mu = falls / (2.0 * (side_a - side_b))
                if not y[b] < mu < y[a]:
                    continue
                share = (mu - y[b]) / (y[a] - y[b])
                over = share * (credit[a] - abs(v[a] - mu)) + (1.0 - share) * (credit[b] - abs(v[b] - mu))
                if over > worst[a]:
                    worst[a] = over
                    place[a] = mu
    return worst


@njit(cache=True)
def _tilt(v: FloatArray, y: FloatArray, credit: FloatArray, mu: float) -> float:
    """Tilt under which no element's slack at mu is negative; in the middle where there is a choice."""
    low = -np.inf
    high = np.inf
    for i in range(v.size):
        over = credit[i] - abs(v[i] - mu)
        if y[i] > mu:
            low = max(low, over / (y[i] - mu))
        elif y[i] < mu:
            high = min(high, over / (y[i] - mu))
    if low == -np.inf:
        return 0.0 if high == np.inf else high
    return low if high == np.inf else 0.5 * (low + high)


@njit(cache=True)
def _excess(mass: FloatArray, v: FloatArray, y: FloatArray, credit: FloatArray, part: IntArray, n_taken: int) -> float:
    """Cost beyond the credit of those elements of a part whose bits are in `taken`."""
    total = 0.0
    ones = 0.0
    for k in range(part.size):
        if n_taken >> k & 1:
            total += mass[part[k]]
            ones += mass[part[k]] * y[part[k]]
    mu = ones / total
    excess = 0.0
    for k in range(part.size):
        if n_taken >> k & 1:
            excess += mass[part[k]] * (abs(v[part[k]] - mu) - credit[part[k]])
    return excess


@njit(cache=True)
def _splits(mass: FloatArray, v: FloatArray, y: FloatArray, credit: FloatArray, part: IntArray, excess: float) -> bool:
    """Whether the part splits in two at no cost; then some cheapest partition does without it.

    Every split of a small part is tried, and of a large one those where one or two elements leave.
    """
    size = part.size
    if size > _MASKS:
        return False
    everyone = (1 << size) - 1
    for a in range(size):
        for b in range(a + 1):
            leave = 1 << a | 1 << b
            if leave != everyone and _splits_off(mass, v, y, credit, part, excess, leave):
                return True
    if size <= _SMALL:
        for leave in range(1, (everyone + 1) >> 1):
            if _splits_off(mass, v, y, credit, part, excess, leave):
                return True
    return False


@njit(cache=True)
def _splits_off(
    mass: FloatArray, v: FloatArray, y: FloatArray, credit: FloatArray, part: IntArray, excess: float, leave: int
) -> bool:
    apart = _excess(mass, v, y, credit, part, leave)
    if apart > excess + _ROUNDING:
        return False
    stay = ((1 << part.size) - 1) ^ leave
    return bool(apart + _excess(mass, v, y, credit, part, stay) <= excess + _ROUNDING)


@njit(cache=True, nogil=True)
def parts_within(
    mass: FloatArray,
    v: FloatArray,
    y: FloatArray,
    credit: FloatArray,
    budget: float,
    cells: int,
    most: tuple[int, int],
    stop: IntArray,
) -> Parts:
    """All parts that cost at most `budget` beyond their credit and do not split at no cost; gives up if stopped.

    most: steps and parts beyond which it gives up. Cell by cell of values, it goes through the sets of elements that
    the budget affords, those first that move the mean most, and leaves a set that cannot get its mean into the cell.
    """
    n = mass.size
    start = np.zeros(1 << 10, np.int64)
    members = np.empty(1 << 12, np.int64)
    excesses = np.empty(1 << 10)
    count = 0
    steps = 0
    price = np.empty(n)
    order = np.empty(n, np.int64)
    down = np.empty(n + 1)  # what the elements from here on can do for the two sums
    up = np.empty(n + 1)
    chosen = np.empty(n + 1, np.int64)
    part = np.empty(n, np.int64)
    paid = np.zeros(n + 1)
    above = np.zeros(n + 1)  # mass * (y - edge) summed over what is chosen: at most 0 at the upper edge,
    below = np.zeros(n + 1)  # at least 0 at the lower one, where the mean lies in the cell
    for cell in range(cells):
        low = cell / cells
        high = (cell + 1) / cells
        tilt = _tilt(v, y, credit, 0.5 * (low + high))
        allowed = budget + _ROUNDING
        for i in range(n):
            least = min(abs(v[i] - low) + tilt * (y[i] - low), abs(v[i] - high) + tilt * (y[i] - high))
            if low < v[i] < high:
                least = min(least, tilt * (y[i] - v[i]))
            price[i] = mass[i] * (least - credit[i])
            allowed -= min(price[i], 0.0)  # negative prices, a cell's width at most, are refunded at once
            price[i] = max(price[i], 0.0)
        size = 0
        for i in range(n):
            if price[i] <= allowed:  # in its place among those before it, which are few
                moves = mass[i] * abs(y[i] - 0.5 * (low + high))
                k = size
                while k > 0 and mass[order[k - 1]] * abs(y[order[k - 1]] - 0.5 * (low + high)) < moves:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = i
                size += 1
        down[size] = up[size] = 0.0
        for k in range(size - 1, -1, -1):
            i = order[k]
            down[k] = down[k + 1] + min(0.0, mass[i] * (y[i] - high))
            up[k] = up[k + 1] + max(0.0, mass[i] * (y[i] - low))
        depth = 0
        at = 0
        while True:
            while at < size and paid[depth] + price[order[at]] > allowed:
                at += 1
            if at == size or above[depth] + down[at] > _ROUNDING or below[depth] + up[at] < -_ROUNDING:
                if depth == 0:
                    break
                depth -= 1
                at = chosen[depth] + 1
                continue
            i = order[at]
            chosen[depth] = at
            part[depth] = i
            depth += 1
            at += 1
            paid[depth] = paid[depth - 1] + price[i]
            above[depth] = above[depth - 1] + mass[i] * (y[i] - high)
            below[depth] = below[depth - 1] + mass[i] * (y[i] - low)
            steps += 1
            if steps > most[0] or count > most[1] or (steps & _LOOK == 0 and stop[0] != 0):
                return Parts(start[: count + 1], members[: start[count]], excesses[:count], False)
            if above[depth] > 1e-12 or below[depth] < -1e-12:
                continue
            total = 0.0
            ones = 0.0
            for k in range(depth):
                total += mass[part[k]]
                ones += mass[part[k]] * y[part[k]]
            mu = ones / total
            if (mu < low and cell > 0) or (mu >= high and cell < cells - 1):
                continue  # belongs to a neighbour
            excess = 0.0
            for k in range(depth):
                excess += mass[part[k]] * (abs(v[part[k]] - mu) - credit[part[k]])
            if excess > budget + _ROUNDING or _splits(mass, v, y, credit, part[:depth], excess):
                continue
            if count + 2 > start.size:
                start = np.concatenate((start, np.zeros_like(start)))
                excesses = np.concatenate((excesses, np.zeros_like(excesses)))
            if start[count] + depth > members.size:
                members = np.concatenate((members, np.empty(members.size + n, np.int64)))
            for k in range(depth):
                members[start[count] + k] = part[k]
            excesses[count] = excess
            count += 1
            start[count] = start[count - 1] + depth
        if stop[0] != 0:
            return Parts(start[: count + 1], members[: start[count]], excesses[:count], False)
    return Parts(start[: count + 1], members[: start[count]], excesses[:count], True)
