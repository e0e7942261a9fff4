"""Errors by kernels: of the residual in a Hilbert space, of K classes there, and of the residual that one smooths."""

from __future__ import annotations

__all__ = ["convolved_calibration_error", "kernel_calibration_error", "squared_canonical_kernel_error"]

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import generator, one_of, positive, positive_integer
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample, sorted_keys
from calibrant.door.special import cosines
from calibrant.kernels import pairs
from calibrant.kernels.canonical import pair_weights, paired_sum
from calibrant.kernels.spreading import spread
from calibrant.kernels.sums import dot
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.registry import register

Kernel = Literal["laplace", "gaussian"]

_REACH = 8.7  # exp(-8.7**2 / 2) < 2**-53: beyond so many bandwidths a Gaussian adds nothing to a double
_NODES = 20
_MANY_ROWS = 1 << 17
"""Rows from which on their keys are sorted by threads and summed as they are; fewer need no further kernel."""


def _from_sample(sample: Sample, kernel: Kernel = "laplace", bandwidth: float = 1.0, unbiased: bool = False) -> float:
    one_of(kernel, get_args(Kernel), "kernel")
    positive(bandwidth, "bandwidth")
    v, r = sample.prediction, sample.residual()
    square = pairs.laplace(v, r, float(bandwidth)) if kernel == "laplace" else _gaussian(v, r, float(bandwidth))
    if unbiased:
        return _unbiased(sample, square)
    return _root(square)


def _root(square: float) -> float:
    return math.sqrt(max(0.0, square))  # a sum of squares, so below zero only by rounding


