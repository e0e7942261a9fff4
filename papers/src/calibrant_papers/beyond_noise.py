"""How often an audit of calibrated predictions calls a range beyond noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.findings.regions import regions_from_witness
from calibrant.measures.smooth import witness_from_sample
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_DESIGNS: dict[str, tuple[int, Callable[[np.random.Generator, int], FloatArray]]] = {
    "uniform": (20, lambda rng, n: rng.random(n)),
    "uniform, more rows": (500, lambda rng, n: rng.random(n)),
    "all 0.001": (500, lambda _rng, n: np.full(n, 1e-3)),
    "all 0.0001": (2000, lambda _rng, n: np.full(n, 1e-4)),
    "rare, beta(.2, 50)": (2000, lambda rng, n: rng.beta(0.2, 50.0, n)),
    "nearly certain, 1 - beta(.3, 30)": (300, lambda rng, n: 1.0 - rng.beta(0.3, 30.0, n)),
    "beta(.05, .05)": (500, lambda rng, n: rng.beta(0.05, 0.05, n)),
    "two in five at 0 or 1": (500, lambda rng, n: np.where(rng.random(n) < 0.4, rng.random(n) < 0.5, rng.random(n))),
    "five values": (200, lambda rng, n: rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n)),
}
_ROWS = ("unweighted", "weights over 1,000 times", "groups of 10, shared chance")


def beyond_noise(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of calibrated samples of which some range is called beyond noise."""
    trials = 20 if quick else 2000
    cells = [(design, rows, trials) for design in _DESIGNS for rows in _ROWS]
    found = list(on_all_processors(_share, cells))
    body = (
        f"{trials:,} samples per row, each drawn from its own predictions; a range is called so after looking at the "
        "rows (docs/report.md). In groups of 10 the rows share one draw with probability 0.3: the rule assumes "
        "independent rows.\n\n"
        + table(
            ["predictions", "rows", "drawn how", "some range beyond noise"],
            [
                [design, f"{_DESIGNS[design][0]:,}", rows, f"{share:.4f}"]
                for (design, rows, _), share in zip(cells, found, strict=True)
            ],
        )
    )
    worst = {
        rows: max(s for (_, r, _), s in zip(cells, found, strict=True) if (r == _ROWS[2]) == rows)
        for rows in (False, True)
    }
    finding = f"At most {worst[False]:.3f} of independent rows, weighted or not; up to {worst[True]:.3f} of groups."
    return Reproduction("Calibrated predictions called beyond noise", finding, body)


def _share(design: str, rows: str, trials: int) -> float:
    n, draw = _DESIGNS[design]
    said = 0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        v = draw(rng, n).astype(np.float64)
        chance = rng.random(n)
        if rows == _ROWS[2]:
            group = np.arange(n) // 10
            chance = np.where(rng.random(n) < 0.3, rng.random(n // 10 + 1)[group], chance)
        weight = 10.0 ** (3.0 * rng.random(n)) if rows == _ROWS[1] else None
        sample = Sample.from_columns((chance < v).astype(np.float64), v, weight)
        regions = regions_from_witness(sample, witness_from_sample(sample))
        said += any(bool(region.exceeds_noise) for region in regions)
    return said / trials
