"""One planted fault: what each method says of the same rows with it and without it, and who repairs it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow
from scipy.special import rel_entr
from scipy.stats import norm

from calibrant.door.columns import FloatArray
from calibrant.measures.binned import expected_calibration_error
from calibrant.segments.features import read_features
from calibrant.segments.request import MIN_ROWS, N_BINS, Search
from calibrant.segments.results import FoundSegments
from calibrant.segments.search import find_segments
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.segment_repair import METHODS, Part, drawn
from calibrant_papers.segment_search_rates import LEVEL, inside_of

_SIGMAS = 5.0
_BINS = 10
_SHOWN = 3
_LIKE_OURS = {
    "max_depth": 2,
    "max_values_per_segment_feature": N_BINS,
    "min_samples_per_segment": MIN_ROWS,
    "max_n_segments": None,
    "precision_dtype": "float64",
}
Mask = npt.NDArray[np.bool_]


class Said(NamedTuple):
    """What a method says of a table: in one number, and the rows of each segment that it accuses."""

    method: str
    number: str
    accused: list[Mask]


def planted_fault(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Searches, tables and tests of rows with and without a fault, and repairs of it judged on new rows."""
    n = 500 if quick else 20_000
    part, sound, new = (drawn(kind, np.random.default_rng(seed), n) for kind, seed in _PARTS)
    broken = _broken(part)
    (found, masks), (calm, calm_masks) = _found(part), _found(sound)
    names = [found_name(found, i) for i in range(len(masks))]
    errors = np.array([expected_calibration_error(part.outcome[m], part.prediction[m], n_bins=_BINS) for m in masks])
    order = np.argsort(-errors, kind="stable")
    place = next((k for k, i in enumerate(order) if (masks[i] == broken).all()), None)
    ranked = (
        "is not formed"
        if place is None
        else f"has {errors[order[place]]:.3f} and is number {place + 1} of {len(masks)}"
    )
    shown = [
        [names[i], int(masks[i].sum()), f"{errors[i]:.3f}", int((masks[i] & broken).sum())] for i in order[:_SHOWN]
    ]
    body = (
        _INTRODUCTION.format(n=n, broken=int(broken.sum()), segments=len(masks), level=LEVEL)
        + ("" if find_spec("mcgrad") else "\nNot installed here, and left out: mcgrad.\n")
        + "\n## Who finds it\n\n"
        + _accusations(_said(part, found, masks), _said(sound, calm, calm_masks), broken)
        + f"\nA table of expected calibration errors by segment ({_BINS} bins of equal width) raises no alarm; it is read from "
        f"the top. The planted segment {ranked}. The first {_SHOWN}:\n\n"
        + table(["segment", "rows", "error", "rows of the planted segment"], shown)
        + f"\n## Who repairs it\n\n{_REPAIRS.format(n=n)}\n"
        + _repairs(part, new, quick)
    )
    told, without = (", ".join(each.name for each in some.segments) or "nothing" for some in (found, calm))
    finding = (
        f"find_segments names {told} (p = {found.pvalue:.2g}), and {without} where the fault is left out. In a table "
        f"of calibration errors by segment the planted one {ranked}."
    )
    return Reproduction("One planted fault, and what each method says of it", finding, body)


_PARTS = (("pair", 0), ("none", 0), ("pair", 1))
"""Kinds and seeds of the rows with the fault, of the same ones without it, and of new ones that repairs are judged on."""
_INTRODUCTION = """{n:,} rows of six features (`country`, `device`, `plan`, `age`, `income`, `visits`), drawn once. Every prediction is \
the row's true chance, but where `country = jp and device = tablet`, in {broken:,} rows: there the chance is 1.35 times as high. \
`find_segments` with its defaults forms {segments:,} segments of up to two features. MCGrad 0.1.5's `MulticalibrationError` \
is called twice. First it has its own defaults (up to three features, three values of each, the others together). \
Then it has segments like ours. Its p-value \
is that of the worst segment as if there were no other. Its documentation takes .05 as significant and 5 sigma as strong evidence. \
z-tests are of the sum of outcome less prediction in each of our segments. Level {level:g} throughout.
"""
_REPAIRS = """Each is fitted to the rows above and judged on {n:,} new ones. Log score: less that of the predictions as they are, in \
thousandths; excess: what it has above that of the true chances, in thousandths. In the planted segment: mean of \
prediction less true chance. \
Elsewhere: root of the mean squared difference from the true chance. Last, what `find_segments` says of the new rows with the repaired \
predictions. This is one draw; [ten](segment-repair.md) say how often which is better.
"""


def columns_of(part: Part) -> dict[str, Any]:
    """The table that a user has."""
    return {**part.features, "score": part.prediction, "clicked": part.outcome}


def _broken(part: Part) -> Mask:
    return np.asarray((part.features["country"] == "jp") & (part.features["device"] == "tablet"))


def _found(part: Part) -> tuple[FoundSegments, list[Mask]]:
    """What is found, and the rows of every segment that was tested."""
    frame = pyarrow.table(columns_of(part))
    found = find_segments(frame, y_true="clicked", y_prob="score", random_state=0)
    rows = {"y_true": part.outcome.astype(np.float64), "y_prob": part.prediction}
    columns = {name: frame[name] for name in found.features}
    features, _ = read_features(columns, rows, Search(features=tuple(columns)))
    fixed = [tuple(zip(*each, strict=True)) or ((), ()) for each in found.made_of]
    return found, [inside_of(features, *each) for each in fixed]


