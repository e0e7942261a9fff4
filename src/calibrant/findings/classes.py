"""Parts of an audit of K classes: the questions besides the top label's, and tests of whole vectors."""

from __future__ import annotations

__all__ = ["ClassFindings", "Confusion", "ConfusionTable", "Question"]

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES
from calibrant.door.classes import BinaryReduction, MulticlassSample, drawn_rows
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval, rounded_up
from calibrant.door.values import ReadOnly, Result, counted, plain
from calibrant.findings import word_catalogue as say
from calibrant.findings.decision import State, default_limit
from calibrant.findings.evidence import Evidence, where_it_applies
from calibrant.inference.bounds.gate import calibration_gate_on_sample
from calibrant.inference.testing.class_wise import (
    ClassWiseResult,
    canonical_kernel_test_on_classes,
    evidence_of,
    gathered,
    most_involved,
    pair_counts,
    pair_pvalues,
)
from calibrant.inference.testing.tcal import TCalPlan, tcal_test_on_classes
from calibrant.kernels.sums import dot
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import smooth_error_from_sample

_TOP = (2, 3, 5)
_MOST_TCAL = 50
_TOLERANCE = 1e-5
_RESAMPLES = 3000  # of T-Cal, as where it is called by itself
# Probabilities above which whole vectors are tested on some rows, drawn at random.
_MOST_VALUES = 2_000_000
_MOST_SHOWN, _MOST_PAIRS = 40, 100


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
    pvalue : float
        Of the hypothesis that they are calibrated, for this question alone, as in `class_wise_test`.
    qvalue : float or None
        Of a class, the same adjusted for the number of classes; None for the top labels.
    direction : str or None
        Where the evidence is strongest: "too high", "too low", "too confident" or "not confident enough"; None if
        nowhere.
    bias_interval : Interval or None
        Holds the mean difference of true and predicted probability, each end at half the level for this question alone.
        None for rows with weights or in groups.

    See Also
    --------
    ClassFindings, MulticlassSample
    """

    name: str
    rate: float
    mean_prediction: float
    smooth_calibration_error: float
    lower_calibration_distance: float
    pvalue: float
    qvalue: float | None
    direction: str | None
    bias_interval: Interval | None

    def summary(self) -> str:
        """Say how far it is from calibrated."""
        distance, smooth = rounded_up(self.lower_calibration_distance), f"{self.smooth_calibration_error:.6g}"
        off = f"lower distance {distance}, smooth error {smooth}"
        return say.QUESTION.format(name=self.name, off=off, rate=self.rate)


@dataclass(frozen=True, slots=True, repr=False)
class Confusion(Result):
    """A pair of classes, predicted and true, that occurs more or less often than predicted.

    Attributes
    ----------
    said, was : str
        The most probable class, and the class that rows are of; they may be the same.
    n_rows : int
        Rows for which the first is the most probable class.
    n_expected : float
        How many of them would be of the second: the sum of their probabilities of it.
    n_observed : int
        How many are.
    pvalue, qvalue : float
        By binomial tails, for this pair alone and adjusted for the number of all pairs.

    See Also
    --------
    ClassFindings
    """

    said: str
    was: str
    n_rows: int
    n_expected: float
    n_observed: int
    pvalue: float
    qvalue: float

    def summary(self) -> str:
        """Say what was expected, and what was seen."""
        of = "right" if self.said == self.was else f"class {self.was}"
        rows = counted(self.n_rows, "row")
        n = self.n_expected
        expected = f"where {f'{n:,.0f}' if n >= 100.0 else f'{n:.3g}'} were expected"
        return f"{self.n_observed:,} of {rows} called class {self.said} were {of}, {expected}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfusionTable(Result):
    """The pairs of the classes that the evidence is about, at most 40 of them.

    Attributes
    ----------
    names : tuple of str
        The classes.
    excess : ndarray of shape (m, m)
        Rows seen less those expected, by most probable class and by the row's own.
    evidence : ndarray of shape (m, m)
        Minus the logarithm (base 10) of each pair's p-value, below 0 where fewer were seen than expected.

    See Also
    --------
    ClassFindings, Confusion
    """

    names: tuple[str, ...]
    excess: FloatArray
    evidence: FloatArray

    def summary(self) -> str:
        """Say what it is of."""
        of = counted(len(self.names), "class", "classes")
        return say.CONFUSIONS.format(classes=of)

    def _table(self) -> Any:
        """One row a pair of classes."""
        pairs = [(i, j) for i in range(len(self.names)) for j in range(len(self.names))]
        return {
            "said": [self.names[i] for i, _ in pairs],
            "was": [self.names[j] for _, j in pairs],
            "excess": self.excess.ravel(),
            "evidence": self.evidence.ravel(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class ClassFindings(Result):
    """Findings about K classes beyond the top label, which the rest of the audit is about.

    Attributes
    ----------
    n_classes : int
        K.
    questions : tuple of Question
        The top 2, 3 and 5 labels, then every class.
    tests : mapping of str to Evidence
        Tests of all classes one by one, and of whole vectors.
    state : str or None
        What the single classes show. "worth correcting": one is found whose error is not proved too small to matter.
        "too small to matter": the errors of all that are found are. None if none is found.
    confusions : tuple of Confusion
        Pairs of predicted and actual class that err, the clearest first, at most 100.
    n_confusions : int or None
        How many pairs err; None where rows are weighted or in groups, and pairs were not counted.
    confusion_table : ConfusionTable or None
        The pairs of the classes that the evidence is about.

    See Also
    --------
    Audit, Question, MulticlassSample
    """

    _parts = "questions"
    n_classes: int
    questions: tuple[Question, ...]
    tests: Mapping[str, Evidence]
    state: State | None = None
    confusions: tuple[Confusion, ...] = ()
    n_confusions: int | None = None
    confusion_table: ConfusionTable | None = None

    def __post_init__(self) -> None:
        """Keep the mapping from being written to."""
        object.__setattr__(self, "tests", ReadOnly(self.tests))

    @property
    def class_wise(self) -> tuple[Question, ...]:
        """The classes, in the order of their columns."""
        return self.questions[-self.n_classes :]

    @property
    def found(self) -> tuple[Question, ...]:
        """Classes that are found miscalibrated, the plainest first."""
        level = self._result.level
        off = (each for each in self.class_wise if each.qvalue is not None and each.qvalue <= level)
        return tuple(sorted(off, key=lambda each: (each.pvalue, -each.lower_calibration_distance)))

    @property
    def _result(self) -> ClassWiseResult:
        result = self.tests["class_wise_test"].result
        assert isinstance(result, ClassWiseResult)
        return result

    def summary(self) -> str:
        """Say how many classes are off."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """Sentences of the verdict about the classes."""
        off, k = self.found, self.n_classes
        if not off:
            return [f"No single class of {k:,} is found miscalibrated."]
        worst = max(off, key=lambda each: each.lower_calibration_distance)
        rate = f"false-discovery rate at most {self._result.level:g}"
        lines = [
            f"{len(off):,} of {k:,} classes {'is' if len(off) == 1 else 'are'} miscalibrated one by one ({rate}), "
            f"{worst.name} farthest, its own probabilities by {worst.lower_calibration_distance:.4f}."
        ]
        if self.confusions:
            lines.append(f"Plainest case: {self.confusions[0].summary()}.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain words and numbers."""
        return {
            "n_classes": self.n_classes,
            "state": self.state,
            "questions": [plain(asdict(question)) for question in self.questions],
            "tests": {name: test.to_dict() for name, test in self.tests.items()},
            "confusions": [asdict(pair) for pair in self.confusions],
            "n_confusions": self.n_confusions,
            "confusion_table": plain(self.confusion_table),
        }


