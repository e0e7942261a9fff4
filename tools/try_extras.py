"""What an installation with one extra alone, or none, can do, and whether it names what it lacks.

``python tools/try_extras.py [sklearn|report|files|cli|all]`` runs in the environment that it is about, which has the
wheel and that extra. It stops at the first thing that is otherwise. `tools/release.py` runs it for each.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import calibrant

BRINGS = {
    "": set(),
    "sklearn": {"sklearn"},
    "report": {"report"},
    "files": {"files"},
    "cli": {"files", "cli"},
    "all": {"sklearn", "report", "files", "cli"},
}


def main() -> None:
    """Try everything."""
    extra = sys.argv[1] if len(sys.argv) > 1 else ""
    rng = np.random.default_rng(0)
    p = rng.random(900)
    y = (rng.random(900) < p).astype(int)
    audit = calibrant.audit(y, p, random_state=0, n_resamples=99)
    for result in (
        audit,
        calibrant.audit(rng.integers(0, 3, 900), rng.dirichlet(np.ones(3), 900), random_state=0, n_resamples=99),
        calibrant.calibration_gate(y, p, max_distance=0.1),
        calibrant.compare_calibration(y, p, p**1.1, n_resamples=99, random_state=0),
        calibrant.decision_curve(y, p),
        calibrant.clinical_calibration(y, p, random_state=0, n_resamples=99),
        calibrant.calibration_test(y, p, n_resamples=99, random_state=0),
    ):
        assert result.summary(), result
    assert audit.to_json().startswith("{")
    with TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        rows.write_text("y_true,y_prob\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p, strict=True)))
        roads = {
            "sklearn": lambda: calibrant.choose_recalibrator(y, p),
            "report": lambda: audit.to_html(Path(folder, "report.html")),
            "files": lambda: calibrant.audit_table(str(rows), n_resamples=0),
            "cli": lambda: command("gate", str(rows), "--max-distance", "0.2"),
        }
        for name, road in roads.items():
            check(name, road, name in BRINGS[extra])
    print(f"{extra or 'the core'}: as it should be")


def command(*arguments: str) -> None:
    """Run a command; what it lacks is an error here."""
    done = subprocess.run([sys.executable, "-m", "calibrant", *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        raise ModuleNotFoundError(done.stderr)
    assert done.returncode == 0, done.stderr


def check(name: str, road: object, works: bool) -> None:
    """Whether a road works, or says with which extra it would."""
    assert callable(road)
    try:
        road()
    except ModuleNotFoundError as problem:
        if works or f"calibrant[{name}]" not in str(problem):
            raise SystemExit(f"{name}: {problem}") from None
    else:
        if not works:
            raise SystemExit(f"{name} works without its extra")


if __name__ == "__main__":
    main()
