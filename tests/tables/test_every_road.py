"""One table by every road: one number, within the sketch's bound where there is one, or an error from all."""

import math

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.sketch.sketch import CalibrationSketch
from tests.tables.roads import read_file, sketch_file

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = {"y_true": "y", "y_prob": "p", "sample_weight": "w"}
BAD = [math.nan, math.inf, -math.inf, -1e-9, 1.0000001, 1e300, -1.0, 2.0, None]


def table(seed):
    """Rows of one of many kinds; every second table has a bad value somewhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 20, 300]))
    p = [rng.random(n), rng.beta(0.05, 0.05, n), np.round(rng.random(n), 1), 10.0 ** rng.uniform(-18, 0, n)][seed % 4]
    p = np.clip(p, 0.0, 1.0)
    y = rng.random(n) if rng.random() < 0.3 else (rng.random(n) < p).astype(float)
    w = rng.choice([np.ones(n), rng.random(n), 10.0 ** rng.uniform(-3, 6, n), np.zeros(n)], p=[0.4, 0.3, 0.25, 0.05])
    columns = {"y": y.tolist(), "p": p.tolist(), "w": w.tolist()}
    if seed % 2:
        columns[rng.choice(list("ypw"))][int(rng.integers(n))] = BAD[int(rng.integers(len(BAD)))]
    return columns


def roads(columns, folder):
    """Name -> a function that gives the smooth error and how far it may be off."""
    data = pa.table({name: pa.array(values, pa.float64(), from_pandas=False) for name, values in columns.items()})
    parquet, csv = str(folder / "rows.parquet"), folder / "rows.csv"
    pq.write_table(data, parquet, row_group_size=50)
    lines = [",".join("" if x is None else repr(x) for x in row) for row in zip(*columns.values(), strict=True)]
    csv.write_text("\n".join(["y,p,w", *lines, ""]), encoding="utf-8")

    def whole(*arrays):
        return smooth_error_from_sample(Sample.from_columns(*arrays)), 0.0

    def read(path):
        found = read_file(path, **NAMES)
        return whole(found.y_true, found.y_prob, found.sample_weight)

    def sketched(sketch):
        return smooth_error_from_sample(sketch.sample), sketch.error_bound("smooth_calibration_error")

    return {
        "arrays": lambda: whole(columns["y"], columns["p"], columns["w"]),
        "arrow": lambda: whole(*data.columns),
        "csv": lambda: read(str(csv)),
        "parquet": lambda: read(parquet),
        "sketched parquet": lambda: sketched(sketch_file(parquet, **NAMES).sketch),
        "polars": lambda: sketched(CalibrationSketch.from_frame(pl.scan_parquet(parquet), **NAMES)),
        "duckdb": lambda: sketched(CalibrationSketch.from_frame(duckdb.read_parquet(parquet), **NAMES)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_one_number_or_an_error_from_all(tmp_path, seed):
    found = {}
    for name, road in roads(table(seed), tmp_path).items():
        try:
            found[name] = road()
        except InputError:
            found[name] = None
    wanted = found["arrays"]
    if wanted is None:
        assert found == dict.fromkeys(found)
        return
    for name, answer in found.items():
        assert answer is not None, name
        value, bound = answer
        assert abs(value - wanted[0]) <= bound, name