def found_name(found: FoundSegments, segment: int) -> str:
    """What holds in a segment that was tested."""
    labels = list(found.features.values())
    return " and ".join(labels[i][value] for i, value in found.made_of[segment]) or "all rows"


def _said(part: Part, found: FoundSegments, masks: list[Mask]) -> list[Said]:
    """What all methods say of a table."""
    told = {each.name for each in found.segments}
    named = np.array([found_name(found, i) in told for i in range(len(masks))])
    off, variance = part.outcome - part.prediction, part.prediction * (1.0 - part.prediction)
    single = np.array([2.0 * norm.sf(abs(off[mask].sum()) / np.sqrt(variance[mask].sum())) for mask in masks])
    adjusted = np.minimum(1.0, single * len(masks))
    own = f"p = {found.pvalue:.2g}"
    both = (("its defaults", {}), ("segments like ours", _LIKE_OURS)) if find_spec("mcgrad") else ()
    return [
        Said("`find_segments`, listed", own, _those(masks, named)),
        Said("`find_segments`, proved to be off", own, _those(masks, found.tested[:, 2] <= LEVEL)),
        *(said for settings, options in both for said in _mcgrad(part, settings, options)),
        Said("z-tests, Bonferroni", f"p = {adjusted.min():.2g}", _those(masks, adjusted <= LEVEL)),
        Said("z-tests, one by one", f"p = {single.min():.2g}", _those(masks, single <= LEVEL)),
    ]


def _those(masks: list[Mask], accused: Mask) -> list[Mask]:
    return [masks[i] for i in np.flatnonzero(accused)]


def _mcgrad(part: Part, settings: str, options: dict[str, Any]) -> list[Said]:
    """MCGrad's metric by both of its rules."""
    numbers = [name for name, values in part.features.items() if np.asarray(values).dtype.kind in "fi"]
    n = part.outcome.size
    metric = import_module("mcgrad.metrics").MulticalibrationError(
        df=import_module("pandas").DataFrame({**columns_of(part), "row": np.arange(n)}),
        label_column="clicked",
        score_column="score",
        categorical_segment_columns=[name for name in part.features if name not in numbers],
        numerical_segment_columns=numbers,
        **options,
    )
    sigmas, pvalues = np.asarray(metric.segments_ecce_sigma), np.asarray(metric.segments_ecce_pvalue)
    held = metric._segments[0].reshape(-1, n)[: sigmas.size]
    masks = list(held[:, np.argsort(metric.df["row"].to_numpy())])  # it sorts rows by their scores
    return [
        Said(f"MCGrad's p-value, {settings}", f"p = {float(metric.mce_pvalue):.2g}", _those(masks, pvalues <= LEVEL)),
        Said(f"MCGrad's 5 sigma, {settings}", f"{float(metric.mce_sigma):.1f} sigma", _those(masks, sigmas >= _SIGMAS)),
    ]


def _accusations(with_fault: list[Said], without: list[Said], broken: Mask) -> str:
    """Accusations with the fault and without it, by whether they are true."""
    rows = []
    for said, then in zip(with_fault, without, strict=True):
        planted = sum((mask == broken).all() for mask in said.accused)
        sound = sum(not (mask & broken).any() for mask in said.accused)
        others = len(said.accused) - sound - planted
        rows.append(
            [said.method, said.number, "yes" if planted else "no", others, sound, then.number, len(then.accused)]
        )
    head = ["method", "says", "finds the planted segment", "others that share its rows", "false alarms"]
    return table([*head, "says without the fault", "false alarms then"], rows)


def _repairs(part: Part, new: Part, quick: bool) -> str:
    """Every repair on new rows."""
    assert new.true is not None
    broken, true, y = _broken(new), new.true, new.outcome

    def log_score(event: FloatArray) -> float:
        return float(-np.mean(np.where(y == 1, np.log(event), np.log1p(-event))))

    rows = []
    for name, method in METHODS.items():
        if (name == "MCGrad" and not find_spec("mcgrad")) or (quick and name not in ("unchanged", "Platt")):
            continue
        predict, chosen = method(part)
        event = predict(new)
        after = _found(new._replace(prediction=event))[0]
        rows.append(
            [
                f"{name} ({chosen})" if name == "ours" else name,
                f"{1000.0 * (log_score(event) - log_score(new.prediction)):+.2f}",
                f"{1000.0 * np.mean(rel_entr(true, event) + rel_entr(1.0 - true, 1.0 - event)):.2f}",
                f"{np.mean((event - true)[broken]):+.4f}",
                f"{np.sqrt(np.mean((event - true)[~broken] ** 2)):.4f}",
                f"p = {after.pvalue:.2g}",
                "; ".join(each.name for each in after.segments) or "nothing",
            ]
        )
    head = ["method", "log score", "excess", "in the planted segment", "elsewhere", "then", "listed then"]
    return table(head, rows)
