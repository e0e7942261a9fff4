"""Repair by segment beside MCGrad on the example of its quick start, with fresh rows of known truth to judge by.

Run from the checkout: ``python benchmarks/quick_start.py``, with an interpreter that has MCGrad 0.1.5 as well. Prints
every run: log loss less that of the true probabilities, in thousandths, and processor seconds.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from mcgrad import methods

from calibrant.recalibration import SegmentRecalibrator

FEATURES = ["country", "content_type", "surface"]
ROWS, NEW, RUNS = 10_000, 50_000, 5
Fit = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], np.ndarray]


def drawn(seed: int, n: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows as the quick start draws them, their outcomes and true probabilities."""
    rng = np.random.default_rng(seed)
    values = (["US", "UK"], ["photo", "video"], ["feed", "stories"])
    table = pd.DataFrame({name: rng.choice(each, size=n) for name, each in zip(FEATURES, values, strict=True)})
    true = 0.5 + 0.15 * (table.country == "US") + 0.1 * (table.content_type == "video")
    label = (rng.uniform(size=n) < true).astype(int)
    table["prediction"] = np.clip(rng.uniform(0.3, 0.7, size=n), 0.01, 0.99)
    return table, label.to_numpy(), true.to_numpy()


def theirs(table: pd.DataFrame, label: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    """MCGrad with its defaults."""
    columns = {"prediction_column_name": "prediction", "categorical_feature_column_names": FEATURES}
    model = methods.MCGrad()
    model.fit(df_train=table.assign(label=label), label_column_name="label", **columns)
    return np.asarray(model.predict(df=new, **columns))


def ours(table: pd.DataFrame, label: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    """`SegmentRecalibrator` with its defaults."""
    return np.asarray(SegmentRecalibrator("prediction").fit(table, label).predict_proba(new)[:, 1])


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    fits: dict[str, Fit] = {"MCGrad": theirs, "calibrant": ours}
    found: dict[str, list[float]] = {name: [] for name in fits}
    for run in range(RUNS):
        table, label, _ = drawn(42 + run, ROWS)
        new, _, true = drawn(1_000 + run, NEW)
        words = []
        for name, fit in fits.items():
            start = time.process_time()
            p = np.clip(fit(table, label, new), 1e-12, 1.0 - 1e-12)
            taken = time.process_time() - start
            excess = 1e3 * float(np.mean(true * np.log(true / p) + (1.0 - true) * np.log((1.0 - true) / (1.0 - p))))
            found[name].append(excess)
            words.append(f"{name} {excess:.3f} ({taken:.2f} s)")
        print(f"run {run}: " + ", ".join(words), flush=True)
    less = np.subtract(found["calibrant"], found["MCGrad"])
    print(", ".join(f"{name} {np.mean(each):.3f}" for name, each in found.items()))
    print(f"difference {less.mean():+.3f}, standard error {less.std(ddof=1) / RUNS**0.5:.3f}")


if __name__ == "__main__":
    main()
