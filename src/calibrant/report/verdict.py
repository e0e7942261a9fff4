"""The first screen in sentences: the answer, where, how well it ranks, and what is assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.door.ends import confidence
from calibrant.door.values import counted
from calibrant.findings.blamed import Blamed, blamed
from calibrant.findings.two_rules import disagreement
from calibrant.findings.words import (
    found_in_words,
    percent,
    periods_in_words,
    segments_in_words,
)
from calibrant.inference.calibration import CalibrationTestResult

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.findings.reliability import Reliability


def sentences(audit: Audit) -> tuple[str, ...]:
    """The sentences of the verdict."""
    said = []
    if audit.violations:
        failed = "; ".join(inequality.words for inequality in audit.violations)
        said.append(f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {failed} fails.")
    found = audit.answer
    said += [found.headline, *found.details]
    if audit.cost_of_acting is not None and not audit.cost_of_acting.worst:
        said.append(audit.cost_of_acting.summary())
    if audit.pos_label is not None:
        said.append(f"The positive class is {audit.pos_label!s}: its probability was audited.")
    if audit.classes is not None:
        said += audit.classes.sentences()
    where = blamed(audit, found.direction)
    above = None if where is None else where.name
    if audit.segments:
        said.append(segments_in_words(audit.segments, audit.segmented_by, chance=not audit.rates, above=above))
    if audit.found_segments is not None:
        said.append(found_in_words(audit.found_segments, above))
        differ = disagreement(audit)
        if differ is not None:
            said.append(differ)
        said.append("What is said of found segments holds if the predictions were not fitted to these rows.")
    if audit.periods:
        said.append(periods_in_words(audit.periods))
    said.append(discrimination(audit))
    if audit.n_groups is not None:
        said.append(_by_group(audit))
    if audit.about_chance:
        said.append(audit.about_chance)
    return tuple(said)


def _by_group(audit: Audit) -> str:
    """How chance is judged, where it is, and what is not shown for the groups."""
    name = audit.columns.get("groups")
    of = "" if name is None else f" of {name}"
    many, test = counted(audit.n_groups or 0, "group"), audit.tests["calibration_test"].result
    judged = f"Chance is judged by whole groups, {many}{of}. " if isinstance(test, CalibrationTestResult) else ""
    return (
        f"{judged}For groups, the population's cost of acting is not bounded here (calibrant gate --max-regret does)."
    )


def discrimination(audit: Audit) -> str:
    """A useless predictor can be calibrated: how well this one tells outcomes apart."""
    if audit.auc is None:
        return "There is one outcome only, so how well predictions tell outcomes apart is not known."
    told = "area under the ROC curve; 0.5 is a coin, 1 is perfect"
    told += "; below 0.5 it ranks backwards" if audit.answer.action == "check the labels" else ""
    what = "events from the rest" if audit.classes is None else "rows in which its class is right from the rest"
    return f"How well it tells {what}: {audit.auc:.3f} ({told})."


def what_to_do(audit: Audit) -> str:
    """What a section on what to do begins with: the advice, and where parts are to be looked at that first."""
    alone = _to_repair(audit) is not None
    if audit.answer.action != "look at the parts" and not alone:
        return audit.advice.words
    do = audit.answer.details[-1].partition(": ")[2]
    return f"{do[0].upper()}{do[1:]} {'Of all rows together: ' if alone else ''}{audit.advice.words}"


def code(audit: Audit) -> str | None:
    """Lines of Python that do what is advised; None where no recalibration is."""
    where = _to_repair(audit)
    if where is None:
        return audit.advice.code
    y_true, y_prob = (audit.columns.get(each, each) for each in ("y_true", "y_prob"))
    return (
        "from calibrant import SegmentRecalibrator\n"
        f"repair = SegmentRecalibrator({y_prob!r}, features={list(where.features)!r})\n"
        f"repair.fit(rows, rows[{y_true!r}])  # rows kept for this\n"
        "better = repair.predict_proba(new_rows)[:, 1]"
    )


def _to_repair(audit: Audit) -> Blamed | None:
    """The segment that is to be recalibrated, and no other row."""
    found = audit.answer
    return blamed(audit, found.direction) if found.action in ("recalibrate", "look at the parts") else None


def band_in_words(table: Reliability, level: float, rows: str) -> str:
    """Whether, and over how much, the curve leaves the band."""
    what, whole, sure = ("The reliability curve", "curve", confidence(level))
    if table.kind != "curve":
        what, whole = "The observed rates", "rates"
    if not table.leaves_band:
        return f"{what} keep{'s' * (whole == 'curve')} within the {sure} band of a calibrated predictor's {whole}."
    return (
        f"{what} leave{'s' * (whole == 'curve')} the {sure} band of a calibrated predictor's {whole} over "
        f"{percent(table.outside or 0.0)} of the {rows}."
    )
