"""T-Cal's Tables 1 to 6: are trained networks calibrated, before and after recalibration?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing.discrete import discrete_calibration_test
from calibrant.inference.testing.tcal import CriticalValue, tcal_test
from calibrant.measures.binned import expected_calibration_error
from calibrant.recalibration import (
    HistogramBinning,
    IsotonicScaling,
    PlattScaling,
    PolynomialScaling,
    ScalingBinning,
)
from calibrant.recalibration.base import Recalibrator
from calibrant_papers.predictions import top_label
from calibrant_papers.registry import Reproduction

LEVEL = 0.05
DISCRETE = ("histogram binning", "scaling-binning")


@dataclass(frozen=True)
class Dataset:
    """One of the three data sets: its networks' files, the rows used for recalibration, and what the paper found.

    Attributes
    ----------
    networks : dict
        File name without ending -> the paper's cells in the order of the methods: l1 error in percent and "a" or "r".
    debiased : dict
        File name -> the paper's debiased squared l2 errors in percent, of the two discrete methods.
    """

    name: str
    n_calibration: int
    degree: int
    networks: dict[str, str]
    debiased: dict[str, tuple[float, float]]


DATASETS = (
    Dataset(
        "CIFAR-10",
        2000,
        3,
        {
            "cifar10_densenet121": "2.02r 2.32r 1.71r 1.16r 0.97r 1.94r",
            "cifar10_resnet50": "2.23r 1.78r 1.29r 0.62r 1.12r 1.21r",
            "cifar10_vgg19_bn": "2.13r 1.71r 0.90a 1.13a 1.28r 1.67r",
        },
        {"cifar10_densenet121": (0.02, 0.11), "cifar10_resnet50": (0.02, 0.10), "cifar10_vgg19_bn": (0.05, 0.20)},
    ),
    Dataset(
        "CIFAR-100",
        2000,
        5,
        {
            "cifar100_mobilenetv2_x1_4": "11.87r 1.40a 1.69r 1.76a 1.66r 1.85r",
            "cifar100_resnet56": "15.2r 1.84a 1.91r 2.33r 2.44r 1.57r",
            "cifar100_shufflenetv2_x2_0": "9.08r 1.34a 1.81a 1.38a 2.77r 1.65a",
        },
        {
            "cifar100_mobilenetv2_x1_4": (0.04, 0.04),
            "cifar100_resnet56": (0.09, 0.03),
            "cifar100_shufflenetv2_x2_0": (0.15, 0.02),
        },
    ),
    Dataset(
        "ImageNet",
        10_000,
        5,
        {
            "imagenet_densenet161": "5.67r 1.58r 0.62a 0.63r 0.46r 1.55r",
            "imagenet_resnet152": "4.99r 1.41r 0.64a 0.80r 1.26r 1.40r",
            "imagenet_efficientnet_b7": "2.82r 1.90r 0.71a 1.06r 0.88r 1.97r",
        },
        {
            "imagenet_densenet161": (0.01, 0.05),
            "imagenet_resnet152": (0.03, 0.03),
            "imagenet_efficientnet_b7": (0.02, 0.06),
        },
    ),
)


@dataclass(frozen=True)
class Cell:
    """One cell of a table, found again; errors in percent.

    Attributes
    ----------
    paper_error, paper_rejects
        What the paper prints.
    error_as_coded, error
        l1 error on 15 bins as the authors' code bins (closed on the left, 1.0 in a bin of its own), and on ours.
    pvalue, consistency_pvalue
        With labels redrawn (or exact, where predictions are discrete), and with rows redrawn as well.
    seeds_rejecting, splits_rejecting : int or None
        Of `n_seeds` seeds of the resampling, and of as many random splits.
    settled_pvalue : float or None
        With 100,000 resamples, where the seeds disagree.
    debiased, paper_debiased : float or None
        Debiased squared l2 error of discrete predictions.
    """

    network: str
    method: str
    paper_error: float
    paper_rejects: bool
    error_as_coded: float
    error: float
    pvalue: float
    consistency_pvalue: float | None
    seeds_rejecting: int | None
    splits_rejecting: int | None
    settled_pvalue: float | None
    debiased: float | None
    paper_debiased: float | None

    @property
    def rejects(self) -> bool:
        """Our verdict, on the authors' split."""
        return self.pvalue <= LEVEL


