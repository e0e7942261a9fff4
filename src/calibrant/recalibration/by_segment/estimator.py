"""Repair by segment: predictions corrected by features, only as far as rows left out prove that it helps."""

from __future__ import annotations

__all__ = ["RepairScore", "SegmentCorrection", "SegmentRecalibrator"]

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from calibrant.door.arguments import check_level, one_of, whole_from
from calibrant.door.coding import Values
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.values import Result, counted
from calibrant.measures.logistic import inner_expit, log_odds
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.by_segment.corrections import (
    LARGEST_SHIFT,
    MOST_PARTS,
    Block,
    Cells,
    Features,
    Fitting,
    Trees,
    corrected,
    fit_boosted,
    fit_corrections,
    most_moved,
    read_block,
)
from calibrant.recalibration.by_segment.table import (
    Cut,
    FeatureTable,
    Name,
    conditions,
    features_of,
    in_words_of,
    read_cut,
    read_prediction,
    read_rows,
    refuse_outcome,
    same_columns,
)
from calibrant.recalibration.choose import choose_recalibrator
from calibrant.recalibration.compare import Judge, mapped, mean_with_interval
from calibrant.recalibration.kinds import Kind, check, check_size, count, each, flag, number, optional, text
from calibrant.recalibration.methods import make_recalibrator
from calibrant.recalibration.serialization import JsonEstimator, stored
from calibrant.resampling.folds import Split, cross_fitted, folds


@dataclass(frozen=True, slots=True, repr=False)
class RepairScore(Result):
    """Scores of the predictions, repaired by a fit that had not seen their outcomes.

    Attributes
    ----------
    method : str
        "unchanged", "global", "segments" or "boosting".
    brier, log : float
        Mean Brier and log score. Predictions of 0 and 1 are read 1e-12 away from them.
    simpler : str or None
        The simpler method that it was compared with; None for "unchanged" and "global".
    gain_interval : Interval or None
        Holds how much lower the log score is than that of the simpler method, row by row.
    kept : bool
        Whether it was preferred to the simpler one.

    See Also
    --------
    SegmentRecalibrator
    """

    method: str
    brier: float
    log: float
    simpler: str | None = None
    gain_interval: Interval | None = None
    kept: bool = False

    def summary(self) -> str:
        """Say how it did."""
        scores = f"{self.method}: log score {self.log:.4g}, Brier score {self.brier:.4g}"
        if self.simpler is None or self.gain_interval is None:
            return f"{scores}."
        proved = "better" if self.kept else "not better"
        return f"{scores}; {proved} than {self.simpler} beyond chance ({self.gain_interval.summary()} lower log score)."


@dataclass(frozen=True, slots=True, repr=False)
class SegmentCorrection(Result):
    """Term that a repair adds to the log-odds of the rows of one segment.

    Attributes
    ----------
    condition : str
        Which rows.
    feature_names : tuple of str or int
        The features that it is a condition on, by name, or by place where columns have no names.
    n_rows : int
        Rows of the fit that it holds for.
    log_odds_change : float
        What is added to their log-odds, besides the shift of all rows and other corrections that hold for them.
    net_change : float or None
        What is added to them in all, on average over those rows; None where the repair was saved without it.

    See Also
    --------
    SegmentRecalibrator
    """

    condition: str
    feature_names: tuple[str | int, ...]
    n_rows: int
    log_odds_change: float
    net_change: float | None = None

    @property
    def change(self) -> float:
        """The net change, or where it is not known the correction alone."""
        return self.log_odds_change if self.net_change is None else self.net_change

    def summary(self) -> str:
        """Say what is changed where."""
        return f"{self.change:+.2f} where {self.condition} ({counted(self.n_rows, 'row')})"


