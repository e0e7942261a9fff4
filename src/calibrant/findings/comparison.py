"""Two audits or more side by side, and whether the differences are more than chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import seeded
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import as_points, confidence, in_points, in_short
from calibrant.door.errors import InputError
from calibrant.door.identity import identities
from calibrant.door.request import AUDIT, AuditRequest, refuse_idle
from calibrant.door.values import counted, in_a_row
from calibrant.findings import word_catalogue as say
from calibrant.findings.action_catalogue import DO, short_action, to_repair
from calibrant.findings.catalogue import chance_in_words, outcomes_differ, p_in_words, state_in_words
from calibrant.findings.decision import few_groups, few_groups_err, has_draws
from calibrant.findings.matching import UNPAIRED, Match, Pairing, ways_to_match
from calibrant.findings.record import Finding
from calibrant.findings.results import Audit
from calibrant.findings.word_catalogue import number
from calibrant.inference.bounds.gate import least_in_short, most_in_short
from calibrant.inference.comparison.compare import ComparisonResult, compare_calibration
from calibrant.inference.comparison.items import IN_ORDER, Matching
from calibrant.inference.comparison.pairwise import PairwiseComparison, compare_all
from calibrant.recalibration.choose import level_and_slope

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
_MOST_ROWS = 1_000_000
_SMOOTH = "By the smooth calibration error"
_RESAMPLES = 199  # each evaluates the measure on four times the rows, and a page must not take minutes


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Finding):
    """Audits of two predictors or more."""

    names: tuple[str, ...]  # what they are called
    audits: tuple[Audit, ...]  # their audits
    # of two, the paired comparison of their smooth errors; None where the rows are not the same
    result: ComparisonResult | None
    pairs: PairwiseComparison | None  # of more, the comparison of every pair; None where the rows are not the same
    not_compared: str | None  # why there is neither
    seed: int | None = None  # gives the audits and the comparison again; None where they do not share one
    # number of items that all were asked about, with outcomes of their own; None where outcomes are the same
    same_items: int | None = None
    n_differing: int | None = None  # in how many of these not all outcomes are equal
    matching: str | None = None  # of several files, how their rows were matched, in a sentence

    def __repr__(self) -> str:
        """The headline."""
        return f"Comparison({self.headline.removesuffix('.')})"

    @property
    def headline(self) -> str:
        """Say which is better calibrated, and whether that is chance."""
        return self._said()[0]

    @property
    def details(self) -> tuple[str, ...]:
        """By how much."""
        return self._said()[1:]

    @property
    def sentence(self) -> str:
        """Headline and details."""
        return " ".join(self._said())

    def _said(self) -> tuple[str, ...]:
        if self.pairs is not None:
            ranks = *_of_all(self.pairs, self._on), *self._other_order(self.pairs)
            return *ranks, *self._differing(), self._advice()
        if self.result is None:
            which = "two" if len(self.names) == 2 else f"{len(self.names)}"
            return say.NOT_COMPARED.format(which=which, why=self.not_compared), self._advice()
        first, second = self.names
        result, low, high = self.result, *self.result.interval
        sure = f"{confidence(result.level)} confidence"
        rows = self._on or f" on the same {counted(self.audits[0].n_rows, 'row')}"
        better, worse = (first, second) if result.statistic < 0.0 else (second, first)
        near, far = sorted((abs(low), abs(high)))
        size = in_points(in_short(abs(result.statistic)))
        likely = f"likely {as_points(in_short(near, ROUND_FLOOR))} to {as_points(in_short(far, ROUND_CEILING))}"
        ranked: tuple[str, ...] = ()
        if not result.reject:
            least, most = (as_points(in_short(low, ROUND_FLOOR)), as_points(in_short(high, ROUND_CEILING)))
            lines = (
                f"Neither of {first} and {second} is proved better calibrated{rows} (p > {result.level:g}).",
                self._far((first, second), sure),
                f"{_SMOOTH} {first}'s less {second}'s is likely {least} to {most} points ({sure}).",
            )
        elif self._moves(better) > self._moves(worse):
            lines = (
                say.NOT_RANKED.format(first=first, second=second, rows=rows),
                self._far((better, worse), sure),
                f"{_SMOOTH} {better} is better by {size}, {likely} ({sure}).",
            )
        else:
            real = f"{chance_in_words(result.pvalue, result.level)} ({p_in_words(result.pvalue, result.level)})"
            lines = (
                f"{better} is better calibrated than {worse}{rows}. {real}.",
                self._far((worse, better), sure),
                f"{_SMOOTH} they differ by {size}, {likely}.",
            )
            ranked = better, worse
        return *lines, *self._differing(), self._advice(*ranked)

    def _differing(self) -> tuple[str, ...]:
        """In how many items outcomes differ, where they are of their own."""
        if self.same_items is None or self.n_differing is None:
            return ()
        return (outcomes_differ(self.n_differing, self.same_items),)

    def _far(self, names: Sequence[str], sure: str) -> str:
        """Say how far the predictions of each would have to move: an estimate where an error is proved, or the most."""
        (one, far), (other, near) = ((name, self._distance(name)) for name in names)
        bound = f" ({sure})" if "at most" in f"{far}{near}" else ""
        first = f"Predictions of {one} would have to move by {far}."
        return f"{first} Those of {other} would have to move by {near.replace(' on average', '')}{bound}."

    def _moves(self, name: str) -> float:
        """Say how far the predictions would have to move, as it is printed."""
        return float(in_short(self.audits[self.names.index(name)].answer.size))

    def _other_order(self, pairs: PairwiseComparison) -> tuple[str, ...]:
        """That predictions of another would have to move least, where one is proved best."""
        best, nearest = next(iter(pairs.values)), min(self.names, key=self._moves)
        if not pairs.better or self._moves(best) <= self._moves(nearest):
            return ()
        least = in_points(in_short(self._moves(nearest)))
        return (say.NEAREST.format(name=nearest, least=least),)

    def _distance(self, name: str) -> str:
        """An estimate with its interval where an error is proved, else the most that may hide."""
        answer = self.audits[self.names.index(name)].answer
        if answer.interval is None:
            return f"{in_points(in_short(answer.size))} on average on these rows"
        most = most_in_short(answer.interval, answer.max_distance)
        if answer.state in ("no evidence", "too few rows"):
            return f"at most {in_points(most)} on average"
        least = least_in_short(answer.interval, answer.max_distance)
        return f"{in_points(in_short(answer.size))} on average, likely {as_points(least)} to {as_points(most)}"

    def _advice(self, better: str = "", worse: str = "") -> str:
        """Say what to do about each: first those to correct, then those without a sign of error, then others."""
        clauses: dict[str, list[str]] = {kind: [] for kind in ("correct", "few", "unseen", "fine", "other")}
        for name, audit in zip(self.names, self.audits, strict=True):
            kind, clause = _to_do(name, audit)
            clauses[kind].append(clause)
        correct, few, unseen, fine, other = clauses.values()
        before = []
        if correct:
            before.append(f"correct {in_a_row(correct)} before you use {'it' if len(correct) == 1 else 'them'}")
        # In as many digits as are told: a map that keeps the order moves the last ones.
        rank = {name: round(audit.auc or 0.0, 3) for name, audit in zip(self.names, self.audits, strict=True)}
        if better and len(correct) == len(fine) == 1 and correct[0].startswith(worse) and rank[better] >= rank[worse]:
            before = [f"use {better}, or {before[0]}"]
        if few:
            alone = level_and_slope(classes=self.audits[0].classes is not None)
            before.append(say.UNTIL_THEN.format(alone=alone, names=in_a_row(few)))
        if unseen:
            before.append(say.MORE_GROUPS.format(names=in_a_row(unseen)))
        return f"{DO if before else ''}{'; '.join([*before, *fine, *other])}."

    @property
    def _on(self) -> str:
        return "" if self.same_items is None else f" on the same {counted(self.same_items, 'item')}"

    @property
    def title(self) -> str:
        """All names, to stand in a heading."""
        return f"{', '.join(self.names[:-1])} and {self.names[-1]}"

    @property
    def premises(self) -> tuple[str, ...]:
        """A sentence for each premise of all audits, then for those of some alone, after their names."""
        names: dict[str, list[str]] = {}
        for name, audit in zip(self.names, self.audits, strict=True):
            for sentence in audit.premises.sentences:
                names.setdefault(sentence, []).append(name)
        all_of = [sentence for sentence, of in names.items() if len(of) == len(self.names)]
        all_of += [] if self.matching is None else [self.matching]
        return *all_of, *(f"{', '.join(of)}: {sentence}" for sentence, of in names.items() if len(of) < len(self.names))

    def facts(self) -> list[tuple[str, ...]]:
        """The rows of the table that sets them side by side: what, and of each."""
        answers = [audit.answer for audit in self.audits]
        most = ["-" if x.interval is None else most_in_short(x.interval, x.max_distance) for x in answers]
        return [
            ("what it comes to", *(state_in_words(audit.answer, audit) for audit in self.audits)),
            ("direction of the error", *(answer.direction or "none shown" for answer in answers)),
            ("smooth error, points", *(as_points(in_short(a.smooth_calibration_error)) for a in self.audits)),
            ("would have to move by, points", *(as_points(in_short(answer.size)) for answer in answers)),
            ("in the population, at most", *(each if each == "-" else as_points(each) for each in most)),
            ("what to do", *(short_action(audit.answer, audit) for audit in self.audits)),
            ("area under the ROC curve", *("-" if a.auc is None else f"{a.auc:.3f}" for a in self.audits)),
            ("rows", *(f"{a.n_rows:,}" for a in self.audits)),
        ]

    def _table(self) -> Any:
        """One row a forecast."""
        return [
            {
                "name": name,
                "n_rows": audit.n_rows,
                "base_rate": audit.base_rate,
                "mean_prediction": audit.mean_prediction,
                "auc": audit.auc,
                "state": audit.answer.state,
                "direction": audit.answer.direction,
                "pvalue": audit.answer.pvalue,
                **{measure: value.value for measure, value in audit.measures.items()},
            }
            for name, audit in zip(self.names, self.audits, strict=True)
        ]

    def measures(self) -> list[tuple[str, ...]]:
        """The same of every measure."""
        rows = []
        for name, measure in self.audits[0].measures.items():
            values = [audit.measures[name].value for audit in self.audits]
            rows.append((measure.title.lower(), *("-" if value is None else number(value) for value in values)))
        return rows


def _to_do(name: str, audit: Audit) -> tuple[str, str]:
    """The kind of what is advised, and its clause: to correct, of few groups, not seen for few groups, fine, other."""
    answer = audit.answer
    named = name if answer.direction is None else f"{name} ({answer.direction})"
    if answer.action == "recalibrate" and to_repair(answer, audit) is None:
        return "correct", named
    if few_groups_err(answer):
        return "few", named
    if answer.action == "collect more rows" and audit.group_line is not None:
        return "unseen", name
    if answer.state in ("no evidence", "too few rows") and answer.action != "look at the parts":
        return "fine", f"{name} shows {state_in_words(answer, audit)}"
    return "other", f"{name}: {short_action(answer, audit)}"


def _of_all(pairs: PairwiseComparison, on: str) -> tuple[str, ...]:
    """Say which of several is proved better calibrated than all others, or than some; then by how much."""
    ranked = list(pairs.values)
    errors = ", ".join(f"{name} {as_points(in_short(pairs.values[name]))}" for name in ranked)
    sentence = f"Smooth errors in points: {errors}."
    sure = f"at most {pairs.level:.0%} for any of the {len(pairs.pairs)} comparisons to be wrong"
    best = ranked[0]
    beaten = [second for first, second in pairs.better if first == best]
    if len(beaten) == len(ranked) - 1:
        return say.BETTER_THAN_ALL.format(best=best, on=on, sure=sure), sentence
    if not pairs.better:
        return say.NONE_BETTER.format(n=len(ranked), on=on), sentence
    better: dict[str, list[str]] = {}
    for first, second in sorted(pairs.better, key=lambda pair: (ranked.index(pair[0]), ranked.index(pair[1]))):
        better.setdefault(first, []).append(second)
    proved = "; ".join(f"{first} is better calibrated than {in_a_row(those)}" for first, those in better.items())
    return say.NONE_BEST.format(n=len(ranked)), f"Proved: {proved} ({sure}).", sentence


def _parted(own_groups: IntArray | None, other_groups: IntArray | None) -> tuple[int, int | None] | None:
    """Two rows that are of one group in only one of both; one row where a side has no groups; None if there are none.

    What groups are called makes no difference.
    """
    if own_groups is None or other_groups is None:
        return None if own_groups is other_groups else (0, None)
    of = np.unique(np.column_stack([own_groups, other_groups]), axis=0, return_inverse=True)[1].ravel()
    for group in (own_groups, other_groups):
        _, first, number = np.unique(group, return_index=True, return_inverse=True)
        opens = first[number.ravel()]  # of each row the first of its group
        wrong = np.flatnonzero(of[opens] != of)
        if wrong.size:
            return int(opens[wrong[0]]), int(wrong[0])
    return None


def _other_groups(names: Sequence[str], groups_of: Sequence[IntArray | None]) -> str | None:
    """That groups part rows otherwise in one file, where, and what to do; None where they are the same in all."""
    for name, each in zip(names[1:], groups_of[1:], strict=False):
        parted = _parted(groups_of[0], each)
        if parted is None:
            continue
        row, other = parted
        if other is None:
            return say.NO_GROUPS_IN_ONE.format(first=names[0], other=name)
        return say.OTHER_GROUPS.format(row=row, second=other, first=names[0], other=name)
    return None


def compare(
    names: Sequence[str],
    audits: Sequence[Audit],
    rows: Sequence[Rows | None],
    *,
    groups_of: Sequence[IntArray | None] = (),
    weight: FloatArray | None = None,
    outcome_free: bool = False,
    pairing: Pairing = UNPAIRED,
    level: float = 0.05,
    seed: int | None = None,
) -> Comparison:
    """Set audits side by side; where all are of the same rows or items, in the same groups, test the differences.

    `weight` is that of the rows of all, and `outcome_free` says that it tells no outcomes. `pairing` says which rows
    are of the same items, if that is known. Raises InputError if items were given without effect.
    """
    seed = seeded(seed)[1]
    if len(set(names)) < len(names):
        names = [f"{name} ({k})" for k, name in enumerate(names, 1)]
    same = _same_rows(_SameRows(rows, groups_of), pairing.match, explicit=pairing.explicit)
    why_not = pairing.unmatched or _not_of_the_same_rows(names, audits, same, logs=pairing.logs)
    result = pairs = None
    if why_not is None:
        try:
            result, pairs = _test(names, same, level, seed, weight, outcome_free=outcome_free)
        except InputError as problem:
            why_not = str(problem)
    shared = seed if all(audit.seed == seed for audit in audits) else None
    return Comparison(
        tuple(names), tuple(audits), result, pairs, why_not, shared, same.n_items, same.n_differing or None
    )


@dataclass(frozen=True)
class _SameRows:
    """Rows and groups of all audits, in the order of the first's items where these are known."""

    rows: Sequence[Rows | None]
    groups: Sequence[IntArray | None]
    n_items: int | None = None  # with outcomes of their own; None where outcomes are the same, or items not known
    n_differing: int | None = None


