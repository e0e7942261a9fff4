"""A metric for PyTorch-Ignite: ``pip install pytorch-ignite``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrant.integrations import check_measure, measured
from calibrant.lazily import optional

with optional("calibrant.integrations.ignite", "torch", "ignite"):
    import torch
    from ignite.metrics import EpochMetric
    from torch import Tensor


class CalibrationError(EpochMetric):  # type: ignore[misc]
    """A calibration error of all rows of an epoch, without bins.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Name of any registered measure, with its default parameters.
    output_transform : callable, optional
        Makes of an engine's output the pair (probabilities, labels): of shapes (n,) and (n,), or (n, K) and (n,), of
        which the top label counts.
    device : str or torch.device, default "cpu"
        Where rows are kept.

    Raises
    ------
    InputError
        If there is no such measure; at the end of the epoch, if its rows cannot be used.

    Notes
    -----
    It is an `EpochMetric`: all rows are kept, and workers' rows are put together.

    Examples
    --------
    >>> import torch
    >>> from calibrant.integrations.ignite import CalibrationError
    >>> metric = CalibrationError()
    >>> metric.update((torch.tensor([0.25, 0.75]), torch.tensor([1, 1])))
    >>> round(metric.compute(), 6)
    0.5
    """

    def __init__(
        self,
        measure: str = "smooth_calibration_error",
        output_transform: Callable[[Any], Any] = lambda output: output,
        device: str | torch.device = "cpu",
    ) -> None:
        self.measure = check_measure(measure)
        super().__init__(self._of_rows, output_transform=output_transform, check_compute_fn=False, device=device)

    def _of_rows(self, y_prob: Tensor, y_true: Tensor) -> float:
        return measured(self.measure, y_true.cpu(), y_prob.cpu())
