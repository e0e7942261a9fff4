"""A metric for torchmetrics: ``pip install torchmetrics``."""

from __future__ import annotations

from typing import Any

from calibrant.integrations import check_measure, measured, outcomes
from calibrant.lazily import optional

with optional("calibrant.integrations.torchmetrics", "torch", "torchmetrics"):
    import torch
    from torch import Tensor
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat


class CalibrationError(Metric):  # type: ignore[misc]
    """A calibration error of all rows, without bins, in a `MetricCollection` or by itself.

    Parameters
    ----------
    measure : str, default "smooth_calibration_error"
        Name of any registered measure, with its default parameters.
    **kwargs
        As for `torchmetrics.Metric`.

    Raises
    ------
    InputError
        If there is no such measure; from `update`, if a tensor cannot be used.

    Notes
    -----
    It keeps all rows, as torchmetrics' own calibration errors do, and workers' rows are put together;
    `calibrant.torch.CalibrationMetric` needs constant memory.

    Examples
    --------
    >>> import torch
    >>> from calibrant.integrations.torchmetrics import CalibrationError
    >>> metric = CalibrationError()
    >>> metric.update(torch.tensor([0.25, 0.75]), torch.tensor([1, 1]))
    >>> round(float(metric.compute()), 6)
    0.5
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    plot_lower_bound = 0.0
    y_prob: list[Tensor]
    y_true: list[Tensor]

    def __init__(self, measure: str = "smooth_calibration_error", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.measure = check_measure(measure)
        self.add_state("y_prob", default=[], dist_reduce_fx="cat")
        self.add_state("y_true", default=[], dist_reduce_fx="cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch: probabilities of shape (n,), or (n, K) whose top label counts, and labels (n,)."""
        y, v = outcomes(target.detach().cpu(), preds.detach().cpu())
        self.y_true.append(torch.from_numpy(y).to(target.device))
        self.y_prob.append(torch.from_numpy(v).to(preds.device))

    def compute(self) -> Tensor:
        """Return the measure of all rows."""
        y, v = (dim_zero_cat(each).cpu() for each in (self.y_true, self.y_prob))
        return torch.tensor(measured(self.measure, y, v), dtype=torch.float64)
