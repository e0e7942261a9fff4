"""`import calibrant` stays light, and an audit loads neither scikit-learn nor scipy.stats.

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

AUDIT = """
import sys
import numpy as np
import calibrant
y_prob = np.linspace(0.05, 0.95, 3000)
report = calibrant.audit(np.arange(3000) % 7 < 7 * y_prob**2, y_prob, random_state=0)
assert report.advice.scores, "the audit was to compare recalibrations here"
report.summary()
found = sorted({"sklearn", "scipy.stats", "pandas", "matplotlib"} & set(sys.modules))
print(f"an audit with advice, heavy modules with it: {found or 'none'}")
sys.exit(bool(found))
"""

if __name__ == "__main__":
    sys.exit(max(subprocess.run([sys.executable, "-c", code], check=False).returncode for code in (CODE, AUDIT)))