def _same_rows(as_read: _SameRows, match: Match | None, *, explicit: bool) -> _SameRows:
    """Rows as they were read, or in the order of the first's items; raises InputError for items without effect."""
    if match is None:
        if explicit:
            raise InputError("items", "are for files of single, unweighted rows with outcomes of 0 or 1, none left out")
        return as_read
    rows = cast("Sequence[Rows]", as_read.rows)
    ordered, groups = _in_one_order(rows, as_read.groups, match.others)
    n_differing = _differing(ordered)
    unmoved = not match.repeated and all(a is b for a, b in zip(ordered, rows, strict=True))
    if explicit and n_differing == 0 and unmoved:
        raise InputError("items", "have no effect: outcomes are the same, row by row")
    return _SameRows(ordered, groups, int(ordered[0][0].size) if n_differing else None, n_differing)


def _differing(rows: Sequence[Rows]) -> int:
    """In how many rows not all outcomes are equal."""
    return int(np.any([each[0] != rows[0][0] for each in rows], axis=0).sum())


def _in_one_order(
    rows: Sequence[Rows], groups_of: Sequence[IntArray | None], matchings: Sequence[Matching]
) -> tuple[list[Rows], list[IntArray | None]]:
    """Rows and groups of each in the order of the first's items; rows of one item are a group where there are none."""
    in_order, grouped = [rows[0]], [matchings[0].group(groups_of[0] if groups_of else None)]
    for k, each in enumerate(matchings, 1):
        y, v = rows[k]
        of, moved = groups_of[k] if groups_of else None, not np.array_equal(each.place, np.arange(each.place.size))
        in_order.append((y[each.place], v[each.place]) if moved else rows[k])
        grouped.append(each.item if of is None else of[each.place])
    return in_order, grouped


