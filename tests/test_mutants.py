"""What is said to change no answer is said of one place in the code as it is now."""

import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from equivalent import EQUIVALENT  # noqa: E402
from mutants import mutants  # noqa: E402


@pytest.mark.slow
def test_each_argument_is_about_one_mutant():
    sites: Counter[tuple[str, ...]] = Counter()
    for file in {site[0] for site in EQUIVALENT}:
        for each in mutants(file, (ROOT / "src/calibrant" / file).read_text()):
            sites.update([each.site(), (*each.site(), each.where)])
    assert {site: sites[site] for site in EQUIVALENT if not sites[site] or (sites[site] > 1 and len(site) == 4)} == {}
    assert all(EQUIVALENT.values())