def class_findings(
    sample: MulticlassSample,
    level: float,
    resample: bool,
    seed: int,
    max_distance: float | None = None,
    tell: Callable[[str], None] = lambda _stage: None,
) -> ClassFindings:
    """Ask every question, and run the tests of all classes together."""
    k = sample.n_classes
    single = sample.sample_weight is None and sample.group is None
    top = [number for number in _TOP if number < k]
    top_questions = [_question(each, level, sample.group)[0] for each in (sample.top_ks(top) if top else [])]
    tell("Each class")
    questions, result, state = single_classes(sample, level, max_distance)
    tests = {"class_wise_test": Evidence("Each class by itself", result)}
    tell("Whole vectors")
    tests |= _of_vectors(sample, level, resample, seed)
    findings = ClassFindings(k, (*top_questions, *questions), tests, state)
    if not single:
        return findings
    tell("Pairs of classes")
    return _with_pairs(findings, sample, level)


def single_classes(
    sample: MulticlassSample, level: float, max_distance: float | None = None
) -> tuple[list[Question], ClassWiseResult, State | None]:
    """Each class by itself, their test, and the state of those that are miscalibrated."""
    questions, evidence = [], []
    for each in sample.each_class():
        question, findings_of = _question(each, level, sample.group)
        questions.append(question)
        evidence.append(findings_of)
    result = gathered(evidence, sample, level, sample.group)
    questions = [replace(one, qvalue=other.qvalue) for one, other in zip(questions, result.each_class, strict=True)]
    return questions, result, _state(sample, questions, level, max_distance)


