"""A metric for Hugging Face's evaluate, loaded as a local module: ``evaluate.load(hf_evaluate.__file__)``."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from calibrant.integrations import check_measure, measured

_LABELS = datasets.Value("int64")
_FEATURES = [
    datasets.Features({"predictions": datasets.Value("float64"), "references": _LABELS}),
    datasets.Features({"predictions": datasets.Sequence(datasets.Value("float64")), "references": _LABELS}),
]


class CalibrationError(evaluate.Metric):  # type: ignore[misc]
    """A calibration error of all rows, without bins, under the measure's own name.

    `config_name`, an argument of `evaluate.load`, names any registered measure, with its default parameters; without it
    the measure is `smooth_calibration_error`.

    Raises
    ------
    InputError
        If there is no such measure, or rows cannot be used.

    Notes
    -----
    Predictions are probabilities of an event, or rows of class probabilities, whose top label counts.
    """

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description="A calibration error that is exact: it needs no bins.",
            citation="Blasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023.",
            inputs_description="predictions: probabilities, or a row of them for each case; references: labels.",
            features=_FEATURES,
        )

    def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
        name = "smooth_calibration_error" if self.config_name == "default" else check_measure(self.config_name)
        return {name: measured(name, references, predictions)}
