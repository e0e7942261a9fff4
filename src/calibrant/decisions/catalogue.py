"""All sentences on decisions: decision curves and their bands, costs of thresholds, the clinical panel, the belt."""

from __future__ import annotations

# Decision curves.
NOTHING_LOST = "On these rows acting on the predictions loses nothing against the best cut at any of {where}."
MOST_LOST = (
    "On these rows acting on the predictions loses at most {most:.3g} per row against the best cut for them. This is "
    "at the threshold {threshold:.6g}, of {where} ({rows}, {base_rate:.3g} events)."
)
LOST = "{lost:.3g} per row is lost against the best cut ({where})"
AT_THRESHOLD = (
    "On these rows, at the threshold {threshold:g}, {loss}. Net benefit: {own:.6g}, best cut {best:.6g}, acting on all "
    "{of_all:.6g}, on none 0."
)
NOWHERE_ABOVE = "At none of {where} is the net benefit above 0 with {sure} confidence for all."
ABOVE = (
    "The net benefit is above 0 at {n:,} of {where}, from {low:.6g} to {high:.6g}, with {sure} confidence for all "
    "together."
)

# Why a decision curve has no band.
NOT_INDEPENDENT = "trials of one row, or rows of one group, need not be independent in the population"
NO_TRIALS = "how many outcomes are behind each event rate is not known here"
WEIGHTS_DIFFER = "rows weigh differently; decision_curve(...).band() draws one from the rows themselves"
TOO_FEW = "there are too few of a kind: y_true {problem}; {allowed}"

# Costs of thresholds.
NO_BETTER_CUT = "At no threshold is another cut better on these rows."
NO_BETTER_AT = "At the threshold {threshold:.6g} no other cut is better on these rows."
LOSES = "acting from {here} on loses as much as {cases:g} {errors} in 1,000 rows, against {best}"
ANOTHER_BETTER = "In the population another is better by at most {most} per row {sure}."
COSTS = (
    "In the population {least} more than {most} per row, a missed event counting 1 - t and a needless action t at "
    "threshold t {sure}."
)
ONE_EACH = " (a missed event being worth a needless action)"

# The clinical panel and the belt.
FEW_GROUPS = "{few}: the curve and what follows the intercept have no interval but 0 to 1."
CONTRADICTED = ", {n:,} of them contradicted by the outcome"
CERTAIN = "{predictions} of exactly 0 or 1 left out of the {line}{wrong}."
NOT_WRONG = "Neither level nor slope is proved wrong{why}."
TOGETHER = ", since the two are tested together"
ON_DIAGONAL = "nowhere does it leave the diagonal"
NOT_ALONE = "predictions are not calibrated, though no place alone shows it"
