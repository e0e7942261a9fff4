"""Computational and Statistical Hardness of Calibration Distance (2026): instances and sample sizes, measured."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from calibrant import synthetic
from calibrant.door.ends import Bracket
from calibrant.measures.distance import calibration_distance, check_predictor
from calibrant_papers.registry import Reproduction, table


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
                numbers = rng.integers(1, 20, 2 * half)
                domain, promised = synthetic.balanced_subset_sum_domain(numbers)
                target, sizes = numbers.sum() / 2, range(half, half + 1)
            solvable = any(sum(chosen) == target for size in sizes for chosen in combinations(numbers.tolist(), size))
            found = _distance(domain)
            excess = found.upper - promised
            count += 1
            yes += solvable
            agree += bool(found.exact) and solvable == (abs(excess) < 1e-12)
            if solvable:
                furthest = max(furthest, abs(excess))
            else:
                margin = min(margin, excess)
        rows.append([name, count, yes, agree, furthest, float(margin)])
    note = (
        "Distances are exact, over all partitions; whole numbers from 1 to 19. An instance is solvable if and only if "
        "its distance is the promised one. The constants, which our copy of the text lacks, are derived in "
        "[hardness](../hardness.md).\n\n"
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
    """Theorems 3 and 6: the distance of samples against their size, on calibrated, biased and pure domains."""
    sizes = (100, 1000) if quick else (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
    ladder = synthetic.calibrated_ladder(60)
    biased = synthetic.Domain(ladder.y_true + 0.1, ladder.y_prob, ladder.sample_weight)
    domains = {
        "calibrated, 60 elements": (ladder, 0.0),
        "calibrated, 1,000 elements": (synthetic.calibrated_ladder(1_000), 0.0),
        "biased by 0.1, 60 elements": (biased, 0.1),
        "pure, 10,000 elements": (synthetic.pure_and_mixed(300 if quick else 10_000, random_state=0)[0], 0.0625),
    }
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    rows: list[list[object]] = []
    means = {}
    for name, (domain, true) in domains.items():
        draws = 3 if quick else 5 if name.startswith("pure") else 30
        found = np.array(
            [[_empirical(domain, n, [k, d], 1e-9).upper for d in range(draws)] for k, n in enumerate(sizes)]
        )
        means[name] = found.mean(axis=1)
        for n, values in zip(sizes, found, strict=True):
            rows.append([name, n, true, float(values.mean()), float(values.min()), float(values.max())])
        (line,) = axes.plot(sizes, means[name], "o-", label=name)
        axes.fill_between(sizes, found.min(axis=1), found.max(axis=1), color=line.get_color(), alpha=0.2)
        if true:
            axes.axhline(true, linestyle=":", color=line.get_color())
    axes.plot(sizes, 0.25 * np.array(sizes, float) ** (-1 / 3), color="grey", linestyle="--", label="n^(-1/3) / 4")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="empirical distance, at most")
    axes.legend(fontsize=8)
    tight, constants = _tight(quick)
    slope = np.polyfit(np.log(sizes), np.log(means["calibrated, 1,000 elements"]), 1)[0]
    note = (
        "Theorem 3: the distance of the sample (elements seen, with their rates) is at most the true one plus "
        "epsilon. For that some 1 / epsilon^3 rows suffice, for any size of the domain. Below are upper ends. They "
        "are distances of the calibrated predictors that rounding the best coupling finds, mean, least and largest "
        "of 30 draws (pure: 5). There is no such bound from below. Samples of the pure domain have a smaller "
        "distance than it has until elements are drawn many times. Dotted: the true distances.\n\n"
    )
    head = ["domain", "rows", "true distance", "empirical, at most: mean", "least", "largest"]
    body = (
        note + table(head, rows) + "\nTheorem 6: at k^3 rows the calibrated ladder of k elements is 1 / k off, up to a "
    )
    body += "constant. Here it is by exact distances, over all partitions, of 50 draws.\n\n" + tight
    finding = (
        f"Upper ends for a calibrated domain of 1,000 elements fall as the rows to the power {slope:.2f} (Theorem 3: "
        f"-1/3). Exact distances at k^3 rows of k elements are {min(constants):.2f} / k to {max(constants):.2f} / k "
        "(Theorem 6)."
    )
    return Reproduction("Hardness, Theorems 3 and 6: convergence from above", finding, body, figure)


def _empirical(domain: synthetic.Domain, n: int, seed: list[int], time_limit: float | None = None) -> Bracket:
    """Distance of a sample of n rows: of the elements seen, with their shares of the rows and of ones."""
    y_true, element = domain.draw(n, np.random.default_rng(seed))
    count = np.bincount(element, minlength=domain.y_prob.size)
    seen = count > 0
    rate = np.bincount(element, y_true, count.size)[seen] / count[seen]
    return _distance(synthetic.Domain(rate, domain.y_prob[seen], count[seen] / n), time_limit)


def _tight(quick: bool) -> tuple[str, list[float]]:
    """Exact distances of samples of k^3 rows from calibrated ladders of k elements, and their means times k."""
    rows: list[list[object]] = []
    constants = []
    for k in (4, 6) if quick else (4, 6, 8, 10, 12, 14, 16):
        found = [_empirical(synthetic.calibrated_ladder(k), k**3, [6, k, draw]) for draw in range(5 if quick else 50)]
        upper, lower = np.array([b.upper for b in found]), np.array([b.lower for b in found])
        constants.append(k * float(upper.mean()))
        rows.append([k, k**3, float(upper.mean()), float(upper.min()), constants[-1], float((upper - lower).max())])
    head = ["elements k", "rows", "empirical distance: mean", "least", "k times the mean", "widest bracket"]
    return table(head, rows), constants


def _moved_aside(mixed: synthetic.Domain) -> float:
    """Distance of the best of the paper's predictors: some ones to the upper element, some zeros to the lower one."""
    size, epsilon = mixed.y_prob.size - 2, float(mixed.y_prob[1]) - 0.5
    each = 0.5 / size
    zeros, ones = (np.flatnonzero(mixed.y_true[2:] == label) for label in (0.0, 1.0))
    go = 0.25 * epsilon / (0.5 - epsilon) / each
    near = np.arange(max(0, int(go - 2 * size**0.5)), int(go + 2 * size**0.5) + 2)

    def aside(most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Numbers that may go, and the cost at the element that they join."""
        number = near[near <= most]
        step = (0.125 + number * each) / (0.25 + number * each) - 0.5
        return number, 0.25 * np.abs(epsilon - step) + number * each * step

    down, cost_down = aside(zeros.size)
    up, cost_up = aside(ones.size)
    # What stays goes to its mean: half the difference in mass of its zeros and ones.
    uneven = np.abs((zeros.size - down)[:, None] - (ones.size - up)[None, :])
    cost = cost_down[:, None] + cost_up[None, :] + 0.5 * each * uneven
    best = np.unravel_index(cost.argmin(), cost.shape)
    level = np.concatenate([[0.0, 1.0], np.full(size, 0.5)])
    level[2:][zeros[: down[best[0]]]] = 0.0
    level[2:][ones[: up[best[1]]]] = 1.0
    return check_predictor(level, mixed.y_true, mixed.y_prob, sample_weight=mixed.sample_weight)


def birthday(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Section 8: two domains' distances, and how often a sample repeats an element, which alone tells them apart."""
    rng = np.random.default_rng(0)
    draws = 50 if quick else 1000
    rows: list[list[object]] = []
    ratios, repeated = [], [0.0]
    for size in (14,) if quick else (14, 100, 1_000, 10_000, 100_000):
        pure, mixed = synthetic.pure_and_mixed(size, random_state=rng)
        far, near = _distance(pure, 1e-9).upper, _distance(mixed, None if size <= 14 else 1e-9)
        at_most = min(near.upper, _moved_aside(mixed))
        ratios.append(far / at_most)
        root = int(np.sqrt(size))
        for n in (2, root + 1, 4 * root):
            repeats = 0
            for _ in range(draws):
                _, element = mixed.draw(n, rng)
                among = element[element >= 2]
                repeats += np.unique(among).size < among.size
            rows.append([size, n, far, at_most, near.lower, repeats / draws])
            if n == root + 1:
                repeated.append(repeats / draws)
    note = (
        "Half the mass on `size` elements at 1/2, a quarter each at 1/2 -+ 1/8. Pure: all rates 1/2, so that the "
        "constant is the only calibrated predictor. Mixed: 0 or 1 at random. Its distance is at most that of the "
        "paper's predictor, where the best numbers of ones and zeros go to the two others. It is at least the lower "
        "distance. Without a repeated element the two samples have the same distribution, so no estimator is better "
        "than guessing.\n\n"
    )
    finding = (
        f"The distances differ by a factor of {min(ratios):.2f} to {max(ratios):.2f} at least. Samples of about the "
        f"square root of the domain's size repeat an element in {max(repeated):.0%} of the draws at most."
    )
    head = ["size", "rows", "distance, pure", "mixed: at most", "mixed: at least", "samples with a repeated element"]
    return Reproduction("Hardness, Section 8: the birthday lower bound", finding, note + table(head, rows))