def cells(dataset: Dataset, folder: Path, n_seeds: int = 20) -> Iterator[Cell]:
    """Find every cell of a data set's tables again, from the files in a folder.

    Parameters
    ----------
    dataset : Dataset
        Which tables.
    folder : Path
        Where ``<network>.parquet`` lie, each with the columns y_prob (top-1 confidence) and y_true (whether right), or
        the authors' ``<network>.pickle``.
    n_seeds : int, default 20
        Seeds of the resampling, and random splits, to try beside the authors' split (the first rows).

    Raises
    ------
    FileError
        If a file is missing.
    """
    # Bins of ceil(n / 15) rows as the authors cut them: even parts would move 8 of the 54 errors.
    fits: dict[str, Recalibrator | None] = {
        "no calibration": None,
        "Platt scaling": PlattScaling(),
        "polynomial scaling": PolynomialScaling(degree=dataset.degree),
        "isotonic regression": IsotonicScaling(),
        "histogram binning": HistogramBinning(strategy="ceil"),
        "scaling-binning": ScalingBinning(strategy="ceil"),
    }
    for network, found in dataset.networks.items():
        y_true, y_prob = top_label(folder, network)
        rng = np.random.default_rng(0)
        authors = np.arange(y_true.size)
        splits = [rng.permutation(y_true.size) for _ in range(n_seeds)]
        for (method, fit), text in zip(fits.items(), found.split(), strict=True):
            discrete = method in DISCRETE
            outcome, prediction = _recalibrated(y_true, y_prob, authors, fit, dataset.n_calibration)
            verdicts = [
                _pvalue(*_recalibrated(y_true, y_prob, rows, fit, dataset.n_calibration), discrete) <= LEVEL
                for rows in ([] if fit is None else splits)
            ]
            seeds = [] if discrete else [_pvalue(outcome, prediction, False, seed) <= LEVEL for seed in range(n_seeds)]
            yield Cell(
                network=network,
                method=method,
                paper_error=float(text[:-1]),
                paper_rejects=text.endswith("r"),
                error_as_coded=100 * _error_as_coded(outcome, prediction),
                error=100 * expected_calibration_error(outcome, prediction),
                pvalue=_pvalue(outcome, prediction, discrete),
                consistency_pvalue=None
                if discrete
                else _pvalue(outcome, prediction, False, how="consistency_resampling"),
                seeds_rejecting=None if discrete else sum(seeds),
                splits_rejecting=None if fit is None else sum(verdicts),
                settled_pvalue=_pvalue(outcome, prediction, False, n_resamples=100_000)
                if 0 < sum(seeds) < n_seeds
                else None,
                debiased=100 * _debiased(outcome, prediction) if discrete else None,
                paper_debiased=dataset.debiased[network][DISCRETE.index(method)] if discrete else None,
            )


