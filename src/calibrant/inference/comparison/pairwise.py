"""Several predictors of the same outcomes: every pair compared, with p-values adjusted for their number."""

from __future__ import annotations

__all__ = ["PairwiseComparison", "compare_all"]

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, not_taken
from calibrant.door.values import ReadOnly, Result, record
from calibrant.inference.comparison.compare import (
    ComparisonResult,
    Evaluate,
    compare_items_on_rows,
    compare_pairs_on_rows,
    read_predictor,
)
from calibrant.inference.comparison.items import IN_ORDER, matched

_LEAST, _MOST = 2, 50


@dataclass(frozen=True, slots=True, repr=False)
class PairwiseComparison(Result):
    """The outcome of `compare_all`.

    Attributes
    ----------
    values : mapping of str to float
        Each predictor's error on these rows, the smallest first.
    pairs : mapping of (str, str) to ComparisonResult
        Each pair by itself, the one with the smaller error first.
    holm_pvalues : mapping of (str, str) to float
        p-values adjusted for the number of pairs by Holm's method.
    better : tuple of (str, str)
        Pairs whose first is better calibrated than the second; the probability that any of them is wrong is at most
        ``level``, in large samples.
    level : float
        Of all pairs together; of each interval in ``pairs`` by itself.

    See Also
    --------
    compare_all, ComparisonResult
    """

    values: Mapping[str, float]
    pairs: Mapping[tuple[str, str], ComparisonResult]
    holm_pvalues: Mapping[tuple[str, str], float]
    better: tuple[tuple[str, str], ...]
    level: float

    def summary(self) -> str:
        """Say which is proved better than which."""
        best = next(iter(self.values))
        beaten = [second for first, second in self.better if first == best]
        if len(beaten) == len(self.values) - 1:
            return f"{best} is better calibrated than all others at level {self.level:g}"
        if not self.better:
            return f"no predictor is proved better calibrated than another at level {self.level:g}"
        claims = "; ".join(f"{first} is better calibrated than {second}" for first, second in self.better)
        return f"{claims} (level {self.level:g} for all together)"

    def _table(self) -> Any:
        """One row a pair."""
        return [
            {
                "first": pair[0],
                "second": pair[1],
                **record(result),
                "holm_pvalue": self.holm_pvalues[pair],
                "better": pair in self.better,
            }
            for pair, result in self.pairs.items()
        ]


