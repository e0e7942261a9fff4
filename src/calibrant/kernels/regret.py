"""Where to cut: hulls of the running masses of events and of non-events, and what other cuts lose against them.

Predictions increase; `events` and `others` are the masses on each. A cut j acts on the predictions from number j on; at
threshold t it is worth the sum over these of (1 - t) events - t others. Cut i is what acting on the predictions does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.sums import add
from calibrant.kernels.types import FloatArray

CutArray = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def running(mass: FloatArray) -> FloatArray:
    """Sums of the masses before each place, from 0 up to the sum of all."""
    found = np.empty(mass.size + 1)
    found[0] = 0.0
    total, lost = 0.0, 0.0
    for j in range(mass.size):
        total, lost = add(total, lost, mass[j])
        found[j + 1] = total + lost
    return found


@njit(cache=True, nogil=True)
def hull(events: FloatArray, others: FloatArray, start: CutArray, rate: FloatArray) -> int:
    """Write the cuts that are best at some threshold, and the rates of events between them, which increase.

    Returns how many rates there are, one less than cuts. The masses between two cuts next to each other are those of
    one block of the isotonic regression. Of thresholds up to the first rate the first cut is best, between two rates
    the cut there, above the last rate the last cut: none.
    """
    ones, zeros = np.empty(events.size), np.empty(events.size)
    size = 0
    for j in range(events.size):
        start[size] = j
        ones[size] = events[j]
        zeros[size] = others[j]
        while size > 0 and ones[size - 1] * zeros[size] >= ones[size] * zeros[size - 1]:
            ones[size - 1] += ones[size]
            zeros[size - 1] += zeros[size]
            size -= 1
        size += 1
    start[size] = events.size
    for k in range(size):
        both = ones[k] + zeros[k]
        rate[k] = ones[k] / both if both != 0.0 else 0.0
    return size


@njit(cache=True, nogil=True)
def places(x: FloatArray, at: FloatArray, after: bool) -> CutArray:
    """Return how many of x lie below each of `at`, or with `after` not above it; both columns increase."""
    found = np.empty(at.size, np.int64)
    j = 0
    for k in range(at.size):
        while j < x.size and (x[j] < at[k] or (after and x[j] == at[k])):
            j += 1
        found[k] = j
    return found


@njit(cache=True, nogil=True)
def penalised_gains(
    v: FloatArray, events: FloatArray, others: FloatArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """Return at each t of v the most that a cut further down gains on average, with `share` of the gain's square added.

    A row of the stretch between the two cuts gains 1 - t if it is an event, and else -t. The first column is for t,
    where the rows at t act, the second for just above t, where they do not. Hulls grow with t: O(m log m).
    """
    m = v.size
    at, above = np.empty(m), np.empty(m)
    x, y = np.empty(m + 1), np.empty(m + 1)  # masses of non-events and of events before each cut of the hull
    x[0] = 0.0
    y[0] = 0.0
    size = np.int64(1)  # a literal would be a type of its own
    zeros, ones, zeros_lost, ones_lost = 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        t = v[i]
        gain = (1.0 - t) + share * (1.0 - t) * (1.0 - t)
        loss = t - share * t * t
        k = _cheapest(x, y, size, gain, loss)
        at[i] = gain * ((ones + ones_lost) - y[k]) - loss * ((zeros + zeros_lost) - x[k])
        zeros, zeros_lost = add(zeros, zeros_lost, others[i])
        ones, ones_lost = add(ones, ones_lost, events[i])
        a, b = zeros + zeros_lost, ones + ones_lost
        while size > 1 and (y[size - 1] - y[size - 2]) * (a - x[size - 1]) >= (b - y[size - 1]) * (
            x[size - 1] - x[size - 2]
        ):
            size -= 1
        x[size] = a
        y[size] = b
        size += 1
        k = _cheapest(x, y, size, gain, loss)
        above[i] = gain * (b - y[k]) - loss * (a - x[k])
    return at, above


@inner
def _cheapest(x: FloatArray, y: FloatArray, size: int, gain: float, loss: float) -> int:
    """Number of the corner of a convex chain, from left to right, at which gain * y - loss * x is least."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if gain * (y[middle + 1] - y[middle]) < loss * (x[middle + 1] - x[middle]):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def support(x: FloatArray, y: FloatArray, at: float) -> tuple[int, int]:
    """Numbers of the two points between which the least concave function above all lies at a place within their range.

    They are one and the same where it is a point's own; x does not decrease.
    """
    top = np.empty(x.size, np.int64)
    size = 0
    for i in range(x.size):
        while size > 0 and x[top[size - 1]] == x[i] and y[top[size - 1]] <= y[i]:
            size -= 1
        if size > 0 and x[top[size - 1]] == x[i]:
            continue
        while size > 1:
            a, b = top[size - 2], top[size - 1]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            size -= 1
        top[size] = i
        size += 1
    for k in range(size):
        if x[top[k]] == at or k == size - 1:
            return top[k], top[k]
        if x[top[k]] < at < x[top[k + 1]]:
            return top[k], top[k + 1]
    return -1, -1
