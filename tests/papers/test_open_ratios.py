"""The laws that the page of open ratios prints attain what it says, by the definitions; its families too."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from calibrant import random_interval_calibration_error, upper_calibration_distance
from calibrant.inference.bounds import population as most
from calibrant_papers import open_ratios
from tests.oracles.distance import upper_calibration_distance as upper_oracle
from tests.oracles.interval import interval_calibration_error as interval_oracle
from tests.oracles.interval_shifted import random_interval_calibration_error as random_oracle
from tests.oracles.lower import lower_calibration_distance as lower_oracle

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reproductions" / "open-ratios.md").read_text()
SECTIONS = PAGE.split("\n## ")[1:]


def printed(section):
    """The best ratio that a section states, the width of its grid, and the columns of its best law."""
    best = float(re.search(r"Best: \*\*([\d.]+)\*\*", section)[1])
    width = re.search(r"at width w = ([\d.]+):", section)
    table = section.split("est law")[1]
    rows = [
        [float(x) for x in line.strip("| ").split(" | ")] for line in table.splitlines() if re.match(r"\| \d", line)
    ]
    return best, float(width[1]) if width else 1.0, np.array(rows).T


def spread_by_bins(v, mass, width, periods=400):
    """Distance from a bin's mean over random shifts, in widths: many periods, their bins, every shift of 200."""
    v, mass = np.concatenate([v + k for k in range(periods)]), np.tile(mass, periods) / mass.sum() / periods
    found = []
    for shift in (np.arange(200) + 0.5) * width / 200:
        at = np.unique(np.floor((v - shift) / width), return_inverse=True)[1]
        mean = np.bincount(at, mass * v) / np.bincount(at, mass)
        found.append(mass @ np.abs(v - mean[at]))
    return np.mean(found) / width


def test_the_laws_of_the_page_attain_its_ratios():
    interval, upper, grid, spread = SECTIONS[:4]
    best, _, (v, mass, rate) = printed(interval)
    assert interval_oracle(rate, v, mass) / lower_oracle(rate, v, mass) ** 0.5 == pytest.approx(best, abs=1e-4)
    best, _, (v, mass, rate) = printed(upper)
    assert upper_oracle(rate, v, mass) / lower_oracle(rate, v, mass) ** 0.5 == pytest.approx(best, abs=1e-4)
    best, width, (v, mass, rate) = printed(grid)
    difference = upper_oracle(rate, v, mass) - random_oracle(rate, v, mass, width)
    assert difference / (most.SHIFTED * width) == pytest.approx(best, abs=1e-4)
    best, width, (v, mass) = printed(spread)
    assert spread_by_bins(v, mass, width) / most.SHIFTED == pytest.approx(best, abs=3e-3)
    assert best < 1.0


def test_the_best_of_a_section_is_the_best_of_its_runs_and_stands_on_the_page_of_constants():
    constants = (DOCS / "constants.md").read_text()
    for section in SECTIONS[:4]:
        best, _, _ = printed(section)
        runs = section.split("| best of each run |")[1].split("\n\n")[0]
        assert max(map(float, re.findall(r"\d\.\d{4}", runs))) == best
        assert f"{best:.4f}" in constants
    law = printed(SECTIONS[0])[2]
    told = [re.findall(rf"\| {name} \| (.*) \|", constants) for name in ("prediction", "mass", "event rate")]
    assert np.array_equal(law, [[float(x) for x in " | ".join(rows).split(" | ")] for rows in told])


def test_upper_distances_and_widths_of_a_search_are_the_library_s():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 7):
        v, rate, mass = np.sort(rng.random(n)), rng.random(n), rng.dirichlet(np.ones(n))
        law = open_ratios.Law(v, mass, rate, 0.3)
        upper = upper_calibration_distance(rate, v, sample_weight=mass).upper
        assert open_ratios._upper(law) == pytest.approx(upper, abs=1e-8)
        random = random_interval_calibration_error(rate, v, sample_weight=mass, width=0.3)
        assert open_ratios.grid_ratio(law) * most.SHIFTED * 0.3 == pytest.approx(upper - random, abs=1e-8)
        assert open_ratios.spread_ratio(law) * most.SHIFTED == pytest.approx(spread_by_bins(v, mass, 0.3), abs=3e-3)


def test_a_chain_has_the_distance_and_the_residual_that_are_proved():
    """Upper distance w/4 and R(w) = w/4n, n even: their difference tends to .928 c0 w."""
    for n in (2, 4, 6, 8):
        law = open_ratios.chain(n)
        assert upper_oracle(law.rate, law.v, law.mass) == pytest.approx(law.width / 4)
        assert random_oracle(law.rate, law.v, law.mass, law.width) == pytest.approx(law.width / 4 / n)
        assert open_ratios.grid_ratio(law) == pytest.approx(float(1 - Fraction(1, n)) / 4 / most.SHIFTED)
