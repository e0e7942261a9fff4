"""Does it work with the oldest libraries that pyproject.toml allows, or with another Python?

``python tools/try_versions.py lowest-direct`` makes an environment with the lowest version of everything that is
named there (and the newest of what these bring along), ``highest`` one with the newest; ``--python 3.13`` picks the
interpreter. Both need uv (``pip install uv``), install what users would, not the checkout, and run the commands and, as
the quick loop does, the tests of every library that reads, computes or draws. A minimum is raised until this passes; a
Python is claimed where it does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "tests/peers/test_peers.py",
    "tests/door/test_columns.py",
    "tests/tables/test_frames.py",
    "tests/tables/test_files.py",
    "tests/measures/test_distance_exact.py",
    "tests/cli/test_cli.py",
)
COMMANDS = {  # and the exit code of each
    ("audit", "--help"): 0,
    ("demo", "--folder", "."): 0,
    ("audit", "rows.csv", "--by", "country", "--drift", "day", "--html", "report.html"): 1,
    ("gate", "rows.csv", "--max-distance", "0.2"): 0,
}


def write_rows(path: Path) -> None:
    lines = ["y_true,y_prob,country,day"]
    for row in range(2000):
        prediction = (row * 7919 % 2000 + 0.5) / 2000
        event = int((row * 104729 % 1999) / 1999 < prediction**1.2)
        lines.append(f"{event},{prediction},{'abc'[row % 3]},2024-01-{row % 5 + 1:02d}")
    path.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("resolution", choices=("lowest-direct", "highest"))
    parser.add_argument("--python", default=sys.executable, help="interpreter or version, as uv takes it")
    chosen = parser.parse_args()
    # Warnings are not errors here: an old library may use what a newer one of its own dependencies is about to drop.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONWARNINGS": ""}
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        python, command = str(venv / "bin" / "python"), str(venv / "bin" / "calibrant")
        install = ["uv", "pip", "install", "--quiet", "--python", python, "--resolution", chosen.resolution]
        steps: list[tuple[list[str], Path, int]] = [
            (["uv", "venv", "--quiet", "--python", chosen.python, str(venv)], ROOT, 0),
            ([*install, f"calibrant[test] @ {ROOT.as_uri()}"], ROOT, 0),
            (["uv", "pip", "list", "--python", python], ROOT, 0),
            *(([command, *arguments], Path(folder), code) for arguments, code in COMMANDS.items()),
            (
                [
                    python,
                    "-m",
                    "pytest",
                    "-q",
                    "--quick",
                    "-p",
                    "no:cacheprovider",
                    "-W",
                    "default",
                    *TESTS,
                ],
                ROOT,
                0,
            ),
        ]
        write_rows(Path(folder) / "rows.csv")
        for step, where, expected in steps:
            print("+", *step, flush=True)
            code = subprocess.run(step, cwd=where, env=environment, check=False).returncode
            if code != expected:
                print(f"exit code {code}; {expected} was expected")
                return code or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
