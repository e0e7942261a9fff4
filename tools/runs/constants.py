"""Sharp constants between the measures, in rational arithmetic, for every small sample."""

from __future__ import annotations

from tests.constants import all_samples, broken, is_a_mirror

from runs import Found

WHAT = (
    "Every sample of up to five rows with predictions in quarters, four in sixths, three in twelfths, in rational "
    "arithmetic. A finding is an inequality of docs/two-bin.md or docs/lower.md that does not hold."
)
SIZES = [*((n, 4) for n in range(1, 6)), *((n, 6) for n in range(1, 5)), *((n, 12) for n in range(1, 4))]
PARTS = len(SIZES)


def run(part: int, seed: int) -> Found:
    """Every sample of one size; mirror images are looked at once and counted twice."""
    del seed
    looked, findings = 0, []
    for sample in all_samples(*SIZES[part]):
        looked += 1
        if not is_a_mirror(sample):
            findings.extend(f"{words}: {sample}" for words in broken(sample))
    return Found(looked, findings)
