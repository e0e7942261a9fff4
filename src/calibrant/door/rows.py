"""Single rows, as tests ask for them, in the order given, and the lots of them that are redrawn together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrant.door.arguments import flag
from calibrant.door.columns import Column, FloatArray, IntArray, Table, as_numbers, read_columns
from calibrant.door.errors import NO_VALUE, InputError, Ways
from calibrant.door.sample import Sample
from calibrant.door.weights import SamplingFractions, check_effective, outcome_score

_WHOLE = 1e-6  # share times trials may miss a whole number by this much, and by rounding
_MOST_TRIALS = 2.0**31
_LIGHTEST = 1e-20  # of the largest weight: what is lighter moves no sum


@dataclass(frozen=True, eq=False)
class Rows:
    """Single rows in the order given: what a test needs beyond a `Sample`."""

    y_true: IntArray  # (n,): outcomes, 0 or 1; of rows of trials the number of events
    y_prob: FloatArray  # (n,): predictions in [0, 1], minus zero as zero
    weight: FloatArray | None = None  # (n,): weight of each outcome, the largest being 1; None where all are equal
    trials: FloatArray | None = None  # (n,): outcomes behind each row; None where there is one
    group: IntArray | None = None  # (n,): number of each row's group; None where every row is drawn by itself
    outcome_free: bool = False  # whether weights are declared to say nothing of outcomes at a given prediction
    # fractions by outcome that the weights undo: given, or seen where weights are two values, one for each outcome
    fractions: SamplingFractions | None = None

    @classmethod
    def of(
        cls,
        y_true: Column,
        y_prob: Column,
        sample_weight: Column | None = None,
        trials: Column | None = None,
        groups: Any = None,
        outcome_free_weights: bool = False,
        sampling_fractions: Any = None,
    ) -> Rows:
        """Read a user's columns, once.

        Raises InputError as the door does; if an outcome is neither 0 nor 1, or with trials no whole number of events.
        """
        outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
        check_outcome_free(outcome_free_weights, weight, groups)
        fractions = read_fractions(sampling_fractions, sample_weight=sample_weight, trials=trials)
        if trials is None:
            require_single_outcomes(outcome)
            count = None
        else:
            count = read_trials(trials, outcome.size)
            outcome = events_of(outcome, count)
        group = None if groups is None else read_groups(groups, outcome.size)
        if fractions is not None:
            weight = fractions.weight_of(outcome)
        return cls.of_arrays(outcome, prediction, weight, count, group, outcome_free_weights, fractions)

    @classmethod
    def of_arrays(
        cls,
        ones: FloatArray,
        prediction: FloatArray,
        weight: FloatArray | None = None,
        trials: FloatArray | None = None,
        group: IntArray | None = None,
        outcome_free: bool = False,
        fractions: SamplingFractions | None = None,
    ) -> Rows:
        """Rows that were validated already, with their numbers of events."""
        if weight is not None:
            weight = weight / weight.max()
            if fractions is None:
                weight = None if (weight == 1.0).all() else weight
        if fractions is None and weight is not None and trials is None and not outcome_free:
            fractions = SamplingFractions.of_weights(ones, weight)
        y_true, y_prob = ones.astype(np.int64), prediction + 0.0  # minus zero becomes zero
        return cls(y_true, y_prob, weight, trials, group, outcome_free, fractions)

    @classmethod
    def of_sample(cls, sample: Sample) -> Rows:
        """One row after another of pooled single outcomes, by prediction; within one prediction events come first."""
        count, ones = sample.count.astype(np.int64), sample.ones.astype(np.int64)
        first = np.concatenate([[0], count.cumsum()[:-1]])
        prediction = np.repeat(sample.prediction, count)
        label = np.arange(prediction.size) - np.repeat(first, count) < np.repeat(ones, count)
        rows = cls(label.astype(np.int64), prediction)
        if sample.binary and sample.weight is sample.count:  # not where rows of weights other than 1 were pooled
            rows.__dict__["sample"] = sample
        return rows

    def take(self, rows: IntArray) -> Rows:
        """Return these rows of it, in this order."""
        weight = None if self.weight is None else self.weight[rows]
        trials = None if self.trials is None else self.trials[rows]
        group = None if self.group is None else self.group[rows]
        return replace(
            self, y_true=self.y_true[rows], y_prob=self.y_prob[rows], weight=weight, trials=trials, group=group
        )

    def single(self) -> Rows:
        """The same outcomes, each in a row of its own."""
        if self.trials is None:
            return self
        n = self.trials.astype(np.int64)
        row = np.repeat(np.arange(n.size), n)
        place = np.arange(row.size) - (n.cumsum() - n)[row]
        return replace(self.take(row), y_true=(place < self.y_true[row]).astype(np.int64), trials=None)

    @property
    def count(self) -> FloatArray:
        """Outcomes behind each row."""
        return np.broadcast_to(1.0, self.y_prob.shape) if self.trials is None else self.trials

    @property
    def mask(self) -> Any:
        """Mask of the rows that have weight."""
        return slice(None) if self.weight is None else self.weight > _LIGHTEST

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None where every row is drawn by itself."""
        return None if self.group is None else int(self.group.max()) + 1

    @property
    def plain(self) -> bool:
        """Whether every row is one outcome, drawn by itself."""
        return self.trials is None and self.group is None

    @cached_property
    def lots(self) -> Lots:
        """The same rows, those of one prediction and weight together; what weighs nothing is left out."""
        if self.weight is None and self.trials is None:
            sample = self.sample
            return Lots(sample.prediction, sample.count, sample.ones, np.broadcast_to(1.0, sample.prediction.shape))
        mask, ones = self.mask, self.y_true.astype(np.float64)
        weight = None if self.weight is None else self.weight[mask]
        return Lots.of(self.y_prob[mask], self.count[mask], ones[mask], weight)

    @cached_property
    def sample(self) -> Sample:
        """The same rows, pooled when it is first asked for."""
        if self.weight is None and self.trials is None:
            return Sample.of_labels(self.y_true == 1, self.y_prob)
        return self.lots.sample

    @property
    def informative(self) -> bool:
        """Whether rows are drawn one by one, and their weights may tell outcomes."""
        return self.weight is not None and not self.outcome_free and self.group is None

    @property
    def jointly(self) -> bool:
        """Whether outcomes are drawn again together with weights, which may tell them in a way that is not known."""
        return self.informative and self.fractions is None

    @cached_property
    def tested(self) -> Rows:
        """The rows as tests take them: those sampled by outcome without weights, at their chances in the file.

        Raises InputError if weights may tell outcomes, and rows are of trials, or too few of an outcome count.
        """
        if self.weight is None or self.outcome_free or (self.group is not None and self.fractions is None):
            return self
        if self.trials is not None:
            problem = "may tell outcomes, and of trials it is one weight for several of them"
            raise InputError("sample_weight", problem, allowed=OUTCOME_FREE)
        if self.fractions is not None:
            chance = self.fractions.chance_in_file(self.y_prob)
            return replace(self, y_prob=chance, weight=None, fractions=None)
        check_effective(self.y_true, self.weight)
        return self

    @property
    def premise(self) -> str:
        """Say in one line what a test of these rows takes to be true of them."""
        sentence = INDEPENDENT if self.group is None else f"{INDEPENDENT} between groups"
        if self.weight is None:
            return sentence
        if self.outcome_free:
            return f"{sentence}, and {WEIGHTS}"
        if self.fractions is not None:
            seen = " as the weights say" if self.fractions.seen else ""
            return f"{sentence}, and sampled by outcome{seen}: {self.fractions.sentence}"
        if self.group is not None:
            return f"{sentence}, with their weights"
        z = outcome_score(self.y_true, self.y_prob, self.weight)
        return f"{sentence}, and many: weights may tell outcomes, and are drawn again with them (score z = {z:.1f})"