def table(dataset: Dataset, folder: Path, n_seeds: int = 20) -> Reproduction:
    """Set a data set's verdicts beside the paper's."""
    found = list(cells(dataset, folder, n_seeds))
    number = DATASETS.index(dataset) + 1
    same = sum(cell.rejects == cell.paper_rejects for cell in found)
    digits = sum(_printed(cell.error_as_coded, cell.paper_error) for cell in found)
    title = f"T-Cal, Tables {number} and {number + 3}: {dataset.name}"
    finding = f"{same} of {len(found)} verdicts are the paper's, {digits} of {len(found)} errors to its last digit."
    lines = [
        f"Adaptive T-Cal, level {LEVEL}, 3,000 resamples; exact binomial tests with Bonferroni's correction after "
        f"histogram and scaling-binning. The first {dataset.n_calibration:,} rows recalibrate, the others are tested. "
        "*p* is with labels redrawn (seed 0), *p, rows too* with consistency resampling, as the paper has it. The "
        f"next columns count rejections over {n_seeds} seeds on that split, and over {n_seeds} random splits. Errors "
        "are l1, 15 equal-width bins, in percent. First the paper's. Then ours, binned as the authors' code does (a "
        "prediction of exactly 1 in a bin of its own). Then ours, with 1 in the last bin. The last column is the "
        f"debiased squared l2 error, in percent (the paper's Table {number + 3}).",
        "",
        "| network | recalibration | paper | ours | p | p, rows too | seeds | splits | error: paper | as coded | ours "
        "| debiased: paper, ours |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in found:
        lines.append(
            f"| {cell.network} | {cell.method} | {_verdict(cell.paper_rejects)} | {_verdict(cell.rejects)} "
            f"| {cell.pvalue:.2g} | {_or_dash(cell.consistency_pvalue, '.2g')} "
            f"| {_or_dash(cell.seeds_rejecting, 'd')} | {_or_dash(cell.splits_rejecting, 'd')} "
            f"| {cell.paper_error:g} | {cell.error_as_coded:.2f} | {cell.error:.2f} "
            f"| {_or_dash(cell.paper_debiased, '.2f')}, {_or_dash(cell.debiased, '.3f')} |"
        )
    lines += ["", "Verdicts that depend on the seed, and p from 100,000 resamples:"]
    unsure = [cell for cell in found if cell.settled_pvalue is not None]
    lines += [f"- {cell.network} after {cell.method}: {cell.settled_pvalue:.3g}" for cell in unsure] or ["- none"]
    lines += [
        "",
        "Histogram binning is often rejected for one value alone: a bin whose rows were all right predicts exactly 1, "
        "which a single error contradicts.",
    ]
    return Reproduction(title, finding, "\n".join(lines))


def _recalibrated(
    y_true: FloatArray,
    y_prob: FloatArray,
    rows: IntArray,
    fit: Recalibrator | None,
    n_calibration: int,
) -> tuple[FloatArray, FloatArray]:
    if fit is None:
        return y_true, y_prob
    first, others = rows[:n_calibration], rows[n_calibration:]
    return y_true[others], fit.fit(y_prob[first], y_true[first]).predict(y_prob[others])


def _pvalue(
    y_true: FloatArray,
    y_prob: FloatArray,
    discrete: bool,
    seed: int = 0,
    how: CriticalValue = "label_resampling",
    n_resamples: int = 3000,
) -> float:
    if discrete:
        return discrete_calibration_test(y_true, y_prob, level=LEVEL, correction="bonferroni").pvalue
    return tcal_test(
        y_true,
        y_prob,
        level=LEVEL,
        random_state=seed,
        critical_value=how,
        n_resamples=n_resamples,
        correction="bonferroni",  # the paper's
    ).pvalue


def _error_as_coded(y_true: FloatArray, y_prob: FloatArray) -> float:
    cell = np.floor(y_prob * 15).astype(int)
    return float(np.abs(np.bincount(cell, y_true - y_prob)).sum()) / y_true.size


def _debiased(y_true: FloatArray, y_prob: FloatArray) -> float:
    """Kumar et al.'s estimate over the distinct predictions."""
    values, group = np.unique(y_prob, return_inverse=True)
    count = np.bincount(group)
    rate = np.bincount(group, y_true) / count
    return float((count / y_true.size * ((values - rate) ** 2 - rate * (1.0 - rate) / np.maximum(count - 1, 1))).sum())


def _printed(found: float, printed: float) -> bool:
    digits = 1 if printed == round(printed, 1) and printed >= 10 else 2
    return round(found, digits) == printed


def _verdict(rejects: bool) -> str:
    return "reject" if rejects else "accept"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
