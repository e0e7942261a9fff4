"""A type checker takes good calls of the public functions, and refuses names and modes that do not exist.

``python tools/check_types.py``, where mypy is installed. Each line below that ends in a comment with ``wrong`` must be
refused, and no other line may be. Columns are passed as every kind of them that is installed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from mypy import api

CALLS = """
from decimal import Decimal
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import calibrant
from calibrant import audit, smooth_calibration_error, tcal_test

y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.9])
smooth_calibration_error(y, p, sample_weight=[1, 2.5, 3])
smooth_calibration_error([0, 1, True], (0.2, 0.7, Decimal("0.9")))
smooth_calibration_error(pl.Series(y), pl.Series(p))
smooth_calibration_error(pd.Series(y), pd.Series(p))
smooth_calibration_error(pa.array([0, 1]), pa.array([0.2, 0.7]))
audit(["no", "yes", "yes"], p, pos_label="yes")
audit([0, 1, 2], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]]).summary()
calibrant.expected_calibration_error(y, p, strategy="quantile", norm="l2")
calibrant.synthetic.calibrated_ladder(3)
calibrant.recalibration.PlattScaling().fit(p, y)
tcal_test(y, p, critical_value="theorem").reject
calibrant.nonexistent  # wrong: no such name
calibrant.smoth_calibration_error(y, p)  # wrong: misspelt
from calibrant import smoth_calibration_error  # wrong: misspelt
smooth_calibration_error("no column", p)  # wrong: text is no column of numbers
smooth_calibration_error(y, 0.5)  # wrong: one number is no column
calibrant.expected_calibration_error(y, p, strategy="quantiles")  # wrong: no such mode
calibrant.expected_calibration_error(y, p, norm="l3")  # wrong: no such mode
calibrant.kernel_calibration_error(y, p, kernel="rbf", bandwidth=1.0)  # wrong: no such mode
calibrant.squared_calibration_error(y, p, strategy="quantiles")  # wrong: no such mode
calibrant.corp_decomposition(y, p, score="logs")  # wrong: no such mode
calibrant.lower_calibration_certificate(y, p, method="simplex")  # wrong: no such mode
calibrant.choose_recalibrator(y, p, criterion="auc")  # wrong: no such mode
calibrant.cumulative_calibration_test(y, p, form="cramer")  # wrong: no such mode
calibrant.discrete_calibration_test(y, p, correction="fdr")  # wrong: no such mode
calibrant.two_sample_calibration_test(y, p, test="t")  # wrong: no such mode
tcal_test(y, p, critical_value="bootstrap")  # wrong: no such mode
tcal_test(y, p, reduction="toplabel")  # wrong: no such mode
"""


def faults() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.py"
        path.write_text(CALLS)
        said, broken, _ = api.run([str(path), "--config-file=", "--ignore-missing-imports"])
    refused = {int(line) for line in re.findall(r"calls\.py:(\d+): error", said)}
    lines = CALLS.splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    found = [f"accepted: {lines[number - 1]}" for number in sorted(expected - refused)]
    found += [f"refused: {lines[number - 1]}\n{said}" for number in sorted(refused - expected)]
    return found + ([broken] if broken else [])


if __name__ == "__main__":
    found = faults()
    print("\n".join(found) or "good calls are taken, wrong ones refused")
    sys.exit(bool(found))
