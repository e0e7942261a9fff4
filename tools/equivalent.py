"""Mutants that change no answer, each with the argument why; `tools/mutate.py` tells them apart from what survives."""

from __future__ import annotations

_SLACK = "the slack is above the rounding of a statistic and below any real difference, before and after"
_SEARCH = "how a search goes on; it ends at the same proof, however it got there"
_LOOK = "how a picture looks: no mark, number or word of it is another"

# file below src/calibrant, function ("" for what runs on import), expression before, expression after: why
EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    ("segments/candidates.py", "", "53", "54"): "1 - 2^-54 is 1, and no prediction lies between 1 - 2^-53 and 1",
    ("measures/distance.py", "check_predictor", "level", "(2 * level)"): (
        "the levels name the parts of a partition; twice the levels name the same parts"
    ),
    ("measures/distance_lattice.py", "solve", "_LOOKS", "(2 * _LOOKS)"): (
        "more looks for a path before the proof, which ends at the shortest path with any number of them"
    ),
    ("measures/distance.py", "partition_by_columns", "3.0", "3.75"): (
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
    ("measures/distance_lattice.py", "_prove", "first.work < second.work", "(not (first.work < second.work))"): _SEARCH,
    ("kernels/lattice.py", "shortest_path", "level", "(2 * level)"): (
        "only looks before the proof leave out what costs more than the cheapest beyond a level"
    ),
    ("kernels/lower_repair.py", "", "1e-3", "0.00125"): _SEARCH,
    ("measures/lower_solve.py", "_refine", "0.9", "1.125"): _SEARCH,
    (
        "measures/lower_solve.py",
        "_refine",
        "u.size > _REPAIRED and not self._rough",
        "(not (u.size > _REPAIRED and (not self._rough)))",
    ): _SEARCH,
    (
        "measures/convolved.py",
        "_crossing",
        "(value > 0.0) == (before > 0.0)",
        "(not ((value > 0.0) == (before > 0.0)))",
    ): "how fast secants close in on the one zero, where they end",
    ("decisions/line.py", "in_the_large", "50.0", "62.5"): "so far out the likelihood is at its limit, here or farther",
    ("inference/bounds/every_measure.py", "teach", "draws.moved is None", "(not (draws.moved is None))"): (
        "what is not learned beforehand is learned when it is asked for"
    ),
    ("door/class_table.py", "_checked", "miss", "(2 * miss)"): (
        "more may be allowed only where every row is within what is usual"
    ),
    ("kernels/found.py", "draw_events", "0.25", "0.3125"): "a buffer that is longer",
    (
        "recalibration/by_segment/boosting.py",
        "_loss",
        "1e-300",
        "1.25e-300",
    ): "a sum of weights is 0 or larger than both",
    ("segments/gate_bounds.py", "_refuted", "1e-9", "1.25e-09"): _SLACK,
    ("report/clinical.py", "_end", "1.3", "1.625"): _LOOK,
    ("report/segments.py", "pair_svg", "0.9", "1.125"): _LOOK,
    ("report/plots.py", "_drift_figure", "72", "73"): _LOOK,
    ("measures/lower.py", "lower_distance_from_rows", "return problem.upper + moved", "pass"): (
        "a faster way to the same distance within `tol`, which is all that is promised"
    ),
    ("recalibration/curves/temperature.py", "", "200", "201"): "more steps than any fit needs",
    ("resampling/folds.py", "cross_fitted", "n_jobs is None", "not (n_jobs is None)"): (
        "the same fits, one after another or beside one another"
    ),
    ("door/sample.py", "total_weight", "return float(self.weight.sum())", "pass"): (
        "whole numbers add up without rounding, compensated or not"
    ),
    (
        "measures/distance_lattice.py",
        "_prove",
        "self.proven = max(self.proven, first.length) return first.work",
        "pass",
    ): "the second search proves as much as the first one did already",
    (
        "measures/distance_lattice.py",
        "solve",
        "2.0 * guess < self.length",
        "(not (2.0 * guess < self.length))",
    ): _SEARCH,
    ("measures/convolved.py", "fixed_point", "return high", "pass"): "secants end at that end at once: the zero",
    ("report/segments.py", "found_svg", "50.0", "62.5"): _LOOK,
}
