"""`import calibrant` stays light; an audit, in Python or by command, loads only the libraries that it uses.

Counts modules rather than seconds, so that it says the same on a slow machine; prints the time as well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

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
assert report.advice.gain is not None, "the audit was to advise a map here"
report.summary()
heavy = {"sklearn", "scipy.stats", "pandas", "pyarrow", "narwhals", "duckdb", "matplotlib", "typer"}
found = sorted(heavy & set(sys.modules))
print(f"an audit with advice, heavy modules with it: {found or 'none'}")
sys.exit(bool(found))
"""

COMMAND = """
import sys
sys.argv = ["calibrant", "audit", sys.argv[1]]
import calibrant.__main__ as command
command.end_at_once = lambda left: None  # or nothing below is come to
try:
    command.main()
except SystemExit as end:
    assert not end.code, end.code
heavy = {"sklearn", "scipy.stats", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "jinja2"}
idle = {"calibrant.decisions", "calibrant.findings.parts", "calibrant.findings.sketch"}
found = sorted((heavy | idle) & set(sys.modules))
print(f"the audit of a file by command, heavy modules with it: {found or 'none'}", file=sys.stderr)
sys.exit(bool(found))
"""


def _ran(code: str, *arguments: str, out: int | None = None) -> int:
    return subprocess.run([sys.executable, "-c", code, *arguments], check=False, stdout=out).returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        rows.write_text("y_true,y_prob\n" + "".join(f"{i % 7 < 4:d},{i % 19 / 19}\n" for i in range(300)))
        by_command = _ran(COMMAND, str(rows), out=subprocess.DEVNULL)
    sys.exit(max(_ran(CODE), _ran(AUDIT), by_command))
