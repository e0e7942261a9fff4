"""The plan of a T-Cal test, whether it can be done, and the result."""

from __future__ import annotations

__all__ = ["TCalResult"]

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import check_level, check_number, one_of, positive
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.door.values import counted
from calibrant.inference.testing.result import TestResult
from calibrant.inference.testing.tcal_scales import dyadic_scales, smooth_scale

CriticalValue = Literal["label_resampling", "consistency_resampling", "theorem"]
Correction = Literal["joint", "bonferroni"]


@dataclass(frozen=True, repr=False)
class TCalResult(TestResult):
    """The outcome of `tcal_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`; the statistic is that of the scale with the smallest p-value, in squared probability.
    scales : tuple of int
        Bins per unit that were looked at: 2, 4, ..., 2^B in the adaptive test, one number where smoothness is known.
    statistics : tuple of float
        Debiased plug-in estimate of the squared l2 calibration error at each scale.
    pvalues : tuple of float
        p-value at each scale, before the correction for their number.
    n_resamples : int
        Resamples behind each p-value; 0 with critical values from the theorem.
    by_class : tuple of TCalResult
        Results for each class, at the level divided by their number, in the class-wise reduction; empty otherwise.

    See Also
    --------
    tcal_test
    """

    scales: tuple[int, ...]
    statistics: tuple[float, ...]
    pvalues: tuple[float, ...]
    n_resamples: int
    by_class: tuple[TCalResult, ...] = ()


@dataclass(frozen=True)
class TCalPlan:
    """Arguments of a test besides its rows; InputError if it cannot be done."""

    level: float
    n_resamples: int
    smoothness: float | None = None
    critical_value: CriticalValue = "label_resampling"
    null_error: float = 0.0
    correction: Correction = "joint"

    def __post_init__(self) -> None:
        """Check every option."""
        one_of(self.critical_value, get_args(CriticalValue), "critical_value")
        one_of(self.correction, get_args(Correction), "correction")
        object.__setattr__(self, "n_resamples", check_number(self.n_resamples))
        if self.smoothness is not None:
            positive(self.smoothness, "smoothness")
        if self.null_error != 0.0:
            positive(self.null_error, "null_error")
            if self.critical_value != "theorem":
                problem = "above 0 needs critical_value='theorem'; resampling knows calibration only"
                raise InputError("null_error", problem)
        object.__setattr__(self, "level", check_level(self.level))


def scales_of(n: int, n_classes: int, plan: TCalPlan) -> tuple[int, ...]:
    """Bins per unit that are looked at."""
    if n == 1:
        raise InputError("y_prob", "has one row; T-Cal needs rows that share a bin. Use discrete_calibration_test")
    if plan.smoothness is None:
        return dyadic_scales(n, n_classes)
    return (smooth_scale(n, n_classes, plan.smoothness),)


def enough_resamples(plan: TCalPlan, scales: tuple[int, ...]) -> int:
    """Return how many resamples are asked for; InputError if they cannot reject at all."""
    shares = len(scales) if plan.correction == "bonferroni" else 1
    least = math.ceil(shares / plan.level - 1e-9) - 1
    if plan.n_resamples < least:
        raise InputError(
            "n_resamples",
            f"is {plan.n_resamples:,}; with {shares} scales corrected for, a p-value can only reach level "
            f"{plan.level:g} with at least {least:,} resamples",
        )
    return plan.n_resamples


def result_of(
    plan: TCalPlan,
    scales: tuple[int, ...],
    statistics: FloatArray,
    pvalues: FloatArray,
    joint: float | None,
    n_resamples: int,
) -> TCalResult:
    """Result of statistics and p-values at each scale; Bonferroni's unless there is a joint one."""
    best = int(np.argmin(pvalues))
    pvalue = min(1.0, len(scales) * float(pvalues[best])) if joint is None else joint
    return TCalResult(
        statistic=float(statistics[best]),
        pvalue=pvalue,
        reject=pvalue <= plan.level,
        level=plan.level,
        method=_method(plan, scales),
        scales=scales,
        statistics=tuple(statistics.tolist()),
        pvalues=tuple(pvalues.tolist()),
        n_resamples=n_resamples,
    )


def check_applies(n_distinct: int, n: int, n_classes: int, shared: bool, plan: TCalPlan) -> None:
    """Refuse predictions that take few values, and scales at which no two rows meet."""
    if n_distinct <= len(dyadic_scales(n, n_classes)):
        raise InputError(
            "y_prob",
            f"holds {counted(n_distinct, 'distinct prediction')}; T-Cal is for predictions that vary continuously"
            ". Use discrete_calibration_test, which tests each value exactly",
        )
    if not shared:
        if plan.smoothness is None:
            advice = "Use reduction='top_label' or 'class_wise', or more rows"
        else:
            advice = "Raise the smoothness, or leave it out for the adaptive test"
        name = "y_prob" if plan.smoothness is None else "smoothness"
        raise InputError(name, f"leaves no two of {n:,} rows in one bin: nothing to test. {advice}")


def _method(plan: TCalPlan, scales: tuple[int, ...]) -> str:
    how = {
        "label_resampling": "labels redrawn",
        "consistency_resampling": "rows and labels redrawn",
        "theorem": "critical value of the theorem",
    }[plan.critical_value]
    if plan.null_error:
        how += f", l2 error up to {plan.null_error:g} allowed"
    if plan.smoothness is None:
        return f"adaptive T-Cal ({len(scales)} scales, {how})"
    return f"T-Cal (smoothness {plan.smoothness:g}, {scales[0]} bins per unit, {how})"
