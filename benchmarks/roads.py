"""The same rows by every road of the front door that takes files: processor seconds, peak memory, one number.

Run from the checkout: ``python benchmarks/roads.py --rows 6000000``; it writes docs/benchmarks-roads.md. Every figure
is of a process of its own, whole: start of Python included. The bucket is that of moto's server on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import duckdb

TARGET = Path(__file__).parent.parent / "docs" / "benchmarks-roads.md"
DAYS = 30
COLUMNS = ["--y-true", "clicked", "--y-prob", "score"]
AUDIT = ["audit", "--seed", "0", "--json"]


def generate(folder: Path, rows: int) -> None:
    """One file, and the same rows in folders by day."""
    rows_of = f"""SELECT (r < p)::TINYINT AS clicked, p AS score, (i % {DAYS})::INTEGER AS day
        FROM (SELECT i, pow(random(), 2) AS p, random() AS r FROM range({rows}) t(i))"""
    duckdb.sql(f"COPY ({rows_of}) TO '{folder / 'rows.parquet'}' (FORMAT parquet)")
    held = f"SELECT * FROM read_parquet('{folder / 'rows.parquet'}')"
    duckdb.sql(f"COPY ({held}) TO '{folder / 'parquet'}' (FORMAT parquet, PARTITION_BY (day))")


def measure(*command: str) -> tuple[float, float, str]:
    """Processor seconds, peak megabytes and output of the command."""
    code = (
        "import resource, subprocess, sys; "
        "done = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL); "
        "of = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(done.returncode, of.ru_utime + of.ru_stime, of.ru_maxrss, file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "calibrant", *command],
        capture_output=True,
        text=True,
        check=True,
    )
    status, seconds, peak = told.stderr.split()
    if status not in ("0", "1", "3"):
        raise SystemExit(f"{command}: {status}")
    return float(seconds), float(peak) / (1e3 if platform.system() == "Linux" else 1e6), told.stdout


def serve(folder: Path) -> subprocess.Popen[bytes] | None:
    """moto's server with the folders in a bucket, where it is installed."""
    if not (find_spec("moto") and find_spec("flask_cors")):
        return None
    from pyarrow import fs

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    there = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], allow_bucket_creation=True)
    there.create_dir("bucket")
    fs.copy_files(str(folder / "parquet"), "bucket/parquet", destination_filesystem=there)
    return running


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6_000_000)
    rows = parser.parse_args().rows
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, rows)
        days, every = str(folder / "days.parquet"), str(folder / "all.sketch")
        running = serve(folder)
        roads = [
            ("one Parquet file", [*AUDIT, str(folder / "rows.parquet"), *COLUMNS]),
            ("a folder of Parquet by day", [*AUDIT, str(folder / "parquet"), *COLUMNS]),
            (
                "the same through pyarrow's file system",
                [*AUDIT, str(folder / "parquet"), "--filesystem", "local", *COLUMNS],
            ),
        ]
        if running is not None:
            roads.append(
                ("the folder of Parquet in a bucket", [*AUDIT, "bucket/parquet", "--filesystem", "s3", *COLUMNS])
            )
        roads += [
            ("calibrant sketch --by day", ["sketch", str(folder / "parquet"), "--by", "day", "-o", days, *COLUMNS]),
            ("calibrant merge", ["merge", days, "-o", every]),
            ("the merged sketch", [*AUDIT, every]),
            ("the sketches by day, --by day", [*AUDIT, days, "--by", "day"]),
            ("gate of the merged sketch", ["gate", every, "--max-distance", "0.05", "--json"]),
        ]
        try:
            for said, command in roads:
                seconds, peak, out = measure(*command)
                found = json.loads(out) if "--json" in command else {}
                smooth = found.get("measures", {}).get("smooth_calibration_error", {}).get("value")
                shown = "" if smooth is None else f"{smooth:.9f}"
                summed = "" if smooth is None else ("summed" if found["road"] else "read")
                lines.append(f"| {said} | {summed} | {seconds:.1f} | {peak:,.0f} | {shown} |")
                print(lines[-1], flush=True)
        finally:
            if running is not None:
                running.terminate()
        size = Path(days).stat().st_size / 1e6, Path(every).stat().st_size / 1e6
    TARGET.write_text(
        f"""# Cost by kind of input

Written by benchmarks/roads.py: {rows:,} rows of two columns in {DAYS} days, audited in every kind of file.
Each is in a process of its own, start of Python included, on {platform.machine()} with {os.cpu_count()} processors,
DuckDB {duckdb.__version__}. The bucket is that of a server on the same machine.

| input | rows are | processor seconds | peak MB | smooth calibration error |
| --- | --- | ---: | ---: | ---: |
{chr(10).join(lines)}

The sketches of {DAYS} days take {size[0]:.0f} MB, the merged one {size[1]:.1f} MB.
"""
    )


if __name__ == "__main__":
    main()