WITHOUT_WEIGHTS = Ways(
    "leave weights out; of a table unweighted=True does", "--unweighted leaves the column of weights out"
)


def read_fractions(sampling_fractions: Any, **columns: Any) -> SamplingFractions | None:
    """Fractions by outcome, where they are given; they are weights themselves, of single outcomes.

    Raises InputError if they cannot be used, or stand beside one of these columns.
    """
    if sampling_fractions is None:
        return None
    for name, each in columns.items():
        if each is not None:
            what = "weights" if name == "sample_weight" else name
            problem = f"cannot be used with {what}: sampling by outcome is of single rows, and makes weights itself"
            raise InputError("sampling_fractions", problem, allowed=WITHOUT_WEIGHTS if what == "weights" else None)
    return SamplingFractions.read(sampling_fractions)


def check_outcome_free(outcome_free_weights: bool, weight: object, groups: Any) -> None:
    """Refuse a declaration about weights that is no truth value, has no weights to be about, or changes nothing."""
    flag(outcome_free_weights, "outcome_free_weights")
    if outcome_free_weights and weight is None:
        raise InputError("outcome_free_weights", "has no effect: there are no weights")
    if outcome_free_weights and groups is not None:
        raise InputError("outcome_free_weights", "has no effect: of rows in groups the signs of groups are drawn")