def _of_vectors(sample: MulticlassSample, level: float, resample: bool, seed: int) -> dict[str, Evidence]:
    weighted, k = sample.sample_weight is not None, sample.n_classes
    why_not = "no resamples were asked for" if not resample else None
    if why_not is None and (weighted or sample.group is not None):
        why_not = "tests need unweighted rows" if weighted else say.DEPENDENT
    too_many = say.NO_SHARED_CELL.format(n=_MOST_TCAL) if k > _MOST_TCAL else None
    some = sample if why_not else drawn_rows(sample, _MOST_VALUES, seed)
    n = some.y_true.size
    on = "" if n == sample.y_true.size else f", {counted(n, 'row')} drawn at random"
    runs: dict[str, tuple[str, str | None, Callable[[], Any]]] = {
        "tcal_test, canonical": (
            f"T-Cal of whole vectors{on}",
            why_not or too_many,
            partial(tcal_test_on_classes, some, TCalPlan(level, _RESAMPLES), seed),
        ),
        "canonical_kernel_test": (
            f"Kernel test of whole vectors{on}",
            why_not,
            partial(canonical_kernel_test_on_classes, some, level=level, n_resamples=N_RESAMPLES, random_state=seed),
        ),
    }
    return {
        name: Evidence(title, None, reason) if reason else where_it_applies(title, run)
        for name, (title, reason, run) in runs.items()
    }


def _with_pairs(findings: ClassFindings, sample: MulticlassSample, level: float) -> ClassFindings:
    counts = pair_counts(sample)
    pairs, pvalues, adjusted = pair_pvalues(counts)
    names = [str(label) for label in sample.labels]
    erring = np.flatnonzero(adjusted <= level)
    plainest = erring[np.argsort(pvalues[erring], kind="stable")][:_MOST_PAIRS]
    confusions = tuple(
        Confusion(
            names[a], names[b], int(counts.rows[a]), float(counts.expected[a, b]), int(counts.observed[a, b]),
            float(pvalues[i]), float(adjusted[i]),
        )
        for i, (a, b) in ((int(i), pairs[i]) for i in plainest)
    )  # fmt: skip
    shown, logs = most_involved(sample.n_classes, pairs, pvalues, _MOST_SHOWN)
    excess = (counts.observed - counts.expected)[np.ix_(shown, shown)]
    table = ConfusionTable(tuple(names[i] for i in shown), excess, np.copysign(logs, excess))
    return replace(findings, confusions=confusions, n_confusions=int(erring.size), confusion_table=table)


def _state(
    sample: MulticlassSample, questions: list[Question], level: float, max_distance: float | None
) -> State | None:
    """Whether classes that are found err by more than is too small to matter; they share the level."""
    limits = {
        i: default_limit(one.rate, one.mean_prediction) if max_distance is None else max_distance
        for i, one in enumerate(questions)
        if one.qvalue is not None and one.qvalue <= level
    }
    if not limits:
        return None
    if sample.sample_weight is not None or sample.group is not None:
        return "worth correcting"  # no bound of the population is known
    for i in sorted(limits, key=lambda i: -questions[i].lower_calibration_distance / limits[i]):
        column = sample.table.columns(i, i + 1)[0]
        one = BinaryReduction(questions[i].name, (sample.y_true == i).astype(np.float64), column, None).sample
        gate = calibration_gate_on_sample(one, max_distance=limits[i], level=level / sample.n_classes)
        if gate.verdict != "within":
            return "worth correcting"
    return "too small to matter"


def _question(question: BinaryReduction, level: float, group: IntArray | None) -> tuple[Question, tuple[Any, int]]:
    sample = question.sample
    mean = dot(sample.mass(), sample.prediction)
    evidence = evidence_of(question, level, group, sample=sample)
    result = Question(
        question.name,
        min(1.0, max(0.0, mean + float(sample.residual().sum()))),
        min(1.0, mean),
        smooth_error_from_sample(sample),
        float(lower_certificate_from_sample(sample, tol=_TOLERANCE).upper),
        evidence[0].pvalue,
        None,
        evidence[0].direction,
        evidence[0].bias_interval,
    )
    return result, evidence