def _gaussian(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Exact to rounding by the cheaper of two linear roads: the Fourier series for a wide kernel, else boxes."""
    span = float(v[-1] - v[0]) / bandwidth
    return _gaussian_fourier((v - v[0]) / bandwidth, r, span) if span < 16.0 else _gaussian_boxes(v, r, bandwidth)


def _gaussian_fourier(t: FloatArray, r: FloatArray, span: float) -> float:
    """Sum over pairs for t within [0, span], in bandwidths.

    On a circle of length span + reach the kernel's periodic images are below 2**-53, and so are the terms of its
    Fourier series from `terms` on; each term is a square, so nothing cancels.
    """
    length = span + _REACH
    power = np.empty(int(length * _REACH / (2.0 * math.pi)) + 2)
    frequency = 2.0 * math.pi / length
    pairs.fourier_power(t, r, frequency, power)
    coefficient = np.exp(-0.5 * (frequency * np.arange(power.size)) ** 2)
    coefficient[1:] *= 2.0
    return float(math.sqrt(2.0 * math.pi) / length * dot(coefficient, power))


def _gaussian_boxes(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Sum over pairs with the kernel interpolated between boxes at Chebyshev nodes, a number of steps linear in m.

    The n-th derivative of the Gaussian is at most 1.09 sqrt(n!) (Cramér's inequality) and a box at most two bandwidths
    wide, so n nodes err by at most 2.18 / (2**n sqrt(n!)), which is 1.4e-15 for n = 20, and by less than four times
    that in both variables (Lebesgue constant below 3).
    """
    mantissa, exponent = math.frexp(bandwidth)
    ratio = 1.0 / mantissa  # a box of 2**exponent holds between one and two bandwidths
    angle = math.pi * (np.arange(_NODES) + 0.5) / _NODES
    place = 0.5 * (1.0 + np.cos(angle))
    series = np.cos(np.outer(np.arange(_NODES), angle)) * (2.0 / _NODES)  # node values to Chebyshev coefficients
    series[0] *= 0.5
    boxes_apart = np.arange(math.ceil(_REACH / ratio) + 1.0)
    distance = ratio * (boxes_apart[:, None, None] + place - place[:, None])
    kernel = series @ np.exp(-0.5 * distance**2) @ series.T
    half = -exponent // 2  # the whole scale overflows for the smallest bandwidths
    scale, rescale = math.ldexp(1.0, half), math.ldexp(1.0, -exponent - half)
    return pairs.gaussian_boxes(v, r, scale, rescale, kernel, np.zeros(kernel.shape[:2]))


def _unbiased(sample: Sample, square: float) -> float:
    """Leave the products of rows with themselves, w**2 (y - v)**2, out of the square where pooled sums tell them."""
    v, total = sample.prediction, sample.total_weight
    squares = sample.squared_weight / total / total
    pairs_share = 1.0 - float(squares.sum())
    if sample.n_rows < 2 or pairs_share < 1e-12:
        raise InputError("unbiased", "needs at least two rows that carry weight; there is 1")
    zeros, ones, single = sample.weighted_outcome == 0.0, sample.ones == sample.count, sample.count == 1.0
    own = np.select([zeros, ones, single], [v**2 * squares, (1.0 - v) ** 2 * squares, sample.residual() ** 2])
    mixed = np.flatnonzero(~(zeros | ones | single))
    if mixed.size:
        if not sample.binary:
            raise InputError(
                "unbiased", f"needs outcomes of 0 or 1 where rows share a prediction (as at {v[mixed[0]]})"
            )
        # By Cauchy and Schwarz the squared weights of the ones add up to at least (their sum)**2 / count, and so do
        # those of the zeros: where weights are equal within each outcome, the two limits meet.
        share = sample.weighted_outcome[mixed] / total
        rest = sample.weight[mixed] / total - share
        least = share**2 / sample.ones[mixed]
        most = squares[mixed] - rest**2 / (sample.count - sample.ones)[mixed]
        slope = 1.0 - 2.0 * v[mixed]
        own[mixed] = v[mixed] ** 2 * squares[mixed] + slope * 0.5 * (least + most)
        doubt = 0.5 * np.abs(slope * (most - least))
        if doubt.sum() > 1e-12 * pairs_share:
            at = v[mixed[np.argmax(doubt)]]
            raise InputError(
                "unbiased", f"needs rows that share a prediction and outcome to weigh the same (as at {at})"
            )
    estimate = (square - float(own.sum())) / pairs_share
    return math.copysign(math.sqrt(abs(estimate)), estimate)


@register(
    _from_sample,
    sentence="How far errors of rows with similar predictions agree in sign.",
    definition="Root of the mean of (y - v) (y' - v') exp(-|v - v'|) over all pairs of rows, between 0 and 1.",
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition "
        "8.1, Claim 8.3, Theorems 8.5 and 8.6. Kumar, Sarawagi and Jain, Trainable calibration measures, ICML "
        "2018."
    ),
    symmetric=True,
    order=60,
)
def kernel_calibration_error(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    kernel: Kernel = "laplace",
    bandwidth: float = 1.0,
    unbiased: bool = False,
) -> float:
    """How far errors of rows with similar predictions agree in sign.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    kernel : {"laplace", "gaussian"}
        ``exp(-|u - v| / bandwidth)`` or ``exp(-(u - v)**2 / (2 * bandwidth**2))``. Only the Laplace kernel gives a
        consistent measure. For the Gaussian there are predictors whose kernel error is exponentially small, and their
        smooth calibration error only polynomially small (Theorem 8.6).
    bandwidth : float, default 1.0
        In probability units, positive. The paper's inequalities are for 1.
    unbiased : bool, default False
        Leave out each row's product with itself, so that the square is an unbiased estimate of the population's.

    Returns
    -------
    float
        Between 0 and 1. With ``unbiased=True`` the signed root, sign(s) * sqrt(|s|), of the unbiased estimate s of the
        square. It may be negative where the predictor is close to calibrated. The units are the same, and s = value *
        abs(value) is recovered without loss.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used. For ``unbiased=True`` also with a single row. Pooled rows that share
        a prediction must then have outcomes of 0 or 1, and the same weight within each outcome. Otherwise their
        products with themselves cannot be separated.

    See Also
    --------
    kernel_calibration_test, smooth_calibration_error

    Notes
    -----
    The square is the sum over i, j of w_i w_j (y_i - v_i) (y_j - v_j) K(v_i, v_j) / (sum w)**2 (Claim 8.3). Unbiased,
    the same sum over i != j, divided by (sum w)**2 - sum w**2. With the Laplace kernel, smooth calibration error /
    sqrt(2) <= kernel error <= root of the lower distance (docs/constants.md; docs/two-bin.md). The square is accurate
    to about 1e-14, so a value v to 1e-14 / v: the root magnifies rounding near zero. Cost: a sort, then O(m) for m
    distinct predictions and either kernel at any bandwidth.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 8.1,
    Claim 8.3, Theorems 8.5 and 8.6. Kumar, Sarawagi and Jain, Trainable calibration measures, ICML 2018.

    Examples
    --------
    >>> from calibrant import kernel_calibration_error
    >>> round(kernel_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.10036
    """
    columns = read_columns(y_true, y_prob, sample_weight)
    if kernel == "laplace" and not unbiased and sample_weight is None and columns[1].size >= _MANY_ROWS:
        keys = sorted_keys(*columns[:2])
        if keys is not None:
            return _root(pairs.laplace_of_keys(keys, float(positive(bandwidth, "bandwidth"))))
    return _from_sample(Sample.of_arrays(*columns), kernel, bandwidth, unbiased)


