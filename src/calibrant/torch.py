"""PyTorch: calibration errors that can be minimised, and a metric built on the sketch.

Needs torch, which calibrant does not install by itself: ``pip install calibrant[torch]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.door.arguments import positive
from calibrant.door.columns import FloatArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.slopes import gap_prices, one_sided
from calibrant.kernels.sums import dot
from calibrant.lazily import optional
from calibrant.measures.registry import measures
from calibrant.measures.smooth import witness_from_sample
from calibrant.sketch.sketch import CalibrationSketch

with optional("calibrant.torch", "torch"):
    import torch
    from torch import Tensor


def smooth_calibration_loss(y_prob: Tensor, y_true: Tensor) -> Tensor:
    """Return the smooth calibration error as a scalar that can be minimised.

    Parameters
    ----------
    y_prob : tensor of shape (n,)
        Predicted probabilities, in [0, 1], with or without a gradient.
    y_true : tensor of shape (n,)
        Outcomes, 0 or 1.

    Returns
    -------
    tensor
        The error; its gradient is that of its linear program: minus the witness at each prediction, and the dual flow
        through the gaps between neighbours.

    Raises
    ------
    InputError
        If a tensor cannot be used.

    Notes
    -----
    Exact, O(n log n), computed on the CPU, on any device. The error is convex in the outcomes, not in the
    predictions; where two witnesses are optimal the gradient is one of theirs. Add it to a proper loss: by itself it is
    minimised by predicting the mean.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Section 3.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import smooth_calibration_loss
    >>> logit = torch.zeros(4, requires_grad=True)
    >>> smooth_calibration_loss(torch.sigmoid(logit), torch.tensor([1.0, 1.0, 1.0, 0.0])).backward()
    >>> bool((logit.grad < 0).all())
    True
    """
    return torch.as_tensor(_SmoothError.apply(y_prob, y_true))


def kernel_calibration_loss(y_prob: Tensor, y_true: Tensor, *, bandwidth: float = 1.0) -> Tensor:
    """Return the squared Laplace-kernel calibration error as a scalar that can be minimised.

    Parameters
    ----------
    y_prob, y_true : tensor of shape (n,)
        As for `smooth_calibration_loss`.
    bandwidth : float, default 1.0
        Of the kernel exp(-|u - v| / bandwidth).

    Returns
    -------
    tensor
        The square of `kernel_calibration_error`, with its gradient.

    Raises
    ------
    InputError
        If a tensor or the bandwidth cannot be used.

    Notes
    -----
    Exact, O(n log n) for n^2 pairs, computed on the CPU, on any device.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Section 8.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import kernel_calibration_loss
    >>> round(float(kernel_calibration_loss(torch.tensor([0.2, 0.2]), torch.tensor([0.0, 1.0]))), 6)
    0.09
    """
    positive(bandwidth, "bandwidth")
    return torch.as_tensor(_KernelError.apply(y_prob, y_true, float(bandwidth)))


class CalibrationMetric:
    """A calibration error of everything seen since the last reset, in constant memory.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Any measure that has a bound on sketches.
    resolution : int, default 65536
        Of the sketch.

    Raises
    ------
    InputError
        If there is no such measure, or it has no bound on sketches.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import CalibrationMetric
    >>> metric = CalibrationMetric()
    >>> for _ in range(3):
    ...     metric.update(torch.tensor([0.25, 0.75]), torch.tensor([1, 1]))
    >>> round(float(metric.compute()), 6)
    0.5
    """

    def __init__(self, measure: str = "smooth_calibration_error", resolution: int = 65536) -> None:
        if measure not in measures():
            raise InputError("measure", f"is {measure!r:.60}; it must be one of {', '.join(measures())}")
        self.measure, self.resolution = measure, resolution
        CalibrationSketch(resolution).update([0, 0], [0.3, 0.3 + 1e-9]).error_bound(measure)  # raises without one
        self.sketch = CalibrationSketch(resolution)

    def update(self, y_prob: Tensor, y_true: Tensor) -> None:
        """Add a batch."""
        y, v = _columns(y_prob, y_true)
        self.sketch.update(y, v)

    def compute(self) -> Tensor:
        """Return the error of all batches, within ``sketch.error_bound(measure)`` of that of their rows."""
        measure = measures()[self.measure]
        return torch.tensor(measure.on_sample(self.sketch.sample, **measure.parameters), dtype=torch.float64)

    def merge(self, other: CalibrationMetric) -> CalibrationMetric:
        """Add what another metric, of another worker, has seen."""
        self.sketch = self.sketch + other.sketch
        return self

    def reset(self) -> None:
        """Forget everything."""
        self.sketch = CalibrationSketch(self.resolution)


class _SmoothError(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, y_prob: Tensor, y_true: Tensor) -> Tensor:
        y, v = _columns(y_prob, y_true)
        sample = Sample.from_columns(y, v)
        witness = witness_from_sample(sample)
        price = gap_prices(sample.prediction, sample.residual(), np.ascontiguousarray(witness.heights))
        moved = (np.concatenate([[0.0], price]) - np.concatenate([price, [0.0]])) / sample.count
        slope = moved[np.searchsorted(sample.prediction, v)] - witness(v) / v.size
        ctx.save_for_backward(_like(slope, y_prob))
        return y_prob.new_tensor(witness.value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None


class _KernelError(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, y_prob: Tensor, y_true: Tensor, bandwidth: float) -> Tensor:
        y, v = _columns(y_prob, y_true)
        order = np.argsort(v, kind="stable")
        p, r = v[order], (y - v)[order] / v.size
        below = one_sided(p, r, bandwidth)
        above = one_sided(-p[::-1], np.ascontiguousarray(r[::-1]), bandwidth)[::-1]
        every = below + above + r  # sum over rows j of r[j] k(p[i], p[j])
        slope = np.empty(v.size)
        slope[order] = -2.0 * every / v.size + 2.0 * r * (above - below) / bandwidth
        ctx.save_for_backward(_like(slope, y_prob))
        return y_prob.new_tensor(max(0.0, dot(r, every)))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


def _columns(y_prob: Tensor, y_true: Tensor) -> tuple[FloatArray, FloatArray]:
    outcome, prediction, _ = read_columns(y_true.detach().cpu(), y_prob.detach().cpu(), None)
    return outcome, prediction


def _like(values: FloatArray, tensor: Tensor) -> Tensor:
    return torch.from_numpy(values).to(dtype=tensor.dtype, device=tensor.device)
