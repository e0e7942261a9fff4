"""How cost grows with rows: file to printed audit, beside the bare GROUP BY, a pandas group-by and relplot.

    python benchmarks/scale.py                # 10^6, 10^7 and 10^8 rows; writes docs/benchmarks-scale.md's first table
    python benchmarks/scale.py --rows 100000  # other sizes; prints only

Every figure is of a process of its own, whole: start of Python included.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

PER_FILE = 10_000_000
TARGET = Path(__file__).parent.parent / "docs" / "benchmarks-scale.md"
BEGINS, ENDS = "<!-- table -->\n", "<!-- end -->\n"  # what stands outside is written by hand
SIZES = (10**6, 10**7, 10**8)
PANDAS_ROWS, RELPLOT_ROWS = 100_000_000, 10_000_000

AUDIT = ["-m", "calibrant", "audit", "{files}", "--y-true", "clicked", "--y-prob", "score", "--seed", "0"]
CONTENDERS = {
    "calibrant audit": AUDIT,
    "calibrant audit --by country,device": [*AUDIT, "--by", "country,device"],
    "calibrant audit --drift day": [*AUDIT, "--drift", "day"],
    "calibrant sketch --by day": [
        *("-m", "calibrant", "sketch", "{files}", "--y-true", "clicked", "--y-prob", "score", "--by", "day"),
        *("--out", "{out}"),
    ],
    "reading both columns": [
        "-c",
        "import duckdb; duckdb.sql(\"SELECT sum(score), sum(clicked) FROM read_parquet('{files}')\").fetchall()",
    ],
    "bare GROUP BY": [
        "-c",
        'import duckdb; duckdb.sql("SELECT CAST(score * 65536 AS INTEGER) AS cell, count(*), sum(clicked) '
        "FROM read_parquet('{files}') GROUP BY cell\").fetchnumpy()",
    ],
    "pandas group-by": [
        "-c",
        "import glob, pandas as pd; d = pd.concat([pd.read_parquet(f, columns=['clicked', 'score']) "
        "for f in glob.glob('{files}')]); d.clicked.groupby((d.score * 65536).astype('int32')).agg(['size', 'sum'])",
    ],
    "relplot": [
        "-c",
        "import duckdb, relplot; d = duckdb.sql(\"SELECT score, clicked FROM read_parquet('{files}')\").fetchnumpy(); "
        "print(relplot.smECE(f=d['score'], y=d['clicked']))",
    ],
}
LIMITS = {"pandas group-by": PANDAS_ROWS, "relplot": RELPLOT_ROWS}


def generate(folder: Path, rows: int) -> None:
    """Write a folder of Parquet files: clicks at the predicted rate, and three segment columns."""
    connection = duckdb.connect()
    for number, first in enumerate(range(0, rows, PER_FILE)):
        last = min(rows, first + PER_FILE)
        connection.execute(
            f"""COPY (SELECT (r < p)::INTEGER AS clicked, p AS score, (i % 5)::TINYINT AS device,
            (i % 37)::SMALLINT AS country,
            (DATE '2026-01-01' + (i % 30)::INTEGER) AS day
            FROM (SELECT i, pow(random(), 2) AS p, random() AS r FROM range({first}, {last}) t(i)))
            TO '{folder / f"part-{number:04}.parquet"}' (FORMAT parquet)"""
        )


def measure(command: list[str]) -> tuple[float, float] | None:
    """Seconds and peak megabytes of a process, None if it fails."""
    code = (
        "import resource, subprocess, sys; "
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode; "
        "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    began = time.perf_counter()
    said = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True).stdout
    seconds = time.perf_counter() - began
    status, peak = map(int, said.split())
    unit = 1e3 if platform.system() == "Linux" else 1e6
    return None if status else (seconds, peak / unit)


def estimate(measured: dict[int, float]) -> str:
    """What 10^11 rows would take, from the largest audit measured: an estimate on paper."""
    rows, seconds = max(measured.items())
    workers = 10**11 // rows
    merging = max(0.1, workers / 2000)
    return (
        f"10^11 rows, by calculation: {rows:,} rows took {seconds:.1f} s here. "
        f"{workers:,} such machines hold {rows:,} rows each. Each sends back at most 131,073 cells of 10 numbers, "
        f"10.5 MB. Merging takes half a millisecond a sketch: {workers:,} sketches in {merging:.1f} s. So about "
        f"{seconds + merging:.0f} s and {workers * 10.5:,.0f} MB over the network, however the rows are spread.\n"
    )


def with_table(page: str, table: list[str], measured: dict[int, float], cores: str) -> str:
    """The page with this table in the place of the one before; everything else stays."""
    before, _, rest = page.partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    lines = "\n".join(["| rows | what | seconds | peak MB |", "|---:|---|---:|---:|", *table])
    return f"{before}{BEGINS}\nOn {cores}.\n\n{lines}\n\n{estimate(measured)}\n{ENDS}{after}"


def main() -> None:
    """Measure, and write the table if all of its sizes were measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", help="other sizes, which are only printed")
    asked = parser.parse_args().rows
    sizes = sorted(asked or SIZES)
    table: list[str] = []
    measured: dict[int, float] = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as elsewhere:
            generate(Path(name), rows)
            for contender, arguments in CONTENDERS.items():
                if rows > LIMITS.get(contender, rows):
                    continue
                words = (each.replace("{files}", f"{name}/*.parquet") for each in arguments)
                command = [sys.executable, *(each.replace("{out}", f"{elsewhere}/by-day.parquet") for each in words)]
                found = measure(command)
                if found is not None and contender == "calibrant audit":
                    measured[rows] = found[0]
                shown = "failed or not installed | " if found is None else f"{found[0]:.1f} | {found[1]:,.0f}"
                table.append(f"| {rows:,} | {contender} | {shown} |")
                print(table[-1], flush=True)
    if not asked:
        cores = f"{platform.machine()}, DuckDB {duckdb.__version__}, Python {platform.python_version()}"
        TARGET.write_text(with_table(TARGET.read_text(encoding="utf-8"), table, measured, cores), encoding="utf-8")


if __name__ == "__main__":
    main()