def _test(
    names: Sequence[str],
    same: _SameRows,
    level: float,
    seed: int | None,
    weight: FloatArray | None,
    *,
    outcome_free: bool,
) -> tuple[ComparisonResult | None, PairwiseComparison | None]:
    """The comparison of two, or of every pair of more, with one outcome of each row or with those of each file."""
    rows, own = cast("Sequence[Rows]", same.rows), same.n_items is not None
    n_pairs = len(names) * (len(names) - 1) // 2
    enough = max(_RESAMPLES, math.ceil(2.0 * n_pairs / level))
    options: Any = {
        "groups": same.groups[0] if same.groups else None,
        "level": level,
        "n_resamples": enough,
        "random_state": seed,
        **({"items": IN_ORDER} if own else {}),
        **({} if weight is None else {"sample_weight": weight, "outcome_free_weights": outcome_free}),
    }
    outcomes, predictions = ({name: each[k] for name, each in zip(names, rows, strict=True)} for k in (0, 1))
    if n_pairs > 1:
        return None, compare_all(outcomes if own else rows[0][0], predictions, **options)
    (y_true, first), (other, second) = rows
    return compare_calibration(y_true, first, second, y_true_b=other if own else None, **options), None


def uses_seed(comparison: Comparison) -> bool:
    """Whether the comparison, or one of its audits, drew by the seed."""
    return comparison.not_compared is None or any(map(has_draws, comparison.audits))