def compared(
    rows: Judge, crossed: Mapping[str, FloatArray], first: str, level: float
) -> tuple[str, tuple[RepairScore, ...]]:
    """The method to use, and the scores of all.

    Starting from `first`, which was chosen of "unchanged" and "global" before, each richer method in turn is kept only
    if its log score is lower than that of what was kept so far, beyond chance: the lower end of the interval of the
    mean difference is above zero.
    """
    losses = {method: rows.losses(prediction) for method, prediction in crossed.items()}
    mass, best, scores = rows.mass, first, []
    for method, loss in losses.items():
        mean = {name: mean_with_interval(each, mass, level, rows.group)[0] for name, each in loss.items()}
        score = RepairScore(method, mean["brier"], mean["log"], kept=method == first)
        if method not in ("unchanged", "global"):
            gain = mean_with_interval(losses[best]["log"] - loss["log"], mass, level, rows.group)[1]
            score = replace(score, simpler=best, gain_interval=gain, kept=gain.low > 0.0)
            best = method if score.kept else best
        scores.append(score)
    return best, tuple(scores)


def read_score(value: Any, name: str) -> RepairScore:
    """A score from JSON's own types."""
    check(type(value) is list and len(value) == 6, name, "must be a method with its scores")
    method, brier, log, simpler, gain, preferred = value
    if gain is not None:
        check(type(gain) is list and len(gain) == 2, name, "must have both ends of an interval")
        gain = Interval(number(gain[0], name), number(gain[1], name))
    base = optional(text)(simpler, name)
    check(0.0 <= number(brier, name) <= 1.0 and number(log, name) >= 0.0, name, "must have scores that there can be")
    return RepairScore(text(method, name), number(brier, name), number(log, name), base, gain, flag(preferred, name))


RepairMethod = Literal["auto", "segments", "boosting"]
_CHOSEN = ("unchanged", "global", "segments", "boosting")
_SHOWN = 3  # corrections in a summary