def sample_and_rows(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None,
    outcome_free: bool = False,
    fractions: SamplingFractions | None = None,
) -> tuple[Sample, Rows | None]:
    """Pool rows that were validated already, and keep them where outcomes are single and weights tell them apart."""
    sample = Sample.of_arrays(outcome, prediction, weight)
    single = weight is not None and sample.binary
    rows = Rows.of_arrays(outcome, prediction, weight, None, None, outcome_free, fractions) if single else None
    return sample, rows


INDEPENDENT = "rows are independent"
OUTCOME_FREE = Ways(
    "outcome_free_weights=True, if weights say nothing of outcomes at a given prediction",
    "--outcome-free-weights, if weights say nothing of outcomes at a given prediction",
)
WEIGHTS = "weights do not depend on outcomes given the predictions"


def not_taken(why: str, **arguments: Any) -> None:
    """Refuse weights, trials or groups where theory has no place for them."""
    for name, each in arguments.items():
        if each is not None:
            raise InputError(name, f"cannot be used here: {why}")


def require_single_outcomes(outcome: FloatArray) -> None:
    """Raise unless every outcome is 0 or 1."""
    rate = (outcome != 0.0) & (outcome != 1.0)
    if rate.any():
        row = int(np.argmax(rate))
        problem = f"row {row} is {outcome[row]:.6g}; a test counts single outcomes"
        allowed = "each must be 0 or 1, or the share of the events among `trials`"
        raise InputError("y_true", problem, row=row, allowed=allowed)


def read_trials(trials: Column, rows: int, most: float = _MOST_TRIALS) -> FloatArray:
    """Read how many outcomes are behind each row."""
    count = as_numbers(trials, "trials")
    if count.size != rows:
        raise InputError("trials", f"has {count.size:,} rows but y_prob has {rows:,}; they must match")
    bad = ~((count >= 1.0) & (count <= most) & (count == np.floor(count)))
    if bad.any():
        row = int(np.argmax(bad))
        allowed = f"each must be a whole number from 1 to {most:,.0f}"
        raise InputError("trials", f"row {row} is {count[row]:.6g}", row=row, allowed=allowed)
    return count


def read_groups(groups: Any, rows: int, name: str = "groups") -> IntArray:
    """Number of each row's group, in the order of their names; messages call the column `name`."""
    column = np.asarray(groups)
    if column.ndim != 1 or column.size != rows:
        raise InputError(name, f"has shape {column.shape}; one value for each of {rows:,} rows is needed")
    missing = np.array([each is None or each != each for each in column]) if column.dtype.kind in "Of" else None
    if missing is not None and missing.any():
        row = int(np.argmax(missing))
        raise InputError(name, NO_VALUE.format(row), row=row)
    try:
        number = np.unique(column, return_inverse=True)[1]
    except TypeError:
        raise InputError(name, "mixes kinds of values", allowed="all must be numbers, or all text") from None
    return np.asarray(number, dtype=np.int64)