def refuse_idle_draws(comparison: Comparison, options: Collection[str] | None) -> None:
    """Raise for a seed, or a number of draws, that was given and by which nothing was drawn."""
    idle = set() if uses_seed(comparison) else {"random_state"}
    few = [mode for audit in comparison.audits for mode in few_groups(audit)]
    idle |= {"n_resamples"} if few and not any(map(has_draws, comparison.audits)) else set()
    refuse_idle(AUDIT, idle & set(options or ()), few or ["nothing drawn"], AuditRequest.flag)


def very_same(names: Sequence[str], rows: Sequence[Rows | None]) -> list[str]:
    """Of files that hold the very same rows that they do: they are compared, and each counts for itself."""
    first_with: dict[int, str] = {}
    sentences = []
    for name, each in zip(names, rows, strict=True):
        if each is None:
            continue
        identity = identities(np.asarray(each[0], dtype=np.float64), np.asarray(each[1], dtype=np.float64))[0]
        assert identity.rows is not None
        if first_with.setdefault(identity.rows, name) is not name:
            sentences.append(say.VERY_SAME.format(first=first_with[identity.rows], other=name))
    return sentences


def _unlike(rows: Sequence[Rows]) -> str | None:
    """That numbers of rows differ, or outcomes; None where all are the same."""
    sizes = list(dict.fromkeys(each[0].size for each in rows))
    if len(sizes) > 1:
        return f"they have {' and '.join(f'{size:,}' for size in sizes)} rows"
    n_differing = _differing(rows)
    return f"their outcomes differ in {n_differing:,} of {counted(sizes[0], 'row')}" if n_differing else None


def _not_of_the_same_rows(names: Sequence[str], audits: Sequence[Audit], same: _SameRows, *, logs: bool) -> str | None:
    """Why differences cannot be tested row by row."""
    if any(audit.classes is not None for audit in audits):
        return say.OF_CLASSES
    known = [each for each in same.rows if each is not None]
    if len(known) < len(names):
        return say.NOT_SINGLE
    if any(audit.n_excluded for audit in audits):
        return say.BAD_ROWS
    unlike = None if same.n_items is not None else _unlike(known)
    if unlike is not None:
        alone = len(names) == 2 and all(each is None for each in same.groups)
        others = say.GATE_COMPARES if alone else ""
        return say.SAY_ITEMS.format(unlike=unlike, ways=ways_to_match(logs=logs), others=others)
    parted = _other_groups(names, same.groups)
    if parted is not None:
        return parted
    n_pairs = len(names) * (len(names) - 1) // 2
    if known[0][0].size * n_pairs > _MOST_ROWS:
        with_what = "compare_calibration does it" if n_pairs == 1 else "calibrant.inference.compare_all does it"
        return f"above {_MOST_ROWS // n_pairs:,} rows {with_what}"
    return None
