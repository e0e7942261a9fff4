"""Which tests are nearest to what changed."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from nearest import asking_all  # noqa: E402


def test_files_that_ask_every_test_of_calibration_are_near_to_one_that_registers():
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    near = asking_all(ROOT, files)
    for name in ("test_every_test", "test_rows_that_people_have", "test_degenerate"):
        assert f"tests/inference/{name}.py" in near
    assert "tests/measures/test_smooth.py" not in near
