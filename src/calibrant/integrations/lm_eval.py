"""A metric for lm-evaluation-harness: a multiple-choice task that reports how calibrated its top choice is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.errors import InputError
from calibrant.integrations import check_measure, measured
from calibrant.lazily import optional

with optional("calibrant.integrations.lm_eval", "lm_eval"):
    from lm_eval.api.task import ConfigurableTask

_PASSED_ON = "likelihood"  # what the harness calls (right choice, log-likelihoods)


class CalibratedTask(ConfigurableTask):  # type: ignore[misc]
    """A multiple-choice task with calibration errors beside its own metrics.

    Parameters
    ----------
    data_dir, cache_dir, download_mode, config
        As for `lm_eval.api.task.ConfigurableTask`; the harness gives them.

    Raises
    ------
    InputError
        If there is no such measure, or the task is not one of multiple choice.

    Notes
    -----
    The confidence is the most probable choice's probability among all, which is right where ``acc`` says so: what
    ``calibrant audit`` reads from the samples that the harness logs.
    """

    # names of the registered measures that are reported, with their default parameters; a subclass may name others
    calibration_measures: tuple[str, ...] = ("smooth_calibration_error",)

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        own = {name: each for name, each in (config or {}).items() if name != "class"}  # which names this class
        super().__init__(data_dir, cache_dir, download_mode, own or None)
        if self.OUTPUT_TYPE != "multiple_choice":
            raise InputError("output_type", f"is {self.OUTPUT_TYPE!r}", allowed="it must be 'multiple_choice'")
        self._own_metrics = frozenset(self._metric_fn_list)
        self._metric_fn_list.setdefault(_PASSED_ON, None)
        for name in self.calibration_measures:
            self._aggregation_list[name] = partial(_of_choices, check_measure(name))
            self._higher_is_better[name] = False

    def process_results(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """Return the task's own metrics of a document, and for each measure (whether it is right, its confidence)."""
        metrics: dict[str, Any] = super().process_results(doc, results)
        gold, logs = metrics[_PASSED_ON]
        if _PASSED_ON not in self._own_metrics:
            del metrics[_PASSED_ON]
        choice = int(np.argmax(logs))
        right = choice in gold if isinstance(gold, list) else choice == gold
        confidence = 1.0 / float(np.exp(np.asarray(logs, np.float64) - max(logs)).sum())
        return {**metrics, **dict.fromkeys(self.calibration_measures, (float(right), confidence))}


def _of_choices(measure: str, items: Sequence[tuple[float, float]]) -> float:
    right, confidence = zip(*items, strict=True)
    return measured(measure, right, confidence)
