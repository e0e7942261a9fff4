"""The request for a search of segments, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator, whole_from
from calibrant.door.coding import MOST_CATEGORIES
from calibrant.door.errors import InputError
from calibrant.door.request import DEEPEST, MAX_DEPTH, AuditRequest

N_BINS, MIN_ROWS = 10, 50
# Shares of the level that the two p-values get.
BY_REDRAWS, BY_TAIL = 0.99, 0.01
# At smaller levels the usual number of redraws calls nothing off.
LEAST_LEVEL = (1.0 + 1e-9) / (BY_REDRAWS * (1.0 + N_RESAMPLES))
_MOST_BINS = 100
MOST_SEGMENTS = 50_000


@dataclass(frozen=True, slots=True)
class Search:
    """The request for a search of segments; checked when it is made."""

    # max_depth, n_bins, min_rows, level, n_resamples, random_state: as for `find_segments`
    max_depth: int = MAX_DEPTH
    n_bins: int = N_BINS
    min_rows: int = MIN_ROWS
    level: float = 0.05
    n_resamples: int = N_RESAMPLES
    random_state: RandomState = None
    features: tuple[str, ...] | None = None  # columns that the user named; None for every other column
    option: str = "features"  # by which option
    trials: bool = False  # whether weights are numbers of trials
    exclude_bad: bool = False  # whether bad rows are left out
    outcome_free_weights: bool = False  # whether weights are declared to say nothing of outcomes at a given prediction
    # share of rows that were kept of each outcome; None where rows were not sampled by outcome
    sampling_fractions: Any = None
    # whether segments are formed of features and rows alone: those whose rows are predicted 0 or 1 are among them
    any_prediction: bool = False
    # whether rows without weight are those whose outcome at a horizon is not known: segments have them as well
    followed: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be used."""
        for name, least, most in (("max_depth", 1, DEEPEST), ("n_bins", 2, _MOST_BINS)):
            if whole_from(getattr(self, name), name, least) > most:
                raise InputError(name, f"is {getattr(self, name):,}", allowed=f"it must be from {least} to {most}")
        whole_from(self.min_rows, "min_rows", 1)
        check_resamples(self.n_resamples, check_level(self.level), share=BY_REDRAWS)
        generator(self.random_state)

    @classmethod
    def of(cls, request: AuditRequest) -> Search:
        """The search that an audit is asked for."""
        if not request.find:
            return cls()
        return cls(
            max_depth=request.max_depth,
            level=request.level,
            n_resamples=request.n_resamples,
            random_state=request.random_state,
            features=named(request.find),
            option="find",
            trials=request.trials is not None,
            exclude_bad=request.exclude_bad,
            outcome_free_weights=request.outcome_free_weights,
            sampling_fractions=request.sampling_fractions,
        )

    def categories(self, n_numbers: int, texts: Sequence[int]) -> int:
        """Largest number of a text's values that are kept apart, beside features of so many values each.

        As many as leave no more combinations possible than can be tested, and at least as many as of a number. A text
        of no values is one that is refused.
        """
        low, high = self.n_bins - 1, max(MOST_CATEGORIES, self.n_bins - 1)
        while low < high:
            most = (low + high + 1) // 2
            low, high = (most, high) if self._possible(n_numbers, texts, most) <= MOST_SEGMENTS else (low, most - 1)
        return low

    def _possible(self, n_numbers: int, texts: Sequence[int], most: int) -> int:
        """Combinations of up to `max_depth` features, each with the rest together and missing values."""
        of_depth = [1] + [0] * self.max_depth
        for size in [*([self.n_bins + 1] * n_numbers), *(min(each, most) + 2 for each in texts if each)]:
            for depth in range(self.max_depth, 0, -1):
                of_depth[depth] += size * of_depth[depth - 1]
        return sum(of_depth)


def names_of(features: str | Sequence[str] | None, option: str = "features") -> tuple[str, ...] | None:
    """The features that were named; none is an error, and so is one twice."""
    if features is None:
        return None
    if isinstance(features, str):
        features = (features,)
    if isinstance(features, bytes) or not isinstance(features, Sequence):
        raise InputError(option, f"is {features!r:.40}", allowed="it must be the name of a column, or several")
    for name in features:
        if not isinstance(name, str) or not name:
            raise InputError(option, f"names {name!r:.40}; a column's name is text, and not empty")
    if not features or len(set(features)) < len(features):
        raise InputError(option, "is empty" if not features else "names a column twice", allowed="name each once")
    return tuple(features)


# Stands for every column where segments are to be found.
EVERY = ("all",)


def named(find: tuple[str, ...]) -> tuple[str, ...] | None:
    """The features that `find` names; None for every other column."""
    return None if find == EVERY else names_of(find, "find")
