"""The verdict: how far, is it real, where, and what to do, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.door.ends import confidence
from calibrant.findings.words import (
    percent,
    periods_in_words,
    population_in_words,
    proved,
    segments_in_words,
    sentence,
)

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.findings.reliability import Reliability


def sentences(audit: Audit) -> tuple[str, ...]:
    """The sentences of the verdict."""
    said = []
    if audit.violations:
        failed = "; ".join(inequality.words for inequality in audit.violations)
        said.append(f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {failed} fails.")
    _, clause = proved(audit.distance.lower, audit.distance.upper)
    said.append(f"Whatever the features, the true distance from calibration of these rows {clause}.")
    if audit.pos_label is not None:
        said.append(f"The positive class is {audit.pos_label!s}: its probability was audited.")
    said += [sentence(each.result.summary()) for each in audit.tests.values() if each.result is not None]
    if audit.classes is not None:
        said += audit.classes.sentences()
    if audit.population is not None:
        said.append(population_in_words(audit.population))
    if audit.regions:
        said.append(sentence(audit.regions[0].summary()))
    elif audit.smooth_calibration_error > 0.0:
        said.append("No stretch of predictions stands out.")
    if audit.reliability.outside is not None:
        said.append(_band(audit.reliability, audit.level, "weight" if audit.weighted else "rows"))
    elif not audit.rates:
        said.append(f"There is no consistency band: {audit.reliability.no_band}.")
    if audit.about_chance:
        said.append(audit.about_chance)
    if audit.segments:
        said.append(segments_in_words(audit.segments, audit.segmented_by, chance=not audit.rates))
    if audit.periods:
        said.append(periods_in_words(audit.periods))
    if audit.advice.scores:
        said.append(f"What to do: {audit.advice.words}")
    return tuple(said)


def _band(table: Reliability, level: float, rows: str) -> str:
    """Over how much the curve leaves its band, beside what calibrated predictions do."""
    outside, usual = table.outside or 0.0, table.outside_if_calibrated or 0.0
    curve = table.kind == "curve"
    sure = confidence(level)
    if outside == 0.0:
        stay = "The reliability curve stays" if curve else "Observed rates stay"
        return f"{stay} within the pointwise {sure} consistency band."
    leave = "The reliability curve leaves" if curve else "Observed rates leave"
    most = f"over up to {percent(usual)}" if usual > 0.0 else "nowhere"
    return (
        f"{leave} the pointwise {sure} consistency band over {percent(outside)} of the {rows}; calibrated predictions "
        f"leave it {most} in {sure} of redraws: {'more than noise' if table.exceeds_noise else 'within noise'}."
    )
