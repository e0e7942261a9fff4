"""What it costs to find segments of a Parquet file that is too large to be read: processor seconds and memory.

Run from the checkout: ``python benchmarks/found.py --rows 10000000 100000000``; it prints a line a number of rows. Six
features (three of texts, three of numbers), a fault of 1.05 times the risk in one of 36 pairs, all pairs searched.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

FEATURES = ["country", "device", "age", "income", "hour", "plan"]


def generate(target: Path, rows: int) -> None:
    """Write the file, from a seed."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SELECT setseed(0.25)")
    connection.execute(
        f"""COPY (WITH a AS (SELECT random() AS u, random() AS r, floor(random() * 12)::INT AS c,
        floor(random() * 3)::INT AS d, (18 + floor(random() * 72))::SMALLINT AS age,
        exp(3 * (random() + random() + random() - 1.5)) AS income, floor(random() * 24)::TINYINT AS hour,
        floor(random() * 5)::INT AS q FROM range({rows}))
        SELECT (r < u * u * 0.5 * CASE WHEN c = 3 AND d = 1 THEN 1.05 ELSE 1 END)::TINYINT AS y, u * u * 0.5 AS p,
        'c' || c AS country, 'd' || d AS device, age, income, hour, 'q' || q AS plan FROM a)
        TO '{target}' (FORMAT parquet)"""
    )


def search(file: str) -> None:
    """Find segments, and print what was found and what that cost this process."""
    from calibrant import find_segments
    from calibrant.tables.entry import MANY_ROWS

    began, used = time.perf_counter(), time.process_time()
    relation = duckdb.connect().read_parquet(file)
    found = find_segments(relation, y_true="y", y_prob="p", features=FEATURES)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    names = ", ".join(each.name for each in found.segments)
    road = "summed" if found.summed else f"read, as up to {MANY_ROWS:,} are"
    print(f"{road}; {found.n_tested:,} segments, told: {names or 'none'}; ", end="")
    print(f"{used:.0f} s of processor time, {seconds:.0f} s, {peak:.0f} MB")


def main() -> None:
    """Generate a file for each number of rows, and search it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--search", help="search this file in this process")
    asked = parser.parse_args()
    if asked.search:
        search(asked.search)
        return
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "rows.parquet"
            generate(target, rows)
            print(f"{rows:,} rows: ", end="", flush=True)
            subprocess.run([sys.executable, __file__, "--search", str(target)], check=True)


if __name__ == "__main__":
    main()