def read_units(groups: Any, rows: int, trials: Column | None, max_weight: float | None) -> IntArray | None:
    """Number of each row's group; None where each of single rows is one of its own, and nothing says how large one is.

    Such rows are independent, and none can weigh more than it does.
    """
    group = read_groups(groups, rows)
    alone = trials is None and max_weight is None and int(group.max(initial=-1)) + 1 == rows
    return None if alone else group


def events_of(share: FloatArray, count: FloatArray) -> FloatArray:
    """Number of events of each row of trials, from their share."""
    ones = np.rint(share * count)
    bad = np.abs(share * count - ones) > _WHOLE * np.maximum(1.0, count * 1e-6)
    if bad.any():
        row = int(np.argmax(bad))
        events = share[row] * count[row]
        problem = f"row {row} is {share[row]:.6g}, which of {count[row]:g} trials is {events:.6g} events"
        allowed = "with trials it is the share of events, a whole number of them"
        raise InputError("y_true", problem, row=row, allowed=allowed)
    return np.asarray(ones)


def dimensions(y_prob: Column | Table) -> int:
    """1 for a column of predictions, 2 for a table of class probabilities."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return len(shape)
    return 2 if isinstance(y_prob, list | tuple) and len(y_prob) > 0 and np.ndim(y_prob[0]) == 1 else 1


@dataclass(frozen=True, slots=True, eq=False)
class Lots:
    """Rows that are redrawn together: those of one prediction and one weight, sorted by both where `of` makes them."""

    # prediction, count, ones, weight: (k,), predictions, numbers of single outcomes and of events, and the weight of
    # each outcome
    prediction: FloatArray
    count: FloatArray
    ones: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, prediction: FloatArray, count: FloatArray, ones: FloatArray, weight: FloatArray | None) -> Lots:
        """Pool rows of equal prediction and equal weight; this changes nothing that is redrawn."""
        v, w = prediction, np.broadcast_to(1.0, prediction.shape) if weight is None else weight
        order = np.argsort(v) if weight is None else np.lexsort((w, v))
        v, w = v[order], w[order]
        new = np.ones(v.size, dtype=np.bool_)
        new[1:] = (v[1:] != v[:-1]) | (w[1:] != w[:-1])
        start = np.flatnonzero(new)
        return cls(v[start], np.add.reduceat(count[order], start), np.add.reduceat(ones[order], start), w[start])

    @property
    def variance(self) -> FloatArray:
        """Variance of each lot's weighted excess of events, were the predictions calibrated."""
        return np.asarray(self.weight * self.weight * self.count * self.prediction * (1.0 - self.prediction))

    @property
    def excess(self) -> FloatArray:
        """Weighted events less those expected."""
        return np.asarray(self.weight * (self.ones - self.count * self.prediction))

    @property
    def first(self) -> IntArray:
        """Index of the first row of each distinct prediction."""
        return np.flatnonzero(np.concatenate([[True], self.prediction[1:] != self.prediction[:-1]]))

    @property
    def sample(self) -> Sample:
        """The same rows pooled by prediction alone."""
        first, w = self.first, self.weight
        count, ones = np.add.reduceat(self.count, first), np.add.reduceat(self.ones, first)
        v, none = self.prediction[first], np.broadcast_to(0.0, first.shape)
        if (w == 1.0).all():
            return Sample(v, count, ones, count, ones, count, none, binary=True)
        weight, outcome = np.add.reduceat(w * self.count, first), np.add.reduceat(w * self.ones, first)
        squared = np.add.reduceat(w * w * self.count, first)
        return Sample(v, count, ones, weight, outcome, squared, none, binary=True)
