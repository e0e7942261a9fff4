"""Convolved calibration error (SmoothECE): the residual smoothed by a reflected Gaussian, in absolute value."""

from __future__ import annotations

__all__ = ["convolved_calibration_error"]

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.spreading import spread
from calibrant.measures.registry import register

FloatArray = npt.NDArray[np.float64]

NODES_PER_BANDWIDTH = 32
"""A grid this fine keeps the error of spreading and of quadrature below 1e-6."""
_TERMS = 3.0
"""Terms of the cosine series, times the bandwidth, that are kept: the rest has decayed to 1e-19."""
_REACH = 9.0
"""Bandwidths beyond which a Gaussian is below 1e-17 of its peak."""
_SAME = 1e-10
_SMALLEST_GRID, _LARGEST_GRID = 2**10, 2**22
_MANY_NODES = 2**15
"""A transform of more costs more than a look at all gaps between predictions."""


def grid_size(bandwidth: float) -> int:
    """Number of cells, a power of two, of a grid that resolves a bandwidth."""
    nodes = NODES_PER_BANDWIDTH / bandwidth
    return min(_LARGEST_GRID, max(_SMALLEST_GRID, 1 << int(np.ceil(np.log2(nodes)))))


class SmoothedResidual:
    """The residual of a sample on a grid, ready to be smoothed at any bandwidth that the grid resolves.

    Smoothing with a Gaussian that is reflected at 0 and 1 is the heat equation with insulated walls: in the
    cosine series each term only decays, by exp(-(pi k bandwidth)**2 / 2).
    """

    def __init__(self, v: FloatArray, r: FloatArray, cells: int) -> None:
        from scipy.fft import dct

        nodes = np.zeros(cells + 1)
        spread(v, r, nodes)
        nodes[1:-1] /= 2.0  # scipy's transform counts inner nodes twice
        self._dct = dct
        self._coefficient = dct(nodes, type=1)

    def density(self, bandwidth: float) -> FloatArray:
        """Smoothed residual at the nodes of the coarsest grid that resolves the bandwidth."""
        cells = min(self._coefficient.size - 1, grid_size(bandwidth))
        terms = self._coefficient[: min(cells, int(np.ceil(_TERMS / bandwidth))) + 1]
        decay = np.exp(-0.5 * (np.pi * bandwidth * np.arange(terms.size)) ** 2)
        return np.asarray(self._dct(terms * decay, type=1, n=cells + 1))

    def error(self, bandwidth: float) -> float:
        """Integral of its absolute value."""
        return _integral_of_absolute(self.density(bandwidth))


def _integral_of_absolute(f: FloatArray) -> float:
    """Integrate |f| over [0, 1] from a smooth f with flat ends.

    The trapezoid rule is spectrally accurate for such f; |f| has kinks where f crosses zero. A kink of slope s at
    fraction x of a cell of width h adds s h**2 (x (1 - x) - 1/6) to the rule (Euler-Maclaurin), which is taken out.
    """
    h = 1.0 / (f.size - 1)
    size = np.abs(f)
    trapezoid = h * (size.sum() - 0.5 * (size[0] + size[-1]))
    crossing = np.flatnonzero((f[1:] < 0.0) != (f[:-1] < 0.0))
    rise = size[crossing] + size[crossing + 1]
    x = size[crossing] / rise
    return float(trapezoid - (rise * h * (x * (1.0 - x) - 1.0 / 6.0)).sum())


def closer(v: FloatArray, bandwidth: float) -> tuple[FloatArray, float]:
    """Sorted predictions on [0, 1] once what none reaches at a bandwidth is cut out, and the length of what is left.

    A Gaussian ends `_REACH` bandwidths from its prediction. So a wall there reflects nothing, and predictions twice as
    far apart do not meet: any larger gap may be as small as that. All of [0, 1] stays where little would go.
    """
    reach = _REACH * bandwidth
    start, end = max(0.0, float(v[0]) - reach), min(1.0, float(v[-1]) + reach)
    length = end - start
    if length * NODES_PER_BANDWIDTH > _MANY_NODES * bandwidth:
        beyond = np.diff(v)
        beyond -= 2.0 * reach
        np.maximum(beyond, 0.0, out=beyond)
        cut = float(beyond.sum())
        if cut > 0.5 * length:
            v, length = np.append(v[:1], v[1:] - np.cumsum(beyond)), length - cut
    return (np.minimum((v - start) / length, 1.0), length) if length <= 0.5 else (v, 1.0)


