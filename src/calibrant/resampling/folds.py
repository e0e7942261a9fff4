"""Rows dealt into parts, and every row predicted by a fit that has not seen it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import whole_from
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError

Split: TypeAlias = tuple[IntArray, IntArray]
"""Rows to fit to, and rows to predict."""


def folds(
    labels: npt.NDArray[Any], cv: Any, *, table: Any = None, groups: Any = None, seed: int | None = None
) -> list[Split]:
    """Deal rows into parts, and return for each the rows outside and inside it.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Parts get the same share of each, as far as a label with fewer rows than parts allows.
    cv : int, splitter or iterable
        Number of parts, or how rows are split, as scikit-learn means it.
    table : table of n rows, optional
        What a splitter is shown.
    groups : column of shape (n,), optional
        Rows of one group stay together.
    seed : int, optional
        Rows are dealt at random; without it in their order.

    Raises
    ------
    InputError
        If there are fewer rows or groups than parts, a row is in no part or in two, or a group is on both sides.
    """
    n = labels.size
    table = np.zeros(n) if table is None else table
    group = None if groups is None else _read_groups(groups, n)
    if not isinstance(cv, str) and (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        from sklearn.model_selection import check_cv

        splitter = check_cv(cv, labels, classifier=True)
        try:
            pairs = list(splitter.split(table, labels, group if _takes_groups(splitter) else None))
        except ValueError as problem:
            raise InputError("cv", f"cannot split these rows: {problem}") from None
    else:
        parts = whole_from(cv, "cv", 2)
        kinds = n if group is None else np.unique(group).size
        if kinds < parts:
            where, what = ("cv", "rows") if group is None else ("groups", "groups")
            raise InputError(where, f"has {kinds:,} {what} for {parts} parts; each part needs one")
        pairs = _dealt(labels, parts, seed) if group is None and seed is not None else _cut(labels, parts, group, seed)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs if len(test)]
    _check_each_row_once(splits, n)
    if group is not None:
        _check_apart(splits, group)
    return splits


def _read_groups(groups: Any, n: int) -> npt.NDArray[Any]:
    group = np.asarray(groups)
    if group.shape != (n,):
        raise InputError("groups", f"has shape {group.shape}; one group per row, ({n},), is needed")
    missing = [each is None or each != each for each in group.tolist()]
    if any(missing):
        row = missing.index(True)
        raise InputError("groups", f"row {row} is {group[row]!s}; every row needs a group", row=row)
    try:
        np.unique(group)
    except TypeError:
        raise InputError("groups", "holds names of several types; write all in one way") from None
    return group


def cross_fitted(
    fit_and_predict: Callable[[IntArray, IntArray], FloatArray], splits: list[Split], *, n_jobs: int | None = None
) -> FloatArray:
    """Rows as predicted by a fit to the other parts, in their order: fit_and_predict(rows to fit to, to predict)."""
    if n_jobs is None:
        parts = [fit_and_predict(train, test) for train, test in splits]
    else:
        from sklearn.utils.parallel import Parallel, delayed

        parts = Parallel(n_jobs=n_jobs)(delayed(fit_and_predict)(train, test) for train, test in splits)
    return np.asarray(np.concatenate(parts)[np.argsort(np.concatenate([test for _, test in splits]))])


def _dealt(labels: npt.NDArray[Any], parts: int, seed: int) -> list[Split]:
    """Rows dealt at random like cards, sorted by their labels: parts differ by at most one of each, and by one in all.

    This way needs no scikit-learn, which takes a second to load.
    """
    shuffled = np.random.default_rng(seed).permutation(labels.size)
    part = np.empty(labels.size, dtype=np.int64)
    part[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(labels.size) % parts
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(parts)]


def _cut(labels: npt.NDArray[Any], parts: int, group: Any, seed: int | None) -> list[Split]:
    """Parts as scikit-learn makes them: in the order of the rows, or of whole groups."""
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

    table = np.zeros(labels.size)
    if group is not None:
        return list(
            StratifiedGroupKFold(parts, shuffle=seed is not None, random_state=seed).split(table, labels, group)
        )
    rarest = np.unique(labels, return_counts=True)[1].min()
    return list((StratifiedKFold if rarest >= parts else KFold)(parts).split(table, labels))


def _takes_groups(splitter: Any) -> bool:
    """Whether a splitter looks at groups; scikit-learn's that do not would warn, and one of your own may."""
    routing = getattr(splitter, "get_metadata_routing", None)
    return routing is None or bool(routing().consumes("split", ["groups"]))


def _check_each_row_once(splits: list[Split], n: int) -> None:
    times = np.zeros(n, dtype=np.int64)
    for _, test in splits:
        np.add.at(times, test, 1)
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise InputError("cv", f"predicts row {row} {times[row]} times; every row must be in one part, and in one only")


def _check_apart(splits: list[Split], group: npt.NDArray[Any]) -> None:
    for train, test in splits:
        both = set(group[train].tolist()) & set(group[test].tolist())
        if both:
            shown = f"{next(iter(both))!r:.40}"
            raise InputError(
                "cv", f"puts rows of group {shown} on both sides of a split; give a number of parts instead"
            )
