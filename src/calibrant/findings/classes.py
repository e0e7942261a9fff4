"""What an audit adds for K classes: the other questions than the top label's, and tests of whole vectors."""

from __future__ import annotations

__all__ = ["ClassFindings", "Question"]

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES
from calibrant.door.classes import BinaryReduction, MulticlassSample
from calibrant.door.outwards import rounded_up
from calibrant.door.values import ReadOnly, Result, counted
from calibrant.findings.evidence import Evidence, where_it_applies
from calibrant.inference.canonical import canonical_kernel_test_on_classes
from calibrant.inference.tcal import tcal_test_on_classes
from calibrant.inference.tcal_plan import TCalPlan, TCalResult
from calibrant.kernels.sums import dot
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import smooth_error_from_sample

_TOP = (2, 3, 5)
_MOST_CLASSES = 50
_TOLERANCE = 1e-5
_RESAMPLES = 3000  # of T-Cal, as where it is called by itself


@dataclass(frozen=True, slots=True, repr=False)
class Question(Result):
    """One yes-or-no question about the classes.

    Attributes
    ----------
    name : str
        "top 3 labels", "class cat".
    rate, mean_prediction : float
        How often the answer was yes, and the mean probability of it.
    smooth_calibration_error, lower_calibration_distance : float
        Of the question's probabilities; the distance at most 1e-5 too high.
    pvalue : float or None
        Of T-Cal for a single class, corrected for the number of classes; None where it was not run.

    See Also
    --------
    ClassFindings, MulticlassSample
    """

    name: str
    rate: float
    mean_prediction: float
    smooth_calibration_error: float
    lower_calibration_distance: float
    pvalue: float | None

    def summary(self) -> str:
        """Say how far it is from calibrated."""
        distance, smooth = rounded_up(self.lower_calibration_distance), f"{self.smooth_calibration_error:.6g}"
        off = f"lower distance {distance}, smooth error {smooth}"
        return f"{self.name}: {off}; the answer was yes in {self.rate:.4g} of the weight."


@dataclass(frozen=True, slots=True, repr=False)
class ClassFindings(Result):
    """What was found about K classes beyond the top label, which the rest of the audit is about.

    Attributes
    ----------
    n_classes : int
        K.
    questions : tuple of Question
        The top 2, 3 and 5 labels, then every class (of more than 50, the 50 that occur most).
    tests : mapping of str to Evidence
        Tests of whole vectors, and of all classes one by one.

    See Also
    --------
    Audit, Question, MulticlassSample
    """

    n_classes: int
    questions: tuple[Question, ...]
    tests: Mapping[str, Evidence]

    def __post_init__(self) -> None:
        """Keep the mapping from being written to."""
        object.__setattr__(self, "tests", ReadOnly(self.tests))

    def summary(self) -> str:
        """Say how many classes are off, where that was tested."""
        return (
            " ".join(self.sentences()) or f"{counted(len(self.questions), 'question')} about {self.n_classes} classes."
        )

    def sentences(self) -> list[str]:
        """What the verdict says of the classes."""
        found = self.tests["tcal_test, class_wise"].result
        if found is None:
            return []
        off = [each for each in self.questions if each.pvalue is not None and each.pvalue <= found.level]
        if not off:
            return [f"No single class of {self.n_classes} is found miscalibrated."]
        worst = max(off, key=lambda each: each.lower_calibration_distance)
        return [
            f"{len(off)} of {self.n_classes} classes are miscalibrated one by one (T-Cal, family-wise level "
            f"{found.level:g}), {worst.name} farthest, by {worst.lower_calibration_distance:.4f}."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain words and numbers."""
        return {
            "n_classes": self.n_classes,
            "questions": [asdict(question) for question in self.questions],
            "tests": {name: test.to_dict() for name, test in self.tests.items()},
        }


def class_findings(sample: MulticlassSample, level: float, resample: bool, seed: int) -> ClassFindings:
    """Ask every question, and run the tests of all classes together."""
    order = np.lexsort((sample.y_true, *sample.y_prob.T[::-1]))  # the order of the rows must not matter
    ordered, n = sample.take(order), order.size
    weighted, k = sample.sample_weight is not None, sample.n_classes
    why_not = "no resamples were asked for" if not resample else "tests need unweighted rows" if weighted else None
    runs: dict[str, tuple[str, Callable[[], Any]]] = {
        "tcal_test, class_wise": (
            "T-Cal, class by class",
            partial(
                tcal_test_on_classes, ordered, TCalPlan(level, _resamples(n, k, level)), seed, reduction="class_wise"
            ),
        ),
        "tcal_test, canonical": (
            "T-Cal of whole vectors",
            partial(tcal_test_on_classes, ordered, TCalPlan(level, _RESAMPLES), seed),
        ),
        "canonical_kernel_test": (
            "Kernel test of whole vectors",
            partial(canonical_kernel_test_on_classes, ordered, level=level, n_resamples=N_RESAMPLES, random_state=seed),
        ),
    }
    tests = {}
    for name, (title, run) in runs.items():
        too_many = f"above {_MOST_CLASSES} classes" if k > _MOST_CLASSES else None
        reason = why_not or too_many
        tests[name] = Evidence(title, None, reason) if reason else where_it_applies(title, run)
    by_class = tests["tcal_test, class_wise"].result
    pvalues = [min(1.0, k * r.pvalue) for r in by_class.by_class] if isinstance(by_class, TCalResult) else None
    asked = [_question(sample.top_k(top), None) for top in _TOP if top < k]
    counts = np.bincount(sample.y_true, minlength=k)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    questions = sample.class_wise()
    asked += [_question(questions[i], None if pvalues is None else pvalues[i]) for i in shown]
    return ClassFindings(k, tuple(asked), tests)


def _resamples(n: int, k: int, level: float) -> int:
    """Enough for a p-value at the level, split between classes and some scales; no fewer than usual."""
    return int(max(_RESAMPLES, np.ceil(2.0 * k * (2.0 * np.log2(max(n, 2)) + 2.0) / level)))


def _question(question: BinaryReduction, pvalue: float | None) -> Question:
    sample = question.sample
    mean = dot(sample.mass(), sample.prediction)
    return Question(
        question.name,
        min(1.0, max(0.0, mean + float(sample.residual().sum()))),
        min(1.0, mean),
        smooth_error_from_sample(sample),
        float(lower_certificate_from_sample(sample, tol=_TOLERANCE).upper),
        pvalue,
    )
