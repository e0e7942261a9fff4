"""Mutants that change no answer, each with the argument why; `tools/mutate.py` tells them apart from what survives."""

from __future__ import annotations

_SLACK = "the slack is above the rounding of a statistic and below any real difference, before and after"

# file below src/calibrant, function ("" for what runs on import), expression before, expression after: why
EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    ("segments/candidates.py", "", "53", "54"): "1 - 2^-54 is 1, and no prediction lies between 1 - 2^-53 and 1",
    ("measures/distance.py", "check_predictor", "level", "(2 * level)"): (
        "the levels name the parts of a partition; twice the levels name the same parts"
    ),
    ("measures/distance_lattice.py", "solve", "_LOOKS", "(2 * _LOOKS)"): (
        "more looks for a path before the proof, which ends at the shortest path with any number of them"
    ),
    ("measures/distance_columns.py", "partition_by_columns", "3.0", "3.75"): (
        "how fast the budget grows; the proof ends at the gap, however it got there"
    ),
    ("measures/logistic.py", "", "1e-9", "1.25e-09"): "both methods of the fit end at the one optimum",
    ("measures/lower_solve.py", "_lift_coupling", "cost < self.upper", "(cost <= self.upper)"): (
        "one coupling takes the place of another that costs the same"
    ),
    ("findings/reliability.py", "reflected_gaussian", "image <= at.max() + far", "(image < at.max() + far)"): (
        "a kernel is left out right where it has vanished"
    ),
    ("resampling/redraw.py", "pvalues_among", "1e-12", "1.25e-12"): _SLACK,
    ("resampling/redraw.py", "joint_pvalue", "1e-12", "1.25e-12"): _SLACK,
}