def compare_all(
    y_true: Column | Mapping[str, Column],
    y_probs: Mapping[str, Column],
    *,
    items: Mapping[str, Column] | str | None = None,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    measure: str | Evaluate = "smooth_calibration_error",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> PairwiseComparison:
    """Compare every pair of several predictors of the same rows, with p-values adjusted for the number of pairs.

    Parameters
    ----------
    y_true : column of shape (n,), or mapping of str to such columns
        Outcomes, each 0 or 1, of independent rows; at least 8. Of predictors of the same items whose outcomes differ,
        as of models that answer the same questions, those of each by its name.
    y_probs : mapping of str to column of shape (n,)
        Names of 2 to 50 predictors, with their probabilities for the rows.
    items : mapping of str to columns of shape (n,), or "in order"
        With outcomes of each: ids of its items, as for `compare_calibration`, or that they follow one another alike.
    sample_weight, trials, groups, outcome_free_weights, measure, level, n_resamples, random_state
        As for `compare_calibration`; the level is that of all pairs together.

    Returns
    -------
    PairwiseComparison
        Errors, every pair's comparison, and adjusted p-values.

    Raises
    ------
    InputError
        As `compare_calibration`; if there are too few resamples for the number of pairs.

    See Also
    --------
    compare_calibration

    Notes
    -----
    Holm's method: the smallest p-value times the number of pairs, the next times one less, never falling. It holds for
    any dependence between pairs. So all pairs share the same halves of the rows, and the same outcomes redrawn as if
    one of them were calibrated. Cost: with k predictors the measure of about 3 k n rows for each resample, and less
    than 4 n for two.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import compare_all
    >>> rng = np.random.default_rng(0)
    >>> v = rng.random(2000)
    >>> found = compare_all(rng.random(2000) < v, {"bent": v**2, "right": v}, n_resamples=199, random_state=0)
    >>> found.summary()
    'right is better calibrated than all others at level 0.05'
    """
    level = check_level(level)
    if not isinstance(y_probs, Mapping) or not _LEAST <= len(y_probs) <= _MOST:
        raise InputError("y_probs", "is not what is compared", allowed="it must map 2 to 50 names to columns")
    n_pairs = len(y_probs) * (len(y_probs) - 1) // 2
    check_resamples(n_resamples, level, share=1.0 / n_pairs)
    if isinstance(y_true, Mapping):
        own = "outcomes of items are single and count once"
        not_taken(own, sample_weight=sample_weight, trials=trials, outcome_free_weights=outcome_free_weights or None)
        rows = _of_items(y_true, y_probs, items, groups)
    else:
        not_taken("predictors have the same outcomes", items=items)
        columns = (sample_weight, trials, groups, outcome_free_weights)
        rows = {str(k): read_predictor(f"y_probs[{k!r}]", y_true, v, *columns) for k, v in y_probs.items()}
    compare = compare_items_on_rows if isinstance(y_true, Mapping) else compare_pairs_on_rows
    compared = compare(
        list(rows.values()), measure=measure, level=level, n_resamples=n_resamples, random_state=random_state
    )
    return adjusted(rows, compared, level)


def adjusted(
    names: Collection[str], compared: Mapping[tuple[int, int], ComparisonResult], level: float
) -> PairwiseComparison:
    """Every pair of several predictors, with p-values adjusted for their number."""
    results: dict[tuple[str, str], ComparisonResult] = {}
    ranked, values = list(names), dict.fromkeys(names, 0.0)
    for (i, j), result in compared.items():
        values[ranked[i]], values[ranked[j]] = result.value_a, result.value_b
        results[ranked[i], ranked[j]] = result
    ordered = sorted(results, key=lambda pair: results[pair].pvalue)
    raw = np.array([results[pair].pvalue for pair in ordered])
    holm = np.minimum(1.0, np.maximum.accumulate(raw * (len(ordered) - np.arange(len(ordered)))))
    pvalues = {pair: float(p) for pair, p in zip(ordered, holm, strict=True)}
    turned = {pair: pair if results[pair].statistic <= 0.0 else pair[::-1] for pair in ordered}
    return PairwiseComparison(
        values=ReadOnly(dict(sorted(values.items(), key=lambda item: item[1]))),
        pairs=ReadOnly({turned[pair]: _in_turn(results[pair]) for pair in ordered}),
        holm_pvalues=ReadOnly({turned[pair]: pvalues[pair] for pair in ordered}),
        better=tuple(turned[pair] for pair in ordered if pvalues[pair] <= level),
        level=level,
    )


def _of_items(
    outcomes: Mapping[str, Column], y_probs: Mapping[str, Column], items: Any, groups: Any
) -> dict[str, Rows]:
    """Rows of the same items in the order of the first's."""
    if set(outcomes) != set(y_probs):
        raise InputError("y_true", "has other names than y_probs", allowed="both name the same predictors")
    ids = items if isinstance(items, Mapping) else dict.fromkeys(y_probs, None)
    if items is None or set(ids) != set(y_probs):
        ways = f"give the ids of each predictor's items, or items={IN_ORDER!r}"
        raise InputError("items", "do not say which rows of the predictors belong together", allowed=ways)
    first = next(iter(y_probs))
    rows: dict[str, Rows] = {}
    for name, v in y_probs.items():
        of = groups if name == first else None
        own = read_predictor(f"y_probs[{name!r}]", outcomes[name], v, groups=of, outcomes=f"y_true[{name!r}]")
        if rows:
            sizes = rows[first].y_prob.size, own.y_prob.size
            names = f"items[{first!r}]", f"items[{name!r}]"
            matching = matched(items if isinstance(items, str) else ids[first], ids[name], sizes, names)
            rows[first] = replace(rows[first], group=matching.group(rows[first].group))
            own = replace(own.take(matching.place), group=rows[first].group)
        rows[name] = own
    return {str(name): each for name, each in rows.items()}


def _in_turn(comparison: ComparisonResult) -> ComparisonResult:
    return comparison if comparison.statistic <= 0.0 else comparison.swapped()