def squared_canonical_kernel_error(
    y_true: Column,
    y_prob: Column,
    *,
    bandwidth: float = 1.0,
    block_size: int = 2,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Estimate, without bias, the squared kernel error of whole vectors of class probabilities.

    Parameters
    ----------
    y_true : column of shape (n,), or (n, K) one-hot
        Labels, as `multiclass_sample` takes them.
    y_prob : table of shape (n, K)
        Class probabilities, rows adding up to 1.
    bandwidth : float, default 1.0
        Of the kernel exp(-|p - q| / bandwidth), |.| the Euclidean distance, times the identity matrix.
    block_size : int, default 2
        Rows are put at random into blocks of this many, and pairs are formed within blocks: 2 costs O(n K), n all
        pairs. The last block may be smaller.
    random_state : int, numpy.random.Generator or None
        Seed of the blocks; the order of the rows matters only for that.

    Returns
    -------
    float
        Mean over pairs of (e_y - p) . (e_y' - p') exp(-|p - p'| / bandwidth); near 0, and as often below as above,
        for canonically calibrated predictions. A squared probability.

    Raises
    ------
    InputError
        If a table or parameter cannot be used, or there is one row only.

    See Also
    --------
    canonical_kernel_test, kernel_calibration_error

    Notes
    -----
    Twice the squared error of the first class where K = 2, up to the bandwidth. Cost: O(n K block_size).

    References
    ----------
    D. Widmann, F. Lindsten and D. Zachariah, Calibration tests in multi-class classification: a unifying framework,
    NeurIPS 2019, Table 1 (quadratic and linear estimators).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import squared_canonical_kernel_error
    >>> table = np.random.default_rng(0).dirichlet(np.ones(3), 3000)
    >>> right = (np.random.default_rng(1).random(3000)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    >>> wrong = np.zeros(3000, int)
    >>> calibrated, off = (squared_canonical_kernel_error(y, table, random_state=0) for y in (right, wrong))
    >>> abs(calibrated) < 0.02 < off
    True
    """
    label, table, pairs = paired(multiclass_sample(y_true, y_prob), bandwidth, block_size, generator(random_state))
    return paired_sum(label, table, *pairs) / pairs[0].size


def paired(
    sample: MulticlassSample, bandwidth: float, block_size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, tuple[IntArray, IntArray, FloatArray, FloatArray]]:
    """Labels and probabilities in the order of their blocks, and the pairs within blocks with what each needs."""
    positive(bandwidth, "bandwidth")
    positive_integer(block_size, "block_size")
    if block_size < 2:
        raise InputError("block_size", f"is {block_size}; pairs need at least two rows per block")
    n = sample.y_true.size
    if n < 2:
        raise InputError("y_prob", "has one row; pairs need at least two")
    # Sorted first, so that only the dealing decides which rows meet.
    order = np.lexsort((sample.y_true, *sample.y_prob.T[::-1]))[rng.permutation(n)]
    ends = np.append(np.arange(block_size, n, block_size), n).astype(np.int64)
    table = np.ascontiguousarray(sample.y_prob[order])
    return sample.y_true[order], table, pair_weights(table, ends, float(bandwidth))


NODES_PER_BANDWIDTH = 32
"""A grid this fine keeps the error of spreading and of quadrature below 1e-6."""
_TERMS = 3.0
"""Terms of the cosine series, times the bandwidth, that are kept: the rest has decayed to 1e-19."""
_TAIL = 9.0
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
        nodes = np.zeros(cells + 1)
        spread(v, r, nodes)
        nodes[1:-1] /= 2.0  # scipy's transform counts inner nodes twice
        self._coefficient = cosines(nodes, nodes.size)

    def density(self, bandwidth: float) -> FloatArray:
        """Smoothed residual at the nodes of the coarsest grid that resolves the bandwidth."""
        cells = min(self._coefficient.size - 1, grid_size(bandwidth))
        terms = self._coefficient[: min(cells, int(np.ceil(_TERMS / bandwidth))) + 1]
        decay = np.exp(-0.5 * (np.pi * bandwidth * np.arange(terms.size)) ** 2)
        return cosines(terms * decay, cells + 1)

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

    A Gaussian ends `_TAIL` bandwidths from its prediction. So a wall there reflects nothing, and predictions twice as
    far apart do not meet: any larger gap may be as small as that. All of [0, 1] stays where little would go.
    """
    reach = _TAIL * bandwidth
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


def _convolved(sample: Sample, bandwidth: float | None = None) -> float:
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
    _convolved,
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
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
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
    return _convolved(Sample.from_columns(y_true, y_prob, sample_weight), bandwidth)