def fixed_point(v: FloatArray, r: FloatArray) -> float:
    """Bandwidth that equals the error at that bandwidth; the error falls as the bandwidth grows, so there is one."""
    cells, high = _SMALLEST_GRID, min(1.0, float(np.abs(r).sum()))  # the error at any bandwidth is at most the sum
    near, length = closer(v, high)
    while True:
        residual = SmoothedResidual(near, r, cells)
        low = NODES_PER_BANDWIDTH / cells * length
        at_low = residual.error(low / length)
        if at_low >= low:
            break
        if cells == _LARGEST_GRID:
            return at_low  # the fixed point lies between this and the finest bandwidth, 8e-6
        # The fixed point is below this bandwidth and not below the error there: look closer, or jump to a finer grid.
        high, before = min(high, low), length
        near, length = closer(v, high)
        if length > 0.5 * before:
            cells = min(_LARGEST_GRID, max(8 * cells, grid_size(max(at_low, 1e-9) / length)))
    high = min(high, at_low)  # the error at any larger bandwidth is no more than at_low
    if residual.error(high / length) >= high:
        return high
    return _crossing(lambda s: residual.error(s / length) - s, low, high)


def _crossing(spare: Callable[[float], float], low: float, high: float) -> float:
    """Find a zero of a function that is not negative at the low end and negative at the high one.

    It falls by at least as much as its argument grows, so that a value of `_SAME` is found no farther away than that.
    Secants; the value at an end that stays twice is halved (the Illinois rule).
    """
    at, value = low, spare(low)
    left, right = value, spare(high)
    while abs(value) > _SAME and high - low > _SAME:
        before, at = value, high - right * (high - low) / (right - left)
        value = spare(at)
        stayed = 0.5 if (value > 0.0) == (before > 0.0) else 1.0
        if value > 0.0:
            low, left, right = at, value, stayed * right
        else:
            high, right, left = at, value, stayed * left
    return at


def _from_sample(sample: Sample, bandwidth: float | None = None) -> float:
    v, r = sample.prediction, sample.residual()
    if bandwidth is not None and positive(bandwidth, "bandwidth") < 1e-5:
        raise InputError("bandwidth", f"is {bandwidth!r}; it must be at least 1e-5, the finest grid's resolution")
    # The Gaussian keeps mass, so that the error lies between these at any bandwidth; residuals of one sign add up.
    least, most = abs(float(r.sum())), float(np.abs(r).sum())
    if most - least <= _SAME:
        return least
    if bandwidth is None:
        return fixed_point(v, r)
    near, length = closer(v, bandwidth)
    narrow = bandwidth / length
    return SmoothedResidual(near, r, grid_size(narrow)).error(narrow)


@register(
    _from_sample,
    sentence="Average size of the error after smoothing it over predictions, at a bandwidth equal to the error itself.",
    definition=(
        "Integral over t in [0, 1] of |mean of (y - v) phi(t - v)|, with a Gaussian phi reflected at 0 and 1. "
        "Accurate to 1e-6; a fixed point below 8e-6 is returned to that absolute accuracy."
    ),
    source=(
        "Błasiok and Nakkiran, Smooth ECE: principled reliability diagrams via kernel smoothing, ICLR 2024. Hu, "
        "Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 9 and "
        "Lemma 25."
    ),
    symmetric=True,
    order=70,
)
def convolved_calibration_error(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, bandwidth: float | None = None
) -> float:
    """Average size of the error after smoothing it over predictions, at a bandwidth equal to the error itself.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    bandwidth : float, optional
        Standard deviation of the Gaussian, in probability units, at least 1e-5. By default the fixed point at which
        it equals the error.

    Returns
    -------
    float
        Integral over t in [0, 1] of |mean of (y - v) phi(t - v)|, with a Gaussian phi reflected at 0 and 1. Accurate
        to 1e-6; a fixed point below 8e-6 is returned to that absolute accuracy.

    Raises
    ------
    InputError
        If a column or the bandwidth cannot be used; the message says what is allowed.

    See Also
    --------
    smooth_calibration_error, kernel_calibration_error

    Notes
    -----
    Known as SmoothECE. Lower distance / 2 <= error (Lemma 25) <= 0.5 (d + sqrt(d^2 + 3.2 d)), d being the lower
    distance (docs/constants.md). Residuals are spread on a grid of at least 32 nodes per bandwidth. Cosine transforms
    smooth them, one for each step of the root finder. No mesh error remains at kinks. Since the error falls with the
    bandwidth, the fixed point moves by no more than the error does. Only the range within nine bandwidths of a
    prediction counts, so that rare events cost no more than common ones. Cost: O(m) after the sort for m distinct
    predictions, and transforms of about 32 nodes per bandwidth of that range. That is 8 to 25 ms in all at 10**6.
    Residuals of one sign add up at any bandwidth, in one pass.

    References
    ----------
    Błasiok and Nakkiran, Smooth ECE: principled reliability diagrams via kernel smoothing, ICLR 2024. Hu, Jambulapati,
    Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 9 and Lemma 25.

    Examples
    --------
    >>> from calibrant import convolved_calibration_error
    >>> round(convolved_calibration_error([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5]), 6)
    0.25
    >>> round(convolved_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bandwidth=0.1), 6)
    0.226894
    """
    return _from_sample(Sample.from_columns(y_true, y_prob, sample_weight), bandwidth)
