"""Computational and Statistical Hardness of Calibration Distance (2026): instances and sample sizes, measured."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from calibrant import synthetic
from calibrant.experiments.registry import Reproduction, table
from calibrant.measures.distance import Bracket, calibration_distance, check_predictor


def _distance(domain: synthetic.Domain, time_limit: float | None = None) -> Bracket:
    weight = domain.sample_weight
    return calibration_distance(domain.y_true, domain.y_prob, sample_weight=weight, time_limit=time_limit)


def subset_sum(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Section 6: random instances of both reductions, decided by their distance and by trying all subsets."""
    rng = np.random.default_rng(0)
    trials = 10 if quick else 500
    rows: list[list[object]] = []
    for name in ("noiseless, any masses", "uniform, any rates"):
        yes = agree = count = 0
        margin = np.inf
        furthest = 0.0
        for _ in range(trials):
            if name.startswith("noiseless"):
                numbers = rng.integers(1, 20, rng.integers(2, 11))
                target = int(rng.integers(1, numbers.sum() + 1))
                domain, promised = synthetic.subset_sum_domain(numbers, target)
                sizes = range(1, numbers.size + 1)
            else:
                half = int(rng.integers(1, 5))
                numbers = rng.integers(45, 56, 2 * half)
                if np.abs(numbers / numbers.mean() - 1).max() > 0.125:
                    continue
                domain, promised = synthetic.balanced_subset_sum_domain(numbers)
                target, sizes = numbers.sum() / 2, range(half, half + 1)
            solvable = any(sum(chosen) == target for size in sizes for chosen in combinations(numbers.tolist(), size))
            excess = _distance(domain).upper - promised
            count += 1
            yes += solvable
            agree += solvable == (abs(excess) < 1e-12)
            if solvable:
                furthest = max(furthest, abs(excess))
            else:
                margin = min(margin, excess)
        rows.append([name, count, yes, agree, furthest, float(margin)])
    note = (
        "Distances are exact, over all partitions. An instance is solvable if and only if its distance is the promised "
        "one; the constants, which the text at hand has lost, are derived in [hardness](../hardness.md).\n\n"
    )
    decided = all(row[1] == row[3] for row in rows)
    finding = "The distance decides every instance." if decided else "Some instances were decided wrongly."
    head = [
        "domain",
        "instances",
        "solvable",
        "decided rightly",
        "off the promise at most",
        "least excess if unsolvable",
    ]
    return Reproduction("Hardness, Section 6: subset sums", finding, note + table(head, rows))


def one_sided(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Theorems 3 and 6: the empirical distance of a calibrated ladder, and of a biased one, against sample size."""
    size, draws = (12, 5) if quick else (60, 30)
    sizes = (100, 1000) if quick else (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
    ladder = synthetic.calibrated_ladder(size)
    biased = synthetic.Domain(np.clip(ladder.y_true + 0.1, 0, 1), ladder.y_prob, ladder.sample_weight)
    rows: list[list[object]] = []
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, domain in (("calibrated", ladder), ("biased by 0.1", biased)):
        true = _distance(domain, 5.0)
        found = np.empty((len(sizes), draws))
        for k, n in enumerate(sizes):
            for draw in range(draws):
                y_true, element = domain.draw(n, [k, draw])
                count = np.bincount(element, minlength=size)
                seen = count > 0
                rate = np.bincount(element, y_true, size)[seen] / count[seen]
                found[k, draw] = _distance(synthetic.Domain(rate, domain.y_prob[seen], count[seen] / n), 1.0).upper
            rows.append([name, n, true.upper, float(found[k].mean()), float(found[k].min()), float(found[k].max())])
        axes.plot(sizes, found.mean(axis=1), "o-", label=name)
        axes.fill_between(sizes, found.min(axis=1), found.max(axis=1), alpha=0.2)
        axes.axhline(true.upper, linestyle=":", color="grey")
    axes.set(xscale="log", xlabel="rows", ylabel="empirical distance", title=f"{size} elements, {draws} draws")
    axes.legend()
    note = (
        f"{size} elements; upper ends of the brackets of the empirical domain (elements seen, with their rates). Theorem 3: "
        "some 1 / epsilon^3 rows suffice for the empirical distance to be at most the true one plus epsilon, whatever the "
        "size of the domain; Theorem 6: for the calibrated ladder fewer do not. Dotted: the true distances.\n\n"
    )
    first, last = rows[0], rows[len(sizes) - 1]
    finding = (
        f"For the calibrated ladder the mean empirical distance falls from {first[3]:.3g} at {first[1]:,} rows to "
        f"{last[3]:.2g} at {last[1]:,}; the true distance is 0."
    )
    head = ["domain", "rows", "true distance", "empirical: mean", "least", "largest"]
    return Reproduction("Hardness, Theorems 3 and 6: convergence from above", finding, note + table(head, rows), figure)


def _moved_aside(mixed: synthetic.Domain) -> float:
    """Distance of the paper's predictor: so many ones go to the upper element, so many zeros to the lower one."""
    size, epsilon = mixed.y_prob.size - 2, float(mixed.y_prob[1]) - 0.5
    go = round(0.25 * epsilon / (0.5 - epsilon) * size / 0.5)
    level = np.concatenate([[0.0, 1.0], np.full(size, 0.5)])
    for label in (0.0, 1.0):
        level[2:][np.flatnonzero(mixed.y_true[2:] == label)[:go]] = label
    return check_predictor(level, mixed.y_true, mixed.y_prob, sample_weight=mixed.sample_weight)


def birthday(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Section 8: two domains' distances, and how often a sample repeats an element, which alone tells them apart."""
    rng = np.random.default_rng(0)
    rows: list[list[object]] = []
    for size in (14,) if quick else (14, 100, 1_000, 10_000):
        pure, mixed = synthetic.pure_and_mixed(size, random_state=rng)
        for n in (2, int(np.sqrt(size)) + 1, 4 * int(np.sqrt(size))):
            repeats = 0
            for _ in range(50 if quick else 1000):
                _, element = mixed.draw(n, rng)
                among = element[element >= 2]
                repeats += np.unique(among).size < among.size
            share = repeats / (50 if quick else 1000)
            near, far = _distance(mixed, 2.0), _distance(pure, 2.0)
            rows.append([size, n, far.upper, min(near.upper, _moved_aside(mixed)), near.lower, share])
    note = (
        "Half the mass on `size` elements at 1/2, a quarter each at 1/2 -+ 1/8. Pure: all rates 1/2. Mixed: 0 or 1 at "
        "random. Without a repeated element the two samples have the same distribution, so no estimator can do better than guess.\n\n"
    )
    ratio = min(float(str(row[2])) / float(str(row[3])) for row in rows)
    finding = (
        f"The distances differ by a factor of at least {ratio:.2f}, while samples of about the square root of the domain's "
        f"size repeat an element in {max(float(str(row[5])) for row in rows[1::3]):.0%} of the draws at most."
    )
    head = ["size", "rows", "distance, pure", "mixed: at most", "mixed: at least", "samples with a repeated element"]
    return Reproduction("Hardness, Section 8: the birthday lower bound", finding, note + table(head, rows))
