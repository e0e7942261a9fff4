"""What is timed: each case is one sample and several ways to get a number from it, ours first."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[np.ndarray, np.ndarray], Any]
Maker = Callable[[int], tuple[np.ndarray, np.ndarray]]


def biased(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearly-linear-time paper's sample: v ~ U[0, 0.99], y ~ Bernoulli(v + 0.01)."""
    rng = np.random.default_rng(0)
    y_prob = rng.random(n) * 0.99
    return (rng.random(n) < y_prob + 0.01).astype(float), y_prob


def calibrated(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y_prob = rng.random(n)
    return (rng.random(n) < y_prob).astype(float), y_prob


def adversarial(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Half the rows near 1/n with outcome 0, half near 1/2 with alternating outcomes."""
    half = np.arange(n // 2)
    y_prob = np.concatenate([(1 + half * 1e-6) / n, 0.5 + half * 1e-9])
    return np.concatenate([np.zeros(half.size), half % 2.0]), y_prob


def overconfident(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A network's confidences: most near 1, too high."""
    rng = np.random.default_rng(0)
    y_prob = rng.beta(4, 0.7, n)
    return (rng.random(n) < y_prob**1.5).astype(float), y_prob


def rare(n: int) -> tuple[np.ndarray, np.ndarray]:
    """One event in 10,000 rows, and one at least."""
    rng = np.random.default_rng(0)
    y_prob = 1e-4 * rng.lognormal(-0.5, 1.0, n)
    y_true = (rng.random(n) < y_prob).astype(float)
    y_true[0] = 1.0
    return y_true, y_prob


def np_sort(_y_true: np.ndarray, y_prob: np.ndarray) -> None:
    np.sort(y_prob)


def smooth(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import smooth_calibration_error

    return smooth_calibration_error(y_true, y_prob)


def sparse_linear_program(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    """The same number from HiGHS on the sparse program: its dual simplex, the fastest of its methods here."""
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    order = np.argsort(y_prob)
    v = y_prob[order]
    m = v.size
    step = diags_array([-np.ones(m - 1), np.ones(m - 1)], offsets=[0, 1], shape=(m - 1, m))
    found = linprog(
        (v - y_true[order]) / m,
        A_ub=vstack([step, -step]).tocsc(),
        b_ub=np.tile(np.diff(v), 2),
        bounds=(-1, 1),
        method="highs-ds",
    )
    return float(-found.fun)


def kernel(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import kernel_calibration_error

    return kernel_calibration_error(y_true, y_prob)


def kernel_probcal(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from probcal.metrics import skce

    return skce(y_true, y_prob)


def kernel_netcal(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from netcal.metrics import MMCE

    return MMCE().measure(y_prob, y_true)


def lower(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import lower_calibration_distance

    return lower_calibration_distance(y_true, y_prob)


def lower_coarse(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import lower_calibration_distance

    return lower_calibration_distance(y_true, y_prob, tol=1e-3)


def interval(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import interval_calibration_error

    return interval_calibration_error(y_true, y_prob)


def binned(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import expected_calibration_error

    return expected_calibration_error(y_true, y_prob)


def binned_quantile(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import expected_calibration_error

    return expected_calibration_error(y_true, y_prob, strategy="quantile")


def binned_sklearn(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    from sklearn.calibration import calibration_curve

    calibration_curve(y_true, y_prob, n_bins=15)


def binned_probcal(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from probcal.metrics import ece

    return ece(y_true, y_prob)


def binned_netcal(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from netcal.metrics import ECE

    return ECE(15).measure(y_prob, y_true)


def binned_mapie(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from mapie.metrics.calibration import expected_calibration_error

    return expected_calibration_error(y_true.astype(int), y_prob, num_bins=15)


def binned_torchmetrics(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    return float(binary_calibration_error(torch.from_numpy(y_prob), torch.from_numpy(y_true.astype(int)), n_bins=15))


def binned_uncertainty_calibration(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    import calibration

    return calibration.get_calibration_error(y_prob, y_true.astype(int), p=1, debias=False)


def convolved(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    from calibrant import convolved_calibration_error

    return convolved_calibration_error(y_true, y_prob)


def convolved_relplot(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    import relplot

    return float(relplot.smECE(y_prob, y_true))


def convolved_probcal(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    """On the logit scale, so another number."""
    from probcal.metrics import smooth_ece

    return smooth_ece(y_true, y_prob)


def audit(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    import calibrant

    calibrant.audit(y_true, y_prob, n_resamples=0)


def audit_with_band(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    import calibrant

    calibrant.audit(y_true, y_prob, n_resamples=1000, random_state=0)


def diagram_relplot(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import relplot

    warnings.simplefilter("ignore")
    relplot.rel_diagram(y_prob, y_true)


def _visitors(y_true: np.ndarray, y_prob: np.ndarray) -> dict[str, Any]:
    """The rows with four features that have nothing to do with them."""
    rng, n = np.random.default_rng(1), y_true.size
    return {
        "y_true": y_true.astype(int),
        "y_prob": y_prob,
        "country": rng.choice(["de", "fr", "jp", "us"], n),
        "device": rng.choice(["desktop", "phone", "tablet"], n),
        "age": rng.normal(45.0, 15.0, n),
        "visits": rng.poisson(3.0, n),
    }


def segments(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    import pyarrow

    from calibrant import find_segments

    table = pyarrow.table(_visitors(y_true, y_prob))
    return find_segments(table, y_true="y_true", y_prob="y_prob", min_rows=5, random_state=0)


def segments_mcgrad(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    """One number of each segment, without redraws, for segments like ours."""
    import pandas
    from mcgrad.metrics import MulticalibrationError

    return MulticalibrationError(
        df=pandas.DataFrame(_visitors(y_true, y_prob)),
        label_column="y_true",
        score_column="y_prob",
        categorical_segment_columns=["country", "device"],
        numerical_segment_columns=["age", "visits"],
        max_depth=2,
        max_values_per_segment_feature=10,
        min_samples_per_segment=50,
        max_n_segments=None,
        precision_dtype="float64",
    ).mce_sigma


def clinical(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    from calibrant import clinical_calibration

    clinical_calibration(y_true, y_prob, random_state=0)


def clinical_rms(y_true: np.ndarray, y_prob: np.ndarray) -> float:
    """rms's panel, by a process of R that is started by the call that warms up and then only sent rows."""
    global r
    if r is None:
        if shutil.which("Rscript") is None:
            raise ModuleNotFoundError("R")
        r = subprocess.Popen(["Rscript", "-e", VAL_PROB], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert r.stdin is not None
    assert r.stdout is not None
    r.stdin.write(np.int32(y_true.size).tobytes() + y_true.tobytes() + y_prob.tobytes())
    r.stdin.flush()
    return float(r.stdout.readline())


r: subprocess.Popen[bytes] | None = None
VAL_PROB = """
suppressMessages(library(rms))
rows <- file("stdin", "rb")
while (length(n <- readBin(rows, "integer", 1))) {
  y <- readBin(rows, "double", n)
  p <- readBin(rows, "double", n)
  cat(val.prob(p, y, pl = FALSE)["Emax"], "\n")
  flush(stdout())
}
"""


def beta(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from calibrant.recalibration import BetaScaling

    return BetaScaling().fit(y_prob, y_true)


def beta_probcal(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from probcal import BetaCalibrator

    return BetaCalibrator().fit(y_prob, y_true)


def beta_betacal(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from betacal import BetaCalibration

    return BetaCalibration().fit(y_prob[:, None], y_true)


def belt(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from calibrant.decisions import calibration_belt

    return calibration_belt(y_true, y_prob)


def belt_probcal(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    """An ellipsoid in place of the likelihood's region."""
    from probcal.curves import calibration_belt

    return calibration_belt(y_true, y_prob)


def compared_by_interval(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from calibrant import compare_calibration

    other = np.clip(1.1 * y_prob - 0.05, 0.0, 1.0)
    return compare_calibration(y_true, y_prob, other, measure="interval_calibration_error", n_resamples=99)


def _categories(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    """The rows with a feature of 300 categories, three of which are off."""
    import pandas

    shop = np.random.default_rng(1).integers(0, 300, y_true.size)
    moved = np.where(shop < 3, np.minimum(y_prob + 0.2, 1.0), y_prob)
    return pandas.DataFrame({"prediction": moved, "shop": np.char.add("shop ", shop.astype(str))})


def repair(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    from calibrant.recalibration import SegmentRecalibrator

    return SegmentRecalibrator("prediction").fit(_categories(y_true, y_prob), y_true)


def repair_mcgrad(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    import logging

    from mcgrad import methods

    logging.disable(logging.WARNING)
    columns = {"prediction_column_name": "prediction", "categorical_feature_column_names": ["shop"]}
    table = _categories(y_true, y_prob).assign(label=y_true.astype(int))
    return methods.MCGrad().fit(df_train=table, label_column_name="label", **columns)


def _command(*arguments: str) -> None:
    """A process of its own, from start to end; what it prints is not wanted."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def command_audit(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        np.savetxt(file, np.stack([y_true, y_prob], axis=1), "%.17g", ",", header="y_true,y_prob", comments="")
        _command("-m", "calibrant", "audit", str(file))


def command_floor(_y_true: np.ndarray, _y_prob: np.ndarray) -> None:
    """What any command that reads a file and has options needs."""
    _command("-c", "import duckdb, numpy, typer; duckdb.connect()")


def command_five(y_true: np.ndarray, y_prob: np.ndarray) -> None:
    """Five models of the same rows, each a little steeper than the one before, compared."""
    import pyarrow
    from pyarrow.parquet import write_table

    with tempfile.TemporaryDirectory() as folder:
        files = []
        for model in range(5):
            steeper = np.clip(0.5 + (1.0 + 0.1 * model) * (y_prob - 0.5), 0.0, 1.0)
            files.append(f"{folder}/model-{model}.parquet")
            write_table(pyarrow.table({"y_true": y_true.astype(int), "y_prob": steeper}), files[-1])
        _command("-m", "calibrant", "audit", *files)


@dataclass(frozen=True)
class Case:
    """One row group of the table: a sample and the ways to measure it, ours first."""

    title: str
    sample: Maker
    rows: int
    runs: dict[str, Run]
    repeats: int = 7
    commands: bool = False  # whether each way is a process, whose peak it is that counts


CASES = [
    Case("smooth, 10^7 calibrated rows", calibrated, 10**7, {"calibrant": smooth, "np.sort": np_sort}),
    Case("smooth, 10^7 biased rows", biased, 10**7, {"calibrant": smooth, "np.sort": np_sort}),
    Case("smooth, 10^7 adversarial rows", adversarial, 10**7, {"calibrant": smooth, "np.sort": np_sort}),
    Case(
        "smooth, 2^15 rows of the paper's sample",
        biased,
        2**15,
        {"calibrant": smooth, "HiGHS, sparse program": sparse_linear_program},
    ),
    Case("kernel, 10^6 rows", calibrated, 10**6, {"calibrant": kernel, "np.sort": np_sort}),
    Case(
        "kernel, 5,000 rows",
        calibrated,
        5000,
        {"calibrant": kernel, "probcal skce": kernel_probcal, "netcal MMCE": kernel_netcal},
    ),
    Case("lower distance to 1e-9, 10^4 calibrated rows", calibrated, 10**4, {"calibrant": lower}),
    Case("lower distance to 1e-9, 10^5 calibrated rows", calibrated, 10**5, {"calibrant": lower}, repeats=3),
    Case("lower distance to 1e-9, 10^6 calibrated rows", calibrated, 10**6, {"calibrant": lower}, repeats=1),
    Case("lower distance to 1e-9, 10^6 overconfident rows", overconfident, 10**6, {"calibrant": lower}, repeats=3),
    Case("lower distance to 1e-3, 10^6 calibrated rows", calibrated, 10**6, {"calibrant": lower_coarse}, repeats=3),
    Case("interval, 10^5 calibrated rows", calibrated, 10**5, {"calibrant": interval, "np.sort": np_sort}),
    Case("interval, 10^6 calibrated rows", calibrated, 10**6, {"calibrant": interval, "np.sort": np_sort}, repeats=3),
    Case("interval, 10^6 overconfident rows", overconfident, 10**6, {"calibrant": interval}, repeats=3),
    Case(
        "binned, 10^6 rows",
        overconfident,
        10**6,
        {
            "calibrant": binned,
            "calibrant, equal mass": binned_quantile,
            "sklearn calibration_curve": binned_sklearn,
            "probcal": binned_probcal,
            "netcal": binned_netcal,
            "MAPIE": binned_mapie,
            "torchmetrics": binned_torchmetrics,
            "uncertainty-calibration": binned_uncertainty_calibration,
        },
    ),
    Case(
        "convolved, 10^6 rows",
        overconfident,
        10**6,
        {"calibrant": convolved, "relplot": convolved_relplot, "probcal (logit scale)": convolved_probcal},
    ),
    Case(
        "convolved, 10^4 rows, one event in 10^4",
        rare,
        10**4,
        {"calibrant": convolved, "relplot": convolved_relplot, "probcal (logit scale)": convolved_probcal},
    ),
    Case(
        "segments of four features, 10^5 rows",
        calibrated,
        10**5,
        {"calibrant, with 999 redraws": segments, "MCGrad, none": segments_mcgrad},
        repeats=3,
    ),
    Case(
        "segments of four features, 10^6 rows", calibrated, 10**6, {"calibrant, with 999 redraws": segments}, repeats=1
    ),
    Case(
        "repair of 300 categories, 200,000 rows",
        calibrated,
        200_000,
        {"calibrant": repair, "MCGrad": repair_mcgrad},
        repeats=1,
    ),
    Case(
        "comparison by interval error, 10^5 rows, 99 resamples",
        calibrated,
        10**5,
        {"calibrant": compared_by_interval},
        repeats=1,
    ),
    *(
        Case(f"{what}, {title} rows", overconfident, rows, runs, repeats)
        for what, runs in (
            ("beta fit", {"calibrant": beta, "probcal": beta_probcal, "betacal": beta_betacal}),
            ("belt", {"calibrant": belt, "probcal (an ellipsoid)": belt_probcal}),
        )
        for title, rows, repeats in (("10^4", 10**4, 7), ("10^6", 10**6, 3))
    ),
    Case(
        "clinical panel, 10^5 rows",
        calibrated,
        10**5,
        {"calibrant, with 999 redrawn curves": clinical, "rms val.prob, none": clinical_rms},
        repeats=3,
    ),
    Case(
        "command, audit of 10^4 rows",
        calibrated,
        10**4,
        {"calibrant audit": command_audit, "import duckdb, numpy, typer": command_floor},
        commands=True,
    ),
    Case(
        "command, five models of 10^5 rows",
        calibrated,
        10**5,
        {"calibrant audit": command_five},
        repeats=1,
        commands=True,
    ),
    Case("whole audit, no band, 10^6 rows", overconfident, 10**6, {"calibrant": audit}, repeats=3),
    Case(
        "diagram with its band, 10^6 rows",
        overconfident,
        10**6,
        {"calibrant, whole audit": audit_with_band, "relplot diagram": diagram_relplot},
        repeats=1,
    ),
]