class SegmentRecalibrator(ClassifierMixin, JsonEstimator):  # type: ignore[misc]
    """Probabilities corrected by features: unchanged, by one map for all, by segment, or by boosted trees.

    Each richer repair is kept only where it is better, beyond chance, on rows that it was not fitted to.

    Parameters
    ----------
    prediction : str or int, default "y_prob"
        Column of X with the predicted probability of the event: its name, or of an array its number.
    features : sequence of str or int, optional
        Columns that predictions may be corrected by; by default all others.
    method : {"auto", "segments", "boosting"}
        "auto" compares all; the others are fitted without a comparison.
    max_depth : {2, 1}
        Segments by single features and pairs, or by single features alone.
    cv : int, default 5
        Number of parts that the rows are split into to compare repairs, with both outcomes in each. Each is left out in
        turn; of rows without groups only the first is, where it has 10,000 rows or more.
    level : float, default 0.05
        The interval of a gain in log score covers with probability 1 - level; a richer repair is kept if it lies
        above 0.

    Attributes
    ----------
    chosen_ : str
        "unchanged", "global" (one map of the prediction), "segments" or "boosting".
    scores_ : tuple of RepairScore
        Results of each on rows that it was not fitted to; empty if `method` was given.
    recalibrator_ : Recalibrator or None
        The map of the prediction alone, as `choose_recalibrator` chooses it by log score; the features correct its
        result.
    corrections_ : tuple of SegmentCorrection
        Corrections by segment: first the ones that move most rows furthest.
    shift_ : float
        What is added to the log-odds of all rows, besides the corrections.
    n_trees_ : int
        Boosted trees, 0 without.
    classes_ : ndarray of shape (2,)
        0 and 1.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Columns of X, and their names where it has any.

    See Also
    --------
    choose_recalibrator, RecalibratedClassifier, calibration_by_segment

    Notes
    -----
    Fit it to rows that the model was not trained on. The same rows have the same repair in any order; splits have a
    constant seed. Numbers are cut at quantiles (ten cells; fewer for pairs if rows
    are few), and so are days; times are taken as days. Categories are compared as text, the 300 most frequent each in a
    cell and all others, new ones included, together. Missing values have a cell of their own. In pairs the prediction
    counts as a feature, so that a slope of a segment's own can be followed in steps. Corrections of a feature or pair
    are shrunk by the variance that its own cells show; see docs/recalibration.md. Cost: cv + 1 fits of each repair (two
    where one part is left out). With d features corrections take O(n d^2) operations per step, a tree O(n d).

    References
    ----------
    N. Tax et al., "MCGrad: multicalibration at web scale", KDD 2026 (boosting with the old log-odds as offset);
    S. N. Wood and M. Fasiolo, "A generalized Fellner-Schall method for smoothing parameter optimization", Biometrics
    73, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> from calibrant.recalibration import SegmentRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> p, country = rng.uniform(0.1, 0.9, 4000), rng.choice(["de", "fr", "jp"], 4000)
    >>> y = rng.random(4000) < np.where(country == "jp", p**2, p)
    >>> table = pyarrow.table({"y_prob": p, "country": country})
    >>> repair = SegmentRecalibrator(method="segments").fit(table, y)
    >>> repair.corrections_[0].condition
    'country = jp'
    >>> repair.predict_proba(table).shape
    (4000, 2)
    """

    _fitted: ClassVar[dict[str, Kind]] = {
        "chosen_": text,
        "scores_": each(read_score),
        "recalibrator_": optional(stored),
        "shift_": number,
        "n_features_in_": count,
        "_columns": optional(each(text)),
        "_blocks": each(read_block),
        "_cuts": each(each(read_cut)),
    }
    _gone = frozenset({"random_state"})
    _trees: Trees | None = None
    _fine: list[Cut] = []  # noqa: RUF012
    _most: str = ""

    def __init__(
        self,
        prediction: str | int = "y_prob",
        *,
        features: Sequence[str | int] | None = None,
        method: RepairMethod = "auto",
        max_depth: int = 2,
        cv: int = 5,
        level: float = 0.05,
    ) -> None:
        self.prediction = prediction
        self.features = features
        self.method = method
        self.max_depth = max_depth
        self.cv = cv
        self.level = level

    def fit(self, X: Any, y: Column, sample_weight: Column | None = None, *, groups: Any = None) -> Self:  # noqa: N803
        """Choose a repair and fit it to all rows.

        Parameters
        ----------
        X : table of n rows
            A data frame (pandas, polars, pyarrow) or array with the prediction and the features. Times of day, nested
            values and a column that is the outcome itself are refused by name.
        y : column of shape (n,)
            Outcomes, 0 or 1.
        sample_weight : column of shape (n,), optional
            Non-negative weights.
        groups : column of shape (n,), optional
            Rows of one group (a patient, a day) are never on both sides of a split. Intervals of gains take groups as
            independent of one another.

        Raises
        ------
        InputError
            If a column or a parameter cannot be used, or an outcome has fewer rows than `cv`. If groups are too few for
            `calibration_test`, which `choose_recalibrator` runs first.
        """
        self._check_parameters()
        if y is None:
            raise InputError("y", "is None; this estimator requires y to be passed, but the target y is None")
        table = FeatureTable.of(X)
        column = table.place(self.prediction, "prediction")
        names = features_of(table, self.features, column)
        if not names:
            raise InputError("X", "has no feature besides the prediction", allowed="choose_recalibrator needs none")
        outcome, prediction, weight, group = read_rows(table, column, y, sample_weight, groups)
        values: dict[Name, Values] = {column: prediction}
        for name in names:
            values[name] = table.values(name)
            refuse_outcome(name, values[name], outcome)
        cuts = FeatureCuts.fitted(values, self.max_depth)
        rows = Judge(outcome, prediction, weight, classes=False, group=group)
        rows, cells, fine = in_order(rows, *cuts.all_cells(values))
        with in_words_of(column):
            splits = rows.splits(self.cv, _SEED)
            first, unfitted = self._best_map(rows)
        candidates = Candidates(rows, cuts, cells, fine, unfitted)
        self.chosen_: str = self.method
        self.scores_: tuple[RepairScore, ...] = ()
        if self.method == "auto":
            if rows.group is None and outcome.size >= _MANY_ROWS * self.cv:
                splits = splits[:1]
            left_out = np.sort(np.concatenate([test for _, test in splits]))
            self.chosen_, self.scores_ = compared(rows.part(left_out), candidates.crossed(splits), first, self.level)
        # What helped parts of the rows may come to nothing on all of them: then it is what it was compared with.
        simpler = {score.method: score.simpler or first for score in self.scores_}
        everywhere = slice(None)
        self.recalibrator_, offset = candidates.mapped(everywhere)
        self.shift_ = 0.0
        self._blocks: tuple[Block, ...] = ()
        self._trees, self._fine = None, []
        if self.chosen_ == "boosting":
            self._trees, self._fine = candidates.boosting(everywhere, offset), cuts.fine
            if self._trees is None:
                self.chosen_ = simpler.get("boosting", first)
            else:
                self._most = most_moved(self._trees, fine, list(values))
        if self.chosen_ == "segments":
            self.shift_, self._blocks = candidates.segments(everywhere, offset)
            if not self._blocks:
                self.chosen_ = simpler.get("segments", first)
        self._cuts = cuts.by_depth
        self._columns = tuple(map(str, table.names)) if table.named else None
        self.n_features_in_ = len(table.names)
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return corrected probabilities of shape (n, 2): of no event, and of the event."""
        table = self._table(X)
        event = self._corrected(table, read_prediction(table, self._cuts[0][0].name))
        return np.column_stack([1.0 - event, event])

    def predict(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the more probable outcome of each row, 0 or 1."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)]

    def score(self, X: Any, y: Column, sample_weight: Column | None = None) -> float:  # noqa: N803
        """Return minus the Brier score of the corrected probabilities: higher is better."""
        table = self._table(X)
        outcome, prediction, weight, _ = read_rows(table, self._cuts[0][0].name, y, sample_weight, None)
        return -float(np.average((self._corrected(table, prediction) - outcome) ** 2, weights=weight))

    def summary(self) -> str:
        """Return, in a few sentences, what was chosen and what it does."""
        check_is_fitted(self, "chosen_")
        scores = {score.method: score for score in self.scores_}
        if self.chosen_ in ("unchanged", "global"):
            what = (
                "Leave the predictions unchanged" if self.recalibrator_ is None else self.recalibrator_.summary()[:-1]
            )
            if not self.scores_:
                return f"{what}: {self.method} found nothing to correct by features."
            best = min((scores["segments"], scores["boosting"]), key=lambda score: score.log)
            none = "no correction by features is better beyond chance"
            if any(score.kept and score.simpler for score in self.scores_):
                none = "corrections by features were better on parts of the rows, but a fit to all rows found none"
            return f"{what}: {none} (log score {scores[self.chosen_].log:.4g}; {best.method} {best.log:.4g})."
        if self.chosen_ == "boosting":
            features = counted(len(self._cuts[0]) - 1, "feature")
            what = f"{self.n_trees_} boosted trees correct the predictions by {features}{self._most}"
        else:
            corrections = self.corrections_
            shown = "; ".join(one.summary() for one in corrections[:_SHOWN])
            more = f"; and {len(corrections) - _SHOWN:,} more segments" if len(corrections) > _SHOWN else ""
            # Where several hold they add up: what is told is what rows are moved by in all.
            what = f"Net corrections of log-odds by segment: {shown or 'none'}{more}"
        if not self.scores_:
            return f"{what}. Not compared with the predictions as they are."
        score = scores[self.chosen_]
        gain = "" if score.gain_interval is None else f", lower by {score.gain_interval.summary()}"
        before = scores[score.simpler or "unchanged"]
        return f"{what}. Log score on rows left out {score.log:.4g} after {before.log:.4g} of {before.method}{gain}."

    @property
    def classes_(self) -> npt.NDArray[np.int64]:
        """The two outcomes."""
        return np.array([0, 1])

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns of the table that it was fitted to."""
        if getattr(self, "_columns", None) is None:
            raise AttributeError("feature_names_in_")
        return np.array(self._columns, dtype=object)

    @property
    def n_trees_(self) -> int:
        """Number of boosted trees."""
        return 0 if self._trees is None else int(self._trees.n_trees)

    @property
    def corrections_(self) -> tuple[SegmentCorrection, ...]:
        """Corrections by segment: first the ones that move most rows furthest."""
        corrections = []
        for features, change, rows, net in self._blocks:
            cuts = self._cuts[len(features) - 1]
            names = tuple(cuts[at].name for at in features)
            moved = np.flatnonzero((rows > 0.0) & (change != 0.0)).tolist()
            for cell, condition in zip(moved, conditions(cuts, features, moved), strict=True):
                whole = None if net is None else float(net[cell])
                corrections.append(SegmentCorrection(condition, names, int(rows[cell]), float(change[cell]), whole))
        return tuple(sorted(corrections, key=lambda one: -one.n_rows * abs(one.change)))

    def _best_map(self, rows: Judge) -> tuple[str, Recalibrator | None]:
        """Whether one map for all is due, and that map, unfitted: where predictions tell nothing it is nearly flat."""
        choice = choose_recalibrator(
            rows.outcome, rows.prediction, sample_weight=rows.weight, groups=rows.group, level=self.level
        )
        return ("unchanged", None) if choice.chosen == "unchanged" else ("global", make_recalibrator("averaged"))

    def _table(self, table: Any) -> FeatureTable:
        """A user's table, with every column that is needed."""
        check_is_fitted(self, "chosen_")
        named = self._columns is not None
        features = same_columns(FeatureTable.of(table), self.n_features_in_, named, type(self).__name__)
        missing = next((cut.name for cut in self._cuts[0] if cut.name not in features.names), None)
        if missing is not None:
            raise InputError("X", f"has no column {missing!r}, which it was fitted to")
        return features

    def _corrected(self, table: FeatureTable, prediction: FloatArray) -> FloatArray:
        """Probabilities of the event."""
        if self.chosen_ in ("unchanged", "global"):
            return prediction if self.recalibrator_ is None else mapped(self.recalibrator_, prediction)
        cuts = FeatureCuts(self._cuts, self._fine)
        column, *features = (cut.name for cut in self._cuts[0])
        values: dict[Name, Values] = {column: prediction}
        values |= {name: table.values(name) for name in features}
        score = old_log_odds(self.recalibrator_, prediction)
        if self._trees is not None:
            return inner_expit(score + self._trees.change(cuts.table(values)))
        return inner_expit(corrected(score, self.shift_, self._blocks, cuts.cells(values), self._cuts))

    def to_json(self) -> str:
        """Return the fitted repair as JSON text, which `calibrant.recalibration.from_json` reads.

        Raises
        ------
        InputError
            If it is of boosted trees, or holds what JSON has no exact form for.
        """
        check_is_fitted(self, "chosen_")
        if self._trees is not None:
            raise InputError(
                "method", "is boosted trees, which are not saved as JSON", allowed="pickle and joblib keep them"
            )
        return super().to_json()

    def _check_parameters(self) -> None:
        one_of(self.method, get_args(RepairMethod), "method")
        if whole_from(self.max_depth, "max_depth", 1) > 2:
            raise InputError("max_depth", f"is {self.max_depth}", allowed="it must be 1 or 2")
        whole_from(self.cv, "cv", 2)
        check_level(self.level)

    def _check_fitted(self) -> None:
        check(self.chosen_ in _CHOSEN[:3], "chosen_", f"must be one of {', '.join(_CHOSEN[:3])}")
        check(1 <= len(self._cuts) <= 2, "_cuts", "must be of one depth or two")
        check(all(len(cuts) == len(self._cuts[0]) >= 2 for cuts in self._cuts), "_cuts", "must be of all features")
        names: Sequence[Name] = range(self.n_features_in_) if self._columns is None else self._columns
        check(len(names) == self.n_features_in_, "n_features_in_", "must be the number of the columns")
        check(all(cut.name in names for cuts in self._cuts for cut in cuts), "_cuts", "must be of columns of the table")
        check_size(self.shift_, "shift_", LARGEST_SHIFT)
        crossed = {features for features, *_ in self._blocks}
        check(len(crossed) == len(self._blocks) <= MOST_PARTS, "_blocks", f"must be at most {MOST_PARTS}, each once")
        for features, change, *_ in self._blocks:
            check(len(features) <= len(self._cuts), "_blocks", "must not be deeper than the cuts")
            check(features[-1] < len(self._cuts[0]), "_blocks", "must be of features that are cut")
            size = math.prod([self._cuts[len(features) - 1][at].size for at in features])
            check(change.size == size, "_blocks", "must have a correction for every cell")

    def __sklearn_tags__(self) -> Any:
        """Say that two outcomes are needed, and that features may be text or missing."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


CLIP = 1e-12
"""Predictions closer than this to 0 or 1 are read as being this far from it."""
_SEED = 0  # of splits: equal rows are repaired alike
_BINS = 10  # within a pair of features fewer, where rows are few
_LEAST_ROWS = 100  # to a cell of a pair, on average
_FINE_BINS = 64  # for trees, which put cells together again
_PARTS = 5  # which are left out in turn to count the trees
_MANY_ROWS = 10_000  # of which one part is enough to count them; left out they are enough to compare repairs


class FeatureCuts(NamedTuple):
    """Cuts of all features: for each depth of segments, and finely for trees; the prediction is the first."""

    by_depth: list[list[Cut]]
    fine: list[Cut]

    @classmethod
    def fitted(cls, values: dict[Name, Values], max_depth: int) -> FeatureCuts:
        """Cuts of these rows; they do not look at outcomes."""
        rows = len(next(iter(values.values())))
        bins = [_BINS, int(np.clip(np.sqrt(rows / _LEAST_ROWS), 2, _BINS))][:max_depth]
        by_depth = [[Cut.fitted(name, each, n_bins) for name, each in values.items()] for n_bins in bins]
        return cls(by_depth, [Cut.fitted(name, each, _FINE_BINS) for name, each in values.items()])

    def cells(self, values: dict[Name, Values]) -> list[list[IntArray]]:
        """Cell of every row, for each depth and feature."""
        return [[cut.cells(values[cut.name]) for cut in of_depth] for of_depth in self.by_depth]

    def table(self, values: dict[Name, Values]) -> Cells:
        """Fine cells of every row, as trees take them."""
        return np.column_stack([cut.cells(values[cut.name]).astype(np.int16) for cut in self.fine])

    def all_cells(self, values: dict[Name, Values]) -> tuple[list[list[IntArray]], Cells]:
        """Both; texts, whose cells are the same at every depth, are looked up once."""
        texts = {cut.name: cut.cells(values[cut.name]) for cut in self.fine if cut.values is not None}
        depths = [
            [texts[cut.name] if cut.name in texts else cut.cells(values[cut.name]) for cut in of_depth]
            for of_depth in (*self.by_depth, self.fine)
        ]
        return depths[:-1], np.column_stack([each.astype(np.int16) for each in depths[-1]])

    @property
    def features(self) -> Features:
        """What trees know of the columns of the table."""
        return Features(
            np.array([cut.size - 1 for cut in self.fine]), np.array([cut.values is not None for cut in self.fine])
        )


def in_order(rows: Judge, cells: list[list[IntArray]], fine: Cells) -> tuple[Judge, list[list[IntArray]], Cells]:
    """The same rows and their cells in an order that they alone decide, so that no sum and no split depends on it."""
    keys = [each for each in (rows.weight, rows.group) if each is not None]
    order = np.lexsort([*fine.T, *chain(*cells), *keys, rows.outcome, rows.prediction])
    return rows.part(order), [[each[order] for each in of_depth] for of_depth in cells], fine[order]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All rows with their cells, and how each candidate is fitted to a part of them."""

    rows: Judge  # outcomes, predictions, weights, groups
    cuts: FeatureCuts  # how features are cut
    cells: list[list[IntArray]]  # cells of every row
    table: Cells  # (n, d): fine cells, for trees
    recalibrator: Recalibrator | None  # the global map, not fitted; None to leave predictions as they are

    def mapped(self, at: Any) -> tuple[Recalibrator | None, FloatArray]:
        """The global map fitted to these rows, and the log-odds that it gives all rows."""
        fitted = None if self.recalibrator is None else self.rows.fitted(clone(self.recalibrator), at)
        return fitted, old_log_odds(fitted, self.rows.prediction)

    def _fitting(self, at: Any, offset: FloatArray) -> Fitting:
        outcome = self.rows.outcome[at]
        weight = np.ones(outcome.size) if self.rows.weight is None else self.rows.weight[at]
        # Information in effective rows: five rows of weight 1 tell more than one of weight 5.
        return Fitting(offset[at], outcome, weight * (weight.sum() / (weight @ weight)))

    def segments(self, at: Any, offset: FloatArray) -> tuple[float, tuple[Block, ...]]:
        """Corrections by segment fitted to these rows."""
        cells = [[each[at] for each in of_depth] for of_depth in self.cells]
        return fit_corrections(self._fitting(at, offset), cells, self.cuts.by_depth)

    def boosting(self, at: Any, offset: FloatArray) -> Trees | None:
        """Trees fitted to these rows; None where no tree helps rows left out, or groups are too few to leave any."""
        group = None if self.rows.group is None else self.rows.group[at]
        outcome = self.rows.outcome[at]
        parts = min(_PARTS, outcome.size if group is None else np.unique(group).size)
        if parts < 2:
            return None
        splits = folds(outcome, parts, groups=group, seed=_SEED)
        if outcome.size >= _MANY_ROWS:
            splits = splits[:1]
        return fit_boosted(self._fitting(at, offset), self.table[at], self.cuts.features, splits)

    def crossed(self, splits: list[Split]) -> dict[str, FloatArray]:
        """Rows that are left out as each candidate predicts them from the others."""

        def predict(train: IntArray, test: IntArray) -> FloatArray:
            _, offset = self.mapped(train)
            shift, blocks = self.segments(train, offset)
            cells = [[each[test] for each in of_depth] for of_depth in self.cells]
            by_segment = corrected(offset[test], shift, blocks, cells, self.cuts.by_depth)
            trees = self.boosting(train, offset)
            boosted = offset[test] + (0.0 if trees is None else trees.change(self.table[test]))
            unchanged = old_log_odds(None, self.rows.prediction[test])
            return inner_expit(np.column_stack([offset[test], by_segment, boosted, unchanged]))

        changes = cross_fitted(predict, splits)
        before = {} if self.recalibrator is None else {"global": changes[:, 0]}
        return {"unchanged": changes[:, 3], **before, "segments": changes[:, 1], "boosting": changes[:, 2]}


def old_log_odds(fitted: Recalibrator | None, prediction: FloatArray) -> FloatArray:
    """Log-odds after the global map, which corrections are added to."""
    return log_odds(prediction if fitted is None else mapped(fitted, prediction), CLIP)
