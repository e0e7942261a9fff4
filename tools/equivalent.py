"""Mutants that change no answer, each with the argument why; `tools/mutate.py` tells them apart from what survives.

Some follow from what a number is (`RULES`); of the others each place is named (`EQUIVALENT`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mutants import Mutant

_SEARCH = "how a search goes on; it ends at the same proof, however it got there"
_PRUNED = "what leaves out less of what is on no path that is short enough; the path that is found is the same"
_LOOK = "how a picture looks: no mark, number or word of it is another"

# file below src/calibrant, function ("" for what runs on import), expression before, expression after; and where that
# is not one place, the line of code (of a guard the one before): why
EQUIVALENT: dict[tuple[str, ...], str] = {
    **{
        ("kernels/lattice.py", "shortest_path", *change): _PRUNED
        for change in (
            ("state = before[state, 1] continue", "pass", "if start > most:"),
            (
                "state = before[state, 1] continue",
                "pass",
                "if far_table[here] == _EMPTY or start + far_cost[far_table[here]] > total:",
            ),
            ("continue", "pass", "if mu2 < steepest and b > 0:"),
            ("2.0", "2.5", "if here_slack - 2.0 / n1 <= allowed and mu > steepest:"),
            ("2.0", "2.5", "if here_slack - 2.0 / n2 <= allowed:"),
            ("1.0", "1.25", "if 0.5 * (here_slack + edge_slack) - 1.0 / n1 <= allowed:"),
            ("1.0", "1.25", "if 0.5 * (here_slack + edge_slack) - 1.0 / n2 <= allowed:"),
            ("continue", "pass", "if inherited * n2 > 1.0:"),
        )
    },
    ("kernels/two_rows.py", "cut_in_step", "continue", "pass", "if cost[s] > most:"): _PRUNED,
    **{
        ("kernels/columns.py", "credit_overdraft", "k == 0", after): "both places are looked at, in the other order"
        for after in ("(not (k == 0))", "(k != 0)")
    },
    (
        "kernels/columns.py",
        "parts_within",
        "0",
        "1",
        "if steps > most[0] or count > most[1] or (steps & _LOOK == 0 and stop[0] != 0):",
    ): "it looks as often whether to stop, at other steps",
    (
        "kernels/columns.py",
        "parts_within",
        "continue",
        "pass",
        "if above[depth] > 1e-12 or below[depth] < -1e-12:",
    ): "such a part has its mean in another cell, which is asked next, at more cost",
    **{
        (
            "kernels/partitions.py",
            "improve",
            "continue",
            "pass",
            line,
        ): "a move that changes nothing is tried, and undone"
        for line in (
            "if name == here or (empty and tried_empty):",
            "if here == there:",
            "if cost[name] == 0.0 or cost[other] == 0.0:",
        )
    },
    ("kernels/lowess.py", "local_weights", "0.0", "1.0", "if far <= 0.999 * width or far == 0.0:"): (
        "a place itself is within every width"
    ),
    ("segments/by_groups.py", "sums_again", "continue", "pass", "if here.start == here.stop:"): (
        "sums of no parts, which add no rows"
    ),
    (
        "recalibration/curves/averaged.py",
        "fit_cells",
        "1.0",
        "1.25",
        "self.weights_ = {name: min(1.0, float(sum(m.weight for m in members if m.name == name))) for name in MEMBERS}",
    ): "weights add up to more than 1 by rounding only",
    ("measures/lower.py", "_play", "8", "9", "if step == most or step % max(8, step // 8) == 0:"): (
        "how often it is looked whether the bracket is narrow enough"
    ),
    (
        "cli/compilation.py",
        "_fit",
        "0.0",
        "1.0",
    ): "which labels they are does not matter where kernels are compiled for them",
    ("tables/features.py", "values", "2", "3", "groups = _here(grouped.head(MOST_VALUES + 2))"): (
        "one value more is read of those that are too many"
    ),
    (
        "kernels/lower.py",
        "_repaired",
        "return gap",
        "pass",
    ): ("where a part of the gap is too much, so is the whole"),
    ("recalibration/curves/scaling.py", "temperature", "return 1.0 / after", "pass"): (
        "a bisection goes on where there is nothing in between"
    ),
    ("kernels/lower.py", "longer", "return True, far, long, aimed", "pass"): _SEARCH,
    (
        "door/identity.py",
        "information",
        "1.0",
        "1.25",
        "bits -= float(np.log2(np.minimum(np.maximum(*equal), 1.0)).sum())",
    ): "the mean of numbers that are at most 1 is above 1 by rounding only",
    ("drift/periods.py", "update", "self._looks > 1", "(self._looks >= 1)"): (
        "the first period together with no other is itself, looked at again"
    ),
    **{
        ("measures/distance_lattice.py", function, f"{size} <= {most}", f"({size} < {most})"): (
            "what is as far as the tolerance, to the last bit, may be taken either way: both are proved"
        )
        for function, size, most in (
            ("_exactly_one_way", "overdraft(made[0])", "_CLOSED"),
            *(
                ("_one_way_within", f"np.abs({each})", "near")
                for each in ("r0 - nodes", "r1 + 1.0 - nodes", "r0 + nodes", "r1 - 1.0 + nodes")
            ),
        )
    },
    **{
        ("recalibration/curves/scaling.py", "bin_edges", "0", "1", line): (
            "a faster way to the same sums of rows without weights"
        )
        for line in (
            "unweighted = weight.strides == (0,) or _in_proportion(weight, count)",
            "below = np.arange(1.0, weight.size + 1.0) if weight.strides == (0,) else np.cumsum(rows)",
        )
    },
    ("measures/distance.py", "check_predictor", "level", "(2 * level)"): (
        "the levels name the parts of a partition; twice the levels name the same parts"
    ),
    ("measures/distance_lattice.py", "solve", "indifferent", "(not (indifferent))"): (
        "how fast the guess grows to the length of the shortest known path: each is proved, and the last is that length"
    ),
    ("measures/distance_lattice.py", "solve", "_LOOKS", "(2 * _LOOKS)"): (
        "more looks for a path before the proof, which ends at the shortest path with any number of them"
    ),
    **{
        ("recalibration/curves/scaling.py", "", "1.01", "1.2625", line): "more than any; a quarter more is so as well"
        for line in (
            "_STEEPEST = 1.01 * FARTHEST / _LEAST_SPREAD",
            "_HIGHEST = 1.01 * (FARTHEST + 2.0 * LARGEST_LOG_ODDS * _STEEPEST)",
        )
    },
    ("measures/distance.py", "partition_by_columns", "3.0", "3.75"): (
        "how fast the budget grows; the proof ends at the gap, however it got there"
    ),
    ("measures/lower_solve.py", "_lift_coupling", "cost < self.upper", "(cost <= self.upper)"): (
        "one coupling takes the place of another that costs the same"
    ),
    (
        "measures/distance_lattice.py",
        "_prove",
        "max(first.work, second.work) > 2 * min(first.work, second.work)",
        "not (max(first.work, second.work) > 2 * min(first.work, second.work))",
    ): _SEARCH,
    ("measures/distance_lattice.py", "_prove", "first.work < second.work", "(not (first.work < second.work))"): _SEARCH,
    ("kernels/lattice.py", "shortest_path", "level", "(2 * level)"): (
        "only looks before the proof leave out what costs more than the cheapest beyond a level"
    ),
    ("kernels/lower.py", "", "1e-3", "0.00125"): _SEARCH,
    (
        "measures/lower_solve.py",
        "_lowered",
        "n_nodes > _REPAIRED and not self._rough",
        "(not (n_nodes > _REPAIRED and (not self._rough)))",
    ): _SEARCH,
    (
        "measures/kernel.py",
        "_crossing",
        "(value > 0.0) == (before > 0.0)",
        "(not ((value > 0.0) == (before > 0.0)))",
    ): "how fast secants close in on the one zero, where they end",
    ("decisions/line.py", "in_the_large", "50.0", "62.5"): "so far out the likelihood is at its limit, here or farther",
    ("inference/bounds/population.py", "teach", "draws.moved is None", "(not (draws.moved is None))"): (
        "what is not learned beforehand is learned when it is asked for"
    ),
    ("resampling/redraw.py", "_of_signs", "1", "2"): "a sign is drawn for one group more, which has no rows",
    ("resampling/redraw.py", "", "2.0", "2.5", "_EXPONENTS = 2.0 ** np.arange(-4.0, 5.0)"): (
        "which exponents are tried: each gives a bound that holds, by Chernoff"
    ),
    (
        "drift/periods.py",
        "_transport",
        "1.0",
        "1.25",
        "above = np.divide(counts.high - mean, width, out=np.zeros_like(mean), where=(width > 0.0) & (rows > 1.0))",
    ): "rows are whole numbers: more than 1 of them are more than 1.25",
    (
        "drift/periods.py",
        "periods_of_groups",
        "1",
        "2",
        "by_group = None if group is None else GroupMonitor(int(group.max()) + 1, level)",
    ): "one group more, which has no rows: sums of nothing are 0, and add 0",
    ("door/classes.py", "_checked", "miss", "(2 * miss)"): (
        "more may be allowed only where every row is within what is usual"
    ),
    ("kernels/excursions.py", "draw_events", "0.25", "0.3125"): "a buffer that is longer",
    ("kernels/excursions.py", "draw_events", "50.0", "62.5"): "a buffer that is longer",
    **{
        ("kernels/calibration.py", "redrawn_statistics", before, after): "a buffer that is longer"
        for before, after in (("10.0", "12.5"), ("0.25", "0.3125"), ("50.0", "62.5"))
    },
    ("kernels/calibration.py", "redrawn_statistics", "0.0", "1.0", "most = 0.0"): "every unit has a row at least",
    ("kernels/identity.py", "sample", "0", "1", "if other[j, 0] != 0 and _is_left(x, level):"): (
        "the hash of the number 0, and that of an empty slot, begin with a bit of 1: neither is left at any level"
    ),
    (
        "kernels/poisson_binomial.py",
        "log_upper_tail",
        "1.0",
        "1.25",
        "logit[j] = -np.inf if p <= 0.0 else np.inf if p >= 1.0 else math.log(p) - math.log1p(-p)",
    ): "no chance is above 1, and of 1 itself the logarithms say the same",
    ("kernels/interval.py", "sliding_window", "300", "301"): "a power of two, by which numbers are exact",
    ("kernels/poisson_binomial.py", "_softplus", "0.0", "1.0"): "both ways are the same number, up to 1",
    ("measures/smooth.py", "largest_correlation", "return error", "pass"): "a slower way to the same number",
    ("measures/smooth.py", "largest_correlation", "v.size >= _MANY", "not (v.size >= _MANY)"): (
        "which of two ways to the same number takes less time"
    ),
    ("measures/lower_solve.py", "_refine", "return", "pass", "if attempt >= len(_ATTEMPTS):"): (
        "when a search is given up: it ends after so many rounds as well, and keeps the best that it has proved"
    ),
    ("measures/smooth.py", "_of_keys", "return error / keys.size", "pass"): "a slower way to the same number",
    ("report/diagram.py", "_drift_figure", "72", "73"): _LOOK,
    (
        "findings/hints.py",
        "columns_of_leaving",
        "0",
        "1",
        "while free and len(found) < _MOST_COLUMNS and within.max(initial=0) < _MOST_CROSSED:",
    ): "0 and 1 are both below the most",
    **{
        ("findings/arrays.py", "audit_classes", before, after): "another seed of the redraws, as good"
        for before, after in (("2", "3"), ("31", "32"))
    },
    (
        "findings/arrays.py",
        "audit_classes",
        "0",
        "1",
    ): "at any level a single redraw is refused: there are none, or three and more",
    ("measures/lower.py", "lower_distance_from_rows", "return problem.upper + moved", "pass"): (
        "a faster way to the same distance within `tol`, which is all that is promised"
    ),
    ("recalibration/curves/scaling.py", "", "200", "201"): "more steps than any fit needs",
    (
        "recalibration/by_segment/estimator.py",
        "compared",
        "level",
        "(2 * level)",
        "mean = {name: mean_with_interval(each, mass, level, rows.group)[0] for name, each in loss.items()}",
    ): "the mean is taken, and its interval is not",
    ("recalibration/softmax_fit.py", "_fit", "1e-8", "1.25e-08"): "one halving less of a step that helps nowhere",
    **{
        ("recalibration/softmax_fit.py", "_newton_step", before, after, where): (
            "how well a step is solved for: steps are taken until next to nothing can be gained"
        )
        for before, after, where in (
            ("0.1", "0.125", "tolerance = size * min(0.1, math.sqrt(size)) ** 2"),
            ("2", "3", "tolerance = size * min(0.1, math.sqrt(size)) ** 2"),
            ("0.1", "0.125", "if size <= max(tolerance, 0.1 * near):"),
        )
    },
    (
        "recalibration/averaged.py",
        "_first",
        "0.0",
        "1.0",
        "moved = self.factor_ * score - self.bend_ * np.log1p(-np.minimum(score, 0.0))",
    ): "the logarithm of a probability is above 0 by rounding only",
    (
        "recalibration/curves/scaling.py",
        "_least_loss",
        "rate.size > 8 * _ROUGHLY",
        "not (rate.size > 8 * _ROUGHLY)",
    ): "which terms are tried first: a fit is taken only where it is the one optimum of a convex loss",
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
    ("measures/kernel.py", "fixed_point", "return high", "pass"): "secants end at that end at once: the zero",
    ("door/classes.py", "check_logits", "return", "pass"): "finite scores pass what is looked at next as well",
    ("decisions/belt.py", "quantile", "level", "(2 * level)", "far = least - 2.0 * math.log(level) + 60.0"): _SEARCH,
    (
        "recalibration/certified.py",
        "least_mean",
        "level",
        "(2 * level)",
        "if log_capital(halves, low) < -np.log(level):",
    ): "where no mean is refuted the halving ends at 0 as well",
    (
        "inference/bounds/one_event.py",
        "lower_end_of_cells",
        "level",
        "(2 * level)",
        "while bets[-1] * bets[-1] * n > -2.0 * math.log(level):",
    ): "how many bets share the capital; the proof counts them",
    ("segments/results.py", "", "20", "21"): "a limit that was chosen: one more is another, as good",
    ("recalibration/by_segment/table.py", "", "300", "301"): "a limit that was chosen: one more is another, as good",
    (
        "resampling/joint.py",
        "lanes",
        "1",
        "2",
        "return max(1, min(_MOST_LANES, _AT_ONCE // max(1, self.weight.size)))",
    ): "how many are drawn at once: each is drawn by its own number",
    (
        "decisions/line.py",
        "intercept_and_slope",
        "1.0",
        "1.25",
        "starts = [line.least((0.0, 1.0), (0,)), (math.inf, (math.log(rate / (1.0 - rate)), 0.0), np.zeros(2))]",
    ): _SEARCH,
    ("kernels/lower.py", "solve", "0.5", "0.625", "if gap < 0.5 * halved:"): _SEARCH,
    (
        "measures/lower.py",
        "_play",
        "step == most or step % max(8, step // 8) == 0",
        "not (step == most or step % max(8, step // 8) == 0)",
    ): _SEARCH,
    ("decisions/line.py", "least", "2.0", "2.5"): (
        "how far one step of Newton's may go; steps end at the one optimum, or so far out that nothing is left to gain"
    ),
    (
        "findings/classes.py",
        "",
        "1e-5",
        "1.25e-05",
    ): "a proved upper end is one at any tolerance",
    ("findings/regions.py", "regions_of", "1.0", "1.25", "share=min(1.0, float(share[k])),"): (
        "shares of all weight add up to more than 1 by rounding only"
    ),
    (
        "inference/comparison/compare.py",
        "_read_measure",
        "return entry.on_rows(y, v, weight, **options)",
        "pass",
    ): "a faster way to the same number, within the tolerance that is asked for",
    ("kernels/lower.py", "_owed", "return 0.0", "pass"): (
        "what is owed is then below 0, as at least half of the slack is left, and all that use it take that as 0"
    ),
    ("kernels/poisson_binomial.py", "_tilt", "return t", "pass"): _SEARCH,
    ("kernels/regret.py", "support", "continue", "pass", "if size > 0 and x[top[size - 1]] == x[i]:"): (
        "a point below another at the same place: the next takes it out, or it is the last, behind that place's own"
    ),
    (
        "measures/distance_lattice.py",
        "solve",
        "self.closed or clock.up or self._look(0.25 * 2**wider, 4.0 * 2**wider, clock) > _LAST * self._n",
        "not (self.closed or clock.up or self._look(0.25 * 2 ** wider, 4.0 * 2 ** wider, clock) > _LAST * self._n)",
    ): "fewer or more looks before the proof, which ends at the shortest path with any number of them",
    (
        "measures/lower.py",
        "lower_distance_from_rows",
        "v.size >= _ROWS_A_CELL * cells",
        "not (v.size >= _ROWS_A_CELL * cells)",
    ): "which of two ways is faster; what pooling moves is looked at in either case",
    ("resampling/joint.py", "", "64", "65"): "how many are drawn at once: each is drawn by its own number",
    (
        "sketch/bounds.py",
        "_kernel",
        "64.0",
        "80.0",
        "rounded = 4.0 * UNIT * (sample.n_distinct + 64.0) * float(np.abs(sample.residual()).sum()) ** 2",
    ): "a wider allowance for rounding is one as well",
    (
        "tables/relations.py",
        "in_lots",
        "yield from super().in_lots(names, by, resolution, exclude_bad=exclude_bad) return",
        "pass",
        "if not self.summed:",
    ): "another road to the same sums, each segment's in its turn",
    (
        "tables/relations.py",
        "",
        "16",
        "17",
    ): "after how many scans a GROUP BY takes their place, which adds up the same cells",
    ("tables/formats/json_rows.py", "_type_of", "0.0", "1.0"): "neither is a number as large as 2**53",
    (
        "door/identity.py",
        "shared_rows",
        "1",
        "2",
        "if _tail(splits, splits + within, 0.5) - 0.5 * math.log2(1 + 6 * (splits + within)) - _LEVELS < ENOUGH:",
    ): "no counts lie between: up to 4,096 predictions in common and 8,192 others were all tried",
    (
        "door/identity.py",
        "_steps",
        "8",
        "9",
        "if n * math.log2(max(n_rows - 2, 8) / 8.0) - choices - math.log2(n_rows) < ENOUGH:",
    ): "of ten rows or fewer n is two at most, and neither of the numbers gives 40 bits",
    (
        "door/identity.py",
        "_multiples",
        "1",
        "2",
        "evidence = _judged(same, chance, 1 << level, proved=with_ids and not keyed)",
    ): "the number of rows that is told is another one, counted below",
    (
        "tables/relations.py",
        "scan",
        "1",
        "2",
        "n_segments = most_segments(each.resolution, (1 + rates) * MOST_BYTES, weighted=rates)",
    ): "how many segments have a place in one scan: the sums of each are the same in the next",
    ("segments/candidates.py", "form", "continue", "pass"): (
        "an order of rows of which no segment takes a part: ends of later ones count from behind it"
    ),
    ("decisions/line.py", "group_line", "1.0", "1.25"): (
        "all weights times one number: the likelihood and what it may rise by are as many times as large"
    ),
    ("decisions/belt.py", "", "100", "101"): "a limit of Newton's steps, of which some ten are taken",
    ("decisions/line.py", "", "100", "101"): "a limit of Newton's steps, of which some ten are taken",
    ("decisions/belt.py", "quantile", "60.0", "75.0"): "a bracket that holds the one root: a wider one does as well",
    (
        "decisions/line.py",
        "least",
        "1.0",
        "1.25",
        "most = 1.0 + 2.0 * float(np.abs(at[index]).max())  # where all is decided curvature says nothing",
    ): (
        "how far one step of Newton's may go; steps end at the one optimum, or so far out that nothing is left to gain"
    ),
    ("sketch/bounds.py", "_surrogate", "1.0", "1.25", "if slack > 1.0:"): (
        "where a width costs more than 1 its half tells nothing more: the upper end adds twice the cost to an error "
        "that is no less, since halves of intervals err by as much together, and the lower end is below 0"
    ),
    **{
        ("sketch/bounds.py", "test", before, after): "how many seeds there are: redraws by any of them are as good"
        for before, after in (("2", "3"), ("31", "32"))
    },
    ("sketch/sketch.py", "identity_of", "1.0", "1.25"): (
        "offsets of a cell add up to its weight at most, and to more by rounding only"
    ),
    ("door/arguments.py", "check_level", "1.0", "1.25", "sure = level if level < 1.0 else level / 100.0"): (
        "from 1 to 1.25 neither is a confidence above one half"
    ),
    ("door/arguments.py", "check_band", "0", "1", "if _whole(n_resamples) is None or n_resamples < 0:"): (
        "0 resamples were taken before"
    ),
    (
        "inference/bounds/draws.py",
        "of_sample",
        "one = np.ones(sample.n_distinct) return cls(sample.ones, sample.prediction, np.broadcast_to(1.0, one.shape), "
        "None, one, 1.0)",
        "pass",
    ): "a faster way to the same columns: where every line is one row, the other outcome has no copy",
    (
        "inference/bounds/draws.py",
        "mean",
        "return float(units.sum() / units.size)",
        "pass",
    ): "where every unit is one of a kind, copies are ones: both ways divide the same sum by the same number",
    ("inference/testing/components.py", "chernoff", "high, t = t, 0.5 * (low + t) continue", "pass"): (
        "what is no number is below no bound, and neither its slope nor its curve is above or below 0: the exponent is "
        "halved as well"
    ),
    (
        "inference/bounds/one_event.py",
        "lower_end_of_cells",
        "2.0",
        "2.5",
        "while bets[-1] * bets[-1] * n > -2.0 * math.log(level):",
    ): "how many bets share the capital; the proof counts them",
    (
        "inference/bounds/one_event.py",
        "",
        "60",
        "61",
    ): "halvings of [0, 1]: each end of the bracket holds at any number",
    ("inference/comparison/items.py", "", "40", "41"): "halvings of a correlation, to 1e-12: one more is as near",
    ("inference/testing/calibration.py", "", "40", "41"): "halvings of an exponent: the bound holds at any",
    ("inference/bounds/regret.py", "_pooled", "return 0.0", "pass"): (
        "a faster way to the same 0: where no cell has a width nothing is within one, and the largest width is 0"
    ),
    ("inference/comparison/items.py", "_latent_correlation", "return 0.0", "pass"): (
        "no correlation from 0 on has a covariance below 0: halving ends at 0 as well"
    ),
    (
        "inference/testing/components.py",
        "lots_of_rows",
        "return UncertainLots(v, v, v, v, n_rows, impossible, 0.0, number)",
        "pass",
    ): "of no rows the sums and columns that follow are empty as well",
    ("inference/testing/calibration.py", "test_lots", "1.5", "1.875"): (
        "the share is a whole number of redraws and one, over their number and one: between 1 and 2 all are the same"
    ),
    (
        "inference/testing/calibration.py",
        "share_as_extreme",
        "1.0",
        "1.25",
    ): "a wider allowance for rounding is one as well",
    ("inference/testing/calibration.py", "log_bound", "1e-4", "0.000125"): (
        "which of two ways e^s - 1 - s is found; near there both are the same up to what is added for rounding"
    ),
    ("inference/testing/calibration.py", "log_bound", "12.0", "15.0"): (
        "stands for the next term, a 24th, and all after it: a 15th is more as well"
    ),
    (
        "inference/bounds/gate.py",
        "",
        "10",
        "11",
        "_MOST_ROWS = 10**15  # more than that is said to be no number of rows",
    ): ("a limit that was chosen: more rows than anyone has"),
    ("inference/bounds/gate.py", "", "15", "16"): "a limit that was chosen: more rows than anyone has",
}

_DRAWS = re.compile(r"^_?draw_|_svg$|_figure$|^faded_|^_pairs$|^_end$")
_RATE = re.compile(r"min\(1\.0, (mean\)|max\(0\.0, (rate|\w+ \+ (float\([\w.]*residual\(\)\.sum\(\)\)|bias))\)\))")
_ROUNDING = re.compile(r"^(UNIT|ARITHMETIC|_?ROUNDING|_?rounding|_rounding_of|rounding_of_\w+)$")


def _is_tolerance(mutant: Mutant) -> bool:
    return 0.0 < abs(float(mutant.before)) <= 1e-9


def _is_allowance(mutant: Mutant) -> bool:
    return "." in mutant.before and any(_ROUNDING.search(name) for name in mutant.factors)


def _is_look(mutant: Mutant) -> bool:
    draws = mutant.room == "report" and _DRAWS.search(mutant.function)
    return bool(draws) and "." in mutant.before and float(mutant.before) not in (0.0, 1.0)


def _is_rate(mutant: Mutant) -> bool:
    return mutant.before == "1.0" and bool(_RATE.search(mutant.where))


def _is_large(mutant: Mutant) -> bool:
    return not mutant.function and mutant.before.replace("_", "").isdigit() and int(mutant.before) >= 1000


# What a number is, and why a quarter more of it, or one more of a whole number, is no fault.
RULES: dict[str, tuple[Callable[[Mutant], bool], str]] = {
    "tolerance": (_is_tolerance, "at most 1e-9: a quarter more still parts what is rounding from what is not"),
    "allowance": (_is_allowance, "a factor of the unit of rounding: a wider allowance for rounding is one as well"),
    "look": (_is_look, _LOOK),
    "rate": (
        _is_rate,
        "a mean prediction, and the rate that its mean error makes of it, are above 1 by rounding only",
    ),
    "large limit": (_is_large, "a limit that was chosen, of a thousand or more: one more is another choice, as good"),
}


def argued(mutant: Mutant) -> str:
    """The argument why the mutant of this place changes no answer; "" if there is none."""
    site = mutant.site()
    return EQUIVALENT.get(site) or EQUIVALENT.get((*site, mutant.where), "")


def rule_of(mutant: Mutant) -> str:
    """The rule by which a number changes no answer; "" if none says so."""
    if mutant.kind != "constant":
        return ""
    return next((name for name, (holds, _) in RULES.items() if holds(mutant)), "")
