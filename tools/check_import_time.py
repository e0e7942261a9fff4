"""`import calibrant` must stay light: nothing heavy is imported with it.

Counts modules rather than seconds, so that it says the same on a slow machine; prints the time as well.
"""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, time
start = time.perf_counter()
import calibrant
seconds = time.perf_counter() - start
heavy = {"numpy", "numba", "scipy", "sklearn", "matplotlib", "duckdb", "narwhals", "pandas", "rich", "typer"}
found = sorted(heavy & set(sys.modules))
print(f"import calibrant: {1000 * seconds:.1f} ms, heavy modules with it: {found or 'none'}")
sys.exit(bool(found))
"""

if __name__ == "__main__":
    sys.exit(subprocess.run([sys.executable, "-c", CODE], check=False).returncode)
